//! Checks of callers' pointers before they are dereferenced.
//!
//! All interfaces use the same checks, each where its callers can be wrong. Every array must be non-null and aligned.
//! Some must lie in memory that can be read or written ([`Maps`]): arrays so large that their number of events is
//! probably a mistake; arguments of the Fortran symbols, which a caller of another generation shifts; and variables
//! that these symbols write. The caller guarantees what cannot be checked.

use super::memory::Maps;
use mebridge::error::{Error, Result};
use std::ffi::{CStr, CString, c_char};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Arrays of this many numbers or more are looked up in the memory map.
pub const LARGE_ARRAY: usize = 1 << 26;

/// Upper bound for the count of 8-byte numbers in an array.
pub const MAX_NUMBERS: usize = isize::MAX as usize / 8;

/// Kind of access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerAccess {
    /// The memory is read.
    Read,
    /// The memory is written.
    Write,
}

/// An array or a variable, as passed by the caller.
#[derive(Clone, Copy, Debug)]
pub struct CallerArray {
    /// Address of its first byte.
    pub address: usize,
    /// Size of a number in bytes, which is also its alignment: a power of two.
    pub size: usize,
    /// Number of entries.
    pub count: usize,
    /// How it is accessed.
    pub access: PointerAccess,
}

impl CallerArray {
    /// Describes `count` values that begin at a pointer.
    #[inline(always)]
    pub fn new<T>(pointer: *const T, count: usize, access: PointerAccess) -> CallerArray {
        CallerArray {
            address: pointer as usize,
            size: size_of::<T>(),
            count,
            access,
        }
    }

    /// Returns its size in bytes.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.size.saturating_mul(self.count)
    }

    /// Returns whether it is aligned, without a division: calls of one event are so short that it would matter.
    #[inline(always)]
    fn is_aligned(&self) -> bool {
        self.address & (self.size - 1) == 0
    }

    /// Returns whether the arrays have a byte in common.
    #[inline(always)]
    pub fn overlaps(&self, other: &CallerArray) -> bool {
        let end = |array: &CallerArray| array.address.saturating_add(array.bytes());
        self.count > 0 && other.count > 0 && self.address < end(other) && other.address < end(self)
    }

    /// Returns the reason why it cannot be used, if there is one: it is null, misaligned, or inaccessible according to
    /// `maps`.
    pub fn defect(&self, name: &str, maps: Option<&Maps>) -> Option<String> {
        if self.address == 0 {
            return Some(format!("{name} is a null pointer"));
        }
        if !self.is_aligned() {
            return Some(format!("{name} is not aligned to {} bytes", self.size));
        }
        self.is_missing(maps).then(|| {
            let how = match self.access {
                PointerAccess::Read => "read",
                PointerAccess::Write => "written",
            };
            let numbers = match self.size {
                8 => format!("{} doubles", self.count),
                4 => format!("{} integers", self.count),
                _ => "memory".to_owned(),
            };
            format!("{name} does not point at {numbers} that can be {how}")
        })
    }

    /// Returns whether it is inaccessible, as far as the system tells.
    pub fn is_missing(&self, maps: Option<&Maps>) -> bool {
        maps.is_some_and(|maps| match self.access {
            PointerAccess::Read => !maps.readable(self.address, self.bytes()),
            PointerAccess::Write => !maps.writable(self.address, self.bytes()),
        })
    }
}

/// A strided array of the caller: rows, or events with any strides.
#[derive(Clone, Copy, Debug)]
pub struct StridedArray {
    /// The first number.
    pub first: CallerArray,
    /// Extent and stride of each dimension, in numbers.
    directions: [(usize, isize); 3],
    /// The addresses where it begins and ends.
    range: [i128; 2],
}

impl StridedArray {
    /// Describes an array with these dimensions that begins at `first`.
    pub fn new(first: CallerArray, directions: [(usize, isize); 3]) -> StridedArray {
        let (begin, size) = (first.address as i128, first.size as i128);
        let mut range = [begin, begin + size];
        for (count, stride) in directions {
            let reach = (count as i128 - 1) * stride as i128 * size;
            range[usize::from(reach > 0)] += reach;
        }
        StridedArray {
            first,
            directions,
            range,
        }
    }

