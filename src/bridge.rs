//! The [`Bridge`]: events in, answers out.
//!
//! A bridge belongs to one process, one parameter card and one set of options. A table of servers (`servers`)
//! evaluates, one server for each kind of call. At its first call each server finds the good helicities on its own
//! points ([`crate::trial`]) and makes its plan. Two steps surround the table: the weights of channels (`weighting`),
//! and the repetition in double precision of events that single precision cannot handle (`double_precision`).

mod bad_momenta;
mod card;
mod double_precision;

mod device;
mod form;
mod good_helicities;
mod numbering;
mod plans;
mod recipe;
mod recursion;
pub mod sampler;
mod servers;
mod sessions;
mod single;
mod weighting;

pub use device::{DeviceSampler, Platform, current_gpu, platform};
pub use sampler::Sampler;

use crate::backend::{AllowedMomenta, Clocks, Kernels, Timers};
use crate::error::{Error, Result};
use crate::events::{Answers, Events};
use crate::float_environment::in_default_environment;
use crate::inputs::Inputs;
use crate::plan::Plan;
use crate::process::{HelicitySum, Process};
use crate::propagators::Propagators;
use crate::runtime::Switches;
use crate::sample::first_not_finite;
use crate::simd::Level;
use crate::target::{CallSize, Target};
use form::Form;
use numbering::IndexBuffers;
use recipe::{Recipe, Settings};
use servers::{Server, Servers};
use single::Single;
use std::sync::Arc;
use weighting::Weighting;

/// Evaluates the matrix elements of one process.
pub struct Bridge {
    nevt: usize,
    servers: Servers,
    weighting: Weighting,
    /// Buffers for the indices of a call.
    index_buffers: IndexBuffers,
    /// Servers for events that single precision cannot handle, after the first such event.
    in_double: Option<Servers>,
    /// Evaluators of single events, by [`single::Wanted`], in the bridge's precision and in double precision.
    singles: [[Option<Single>; 2]; 3],
    /// One sampler for each thread that evaluates samples, after the first sample.
    samplers: Vec<Sampler>,
    /// Evaluates samples in GPU memory, after the first such sample.
    device_sampler: Option<DeviceSampler>,
}

/// The answer for one event, separately for each helicity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneEvent {
    /// `[helicity]`: the result of `MATRIX<i>` for each row of the helicity table, without the average.
    pub contributions: Vec<f64>,
    /// `[helicity][diagram]`: AMP2.
    pub amp2: Vec<f64>,
    /// `[helicity][flow]`: JAMP2.
    pub jamp2: Vec<f64>,
}

impl Bridge {
    /// Makes a bridge for calls of `nevt` events. `card` holds the values of the process's card parameters, see
    /// [`crate::process::model::Model::card`].
    pub fn new(process: Process, card: &[f64], switches: &Switches, nevt: usize) -> Result<Self> {
        let target = Target::choose(switches, CallSize::new(&process, nevt))?;
        Bridge::with_target(target, process, card, switches, nevt)
    }

    /// The same on a given target; the switches that choose a target are ignored.
    pub fn with_target(
        target: Target,
        process: Process,
        card: &[f64],
        switches: &Switches,
        nevt: usize,
    ) -> Result<Self> {
        // Engines use its indices without checks.
        process.validate()?;
        let servers = Servers::new(Recipe {
            process: Arc::new(process),
            card: card.into(),
            settings: Settings {
                target,
                precision: switches.precision,
                all_helicities: switches.good_helicities_all,
                allowed: AllowedMomenta::Physical,
                cache: switches.cache.clone(),
                clocks: Clocks::None,
            },
        })?;
        Ok(Bridge::from_servers(servers, Weighting::Amp2, nevt))
    }

    /// Makes a bridge for another process of the same model, with the same card, target and precision.
    pub fn for_process(&self, process: Process) -> Result<Bridge> {
        process.validate()?;
        let servers = Servers::new(self.servers.recipe().for_process(process))?;
        Ok(Bridge::from_servers(servers, Weighting::Amp2, self.nevt))
    }

