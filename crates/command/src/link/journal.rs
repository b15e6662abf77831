//! Journal of the changes that link makes to an output, written before each change.
//!
//! `Source/.mebridge/link.json` lists every file that is made, changed or moved away, before any of it happens; the
//! originals of changed or moved files are kept next to it. So an interrupted link or unlink is undone by the next
//! call, and unlink restores the originals. Files appear by renaming, complete or not at all, and until then they are
//! next to the list. Undoing begins by renaming the list to `undo.json`, so that it needs no disk space. One process at
//! a time holds `Source/.mebridge/lock`.

use super::layout::EXECUTABLES;
use super::library::is_compiled;
use super::matrix_element::latin;
use super::record::{Change, EditKind, FOLDER, LinkRecord, LinkState};
use super::root::{FolderEntry, OutputRoot, wrong};
use super::{EvaluatedBy, calls, card, makefile};
use crate::output;
use mebridge::files::regular;
use mebridge::{Error, Result};
use std::fs::{File, Permissions, TryLockError};
use std::io::Write;
use std::path::Path;

/// The record, in our folder.
const RECORD: &str = "link.json";
/// The record while it is being undone.
const UNDO: &str = "undo.json";
/// Name of a file until it is complete.
const NEW: &str = "new";
/// Prefix of kept originals.
const BEFORE: &str = "before";
const LOCK: &str = "lock";
/// Largest record, in bytes.
const MAX_RECORD_BYTES: u64 = 64 << 20;
/// Largest file that link makes or changes, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// An output whose lock this process holds.
pub struct Journal {
    root: OutputRoot,
    lock: File,
}

