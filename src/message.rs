//! What the library says to those who run the program: lines on stderr.

use std::fmt::Display;
use std::io::Write;

/// Writes a line. Not `eprintln!`, which panics where stderr is closed; nothing is lost there.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "mebridge: {line}");
}
