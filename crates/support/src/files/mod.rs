//! Reading and writing of users' files without harm to anything else.
//!
//! | module | contents |
//! |---|---|
//! | [`regular`] | reading of regular files only, up to a size |
//! | [`replace`] | atomic replacement of files |
//! | [`temporary`] | files and folders that are removed however the program ends |
//! | [`inputs`] | the set of files that were read, so that none of them is overwritten |

pub mod inputs;
pub mod regular;
pub mod replace;
pub mod temporary;

/// Returns the lines of a text, which may end in LF, CR LF or CR.
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
