//! Conversion of UFO models (arXiv:1108.2040, arXiv:2304.09883) to model files.
//!
//! A UFO model is a Python package. Here it is read as data: assignments, calls of UFO's classes, and formulas in
//! strings. None of its code is run; anything that would require that is refused, with file, line and the offending
//! text.
//!
//! | module | content |
//! |---|---|
//! | `python` | the subset of Python in such files: tokens, statements, names and objects |
//! | `formula` | formulas, with the functions of the model substituted |
//! | `source` | the content of a folder, as typed data |
//! | `imported` | the model as imported by MG5aMC |
//! | `complex_masses` | the complex-mass scheme |
//! | `values` | values of all parameters and couplings |
//! | `restrict` | restrictions by a card, as in MG5aMC |
//! | `running` | `running.py`: parameters that run |
//! | `widths` | widths that a card leaves to be computed |
//! | `document` | the resulting model file |

mod complex_masses;
mod document;
mod formula;
mod imported;
mod python;
mod restrict;
mod running;
mod source;
mod values;
mod widths;

use imported::Imported;
use mebridge_generate::model::file::Document;
use mebridge_generate::model::{Model, Scheme};
use mebridge_support::error::{Error, Result};
use source::UfoFolder;
use std::path::{Path, PathBuf};

/// The restriction of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Restriction {
    /// By `restrict_default.dat`, if it exists; MG5aMC's `import model X`.
    #[default]
    Default,
    /// None; MG5aMC's `import model X-full`.
    None,
    /// By a card: a file, or X for `restrict_X.dat` in the folder; MG5aMC's `import model M-X`.
    By(String),
}

/// Whether a folder is a UFO model.
pub fn is_ufo(folder: &Path) -> bool {
    folder.is_dir()
        && ["particles.py", "vertices.py"]
            .iter()
            .all(|file| folder.join(file).is_file())
}

/// Reads a UFO folder.
pub fn read(folder: &Path, restriction: &Restriction) -> Result<Document> {
    read_in(folder, restriction, Scheme::default())
}

/// Reads a UFO folder in a gauge, with real or complex masses.
pub fn read_in(folder: &Path, restriction: &Restriction, scheme: Scheme) -> Result<Document> {
    let fail = |what: String| Error::Model {
        path: folder.to_path_buf(),
        what,
    };
    // Without links and dots, so that the last component is a name.
    let folder_itself = folder.canonicalize().map_err(Error::io(folder))?;
    let name = folder_itself
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("ufo");
    let (card, tail) = card(&folder_itself, restriction).map_err(fail)?;
    let source = UfoFolder::read(&folder_itself, scheme.gauge).map_err(fail)?;
    let scheme = Scheme {
        gauge: source.gauge,
        ..scheme
    };
    let mut model = Imported::from_source(source).map_err(fail)?;
    if scheme.complex_masses {
        // The restriction card decides which widths are zero, but the restriction itself applies to complex values.
        if let Some(card) = &card {
            model.set_card(card).map_err(fail)?;
        }
        model.make_masses_complex(card.is_some()).map_err(fail)?;
    }
    match &card {
        Some(card) => model
            .restrict(card, &format!("{name}{tail}"))
            .map_err(fail)?,
        None => {
            values::evaluate(&model).map_err(fail)?;
        }
    }
    let full = format!("{name}{tail}{}", scheme.suffix());
    let mut document = document::document(&model, &full).map_err(fail)?;
    let known = Model::from_document(document.clone()).map_err(fail)?;
    widths::compute(&model, &known, &mut document).map_err(fail)?;
    Ok(document)
}

/// Lists the restrictions in a folder, for messages.
fn restrictions(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix("restrict_")?.strip_suffix(".dat")?;
        Some(name.to_owned())
    });
    let names: mebridge_support::sorted::SortedSet<String> = names.collect();
    match names.is_empty() {
        true => "the model has none".into(),
        false => format!("there are {}", Vec::from_iter(names).join(", ")),
    }
}

/// The card of a restriction, and its suffix to the name of the model.
fn card(
    folder: &Path,
    restriction: &Restriction,
) -> std::result::Result<(Option<PathBuf>, String), String> {
    Ok(match restriction {
        Restriction::None => (None, "-full".into()),
        Restriction::Default => {
            let card = folder.join("restrict_default.dat");
            (card.is_file().then_some(card), String::new())
        }
        Restriction::By(name) => {
            let within = folder.join(format!("restrict_{name}.dat"));
            let file = Path::new(name);
            let of_folder = folder.join(file);
            let stem = file
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or(name);
            let tail = format!("-{}", stem.strip_prefix("restrict_").unwrap_or(stem));
            let found = [within, file.to_path_buf(), of_folder]
                .into_iter()
                .find(|f| f.is_file());
            match found {
                Some(card) => (Some(card), tail),
                None => {
                    return Err(format!(
                        "there is no restriction {name}: no such file, and no restrict_{name}.dat; {}",
                        restrictions(folder)
                    ));
                }
            }
        }
    })
}
