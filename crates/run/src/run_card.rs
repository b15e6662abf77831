//! The leading-order run card of MG5aMC 2.8.3 to 3.7.

pub mod entries;
pub mod value;

use crate::text::{self, general, quoted};
use entries::REFUSED;
use mebridge::event_generator::JetBias;
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::path::Path;
use value::Value;

/// Entries for both beams, which also exist for each beam.
const BOTH: [&str; 2] = ["pdlabel", "fixed_fac_scale"];
/// The `pdlabel` of an LHAPDF set, which `lhaid` names.
pub const OF_LHAPDF: &str = "lhapdf";
/// The `pdlabel` of photons from beam particles that stay intact.
pub const OF_PHOTONS: &str = "iww";
/// The `pdlabel` of weak bosons and photons of leptons, in the effective vector boson approximation.
pub const OF_BOSONS: &str = "eva";
/// The `pdlabel` that leaves each beam its own.
const OWN_LABELS: &str = "mixed";
/// Entries of MadEvent's configuration of cores and clusters, which do not belong to a run card.
const CONFIGURATION: [&str; 4] = ["nb_core", "run_mode", "cluster_type", "cluster_queue"];
/// Entries that are whole numbers, with their supported values.
const CHOICES: [(&str, &[i64]); 7] = [
    ("ievo_eva", &[0, 1]),
    ("evaorder", &[0, 1, 2]),
    ("eva_xcut", &[0, 1]),
    ("sde_strategy", &[1, 2]),
    ("ickkw", &[0, 1]),
    ("ktscheme", &[1, 2]),
    ("cutuse", &[0, 1]),
];
/// Values of `event_norm`.
const NORMS: [&str; 3] = ["average", "sum", "unity"];
/// Names of bias modules without an effect, in lower case.
pub const UNBIASED: [&str; 2] = ["none", "dummy"];
/// The supported bias module, its parameters and their defaults (`ptj_bias.f`).
const PTJ_BIAS: &str = "ptj_bias";
const PTJ_BIAS_TARGET: (&str, f64) = ("ptj_bias_target_ptj", 1000.0);
const PTJ_BIAS_POWER: (&str, f64) = ("ptj_bias_enhancement_power", 4.0);
/// Entries with their least and largest values.
const RANGES: [(&str, f64, f64); 6] = [
    ("maxjetflavor", 0.0, 6.0),
    ("asrwgtflavor", 0.0, 6.0),
    ("polbeam1", -100.0, 100.0),
    ("polbeam2", -100.0, 100.0),
    ("bwcutoff", 0.0, f64::INFINITY),
    ("small_width_treatment", 0.0, f64::INFINITY),
];
/// Scales, with the entry that decides whether each is fixed.
const FIXED: [(&str, &str); 4] = [
    ("scale", "fixed_ren_scale"),
    ("dsqrt_q2fact1", "fixed_fac_scale1"),
    ("dsqrt_q2fact2", "fixed_fac_scale2"),
    ("mue_ref_fixed", "fixed_extra_scale"),
];
/// Largest number of characters of a value in a message.
const SHOWN: usize = 60;
/// The entry that restricts the mass cut of a code to pairs of particle and antiparticle.
pub const ONLY_PAIRS: &str = "mxx_only_part_antipart";
/// Least similarity of names that are suggested in messages; 1 is that of equal names.
const ALIKE: f64 = 0.8;

/// Names in lower case and values of a card's entries, as texts in the order of the card.
pub type Entries = Vec<(String, String)>;

/// An entry to which a card gives two different values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Name of the entry.
    pub name: String,
    /// Its last value, which is used.
    pub last: String,
    /// An earlier value.
    pub before: String,
}

/// The values of all entries: those of a card, and MG5aMC's defaults for missing entries.
#[derive(Clone, Debug)]
pub struct RunCard {
    source: String,
    given: Entries,
    repeated: Vec<Repeated>,
    values: SortedMap<&'static str, Value>,
}

