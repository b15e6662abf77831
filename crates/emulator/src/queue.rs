//! Queues of work. Nothing is run before the host waits for it, so that a forgotten wait is detected; work that is not
//! ordered by an event is not run in the order in which it was submitted.

use crate::memory::wrong;
use mebridge_driver::{Pointer, Product, RawEvent, RawFunction, RawStream, Shape};
use mebridge_support::error::Result;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// An item of work.
#[derive(Clone)]
pub(crate) enum Work {
    Upload {
        to: Pointer,
        from: usize,
        /// The bytes at the time of the request; they must be the same when they are read.
        bytes: Arc<[u8]>,
    },
    /// Upload from pinned memory of [`mebridge_driver::Driver::pin`].
    UploadPinned {
        to: Pointer,
        from: usize,
        bytes: usize,
    },
    Download {
        to: usize,
        bytes: usize,
        from: Pointer,
    },
    Fill {
        memory: Pointer,
        byte: u8,
        bytes: usize,
    },
    Launch {
        function: RawFunction,
        shape: Shape,
        argument: Vec<u64>,
    },
    Multiply(Product),
    /// An event was recorded in the queue as the work item with this number.
    Record {
        event: RawEvent,
        number: u64,
    },
    /// First run another queue up to that number.
    Wait {
        stream: RawStream,
        number: u64,
    },
    Graph(Arc<Vec<Work>>),
}

/// One queue.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Work>,
    /// Number of items submitted.
    pub(crate) put: u64,
    /// Number of items done.
    pub(crate) done: u64,
}

/// An event in queues.
#[derive(Default)]
pub(crate) struct Point {
    /// Where it was last recorded.
    pub(crate) at: Option<(RawStream, u64)>,
    /// When it completed.
    pub(crate) passed: Option<Instant>,
    /// The recording that contains it, and the work recorded before it.
    recorded: Option<(u64, Clock)>,
}

/// Number of items recorded from each queue so far.
type Clock = HashMap<RawStream, u64>;

/// Work being recorded.
pub(crate) struct Recording {
    number: u64,
    origin: RawStream,
    clocks: HashMap<RawStream, Clock>,
    work: Vec<Work>,
}

/// All active recordings.
#[derive(Default)]
pub(crate) struct Recordings {
    open: Vec<Recording>,
    count: u64,
}

impl Recordings {
    /// Returns the recording in which a queue takes part.
    fn recording_of(&mut self, stream: RawStream) -> Option<&mut Recording> {
        let mut open = self.open.iter_mut();
        open.find(|recording| recording.clocks.contains_key(&stream))
    }

    /// Returns whether a queue is being recorded.
    pub(crate) fn has(&mut self, stream: RawStream) -> bool {
        self.recording_of(stream).is_some()
    }

    /// Starts a recording of a queue.
    pub(crate) fn begin(&mut self, stream: RawStream) -> Result<()> {
        if self.has(stream) {
            return Err(wrong("a queue is being recorded already".to_owned()));
        }
        self.count += 1;
        self.open.push(Recording {
            number: self.count,
            origin: stream,
            clocks: HashMap::from([(stream, Clock::new())]),
            work: Vec::new(),
        });
        Ok(())
    }

    /// Records work, or returns it if its queue is not being recorded.
    pub(crate) fn put(&mut self, stream: RawStream, work: Work) -> Option<Work> {
        let Some(recording) = self.recording_of(stream) else {
            return Some(work);
        };
        recording.work.push(work);
        let clock = recording.clocks.entry(stream).or_default();
        *clock.entry(stream).or_default() += 1;
        None
    }

    /// Records an event in a queue that is being recorded; returns false for other queues.
    pub(crate) fn record(&mut self, stream: RawStream, point: &mut Point) -> bool {
        let recording = self.recording_of(stream);
        point.recorded = recording.map(|r| (r.number, r.clocks[&stream].clone()));
        if point.recorded.is_some() {
            (point.at, point.passed) = (None, None);
        }
        point.recorded.is_some()
    }

    /// Makes a queue wait for an event in a recording; returns false if the event is in none.
    pub(crate) fn wait(&mut self, stream: RawStream, point: &Point) -> Result<bool> {
        let inside = self.recording_of(stream).map(|recording| recording.number);
        let Some((number, before)) = &point.recorded else {
            return match inside.is_some() && point.at.is_some() {
                true => Err(wrong(
                    "recorded work waits for a point from before the recording".to_owned(),
                )),
                false => Ok(false),
            };
        };
        if inside.is_some_and(|inside| inside != *number) {
            return Err(wrong("a recording waits for another".to_owned()));
        }
        let mut open = self.open.iter_mut();
        let Some(recording) = open.find(|recording| recording.number == *number) else {
            return Err(wrong(
                "a queue waits for a point in a recording that has ended".to_owned(),
            ));
        };
        let clock = recording.clocks.entry(stream).or_default();
        for (&other, &count) in before {
            let known = clock.entry(other).or_default();
            *known = count.max(*known);
        }
        if inside.is_none() {
            *clock.entry(stream).or_default() += 1;
        }
        Ok(true)
    }

    /// Ends the recording that began with this queue, which must have waited for all other queues of it.
    pub(crate) fn end(&mut self, stream: RawStream) -> Result<Vec<Work>> {
        let mut open = self.open.iter();
        let Some(i) = open.position(|recording| recording.origin == stream) else {
            return Err(wrong("no recording began with this queue".to_owned()));
        };
        let recording = self.open.remove(i);
        let end = &recording.clocks[&stream];
        for (other, clock) in &recording.clocks {
            if end.get(other) < clock.get(other) {
                return Err(wrong(
                    "a recording ends and has not waited for all queues that took part".to_owned(),
                ));
            }
        }
        Ok(recording.work)
    }
}
