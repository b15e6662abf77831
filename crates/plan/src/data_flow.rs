//! Checks that a plan reads only what has been written, and what it is meant to read.
//!
//! Memory is reused. Validation ([`super::validate`]) checks that no address is out of range. This module follows the
//! operations one by one, tracking the last write to each vector. Everything that one operand reads must have been
//! written by a single operation.
//!
//! For operations on arrays, the legs of each element and their helicities are tracked as well. Arrays that are
//! multiplied must have no leg in common; the terms of an element must have the same legs with the same helicities; a
//! JAMP must have all legs. So memory of an array that is reused too early is detected if the new array has other legs.
//! (The order of insertions is not tracked; errors in it are found by numerical tests.) Nothing may be carried over
//! from one run to the next.
//!
//! Following a plan takes much longer than running it once; it is meant for tests and for debugging.

use super::color_ordered::{Loops, NO_HELICITY};
use super::{Body, Operations, Plan, Virtuality};
use mebridge_ops::arrays::terms::{AddendTerm, Read, Written};
use mebridge_ops::arrays::{ArrayOp, Pairs, Part, Pools, SHUFFLE_TILE, SHUFFLE_UNROLL};
use mebridge_ops::opcode::{COMPLEX, FOUR};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_process::Process;

/// Result of following a plan; the error describes the invalid access.
type FlowResult<T> = Result<T, String>;

/// Number of bits for the helicity of a leg.
const BITS: u32 = 4;
/// Offset added to stored helicities, so that they are not zero.
const ZERO: i8 = 8;

/// The legs of a number, with their helicities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    /// The number is zero, and compatible with any legs.
    Zero,
    /// [`BITS`] bits per leg: 0 if it is not included, otherwise its helicity plus [`ZERO`].
    Legs(u128),
}

/// No legs.
const NOTHING: Below = Below::Legs(0);

impl Below {
    fn leg(leg: usize, helicity: i8) -> u128 {
        ((helicity + ZERO) as u128) << (BITS * leg as u32)
    }

    fn all(helicities: impl Iterator<Item = i8>) -> Below {
        let legs = helicities.enumerate().map(|(leg, h)| Below::leg(leg, h));
        Below::Legs(legs.sum())
    }

    /// The legs of a product; `None` if both factors have a leg in common.
    fn meet(self, other: Below) -> Option<Below> {
        let (Below::Legs(a), Below::Legs(b)) = (self, other) else {
            return Some(Below::Zero);
        };
        let mask = (1 << BITS) - 1;
        let twice = |leg: u32| (a >> (BITS * leg) & mask) != 0 && (b >> (BITS * leg) & mask) != 0;
        (!(0..u128::BITS / BITS).any(twice)).then_some(Below::Legs(a | b))
    }

    /// The legs of a sum; `None` if those of the terms differ.
    fn add(self, other: Below) -> Option<Below> {
        match (self, other) {
            (Below::Zero, any) | (any, Below::Zero) => Some(any),
            (a, b) => (a == b).then_some(a),
        }
    }

    /// The same legs with all helicities reversed.
    fn reversed(self) -> Below {
        let Below::Legs(legs) = self else {
            return self;
        };
        let mask = (1 << BITS) - 1;
        let leg = |leg: u32| match legs >> (BITS * leg) & mask {
            0 => 0,
            stored => (2 * ZERO as u128 - stored) << (BITS * leg),
        };
        Below::Legs((0..u128::BITS / BITS).map(leg).sum())
    }
}

/// The content of a vector.
#[derive(Clone, Copy)]
struct Content {
    below: Below,
    /// Number of the write that set it.
    write: u32,
}

/// The tracked contents of memory.
#[derive(Clone)]
struct TrackedMemory {
    vectors: Vec<Option<Content>>,
    writes: u32,
}

impl TrackedMemory {
    fn write(&mut self, at: Address, size: u32, below: Below) -> FlowResult<()> {
        let range = at as usize..at as usize + size as usize;
        let vectors = self.vectors.get_mut(range);
        let vectors = vectors.ok_or_else(|| format!("writes {at}, outside of the memory"))?;
        self.writes += 1;
        let write = self.writes;
        vectors.fill(Some(Content { below, write }));
        Ok(())
    }

