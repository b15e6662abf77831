//! What the library shares behind a lock, in the child of a fork.
//!
//! A thread that makes something under a lock (a plan takes seconds) is not in the child of a fork, where the lock
//! stays locked for ever. Its value is made anew there: the child forgets it and begins with nothing. See `registry`
//! for what cannot be made anew.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Something shared that is there from the first look at it on.
pub struct Survivor<T: 'static>(AtomicPtr<Mutex<T>>);

impl<T: Default + Send> Survivor<T> {
    /// Not there yet.
    pub const fn new() -> Survivor<T> {
        Survivor(AtomicPtr::new(null_mut()))
    }

    /// The only one to look at it. Nothing in it may be half made: a panic leaves it as it is.
    pub fn lock(&'static self) -> MutexGuard<'static, T> {
        let mut at = self.0.load(Ordering::Acquire);
        if at.is_null() {
            let new = Box::into_raw(Box::new(Mutex::new(T::default())));
            let put = self
                .0
                .compare_exchange(at, new, Ordering::AcqRel, Ordering::Acquire);
            at = match put {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: made above, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        // SAFETY: made by a thread that has put it here, and never freed.
        let lock: &'static Mutex<T> = unsafe { &*at };
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the child of a fork, which has one thread: forgets it where another thread of the parent's had it, or where it
    /// `is_lost`. It stays in memory, since it may be half changed.
    pub fn behind_a_fork(&self, is_lost: impl FnOnce(&T) -> bool) {
        let at = self.0.load(Ordering::Acquire);
        if at.is_null() {
            return;
        }
        // SAFETY: as in `lock`.
        let lost = match unsafe { &*at }.try_lock() {
            Ok(there) => is_lost(&there),
            Err(TryLockError::Poisoned(there)) => is_lost(&there.into_inner()),
            Err(TryLockError::WouldBlock) => true,
        };
        if lost {
            self.0.store(null_mut(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a child, whose other threads are gone: what one of them held is made anew, the rest is as it was.
    #[test]
    fn what_another_thread_held_is_made_anew() {
        static HELD: Survivor<Vec<u32>> = Survivor::new();
        static FREE: Survivor<Vec<u32>> = Survivor::new();
        static LOST: Survivor<Vec<u32>> = Survivor::new();
        for one in [&HELD, &FREE, &LOST] {
            one.behind_a_fork(|_| true);
            one.lock().push(1);
        }
        let held = HELD.lock();
        for one in [&HELD, &FREE] {
            one.behind_a_fork(|_| false);
        }
        LOST.behind_a_fork(|numbers| numbers == &[1]);
        assert!(HELD.lock().is_empty());
        assert_eq!(&*FREE.lock(), &[1]);
        assert!(LOST.lock().is_empty());
        assert_eq!(&*held, &[1]);
    }
}
