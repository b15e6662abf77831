//! Writer of Les Houches event files (hep-ph/0609017) from the records of rounds.

use crate::overweight::{Overweights, Weighting};
use crate::records::{self, MatchingRecord, RoundFile, RoundWeights, RowFile, doubles};
use crate::summary::Measured;
use crate::{exact, in_order, replaced, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use mebridge::lhe::{OUTGOING, Record, push_events, push_integer, push_scientific, text_bytes};
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of events whose text is made at a time, so that it stays in the cache until it is written.
const AT_ONCE: usize = 1000;
/// Number of events per member of a compressed file.
const MEMBER: usize = 10_000;
/// The compression level. Files are as large as those of `gzip` by default, which is its level 6, and take two thirds of
/// the time of that level here.
pub const LEVEL: u32 = 5;
const END: &[u8] = b"</event>\n";
const PROTON: i32 = 2212;

/// The two beams of the `<init>` block.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct InitBeams {
    /// PDG codes.
    pub codes: [i32; 2],
    /// Energies, GeV.
    pub energies: [f64; 2],
    /// LHAPDF numbers of their parton densities, 0 without densities.
    pub densities: [i64; 2],
}

impl InitBeams {
    /// Two equal beams; `energy` is the sum of both energies, GeV.
    pub fn equal(codes: [i32; 2], energy: f64, densities: i64) -> Self {
        InitBeams {
            codes,
            energies: [energy / 2.0; 2],
            densities: [densities; 2],
        }
    }

    /// The beams of a run by cards.
    ///
    /// Args: `codes` are 0 for beams that are a particle of the process, whose code `incoming` has; `densities` is the
    /// number of the densities, if any; `other` is the beam without densities if only one beam has them.
    pub fn for_run(
        codes: [i32; 2],
        incoming: [i32; 2],
        energies: [f64; 2],
        densities: Option<i64>,
        other: Option<usize>,
    ) -> Self {
        InitBeams {
            codes: [0, 1].map(|beam| match codes[beam] {
                0 => incoming[beam],
                code => code,
            }),
            energies,
            densities: [0, 1].map(|beam| match other == Some(beam) {
                true => 0,
                false => densities.unwrap_or(0),
            }),
        }
    }
}

/// The parts of events after their particles.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Blocks {
    /// The beams of the file.
    pub beams: InitBeams,
    /// For each matrix element the power of alpha_s, if events have MadEvent's `<mgrwt>`, from which MG5aMC's
    /// `systematics` computes weights; otherwise empty.
    pub powers: Vec<u32>,
    /// Whether events have the clustering scales of jets, which Pythia's JetMatching reads.
    pub matched: bool,
    /// Whether events have all steps of the clustering.
    pub clustering: bool,
    /// Names of further weights.
    pub names: Vec<String>,
    /// LPRUP of each matrix element.
    pub numbers: Vec<i32>,
}

/// The parts of the file before the events.
#[derive(Clone, Copy, Debug)]
pub struct Banner<'a> {
    /// Blocks of the header.
    pub header: &'a str,
    /// Arguments of the run, as JSON.
    pub arguments: &'a str,
    /// The `<generator>` line of `<init>`; may be empty.
    pub generator: &'a str,
    /// IDWTUP, the meaning of the weights.
    pub strategy: i32,
    /// LPRUP of each process, and its cross section and error, pb.
    pub processes: &'a [(i32, Measured)],
}

/// Statistics of the events of these rounds that are above the nominal weight.
pub fn overweights(rounds: &[RoundFile]) -> Overweights {
    let weights = || rounds.iter().map(|round| round.weights);
    let total = exact::sum(weights().map(|of| of.drawn() / of.nominal));
    let events: usize = rounds.iter().map(|round| round.events).sum();
    Overweights {
        events: weights().map(|of| of.above).sum(),
        share: f64::max(0.0, 1.0 - events as f64 / total),
        largest: weights()
            .map(|of| of.largest / of.nominal)
            .fold(0.0, f64::max),
    }
}

/// The weight of most events of these rounds, up to the sign, with which the average of all weights is `mean`.
///
/// If weights have both signs, this would have the noise of a small difference; then it is computed from the weights
/// without signs, whose average is the cross section without signs.
pub fn nominal_weight(rounds: &[RoundFile], mean: f64) -> f64 {
    let over = |of: fn(&RoundWeights) -> f64| {
        let weights = rounds.iter().map(|round| &round.weights);
        exact::sum(weights.map(|weights| of(weights) / weights.nominal))
    };
    let has_one_sign = |round: &RoundFile| round.weights.total.abs() == round.weights.absolute;
    if rounds.iter().all(has_one_sign) {
        let events: usize = rounds.iter().map(|round| round.events).sum();
        return mean * events as f64 / over(|weights| weights.total);
    }
    let absolute = exact::sum(rounds.iter().map(|round| round.weights.absolute));
    absolute / over(|weights| weights.absolute)
}

