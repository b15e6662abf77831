//! Parser for a single process in MG5aMC's language.

use crate::model::{Model, Particle, ParticleId};
use mebridge_support::sorted::SortedMap;
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::path::Path;

/// Separates incoming from outgoing particles.
const ARROW: &str = ">";
/// Most combinations of particles from labels in required s-channels.
const MAX_S_CHANNELS: usize = 10_000;
/// Most legs of a process without its decays.
pub const MAX_LEGS: usize = 12;

/// A requested leg.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedLeg {
    /// The possible particles.
    pub particles: Vec<ParticleId>,
    /// The allowed helicities (`{0}`, `{T}`), in the order of the helicity table; empty for all.
    pub polarization: Vec<i8>,
}

/// The kind of a bound on a squared coupling order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SquaredBound {
    /// `==`
    Equal,
    /// `<=`, and `=`
    AtMost,
    /// `>`
    Above,
}

/// `QCD^2==2`: a selection of terms of the squared amplitude.
#[derive(Clone, Debug, PartialEq)]
pub struct SquaredOrder {
    /// Index of the coupling order; `WEIGHTED` is the last.
    pub order: usize,
    /// The comparison.
    pub bound: SquaredBound,
    /// The value to compare with. A negative `-n` stands for the n-th lowest value that occurs, in steps of two.
    pub value: i64,
}

impl SquaredOrder {
    /// The least and the largest allowed value.
    fn range(&self) -> [i64; 2] {
        match self.bound {
            _ if self.value < 0 => [0, i64::MAX],
            SquaredBound::Equal => [self.value, self.value],
            SquaredBound::AtMost => [0, self.value],
            SquaredBound::Above => [self.value + 1, i64::MAX],
        }
    }
}

/// A bound on a coupling order as written.
struct Bound<'a> {
    word: &'a str,
    order: usize,
    is_squared: bool,
    kind: SquaredBound,
    value: i64,
    /// The least and the largest value of the squared order.
    of_square: [i64; 2],
}

impl<'a> Bound<'a> {
    /// Appends the bound, which must not contradict the earlier ones.
    fn add_to(self, bounds: &mut Vec<Bound<'a>>) -> Result<(), String> {
        for other in bounds.iter().filter(|other| other.order == self.order) {
            let twice = (other.is_squared, other.kind) == (self.is_squared, self.kind)
                && other.value != self.value;
            let ([least, most], [low, high]) = (self.of_square, other.of_square);
            if twice || least > high || low > most {
                return Err(format!(
                    "`{}` and `{}` contradict each other; keep the intended one",
                    other.word, self.word
                ));
            }
        }
        bounds.push(self);
        Ok(())
    }
}

/// Conditions on s-channel lines: lines with both incoming particles on one side. Particles flow away from the incoming
/// side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SChannels {
    /// `> z >`: all particles of at least one of these lists must occur.
    pub required: Vec<Vec<ParticleId>>,
    /// `$$`: these must not occur.
    pub forbidden: Vec<ParticleId>,
    /// `$`: these must not be on their mass shells. This affects events, not |M|^2.
    pub off_shell: Vec<ParticleId>,
}

impl SChannels {
    /// Whether the conditions select diagrams.
    pub fn select(&self) -> bool {
        !self.required.is_empty() || !self.forbidden.is_empty()
    }
}

/// A process with labels, such as `p p > t t~ j QED=0`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessRequest {
    /// The incoming legs.
    pub incoming: Vec<RequestedLeg>,
    /// The outgoing legs.
    pub outgoing: Vec<RequestedLeg>,
    /// Allowed range of each coupling order of the model and, last, `WEIGHTED`.
    pub orders: Vec<RangeInclusive<u32>>,
    /// The same for the process with all its decays, if any.
    pub overall: Vec<RangeInclusive<u32>>,
    /// The requested orders, regardless of what the model allows.
    pub requested: Vec<RangeInclusive<u32>>,
    /// Whether any order was given.
    pub ordered: bool,
    /// Whether the lowest `WEIGHTED` is requested, the default without orders.
    pub lowest: bool,
    /// Bounds on squared coupling orders.
    pub squared: Vec<SquaredOrder>,
    /// Particles that must not be propagators.
    pub excluded: Vec<ParticleId>,
    /// Conditions on s-channel lines.
    pub s_channels: SChannels,
    /// Whether t-channel lines have no width (`set zerowidth_tchannel True`).
    pub zero_width: bool,
    /// Decays of outgoing particles.
    pub decays: Vec<ProcessRequest>,
    /// The text after the particles, for the name of the process.
    pub tail: String,
    /// Required s-channels, for the name of the process.
    pub through: String,
    /// Its number and the orders after it, for the name of a process with decays.
    pub number: String,
}

/// Whether a text is a process and not the name of a file. The arrow needs no spaces unless a file of that name exists.
pub fn is_process(text: &str) -> bool {
    text.contains(" > ") || (text.contains(ARROW) && !Path::new(text).exists())
}

/// Returns the text of a process with spaces around its arrow.
pub fn with_spaced_arrow(text: &str) -> String {
    match text.split_once(ARROW) {
        Some((before, after)) if !after.starts_with('=') => format!("{before} {ARROW} {after}"),
        _ => text.into(),
    }
}

