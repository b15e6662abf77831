//! Checks of the phase space, the beams and the densities of a run before points are drawn.

use crate::Element;
use crate::beams::radiator;
use crate::cuts::min_energy;
use crate::densities::{AlphaS, BeamDensities, GridRange, PHOTON};
use crate::element::listed;
use crate::named_cuts::NamedCut;
use crate::poles::{larger_masses, resonances, vanishes_below};
use crate::text::{general, significant};
use mebridge::event_generator::BeamRequest;
use mebridge::{Error, Result};
use mebridge_densities::BosonBeam;
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_support::sorted::SortedSet;

/// Number of legs of a process with a single outgoing particle.
pub const LEGS_OF_SINGLE: usize = 3;
/// A little less than 1, to keep x above the first x of the densities despite rounding.
const BELOW: f64 = 1.0 - 1e-9;
/// Neutrinos, by PDG code.
const NEUTRINOS: [u32; 3] = [12, 14, 16];

/// Properties that all matrix elements of a run have in common.
#[derive(Clone, Copy)]
pub struct PhaseSpaceCheck<'a> {
    /// Energy of both beams in their centre of mass, GeV.
    pub energy: f64,
    /// The range of the densities; `None` without densities.
    pub grid_range: Option<&'a GridRange>,
    /// alpha_s of the run.
    pub alpha_s: &'a AlphaS,
    /// The scales of the run.
    pub scale: &'a Scale,
    /// Cuts by name; `None` if cuts are those of a run card.
    pub cuts: Option<&'a [NamedCut]>,
}

impl PhaseSpaceCheck<'_> {
    /// Checks that events of a matrix element can be made. If densities begin at an x that is too large for the
    /// smallest masses, and events of such masses can be neglected, a window that removes these is added.
    ///
    /// Args: `partons` are PDG codes that the densities must have.
    ///
    /// # Errors
    /// There would be no events, or infinitely many, or some outside the range of densities or alpha_s.
    pub fn check(
        &self,
        element: &Element,
        windows: &mut Vec<Window>,
        partons: &SortedSet<i32>,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        resonances(element, windows, self.energy, self.grid_range.is_some())?;
        let legs = element.masses.len();
        let mut lowest = min_energy(windows, &element.masses);
        let floor = self
            .grid_range
            .map_or(0.0, |grid_range| self.energy * grid_range.min_x.sqrt());
        if self.grid_range.is_some() && legs != LEGS_OF_SINGLE {
            let begin = floor / BELOW.powi(2);
            if lowest < begin && vanishes_below(element, begin) {
                notices.push(format!(
                    "{}: masses below {} GeV are left out, for which the densities have no x",
                    listed([element]),
                    significant(begin, 3)
                ));
                lowest = begin;
                let every = vec![(2..legs).collect()];
                windows.push(Window::new(Observable::Mass, every, begin, f64::INFINITY));
            }
        }
        if self.energy <= lowest {
            let (lowest, energy) = (general(lowest), general(self.energy));
            return Err(Error::run(
                format!(
                    "the cuts leave nothing below {lowest} GeV, and the energy is {energy} GeV"
                ),
                "",
            ));
        }
        let strong = element.qcd_power() != Some(0);
        if let Some(scale) = self.scale.renormalisation.filter(|_| strong) {
            let name = "the scale of renormalisation (scale)";
            self.alpha_s.check_scale(scale, name)?;
        }
        let Some(grid_range) = self.grid_range else {
            return Ok(());
        };
        // Each x is at least x1 * x2, the squared mass divided by the squared energy, as the other one is at most 1.
        let cure = larger_masses(element.pdg(), floor, self.cuts);
        grid_range.check(partons, (lowest / self.energy).powi(2), &cure)?;
        let entries = ["dsqrt_q2fact1", "dsqrt_q2fact2"];
        let fixed = self.scale.factorisation.iter().zip(entries);
        for (scale, entry) in fixed.filter_map(|(scale, entry)| Some((scale.as_ref()?, entry))) {
            let entry = if self.cuts.is_some() { "scale" } else { entry };
            grid_range.check_scale(*scale, &format!("the scale of factorisation ({entry})"))?;
        }
        Ok(())
    }
}

/// Checks that events of these matrix elements can be made at an energy, GeV. Args: `name` is that of the process, if it
/// is given by name.
///
/// # Errors
/// A matrix element has too few legs or too little energy, or its incoming particles do not match the beams.
pub fn check_elements(
    elements: &[Element],
    incoming: &Incoming,
    energy: f64,
    name: Option<&str>,
) -> Result<()> {
    for element in elements {
        check(element, energy)?;
    }
    incoming.check(elements)?;
    if let Some(name) = name {
        for element in elements {
            check_neutrinos(element, name)?;
        }
    }
    Ok(())
}

