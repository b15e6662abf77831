//! Reads events from a NumPy array, `.npy`.

use super::chunk::Chunk;
use mebridge::lhe::{EventLocation, broken};
use mebridge::{Error, Result};
use npyz::{DType, NpyFile, NpyHeader, NpyReader, Order};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// First bytes of such a file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Length of magic and version, in bytes.
const BEFORE_LENGTH: usize = 8;
/// Longest header for an array of numbers; NumPy pads it to a multiple of 64.
const MAX_HEADER_BYTES: usize = 4096;
/// Largest number of digits in a header: products of numbers with this many digits in total do not overflow.
const MAX_DIGITS: usize = 18;

/// Largest number of brackets in a header. An array of numbers has two; parsers become ever slower with nested
/// brackets.
/// brackets in brackets.
const MAX_BRACKETS: usize = 8;

/// A NumPy array with the momenta of events.
pub struct Npy {
    path: PathBuf,
    data: Data,
    shape: ArrayLayout,
    done: u64,
}

/// The data, and how they are read.
enum Data {
    /// Event after event; the second field is the underlying input, to check its end.
    InOrder(Numbers<Shared>, Shared),
    /// Fortran order: each component of all events.
    ByComponent(Numbers<BufReader<File>>),
}

/// The layout of the array.
struct ArrayLayout {
    events: u64,
    legs: u64,
    /// Distance between neighbours: legs of an event, components of a momentum.
    leg_stride: u64,
    component_stride: u64,
}

/// The numbers, of either type.
enum Numbers<R: Read> {
    Double(NpyReader<f64, R>),
    Single(NpyReader<f32, R>),
}

impl Npy {
    /// Reads the header. `file` is the file of `input` if it is uncompressed.
    pub fn open(
        mut input: Box<dyn BufRead>,
        file: Option<File>,
        path: &Path,
        legs: usize,
    ) -> Result<Npy> {
        let wrong = |what: String| Error::EventsFile {
            path: path.to_path_buf(),
            what,
        };
        let bytes = read_header(&mut input).map_err(|error| match error {
            Refused::Io(error) => broken(path, error, "within its header"),
            Refused::Header(what) => wrong(what),
        })?;
        let header = NpyHeader::from_reader(&bytes[..])
            .map_err(|error| wrong(format!("its header cannot be read: {error}")))?;
        let bytes_of_number = match type_of(&header).as_str() {
            "<f8" | ">f8" => 8,
            "<f4" | ">f4" => 4,
            other => {
                return Err(wrong(format!(
                    "the array is of type {other}; f8 or f4 is needed, convert it with astype(float)"
                )));
            }
        };
        let shape = ArrayLayout::new(&header, legs as u64).ok_or_else(|| {
            let shape: Vec<String> = header.shape().iter().map(u64::to_string).collect();
            wrong(format!(
                "the array has the shape ({}); for {legs} legs it has to be (events, {legs}, 4) or \
                 (events, {})",
                shape.join(", "),
                4 * legs
            ))
        })?;
        if let Some(file) = &file {
            let has = file.metadata().map_err(Error::io(path))?.len();
            let needs = bytes.len() as u64 + header.len() * bytes_of_number;
            if has != needs {
                let why = match has < needs {
                    true => "it was cut off, copy or make it again",
                    false => "more data follow its numbers",
                };
                return Err(wrong(format!(
                    "it has {has} bytes where its header asks for {needs}; {why}"
                )));
            }
        }
        let data = match (header.order(), file) {
            (Order::C, _) => {
                let input = Shared(Rc::new(RefCell::new(input)));
                let numbers = Numbers::new(header, input.clone());
                numbers.map(|numbers| Data::InOrder(numbers, input))
            }
            (Order::Fortran, Some(mut file)) => file
                .seek(SeekFrom::Start(bytes.len() as u64))
                .and_then(|_| Numbers::new(header, BufReader::new(file)))
                .map(Data::ByComponent),
            (Order::Fortran, None) => {
                return Err(wrong(
                    "an array in Fortran order cannot be read from a pipe or compressed; save it in C \
                     order (numpy.ascontiguousarray) or as a plain file"
                        .into(),
                ));
            }
        };
        Ok(Npy {
            path: path.to_path_buf(),
            data: data.map_err(Error::io(path))?,
            shape,
            done: 0,
        })
    }

    /// Reads at most `most` further events.
    pub fn fill(&mut self, chunk: &mut Chunk, most: usize) -> Result<()> {
        let shape = &self.shape;
        // At most `most`, which is a usize.
        let count = (shape.events - self.done).min(most as u64) as usize;
        let read = match &mut self.data {
            Data::InOrder(numbers, _) => in_order(numbers, shape, count, chunk),
            Data::ByComponent(numbers) => by_component(numbers, shape, self.done, count, chunk),
        };
        read.map_err(|error| {
            let place = format!("after event {}", self.done);
            broken(&self.path, error, &place)
        })?;
        for event in 0..count as u64 {
            chunk.add(EventLocation {
                event: self.done + event + 1,
                line: 0,
            });
        }
        self.done += count as u64;
        self.end()
    }
}

