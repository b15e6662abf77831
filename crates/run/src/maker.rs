//! Survey and rounds with the event generator, and the files written for them.

use crate::records::{self, RoundWeights};
use crate::round::{ChannelMean, Measured, POINTS, RoundCounts, RoundResult, SurveyPoints};
use crate::scratch::check_room;
use crate::state::{RECORDS, SURVEY};
use mebridge::event_generator::{EventGenerator, Records, Request};
use mebridge::process::Process;
use mebridge::{Error, Result};
use mebridge_sampler::events::Event;
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds::{CorrectionSums, shares};
use mebridge_sampler::sums::{Estimate, WeightSums};
use mebridge_sampler::survey::{NoEvents, SurveySettings};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The events of a round, for computations on each of them.
pub struct RoundEvents<'a> {
    /// The records of the engine.
    pub records: &'a Records,
    /// Their records as bytes, one after the other, as in the file.
    pub bytes: &'a [u8],
    /// For each event the renormalisation scale and the factorisation scales of both beams, GeV. For the densities of
    /// matched events, the latter are those of the first vertices.
    pub scales: &'a [[f64; 3]],
}

/// Computes numbers for the events of a round, equally many for each.
pub type EventValues<'a> = Box<dyn FnMut(&RoundEvents) -> Result<Vec<f64>> + Send + 'a>;

/// Values written for events besides their records.
#[derive(Default)]
pub struct ExtraValues<'a> {
    /// Further weights, relative to the weight of the event.
    pub ratios: Option<EventValues<'a>>,
    /// Products of both densities f(x), if the scales of events are written.
    pub densities: Option<EventValues<'a>>,
}

impl ExtraValues<'_> {
    fn is_empty(&self) -> bool {
        self.ratios.is_none() && self.densities.is_none()
    }
}

/// Surveys a run and makes its rounds.
pub struct Maker<'a> {
    generator: EventGenerator,
    description: Description,
    further: ExtraValues<'a>,
    loaded: Option<PathBuf>,
}

/// Description of a run, for messages and files.
#[derive(Clone, Debug)]
pub struct Description {
    /// Identity of the run, which does not depend on threads or file names: [`identity`].
    pub identity: [u8; 32],
    /// Names of the matrix elements, by index: [`crate::Element::name`].
    pub names: Vec<String>,
    /// Description of the cuts.
    pub cuts: String,
    /// The further cut of the caller, which the generator has, too.
    pub selection: Option<Arc<CountedSelection>>,
    /// Threads.
    pub threads: usize,
}

/// A hash that identifies a run, so that its survey is not used for another one.
///
/// # Errors
/// A file of densities cannot be read.
pub fn identity(processes: &[Process], request: &Request) -> Result<[u8; 32]> {
    let mut bytes = Vec::new();
    // Files count by their contents, not by their names.
    let mut beams = request.beams()?;
    for beam in &mut beams {
        if let Some(densities) = beam.file_mut() {
            let text = fs::read(&*densities).map_err(Error::io(&*densities))?;
            bytes.extend(mebridge_support::digest(&text));
            densities.clear();
        }
    }
    let same = Request {
        densities: None,
        beams: Some(beams),
        threads: 0,
        backend: None,
        ..request.clone()
    };
    bytes.extend(format!("{same:?}").into_bytes());
    digest(processes, &bytes)
}

/// The BLAKE3 hash of processes (up to a few hundred MB in total) followed by `rest`.
///
/// # Errors
/// A process cannot be serialized.
pub(crate) fn digest<'a>(
    processes: impl IntoIterator<Item = &'a Process>,
    rest: &[u8],
) -> Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    for process in processes {
        hasher.update(&process.to_bytes()?);
    }
    Ok(*hasher.update(rest).finalize().as_bytes())
}

/// A further cut that counts the events it is called with, and those it keeps.
#[derive(Debug)]
pub struct CountedSelection {
    selection: Arc<dyn Selection>,
    name: String,
    given: AtomicU64,
    kept: AtomicU64,
}

impl CountedSelection {
    /// Wraps a cut of this name.
    pub fn new(selection: Arc<dyn Selection>, name: impl Into<String>) -> Self {
        CountedSelection {
            selection,
            name: name.into(),
            given: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }
    }

