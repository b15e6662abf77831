//! The beams of a run card.

use crate::run_card::{OF_BOSONS, OF_LHAPDF, OF_PHOTONS, RunCard};
use crate::scale;
use crate::text::general;
use mebridge::import::user_code::UserScale;
use mebridge::{Error, Result};
use mebridge_densities::{FormFactor, Radiator};
use std::path::Path;

/// PDG codes.
const PROTON: i32 = 2212;
const NEUTRON: i32 = 2112;
/// The code of a nucleus is this plus 10000 per proton and 10 per nucleon.
const NUCLEUS: i32 = 1_000_000_000;
/// Largest number of protons or neutrons that fits into its digits.
const MAX_NUCLEONS: u64 = 499;
/// Least energy of a nucleon in GeV, as its mass is neglected.
const MIN_ENERGY: f64 = 10.0;
/// Largest mass of an ion as a fraction of its energy.
const MAX_MASS: f64 = 0.1;
const ELECTRON: i32 = 11;
const MUON: i32 = 13;
/// The `dynamical_scale_choice` for a function of the user, and that for clustering.
const OWN_SCALE: i64 = 0;
const BY_CLUSTERING: i64 = -1;
/// The `pdlabel` of photons from both protons of ultraperipheral collisions.
const OF_PAIRS: [(&str, FormFactor); 2] = [
    ("edff", FormFactor::ElectricDipole),
    ("chff", FormFactor::Charge),
];

/// Returns the form factor of such a `pdlabel`.
pub fn form_factor(label: &str) -> Option<FormFactor> {
    let mut known = OF_PAIRS.into_iter();
    known.find_map(|(known, form)| (known == label).then_some(form))
}

/// The `pdlabel` of electrons that have radiated; of these the first is without losses in the field of the other bunch.
pub const LEPTON_SETS: [&str; 6] = [
    WITHOUT_LOSSES,
    "cepc240ll",
    "clic3000ll",
    "fcce240ll",
    "fcce365ll",
    "ilc500ll",
];
const WITHOUT_LOSSES: &str = "isronlyll";

/// Both beams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beams {
    /// PDG codes; 0 where the parton itself is the beam.
    pub codes: [i32; 2],
    /// The entries `lpp1` and `lpp2`.
    pub lpp: [i64; 2],
    /// GeV, in the detector frame; for an ion, per nucleon.
    pub energies: [f64; 2],
    /// For an ion, its numbers of protons and neutrons.
    pub ions: [Option<[u32; 2]>; 2],
    /// Whether they are leptons with densities of leptons.
    pub leptons: bool,
    /// Whether each is a lepton with densities of weak bosons.
    pub bosons: [bool; 2],
}

/// Returns the particle that radiates photons for an entry `lpp`; `None` if the beam does not radiate.
pub fn radiator(lpp: i64) -> Option<Radiator> {
    match lpp.unsigned_abs() {
        2 => Some(Radiator::Proton),
        3 => Some(Radiator::Electron),
        4 => Some(Radiator::Muon),
        _ => None,
    }
}

/// Returns the PDG code of a beam with an entry `lpp`, 0 for a parton; `None` if the entry is invalid.
fn code(lpp: i64) -> Option<i32> {
    let code = match radiator(lpp) {
        Some(Radiator::Proton) => PROTON,
        Some(Radiator::Electron) => ELECTRON,
        Some(Radiator::Muon) => MUON,
        None if lpp == 0 => 0,
        None if lpp.unsigned_abs() == 1 => PROTON,
        None => return None,
    };
    Some(if lpp < 0 { -code } else { code })
}

fn is_hadron(lpp: i64) -> bool {
    lpp.unsigned_abs() == 1
}

impl Beams {
    /// Returns whether a run card takes scales from the clustering of events.
    pub fn cluster_scales(&self, card: &RunCard) -> bool {
        !self.scales_are_fixed(card) && card.integer("dynamical_scale_choice") == BY_CLUSTERING
    }

    /// Returns whether no scale of a run card depends on the momenta.
    fn scales_are_fixed(&self, card: &RunCard) -> bool {
        let factorisation = self.resting() || scale::factorisation_is_fixed(card) == [true; 2];
        card.flag("fixed_ren_scale") && factorisation
    }

