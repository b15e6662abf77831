//! Cuts by name (`pt`, `drjl`, ...): the particles they apply to, and the windows they become.

use crate::Element;
use crate::channel_line::ChannelLine;
use crate::cuts::resonance;
use crate::text::{general, quoted};
use mebridge::describe::Channel;
use mebridge::{Error, Result};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_support::sorted::SortedSet;

/// Width of the mass windows of particles in decay chains without a run card, in widths: the default of `bwcutoff`.
pub const WIDTHS: f64 = 15.0;

/// Classes of particles that named cuts apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParticleClass {
    /// `j`: gluons and quarks without the top quark.
    Jet,
    /// `l`: charged leptons.
    Lepton,
    /// `a`: photons.
    Photon,
}

impl ParticleClass {
    const ALL: [ParticleClass; 3] = [
        ParticleClass::Jet,
        ParticleClass::Lepton,
        ParticleClass::Photon,
    ];

    /// The class of a particle, if it has one.
    pub fn from_pdg(pdg: i32) -> Option<Self> {
        match pdg.unsigned_abs() {
            1..=5 | 21 => Some(ParticleClass::Jet),
            11 | 13 | 15 => Some(ParticleClass::Lepton),
            22 => Some(ParticleClass::Photon),
            _ => None,
        }
    }

    /// The letter of the class in names of cuts.
    fn letter(self) -> char {
        match self {
            ParticleClass::Jet => 'j',
            ParticleClass::Lepton => 'l',
            ParticleClass::Photon => 'a',
        }
    }
}

/// The definition of a named cut.
#[derive(Clone, Debug, PartialEq)]
pub struct CutName {
    /// The name.
    pub name: String,
    /// The observable.
    pub observable: Observable,
    /// The classes of its particles: one, or two for a pair.
    pub classes: Vec<ParticleClass>,
}

/// All named cuts, in the order in which messages list them.
pub fn names() -> Vec<CutName> {
    use ParticleClass::{Jet, Lepton, Photon};
    let pairs = [
        [Jet, Jet],
        [Lepton, Lepton],
        [Photon, Photon],
        [Jet, Lepton],
    ];
    let pairs = pairs.into_iter().chain([[Photon, Jet], [Photon, Lepton]]);
    let pairs: Vec<Vec<ParticleClass>> = pairs.map(Vec::from).collect();
    let single: Vec<Vec<ParticleClass>> = ParticleClass::ALL.map(|class| vec![class]).to_vec();
    let mut found = Vec::new();
    for (name, observable, each) in [
        ("pt", Observable::Pt, &single),
        ("eta", Observable::Rapidity, &single),
        ("dr", Observable::Distance, &pairs),
        ("mass", Observable::Mass, &pairs),
    ] {
        let mut add = |name: String, classes: &[ParticleClass]| {
            found.push(CutName {
                name,
                observable,
                classes: classes.to_vec(),
            });
        };
        // Without letters a cut is about jets.
        add(name.to_owned(), &each[0]);
        for classes in each {
            let letters: String = classes.iter().map(|class| class.letter()).collect();
            add(format!("{name}{letters}"), classes);
        }
    }
    found
}

impl CutName {
    /// Whether its value is an upper bound instead of a lower one.
    pub fn is_largest(&self) -> bool {
        self.observable == Observable::Rapidity
    }

    /// Whether it is a cut on this observable of these particles.
    pub fn is_of(&self, observable: Observable, classes: &[ParticleClass]) -> bool {
        let turned = self.classes.iter().rev();
        let same = self.classes == classes || turned.eq(classes);
        self.observable == observable && same
    }
}

/// A named cut with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCut {
    /// The cut.
    pub cut: CutName,
    /// The bound, in GeV unless it is on a rapidity or distance.
    pub value: f64,
}

/// Reads cuts from names and values.
///
/// # Errors
/// A cut does not exist, or its value is negative or infinite.
pub fn read<'a>(cuts: impl IntoIterator<Item = (&'a String, &'a f64)>) -> Result<Vec<NamedCut>> {
    let known = names();
    let each = cuts.into_iter().map(|(name, &value)| {
        let Some(cut) = known.iter().find(|cut| cut.name == *name) else {
            let known: Vec<&str> = known.iter().map(|cut| cut.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Error::run(
                format!("there is no cut {}; there are {known}", quoted(name)),
                "",
            ));
        };
        if !(0.0..f64::INFINITY).contains(&value) {
            return Err(Error::run(
                format!(
                    "the cut {name} is {}; it must be a number that is not negative",
                    general(value)
                ),
                "",
            ));
        }
        let cut = cut.clone();
        Ok(NamedCut { cut, value })
    });
    each.collect()
}

