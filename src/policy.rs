//! Decides which plan serves which call on a core or a GPU. Only plans that agree with the list of diagrams at the
//! trial points are considered; this module decides which one is faster.
//!
//! | call | on a core | on a GPU |
//! |---|---|---|
//! | without channels | the colour-ordered form from [`FEWEST_JAMPS`] and [`FEWEST_WITH_BOSON`] on, else the recursion if it is less work than the diagrams ([`recursion_cost`]), else the diagrams | the same, with other numbers |
//! | with channels | the recursion if it has AMP2 and is less work with them, else the diagrams | the same, squares counted twice |
//! | one event, helicities in lanes | the recursion that keeps helicities separate if it is less work, else the diagrams | a core evaluates it |
//!
//! The choice between a core and a GPU is made before (`target.rs`).

use crate::ops::Batch;
use crate::ops::opcode::Opcode;
use crate::plan::binding::Binding;
use crate::plan::{Count, Plan, color_ordered};
use crate::process::color_ordered::ColorOrdered;
use crate::process::{Process, Quantity};

/// Measured number of JAMPs from which on the colour-ordered form is faster, `[core, GPU, GPU in single
/// precision][massive quark line, massless quark line, gluons only]`. (H200, g g > t t~ g g g: 1.12 times the
/// recursion's speed in double precision, 0.90 in single precision.)
const FEWEST_JAMPS: [[usize; 3]; 3] = [[720, 6, 2], [120, 120, 6], [720, 120, 6]];

/// The same for a quark line with a boson, and for one with a pair of fermions that becomes a single kind of vector, which
/// has few diagrams, `[core, GPU]`. (H200, 8192 events: two JAMPs 0.4 to 0.6 times the speed of the diagrams, six 1.2 to 3
/// times.)
const FEWEST_WITH_BOSON: [[usize; 2]; 2] = [[1, 2], [6, 6]];

/// Multiply-adds in whose time a GPU stores the currents of a recursion whose diagrams are cut and loads them again. (H200,
/// double precision, speed with such a recursion over that without: u u~ > e+ e- d d~ 0.18, u d > w+ d d g 0.64, u u > u u
/// g g 0.70, u u > e+ e- u u g 1.16, u u~ > t t~ g g g 2.6, u u~ > e+ e- d d~ g g 3.3, u u > e+ e- u u g g 8.4.)
const STORED_CURRENTS: usize = 12_500;

/// Amplitudes of a helicity from which on a GPU computes diagrams at half of the rate of few, because their wavefunctions do
/// not stay in registers. (H200, double precision, TFLOP/s with channels: u u~ > z g g g 6.6 with 54 amplitudes,
/// g g > z u u~ d d~ 3.6 with 204, u u~ > e+ e- d d~ g g 3.0 with 408.)
const MANY_AMPLITUDES: usize = 150;

/// Hardware properties on which plans depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// A core of a CPU.
    Core,
    /// A GPU, in single precision or not.
    Gpu {
        /// Wavefunctions have single precision.
        single: bool,
    },
}

/// The calls that a plan serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serves {
    /// Calls without channels.
    pub without_channels: bool,
    /// Calls with channels.
    pub with_channels: bool,
}

impl Serves {
    /// Whether the plan serves calls with or without channels.
    pub fn calls(self, channels: bool) -> bool {
        match channels {
            false => self.without_channels,
            true => self.with_channels,
        }
    }
}

/// Whether the colour-ordered form serves calls without channels: it exists, it is valid for the masses of the card,
/// and it is faster than the diagrams.
pub fn color_ordered_serves(process: &Process, binding: &Binding, processor: Processor) -> bool {
    color_ordered_is_faster(process, processor) && color_ordered::can(process, binding)
}

/// Whether the colour-ordered form is faster than the diagrams, if both exist.
pub fn color_ordered_is_faster(process: &Process, processor: Processor) -> bool {
    let fewest = FEWEST_JAMPS[match processor {
        Processor::Core => 0,
        Processor::Gpu { single: false } => 1,
        Processor::Gpu { single: true } => 2,
    }];
    let enough = |form: &ColorOrdered| {
        let fewest = match (&form.line, &form.boson) {
            (_, Some(boson)) => {
                let one = boson.wavefunctions.len() > 1 && boson.vectors.len() == 1;
                FEWEST_WITH_BOSON[usize::from(processor != Processor::Core)][usize::from(one)]
            }
            (Some(line), None) if line.mass != Quantity::ZERO => fewest[0],
            (Some(_), None) => fewest[1],
            (None, None) => fewest[2],
        };
        form.jamps() >= fewest
    };
    let diagrams = process.amplitudes.diagrams();
    let form = diagrams.and_then(|diagrams| diagrams.color_ordered.as_ref());
    form.is_some_and(enough)
}

