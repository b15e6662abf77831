//! The Bridge: events in, answers out.
//!
//! A Bridge belongs to one process, one parameter card and one way to run. A table of servers evaluates, by what is
//! asked (`servers`). Each server finds the good helicities on points of its own ([`crate::trial`]) and makes its plan
//! when it is first asked. Two steps stand around the table: the weights of channels (`weighting`), and events that
//! single precision cannot hold (`again`).

mod again;
mod bad_momenta;
mod card;

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

use crate::backend::{Clocks, Kernels, Timers};
use crate::error::{Error, Result};
use crate::events::{Answers, Events};
use crate::float_environment::in_default_environment;
use crate::inputs::{Inputs, Outputs};
use crate::plan::Plan;
use crate::process::{HelicitySum, Process};
use crate::propagators::Propagators;
use crate::runtime::Switches;
use crate::sample::first_not_finite;
use crate::simd::Level;
use crate::target::{CallSize, Target};
use form::Form;
use numbering::Room;
use recipe::{Recipe, Settings};
use servers::{Server, Servers};
use std::sync::Arc;
use weighting::Weighting;

/// Evaluates the matrix elements of one process.
pub struct Bridge {
    nevt: usize,
    servers: Servers,
    weighting: Weighting,
    /// For the indices of a call.
    room: Room,
    /// For events that single precision cannot hold, once one came.
    in_double: Option<Servers>,
    /// One for each thread that evaluates samples, once one came.
    samplers: Vec<Sampler>,
    /// For samples in the memory of a GPU, once one came.
    device_sampler: Option<DeviceSampler>,
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

impl Bridge {
    /// A Bridge for calls of `nevt` events. `card` holds the values of the process's card
    /// parameters, see [`crate::process::model::Model::card`].
    pub fn new(process: Process, card: &[f64], switches: &Switches, nevt: usize) -> Result<Self> {
        let target = Target::choose(switches, CallSize::of(&process, nevt))?;
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
        // Engines follow its indices without looking.
        process.validate()?;
        let servers = Servers::new(Recipe {
            process: Arc::new(process),
            card: card.into(),
            settings: Settings {
                target,
                precision: switches.precision,
                all_helicities: switches.good_helicities_all,
                off_shell: false,
                cache: switches.cache.clone(),
                clocks: Clocks::None,
            },
        })?;
        Ok(Bridge::made(servers, Weighting::Amp2, nevt))
    }

    /// What has evaluated nothing so far.
    fn made(servers: Servers, weighting: Weighting, nevt: usize) -> Bridge {
        Bridge {
            nevt,
            servers,
            weighting,
            room: Room::default(),
            in_double: None,
            samplers: Vec::new(),
            device_sampler: None,
        }
    }

    /// The servers of calls.
    fn of_calls(&self) -> &Servers {
        let list = self.weighting.list();
        list.map_or(&self.servers, |list| &list.servers)
    }

    /// All forms that serve calls or samples.
    fn forms(&self) -> impl Iterator<Item = &Form> {
        let list = self.weighting.list().map(|list| &list.servers);
        std::iter::once(&self.servers)
            .chain(list)
            .flat_map(Servers::forms)
    }

    /// The same, to be changed.
    fn forms_mut(&mut self) -> impl Iterator<Item = &mut Form> {
        let list = self.weighting.list_mut().map(|list| &mut list.servers);
        std::iter::once(&mut self.servers)
            .chain(list)
            .flat_map(Servers::forms_mut)
    }

    /// What serves calls with or without channels, once such a call came.
    fn server(&self, channels: bool) -> Option<Server<'_>> {
        let amp2 = channels && self.weighting.needs_amp2();
        self.of_calls().server(amp2)
    }

    /// From the first call on momenta may be off their mass shells (conserved they are in any case): the matrix
    /// element of other masses at the momenta of an event. On a CPU alone; false where a GPU evaluates, or events
    /// have been evaluated already.
    pub fn allow_off_shell(&mut self) -> bool {
        let can = self.forms().all(Form::can_go_off_shell);
        if can {
            self.forms_mut().for_each(Form::allow_off_shell);
        }
        can
    }

    /// The process.
    pub fn process(&self) -> &Process {
        self.servers.process()
    }

    /// Number of events in a call through the Fortran door.
    pub fn nevt(&self) -> usize {
        self.nevt
    }

    /// What evaluates.
    pub fn target(&self) -> &Target {
        &self.servers.recipe().settings.target
    }

    /// The SIMD level in use; `None` on a GPU.
    pub fn level(&self) -> Option<Level> {
        self.target().level()
    }

    /// The plan that serves calls with or without channels, and whether it is a recursion; after the
    /// first such call.
    pub fn serving(&self, channels: bool) -> Option<(&Plan, bool)> {
        let server = self.server(channels)?;
        Some((server.backend.plan(), server.recursion))
    }

    /// The kernels of a GPU that serve calls with or without channels; none on a CPU, or before the
    /// first such call.
    pub fn kernels(&self, channels: bool) -> Result<Kernels> {
        let server = self.server(channels);
        let none = || Ok(Kernels::default());
        server.map_or_else(none, |server| server.backend.kernels(channels))
    }

