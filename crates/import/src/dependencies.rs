//! The dependencies of an import on the file system, to determine whether another import would see the same.
//!
//! Every access of the importer to a file, its absence or a folder goes through this module. While [`record`] runs,
//! accesses are recorded; [`DependencyRecord::still_holds`] repeats them. Paths are relative to the imported directory,
//! so that a copy of an output is equivalent to the output.

use mebridge_support::digest;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::regular;
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum file size. The largest matrix elements that MG5aMC has written are well below.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The result of an access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// A file that was read: the hash of its contents, or `None` if it could not be read.
    Contents(Option<Vec<u8>>),
    /// Whether it is a file.
    IsFile(bool),
    /// Sorted names of the files `*.f` of a folder.
    Fortran(Vec<PathBuf>),
}

/// An access to a path and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyRecord {
    path: PathBuf,
    seen: Seen,
}

/// Accesses by path, contents before the others. Repeated accesses are recorded once.
#[derive(Default)]
struct Record(SortedMap<(PathBuf, u8), Seen>);

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
            // If a file changes meanwhile, the first access is kept, which then does not hold.
            looks.entry((path.to_owned(), kind)).or_insert(seen);
        }
    });
}

/// Runs an import of a directory, and returns its dependencies.
pub fn record<T>(directory: &Path, import: impl FnOnce() -> T) -> (T, Vec<DependencyRecord>) {
    /// Ends the recording, also if the import panics.
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

/// Reads a file of limited size.
pub fn read_bounded(path: &Path) -> Result<Vec<u8>> {
    let contents = read(path);
    at_contents(path, &contents);
    contents
}

fn read(path: &Path) -> Result<Vec<u8>> {
    regular::read(path, MAX_FILE_BYTES).map_err(Error::io(path))
}

/// Records that a file was read, or could not be read.
fn at_contents<E>(path: &Path, contents: &std::result::Result<Vec<u8>, E>) {
    note(path, || {
        Seen::Contents(contents.as_deref().ok().map(|bytes| digest(bytes).to_vec()))
    });
}

/// Returns whether a file exists.
pub fn is_file(path: &Path) -> bool {
    let is = path.is_file();
    note(path, || Seen::IsFile(is));
    is
}

/// Returns the files `*.f` of a folder, sorted by name.
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
    /// Returns the path, relative to the imported directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the result of the access.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns whether the same access under this directory has the same result.
    pub fn still_holds(&self, directory: &Path) -> bool {
        let path = directory.join(&self.path);
        match &self.seen {
            Seen::Contents(hash) => {
                let contents = read_bounded(&path);
                contents.ok().map(|bytes| digest(&bytes).to_vec()) == *hash
            }
            Seen::IsFile(is) => path.is_file() == *is,
            Seen::Fortran(names) => list(&path).is_ok_and(|seen| seen == *names),
        }
    }
}