/// The absolute weight of all events, if all get the same.
pub fn one_weight(rounds: &[RoundFile], mean: f64) -> f64 {
    let weights = || rounds.iter().map(|round| &round.weights);
    if weights().all(|weights| weights.total.abs() == weights.absolute) {
        return mean.abs();
    }
    let events: usize = rounds.iter().map(|round| round.events).sum();
    exact::sum(weights().map(|weights| weights.absolute)) / events as f64
}

/// Writes the events of these rounds to a file, compressed if its name ends in `.gz`.
///
/// Events have the weight `nominal`, except for overweight and negative ones and those with a bias; `weighting` may
/// give all events the same weight. The file does not depend on the number of threads.
///
/// # Errors
/// The file cannot be written; a round cannot be read, or holds numbers that an event file cannot.
pub fn write(
    output: &Path,
    banner: &Banner,
    blocks: &Blocks,
    rounds: &[RoundFile],
    weighting: Weighting,
    nominal: f64,
    threads: usize,
) -> Result<()> {
    let (mut sources, mut before) = (Vec::new(), 0);
    for round in rounds {
        sources.push(Source::open(round, blocks, nominal, before)?);
        before += round.events;
    }
    let packs = output.extension().is_some_and(|suffix| suffix == "gz");
    let at_once = if packs { MEMBER } else { AT_ONCE };
    let mut parts = Vec::new();
    for (source, round) in sources.iter().zip(rounds) {
        let firsts = (0..round.events).step_by(at_once);
        parts.extend(firsts.map(|first| (source, first, at_once.min(round.events - first))));
    }
    // The first part is the text before the events, the last part the text after them.
    let push = |bytes: &mut Bytes, number: usize, text: &mut Vec<u8>| {
        match number.checked_sub(1).map(|number| parts.get(number)) {
            None => text.extend(head(banner, &blocks.beams, nominal).bytes()),
            Some(None) => text.extend_from_slice(b"</LesHouchesEvents>\n"),
            Some(Some(&(source, first, count))) => {
                bytes.read(source, &blocks.numbers, first, count)?;
                bytes.weigh(source, weighting, first);
                source.push(blocks, bytes, first, text)?;
            }
        }
        Ok(())
    };
    let make = |(bytes, plain): &mut (Bytes, Vec<u8>), number: usize, to: &mut Vec<u8>| {
        if !packs {
            return push(bytes, number, to);
        }
        plain.clear();
        push(bytes, number, plain)?;
        push_member(plain, LEVEL, to);
        Ok(())
    };
    replaced::replace(output, |file| {
        let failed = |error| replaced::unwritten(output, &error);
        in_order::write(file, parts.len() + 2, threads, make, failed)
    })
}

/// Appends one member of a gzip file (RFC 1952); readers concatenate the members. It has neither a name nor a time, so
/// the same run gives the same file. With level 0 the size depends only on the length of the text.
pub fn push_member(text: &[u8], level: u32, to: &mut Vec<u8>) {
    let mut packed = GzEncoder::new(to, Compression::new(level));
    let written = packed.write_all(text).and_then(|()| packed.try_finish());
    written.expect("memory takes all");
}

/// The text before the events; `weight` is the absolute weight of events that are not overweight (XMAXUP).
fn head(banner: &Banner, beams: &InitBeams, weight: f64) -> String {
    let both = |words: [String; 2]| words.join(" ");
    let [first, second] = beams.codes;
    let groups = both(
        beams
            .densities
            .map(|number| if number == 0 { "-1" } else { "0" }.to_owned()),
    );
    let known = both(
        beams
            .densities
            .map(|number| if number == 0 { -1 } else { number }.to_string()),
    );
    let energies = both(beams.energies.map(|energy| text::scientific(energy, 10)));
    let arguments = banner.arguments.replace('&', "&amp;").replace('<', "&lt;");
    let mut lines = vec![
        r#"<LesHouchesEvents version="3.0">"#.to_owned(),
        "<header>".to_owned(),
    ];
    if !banner.header.is_empty() {
        lines.push(banner.header.trim_end_matches('\n').to_owned());
    }
    lines.extend(
        [
            "<mebridge>",
            &arguments,
            "</mebridge>",
            "</header>",
            "<init>",
        ]
        .map(str::to_owned),
    );
    let (strategy, count) = (banner.strategy, banner.processes.len());
    lines.push(format!(
        "{first} {second} {energies} {groups} {known} {strategy} {count}"
    ));
    for &(number, (cross_section, error)) in banner.processes {
        let numbers = [cross_section, error, weight].map(|value| text::scientific(value, 10));
        lines.push(format!("{} {number}", numbers.join(" ")));
    }
    if !banner.generator.is_empty() {
        lines.push(banner.generator.to_owned());
    }
    lines.extend(["</init>", ""].map(str::to_owned));
    lines.join("\n")
}

