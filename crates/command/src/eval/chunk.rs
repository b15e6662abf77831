//! Events of a file, a part at a time, and the matrix elements that they may be of.

use mebridge::lhe::EventLocation;
use mebridge::process::Process;

/// Number of events that are read and evaluated at a time.
pub const CHUNK: usize = 16384;

/// Some events.
#[derive(Default)]
pub struct Chunk {
    /// `[event][leg][4]` of the events that are to be evaluated.
    pub momenta: Vec<f64>,
    /// alpha_s of each event, if the file has it.
    pub alpha_s: Vec<f64>,
    /// Location of each event in the file.
    pub places: Vec<EventLocation>,
    /// Index of each event's matrix element.
    pub elements: Vec<usize>,
    /// For each event of the file whether it is in this chunk.
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

    /// Adds an event of the first matrix element, whose momenta were already added.
    pub fn add(&mut self, place: EventLocation) {
        self.add_event(place, 0);
    }

    /// Adds an event of this matrix element, whose momenta were already added.
    pub fn add_event(&mut self, place: EventLocation, element: usize) {
        self.places.push(place);
        self.elements.push(element);
        self.rows.push(true);
    }
}

/// A matrix element with its origin.
pub struct ElementOrigin<'a> {
    pub process: &'a Process,
    pub place: &'a str,
}
