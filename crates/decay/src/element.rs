//! Matrix elements of production, of decays, and of both together.

use mebridge::backend::AllowedMomenta;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::generate::MatrixElements;
use mebridge::model::Model;
use mebridge::plan::binding::Binding;
use mebridge::process::card::Card;
use mebridge::process::{Process, Quantity};
use mebridge::runtime::{BackendChoice, Switches};
use mebridge::{Error, Result};
use std::f64::consts::PI;

/// alpha_s at the mass of the Z boson, if the card has no entry 3 of SMINPUTS.
const ALPHA_S: f64 = 0.118;
/// Largest number of events per call.
const CALL: usize = 1 << 14;

/// Model, parameters and settings that all matrix elements share.
pub struct Theory {
    /// The model.
    pub model: Model,
    /// The parameter card.
    pub card: Card,
    /// How matrix elements are evaluated.
    pub switches: Switches,
    /// `define` lines, which precede the text of each process.
    pub labels: String,
}

impl Theory {
    /// The matrix elements of a process text.
    ///
    /// # Errors
    /// The text is wrong or has no diagrams.
    pub fn matrix_elements(&self, text: &str) -> Result<MatrixElements<'_>> {
        MatrixElements::parse(&format!("{}{text}", self.labels), &self.model)
    }

    /// The strong coupling at a scale in GeV: two-loop running of the card's alpha_s.
    pub fn g_s(&self, scale: f64) -> f64 {
        let at_z = self.card.number("sminputs", &[3]).unwrap_or(ALPHA_S);
        // Not evolved below 2 GeV.
        (4.0 * PI * mebridge_densities::evolved(scale.max(2.0), at_z, 2)).sqrt()
    }
}

/// A matrix element that is evaluated for many events per call.
pub struct Evaluator {
    /// Its process.
    pub process: Process,
    /// Values of the model's parameters from the card.
    parameters: Vec<f64>,
    bridge: Bridge,
}

/// Squared matrix elements and helicities of events.
#[derive(Default)]
pub struct MatrixElementValues {
    /// |M|^2, averaged over the initial state.
    pub squared: Vec<f64>,
    /// The row of the helicity table, from 0.
    pub helicities: Vec<usize>,
}

impl Evaluator {
    /// The evaluator of a process; momenta may be off the mass shells of its legs.
    ///
    /// # Errors
    /// A parameter is not in the card, or the process cannot be evaluated.
    pub fn new(process: Process, theory: &Theory) -> Result<Evaluator> {
        let values = process.model.card_values(&theory.card)?;
        let parameters = Binding::new(&process.model, &values)?.parameters;
        // Only the CPU backend evaluates off-shell momenta.
        let switches = Switches {
            backend: BackendChoice::Cpu,
            ..theory.switches.clone()
        };
        let mut bridge = Bridge::new(process.clone(), &values, &switches, CALL)?;
        bridge.allow(AllowedMomenta::OffShell);
        Ok(Evaluator {
            process,
            parameters,
            bridge,
        })
    }

    /// The evaluator of a text that stands for one matrix element.
    ///
    /// # Errors
    /// Those of [`Evaluator::new`], or the text has no matrix element.
    pub fn from_text(text: &str, theory: &Theory) -> Result<Evaluator> {
        Evaluator::new(theory.matrix_elements(text)?.process(0)?, theory)
    }

    /// The value of a mass or width, GeV.
    pub fn value(&self, quantity: Quantity) -> f64 {
        quantity
            .0
            .map_or(0.0, |at| self.parameters[at as usize].abs())
    }

    /// Masses of the legs, GeV.
    pub fn masses(&self) -> Vec<f64> {
        self.process
            .legs
            .iter()
            .map(|leg| self.value(leg.mass))
            .collect()
    }

    /// Evaluates events.
    ///
    /// Args: `momenta` are `[event][leg][4]`; the `random` numbers choose the helicities.
    ///
    /// # Errors
    /// |M|^2 of some event is not finite.
    pub fn evaluate(
        &mut self,
        momenta: &[f64],
        g_s: &[f64],
        random: &[f64],
        found: &mut MatrixElementValues,
    ) -> Result<()> {
        let count = g_s.len();
        let of_event = 4 * self.process.legs.len();
        found.squared.clear();
        found.squared.resize(count, 0.0);
        found.helicities.clear();
        let (mut helicity, mut color) = (vec![0; count], vec![0; count]);
        for first in (0..count).step_by(CALL) {
            let range = first..count.min(first + CALL);
            let events = Events {
                momenta: &momenta[range.start * of_event..range.end * of_event],
                g_s: &g_s[range.clone()],
                random_helicity: &random[range.clone()],
                random_color: &random[range.clone()],
                channels: None,
                igraph: None,
            };
            let mut answers = Answers {
                matrix_elements: &mut found.squared[range.clone()],
                helicity: &mut helicity[range.clone()],
                color: &mut color[range],
            };
            if self.bridge.run_all(&events, &mut answers)?.is_some() {
                let what = "|M|^2 is not finite at a point";
                return Err(Error::run_at(
                    &self.process.name,
                    what,
                    "look at the parameter card",
                ));
            }
        }
        let row = |&number: &i32| (number as usize).saturating_sub(1);
        found.helicities.extend(helicity.iter().map(row));
        Ok(())
    }
}
