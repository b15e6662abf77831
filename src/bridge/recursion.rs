//! The recursion of a form, which has to agree with the list of diagrams before it is used.

use super::form::{Form, Recursion};
use crate::backend::Failure;
use crate::error::Result;
use crate::float_environment::in_default_environment;
use crate::inputs::Inputs;
use crate::policy;
use crate::runtime::Precision;

/// Number of a caller's events on which a recursion is compared, if there are no trial points.
pub(super) const COMPARED_EVENTS: usize = 16;

/// Whether two lists of numbers agree within `tolerance` times the sum of their sizes, and small numbers also roughly
/// one by one.
pub(super) fn agree(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let total: f64 = b.iter().map(|y| y.abs()).sum();
    let mut pairs = a.iter().zip(b);
    a.len() == b.len()
        && pairs.all(|(x, y)| {
            let by = (x - y).abs();
            by <= tolerance * total && by <= 1e3 * tolerance * y.abs() + 1e-5 * tolerance * total
        })
}

/// Returns the largest allowed difference between two ways of evaluating.
pub(super) fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-9,
        Precision::Mixed => 1e-4,
        Precision::Float => 1e-2,
    }
}

impl Form {
    /// Does everything that the first call with these events would do before it evaluates them, and returns the number
    /// of good helicities.
    pub fn prepare(&mut self, inputs: &Inputs) -> Result<usize> {
        in_default_environment(|| {
            let good = self.find_good_helicities(inputs)?;
            self.make_recursion(inputs)?;
            Ok(good)
        })
    }

    /// Makes the recursion, unless that was tried before. It is kept if it is less work than the diagrams and agrees
    /// with them at the trial points, for each helicity and AMP2.
    fn make_recursion(&mut self, inputs: &Inputs) -> Result<()> {
        let Some(engines) = &mut self.engines else {
            return Ok(());
        };
        if !matches!(engines.recursion, Recursion::NotAskedFor) {
            return Ok(());
        }
        engines.recursion = Recursion::None;
        let plan = engines.diagrams.plan();
        let (good, count) = (plan.helicities.clone(), plan.count);
        let settings = &self.recipe().settings;
        let (clocks, tolerance) = (settings.clocks, tolerance(settings.precision));
        let (last, processor) = (settings.target.last_pass(), settings.processor());
        let plan = self
            .plans()
            .recursion(self.process(), self.binding(), &good, last);
        let Some(plan) = plan else {
            return Ok(());
        };
        let mut serves = policy::recursion_serves(&plan, &count, processor);
        if !serves.without_channels && !serves.with_channels {
            return Ok(());
        }
        let mut backend = self.backend(plan)?;
        let trial = self.trial().cloned();
        let first = match &trial {
            Some(trial) => trial.points(),
            None => inputs
                .points
                .part(0, inputs.points.count().min(COMPARED_EVENTS)),
        };
        let first = Inputs::without_channels(first);
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
                // Bad momenta: the call itself reports them.
                engines.recursion = Recursion::NotAskedFor;
                return Ok(());
            }
        };
        let mut pairs = recursion.iter().zip(&diagrams);
        if !pairs
            .clone()
            .all(|(a, b)| agree(&a.helicities, &b.helicities, tolerance))
        {
            return Ok(());
        }
        serves.with_channels &= pairs.all(|(a, b)| agree(&a.amp2, &b.amp2, tolerance));
        backend.set_profile(clocks);
        engines.recursion = Recursion::Ready { backend, serves };
        Ok(())
    }
}
