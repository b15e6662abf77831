//! The symbols of NVRTC, and of hiprtc, which has the same functions under other names.

use super::Platform;
use super::library::{self, FoundLibrary};
use mebridge_support::error::Result;
use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::Mutex;

/// A program being compiled.
pub type Program = *mut c_void;
/// Result of a call; 0 on success.
pub type Status = c_int;
/// Type of functions that return a size.
pub type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
/// Type of functions that return one or more numbers.
pub type Numbers = unsafe extern "C" fn(*mut c_int) -> Status;
/// Type of functions that return data of that size.
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
    /// Number of supported architectures, and their list. hiprtc lacks both.
    pub architectures: Option<(Numbers, Numbers)>,
    pub cubin: (Size, Bytes),
    pub ptx: (Size, Bytes),
    pub log: (Size, Bytes),
    /// File of the library.
    pub path: PathBuf,
    _library: FoundLibrary,
}

/// Looks up the functions of a library, whose names start with a prefix. `code` names the function for binary code;
/// there may also be one for PTX.
///
/// # Safety
/// The library is a compiler with this interface.
unsafe fn look_up(found: FoundLibrary, begin: &str, [code, ptx]: [&str; 2]) -> Result<Symbols> {
    // SAFETY: the types are those of nvrtc.h, the same in all versions from CUDA 11.2 on, and of hiprtc.h.
    unsafe {
        let output = |what: &str| -> Result<(Size, Bytes)> {
            Ok((
                found.get(&format!("{begin}Get{what}Size"))?,
                found.get(&format!("{begin}Get{what}"))?,
            ))
        };
        let numbers = |what: &str| found.get::<Numbers>(&format!("{begin}Get{what}")).ok();
        Ok(Symbols {
            create: found.get(&format!("{begin}CreateProgram"))?,
            compile: found.get(&format!("{begin}CompileProgram"))?,
            destroy: found.get(&format!("{begin}DestroyProgram"))?,
            error_string: found.get(&format!("{begin}GetErrorString"))?,
            version: found.get(&format!("{begin}Version"))?,
            architectures: numbers("NumSupportedArchs").zip(numbers("SupportedArchs")),
            cubin: output(code)?,
            ptx: output(ptx)?,
            log: output("ProgramLog")?,
            path: found.path.clone(),
            _library: found,
        })
    }
}

impl Symbols {
    /// Returns the functions of the library, which is searched for until it has been found once. `driver` is the CUDA
    /// major version of the driver, if any.
    pub fn get(platform: Platform, driver: Option<u32>) -> Result<&'static Symbols> {
        static CUDA: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        static HIP: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        match platform {
            Platform::Cuda => library::once(&CUDA, || {
                let found = library::load("NVRTC", "nvrtc", "nvidia-cuda-nvrtc", driver)?;
                // SAFETY: the library is NVRTC.
                unsafe { look_up(found, "nvrtc", ["CUBIN", "PTX"]) }
            }),
            Platform::Hip => library::once(&HIP, || {
                // SAFETY: the library is hiprtc.
                unsafe { look_up(library::hiprtc()?, "hiprtc", ["Code", "Code"]) }
            }),
        }
    }
}
