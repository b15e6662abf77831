//! Cuts of a run card on the legs of a matrix element, as in MadEvent's `setcuts.f` and `cuts.f`: windows in
//! observables, and rules.

mod bounds;

use crate::run_card::{ONLY_PAIRS, RunCard};
use crate::text::general;
use mebridge::Result;
use mebridge::event_generator::LundLegs;
use mebridge_phasespace::cuts::{GroupValue, Observable, Rule, Window};
use mebridge_support::sorted::SortedSet;

pub use bounds::{min_energy, min_mass};

/// Mass in GeV above which a particle only has the cuts by its PDG code.
const NO_CUTS: f64 = 20.0;
/// Mass in GeV above which `ptheavy` applies to a particle.
const HEAVY: f64 = 10.0;
/// Entries with numbers by PDG code.
const NUMBERS_BY_CODE: [&str; 7] = [
    "pt_min_pdg",
    "pt_max_pdg",
    "e_min_pdg",
    "e_max_pdg",
    "eta_min_pdg",
    "eta_max_pdg",
    "mxx_min_pdg",
];

/// A window, and the entries that request it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The window.
    pub window: Window,
    /// Entries of a run card, such as `ptj = 20`; empty if the window follows from something else, such as a rule.
    pub entries: Vec<String>,
}

impl From<Window> for Cut {
    fn from(window: Window) -> Self {
        let entries = Vec::new();
        Cut { window, entries }
    }
}

impl Cut {
    /// Returns the entries that request it; if there are none, a description of the window.
    pub fn name(&self, pdg: &[i32]) -> String {
        match self.entries.is_empty() {
            true => describe([&self.window], pdg),
            false => self.entries.join(" with "),
        }
    }
}

/// The kind of a leg in a run card, in the order of the letters in names of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LegKind {
    /// `a`
    Photon,
    /// `b`: a quark that is not a jet.
    Bottom,
    /// `j`: gluons and light quarks.
    Jet,
    /// `l`: a charged lepton.
    Lepton,
    /// `n`, which no name of an entry contains.
    Neutrino,
}

impl LegKind {
    /// The letter in names of entries.
    pub fn letter(self) -> char {
        match self {
            LegKind::Photon => 'a',
            LegKind::Bottom => 'b',
            LegKind::Jet => 'j',
            LegKind::Lepton => 'l',
            LegKind::Neutrino => 'n',
        }
    }
}

/// The legs of a matrix element, with the run card that cuts on them.
#[derive(Clone, Copy)]
pub struct Legs<'a> {
    /// PDG codes, incoming legs first.
    pub pdg: &'a [i32],
    /// GeV.
    pub masses: &'a [f64],
    /// Legs that come from a decay chain.
    pub decayed: &'a SortedSet<usize>,
    /// The card.
    pub card: &'a RunCard,
}

