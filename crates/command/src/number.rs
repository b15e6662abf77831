//! Numbers as text.

/// Parses a non-negative integer, with up to 20 digits or as a real number such as `1e6`.
///
/// # Errors
/// The text is not such a number.
pub fn whole(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let real = text.parse::<f64>().ok();
    let real = real.filter(|real| real.fract() == 0.0 && (0.0..1e15).contains(real));
    real.map(|real| real as u64)
        .ok_or_else(|| "it must be a whole number".to_owned())
}

/// Formats like C's `%e`, `2.028807e+00`, as in the output of MG5aMC's check executable.
pub fn scientific(x: f64) -> String {
    as_c(format!("{x:.6e}"))
}

/// Formats with 17 significant digits, which reproduce the number exactly.
pub fn exact(x: f64) -> String {
    as_c(format!("{x:.16e}"))
}

/// Formats the exponent with sign and at least two digits; NaN and infinities in lower case.
fn as_c(text: String) -> String {
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        // NaN and infinities.
        None => text.to_lowercase(),
    }
}

/// Formats with at most nine significant digits and no trailing zeros: `173`, `0.118`, `1.16639e-05`.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return x.to_string().to_lowercase();
    }
    let text = format!("{x:.8e}");
    // A finite number is written with an exponent.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..9).contains(&exponent) {
        let decimals = (8 - exponent).max(0) as usize;
        trim(&format!("{x:.decimals$}"))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_c_writes_them() {
        assert_eq!(scientific(2.0288071), "2.028807e+00");
        assert_eq!(scientific(-9.3165e-5), "-9.316500e-05");
        assert_eq!(scientific(1.5e120), "1.500000e+120");
        assert_eq!(scientific(0.0), "0.000000e+00");
        assert_eq!(scientific(f64::NAN), "nan");
        assert_eq!(scientific(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn exact_numbers_have_all_digits() {
        assert_eq!(exact(0.1), "1.0000000000000001e-01");
        assert_eq!(exact(-1.0 / 3.0), "-3.3333333333333331e-01");
        assert_eq!(exact(f64::NAN), "nan");
    }

    #[test]
    fn short_numbers_have_no_ballast() {
        for (x, text) in [
            (173.0, "173"),
            (0.118, "0.118"),
            (1.16639e-5, "1.16639e-05"),
            (-80.419_002_445_7, "-80.4190024"),
            (1e9, "1e+09"),
            (999_999_999.9, "1e+09"),
            (123_456_789.0, "123456789"),
            (0.0, "0"),
            (100.0, "100"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
