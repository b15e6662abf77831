//! Threads that work beside a caller's own.
//!
//! A call to [`run`] is often shorter than the time to start or to wake a thread. So while a [`KeptThreads`] exists,
//! threads are kept for later calls, whoever makes these, and poll for work for a while after each. A caller that is
//! done does not wait for threads that have not started on the call. Calls that are concurrent or nested have different
//! threads. Without a guard threads are started for one call.

use crate::float_environment::in_default_environment;
use crate::signals;
use crate::sync::lock;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
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

/// Function that helpers run, each given its number (from 1).
pub type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// The idle threads of one process. The child of a fork makes a list of its own: it has none of these threads, and a
/// thread that does not exist there may have locked the list.
struct IdleThreads {
    program: u32,
    helpers: Mutex<Vec<Helper>>,
}

static IDLE_THREADS: AtomicPtr<IdleThreads> = AtomicPtr::new(null_mut());

/// How many idle threads are kept: the sum over all guards.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// While this exists, idle threads are kept for later calls. When the last guard is dropped, no idle thread is left.
#[must_use]
pub struct KeptThreads(usize);

/// Lets `helpers` more threads be kept. Calls start them when they need them.
pub fn keep(helpers: usize) -> KeptThreads {
    KEPT.fetch_add(helpers, Ordering::Relaxed);
    KeptThreads(helpers)
}

/// The same, where `helpers` idle threads exist on return.
///
/// # Errors
/// A thread cannot be started.
pub fn start(helpers: usize) -> io::Result<KeptThreads> {
    let kept = keep(helpers);
    if helpers > 0 {
        let mut lent = Lent::of_idle(helpers);
        while lent.0.len() < helpers {
            let helper = Helper::start()?;
            // The next one needs memory besides what this one allocates while it starts.
            let mut waiter = SpinThenPark::default();
            while helper.mailbox.state.load(Ordering::Acquire) == COMING {
                waiter.wait();
            }
            lent.0.push(helper);
        }
    }
    Ok(kept)
}

impl Drop for KeptThreads {
    fn drop(&mut self) {
        if self.0 > 0 {
            KEPT.fetch_sub(self.0, Ordering::Relaxed);
            give_back(Vec::new());
        }
    }
}

/// Runs `work` on the caller's thread, as number 0, and concurrently on up to `helpers` other threads. A thread that is
/// too late does not run it at all; if one cannot be started, the others do the work.
///
/// # Panics
/// If `work` panics.
pub fn run(helpers: usize, work: Work) {
    beside(helpers, work, || work(0));
}

/// Runs `own` on the caller's thread while up to `helpers` other threads run `work`, as [`run`] does.
///
/// # Panics
/// If `own` or `work` panics.
pub fn beside<R>(helpers: usize, work: Work, own: impl FnOnce() -> R) -> R {
    if helpers == 0 {
        return own();
    }
    let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    let guarded = |number: usize| {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(number))) {
            lock(&panic).get_or_insert(payload);
        }
    };
    let guarded: Work = &guarded;
    // SAFETY: only the lifetime changes. A helper uses the reference while its mailbox is WORKING, or holds it as a
    // call. When dropped, `Lent` takes back calls that were not accepted and waits for the others, so no reference is
    // left when `guarded` is dropped.
    let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(guarded) };
    let caller = thread::current();
    let lent = Lent::new(helpers);
    // Number 1 is the last one, also of a call for fewer helpers: an engine has memory for each number.
    for (helper, number) in lent.0.iter().rev().zip(1..) {
        helper.call(Call {
            work,
            number,
            caller: caller.clone(),
        });
    }
    let result = own();
    drop(lent);
    let payload = panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
    result
}

impl IdleThreads {
    /// Those of this process.
    fn get() -> &'static IdleThreads {
        let program = std::process::id();
        let mut at = IDLE_THREADS.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or stored below by this process or its parent, and never freed.
            match unsafe { at.as_ref() } {
                Some(idle) if idle.program == program => return idle,
                _ => {}
            }
            let new = Box::into_raw(Box::new(IdleThreads {
                program,
                helpers: Mutex::new(Vec::new()),
            }));
            match IDLE_THREADS.compare_exchange(at, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => at = new,
                Err(other) => {
                    // SAFETY: made above, and not stored.
                    drop(unsafe { Box::from_raw(new) });
                    at = other;
                }
            }
        }
    }
}

/// Makes helpers idle, and ends the oldest idle ones beyond those that are kept.
fn give_back(helpers: Vec<Helper>) {
    let surplus: Vec<Helper> = {
        let mut idle = lock(&IdleThreads::get().helpers);
        idle.extend(helpers);
        let surplus = idle.len().saturating_sub(KEPT.load(Ordering::Relaxed));
        idle.drain(..surplus).collect()
    };
    for helper in &surplus {
        helper.mailbox.state.store(END, Ordering::Release);
        helper.thread.thread().unpark();
    }
    for helper in surplus {
        // The thread catches all panics, so there is no error to report.
        let _ = helper.thread.join();
    }
}

/// Helpers of one caller, idle again when this is dropped.
struct Lent(Vec<Helper>);

impl Lent {
    /// Up to `most` idle helpers, those that worked last.
    fn of_idle(most: usize) -> Lent {
        let mut idle = lock(&IdleThreads::get().helpers);
        let first = idle.len().saturating_sub(most);
        Lent(idle.split_off(first))
    }

