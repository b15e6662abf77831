//! The symbols of a driver: `libcuda`, or `libamdhip64` mapped to the same interface.

use super::{Platform, hip, library::error_message};
use cudarc::driver::sys::{self, CUresult};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

pub use super::{INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, SUCCESS, Status};
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

/// Returns the name or the description of an error. cudarc declares it with `CUresult`, which lacks codes of later
/// drivers.
type ErrorText = unsafe extern "C" fn(Status, *mut *const c_char) -> Status;
/// Offset and size of a parameter of a kernel. Drivers before CUDA 12.4 lack it.
type ParameterInfo = unsafe extern "C" fn(CUfunction, usize, *mut usize, *mut usize) -> Status;

/// Declares a field for each symbol, with its signature in cudarc. Most have an equivalent in HIP under another name:
/// `hipDeviceptr_t` is an address like `CUdeviceptr`, and handles are pointers in both. The others have another form in
/// HIP, see [`super::hip`].
macro_rules! symbols {
    ({$($name:ident = $hip:ident($($argument:ty),*);)*} {$($other:ident($($other_argument:ty),*);)*}) => {
        /// The functions of the driver.
        #[allow(non_snake_case)]
        pub struct Symbols {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> Status,)*
            $(pub $other: unsafe extern "C" fn($($other_argument),*) -> Status,)*
            pub cuGetErrorName: ErrorText,
            pub cuGetErrorString: ErrorText,
            pub cuFuncGetParamInfo: Option<ParameterInfo>,
            /// Platform of the driver.
            pub platform: Platform,
        }

        // The signatures are those of the oldest supported driver.
        const _: () = {
            $(let _: unsafe fn($($argument),*) -> CUresult = sys::$name;)*
            $(let _: unsafe fn($($other_argument),*) -> CUresult = sys::$other;)*
        };

        /// Names of the corresponding function.
        const NAMES: &[(&str, &str)] = &[$((stringify!($name), stringify!($hip))),*];

        impl Symbols {
            fn of_cuda(library: &Library) -> Result<Symbols, libloading::Error> {
                // SAFETY: the types are those of cuda.h, as declared by cudarc; the three others are declared
                // above. A CUresult has the bits of a Status.
                unsafe {
                    Ok(Symbols {
                        $($name: *library.get(stringify!($name))?,)*
                        $($other: *library.get(stringify!($other))?,)*
                        cuGetErrorName: *library.get("cuGetErrorName")?,
                        cuGetErrorString: *library.get("cuGetErrorString")?,
                        cuFuncGetParamInfo: library.get("cuFuncGetParamInfo").ok().map(|found| *found),
                        platform: Platform::Cuda,
                    })
                }
            }

            fn of_hip(library: &Library) -> Result<Symbols, libloading::Error> {
                hip::look_up(library)?;
                // SAFETY: the types are those of hip_runtime_api.h, where handles and addresses are pointers and
                // enumerations numbers, as in cuda.h.
                unsafe {
                    Ok(Symbols {
                        $($name: *library.get(stringify!($hip))?,)*
                        $($other: hip::$other,)*
                        cuGetErrorName: *library.get("hipDrvGetErrorName")?,
                        cuGetErrorString: *library.get("hipDrvGetErrorString")?,
                        cuFuncGetParamInfo: None,
                        platform: Platform::Hip,
                    })
                }
            }
        }
    };
}

