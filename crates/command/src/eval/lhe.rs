//! Reads Les Houches event files (hep-ph/0609017), written by MG5aMC or other programs.
//!
//! Particles and alpha_s of an event are used; weights are ignored.

use super::chunk::{Chunk, ElementOrigin};
use super::legs::{ElementIndex, assign_from};
use crate::output;
use mebridge::lhe::{Event, EventLocation, Particle, Reader};
use mebridge::process::Leg;
use mebridge::{Error, Result};

/// A Les Houches event file.
pub struct Lhe {
    reader: Reader,
    index: ElementIndex,
    skip_others: bool,
    event: Event,
    particles: Vec<Particle>,
}

impl Lhe {
    /// Reads events for these matrix elements.
    pub fn new(reader: Reader, known: &[ElementOrigin], skip_others: bool) -> Result<Lhe> {
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
        Ok(Lhe {
            reader,
            index: ElementIndex::new(known.iter().map(|one| (one.process, one.place))),
            skip_others,
            event: Event::default(),
            particles: Vec::new(),
        })
    }

    /// Adds the next event; returns false at the end.
    pub fn next(&mut self, chunk: &mut Chunk) -> Result<bool> {
        if !self.reader.next(&mut self.event)? {
            return Ok(false);
        }
        let place = self.event.place;
        self.particles.clear();
        self.particles.extend(self.event.external().copied());
        let Some((element, order)) = self.find_element(place)? else {
            if self.skip_others {
                chunk.rows.push(false);
                return Ok(true);
            }
            return Err(self.of_others(place));
        };
        for particle in order {
            chunk
                .momenta
                .extend(self.particles[particle].four_momentum());
        }
        chunk.alpha_s.push(self.event.alpha_s());
        chunk.add_event(place, element);
        Ok(true)
    }

    /// Returns the matrix element of the particles, and their indices in the order of its legs. Matrix elements with
    /// the incoming particles in the same order are preferred to exchanged ones.
    fn find_element(&self, place: EventLocation) -> Result<Option<(usize, Vec<usize>)>> {
        for exchanged in [false, true] {
            let assign = |legs: &[Leg]| assign_from(legs, &self.particles, exchanged);
            let found = self.index.find(&self.particles, assign);
            let found = found.map_err(|what| self.reader.error(format!("{place} {what}")))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the error for an event that belongs to none of the requested matrix elements.
    fn of_others(&self, place: EventLocation) -> Error {
        let what = self.index.describe_mismatch(&self.particles);
        self.reader.error(format!(
            "{place} {what}; give the process that the events are of, or leave out events of others with --skip-others"
        ))
    }

    /// Reports unusual properties of the file.
    pub fn warn(&self) {
        if let Some(line) = self.reader.second() {
            let what = format!("line {line}: a second file begins, whose events are taken as well");
            output::warn(&self.reader.error(what).to_string());
        }
        warn_if_cut(&self.reader);
    }
}

/// Prints a warning if a file may be truncated.
pub fn warn_if_cut(reader: &Reader) {
    if !reader.closed() {
        let what = "there is no </LesHouchesEvents> at the end; was the file cut off?";
        output::warn(&reader.error(what).to_string());
    }
}
