//! NVRTC or hiprtc: the device code compiler as a library. It needs neither a GPU nor a driver.

use crate::cuda::result::nvrtc::{Calls, NvrtcOutput};
use crate::cuda::sys::Platform;
use crate::cuda::sys::library;
use crate::cuda::sys::nvrtc::Program as RawProgram;
use crate::driver::Architecture;
use mebridge_support::error::{Error, Result};
use std::ffi::{CStr, CString, c_int};
use std::sync::Mutex;

/// Maximum length of the compiler messages quoted in an error.
const LOG: usize = 2000;

/// The device code compiler.
pub struct Nvrtc {
    platform: Platform,
    calls: Calls,
    /// Its major and minor version.
    pub version: (c_int, c_int),
    /// Supported architectures in ascending order, e.g. 90 for `sm_90`.
    architectures: Vec<u32>,
}

impl Nvrtc {
    /// Returns the compiler, which is looked up once. `driver` is the CUDA major version of the driver, if any.
    pub fn get(platform: Platform, driver: Option<u32>) -> Result<&'static Nvrtc> {
        static CUDA: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);
        static HIP: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);
        let open = match platform {
            Platform::Cuda => &CUDA,
            Platform::Hip => &HIP,
        };
        library::once(open, || {
            let calls = Calls::get(platform, driver)?;
            let mut architectures = calls.architectures()?;
            architectures.sort_unstable();
            Ok(Nvrtc {
                platform,
                calls,
                version: calls.version()?,
                architectures,
            })
        })
    }

    /// Returns the best target for a GPU: its own architecture, e.g. `sm_90`, or, if the library does not know it, PTX
    /// for the closest older one, e.g. `compute_90`, which the driver then compiles.
    pub fn target(&self, architecture: &Architecture) -> Result<String> {
        let own = match architecture {
            Architecture::Capability(major, minor) => major * 10 + minor,
            Architecture::Gfx(name) => return Ok(name.clone()),
        };
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

    /// Returns the name of its library.
    pub fn library(&self) -> &'static str {
        match self.platform {
            Platform::Cuda => "NVRTC",
            Platform::Hip => "hiprtc",
        }
    }

    /// Returns its name.
    pub fn name(&self) -> String {
        let (major, minor) = self.version;
        format!(
            "{} {major}.{minor} ({})",
            self.library(),
            self.calls.path().display()
        )
    }

    /// Compiles to binary code for targets such as `sm_90` or `gfx90a`, and to PTX for `compute_90`. Options that only
    /// NVRTC supports are removed for hiprtc.
    pub fn compile(&self, architecture: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
        let output = match architecture.starts_with("compute_") {
            true => NvrtcOutput::Ptx,
            false => NvrtcOutput::Cubin,
        };
        self.program(architecture, source, options)?.output(output)
    }

    /// Checks that device code is valid. With `-dlto`, optimisation and PTX generation, which take most of the time,
    /// are left to a linker, which is not called.
    pub fn check(&self, architecture: &str, source: &str, options: &[String]) -> Result<()> {
        let mut options = options.to_vec();
        options.push("-dlto".to_owned());
        self.program(architecture, source, &options).map(drop)
    }

    /// Compiles a program.
    fn program(&self, architecture: &str, source: &str, options: &[String]) -> Result<Program> {
        let refused = |log: String| Error::GpuCompile {
            compiler: format!("{} for {architecture}", self.name()),
            log,
        };
        let text = |text: &str| {
            CString::new(text).map_err(|_| refused("source or option with a NUL".into()))
        };
        let source = text(source)?;
        let mut words = vec![text(&format!("--gpu-architecture={architecture}"))?];
        let taken = |option: &&String| self.platform == Platform::Cuda || is_for_all(option);
        for option in options.iter().filter(taken) {
            words.push(text(option)?);
        }
        let words: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
        let program = Program {
            calls: self.calls,
            raw: self.calls.create(&source, c"mebridge.cu")?,
        };
        if let Err(error) = program.compile(&words) {
            let log = program.output(NvrtcOutput::Log).unwrap_or_default();
            let log: String = String::from_utf8_lossy(&log)
                .trim_end_matches('\0')
                .chars()
                .take(LOG)
                .collect();
            return Err(refused(format!("{error}\n{log}")));
        }
        Ok(program)
    }
}

/// Returns whether clang also has this NVRTC option.
fn is_for_all(option: &str) -> bool {
    option.starts_with("-D") || option.starts_with("--std=") || option == "-w"
}

/// A program being compiled.
struct Program {
    calls: Calls,
    raw: RawProgram,
}

impl Program {
    fn compile(&self, options: &[&CStr]) -> std::result::Result<(), String> {
        // SAFETY: the program is alive.
        unsafe { self.calls.compile(self.raw, options) }
    }

    fn output(&self, output: NvrtcOutput) -> Result<Vec<u8>> {
        // SAFETY: the program is alive.
        unsafe { self.calls.output(self.raw, output) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was created here and is owned by `self` alone.
        let _ = unsafe { self.calls.destroy(self.raw) };
    }
}
