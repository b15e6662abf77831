//! Values of the entries of a run card.

use crate::text::{quoted, repr};
use mebridge_support::sorted::SortedMap;
use std::fmt::{self, Display, Formatter};

/// The kind of an entry's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `True` or `False`.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Real,
    /// A text.
    Text,
    /// A set of parton densities, by its LHAPDF number or its name.
    Set,
    /// Words, `[21, 1]`.
    Words,
    /// Arguments of a command, `['--mur=1,2', '--pdf=central']`.
    Arguments,
    /// Numbers by PDG code, `{6: 50, 25: 30}`.
    ByCode,
    /// Whether a cut only applies to pairs of particle and antiparticle, by PDG code: `{default: False, 6: True}`.
    Pairs,
    /// Numbers by name.
    Named,
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`ValueKind::Flag`].
    Flag(bool),
    /// Of [`ValueKind::Whole`], below [`MAX_WHOLE`].
    Whole(i128),
    /// Of [`ValueKind::Real`], finite.
    Real(f64),
    /// Of [`ValueKind::Text`] and [`ValueKind::Set`].
    Text(String),
    /// Of [`ValueKind::Words`] and [`ValueKind::Arguments`].
    Words(Vec<String>),
    /// Of [`ValueKind::ByCode`].
    ByCode(SortedMap<i32, f64>),
    /// Of [`ValueKind::Pairs`]: by PDG code, and `default` for particles without an entry of their own.
    Pairs(SortedMap<String, bool>),
    /// Of [`ValueKind::Named`].
    Named(SortedMap<String, f64>),
}

/// Bound on whole numbers. They are not limited to doubles because a seed may have more digits.
const MAX_WHOLE: f64 = 1e20;
/// Largest number of digits of a whole number without exponent.
const DIGITS: usize = 20;

impl Value {
    /// Reads a value.
    ///
    /// # Errors
    /// A message on what the value must be.
    pub fn parse(kind: ValueKind, text: &str) -> Result<Value, String> {
        let text = text.trim();
        Ok(match kind {
            ValueKind::Flag => Value::Flag(flag(text)?),
            ValueKind::Whole => Value::Whole(whole(text)?),
            ValueKind::Real => Value::Real(number(text)?),
            ValueKind::Text => Value::Text(unquoted(text).to_owned()),
            ValueKind::Set => Value::Text(set(text)?),
            ValueKind::Words => {
                let inner = text.trim_matches(['[', ']', '(', ')', ' ']);
                let words = inner.split(|c: char| c == ',' || c.is_whitespace());
                Value::Words(words.filter(|word| !word.is_empty()).map(word).collect())
            }
            ValueKind::Arguments => Value::Words(arguments(text)),
            ValueKind::ByCode => Value::ByCode(dict(text, "{6: 50}", code, number)?),
            ValueKind::Pairs => {
                let key = |name: &str, example: &str| match name {
                    "default" => Ok(Some(name.to_owned())),
                    name => Ok(code(name, example)?.map(|code| code.to_string())),
                };
                Value::Pairs(dict(text, "{6: True}", key, flag)?)
            }
            ValueKind::Named => {
                let key = |name: &str, _: &str| Ok(Some(name.to_owned()));
                Value::Named(dict(text, "{name: 1.0}", key, number)?)
            }
        })
    }

    /// Whether two values are the same, ignoring the case of texts and the order of words.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Text(one), Value::Text(other)) => one.to_lowercase() == other.to_lowercase(),
            (Value::Words(one), Value::Words(other)) => {
                let sorted = |words: &[String]| {
                    let mut words = words.to_vec();
                    words.sort();
                    words
                };
                sorted(one) == sorted(other)
            }
            _ => self == other,
        }
    }

    /// The value in the advice of an error message.
    pub fn as_cure(&self) -> String {
        match self {
            Value::Real(value) => crate::text::general(*value),
            Value::Text(text) if text.is_empty() => "empty".to_owned(),
            Value::Words(words) if words.is_empty() => "empty".to_owned(),
            Value::Words(words) => words.join(", "),
            _ => self.to_string(),
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Flag(flag) => (*flag).into(),
            Value::Whole(value) => match u64::try_from(*value) {
                Ok(value) => value.into(),
                Err(_) => i64::try_from(*value).map_or_else(|_| (*value as f64).into(), Into::into),
            },
            Value::Real(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Words(words) => words.as_slice().into(),
            Value::ByCode(values) => values
                .iter()
                .map(|(code, value)| (code.to_string(), serde_json::Value::from(*value)))
                .collect(),
            Value::Pairs(values) => values
                .iter()
                .map(|(code, alone)| (code.clone(), serde_json::Value::from(*alone)))
                .collect(),
            Value::Named(values) => values
                .iter()
                .map(|(name, value)| (name.clone(), serde_json::Value::from(*value)))
                .collect(),
        }
    }
}

