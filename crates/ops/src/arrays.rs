//! Operations on arrays of wavefunctions: one for all helicities of the legs below.
//!
//! An *array* holds a current for all helicities of the legs below it, one behind the other. An operation makes one
//! array (`out`, of `count` elements) from others: element `r` from those elements of the others that have the
//! helicities that `r` has. Where these are a table says ([`Operand::index`], shared by all operations over the same legs),
//! and where legs have one helicity at a time beyond what the array is over, a *shift* that all operations share does
//! ([`Operand::shift`]): so the list of operations does not grow with helicities.
//!
//! Elements have four complex components; what an operation adds up, and its result, are laid out as [`crate`]
//! says. Vectors are kept in one of three forms ([`Form`]). A massless spinor has two components that are not zero, those
//! of its chirality: of a massless line with one helicity these alone are there ([`Spinors`]).

use super::Address;
use super::opcode::{COMPLEX, MOMENTUM};
use serde::{Deserialize, Serialize};

/// Vectors of an element of four complex components.
pub const ELEMENT: u32 = 8;
/// Vectors of one chirality of a spinor.
pub const CHIRAL: u32 = 4;

/// An array as an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// Address of its first element.
    pub address: Address,
    /// Which of the shifts is added to the address.
    pub shift: u32,
    /// Where in [`Pools::indices`] the offsets of its elements begin, one for each element of the result.
    pub index: u32,
}

/// Two arrays that meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The first: a spinor, or a vector.
    pub a: Operand,
    /// The second.
    pub b: Operand,
    /// Momenta of both, of two vectors.
    pub momenta: [Address; 2],
}

/// Three vectors that meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triple {
    /// They.
    pub operands: [Operand; 3],
    /// Where in [`Pools::indices`] the offsets of products of the first and the last begin, two vectors each.
    pub ends: u32,
}

/// Currents A and B between two ends, for `2 (F B) (A E) - (F A) (B E)`: an array holds products of one of them with the
/// first end F, or the second end E.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// `F A` and `F B`.
    pub first: [Operand; 2],
    /// `A E` and `B E`.
    pub second: [Operand; 2],
}

/// An array over the same legs as the result, whose elements are added or subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addend {
    /// Address of its first element.
    pub address: Address,
    /// Which of the shifts is added to the address.
    pub shift: u32,
    /// Whether it is subtracted.
    pub minus: bool,
}

/// What an operation computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArrayKind {
    /// Spinors that flow in, of pairs (f1, slashed vector), as [`super::Opcode::SumFfv2`].
    #[default]
    LineIn,
    /// Spinors that flow out, of pairs (f2, slashed vector), as [`super::Opcode::SumFfv1`].
    LineOut,
    /// Vectors of pairs (f1, f2), as [`super::Opcode::SumFfv3`].
    Current,
    /// Vectors of pairs and triples of vectors, as [`super::Opcode::SumVvv1`].
    Vector,
    /// Sums and differences of arrays of vectors; with one addend and another form, that form of it.
    Sum,
    /// Complex numbers, two vectors each: products of pairs component by component, with what numbers and splits give.
    Contract,
    /// Complex numbers, two vectors each: the [products](Folded) of pairs of vectors.
    Products,
}

/// In which form components of a vector are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Contravariant components.
    #[default]
    Plain,
    /// Covariant components: products with plain ones are those of the metric.
    Lower,
    /// `V0 + V3`, `V0 - V3`, `V1 + i V2`, `V1 - i V2`.
    Slashed,
}

/// Which components of the spinors that enter an operation are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spinors {
    /// All four.
    #[default]
    Dirac,
    /// The first two; the others are zero. The result has the other two, and without mass these again once propagated.
    First,
    /// The last two.
    Second,
}

impl Spinors {
    /// Vectors of an element.
    pub fn size(self) -> u32 {
        match self {
            Spinors::Dirac => ELEMENT,
            Spinors::First | Spinors::Second => CHIRAL,
        }
    }
}

