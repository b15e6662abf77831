//! Memory of a GPU, and memory of the host that it copies from and to by itself.

use super::context::Context;
use crate::cuda::sys::driver::CUmemorytype;
use crate::driver::Pointer;
use mebridge_support::error::Result;
use std::sync::Arc;

/// Memory of a GPU. What is in it is not defined.
pub struct DeviceMemory {
    start: Pointer,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// Takes so many bytes, at least one.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<DeviceMemory> {
        Ok(DeviceMemory {
            start: context.enter()?.calls().allocate(bytes.max(1))?,
            context: context.clone(),
        })
    }

    /// Where it lies.
    pub fn start(&self) -> Pointer {
        self.start
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(entered) = self.context.enter() {
            // SAFETY: it was taken here. CUDA waits for work under way that uses it, and who launches other work promised
            // that its memory is there.
            let _ = unsafe { entered.calls().free(self.start) };
        }
    }
}

/// Whether kernels in a context reach an address.
pub fn reaches(context: &Context, at: Pointer) -> Result<bool> {
    let (kind, device) = context.enter()?.calls().memory_of(at)?;
    // CUDA says 0 of memory that it does not know.
    Ok(match kind {
        0 => false,
        kind if kind == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => device == context.device(),
        // Pinned memory of the host.
        _ => true,
    })
}

/// Pinned memory of the host.
pub struct PinnedMemory {
    start: *mut u8,
    context: Arc<Context>,
}

// SAFETY: it is plain memory with one owner.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Takes so many bytes, at least one; they are zero.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<PinnedMemory> {
        let bytes = bytes.max(1);
        let start: *mut u8 = context.enter()?.calls().pin(bytes)?.cast();
        // SAFETY: as many bytes as were asked for.
        unsafe { start.write_bytes(0, bytes) };
        Ok(PinnedMemory {
            start,
            context: context.clone(),
        })
    }

    /// Where it lies.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if let Ok(entered) = self.context.enter() {
            // SAFETY: it was taken here; who copies promised that it stays until copies are over.
            let _ = unsafe { entered.calls().unpin(self.start.cast()) };
        }
    }
}
