//! What a bridge asks of whatever runs a plan.

pub mod events;
pub mod inputs;
pub mod sample;
pub mod trial;

use crate::inputs::{Inputs, Outputs};
use crate::sample::{DeviceSample, Sample, SampleAnswers};
use mebridge_plan::Plan;
use mebridge_support::error::{Error, Result};
use serde::Serialize;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An error where an array has another length than it needs.
fn check_length(what: &'static str, has: usize, needs: usize) -> Result<()> {
    match has == needs {
        true => Ok(()),
        false => Err(Error::ArrayLength { what, has, needs }),
    }
}

/// A plan, ready to run.
pub trait Backend: Send {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// What to measure of where the time goes.
    fn set_profile(&mut self, clocks: Clocks);

    /// Where the time went, as far as [`Backend::set_profile`] asked.
    fn timers(&self) -> Timers;

    /// The kernels of a GPU that serve calls with or without channels; none on a CPU.
    fn kernels(&self, channels: bool) -> Result<Kernels> {
        let _ = channels;
        Ok(Kernels::default())
    }

    /// Evaluates events whose indices have been checked, in arrays of one length.
    fn run(&mut self, inputs: Inputs, outputs: Outputs) -> Result<(), Failure>;

    /// Whether a |M|^2 of the last run may be no sum of squares: negative, infinite or NaN. True where nobody has looked.
    fn may_be_lost(&self) -> bool {
        true
    }

    /// From now on momenta may be off their mass shells. False where that cannot be.
    fn allow_off_shell(&mut self) -> bool {
        false
    }

    /// Waits for whatever is done behind the scenes so that later calls are faster.
    fn wait_for_compiler(&mut self) {}

    /// Evaluates a few events and gives for each the contributions of helicities and, where
    /// the plan computes them, all AMP2.
    fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, Failure>;

    /// Evaluates the first of these events and gives each helicity by itself; false where it cannot tell.
    fn each(&mut self, inputs: Inputs, answer: &mut EachHelicity) -> Result<bool, Failure> {
        let _ = (inputs, answer);
        Ok(false)
    }

    /// What one thread of a caller's needs to evaluate samples while others do so too. They share all that does not
    /// change, and may outlive this; `memory` is the thread's, for all that it evaluates.
    fn session(&self, memory: &SessionMemory) -> Result<Box<dyn Session>> {
        let _ = memory;
        Err(Error::NotOnGpu {
            what: "samples in the memory of the host".into(),
        })
    }

    /// What evaluates samples in the memory of a GPU. All that has to be compiled or found out is there when it is.
    fn device_session(&self) -> Result<Arc<dyn DeviceSession>> {
        Err(Error::NotOnCpu {
            what: "samples in the memory of a GPU",
        })
    }
}

/// Evaluates samples in the memory of a GPU, for any number of threads, and for as long as anybody has it.
pub trait DeviceSession: Send + Sync {
    /// Puts all work on a sample into its stream, and returns. Bad events have no number; that is all that is said.
    ///
    /// # Safety
    /// The arrays have the sizes that [`DeviceSample`] says, none that is written overlaps another one, and they stay
    /// until the stream has come past the work. The stream is one of their GPU's, or 0.
    unsafe fn run(&self, sample: &DeviceSample) -> Result<()>;

    /// Waits until all work on samples so far is done.
    fn wait(&self) -> Result<()>;
}

/// Memory that the sessions of one thread work in, one after the other. Nothing in it is kept from one sample to the next; of
/// a hundred matrix elements it is as large as that of the largest, and stays in the caches of a core.
#[derive(Clone, Debug, Default)]
pub struct SessionMemory(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl SessionMemory {
    /// What lies there: whatever the last session put there.
    pub fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's way to evaluate samples.
pub trait Session: Send {
    /// Evaluates a sample whose indices have been checked. Bad events have no number. An error where the arrays are not
    /// those of as many events of the process.
    fn run(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<()>;
}

/// What is measured of where the time goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Nothing.
    #[default]
    None,
    /// How long phases take, which costs a little. On a GPU the kernels are those of all other calls, so that colour
    /// sums count as amplitudes.
    Phases,
    /// The same, and on a GPU colour sums by kernels that have clocks in them, which may make these a little
    /// slower. They are compiled by the first call.
    Kernels,
}

/// What one event's answer is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributions {
    /// The contribution of each helicity of the plan, without the average.
    pub helicities: Vec<f64>,
    /// AMP2 in the order of the plan, empty if it does not compute them.
    pub amp2: Vec<f64>,
}

/// One event, each helicity of the plan by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachHelicity {
    /// How many helicities are evaluated at a time, in the lanes of a register.
    pub lanes: usize,
    /// `[helicity of the plan][lane]`: the contributions, without the average.
    pub contributions: Vec<f64>,
    /// For each row of the next two the helicity (an index into the plan's).
    pub order: Vec<u32>,
    /// `[row][lane][AMP2 of the plan]`
    pub amp2: Vec<f64>,
    /// `[row][lane][colour flow]`
    pub jamp2: Vec<f64>,
}

