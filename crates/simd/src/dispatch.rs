//! Dispatch from a level known at run time to code compiled for it.

use super::{Level, Real, Simd};

/// Code that is written once and compiled for each level.
pub trait Task<S: Real> {
    /// The result of the task.
    type Output;
    /// Runs the task. Implementations must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The CPU supports the level of `V`; further requirements are those of the implementation.
    unsafe fn run<V: Simd<Scalar = S>>(self) -> Self::Output;
}

/// A computation on registers that [`Simd::outlined`] calls.
pub trait Operation<V> {
    /// The result of the computation.
    type Output;
    /// Computes it. Implementations must be `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Runs a task at a level.
///
/// # Panics
/// If the CPU does not support the level; [`Level::choose`] returns supported levels only.
///
/// # Safety
/// The requirements of the task's `run` other than the level.
pub unsafe fn dispatch<S: Real, T: Task<S>>(level: Level, task: T) -> T::Output {
    assert!(
        level.is_supported(),
        "this CPU does not support SIMD level {level}"
    );
    // SAFETY: the CPU supports the level; the rest is guaranteed by the caller.
    unsafe { dispatch_unchecked(level, task) }
}

/// Like [`dispatch`], for a caller that already runs at this level.
///
/// # Safety
/// The CPU supports the level; further requirements are those of the task's `run`.
#[inline(always)]
pub unsafe fn dispatch_unchecked<S: Real, T: Task<S>>(level: Level, task: T) -> T::Output {
    // SAFETY: guaranteed by the caller.
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
