//! Events of rounds in files of NumPy's format, which can also be read from Python.
//!
//! | file | content for each event |
//! |---|---|
//! | `round0000.npy` | its record (`mebridge::lhe`) as a structured type, one field per number |
//! | `round0000.weights.npy` | further weights in units of its weight |
//! | `round0000.scales.npy` | the renormalisation scale and the factorisation scales of both beams, GeV, and the product of both densities f(x) |
//! | `round0000.matched.npy` | the results of matching (`mebridge_phasespace::clustering::Matched`), legs in the order of the process and beams as in its record |

use crate::exact;
use mebridge::lhe::record_bytes;
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_support::files::regular;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Fields of a record before its particles, and fields of each particle.
const HEAD: [(&str, &str); 5] = [
    ("process_id", "<i4"),
    ("weight", "<f8"),
    ("scale", "<f8"),
    ("alpha_qed", "<f8"),
    ("alpha_qcd", "<f8"),
];
const PARTICLE: [(&str, &str); 13] = [
    ("pdg_id", "<i4"),
    ("status_code", "<i4"),
    ("mother1", "<i4"),
    ("mother2", "<i4"),
    ("color", "<i4"),
    ("anti_color", "<i4"),
    ("px", "<f8"),
    ("py", "<f8"),
    ("pz", "<f8"),
    ("energy", "<f8"),
    ("mass", "<f8"),
    ("lifetime", "<f8"),
    ("spin", "<f8"),
];
/// The `descr` of a plain double.
const DOUBLE: &str = "'<f8'";
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy pads headers so that the number of events can grow to this many digits, and aligns the data to this many
/// bytes.
const DIGITS: usize = 21;
const ALIGNMENT: usize = 64;
/// Weights with a relative difference below this are equal up to rounding.
const ROUNDING: f64 = 1e-6;
/// Number of events read at a time when scanning a file.
const AT_ONCE: usize = 10_000;

/// A round of events in a file, with further files beside it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoundFile {
    /// The file with its records.
    pub file: PathBuf,
    /// Number of events.
    pub events: usize,
    /// Statistics of their weights.
    pub weights: RoundWeights,
}

/// Statistics of the weights of a round.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct RoundWeights {
    /// The smallest absolute weight, which all events have that are not overweight; with a bias, that of an event whose
    /// bias is 1.
    pub nominal: f64,
    /// Sum of the weights.
    pub total: f64,
    /// Number of events whose absolute weight times the bias is above the nominal one.
    pub above: u64,
    /// The largest absolute weight times the bias.
    pub largest: f64,
    /// Sum of the absolute weights.
    pub absolute: f64,
    /// The same for weights times their bias, if events have one.
    #[serde(default)]
    pub biased: Option<f64>,
}

impl RoundWeights {
    /// Statistics of the weights of the events in a file; the file is for messages.
    ///
    /// # Errors
    /// A weight is 0 or not finite: the file is damaged.
    pub fn read(file: &Path, weights: &[f64]) -> Result<RoundWeights> {
        let sizes = || weights.iter().map(|weight| weight.abs());
        if weights.is_empty() || !sizes().all(|size| size > 0.0 && size.is_finite()) {
            return Err(not_whole(file, weights.len()));
        }
        let nominal = sizes().fold(f64::INFINITY, f64::min);
        let above = sizes().filter(|size| *size > nominal * (1.0 + ROUNDING));
        Ok(RoundWeights {
            nominal,
            total: exact::sum(weights.iter().copied()),
            above: above.count() as u64,
            largest: sizes().fold(0.0, f64::max),
            absolute: exact::sum(sizes()),
            biased: None,
        })
    }

    /// Summarises the weights of events with a bias; `biased` are the weights times the bias, which are `nominal` or larger.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn from_biased(
        file: &Path,
        weights: &[f64],
        biased: &[f64],
        nominal: f64,
    ) -> Result<RoundWeights> {
        let RoundWeights {
            total, absolute, ..
        } = RoundWeights::read(file, weights)?;
        let of = RoundWeights::read(file, biased)?;
        let above = biased
            .iter()
            .filter(|weight| weight.abs() > nominal * (1.0 + ROUNDING));
        Ok(RoundWeights {
            nominal,
            total,
            above: above.count() as u64,
            absolute,
            biased: Some(of.absolute),
            ..of
        })
    }

    /// Returns the sum of absolute weights by which events were drawn.
    pub fn drawn(&self) -> f64 {
        self.biased.unwrap_or(self.absolute)
    }
}

