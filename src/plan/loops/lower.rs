//! From the colour-ordered form of a process to loops.

use super::arrays::{Array, Helicities, Legs, PRODUCTS};
use super::chirality::{Chiral, Chirality};
use super::helicities::{Evaluated, Live};
use super::places::{Places, reversed};
use super::{Loops, NO_HELICITY, Weight, boson, gluons, quark};
use crate::error::{Error, Result};
use crate::ops::Address;
use crate::ops::arrays::{
    Addend, ArrayKind, ArrayOp, CHIRAL, ELEMENT, Folded, Form, Pair, Place, Pools, ShuffleOp,
    Spinors, Split, Triple,
};
use crate::ops::opcode::Opcode;
use crate::ops::recognize::recognize;
use crate::plan::binding::{Binding, Coupling};
use crate::plan::compile::Compiler;
use crate::plan::{Count, Plan};
use crate::process::color_ordered::{
    ColorOrdered, OrderedVertex, number_of, orders, parts, shuffles,
};
use crate::process::{CouplingRef, ExternalKind, Process, Wavefunction};
use num_complex::Complex64;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Currents of so many rungs are kept for all of their orders; longer ones for those alone with the smallest first.
pub(super) const SHORT: usize = 4;
/// Vectors of the JAMPs of one run on a core, at most, of gluons alone and with a quark line; measured at 512z, where they
/// are some MiB.
const TILE: [usize; 2] = [100_000, 50_000];
/// Helicities of a run on a core, at least: what a run computes anew is shared by them.
const FEWEST: usize = 8;

/// Vectors that the caches next to a core hold at 512z: 1 MiB.
const FAR: u32 = 16_384;

/// What runs a plan of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A core, one operation after the other: memory is used again, so that what is alive fits its caches.
    Core,
    /// A GPU, whatever does not wait for each other at the same time: every array has memory of its own.
    Gpu {
        /// Vectors of the JAMPs of one run, at most.
        tile: usize,
    },
}

impl Machine {
    /// Vectors of the JAMPs of one run, at most.
    fn tile(self, form: &ColorOrdered) -> usize {
        match self {
            Machine::Core => TILE[usize::from(form.line.is_some())].max(2 * FEWEST * form.jamps()),
            Machine::Gpu { tile } => tile,
        }
    }
}

/// The plan of a process in its colour-ordered form for the helicities with these indices.
pub fn compile(
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
    machine: Machine,
) -> Result<Plan> {
    let Some(form) = &process.color_ordered else {
        return Err(bad("there is none"));
    };
    let used = vec![true; process.wavefunctions.len()];
    let mut compiler = Compiler::new(process, binding, helicities, used);
    compiler.externals();
    let mut lowering = Lowering::new(compiler, form, machine)?;
    lowering.rungs();
    match (lowering.line.clone(), lowering.chirality) {
        (Some(line), Some(chirality)) => {
            let boson = lowering.slashed_boson()?;
            lowering.weights = boson::weights(&mut lowering, chirality);
            boson::lower(&mut lowering, &line, chirality, boson);
        }
        (Some(line), None) => quark::lower(&mut lowering, &line),
        (None, _) => gluons::lower(&mut lowering),
    }
    Ok(lowering.finish())
}

/// Whether a process can be evaluated in its colour-ordered form: with a boson on a core alone.
pub fn can(process: &Process, binding: &Binding) -> bool {
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let Some(form) = &process.color_ordered else {
        return false;
    };
    let compiler = Compiler::new(process, binding, &all, Vec::new());
    Lowering::new(compiler, form, Machine::Core).is_ok()
}

fn bad(what: &str) -> Error {
    Error::InvalidProcess {
        what: format!("colour-ordered form: {what}"),
    }
}

/// The constant of a vertex: couplings with their coefficients.
pub(super) type Constant = (Vec<CouplingRef>, Vec<(usize, Complex64)>);

/// Memory that is used again: by where rungs begin in an order and how many they are, with those that are there.
type Scratch = HashMap<(usize, usize), (Address, Vec<u8>)>;

pub(super) struct Lowering<'a> {
    compiler: Compiler<'a>,
    pub(super) helicities: Helicities,
    pub(super) pools: Pools,
    once: Vec<ArrayOp>,
    pub(super) each: Vec<ArrayOp>,
    shuffles: Vec<ShuffleOp>,
    machine: Machine,
    /// Number of rungs.
    pub(super) count: usize,
    places: Places,
    /// The kernel of the line's currents from the first end on; none where they are vectors.
    line: Option<Line>,
    /// The chirality of a line that takes up a boson.
    pub(super) chirality: Option<Chirality>,
    /// What its vertices multiply by.
    pub(super) chiral: Option<Chiral>,
    two: Constant,
    three: Option<Constant>,
    /// What conjugation makes of the vertex of two rungs, where currents of all helicities reversed are conjugates.
    parity: Option<f64>,
    /// Currents of rungs by their order, plain.
    pub(super) currents: HashMap<Vec<u8>, Array>,
    /// The same, slashed.
    slashed: HashMap<Vec<u8>, Array>,
    /// Sums of long currents that are needed for a while: by where they begin in an order and their length, with the
    /// order that is there.
    scratch: Scratch,
    /// The same for what is computed once.
    scratch_once: Scratch,
    /// Products of currents of rungs that are kept, by the order of these, or that which has the same backwards.
    products: HashMap<Vec<u8>, Address>,
    /// The same of those in `scratch` and in `scratch_once`.
    scratch_products: [Scratch; 2],
    /// A number that is zero.
    zero: Option<Address>,
    /// Of gluons alone: where currents of the line are used again, their place for each number of rungs.
    pub(super) lines: Vec<Address>,
    /// Of gluons alone: the same for their products.
    pub(super) line_products: Vec<Address>,
    /// Of gluons alone: currents of the line by the rungs so far.
    pub(super) line_currents: HashMap<Vec<u8>, Array>,
    /// Of gluons alone: currents of the second end by the rungs before it, without propagator.
    pub(super) roots: HashMap<Vec<u8>, Array>,
    /// Where such long ones are, by the number of rungs.
    pub(super) long_roots: HashMap<usize, Address>,
    /// What the vertex at the second end has beyond that of a current.
    pub(super) closing: f64,
    jamp_base: Address,
    /// Address of the JAMPs of a run; from one to the next, and from one helicity to the next.
    tile: Address,
    strides: [u32; 2],
    pub(super) evaluated: Evaluated,
    weights: Vec<[Weight; 2]>,
}

