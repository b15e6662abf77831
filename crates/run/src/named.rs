//! A process given by its name instead of an MG5aMC output: its matrix elements, their diagrams, and its cards.

use crate::output::{Config, DiagramLine, Directory, absolute};
use crate::param_card;
use mebridge::generate::MatrixElements;
use mebridge::generate::lines::{ChannelLines, DiagramLines};
use mebridge::locate::process_text;
use mebridge::model::Model;
use mebridge::model::dependent::DependentValues;
use mebridge::models;
use mebridge::process::Process;
use mebridge::runtime::ProcessChoice;
use mebridge::{Error, Result};
use mebridge_phasespace::clustering::Forced;
use mebridge_support::files::temporary::Temporary;
use mebridge_support::sorted::SortedSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Absolute PDG codes of particles for which the default beams are protons.
const PARTONS: [i32; 7] = [1, 2, 3, 4, 5, 21, 22];
/// The incoming legs as bit masks.
const FIRST: u32 = 1;
const SECOND: u32 = 2;

/// Everything that a run takes from an output, for a process given by its name.
#[derive(Debug)]
pub struct NamedProcess {
    /// The folder that `Events` is in.
    pub path: PathBuf,
    /// The process text.
    pub process: String,
    /// A model file or a UFO folder; `None` for the Standard Model.
    pub model: Option<PathBuf>,
    /// Its matrix elements, with the values of the model's card.
    pub processes: Vec<Process>,
    /// The process number (`@`) of each matrix element.
    pub numbers: Vec<u32>,
    /// Masses and widths that the parameter card need not have.
    pub dependent: DependentValues,
    described: Vec<DiagramLines>,
    pdf_data: Option<PathBuf>,
    cards: Temporary,
}

impl NamedProcess {
    /// Generates a process.
    ///
    /// Args: `folder` is the one that `Events` is in; `pdf_data` is an output or MG5aMC folder that has the grids of
    /// `nn23lo1` and others.
    ///
    /// # Errors
    /// The model or process does not exist, or the process has too many diagrams.
    pub fn new(
        process: &str,
        model: Option<&Path>,
        folder: &Path,
        pdf_data: Option<&Path>,
    ) -> Result<Self> {
        let name = models::for_process(process, model);
        let generated = Generated::new(process, &models::model(name.as_deref())?)?;
        let Generated {
            described,
            processes,
            numbers,
            dependent,
            card,
        } = generated;
        let cards = Temporary::folder(&std::env::temp_dir(), 0o700);
        let cards = cards.map_err(Error::io(std::env::temp_dir()))?;
        let own: Vec<&[i32]> = described.iter().map(|lines| &lines.legs[..]).collect();
        let run_card = run_card(match decays(&processes) {
            true => &[],
            false => &own,
        });
        for (name, text) in [("param_card.dat", card), ("run_card.dat", run_card)] {
            let file = cards.path().join(name);
            std::fs::write(&file, text).map_err(Error::io(file))?;
        }
        Ok(NamedProcess {
            path: absolute(folder),
            process: process.to_owned(),
            model: model.map(Path::to_owned),
            processes,
            numbers,
            dependent,
            described,
            pdf_data: pdf_data.map(absolute),
            cards,
        })
    }

    /// One directory for each matrix element.
    ///
    /// # Errors
    /// All diagrams of a matrix element have vertices with more than three legs.
    pub fn directories(&self) -> Result<Vec<Directory>> {
        let numbered = (1..).zip(&self.described);
        numbered.map(|(number, of)| directory(of, number)).collect()
    }

    /// Whether the process is a decay of one particle.
    pub fn decays(&self) -> bool {
        decays(&self.processes)
    }

    /// The path of the model's parameter card, or of a run card with MG5aMC's defaults.
    pub fn card(&self, name: &str) -> PathBuf {
        self.cards.path().join(name)
    }

    /// The MG5aMC commands that would write an output of this process.
    pub fn steps(&self) -> String {
        let lines = self.process.split([';', '\n']).map(str::trim);
        let (mut found, mut first, mut imported) = (Vec::new(), true, false);
        for line in lines.filter(|line| !line.is_empty()) {
            let word = line.split_whitespace().next();
            imported |= word == Some("import");
            let before = match (word, first) {
                (Some("define" | "set" | "import" | "generate" | "add"), _) => "",
                (_, true) => "generate ",
                (_, false) => "add process ",
            };
            first &= matches!(word, Some("define" | "set" | "import"));
            found.push(format!("{before}{line}"));
        }
        if !imported {
            let model = self.model.as_deref().unwrap_or("sm".as_ref());
            found.insert(0, format!("import model {}", model.display()));
        }
        found.join("\n")
    }

