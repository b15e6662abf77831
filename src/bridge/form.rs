//! A form of a process, with the plans for its good helicities.
//!
//! A process has its diagrams; some processes also have a colour-ordered form, and a few have only that. Each form
//! finds its good helicities once, and makes the plans that serve calls: the list of diagrams (or the loops of the
//! colour-ordered form), which always exists, and the recursion if it is less work. A plan that is not needed is never
//! made.

use super::plans::Plans;
use super::recipe::Recipe;
use crate::backend::{AllowedMomenta, Backend, Clocks, Failure};
use crate::cache::Cache;
use crate::color::BlockDiagonal;
use crate::error::{Error, Result};
use crate::float_environment::in_default_environment;
use crate::inputs::{Inputs, Outputs};
use crate::plan::ValidPlan;
use crate::plan::binding::Binding;
use crate::plan::color_ordered::Machine;
use crate::policy::{self, Serves};
use crate::process::Process;
use crate::target::Target;
use crate::trial::Trial;
use std::cell::OnceCell;

/// A form of a process.
pub(super) struct Form {
    recipe: Recipe,
    binding: Binding,
    plans: OnceCell<Plans>,
    color: OnceCell<BlockDiagonal>,
    /// The points on which properties of the process are determined; `None` if its masses leave it no phase space.
    trial: OnceCell<Option<Trial>>,
    pub(super) engines: Option<Engines>,
}

/// The backends for the good helicities.
pub(super) struct Engines {
    /// The list of diagrams, which serves wherever the recursion does not.
    pub diagrams: Box<dyn Backend>,
    pub recursion: Recursion,
}

/// State of the recursion, which is made when it could first serve.
pub(super) enum Recursion {
    /// No event was evaluated so far.
    NotAskedFor,
    /// The process has none, or it is more work than the diagrams.
    None,
    /// It exists, and agrees with the diagrams.
    Ready {
        backend: Box<dyn Backend>,
        /// The calls for which it is better.
        serves: Serves,
    },
}

impl Form {
    /// Makes the form of a recipe's process.
    pub fn new(recipe: Recipe) -> Result<Form> {
        let (process, card) = (&recipe.process, &recipe.card);
        let binding = in_default_environment(|| Binding::new(&process.model, card))?;
        Ok(Form {
            recipe,
            binding,
            plans: OnceCell::new(),
            color: OnceCell::new(),
            trial: OnceCell::new(),
            engines: None,
        })
    }

    /// Makes the colour-ordered form, if it serves calls without channels in addition to the diagrams. Whether it can
    /// depends on the card: a quark line has a chirality only if it is massless.
    pub fn color_ordered(&self) -> Result<Option<Form>> {
        let processor = self.recipe.settings.processor();
        if !policy::color_ordered_serves(self.process(), &self.binding, processor) {
            return Ok(None);
        }
        let ordered = self.process().as_color_ordered();
        let form = ordered.map(|process| Form::new(self.recipe.for_process(process)));
        form.transpose()
    }

    pub fn process(&self) -> &Process {
        &self.recipe.process
    }