/// The file of further weights beside a file of records.
pub fn ratios(file: &Path) -> PathBuf {
    file.with_extension("weights.npy")
}

/// The file of scales and densities beside a file of records.
pub fn scales(file: &Path) -> PathBuf {
    file.with_extension("scales.npy")
}

/// The file of matching results beside a file of records.
pub fn matched(file: &Path) -> PathBuf {
    file.with_extension("matched.npy")
}

/// A file with one row per event.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    path: PathBuf,
    /// Offset of the first row.
    begin: u64,
    /// Number of rows, and bytes per row.
    rows: usize,
    row: usize,
}

impl RowFile {
    /// Opens the records of `events` events; also returns the number of particles that a record has space for.
    ///
    /// # Errors
    /// The file cannot be read, is incomplete, or has other fields.
    pub fn records(path: &Path, events: usize) -> Result<(RowFile, usize)> {
        let (table, header) = RowFile::open(path, events)?;
        let particles = header.kind.matches("_pdg_id'").count();
        if header.kind != record_kind(particles) || header.columns.is_some() {
            return Err(other_fields(path));
        }
        let row = record_bytes(particles).ok_or_else(|| other_fields(path))?;
        Ok((table.with_rows(row)?, particles))
    }

    /// Opens a table of doubles, `[event][column]`.
    ///
    /// # Errors
    /// Those of [`RowFile::records`].
    pub fn doubles(path: &Path, events: usize, columns: usize) -> Result<RowFile> {
        let (table, header) = RowFile::open(path, events)?;
        if header.kind != DOUBLE || header.columns != Some(columns) {
            return Err(other_fields(path));
        }
        table.with_rows(8 * columns)
    }

    /// Opens the matching results of `events` events; also returns the largest number of legs.
    ///
    /// # Errors
    /// Those of [`RowFile::records`].
    pub fn matched(path: &Path, events: usize) -> Result<(RowFile, usize)> {
        let (table, header) = RowFile::open(path, events)?;
        // The shape of the PDG codes of both beams gives the number of legs.
        let legs = header.kind.split_once("('pdg', '<i4', (2, ");
        let legs = legs.and_then(|(_, rest)| rest.split_once(')')?.0.parse().ok());
        let legs = legs.filter(|&legs| header.kind == matched_kind(legs));
        let legs = legs.ok_or_else(|| other_fields(path))?;
        Ok((table.with_rows(MatchingRecord::bytes(legs))?, legs))
    }

    fn open(path: &Path, events: usize) -> Result<(RowFile, Header)> {
        let file = regular::open(path, u64::MAX).map_err(Error::io(path))?;
        let header = match Header::read(&file) {
            Ok(header) => header.filter(|header| header.rows == events),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(Error::io(path)(error)),
        };
        let header = header.ok_or_else(|| not_whole(path, events))?;
        let table = RowFile {
            file,
            path: path.to_owned(),
            begin: header.bytes,
            rows: events,
            row: 0,
        };
        Ok((table, header))
    }

    /// Sets the size of a row; the file must end with the last row.
    fn with_rows(self, row: usize) -> Result<RowFile> {
        let size = self.file.metadata().map_err(Error::io(&self.path))?.len();
        let held = (self.rows as u64).checked_mul(row as u64);
        match held.and_then(|held| held.checked_add(self.begin)) == Some(size) {
            true => Ok(RowFile { row, ..self }),
            false => Err(not_whole(&self.path, self.rows)),
        }
    }

