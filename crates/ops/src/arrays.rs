//! Operations on arrays of wavefunctions, for all helicities of their legs at once.
//!
//! An *array* holds a current for all helicities of its legs, contiguously. An operation makes one array (`out`, with
//! `count` elements) from others: element `r` is computed from those elements of the others that have the same
//! helicities as `r`. A table holds the offsets of these elements ([`Operand::index`]); operations over the same legs
//! share it. For some legs only one helicity is evaluated at a time. For these a *shift* is added to the address;
//! shifts are shared by all operations ([`Operand::shift`]). So the number of operations does not grow with the number
//! of helicities.
//!
//! Elements have four complex components; see [`crate`] for the layout of terms and results. Vectors are stored in one
//! of three sets of components ([`Components`]). A massless spinor has two non-zero components, those of its chirality.
//! If a massless line is evaluated for one helicity only, just these are stored ([`Spinors`]).
//!
//! The kinds of operations are rows of the table of operations (`table`), each with its own payload, a list of parts
//! ([`Part`]). The visitor ([`visit`]), validation ([`Pools::holds`]), costs, printing and the GPU's structures are
//! derived from it.

mod parts;
mod shuffle;
pub mod terms;
mod visit;

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
use terms::{ElementMap, Read, Written};

/// Vectors of an element of four complex components.
pub const ELEMENT: u32 = FOUR;
/// Vectors of one chirality of a spinor.
pub const CHIRAL: u32 = FOUR / 2;

/// An array as an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operand {
    /// Address of its first element.
    pub address: Address,
    /// Index of the shift that is added to the address.
    pub shift: u32,
    /// Index in [`Pools::indices`] where the offsets of its elements begin, one for each element of the result.
    pub index: u32,
}

/// Two arrays that are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The first: a spinor, or a vector.
    pub a: Operand,
    /// The second.
    pub b: Operand,
    /// For two vectors, the addresses of their momenta.
    pub momenta: [Address; 2],
}

/// Three vectors that are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triple {
    /// The three arrays.
    pub operands: [Operand; 3],
    /// Index in [`Pools::indices`] where the offsets of products of the first and the last array begin; such products
    /// have two vectors.
    pub ends: u32,
}

/// Products of currents A and B with two ends, for `2 (F B) (A E) - (F A) (B E)`, where F is the first end and E the
/// second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// `F A` and `F B`.
    pub first: [Operand; 2],
    /// `A E` and `B E`.
    pub second: [Operand; 2],
}

/// An array over the same legs as the result whose elements are added or subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addend {
    /// Address of its first element.
    pub address: Address,
    /// Index of the shift that is added to the address.
    pub shift: u32,
    /// Whether it is subtracted.
    pub minus: bool,
}

/// The scratch that an operation uses while it runs, and the multiply-adds that fill it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScratchUse {
    /// Address of the first vector.
    pub address: Address,
    /// Number of vectors.
    pub vectors: u64,
    /// Multiply-adds.
    pub multiply_adds: usize,
}

/// An operation on arrays.
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

            /// Whether a GPU has a device function for this kind.
            pub fn is_on_gpu(self) -> bool {
                match self {
                    $($(ArrayKind::$kind => $gpu,)*)*
                }
            }

            /// The members of its structure on a GPU, after those that all kinds have.
            pub fn members(self) -> Vec<String> {
                let payload = match self {
                    $($(ArrayKind::$kind => Payload::$kind($payload::default()),)*)*
                };
                let mut members = Vec::new();
                // Whether a kind is on a GPU depends on its parts.
                payload.parts(&mut |name, part| {
                    let _ = part.device(name, &mut |name, _| members.push(name.to_string()));
                });
                members
            }
        }

        impl Payload {
            /// The kind of the operation.
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

            /// Multiply-adds per element.
            fn multiply_adds(&self) -> usize {
                match self {
                    $($(Payload::$kind(payload) => {
                        let cost: fn(&$payload) -> usize = $cost;
                        cost(payload)
                    })*)*
                }
            }

            /// The scratch used to compute `count` elements; `None` if the operands are invalid.
            fn scratch(&self, pools: &Pools, count: u32) -> Option<ScratchUse> {
                match self {
                    $($(Payload::$kind(payload) => $scratch(payload, pools, count),)*)*
                }
            }
        }
    };
}