impl Legs<'_> {
    /// The outgoing legs.
    pub fn outgoing(&self) -> std::ops::Range<usize> {
        2..self.pdg.len()
    }

    /// The kind of a leg; `None` for particles such as top quarks or weak bosons.
    pub fn kind(&self, leg: usize) -> Option<LegKind> {
        let code = i64::from(self.pdg[leg].unsigned_abs());
        match code {
            21 => Some(LegKind::Jet),
            _ if code <= self.card.integer("maxjetflavor").min(6) => Some(LegKind::Jet),
            ..=5 => Some(LegKind::Bottom),
            11 | 13 | 15 => Some(LegKind::Lepton),
            12 | 14 | 16 => Some(LegKind::Neutrino),
            22 => Some(LegKind::Photon),
            _ => None,
        }
    }

    /// The legs of a kind.
    pub fn of_kind(&self, kind: LegKind) -> Vec<usize> {
        let legs = self.outgoing();
        legs.filter(|&leg| self.kind(leg) == Some(kind)).collect()
    }

    /// The legs to which `ktdurham` applies; empty without that cut.
    fn merged(&self) -> Vec<usize> {
        match self.card.number("ktdurham") > 0.0 {
            true => self.merging(),
            false => Vec::new(),
        }
    }

    /// The legs to which merging cuts apply; empty if there is no massless parton (NMASSLESS of `cuts.f`).
    fn merging(&self) -> Vec<usize> {
        let legs = self.outgoing();
        let merged = |&leg: &usize| self.is_merged(self.pdg[leg]) && !self.decayed.contains(&leg);
        let merged: Vec<usize> = legs.filter(merged).collect();
        let jet = |leg: &usize| self.kind(*leg) == Some(LegKind::Jet);
        match merged.iter().any(jet) || !self.of_kind(LegKind::Bottom).is_empty() {
            true => merged,
            false => Vec::new(),
        }
    }

    /// Returns the legs to which `ptlund` applies; none without that cut.
    ///
    /// # Errors
    /// There is a charm or bottom quark, for which `cuts.f` has thresholds, or a weak boson is emitted.
    pub fn lund(&self) -> Result<LundLegs> {
        if self.card.number("ptlund") <= 0.0 {
            return Ok(LundLegs::default());
        }
        let legs = self.merging();
        if legs.is_empty() {
            return Ok(LundLegs::default());
        }
        let massless =
            |leg: &usize| matches!(self.kind(*leg), Some(LegKind::Jet | LegKind::Bottom));
        let codes = self.pdg[..2]
            .iter()
            .chain(legs.iter().map(|&leg| &self.pdg[leg]));
        for code in codes {
            let what = match code.unsigned_abs() {
                4 | 5 => "is a heavy quark by itself, for which cuts.f has thresholds",
                24 => "is emitted with a mass",
                _ => continue,
            };
            let what = format!("ptlund: {code} (PDG code) {what}");
            return Err(self
                .card
                .refused(what, "set it to -1, or run MadEvent (mebridge link)"));
        }
        let alone = legs.len() == 2 && self.pdg.len() == 4 && legs.iter().all(massless);
        Ok(LundLegs { legs, alone })
    }

    /// Whether merging cuts apply to particles of a PDG code.
    fn is_merged(&self, code: i32) -> bool {
        let code = code.unsigned_abs();
        let words = self.card.words("pdgs_for_merging_cut").iter();
        let mut codes = words.filter_map(|word| word.parse::<u32>().ok());
        code != 0 && codes.any(|known| known == code)
    }

    /// Whether a leg is exempt from cuts because it comes from a decay.
    pub fn is_free(&self, leg: usize) -> bool {
        self.decayed.contains(&leg) && !self.card.flag("cut_decays")
    }

    /// Whether the cuts on its kind apply to a leg.
    fn is_cut(&self, leg: usize) -> bool {
        let neutrino = self.kind(leg) == Some(LegKind::Neutrino);
        !self.is_free(leg) && self.masses[leg] <= NO_CUTS && !neutrino
    }
}

/// Returns the cuts of a run card on these legs: windows and rules.
///
/// Args: `energy` of both beams in their centre of mass, GeV.
pub fn from_run_card(legs: &Legs, energy: f64) -> (Vec<Cut>, Vec<Rule>) {
    let mut windows = Windows {
        legs,
        own: by_code(legs.card)
            .into_iter()
            .map(|(_, code)| code)
            .collect(),
        found: Vec::new(),
    };
    for leg in legs.outgoing() {
        windows.single(leg);
    }
    for first in legs.outgoing() {
        for second in first + 1..legs.pdg.len() {
            windows.pair(first, second);
        }
    }
    windows.global();
    let (rules, implied) = rules(legs, energy);
    windows.found.extend(implied);
    (windows.found, rules)
}