/// The list that the next particle belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Incoming,
    Outgoing,
    Excluded,
    OffShell,
    Forbidden,
}

impl ProcessRequest {
    /// Parses a process without decays; `labels` are those of the model and user-defined ones. The error describes the
    /// problem and its remedy.
    pub fn parse_one(text: &str, model: &Model, labels: &Labels) -> Result<ProcessRequest, String> {
        refuse_what_is_missing(text)?;
        let words = words(text, &|name| is_order(name, model, labels));
        let count = model.orders.len() + 1;
        let mut request = ProcessRequest::default();
        (request.orders, request.overall) = (vec![0..=u32::MAX; count], vec![0..=u32::MAX; count]);
        let mut section = Section::Incoming;
        // A sign that is not followed by a particle yet.
        let mut bare: Option<&str> = None;
        // Whether an order has an upper bound; otherwise bounds on squared orders apply to the amplitude, too.
        let mut bounded = false;
        let mut bounds: Vec<Bound> = Vec::new();
        let arrows: Vec<usize> = (0..words.len()).filter(|&i| words[i] == ARROW).collect();
        let mut skip = 0..0;
        if let [first, second] = arrows[..] {
            request.s_channels.required = required(&words[first + 1..second], model, labels)?;
            let through = words[first + 1..second].join(" ");
            request.through = format!("{through} {ARROW} ");
            skip = first + 1..second + 1;
        }
        if arrows.len() > 2 {
            return Err("a process has one `>`, or two around required s-channels as in `e+ e- > z > mu+ mu-`".into());
        }
        for (at, word) in words.iter().enumerate() {
            if skip.contains(&at) {
                continue;
            }
            match word.as_str() {
                ARROW => section = Section::Outgoing,
                sign @ ("/" | "$" | "$$") => {
                    refuse_bare(bare)?;
                    bare = Some(sign);
                    section = match sign {
                        "/" => Section::Excluded,
                        "$" => Section::OffShell,
                        _ => Section::Forbidden,
                    };
                }
                "|" => return Err("`|` can only be used between two `>`".into()),
                _ if word.starts_with('@') => {
                    let number = &word[1..];
                    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
                        return Err(format!("`{word}`: a number must follow"));
                    }
                    request.add_to_tail(word);
                }
                _ => match order(word, model)? {
                    Some(Order::Amplitude { order, kind, range }) => {
                        let of_square = [*range.start(), *range.end()].map(|n| 2 * i64::from(n));
                        let bound = Bound {
                            word,
                            order,
                            is_squared: false,
                            kind,
                            value: of_square[usize::from(kind != SquaredBound::Above)],
                            of_square,
                        };
                        bound.add_to(&mut bounds)?;
                        bounded |= *range.end() != u32::MAX;
                        let known = &mut request.orders[order];
                        *known = *range.start().max(known.start())..=*range.end().min(known.end());
                        request.ordered = true;
                        request.add_to_tail(word);
                    }
                    Some(Order::Squared(squared)) => {
                        let bound = Bound {
                            word,
                            order: squared.order,
                            is_squared: true,
                            kind: squared.bound,
                            value: squared.value,
                            of_square: squared.range(),
                        };
                        bound.add_to(&mut bounds)?;
                        request.ordered = true;
                        request.add_to_tail(word);
                        request.squared.push(squared);
                    }
                    None => {
                        bare = None;
                        request.particle(word, section, model, labels)?;
                    }
                },
            }
        }
        refuse_bare(bare)?;
        if !bounded {
            request.bound_by_squares();
        }
        let negative = request.squared.iter().filter(|squared| squared.value < 0);
        if negative.count() > 1 {
            return Err("at most one squared coupling order can be negative".into());
        }
        request.check_legs(arrows.len())?;
        request.refuse_ambiguous_polarizations(model)?;
        request.requested = request.orders.clone();
        // MG5aMC limits orders to what the model allows, whatever is requested.
        for (range, most) in request.orders.iter_mut().zip(&model.expansion) {
            if let Some(most) = most {
                *range = *range.start()..=*most.min(range.end());
            }
        }
        // MG5aMC does not search the lowest order of a decay: all diagrams are taken.
        request.lowest = request.incoming.len() == 2 && !request.ordered;
        Ok(request)
    }

    /// Applies bounds on squared orders to the amplitude, as MG5aMC does if its orders have none.
    fn bound_by_squares(&mut self) {
        for squared in &self.squared {
            if let (true, Ok(value)) = (
                squared.bound != SquaredBound::Above,
                u32::try_from(squared.value),
            ) {
                let known = &mut self.orders[squared.order];
                *known = *known.start()..=value.min(*known.end());
            }
        }
    }

    /// Checks the numbers of legs, and of arrows between them.
    fn check_legs(&self, arrows: usize) -> Result<(), String> {
        let (incoming, outgoing) = (self.incoming.len(), self.outgoing.len());
        if arrows == 0 || !matches!(incoming, 1 | 2) || outgoing == 0 {
            return Err("a process has one or two particles, a `>` and the outgoing particles, as in `g g > t t~ g`".into());
        }
        if incoming + outgoing < 3 {
            return Err("a process has at least three particles".into());
        }
        if incoming + outgoing > MAX_LEGS {
            return Err(format!(
                "{} particles; at most {MAX_LEGS} can be generated",
                incoming + outgoing
            ));
        }
        Ok(())
    }

    /// Adds a name, with its multiplicity and polarisation, to its list.
    fn particle(
        &mut self,
        word: &str,
        section: Section,
        model: &Model,
        labels: &Labels,
    ) -> Result<(), String> {
        let (name, polarization) = match word.split_once('{') {
            Some((name, inner)) => {
                let Some(inner) = inner.strip_suffix('}') else {
                    return Err(format!(
                        "`{word}`: a polarisation ends with `}}` and a space, as in `z{{0}} z`"
                    ));
                };
                (name, Some(inner))
            }
            None => (word, None),
        };
        if !matches!(section, Section::Incoming | Section::Outgoing) {
            if polarization.is_some() {
                return Err(format!(
                    "`{word}`: only incoming and outgoing particles can be polarised"
                ));
            }
            let found = particles(name, model, labels)?;
            let sign = match section {
                Section::Excluded => "/",
                Section::OffShell => "$",
                _ => "$$",
            };
            self.add_to_tail(&format!("{sign} {word}"));
            match section {
                Section::Excluded => {
                    let both = found.iter().flat_map(|&p| [p, model.anti(p)]);
                    self.excluded.extend(both);
                }
                Section::OffShell => self.s_channels.off_shell.extend(found),
                _ => self.s_channels.forbidden.extend(found),
            }
            return Ok(());
        }
        // `2j` is `j j`, unless something is named `2j`.
        let digit = name
            .chars()
            .next()
            .and_then(|c| c.to_digit(10))
            .unwrap_or(0);
        let (times, mut found) = match particles(name, model, labels) {
            Err(_) if digit > 0 && name.len() > 1 => (digit, particles(&name[1..], model, labels)?),
            found => (1, found?),
        };
        refuse_unphysical(word, &found, model)?;
        found.retain(|&p| !model.properties(p).goldstone && !model.properties(p).ghost);
        let leg = RequestedLeg {
            polarization: match polarization {
                Some(text) => polarizations(text, &found, model)
                    .map_err(|what| format!("`{word}`: {what}"))?,
                None => Vec::new(),
            },
            particles: found,
        };
        let legs = match section {
            Section::Incoming => &mut self.incoming,
            _ => &mut self.outgoing,
        };
        legs.extend((0..times).map(|_| leg.clone()));
        Ok(())
    }

    /// Refuses `z{T} z` and `z{T} z{+}`, which do not determine which of the two is the first.
    fn refuse_ambiguous_polarizations(&self, model: &Model) -> Result<(), String> {
        for (at, leg) in self.outgoing.iter().enumerate() {
            for other in &self.outgoing[..at] {
                let shared = leg.particles.iter().find(|p| other.particles.contains(p));
                let (a, b) = (&leg.polarization, &other.polarization);
                let both = a.is_empty() || b.is_empty() || a.iter().any(|h| b.contains(h));
                if let (Some(&shared), true) = (shared, a != b && both) {
                    return Err(format!(
                        "{} goes out with polarisations that overlap; make them equal or disjoint",
                        model.properties(shared).name
                    ));
                }
            }
        }
        Ok(())
    }

    /// Bounds the orders of the process and of each of its decays. If there are bounds, the lowest `WEIGHTED` is not
    /// searched.
    pub(super) fn bound_all(&mut self, bounds: &[RangeInclusive<u32>]) {
        for (range, bound) in self.orders.iter_mut().zip(bounds) {
            *range = *range.start()..=*range.end().min(bound.end());
        }
        self.lowest &= bounds.iter().all(|bound| *bound.end() == u32::MAX);
        for decay in &mut self.decays {
            decay.bound_all(bounds);
        }
    }

    fn add_to_tail(&mut self, word: &str) {
        self.tail.push(' ');
        self.tail.push_str(word);
    }
}

