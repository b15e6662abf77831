//! Open objects by handle: bridges, the instances of a sampler, parton densities, event generators.
//!
//! Handles are never reused, so a handle of a deleted object is distinguished from one that never existed. The handles
//! of each kind begin at a value of its own that no counter and no user-space address has.

use super::pointers::c_name;
use mebridge::born::BornSums;
use mebridge::bridge::Bridge;
use mebridge::error::{Error, Result};
use mebridge::leading_color::ColorFlowEvaluator;
use mebridge_support::sorted::SortedMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The first handle of a bridge. Its sign bit is zero and its upper half spells `mebr`.
const FIRST_BRIDGE: u64 = 0x6d65_6272_0000_0001;

/// An open bridge and the state that the interfaces keep with it.
pub struct Entry {
    /// The bridge.
    pub bridge: Bridge,
    /// The name of the process as a C string.
    pub name: CString,
    /// Row of the helicity table that is expected next.
    pub next_row: usize,
    /// The description of the process in JSON, once requested.
    pub description: Option<CString>,
    /// The topologies that a sampler needs in JSON, once requested.
    pub topologies: Option<CString>,
    /// Descriptions and topologies for earlier parameters, which a caller may still hold.
    pub former_texts: Vec<CString>,
    /// Names of the card's parameters, once requested.
    pub parameters: Vec<CString>,
    /// The Fortran interface's knowledge of its caller.
    pub caller: super::generation::Caller,
    /// Buffer for a call's indices.
    pub indices: Indices,
    /// Evaluates single colour flows, once requested, with the current parameters.
    pub color_flows: Option<ColorFlowEvaluator>,
    /// Colour-linked Borns of aMC@NLO, if the bridge is that of a Born's amplitudes.
    pub born: Option<LinkedBorn>,
}

/// The sums of a Born of which the bridge evaluates the amplitudes.
pub struct LinkedBorn {
    sums: BornSums,
    /// Momenta and g_s of the event that the sums are of; empty if there is none.
    event: Vec<f64>,
    /// The rows of the helicity table that they contain.
    good: Vec<bool>,
    /// Real and imaginary parts of the complex Borns of that event that were requested.
    complex: Vec<Option<[f64; 2]>>,
}

/// Copies of a call's channels and configurations. They are checked before use, and the values used must be the values
/// checked even if another thread of the caller writes to its arrays.
#[derive(Default)]
pub struct Indices {
    channels: Vec<i32>,
    igraph: Vec<i32>,
}

impl Indices {
    /// Copies the indices of a call.
    pub fn copy(
        &mut self,
        channels: Option<&[i32]>,
        igraph: Option<&[i32]>,
    ) -> Result<[Option<&[i32]>; 2]> {
        fn copy_one<'a>(to: &'a mut Vec<i32>, from: Option<&[i32]>) -> Result<Option<&'a [i32]>> {
            let Some(from) = from else {
                return Ok(None);
            };
            to.clear();
            let nevt = from.len();
            to.try_reserve(nevt)
                .map_err(|_| Error::NoMemoryForEvents { nevt })?;
            to.extend_from_slice(from);
            Ok(Some(to))
        }
        Ok([
            copy_one(&mut self.channels, channels)?,
            copy_one(&mut self.igraph, igraph)?,
        ])
    }
}

impl LinkedBorn {
    /// Before the first event.
    pub fn new(sums: BornSums) -> LinkedBorn {
        LinkedBorn {
            sums,
            event: Vec::new(),
            good: Vec::new(),
            complex: Vec::new(),
        }
    }

    /// Sets which rows of the helicity table count: those that are `goodhel`, and those of which the row `skip` rows away
    /// is.
    pub fn count(&mut self, goodhel: &[i32], skip: usize) {
        let is_good = |row: usize| goodhel.get(row).is_some_and(|&good| good != 0);
        let counts = |row: usize| {
            is_good(row) || is_good(row + skip) || row.checked_sub(skip).is_some_and(is_good)
        };
        let good = (0..goodhel.len()).map(counts);
        // Most calls repeat the last one.
        if !good.clone().eq(self.good.iter().copied()) {
            self.event.clear();
            self.good = good.collect();
        }
    }