/// Returns the rules, and windows that follow from them.
fn rules(legs: &Legs, energy: f64) -> (Vec<Rule>, Vec<Cut>) {
    let (card, mut found, mut implied) = (legs.card, Vec::new(), merged(legs, energy));
    let merged = legs.merged();
    if merged.len() > 1 {
        found.push(Rule::Relative {
            jets: merged,
            least: card.number("ktdurham"),
            radius: card.number("dparameter"),
        });
    }
    let (jets, photons) = (legs.of_kind(LegKind::Jet), legs.of_kind(LegKind::Photon));
    if card.integer("cutuse") != 0 && !jets.is_empty() {
        let limit = |number: usize| {
            let [least, largest] = ["min", "max"].map(|end| format!("ptj{number}{end}"));
            [
                least_of(card.number(&least)),
                largest_of(card.number(&largest)),
            ]
        };
        found.push(Rule::Some {
            limits: (1..=jets.len().min(4)).map(limit).collect(),
            jets: jets.clone(),
        });
    }
    let (least, apart) = (card.number("xetamin"), card.number("deltaeta"));
    if (least > 0.0 || apart > 0.0) && jets.len() > 1 {
        let jets = jets.clone();
        found.push(Rule::Opposite { jets, least, apart });
    }
    let least = card.number("ptgmin");
    if least > 0.0 && !photons.is_empty() {
        let (radius, share) = (card.number("r0gamma"), card.number("epsgamma"));
        let power = card.number("xn").abs();
        for &photon in &photons {
            for &jet in &jets {
                let softest = if legs.is_cut(jet) {
                    card.number("ptj")
                } else {
                    0.0
                };
                let least = least_of(closest(softest, energy / 2.0, [radius, power, share]));
                implied.push(Cut::from(separated([photon, jet], least)));
            }
        }
        found.push(Rule::Isolated {
            photons,
            jets,
            electromagnetic: card.flag("isoem").then(|| legs.of_kind(LegKind::Lepton)),
            least,
            radius,
            power,
            share,
        });
    }
    (found, implied)
}

/// Returns the windows of `ktdurham`: the least transverse momentum of each leg, and the least distance of two legs
/// that follows from it.
fn merged(legs: &Legs, energy: f64) -> Vec<Cut> {
    let (card, merged) = (legs.card, legs.merged());
    let least = card.number("ktdurham");
    let entries = vec![format!("ktdurham = {}", general(least))];
    let single = merged.iter().map(|&leg| Cut {
        window: Window::new(Observable::Pt, vec![vec![leg]], least, f64::INFINITY),
        entries: entries.clone(),
    });
    let mut found: Vec<Cut> = single.collect();
    let nearest = 2.0 * least * card.number("dparameter") / energy;
    for (number, &one) in merged.iter().enumerate() {
        let others = merged[number + 1..].iter();
        found.extend(others.map(|&other| Cut::from(separated([one, other], nearest))));
    }
    found
}

/// Returns the window for a least distance of two legs.
fn separated(legs: [usize; 2], least: f64) -> Window {
    let legs = legs.map(|leg| vec![leg]).to_vec();
    Window::new(Observable::Distance, legs, least, f64::INFINITY)
}

/// Returns the least distance from a photon that Frixione's condition permits to a jet with a transverse momentum of at
/// least `least`; that of the photon is at most `largest`.
///
/// Args: radius of the cone, power, and share of the photon's transverse momentum.
fn closest(least: f64, largest: f64, [radius, power, share]: [f64; 3]) -> f64 {
    if least >= share * largest {
        return radius;
    }
    if power == 0.0 {
        return 0.0;
    }
    let fraction = (least.max(0.0) / (share * largest)).powf(1.0 / power);
    (1.0 - (1.0 - radius.cos()) * fraction).acos()
}

/// Returns an entry that no event of these legs passes, because it requires more jets or leptons than there are.
pub fn impossible_entry(legs: &Legs) -> Option<String> {
    let wanted = |name: &String| legs.card.number(name) > 0.0;
    for kind in [LegKind::Jet, LegKind::Lepton] {
        let (letter, count) = (kind.letter(), legs.of_kind(kind).len());
        let mut names = (count + 1..=4).map(|number| format!("pt{letter}{number}min"));
        if let Some(name) = names.find(wanted) {
            return Some(name);
        }
        let total = "htjmin".to_owned();
        if kind == LegKind::Jet && count == 0 && wanted(&total) {
            return Some(total);
        }
    }
    None
}

/// Returns the first cut that no event of this energy passes.
pub fn impossible_cut(cuts: &[Cut], energy: f64) -> Option<&Cut> {
    cuts.iter().find(|Cut { window, .. }| {
        let most = match (window.observable, window.take) {
            (Observable::Pt, GroupValue::Sum | GroupValue::First(_)) | (Observable::Mass, _) => {
                energy
            }
            (Observable::Pt, _) => energy / 2.0,
            _ => f64::INFINITY,
        };
        !window.outside && window.least > window.largest.min(most)
    })
}

