//! Weighs points and makes the choices of events: on CPU threads, or on GPUs.

use crate::backend::{AllowedMomenta, DeviceSession, SessionMemory};
use crate::bridge::Bridge;
use crate::cache::Cache;
use crate::channel_factors::ChannelFactors;
use crate::error::{Error, Result};
use crate::gpu::{Background, Gpus};
use crate::leading_color::LeadingColorBridge;
use crate::process::Process;
use crate::runtime::Switches;
use crate::sampling::{Elements, Shares};
use crate::target::{self, Target};
use mebridge_gpu_sampler::choose::Chooser;
use mebridge_gpu_sampler::weigher::{Gpu, SamplerGpus};
use mebridge_sampler::color_flows::ColorFlows;
use mebridge_sampler::handover::{Handover, PendingEngine};
use mebridge_sampler::integrand::Failure;
use mebridge_sampler::parallel;
use mebridge_sampler::weigh::Weigh;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of threads that choose on a GPU.
const CHOOSERS: usize = 16;

/// Weighs points, and chooses helicities, colour flows and diagrams of events.
pub(super) enum Engine {
    /// The matrix elements of each thread.
    Threads(Vec<Elements>),
    /// GPUs.
    Gpus(Box<SamplerGpus>),
    /// Threads, and then GPUs.
    Starting(Handover<Vec<Elements>, SamplerGpus>),
}

impl Engine {
    pub(super) fn weigher(&mut self) -> &mut dyn Weigh {
        match self {
            Engine::Threads(evaluators) => evaluators,
            Engine::Gpus(gpus) => &mut **gpus,
            Engine::Starting(starting) => starting,
        }
    }

    pub(super) fn threads(&self) -> usize {
        match self {
            Engine::Threads(evaluators) => evaluators.threads(),
            Engine::Gpus(gpus) => gpus.threads(),
            Engine::Starting(starting) => starting.threads(),
        }
    }

    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        match self {
            Engine::Threads(evaluators) => evaluators.seconds(),
            Engine::Gpus(gpus) => gpus.seconds(),
            Engine::Starting(starting) => starting.seconds(),
        }
    }

    /// Waits for the kernels of GPUs.
    pub(super) fn wait(&mut self) -> std::result::Result<(), Failure> {
        match self {
            Engine::Starting(starting) => starting.wait(),
            Engine::Threads(_) | Engine::Gpus(_) => Ok(()),
        }
    }
}

/// GPUs whose kernels are being compiled, which takes seconds.
struct Compiling(Background<SamplerGpus>);

impl PendingEngine<SamplerGpus> for Compiling {
    fn ready(&mut self) -> Option<std::result::Result<SamplerGpus, Failure>> {
        Some(self.0.ready()?.map_err(Failure::from))
    }

    fn wait(&mut self) -> std::result::Result<SamplerGpus, Failure> {
        Ok(self.0.wait()?)
    }
}

/// Opens the requested GPUs, if any.
pub(super) fn gpus(switches: &Switches) -> Result<Option<Gpus>> {
    let cache = Cache::new(&switches.cache);
    let platform = target::platform(switches.backend);
    let open = |platform| Gpus::open(platform, switches, cache);
    platform.map(open).transpose()
}

/// What the evaluation of points on threads depends on.
#[derive(Clone, Copy)]
pub(super) struct Conditions<'a> {
    /// The shares by which the channels are drawn in which points are clustered.
    pub shares: &'a Arc<[Shares]>,
    /// Factors of channels.
    pub factors: &'a Arc<[Option<ChannelFactors>]>,
    /// The frame of each matrix element.
    pub frames: &'a Arc<[Vec<usize>]>,
}

/// Makes the matrix elements of `threads` threads. Points are weighed by these approximations, and events corrected if the flag is
/// set.
pub(super) fn by_threads(
    bridges: &mut [Bridge],
    conditions: Conditions,
    (approximations, corrects): (&mut [Option<LeadingColorBridge>], bool),
    threads: usize,
) -> Result<Vec<Elements>> {
    let Conditions {
        shares,
        factors,
        frames,
    } = conditions;
    make_plans(bridges, threads)?;
    let one = |_| {
        let made = Elements::in_channels(bridges, true, shares.clone(), factors.clone())?;
        let made = made.in_frames(frames.clone());
        made.approximated(approximations, corrects)
    };
    let evaluators = (0..threads.max(1)).map(one);
    evaluators.collect()
}

