//! Device code as a shared object.

use crate::memory::wrong;
use mebridge_driver::Shape;
use mebridge_support::error::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Also compiles device code for a real GPU with the same options, and fails if that fails.
pub type DeviceCompiler = fn(&str, &[String]) -> Result<()>;

/// Header that lets a C++ compiler read CUDA.
const HOST: &str = include_str!("../../../cuda/host.h");

/// A program of [`compile`], set once a thread has compiled it.
type CompiledProgram = Arc<Mutex<Option<Vec<u8>>>>;

/// All programs by their inputs, as many tests compile the same code.
static COMPILED: Mutex<BTreeMap<String, CompiledProgram>> = Mutex::new(BTreeMap::new());

/// Compiles device code in a folder, after the GPU compiler has accepted it. Only options that define macros are used
/// here.
pub(crate) fn compile(
    source: &str,
    options: &[String],
    folder: &Path,
    compiler: &Path,
    device_compiler: DeviceCompiler,
) -> Result<Vec<u8>> {
    let key = format!("{options:?}\n{source}");
    let name = blake3::hash(key.as_bytes()).to_hex();
    let slot = {
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.entry(key).or_default().clone()
    };
    // Other threads that need the same program wait here.
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(image) = &*slot {
        return Ok(image.clone());
    }
    device_compiler(source, options)?;
    let (text, object) = (
        folder.join(format!("{name}.cc")),
        folder.join(format!("{name}.so")),
    );
    let whole = format!("{HOST}\n#line 1 \"device.cu\"\n{source}");
    std::fs::write(&text, whole).map_err(Error::io(&text))?;
    let mut command = Command::new(compiler);
    command
        .args(["-O0", "-ffp-contract=off", "-std=c++17", "-fPIC", "-shared"])
        .args(["-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function"]);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        command.arg("-mfma");
    }
    command
        .args(options.iter().filter(|option| option.starts_with("-D")))
        .args([text.as_os_str(), "-o".as_ref(), object.as_os_str()]);
    let output = command.output().map_err(Error::io(compiler))?;
    if !output.status.success() {
        return Err(wrong(format!(
            "{} does not compile the device code: {}",
            compiler.display(),
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    let image = std::fs::read(&object).map_err(Error::io(&object))?;
    Ok(slot.insert(image).clone())
}

/// Returns the last error message of the dynamic loader.
fn complaint() -> String {
    // SAFETY: dlerror returns null or a C string that lives until the next call from this thread.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "no reason given".to_owned(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// Type of `emulator_launch` in host.h: kernel, arguments, blocks and threads, bytes of shared memory, and the failing
/// block.
type Launch = unsafe extern "C" fn(usize, *const u64, *const u32, u32, *mut u32) -> i32;

/// A loaded shared object, closed on drop.
pub(crate) struct Library {
    handle: usize,
    launch: Launch,
}

impl Library {
    /// Loads a shared object from a file.
    pub(crate) fn open(path: &Path) -> Result<Library> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path");
        // SAFETY: the path is a C string, and a library compiled from host.h and device code runs nothing when it is
        // loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(wrong(format!("no program: {}", complaint())));
        }
        let handle = handle as usize;
        let launch = symbol(handle, "emulator_launch")?;
        // SAFETY: this is the type of the function in host.h.
        let launch = unsafe { std::mem::transmute::<usize, Launch>(launch) };
        Ok(Library { handle, launch })
    }

    /// Returns the address of a kernel.
    pub(crate) fn kernel(&self, name: &str) -> Result<usize> {
        symbol(self.handle, name)
    }

    /// Runs a kernel block by block, with all threads of each block.
    ///
    /// # Safety
    /// The kernel belongs to this library and expects a structure of these bytes, whose pointers and sizes are valid.
    pub(crate) unsafe fn run(&self, kernel: usize, shape: Shape, arguments: &[u64]) -> Result<()> {
        let ([x, y, z], [i, j, k]) = (shape.blocks, shape.threads);
        let (sizes, mut block) = ([x, y, z, i, j, k], [0; 3]);
        // SAFETY: the kernel belongs to this library, and the arrays hold all numbers. The caller guarantees the rest.
        let wrong_how = unsafe {
            let (sizes, block) = (sizes.as_ptr(), block.as_mut_ptr());
            (self.launch)(kernel, arguments.as_ptr(), sizes, shape.shared, block)
        };
        match wrong_how {
            0 => Ok(()),
            1 => Err(wrong(format!(
                "block {block:?} wrote past its shared memory"
            ))),
            2 => Err(wrong(format!(
                "threads of block {block:?} do not meet at barriers"
            ))),
            _ => Err(wrong(format!(
                "no room for blocks of {i} x {j} x {k} threads"
            ))),
        }
    }
}

fn symbol(handle: usize, name: &str) -> Result<usize> {
    let text = CString::new(name).map_err(|_| wrong(format!("{name:?} is no name")))?;
    // SAFETY: an open handle and a C string.
    let found = unsafe { libc::dlsym(handle as *mut c_void, text.as_ptr()) };
    match found.is_null() {
        true => Err(wrong(format!("no kernel {name}: {}", complaint()))),
        false => Ok(found as usize),
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the library was opened, and no code calls into it any more.
        unsafe { libc::dlclose(self.handle as *mut c_void) };
    }
}
