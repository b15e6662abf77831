//! Calls of NVRTC.

use crate::cuda::sys::Platform;
use crate::cuda::sys::nvrtc::{Bytes, Program, Size, Status, Symbols};
use mebridge_support::error::{Error, Result};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// NVRTC, loaded.
#[derive(Clone, Copy)]
pub struct Calls(&'static Symbols);

/// What a compiled program has.
#[derive(Clone, Copy, Debug)]
pub enum NvrtcOutput {
    /// The code of a GPU.
    Cubin,
    /// PTX.
    Ptx,
    /// What the compiler said.
    Log,
}

impl Calls {
    /// NVRTC, for a driver of this major version of CUDA, if there is one.
    pub fn get(platform: Platform, driver: Option<u32>) -> Result<Calls> {
        Symbols::get(platform, driver).map(Calls)
    }

    /// The file of the library.
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Major and minor version.
    pub fn version(self) -> Result<(c_int, c_int)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the places are there.
        let status = unsafe { (self.0.version)(&mut major, &mut minor) };
        self.check("nvrtcVersion", status)?;
        Ok((major, minor))
    }

    /// The GPUs that it knows, as 90 for `sm_90`; none where it does not say.
    pub fn architectures(self) -> Result<Vec<u32>> {
        let Some((number, all)) = self.0.architectures else {
            return Ok(Vec::new());
        };
        let mut count = 0;
        // SAFETY: the place is there.
        let status = unsafe { number(&mut count) };
        self.check("nvrtcGetNumSupportedArchs", status)?;
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: there is room for as many as it said.
        let status = unsafe { all(known.as_mut_ptr()) };
        self.check("nvrtcGetSupportedArchs", status)?;
        Ok(known.into_iter().map(c_int::unsigned_abs).collect())
    }

    /// A new program without headers.
    pub fn create(self, source: &CStr, name: &CStr) -> Result<Program> {
        let mut program = null_mut();
        let (source, name) = (source.as_ptr(), name.as_ptr());
        // SAFETY: the place is there, and so are the texts, which end in NUL.
        let status = unsafe { (self.0.create)(&mut program, source, name, 0, null(), null()) };
        self.check("nvrtcCreateProgram", status).map(|()| program)
    }

    /// Compiles it; an error is what NVRTC calls it.
    ///
    /// # Safety
    /// The program is alive.
    pub unsafe fn compile(
        self,
        program: Program,
        options: &[&CStr],
    ) -> std::result::Result<(), String> {
        let words: Vec<*const c_char> = options.iter().map(|word| word.as_ptr()).collect();
        // A few options, far below the limit.
        let count = words.len() as c_int;
        // SAFETY: there are `count` texts; the rest is the caller's promise.
        match unsafe { (self.0.compile)(program, count, words.as_ptr()) } {
            0 => Ok(()),
            status => Err(self.text(status)),
        }
    }

    /// What a program was compiled to.
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
        // SAFETY: the place is there; the rest is the caller's promise.
        let status = unsafe { size(program, &mut count) };
        self.check("nvrtcGet...Size", status)?;
        let mut out = vec![0u8; count];
        // SAFETY: as much room as it said; the rest is the caller's promise.
        let status = unsafe { bytes(program, out.as_mut_ptr().cast()) };
        self.check("nvrtcGet...", status).map(|()| out)
    }

    /// Gives a program back.
    ///
    /// # Safety
    /// It was created, and nothing will use it.
    pub unsafe fn destroy(self, mut program: Program) -> Result<()> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.0.destroy)(&mut program) };
        self.check("nvrtcDestroyProgram", status)
    }

    fn text(self, status: Status) -> String {
        // SAFETY: it takes any number, and gives a constant or NULL.
        let text = unsafe { (self.0.error_string)(status) };
        if text.is_null() {
            return format!("error {status}");
        }
        // SAFETY: a constant text that ends in NUL.
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
