//! Finds the model from which processes are generated: a file, a UFO folder, or the library's Standard Model.

use crate::error::{Error, Result};
use crate::generate::imported_model;
use crate::model::{Model, Scheme};
use crate::ufo::{Restriction, is_ufo, read_in};
use std::path::{Path, PathBuf};

/// The folder of MG5aMC that contains its models.
const MODELS: &str = "models";
/// The Standard Model of the library.
const STANDARD: &str = "sm";

/// Loads the named model; the library's Standard Model if none is named. A UFO folder may be followed by `-X` for its
/// `restrict_X.dat` and `-full` for no restriction, as in MG5aMC's `import model`; after the folder and the Standard
/// Model `+complex_masses` and `+feynman` may follow.
pub fn model(name: Option<&Path>) -> Result<Model> {
    let Some(name) = name else {
        return Model::standard();
    };
    if name.is_file() {
        return Model::read(name);
    }
    let (plain, scheme) = scheme(name);
    let fail = |path: &Path, what: &str| Error::Model {
        path: path.to_owned(),
        what: what.into(),
    };
    if plain.is_file() {
        return Err(fail(
            &plain,
            "the file of a model says its masses and its gauge itself; write one of the UFO folder by `mebridge model` \
             with --complex-masses or --gauge, or name the folder",
        ));
    }
    let Some((folder, restriction)) = ufo(&plain) else {
        return match plain.to_str() {
            Some(STANDARD) if scheme == Scheme::default() => Model::standard(),
            Some(STANDARD) => Model::standard_in(scheme),
            _ => Err(fail(name, &not_found(&plain))),
        };
    };
    let document = read_in(&folder, &restriction, scheme)?;
    Model::from_document(document).map_err(|what| fail(&folder, &what))
}

/// Returns the message that a model does not exist, with the existing ones.
fn not_found(name: &Path) -> String {
    let within = models_in(name);
    if !within.is_empty() {
        return format!(
            "this folder is no UFO model, but has some: name one of {}",
            within.join(", ")
        );
    }
    let what = "there is neither such a model file nor such a UFO folder (with particles.py and vertices.py)";
    let parent = name
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let beside = models_in(parent.unwrap_or(Path::new(".")));
    match beside.is_empty() {
        true => format!(
            "{what}; those of MG5aMC lie in its folder models/, which has to be named with them"
        ),
        false => format!("{what}; there are {}", beside.join(", ")),
    }
}

/// Returns the names of UFO folders in a folder, or in its `models/`.
fn models_in(folder: &Path) -> Vec<String> {
    let inner = folder.join(MODELS);
    let folder = if inner.is_dir() { &inner } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let models = entries.filter(|entry| is_ufo(&entry.path()));
    let mut names: Vec<String> = models
        .map(|entry| entry.path().display().to_string())
        .collect();
    names.sort();
    names
}

/// Returns the name of the model for a text of processes, which may import one itself. The imported model is searched
/// in the named folder, or in MG5aMC's if that is named; without a name it is a path.
pub fn for_process(text: &str, name: Option<&Path>) -> Option<PathBuf> {
    let Some(own) = imported_model(text) else {
        return name.map(Path::to_owned);
    };
    let Some(name) = name else {
        return Some(own.into());
    };
    let (plain, scheme) = scheme(name);
    let folders = [plain.join(own), plain.join(MODELS).join(own)];
    let found = folders.into_iter().find(|folder| ufo(folder).is_some());
    Some(found.map_or_else(
        || name.to_owned(),
        |folder| {
            let mut folder = folder.into_os_string();
            folder.push(scheme.suffix());
            folder.into()
        },
    ))
}

/// Adds a gauge and complex masses to a model's name, in addition to those that it has.
pub fn named(name: Option<&Path>, requested: Scheme) -> Option<PathBuf> {
    if requested == Scheme::default() {
        return name.map(Path::to_owned);
    }
    let (plain, of_name) = scheme(name.unwrap_or(Path::new(STANDARD)));
    let both = Scheme {
        complex_masses: requested.complex_masses || of_name.complex_masses,
        gauge: if requested.gauge == Default::default() {
            of_name.gauge
        } else {
            requested.gauge
        },
    };
    let mut full = plain.into_os_string();
    full.push(both.suffix());
    Some(full.into())
}

/// Splits a model's name into the plain name, and the gauge and complex masses.
pub fn scheme(name: &Path) -> (PathBuf, Scheme) {
    match name.to_str() {
        Some(text) if !name.exists() => {
            let (plain, scheme) = Scheme::of_name(text);
            (plain.into(), scheme)
        }
        _ => (name.to_owned(), Scheme::default()),
    }
}

/// Returns the UFO folder of a name, and its restriction.
pub fn ufo(name: &Path) -> Option<(PathBuf, Restriction)> {
    if is_ufo(name) {
        return Some((name.to_owned(), Restriction::Default));
    }
    let (folder, restriction) = name.to_str()?.rsplit_once('-')?;
    let restriction = match restriction {
        "full" => Restriction::None,
        name => Restriction::By(name.to_owned()),
    };
    is_ufo(Path::new(folder)).then(|| (folder.into(), restriction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Makes a folder like MG5aMC's with these models, of which only the names are used.
    fn mg5amc(models: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for model in models {
            let model = folder.path().join(MODELS).join(model);
            fs::create_dir_all(&model).unwrap();
            for file in ["particles.py", "vertices.py"] {
                fs::write(model.join(file), "").unwrap();
            }
        }
        folder
    }

    #[test]
    fn models_are_told_where_there_are_others() {
        let folder = mg5amc(&["heft", "sm"]);
        let [root, models] = [folder.path().to_owned(), folder.path().join(MODELS)];
        let error = |name: &Path| model(Some(name)).unwrap_err().to_string();
        let both = format!("{0}/heft, {0}/sm", models.display());
        for name in [&root, &models] {
            assert!(
                error(name).contains(&format!("name one of {both}")),
                "{}",
                error(name)
            );
        }
        for name in ["loop_sm", "loop_sm-default", "hefts"] {
            let error = error(&models.join(name));
            assert!(error.contains(&format!("there are {both}")), "{error}");
        }
    }

    /// The model that a card imports is the named one; it is searched in MG5aMC's folder if that is named, and keeps
    /// the scheme.
    #[test]
    fn a_text_names_its_model() {
        let folder = mg5amc(&["heft"]);
        let [root, models] = [folder.path().to_owned(), folder.path().join(MODELS)];
        let text = "import model heft-full\ngenerate g g > h g";
        let of = |name: Option<&Path>| for_process(text, name).unwrap();
        assert_eq!(of(None), Path::new("heft-full"));
        for name in [&root, &models] {
            assert_eq!(of(Some(name)), models.join("heft-full"));
        }
        let complex = format!("{}+complex_masses", models.display());
        let found = models.join("heft-full+complex_masses");
        assert_eq!(of(Some(Path::new(&complex))), found);
        // A different model stays, and is refused when the text is read.
        assert_eq!(of(Some(Path::new("my.toml"))), Path::new("my.toml"));
        assert_eq!(for_process("g g > h g", None), None);
    }
}