    /// Returns the beams of a run card.
    ///
    /// Args: `labels` are those of the densities that MG5aMC puts into an output; `own_scale` says where scales of the user
    /// come from.
    ///
    /// # Errors
    /// The beams, their energies, densities or scales are not supported.
    pub fn from_run_card(
        card: &RunCard,
        labels: &[&str],
        own_scale: Option<UserScale>,
    ) -> Result<Beams> {
        let beams = Beams::for_decays(card);
        let [one, other] = beams.lpp;
        let kinds_are_one = one.unsigned_abs() == other.unsigned_abs();
        let codes = (code(one), code(other));
        let (Some(first), Some(second)) = codes else {
            return Err(refused(card));
        };
        let bosons = radiate_bosons(card, beams.lpp);
        let beside = |beam: usize| match beams.lpp[beam] {
            0 => true,
            lpp => radiator(lpp).is_some() && label(card, beam) == OF_PHOTONS,
        };
        let with_bosons = bosons.contains(&true) && (0..2).all(|beam| bosons[beam] || beside(beam));
        if !kinds_are_one && !with_bosons && !is_hadron(one) && !is_hadron(other) {
            return Err(refused(card));
        }
        let ions = [ion(card, 1)?, ion(card, 2)?];
        let codes = [(first, ions[0]), (second, ions[1])];
        let beams = Beams {
            leptons: are_leptons(card, beams.lpp)?,
            bosons,
            codes: codes.map(|(code, ion)| ion.map_or(code, nucleus)),
            ions,
            energies: [0, 1].map(|beam| beams.energies[beam] / nucleons(ions[beam])),
            ..beams
        };
        for (name, energy) in ["ebeam1", "ebeam2"].into_iter().zip(beams.energies) {
            if energy <= 0.0 {
                let what = format!("{name} = {}", general(energy));
                return Err(card.refused(what, "it must be an energy in GeV"));
            }
        }
        beams.check_masses(card)?;
        beams.check_densities(card, labels)?;
        beams.check_scales(card, own_scale)?;
        Ok(beams)
    }

    /// Returns the beams of a decay: none, but with the entries of the card.
    pub fn for_decays(card: &RunCard) -> Beams {
        Beams {
            codes: [0, 0],
            lpp: ["lpp1", "lpp2"].map(|name| card.integer(name)),
            energies: ["ebeam1", "ebeam2"].map(|name| card.number(name)),
            ions: [None; 2],
            leptons: false,
            bosons: [false; 2],
        }
    }

    /// Returns whether a beam is an ion.
    pub fn has_ions(&self) -> bool {
        self.ions.iter().any(Option::is_some)
    }

    /// Returns the energies of both beams, for ions those of all nucleons together, GeV.
    pub fn whole_energies(&self) -> [f64; 2] {
        [0, 1].map(|beam| self.energies[beam] * nucleons(self.ions[beam]))
    }

    /// Checks that masses of hadrons, which are neglected, are small compared to their energies, and that only beams of
    /// which the density of one parton is known are used with matching.
    fn check_masses(&self, card: &RunCard) -> Result<()> {
        let energies = self.energies.into_iter().zip(self.whole_energies());
        for (beam, (energy, whole)) in energies.enumerate() {
            let (number, is_hadron) = (beam + 1, is_hadron(self.lpp[beam]));
            let mass = card.number(&format!("mass_ion{number}"));
            let what = match () {
                () if is_hadron && energy < MIN_ENERGY => format!(
                    "ebeam{number} = {}: a nucleon has {} GeV, and masses of nucleons are left out",
                    general(whole),
                    general(energy)
                ),
                () if mass >= 0.0 && (!is_hadron || mass > MAX_MASS * whole) => format!(
                    "mass_ion{number} = {} cannot be honoured: masses of beams are left out",
                    general(mass)
                ),
                () => continue,
            };
            let cure = "run MadEvent (mebridge link), or give ebeam1 and ebeam2 in a frame in which both beams are fast, and -1 \
                        as mass_ion";
            return Err(card.refused(what, cure));
        }
        let without_matching = match () {
            () if self.has_ions() => Some("ions"),
            () if self.leptons || self.bosons.contains(&true) => Some("leptons"),
            () if self.radiated() && form_factor(card.text("pdlabel1")).is_some() => {
                Some("ultraperipheral collisions")
            }
            () => None,
        };
        if let Some(of) = without_matching
            && (card.integer("ickkw") != 0 || card.number("xqcut") != 0.0)
        {
            let what = format!("ickkw and xqcut are not for beams of {of} here");
            return Err(card.refused(what, "set both to 0"));
        }
        Ok(())
    }

