//! Parts of HIP that differ from CUDA: library paths, contexts, attributes of GPUs.
//!
//! HIP has no real contexts: each thread always has a current GPU. Therefore a context represents a GPU here, and
//! pushing it sets the current GPU until it is popped.

#![allow(non_snake_case)]

use super::{INVALID_VALUE, SUCCESS, Status};
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute as Attribute, CUfunction, CUfunction_attribute,
};
use libloading::Library;
use mebridge_support::runtime::environment;
use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Environment variable with a folder that is searched first.
pub const FOLDER: &str = "MEBRIDGE_HIP";
/// Names of the driver library in the supported versions.
const DRIVER: [&str; 3] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"];
/// Names of the compiler library; before version 6 the driver library contains it.
pub const COMPILER: [&str; 5] = [
    "libhiprtc.so.7",
    "libhiprtc.so.6",
    "libhiprtc.so",
    "libamdhip64.so",
    "libamdhip64.so.5",
];

/// Names of the hipBLAS library.
pub const BLAS: [&str; 3] = ["libhipblas.so.3", "libhipblas.so.2", "libhipblas.so"];

/// Returns the folders to search, best first; the empty one stands for the system's loader.
pub fn places() -> Vec<PathBuf> {
    let set = |name: &str| {
        environment::variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let mut places: Vec<PathBuf> = set(FOLDER).into_iter().collect();
    places.push(PathBuf::new());
    let roots = ["ROCM_PATH", "HIP_PATH", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| set(name));
    places.extend(
        roots
            .chain([PathBuf::from("/opt/rocm")])
            .map(|root| root.join("lib")),
    );
    places
}

/// Returns whether AMD's libraries should be loaded without a request: they are large. On Linux, AMD GPUs appear as a
/// device file.
pub fn is_likely() -> bool {
    let named = environment::variable(FOLDER).is_some_and(|folder| !folder.is_empty());
    named
        || ["/dev/kfd", "/dev/dxg"]
            .iter()
            .any(|device| Path::new(device).exists())
}

/// Loads the first of these files that exists, and returns it with its path.
pub fn load(files: &[&str]) -> Result<(PathBuf, Library), libloading::Error> {
    let mut last = None;
    for place in places() {
        for file in files {
            let path = Path::new(&place).join(file);
            // SAFETY: initialisation of AMD's library has no preconditions.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Ok((path, library)),
                // The system's loader gives the most informative error.
                Err(error) if place.as_os_str().is_empty() => last = last.or(Some(error)),
                Err(_) => {}
            }
        }
    }
    Err(last.unwrap_or(libloading::Error::DlOpenUnknown))
}

/// Returns the driver library. If the program has already loaded one, it is used, because the program's streams and
/// addresses belong to it.
pub fn library() -> Result<Library, libloading::Error> {
    #[cfg(unix)]
    for name in DRIVER {
        use libloading::os::unix;
        let only_there = libc::RTLD_NOLOAD | unix::RTLD_NOW;
        // SAFETY: nothing is loaded here.
        let there = unsafe { unix::Library::open(Some(name), only_there) };
        if let Ok(library) = there {
            return Ok(library.into());
        }
    }
    load(&DRIVER).map(|(_, library)| library)
}

/// HIP functions called by the functions below.
struct Raw {
    get_device: unsafe extern "C" fn(*mut c_int) -> Status,
    set_device: unsafe extern "C" fn(c_int) -> Status,
    attribute: unsafe extern "C" fn(*mut c_int, c_uint, c_int) -> Status,
    properties: unsafe extern "C" fn(*mut c_void, c_int) -> Status,
}

static RAW: OnceLock<Raw> = OnceLock::new();

/// Looks up the functions of `Raw`.
pub fn look_up(library: &Library) -> Result<(), libloading::Error> {
    // SAFETY: the types are those of hip_runtime_api.h.
    let raw = unsafe {
        Raw {
            get_device: *library.get("hipGetDevice")?,
            set_device: *library.get("hipSetDevice")?,
            attribute: *library.get("hipDeviceGetAttribute")?,
            properties: *library.get("hipGetDevicePropertiesR0600")?,
        }
    };
    // Once is enough: there is one driver.
    let _ = RAW.set(raw);
    Ok(())
}

