//! Device code as a shared object.

use crate::memory::wrong;
use mebridge_driver::Shape;
use mebridge_support::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Also compiles device code for a real GPU with the same options, and fails if that fails.
pub type DeviceCompiler = fn(&str, &[String]) -> Result<()>;

/// Header that lets a C++ compiler read CUDA.
const HOST: &str = include_str!("../../../cuda/host.h");

/// What most programs begin with ends with this text.
const LAST_OF_HEADER: &str = include_str!("../../../cuda/operations.cuh");

/// A file that the compiler has made.
type Image = Arc<[u8]>;
/// Files by their inputs, set once a thread has compiled them.
type Compiled = Mutex<BTreeMap<String, Arc<Mutex<Option<Image>>>>>;

/// All programs of [`compile`], as many tests compile the same code.
static PROGRAMS: Compiled = Mutex::new(BTreeMap::new());
/// Precompiled headers: to read them takes longer than what follows.
static HEADERS: Compiled = Mutex::new(BTreeMap::new());

/// Programs that the GPU compiler has read, whatever their precision: it takes a third as long as the machine's.
static CHECKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Returns what was compiled from an input, or compiles it; other threads that need the same wait.
fn once(
    compiled: &Compiled,
    input: &str,
    compile: impl FnOnce() -> Result<Image>,
) -> Result<Image> {
    let slot = {
        let mut compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.entry(input.to_owned()).or_default().clone()
    };
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    match &*slot {
        Some(image) => Ok(image.clone()),
        None => Ok(slot.insert(compile()?).clone()),
    }
}

/// Compiles device code in a folder, after the GPU compiler has accepted it in one precision. Only options that define
/// macros are used here.
pub(crate) fn compile(
    source: &str,
    options: &[String],
    folder: &Path,
    compiler: &Path,
    device_compiler: DeviceCompiler,
) -> Result<Vec<u8>> {
    let key = format!("{options:?}\n{source}");
    let image = once(&PROGRAMS, &key, || {
        let program = key.replace("#define REAL float", "#define REAL double");
        let program = program.replace("#define COLOR float", "#define COLOR double");
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = checked.insert(program);
        drop(checked);
        if is_new {
            device_compiler(source, options)?;
        }
        let run = |more: &[&OsStr]| run(compiler, options, more);
        let whole = format!("{HOST}\n#line 1 \"device.cu\"\n{source}");
        let end = whole.find(LAST_OF_HEADER);
        let (header, rest) = whole.split_at(end.map_or(0, |at| at + LAST_OF_HEADER.len()));
        let name = blake3::hash(key.as_bytes()).to_hex();
        let mut text = String::new();
        if !header.is_empty() {
            let key = format!("{options:?}\n{header}");
            let name = blake3::hash(key.as_bytes()).to_hex();
            let [plain, precompiled] =
                ["h", "h.gch"].map(|kind| folder.join(format!("{name}.{kind}")));
            write(&plain, header.as_bytes())?;
            let image = once(&HEADERS, &key, || {
                let kind: [&OsStr; 2] = ["-x".as_ref(), "c++-header".as_ref()];
                let files = [plain.as_os_str(), "-o".as_ref(), precompiled.as_os_str()];
                run(&[&kind[..], &files].concat())?;
                read(&precompiled)
            })?;
            write(&precompiled, &image)?;
            text = format!("#include \"{name}.h\"\n");
        }
        text.push_str(rest);
        let [from, to] = ["cc", "so"].map(|kind| folder.join(format!("{name}.{kind}")));
        write(&from, text.as_bytes())?;
        // Functions of C are found in the program that loads it: a linker that reads the libraries takes three times as
        // long.
        let libraries = ["-shared", "-nostdlib", "-lgcc"].map(OsStr::new);
        let files = [from.as_os_str(), "-o".as_ref(), to.as_os_str()];
        run(&[&files[..], &libraries].concat())?;
        read(&to)
    })?;
    Ok(image.to_vec())
}

fn read(path: &Path) -> Result<Image> {
    Ok(std::fs::read(path).map_err(Error::io(path))?.into())
}

/// Writes a file that is not there; at once, as a compiler of another thread may look for it.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let own = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&own, bytes).map_err(Error::io(&own))?;
    std::fs::rename(&own, path).map_err(Error::io(path))
}

/// Runs the C++ compiler with the options of all files.
fn run(compiler: &Path, options: &[String], more: &[&OsStr]) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(["-O0", "-ffp-contract=off", "-std=c++17", "-fPIC", "-w"]);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        command.arg("-mfma");
    }
    command
        .args(options.iter().filter(|option| option.starts_with("-D")))
        .args(more);
    let output = command.output().map_err(Error::io(compiler))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(wrong(format!(
            "{} does not compile the device code: {}",
            compiler.display(),
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
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