impl RunCard {
    /// Reads a card, with lines `value = name ! comment`, and replaces the values of the entries in `changed`.
    ///
    /// # Errors
    /// The file cannot be read, or a line or a value is invalid.
    pub fn read(file: &Path, changed: &[(String, String)]) -> Result<RunCard> {
        let text = text::read(file, "the run card")?;
        let source = file.display().to_string();
        for (number, line) in (1..).zip(text.lines()) {
            let line = without_comment(line).trim();
            // Templates contain names of blocks, which MG5aMC fills in.
            if !line.is_empty() && !line.contains('=') && !line.starts_with('$') {
                let what = format!("{} is no entry", quoted(line));
                let place = format!("{source}, line {number}");
                return Err(Error::run_at(
                    &place,
                    what,
                    "write VALUE = NAME, or # before a comment",
                ));
            }
        }
        let changed = for_both_beams(changed)?;
        let mut given = parse(&text);
        of_cms(&given, &source)?;
        let is_changed = |name: &str| changed.iter().any(|(other, _)| other == name);
        // Changed entries come last, so that their values are used.
        given.retain(|(name, _)| !is_changed(name));
        given.extend(changed.iter().cloned());
        let names: Vec<String> = changed.iter().map(|(name, _)| name.clone()).collect();
        let mut card = RunCard::from_entries(given, &source, &names)?;
        for found in repeated(&text) {
            if !is_changed(&found.name) {
                card.repeated.retain(|other| other.name != found.name);
                card.repeated.push(found);
            }
        }
        Ok(card)
    }

    /// Returns a card with these entries. `source` is its name in messages; `changed` names the entries that come from
    /// the caller, so that messages do not attribute them to the card.
    ///
    /// # Errors
    /// An entry is unknown, or its value is invalid.
    pub fn from_entries(given: Entries, source: &str, changed: &[String]) -> Result<RunCard> {
        let names: SortedSet<&String> = given.iter().map(|(name, _)| name).collect();
        for name in names {
            if entries::find(name).is_none() {
                return Err(unknown(name, source, changed));
            }
        }
        let defaults = entries::all().map(|(name, row)| (name, row.value()));
        let mut values: SortedMap<&'static str, Value> = defaults.collect();
        for (name, text) in &given {
            let Some((name, row)) = entries::find(name) else {
                continue;
            };
            let value = Value::parse(row.kind, text).map_err(|cure| {
                let mut shown: String = text.chars().take(SHOWN).collect();
                if shown.len() < text.len() {
                    shown.push_str("...");
                }
                let shown = quoted(&shown);
                match changed.iter().any(|other| other == name) {
                    true => Error::run(format!("{name}, which is to be set, is {shown}"), cure),
                    false => Error::run_at(source, format!("{name} is {shown}"), cure),
                }
            })?;
            values.insert(name, value);
        }
        let mut card = RunCard {
            source: source.to_owned(),
            given,
            repeated: Vec::new(),
            values,
        };
        card.set_both_beams();
        card.set_by_others();
        Ok(card)
    }

    /// The same card with the name `source` in messages, for files that users do not know.
    pub fn with_source(self, source: &str) -> RunCard {
        RunCard {
            source: source.to_owned(),
            ..self
        }
    }

    /// The name of the card in messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The entries of the card and of the caller, without defaults.
    pub fn given_entries(&self) -> &[(String, String)] {
        &self.given
    }

    /// Whether the card or the caller contains an entry.
    pub fn has_entry(&self, name: &str) -> bool {
        self.given.iter().any(|(other, _)| other == name)
    }

    /// Entries with two values, including entries for both beams that follow one for a single beam with another value.
    pub fn repeated(&self) -> &[Repeated] {
        &self.repeated
    }

    /// Notices for the user.
    pub fn notices(&self) -> Vec<String> {
        let source = &self.source;
        let notice = |of: &Repeated| {
            let Repeated { name, last, before } = of;
            format!("{source} has {name} twice, {before} and {last}; the last holds")
        };
        self.repeated.iter().map(notice).collect()
    }

