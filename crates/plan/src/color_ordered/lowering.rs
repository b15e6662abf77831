//! The loops of a colour-ordered form that is being lowered: their operations, arrays and memory.

use super::arrays::{Array, Helicities, Legs, ReusedMemory, ScratchContent};
use super::chirality::{Chiral, Chirality};
use super::helicities::{Evaluated, Live};
use super::positions::{Positions, reversed};
use super::vertices::{
    Constant, QuarkLine, bad, conserves_parity, four_gluon, line, negate, parity, recognized,
};
use super::{Loops, NO_HELICITY, Weight};
use crate::compiler::Compiler;
use crate::{Body, Count, Plan};
use mebridge_ops::Address;
use mebridge_ops::arrays::{
    ArrayKind, ArrayOp, CHIRAL, ChiralContract, Components, Contract, Current, ELEMENT, FOURS,
    Numbers, Once, Pair, Pairs, Payload, Pools, SHUFFLE_TILE, SHUFFLE_UNROLL, Shuffle, ShuffleOp,
    Spinors, Split, Stride, Unrolled,
};
use mebridge_ops::opcode::Opcode;
use mebridge_process::ExternalKind;
use mebridge_process::color_ordered::{ColorOrdered, number_of};
use mebridge_support::error::Result;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Gluon currents of at most this number of insertions are stored for all orders; longer ones only in the Kleiss-Kuijf
/// basis.
pub(super) const SHORT: usize = 4;
/// Upper bound on the vectors of the JAMPs of one run on a core with an L2 cache of at least [`LARGE_L2`] bytes;
/// measured at 512z with 2 MiB.
const TILE: usize = 170_000;
const LARGE_L2: usize = 2 << 20;
/// The same bound for a smaller L2 cache, for gluons alone and with a quark line; measured with 1 MiB.
const SMALL_TILE: [usize; 2] = [100_000, 12_000];
/// Minimum number of helicities per run on a core; they share the currents that each run recomputes.
const FEWEST: usize = 4;

/// Number of vectors that fit in the caches closest to a core at 512z: 1 MiB.
const FAR: u32 = 16_384;

/// The machine that runs a plan of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A core executes operations sequentially. Memory is reused, so that live arrays fit in its caches.
    Core {
        /// Size of the L2 cache in bytes; 0 if unknown.
        l2: usize,
    },
    /// A GPU executes independent operations concurrently. Every array has its own memory.
    Gpu {
        /// Upper bound on the vectors of the JAMPs of one run.
        tile: usize,
    },
}

impl Machine {
    /// A core with a large L2 cache, for plans that must not depend on the machine.
    pub const CORE: Machine = Machine::Core { l2: LARGE_L2 };

    pub(super) fn is_core(self) -> bool {
        matches!(self, Machine::Core { .. })
    }

    /// Upper bound on the vectors of the JAMPs of one run.
    fn tile(self, form: &ColorOrdered) -> usize {
        match self {
            Machine::Core { l2 } => {
                let tile = match l2 < LARGE_L2 {
                    true => SMALL_TILE[usize::from(form.line.is_some())],
                    false => TILE,
                };
                tile.max(2 * FEWEST * form.jamps())
            }
            Machine::Gpu { tile } => tile,
        }
    }
}

