//! The driver, and the context of one GPU.
//!
//! The primary context of the GPU is used, which is shared with cuBLAS and other GPU code in the program. It is current
//! on a thread only during a call, so that the program's own choice of a GPU is preserved.

use crate::cuda::result::driver::Calls;
use crate::cuda::sys::Platform;
use crate::cuda::sys::driver::{CUcontext, CUdevice, Symbols};
use mebridge_support::error::{Error, Result};
use std::sync::OnceLock;

/// Returns the driver and the number of GPUs visible to this process, at least one, or an error if none can be used.
fn start(platform: Platform) -> Result<(Calls, usize)> {
    type Found = OnceLock<std::result::Result<(Calls, usize), String>>;
    static CUDA: Found = OnceLock::new();
    static HIP: Found = OnceLock::new();
    let found = match platform {
        Platform::Cuda => &CUDA,
        Platform::Hip => &HIP,
    };
    let found = found.get_or_init(|| Calls::start(Symbols::get(platform)?));
    found.clone().map_err(|what| match platform {
        Platform::Cuda => Error::NoGpu { what },
        Platform::Hip => Error::NoAmdGpu { what },
    })
}

/// Returns the number of GPUs visible to this process, at least one, or an error if none can be used.
pub fn devices(platform: Platform) -> Result<usize> {
    start(platform).map(|(_, devices)| devices)
}

/// Returns the GPU whose context is current on this thread, if any.
pub fn current(platform: Platform) -> Option<usize> {
    let (calls, devices) = start(platform).ok()?;
    if calls.current_context().ok()?.is_null() {
        return None;
    }
    let device = calls.current_device().ok()?;
    (0..devices).find(|&ordinal| calls.device(ordinal).is_ok_and(|other| other == device))
}

/// The primary context of one GPU.
pub struct Context {
    calls: Calls,
    device: CUdevice,
    raw: CUcontext,
}

// SAFETY: contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of the GPU with this number.
    pub fn new(platform: Platform, ordinal: usize) -> Result<Context> {
        let (calls, devices) = start(platform)?;
        Context::from_calls(calls, devices, ordinal)
    }

    /// The same, with a given driver that has `devices` GPUs.
    pub fn from_calls(calls: Calls, devices: usize, ordinal: usize) -> Result<Context> {
        if ordinal >= devices {
            return Err(Error::NoSuchDevice {
                device: ordinal,
                devices,
            });
        }
        let device = calls.device(ordinal)?;
        let raw = calls.retain_primary_context(device)?;
        Ok(Context { calls, device, raw })
    }

    /// Returns the GPU.
    pub fn device(&self) -> CUdevice {
        self.device
    }

    /// Returns the driver's calls that need no context.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// Makes the context current on this thread until the result is dropped.
    pub fn enter(&self) -> Result<Entered<'_>> {
        let pushed = self.calls.current_context()? != self.raw;
        if pushed {
            // SAFETY: the context is alive. It is popped when the result is dropped, which borrows it and stays on this
            // thread.
            unsafe { self.calls.push_context(self.raw)? };
        }
        Ok(Entered {
            context: self,
            pushed,
            _thread: std::marker::PhantomData,
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once; handles of objects in the context keep alive the driver that owns it.
        let _ = unsafe { self.calls.release_primary_context(self.device) };
    }
}

/// A guard during whose life a context is current on its thread.
pub struct Entered<'a> {
    context: &'a Context,
    pushed: bool,
    /// Keeps the guard on its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Entered<'_> {
    /// Returns the calls that may be made in the context.
    pub fn calls(&self) -> Calls {
        self.context.calls
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.pushed {
            let _ = self.context.calls.pop_context();
        }
    }
}
