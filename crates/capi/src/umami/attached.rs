//! A library that carries its process: `mebridge umami` copies libmebridge.so and appends matrix elements.
//!
//! The library contains a mark (`MARK`): 32 bytes by which it is found in the file, followed in a copy by the offset of
//! the appended bytes, their number and their BLAKE3 hash, and in the library itself by zeros. The mark is mapped into
//! memory with the rest, so it belongs to the code that runs, whatever happens to the file. The hash ensures that the
//! bytes read from the file are those that were written with the mark; otherwise there is an error.
//!
//! The file is the one mapped at the address of the code (`/proc/self/maps`), which also works for a renamed file; on
//! systems without such a list it is found by the name under which it was loaded.
//!
//! | appended bytes | meaning |
//! |---|---|
//! | 1 | the backend: 0 for `CUDACPP_RUNTIME_BACKEND`, 1 for the CPU, 2 for CUDA, 3 for HIP |
//! | 4 | the number of squared orders of each flavour, little-endian like all numbers |
//! | 4 | the length of the fingerprint |
//! | | the fingerprint, UTF-8 |
//! | 4 | number of matrix elements |
//! | 8 each | the length of each process file; 0 if this squared order of its flavour vanishes |
//! | | the process files, see [`mebridge::process::file`] |

use crate::memory::{Maps, path_of};
use mebridge::error::{Error, Result};
use mebridge::process::Process;
use mebridge::runtime::BackendChoice;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The beginning of the mark, by which it is found in a file.
const NAME: [u8; 32] = *b"mebridge carries its process at:";
/// Bytes of a mark: name, begin, length, hash.
const BYTES: usize = 32 + 8 + 8 + 32;
/// Upper bound for the length of the appended bytes; a larger value means that the mark is damaged.
const MAX_BYTES: u64 = 4 << 30;

/// The mark of this library. A copy of the file has other bytes here than those the compiler knows, so they are read
/// only by `read_volatile`.
#[used]
static MARK: Mark = Mark({
    let mut bytes = [0; BYTES];
    let mut i = 0;
    while i < NAME.len() {
        bytes[i] = NAME[i];
        i += 1;
    }
    bytes
});

#[repr(C, align(16))]
struct Mark([u8; BYTES]);

/// What a library carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The matrix elements: for each flavour index its squared orders, `None` for those that vanish.
    pub processes: Vec<Option<Process>>,
    /// The number of squared orders of each flavour index, at least 1.
    pub squared_orders: usize,
    /// `Auto`: that of `CUDACPP_RUNTIME_BACKEND`.
    pub backend: BackendChoice,
    /// What a caller knows this library by; empty: the hash of its processes.
    pub fingerprint: String,
}

impl Carried {
    /// One squared order of each flavour, and no fingerprint.
    pub fn new(processes: Vec<Process>, backend: BackendChoice) -> Carried {
        Carried {
            processes: processes.into_iter().map(Some).collect(),
            squared_orders: 1,
            backend,
            fingerprint: String::new(),
        }
    }
}

/// Location and hash of the appended bytes.
struct Attached {
    begin: u64,
    length: u64,
    hash: [u8; 32],
}