/// A colour-ordered form that is being lowered.
pub(super) struct Lowering<'a> {
    compiler: Compiler<'a>,
    pub(super) helicities: Helicities,
    pub(super) pools: Pools,
    pub(super) once: Vec<ArrayOp>,
    pub(super) per_run: Vec<ArrayOp>,
    shuffles: Vec<ShuffleOp>,
    pub(super) machine: Machine,
    /// Number of insertions.
    pub(super) count: usize,
    positions: Positions,
    /// The kernel for the line's currents, starting from the first end; `None` if they are vectors.
    pub(super) line: Option<QuarkLine>,
    /// The evaluated chirality of a line with a boson.
    pub(super) chirality: Option<Chirality>,
    /// The factors of the boson's vertices.
    pub(super) chiral: Option<Chiral>,
    pub(super) three_gluon: Constant,
    pub(super) four_gluon: Option<Constant>,
    /// The sign of the three-gluon vertex under conjugation, if currents with all helicities reversed are conjugates.
    pub(super) parity: Option<f64>,
    /// Gluon currents by their order, as plain vectors.
    pub(super) currents: HashMap<Vec<u8>, Array>,
    /// Gluon currents by their order, slashed.
    pub(super) slashed: HashMap<Vec<u8>, Array>,
    /// Temporary sums for long currents, and their products. The key is the content, whether it is computed once per
    /// event, the position in the order, and the length.
    pub(super) scratch: ReusedMemory<(ScratchContent, bool, usize, usize)>,
    /// Products of stored gluon currents, by the order of the current, or by the reversed order if that has the same
    /// products.
    pub(super) products: HashMap<Vec<u8>, Address>,
    /// A number that is zero.
    pub(super) zero: Option<Address>,
    /// For gluons alone: the address of the line's current for each number of insertions, if memory is reused.
    pub(super) lines: Vec<Address>,
    /// For gluons alone: the addresses of the products of these currents.
    pub(super) line_products: Vec<Address>,
    /// For gluons alone: currents of the line by the insertions so far.
    pub(super) line_currents: HashMap<Vec<u8>, Array>,
    /// For gluons alone: currents of the second end, without propagator, by the insertions before it.
    pub(super) roots: HashMap<Vec<u8>, Array>,
    /// The addresses of long currents of the second end, by number of insertions.
    pub(super) long_roots: HashMap<usize, Address>,
    /// The factor of the vertex at the second end, relative to that of a current.
    pub(super) closing: f64,
    jamp_base: Address,
    /// Address of the JAMPs of a run. `strides` are the distances from one JAMP to the next, and from one helicity to
    /// the next.
    tile: Address,
    strides: [u32; 2],
    pub(super) evaluated: Evaluated,
    pub(super) weights: Vec<[Weight; 2]>,
}

/// The terms of a JAMP.
#[derive(Default)]
pub(super) struct Contraction {
    pub(super) pairs: Vec<Pair>,
    /// Pairs whose first array is over all legs.
    pub(super) broadcast: Vec<Pair>,
    /// Pairs of numbers.
    pub(super) numbers: Vec<Pair>,
    pub(super) splits: Vec<Split>,
}

/// The factor of the vertex of three gluons.
fn three_gluon(compiler: &Compiler, form: &ColorOrdered) -> Result<Constant> {
    match recognized(compiler, &form.three_gluon, Opcode::Vvv1) {
        Some((order, mut constant)) => {
            if order == [1, 0] {
                negate(&mut constant);
            }
            Ok(constant)
        }
        None => Err(bad("its vertex of two currents is not that of gluons")),
    }
}