/// Refuses ghosts and Goldstone bosons as external particles.
fn refuse_unphysical(word: &str, found: &[ParticleId], model: &Model) -> Result<(), String> {
    let all = |is: &dyn Fn(&Particle) -> bool| found.iter().all(|&p| is(model.properties(p)));
    if all(&|p| p.ghost) {
        return Err(format!(
            "`{word}`: a ghost of the model {}, which cannot be an external particle and only occurs in loops; name other \
             particles",
            model.name
        ));
    }
    if all(&|p| p.goldstone || p.ghost) {
        return Err(format!(
            "`{word}`: a Goldstone boson of the model {}, which cannot be an external particle; use the longitudinal vector \
             boson instead, as in `z{{0}}`",
            model.name
        ));
    }
    Ok(())
}

/// Parses required s-channels into lists of which one must be satisfied: `z | a` is either, `w+ z` both.
fn required(
    words: &[String],
    model: &Model,
    labels: &Labels,
) -> Result<Vec<Vec<ParticleId>>, String> {
    let mut lists = Vec::new();
    for some in words.split(|word| word == "|") {
        let mut all: Vec<Vec<ParticleId>> = vec![Vec::new()];
        for word in some {
            if word.contains('{') {
                return Err(format!(
                    "`{word}`: a required s-channel cannot be polarised"
                ));
            }
            let found = particles(word, model, labels)?;
            if all.len() * found.len() > MAX_S_CHANNELS {
                return Err(format!(
                    "labels of required s-channels stand for more than {MAX_S_CHANNELS} choices; name fewer particles"
                ));
            }
            let longer = all.iter().flat_map(|list| {
                found.iter().map(move |&p| match list.contains(&p) {
                    true => list.clone(),
                    false => [list.as_slice(), &[p]].concat(),
                })
            });
            all = longer.collect();
        }
        lists.extend(all.into_iter().filter(|list| !list.is_empty()));
    }
    match lists.is_empty() {
        true => Err("there is no particle between the two `>`".into()),
        false => Ok(lists),
    }
}