    /// Bytes per row.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Reads rows into a buffer, replacing its contents.
    ///
    /// # Errors
    /// The file cannot be read.
    ///
    /// # Panics
    /// If there are not that many rows.
    pub fn read(&self, first: usize, count: usize, to: &mut Vec<u8>) -> Result<()> {
        assert!(first + count <= self.rows, "rows that are not there");
        to.resize(count * self.row, 0);
        let place = self.begin + first as u64 * self.row as u64;
        let read = self.file.read_exact_at(to, place);
        read.map_err(Error::io(&self.path))
    }

    /// Calls a function with each of the first `count` rows.
    ///
    /// # Errors
    /// The file cannot be read.
    ///
    /// # Panics
    /// If there are not that many rows.
    pub fn each(&self, count: usize, mut take: impl FnMut(&[u8])) -> Result<()> {
        let mut bytes = Vec::new();
        for first in (0..count).step_by(AT_ONCE) {
            self.read(first, AT_ONCE.min(count - first), &mut bytes)?;
            bytes.chunks_exact(self.row).for_each(&mut take);
        }
        Ok(())
    }
}

/// Creates a file for the records of `events` events, to which they are then appended.
///
/// # Errors
/// The file cannot be written.
pub fn begin(path: &Path, events: usize, particles: usize) -> Result<()> {
    let header = header(&record_kind(particles), &[events], 2);
    std::fs::write(path, header).map_err(Error::io(path))
}

/// Writes a table of doubles, `[event][column]`, with several threads.
///
/// # Errors
/// The file cannot be written.
pub fn write_doubles(path: &Path, numbers: &[f64], columns: usize, threads: usize) -> Result<()> {
    let events = numbers.len().checked_div(columns).unwrap_or(0);
    write(path, &header(DOUBLE, &[events, columns], 1), &[])?;
    let parts = numbers.chunks(AT_ONCE);
    append_parts(path, parts, threads, |numbers, buffer| {
        buffer.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    })
}

/// Appends records to their file with several threads.
///
/// # Errors
/// The file cannot be written.
pub fn append(path: &Path, records: &[u8], threads: usize) -> Result<()> {
    let parts = records.chunks(8 * AT_ONCE);
    append_parts(path, parts, threads, |bytes, buffer| buffer.extend(bytes))
}

/// Appends the bytes that `push` makes from each part. All parts but the last must have the same length.
fn append_parts<'a, T: Sync + 'a>(
    path: &Path,
    parts: std::slice::Chunks<'a, T>,
    threads: usize,
    push: impl Fn(&[T], &mut Vec<u8>) + Sync,
) -> Result<()> {
    let parts: Vec<&[T]> = parts.collect();
    let append = || {
        let file = OpenOptions::new().write(true).open(path)?;
        let begin = file.metadata()?.len();
        let size = parts.first().map_or(0, |part| size_of_val(*part)) as u64;
        let write = |buffer: &mut Vec<u8>, number: usize| {
            buffer.clear();
            push(parts[number], buffer);
            file.write_all_at(buffer, begin + size * number as u64)
        };
        parallel::each(
            &mut vec![Vec::new(); threads.max(1)],
            parts.len(),
            write,
            |()| (),
        )
    };
    append().map_err(Error::io(path))
}

/// Writes a file of matching results, for events with at most `legs` legs, from the bytes of
/// [`EventGenerator::matched`](mebridge::event_generator::EventGenerator::matched).
///
/// # Errors
/// The file cannot be written.
pub fn write_matched(path: &Path, matched: &[u8], legs: usize) -> Result<()> {
    let events = matched.len() / MatchingRecord::bytes(legs);
    write(path, &header(&matched_kind(legs), &[events], 1), matched)
}

fn write(path: &Path, header: &[u8], bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).map_err(Error::io(path))?;
    let written = file.write_all(header).and_then(|()| file.write_all(bytes));
    written.map_err(Error::io(path))
}

/// The matching results of an event (MLM, arXiv:0706.2569).
#[derive(Clone, Copy, Debug)]
pub struct MatchingRecord<'a> {
    bytes: &'a [u8],
    /// Number of legs that the row has space for.
    legs: usize,
}

/// The densities of a beam that reweight an event: PDG codes, momentum fractions and scales, GeV.
pub struct BeamRecord<'a>([&'a [u8]; 3]);