/// Describes windows with PDG codes without signs; equal descriptions appear once.
pub fn describe<'a>(windows: impl IntoIterator<Item = &'a Window>, pdg: &[i32]) -> String {
    let mut found: Vec<String> = Vec::new();
    for window in windows {
        let group = |legs: &Vec<usize>| {
            let codes = legs.iter().map(|&leg| pdg[leg].unsigned_abs().to_string());
            codes.collect::<Vec<_>>().join(" ")
        };
        let groups: Vec<String> = window.legs.iter().map(group).collect();
        let which = match window.take {
            GroupValue::All => String::new(),
            GroupValue::Any => "one of ".to_owned(),
            take => format!("({}) of ", String::from(take)),
        };
        let observable = match window.observable {
            Observable::Pt => "pt",
            Observable::Rapidity => "rapidity",
            Observable::Energy => "energy",
            Observable::Distance => "distance",
            Observable::Mass => "mass",
        };
        let limit = |word: &str, limit: f64| match limit.is_finite() {
            true => format!(" {word} {}", general(limit)),
            false => String::new(),
        };
        let text = format!(
            "{observable} of {which}{}{}{}{}",
            groups.join(", "),
            limit("from", window.least),
            limit("to", window.largest),
            if window.outside { " left out" } else { "" }
        );
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found.join("; ")
}

/// Returns a message about an entry by PDG code that differs between the processes of a matrix element, although these
/// share their cuts.
///
/// Args: `processes` has the PDG codes of the legs of each process.
pub fn differing_entry(legs: &Legs, processes: &[Vec<i32>]) -> Option<String> {
    let card = legs.card;
    for leg in legs.outgoing().filter(|&leg| !legs.is_free(leg)) {
        let codes = processes.iter().map(|pdg| code_of(pdg[leg]));
        let codes: SortedSet<i32> = codes.collect();
        let differ = |name: &&&str| {
            let values = card.by_code(name);
            !same(codes.iter().map(|code| values.get(code)))
        };
        let name = NUMBERS_BY_CODE.iter().find(differ).copied();
        let name = name.or_else(|| {
            let same = same(codes.iter().map(|&code| card.only_pairs(code)));
            (!same).then_some(ONLY_PAIRS)
        });
        let merges = ["ktdurham", "ptlund"]
            .iter()
            .any(|name| card.number(name) > 0.0);
        let merged = merges && !same(codes.iter().map(|&code| legs.is_merged(code)));
        let name = name.or(merged.then_some("pdgs_for_merging_cut"));
        if let Some(name) = name {
            let codes: Vec<String> = codes.iter().map(i32::to_string).collect();
            let codes = codes.join(", ");
            return Some(format!("{name} is not the same for {codes} (PDG codes)"));
        }
    }
    None
}

/// Returns the window that keeps the mass of a decayed particle, with these legs as decay products, within `width` of
/// its mass, GeV.
pub fn resonance(legs: impl IntoIterator<Item = usize>, mass: f64, width: f64) -> Window {
    let legs = vec![legs.into_iter().collect()];
    let least = (mass - width).max(0.0);
    Window::new(Observable::Mass, legs, least, mass + width)
}

/// Returns a notice about entries by PDG code for particles that do not occur.
///
/// Args: `there` are the codes of outgoing particles, without signs.
pub fn unused(card: &RunCard, there: &SortedSet<i32>) -> Option<String> {
    let given = by_code(card).into_iter();
    let found = given.filter(|(_, code)| !there.contains(code));
    let found = found.map(|(name, code)| format!("{name} ({code})"));
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} of the run card cuts nothing: no such particle goes out, but from a decay chain where cut_decays is False",
            found.join(", ")
        )
    })
}

/// Returns all pairs of an entry by PDG code and a code in it.
fn by_code(card: &RunCard) -> Vec<(&'static str, i32)> {
    let numbers = NUMBERS_BY_CODE.iter().flat_map(|name| {
        let codes = card.by_code(name).keys();
        codes.map(move |&code| (*name, code))
    });
    numbers
        .chain(card.codes_of_pairs().map(|code| (ONLY_PAIRS, code)))
        .collect()
}

/// Whether all values are equal.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    first.is_none_or(|first| values.all(|value| value == first))
}