/// Parses the helicities in braces.
fn polarizations(text: &str, of: &[ParticleId], model: &Model) -> Result<Vec<i8>, String> {
    let spin = model.properties(of[0]).spin;
    if of.iter().any(|&p| model.properties(p).spin != spin) {
        return Err("particles of different spins cannot share a polarisation".into());
    }
    let mut found: Vec<i8> = Vec::new();
    let mut letters = text.chars().filter(|c| *c != ' ').peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ',' => {}
            'T' | 't' if spin == 3 => found.extend([1, -1]),
            'T' | 't' => return Err("T (transverse) is a polarisation of vectors".into()),
            'L' | 'l' => found.push(-1),
            'R' | 'r' => found.push(1),
            'A' | 'a' if spin == 3 => found.push(AUXILIARY),
            'A' | 'a' => return Err("A (auxiliary) is a polarisation of vectors".into()),
            'G' | 'H' | 'Q' | 'W' | 'S' => {
                return Err(format!(
                    "`{letter}` is a part of a vector's propagator that MG5aMC knows from 3.7.1 on, but that cannot be generated here; \
                     write the output with MG5aMC, and import it"
                ));
            }
            '0' if matches!(spin, 1 | 2) => {
                return Err(
                    "0 (longitudinal) is not a polarisation of scalars and fermions".into(),
                );
            }
            '+' | '-' => {
                let sign = if letter == '+' { 1 } else { -1 };
                let digit = letters
                    .next_if(char::is_ascii_digit)
                    .and_then(|c| c.to_digit(10));
                if digit == Some(0) {
                    return Err(format!(
                        "`{letter}0` is 0 alone in MG5aMC, and reads as two helicities; write `0`, or `0{letter}`"
                    ));
                }
                found.push(sign * helicity(digit.unwrap_or(1))?);
            }
            '0'..='9' => found.push(helicity(letter.to_digit(10).unwrap_or(0))?),
            _ => {
                return Err(format!(
                    "`{letter}` is not a polarisation; use 0, T, L, R, + or -"
                ));
            }
        }
    }
    let twice = (1..found.len()).any(|i| found[..i].contains(&found[i]));
    if found.is_empty() || twice {
        return Err("a polarisation is given twice, or none is given".into());
    }
    if found == [0] && of.iter().all(|&p| model.properties(p).mass.is_none()) {
        return Err("0 (longitudinal) is not a polarisation of massless particles".into());
    }
    // A unique order for equal polarisations.
    found.sort_by_key(|&h| (h.unsigned_abs(), Reverse(h)));
    Ok(found)
}

/// The polarisation `A` of a decaying vector: the part of its propagator that vanishes on its mass shell.
pub const AUXILIARY: i8 = 99;

fn helicity(digit: u32) -> Result<i8, String> {
    match digit {
        0..=3 => Ok(digit as i8),
        _ => Err("helicities must be between -3 and 3".into()),
    }
}

/// Refuses a `/`, `$` or `$$` that is not followed by particles.
fn refuse_bare(sign: Option<&str>) -> Result<(), String> {
    match sign {
        Some(sign) => Err(format!(
            "no particle follows `{sign}`; name the particles, or leave it out"
        )),
        None => Ok(()),
    }
}

/// Refuses parts of MG5aMC's language that are not supported.
fn refuse_what_is_missing(text: &str) -> Result<(), String> {
    let missing = [
        (
            "[",
            "corrections (`[...]`) cannot be generated; this library evaluates tree diagrams",
        ),
        (
            "!",
            "tagged particles (`!a!`) belong to corrections; this library evaluates tree diagrams",
        ),
    ];
    if let Some((_, what)) = missing.iter().find(|(sign, _)| text.contains(sign)) {
        return Err((*what).into());
    }
    without_options(text).map(drop)
}

/// Removes options from a text; refuses those that would change the process.
pub fn without_options(text: &str) -> Result<String, String> {
    let mut kept = Vec::new();
    for word in text.split_whitespace() {
        if !word.starts_with("--") {
            kept.push(word);
            continue;
        }
        let (option, behind) = word.split_at(word.find([',', ')']).unwrap_or(word.len()));
        if !IGNORED.contains(&option.split('=').next().unwrap_or_default()) {
            return Err(format!(
                "the option {option} is not supported; leave it out"
            ));
        }
        kept.push(behind);
    }
    Ok(kept.join(" "))
}

/// Options of MG5aMC that do not change a process.
const IGNORED: [&str; 2] = ["--no_warning", "--standalone"];

