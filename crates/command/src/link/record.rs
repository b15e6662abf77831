//! The record of a link: the changes to files.

use super::card::Sizes;
use super::layout::EXECUTABLES;
use super::root::wrong;
use super::{batch, library, makefile};
use mebridge::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The folder of the record and of kept originals, within the output.
pub const FOLDER: &str = "Source/.mebridge";

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkState {
    /// In progress, or interrupted.
    Linking,
    /// Completed.
    Linked,
    /// Being undone, or the undo was interrupted: implied by the name `undo.json`, whatever the file contains.
    Unlinking,
}

/// The changes made by link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Version of mebridge.
    pub mebridge: String,
    pub state: LinkState,
    /// The linked P directories, by name.
    pub directories: Vec<String>,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One change of a file; paths are relative to the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A new file.
    Make { path: String },
    /// A new folder, which is removed when it is empty.
    MakeFolder { path: String },
    /// A changed file; the original is kept.
    Edit {
        path: String,
        kept: String,
        how: EditKind,
    },
    /// A file moved aside because it is in the way of ours, or because make builds it.
    Aside { path: String, kept: String },
}

/// The content of a change, so that it can be removed from a file that was changed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EditKind {
    /// The line of `Source/make_opts`.
    Hook,
    /// The sizes in the run card.
    RunCard(Sizes),
    /// The sizes in `Source/vector.inc`.
    Vector(Sizes),
}

impl LinkRecord {
    /// Reads a record. Changes that link never makes are refused, because undoing removes files.
    pub fn read(bytes: &[u8], path: &Path) -> Result<LinkRecord> {
        let record: LinkRecord = serde_json::from_slice(bytes).map_err(|error| {
            wrong(
                path,
                format!(
                    "it is no record of mebridge link ({error}); it was written by another version"
                ),
            )
        })?;
        let strange = record.directories.iter().find(|name| !is_directory(name));
        let strange = strange.map(String::as_str);
        let strange = strange.or_else(|| record.changes.iter().find_map(Change::strange));
        match strange {
            None => Ok(record),
            Some(name) => Err(wrong(
                path,
                format!(
                    "it names {name}, which is no file of this output that mebridge link changes: mebridge did not write it"
                ),
            )),
        }
    }

    /// Returns the numbers of the matrix elements of a linked P directory, and of colour links, as used in file names.
    pub fn numbers(&self, directory: &str) -> Vec<String> {
        let begin = format!("SubProcesses/{directory}/mebridge_matrix");
        let number = |change: &Change| {
            let rest = change.path().strip_prefix(&begin)?;
            let link = rest.strip_suffix(".f").filter(|n| n.starts_with("sf_"));
            rest.strip_suffix(".process").or(link).map(str::to_owned)
        };
        self.changes.iter().filter_map(number).collect()
    }
}

impl EditKind {
    /// Returns the file that is changed this way.
    fn path(self) -> &'static str {
        match self {
            EditKind::Hook => makefile::HOOKED,
            EditKind::RunCard(_) => batch::CARD,
            EditKind::Vector(_) => "Source/vector.inc",
        }
    }
}

impl Change {
    pub fn path(&self) -> &str {
        match self {
            Change::Make { path }
            | Change::MakeFolder { path }
            | Change::Edit { path, .. }
            | Change::Aside { path, .. } => path,
        }
    }

    /// Returns a path of the change that link never uses.
    fn strange(&self) -> Option<&str> {
        let path = self.path();
        let right = match self {
            Change::Make { .. } => is_made(path),
            Change::MakeFolder { .. } => path == library::FOLDER,
            Change::Aside { .. } => is_made(path) || is_built(path),
            Change::Edit { how, .. } => path == how.path(),
        };
        match self.kept_path() {
            _ if !right => Some(path),
            Some(kept) if kept != kept_name(path) => Some(kept),
            _ => None,
        }
    }

    /// Returns where the original is kept.
    pub fn kept_path(&self) -> Option<&str> {
        match self {
            Change::Make { .. } | Change::MakeFolder { .. } => None,
            Change::Edit { kept, .. } | Change::Aside { kept, .. } => Some(kept),
        }
    }

