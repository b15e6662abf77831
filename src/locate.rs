//! Finds the process to evaluate, and its parameter card.
//!
//! The process is, in this order:
//! 1. that of `CUDACPP_RUNTIME_PROCESS`: a process file, a `P*` directory written by MG5aMC, or a process such as
//!    `g g > t t~ g`, with spaces around `>`, which is generated;
//! 2. a process file linked into the executable: its bytes under the symbol
//!    `mebridge_process_data`, their number as a 64-bit integer under `mebridge_process_size`
//!    (link with `-rdynamic`, so that they can be found);
//! 3. the `P*` directory around the working directory, or else around the executable: the nearest
//!    one upwards that contains a `matrix<i>.f`. MadEvent runs in `P*/` and in `P*/G*/`, and builds
//!    its executables in `P*/` or in a folder of it.
//!
//! A directory may contain several matrix elements, `matrix1.f` and so on. The Fortran interface has no argument to
//! select one, so it has to be chosen by `#n` after the directory's name.
//!
//! The parameter card is that of `CUDACPP_RUNTIME_PARAMCARD`; else `Cards/param_card.dat` two levels above the
//! process's `P*` directory, or above the one of rule 3 for a process from a file. If there is none, the values stored
//! in the process are used.

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::generate::{MatrixElements, choose_process, generate_with, is_process};
use crate::import::Options;
use crate::import_cached::import_cached;
use crate::model::Model;
use crate::models;
use crate::open_widths::add_formulas;
use crate::process::Process;
use crate::process::card::Card;
use crate::process::file::EXTENSION;
use crate::process::model::CardParameter;
use crate::process::running;
use crate::runtime::{ProcessChoice, Switches};
use std::path::{Path, PathBuf};

/// A process, with the values of its card.
#[derive(Debug)]
pub struct Located {
    /// The process.
    pub process: Process,
    /// Where it comes from, for messages.
    pub origin: String,
    /// The values of the card's parameters, as [`crate::process::model::Model::card`] lists them.
    pub card: Vec<f64>,
    /// The card; `None` if the values are those stored in the process.
    pub card_path: Option<PathBuf>,
}

impl Located {
    /// Returns a block whose parameters run from an alpha_s that the card lacks, so that the program's own running of
    /// alpha_s must supply it.
    pub fn block_lacking_alpha_s(&self) -> Result<Option<&str>> {
        let card = self.card_path.as_deref().map(Card::read).transpose()?;
        Ok(running::unknown(
            &self.process.model,
            card.as_ref(),
            &self.card,
        ))
    }
}

/// Finds the process and its card.
pub fn locate(switches: &Switches) -> Result<Located> {
    let cache = Cache::new(&switches.cache);
    let (process, origin, directory, imported) = match &switches.process {
        Some(choice) if process_text(&choice.path).is_some() => {
            let process = from_text(choice, switches)?;
            (process, describe(choice), process_directory(), false)
        }
        Some(choice) if is_directory(choice, switches, &cache)? => {
            let process = from_directory(choice, switches, &cache)?;
            (process, describe(choice), Some(choice.path.clone()), true)
        }
        Some(choice) => {
            let process = from_file(choice)?;
            (process, describe(choice), process_directory(), false)
        }
        None => match linked()? {
            Some(process) => (process, LINKED.into(), process_directory(), false),
            None => {
                let path = process_directory().ok_or_else(no_process)?;
                let choice = ProcessChoice {
                    path,
                    element: None,
                };
                let process = from_directory(&choice, switches, &cache)?;
                (process, describe(&choice), Some(choice.path), true)
            }
        },
    };
    with_card(process, origin, directory, imported, switches)
}

/// Finds all processes, with their cards, if the switches name a text that stands for several; they are generated once.
/// Otherwise the one that [`locate`] finds.
pub fn locate_all(switches: &Switches) -> Result<Vec<Located>> {
    let text =
        |choice: &&ProcessChoice| choice.element.is_none() && process_text(&choice.path).is_some();
    let Some(choice) = switches.process.as_ref().filter(text) else {
        return Ok(vec![locate(switches)?]);
    };
    let processes = all_from_text(choice, switches)?;
    let several = processes.len() > 1;
    let located = (1..).zip(processes).map(|(number, process)| {
        let choice = ProcessChoice {
            path: choice.path.clone(),
            element: several.then_some(number),
        };
        with_card(
            process,
            describe(&choice),
            process_directory(),
            false,
            switches,
        )
    });
    located.collect()
}

