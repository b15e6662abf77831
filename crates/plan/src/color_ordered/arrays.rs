//! Layout of arrays over helicities, and the correspondence between their elements.
//!
//! Legs are identified by their positions along the line: 0 is the first end, then come the insertions, the second end,
//! and the boson. An array over a set of legs has its inner legs first, with the lowest position varying fastest, then
//! its outer legs: the index of an element is a mixed-radix number whose digits are the helicity indices of the legs.
//! (Arrays over outer legs have [`ELEMENT`] or [`PRODUCTS`] vectors per element.) If elements come in fours
//! ([`mebridge_ops::arrays::Pools::fours`]), the second end varies second fastest.

use mebridge_ops::Address;
use mebridge_ops::arrays::{ELEMENT, Operand};
use rustc_hash::FxHashMap as HashMap;
use std::hash::Hash;

/// A set of positions, one bit each.
pub type Legs = u32;

/// The set of positions of insertions.
pub fn insertions(order: &[u8]) -> Legs {
    order.iter().map(|r| 2u32 << r).sum()
}

/// An array over the helicities of some legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Address of its first element.
    pub address: Address,
    /// The legs on which the elements depend.
    pub legs: Legs,
    /// Distance in vectors from one element to the next.
    pub stride: u32,
    /// Whether the array covers all helicities of outer legs, or only those of the current run.
    pub whole: bool,
    /// Address of its [products](mebridge_ops::arrays::Folded), if they have been computed.
    pub products: Option<Address>,
}

impl Array {
    /// An array of vectors or spinors without products.
    pub const fn new(address: Address, legs: Legs, whole: bool) -> Array {
        Array {
            address,
            legs,
            stride: ELEMENT,
            whole,
            products: None,
        }
    }

    /// An array of numbers.
    pub const fn numbers(address: Address, legs: Legs, whole: bool) -> Array {
        Array {
            stride: PRODUCTS,
            ..Array::new(address, legs, whole)
        }
    }

    /// The array of its products, if they have been computed.
    pub fn of_products(self) -> Option<Array> {
        let address = self.products?;
        Some(Array::numbers(address, self.legs, self.whole))
    }
}

/// Vectors per element of an array of products.
pub const PRODUCTS: u32 = 2;

/// The helicities of all legs, and tables of element offsets derived from them.
pub struct Helicities {
    /// `[position]`: number of helicities.
    radix: Vec<u32>,
    /// Positions in the order in which their helicities vary, fastest first.
    sequence: Vec<usize>,
    /// The outer legs.
    outer: Legs,
    /// `[run][leg]`: helicity index of each outer leg (0 for other legs).
    runs: Vec<Vec<u32>>,
    indices: Vec<u32>,
    known: HashMap<(Legs, Legs, u32, bool), u32>,
    shifts: HashMap<(Legs, u32), u32>,
    /// For each shift, the legs of its arrays and the vectors per element.
    shifted: Vec<(Legs, u32)>,
}

impl Helicities {
    /// For legs with `radix` helicities, which vary in the order of positions.
    pub fn new(radix: Vec<u32>, outer: Legs, runs: Vec<Vec<u32>>) -> Self {
        Helicities {
            sequence: (0..radix.len()).collect(),
            radix,
            outer,
            runs,
            indices: Vec::new(),
            known: HashMap::default(),
            shifts: HashMap::from_iter([((0, 0), 0)]),
            shifted: vec![(0, 0)],
        }
    }

    /// Makes a position vary second fastest.
    pub fn with_second(mut self, position: usize) -> Self {
        self.sequence[1..=position].rotate_right(1);
        self
    }

