//! Numbers in messages.

/// With at most six significant digits and no trailing zeros, as C's `%g`: `173`, `0.118`, `1e-14`.
pub fn general(value: f64) -> String {
    significant(value, 6)
}

/// The same with so many digits at most.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let last = digits.max(1) - 1;
    let text = format!("{value:.last$e}");
    // A finite number is written with an exponent.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let last = last as i32;
    if (-4..=last).contains(&exponent) {
        let decimals = (last - exponent) as usize;
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// Without zeros after the last decimal that counts.
fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_c_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (20.0, "20"),
            (173.123456, "173.123"),
            (999999.5, "1e+06"),
            (-2.5, "-2.5"),
            (1234567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (9.999999e-15, "1e-14"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(general(value), text);
        }
        assert_eq!(significant(0.80004, 3), "0.8");
        assert_eq!(significant(9.1188e-13, 1), "9e-13");
        assert_eq!(significant(91.188, 1), "9e+01");
    }
}
