//! Event files for the Python package, which opens them and keeps what is read as arrays.

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
/// Events that are handed over at a time, and weights of all of them, at most.
const EVENTS: usize = 4096;
const WEIGHTS: usize = 1 << 20;

/// Reads bytes, at most so many; gives how many there were, or a negative number where that failed.
type ReadBytes = unsafe extern "C" fn(*mut u8, usize) -> isize;
/// Takes events; gives 0 where it has.
type TakeEvents = unsafe extern "C" fn(*const Batch) -> i32;

/// Some events, as long as they are being taken.
#[repr(C)]
pub struct Batch {
    /// How many.
    events: usize,
    /// For each of them process and numbers, as `mebridge_lhe_events` has them in its records.
    heads: *const u8,
    /// How many particles each has, and where its text ends, in bytes from the begin of the file.
    counts: *const i32,
    ends: *const u64,
    /// The particles of all, as in those records.
    particles: usize,
    of_particles: *const u8,
    /// `weights[events][names]`, NaN where there is none.
    names: usize,
    weights: *const f64,
    /// Where the first event may begin, in bytes from the begin of the file.
    head: usize,
    /// What is said of the whole file, as JSON, after the last events; NULL before.
    said: *const c_char,
}

/// What is said of a file.
#[derive(Serialize)]
struct Said<'a> {
    beams: [i32; 2],
    energies: [f64; 2],
    densities: [i32; 2],
    strategy: i32,
    /// Number, cross section, error and largest weight, as bits: JSON has no NaN.
    processes: Vec<(i32, [u64; 3])>,
    names: &'a [String],
    /// The line where a second file begins.
    second: Option<u64>,
}

/// Reads an event file of the Les Houches Accord, whose bytes `read` gives and whose events `take` gets; its name is for
/// messages. Without `arrays` it gives the ends of events alone.
///
/// # Safety
/// `name` ends in NUL. `read` writes no more bytes than it may.
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
        // SAFETY: the caller's promise.
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

/// The caller's bytes.
struct Bytes(ReadBytes);

impl Read for Bytes {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the bytes are ours, and the caller writes no more of them.
        let read = unsafe { (self.0)(bytes.as_mut_ptr(), bytes.len()) };
        let fits = usize::try_from(read)
            .ok()
            .filter(|&read| read <= bytes.len());
        fits.ok_or_else(|| io::Error::other("the caller cannot read it"))
    }
}

/// What was read since events were taken.
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
    fn hand_over(&mut self, take: TakeEvents, head: usize, said: Option<&CString>) -> Result<()> {
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
            said: said.map_or(std::ptr::null(), |said| said.as_ptr()),
        };
        // SAFETY: all of it stays as it is during the call.
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
            // No event has more particles than a few thousand.
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
    let said = match arrays {
        true => Some(said(&reader, reader.init()?)?),
        false => None,
    };
    kept.hand_over(take, head, said.as_ref())
}

fn said(reader: &Reader, init: Init) -> Result<CString> {
    let processes = init.processes.into_iter();
    let said = Said {
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
    let text = serde_json::to_vec(&said).map_err(|error| reader.error(error.to_string()));
    // JSON has no NUL in it.
    CString::new(text?).map_err(|error| reader.error(error.to_string()))
}
