//! Spectra of several event files in common figures.

use crate::figures::{ScaledSpectra, figures, legend};
use crate::markup::{document, escaped};
use crate::merge::Open;
use crate::spectra::{
    Bin, Collection, KINDS, MAX_EVENTS, ParticleSpectrum, Ranges, Spectra, kind_name,
};
use crate::summary::{Measured, shown};
use crate::text::{repr, scientific};
use mebridge::lhe::{Event, Reader};
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Name of the event weight, XWGTUP in the first line of an event.
pub const NOMINAL: &str = "nominal";

/// Spectra of event files, with common bins.
#[derive(Clone, Debug)]
pub struct Plot {
    samples: Vec<WeightedEvents>,
    /// Whether spectra add up to the number of particles per event instead of cross sections.
    shapes: bool,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Spectra of a file with one of its weights.
#[derive(Clone, Debug)]
struct WeightedEvents {
    file: PathBuf,
    /// Index of the file.
    origin: usize,
    weight: String,
    /// Cross section with this weight, pb; its relative error is that of the file's own. `None` if `<init>` has no
    /// cross section.
    cross_section: Option<Measured>,
    spectra: Spectra,
    /// Factor that scales weights to parts of the cross section, or of 1.
    factor: f64,
}

/// A file of which the first events are read.
struct OpenFile {
    path: PathBuf,
    reader: Reader,
    /// The particles of these events, for each of the weights.
    first: Vec<Collection>,
    /// The sum of the event weights read so far.
    sum: f64,
    /// The further weights of the last event.
    row: Vec<f64>,
}

impl Plot {
    /// Reads files, each with all of these weights: [`NOMINAL`], or the names of others. With `shapes` spectra add up
    /// to the number of particles per event, otherwise to the cross sections of the files.
    ///
    /// # Errors
    /// A file cannot be read, or has no events, no such weight or no cross section; or the files have no kind of
    /// outgoing particles in common.
    pub fn read(files: &[PathBuf], weights: &[String], shapes: bool, open: Open) -> Result<Self> {
        let begun = files.iter().map(|path| OpenFile::new(path, weights, open));
        let mut begun: Vec<OpenFile> = begun.collect::<Result<_>>()?;
        let (kinds, notices) = common_kinds(&begun)?;
        let ranges = common_ranges(&begun, &kinds);
        let mut samples = Vec::new();
        for (origin, file) in begun.iter_mut().enumerate() {
            samples.extend(file.finish(origin, weights, &kinds, &ranges, shapes)?);
        }
        Ok(Plot {
            samples,
            shapes,
            notices,
        })
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        let samples: Vec<ScaledSpectra> = self
            .samples
            .iter()
            .map(|of| of.scaled(self.names_weights()))
            .collect();
        // N is the number of particles in an event.
        let (of, note) = match self.shapes {
            true => (
                ["N", ""],
                "Spectra add up to the number of particles of an event. ",
            ),
            false => (["σ", "pb"], ""),
        };
        let ratios = match samples.len() {
            1 => "",
            _ => {
                " Ratios are to the first sample: bars have the errors of each, the band those of the first."
            }
        };
        let body = format!(
            "<h1>Spectra</h1>\n{}<p class=\"note\">{note}Errors are statistical.{ratios}</p>\n{}{}",
            legend(&samples),
            self.notices
                .iter()
                .map(|line| format!("<p class=\"note\">{}</p>\n", escaped(line)))
                .collect::<String>(),
            figures(&samples, of)
        );
        document("Spectra", &body)
    }

    /// Whether labels have to name weights.
    fn names_weights(&self) -> bool {
        self.samples.iter().any(|sample| sample.weight != NOMINAL)
    }

    /// Returns a line for each sample.
    pub fn text(&self) -> String {
        let names = self.names_weights();
        self.samples
            .iter()
            .map(|sample| sample.label(names) + "\n")
            .collect()
    }

    /// Returns the histograms as data: for each sample its file, weight, cross section, and spectra with edges, values
    /// and errors.
    pub fn json(&self) -> Value {
        let unit = |spectrum: &ParticleSpectrum| match (self.shapes, spectrum.observable.unit()) {
            (true, None) => "1".to_owned(),
            (true, Some(unit)) => format!("1/{unit}"),
            (false, None) => "pb".to_owned(),
            (false, Some(unit)) => format!("pb/{unit}"),
        };
        let of_sample = |sample: &WeightedEvents| {
            let spectra = sample.spectra.all.iter().map(|spectrum| {
                let (values, errors): (Vec<f64>, Vec<f64>) =
                    spectrum.per_width(sample.factor).into_iter().unzip();
                let outside = spectrum
                    .histogram
                    .outside
                    .map(|bin| sample.factor * bin.sum);
                json!({
                    "observable": spectrum.observable.name(),
                    "pdg": spectrum.kind,
                    "unit": spectrum.observable.unit(),
                    "edges": spectrum.histogram.edges(),
                    "values": values,
                    "errors": errors,
                    "values_unit": unit(spectrum),
                    "outside": outside,
                })
            });
            json!({
                "file": sample.file.display().to_string(),
                "weight": sample.weight,
                "events": sample.spectra.events,
                "cross_section": sample.cross_section.map(|(value, _)| value),
                "error": sample.cross_section.map(|(_, error)| error),
                "spectra": spectra.collect::<Vec<_>>(),
            })
        };
        self.samples.iter().map(of_sample).collect()
    }