    /// Multiply-adds of an event in calls with or without channels, with those of the colour sums;
    /// after the first such call.
    pub fn multiply_adds(&self, channels: bool) -> Option<usize> {
        let server = self.server(channels)?;
        Some(server.multiply_adds(channels))
    }

    /// The list of diagrams, once the good helicities are known; that of the colour-ordered form while nothing else was
    /// asked for.
    pub fn plan(&self) -> Option<&Plan> {
        self.of_calls().plan().or_else(|| self.servers.plan())
    }

    /// Number of good helicities, once they are known.
    pub fn good_helicities(&self) -> Option<usize> {
        self.plan().map(|plan| plan.helicities.len())
    }

    /// Whether a row of the helicity table is one of the good ones, once they are known.
    pub fn is_good(&self, row: usize) -> Option<bool> {
        let helicities = &self.plan()?.helicities;
        Some(helicities.binary_search(&(row as u32)).is_ok())
    }

    /// What to measure of where the time goes.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.forms_mut().for_each(|form| form.set_profile(clocks));
    }

    /// Where the time went, as far as [`Bridge::set_profile`] asked.
    pub fn timers(&self) -> Timers {
        let mut sum = Timers::default();
        for backend in self.forms().flat_map(Form::backends) {
            sum.merge(&backend.timers());
        }
        sum
    }

    /// Waits for whatever is done behind the scenes after a first call so that later ones are faster
    /// (the compiler of a GPU), which must not fall into measured times.
    pub fn wait_for_compiler(&mut self) {
        let backends = self.forms_mut().flat_map(Form::backends_mut);
        backends.for_each(|backend| backend.wait_for_compiler());
    }

    /// Finds the good helicities, unless they are known, and says how many there are. They do not
    /// depend on these events, which are those of the call that asks.
    pub fn find_good_helicities(&mut self, events: &Events) -> Result<usize> {
        self.asked(events, Servers::find_good_helicities)
    }

    /// Does all that the first call with these events would do before it evaluates them, and
    /// says how many helicities are good.
    pub fn prepare(&mut self, events: &Events) -> Result<usize> {
        self.asked(events, Servers::prepare)
    }

    /// Asks the servers of calls something about events.
    fn asked(
        &mut self,
        events: &Events,
        ask: impl Fn(&mut Servers, &Inputs) -> Result<usize>,
    ) -> Result<usize> {
        events.count(self.process().legs.len())?;
        let (servers, propagators) = self.weighting.servers(&mut self.servers);
        let inputs = servers.numbering.inputs(events, &mut self.room)?;
        ask(servers, &of_servers(&inputs, propagators))
    }

    /// Evaluates events. That the |M|^2 of one is not finite is an error.
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

    /// Evaluates events, and gives the first whose |M|^2 is not finite.
    pub fn run_all(&mut self, events: &Events, answers: &mut Answers) -> Result<Option<usize>> {
        answers.check(events.count(self.process().legs.len())?)?;
        if events.g_s.is_empty() {
            return Ok(None);
        }
        let (servers, propagators) = self.weighting.servers(&mut self.servers);
        let inputs = servers.numbering.inputs(events, &mut self.room)?;
        let asked = of_servers(&inputs, propagators);
        let mut outputs = Outputs {
            matrix_elements: answers.matrix_elements,
            helicity: answers.helicity,
            color: answers.color,
        };
        let nevt = inputs.count();
        let may_be_lost = servers.run(&asked, outputs.part(0, nevt))?;
        if may_be_lost {
            again::run_again(servers.recipe(), &mut self.in_double, &asked, &mut outputs)?;
        }
        if let (Some(propagators), Some(channel)) = (propagators, inputs.channel) {
            in_default_environment(|| {
                propagators.apply(&inputs, channel, outputs.matrix_elements);
            });
        }
        numbering::count_from_one(outputs.helicity);
        numbering::count_from_one(outputs.color);
        // Backends look at what they answer while they have it at hand.
        let all_finite = !may_be_lost && propagators.is_none();
        Ok(match all_finite {
            true => None,
            false => first_not_finite(outputs.matrix_elements),
        })
    }

    /// What is wrong with the momenta of an event, `[leg][component]`, that cannot be evaluated.
    /// `event` is its number for the message.
    pub fn what_is_wrong(&self, momenta: &[f64], event: usize) -> Error {
        self.servers.own.what_is_wrong(momenta, event)
    }

    /// Whether contributions of helicities of both signs cancel at all points, where calls choose among their absolute
    /// values.
    pub fn cancels(&self) -> bool {
        let own = &self.servers.own;
        own.process().helicity_sum == HelicitySum::Absolute && own.cancels(f64::clone)
    }

    /// Masses of the legs in GeV.
    pub fn masses(&self) -> Vec<f64> {
        let legs = 0..self.process().legs.len();
        legs.map(|leg| self.servers.own.mass(leg)).collect()
    }
}

/// What the servers are given of a call: where propagators weight its channels, the same without them.
fn of_servers<'a>(inputs: &Inputs<'a>, propagators: Option<&Propagators>) -> Inputs<'a> {
    Inputs {
        channel: inputs.channel.filter(|_| propagators.is_none()),
        ..*inputs
    }
}
