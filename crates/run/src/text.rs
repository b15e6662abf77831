//! Formats numbers and words for messages, cards and event files; reads the text of cards.

use mebridge::{Error, Result};
use mebridge_support::files::regular;
use std::io;
use std::path::Path;

/// Largest size of a card in bytes; cards are usually a few kilobytes.
const MAX_BYTES: u64 = 1 << 26;

/// A number in C's format `%g`: at most six significant digits, without trailing zeros.
pub fn general(value: f64) -> String {
    significant(value, 6)
}

/// A number in C's format `%.{digits}g`.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return scientific(value, 0);
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = parts(&text);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent) as usize;
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    with_exponent(without_zeros(mantissa), exponent)
}

/// A number in C's format `%.{digits}e`: with this many digits after the point, and at least two in the exponent.
pub fn scientific(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = parts(&text);
    with_exponent(mantissa, exponent)
}

/// The shortest text that reads back as this number, and the closest of those, as Python's `repr`: `1.0`, `1e-05`.
pub fn repr(value: f64) -> String {
    if !value.is_finite() {
        return scientific(value, 0);
    }
    let shortest = format!("{value:e}");
    let (mantissa, _) = parts(&shortest);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count() - 1;
    // Of two equally close texts, Rust takes the one with the larger last digit, Python the even one.
    let nearest = format!("{value:.digits$e}");
    let text = match nearest.parse() == Ok(value) {
        true => nearest,
        false => shortest,
    };
    let (mantissa, exponent) = parts(&text);
    match (-4..16).contains(&exponent) {
        true => {
            let decimals = (digits as i32 - exponent).max(1) as usize;
            format!("{value:.decimals$}")
        }
        false => with_exponent(mantissa, exponent),
    }
}

/// Mantissa and exponent of a number formatted by Rust.
fn parts(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').expect("an exponent");
    (mantissa, exponent.parse().expect("an exponent"))
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A text in quotes, as Python's `repr` writes it: control characters are escaped.
pub fn quoted(text: &str) -> String {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut found = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' | '\n' | '\r' | '\t' => found.extend(c.escape_default()),
            c if c == quote => found.extend(['\\', c]),
            c if c.is_control() => found.extend(c.escape_default()),
            c => found.push(c),
        }
    }
    found.push(quote);
    found
}

/// The operating system's message without its error number.
pub(crate) fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Reads the text of a card from a regular file and converts line ends to `\n`.
///
/// # Errors
/// It is not a regular file, is too large for a card, or cannot be read; `what` is its name in the message.
pub fn read(path: &Path, what: &str) -> Result<String> {
    let bytes = regular::read(path, MAX_BYTES).map_err(|error| {
        let why = without_number(&error);
        let cure = match path.is_dir() || path.is_file() || !path.exists() {
            true => "",
            false => "copy what it gives into a file",
        };
        Error::run(
            format!("{what} {} cannot be read: {why}", path.display()),
            cure,
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    // Many Windows editors write a byte-order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are from Python's `%g`, `%.4g`, `%.6e` and `repr`.
    #[test]
    fn numbers_are_as_c_and_python_write_them() {
        #[rustfmt::skip]
        let cases = [
            (0.0, "0", "0", "0.000000e+00", "0.0"),
            (-0.0, "-0", "-0", "-0.000000e+00", "-0.0"),
            (1.0, "1", "1", "1.000000e+00", "1.0"),
            (13000.0, "13000", "1.3e+04", "1.300000e+04", "13000.0"),
            (91.188, "91.188", "91.19", "9.118800e+01", "91.188"),
            (999999.5, "1e+06", "1e+06", "9.999995e+05", "999999.5"),
            (1234565.0, "1.23456e+06", "1.235e+06", "1.234565e+06", "1234565.0"),
            (0.0001, "0.0001", "0.0001", "1.000000e-04", "0.0001"),
            (1e-5, "1e-05", "1e-05", "1.000000e-05", "1e-05"),
            (1e16, "1e+16", "1e+16", "1.000000e+16", "1e+16"),
            (-23_435_667_494_790.313, "-2.34357e+13", "-2.344e+13", "-2.343567e+13", "-23435667494790.312"),
            (123456789012345.0, "1.23457e+14", "1.235e+14", "1.234568e+14", "123456789012345.0"),
            (-2.5e-310, "-2.5e-310", "-2.5e-310", "-2.500000e-310", "-2.5e-310"),
            (0.1 + 0.2, "0.3", "0.3", "3.000000e-01", "0.30000000000000004"),
            (f64::INFINITY, "inf", "inf", "inf", "inf"),
            (f64::NEG_INFINITY, "-inf", "-inf", "-inf", "-inf"),
            (f64::NAN, "nan", "nan", "nan", "nan"),
        ];
        for (value, g, four, e, shortest) in cases {
            assert_eq!(general(value), g);
            assert_eq!(significant(value, 4), four);
            assert_eq!(scientific(value, 6), e);
            assert_eq!(repr(value), shortest);
        }
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("30 ptj"), "'30 ptj'");
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted("'\""), "'\\'\"'");
        assert_eq!(quoted("a\\b\t\u{1b}"), "'a\\\\b\\t\\u{1b}'");
    }

    #[test]
    fn cards_are_read_whoever_wrote_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("card.dat");
        std::fs::write(&file, b"\xef\xbb\xbfa\r\nb\rc\n\xff").unwrap();
        assert_eq!(read(&file, "the card").unwrap(), "a\nb\nc\n\u{fffd}");
        let refused = |path: &Path| read(path, "the card").unwrap_err().to_string();
        let place = folder.path().display();
        assert_eq!(
            refused(folder.path()),
            format!("the card {place} cannot be read: this is a folder")
        );
        assert_eq!(
            refused(&folder.path().join("none")),
            format!("the card {place}/none cannot be read: No such file or directory")
        );
        assert_eq!(
            refused("/dev/null".as_ref()),
            "the card /dev/null cannot be read: this is no regular file; copy what it gives into a file"
        );
    }
}
