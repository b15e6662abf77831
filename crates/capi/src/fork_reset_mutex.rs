//! Shared state behind a lock that survives a fork.
//!
//! A thread that computes something under a lock (a plan takes seconds) does not exist in the child of a fork, where
//! the lock stays locked for ever. There the value is made anew: the child abandons it and starts with a default one.
//! See `registry` for state that cannot be made anew.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A shared value behind a lock, created at its first use.
pub struct ForkResetMutex<T: 'static>(AtomicPtr<Mutex<T>>);

impl<T: Default + Send> ForkResetMutex<T> {
    /// A value that is not created yet.
    pub const fn new() -> ForkResetMutex<T> {
        ForkResetMutex(AtomicPtr::new(null_mut()))
    }

    /// Locks the value. Each change must leave it consistent, since a panic leaves it as it is.
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
                    // SAFETY: allocated above and not shared with any thread.
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        // SAFETY: allocated by the thread that stored it here, and never freed.
        let lock: &'static Mutex<T> = unsafe { &*at };
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the child of a fork, which has one thread: abandons the value if another thread of the parent held the lock,
    /// or if it `is_lost`. It is not freed, since it may be half changed.
    pub fn after_a_fork(&self, is_lost: impl FnOnce(&T) -> bool) {
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

    /// As in a child, whose other threads are gone: values that they held are made anew, others are unchanged.
    #[test]
    fn what_another_thread_held_is_made_anew() {
        static HELD: ForkResetMutex<Vec<u32>> = ForkResetMutex::new();
        static FREE: ForkResetMutex<Vec<u32>> = ForkResetMutex::new();
        static LOST: ForkResetMutex<Vec<u32>> = ForkResetMutex::new();
        for one in [&HELD, &FREE, &LOST] {
            one.after_a_fork(|_| true);
            one.lock().push(1);
        }
        let held = HELD.lock();
        for one in [&HELD, &FREE] {
            one.after_a_fork(|_| false);
        }
        LOST.after_a_fork(|numbers| numbers == &[1]);
        assert!(HELD.lock().is_empty());
        assert_eq!(&*FREE.lock(), &[1]);
        assert!(LOST.lock().is_empty());
        assert_eq!(&*held, &[1]);
    }
}