/// Which terms of the vertex of three vectors, `2 B (A C) - A (B C) - C (A B)`, come with pairs.
///
/// The sum of A B over the pairs of a current is a number, one of its *products*: with it, all triples whose A and B are
/// the same current are one term of that current's pair with C. So are those with B and C in one current.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Folded {
    /// None: triples have all three.
    #[default]
    Nothing,
    /// `C (A B)`.
    Last,
    /// `A (B C)` and `C (A B)`.
    Both,
}

/// An operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayOp {
    /// What it computes.
    pub kind: ArrayKind,
    /// Address of the first element of the result.
    pub out: Address,
    /// Number of elements.
    pub count: u32,
    /// From one element of the result to the next; of [`ArrayKind::Contract`] anything.
    pub stride: u32,
    /// Its pairs, from and to.
    pub pairs: [u32; 2],
    /// Of [`ArrayKind::Contract`] pairs whose first array is over all legs of the result; of spinors with two components
    /// those that are subtracted.
    pub broadcast: [u32; 2],
    /// Of [`ArrayKind::Contract`] pairs of numbers, the first of which are over all legs of the result.
    pub numbers: [u32; 2],
    /// Of [`ArrayKind::Contract`] its splits.
    pub splits: [u32; 2],
    /// Its triples.
    pub triples: [u32; 2],
    /// Which of their terms come with pairs.
    pub folded: Folded,
    /// For these, for each pair the products of both: from and to in [`Pools::products`].
    pub products_of: [u32; 2],
    /// Address of the first element's products, two vectors each, where they are needed.
    pub products: Option<Address>,
    /// What they are multiplied by: the constant of triples over that of pairs.
    pub constants: [Address; 2],
    /// Its addends.
    pub addends: [u32; 2],
    /// The factors of pairs and of triples; of spinors with two components the propagator, of a scaled sum its factor.
    pub factors: [Address; 2],
    /// Of a sum, whether it has a factor; of products, whether they have constants.
    pub scaled: bool,
    /// Which components spinors have.
    pub spinors: Spinors,
    /// Momentum of a spinor, where it is propagated.
    pub momentum: Address,
    /// Its mass.
    pub mass: Address,
    /// Whether it is propagated.
    pub propagate: bool,
    /// Of spinors, whether each two elements have the same vectors: they differ in the spinors alone that enter.
    pub vector_shared: bool,
    /// Of contractions of spinors with two components: of how many elements, as far apart as there are others of the
    /// first, one of the two arrays of a pair has the same one.
    pub sharing: u32,
    /// Form of a vector.
    pub form: Form,
    /// Elements of the second half are conjugates of those of the first, from its end, with this sign; 0: they are not.
    pub mirror: i8,
}

impl ArrayOp {
    /// The elements that are computed; the others, if there are any, are conjugates of these.
    pub fn computed(&self) -> u32 {
        match self.mirror {
            0 => self.count,
            _ => self.count / 2,
        }
    }
}

/// What operations name by numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pools {
    /// Pairs.
    pub pairs: Vec<Pair>,
    /// Triples.
    pub triples: Vec<Triple>,
    /// Splits.
    pub splits: Vec<Split>,
    /// Products of the vectors of pairs.
    pub products: Vec<[Operand; 2]>,
    /// Addends.
    pub addends: Vec<Addend>,
    /// Offsets of elements, in vectors.
    pub indices: Vec<u32>,
    /// Whether elements of contractions come in fours: of the first two the first end's helicity differs, and the second
    /// end's of these and the others.
    pub fours: bool,
    /// Whether operands may come from far, so that a core asks for them ahead.
    pub far: bool,
    /// Address of a row of numbers, one for each element of a contraction, in which products are added up.
    pub buffer: Address,
    /// Address of what an operation of [`ArrayKind::Vector`] with [`Folded`] terms computes first: of each pair a
    /// momentum, and a number for each element of both vectors, of each triple one for the outer vectors.
    pub first_numbers: Address,
    /// Ways to shuffle numbers.
    pub shuffles: Vec<Shuffle>,
    /// Address of the numbers that are shuffled, two vectors each: those of [`SHUFFLE_UNROLL`] elements next to each other,
    /// then those of the next, [`SHUFFLE_TILE`] in all.
    pub numbers: Address,
    /// Address of sums of them on the way, of [`SHUFFLE_UNROLL`] elements next to each other.
    pub sums: Address,
    /// What the results are added to, in vectors from the first number of an element.
    pub targets: Vec<u32>,
}

