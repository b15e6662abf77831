//! What link did to an output, written down before it is done.
//!
//! `Source/.mebridge/link.json` lists every file that is made, changed or put aside, before any of it happens;
//! files that are changed or put aside stay beside it as they were. So an interrupted link or unlink is undone by the
//! next call, and unlink gives back what was there. Files appear by renaming, whole or not at all. Undoing begins by
//! renaming the list to `undo.json`, so that it needs no space on the disk. One process at a time holds
//! `Source/.mebridge/lock`.

use super::element::latin;
use super::{card, makefile, wrong};
use crate::output;
use card::Sizes;
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The folder, within the output.
const FOLDER: &str = "Source/.mebridge";
/// The record in it.
const RECORD: &str = "link.json";
/// The record while it is being undone.
const UNDO: &str = "undo.json";

/// How far a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It is being done, or was interrupted.
    Linking,
    /// It is done.
    Linked,
    /// It is being undone, or that was interrupted: what `undo.json` says, whatever is written in it.
    Unlinking,
}

/// What link did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of mebridge.
    pub mebridge: String,
    pub state: State,
    /// The P directories that are linked, by name.
    pub directories: Vec<String>,
    /// What was done, in order.
    pub changes: Vec<Change>,
}

/// One change of a file; paths are relative to the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A file that was not there.
    Make { path: String },
    /// A file that was changed; the old one is kept.
    Edit {
        path: String,
        kept: String,
        how: How,
    },
    /// A file in the way of ours, or one that make builds, put aside.
    Aside { path: String, kept: String },
}

/// What was changed, so that it can be taken out of a file that has changed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// The line of `Source/make_opts`.
    Hook,
    /// The sizes in the run card.
    RunCard(Sizes),
    /// The sizes in `Source/vector.inc`.
    Vector(Sizes),
}

impl Record {
    /// A name that leads out of the output. What is undone is removed: there must be none.
    fn outside(&self) -> Option<String> {
        let changes = self.changes.iter();
        let paths = changes.flat_map(|change| [Some(change.path()), change.kept()]);
        let directories = self.directories.iter().map(String::as_str);
        let mut names = paths.flatten().chain(directories);
        names.find(|name| !within(name)).map(str::to_owned)
    }
}

impl Change {
    pub fn path(&self) -> &str {
        match self {
            Change::Make { path } | Change::Edit { path, .. } | Change::Aside { path, .. } => path,
        }
    }

