//! From the colour-ordered form of a process to loops.

use super::arrays::{Array, Helicities, Legs};
use super::{Loops, NO_HELICITY};
use crate::error::{Error, Result};
use crate::ops::Address;
use crate::ops::arrays::{Addend, ArrayKind, ArrayOp, ELEMENT, Form, Pair, Pools, Triple};
use crate::ops::opcode::Opcode;
use crate::ops::recognize::recognize;
use crate::plan::binding::{Binding, Coupling};
use crate::plan::compile::{Compiler, value};
use crate::plan::{Count, Plan};
use crate::process::color_ordered::{ColorOrdered, OrderedVertex, number_of, orders, shuffles};
use crate::process::{CouplingRef, ExternalKind, Process, Wavefunction};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Currents of so many rungs are kept for all of their orders; longer ones for those alone with the smallest first.
const SHORT: usize = 4;
/// Vectors of the JAMPs of one run: about what the caches of a core hold.
const TILE: usize = 1 << 17;

/// The plan of a process in its colour-ordered form for the helicities with these indices.
pub fn compile(process: &Process, binding: &Binding, helicities: &[u32]) -> Result<Plan> {
    let Some(form) = &process.color_ordered else {
        return Err(bad("there is none"));
    };
    let used = vec![true; process.wavefunctions.len()];
    let mut compiler = Compiler::new(process, binding, helicities, used);
    compiler.externals();
    let mut lowering = Lowering::new(compiler, form)?;
    lowering.rungs()?;
    lowering.ends();
    lowering.walk(&mut Vec::new());
    Ok(lowering.finish())
}

fn bad(what: &str) -> Error {
    Error::InvalidProcess {
        what: format!("colour-ordered form: {what}"),
    }
}

/// The constant of a vertex: couplings with their coefficients.
type Constant = (Vec<CouplingRef>, Vec<(usize, Complex64)>);

struct Lowering<'a> {
    compiler: Compiler<'a>,
    helicities: Helicities,
    pools: Pools,
    once: Vec<ArrayOp>,
    each: Vec<ArrayOp>,
    /// Number of rungs.
    count: usize,
    /// For each place its external wavefunction.
    externals: Vec<u32>,
    /// The kernel of the line's currents from the first end on; none where they are vectors.
    line: Option<Line>,
    two: Constant,
    three: Option<Constant>,
    /// What conjugation makes of the vertex of two rungs, where currents of all helicities reversed are conjugates.
    parity: Option<f64>,
    /// Currents of rungs by their order, plain.
    currents: HashMap<Vec<u8>, Array>,
    /// The same, slashed.
    slashed: HashMap<Vec<u8>, Array>,
    /// Sums of long currents that are needed for a while: by where they begin in an order and their length, with the
    /// order that is there.
    scratch: HashMap<(usize, usize), (Address, Vec<u8>)>,
    /// The same for what is computed once.
    scratch_once: HashMap<(usize, usize), (Address, Vec<u8>)>,
    /// Currents of the line, for each number of rungs.
    lines: Vec<Address>,
    /// Vectors of the line's currents and the second end, for each number of rungs.
    vectors: Vec<Address>,
    /// Products of these with long currents, for each number of rungs.
    products: Vec<Address>,
    /// Currents of the second end by the rungs before it.
    roots: HashMap<Vec<u8>, Array>,
    /// Where such long ones are, by the number of rungs.
    long_roots: HashMap<usize, Address>,
    jamp_base: Address,
    stride: u32,
}

#[derive(Clone)]
struct Line {
    /// Whether the line flows in at the first end.
    flows_in: bool,
    constant: Constant,
    mass: f64,
    width: f64,
}

