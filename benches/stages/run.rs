//! One piece of work at a SIMD level. All addresses are those of a plan and within the memory that
//! the caller made for it; the level is one that the CPU has.

use mebridge::engine::color::ColorSum;
use mebridge::engine::color::ColorSumTask;
use mebridge::ops::Batch;
use mebridge::ops::kernels::{self, Direct, Table};
use mebridge::process::ExternalKind;
use mebridge::simd::{Level, Real, Simd, Task, dispatch};

struct Currents<'a, T>(&'a Batch, *mut T);

impl<T: Real> Task<T> for Currents<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        // SAFETY: see above.
        unsafe { kernels::currents::<V, _>(self.0.opcode, &self.0.operands, Direct, self.1) }
    }
}

/// Wavefunctions of one batch.
pub fn currents<T: Real>(level: Level, base: *mut T, batch: &Batch) {
    // SAFETY: see above.
    unsafe { dispatch(level, Currents(batch, base)) }
}

struct Amplitudes<'a, T>(&'a Batch, &'a [u32], *mut T);

impl<T: Real> Task<T> for Amplitudes<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let Amplitudes(batch, table, base) = self;
        // SAFETY: see above.
        unsafe { kernels::amplitudes::<V, _>(batch.opcode, &batch.operands, Table(table), base) }
    }
}

/// Amplitudes of one batch, for the helicity with this table.
pub fn amplitudes<T: Real>(level: Level, base: *mut T, batch: &Batch, table: &[u32]) {
    // SAFETY: see above.
    unsafe { dispatch(level, Amplitudes(batch, table, base)) }
}

struct External<'a, T> {
    base: *mut T,
    kind: ExternalKind,
    massive: bool,
    helicities: &'a [i8],
    results: &'a [u32],
}

impl<T: Real> Task<T> for External<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        // SAFETY: see above.
        unsafe {
            let at = |address: usize| V::load(self.base.add(address * V::LANES));
            let momentum = [at(0), at(1), at(2), at(3)];
            let mass = self.massive.then(|| at(4));
            kernels::external(
                self.kind,
                1,
                mass,
                momentum,
                self.helicities,
                self.results,
                self.base,
            );
        }
    }
}

/// Wavefunctions of a leg whose momentum is at 0 and whose mass is at 4.
pub fn external<T: Real>(
    level: Level,
    base: *mut T,
    kind: ExternalKind,
    massive: bool,
    helicities: &[i8],
    results: &[u32],
) {
    let task = External {
        base,
        kind,
        massive,
        helicities,
        results,
    };
    // SAFETY: see above.
    unsafe { dispatch(level, task) }
}

/// The colour sum of the JAMPs at the beginning of the memory; behind them a vector for the result,
/// then scratch.
pub fn color_sum<T: Real>(level: Level, base: *mut T, color: &ColorSum<T>, flows: usize) {
    let lanes = level.lanes::<T>();
    // SAFETY: see above.
    unsafe {
        let result = base.add(2 * flows * lanes);
        let sum = ColorSumTask {
            color,
            jamp: base,
            scratch: result.add(lanes),
            result,
        };
        dispatch(level, sum);
    }
}
