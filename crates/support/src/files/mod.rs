//! Files of users: how they are read and written without harm to anything else.
//!
//! | module | what it knows |
//! |---|---|
//! | [`regular`] | reading of regular files alone, up to a size |
//! | [`replace`] | files that are there whole or not at all |
//! | [`temporary`] | what goes again, however the program ends |
//! | [`inputs`] | which files were read, so that none of them is written over |

pub mod inputs;
pub mod regular;
pub mod replace;
pub mod temporary;

/// The lines of a text, whether LF, CR LF or CR alone ends them.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_end_in_any_way() {
        let of = |text: &'static str| super::lines(text).collect::<Vec<_>>();
        assert_eq!(of("a\nb\r\nc\rd"), ["a", "b", "c", "d"]);
        for text in ["a\n\nb\n", "a\r\n\r\nb\r\n", "a\r\rb\r"] {
            assert_eq!(of(text), ["a", "", "b"]);
        }
        assert!(of("").is_empty());
    }
}
