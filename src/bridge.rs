//! The Bridge: events in, answers out.
//!
//! A Bridge belongs to one process, one parameter card and one way to run. When it is first called it
//! finds the good helicities, on points of its own ([`crate::trial`]), makes the plan for them, and from
//! then on evaluates whatever it is given.

mod again;
mod card;
mod device;
mod plans;
mod sampler;
mod single;
mod stated;

pub use device::{DeviceSampler, current_gpu};
pub use sampler::Sampler;

use crate::backend::{Backend, Clocks, Failure, Kernels, NOT_CONSERVED, OFF_SHELL, Timers};
use crate::cache::Cache;
use crate::color::BlockDiagonal;
use crate::cpu::Scalar;
use crate::error::{Error, Result};
use crate::events::{Answers, Events, one_for_all};
use crate::float_environment::in_default_environment;
use crate::plan::binding::Binding;
use crate::plan::{Plan, ValidPlan};
use crate::policy::{self, Serves};
use crate::process::Process;
use crate::propagators::{ChannelWeights, Propagators};
use crate::runtime::{CachePlace, Precision, Switches};
use crate::simd::Level;
use crate::target::{Calls, Target};
use crate::trial::Trial;
use again::Recipe;
use plans::Plans;
use single::Single;
use stated::Stated;
use std::sync::Arc;

/// Number of a caller's events on which a recursion is compared, where there are no points for that.
const COMPARED_EVENTS: usize = 16;
/// Number of points at which good helicities are looked for: each energy along z and in a moved frame. What
/// contributes does so at all of the latter, unless by chance.
const SEARCHED: usize = 8;
/// Contributions of a helicity in parts of those of all at a point that are rounding: amplitudes of 1e-16 of the others,
/// some 10^4 of these where terms cancel, squared. Masses and velocities bring no factor that is so small where
/// all else is forbidden.
const ROUNDING: f64 = 1e-24;

/// Evaluates the matrix elements of one process.
pub struct Bridge {
    process: Process,
    binding: Binding,
    plans: Plans,
    color: BlockDiagonal,
    /// Where questions about the process are asked; `None` if its masses leave it no phase space.
    trial: Option<Trial>,
    target: Target,
    precision: Precision,
    all_helicities: bool,
    off_shell: bool,
    /// What the switches say of the cache.
    cache: CachePlace,
    card: Vec<f64>,
    /// One for each thread that evaluates samples, once one came.
    samplers: Vec<Sampler>,
    /// For samples in the memory of a GPU, once one came.
    device_sampler: Option<DeviceSampler>,
    weights: ChannelWeights,
    /// `sde_strategy` 2, where it was asked for.
    propagators: Option<Propagators>,
    /// A list of channels that a caller stated.
    stated: Option<Box<Stated>>,
    nevt: usize,
    clocks: Clocks,
    engines: Option<Engines>,
    /// The process in its colour-ordered form, where that serves calls without channels better than its diagrams.
    ordered: Option<Box<Bridge>>,
    singles: [Option<Single>; 2],
    /// What the bridge is in double precision where it computes in a lower one, and that bridge, once an event asked.
    recipe: Option<Arc<Recipe>>,
    in_double: Option<Box<Bridge>>,
}

/// One event, each helicity by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneEvent {
    /// `[helicity]`: what `MATRIX<i>` answers for each row of the helicity table, without the average.
    pub contributions: Vec<f64>,
    /// `[helicity][diagram]`: AMP2.
    pub amp2: Vec<f64>,
    /// `[helicity][flow]`: JAMP2.
    pub jamp2: Vec<f64>,
}

/// A recursion is made when it could first serve.
enum Recursion {
    /// No event was evaluated so far.
    NotAskedFor,
    /// The process has none, or it is more work than the diagrams.
    None,
    /// It is there, and agrees with the diagrams.
    Ready {
        backend: Box<dyn Backend>,
        /// Whether it is the better one for calls without channels, and for those with.
        serves: Serves,
    },
}

/// Whether two lists of numbers agree within this part of the sum of their sizes, and also the small
/// ones roughly, each by itself.
fn agree(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let total: f64 = b.iter().map(|y| y.abs()).sum();
    let mut pairs = a.iter().zip(b);
    a.len() == b.len()
        && pairs.all(|(x, y)| {
            let by = (x - y).abs();
            by <= tolerance * total && by <= 1e3 * tolerance * y.abs() + 1e-5 * tolerance * total
        })
}

