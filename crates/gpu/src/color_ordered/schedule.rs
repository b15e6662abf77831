//! A plan of loops ([`mebridge_plan::color_ordered`]) as tables for a GPU: operations on arrays, in levels.
//!
//! Every array has an address of its own, so the operations of a *level* depend on earlier levels alone. A warp does
//! an *item* for 32 events: one element of an operation, or of contractions a *tile* of sixteen. A tile has four
//! directions, legs with two helicities each, in which its elements are neighbours; what meets in them depends on some of
//! the directions, so that sixteen products need some eight elements. Items that follow each other share most of what they
//! read, which then comes from a cache.

use crate::structures::{ArrayAddend, ArrayItem, ArrayOperation, ArrayPair, ArrayTriple, TilePair};
use mebridge_ops::Address;
use mebridge_ops::arrays::visit::Read;
use mebridge_ops::arrays::{ArrayKind, ArrayOp, Folded, Form, Operand, Pair, Pools};
use mebridge_plan::color_ordered::Loops;
use rustc_hash::FxHashMap as HashMap;

/// Directions of a tile.
const DIRECTIONS: usize = 4;

/// What one launch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayKernel {
    /// Spinors that flow in.
    LineIn,
    /// Spinors that flow out.
    LineOut,
    /// Vectors of two spinors.
    Current,
    /// Vectors of vectors.
    Vector,
    /// Sums.
    Sum,
    /// Products, an element at a time.
    Contract,
    /// Products, a tile at a time.
    Tile,
}

impl ArrayKernel {
    /// All of them.
    pub const ALL: [ArrayKernel; 7] = [
        ArrayKernel::LineIn,
        ArrayKernel::LineOut,
        ArrayKernel::Current,
        ArrayKernel::Vector,
        ArrayKernel::Sum,
        ArrayKernel::Contract,
        ArrayKernel::Tile,
    ];

    /// The name of its kernel.
    pub fn name(self) -> String {
        format!("array_{self:?}")
    }
}

/// Items of one kernel in a row, all of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayRun {
    /// What does them.
    pub kernel: ArrayKernel,
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// What can be done at the same time.
pub type ArrayLevel = Vec<ArrayRun>;

/// The loops of a plan for a GPU.
#[derive(Clone, Debug, Default)]
pub struct ArraySchedule {
    /// What comes once an event.
    pub once: Vec<ArrayLevel>,
    /// What comes in each run.
    pub each: Vec<ArrayLevel>,
    /// The operations.
    pub operations: Vec<ArrayOperation>,
    /// Their pairs, but for those of tiles.
    pub pairs: Vec<ArrayPair>,
    /// The pairs of tiles.
    pub tile_pairs: Vec<TilePair>,
    /// Their triples.
    pub triples: Vec<ArrayTriple>,
    /// Their addends.
    pub addends: Vec<ArrayAddend>,
    /// What launches do.
    pub items: Vec<ArrayItem>,
}

impl ArraySchedule {
    /// The tables of loops. `None` if an array is written twice, which none is in a plan made for a GPU.
    pub fn new(loops: &Loops) -> Option<ArraySchedule> {
        let mut maker = Maker {
            pools: &loops.pools,
            levels: HashMap::default(),
            steps: HashMap::default(),
            made: ArraySchedule::default(),
        };
        let once = maker.levels(&loops.once)?;
        maker.made.once = once;
        // What is computed once is there when runs begin.
        maker.levels.values_mut().for_each(|level| *level = 0);
        let each = maker.levels(&loops.each)?;
        maker.made.each = each;
        Some(maker.made)
    }

    /// All kernels that occur, each once.
    #[cfg(test)]
    fn kernels(&self) -> Vec<ArrayKernel> {
        let runs = self.once.iter().chain(&self.each).flatten();
        let mut kernels: Vec<ArrayKernel> = runs.map(|run| run.kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }
}

struct Maker<'a> {
    pools: &'a Pools,
    /// Of each array the level of the operation that makes it.
    levels: HashMap<Address, u32>,
    /// Of offsets that are sums over the bits of the element what each bit adds: by where they begin, and how many.
    steps: HashMap<(u32, u32), Option<Vec<u32>>>,
    made: ArraySchedule,
}