    /// The folder that contains `lib/Pdfdata`.
    ///
    /// # Errors
    /// No folder is given, or it has no such data.
    pub fn data(&self) -> Result<PathBuf> {
        let Some(given) = &self.pdf_data else {
            return Err(Error::run(
                "the run card's pdlabel is about grids that MG5aMC puts into its outputs",
                "give --pdf-data (pdf_data): an output, or the folder of MG5aMC; or set pdlabel to lhapdf, with a set \
                 below LHAPDF_DATA_PATH; or lpp1 and lpp2 to 0 where the beams are the particles of the process",
            ));
        };
        let mut places = [given.clone(), given.join("Template/LO")].into_iter();
        let found = places.find(|place| place.join("lib/Pdfdata").is_dir());
        found.ok_or_else(|| {
            let what = format!("{} has no lib/Pdfdata", given.display());
            let cure = "--pdf-data (pdf_data) is an output of MG5aMC, or the folder of MG5aMC";
            Error::run(what, cure)
        })
    }
}

/// The path of a model, absolute if it exists; suffixes for its scheme stay.
pub fn model_path(model: &Path) -> PathBuf {
    let (plain, scheme) = models::scheme(model);
    let there = plain.exists() || models::ufo(&plain).is_some();
    let mut found = if there { absolute(&plain) } else { plain }.into_os_string();
    found.push(scheme.suffix());
    found.into()
}

/// The result of generating a process text with a model.
struct Generated {
    described: Vec<DiagramLines>,
    processes: Vec<Process>,
    /// The process number of each matrix element.
    numbers: Vec<u32>,
    dependent: DependentValues,
    /// The text of the model's parameter card.
    card: String,
}

impl Generated {
    fn new(text: &str, model: &Model) -> Result<Generated> {
        let choice = ProcessChoice::parse(text);
        let (text, chosen) = match (process_text(&choice.path), choice.element) {
            (Some(text), Some(number)) => (text, Some(number)),
            _ => (text, None),
        };
        let elements = MatrixElements::parse(text, model)?;
        let places = match chosen {
            None => 0..elements.len(),
            Some(number) if number <= elements.len() => number - 1..number,
            Some(number) => {
                let names = elements.names();
                return Err(mebridge::generate::choose_process(
                    &choice.path,
                    Some(&number),
                    &names,
                ));
            }
        };
        let lines = |place: usize| {
            elements.lines(place)?.ok_or_else(|| {
                let number = place + 1;
                let what = format!(
                    "the diagrams of matrix element {number} of {text} are too many to be listed, and events are \
                     clustered along them"
                );
                Error::run(what, "ask for fewer particles")
            })
        };
        let described = places.clone().map(lines).collect::<Result<_>>()?;
        let numbers = places.clone().map(|place| elements.number(place));
        let numbers = numbers.collect();
        let processes = places.map(|place| elements.process(place));
        let scales = model.running.iter().filter(|set| set.refused.is_none());
        let scales = scales.map(|set| (set.block.as_str(), set.scale)).collect();
        Ok(Generated {
            described,
            processes: processes.collect::<Result<_>>()?,
            numbers,
            dependent: model.dependent_values().map_err(|what| {
                let what = format!("masses and widths of the model {}: {what}", model.name);
                Error::run(what, "correct the model")
            })?,
            card: param_card::text(&model.card, &scales),
        })
    }
}

fn decays(processes: &[Process]) -> bool {
    let legs = processes.first().map(|process| &process.legs);
    legs.is_some_and(|legs| legs.iter().filter(|leg| leg.incoming).count() == 1)
}

/// A matrix element as a directory of its own; `number` counts from 1.
fn directory(described: &DiagramLines, number: usize) -> Result<Directory> {
    let DiagramLines { legs, colors, .. } = described;
    let config = |(place, diagram): (u32, &ChannelLines)| {
        if diagram.largest_vertex > 3 {
            let codes: Vec<String> = legs.iter().map(i32::to_string).collect();
            let what = format!(
                "all diagrams of {} (PDG codes) have vertices of {} particles, along which events are not clustered",
                codes.join(" "),
                diagram.largest_vertex
            );
            return Err(Error::run(what, "take an output of MG5aMC"));
        }
        Ok(Config {
            number: place,
            lines: lines(described, diagram),
            diagrams: vec![diagram.diagram],
            nqcd: diagram.qcd as i32,
        })
    };
    let configs = (1..).zip(&described.diagrams).map(config);
    let colors = colors.iter().map(|(&code, &color)| (code, color.into()));
    Ok(Directory {
        path: format!("matrix element {number}").into(),
        legs: vec![legs.clone()],
        configs: configs.collect::<Result<_>>()?,
        colors: Some(colors.collect()),
    })
}