impl<'a> MatchingRecord<'a> {
    /// Bytes of a row with space for this many legs.
    pub fn bytes(legs: usize) -> usize {
        let (inner, densities) = (legs.max(3) - 2, legs.max(2));
        8 * (2 + 3 * inner) + 12 * inner + 2 * densities * (4 + 8 + 8)
    }

    /// Interprets bytes as a row with space for this many legs.
    pub fn new(bytes: &'a [u8], legs: usize) -> Self {
        MatchingRecord { bytes, legs }
    }

    /// Number of outgoing particles, and of steps, that the row has space for.
    fn inner(&self) -> usize {
        self.legs.max(3) - 2
    }

    fn part(&self, begin: usize, bytes: usize) -> &'a [u8] {
        &self.bytes[begin..begin + bytes]
    }

    /// The weight of the event from matching.
    pub fn weight(&self) -> f64 {
        doubles(self.part(0, 8)).next().unwrap_or(1.0)
    }

    /// Scales at which outgoing particles were clustered, in the order of the process, GeV; 0 after the last one.
    pub fn pt(&self) -> impl Iterator<Item = f64> + use<'a> {
        doubles(self.part(16, 8 * self.inner()))
    }

    /// For each step of the clustering its scale, GeV, the two legs that it combines, from 1, and the leg of the other
    /// beam or 0; all 0 after the last step.
    pub fn steps(&self) -> impl Iterator<Item = (f64, [i32; 3])> + use<'a> {
        let inner = self.inner();
        let scales = doubles(self.part(16 + 8 * inner, 8 * inner));
        let legs = self.part(16 + 16 * inner, 12 * inner).as_chunks::<12>().0;
        scales.zip(legs.iter().map(|legs| {
            let mut legs = integers(legs);
            [(); 3].map(|()| legs.next().unwrap_or(0))
        }))
    }

    /// Scales of the further alpha_s factors, GeV; 0 after the last one.
    pub fn emissions(&self) -> impl Iterator<Item = f64> + use<'a> {
        let inner = self.inner();
        doubles(self.part(16 + 28 * inner, 8 * inner))
    }

    /// The densities of a beam, 0 or 1, that reweight the event.
    pub fn densities(&self, beam: usize) -> BeamRecord<'a> {
        let (begin, room) = (16 + 36 * self.inner(), self.legs.max(2));
        let of = |begin: usize, bytes: usize| self.part(begin + beam * room * bytes, room * bytes);
        BeamRecord([
            of(begin, 4),
            of(begin + 8 * room, 8),
            of(begin + 24 * room, 8),
        ])
    }
}

impl<'a> BeamRecord<'a> {
    /// PDG codes; 0 after the last one.
    pub fn codes(&self) -> impl Iterator<Item = i32> + use<'a> {
        integers(self.0[0])
    }

    /// Momentum fractions.
    pub fn x(&self) -> impl Iterator<Item = f64> + use<'a> {
        doubles(self.0[1])
    }

    /// Scales, GeV.
    pub fn q(&self) -> impl Iterator<Item = f64> + use<'a> {
        doubles(self.0[2])
    }
}

/// The doubles of a row.
pub fn doubles(bytes: &[u8]) -> impl Iterator<Item = f64> + use<'_> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|bytes| f64::from_le_bytes(*bytes))
}

fn integers(bytes: &[u8]) -> impl Iterator<Item = i32> + use<'_> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|bytes| i32::from_le_bytes(*bytes))
}

/// A parsed header.
struct Header {
    /// The type of a row, in Python's syntax.
    kind: String,
    rows: usize,
    /// Number of columns of a two-dimensional array.
    columns: Option<usize>,
    /// Size of the header in bytes.
    bytes: u64,
}

