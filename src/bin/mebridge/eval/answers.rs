//! Writing matrix elements: text, a NumPy array or JSON.

use crate::number::exact;
use crate::output;
use mebridge::{Error, Result};
use npyz::{NpyWriter, WriteOptions, WriterBuilder};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What there is to say besides the numbers.
pub struct Head {
    /// Name of the process.
    pub process: String,
    /// Format of the events.
    pub format: &'static str,
    /// alpha_s of all events; nothing where each has its own.
    pub alpha_s: Option<f64>,
}

/// Where matrix elements go.
pub struct Writer {
    target: Target,
    path: PathBuf,
    /// Whether it is a file, which goes again if it does not become whole.
    file: bool,
    written: u64,
}

enum Target {
    Text(Box<dyn Write>),
    Json(Box<dyn Write>),
    Npy(NpyWriter<f64, BufWriter<File>>),
}

impl Writer {
    /// To stdout.
    pub fn stdout(json: bool, head: &Head) -> Result<Writer> {
        let out = Box::new(BufWriter::new(io::stdout().lock()));
        Writer::new(out, None, json, head)
    }

    /// To a file, a NumPy array if its name ends so.
    pub fn file(path: &Path, json: bool, head: &Head) -> Result<Writer> {
        let array = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        if array && json {
            output::usage("--json writes no .npy file; give another name to --output");
        }
        let file = BufWriter::new(File::create(path).map_err(Error::io(path))?);
        if !array {
            return Writer::new(Box::new(file), Some(path), json, head);
        }
        let options = WriteOptions::new().default_dtype().writer(file);
        Ok(Writer {
            target: Target::Npy(options.begin_1d().map_err(Error::io(path))?),
            path: path.into(),
            file: true,
            written: 0,
        })
    }

    fn new(out: Box<dyn Write>, path: Option<&Path>, json: bool, head: &Head) -> Result<Writer> {
        let mut writer = Writer {
            target: match json {
                true => Target::Json(out),
                false => Target::Text(out),
            },
            path: path.unwrap_or(Path::new("stdout")).into(),
            file: path.is_some(),
            written: 0,
        };
        if let Target::Json(out) = &mut writer.target {
            let begin = head.begin(out);
            went(begin, &writer.path)?;
        }
        Ok(writer)
    }

    /// Writes the values of these events, nan for those that were not evaluated; false where nobody
    /// reads any more.
    pub fn write(&mut self, rows: &[bool], values: &[f64]) -> Result<bool> {
        let mut values = values.iter().copied();
        let mut all = rows.iter().map(|&evaluated| match evaluated {
            true => values.next().unwrap_or(f64::NAN),
            false => f64::NAN,
        });
        let first = self.written == 0;
        self.written += rows.len() as u64;
        let done = match &mut self.target {
            Target::Text(out) => all
                .try_for_each(|x| writeln!(out, "{}", exact(x)))
                .and_then(|()| out.flush()),
            Target::Json(out) => all
                .enumerate()
                .try_for_each(|(i, x)| {
                    let comma = if first && i == 0 { "" } else { "," };
                    write!(out, "{comma}\n    {}", json!(x))
                })
                .and_then(|()| out.flush()),
            Target::Npy(out) => all.try_for_each(|x| out.push(&x)),
        };
        went(done, &self.path)
    }

    /// Writes what comes last.
    pub fn finish(self) -> Result<()> {
        let done = match self.target {
            Target::Text(mut out) => out.flush(),
            Target::Json(mut out) => write!(out, "\n  ],\n  \"events\": {}\n}}\n", self.written)
                .and_then(|()| out.flush()),
            // The number of events goes into its header.
            Target::Npy(out) => out.finish(),
        };
        went(done, &self.path).map(|_| ())
    }

    /// Leaves no file behind that holds only a part.
    pub fn discard(self) {
        drop(self.target);
        if self.file && self.path.is_file() {
            // If it cannot be removed, the error that is on its way says more than this one would.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether somebody still reads; a reader who has seen enough is no error.
fn went(done: io::Result<()>, path: &Path) -> Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::io(path)(error)),
    }
}

impl Head {
    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{{\n  \"mebridge\": {},",
            json!(env!("CARGO_PKG_VERSION"))
        )?;
        writeln!(out, "  \"process\": {},", json!(self.process))?;
        writeln!(out, "  \"format\": {},", json!(self.format))?;
        writeln!(out, "  \"alpha_s\": {},", json!(self.alpha_s))?;
        write!(out, "  \"matrix_elements\": [")
    }
}
