//! A pool of threads that do work for a caller.
//!
//! A call to [`ThreadPool::run`] is often shorter than the time to wake a thread. So a thread keeps polling for work
//! for a while after its last call. A caller that is done does not wait for threads that have not started on the call.

use mebridge_support::float_environment::in_default_environment;
use mebridge_support::signals;
use mebridge_support::sync::lock;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// Time for which a thread polls for work before it sleeps, and a caller polls for the end of a helper's work. It is a
/// few times the time to wake a thread. On a machine with more threads than cores it is wasted.
const SPIN_TIME: Duration = Duration::from_micros(100);

/// Memory in bytes that must be available before another thread is started: its stack, and the allocations that it and
/// the caller make while it starts. Without it the new thread would abort the program.
const THREAD_MEMORY: usize = 4 << 20;

/// The thread has not started yet.
const COMING: u32 = 0;
/// The thread waits for a call.
const IDLE: u32 = 1;
/// A call has been posted but not accepted.
const CALLED: u32 = 2;
/// The thread is working on a call.
const WORKING: u32 = 3;
/// The thread must end.
const END: u32 = 4;

/// Function that a helper runs, given its number (from 1).
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Threads in addition to the caller's.
///
/// After a fork, the child's copy of the pool has no threads: the caller works alone, and there is no thread to wait
/// for.
pub struct ThreadPool {
    helpers: Vec<Helper>,
    /// Process ID of the program that has the threads.
    program: u32,
}

struct Helper {
    mailbox: Arc<Mailbox>,
    /// `None` after the thread has ended.
    thread: Option<JoinHandle<()>>,
}

/// The mailbox of a helper, on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Mailbox {
    state: AtomicU32,
    /// The call, while it has not been accepted.
    call: Mutex<Option<Call>>,
}

struct Call {
    work: Work<'static>,
    caller: Thread,
}

impl ThreadPool {
    /// Starts `helpers` threads.
    pub fn new(helpers: usize) -> std::io::Result<ThreadPool> {
        // If a thread cannot be started, dropping the pool ends the others.
        let mut pool = ThreadPool {
            helpers: Vec::with_capacity(helpers),
            program: std::process::id(),
        };
        for number in 1..=helpers {
            let mailbox = Arc::new(Mailbox::default());
            let (shared, caller) = (mailbox.clone(), thread::current());
            check_memory()?;
            let builder = thread::Builder::new().name(format!("mebridge-{number}"));
            let life = move || {
                shared.state.store(IDLE, Ordering::Release);
                caller.unpark();
                // The floating-point environment is usually inherited from the parent thread, but no standard
                // guarantees it.
                in_default_environment(|| shared.serve(number));
            };
            let thread = signals::with_blocked_signals(|| builder.spawn(life))?;
            let mut waiter = SpinThenPark::default();
            while mailbox.state.load(Ordering::Acquire) == COMING {
                waiter.wait();
            }
            pool.helpers.push(Helper {
                mailbox,
                thread: Some(thread),
            });
        }
        Ok(pool)
    }

    /// Runs `work` on the caller's thread, as number 0, and concurrently on up to `helpers` helpers. A helper that is
    /// too late does not run it at all. A panic in any of them is propagated to the caller.
    pub fn run(&mut self, helpers: usize, work: Work) {
        let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
        let guarded = |number: usize| {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(number))) {
                lock(&panic).get_or_insert(payload);
            }
        };
        let guarded: Work = &guarded;
        // SAFETY: only the lifetime changes. A helper uses the reference while its mailbox is WORKING, or holds it as a
        // call. When dropped, `Called` takes back calls that were not accepted and waits for the others, so no
        // reference is left when `guarded` is dropped.
        let extended = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(guarded) };
        let caller = thread::current();
        let helpers = match self.helpers.is_empty() || self.forked() {
            true => &[],
            false => &self.helpers[..helpers.min(self.helpers.len())],
        };
        let called = Called(helpers);
        for helper in helpers {
            helper.call(Call {
                work: extended,
                caller: caller.clone(),
            });
        }
        guarded(0);
        drop(called);
        let payload = panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }

    /// Whether this process is a fork of the one that has the threads.
    fn forked(&self) -> bool {
        self.program != std::process::id()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if self.forked() {
            // These threads do not exist in this process: they can be neither joined nor detached.
            std::mem::forget(std::mem::take(&mut self.helpers));
            return;
        }
        for helper in &mut self.helpers {
            helper.mailbox.state.store(END, Ordering::Release);
            if let Some(thread) = helper.thread.take() {
                thread.thread().unpark();
                // The thread catches all panics, so there is no error to report.
                let _ = thread.join();
            }
        }
    }
}

/// Helpers that may have a call.
struct Called<'a>(&'a [Helper]);

impl Drop for Called<'_> {
    fn drop(&mut self) {
        for helper in self.0 {
            helper.mailbox.dismiss();
        }
    }
}

