//! The CPU backend: plans made ready to run on cores of this machine.
//!
//! [`mebridge_engine`] is generic over precision and SIMD level. It is compiled for all of them here, once: who uses this
//! crate sees no type that it would have to compile the kernels for anew.

use mebridge_backend::inputs::Inputs;
use mebridge_backend::{Backend, BadMomentum, Contributions};
use mebridge_engine::{Engine, ThreadedEngine};
use mebridge_plan::ValidPlan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::Process;
use mebridge_simd::{Level, Real};
use mebridge_support::error::Result;
use mebridge_support::runtime::Precision;

pub use mebridge_engine::HelicityLanes;

/// Cores of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Which registers are used.
    pub level: Level,
    /// How many threads.
    pub threads: usize,
}

impl Cores {
    /// Makes a plan ready to run. With `lanes` the lanes of a register hold helicities of one event.
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
            Precision::Double => self.of::<f64>(process, color, binding, plan, false, lanes),
            Precision::Mixed => self.of::<f64>(process, color, binding, plan, true, lanes),
            Precision::Float => self.of::<f32>(process, color, binding, plan, false, lanes),
        }
    }

    fn of<T: Real>(
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

/// One thread without SIMD in double precision: the same answer on every machine, for what is decided by it.
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

    /// What each helicity contributes to each of a few events, see [`Backend::contributions`].
    pub fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, BadMomentum> {
        self.0.contributions(inputs)
    }

    /// The plan, for whatever else runs it.
    pub fn into_plan(self) -> ValidPlan {
        self.0.into_plan()
    }
}
