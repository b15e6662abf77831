//! Finds the helicities of a form that contribute.
//!
//! The search uses the library's own points ([`crate::trial`]), in double precision and one point at a time, on any
//! hardware. So the result is always the same.

use super::form::{Engines, Form, Recursion};
use crate::cpu::Scalar;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::message;
use crate::plan::ValidPlan;
use crate::process::HelicitySum;
use crate::target::this_core;
use crate::trial::Trial;

/// Number of points at which good helicities are searched: each energy along z and in a boosted frame. A helicity that
/// contributes does so at all of the latter, except by chance.
const SEARCHED: usize = 8;
/// Share of a helicity in the sum over helicities at a point below which it is rounding: amplitudes of 1e-16 of the
/// others, times some 10^4 where terms cancel, squared. Masses and velocities give no factor this small where
/// everything else is forbidden.
const ROUNDING: f64 = 1e-24;
/// Remainder of cancelling products of amplitudes, relative to the terms.
const ROUNDING_OF_TERMS: f64 = 1e-11;

impl Form {
    /// Returns the good helicities, once they are known.
    pub fn good_helicities(&self) -> Option<&[u32]> {
        let engines = self.engines.as_ref()?;
        Some(&engines.diagrams.plan().helicities)
    }

    /// Finds the good helicities, unless they are known, and makes the plan that always exists. They do not depend on
    /// the given events.
    pub fn find_good_helicities(&mut self, inputs: &Inputs) -> Result<usize> {
        if let Some(good) = self.good_helicities() {
            return Ok(good.len());
        }
        if inputs.points.count() == 0 {
            return Err(Error::NoEvents);
        }
        let all: Vec<u32> = (0..self.process().helicities.len() as u32).collect();
        if self.vanishes() {
            message::say_once(format!(
                "{}: with this card |M|^2 vanishes at all points; 0 is given for what is the rounding of its terms",
                self.process().name
            ));
            self.make_zero();
        }
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

    /// Whether the result of calls vanishes at all points, although its terms do not.
    fn vanishes(&self) -> bool {
        match self.process().helicity_sum {
            HelicitySum::Positive => false,
            HelicitySum::Signed => self.cancels(f64::clone),
            HelicitySum::Absolute => self.cancels(|x| x.abs()),
        }
    }

    /// Whether the sum over helicities of `of` vanishes at all points although its terms do not. If products of
    /// amplitudes can be negative, [`Process::evaluate`](crate::process::Process::evaluate) gives the size of the
    /// terms, from which the rounding of the sum is judged.
    pub fn cancels(&self, of: impl Fn(&f64) -> f64) -> bool {
        let (process, recipe) = (self.process(), self.recipe());
        let (Some(trial), Some(_)) = (self.trial(), process.amplitudes.diagrams()) else {
            return false;
        };
        let points = trial.points();
        let mut some = false;
        for point in (0..points.count().min(SEARCHED)).filter(|&point| trial.is_moved(point)) {
            let one = points.part(point, 1);
            let momenta = one.momenta.to_rows();
            let answer = process.evaluate(momenta.as_chunks().0, one.g_s[0], &recipe.card);
            let total: f64 = answer.contributions.iter().map(&of).sum();
            // NaN is not zero.
            let vanishes = total.abs() <= ROUNDING_OF_TERMS * answer.terms;
            if !vanishes {
                return false;
            }
            some |= answer.terms > 0.0;
        }
        some
    }

    /// Makes the list of diagrams for those helicities that contribute at some point, however little.
    ///
    /// Along z everything that is not exactly zero counts, as in MadEvent's Fortran and CUDACPP: components that vanish
    /// there do so exactly, and keeping rounding errors costs time but no accuracy. In a boosted frame no component of
    /// a massive particle vanishes, so that a sum which is zero has the rounding of its terms; there a contribution
    /// counts if it is larger than that.
    fn plan_of_good(&self, trial: &Trial, all: Vec<u32>) -> Result<ValidPlan> {
        let plan = self.diagrams_on(this_core(), &all)?;
        let mut backend = Scalar::new(self.process(), self.color(), self.binding(), plan)?;
        let points = trial.points();
        let mut contributes = vec![false; all.len()];
        for point in 0..points.count().min(SEARCHED) {
            let inputs = Inputs::without_channels(points.part(point, 1));
            let parts = backend
                .contributions(inputs)
                .map_err(|failure| self.failure(&inputs, failure))?;
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
        // If none contributes, the card makes the matrix element vanish, or it vanishes at these points: as in MadEvent
        // the answer is then computed from all helicities.
        let none = !contributes.contains(&true);
        let mut good = all.clone();
        good.retain(|&h| none || contributes[h as usize]);
        match good == all && self.takes_plans_of_a_core() {
            true => Ok(backend.into_plan()),
            false => self.diagrams(&good),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bridge;
    use super::super::numbering::tests::call;
    use crate::events::Answers;
    use crate::process::{HelicitySum, Process, TermSource};
    use crate::runtime::{BackendChoice, CachePlace, Switches};

    /// An interference that vanishes at all points is 0, not the rounding of its terms.
    #[test]
    fn what_vanishes_is_zero() {
        let whole = crate::generate("u u~ > u u~ QCD^2==2 QED^2==2")
            .expect("process")
            .remove(0);
        // Only gluons and electroweak bosons in the s-channel, whose colours are orthogonal.
        let mut process = whole.clone();
        let diagrams = process.amplitudes.diagrams_mut().expect("diagrams");
        let annihilates = |n: u32| {
            let inputs = &diagrams.amplitudes[n as usize].inputs;
            inputs.contains(&0) && inputs.contains(&1)
        };
        let of = |source: TermSource| matches!(source, TermSource::Amplitude(n) if annihilates(n));
        for terms in &mut diagrams.jamp.outputs {
            terms.retain(|term| of(term.source));
        }
        let answers = |process: &Process| {
            let switches = Switches {
                backend: BackendChoice::Cpu,
                cache: CachePlace::Off,
                ..Switches::default()
            };
            let card = process.model.default_card();
            let mut bridge = Bridge::new(process.clone(), &card, &switches, 64).expect("bridge");
            let points = bridge.servers.own.trial().cloned().expect("points");
            let events = call(&points.points());
            let nevt = events.g_s.len();
            let mut out = (vec![0.5; nevt], vec![0; nevt], vec![0; nevt]);
            let mut answers = Answers {
                matrix_elements: &mut out.0,
                helicity: &mut out.1,
                color: &mut out.2,
            };
            bridge.run(&events, &mut answers).expect("answers");
            out.0
        };
        assert!(answers(&whole).iter().all(|&x| x != 0.0));
        for sum in [HelicitySum::Signed, HelicitySum::Absolute] {
            process.helicity_sum = sum;
            assert!(answers(&process).iter().all(|&x| x == 0.0), "{sum:?}");
        }
    }
}