/// A PDG code without its sign.
fn code_of(pdg: i32) -> i32 {
    pdg.saturating_abs()
}

/// Converts a lower limit of a run card, where 0 and negative values mean no limit.
fn least_of(value: f64) -> f64 {
    if value > 0.0 {
        value
    } else {
        f64::NEG_INFINITY
    }
}

/// Converts an upper limit of a run card, where negative values mean no limit.
fn largest_of(value: f64) -> f64 {
    if value >= 0.0 { value } else { f64::INFINITY }
}

/// Properties of a window besides its observable, legs and entries.
#[derive(Clone, Copy, Default)]
struct How {
    take: GroupValue,
    /// The PDG code, if entries are numbers by code.
    code: Option<i32>,
    /// Whether a lower limit above the upper one excludes the values in between instead of all values.
    turned: bool,
}

impl How {
    fn taking(take: GroupValue) -> Self {
        How {
            take,
            ..How::default()
        }
    }

    fn by_code(code: i32) -> Self {
        How {
            code: Some(code),
            ..How::default()
        }
    }
}

/// Collects the windows of a run card's entries.
struct Windows<'a> {
    legs: &'a Legs<'a>,
    /// PDG codes that have cuts of their own.
    own: SortedSet<i32>,
    found: Vec<Cut>,
}