    /// The value of an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn value(&self, name: &str) -> &Value {
        let value = self.values.get(name);
        value.unwrap_or_else(|| panic!("{name} is no entry of a run card"))
    }

    /// The value of an entry that is a number.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Real(value) => *value,
            Value::Whole(value) => *value as f64,
            other => panic!("{name} is {other}, and no number"),
        }
    }

    /// The value of an entry that is a whole number, clamped to 64 bits.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn integer(&self, name: &str) -> i64 {
        let Value::Whole(value) = self.value(name) else {
            panic!("{name} is no whole number");
        };
        i64::try_from(*value).unwrap_or(if *value < 0 { i64::MIN } else { i64::MAX })
    }

    /// The value of an entry that is a whole number from `least` to `most`.
    ///
    /// # Errors
    /// The number is outside this range.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn integer_within(&self, name: &str, least: u64, most: u64) -> Result<u64> {
        let Value::Whole(value) = self.value(name) else {
            panic!("{name} is no whole number");
        };
        let within = u64::try_from(*value)
            .ok()
            .filter(|value| (least..=most).contains(value));
        within.ok_or_else(|| {
            let cure = format!("it must be a whole number from {least} to {most}");
            Error::run_at(&self.source, format!("{name} is {value}"), cure)
        })
    }

    /// The seed: `iseed` without its sign. After a run, MG5aMC 3.7.2 sets a positive `iseed` in the card to 0 and keeps a
    /// negative one; here the card is not changed.
    ///
    /// # Errors
    /// The seed has more than 64 bits.
    pub fn seed(&self) -> Result<u64> {
        let Value::Whole(value) = self.value("iseed") else {
            panic!("iseed is no whole number");
        };
        u64::try_from(value.unsigned_abs()).map_err(|_| {
            let cure = format!(
                "it must be a whole number from -{most} to {most}",
                most = u64::MAX
            );
            Error::run_at(&self.source, format!("iseed is {value}"), cure)
        })
    }

    /// The value of an entry that is true or false.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Flag(flag) => *flag,
            other => panic!("{name} is {other}, and neither True nor False"),
        }
    }

    /// The value of an entry that is a text; that of `lhaid` is a number or a name.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            other => panic!("{name} is {other}, and no text"),
        }
    }

    /// The value of an entry that is a list.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn words(&self, name: &str) -> &[String] {
        match self.value(name) {
            Value::Words(words) => words,
            other => panic!("{name} is {other}, and no list"),
        }
    }

    /// The numbers of an entry by PDG code; codes are positive and include antiparticles.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn by_code(&self, name: &str) -> &SortedMap<i32, f64> {
        match self.value(name) {
            Value::ByCode(values) => values,
            other => panic!("{name} is {other}, and nothing by PDG codes"),
        }
    }

    /// Whether cuts on the mass of two particles of a (positive) PDG code only apply to pairs of particle and
    /// antiparticle.
    pub fn only_pairs(&self, code: i32) -> bool {
        let values = self.pairs();
        let value = values.get(&code.to_string()).or(values.get("default"));
        value.copied().unwrap_or(false)
    }

    /// The (positive) PDG codes of [`ONLY_PAIRS`].
    pub fn codes_of_pairs(&self) -> impl Iterator<Item = i32> {
        // The other key is `default`.
        self.pairs().keys().filter_map(|key| key.parse().ok())
    }

    fn pairs(&self) -> &SortedMap<String, bool> {
        match self.value(ONLY_PAIRS) {
            Value::Pairs(values) => values,
            other => panic!("{ONLY_PAIRS} is {other}, and nothing by PDG codes"),
        }
    }

    /// Indices of the legs in whose rest frame matrix elements are evaluated (`me_frame`); empty for the frame of the
    /// partons.
    ///
    /// # Errors
    /// They are neither both incoming partons nor outgoing particles.
    pub fn frame(&self) -> Result<Vec<usize>> {
        let words = self.words("me_frame");
        let numbers = words.iter().map(|word| word.parse::<usize>().ok());
        let numbers: Option<SortedSet<usize>> = numbers.collect();
        match numbers {
            Some(numbers) if numbers == SortedSet::from([1, 2]) => Ok(Vec::new()),
            Some(numbers) if numbers.len() == words.len() && numbers.first() > Some(&2) => {
                Ok(numbers.into_iter().map(|number| number - 1).collect())
            }
            _ => {
                let what = format!("me_frame = {} is no frame", self.value("me_frame"));
                let cure = "name 1 and 2, or particles that go out by their numbers in the process, from 3 on, each once";
                Err(self.refused(what, cure))
            }
        }
    }

    /// Returns the card with other values of entries that are numbers. Values that were derived from these entries do
    /// not change.
    ///
    /// # Panics
    /// If there is no such entry, or it is of another kind.
    pub fn with_numbers<'a>(&self, changes: impl IntoIterator<Item = (&'a str, f64)>) -> RunCard {
        let mut card = self.clone();
        for (name, number) in changes {
            let value = card.values.get_mut(name);
            let Some(Value::Real(value)) = value else {
                panic!("{name} is no number of a run card");
            };
            *value = number;
        }
        card
    }

    /// Returns all values.
    pub fn to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        let json = |(name, value): (&&str, &Value)| ((*name).to_owned(), value.to_json());
        self.values.iter().map(json).collect()
    }

    /// Applies entries for both beams to each beam, unless an entry of that beam comes later in the card.
    fn set_both_beams(&mut self) {
        let place = |name: &str| self.given.iter().position(|(other, _)| other == name);
        for both in BOTH {
            let Some(at) = place(both) else {
                continue;
            };
            let value = self.value(both).clone();
            if matches!(&value, Value::Text(label) if label == OWN_LABELS) {
                continue;
            }
            for (name, _) in entries::all() {
                if name.strip_prefix(both).is_none_or(str::is_empty) {
                    continue;
                }
                let of_beam = place(name);
                if of_beam.is_some_and(|of_beam| of_beam > at) {
                    continue;
                }
                let before = self.values.insert(name, value.clone());
                let before = before.filter(|before| of_beam.is_some() && *before != value);
                if let Some(before) = before {
                    self.repeated.retain(|other| other.name != both);
                    self.repeated.push(Repeated {
                        name: both.to_owned(),
                        last: value.to_string(),
                        before: format!("{before} ({name})"),
                    });
                }
            }
        }
    }

    /// Sets the values that MG5aMC derives from other entries.
    fn set_by_others(&mut self) {
        let set = |card: &mut RunCard, name, value| card.values.insert(name, Value::Real(value));
        if self.number("ptgmin") > 0.0 {
            set(self, "pta", 0.0);
            set(self, "draj", 0.0);
        }
        let xqcut = self.number("xqcut");
        if xqcut > 0.0 {
            set(self, "drjj", 0.0);
            set(self, "drjl", 0.0);
            let automatic = self.flag("auto_ptj_mjj");
            for (name, together) in [("ptj", self.integer("ktscheme") == 1), ("mmjj", true)] {
                let value = self.number(name);
                if automatic && together && value >= 0.0 {
                    set(self, name, xqcut);
                } else if value > xqcut {
                    set(self, name, 0.0);
                }
            }
        }
        if self.integer("ickkw") > 0 && self.flag("use_syst") {
            set(self, "alpsfact", 1.0);
        }
    }

    /// Checks that the values are supported, instead of ignoring them.
    ///
    /// # Errors
    /// An entry has an unsupported value.
    pub fn check(&self) -> Result<()> {
        self.check_choices()?;
        self.check_ranges()?;
        self.check_matching()?;
        self.frame()?;
        self.bias()?;
        for row in REFUSED {
            let harmless = row.value();
            for name in row.names {
                let value = self.value(name);
                if !value.is_same(&harmless) {
                    let what = format!("{name} = {value} cannot be honoured ({})", row.meaning);
                    let cure = format!(
                        "set it to {}, or run MadEvent (mebridge link)",
                        harmless.as_cure()
                    );
                    return Err(self.refused(what, &cure));
                }
            }
        }
        Ok(())
    }

    /// Returns the bias of events (`bias_module`), if any.
    ///
    /// # Errors
    /// The module is not supported, or one of its parameters is invalid.
    pub fn bias(&self) -> Result<Option<JetBias>> {
        let module = self.text("bias_module");
        if UNBIASED.contains(&module.to_lowercase().as_str()) {
            return Ok(None);
        }
        if module != PTJ_BIAS {
            let what = format!("bias_module = {module} cannot be honoured: it is Fortran");
            let cure = "write it as a function in Python (run.generate(bias=...)), set it to ptj_bias or None, or run MadEvent \
                        (mebridge link)";
            return Err(self.refused(what, cure));
        }
        let Value::Named(given) = self.value("bias_parameters") else {
            panic!("bias_parameters are numbers by name");
        };
        let known = [PTJ_BIAS_TARGET, PTJ_BIAS_POWER];
        let is_known = |name: &&String| known.iter().any(|(one, _)| one == name);
        let other = given
            .keys()
            .find(|name| !is_known(name) && *name != "__type__");
        if let Some(other) = other {
            let what = format!("bias_parameters has {other}, which {PTJ_BIAS} has not");
            let names = known.map(|(name, _)| name).join(" and ");
            return Err(self.refused(what, &format!("its parameters are {names}")));
        }
        let [target, power] =
            known.map(|(name, default)| given.get(name).copied().unwrap_or(default));
        if target <= 0.0 {
            let what = format!("{} = {}", PTJ_BIAS_TARGET.0, general(target));
            return Err(self.refused(what, "it must be a positive number"));
        }
        if self.text("event_norm").to_lowercase() == "unity" {
            let what =
                "event_norm = unity with a bias: weights average to the cross section".to_owned();
            return Err(self.refused(what, "set event_norm to average"));
        }
        Ok(Some(JetBias { target, power }))
    }

    fn check_choices(&self) -> Result<()> {
        let refused = |name: &str, known: &[String]| {
            let what = format!("{name} = {} cannot be honoured", self.value(name));
            self.refused(what, &format!("set it to {}", known.join(" or ")))
        };
        let norm = self.text("event_norm").to_lowercase();
        if !NORMS.contains(&norm.as_str()) {
            return Err(refused("event_norm", &NORMS.map(str::to_owned)));
        }
        for (name, known) in CHOICES {
            if !known.contains(&self.integer(name)) {
                let known: Vec<String> = known.iter().map(i64::to_string).collect();
                return Err(refused(name, &known));
            }
        }
        let tag = self.text("run_tag");
        if tag.is_empty() || tag.contains(['/', '\\', '\0']) {
            let what = format!("run_tag = {tag} is part of a file's name");
            return Err(self.refused(what, "make it one word without /"));
        }
        Ok(())
    }

    fn check_ranges(&self) -> Result<()> {
        let is = |name: &str| format!("{name} = {}", general(self.number(name)));
        for (name, least, most) in RANGES {
            if !(least..=most).contains(&self.number(name)) {
                let range = match most.is_finite() {
                    true => format!("from {} to {}", general(least), general(most)),
                    false => format!("at least {}", general(least)),
                };
                return Err(self.refused(is(name), &format!("it must be {range}")));
            }
        }
        let isolated = self.number("ptgmin") > 0.0;
        let fixed = FIXED.map(|(name, by)| (name, self.flag(by)));
        let positive = [("scalefact", true)]
            .into_iter()
            .chain(fixed)
            .chain([("r0gamma", isolated), ("epsgamma", isolated)]);
        for (name, matters) in positive {
            if matters && self.number(name) <= 0.0 {
                return Err(self.refused(is(name), "it must be positive"));
            }
        }
        Ok(())
    }

    fn check_matching(&self) -> Result<()> {
        let is = |name: &str| format!("{name} = {}", general(self.number(name)));
        for name in ["xqcut", "xmtcentral"] {
            if self.number(name) < 0.0 {
                return Err(self.refused(is(name), "it must be 0 or an energy in GeV"));
            }
        }
        for name in ["alpsfact", "d"] {
            if self.number(name) <= 0.0 {
                return Err(self.refused(is(name), "it must be a positive number"));
            }
        }
        if self.number("ktdurham") > 0.0 && self.number("dparameter") <= 0.0 {
            return Err(self.refused(is("dparameter"), "it must be a positive number"));
        }
        let partons = ["lpp1", "lpp2"].map(|name| self.integer(name) == 0);
        for (name, beams) in [
            ("ktdurham", partons == [true; 2]),
            ("ptlund", partons != [false; 2]),
        ] {
            if self.number(name) > 0.0 && beams {
                let what = format!("{} is for beams of hadrons here", is(name));
                return Err(self.refused(what, "set it to -1, or run MadEvent (mebridge link)"));
            }
        }
        if self.integer("ickkw") == 1 {
            if self.integer("maxjetflavor") > 5 {
                let what = format!("{} is too large for ickkw = 1", is("maxjetflavor"));
                return Err(self.refused(what, "set it to 5 or less"));
            }
            if ["lpp1", "lpp2"]
                .iter()
                .any(|name| self.integer(name).unsigned_abs() != 1)
            {
                let what = "ickkw = 1 is for beams of hadrons".to_owned();
                return Err(self.refused(what, "set ickkw to 0"));
            }
        }
        Ok(())
    }

    /// Returns an error about the card.
    pub fn refused(&self, what: String, cure: &str) -> Error {
        Error::run_at(&self.source, what, cure)
    }
}

