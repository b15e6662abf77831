//! The interface between a bridge and the backends that run plans.

pub mod events;
pub mod inputs;
mod points;
pub mod sample;
pub mod trial;

pub use points::check_length;

use crate::inputs::{Inputs, Outputs};
use crate::sample::{DeviceSample, Sample, SampleAnswers};
use mebridge_plan::Plan;
use mebridge_support::error::{Error, Result};
use serde::Serialize;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The momenta that an engine accepts. They must be finite and conserved in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedMomenta {
    /// On their mass shells, with positive energies.
    #[default]
    Physical,
    /// The same off their mass shells.
    OffShell,
    /// On their mass shells; all four components are negative where a massless vector is in the place of an incoming one
    /// although it is outgoing, or vice versa. Its helicities then have the sign of their wavefunctions reversed.
    Crossed,
}

/// A plan that is ready to run.
pub trait Backend: Send {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// Selects which times are measured.
    fn set_profile(&mut self, clocks: Clocks);

    /// The times measured so far, as selected by [`Backend::set_profile`].
    fn timers(&self) -> Timers;

    /// The GPU kernels that serve calls with or without channels; none on a CPU.
    fn kernels(&self, channels: bool) -> Result<Kernels> {
        let _ = channels;
        Ok(Kernels::default())
    }

    /// Evaluates events. Indices and array lengths have been checked.
    fn run(&mut self, inputs: Inputs, outputs: Outputs) -> Result<(), Failure>;

    /// Whether a |M|^2 of the last run may be negative, infinite or NaN, and so no sum of squares. True if this was not
    /// checked.
    fn may_be_invalid(&self) -> bool {
        true
    }

    /// Accepts such momenta from now on. Returns false if that is not possible.
    fn allow(&mut self, _momenta: AllowedMomenta) -> bool {
        false
    }

    /// Waits for compilation in the background that makes later calls faster.
    fn wait_for_compiler(&mut self) {}

    /// Evaluates a few events and returns for each the contribution of every helicity and, if the plan computes them,
    /// all AMP2.
    fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, Failure>;

    /// Evaluates the first event and returns each helicity separately; false if the backend cannot separate them.
    fn each(&mut self, inputs: Inputs, answer: &mut EachHelicity) -> Result<bool, Failure> {
        let _ = (inputs, answer);
        Ok(false)
    }

    /// Creates a session with which one thread of the caller evaluates samples while other threads do the same.
    /// Sessions share all constant data and may outlive this backend; `memory` belongs to the thread and serves all its
    /// sessions.
    fn session(&self, memory: &SessionMemory) -> Result<Box<dyn Session>> {
        let _ = memory;
        Err(Error::NotOnGpu {
            what: "samples in the memory of the host".into(),
        })
    }

    /// Returns the object that evaluates samples in GPU memory, with everything compiled and tuned.
    fn device_session(&self) -> Result<Arc<dyn DeviceSession>> {
        Err(Error::NotOnCpu {
            what: "samples in the memory of a GPU",
        })
    }
}

/// Evaluates samples in GPU memory. It may be shared by any number of threads and stays valid as long as it is
/// referenced.
pub trait DeviceSession: Send + Sync {
    /// Enqueues all work on a sample in its stream and returns. A bad event has NaN as its matrix element; no other
    /// error is reported for it.
    ///
    /// # Safety
    /// The arrays have the sizes given in [`DeviceSample`], no array that is written overlaps another, and all stay
    /// valid until the stream has completed the work. The stream belongs to the GPU that holds the arrays, or is 0.
    unsafe fn run(&self, sample: &DeviceSample) -> Result<()>;

    /// Waits until all work enqueued so far is done.
    fn wait(&self) -> Result<()>;
}

