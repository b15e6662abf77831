//! Numbers as C's `%.10e` writes them: correctly rounded, ties to even.
//!
//! Rust's own formatting is as exact but ten times slower. An event has some thirty numbers, and nearly all of them
//! have digits that fit into a 128-bit integer: a double is m 2^q, so its first n digits are m 10^k 2^q for some k,
//! rounded.

use std::io::Write;

/// Largest power of ten by which a 53-bit significand can be multiplied in 128 bits.
const MAX_POWER_OF_TEN: i32 = 22;
const TENS: [u128; MAX_POWER_OF_TEN as usize + 1] = {
    let mut tens = [1; MAX_POWER_OF_TEN as usize + 1];
    let mut i = 1;
    while i < tens.len() {
        tens[i] = tens[i - 1] * 10;
        i += 1;
    }
    tens
};
/// Maximum number of digits after the point: with the one before it they are below 2^64.
const MAX_DIGITS: usize = 17;
const BITS: u64 = f64::MANTISSA_DIGITS as u64 - 1;

/// Appends a number with `digits` digits, at most 17, after the point, and a sign if it is negative or `plus` is set.
/// Infinities and NaN are written as `inf` and `nan`, as in C.
pub fn push_scientific(text: &mut Vec<u8>, value: f64, digits: usize, plus: bool) {
    if value.is_sign_negative() {
        text.push(b'-');
    } else if plus {
        text.push(b'+');
    }
    let value = value.abs();
    if value == 0.0 {
        text.extend_from_slice(b"0.");
        text.resize(text.len() + digits, b'0');
        text.extend_from_slice(b"e+00");
    } else if value.is_nan() {
        text.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        text.extend_from_slice(b"inf");
    } else if let Some((significand, exponent)) = short(value, digits) {
        push_digits(text, significand, digits);
        push_exponent(text, exponent);
    } else {
        long(text, value, digits);
    }
}

/// Returns the first digits of a positive number as an integer, and its power of ten; `None` if 128 bits do not
/// suffice.
fn short(value: f64, digits: usize) -> Option<(u64, i32)> {
    debug_assert!(digits <= MAX_DIGITS);
    let bits = value.to_bits();
    let power = (bits >> BITS) as i32;
    if power == 0 {
        return None;
    }
    let m = u128::from(bits & ((1 << BITS) - 1) | 1 << BITS);
    let q = power - (1023 + BITS as i32);
    // floor(log10(2) (q + 52)) is its power of ten or one less.
    let guess = ((q + BITS as i32) * 78_913) >> 18;
    for exponent in [guess, guess + 1] {
        let k = digits as i32 - exponent;
        if !(0..=MAX_POWER_OF_TEN).contains(&k) || !(-127..=0).contains(&q) {
            return None;
        }
        let (product, shift) = (m * TENS[k as usize], -q as u32);
        let significand = rounded(product, shift);
        if significand < TENS[digits + 1] {
            return Some((significand as u64, exponent));
        }
    }
    None
}

/// Divides a number by 2^shift and rounds to the nearest integer, ties to even.
fn rounded(number: u128, shift: u32) -> u128 {
    if shift == 0 {
        return number;
    }
    let (whole, rest, half) = (
        number >> shift,
        number & ((1 << shift) - 1),
        1 << (shift - 1),
    );
    whole + u128::from(rest > half || rest == half && whole & 1 == 1)
}

/// Appends a number below ten, given as its digits without the point.
fn push_digits(text: &mut Vec<u8>, significand: u64, digits: usize) {
    let mut buffer = [b'0'; MAX_DIGITS + 2];
    let mut rest = significand;
    for place in buffer[..digits + 1].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.push(buffer[0]);
    text.push(b'.');
    text.extend_from_slice(&buffer[1..=digits]);
}

/// Appends an exponent: a sign and at least two digits.
fn push_exponent(text: &mut Vec<u8>, exponent: i32) {
    text.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    let exponent = exponent.unsigned_abs();
    if exponent >= 100 {
        text.push(b'0' + (exponent / 100) as u8);
    }
    text.push(b'0' + (exponent / 10 % 10) as u8);
    text.push(b'0' + (exponent % 10) as u8);
}