    fn check_densities(&self, card: &RunCard, labels: &[&str]) -> Result<()> {
        if self.resting() {
            return Ok(());
        }
        let given = ["pdlabel1", "pdlabel2"].map(|name| card.text(name));
        let same = |what: &str| {
            let what = format!("{what}1 and {what}2 are not the same");
            Err(card.refused(what, "give both one value"))
        };
        let kinds_are_one = self.lpp[0].unsigned_abs() == self.lpp[1].unsigned_abs();
        if given[0] != given[1] && kinds_are_one && !self.bosons.contains(&true) {
            return same("pdlabel");
        }
        for (beam, (label, lpp)) in (1..).zip(given.into_iter().zip(self.lpp)) {
            let pairs = form_factor(label).is_some() && self.lpp.map(i64::unsigned_abs) == [2; 2];
            let is_known = label == OF_PHOTONS || self.leptons || pairs || self.bosons[beam - 1];
            if radiator(lpp).is_some() && !is_known {
                let what = format!("pdlabel = {label} cannot be honoured for lpp{beam} = {lpp}");
                let cure = format!(
                    "set it to {OF_PHOTONS}, which has photons of beams that are left whole, to {OF_BOSONS}, which has weak \
                     bosons of leptons, or lpp{beam} to 0 for a beam without radiation"
                );
                return Err(card.refused(what, &cure));
            }
            if is_hadron(lpp) && label != OF_LHAPDF && !labels.contains(&label) {
                let what = format!("pdlabel = {label} cannot be honoured");
                let cure = format!("set it to {OF_LHAPDF}, or to one of {}", labels.join(", "));
                return Err(card.refused(what, &cure));
            }
        }
        Ok(())
    }

    /// Returns whether scales are those of the user, where these come from `own`.
    pub fn own_scale(&self, card: &RunCard, own: Option<UserScale>) -> bool {
        let choice = card.integer("dynamical_scale_choice");
        let is_selected = match own {
            None => false,
            Some(UserScale::Function) => choice == OWN_SCALE,
            // MadEvent calls them for each choice.
            Some(UserScale::Routines { .. }) => choice != BY_CLUSTERING,
        };
        is_selected && !self.scales_are_fixed(card)
    }

    fn check_scales(&self, card: &RunCard, own: Option<UserScale>) -> Result<()> {
        let choice = card.integer("dynamical_scale_choice");
        if choice == BY_CLUSTERING
            && matches!(own, Some(UserScale::Routines { .. }))
            && !self.scales_are_fixed(card)
        {
            let what = "dynamical_scale_choice = -1 is by clustering, and setscales.f was changed";
            let cure = "set it to the choice for which the file was changed, or give --changed-files (changed_files=True) for \
                        scales by clustering";
            return Err(card.refused(what.to_owned(), cure));
        }
        let [first, second] = scale::factorisation_is_fixed(card);
        let clusters = choice == BY_CLUSTERING || card.integer("ickkw") == 1;
        let of_user = matches!(
            own,
            Some(UserScale::Routines {
                factorisation: true
            })
        );
        if first != second && (clusters || of_user) && !self.resting() {
            let what = match clusters {
                true => {
                    "the scale of one beam is fixed and that of the other one by clustering, for which MadEvent takes the \
                     fixed one in some processes"
                }
                false => "the scale of one beam is fixed and that of the other one by setscales.f",
            };
            let cure = "give fixed_fac_scale1 and fixed_fac_scale2 the same value, or dynamical_scale_choice 1, 2, 3 or 4";
            return Err(card.refused(what.to_owned(), cure));
        }
        let is_known = choice == BY_CLUSTERING || scale::dynamical(choice).is_some();
        if is_known || self.own_scale(card, own) || self.scales_are_fixed(card) {
            return Ok(());
        }
        let what = format!("dynamical_scale_choice = {choice} cannot be honoured");
        let own = match choice {
            OWN_SCALE => ", or give an output a user_dynamical_scale in Fortran (custom_fcts)",
            _ => "",
        };
        Err(card.refused(what, &format!("set it to 1, 2, 3, 4 or -1{own}")))
    }

    /// Whether both beams are partons.
    pub fn resting(&self) -> bool {
        self.codes == [0, 0]
    }

    /// Whether both beams radiate photons.
    pub fn radiated(&self) -> bool {
        !self.leptons
            && self.bosons == [false; 2]
            && self.lpp.iter().all(|lpp| radiator(*lpp).is_some())
    }

