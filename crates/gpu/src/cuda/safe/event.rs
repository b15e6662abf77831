//! Points in streams.

use super::context::Context;
use crate::cuda::sys::driver::CUevent;
use mebridge_support::error::Result;
use std::sync::Arc;

/// A point in a stream, with a clock.
pub struct CudaEvent {
    raw: CUevent,
    context: Arc<Context>,
}

// SAFETY: CUDA's events may be used from any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// In no stream yet.
    pub fn new(context: &Arc<Context>) -> Result<CudaEvent> {
        Ok(CudaEvent {
            raw: context.enter()?.calls().create_event()?,
            context: context.clone(),
        })
    }

    /// Where it was made.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// CUDA's name for it, while this lives.
    pub fn raw(&self) -> CUevent {
        self.raw
    }

    /// Seconds from here to another, both of which have been passed.
    pub fn seconds(&self, to: &CudaEvent) -> Result<f64> {
        self.context.check_same(&to.context, "cuEventElapsedTime")?;
        let entered = self.context.enter()?;
        // SAFETY: both are alive.
        unsafe { entered.calls().elapsed(self.raw, to.raw) }
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if let Ok(entered) = self.context.enter() {
            // SAFETY: it was made here, and nobody has it any more.
            let _ = unsafe { entered.calls().destroy_event(self.raw) };
        }
    }
}