/// The files of a round.
struct Source {
    records: RowFile,
    particles: usize,
    ratios: Option<RowFile>,
    scales: Option<RowFile>,
    /// The table, and the largest number of legs in its rows.
    matched: Option<(RowFile, usize)>,
    /// Factor from the weights of the records to those of the file.
    factor: f64,
    /// The smallest absolute weight in the records.
    nominal: f64,
    /// Number of events in the file before this round.
    before: usize,
}

/// Data of some events, read by a thread.
#[derive(Default)]
struct Bytes {
    records: Vec<u8>,
    /// Index of each event's matrix element.
    elements: Vec<usize>,
    /// Whether each event is left out.
    left_out: Vec<bool>,
    ratios: Vec<u8>,
    scales: Vec<u8>,
    matched: Vec<u8>,
}

impl Bytes {
    fn read(&mut self, source: &Source, numbers: &[i32], first: usize, count: usize) -> Result<()> {
        source.records.read(first, count, &mut self.records)?;
        self.elements.clear();
        for (event, record) in (self.records.chunks_exact_mut(source.records.row())).enumerate() {
            let element = usize::try_from(Record::new(record).process() - 1).ok();
            let known = element.and_then(|element| Some((element, *numbers.get(element)?)));
            let (element, number) = known.ok_or(Error::BadRecord {
                event: source.before + first + event,
                what: "there is no such process",
            })?;
            self.elements.push(element);
            Record::set_process(record, number);
        }
        let matched = source.matched.as_ref().map(|(table, _)| table);
        for (table, to) in [
            (source.ratios.as_ref(), &mut self.ratios),
            (source.scales.as_ref(), &mut self.scales),
            (matched, &mut self.matched),
        ] {
            if let Some(table) = table {
                table.read(first, count, to)?;
            }
        }
        Ok(())
    }
}

impl Bytes {
    /// Decides which events are left out, and gives all the same weight, unless weights are kept.
    fn weigh(&mut self, source: &Source, weighting: Weighting, first: usize) {
        self.left_out.clear();
        if weighting == Weighting::Kept {
            return;
        }
        let records = self.records.chunks_exact_mut(source.records.row());
        for (event, record) in records.enumerate() {
            let weight = Record::new(record).weight();
            let times = weight.abs() / source.nominal;
            let place = source.before + first + event;
            self.left_out.push(match weighting {
                Weighting::Chosen(choice) => !choice.keeps(place, times),
                Weighting::Kept | Weighting::Truncated => false,
            });
            Record::set_weight(record, source.nominal.copysign(weight));
        }
    }
}

impl Source {
    fn open(round: &RoundFile, blocks: &Blocks, nominal: f64, before: usize) -> Result<Source> {
        let (file, events) = (&round.file, round.events);
        let (records, particles) = RowFile::records(file, events)?;
        let names = blocks.names.len();
        let table = |path: PathBuf, columns| RowFile::doubles(&path, events, columns);
        let ratios = (names > 0).then(|| table(records::ratios(file), names));
        let scales = (!blocks.powers.is_empty()).then(|| table(records::scales(file), 4));
        let matched = blocks
            .matched
            .then(|| RowFile::matched(&records::matched(file), events));
        Ok(Source {
            records,
            particles,
            ratios: ratios.transpose()?,
            scales: scales.transpose()?,
            matched: matched.transpose()?,
            factor: nominal / round.weights.nominal,
            nominal: round.weights.nominal,
            before,
        })
    }