/// Working memory of the sessions of one thread, which use it in turn. Nothing is kept from one sample to the next; for
/// a hundred matrix elements it is as large as the largest needs, and stays in the caches of a core.
#[derive(Clone, Debug, Default)]
pub struct SessionMemory(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl SessionMemory {
    /// Locks the memory, which holds whatever the last session left there.
    pub fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Evaluates samples on one thread.
pub trait Session: Send {
    /// Evaluates a sample whose indices have been checked. Bad events get NaN.
    ///
    /// # Errors
    /// The arrays do not have equal numbers of events or do not fit the process.
    fn run(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<()>;

    /// As [`Session::run`] for a sample that requests diagrams. `leading` gets |M|^2 at leading colour of each event: with
    /// the diagonal of the colour matrix alone.
    ///
    /// # Errors
    /// As for [`Session::run`]; or this is a GPU.
    fn run_with_leading_color(
        &mut self,
        _sample: &Sample,
        _answers: SampleAnswers,
        _leading: &mut [f64],
    ) -> Result<()> {
        Err(Error::Internal {
            what: "a CPU for |M|^2 at leading colour".into(),
        })
    }
}

/// Which times are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Nothing.
    #[default]
    None,
    /// Duration of each phase, at a small cost. A GPU uses the same kernels as without clocks, so that colour sums
    /// count as amplitudes.
    Phases,
    /// As `Phases`, and a GPU uses colour sum kernels with clocks in them, which may be a little slower. The first call
    /// compiles them.
    Kernels,
}

/// Contributions to the matrix element of one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributions {
    /// `[helicity of the plan]`: contributions, not averaged.
    pub helicities: Vec<f64>,
    /// AMP2 in the order of the plan; empty if the plan does not compute them.
    pub amp2: Vec<f64>,
}

/// Results for one event, separately for each helicity of the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachHelicity {
    /// Number of helicities evaluated at a time in the lanes of a register.
    pub lanes: usize,
    /// `[helicity of the plan][lane]`: contributions, not averaged.
    pub contributions: Vec<f64>,
    /// `[row]`: the helicity (an index into the plan's) to which a row of `amp2` and `jamp2` belongs.
    pub order: Vec<u32>,
    /// `[row][lane][AMP2 of the plan]`
    pub amp2: Vec<f64>,
    /// `[row][lane][colour flow]`
    pub jamp2: Vec<f64>,
    /// `[row][lane][JAMP][real, imaginary]`; set it to `Some` to request them, from a plan of diagrams.
    pub jamps: Option<Vec<f64>>,
}

/// The kernels that run a plan on a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernels {
    /// The kernels.
    pub each: Vec<Kernel>,
    /// Lower bound on the bytes of GPU memory that they read and write per event.
    pub bytes: usize,
}

/// Resources that a kernel uses on a multiprocessor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// Name of the kernel.
    pub name: String,
    /// Number of launches per chunk of events.
    pub launches: usize,
    /// Threads per block.
    pub threads: u32,
    /// Block sizes that were tried, with seconds per event.
    pub tried: Vec<(u32, f64)>,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread (spilled registers).
    pub local: usize,
    /// Bytes of shared memory per block.
    pub shared: usize,
    /// Blocks resident on a multiprocessor at the same time.
    pub blocks: u32,
}

/// Largest deviation of a momentum from its mass shell, relative to its energy squared. MadEvent's momenta are within
/// 1e-9; a wrong mass or a wrong order of particles gives far larger values. (Also in `cuda/number.cuh`.)
pub const OFF_SHELL: f64 = 1e-4;
/// Largest violation of momentum conservation (sum of all momenta, outgoing ones negative), relative to the incoming
/// energy. Event files with few digits are within 1e-5. (Also in `cuda/number.cuh`.)
pub const NOT_CONSERVED: f64 = 1e-3;

/// An event that cannot be evaluated: a momentum is not finite, has no positive energy or is off its mass shell, or
/// momenta are not conserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMomentum {
    /// Index of the event within the call, from 0.
    pub event: usize,
}

/// Reason why a call failed.
#[derive(Debug)]
pub enum Failure {
    /// A bad event: the first one, as far as the backend knows.
    Event(BadMomentum),
    /// Any other error.
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
/// The phase in which a GPU computes squared diagrams in separate kernels.
pub const SQUARES: &str = "squared diagrams";
/// The phase that computes amplitudes and JAMP.
pub const AMPLITUDES: &str = "amplitudes and JAMP";
/// The phase of the colour sums.
pub const COLOR: &str = "colour sum";
/// The phase in which a GPU chooses helicities and colours.
pub const CHOICES: &str = "choices";
/// All phases in which GPU kernels run.
pub const KERNELS: [&str; 5] = [WAVEFUNCTIONS, SQUARES, AMPLITUDES, COLOR, CHOICES];

/// Time spent in each phase, in order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timers(pub Vec<(&'static str, Duration)>);

impl Timers {
    /// Adds to the time of a phase.
    pub fn add(&mut self, phase: &'static str, time: Duration) {
        match self.0.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, sum)) => *sum += time,
            None => self.0.push((phase, time)),
        }
    }

    /// The time spent in a phase.
    pub fn duration(&self, phase: &str) -> Duration {
        let mut all = self.0.iter();
        all.find(|(name, _)| *name == phase)
            .map_or(Duration::ZERO, |(_, time)| *time)
    }

    /// The times added since the earlier state `before`.
    pub fn since(&self, before: &Timers) -> Timers {
        let all = self.0.iter();
        let since =
            |&(name, time): &(_, Duration)| (name, time.saturating_sub(before.duration(name)));
        Timers(all.map(since).collect())
    }

    /// The time in which GPU kernels ran, without copies.
    pub fn kernels(&self) -> Duration {
        let all = self.0.iter().filter(|(name, _)| KERNELS.contains(name));
        all.map(|(_, time)| *time).sum()
    }

    /// Adds the times of `other`.
    pub fn merge(&mut self, other: &Timers) {
        for &(phase, time) in &other.0 {
            self.add(phase, time);
        }
    }
}
