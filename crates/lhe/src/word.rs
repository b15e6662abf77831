//! Words of an event file: numbers as written by Fortran, C and Python, and text for messages.

use mebridge_support::message::visible;

/// Parses a number, which may be infinite or NaN if the word says so; `None` on overflow.
pub fn real(word: &str) -> Option<f64> {
    let number = |word: &str| {
        let value = word.parse::<f64>().ok()?;
        (!value.is_infinite() || word.contains(['n', 'N'])).then_some(value)
    };
    number(word).or_else(|| number(&with_exponent(word)?))
}

/// Rewrites a Fortran number, whose exponent may have a D, or no letter if it has three digits (`1.0-100`), with an e.
fn with_exponent(word: &str) -> Option<String> {
    if !word.is_ascii() || word.contains(['e', 'E', 'n', 'N']) {
        return None;
    }
    if word.contains(['d', 'D']) {
        return Some(word.replace(['d', 'D'], "e"));
    }
    let sign = word.rfind(['+', '-'])?;
    let (digits, exponent) = word.split_at(sign);
    (digits.contains('.') && exponent.len() == 4).then(|| format!("{digits}e{exponent}"))
}

/// Parses a 32-bit integer, which may be written as a real number without a fraction.
pub fn integer(word: &str) -> Option<i32> {
    word.parse().ok().or_else(|| {
        let value = real(word)?;
        let whole = value as i32;
        (f64::from(whole) == value).then_some(whole)
    })
}

/// Shortens text for a message, and escapes what a terminal would act on.
pub fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 40;
    let mut some = visible(&text.chars().take(MAX_SHOWN).collect::<String>()).into_owned();
    if text.chars().nth(MAX_SHOWN).is_some() {
        some.push_str("...");
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_languages() {
        for (word, value) in [
            ("1", Some(1.0)),
            ("-1.5e+02", Some(-150.0)),
            ("+1.5D+02", Some(150.0)),
            ("1.5d0", Some(1.5)),
            (".5", Some(0.5)),
            ("1.0-100", Some(1e-100)),
            ("-.25+100", Some(-0.25e100)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("1e-999", Some(0.0)),
            ("1e999", None),
            ("1.0+999", None),
            ("1-100", None),
            ("1.0-1", None),
            ("1_1", None),
            ("****", None),
            ("", None),
            ("0x1", None),
            ("1,5", None),
        ] {
            assert_eq!(real(word), value, "{word}");
        }
        assert!(real("NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn integers_have_no_fraction() {
        for (word, value) in [
            ("-11", Some(-11)),
            ("+2", Some(2)),
            ("501.", Some(501)),
            ("2.5", None),
            ("1_1", None),
            ("nan", None),
            ("inf", None),
            ("2147483648", None),
            ("3e9", None),
        ] {
            assert_eq!(integer(word), value, "{word}");
        }
    }

    #[test]
    fn words_in_messages_are_harmless() {
        assert_eq!(shown("1.0x"), "1.0x");
        assert_eq!(shown("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(shown(&"9".repeat(100)), format!("{}...", "9".repeat(40)));
    }
}
