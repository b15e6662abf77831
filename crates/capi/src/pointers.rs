//! Pointers of callers, looked at before they are followed.
//!
//! All doors look in the same way, each at what its callers can pass wrongly. Every array must not be null, and must be
//! aligned. Some must lie in memory that can be read or written ([`Maps`]): arrays so large that the number of events
//! is rather a mistake; arguments of the Fortran symbols, which a caller of another generation shifts; and the
//! variables into which these put numbers. The caller promises what cannot be looked at.

use super::memory::Maps;
use mebridge::error::{Error, Result};
use std::ffi::{CStr, c_char};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// So many numbers are asked for before they are followed.
pub const LARGE: usize = 1 << 26;

/// No array has as many numbers of 8 bytes.
pub const MOST_NUMBERS: usize = isize::MAX as usize / 8;

/// What is done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerAccess {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// An array, or a variable, as a caller passes it.
#[derive(Clone, Copy, Debug)]
pub struct CallerArray {
    /// Where it begins.
    pub address: usize,
    /// Bytes of a number, to which it is aligned: a power of two.
    pub size: usize,
    /// How many numbers.
    pub count: usize,
    /// What is done with it.
    pub access: PointerAccess,
}

impl CallerArray {
    /// So many values from a pointer on.
    #[inline(always)]
    pub fn of<T>(pointer: *const T, count: usize, access: PointerAccess) -> CallerArray {
        CallerArray {
            address: pointer as usize,
            size: size_of::<T>(),
            count,
            access,
        }
    }

    /// How many bytes.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.size.saturating_mul(self.count)
    }

    /// Calls of one event are so short that a division would count.
    #[inline(always)]
    fn is_aligned(&self) -> bool {
        self.address & (self.size - 1) == 0
    }

    /// Whether a byte is part of both.
    #[inline(always)]
    pub fn overlaps(&self, other: &CallerArray) -> bool {
        let end = |array: &CallerArray| array.address.saturating_add(array.bytes());
        self.count > 0 && other.count > 0 && self.address < end(other) && other.address < end(self)
    }

    /// The reason why it cannot be used, if there is one: it is null, misaligned, or not there as far as `maps` tell.
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

    /// Whether it is not there, as far as the system tells.
    pub fn is_missing(&self, maps: Option<&Maps>) -> bool {
        maps.is_some_and(|maps| match self.access {
            PointerAccess::Read => !maps.readable(self.address, self.bytes()),
            PointerAccess::Write => !maps.writable(self.address, self.bytes()),
        })
    }
}

/// Numbers of a caller's that need not lie one behind the other: rows of them, or of events that are anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The first number alone.
    pub first: CallerArray,
    /// How many there are in each direction, and how many numbers lie from one to the next.
    directions: [(usize, isize); 3],
    /// The address of its first byte and that behind its last one.
    range: [i128; 2],
}

impl Spread {
    /// Numbers in all directions from the first one.
    pub fn new(first: CallerArray, directions: [(usize, isize); 3]) -> Spread {
        let (begin, size) = (first.address as i128, first.size as i128);
        let mut range = [begin, begin + size];
        for (count, stride) in directions {
            let reach = (count as i128 - 1) * stride as i128 * size;
            range[usize::from(reach > 0)] += reach;
        }
        Spread {
            first,
            directions,
            range,
        }
    }

    /// Numbers one behind the other.
    pub fn of(array: CallerArray) -> Spread {
        let first = CallerArray { count: 1, ..array };
        Spread::new(first, [(array.count, 1), (1, 0), (1, 0)])
    }

    /// Where runs of its first direction begin.
    fn runs(&self) -> impl Iterator<Item = i128> {
        let (first, size) = (self.first.address as i128, self.first.size as i128);
        let [_, (rows, by_row), (planes, by_plane)] = self.directions;
        (0..planes as i128).flat_map(move |plane| {
            (0..rows as i128)
                .map(move |row| first + (row * by_row as i128 + plane * by_plane as i128) * size)
        })
    }

    /// Whether a byte is part of both; the numbers of the other one lie one behind the other in its first direction.
    pub fn overlaps(&self, other: &Spread) -> bool {
        let is_empty = |one: &Spread| one.directions.iter().any(|&(count, _)| count == 0);
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
        // Whether one of the numbers of a run of this one, which begins here, ends behind `begin` and begins before `end`.
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

/// Looks at arrays as [`check`] does, and refuses those of which one that is written overlaps another one. Null pointers
/// are none.
#[inline(always)]
pub fn check_apart<const N: usize>(
    function: &'static str,
    arrays: [(&str, CallerArray); N],
) -> Result<()> {
    // Calls of one event are so short that it counts how often these are computed. What is empty ends before all others.
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
                return Err(overlap(function, other_name, name));
            }
        }
    }
    Ok(())
}