impl<'a> Lowering<'a> {
    fn new(mut compiler: Compiler<'a>, form: &'a ColorOrdered) -> Result<Self> {
        let process = compiler.process;
        let count = form.rungs.len();
        let mut externals = vec![form.ends[0]];
        externals.extend(&form.rungs);
        externals.push(form.ends[1]);
        let leg = |w: u32| match process.wavefunctions[w as usize] {
            Wavefunction::External(e) => e.leg as usize,
            Wavefunction::Internal(_) => 0,
        };
        let legs: Vec<usize> = externals.iter().map(|&w| leg(w)).collect();
        let of_row = |digits: &Vec<u32>| legs.iter().map(|&leg| digits[leg]).collect::<Vec<u32>>();
        let rows: Vec<Vec<u32>> = compiler.digits.iter().map(of_row).collect();
        let radix: Vec<u32> = (0..legs.len())
            .map(|place| rows.iter().map(|row| row[place] + 1).max().unwrap_or(1))
            .collect();
        let (outer, runs) = runs(&radix, &rows, 2 * form.jamps());
        let line = match &form.line {
            Some(vertex) => Some(line(&compiler, vertex, externals[0])?),
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
        let parity = parity(&compiler, form, &two, three.as_ref());
        let jamps = form.jamps() as u32;
        let all = (1 << legs.len()) - 1;
        let fours = |outer: Legs| {
            let ends = 1 | 1 << (count + 1);
            outer & ends == 0 && radix[0] == 2 && radix[count + 1] == 2
        };
        let fours = fours(outer);
        let helicities = Helicities::new(radix, outer, runs);
        let stride = 2 * jamps;
        let jamp_base = compiler.allocate(helicities.count(all, false) * stride);
        Ok(Lowering {
            compiler,
            helicities,
            pools: Pools {
                fours,
                ..Pools::default()
            },
            once: Vec::new(),
            each: Vec::new(),
            count,
            externals,
            line,
            two,
            three,
            parity,
            currents: HashMap::default(),
            slashed: HashMap::default(),
            scratch: HashMap::default(),
            scratch_once: HashMap::default(),
            lines: Vec::new(),
            vectors: Vec::new(),
            products: Vec::new(),
            roots: HashMap::default(),
            long_roots: HashMap::default(),
            jamp_base,
            stride,
        })
    }

    fn all(&self) -> Legs {
        (1 << (self.count + 2)) - 1
    }

    fn last(&self) -> Legs {
        1 << (self.count + 1)
    }

    /// The signs of the momenta of legs.
    fn signs(&self, legs: Legs) -> Vec<i8> {
        let places = (0..self.externals.len()).filter(|place| legs >> place & 1 == 1);
        let inputs: Vec<u32> = places.map(|place| self.externals[place]).collect();
        self.compiler.sum_of(&inputs)
    }

    fn momentum(&mut self, legs: Legs) -> Address {
        let signs = self.signs(legs);
        self.compiler.momentum(&signs)
    }

    fn factor(&mut self, constant: &Constant, propagator: Option<(Legs, f64, f64)>) -> Address {
        let propagator = propagator.map(|(legs, mass, width)| {
            let signs = self.signs(legs);
            self.compiler.propagator(&signs, mass, width)
        });
        self.compiler.factor(&constant.0, &constant.1, propagator)
    }

    fn external(&self, place: usize) -> Array {
        let line = &self.compiler.lines[self.externals[place] as usize];
        Array {
            address: line.instances.first().copied().unwrap_or(0),
            legs: 1 << place,
            whole: true,
        }
    }

    fn allocate(&mut self, elements: u32) -> Address {
        self.compiler.allocate(ELEMENT * elements)
    }

    /// Memory for arrays over one or both ends and any so many rungs in a run.
    fn allocate_any(&mut self, ends: Legs, rungs: usize) -> Address {
        let masks = (0..1u32 << self.count).filter(|m| m.count_ones() as usize == rungs);
        let counts = masks.map(|m| self.helicities.count(ends | m << 1, false));
        let most = counts.max().unwrap_or(1);
        self.allocate(most)
    }

    fn push_pairs(&mut self, pairs: Vec<Pair>) -> [u32; 2] {
        let from = self.pools.pairs.len() as u32;
        self.pools.pairs.extend(pairs);
        [from, self.pools.pairs.len() as u32]
    }

    /// Currents of rungs that are kept.
    fn rungs(&mut self) -> Result<()> {
        for rung in 0..self.count {
            let array = self.external(rung + 1);
            self.currents.insert(vec![rung as u8], array);
        }
        let mut sets: Vec<u32> = (1..1u32 << self.count).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        for set in sets {
            let rungs: Vec<u8> = (0..self.count as u8).filter(|r| set >> r & 1 == 1).collect();
            let size = rungs.len();
            // The longest are needed for no more than one order of the line, as are those that no sum asks for.
            if size > 1 {
                for order in orders(size) {
                    let order: Vec<u8> = order.iter().map(|&i| rungs[usize::from(i)]).collect();
                    if order[0] == rungs[0] {
                        self.current(&order);
                    } else if size <= SHORT {
                        self.short_sum(&order);
                    }
                }
            }
        }
        if self.line.is_some() {
            let mut orders: Vec<Vec<u8>> = self.currents.keys().cloned().collect();
            orders.retain(|order| order.len() <= SHORT);
            orders.sort();
            for order in orders {
                self.slash(&order);
            }
        }
        Ok(())
    }

    /// A current of rungs with the smallest first, from vertices.
    fn current(&mut self, order: &[u8]) {
        let legs = rungs(order);
        let count = self.helicities.count(legs, true);
        let out = self.allocate(count);
        let op = self.vector_op(legs, true, &mut |lowering, from, to| {
            lowering.rung_once(order, from, to)
        }, order.len());
        let sign = |parity: f64| {
            let own = if order.len() % 2 == 0 { 1.0 } else { -1.0 };
            own * if order.len() % 2 == 0 { parity } else { 1.0 }
        };
        let mirror = self.parity.map_or(0, |parity| sign(parity) as i8);
        let two = self.two.clone();
        let three = self.three.clone();
        let factors = [
            self.factor(&two, Some((legs, 0.0, 0.0))),
            match &three {
                Some(three) => self.factor(three, Some((legs, 0.0, 0.0))),
                None => self.factor(&two, Some((legs, 0.0, 0.0))),
            },
        ];
        self.once.push(ArrayOp {
            out,
            factors,
            mirror,
            ..op
        });
        let array = Array {
            address: out,
            legs,
            whole: true,
        };
        self.currents.insert(order.to_vec(), array);
    }

    /// Pairs and triples of neighbours among so many things, whose arrays `of` gives from their places.
    fn vector_op(
        &mut self,
        legs: Legs,
        whole: bool,
        of: &mut dyn FnMut(&mut Self, usize, usize) -> Array,
        size: usize,
    ) -> ArrayOp {
        let mut pairs = Vec::new();
        let mut triples = Vec::new();
        for i in 1..size {
            let (a, b) = (of(self, 0, i), of(self, i, size));
            pairs.push(Pair {
                a: self.helicities.place(legs, whole, a),
                b: self.helicities.place(legs, whole, b),
                momenta: [self.momentum(a.legs), self.momentum(b.legs)],
            });
            for j in i + 1..size {
                if self.three.is_none() {
                    continue;
                }
                let (b, c) = (of(self, i, j), of(self, j, size));
                let place = |h: &mut Helicities, array| h.place(legs, whole, array);
                triples.push(Triple {
                    places: [a, b, c].map(|array| place(&mut self.helicities, array)),
                });
            }
        }
        let from = self.pools.triples.len() as u32;
        self.pools.triples.extend(triples);
        ArrayOp {
            kind: ArrayKind::Vector,
            count: self.helicities.count(legs, whole),
            stride: ELEMENT,
            pairs: self.push_pairs(pairs),
            triples: [from, self.pools.triples.len() as u32],
            ..ArrayOp::default()
        }
    }

    /// The operation that adds up the currents from which one follows.
    fn sum_op(&mut self, order: &[u8], whole: bool, out: Address, form: Form) -> ArrayOp {
        let (all, minus) = shuffles(order);
        let from = self.pools.addends.len() as u32;
        for order in all {
            let array = self.currents[&order];
            let shift = if whole { 0 } else { self.helicities.shift(array) };
            self.pools.addends.push(Addend {
                address: array.address,
                shift,
                minus,
            });
        }
        ArrayOp {
            kind: ArrayKind::Sum,
            out,
            count: self.helicities.count(rungs(order), whole),
            stride: ELEMENT,
            addends: [from, self.pools.addends.len() as u32],
            form,
            ..ArrayOp::default()
        }
    }

    fn short_sum(&mut self, order: &[u8]) {
        let legs = rungs(order);
        let count = self.helicities.count(legs, true);
        let address = self.allocate(count);
        let op = self.sum_op(order, true, address, Form::Plain);
        self.once.push(op);
        let array = Array {
            address,
            legs,
            whole: true,
        };
        self.currents.insert(order.to_vec(), array);
    }

    fn slash(&mut self, order: &[u8]) {
        let array = self.currents[order];
        let count = self.helicities.count(array.legs, true);
        let address = self.allocate(count);
        let from = self.pools.addends.len() as u32;
        self.pools.addends.push(Addend {
            address: array.address,
            shift: 0,
            minus: false,
        });
        self.once.push(ArrayOp {
            kind: ArrayKind::Sum,
            out: address,
            count,
            stride: ELEMENT,
            addends: [from, from + 1],
            form: Form::Slashed,
            ..ArrayOp::default()
        });
        self.slashed.insert(order.to_vec(), Array { address, ..array });
    }

    /// A current of rungs for a current that is computed once.
    fn rung_once(&mut self, order: &[u8], from: usize, to: usize) -> Array {
        let order = &order[from..to];
        if let Some(&array) = self.currents.get(order) {
            return array;
        }
        let legs = rungs(order);
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
            whole: true,
        }
    }