    /// Returns a unique name and the histograms of each file in a format that YODA 1 and 2 read (`YODA_HISTO1D_V2`).
    /// Paths are the same for all files; those of further weights end in the weight's name in brackets, as Rivet writes
    /// them.
    pub fn yoda(&self) -> Vec<(String, String)> {
        let mut found: SortedMap<usize, (String, String)> = SortedMap::new();
        let mut taken = SortedSet::new();
        for sample in &self.samples {
            let (_, text) = found.entry(sample.origin).or_insert_with(|| {
                let stem = stem(&sample.file);
                let others = (2..).map(|number| format!("{stem}_{number}"));
                let mut names = std::iter::once(stem.clone()).chain(others);
                let name = names.find(|name| taken.insert(name.clone()));
                (name.unwrap_or(stem), String::new())
            });
            sample
                .spectra
                .all
                .iter()
                .for_each(|spectrum| sample.push_yoda(text, spectrum));
        }
        found.into_values().collect()
    }
}

/// The name of a file without `.lhe` and `.gz`.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".lhe").unwrap_or(name).to_owned()
}

impl OpenFile {
    /// Reads the events from which bins are chosen.
    fn new(path: &Path, weights: &[String], open: Open) -> Result<Self> {
        let mut file = OpenFile {
            path: path.to_owned(),
            reader: Reader::new(open(path)?, path, false)?,
            first: weights.iter().map(|_| Collection::default()).collect(),
            sum: 0.0,
            row: Vec::new(),
        };
        let mut event = Event::default();
        while file.first[0].events() < MAX_EVENTS
            && let Some(values) = file.next(&mut event, weights)?
        {
            for (of, weight) in file.first.iter_mut().zip(values) {
                of.add(event.particles.iter().copied(), weight);
            }
        }
        if file.first[0].events() == 0 {
            return Err(file.reader.error("there are no events in it"));
        }
        Ok(file)
    }

    /// Reads the next event, if there is one, and returns these weights of it.
    fn next(&mut self, event: &mut Event, weights: &[String]) -> Result<Option<Vec<f64>>> {
        if !self.reader.next(event)? {
            return Ok(None);
        }
        self.sum += event.weight;
        if weights.iter().any(|name| name != NOMINAL) {
            self.reader.weights(event, &mut self.row)?;
        }
        let of = |name: &String| {
            if name == NOMINAL {
                return Ok(event.weight);
            }
            let names = self.reader.names();
            let known = names
                .iter()
                .position(|known| known == name)
                .map(|place| self.row[place]);
            known.filter(|weight| weight.is_finite()).ok_or_else(|| {
                let there = match names.is_empty() {
                    true => "there are none but the nominal one".to_owned(),
                    false => format!("there are {NOMINAL}, {}", shortened(names)),
                };
                let what = format!("{} has no weight '{name}'; {there}", event.place);
                self.reader.error(what)
            })
        };
        weights.iter().map(of).collect::<Result<_>>().map(Some)
    }

    /// Reads the remaining events and returns the spectra with each weight.
    fn finish(
        &mut self,
        origin: usize,
        weights: &[String],
        kinds: &[i32],
        ranges: &Ranges,
        shapes: bool,
    ) -> Result<Vec<WeightedEvents>> {
        let first = std::mem::take(&mut self.first);
        let mut all: Vec<Spectra> = first
            .into_iter()
            .map(|of| of.spectra(kinds, ranges))
            .collect();
        let mut event = Event::default();
        while let Some(values) = self.next(&mut event, weights)? {
            for (spectra, weight) in all.iter_mut().zip(values) {
                spectra.add(event.particles.iter().copied(), weight);
            }
        }
        let own = self.reader.init()?.cross_section();
        let sample = |(weight, spectra): (&String, Spectra)| {
            let scale = own
                .filter(|(value, _)| *value != 0.0)
                .map(|(value, error)| (value / self.sum, error / value));
            let factor = match scale {
                _ if shapes => 1.0 / spectra.weight,
                Some((factor, _)) => factor,
                None => {
                    let what =
                        "<init> has no cross section, which spectra could add up to".to_owned();
                    let place = self.path.display().to_string();
                    return Err(Error::run_at(place, what, "compare shapes (--shapes)"));
                }
            };
            if !factor.is_finite() {
                let what = format!(
                    "all weights '{weight}' together are {}",
                    repr(spectra.weight)
                );
                return Err(self.reader.error(what));
            }
            let cross_section = scale.map(|(factor, error)| {
                let value = factor * spectra.weight;
                (value, (value * error).abs())
            });
            Ok(WeightedEvents {
                file: self.path.clone(),
                origin,
                weight: weight.clone(),
                cross_section,
                spectra,
                factor,
            })
        };
        weights.iter().zip(all).map(sample).collect()
    }
}