    /// The content of a range that a single operation must have written.
    fn read(&self, at: Address, size: u32) -> FlowResult<Below> {
        let range = at as usize..at as usize + size as usize;
        let vectors = self.vectors.get(range);
        let vectors = vectors.ok_or_else(|| format!("reads {at}, outside of the memory"))?;
        let first = vectors.first().copied().flatten();
        let first = first.ok_or_else(|| format!("reads {at}, which nothing has written"))?;
        let same = |v: &Option<Content>| v.is_some_and(|v| v.write == first.write);
        match vectors.iter().all(same) {
            true => Ok(first.below),
            false => Err(format!("reads {at}, part of which is something else")),
        }
    }

    fn forget(&mut self, at: Address, size: u64) {
        let vectors = self.vectors.iter_mut().skip(at as usize);
        vectors.take(size as usize).for_each(|v| *v = None);
    }
}

impl Plan {
    /// Follows all operations of a plan that is [valid](Plan::validate) for the process.
    ///
    /// # Errors
    /// Describes the operation that reads unwritten memory, or something other than it is meant to read.
    pub fn follow(&self, process: &Process) -> FlowResult<()> {
        let mut memory = TrackedMemory {
            vectors: vec![None; self.vectors as usize],
            writes: 0,
        };
        self.event(&mut memory)?;
        match &self.body {
            Body::Operations(operations) => operations.follow(self, &mut memory),
            Body::Loops(loops) => loops.follow(self, process, memory),
        }
    }

    /// Contents before the first operation.
    fn event(&self, memory: &mut TrackedMemory) -> FlowResult<()> {
        for leg in 0..self.masses.len() as u32 {
            memory.write(self.leg_momenta + 4 * leg, 4, NOTHING)?;
        }
        for constant in &self.constants {
            memory.write(constant.0, 1, NOTHING)?;
        }
        // Constants that form complex numbers.
        for (one, next) in self.constants.iter().zip(self.constants.iter().skip(1)) {
            if next.0 == one.0 + 1 {
                memory.write(one.0, 2, NOTHING)?;
            }
        }
        for &coupling in &self.couplings {
            memory.write(coupling, 2, NOTHING)?;
        }
        for sum in &self.momenta {
            memory.write(sum.address, 4, NOTHING)?;
        }
        for square in &self.squares {
            memory.write(square.address, 1, NOTHING)?;
        }
        for product in &self.products {
            for square in product.squares {
                memory.read(square, 1)?;
            }
            memory.write(product.address, 2, NOTHING)?;
        }
        for propagator in &self.propagators {
            memory.read(propagator.momentum, 4)?;
            for (part, count) in propagator.virtuality.iter().flat_map(Virtuality::addresses) {
                memory.read(part, count)?;
            }
            memory.write(propagator.address, 2, NOTHING)?;
        }
        for factor in &self.factors {
            if let Some(propagator) = factor.propagator {
                memory.read(propagator, 2)?;
            }
            memory.write(factor.address, 2, NOTHING)?;
        }
        for external in &self.externals {
            let size = 2 * (external.kind.components() - 2);
            for (&at, &helicity) in external.results.iter().zip(&external.helicities) {
                let leg = Below::leg(external.leg as usize, helicity);
                memory.write(at, size, Below::Legs(leg))?;
            }
        }
        Ok(())
    }
}

impl Operations {
    fn follow(&self, plan: &Plan, memory: &mut TrackedMemory) -> FlowResult<()> {
        for batch in self.currents.iter().chain(&self.channels.squares) {
            self.batch(batch, None, memory)?;
        }
        let mut tiles = self.tiles.iter().peekable();
        for (group, at) in self.groups.iter().zip(0..) {
            if let Some(tile) = tiles.next_if(|tile| tile.group == at) {
                for batch in &tile.currents {
                    self.batch(batch, None, memory)?;
                }
            }
            for &h in group {
                let table = &self.tables[h as usize];
                for batch in &self.amplitudes {
                    self.batch(batch, Some(table), memory)?;
                }
            }
            let (mut units, mut terms) = (self.jamp.units.iter(), self.jamp.terms.iter());
            for sum in &self.jamp.sums {
                let count = sum.units.iter().sum::<u32>() as usize;
                for &at in units.by_ref().take(count) {
                    memory.read(at, COMPLEX)?;
                }
                for term in terms.by_ref().take(sum.terms as usize) {
                    memory.read(term.re, 1)?;
                    memory.read(term.im, 1)?;
                }
                memory.write(sum.address, COMPLEX, NOTHING)?;
            }
            for flow in 0..plan.flows as u32 {
                let jamp = memory.read(plan.jamp_base + 2 * flow, COMPLEX);
                jamp.map_err(|what| format!("JAMP {flow} of group {at}: {what}"))?;
            }
        }
        Ok(())
    }

