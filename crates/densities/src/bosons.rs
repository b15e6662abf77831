//! Weak bosons and photons of leptons in the effective vector boson approximation (A. Costantini et al.,
//! arXiv:2111.02442; beyond logarithms I. Bigaran, R. Ruiz, arXiv:2502.07878), as in MG5aMC's `ElectroweakFlux.f` and
//! `ElectroweakFluxDriver.f` (3.7.1): a density for each helicity.

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

/// Which terms the densities of bosons with a mass have; photons have the logarithm alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BosonOrder {
    /// The logarithm of the scale.
    #[default]
    Logarithm,
    /// All terms that are not suppressed by the energy of the boson.
    LeadingPower,
    /// And the first ones that are.
    NextToLeadingPower,
}

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
    /// The terms of the densities.
    pub order: BosonOrder,
    /// The energy of the leptons, GeV.
    pub energy: f64,
    /// Whether bosons have at least an energy of their mass.
    pub above_mass: bool,
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
    /// The square of the mass, GeV^2.
    squared_mass: f64,
    /// The least part of the lepton's energy.
    least_part: f64,
    order: BosonOrder,
}

/// The densities of a beam.
#[derive(Clone, Copy, Debug)]
pub struct BosonFluxes {
    photon: BosonFlux,
    z: BosonFlux,
    w: BosonFlux,
    pub by_transverse_momentum: bool,
    /// The square of the energy of the leptons, GeV^2.
    squared_energy: f64,
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
    let flux = |squared_coupling: f64, mut chiral: [f64; 2], mass: f64, order: BosonOrder| {
        if beam.anti {
            chiral.swap(0, 1);
        }
        let shares = [beam.left_handed, 1.0 - beam.left_handed];
        let strength =
            |hand: usize| shares[hand] * squared_coupling * chiral[hand] / (4.0 * PI * PI);
        BosonFlux {
            strengths: [0, 1].map(strength),
            begin: 2.0 * mass.ln(),
            squared_mass: mass * mass,
            least_part: 0.0,
            order,
        }
    };
    let massive = |squared_coupling, chiral, mass: f64| BosonFlux {
        least_part: match beam.above_mass {
            true => mass / beam.energy,
            false => 0.0,
        },
        ..flux(squared_coupling, chiral, mass, beam.order)
    };
    let fluxes = BosonFluxes {
        photon: flux(
            squared_charge * CHARGE * CHARGE,
            [1.0; 2],
            lepton_mass,
            BosonOrder::Logarithm,
        ),
        z: massive(of_z, [(ISOSPIN + right).powi(2), right.powi(2)], mass_z),
        w: massive(0.5 * of_w, [1.0, 0.0], mass_w),
        by_transverse_momentum: beam.by_transverse_momentum,
        squared_energy: beam.energy * beam.energy,
    };
    let emitted = if beam.anti { W } else { -W };
    let rows = [(PHOTON, &TRANSVERSE[..]), (Z, &ALL), (emitted, &ALL)].into_iter();
    let rows = rows.flat_map(|(code, helicities)| helicities.iter().map(move |one| (code, *one)));
    let (codes, helicities) = rows.unzip();
    (fluxes, codes, helicities)
}

impl BosonFlux {
    /// x times the densities of both transverse helicities; `more` is the logarithm of the squared scale over the least.
    fn transverse(&self, rest: f64, more: f64) -> [f64; 2] {
        let [left, right] = self.strengths;
        let square = rest * rest;
        let half = 0.5 * more;
        [
            (left + right * square) * half,
            (left * square + right) * half,
        ]
    }

    /// x times the densities of the three helicities; `of_mass` is the squared scale and `of_energy` the squared mass over
    /// the squares of the boson's mass and energy.
    fn powers(&self, rest: f64, of_mass: f64, of_energy: f64) -> [f64; 3] {
        let [left, right] = self.strengths;
        let (logarithm, part) = (of_mass.ln_1p(), of_mass / (1.0 + of_mass));
        let next = self.order == BosonOrder::NextToLeadingPower;
        let more = if next { (1.0 + rest) * of_energy } else { 0.0 };
        // The helicity of the lepton, and the other one.
        let [same, other] = [1.0, rest].map(|leading| {
            let second = more * (1.0 + 0.5 * of_mass);
            0.5 * leading * (logarithm * (leading + more) - part * (leading + second))
        });
        let flipped = match next {
            true => 0.25 * of_energy * (logarithm - part) * (1.0 + rest * rest),
            false => 0.0,
        };
        [
            left * same + right * other,
            (left + right) * (rest * part - flipped),
            left * other + right * same,
        ]
    }
}

impl BosonFluxes {
    /// Writes x f(x) of all bosons and helicities at an x whose difference from 1 is `rest`, and a squared scale;
    /// `logarithm` is that of the latter, over 1 - x if bosons are counted by their transverse momenta.
    pub fn evaluate(&self, rest: f64, squared_scale: f64, logarithm: f64, values: &mut [f64]) {
        let within = LEAST_PART..=1.0 - LEAST_PART;
        if !(within.contains(&rest) || rest.is_nan()) {
            values.fill(0.0);
            return;
        }
        // NaN propagates.
        let above = |of: &BosonFlux| {
            let more = logarithm - of.begin;
            if more < 0.0 { 0.0 } else { more }
        };
        values[..2].copy_from_slice(&self.photon.transverse(rest, above(&self.photon)));
        let part = 1.0 - rest;
        let least = if self.by_transverse_momentum {
            rest
        } else {
            1.0
        };
        for (values, of) in values[2..].chunks_exact_mut(3).zip([&self.z, &self.w]) {
            if part < of.least_part {
                values.fill(0.0);
                continue;
            }
            let found = match of.order {
                BosonOrder::Logarithm => {
                    let [first, second] = of.transverse(rest, above(of));
                    let longitudinal = (of.strengths[0] + of.strengths[1]) * rest;
                    [first, longitudinal, second]
                }
                _ => {
                    let of_mass = squared_scale / of.squared_mass;
                    let of_mass = if of_mass < least { least } else { of_mass };
                    let of_energy = of.squared_mass / (part * part * self.squared_energy);
                    of.powers(rest, of_mass, of_energy)
                }
            };
            values.copy_from_slice(&found);
        }
    }
}
