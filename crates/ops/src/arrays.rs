//! Operations on arrays of wavefunctions: one for all helicities of the legs below.
//!
//! An *array* holds a current for all helicities of the legs below it, one behind the other. An operation makes one
//! array (`out`, with `count` elements) from others: it makes element `r` from the elements of the others that have the
//! helicities of `r`. A table gives the offsets of these elements ([`Operand::index`]); operations over the same legs
//! share it. Some legs may have one helicity at a time. For these a *shift* is added to the address, which all
//! operations share ([`Operand::shift`]). So the list of operations does not grow with the number of helicities.
//!
//! Elements have four complex components; [`crate`] says how terms and results are laid out. Vectors are kept in one of
//! three kinds of components ([`Components`]). A massless spinor has two components that are not zero, those of its
//! chirality. Where a massless line has one helicity, only these are kept ([`Spinors`]).
//!
//! Kinds of operations are rows of the table of operations (`table`), each with a payload of its own, a list of parts
//! ([`Part`]). Visitor ([`visit`]), validation ([`Pools::holds`]), cost, printing and what a GPU reads follow from it.

mod parts;
mod shuffle;
pub mod visit;

pub use parts::{
    Addends, Components, Folded, Less, MasslessPropagator, Mirror, Numbers, Once, Pairs, Part,
    Propagator, Range, Ratio, Spinors, Stride, Triples, Unrolled, VectorPairs, WithProducts,
};
pub use shuffle::{SHUFFLE_TILE, SHUFFLE_UNROLL, Shuffle, ShuffleOp, ShuffledRanges, SumGroup};

use super::Address;
use super::opcode::{COMPLEX, FOUR, MOMENTUM};
use super::table::for_each_opcode;
use parts::range;
use serde::{Deserialize, Serialize};
use visit::{ElementMap, Read, Written};

/// Vectors of an element of four complex components.
pub const ELEMENT: u32 = FOUR;
/// Vectors of one chirality of a spinor.
pub const CHIRAL: u32 = FOUR / 2;

/// An array as an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// Address of its first element.
    pub address: Address,
    /// The shift that is added to the address.
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
    /// The three arrays.
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

/// The scratch of an operation while it runs: some vectors from an address on, and the multiply-adds that fill them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScratchUse {
    /// The address.
    pub address: Address,
    /// How many vectors.
    pub vectors: u64,
    /// Multiply-adds.
    pub multiply_adds: usize,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayOp {
    /// Address of the first element of the result.
    pub out: Address,
    /// Number of elements.
    pub count: u32,
    /// Its kind and operands.
    pub payload: Payload,
}

