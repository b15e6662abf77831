//! Loads matrix elements from a process file, a directory of MG5aMC, or a process text, with the values of a card.

use crate::element::Element;
use crate::source::Source;
use mebridge::files::regular;
use mebridge::generate::with_spaced_arrow;
use mebridge::import::Options;
use mebridge::locate::{Located, locate, locate_every, process_text};
use mebridge::models;
use mebridge::open_widths::import;
use mebridge::plan::binding::Binding;
use mebridge::process::Process;
use mebridge::process::card::Card;
use mebridge::runtime::{ProcessChoice, Switches};
use mebridge::{Error, Result};
use mebridge_sampler::parallel;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::ffi::OsStr;
use std::path::Path;

/// Largest size of a table of a directory, in bytes.
const MAX_TABLE_BYTES: u64 = 64 << 20;

/// A process with the values of a parameter card.
#[derive(Clone, Debug)]
pub struct CardedProcess {
    /// The process.
    pub process: Process,
    /// Card values in the order of the process's model.
    pub card: Vec<f64>,
    /// Number of the matrix element in its directory, from 1.
    pub number: usize,
}

impl CardedProcess {
    /// A located process with its number.
    pub fn new(located: Located, number: usize) -> CardedProcess {
        CardedProcess {
            process: located.process,
            card: located.card,
            number,
        }
    }

    /// The process with the values of the card as its defaults.
    pub fn with_card(&self) -> Process {
        self.process.with_card(&self.card)
    }
}

/// All processes of an argument: those of a directory or of a text, or the single one of a file or of `DIR#N`. `model`
/// is the model for a text.
///
/// # Errors
/// There is no process, a process cannot be read, or the card does not fit.
pub fn processes(
    argument: &OsStr,
    card: Option<&Path>,
    model: Option<&Path>,
) -> Result<Vec<CardedProcess>> {
    let choice = ProcessChoice::parse(argument);
    if choice.path.is_dir() {
        return directory(argument, card);
    }
    match process_text(&choice.path) {
        Some(text) if choice.element.is_none() => {
            let model = models::model(models::for_process(text, model).as_deref())?;
            with_card_values(mebridge::generate::generate_with(text, &model)?, card)
        }
        _ => Ok(vec![single_process(&switches(choice, card, model)?)?]),
    }
}

/// The processes of a P directory, or the single one of `DIR#N`.
///
/// # Errors
/// Those of [`processes`].
pub fn directory(argument: &OsStr, card: Option<&Path>) -> Result<Vec<CardedProcess>> {
    let choice = ProcessChoice::parse(argument);
    if choice.element.is_some() && choice.path.is_dir() {
        return Ok(vec![single_process(&switches(choice, card, None)?)?]);
    }
    let options = Options {
        card,
        harmless_calls: &Switches::from_env()?.harmless_calls,
        ..Options::default()
    };
    // The importer has already applied the card.
    with_card_values(import(&choice.path, &options)?, None)
}

/// Numbers the processes and gives them the values of a card, by default their own.
///
/// # Errors
/// The card cannot be read, or lacks a parameter.
pub fn with_card_values(
    processes: Vec<Process>,
    card: Option<&Path>,
) -> Result<Vec<CardedProcess>> {
    let card = card.map(Card::read).transpose()?;
    let sources = (1..).zip(processes).map(|(number, process)| {
        let model = &process.model;
        let card = card.as_ref().map(|card| model.card_values(card));
        Ok(CardedProcess {
            card: card.unwrap_or_else(|| Ok(model.default_card()))?,
            process,
            number,
        })
    });
    sources.collect()
}

/// The switches to locate a process. From the environment they take only the one for reading processes.
///
/// # Errors
/// A switch of the environment is invalid.
pub fn switches(
    choice: ProcessChoice,
    card: Option<&Path>,
    model: Option<&Path>,
) -> Result<Switches> {
    Ok(Switches {
        process: Some(choice),
        param_card: card.map(Path::to_owned),
        harmless_calls: Switches::from_env()?.harmless_calls,
        model: model.map(Path::to_owned),
        ..Switches::default()
    })
}

