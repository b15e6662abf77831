//! Where work on samples ends, and the streams of callers.

use crate::driver::{Driver, Event, Stream};
use mebridge_support::error::Result;
use std::sync::Arc;

/// Streams of callers that are remembered.
const STREAMS: usize = 64;

/// The end of all work on samples: a stream that waits for it, and what the next one waits for.
pub(super) struct Tail {
    driver: Arc<dyn Driver>,
    pub(super) stream: Stream,
    event: Event,
    /// Those of callers.
    streams: Vec<(u64, Stream)>,
}

impl Tail {
    pub(super) fn new(driver: &Arc<dyn Driver>) -> Result<Tail> {
        let stream = driver.stream()?;
        let event = driver.event().inspect_err(|_| driver.drop_stream(stream))?;
        // The first sample waits for it as all others do.
        driver.record(stream, event)?;
        Ok(Tail {
            driver: driver.clone(),
            stream,
            event,
            streams: Vec::new(),
        })
    }

    /// A stream of a caller's.
    ///
    /// # Safety
    /// As for [`Driver::stream_of`], while work is put into it.
    pub(super) unsafe fn stream_of(&mut self, raw: u64) -> Result<Stream> {
        if let Some(&(_, stream)) = self.streams.iter().find(|(known, _)| *known == raw) {
            return Ok(stream);
        }
        if self.streams.len() >= STREAMS {
            self.forget();
        }
        // SAFETY: the caller's promise.
        let stream = unsafe { self.driver.stream_of(raw)? };
        self.streams.push((raw, stream));
        Ok(stream)
    }

    fn forget(&mut self) {
        for (_, stream) in self.streams.drain(..) {
            self.driver.drop_stream(stream);
        }
    }

    /// What is put into the stream from here on comes behind all work so far.
    pub(super) fn before(&self, stream: Stream) -> Result<()> {
        self.driver.wait(stream, self.event)
    }

    /// Work ends here in the stream.
    pub(super) fn behind(&self, stream: Stream) -> Result<()> {
        self.driver.record(stream, self.event)?;
        self.driver.wait(self.stream, self.event)
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.driver.synchronize(self.stream)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // An error was told before, or will be.
        let _ = self.synchronize();
        self.forget();
        self.driver.drop_event(self.event);
        self.driver.drop_stream(self.stream);
    }
}