/// Returns the first names, for a message.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        count if count > SHOWN => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}

/// Returns the kinds of outgoing particles that all files have, in order of their frequency in the first file, and
/// notices about kinds that are left out.
fn common_kinds(files: &[OpenFile]) -> Result<(Vec<i32>, Vec<String>)> {
    let of_each: Vec<Vec<i32>> = files.iter().map(|file| file.first[0].kinds()).collect();
    let is_common = |kind: &i32| of_each.iter().all(|of| of.contains(kind));
    let named = |kinds: &[i32]| {
        kinds
            .iter()
            .map(|&kind| kind_name(kind))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let mut common: Vec<i32> = of_each[0].iter().copied().filter(is_common).collect();
    if common.is_empty() {
        let lines = files.iter().zip(&of_each);
        let lines: Vec<String> = lines
            .map(|(file, of)| format!("{} has {}", file.path.display(), named(of)))
            .collect();
        let what = format!(
            "no kind of particles goes out of the events of all files: {}",
            lines.join(", ")
        );
        return Err(Error::run_at("plot", what, "name files of one process"));
    }
    let mut notices = Vec::new();
    for (file, of) in files.iter().zip(&of_each) {
        let other: Vec<i32> = of.iter().copied().filter(|kind| !is_common(kind)).collect();
        if !other.is_empty() {
            notices.push(format!(
                "{}: particles that not all files have are left out: {}",
                file.path.display(),
                named(&other)
            ));
        }
    }
    common.truncate(KINDS);
    Ok((common, notices))
}

/// Returns ranges that contain nearly all values of all files.
fn common_ranges(files: &[OpenFile], kinds: &[i32]) -> Ranges {
    let mut found = files[0].first[0].ranges(kinds);
    for file in &files[1..] {
        for (kind, of) in file.first[0].ranges(kinds) {
            for (widest, [low, high]) in found.entry(kind).or_insert(of).iter_mut().zip(of) {
                *widest = [widest[0].min(low), widest[1].max(high)];
            }
        }
    }
    found
}

impl WeightedEvents {
    fn scaled(&self, names_weight: bool) -> ScaledSpectra<'_> {
        ScaledSpectra {
            name: self.label(names_weight),
            spectra: &self.spectra,
            factor: self.factor,
            origin: self.origin,
        }
    }

    fn label(&self, names_weight: bool) -> String {
        let weight = match names_weight {
            true => format!(", weight {}", self.weight),
            false => String::new(),
        };
        let cross_section = self.cross_section.map_or(String::new(), |measured| {
            let [value, error] = shown(measured);
            format!(", {value} +- {error} pb")
        });
        format!(
            "{}{weight}: {} events{cross_section}",
            self.file.display(),
            self.spectra.events
        )
    }

    /// Appends a histogram in YODA's format, with sums of weights that are not divided by bin widths.
    fn push_yoda(&self, text: &mut String, spectrum: &ParticleSpectrum) {
        let histogram = &spectrum.histogram;
        let variation = match self.weight.as_str() {
            NOMINAL => String::new(),
            // Brackets, slashes and spaces would end the name.
            name => format!(
                "[{}]",
                name.replace(|c: char| c.is_whitespace() || "[]/".contains(c), "_")
            ),
        };
        let path = format!(
            "/mebridge/{}_{}{variation}",
            spectrum.observable.name(),
            spectrum.kind
        );
        let numbers = |bin: &Bin| {
            let factor = self.factor;
            let [first, second] = bin.moments.map(|moment| factor * moment);
            let all = [
                factor * bin.sum,
                factor * factor * bin.squares,
                first,
                second,
                bin.entries as f64,
            ];
            all.map(|number| scientific(number, 16)).join("\t")
        };
        let total = &histogram.total;
        let [below, above] = &histogram.outside;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "BEGIN YODA_HISTO1D_V2 {path}\nPath: {path}\nTitle: \"{}\"\nType: Histo1D\n---\n# Mean: {}\n# Area: {}\n\
             # ID\tID\tsumw\tsumw2\tsumwx\tsumwx2\tnumEntries\nTotal\tTotal\t{}\nUnderflow\tUnderflow\t{}\nOverflow\tOverflow\t{}\n\
             # xlow\txhigh\tsumw\tsumw2\tsumwx\tsumwx2\tnumEntries",
            spectrum.title(),
            scientific(total.moments[0] / total.sum, 6),
            scientific(self.factor * total.sum, 6),
            numbers(total),
            numbers(below),
            numbers(above),
        );
        for (bin, contents) in histogram.bins.iter().enumerate() {
            let [low, high] = [0, 1].map(|side| scientific(histogram.edge(bin + side), 16));
            let _ = writeln!(text, "{low}\t{high}\t{}", numbers(contents));
        }
        text.push_str("END YODA_HISTO1D_V2\n\n");
    }
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