/// The one process named by the switches, with the card that the library would use.
///
/// # Errors
/// There is no such process, or there are several.
pub fn single_process(switches: &Switches) -> Result<CardedProcess> {
    let number = switches.process.as_ref().and_then(|p| p.element);
    Ok(CardedProcess::new(locate(switches)?, number.unwrap_or(1)))
}

/// Sets a parameter in all matrix elements that have it.
///
/// # Errors
/// No matrix element has it; the text lists the known parameters.
pub fn set_parameter<'a>(
    sources: impl IntoIterator<Item = &'a mut CardedProcess>,
    name: &str,
    value: f64,
) -> std::result::Result<(), String> {
    let mut known = SortedSet::new();
    let mut found = false;
    for source in sources {
        let model = &source.process.model;
        match model.card_parameter(name) {
            Some(number) => {
                source.card[number] = value;
                found = true;
            }
            None => known.extend(model.card.iter().map(|p| p.name.clone())),
        }
    }
    match found {
        true => Ok(()),
        false => Err(format!(
            "there is no parameter {name}; there are {}",
            Vec::from_iter(known).join(", ")
        )),
    }
}

/// For each matrix element whether it also stands for the process with exchanged beams: from `mirrorprocs.inc` for
/// directories; for generated processes, if the beams are the same label but the partons differ.
///
/// # Errors
/// The table is incomplete, or the two beams are the same in some processes of a text and different in others.
pub fn mirrored(choice: &ProcessChoice, processes: &[&Process]) -> Result<Vec<bool>> {
    if let Some(text) = process_text(&choice.path) {
        let same = text.split([';', '\n']).filter_map(either_beam);
        let same: SortedSet<bool> = same.collect();
        if same.len() > 1 {
            return Err(Error::Import {
                path: choice.path.clone(),
                what: "its beams are the same in some processes and different in others; take one of the two kinds at a time"
                    .to_owned(),
            });
        }
        let same = same.contains(&true);
        let differ = |p: &Process| p.legs.len() > 1 && p.legs[0].pdg != p.legs[1].pdg;
        return Ok(processes.iter().map(|p| same && differ(p)).collect());
    }
    let none = vec![false; processes.len()];
    let table = choice.path.join("mirrorprocs.inc");
    let text = match regular::read_to_string(&table, MAX_TABLE_BYTES) {
        Ok(text) => text,
        // A process file, or a standalone output.
        Err(_) if !table.exists() => return Ok(none),
        Err(error) => return Err(Error::io(&table)(error)),
    };
    // DATA (MIRRORPROCS(I),I=1,2)/.FALSE.,.TRUE./
    let text = text.to_ascii_uppercase();
    let values: Vec<bool> = text
        .split(['/', ',', '\n'])
        .filter_map(|word| match word.trim() {
            ".TRUE." => Some(true),
            ".FALSE." => Some(false),
            _ => None,
        })
        .collect();
    match choice.element {
        Some(n) if n <= values.len() => Ok(vec![values[n - 1]]),
        None if values.len() == processes.len() => Ok(values),
        _ => Err(Error::Import {
            path: table,
            what: format!(
                "it has {} values for {} matrix elements",
                values.len(),
                processes.len()
            ),
        }),
    }
}

/// Whether both beams of a statement are the same label or particle; `None` for statements without a process, such as
/// `define`.
fn either_beam(statement: &str) -> Option<bool> {
    let text = with_spaced_arrow(statement);
    let mut words = text.split_whitespace().peekable();
    while words
        .next_if(|w| ["generate", "add", "process"].contains(w))
        .is_some()
    {}
    let words: Vec<&str> = words.take(3).collect();
    match words[..] {
        [] | ["define" | "set", ..] => None,
        [one, other, ">"] => Some(one == other),
        _ => Some(false),
    }
}