/// Returns the error for an unknown entry.
fn unknown(name: &str, source: &str, changed: &[String]) -> Error {
    let what = format!("{source} has an entry {name} that mebridge does not know");
    if CONFIGURATION.contains(&name) {
        let cure =
            "it is of Cards/me5_configuration.txt: remove it, and use --workers or --threads";
        return Error::run(what, cure);
    }
    let alike = entries::all().map(|(known, _)| (strsim::jaro_winkler(name, known), known));
    let best = alike.max_by(|one, other| one.0.total_cmp(&other.0));
    let meant = match best.filter(|(similarity, _)| *similarity >= ALIKE) {
        Some((_, known)) => format!(" (do you mean {known}?)"),
        None => String::new(),
    };
    if changed.iter().any(|other| other == name) {
        let what = format!("{name}, which is to be set, is no entry of a run card{meant}");
        return Error::run(what, "docs/run_card.md has all");
    }
    let cure = "remove it if nothing depends on it (docs/run_card.md has all that are known)";
    Error::run(format!("{what}{meant}"), cure)
}

/// Returns the entries that a caller changes, with names in lower case. Entries for both beams are also set for each
/// beam.
///
/// # Errors
/// An entry has two values.
pub fn for_both_beams(changed: &[(String, String)]) -> Result<Entries> {
    let mut found = Entries::new();
    for (name, value) in changed {
        let name = name.to_lowercase();
        match found.iter().find(|(other, _)| *other == name) {
            None => found.push((name, value.clone())),
            Some((_, other)) if other == value => {}
            Some((_, other)) => {
                let what = format!("{name} of the run card is to be {other} and {value}");
                return Err(Error::run(what, "give one of them"));
            }
        }
    }
    let given = |both: &&str| found.iter().find(|(name, _)| name == both).cloned();
    let mut all: Entries = BOTH.iter().filter_map(given).collect();
    for (name, value) in all.clone() {
        all.extend([1, 2].map(|beam| (format!("{name}{beam}"), value.clone())));
    }
    // Entries of a single beam take precedence over those for both.
    for (name, value) in found {
        match all.iter_mut().find(|(other, _)| *other == name) {
            Some(entry) => entry.1 = value,
            None => all.push((name, value)),
        }
    }
    Ok(all)
}

