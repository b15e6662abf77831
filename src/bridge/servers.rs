//! The servers of a process with one card on one machine.
//!
//! | request | form | plan |
//! |---|---|---|
//! | events without channels, samples without diagrams | colour-ordered if that is faster, else diagrams | recursion or list |
//! | events with channels, samples with diagrams | diagrams | recursion with AMP2 or list |
//! | one event | diagrams | in lanes ([`super::single`]), recursion or list |
//!
//! [`crate::policy`] decides which is faster. Each row is made when it is first needed.

use super::form::Form;
use super::numbering::Numbering;
use super::recipe::Recipe;
use crate::backend::Backend;
use crate::color::BlockDiagonal;
use crate::error::{Error, Result};
use crate::inputs::{Inputs, Outputs};
use crate::plan::Plan;
use crate::process::Process;

/// The servers of a process.
pub(super) struct Servers {
    /// The process as given: its diagrams, or the colour-ordered form if it has no other.
    pub own: Form,
    /// The colour-ordered form, if it serves calls without channels in addition to the diagrams.
    pub color_ordered: Option<Form>,
    /// Meaning of the channels and configurations of calls.
    pub numbering: Numbering,
}

/// The server of a call.
pub(super) struct Server<'a> {
    pub backend: &'a dyn Backend,
    /// Whether its plan is a recursion.
    pub recursion: bool,
    color: &'a BlockDiagonal,
}

impl Servers {
    /// Decides which form serves, and makes nothing else yet.
    pub fn new(recipe: Recipe) -> Result<Servers> {
        let own = Form::new(recipe)?;
        Ok(Servers {
            numbering: Numbering::from_diagrams(own.process()),
            color_ordered: own.color_ordered()?,
            own,
        })
    }

    /// Returns the servers in double precision, which are made if necessary.
    pub fn in_double<'a>(
        made: &'a mut Option<Servers>,
        recipe: &Recipe,
    ) -> Result<&'a mut Servers> {
        Ok(match made {
            Some(made) => made,
            None => made.insert(Servers::new(recipe.in_double())?),
        })
    }

    pub fn process(&self) -> &Process {
        self.own.process()
    }

    pub fn recipe(&self) -> &Recipe {
        self.own.recipe()
    }

    /// All forms that serve.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        std::iter::once(&self.own).chain(&self.color_ordered)
    }

    /// The same, mutably.
    pub fn forms_mut(&mut self) -> impl Iterator<Item = &mut Form> {
        std::iter::once(&mut self.own).chain(&mut self.color_ordered)
    }

    /// Returns the form that serves calls with or without channels.
    fn form_mut(&mut self, channels: bool) -> &mut Form {
        match &mut self.color_ordered {
            Some(form) if !channels => form,
            _ => &mut self.own,
        }
    }

    /// Returns the server of calls with or without channels, after the first such call.
    pub fn server(&self, channels: bool) -> Option<Server<'_>> {
        let form = match &self.color_ordered {
            Some(form) if !channels => form,
            _ => &self.own,
        };
        let (backend, recursion) = form.server(channels)?;
        Some(Server {
            backend,
            recursion,
            color: form.color(),
        })
    }

    /// Returns the same server, which is made if necessary.
    pub fn prepared(&mut self, channels: bool, inputs: &Inputs) -> Result<Server<'_>> {
        self.form_mut(channels).prepare(inputs)?;
        self.server(channels).ok_or(Error::NoEvents)
    }

    /// Finds the good helicities of the form that serves such events, unless they are known.
    pub fn find_good_helicities(&mut self, inputs: &Inputs) -> Result<usize> {
        self.form_mut(inputs.channel.is_some())
            .find_good_helicities(inputs)
    }

    /// Does everything that the first call with these events would do before it evaluates them.
    pub fn prepare(&mut self, inputs: &Inputs) -> Result<usize> {
        self.form_mut(inputs.channel.is_some()).prepare(inputs)
    }

    /// Evaluates events, and returns whether a |M|^2 may be beyond the precision.
    pub fn run(&mut self, inputs: &Inputs, outputs: Outputs) -> Result<bool> {
        self.form_mut(inputs.channel.is_some()).run(inputs, outputs)
    }

    /// Returns the plan that always exists, once the good helicities are known; that of the colour-ordered form as long
    /// as nothing else was needed.
    pub fn plan(&self) -> Option<&Plan> {
        let mut engines = self.forms().filter_map(|form| form.engines.as_ref());
        engines.next().map(|engines| engines.diagrams.plan())
    }
}

impl Server<'_> {
    /// Returns the multiply-adds per event in calls with or without channels, including those of the colour sums.
    pub fn multiply_adds(&self, channels: bool) -> usize {
        let plan = self.backend.plan();
        let squares = if channels { plan.count.squares } else { 0 };
        let evaluated = match plan.loops() {
            Some(loops) => loops.evaluated().count(),
            None => plan.helicities.len(),
        };
        plan.count.multiply_adds + squares + evaluated * self.color.multiply_adds()
    }
}
