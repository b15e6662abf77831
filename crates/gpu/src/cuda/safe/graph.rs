//! Recorded work.

use super::context::{Context, Entered};
use crate::cuda::sys::driver::{CUgraph, CUgraphExec, CUstream};
use mebridge_support::error::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// Work as it was recorded, which is not kept once it has been made ready.
struct Recorded<'a> {
    raw: CUgraph,
    entered: &'a Entered<'a>,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        // SAFETY: it was recorded here, and nobody has it any more.
        let _ = unsafe { self.entered.calls().destroy_graph(self.raw) };
    }
}

/// Work that is ready to be done, any number of times.
pub struct CudaGraph {
    /// One launch at a time.
    raw: Mutex<CUgraphExec>,
    context: Arc<Context>,
}

// SAFETY: a graph may be used from any thread, by one at a time: it lies in a mutex.
unsafe impl Send for CudaGraph {}
// SAFETY: as above.
unsafe impl Sync for CudaGraph {}

impl CudaGraph {
    /// The recorded work of a stream; the recording ends here.
    ///
    /// # Safety
    /// The stream is alive, and of this context.
    pub unsafe fn end(context: &Arc<Context>, stream: CUstream) -> Result<CudaGraph> {
        let entered = context.enter()?;
        let recorded = Recorded {
            // SAFETY: the caller's promise.
            raw: unsafe { entered.calls().end_capture(stream)? },
            entered: &entered,
        };
        // SAFETY: it was recorded just now.
        let raw = unsafe { entered.calls().instantiate(recorded.raw)? };
        Ok(CudaGraph {
            raw: Mutex::new(raw),
            context: context.clone(),
        })
    }

    /// Where it was made.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Does it in a stream.
    ///
    /// # Safety
    /// The stream is alive, and of this context; all memory and programs of the work are there until it is done.
    pub unsafe fn launch(&self, stream: CUstream) -> Result<()> {
        let entered = self.context.enter()?;
        let raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it is alive, and the lock is held; the rest is the caller's promise.
        unsafe { entered.calls().launch_graph(*raw, stream) }
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let raw = *self.raw.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Ok(entered) = self.context.enter() {
            // SAFETY: it was made here, and nobody has it any more.
            let _ = unsafe { entered.calls().destroy_ready_graph(raw) };
        }
    }
}
