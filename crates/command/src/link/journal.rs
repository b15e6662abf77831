//! The changes that link makes to an output, written down before they are made.
//!
//! `Source/.mebridge/link.json` lists every file that is made, changed or put aside, before any of it happens;
//! files that are changed or put aside stay beside it as they were. So an interrupted link or unlink is undone by the
//! next call, and unlink gives back what was there. Files appear by renaming, whole or not at all, and until then they
//! lie beside the list. Undoing begins by renaming the list to `undo.json`, so that it needs no space on the disk. One
//! process at a time holds `Source/.mebridge/lock`.

use super::layout::EXECUTABLES;
use super::library::is_compiled;
use super::matrix_element::latin;
use super::record::{Change, FOLDER, How, Record, State};
use super::root::{FolderEntry, Root};
use super::{MatrixElementSource, calls, card, makefile, wrong};
use crate::output;
use mebridge::files::regular;
use mebridge::{Error, Result};
use std::fs::{File, Permissions, TryLockError};
use std::io::Write;
use std::path::Path;

/// The record, in the folder.
const RECORD: &str = "link.json";
/// The record while it is being undone.
const UNDO: &str = "undo.json";
/// What a file is called until it is whole.
const NEW: &str = "new";
/// What is kept.
const BEFORE: &str = "before";
const LOCK: &str = "lock";
/// No record is longer.
const LONGEST: u64 = 64 << 20;
/// No file that link makes or changes is longer.
const LARGEST: u64 = 1 << 30;

/// An output whose lock this process holds.
pub struct Journal {
    root: Root,
    lock: File,
}

