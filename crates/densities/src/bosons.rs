//! Weak bosons and photons of leptons in the effective vector boson approximation (A. Costantini et al.,
//! arXiv:2111.02442), as in MG5aMC's `ElectroweakFlux.f` and `ElectroweakFluxDriver.f`: a density for each helicity.

use super::Radiator;
use std::f64::consts::PI;

/// PDG codes.
const PHOTON: i32 = 22;
const Z: i32 = 23;
const W: i32 = 24;
/// Helicities of the photon, and of bosons with a mass.
const TRANSVERSE: [i8; 2] = [-1, 1];
const ALL: [i8; 3] = [-1, 0, 1];
/// Charge and third component of the weak isospin of a charged lepton.
const CHARGE: f64 = -1.0;
const ISOSPIN: f64 = -0.5;
/// Bosons have at least this part of the lepton's energy, and leave it as much.
const LEAST_PART: f64 = 1e-8;
/// Masses of leptons, with the values of `madevent_electroweakFlux.inc`, GeV.
const ELECTRON_MASS: f64 = 0.510_998_946_1e-3;
const MUON_MASS: f64 = 105.658_374_5e-3;

/// A lepton beam that radiates weak bosons and photons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BosonBeam {
    /// The lepton; a proton has none of these densities.
    pub of: Radiator,
    /// Whether it is the antiparticle.
    pub anti: bool,
    /// The fraction of left-handed leptons in the beam.
    pub left_handed: f64,
    /// Whether bosons have transverse momenta up to the scale, instead of virtualities.
    pub by_transverse_momentum: bool,
    /// The electromagnetic coupling.
    pub alpha: f64,
    /// Masses of the W and Z bosons, GeV.
    pub masses: [f64; 2],
}

/// The density of a boson apart from x and the scale.
#[derive(Clone, Copy, Debug)]
pub struct BosonFlux {
    /// Strengths of the emission by left-handed and right-handed leptons.
    strengths: [f64; 2],
    /// The logarithm of the square of the scale at which the density of transverse bosons begins, GeV^2.
    begin: f64,
}

/// The densities of a beam.
#[derive(Clone, Copy, Debug)]
pub struct BosonFluxes {
    photon: BosonFlux,
    z: BosonFlux,
    w: BosonFlux,
    pub by_transverse_momentum: bool,
}

/// The densities of bosons in a beam, their codes and their helicities.
///
/// # Panics
/// If the beam is of protons.
pub fn densities(beam: BosonBeam) -> (BosonFluxes, Vec<i32>, Vec<i8>) {
    let lepton_mass = match beam.of {
        Radiator::Electron => ELECTRON_MASS,
        Radiator::Muon => MUON_MASS,
        Radiator::Proton => panic!("protons have partons"),
    };
    let [mass_w, mass_z] = beam.masses;
    let squared_cosine = (mass_w / mass_z).powi(2);
    let squared_sine = 1.0 - squared_cosine;
    let squared_charge = 4.0 * PI * beam.alpha;
    let of_w = squared_charge / squared_sine;
    let of_z = of_w / squared_cosine;
    let right = -CHARGE * squared_sine;
    let flux = |squared_coupling: f64, mut chiral: [f64; 2], mass: f64| {
        if beam.anti {
            chiral.swap(0, 1);
        }
        let shares = [beam.left_handed, 1.0 - beam.left_handed];
        let strength =
            |hand: usize| shares[hand] * squared_coupling * chiral[hand] / (4.0 * PI * PI);
        BosonFlux {
            strengths: [0, 1].map(strength),
            begin: 2.0 * mass.ln(),
        }
    };
    let fluxes = BosonFluxes {
        photon: flux(squared_charge * CHARGE * CHARGE, [1.0; 2], lepton_mass),
        z: flux(of_z, [(ISOSPIN + right).powi(2), right.powi(2)], mass_z),
        w: flux(0.5 * of_w, [1.0, 0.0], mass_w),
        by_transverse_momentum: beam.by_transverse_momentum,
    };
    let emitted = if beam.anti { W } else { -W };
    let rows = [(PHOTON, &TRANSVERSE[..]), (Z, &ALL), (emitted, &ALL)].into_iter();
    let rows = rows.flat_map(|(code, helicities)| helicities.iter().map(move |one| (code, *one)));
    let (codes, helicities) = rows.unzip();
    (fluxes, codes, helicities)
}

impl BosonFluxes {
    /// Writes x f(x) of all bosons and helicities at an x whose difference from 1 is `rest`; `logarithm` is that of the
    /// squared scale, over 1 - x if bosons are counted by their transverse momenta.
    pub fn evaluate(&self, rest: f64, logarithm: f64, values: &mut [f64]) {
        let within = LEAST_PART..=1.0 - LEAST_PART;
        if !(within.contains(&rest) || rest.is_nan()) {
            values.fill(0.0);
            return;
        }
        let transverse = |of: &BosonFlux| {
            let [left, right] = of.strengths;
            let more = logarithm - of.begin;
            // NaN propagates.
            let more = if more < 0.0 { 0.0 } else { 0.5 * more };
            let square = rest * rest;
            [
                (left + right * square) * more,
                (left * square + right) * more,
            ]
        };
        let [first, second] = transverse(&self.photon);
        values[..2].copy_from_slice(&[first, second]);
        for (values, of) in values[2..].chunks_exact_mut(3).zip([&self.z, &self.w]) {
            let [first, second] = transverse(of);
            let longitudinal = (of.strengths[0] + of.strengths[1]) * rest;
            values.copy_from_slice(&[first, longitudinal, second]);
        }
    }
}
