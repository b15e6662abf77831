//! What an import saw of the file system, so that it can be known whether another one would see the
//! same.
//!
//! Every look of the importer at a file, its absence or a folder goes through here. While
//! [`record`] runs, they are noted; [`DependencyRecord::still_holds`] looks again. Paths are noted relative to
//! the directory that is imported, so that a copy of an output is as good as the output.

use mebridge_support::digest;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::regular;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A file beyond this size is refused. The largest matrix elements that MG5aMC has written are
/// well below.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// What was seen at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// A file that was read: the hash of its contents, or `None` where it could not be read.
    Contents(Option<[u8; 32]>),
    /// Whether it is a file.
    IsFile(bool),
    /// Names of the files `*.f` of a folder, in order.
    Fortran(Vec<PathBuf>),
}

/// A look at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyRecord {
    path: PathBuf,
    seen: Seen,
}

/// Dependencies by path, contents before the others. A path that is seen twice is noted once.
#[derive(Default)]
struct Record(BTreeMap<(PathBuf, u8), Seen>);

thread_local! {
    static RECORD: RefCell<Option<Record>> = const { RefCell::new(None) };
}

fn note(path: &Path, seen: impl FnOnce() -> Seen) {
    RECORD.with_borrow_mut(|record| {
        if let Some(Record(looks)) = record {
            let seen = seen();
            let kind = match seen {
                Seen::Contents(_) => 0,
                Seen::IsFile(_) => 1,
                Seen::Fortran(_) => 2,
            };
            // A file that changes meanwhile: the first look is noted, which then does not hold.
            looks.entry((path.to_owned(), kind)).or_insert(seen);
        }
    });
}

/// Runs an import of a directory, and gives what it saw.
pub fn record<T>(directory: &Path, import: impl FnOnce() -> T) -> (T, Vec<DependencyRecord>) {
    /// Ends the record also where the import panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            RECORD.set(None);
        }
    }
    RECORD.set(Some(Record::default()));
    let end = End;
    let result = import();
    let Record(looks) = RECORD.take().unwrap_or_default();
    drop(end);
    let looks = looks.into_iter().map(|((path, _), seen)| DependencyRecord {
        path: path
            .strip_prefix(directory)
            .map_or(path.clone(), Path::to_owned),
        seen,
    });
    (result, looks.collect())
}

/// Reads a whole file, if it is not too large to be what it should be.
pub fn read_bounded(path: &Path) -> Result<Vec<u8>> {
    let contents = read(path);
    at_contents(path, &contents);
    contents
}

fn read(path: &Path) -> Result<Vec<u8>> {
    regular::read(path, MAX_FILE_BYTES).map_err(Error::io(path))
}

/// Notes that a file was read, or could not be.
fn at_contents<E>(path: &Path, contents: &std::result::Result<Vec<u8>, E>) {
    note(path, || {
        Seen::Contents(contents.as_deref().ok().map(digest))
    });
}

/// Whether there is such a file.
pub fn is_file(path: &Path) -> bool {
    let is = path.is_file();
    note(path, || Seen::IsFile(is));
    is
}

/// The files `*.f` of a folder, in order of their names.
pub fn fortran(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let files = list(folder)?;
    note(folder, || Seen::Fortran(files.clone()));
    Ok(files.iter().map(|name| folder.join(name)).collect())
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|e| e == "f") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

impl DependencyRecord {
    /// Where it was, from the directory that was imported.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was there.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Whether a look at the same path under this directory shows the same.
    pub fn still_holds(&self, directory: &Path) -> bool {
        let path = directory.join(&self.path);
        match &self.seen {
            Seen::Contents(hash) => {
                let contents = read_bounded(&path);
                contents.ok().as_deref().map(digest) == *hash
            }
            Seen::IsFile(is) => path.is_file() == *is,
            Seen::Fortran(names) => list(&path).is_ok_and(|seen| seen == *names),
        }
    }
}