/// A line of a card without its comment.
fn without_comment(line: &str) -> &str {
    line.split(['#', '!']).next().unwrap_or(line)
}

/// Rejects entries that CMS's genproductions replace before MG5aMC reads a card.
fn of_cms(given: &[(String, String)], source: &str) -> Result<()> {
    let to_be_replaced = |text: &str| text.to_uppercase().contains("$DEFAULT_");
    let mut given = given.iter();
    let found = given.find(|(name, value)| name == "reweight_pdf" || to_be_replaced(value));
    let Some((name, value)) = found else {
        return Ok(());
    };
    let (what, cure) = match name.as_str() {
        "reweight_pdf" => (
            "reweight_PDF, which genproductions of CMS take away".to_owned(),
            "leave it out; systematics_arguments asks for weights: ['--pdf=errorset,320500@0', '--start_id=1001']",
        ),
        _ => (
            format!(
                "{name} is {value}, which genproductions of CMS replace by the number of a set"
            ),
            "write it there: 325300 of LHAPDF, 325500 with four flavours, or another one, with pdlabel = lhapdf",
        ),
    };
    Err(Error::run_at(source, what, cure))
}

/// The value and the name in a line, without its comment.
fn entry(line: &str) -> Option<(&str, &str)> {
    without_comment(line).rsplit_once('=')
}

