//! Runs under conditions that the caller states, without a run card.

use super::{Observer, RunResult, Session, check_event_count, is_biased, pairs};
use crate::banner::Contents;
use crate::overweight;
use crate::plan::RunPlan;
use crate::spec::RunSpec;
use crate::state::State;
use mebridge::Result;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Instant;

/// Default number of events.
const EVENTS: u64 = 10_000;

/// Where the events of a run go.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The folder for the state of the run.
    pub state: &'a Path,
    /// Whether the folder outlives this program, so that the run can be continued.
    pub lasting: bool,
    /// An LHE file, compressed if its name ends in `.gz`; if `None`, events stay in the folder as records.
    pub output: Option<&'a Path>,
}

/// Makes events.
///
/// # Errors
/// The conditions do not fit the process, there are no events, or files cannot be written.
pub fn stated(spec: &RunSpec, to: Destination, observer: &mut dyn Observer) -> Result<RunResult> {
    let begun = Instant::now();
    let events = check_event_count("events", spec.events.unwrap_or(EVENTS))?;
    let session = Session {
        spec,
        events,
        seed: spec.seed.unwrap_or(1),
        begun,
    };
    let plan = RunPlan::stated(spec)?;
    overweight::check(spec.overweight_rule, is_biased(&plan, observer))?;
    for notice in &plan.notices {
        observer.notice(notice);
    }
    let (names, head) = (plan.names(), plan.head.clone());
    let arguments = session.arguments(plan.arguments.clone(), &plan.elements, observer)?;
    let state = State::open(to.state, &arguments, to.lasting)?;
    let (_rounds, found) = session.collide(plan, state, observer)?;
    let (cross_section, _) = found.all;
    if let Some(output) = to.output {
        let contents = Contents {
            rounds: &found.rounds,
            before: 0,
            weighting: found.weighting,
            processes: &found.of_processes,
            cross_section,
            biased: found.biased.as_ref(),
            seed: session.seed,
        };
        let arguments: Map<String, Value> = arguments.into_iter().collect();
        head.write(output, &contents, &arguments, spec.threads)?;
    }
    let events = found.rounds.iter().map(|round| round.events as u64).sum();
    Ok(RunResult {
        folder: None,
        output: to.output.map(Path::to_owned),
        cross_section: found.all,
        processes: pairs(&names, &found.of_elements),
        events,
        efficiency: events as f64 / found.points[0],
        points: found.points,
        seconds: found.seconds,
        summary: String::new(),
        nominal: found.nominal(),
        rounds: match to.output {
            Some(_) => Vec::new(),
            None => found.rounds,
        },
        cut: found.cut,
        beams: head.blocks.beams,
        weight_names: head.blocks.names,
    })
}