    /// Appends the text of the events in `bytes`; `first` is the index of the first one in the round.
    fn push(&self, blocks: &Blocks, bytes: &Bytes, first: usize, text: &mut Vec<u8>) -> Result<()> {
        let records = bytes.records.chunks_exact(self.records.row());
        let room = text_bytes(self.particles).expect("the records are in memory");
        text.reserve(records.len() * room);
        let before = self.before + first;
        let push = |text: &mut Vec<u8>, records: &[u8], before: usize| {
            push_events(text, records, self.particles, self.factor)
                .map_err(|error| moved(error, before))
        };
        let is_plain = self.ratios.is_none() && self.scales.is_none() && self.matched.is_none();
        if is_plain && bytes.left_out.is_empty() {
            return push(text, &bytes.records, before);
        }
        let left_out = |number: usize| bytes.left_out.get(number) == Some(&true);
        for (number, record) in records.enumerate().filter(|(number, _)| !left_out(*number)) {
            push(text, record, before + number)?;
            text.truncate(text.len() - END.len());
            let record = Record::new(record);
            self.push_blocks(blocks, bytes, number, &record, text)
                .map_err(|what| Error::BadRecord {
                    event: before + number,
                    what,
                })?;
            text.extend_from_slice(END);
        }
        Ok(())
    }

    /// Appends the parts of an event after its particles.
    fn push_blocks(
        &self,
        blocks: &Blocks,
        bytes: &Bytes,
        number: usize,
        record: &Record,
        text: &mut Vec<u8>,
    ) -> std::result::Result<(), &'static str> {
        let row = |bytes, table: &RowFile| row_of(bytes, table.row(), number);
        let scales = self.scales.as_ref();
        let scales = scales.map(|table| Scales::new(row(&bytes.scales, table)));
        let matched = self.matched.as_ref();
        let matched =
            matched.map(|(table, legs)| MatchingRecord::new(row(&bytes.matched, table), *legs));
        if let Some(matched) = &matched {
            push_jets(text, record, matched);
        }
        if let Some(scales) = scales {
            let power = blocks.powers.get(bytes.elements[number]);
            let power = *power.ok_or("there is no such process")?;
            match &matched {
                Some(matched) => push_matched_weight(text, record, power, &scales, matched),
                None => push_weight(text, record, power, &scales, &blocks.beams),
            }
        }
        if let Some(matched) = matched.filter(|_| blocks.clustering) {
            push_steps(text, record, &matched)?;
        }
        if let Some(ratios) = &self.ratios {
            let weight = record.weight() * self.factor;
            let ratios = doubles(row(&bytes.ratios, ratios));
            push_further(text, &blocks.names, ratios.map(|ratio| ratio * weight));
        }
        Ok(())
    }
}

fn row_of(bytes: &[u8], row: usize, number: usize) -> &[u8] {
    &bytes[number * row..][..row]
}

/// The same error with the index of the event increased by `before`.
fn moved(error: Error, before: usize) -> Error {
    match error {
        Error::BadRecord { event, what } => Error::BadRecord {
            event: event + before,
            what,
        },
        error => error,
    }
}

/// A row of the table of scales.
struct Scales {
    renormalisation: f64,
    factorisation: [f64; 2],
    /// The product of both densities f(x).
    densities: f64,
}

impl Scales {
    fn new(row: &[u8]) -> Self {
        let mut numbers = doubles(row);
        let [renormalisation, first, second, densities] =
            [(); 4].map(|()| numbers.next().unwrap_or(0.0));
        Scales {
            renormalisation,
            factorisation: [first, second],
            densities,
        }
    }

    /// The factor by which `systematics` divides: alpha_s to its power times the densities.
    fn total(&self, record: &Record, power: u32) -> f64 {
        record.alpha_qcd().powf(f64::from(power)) * self.densities
    }
}

/// Appends MadEvent's `<mgrwt>` block, from which weights for other scales and densities are computed.
fn push_weight(
    text: &mut Vec<u8>,
    record: &Record,
    power: u32,
    scales: &Scales,
    beams: &InitBeams,
) {
    push_renormalisation(text, power as i32, scales.renormalisation);
    text.extend_from_slice(b"<asrwt>0</asrwt>\n");
    for beam in [0, 1] {
        push_beam(text, beam);
        match beams.codes[beam].abs() == PROTON {
            true => {
                let parton = record.particle(beam);
                push_integer(text, 1, 3);
                push_integer(text, parton.pdg, 9);
                push_real(text, parton.momentum[3] / beams.energies[beam]);
                push_real(text, scales.factorisation[beam]);
            }
            false => text.push(b'0'),
        }
        text.extend_from_slice(b"</pdfrwt>\n");
    }
    push_total(text, scales.total(record, power));
}

