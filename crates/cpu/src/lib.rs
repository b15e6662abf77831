//! The CPU backend: prepares plans to run on cores of this machine.
//!
//! [`mebridge_engine`] is generic over precision and SIMD level. This crate compiles it once for all of them and
//! exposes no generic types, so that its users need not compile the kernels again.

use mebridge_backend::inputs::Inputs;
use mebridge_backend::{Backend, Contributions, Failure};
use mebridge_engine::{Engine, ThreadedEngine};
use mebridge_plan::ValidPlan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::Process;
use mebridge_simd::{Level, Real};
use mebridge_support::error::Result;
use mebridge_support::runtime::Precision;

pub use mebridge_engine::HelicityLanes;

/// The cores of this machine to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// SIMD level.
    pub level: Level,
    /// Number of threads.
    pub threads: usize,
}

impl Cores {
    /// Makes a plan ready to run. With `lanes`, the lanes of a register hold helicities of one event.
    pub fn backend(
        self,
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        precision: Precision,
        lanes: Option<&HelicityLanes>,
    ) -> Result<Box<dyn Backend>> {
        match precision {
            Precision::Double => self.engine::<f64>(process, color, binding, plan, false, lanes),
            Precision::Mixed => self.engine::<f64>(process, color, binding, plan, true, lanes),
            Precision::Float => self.engine::<f32>(process, color, binding, plan, false, lanes),
        }
    }

    fn engine<T: Real>(
        self,
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        single_color: bool,
        lanes: Option<&HelicityLanes>,
    ) -> Result<Box<dyn Backend>> {
        let engine = Engine::<T>::new(process, color, binding, plan, self.level, single_color)?;
        let engine = match lanes {
            Some(lanes) => engine.with_helicity_lanes(lanes)?,
            None => engine,
        };
        Ok(Box::new(ThreadedEngine::new(engine, self.threads)?))
    }
}

/// One thread without SIMD in double precision: gives the same results on every machine, for decisions that depend on
/// them.
pub struct Scalar(ThreadedEngine<f64>);

impl Scalar {
    /// Makes a plan ready to run.
    pub fn new(
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
    ) -> Result<Scalar> {
        let engine = Engine::new(process, color, binding, plan, Level::None, false)?;
        Ok(Scalar(ThreadedEngine::new(engine, 1)?))
    }

    /// Contribution of each helicity to each of a few events, see [`Backend::contributions`].
    pub fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, Failure> {
        self.0.contributions(inputs)
    }

    /// Returns the plan, for use in another backend.
    pub fn into_plan(self) -> ValidPlan {
        self.0.into_plan()
    }
}
