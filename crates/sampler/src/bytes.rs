//! Doubles as little-endian bytes.

use crate::{Error, Result};

const SIZE: usize = size_of::<f64>();

pub(crate) fn to_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Vec<f64>> {
    let (numbers, rest) = bytes.as_chunks::<SIZE>();
    if !rest.is_empty() {
        let found = bytes.len();
        return Err(Error::Bytes { found });
    }
    Ok(numbers.iter().copied().map(f64::from_le_bytes).collect())
}
