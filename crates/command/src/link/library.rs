//! Finds libmebridge.so, its place in an output, and what executables call.

use super::root::wrong;
use mebridge::files::regular;
use mebridge::{Error, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// Largest library or executable, in bytes.
pub const MAX_LIBRARY_BYTES: u64 = 1 << 30;

/// The folder of the library in an output. MG5aMC makes it, but outputs of other programs may lack it.
pub const FOLDER: &str = "lib";

/// Paths of the library in an output. Executables that were linked with an installed library load the second, which is
/// the SONAME set by `make install`; it is a link to the first.
pub const NAMES: [&str; 2] = ["lib/libmebridge.so", "lib/libmebridge.so.0"];

/// Number of bytes that contain a library's header and program headers.
const HEAD: u64 = 1 << 14;

/// A routine that executables of a linked output need.
const NEEDED: &[u8] = b"mebridge_expect_";

/// Finds libmebridge.so: the named one, by option or else by MEBRIDGE_LIBRARY, or the one built or installed with this
/// command.
pub fn library(named: Option<&Path>) -> Result<PathBuf> {
    let variable = std::env::var_os("MEBRIDGE_LIBRARY").filter(|name| !name.is_empty());
    let variable = variable.as_deref().map(Path::new);
    let (candidates, cure) = match (named, variable) {
        (Some(path), _) => (vec![path.to_owned()], "name another one with --library"),
        (None, Some(path)) => (vec![path.to_owned()], "correct MEBRIDGE_LIBRARY"),
        (None, None) => (
            installed()?,
            "install mebridge again, or name it with --library",
        ),
    };
    let found = candidates.iter().find(|path| path.exists());
    let found =
        found.ok_or_else(|| wrong(&candidates[0], format!("there is no such library; {cure}")))?;
    let file = regular::open(found, MAX_LIBRARY_BYTES).map_err(Error::io(found))?;
    let mut head = Vec::new();
    let read = (&file).take(HEAD).read_to_end(&mut head);
    let back = read.and_then(|_| (&file).rewind());
    back.map_err(Error::io(found))?;
    if !is_shared(&head) || !holds(&file, [NEEDED]).map_err(Error::io(found))?[0] {
        return Err(wrong(
            found,
            format!("this is no library of mebridge of this version; {cure}"),
        ));
    }
    found.canonicalize().map_err(Error::io(found))
}

/// Finds candidates for libmebridge.so: next to this command, where cargo puts it; in the library folders of `make
/// install`; or in the Python package, where pip has put both.
fn installed() -> Result<Vec<PathBuf>> {
    let command = std::env::current_exe().and_then(|path| path.canonicalize());
    let command = command.map_err(Error::io("mebridge"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let prefix = folder.parent().unwrap_or(Path::new("/"));
    let machine = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let mut found = vec![folder.to_owned()];
    // Where cargo builds only a test of the command, the newest library is there.
    let built = folder.join("deps");
    let age = |place: &Path| {
        fs::metadata(place.join("libmebridge.so"))
            .and_then(|m| m.modified())
            .ok()
    };
    if age(&built) > age(folder) {
        found.insert(0, built);
    }
    found.extend(["lib", "lib64", &machine].map(|name| prefix.join(name)));
    // If there are several Pythons, prefer one whose package has this version.
    let (same, others): (Vec<PathBuf>, Vec<PathBuf>) =
        packages(prefix).into_iter().partition(|place| {
            let version = concat!("mebridge-", env!("CARGO_PKG_VERSION"), ".dist-info");
            place.join(version).is_dir()
        });
    found.extend(
        [same, others]
            .concat()
            .iter()
            .map(|place| place.join("mebridge")),
    );
    Ok(found
        .iter()
        .map(|place| place.join("libmebridge.so"))
        .collect())
}

/// Returns the package folders of all Pythons with this prefix; pip's --target makes the prefix itself one.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found = vec![prefix.to_owned()];
    for library in ["lib", "lib64"] {
        let pythons = prefix
            .join(library)
            .read_dir()
            .into_iter()
            .flatten()
            .flatten();
        let pythons =
            pythons.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python3"));
        for python in pythons {
            found.extend(["site-packages", "dist-packages"].map(|name| python.path().join(name)));
        }
    }
    found
}

/// Whether a 64-bit ELF file with this header is a shared library: it has that type and, unlike executables of the same
/// type, no segment that names an interpreter. Numbers are in this machine's byte order, as the library is to run here.
fn is_shared(head: &[u8]) -> bool {
    const SHARED: u16 = 3;
    const INTERPRETER: u32 = 3;
    let short = |at: usize| Some(u16::from_ne_bytes(*head.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_ne_bytes(*head.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_ne_bytes(*head.get(at..)?.first_chunk()?));
    // e_type, and the offset, size and number of program headers.
    let (Some(SHARED), Some(place), Some(size), Some(count)) =
        (short(16), long(32), short(54), short(56))
    else {
        return false;
    };
    let kinds = (0..u64::from(count)).map(|n| place.checked_add(n * u64::from(size)));
    let mut kinds = kinds.map(|at| word(usize::try_from(at?).ok()?));
    head.starts_with(b"\x7fELF\x02") && kinds.all(|kind| kind.is_some_and(|k| k != INTERPRETER))
}

/// The source of an executable's matrix elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluatedBy {
    /// The library: the executable was made by a linked output.
    Library,
    /// The libraries of the plugin, which may be ours under their names.
    Plugin,
    /// Its own Fortran.
    Fortran,
}

/// Determines the source of an executable's matrix elements from the libraries that it names. A dangling link does not
/// call ours.
pub fn calls(path: &Path) -> Result<EvaluatedBy> {
    let words: [&[u8]; 2] = [b"libmebridge.so", b"libmg5amc_"];
    let found = regular::open(path, MAX_LIBRARY_BYTES).and_then(|file| holds(&file, words));
    match found {
        Ok([true, _]) => Ok(EvaluatedBy::Library),
        Ok([false, true]) => Ok(EvaluatedBy::Plugin),
        Ok([false, false]) => Ok(EvaluatedBy::Fortran),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(EvaluatedBy::Fortran),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Whether a file is the output of a compiler, and not a user's script.
pub fn is_compiled(path: &Path) -> bool {
    let file = regular::open(path, MAX_LIBRARY_BYTES);
    let mut head = [0; 4];
    file.is_ok_and(|mut file| file.read_exact(&mut head).is_ok() && head == *b"\x7fELF")
}

/// Returns which of some words occur in the rest of a file, which is read in pieces because it may be large.
fn holds<const N: usize>(file: &File, words: [&[u8]; N]) -> std::io::Result<[bool; N]> {
    let mut found = [false; N];
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut piece = Vec::with_capacity(1 << 20);
    let mut file = file.take(MAX_LIBRARY_BYTES);
    loop {
        // A word may straddle two pieces.
        let kept = piece.len().min(longest);
        piece.drain(..piece.len() - kept);
        if (&mut file).take(1 << 20).read_to_end(&mut piece)? == 0 {
            return Ok(found);
        }
        for (found, word) in found.iter_mut().zip(words) {
            *found = *found || piece.windows(word.len()).any(|part| part == word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_across_borders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("madevent");
        for (at, calls_it) in [
            (5, EvaluatedBy::Library),
            ((1 << 20) - 3, EvaluatedBy::Library),
        ] {
            let mut bytes = vec![0; (1 << 20) + 100];
            bytes[at..at + 14].copy_from_slice(b"libmebridge.so");
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(calls(&path).unwrap(), calls_it);
        }
        std::fs::write(&path, "libmg5amc_gg").unwrap();
        assert_eq!(calls(&path).unwrap(), EvaluatedBy::Plugin);
        assert_eq!(
            calls(&folder.path().join("none")).unwrap(),
            EvaluatedBy::Fortran
        );
        assert!(calls(folder.path()).is_err());
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let command = std::env::current_exe().unwrap();
        for path in [Path::new("/etc/passwd"), &command, Path::new("/dev/zero")] {
            assert!(library(Some(path)).is_err(), "{path:?}");
        }
    }
}