    /// Whether it belongs to this P directory.
    pub fn is_of(&self, directory: &str) -> bool {
        self.path()
            .strip_prefix("SubProcesses/")
            .and_then(|rest| rest.strip_prefix(directory))
            .is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Returns the name under which a changed or moved file is kept.
pub fn kept_name(path: &str) -> String {
    format!("{FOLDER}/before/{}", path.replace('/', "+"))
}

/// Whether this can be the name of a P directory.
fn is_directory(name: &str) -> bool {
    !name.contains('/') && !["", ".", ".."].contains(&name)
}

/// Returns the part of a path below a P directory.
fn of_directory(path: &str) -> Option<&str> {
    let (directory, rest) = path.strip_prefix("SubProcesses/")?.split_once('/')?;
    is_directory(directory).then_some(rest)
}

/// Whether link makes files with this path.
fn is_made(path: &str) -> bool {
    let in_source = ["Source", "Source/MODEL", "Source/PDF"];
    let makefile = path.strip_suffix(makefile::NAME);
    let makefile = makefile.and_then(|folder| folder.strip_suffix('/'));
    makefile.is_some_and(|folder| in_source.contains(&folder))
        || library::NAMES.contains(&path)
        || of_directory(path).is_some_and(|name| {
            name == makefile::NAME || (name.starts_with("mebridge_") && !name.contains('/'))
        })
}

/// Whether make, or the plugin's makefiles, build files with this path that are in the way of a linked output: the
/// executables, and the plugin's libraries and stamps.
fn is_built(path: &str) -> bool {
    let of_directory = of_directory(path);
    if of_directory.is_some_and(|name| EXECUTABLES.contains(&name)) {
        return true;
    }
    let stamp = of_directory.map(without_build_folder);
    let library = path.strip_prefix("lib/").map(without_build_folder);
    stamp == Some(".cudacpplibs")
        || library.is_some_and(|name| {
            name.starts_with("libmg5amc_") && name.ends_with(".so") && !name.contains('/')
        })
}

/// Removes a folder `build.*` from the beginning of a path.
fn without_build_folder(path: &str) -> &str {
    match path.split_once('/') {
        Some((folder, name)) if folder.starts_with("build.") => name,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[Change], directories: &[&str]) -> Result<LinkRecord> {
        let record = LinkRecord {
            mebridge: "1".into(),
            state: LinkState::Linked,
            directories: directories.iter().map(|d| (*d).to_owned()).collect(),
            changes: changes.to_vec(),
        };
        let bytes = serde_json::to_vec(&record).unwrap();
        LinkRecord::read(&bytes, Path::new("link.json"))
    }

    fn make(path: &str) -> Change {
        Change::Make { path: path.into() }
    }

    fn folder(path: &str) -> Change {
        Change::MakeFolder { path: path.into() }
    }

    fn aside(path: &str) -> Change {
        Change::Aside {
            path: path.into(),
            kept: kept_name(path),
        }
    }

    #[test]
    fn what_link_does_is_read() {
        let changes = [
            folder("lib"),
            make("lib/libmebridge.so"),
            make("Source/MODEL/mebridge.mk"),
            make("SubProcesses/P1_gg_ttx/mebridge_matrix12.process"),
            make("SubProcesses/P1_gg_ttx/mebridge_matrix12.f"),
            make("SubProcesses/P1_gg_ttx/mebridge_matrixsf_001.f"),
            make("SubProcesses/P1_gg_ttx/mebridge.mk"),
            aside("SubProcesses/P1_gg_ttx/mebridge_process.o"),
            aside("SubProcesses/P1_gg_ttx/madevent_cpp"),
            aside("SubProcesses/P1_gg_ttx/build.512y_d/.cudacpplibs"),
            aside("lib/build.512y_d/libmg5amc_gg_ttx_cpp.so"),
            Change::Edit {
                path: "Source/make_opts".into(),
                kept: kept_name("Source/make_opts"),
                how: EditKind::Hook,
            },
        ];
        let record = read(&changes, &["P1_gg_ttx"]).unwrap();
        assert_eq!(record.numbers("P1_gg_ttx"), ["12", "sf_001"]);
        assert!(record.numbers("P1_gg").is_empty());
    }

    #[test]
    fn what_link_does_not_do_is_refused() {
        let edit = |path: &str, kept: &str| Change::Edit {
            path: path.into(),
            kept: kept.into(),
            how: EditKind::Hook,
        };
        for change in [
            folder("Cards"),
            make("../shared.dat"),
            make("/etc/passwd"),
            make("Cards/param_card.dat"),
            make("Source/.mebridge/mebridge.mk"),
            make("SubProcesses/P1_gg_ttx/../../../mebridge_x"),
            make("SubProcesses/../mebridge_x"),
            make("SubProcesses/P1_gg_ttx/madevent"),
            aside("Cards/param_card.dat"),
            aside("lib/../libmg5amc_x.so"),
            Change::Aside {
                path: "SubProcesses/P1_gg_ttx/madevent".into(),
                kept: "Cards/run_card.dat".into(),
            },
            edit("Cards/run_card.dat", &kept_name("Cards/run_card.dat")),
            edit("Source/make_opts", "Source/makefile"),
        ] {
            assert!(
                read(std::slice::from_ref(&change), &["P1"]).is_err(),
                "{change:?}"
            );
        }
        for directory in ["../P1", "P1/..", "/P1", ""] {
            assert!(read(&[], &[directory]).is_err(), "{directory}");
        }
    }
}