    /// Where the old one is.
    fn kept(&self) -> Option<&str> {
        match self {
            Change::Make { .. } => None,
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

/// An output whose lock this process holds.
pub struct Journal {
    root: PathBuf,
    lock: File,
}

impl Journal {
    /// Locks an output that no run of MG5aMC is at work on: that would mix executables and sizes of batches.
    pub fn open(root: &Path) -> Result<Journal> {
        let run = root.join("RunWeb");
        if run.exists() {
            return Err(wrong(
                &run,
                "this file says that MG5aMC is at work on the output; wait until it is done, or remove the file if no \
                 run goes on (nothing was changed)"
                    .into(),
            ));
        }
        let folder = root.join(FOLDER);
        let path = folder.join("lock");
        loop {
            fs::create_dir_all(&folder).map_err(|error| {
                wrong(
                    &folder,
                    format!("it cannot be made ({error}); nothing was changed"),
                )
            })?;
            let lock = File::create(&path).map_err(|error| {
                wrong(
                    &path,
                    format!("it cannot be written ({error}); nothing was changed"),
                )
            })?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(wrong(
                        root,
                        "another mebridge link or unlink is at work on this output; wait until it is done".into(),
                    ));
                }
                // A file system without locks: the journal alone has to do.
                Err(TryLockError::Error(_)) => {}
            }
            // Who held it before may have removed it.
            if same_file(&lock, &path) {
                return Ok(Journal {
                    root: root.to_owned(),
                    lock,
                });
            }
        }
    }

    /// Whether an output has a record, without locking it.
    pub fn peek(root: &Path) -> Result<Option<Record>> {
        let folder = root.join(FOLDER);
        match read(&folder.join(UNDO))? {
            Some(record) => Ok(Some(Record {
                state: State::Unlinking,
                ..record
            })),
            None => read(&folder.join(RECORD)),
        }
    }

    /// The record.
    pub fn record(&self) -> Result<Option<Record>> {
        Journal::peek(&self.root)
    }

    /// The output.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// Writes the record.
    pub fn write(&self, record: &Record) -> Result<()> {
        let path = self.folder().join(RECORD);
        let text = serde_json::to_vec_pretty(record).map_err(|e| Error::io(&path)(e.into()))?;
        put(&path, &text)
    }

    /// Notes that a link is being undone.
    pub fn begin_undo(&self, record: &Record) -> Result<()> {
        match record.state {
            // What was begun is undone by the next call in any case.
            State::Linking | State::Unlinking => Ok(()),
            State::Linked => {
                let path = self.folder().join(RECORD);
                fs::rename(&path, self.folder().join(UNDO)).map_err(Error::io(&path))
            }
        }
    }

    /// Notes that it is undone but for what this record holds.
    pub fn end_undo(&self, record: &Record) -> Result<()> {
        self.write(record)?;
        remove(&self.folder().join(UNDO))
    }

    /// Keeps a file as it is now, for [`Change::Edit`] and [`Change::Aside`].
    pub fn kept_name(path: &str) -> String {
        format!("{FOLDER}/before/{}", path.replace('/', "+"))
    }

    /// Makes or replaces a file.
    pub fn make(&self, path: &str, contents: &[u8]) -> Result<()> {
        let path = self.root.join(path);
        if fs::read(&path).is_ok_and(|old| old == contents) {
            return Ok(());
        }
        put(&path, contents)
    }

    /// Changes a file whose old version is kept already or is kept now.
    pub fn edit(&self, path: &str, kept: &str, contents: &[u8]) -> Result<()> {
        let (path, kept) = (self.root.join(path), self.root.join(kept));
        if fs::read(&path).is_ok_and(|old| old == contents) {
            return Ok(());
        }
        if kept.symlink_metadata().is_err() {
            make_parent(&kept)?;
            // With its times and permissions where the file system has hard links. A symbolic link is kept as one: what
            // it leads to may be shared with other outputs, and stays as it is.
            if fs::hard_link(&path, &kept).is_err() {
                match fs::read_link(&path) {
                    Ok(to) => link_to(&to, &kept).map_err(Error::io(&kept))?,
                    Err(_) => {
                        let old = fs::read(&path).map_err(Error::io(&path))?;
                        put(&kept, &old)?;
                    }
                }
            }
        }
        put(&path, contents)
    }

    /// Puts a file aside.
    pub fn aside(&self, path: &str, kept: &str) -> Result<()> {
        let (path, kept) = (self.root.join(path), self.root.join(kept));
        if path.symlink_metadata().is_err() || kept.symlink_metadata().is_ok() {
            return Ok(());
        }
        make_parent(&kept)?;
        fs::rename(&path, &kept).map_err(Error::io(&path))
    }

    /// Undoes a change; whatever of it was not done is no error.
    pub fn undo(&self, change: &Change) -> Result<()> {
        let path = self.root.join(change.path());
        match change {
            Change::Make { .. } => remove(&path),
            Change::Aside { kept, .. } => {
                let kept = self.root.join(kept);
                match kept.symlink_metadata().is_ok() {
                    true => fs::rename(&kept, &path).map_err(Error::io(&path)),
                    false => Ok(()),
                }
            }
            Change::Edit { kept, how, .. } => {
                let kept = self.root.join(kept);
                remove_unfinished(&path);
                remove_unfinished(&kept);
                if kept.symlink_metadata().is_err() {
                    return Ok(());
                }
                // A link leads on from where it was.
                let former = match (fs::read_link(&kept), path.parent()) {
                    (Ok(to), Some(folder)) => folder.join(to),
                    _ => kept.clone(),
                };
                let Ok(now) = latin(&path) else {
                    return fs::rename(&kept, &path).map_err(Error::io(&path));
                };
                let before = match latin(&former) {
                    Ok(before) => before,
                    Err(_) if former != kept => {
                        output::warn(&format!(
                            "{}: this was a link to {}, which is gone; the file stays, without the lines of mebridge",
                            path.display(),
                            former.display()
                        ));
                        put(&path, &bytes(&makefile::unhook(&now)))?;
                        return remove(&kept);
                    }
                    Err(error) => return Err(error),
                };
                let (ours, back) = match how {
                    How::Hook => (makefile::hook(&before), makefile::unhook(&now)),
                    How::RunCard(sizes) => (
                        card::with_sizes(&before, *sizes),
                        card::without_sizes(&now, &before, *sizes),
                    ),
                    How::Vector(sizes) => (
                        card::vector_inc(&before, *sizes),
                        match now == card::vector_inc(&now, *sizes) {
                            true => before.clone(),
                            false => now.clone(),
                        },
                    ),
                };
                if now == ours || now == before || back == before {
                    return fs::rename(&kept, &path).map_err(Error::io(&path));
                }
                // Somebody has changed it since: what they wrote stays.
                put(&path, &bytes(&back))?;
                remove(&kept)
            }
        }
    }

    /// Removes what make has built of ours in a P directory.
    pub fn remove_products(&self, directory: &str) -> Result<()> {
        let folder = self.root.join("SubProcesses").join(directory);
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let built = name.starts_with("mebridge_")
                && (name.ends_with(".o")
                    || name.ends_with(".inc")
                    || name.ends_with(".mebridge-new"));
            let of_plugin = ["madevent_cpp", "madevent_cuda"].contains(&name.as_ref());
            let executable =
                (name == "madevent" || of_plugin) && super::calls(path) != super::Calls::Fortran;
            built || executable
        };
        // All of them first: `madevent` may be a link to another one.
        let mut found = super::layout::files(&folder)?;
        found.retain(ours);
        for path in found {
            remove(&path)?;
        }
        Ok(())
    }

