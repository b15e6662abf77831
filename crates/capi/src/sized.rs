//! Structs of the C interface that may grow: each records the size that its caller knows.
//!
//! The first member is `size`, the `sizeof` of the struct in the header that the caller was compiled with. Members that
//! a smaller struct lacks count as zero; members of a larger struct that this version does not know must be zero, since
//! they would be ignored.

use super::pointers::{CallerArray, PointerAccess, argument_error, check};
use mebridge::error::Result;
use std::mem::MaybeUninit;

/// Upper bound for a size. A larger value is no size but a pointer or a count, from a struct without this first member.
const MAX_SIZE: usize = 1 << 12;

/// A struct whose first member is its size.
///
/// # Safety
/// The type is `repr(C)`, its first member is a `usize`, and any bytes are a valid value of it, except for those of
/// `BOOLS`.
pub unsafe trait SizedStruct: Copy {
    /// Name of the struct in C.
    const NAME: &'static str;
    /// Offsets of its members of type `bool`. C stores 0 or 1; any other non-zero byte counts as true.
    const BOOLS: &'static [usize] = &[];
}

/// Reads the caller's struct, with zeros for members that it lacks.
///
/// # Safety
/// The pointer is null or points to a struct whose size is its first member.
pub unsafe fn read<T: SizedStruct>(
    function: &'static str,
    argument: &str,
    pointer: *const T,
) -> Result<T> {
    let name = T::NAME;
    check(
        function,
        argument,
        CallerArray::new(pointer.cast::<usize>(), 1, PointerAccess::Read),
    )?;
    // SAFETY: the pointer is aligned, and every such struct begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    let cure = format!("set {argument}->size to sizeof(struct {name}), and all else to zero first");
    if size == 0 {
        return Err(argument_error(
            function,
            format!("{argument}->size is 0; {cure}"),
        ));
    }
    if size > MAX_SIZE || !size.is_multiple_of(align_of::<T>()) {
        let what = format!("{argument}->size is {size}, which no struct {name} has; {cure}");
        return Err(argument_error(function, what));
    }
    let mut known = MaybeUninit::<T>::zeroed();
    let bytes = pointer.cast::<u8>();
    // SAFETY: the caller guarantees `size` readable bytes; at most `size_of::<T>()` of them are written to `known`.
    let beyond = unsafe {
        let copied = size.min(size_of::<T>());
        let ours = known.as_mut_ptr().cast::<u8>();
        ours.copy_from(bytes, copied);
        for &at in T::BOOLS {
            ours.add(at).write(u8::from(ours.add(at).read() != 0));
        }
        std::slice::from_raw_parts(bytes.add(copied), size - copied)
    };
    if beyond.iter().any(|&byte| byte != 0) {
        return Err(argument_error(
            function,
            format!(
                "{argument} has members that this version ({}) does not know (its size is {size}, here {}), and they are \
                 not zero; use the header that belongs to the library, or a later library",
                env!("CARGO_PKG_VERSION"),
                size_of::<T>()
            ),
        ));
    }
    // SAFETY: zeros and the caller's bytes are valid values; bools were normalised above.
    Ok(unsafe { known.assume_init() })
}

/// Writes a number to the member at `offset` of the caller's struct, if the struct has it.
///
/// # Safety
/// As for [`read`], which has read the struct; nothing else accesses it at the same time.
pub unsafe fn write<T: SizedStruct>(pointer: *mut T, size: usize, offset: usize, value: usize) {
    if offset + size_of::<usize>() <= size {
        // SAFETY: the member lies within the struct.
        unsafe {
            pointer
                .cast::<u8>()
                .add(offset)
                .cast::<usize>()
                .write(value)
        };
    }
}
