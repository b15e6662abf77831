//! The file format of a process, `.mebridge`.
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 7 | the magic `mebridge` |
//! | 8 to 11 | [`FORMAT_VERSION`] |
//! | 12 to 19 | length of the body in bytes |
//! | 20 to 23 | CRC-32 (IEEE 802.3) of the body |
//! | 24 to the end | the body: the [`Process`] in postcard's encoding |
//!
//! All numbers of the header are little-endian. A file is accepted only if all of this holds, the body is read to its
//! last byte and [`Process::validate`] finds no error; so any bytes give either a process that can be evaluated or an
//! error. Memory allocated while reading is bounded by the size of the file: every array element takes at least one
//! byte of it, and serde does not reserve more than 1 MiB ahead.
//!
//! Older versions of the format cannot be read: importing the process again takes well under a second.

use super::Process;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::{regular, replace};
use std::io::ErrorKind;
use std::path::Path;

/// Version of the format. Raise it whenever a type within [`Process`] changes; the test
/// `the_encoding_is_that_of_this_version` fails if that is forgotten.
pub const FORMAT_VERSION: u32 = 10;

/// Extension of the files, without the dot.
pub const EXTENSION: &str = "mebridge";

const MAGIC: &[u8; 8] = b"mebridge";
const HEADER: usize = 24;
/// Largest process file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// Defect of a process file.
#[derive(Debug, thiserror::Error)]
enum Defect {
    /// The file does not begin with the magic.
    #[error(
        "is not a mebridge process file; make one with `mebridge import DIR -o FILE`, or name the \
         directory itself"
    )]
    NotOurs,
    /// The file has another format version.
    #[error(
        "is a process file of format {found}, this version of mebridge reads format \
         {FORMAT_VERSION}; import the process again with `mebridge import DIR -o FILE`"
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The file ends too early.
    #[error(
        "is truncated: {has} bytes of {needs}; copy it again, or import the process again with \
         `mebridge import DIR -o FILE`"
    )]
    Truncated {
        /// Size of the file in bytes.
        has: u64,
        /// Size according to the header, in bytes.
        needs: u64,
    },
    /// The contents do not match the checksum, or cannot be decoded.
    #[error(
        "is damaged ({what}); copy it again, or import the process again with `mebridge import \
         DIR -o FILE`"
    )]
    Damaged {
        /// What does not match.
        what: String,
    },
}

impl Process {
    /// Encodes the process as the contents of a process file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; HEADER];
        bytes = postcard::to_extend(self, bytes).map_err(|e| Error::InvalidProcess {
            what: format!("it cannot be encoded ({e})"),
        })?;
        let body = (bytes.len() - HEADER) as u64;
        let crc = crc32fast::hash(&bytes[HEADER..]);
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&body.to_le_bytes());
        bytes[20..24].copy_from_slice(&crc.to_le_bytes());
        Ok(bytes)
    }

    /// Decodes the contents of a process file; `origin` is its name in messages.
    pub fn from_bytes(bytes: &[u8], origin: &Path) -> Result<Process> {
        let process = decode(bytes).map_err(|defect| Error::ProcessFile {
            path: origin.to_owned(),
            defect: defect.to_string(),
        })?;
        process.validate()?;
        Ok(process)
    }

    /// Writes a process file, atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        replace::write(path, &self.to_bytes()?, false).map_err(Error::io(path))
    }

    /// Reads a process file.
    pub fn read(path: impl AsRef<Path>) -> Result<Process> {
        let path = path.as_ref();
        match regular::read(path, MAX_BYTES) {
            Ok(bytes) => Process::from_bytes(&bytes, path),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Error::ProcessFile {
                path: path.to_owned(),
                defect: Defect::NotOurs.to_string(),
            }),
            Err(error) => Err(Error::io(path)(error)),
        }
    }
}