    /// Follows the operations of a batch; `table` is a helicity's table for amplitudes.
    fn batch(
        &self,
        batch: &Batch,
        table: Option<&[Address]>,
        memory: &mut TrackedMemory,
    ) -> FlowResult<()> {
        let mut outcome = Ok(());
        let whole = visit(batch, &self.general, table.is_some(), &mut |at, access| {
            if outcome.is_err() {
                return;
            }
            outcome = match access {
                Access::Number => Ok(()),
                Access::Read(size) => memory.read(at, size).map(drop),
                Access::Update(size) | Access::Write(size) => {
                    let outcome = match access {
                        Access::Update(_) => memory.read(at, size).map(drop),
                        _ => Ok(()),
                    };
                    outcome.and_then(|()| memory.write(at, size, NOTHING))
                }
                Access::Indexed(size) => {
                    let at = table.and_then(|table| table.get(at as usize).copied());
                    let at = at.ok_or_else(|| "looks up an entry that does not exist".to_owned());
                    at.and_then(|at| memory.read(at, size)).map(drop)
                }
            };
        });
        let whole = whole.ok_or_else(|| "ends within an operation".to_owned());
        let outcome = outcome.and(whole);
        outcome.map_err(|what| format!("{:?} {what}", batch.opcode))
    }
}

impl Loops {
    fn follow(&self, plan: &Plan, process: &Process, mut memory: TrackedMemory) -> FlowResult<()> {
        let none = self.runs.first().map_or(&[][..], Vec::as_slice);
        for (i, op) in self.once.iter().enumerate() {
            let done = self.pools.follow(op, none, &mut memory);
            done.map_err(|what| format!("once-per-event operation {i}, {what}"))?;
        }
        for weight in self.weights.iter().flatten() {
            for &factor in weight.products.iter().flatten() {
                memory.read(factor, COMPLEX)?;
            }
            memory.write(weight.address, 1, NOTHING)?;
        }
        for (run, shifts) in self.runs.iter().enumerate() {
            let mut memory = memory.clone();
            for (i, op) in self.per_run.iter().enumerate() {
                let done = self.pools.follow(op, shifts, &mut memory);
                done.map_err(|what| format!("operation {i} of run {run}, {what}"))?;
            }
            let jamps = self.jamps_of_run(plan, process, run, shifts, memory);
            jamps.map_err(|what| format!("run {run}, {what}"))?;
        }
        Ok(())
    }

    /// Follows the shuffles and their additions to JAMPs, and checks the JAMPs.
    fn jamps_of_run(
        &self,
        plan: &Plan,
        process: &Process,
        run: usize,
        shifts: &[u32],
        mut memory: TrackedMemory,
    ) -> FlowResult<()> {
        let pools = &self.pools;
        for op in &self.shuffles {
            let shuffle = &pools.shuffles[op.shuffle as usize];
            let numbers = u64::from(2 * SHUFFLE_TILE) * u64::from(shuffle.given);
            memory.forget(pools.numbers, numbers);
            let sums = u64::from(2 * SHUFFLE_UNROLL) * u64::from(shuffle.all - shuffle.given);
            memory.forget(pools.sums, sums);
        }
        for element in 0..self.helicities {
            let row = run * self.helicities as usize + element as usize;
            let [own, other] = self.helicity_pair(row);
            let of = |h: u32| {
                let row = &process.helicities[plan.helicities[h as usize] as usize];
                Below::all(row.iter().copied())
            };
            let expected = match (own, other) {
                (NO_HELICITY, NO_HELICITY) => continue,
                (NO_HELICITY, other) => of(other).reversed(),
                (own, _) => of(own),
            };
            let is = |below: Below, what: &str| match below.add(expected) {
                Some(_) => Ok(()),
                None => Err(format!(
                    "element {element}: {what} has other legs or helicities"
                )),
            };
            for op in &self.shuffles {
                let mut terms = Vec::new();
                let _ = Pairs::<FOUR, FOUR>(op.pairs).terms(pools, &mut |term| terms.push(term));
                for term in &terms {
                    let number = pools.term(term, element, shifts, &memory)?;
                    is(number, "a shuffled number")?;
                }
            }
            for jamp in 0..plan.flows as u32 {
                let at = self.jamps + self.strides[0] * jamp + self.strides[1] * element;
                is(memory.read(at, COMPLEX)?, "a JAMP")?;
            }
        }
        Ok(())
    }
}