/// Returns the entry of a card that defines helicities in a frame other than that of the incoming partons. MG5aMC 2.7
/// and later use `me_frame`, a list of the particles in whose rest frame they are defined.
pub fn other_frame(entries: &Entries) -> Option<String> {
    let other = |(name, value): &(String, String)| {
        let numbers = value.split(|c: char| !c.is_ascii_digit());
        let numbers: SortedSet<&str> = numbers.filter(|number| !number.is_empty()).collect();
        match name.as_str() {
            "frame_id" => value != "6",
            "me_frame" => numbers != SortedSet::from(["1", "2"]),
            _ => false,
        }
    };
    let (name, value) = entries.iter().find(|entry| other(entry))?;
    Some(format!("{name} {value}"))
}

/// Returns the entry by which events have densities of weak bosons, those of single helicities, if there is one.
pub fn boson_densities(entries: &Entries) -> Option<String> {
    let of_bosons = |(name, value): &&(String, String)| {
        name.starts_with("pdlabel")
            && value
                .trim_matches(['\'', '"'])
                .eq_ignore_ascii_case(OF_BOSONS)
    };
    let (name, value) = entries.iter().find(of_bosons)?;
    Some(format!("{name} = {value}"))
}

/// Returns the entries of a card in order. Of a repeated entry the last one is used, as in MG5aMC.
pub fn parse(text: &str) -> Entries {
    let mut found = Entries::new();
    for (value, name) in text.lines().filter_map(entry) {
        let name = name.trim().to_lowercase();
        found.retain(|(other, _)| *other != name);
        found.push((name, value.trim().to_owned()));
    }
    found
}

