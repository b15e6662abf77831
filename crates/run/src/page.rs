//! The page about a run, `run.html`: its summary, spectra with errors, cuts and settings.

use crate::banner::CommonBanner;
use crate::event_file::InitBeams;
use crate::figures::{ScaledSpectra, figures};
use crate::markup::{Cell, document, escaped, table};
use crate::run_card::{RunCard, entries};
use crate::spectra::Spectra;
use crate::summary::{Summary, shown};
use crate::text::general;

/// File name of the page.
pub const PAGE: &str = "run.html";

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// MG5aMC's commands that define the process.
    pub process: Vec<String>,
    /// Lines about alpha_s, scales and cuts.
    pub conditions: Vec<String>,
    /// Entries of the run card that differ from their defaults: name, value and default.
    pub entries: Vec<[String; 3]>,
    /// The beams.
    pub beams: InitBeams,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The backend that evaluated matrix elements.
    pub backend: String,
    /// Number of threads.
    pub threads: usize,
    /// Names of the further weights.
    pub weights: Vec<String>,
    /// Time spent in start-up, survey and events, s.
    pub seconds: [f64; 3],
}

/// Returns the entries of a run card that differ from their defaults: name, value and default.
pub fn changed_entries(card: &RunCard) -> Vec<[String; 3]> {
    let differs = |(name, row): (&str, &entries::EntryRow)| {
        let (value, default) = (card.value(name), row.value());
        let differs = !value.is_same(&default);
        differs.then(|| [name.to_owned(), value.to_string(), default.to_string()])
    };
    entries::all().filter_map(differs).collect()
}

/// Returns the commands in a banner that define the process, without comments and MG5aMC's settings.
pub fn commands(head: &CommonBanner) -> Vec<String> {
    let text = head.cards.as_ref().map_or("", |cards| &cards.process);
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let makes = |line: &&str| {
        let first = line.split_whitespace().next();
        matches!(first, Some("import" | "define" | "generate" | "add"))
    };
    lines.filter(makes).map(str::to_owned).collect()
}

/// Returns the page. `weights` is the table of cross sections with other parameter cards, if any.
pub fn html(
    summary: &Summary,
    spectra: &Spectra,
    settings: &RunSettings,
    weights: Option<&str>,
) -> String {
    let [value, error] = shown(summary.all);
    let [symbol, unit] = summary.rate.symbol();
    let commands: Vec<String> = settings.process.iter().map(escaped).collect();
    let mut body = format!(
        "<h1>{}</h1>\n<pre>{}</pre>\n<p><strong>{symbol} = {value} ± {error} {unit}</strong>, {} events</p>\n",
        escaped(summary.name),
        commands.join("\n"),
        summary.events
    );
    body += &measured(summary);
    if let Some(weights) = weights {
        body += &format!(
            "<h2>Other parameter cards</h2>\n<pre>{}</pre>\n",
            escaped(weights.trim())
        );
    }
    body += &pictures(summary, spectra);
    body += &made_with(settings);
    document(summary.name, &body)
}

/// Returns the section on cross sections and efficiency.
fn measured(summary: &Summary) -> String {
    let (all, _) = summary.all;
    let [title, numbers] = summary.rate.titles();
    let row = |(name, measured): (&str, (f64, f64))| {
        let ([value, error], share) = (shown(measured), 100.0 * measured.0 / all);
        let numbers = [value, error, format!("{share:.2}")].map(Cell::Number);
        [vec![Cell::Text(name.to_owned())], numbers.to_vec()].concat()
    };
    let rows: Vec<Vec<Cell>> = summary.rows().map(row).collect();
    let lines: Vec<String> = summary
        .lines()
        .iter()
        .map(|line| format!("<p>{}</p>\n", escaped(line)))
        .collect();
    format!(
        "<h2>Result</h2>\n{}{}",
        table(&[title, numbers, "±", "%"], &rows),
        lines.concat()
    )
}

fn pictures(summary: &Summary, spectra: &Spectra) -> String {
    let factor = summary.all.0 / spectra.weight;
    // Weights of both signs may add up to 0.
    if spectra.all.is_empty() || !factor.is_finite() {
        return String::new();
    }
    let scaled = ScaledSpectra {
        name: summary.name.to_owned(),
        spectra,
        factor,
        origin: 0,
    };
    let symbols = summary.rate.symbol();
    format!(
        "<h2>Spectra of {} events</h2>\n<p class=\"note\">Statistical errors; % of the particles, those outside of the \
         bins included.</p>\n{}",
        spectra.events,
        figures(&[scaled], symbols)
    )
}

/// Returns the sections on settings and time.
fn made_with(settings: &RunSettings) -> String {
    let lines = settings.conditions.iter().flat_map(|line| line.split("; "));
    let lines: String = lines
        .map(|line| format!("<li>{}</li>\n", escaped(line)))
        .collect();
    let text = |cells: &[String]| cells.iter().cloned().map(Cell::Text).collect::<Vec<_>>();
    let InitBeams {
        codes,
        energies,
        densities,
    } = settings.beams;
    let beam = |of: usize| {
        let known = match densities[of] {
            0 => "none".to_owned(),
            number => number.to_string(),
        };
        text(&[codes[of].to_string(), general(energies[of]), known])
    };
    let beams: Vec<_> = (0..2).filter(|&of| codes[of] != 0).map(beam).collect();
    let changed: Vec<_> = settings.entries.iter().map(|row| text(row)).collect();
    let [start, survey, events] = settings.seconds;
    let mut body = format!(
        "<h2>Cuts and scales</h2>\n<ul>\n{lines}</ul>\n<h2>Settings</h2>\n{}{}\
         <p>Seed {}; {}, threads: {}; mebridge {}.</p>\n",
        table(
            &["beam (PDG code)", "energy, GeV", "densities (LHAPDF)"],
            &beams
        ),
        table(&["entry of the run card", "value", "default"], &changed),
        settings.seed,
        escaped(&settings.backend),
        settings.threads,
        env!("CARGO_PKG_VERSION"),
    );
    if !settings.weights.is_empty() {
        let names: Vec<String> = settings.weights.iter().map(escaped).collect();
        body += &format!(
            "<details>\n<summary>{} further weights</summary>\n<p><code>{}</code></p>\n</details>\n",
            names.len(),
            names.join(" ")
        );
    }
    body + &format!(
        "<h2>Time</h2>\n<p>Start {start:.1} s, survey {survey:.1} s, events {events:.1} s.</p>\n"
    )
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
