//! From a level known at run time to code compiled for it.

use super::{Level, Real, Simd};

/// Work that is written once and compiled for each level.
pub trait Task<S: Real> {
    /// What it gives.
    type Output;
    /// Does the work. Implementations must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The CPU has the level of `V`; and whatever the implementation asks for.
    unsafe fn run<V: Simd<Scalar = S>>(self) -> Self::Output;
}

/// Runs a task at a level.
///
/// # Panics
/// If the CPU lacks the level; [`Level::choose`] gives only levels that it has.
///
/// # Safety
/// What the task's `run` asks for beside the level.
pub unsafe fn dispatch<S: Real, T: Task<S>>(level: Level, task: T) -> T::Output {
    assert!(
        level.is_supported(),
        "SIMD level {level} on a CPU without it"
    );
    // SAFETY: the CPU has the level; the rest is the caller's promise.
    unsafe { dispatch_unchecked(level, task) }
}

/// As [`dispatch`], by a caller that is running at this level already.
///
/// # Safety
/// The CPU has the level; and what the task's `run` asks for.
#[inline(always)]
pub unsafe fn dispatch_unchecked<S: Real, T: Task<S>>(level: Level, task: T) -> T::Output {
    // SAFETY: the caller's promise.
    unsafe {
        match level {
            Level::None => S::None::call(task),
            Level::Sse4 => S::Sse4::call(task),
            Level::Avx2 => S::Avx2::call(task),
            Level::Avx512y => S::Avx512y::call(task),
            Level::Avx512z => S::Avx512z::call(task),
        }
    }
}