impl Header {
    /// Reads the header of a file; `None` if it is invalid.
    fn read(file: &File) -> std::io::Result<Option<Header>> {
        let mut begin = [0; 12];
        file.read_exact_at(&mut begin, 0)?;
        let long = u32::from_le_bytes([begin[8], begin[9], begin[10], begin[11]]);
        let short = u32::from(u16::from_le_bytes([begin[8], begin[9]]));
        let (place, length) = match begin[6] {
            _ if begin[..6] != *MAGIC => return Ok(None),
            1 => (10, short),
            2 | 3 => (12, long),
            _ => return Ok(None),
        };
        let bytes = place + u64::from(length);
        if file.metadata()?.len() < bytes {
            return Ok(None);
        }
        let mut text = vec![0; length as usize];
        file.read_exact_at(&mut text, place)?;
        Ok(String::from_utf8(text)
            .ok()
            .and_then(|text| Header::parse(&text, bytes)))
    }

    /// Parses the text of a header as NumPy writes it.
    fn parse(text: &str, bytes: u64) -> Option<Header> {
        let text = text.strip_prefix("{'descr': ")?.trim_end();
        let (kind, shape) = text.rsplit_once(", 'fortran_order': False, 'shape': (")?;
        let mut shape = shape.strip_suffix("), }")?.split(',');
        let rows = shape.next()?.parse().ok()?;
        let columns = match shape.next()?.trim() {
            "" => None,
            columns => Some(columns.parse().ok()?),
        };
        Some(Header {
            kind: kind.to_owned(),
            rows,
            columns,
            bytes,
        })
    }
}

/// A header in the given version (1 or 2) of NumPy's format.
fn header(kind: &str, shape: &[usize], version: u8) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let growing = " ".repeat(DIGITS.saturating_sub(sizes[0].len()));
    let shape = sizes.join(", ");
    let text = format!(
        "{{'descr': {kind}, 'fortran_order': False, 'shape': ({shape}{comma}), }}{growing}"
    );
    let room = |place: usize| text.len() + ALIGNMENT - (place + text.len() + 1) % ALIGNMENT;
    let mut bytes = MAGIC.to_vec();
    // In version 1 the length has 16 bits.
    let length = match (version, u16::try_from(room(10) + 1)) {
        (1, Ok(length)) => {
            bytes.extend([1, 0]);
            bytes.extend(length.to_le_bytes());
            room(10)
        }
        _ => {
            bytes.extend([2, 0]);
            bytes.extend((room(12) as u32 + 1).to_le_bytes());
            room(12)
        }
    };
    let end = bytes.len() + length;
    bytes.extend(text.bytes());
    bytes.resize(end, b' ');
    bytes.push(b'\n');
    bytes
}

/// The type of a record with space for this many particles.
fn record_kind(particles: usize) -> String {
    let mut fields: Vec<String> = HEAD
        .iter()
        .map(|(name, kind)| format!("('{name}', '{kind}')"))
        .collect();
    for number in 1..=particles {
        let of = PARTICLE.iter();
        fields.extend(of.map(|(name, kind)| format!("('part{number}_{name}', '{kind}')")));
    }
    format!("[{}]", fields.join(", "))
}

/// The type of a row of matching results for this many legs.
fn matched_kind(legs: usize) -> String {
    let (inner, densities) = (legs.max(3) - 2, legs.max(2));
    let mut text = "[('weight', '<f8'), ('start', '<f8')".to_owned();
    for (name, kind, shape) in [
        ("pt", "<f8", format!("{inner},")),
        ("steps", "<f8", format!("{inner},")),
        ("legs", "<i4", format!("{inner}, 3")),
        ("emissions", "<f8", format!("{inner},")),
        ("pdg", "<i4", format!("2, {densities}")),
        ("x", "<f8", format!("2, {densities}")),
        ("q", "<f8", format!("2, {densities}")),
    ] {
        // Writing to a String cannot fail.
        let _ = write!(text, ", ('{name}', '{kind}', ({shape}))");
    }
    text + "]"
}

fn not_whole(path: &Path, events: usize) -> Error {
    let path = path.display();
    Error::run(
        format!("{path} does not hold the {events} events that were made"),
        "is the disk full?",
    )
}

fn other_fields(path: &Path) -> Error {
    let path = path.display();
    Error::run(
        format!("{path} has other fields than those of this version"),
        "make the run again",
    )
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
