//! `systematics_arguments` of a run card, interpreted as by MG5aMC's `systematics`.

use super::naming::{Naming, WeightFormat};
use super::{
    CENTRAL, CURE, EMISSION, ENVELOPE, Member, Systematics, Variation, WeightGroup, wrong,
};
use crate::densities::{PdfMember, by_lhaid};
use crate::scale;
use crate::text::quoted;
use mebridge::{Error, Result};
use mebridge_phasespace::scales::Dynamical;
use mebridge_support::sorted::SortedMap;

/// Default factors of scales.
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];
/// Largest number of weights of an event.
const MAX_WEIGHTS: usize = 100_000;
/// Quantities that can be varied, in the order in which they are varied alone.
const VARIED: [&str; 5] = ["mur", "muf", "alps", "dyn", "pdf"];
/// Arguments without effect here: they are about earlier weights of a file, or about the LHAPDF library.
const WITHOUT_EFFECT: [&str; 3] = ["remove_wgts", "keep_wgts", "lhapdf_config"];

impl Systematics {
    /// The weights that MG5aMC's `systematics` makes for `systematics_arguments` of a run card, with its order and
    /// numbers, except for arguments that are refused by name. Without matching, events have no emissions, so weights
    /// for the scales of emissions equal those of the events.
    ///
    /// # Errors
    /// An argument is unknown or has an invalid value; densities do not exist; or there are too many weights.
    pub fn from_arguments(arguments: &[String], densities: &PdfMember) -> Result<Self> {
        let of = Arguments::read(arguments)?;
        let list = NamedSets::read(&of.pdf, densities)?;
        let mut all = Vec::new();
        let given = match of.together.is_empty() {
            true => &[["mur", "muf", "dyn"].map(str::to_owned).to_vec()][..],
            false => &of.together,
        };
        for block in given {
            let mut some = vec![WeightPoint::new(list.own)];
            for name in block {
                let values = of.values(name, list.members.len())?;
                if some.len().saturating_mul(values.len()) > MAX_WEIGHTS {
                    let what = format!("asks for more than {MAX_WEIGHTS} weights of an event");
                    return Err(wrong(&what));
                }
                let each = some
                    .iter()
                    .flat_map(|point| values.iter().map(|value| point.with(*value)));
                some = each.collect();
            }
            all.extend(some);
        }
        let alone = VARIED
            .iter()
            .filter(|name| !given.iter().flatten().any(|one| one == *name));
        for name in alone {
            let values = of.values(name, list.members.len())?;
            all.extend(
                values
                    .iter()
                    .map(|value| WeightPoint::new(list.own).with(*value)),
            );
        }
        let event = WeightPoint::new(list.own);
        all.retain(|point| *point != event);
        // As in `systematics`, the group of a set begins with its first member, which is that of the event.
        let second = list.second_of_own(densities);
        let second = second.map(|second| event.with(VariedValue::Pdf(second)));
        if let Some(place) = all.iter().position(|point| Some(*point) == second) {
            all.insert(place, event);
        }
        Ok(list.grouped(&all, of.naming()?, densities))
    }
}

/// The scales and densities of a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WeightPoint {
    mur: f64,
    muf: f64,
    alps: f64,
    dynamical: Option<Dynamical>,
    /// Index in [`NamedSets::members`]; `None` for the densities of the event if these are not in the list.
    pdf: Option<usize>,
}

/// A value of one of the varied quantities.
#[derive(Clone, Copy, Debug)]
enum VariedValue {
    Mur(f64),
    Muf(f64),
    Alps(f64),
    Dynamical(Option<Dynamical>),
    Pdf(usize),
}

impl WeightPoint {
    /// The scales and densities of the event itself.
    fn new(own: Option<usize>) -> Self {
        WeightPoint {
            mur: 1.0,
            muf: 1.0,
            alps: 1.0,
            dynamical: None,
            pdf: own,
        }
    }

    fn with(mut self, value: VariedValue) -> Self {
        match value {
            VariedValue::Mur(factor) => self.mur = factor,
            VariedValue::Muf(factor) => self.muf = factor,
            VariedValue::Alps(factor) => self.alps = factor,
            VariedValue::Dynamical(scale) => self.dynamical = scale,
            VariedValue::Pdf(place) => self.pdf = Some(place),
        }
        self
    }

    /// Whether its scales are those of the event.
    fn is_central(&self) -> bool {
        (self.mur, self.muf, self.dynamical) == (1.0, 1.0, None)
    }
}

/// All PDF members named by the arguments.
struct NamedSets {
    members: Vec<PdfMember>,
    /// Number of each member in its set.
    numbers: Vec<u32>,
    /// Indices of the first members of sets that are named as a whole.
    begins: Vec<usize>,
    /// Index of the densities of the event, if they are in the list.
    own: Option<usize>,
}