macro_rules! define {
    (
        amplitudes { $($amplitudes:tt)* }
        currents { $($currents:tt)* }
        products { $($products:tt)* }
        sums { $($sums:tt)* }
        dots { $($dots:tt)* }
        arrays { $(
            $(#[$doc:meta])* $payload:ident -> $size:ident { $($(#[$about:meta])* $field:ident: $part:ty,)* }
            multiply_adds: $cost:expr, scratch: $scratch:path, gpu: $gpu:literal,
            kinds: { $($(#[$of:meta])* $kind:ident: $kernel:path;)* }
        )* }
    ) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
            pub struct $payload {
                $($(#[$about])* pub $field: $part,)*
            }

            impl $payload {
                fn parts(&self, visitor: &mut dyn FnMut(&'static str, &dyn Part)) {
                    $(visitor(stringify!($field), &self.$field);)*
                }
            }
        )*

        /// The kinds of operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ArrayKind {
            $($($(#[$of])* $kind,)*)*
        }

        /// The kinds with their operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Payload {
            $($($(#[$of])* $kind($payload),)*)*
        }

        impl ArrayKind {
            /// All kinds.
            pub const ALL: &'static [ArrayKind] = &[$($(ArrayKind::$kind,)*)*];

            /// Whether a GPU has a function for it.
            pub fn is_on_gpu(self) -> bool {
                match self {
                    $($(ArrayKind::$kind => $gpu,)*)*
                }
            }

            /// The members that its structure has on a GPU, behind those that all have.
            pub fn members(self) -> Vec<String> {
                let payload = match self {
                    $($(ArrayKind::$kind => Payload::$kind($payload::default()),)*)*
                };
                let mut members = Vec::new();
                // Whether a GPU does it depends on its parts.
                payload.parts(&mut |name, part| {
                    let _ = part.device(name, &mut |name, _| members.push(name.to_string()));
                });
                members
            }
        }

        impl Payload {
            /// What it computes.
            pub fn kind(&self) -> ArrayKind {
                match self {
                    $($(Payload::$kind(_) => ArrayKind::$kind,)*)*
                }
            }

            /// Vectors of an element of the result.
            pub fn size(&self) -> u32 {
                match self {
                    $($(Payload::$kind(_) => $size,)*)*
                }
            }

            /// Calls `visitor` for each part, with its name.
            pub fn parts(&self, visitor: &mut dyn FnMut(&'static str, &dyn Part)) {
                match self {
                    $($(Payload::$kind(payload) => payload.parts(visitor),)*)*
                }
            }

            /// Multiply-adds of an element.
            fn multiply_adds(&self) -> usize {
                match self {
                    $($(Payload::$kind(payload) => {
                        let cost: fn(&$payload) -> usize = $cost;
                        cost(payload)
                    })*)*
                }
            }

            /// The scratch that so many computed elements use; `None` where that cannot be.
            fn scratch(&self, pools: &Pools, count: u32) -> Option<ScratchUse> {
                match self {
                    $($(Payload::$kind(payload) => $scratch(payload, pools, count),)*)*
                }
            }
        }
    };
}

for_each_opcode!(define);

/// For operations that need no scratch.
fn no_scratch<P>(_: &P, _: &Pools, _: u32) -> Option<ScratchUse> {
    Some(ScratchUse::default())
}

/// The row of numbers in which products are added up, pair by pair; elements that come in fours need none.
fn row_of_sums(op: &Contract, pools: &Pools, count: u32) -> Option<ScratchUse> {
    let vectors = match op.unrolled {
        FOURS => 0,
        _ => u64::from(COMPLEX) * u64::from(count),
    };
    Some(ScratchUse {
        address: pools.buffer,
        vectors,
        multiply_adds: 0,
    })
}

/// For contractions whose elements come in fours.
pub const FOURS: Unrolled = Unrolled(4);

impl Vector {
    /// How many of these elements are computed, see [`ArrayOp::computed`].
    #[inline(always)]
    pub(crate) fn computed(&self, count: u32) -> u32 {
        match self.mirror {
            Mirror::None => count,
            Mirror::Plus | Mirror::Minus => count / 2,
        }
    }

    /// The factor of its products, where they are needed.
    #[inline(always)]
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        Some(self.products?.ratio)
    }
}

/// Multiply-adds of a vector.
fn cost_of_vectors(op: &Vector) -> usize {
    let (of_pair, of_triple) = match op.pairs.folded {
        None => (72, 96),
        Some((Folded::Last, _)) => (56, 48),
        Some((Folded::Both, _)) => (56, 16),
    };
    let products = if op.products.is_some() { 4 } else { 0 };
    of_pair * op.pairs.len() + of_triple * op.triples.len() + 32 + products
}

/// The numbers that an operation on vectors computes first, where terms of triples come with pairs: for each pair a
/// momentum, and a number for each element of both vectors; for each triple one for the outer vectors. None where a
/// computed element needs a number behind that of the last element.
fn first_numbers(op: &Vector, pools: &Pools, count: u32) -> Option<ScratchUse> {
    if op.pairs.folded.is_none() {
        return Some(ScratchUse::default());
    }
    let of = |index: u32, size: u32| {
        let from = index as usize;
        let until = from.checked_add(count as usize)?;
        let offsets = pools.indices.get(from..until)?;
        let last = *offsets.last()?;
        let within = |&offset: &u32| offset <= last && offset.is_multiple_of(size);
        let all = offsets.iter().all(within);
        all.then_some(u64::from(last / size) + 1)
    };
    let (mut of_pairs, mut of_triples) = (0, 0);
    for pair in range(&pools.pairs, op.pairs.range)? {
        of_pairs += of(pair.a.index, FOUR)? + of(pair.b.index, FOUR)?;
    }
    for triple in range(&pools.triples, op.triples.0)? {
        of_triples += of(triple.ends, COMPLEX)?;
    }
    let momenta = u64::from(MOMENTUM) * op.pairs.len() as u64;
    Some(ScratchUse {
        address: pools.first_numbers,
        vectors: momenta + u64::from(COMPLEX) * (of_pairs + of_triples),
        multiply_adds: (8 * of_pairs + 16 * of_triples) as usize,
    })
}

impl ArrayOp {
    /// What it computes.
    pub fn kind(&self) -> ArrayKind {
        self.payload.kind()
    }

    /// The numbers that a GPU reads of it: address and number of elements, then the [members](ArrayKind::members).
    /// `None` where a GPU does no such operation.
    pub fn numbers(&self) -> Option<Vec<u32>> {
        let mut numbers = vec![self.out, self.count];
        let mut whole = self.kind().is_on_gpu().then_some(());
        self.payload.parts(&mut |name, part| {
            whole = whole.and(part.device(name, &mut |_, number| numbers.push(number)));
        });
        whole.map(|()| numbers)
    }
}

/// The lists that operations name by numbers.
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
    /// Whether elements of contractions come in fours: the helicity of the first end differs between the first two
    /// elements, that of the second end between these and the others.
    pub fours: bool,
    /// Whether operands may come from slow memory, so that a core asks for them ahead.
    pub far: bool,
    /// Address of a row of numbers, one for each element of a contraction, in which products are added up.
    pub buffer: Address,
    /// Address of the numbers that an operation of [`ArrayKind::Vector`] with [`Folded`] terms computes first: for each
    /// pair a momentum, and a number for each element of both vectors; for each triple one for the outer vectors.
    pub first_numbers: Address,
    /// Ways to shuffle numbers.
    pub shuffles: Vec<Shuffle>,
    /// Address of the numbers that are shuffled, two vectors each: those of [`SHUFFLE_UNROLL`] elements next to each other,
    /// then those of the next, [`SHUFFLE_TILE`] in all.
    pub numbers: Address,
    /// Address of sums of them on the way, of [`SHUFFLE_UNROLL`] elements next to each other.
    pub sums: Address,
    /// The places to which results are added, in vectors from the first number of an element.
    pub targets: Vec<u32>,
}

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
                ElementMap::Indexed(index) => {
                    let from = index as usize;
                    let until = from.saturating_add(op.count as usize);
                    let offsets = self.indices.get(from..until);
                    offsets.map(|offsets| offsets.iter().copied().max().unwrap_or(0).into())
                }
                ElementMap::Same => Some(last * u64::from(read.size)),
            };
            most.is_some_and(|most| within(read.address, read.shift, most, read.size))
        };
        let written = |w: Written| within(w.address, 0, last * u64::from(w.stride), w.size);
        let (mut good, mut whole) = (true, op.count > 0);
        op.payload.parts(&mut |_, part| {
            let terms = part.terms(self, &mut |term| good &= term.reads().iter().all(read));
            let once = part.once(self, &mut |at, size| good &= within(at, 0, 0, size));
            let products = part.products(self, &mut |reads| good &= reads.iter().all(read));
            whole &= terms.and(once).and(products).is_some()
                && op.count.is_multiple_of(part.divisor())
                && part.written().is_none_or(written);
        });
        let result = op.result();
        let scratch = self.scratch(op).is_some_and(|scratch| {
            u64::from(scratch.address) + scratch.vectors <= u64::from(vectors)
        });
        good && whole && scratch && result.stride >= result.size && written(result)
    }

    /// The scratch that an operation uses while it runs; `None` where that cannot be.
    pub fn scratch(&self, op: &ArrayOp) -> Option<ScratchUse> {
        op.payload.scratch(self, op.computed())
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
        let unrolled = match self.fours {
            true => FOURS,
            false => Unrolled::default(),
        };
        let products = ArrayOp {
            out: self.buffer,
            count,
            payload: Payload::Contract(Contract {
                stride: Stride(COMPLEX),
                unrolled,
                broadcast: Pairs(op.pairs),
                ..Contract::default()
            }),
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
        let first = self.scratch(op).unwrap_or_default().multiply_adds;
        op.payload.multiply_adds() * op.computed() as usize + first
    }
}
