//! A plan of loops ([`mebridge_plan::color_ordered`]) as tables for a GPU: array operations, in levels.
//!
//! Every array has its own address, so that the operations of a *level* depend only on earlier levels. A warp computes
//! an *item* for 32 events: one element of an operation, or a *tile* of sixteen elements of a contraction. The elements
//! of a tile extend in four directions, which are legs with two helicities each. The arrays of a product depend only on
//! some of the directions, so that sixteen products need about eight elements. Consecutive items read mostly the same
//! elements, which are then found in a cache.

use crate::structures::{
    ArrayAddend, ArrayItem, ArrayPair, ArrayTriple, DeviceStructure, TileOperation, TilePair,
};
use mebridge_ops::Address;
use mebridge_ops::arrays::terms::Read;
use mebridge_ops::arrays::{
    Addend, ArrayKind, ArrayOp, Operand, Pair, Payload, Pools, Range, Triple,
};
use mebridge_plan::color_ordered::Loops;
use rustc_hash::FxHashMap as HashMap;

/// Number of directions of a tile.
const DIRECTIONS: usize = 4;

/// The kernel of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayKernel {
    /// Operations of a kind, one element per item.
    Kind(ArrayKind),
    /// Products, one tile per item.
    Tile,
    /// Products of spinors of one chirality, one tile per item.
    ChiralTile,
}

impl ArrayKernel {
    /// All kernels.
    pub fn all() -> impl Iterator<Item = ArrayKernel> {
        let kinds = ArrayKind::ALL.iter().copied();
        let kinds = kinds.filter(|kind| kind.is_on_gpu());
        let tiles = [ArrayKernel::Tile, ArrayKernel::ChiralTile];
        kinds.map(ArrayKernel::Kind).chain(tiles)
    }

    /// Returns the name of what it does.
    pub fn operation(self) -> String {
        match self {
            ArrayKernel::Kind(kind) => format!("{kind:?}"),
            ArrayKernel::Tile | ArrayKernel::ChiralTile => format!("{self:?}"),
        }
    }

    /// Returns the name of its operations' structure, without `Operation`.
    pub fn structure(self) -> String {
        match self {
            ArrayKernel::ChiralTile => ArrayKernel::Tile.operation(),
            _ => self.operation(),
        }
    }

    /// Returns the name of its kernel.
    pub fn name(self) -> String {
        format!("array_{}", self.operation())
    }
}

/// Consecutive items of one kernel within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayKernelRange {
    /// Kernel of the items.
    pub kernel: ArrayKernel,
    /// First item.
    pub first: u32,
    /// Number of items.
    pub count: u32,
}

/// Ranges of items that can run concurrently.
pub type ArrayLevel = Vec<ArrayKernelRange>;

/// The loops of a plan for a GPU.
#[derive(Clone, Debug, Default)]
pub struct ArraySchedule {
    /// Levels computed once per event.
    pub once: Vec<ArrayLevel>,
    /// Levels computed in each run of helicities.
    pub per_run: Vec<ArrayLevel>,
    /// Concatenated operations: the numbers of [`ArrayOp::numbers`], or a [`TileOperation`] for tiles.
    pub operations: Vec<u32>,
    /// Pairs of the plan.
    pub pairs: Vec<ArrayPair>,
    /// Pairs of tiles.
    pub tile_pairs: Vec<TilePair>,
    /// Triples of the plan.
    pub triples: Vec<ArrayTriple>,
    /// Addends of the plan.
    pub addends: Vec<ArrayAddend>,
    /// Items of launches.
    pub items: Vec<ArrayItem>,
}

impl ArraySchedule {
    /// Builds the tables of loops. Returns `None` if an array is written twice or a GPU does not support an operation,
    /// which does not happen for plans made for GPUs.
    pub fn new(loops: &Loops) -> Option<ArraySchedule> {
        let mut maker = ArrayScheduler {
            pools: &loops.pools,
            levels: HashMap::default(),
            steps: HashMap::default(),
            made: ArraySchedule {
                pairs: loops.pools.pairs.iter().map(device_pair).collect(),
                triples: loops.pools.triples.iter().map(device_triple).collect(),
                addends: loops.pools.addends.iter().map(device_addend).collect(),
                ..ArraySchedule::default()
            },
        };
        let once = maker.levels(&loops.once)?;
        maker.made.once = once;
        // Arrays that are computed once are available when runs begin.
        maker.levels.values_mut().for_each(|level| *level = 0);
        let per_run = maker.levels(&loops.per_run)?;
        maker.made.per_run = per_run;
        Some(maker.made)
    }

