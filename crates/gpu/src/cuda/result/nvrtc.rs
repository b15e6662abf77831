//! Calls of NVRTC.

use crate::cuda::sys::Platform;
use crate::cuda::sys::nvrtc::{Bytes, Program, Size, Status, Symbols};
use mebridge_support::error::{Error, Result};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The loaded NVRTC library.
#[derive(Clone, Copy)]
pub struct Calls(&'static Symbols);

/// Output of a compiled program.
#[derive(Clone, Copy, Debug)]
pub enum NvrtcOutput {
    /// Binary code for a GPU.
    Cubin,
    /// PTX.
    Ptx,
    /// The compiler's log.
    Log,
}

impl Calls {
    /// Loads NVRTC. `driver` is the CUDA major version of the driver, if any.
    pub fn get(platform: Platform, driver: Option<u32>) -> Result<Calls> {
        Symbols::get(platform, driver).map(Calls)
    }

    /// Returns the file of the library.
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Returns the major and minor version.
    pub fn version(self) -> Result<(c_int, c_int)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the output pointers are valid.
        let status = unsafe { (self.0.version)(&mut major, &mut minor) };
        self.check("nvrtcVersion", status)?;
        Ok((major, minor))
    }

    /// Returns the supported architectures, e.g. 90 for `sm_90`; empty if the library does not report them.
    pub fn architectures(self) -> Result<Vec<u32>> {
        let Some((number, all)) = self.0.architectures else {
            return Ok(Vec::new());
        };
        let mut count = 0;
        // SAFETY: the output pointer is valid.
        let status = unsafe { number(&mut count) };
        self.check("nvrtcGetNumSupportedArchs", status)?;
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the buffer has the reported size.
        let status = unsafe { all(known.as_mut_ptr()) };
        self.check("nvrtcGetSupportedArchs", status)?;
        Ok(known.into_iter().map(c_int::unsigned_abs).collect())
    }

    /// Creates a program without headers.
    pub fn create(self, source: &CStr, name: &CStr) -> Result<Program> {
        let mut program = null_mut();
        let (source, name) = (source.as_ptr(), name.as_ptr());
        // SAFETY: the output pointer is valid, as are the strings, which end in NUL.
        let status = unsafe { (self.0.create)(&mut program, source, name, 0, null(), null()) };
        self.check("nvrtcCreateProgram", status).map(|()| program)
    }

    /// Compiles a program; the error is NVRTC's name of it.
    ///
    /// # Safety
    /// The program is alive.
    pub unsafe fn compile(
        self,
        program: Program,
        options: &[&CStr],
    ) -> std::result::Result<(), String> {
        let words: Vec<*const c_char> = options.iter().map(|word| word.as_ptr()).collect();
        // There are only a few options, far below the limit.
        let count = words.len() as c_int;
        // SAFETY: there are `count` strings; the caller guarantees the rest.
        match unsafe { (self.0.compile)(program, count, words.as_ptr()) } {
            0 => Ok(()),
            status => Err(self.text(status)),
        }
    }

    /// Returns an output of a compiled program.
    ///
    /// # Safety
    /// The program is alive.
    pub unsafe fn output(self, program: Program, output: NvrtcOutput) -> Result<Vec<u8>> {
        let (size, bytes): (Size, Bytes) = match output {
            NvrtcOutput::Cubin => self.0.cubin,
            NvrtcOutput::Ptx => self.0.ptx,
            NvrtcOutput::Log => self.0.log,
        };
        let mut count = 0;
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe { size(program, &mut count) };
        self.check("nvrtcGet...Size", status)?;
        let mut out = vec![0u8; count];
        // SAFETY: the buffer has the reported size; the caller guarantees the rest.
        let status = unsafe { bytes(program, out.as_mut_ptr().cast()) };
        self.check("nvrtcGet...", status).map(|()| out)
    }

    /// Destroys a program.
    ///
    /// # Safety
    /// It was created here and is not used again.
    pub unsafe fn destroy(self, mut program: Program) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.destroy)(&mut program) };
        self.check("nvrtcDestroyProgram", status)
    }

    fn text(self, status: Status) -> String {
        // SAFETY: the function takes any number and returns a constant string or NULL.
        let text = unsafe { (self.0.error_string)(status) };
        if text.is_null() {
            return format!("error {status}");
        }
        // SAFETY: a constant string that ends in NUL.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into()
    }

    fn check(self, call: &'static str, status: Status) -> Result<()> {
        match status {
            0 => Ok(()),
            _ => Err(Error::GpuCall {
                call,
                what: self.text(status),
            }),
        }
    }
}