    /// The index of the beam that is not a hadron, if the other one is: it is a parton, or a particle that radiates
    /// photons or weak bosons. Or that of a parton, or of a particle that radiates photons, beside a lepton that radiates
    /// weak bosons.
    pub fn non_hadron(&self) -> Option<usize> {
        match self.lpp.map(is_hadron) {
            [false, true] => Some(0),
            [true, false] => Some(1),
            _ if self.bosons.contains(&true) => (0..2).find(|&beam| !self.bosons[beam]),
            _ => None,
        }
    }

    /// The entry `lpp` of the beam [`Beams::non_hadron`] if that radiates photons; otherwise 0.
    pub fn photons(&self) -> i64 {
        let beam = self.non_hadron().filter(|beam| !self.bosons[*beam]);
        beam.map_or(0, |beam| self.lpp[beam])
    }

    /// The index of the beam that is a parton, if the other one is not.
    pub fn parton(&self) -> Option<usize> {
        self.non_hadron().filter(|beam| self.lpp[*beam] == 0)
    }

    /// Whether each beam is the antiparticle of the hadron or lepton that the set of densities describes.
    pub fn anti(&self) -> [bool; 2] {
        self.lpp.map(|lpp| lpp == -1 || (self.leptons && lpp < 0))
    }

    /// Whether `<mgrwt>` in an event file can describe how an event depends on densities and alpha_s.
    pub fn reweightable(&self) -> bool {
        let known = !self.radiated() && !self.leptons && self.bosons == [false; 2];
        known && self.non_hadron().is_none() && !self.has_ions()
    }

    /// Returns the label of the densities: `pdlabel` of a hadron, or of both beams.
    pub fn label<'a>(&self, card: &'a RunCard) -> &'a str {
        match self.non_hadron() {
            Some(0) => card.text("pdlabel2"),
            _ => card.text("pdlabel1"),
        }
    }

    /// The energy of both beams in the frame in which their energies are equal, GeV; masses are neglected.
    pub fn energy(&self) -> f64 {
        let [first, second] = self.energies;
        match first == second {
            true => 2.0 * first,
            false => 2.0 * (first * second).sqrt(),
        }
    }
}

/// Returns whether beams with these entries `lpp` have densities of leptons.
///
/// # Errors
/// The entries select densities that do not exist.
fn are_leptons(card: &RunCard, lpp: [i64; 2]) -> Result<bool> {
    let labels = ["pdlabel1", "pdlabel2"].map(|name| card.text(name));
    let radiates = |beam: usize| radiator(lpp[beam]).is_some();
    let of_lepton = (0..2).find(|&beam| radiates(beam) && LEPTON_SETS.contains(&labels[beam]));
    let Some(beam) = of_lepton else {
        return Ok(false);
    };
    let label = labels[beam];
    let kinds = lpp.map(i64::unsigned_abs);
    let what = match kinds {
        [4, 4] => format!("pdlabel = {label} has no muons: its densities are 0 in MG5aMC"),
        [3, 3] if lpp[0] == lpp[1] && label != WITHOUT_LOSSES => format!(
            "pdlabel = {label} is for beams of electrons and positrons: of two like ones MG5aMC has a part"
        ),
        [3, 3] => return Ok(true),
        _ => format!("pdlabel = {label} is for two beams of electrons and positrons"),
    };
    let cure = format!(
        "set lpp1 and lpp2 to -3 and 3 for positrons and electrons, or to 0 for beams without radiation, or pdlabel{} to \
         {OF_PHOTONS} for photons",
        beam + 1
    );
    Err(card.refused(what, &cure))
}

/// Returns which beams with these entries `lpp` have densities of weak bosons.
fn radiate_bosons(card: &RunCard, lpp: [i64; 2]) -> [bool; 2] {
    let is_lepton = |lpp: i64| matches!(radiator(lpp), Some(Radiator::Electron | Radiator::Muon));
    [0, 1].map(|beam| is_lepton(lpp[beam]) && label(card, beam) == OF_BOSONS)
}

/// Returns the `pdlabel` of a beam.
fn label(card: &RunCard, beam: usize) -> &str {
    card.text(["pdlabel1", "pdlabel2"][beam])
}

/// Returns the number of nucleons.
fn nucleons(ion: Option<[u32; 2]>) -> f64 {
    ion.map_or(1.0, |[protons, neutrons]| {
        f64::from(protons) + f64::from(neutrons)
    })
}