/// What a JAMP is the sum of.
#[derive(Default)]
pub(super) struct Contraction {
    pub(super) pairs: Vec<Pair>,
    /// Pairs whose first array is over all legs.
    pub(super) wide: Vec<Pair>,
    /// The same of numbers.
    pub(super) numbers: Vec<Pair>,
    pub(super) splits: Vec<Split>,
}

/// A quark line.
#[derive(Clone)]
pub(super) struct Line {
    /// Whether the line flows in at the first end.
    pub(super) flows_in: bool,
    pub(super) constant: Constant,
    pub(super) mass: f64,
    pub(super) width: f64,
}

impl<'a> Lowering<'a> {
    fn new(mut compiler: Compiler<'a>, form: &'a ColorOrdered, machine: Machine) -> Result<Self> {
        let process = compiler.process;
        let count = form.rungs.len();
        let mut places = Places::of(&compiler, form);
        let first_end = form.ends[0];
        let last = count + 1;
        let line = match &form.line {
            Some(vertex) => Some(line(&compiler, vertex, first_end)?),
            None => None,
        };
        let two = match recognized(&compiler, &form.two, Opcode::Vvv1) {
            Some((order, mut constant)) => {
                if order == [1, 0] {
                    negate(&mut constant);
                }
                constant
            }
            None => return Err(bad("its vertex of two currents is not that of gluons")),
        };
        let three = three(&compiler, &form.three)?;
        let conjugates = parity(&compiler, form, &two, three.as_ref());
        let parity = conjugates.filter(|_| {
            let mut rungs = (1..last).map(|place| places.states(place));
            rungs.all(|states| {
                let first = states.first();
                first.is_some_and(|first| states.contains(&reversed(first)))
            })
        });
        let chiral = match (&line, &form.boson) {
            (Some(line), Some(boson)) if machine == Machine::Core => {
                Chiral::of(&compiler, form, boson, &line.constant)
            }
            _ => None,
        };
        let rows = compiler.plan.helicities.iter();
        let rows: Vec<&[i8]> = rows.map(|&h| &process.helicities[h as usize][..]).collect();
        let ends = rows
            .iter()
            .map(|row| [0, last].map(|place| places.state(place, row)));
        let ends = ends.collect::<HashSet<_>>().len();
        // Of helicities that are the same with all legs reversed, those are evaluated in which one leg has its first: a
        // rung, so that ends keep both of theirs, or an end where these have not all combinations.
        let radix = places.radix();
        let first = match ends < (radix[0] * radix[last]) as usize {
            true => 0,
            false => 1,
        };
        let same = machine == Machine::Core
            && form.boson.is_none()
            && parity.is_some()
            && conserves_parity(&compiler, form, line.as_ref())
            && closed(&rows);
        let (evaluated, chirality) = match (&chiral, &form.boson) {
            (Some(chiral), Some(_)) => {
                let live = Live::of(process, &mut places, chiral, &rows)
                    .ok_or_else(|| bad("no helicity contributes"))?;
                let alike = chiral.is_alike() && conjugates.is_some();
                let evaluated = live
                    .evaluated(&places, alike)
                    .ok_or_else(|| bad("helicities of both chiralities that are not pairs"))?;
                (evaluated, Some(live.evaluated))
            }
            (None, Some(_)) => return Err(bad("no massless quark line takes up its boson")),
            _ => {
                let evaluated = Evaluated::of(&places, &rows, same.then_some(first));
                (evaluated, None)
            }
        };
        let fixed = match chirality {
            Some(_) => Some(0),
            None => same.then_some(first),
        };
        let radix = places.radix();
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
        let all = (1 << places.count()) - 1;
        let fours = |outer: Legs| {
            let ends = 1 | 1 << (count + 1);
            outer & ends == 0 && radix[0] == 2 && radix[last] == 2
        };
        let fours = fours(outer);
        let helicities = Helicities::new(radix, outer, runs);
        let count_all = helicities.count(all, false);
        let jamp_base = compiler.allocate(2 * jamps);
        let strides = match machine {
            Machine::Core => [2, spread(2 * jamps)],
            Machine::Gpu { .. } => [2 * count_all, 2],
        };
        let tile = compiler.allocate(match machine {
            Machine::Core => strides[1] * count_all,
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
            each: Vec::new(),
            shuffles: Vec::new(),
            machine,
            count,
            places,
            line,
            chirality,
            chiral,
            two,
            three,
            parity,
            currents: HashMap::default(),
            slashed: HashMap::default(),
            scratch: HashMap::default(),
            scratch_once: HashMap::default(),
            products: HashMap::default(),
            scratch_products: Default::default(),
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

    /// Whether memory is used again.
    pub(super) fn reuses_memory(&self) -> bool {
        self.machine == Machine::Core
    }

    pub(super) fn all(&self) -> Legs {
        (1 << self.places.count()) - 1
    }

    pub(super) fn last(&self) -> Legs {
        1 << (self.count + 1)
    }

    /// The signs of the momenta of legs.
    fn signs(&self, legs: Legs) -> Vec<i8> {
        let places = (0..self.places.count()).filter(|place| legs >> place & 1 == 1);
        let inputs = places.flat_map(|place| self.places.wavefunctions(place));
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

    pub(super) fn external(&self, place: usize) -> Array {
        let line = &self.compiler.lines[self.places.wavefunctions(place)[0] as usize];
        Array {
            address: line.instances.first().copied().unwrap_or(0),
            legs: 1 << place,
            stride: ELEMENT,
            whole: true,
            products: None,
        }
    }

    /// The wavefunction of a massless end, where only these components are there.
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

    /// The boson, slashed, without what its vertices multiply it by.
    fn slashed_boson(&mut self) -> Result<Array> {
        let place = self.count + 2;
        let legs = 1 << place;
        let count = self.helicities.count(legs, true);
        let address = self.allocate(count);
        let array = Array {
            address,
            legs,
            stride: ELEMENT,
            whole: true,
            products: None,
        };
        let &[a, b] = self.places.wavefunctions(place) else {
            let from = self.external(place).address;
            self.push_form(from, address, count, (Form::Slashed, None));
            return Ok(array);
        };
        let one = self.compiler.allocate(2);
        self.compiler
            .plan
            .constants
            .extend([(one, 1.0), (one + 1, 0.0)]);
        for (state, at) in self.places.states(place).to_vec().iter().zip(0..) {
            let mut spinors = Vec::new();
            for (w, &helicity) in [a, b].into_iter().zip(state) {
                spinors.push(self.compiler.external(w, helicity)?);
            }
            // The one that flows in is first.
            spinors.sort_by_key(|(kind, _)| *kind != ExternalKind::FermionIn);
            let mut spinor = |(_, address): (ExternalKind, Address)| {
                let alone = Array {
                    address,
                    legs: 0,
                    ..array
                };
                self.helicities.place(0, true, alone)
            };
            let pair = Pair {
                a: spinor(spinors[0]),
                b: spinor(spinors[1]),
                momenta: [0; 2],
            };
            let op = ArrayOp {
                kind: ArrayKind::Current,
                out: address + ELEMENT * at,
                count: 1,
                stride: ELEMENT,
                pairs: self.push_pairs(vec![pair]),
                factors: [one; 2],
                form: Form::Slashed,
                ..ArrayOp::default()
            };
            self.once.push(op);
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

    /// Memory for arrays over one or both ends and any so many rungs in a run.
    pub(super) fn allocate_any(&mut self, ends: Legs, rungs: usize) -> Address {
        let most = self.elements_of_any(ends, rungs, false);
        self.allocate(most)
    }

    /// Elements of an array over these ends and any so many rungs, at most.
    pub(super) fn elements_of_any(&self, ends: Legs, rungs: usize, whole: bool) -> u32 {
        let masks = (0..1u32 << self.count).filter(|m| m.count_ones() as usize == rungs);
        let counts = masks.map(|m| self.helicities.count(ends | m << 1, whole));
        counts.max().unwrap_or(1)
    }

    pub(super) fn push_pairs(&mut self, pairs: Vec<Pair>) -> [u32; 2] {
        let from = self.pools.pairs.len() as u32;
        self.pools.pairs.extend(pairs);
        [from, self.pools.pairs.len() as u32]
    }

    /// Currents of rungs that are kept.
    fn rungs(&mut self) {
        for rung in 0..self.count {
            let array = self.external(rung + 1);
            self.currents.insert(vec![rung as u8], array);
        }
        let mut sets: Vec<u32> = (1..1u32 << self.count).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        for set in sets {
            let rungs: Vec<u8> = (0..self.count as u8)
                .filter(|r| set >> r & 1 == 1)
                .collect();
            let size = rungs.len();
            // Of long ones other orders are made where they are needed.
            if size > 1 {
                for order in orders(size) {
                    let order: Vec<u8> = order.iter().map(|&i| rungs[usize::from(i)]).collect();
                    if order[0] == rungs[0] {
                        self.current(&order);
                    } else if size <= SHORT && !(self.chirality.is_some() && size == self.count) {
                        self.short_sum(&order);
                    }
                }
            }
        }
        if self.chirality.is_some() {
            for size in 1..=self.count.min(SHORT) {
                for order in parts(self.count, size) {
                    if order[0] <= order[size - 1] {
                        self.slash(&order);
                    }
                }
            }
        } else if self.line.is_some() {
            let mut orders: Vec<Vec<u8>> = self.currents.keys().cloned().collect();
            orders.retain(|order| order.len() <= SHORT);
            orders.sort();
            for order in orders {
                self.slash(&order);
            }
        }
    }

    /// A current of rungs with the smallest first, from vertices.
    fn current(&mut self, order: &[u8]) {
        let legs = rungs(order);
        let elements = self.helicities.count(legs, true);
        let out = self.allocate(elements);
        let folded = self.folded(Folded::Both);
        let of = &mut |lowering: &mut Self, from, to, products| match products {
            true => lowering.rung_with_products(order, from, to, true),
            false => lowering.rung_once(order, from, to),
        };
        let op = self.vector_op(legs, true, of, order.len(), folded);
        // -1 for each leg, and what conjugation makes of the vertices, of which there is one less.
        let sign = |parity: f64| match order.len().is_multiple_of(2) {
            true => parity,
            false => -1.0,
        };
        let mirror = self.parity.map_or(0, |parity| sign(parity) as i8);
        let factors = self.factors(Some(legs), 1.0);
        // Of gluons alone the second end meets currents of all rungs.
        let longest = self.count - usize::from(self.line.is_some());
        let needed = folded != Folded::Nothing && order.len() <= longest;
        let products = needed.then(|| self.allocate_vectors(PRODUCTS * elements));
        let constants = self.constants(products.is_some());
        self.once.push(ArrayOp {
            out,
            factors,
            mirror,
            products,
            constants,
            ..op
        });
        let array = Array {
            address: out,
            legs,
            stride: ELEMENT,
            whole: true,
            products,
        };
        self.currents.insert(order.to_vec(), array);
    }

    /// Which terms of triples come with pairs: these, where a core computes them.
    pub(super) fn folded(&self, folded: Folded) -> Folded {
        match self.machine == Machine::Core && self.three.is_some() {
            true => folded,
            false => Folded::Nothing,
        }
    }

    /// The constants of pairs and of triples, where products are computed.
    pub(super) fn constants(&mut self, products: bool) -> [Address; 2] {
        match products {
            true => self.factors(None, 1.0),
            false => [0; 2],
        }
    }

    /// The products of an array, or zero where it has none.
    fn products_of(&mut self, legs: Legs, whole: bool, array: Option<Array>) -> Place {
        let products = array.and_then(|array| Some((array, array.products?)));
        let products = match products {
            Some((array, products)) => Array {
                address: products,
                stride: PRODUCTS,
                ..array
            },
            None => Array {
                address: self.zero(),
                legs: 0,
                stride: PRODUCTS,
                whole: true,
                products: None,
            },
        };
        self.helicities.place(legs, whole, products)
    }

    fn zero(&mut self) -> Address {
        if let Some(zero) = self.zero {
            return zero;
        }
        let zero = self.allocate(1);
        self.once.insert(
            0,
            ArrayOp {
                kind: ArrayKind::Sum,
                out: zero,
                count: 1,
                stride: ELEMENT,
                ..ArrayOp::default()
            },
        );
        self.zero = Some(zero);
        zero
    }

    /// Pairs and triples of neighbours among so many things, whose arrays `of` gives from their places, with products or
    /// not.
    pub(super) fn vector_op(
        &mut self,
        legs: Legs,
        whole: bool,
        of: &mut dyn FnMut(&mut Self, usize, usize, bool) -> Array,
        size: usize,
        folded: Folded,
    ) -> ArrayOp {
        let (mut pairs, mut triples) = (Vec::new(), Vec::new());
        let mut products = Vec::new();
        // Of two things there is nothing to fold.
        let folded = if size > 2 { folded } else { Folded::Nothing };
        let (first, both) = (folded != Folded::Nothing, folded == Folded::Both);
        for i in 1..size {
            let (a, b) = (of(self, 0, i, first), of(self, i, size, both));
            pairs.push(Pair {
                a: self.helicities.place(legs, whole, a),
                b: self.helicities.place(legs, whole, b),
                momenta: [self.momentum(a.legs), self.momentum(b.legs)],
            });
            if first {
                let of_first = self.products_of(legs, whole, Some(a));
                products.push([of_first, self.products_of(legs, whole, both.then_some(b))]);
            }
            for j in i + 1..size {
                if self.three.is_none() {
                    continue;
                }
                let (b, c) = (of(self, i, j, false), of(self, j, size, false));
                let place = |h: &mut Helicities, array| h.place(legs, whole, array);
                triples.push(Triple {
                    places: [a, b, c].map(|array| place(&mut self.helicities, array)),
                });
            }
        }
        let from = self.pools.triples.len() as u32;
        self.pools.triples.extend(triples);
        let first = self.pools.products.len() as u32;
        self.pools.products.extend(products);
        ArrayOp {
            kind: ArrayKind::Vector,
            count: self.helicities.count(legs, whole),
            stride: ELEMENT,
            pairs: self.push_pairs(pairs),
            triples: [from, self.pools.triples.len() as u32],
            folded,
            products_of: [first, self.pools.products.len() as u32],
            ..ArrayOp::default()
        }
    }

    /// A current of rungs with its products, where terms of triples come with pairs: for a current that is computed once,
    /// or within a run.
    pub(super) fn rung_with_products(
        &mut self,
        order: &[u8],
        from: usize,
        to: usize,
        once: bool,
    ) -> Array {
        let of = |lowering: &mut Self, from, to| match once {
            true => lowering.rung_once(order, from, to),
            false => lowering.rung(order, from, to, Form::Plain),
        };
        let array = of(self, from, to);
        let part = &order[from..to];
        if self.folded(Folded::Both) == Folded::Nothing
            || part.len() == 1
            || array.products.is_some()
        {
            return array;
        }
        let count = self.helicities.count(array.legs, array.whole);
        let kept = self.currents.contains_key(part);
        // An even number of rungs has the same products backwards, an odd one the opposite.
        let key = match part.len().is_multiple_of(2) {
            true => part.to_vec().min(part.iter().rev().copied().collect()),
            false => part.to_vec(),
        };
        let place = (from, part.len());
        let known = match kept {
            true => self.products.get(&key).map(|&products| (products, true)),
            false => {
                let known = self.scratch_products[usize::from(once)].get(&place);
                known.map(|(products, there)| (*products, there == part))
            }
        };
        let (products, there) = known.unwrap_or_else(|| {
            let elements = match kept {
                true => count,
                false => self.elements_of_any(0, part.len(), once),
            };
            (self.allocate_vectors(PRODUCTS * elements), false)
        });
        let with_products = Array {
            products: Some(products),
            ..array
        };
        if there {
            return with_products;
        }
        let mut pairs = Vec::new();
        for at in from + 1..to {
            let (a, b) = (of(self, from, at), of(self, at, to));
            // What is computed once takes nothing of a run.
            debug_assert!(!array.whole || a.whole && b.whole, "{order:?}");
            pairs.push(Pair {
                a: self.helicities.place(array.legs, array.whole, a),
                b: self.helicities.place(array.legs, array.whole, b),
                momenta: [0; 2],
            });
        }
        let op = ArrayOp {
            kind: ArrayKind::Products,
            out: products,
            count,
            stride: PRODUCTS,
            pairs: self.push_pairs(pairs),
            scaled: true,
            constants: self.constants(true),
            ..ArrayOp::default()
        };
        match array.whole {
            true => self.once.push(op),
            false => self.each.push(op),
        }
        if kept {
            self.products.insert(key, products);
        } else {
            let scratch = &mut self.scratch_products[usize::from(once)];
            scratch.insert(place, (products, part.to_vec()));
        }
        with_products
    }

    /// The operation that adds up the currents from which one follows.
    fn sum_op(&mut self, order: &[u8], whole: bool, out: Address, form: Form) -> ArrayOp {
        let (all, minus) = match self.currents.contains_key(order) {
            true => (vec![order.to_vec()], false),
            false => shuffles(order),
        };
        let from = self.pools.addends.len() as u32;
        for order in all {
            let array = self.currents[&order];
            let shift = if whole {
                0
            } else {
                self.helicities.shift(array)
            };
            self.pools.addends.push(Addend {
                address: array.address,
                shift,
                minus,
            });
        }
        let to = self.pools.addends.len() as u32;
        let factor = match form {
            Form::Slashed => self.factor_of_slashed(),
            Form::Plain | Form::Lower => None,
        };
        ArrayOp {
            kind: ArrayKind::Sum,
            scaled: factor.is_some(),
            factors: [factor.unwrap_or(0); 2],
            out,
            count: self.helicities.count(rungs(order), whole),
            stride: ELEMENT,
            addends: [from, to],
            form,
            ..ArrayOp::default()
        }
    }

    fn short_sum(&mut self, order: &[u8]) {
        let array = self.sum_once(order, Form::Plain);
        self.currents.insert(order.to_vec(), array);
    }

    fn slash(&mut self, order: &[u8]) {
        let array = self.sum_once(order, Form::Slashed);
        self.slashed.insert(order.to_vec(), array);
    }

    /// The current of an order, once an event.
    fn sum_once(&mut self, order: &[u8], form: Form) -> Array {
        let legs = rungs(order);
        let count = self.helicities.count(legs, true);
        let address = self.allocate(count);
        let op = self.sum_op(order, true, address, form);
        self.once.push(op);
        Array {
            address,
            legs,
            stride: ELEMENT,
            whole: true,
            products: None,
        }
    }

    /// What slashed currents of rungs are multiplied by already.
    fn factor_of_slashed(&mut self) -> Option<Address> {
        let line = self.line.clone().filter(|_| self.chirality.is_some())?;
        Some(self.factor(&line.constant, None))
    }

    /// A form of an array, times a factor if there is one, once an event.
    pub(super) fn push_form(
        &mut self,
        from: Address,
        out: Address,
        count: u32,
        (form, factor): (Form, Option<Address>),
    ) {
        let first = self.pools.addends.len() as u32;
        self.pools.addends.push(Addend {
            address: from,
            shift: 0,
            minus: false,
        });
        self.once.push(ArrayOp {
            kind: ArrayKind::Sum,
            out,
            count,
            stride: ELEMENT,
            addends: [first, first + 1],
            form,
            scaled: factor.is_some(),
            factors: [factor.unwrap_or(0); 2],
            ..ArrayOp::default()
        });
    }

    /// A current of rungs for a current that is computed once.
    fn rung_once(&mut self, order: &[u8], from: usize, to: usize) -> Array {
        let order = &order[from..to];
        if let Some(&array) = self.currents.get(order) {
            return array;
        }
        let legs = rungs(order);
        if !self.reuses_memory() {
            if let Some(&array) = self.currents.get(&backwards(order)) {
                return array;
            }
            self.short_sum(order);
            return self.currents[order];
        }
        let key = (from, order.len());
        let count = self.helicities.count(legs, true);
        let (address, there) = match self.scratch_once.get(&key) {
            Some((address, there)) => (*address, there.clone()),
            None => (self.allocate(count), Vec::new()),
        };
        if there != order {
            let op = self.sum_op(order, true, address, Form::Plain);
            self.once.push(op);
            self.scratch_once.insert(key, (address, order.to_vec()));
        }
        Array {
            address,
            legs,
            stride: ELEMENT,
            whole: true,
            products: None,
        }
    }

    /// The same, slashed, and whether with the other sign: as many rungs backwards have it where their number is even.
    pub(super) fn signed_rung(&mut self, order: &[u8], from: usize, to: usize) -> (Array, bool) {
        let part = &order[from..to];
        let known = |order: &[u8]| self.slashed.get(order).copied();
        match part {
            [first, .., last] if first > last => {
                let backwards: Vec<u8> = part.iter().rev().copied().collect();
                match known(&backwards) {
                    Some(array) => (array, part.len().is_multiple_of(2)),
                    None => (self.rung(order, from, to, Form::Slashed), false),
                }
            }
            _ => (self.rung(order, from, to, Form::Slashed), false),
        }
    }

    /// A current of the rungs from one place of an order on, within a run.
    pub(super) fn rung(&mut self, order: &[u8], from: usize, to: usize, form: Form) -> Array {
        let part = &order[from..to];
        let kept = match form {
            Form::Slashed => &self.slashed,
            _ => &self.currents,
        };
        if let Some(&array) = kept.get(part) {
            return array;
        }
        let legs = rungs(part);
        if !self.reuses_memory() {
            if let Some(&array) = kept.get(&backwards(part)) {
                return array;
            }
            let count = self.helicities.count(legs, false);
            let address = self.allocate(count);
            let op = self.sum_op(part, false, address, form);
            self.each.push(op);
            let array = Array {
                address,
                legs,
                stride: ELEMENT,
                whole: false,
                products: None,
            };
            let kept = match form {
                Form::Slashed => &mut self.slashed,
                _ => &mut self.currents,
            };
            kept.insert(part.to_vec(), array);
            return array;
        }
        let key = (from, part.len());
        let (address, there) = match self.scratch.get(&key) {
            Some((address, there)) => (*address, there.clone()),
            None => (self.allocate_any(0, part.len()), Vec::new()),
        };
        if there != part {
            let op = self.sum_op(part, false, address, form);
            self.each.push(op);
            self.scratch.insert(key, (address, part.to_vec()));
        }
        Array {
            address,
            legs,
            stride: ELEMENT,
            whole: false,
            products: None,
        }
    }

    /// The factors of pairs and triples of rungs' currents, with the propagator of the legs below.
    pub(super) fn factors(&mut self, legs: Option<Legs>, scale: f64) -> [Address; 2] {
        let propagator = legs.map(|legs| (legs, 0.0, 0.0));
        let scaled = |constant: &Constant| {
            let terms = constant.1.iter().map(|&(i, c)| (i, c * scale));
            (constant.0.clone(), terms.collect())
        };
        let (two, three) = (scaled(&self.two), self.three.as_ref().map(scaled));
        let factor = self.factor(&two, propagator);
        let of_triples = three.map_or(factor, |three| self.factor(&three, propagator));
        [factor, of_triples]
    }

    /// The operation that makes the JAMP of an order.
    pub(super) fn push_jamp(&mut self, order: &[u8], made: Contraction) {
        let first = self.pools.splits.len() as u32;
        self.pools.splits.extend(made.splits);
        let op = ArrayOp {
            kind: ArrayKind::Contract,
            out: self.tile + self.strides[0] * number_of(order) as u32,
            count: self.helicities.count(self.all(), false),
            stride: self.strides[1],
            pairs: self.push_pairs(made.pairs),
            wide: self.push_pairs(made.wide),
            numbers: self.push_pairs(made.numbers),
            splits: [first, self.pools.splits.len() as u32],
            // The boson's helicities vary slowest.
            alike: match self.chirality {
                Some(_) => self.helicities.count(1 << (self.count + 2), false),
                None => 1,
            },
            spinors: match self.chirality {
                Some(chirality) => chirality.spinors(true),
                None => Spinors::Dirac,
            },
            ..ArrayOp::default()
        };
        self.each.push(op);
    }

    /// Memory for so many numbers of each helicity of a run that are shuffled, and so many sums of them; gives the first.
    pub(super) fn allocate_numbers(&mut self, numbers: u32, sums: u32) -> Address {
        self.pools.numbers_stride = spread(2 * numbers);
        self.pools.sums = self.compiler.allocate(2 * sums);
        let count = self.helicities.count(self.all(), false);
        self.compiler.allocate(count * self.pools.numbers_stride)
    }

    /// Adds shuffled numbers to the JAMPs of these orders.
    pub(super) fn push_shuffle(
        &mut self,
        shuffle: u32,
        numbers: Address,
        orders: impl Iterator<Item = Vec<u8>>,
    ) {
        let from = self.pools.targets.len() as u32;
        let targets = orders.map(|order| self.strides[0] * number_of(&order) as u32);
        self.pools.targets.extend(targets);
        self.shuffles.push(ShuffleOp {
            shuffle,
            numbers,
            targets: [from, self.pools.targets.len() as u32],
        });
    }

    /// Address of a constant.
    pub(super) fn constant(&mut self, x: f64) -> Address {
        self.compiler.constant(x)
    }

    fn finish(self) -> Plan {
        let count = self.helicities.count(self.all(), false);
        let (mut rows, mut reversed) = (Vec::new(), Vec::new());
        let none = [NO_HELICITY; 2];
        let halves = self.evaluated.rows.values().any(|[_, r]| *r != NO_HELICITY);
        for run in 0..self.helicities.runs() {
            for element in 0..count {
                let digits = self.helicities.of_element(run, element);
                let [h, r] = *self.evaluated.rows.get(&digits).unwrap_or(&none);
                rows.push(h);
                if halves {
                    reversed.push(r);
                }
            }
        }
        let mut plan = self.compiler.plan;
        plan.tables = vec![Vec::new(); plan.helicities.len()];
        plan.jamp_base = self.jamp_base;
        let (indices, runs) = self.helicities.finish();
        let form = self.compiler.process.color_ordered.as_ref();
        let loops = Loops {
            runs,
            once: self.once,
            each: self.each,
            shuffles: self.shuffles,
            pools: Pools {
                indices,
                far: plan.vectors > FAR,
                ..self.pools
            },
            helicities: count,
            jamps: self.tile,
            strides: self.strides,
            rows,
            reversed,
            weights: self.weights,
            vanishing: self.evaluated.vanishing,
            flows: form.map(|form| form.flows.clone()).unwrap_or_default(),
        };
        plan.groups = loops.order().map(|h| vec![h]).collect();
        plan.loops = Some(loops);
        plan.count = Count::of(&plan);
        plan
    }
}

/// The order whose current is the same: an odd number of rungs backwards. (Of an even number it has the other sign.)
fn backwards(order: &[u8]) -> Vec<u8> {
    match order.len() % 2 {
        1 => order.iter().rev().copied().collect(),
        _ => order.to_vec(),
    }
}

/// The places of rungs.
pub(super) fn rungs(order: &[u8]) -> Legs {
    order.iter().map(|r| 2u32 << r).sum()
}

/// So many vectors or a few more, such that what lies so far apart is in different sets of a cache.
fn spread(vectors: u32) -> u32 {
    match vectors % 64 {
        0..=2 => vectors - vectors % 64 + 2,
        _ => vectors - vectors % 64 + 66,
    }
}

/// Whether all these helicities are there with all of them reversed.
fn closed(rows: &[&[i8]]) -> bool {
    let all: HashSet<&[i8]> = rows.iter().copied().collect();
    rows.iter().all(|row| all.contains(&reversed(row)[..]))
}

/// The outer legs, and their helicities in each run. Ends that do not have all combinations of their helicities are
/// among them, and a leg whose helicity is fixed to its first.
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
        let inner = (0..radix.len()).filter(|place| outer >> place & 1 == 0);
        jamps * inner.map(|place| radix[place] as usize).product::<usize>()
    };
    if let Some(place) = fixed {
        outer |= 1 << place;
    }
    for place in (1..last).rev() {
        if size(outer) <= tile {
            break;
        }
        if outer >> place & 1 == 1 {
            continue;
        }
        outer |= 1 << place;
        let with = |run: &Vec<u32>| {
            let run = run.clone();
            (0..radix[place]).map(move |h| {
                let mut run = run.clone();
                run[place] = h;
                run
            })
        };
        runs = runs.iter().flat_map(with).collect();
    }
    (outer, runs)
}

/// The order of its neighbours in which a kernel takes them, and its constant, if a vertex is that kernel's.
fn recognized(
    compiler: &Compiler,
    vertex: &OrderedVertex,
    opcode: Opcode,
) -> Option<(Vec<u8>, Constant)> {
    let routine = &compiler.process.routines[vertex.routine as usize];
    let massless = compiler.binding.value(vertex.mass) == 0.0;
    let found = recognize(routine, massless)?;
    let [factor] = &found.factors[..] else {
        return None;
    };
    let order = found.input_permutation.iter();
    let order = order.map(|&argument| vertex.inputs[argument]).collect();
    let color = Complex64::new(vertex.factor.0, vertex.factor.1);
    let terms = factor.iter().map(|&(i, c)| (i, c * color)).collect();
    (found.opcode == opcode).then_some((order, (vertex.couplings.clone(), terms)))
}

fn negate(constant: &mut Constant) {
    constant.1.iter_mut().for_each(|(_, c)| *c = -*c);
}

fn line(compiler: &Compiler, vertex: &OrderedVertex, first: u32) -> Result<Line> {
    let flows_in = match &compiler.process.wavefunctions[first as usize] {
        Wavefunction::External(e) => e.kind == ExternalKind::FermionIn,
        Wavefunction::Internal(_) => false,
    };
    let opcode = if flows_in { Opcode::Ffv2 } else { Opcode::Ffv1 };
    match recognized(compiler, vertex, opcode) {
        Some((order, constant)) if order == [0, 1] => Ok(Line {
            flows_in,
            constant,
            mass: compiler.binding.value(vertex.mass),
            width: compiler.binding.value(vertex.width),
        }),
        _ => Err(bad("its line is not that of a quark and gluons")),
    }
}

/// The constant of `2 B (A C) - A (B C) - C (A B)` for neighbours A, B and C.
fn three(compiler: &Compiler, vertices: &[OrderedVertex]) -> Result<Option<Constant>> {
    let none = || bad("its vertex of three currents is not that of gluons");
    // For each neighbour that gives the direction the constant of the product of the others.
    let mut sums: Vec<HashMap<CouplingRef, Complex64>> = vec![HashMap::default(); 3];
    for vertex in vertices {
        let (order, (couplings, terms)) =
            recognized(compiler, vertex, Opcode::VvvvDiff1).ok_or_else(none)?;
        for (i, c) in terms {
            // Of V2, V3 and V4 it is V3 (V2 V4) - V4 (V2 V3).
            for (which, sign) in [(1, 1.0), (2, -1.0)] {
                let sum = &mut sums[usize::from(order[which])];
                *sum.entry(couplings[i]).or_default() += c * sign;
            }
        }
    }
    let mut found: Constant = Default::default();
    let mut couplings: Vec<CouplingRef> = sums.iter().flat_map(|s| s.keys().copied()).collect();
    couplings.sort_by_key(|c| (c.coupling, c.negative));
    couplings.dedup();
    for coupling in couplings {
        let [a, b, c] =
            [0, 1, 2].map(|i: usize| sums[i].get(&coupling).copied().unwrap_or_default());
        let middle = b / 2.0;
        let tiny = 1e-9 * middle.norm();
        if (a + middle).norm() > tiny || (c + middle).norm() > tiny {
            return Err(none());
        }
        if middle.norm() > 0.0 {
            found.1.push((found.0.len(), middle));
            found.0.push(coupling);
        }
    }
    Ok((!found.0.is_empty()).then_some(found))
}

/// What conjugation makes of the constant of two rungs, if currents of rungs with all helicities reversed are conjugates
/// up to a sign: rungs are massless vectors, and constants are real or imaginary (see
/// [`crate::plan::recursion`]).
fn parity(
    compiler: &Compiler,
    form: &ColorOrdered,
    two: &Constant,
    three: Option<&Constant>,
) -> Option<f64> {
    let vector = |&w: &u32| {
        let vector = [ExternalKind::Vector];
        is_massless(compiler.process, compiler.binding, w, &vector)
    };
    if !form.rungs.iter().all(vector) {
        return None;
    }
    let massless = |vertex: &OrderedVertex| {
        let of = |quantity| compiler.binding.value(quantity) == 0.0;
        of(vertex.mass) && of(vertex.width)
    };
    if !massless(&form.two) || !form.three.iter().all(massless) {
        return None;
    }
    let two = conjugated(compiler.binding, two)?;
    let three = three.map_or(Some(1.0), |three| conjugated(compiler.binding, three))?;
    (three == 1.0).then_some(two)
}

/// Whether an external wavefunction is one of these kinds, without mass.
pub(super) fn is_massless(
    process: &Process,
    binding: &Binding,
    wavefunction: u32,
    kinds: &[ExternalKind],
) -> bool {
    match &process.wavefunctions[wavefunction as usize] {
        Wavefunction::External(e) => kinds.contains(&e.kind) && binding.value(e.mass) == 0.0,
        Wavefunction::Internal(_) => false,
    }
}

/// Whether JAMPs with all helicities reversed are conjugates of each other, up to a phase that all of them share, where
/// currents of rungs are: the ends are massless, and there is no width. (A massless spinor of the other helicity is the
/// charge conjugate one up to a phase.)
fn conserves_parity(compiler: &Compiler, form: &ColorOrdered, line: Option<&Line>) -> bool {
    use ExternalKind::{FermionIn, FermionOut, Vector};
    let (process, binding) = (compiler.process, compiler.binding);
    let kinds: &[ExternalKind] = match line {
        Some(_) => &[FermionIn, FermionOut],
        None => &[Vector],
    };
    let of_line = line.is_none_or(|line| {
        let massless = line.mass == 0.0 && line.width == 0.0;
        massless && conjugated(compiler.binding, &line.constant).is_some()
    });
    let ends = form.ends.iter();
    of_line
        && compiler.process.beam_weights.is_empty()
        && ends
            .copied()
            .all(|end| is_massless(process, binding, end, kinds))
}

/// 1 where a constant is real for every event, -1 where it is imaginary.
pub(super) fn conjugated(binding: &Binding, constant: &Constant) -> Option<f64> {
    let mut signs = Vec::new();
    for (i, c) in &constant.1 {
        let coupling = constant.0[*i];
        let Coupling::Polynomial(values) = &binding.couplings[coupling.coupling as usize] else {
            return None;
        };
        for v in values.iter().filter(|v| v.norm() > 0.0) {
            let z = v * c;
            let tiny = 1e-12 * z.norm();
            signs.push(match (z.im.abs() <= tiny, z.re.abs() <= tiny) {
                (true, _) => 1.0,
                (false, true) => -1.0,
                (false, false) => return None,
            });
        }
    }
    let first = *signs.first()?;
    signs.iter().all(|s| *s == first).then_some(first)
}
