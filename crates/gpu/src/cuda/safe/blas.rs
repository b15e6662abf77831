//! cuBLAS, or hipBLAS: products of many matrices, one handle for each stream.

use super::context::Context;
use super::memory::DeviceMemory;
use crate::cuda::result::blas::Calls;
use crate::cuda::sys::blas::Handle;
use crate::cuda::sys::driver::CUstream;
use crate::driver::Product;
use mebridge_support::error::Result;
use std::sync::Arc;

/// The library for one stream.
pub struct Blas {
    handle: OwnedHandle,
    /// cuBLAS's scratch memory, which goes after it: with it nothing is allocated in a product, so that one can be part
    /// of a graph.
    _workspace: Option<DeviceMemory>,
}

/// A handle, given back when it goes.
struct OwnedHandle {
    raw: Handle,
    calls: Calls,
    context: Arc<Context>,
}

// SAFETY: a handle may be used from any thread, by one at a time: products need `&mut`.
unsafe impl Send for OwnedHandle {}

impl Blas {
    /// For a stream; `hopper` says whether the GPU is of compute capability 9 or later.
    ///
    /// # Safety
    /// The stream is of this context, and stays for as long as products are asked for.
    pub unsafe fn new(context: &Arc<Context>, stream: CUstream, hopper: bool) -> Result<Blas> {
        let calls = Calls::get(context.calls())?;
        // What the manual of cuBLAS recommends.
        let bytes = if hopper { 32 << 20 } else { 4 << 20 };
        let _entered = context.enter()?;
        let handle = OwnedHandle {
            raw: calls.create()?,
            calls,
            context: context.clone(),
        };
        // SAFETY: the handle is alive; the rest is the caller's promise.
        unsafe { calls.set_stream(handle.raw, stream)? };
        let workspace = match calls.takes_workspace() {
            true => Some(DeviceMemory::new(context, bytes)?),
            false => None,
        };
        if let Some(workspace) = &workspace {
            // SAFETY: the handle is alive, and the memory as long as it.
            unsafe { calls.set_workspace(handle.raw, workspace.start(), bytes)? };
        }
        Ok(Blas {
            handle,
            _workspace: workspace,
        })
    }

    /// Starts products.
    ///
    /// # Safety
    /// The stream is alive; the matrices are there until it is done.
    pub unsafe fn multiply(&mut self, product: &Product) -> Result<()> {
        let _entered = self.handle.context.enter()?;
        // SAFETY: the handle is alive, and nobody else has it; the rest is the caller's promise.
        unsafe { self.handle.calls.multiply(self.handle.raw, product) }
    }
}

impl Drop for OwnedHandle {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: it was made here, and nobody has it any more; the context is current.
            let _ = unsafe { self.calls.destroy(self.raw) };
        }
    }
}
