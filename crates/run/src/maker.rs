//! What surveys a run and makes its rounds, and the files that these leave in their folders.

use crate::rounds::{Channel, Counted, Measured, POINTS, Points, RoundFound, RoundWeights};
use crate::scratch::check_room;
use crate::state::{BESIDE, RECORDS, SURVEY, refused};
use mebridge::event_generator::{BeamRequest, EventGenerator, Records, Request};
use mebridge::process::Process;
use mebridge::{Error, Result};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds::shares;
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{Nothing, Settings};
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events of a round, for what is computed of each.
pub struct RoundEvents<'a> {
    /// As the engine has them.
    pub records: &'a Records,
    /// Their records, one after the other, as in the file.
    pub bytes: &'a [u8],
    /// Of each event those of renormalisation and of both densities, GeV; for densities of matched events those of the first
    /// vertices.
    pub scales: &'a [[f64; 3]],
}

/// Computes numbers of the events of a round, as many of each.
pub type OfEvents<'a> = Box<dyn FnMut(&RoundEvents) -> Result<Vec<f64>> + 'a>;

/// What is written of events besides their records.
#[derive(Default)]
pub struct Further<'a> {
    /// Further weights, in units of their weight.
    pub ratios: Option<OfEvents<'a>>,
    /// Products of both densities f(x), where the scales of events are kept for the file of events.
    pub densities: Option<OfEvents<'a>>,
}

/// Surveys a run and makes its rounds.
pub struct Maker<'a> {
    generator: EventGenerator,
    description: Description,
    further: Further<'a>,
    loaded: Option<PathBuf>,
}

/// What a run is, for messages and files.
#[derive(Clone, Debug)]
pub struct Description {
    /// Which run it is, whatever its threads and the names of its files are: [`identity`].
    pub identity: [u8; 32],
    /// Names of the matrix elements, by their numbers: [`crate::Element::name`].
    pub names: Vec<String>,
    /// The cuts.
    pub cuts: String,
    /// The further cut of the caller, which the generator has as well.
    pub selection: Option<Arc<CountedSelection>>,
    /// Threads.
    pub threads: usize,
}

