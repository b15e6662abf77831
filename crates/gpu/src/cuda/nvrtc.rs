//! NVRTC: the compiler of device code, as a library. It needs neither a GPU nor a driver.

use super::library::{self, Found};
use mebridge_support::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Mutex;

/// What NVRTC calls a program under way.
type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
type Numbers = unsafe extern "C" fn(*mut c_int) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

/// How much of the compiler's messages an error carries.
const LOG: usize = 2000;

/// The functions of the library.
pub struct Nvrtc {
    create: Create,
    compile: Compile,
    destroy: Destroy,
    error_string: ErrorString,
    cubin: (Size, Text),
    ptx: (Size, Text),
    log: (Size, Text),
    /// Its version.
    pub version: (c_int, c_int),
    /// The GPUs that it knows, as 90 for `sm_90`, in ascending order.
    architectures: Vec<u32>,
    /// Where the functions lie.
    library: Found,
}

impl Nvrtc {
    /// The library; looked for once. `driver` is the major version of CUDA of the driver, if any.
    pub fn get(driver: Option<u32>) -> Result<&'static Nvrtc> {
        static LOADED: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(nvrtc) = *loaded {
            return Ok(nvrtc);
        }
        let nvrtc = Box::leak(Box::new(Nvrtc::open(driver)?));
        *loaded = Some(nvrtc);
        Ok(nvrtc)
    }

    fn open(driver: Option<u32>) -> Result<Nvrtc> {
        let found = library::load("NVRTC", "nvrtc", "nvidia-cuda-nvrtc", driver)?;
        let mut version = (0, 0);
        let mut count = 0;
        // SAFETY: the types are those of nvrtc.h, the same in all versions from CUDA 11.2 on, and
        // the places are there.
        unsafe {
            found.get::<Version>("nvrtcVersion")?(&mut version.0, &mut version.1);
            found.get::<Numbers>("nvrtcGetNumSupportedArchs")?(&mut count);
        }
        let mut known: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: as above; there is room for as many as it said.
        unsafe { found.get::<Numbers>("nvrtcGetSupportedArchs")?(known.as_mut_ptr()) };
        let mut architectures: Vec<u32> = known.iter().map(|a| a.unsigned_abs()).collect();
        architectures.sort_unstable();
        // SAFETY: as above.
        unsafe {
            Ok(Nvrtc {
                create: found.get("nvrtcCreateProgram")?,
                compile: found.get("nvrtcCompileProgram")?,
                destroy: found.get("nvrtcDestroyProgram")?,
                error_string: found.get("nvrtcGetErrorString")?,
                cubin: (found.get("nvrtcGetCUBINSize")?, found.get("nvrtcGetCUBIN")?),
                ptx: (found.get("nvrtcGetPTXSize")?, found.get("nvrtcGetPTX")?),
                log: (
                    found.get("nvrtcGetProgramLogSize")?,
                    found.get("nvrtcGetProgramLog")?,
                ),
                version,
                architectures,
                library: found,
            })
        }
    }

    /// The best target for a GPU: its own code, `sm_90`, or where the library does not know the GPU
    /// the code of the last one before it, `compute_90`, for the driver to compile on.
    pub fn target(&self, capability: (u32, u32)) -> Result<String> {
        let own = capability.0 * 10 + capability.1;
        match self.architectures.iter().rfind(|known| **known <= own) {
            Some(known) if *known == own => Ok(format!("sm_{own}")),
            Some(known) => Ok(format!("compute_{known}")),
            None => Err(Error::GpuCompile {
                compiler: self.name(),
                log: format!(
                    "this GPU (sm_{own}) is older than all that it knows; install an older CUDA \
                     toolkit, or set CUDACPP_RUNTIME_BACKEND=cpu"
                ),
            }),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        format!(
            "NVRTC {}.{} ({})",
            self.version.0,
            self.version.1,
            self.library.path.display()
        )
    }

    /// Compiles for `sm_90` to the code of that GPU, for `compute_90` to PTX.
    pub fn compile(&self, architecture: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
        let refused = |log: String| Error::GpuCompile {
            compiler: format!("{} for {architecture}", self.name()),
            log,
        };
        let text = |text: &str| {
            CString::new(text).map_err(|_| refused("source or option with a NUL".into()))
        };
        let source = text(source)?;
        let mut words = vec![text(&format!("--gpu-architecture={architecture}"))?];
        for option in options {
            words.push(text(option)?);
        }
        let words: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let mut program = Under {
            nvrtc: self,
            program: std::ptr::null_mut(),
        };
        // SAFETY: texts that end in NUL and outlive the call; no headers.
        let created = unsafe {
            (self.create)(
                &mut program.program,
                source.as_ptr(),
                c"mebridge.cu".as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        self.check("nvrtcCreateProgram", created)?;
        // A few options, far below the limit.
        let count = words.len() as c_int;
        // SAFETY: as many texts as it is told, alive.
        let compiled = unsafe { (self.compile)(program.program, count, words.as_ptr()) };
        if compiled != 0 {
            let log = program.bytes(self.log).unwrap_or_default();
            let log: String = String::from_utf8_lossy(&log)
                .trim_end_matches('\0')
                .chars()
                .take(LOG)
                .collect();
            return Err(refused(format!("{}\n{log}", self.text(compiled))));
        }
        program.bytes(if architecture.starts_with("sm_") {
            self.cubin
        } else {
            self.ptx
        })
    }

    fn text(&self, code: c_int) -> String {
        // SAFETY: it takes any number, and gives a constant or NULL.
        let text = unsafe { (self.error_string)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: a constant text that ends in NUL.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into()
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            _ => Err(Error::GpuCall {
                call,
                what: self.text(code),
            }),
        }
    }
}

/// A program under way.
struct Under<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Under<'_> {
    fn bytes(&self, (size, text): (Size, Text)) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is there, and so is the place.
        let asked = unsafe { size(self.program, &mut bytes) };
        self.nvrtc.check("nvrtcGet...Size", asked)?;
        let mut out = vec![0; bytes];
        // SAFETY: as much room as it said.
        let given = unsafe { text(self.program, out.as_mut_ptr().cast()) };
        self.nvrtc.check("nvrtcGet...", given)?;
        Ok(out)
    }
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: it was created, and nothing uses it any more.
            unsafe { (self.nvrtc.destroy)(&mut self.program) };
        }
    }
}