/// The kernels that run a plan on a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernels {
    /// Each kernel.
    pub each: Vec<Kernel>,
    /// Bytes of the GPU's memory that they read and write for an event, at the least.
    pub bytes: usize,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// What it is called.
    pub name: String,
    /// How often it is launched for a chunk of events.
    pub launches: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Numbers of threads that were tried for it, with seconds for an event.
    pub tried: Vec<(u32, f64)>,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's own memory: what did not fit into registers.
    pub local: usize,
    /// Bytes of a block's shared memory.
    pub shared: usize,
    /// Blocks that run at the same time on a multiprocessor.
    pub blocks: u32,
}

/// A momentum may be off its mass shell by this part of its energy squared. MadEvent's are within 1e-9; a
/// wrong mass or a wrong order of particles is far beyond. (Also in `cuda/number.cuh`.)
pub const OFF_SHELL: f64 = 1e-4;
/// The sum of all momenta, those that go out negative, may be off zero by this part of the energy that
/// comes in. Files of events with few digits are within 1e-5. (Also in `cuda/number.cuh`.)
pub const NOT_CONSERVED: f64 = 1e-3;

/// An event that cannot be evaluated: a momentum that is not finite, has no positive energy or is
/// off its mass shell, or momenta that are not conserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMomentum {
    /// Its number within the call, from 0.
    pub event: usize,
}

/// Why a call was not answered.
#[derive(Debug)]
pub enum Failure {
    /// An event is bad; the first of them, as far as was seen.
    Event(BadMomentum),
    /// Something else.
    Other(Error),
}

impl From<BadMomentum> for Failure {
    fn from(bad: BadMomentum) -> Failure {
        Failure::Event(bad)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

/// The phase of [`Timers`] in which a GPU computes wavefunctions.
pub const WAVEFUNCTIONS: &str = "wavefunctions";
/// The phase in which a GPU computes squared diagrams by themselves.
pub const SQUARES: &str = "squared diagrams";
/// The phase in which amplitudes and JAMP are computed.
pub const AMPLITUDES: &str = "amplitudes and JAMP";
/// The phase of the sums over colours.
pub const COLOR: &str = "colour sum";
/// The phase in which a GPU chooses helicities and colours.
pub const CHOICES: &str = "choices";
/// The phases in which a GPU computes.
pub const KERNELS: [&str; 5] = [WAVEFUNCTIONS, SQUARES, AMPLITUDES, COLOR, CHOICES];

/// Where the time went: names of phases, in the order in which they are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timers(pub Vec<(&'static str, Duration)>);

impl Timers {
    /// Adds the time of a phase.
    pub fn add(&mut self, phase: &'static str, time: Duration) {
        match self.0.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, sum)) => *sum += time,
            None => self.0.push((phase, time)),
        }
    }

    /// The time of a phase.
    pub fn of(&self, phase: &str) -> Duration {
        let mut all = self.0.iter();
        all.find(|(name, _)| *name == phase)
            .map_or(Duration::ZERO, |(_, time)| *time)
    }

    /// What has been added since.
    pub fn since(&self, before: &Timers) -> Timers {
        let all = self.0.iter();
        let since = |&(name, time): &(_, Duration)| (name, time.saturating_sub(before.of(name)));
        Timers(all.map(since).collect())
    }

    /// The time in which the kernels of a GPU ran, without copies.
    pub fn kernels(&self) -> Duration {
        let all = self.0.iter().filter(|(name, _)| KERNELS.contains(name));
        all.map(|(_, time)| *time).sum()
    }

    /// Adds all times of others.
    pub fn merge(&mut self, other: &Timers) {
        for &(phase, time) in &other.0 {
            self.add(phase, time);
        }
    }
}