    /// Describes a contiguous array.
    pub fn contiguous(array: CallerArray) -> StridedArray {
        let first = CallerArray { count: 1, ..array };
        StridedArray::new(first, [(array.count, 1), (1, 0), (1, 0)])
    }

    /// Returns the addresses where the runs along its first dimension begin.
    fn runs(&self) -> impl Iterator<Item = i128> {
        let (first, size) = (self.first.address as i128, self.first.size as i128);
        let [_, (rows, by_row), (planes, by_plane)] = self.directions;
        (0..planes as i128).flat_map(move |plane| {
            (0..rows as i128)
                .map(move |row| first + (row * by_row as i128 + plane * by_plane as i128) * size)
        })
    }

    /// Returns whether the arrays have a byte in common. `other` must be contiguous along its first dimension.
    pub fn overlaps(&self, other: &StridedArray) -> bool {
        let is_empty = |one: &StridedArray| one.directions.iter().any(|&(count, _)| count == 0);
        if is_empty(self) || is_empty(other) {
            return false;
        }
        let [a, b] = [self.range, other.range];
        if a[0] >= b[1] || b[0] >= a[1] {
            return false;
        }
        let size = self.first.size as i128;
        let (count, stride) = (
            self.directions[0].0 as i128,
            self.directions[0].1 as i128 * size,
        );
        let length = (other.directions[0].0 * other.first.size) as i128;
        // Whether a number of this array's run that begins at `run` overlaps the bytes from `begin` to `end`.
        let meets = |run: i128, [begin, end]: [i128; 2]| match stride {
            0 => run + size > begin && run < end,
            _ => {
                let (run, step) = match stride < 0 {
                    true => (run + (count - 1) * stride, -stride),
                    false => (run, stride),
                };
                let next = (begin - size - run).div_euclid(step) + 1;
                let next = next.max(0);
                next < count && run + next * step < end
            }
        };
        other
            .runs()
            .any(|begin| self.runs().any(|run| meets(run, [begin, begin + length])))
    }
}

/// Checks arrays as [`check`] does, and rejects them if an array that is written overlaps another one. Null pointers
/// are ignored.
#[inline(always)]
pub fn check_apart<const N: usize>(
    function: &'static str,
    arrays: [(&str, CallerArray); N],
) -> Result<()> {
    // Each end is computed once, since calls of one event are short. Empty arrays get the end 0, before every address.
    let mut ends = [0; N];
    for ((name, array), end) in arrays.iter().zip(&mut ends) {
        if array.address != 0 {
            check(function, name, *array)?;
            if array.count > 0 {
                *end = array.address.saturating_add(array.bytes());
            }
        }
    }
    for i in 1..N {
        for j in 0..i {
            let ((name, array), (other_name, other)) = (&arrays[i], &arrays[j]);
            let written =
                array.access == PointerAccess::Write || other.access == PointerAccess::Write;
            if written && array.address < ends[j] && other.address < ends[i] {
                return Err(overlap_error(function, other_name, name));
            }
        }
    }
    Ok(())
}

/// Returns the error for two arrays that overlap.
#[cold]
pub fn overlap_error(function: &'static str, one: &str, other: &str) -> Error {
    let what =
        format!("{one} and {other} overlap in memory; what is written needs memory of its own");
    argument_error(function, what)
}

/// Returns an error about an argument.
pub fn argument_error(function: &'static str, what: impl Into<String>) -> Error {
    let what = what.into();
    Error::Call { function, what }
}

/// Returns the error for a null pointer.
pub fn null(function: &'static str, argument: &str) -> Error {
    argument_error(function, format!("{argument} is a null pointer"))
}

/// Returns the count of numbers in an array of `nevt` events with `each` numbers.
pub fn number_count(function: &'static str, nevt: usize, each: usize) -> Result<usize> {
    let numbers = nevt.checked_mul(each.max(1));
    let numbers = numbers.filter(|&numbers| numbers <= MAX_NUMBERS);
    let what = || format!("no memory holds {nevt} events; is this the number of events?");
    numbers.ok_or_else(|| argument_error(function, what()))
}

