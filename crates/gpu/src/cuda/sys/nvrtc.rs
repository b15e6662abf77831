//! The symbols of NVRTC.

use super::library::{self, FoundLibrary};
use mebridge_support::error::Result;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

/// A program under way.
pub type Program = *mut c_void;
/// What a call returns; 0 if all is well.
pub type Status = c_int;
/// A size of something.
pub type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
/// As many bytes of it.
pub type Bytes = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// The functions of the library.
pub struct Symbols {
    pub create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    pub compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    pub destroy: unsafe extern "C" fn(*mut Program) -> Status,
    pub error_string: unsafe extern "C" fn(Status) -> *const c_char,
    pub version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    pub architecture_count: unsafe extern "C" fn(*mut c_int) -> Status,
    pub architectures: unsafe extern "C" fn(*mut c_int) -> Status,
    pub cubin: (Size, Bytes),
    pub ptx: (Size, Bytes),
    pub log: (Size, Bytes),
    /// Where they lie.
    pub library: FoundLibrary,
}

impl Symbols {
    /// Those of the library, which is looked for until it is found once. `driver` is the major version of CUDA of the
    /// driver, if any.
    pub fn get(driver: Option<u32>) -> Result<&'static Symbols> {
        static LOADED: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        library::once(&LOADED, || {
            let found = library::load("NVRTC", "nvrtc", "nvidia-cuda-nvrtc", driver)?;
            // SAFETY: the types are those of nvrtc.h, the same in all versions from CUDA 11.2 on.
            unsafe {
                Ok(Symbols {
                    create: found.get("nvrtcCreateProgram")?,
                    compile: found.get("nvrtcCompileProgram")?,
                    destroy: found.get("nvrtcDestroyProgram")?,
                    error_string: found.get("nvrtcGetErrorString")?,
                    version: found.get("nvrtcVersion")?,
                    architecture_count: found.get("nvrtcGetNumSupportedArchs")?,
                    architectures: found.get("nvrtcGetSupportedArchs")?,
                    cubin: (found.get("nvrtcGetCUBINSize")?, found.get("nvrtcGetCUBIN")?),
                    ptx: (found.get("nvrtcGetPTXSize")?, found.get("nvrtcGetPTX")?),
                    log: (
                        found.get("nvrtcGetProgramLogSize")?,
                        found.get("nvrtcGetProgramLog")?,
                    ),
                    library: found,
                })
            }
        })
    }
}