/// Checks that events of a matrix element can be made at this energy, GeV.
///
/// # Errors
/// The process is a decay, has no channels, or its particles are too heavy.
fn check(element: &Element, energy: f64) -> Result<()> {
    if element.described.incoming.len() != 2 || element.pdg().len() < LEGS_OF_SINGLE {
        return Err(Error::run(
            "events are generated for two particles that come in and one or more that go out"
                .to_owned(),
            "mebridge.Run(NAME), or `mebridge events NAME`, makes those of decays (t > b w+)",
        ));
    }
    if element.channels().is_empty() {
        return Err(Error::run(
            "the process has no channels".to_owned(),
            "take it from a MadEvent output",
        ));
    }
    if energy <= element.masses[2..].iter().sum() {
        return Err(Error::run(
            format!(
                "{} GeV are less than the masses of the process need",
                general(energy)
            ),
            "raise the energy (of a run card ebeam1 and ebeam2)",
        ));
    }
    Ok(())
}

/// Checks that incoming massless neutrinos have a single helicity: |M|^2 is averaged over the helicities of the
/// process, so a second one would halve the cross section. As MG5aMC's run cards have `polbeam1 = -100` for such beams,
/// this concerns processes given by name, and process files.
///
/// Args: `name` is that of the process in messages.
///
/// # Errors
/// A neutrino has two helicities.
fn check_neutrinos(element: &Element, name: &str) -> Result<()> {
    let described = &element.described;
    for (beam, (&code, &mass)) in described.incoming.iter().zip(&element.masses).enumerate() {
        let helicities: SortedSet<i8> = described.helicities.iter().map(|row| row[beam]).collect();
        if NEUTRINOS.contains(&code.unsigned_abs()) && mass == 0.0 && helicities.len() > 1 {
            let hand = if code > 0 { "L" } else { "R" };
            return Err(Error::run_at(
                name,
                format!(
                    "particle {} that comes in ({code}, PDG code) has two helicities there, over which |M|^2 is averaged, and \
                     neutrinos have one",
                    beam + 1
                ),
                format!("write {{{hand}}} after its name, as in `vm{{L}} e- > mu- ve`"),
            ));
        }
    }
    Ok(())
}

/// Checks that a leg is a jet in all processes of a matrix element or in none, which matching needs.
///
/// Args: `source` is the name of the run card in messages.
///
/// # Errors
/// `maxjetflavor` lies between the flavours of a leg.
pub fn check_flavors(element: &Element, maxjetflavor: i64, source: &str) -> Result<()> {
    let processes = element.options();
    for leg in 0..element.pdg().len() {
        let codes = processes.iter().map(|pdg| pdg[leg].unsigned_abs());
        let quarks: SortedSet<u32> = codes.filter(|&code| code <= 6).collect();
        let jets: SortedSet<bool> = quarks
            .iter()
            .map(|&code| i64::from(code) <= maxjetflavor)
            .collect();
        let Some(largest) = quarks.last().filter(|_| jets.len() > 1) else {
            continue;
        };
        let quarks: Vec<String> = quarks.iter().map(u32::to_string).collect();
        return Err(Error::run_at(
            source,
            format!(
                "maxjetflavor = {maxjetflavor} divides the flavours of leg {} of {} (PDG codes), {}, into jets and others; \
                 matching (ickkw = 1) needs all of them as jets",
                leg + 1,
                element.name(),
                quarks.join(", ")
            ),
            format!("set maxjetflavor to {largest}"),
        ));
    }
    Ok(())
}

/// The beams of a run.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Densities of the hadrons, or of photons of both beams; `None` if both beams are partons.
    pub densities: Option<&'a BeamDensities>,
    /// Whether each beam is the antiparticle of the hadron that the densities describe.
    pub anti: [bool; 2],
    /// The index of the beam that is not a hadron, if the other one is.
    pub other: Option<usize>,
    /// The entry `lpp` of that beam if it radiates photons, otherwise 0.
    pub photons: i64,
    /// Numbers of protons and neutrons of each ion.
    pub ions: [Option<[u32; 2]>; 2],
    /// The beams that radiate weak bosons.
    pub bosons: [Option<BosonBeam>; 2],
}

