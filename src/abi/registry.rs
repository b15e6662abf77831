//! The open bridges, by number.
//!
//! Numbers are given once and never again, so that a handle used after its bridge was deleted is
//! told apart from one that never was. They begin at a value that no counter and no address in
//! user space has.

use crate::bridge::Bridge;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first handle. Its sign bit is off and its upper half spells `mebr`.
const FIRST: u64 = 0x6d65_6272_0000_0001;

/// An open bridge and what its door keeps beside it.
pub struct Entry {
    /// The bridge.
    pub bridge: Bridge,
    /// The process's name as C has it.
    pub name: CString,
    /// Where the helicity that is asked for next may be in the table.
    pub next_row: usize,
    /// What the Fortran door knows of its caller.
    pub caller: super::generation::Caller,
}

#[derive(Default)]
struct Open {
    made: u64,
    entries: HashMap<u64, Arc<Mutex<Entry>>>,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<Open>> {
    // Nothing within the lock can panic and leave the map in a state that matters.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a bridge and gives its handle.
pub fn add(entry: Entry) -> u64 {
    let mut open = open();
    let open = open.get_or_insert_default();
    let handle = FIRST + open.made;
    open.made += 1;
    open.entries.insert(handle, Arc::new(Mutex::new(entry)));
    handle
}

/// Runs `f` on the bridge of a handle.
pub fn with<T>(handle: u64, f: impl FnOnce(&mut Entry) -> Result<T>) -> Result<T> {
    let entry = find(handle, |open| open.entries.get(&handle).cloned())?;
    let mut entry = entry.lock().map_err(|_| Error::BridgeBroken)?;
    f(&mut entry)
}

/// Forgets a bridge.
pub fn remove(handle: u64) -> Result<()> {
    find(handle, |open| open.entries.remove(&handle)).map(drop)
}

fn find<T>(handle: u64, f: impl FnOnce(&mut Open) -> Option<T>) -> Result<T> {
    let mut open = open();
    let open = open.get_or_insert_default();
    f(open).ok_or_else(|| Error::BadHandle {
        handle,
        what: match handle {
            0 => "it is zero, so no bridge was created for it",
            FIRST.. if handle - FIRST < open.made => "its bridge was deleted before",
            _ => "no bridge was created with it",
        },
    })
}