impl NamedSets {
    fn read(words: &[String], own: &PdfMember) -> Result<Self> {
        let mut found = NamedSets {
            members: Vec::new(),
            numbers: Vec::new(),
            begins: Vec::new(),
            own: None,
        };
        for word in words {
            let (set, number) = match word.rsplit_once('@') {
                Some((set, number)) => {
                    let number: u32 = number.parse().map_err(|_| no_number("pdf", word))?;
                    (set, Some(number))
                }
                None => (word.as_str(), None),
            };
            match (set, number) {
                ("central", _) => found.push(own.clone()),
                ("errorset", None) => found.push_all(own)?,
                ("errorset", Some(number)) => {
                    let members = own.members()?;
                    let member = members.into_iter().find(|one| one.place() == number);
                    found.push(member.ok_or_else(|| no_member(word))?);
                }
                (set, None) => found.push_all(&PdfMember::read(&by_lhaid(set)?)?)?,
                (set, Some(number)) => {
                    let place = match set.parse::<u32>() {
                        Ok(first) => (u64::from(first) + u64::from(number)).to_string(),
                        Err(_) => format!("{set}/{number}"),
                    };
                    found.push(PdfMember::read(&by_lhaid(&place)?)?);
                }
            }
        }
        found.own = (found.members.iter()).position(|one| one.file == own.file);
        Ok(found)
    }

    fn push(&mut self, member: PdfMember) {
        self.numbers.push(member.place());
        self.members.push(member);
    }

    fn push_all(&mut self, set: &PdfMember) -> Result<()> {
        self.begins.push(self.members.len());
        set.members()?.into_iter().for_each(|one| self.push(one));
        Ok(())
    }

    /// Index of the member after that of the event in the same set.
    fn second_of_own(&self, own: &PdfMember) -> Option<usize> {
        let next = own.place() + 1;
        let mut places = 0..self.members.len();
        places.find(|&place| self.numbers[place] == next && self.members[place].is_of_set_of(own))
    }

    /// Groups the weights.
    fn grouped(&self, points: &[WeightPoint], naming: Naming, own: &PdfMember) -> Systematics {
        let mut found = Systematics {
            naming,
            ..Systematics::default()
        };
        let label = own.label();
        let mut places = SortedMap::new();
        let mut set: Option<usize> = None;
        for point in points {
            let is_own = point.pdf == self.own;
            let other = point.pdf.filter(|_| !is_own);
            let member = other.map(|place| {
                *places.entry(place).or_insert_with(|| {
                    found.members.push(self.member(place));
                    found.members.len() - 1
                })
            });
            let variation = Variation {
                mur: point.mur,
                muf: point.muf,
                lhapdf: other.map_or_else(|| label.clone(), |place| self.members[place].label()),
                member,
                dynamical: point.dynamical,
                emissions: point.alps,
            };
            let (group, begins) = match (point.is_central(), point.alps == 1.0) {
                (false, true) if is_own => (named(CENTRAL), false),
                (true, false) if is_own => (named(EMISSION), false),
                (true, true) => self.group_of_set(point.pdf, &mut set),
                _ => (WeightGroup::default(), false),
            };
            if !(point.is_central() && point.alps == 1.0) {
                set = None;
            }
            match found.groups.last_mut() {
                Some(last) if !begins && last.name == group.name => last.variations.push(variation),
                _ => found.groups.push(WeightGroup {
                    variations: vec![variation],
                    ..group
                }),
            }
        }
        found
    }

    fn member(&self, place: usize) -> Member {
        let (one, number) = (&self.members[place], self.numbers[place]);
        Member {
            file: one.file.clone(),
            alpha_s: one.coupling.clone(),
            set: self.first(place),
            number,
        }
    }

    /// LHAPDF number of the first member of a set, or the name of the set if it has none.
    fn first(&self, place: usize) -> String {
        let one = &self.members[place];
        match one.number {
            0 => one.set(),
            number => (number - self.numbers[place] as i32).to_string(),
        }
    }

    /// The group of a member with the scales of the event, and whether a new group begins there. `set` is the member of
    /// the preceding weight, if that is in the group of a set.
    fn group_of_set(&self, pdf: Option<usize>, set: &mut Option<usize>) -> (WeightGroup, bool) {
        let Some(place) = pdf else {
            *set = None;
            return (WeightGroup::default(), false);
        };
        let one = &self.members[place];
        let whole = |begin: &&usize| self.members[**begin].is_of_set_of(one);
        let begins = self.numbers[place] == 0 && self.begins.iter().any(|begin| whole(&begin));
        let stays = set.is_some_and(|before| self.members[before].is_of_set_of(one));
        *set = (begins || stays).then_some(place);
        if set.is_none() {
            return (WeightGroup::default(), false);
        }
        let group = WeightGroup {
            name: one.set(),
            combined: one.error_type(),
            about: format!("{}: {}", self.first(place), one.description()),
            variations: Vec::new(),
        };
        (group, begins)
    }
}

fn named(name: &str) -> WeightGroup {
    WeightGroup {
        name: name.to_owned(),
        combined: ENVELOPE.to_owned(),
        ..WeightGroup::default()
    }
}