/// A file in our folder.
fn ours(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

impl Journal {
    /// Locks an output that no run of MG5aMC is at work on: that would mix executables and sizes of batches.
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
        let root = Root::open(path)?;
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
                // A file system without locks: the journal alone has to do.
                Err(TryLockError::Error(_)) => {}
            }
            // Who held it before may have removed it.
            if is_still(&lock, place.path()) {
                return Ok(Journal { root, lock });
            }
        }
    }

    /// Whether an output has a record, without locking it.
    pub fn peek(path: &Path) -> Result<Option<Record>> {
        Journal::read(&Root::open(path)?)
    }

    /// The record.
    pub fn record(&self) -> Result<Option<Record>> {
        Journal::read(&self.root)
    }

    fn read(root: &Root) -> Result<Option<Record>> {
        let read = |name: &str| -> Result<Option<Record>> {
            let Some(place) = root.find(ours(name))? else {
                return Ok(None);
            };
            let bytes = place.read(LONGEST)?;
            bytes.map(|b| Record::read(&b, place.path())).transpose()
        };
        match read(UNDO)? {
            Some(record) => Ok(Some(Record {
                state: State::Unlinking,
                ..record
            })),
            None => read(RECORD),
        }
    }

    /// The output.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Sees that all that is to be changed lies within the output, before anything is.
    pub fn check(&self, changes: &[Change]) -> Result<()> {
        for change in changes {
            for path in [Some(change.path()), change.kept()].into_iter().flatten() {
                self.root.find(path)?;
            }
        }
        Ok(())
    }

    /// Writes the record.
    pub fn write(&self, record: &Record) -> Result<()> {
        let path = ours(RECORD);
        let text = serde_json::to_vec_pretty(record).map_err(|e| Error::io(&path)(e.into()))?;
        self.put(&path, &text)
    }

    /// Notes that a link is being undone.
    pub fn begin_undo(&self, record: &Record) -> Result<()> {
        match record.state {
            // The next call undoes what was begun in any case.
            State::Linking | State::Unlinking => Ok(()),
            State::Linked => self.rename(&ours(RECORD), &ours(UNDO)),
        }
    }

    /// Notes that it is undone but for what this record holds.
    pub fn end_undo(&self, record: &Record) -> Result<()> {
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

    /// Makes or replaces a file with what is in another one, and with its permissions.
    pub fn make_copy(&self, path: &str, of: &Path) -> Result<()> {
        let mut from = regular::open(of, LARGEST).map_err(Error::io(of))?;
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

    /// Changes a file whose old version is kept already or is kept now.
    pub fn edit(&self, path: &str, kept: &str, contents: &[u8]) -> Result<()> {
        if self.holds(path, contents) {
            return Ok(());
        }
        let (from, to) = (self.root.make(path)?, self.root.make(kept)?);
        // With its times and permissions where the file system has hard links. A symbolic link is kept as one: what
        // it leads to may be shared with other outputs, and stays as it is.
        if to.kind()?.is_none() && from.link(&to).is_err() {
            match from.read_link() {
                Some(link) => to.symlink(&link)?,
                None => {
                    let old = regular::read(from.path(), LARGEST);
                    self.put(kept, &old.map_err(Error::io(from.path()))?)?;
                }
            }
        }
        self.put(path, contents)
    }

    /// Puts a file aside.
    pub fn aside(&self, path: &str, kept: &str) -> Result<()> {
        if self.root.kind(path)?.is_none() || self.root.kind(kept)?.is_some() {
            return Ok(());
        }
        self.root.make(path)?.rename(&self.root.make(kept)?)
    }

    /// Undoes a change; whatever of it was not done is no error.
    pub fn undo(&self, change: &Change) -> Result<()> {
        let path = change.path();
        match change {
            Change::Make { .. } => self.root.remove(path),
            Change::MakeFolder { .. } => {
                if let Some(place) = self.root.find(path)? {
                    // It may hold what make has built.
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

    fn undo_edit(&self, path: &str, kept: &str, how: How) -> Result<()> {
        let Some(before) = self.root.find(kept)? else {
            return Ok(());
        };
        if before.kind()?.is_none() {
            return Ok(());
        }
        let full = self.root.path().join(path);
        // A link leads on from where it was.
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
                    How::Hook => makefile::unhook(&now),
                    How::RunCard(_) => card::without_marked(&now),
                    How::Vector(_) => now,
                };
                self.put(path, &bytes(&without))?;
                return before.remove();
            }
            Err(error) => return Err(error),
        };
        let (ours, back) = match how {
            How::Hook => (makefile::hook(&text), makefile::unhook(&now)),
            How::RunCard(sizes) => (
                card::with_sizes(&text, sizes),
                card::without_sizes(&now, &text, sizes),
            ),
            How::Vector(sizes) => (
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
        // Somebody has changed it since: what they wrote stays.
        self.put(path, &bytes(&back))?;
        before.remove()
    }

    /// Removes what make has built of ours in a P directory: the objects of these matrix elements, and executables that
    /// call the library.
    pub fn remove_products(&self, directory: &str, numbers: &[String]) -> Result<()> {
        let folder = format!("SubProcesses/{directory}");
        // All of them first: `madevent` may be a link to another one.
        let executables = EXECUTABLES.map(|name| format!("{folder}/{name}"));
        let of_library = |path: &String| {
            let path = self.root.path().join(path);
            calls(&path).is_ok_and(|calls| calls != MatrixElementSource::Fortran)
                && is_compiled(&path)
        };
        let found: Vec<String> = executables.into_iter().filter(of_library).collect();
        let built = makefile::products(numbers);
        let built = built.map(|name| format!("{folder}/{name}"));
        built
            .chain(found)
            .try_for_each(|path| self.root.remove(path))
    }

    /// Forgets the record.
    pub fn forget(&self) -> Result<()> {
        self.root.remove(ours(RECORD))?;
        self.root.remove(ours(UNDO))
    }

    /// Ends without a link: nothing of ours stays.
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
                // It may hold what is none of ours, or another process may have begun to use it.
                let _ = place.remove_folder();
            }
        }
        Ok(())
    }

    /// Whether a file holds this already.
    fn holds(&self, path: &str, contents: &[u8]) -> bool {
        let now = regular::read(&self.root.path().join(path), LARGEST);
        now.is_ok_and(|now| now == contents)
    }

    /// Writes a file, whole or not at all, with the permissions of the one that it replaces.
    fn put(&self, path: &str, contents: &[u8]) -> Result<()> {
        let place = self.root.make(path)?;
        let new = self.new_place()?;
        // A link is replaced by a file like that which it leads to.
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

    /// Where files lie until they are whole: nothing of the user's has this name.
    fn new_place(&self) -> Result<FolderEntry> {
        let new = self.root.make(ours(NEW))?;
        // What was left by a call that was interrupted.
        new.remove()?;
        Ok(new)
    }

    /// Gives a file its name, if it was written.
    fn finish(&self, written: Result<()>, new: &FolderEntry, place: &FolderEntry) -> Result<()> {
        let done = written.and_then(|()| new.rename(place));
        if done.is_err() {
            // The error that matters is the one above.
            let _ = new.remove();
        }
        done
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.root.make(from)?.rename(&self.root.make(to)?)
    }
}

/// The lock of an output, which is made where there is none.
fn open_lock(root: &Root) -> Result<(File, FolderEntry)> {
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

/// Permissions without set-user-id and the like.
fn usual(permissions: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

/// Text that was read byte by byte as bytes.
pub fn bytes(latin: &str) -> Vec<u8> {
    latin.chars().map(|c| c as u8).collect()
}

/// Whether an open file still has this name.
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}