    /// Returns whether a row counts.
    pub fn counts(&self, row: usize) -> bool {
        self.good[row]
    }

    /// Returns the sums of an event over the rows that count (all, before the first [`LinkedBorn::count`]), and whether they
    /// were made now, rather than before.
    pub fn of_event(
        &mut self,
        bridge: &mut Bridge,
        (momenta, g_s): (&[f64], f64),
    ) -> Result<(&BornSums, bool)> {
        let known = self.event.split_last() == Some((&g_s, momenta));
        if !known {
            let (legs, rows) = (
                bridge.process().legs.len(),
                bridge.process().helicities.len(),
            );
            // If the evaluation fails, no event has these sums.
            self.event.clear();
            self.complex.clear();
            self.complex.resize(legs, None);
            self.good.resize(rows, true);
            let good = &self.good;
            self.sums.fill(bridge.jamps(momenta, g_s)?, |row| good[row]);
            self.event.extend_from_slice(momenta);
            self.event.push(g_s);
        }
        Ok((&self.sums, !known))
    }

    /// Returns real and imaginary part of the complex Born of a leg from 0 of that event.
    pub fn complex(&mut self, leg: usize) -> [f64; 2] {
        let sums = &self.sums;
        *self.complex[leg].get_or_insert_with(|| {
            let complex = sums.flipped(leg);
            [complex.re, complex.im]
        })
    }

    /// Returns the number of colour links.
    pub fn links(&self) -> usize {
        self.sums.links()
    }

    /// Returns the number of colour flows.
    pub fn flows(&self) -> usize {
        self.sums.flows()
    }
}

impl Entry {
    /// An entry for a new bridge.
    pub fn new(bridge: Bridge, caller: super::generation::Caller) -> Entry {
        Entry {
            name: c_name(&bridge.process().name),
            bridge,
            caller,
            next_row: 0,
            description: None,
            topologies: None,
            former_texts: Vec::new(),
            parameters: Vec::new(),
            indices: Indices::default(),
            color_flows: None,
            born: None,
        }
    }
}

/// The open objects of one kind.
pub struct Registry<E> {
    /// Name of the kind in messages.
    kind: &'static str,
    first: u64,
    open: Mutex<Open<E>>,
}

struct Open<E> {
    made: u64,
    entries: SortedMap<u64, Arc<RegistryEntry<E>>>,
}

struct RegistryEntry<E> {
    entry: Mutex<E>,
    /// Whether a thread was using it when the program forked, and this is the child.
    lost: AtomicBool,
}

/// The open bridges.
pub(super) static BRIDGES: Registry<Entry> = Registry::new("bridge", FIRST_BRIDGE);

/// A locked registry, which no other thread changes while this exists.
pub(super) struct LockedRegistry<'a, E>(MutexGuard<'a, Open<E>>);

/// Adds a bridge and returns its handle.
pub fn add(entry: Entry) -> u64 {
    BRIDGES.add(entry)
}

/// Runs `f` on the bridge of a handle.
pub fn with_entry<T>(handle: u64, f: impl FnOnce(&mut Entry) -> Result<T>) -> Result<T> {
    BRIDGES.with(handle, f)
}

/// Removes a bridge.
pub fn remove(handle: u64) -> Result<()> {
    BRIDGES.remove(handle)
}

impl<E> Registry<E> {
    /// An empty registry with this name in messages and this first handle.
    pub const fn new(kind: &'static str, first: u64) -> Registry<E> {
        let entries = SortedMap::new();
        Registry {
            kind,
            first,
            open: Mutex::new(Open { made: 0, entries }),
        }
    }

    /// Adds an entry and returns its handle.
    pub fn add(&self, entry: E) -> u64 {
        let slot = RegistryEntry {
            entry: Mutex::new(entry),
            lost: AtomicBool::new(false),
        };
        let mut open = self.open();
        let handle = self.first + open.made;
        open.made += 1;
        open.entries.insert(handle, Arc::new(slot));
        handle
    }

    /// Runs `f` on the entry of a handle. Calls for the same entry wait for each other.
    pub fn with<T>(&self, handle: u64, f: impl FnOnce(&mut E) -> Result<T>) -> Result<T> {
        self.with_any(handle, f)
    }

