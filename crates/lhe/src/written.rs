//! Where an event's text has further weights.

use std::ops::Range;

/// A weight, or several, as an event's text has it. Places are those in that text.
pub enum Written {
    /// `<wgt>`, and its name where it has one.
    One {
        id: Option<Range<usize>>,
        value: Range<usize>,
    },
    /// The numbers of `<weights>`.
    List(Range<usize>),
}

/// A name as it is meant: without space around it, and with the characters that entities of XML stand for.
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

/// The character that an entity stands for.
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
