//! Writes a file whose parts are made by several threads, in the order of the parts and while later ones are being
//! made.

use mebridge_support::signals;
use mebridge_support::sorted::SortedMap;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Largest number of writing threads. Copying a part into the file takes the system as long as making it.
const WRITERS: usize = 4;
/// Number of parts per thread that may be begun but not yet written.
const AHEAD: usize = 2;

/// Writes `count` parts one after the other to an empty file.
///
/// Args: `make` receives the state of its thread, the number of a part and an empty buffer for it; `failed` converts
/// errors of writing the file.
///
/// # Errors
/// A part cannot be made or written; the first error that occurred is returned.
///
/// # Panics
/// If `make` does.
pub fn write<W: Default, E: Send>(
    file: &File,
    count: usize,
    threads: usize,
    make: impl Fn(&mut W, usize, &mut Vec<u8>) -> Result<(), E> + Sync,
    failed: impl Fn(io::Error) -> E + Sync,
) -> Result<(), E> {
    let threads = threads.clamp(1, count.max(1));
    let queue = PartQueue {
        state: Mutex::new(State::new()),
        changed: Condvar::new(),
        count,
        most: AHEAD * threads + WRITERS,
    };
    let make_all = || {
        let _watch = Watch(&queue);
        let mut kept = W::default();
        while let Some((number, mut text)) = queue.begin() {
            match make(&mut kept, number, &mut text) {
                Ok(()) => queue.place(number, text),
                Err(error) => queue.fail(error),
            }
        }
    };
    let write_all = || {
        let _watch = Watch(&queue);
        while let Some((place, text)) = queue.take() {
            match file.write_all_at(&text, place) {
                Ok(()) => {
                    begin_to_store(file, place, text.len());
                    queue.give_back(text);
                }
                Err(error) => queue.fail(failed(error)),
            }
        }
    };
    std::thread::scope(|scope| {
        let start =
            |work| signals::with_blocked_signals(|| Builder::new().spawn_scoped(scope, work));
        let mut writers =
            (0..threads.min(WRITERS)).map(|_| start(&write_all as &(dyn Fn() + Sync)));
        // If further threads cannot be started, those running do all the work; one writer is required.
        if let Some(Err(error)) = writers.next() {
            queue.fail(failed(error));
        }
        writers.for_each(drop);
        (1..threads).for_each(|_| drop(start(&make_all)));
        make_all();
    });
    let state = queue.state.into_inner();
    match state.unwrap_or_else(PoisonError::into_inner).error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Makes the system start writing a part to the disk, so that the final sync takes less time.
fn begin_to_store(file: &File, place: u64, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed. If the call fails, the
    // final sync writes the data.
    unsafe {
        libc::sync_file_range(
            file.as_raw_fd(),
            place as libc::off64_t,
            length as libc::off64_t,
            libc::SYNC_FILE_RANGE_WRITE,
        );
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, place, length);
}

/// The parts on their way from the makers to the writers.
struct PartQueue<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
    count: usize,
    /// Largest number of parts that are begun but not yet written.
    most: usize,
}

struct State<E> {
    begun: usize,
    /// Finished parts that wait for earlier ones.
    early: SortedMap<usize, Vec<u8>>,
    /// Number of parts whose offsets are known, and the end of the last one.
    placed: usize,
    end: u64,
    /// Parts ready to be written, with their offsets.
    ready: VecDeque<(u64, Vec<u8>)>,
    written: usize,
    /// Buffers of written parts, which are reused: the system would have to clear new ones page by page.
    spare: Vec<Vec<u8>>,
    /// Whether all threads should stop, and the error that caused it.
    is_over: bool,
    error: Option<E>,
}

impl<E> State<E> {
    fn new() -> Self {
        State {
            begun: 0,
            early: SortedMap::new(),
            placed: 0,
            end: 0,
            ready: VecDeque::new(),
            written: 0,
            spare: Vec::new(),
            is_over: false,
            error: None,
        }
    }
}