impl NamedCut {
    /// The groups of legs of a process that the cut applies to.
    fn groups(&self, pdg: &[i32]) -> Vec<Vec<usize>> {
        let of = |class: ParticleClass| {
            (2..pdg.len()).filter(move |&leg| ParticleClass::from_pdg(pdg[leg]) == Some(class))
        };
        match self.cut.classes[..] {
            [class] => of(class).map(|leg| vec![leg]).collect(),
            [one, other] => {
                let pairs = of(one).flat_map(|first| of(other).map(move |second| [first, second]));
                let pairs = pairs.filter(|[first, second]| first != second);
                let pairs: SortedSet<[usize; 2]> = pairs
                    .map(|[first, second]| [first.min(second), first.max(second)])
                    .collect();
                pairs.into_iter().map(Vec::from).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Cuts and their values, for messages.
pub fn described(cuts: &[NamedCut]) -> String {
    let each = cuts
        .iter()
        .map(|named| format!("{} = {}", named.cut.name, general(named.value)));
    each.collect::<Vec<_>>().join(", ")
}

/// The cuts that apply to particles of at least one process.
///
/// Args: `processes` are PDG codes of legs.
pub fn used<'a>(
    cuts: &[NamedCut],
    processes: impl IntoIterator<Item = &'a [i32]>,
) -> Vec<NamedCut> {
    let processes: Vec<&[i32]> = processes.into_iter().collect();
    let is_about = |cut: &&NamedCut| processes.iter().any(|pdg| !cut.groups(pdg).is_empty());
    cuts.iter().filter(is_about).cloned().collect()
}

/// The windows of a process from named cuts, and those on the masses of particles in decay chains.
///
/// # Errors
/// A particle of a decay chain has no width.
pub fn windows(element: &Element, cuts: &[NamedCut]) -> Result<Vec<Window>> {
    let mut found = windows_by_pdg(element.pdg(), cuts);
    found.extend(on_shell(element.channels())?);
    Ok(found)
}

/// The windows of a process from named cuts.
///
/// Args: `pdg` are the codes of its legs.
pub fn windows_by_pdg(pdg: &[i32], cuts: &[NamedCut]) -> Vec<Window> {
    let mut found = Vec::new();
    for named in cuts {
        let (least, largest) = match named.cut.is_largest() {
            true => (f64::NEG_INFINITY, named.value),
            false => (named.value, f64::INFINITY),
        };
        for group in named.groups(pdg) {
            let groups = match named.cut.observable {
                Observable::Distance => group.into_iter().map(|leg| vec![leg]).collect(),
                _ => vec![group],
            };
            found.push(Window::new(named.cut.observable, groups, least, largest));
        }
    }
    found
}

/// Windows on the masses of particles in decay chains, with the default width of MG5aMC's run card.
fn on_shell(channels: &[Channel]) -> Result<Vec<Window>> {
    let mut found: Vec<(SortedSet<usize>, Window)> = Vec::new();
    for channel in channels {
        for &number in &channel.on_shell_propagators {
            let line = ChannelLine::new(channel, number);
            if line.is_narrow() {
                return Err(Error::run(
                    format!("decay chain: {}", line.without_width()),
                    "",
                ));
            }
            let window = resonance(line.legs.clone(), line.mass, WIDTHS * line.width);
            match found.iter_mut().find(|(legs, _)| *legs == line.legs) {
                Some((_, known)) => *known = window,
                None => found.push((line.legs, window)),
            }
        }
    }
    Ok(found.into_iter().map(|(_, window)| window).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuts::describe as describe_windows;
    use crate::poles::tests::{cuts, elements};
    use mebridge_support::sorted::SortedMap;

    fn refused(name: &str, value: f64) -> String {
        read(&SortedMap::from([(name.to_owned(), value)]))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn cuts_that_there_are() {
        let known = "pt, ptj, ptl, pta, eta, etaj, etal, etaa, dr, drjj, drll, draa, drjl, draj, dral, mass, massjj, massll, \
                     massaa, massjl, massaj, massal";
        let names: Vec<String> = names().into_iter().map(|cut| cut.name).collect();
        assert_eq!(names.join(", "), known);
        assert_eq!(
            refused("et", 20.0),
            format!("there is no cut 'et'; there are {known}")
        );
        assert_eq!(
            refused("pt", -1.0),
            "the cut pt is -1; it must be a number that is not negative"
        );
        assert!(refused("pt", f64::NAN).contains("is nan;"));
        assert!(refused("pt", f64::INFINITY).contains("is inf;"));
    }

    #[test]
    fn cuts_are_about_their_particles() {
        let given = cuts(&[
            ("drjl", 0.4),
            ("etaa", 2.5),
            ("mass", 50.0),
            ("ptl", 10.0),
            ("massaa", 5.0),
        ]);
        let pdg = [2, -2, 11, 21, -5, 22, 6];
        // Used as PDG codes, so that each leg is recognisable in the texts.
        let legs: Vec<i32> = (0..7).collect();
        let found: Vec<String> = windows_by_pdg(&pdg, &given)
            .iter()
            .map(|window| describe_windows([window], &legs))
            .collect();
        assert_eq!(
            found,
            [
                "distance of 2, 3 from 0.4",
                "distance of 2, 4 from 0.4",
                "rapidity of 5 to 2.5",
                "mass of 3 4 from 50",
                "pt of 2 from 10",
            ]
        );
        let used = used(&given, [&pdg[..], &[1, -1, 6, -6]]);
        assert_eq!(
            described(&used),
            "drjl = 0.4, etaa = 2.5, mass = 50, ptl = 10"
        );
    }

    #[test]
    fn chains_stay_at_their_masses() {
        let chain = "e+ e- > z h, z > mu+ mu-";
        let element = &elements(chain, &[])[0];
        let found = windows(element, &[]).unwrap();
        let wanted = "mass of 13 13 from 54.5669 to 127.809";
        assert_eq!(describe_windows(&found, element.pdg()), wanted);
        assert_eq!(found.len(), 1);
        let narrow = windows(&elements(chain, &[("wz", 0.0)])[0], &[])
            .unwrap_err()
            .to_string();
        let begin = "decay chain: particle 23 (PDG code) can be on its mass shell, at 91.188 GeV, and has no width";
        assert!(narrow.starts_with(begin), "{narrow}");
    }
}
