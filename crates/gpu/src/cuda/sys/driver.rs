//! The symbols of `libcuda`.

use cudarc::driver::sys::{self, CUresult};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

pub use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_PORTABLE, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUevent_flags, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUmemorytype, CUmodule,
    CUpointer_attribute, CUstream, CUstream_flags, CUstreamCaptureMode,
};

/// The driver's library.
const LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// What a call returns: a `CUresult`, or a code of a later driver.
pub type Status = c_uint;
/// All is well.
pub const SUCCESS: Status = CUresult::CUDA_SUCCESS as Status;
/// There is no such memory.
pub const OUT_OF_MEMORY: Status = CUresult::CUDA_ERROR_OUT_OF_MEMORY as Status;
/// There is no such symbol.
pub const NOT_FOUND: Status = CUresult::CUDA_ERROR_NOT_FOUND as Status;
/// There is no such parameter.
pub const INVALID_VALUE: Status = CUresult::CUDA_ERROR_INVALID_VALUE as Status;

/// Where the name or the meaning of an error lies. cudarc gives it a `CUresult`; a code of a later driver is none.
type ErrorText = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
/// Offset and size of a parameter of a kernel. Drivers before CUDA 12.4 lack it.
type ParameterInfo = unsafe extern "C" fn(CUfunction, usize, *mut usize, *mut usize) -> Status;

/// Declares a field for each symbol, with the signature that cudarc has for it.
macro_rules! symbols {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions of the driver.
        #[allow(non_snake_case)]
        pub struct Symbols {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> Status,)*
            pub cuGetErrorName: ErrorText,
            pub cuGetErrorString: ErrorText,
            pub cuFuncGetParamInfo: Option<ParameterInfo>,
        }

        // The signatures are those of the oldest driver that is served.
        const _: () = {
            $(let _: unsafe fn($($argument),*) -> CUresult = sys::$name;)*
        };

        impl Symbols {
            fn look_up(library: &Library) -> Result<Symbols, libloading::Error> {
                // SAFETY: the types are those of cuda.h, which cudarc knows; for the three others they are written
                // above. A CUresult has the bits of a Status.
                unsafe {
                    Ok(Symbols {
                        $($name: *library.get(stringify!($name))?,)*
                        cuGetErrorName: *library.get("cuGetErrorName")?,
                        cuGetErrorString: *library.get("cuGetErrorString")?,
                        cuFuncGetParamInfo: library.get("cuFuncGetParamInfo").ok().map(|found| *found),
                    })
                }
            }
        }
    };
}

symbols! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxGetCurrent(*mut CUcontext);
    cuCtxGetDevice(*mut CUdevice);
    cuCtxPushCurrent_v2(CUcontext);
    cuCtxPopCurrent_v2(*mut CUcontext);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream);
    cuPointerGetAttributes(c_uint, *mut CUpointer_attribute, *mut *mut c_void, CUdeviceptr);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamDestroy_v2(CUstream);
    cuStreamSynchronize(CUstream);
    cuStreamWaitEvent(CUstream, CUevent, c_uint);
    cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphDestroy(CUgraph);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuLaunchKernel(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void
    );
}

impl Symbols {
    /// Those of the driver's library, which is loaded once and stays for the life of the program; or why there are none.
    pub fn get() -> Result<&'static Symbols, String> {
        static LOADED: OnceLock<Result<Symbols, String>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| {
            // SAFETY: the driver's library; its initialisation has no conditions.
            let library = unsafe { Library::new(LIBRARY) };
            let library = library.map_err(|error| {
                format!("the driver does not load: {}", super::library::said(&error))
            })?;
            let symbols = Symbols::look_up(&library).map_err(|error| {
                format!(
                    "the driver is too old, CUDA 12.0 is needed: {}",
                    super::library::said(&error)
                )
            });
            std::mem::forget(library);
            symbols
        });
        loaded.as_ref().map_err(String::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library that is no driver stands for one that is too old.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_missing_symbol_is_an_error_that_names_it() {
        // SAFETY: the system's own library.
        let library = unsafe { Library::new("libc.so.6") }.expect("the C library");
        let error = Symbols::look_up(&library).map(|_| ()).unwrap_err();
        let message = super::super::library::said(&error);
        assert!(message.contains("cuInit"), "{message}");
    }
}