impl<E> PartQueue<E> {
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, waits: impl Fn(&State<E>) -> bool) -> MutexGuard<'_, State<E>> {
        let waits = |state: &mut State<E>| !state.is_over && waits(state);
        let found = self.changed.wait_while(self.lock(), waits);
        found.unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next part and a buffer for it; `None` if all are begun.
    fn begin(&self) -> Option<(usize, Vec<u8>)> {
        let has_more = |state: &State<E>| state.begun < self.count;
        let mut state =
            self.wait_while(|state| has_more(state) && state.begun - state.written >= self.most);
        if state.is_over || !has_more(&state) {
            return None;
        }
        state.begun += 1;
        Some((state.begun - 1, state.spare.pop().unwrap_or_default()))
    }

    /// Adds a finished part; it and the parts that waited for it become ready to be written.
    fn place(&self, number: usize, text: Vec<u8>) {
        let state = &mut *self.lock();
        state.early.insert(number, text);
        while let Some(text) = state.early.remove(&state.placed) {
            let place = state.end;
            state.end += text.len() as u64;
            state.placed += 1;
            state.ready.push_back((place, text));
        }
        self.changed.notify_all();
    }

    /// The next part to write, with its offset; `None` if all have been taken.
    fn take(&self) -> Option<(u64, Vec<u8>)> {
        let mut state =
            self.wait_while(|state| state.ready.is_empty() && state.placed < self.count);
        match state.is_over {
            true => None,
            false => state.ready.pop_front(),
        }
    }

    /// Takes back the buffer of a written part.
    fn give_back(&self, mut text: Vec<u8>) {
        text.clear();
        let mut state = self.lock();
        state.spare.push(text);
        state.written += 1;
        self.changed.notify_all();
    }

    fn fail(&self, error: E) {
        let mut state = self.lock();
        state.is_over = true;
        state.error.get_or_insert(error);
        self.changed.notify_all();
    }
}

/// Stops the other threads if its thread panics, so that none waits for it.
struct Watch<'a, E>(&'a PartQueue<E>);

impl<E> Drop for Watch<'_, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_over = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn part(number: usize) -> Vec<u8> {
        vec![number as u8; 1 + 97 * number % 53]
    }

    #[test]
    fn parts_are_in_their_order() {
        for threads in [1, 2, 7] {
            for count in [0, 1, 200] {
                let file = tempfile::tempfile().unwrap();
                let make = |(): &mut (), number: usize, to: &mut Vec<u8>| {
                    assert!(to.is_empty());
                    if number.is_multiple_of(3) {
                        std::thread::sleep(Duration::from_micros(300));
                    }
                    to.extend(part(number));
                    Ok(())
                };
                write(&file, count, threads, make, |error| error).unwrap();
                let wanted: Vec<u8> = (0..count).flat_map(part).collect();
                let mut found = vec![0; wanted.len()];
                file.read_exact_at(&mut found, 0).unwrap();
                assert_eq!(found, wanted);
                assert_eq!(file.metadata().unwrap().len(), wanted.len() as u64);
            }
        }
    }

    #[test]
    fn few_parts_are_ahead_of_a_slow_one() {
        let (first, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let make = |(): &mut (), number: usize, to: &mut Vec<u8>| {
            if number == 0 {
                std::thread::sleep(Duration::from_millis(50));
                first.store(1, Ordering::SeqCst);
            } else if first.load(Ordering::SeqCst) == 0 {
                most.fetch_max(number, Ordering::SeqCst);
            }
            to.push(0);
            Ok::<(), io::Error>(())
        };
        let file = tempfile::tempfile().unwrap();
        write(&file, 1000, 3, make, |error| error).unwrap();
        assert!(most.into_inner() < AHEAD * 3 + WRITERS);
    }

    #[test]
    fn what_fails_ends_it() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let make = |(): &mut (), number: usize, to: &mut Vec<u8>| {
            to.extend(part(number));
            match number {
                30 => Err("the part".to_owned()),
                _ => Ok(()),
            }
        };
        let found = write(&full.unwrap(), 1000, 3, make, |error| error.to_string());
        assert!(found.unwrap_err().contains("No space left"));
        let file = tempfile::tempfile().unwrap();
        let found = write(&file, 1000, 3, make, |error| error.to_string());
        assert_eq!(found.unwrap_err(), "the part");
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on() {
        let make = |(): &mut (), number: usize, _: &mut Vec<u8>| {
            // This thread must wait for another one.
            std::thread::sleep(Duration::from_millis(1));
            if std::thread::current().name().is_none() && number > 3 {
                panic!("of a part");
            }
            Ok::<(), io::Error>(())
        };
        let _ = write(&tempfile::tempfile().unwrap(), 1000, 3, make, |error| error);
    }
}
