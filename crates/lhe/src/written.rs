//! Where an event's text has further weights.

use std::ops::Range;

/// One or more weights in an event's text. Ranges refer to that text.
pub enum WeightsInText {
    /// `<wgt>`, and its name if it has one.
    One {
        id: Option<Range<usize>>,
        value: Range<usize>,
    },
    /// The numbers of `<weights>`.
    List(Range<usize>),
}

/// Decodes a name: without surrounding space, and with XML entities replaced.
pub fn name(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.trim_ascii());
    let mut found = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        found.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').unwrap_or(0);
        match character(&rest[1.min(end)..end]) {
            Some(character) => {
                found.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                found.push('&');
                rest = &rest[1..];
            }
        }
    }
    found + rest
}

/// Returns the character of an XML entity.
fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_entities_stand_for() {
        for (text, expected) in [
            (" muR=2 ", "muR=2"),
            ("&lt;a&gt;&amp;&quot;&apos;&#65;&#x42;", "<a>&\"'AB"),
            ("a&b;c&", "a&b;c&"),
            ("&amp;lt;", "&lt;"),
            ("&#1114112;", "&#1114112;"),
        ] {
            assert_eq!(name(text.as_bytes()), expected);
        }
    }
}
