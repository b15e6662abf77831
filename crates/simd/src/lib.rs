//! A trait for SIMD registers, so that a kernel is written once and compiled for each level.
//!
//! A *level* is an instruction set, named as in CUDACPP: `none`, `sse4`, `avx2`, `512y` (AVX-512 instructions on
//! 256-bit registers, of which there are 32 instead of 16) and `512z` (512-bit registers). On ARM, as in CUDACPP,
//! `sse4` is NEON, and `avx2` and `512z` are SVE with registers of the same size. Each level has a register type for
//! `f64` and one for `f32`, see [`Real`].
//!
//! The level is chosen once, outside of loops. A [`Task`] has a function `run` that is generic over the register type.
//! [`dispatch()`] compiles it for every level inside a function that has the level's instructions enabled, and calls
//! the one for the requested level. Everything that `run` calls must be `#[inline(always)]` (or go through
//! [`Simd::call`], which creates another such function): a function that is not inlined cannot use the instructions.
//!
//! Safety: values of a register type can only be made (`zero`, `splat`, `load`) by unsafe functions whose caller
//! guarantees that the CPU supports the level. The existence of a value proves this, so all arithmetic on values is
//! safe.
//!
//! `mul_add` and related functions round once if the level has fused instructions (`avx2` and up, NEON, SVE) and twice
//! otherwise. Comparisons with NaN are false; if `self` is NaN and `b` a number, `self.max(b)` and `self.min(b)` are
//! `b`.

mod complex;
mod dispatch;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod edges;
pub mod functions;
mod l2;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
#[cfg(target_arch = "aarch64")]
mod sve;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use complex::Cx;
pub use dispatch::{Operation, Task, dispatch, dispatch_unchecked};
pub use l2::l2_bytes;
pub use level::Level;

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A register with one number in each of its [`Simd::LANES`] lanes.
pub trait Simd:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The type of the numbers.
    type Scalar: Real;
    /// The result of a comparison.
    type Mask: Copy;
    /// Number of lanes. Pointers passed to `load` and `store` are aligned to the size of all lanes.
    const LANES: usize;
    /// The level that provides its instructions.
    const LEVEL: Level;

    /// Zero in all lanes.
    ///
    /// # Safety
    /// The CPU supports the level.
    unsafe fn zero() -> Self;
    /// `x` in all lanes.
    ///
    /// # Safety
    /// The CPU supports the level.
    unsafe fn splat(x: Self::Scalar) -> Self;
    /// Reads a vector.
    ///
    /// # Safety
    /// The CPU supports the level; `from` is valid for reading `LANES` numbers and aligned to the register's size.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// Writes a vector.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` numbers and aligned to the register's size.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// Writes a vector rounded to single precision.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` numbers and aligned to their total size.
    unsafe fn store_single(self, to: *mut f32);
    /// Reads four doubles per lane, with distance `stride` between lanes, and transposes them: the first of all lanes,
    /// the second of all lanes and so on, in this register's precision.
    ///
    /// # Safety
    /// The CPU supports the level; `from.add(lane * stride)` is valid for reading four numbers for each lane.
    unsafe fn columns(from: *const f64, stride: usize) -> [Self; 4];
    /// Reads one double per lane, in this register's precision.
    ///
    /// # Safety
    /// The CPU supports the level; `from` is valid for reading `LANES` numbers.
    unsafe fn load_doubles(from: *const f64) -> Self;
    /// Writes every lane in double precision.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` numbers.
    unsafe fn store_doubles(self, to: *mut f64);
    /// Writes every lane as an integer; lanes must hold integers in range.
    ///
    /// # Safety
    /// `to` is valid for writing `LANES` numbers.
    unsafe fn store_integers(self, to: *mut i32);

    /// `x` in all lanes; the existing value proves that the CPU supports the level.
    #[inline(always)]
    fn same(self, x: f64) -> Self {
        // SAFETY: `self` exists, so the CPU supports the level.
        unsafe { Self::splat(Self::Scalar::from_f64(x)) }
    }

    /// `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self * b - c`.
    fn mul_sub(self, b: Self, c: Self) -> Self;
    /// `c - self * b`.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The larger number in each lane.
    fn max(self, b: Self) -> Self;
    /// The smaller number in each lane.
    fn min(self, b: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// |self| with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// Mask of lanes with `self < b`.
    fn lt(self, b: Self) -> Self::Mask;
    /// Mask of lanes with `self <= b`.
    fn le(self, b: Self) -> Self::Mask;
    /// Mask of lanes with `self == b`.
    fn eq(self, b: Self) -> Self::Mask;
    /// Mask of lanes where both masks hold.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether the mask holds in all lanes.
    fn all(a: Self::Mask) -> bool;
    /// `yes` where the mask holds, otherwise `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// Runs a task in a separate function that has the level's instructions enabled.
    ///
    /// # Safety
    /// The CPU supports the level, and the requirements of the task are met.
    unsafe fn call<T: Task<Self::Scalar>>(task: T) -> T::Output;

    /// Calls an operation, which is compiled as a separate function with the level's instructions enabled: for long ones
    /// that several places of a task need, or one that is too long for compilers.
    fn outlined<O: Operation<Self>>(self, operation: O) -> O::Output;
}

