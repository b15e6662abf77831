//! An event generator: matrix elements and what is asked of their events into a survey and rounds of records.

use crate::bridge::Bridge;
use crate::describe::{self, Subprocess};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::records::{Completer, Resonances};
use crate::runtime::Switches;
use crate::sampling::{Choice, Common, Element, Elements, integrand};
use mebridge_densities::{Coupling, Densities};
use mebridge_phasespace::cuts::{Rule, Window};
use mebridge_phasespace::scales::Scale;
use mebridge_sampler::flow::Flow;
use mebridge_sampler::integrand::{BeamDensities, Failure, Integrand, Running, Selection};
use mebridge_sampler::networks::{try_flows, weigh_given};
use mebridge_sampler::random::Philox;
use mebridge_sampler::rounds::{Round, round};
use mebridge_sampler::survey::{Known, Settings, Survey, survey};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    /// Of each matrix element.
    pub elements: Vec<ElementRequest>,
    /// Threads.
    pub threads: usize,
    /// Lines are on their mass shells up to so many widths.
    pub widths: f64,
    /// The electromagnetic coupling of the records.
    #[serde(default)]
    pub alpha_qed: f64,
    /// PDG codes, without signs, of particles of decay chains.
    #[serde(default)]
    pub forced: Vec<i32>,
    /// PDG codes of particles that are nowhere on their mass shells.
    #[serde(default)]
    pub excluded: Vec<i32>,
}

/// What is asked of the events of one matrix element.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElementRequest {
    /// Whether it stands for the process with exchanged beams, too.
    pub mirrored: bool,
    /// Its cuts.
    pub windows: Vec<Window>,
    /// Those that are no windows.
    pub rules: Vec<Rule>,
    /// Of each channel, PDG codes of its lines, where they are others than those that follow from the process.
    pub propagators: Vec<Vec<i32>>,
}

/// Makes events of some matrix elements.
pub struct EventGenerator {
    /// Of all channels.
    every: Integrand,
    /// Of those that stay after a survey.
    integrand: Integrand,
    evaluators: Vec<Elements>,
    chooser: Elements,
    completers: Vec<Completer>,
    described: Vec<Subprocess>,
    alpha_qed: f64,
    surveyed: Option<Survey>,
}