mod shuffle;
pub mod visit;

pub use shuffle::{Blocks, SHUFFLE_TILE, SHUFFLE_UNROLL, Shuffle, ShuffleOp, SumGroup};

use visit::{Elements, Read, Written, range};

impl Pools {
    /// Whether an operation reads and writes within so many vectors, whatever shift is used of those with these
    /// largest values; and all it names is there.
    pub fn holds(&self, op: &ArrayOp, largest: &[u32], vectors: u32) -> bool {
        let within = |address: u32, shift: u32, offset: u64, size: u32| {
            let shift = largest.get(shift as usize);
            shift.is_some_and(|&shift| {
                u64::from(address) + u64::from(shift) + offset + u64::from(size)
                    <= u64::from(vectors)
            })
        };
        let last = u64::from(op.count.saturating_sub(1));
        let read = |read: &Read| {
            let most = match read.elements {
                Elements::Indexed(index) => {
                    let from = index as usize;
                    let until = from.saturating_add(op.count as usize);
                    let offsets = self.indices.get(from..until);
                    offsets.map(|offsets| offsets.iter().copied().max().unwrap_or(0).into())
                }
                Elements::Same => Some(last * u64::from(read.size)),
            };
            most.is_some_and(|most| within(read.address, read.shift, most, read.size))
        };
        let written = |w: Written| within(w.address, 0, last * u64::from(w.stride), w.size);
        let mut good = true;
        let whole = self.terms(op, &mut |term| good &= term.reads().iter().all(read));
        let known = self.once(op, &mut |at, size| good &= within(at, 0, 0, size));
        let Some(mut products) = self.products_of(op) else {
            return false;
        };
        let as_many = op.folded == Folded::Nothing
            || range(&self.pairs, op.pairs).map(<[Pair]>::len)
                == range(&self.products, op.products_of).map(<[_]>::len);
        // Of spinors with two components no contraction has anything but pairs.
        let empty = |of: [u32; 2]| of[0] == of[1];
        let chiral = match op.kind {
            ArrayKind::LineIn | ArrayKind::LineOut => true,
            ArrayKind::Contract => empty(op.broadcast) && empty(op.numbers) && empty(op.splits),
            _ => false,
        };
        let scratch = || {
            let needed = match op.kind {
                ArrayKind::Vector => self.size_of_first_numbers(op),
                _ => Some(0),
            };
            needed.is_some()
                && self
                    .scratch(op)
                    .is_none_or(|(at, size)| u64::from(at) + size <= u64::from(vectors))
        };
        let unrolled = match op.kind {
            ArrayKind::Contract if op.sharing > 1 => op.sharing,
            ArrayKind::Contract if self.fours => 4,
            ArrayKind::LineIn | ArrayKind::LineOut if op.vector_shared => 2,
            _ => 1,
        };
        op.count > 0
            && whole.is_some()
            && known.is_some()
            && good
            && as_many
            && products.all(|both| both.iter().all(read))
            && (chiral || op.spinors == Spinors::Dirac)
            && scratch()
            && op.stride >= op.result().size
            && op.count.is_multiple_of(unrolled)
            && (op.mirror == 0 || op.count.is_multiple_of(2))
            && written(op.result())
            && op.result_products().is_none_or(written)
            && op.constants.iter().all(|&at| within(at, 0, 0, COMPLEX))
    }

    /// The numbers that an operation on vectors computes first, of pairs and of triples; none where a computed element
    /// needs one behind that of the last one.
    fn first_numbers(&self, op: &ArrayOp) -> Option<[u64; 2]> {
        if op.folded == Folded::Nothing {
            return Some([0; 2]);
        }
        let of = |index: u32, size: u32| {
            let from = index as usize;
            let until = from.checked_add(op.computed() as usize)?;
            let offsets = self.indices.get(from..until)?;
            let last = *offsets.last()?;
            let within = |&offset: &u32| offset <= last && offset.is_multiple_of(size);
            let all = offsets.iter().all(within);
            all.then_some(u64::from(last / size) + 1)
        };
        let (mut of_pairs, mut of_triples) = (0, 0);
        for pair in range(&self.pairs, op.pairs)? {
            of_pairs += of(pair.a.index, ELEMENT)? + of(pair.b.index, ELEMENT)?;
        }
        for triple in range(&self.triples, op.triples)? {
            of_triples += of(triple.ends, COMPLEX)?;
        }
        Some([of_pairs, of_triples])
    }

