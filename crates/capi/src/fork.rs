//! What happens to open objects when the program forks.
//!
//! A program may fork while its threads evaluate. The child has none of these threads, so an entry that one of them was
//! using stays locked there, half changed, for ever. Such an entry is marked as *lost* (`before_a_fork` and the
//! functions that follow), and a call for it returns an error instead of waiting for ever.

use super::born::{self, OpenBorn};
use super::events::{self, OpenEvents};
use super::registry::{BRIDGES, Entry, LockedRegistry};
use super::umami::{self, Instance};
use super::{densities, fbridge};
use mebridge_densities::Densities;
use std::cell::UnsafeCell;
use std::sync::Arc;

/// All registries, locked while the program forks.
struct AllLocked {
    bridges: LockedRegistry<'static, Entry>,
    instances: LockedRegistry<'static, Instance>,
    densities: LockedRegistry<'static, Arc<Densities>>,
    events: LockedRegistry<'static, OpenEvents>,
    borns: LockedRegistry<'static, OpenBorn>,
}

/// Place where the forking thread keeps the locks.
struct Forking(UnsafeCell<Option<AllLocked>>);

// SAFETY: only the thread that holds the locks, or is about to store them here, reads and writes it.
unsafe impl Sync for Forking {}

static FORKING: Forking = Forking(UnsafeCell::new(None));

/// Called when the library is loaded: a fork during a first call would come too early for the handlers.
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static WHEN_LOADED: extern "C" fn() = watch_forks;

/// Installs the handlers that lock the registries during forks.
extern "C" fn watch_forks() {
    // SAFETY: the functions neither unwind nor allocate, and they are unregistered when the library is unloaded. If
    // this fails, a child of a fork may wait for ever instead of getting an error.
    unsafe {
        libc::pthread_atfork(Some(before_a_fork), Some(after_a_fork), Some(in_the_child));
    }
}

/// Locks all registries.
extern "C" fn before_a_fork() {
    let all = AllLocked {
        bridges: BRIDGES.lock_for_fork(),
        instances: umami::instances().lock_for_fork(),
        densities: densities::OPEN.lock_for_fork(),
        events: events::OPEN.lock_for_fork(),
        borns: born::OPEN.lock_for_fork(),
    };
    // SAFETY: this thread holds the locks.
    unsafe { *FORKING.0.get() = Some(all) };
}

/// Unlocks the registries, in the parent and in the child.
extern "C" fn after_a_fork() {
    drop(forked());
}

/// Marks entries that another thread was using as lost, and unlocks the registries.
extern "C" fn in_the_child() {
    umami::after_a_fork();
    fbridge::after_a_fork();
    if let Some(all) = forked() {
        all.events.mark_lost();
        all.densities.mark_lost();
        all.borns.mark_lost();
        all.instances.mark_lost();
        all.bridges.mark_lost();
    }
}

/// Takes the locks that `before_a_fork` stored. The system calls the handlers after a fork on the same thread.
fn forked() -> Option<AllLocked> {
    // SAFETY: this thread holds the locks.
    unsafe { (*FORKING.0.get()).take() }
}