/// `hipErrorNotInitialized`: the functions have not been looked up.
const NOT_INITIALIZED: Status = 3;

fn raw(call: impl FnOnce(&Raw) -> Status) -> Status {
    RAW.get().map_or(NOT_INITIALIZED, call)
}

thread_local! {
    /// Stack of GPUs that were current before others were pushed.
    static BEFORE: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
}

fn context_of(device: c_int) -> CUcontext {
    std::ptr::without_provenance_mut(device as usize + 1)
}

/// The context is the GPU itself.
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    device: CUdevice,
) -> Status {
    // SAFETY: the caller passes a valid output pointer.
    unsafe { context.write(context_of(device)) };
    SUCCESS
}

pub unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(_: CUdevice) -> Status {
    SUCCESS
}

pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut CUcontext) -> Status {
    let mut device = 0;
    // SAFETY: the output pointer is valid, as is the caller's.
    unsafe {
        let status = raw(|raw| (raw.get_device)(&mut device));
        context.write(context_of(device));
        status
    }
}

pub unsafe extern "C" fn cuCtxGetDevice(device: *mut CUdevice) -> Status {
    // SAFETY: the caller passes a valid output pointer.
    raw(|raw| unsafe { (raw.get_device)(device) })
}

pub unsafe extern "C" fn cuCtxPushCurrent_v2(context: CUcontext) -> Status {
    let mut before = 0;
    raw(|raw| {
        // SAFETY: the output pointer is valid.
        let status = unsafe { (raw.get_device)(&mut before) };
        if status != SUCCESS {
            return status;
        }
        // SAFETY: the function takes only a number, which it checks.
        let status = unsafe { (raw.set_device)((context.addr() - 1) as c_int) };
        if status == SUCCESS {
            BEFORE.with_borrow_mut(|all| all.push(before));
        }
        status
    })
}

pub unsafe extern "C" fn cuCtxPopCurrent_v2(_: *mut CUcontext) -> Status {
    match BEFORE.with_borrow_mut(Vec::pop) {
        // SAFETY: the function takes only a number, which it checks.
        Some(before) => raw(|raw| unsafe { (raw.set_device)(before) }),
        None => INVALID_VALUE,
    }
}

/// HIP needs no opt-in for large shared memory.
pub unsafe extern "C" fn cuFuncSetAttribute(
    _: CUfunction,
    _: CUfunction_attribute,
    _: c_int,
) -> Status {
    SUCCESS
}

/// Maps attributes to the numbers of `hipDeviceAttribute_t`.
pub unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: Attribute,
    device: CUdevice,
) -> Status {
    let number = match attribute {
        Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 5,
        Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 19,
        Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => 59,
        Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 60,
        Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 63,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 74,
        Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 87,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => 10_002,
        _ => return INVALID_VALUE,
    };
    // SAFETY: the caller passes a valid output pointer.
    raw(|raw| unsafe { (raw.attribute)(value, number, device) })
}

/// Size in bytes of a buffer for `hipDeviceProp_tR0600`, with a reserve, and the offset of `gcnArchName` in it.
const PROPERTIES: usize = 4096;
const ARCHITECTURE: usize = 1160;

/// Returns the compiler's name of an AMD GPU, e.g. `gfx90a:sramecc+:xnack-`.
pub fn architecture(device: CUdevice) -> Result<String, Status> {
    let mut properties = vec![0u64; PROPERTIES / 8];
    // SAFETY: the buffer is larger than the structure.
    let status = raw(|raw| unsafe { (raw.properties)(properties.as_mut_ptr().cast(), device) });
    if status != SUCCESS {
        return Err(status);
    }
    let bytes = properties.iter().flat_map(|word| word.to_ne_bytes());
    let name: Vec<u8> = bytes
        .skip(ARCHITECTURE)
        .take_while(|byte| *byte != 0)
        .collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}
