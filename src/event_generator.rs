//! An event generator: matrix elements and what is asked of their events into a survey and rounds of records.

use crate::bridge::Bridge;
use crate::describe::{self, Subprocess};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::records::Completer;
use crate::runtime::Switches;
use crate::sampling::{Choice, Common, Element, Elements, integrand};
use mebridge_densities::{Coupling, Densities};
use mebridge_phasespace::cuts::{Rule, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_sampler::integrand::{BeamDensities, Failure, Integrand, Running};
use mebridge_sampler::random::Philox;
use mebridge_sampler::rounds::{Round, round};
use mebridge_sampler::survey::{Settings, Survey, survey};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// What is asked of events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Of both beams in their centre of mass, GeV.
    pub energy: f64,
    /// A member of a set of parton densities for both beams; none where the beams are the partons.
    pub densities: Option<PathBuf>,
    /// Scales, GeV, and values of alpha_s between which it is interpolated.
    pub alpha_s: (Vec<f64>, Vec<f64>),
    /// Scales of events.
    pub scale: Scale,
    /// Of each matrix element, its cuts.
    pub windows: Vec<Vec<Window>>,
    /// Of each matrix element, those that are no windows.
    #[serde(default)]
    pub rules: Vec<Vec<Rule>>,
    /// Of each matrix element, whether it stands for the process with exchanged beams, too.
    pub mirrored: Vec<bool>,
    /// Threads.
    pub threads: usize,
    /// Lines are on their mass shells up to so many widths.
    pub widths: f64,
}

/// Makes events of some matrix elements.
pub struct EventGenerator {
    integrand: Integrand,
    evaluators: Vec<Elements>,
    chooser: Elements,
    completers: Vec<Completer>,
    described: Vec<Subprocess>,
    surveyed: Option<(Survey, Settings)>,
}

/// Events as records.
pub struct Records {
    /// As [`mebridge_lhe::push_events`] takes them.
    pub bytes: Vec<u8>,
    /// For how many particles each has room.
    pub particles: usize,
    /// What points say.
    pub round: Round,
}

fn wrong(what: impl Into<String>) -> Error {
    Error::Call {
        function: "events",
        what: what.into(),
    }
}

impl EventGenerator {
    /// Of matrix elements with the values of their cards.
    ///
    /// # Errors
    /// They cannot be evaluated, or what is asked cannot be.
    pub fn new(processes: Vec<Process>, request: &Request) -> Result<Self, Failure> {
        let count = processes.len();
        let rules = match request.rules.is_empty() {
            true => vec![Vec::new(); count],
            false => request.rules.clone(),
        };
        if [request.windows.len(), request.mirrored.len(), rules.len()] != [count; 3] {
            return Err(wrong(format!(
                "there are {count} matrix elements, and cuts of others"
            ))
            .into());
        }
        let (scales, values) = &request.alpha_s;
        let coupling = Coupling::new(scales, values);
        let coupling = coupling.map_err(|what| wrong(format!("alpha_s: {what}")))?;
        let densities = match &request.densities {
            Some(file) => Some(BeamDensities {
                densities: Arc::new(Densities::lhapdf(file)?),
            }),
            None => None,
        };
        let common = Common {
            energy: request.energy,
            densities,
            running: Running::Table(Arc::new(coupling)),
            scale: request.scale,
        };
        let switches = Switches::from_env()?;
        let (mut bridges, mut elements) = (Vec::new(), Vec::new());
        let (mut described, mut completers) = (Vec::new(), Vec::new());
        let asked = request.windows.iter().zip(rules).zip(&request.mirrored);
        for (process, ((windows, rules), &mirrored)) in processes.into_iter().zip(asked) {
            let card = process.model.default_card();
            let one = describe::describe(std::slice::from_ref(&process), &[mirrored], "", "")?;
            let bridge = Bridge::new(process.clone(), &card, &switches, 1)?;
            let masses = bridge.masses();
            completers.push(Completer::new(&one, &masses, request.widths));
            described.push(one);
            elements.push(Element {
                process,
                masses,
                mirrored,
                windows: windows.clone(),
                rules,
            });
            bridges.push(bridge);
        }
        let integrand = integrand(&elements, &common)?;
        let evaluators = (0..request.threads.max(1)).map(|_| Elements::new(&mut bridges, false));
        Ok(EventGenerator {
            integrand,
            evaluators: evaluators.collect::<Result<_>>()?,
            chooser: Elements::new(&mut bridges, true)?,
            completers,
            described,
            surveyed: None,
        })
    }

    /// Of each source the numbers of its matrix elements.
    pub fn sources(&self) -> impl Iterator<Item = &[usize]> {
        let groups = &self.integrand.groups;
        let of = self.integrand.sources.iter();
        of.map(|source| &groups[source.group].elements[..])
    }

    /// Surveys, and leaves out sources that others can stand for.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or no point counts.
    pub fn survey(&mut self, settings: Settings) -> Result<&Survey, Failure> {
        let found = survey(&mut self.integrand, &settings, &mut self.evaluators)?;
        Ok(&self.surveyed.insert((found, settings)).0)
    }

    /// The events of a round.
    ///
    /// # Errors
    /// There was no survey, or a matrix element cannot be evaluated.
    pub fn round(&mut self, number: u16, events: u64) -> Result<Records, Failure> {
        let (survey, settings) =
            (self.surveyed.as_ref()).ok_or_else(|| wrong("a round needs a survey"))?;
        let made = round(
            &self.integrand,
            survey,
            settings,
            number,
            events,
            &mut self.evaluators,
        )?;
        // No point and no source has these numbers.
        let philox = Philox {
            seed: settings.seed,
            round: number,
            channel: u32::MAX - 1,
        };
        let numbers =
            (0..made.events.len() as u64).map(|event| [0, 1, 2].map(|of| philox.number(event, of)));
        let numbers: Vec<[f64; 3]> = numbers.collect();
        let choices = self.chooser.choose(&made.events, &numbers)?;
        let particles = self.completers.iter().map(Completer::particles).max();
        let particles = particles.unwrap_or(0);
        let mut bytes = Vec::new();
        for (event, choice) in made.events.iter().zip(choices) {
            let element = event.element as usize;
            let source = &self.integrand.sources[event.source as usize];
            let partons = &self.integrand.groups[source.group].partons[event.partons as usize];
            let options = self.described[element].flavors[0].options.iter();
            let own: Vec<&Vec<i32>> = options
                .filter(|codes| codes[..2] == partons.codes)
                .collect();
            let codes = own[((event.process * own.len() as f64) as usize).min(own.len() - 1)];
            let Choice {
                helicity,
                color,
                diagram,
            } = choice;
            let choice = [helicity, color, diagram].map(|number| number as usize);
            let number = element as i32 + 1;
            self.completers[element].write(event, number, codes, choice, particles, &mut bytes);
        }
        Ok(Records {
            bytes,
            particles,
            round: made,
        })
    }
}
