//! Which model processes are generated from: a file, a UFO folder, or the Standard Model that the library brings.

use crate::error::{Error, Result};
use crate::model::{Model, Scheme};
use crate::ufo::{Restriction, is_ufo, read_in};
use std::path::{Path, PathBuf};

/// The Standard Model of the library.
const STANDARD: &str = "sm";

/// The model that a user names; the library's Standard Model where none is named. A UFO folder may have `-X` behind its
/// name for its `restrict_X.dat` and `-full` for no restriction, as in MG5aMC's `import model`; behind that folder and
/// the Standard Model may stand `+complex_masses` and `+feynman`.
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
            _ => Err(fail(
                name,
                "there is neither such a model file nor such a UFO folder (with particles.py and vertices.py)",
            )),
        };
    };
    let document = read_in(&folder, &restriction, scheme)?;
    Model::from_document(document).map_err(|what| fail(&folder, &what))
}

/// A name with what says a gauge and complex masses, beside what it says already.
pub fn named(name: Option<&Path>, asked: Scheme) -> Option<PathBuf> {
    if asked == Scheme::default() {
        return name.map(Path::to_owned);
    }
    let (plain, of_name) = scheme(name.unwrap_or(Path::new(STANDARD)));
    let both = Scheme {
        complex_masses: asked.complex_masses || of_name.complex_masses,
        gauge: if asked.gauge == Default::default() {
            of_name.gauge
        } else {
            asked.gauge
        },
    };
    let mut full = plain.into_os_string();
    full.push(both.suffix());
    Some(full.into())
}

/// A model's name without what says a gauge and complex masses, and what that says.
pub fn scheme(name: &Path) -> (PathBuf, Scheme) {
    match name.to_str() {
        Some(text) if !name.exists() => {
            let (plain, scheme) = Scheme::of_name(text);
            (plain.into(), scheme)
        }
        _ => (name.to_owned(), Scheme::default()),
    }
}

/// The UFO folder that a name means, and how it is restricted.
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