/// The propagators of a diagram in the order of `configs.inc`: s-channel lines from the external legs inwards, then
/// t-channel lines starting at the first beam.
fn lines(described: &DiagramLines, diagram: &ChannelLines) -> Vec<DiagramLine> {
    let legs = &described.legs;
    let everything = (1 << legs.len()) - 1;
    let (mut timelike, mut between) = (Vec::new(), Vec::new());
    for line in &diagram.lines {
        let ahead = everything & !line.legs;
        if (line.legs & FIRST != 0) != (line.legs & SECOND != 0) {
            let side = if line.legs & FIRST != 0 {
                line.legs
            } else {
                ahead
            };
            between.push((side, line.pdg.abs(), Forced::No));
            continue;
        }
        let forced = Forced::try_from(line.forced).unwrap_or_default();
        let anti = Some(-line.pdg).filter(|code| described.colors.contains_key(code));
        timelike.push(match line.legs & FIRST {
            0 => (line.legs, line.pdg, forced),
            _ => (ahead, anti.unwrap_or(line.pdg), forced),
        });
    }
    if !between.is_empty() {
        // `configs.inc` ends with a line for the second beam, with the code of that beam.
        between.push((everything - SECOND, legs[1].abs(), Forced::No));
    }
    let mut found = Vec::new();
    let mut known: SortedSet<u32> = (0..legs.len()).map(|leg| 1 << leg).collect();
    for (spacelike, mut some) in [(false, timelike), (true, between)] {
        some.sort_by_key(|(side, ..)| side.count_ones());
        for (side, code, forced) in some {
            let mut parts = known.iter().map(|&one| [one, side & !one]);
            let daughters = parts.find(|[one, other]| one | other == side && known.contains(other));
            found.push(DiagramLine {
                legs: side,
                daughters: daughters.expect("lines of a tree"),
                codes: vec![code],
                spacelike,
                forced,
            });
            known.insert(side);
        }
    }
    found
}