    /// Returns the counts since the last call.
    fn take(&self) -> [u64; 2] {
        [&self.given, &self.kept].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

impl Selection for CountedSelection {
    fn select(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        self.selection.select(element, legs, momenta, passes)?;
        let kept = passes.iter().filter(|passes| **passes).count();
        self.given.fetch_add(passes.len() as u64, Ordering::Relaxed);
        self.kept.fetch_add(kept as u64, Ordering::Relaxed);
        Ok(())
    }

    fn is_biased(&self) -> bool {
        self.selection.is_biased()
    }

    fn bias(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        biases: &mut [f64],
    ) -> Result<(), Failure> {
        self.selection.bias(element, legs, momenta, biases)
    }
}

impl<'a> Maker<'a> {
    /// A maker that uses this generator.
    pub fn new(
        generator: EventGenerator,
        mut description: Description,
        further: ExtraValues<'a>,
    ) -> Self {
        // Points of a survey at leading colour are not those of rounds with the full sum, to which another machine may
        // come by itself.
        if !generator.approximated().is_empty() {
            let mut hasher = blake3::Hasher::new_keyed(&description.identity);
            for &number in generator.approximated() {
                hasher.update(&(number as u64).to_le_bytes());
            }
            description.identity = *hasher.finalize().as_bytes();
        }
        Maker {
            generator,
            description,
            further,
            loaded: None,
        }
    }

    /// The event generator.
    pub fn generator(&mut self) -> &mut EventGenerator {
        // The caller may load another survey.
        self.loaded = None;
        &mut self.generator
    }

    /// The identity of the run.
    pub fn identity(&self) -> &[u8; 32] {
        &self.description.identity
    }

    /// Counts of the further cut since the last call.
    fn selected(&self) -> [u64; 2] {
        let selection = self.description.selection.as_ref();
        selection.map_or([0; 2], |selection| selection.take())
    }

    /// Surveys the run and writes the result to a folder.
    ///
    /// # Errors
    /// Nothing passes the cuts, a matrix element cannot be evaluated, or a file cannot be written.
    pub fn survey(
        &mut self,
        folder: &Path,
        settings: &SurveySettings,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        self.selected();
        self.loaded = None;
        let found = self.generator.survey(settings).map(|_| ());
        let by_threads = self.generator.by_threads().map(|why| {
            let threads = self.description.threads;
            format!("GPUs weigh no points with {why}: {threads} threads of the CPU do")
        });
        notices.extend(by_threads);
        found.map_err(|failure| self.without_events(failure))?;
        let points = self.write_survey(folder)?;
        notices.extend(self.empty_elements(&points));
        Ok(())
    }

    /// Writes the survey to a folder.
    ///
    /// # Errors
    /// There is no survey, or a file cannot be written.
    pub fn write_survey(&self, folder: &Path) -> Result<SurveyPoints> {
        let survey = self.generator.surveyed()?;
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.join(name);
            fs::write(&file, bytes).map_err(Error::io(file))
        };
        write(SURVEY, &survey.to_bytes(&self.description.identity))?;
        let points = SurveyPoints {
            points: survey.points,
            elements: self.generator.sources().map(<[usize]>::to_vec).collect(),
            shares: shares(survey),
            measured: survey
                .sources
                .iter()
                .map(|one| measured(&one.sums))
                .collect(),
            biased: biased(survey.sources.iter().map(|one| &one.sums)),
        };
        write(POINTS, &postcard::to_stdvec(&points).expect("numbers"))?;
        Ok(points)
    }

    /// The error for a survey without events.
    fn without_events(&self, failure: Failure) -> Error {
        let cuts = &self.description.cuts;
        let (what, cure) = match failure.downcast_ref::<NoEvents>() {
            Some(NoEvents::NonePasses(points)) => (
                format!("none of {points} points passes the cuts ({cuts})"),
                "do they leave anything?",
            ),
            Some(NoEvents::AllZero) => match (&self.description.selection, self.selected()) {
                (Some(selection), [given, 0]) => {
                    let name = &selection.name;
                    let what = format!(
                        "none of {given} points passes the cuts of the run, among which is {name}"
                    );
                    (what, "")
                }
                _ => (
                    "each point of the survey has the weight 0".to_owned(),
                    "are densities 0 for what comes in, or couplings of the process, does |M|^2 vanish identically, or \
                     does a function in Fortran cut all points?",
                ),
            },
            _ => return failed(failure),
        };
        Error::run(what, cure)
    }

    /// Notices for matrix elements without events, except for those that vanish identically.
    fn empty_elements(&self, points: &SurveyPoints) -> Vec<String> {
        let names = self.description.names.iter().enumerate();
        let empty = names.filter(|(number, _)| {
            let there = points.elements.iter().any(|of| of.contains(number));
            !there && !self.generator.vanishing().contains(number)
        });
        let cuts = &self.description.cuts;
        let notice =
            |(_, name)| format!("no point of {name} passes the cuts ({cuts}): it counts as 0");
        empty.map(notice).collect()
    }

    /// Loads the survey in a folder, unless it is already loaded.
    ///
    /// # Errors
    /// The survey is not of this run, or cannot be read.
    pub fn load(&mut self, folder: &Path) -> Result<()> {
        if self.loaded.as_deref() == Some(folder) {
            return Ok(());
        }
        let file = folder.join(SURVEY);
        let bytes = fs::read(&file).map_err(Error::io(&file))?;
        let loaded = self.generator.load(&bytes, &self.description.identity);
        loaded.map_err(failed)?;
        self.loaded = Some(folder.to_owned());
        Ok(())
    }

    /// Makes events and writes them to files of a folder.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or a file cannot be written.
    pub fn round(&mut self, folder: &Path, settings: &SurveySettings) -> Result<RoundResult> {
        let output = folder.join(RECORDS);
        check_room(folder, settings.events)?;
        self.selected();
        let made = self.generator.round(settings, 0).map_err(failed)?;
        let count = made.round.events.len();
        records::begin(&output, count, made.particles)?;
        self.write_matched(&output, &made)?;
        match self.further.is_empty() {
            true => self.generator.append(&made, &output)?,
            false => {
                let bytes = self.generator.bytes(&made);
                records::append(&output, &bytes, self.description.threads)?;
                self.weigh(&output, &made, &bytes)?;
            }
        }
        let weights = made.weights();
        let counted = biased(&made.round.sums);
        let weights = match counted.is_empty() {
            true => RoundWeights::read(&output, &weights)?,
            false => {
                RoundWeights::from_biased(&output, &weights, &made.biased_weights(), made.unit)?
            }
        };
        let of_sources = made.round.events.of_sources(made.round.sums.len());
        let channels = made
            .round
            .sums
            .iter()
            .zip(&made.round.drawn)
            .zip(of_sources);
        let corrections = &made.round.corrections;
        let of_all = CorrectionSums::total(corrections);
        let ratio = |number| CorrectionSums::total(corrections.get(number)).mean_among(&of_all);
        Ok(RoundResult {
            weights,
            channels: channels
                .enumerate()
                .map(|(number, ((sums, &drawn), events))| {
                    let Estimate { mean, error } = sums.unbiased_mean().times(ratio(number));
                    let passed = sums.passed();
                    ChannelMean {
                        drawn,
                        mean,
                        error,
                        passed,
                        events,
                    }
                })
                .collect(),
            counted: RoundCounts {
                events: settings.events,
                measured: made.round.sums.iter().map(measured).collect(),
                biased: counted,
                corrections: made.round.corrections,
                drawn: made.elements,
            },
            cut: self.selected(),
        })
    }

    /// Writes the results of matching, if events are reweighted by it.
    fn write_matched(&self, output: &Path, made: &Records) -> Result<()> {
        let matched = self.generator.matched(made);
        if matched.is_empty() {
            return Ok(());
        }
        let row = matched.len() / made.round.events.len();
        let legs = (2..).find(|&legs| records::MatchingRecord::bytes(legs) >= row);
        let legs = legs.expect("there is no end of numbers");
        records::write_matched(&records::matched(output), &matched, legs)
    }

    /// Writes the further weights of events, or the values that these are computed from.
    fn weigh(&mut self, output: &Path, made: &Records, bytes: &[u8]) -> Result<()> {
        let ExtraValues { ratios, densities } = &mut self.further;
        let threads = self.description.threads;
        let events = &made.round.events;
        let scales = events.map(|event| event.scales);
        let of = RoundEvents {
            records: made,
            bytes,
            scales: &scales,
        };
        if let Some(ratios) = ratios {
            let found = ratios(&of)?;
            let columns = found.len().checked_div(events.len()).unwrap_or(0);
            records::write_doubles(&records::ratios(output), &found, columns, threads)?;
        }
        if let Some(densities) = densities {
            let first = events.map(first_scales);
            let factors = densities(&RoundEvents {
                scales: &first,
                ..of
            })?;
            let weights = events.map(|event| event.matched.as_ref().map_or(1.0, |of| of.weight));
            let rows = scales.iter().zip(weights).zip(factors);
            let rows = rows.flat_map(|((&[a, b, c], weight), factor)| [a, b, c, weight * factor]);
            let rows: Vec<f64> = rows.collect();
            records::write_doubles(&records::scales(output), &rows, 4, threads)?;
        }
        Ok(())
    }
}

/// The renormalisation scale and the factorisation scales; for matched events the latter are those of the first
/// vertices.
fn first_scales(event: &Event) -> [f64; 3] {
    let Some(matched) = &event.matched else {
        return event.scales;
    };
    let first = |of: &Vec<(i32, f64, f64)>| of.first().map_or(0.0, |&(.., scale)| scale);
    let [one, other] = matched.densities.each_ref().map(first);
    [event.scales[0], one, other]
}

/// Returns the mean without a bias, which counts for the cross section.
fn measured(sums: &WeightSums) -> Measured {
    let mean = sums.unbiased_mean();
    (sums.points(), mean.mean, mean.error)
}

/// Returns the mean absolute weight including the bias for each channel; nothing without a bias.
fn biased<'a>(sums: impl IntoIterator<Item = &'a WeightSums>) -> Vec<Measured> {
    let mut found = Vec::new();
    let mut are_biased = false;
    for sums in sums {
        are_biased |= sums.is_biased();
        let mean = sums.mean_size();
        found.push((sums.points(), mean.mean, mean.error));
    }
    if !are_biased {
        found.clear();
    }
    found
}

/// Converts an error of the engine.
pub(crate) fn failed(failure: Failure) -> Error {
    match failure.downcast::<Error>() {
        Ok(error) => *error,
        Err(failure) => Error::run(failure.to_string(), ""),
    }
}
