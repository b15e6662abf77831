//! Writes matrix elements: text, a NumPy array or JSON.

use crate::number::exact;
use crate::output::{self, OutputFile};
use mebridge::{Error, Result};
use npyz::{NpyWriter, WriteOptions, WriterBuilder};
use serde_json::json;
use std::cell::RefCell;
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Information that is written besides the numbers.
pub struct OutputHead {
    /// Names of the matrix elements.
    pub processes: Vec<String>,
    /// Format of the events.
    pub format: &'static str,
    /// alpha_s of all events; `None` if each has its own.
    pub alpha_s: Option<f64>,
}

/// Writes matrix elements.
pub struct Writer {
    format: Format,
    path: PathBuf,
    written: u64,
}

enum Format {
    Text(Sink),
    Json(Sink),
    /// The second field is the same file, because the writer does not return it.
    Npy(NpyWriter<f64, Shared>, Shared),
}

/// The destination.
enum Sink {
    Stdout(BufWriter<StdoutLock<'static>>),
    File(Shared),
}

/// A shared file.
#[derive(Clone)]
struct Shared(Rc<RefCell<BufWriter<OutputFile>>>);

impl Shared {
    fn create(path: &Path) -> Result<Shared> {
        let file = BufWriter::new(OutputFile::create(path)?);
        Ok(Shared(Rc::new(RefCell::new(file))))
    }

    /// Gives the file its name; requires that it is no longer shared.
    fn finish(self) -> Result<()> {
        let file = Rc::into_inner(self.0).map(|file| file.into_inner().into_parts().0);
        file.map_or(Ok(()), OutputFile::finish)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

impl Writer {
    /// Writes to stdout.
    pub fn stdout(json: bool, head: &OutputHead) -> Result<Writer> {
        let out = Sink::Stdout(BufWriter::new(io::stdout().lock()));
        Writer::new(out, "stdout".as_ref(), json, head)
    }

    /// Writes to a file, as a NumPy array if its name ends so.
    pub fn file(path: &Path, json: bool, head: &OutputHead) -> Result<Writer> {
        let array = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        if array && json {
            output::usage("--json writes no .npy file; give another name to --output");
        }
        let file = Shared::create(path)?;
        if !array {
            return Writer::new(Sink::File(file), path, json, head);
        }
        let options = WriteOptions::new().default_dtype().writer(file.clone());
        let array = options.begin_1d().map_err(Error::io(path))?;
        Ok(Writer {
            format: Format::Npy(array, file),
            path: path.into(),
            written: 0,
        })
    }

    fn new(out: Sink, path: &Path, json: bool, head: &OutputHead) -> Result<Writer> {
        let mut writer = Writer {
            format: match json {
                true => Format::Json(out),
                false => Format::Text(out),
            },
            path: path.into(),
            written: 0,
        };
        if let Format::Json(out) = &mut writer.format {
            let begin = head.begin(out.as_write());
            succeeded(begin, &writer.path)?;
        }
        Ok(writer)
    }

    /// Writes the values of these events, nan for those that were not evaluated; returns false if the reader has closed
    /// the pipe.
    pub fn write(&mut self, rows: &[bool], values: &[f64]) -> Result<bool> {
        let mut values = values.iter().copied();
        let mut all = rows.iter().map(|&evaluated| match evaluated {
            true => values.next().unwrap_or(f64::NAN),
            false => f64::NAN,
        });
        let first = self.written == 0;
        self.written += rows.len() as u64;
        let done = match &mut self.format {
            Format::Text(out) => {
                let out = out.as_write();
                all.try_for_each(|x| writeln!(out, "{}", exact(x)))
                    .and_then(|()| out.flush())
            }
            Format::Json(out) => {
                let out = out.as_write();
                all.enumerate()
                    .try_for_each(|(i, x)| {
                        let comma = if first && i == 0 { "" } else { "," };
                        write!(out, "{comma}\n    {}", json!(x))
                    })
                    .and_then(|()| out.flush())
            }
            Format::Npy(out, _) => all.try_for_each(|x| out.push(&x)),
        };
        succeeded(done, &self.path)
    }

    /// Completes the output, and gives a file its name.
    pub fn finish(self) -> Result<()> {
        let (done, sink) = match self.format {
            Format::Text(mut out) => (out.as_write().flush(), out),
            Format::Json(mut out) => {
                let last = format!("\n  ],\n  \"events\": {}\n}}\n", self.written);
                let to = out.as_write();
                let done = to.write_all(last.as_bytes()).and_then(|()| to.flush());
                (done, out)
            }
            // The number of events goes into its header.
            Format::Npy(out, file) => (
                out.finish().and_then(|()| file.clone().flush()),
                Sink::File(file),
            ),
        };
        match (succeeded(done, &self.path)?, sink) {
            (true, Sink::File(file)) => file.finish(),
            _ => Ok(()),
        }
    }
}

impl Sink {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Sink::Stdout(out) => out,
            Sink::File(out) => out,
        }
    }
}

/// Whether the write succeeded; false, not an error, if the reader has closed the pipe.
fn succeeded(done: io::Result<()>, path: &Path) -> Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::io(path)(error)),
    }
}

impl OutputHead {
    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{{\n  \"mebridge\": {},",
            json!(env!("CARGO_PKG_VERSION"))
        )?;
        let process = match self.processes.as_slice() {
            [one] => json!(one),
            several => json!(several),
        };
        writeln!(out, "  \"process\": {process},")?;
        writeln!(out, "  \"format\": {},", json!(self.format))?;
        writeln!(out, "  \"alpha_s\": {},", json!(self.alpha_s))?;
        write!(out, "  \"matrix_elements\": [")
    }
}
