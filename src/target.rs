//! The hardware that evaluates: the CPU, or one or several GPUs.
//!
//! `CUDACPP_RUNTIME_BACKEND=cuda` requests a GPU of NVIDIA and `hip` one of AMD; if none can be used it is an error
//! with the reason. `cpu` never looks for one. `auto`, the default, uses a GPU if possible, unless calls are so small
//! that the CPU answers before a GPU has begun; it prints a notice for an AMD GPU, on which this has never been run.

use crate::backend::Backend as Runs;
use crate::cache::Cache;
use crate::color::BlockDiagonal;
use crate::cpu::Cores;
use crate::error::{Error, Result};
use crate::gpu::cuda::Platform;
use crate::gpu::driver::Architecture;
use crate::gpu::{self, Gpus};
use crate::message::say;
use crate::plan::ValidPlan;
use crate::plan::binding::Binding;
use crate::plan::color_ordered::Machine;
use crate::plan::passes::Pass;
use crate::policy::Processor;
use crate::process::{Amplitudes, Process};
use crate::runtime::{BackendChoice, Devices, Precision, Switches};
use crate::simd::{Level, l2_bytes};
use std::sync::Once;

/// Multiply-adds that a CPU core does during the overhead of a GPU call: some 70 microseconds, as measured with copies
/// of a few events.
const WORTH_A_GPU: usize = 2_500_000;
/// Approximate multiply-adds per diagram and helicity of an event: plans of e+ e- > mu+ mu- to g g > t t~ g g g have 16
/// to 55.
const OF_DIAGRAM: usize = 30;
/// Number of diagrams with the work of one JAMP of the colour-ordered form.
const OF_JAMP: usize = 6;

/// Size of a bridge's calls.
#[derive(Clone, Copy, Debug)]
pub struct CallSize {
    /// Events per call.
    pub nevt: usize,
    /// Number of diagrams, or the equivalent amount of work, times helicities.
    pub amplitudes: usize,
    /// The part of the process that no GPU supports, if any.
    pub cpu_only: Option<&'static str>,
}

impl CallSize {
    /// Returns the size of calls with `nevt` events of a process.
    pub fn new(process: &Process, nevt: usize) -> CallSize {
        let diagrams = match &process.amplitudes {
            Amplitudes::ColorOrdered(form) => OF_JAMP * form.jamps(),
            Amplitudes::Diagrams(_) => process.diagrams as usize,
        };
        CallSize {
            nevt,
            amplitudes: diagrams * process.helicities.len(),
            cpu_only: gpu::missing_feature(process),
        }
    }

    /// Whether a GPU is worthwhile compared with this number of CPU threads.
    fn fill_a_gpu(self, threads: usize) -> bool {
        let work = self.nevt.saturating_mul(self.amplitudes);
        work.saturating_mul(OF_DIAGRAM) >= WORTH_A_GPU.saturating_mul(threads.max(1))
    }
}

const UNPROVEN: &str = "an AMD GPU is used, on which this library has never been run: compare its answers \
    with those of CUDACPP_RUNTIME_BACKEND=cpu; CUDACPP_RUNTIME_BACKEND=hip uses it without this line";

/// Returns the GPU platform of a choice, if it names one.
pub fn platform(choice: BackendChoice) -> Option<Platform> {
    match choice {
        BackendChoice::Auto | BackendChoice::Cpu => None,
        BackendChoice::Cuda => Some(Platform::Cuda),
        BackendChoice::Hip => Some(Platform::Hip),
    }
}

/// Returns the GPU of a platform that the calling thread uses, if any.
pub fn current_gpu(platform: Platform) -> Option<usize> {
    gpu::cuda::current(platform)
}

/// Returns the properties of this machine's cores on which plans depend.
pub(crate) fn this_core() -> Machine {
    Machine::Core { l2: l2_bytes() }
}

/// The hardware that evaluates.
#[derive(Clone)]
pub enum Target {
    /// CPU threads at a SIMD level.
    Cpu(Cores),
    /// GPUs.
    Gpu(Gpus),
}