impl<'a> Lowering<'a> {
    #[expect(clippy::too_many_lines, reason = "a field after the other")]
    pub(super) fn new(
        mut compiler: Compiler<'a>,
        form: &'a ColorOrdered,
        machine: Machine,
    ) -> Result<Self> {
        let process = compiler.process;
        let count = form.insertions.len();
        let mut positions = Positions::new(&compiler, form);
        let first_end = form.ends[0];
        let last = count + 1;
        let line = match &form.line {
            Some(vertex) => Some(line(&compiler, vertex, first_end)?),
            None => None,
        };
        let three_gluon = three_gluon(&compiler, form)?;
        let four_gluon = four_gluon(&compiler, &form.four_gluon)?;
        let conjugates = parity(&compiler, form, &three_gluon, four_gluon.as_ref());
        let parity = conjugates.filter(|_| {
            let mut insertions = (1..last).map(|position| positions.states(position));
            insertions.all(|states| {
                let first = states.first();
                first.is_some_and(|first| states.contains(&reversed(first)))
            })
        });
        let chiral = match (&line, &form.boson) {
            (Some(line), Some(boson)) => Chiral::new(&compiler, form, boson, &line.constant),
            _ => None,
        };
        let rows = compiler.plan.helicities.iter();
        let rows: Vec<&[i8]> = rows.map(|&h| &process.helicities[h as usize][..]).collect();
        let ends = rows
            .iter()
            .map(|row| [0, last].map(|position| positions.state(position, row)));
        let ends = ends.collect::<HashSet<_>>().len();
        // Two helicities that are each other's reverse give the same result. The one evaluated is that in which one leg
        // has its first helicity. This leg is an insertion, so that both helicities of the ends remain, or an end if
        // the ends do not have all combinations.
        let radix = positions.radix();
        let first = match ends < (radix[0] * radix[last]) as usize {
            true => 0,
            false => 1,
        };
        let same = form.boson.is_none()
            && parity.is_some()
            && conserves_parity(&compiler, form, line.as_ref())
            && closed(&rows);
        let (evaluated, chirality) = match (&chiral, &form.boson) {
            (Some(chiral), Some(_)) => {
                let live = Live::new(process, &mut positions, chiral, &rows)
                    .ok_or_else(|| bad("no helicity contributes"))?;
                let mirrored = chiral.is_mirrored() && conjugates.is_some();
                let evaluated = live
                    .evaluated(&positions, mirrored)
                    .ok_or_else(|| bad("helicities of the two chiralities do not form pairs"))?;
                (evaluated, Some(live.evaluated))
            }
            (None, Some(_)) => {
                return Err(bad("its boson does not couple to a massless quark line"));
            }
            _ => {
                let evaluated = Evaluated::new(&positions, &rows, same.then_some(first));
                (evaluated, None)
            }
        };
        let fixed = match chirality {
            Some(_) => Some(0),
            None => same.then_some(first),
        };
        let radix = positions.radix();
        let rows: Vec<&Vec<u32>> = evaluated.rows.keys().collect();
        let (outer, runs) = runs(
            &radix,
            last,
            &rows,
            fixed,
            2 * form.jamps(),
            machine.tile(form),
        );
        let jamps = form.jamps() as u32;
        let all = (1 << positions.count()) - 1;
        let ends = 1 | 1 << last;
        let fours = machine.is_core() && outer & ends == 0 && radix[0] == 2 && radix[last] == 2;
        let helicities = Helicities::new(radix, outer, runs);
        let helicities = match fours {
            true => helicities.with_second(last),
            false => helicities,
        };
        let count_all = helicities.count(all, false);
        let jamp_base = compiler.allocate(2 * jamps);
        let strides = match machine {
            Machine::Core { .. } => [2, spread(2 * jamps)],
            Machine::Gpu { .. } => [2 * count_all, 2],
        };
        let tile = compiler.allocate(match machine {
            Machine::Core { .. } => strides[1] * count_all,
            Machine::Gpu { .. } => strides[0] * jamps,
        });
        let buffer = compiler.allocate(2 * count_all);
        Ok(Lowering {
            compiler,
            helicities,
            pools: Pools {
                fours,
                buffer,
                ..Pools::default()
            },
            once: Vec::new(),
            per_run: Vec::new(),
            shuffles: Vec::new(),
            machine,
            count,
            positions,
            line,
            chirality,
            chiral,
            three_gluon,
            four_gluon,
            parity,
            currents: HashMap::default(),
            slashed: HashMap::default(),
            scratch: ReusedMemory::default(),
            products: HashMap::default(),
            zero: None,
            lines: Vec::new(),
            line_products: Vec::new(),
            line_currents: HashMap::default(),
            roots: HashMap::default(),
            long_roots: HashMap::default(),
            closing: form.closing,
            jamp_base,
            tile,
            strides,
            evaluated,
            weights: Vec::new(),
        })
    }