/// Whether a directory requires resonances to be on shell (decay chains) or off shell (`$`), which is not part of its
/// matrix elements.
pub fn asks_for_masses(directory: &Path) -> bool {
    let text = regular::read_to_string(&directory.join("decayBW.inc"), MAX_TABLE_BYTES);
    let asks = |text: String| {
        let text = text.to_ascii_uppercase().replace(' ', "");
        // The last one is written by MG5aMC 2.
        ["/1/", "/2/", "/.TRUE./"]
            .iter()
            .any(|value| text.contains(value))
    };
    text.is_ok_and(asks)
}

/// The matrix elements of a run by cards. `parameters` override values of the card; the default card is that of the
/// model or of the output.
///
/// # Errors
/// A matrix element cannot be read, or a parameter is unknown.
pub fn load_elements(
    source: &Source,
    card: Option<&Path>,
    parameters: &SortedMap<String, f64>,
    threads: usize,
) -> Result<Vec<Element>> {
    match source {
        Source::Named(named) => {
            let choice = ProcessChoice::parse(&named.process);
            let of = with_card_values(named.processes.clone(), card)?;
            elements(0, &choice, of, parameters, threads)
        }
        Source::Output(output) => {
            let one = |number: usize| {
                let choice = ProcessChoice {
                    path: output.directories[number].clone(),
                    element: None,
                };
                let of = from_directory(&choice, card)?;
                elements(number, &choice, of, parameters, 1)
            };
            let found = parallel::collect(threads, output.directories.len(), one)?;
            Ok(found.concat())
        }
    }
}

/// The matrix elements of a process file, a directory, or a text with a model.
///
/// # Errors
/// Those of [`load_elements`].
pub fn load_process(
    process: &str,
    model: Option<&Path>,
    card: Option<&Path>,
    parameters: &SortedMap<String, f64>,
    threads: usize,
) -> Result<Vec<Element>> {
    let choice = ProcessChoice::parse(process);
    let of = match choice.element {
        None if choice.path.is_dir() => from_directory(&choice, card)?,
        _ => processes(process.as_ref(), card, model)?,
    };
    elements(0, &choice, of, parameters, threads)
}

/// A notice for runs with [`load_process`] if the directory requires on-shell or off-shell resonances, which these runs
/// ignore.
pub fn ignored_resonances(process: &str) -> Option<String> {
    let directory = ProcessChoice::parse(process).path;
    asks_for_masses(&directory).then(|| {
        format!(
            "{}: decayBW.inc asks for particles on their mass shell, or not on it ($), which runs by a run card follow; \
             here events have all virtualities",
            directory.display()
        )
    })
}

/// The matrix elements of a directory with the values of the card: those of the cached import if its inputs have not
/// changed.
fn from_directory(choice: &ProcessChoice, card: Option<&Path>) -> Result<Vec<CardedProcess>> {
    let known = Switches {
        cache: Switches::from_env()?.cache,
        ..switches(choice.clone(), card, None)?
    };
    match locate_every(&known) {
        Ok(located) => {
            let numbered = (1..).zip(located);
            Ok(numbered
                .map(|(number, one)| CardedProcess::new(one, number))
                .collect())
        }
        // Imports the directory with this card, which may succeed or give the better message.
        Err(_) => directory(choice.path.as_ref(), card),
    }
}

/// Makes matrix elements of a run from the processes of one source.
fn elements(
    source: usize,
    choice: &ProcessChoice,
    mut of: Vec<CardedProcess>,
    parameters: &SortedMap<String, f64>,
    threads: usize,
) -> Result<Vec<Element>> {
    for (name, value) in parameters {
        set_parameter(&mut of, name, *value).map_err(|what| Error::run(what, ""))?;
    }
    let processes: Vec<&Process> = of.iter().map(|one| &one.process).collect();
    let mirrored = mirrored(choice, &processes)?;
    let element = |number: usize| {
        let process = of[number].with_card();
        let binding = Binding::new(&process.model, &of[number].card)?;
        // Majorana fermions may have negative masses.
        let masses = process.legs.iter().map(|leg| binding.value(leg.mass).abs());
        let masses = masses.collect();
        Element::new(process, mirrored[number], masses, source, number)
    };
    parallel::collect(threads, of.len(), element)
}

