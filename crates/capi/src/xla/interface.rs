//! The part of XLA's `xla/ffi/api/c_api.h` that is needed here.
//!
//! Structures are those of version 0.1 and later versions, which only append members; each states its size.

use crate::pointers;
use mebridge::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::offset_of;

/// Makes an error about a call.
pub fn wrong(what: impl Into<String>) -> Error {
    pointers::argument_error("mebridge_xla", what)
}

/// XLA_FFI_Error_Code_INVALID_ARGUMENT
const INVALID_ARGUMENT: c_int = 3;
/// XLA_FFI_DataType
pub const S32: c_int = 4;
pub const S64: c_int = 5;
pub const F64: c_int = 12;
/// XLA_FFI_AttrType
pub const ARRAY: c_int = 1;
pub const SCALAR: c_int = 3;
pub const STRING: c_int = 4;
/// XLA_FFI_Extension_Metadata
const METADATA: c_int = 1;
/// XLA_FFI_ExecutionStage_EXECUTE
pub const EXECUTE: c_int = 3;

#[repr(C)]
pub struct Extension {
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

/// XLA_FFI_Error_Create_Args
#[repr(C)]
pub struct NewError {
    size: usize,
    extension: *mut Extension,
    pub message: *const c_char,
    code: c_int,
}

/// XLA_FFI_Error_GetMessage_Args
#[repr(C)]
pub struct Message {
    size: usize,
    extension: *mut Extension,
    pub error: *mut c_void,
    pub message: *const c_char,
}

/// XLA_FFI_Error_Destroy_Args
#[repr(C)]
pub struct OldError {
    size: usize,
    extension: *mut Extension,
    pub error: *mut c_void,
}

/// XLA_FFI_Stream_Get_Args
#[repr(C)]
pub struct XlaStream {
    size: usize,
    extension: *mut Extension,
    pub context: *mut c_void,
    pub stream: *mut c_void,
}

/// XLA_FFI_DeviceOrdinal_Get_Args
#[repr(C)]
pub struct Ordinal {
    size: usize,
    extension: *mut Extension,
    pub context: *mut c_void,
    pub ordinal: i32,
}

/// The size of a structure as XLA counts it: up to the end of its last member, without trailing padding, in which a
/// later version may place a member.
macro_rules! size_to {
    ($structure:ty, $last:ident: $kind:ty) => {{
        // Checks that this is the type of the member.
        let _: fn($structure) -> $kind = |structure| structure.$last;
        offset_of!($structure, $last) + size_of::<$kind>()
    }};
}

type Function<T> = Option<unsafe extern "C" fn(*mut T) -> *mut c_void>;

/// The beginning of XLA_FFI_Api.
#[repr(C)]
pub struct Api {
    pub size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    pub new_error: Function<NewError>,
    pub message: Function<Message>,
    pub destroy_error: Function<OldError>,
    register: *const c_void,
    pub stream: Function<XlaStream>,
    others: [*const c_void; 12],
    /// Added after 0.1: present if the table is large enough.
    pub ordinal: Function<Ordinal>,
}

#[repr(C)]
pub struct XlaBuffer {
    size: usize,
    extension: *mut Extension,
    kind: c_int,
    data: *mut c_void,
    rank: i64,
    dimensions: *const i64,
}

/// XLA_FFI_Args and XLA_FFI_Rets.
#[repr(C)]
pub struct XlaBuffers {
    size: usize,
    extension: *mut Extension,
    pub count: i64,
    pub kinds: *const c_int,
    buffers: *const *const XlaBuffer,
}

#[repr(C)]
pub struct XlaText {
    pub start: *const u8,
    pub bytes: usize,
}

#[repr(C)]
pub struct XlaScalar {
    pub kind: c_int,
    pub value: *const c_void,
}

#[repr(C)]
pub struct XlaArray {
    pub kind: c_int,
    pub count: usize,
    pub values: *const c_void,
}

#[repr(C)]
pub struct Attributes {
    size: usize,
    extension: *mut Extension,
    pub count: i64,
    pub kinds: *const c_int,
    pub names: *const *const XlaText,
    pub values: *const *const c_void,
}

/// XLA_FFI_CallFrame: arguments, results and context of a call.
#[repr(C)]
pub struct XlaFrame {
    size: usize,
    extension: *mut Extension,
    pub api: *const Api,
    pub context: *mut c_void,
    pub stage: c_int,
    pub arguments: XlaBuffers,
    pub results: XlaBuffers,
    pub attributes: Attributes,
}

impl XlaText {
    /// # Safety
    /// As for a handler.
    unsafe fn bytes(&self) -> &[u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: XLA guarantees this number of entries.
            count => unsafe { std::slice::from_raw_parts(self.start, count) },
        }
    }
}

