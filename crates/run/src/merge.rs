//! Merges event files into one, with their cross sections and weights.
//!
//! Files of one process have the same cross section: the result is the average of theirs, weighted by their numbers of
//! events, and most events get the same weight. Cross sections of different processes are added: the events of each
//! process are weighted by the ratio of its share of the cross section to its share of the events.

mod head;
mod input_file;

use crate::banner::Norm;
use crate::replaced;
use crate::summary::Measured;
use crate::text::without_number;
use flate2::Compression;
use flate2::write::GzEncoder;
use input_file::InputFile;
pub use input_file::Open;
use mebridge::lhe::{Event, Reader};
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes written at a time.
const BUFFER: usize = 1 << 20;
/// Cross sections of one process may differ by this many standard errors, or by this share if that is more.
const ERRORS: f64 = 5.0;
const SHARE: f64 = 0.05;

/// Results of merging.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Number of events.
    pub events: u64,
    /// LPRUP of each process, and its cross section and error, pb.
    pub processes: Vec<(i32, Measured)>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

impl Merged {
    /// The total cross section and its error, pb.
    pub fn cross_section(&self) -> Measured {
        let of = self.processes.iter();
        of.fold((0.0, 0.0), |(sum, error), (_, (one, its))| {
            (sum + one, f64::hypot(error, *its))
        })
    }
}

/// Merges files into one, compressed if its name ends in `.gz`. The output is either written completely or not at all.
///
/// # Errors
/// A file cannot be read, is cut off, or does not fit the others; the message names the difference. The output cannot
/// be written.
pub fn merge(files: &[PathBuf], output: &Path, open: Open) -> Result<Merged> {
    if files.len() < 2 {
        let what = "there is one file alone".to_owned();
        return Err(Error::run_at("merge", what, "name two files at least"));
    }
    let target = replaced::target(output, files.iter().map(PathBuf::as_path))?;
    let mut groups = JoinedGroups::default();
    for file in files {
        let is_pipe = |seen: std::fs::Metadata| !seen.is_file() && !seen.is_dir();
        if file.metadata().is_ok_and(is_pipe) {
            let what = "it is a pipe or a device, and files are read twice";
            return Err(Error::run_at(
                file.display().to_string(),
                what,
                "save what it gives in a file",
            ));
        }
        groups.add(InputFile::read(file, open)?)?;
    }
    let joined = groups.joined()?;
    let text = joined.head()?;
    joined.write(&target, &text, open)?;
    Ok(Merged {
        events: joined.events(),
        processes: joined.processes,
        notices: joined.notices,
    })
}

/// Appends the events of `added` to the `events` events of `before`, a file of the same run, and replaces `before` by
/// the result. `added` has the header and the weights for both together.
///
/// # Errors
/// A file cannot be read or written, has another number of events, or events with other weights.
pub fn append(before: &Path, events: u64, added: &Path, open: Open) -> Result<()> {
    let parts = [
        InputFile::read(before, open)?,
        InputFile::read(added, open)?,
    ];
    let [old, new] = &parts;
    if old.events != events {
        let what = format!(
            "{} holds {} events, and the run made {events}",
            before.display(),
            old.events
        );
        return Err(Error::run(what, "begin another run, with another name"));
    }
    old.fits(new)?;
    let text = [new.head.as_slice(), b"\n"].concat();
    let factors = match (old.unit, new.unit) {
        (Some(before), Some(unit)) => vec![unit / before, 1.0],
        _ => to_one_weight([old, new].into_iter(), new.average()),
    };
    // In this normalisation the weights of `added` are already divided by the number of all events.
    let share = match new.normalization {
        Norm::Sum => old.events as f64 / new.events as f64,
        Norm::Average | Norm::Unity => 1.0,
    };
    let parts = vec![
        JoinedPart::new(before, factors[0] * share),
        JoinedPart::new(added, factors[1]),
    ];
    write(before, &text, vec![parts], &[1.0], open)
}

/// Factors for the files after which most events of all files have the same weight, and the average absolute weight is
/// `mean`. Weights whose sum is the cross section are first multiplied by the number of events of their file.
fn to_one_weight<'a>(files: impl Iterator<Item = &'a InputFile> + Clone, mean: f64) -> Vec<f64> {
    let all: f64 = files.clone().map(|file| file.events as f64).sum();
    let shares = files
        .clone()
        .map(|file| file.events as f64 * file.average() / file.usual());
    let one = mean * all / shares.sum::<f64>();
    files.map(|file| one / file.usual()).collect()
}