/// Returns the path of a file in our folder.
fn ours(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

impl Journal {
    /// Locks an output, unless a run of MG5aMC is working on it, which would mix executables and batch sizes.
    pub fn open(path: &Path) -> Result<Journal> {
        let run = path.join("RunWeb");
        if run.exists() {
            return Err(wrong(
                &run,
                "this file says that MG5aMC is at work on the output; wait until it is done, or remove the file if no \
                 run goes on (nothing was changed)"
                    .into(),
            ));
        }
        let root = OutputRoot::open(path)?;
        loop {
            let (lock, place) = open_lock(&root)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(wrong(
                        path,
                        "another mebridge link or unlink is at work on this output; wait until it is done".into(),
                    ));
                }
                // The file system has no locks: the journal alone has to suffice.
                Err(TryLockError::Error(_)) => {}
            }
            // The previous holder may have removed the file.
            if is_still(&lock, place.path()) {
                return Ok(Journal { root, lock });
            }
        }
    }

    /// Returns the record of an output, without locking it.
    pub fn peek(path: &Path) -> Result<Option<LinkRecord>> {
        Journal::read(&OutputRoot::open(path)?)
    }

    /// Returns the record.
    pub fn record(&self) -> Result<Option<LinkRecord>> {
        Journal::read(&self.root)
    }

    fn read(root: &OutputRoot) -> Result<Option<LinkRecord>> {
        let read = |name: &str| -> Result<Option<LinkRecord>> {
            let Some(place) = root.find(ours(name))? else {
                return Ok(None);
            };
            let bytes = place.read(MAX_RECORD_BYTES)?;
            bytes
                .map(|b| LinkRecord::read(&b, place.path()))
                .transpose()
        };
        match read(UNDO)? {
            Some(record) => Ok(Some(LinkRecord {
                state: LinkState::Unlinking,
                ..record
            })),
            None => read(RECORD),
        }
    }

    /// Returns the output.
    pub fn root(&self) -> &OutputRoot {
        &self.root
    }

    /// Checks that all paths to be changed are within the output, before anything is changed.
    pub fn check(&self, changes: &[Change]) -> Result<()> {
        for change in changes {
            for path in [Some(change.path()), change.kept_path()]
                .into_iter()
                .flatten()
            {
                self.root.find(path)?;
            }
        }
        Ok(())
    }

    /// Writes the record.
    pub fn write(&self, record: &LinkRecord) -> Result<()> {
        let path = ours(RECORD);
        let text = serde_json::to_vec_pretty(record).map_err(|e| Error::io(&path)(e.into()))?;
        self.put(&path, &text)
    }

    /// Records that a link is being undone.
    pub fn begin_undo(&self, record: &LinkRecord) -> Result<()> {
        match record.state {
            // The next call undoes it in any case.
            LinkState::Linking | LinkState::Unlinking => Ok(()),
            LinkState::Linked => self.rename(&ours(RECORD), &ours(UNDO)),
        }
    }

    /// Records that the undo is complete except for the changes in this record.
    pub fn end_undo(&self, record: &LinkRecord) -> Result<()> {
        self.write(record)?;
        self.root.remove(ours(UNDO))
    }

    /// Makes or replaces a file.
    pub fn make(&self, path: &str, contents: &[u8]) -> Result<()> {
        match self.holds(path, contents) {
            true => Ok(()),
            false => self.put(path, contents),
        }
    }

    /// Makes or replaces a symbolic link.
    pub fn make_link(&self, path: &str, to: &Path) -> Result<()> {
        let place = self.root.make(path)?;
        if place.read_link().is_some_and(|now| now == to) {
            return Ok(());
        }
        let new = self.new_place()?;
        new.symlink(to)?;
        self.finish(Ok(()), &new, &place)
    }

    /// Makes or replaces a file with the contents and permissions of another one.
    pub fn make_copy(&self, path: &str, of: &Path) -> Result<()> {
        let mut from = regular::open(of, MAX_FILE_BYTES).map_err(Error::io(of))?;
        let permissions = from.metadata().map(|seen| usual(seen.permissions()));
        let place = self.root.make(path)?;
        let new = self.new_place()?;
        let copied = permissions.map_err(Error::io(of)).and_then(|permissions| {
            let mut file = new.create(Some(permissions))?;
            let copied = std::io::copy(&mut from, &mut file).and_then(|_| file.sync_all());
            copied.map_err(Error::io(place.path()))
        });
        self.finish(copied, &new, &place)
    }

    /// Changes a file, keeping its original unless that was kept already.
    pub fn edit(&self, path: &str, kept: &str, contents: &[u8]) -> Result<()> {
        if self.holds(path, contents) {
            return Ok(());
        }
        let (from, to) = (self.root.make(path)?, self.root.make(kept)?);
        // With its times and permissions if the file system has hard links. A symbolic link is kept as one: its target
        // may be shared with other outputs, and stays unchanged.
        if to.kind()?.is_none() && from.link(&to).is_err() {
            match from.read_link() {
                Some(link) => to.symlink(&link)?,
                None => {
                    let old = regular::read(from.path(), MAX_FILE_BYTES);
                    self.put(kept, &old.map_err(Error::io(from.path()))?)?;
                }
            }
        }
        self.put(path, contents)
    }

    /// Moves a file aside.
    pub fn move_aside(&self, path: &str, kept: &str) -> Result<()> {
        if self.root.kind(path)?.is_none() || self.root.kind(kept)?.is_some() {
            return Ok(());
        }
        self.root.make(path)?.rename(&self.root.make(kept)?)
    }

    /// Undoes a change; parts that were never done are not an error.
    pub fn undo(&self, change: &Change) -> Result<()> {
        let path = change.path();
        match change {
            Change::Make { .. } => self.root.remove(path),
            Change::MakeFolder { .. } => {
                if let Some(place) = self.root.find(path)? {
                    // It may contain products of make.
                    let _ = place.remove_folder();
                }
                Ok(())
            }
            Change::Aside { kept, .. } => match self.root.kind(kept)? {
                Some(_) => self.rename(kept, path),
                None => Ok(()),
            },
            Change::Edit { kept, how, .. } => self.undo_edit(path, kept, *how),
        }
    }

    fn undo_edit(&self, path: &str, kept: &str, how: EditKind) -> Result<()> {
        let Some(before) = self.root.find(kept)? else {
            return Ok(());
        };
        if before.kind()?.is_none() {
            return Ok(());
        }
        let full = self.root.path().join(path);
        // The link is resolved relative to its original location.
        let former = match (before.read_link(), full.parent()) {
            (Some(to), Some(folder)) => folder.join(to),
            _ => before.path().to_owned(),
        };
        let Ok(now) = latin(&full) else {
            return self.rename(kept, path);
        };
        let text = match latin(&former) {
            Ok(text) => text,
            Err(_) if former != before.path() => {
                output::warn(&format!(
                    "{}: this was a link to {}, which is gone; the file stays, without the lines of mebridge",
                    full.display(),
                    former.display()
                ));
                let without = match how {
                    EditKind::Hook => makefile::unhook(&now),
                    EditKind::RunCard(_) => card::without_marked(&now),
                    EditKind::Vector(_) => now,
                };
                self.put(path, &bytes(&without))?;
                return before.remove();
            }
            Err(error) => return Err(error),
        };
        let (ours, back) = match how {
            EditKind::Hook => (makefile::hook(&text), makefile::unhook(&now)),
            EditKind::RunCard(sizes) => (
                card::with_sizes(&text, sizes),
                card::without_sizes(&now, &text, sizes),
            ),
            EditKind::Vector(sizes) => (
                card::vector_inc(&text, sizes),
                match now == card::vector_inc(&now, sizes) {
                    true => text.clone(),
                    false => now.clone(),
                },
            ),
        };
        if now == ours || now == text || back == text {
            return self.rename(kept, path);
        }
        // The file was changed since: those changes stay.
        self.put(path, &bytes(&back))?;
        before.remove()
    }

    /// Removes products of make that belong to us in a P directory: the objects of these matrix elements, and
    /// executables that call the library.
    pub fn remove_products(&self, directory: &str, numbers: &[String]) -> Result<()> {
        let folder = format!("SubProcesses/{directory}");
        // Determine all of them first: `madevent` may be a link to another one.
        let executables = EXECUTABLES.map(|name| format!("{folder}/{name}"));
        let of_library = |path: &String| {
            let path = self.root.path().join(path);
            calls(&path).is_ok_and(|calls| calls != EvaluatedBy::Fortran) && is_compiled(&path)
        };
        let found: Vec<String> = executables.into_iter().filter(of_library).collect();
        let built = makefile::products(numbers);
        let built = built.map(|name| format!("{folder}/{name}"));
        built
            .chain(found)
            .try_for_each(|path| self.root.remove(path))
    }

    /// Deletes the record.
    pub fn forget(&self) -> Result<()> {
        self.root.remove(ours(RECORD))?;
        self.root.remove(ours(UNDO))
    }

    /// Ends without a link, and removes our files.
    pub fn close(self) -> Result<()> {
        self.forget()?;
        let before = ours(BEFORE);
        for name in self.root.names(&before)? {
            self.root.remove(Path::new(&before).join(name))?;
        }
        self.root.remove(ours(NEW))?;
        self.root.remove(ours(LOCK))?;
        drop(self.lock);
        for folder in [&*before, FOLDER] {
            if let Some(place) = self.root.find(folder)? {
                // It may contain foreign files, or another process may have begun to use it.
                let _ = place.remove_folder();
            }
        }
        Ok(())
    }

    /// Whether a file already has these contents.
    fn holds(&self, path: &str, contents: &[u8]) -> bool {
        let now = regular::read(&self.root.path().join(path), MAX_FILE_BYTES);
        now.is_ok_and(|now| now == contents)
    }

    /// Writes a file, completely or not at all, with the permissions of the one that it replaces.
    fn put(&self, path: &str, contents: &[u8]) -> Result<()> {
        let place = self.root.make(path)?;
        let new = self.new_place()?;
        // A link is replaced by a file with the permissions of its target.
        let former = place.path().metadata().ok();
        let former = former.filter(std::fs::Metadata::is_file);
        let written = new
            .create(former.map(|former| usual(former.permissions())))
            .and_then(|mut file| {
                let written = file.write_all(contents).and_then(|()| file.sync_all());
                written.map_err(Error::io(place.path()))
            });
        self.finish(written, &new, &place)
    }

    /// Returns the place for a file until it is complete: no user file has this name.
    fn new_place(&self) -> Result<FolderEntry> {
        let new = self.root.make(ours(NEW))?;
        // Left over from an interrupted call.
        new.remove()?;
        Ok(new)
    }

    /// Gives a file its name, if it was written.
    fn finish(&self, written: Result<()>, new: &FolderEntry, place: &FolderEntry) -> Result<()> {
        let done = written.and_then(|()| new.rename(place));
        if done.is_err() {
            // The error returned is that of writing.
            let _ = new.remove();
        }
        done
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.root.make(from)?.rename(&self.root.make(to)?)
    }
}

/// Opens the lock of an output, and makes it if necessary.
fn open_lock(root: &OutputRoot) -> Result<(File, FolderEntry)> {
    let locked = || {
        let place = root.make(ours(LOCK))?;
        Ok((place.open_or_create()?, place))
    };
    locked().map_err(|error: Error| {
        wrong(
            &root.path().join(FOLDER),
            format!("the record of a link cannot be kept here ({error}); nothing was changed"),
        )
    })
}

/// Removes set-user-id and similar permissions.
fn usual(permissions: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

/// Converts text that was read byte by byte back to bytes.
pub fn bytes(latin: &str) -> Vec<u8> {
    latin.chars().map(|c| c as u8).collect()
}

/// Whether this path still leads to the open file.
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}