/// By how much two ways to evaluate may differ.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-9,
        Precision::Mixed => 1e-4,
        Precision::Float => 1e-2,
    }
}

impl Recursion {
    fn backend(&self) -> Option<&dyn Backend> {
        match self {
            Recursion::Ready { backend, .. } => Some(backend.as_ref()),
            Recursion::NotAskedFor | Recursion::None => None,
        }
    }
}

/// The engines for the good helicities.
struct Engines {
    /// The list of diagrams, which serves wherever the recursion doesn't.
    diagrams: Box<dyn Backend>,
    /// The recursion.
    recursion: Recursion,
}

impl Bridge {
    /// A Bridge for calls of `nevt` events. `card` holds the values of the process's card
    /// parameters, see [`crate::process::model::Model::card`].
    pub fn new(process: Process, card: &[f64], switches: &Switches, nevt: usize) -> Result<Self> {
        let target = Target::choose(switches, Calls::of(&process, nevt))?;
        Bridge::on(target, process, card, switches, nevt)
    }

    /// The same on a target that is given; the switches that choose one do not matter.
    pub fn on(
        target: Target,
        process: Process,
        card: &[f64],
        switches: &Switches,
        nevt: usize,
    ) -> Result<Self> {
        let binding = in_default_environment(|| Binding::new(&process.model, card))?;
        let settings = (&target, switches, nevt);
        let ordered = Bridge::color_ordered(&process, &binding, card, settings)?;
        let plans = Plans::new(Cache::new(&switches.cache), &process, card);
        Ok(Bridge {
            color: plans.color(&process, matches!(target, Target::Gpu(_))),
            plans,
            trial: Trial::new(&process, &binding),
            process,
            binding,
            target,
            precision: switches.precision,
            all_helicities: switches.good_helicities_all,
            off_shell: false,
            cache: switches.cache.clone(),
            card: card.to_vec(),
            samplers: Vec::new(),
            device_sampler: None,
            weights: ChannelWeights::Amp2,
            propagators: None,
            stated: None,
            nevt,
            clocks: Clocks::None,
            engines: None,
            ordered,
            singles: [None, None],
            recipe: None,
            in_double: None,
        })
    }

    /// The process in its colour-ordered form, where that serves calls without channels. Whether it can depends on the
    /// card: a quark line has a chirality where it is massless.
    fn color_ordered(
        process: &Process,
        binding: &Binding,
        card: &[f64],
        (target, switches, nevt): (&Target, &Switches, usize),
    ) -> Result<Option<Box<Bridge>>> {
        let processor = target.processor(switches.precision);
        if !policy::color_ordered_serves(process, binding, processor) {
            return Ok(None);
        }
        let ordered = process.as_color_ordered();
        let bridge = ordered.map(|o| Bridge::on(target.clone(), o, card, switches, nevt));
        Ok(bridge.transpose()?.map(Box::new))
    }

    /// The switches that matter for a bridge on the same target.
    fn switches(&self) -> Switches {
        Switches {
            precision: self.precision,
            good_helicities_all: self.all_helicities,
            cache: self.cache.clone(),
            ..Switches::default()
        }
    }

    /// From the first call on momenta may be off their mass shells (conserved they are in any case): the matrix
    /// element of other masses at the momenta of an event. On a CPU alone; false where a GPU evaluates, or events
    /// have been evaluated already.
    pub fn allow_off_shell(&mut self) -> bool {
        let mut can = self.engines.is_none() && matches!(self.target, Target::Cpu(_));
        if let Some(ordered) = &mut self.ordered {
            can = can && ordered.allow_off_shell();
        }
        if let Some(stated) = &mut self.stated {
            can = can && stated.bridge.allow_off_shell();
        }
        self.off_shell |= can;
        can
    }

    /// What weights the channels from the next call on.
    pub fn set_channel_weights(&mut self, weights: ChannelWeights) -> Result<()> {
        self.propagators = self.propagators(&self.binding, weights)?;
        self.weights = weights;
        self.stated = None;
        Ok(())
    }