    /// Positions of these legs in the order in which their helicities vary.
    fn order(&self, legs: Legs, whole: bool) -> impl Iterator<Item = usize> {
        let outer = self.outer;
        let positions = self.sequence.iter().copied();
        let of = move |legs: Legs| {
            positions
                .clone()
                .filter(move |position| legs >> position & 1 == 1)
        };
        of(legs & !outer).chain(of(if whole { legs & outer } else { 0 }))
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Number of elements of an array.
    pub fn count(&self, legs: Legs, whole: bool) -> u32 {
        self.order(legs, whole)
            .map(|position| self.radix[position])
            .product()
    }

    /// An array as operand of an operation whose result is over the legs `result`.
    pub fn operand(&mut self, result: Legs, whole: bool, array: Array) -> Operand {
        Operand {
            address: array.address,
            shift: if whole { 0 } else { self.shift(array) },
            index: self.index(result, array.legs, array.stride, whole),
        }
    }

    /// The shift that selects the part of an array for a run.
    pub fn shift(&mut self, array: Array) -> u32 {
        if !array.whole || array.legs & self.outer == 0 {
            return 0;
        }
        let next = self.shifted.len() as u32;
        // Spinors of one chirality have the same shifts as full spinors.
        let size = if array.stride == PRODUCTS {
            PRODUCTS
        } else {
            ELEMENT
        };
        let of = (array.legs, size);
        let shift = *self.shifts.entry(of).or_insert(next);
        if shift == next {
            self.shifted.push(of);
        }
        shift
    }

    fn index(&mut self, result: Legs, legs: Legs, size: u32, whole: bool) -> u32 {
        if let Some(&index) = self.known.get(&(result, legs, size, whole)) {
            return index;
        }
        let mut strides = vec![0; self.radix.len()];
        let mut stride = size;
        for position in self.order(legs, whole) {
            strides[position] = stride;
            stride *= self.radix[position];
        }
        let order: Vec<usize> = self.order(result, whole).collect();
        let offset = |r: u32| {
            let mut rest = r;
            let mut offset = 0;
            for &position in &order {
                offset += rest % self.radix[position] * strides[position];
                rest /= self.radix[position];
            }
            offset
        };
        let index = self.indices.len() as u32;
        let offsets: Vec<u32> = (0..self.count(result, whole)).map(offset).collect();
        self.indices.extend(offsets);
        self.known.insert((result, legs, size, whole), index);
        index
    }

    /// The helicity indices of all legs for an element of an array over all legs in a run.
    pub fn of_element(&self, run: usize, element: u32) -> Vec<u32> {
        let mut helicities = self.runs[run].clone();
        let mut rest = element;
        let all = (1 << self.radix.len()) - 1;
        for position in self.order(all, false) {
            helicities[position] = rest % self.radix[position];
            rest /= self.radix[position];
        }
        helicities
    }

    /// Returns the offsets of elements, and the shifts of each run.
    pub fn finish(self) -> (Vec<u32>, Vec<Vec<u32>>) {
        let shift = |(legs, size): (Legs, u32), run: &[u32]| {
            let mut stride = size * self.count(legs, false);
            let mut shift = 0;
            for position in self.order(legs & self.outer, true) {
                shift += run[position] * stride;
                stride *= self.radix[position];
            }
            shift
        };
        let shifts = self.runs.iter().map(|run| {
            let each = self.shifted.iter();
            each.map(|&of| shift(of, run)).collect()
        });
        let shifts = shifts.collect();
        (self.indices, shifts)
    }
}

/// The kind of content of reused memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ScratchContent {
    Plain,
    Slashed,
    Products,
}

/// Memory that is reused: for each key an address, and the insertions whose current (or products) it currently holds.
pub(super) struct ReusedMemory<K>(HashMap<K, (Address, Vec<u8>)>);

impl<K> Default for ReusedMemory<K> {
    fn default() -> Self {
        ReusedMemory(HashMap::default())
    }
}

impl<K: Eq + Hash> ReusedMemory<K> {
    /// The address for a key, if there is one, and whether it holds these insertions.
    pub(super) fn find(&self, key: &K, insertions: &[u8]) -> Option<(Address, bool)> {
        let (address, current) = self.0.get(key)?;
        Some((*address, current == insertions))
    }

    /// Records that the address holds these insertions.
    pub(super) fn put(&mut self, key: K, address: Address, insertions: &[u8]) {
        self.0.insert(key, (address, insertions.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three legs with 2, 3 and 2 helicities, the second one outer.
    #[test]
    fn elements_belong_together() {
        let runs = (0..3).map(|h| vec![0, h, 0]).collect();
        let mut h = Helicities::new(vec![2, 3, 2], 0b010, runs);
        assert_eq!((h.count(0b111, true), h.count(0b111, false)), (12, 4));
        let array = Array::new(100, 0b011, true);
        let whole = h.operand(0b111, true, array);
        let in_run = h.operand(0b111, false, array);
        assert_eq!((whole.shift, in_run.shift), (0, 1));
        assert_eq!(h.of_element(2, 3), [1, 2, 1]);
        let (indices, shifts) = h.finish();
        let offsets = |at: u32, count: usize| &indices[at as usize..][..count];
        // The first leg varies fastest, then the third, then the outer one.
        assert_eq!(
            offsets(whole.index, 12),
            [0, 8, 0, 8, 16, 24, 16, 24, 32, 40, 32, 40]
        );
        assert_eq!(offsets(in_run.index, 4), [0, 8, 0, 8]);
        assert_eq!(shifts, [vec![0, 0], vec![0, 16], vec![0, 32]]);
    }

    /// With four legs the last but one varies second fastest.
    #[test]
    fn elements_come_in_fours() {
        let h = Helicities::new(vec![2; 4], 0, vec![vec![0; 4]]).with_second(2);
        let helicity_indices = |element| h.of_element(0, element);
        assert_eq!(helicity_indices(1), [1, 0, 0, 0]);
        assert_eq!(helicity_indices(2), [0, 0, 1, 0]);
        assert_eq!(helicity_indices(4), [0, 1, 0, 0]);
        assert_eq!(helicity_indices(8), [0, 0, 0, 1]);
    }
}