impl Attached {
    /// Reads a mark; `None` if the library carries nothing.
    fn read(mark: &[u8; BYTES]) -> Option<Attached> {
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&mark[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(&mark[48..]);
        (number(32) != 0).then(|| Attached {
            begin: number(32),
            length: number(40),
            hash,
        })
    }
}

/// The backends by their number in the file.
const BACKENDS: [BackendChoice; 4] = [
    BackendChoice::Auto,
    BackendChoice::Cpu,
    BackendChoice::Cuda,
    BackendChoice::Hip,
];

/// Returns what this library carries, if anything.
pub fn attached_to_self() -> Result<Option<Carried>> {
    // SAFETY: a static of this library that is never written.
    let mark = unsafe { (&raw const MARK).read_volatile() };
    let Some(attached) = Attached::read(&mark.0) else {
        return Ok(None);
    };
    let path = own_file()?;
    let bytes = read(&path, &attached)?;
    Ok(Some(decode(&bytes, &path)?))
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::ProcessFile {
        path: path.to_owned(),
        defect: format!(
            "was made by `mebridge umami` and {what}; make it again (`strip`, editing and incomplete copies take its \
             process away)"
        ),
    }
}

fn read(path: &Path, attached: &Attached) -> Result<Vec<u8>> {
    if attached.length > MAX_BYTES {
        return Err(damaged(path, "its mark is damaged"));
    }
    let mut file = File::open(path).map_err(Error::io(path))?;
    let size = file.metadata().map_err(Error::io(path))?.len();
    let end = attached.begin.checked_add(attached.length);
    if end.is_none_or(|end| end > size) {
        return Err(damaged(path, "ends too early"));
    }
    let mut bytes = vec![0; attached.length as usize];
    file.seek(SeekFrom::Start(attached.begin))
        .and_then(|_| file.read_exact(&mut bytes))
        .map_err(Error::io(path))?;
    if *blake3::hash(&bytes).as_bytes() != attached.hash {
        return Err(damaged(
            path,
            "its process is not the one that it was made with: the file was changed, or replaced while in use",
        ));
    }
    Ok(bytes)
}

fn encode(carried: &Carried) -> Result<Vec<u8>> {
    let files = carried.processes.iter().map(|process| match process {
        Some(process) => process.to_bytes(),
        None => Ok(Vec::new()),
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let number = BACKENDS.iter().position(|&known| known == carried.backend);
    let mut bytes = vec![number.unwrap_or(0) as u8];
    bytes.extend((carried.squared_orders as u32).to_le_bytes());
    bytes.extend((carried.fingerprint.len() as u32).to_le_bytes());
    bytes.extend(carried.fingerprint.as_bytes());
    bytes.extend((files.len() as u32).to_le_bytes());
    for file in &files {
        bytes.extend((file.len() as u64).to_le_bytes());
    }
    bytes.extend(files.concat());
    Ok(bytes)
}

fn decode(bytes: &[u8], path: &Path) -> Result<Carried> {
    // The hash is right, so if the bytes do not decode, another version wrote them.
    let other = || damaged(path, "its process cannot be read by this version");
    let (&backend, bytes) = bytes.split_first().ok_or_else(other)?;
    let backend = *BACKENDS.get(usize::from(backend)).ok_or_else(other)?;
    let number = |bytes: &mut &[u8]| -> Result<usize> {
        let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(other)?;
        *bytes = rest;
        Ok(u32::from_le_bytes(*number) as usize)
    };
    let mut rest = bytes;
    let squared_orders = number(&mut rest)?;
    let length = number(&mut rest)?;
    let (fingerprint, behind) = rest.split_at_checked(length).ok_or_else(other)?;
    let fingerprint = std::str::from_utf8(fingerprint).map_err(|_| other())?;
    rest = behind;
    let count = number(&mut rest)?;
    let mut lengths = Vec::new();
    for _ in 0..count {
        let (length, behind) = rest.split_first_chunk::<8>().ok_or_else(other)?;
        lengths.push(u64::from_le_bytes(*length));
        rest = behind;
    }
    let mut processes = Vec::new();
    for length in lengths {
        let length = usize::try_from(length).map_err(|_| other())?;
        let (file, behind) = rest.split_at_checked(length).ok_or_else(other)?;
        processes.push(match file {
            [] => None,
            _ => Some(Process::from_bytes(file, path)?),
        });
        rest = behind;
    }
    let mut flavors = processes.chunks(squared_orders.max(1));
    let whole = squared_orders > 0 && processes.len().is_multiple_of(squared_orders);
    let served = flavors.all(|orders| orders.iter().any(Option::is_some));
    match whole && served && !processes.is_empty() {
        true => Ok(Carried {
            processes,
            squared_orders,
            backend,
            fingerprint: fingerprint.to_owned(),
        }),
        false => Err(other()),
    }
}

/// Finds the mark of a library and reads it.
fn mark_of(library: &[u8]) -> Option<(usize, Option<Attached>)> {
    let places = library.windows(NAME.len()).enumerate();
    // The name alone also occurs elsewhere in the file; a mark is followed by zeros, or by an offset in the file.
    for (at, _) in places.filter(|(_, window)| *window == NAME) {
        let Some(mark) = library[at..].first_chunk::<BYTES>() else {
            continue;
        };
        match Attached::read(mark) {
            None if mark[NAME.len()..].iter().all(|&byte| byte == 0) => return Some((at, None)),
            Some(attached)
                if attached.begin.checked_add(attached.length) == Some(library.len() as u64)
                    && attached.begin >= (at + BYTES) as u64 =>
            {
                return Some((at, Some(attached)));
            }
            _ => {}
        }
    }
    None
}

/// Reads the matrix elements that the library in this file carries.
pub fn attached_to(path: &Path) -> Result<Vec<Process>> {
    let library = std::fs::read(path).map_err(Error::io(path))?;
    let Some((_, Some(attached))) = mark_of(&library) else {
        return Err(damaged(path, "carries no process, or ends too early"));
    };
    let carried = decode(&read(path, &attached)?, path)?;
    Ok(carried.processes.into_iter().flatten().collect())
}

/// Returns a copy of a library (`library` is its contents, `path` its name in messages) that carries this, instead of
/// what it carried before.
pub fn attach(library: &[u8], path: &Path, carried: &Carried) -> Result<Vec<u8>> {
    let wrong = |what: &str| Error::ProcessFile {
        path: path.to_owned(),
        defect: format!("{what}; name libmebridge.so of this version with --library"),
    };
    let (at, before) = mark_of(library)
        .ok_or_else(|| wrong("is no library of mebridge that can carry a process"))?;
    let begin = before.map_or(library.len(), |a| a.begin as usize);
    let data = encode(carried)?;
    let mut copy = library[..begin].to_vec();
    // Aligned, for tools that inspect the file.
    copy.resize(begin.next_multiple_of(16), 0);
    let mark = &mut copy[at..at + BYTES];
    mark[32..40].copy_from_slice(&(begin.next_multiple_of(16) as u64).to_le_bytes());
    mark[40..48].copy_from_slice(&(data.len() as u64).to_le_bytes());
    mark[48..].copy_from_slice(blake3::hash(&data).as_bytes());
    copy.extend(data);
    Ok(copy)
}

/// Returns the file that this code was loaded from.
fn own_file() -> Result<PathBuf> {
    let address = (&raw const MARK) as usize;
    // A removed file is still mapped. Another file under its name is detected by the hash before it is used.
    match Maps::read().as_ref().and_then(|maps| maps.file(address)) {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        _ => loaded_by(address),
    }
}

/// Returns the name by which the library at an address was loaded.
#[cfg(unix)]
fn loaded_by(address: usize) -> Result<PathBuf> {
    // SAFETY: a structure of pointers, for which zero bytes are null.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` accepts any address; `info` is a local variable.
    let found = unsafe { libc::dladdr(address as *const libc::c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return Err(unknown());
    }
    // SAFETY: the system provides a string that lives as long as the library is loaded.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    Ok(path_of(name.to_bytes()))
}

#[cfg(not(unix))]
fn loaded_by(_: usize) -> Result<PathBuf> {
    Err(unknown())
}

fn unknown() -> Error {
    Error::Internal {
        what: "the library does not find its own file".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::process::example;

    fn library() -> Vec<u8> {
        let mut library = vec![7; 1000];
        library.extend(NAME);
        library.extend([1; 100]);
        library.extend(MARK.0);
        library.extend([9; 333]);
        library
    }

    #[test]
    fn what_is_attached_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.so");
        let mut other = example::scalars();
        other.name = "other".into();
        let carried = Carried {
            processes: vec![Some(example::scalars()), None, None, Some(other.clone())],
            squared_orders: 2,
            backend: BackendChoice::Cuda,
            fingerprint: "a name".into(),
        };
        let copy = attach(&library(), &path, &carried).unwrap();
        let read_back = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let at = 1000 + 32 + 100;
            let mark = bytes[at..].first_chunk::<BYTES>().unwrap();
            let attached = Attached::read(mark).unwrap();
            read(&path, &attached).and_then(|bytes| decode(&bytes, &path))
        };
        assert_eq!(read_back(&copy).unwrap(), carried);
        // Attaching again replaces the matrix elements.
        let one = Carried::new(vec![other], BackendChoice::Auto);
        let again = attach(&copy, &path, &one).unwrap();
        assert!(again.len() < copy.len());
        assert_eq!(read_back(&again).unwrap(), one);
        // Two squared orders of one matrix element; a flavour of which none is left
        for (processes, squared_orders) in [
            (one.processes.clone(), 2),
            ([one.processes, vec![None]].concat(), 1),
        ] {
            let torn = Carried {
                processes,
                squared_orders,
                ..carried.clone()
            };
            assert!(read_back(&attach(&copy, &path, &torn).unwrap()).is_err());
        }
        for (bytes, text) in [
            (copy[..copy.len() - 1].to_vec(), "ends too early"),
            ([&copy[..copy.len() - 1], &[77]].concat(), "changed"),
        ] {
            let error = read_back(&bytes).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        // A mark that points to itself or before is not accepted.
        let mut wrong = copy.clone();
        wrong.truncate(1000 + 32 + 100 + BYTES);
        wrong[1000 + 32 + 100 + 32..][..8].copy_from_slice(&1000u64.to_le_bytes());
        let length = wrong.len() as u64 - 1000;
        wrong[1000 + 32 + 100 + 40..][..8].copy_from_slice(&length.to_le_bytes());
        assert!(attach(&wrong, &path, &carried).is_err());
        let none = attach(&[0; 5000], &path, &carried);
        let error = none.unwrap_err().to_string();
        assert!(error.contains("no library of mebridge"), "{error}");
    }

    #[test]
    fn a_library_by_itself_carries_nothing() {
        assert!(attached_to_self().unwrap().is_none());
        #[cfg(target_os = "linux")]
        assert_eq!(own_file().unwrap(), std::env::current_exe().unwrap());
    }
}