impl Helper {
    fn call(&self, call: Call) {
        *lock(&self.mailbox.call) = Some(call);
        self.mailbox.state.store(CALLED, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Returns an error if there is not enough memory for another thread.
fn check_memory() -> std::io::Result<()> {
    let mut memory: Vec<u8> = Vec::new();
    let reserved = memory.try_reserve_exact(THREAD_MEMORY);
    // Keeps the compiler from eliding the allocation.
    std::hint::black_box(&mut memory);
    reserved.map_err(|_| std::io::ErrorKind::OutOfMemory.into())
}

impl Mailbox {
    /// Runs the loop of a helper thread.
    fn serve(&self, number: usize) {
        let mut waiter = SpinThenPark::default();
        loop {
            match self.state.load(Ordering::Acquire) {
                CALLED if self.moves(CALLED, WORKING) => {
                    let call = lock(&self.call).take();
                    let caller = call.map(|Call { work, caller }| {
                        work(number);
                        caller
                    });
                    self.state.store(IDLE, Ordering::Release);
                    if let Some(caller) = caller {
                        caller.unpark();
                    }
                    waiter = SpinThenPark::default();
                }
                END => return,
                _ => waiter.wait(),
            }
        }
    }

    /// Takes back a call that was not accepted; otherwise waits until it is done.
    fn dismiss(&self) {
        if self.moves(CALLED, IDLE) {
            lock(&self.call).take();
            return;
        }
        let mut waiter = SpinThenPark::default();
        while self.state.load(Ordering::Acquire) == WORKING {
            waiter.wait();
        }
    }

    /// Moves from state `from` to state `to`; returns false if the state is not `from`.
    fn moves(&self, from: u32, to: u32) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// Waits for another thread, first by polling, then asleep. The thread that makes the change wakes the waiting one.
#[derive(Default)]
struct SpinThenPark {
    since: Option<Instant>,
}

impl SpinThenPark {
    /// Returns when the condition should be checked again.
    fn wait(&mut self) {
        if self.since.get_or_insert_with(Instant::now).elapsed() > SPIN_TIME {
            thread::park();
            return;
        }
        for _ in 0..16 {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Adds up the numbers below `count`, which the threads take in turn.
    fn sum(pool: &mut ThreadPool, helpers: usize, count: usize) -> usize {
        let next = AtomicUsize::new(0);
        let sum = AtomicUsize::new(0);
        pool.run(helpers, &|_| {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return;
                }
                sum.fetch_add(i, Ordering::Relaxed);
            }
        });
        sum.into_inner()
    }

    #[test]
    fn work_is_done_once_whoever_does_it() {
        let mut pool = ThreadPool::new(3).unwrap();
        for count in 0..2000 {
            assert_eq!(
                sum(&mut pool, count % 5, count),
                count * count.max(1).saturating_sub(1) / 2
            );
            if count % 500 == 0 {
                // Long enough for all threads to fall asleep.
                thread::sleep(10 * SPIN_TIME);
            }
        }
        assert_eq!(sum(&mut ThreadPool::new(0).unwrap(), 3, 10), 45);
    }

    #[test]
    fn helpers_come_while_the_caller_works() {
        let mut pool = ThreadPool::new(2).unwrap();
        let present = AtomicUsize::new(0);
        pool.run(2, &|_| {
            present.fetch_add(1, Ordering::SeqCst);
            while present.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
        });
        assert_eq!(present.into_inner(), 3);
    }

    /// A forked child has none of its parent's threads: its caller does the work, and dropping the pool waits for no
    /// thread.
    #[cfg(unix)]
    #[test]
    fn a_child_of_a_fork_works_alone_and_ends() {
        const DONE: i32 = 7;
        let mut pool = ThreadPool::new(2).unwrap();
        assert_eq!(sum(&mut pool, 2, 100), 4950);
        // SAFETY: the child allocates little, runs the test and exits without handlers. Other threads of this program
        // may hold a lock of the allocator, which the C library handles.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let right = sum(&mut pool, 2, 100) == 4950;
            drop(pool);
            // SAFETY: `_exit` accepts any number.
            unsafe { libc::_exit(if right { DONE } else { 1 }) };
        }
        let mut status = 0;
        let waiter = Instant::now();
        // SAFETY: a child of this program.
        while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
            if waiter.elapsed() > Duration::from_secs(20) {
                // SAFETY: as above.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert!(libc::WIFEXITED(status), "status {status:#x}");
        assert_eq!(libc::WEXITSTATUS(status), DONE);
        assert_eq!(sum(&mut pool, 2, 100), 4950);
    }

    #[test]
    fn a_panic_goes_on_in_the_caller_when_all_are_done() {
        let mut pool = ThreadPool::new(1).unwrap();
        for who in 0..2 {
            let present = AtomicUsize::new(0);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                pool.run(1, &|number| {
                    present.fetch_add(1, Ordering::SeqCst);
                    while present.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                    assert_ne!(number, who, "expected");
                });
            }));
            assert!(panicked.is_err());
            assert_eq!(sum(&mut pool, 1, 100), 4950);
        }
    }
}