/// Events as records.
pub struct Records {
    /// As [`mebridge_lhe::push_events`] takes them.
    pub bytes: Vec<u8>,
    /// For how many particles each has room.
    pub particles: usize,
    /// Of each event the scales of renormalisation and of the densities of both beams, GeV.
    pub scales: Vec<[f64; 3]>,
    /// By matrix element how many events there are, and the sums of their weights and of the squares.
    pub elements: BTreeMap<u32, [f64; 3]>,
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
        let (count, given) = (processes.len(), request.elements.len());
        if given != count {
            return Err(wrong(format!(
                "there are {count} matrix elements, and requests for {given}"
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
        for (process, given) in processes.into_iter().zip(&request.elements) {
            let card = process.model.default_card();
            let mirrored = given.mirrored;
            let mut one = describe::describe(std::slice::from_ref(&process), &[mirrored], "", "")?;
            name_lines(&mut one, &given.propagators)?;
            let bridge = Bridge::new(process.clone(), &card, &switches, 1)?;
            let masses = bridge.masses();
            let resonances = Resonances {
                widths: request.widths,
                forced: &request.forced,
                excluded: &request.excluded,
            };
            completers.push(Completer::new(&one, &masses, &resonances));
            described.push(one);
            elements.push(Element {
                process,
                masses,
                mirrored,
                windows: given.windows.clone(),
                rules: given.rules.clone(),
            });
            bridges.push(bridge);
        }
        let integrand = integrand(&elements, &common)?;
        let evaluators = (0..request.threads.max(1)).map(|_| Elements::new(&mut bridges, false));
        Ok(EventGenerator {
            every: integrand.clone(),
            integrand,
            evaluators: evaluators.collect::<Result<_>>()?,
            chooser: Elements::new(&mut bridges, true)?,
            completers,
            described,
            alpha_qed: request.alpha_qed,
            surveyed: None,
        })
    }

    /// Of each source the numbers of its matrix elements.
    pub fn sources(&self) -> impl Iterator<Item = &[usize]> {
        let groups = &self.integrand.groups;
        let of = self.integrand.sources.iter();
        of.map(|source| &groups[source.group].elements[..])
    }

    /// Asks the caller, besides, which points pass.
    pub fn select(&mut self, selection: Arc<dyn Selection>) {
        self.every.selection = Some(selection);
    }

    /// Surveys, and leaves out sources that others can stand for.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or no point counts.
    pub fn survey(&mut self, settings: &Settings) -> Result<&Survey, Failure> {
        self.integrand = self.every.clone();
        let found = survey(&mut self.integrand, settings, &mut self.evaluators)?;
        Ok(self.surveyed.insert(found))
    }

    /// Takes what a survey of the same run found, as [`Survey::to_bytes`] wrote it.
    ///
    /// # Errors
    /// The bytes are damaged, or those of another run.
    pub fn load(&mut self, bytes: &[u8], belongs: &[u8; 32]) -> Result<&Survey, Failure> {
        let found = Survey::from_bytes(bytes, belongs)?;
        let mut integrand = self.every.clone();
        found.apply(&mut integrand)?;
        self.integrand = integrand;
        Ok(self.surveyed.insert(found))
    }

    /// What is known of the sources; nothing before the survey.
    pub fn known(&self) -> &[Known] {
        let survey = self.surveyed.as_ref();
        survey.map_or(&[], |survey| &survey.sources)
    }

    /// Weighs points of a source by the grid that it has since the survey, pb.
    ///
    /// Args: `first` is the number of the first point, a multiple of 8; `numbers` has those of each point, in (0, 1): one for
    /// each dimension of the grid, and one for the partons.
    ///
    /// # Errors
    /// There was no survey, there are no such numbers, or a matrix element cannot be evaluated.
    pub fn weigh(
        &mut self,
        source: usize,
        first: u64,
        numbers: &[f64],
    ) -> Result<Vec<f64>, Failure> {
        let survey = needed(&self.surveyed)?;
        let known = survey.sources.get(source);
        let known = known.ok_or_else(|| wrong(format!("there is no channel {source}")))?;
        let each = known.grid.dimensions() + 1;
        let within = |number: &f64| 0.0 < *number && *number < 1.0;
        if first % 8 != 0 || numbers.len() % each != 0 || !numbers.iter().all(within) {
            let what = format!(
                "a point of channel {source} has {each} numbers between 0 and 1, and the first one is a multiple of 8"
            );
            return Err(wrong(what).into());
        }
        let count = numbers.len() / each;
        // Others, which nobody asked for.
        let mut whole = numbers.to_vec();
        whole.resize(count.next_multiple_of(8) * each, 0.5);
        let evaluators = &mut self.evaluators;
        let mut found = weigh_given(&self.integrand, survey, source, first, &whole, evaluators)?;
        found.truncate(count);
        Ok(found)
    }

    /// Takes those of the flows, one for each source or none, that are better than grids alone.
    ///
    /// # Errors
    /// There was no survey, a flow is that of another source, or a matrix element cannot be evaluated.
    pub fn try_flows(
        &mut self,
        settings: &Settings,
        flows: Vec<Option<Flow>>,
    ) -> Result<&Survey, Failure> {
        let survey = needed(&self.surveyed)?;
        let fits = |(known, flow): (&Known, &Option<Flow>)| {
            let mut flow = flow.iter();
            flow.all(|flow| flow.fits(&known.grid))
        };
        let same = survey.sources.len() == flows.len();
        if !same || !survey.sources.iter().zip(&flows).all(fits) {
            return Err(wrong("there are networks of other channels").into());
        }
        let evaluators = &mut self.evaluators;
        let found = try_flows(&self.integrand, survey, settings, flows, evaluators)?;
        Ok(self.surveyed.insert(found))
    }

    /// The events of a round; those of the same seed and number are the same.
    ///
    /// # Errors
    /// There was no survey, or a matrix element cannot be evaluated.
    pub fn round(&mut self, settings: &Settings, number: u16) -> Result<Records, Failure> {
        let survey = needed(&self.surveyed)?;
        let made = round(
            &self.integrand,
            survey,
            settings,
            number,
            settings.events,
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
        let particles = self.particles();
        let (mut bytes, mut elements) = (Vec::new(), BTreeMap::new());
        for (event, choice) in made.events.iter().zip(choices) {
            let element = event.element as usize;
            let sums: &mut [f64; 3] = elements.entry(event.element).or_default();
            for (sum, one) in sums
                .iter_mut()
                .zip([1.0, event.weight, event.weight.powi(2)])
            {
                *sum += one;
            }
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
            let completer = &self.completers[element];
            let (number, alpha) = (element as i32 + 1, self.alpha_qed);
            completer.write(event, number, codes, choice, alpha, particles, &mut bytes);
        }
        Ok(Records {
            bytes,
            particles,
            scales: made.events.iter().map(|event| event.scales).collect(),
            elements,
            round: made,
        })
    }

    /// For how many particles records have room.
    pub fn particles(&self) -> usize {
        let most = self.completers.iter().map(Completer::particles).max();
        most.unwrap_or(0)
    }
}

fn needed(surveyed: &Option<Survey>) -> Result<&Survey> {
    let what = "it needs a survey: call for one, or load one";
    surveyed.as_ref().ok_or_else(|| wrong(what))
}

/// Gives the lines of channels other PDG codes, where there are some.
fn name_lines(of: &mut Subprocess, codes: &[Vec<i32>]) -> Result<()> {
    if codes.is_empty() {
        return Ok(());
    }
    let lines = of.channels.iter().map(|channel| channel.propagators.len());
    if !lines.eq(codes.iter().map(Vec::len)) {
        return Err(wrong("PDG codes of lines of other channels"));
    }
    for (channel, codes) in of.channels.iter_mut().zip(codes) {
        channel.propagators.clone_from(codes);
    }
    Ok(())
}