impl Target {
    /// Chooses the target by the switches, or if they leave it open the better one for these calls.
    pub fn choose(switches: &Switches, calls: CallSize) -> Result<Target> {
        // An invalid level is an error on any target.
        let level = match &switches.simd {
            Some(name) => Level::choose(name)?,
            None => Level::best(),
        };
        let cpu = Target::Cpu(Cores {
            level,
            threads: switches.threads,
        });
        let cache = || Cache::new(&switches.cache);
        if let Some(platform) = platform(switches.backend) {
            if let Some(what) = calls.cpu_only {
                return Err(Error::NotOnGpu { what: what.into() });
            }
            return Ok(Target::Gpu(Gpus::open(platform, switches, cache())?));
        }
        let there = || match (switches.backend, calls.cpu_only) {
            (BackendChoice::Auto, None) => gpu::likely_platform(),
            _ => None,
        };
        match there() {
            None => Ok(cpu),
            // If the user names a GPU, it is used.
            Some(_) if switches.device == Devices::Auto && !calls.fill_a_gpu(switches.threads) => {
                Ok(cpu)
            }
            Some(platform) => match Gpus::open(platform, switches, cache()) {
                Ok(gpus) => {
                    // The GPU was not requested explicitly: tell the user.
                    static ANNOUNCED: Once = Once::new();
                    if platform == Platform::Hip {
                        ANNOUNCED.call_once(|| say(UNPROVEN));
                    }
                    Ok(Target::Gpu(gpus))
                }
                Err(error) if switches.device != Devices::Auto => Err(error),
                Err(error) => {
                    // Only once, not for each bridge.
                    static ANNOUNCED: Once = Once::new();
                    ANNOUNCED.call_once(|| {
                        say(format_args!("there is a GPU, but the CPU is used: {error}"));
                    });
                    Ok(cpu)
                }
            },
        }
    }

    /// Returns the SIMD level of a CPU.
    pub fn level(&self) -> Option<Level> {
        match self {
            Target::Cpu(cores) => Some(cores.level),
            Target::Gpu(_) => None,
        }
    }

    /// Returns the value of BACKEND for this target.
    pub fn platform_name(&self) -> &'static str {
        match self {
            Target::Cpu(_) => "cpu",
            Target::Gpu(gpus) => match gpus.properties().architecture {
                Architecture::Capability(..) => "cuda",
                Architecture::Gfx(_) => "hip",
            },
        }
    }

    /// Returns the SIMD level, or the name of the GPU.
    pub fn name(&self) -> String {
        match self {
            Target::Cpu(cores) => cores.level.name().to_owned(),
            Target::Gpu(gpus) => gpus.name(),
        }
    }

    /// Returns a longer description.
    pub fn describe(&self) -> String {
        match self {
            Target::Cpu(Cores { level, threads }) => format!("SIMD {level}, {threads} thread(s)"),
            Target::Gpu(gpus) => gpus.name(),
        }
    }

    /// Returns the hardware properties on which plans depend.
    pub fn processor(&self, precision: Precision) -> Processor {
        match self {
            Target::Cpu(_) => Processor::Core,
            Target::Gpu(_) => Processor::Gpu {
                single: precision == Precision::Float,
            },
        }
    }

    /// Returns the last pass of the plans for this target.
    pub fn last_pass(&self) -> Pass {
        match self {
            Target::Cpu(_) => Pass::Tiling,
            Target::Gpu(_) => Pass::MemoryReuse,
        }
    }

    /// Makes the plan for this target with `make`, which makes plans for a machine.
    pub(crate) fn fitted(
        &self,
        precision: Precision,
        mut make: impl FnMut(Machine) -> Result<ValidPlan>,
    ) -> Result<ValidPlan> {
        match self {
            Target::Cpu(_) => make(this_core()),
            Target::Gpu(gpus) => gpus.fitted(precision, make),
        }
    }

    /// Makes a plan ready to run. The caller must check the channels of events before each run.
    pub(crate) fn backend(
        &self,
        process: &Process,
        color: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        precision: Precision,
    ) -> Result<Box<dyn Runs>> {
        match self {
            Target::Cpu(cores) => cores.backend(process, color, binding, plan, precision, None),
            Target::Gpu(gpus) => Ok(Box::new(
                gpus.engines(process, color, binding, plan, precision)?,
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallSize;

    /// Both were measured to be equally fast for some 2500 events of e+ e- > mu+ mu-, 150 of g g > t t~ g, fewer than
    /// 32 of g g > t t~ g g g.
    #[test]
    fn a_gpu_is_for_calls_that_are_worth_it() {
        let calls = |amplitudes, nevt| CallSize {
            nevt,
            amplitudes,
            cpu_only: None,
        };
        let (ee, ttg, ttggg) = (2 * 16, 16 * 32, 1240 * 128);
        assert!(!calls(ee, 512).fill_a_gpu(1) && calls(ee, 8192).fill_a_gpu(1));
        assert!(!calls(ttg, 32).fill_a_gpu(1) && calls(ttg, 512).fill_a_gpu(1));
        assert!(calls(ttggg, 32).fill_a_gpu(1) && !calls(ttg, 512).fill_a_gpu(8));
        assert!(calls(usize::MAX, usize::MAX).fill_a_gpu(usize::MAX));
    }
}