/// Of a pool what belongs to an operation.
fn some<T>(all: &[T], of: [u32; 2]) -> &[T] {
    &all[of[0] as usize..of[1] as usize]
}

impl Maker<'_> {
    fn pairs<'p>(pools: &'p Pools, op: &ArrayOp) -> impl Iterator<Item = &'p Pair> + use<'p> {
        let narrow = some(&pools.pairs, op.pairs);
        narrow.iter().chain(some(&pools.pairs, op.broadcast))
    }

    /// The level of an operation: one above all that it reads.
    fn level(&self, op: &ArrayOp) -> u32 {
        let mut highest = 0;
        // What no operation makes are external wavefunctions.
        let level = |read: &Read| self.levels.get(&read.address).copied().unwrap_or(0);
        let whole = self.pools.terms(op, &mut |term| {
            let levels = term.reads().iter().map(level);
            highest = levels.fold(highest, u32::max);
        });
        debug_assert!(whole.is_some(), "a valid plan");
        1 + highest
    }

    fn levels(&mut self, ops: &[ArrayOp]) -> Option<Vec<ArrayLevel>> {
        let mut all: Vec<(u32, ArrayKernel, ArrayItem)> = Vec::new();
        for op in ops {
            let level = self.level(op);
            if op.kind != ArrayKind::Contract && self.levels.insert(op.out, level).is_some() {
                return None;
            }
            let (kernel, elements) = self.operation(op)?;
            let operation = self.made.operations.len() as u32 - 1;
            let item = |element| (level, kernel, ArrayItem { operation, element });
            all.extend(elements.into_iter().map(item));
        }
        // Of sums those of the same element follow each other, as what they add up is the same; all else in the order in
        // which it came.
        all.sort_by_key(|&(level, kernel, item)| {
            let element = match kernel {
                ArrayKernel::Sum => {
                    let count = self.made.operations[item.operation as usize].count;
                    (count, item.element)
                }
                _ => (0, 0),
            };
            (level, kernel, element)
        });
        let mut levels: Vec<ArrayLevel> = Vec::new();
        let mut last = None;
        for (level, kernel, item) in all {
            if last != Some(level) {
                levels.push(ArrayLevel::new());
                last = Some(level);
            }
            let runs = levels.last_mut().expect("one was pushed");
            match runs.last_mut() {
                Some(run) if run.kernel == kernel => run.count += 1,
                _ => runs.push(ArrayRun {
                    kernel,
                    first: self.made.items.len() as u32,
                    count: 1,
                }),
            }
            self.made.items.push(item);
        }
        Some(levels)
    }

    /// Appends an operation; what does it, and the first elements of its items. None where it takes
    /// [products](Folded).
    fn operation(&mut self, op: &ArrayOp) -> Option<(ArrayKernel, Vec<u32>)> {
        let products = op.splits[0] < op.splits[1] || op.numbers[0] < op.numbers[1];
        if products || op.folded != Folded::Nothing {
            return None;
        }
        let tile = match op.kind {
            ArrayKind::Contract => self.tile(op),
            _ => None,
        };
        let kernel = match (op.kind, tile) {
            (ArrayKind::LineIn, _) => ArrayKernel::LineIn,
            (ArrayKind::LineOut, _) => ArrayKernel::LineOut,
            (ArrayKind::Current, _) => ArrayKernel::Current,
            (ArrayKind::Vector, _) => ArrayKernel::Vector,
            (ArrayKind::Sum, _) => ArrayKernel::Sum,
            (ArrayKind::Contract, None) => ArrayKernel::Contract,
            (ArrayKind::Contract, Some(_)) => ArrayKernel::Tile,
            (ArrayKind::Products, _) => return None,
        };
        let bits = tile.map_or(0, |tile| tile.iter().map(|bit| 1u32 << bit).sum());
        let elements = (0..op.computed()).filter(|element| element & bits == 0);
        let elements = elements.collect();
        let pools = self.pools;
        let numbers = |made: &ArraySchedule| match tile {
            Some(_) => made.tile_pairs.len() as u32,
            None => made.pairs.len() as u32,
        };
        let first_pair = numbers(&self.made);
        for pair in Self::pairs(pools, op) {
            match tile {
                Some(tile) => {
                    let pair = self.tile_pair(pair, op.count, tile);
                    self.made.tile_pairs.push(pair);
                }
                None => self.made.pairs.push(ArrayPair {
                    a_address: pair.a.address,
                    a_shift: pair.a.shift,
                    a_index: pair.a.index,
                    b_address: pair.b.address,
                    b_shift: pair.b.shift,
                    b_index: pair.b.index,
                    momentum_a: pair.momenta[0],
                    momentum_b: pair.momenta[1],
                }),
            }
        }
        let end_of_pairs = numbers(&self.made);
        let first_triple = self.made.triples.len() as u32;
        let triples = some(&pools.triples, op.triples);
        self.made.triples.extend(triples.iter().map(|t| {
            let [a, b, c] = t.operands;
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
        }));
        let first_addend = self.made.addends.len() as u32;
        let addends = some(&pools.addends, op.addends);
        self.made
            .addends
            .extend(addends.iter().map(|a| ArrayAddend {
                address: a.address,
                shift: a.shift,
                minus: u32::from(a.minus),
            }));
        let steps = tile.unwrap_or_default().map(|bit| 1 << bit);
        self.made.operations.push(ArrayOperation {
            out: op.out,
            stride: op.stride,
            count: op.count,
            first_pair,
            end_of_pairs,
            first_triple,
            end_of_triples: self.made.triples.len() as u32,
            first_addend,
            end_of_addends: self.made.addends.len() as u32,
            factor_of_pairs: op.factors[0],
            factor_of_triples: op.factors[1],
            momentum: op.momentum,
            mass: op.mass,
            propagated: u32::from(op.propagate),
            form: match op.form {
                Form::Plain => 0,
                Form::Lower => 1,
                Form::Slashed => 2,
            },
            mirror: match op.mirror {
                0 => 0,
                sign if sign > 0 => 1,
                _ => 2,
            },
            step_0: steps[0],
            step_1: steps[1],
            step_2: steps[2],
            step_3: steps[3],
        });
        Some((kernel, elements))
    }

    /// The bits of an element that are directions of tiles: those with which the least is read. None where elements
    /// are not numbered by bits, or there are too few.
    fn tile(&mut self, op: &ArrayOp) -> Option<[u32; DIRECTIONS]> {
        let mut depend = Vec::new();
        let pools = self.pools;
        for pair in Self::pairs(pools, op) {
            let a = self.bits(&pair.a, op.count)?;
            let b = self.bits(&pair.b, op.count)?;
            // Each leg is below one of the two.
            if a & b != 0 || a | b != op.count - 1 {
                return None;
            }
            depend.push(a);
        }
        let bits = op.count.trailing_zeros();
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

    /// On which bits of the element of a result the element of an array depends.
    fn bits(&mut self, place: &Operand, count: u32) -> Option<u32> {
        let offsets = &self.pools.indices[place.index as usize..][..count as usize];
        let steps = self.steps.entry((place.index, count)).or_insert_with(|| {
            let steps: Vec<u32> = (0..count.trailing_zeros())
                .map(|bit| offsets[1 << bit])
                .collect();
            let sum = |element: u32| -> u64 {
                let bits = steps.iter().zip(0..);
                let these = bits.filter(|(_, bit)| element >> bit & 1 == 1);
                these.map(|(&step, _)| u64::from(step)).sum()
            };
            let affine = count.is_power_of_two()
                && (0..count).all(|element| sum(element) == u64::from(offsets[element as usize]));
            affine.then_some(steps)
        });
        let steps = steps.as_ref()?;
        let bits = steps.iter().zip(0..).filter(|(step, _)| **step != 0);
        Some(bits.map(|(_, bit)| 1u32 << bit).sum())
    }

    /// A pair in a tile with these directions.
    fn tile_pair(&mut self, pair: &Pair, count: u32, tile: [u32; DIRECTIONS]) -> TilePair {
        let bits = self.bits(&pair.a, count).unwrap_or(0);
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
    use super::*;
    use mebridge_generate::generate;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::color_ordered::{Machine, compile};

    /// Everything that is read was written by a level before; each element of each array is an item's, once.
    #[test]
    fn levels_follow_each_other() {
        let whole = usize::MAX;
        for (text, tile, tiles) in [
            ("g g > t t~ g g", whole, true),
            ("g g > t t~ g g", 200, false),
            ("u~ g > u~ g g", whole, true),
            ("u u~ > g g", whole, true),
            ("g g > g g g", 200, true),
        ] {
            let process = generate(text)
                .unwrap()
                .remove(0)
                .as_color_ordered()
                .unwrap();
            let card = process.model.default_card();
            let binding = Binding::new(&process.model, &card).unwrap();
            let rows: Vec<u32> = (0..process.helicities.len() as u32).collect();
            let form = process.amplitudes.color_ordered().unwrap();
            let plan = compile(&process, form, &binding, &rows, Machine::Gpu { tile }).unwrap();
            let plan = plan.validate(&process).unwrap();
            let loops = plan.loops().unwrap();
            let schedule = ArraySchedule::new(loops).unwrap();
            assert!(tile == whole || loops.runs.len() > 1, "{text}");
            let all: Vec<&ArrayOp> = loops.once.iter().chain(&loops.each).collect();
            let mut made: HashMap<Address, usize> = HashMap::default();
            let mut elements = vec![0; all.len()];
            for (number, level) in schedule.once.iter().chain(&schedule.each).enumerate() {
                for run in level {
                    let items = &schedule.items[run.first as usize..][..run.count as usize];
                    for item in items {
                        let (op, operation) = (
                            all[item.operation as usize],
                            &schedule.operations[item.operation as usize],
                        );
                        assert_eq!(operation.out, op.out);
                        elements[item.operation as usize] += match (run.kernel, op.mirror) {
                            (ArrayKernel::Tile, _) => 16,
                            (_, 0) => 1,
                            _ => 2,
                        };
                        let pairs = operation.first_pair..operation.end_of_pairs;
                        let addresses = pairs.map(|i| match run.kernel {
                            ArrayKernel::Tile => {
                                let pair = schedule.tile_pairs[i as usize];
                                [pair.a_address, pair.b_address]
                            }
                            _ => {
                                let pair = schedule.pairs[i as usize];
                                [pair.a_address, pair.b_address]
                            }
                        });
                        for both in addresses {
                            for address in both {
                                let writer = all.iter().position(|op| op.out == address);
                                let before = made.get(&address).is_some_and(|&at| at < number);
                                assert!(writer.is_none() || before, "{text}");
                            }
                        }
                        made.insert(op.out, number);
                    }
                }
            }
            let counts: Vec<u32> = all.iter().map(|op| op.count).collect();
            assert_eq!(elements, counts, "{text}");
            let has_tiles = schedule.kernels().contains(&ArrayKernel::Tile);
            assert_eq!(has_tiles, tiles, "{text}");
        }
    }

    /// A plan that uses memory again has no levels.
    #[test]
    fn a_plan_for_a_core_is_refused() {
        let process = generate("g g > g g g").unwrap().remove(0);
        let process = process.as_color_ordered().unwrap();
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).unwrap();
        let rows: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let form = process.amplitudes.color_ordered().unwrap();
        let plan = compile(&process, form, &binding, &rows, Machine::CORE).unwrap();
        assert!(ArraySchedule::new(plan.loops().unwrap()).is_none());
    }
}