    /// Whether memory is reused.
    pub(super) fn reuses_memory(&self) -> bool {
        self.machine.is_core()
    }

    pub(super) fn all(&self) -> Legs {
        (1 << self.positions.count()) - 1
    }

    pub(super) fn last(&self) -> Legs {
        1 << (self.count + 1)
    }

    /// The signs of the momenta of legs.
    fn signs(&self, legs: Legs) -> Vec<i8> {
        let positions = (0..self.positions.count()).filter(|position| legs >> position & 1 == 1);
        let inputs = positions.flat_map(|position| self.positions.wavefunctions(position));
        self.compiler.sum_of(&inputs.copied().collect::<Vec<u32>>())
    }

    pub(super) fn momentum(&mut self, legs: Legs) -> Address {
        let signs = self.signs(legs);
        self.compiler.momentum(&signs)
    }

    pub(super) fn factor(
        &mut self,
        constant: &Constant,
        propagator: Option<(Legs, f64, f64)>,
    ) -> Address {
        let propagator = propagator.map(|(legs, mass, width)| {
            let signs = self.signs(legs);
            self.compiler.propagator(&signs, mass, width)
        });
        self.compiler.factor(&constant.0, &constant.1, propagator)
    }

    pub(super) fn external(&self, position: usize) -> Array {
        let line = &self.compiler.wavefunctions[self.positions.wavefunctions(position)[0] as usize];
        Array::new(
            line.instances.first().copied().unwrap_or(0),
            1 << position,
            true,
        )
    }

    /// The wavefunction of a massless end, reduced to its non-zero components.
    pub(super) fn chiral_end(&self, end: usize, spinors: Spinors) -> Array {
        let array = self.external(if end == 0 { 0 } else { self.count + 1 });
        let behind = if spinors == Spinors::Second {
            CHIRAL
        } else {
            0
        };
        Array {
            address: array.address + behind,
            ..array
        }
    }

    /// The slashed boson, without the factors of its vertices.
    pub(super) fn slashed_boson(&mut self) -> Result<Array> {
        let position = self.count + 2;
        let legs = 1 << position;
        let count = self.helicities.count(legs, true);
        let address = self.allocate(count);
        let array = Array::new(address, legs, true);
        let &[a, b] = self.positions.wavefunctions(position) else {
            let from = self.external(position).address;
            self.push_form(from, address, count, (Components::Slashed, None));
            return Ok(array);
        };
        let one = self.compiler.allocate(2);
        self.compiler
            .plan
            .constants
            .extend([(one, 1.0), (one + 1, 0.0)]);
        for (state, at) in self.positions.states(position).to_vec().iter().zip(0..) {
            let mut spinors = Vec::new();
            for (w, &helicity) in [a, b].into_iter().zip(state) {
                spinors.push(self.compiler.external(w, helicity)?);
            }
            // The incoming fermion comes first.
            spinors.sort_by_key(|(kind, _)| *kind != ExternalKind::FermionIn);
            let mut spinor = |(_, address): (ExternalKind, Address)| {
                let alone = Array {
                    address,
                    legs: 0,
                    ..array
                };
                self.helicities.operand(0, true, alone)
            };
            let pair = Pair {
                a: spinor(spinors[0]),
                b: spinor(spinors[1]),
                momenta: [0; 2],
            };
            let op = Current {
                components: Components::Slashed,
                factor: Once(one),
                pairs: Pairs(self.push_pairs(vec![pair])),
            };
            self.once.push(ArrayOp {
                out: address + ELEMENT * at,
                count: 1,
                payload: Payload::Current(op),
            });
        }
        Ok(array)
    }

    /// The propagator of a massless line with these legs.
    pub(super) fn propagator(&mut self, legs: Legs) -> Address {
        let signs = self.signs(legs);
        self.compiler.propagator(&signs, 0.0, 0.0)
    }