    /// Vectors of these numbers, with a momentum for each pair.
    pub fn size_of_first_numbers(&self, op: &ArrayOp) -> Option<u64> {
        let [of_pairs, of_triples] = self.first_numbers(op)?;
        let momenta = match op.folded {
            Folded::Nothing => 0,
            Folded::Last | Folded::Both => u64::from(op.pairs[1] - op.pairs[0]),
        };
        Some(u64::from(MOMENTUM) * momenta + u64::from(COMPLEX) * (of_pairs + of_triples))
    }

    /// Whether shuffling for so many elements stays within so many vectors, whatever shift is used of those with these
    /// largest values, and adds to numbers that are less than `far` from the first of an element.
    pub fn holds_shuffle(
        &self,
        op: &ShuffleOp,
        (count, far): (u32, u64),
        largest: &[u32],
        vectors: u32,
    ) -> bool {
        let (Some(shuffle), Some(targets)) = (
            self.shuffles.get(op.shuffle as usize),
            range(&self.targets, op.targets),
        ) else {
            return false;
        };
        let within = |address: Address, elements: u32, numbers: u32| {
            let size = 2 * u64::from(elements) * u64::from(numbers);
            u64::from(address) + size <= u64::from(vectors)
        };
        // As if all products went to the buffer.
        let products = ArrayOp {
            kind: ArrayKind::Contract,
            out: self.buffer,
            count,
            stride: 2,
            broadcast: op.pairs,
            ..ArrayOp::default()
        };
        let [from, to] = op.pairs;
        shuffle.holds()
            && from.checked_add(shuffle.given) == Some(to)
            && targets.len() == shuffle.results()
            && targets.iter().all(|&target| u64::from(target) + 2 <= far)
            && within(self.numbers, SHUFFLE_TILE, shuffle.given)
            && within(self.sums, SHUFFLE_UNROLL, shuffle.all - shuffle.given)
            && self.holds(&products, largest, vectors)
    }

    /// Multiply-adds of an operation, as [`mebridge_plan::count`](../plan/count/index.html) counts.
    pub fn multiply_adds(&self, op: &ArrayOp) -> usize {
        let size = |of: [u32; 2]| (of[1] - of[0]) as usize;
        let (pairs, broadcast, numbers) = (size(op.pairs), size(op.broadcast), size(op.numbers));
        let (triples, splits, addends) = (size(op.triples), size(op.splits), size(op.addends));
        let each = match op.kind {
            ArrayKind::LineIn | ArrayKind::LineOut if op.spinors != Spinors::Dirac => {
                16 * (pairs + broadcast) + if op.propagate { 12 } else { 0 }
            }
            ArrayKind::LineIn | ArrayKind::LineOut => {
                32 * pairs + 16 + if op.propagate { 32 } else { 0 }
            }
            ArrayKind::Current => 48 * pairs + 16,
            ArrayKind::Vector => {
                let (of_pair, of_triple) = match op.folded {
                    Folded::Nothing => (72, 96),
                    Folded::Last => (56, 48),
                    Folded::Both => (56, 16),
                };
                let products = if op.products.is_some() { 4 } else { 0 };
                of_pair * pairs + of_triple * triples + 32 + products
            }
            ArrayKind::Products => 16 * pairs + 4,
            ArrayKind::Sum => 8 * addends + if op.scaled { 16 } else { 0 },
            ArrayKind::Contract if op.spinors != Spinors::Dirac => 8 * pairs,
            ArrayKind::Contract => 16 * (pairs + broadcast) + 4 * numbers + 8 * splits,
        };
        let [of_pairs, of_triples] = self.first_numbers(op).unwrap_or_default();
        each * op.computed() as usize + (8 * of_pairs + 16 * of_triples) as usize
    }
}