/// Following operations on arrays.
trait Follow {
    fn follow(&self, op: &ArrayOp, shifts: &[u32], memory: &mut TrackedMemory) -> FlowResult<()>;
    /// The legs of the product of a term.
    fn term(
        &self,
        term: &AddendTerm,
        element: u32,
        shifts: &[u32],
        memory: &TrackedMemory,
    ) -> FlowResult<Below>;
    fn element(
        &self,
        read: &Read,
        element: u32,
        shifts: &[u32],
        memory: &TrackedMemory,
    ) -> FlowResult<Below>;
}

impl Follow for Pools {
    fn follow(&self, op: &ArrayOp, shifts: &[u32], memory: &mut TrackedMemory) -> FlowResult<()> {
        let mut terms = Vec::new();
        let whole = self.terms(op, &mut |term| terms.push(term));
        let mut known = Ok(NOTHING);
        let once = self.once(op, &mut |at, size| {
            if known.is_ok() {
                known = memory.read(at, size);
            }
        });
        let mut products = Vec::new();
        let products_read = self.products_of(op, &mut |reads| products.push(reads.to_vec()));
        let scratch = self.scratch(op);
        let kind = op.kind();
        let named = whole.and(once).and(products_read).and(scratch);
        let scratch =
            named.ok_or_else(|| format!("{kind:?}: it refers to something that does not exist"))?;
        let (result, besides) = (op.result(), op.result_products());
        known.map_err(|what| format!("{kind:?}: {what}"))?;
        let computed = op.computed();
        for element in 0..computed {
            let below = || {
                let mut sum = Below::Zero;
                for term in &terms {
                    let term = self.term(term, element, shifts, memory)?;
                    let added = sum.add(term);
                    sum = added.ok_or("it adds up other legs or helicities")?;
                }
                for (term, products) in terms.iter().zip(&products) {
                    for (array, number) in term.reads().iter().zip(products) {
                        let array = self.element(array, element, shifts, memory)?;
                        let number = self.element(number, element, shifts, memory)?;
                        let same = array.add(number);
                        same.ok_or("it takes products of another array")?;
                    }
                }
                Ok(sum)
            };
            let below = below();
            let below =
                below.map_err(|what: String| format!("{kind:?}, element {element}: {what}"))?;
            let mut put = |to: Written| {
                memory.write(to.address + to.stride * element, to.size, below)?;
                if computed < op.count {
                    let mirrored = op.count - 1 - element;
                    let at = to.address + to.stride * mirrored;
                    memory.write(at, to.size, below.reversed())?;
                }
                Ok::<(), String>(())
            };
            put(result)?;
            besides.map_or(Ok(()), &mut put)?;
        }
        memory.forget(scratch.address, scratch.vectors);
        Ok(())
    }

    fn term(
        &self,
        term: &AddendTerm,
        element: u32,
        shifts: &[u32],
        memory: &TrackedMemory,
    ) -> FlowResult<Below> {
        let mut product = NOTHING;
        for read in term.reads() {
            let below = self.element(read, element, shifts, memory)?;
            let met = product.meet(below);
            product = met.ok_or("two factors have a leg in common")?;
        }
        Ok(product)
    }

    fn element(
        &self,
        read: &Read,
        element: u32,
        shifts: &[u32],
        memory: &TrackedMemory,
    ) -> FlowResult<Below> {
        let offset = self.offset(read, element);
        let shift = shifts.get(read.shift as usize);
        let (Some(offset), Some(shift)) = (offset, shift) else {
            return Err("it refers to something that does not exist".into());
        };
        memory.read(read.address + shift + offset, read.size)
    }
}
