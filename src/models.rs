//! Which model processes are generated from: a file, a UFO folder, or the Standard Model that the library brings.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::ufo::{Restriction, is_ufo, read};
use std::path::{Path, PathBuf};

/// The Standard Model of the library.
const STANDARD: &str = "sm";

/// The model that a user names; the library's Standard Model where none is named. A UFO folder may have `-X` behind its
/// name for its `restrict_X.dat` and `-full` for no restriction, as in MG5aMC's `import model`.
pub fn model(name: Option<&Path>) -> Result<Model> {
    let Some(name) = name else {
        return Model::standard();
    };
    if name.is_file() {
        return Model::read(name);
    }
    let Some((folder, restriction)) = ufo(name) else {
        return match name.to_str() {
            Some(STANDARD) => Model::standard(),
            _ => Err(Error::Model {
                path: name.to_owned(),
                what: "there is neither such a model file nor such a UFO folder (with particles.py and vertices.py)"
                    .into(),
            }),
        };
    };
    let fail = |what: String| Error::Model {
        path: folder.clone(),
        what,
    };
    Model::from_document(read(&folder, &restriction)?).map_err(fail)
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