for_each_opcode!(define);

/// For kinds that need no scratch.
fn no_scratch<P>(_: &P, _: &Pools, _: u32) -> Option<ScratchUse> {
    Some(ScratchUse::default())
}

/// The buffer in which products are added up, pair by pair; not needed if elements come in fours.
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

/// Contractions that compute elements in fours.
pub const FOURS: Unrolled = Unrolled(4);

impl Vector {
    /// Number of elements that are computed, see [`ArrayOp::computed`].
    #[inline(always)]
    pub(crate) fn computed(&self, count: u32) -> u32 {
        match self.mirror {
            Mirror::None => count,
            Mirror::Plus | Mirror::Minus => count / 2,
        }
    }

    /// The factor of its products, if they are needed.
    #[inline(always)]
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        Some(self.products?.ratio)
    }
}

/// Multiply-adds per element of a vector operation.
fn cost_of_vectors(op: &Vector) -> usize {
    let (of_pair, of_triple) = match op.pairs.folded {
        None => (72, 96),
        Some((Folded::Last, _)) => (56, 48),
        Some((Folded::Both, _)) => (56, 16),
    };
    let products = if op.products.is_some() { 4 } else { 0 };
    of_pair * op.pairs.len() + of_triple * op.triples.len() + 32 + products
}

/// The numbers that a vector operation with folded triples computes first: for each pair a momentum, and one number per
/// element of both vectors; for each triple one per element of the outer vectors. `None` if an element other than the
/// last has a larger offset than the last.
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
    /// The kind of the operation.
    pub fn kind(&self) -> ArrayKind {
        self.payload.kind()
    }

    /// The numbers that a GPU reads for this operation: address and number of elements, then the
    /// [members](ArrayKind::members). `None` if a GPU does not support it.
    pub fn numbers(&self) -> Option<Vec<u32>> {
        let mut numbers = vec![self.out, self.count];
        let mut whole = self.kind().is_on_gpu().then_some(());
        self.payload.parts(&mut |name, part| {
            whole = whole.and(part.device(name, &mut |_, number| numbers.push(number)));
        });
        whole.map(|()| numbers)
    }
}

/// The lists to which operations refer by index.
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
    /// elements, that of the second end between these and the other two.
    pub fours: bool,
    /// Whether operands may be in slow memory, so that a core should prefetch them.
    pub far: bool,
    /// Address of a buffer in which products are added up, with one number per element of a contraction.
    pub buffer: Address,
    /// Address of the numbers that an operation of [`ArrayKind::Vector`] with [`Folded`] terms computes first: for each
    /// pair a momentum, and one number per element of both vectors; for each triple one per element of the outer
    /// vectors.
    pub first_numbers: Address,
    /// The shuffles to which operations refer.
    pub shuffles: Vec<Shuffle>,
    /// Address of the numbers to be shuffled, two vectors each. The numbers of [`SHUFFLE_UNROLL`] elements are
    /// interleaved, then follow those of the next elements, [`SHUFFLE_TILE`] in all.
    pub numbers: Address,
    /// Address of the intermediate sums, with those of [`SHUFFLE_UNROLL`] elements interleaved.
    pub sums: Address,
    /// The places to which results are added, in vectors relative to the first number of an element.
    pub targets: Vec<u32>,
}

impl Pools {
    /// Whether everything that an operation refers to exists and is within `vectors` vectors, for any shifts up to the
    /// values in `largest`.
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

    /// The scratch that an operation uses while it runs; `None` if its operands are invalid.
    pub fn scratch(&self, op: &ArrayOp) -> Option<ScratchUse> {
        op.payload.scratch(self, op.computed())
    }

    /// Whether shuffling `count` elements stays within `vectors` vectors, for any shifts up to the values in `largest`,
    /// and adds only to numbers less than `far` from the first of an element.
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
        // Checked as a contraction that writes all products to the buffer.
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

    /// Multiply-adds of an operation, as counted by [`mebridge_plan::count`](../plan/count/index.html).
    pub fn multiply_adds(&self, op: &ArrayOp) -> usize {
        let first = self.scratch(op).unwrap_or_default().multiply_adds;
        op.payload.multiply_adds() * op.computed() as usize + first
    }
}
