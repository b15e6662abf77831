//! What is open, by number: bridges, the instances of a sampler, parton densities, event generators.
//!
//! Numbers are given once and never again, so that a handle used after its bridge was deleted is
//! told apart from one that never was. They begin at a value that no counter and no address in
//! user space has, another one for each kind.
//!
//! A program may fork while its threads evaluate. The child has none of these threads, so an entry that one of them was
//! in stays locked there, half changed, for ever. Such an entry is *lost* (`before_a_fork` and what follows), and a
//! call for it is an error instead of a wait without end.

use super::events::OpenEvents;
use super::umami::Instance;
use mebridge::bridge::Bridge;
use mebridge::error::{Error, Result};
use mebridge_densities::Densities;
use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

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
    /// Room for a call's indices.
    pub indices: Indices,
}

/// A call's channels and configurations as they were when it came. They are looked at before they are followed, and what
/// was looked at must be what is followed, even where another thread of the caller's writes into its arrays.
#[derive(Default)]
pub struct Indices {
    channels: Vec<i32>,
    igraph: Vec<i32>,
}

impl Indices {
    /// Copies of these.
    pub fn of(
        &mut self,
        channels: Option<&[i32]>,
        igraph: Option<&[i32]>,
    ) -> Result<[Option<&[i32]>; 2]> {
        fn copy<'a>(to: &'a mut Vec<i32>, from: Option<&[i32]>) -> Result<Option<&'a [i32]>> {
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
            copy(&mut self.channels, channels)?,
            copy(&mut self.igraph, igraph)?,
        ])
    }
}

impl Entry {
    /// A bridge, of a caller of whom this is known.
    pub fn new(bridge: Bridge, caller: super::generation::Caller) -> Entry {
        Entry {
            name: super::fbridge::c_name(&bridge.process().name),
            bridge,
            caller,
            next_row: 0,
            description: None,
            topologies: None,
            former_texts: Vec::new(),
            parameters: Vec::new(),
            indices: Indices::default(),
        }
    }
}

/// The open ones of a kind.
pub struct Registry<E> {
    /// What messages call one.
    kind: &'static str,
    first: u64,
    open: Mutex<Open<E>>,
}

struct Open<E> {
    made: u64,
    entries: BTreeMap<u64, Arc<RegistryEntry<E>>>,
}

struct RegistryEntry<E> {
    entry: Mutex<E>,
    /// A thread was in it when the program forked, and this is the child.
    lost: AtomicBool,
}

static BRIDGES: Registry<Entry> = Registry::new("bridge", FIRST_BRIDGE);

/// The list of what is open, which no other thread changes for as long as this is there.
struct AtRest<'a, E>(MutexGuard<'a, Open<E>>);

/// All lists, while the program forks.
#[cfg(unix)]
struct AllAtRest {
    bridges: AtRest<'static, Entry>,
    instances: AtRest<'static, Instance>,
    densities: AtRest<'static, Arc<Densities>>,
    events: AtRest<'static, OpenEvents>,
}

/// Where the thread that forks has them.
#[cfg(unix)]
struct Forking(UnsafeCell<Option<AllAtRest>>);

// SAFETY: it is read and written by the thread alone that has the locks, or is about to put them here.
#[cfg(unix)]
unsafe impl Sync for Forking {}

#[cfg(unix)]
static FORKING: Forking = Forking(UnsafeCell::new(None));

/// Called when the library is loaded: a thread that calls it first can already be left behind by a fork.
#[cfg(unix)]
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static WHEN_LOADED: extern "C" fn() = watch_forks;

/// Sees to it that forks find the registries at rest.
#[cfg(unix)]
extern "C" fn watch_forks() {
    // SAFETY: functions that neither unwind nor allocate; they are forgotten when the library is unloaded. Without them
    // a child of a fork waits where it could be told.
    unsafe {
        libc::pthread_atfork(Some(before_a_fork), Some(behind_a_fork), Some(in_the_child));
    }
}

