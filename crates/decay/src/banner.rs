//! The header of an event file: how its events were made.

use mebridge::model::{Gauge, Scheme};
use mebridge::{Error, Result};
use mebridge_lhe::Head;
use mebridge_run::run_card::{self, Entries};
use std::path::{Path, PathBuf};

/// The parts of a header that decays need.
pub struct Banner {
    path: PathBuf,
    /// MG5aMC's commands, one per line.
    steps: Vec<String>,
    /// Entries of the run card.
    entries: Entries,
    /// The parameter card.
    pub card: Option<String>,
}

impl Banner {
    /// Reads the header of the file `path`.
    pub fn read(head: &Head, path: &Path) -> Banner {
        let steps = head.block("MG5ProcCard").unwrap_or_default();
        let steps = steps.replace("\\\n", " ");
        let steps = steps
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        Banner {
            path: path.to_owned(),
            steps: steps
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect(),
            entries: run_card::parse(&head.block("MGRunCard").unwrap_or_default()),
            card: head.block("slha"),
        }
    }

    /// The rest of each command that begins with `words`.
    fn after<'a>(&'a self, words: &'a str) -> impl Iterator<Item = &'a str> {
        let rest = |line: &'a String| {
            let mut rest = line.as_str();
            for word in words.split(' ') {
                rest = rest.strip_prefix(word)?;
                rest = rest
                    .starts_with(char::is_whitespace)
                    .then(|| rest.trim_start())?;
            }
            Some(rest)
        };
        self.steps.iter().filter_map(rest)
    }

    /// The model, and its mass scheme and gauge.
    pub fn model(&self) -> Option<(String, Scheme)> {
        let name = self.after("import model").last()?;
        let name = name.split_whitespace().next()?.to_owned();
        let is_complex =
            |value: &str| matches!(value.to_lowercase().as_str(), "" | "true" | "t" | "1");
        let is_feynman = |value: &str| value.eq_ignore_ascii_case("feynman");
        let scheme = Scheme {
            complex_masses: self.after("set complex_mass_scheme").any(is_complex),
            gauge: match self.after("set gauge").last().is_some_and(is_feynman) {
                true => Gauge::Feynman,
                false => Gauge::default(),
            },
        };
        Some((name, scheme))
    }

    /// `define` lines.
    pub fn labels(&self) -> String {
        let lines = self.after("define").filter(|line| !line.contains('|'));
        lines.map(|line| format!("define {line}\n")).collect()
    }

    /// The processes, one per line; empty if none is named.
    pub fn processes(&self) -> String {
        let widths = self
            .after("set zerowidth_tchannel")
            .map(|value| format!("set zerowidth_tchannel {value}\n"));
        // A later `generate` replaces the processes before it.
        let begin = self
            .steps
            .iter()
            .rposition(|line| line.starts_with("generate"));
        let lines = self.steps[begin.unwrap_or(self.steps.len())..].iter();
        let lines =
            lines.filter(|line| line.starts_with("generate") || line.starts_with("add process"));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        match lines.is_empty() {
            true => lines,
            false => widths.collect::<String>() + &lines,
        }
    }

    /// An entry of the run card.
    fn entry(&self, name: &str) -> Option<&str> {
        let mut entries = self.entries.iter().filter(|(own, _)| own == name);
        entries.next().map(|(_, value)| value.as_str())
    }

    /// `bwcutoff` of the run card.
    pub fn widths(&self) -> Option<f64> {
        self.entry("bwcutoff")?
            .parse()
            .ok()
            .filter(|cut: &f64| cut.is_finite() && *cut > 0.0)
    }

    /// Checks that |M|^2 of production, evaluated for unpolarised beams in the rest frame of the initial state, is that
    /// of the events.
    ///
    /// # Errors
    /// The beams are polarised, densities depend on helicities, or the process has polarised particles in another frame.
    pub fn check_polarisation(&self) -> Result<()> {
        for name in ["polbeam1", "polbeam2"] {
            let value = self.entry(name).unwrap_or("0");
            if value.parse() != Ok(0.0) {
                let what = format!(
                    "the run card has {name} = {value}, and production is that of beams without polarisation"
                );
                let cure = "decay with --spinmode none";
                return Err(Error::run_at(self.path.display().to_string(), what, cure));
            }
        }
        if let Some(entry) = run_card::boson_densities(&self.entries) {
            let what = format!(
                "the run card has {entry}, so bosons that come in have other densities for each helicity, and production is \
                 that of all of them alike"
            );
            let cure = "decay with --spinmode none";
            return Err(Error::run_at(self.path.display().to_string(), what, cure));
        }
        if let Some(frame) = run_card::other_frame(&self.entries)
            && self.processes().contains('{')
        {
            let what = format!(
                "the run card has {frame}, and polarised particles of the process are so in that frame, not in that of what \
                 comes in"
            );
            let cure = "decay with --spinmode none";
            return Err(Error::run_at(self.path.display().to_string(), what, cure));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_lhe::Reader;
    use std::io::Cursor;

    #[test]
    fn densities_of_helicities_are_refused() {
        let checked = |line: &str| {
            let text = format!(
                "<LesHouchesEvents>\n<header>\n<MGRunCard>\n{line}\n</MGRunCard>\n</header>\n<init>\n</init>\n"
            );
            let path = Path::new("f");
            let reader = Reader::new(Box::new(Cursor::new(text)), path, true).expect("a header");
            Banner::read(reader.head(), path).check_polarisation()
        };
        assert!(checked("iww = pdlabel").is_ok());
        let error = checked(" eva = pdlabel2 ! of beam 2").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("has pdlabel2 = eva, so bosons"), "{error}");
    }

    #[test]
    fn polarised_particles_of_another_frame_are_refused() {
        let checked = |process: &str, frame: &str| {
            let text = format!(
                "<LesHouchesEvents>\n<header>\n<MG5ProcCard>\ngenerate {process}\n</MG5ProcCard>\n<MGRunCard>\n {frame} = \
                 me_frame\n</MGRunCard>\n</header>\n<init>\n</init>\n"
            );
            let path = Path::new("f");
            let reader = Reader::new(Box::new(Cursor::new(text)), path, true).expect("a header");
            Banner::read(reader.head(), path).check_polarisation()
        };
        assert!(checked("p p > w+{0} j", "1,2").is_ok());
        assert!(checked("p p > w+ j", "3,4").is_ok());
        let error = checked("p p > w+{0} j", "3,4").unwrap_err().to_string();
        assert!(error.contains("me_frame 3,4"), "{error}");
    }
}
