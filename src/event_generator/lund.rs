//! A cut on the evolution variable of Pythia's parton shower (`ptlund`).

use mebridge_sampler::integrand::{Failure, Selection};
use serde::{Deserialize, Serialize};

/// Particles with an absolute PDG code below this can be emitted.
const EMITTED: u32 = 30;
/// Squared masses below this are due to rounding and count as 0, GeV^2.
const MIN_SQUARE: f64 = 1e-4;

/// The legs of a matrix element to which the cut applies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LundLegs {
    /// Outgoing legs.
    pub legs: Vec<usize>,
    /// Whether these are all outgoing legs, namely two massless ones. The cut then applies to their transverse momenta.
    pub alone: bool,
}

/// Cuts on the smallest pT of all emissions that a shower could have made (`PT_LUND` in MadEvent's `cuts.f`).
#[derive(Debug)]
pub(super) struct LundCut {
    /// Least pT, GeV.
    pub(super) least: f64,
    /// The legs of each matrix element.
    pub(super) elements: Vec<LundLegs>,
    /// PDG codes, `[element][leg]`.
    pub(super) codes: Vec<Vec<i32>>,
}

impl Selection for LundCut {
    fn select(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        let (of, codes) = (&self.elements[element], &self.codes[element]);
        if of.legs.is_empty() {
            return Ok(());
        }
        for (momenta, passes) in momenta.chunks_exact(legs).zip(passes) {
            *passes = *passes && smallest(of, codes, momenta) >= self.least;
        }
        Ok(())
    }
}

/// Returns the smallest pT of all possible emissions, GeV.
fn smallest(of: &LundLegs, codes: &[i32], momenta: &[[f64; 4]]) -> f64 {
    let LundLegs { legs, alone } = of;
    if *alone {
        let transverse = legs
            .iter()
            .map(|&leg| momenta[leg][1].hypot(momenta[leg][2]));
        return transverse.fold(f64::INFINITY, f64::min);
    }
    let mut found = f64::INFINITY;
    for &emitted in legs
        .iter()
        .filter(|&&leg| codes[leg].unsigned_abs() < EMITTED)
    {
        for beam in [0, 1] {
            let [radiator, recoiler] = [momenta[beam], momenta[1 - beam]];
            found = found.min(from_incoming(radiator, momenta[emitted], recoiler));
        }
        for &radiator in legs.iter().filter(|&&leg| leg != emitted) {
            // Before the emission a quark or a heavy particle had its mass, unless both particles are of the same kind:
            // these come from a massless gluon or photon.
            let [one, other] = [radiator, emitted].map(|leg| codes[leg].unsigned_abs());
            let keeps = !matches!(one, 21 | 22) && one != other;
            let pair = [momenta[radiator], momenta[emitted]];
            let others = legs
                .iter()
                .filter(|&&leg| leg != emitted && leg != radiator);
            for &recoiler in others {
                found = found.min(from_outgoing(pair, momenta[recoiler], false, keeps));
            }
            for beam in [0, 1] {
                found = found.min(from_outgoing(pair, momenta[beam], true, keeps));
            }
        }
    }
    found
}

fn combined<const N: usize>(of: [([f64; 4], f64); N]) -> [f64; 4] {
    std::array::from_fn(|i| of.iter().map(|(momentum, sign)| sign * momentum[i]).sum())
}

fn product(one: [f64; 4], other: [f64; 4]) -> f64 {
    one[0] * other[0] - one[1] * other[1] - one[2] * other[2] - one[3] * other[3]
}

fn square(of: [f64; 4]) -> f64 {
    product(of, of)
}

fn squared_mass(of: [f64; 4]) -> f64 {
    let square = square(of);
    if square < MIN_SQUARE { 0.0 } else { square }
}

/// Returns the pT of an emission by an incoming parton, GeV: pT^2 = (1 - z) Q^2; infinite if the emission is
/// impossible.
fn from_incoming(radiator: [f64; 4], emitted: [f64; 4], recoiler: [f64; 4]) -> f64 {
    let virtuality = -square(combined([(radiator, 1.0), (emitted, -1.0)]));
    let before = square(combined([
        (radiator, 1.0),
        (recoiler, 1.0),
        (emitted, -1.0),
    ]));
    let z = before / square(combined([(radiator, 1.0), (recoiler, 1.0)]));
    pt(
        (1.0 - z) * virtuality,
        virtuality >= 0.0 && (0.0..=1.0).contains(&z),
    )
}

