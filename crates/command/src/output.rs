//! Writes results and messages.

mod target;

pub use target::{OutputFile, usage, write};

use mebridge::message::visible;
use mebridge::{Error, Result};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Writes to stdout. A reader that closes the pipe (`| head`) is not an error.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    // A terminal interprets control characters, which may come from files; a pipe or file gets the bytes unchanged.
    let text = match stdout.is_terminal() {
        true => visible(text),
        false => Cow::Borrowed(text),
    };
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("stdout")(error)),
        _ => Ok(()),
    }
}

/// Writes a help text to stdout, or an error in the arguments to stderr, and returns the exit code. Failing to write a
/// help text is an error as for any other text.
pub fn print_message(message: &clap::Error) -> Result<ExitCode> {
    let written = message.print().and_then(|()| std::io::stdout().flush());
    match written {
        Err(error) if !message.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("stdout")(error))
        }
        _ => Ok(ExitCode::from(message.exit_code() as u8)),
    }
}

/// Writes a line to stderr; a failure to do so is ignored.
pub fn warn(text: &str) {
    mebridge::message::say(text);
}

/// Writes JSON to a file, or to stdout if the file is `-`.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = json(value)?;
    if path == Path::new("-") {
        print(&text)
    } else {
        write(path, text.as_bytes())
    }
}

/// Returns JSON in the format that is written.
pub fn json(value: &impl serde::Serialize) -> Result<String> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|e| Error::io("the JSON")(e.into()))?;
    text.push('\n');
    Ok(text)
}

/// Formats a table: the first column left-aligned, numbers right-aligned.
pub fn columns(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for row in rows {
        for (i, cell) in row.iter().enumerate() {
            let width = rows.iter().filter_map(|r| r.get(i)).map(|cell| cell.len());
            let width = width.max().unwrap_or(0);
            // Writing to a String cannot fail.
            let _ = match i {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}
