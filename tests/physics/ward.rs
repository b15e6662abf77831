//! Ward identities: with a gluon's polarisation replaced by its momentum (HELAS's `NHEL = 4` of
//! `VXXXXX`) and all other legs physical, the diagrams of a gauge-invariant amplitude cancel.
//! They do so only together, so a wrong sign, factor or Lorentz structure of any one diagram
//! shows; that is also tried: without one amplitude the rest does not cancel.

use crate::batch::squared;
use crate::kinematics::{Point, points};
use crate::processes::{gauge_invariant, gg_ttx, other_gauge_theories, with_more_gluons};
use mebridge::process::external::MOMENTUM;
use mebridge::process::{Process, TermSource};

/// Gluons and photons.
const GAUGE_BOSONS: [i32; 2] = [21, 22];

/// The process with the polarisation of one leg replaced by its momentum.
pub fn with_momentum(process: &Process, leg: usize) -> Process {
    let mut process = process.clone();
    for row in &mut process.helicities {
        row[leg] = MOMENTUM;
    }
    process.helicities.sort();
    process.helicities.dedup();
    process
}

/// The process without one amplitude in its colour flows.
fn without_amplitude(process: &Process, amplitude: u32) -> Process {
    let mut process = process.clone();
    let jamp = &mut process.amplitudes.diagrams_mut().expect("diagrams").jamp;
    for terms in jamp.partial.iter_mut().chain(&mut jamp.outputs) {
        terms.retain(|term| term.source != TermSource::Amplitude(amplitude));
    }
    process
}

fn gluons(process: &Process) -> Vec<usize> {
    let legs = process.legs.iter().enumerate();
    legs.filter(|(_, leg)| GAUGE_BOSONS.contains(&leg.pdg))
        .map(|(i, _)| i)
        .collect()
}

/// Largest and smallest |M|^2 with the momentum, relative to that with the polarisations, by the
/// engine. Polarisations and `p/E` are of the same size, so this is a measure of the cancellation.
fn ratios(process: &Process, card: &[f64], points: &[Point], leg: usize) -> (f64, f64) {
    let normal = squared(process, card, points, 1.2);
    let replaced = squared(&with_momentum(process, leg), card, points, 1.2);
    let ratios = || replaced.iter().zip(&normal).map(|(r, n)| (r / n).abs());
    (
        ratios().fold(0.0, f64::max),
        ratios().fold(f64::INFINITY, f64::min),
    )
}

pub fn check(process: &Process, energies: &[f64], count: usize) {
    let card = gauge_invariant(process);
    for &energy in energies {
        let points = points(process, &card, energy, count, 11);
        for leg in gluons(process) {
            let (largest, _) = ratios(process, &card, &points, leg);
            println!(
                "{} at {energy} GeV, leg {}: {largest:.1e}",
                process.name,
                leg + 1
            );
            assert!(
                largest < 1e-20,
                "{} at {energy} GeV: leg {} gives {largest:e}",
                process.name,
                leg + 1
            );
        }
    }
}

/// Whether the identity fails for a gluon, at every point, without an amplitude.
fn matters(process: &Process, energy: f64, amplitude: u32, leg: usize) -> bool {
    let card = gauge_invariant(process);
    let points = points(process, &card, energy, 5, 12);
    let process = without_amplitude(process, amplitude);
    ratios(&process, &card, &points, leg).1 > 1e-12
}

/// Each of these amplitudes matters to every gluon.
fn control(process: &Process, amplitudes: &[u32]) {
    for &amplitude in amplitudes {
        for leg in gluons(process) {
            assert!(
                matters(process, 1000.0, amplitude, leg),
                "{} without amplitude {}, leg {}",
                process.name,
                amplitude + 1,
                leg + 1
            );
        }
    }
}

#[test]
fn gluons_decouple_from_top_quarks() {
    let process = gg_ttx();
    check(&process, &[346.5, 500.0, 2000.0], 20);
    control(&process, &[0, 1, 2]);
}

/// A width in the top's propagator breaks the identity by about `(width/mass)^2`: the measure
/// above sees it.
#[test]
fn a_width_breaks_the_identity() {
    let process = gg_ttx();
    let card = process.model.default_card();
    let points = points(&process, &card, 500.0, 5, 13);
    let (_, smallest) = ratios(&process, &card, &points, 0);
    assert!((1e-10..1e-2).contains(&smallest), "{smallest:e}");
}

#[test]
fn more_gluons_decouple() {
    for process in with_more_gluons() {
        check(&process, &[1000.0], 10);
        let last = process.amplitudes.vertices().len() as u32 - 1;
        control(&process, &[0, last / 2, last]);
    }
}

/// Not only fermions and the vertices of Yang and Mills.
#[test]
fn gluons_decouple_in_other_theories() {
    for process in other_gauge_theories() {
        check(&process, &[2500.0], 10);
        // Not all amplitudes matter: g g > h > b b~ is gauge invariant by itself, and the
        // product of a polarisation with the other gluon's momentum vanishes in this frame.
        let amplitudes = process.amplitudes.vertices().len();
        for leg in gluons(&process) {
            let some = (0..amplitudes).step_by(amplitudes.div_ceil(8));
            let count = some
                .filter(|&a| matters(&process, 2500.0, a as u32, leg))
                .count();
            println!("{}, leg {}: {count} matter", process.name, leg + 1);
            assert!(count >= 2, "{}, leg {}: {count}", process.name, leg + 1);
        }
    }
}

/// The plain evaluation knows the same convention.
#[test]
fn the_plain_evaluation_agrees() {
    let process = gg_ttx();
    let card = gauge_invariant(&process);
    for point in points(&process, &card, 800.0, 10, 14) {
        let normal = process.evaluate(&point, 1.2, &card).total();
        let replaced = with_momentum(&process, 1).evaluate(&point, 1.2, &card);
        let spoilt = without_amplitude(&with_momentum(&process, 1), 2);
        let spoilt = spoilt.evaluate(&point, 1.2, &card);
        assert!(replaced.total().abs() < 1e-20 * normal);
        assert!(spoilt.total() > 1e-12 * normal);
    }
}
