//! XLA's foreign functions: how JAX calls the library from within a compiled program, on the CPU.
//!
//! The structures are those of `xla/ffi/api/c_api.h`, version 0.1 and later, which only ever grow at their ends; each
//! says how large it is. A caller registers [`mebridge_xla`] by its address, so that nothing is compiled for it.
//!
//! | | |
//! |---|---|
//! | attributes | `bridge`, `asked`: integers of 64 bits, of a bridge and which of the optional things are there |
//! | arguments | momenta `[..., legs, 4]`, alpha_s `[...]`, then as asked random numbers `[...]` for helicity (1), colour (2) and diagram (4); a colour needs a diagram. All are doubles |
//! | results | matrix elements `[...]`, then as asked helicity, colour, diagram `[...]` (32-bit integers, from 0), amp2 (8) `[..., diagrams, events]` |
//!
//! An event that is bad has NaN as its matrix element, and the call succeeds.

use super::c::{
    MEBRIDGE_OK, MebridgeBridge, MebridgeSample, mebridge_diagrams, mebridge_evaluate,
    mebridge_last_error, mebridge_legs,
};
use super::no_panic;
use crate::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

const NAME: &str = "mebridge_xla";

/// XLA_FFI_Error_Code_INVALID_ARGUMENT
const INVALID_ARGUMENT: c_int = 3;
/// XLA_FFI_DataType
const S32: c_int = 4;
const S64: c_int = 5;
const F64: c_int = 12;
/// XLA_FFI_AttrType_SCALAR
const SCALAR: c_int = 3;
/// XLA_FFI_Extension_Metadata
const METADATA: c_int = 1;
/// XLA_FFI_ExecutionStage_EXECUTE
const EXECUTE: c_int = 3;

const HELICITY: i64 = 1;
const COLOR: i64 = 2;
const DIAGRAM: i64 = 4;
const AMP2: i64 = 8;

#[repr(C)]
struct Extension {
    size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    size: usize,
    extension: *mut Extension,
    major: c_int,
    minor: c_int,
}