/// No other thread changes the lists.
#[cfg(unix)]
extern "C" fn before_a_fork() {
    let all = AllAtRest {
        bridges: BRIDGES.at_rest(),
        instances: super::umami::instances().at_rest(),
        densities: super::densities::OPEN.at_rest(),
        events: super::events::OPEN.at_rest(),
    };
    // SAFETY: this thread has the locks.
    unsafe { *FORKING.0.get() = Some(all) };
}

/// In the parent and in the child: others may change them again.
#[cfg(unix)]
extern "C" fn behind_a_fork() {
    drop(forked());
}

/// What another thread is in is lost.
#[cfg(unix)]
extern "C" fn in_the_child() {
    super::umami::behind_a_fork();
    super::fbridge::behind_a_fork();
    if let Some(all) = forked() {
        all.events.lose();
        all.densities.lose();
        all.instances.lose();
        all.bridges.lose();
    }
}

/// What the thread that has forked put there. The system calls what comes here on this thread, behind `before_a_fork`.
#[cfg(unix)]
fn forked() -> Option<AllAtRest> {
    // SAFETY: this thread has the locks.
    unsafe { (*FORKING.0.get()).take() }
}

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
    /// An empty one of what messages call so, whose handles begin with this number.
    pub const fn new(kind: &'static str, first: u64) -> Registry<E> {
        let entries = BTreeMap::new();
        Registry {
            kind,
            first,
            open: Mutex::new(Open { made: 0, entries }),
        }
    }

    /// Keeps an entry and gives its handle.
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

    /// Runs `f` on the entry of a handle. Calls for one entry wait for each other, those for several do not.
    pub fn with<T>(&self, handle: u64, f: impl FnOnce(&mut E) -> Result<T>) -> Result<T> {
        self.with_any(handle, f)
    }

    /// The same with other errors, too.
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

    /// Forgets an entry.
    pub fn remove(&self, handle: u64) -> Result<()> {
        let slot = self.find(handle, |open| open.entries.remove(&handle))?;
        if slot.lost.load(Ordering::Relaxed) {
            // An entry that is half changed cannot be freed.
            std::mem::forget(slot);
            return Ok(());
        }
        // The contents of an entry are freed behind the lock.
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

    /// No other thread changes the list from here on.
    fn at_rest(&self) -> AtRest<'_, E> {
        AtRest(self.open())
    }

    fn open(&self) -> MutexGuard<'_, Open<E>> {
        // Nothing within the lock can panic and leave the map in a state that matters.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> AtRest<'_, E> {
    /// In the child of a fork: what another thread was in is lost.
    fn lose(&self) {
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

    /// An entry that a thread is in when the program forks is lost in the child, and only there; the list and all other
    /// entries serve. The child calls what forks call, since other tests' threads have locks that would be lost, too.
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
        let at_rest = NUMBERS.at_rest();
        // SAFETY: the child takes locks that are free there, and ends without handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            at_rest.lose();
            drop(at_rest);
            let lost = NUMBERS.with(busy, |_| Ok(()));
            let right = matches!(lost, Err(Error::Forked { .. }))
                && NUMBERS.with(idle, |n| Ok(*n)).is_ok_and(|n| n == 2)
                && NUMBERS
                    .with(NUMBERS.add(3), |n| Ok(*n))
                    .is_ok_and(|n| n == 3)
                && NUMBERS.remove(busy).is_ok();
            // SAFETY: it takes any number.
            unsafe { libc::_exit(if right { 7 } else { 1 }) };
        }
        drop(at_rest);
        leave.send(()).expect("a thread that waits");
        thread.join().expect("no panic").expect("no error");
        let mut status = 0;
        // SAFETY: a child of this program.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
            "{status:#x}"
        );
        assert_eq!(NUMBERS.with(busy, |n| Ok(*n)).expect("no child"), 1);
    }
}