/// Returns the calls that a recursion serves better than the list of diagrams, by the work of both. On a GPU squares
/// computed from half of the helicities take twice the time of their count, because threads cannot divide them by
/// helicity. (H200, with 0.90 and 0.89 of the diagrams' multiply-adds: a third of the speed of g g > t t~ g, 1.1 to 1.4
/// times that of g g > t t~ t t~ in SMEFT.)
///
/// On a GPU diagrams of up to some hundred amplitudes a helicity are code that keeps values in registers, and 3/4 of their
/// cost compares with that of a recursion whose diagrams are cut, or that depends on chirality ([`STORED_CURRENTS`]); with
/// [`MANY_AMPLITUDES`] twice that.
pub fn recursion_serves(recursion: &Plan, diagrams: &Count, processor: Processor) -> Serves {
    let has_amp2 = !recursion.channels().is_empty();
    let (counted, weighted) = (&recursion.count, recursion_cost(recursion, processor));
    let kind = recursion.operations().recursion;
    let cut = kind.is_some_and(|kind| kind.cut || kind.chiral);
    let amplitudes = diagrams.amplitudes / recursion.helicities.len().max(1);
    let (twice, stored, (times, of)) = match processor {
        Processor::Core => (0, 0, (1, 1)),
        Processor::Gpu { .. } if cut && amplitudes >= MANY_AMPLITUDES => {
            (counted.squares, STORED_CURRENTS, (2, 3))
        }
        Processor::Gpu { .. } if cut => (counted.squares, STORED_CURRENTS, (4, 3)),
        Processor::Gpu { .. } => (counted.squares, 0, (1, 1)),
    };
    let is_less = |cost: usize, listed: usize| times * (weighted(cost) + stored) < of * listed;
    // Squared diagrams with chirality are many small operations. (A core, 512z, speed with them over that of the
    // diagrams, and ratio of multiply-adds: u c > u c e+ e- 0.92, 0.71; u u~ > e+ e- g 1.0, 0.73; g g > e+ e- u u~ 1.3,
    // 0.61; u u~ > z g g g 1.5, 0.60; u u > e+ e- u u g 1.6, 0.50.)
    let with_squares = match processor {
        Processor::Core if kind.is_some_and(|kind| kind.chiral) => {
            counted.cost_with_channels() * 3 / 2
        }
        _ => counted.cost_with_channels() + twice,
    };
    Serves {
        without_channels: is_less(counted.cost(), diagrams.cost()),
        with_channels: has_amp2 && is_less(with_squares, diagrams.cost_with_channels()),
    }
}

/// Whether the recursion that keeps helicities separate serves single events.
pub fn recursion_serves_one_event(recursion: &Plan, diagrams: &Count) -> bool {
    let weighted = recursion_cost(recursion, Processor::Core);
    weighted(recursion.count.cost_with_channels()) < diagrams.cost_with_channels()
}

/// Returns a function that scales the cost of a recursion to be comparable with that of diagrams. With scalars a
/// recursion takes 1.2 to 1.6 times as long as its count suggests (twelve processes of squarks, both SIMD widths; H100,
/// u u~ > t1 t1~ g g, 1.4 times): its numbers are many and small, and its memory is twice that of the diagrams.
fn recursion_cost(recursion: &Plan, processor: Processor) -> impl Fn(usize) -> usize + use<> {
    let operations = recursion.operations();
    let tiles = operations.tiles.iter().flat_map(|tile| &tile.currents);
    let sums = |batch: &Batch| matches!(batch.opcode, Opcode::SumSss1 | Opcode::SumVss1);
    let root = |batch: &Batch| batch.opcode == Opcode::DotScalar0;
    let at_the_root = operations.amplitudes.iter().any(root);
    let (times, of) = match operations.currents.iter().chain(tiles).any(sums) || at_the_root {
        false => (1, 1),
        true if at_the_root || processor != Processor::Core => (8, 5),
        true => (4, 3),
    };
    move |cost| cost * times / of
}
