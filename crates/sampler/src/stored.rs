//! Serialisation of surveys.
//!
//! 64-bit little-endian words: a mark, the format number, four words that identify the run, four words with the digest
//! of the rest; then the fields of [`Survey`], each list after its length.

use super::flow::{Flow, FlowShape};
use super::grid::Grid;
use super::sums::{self, WeightSums};
use super::survey::{Survey, SurveyedSource};
use super::unweight::Spectrum;
use super::{Error, Result};

/// The format number. It changes when the contents or the weights of points change.
pub const FORMAT: u64 = 4;
const MARK: u64 = u64::from_le_bytes(*b"mesurvey");
/// Length of the head, and the places of its two digests.
const HEAD: usize = 80;
const BELONGS: std::ops::Range<usize> = 16..48;
const DIGEST: std::ops::Range<usize> = 48..HEAD;

impl Survey {
    /// Serialises the survey of the run with this digest.
    pub fn to_bytes(&self, belongs: &[u8; 32]) -> Vec<u8> {
        let mut words = vec![u64::from(self.of), self.points, self.sources.len() as u64];
        for (known, &stay) in self.sources.iter().zip(&self.stay) {
            words.push(u64::from(stay));
            let edges = known.grid.to_bytes();
            let (edges, _) = edges.as_chunks::<8>();
            let edges: Vec<u64> = edges
                .iter()
                .map(|bytes| u64::from_le_bytes(*bytes))
                .collect();
            let chances: Vec<u64> = known.chances.iter().map(|of| of.to_bits()).collect();
            for list in [edges, chances, known.spectrum.words()] {
                words.push(list.len() as u64);
                words.extend(list);
            }
            words.extend(known.sums.words());
            let unbiased = known.sums.unbiased_words();
            words.push(unbiased.len() as u64);
            words.extend(unbiased);
            words.extend(known.trial.map(f64::to_bits));
            let flow = known.flow.as_ref().map(flow_words).unwrap_or_default();
            words.push(flow.len() as u64);
            words.extend(flow);
        }
        let rest: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut bytes = [MARK.to_le_bytes(), FORMAT.to_le_bytes()].concat();
        bytes.extend(belongs);
        bytes.extend(mebridge_support::digest(&rest));
        bytes.extend(rest);
        bytes
    }

    /// Reads the bytes of [`Self::to_bytes`].
    ///
    /// # Errors
    /// The bytes are no survey, are damaged, have another format, or belong to another run.
    pub fn from_bytes(bytes: &[u8], belongs: &[u8; 32]) -> Result<Self> {
        let mut head = Words(bytes);
        if head.next() != Ok(MARK) {
            return Err(Error::NoSurvey);
        }
        let found = head.next()?;
        if found != FORMAT {
            return Err(Error::Format { found });
        }
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(Error::Damaged)?;
        if head[DIGEST] != mebridge_support::digest(rest) {
            return Err(Error::Damaged);
        }
        if head[BELONGS] != belongs[..] {
            return Err(Error::OtherRun);
        }
        let mut words = Words(rest);
        let of = words.small()?;
        let points = words.next()?;
        let mut found = Survey {
            sources: Vec::new(),
            stay: Vec::new(),
            of,
            points,
        };
        for _ in 0..words.next()? {
            found.stay.push(words.small()?);
            let grid = Grid::from_bytes(words.list()?)?;
            let chances = super::bytes::from_bytes(words.list()?)?;
            let mut spectrum = Words(words.list()?);
            let spectrum: Vec<u64> = std::iter::from_fn(|| spectrum.next().ok()).collect();
            let sums = WeightSums::from_words(words.array::<{ sums::WORDS }>()?);
            let mut unbiased = Words(words.list()?);
            let sums = match unbiased.0.is_empty() {
                true => sums,
                false => sums.with_unbiased(unbiased.array::<{ sums::WORDS_UNBIASED }>()?),
            };
            found.sources.push(SurveyedSource {
                grid,
                chances,
                sums,
                spectrum: Spectrum::from_words(&spectrum).ok_or(Error::Damaged)?,
                trial: [f64::from_bits(words.next()?), f64::from_bits(words.next()?)],
                flow: flow(words.list()?)?,
            });
        }
        Ok(found)
    }
}

/// Serialises a flow: numbers of bins, neurons, layers, dimensions and blocks; for each block the dimensions that it
/// leaves unchanged; parameters.
fn flow_words(flow: &Flow) -> Vec<u64> {
    let shape = flow.shape();
    let dimensions = shape.dimensions();
    let sizes = [
        shape.bins,
        shape.units,
        shape.layers,
        dimensions,
        shape.conditions.len(),
    ];
    let sizes = sizes.into_iter().map(|size| size as u64);
    let stays = shape
        .conditions
        .iter()
        .flatten()
        .map(|&stays| u64::from(stays));
    let parameters = flow.parameters().iter().map(|of| u64::from(of.to_bits()));
    sizes.chain(stays).chain(parameters).collect()
}

/// Reads the words of [`flow_words`]; `None` if there are none.
fn flow(bytes: &[u8]) -> Result<Option<Flow>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut words = Words(bytes);
    let [bins, units, layers, dimensions, blocks] = words.array()?.map(|size| size as usize);
    let mut conditions = Vec::new();
    for _ in 0..blocks {
        let block = (0..dimensions).map(|_| Ok(words.next()? != 0));
        conditions.push(block.collect::<Result<_>>()?);
    }
    let mut parameters = Vec::new();
    while !words.0.is_empty() {
        parameters.push(f32::from_bits(words.small()?));
    }
    let shape = FlowShape {
        bins,
        units,
        layers,
        conditions,
    };
    let flow = Flow::new(shape, parameters);
    flow.map(Some).map_err(|_| Error::Damaged)
}

/// The bytes not read yet.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<u64> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Error::Damaged)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn array<const N: usize>(&mut self) -> Result<[u64; N]> {
        let mut found = [0; N];
        for word in &mut found {
            *word = self.next()?;
        }
        Ok(found)
    }

    fn small(&mut self) -> Result<u32> {
        u32::try_from(self.next()?).map_err(|_| Error::Damaged)
    }

    /// Reads a list, whose length is the next word.
    fn list(&mut self) -> Result<&'a [u8]> {
        let count = usize::try_from(self.next()?).ok();
        let size = count.and_then(|count| count.checked_mul(8));
        let split = size.and_then(|size| self.0.split_at_checked(size));
        let (list, rest) = split.ok_or(Error::Damaged)?;
        self.0 = rest;
        Ok(list)
    }
}