    /// The lines that weight the channels, with the masses of a card.
    fn propagators(
        &self,
        binding: &Binding,
        weights: ChannelWeights,
    ) -> Result<Option<Propagators>> {
        match weights {
            ChannelWeights::Amp2 => Ok(None),
            ChannelWeights::Propagators { s } => {
                Propagators::new(&self.process, binding, s).map(Some)
            }
        }
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Number of events in a call through the Fortran door.
    pub fn nevt(&self) -> usize {
        self.nevt
    }

    /// What evaluates.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The SIMD level in use; `None` on a GPU.
    pub fn level(&self) -> Option<Level> {
        self.target.level()
    }

    /// The plan that serves calls with or without channels, and whether it is a recursion; after the
    /// first call.
    pub fn serving(&self, channels: bool) -> Option<(&Plan, bool)> {
        if let Some(ordered) = self.without_channels(channels) {
            return ordered.serving(channels);
        }
        let (backend, recursion) = self.server(channels)?;
        Some((backend.plan(), recursion))
    }

    /// The colour-ordered form, where it serves such calls and has been made.
    fn without_channels(&self, channels: bool) -> Option<&Bridge> {
        let ordered = self.ordered.as_deref()?;
        (!channels && ordered.engines.is_some()).then_some(ordered)
    }

    /// What serves calls with or without channels, and whether it is a recursion.
    fn server(&self, channels: bool) -> Option<(&dyn Backend, bool)> {
        let engines = self.engines.as_ref()?;
        match &engines.recursion {
            Recursion::Ready { backend, serves } if serves.calls(channels) => {
                Some((backend.as_ref(), true))
            }
            _ => Some((engines.diagrams.as_ref(), false)),
        }
    }

    /// The kernels of a GPU that serve calls with or without channels; none on a CPU, or before the
    /// first call.
    pub fn kernels(&self, channels: bool) -> Result<Kernels> {
        if let Some(ordered) = self.without_channels(channels) {
            return ordered.kernels(channels);
        }
        let server = self.server(channels);
        server.map_or_else(
            || Ok(Kernels::default()),
            |(backend, _)| backend.kernels(channels),
        )
    }

    /// Multiply-adds of an event in calls with or without channels, with those of the colour sums;
    /// after the first call.
    pub fn multiply_adds(&self, channels: bool) -> Option<usize> {
        if let Some(ordered) = self.without_channels(channels) {
            return ordered.multiply_adds(channels);
        }
        let (plan, _) = self.serving(channels)?;
        let squares = if channels { plan.count.squares } else { 0 };
        let evaluated = match plan.loops() {
            Some(loops) => loops.evaluated().count(),
            None => plan.helicities.len(),
        };
        let colors = evaluated * self.color.multiply_adds();
        Some(plan.count.multiply_adds + squares + colors)
    }

    /// The list of diagrams, once the good helicities are known; that of the colour-ordered form while nothing else was
    /// asked for.
    pub fn plan(&self) -> Option<&Plan> {
        if let Some(plan) = self.stated.as_ref().and_then(|s| s.bridge.plan()) {
            return Some(plan);
        }
        match (&self.engines, &self.ordered) {
            (Some(engines), _) => Some(engines.diagrams.plan()),
            (None, Some(ordered)) => ordered.plan(),
            (None, None) => None,
        }
    }

    /// The recursion, where there is one that serves any calls.
    pub fn recursion(&self) -> Option<&Plan> {
        let engines = self.engines.as_ref()?;
        engines.recursion.backend().map(|backend| backend.plan())
    }

    /// Number of good helicities, once they are known.
    pub fn good_helicities(&self) -> Option<usize> {
        self.plan().map(|plan| plan.helicities.len())
    }

    /// What to measure of where the time goes.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.clocks = clocks;
        if let Some(ordered) = &mut self.ordered {
            ordered.set_profile(clocks);
        }
        if let Some(engines) = &mut self.engines {
            engines.diagrams.set_profile(clocks);
            if let Recursion::Ready { backend, .. } = &mut engines.recursion {
                backend.set_profile(clocks);
            }
        }
    }

    /// Where the time went, as far as [`Bridge::set_profile`] asked.
    pub fn timers(&self) -> Timers {
        let mut sum = Timers::default();
        if let Some(ordered) = &self.ordered {
            sum.merge(&ordered.timers());
        }
        if let Some(engines) = &self.engines {
            let diagrams = std::iter::once(engines.diagrams.as_ref());
            for backend in diagrams.chain(engines.recursion.backend()) {
                sum.merge(&backend.timers());
            }
        }
        sum
    }

