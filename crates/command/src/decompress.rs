//! Reads files with events, decompressing them if necessary.

use flate2::bufread::GzDecoder;
use mebridge::files::inputs;
use mebridge::lhe::broken;
use mebridge::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// Number of bytes from which the format is determined.
const BEGINNING: u64 = 512;
const BUFFER: usize = 1 << 18;
/// First bytes of gzipped data.
const GZIP: &[u8] = b"\x1f\x8b";
/// First bytes of other formats, their names, and the program that decompresses them.
const OTHERS: [(&[u8], &str, &str); 7] = [
    (b"\xfd7zXZ\0", "an xz file", "xz -d"),
    (b"BZh", "a bzip2 file", "bzip2 -d"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "zstd -d"),
    (b"\x04\x22\x4d\x18", "an lz4 file", "lz4 -d"),
    (b"LZIP", "an lzip file", "lzip -d"),
    (b"\x1f\x9d", "a .Z file", "uncompress"),
    (
        b"PK\x03\x04",
        "a zip archive",
        "unzip; of a .npz, save the array with numpy.save",
    ),
];

/// An input, and its first bytes.
pub struct Decompressed {
    pub input: Box<dyn BufRead>,
    pub first: Vec<u8>,
    /// The same file, if it is not compressed, for random access.
    pub file: Option<File>,
}

/// Opens a file, gzipped or not.
pub fn open(path: &Path) -> Result<Decompressed> {
    let file = File::open(path).map_err(Error::io(path))?;
    let kind = file.metadata().map_err(Error::io(path))?;
    inputs::note(&kind);
    if kind.is_dir() {
        return Err(wrong(path, "this is a directory, not a file with events"));
    }
    let again = match kind.is_file() {
        true => Some(file.try_clone().map_err(Error::io(path))?),
        false => None,
    };
    from_input(
        Box::new(BufReader::with_capacity(BUFFER, file)),
        again,
        path,
    )
}

/// The same for an input; `path` is for messages.
pub fn from_input(
    input: Box<dyn BufRead>,
    mut file: Option<File>,
    path: &Path,
) -> Result<Decompressed> {
    let peek = |input| peek(input).map_err(|error| broken(path, error, "at its beginning"));
    let (mut first, mut input) = peek(input)?;
    if first.starts_with(GZIP) {
        file = None;
        let plain = BufReader::with_capacity(BUFFER, Gunzip::Between(input));
        (first, input) = peek(Box::new(plain))?;
        if first.starts_with(GZIP) {
            return Err(wrong(
                path,
                "this is compressed twice; unpack it once (gzip -d)",
            ));
        }
    }
    if let Some((_, name, cure)) = OTHERS.iter().find(|(begin, ..)| first.starts_with(begin)) {
        let what = format!("this is {name}, which is not read; unpack it ({cure})");
        return Err(wrong(path, &what));
    }
    Ok(Decompressed { input, first, file })
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::EventsFile {
        path: path.to_path_buf(),
        what: what.into(),
    }
}

/// Returns the first bytes, and the whole input again.
fn peek(mut input: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut first = Vec::new();
    input.by_ref().take(BEGINNING).read_to_end(&mut first)?;
    let whole = Cursor::new(first.clone()).chain(input);
    Ok((first, Box::new(whole)))
}

/// The contents of a gzip file: its members one after the other, optionally followed by zeros, as on a tape.
enum Gunzip {
    Within(Box<GzDecoder<Box<dyn BufRead>>>),
    Between(Box<dyn BufRead>),
    Ended,
}

impl Read for Gunzip {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            *self = match std::mem::replace(self, Gunzip::Ended) {
                Gunzip::Within(mut member) => match member.read(bytes) {
                    Ok(0) => Gunzip::Between(member.into_inner()),
                    read => {
                        *self = Gunzip::Within(member);
                        return read;
                    }
                },
                Gunzip::Between(mut input) => {
                    let available = input.fill_buf()?;
                    let zeros = available.iter().take_while(|&&byte| byte == 0).count();
                    match available.len() {
                        0 => return Ok(0),
                        length if length > zeros => {
                            input.consume(zeros);
                            Gunzip::Within(Box::new(GzDecoder::new(input)))
                        }
                        _ => {
                            input.consume(zeros);
                            Gunzip::Between(input)
                        }
                    }
                }
                Gunzip::Ended => return Ok(0),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn decompressed(bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        let mut input = from_input(Box::new(Cursor::new(bytes)), None, Path::new("f"))?.input;
        let read = input.read_to_end(&mut found);
        read.map_err(|error| broken(Path::new("f"), error, "there"))?;
        Ok(found)
    }

    #[test]
    fn members_and_zeros_are_read() {
        let (one, two) = (compressed(b"one\n"), compressed(b"two\n"));
        let zeros = vec![0; 100_000];
        let both: &[u8] = b"one\ntwo\n";
        assert_eq!(decompressed([&*one, &two].concat()).unwrap(), both);
        assert_eq!(
            decompressed([&*one, &zeros, &two, &zeros].concat()).unwrap(),
            both
        );
        assert_eq!(decompressed(compressed(b"")).unwrap(), b"");
        assert_eq!(decompressed(both.to_vec()).unwrap(), both);
        let message = |bytes: Vec<u8>| decompressed(bytes).unwrap_err().to_string();
        assert!(message([&*one, b"rubbish, more than a header"].concat()).contains("are damaged"));
        assert!(message([&one[..], &two[..two.len() - 9]].concat()).contains("it was cut off"));
        assert!(message(compressed(&one)).contains("compressed twice"));
    }

    #[test]
    fn other_compression_is_named() {
        for (begin, name, cure) in OTHERS {
            let error = decompressed([begin, b"9 and more"].concat()).unwrap_err();
            let wanted = format!("f: this is {name}, which is not read; unpack it ({cure})");
            assert_eq!(error.to_string(), wanted);
        }
    }
}
