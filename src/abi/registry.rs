//! What is open, by number: bridges, and the instances of a sampler.
//!
//! Numbers are given once and never again, so that a handle used after its bridge was deleted is
//! told apart from one that never was. They begin at a value that no counter and no address in
//! user space has, another one for each kind.

use crate::bridge::Bridge;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first handle of a bridge. Its sign bit is off and its upper half spells `mebr`.
const FIRST_BRIDGE: u64 = 0x6d65_6272_0000_0001;

/// An open bridge and what its door keeps beside it.
pub struct Entry {
    /// The bridge.
    pub bridge: Bridge,
    /// The process's name as C has it.
    pub name: CString,
    /// Where the helicity that is asked for next may be in the table.
    pub next_row: usize,
    /// The process in JSON, once it was asked for.
    pub description: Option<CString>,
    /// The topologies that a sampler needs in JSON, once they were asked for.
    pub topologies: Option<CString>,
    /// The same of former parameters, which a caller may still hold.
    pub former_texts: Vec<CString>,
    /// Names of the parameters of its card, once they were asked for.
    pub parameters: Vec<CString>,
    /// What the Fortran door knows of its caller.
    pub caller: super::generation::Caller,
}

/// The open ones of a kind.
pub struct Registry<E> {
    first: u64,
    open: Mutex<Open<E>>,
}

struct Open<E> {
    made: u64,
    entries: BTreeMap<u64, Arc<Mutex<E>>>,
}

static BRIDGES: Registry<Entry> = Registry::new(FIRST_BRIDGE);

/// Keeps a bridge and gives its handle.
pub fn add(entry: Entry) -> u64 {
    BRIDGES.add(entry)
}

/// Runs `f` on the bridge of a handle.
pub fn with<T>(handle: u64, f: impl FnOnce(&mut Entry) -> Result<T>) -> Result<T> {
    BRIDGES.with(handle, f)
}

/// Forgets a bridge.
pub fn remove(handle: u64) -> Result<()> {
    BRIDGES.remove(handle)
}

impl<E> Registry<E> {
    /// An empty one whose handles begin with this number.
    pub const fn new(first: u64) -> Registry<E> {
        let entries = BTreeMap::new();
        Registry {
            first,
            open: Mutex::new(Open { made: 0, entries }),
        }
    }

    /// Keeps an entry and gives its handle.
    pub fn add(&self, entry: E) -> u64 {
        let mut open = self.open();
        let handle = self.first + open.made;
        open.made += 1;
        open.entries.insert(handle, Arc::new(Mutex::new(entry)));
        handle
    }

    /// Runs `f` on the entry of a handle. Calls for one entry wait for each other, those for several do not.
    pub fn with<T>(&self, handle: u64, f: impl FnOnce(&mut E) -> Result<T>) -> Result<T> {
        let entry = self.find(handle, |open| open.entries.get(&handle).cloned())?;
        let mut entry = entry.lock().map_err(|_| Error::BridgeBroken)?;
        f(&mut entry)
    }

    /// Forgets an entry.
    pub fn remove(&self, handle: u64) -> Result<()> {
        let entry = self.find(handle, |open| open.entries.remove(&handle))?;
        // What an entry holds is freed behind the lock.
        drop(entry);
        Ok(())
    }

    fn find<T>(&self, handle: u64, f: impl FnOnce(&mut Open<E>) -> Option<T>) -> Result<T> {
        let mut open = self.open();
        f(&mut open).ok_or_else(|| Error::BadHandle {
            handle,
            what: match handle.checked_sub(self.first) {
                _ if handle == 0 => "it is zero, so no bridge was created for it",
                Some(number) if number < open.made => "its bridge was deleted before",
                _ => "no bridge was created with it",
            },
        })
    }

    fn open(&self) -> MutexGuard<'_, Open<E>> {
        // Nothing within the lock can panic and leave the map in a state that matters.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
