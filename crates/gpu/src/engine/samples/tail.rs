//! Where work on samples ends, and the streams of callers.

use crate::driver::{Driver, Event, Stream};
use mebridge_support::error::Result;
use std::sync::Arc;

/// Streams of callers that are remembered.
const STREAMS: usize = 64;

/// The end of all work on samples: a stream that waits for it, and what the next one waits for.
pub(super) struct Tail {
    pub(super) stream: Stream,
    event: Event,
    /// Those of callers.
    streams: Vec<(u64, Stream)>,
}

impl Tail {
    pub(super) fn new(driver: &Arc<dyn Driver>) -> Result<Tail> {
        let stream = Stream::new(driver)?;
        // The first sample waits for it as all others do.
        let event = stream.put_event()?;
        Ok(Tail {
            stream,
            event,
            streams: Vec::new(),
        })
    }

    /// A stream of a caller's.
    ///
    /// # Safety
    /// It is a stream of this GPU, and alive while work is put into it.
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

    /// Later work in the stream comes after all work so far.
    pub(super) fn before(&self, stream: &Stream) -> Result<()> {
        stream.wait(&self.event)
    }

    /// Work ends here in the stream.
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
        // An error was reported before, or will be.
        let _ = self.synchronize();
    }
}