/// Parsed `systematics_arguments` of a run card.
#[derive(Default)]
struct Arguments {
    mur: Vec<f64>,
    muf: Vec<f64>,
    alps: Vec<f64>,
    dynamical: Vec<Option<Dynamical>>,
    pdf: Vec<String>,
    together: Vec<Vec<String>>,
    first: Option<i64>,
    /// The texts of `weight_format` and `weight_info`.
    id: Option<String>,
    about: Option<String>,
}

impl Arguments {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut found = Arguments::default();
        for argument in arguments {
            let text = argument.trim_start_matches('-');
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let value = value.trim().trim_matches(['\'', '"']);
            let words = value.split(',').map(str::trim);
            let factors =
                || -> Result<Vec<f64>> { words.clone().map(|word| factor(name, word)).collect() };
            match name {
                "mur" => found.mur.extend(factors()?),
                "muf" => found.muf.extend(factors()?),
                "alps" => found.alps.extend(factors()?),
                "dyn" => {
                    let choices: Vec<_> = words.map(choice).collect::<Result<_>>()?;
                    found.dynamical.extend(choices);
                }
                "pdf" => found.pdf.extend(words.map(str::to_owned)),
                "together" => {
                    let names: Vec<String> = words.map(str::to_owned).collect();
                    if let Some(other) = names.iter().find(|one| !VARIED.contains(&one.as_str())) {
                        let cure = format!("there are {}", VARIED.join(", "));
                        return Err(Error::run(with(name, other), cure));
                    }
                    found.together.push(names);
                }
                "start_id" => {
                    let first = value.parse().ok().filter(|first| *first >= 0);
                    found.first = Some(first.ok_or_else(|| no_number(name, value))?);
                }
                "weight_format" => found.id = Some(value.to_owned()),
                "weight_info" => found.about = Some(value.to_owned()),
                _ if WITHOUT_EFFECT.contains(&name) => {}
                _ => {
                    return Err(Error::run(
                        format!("systematics_arguments has {argument}, which is not made here"),
                        CURE,
                    ));
                }
            }
        }
        let or = |given: &mut Vec<f64>, default: &[f64]| {
            if given.is_empty() {
                given.extend(default);
            }
        };
        or(&mut found.mur, &FACTORS);
        or(&mut found.muf, &FACTORS);
        or(&mut found.alps, &[1.0]);
        if found.dynamical.is_empty() {
            let scales = (1..).map_while(scale::dynamical).map(Some);
            found.dynamical = std::iter::once(None).chain(scales).collect();
        }
        if found.pdf.is_empty() {
            found.pdf.push("errorset".to_owned());
        }
        Ok(found)
    }

    /// All values of the quantity `name`; `densities` is the number of PDF members.
    fn values(&self, name: &str, densities: usize) -> Result<Vec<VariedValue>> {
        Ok(match name {
            "mur" => self.mur.iter().copied().map(VariedValue::Mur).collect(),
            "muf" => self.muf.iter().copied().map(VariedValue::Muf).collect(),
            "alps" => self.alps.iter().copied().map(VariedValue::Alps).collect(),
            "dyn" => self
                .dynamical
                .iter()
                .copied()
                .map(VariedValue::Dynamical)
                .collect(),
            _ => (0..densities).map(VariedValue::Pdf).collect(),
        })
    }

    fn naming(&self) -> Result<Naming> {
        let format = |name: &str, text: &Option<String>| -> Result<Option<WeightFormat>> {
            text.as_ref()
                .map(|text| WeightFormat::read(name, text))
                .transpose()
        };
        Ok(Naming::Numbers {
            first: self.first.unwrap_or(1),
            id: format("weight_format", &self.id)?,
            about: format("weight_info", &self.about)?,
        })
    }
}

fn factor(name: &str, word: &str) -> Result<f64> {
    let factor: f64 = word.parse().map_err(|_| no_number(name, word))?;
    match factor.is_finite() && factor > 0.0 {
        true => Ok(factor),
        false => Err(Error::run(
            with(name, word),
            "write a positive number there",
        )),
    }
}

/// The dynamical scale of a `dynamical_scale_choice`.
fn choice(word: &str) -> Result<Option<Dynamical>> {
    let number: i64 = word.parse().map_err(|_| no_number("dyn", word))?;
    match scale::dynamical(number) {
        None if number != -1 => {
            let what = format!("systematics_arguments has --dyn={number}");
            Err(Error::run(what, "there are -1, 1, 2, 3 and 4"))
        }
        found => Ok(found),
    }
}

fn no_number(name: &str, word: &str) -> Error {
    Error::run(with(name, word), "write a number there")
}

fn no_member(word: &str) -> Error {
    Error::run(with("pdf", word), "the set has no such member here")
}

fn with(name: &str, word: &str) -> String {
    format!("systematics_arguments has --{name} with {}", quoted(word))
}
