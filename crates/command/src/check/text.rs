//! Lines of a report as text.

use std::fmt::Write;

/// Columns of a line.
pub const WIDTH: usize = 79;

/// Writes a line of the report.
pub fn row(f: &mut String, name: &str, value: impl std::fmt::Display) -> std::fmt::Result {
    writeln!(f, "{name:<27} = {value}")
}
