//! Sessions that run the plans for samples.

use super::servers::Servers;
use crate::backend::{Backend, Session, SessionMemory};
use crate::error::{Error, Result};
use crate::float_environment::in_default_environment;
use crate::inputs::{Inputs, Points};
use crate::sample::{Momenta, Sample, SampleAnswers};

/// The sessions for samples, for one thread.
pub(super) struct Sessions {
    /// For samples that request diagrams and colours; `None` if no such sample is expected.
    with_diagrams: Option<Box<dyn Session>>,
    /// For the other samples, if a better plan serves them.
    without: Option<Box<dyn Session>>,
}

impl Servers {
    /// Makes sessions for samples with diagrams and colours, if those are expected, and for the others if a better plan
    /// serves them.
    pub fn sessions<S>(
        &mut self,
        diagrams: bool,
        session: impl Fn(&dyn Backend) -> Result<S>,
    ) -> Result<(Option<S>, Option<S>)> {
        let legs = self.process().legs.len();
        // Properties of the process are determined on its own trial points; this event is not used if there are none.
        let momenta = vec![0.0; 4 * legs];
        let event = Inputs::without_channels(Points {
            momenta: Momenta::rows(&momenta, legs),
            g_s: &[0.0],
            random_helicity: &[0.0],
            random_color: &[0.0],
        });
        let (mut with_diagrams, mut without) = (None, None);
        if self.color_ordered.is_some() {
            without = Some(session(self.prepared(false, &event)?.backend)?);
        }
        if diagrams || without.is_none() {
            let server = self.prepared(true, &event)?;
            let recursion = server.recursion;
            with_diagrams = Some(session(server.backend)?);
            // Without squared diagrams there may be no better plan.
            if without.is_none() {
                let server = self.prepared(false, &event)?;
                if server.recursion != recursion {
                    without = Some(session(server.backend)?);
                }
            }
        }
        Ok((with_diagrams, without))
    }
}

impl Sessions {
    /// Makes the sessions of one thread.
    pub fn new(servers: &mut Servers, diagrams: bool, memory: &SessionMemory) -> Result<Sessions> {
        let session = |backend: &dyn Backend| backend.session(memory);
        let (with_diagrams, without) = servers.sessions(diagrams, session)?;
        Ok(Sessions {
            with_diagrams,
            without,
        })
    }

    /// Whether no sample with diagrams is expected.
    pub fn lacks_diagrams(&self) -> bool {
        self.with_diagrams.is_none()
    }

    /// Evaluates a sample with diagrams, whose indices have been checked, and |M|^2 at leading colour.
    pub fn run_with_leading_color(
        &mut self,
        sample: &Sample,
        answers: SampleAnswers,
        leading: &mut [f64],
    ) -> Result<()> {
        let session = self.with_diagrams.as_mut().ok_or(Error::Internal {
            what: "a sampler that was made without diagrams".into(),
        })?;
        in_default_environment(|| session.run_with_leading_color(sample, answers, leading))
    }

    /// Evaluates a sample whose indices have been checked.
    pub fn run(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<()> {
        let session = match (&mut self.with_diagrams, &mut self.without) {
            (_, Some(session)) if !sample.diagrams => session,
            (Some(session), _) => session,
            (None, _) => {
                return Err(Error::Internal {
                    what: "a sampler that was made without diagrams".into(),
                });
            }
        };
        in_default_environment(|| session.run(sample, answers))
    }
}
