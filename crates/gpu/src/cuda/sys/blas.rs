//! The symbols of cuBLAS and of hipBLAS, which uses other names and constants (hipblas.h, hipblas-common.h).

use super::Platform;
use super::driver::{CUdeviceptr, CUstream};
use super::hip;
use super::library::{self, FoundLibrary};
use mebridge_support::error::Result;
use std::ffi::{c_int, c_longlong, c_void};
use std::sync::Mutex;

/// A library handle.
pub type Handle = *mut c_void;
/// Result of a call.
pub type Status = c_int;
/// `{cu,hip}blas{S,D}gemmStridedBatched`, with untyped pointers.
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

/// `CUBLAS_STATUS_SUCCESS`, `HIPBLAS_STATUS_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `CUBLAS_DEFAULT_MATH`.
pub const DEFAULT_MATH: c_int = 0;
/// `CUBLAS_TF32_TENSOR_OP_MATH`.
pub const TF32_MATH: c_int = 3;

/// Properties in which the libraries differ.
pub struct LibraryTraits {
    /// Name of the library.
    pub library: &'static str,
    pub create: &'static str,
    pub destroy: &'static str,
    pub set_stream: &'static str,
    pub single: &'static str,
    pub double: &'static str,
    /// `..BLAS_OP_N`.
    pub as_is: c_int,
    /// `..BLAS_STATUS_ALLOC_FAILED`.
    pub alloc_failed: Status,
    /// Names of other results.
    pub meanings: &'static [(Status, &'static str)],
}

/// cuBLAS.
const CUDA: LibraryTraits = LibraryTraits {
    library: "cuBLAS",
    create: "cublasCreate_v2",
    destroy: "cublasDestroy_v2",
    set_stream: "cublasSetStream_v2",
    single: "cublasSgemmStridedBatched",
    double: "cublasDgemmStridedBatched",
    as_is: 0,
    alloc_failed: 3,
    meanings: &[
        (
            1,
            "not initialised; cuBLAS may be newer than the driver, or the GPU has no memory left",
        ),
        (7, "invalid value"),
        (8, "not for this GPU"),
        (11, "mapping error"),
        (13, "execution failed"),
        (14, "internal error"),
        (15, "not supported"),
    ],
};

/// hipBLAS.
const HIP: LibraryTraits = LibraryTraits {
    library: "hipBLAS",
    create: "hipblasCreate",
    destroy: "hipblasDestroy",
    set_stream: "hipblasSetStream",
    single: "hipblasSgemmStridedBatched",
    double: "hipblasDgemmStridedBatched",
    as_is: 111,
    alloc_failed: 2,
    meanings: &[
        (
            1,
            "not initialised; rocBLAS may be missing, or the GPU has no memory left",
        ),
        (3, "invalid value"),
        (4, "mapping error"),
        (5, "execution failed"),
        (6, "internal error"),
        (7, "not supported"),
        (8, "not for this GPU"),
    ],
};

/// Functions that only NVIDIA's library has.
pub struct NvidiaFunctions {
    pub set_workspace: unsafe extern "C" fn(Handle, *mut c_void, usize) -> Status,
    pub set_math_mode: unsafe extern "C" fn(Handle, c_int) -> Status,
}

/// The functions of the library.
pub struct Symbols {
    pub traits: &'static LibraryTraits,
    pub create: unsafe extern "C" fn(*mut Handle) -> Status,
    pub destroy: unsafe extern "C" fn(Handle) -> Status,
    pub set_stream: unsafe extern "C" fn(Handle, CUstream) -> Status,
    pub single: Multiply,
    pub double: Multiply,
    pub nvidia: Option<NvidiaFunctions>,
    /// File of the library.
    _library: FoundLibrary,
}

impl Symbols {
    /// Returns the functions of the library, which is searched for until it has been found once, for a driver of this
    /// major version.
    pub fn get(platform: Platform, driver: u32) -> Result<&'static Symbols> {
        static OF_CUDA: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        static OF_HIP: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        match platform {
            Platform::Cuda => library::once(&OF_CUDA, || {
                let found = library::load(CUDA.library, "cublas", "nvidia-cublas", Some(driver))?;
                // SAFETY: the types are those of cublas_api.h, the same in CUDA 12 and 13.
                let nvidia = unsafe {
                    NvidiaFunctions {
                        set_workspace: found.get("cublasSetWorkspace_v2")?,
                        set_math_mode: found.get("cublasSetMathMode")?,
                    }
                };
                Symbols::new(&CUDA, found, Some(nvidia))
            }),
            Platform::Hip => library::once(&OF_HIP, || {
                Symbols::new(&HIP, library::load_amd(HIP.library, &hip::BLAS)?, None)
            }),
        }
    }

    fn new(
        traits: &'static LibraryTraits,
        found: FoundLibrary,
        nvidia: Option<NvidiaFunctions>,
    ) -> Result<Symbols> {
        // SAFETY: the types are those of cublas_api.h, the same in CUDA 12 and 13, and of hipblas.h; device pointers
        // are 64 bits.
        unsafe {
            Ok(Symbols {
                traits,
                create: found.get(traits.create)?,
                destroy: found.get(traits.destroy)?,
                set_stream: found.get(traits.set_stream)?,
                single: found.get(traits.single)?,
                double: found.get(traits.double)?,
                nvidia,
                _library: found,
            })
        }
    }
}
