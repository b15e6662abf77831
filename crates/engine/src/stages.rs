//! A stage of the engine by itself, for `make bench`; no part of the interface.

use super::engine::Engine;
use super::worker::Worker;
use mebridge_plan::Plan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::Process;
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use mebridge_support::error::Result;

/// From amplitudes to JAMP, on one vector of events and for one helicity.
pub struct Jamps<T: Real> {
    engine: Engine<T>,
    worker: Worker<T>,
    level: Level,
}

impl<T: Real> Jamps<T> {
    /// With amplitudes that are all zero.
    pub fn new(process: &Process, binding: &Binding, plan: Plan, level: Level) -> Result<Self> {
        let color = BlockDiagonal::of_process(process, false);
        let engine = Engine::new(
            process,
            &color,
            binding,
            plan.validate(process)?,
            level,
            false,
        )?;
        let worker = Worker::new(&engine)?;
        Ok(Jamps {
            engine,
            worker,
            level,
        })
    }

    /// Does it once.
    pub fn run(&mut self) {
        let sums = JampSumsTask {
            engine: &self.engine,
            base: self.worker.vectors(),
        };
        // SAFETY: the worker's memory was made for this engine, whose plan names no address beyond
        // it.
        unsafe { dispatch(self.level, sums) }
    }
}

struct JampSumsTask<'a, T: Real> {
    engine: &'a Engine<T>,
    base: *mut T,
}

impl<T: Real> Task<T> for JampSumsTask<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.engine
                .jamp
                .add_up::<V, 1, false>([self.base], self.base)
        }
    }
}