/// Files grouped by process, or by processes that were generated together.
#[derive(Default)]
struct JoinedGroups {
    all: Vec<Vec<InputFile>>,
    /// Files by their first events, and by process and seed.
    first: HashMap<Vec<u8>, PathBuf>,
    seeds: HashMap<(String, u64), PathBuf>,
}

impl JoinedGroups {
    /// Adds a file if it fits the others.
    fn add(&mut self, mut file: InputFile) -> Result<()> {
        if let Some(first) = self.all.first() {
            first[0].fits(&file)?;
        }
        self.differs(&file)?;
        let mut groups = self.all.iter_mut();
        match groups.find(|group| group[0].is_of_process_of(&file)) {
            Some(group) => {
                group[0].has_cards_of(&file)?;
                // With very different weights, means fluctuate beyond their estimated errors.
                if !file.is_biased {
                    agree(&group[0], &file)?;
                }
                file.forget_cards();
                group.push(file);
            }
            None => {
                let mut firsts = self.all.iter().map(|group| &group[0]);
                if let Some(other) = firsts.find(|other| other.shares_processes_with(&file)) {
                    let what = format!(
                        "it holds events of a process of {}, and one of both holds others besides",
                        other.path.display()
                    );
                    return Err(file.refusal(&what, "merge the files of each process first"));
                }
                self.all.push(vec![file]);
            }
        }
        Ok(())
    }

    /// Checks that a file does not contain the same events as another one.
    fn differs(&mut self, file: &InputFile) -> Result<()> {
        let path = file.path.clone();
        if let Some(other) = self.first.insert(file.first.clone(), path.clone()) {
            let what = format!(
                "it begins with the event that {} begins with",
                other.display()
            );
            return Err(file.refusal(
                &what,
                "merge each file once, of jobs with seeds of their own",
            ));
        }
        for key in &file.seeds {
            if let Some(other) = self.seeds.insert(key.clone(), path.clone()) {
                let what = format!("it has the seed {}, as {} has", key.1, other.display());
                return Err(file.refusal(&what, "merge files of jobs with seeds of their own"));
            }
        }
        Ok(())
    }

    /// Combines the files after the last one has been added.
    fn joined(self) -> Result<Joined> {
        let mut files = self.all.iter().flatten();
        if let Some(file) = files.find(|file| file.is_unnamed())
            && self.all.len() > 1
        {
            let what = "it does not say which process its events are of, and other files do, or have other LPRUP";
            return Err(file.refusal(
                what,
                "merge files of one process, or of MG5aMC and mebridge",
            ));
        }
        Ok(Joined::new(self.all))
    }
}

/// Files that fit together.
struct Joined {
    groups: Vec<Vec<InputFile>>,
    /// For each group the new LPRUP by the old ones.
    numbers: Vec<SortedMap<i32, i32>>,
    processes: Vec<(i32, Measured)>,
    notices: Vec<String>,
}

impl Joined {
    fn new(groups: Vec<Vec<InputFile>>) -> Self {
        let (mut numbers, mut taken) = (Vec::new(), SortedSet::new());
        let (mut processes, mut notices) = (Vec::new(), Vec::new());
        for group in &groups {
            let mut other = SortedMap::new();
            for (number, measured) in mean(group) {
                let free = (number..i32::MAX).chain(1..number);
                let new = free.into_iter().find(|one| !taken.contains(one));
                let new = new.unwrap_or(number);
                if new != number {
                    notices.push(format!(
                        "LPRUP {number} of {} is {new}: another process has that number",
                        group[0].path.display()
                    ));
                }
                other.insert(number, new);
                processes.push((new, measured));
            }
            taken.extend(other.values().copied());
            numbers.push(other);
        }
        Joined {
            groups,
            numbers,
            processes,
            notices,
        }
    }

    fn events(&self) -> u64 {
        self.groups.iter().map(|group| events(group)).sum()
    }

    /// The text before the events.
    fn head(&self) -> Result<Vec<u8>> {
        let factors = self.factors();
        let mut largest: SortedMap<i32, f64> = SortedMap::new();
        for ((group, factors), numbers) in self.groups.iter().zip(&factors).zip(&self.numbers) {
            for (file, factor) in group.iter().zip(factors) {
                for (number, [_, _, most]) in &file.init.processes {
                    let of = largest.entry(numbers[number]).or_default();
                    *of = of.max(most.abs() * factor);
                }
            }
        }
        let rows = self.processes.iter().map(|(number, measured)| {
            let weight = largest.get(number).copied().unwrap_or(0.0);
            (*number, *measured, weight)
        });
        let files: Vec<&InputFile> = self.groups.iter().flatten().collect();
        head::text(&files, &rows.collect::<Vec<_>>())
    }