/// Finds all matrix elements of a choice without a number, including those of a directory; otherwise the one that
/// [`locate`] finds.
pub fn locate_every(switches: &Switches) -> Result<Vec<Located>> {
    let several = |choice: &&ProcessChoice| choice.element.is_none() && choice.path.is_dir();
    let Some(choice) = switches.process.as_ref().filter(several) else {
        return locate_all(switches);
    };
    let options = Options {
        harmless_calls: &switches.harmless_calls,
        ..Options::default()
    };
    let processes = import_cached(&choice.path, &options, &Cache::new(&switches.cache))?;
    let one = processes.len() == 1;
    let located = (1..).zip(processes).map(|(number, process)| {
        let one = ProcessChoice {
            path: choice.path.clone(),
            element: (!one).then_some(number),
        };
        with_card(
            process,
            describe(&one),
            Some(choice.path.clone()),
            true,
            switches,
        )
    });
    located.collect()
}

/// Adds the card that the switches name, or that of the directory, to a process; `imported` means that the process is
/// that of the directory.
fn with_card(
    mut process: Process,
    origin: String,
    directory: Option<PathBuf>,
    imported: bool,
    switches: &Switches,
) -> Result<Located> {
    let card_path = match &switches.param_card {
        Some(path) => Some(path.clone()),
        None => directory.as_deref().and_then(card_of),
    };
    let card = match &card_path {
        Some(path) => {
            let card = Card::read(path)?;
            if let Some(directory) = directory.filter(|_| imported) {
                same_alpha_s(&directory, &process, &card)?;
                add_formulas([&mut process].into_iter(), &directory, &card)?;
            }
            process.model.card_values(&card)?
        }
        None => process.model.default_card(),
    };
    Ok(Located {
        process,
        origin,
        card,
        card_path,
    })
}

/// Refuses a card with an alpha_s other than the output's if parameters run to a scale of the output's run card:
/// alpha_s at that scale is the output's.
fn same_alpha_s(directory: &Path, process: &Process, card: &Card) -> Result<()> {
    let fixed = |p: &CardParameter| {
        matches!(running::entry(p), Some((_, "FIXED"))) && p.default > 0.0 && !card.has(p)
    };
    if !process.model.card.iter().any(fixed) {
        return Ok(());
    }
    let at_z = |card: &Card| card.number("sminputs", &[3]);
    match card_of(directory) {
        Some(path) if at_z(&Card::read(&path)?) != at_z(card) => Err(Error::Card {
            path: card.path().to_path_buf(),
            what: format!(
                "its alpha_s (3 of SMINPUTS) is another one than in {}, by which parameters of the model run to the \
                 mue_ref_fixed of the output's run card; give both the same alpha_s",
                path.display()
            ),
        }),
        _ => Ok(()),
    }
}

/// Name in messages for a process that is part of the executable.
const LINKED: &str = "the process linked into the executable";

fn describe(choice: &ProcessChoice) -> String {
    match choice.element {
        Some(n) => format!("{}#{n}", choice.path.display()),
        None => choice.path.display().to_string(),
    }
}

fn is_directory(choice: &ProcessChoice, switches: &Switches, cache: &Cache) -> Result<bool> {
    std::fs::metadata(&choice.path)
        .map(|found| found.is_dir())
        .map_err(|error| not_there(&choice.path, error, switches, cache))
}

/// Returns the error for a missing path.
fn not_there(path: &Path, error: std::io::Error, switches: &Switches, cache: &Cache) -> Error {
    use std::io::{Error as Io, ErrorKind::NotFound};
    let text = path.to_string_lossy();
    // `DIR#0`, `FILE#x`: name the existing matrix elements.
    let chosen = text.rsplit_once('#');
    if let Some((before, number)) = chosen.filter(|(before, _)| Path::new(before).exists()) {
        let before = ProcessChoice {
            path: before.into(),
            element: None,
        };
        let options = Options {
            harmless_calls: &switches.harmless_calls,
            ..Options::default()
        };
        let processes = match before.path.is_dir() {
            true => import_cached(&before.path, &options, cache),
            false => from_file(&before).map(|process| vec![process]),
        };
        let names = processes.map(|all| all.into_iter().map(|p| p.name).collect::<Vec<_>>());
        return names.map_or_else(
            |error| error,
            |names| choose_process(&before.path, Some(&number), &names),
        );
    }
    let words = text.trim().is_empty() || text.contains(' ') && !text.contains('/');
    if error.kind() == NotFound && words {
        let what = "no file, and no process, which has a `>` in it, as `g g > t t~ g`";
        return Error::io(format!("`{text}`"))(Io::new(NotFound, what));
    }
    Error::io(path)(error)
}

fn from_directory(choice: &ProcessChoice, switches: &Switches, cache: &Cache) -> Result<Process> {
    let options = Options {
        harmless_calls: &switches.harmless_calls,
        ..Options::default()
    };
    if choice.element.is_some() {
        let one = Options {
            element: choice.element,
            ..options
        };
        if let Some(process) = import_cached(&choice.path, &one, cache)?.pop() {
            return Ok(process);
        }
    }
    choose(choice, import_cached(&choice.path, &options, cache)?)
}