/// `f64` or `f32`, with its register type for each level.
///
/// # Safety
/// The type is one of these, as indicated by [`Real::DOUBLE`]: zero bytes represent the number zero, all bytes are
/// initialised, and the alignment does not exceed the size. The registers have the number of lanes that they declare.
pub unsafe trait Real: Copy + Debug + Default + PartialOrd + Send + Sync + 'static {
    /// Registers of level none.
    type None: Simd<Scalar = Self>;
    /// Registers of level sse4.
    type Sse4: Simd<Scalar = Self>;
    /// Registers of level avx2.
    type Avx2: Simd<Scalar = Self>;
    /// Registers of level 512y.
    type Avx512y: Simd<Scalar = Self>;
    /// Registers of level 512z.
    type Avx512z: Simd<Scalar = Self>;
    /// Whether this is `f64`.
    const DOUBLE: bool;
    /// The largest number below 1.
    const BELOW_ONE: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Converts from `f64`, with rounding.
    fn from_f64(x: f64) -> Self;
    /// Converts to `f64`.
    fn to_f64(self) -> f64;
}

macro_rules! real {
    ($scalar:ident, $double:expr, $none:ty, $sse4:ty, $avx2:ty, $avx512y:ty, $avx512z:ty) => {
        // SAFETY: the type is `f64` or `f32`, with the registers of its levels.
        unsafe impl Real for $scalar {
            type None = $none;
            type Sse4 = $sse4;
            type Avx2 = $avx2;
            type Avx512y = $avx512y;
            type Avx512z = $avx512z;
            const DOUBLE: bool = $double;
            const BELOW_ONE: $scalar = 1.0 - $scalar::EPSILON / 2.0;
            const EPSILON: $scalar = $scalar::EPSILON;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $scalar
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::{Real, plain, x86};
    real!(
        f64,
        true,
        plain::F64,
        x86::F64Sse4,
        x86::F64Avx2,
        x86::F64Avx512y,
        x86::F64Avx512z
    );
    real!(
        f32,
        false,
        plain::F32,
        x86::F32Sse4,
        x86::F32Avx2,
        x86::F32Avx512y,
        x86::F32Avx512z
    );
}

// Level 512y (AVX-512 with 256 bits) does not exist on ARM and is never used; mapping it to level none generates no
// code.
#[cfg(target_arch = "aarch64")]
mod registers {
    use super::{Real, neon, plain, sve};
    real!(
        f64,
        true,
        plain::F64,
        neon::F64,
        sve::F64Avx2,
        plain::F64,
        sve::F64Avx512z
    );
    real!(
        f32,
        false,
        plain::F32,
        neon::F32,
        sve::F32Avx2,
        plain::F32,
        sve::F32Avx512z
    );
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers {
    use super::{Real, plain::F32, plain::F64};
    real!(f64, true, F64, F64, F64, F64, F64);
    real!(f32, false, F32, F32, F32, F32, F32);
}

#[cfg(test)]
mod tests;

/// Prefetches the memory at an address, which need not be valid, to the L1 cache.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    // SAFETY: this is a hint that reads nothing; every x86-64 processor supports it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    // SAFETY: this is a hint that changes nothing and never faults; every 64-bit ARM core supports it.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}
