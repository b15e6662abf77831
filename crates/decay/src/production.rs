//! Matrix elements of production: of the processes in the header, or of the particles of an event.

use crate::banner::Banner;
use crate::element::{Evaluator, Theory};
use crate::name::Name;
use mebridge::process::Process;
use mebridge::{Error, Result};
use std::collections::HashMap;

/// A leg of an event: its PDG code, and whether it is incoming.
pub type Leg = (i32, bool);

/// A matrix element of production.
pub struct ProductionElement {
    /// Its process, as text.
    pub name: Name,
    /// The process, for the PDG codes of its legs.
    pub process: Process,
    /// Its evaluator, created on first use.
    element: Option<Evaluator>,
}

/// All matrix elements of production known so far.
#[derive(Default)]
pub struct Production {
    each: Vec<ProductionElement>,
    /// For each sorted list of legs the matrix elements that have them: index, and PDG codes in the order of its legs.
    by_legs: HashMap<Vec<Leg>, Vec<(usize, Vec<i32>)>>,
    /// For each sorted list of legs without a matrix element the reason.
    missing: HashMap<Vec<Leg>, String>,
    /// Whether matrix elements are generated for events that the header's processes do not cover.
    by_events: bool,
    /// The reason why the header's processes are not used, if they are not.
    pub unused: Option<String>,
}

impl Production {
    /// Reads the processes of a header.
    ///
    /// # Errors
    /// Those of [`Banner::check_polarisation`].
    pub fn read(banner: &Banner, theory: &Theory) -> Result<Production> {
        banner.check_polarisation()?;
        let mut production = Production {
            each: Vec::new(),
            by_legs: HashMap::new(),
            missing: HashMap::new(),
            by_events: true,
            unused: None,
        };
        let text = banner.processes();
        if text.is_empty() {
            production.unused = Some("the header names no process".to_owned());
            return Ok(production);
        }
        if let Some(line) = text.lines().find(|line| line.contains('[')) {
            production.unused = Some(format!("`{}` is beyond tree level", line.trim()));
            return Ok(production);
        }
        match production.add(&text, theory) {
            Ok(()) => production.by_events = false,
            Err(error) => production.unused = Some(error.to_string()),
        }
        Ok(production)
    }

    fn add(&mut self, text: &str, theory: &Theory) -> Result<()> {
        let elements = theory.matrix_elements(text)?;
        for (place, name) in elements.names().iter().enumerate() {
            let process = elements.process(place)?;
            let name = Name::parse(name)
                .ok_or_else(|| Error::run_at(name, "this name is not understood", ""))?;
            let own: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
            for codes in std::iter::once(&own).chain(&process.other_flavours) {
                let legs = codes
                    .iter()
                    .zip(&process.legs)
                    .map(|(&code, leg)| (code, leg.incoming));
                let known = self.by_legs.entry(sorted(legs.collect())).or_default();
                known.push((self.each.len(), codes.clone()));
            }
            self.each.push(ProductionElement {
                name,
                process,
                element: None,
            });
        }
        Ok(())
    }

    /// The index of the matrix element with these legs, and for each of its legs the index in `legs`.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn find(
        &mut self,
        legs: &[Leg],
        theory: &Theory,
    ) -> std::result::Result<(usize, Vec<usize>), String> {
        let key = sorted(legs.to_vec());
        if let Some(why) = self.missing.get(&key) {
            return Err(why.clone());
        }
        if !self.by_legs.contains_key(&key) {
            let added = match self.by_events {
                true => self
                    .add(&text(legs, theory), theory)
                    .map_err(|error| error.to_string()),
                false => Err("no process of the header has its particles".to_owned()),
            };
            if let Err(why) = added {
                self.missing.insert(key, why.clone());
                return Err(why);
            }
        }
        let known = self
            .by_legs
            .get(&key)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if known.iter().any(|(element, _)| *element != known[0].0) {
            return Err("several processes of the header have its particles".to_owned());
        }
        let found = known.iter().find_map(|(element, codes)| {
            Some((*element, assign(codes, &self.each[*element].process, legs)?))
        });
        found.ok_or_else(|| "its particles are in the order of no process".to_owned())
    }

    /// A matrix element by its index.
    pub fn get(&self, number: usize) -> &ProductionElement {
        &self.each[number]
    }

    /// The evaluator of a matrix element.
    ///
    /// # Errors
    /// The process cannot be evaluated.
    pub fn element(&mut self, number: usize, theory: &Theory) -> Result<&mut Evaluator> {
        let own = &mut self.each[number];
        match &mut own.element {
            Some(element) => Ok(element),
            none => Ok(none.insert(Evaluator::new(own.process.clone(), theory)?)),
        }
    }
}

fn sorted(mut legs: Vec<Leg>) -> Vec<Leg> {
    legs.sort_unstable();
    legs
}

/// The name of a process with these legs.
fn text(legs: &[Leg], theory: &Theory) -> String {
    let names = |incoming: bool| {
        let own = legs.iter().filter(|leg| leg.1 == incoming);
        let names = own.map(|(code, _)| {
            let particle = theory
                .model
                .particles
                .iter()
                .find(|particle| particle.pdg == *code);
            particle.map_or_else(|| code.to_string(), |particle| particle.name.clone())
        });
        names.collect::<Vec<_>>().join(" ")
    };
    format!("{} > {}", names(true), names(false))
}

/// For each leg of the process, with these codes, the index of a leg of the event; `None` if they differ. The two
/// incoming legs may be exchanged.
fn assign(codes: &[i32], process: &Process, legs: &[Leg]) -> Option<Vec<usize>> {
    let incoming: Vec<usize> = (0..legs.len()).filter(|&leg| legs[leg].1).collect();
    let mut exchanged = incoming.clone();
    exchanged.reverse();
    let with = |incoming: &[usize]| {
        let mut incoming = incoming.iter().copied();
        let mut used = vec![false; legs.len()];
        let mut order = Vec::with_capacity(legs.len());
        for (&code, leg) in codes.iter().zip(&process.legs) {
            let place = match leg.incoming {
                true => incoming.next().filter(|&at| legs[at].0 == code)?,
                false => (0..legs.len()).find(|&at| !used[at] && legs[at] == (code, false))?,
            };
            used[place] = true;
            order.push(place);
        }
        Some(order)
    };
    with(&incoming).or_else(|| with(&exchanged))
}