    /// `count` helpers, or as many as can be started.
    fn new(count: usize) -> Lent {
        let mut lent = Lent::of_idle(count);
        while lent.0.len() < count {
            let Ok(helper) = Helper::start() else { break };
            lent.0.push(helper);
        }
        lent
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for helper in &self.0 {
            helper.mailbox.dismiss();
        }
        give_back(std::mem::take(&mut self.0));
    }
}

/// A thread that works for callers.
struct Helper {
    mailbox: Arc<Mailbox>,
    thread: JoinHandle<()>,
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
    number: usize,
    caller: Thread,
}

impl Helper {
    /// Starts a thread.
    fn start() -> io::Result<Helper> {
        check_memory()?;
        let mailbox = Arc::new(Mailbox::default());
        let (shared, caller) = (mailbox.clone(), thread::current());
        let life = move || {
            if shared.moves(COMING, IDLE) {
                caller.unpark();
            }
            drop(caller);
            // The floating-point environment is usually inherited from the parent thread, but no standard guarantees
            // it.
            in_default_environment(|| shared.serve());
        };
        let builder = thread::Builder::new().name("mebridge-helper".to_owned());
        let thread = signals::with_blocked_signals(|| builder.spawn(life))?;
        Ok(Helper { mailbox, thread })
    }

    fn call(&self, call: Call) {
        *lock(&self.mailbox.call) = Some(call);
        self.mailbox.state.store(CALLED, Ordering::Release);
        self.thread.thread().unpark();
    }
}

/// Returns an error if there is not enough memory for another thread.
fn check_memory() -> io::Result<()> {
    let mut memory: Vec<u8> = Vec::new();
    let reserved = memory.try_reserve_exact(THREAD_MEMORY);
    // Keeps the compiler from eliding the allocation.
    std::hint::black_box(&mut memory);
    reserved.map_err(|_| io::ErrorKind::OutOfMemory.into())
}

impl Mailbox {
    /// Runs the loop of a helper thread.
    fn serve(&self) {
        let mut waiter = SpinThenPark::default();
        loop {
            match self.state.load(Ordering::Acquire) {
                CALLED if self.moves(CALLED, WORKING) => {
                    let call = lock(&self.call).take();
                    let caller = call.map(|call| {
                        (call.work)(call.number);
                        call.caller
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

    /// Adds up the numbers below `count`, which the threads take in turn.
    fn sum(helpers: usize, count: usize) -> usize {
        let next = AtomicUsize::new(0);
        let sum = AtomicUsize::new(0);
        run(helpers, &|_| {
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

    /// Returns when `all` threads, with different numbers, are in a call for `all - 1` helpers.
    fn meet(all: usize, then: impl Fn(usize) + Sync) {
        let present = Mutex::new(vec![false; all]);
        run(all - 1, &|number| {
            assert!(!std::mem::replace(&mut lock(&present)[number], true));
            while lock(&present).contains(&false) {
                thread::yield_now();
            }
            then(number);
        });
    }

    #[test]
    fn work_is_done_once_whoever_does_it() {
        let _kept = start(3).unwrap();
        for count in 0..2000_usize {
            let right = count * count.max(1).saturating_sub(1) / 2;
            assert_eq!(sum(count % 5, count), right);
            if count % 500 == 0 {
                // Long enough for all threads to fall asleep.
                thread::sleep(10 * SPIN_TIME);
            }
        }
    }

    #[test]
    fn helpers_come_while_the_caller_works() {
        meet(3, |_| ());
        let _kept = keep(1);
        for all in [3, 2, 4] {
            meet(all, |_| ());
        }
    }

    #[test]
    fn concurrent_and_nested_calls_have_threads_of_their_own() {
        let _kept = start(2).unwrap();
        for _ in 0..20 {
            meet(3, |_| meet(3, |_| assert_eq!(sum(2, 100), 4950)));
        }
    }

    #[test]
    fn the_callers_own_work_has_a_result() {
        for helpers in [0, 2] {
            let done = AtomicUsize::new(0);
            let own = beside(
                helpers,
                &|number| {
                    assert_ne!(number, 0);
                    done.fetch_add(1, Ordering::SeqCst);
                },
                || {
                    while done.load(Ordering::SeqCst) < helpers {
                        thread::yield_now();
                    }
                    "own"
                },
            );
            assert_eq!((own, done.into_inner()), ("own", helpers));
        }
    }

    /// The child has none of its parent's threads, and starts others.
    #[cfg(unix)]
    #[test]
    fn a_child_of_a_fork_has_threads_of_its_own_and_ends() {
        const DONE: i32 = 7;
        let kept = start(2).unwrap();
        assert_eq!(sum(2, 100), 4950);
        // SAFETY: the child allocates little, runs the test and exits without handlers. Other threads of this program
        // may hold a lock of the allocator, which the C library handles.
        let child = unsafe { libc::fork() };
        if child == 0 {
            meet(3, |_| ());
            let right = sum(2, 100) == 4950;
            drop(kept);
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
        assert_eq!(sum(2, 100), 4950);
    }

    #[test]
    fn a_panic_goes_on_in_the_caller_when_all_are_done() {
        let _kept = keep(1);
        for who in 0..2 {
            let panicked = catch_unwind(|| meet(2, |number| assert_ne!(number, who, "expected")));
            assert!(panicked.is_err());
            assert_eq!(sum(1, 100), 4950);
        }
    }
}