/// Widths in the matrix elements by PDG code, GeV.
pub fn widths(elements: &[Element]) -> SortedMap<String, f64> {
    let card = elements.iter().flat_map(|of| &of.process.model.card);
    let widths = card.filter(|parameter| parameter.block == "decay");
    let by_code = widths.flat_map(|p| {
        p.index
            .iter()
            .map(|code| (code.to_string(), p.default.abs()))
    });
    by_code.collect()
}

/// The electromagnetic coupling, from aEWM1 of the first matrix element that depends on it.
pub fn alpha_qed(elements: &[Element]) -> Option<f64> {
    let inverse = elements.iter().filter_map(|element| {
        let model = &element.process.model;
        Some(model.card[model.card_parameter("aEWM1")?].default)
    });
    let inverse = inverse.filter(|inverse| *inverse != 0.0);
    inverse.map(|inverse| 1.0 / inverse.abs()).next()
}

/// The electromagnetic coupling from aEWM1 of a model (by default the Standard Model), with the value of a card or the
/// default of the model; `None` if the model has no such parameter.
pub fn model_alpha_qed(model: Option<&Path>, card: Option<&Path>) -> Option<f64> {
    let card = card.map(Card::read).transpose().ok()?;
    let found = models::model(model).ok()?.parameter("aEWM1", card.as_ref());
    let inverse = found.ok()?.re;
    (inverse != 0.0).then(|| 1.0 / inverse.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// An output of g g > t t~ without the tables of diagrams.
    fn top_pairs() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fortran/gg_ttx"))
    }

    fn with(name: &str, value: f64) -> SortedMap<String, f64> {
        SortedMap::from([(name.to_owned(), value)])
    }

    /// The expected values are from the Python package.
    #[test]
    fn a_name_is_loaded() {
        let source = Source::find("p p > t t~ j", None, None, None).unwrap();
        let card = source.card("param_card.dat").unwrap();
        for card in [None, Some(card.as_path())] {
            let found = load_elements(&source, card, &SortedMap::new(), 2).unwrap();
            let pdg: Vec<&[i32]> = found.iter().map(Element::pdg).collect();
            let wanted = [
                [21, 21, 6, -6, 21],
                [21, 2, 6, -6, 2],
                [21, -2, 6, -6, -2],
                [2, -2, 6, -6, 21],
            ];
            assert_eq!(pdg, wanted);
            let mirrored: Vec<bool> = found.iter().map(Element::is_mirrored).collect();
            assert_eq!(mirrored, [false, true, true, true]);
            assert_eq!(found[1].masses, [0.0, 0.0, 173.0, 173.0, 0.0]);
            assert_eq!(found[1].qcd_power(), Some(3));
            for (number, element) in found.iter().enumerate() {
                assert_eq!((element.source, element.number), (0, number));
                let place = source.place(element);
                assert_eq!((place.directory, place.number), (number, 0));
            }
            assert_eq!(alpha_qed(&found), None);
            assert_eq!(widths(&found), SortedMap::from([("6".to_owned(), 1.4915)]));
        }
        let parameters = with("mt", 172.5);
        let found = load_elements(&source, Some(&card), &parameters, 1).unwrap();
        assert_eq!(found[0].masses[2], 172.5);
        let error = load_elements(&source, None, &with("MX", 1.0), 1).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("there is no parameter MX; there are MDL_AS, "),
            "{error}"
        );
    }

    #[test]
    fn a_directory_is_loaded() {
        let source = Source::find(top_pairs().to_str().unwrap(), None, None, None).unwrap();
        let card = source.card("param_card.dat").unwrap();
        let found = load_elements(&source, Some(&card), &SortedMap::new(), 1).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pdg(), [21, 21, 6, -6]);
        assert_eq!(found[0].channels().len(), 3);
        let same = &source.sources()[0];
        assert_eq!(ignored_resonances(same), None);
        let same = load_process(same, None, Some(&card), &SortedMap::new(), 1);
        assert_eq!(same.unwrap()[0].process, found[0].process);
        // A card other than the directory's own, and one that lacks an entry.
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("card.dat");
        let text = std::fs::read_to_string(&card).unwrap();
        for (text, said) in [
            (text.replace("1.730000e+02", "1.70e+02"), None),
            (
                text.replace("Block mass", "Block nothing"),
                Some("there is no entry 6 of block mass"),
            ),
        ] {
            std::fs::write(&other, text).unwrap();
            let found = load_elements(&source, Some(&other), &SortedMap::new(), 1);
            match said {
                None => assert_eq!(found.unwrap()[0].masses[2], 170.0),
                Some(said) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(said), "{error}");
                }
            }
        }
    }

    #[test]
    fn alpha_is_that_of_the_process_or_of_the_model() {
        let none = SortedMap::new();
        let found = load_process("e+ e- > mu+ mu-", None, None, &none, 1);
        let found = found.unwrap();
        assert_eq!(alpha_qed(&found), Some(1.0 / 132.507));
        assert_eq!(model_alpha_qed(None, None), Some(1.0 / 132.507));
    }

    #[test]
    fn beams_are_exchanged_where_a_directory_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let process = mebridge::generate("u u~ > t t~").unwrap().remove(0);
        let table = "      DATA (MIRRORPROCS(I),I=1,2)/.FALSE.,.TRUE./\n";
        std::fs::write(folder.path().join("mirrorprocs.inc"), table).unwrap();
        let found = |element: Option<usize>, count: usize| {
            let path = folder.path().to_owned();
            mirrored(&ProcessChoice { path, element }, &vec![&process; count])
        };
        assert_eq!(found(None, 2).unwrap(), [false, true]);
        assert_eq!(found(Some(2), 1).unwrap(), [true]);
        let error = found(None, 3).unwrap_err().to_string();
        assert!(
            error.ends_with("it has 2 values for 3 matrix elements"),
            "{error}"
        );
        let of = |text: &str| mirrored(&ProcessChoice::parse(text), &[&process]);
        assert_eq!(of("p p > t t~").unwrap(), [true]);
        assert_eq!(of("u u~ > t t~").unwrap(), [false]);
        let error = of("p p > t t~; u u~ > t t~").unwrap_err().to_string();
        assert!(
            error.contains("its beams are the same in some processes"),
            "{error}"
        );
    }

    #[test]
    fn what_a_directory_asks_of_masses_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        for (text, asks) in [
            ("      DATA GFORCEBW(-1,1)/0/\n", false),
            (
                "      DATA GFORCEBW(-1,1)/0/\n      DATA GFORCEBW(-1,2)/1/\n",
                true,
            ),
            ("      DATA GFORCEBW(-1,2) / 2 /\n", true),
            ("      data gForceBW(-1,1)/.true./\n", true),
        ] {
            std::fs::write(folder.path().join("decayBW.inc"), text).unwrap();
            assert_eq!(asks_for_masses(folder.path()), asks, "{text}");
        }
        assert!(!asks_for_masses(&folder.path().join("none")));
    }

    #[test]
    fn statements_before_the_process_do_not_hide_its_beams() {
        let text = "define p = p b b~; p p>t t~; add process u u~ > t t~";
        let found: Vec<_> = text.split(';').map(either_beam).collect();
        assert_eq!(found, [None, Some(true), Some(false)]);
    }
}