/// Checks an array for null and alignment, and for access where it is so large that the look-up costs nothing compared
/// with the call itself.
#[inline(always)]
pub fn check(function: &'static str, name: &str, array: CallerArray) -> Result<()> {
    let large = array.count >= LARGE_ARRAY;
    if array.address != 0 && array.is_aligned() && !large {
        return Ok(());
    }
    check_slowly(function, name, array, large)
}

#[cold]
fn check_slowly(function: &'static str, name: &str, array: CallerArray, large: bool) -> Result<()> {
    let maps = large.then(Maps::read).flatten();
    match array.defect(name, maps.as_ref()) {
        None => Ok(()),
        Some(defect) if large => Err(argument_error(
            function,
            format!("{defect}; is this the number of events?"),
        )),
        Some(defect) => Err(argument_error(function, defect)),
    }
}

/// Returns an input array. If it is empty, any pointer is accepted: C has no other for an empty array.
///
/// # Safety
/// Unless it is null or misaligned, the pointer points to `n` values.
#[inline(always)]
pub unsafe fn input<'a, T>(
    function: &'static str,
    name: &str,
    pointer: *const T,
    n: usize,
) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    check(
        function,
        name,
        CallerArray::new(pointer, n, PointerAccess::Read),
    )?;
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { from_raw_parts(pointer, n) })
}

/// Returns an optional input array, `None` for null.
///
/// # Safety
/// As for [`input`].
pub unsafe fn input_or_none<'a, T>(
    function: &'static str,
    name: &str,
    pointer: *const T,
    n: usize,
) -> Result<Option<&'a [T]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { input(function, name, pointer, n) }.map(Some)
}

/// Returns an output array.
///
/// # Safety
/// As for [`input`], and nothing else refers to the values.
#[inline(always)]
pub unsafe fn output<'a, T>(
    function: &'static str,
    name: &str,
    pointer: *mut T,
    n: usize,
) -> Result<&'a mut [T]> {
    if n == 0 {
        return Ok(&mut []);
    }
    check(
        function,
        name,
        CallerArray::new(pointer, n, PointerAccess::Write),
    )?;
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { from_raw_parts_mut(pointer, n) })
}

/// Returns an optional output array, `None` for null.
///
/// # Safety
/// As for [`output`].
pub unsafe fn output_or_none<'a, T>(
    function: &'static str,
    name: &str,
    pointer: *mut T,
    n: usize,
) -> Result<Option<&'a mut [T]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { output(function, name, pointer, n) }.map(Some)
}

/// Reads a variable at any alignment.
///
/// # Safety
/// Unless it is null, the pointer points to a value.
#[inline(always)]
pub unsafe fn value<T: Copy>(function: &'static str, name: &str, pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Writes a variable at any alignment.
///
/// # Safety
/// As for [`value`].
pub unsafe fn write<T>(
    function: &'static str,
    name: &str,
    pointer: *mut T,
    value: T,
) -> Result<()> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Checks a variable at any alignment: memory that cannot be read or written, as far as the system tells, is rejected.
pub fn check_variable<T>(
    function: &'static str,
    name: &str,
    pointer: *const T,
    access: PointerAccess,
) -> Result<()> {
    let bytes = CallerArray::new(pointer.cast::<u8>(), size_of::<T>(), access);
    let defect = bytes.defect(name, Maps::read().as_ref());
    defect.map_or(Ok(()), |defect| Err(argument_error(function, defect)))
}

/// Returns a string.
///
/// # Safety
/// Unless it is null, the pointer points to a string that ends in NUL.
pub unsafe fn string<'a>(
    function: &'static str,
    name: &str,
    pointer: *const c_char,
) -> Result<&'a CStr> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Converts a name to a C string, up to its first NUL.
pub fn c_name(name: &str) -> CString {
    let name = name.split('\0').next().unwrap_or_default();
    CString::new(name).unwrap_or_default()
}
