//! Events of a file, a part at a time, and the matrix elements that they may be of.

use mebridge::lhe::EventLocation;
use mebridge::process::Process;

/// Some events.
#[derive(Default)]
pub struct Chunk {
    /// `[event][leg][4]`, of the events that are to be evaluated.
    pub momenta: Vec<f64>,
    /// Their alpha_s, where the file has it.
    pub alpha_s: Vec<f64>,
    /// Where they are in the file.
    pub places: Vec<EventLocation>,
    /// Which of the matrix elements they are of, from 0.
    pub elements: Vec<usize>,
    /// For each event of the file whether it is one of them.
    pub rows: Vec<bool>,
}

impl Chunk {
    pub fn clear(&mut self) {
        self.momenta.clear();
        self.alpha_s.clear();
        self.places.clear();
        self.elements.clear();
        self.rows.clear();
    }

    /// Notes an event, of the first matrix element, whose momenta are there.
    pub fn add(&mut self, place: EventLocation) {
        self.add_of(place, 0);
    }

    /// Notes an event of this matrix element whose momenta are there.
    pub fn add_of(&mut self, place: EventLocation, element: usize) {
        self.places.push(place);
        self.elements.push(element);
        self.rows.push(true);
    }
}

/// A matrix element, and where it comes from.
pub struct Known<'a> {
    pub process: &'a Process,
    pub place: &'a str,
}
