//! The symbols of cuBLAS.

use super::driver::{CUdeviceptr, CUstream};
use super::library::{self, FoundLibrary};
use mebridge_support::error::Result;
use std::ffi::{c_int, c_longlong, c_void};
use std::sync::Mutex;

/// What all calls are of.
pub type Handle = *mut c_void;
/// What a call returns.
pub type Status = c_int;
/// `cublas{S,D}gemmStridedBatched`, with pointers to any numbers.
pub type Multiply = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    CUdeviceptr,
    c_int,
    c_longlong,
    CUdeviceptr,
    c_int,
    c_longlong,
    *const c_void,
    CUdeviceptr,
    c_int,
    c_longlong,
    c_int,
) -> Status;

/// `CUBLAS_STATUS_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `CUBLAS_STATUS_ALLOC_FAILED`.
pub const ALLOC_FAILED: Status = 3;
/// `CUBLAS_OP_N`.
pub const AS_IS: c_int = 0;
/// `CUBLAS_DEFAULT_MATH`.
pub const DEFAULT_MATH: c_int = 0;
/// `CUBLAS_TF32_TENSOR_OP_MATH`.
pub const TF32_MATH: c_int = 3;

/// The functions of the library.
pub struct Symbols {
    pub create: unsafe extern "C" fn(*mut Handle) -> Status,
    pub destroy: unsafe extern "C" fn(Handle) -> Status,
    pub set_stream: unsafe extern "C" fn(Handle, CUstream) -> Status,
    pub set_workspace: unsafe extern "C" fn(Handle, *mut c_void, usize) -> Status,
    pub set_math_mode: unsafe extern "C" fn(Handle, c_int) -> Status,
    pub single: Multiply,
    pub double: Multiply,
    /// Where they lie.
    _library: FoundLibrary,
}

impl Symbols {
    /// Those of the library, which is looked for until it is found once, for a driver of this major version of CUDA.
    pub fn get(driver: u32) -> Result<&'static Symbols> {
        static LOADED: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        library::once(&LOADED, || {
            let found = library::load("cuBLAS", "cublas", "nvidia-cublas", Some(driver))?;
            // SAFETY: the types are those of cublas_api.h, the same in CUDA 12 and 13; device pointers are 64 bits.
            unsafe {
                Ok(Symbols {
                    create: found.get("cublasCreate_v2")?,
                    destroy: found.get("cublasDestroy_v2")?,
                    set_stream: found.get("cublasSetStream_v2")?,
                    set_workspace: found.get("cublasSetWorkspace_v2")?,
                    set_math_mode: found.get("cublasSetMathMode")?,
                    single: found.get("cublasSgemmStridedBatched")?,
                    double: found.get("cublasDgemmStridedBatched")?,
                    _library: found,
                })
            }
        })
    }
}
