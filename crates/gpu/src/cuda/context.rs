//! The driver, and the context of one GPU.
//!
//! The context is the GPU's primary one, which cuBLAS and whatever else runs in the program share; it
//! is current on a thread only while a call lasts, so that a program with a GPU of its own
//! choice keeps it.

use crate::cuda::result::driver::Calls;
use crate::cuda::sys::Platform;
use crate::cuda::sys::driver::{CUcontext, CUdevice, Symbols};
use mebridge_support::error::{Error, Result};
use std::sync::OnceLock;

/// The driver and how many GPUs this process sees, at least one; an error says why none can be used.
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

/// How many GPUs this process sees, at least one; an error says why none can be used.
pub fn devices(platform: Platform) -> Result<usize> {
    start(platform).map(|(_, devices)| devices)
}

/// The GPU whose context is current on this thread, if there is one.
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
    /// That of the GPU with this number.
    pub fn new(platform: Platform, ordinal: usize) -> Result<Context> {
        let (calls, devices) = start(platform)?;
        Context::from_calls(calls, devices, ordinal)
    }

    /// The same, of this driver, which shows `devices` GPUs.
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

    /// The GPU.
    pub fn device(&self) -> CUdevice {
        self.device
    }

    /// The driver, for what needs no context.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// Makes it current on this thread until the result is dropped.
    pub fn enter(&self) -> Result<Entered<'_>> {
        let pushed = self.calls.current_context()? != self.raw;
        if pushed {
            // SAFETY: the context is alive. It is popped when the result is dropped, which borrows it and stays on this thread.
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
        // SAFETY: it was retained once; handles of what was made in it hold the driver that has this.
        let _ = unsafe { self.calls.release_primary_context(self.device) };
    }
}

/// While it lives, a context is current on its thread.
pub struct Entered<'a> {
    context: &'a Context,
    pushed: bool,
    /// It stays on its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Entered<'_> {
    /// What may be called in the context.
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