/// Returns the entries to which a card gives different values.
fn repeated(text: &str) -> Vec<Repeated> {
    let mut found: Vec<Repeated> = Vec::new();
    let mut values: SortedMap<String, &str> = SortedMap::new();
    for (value, name) in text.lines().filter_map(entry) {
        let (name, last) = (name.trim().to_lowercase(), value.trim());
        let before = values.insert(name.clone(), last);
        if let Some(before) = before.filter(|before| *before != last) {
            let (last, before) = (last.to_owned(), before.to_owned());
            match found.iter_mut().find(|other| other.name == name) {
                Some(other) => (other.last, other.before) = (last, before),
                None => found.push(Repeated { name, last, before }),
            }
        }
    }
    found
}

/// Returns the text of a card with other values of some entries. Entries that the card lacks are added at its end; of
/// repeated entries in `values` the last one is used.
pub fn with_entries(text: &str, values: &[(String, String)]) -> String {
    let given = |word: &str| {
        let of = |(name, _): &&(String, String)| name.to_lowercase() == word;
        values.iter().rfind(of).map(|(_, value)| value)
    };
    let mut there = SortedSet::new();
    let mut changed = String::new();
    for line in text.lines() {
        let known = entry(line).and_then(|(value, name)| {
            let word = name.trim().to_lowercase();
            let new = given(&word)?;
            there.insert(word);
            Some((new, name, &line[value.len() + 1 + name.len()..]))
        });
        match known {
            Some((new, name, comment)) => {
                changed.push_str(format!("  {new} = {} {comment}", name.trim()).trim_end());
            }
            None => changed.push_str(line),
        }
        changed.push('\n');
    }
    for name in values.iter().map(|(name, _)| name.to_lowercase()) {
        if let Some(value) = given(&name).filter(|_| !there.contains(&name)) {
            changed.push_str(&format!("  {value} = {name}\n"));
            there.insert(name);
        }
    }
    changed
}

/// Returns the entries that a card lacks, with their defaults. Entries for both beams and for one of them count as the
/// same entry.
pub fn missing(given: &[(String, String)]) -> Entries {
    let of = |name: &str| {
        let both = BOTH.iter().find(|both| name.starts_with(**both));
        both.map_or_else(|| name.to_owned(), |both| (*both).to_owned())
    };
    let there: SortedSet<String> = given.iter().map(|(name, _)| of(name)).collect();
    let left_out = entries::all().filter(|(name, _)| !there.contains(&of(name)));
    left_out
        .map(|(name, row)| (name.to_owned(), row.value().to_string()))
        .collect()
}

#[cfg(test)]
mod tests;
