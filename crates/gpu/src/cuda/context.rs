//! The driver itself, and the context of one GPU.
//!
//! Nothing of cudarc is called before `libcuda` is known to load: cudarc panics where it does not. The
//! context is the GPU's primary one, which cuBLAS and whatever else runs in the program share; it
//! is current on a thread only while a call lasts, so that a program with a GPU of its own
//! choice keeps it.

use super::library;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult};
use mebridge_support::error::{Error, Result};
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

/// How many GPUs this process sees, at least one; an error says why none can be used.
pub fn devices() -> Result<usize> {
    static FOUND: OnceLock<std::result::Result<usize, String>> = OnceLock::new();
    FOUND
        .get_or_init(start)
        .clone()
        .map_err(|what| Error::NoGpu { what })
}

/// The GPU whose context is current on this thread, if there is one.
pub fn current() -> Option<usize> {
    let devices = devices().ok()?;
    let (mut context, mut device) = (std::ptr::null_mut(), 0);
    // SAFETY: libcuda is there, and so are the places. Without a context there is no device to ask for.
    let found = unsafe {
        sys::cuCtxGetCurrent(&mut context) == CUresult::CUDA_SUCCESS
            && !context.is_null()
            && sys::cuCtxGetDevice(&mut device) == CUresult::CUDA_SUCCESS
    };
    let is = |ordinal: &usize| {
        let mut other = 0;
        // SAFETY: as above.
        let known = unsafe { sys::cuDeviceGet(&mut other, *ordinal as i32) };
        known == CUresult::CUDA_SUCCESS && other == device
    };
    (0..devices).find(|ordinal| found && is(ordinal))
}

fn start() -> std::result::Result<usize, String> {
    const NAME: &str = if cfg!(windows) {
        "nvcuda.dll"
    } else {
        "libcuda.so.1"
    };
    // SAFETY: the driver's library; its initialisation has no conditions.
    match unsafe { libloading::Library::new(NAME) } {
        // It stays for the life of the program.
        Ok(library) => std::mem::forget(library),
        Err(error) => {
            return Err(format!(
                "the driver does not load: {}",
                library::said(&error)
            ));
        }
    }
    // SAFETY: it only loads the library.
    if !unsafe { sys::is_culib_present() } {
        return Err("the driver does not load".into());
    }
    let mut devices = 0;
    // SAFETY: libcuda is there, and so is the place.
    let (initialised, counted) = unsafe { (sys::cuInit(0), sys::cuDeviceGetCount(&mut devices)) };
    if initialised != CUresult::CUDA_SUCCESS {
        return Err(format!("cuInit says {}", text(initialised)));
    }
    match (counted, usize::try_from(devices)) {
        (CUresult::CUDA_SUCCESS, Ok(devices @ 1..)) => Ok(devices),
        (CUresult::CUDA_SUCCESS, _) => Err("the driver shows none".into()),
        (error, _) => Err(format!("cuDeviceGetCount says {}", text(error))),
    }
}

/// Name and meaning of an error; libcuda is there.
fn text(result: CUresult) -> String {
    let (mut name, mut meaning) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the places are there; what is put into them is NULL or a constant text.
    let [name, meaning] = unsafe {
        sys::cuGetErrorName(result, &mut name);
        sys::cuGetErrorString(result, &mut meaning);
        [name, meaning].map(|text| match text.is_null() {
            true => "unknown".into(),
            false => CStr::from_ptr(text).to_string_lossy(),
        })
    };
    format!("{name}: {meaning}")
}

/// An error where a call says so.
pub fn check(call: &'static str, result: CUresult) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(refused(format!("what {call} needs"))),
        _ => Err(Error::GpuCall {
            call,
            what: text(result),
        }),
    }
}

/// The error for memory that the GPU, whose context is current, does not have.
pub fn refused(what: String) -> Error {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the places are there. Where it fails they stay 0.
    unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    Error::GpuMemory { what, free, total }
}

/// The primary context of one GPU.
pub struct Context {
    device: CUdevice,
    context: CUcontext,
}

// SAFETY: contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// That of the GPU with this number.
    pub fn new(ordinal: usize) -> Result<Arc<Context>> {
        let devices = devices()?;
        let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
        if ordinal >= devices {
            return Err(Error::NoSuchDevice {
                device: ordinal,
                devices,
            });
        }
        let mut device = 0;
        let mut context = std::ptr::null_mut();
        // SAFETY: the places are there.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&mut device, number))?;
            check(
                "cuDevicePrimaryCtxRetain",
                sys::cuDevicePrimaryCtxRetain(&mut context, device),
            )?;
        }
        Ok(Arc::new(Context { device, context }))
    }

    /// The GPU.
    pub fn device(&self) -> CUdevice {
        self.device
    }

    /// Makes it current on this thread until the answer is dropped.
    pub fn enter(&self) -> Result<Entered> {
        let mut now = std::ptr::null_mut();
        // SAFETY: the place is there, and the context is alive.
        unsafe {
            check("cuCtxGetCurrent", sys::cuCtxGetCurrent(&mut now))?;
            if now != self.context {
                check("cuCtxPushCurrent", sys::cuCtxPushCurrent_v2(self.context))?;
            }
        }
        Ok(Entered {
            pushed: now != self.context,
            _thread: std::marker::PhantomData,
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once; whatever was made in it holds it alive.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// While it lives, a context is current on its thread.
pub struct Entered {
    pushed: bool,
    /// It stays on its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.pushed {
            let mut gone = std::ptr::null_mut();
            // SAFETY: the place is there, and something was pushed on this thread.
            unsafe { sys::cuCtxPopCurrent_v2(&mut gone) };
        }
    }
}
