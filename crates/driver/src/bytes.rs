//! Arrays of numbers as the bytes that are copied to and from a GPU.

/// Number types without padding for which every bit pattern is valid.
///
/// # Safety
/// The type has these properties.
pub unsafe trait Bits: Copy {}

// SAFETY: a primitive number type.
unsafe impl Bits for f64 {}
// SAFETY: as above.
unsafe impl Bits for f32 {}
// SAFETY: as above.
unsafe impl Bits for i32 {}
// SAFETY: as above.
unsafe impl Bits for u32 {}
// SAFETY: as above.
unsafe impl Bits for u8 {}

/// Returns the bytes of an array.
pub fn bytes<T: Bits>(array: &[T]) -> &[u8] {
    // SAFETY: there is no padding, so every byte is initialised.
    unsafe { std::slice::from_raw_parts(array.as_ptr().cast(), std::mem::size_of_val(array)) }
}

/// Returns the bytes of an array for writing.
pub fn bytes_mut<T: Bits>(array: &mut [T]) -> &mut [u8] {
    // SAFETY: as for `bytes`, and any bytes written are a valid value.
    unsafe {
        std::slice::from_raw_parts_mut(array.as_mut_ptr().cast(), std::mem::size_of_val(array))
    }
}
