//! Messages to the user: lines on stderr.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Writes a line on stderr, in one piece, so that a program that ends meanwhile leaves no part of it. Unlike `eprintln!`, it
/// does not panic if stderr is closed.
pub fn say(line: impl Display) {
    let line = line.to_string();
    let line = format!("mebridge: {}\n", visible(&line));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Writes a line unless it was written before, so that a message about several processes appears once. After
/// [`MAX_REMEMBERED_LINES`] different lines a last one says that no more follow.
pub fn say_once(line: impl Display) {
    static ANNOUNCED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut written = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    let line = unwritten(&mut written, line.to_string(), MAX_REMEMBERED_LINES);
    drop(written);
    line.into_iter().for_each(say);
}

/// Maximum number of lines remembered.
const MAX_REMEMBERED_LINES: usize = 10_000;

/// Returns what is to be written for a line, given those written before, of which at most `most` are remembered.
fn unwritten(written: &mut BTreeSet<String>, line: String, most: usize) -> Option<String> {
    if written.len() > most || written.contains(&line) {
        return None;
    }
    let line = match written.len() == most {
        true => format!("{most} different messages were written; no more of this kind follow"),
        false => line,
    };
    written.insert(line.clone()).then_some(line)
}

/// Makes a text safe for a terminal. Names and contents of files are untrusted: control characters in them, which could
/// move the cursor or change the window title, are escaped (`\u{1b}`). Newlines and tabs are kept.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_control(c) {
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
    fn messages_appear_once_and_the_last_ends_them() {
        let mut written = BTreeSet::new();
        let lines = ["a", "b", "a", "c", "b", "d"];
        let result = lines.map(|line| unwritten(&mut written, line.to_owned(), 2));
        let last = "2 different messages were written; no more of this kind follow";
        let wanted = [Some("a"), Some("b"), None, Some(last), None, None];
        assert_eq!(result, wanted.map(|line| line.map(str::to_owned)));
    }

    #[test]
    fn a_terminal_gets_no_control_sequences() {
        assert_eq!(visible("two\tlines\nof \u{e4}"), "two\tlines\nof \u{e4}");
        let title = "\u{1b}]0;x\u{7}.lhe\r\u{9b}2J\u{7f}\u{8}";
        let shown = "\\u{1b}]0;x\\u{7}.lhe\\r\\u{9b}2J\\u{7f}\\u{8}";
        assert_eq!(visible(title), shown);
    }
}