    /// Returns the kernels that occur, each once.
    pub fn kernels(&self) -> Vec<ArrayKernel> {
        let runs = self.once.iter().chain(&self.per_run).flatten();
        let mut kernels: Vec<ArrayKernel> = runs.map(|run| run.kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }
}

struct ArrayScheduler<'a> {
    pools: &'a Pools,
    /// For each array, the level of the operation that computes it.
    levels: HashMap<Address, u32>,
    /// Contribution of each bit of the element index to the offset, if offsets are sums over these bits. The key is the
    /// start of the offsets, their number, and the number of elements that bits tell apart.
    steps: HashMap<(u32, u32, u32), Option<Vec<u32>>>,
    made: ArraySchedule,
}

fn device_pair(pair: &Pair) -> ArrayPair {
    let [momentum_a, momentum_b] = pair.momenta;
    ArrayPair {
        a_address: pair.a.address,
        a_shift: pair.a.shift,
        a_index: pair.a.index,
        b_address: pair.b.address,
        b_shift: pair.b.shift,
        b_index: pair.b.index,
        momentum_a,
        momentum_b,
    }
}

fn device_triple(triple: &Triple) -> ArrayTriple {
    let [a, b, c] = triple.operands;
    ArrayTriple {
        a_address: a.address,
        a_shift: a.shift,
        a_index: a.index,
        b_address: b.address,
        b_shift: b.shift,
        b_index: b.index,
        c_address: c.address,
        c_shift: c.shift,
        c_index: c.index,
    }
}

fn device_addend(addend: &Addend) -> ArrayAddend {
    ArrayAddend {
        address: addend.address,
        shift: addend.shift,
        minus: u32::from(addend.minus),
    }
}

/// Products of pairs that can be computed in tiles.
struct Products {
    kernel: ArrayKernel,
    out: Address,
    stride: u32,
    pairs: [Range; 2],
    /// Number of elements.
    count: u32,
    /// Number of consecutive elements that are numbered by bits.
    within: u32,
}

impl Products {
    fn new(op: &ArrayOp) -> Option<Products> {
        let (kernel, stride, pairs, within) = match &op.payload {
            Payload::Contract(contract) => {
                let pairs = [contract.pairs.0, contract.broadcast.0];
                (ArrayKernel::Tile, contract.stride, pairs, op.count)
            }
            Payload::ChiralContract(contract) => {
                // Three helicities of a boson vary slowest.
                let within = match op.count.is_power_of_two() {
                    true => op.count,
                    false => op.count / contract.unrolled.0,
                };
                let pairs = [contract.pairs.0, [0; 2]];
                (ArrayKernel::ChiralTile, contract.stride, pairs, within)
            }
            _ => return None,
        };
        Some(Products {
            kernel,
            out: op.out,
            stride: stride.0,
            pairs,
            count: op.count,
            within,
        })
    }

    fn pairs<'p>(&self, pools: &'p Pools) -> impl Iterator<Item = &'p Pair> + use<'p> {
        let some = |[from, to]: Range| &pools.pairs[from as usize..to as usize];
        self.pairs.map(some).into_iter().flatten()
    }
}