/// Returns the PDG code of an ion (`setrun.f`).
fn nucleus([protons, neutrons]: [u32; 2]) -> i32 {
    match (protons, neutrons) {
        (1, 0) => PROTON,
        (0, 1) => NEUTRON,
        _ => NUCLEUS + (10_000 * protons + 10 * (protons + neutrons)) as i32,
    }
}

/// Returns the numbers of protons and neutrons of a beam that is an ion.
///
/// # Errors
/// There is no such ion.
fn ion(card: &RunCard, beam: usize) -> Result<Option<[u32; 2]>> {
    let count = |name: &str| card.integer_within(&format!("{name}{beam}"), 0, MAX_NUCLEONS);
    let both = [count("nb_proton")? as u32, count("nb_neutron")? as u32];
    if both == [1, 0] {
        return Ok(None);
    }
    let lpp = card.integer(&format!("lpp{beam}"));
    let what = match () {
        () if both == [0, 0] => format!("nb_proton{beam} and nb_neutron{beam} are 0"),
        () if lpp != 1 => {
            format!("nb_proton{beam} and nb_neutron{beam} need lpp{beam} = 1, which is {lpp}")
        }
        () => return Ok(Some(both)),
    };
    Err(card.refused(what, "set them to 1 and 0 for a beam that is no ion"))
}

/// Returns the error for kinds of beams that are not supported.
fn refused(card: &RunCard) -> Error {
    let [one, other] = ["lpp1", "lpp2"].map(|name| card.value(name));
    card.refused(
        format!("lpp1 = {one} and lpp2 = {other} cannot be honoured"),
        "one has to be 1 (proton) or -1 (antiproton), and the other that, 0 (a parton), or 2, 3 or 4 (photons of \
         protons, electrons, muons); or both are the same; or one has pdlabel = eva (weak bosons of electrons, muons), and \
         the other that, iww (photons), or lpp = 0",
    )
}

/// Checks that a run card does not polarise the beams of a process that is given by name, except those whose densities
/// depend on it.
///
/// # Errors
/// It polarises them.
pub fn unpolarised(card: &RunCard, beams: &Beams) -> Result<()> {
    for (name, by_densities) in ["polbeam1", "polbeam2"].into_iter().zip(beams.bosons) {
        let value = card.number(name);
        if value != 0.0 && !by_densities {
            let what = format!(
                "{name} = {}, and only matrix elements of an output of MG5aMC are polarised by a run card",
                general(value)
            );
            let cure = format!(
                "take one, or set {name} to 0 and polarise the process (`e-{{L}} e+ > mu- mu+`, `vm{{L}} e- > mu- ve`)"
            );
            return Err(card.refused(what, &cure));
        }
    }
    Ok(())
}

