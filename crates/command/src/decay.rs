//! `mebridge decay`: decays the outgoing particles of the events in an LHE file.

use crate::decompress;
use crate::engine_options::{self, EngineOptions};
use crate::output;
use crate::progress::Progress;
use crate::reweight::with_stem_suffix;
use mebridge::Result;
use mebridge_decay::{DecaySummary, Maxima, Spec, SpinMode};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How spins and masses are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DecayMode {
    /// Isotropic decays of on-shell particles
    None,
    /// Spin correlations; decaying particles have the mass of the parameter card
    Onshell,
    /// Spin correlations, and masses with Breit-Wigner distributions
    #[default]
    Full,
}

impl From<DecayMode> for SpinMode {
    fn from(mode: DecayMode) -> SpinMode {
        match mode {
            DecayMode::None => SpinMode::None,
            DecayMode::Onshell => SpinMode::OnShell,
            DecayMode::Full => SpinMode::Full,
        }
    }
}

/// Decay particles of LHE events with their spins and masses, as MadSpin does
///
/// Process, model and parameters are those of the file's header, as MG5aMC and this program leave them there. Cross
/// sections and weights are multiplied by branching fractions.
#[derive(clap::Args)]
pub struct Options {
    /// File with events, gzipped or not
    #[arg(value_name = "EVENTS")]
    events: PathBuf,
    /// Decays: `t > w+ b, w+ > l+ vl`
    #[arg(value_name = "DECAY", required = true)]
    decays: Vec<String>,
    /// File to write, gzipped if its name ends in .gz [default: _decayed after the name]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// How spins and masses are treated
    #[arg(long, value_enum, default_value = "full")]
    spinmode: DecayMode,
    /// Largest distance of masses from the card's, in widths [default: bwcutoff of the run card in the header, or 15]
    #[arg(long, value_name = "N")]
    bw_cut: Option<f64>,
    /// Model: a UFO folder or a file [default: that of the header, or the Standard Model]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Parameter card [default: that of the header]
    #[arg(long, value_name = "CARD")]
    param_card: Option<PathBuf>,
    /// A label for several particles: `l = e- mu-`; several may be given
    #[arg(long = "define", value_name = "LABEL")]
    labels: Vec<String>,
    #[command(flatten)]
    engine: EngineOptions,
}

impl Options {
    /// Options for decays of the events of a run.
    pub fn for_run(events: &Path, decays: Vec<String>, seed: Option<u64>, threads: u32) -> Self {
        Options {
            events: events.to_owned(),
            decays,
            output: None,
            seed: seed.unwrap_or(1),
            spinmode: DecayMode::default(),
            bw_cut: None,
            model: None,
            param_card: None,
            labels: Vec::new(),
            engine: EngineOptions::on_cpu(threads),
        }
    }

    /// Decays, and prints what was done.
    pub fn run(self) -> Result<()> {
        output::print(&self.decay()?)
    }

    /// Decays the events, and returns a summary.
    ///
    /// # Errors
    /// As for [`mebridge_decay::decay`].
    pub fn decay(self) -> Result<String> {
        let switches = engine_options::switches(&self.engine.pairs([]))?;
        let spec = Spec {
            output: self
                .output
                .unwrap_or_else(|| with_stem_suffix(&self.events, "_decayed")),
            events: self.events,
            decays: self.decays,
            mode: self.spinmode.into(),
            seed: self.seed,
            widths: self.bw_cut,
            model: self.model.or_else(|| switches.model.clone()),
            param_card: self.param_card.or_else(|| switches.param_card.clone()),
            labels: self.labels,
            threads: switches.threads,
            switches,
        };
        let progress = Progress::new("events", 0);
        let open = || Ok(Box::new(decompress::open(&spec.events)?.input) as Box<dyn Read>);
        let summary = mebridge_decay::decay(&spec, open, |events| progress.add(events))?;
        drop(progress);
        Ok(text(&summary, &spec.output))
    }
}

/// Describes what was done.
fn text(summary: &DecaySummary, path: &Path) -> String {
    let [start, all, decays] = summary.seconds;
    let mut text = format!(
        "{}: {} events, {} with decays, in {all:.2} s ({start:.2} s to the first, {decays:.2} s in decays)\n",
        path.display(),
        summary.events,
        summary.decayed
    );
    // Writing to a String cannot fail.
    for (line, fraction) in &summary.fractions {
        let _ = writeln!(text, "branching fraction of line {line}: {fraction:.6}");
    }
    let _ = write!(text, "branching fraction of all: {:.6}", summary.fraction);
    if summary.fraction_error > 1e-6 {
        let _ = write!(
            text,
            " (partial widths are known to {:.1e})",
            summary.fraction_error
        );
    }
    text.push('\n');
    if let Some([before, after]) = summary.cross_sections {
        let _ = writeln!(
            text,
            "cross section: {:.6e} +- {:.1e} pb before, {:.6e} +- {:.1e} pb after",
            before.0, before.1, after.0, after.1
        );
    }
    if summary.correlated > 0 {
        let trials = summary.trials as f64 / summary.correlated as f64;
        let _ = writeln!(
            text,
            "trials with |M|^2 of production and decays: {trials:.2} for an event"
        );
    }
    for (what, maxima) in [
        ("events", &summary.maxima),
        ("decays by themselves", &summary.decay_maxima),
    ] {
        if maxima.taken > 0 {
            let _ = writeln!(text, "{}", above(what, maxima));
        }
    }
    text
}

/// Describes by how much weights exceeded the largest known one.
fn above(what: &str, maxima: &Maxima) -> String {
    match maxima.above {
        0 => format!("{what} with a weight above the largest known one: none"),
        above => format!(
            "{what} with a weight above the largest known one: {above} of {} ({:.1e} of all weight), up to {:.3} times",
            maxima.taken,
            maxima.excess / maxima.taken as f64,
            maxima.largest
        ),
    }
}
