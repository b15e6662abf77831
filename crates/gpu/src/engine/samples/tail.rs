//! The end of all work on samples, and the streams of callers.

use crate::driver::{Driver, Event, Stream};
use mebridge_support::error::Result;
use std::sync::Arc;

/// Maximum number of callers' streams kept.
const STREAMS: usize = 64;

/// The end of all work on samples: a stream that waits for it, and the event for which the next sample waits.
pub(super) struct Tail {
    pub(super) stream: Stream,
    event: Event,
    /// Streams of callers.
    streams: Vec<(u64, Stream)>,
}

impl Tail {
    pub(super) fn new(driver: &Arc<dyn Driver>) -> Result<Tail> {
        let stream = Stream::new(driver)?;
        // The first sample waits for the event like all others.
        let event = stream.put_event()?;
        Ok(Tail {
            stream,
            event,
            streams: Vec::new(),
        })
    }

    /// Returns the handle of a caller's stream.
    ///
    /// # Safety
    /// It is a stream of this GPU and is alive while work is submitted to it.
    pub(super) unsafe fn caller_stream(&mut self, raw: u64) -> Stream {
        if let Some((_, stream)) = self.streams.iter().find(|(known, _)| *known == raw) {
            return stream.clone();
        }
        if self.streams.len() >= STREAMS {
            self.streams.clear();
        }
        // SAFETY: guaranteed by the caller.
        let stream = unsafe { Stream::from_caller(self.stream.driver(), raw) };
        self.streams.push((raw, stream.clone()));
        stream
    }

    /// Makes later work in the stream wait for all work so far.
    pub(super) fn before(&self, stream: &Stream) -> Result<()> {
        stream.wait(&self.event)
    }

    /// Marks this point of the stream as the end of all work.
    pub(super) fn after(&self, stream: &Stream) -> Result<()> {
        stream.record(&self.event)?;
        self.stream.wait(&self.event)
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.stream.synchronize()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // An error was reported before or will be.
        let _ = self.synchronize();
    }
}
