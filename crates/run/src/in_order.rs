//! A file whose parts are made by threads and written in their order, while later ones are made.

use mebridge_support::signals;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Threads that write, at most. The system takes as long to copy a part into a file as it takes to make it.
const WRITERS: usize = 4;
/// Parts for each thread that are begun and not written yet.
const AHEAD: usize = 2;

/// Writes parts one after the other into an empty file.
///
/// Args: `make` has the number of a part and an empty buffer for it, and what its thread keeps; `failed` is the error where
/// the file cannot be written.
///
/// # Errors
/// A part cannot be made or written; of several, the first one that was found.
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
    let line = PartQueue {
        state: Mutex::new(State::new()),
        changed: Condvar::new(),
        count,
        most: AHEAD * threads + WRITERS,
    };
    let make_all = || {
        let _watch = Watch(&line);
        let mut kept = W::default();
        while let Some((number, mut text)) = line.begin() {
            match make(&mut kept, number, &mut text) {
                Ok(()) => line.place(number, text),
                Err(error) => line.fail(error),
            }
        }
    };
    let write_all = || {
        let _watch = Watch(&line);
        while let Some((place, text)) = line.take() {
            match file.write_all_at(&text, place) {
                Ok(()) => {
                    begin_to_store(file, place, text.len());
                    line.give_back(text);
                }
                Err(error) => line.fail(failed(error)),
            }
        }
    };
    std::thread::scope(|scope| {
        let start = |work| signals::held_back(|| Builder::new().spawn_scoped(scope, work));
        let mut writers =
            (0..threads.min(WRITERS)).map(|_| start(&write_all as &(dyn Fn() + Sync)));
        // Without others these threads do all the work.
        if let Some(Err(error)) = writers.next() {
            line.fail(failed(error));
        }
        writers.for_each(drop);
        (1..threads).for_each(|_| drop(start(&make_all)));
        make_all();
    });
    let state = line.state.into_inner();
    match state.unwrap_or_else(PoisonError::into_inner).error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Has the system begin to write a part to the disk, so that whoever waits for all of it at the end waits for little.
fn begin_to_store(file: &File, place: u64, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed. Where it fails, the file is
    // synchronised in full later.
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

/// Parts between those that make and those that write them.
struct PartQueue<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
    count: usize,
    /// How many are begun and not written yet, at most.
    most: usize,
}

struct State<E> {
    begun: usize,
    /// Parts that are made before others that come first.
    early: BTreeMap<usize, Vec<u8>>,
    /// How many parts have their places, and where they end.
    placed: usize,
    end: u64,
    /// Parts with their places.
    ready: VecDeque<(u64, Vec<u8>)>,
    written: usize,
    /// Buffers of parts that are written: new ones would be cleared by the system, page by page.
    spare: Vec<Vec<u8>>,
    /// Whether nobody goes on, and why.
    is_over: bool,
    error: Option<E>,
}

impl<E> State<E> {
    fn new() -> Self {
        State {
            begun: 0,
            early: BTreeMap::new(),
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

    /// The number of the next part, and a buffer; none where there is none any more.
    fn begin(&self) -> Option<(usize, Vec<u8>)> {
        let there_is = |state: &State<E>| state.begun < self.count;
        let mut state =
            self.wait_while(|state| there_is(state) && state.begun - state.written >= self.most);
        if state.is_over || !there_is(&state) {
            return None;
        }
        state.begun += 1;
        Some((state.begun - 1, state.spare.pop().unwrap_or_default()))
    }

    /// Takes a part that is made; those whose places are known then can be written.
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

    /// The next part to write, and its place; none where all have been taken.
    fn take(&self) -> Option<(u64, Vec<u8>)> {
        let mut state =
            self.wait_while(|state| state.ready.is_empty() && state.placed < self.count);
        match state.is_over {
            true => None,
            false => state.ready.pop_front(),
        }
    }

    /// Takes the buffer of a part that is written.
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

/// Nobody waits for a thread that panics.
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
            // This thread has to wait for another one.
            std::thread::sleep(Duration::from_millis(1));
            if std::thread::current().name().is_none() && number > 3 {
                panic!("of a part");
            }
            Ok::<(), io::Error>(())
        };
        let _ = write(&tempfile::tempfile().unwrap(), 1000, 3, make, |error| error);
    }
}
