//! A fake `libcuda` for tests: it counts live objects, records its calls, and fails on demand.
//!
//! Each thread has its own instance, with two GPUs.

use super::context::Context;
use super::result::driver::Calls;
use super::sys::driver::*;
use crate::cuda::sys::Platform;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// Size in bytes of the argument structure of all kernels.
pub const ARGUMENT: usize = 32;
/// An error code that no enumeration contains.
pub const UNKNOWN_STATUS: Status = 4242;

#[derive(Default)]
struct State {
    /// Live objects, by kind.
    out: BTreeMap<&'static str, usize>,
    /// Stack of current contexts.
    contexts: Vec<usize>,
    /// Sizes of pinned memory.
    pinned: BTreeMap<usize, usize>,
    given: usize,
    calls: Vec<&'static str>,
    /// Number of further calls before one fails.
    fails: Option<usize>,
    /// Number of invalid calls, which tools report as errors of the program.
    refused: usize,
    /// Dynamic shared memory that each kernel may have, if more than usual.
    shared: BTreeMap<usize, c_int>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(work)
}

/// The context of a GPU.
pub fn context(ordinal: usize) -> Context {
    from_symbols(&SYMBOLS, ordinal)
}

/// Returns a context of a driver before CUDA 12.4.
pub fn old_context(ordinal: usize) -> Context {
    from_symbols(&OLD, ordinal)
}

fn from_symbols(symbols: &'static Symbols, ordinal: usize) -> Context {
    let (calls, devices) = Calls::start(symbols).expect("two GPUs");
    Context::from_calls(calls, devices, ordinal).expect("a context")
}

/// Returns the calls since the last call of this function.
pub fn take_calls() -> Vec<&'static str> {
    with(|state| std::mem::take(&mut state.calls))
}

/// Makes the call with this number, counted from now, fail, or none.
pub fn fail(call: Option<usize>) {
    with(|state| state.fails = call);
}

/// Returns whether the call that should fail has failed.
pub fn has_failed() -> bool {
    with(|state| state.fails.is_none())
}

/// Returns the objects that have not been released.
pub fn out() -> Vec<&'static str> {
    with(|state| {
        let out = state.out.iter().filter(|(_, count)| **count > 0);
        let mut out: Vec<_> = out.map(|(kind, _)| *kind).collect();
        out.extend(state.contexts.iter().map(|_| "current context"));
        out
    })
}

/// Returns the number of invalid calls since the last call of this function.
pub fn take_refused() -> usize {
    with(|state| std::mem::take(&mut state.refused))
}

/// Makes a context current, as a program may.
pub fn set_current(ordinal: Option<usize>) {
    with(|state| state.contexts = ordinal.map(raw_context).into_iter().collect());
}

fn raw_context(ordinal: usize) -> usize {
    100 + ordinal
}

/// Records a call, and returns the error if it should fail.
fn called(call: &'static str) -> Status {
    with(|state| {
        state.calls.push(call);
        match &mut state.fails {
            Some(0) => {
                state.fails = None;
                UNKNOWN_STATUS
            }
            Some(left) => {
                *left -= 1;
                SUCCESS
            }
            None => SUCCESS,
        }
    })
}

/// Counts a new object.
fn make(kind: &'static str) -> usize {
    with(|state| {
        *state.out.entry(kind).or_default() += 1;
        state.given += 16;
        1000 + state.given
    })
}

/// Counts a released object, even if the call fails.
fn take(kind: &'static str) {
    with(|state| {
        let count = state.out.entry(kind).or_default();
        *count = count.checked_sub(1).expect("what was given out");
    });
}

/// Defines functions that do something if the call does not fail, after doing what is given by `always`.
macro_rules! fakes {
    ($($name:ident($($argument:ident: $type:ty),*) { $($body:tt)* } $(always { $($always:tt)* })?;)*) => {
        $(
            #[allow(non_snake_case, unused_variables)]
            unsafe extern "C" fn $name($($argument: $type),*) -> Status {
                $($($always)*)?
                let status = called(stringify!($name));
                if status == SUCCESS {
                    $($body)*
                }
                status
            }
        )*
        const fn symbols(info: bool) -> Symbols {
            Symbols {
                $($name,)*
                cuGetErrorName: error_text,
                cuGetErrorString: error_text,
                cuFuncGetParamInfo: if info { Some(parameter_info) } else { None },
                platform: Platform::Cuda,
            }
        }
    };
}

static SYMBOLS: Symbols = symbols(true);
static OLD: Symbols = symbols(false);

/// Names and meanings of errors.
unsafe extern "C" fn error_text(status: Status, text: *mut *const c_char) -> Status {
    if status == UNKNOWN_STATUS {
        return INVALID_VALUE;
    }
    // SAFETY: the caller passes a valid output pointer.
    unsafe { *text = c"known".as_ptr() };
    SUCCESS
}

