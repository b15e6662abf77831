//! The colour-ordered form of an imported process.
//!
//! The diagrams determine which legs are the ends of the line, its insertions and its boson, and the routines and
//! couplings of the vertices of the form. Numerical comparison decides the rest: one or two signs, and the order of the
//! directory's colour flows. It also decides whether the form describes the process at all.
//!
//! Helicities, masses and cards do not matter for this. The JAMPs of the diagrams and of the form are rational
//! functions of the external wavefunctions, their momenta, and each coupling, mass and width. Either they are the same
//! functions or not, so they are compared with random numbers for all of these. An additional diagram, another coupling
//! (even one that a card sets to zero), a propagator with another mass, or a sign makes a difference there.

mod amplitude;
mod color_matrix;
mod legs;
mod sort;
#[cfg(test)]
mod tests;
mod vertices;

use legs::ExternalLegs;
use mebridge_process::color_ordered::{ColorOrdered, traces};
use mebridge_process::evaluate::NumericProcess;
use mebridge_process::{Diagrams, External, HelicitySum, LinearMap, Process, Wavefunction};
use mebridge_support::random::SplitMix64;
use num_complex::Complex64;
use sort::Sorted;
use vertices::Vertices;

/// Supported numbers of insertions. Fewer cost nothing anyway, and more have more diagrams than anyone generates.
const INSERTIONS: std::ops::RangeInclusive<usize> = 2..=6;
/// Seeds of the points.
const SEEDS: [u64; 2] = [41, 43];

/// Possible colour factors of the vertices with two and with three insertions, with the signs that the Lorentz
/// structures may have, MG5aMC's first.
const FACTORS: [((f64, f64), (f64, f64)); 4] = [
    ((0.0, -1.0), (-1.0, 0.0)),
    ((0.0, 1.0), (-1.0, 0.0)),
    ((0.0, -1.0), (1.0, 0.0)),
    ((0.0, 1.0), (1.0, 0.0)),
];

/// Adds the colour-ordered form to a process, if it has one.
pub fn add(process: &mut Process) {
    let routines = process.routines.len();
    let plain = process.helicity_sum == HelicitySum::Positive
        && process.beam_weights.is_empty()
        && process.flow_weights.is_empty();
    if !plain {
        return;
    }
    for legs in ExternalLegs::all(process) {
        let form = find(process, legs);
        let found = form.is_some();
        set(process, form);
        if found && process.validate().is_ok() {
            return;
        }
        set(process, None);
        // Removes routines that were made for the form only.
        process.routines.truncate(routines);
    }
}

fn set(process: &mut Process, form: Option<ColorOrdered>) {
    if let Some(diagrams) = process.amplitudes.diagrams_mut() {
        diagrams.color_ordered = form;
    }
}

fn find(process: &mut Process, legs: ExternalLegs) -> Option<ColorOrdered> {
    if !INSERTIONS.contains(&legs.insertions.len()) {
        return None;
    }
    // JAMPs of gluon processes are those of the DDM basis, of which the flows are made.
    let ddm = !legs.quarks;
    let ordered = legs.insertions.len() + usize::from(ddm);
    let flows: usize = (1..=ordered).product();
    if process.amplitudes.jamps() != flows {
        return None;
    }
    let vertices = Vertices::find(process, &legs)?;
    let process = &*process;
    let Diagrams { jamp, color, .. } = process.amplitudes.diagrams()?;
    let mut form = ColorOrdered {
        ends: vertices.ends,
        insertions: legs.insertions,
        line: vertices.line,
        three_gluon: vertices.three_gluon,
        four_gluon: vertices.four_gluon,
        boson: vertices.boson,
        closing: 1.0,
        row: Vec::new(),
        denominator: color.denominator,
        flows: Vec::new(),
    };
    let of_traces = match ddm {
        true => traces::flows(form.insertions.len()),
        false => Vec::new(),
    };
    let [first, second] = SEEDS.map(|seed| Point::new(process, seed));
    let diagrams = [&first, &second].map(|point| point.diagrams(process, jamp));
    let found = FACTORS.into_iter().find_map(|(three_gluon, four_gluon)| {
        form.three_gluon.factor = three_gluon;
        for vertex in &mut form.four_gluon {
            vertex.factor = four_gluon;
        }
        let jamps = sort::flows(&first.ordered(process, &form)?, &of_traces);
        Sorted::find(&diagrams[0], &jamps)
    })?;
    let jamps = sort::flows(&second.ordered(process, &form)?, &of_traces);
    if !found.holds(&diagrams[1], &jamps) {
        return None;
    }
    form.closing = found.size();
    form.row = color_matrix::row(color, &found, ordered, ddm)?;
    if ddm {
        form.row = traces::row(&form.row, form.insertions.len());
    }
    form.flows = found.flows(of_traces);
    Some(form)
}

/// Random numbers for everything that a process leaves open.
struct Point {
    /// Components of each external wavefunction.
    externals: Vec<Vec<Complex64>>,
    seed: u64,
}

impl Point {
    fn new(process: &Process, seed: u64) -> Point {
        let mut random = SplitMix64::new(seed);
        let count = process.legs.len();
        let mut left = [0.0; 4];
        let mut externals = Vec::with_capacity(count);
        for leg in 0..count {
            let momentum = left.map(|left: f64| match leg + 1 == count {
                true => left,
                false => random.between(-1.0, 1.0),
            });
            for (left, p) in left.iter_mut().zip(momentum) {
                *left -= p;
            }
            let [e, x, y, z] = momentum;
            let mut wavefunction = vec![Complex64::new(e, z), Complex64::new(x, y)];
            wavefunction.extend((0..4).map(|_| number(&mut random)));
            externals.push(wavefunction);
        }
        Point { externals, seed }
    }

    fn numbers<'a>(&self, process: &'a Process) -> NumericProcess<'a> {
        // A value that the model computes once counts as one coupling.
        NumericProcess::new(process, |value| {
            number(&mut SplitMix64::new(self.seed << 32 | u64::from(value)))
        })
    }

    fn external(&self, e: &External) -> Vec<Complex64> {
        self.externals[e.leg as usize].clone()
    }

    /// Computes the JAMPs from the diagrams.
    fn diagrams(&self, process: &Process, jamp: &LinearMap) -> Vec<Complex64> {
        let amplitudes = self.numbers(process).amplitudes(|e| self.external(e));
        jamp.apply(&amplitudes)
    }

    /// Computes the JAMPs from the form.
    fn ordered(&self, process: &Process, form: &ColorOrdered) -> Option<Vec<Complex64>> {
        let external = |w: u32| match &process.wavefunctions[w as usize] {
            Wavefunction::External(e) => self.external(e),
            Wavefunction::Internal(_) => Vec::new(),
        };
        self.numbers(process).color_ordered_jamps(form, external)
    }
}

fn number(random: &mut SplitMix64) -> Complex64 {
    let mut next = || random.between(-1.0, 1.0);
    Complex64::new(next(), next())
}