/// Formats the value for a card.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let truth = |flag: bool| if flag { "True" } else { "False" };
        let word = |word: &String| match is_whole(word) {
            true => word.clone(),
            false => quoted(word),
        };
        let entry = |name: String, value: String| format!("{name}: {value}");
        let dict = |entries: Vec<String>| format!("{{{}}}", entries.join(", "));
        let text = match self {
            Value::Flag(flag) => truth(*flag).to_owned(),
            Value::Whole(value) => value.to_string(),
            Value::Real(value) => repr(*value),
            Value::Text(text) => text.clone(),
            Value::Words(words) => {
                let words: Vec<String> = words.iter().map(word).collect();
                format!("[{}]", words.join(", "))
            }
            Value::ByCode(values) => {
                let values = values.iter();
                dict(
                    values
                        .map(|(code, value)| entry(code.to_string(), repr(*value)))
                        .collect(),
                )
            }
            Value::Pairs(values) => {
                let values = values.iter();
                dict(
                    values
                        .map(|(code, alone)| entry(word(code), truth(*alone).to_owned()))
                        .collect(),
                )
            }
            Value::Named(values) => {
                let values = values.iter();
                dict(
                    values
                        .map(|(name, value)| entry(quoted(name), repr(*value)))
                        .collect(),
                )
            }
        };
        f.write_str(&text)
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['\'', '"'])
}

fn flag(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "t" | "true" | ".true." | "1" | "yes" | "on" => Ok(true),
        "f" | "false" | ".false." | "0" | "no" | "off" => Ok(false),
        _ => Err("it must be True or False".to_owned()),
    }
}

fn number(text: &str) -> Result<f64, String> {
    real(text, "a number")
}

/// Parses a number in the notation of Fortran or Python; like MG5aMC it also accepts `10k` and `2M`. `what` is the
/// expected kind in the message.
fn real(text: &str, what: &str) -> Result<f64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let of_number = |c: u8| c.is_ascii_digit() || b"+-.eEdD".contains(&c);
    let found: Option<f64> = match digits.bytes().all(of_number) {
        true => digits.replace(['d', 'D'], "e").parse().ok(),
        false => None,
    };
    let value = found.ok_or_else(|| format!("it must be {what}"))? * factor;
    match value.is_finite() {
        true => Ok(value),
        false => Err("it must be a finite number".to_owned()),
    }
}

fn whole(text: &str) -> Result<i128, String> {
    let value = real(text, "a whole number")?;
    if value.fract() != 0.0 || value.abs() >= MAX_WHOLE {
        return Err("it must be a whole number below 1e+20".to_owned());
    }
    Ok(match is_whole(text) {
        true => text.parse().unwrap_or(value as i128),
        false => value as i128,
    })
}

/// Whether a word is a whole number without exponent.
fn is_whole(word: &str) -> bool {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    (1..=DIGITS).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Parses a set of parton densities.
fn set(text: &str) -> Result<String, String> {
    if !text.starts_with(char::is_alphabetic) {
        return Ok(whole(text)?.to_string());
    }
    let of_name = |c: char| c.is_ascii_alphanumeric() || "_+.-".contains(c);
    // Texts that other programs read as numbers are no names of sets.
    let number = ["inf", "infinity", "nan"].contains(&text.to_lowercase().as_str());
    match text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(of_name)
        && !number
    {
        true => Ok(text.to_owned()),
        false => Err("it must be the number of a set of parton densities, or its name".to_owned()),
    }
}

fn word(text: &str) -> String {
    let text = unquoted(text);
    match text.parse::<i128>() {
        Ok(number) if is_whole(text) => number.to_string(),
        _ => text.to_owned(),
    }
}

/// Returns all arguments `--name=value`, ignoring the text between them.
fn arguments(mut text: &str) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(at) = text.find("--") {
        text = &text[at..];
        let of_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = text[2..].find(|c| !of_name(c)).unwrap_or(text.len() - 2);
        if name == 0 || !text[2 + name..].starts_with('=') {
            text = &text[1..];
            continue;
        }
        let ends = |c: char| c.is_whitespace() || "'\"]".contains(c);
        let argument = text.split(ends).next().unwrap_or(text);
        found.push(argument.trim_end_matches(',').to_owned());
        text = &text[argument.len()..];
    }
    found
}

/// Parses a PDG code; `None` for `__type__`, where MG5aMC keeps the type of the values.
fn code(name: &str, example: &str) -> Result<Option<i32>, String> {
    if name == "__type__" {
        return Ok(None);
    }
    let code = name.parse().ok().filter(|code| *code > 0 && is_whole(name));
    code.map(Some).ok_or_else(|| {
        let name = quoted(name);
        format!(
            "{name} is no PDG code; write that of the particle, which stands for its antiparticle as well, such as {example}"
        )
    })
}

/// Parses a Python dictionary, `{6: 100, 25: 50}`, with or without braces.
fn dict<K: Ord + Display, V: PartialEq>(
    text: &str,
    example: &str,
    key: impl Fn(&str, &str) -> Result<Option<K>, String>,
    value: impl Fn(&str) -> Result<V, String>,
) -> Result<SortedMap<K, V>, String> {
    let text = text.strip_prefix('{').unwrap_or(text);
    let text = text.strip_suffix('}').unwrap_or(text);
    let mut found = SortedMap::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let Some((name, of)) = part.split_once(':') else {
            return Err(format!("it must be a dict, such as {example}"));
        };
        let name = unquoted(name.trim());
        let Some(key) = key(name, example)? else {
            continue;
        };
        let of = of.trim();
        let one = value(of).map_err(|error| format!("{} is wrong, {error}", quoted(of)))?;
        if found.get(&key).is_some_and(|other| *other != one) {
            return Err(format!("it has two values of {key}; leave one"));
        }
        found.entry(key).or_insert(one);
    }
    Ok(found)
}