    /// A current of the rungs from one place of an order on, within a run.
    fn rung(&mut self, order: &[u8], from: usize, to: usize, form: Form) -> Array {
        let part = &order[from..to];
        let kept = match form {
            Form::Slashed => &self.slashed,
            _ => &self.currents,
        };
        if let Some(&array) = kept.get(part) {
            return array;
        }
        let legs = rungs(part);
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
            whole: false,
        }
    }

    /// Memory along the line, and the currents of the second end that are short.
    fn ends(&mut self) {
        let (count, all) = (self.count, self.all());
        for rungs in 0..count {
            let line = self.allocate_any(1, rungs);
            self.lines.push(line);
            let vectors = self.allocate_any(1 | self.last(), rungs);
            self.vectors.push(vectors);
            let left = count - rungs;
            let kept = match self.line.is_some() && left > SHORT {
                true => (1..left as u32).product::<u32>() * self.helicities.count(all, false),
                false => 0,
            };
            let products = self.compiler.allocate(2 * kept);
            self.products.push(products);
        }
        for size in 1..=count.min(SHORT) {
            // Longer ones are vectors with the line's currents, unless the line has none.
            if self.line.is_some() && count - size < size {
                continue;
            }
            for order in parts(count, size) {
                let address = self.allocate_root(&order);
                self.root(&order, address);
            }
        }
    }

    fn allocate_root(&mut self, order: &[u8]) -> Address {
        let count = self.helicities.count(rungs(order) | self.last(), false);
        self.allocate(count)
    }

    /// The current of the second end and the rungs before it, without its propagator; of one rung and a quark with it.
    fn root(&mut self, order: &[u8], address: Address) {
        let last = self.last();
        let legs = rungs(order) | last;
        let root = self.external(self.count + 1);
        let op = match self.line.clone() {
            Some(line) => {
                let rung = self.rung(order, 0, order.len(), Form::Slashed);
                let pair = Pair {
                    a: self.helicities.place(legs, false, root),
                    b: self.helicities.place(legs, false, rung),
                    momenta: [0; 2],
                };
                let propagate = order.len() == 1 && self.count > 1;
                let propagator = propagate.then_some((legs, line.mass, line.width));
                let factor = self.factor(&line.constant, propagator);
                ArrayOp {
                    kind: line.kind(false),
                    count: self.helicities.count(legs, false),
                    stride: ELEMENT,
                    pairs: self.push_pairs(vec![pair]),
                    factors: [factor; 2],
                    momentum: self.momentum(legs),
                    mass: self.compiler.constant(line.mass),
                    propagate,
                    ..ArrayOp::default()
                }
            }
            None => {
                let size = order.len() + 1;
                // Only vertices that the second end is at.
                let mut op = self.vector_op(
                    legs,
                    false,
                    &mut |lowering, from, to| match (from, to) {
                        (from, to) if to == size && from == size - 1 => root,
                        (_, to) if to == size => NOWHERE,
                        (from, to) => lowering.rung_within(order, from, to),
                    },
                    size,
                );
                self.keep_last(&mut op);
                let (two, three) = (self.two.clone(), self.three.clone());
                let factor = self.factor(&two, None);
                let of_triples = three.map_or(factor, |three| self.factor(&three, None));
                ArrayOp {
                    factors: [factor, of_triples],
                    form: Form::Lower,
                    ..op
                }
            }
        };
        self.each.push(ArrayOp { out: address, ..op });
        let array = Array {
            address,
            legs,
            whole: false,
        };
        self.roots.insert(order.to_vec(), array);
    }

    /// Leaves out pairs and triples with what is nowhere.
    fn keep_last(&mut self, op: &mut ArrayOp) {
        let somewhere = |address: Address| address != NOWHERE.address;
        let pairs = self.pools.pairs.split_off(op.pairs[0] as usize);
        let kept = pairs.into_iter().filter(|p| somewhere(p.a.address) && somewhere(p.b.address));
        self.pools.pairs.extend(kept);
        op.pairs[1] = self.pools.pairs.len() as u32;
        let triples = self.pools.triples.split_off(op.triples[0] as usize);
        let whole = |t: &Triple| t.places.iter().all(|p| somewhere(p.address));
        self.pools.triples.extend(triples.into_iter().filter(whole));
        op.triples[1] = self.pools.triples.len() as u32;
    }

    fn rung_within(&mut self, order: &[u8], from: usize, to: usize) -> Array {
        // Behind the rungs of the line, where its own currents do not look.
        let before = self.count - order.len();
        let mut whole = vec![0; before];
        whole.extend(order);
        self.rung(&whole, before + from, before + to, Form::Plain)
    }

    /// Walks through the orders that begin with some rungs.
    fn walk(&mut self, start: &mut Vec<u8>) {
        let size = start.len();
        if size == self.count {
            self.jamp(start);
            return;
        }
        if size > 0 {
            self.line_current(start);
        }
        if self.line.is_some() && (self.count - size > SHORT || size < self.count - size) {
            self.vector(start);
        }
        let free = (0..self.count as u8).filter(|r| !start.contains(r));
        for next in free.collect::<Vec<u8>>() {
            start.push(next);
            self.walk(start);
            start.pop();
        }
    }

    /// The current of the line with some rungs.
    fn line_array(&self, start: &[u8]) -> Array {
        match start {
            [] => self.external(0),
            _ => Array {
                address: self.lines[start.len()],
                legs: rungs(start) | 1,
                whole: false,
            },
        }
    }

    fn line_current(&mut self, start: &[u8]) {
        let legs = rungs(start) | 1;
        let out = self.lines[start.len()];
        let size = start.len();
        let op = match self.line.clone() {
            Some(line) => {
                let mut pairs = Vec::new();
                for from in 0..size {
                    let spinor = self.line_array(&start[..from]);
                    let rung = self.rung(start, from, size, Form::Slashed);
                    pairs.push(Pair {
                        a: self.helicities.place(legs, false, spinor),
                        b: self.helicities.place(legs, false, rung),
                        momenta: [0; 2],
                    });
                }
                // The last propagator is that of the second end's current.
                let propagate = size + 1 < self.count;
                let propagator = propagate.then_some((legs, line.mass, line.width));
                let factor = self.factor(&line.constant, propagator);
                ArrayOp {
                    kind: line.kind(true),
                    count: self.helicities.count(legs, false),
                    stride: ELEMENT,
                    pairs: self.push_pairs(pairs),
                    factors: [factor; 2],
                    momentum: self.momentum(legs),
                    mass: self.compiler.constant(line.mass),
                    propagate,
                    twos: self.pools.fours,
                    ..ArrayOp::default()
                }
            }
            None => {
                let op = self.vector_op(
                    legs,
                    false,
                    &mut |lowering, from, to| match from {
                        0 => lowering.line_array(&start[..to - 1]),
                        _ => lowering.rung(start, from - 1, to - 1, Form::Plain),
                    },
                    size + 1,
                );
                let (two, three) = (self.two.clone(), self.three.clone());
                let at = Some((legs, 0.0, 0.0));
                let factor = self.factor(&two, at);
                let of_triples = three.map_or(factor, |three| self.factor(&three, at));
                ArrayOp {
                    factors: [factor, of_triples],
                    ..op
                }
            }
        };
        self.each.push(ArrayOp { out, ..op });
    }

    /// The vector of the line's current and the second end, and its products with long currents of the other rungs.
    fn vector(&mut self, start: &[u8]) {
        let Some(line) = self.line.clone() else {
            return;
        };
        let (all, last) = (self.all(), self.last());
        let legs = rungs(start) | 1 | last;
        let out = self.vectors[start.len()];
        let (first, second) = (self.line_array(start), self.external(self.count + 1));
        let (f1, f2) = if line.flows_in { (first, second) } else { (second, first) };
        let pair = Pair {
            a: self.helicities.place(legs, false, f1),
            b: self.helicities.place(legs, false, f2),
            momenta: [0; 2],
        };
        let factor = self.factor(&line.constant, None);
        let pairs = self.push_pairs(vec![pair]);
        self.each.push(ArrayOp {
            kind: ArrayKind::Current,
            out,
            count: self.helicities.count(legs, false),
            stride: ELEMENT,
            pairs,
            factors: [factor; 2],
            form: Form::Lower,
            ..ArrayOp::default()
        });
        if self.count - start.len() <= SHORT {
            return;
        }
        let rest: Vec<u8> = (0..self.count as u8).filter(|r| !start.contains(r)).collect();
        let count = self.helicities.count(all, false);
        let mut out = self.products[start.len()];
        for order in orders(rest.len() - 1) {
            let mut whole = vec![rest[0]];
            whole.extend(order.iter().map(|&i| rest[usize::from(i) + 1]));
            let pair = self.wide(start, self.currents[&whole]);
            let wide = self.push_pairs(vec![pair]);
            self.each.push(ArrayOp {
                kind: ArrayKind::Contract,
                out,
                count,
                stride: 2,
                wide,
                ..ArrayOp::default()
            });
            out += 2 * count;
        }
    }

    /// The line's vector and a current of the other rungs.
    fn wide(&mut self, start: &[u8], current: Array) -> Pair {
        let vector = Array {
            address: self.vectors[start.len()],
            legs: rungs(start) | 1 | self.last(),
            whole: false,
        };
        let all = self.all();
        Pair {
            a: self.helicities.place(all, false, vector),
            b: self.helicities.place(all, false, current),
            momenta: [0; 2],
        }
    }

    /// The JAMP of an order.
    fn jamp(&mut self, order: &[u8]) {
        let all = self.all();
        let size = self.count;
        let mut pairs = Vec::new();
        let mut wide = Vec::new();
        let mut addends = Vec::new();
        let count = self.helicities.count(all, false);
        for at in 0..size {
            let (start, rest) = order.split_at(at);
            let left = rest.len();
            if self.line.is_some() && left > SHORT {
                let (all, minus) = shuffles(rest);
                for order in all {
                    let number = number_of(&order[1..]) as u32;
                    addends.push(Addend {
                        address: self.products[at] + 2 * count * number,
                        shift: 0,
                        minus,
                    });
                }
            } else if self.line.is_some() && at < left {
                let current = self.currents[rest];
                wide.push(self.wide(start, current));
            } else {
                if left > SHORT {
                    let address = match self.long_roots.get(&left) {
                        Some(&address) => address,
                        None => {
                            let last = self.last();
                            let address = self.allocate_any(last, left);
                            self.long_roots.insert(left, address);
                            address
                        }
                    };
                    if !self.roots.contains_key(rest) {
                        self.roots.retain(|order, _| order.len() != left);
                        self.root(rest, address);
                    }
                }
                let (first, second) = (self.line_array(start), self.roots[rest]);
                pairs.push(Pair {
                    a: self.helicities.place(all, false, first),
                    b: self.helicities.place(all, false, second),
                    momenta: [0; 2],
                });
            }
        }
        let from = self.pools.addends.len() as u32;
        self.pools.addends.extend(addends);
        let addends = [from, self.pools.addends.len() as u32];
        let op = ArrayOp {
            kind: ArrayKind::Contract,
            out: self.jamp_base + 2 * number_of(order) as u32,
            count,
            stride: self.stride,
            pairs: self.push_pairs(pairs),
            wide: self.push_pairs(wide),
            addends,
            ..ArrayOp::default()
        };
        self.each.push(op);
    }

    fn finish(self) -> Plan {
        let count = self.helicities.count(self.all(), false);
        let legs: Vec<usize> = self.externals.iter().map(|&w| self.leg(w)).collect();
        let mut rows_of: HashMap<Vec<u32>, u32> = HashMap::default();
        for (h, digits) in (0..).zip(&self.compiler.digits) {
            rows_of.insert(legs.iter().map(|&leg| digits[leg]).collect(), h);
        }
        let mut rows = Vec::new();
        for run in 0..self.helicities.runs() {
            for element in 0..count {
                let row = rows_of.get(&self.helicities.of_element(run, element));
                rows.push(row.copied().unwrap_or(NO_HELICITY));
            }
        }
        let mut plan = self.compiler.plan;
        let good = rows.iter().filter(|&&h| h != NO_HELICITY);
        plan.groups = good.map(|&h| vec![h]).collect();
        plan.tables = vec![Vec::new(); plan.helicities.len()];
        plan.jamp_base = self.jamp_base;
        let (indices, runs) = self.helicities.finish();
        let form = self.compiler.process.color_ordered.as_ref();
        plan.loops = Some(Loops {
            runs,
            once: self.once,
            each: self.each,
            pools: Pools {
                indices,
                ..self.pools
            },
            helicities: count,
            stride: self.stride,
            rows,
            flows: form.map(|form| form.flows.clone()).unwrap_or_default(),
        });
        plan.count = Count::of(&plan);
        plan
    }

    fn leg(&self, wavefunction: u32) -> usize {
        match self.compiler.process.wavefunctions[wavefunction as usize] {
            Wavefunction::External(e) => e.leg as usize,
            Wavefunction::Internal(_) => 0,
        }
    }
}