#[repr(C)]
struct Metadata {
    size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

#[repr(C)]
struct ErrorArguments {
    size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

/// The beginning of XLA_FFI_Api.
#[repr(C)]
struct Api {
    size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    error: Option<unsafe extern "C" fn(*mut ErrorArguments) -> *mut c_void>,
}

#[repr(C)]
struct Buffer {
    size: usize,
    extension: *mut Extension,
    kind: c_int,
    data: *mut c_void,
    rank: i64,
    dimensions: *const i64,
}

/// XLA_FFI_Args and XLA_FFI_Rets.
#[repr(C)]
struct Buffers {
    size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    buffers: *const *const Buffer,
}

#[repr(C)]
struct Text {
    start: *const u8,
    bytes: usize,
}

#[repr(C)]
struct Scalar {
    kind: c_int,
    value: *const c_void,
}

#[repr(C)]
struct Attributes {
    size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    names: *const *const Text,
    values: *const *const c_void,
}

/// XLA_FFI_CallFrame: what a call comes with.
#[repr(C)]
pub struct Frame {
    size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: Buffers,
    results: Buffers,
    attributes: Attributes,
}

/// Evaluates events for XLA; an XLA_FFI_Handler.
///
/// # Safety
/// XLA calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_xla(frame: *mut Frame) -> *mut c_void {
    // SAFETY: XLA's promise: the frame and what it points at stay during the call, and are of the size that they say.
    unsafe {
        let Some(frame) = frame.as_ref() else {
            return std::ptr::null_mut();
        };
        match no_panic(|| answer(frame)) {
            Ok(()) => std::ptr::null_mut(),
            Err(error) => failed(frame, &error.to_string()),
        }
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::Call {
        function: NAME,
        what: what.into(),
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn failed(frame: &Frame, message: &str) -> *mut c_void {
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    let mut arguments = ErrorArguments {
        size: size_of::<ErrorArguments>(),
        extension: std::ptr::null_mut(),
        message: message.as_ptr(),
        code: INVALID_ARGUMENT,
    };
    // SAFETY: XLA's table; it copies the message.
    unsafe {
        let error = frame.api.as_ref().and_then(|api| api.error);
        error.map_or(std::ptr::null_mut(), |error| error(&raw mut arguments))
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn answer(frame: &Frame) -> Result<()> {
    // SAFETY: as for the function.
    unsafe {
        if let Some(extension) = frame.extension.as_ref()
            && extension.kind == METADATA
        {
            return describe(frame, frame.extension.cast());
        }
        if frame.stage != EXECUTE {
            return Err(wrong("it is called to execute, and at no other stage"));
        }
        let attribute = |name: &str| attribute(&frame.attributes, name);
        let (bridge, asked) = (attribute("bridge")?, attribute("asked")?);
        evaluate(bridge, asked, frame)
    }
}

/// XLA registers a handler and asks which version it was made for: that of the caller, because what is read here has
/// been there since 0.1.
///
/// # Safety
/// As for [`mebridge_xla`].
unsafe fn describe(frame: &Frame, extension: *mut MetadataExtension) -> Result<()> {
    // SAFETY: as for the function; the sizes are looked at.
    unsafe {
        let api = frame.api.as_ref().ok_or_else(|| wrong("XLA has no API"))?;
        let metadata = (*extension).metadata.as_mut();
        let metadata = metadata.filter(|m| m.size >= size_of::<Metadata>() - size_of::<u32>());
        let metadata = metadata.ok_or_else(|| wrong("XLA does not say where its metadata go"))?;
        if api.version.major != 0 || api.version.minor < 1 {
            return Err(wrong(format!(
                "XLA's interface has version {}.{}; 0.1 and later ones before 1.0 are known",
                api.version.major, api.version.minor
            )));
        }
        metadata.version.major = api.version.major;
        metadata.version.minor = api.version.minor;
        metadata.traits = 0;
        Ok(())
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn attribute(attributes: &Attributes, name: &str) -> Result<i64> {
    for i in 0..usize::try_from(attributes.count).unwrap_or(0) {
        // SAFETY: XLA's promise: there are so many.
        unsafe {
            let text = &**attributes.names.add(i);
            if std::slice::from_raw_parts(text.start, text.bytes) != name.as_bytes() {
                continue;
            }
            if *attributes.kinds.add(i) == SCALAR {
                let scalar = &*(*attributes.values.add(i)).cast::<Scalar>();
                if scalar.kind == S64 {
                    return Ok(scalar.value.cast::<i64>().read_unaligned());
                }
            }
        }
        return Err(wrong(format!("{name} is no integer of 64 bits")));
    }
    Err(wrong(format!("there is no attribute {name}")))
}

impl Buffers {
    /// # Safety
    /// As for [`mebridge_xla`].
    unsafe fn list(&self) -> Vec<&Buffer> {
        let count = usize::try_from(self.count).unwrap_or(0);
        // SAFETY: XLA's promise: there are so many, all of them buffers.
        unsafe { (0..count).map(|i| &**self.buffers.add(i)).collect() }
    }
}

impl Buffer {
    /// # Safety
    /// As for [`mebridge_xla`].
    unsafe fn shape(&self) -> &[i64] {
        match usize::try_from(self.rank) {
            Ok(rank) if rank > 0 => {
                // SAFETY: XLA's promise: there are so many.
                unsafe { std::slice::from_raw_parts(self.dimensions, rank) }
            }
            _ => &[],
        }
    }

    /// Where its numbers are, if there are `count` of this type.
    ///
    /// # Safety
    /// As for [`mebridge_xla`].
    unsafe fn numbers<T>(&self, what: &str, kind: c_int, count: i64) -> Result<*mut T> {
        // SAFETY: as for the function.
        let shape = unsafe { self.shape() };
        if self.kind != kind || shape.iter().product::<i64>() != count {
            return Err(wrong(format!(
                "{what} has the shape {shape:?} and type {}; {count} of type {kind} are needed",
                self.kind
            )));
        }
        Ok(self.data.cast())
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn evaluate(bridge: i64, asked: i64, frame: &Frame) -> Result<()> {
    let bridge = bridge as usize as *mut MebridgeBridge;
    let (legs, diagrams) = (mebridge_legs(bridge), mebridge_diagrams(bridge));
    if legs < 0 || diagrams < 0 {
        return Err(wrong(
            "the process is gone; keep it for as long as the compiled function is called",
        ));
    }
    // SAFETY: as for the function; shapes are looked at before what they are about is passed on.
    unsafe {
        let (arguments, results) = (frame.arguments.list(), frame.results.list());
        let choices = (asked & (HELICITY | COLOR | DIAGRAM)).count_ones() as usize;
        let wanted = (2 + choices, 1 + choices + usize::from(asked & AMP2 != 0));
        if (arguments.len(), results.len()) != wanted
            || (asked & COLOR != 0 && asked & DIAGRAM == 0)
        {
            return Err(wrong(format!(
                "{} arguments and {} results are no call with {asked} asked",
                arguments.len(),
                results.len()
            )));
        }
        let shape = arguments[0].shape();
        let split = shape.len().checked_sub(2).unwrap_or(shape.len());
        if shape[split..] != [legs, 4] {
            return Err(wrong(format!(
                "momenta have the shape {shape:?}; this process needs (..., {legs}, 4)"
            )));
        }
        let events: i64 = shape[..split].iter().product();
        // Under vmap squared diagrams come in parts.
        let mut part = events;
        if asked & AMP2 != 0 {
            part = results[results.len() - 1]
                .shape()
                .last()
                .copied()
                .unwrap_or(0);
        }
        let momenta: *mut f64 = arguments[0].numbers("momenta", F64, 4 * legs * events)?;
        let alpha_s: *mut f64 = arguments[1].numbers("alpha_s", F64, events)?;
        let mut random = [std::ptr::null_mut::<f64>(); 3];
        let mut chosen = [std::ptr::null_mut::<i32>(); 3];
        let mut next = 0;
        for (i, flag) in [HELICITY, COLOR, DIAGRAM].into_iter().enumerate() {
            if asked & flag != 0 {
                random[i] = arguments[2 + next].numbers("a random number", F64, events)?;
                chosen[i] = results[1 + next].numbers("a choice", S32, events)?;
                next += 1;
            }
        }
        let matrix_elements: *mut f64 = results[0].numbers("the result", F64, events)?;
        let amp2: *mut f64 = match asked & AMP2 {
            0 => std::ptr::null_mut(),
            _ => results[1 + next].numbers("amp2", F64, diagrams * events)?,
        };
        if events == 0 || part == 0 {
            return Ok(());
        }
        if events % part != 0 {
            return Err(wrong(format!(
                "amp2 has parts of {part} events, and there are {events}"
            )));
        }
        fn at<T>(first: *mut T, index: i64) -> *mut T {
            match first.is_null() {
                true => first,
                false => first.wrapping_offset(index as isize),
            }
        }
        for first in (0..events).step_by(part as usize) {
            let mut sample = MebridgeSample {
                events: part as usize,
                momenta: at(momenta, 4 * legs * first),
                momenta_strides: [4 * legs as isize, 4, 1],
                alpha_s: at(alpha_s, first),
                random_helicity: at(random[0], first),
                random_color: at(random[1], first),
                random_diagram: at(random[2], first),
                fixed_helicity: std::ptr::null(),
                fixed_diagram: std::ptr::null(),
                matrix_elements: at(matrix_elements, first),
                helicity: at(chosen[0], first),
                color: at(chosen[1], first),
                diagram: at(chosen[2], first),
                amp2: at(amp2, diagrams * first),
                amp2_stride: part as usize,
                bad_events: 0,
            };
            if mebridge_evaluate(bridge, &raw mut sample) != MEBRIDGE_OK {
                let message = CStr::from_ptr(mebridge_last_error());
                return Err(wrong(message.to_string_lossy()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of `c_api.h` on systems of 64 bits, of version 0.1 on.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn structures_lie_as_in_the_header() {
        assert_eq!(size_of::<Extension>(), 24);
        assert_eq!(size_of::<Version>(), 24);
        assert_eq!(std::mem::offset_of!(MetadataExtension, metadata), 24);
        assert_eq!(std::mem::offset_of!(Metadata, traits), 32);
        assert_eq!(std::mem::offset_of!(Api, error), 48);
        assert_eq!(std::mem::offset_of!(Buffer, dimensions), 40);
        assert_eq!(size_of::<Buffers>(), 40);
        assert_eq!(std::mem::offset_of!(Frame, stage), 32);
        assert_eq!(std::mem::offset_of!(Frame, arguments), 40);
        assert_eq!(std::mem::offset_of!(Frame, attributes), 120);
    }
}
