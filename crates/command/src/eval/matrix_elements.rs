//! The requested matrix elements, each with a bridge once it has an event.

use super::chunk::{CHUNK, Chunk};
use crate::info::DEFAULT_G;
use crate::random_events::{self, RandomEvents, RandomSource};
use crate::source::CardedProcess;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::locate::Located;
use mebridge::plan::binding::Binding;
use mebridge::process::{Leg, Process};
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use std::f64::consts::PI;
use std::path::Path;

/// Number of random events on which good helicities are found, and their energy in GeV (more if masses require it).
const TRIED: usize = 16;
const ENERGY: f64 = 1500.0;

/// All matrix elements.
pub struct MatrixElements<'a> {
    each: Vec<MatrixElement<'a>>,
    switches: Switches,
}

struct MatrixElement<'a> {
    located: &'a Located,
    bridge: Option<Bridge>,
}

impl<'a> MatrixElements<'a> {
    /// Prepares these matrix elements, without evaluating anything.
    pub fn new(located: &'a [Located], switches: Switches) -> MatrixElements<'a> {
        let each = located.iter().map(|located| MatrixElement {
            located,
            bridge: None,
        });
        MatrixElements {
            each: each.collect(),
            switches,
        }
    }

    /// Returns the legs of a matrix element.
    pub fn legs(&self, element: usize) -> &[Leg] {
        &self.each[element].located.process.legs
    }

    /// Evaluates the events of a chunk; errors report the location of an event in the file.
    pub fn evaluate(
        &mut self,
        path: &Path,
        chunk: &Chunk,
        alpha_s: Option<f64>,
    ) -> Result<Vec<f64>> {
        let g_s = strong(path, chunk, alpha_s)?;
        let mut values = vec![0.0; chunk.places.len()];
        for i in 0..self.each.len() {
            // Nothing is copied if all events belong to one matrix element.
            let all = chunk.elements.iter().all(|&element| element == i);
            let mine: Vec<usize> = match all {
                true => (0..chunk.places.len()).collect(),
                false => {
                    let places = chunk.elements.iter().enumerate();
                    places.filter(|(_, e)| **e == i).map(|(at, _)| at).collect()
                }
            };
            if mine.is_empty() {
                continue;
            }
            let found = match all {
                true => self.element(i, path, chunk, &mine, &chunk.momenta, &g_s)?,
                false => {
                    let momenta = self.momenta(i, chunk);
                    let g_s: Vec<f64> = mine.iter().map(|&at| g_s[at]).collect();
                    self.element(i, path, chunk, &mine, &momenta, &g_s)?
                }
            };
            for (&at, value) in mine.iter().zip(found) {
                values[at] = value;
            }
        }
        Ok(values)
    }

    /// Returns the momenta of the events of one matrix element.
    fn momenta(&self, wanted: usize, chunk: &Chunk) -> Vec<f64> {
        let mut momenta = Vec::new();
        let mut rest = chunk.momenta.as_slice();
        for &element in &chunk.elements {
            let (event, others) = rest.split_at(4 * self.legs(element).len());
            rest = others;
            if element == wanted {
                momenta.extend_from_slice(event);
            }
        }
        momenta
    }

    /// Returns the values of one matrix element at these momenta; `at` has the indices of these events in the chunk.
    fn element(
        &mut self,
        element: usize,
        path: &Path,
        chunk: &Chunk,
        at: &[usize],
        momenta: &[f64],
        g_s: &[f64],
    ) -> Result<Vec<f64>> {
        let MatrixElement { located, bridge } = &mut self.each[element];
        let bridge = match bridge {
            Some(bridge) => bridge,
            None => bridge.insert(prepared(located, &self.switches)?),
        };
        let nevt = at.len();
        // Helicity and colour flow are not used.
        let random = vec![0.5; nevt];
        let mut values = vec![0.0; nevt];
        let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
        let events = Events {
            momenta,
            g_s,
            random_helicity: &random,
            random_color: &random,
            channels: None,
            igraph: None,
        };
        let mut answers = Answers {
            matrix_elements: &mut values,
            helicity: &mut helicity,
            color: &mut color,
        };
        match bridge.run_all(&events, &mut answers) {
            Ok(_) => Ok(values),
            Err(error) => {
                let Some(event) = error.bad_event() else {
                    return Err(error);
                };
                // The error counts events within the call; the user needs the location in the file.
                let text = error.to_string();
                let what = text
                    .split_once("(from 0): ")
                    .map_or(&*text, |(_, what)| what);
                let place = at.get(event).and_then(|&at| chunk.places.get(at)).copied();
                Err(Error::EventsFile {
                    path: path.to_path_buf(),
                    what: format!("{}: {what}", place.unwrap_or_default()),
                })
            }
        }
    }
}

/// Returns the strong coupling g_s of each event of a chunk, from its own alpha_s or the common one.
fn strong(path: &Path, chunk: &Chunk, alpha_s: Option<f64>) -> Result<Vec<f64>> {
    // The Les Houches accord uses -1 for an unknown alpha_s.
    let unknown = chunk.alpha_s.iter().position(|&a| a <= 0.0);
    if let (None, Some(event)) = (alpha_s, unknown) {
        return Err(Error::NoAlphaS {
            why: format!(
                "{}: {} has alpha_s (AQCDUP) {}",
                path.display(),
                chunk.places[event],
                chunk.alpha_s[event]
            ),
        });
    }
    let g_s = |alpha_s: f64| (4.0 * PI * alpha_s).sqrt();
    Ok(match alpha_s {
        Some(alpha_s) => vec![g_s(alpha_s); chunk.places.len()],
        None => chunk.alpha_s.iter().map(|&a| g_s(a)).collect(),
    })
}

/// Makes a bridge and finds its good helicities on random events: the events of the file may all be special ones, at
/// which a helicity vanishes that does not vanish elsewhere.
fn prepared(located: &Located, switches: &Switches) -> Result<Bridge> {
    let source = CardedProcess {
        process: located.process.clone(),
        card: located.card.clone(),
        number: 1,
    };
    let energy = energy(&source.process, &source.card)?;
    let space = random_events::phase_space(&source, energy);
    let mut bridge = Bridge::new(source.process, &source.card, switches, CHUNK)?;
    // Without a phase space (a decay that is forbidden on shell) the events of the file are used.
    if let Ok(space) = space {
        let numbers = RandomSource::Seed(0);
        let mut drawn = RandomEvents::new(space, numbers, TRIED, DEFAULT_G, None)?;
        drawn.draw(0);
        drawn.make_momenta();
        bridge.prepare(&drawn.call().0)?;
    }
    Ok(bridge)
}

/// Returns an energy above the threshold of the process.
fn energy(process: &Process, card: &[f64]) -> Result<f64> {
    let binding = Binding::new(&process.model, card)?;
    let mass = |leg: &Leg| binding.value(leg.mass);
    let (incoming, outgoing): (Vec<&Leg>, Vec<&Leg>) =
        process.legs.iter().partition(|leg| leg.incoming);
    let sum = |legs: &[&Leg]| legs.iter().map(|leg| mass(leg)).sum::<f64>();
    let threshold = sum(&incoming).max(sum(&outgoing));
    Ok(match (incoming.len(), outgoing.len()) {
        (1, _) => sum(&incoming),
        (_, 1) => sum(&outgoing),
        _ => ENERGY.max(2.0 * threshold),
    })
}