/// A run card with the defaults that MG5aMC sets for a process: beams without partons are the incoming particles
/// themselves.
///
/// Args: `legs` are the PDG codes of each matrix element, which has two incoming legs; empty for decays.
fn run_card(legs: &[&[i32]]) -> String {
    let mut text = "# What is not here has MG5aMC's default.\n".to_owned();
    let partons = |beam: usize| legs.iter().any(|l| PARTONS.contains(&l[beam].abs()));
    let whole: Vec<usize> = (0..2)
        .filter(|&b| !legs.is_empty() && !partons(b))
        .collect();
    let energy = if whole.len() == 2 { 500 } else { 1000 };
    for beam in &whole {
        let beam = beam + 1;
        let _ = writeln!(text, "0 = lpp{beam}\n{energy} = ebeam{beam}");
    }
    if whole.len() == 2 {
        text += "False = use_syst\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::model::CardEntry;
    use mebridge_support::sorted::SortedMap;

    fn named(process: &str) -> NamedProcess {
        NamedProcess::new(process, None, ".".as_ref(), None).unwrap()
    }

    fn directory(process: &str) -> Directory {
        named(process).directories().unwrap().swap_remove(0)
    }

    /// The expected values here and in the next test are from the Python package.
    #[test]
    fn a_diagram_is_what_mg5amc_lists() {
        let found = directory("u u~ > t t~");
        let line = DiagramLine {
            legs: 12,
            daughters: [4, 8],
            codes: vec![21],
            spacelike: false,
            forced: Forced::No,
        };
        let config = Config {
            number: 1,
            lines: vec![line],
            diagrams: vec![1],
            nqcd: 2,
        };
        assert_eq!(found.legs, [[2, -2, 6, -6]]);
        assert_eq!(found.configs, [config]);
        assert_eq!(found.name(), "matrix element 1");
    }

    #[test]
    fn lines_between_the_beams_begin_at_the_first() {
        let found = directory("g u > w+ z d");
        let sides = |config: &Config| config.lines.iter().map(|l| l.legs).collect::<Vec<_>>();
        // The gluon splits into d~ and d, and the d~ emits the W.
        let mut configs = found.configs.iter();
        let config = configs
            .find(|config| sides(config) == [17, 21, 29])
            .unwrap();
        let lines = config.lines.iter();
        let found: Vec<(i32, [u32; 2], bool)> = lines
            .map(|l| (l.codes[0], l.daughters, l.spacelike))
            .collect();
        let wanted = [(1, [1, 16], true), (2, [4, 17], true), (2, [8, 21], true)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn particles_that_decayed_and_those_after_a_dollar() {
        let found = directory("u u~ > t t~, t > w+ b");
        let lines = found.configs[0].lines.iter();
        let found: Vec<(i32, u32, Forced)> =
            lines.map(|l| (l.codes[0], l.legs, l.forced)).collect();
        assert_eq!(found, [(6, 12, Forced::On), (21, 28, Forced::No)]);
        let found = directory("u u~ > e+ e- $ z");
        let lines = found.configs.iter().flat_map(|config| &config.lines);
        let found: Vec<(i32, Forced)> = lines.map(|l| (l.codes[0], l.forced)).collect();
        assert_eq!(found, [(22, Forced::No), (23, Forced::Off)]);
    }

    #[test]
    fn colours_of_all_flavours() {
        let colors = directory("u d~ > w+ g").colors().unwrap();
        assert_eq!(
            [2, -1, 21, 24, -24].map(|code| colors[&code]),
            [3, -3, 8, 1, 1]
        );
        let colors = directory("p p > w+").colors().unwrap();
        assert_eq!([4, -3].map(|code| colors[&code]), [3, -3]);
    }

    #[test]
    fn one_of_several_matrix_elements() {
        let found = named("p p > t t~#2");
        assert_eq!(found.processes.len(), 1);
        assert_eq!(found.directories().unwrap()[0].legs, [[2, -2, 6, -6]]);
        let error = NamedProcess::new("p p > t t~#3", None, ".".as_ref(), None).unwrap_err();
        assert!(error.to_string().contains("no number 3"), "{error}");
    }

    #[test]
    fn what_stands_in_the_banner() {
        let found = named("define q = u u~; q q > z;add process u u~ > z g");
        let wanted = "import model sm\ndefine q = u u~\ngenerate q q > z\nadd process u u~ > z g";
        assert_eq!(found.steps(), wanted);
        let found = named("import model sm; u u~ > z\nu u~ > z g");
        let wanted = "import model sm\ngenerate u u~ > z\nadd process u u~ > z g";
        assert_eq!(found.steps(), wanted);
        let card = std::fs::read_to_string(found.card("param_card.dat")).unwrap();
        assert!(
            card.starts_with("Block SMINPUTS\n  1 132.507 # aEWM1\n  2 1.16639e-05 # Gf\n"),
            "{card}"
        );
        assert!(
            card.ends_with("DECAY 24 2.0476 # WW\nDECAY 25 0.006382339 # WH\n"),
            "{card}"
        );
    }

    #[test]
    fn blocks_that_run_have_scales() {
        let entry = |block: &str, index: &[i32], value: f64| CardEntry {
            name: "x".to_owned(),
            block: block.to_owned(),
            index: index.to_vec(),
            value,
        };
        let entries = [
            entry("decay", &[6], 1.5),
            entry("mix", &[1, 2], 1e-5),
            entry("wilson", &[1], 1.0),
            entry("mix", &[2, 2], 1.0),
        ];
        let wanted = "Block MIX\n  1 2 1e-05 # x\n  2 2 1.0 # x\nBlock WILSON Q= 1000.0\n  1 1.0 # x\nDECAY 6 1.5 # x\n";
        assert_eq!(
            param_card::text(&entries, &SortedMap::from([("wilson", 1000.0)])),
            wanted
        );
    }

    /// The lines, but for the formula of the W, are those of MG5aMC 3.5.7 for the same card.
    #[test]
    fn the_banner_has_all_masses() {
        let found = named("u u~ > z");
        let card = std::fs::read_to_string(found.card("param_card.dat")).unwrap();
        let whole = param_card::completed(&card, &found.dependent);
        let masses = "  25 125.0 # MH\n## Dependent parameters, given by model restrictions.\n  \
                      1 0.000000e+00 # d : 0.0\n  2 0.000000e+00 # u : 0.0\n  3 0.000000e+00 # s : 0.0\n  \
                      4 0.000000e+00 # c : 0.0\n  11 0.000000e+00 # e- : 0.0\n  12 0.000000e+00 # ve : 0.0\n  \
                      13 0.000000e+00 # mu- : 0.0\n  14 0.000000e+00 # vm : 0.0\n  16 0.000000e+00 # vt : 0.0\n  \
                      21 0.000000e+00 # g : 0.0\n  22 0.000000e+00 # a : 0.0\n  24 8.041900e+01 # w+ : ";
        assert!(whole.contains(masses), "{whole}");
        let widths: Vec<&str> = whole.lines().filter(|l| l.starts_with("DECAY")).collect();
        assert_eq!(widths.len(), 17, "{whole}");
        assert_eq!(
            [widths[0], widths[3], widths[8], widths[16]],
            [
                "DECAY 6 1.4915 # WT",
                "DECAY 25 0.006382339 # WH",
                "DECAY 5 0.000000e+00 # b : 0.0",
                "DECAY 22 0.000000e+00 # a : 0.0"
            ]
        );
        // Another mass of the Z, and the W of the former card.
        let other = whole.replace("91.188 ", "90.0 ");
        let other = param_card::completed(&other, &found.dependent);
        assert!(other.contains("\n  24 7.894173e+01 # w+ : "), "{other}");
        assert_eq!(param_card::completed(&other, &found.dependent), other);
        assert!(!other.contains("QNUMBERS"));
    }

    #[test]
    fn cards_without_masses_or_what_they_need() {
        let dependent = named("u u~ > z").dependent;
        let card = "Block SMINPUTS\n  1 132.507\nDECAY 6 1.5";
        let whole = param_card::completed(card, &dependent);
        assert!(whole.contains("DECAY 6 1.5\nBlock MASS\n## Dep"), "{whole}");
        assert!(
            whole.contains("\n  11 0.000000e+00 # e- : 0.0\n"),
            "{whole}"
        );
        assert!(!whole.contains("  24 "), "{whole}");
    }

    /// As MG5aMC 3.5.7 writes cards.
    #[test]
    fn beams_are_those_of_the_process() {
        let begin = "# What is not here has MG5aMC's default.\n";
        for (process, wanted) in [
            ("p p > t t~", ""),
            ("a a > e+ e-", ""),
            (
                "mu+ mu- > w+ w-; add process mu+ mu- > z z",
                "0 = lpp1\n500 = ebeam1\n0 = lpp2\n500 = ebeam2\nFalse = use_syst\n",
            ),
            ("e- p > e- j", "0 = lpp1\n1000 = ebeam1\n"),
            ("p e+ > j e+", "0 = lpp2\n1000 = ebeam2\n"),
            ("z > e+ e-", ""),
        ] {
            let found = named(process);
            assert_eq!(found.decays(), process.starts_with('z'));
            let card = std::fs::read_to_string(found.card("run_card.dat")).unwrap();
            assert_eq!(card, format!("{begin}{wanted}"), "{process}");
        }
    }

    #[test]
    fn diagrams_along_which_nothing_is_clustered() {
        let diagram = ChannelLines {
            diagram: 1,
            qcd: 2,
            largest_vertex: 4,
            lines: Vec::new(),
        };
        let described = DiagramLines {
            legs: vec![1, -1, 2, -2],
            colors: SortedMap::from([(1, 3)]),
            diagrams: vec![diagram],
        };
        let error = super::directory(&described, 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "all diagrams of 1 -1 2 -2 (PDG codes) have vertices of 4 particles, along which events are not clustered; \
             take an output of MG5aMC"
        );
    }

    #[test]
    fn grids_are_in_an_output_or_in_mg5amc() {
        let folder = tempfile::tempdir().unwrap();
        let of =
            |given: Option<&Path>| NamedProcess::new("e+ e- > mu+ mu-", None, ".".as_ref(), given);
        let error = of(None).unwrap().data().unwrap_err().to_string();
        assert!(
            error.contains("give --pdf-data (pdf_data): an output"),
            "{error}"
        );
        let path = folder.path();
        let error = of(Some(path)).unwrap().data().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{} has no lib/Pdfdata; ", path.display())),
            "{error}"
        );
        let within = path.join("Template/LO");
        std::fs::create_dir_all(within.join("lib/Pdfdata")).unwrap();
        assert_eq!(of(Some(path)).unwrap().data().unwrap(), within);
    }

    #[test]
    fn the_cards_go_with_it() {
        let found = named("z > e+ e-");
        let card = found.card("param_card.dat");
        assert!(card.is_file());
        drop(found);
        assert!(!card.exists());
    }
}
