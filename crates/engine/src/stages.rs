//! Single stages of the engine for `make bench`; not part of the interface.

use super::engine::Engine;
use super::worker::Worker;
use mebridge_plan::Plan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::Process;
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use mebridge_support::error::Result;

/// The computation of JAMPs from amplitudes, for one vector of events and one helicity.
pub struct Jamps<T: Real> {
    engine: Engine<T>,
    worker: Worker<T>,
    level: Level,
}

impl<T: Real> Jamps<T> {
    /// Sets all amplitudes to zero.
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

    /// Runs the stage once.
    pub fn run(&mut self) {
        let sums = JampSumsTask {
            engine: &self.engine,
            base: self.worker.vectors(),
        };
        // SAFETY: the worker's memory was made for this engine, and the plan has no address beyond it.
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
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.engine
                .jamp
                .add_up::<V, 1, false>([self.base], self.base)
        }
    }
}