impl Npy {
    /// Checks that nothing follows the last event. Compressed data are only checked at their end.
    fn end(&self) -> Result<()> {
        let Data::InOrder(_, input) = &self.data else {
            return Ok(());
        };
        if self.done < self.shape.events {
            return Ok(());
        }
        match input.0.borrow_mut().fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(Error::EventsFile {
                path: self.path.clone(),
                what: "more data follow its numbers".into(),
            }),
            Err(error) => Err(broken(&self.path, error, "at its end")),
        }
    }
}

/// An input that is shared with the reader of numbers.
#[derive(Clone)]
struct Shared(Rc<RefCell<Box<dyn BufRead>>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

/// Reads events that are stored one after the other.
fn in_order<R: Read>(
    numbers: &mut Numbers<R>,
    shape: &ArrayLayout,
    count: usize,
    chunk: &mut Chunk,
) -> io::Result<()> {
    let all = count * 4 * shape.legs as usize;
    chunk.momenta.reserve(all);
    for _ in 0..all {
        chunk.momenta.push(numbers.next()?);
    }
    Ok(())
}

/// Reads events whose components are stored separately.
fn by_component<R: Read + Seek>(
    numbers: &mut Numbers<R>,
    shape: &ArrayLayout,
    first: u64,
    count: usize,
    chunk: &mut Chunk,
) -> io::Result<()> {
    let legs = shape.legs as usize;
    chunk.momenta.resize(count * 4 * legs, 0.0);
    for leg in 0..legs {
        for component in 0..4 {
            let column = leg as u64 * shape.leg_stride + component as u64 * shape.component_stride;
            numbers.seek_to(column + first)?;
            for event in 0..count {
                chunk.momenta[(event * legs + leg) * 4 + component] = numbers.next()?;
            }
        }
    }
    Ok(())
}

impl ArrayLayout {
    /// Returns the layout for this number of legs; `None` for other shapes.
    fn new(header: &NpyHeader, legs: u64) -> Option<ArrayLayout> {
        let (leg_stride, component_stride) = match (header.shape(), header.strides()) {
            (&[_, n, 4], &[_, leg, component]) if n == legs => (leg, component),
            (&[_, n], &[_, stride]) if n == 4 * legs => (4 * stride, stride),
            _ => return None,
        };
        Some(ArrayLayout {
            events: header.shape()[0],
            legs,
            leg_stride,
            component_stride,
        })
    }
}

impl<R: Read> Numbers<R> {
    /// Reads numbers of double precision, or else of single precision.
    fn new(header: NpyHeader, reader: R) -> io::Result<Numbers<R>> {
        let file = NpyFile::with_header(header, reader);
        match file.try_data() {
            Ok(reader) => Ok(Numbers::Double(reader)),
            Err(file) => file.data().map(Numbers::Single).map_err(io::Error::other),
        }
    }

    fn next(&mut self) -> io::Result<f64> {
        let number = match self {
            Numbers::Double(reader) => reader.next(),
            Numbers::Single(reader) => reader.next().map(|x| x.map(f64::from)),
        };
        number.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

impl<R: Read + Seek> Numbers<R> {
    fn seek_to(&mut self, index: u64) -> io::Result<()> {
        match self {
            Numbers::Double(reader) => reader.seek_to(index),
            Numbers::Single(reader) => reader.seek_to(index),
        }
    }
}

/// Reason why a header was refused.
enum Refused {
    Io(io::Error),
    Header(String),
}

/// Reads the bytes up to the end of the header. Headers that are too long, or contain too large numbers, are refused,
/// because parsers of them fail.
fn read_header(input: &mut impl Read) -> Result<Vec<u8>, Refused> {
    let mut bytes = vec![0; BEFORE_LENGTH];
    input.read_exact(&mut bytes).map_err(Refused::Io)?;
    // Version 1 has two bytes for the length, later versions four.
    let size = if bytes[MAGIC.len()] == 1 { 2 } else { 4 };
    let mut length = [0; 4];
    input.read_exact(&mut length[..size]).map_err(Refused::Io)?;
    bytes.extend_from_slice(&length[..size]);
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER_BYTES {
        return Err(Refused::Header(format!(
            "its header claims to have {length} bytes; that of an array of numbers has about a hundred"
        )));
    }
    let before = bytes.len();
    bytes.resize(before + length, 0);
    input
        .read_exact(&mut bytes[before..])
        .map_err(Refused::Io)?;
    let digits = bytes[before..].iter().filter(|c| c.is_ascii_digit());
    let brackets = bytes[before..].iter().filter(|c| b"([{".contains(c));
    if digits.count() > MAX_DIGITS || brackets.count() > MAX_BRACKETS {
        return Err(Refused::Header(
            "its header speaks of more numbers than a file can hold, or of records; an array of \
             numbers is needed"
                .into(),
        ));
    }
    Ok(bytes)
}

/// Returns the type in NumPy's notation, `<f8`.
fn type_of(header: &NpyHeader) -> String {
    match header.dtype() {
        DType::Plain(name) => name.to_string(),
        other => other.descr(),
    }
}