impl Windows<'_> {
    /// Adds the window between the limits of two entries, if one of them has a limit; an empty name stands for no
    /// entry.
    fn add(
        &mut self,
        observable: Observable,
        legs: Vec<Vec<usize>>,
        names: [impl AsRef<str>; 2],
        how: How,
    ) {
        let card = self.legs.card;
        let value = |name: &str, none: f64| match how.code {
            _ if name.is_empty() => none,
            None => card.number(name),
            Some(code) => card.by_code(name).get(&code).copied().unwrap_or(none),
        };
        let [least, largest] = names.each_ref().map(AsRef::as_ref);
        let (low, high) = (
            least_of(value(least, 0.0)),
            largest_of(value(largest, -1.0)),
        );
        let given = [(least, low), (largest, high)].into_iter();
        let entries = given
            .filter(|(_, limit)| limit.is_finite())
            .map(|(name, limit)| match how.code {
                None => format!("{name} = {}", general(limit)),
                Some(code) => format!("{name} = {{{code}: {}}}", general(limit)),
            });
        let entries: Vec<String> = entries.collect();
        if entries.is_empty() {
            return;
        }
        let outside = how.turned && low > high;
        let (low, high) = if outside { (high, low) } else { (low, high) };
        let window = Window {
            take: how.take,
            outside,
            ..Window::new(observable, legs, low, high)
        };
        self.found.push(Cut { window, entries });
    }

    /// Adds the windows of a single leg.
    fn single(&mut self, leg: usize) {
        use Observable::{Energy, Pt, Rapidity};
        let (legs, card) = (self.legs, self.legs.card);
        let code = code_of(legs.pdg[leg]);
        let own = self.own.contains(&code);
        let group = || vec![vec![leg]];
        if own && !legs.is_free(leg) {
            for (observable, name) in [(Pt, "pt"), (Energy, "e"), (Rapidity, "eta")] {
                let names = ["min", "max"].map(|end| format!("{name}_{end}_pdg"));
                self.add(observable, group(), names, How::by_code(code));
            }
        } else if let Some(kind) = legs.kind(leg).filter(|_| legs.is_cut(leg)) {
            let k = kind.letter();
            let isolated = kind == LegKind::Photon && card.number("ptgmin") > card.number("pta");
            let softest = if isolated {
                "ptgmin".to_owned()
            } else {
                format!("pt{k}")
            };
            let plain = How::default();
            self.add(Pt, group(), [softest, format!("pt{k}max")], plain);
            self.add(
                Energy,
                group(),
                [format!("e{k}"), format!("e{k}max")],
                plain,
            );
            self.add(
                Rapidity,
                group(),
                [format!("eta{k}min"), format!("eta{k}")],
                plain,
            );
        }
    }

    /// Adds the windows of two legs.
    fn pair(&mut self, first: usize, second: usize) {
        use LegKind::{Bottom, Jet, Lepton, Neutrino, Photon};
        let (legs, card, plain) = (self.legs, self.legs.card, How::default());
        let (one, other) = (legs.pdg[first], legs.pdg[second]);
        let mut kinds = [legs.kind(first), legs.kind(second)];
        kinds.sort_unstable();
        let opposite = kinds == [Some(Lepton); 2] && one == -other;
        let both = || vec![vec![first, second]];
        let cut = legs.is_cut(first) && legs.is_cut(second);
        if let ([Some(a), Some(b)], true) = (kinds, cut) {
            let letters = format!("{}{}", a.letter(), b.letter());
            let ends = |name: &str| [format!("{name}{letters}"), format!("{name}{letters}max")];
            let apart = vec![vec![first], vec![second]];
            self.add(Observable::Distance, apart, ends("dr"), plain);
            if opposite || (a == b && matches!(a, Jet | Bottom | Photon)) {
                let turned = How {
                    turned: true,
                    ..plain
                };
                self.add(Observable::Mass, both(), ends("mm"), turned);
            }
        }
        if opposite || matches!(kinds, [Some(Lepton | Neutrino), Some(Neutrino)]) {
            self.add(Observable::Pt, both(), ["ptllmin", "ptllmax"], plain);
        }
        let code = code_of(one);
        let free = legs.is_free(first) || legs.is_free(second);
        if code == code_of(other) && !free && (one == -other || !card.only_pairs(code)) {
            self.add(
                Observable::Mass,
                both(),
                ["mxx_min_pdg", ""],
                How::by_code(code),
            );
        }
    }

    /// Adds the windows of all legs of some kinds.
    fn global(&mut self) {
        use LegKind::{Bottom, Jet, Lepton, Neutrino, Photon};
        use Observable::{Mass, Pt};
        let (legs, plain) = (self.legs, How::default());
        let [jets, bottoms, leptons, neutrinos] =
            [Jet, Bottom, Lepton, Neutrino].map(|kind| legs.of_kind(kind));
        let everything = legs.outgoing().collect();
        self.add(
            Mass,
            vec![everything],
            ["dsqrt_shat", "dsqrt_shatmax"],
            plain,
        );
        let mut light = [&leptons[..], &neutrinos].concat();
        light.sort_unstable();
        if !neutrinos.is_empty() {
            self.add(Pt, vec![neutrinos], ["misset", "missetmax"], plain);
        }
        if !light.is_empty() {
            self.add(Mass, vec![light], ["mmnl", "mmnlmax"], plain);
        }
        let heavy = legs.outgoing().filter(|&leg| legs.masses[leg] > HEAVY);
        self.of_each(heavy.collect(), ["ptheavy", ""], GroupValue::Any);
        for kind in [Jet, Bottom, Photon, Lepton] {
            let name = format!("xpt{}", kind.letter());
            self.of_each(legs.of_kind(kind), [&name, ""], GroupValue::Any);
        }
        let ends = |name: String| ["min", "max"].map(|end| format!("{name}{end}"));
        for (some, letter) in [(&jets, 'j'), (&leptons, 'l')] {
            if letter == 'j' && legs.card.integer("cutuse") != 0 {
                continue;
            }
            for place in 0..some.len().min(4) {
                let names = ends(format!("pt{letter}{}", place + 1));
                self.of_each(some.clone(), names, GroupValue::Number(place));
            }
        }
        self.of_each(jets.clone(), ["htjmin", "htjmax"], GroupValue::Sum);
        for count in 2..=jets.len().min(4) {
            let names = ends(format!("ht{count}"));
            self.of_each(jets.clone(), names, GroupValue::First(count));
        }
        self.of_each(
            [jets, bottoms].concat(),
            ["ihtmin", "ihtmax"],
            GroupValue::Sum,
        );
    }

    /// Adds a window in the transverse momenta of some legs, if there are any.
    fn of_each(&mut self, legs: Vec<usize>, names: [impl AsRef<str>; 2], take: GroupValue) {
        if !legs.is_empty() {
            let groups = legs.into_iter().map(|leg| vec![leg]).collect();
            self.add(Observable::Pt, groups, names, How::taking(take));
        }
    }
}

#[cfg(test)]
mod tests;