    /// Removes the colour sum, before any plan is made from it: |M|^2 becomes 0, and the other results of a call stay.
    pub fn make_zero(&mut self) {
        let mut process = self.process().clone();
        if let Some(diagrams) = process.amplitudes.diagrams_mut() {
            diagrams.color.upper.fill(0.0);
        }
        self.recipe = self.recipe.for_process(process);
        (self.plans, self.color) = Default::default();
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    pub fn plans(&self) -> &Plans {
        self.plans.get_or_init(|| {
            let cache = Cache::new(&self.recipe.settings.cache);
            Plans::new(cache, self.process(), &self.recipe.card)
        })
    }

    pub fn color(&self) -> &BlockDiagonal {
        self.color.get_or_init(|| {
            let on_gpu = matches!(self.recipe.settings.target, Target::Gpu(_));
            self.plans().color(self.process(), on_gpu)
        })
    }

    pub fn trial(&self) -> Option<&Trial> {
        let trial = || Trial::new(self.process(), &self.binding);
        self.trial.get_or_init(trial).as_ref()
    }

    /// Makes the list of diagrams for these helicities, for the hardware that evaluates calls.
    pub fn diagrams(&self, helicities: &[u32]) -> Result<ValidPlan> {
        let settings = &self.recipe.settings;
        let make = |machine| self.diagrams_on(machine, helicities);
        settings.target.fitted(settings.precision, make)
    }

    /// Makes the list of diagrams for these helicities, for a machine.
    pub fn diagrams_on(&self, machine: Machine, helicities: &[u32]) -> Result<ValidPlan> {
        self.plans()
            .diagrams(self.process(), &self.binding, helicities, machine)
    }

    /// Whether the hardware that evaluates calls accepts plans made for a CPU core: those of loops differ.
    pub fn takes_plans_of_a_core(&self) -> bool {
        matches!(self.recipe.settings.target, Target::Cpu(_)) || !self.process().is_color_ordered()
    }

    /// Makes a plan ready to run.
    pub fn backend(&self, plan: ValidPlan) -> Result<Box<dyn Backend>> {
        let settings = &self.recipe.settings;
        let mut backend = settings.target.backend(
            self.process(),
            self.color(),
            &self.binding,
            plan,
            settings.precision,
        )?;
        let allowed = settings.allowed;
        if allowed != AllowedMomenta::Physical && !backend.allow(allowed) {
            return Err(Error::Internal {
                what: "an engine that checks mass shells".into(),
            });
        }
        Ok(backend)
    }

    /// Returns the backend that serves calls with or without channels, and whether it is a recursion; `None` before
    /// good helicities are known.
    pub fn server(&self, channels: bool) -> Option<(&dyn Backend, bool)> {
        let engines = self.engines.as_ref()?;
        Some(match &engines.recursion {
            Recursion::Ready { backend, serves } if serves.calls(channels) => {
                (backend.as_ref(), true)
            }
            _ => (engines.diagrams.as_ref(), false),
        })
    }

    fn server_mut(&mut self, channels: bool) -> Option<&mut dyn Backend> {
        let engines = self.engines.as_mut()?;
        Some(match &mut engines.recursion {
            Recursion::Ready { backend, serves } if serves.calls(channels) => backend.as_mut(),
            _ => engines.diagrams.as_mut(),
        })
    }

    /// Iterates over all backends that were made.
    pub fn backends(&self) -> impl Iterator<Item = &dyn Backend> {
        self.engines.iter().flat_map(Engines::each)
    }

    /// The same, mutably.
    pub fn backends_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Backend>> {
        self.engines.iter_mut().flat_map(Engines::each_mut)
    }

    /// Sets what is measured for profiles.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.recipe.settings.clocks = clocks;
        for backend in self.backends_mut() {
            backend.set_profile(clocks);
        }
    }

    /// Evaluates events, and returns whether a |M|^2 may be beyond the precision.
    pub fn run(&mut self, inputs: &Inputs, outputs: Outputs) -> Result<bool> {
        self.prepare(inputs)?;
        let backend = self.server_mut(inputs.channel.is_some());
        let backend = backend.ok_or(Error::NoEvents)?;
        let result = in_default_environment(|| backend.run(*inputs, outputs));
        let may_be_invalid = result.is_ok() && backend.may_be_invalid();
        result.map_err(|failure| self.failure(inputs, failure))?;
        Ok(may_be_invalid)
    }

    /// Returns the error for a failure of a backend.
    pub fn failure(&self, inputs: &Inputs, failure: Failure) -> Error {
        match failure {
            Failure::Event(bad) => self.bad_momentum(&inputs.points, bad.event),
            Failure::Other(error) => error,
        }
    }

    /// Allows such momenta, for everything that is not yet made.
    pub fn allow(&mut self, momenta: AllowedMomenta) {
        self.recipe.settings.allowed = momenta;
    }

    /// Whether such momenta can still be allowed.
    pub fn can_allow(&self, momenta: AllowedMomenta) -> bool {
        let on_cpu = matches!(self.recipe.settings.target, Target::Cpu(_));
        self.engines.is_none() && (on_cpu || momenta != AllowedMomenta::OffShell)
    }
}

impl Engines {
    fn each(&self) -> impl Iterator<Item = &dyn Backend> {
        let recursion = match &self.recursion {
            Recursion::Ready { backend, .. } => Some(backend.as_ref()),
            Recursion::NotAskedFor | Recursion::None => None,
        };
        std::iter::once(self.diagrams.as_ref()).chain(recursion)
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Backend>> {
        let recursion = match &mut self.recursion {
            Recursion::Ready { backend, .. } => Some(backend),
            Recursion::NotAskedFor | Recursion::None => None,
        };
        std::iter::once(&mut self.diagrams).chain(recursion)
    }
}