/// Stands for an array that does not exist.
const NOWHERE: Array = Array {
    address: Address::MAX,
    legs: 0,
    whole: true,
};

impl Line {
    /// The kernel of the current from one of the ends.
    fn kind(&self, first: bool) -> ArrayKind {
        match self.flows_in == first {
            true => ArrayKind::LineIn,
            false => ArrayKind::LineOut,
        }
    }
}

/// The places of rungs.
fn rungs(order: &[u8]) -> Legs {
    order.iter().map(|r| 2u32 << r).sum()
}

/// All orders of any `size` of so many rungs.
fn parts(count: usize, size: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = |order: &Vec<u8>| {
            let free = (0..count as u8).filter(|x| !order.contains(x));
            free.map(|x| [order.as_slice(), &[x]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The outer legs, and their helicities in each run. Ends that do not have all combinations of their helicities are
/// among them.
fn runs(radix: &[u32], rows: &[Vec<u32>], jamps: usize) -> (Legs, Vec<Vec<u32>>) {
    let last = radix.len() - 1;
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
    for place in (1..last).rev() {
        if size(outer) <= TILE {
            break;
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
    let massless = value(compiler.binding, vertex.mass) == 0.0;
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
            mass: value(compiler.binding, vertex.mass),
            width: value(compiler.binding, vertex.width),
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
        let [a, b, c] = [0, 1, 2].map(|i: usize| sums[i].get(&coupling).copied().unwrap_or_default());
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
/// up to a sign: rungs are massless vectors with two helicities, and constants are real or imaginary (see
/// [`crate::plan::recursion`]).
fn parity(
    compiler: &Compiler,
    form: &ColorOrdered,
    two: &Constant,
    three: Option<&Constant>,
) -> Option<f64> {
    for &w in &form.rungs {
        let Wavefunction::External(e) = &compiler.process.wavefunctions[w as usize] else {
            return None;
        };
        let opposite = match &compiler.values[e.leg as usize][..] {
            [a, b] => *a == -*b && *a != 0,
            _ => false,
        };
        if e.kind != ExternalKind::Vector || value(compiler.binding, e.mass) != 0.0 || !opposite {
            return None;
        }
    }
    let massless = |vertex: &OrderedVertex| {
        let of = |quantity| value(compiler.binding, quantity) == 0.0;
        of(vertex.mass) && of(vertex.width)
    };
    if !massless(&form.two) || !form.three.iter().all(massless) {
        return None;
    }
    let sign = |constant: &Constant| -> Option<f64> {
        let mut signs = Vec::new();
        for (i, c) in &constant.1 {
            let coupling = constant.0[*i];
            let Coupling::Polynomial(values) = &compiler.binding.couplings[coupling.coupling as usize]
            else {
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
    };
    let two = sign(two)?;
    let three = three.map_or(Some(1.0), sign)?;
    (three == 1.0).then_some(two)
}