impl ArrayScheduler<'_> {
    /// Returns the level of an operation: one above the levels of all arrays that it reads.
    fn level(&self, op: &ArrayOp) -> u32 {
        let mut highest = 0;
        // Arrays that no operation computes are external wavefunctions.
        let level = |read: &Read| self.levels.get(&read.address).copied().unwrap_or(0);
        let whole = self.pools.terms(op, &mut |term| {
            let levels = term.reads().iter().map(level);
            highest = levels.fold(highest, u32::max);
        });
        debug_assert!(whole.is_some(), "a valid plan");
        1 + highest
    }

    fn levels(&mut self, ops: &[ArrayOp]) -> Option<Vec<ArrayLevel>> {
        let mut all: Vec<(u32, ArrayKernel, (u32, u32), ArrayItem)> = Vec::new();
        for op in ops {
            let level = self.level(op);
            if Products::new(op).is_none() && self.levels.insert(op.out, level).is_some() {
                return None;
            }
            let operation = self.made.operations.len() as u32;
            let (kernel, elements) = self.operation(op)?;
            for element in elements {
                // Sums for the same element are adjacent, because they add the same currents. All other operations keep
                // their order.
                let order = match op.payload {
                    Payload::Sum(_) => (op.count, element),
                    _ => (0, 0),
                };
                let item = ArrayItem { operation, element };
                all.push((level, kernel, order, item));
            }
        }
        all.sort_by_key(|&(level, kernel, order, _)| (level, kernel, order));
        let mut levels: Vec<ArrayLevel> = Vec::new();
        let mut last = None;
        for (level, kernel, _, item) in all {
            if last != Some(level) {
                levels.push(ArrayLevel::new());
                last = Some(level);
            }
            let runs = levels.last_mut().expect("one was pushed");
            match runs.last_mut() {
                Some(run) if run.kernel == kernel => run.count += 1,
                _ => runs.push(ArrayKernelRange {
                    kernel,
                    first: self.made.items.len() as u32,
                    count: 1,
                }),
            }
            self.made.items.push(item);
        }
        Some(levels)
    }

    /// Appends an operation and returns its kernel and the first elements of its items, or `None` if GPUs do not
    /// support it.
    fn operation(&mut self, op: &ArrayOp) -> Option<(ArrayKernel, Vec<u32>)> {
        let numbers = op.numbers()?;
        let elements = 0..op.computed();
        if let Some(products) = Products::new(op)
            && let Some(tile) = self.tile(&products)
        {
            self.push_tile(&products, tile);
            let bits: u32 = tile.iter().map(|bit| 1u32 << bit).sum();
            let first = elements.filter(|element| (element % products.within) & bits == 0);
            return Some((products.kernel, first.collect()));
        }
        self.made.operations.extend(numbers);
        Some((ArrayKernel::Kind(op.kind()), elements.collect()))
    }

    /// Appends products that are computed in tiles with these directions.
    fn push_tile(&mut self, products: &Products, tile: [u32; DIRECTIONS]) {
        let first_of_pairs = self.made.tile_pairs.len() as u32;
        for pair in products.pairs(self.pools) {
            let pair = self.tile_pair(pair, products, tile);
            self.made.tile_pairs.push(pair);
        }
        let [step_0, step_1, step_2, step_3] = tile.map(|bit| 1 << bit);
        let operation = TileOperation {
            out: products.out,
            stride: products.stride,
            first_of_pairs,
            end_of_pairs: self.made.tile_pairs.len() as u32,
            step_0,
            step_1,
            step_2,
            step_3,
        };
        let bytes = operation.bytes();
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers = numbers.iter().map(|&number| u32::from_ne_bytes(number));
        self.made.operations.extend(numbers);
    }

    /// Returns the bits of the element index to use as tile directions, chosen to minimise reads. `None` if elements
    /// are not numbered by bits, or if there are too few bits.
    fn tile(&mut self, products: &Products) -> Option<[u32; DIRECTIONS]> {
        let mut depend = Vec::new();
        for pair in products.pairs(self.pools) {
            let a = self.bits(&pair.a, products)?;
            let b = self.bits(&pair.b, products)?;
            // Each leg belongs to one of the two.
            if a & b != 0 || a | b != products.within - 1 {
                return None;
            }
            depend.push(a);
        }
        let bits = products.within.trailing_zeros();
        let mut best: Option<(u32, [u32; DIRECTIONS])> = None;
        if depend.is_empty() {
            return None;
        }
        for set in 0u32..1 << bits {
            if set.count_ones() as usize != DIRECTIONS {
                continue;
            }
            let loads = |a: &u32| {
                let first = (a & set).count_ones();
                (1 << first) + (1 << (DIRECTIONS as u32 - first))
            };
            let cost: u32 = depend.iter().map(loads).sum();
            if best.is_none_or(|(least, _)| cost < least) {
                let mut these = (0..bits).filter(|bit| set >> bit & 1 == 1);
                best = Some((cost, [0; DIRECTIONS].map(|_| these.next().unwrap_or(0))));
            }
        }
        best.map(|(_, tile)| tile)
    }

    /// Returns the bits of the result's element index on which the element of an array depends.
    fn bits(&mut self, place: &Operand, products: &Products) -> Option<u32> {
        let Products { count, within, .. } = *products;
        let offsets = &self.pools.indices[place.index as usize..][..count as usize];
        let key = (place.index, count, within);
        let steps = self.steps.entry(key).or_insert_with(|| {
            let steps: Vec<u32> = (0..within.trailing_zeros())
                .map(|bit| offsets[1 << bit])
                .collect();
            let sum = |element: usize| -> u64 {
                let bits = steps.iter().zip(0..);
                let these = bits.filter(|(_, bit)| element >> bit & 1 == 1);
                these.map(|(&step, _)| u64::from(step)).sum()
            };
            let is_sum = |part: &[u32]| {
                let of = |(element, &offset): (usize, &u32)| {
                    u64::from(part[0]) + sum(element) == u64::from(offset)
                };
                part.iter().enumerate().all(of)
            };
            let affine = within.is_power_of_two()
                && count.is_multiple_of(within)
                && offsets.chunks(within as usize).all(is_sum);
            affine.then_some(steps)
        });
        let steps = steps.as_ref()?;
        let bits = steps.iter().zip(0..).filter(|(step, _)| **step != 0);
        Some(bits.map(|(_, bit)| 1u32 << bit).sum())
    }

    /// Returns a pair for tiles with these directions.
    fn tile_pair(&mut self, pair: &Pair, products: &Products, tile: [u32; DIRECTIONS]) -> TilePair {
        let bits = self.bits(&pair.a, products).unwrap_or(0);
        let directions = tile.iter().zip(0..);
        let mask = directions.map(|(bit, direction)| (bits >> bit & 1) << direction);
        let step = |bit: u32| {
            let place = if bits >> bit & 1 == 1 {
                &pair.a
            } else {
                &pair.b
            };
            self.pools.indices[place.index as usize + (1 << bit)]
        };
        let steps = tile.map(step);
        TilePair {
            a_address: pair.a.address,
            a_shift: pair.a.shift,
            a_index: pair.a.index,
            b_address: pair.b.address,
            b_shift: pair.b.shift,
            b_index: pair.b.index,
            mask: mask.sum(),
            step_0: steps[0],
            step_1: steps[1],
            step_2: steps[2],
            step_3: steps[3],
            padding: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use mebridge_plan::color_ordered::Machine;

    /// Everything that is read was written by an earlier level; each element of each array belongs to exactly one item.
    #[test]
    fn levels_follow_each_other() {
        let whole = usize::MAX;
        for (text, tile, tiles) in [
            ("g g > t t~ g g", whole, true),
            ("g g > t t~ g g", 200, false),
            ("u~ g > u~ g g", whole, true),
            ("u u~ > g g", whole, false),
            ("u u~ > g g g", whole, true),
            ("g g > g g g", 100, false),
            ("g g > g g g g", 800, true),
            ("u u~ > e+ e- g g", whole, false),
            ("u u~ > e+ e- g g g", whole, true),
            ("u u~ > z g g g", whole, false),
            ("u u~ > z g g g g", whole, true),
            ("u u~ > z g g g g", 200, false),
        ] {
            let plan = plan(text, Machine::Gpu { tile });
            let loops = plan.loops().unwrap();
            let schedule = ArraySchedule::new(loops).unwrap();
            assert!(tile == whole || loops.runs.len() > 1, "{text}");
            let all: Vec<&ArrayOp> = loops.once.iter().chain(&loops.per_run).collect();
            let mut made: HashMap<Address, usize> = HashMap::default();
            let mut elements = vec![0; all.len()];
            for (number, level) in schedule.once.iter().chain(&schedule.per_run).enumerate() {
                for run in level {
                    let items = &schedule.items[run.first as usize..][..run.count as usize];
                    for item in items {
                        let numbers = &schedule.operations[item.operation as usize..];
                        let place = all.iter().position(|op| op.out == numbers[0]).unwrap();
                        let op = all[place];
                        elements[place] += match run.kernel {
                            ArrayKernel::Tile | ArrayKernel::ChiralTile => 16,
                            ArrayKernel::Kind(_) => op.count / op.computed(),
                        };
                        if !matches!(run.kernel, ArrayKernel::Kind(_)) {
                            let [first, end] = [numbers[2] as usize, numbers[3] as usize];
                            let pairs = schedule.tile_pairs[first..end].iter();
                            let mut both = pairs.map(|pair| [pair.a_address, pair.b_address]);
                            loops.pools.terms(op, &mut |term| {
                                let both = both.next().unwrap();
                                let reads = term.reads().iter();
                                assert!(reads.map(|read| read.address).eq(both), "{text}");
                            });
                        } else {
                            let own = op.numbers().unwrap();
                            assert_eq!(numbers[..own.len()], own, "{text}");
                        }
                        loops.pools.terms(op, &mut |term| {
                            for address in term.reads().iter().map(|read| read.address) {
                                let writer = all.iter().position(|op| op.out == address);
                                let before = made.get(&address).is_some_and(|&at| at < number);
                                assert!(writer.is_none() || before, "{text}");
                            }
                        });
                        made.insert(op.out, number);
                    }
                }
            }
            let counts: Vec<u32> = all.iter().map(|op| op.count).collect();
            assert_eq!(elements, counts, "{text}");
            let is_tile = |kernel: &ArrayKernel| !matches!(kernel, ArrayKernel::Kind(_));
            let has_tiles = schedule.kernels().iter().any(is_tile);
            assert_eq!(has_tiles, tiles, "{text}");
        }
    }

    /// A plan that reuses memory has no levels.
    #[test]
    fn a_plan_for_a_core_is_refused() {
        let plan = plan("g g > g g g", Machine::CORE);
        assert!(ArraySchedule::new(plan.loops().unwrap()).is_none());
    }
}