impl XlaFrame {
    /// Creates an XLA error with this message.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn failed(&self, message: &str) -> *mut c_void {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        let mut error = NewError {
            size: size_to!(NewError, code: c_int),
            extension: std::ptr::null_mut(),
            message: message.as_ptr(),
            code: INVALID_ARGUMENT,
        };
        // SAFETY: the function is that of XLA's table; it copies the message.
        unsafe {
            let new = self.api.as_ref().and_then(|api| api.new_error);
            new.map_or(std::ptr::null_mut(), |new| new(&raw mut error))
        }
    }

    /// Converts the answer of an XLA function to a result.
    ///
    /// # Safety
    /// As for a handler; the error is owned by the caller and destroyed here.
    unsafe fn check(&self, error: *mut c_void) -> Result<()> {
        if error.is_null() {
            return Ok(());
        }
        let mut text = String::from("XLA gives no reason");
        let mut message = Message {
            size: size_to!(Message, message: *const c_char),
            extension: std::ptr::null_mut(),
            error,
            message: std::ptr::null(),
        };
        let mut old = OldError {
            size: size_to!(OldError, error: *mut c_void),
            extension: std::ptr::null_mut(),
            error,
        };
        // SAFETY: the functions are those of XLA's table; the message lives as long as the error.
        unsafe {
            if let Some(api) = self.api.as_ref() {
                if let Some(get) = api.message {
                    get(&raw mut message);
                }
                if !message.message.is_null() {
                    text = CStr::from_ptr(message.message)
                        .to_string_lossy()
                        .into_owned();
                }
                if let Some(destroy) = api.destroy_error {
                    destroy(&raw mut old);
                }
            }
        }
        Err(wrong(text))
    }

    /// Answers XLA's question, when it registers a handler, which version the handler was built for: the version of the
    /// caller, because everything read here exists since 0.1. Returns whether this call is that question.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn describes(&self) -> Result<bool> {
        // SAFETY: as for the function; the sizes are checked.
        unsafe {
            match self.extension.as_ref() {
                Some(extension) if extension.kind == METADATA => {}
                _ => return Ok(false),
            }
            let extension: *mut MetadataExtension = self.extension.cast();
            let api = self.api.as_ref().ok_or_else(|| wrong("XLA has no API"))?;
            let metadata = (*extension).metadata.as_mut();
            let metadata = metadata.filter(|m| m.size >= size_to!(Metadata, traits: u32));
            let metadata =
                metadata.ok_or_else(|| wrong("XLA does not say where its metadata go"))?;
            if api.version.major != 0 || api.version.minor < 1 {
                return Err(wrong(format!(
                    "XLA's interface has version {}.{}; 0.1 and later ones before 1.0 are known",
                    api.version.major, api.version.minor
                )));
            }
            metadata.version.major = api.version.major;
            metadata.version.minor = api.version.minor;
            metadata.traits = 0;
            Ok(true)
        }
    }

    /// Returns the CUstream for all work.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn stream(&self) -> Result<*mut c_void> {
        let mut stream = XlaStream {
            size: size_to!(XlaStream, stream: *mut c_void),
            extension: std::ptr::null_mut(),
            context: self.context,
            stream: std::ptr::null_mut(),
        };
        // SAFETY: XLA's table and context; all versions have this function.
        unsafe {
            let get = self.api.as_ref().and_then(|api| api.stream);
            let get = get.ok_or_else(|| wrong("XLA gives no stream"))?;
            self.check(get(&raw mut stream))?;
        }
        Ok(stream.stream)
    }

    /// Returns the number of the GPU, or `None` if XLA is too old to report it.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn ordinal(&self) -> Result<Option<usize>> {
        let mut ordinal = Ordinal {
            size: size_to!(Ordinal, ordinal: i32),
            extension: std::ptr::null_mut(),
            context: self.context,
            ordinal: -1,
        };
        // SAFETY: XLA's table and context; the size of the table tells whether the function exists.
        unsafe {
            if self.api.is_null() || (*self.api).size < size_to!(Api, ordinal: Function<Ordinal>) {
                return Ok(None);
            }
            let Some(get) = (*self.api).ordinal else {
                return Ok(None);
            };
            self.check(get(&raw mut ordinal))?;
        }
        Ok(usize::try_from(ordinal.ordinal).ok())
    }

    /// Returns an attribute by its name if it has this type.
    ///
    /// # Safety
    /// As for a handler; the result points to a value of this type.
    unsafe fn attribute(&self, name: &str, kind: c_int) -> Result<*const c_void> {
        let attributes = &self.attributes;
        for i in 0..usize::try_from(attributes.count).unwrap_or(0) {
            // SAFETY: XLA guarantees this number of entries.
            unsafe {
                if (**attributes.names.add(i)).bytes() != name.as_bytes() {
                    continue;
                }
                if *attributes.kinds.add(i) == kind {
                    return Ok(*attributes.values.add(i));
                }
            }
            return Err(wrong(format!("{name} is an attribute of another type")));
        }
        Err(wrong(format!("there is no attribute {name}")))
    }

    /// Returns a 64-bit integer attribute.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn integer(&self, name: &str) -> Result<i64> {
        // SAFETY: the attribute has this type.
        unsafe {
            let scalar = &*self.attribute(name, SCALAR)?.cast::<XlaScalar>();
            match scalar.kind {
                S64 => Ok(scalar.value.cast::<i64>().read_unaligned()),
                _ => Err(wrong(format!("{name} is no integer of 64 bits"))),
            }
        }
    }

    /// Returns an array of 64-bit integers.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn integers(&self, name: &str) -> Result<Vec<i64>> {
        // SAFETY: the attribute has this type and this number of entries.
        unsafe {
            let array = &*self.attribute(name, ARRAY)?.cast::<XlaArray>();
            if array.count == 0 {
                return Ok(Vec::new());
            }
            if array.kind != S64 {
                return Err(wrong(format!("{name} are no integers of 64 bits")));
            }
            let first = array.values.cast::<i64>();
            Ok((0..array.count)
                .map(|i| first.add(i).read_unaligned())
                .collect())
        }
    }

    /// Returns a string attribute.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn text(&self, name: &str) -> Result<String> {
        // SAFETY: the attribute has this type.
        let bytes = unsafe { (*self.attribute(name, STRING)?.cast::<XlaText>()).bytes() };
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl XlaBuffers {
    /// # Safety
    /// As for a handler.
    pub unsafe fn list(&self) -> Vec<&XlaBuffer> {
        let count = usize::try_from(self.count).unwrap_or(0);
        // SAFETY: XLA guarantees this number of pointers to buffers.
        unsafe { (0..count).map(|i| &**self.buffers.add(i)).collect() }
    }
}