symbols! {
    {
        cuInit = hipInit(c_uint);
        cuDriverGetVersion = hipDriverGetVersion(*mut c_int);
        cuDeviceGetCount = hipGetDeviceCount(*mut c_int);
        cuDeviceGet = hipDeviceGet(*mut CUdevice, c_int);
        cuDeviceGetName = hipDeviceGetName(*mut c_char, c_int, CUdevice);
        cuMemGetInfo_v2 = hipMemGetInfo(*mut usize, *mut usize);
        cuMemAlloc_v2 = hipMalloc(*mut CUdeviceptr, usize);
        cuMemFree_v2 = hipFree(CUdeviceptr);
        cuMemHostAlloc = hipHostMalloc(*mut *mut c_void, usize, c_uint);
        cuMemFreeHost = hipHostFree(*mut c_void);
        cuMemcpyHtoDAsync_v2 = hipMemcpyHtoDAsync(CUdeviceptr, *const c_void, usize, CUstream);
        cuMemcpyDtoHAsync_v2 = hipMemcpyDtoHAsync(*mut c_void, CUdeviceptr, usize, CUstream);
        cuMemsetD8Async = hipMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream);
        cuPointerGetAttributes = hipDrvPointerGetAttributes(c_uint, *mut CUpointer_attribute, *mut *mut c_void, CUdeviceptr);
        cuModuleLoadData = hipModuleLoadData(*mut CUmodule, *const c_void);
        cuModuleUnload = hipModuleUnload(CUmodule);
        cuModuleGetFunction = hipModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
        cuFuncGetAttribute = hipFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
        cuOccupancyMaxActiveBlocksPerMultiprocessor = hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
        cuStreamCreate = hipStreamCreateWithFlags(*mut CUstream, c_uint);
        cuStreamDestroy_v2 = hipStreamDestroy(CUstream);
        cuStreamSynchronize = hipStreamSynchronize(CUstream);
        cuStreamWaitEvent = hipStreamWaitEvent(CUstream, CUevent, c_uint);
        cuStreamBeginCapture_v2 = hipStreamBeginCapture(CUstream, CUstreamCaptureMode);
        cuStreamEndCapture = hipStreamEndCapture(CUstream, *mut CUgraph);
        cuEventCreate = hipEventCreateWithFlags(*mut CUevent, c_uint);
        cuEventDestroy_v2 = hipEventDestroy(CUevent);
        cuEventRecord = hipEventRecord(CUevent, CUstream);
        cuEventElapsedTime = hipEventElapsedTime(*mut f32, CUevent, CUevent);
        cuGraphInstantiateWithFlags = hipGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
        cuGraphDestroy = hipGraphDestroy(CUgraph);
        cuGraphExecDestroy = hipGraphExecDestroy(CUgraphExec);
        cuGraphLaunch = hipGraphLaunch(CUgraphExec, CUstream);
        cuLaunchKernel = hipModuleLaunchKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
    }
    {
        cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
        cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
        cuDevicePrimaryCtxRelease_v2(CUdevice);
        cuCtxGetCurrent(*mut CUcontext);
        cuCtxGetDevice(*mut CUdevice);
        cuCtxPushCurrent_v2(CUcontext);
        cuCtxPopCurrent_v2(*mut CUcontext);
        cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
    }
}

impl Platform {
    /// Returns the platform's name of a CUDA function, which may be given without its version suffix.
    pub fn name_of(self, call: &'static str) -> &'static str {
        let same = |name: &str| {
            name == call
                || name
                    .strip_prefix(call)
                    .is_some_and(|rest| rest.starts_with("_v"))
        };
        match self {
            Platform::Cuda => call,
            Platform::Hip => NAMES
                .iter()
                .find(|(cuda, _)| same(cuda))
                .map_or(call, |(_, hip)| hip),
        }
    }
}

impl Symbols {
    /// Returns the functions of the driver library, which is loaded once and never unloaded, or the reason why it
    /// cannot be loaded.
    pub fn get(platform: Platform) -> Result<&'static Symbols, String> {
        static CUDA: OnceLock<Result<Symbols, String>> = OnceLock::new();
        static HIP: OnceLock<Result<Symbols, String>> = OnceLock::new();
        let loaded = match platform {
            Platform::Cuda => CUDA.get_or_init(|| {
                // SAFETY: initialisation of the driver library has no preconditions.
                let library = unsafe { Library::new(LIBRARY) };
                Symbols::keep(library, Symbols::of_cuda, "CUDA 12.0")
            }),
            Platform::Hip => {
                HIP.get_or_init(|| Symbols::keep(hip::library(), Symbols::of_hip, "ROCm 6.0"))
            }
        };
        loaded.as_ref().map_err(String::clone)
    }

    fn keep(
        library: Result<Library, libloading::Error>,
        look_up: impl Fn(&Library) -> Result<Symbols, libloading::Error>,
        oldest: &str,
    ) -> Result<Symbols, String> {
        let library = library
            .map_err(|error| format!("the driver does not load: {}", error_message(&error)))?;
        let symbols = look_up(&library);
        let symbols = symbols.map_err(|error| {
            format!(
                "the driver is too old, {oldest} is needed: {}",
                error_message(&error)
            )
        });
        std::mem::forget(library);
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library that is not a driver serves as an example of one that is too old.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_missing_symbol_is_an_error_that_names_it() {
        // SAFETY: a system library.
        let library = unsafe { Library::new("libc.so.6") }.expect("the C library");
        for (error, name) in [
            (Symbols::of_cuda(&library), "cuInit"),
            (Symbols::of_hip(&library), "hipGetDevice"),
        ] {
            let message = error_message(&error.map(|_| ()).unwrap_err());
            assert!(message.contains(name), "{message}");
        }
    }

    #[test]
    fn calls_are_named_as_the_platform_has_them() {
        for (call, cuda, hip) in [
            ("cuMemAlloc", "cuMemAlloc", "hipMalloc"),
            ("cuLaunchKernel", "cuLaunchKernel", "hipModuleLaunchKernel"),
            (
                "cuStreamBeginCapture",
                "cuStreamBeginCapture",
                "hipStreamBeginCapture",
            ),
        ] {
            assert_eq!(Platform::Cuda.name_of(call), cuda);
            assert_eq!(Platform::Hip.name_of(call), hip);
        }
    }
}
