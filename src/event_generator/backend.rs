//! Weighs points and makes the choices of events: on CPU threads, or on GPUs.

use crate::backend::{AllowedMomenta, DeviceSession, SessionMemory};
use crate::bridge::Bridge;
use crate::cache::Cache;
use crate::channel_factors::ChannelFactors;
use crate::error::{Error, Result};
use crate::gpu::Gpus;
use crate::leading_color::LeadingColorBridge;
use crate::process::Process;
use crate::runtime::Switches;
use crate::sampling::{Choice, Elements, Shares};
use crate::target::{self, Target};
use mebridge_gpu_sampler::choose::Chooser;
use mebridge_gpu_sampler::weigher::{Gpu, SamplerGpus};
use mebridge_sampler::events::Event;
use mebridge_sampler::parallel;
use mebridge_sampler::weigh::Weigh;
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum number of events for each choosing thread.
const MIN_EVENTS_PER_THREAD: usize = 512;
/// Number of threads that choose on a GPU.
const CHOOSERS: usize = 16;

/// Weighs points, and chooses helicities, colour flows and diagrams of events.
pub(super) enum Engine {
    /// The matrix elements of each thread.
    Threads(Vec<Elements>),
    /// GPUs.
    Gpus(Box<SamplerGpus>),
}

impl Engine {
    pub(super) fn weigher(&mut self) -> &mut dyn Weigh {
        match self {
            Engine::Threads(evaluators) => evaluators,
            Engine::Gpus(gpus) => &mut **gpus,
        }
    }

    pub(super) fn threads(&self) -> usize {
        match self {
            Engine::Threads(evaluators) => evaluators.threads(),
            Engine::Gpus(gpus) => gpus.threads(),
        }
    }

    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        match self {
            Engine::Threads(evaluators) => evaluators.seconds(),
            Engine::Gpus(gpus) => gpus.seconds(),
        }
    }

    /// Chooses helicity, colour flow and diagram of events from three random numbers in (0, 1) for each.
    pub(super) fn choose(&mut self, events: &[&Event], random: &[[f64; 3]]) -> Result<Vec<Choice>> {
        match self {
            Engine::Threads(evaluators) => {
                let least = MIN_EVENTS_PER_THREAD;
                parallel::collect_parts(evaluators, events.len(), least, |one, part| {
                    one.choose(&events[part.clone()], &random[part])
                })
            }
            Engine::Gpus(gpus) => {
                let chosen = gpus.choose(events, random)?.into_iter();
                Ok(chosen.map(Choice::from).collect())
            }
        }
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

/// Makes an engine of `threads` threads. Points are weighed by these approximations, and events corrected if the flag is
/// set.
pub(super) fn by_threads(
    bridges: &mut [Bridge],
    conditions: Conditions,
    (approximations, corrects): (&mut [Option<LeadingColorBridge>], bool),
    threads: usize,
) -> Result<Engine> {
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
    Ok(Engine::Threads(evaluators.collect::<Result<_>>()?))
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

/// Makes an engine on GPUs. Points are weighed by these approximations, and events corrected if the flag is set.
pub(super) fn by_gpus(
    gpus: &Gpus,
    processes: &[Process],
    (approximations, corrects): (&[Option<LeadingColorBridge>], bool),
    switches: &Switches,
    threads: usize,
) -> Result<Engine> {
    // Compilers take long.
    let every = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (mut weighers, mut choosers) = (Vec::new(), Vec::new());
    let legs = processes.iter().map(|process| process.legs.len()).max();
    let classes = approximations.iter().flatten();
    let classes = classes.flat_map(LeadingColorBridge::processes);
    let own = processes.iter().map(|of| (of, AllowedMomenta::Physical));
    let all: Vec<_> = own
        .chain(classes.map(|of| (of, AllowedMomenta::Crossed)))
        .collect();
    for (gpu, library) in gpus.each() {
        let target = Target::Gpu(gpu.with_tables_first());
        let session = |(process, allowed): (&Process, AllowedMomenta)| {
            let card = process.model.default_card();
            let mut bridge =
                Bridge::with_target(target.clone(), process.clone(), &card, switches, 1)?;
            bridge.allow(allowed);
            Ok(Arc::new(bridge.device_sampler()?) as Arc<dyn DeviceSession>)
        };
        // All kernels are compiled at the same time.
        let (compiled, sessions) = std::thread::scope(|scope| {
            let kernels = scope.spawn(|| Gpu::compile(library));
            let one = |number: usize| session(all[number]);
            let sessions = parallel::collect(every, all.len(), one);
            (kernels.join(), sessions)
        });
        compiled.map_err(|_| Error::Internal {
            what: "a thread that compiles".into(),
        })??;
        let sessions = sessions?;
        // While one thread collects its events, the GPU works on those of others.
        for _ in 0..threads.clamp(1, CHOOSERS) {
            let own = sessions[..processes.len()].to_vec();
            choosers.push(Chooser::new(library, own, legs.unwrap_or(0))?);
        }
        weighers.push(Gpu::new(library, sessions)?);
    }
    let flows = approximations
        .iter()
        .map(|of| of.as_ref().map(|bridge| bridge.flows().clone()));
    let flows: Vec<_> = flows.collect();
    let gpus = SamplerGpus::new(weighers, choosers, threads).with_flows(&flows, corrects)?;
    Ok(Engine::Gpus(Box::new(gpus)))
}