impl Incoming<'_> {
    /// Checks that the incoming particles of matrix elements match the beams.
    ///
    /// # Errors
    /// Without densities, there are several pairs of incoming partons, or a single outgoing particle; or the beam
    /// beside a hadron has several particles, or others than the photons that it radiates.
    fn check(&self, elements: &[Element]) -> Result<()> {
        let processes = || elements.iter().flat_map(Element::options);
        let mirrored = elements.iter().any(Element::is_mirrored);
        if self.densities.is_none() {
            let pairs: SortedSet<&[i32]> = processes().map(|pdg| &pdg[..2]).collect();
            if pairs.len() > 1 || mirrored {
                return Err(Error::run(
                    "a process with several partons that come in needs parton densities: pdf="
                        .to_owned(),
                    "",
                ));
            }
            if elements
                .iter()
                .any(|element| element.pdg().len() == LEGS_OF_SINGLE)
            {
                return Err(Error::run(
                    "a particle that goes out alone has the energy of its mass: its events need parton densities".to_owned(),
                    "",
                ));
            }
        }
        let Some(beam) = self.other.filter(|beam| self.bosons[*beam].is_none()) else {
            return Ok(());
        };
        let codes: SortedSet<i32> = processes().map(|pdg| pdg[beam]).collect();
        let (entry, lpp) = (beam + 1, self.photons);
        if codes.len() > 1 || mirrored {
            let codes: Vec<String> = codes.iter().map(i32::to_string).collect();
            return Err(Error::run(
                format!(
                    "beam {entry} is one particle (lpp{entry}), and the process has several there, or in both beams: {} (PDG codes)",
                    codes.join(", ")
                ),
                "name one particle",
            ));
        }
        if lpp != 0 && codes != SortedSet::from([PHOTON]) {
            return Err(Error::run(
                format!(
                    "beam {entry} radiates photons (lpp{entry} = {lpp}), and the process has none there"
                ),
                "",
            ));
        }
        Ok(())
    }

    /// PDG codes that densities must have for a matrix element.
    pub fn partons(&self, element: &Element) -> SortedSet<i32> {
        let mut found = SortedSet::new();
        for pdg in element.options() {
            for beam in (0..2).filter(|&beam| Some(beam) != self.other) {
                let mirrored = element.is_mirrored().then_some(pdg[1 - beam]);
                for code in [pdg[beam]].into_iter().chain(mirrored) {
                    // Gluons and photons are their own antiparticles.
                    let turned = self.anti[beam] && !matches!(code, 21 | 22);
                    found.insert(if turned { -code } else { code });
                }
            }
        }
        found
    }

    /// Returns the beams for the event generator; `None` if both are partons.
    pub fn requests(&self) -> Option<[BeamRequest; 2]> {
        let densities = self.densities?;
        Some(
            [0, 1].map(|beam| match (self.bosons[beam], Some(beam) == self.other) {
                (Some(bosons), _) => BeamRequest::Bosons(bosons),
                (None, false) => densities.beam(self.anti[beam], self.ions[beam]),
                (None, true) => {
                    radiator(self.photons).map_or(BeamRequest::Parton, BeamRequest::Photons)
                }
            }),
        )
    }

    /// Returns the energy of both beams in their centre of mass, GeV, and the rapidity of that in the detector frame.
    ///
    /// Args: `energies` of the beams in the detector frame, GeV; `energy`, the result without masses; `masses` of the
    /// legs of a matrix element.
    ///
    /// # Errors
    /// A beam has less energy than its mass.
    pub fn center(&self, energies: [f64; 2], energy: f64, masses: &[f64]) -> Result<[f64; 2]> {
        let is_parton = |beam: usize| {
            let is_other = Some(beam) == self.other && self.bosons[beam].is_none();
            self.densities.is_none() || (is_other && self.photons == 0)
        };
        let masses = [0, 1].map(|beam| if is_parton(beam) { masses[beam] } else { 0.0 });
        match masses == [0.0; 2] {
            true => Ok([energy, rapidity(energies)]),
            false => center(energies, masses),
        }
    }
}

/// Returns the rapidity of the centre of mass of two massless beams with these energies.
pub fn rapidity([first, second]: [f64; 2]) -> f64 {
    0.5 * (first / second).ln()
}

/// Returns the energy of both beams in their centre of mass, GeV, as in `genps.f`, and the rapidity of that.
///
/// Args: `energies` in the detector frame; `masses` of the beam particles, 0 for hadrons.
///
/// # Errors
/// A beam has less energy than its mass.
pub fn center(energies: [f64; 2], masses: [f64; 2]) -> Result<[f64; 2]> {
    for (number, (energy, mass)) in energies.into_iter().zip(masses).enumerate() {
        if energy < mass {
            let (beam, energy, mass) = (number + 1, general(energy), general(mass));
            return Err(Error::run(
                format!("beam {beam} has {energy} GeV, and a mass of {mass} GeV"),
                format!("raise its energy (ebeam{beam})"),
            ));
        }
    }
    let [first, second] =
        [0, 1].map(|i| ((energies[i] - masses[i]) * (energies[i] + masses[i])).sqrt());
    let (total, along) = (energies[0] + energies[1], first - second);
    Ok([
        ((total - along) * (total + along)).sqrt(),
        atanh(along / total),
    ])
}

/// The inverse hyperbolic tangent as computed by the GNU C library; that of Rust's standard library differs in the last
/// digits.
fn atanh(x: f64) -> f64 {
    let size = x.abs();
    let ratio = match size < 0.5 {
        true => 2.0 * size + 2.0 * size * size / (1.0 - size),
        false => 2.0 * size / (1.0 - size),
    };
    (0.5 * ratio.ln_1p()).copysign(x)
}

#[cfg(test)]
mod tests;
