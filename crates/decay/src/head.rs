//! The text before the events: cross sections times branching fractions, and a record of the decays.
//!
//! It is written before the events are known and again after them, with the same length both times.

use mebridge_lhe::{Head, find, push_scientific, real};
use std::collections::HashMap;
use std::fmt::Write;

/// Width of a number, padded with blanks.
const COLUMNS: usize = 20;

/// Sums over the events of a process, for its average and its largest branching fraction.
#[derive(Clone, Copy, Debug, Default)]
pub struct FractionSums {
    weights: f64,
    /// Sum of `weight * fraction`.
    decayed: f64,
    largest: f64,
    events: f64,
    fractions: f64,
}

impl FractionSums {
    /// Adds an event.
    pub fn add(&mut self, weight: f64, fraction: f64) {
        self.weights += weight;
        self.decayed += weight * fraction;
        self.largest = self.largest.max(fraction);
        self.events += 1.0;
        self.fractions += fraction;
    }

    /// The average fraction, weighted by the events.
    pub fn mean(&self) -> f64 {
        let same = (self.fractions - self.events * self.largest).abs() <= 1e-12 * self.fractions;
        match self.weights == 0.0 || same {
            true => self.largest,
            false => self.decayed / self.weights,
        }
    }
}

/// Branching fractions by which the events were multiplied.
#[derive(Clone, Debug, Default)]
pub struct Ratios {
    /// All events.
    pub all: FractionSums,
    /// Events by LPRUP.
    pub processes: HashMap<i32, FractionSums>,
}

/// A number, padded to [`COLUMNS`].
pub fn number(value: f64) -> String {
    let mut text = Vec::new();
    push_scientific(&mut text, value, 10, true);
    format!("{:<COLUMNS$}", String::from_utf8_lossy(&text))
}

/// The text before the first event, with the block `done` added.
pub fn text(head: &Head, done: &str, ratios: &Ratios) -> Vec<u8> {
    let mut bytes = head.bytes.clone();
    // From the end to the beginning, so that earlier positions stay valid.
    if let Some(init) = head.init_contents() {
        let contents = String::from_utf8_lossy(&head.bytes[init.clone()]).into_owned();
        let with = processes(&contents, ratios);
        bytes.splice(init, with.into_bytes());
    }
    let (place, block) = match head.header_end {
        Some(end) => (end, done.to_owned()),
        None => (
            head.init.unwrap_or(head.bytes.len()),
            format!("<header>\n{done}</header>\n"),
        ),
    };
    bytes.splice(place..place, block.into_bytes());
    let begin = find(&head.bytes, b"<MGGenerationInfo>");
    let end = find(&head.bytes, b"</MGGenerationInfo>");
    if let (Some(begin), Some(end)) = (begin, end)
        && begin < end
        && end <= place
    {
        let contents = String::from_utf8_lossy(&head.bytes[begin..end]).into_owned();
        let with: String = contents
            .split_inclusive('\n')
            .map(|line| information(line, ratios))
            .collect();
        bytes.splice(begin..end, with.into_bytes());
    }
    bytes
}

/// The contents of `<init>` with new cross sections, their errors and XMAXUP.
fn processes(contents: &str, ratios: &Ratios) -> String {
    let mut found = String::new();
    // The first line that is not empty describes the beams.
    let mut is_first = true;
    for line in contents.split_inclusive('\n') {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Option<Vec<f64>> = words.iter().map(|word| real(word)).collect();
        match (
            numbers.as_deref(),
            words.last().and_then(|word| word.parse::<i32>().ok()),
        ) {
            (Some(&[section, error, largest, _]), Some(process)) if !is_first => {
                let own = ratios.processes.get(&process).copied().unwrap_or_default();
                let [section, error, largest] = [
                    section * own.mean(),
                    error * own.mean(),
                    largest * own.largest,
                ]
                .map(number);
                let _ = writeln!(found, "{section} {error} {largest} {process}");
            }
            _ => found.push_str(line),
        }
        is_first &= words.is_empty();
    }
    found
}

/// A line of MG5aMC's `<MGGenerationInfo>`: all numbers but the number of events are multiplied by the fraction.
fn information(line: &str, ratios: &Ratios) -> String {
    let with = || {
        let (name, value) = line.rsplit_once(':')?;
        let value = real(value.trim()).filter(|_| !name.contains("Events"))?;
        Some(format!("{name}: {}\n", number(value * ratios.all.mean())))
    };
    with().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_lhe::Reader;
    use std::io::Cursor;
    use std::path::Path;

    #[test]
    fn cross_sections_have_their_fractions() {
        let file = "<LesHouchesEvents version=\"3.0\">\n<header>\n<MGGenerationInfo>\n#  Number of Events : 10\n\
                    #  Integrated weight (pb)  :  500.0\n</MGGenerationInfo>\n</header>\n<init>\n\
                    2212 2212 6500. 6500. 0 0 1 1 -4 2\n4.0e2 2. 4.0e2 1\n1.0D+02 1. 1.0e2 2\n\
                    <generator name='x'>y</generator>\n</init>\n</LesHouchesEvents>\n";
        let reader =
            Reader::new(Box::new(Cursor::new(file)), Path::new("f"), true).expect("it is whole");
        let mut ratios = Ratios::default();
        for (process, fraction) in [(1, 0.5), (1, 0.5), (2, 0.25), (2, 0.75)] {
            ratios.all.add(1.0, fraction);
            ratios
                .processes
                .entry(process)
                .or_default()
                .add(1.0, fraction);
        }
        let found = text(reader.head(), "<madspin>\n</madspin>\n", &ratios);
        let found = String::from_utf8(found).expect("text");
        let lines: Vec<&str> = found.lines().map(str::trim_end).collect();
        assert_eq!(lines[3], "#  Number of Events : 10");
        assert_eq!(lines[4], "#  Integrated weight (pb)  : +2.5000000000e+02");
        assert_eq!(lines[6..9], ["<madspin>", "</madspin>", "</header>"]);
        let words = |line: &str| {
            line.split_whitespace()
                .map(|word| real(word).expect("a number"))
                .collect::<Vec<_>>()
        };
        assert_eq!(words(lines[11]), [200.0, 1.0, 200.0, 1.0]);
        assert_eq!(words(lines[12]), [50.0, 0.5, 75.0, 2.0]);
        assert_eq!(lines[13], "<generator name='x'>y</generator>");
        // The length does not depend on the numbers.
        assert_eq!(
            text(reader.head(), "<madspin>\n</madspin>\n", &Ratios::default()).len(),
            found.len()
        );
    }
}