unsafe extern "C" fn parameter_info(
    _: CUfunction,
    index: usize,
    _: *mut usize,
    size: *mut usize,
) -> Status {
    if index > 0 {
        with(|state| state.refused += 1);
        return INVALID_VALUE;
    }
    // SAFETY: the caller passes a valid output pointer.
    unsafe { *size = ARGUMENT };
    called("cuFuncGetParamInfo")
}

/// Writes a value to an output pointer of the caller.
fn put<T>(place: *mut T, value: T) {
    // SAFETY: all callers of the driver pass valid output pointers.
    unsafe { place.write(value) }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 16).expect("a size")
}

fakes! {
    cuInit(flags: c_uint) {};
    cuDriverGetVersion(version: *mut c_int) { put(version, 12_000) };
    cuDeviceGetCount(count: *mut c_int) { put(count, 2) };
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int) { put(device, ordinal) };
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice) { put(value, 1 << 17) };
    cuDeviceGetName(name: *mut c_char, room: c_int, device: CUdevice) { put(name.cast(), *b"fake\0") };
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) {
        make("context");
        put(context, raw_context(device as usize) as CUcontext);
    };
    cuDevicePrimaryCtxRelease_v2(device: CUdevice) {} always { take("context"); };
    cuCtxGetCurrent(context: *mut CUcontext) {
        let current = with(|state| state.contexts.last().copied().unwrap_or(0));
        put(context, current as CUcontext);
    };
    cuCtxGetDevice(device: *mut CUdevice) { put(device, 0) };
    cuCtxPushCurrent_v2(context: CUcontext) { with(|state| state.contexts.push(context as usize)) };
    cuCtxPopCurrent_v2(context: *mut CUcontext) {} always { with(|state| state.contexts.pop()).expect("a context"); };
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { put(free, 1 << 30); put(total, 1 << 31) };
    cuMemAlloc_v2(memory: *mut CUdeviceptr, bytes: usize) { put(memory, make("memory") as u64) };
    cuMemFree_v2(memory: CUdeviceptr) {} always { take("memory"); };
    cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint) {
        make("pinned memory");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout(bytes)) };
        with(|state| state.pinned.insert(start as usize, bytes));
        put(memory, start.cast());
    };
    cuMemFreeHost(memory: *mut c_void) {} always {
        take("pinned memory");
        let bytes = with(|state| state.pinned.remove(&(memory as usize))).expect("pinned memory");
        // SAFETY: the memory was allocated with this layout.
        unsafe { dealloc(memory.cast(), layout(bytes)) };
    };
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {};
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {};
    cuMemsetD8Async(memory: CUdeviceptr, byte: c_uchar, bytes: usize, stream: CUstream) {};
    cuPointerGetAttributes(count: c_uint, of: *mut CUpointer_attribute, to: *mut *mut c_void, at: CUdeviceptr) {};
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void) { put(module, make("module") as CUmodule) };
    cuModuleUnload(module: CUmodule) {} always { take("module"); };
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) {
        // SAFETY: a string that ends in NUL.
        if unsafe { CStr::from_ptr(name) } == c"missing" {
            with(|state| state.refused += 1);
            return NOT_FOUND;
        }
        put(function, module.cast());
    };
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction) { put(value, 7) };
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) {
        with(|state| state.shared.insert(function as usize, value));
    };
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize
    ) { put(blocks, 2) };
    cuStreamCreate(stream: *mut CUstream, flags: c_uint) { put(stream, make("stream") as CUstream) };
    cuStreamDestroy_v2(stream: CUstream) {} always { take("stream"); };
    cuStreamSynchronize(stream: CUstream) {};
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) {};
    cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) {};
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) { put(graph, make("recorded graph") as CUgraph) };
    cuEventCreate(event: *mut CUevent, flags: c_uint) { put(event, make("event") as CUevent) };
    cuEventDestroy_v2(event: CUevent) {} always { take("event"); };
    cuEventRecord(event: CUevent, stream: CUstream) {};
    cuEventElapsedTime(milliseconds: *mut f32, from: CUevent, to: CUevent) { put(milliseconds, 2.0) };
    cuGraphInstantiateWithFlags(ready: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) {
        put(ready, make("graph") as CUgraphExec);
    };
    cuGraphDestroy(graph: CUgraph) {} always { take("recorded graph"); };
    cuGraphExecDestroy(graph: CUgraphExec) {} always { take("graph"); };
    cuGraphLaunch(graph: CUgraphExec, stream: CUstream) {};
    cuLaunchKernel(
        function: CUfunction, x: c_uint, y: c_uint, z: c_uint, i: c_uint, j: c_uint, k: c_uint, shared: c_uint,
        stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void
    ) {
        let most = with(|state| state.shared.get(&(function as usize)).copied().unwrap_or(48 << 10));
        if i64::from(shared) > i64::from(most) {
            with(|state| state.refused += 1);
            return INVALID_VALUE;
        }
    };
}