    /// Finds the good helicities, unless they are known, and says how many there are. They do not
    /// depend on these events, which are those of the call that asks.
    pub fn find_good_helicities(&mut self, events: &Events) -> Result<usize> {
        if let Some(stated) = &mut self.stated {
            let events = stated.without_channels(events)?;
            return stated.bridge.find_good_helicities(&events);
        }
        if let (Some(ordered), None) = (&mut self.ordered, events.channels) {
            return ordered.find_good_helicities(events);
        }
        if let Some(engines) = &self.engines {
            return Ok(engines.diagrams.plan().helicities.len());
        }
        if events.count(self.process.legs.len())? == 0 {
            return Err(Error::NoEvents);
        }
        self.check_channels(events)?;
        let all: Vec<u32> = (0..self.process.helicities.len() as u32).collect();
        let plan = match &self.trial {
            Some(trial) if !self.all_helicities => self.plan_of_good(trial, all)?,
            _ => self.diagrams(&all)?,
        };
        let count = plan.helicities.len();
        self.engines = Some(Engines {
            diagrams: self.backend(plan)?,
            recursion: Recursion::NotAskedFor,
        });
        self.set_profile(self.clocks);
        Ok(count)
    }

    /// The list of diagrams for those helicities that contribute at some point, be it little. In double
    /// precision and one point at a time whatever evaluates the events, so that the answer is the same
    /// everywhere.
    ///
    /// Along z whatever is not exactly zero counts, as in MadEvent's Fortran and CUDACPP: components that vanish there do so
    /// exactly, and what is left by rounding costs time, no digit. In a moved frame no component of a massive particle
    /// vanishes, so that a sum which is zero is left with the rounding of its terms; there a contribution counts if it
    /// is more than that.
    fn plan_of_good(&self, trial: &Trial, all: Vec<u32>) -> Result<ValidPlan> {
        let (process, binding) = (&self.process, &self.binding);
        let plan = self.diagrams(&all)?;
        let mut backend = Scalar::new(process, &self.color, binding, plan)?;
        let events = trial.events();
        let events = events.first(events.g_s.len().min(SEARCHED));
        let mut contributes = vec![false; all.len()];
        for point in 0..events.g_s.len() {
            let parts = backend
                .contributions(events.part(point, 1))
                .map_err(|bad| self.bad_momentum(&events, point + bad.event))?;
            for part in parts {
                let sum: f64 = part.helicities.iter().map(|x| x.abs()).sum();
                let rounding = if trial.is_moved(point) {
                    ROUNDING * sum
                } else {
                    0.0
                };
                for (contributes, &x) in contributes.iter_mut().zip(&part.helicities) {
                    *contributes |= x.abs() > rounding || x.is_nan();
                }
            }
            if contributes.iter().all(|&c| c) {
                return Ok(backend.into_plan());
            }
        }
        let good = all.into_iter().filter(|&h| contributes[h as usize]);
        let good: Vec<u32> = good.collect();
        if good.is_empty() {
            // The card makes the matrix element vanish, or it does so at these points: as in MadEvent the
            // answer is what all of them give.
            return Ok(backend.into_plan());
        }
        self.diagrams(&good)
    }

    /// Whether a row of the helicity table is one of the good ones, once they are known.
    pub fn is_good(&self, row: usize) -> Option<bool> {
        let helicities = &self.plan()?.helicities;
        Some(helicities.binary_search(&(row as u32)).is_ok())
    }

    /// Does all that the first call with these events would do before it evaluates them, and
    /// says how many helicities are good.
    pub fn prepare(&mut self, events: &Events) -> Result<usize> {
        in_default_environment(|| {
            let good = self.find_good_helicities(events)?;
            self.make_recursion(events)?;
            Ok(good)
        })
    }