    /// Forgets the record.
    pub fn forget(&self) -> Result<()> {
        remove(&self.folder().join(RECORD))?;
        remove(&self.folder().join(UNDO))
    }

    /// Ends without a link: nothing of ours stays.
    pub fn close(self) -> Result<()> {
        self.forget()?;
        let folder = self.folder();
        let before = folder.join("before");
        if before.is_dir() {
            fs::remove_dir_all(&before).map_err(Error::io(&before))?;
        }
        remove(&folder.join("lock"))?;
        drop(self.lock);
        // Another process may have begun to use it.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }
}

/// Text that was read byte by byte as bytes.
pub fn bytes(latin: &str) -> Vec<u8> {
    latin.chars().map(|c| c as u8).collect()
}

fn read(path: &Path) -> Result<Option<Record>> {
    match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
        Ok(bytes) => {
            let record: Record = serde_json::from_slice(&bytes).map_err(|error| {
                wrong(
                    path,
                    format!(
                        "it is no record of mebridge link ({error}); it was written by another version"
                    ),
                )
            })?;
            match record.outside() {
                None => Ok(Some(record)),
                Some(outside) => Err(wrong(
                    path,
                    format!(
                        "it names {outside}, which is no file of this output: mebridge did not write it"
                    ),
                )),
            }
        }
    }
}

/// Whether a path stays below the folder that it is relative to.
fn within(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(Error::io(parent))
}

/// Writes a file, whole or not at all, with the permissions of the one that it replaces.
fn put(path: &Path, contents: &[u8]) -> Result<()> {
    use std::io::Write;
    make_parent(path)?;
    let temporary = unfinished(path);
    let written = (|| {
        let mut file = File::create(&temporary)?;
        file.write_all(contents)?;
        if let Ok(old) = path.metadata() {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io(path))
}

/// What [`put`] writes first.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".mebridge-new");
    path.with_file_name(name)
}

/// Removes what an interrupted [`put`] left; mostly it left nothing.
fn remove_unfinished(path: &Path) {
    let _ = fs::remove_file(unfinished(path));
}

/// Removes a file, if it is there, and what an interrupted [`put`] left of it. A folder is none of ours.
pub fn remove(path: &Path) -> Result<()> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    remove_unfinished(path);
    if path.symlink_metadata().is_ok_and(|is| is.is_dir()) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if ![NotFound, NotADirectory].contains(&error.kind()) => {
            Err(Error::io(path)(error))
        }
        _ => Ok(()),
    }
}

/// Makes a symbolic link.
pub fn link_to(to: &Path, path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, path);
    #[cfg(not(unix))]
    return Err(std::io::Error::other(format!(
        "{path:?} cannot be made a link to {to:?}"
    )));
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.metadata()) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_: &File, path: &Path) -> bool {
    path.exists()
}