    /// Makes a bridge that has not evaluated anything yet.
    fn from_servers(servers: Servers, weighting: Weighting, nevt: usize) -> Bridge {
        Bridge {
            nevt,
            servers,
            weighting,
            index_buffers: IndexBuffers::default(),
            in_double: None,
            singles: Default::default(),
            samplers: Vec::new(),
            device_sampler: None,
        }
    }

    /// Returns the servers of calls.
    fn call_servers(&self) -> &Servers {
        let list = self.weighting.list();
        list.map_or(&self.servers, |list| &list.servers)
    }

    /// Iterates over all forms that serve calls or samples.
    fn forms(&self) -> impl Iterator<Item = &Form> {
        let list = self.weighting.list().map(|list| &list.servers);
        std::iter::once(&self.servers)
            .chain(list)
            .flat_map(Servers::forms)
    }

    /// The same, mutably.
    fn forms_mut(&mut self) -> impl Iterator<Item = &mut Form> {
        let list = self.weighting.list_mut().map(|list| &mut list.servers);
        std::iter::once(&mut self.servers)
            .chain(list)
            .flat_map(Servers::forms_mut)
    }

    /// Returns the server of calls with or without channels, after the first such call.
    fn server(&self, channels: bool) -> Option<Server<'_>> {
        let amp2 = channels && self.weighting.needs_amp2();
        self.call_servers().server(amp2)
    }

    /// Allows momenta that are not physical from the first call on: those off their mass shells, to evaluate the matrix
    /// element with other masses at the momenta of an event, which only a CPU can, or those of crossed gluons. Returns
    /// false if that is not possible, or if events have been evaluated already.
    pub fn allow(&mut self, momenta: AllowedMomenta) -> bool {
        let can = self.forms().all(|form| form.can_allow(momenta));
        if can {
            self.forms_mut().for_each(|form| form.allow(momenta));
        }
        can
    }

    /// Returns the process.
    pub fn process(&self) -> &Process {
        self.servers.process()
    }

    /// Returns the number of events in a call through the Fortran interface.
    pub fn nevt(&self) -> usize {
        self.nevt
    }

    /// Returns the hardware that evaluates.
    pub fn target(&self) -> &Target {
        &self.servers.recipe().settings.target
    }

    /// Returns the SIMD level in use; `None` on a GPU.
    pub fn level(&self) -> Option<Level> {
        self.target().level()
    }

    /// Returns the plan that serves calls with or without channels, and whether it is a recursion; `None` before the
    /// first such call.
    pub fn serving(&self, channels: bool) -> Option<(&Plan, bool)> {
        let server = self.server(channels)?;
        Some((server.backend.plan(), server.recursion))
    }

    /// Returns the GPU kernels that serve calls with or without channels; empty on a CPU, or before the first such
    /// call.
    pub fn kernels(&self, channels: bool) -> Result<Kernels> {
        let server = self.server(channels);
        let none = || Ok(Kernels::default());
        server.map_or_else(none, |server| server.backend.kernels(channels))
    }

    /// Returns the multiply-adds per event in calls with or without channels, including those of the colour sums;
    /// `None` before the first such call.
    pub fn multiply_adds(&self, channels: bool) -> Option<usize> {
        let server = self.server(channels)?;
        Some(server.multiply_adds(channels))
    }

    /// Returns the list of diagrams, once the good helicities are known; that of the colour-ordered form as long as
    /// nothing else was needed.
    pub fn plan(&self) -> Option<&Plan> {
        self.call_servers().plan().or_else(|| self.servers.plan())
    }

    /// Returns the number of good helicities, once they are known.
    pub fn good_helicities(&self) -> Option<usize> {
        self.plan().map(|plan| plan.helicities.len())
    }

    /// Whether a row of the helicity table is one of the good ones, once they are known.
    pub fn is_good(&self, row: usize) -> Option<bool> {
        let helicities = &self.plan()?.helicities;
        Some(helicities.binary_search(&(row as u32)).is_ok())
    }

    /// Sets what is measured for profiles.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.forms_mut().for_each(|form| form.set_profile(clocks));
    }

    /// Returns the measured times, see [`Bridge::set_profile`].
    pub fn timers(&self) -> Timers {
        let mut sum = Timers::default();
        for backend in self.forms().flat_map(Form::backends) {
            sum.merge(&backend.timers());
        }
        sum
    }

    /// Waits for background work after a first call that makes later calls faster (the compiler of a GPU), and that
    /// must not be part of measured times.
    pub fn wait_for_compiler(&mut self) {
        let backends = self.forms_mut().flat_map(Form::backends_mut);
        backends.for_each(|backend| backend.wait_for_compiler());
    }

    /// Finds the good helicities, unless they are known, and returns their number. They do not depend on the given
    /// events.
    pub fn find_good_helicities(&mut self, events: &Events) -> Result<usize> {
        self.with_call_servers(events, Servers::find_good_helicities)
    }

    /// Does everything that the first call with these events would do before it evaluates them, and returns the number
    /// of good helicities.
    pub fn prepare(&mut self, events: &Events) -> Result<usize> {
        self.with_call_servers(events, Servers::prepare)
    }

    /// Calls a function of the servers of calls with the inputs of these events.
    fn with_call_servers(
        &mut self,
        events: &Events,
        function: impl Fn(&mut Servers, &Inputs) -> Result<usize>,
    ) -> Result<usize> {
        events.count(self.process().legs.len())?;
        let (servers, propagators) = self.weighting.servers(&mut self.servers);
        let inputs = servers.numbering.inputs(events, &mut self.index_buffers)?;
        function(servers, &server_inputs(&inputs, propagators))
    }

    /// Evaluates events. A non-finite |M|^2 is an error.
    pub fn run(&mut self, events: &Events, answers: &mut Answers) -> Result<()> {
        match self.run_all(events, answers)? {
            None => Ok(()),
            Some(event) => {
                let numbers = 4 * self.process().legs.len();
                let momenta = &events.momenta[event * numbers..][..numbers];
                Err(self.what_is_wrong(momenta, event))
            }
        }
    }

    /// Evaluates events, and returns the first whose |M|^2 is not finite.
    pub fn run_all(&mut self, events: &Events, answers: &mut Answers) -> Result<Option<usize>> {
        let nevt = events.count(self.process().legs.len())?;
        let mut outputs = answers.outputs();
        outputs.check(nevt)?;
        if events.g_s.is_empty() {
            return Ok(None);
        }
        let (servers, propagators) = self.weighting.servers(&mut self.servers);
        let inputs = servers.numbering.inputs(events, &mut self.index_buffers)?;
        let server_inputs = server_inputs(&inputs, propagators);
        let may_be_invalid = servers.run(&server_inputs, outputs.part(0, nevt))?;
        if may_be_invalid {
            double_precision::run_in_double(
                servers.recipe(),
                &mut self.in_double,
                &server_inputs,
                &mut outputs,
            )?;
        }
        if let (Some(propagators), Some(channel)) = (propagators, inputs.channel) {
            in_default_environment(|| {
                propagators.apply(&inputs.points.momenta, channel, outputs.matrix_elements);
            });
        }
        numbering::count_from_one(outputs.helicity);
        numbering::count_from_one(outputs.color);
        // Backends check their answers while they are in cache.
        let all_finite = !may_be_invalid && propagators.is_none();
        Ok(match all_finite {
            true => None,
            false => first_not_finite(outputs.matrix_elements),
        })
    }

    /// Returns the error for an event that cannot be evaluated, with these momenta, `[leg][component]`. `event` is its
    /// number for the message.
    pub fn what_is_wrong(&self, momenta: &[f64], event: usize) -> Error {
        self.servers.own.what_is_wrong(momenta, event)
    }

    /// Whether helicity contributions of both signs cancel at all points, in a process whose calls choose helicities by
    /// absolute values.
    pub fn cancels(&self) -> bool {
        let own = &self.servers.own;
        own.process().helicity_sum == HelicitySum::Absolute && own.cancels(f64::clone)
    }

    /// Returns the masses of the legs in GeV.
    pub fn masses(&self) -> Vec<f64> {
        let legs = 0..self.process().legs.len();
        legs.map(|leg| self.servers.own.mass(leg)).collect()
    }
}

/// Returns the inputs for the servers: without channels if propagators weight these.
fn server_inputs<'a>(inputs: &Inputs<'a>, propagators: Option<&Propagators>) -> Inputs<'a> {
    Inputs {
        channel: inputs.channel.filter(|_| propagators.is_none()),
        ..*inputs
    }
}