fn decode(bytes: &[u8]) -> std::result::Result<Process, Defect> {
    if bytes.len() < MAGIC.len() || &bytes[..8] != MAGIC {
        return Err(Defect::NotOurs);
    }
    let truncated = |needs: u64| Defect::Truncated {
        has: bytes.len() as u64,
        needs,
    };
    let Some((header, body)) = bytes.split_at_checked(HEADER) else {
        return Err(truncated(HEADER as u64));
    };
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&header[at..at + 4]);
        u32::from_le_bytes(word)
    };
    let found = word(8);
    if found != FORMAT_VERSION {
        return Err(Defect::Version { found });
    }
    let length = u64::from(word(12)) | u64::from(word(16)) << 32;
    if (body.len() as u64) < length {
        return Err(truncated(length.saturating_add(HEADER as u64)));
    }
    let damaged = |what: &str| Defect::Damaged { what: what.into() };
    if body.len() as u64 > length {
        return Err(damaged("it is longer than its header says"));
    }
    if crc32fast::hash(body) != word(20) {
        return Err(damaged("the checksum does not match"));
    }
    match postcard::take_from_bytes(body) {
        Ok((process, [])) => Ok(process),
        Ok(_) => Err(damaged("there are bytes after the process")),
        Err(e) => Err(damaged(&e.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;

    fn reencode(mut bytes: Vec<u8>) -> Vec<u8> {
        let length = (bytes.len() - HEADER) as u64;
        let crc = crc32fast::hash(&bytes[HEADER..]);
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        bytes[20..24].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Process> {
        Process::from_bytes(bytes, Path::new("x.mebridge"))
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let process = example::scalars();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scalars.mebridge");
        process.write(&path).unwrap();
        process.write(&path).unwrap();
        assert_eq!(Process::read(&path).unwrap(), process);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "a temporary file was left");
    }

    #[test]
    fn the_encoding_is_that_of_this_version() {
        // If this fails, a type within Process has changed: raise FORMAT_VERSION and update the numbers here.
        let bytes = example::scalars().to_bytes().unwrap();
        let seen = (
            FORMAT_VERSION,
            bytes.len(),
            crc32fast::hash(&bytes[HEADER..]),
        );
        assert_eq!(seen, (10, 522, 2_165_621_781));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = example::scalars()
            .write("/no/such/folder/x.mebridge")
            .unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/x.mebridge"));
    }

    #[test]
    fn other_files_are_told_apart() {
        let good = example::scalars().to_bytes().unwrap();
        assert!(message(b"").contains("is not a mebridge process file"));
        assert!(message(b"C matrix1.f of MadGraph").contains("is not a mebridge process file"));
        let text = message(&good[..20]);
        assert!(text.contains("truncated: 20 bytes of 24"), "{text}");
        let text = message(&good[..good.len() - 1]);
        assert!(text.contains("truncated"), "{text}");
        assert!(text.contains("x.mebridge"), "{text}");
        let mut other = good.clone();
        other[8] = 99;
        let text = message(&other);
        assert!(
            text.contains("format 99") && text.contains("reads format"),
            "{text}"
        );
        assert!(text.contains("mebridge import"), "{text}");
        let mut damaged = good.clone();
        damaged[40] ^= 1;
        assert!(message(&damaged).contains("the checksum does not match"));
        let mut long = good.clone();
        long.push(0);
        assert!(message(&long).contains("longer than its header says"));
        assert!(message(&reencode(long)).contains("bytes after the process"));
    }

    #[test]
    fn a_routine_with_absurd_numbers_is_an_error() {
        let mut process = example::scalars();
        process.routines[0].couplings = u32::MAX;
        assert!(read(&process.to_bytes().unwrap()).is_err());
        process.routines[0].couplings = 1;
        process.routines[0].inputs = vec![u32::MAX; 2];
        assert!(read(&process.to_bytes().unwrap()).is_err());
    }

    #[test]
    fn a_helicity_that_cannot_be_is_an_error() {
        let mut process = example::scalars();
        process.helicities[0][1] = -128;
        assert!(read(&process.to_bytes().unwrap()).is_err());
    }

    /// Small files that would need a lot of work: many equal rows in the helicity table, each with a long formula or
    /// many terms of JAMPs.
    #[test]
    fn work_without_a_bound_is_an_error() {
        let mut process = example::scalars();
        process.beam_weights.clear();
        let row = process.helicities[0].clone();
        process.helicities = vec![row; 1 << 13];
        let good = process.clone();
        read(&good.to_bytes().unwrap()).unwrap();
        let amplitudes = &mut process.amplitudes.diagrams_mut().unwrap().amplitudes;
        amplitudes.resize(1 << 13, amplitudes[0].clone());
        let text = message(&process.to_bytes().unwrap());
        assert!(
            text.contains(
                "wavefunctions and amplitudes in all helicities, at most 16777216 are possible"
            ),
            "{text}"
        );
        let mut process = good.clone();
        for routine in &mut process.routines {
            let last = routine.program.ops.len() as u32 - 1;
            let more = (0..1 << 19).map(|i| crate::arith::Op::Neg(last + i));
            routine.program.ops.extend(more);
        }
        let text = message(&process.to_bytes().unwrap());
        assert!(
            text.contains("operations for one event, at most 2147483648 are possible"),
            "{text}"
        );
        let mut process = good;
        let output = &mut process.amplitudes.diagrams_mut().unwrap().jamp.outputs[0];
        output.resize(1 << 20, output[0]);
        assert!(message(&process.to_bytes().unwrap()).contains("operations for one event"));
    }

    #[test]
    fn a_device_is_not_read() {
        let text = Process::read("/dev/zero").unwrap_err().to_string();
        assert!(text.contains("/dev/zero"), "{text}");
        let text = Process::read("/no/such/file").unwrap_err().to_string();
        assert!(text.contains("/no/such/file"), "{text}");
    }

    #[test]
    fn a_huge_announced_length_allocates_nothing_of_the_kind() {
        // A name of 2^63 bytes, then an array of 2^63 elements.
        let mut bytes = example::scalars().to_bytes().unwrap()[..HEADER].to_vec();
        bytes.extend([0xff; 9]);
        assert!(read(&reencode(bytes.clone())).is_err());
        bytes.truncate(HEADER);
        bytes.extend([0, 0]);
        bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        assert!(read(&reencode(bytes)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn any_body_behind_a_good_header_is_handled(body in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = example::scalars().to_bytes().unwrap()[..HEADER].to_vec();
            bytes.extend(body);
            if let Ok(process) = read(&reencode(bytes)) {
                process.validate().unwrap();
            }
        }

        #[test]
        fn mutated_files_are_handled(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            honest in any::<bool>(),
        ) {
            let mut bytes = example::scalars().to_bytes().unwrap();
            let good = bytes.clone();
            let body = bytes.len() - HEADER;
            for (at, value) in changes {
                bytes[HEADER + at.index(body)] = value;
            }
            if honest {
                if let Ok(process) = read(&reencode(bytes)) {
                    process.validate().unwrap();
                    // Writing and reading again gives the same bytes.
                    let bytes = process.to_bytes().unwrap();
                    prop_assert_eq!(read(&bytes).unwrap().to_bytes().unwrap(), bytes);
                }
            } else {
                prop_assert_eq!(read(&bytes).is_ok(), bytes == good);
            }
        }

        #[test]
        fn names_and_numbers_survive(name in ".{0,40}", iden in 1u32.., value in any::<f64>()) {
            let mut process = example::scalars();
            process.name = name;
            process.iden = iden;
            process.model.card[0].default = value;
            let bytes = process.to_bytes().unwrap();
            let back = read(&bytes).unwrap();
            prop_assert_eq!(back.to_bytes().unwrap(), bytes);
            prop_assert_eq!(&back.name, &process.name);
            prop_assert_eq!(back.model.card[0].default.to_bits(), value.to_bits());
        }
    }
}