/// Returns the text of a process to generate, if the choice is not a file.
pub fn process_text(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_process(text))
}

/// Generates all processes that a text stands for.
pub fn all_from_text(choice: &ProcessChoice, switches: &Switches) -> Result<Vec<Process>> {
    let text = process_text(&choice.path).unwrap_or_default();
    generate_with(text, &model_of(text, switches)?)
}

/// Returns the model of a text.
fn model_of(text: &str, switches: &Switches) -> Result<Model> {
    models::model(models::for_process(text, switches.model.as_deref()).as_deref())
}

/// Generates the chosen process only; the others are not assembled.
fn from_text(choice: &ProcessChoice, switches: &Switches) -> Result<Process> {
    let text = process_text(&choice.path).unwrap_or_default();
    let model = model_of(text, switches)?;
    let elements = MatrixElements::parse(text, &model)?;
    elements.process(place(choice, &elements.names())?)
}

/// Returns the chosen one of several processes.
fn choose(choice: &ProcessChoice, mut processes: Vec<Process>) -> Result<Process> {
    let names: Vec<String> = processes.iter().map(|p| p.name.clone()).collect();
    Ok(processes.swap_remove(place(choice, &names)?))
}

/// Returns the index of the chosen process among those with these names.
fn place(choice: &ProcessChoice, names: &[String]) -> Result<usize> {
    match choice.element {
        None if names.len() == 1 => Ok(0),
        None => Err(choose_process(&choice.path, None, names)),
        Some(n) if n <= names.len() => Ok(n - 1),
        Some(n) => Err(choose_process(&choice.path, Some(&n), names)),
    }
}

fn from_file(choice: &ProcessChoice) -> Result<Process> {
    let process = Process::read(&choice.path)?;
    match choice.element {
        None | Some(1) => Ok(process),
        Some(n) => Err(choose_process(&choice.path, Some(&n), &[process.name])),
    }
}

fn no_process() -> Error {
    let place = |path: std::io::Result<PathBuf>| {
        path.map_or_else(|_| "unknown".into(), |p| p.display().to_string())
    };
    Error::NoProcess {
        working: place(std::env::current_dir()),
        executable: place(std::env::current_exe()),
        extension: EXTENSION,
    }
}

/// Returns the `P*` directory around the working directory, or else around the executable.
fn process_directory() -> Option<PathBuf> {
    let around_executable = || {
        let executable = std::env::current_exe().ok()?;
        around(executable.parent()?)
    };
    std::env::current_dir()
        .ok()
        .and_then(|d| around(&d))
        .or_else(around_executable)
}

/// Returns the nearest directory upwards that contains a `matrix<i>.f`.
fn around(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|d| has_matrix(d))
        .map(Path::to_owned)
}

fn has_matrix(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    entries.flatten().any(|entry| {
        entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix("matrix")?.strip_suffix(".f"))
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()))
    })
}

/// Returns `../../Cards/param_card.dat` of a `P*` directory, if it exists.
fn card_of(directory: &Path) -> Option<PathBuf> {
    // Without links and dots, so that `..` is the parent folder.
    let directory = directory.canonicalize().ok()?;
    let card = directory.parent()?.parent()?.join("Cards/param_card.dat");
    card.exists().then_some(card)
}

/// Returns the process linked into the executable, if there is one.
#[cfg(unix)]
fn linked() -> Result<Option<Process>> {
    // SAFETY: dlsym is called with a C string; it returns null if there is no such symbol.
    let (data, size) = unsafe {
        (
            libc::dlsym(libc::RTLD_DEFAULT, c"mebridge_process_data".as_ptr()),
            libc::dlsym(libc::RTLD_DEFAULT, c"mebridge_process_size".as_ptr()),
        )
    };
    if data.is_null() {
        return Ok(None);
    }
    if size.is_null() {
        return Err(Error::LinkedProcess);
    }
    // SAFETY: the program that defines these symbols guarantees that the first is the beginning of as many bytes as the
    // second states.
    let bytes = unsafe {
        let size = size.cast::<u64>().read_unaligned();
        std::slice::from_raw_parts(data.cast::<u8>(), size as usize)
    };
    Process::from_bytes(bytes, Path::new(LINKED)).map(Some)
}

