//! The symbols of NVRTC, and of hiprtc, which has the same by other names.

use super::Platform;
use super::library::{self, FoundLibrary};
use mebridge_support::error::Result;
use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::Mutex;

/// A program under way.
pub type Program = *mut c_void;
/// What a call returns; 0 if all is well.
pub type Status = c_int;
/// A size of something.
pub type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
/// A number, or several.
pub type Numbers = unsafe extern "C" fn(*mut c_int) -> Status;
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
    /// How many GPUs it knows, and these. hiprtc does not say.
    pub architectures: Option<(Numbers, Numbers)>,
    pub cubin: (Size, Bytes),
    pub ptx: (Size, Bytes),
    pub log: (Size, Bytes),
    /// Where they lie.
    pub path: PathBuf,
    _library: FoundLibrary,
}

/// Looks up the functions of a library, whose names begin so; code of a GPU is got by `code`, and PTX where there is any.
///
/// # Safety
/// The library is a compiler of this interface.
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
    /// Those of the library, which is looked for until it is found once. `driver` is the major version of CUDA of the
    /// driver, if any.
    pub fn get(platform: Platform, driver: Option<u32>) -> Result<&'static Symbols> {
        static CUDA: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        static HIP: Mutex<Option<&'static Symbols>> = Mutex::new(None);
        match platform {
            Platform::Cuda => library::once(&CUDA, || {
                let found = library::load("NVRTC", "nvrtc", "nvidia-cuda-nvrtc", driver)?;
                // SAFETY: it is NVRTC.
                unsafe { look_up(found, "nvrtc", ["CUBIN", "PTX"]) }
            }),
            Platform::Hip => library::once(&HIP, || {
                // SAFETY: it is hiprtc.
                unsafe { look_up(library::hiprtc()?, "hiprtc", ["Code", "Code"]) }
            }),
        }
    }
}