    /// Makes the recursion, unless that was tried before. It is kept where it is less work than
    /// the diagrams and agrees with them at the points of the trial, helicity by helicity and AMP2 by
    /// AMP2.
    fn make_recursion(&mut self, events: &Events) -> Result<()> {
        let Some(engines) = &mut self.engines else {
            return Ok(());
        };
        if !matches!(engines.recursion, Recursion::NotAskedFor) {
            return Ok(());
        }
        engines.recursion = Recursion::None;
        let plan = engines.diagrams.plan();
        let (good, count) = (plan.helicities.clone(), plan.count);
        let last = self.target.last_pass();
        let (process, binding) = (&self.process, &self.binding);
        let plan = self.plans.recursion(process, binding, &good, last);
        let Some(plan) = plan else {
            return Ok(());
        };
        let processor = self.target.processor(self.precision);
        let mut serves = policy::recursion_serves(&plan, &count, processor);
        if !serves.without_channels && !serves.with_channels {
            return Ok(());
        }
        let mut backend = self.backend(plan)?;
        let first = match &self.trial {
            Some(trial) => trial.events(),
            None => events.first(events.g_s.len().min(COMPARED_EVENTS)),
        };
        let Some(engines) = &mut self.engines else {
            return Ok(());
        };
        let both = (
            backend.contributions(first),
            engines.diagrams.contributions(first),
        );
        let (recursion, diagrams) = match both {
            (Ok(recursion), Ok(diagrams)) => (recursion, diagrams),
            (Err(Failure::Other(error)), _) | (_, Err(Failure::Other(error))) => {
                return Err(error);
            }
            _ => {
                // Bad momenta: the call itself says so.
                engines.recursion = Recursion::NotAskedFor;
                return Ok(());
            }
        };
        let tolerance = tolerance(self.precision);
        let mut pairs = recursion.iter().zip(&diagrams);
        if !pairs
            .clone()
            .all(|(a, b)| agree(&a.helicities, &b.helicities, tolerance))
        {
            return Ok(());
        }
        serves.with_channels &= pairs.all(|(a, b)| agree(&a.amp2, &b.amp2, tolerance));
        backend.set_profile(self.clocks);
        engines.recursion = Recursion::Ready { backend, serves };
        Ok(())
    }

    /// Evaluates events.
    pub fn run(&mut self, events: &Events, answers: &mut Answers) -> Result<()> {
        if let Some(stated) = &mut self.stated {
            return stated.run(events, answers);
        }
        let Some(channels) = events.channels else {
            return self.run_with_amp2(events, answers);
        };
        let Some(propagators) = self.propagators.take() else {
            return self.run_with_amp2(events, answers);
        };
        // Without weights of squared diagrams, with the colour flows of the channel's configuration.
        let result = self.run_by_configuration(events, channels, answers);
        if result.is_ok() {
            in_default_environment(|| {
                propagators.apply(events, channels, answers.matrix_elements);
            });
        }
        self.propagators = Some(propagators);
        result
    }

    fn run_by_configuration(
        &mut self,
        events: &Events,
        channels: &[i32],
        answers: &mut Answers,
    ) -> Result<()> {
        events.count(self.process.legs.len())?;
        self.check_channels(events)?;
        let tables = &self.process.channels;
        let config = |(event, &channel): (usize, &i32)| {
            let asked = events.igraph.map_or(0, |igraph| igraph[event]);
            // Channels have been checked.
            let of_channel = tables.config_of(channel as u32).map_or(0, |c| c as i32 + 1);
            if asked != 0 { asked } else { of_channel }
        };
        let configs: Vec<i32> = channels.iter().enumerate().map(config).collect();
        let events = Events {
            channels: None,
            igraph: Some(&configs),
            ..*events
        };
        self.run_with_amp2(&events, answers)
    }

    fn run_with_amp2(&mut self, events: &Events, answers: &mut Answers) -> Result<()> {
        let legs = self.process.legs.len();
        let nevt = events.count(legs)?;
        answers.check(nevt)?;
        if nevt == 0 {
            return Ok(());
        }
        self.check_channels(events)?;
        if let (Some(ordered), None) = (&mut self.ordered, events.channels) {
            return ordered.run_with_amp2(events, answers);
        }
        self.prepare(events)?;
        let mine = Answers {
            matrix_elements: answers.matrix_elements,
            helicity: answers.helicity,
            color: answers.color,
        };
        let Some(engines) = &mut self.engines else {
            return Err(Error::NoEvents);
        };
        let backend = match &mut engines.recursion {
            Recursion::Ready { backend, serves } if serves.calls(events.channels.is_some()) => {
                backend.as_mut()
            }
            _ => engines.diagrams.as_mut(),
        };
        let result = in_default_environment(|| backend.run(*events, mine));
        let may_be_lost = result.is_ok() && backend.may_be_lost();
        result.map_err(|failure| self.failure(events, failure))?;
        match may_be_lost {
            true => self.run_again(events, answers),
            false => Ok(()),
        }
    }

    /// Waits for whatever is done behind the scenes after a first call so that later ones are faster
    /// (the compiler of a GPU), which must not fall into measured times.
    pub fn wait_for_compiler(&mut self) {
        if let Some(engines) = &mut self.engines {
            engines.diagrams.wait_for_compiler();
            if let Recursion::Ready { backend, .. } = &mut engines.recursion {
                backend.wait_for_compiler();
            }
        }
    }