/// The error about two arrays that overlap.
#[cold]
pub fn overlap(function: &'static str, one: &str, other: &str) -> Error {
    let what =
        format!("{one} and {other} overlap in memory; what is written needs memory of its own");
    wrong(function, what)
}

/// An error about an argument.
pub fn wrong(function: &'static str, what: impl Into<String>) -> Error {
    let what = what.into();
    Error::Call { function, what }
}

/// The error about a null pointer.
pub fn null(function: &'static str, argument: &str) -> Error {
    wrong(function, format!("{argument} is a null pointer"))
}

/// How many numbers an array of so many events has.
pub fn numbers(function: &'static str, nevt: usize, each: usize) -> Result<usize> {
    let numbers = nevt.checked_mul(each.max(1));
    let numbers = numbers.filter(|&numbers| numbers <= MOST_NUMBERS);
    let what = || format!("no memory holds {nevt} events; is this the number of events?");
    numbers.ok_or_else(|| wrong(function, what()))
}

/// Looks at an array: null and alignment always, and whether it is there where it is so large that asking costs nothing
/// beside the call itself.
#[inline(always)]
pub fn check(function: &'static str, name: &str, array: CallerArray) -> Result<()> {
    let large = array.count >= LARGE;
    if array.address != 0 && array.is_aligned() && !large {
        return Ok(());
    }
    look_closer(function, name, array, large)
}

#[cold]
fn look_closer(function: &'static str, name: &str, array: CallerArray, large: bool) -> Result<()> {
    let maps = large.then(Maps::read).flatten();
    match array.defect(name, maps.as_ref()) {
        None => Ok(()),
        Some(defect) if large => Err(wrong(
            function,
            format!("{defect}; is this the number of events?"),
        )),
        Some(defect) => Err(wrong(function, defect)),
    }
}

/// An array that is read; of no values, wherever the pointer points: C has no other for an empty array.
///
/// # Safety
/// Unless it is null or misaligned, the pointer is the beginning of `n` values.
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
        CallerArray::of(pointer, n, PointerAccess::Read),
    )?;
    // SAFETY: the caller's promise.
    Ok(unsafe { from_raw_parts(pointer, n) })
}

/// The same where null means that there is none.
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
    // SAFETY: the caller's promise.
    unsafe { input(function, name, pointer, n) }.map(Some)
}

/// An array that is written.
///
/// # Safety
/// As for [`input`], and nothing else points into the values.
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
        CallerArray::of(pointer, n, PointerAccess::Write),
    )?;
    // SAFETY: the caller's promise.
    Ok(unsafe { from_raw_parts_mut(pointer, n) })
}

/// The same where null means that it is not asked for.
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
    // SAFETY: the caller's promise.
    unsafe { output(function, name, pointer, n) }.map(Some)
}

/// The value of a variable, on any address.
///
/// # Safety
/// Unless it is null, the pointer is that of a value.
#[inline(always)]
pub unsafe fn value<T: Copy>(function: &'static str, name: &str, pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Puts a value into a variable, on any address.
///
/// # Safety
/// As for [`value`].
pub unsafe fn put<T>(function: &'static str, name: &str, pointer: *mut T, value: T) -> Result<()> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: the caller's promise.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Looks at a variable, on any address: what cannot be read or written is refused, as far as the system tells.
pub fn check_variable<T>(
    function: &'static str,
    name: &str,
    pointer: *const T,
    access: PointerAccess,
) -> Result<()> {
    let bytes = CallerArray::of(pointer.cast::<u8>(), size_of::<T>(), access);
    let defect = bytes.defect(name, Maps::read().as_ref());
    defect.map_or(Ok(()), |defect| Err(wrong(function, defect)))
}

/// A string.
///
/// # Safety
/// Unless it is null, the pointer is that of a string which ends in NUL.
pub unsafe fn string<'a>(
    function: &'static str,
    name: &str,
    pointer: *const c_char,
) -> Result<&'a CStr> {
    if pointer.is_null() {
        return Err(null(function, name));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}