/// The same for an event that is reweighted with alpha_s and densities along its clustering.
fn push_matched_weight(
    text: &mut Vec<u8>,
    record: &Record,
    power: u32,
    scales: &Scales,
    matched: &MatchingRecord,
) {
    let emissions = || matched.emissions().filter(|scale| *scale > 0.0);
    let count = emissions().count() as i32;
    push_renormalisation(text, power as i32 - count, scales.renormalisation);
    text.extend_from_slice(b"<asrwt>");
    match count {
        0 => text.push(b'0'),
        _ => push_integer(text, count, 3),
    }
    emissions().for_each(|scale| push_real(text, scale));
    text.extend_from_slice(b"</asrwt>\n");
    for beam in [0, 1] {
        let along = matched.densities(beam);
        let count = along.codes().filter(|code| *code != 0).count();
        push_beam(text, beam);
        push_integer(text, count as i32, 3);
        along
            .codes()
            .take(count)
            .for_each(|code| push_integer(text, code, 9));
        let numbers = along.x().take(count).chain(along.q().take(count));
        numbers.for_each(|number| push_real(text, number));
        text.extend_from_slice(b"</pdfrwt>\n");
    }
    push_total(text, scales.total(record, power));
}

fn push_renormalisation(text: &mut Vec<u8>, power: i32, scale: f64) {
    text.extend_from_slice(b"<mgrwt>\n<rscale>");
    push_integer(text, power, 3);
    push_real(text, scale);
    text.extend_from_slice(b"</rscale>\n");
}

fn push_beam(text: &mut Vec<u8>, beam: usize) {
    text.extend_from_slice(b"<pdfrwt beam=\"");
    text.push(b'1' + beam as u8);
    text.extend_from_slice(b"\">");
}

fn push_total(text: &mut Vec<u8>, total: f64) {
    text.extend_from_slice(b"<totfact>");
    push_real(text, total);
    text.extend_from_slice(b"</totfact>\n</mgrwt>\n");
}

/// Appends a number in Fortran's format `1PE15.8`, which is C's `%15.8E`.
fn push_real(text: &mut Vec<u8>, value: f64) {
    const WIDTH: usize = 15;
    let begin = text.len();
    push_scientific(text, value, 8, false);
    text[begin..].make_ascii_uppercase();
    for _ in text.len() - begin..WIDTH {
        text.insert(begin, b' ');
    }
}

/// Numbers of the outgoing particles, from 1, in the order of the legs of the process.
fn outgoing(record: &Record) -> impl Iterator<Item = i32> {
    let numbered = (1..).zip(record.particles());
    let outgoing = numbered.filter(|(_, particle)| particle.status == OUTGOING);
    outgoing.map(|(number, _)| number)
}

/// Appends the scales at which jets were clustered, GeV; for other particles the energy of the beams.
fn push_jets(text: &mut Vec<u8>, record: &Record, matched: &MatchingRecord) {
    text.extend_from_slice(b"<scales ");
    for (place, (number, scale)) in outgoing(record).zip(matched.pt()).enumerate() {
        let space = if place == 0 { "" } else { " " };
        push_formatted(
            text,
            format_args!("{space}pt_clust_{number}=\"{scale:.5}\""),
        );
    }
    text.extend_from_slice(b"></scales>\n");
}

/// Appends the steps of the clustering: scale, the two legs that are combined, the leg of the other beam, and -1.
fn push_steps(
    text: &mut Vec<u8>,
    record: &Record,
    matched: &MatchingRecord,
) -> std::result::Result<(), &'static str> {
    // Legs of the process to particles of the event: incoming ones have the same number, then the outgoing ones follow.
    let number = |leg: i32| {
        let outer = usize::try_from(leg - 3).ok();
        let found = outer.map_or(Some(leg), |leg| outgoing(record).nth(leg));
        found.ok_or("it was clustered with more legs")
    };
    text.extend_from_slice(b"<clustering>\n");
    for (scale, [one, other, beam]) in matched.steps().filter(|(_, [one, ..])| *one != 0) {
        push_formatted(text, format_args!("<clus scale=\"{scale:9.3}\">"));
        let beam = if beam == 0 { -1 } else { number(beam)? };
        for number in [number(one)?, number(other)?, beam] {
            push_integer(text, number, 3);
        }
        text.extend_from_slice(b" -1</clus>\n");
    }
    text.extend_from_slice(b"</clustering>\n");
    Ok(())
}

/// Appends the further weights.
fn push_further(text: &mut Vec<u8>, names: &[String], weights: impl Iterator<Item = f64>) {
    text.extend_from_slice(b"<rwgt>\n");
    for (name, weight) in names.iter().zip(weights) {
        text.extend_from_slice(b"<wgt id='");
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"'> ");
        push_scientific(text, weight, 7, true);
        text.extend_from_slice(b" </wgt>\n");
    }
    text.extend_from_slice(b"</rwgt>\n");
}

fn push_formatted(text: &mut Vec<u8>, what: std::fmt::Arguments) {
    text.write_fmt(what).expect("memory takes all");
}

#[cfg(test)]
#[path = "event_file_tests.rs"]
mod tests;