/// Makes the plans, which all threads share.
pub(super) fn make_plans(bridges: &mut [Bridge], threads: usize) -> Result<()> {
    let bridges: Vec<Mutex<&mut Bridge>> = bridges.iter_mut().map(Mutex::new).collect();
    let make = |number: usize| {
        let bridge = bridges[number].lock();
        let mut bridge = bridge.unwrap_or_else(PoisonError::into_inner);
        bridge.sampler(true, &SessionMemory::default())
    };
    parallel::collect(threads, bridges.len(), |number| make(number).map(drop))?;
    Ok(())
}

/// What GPUs weigh points by.
pub(super) struct GpuElements {
    /// The matrix elements.
    processes: Vec<Process>,
    /// The colour flows of each, if points are weighed by these; and the processes of all classes of them.
    flows: Vec<Option<Arc<ColorFlows>>>,
    classes: Vec<Process>,
    /// Whether events are corrected.
    corrects: bool,
}

impl GpuElements {
    /// Points are weighed by these approximations, and events corrected if the flag is set.
    pub(super) fn new(
        processes: Vec<Process>,
        (approximations, corrects): (&[Option<LeadingColorBridge>], bool),
    ) -> GpuElements {
        let of = approximations.iter();
        GpuElements {
            processes,
            flows: of
                .clone()
                .map(|of| of.as_ref().map(|bridge| bridge.flows().clone()))
                .collect(),
            classes: of
                .flatten()
                .flat_map(|of| of.processes().cloned())
                .collect(),
            corrects,
        }
    }
}

/// Whether the kernels for points are compiled, or tables alone are requested: then events are the same in each run.
pub(super) fn are_ready(gpus: &Gpus, switches: &Switches) -> bool {
    switches.gpu_group == Some(0) || gpus.each().all(|(_, library)| Gpu::is_compiled(library))
}

/// Makes an engine on GPUs.
pub(super) fn by_gpus(
    gpus: &Gpus,
    elements: &GpuElements,
    switches: &Switches,
    threads: usize,
) -> Result<SamplerGpus> {
    // Compilers take long.
    let every = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (mut weighers, mut choosers) = (Vec::new(), Vec::new());
    let own = elements.processes.len();
    let legs = elements.processes.iter().map(|of| of.legs.len()).max();
    let all: Vec<&Process> = elements.processes.iter().chain(&elements.classes).collect();
    for (gpu, library) in gpus.each() {
        let target = Target::Gpu(gpu.with_tables_first());
        let session = |number: usize| {
            let process = all[number];
            let card = process.model.default_card();
            let mut bridge =
                Bridge::with_target(target.clone(), process.clone(), &card, switches, 1)?;
            bridge.allow(match number < own {
                true => AllowedMomenta::Physical,
                false => AllowedMomenta::Crossed,
            });
            Ok(Arc::new(bridge.device_sampler()?) as Arc<dyn DeviceSession>)
        };
        // All kernels are compiled at the same time.
        let (compiled, sessions) = std::thread::scope(|scope| {
            let kernels = scope.spawn(|| Gpu::compile(library));
            let sessions = parallel::collect(every, all.len(), session);
            (kernels.join(), sessions)
        });
        compiled.map_err(|_| Error::Internal {
            what: "a thread that compiles".into(),
        })??;
        let sessions = sessions?;
        // While one thread collects its events, the GPU works on those of others.
        for _ in 0..threads.clamp(1, CHOOSERS) {
            let own = sessions[..own].to_vec();
            choosers.push(Chooser::new(library, own, legs.unwrap_or(0))?);
        }
        weighers.push(Gpu::new(library, sessions)?);
    }
    SamplerGpus::new(weighers, choosers, threads).with_flows(&elements.flows, elements.corrects)
}

/// Makes an engine of threads that GPUs replace as soon as their kernels are compiled.
pub(super) fn by_threads_at_first(
    make_threads: impl FnOnce() -> Result<Vec<Elements>>,
    gpus: &Gpus,
    elements: GpuElements,
    switches: &Switches,
    threads: usize,
) -> Result<Engine> {
    let (gpus, switches) = (gpus.clone(), switches.clone());
    let compiling = Background::begin(move || by_gpus(&gpus, &elements, &switches, threads))?;
    let handover = Handover::new(make_threads()?, Compiling(compiling));
    Ok(Engine::Starting(handover))
}