/// Splits a text into words: `/`, `$`, `$$` and `|` are separate words, and bounds on orders contain no spaces.
/// `is_order` recognises the names of coupling orders.
fn words(text: &str, is_order: &dyn Fn(&str) -> bool) -> Vec<String> {
    let kept = text
        .split_whitespace()
        .filter(|word| !word.starts_with("--"));
    let text = kept.collect::<Vec<_>>().join(" ");
    // The text after the first arrow may have a second one.
    let mut spaced = with_spaced_arrow(&text);
    if let Some((before, after)) = spaced.split_once(" > ") {
        spaced = format!("{before} > {}", arrow_behind(after, is_order));
    }
    for sign in ["/", "|"] {
        spaced = spaced.replace(sign, &format!(" {sign} "));
    }
    let spaced = spaced
        .replace("$ $", "$$")
        .replace("$$", " \u{3} ")
        .replace('$', " $ ")
        .replace('\u{3}', "$$");
    // Remove spaces within braces.
    let mut inside = false;
    let mut spaced: String = spaced
        .chars()
        .filter(|&c| {
            inside = (inside || c == '{') && c != '}';
            !(inside && c == ' ')
        })
        .collect();
    for operator in ["<=", ">=", "==", "="] {
        let pieces: Vec<&str> = spaced.split(operator).map(str::trim).collect();
        // `<=`, `>=` and `==` contain a `=`, which must not be matched again.
        let mark = match operator {
            "<=" => "\u{1}",
            ">=" => "\u{4}",
            "==" => "\u{2}",
            _ => "=",
        };
        spaced = pieces.join(mark);
    }
    let spaced = spaced
        .replace('\u{1}', "<=")
        .replace('\u{4}', ">=")
        .replace('\u{2}', "==")
        .replace("@ ", "@");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Puts spaces around a second arrow in the text after the first one, and removes spaces around a `>` that compares a
/// coupling order. The latter is followed by a number, which may be negative after the name of an order (`QED^2>-2`,
/// not `21>-6 6`).
fn arrow_behind(text: &str, is_order: &dyn Fn(&str) -> bool) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('>') {
        found.push_str(before);
        let name = found.trim_end().rsplit([' ', '/', '|', '$', '>']).next();
        let order = name.is_some_and(is_order);
        let number = after.trim_start();
        let number = number.strip_prefix('-').unwrap_or(number);
        let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        match after.starts_with('=') || digit(after) || (order && digit(number)) {
            true => {
                found.truncate(found.trim_end().len());
                found.push('>');
                rest = after.trim_start();
            }
            false => {
                found.push_str(" > ");
                rest = after;
            }
        }
    }
    found + rest
}

/// Whether a name is that of a coupling order or its square, and not that of a particle.
fn is_order(name: &str, model: &Model, labels: &Labels) -> bool {
    if let Some(name) = name.strip_suffix("^2") {
        return !name.is_empty();
    }
    let (order, _) = alias(name, model);
    let mut known = model.orders.iter().map(|(name, _)| name.as_str());
    (order.eq_ignore_ascii_case("WEIGHTED") || known.any(|n| n.eq_ignore_ascii_case(order)))
        && particles(name, model, labels).is_err()
}

/// A bound on a coupling order.
enum Order {
    /// Bound on an order of the amplitude. As in MG5aMC, `=` means `<=`.
    Amplitude {
        order: usize,
        kind: SquaredBound,
        range: RangeInclusive<u32>,
    },
    /// Bound on an order of the squared amplitude.
    Squared(SquaredOrder),
}

/// Translates a coupling order that the model lacks as MG5aMC does; returns the name, and whether it is a squared order
/// that counts twice.
fn alias<'a>(name: &'a str, model: &Model) -> (&'a str, bool) {
    let has = |order: &str| model.orders.iter().any(|(n, _)| n == order);
    match name {
        "QED" if !has("QED") && has("EW") => ("EW", false),
        "EW" if !has("EW") && has("QED") => ("QED", false),
        "aEW" if !has("aEW") && has("EW") => ("EW", true),
        "aEW" if !has("aEW") && has("QED") => ("QED", true),
        "aS" if !has("aS") && has("QCD") => ("QCD", true),
        _ => (name, false),
    }
}