    pub(super) fn allocate(&mut self, elements: u32) -> Address {
        self.allocate_vectors(ELEMENT * elements)
    }

    pub(super) fn allocate_vectors(&mut self, vectors: u32) -> Address {
        self.compiler.allocate(vectors)
    }

    /// Allocates an array over these ends and any set of `insertions` insertions, in a run.
    pub(super) fn allocate_any(&mut self, ends: Legs, insertions: usize) -> Address {
        let most = self.elements_of_any(ends, insertions, false);
        self.allocate(most)
    }

    /// Maximum number of elements of an array over these ends and any set of `insertions` insertions.
    pub(super) fn elements_of_any(&self, ends: Legs, insertions: usize, whole: bool) -> u32 {
        let masks = (0..1u32 << self.count).filter(|m| m.count_ones() as usize == insertions);
        let counts = masks.map(|m| self.helicities.count(ends | m << 1, whole));
        counts.max().unwrap_or(1)
    }

    pub(super) fn push_pairs(&mut self, pairs: Vec<Pair>) -> [u32; 2] {
        let from = self.pools.pairs.len() as u32;
        self.pools.pairs.extend(pairs);
        [from, self.pools.pairs.len() as u32]
    }

    /// Adds the operation that computes the JAMP of an order.
    pub(super) fn push_jamp(&mut self, order: &[u8], contraction: Contraction) {
        let stride = Stride(self.strides[1]);
        let pairs = self.push_pairs(contraction.pairs);
        let payload = match self.chirality {
            Some(_) => Payload::ChiralContract(ChiralContract {
                stride,
                // The boson's helicities vary slowest.
                unrolled: Unrolled(self.helicities.count(1 << (self.count + 2), false)),
                pairs: Pairs(pairs),
            }),
            None => {
                let first = self.pools.splits.len() as u32;
                self.pools.splits.extend(contraction.splits);
                Payload::Contract(Contract {
                    stride,
                    unrolled: match self.pools.fours {
                        true => FOURS,
                        false => Unrolled::default(),
                    },
                    pairs: Pairs(pairs),
                    broadcast: Pairs(self.push_pairs(contraction.broadcast)),
                    numbers: Numbers {
                        pairs: Pairs(self.push_pairs(contraction.numbers)),
                        splits: [first, self.pools.splits.len() as u32],
                    },
                })
            }
        };
        self.per_run.push(ArrayOp {
            out: self.tile + self.strides[0] * number_of(order) as u32,
            count: self.helicities.count(self.all(), false),
            payload,
        });
    }

    /// Sets the shuffles, and allocates memory for them.
    pub(super) fn set_shuffles(&mut self, shuffles: Vec<Shuffle>) {
        let most = |of: fn(&Shuffle) -> u32| shuffles.iter().map(of).max().unwrap_or(0);
        let numbers = most(|shuffle| shuffle.given);
        let sums = most(|shuffle| shuffle.all - shuffle.given);
        self.pools.shuffles = shuffles;
        self.pools.numbers = self.compiler.allocate(2 * SHUFFLE_TILE * numbers);
        self.pools.sums = self.compiler.allocate(2 * SHUFFLE_UNROLL * sums);
    }

    /// Adds the products of these pairs, shuffled by number `shuffle`, to the JAMPs of these orders.
    pub(super) fn push_shuffle(
        &mut self,
        shuffle: u32,
        pairs: Vec<Pair>,
        orders: impl Iterator<Item = Vec<u8>>,
    ) {
        let from = self.pools.targets.len() as u32;
        let targets = orders.map(|order| self.strides[0] * number_of(&order) as u32);
        self.pools.targets.extend(targets);
        let op = ShuffleOp {
            pairs: self.push_pairs(pairs),
            shuffle,
            targets: [from, self.pools.targets.len() as u32],
        };
        self.shuffles.push(op);
    }

    /// Address of a constant.
    pub(super) fn constant(&mut self, x: f64) -> Address {
        self.compiler.constant(x)
    }