/// Which run it is: that of a survey is not taken for another one.
///
/// # Errors
/// A file of densities cannot be read.
pub fn identity(processes: &[Process], request: &Request) -> Result<[u8; 32]> {
    let mut bytes = Vec::new();
    for process in processes {
        bytes.extend(process.to_bytes()?);
    }
    // Of files what they hold counts, and not their names.
    let mut beams = request.beams()?;
    for beam in &mut beams {
        if let BeamRequest::Hadron { densities, .. } = beam {
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
    Ok(mebridge_support::digest(&bytes))
}

/// A further cut that counts the events that it is given, and those that it keeps.
#[derive(Debug)]
pub struct CountedSelection {
    selection: Arc<dyn Selection>,
    name: String,
    given: AtomicU64,
    kept: AtomicU64,
}

impl CountedSelection {
    /// Of a cut with this name.
    pub fn new(selection: Arc<dyn Selection>, name: impl Into<String>) -> Self {
        CountedSelection {
            selection,
            name: name.into(),
            given: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }
    }

    /// What it counted since it was called last.
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
}

impl<'a> Maker<'a> {
    /// By this generator.
    pub fn new(generator: EventGenerator, description: Description, further: Further<'a>) -> Self {
        Maker {
            generator,
            description,
            further,
            loaded: None,
        }
    }

    /// What a selection counted since the last call.
    fn selected(&self) -> [u64; 2] {
        let selection = self.description.selection.as_ref();
        selection.map_or([0; 2], |selection| selection.take())
    }

    /// Surveys the whole run, and writes what is found into a folder.
    ///
    /// # Errors
    /// Nothing passes the cuts, a matrix element cannot be evaluated, or a file cannot be written.
    pub fn survey(
        &mut self,
        folder: &Path,
        settings: &Settings,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        self.selected();
        let found = self.generator.survey(settings).map(|_| ());
        let by_threads = self.generator.by_threads().map(|why| {
            let threads = self.description.threads;
            format!("GPUs weigh no points with {why}: {threads} threads of the CPU do")
        });
        notices.extend(by_threads);
        found.map_err(|failure| self.without_events(failure))?;
        let survey = self.generator.surveyed()?;
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.join(name);
            fs::write(&file, bytes).map_err(Error::io(file))
        };
        write(SURVEY, &survey.to_bytes(&self.description.identity))?;
        let points = Points {
            points: survey.points,
            elements: self.generator.sources().map(<[usize]>::to_vec).collect(),
            shares: shares(survey),
            measured: survey
                .sources
                .iter()
                .map(|one| measured(&one.sums))
                .collect(),
        };
        write(POINTS, &postcard::to_stdvec(&points).expect("numbers"))?;
        notices.extend(self.empty_elements(&points));
        Ok(())
    }

    /// Why there are no events.
    fn without_events(&self, failure: Failure) -> Error {
        let cuts = &self.description.cuts;
        let (what, cure) = match failure.downcast_ref::<Nothing>() {
            Some(Nothing::Passes(points)) => (
                format!("none of {points} points passes the cuts ({cuts})"),
                "do they leave anything?",
            ),
            Some(Nothing::Weighs) => match (&self.description.selection, self.selected()) {
                (Some(selection), [given, 0]) => {
                    let name = &selection.name;
                    let what = format!(
                        "none of {given} points passes the cuts of the run, among which is {name}"
                    );
                    (what, "")
                }
                _ => (
                    "each point of the survey has the weight 0".to_owned(),
                    "are densities 0 for what comes in, or couplings of the process, or does |M|^2 vanish identically?",
                ),
            },
            _ => return failed(failure),
        };
        refused(what, cure)
    }

    /// Says which matrix elements have no events, besides those that vanish identically.
    fn empty_elements(&self, points: &Points) -> Vec<String> {
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

    /// Takes what a survey wrote into a folder, unless it has it.
    ///
    /// # Errors
    /// It is not one of this run, or cannot be read.
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

    /// Makes events, in files of a folder.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or a file cannot be written.
    pub fn round(&mut self, folder: &Path, settings: &Settings) -> Result<RoundFound> {
        let output = folder.join(RECORDS);
        check_room(folder, settings.events)?;
        self.selected();
        let made = self.generator.round(settings, 0).map_err(failed)?;
        let head = npy_head(&record_layout(made.particles), &[settings.events]);
        fs::write(&output, &head).map_err(Error::io(&output))?;
        self.generator.append(&made, &output)?;
        let matched = self.generator.matched(&made);
        if !matched.is_empty() {
            let layout = matched_layout(matched.len() / made.round.events.len());
            let file = output.with_extension(BESIDE[2]);
            write_npy(&file, &layout, &[settings.events], |to| {
                to.write_all(&matched)
            })?;
        }
        drop(matched);
        self.weigh(&output, &made)?;
        let whole = || {
            let (file, events) = (output.display(), settings.events);
            let what = format!("{file} does not hold the {events} events that were made");
            refused(what, "is the disk full?")
        };
        let size = mebridge::lhe::record_bytes(made.particles).expect("records that were made");
        let weights = weights(&output, head.len(), size).map_err(Error::io(&output))?;
        if weights.len() as u64 != settings.events {
            return Err(whole());
        }
        let of_sources = made.round.events.of_sources(made.round.sums.len());
        let channels = made
            .round
            .sums
            .iter()
            .zip(&made.round.drawn)
            .zip(of_sources);
        Ok(RoundFound {
            weights: RoundWeights::of(&weights).ok_or_else(whole)?,
            channels: channels
                .map(|((sums, &drawn), events)| {
                    let (_, mean, error) = measured(sums);
                    let passed = sums.passed();
                    Channel {
                        drawn,
                        mean,
                        error,
                        passed,
                        events,
                    }
                })
                .collect(),
            counted: Counted {
                events: settings.events,
                measured: made.round.sums.iter().map(measured).collect(),
                drawn: made.elements,
            },
            cut: self.selected(),
        })
    }

    /// Writes further weights of events, or what these need.
    fn weigh(&mut self, output: &Path, made: &Records) -> Result<()> {
        let Further { ratios, densities } = &mut self.further;
        if ratios.is_none() && densities.is_none() {
            return Ok(());
        }
        let bytes = self.generator.bytes(made);
        let events = || made.round.events.iter();
        let count = events().count() as u64;
        let scales: Vec<[f64; 3]> = events().map(|event| event.scales).collect();
        let of = RoundEvents {
            records: made,
            bytes: &bytes,
            scales: &scales,
        };
        let doubles = |name: &str, columns: u64, numbers: &mut dyn Iterator<Item = f64>| {
            let file = output.with_extension(name);
            write_npy(&file, "'<f8'", &[count, columns], |to| {
                for number in numbers {
                    to.write_all(&number.to_le_bytes())?;
                }
                Ok(())
            })
        };
        if let Some(ratios) = ratios {
            let found = ratios(&of)?;
            doubles(
                BESIDE[0],
                found.len() as u64 / count,
                &mut found.into_iter(),
            )?;
        }
        if let Some(densities) = densities {
            let first: Vec<[f64; 3]> = events()
                .map(|event| match &event.matched {
                    None => event.scales,
                    Some(matched) => {
                        let [one, other] = matched
                            .densities
                            .each_ref()
                            .map(|of| of.first().map_or(0.0, |of| of.2));
                        [event.scales[0], one, other]
                    }
                })
                .collect();
            let factors = densities(&RoundEvents {
                scales: &first,
                ..of
            })?;
            let mut rows = events().zip(factors).flat_map(|(event, factor)| {
                let weight = event.matched.as_ref().map_or(1.0, |of| of.weight);
                let [a, b, c] = event.scales;
                [a, b, c, weight * factor]
            });
            doubles(BESIDE[1], 4, &mut rows)?;
        }
        Ok(())
    }
}

fn measured(sums: &WeightSums) -> Measured {
    let mean = sums.mean();
    (sums.points(), mean.mean, mean.error)
}

/// An error of the engine.
pub(crate) fn failed(failure: Failure) -> Error {
    match failure.downcast::<Error>() {
        Ok(error) => *error,
        Err(failure) => refused(failure.to_string(), ""),
    }
}

/// Weights of the records of a file, which begin after its head.
fn weights(file: &Path, head: usize, size: usize) -> std::io::Result<Vec<f64>> {
    let mut file = File::open(file)?;
    let count = (file.metadata()?.len() as usize).saturating_sub(head) / size;
    std::io::copy(&mut (&mut file).take(head as u64), &mut std::io::sink())?;
    let (mut found, mut records) = (Vec::with_capacity(count), vec![0; AT_ONCE * size]);
    while found.len() < count {
        let some = &mut records[..AT_ONCE.min(count - found.len()) * size];
        file.read_exact(some)?;
        // After the number of the process.
        let weight = |record: &[u8]| record[4..12].try_into().map(f64::from_le_bytes);
        found.extend(
            some.chunks(size)
                .map(|record| weight(record).expect("eight bytes")),
        );
    }
    Ok(found)
}

/// Records that are read at once.
const AT_ONCE: usize = 4096;

/// The type of a record with room for this many particles, in the fields of the Les Houches Accord (hep-ph/0109068), as
/// NumPy writes it.
fn record_layout(particles: usize) -> String {
    const HEAD: [(&str, &str); 5] = [
        ("process_id", "<i4"),
        ("weight", "<f8"),
        ("scale", "<f8"),
        ("alpha_qed", "<f8"),
        ("alpha_qcd", "<f8"),
    ];
    const WHOLE: [&str; 6] = [
        "pdg_id",
        "status_code",
        "mother1",
        "mother2",
        "color",
        "anti_color",
    ];
    const REAL: [&str; 7] = ["px", "py", "pz", "energy", "mass", "lifetime", "spin"];
    let fields = HEAD
        .iter()
        .map(|(name, kind)| format!("('{name}', '{kind}')"));
    let of_particles = (1..=particles).flat_map(|number| {
        let kinds = WHOLE.iter().map(|name| (name, "<i4"));
        let kinds = kinds.chain(REAL.iter().map(|name| (name, "<f8")));
        kinds.map(move |(name, kind)| format!("('part{number}_{name}', '{kind}')"))
    });
    let fields: Vec<String> = fields.chain(of_particles).collect();
    format!("[{}]", fields.join(", "))
}

/// The type of what matching found of an event, which has this many bytes, as
/// [`push_record`](mebridge_phasespace::clustering::Matched::push_record) writes it.
fn matched_layout(size: usize) -> String {
    let inner = |legs: usize| legs.max(3) - 2;
    let bytes = |legs: usize| 16 + (3 * 8 + 12) * inner(legs) + 2 * (4 + 16) * legs;
    let legs = (2..).find(|&legs| bytes(legs) >= size);
    let legs = legs
        .filter(|&legs| bytes(legs) == size)
        .expect("a record of some legs");
    let inner = inner(legs);
    format!(
        "[('weight', '<f8'), ('start', '<f8'), ('pt', '<f8', ({inner},)), ('steps', '<f8', ({inner},)), \
         ('legs', '<i4', ({inner}, 3)), ('emissions', '<f8', ({inner},)), ('pdg', '<i4', (2, {legs})), \
         ('x', '<f8', (2, {legs})), ('q', '<f8', (2, {legs}))]"
    )
}

/// The head of a NumPy file, version 2.0, of an array of this type.
fn npy_head(kind: &str, shape: &[u64]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if shape.len() > 1 {
        sizes.trim_end_matches(", ")
    } else {
        sizes.trim_end()
    };
    let mut text = format!("{{'descr': {kind}, 'fortran_order': False, 'shape': ({sizes}), }}");
    const BEFORE: usize = 12;
    let whole = (BEFORE + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', whole - BEFORE - text.len() - 1));
    text.push('\n');
    let length = u32::try_from(text.len()).expect("a short head");
    [
        &b"\x93NUMPY\x02\x00"[..],
        &length.to_le_bytes(),
        text.as_bytes(),
    ]
    .concat()
}

fn write_npy(
    file: &Path,
    kind: &str,
    shape: &[u64],
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let written = || {
        let mut to = BufWriter::new(File::create(file)?);
        to.write_all(&npy_head(kind, shape))?;
        write(&mut to)?;
        to.flush()
    };
    written().map_err(Error::io(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_phasespace::clustering::Matched;

    #[test]
    fn what_matching_found_has_its_layout() {
        for legs in 2..12 {
            let mut bytes = Vec::new();
            Matched::default().push_record(legs, &mut bytes);
            let layout = matched_layout(bytes.len());
            let (pt, pdg) = (
                format!("('pt', '<f8', ({},))", legs.max(3) - 2),
                format!("('pdg', '<i4', (2, {legs}))"),
            );
            assert!(layout.contains(&pt) && layout.contains(&pdg), "{layout}");
        }
    }

    #[test]
    fn heads_are_those_of_numpy() {
        let head = npy_head(&record_layout(1), &[17]);
        let length = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        assert_eq!((head.len() % 64, head.len()), (0, length as usize + 12));
        let text = str::from_utf8(&head[12..]).expect("text");
        let begin = "{'descr': [('process_id', '<i4'), ('weight', '<f8'), ('scale', '<f8'), ('alpha_qed', '<f8'), \
                     ('alpha_qcd', '<f8'), ('part1_pdg_id', '<i4'), ";
        let end = "('part1_spin', '<f8')], 'fortran_order': False, 'shape': (17,), }";
        assert!(text.starts_with(begin), "{text}");
        assert!(
            text.trim_end().ends_with(end) && text.ends_with('\n'),
            "{text}"
        );
    }
}
