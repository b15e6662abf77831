//! Event files for the Python package, which opens them and keeps the events as arrays.

use super::c::{MEBRIDGE_ERROR, MEBRIDGE_OK, keep_error, os_string};
use super::no_panic;
use super::pointers::{null, string};
use mebridge::error::{Error, Result};
use mebridge_lhe::{Event, Init, Reader};
use serde::Serialize;
use std::ffi::{CString, c_char};
use std::io::{self, Read};
use std::path::PathBuf;

const NAME: &str = "mebridge_read_lhe";
/// Maximum number of events, and of weights of all of them, passed in one batch.
const EVENTS: usize = 4096;
const WEIGHTS: usize = 1 << 20;

/// Reads bytes, at most the given number; returns how many it read, or a negative number on failure.
type ReadBytes = unsafe extern "C" fn(*mut u8, usize) -> isize;
/// Receives events; returns 0 on success.
type TakeEvents = unsafe extern "C" fn(*const Batch) -> i32;

/// A batch of events, valid during the call of [`TakeEvents`].
#[repr(C)]
pub struct Batch {
    /// Number of events.
    events: usize,
    /// For each event the process and numbers, in the format of the records of `mebridge_lhe_events`.
    heads: *const u8,
    /// For each event its number of particles, and the byte offset in the file where its text ends.
    counts: *const i32,
    ends: *const u64,
    /// The particles of all events, in the format of the same records.
    particles: usize,
    of_particles: *const u8,
    /// `weights[events][names]`, NaN for a missing weight.
    names: usize,
    weights: *const f64,
    /// Byte offset in the file from which the first event may begin.
    head: usize,
    /// Information about the whole file as JSON, after the last events; NULL before.
    info: *const c_char,
}

/// Information about a file.
#[derive(Serialize)]
struct FileInfo<'a> {
    beams: [i32; 2],
    energies: [f64; 2],
    densities: [i32; 2],
    strategy: i32,
    /// Number of the process; then the bits of its cross section, error and largest weight, since JSON has no NaN.
    processes: Vec<(i32, [u64; 3])>,
    names: &'a [String],
    /// The line where a second file begins.
    second: Option<u64>,
}

/// Reads a Les Houches event file: `read` supplies its bytes, `take` receives its events, `name` is used in messages.
/// Without `arrays` it reports only where events end.
///
/// # Safety
/// `name` ends in NUL. `read` writes at most the given number of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_read_lhe(
    name: *const c_char,
    read: Option<ReadBytes>,
    take: Option<TakeEvents>,
    arrays: bool,
) -> i32 {
    let done = no_panic(|| {
        let read = read.ok_or_else(|| null(NAME, "read"))?;
        let take = take.ok_or_else(|| null(NAME, "take"))?;
        // SAFETY: guaranteed by the caller.
        let path = PathBuf::from(os_string(unsafe { string(NAME, "name", name) }?));
        let reader = Reader::new(Box::new(Bytes(read)), &path, false)?;
        read_all(reader, take, arrays)
    });
    match done {
        Ok(()) => MEBRIDGE_OK,
        Err(error) => {
            keep_error(error.code(), &error.to_string());
            MEBRIDGE_ERROR
        }
    }
}

/// The file, read through the caller's function.
struct Bytes(ReadBytes);

impl Read for Bytes {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the slice is borrowed mutably, and the caller guarantees to write no more than its length.
        let read = unsafe { (self.0)(bytes.as_mut_ptr(), bytes.len()) };
        let fits = usize::try_from(read)
            .ok()
            .filter(|&read| read <= bytes.len());
        fits.ok_or_else(|| io::Error::other("the caller cannot read it"))
    }
}

/// Events read since the last batch.
#[derive(Default)]
struct Kept {
    heads: Vec<u8>,
    counts: Vec<i32>,
    ends: Vec<u64>,
    particles: Vec<u8>,
    count: usize,
    names: usize,
    weights: Vec<f64>,
}

impl Kept {
    fn hand_over(&mut self, take: TakeEvents, head: usize, info: Option<&CString>) -> Result<()> {
        let batch = Batch {
            events: self.ends.len(),
            heads: self.heads.as_ptr(),
            counts: self.counts.as_ptr(),
            ends: self.ends.as_ptr(),
            particles: self.count,
            of_particles: self.particles.as_ptr(),
            names: self.names,
            weights: self.weights.as_ptr(),
            head,
            info: info.map_or(std::ptr::null(), |info| info.as_ptr()),
        };
        // SAFETY: the batch and its arrays do not change during the call.
        let taken = unsafe { take(&raw const batch) };
        *self = Kept::default();
        match taken {
            0 => Ok(()),
            _ => Err(Error::Call {
                function: NAME,
                what: "the caller did not take the events".into(),
            }),
        }
    }
}

fn read_all(mut reader: Reader, take: TakeEvents, arrays: bool) -> Result<()> {
    let head = reader.head_bytes();
    let (mut kept, mut event, mut row) = (Kept::default(), Event::default(), Vec::new());
    while reader.next(&mut event)? {
        if arrays {
            reader.weights(&event, &mut row)?;
        }
        if kept.ends.len() == EVENTS || kept.weights.len() > WEIGHTS || row.len() != kept.names {
            kept.hand_over(take, head, None)?;
        }
        kept.ends.push(reader.read_bytes() as u64);
        if arrays {
            event.push_head(&mut kept.heads);
            event.push_particles(&mut kept.particles);
            // No event has more than a few thousand particles.
            kept.counts.push(event.particles.len() as i32);
            kept.count += event.particles.len();
            kept.names = row.len();
            kept.weights.extend_from_slice(&row);
        }
    }
    if !reader.closed() {
        return Err(reader.error(
            "the file is cut off: it does not end with </LesHouchesEvents>; copy or make it again",
        ));
    }
    let info = match arrays {
        true => Some(info(&reader, reader.init()?)?),
        false => None,
    };
    kept.hand_over(take, head, info.as_ref())
}

fn info(reader: &Reader, init: Init) -> Result<CString> {
    let processes = init.processes.into_iter();
    let info = FileInfo {
        beams: init.beams,
        energies: init.energies,
        densities: init.densities,
        strategy: init.strategy,
        processes: processes
            .map(|(number, of)| (number, of.map(f64::to_bits)))
            .collect(),
        names: reader.names(),
        second: reader.second(),
    };
    let text = serde_json::to_vec(&info).map_err(|error| reader.error(error.to_string()));
    // JSON has no NUL in it.
    CString::new(text?).map_err(|error| reader.error(error.to_string()))
}