    pub(super) fn finish(mut self, form: &ColorOrdered) -> Plan {
        let count = self.helicities.count(self.all(), false);
        let (mut rows, mut reversed) = (Vec::new(), Vec::new());
        let none = [NO_HELICITY; 2];
        let halves = self.evaluated.rows.values().any(|[_, r]| *r != NO_HELICITY);
        for run in 0..self.helicities.runs() {
            for element in 0..count {
                let helicity_indices = self.helicities.of_element(run, element);
                let [h, r] = *self.evaluated.rows.get(&helicity_indices).unwrap_or(&none);
                rows.push(h);
                if halves {
                    reversed.push(r);
                }
            }
        }
        let (indices, runs) = self.helicities.finish();
        let mut pools = Pools {
            indices,
            ..self.pools
        };
        let ops = self.once.iter().chain(&self.per_run);
        let vectors = ops.filter(|op| op.kind() == ArrayKind::Vector);
        let sizes = vectors.filter_map(|op| Some(pools.scratch(op)?.vectors));
        pools.first_numbers = self.compiler.allocate(sizes.max().unwrap_or(0) as u32);
        let mut plan = self.compiler.plan;
        plan.jamp_base = self.jamp_base;
        pools.far = plan.vectors > FAR;
        let loops = Loops {
            runs,
            once: self.once,
            per_run: self.per_run,
            shuffles: self.shuffles,
            pools,
            helicities: count,
            jamps: self.tile,
            strides: self.strides,
            rows,
            reversed,
            weights: self.weights,
            vanishing: self.evaluated.vanishing,
            flows: form.flows.clone(),
        };
        plan.body = Body::Loops(loops);
        plan.count = Count::new(&plan);
        plan
    }
}

/// Rounds up such that vectors at this distance are in different sets of a cache.
fn spread(vectors: u32) -> u32 {
    match vectors % 64 {
        0..=2 => vectors - vectors % 64 + 2,
        _ => vectors - vectors % 64 + 66,
    }
}

/// Whether the helicities are closed under reversal of all legs.
fn closed(rows: &[&[i8]]) -> bool {
    let all: HashSet<&[i8]> = rows.iter().copied().collect();
    rows.iter().all(|row| all.contains(&reversed(row)[..]))
}

/// Chooses the outer legs, and their helicities in each run. Outer legs include ends that do not have all combinations
/// of their helicities, and a leg whose helicity is fixed to its first.
fn runs(
    radix: &[u32],
    last: usize,
    rows: &[&Vec<u32>],
    fixed: Option<usize>,
    jamps: usize,
    tile: usize,
) -> (Legs, Vec<Vec<u32>>) {
    let mut ends: Vec<(u32, u32)> = rows.iter().map(|row| (row[0], row[last])).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut outer: Legs = 0;
    let mut runs = vec![vec![0; radix.len()]];
    if (ends.len() as u32) < radix[0] * radix[last] {
        outer |= 1 | 1 << last;
        let run = |&(first, second): &(u32, u32)| {
            let mut run = vec![0; radix.len()];
            (run[0], run[last]) = (first, second);
            run
        };
        runs = ends.iter().map(run).collect();
    }
    let size = |outer: Legs| {
        let inner = (0..radix.len()).filter(|position| outer >> position & 1 == 0);
        jamps
            * inner
                .map(|position| radix[position] as usize)
                .product::<usize>()
    };
    if let Some(position) = fixed {
        outer |= 1 << position;
    }
    for position in (1..last).rev() {
        if size(outer) <= tile {
            break;
        }
        if outer >> position & 1 == 1 {
            continue;
        }
        outer |= 1 << position;
        let with = |run: &Vec<u32>| {
            let run = run.clone();
            (0..radix[position]).map(move |h| {
                let mut run = run.clone();
                run[position] = h;
                run
            })
        };
        runs = runs.iter().flat_map(with).collect();
    }
    (outer, runs)
}
