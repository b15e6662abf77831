//! Errors of a call on a GPU, tested with a stand-in for XLA. (Evaluation itself: python/tests/test_jax.py.)

use super::interface::{ARRAY, Api, Message, NewError, OldError, Ordinal, XlaArray, XlaFrame};
use super::interface::{S64, SCALAR, STRING, XlaScalar, XlaStream, XlaText};
use super::*;
use std::cell::Cell;
use std::ffi::{CString, c_int};

thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

/// # Safety
/// The arguments are valid as in a call by XLA.
unsafe extern "C" fn new_error(error: *mut NewError) -> *mut c_void {
    ALIVE.set(ALIVE.get() + 1);
    // SAFETY: guaranteed by the caller.
    let message = unsafe { std::ffi::CStr::from_ptr((*error).message) };
    Box::into_raw(Box::new(message.to_owned())).cast()
}

/// # Safety
/// The arguments are valid as in a call by XLA.
unsafe extern "C" fn message(requested: *mut Message) -> *mut c_void {
    // SAFETY: errors come from `new_error`.
    unsafe { (*requested).message = (*(*requested).error.cast::<CString>()).as_ptr() };
    std::ptr::null_mut()
}

/// # Safety
/// The arguments are valid as in a call by XLA.
unsafe extern "C" fn destroy(old: *mut OldError) -> *mut c_void {
    ALIVE.set(ALIVE.get() - 1);
    // SAFETY: errors come from `new_error`, and each is destroyed once.
    drop(unsafe { Box::from_raw((*old).error.cast::<CString>()) });
    std::ptr::null_mut()
}

/// The context of a call decides its stream: an error if it is null, else the context itself.
///
/// # Safety
/// The arguments are valid as in a call by XLA.
unsafe extern "C" fn stream(requested: *mut XlaStream) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if (*requested).context.is_null() {
            let mut error: NewError = std::mem::zeroed();
            error.message = c"the context has no stream".as_ptr();
            return new_error(&raw mut error);
        }
        (*requested).stream = (*requested).context;
    }
    std::ptr::null_mut()
}

/// # Safety
/// The arguments are valid as in a call by XLA.
unsafe extern "C" fn second(requested: *mut Ordinal) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe { (*requested).ordinal = 1 };
    std::ptr::null_mut()
}

/// Returns the error message of a call without arguments, from an XLA that reports the second GPU or an older one that
/// reports none, with or without a stream.
fn answer_of(devices: &[i64], says_which: bool, has_stream: bool) -> String {
    // SAFETY: the structure holds pointers and numbers only, which may be zero.
    let mut api: Api = unsafe { std::mem::zeroed() };
    api.size = size_of::<Api>();
    api.new_error = Some(new_error);
    api.message = Some(message);
    api.destroy_error = Some(destroy);
    api.stream = Some(stream);
    match says_which {
        true => api.ordinal = Some(second),
        false => api.size -= size_of::<usize>(),
    }
    let text = |text: &'static str| XlaText {
        start: text.as_ptr(),
        bytes: text.len(),
    };
    let requested = 0_i64;
    let requested = XlaScalar {
        kind: S64,
        value: (&raw const requested).cast(),
    };
    let devices = XlaArray {
        kind: S64,
        count: devices.len(),
        values: devices.as_ptr().cast(),
    };
    let refused = text("it is on strike");
    let names = ["requested", "devices", "refused"].map(text);
    let names = names.each_ref().map(std::ptr::from_ref);
    let kinds: [c_int; 3] = [SCALAR, ARRAY, STRING];
    let values: [*const c_void; 3] = [
        (&raw const requested).cast(),
        (&raw const devices).cast(),
        (&raw const refused).cast(),
    ];
    // SAFETY: the structure holds pointers and numbers only, which may be zero.
    let mut frame: XlaFrame = unsafe { std::mem::zeroed() };
    frame.api = &raw const api;
    frame.stage = EXECUTE;
    frame.attributes.count = 3;
    frame.attributes.kinds = kinds.as_ptr();
    frame.attributes.names = names.as_ptr();
    frame.attributes.values = values.as_ptr();
    if has_stream {
        frame.context = (&raw mut api).cast();
    }
    // SAFETY: every member that is read is valid; the error comes from `new_error`.
    unsafe {
        let error = mebridge_xla_cuda(&raw mut frame);
        assert!(!error.is_null());
        let text = (*error.cast::<CString>()).to_string_lossy().into_owned();
        let mut old: OldError = std::mem::zeroed();
        old.error = error;
        destroy(&raw mut old);
        assert_eq!(ALIVE.get(), 0, "errors that XLA gave are destroyed");
        text
    }
}

/// Shapes with more events than fit into memory, including those whose product wraps around to zero.
#[test]
fn events_that_no_memory_holds_are_refused() {
    for (shape, events) in [(&[][..], 1), (&[7, 3], 21), (&[0, 1 << 62], 0)] {
        assert_eq!(product(shape, 16).ok(), Some(events));
    }
    for shape in [&[1 << 32, 1 << 32][..], &[1 << 60], &[-1], &[i64::MAX, 2]] {
        let error = product(shape, 16).unwrap_err().to_string();
        assert!(error.contains("no memory holds"), "{error}");
    }
}

#[test]
fn a_gpu_without_a_bridge_says_why() {
    for devices in [&[7, 0][..], &[7], &[]] {
        let answer = answer_of(devices, true, true);
        assert!(answer.contains("GPU 1 does not evaluate"), "{answer}");
        assert!(answer.contains("it is on strike"), "{answer}");
    }
}

#[test]
fn an_earlier_xla_has_one_gpu() {
    let answer = answer_of(&[7, 8], false, true);
    assert!(answer.contains("which of several GPUs"), "{answer}");
    // The handle is found, but no bridge has it.
    let answer = answer_of(&[7], false, true);
    assert!(answer.contains("the process is gone"), "{answer}");
    let answer = answer_of(&[7, 8], true, true);
    assert!(answer.contains("the process is gone"), "{answer}");
}

#[test]
fn without_a_stream_nothing_is_evaluated() {
    let answer = answer_of(&[7], false, false);
    assert!(answer.contains("the context has no stream"), "{answer}");
}