/// Parses a bound on a coupling order; `None` for other words.
fn order(word: &str, model: &Model) -> Result<Option<Order>, String> {
    let Some(at) = word.find(['<', '=', '>']) else {
        return Ok(None);
    };
    let (name, rest) = word.split_at(at);
    let value = rest.trim_start_matches(['<', '=', '>']);
    let operator = &rest[..rest.len() - value.len()];
    let (name, squared) = match name.strip_suffix("^2") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (name, twice) = alias(name, model);
    let known = model
        .orders
        .iter()
        .position(|(n, _)| n.eq_ignore_ascii_case(name));
    let weighted = name.eq_ignore_ascii_case("WEIGHTED");
    let Some(order) = known.or(weighted.then_some(model.orders.len())) else {
        let names: Vec<&str> = model.orders.iter().map(|(n, _)| n.as_str()).collect();
        return Err(format!(
            "`{word}`: there is no coupling order {name}; there are {} and WEIGHTED",
            names.join(", ")
        ));
    };
    if model.negative.get(order) == Some(&true) {
        return Err(format!(
            "`{word}`: couplings of the model {} have negative powers of {name}, so that it cannot be bounded; name another \
             order, or none for the lowest WEIGHTED",
            model.name
        ));
    }
    let number = |_| format!("`{word}`: a number must follow");
    let negative = || model.vertices.iter().any(|vertex| vertex.weighted < 0);
    if squared && order == model.orders.len() && negative() {
        return Err(format!(
            "`{word}`: vertices of the model {} have a negative weight, and no WEIGHTED^2 can be bounded; name a coupling \
             order instead",
            model.name
        ));
    }
    if squared || twice {
        let value: i64 = value.parse().map_err(number)?;
        let bound = match operator {
            "==" => SquaredBound::Equal,
            "<=" | "=" => SquaredBound::AtMost,
            ">" => SquaredBound::Above,
            _ => {
                return Err(format!(
                    "`{word}`: squared orders are compared by ==, <= and >"
                ));
            }
        };
        if value.unsigned_abs() > 1000 {
            return Err(format!("`{word}`: the number is too large"));
        }
        return Ok(Some(Order::Squared(SquaredOrder {
            order,
            bound,
            value: if twice { 2 * value } else { value },
        })));
    }
    let value: u32 = value.parse().map_err(|_| {
        format!("`{word}`: a number from 0 on must follow; only squared orders ({name}^2) can be negative")
    })?;
    let range = match operator {
        "<=" | "=" => 0..=value,
        "<" if value > 0 => 0..=value - 1,
        "==" => value..=value,
        ">" => value.saturating_add(1)..=u32::MAX,
        ">=" => value..=u32::MAX,
        _ => return Err(format!("`{word}`: write an order as in QCD<=2")),
    };
    let kind = match operator {
        "==" => SquaredBound::Equal,
        ">" | ">=" => SquaredBound::Above,
        _ => SquaredBound::AtMost,
    };
    Ok(Some(Order::Amplitude { order, kind, range }))
}

/// Multi-particle labels, from the model and the text.
pub type Labels = SortedMap<String, Vec<ParticleId>>;

/// Looks up the particles of a name, a label or a PDG code.
pub(super) fn particles(
    word: &str,
    model: &Model,
    labels: &Labels,
) -> Result<Vec<ParticleId>, String> {
    if let Some(label) = labels.get(word) {
        return Ok(label.clone());
    }
    if let Some(particle) = model.particle(word) {
        return Ok(vec![particle]);
    }
    if let Some(label) = labels.get(&word.to_lowercase()) {
        return Ok(label.clone());
    }
    if let Ok(code) = word.parse::<i32>() {
        let mut all = (0..).zip(&model.particles);
        return match all.find(|(_, p)| p.pdg == code) {
            Some((particle, _)) => Ok(vec![particle]),
            None => Err(format!(
                "there is no particle with the PDG code {code} in the model {}",
                model.name
            )),
        };
    }
    if word.eq_ignore_ascii_case("all") {
        let physical =
            |(number, p): (ParticleId, &Particle)| (!p.ghost && !p.goldstone).then_some(number);
        let mut all: Vec<ParticleId> = (0..).zip(&model.particles).filter_map(physical).collect();
        sort(&mut all, model);
        return Ok(all);
    }
    let particles = model.particles.iter().map(|p| p.name.as_str());
    let known: Vec<&str> = particles.chain(labels.keys().map(String::as_str)).collect();
    // Of equally similar names, the one with the most similar length.
    let near = known.iter().map(|name| {
        let longer = name.len().abs_diff(word.len());
        (distance(&word.to_lowercase(), name), longer, *name)
    });
    let hint = match near.min() {
        // With half of its characters changed it is another name: `all` is not `vl~`.
        Some((away, _, name)) if away <= 2 && 2 * away <= word.len() => {
            format!("do you mean `{name}`? ")
        }
        _ => String::new(),
    };
    Err(format!(
        "there is no particle or label `{word}` in the model {}; {hint}it has {}",
        model.name,
        known.join(" ")
    ))
}

/// Sorts the particles of a label in MG5aMC's order (`optimize_order` of its madgraph_interface.py), which determines
/// the order of processes: massless before massive, then by colour dimension (largest first), bosons before fermions,
/// particles before antiparticles.
pub(super) fn sort(label: &mut [ParticleId], model: &Model) {
    label.sort_by_key(|&p| {
        let particle = model.properties(p);
        let color = Reverse(particle.color.unsigned_abs());
        (
            particle.mass.is_some(),
            color,
            particle.is_fermion(),
            particle.pdg < 0,
        )
    });
}

