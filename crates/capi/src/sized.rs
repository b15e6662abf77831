//! Structs of the C interface that grow: each says how large its caller knows it.
//!
//! Its first member is `size`, `sizeof` of the struct in the header that the caller was compiled with. What a smaller one
//! does not have is as if it were zero; what a larger one has beyond ours must be zero, since nobody would look at it.

use super::pointers::{CallerArray, PointerAccess, check, wrong};
use mebridge::error::Result;
use std::mem::MaybeUninit;

/// No struct is larger; what says so is no size. Without one its first member may be a pointer or a count.
const MOST: usize = 1 << 12;

/// A struct whose first member is its size.
///
/// # Safety
/// It is `repr(C)`, its first member is a `usize`, and any bytes are a value of it, but for those of `BOOLS`.
pub unsafe trait Grows: Copy {
    /// What C calls it.
    const NAME: &'static str;
    /// Where its members of type `bool` are. C has 0 and 1 in them; what another language has there counts as true.
    const BOOLS: &'static [usize] = &[];
}

/// The caller's struct, with zeros where it has no members.
///
/// # Safety
/// The pointer is null or that of a struct of the size that it begins with.
pub unsafe fn read<T: Grows>(
    function: &'static str,
    argument: &str,
    pointer: *const T,
) -> Result<T> {
    let name = T::NAME;
    check(
        function,
        argument,
        CallerArray::of(pointer.cast::<usize>(), 1, PointerAccess::Read),
    )?;
    // SAFETY: aligned, and every such struct begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    let cure = format!("set {argument}->size to sizeof(struct {name}), and all else to zero first");
    if size == 0 {
        return Err(wrong(function, format!("{argument}->size is 0; {cure}")));
    }
    if size > MOST || !size.is_multiple_of(align_of::<T>()) {
        let what = format!("{argument}->size is {size}, which no struct {name} has; {cure}");
        return Err(wrong(function, what));
    }
    let mut known = MaybeUninit::<T>::zeroed();
    let bytes = pointer.cast::<u8>();
    // SAFETY: the caller's promise: so many bytes are there; and as many of ours.
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
        return Err(wrong(
            function,
            format!(
                "{argument} has members that this version ({}) does not know (its size is {size}, here {}), and they are \
                 not zero; use the header that belongs to the library, or a later library",
                env!("CARGO_PKG_VERSION"),
                size_of::<T>()
            ),
        ));
    }
    // SAFETY: zeros, or what the caller put there, are values of it; bools were made so.
    Ok(unsafe { known.assume_init() })
}

/// Puts a number into a member of the caller's struct, `offset` bytes behind its beginning, where it has that.
///
/// # Safety
/// As for [`read`], which has read it; nobody else looks at it.
pub unsafe fn write<T: Grows>(pointer: *mut T, size: usize, offset: usize, value: usize) {
    if offset + size_of::<usize>() <= size {
        // SAFETY: the member is there.
        unsafe {
            pointer
                .cast::<u8>()
                .add(offset)
                .cast::<usize>()
                .write(value)
        };
    }
}
