//! What evaluates: the CPU, or one or several GPUs.
//!
//! `CUDACPP_RUNTIME_BACKEND=cuda` asks for a GPU and is refused with the reason where none can be
//! used, `cpu` never looks for one, and `auto`, the default, takes a GPU where one can be used.

use crate::backend::Backend as Runs;
use crate::cache::Cache;
use crate::color::Split;
use crate::cpu::simd::{Level, Real};
use crate::cpu::{Engine, Team};
use crate::error::Result;
use crate::gpu::{self, Gpus};
use crate::plan::Plan;
use crate::plan::binding::Binding;
use crate::process::Process;
use crate::runtime::{Backend, Devices, Precision, Switches};

/// What evaluates.
pub enum Machine {
    /// Threads at a SIMD level.
    Cpu {
        /// The level.
        level: Level,
        /// How many threads.
        threads: usize,
    },
    /// GPUs.
    Gpu(Gpus),
}

impl Machine {
    /// The one that the switches ask for.
    pub fn choose(switches: &Switches) -> Result<Machine> {
        // A level that does not exist is an error whatever evaluates.
        let level = match &switches.simd {
            Some(name) => Level::choose(name)?,
            None => Level::best(),
        };
        let cpu = Machine::Cpu {
            level,
            threads: switches.threads,
        };
        match switches.backend {
            Backend::Cpu => Ok(cpu),
            Backend::Auto if !gpu::might_be_there() => Ok(cpu),
            Backend::Auto => match Gpus::open(switches, Cache::new(&switches.cache)) {
                Ok(gpus) => Ok(Machine::Gpu(gpus)),
                Err(error) if switches.device != Devices::Auto => Err(error),
                Err(error) => {
                    eprintln!("mebridge: there is a GPU, but the CPU is used: {error}");
                    Ok(cpu)
                }
            },
            Backend::Cuda => {
                let gpus = Gpus::open(switches, Cache::new(&switches.cache))?;
                Ok(Machine::Gpu(gpus))
            }
        }
    }

    /// The SIMD level, of a CPU.
    pub fn level(&self) -> Option<Level> {
        match self {
            Machine::Cpu { level, .. } => Some(*level),
            Machine::Gpu(_) => None,
        }
    }

    /// What it is called: the SIMD level, or the name of the GPU.
    pub fn name(&self) -> String {
        match self {
            Machine::Cpu { level, .. } => level.name().to_owned(),
            Machine::Gpu(gpus) => gpus.name(),
        }
    }

    /// The same in more words.
    pub fn describe(&self) -> String {
        match self {
            Machine::Cpu { level, threads } => format!("SIMD {level}, {threads} thread(s)"),
            Machine::Gpu(gpus) => gpus.name(),
        }
    }

    /// Makes a plan ready to run.
    pub fn backend(
        &self,
        process: &Process,
        color: &Split,
        binding: &Binding,
        plan: Plan,
        precision: Precision,
    ) -> Result<Box<dyn Runs>> {
        let (level, threads) = match self {
            Machine::Cpu { level, threads } => (*level, *threads),
            Machine::Gpu(gpus) => {
                return Ok(Box::new(
                    gpus.engines(process, color, binding, plan, precision)?,
                ));
            }
        };
        fn team<T: Real>(
            process: &Process,
            color: &Split,
            binding: &Binding,
            plan: Plan,
            (level, threads): (Level, usize),
            single_color: bool,
        ) -> Result<Team<T>> {
            let engine = Engine::new(process, color, binding, plan, level, single_color);
            Team::new(engine, threads)
        }
        let at = (level, threads);
        Ok(match precision {
            Precision::Double => Box::new(team::<f64>(process, color, binding, plan, at, false)?),
            Precision::Mixed => Box::new(team::<f64>(process, color, binding, plan, at, true)?),
            Precision::Float => Box::new(team::<f32>(process, color, binding, plan, at, false)?),
        })
    }
}
