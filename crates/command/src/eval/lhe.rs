//! Les Houches event files (hep-ph/0609017), as MG5aMC and others write them.
//!
//! Of an event its particles and alpha_s are taken; weights are passed over.

use super::input::{Chunk, Known};
use super::legs::{Particle, assign_from, codes, sorted};
use crate::output;
use mebridge::lhe::{Event, EventLocation, Reader};
use mebridge::process::{Leg, Process};
use mebridge::{Error, Result};
use std::collections::HashMap;

/// A Les Houches event file.
pub struct Lhe {
    reader: Reader,
    elements: Vec<MatrixElement>,
    /// Matrix elements, and which of their flavours, by sorted codes.
    by_codes: HashMap<Vec<i32>, Vec<(usize, usize)>>,
    skip_others: bool,
    event: Event,
    particles: Vec<Particle>,
}

/// A matrix element.
struct MatrixElement {
    process: String,
    place: String,
    /// The legs, and those of other flavours with the same matrix element.
    flavours: Vec<Vec<Leg>>,
}

impl Lhe {
    /// Events for these matrix elements.
    pub fn new(reader: Reader, known: &[Known], skip_others: bool) -> Result<Lhe> {
        for process in known.iter().map(|one| one.process) {
            if let Some(leg) = process.legs.iter().position(|leg| leg.pdg == 0) {
                return Err(reader.error(format!(
                    "leg {} of '{}' has no PDG code, so it is not known which particle of an LHE event \
                     it is; give the momenta as text or .npy, in the order of the process",
                    leg + 1,
                    process.name
                )));
            }
        }
        let elements = known.iter().map(|one| MatrixElement {
            process: one.process.name.clone(),
            place: one.place.to_owned(),
            flavours: flavours(one.process),
        });
        let elements: Vec<MatrixElement> = elements.collect();
        let mut by_codes: HashMap<_, Vec<_>> = HashMap::new();
        for (i, element) in elements.iter().enumerate() {
            for (j, legs) in element.flavours.iter().enumerate() {
                let codes = sorted(legs.iter().map(|leg| (leg.pdg, leg.incoming)));
                by_codes.entry(codes).or_default().push((i, j));
            }
        }
        Ok(Lhe {
            reader,
            elements,
            by_codes,
            skip_others,
            event: Event::default(),
            particles: Vec::new(),
        })
    }

    /// Adds the next event; false at the end.
    pub fn next(&mut self, chunk: &mut Chunk) -> Result<bool> {
        if !self.reader.next(&mut self.event)? {
            return Ok(false);
        }
        let place = self.event.place;
        self.particles.clear();
        self.particles
            .extend(self.event.particles.iter().filter_map(Particle::of));
        let Some((element, order)) = self.find_element(place)? else {
            if self.skip_others {
                chunk.rows.push(false);
                return Ok(true);
            }
            return Err(self.of_others(place));
        };
        for particle in order {
            chunk.momenta.extend(self.particles[particle].momentum);
        }
        chunk.alpha_s.push(alpha_s(&self.event));
        chunk.add_of(place, element);
        Ok(true)
    }

    /// The matrix element of the particles, and their places in the order of its legs. One that has the incoming
    /// ones as they are comes before one that has them the other way round.
    fn find_element(&self, place: EventLocation) -> Result<Option<(usize, Vec<usize>)>> {
        let particles = self.particles.iter().map(|p| (p.pdg, p.incoming));
        let Some(known) = self.by_codes.get(&sorted(particles)) else {
            return Ok(None);
        };
        for exchanged in [false, true] {
            let mut found: Option<(usize, Vec<usize>)> = None;
            for &(i, j) in known {
                let legs = &self.elements[i].flavours[j];
                let Some(order) = assign_from(legs, &self.particles, exchanged) else {
                    continue;
                };
                match &found {
                    Some((other, _)) if *other != i => {
                        let (a, b) = (&self.elements[*other], &self.elements[i]);
                        return Err(self.reader.error(format!(
                            "{place} may be of '{}' ({}) and of '{}' ({}), which have the same particles; name one \
                             of them",
                            a.process, a.place, b.process, b.place
                        )));
                    }
                    Some(_) => {}
                    None => found = Some((i, order)),
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// An event is none of those that were asked for.
    fn of_others(&self, place: EventLocation) -> Error {
        let has = codes(self.particles.iter().map(|p| (p.pdg, p.incoming)));
        let [one] = self.elements.as_slice() else {
            return self.reader.error(format!(
                "{place} has the particles {has}, which none of {} matrix elements has; leave out events of others \
                 with --skip-others",
                self.elements.len()
            ));
        };
        let wants: Vec<String> = one
            .flavours
            .iter()
            .map(|legs| codes(legs.iter().map(|leg| (leg.pdg, leg.incoming))))
            .collect();
        let wants = wants.join(" or ");
        self.reader.error(format!(
            "{place} has the particles {has}, but '{}' has {wants}; give the process that the events are of, or \
             leave out events of others with --skip-others",
            one.process
        ))
    }

    /// Says what is odd about the file.
    pub fn warn(&self) {
        if let Some(line) = self.reader.second() {
            let what = format!("line {line}: a second file begins, whose events are taken as well");
            output::warn(&self.reader.error(what).to_string());
        }
        warn_if_cut(&self.reader);
    }
}

/// Says so where a file may be cut off.
pub fn warn_if_cut(reader: &Reader) {
    if !reader.closed() {
        let what = "there is no </LesHouchesEvents> at the end; was the file cut off?";
        output::warn(&reader.error(what).to_string());
    }
}

/// alpha_s of an event; -1 where it is not known, as the accord has it. MG5aMC writes NaN where a model has none.
pub fn alpha_s(event: &Event) -> f64 {
    match event.alpha_qcd.is_nan() {
        true => -1.0,
        false => event.alpha_qcd,
    }
}

/// The legs of a process, and those of other flavours with the same matrix element.
pub fn flavours(process: &Process) -> Vec<Vec<Leg>> {
    let with = |codes: &Vec<i32>| {
        let legs = process.legs.iter().zip(codes);
        legs.map(|(leg, &pdg)| Leg { pdg, ..leg.clone() }).collect()
    };
    let mut flavours = vec![process.legs.clone()];
    flavours.extend(process.other_flavours.iter().map(with));
    flavours
}