/// Returns the pT of an emission by an outgoing particle, GeV: pT^2 = z (1 - z) (Q^2 - m^2); infinite if the emission
/// is impossible.
///
/// Args: `pair` is the radiator and the emitted particle; `incoming` says whether the recoiler is incoming; `keeps`,
/// whether m is the mass of the radiator instead of 0.
fn from_outgoing(pair: [[f64; 4]; 2], recoiler: [f64; 4], incoming: bool, keeps: bool) -> f64 {
    let [radiator, emitted] = pair;
    let [of_radiator, of_emitted] = pair.map(squared_mass);
    let before = if keeps { of_radiator } else { 0.0 };
    let both = combined([(radiator, 1.0), (emitted, 1.0)]);
    let virtuality = square(both);
    let whole = square(combined([(both, 1.0), (recoiler, 1.0)]));
    let mut scale = 1.0;
    if incoming {
        let rest = whole - 2.0 * virtuality + before;
        let share = (virtuality - before) / rest;
        scale = (1.0 - share) / (1.0 + share);
    }
    let recoiler = recoiler.map(|component| component * scale);
    let dipole = combined([(both, 1.0), (recoiler, 1.0)]);
    let [x1, x2] = [radiator, recoiler].map(|one| 2.0 * product(dipole, one) / square(dipole));
    let difference = of_emitted - of_radiator;
    let free = (virtuality - of_radiator - of_emitted).powi(2) - 4.0 * of_radiator * of_emitted;
    let [k1, k3] = [difference, -difference]
        .map(|difference| (virtuality - free.sqrt() + difference) / (2.0 * virtuality));
    let z = (x1 / (2.0 - x2) - k3) / (1.0 - k1 - k3);
    let within = [x1, x2, z].iter().all(|one| (0.0..=1.0).contains(one));
    let possible = virtuality >= 0.0 && whole >= 0.0 && scale >= 0.0 && within;
    pt(z * (1.0 - z) * (virtuality - before), possible)
}

fn pt(square: f64, possible: bool) -> f64 {
    match possible {
        true => square.max(0.0).sqrt(),
        false => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of g g > t g u u~; momenta are conserved.
    #[rustfmt::skip]
    const MOMENTA: [[f64; 4]; 6] = [
        [388.05745134363576, 0.0, 0.0, 388.05745134363576],
        [446.8154462388351, 0.0, 0.0, -446.8154462388351],
        [223.89334175986883, -94.30734009845374, -91.85285446326412, 53.55751315087757],
        [257.6505178266139, -183.5128075705529, -11.470707064037512, -180.48618139166933],
        [140.6931220655779, 88.07772770594869, 16.231848940201814, 108.50527894392437],
        [212.63591593041014, 189.74241996305796, 87.09171258709982, -40.33460559833194],
    ];
    const CODES: [i32; 6] = [21, 21, 6, 21, 2, -2];

    /// Results of RHOPYTHIA of MG5aMC 3.5.7 in 64-bit arithmetic of gfortran: radiator, emitted particle, recoiler, pT.
    const PT: [(usize, usize, usize, f64); 11] = [
        (0, 2, 1, 227.2472784813241),
        (3, 2, 4, 167.9802954591572),
        (3, 2, 0, 163.6388191135096),
        (4, 2, 0, f64::INFINITY),
        (0, 3, 1, 447.8038652570598),
        (2, 3, 4, 147.0208740351134),
        (2, 3, 0, 139.2202516264299),
        (2, 3, 1, f64::INFINITY),
        (4, 3, 2, 189.6463987328825),
        (4, 3, 0, 186.860587802946),
        (5, 3, 1, f64::INFINITY),
    ];

    fn of(radiator: usize, emitted: usize, recoiler: usize) -> f64 {
        let [one, other, third] = [radiator, emitted, recoiler].map(|leg| MOMENTA[leg]);
        if radiator < 2 {
            return from_incoming(one, other, third);
        }
        let [code, emitted] = [radiator, emitted].map(|leg| CODES[leg].abs());
        from_outgoing(
            [one, other],
            third,
            recoiler < 2,
            code != 21 && code != emitted,
        )
    }

    #[test]
    fn emissions_have_the_pt_of_madevent() {
        for (radiator, emitted, recoiler, wanted) in PT {
            let found = of(radiator, emitted, recoiler);
            let near = (found - wanted).abs() <= 1e-9 * wanted || found == wanted;
            assert!(near, "{radiator} {emitted} {recoiler}: {found}, {wanted}");
        }
    }

    #[test]
    fn points_are_cut_by_the_smallest_one() {
        let all = |legs: &[usize], alone: bool| LundLegs {
            legs: legs.to_vec(),
            alone,
        };
        let found = smallest(&all(&[3, 4, 5], false), &CODES, &MOMENTA);
        let mut wanted = f64::INFINITY;
        for emitted in [3, 4, 5] {
            for (radiator, recoiler) in [(0, 1), (1, 0)] {
                wanted = wanted.min(of(radiator, emitted, recoiler));
            }
            for radiator in [3, 4, 5].into_iter().filter(|&leg| leg != emitted) {
                for recoiler in [0, 1, 12 - radiator - emitted] {
                    wanted = wanted.min(of(radiator, emitted, recoiler));
                }
            }
        }
        assert_eq!(found, wanted);
        let pt = |leg: usize| MOMENTA[leg][1].hypot(MOMENTA[leg][2]);
        assert_eq!(
            smallest(&all(&[4, 5], true), &CODES, &MOMENTA),
            pt(4).min(pt(5))
        );
        let cut = |least: f64, legs: &[usize]| {
            let cut = LundCut {
                least,
                elements: vec![all(legs, false)],
                codes: vec![CODES.to_vec()],
            };
            let mut passes = [true, false];
            let both = [MOMENTA, MOMENTA].concat();
            cut.select(0, 6, &both, &mut passes).unwrap();
            passes
        };
        assert_eq!(cut(found * 0.999, &[3, 4, 5]), [true, false]);
        assert_eq!(cut(found * 1.001, &[3, 4, 5]), [false, false]);
        assert_eq!(cut(1e6, &[]), [true, false]);
    }
}
