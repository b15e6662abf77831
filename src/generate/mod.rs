//! `g g > t t~ g` and a model -> process.
//!
//! All legs count as going out here; a particle that comes in is its antiparticle going out. Numbering: helicities
//! and colour flows are in MG5aMC's order, diagrams in one of their own.
//!
//! | module | what it knows |
//! |---|---|
//! | `request` | MG5aMC's language of processes |
//! | `subprocess` | labels into processes, what is conserved |
//! | `trees` | diagrams |
//! | `number`, `strings`, `color` | the algebra of colour |
//! | `flows`, `matrix` | colour flows and the colour matrix |
//! | `ordered` | currents of neighbours in a colour flow, in place of diagrams |
//! | `assemble` | all of it into a [`Process`] |
//!
//! docs/generate.md says which conventions hold, and what cannot be generated.

mod assemble;
mod color;
mod flows;
mod matrix;
mod number;
mod ordered;
mod request;
mod strings;
mod subprocess;
mod trees;

pub use request::is_process;

use crate::error::{Error, Result};
use crate::model::Model;
use crate::process::Process;
use ordered::Line;
use request::Request;
use subprocess::Subprocess;
use trees::Rules;

/// Generates a process of the Standard Model; labels give several. Processes with equal matrix elements are one,
/// whose [`Process::other_flavours`] lists the others.
pub fn generate(text: &str) -> Result<Vec<Process>> {
    generate_with(text, &Model::standard()?)
}

/// The same with another model.
pub fn generate_with(text: &str, model: &Model) -> Result<Vec<Process>> {
    let fail = |what: String| Error::Generate {
        process: text.trim().to_owned(),
        what,
    };
    let request = Request::parse(text, model).map_err(fail)?;
    let rules = Rules::new(model, &request);
    let all = Subprocess::all(&request, model);
    let found: Vec<_> = all
        .iter()
        .filter(|s| s.violates(model).is_none())
        .map(|s| (s, rules.lowest(&s.outgoing)))
        .collect();
    let mut orders = request.orders.clone();
    let lowest = found
        .iter()
        .filter_map(|(_, lowest)| lowest.whole.as_ref()?.last());
    let lowest = lowest.min().copied();
    let mut tail = request.tail.clone();
    if let (true, Some(lowest), Some(weighted)) = (request.lowest, lowest, orders.last_mut()) {
        *weighted = 0..=lowest;
        tail = format!(" WEIGHTED<={lowest}{tail}");
    }
    let mut processes: Vec<Process> = Vec::new();
    let builder = assemble::Assembler::new(model);
    for (subprocess, lowest) in &found {
        let low = lowest.whole.iter().flatten().zip(&orders);
        if lowest.whole.is_none() || low.into_iter().any(|(n, allowed)| n > allowed.end()) {
            continue;
        }
        let line = Line::of(subprocess, model, &rules, lowest);
        let large = line.as_ref().filter(|line| line.is_large());
        let mut process = match large {
            Some(line) => builder
                .without_diagrams(subprocess, line, &orders, &tail)
                .map_err(fail)?,
            None => None,
        };
        if process.is_none() {
            let diagrams = rules
                .diagrams(&subprocess.outgoing, lowest, &orders)
                .map_err(fail)?;
            process = builder
                .process(subprocess, diagrams, line.as_ref(), &orders, &tail)
                .map_err(fail)?;
        }
        let Some(process) = process else {
            continue;
        };
        let pdg = process.legs.iter().map(|leg| leg.pdg).collect();
        match processes
            .iter_mut()
            .find(|other| subprocess::equal(other, &process))
        {
            Some(other) => other.other_flavours.push(pdg),
            None => {
                process.validate()?;
                processes.push(process);
            }
        }
    }
    match processes.is_empty() {
        true => Err(fail(subprocess::why_none(
            &all,
            &request,
            &found_lowest(&found),
            model,
        ))),
        false => Ok(processes),
    }
}

/// The lowest orders of those subprocesses that have diagrams when orders are left open.
fn found_lowest<'a>(found: &'a [(&Subprocess, trees::Lowest)]) -> Vec<&'a trees::Orders> {
    found
        .iter()
        .filter_map(|(_, lowest)| lowest.whole.as_ref())
        .collect()
}

#[cfg(test)]
mod tests;
