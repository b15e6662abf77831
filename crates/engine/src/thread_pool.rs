//! Threads that wait for work on behalf of a caller.
//!
//! A call to [`ThreadPool::run`] is often shorter than it takes to wake a thread. So a thread goes on looking for work
//! for a while after its last piece. The caller does not wait for a thread that has not come when it is done.

use mebridge_support::float_environment::in_default_environment;
use mebridge_support::signals;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a thread looks for work before it sleeps, and a caller for the end of a helper's work. Some
/// times what it takes to wake a thread; on a machine with more threads than cores it is what
/// is lost.
const SPIN_TIME: Duration = Duration::from_micros(100);

/// Bytes that have to be there before another thread is started: its stack, and what it and the
/// caller need until it is there. One that starts without them ends the program.
const ROOM: usize = 4 << 20;

/// The thread has not come yet.
const COMING: u32 = 0;
/// Waiting for a call.
const IDLE: u32 = 1;
/// There is a call that was not answered yet.
const CALLED: u32 = 2;
/// At work.
const WORKING: u32 = 3;
/// The thread is to end.
const END: u32 = 4;

/// What a helper does, given its number from 1.
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Threads beside the caller's own.
///
/// A program that forks has a pool without threads in its child: there the caller works alone, and there is
/// nobody to wait for.
pub struct ThreadPool {
    helpers: Vec<Helper>,
    /// The number of the program that has the threads.
    program: u32,
}

struct Helper {
    mailbox: Arc<Mailbox>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<()>>,
}

/// Where a helper finds its work; on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Mailbox {
    state: AtomicU32,
    /// There while a call is not answered yet.
    call: Mutex<Option<Call>>,
}

struct Call {
    work: Work<'static>,
    caller: Thread,
}

impl ThreadPool {
    /// Starts so many threads.
    pub fn new(helpers: usize) -> std::io::Result<ThreadPool> {
        // Those that were started end with the pool if one cannot be.
        let mut pool = ThreadPool {
            helpers: Vec::with_capacity(helpers),
            program: std::process::id(),
        };
        for number in 1..=helpers {
            let mailbox = Arc::new(Mailbox::default());
            let (mine, caller) = (mailbox.clone(), thread::current());
            room()?;
            let builder = thread::Builder::new().name(format!("mebridge-{number}"));
            let life = move || {
                mine.state.store(IDLE, Ordering::Release);
                caller.unpark();
                // The environment is usually that of whoever starts the thread, but no standard says so.
                in_default_environment(|| mine.serve(number));
            };
            let thread = signals::held_back(|| builder.spawn(life))?;
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

    /// Does `work` on the caller's thread, as number 0, and on up to so many helpers at the same time. A
    /// helper that comes too late does not do it at all. A panic of any of them goes on in the
    /// caller.
    pub fn run(&mut self, helpers: usize, work: Work) {
        let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
        let guarded = |number: usize| {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(number))) {
                lock(&panic).get_or_insert(payload);
            }
        };
        let guarded: Work = &guarded;
        // SAFETY: only the lifetime changes. A helper uses the reference while its mailbox is WORKING,
        // or holds it as a call. `Called`, when dropped, takes back calls that were not answered and
        // waits for the others, so both are over before `guarded` is.
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

    /// Whether this is the child of the program that has the threads.
    fn forked(&self) -> bool {
        self.program != std::process::id()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if self.forked() {
            // The threads that these name do not exist here: they can be neither joined nor let go.
            std::mem::forget(std::mem::take(&mut self.helpers));
            return;
        }
        for helper in &mut self.helpers {
            helper.mailbox.state.store(END, Ordering::Release);
            if let Some(thread) = helper.thread.take() {
                thread.thread().unpark();
                // It catches all panics, and there is nobody to tell.
                let _ = thread.join();
            }
        }
    }
}

/// Helpers that may have been called.
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

/// Whether there is memory for another thread.
fn room() -> std::io::Result<()> {
    let mut room: Vec<u8> = Vec::new();
    let there = room.try_reserve_exact(ROOM);
    // Otherwise the compiler need not ask for it.
    std::hint::black_box(&mut room);
    there.map_err(|_| std::io::ErrorKind::OutOfMemory.into())
}

impl Mailbox {
    /// What a helper does all its life.
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

    /// Takes a call back that was not answered; otherwise waits for the end of the work.
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

    /// Changes the state, if it is still the one that is expected.
    fn moves(&self, from: u32, to: u32) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// Waits for another thread, first by looking again and again, then asleep. Whoever makes the change
/// wakes the one that waits.
#[derive(Default)]
struct SpinThenPark {
    since: Option<Instant>,
}

impl SpinThenPark {
    /// Returns when it is worth looking again.
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

/// No thread panics while it holds one of the locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Adds up the numbers below `count`, each taken by whoever comes first.
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
                // Long enough for all to sleep.
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

    /// A child has no threads of its parent's: its caller does the work, and the end of the pool waits for
    /// nobody.
    #[cfg(unix)]
    #[test]
    fn a_child_of_a_fork_works_alone_and_ends() {
        const DONE: i32 = 7;
        let mut pool = ThreadPool::new(2).unwrap();
        assert_eq!(sum(&mut pool, 2, 100), 4950);
        // SAFETY: the child allocates little, runs what is tested and ends without handlers. Other threads
        // of this program may hold a lock of the allocator, which the C library sees to.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let right = sum(&mut pool, 2, 100) == 4950;
            drop(pool);
            // SAFETY: it takes any number.
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
