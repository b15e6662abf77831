//! Arrays of UMAMI: in this program's memory, or in that of the first GPU by a few functions of NVIDIA's driver,
//! `libcuda`. Copies and waiting are those of the legacy default stream.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// A GPU whose context is this thread's.
pub struct Device {
    alloc: unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
    to_device: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    from_device: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int,
    wait: unsafe extern "C" fn() -> c_int,
    info: unsafe extern "C" fn(*mut usize, *mut usize) -> c_int,
}

/// What a status of the driver means.
fn done(what: &str, status: c_int) -> Result<(), String> {
    match status {
        0 => Ok(()),
        _ => Err(format!("{what} of NVIDIA's driver gave the error {status}")),
    }
}

impl Device {
    /// The first GPU.
    pub fn open() -> Result<Device, String> {
        // SAFETY: libcuda needs nothing of its caller's when it is loaded; signatures are those of cuda.h.
        unsafe {
            let driver = libloading::Library::new("libcuda.so.1")
                .map_err(|e| format!("there is no driver of NVIDIA's: {e}"))?;
            let driver: &'static libloading::Library = Box::leak(Box::new(driver));
            let init = driver.get::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit");
            let retain = driver.get::<unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int>(
                "cuDevicePrimaryCtxRetain",
            );
            let current =
                driver.get::<unsafe extern "C" fn(*mut c_void) -> c_int>("cuCtxSetCurrent");
            let lacks = |e: libloading::Error| format!("the driver lacks a function: {e}");
            done("cuInit", init.map_err(lacks)?(0))?;
            let mut context = ptr::null_mut();
            done(
                "cuDevicePrimaryCtxRetain",
                retain.map_err(lacks)?(&mut context, 0),
            )?;
            done("cuCtxSetCurrent", current.map_err(lacks)?(context))?;
            Ok(Device {
                alloc: *driver.get("cuMemAlloc_v2").map_err(lacks)?,
                free: *driver.get("cuMemFree_v2").map_err(lacks)?,
                to_device: *driver.get("cuMemcpyHtoD_v2").map_err(lacks)?,
                from_device: *driver.get("cuMemcpyDtoH_v2").map_err(lacks)?,
                wait: *driver.get("cuCtxSynchronize").map_err(lacks)?,
                info: *driver.get("cuMemGetInfo_v2").map_err(lacks)?,
            })
        }
    }

    /// Waits until all work is done.
    pub fn wait(&self) -> Result<(), String> {
        // SAFETY: the context is there as long as the program.
        done("cuCtxSynchronize", unsafe { (self.wait)() })
    }

    /// Bytes that nobody has taken.
    pub fn free_bytes(&self) -> Result<usize, String> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are written; the context is there as long as the program.
        done("cuMemGetInfo", unsafe {
            (self.info)(&mut free, &mut total)
        })?;
        Ok(free)
    }
}

/// Arrays that keep their addresses, and go when this goes.
pub struct Arrays<'a> {
    device: Option<&'a Device>,
    /// Those of this program, in words of 8 bytes so that any number is aligned in them.
    here: Vec<Vec<u64>>,
    there: Vec<*mut c_void>,
}

impl<'a> Arrays<'a> {
    /// None so far.
    pub fn new(device: Option<&'a Device>) -> Arrays<'a> {
        Arrays {
            device,
            here: Vec::new(),
            there: Vec::new(),
        }
    }

    /// An array with these numbers, f64 or i32; its address.
    pub fn put<T: Copy>(&mut self, numbers: &[T]) -> Result<*mut c_void, String> {
        let bytes = size_of_val(numbers);
        let Some(device) = self.device else {
            let mut array = vec![0u64; bytes.div_ceil(8)];
            let address = array.as_mut_ptr().cast::<c_void>();
            // SAFETY: the array has room for them, and is another one.
            unsafe { ptr::copy_nonoverlapping(numbers.as_ptr().cast(), address, bytes) };
            self.here.push(array);
            return Ok(address);
        };
        let mut address = ptr::null_mut();
        // SAFETY: a pointer to a pointer.
        done("cuMemAlloc", unsafe { (device.alloc)(&mut address, bytes) })?;
        self.there.push(address);
        // SAFETY: both have this length.
        done("cuMemcpyHtoD", unsafe {
            (device.to_device)(address, numbers.as_ptr().cast(), bytes)
        })?;
        Ok(address)
    }

    /// The doubles of an array of these.
    pub fn get(&self, address: *mut c_void, count: usize) -> Result<Vec<f64>, String> {
        let mut numbers = vec![0f64; count];
        let (to, bytes) = (numbers.as_mut_ptr().cast::<c_void>(), 8 * count);
        match self.device {
            // SAFETY: callers name arrays that `put` made of as many doubles.
            None => unsafe { ptr::copy_nonoverlapping(address.cast_const(), to, bytes) },
            // SAFETY: likewise.
            Some(device) => done("cuMemcpyDtoH", unsafe {
                (device.from_device)(to, address, bytes)
            })?,
        }
        Ok(numbers)
    }
}

impl Drop for Arrays<'_> {
    fn drop(&mut self) {
        for &address in &self.there {
            if let Some(device) = self.device {
                // SAFETY: `put` took it from there, once.
                unsafe { (device.free)(address) };
            }
        }
    }
}