/// The edit distance of two texts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ProcessRequest, String> {
        let model = Model::standard().unwrap();
        ProcessRequest::parse_one(text, &model, &model.labels)
    }

    #[test]
    fn names_labels_orders_and_exclusions() {
        let model = Model::standard().unwrap();
        let request = parse("p e- > W+ j QED <= 2 QCD==1/ z h @3").unwrap();
        assert_eq!(request.incoming[0].particles.len(), 9);
        assert_eq!(
            request.incoming[1].particles,
            [model.particle("e-").unwrap()]
        );
        assert_eq!(
            request.outgoing[0].particles,
            [model.particle("w+").unwrap()]
        );
        let names = model.names(&request.excluded);
        assert_eq!(names, "z z h h");
        assert_eq!(request.orders, [1..=1, 0..=2, 0..=u32::MAX]);
        assert_eq!(request.tail, " QED<=2 QCD==1 / z / h @3");
        assert!(!request.lowest);
        assert!(parse("g g > t t~").unwrap().lowest);
        assert!(!parse("t > b w+").unwrap().lowest);
        assert_eq!(parse("g g > t t~ WEIGHTED=2").unwrap().orders[2], 0..=2);
    }

    #[test]
    fn s_channels_polarisations_squares_and_short_forms() {
        let model = Model::standard().unwrap();
        let names = |p: &[ParticleId]| model.names(p);
        let request = parse("u u~>z|a w+>e+ e- $ w- $$h").unwrap();
        let required = &request.s_channels.required;
        assert_eq!(
            required.iter().map(|l| names(l)).collect::<Vec<_>>(),
            ["z", "a w+"]
        );
        assert_eq!(names(&request.s_channels.off_shell), "w-");
        assert_eq!(names(&request.s_channels.forbidden), "h");
        assert_eq!(
            names(
                &parse("u u~ > l+ > e+ e-")
                    .unwrap()
                    .s_channels
                    .required
                    .concat()
            ),
            "e+ mu+"
        );
        let request = parse("e+{L} e-{ R } > z{0} z{T} a{+-} @ 2").unwrap();
        let legs = request.incoming.iter().chain(&request.outgoing);
        let all: Vec<&[i8]> = legs.map(|leg| &leg.polarization[..]).collect();
        assert_eq!(all, [&[-1][..], &[1], &[0], &[1, -1], &[1, -1]]);
        let request = parse("u u~ > 2j QCD^2==2 QED^2 <= 4 --no_warning=duplicate").unwrap();
        assert_eq!(request.outgoing.len(), 2);
        assert_eq!(request.outgoing[0], request.outgoing[1]);
        assert_eq!(request.orders[..2], [0..=2, 0..=4]);
        assert_eq!(request.squared[0].bound, SquaredBound::Equal);
        assert_eq!(
            names(&parse("21 -6 > 21 -6").unwrap().outgoing[1].particles),
            "t~"
        );
        // Explicit bounds are not replaced.
        let request = parse("u u~ > u u~ QCD=1 QED^2>2").unwrap();
        assert_eq!(request.orders[..2], [0..=1, 0..=u32::MAX]);
        assert_eq!(parse("u u~ > u u~ aS=1").unwrap().squared[0].value, 2);
        // Lower and upper bounds, and one that is written twice.
        let request = parse("u u~ > u u~ QCD^2>1 QCD^2<=4 QED>0 QED<=2 QED=2").unwrap();
        assert_eq!((request.squared.len(), &request.orders[1]), (2, &(1..=2)));
    }

    /// A `>` after a coupling order is a comparison, whatever the spacing; others are arrows.
    #[test]
    fn arrows_are_no_comparisons() {
        let squared = |text: &str| {
            let squared = &parse(text).unwrap().squared[0];
            (squared.order, squared.bound, squared.value)
        };
        for text in [
            "QED^2>-2",
            "QED^2 >-2",
            "QED^2> -2",
            "QED^2 > -2",
            "qed^2>-2",
        ] {
            let whole = format!("u u~ > z > u u~ {text} QCD=2");
            assert_eq!(squared(&whole), (1, SquaredBound::Above, -2), "{text}");
        }
        assert_eq!(squared("u u~ > u u~ aS>-1"), (0, SquaredBound::Above, -2));
        assert_eq!(squared("u u~>u u~ QED^2 > 2"), (1, SquaredBound::Above, 2));
        let orders = parse("u u~ > u u~ QED > 1 WEIGHTED>3").unwrap().orders;
        assert_eq!(orders[1..], [2..=u32::MAX, 4..=u32::MAX]);
        // Minus signs of PDG codes.
        let request = parse("21 21>-6 6").unwrap();
        let model = Model::standard().unwrap();
        assert_eq!(model.names(&request.outgoing[0].particles), "t~");
        let request = parse("2 -2>23>-6 6 QED^2>-2").unwrap();
        assert_eq!(model.names(&request.s_channels.required[0]), "z");
        assert_eq!(request.outgoing.len(), 2);
    }

    #[test]
    fn orders_are_no_more_than_the_model_allows() {
        let mut model = Model::standard().unwrap();
        model.expansion = vec![None, Some(1)];
        let orders = |text: &str| {
            ProcessRequest::parse_one(text, &model, &model.labels)
                .unwrap()
                .orders
        };
        assert_eq!(orders("g g > t t~"), [0..=u32::MAX, 0..=1, 0..=u32::MAX]);
        assert_eq!(
            orders("g g > t t~ QED=4 QCD=3"),
            [0..=3, 0..=1, 0..=u32::MAX]
        );
        assert_eq!(orders("g g > t t~ QED=0")[1], 0..=0);
    }

    #[test]
    fn ghosts_and_goldstone_bosons_are_named() {
        let mut model = Model::standard().unwrap();
        let mut labels = model.labels.clone();
        labels.insert(
            "s".into(),
            ["h", "z"].map(|p| model.particle(p).unwrap()).into(),
        );
        let of = |model: &Model, text: &str| ProcessRequest::parse_one(text, model, &labels);
        let h = usize::from(model.particle("h").unwrap());
        of(&model, "z z > h h").unwrap();
        model.particles[h].goldstone = true;
        let error = of(&model, "z z > 2h").unwrap_err();
        assert!(
            error.starts_with("`2h`: a Goldstone boson of the model sm"),
            "{error}"
        );
        // An unphysical particle among several of a label is dropped.
        of(&model, "z z > s s / h").unwrap();
        model.particles[h].ghost = true;
        let error = of(&model, "h h > z z").unwrap_err();
        assert!(error.starts_with("`h`: a ghost of the model sm"), "{error}");
    }

    #[test]
    fn polarisations_have_one_order() {
        let of = |text: &str| parse(text).unwrap().outgoing[0].polarization.clone();
        for (text, helicities) in [
            ("+-", &[1, -1][..]),
            ("-+", &[1, -1]),
            ("0T", &[0, 1, -1]),
            ("L0", &[0, -1]),
        ] {
            assert_eq!(of(&format!("u u~ > z{{{text}}} h")), helicities, "{text}");
        }
        parse("u u~ > z{-+} z{+-}").unwrap();
    }

    #[test]
    fn all_is_a_label() {
        let model = Model::standard().unwrap();
        let names = |text: &str| model.names(&parse(text).unwrap().outgoing[0].particles);
        let all = names("w+ > All u");
        assert!(
            all.starts_with("g d u s c d~") && all.ends_with(" w- ta- ta+"),
            "{all}"
        );
        assert_eq!(all.split(' ').count(), model.particles.len());
    }

    #[test]
    fn hints_are_near() {
        for (word, hint) in [
            ("xyz", None),
            ("tx", Some("t~")),
            ("x", None),
            ("tau-", Some("ta-")),
        ] {
            let error = parse(&format!("g g > t {word}")).unwrap_err();
            let hint = hint.map_or_else(
                || "sm; it has".to_owned(),
                |name| format!("do you mean `{name}`?"),
            );
            assert!(error.contains(&hint), "{error}");
        }
    }

    #[test]
    fn bad_input_is_told() {
        for (text, says) in [
            ("g g > t tx", "do you mean `t~`?"),
            ("g g > qqqqq", "no particle or label `qqqqq`"),
            ("g g t t~", "a `>`"),
            ("g g > ", "a `>`"),
            ("g g g > t t~", "one or two particles"),
            ("g > g", "at least three"),
            ("g g > g g g g g g g g g g g", "at most 12"),
            ("g g > h > z > t t~", "one `>`"),
            ("g g > > t t~", "no particle between"),
            ("g g > t t~ /", "no particle follows `/`"),
            ("g g > t t~ / / g", "no particle follows `/`"),
            ("g g > t t~ $ QCD=2", "no particle follows `$`"),
            ("g g > t t~ $$ $ z", "no particle follows `$$`"),
            ("u u~ > z [QCD]", "corrections"),
            ("u u~ > z{0 z", "ends with"),
            ("u u~ > z{0} z", "overlap"),
            ("u u~ > t{T} t~", "of vectors"),
            ("u u~ > t{0} t~", "not a polarisation of scalars"),
            ("u u~ > z a{0}", "not a polarisation of massless"),
            (
                "u u~ > z{G} h",
                "a part of a vector's propagator that MG5aMC knows from 3.7.1 on",
            ),
            ("u u~ > z{+-0} h", "`-0` is 0 alone in MG5aMC"),
            ("u u~ > z{+0} h", "write `0`, or `0+`"),
            ("u u~ > z{9} z{0}", "between -3 and 3"),
            ("u u~ > z{LL} z{0}", "twice"),
            ("u u~ > e+ e- $ z{0}", "incoming and outgoing"),
            ("u u~ > e+ e- --diagram_filter", "--diagram_filter"),
            ("u u > u u QED^2>=2", "compared by"),
            ("u u > u u QED^2<=-1 QCD^2<=-1", "at most one squared"),
            ("u u > u u NP=1", "no coupling order NP"),
            ("u u > u u QED=x", "number"),
            ("u u > u u QED>-2", "a number from 0 on"),
            ("21 21>-6 99", "PDG code 9"),
            ("u u > u u @x", "number"),
            (
                "u u > u u QCD^2==4 QCD^2==2",
                "`QCD^2==4` and `QCD^2==2` contradict",
            ),
            ("u u > u u QCD^2<=4 QCD^2<=2", "contradict"),
            ("u u > u u QCD^2>4 QCD^2==2", "contradict"),
            ("u u > u u QED^2==-1 QED^2==2", "contradict"),
            (
                "u u > u u QCD=2 QED=1 QCD<=3",
                "`QCD=2` and `QCD<=3` contradict",
            ),
            ("u u > u u EW=2 QED<2", "`EW=2` and `QED<2` contradict"),
            ("u u > u u QCD>1 QCD=1", "contradict"),
            ("u u > u u QCD=1 QCD^2==4", "contradict"),
            ("u u > u u QCD^2>2 aS=1", "contradict"),
            ("u u > u 99", "PDG code 9"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