#[cfg(not(unix))]
fn linked() -> Result<Option<Process>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::example;
    use std::fs;

    #[test]
    fn the_nearest_directory_upwards_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("SubProcesses/P1_gg_ttx/G1/deeper");
        fs::create_dir_all(&inner).unwrap();
        let p = folder.path().join("SubProcesses/P1_gg_ttx");
        fs::write(p.join("matrix.f"), "").unwrap();
        fs::write(p.join("matrix1_orig.f"), "").unwrap();
        assert_eq!(around(&inner), None);
        fs::write(p.join("matrix2.f"), "").unwrap();
        assert_eq!(around(&inner), Some(p.clone()));
        assert_eq!(card_of(&p), None);
        let cards = folder.path().join("Cards");
        fs::create_dir(&cards).unwrap();
        fs::write(cards.join("param_card.dat"), "").unwrap();
        let card = card_of(&p).unwrap();
        assert_eq!(card, cards.canonicalize().unwrap().join("param_card.dat"));
        // A name with dots or links in it means the same directory.
        assert_eq!(card_of(&p.join("G1/..")).unwrap(), card);
    }

    #[test]
    fn what_is_neither_a_file_nor_a_process_is_told() {
        let missing = |text: &str| {
            let error = fs::metadata(text).unwrap_err();
            let cache = Cache::new(&Switches::default().cache);
            not_there(Path::new(text), error, &Switches::default(), &cache)
        };
        for text in ["", " ", "p p t t~"] {
            let error = missing(text).to_string();
            assert_eq!(
                error,
                format!(
                    "`{text}`: no file, and no process, which has a `>` in it, as `g g > t t~ g`"
                )
            );
        }
        let error = missing("no/such file");
        assert!(
            error
                .to_string()
                .starts_with("no/such file: No such file or directory")
        );
    }

    #[test]
    fn a_file_is_located() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scalars.mebridge");
        let mut process = example::scalars();
        process.model.card[0].default = 90.0;
        process.write(&path).unwrap();
        let switches = |choice: String| Switches {
            process: Some(ProcessChoice::parse(choice)),
            ..Switches::default()
        };
        let name = path.display();
        let located = locate(&switches(name.to_string())).unwrap();
        assert_eq!(located.process, process);
        assert_eq!(located.card, [90.0]);
        assert_eq!(located.card_path, None);
        locate(&switches(format!("{name}#1"))).unwrap();
        let text = locate(&switches(format!("{name}#2")))
            .unwrap_err()
            .to_string();
        assert!(text.contains("no number 2"), "{text}");
        for choice in ["0", "x", "-1"] {
            let text = locate(&switches(format!("{name}#{choice}"))).unwrap_err();
            let text = text.to_string();
            assert!(text.contains(&format!("no number {choice}; ")), "{text}");
        }
        let text = locate(&switches("/no/such/P1".into()))
            .unwrap_err()
            .to_string();
        assert!(text.contains("/no/such/P1"), "{text}");
    }

    #[test]
    fn a_process_is_generated() {
        let switches = |choice: &str| Switches {
            process: Some(ProcessChoice::parse(choice)),
            ..Switches::default()
        };
        let located = locate(&switches("g g > t t~")).unwrap();
        assert_eq!(located.process.diagrams, 3);
        assert_eq!(located.origin, "g g > t t~");
        let error = locate(&switches("p p > t t~")).unwrap_err().to_string();
        assert!(error.contains("#2 u u~ > t t~"), "{error}");
        let second = locate(&switches("p p > t t~#2")).unwrap().process;
        assert_eq!(second.other_flavours.len(), 3);
        for choice in ["0", "3", "-1", "x", "1e9"] {
            let error = locate(&switches(&format!("p p > t t~#{choice}"))).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(&format!("no number {choice}; ")), "{error}");
            assert!(error.contains("#2 u u~ > t t~"), "{error}");
        }
        let all = locate_all(&switches("p p > t t~")).unwrap();
        let origins: Vec<&str> = all.iter().map(|l| l.origin.as_str()).collect();
        assert_eq!(origins, ["p p > t t~#1", "p p > t t~#2"]);
        assert_eq!(all[1].process, second);
        let one = locate_all(&switches("p p > t t~#2")).unwrap();
        assert_eq!((one.len(), &one[0].process), (1, &second));
    }

    #[test]
    fn a_card_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scalars.mebridge");
        example::scalars().write(&path).unwrap();
        let card = folder.path().join("card.dat");
        fs::write(&card, "BLOCK MASS\n  25 8.0e1 # MPHI\n").unwrap();
        let mut switches = Switches {
            process: Some(ProcessChoice::parse(&path)),
            param_card: Some(card.clone()),
            ..Switches::default()
        };
        let located = locate(&switches).unwrap();
        assert_eq!(located.card, [80.0]);
        assert_eq!(located.card_path, Some(card));
        switches.param_card = Some(folder.path().join("missing.dat"));
        let text = locate(&switches).unwrap_err().to_string();
        assert!(text.contains("missing.dat"), "{text}");
    }
}
