//! The table of a comparison.

use mebridge_oracle::fortran_build::Answer;
use mebridge_oracle::points::Point;
use serde::{Serialize, Serializer};
use std::path::Path;

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The values agree.
    Ok,
    /// The values differ.
    Differs,
    /// mebridge does not accept the directory.
    Refused(String),
    /// gfortran does not accept the Fortran, or it cannot be called.
    FortranFails(String),
    /// The Fortran ended before it had answered.
    FortranEnds(String),
    /// There are no events for the process.
    NoEvents(String),
}

impl Verdict {
    fn text(&self) -> String {
        match self {
            Verdict::Ok => "ok".into(),
            Verdict::Differs => "differs".into(),
            Verdict::Refused(why) => format!("refused: {why}"),
            Verdict::FortranFails(why) => format!("Fortran does not compile: {why}"),
            Verdict::FortranEnds(why) => format!("Fortran does not run: {why}"),
            Verdict::NoEvents(why) => format!("no events: {why}"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text())
    }
}

/// One channel.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelRow {
    /// Number of its diagram.
    pub channel: u32,
    /// Largest relative difference.
    pub worst: f64,
    /// Events with another helicity.
    pub other_helicities: usize,
    /// Events with another colour flow.
    pub other_colors: usize,
}

/// Values for all events.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    /// Strong couplings.
    pub g: Vec<f64>,
    /// Momenta.
    pub momenta: Vec<Vec<f64>>,
    /// Values of the Fortran.
    pub fortran: Vec<f64>,
    /// Values of mebridge.
    pub library: Vec<f64>,
    /// Values of the Fortran in quadruple precision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quad: Vec<f64>,
}

impl Values {
    /// Makes values without those of mebridge.
    pub fn new(points: &[Point], answers: &[Answer]) -> Values {
        Values {
            g: points.iter().map(|p| p.g).collect(),
            momenta: points.iter().map(|p| p.momenta.clone()).collect(),
            fortran: answers.iter().map(|a| a.value).collect(),
            library: Vec::new(),
            quad: Vec::new(),
        }
    }
}

/// One matrix element.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonRow {
    /// Its directory, with its number after `#` if there are several.
    pub directory: String,
    /// Its name as written by MG5aMC.
    pub process: String,
    /// Number of events.
    pub points: usize,
    /// Largest relative difference.
    pub worst: Option<f64>,
    /// The event with that difference, from 0.
    pub worst_event: Option<usize>,
    /// Largest relative error of the Fortran in double precision.
    pub fortran_error: Option<f64>,
    /// Largest relative error of mebridge.
    pub library_error: Option<f64>,
    /// Number of events with another helicity.
    pub other_helicities: usize,
    /// Channels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelRow>,
    /// Result.
    pub verdict: Verdict,
    /// Additional remarks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
}

impl ComparisonRow {
    /// Makes a row without results.
    pub fn new(directory: &Path, number: &str, several: bool) -> ComparisonRow {
        let mut name = directory.display().to_string();
        if several {
            name = format!("{name}#{number}");
        }
        ComparisonRow {
            directory: name,
            process: String::new(),
            points: 0,
            worst: None,
            worst_event: None,
            fortran_error: None,
            library_error: None,
            other_helicities: 0,
            channels: Vec::new(),
            verdict: Verdict::Differs,
            note: String::new(),
            values: None,
        }
    }

    /// Returns the remarks after the verdict: choices that differ, channels.
    fn remarks(&self) -> String {
        let mut remarks = Vec::new();
        if self.other_helicities > 0 {
            remarks.push(format!("{} other helicities", self.other_helicities));
        }
        if !self.channels.is_empty() {
            let worst = self.channels.iter().map(|c| c.worst).fold(0.0, f64::max);
            let count = self.channels.len();
            let mut text = format!("{count} channels to {}", short(Some(worst)));
            let sum = |f: fn(&ChannelRow) -> usize| self.channels.iter().map(f).sum::<usize>();
            let (helicities, colors) = (sum(|c| c.other_helicities), sum(|c| c.other_colors));
            if helicities + colors > 0 {
                text += &format!(", {helicities} other helicities, {colors} other colours");
            }
            remarks.push(text);
        }
        if !self.note.is_empty() {
            remarks.push(self.note.clone());
        }
        match remarks.is_empty() {
            true => String::new(),
            false => format!(" ({})", remarks.join("; ")),
        }
    }
}

fn short(x: Option<f64>) -> String {
    match x {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.1e}"),
    }
}

/// Formats all rows as a table.
pub fn table(rows: &[ComparisonRow]) -> String {
    let quad = rows.iter().any(|row| row.library_error.is_some());
    let mut heads = vec!["directory", "process", "points", "difference"];
    if quad {
        heads.extend(["Fortran error", "mebridge error"]);
    }
    heads.push("verdict");
    let mut lines: Vec<Vec<String>> = vec![heads.iter().map(|h| (*h).to_owned()).collect()];
    for row in rows {
        let mut line = vec![
            row.directory.clone(),
            row.process.clone(),
            row.points.to_string(),
            short(row.worst),
        ];
        if quad {
            line.extend([short(row.fortran_error), short(row.library_error)]);
        }
        line.push(row.verdict.text() + &row.remarks());
        lines.push(line);
    }
    let columns = heads.len();
    let width = |i: usize| {
        lines
            .iter()
            .map(|l| l[i].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (cell, width))| match i {
            _ if i + 1 == columns => cell.clone(),
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(&cells.collect::<Vec<_>>().join("  "));
        text.push('\n');
    }
    text
}