impl XlaBuffer {
    /// # Safety
    /// As for a handler.
    pub unsafe fn shape(&self) -> &[i64] {
        match usize::try_from(self.rank) {
            Ok(rank) if rank > 0 => {
                // SAFETY: XLA guarantees this number of entries.
                unsafe { std::slice::from_raw_parts(self.dimensions, rank) }
            }
            _ => &[],
        }
    }

    /// Returns a pointer to its numbers if there are `count` of this type.
    ///
    /// # Safety
    /// As for a handler.
    pub unsafe fn numbers<T>(&self, what: &str, kind: c_int, count: i64) -> Result<*mut T> {
        // SAFETY: as for the function.
        let shape = unsafe { self.shape() };
        let has = shape.iter().try_fold(1i64, |all, &n| all.checked_mul(n));
        if self.kind != kind || has != Some(count) {
            return Err(wrong(format!(
                "{what} has the shape {shape:?} and type {}; {count} of type {kind} are needed",
                self.kind
            )));
        }
        Ok(self.data.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of `c_api.h` on 64-bit systems, from version 0.1 on.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn structures_lie_as_in_the_header() {
        assert_eq!(size_of::<Extension>(), 24);
        assert_eq!(size_of::<Version>(), 24);
        assert_eq!(offset_of!(MetadataExtension, metadata), 24);
        assert_eq!(offset_of!(Metadata, traits), 32);
        assert_eq!(offset_of!(Api, new_error), 48);
        assert_eq!(offset_of!(Api, stream), 80);
        assert_eq!(offset_of!(Api, ordinal), 184);
        assert_eq!(offset_of!(XlaBuffer, dimensions), 40);
        assert_eq!(size_of::<XlaBuffers>(), 40);
        // The sizes from XLA_FFI_DEFINE_STRUCT_TRAITS, which exclude padding.
        assert_eq!(size_to!(NewError, code: c_int), 28);
        assert_eq!(size_to!(Metadata, traits: u32), 36);
        assert_eq!(size_to!(Ordinal, ordinal: i32), 28);
        assert_eq!(size_to!(XlaStream, stream: *mut c_void), 32);
        assert_eq!(offset_of!(XlaArray, values), 16);
        assert_eq!(offset_of!(XlaFrame, stage), 32);
        assert_eq!(offset_of!(XlaFrame, arguments), 40);
        assert_eq!(offset_of!(XlaFrame, attributes), 120);
    }
}
