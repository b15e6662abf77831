//! Lists on the command line: `32,1024:16384:4`, `none,avx2`, `d,f`.

use super::record::SequenceFunction;
use mebridge::runtime::Precision;
use mebridge::simd::Level;
use std::str::FromStr;

/// Largest number of items in a list: a range such as `1:2000000000:1.000001` is a mistake.
const MAX_ITEMS: usize = 1000;

/// Numbers, and geometric ranges of them; ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberList(pub Vec<u64>);

impl FromStr for NumberList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = Vec::new();
        for item in text.split(',') {
            let parts: Vec<&str> = item.split(':').map(str::trim).collect();
            let number = |text: &str| match text.parse::<u64>() {
                Ok(n @ 1..) => Ok(n),
                _ => Err(format!("'{text}' is not a whole number from 1")),
            };
            match *parts {
                [one] => numbers.push(number(one)?),
                [first, last] => range(number(first)?, number(last)?, 2.0, &mut numbers)?,
                [first, last, factor] => {
                    let Ok(factor) = factor.parse::<f64>() else {
                        return Err(format!("the factor '{factor}' is not a number"));
                    };
                    range(number(first)?, number(last)?, factor, &mut numbers)?;
                }
                _ => return Err(format!("'{item}' is neither N nor FIRST:LAST:FACTOR")),
            }
            if numbers.len() > MAX_ITEMS {
                return Err(format!("more than {MAX_ITEMS} numbers"));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(NumberList(numbers))
    }
}

fn range(first: u64, last: u64, factor: f64, numbers: &mut Vec<u64>) -> Result<(), String> {
    if first > last {
        return Err(format!("the range begins at {first}, after its end {last}"));
    }
    if !(factor.is_finite() && factor > 1.0) {
        return Err(format!("the factor {factor} is not above 1"));
    }
    let mut x = first as f64;
    while x < last as f64 + 0.5 {
        if numbers.len() > MAX_ITEMS {
            break;
        }
        numbers.push(x.round() as u64);
        x *= factor;
    }
    Ok(())
}

/// Words of a small set, each once, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<T>(pub Vec<T>);

/// A set of words.
pub trait Spelling: Sized + Copy + PartialEq {
    /// Parses a word; the error lists the valid words.
    fn parse(word: &str) -> Result<Self, &'static str>;
}

impl Spelling for Precision {
    fn parse(word: &str) -> Result<Self, &'static str> {
        match word {
            "d" => Ok(Precision::Double),
            "m" => Ok(Precision::Mixed),
            "f" => Ok(Precision::Float),
            _ => Err("d, m and f"),
        }
    }
}

impl Spelling for SequenceFunction {
    fn parse(word: &str) -> Result<Self, &'static str> {
        match word {
            "sequence" => Ok(SequenceFunction::Sequence),
            "nomultichannel" => Ok(SequenceFunction::NoMultichannel),
            _ => Err("sequence and nomultichannel"),
        }
    }
}

impl<T: Spelling> FromStr for Words<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        for word in text.split(',').map(str::trim) {
            let value = T::parse(word)
                .map_err(|known| format!("'{word}' is none of the possible items: {known}"))?;
            if !words.contains(&value) {
                words.push(value);
            }
        }
        Ok(Words(words))
    }
}

/// SIMD levels of this CPU, each once, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelList(pub Vec<Level>);

impl FromStr for LevelList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut levels = Vec::new();
        for word in text.split(',').map(str::trim) {
            if word == "all" {
                levels.extend(Level::supported());
            } else {
                levels.push(Level::choose(word).map_err(|error| error.to_string())?);
            }
        }
        levels.sort_unstable();
        levels.dedup();
        Ok(LevelList(levels))
    }
}

/// Parses a positive number.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("not a positive number".into()),
    }
}

/// Parses a time in seconds, from a microsecond to a year.
pub fn seconds(text: &str) -> Result<f64, String> {
    match positive(text) {
        Ok(x @ 1e-6..=3.2e7) => Ok(x),
        _ => Err("not a time in seconds from 1e-6 to 3.2e7".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        for (text, numbers) in [
            ("8192", vec![8192]),
            ("64, 16", vec![16, 64]),
            ("16:128", vec![16, 32, 64, 128]),
            ("16:100", vec![16, 32, 64]),
            ("1:1000:10,1000", vec![1, 10, 100, 1000]),
            ("10:30:1.5", vec![10, 15, 23]),
        ] {
            assert_eq!(text.parse(), Ok(NumberList(numbers)), "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "1.5",
            "8:4",
            "1:8:1",
            "1:8:x",
            "1:2:3:4",
            "1:8:nan",
            "1,,2",
            "1:2000000000:1.000001",
        ] {
            assert!(text.parse::<NumberList>().is_err(), "{text}");
        }
    }

    #[test]
    fn words() {
        let both = vec![Precision::Float, Precision::Double];
        assert_eq!("f,d,f".parse(), Ok(Words(both)));
        let message = "d,x".parse::<Words<Precision>>().unwrap_err();
        assert!(message.contains("'x'") && message.contains("d, m and f"));
        assert_eq!("none".parse(), Ok(LevelList(vec![Level::None])));
        assert_eq!("all,none".parse(), Ok(LevelList(Level::supported())));
        assert_eq!("auto".parse(), Ok(LevelList(vec![Level::best()])));
        assert!("avx9".parse::<LevelList>().unwrap_err().contains("avx9"));
    }

    #[test]
    fn positive_numbers() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for text in ["0", "-1", "inf", "x", "nan"] {
            assert!(positive(text).is_err(), "{text}");
        }
        assert!(seconds("1e300").is_err());
    }
}