    /// The factor for the weights of each file.
    fn factors(&self) -> Vec<Vec<f64>> {
        let all = self.events() as f64;
        let signed =
            |group: &[InputFile]| mean(group).iter().map(|(_, (mean, _))| mean).sum::<f64>();
        let total: f64 = self.groups.iter().map(|group| signed(group)).sum();
        let of = |group: &Vec<InputFile>| {
            let own = events(group) as f64;
            let averages = group.iter().map(|file| file.events as f64 * file.average());
            let factors = match group[0].is_biased {
                true => vec![1.0; group.len()],
                false => to_one_weight(group.iter(), averages.sum::<f64>() / own),
            };
            let more = |file: &InputFile| match file.normalization {
                Norm::Average => all / own,
                Norm::Sum => file.events as f64 / own,
                Norm::Unity => all / own * signed(group) / total,
            };
            let pairs = group.iter().zip(factors);
            pairs
                .map(|(file, factor)| rounded(factor * more(file)))
                .collect()
        };
        self.groups.iter().map(of).collect()
    }

    fn write(&self, output: &Path, text: &[u8], open: Open) -> Result<()> {
        let factors = self.factors();
        let groups = self.groups.iter().zip(&factors).zip(&self.numbers);
        let parts = groups.map(|((group, factors), numbers)| {
            let files = group.iter().zip(factors);
            let part = |(file, factor): (&InputFile, &f64)| JoinedPart {
                path: file.path.clone(),
                factor: *factor,
                numbers: numbers.clone(),
            };
            files.map(part).collect()
        });
        let shares: Vec<f64> = (self.groups.iter())
            .map(|group| events(group) as f64)
            .collect();
        write(output, text, parts.collect(), &shares, open)
    }
}

/// A factor that is 1 up to the rounding of weights in files, so that events stay unchanged.
fn rounded(factor: f64) -> f64 {
    const ROUNDING: f64 = 1e-9;
    if (factor - 1.0).abs() < ROUNDING {
        1.0
    } else {
        factor
    }
}

fn events(group: &[InputFile]) -> u64 {
    group.iter().map(|file| file.events).sum()
}

/// Checks that two cross sections can be those of the same process.
fn agree(one: &InputFile, other: &InputFile) -> Result<()> {
    let sum = |file: &InputFile| {
        let rows = file.init.processes.iter();
        rows.fold((0.0, 0.0), |(sum, error), (_, [mean, its, _])| {
            (sum + mean, f64::hypot(error, *its))
        })
    };
    let ((first, its), (second, of_other)) = (sum(one), sum(other));
    let most = f64::max(ERRORS * f64::hypot(its, of_other), SHARE * first.abs());
    if (first - second).abs() <= most {
        return Ok(());
    }
    let what = format!(
        "its cross section is {second} +- {of_other} pb, and that of {}, of the same process, {first} +- {its} pb",
        one.path.display()
    );
    Err(other.refusal(&what, "were they made with the same cards?"))
}

/// Cross sections of a group by LPRUP: averages over files, weighted by their numbers of events. Files count as
/// statistically independent, except for jobs of one pack, which share most of their points. (With a
/// bias, errors follow from the numbers of events.)
fn mean(group: &[InputFile]) -> Vec<(i32, Measured)> {
    let all = events(group) as f64;
    let mut found: Vec<(i32, f64, SortedMap<PointsOf, f64>)> = Vec::new();
    for (place, file) in group.iter().enumerate() {
        let share = file.events as f64 / all;
        let source = match &file.pack {
            Some(pack) if !file.is_biased => PointsOf::Pack(pack),
            _ => PointsOf::File(place),
        };
        for (number, [mean, error, _]) in &file.init.processes {
            let known = found.iter().position(|(known, ..)| known == number);
            let known = known.unwrap_or_else(|| {
                found.push((*number, 0.0, SortedMap::new()));
                found.len() - 1
            });
            let (_, sum, errors) = &mut found[known];
            *sum += share * mean;
            *errors.entry(source).or_default() += share * error;
        }
    }
    let rows = found.into_iter();
    rows.map(|(number, sum, errors)| {
        let error = errors.into_values().fold(0.0, f64::hypot);
        (number, (sum, error))
    })
    .collect()
}