    fn bad_momentum(&self, events: &Events, event: usize) -> Error {
        let numbers = 4 * self.process.legs.len();
        self.what_is_wrong(&events.momenta[event * numbers..][..numbers], event)
    }

    fn failure(&self, events: &Events, failure: Failure) -> Error {
        match failure {
            Failure::Event(bad) => self.bad_momentum(events, bad.event),
            Failure::Other(error) => error,
        }
    }

    fn diagrams(&self, helicities: &[u32]) -> Result<ValidPlan> {
        let (process, binding) = (&self.process, &self.binding);
        self.plans.diagrams(process, binding, helicities)
    }

    fn backend(&self, plan: ValidPlan) -> Result<Box<dyn Backend>> {
        let (process, color, binding) = (&self.process, &self.color, &self.binding);
        let target = &self.target;
        let mut backend = target.backend(process, color, binding, plan, self.precision)?;
        if self.off_shell && !backend.allow_off_shell() {
            return Err(Error::Internal {
                what: "an engine that checks mass shells".into(),
            });
        }
        Ok(backend)
    }

    /// Every channel must be a diagram with an AMP2 and a configuration, every igraph a
    /// configuration.
    fn check_channels(&self, events: &Events) -> Result<()> {
        let channels = &self.process.channels;
        let configs = channels.config_diagram.len();
        if let Some(asked) = events.channels {
            let asked = match one_for_all(asked) {
                Some(_) => &asked[..1],
                None => asked,
            };
            let mut last = None;
            for (event, &channel) in asked.iter().enumerate() {
                if last == Some(channel) {
                    continue;
                }
                let known = u32::try_from(channel).is_ok_and(|c| channels.is_channel(c));
                if !known {
                    return Err(Error::NoSuchChannel {
                        event,
                        channel,
                        known: channels.known(),
                    });
                }
                last = Some(channel);
            }
        }
        if let Some(igraph) = events.igraph {
            let igraph = match one_for_all(igraph) {
                Some(_) => &igraph[..1],
                None => igraph,
            };
            for (event, &config) in igraph.iter().enumerate() {
                if config < 0 || config as usize > configs {
                    return Err(Error::NoSuchConfiguration {
                        event,
                        config,
                        configs,
                    });
                }
            }
        }
        Ok(())
    }

    /// What is wrong with the momenta of an event, `[leg][component]`, that cannot be evaluated.
    /// `event` is its number for the message.
    pub fn what_is_wrong(&self, momenta: &[f64], event: usize) -> Error {
        let legs = self.process.legs.len();
        let badness = |leg: usize| {
            let p = &momenta[4 * leg..4 * leg + 4];
            let mass = self.mass(leg);
            let off = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3] - mass * mass;
            let relative = (off / (p[0] * p[0])).abs();
            if p.iter().any(|x| !x.is_finite()) || p[0] <= 0.0 {
                f64::INFINITY
            } else {
                relative
            }
        };
        let leg = (0..legs)
            .max_by(|&a, &b| badness(a).total_cmp(&badness(b)))
            .unwrap_or(0);
        let signs = self.process.signs();
        let sum = |i: usize| -> f64 { (0..legs).map(|l| signs[l] * momenta[4 * l + i]).sum() };
        let by = [0, 1, 2, 3].map(sum);
        let incoming = (0..legs).filter(|&l| signs[l] > 0.0);
        let energy: f64 = incoming.map(|l| momenta[4 * l]).sum();
        let off = by.iter().map(|x| x * x).sum::<f64>().sqrt();
        // In single precision either may be at its limit; then the leg is named.
        if badness(leg) < OFF_SHELL && off > 0.5 * NOT_CONSERVED * energy {
            return Error::NotConserved {
                event,
                by: by.to_vec(),
                energy,
            };
        }
        Error::BadMomentum {
            event,
            leg: leg + 1,
            pdg: self.process.legs[leg].pdg,
            mass: self.mass(leg),
            momentum: momenta[4 * leg..4 * leg + 4].to_vec(),
        }
    }

    /// Masses of the legs in GeV.
    pub fn masses(&self) -> Vec<f64> {
        let legs = 0..self.process.legs.len();
        legs.map(|leg| self.mass(leg)).collect()
    }

    fn mass(&self, leg: usize) -> f64 {
        let mass = self.process.legs[leg].mass;
        self.binding.value(mass)
    }
}
