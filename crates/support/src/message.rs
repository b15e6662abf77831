//! What the library says to those who run the program: lines on stderr.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Writes a line. Not `eprintln!`, which panics where stderr is closed; nothing is lost there.
pub fn say(line: impl Display) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr(), "mebridge: {}", visible(&line));
}

/// Writes a line unless the program has written it: what holds for each process of a label is said once.
pub fn say_once(line: impl Display) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = line.to_string();
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() < MOST_SAID && said.insert(line.clone()) {
        drop(said);
        say(line);
    }
}

/// Lines that are kept to be compared with.
const MOST_SAID: usize = 10_000;

/// A text as a terminal may have it. Names and contents of files are anybody's: control characters in them, which would
/// move the cursor or change its title, are written out (`\u{1b}`). Lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match obeyed(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_sequences() {
        assert_eq!(visible("two\tlines\nof \u{e4}"), "two\tlines\nof \u{e4}");
        let title = "\u{1b}]0;x\u{7}.lhe\r\u{9b}2J\u{7f}\u{8}";
        let shown = "\\u{1b}]0;x\\u{7}.lhe\\r\\u{9b}2J\\u{7f}\\u{8}";
        assert_eq!(visible(title), shown);
    }
}