/// Checks that a run card polarises beams as the matrix elements of an output do, which read the polarisation from the
/// run card of their output (`own`), except for beams whose densities depend on it.
///
/// # Errors
/// The polarisations differ, or a polarised beam is not a parton.
pub fn polarised(card: &RunCard, own: &Path, beams: &Beams) -> Result<()> {
    let known = RunCard::read(own, &[])?;
    for beam in (1..=2).filter(|beam| !beams.bosons[beam - 1]) {
        let name = format!("polbeam{beam}");
        let (value, there) = (card.number(&name), known.number(&name));
        let is = format!("{name} = {}", general(value));
        if value != there {
            let (own, there) = (own.display(), general(there));
            let what = format!(
                "{is}, and {own} has {there}: matrix elements are polarised as that file says"
            );
            return Err(card.refused(what, "change it there"));
        }
        if value != 0.0 && card.integer(&format!("lpp{beam}")) != 0 {
            let cure = format!("set {name} to 0");
            return Err(card.refused(format!("{is} needs lpp{beam} = 0"), &cure));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [&str; 3] = ["nn23lo", "nn23lo1", "cteq6l1"];

    fn card(values: &[(&str, &str)]) -> RunCard {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given = values.iter().map(owned).collect();
        RunCard::from_entries(given, "run_card.dat", &[]).unwrap()
    }

    fn beams(values: &[(&str, &str)]) -> Beams {
        Beams::from_run_card(&card(values), &LABELS, None).unwrap()
    }

    #[test]
    fn codes_of_beams() {
        for (one, other, codes, label) in [
            ("1", "1", [2212, 2212], "nn23lo1"),
            ("1", "-1", [2212, -2212], "nn23lo1"),
            ("0", "0", [0, 0], "none"),
            ("2", "-2", [2212, -2212], "iww"),
            ("3", "-3", [11, -11], "iww"),
            ("-4", "4", [-13, 13], "iww"),
            ("0", "1", [0, 2212], "lhapdf"),
            ("-3", "3", [-11, 11], "cepc240ll"),
            ("3", "3", [11, 11], "isronlyll"),
            ("2", "2", [2212, 2212], "chff"),
            ("-4", "4", [-13, 13], "eva"),
            ("-3", "4", [-11, 13], "eva"),
            ("0", "-4", [0, -13], "eva"),
        ] {
            let found = beams(&[("lpp1", one), ("lpp2", other), ("pdlabel", label)]);
            assert_eq!(found.codes, codes);
        }
    }

    #[test]
    fn what_beams_are() {
        let of = |one, other| {
            let labels = [one, other].map(|lpp| match lpp {
                "2" | "3" | "-3" | "4" => "iww",
                _ => "nn23lo1",
            });
            beams(&[
                ("lpp1", one),
                ("lpp2", other),
                ("pdlabel1", labels[0]),
                ("pdlabel2", labels[1]),
            ])
        };
        let protons = of("1", "-1");
        assert_eq!((protons.non_hadron(), protons.photons()), (None, 0));
        assert_eq!(protons.anti(), [false, true]);
        assert!(protons.reweightable() && !protons.resting() && !protons.radiated());
        let partons = of("0", "0");
        assert_eq!((partons.non_hadron(), partons.anti()), (None, [false; 2]));
        assert!(partons.resting() && partons.reweightable());
        let whole = of("0", "1");
        assert_eq!((whole.non_hadron(), whole.photons()), (Some(0), 0));
        assert_eq!((whole.parton(), whole.anti()), (Some(0), [false; 2]));
        assert!(!whole.reweightable());
        let photons = of("1", "-3");
        assert_eq!((photons.non_hadron(), photons.photons()), (Some(1), -3));
        assert_eq!((photons.parton(), photons.anti()), (None, [false; 2]));
        assert!(!photons.radiated() && !photons.resting() && !photons.reweightable());
        let both = of("3", "-3");
        assert_eq!((both.non_hadron(), both.photons()), (None, 0));
        assert!(both.radiated() && !both.reweightable() && !both.leptons);
        let leptons = [("lpp1", "-3"), ("lpp2", "3"), ("pdlabel", "ilc500ll")];
        let leptons = beams(&leptons);
        assert!(leptons.leptons && !leptons.radiated() && !leptons.reweightable());
        assert_eq!(
            (leptons.non_hadron(), leptons.anti()),
            (None, [true, false])
        );
        let bosons = |one: [&str; 2], other: [&str; 2]| {
            let found = beams(&[
                ("lpp1", one[0]),
                ("pdlabel1", one[1]),
                ("lpp2", other[0]),
                ("pdlabel2", other[1]),
            ]);
            assert!(!found.radiated() && !found.reweightable());
            (
                found.bosons,
                found.non_hadron(),
                found.photons(),
                found.parton(),
            )
        };
        let eva = ["-3", "eva"];
        assert_eq!(bosons(eva, ["4", "eva"]), ([true; 2], None, 0, None));
        assert_eq!(
            bosons(eva, ["1", "nn23lo1"]),
            ([true, false], Some(0), 0, None)
        );
        assert_eq!(
            bosons(["0", "none"], eva),
            ([false, true], Some(0), 0, Some(0))
        );
        assert_eq!(bosons(eva, ["3", "iww"]), ([true, false], Some(1), 3, None));
        let card = card(&[("lpp1", "3"), ("pdlabel1", "iww"), ("pdlabel2", "nn23lo")]);
        let found = Beams::from_run_card(&card, &LABELS, None).unwrap();
        assert_eq!(found.label(&card), "nn23lo");
    }

    #[test]
    fn ions_have_the_energy_of_a_nucleon() {
        let lead = [
            ("nb_proton1", "82"),
            ("nb_neutron1", "126"),
            ("ebeam1", "522080"),
        ];
        let mass = [("mass_ion1", "195.08")];
        let found = beams(&[&lead[..], &mass].concat());
        assert_eq!(found.codes, [1_000_822_080, 2212]);
        assert_eq!(found.ions, [Some([82, 126]), None]);
        assert_eq!(found.energies, [2510.0, 6500.0]);
        assert_eq!(found.whole_energies(), [522_080.0, 6500.0]);
        assert!(found.has_ions() && !found.reweightable());
        let neutron = beams(&[("nb_proton2", "0"), ("nb_neutron2", "1")]);
        assert_eq!(neutron.codes, [2212, 2112]);
        let refused = |values: &[(&str, &str)], wanted: &str| {
            let found = Beams::from_run_card(&card(values), &LABELS, None);
            let message = found.unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        };
        for (more, message) in [
            (
                &[("lpp1", "-1")][..],
                "nb_proton1 and nb_neutron1 need lpp1 = 1, which is -1",
            ),
            (
                &[("lpp1", "2"), ("pdlabel1", "iww")],
                "need lpp1 = 1, which is 2",
            ),
            (
                &[("ickkw", "1")],
                "ickkw and xqcut are not for beams of ions",
            ),
            (&[("ebeam1", "1000")], "ebeam1 = 1000: a nucleon has 4.8"),
            (
                &[("mass_ion1", "1e5")],
                "mass_ion1 = 100000 cannot be honoured",
            ),
        ] {
            refused(&[&lead[..], more].concat(), message);
        }
        refused(
            &[("ebeam2", "0.938")],
            "ebeam2 = 0.938: a nucleon has 0.938 GeV",
        );
        refused(&[("nb_proton2", "0")], "nb_proton2 and nb_neutron2 are 0");
        refused(
            &[("nb_neutron2", "-1")],
            "nb_neutron2 is -1; it must be a whole number",
        );
        let leptons = [("lpp1", "0"), ("lpp2", "0"), ("mass_ion2", "0.1")];
        refused(&leptons, "mass_ion2 = 0.1 cannot be honoured");
    }

    #[test]
    fn the_energy_is_that_of_the_symmetric_frame() {
        assert_eq!(beams(&[]).energy(), 13000.0);
        let found = beams(&[("ebeam1", "100"), ("ebeam2", "400")]);
        assert_eq!(found.energy(), 400.0);
    }

    #[test]
    fn beams_that_cannot_be_honoured() {
        #[rustfmt::skip]
        let cases = [
            (&[("lpp1", "3"), ("lpp2", "0")][..], "lpp1 = 3 and lpp2 = 0 cannot be honoured; one has to"),
            (&[("lpp1", "2"), ("lpp2", "3")], "lpp1 = 2 and lpp2 = 3 cannot"),
            (&[("lpp1", "5")], "lpp1 = 5 and lpp2 = 1 cannot"),
            (&[("lpp1", "-9e18")], "lpp1 = -9000000000000000000 and lpp2 = 1 cannot"),
            (&[("lpp1", "2"), ("lpp2", "2")], "pdlabel = nn23lo1 cannot be honoured for lpp1 = 2; set it to iww, "),
            (&[("ebeam1", "0")], "ebeam1 = 0; it must be an energy in GeV"),
            (&[("pdlabel", "edff")],
             "pdlabel = edff cannot be honoured; set it to lhapdf, or to one of nn23lo, nn23lo1, cteq6l1"),
            (&[("pdlabel", "iww")], "pdlabel = iww cannot be honoured; set it to lhapdf"),
            (&[("lpp1", "2"), ("lpp2", "2"), ("pdlabel", "eva")],
             "pdlabel = eva cannot be honoured for lpp1 = 2; set it to iww, which has photons of beams that are left \
                 whole, to eva, which has weak bosons of leptons, or lpp1 to 0 for a beam without radiation"),
            (&[("lpp1", "2"), ("lpp2", "2"), ("pdlabel1", "iww"), ("pdlabel2", "edff")],
             "pdlabel1 and pdlabel2 are not the same; give both one value"),
            (&[("lpp1", "2"), ("pdlabel1", "chff")], "pdlabel = chff cannot"),
            (&[("lpp1", "3"), ("lpp2", "-3"), ("pdlabel", "eva"), ("ickkw", "1")],
             "ickkw and xqcut are not for beams of leptons here; set both to 0"),
            (&[("lpp1", "3"), ("lpp2", "-4"), ("pdlabel", "iww")], "lpp1 = 3 and lpp2 = -4 cannot"),
            (&[("lpp1", "3"), ("lpp2", "-3"), ("pdlabel", "chff")], "pdlabel = chff cannot be honoured for lpp1 = 3"),
            (&[("lpp1", "-4"), ("lpp2", "4"), ("pdlabel", "isronlyll")],
             "pdlabel = isronlyll has no muons: its densities are 0 in MG5aMC; set lpp1 and lpp2 to -3 and 3"),
            (&[("lpp1", "3"), ("lpp2", "3"), ("pdlabel", "clic3000ll")],
             "pdlabel = clic3000ll is for beams of electrons and positrons: of two like ones"),
            (&[("lpp2", "3"), ("pdlabel2", "isronlyll")],
             "pdlabel = isronlyll is for two beams of electrons and positrons; set "),
            (&[("lpp1", "3"), ("lpp2", "-3"), ("pdlabel1", "isronlyll"), ("pdlabel2", "iww")],
             "pdlabel1 and pdlabel2 are not the same; give both one value"),
            (&[("pdlabel", "isronlyll")], "pdlabel = isronlyll cannot be honoured; set it to lhapdf"),
            (&[("lpp1", "3"), ("lpp2", "-3"), ("pdlabel", "isronlyll"), ("ickkw", "1")],
             "ickkw and xqcut are not for beams of leptons here; set both to 0"),
            (&[("lpp1", "2"), ("lpp2", "2"), ("pdlabel", "edff"), ("xqcut", "10")],
             "ickkw and xqcut are not for beams of ultraperipheral collisions here"),
            (&[("dynamical_scale_choice", "0")],
             "dynamical_scale_choice = 0 cannot be honoured; set it to 1, 2, 3, 4 or -1"),
            (&[("dynamical_scale_choice", "5"), ("fixed_ren_scale", "T")], "dynamical_scale_choice = 5"),
            (&[("fixed_fac_scale1", "T")], "the scale of one beam is fixed and that of the other one by clustering"),
            (&[("fixed_fac_scale2", "T"), ("dynamical_scale_choice", "3"), ("ickkw", "1")],
             "the scale of one beam is fixed"),
        ];
        for (values, wanted) in cases {
            let error = Beams::from_run_card(&card(values), &LABELS, None)
                .unwrap_err()
                .to_string();
            let wanted = format!("run_card.dat: {wanted}");
            assert!(error.starts_with(&wanted), "{error}");
        }
        // All scales are fixed or not needed.
        let fixed = [("dynamical_scale_choice", "0"), ("fixed_ren_scale", "T")];
        beams(&[&fixed[..], &[("fixed_fac_scale", "T")]].concat());
        beams(&[&fixed[..], &[("lpp1", "0"), ("lpp2", "0")]].concat());
        beams(&[("dynamical_scale_choice", "3"), ("fixed_fac_scale1", "T")]);
        // That of a parton does not matter.
        beams(&[("lpp1", "0"), ("lpp2", "0"), ("fixed_fac_scale1", "T")]);
        let parton = [("lpp1", "0"), ("fixed_fac_scale2", "T")];
        beams(&[&fixed[..], &parton].concat());
    }

    #[test]
    fn beams_are_polarised_as_matrix_elements() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("run_card.dat");
        std::fs::write(&own, "80 = polbeam1\n").unwrap();
        let error = |values: &[(&str, &str)]| {
            let error = polarised(&card(values), &own, &beams(&[])).unwrap_err();
            error.to_string().replace(&own.display().to_string(), "OWN")
        };
        assert_eq!(
            error(&[("polbeam1", "-20.5")]),
            "run_card.dat: polbeam1 = -20.5, and OWN has 80: matrix elements are polarised as that file says; change it \
             there"
        );
        assert_eq!(
            error(&[("polbeam1", "80")]),
            "run_card.dat: polbeam1 = 80 needs lpp1 = 0; set polbeam1 to 0"
        );
        let given = card(&[("polbeam1", "80"), ("lpp1", "0")]);
        polarised(&given, &own, &beams(&[])).unwrap();
        unpolarised(&card(&[]), &beams(&[])).unwrap();
        // Densities of bosons depend on it instead.
        let eva = [("lpp1", "-3"), ("lpp2", "3"), ("pdlabel", "eva")];
        let other = card(&[&eva[..], &[("polbeam1", "-20"), ("polbeam2", "5")]].concat());
        polarised(&other, &own, &beams(&eva)).unwrap();
        unpolarised(&other, &beams(&eva)).unwrap();
        let error = unpolarised(&card(&[("polbeam2", "5")]), &beams(&[]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("run_card.dat: polbeam2 = 5, and only matrix elements of an output"),
            "{error}"
        );
        assert!(
            error.contains("set polbeam2 to 0 and polarise the process (`e-{L} e+"),
            "{error}"
        );
    }
}
