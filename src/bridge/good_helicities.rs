//! Which helicities of a form contribute.
//!
//! The search uses points of the library's own ([`crate::trial`]), in double precision and one point at a time,
//! whatever evaluates the events. So the answer is the same everywhere.

use super::form::{Engines, Form, Recursion};
use crate::cpu::Scalar;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::plan::ValidPlan;
use crate::target::this_core;
use crate::trial::Trial;

/// Number of points at which good helicities are looked for: each energy along z and in a moved frame. What
/// contributes does so at all of the latter, unless by chance.
const SEARCHED: usize = 8;
/// Contributions of a helicity in parts of those of all at a point that are rounding: amplitudes of 1e-16 of the others,
/// some 10^4 of these where terms cancel, squared. Masses and velocities bring no factor that is so small where
/// all else is forbidden.
const ROUNDING: f64 = 1e-24;

impl Form {
    /// The good helicities, once they are known.
    pub fn good_helicities(&self) -> Option<&[u32]> {
        let engines = self.engines.as_ref()?;
        Some(&engines.diagrams.plan().helicities)
    }

    /// Finds the good helicities, unless they are known, and makes the plan that is always there. They do not depend on
    /// these events, which are those of the call that asks.
    pub fn find_good_helicities(&mut self, inputs: &Inputs) -> Result<usize> {
        if let Some(good) = self.good_helicities() {
            return Ok(good.len());
        }
        if inputs.count() == 0 {
            return Err(Error::NoEvents);
        }
        let all: Vec<u32> = (0..self.process().helicities.len() as u32).collect();
        let plan = match self.trial() {
            Some(trial) if !self.recipe().settings.all_helicities => {
                self.plan_of_good(trial, all)?
            }
            _ => self.diagrams(&all)?,
        };
        let count = plan.helicities.len();
        let mut diagrams = self.backend(plan)?;
        diagrams.set_profile(self.recipe().settings.clocks);
        self.engines = Some(Engines {
            diagrams,
            recursion: Recursion::NotAskedFor,
        });
        Ok(count)
    }

    /// The list of diagrams for those helicities that contribute at some point, be it little.
    ///
    /// Along z whatever is not exactly zero counts, as in MadEvent's Fortran and CUDACPP: components that vanish there do so
    /// exactly, and what is left by rounding costs time, no digit. In a moved frame no component of a massive particle
    /// vanishes, so that a sum which is zero is left with the rounding of its terms; there a contribution counts if it
    /// is more than that.
    fn plan_of_good(&self, trial: &Trial, all: Vec<u32>) -> Result<ValidPlan> {
        let plan = self.diagrams_on(this_core(), &all)?;
        let mut backend = Scalar::new(self.process(), self.color(), self.binding(), plan)?;
        let points = trial.inputs();
        let points = points.first(points.count().min(SEARCHED));
        let mut contributes = vec![false; all.len()];
        for point in 0..points.count() {
            let parts = backend
                .contributions(points.part(point, 1))
                .map_err(|bad| self.bad_momentum(&points, point + bad.event))?;
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
                break;
            }
        }
        // Where none contributes the card makes the matrix element vanish, or it does so at these points: as in MadEvent
        // the answer is what all of them give.
        let none = !contributes.contains(&true);
        let mut good = all.clone();
        good.retain(|&h| none || contributes[h as usize]);
        match good == all && self.takes_plans_of_a_core() {
            true => Ok(backend.into_plan()),
            false => self.diagrams(&good),
        }
    }
}