/// The phase-space points of a file's cross section.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum PointsOf<'a> {
    File(usize),
    Pack(&'a str),
}

/// A file to be written to the output.
struct JoinedPart {
    path: PathBuf,
    factor: f64,
    /// New LPRUP by the old ones.
    numbers: SortedMap<i32, i32>,
}

impl JoinedPart {
    fn new(path: &Path, factor: f64) -> Self {
        JoinedPart {
            path: path.to_owned(),
            factor: rounded(factor),
            numbers: SortedMap::new(),
        }
    }
}

/// The events of the files of a group, one file after the other.
struct FileStream<'a> {
    parts: std::vec::IntoIter<JoinedPart>,
    open: Open<'a>,
    now: Option<(Reader, JoinedPart)>,
}

impl FileStream<'_> {
    /// Appends the next event; `false` at the end.
    fn push(&mut self, event: &mut Event, to: &mut Vec<u8>) -> Result<bool> {
        loop {
            if self.now.is_none() {
                let Some(part) = self.parts.next() else {
                    return Ok(false);
                };
                let reader = Reader::new((self.open)(&part.path)?, &part.path, false)?;
                self.now = Some((reader, part));
            }
            let Some((reader, part)) = &mut self.now else {
                continue;
            };
            if !reader.next(event)? {
                self.now = None;
                continue;
            }
            let number = part.numbers.get(&event.process);
            let number = number.copied().unwrap_or(event.process);
            event
                .push_scaled(number, part.factor, to)
                .map_err(|what| reader.error(format!("{}: {what}", event.place)))?;
            to.push(b'\n');
            return Ok(true);
        }
    }
}

/// Writes a text and then the events of groups of files, interleaved in proportion to `shares`.
fn write(
    output: &Path,
    text: &[u8],
    groups: Vec<Vec<JoinedPart>>,
    shares: &[f64],
    open: Open,
) -> Result<()> {
    replaced::replace(output, |file| {
        let failed = |error: io::Error| replaced::unwritten(output, &error);
        let mut to = JoinedFile::new(file, output);
        to.write(text).map_err(failed)?;
        let mut open_streams: Vec<(FileStream, f64, f64)> = (groups.into_iter().zip(shares))
            .map(|(parts, share)| {
                let stream = FileStream {
                    parts: parts.into_iter(),
                    open,
                    now: None,
                };
                (stream, *share, 0.0)
            })
            .collect();
        let (mut event, mut bytes) = (Event::default(), Vec::new());
        loop {
            // The group that has given the smallest part of its share is next.
            let least = |one: &(usize, f64), other: &(usize, f64)| one.1.total_cmp(&other.1);
            let given = open_streams
                .iter()
                .map(|(_, share, given)| (given + 0.5) / share);
            let Some((place, _)) = given.enumerate().min_by(least) else {
                break;
            };
            bytes.clear();
            let (stream, _, given) = &mut open_streams[place];
            match stream.push(&mut event, &mut bytes)? {
                true => *given += 1.0,
                false => drop(open_streams.remove(place)),
            }
            to.write(&bytes).map_err(failed)?;
        }
        to.write(b"</LesHouchesEvents>\n").map_err(failed)?;
        to.finish().map_err(failed)
    })
}

/// The output file, compressed if its name ends in `.gz`.
enum JoinedFile<'a> {
    Plain(BufWriter<&'a File>),
    Packed(Box<GzEncoder<BufWriter<&'a File>>>),
}

impl<'a> JoinedFile<'a> {
    fn new(file: &'a File, output: &Path) -> Self {
        let file = BufWriter::with_capacity(BUFFER, file);
        match output.extension().is_some_and(|suffix| suffix == "gz") {
            true => JoinedFile::Packed(Box::new(GzEncoder::new(file, Compression::default()))),
            false => JoinedFile::Plain(file),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            JoinedFile::Plain(file) => file.write_all(bytes),
            JoinedFile::Packed(file) => file.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            JoinedFile::Plain(mut file) => file.flush(),
            JoinedFile::Packed(file) => file.finish()?.flush(),
        }
    }
}

/// Opens an event file written by this program.
///
/// # Errors
/// The file cannot be read.
pub fn open_written(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|error| {
        let what = format!(
            "{} cannot be read: {}",
            path.display(),
            without_number(&error)
        );
        Error::run(what, "")
    })?;
    let file = io::BufReader::with_capacity(BUFFER, file);
    Ok(
        match path.extension().is_some_and(|suffix| suffix == "gz") {
            true => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            false => Box::new(file),
        },
    )
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