    /// As [`Registry::with`], for any kind of error.
    pub fn with_any<T, X: From<Error>>(
        &self,
        handle: u64,
        f: impl FnOnce(&mut E) -> Result<T, X>,
    ) -> Result<T, X> {
        let kind = self.kind;
        let slot = self.find(handle, |open| open.entries.get(&handle).cloned())?;
        if slot.lost.load(Ordering::Relaxed) {
            return Err(Error::Forked { kind }.into());
        }
        let mut entry = slot.entry.lock().map_err(|_| Error::Broken { kind })?;
        f(&mut entry)
    }

    /// Removes an entry.
    pub fn remove(&self, handle: u64) -> Result<()> {
        let slot = self.find(handle, |open| open.entries.remove(&handle))?;
        if slot.lost.load(Ordering::Relaxed) {
            // A half-changed entry cannot be freed.
            std::mem::forget(slot);
            return Ok(());
        }
        // The entry is freed after the registry's lock is released.
        drop(slot);
        Ok(())
    }

    fn find<T>(&self, handle: u64, f: impl FnOnce(&mut Open<E>) -> Option<T>) -> Result<T> {
        let (kind, mut open) = (self.kind, self.open());
        f(&mut open).ok_or_else(|| Error::BadHandle {
            handle,
            kind,
            what: match handle.checked_sub(self.first) {
                _ if handle == 0 => format!("it is zero, so no {kind} was created for it"),
                Some(number) if number < open.made => format!("its {kind} was deleted before"),
                _ => format!("no {kind} was created with it"),
            },
        })
    }

    /// Locks the registry.
    pub(super) fn lock_for_fork(&self) -> LockedRegistry<'_, E> {
        LockedRegistry(self.open())
    }

    fn open(&self) -> MutexGuard<'_, Open<E>> {
        // Nothing that runs under the lock can panic and leave the map in a state that matters.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> LockedRegistry<'_, E> {
    /// In the child of a fork, marks entries that another thread was using as lost.
    pub(super) fn mark_lost(&self) {
        for slot in self.0.entries.values() {
            if matches!(slot.entry.try_lock(), Err(TryLockError::WouldBlock)) {
                slot.lost.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    static NUMBERS: Registry<u32> = Registry::new("number", 1 << 40);

    /// An entry that a thread is using when the program forks is lost in the child, and only there; the registry and
    /// all other entries work. The child calls only what the fork handlers call, since locks of other tests' threads
    /// would be lost, too.
    #[test]
    fn what_a_thread_is_in_is_lost_in_a_child() {
        let (busy, idle) = (NUMBERS.add(1), NUMBERS.add(2));
        let (entered, is_in) = channel();
        let (leave, left) = channel::<()>();
        let thread = std::thread::spawn(move || {
            NUMBERS.with(busy, |_| {
                entered.send(()).expect("a test that waits");
                let _ = left.recv();
                Ok(())
            })
        });
        is_in.recv().expect("a thread that comes");
        let locked = NUMBERS.lock_for_fork();
        // SAFETY: the child takes only locks that are free there, and ends without exit handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            locked.mark_lost();
            drop(locked);
            let lost = NUMBERS.with(busy, |_| Ok(()));
            let right = matches!(lost, Err(Error::Forked { .. }))
                && NUMBERS.with(idle, |n| Ok(*n)).is_ok_and(|n| n == 2)
                && NUMBERS
                    .with(NUMBERS.add(3), |n| Ok(*n))
                    .is_ok_and(|n| n == 3)
                && NUMBERS.remove(busy).is_ok();
            // SAFETY: `_exit` takes any number.
            unsafe { libc::_exit(if right { 7 } else { 1 }) };
        }
        drop(locked);
        leave.send(()).expect("a thread that waits");
        thread.join().expect("no panic").expect("no error");
        let mut status = 0;
        // SAFETY: `child` is a child of this program.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
            "{status:#x}"
        );
        assert_eq!(NUMBERS.with(busy, |n| Ok(*n)).expect("no child"), 1);
    }
}