/// Appends a number with Rust's formatting.
fn long(text: &mut Vec<u8>, value: f64, digits: usize) {
    let begin = text.len();
    write!(text, "{value:.digits$e}").expect("memory takes all");
    let at = begin
        + text[begin..]
            .iter()
            .position(|&c| c == b'e')
            .expect("it has an exponent");
    let exponent = std::str::from_utf8(&text[at + 1..]).expect("digits");
    let exponent = exponent.parse().expect("an integer");
    text.truncate(at);
    push_exponent(text, exponent);
}

/// Appends an integer, padded with spaces on the left to this width.
pub fn push_integer(text: &mut Vec<u8>, value: i32, width: usize) {
    let mut buffer = [b' '; 16];
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    text.extend_from_slice(&buffer[at.min(buffer.len() - width)..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: f64, digits: usize, plus: bool) -> String {
        let mut text = Vec::new();
        push_scientific(&mut text, value, digits, plus);
        String::from_utf8(text).expect("digits")
    }

    /// Formats a number with the C library.
    fn by_c(value: f64, digits: usize, plus: bool) -> String {
        let mut text = [0_u8; 64];
        let format = if plus { c"%+.*e" } else { c"%.*e" };
        // SAFETY: the arguments match the format, and the length is that of the buffer, which is longer than any
        // number.
        let length = unsafe {
            snprintf(
                text.as_mut_ptr().cast(),
                text.len(),
                format.as_ptr(),
                digits as i32,
                value,
            )
        };
        String::from_utf8(text[..length as usize].to_vec()).expect("digits")
    }

    unsafe extern "C" {
        fn snprintf(
            text: *mut std::ffi::c_char,
            size: usize,
            format: *const std::ffi::c_char,
            ...
        ) -> i32;
    }

    #[test]
    fn numbers_are_those_of_c() {
        let mut values = vec![
            0.0,
            1.0,
            0.5,
            9.5,
            0.1,
            2.5e-10,
            1e22,
            1e23,
            1e-5,
            9.999_999_999_95,
            9.999_999_999_949,
        ];
        values.extend([
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            1e-300,
            123_456_789.123_456_78,
            1e16,
            1e17,
            172.5,
        ]);
        // Ties: halves, and numbers halfway between two numbers with ten digits after the point.
        values.extend((0..60).map(|i| f64::from(i) + 0.5));
        values.extend((0..200).map(|i| 1.0 + f64::from(2 * i + 1) * 2.0_f64.powi(-11)));
        values.extend((-330..309).map(|i| format!("1e{i}").parse::<f64>().expect("a number")));
        values.extend((-330..309).map(|i| {
            format!("9.9999999999999999e{i}")
                .parse::<f64>()
                .expect("a number")
        }));
        for value in values {
            for digits in [1, 4, 10, 16, 17] {
                assert_eq!(written(value, digits, true), by_c(value, digits, true));
                assert_eq!(written(-value, digits, false), by_c(-value, digits, false));
            }
        }
        assert_eq!(written(f64::NAN, 10, false), "nan");
        assert_eq!(written(f64::NEG_INFINITY, 10, true), "-inf");
    }

    #[test]
    fn integers_have_a_width() {
        let written = |value, width| {
            let mut text = Vec::new();
            push_integer(&mut text, value, width);
            String::from_utf8(text).expect("digits")
        };
        for value in [
            0,
            7,
            -7,
            21,
            -11,
            501,
            9999,
            -9999,
            10_000,
            i32::MAX,
            i32::MIN,
        ] {
            assert_eq!(written(value, 4), format!("{value:4}"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn any_number_is_that_of_c(bits in any::<u64>(), digits in 1_usize..=17, plus in any::<bool>()) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(written(value, digits, plus), by_c(value, digits, plus));
        }

        #[test]
        fn any_momentum_is_that_of_c(value in -7000.0..7000.0, small in 0_i32..14, digits in 1_usize..=17) {
            let value: f64 = value * 10.0_f64.powi(-small);
            prop_assert_eq!(written(value, digits, true), by_c(value, digits, true));
        }
    }
}
