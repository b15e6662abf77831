//! A plan as tables for a GPU: individual operations, sorted into levels.
//!
//! A GPU needs work for many thousands of threads at a time. Therefore operations are sorted into *levels*: the
//! operations of a level depend only on earlier levels. This requires a separate address for every result (a plan
//! reuses memory, see [`mebridge_plan::memory_reuse`]). Momenta, propagators, factors, couplings and external
//! wavefunctions, which a CPU computes between the batches, are ordinary operations here.
//!
//! An operation consists of its *kind*, which names its device function, and its operands, a sequence of numbers in
//! [`LevelSchedule::operands`] whose start is given by [`LevelSchedule::starts`]. The operands of kernels are those of
//! [`mebridge_ops::visit`]; for the other kinds see [`OperationKind`].
//!
//! Each helicity being computed has its own memory for amplitudes and JAMP, the *workspace*, with addresses from 0.
//! Wavefunctions are looked up in the helicity's row of [`LevelSchedule::waves`].
//!
//! For a plan of loops, these tables contain the operations before the loops, at the addresses of the plan; the loops
//! are in [`super::color_ordered::schedule`].

use mebridge_ops::opcode::Opcode;
use mebridge_ops::opcode::{COMPLEX, FOUR, MOMENTUM};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_plan::Plan;
use mebridge_plan::binding::{Binding, Coupling};
use mebridge_process::ExternalKind;
use mebridge_process::color::FlowWeight;
use rustc_hash::FxHashMap as HashMap;

/// Real numbers of the 16 components of spin 3/2 or 2.
pub const MATRIX_NUMBERS: u32 = 32;

/// Kind of an operation, with the layout of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// A sum of momenta: number to add, number to subtract, the momenta, result.
    Momentum,
    /// A coupling as a polynomial in G: G, number of coefficients, pairs of
    /// [`LevelSchedule::numbers`] from the highest power down, result.
    Coupling,
    /// `1 / (p^2 - m^2 + i m width)`: momentum, numbers m^2 and m width, result.
    Propagator,
    /// The square of a leg's momentum: momentum, number of the squared mass, result.
    Square,
    /// The product of two momenta as a fraction: the momenta, their squares, result.
    Product,
    /// `1 / (p^2 - m^2)` of a line without a width: numbers of m^2 and of the size of squared masses, numbers of
    /// squares and of products, squares, products (each with the number of its factor), result.
    Line,
    /// Couplings with coefficients, times an optional propagator: whether there is one, the propagator, number of
    /// terms, terms (coupling, numbers for the real and imaginary part), result.
    Factor,
    /// A fermion flowing in: momentum, number of the mass, whether it has one, helicity plus 8,
    /// NSF plus 8, result.
    ExternalIn,
    /// A fermion flowing out, with the same operands.
    ExternalOut,
    /// A vector, with the same operands.
    ExternalVector,
    /// A scalar, with the same operands.
    ExternalScalar,
    /// Spin 2, with the same operands.
    ExternalTensor,
    /// Spin 3/2 flowing in, with the same operands; the helicity is twice the spin.
    ExternalRaritaIn,
    /// Spin 3/2 flowing out, with the same operands.
    ExternalRaritaOut,
    /// An operation of a CPU kernel.
    Opcode(Opcode),
    /// A sum of amplitudes: numbers of terms with coefficients 1, -1, i, -i and others, the terms, the other terms
    /// (real part, imaginary part, numbers for both), result.
    Sum,
}

impl OperationKind {
    /// Returns the name of its device function.
    pub fn name(self) -> String {
        match self {
            OperationKind::Opcode(Opcode::General(i)) => format!("General{i}"),
            OperationKind::Opcode(opcode) => format!("{opcode:?}"),
            kind => format!("{kind:?}"),
        }
    }
}

/// Consecutive operations of one kind within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRange {
    /// Kind of the operations.
    pub kind: OperationKind,
    /// First operation, as an index into [`LevelSchedule::starts`].
    pub first: u32,
    /// Number of operations.
    pub count: u32,
}

impl KernelRange {
    /// Returns the operations.
    pub fn operations(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

/// Ranges of operations that can run concurrently.
pub type ScheduleLevel = Vec<KernelRange>;

/// Source of the AMP2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amp2Source {
    /// Separate operations, which store them at these addresses.
    Totals {
        /// The operations.
        levels: Vec<ScheduleLevel>,
        /// Address of each AMP2.
        totals: Vec<Address>,
    },
    /// The amplitudes of each helicity: for each AMP2, the sets of amplitudes (addresses in the workspace) that are
    /// summed before squaring.
    Amplitudes(Vec<Vec<Vec<Address>>>),
}

impl Amp2Source {
    /// Returns the number of AMP2.
    pub fn len(&self) -> usize {
        match self {
            Amp2Source::Totals { totals, .. } => totals.len(),
            Amp2Source::Amplitudes(amp2) => amp2.len(),
        }
    }
}

/// A plan for a GPU.
#[derive(Clone, Debug)]
pub struct LevelSchedule {
    /// Number of vectors in the memory of a block of events.
    pub vectors: u32,
    /// Number of vectors in the workspace of one helicity.
    pub workspace: u32,
    /// Constants referenced by operands.
    pub numbers: Vec<f64>,
    /// Operands of all operations.
    pub operands: Vec<u32>,
    /// What each operand is. (Addresses in workspaces are numbers.)
    pub accesses: Vec<Access>,
    /// Start of the operands of each operation.
    pub starts: Vec<u32>,
    /// Number of the operands of each operation.
    pub lengths: Vec<u32>,
    /// Addresses of numbers that are the same for all events, with their values.
    pub constants: Vec<(Address, f64)>,
    /// Address of the momenta of the legs.
    pub leg_momenta: Address,
    /// Address of G.
    pub g: Address,
    /// Couplings that are not polynomials in G: index and address.
    pub formula_couplings: Vec<(u32, Address)>,
    /// Operations up to the amplitudes, or to loops.
    pub levels: Vec<ScheduleLevel>,
    /// Whether loops follow, which may read all results of the levels.
    pub in_loops: bool,
    /// Operations for the amplitudes of a helicity.
    pub amplitudes: ScheduleLevel,
    /// Sums that compute JAMP from the amplitudes.
    pub sums: Vec<ScheduleLevel>,
    /// Address of the first JAMP in the workspace; the others follow.
    pub jamp: Address,
    /// Number of colour flows: the number of JAMP, unless a plan of loops has flows that are sums of JAMP.
    pub flows: usize,
    /// For each helicity, the addresses of the wavefunctions that amplitudes look up.
    pub waves: Vec<Vec<Address>>,
    /// Helicities (indices into `waves`) computed together: two, or one and `u32::MAX`.
    pub groups: Vec<[u32; 2]>,
    /// Source of the AMP2.
    pub squares: Amp2Source,
}

/// An operation that has not been sorted yet.
struct Operation {
    level: u32,
    kind: OperationKind,
    start: u32,
    length: u32,
}

/// A number in the tables, and what it is.
type Operand = (u32, Access);

fn plain(number: u32) -> Operand {
    (number, Access::Number)
}

fn read(address: Address, vectors: u32) -> Operand {
    (address, Access::Read(vectors))
}

fn written(address: Address, vectors: u32) -> Operand {
    (address, Access::Write(vectors))
}

/// Products per [`Opcode::Dots`] operation: few, so that there are many operations.
const DOTS: usize = 4;

impl LevelSchedule {
    /// Returns the number of JAMP2, which is that of JAMP unless coupling orders are split.
    pub fn color_flows(&self, weights: &[FlowWeight]) -> usize {
        match weights.len() {
            0 => self.flows,
            flows => flows,
        }
    }

    /// Builds the tables of a plan. Returns `None` if operations are incomplete or read unwritten addresses, which
    /// cannot happen for plans that passed [`Plan::validate`] or were compiled here.
    pub fn new(plan: &Plan, binding: &Binding) -> Option<LevelSchedule> {
        if !plan.operations().tiles.is_empty() {
            return None;
        }
        let mut maker = LevelScheduler {
            in_place: plan.loops().is_some(),
            end: plan.loops().map_or(0, |_| plan.vectors),
            ..LevelScheduler::default()
        };
        let leg_momenta = maker.place(plan.leg_momenta, 4 * plan.masses.len() as u32);
        for leg in 0..plan.masses.len() as u32 {
            let old = plan.leg_momenta + 4 * leg;
            maker.define(old, leg_momenta + 4 * leg, 0);
        }
        let g = maker.take(1);
        let constants: Vec<_> = plan
            .constants
            .iter()
            .map(|&(old, x)| {
                let new = maker.place(old, 1);
                maker.define(old, new, 0);
                (new, x)
            })
            .collect();
        let formula_couplings = maker.couplings(plan, binding, g);
        maker.once_an_event(plan)?;
        maker.batches(&plan.operations().currents, plan)?;
        let levels = std::mem::take(&mut maker.operations);
        let looked_up = looked_up(plan)?;
        // Loops look up no wavefunctions.
        let operations = plan.operations();
        let waves = (0..plan.helicities.len())
            .map(|h| {
                let table = operations.tables.get(h);
                let address = |&i: &u32| maker.address_of(*table?.get(i as usize)?);
                looked_up.iter().map(address).collect::<Option<Vec<_>>>()
            })
            .collect::<Option<Vec<_>>>()?;
        let squares = if plan.channels().squares.is_empty() {
            None
        } else {
            // Their levels start again from the first.
            maker.objects.values_mut().for_each(|o| o.level = 0);
            maker.batches(&plan.channels().squares, plan)?;
            Some(std::mem::take(&mut maker.operations))
        };
        let totals = plan.channels().totals.iter().map(|&t| maker.address_of(t));
        let totals: Vec<Address> = totals.collect::<Option<_>>()?;
        let workspace = Workspace::new(plan)?;
        let amplitudes = maker.amplitudes(plan, &workspace, &looked_up)?;
        let sums = maker.sums(plan, &workspace)?;
        let amp2 = &plan.channels().amp2;
        let mut tables = LevelSchedule {
            vectors: maker.end,
            workspace: workspace.end - workspace.start,
            numbers: maker.numbers,
            operands: maker.operands,
            accesses: maker.accesses,
            starts: Vec::new(),
            lengths: Vec::new(),
            constants,
            leg_momenta,
            g,
            formula_couplings,
            levels: Vec::new(),
            in_loops: plan.loops().is_some(),
            amplitudes: Vec::new(),
            sums: Vec::new(),
            jamp: workspace.address_of(plan.jamp_base)?,
            flows: match plan.loops() {
                Some(loops) if !loops.flows.is_empty() => loops.flows.len(),
                _ => plan.flows,
            },
            waves,
            groups: plan
                .groups()
                .iter()
                .map(|group| match group[..] {
                    [a] => Some([a, u32::MAX]),
                    [a, b] => Some([a, b]),
                    _ => None,
                })
                .collect::<Option<_>>()?,
            squares: Amp2Source::Amplitudes(
                amp2.iter()
                    .map(|sets| {
                        let set = |set: &Vec<Address>| {
                            set.iter().map(|&a| workspace.address_of(a)).collect()
                        };
                        sets.iter().map(set).collect::<Option<_>>()
                    })
                    .collect::<Option<_>>()?,
            ),
        };
        tables.levels = tables.order(levels);
        if let Some(operations) = squares {
            let levels = tables.order(operations);
            tables.squares = Amp2Source::Totals { levels, totals };
        }
        tables.amplitudes = tables.order(amplitudes).into_iter().flatten().collect();
        tables.sums = tables.order(sums);
        Some(tables)
    }

    /// Sorts operations by level, then by kind, and otherwise keeps their order.
    fn order(&mut self, mut operations: Vec<Operation>) -> Vec<ScheduleLevel> {
        operations.sort_by_key(|o| (o.level, o.kind));
        let mut levels: Vec<ScheduleLevel> = Vec::new();
        let mut last = None;
        for operation in operations {
            if last != Some(operation.level) {
                levels.push(ScheduleLevel::new());
                last = Some(operation.level);
            }
            let level = levels.last_mut().expect("one was pushed");
            match level.last_mut() {
                Some(run) if run.kind == operation.kind => run.count += 1,
                _ => level.push(KernelRange {
                    kind: operation.kind,
                    first: self.starts.len() as u32,
                    count: 1,
                }),
            }
            self.starts.push(operation.start);
            self.lengths.push(operation.length);
        }
        levels
    }

    /// Returns the number of operands of an operation, or 0 if there is no such operation.
    pub fn length(&self, operation: u32) -> usize {
        let length = self.lengths.get(operation as usize);
        length.map_or(0, |&length| length as usize)
    }

    /// Returns the operands of an operation, an index into [`LevelSchedule::starts`], and what they are.
    pub fn operation(&self, operation: u32) -> Option<(&[u32], &[Access])> {
        let start = *self.starts.get(operation as usize)? as usize;
        let end = start + self.length(operation);
        Some((
            self.operands.get(start..end)?,
            self.accesses.get(start..end)?,
        ))
    }

    /// Returns the kinds that occur, each once.
    pub fn kinds(&self) -> Vec<OperationKind> {
        let squares = match &self.squares {
            Amp2Source::Totals { levels, .. } => levels.as_slice(),
            Amp2Source::Amplitudes(_) => &[],
        };
        let levels = self.levels.iter().chain(squares).flatten();
        let mut kinds: Vec<OperationKind> = levels.map(|run| run.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Returns the sorted numbers of the wavefunctions that amplitudes look up.
fn looked_up(plan: &Plan) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for batch in &plan.operations().amplitudes {
        visit(
            batch,
            &plan.operations().general,
            true,
            &mut |operand, access| {
                if let Access::Indexed(_) = access {
                    numbers.push(operand);
                }
            },
        )?;
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// Range of addresses in a plan that one helicity writes.
struct Workspace {
    start: Address,
    end: Address,
}

impl Workspace {
    fn new(plan: &Plan) -> Option<Workspace> {
        let jamp = plan.jamp_base..plan.jamp_base + 2 * plan.flows as u32;
        let mut workspace = Workspace {
            start: jamp.start,
            end: jamp.end,
        };
        let mut include = |at: Address, vectors: u32| {
            workspace.start = workspace.start.min(at);
            workspace.end = workspace.end.max(at + vectors);
        };
        for batch in &plan.operations().amplitudes {
            visit(
                batch,
                &plan.operations().general,
                true,
                &mut |operand, access| {
                    if let Access::Write(vectors) = access {
                        include(operand, vectors);
                    }
                },
            )?;
        }
        plan.operations()
            .jamp
            .sums
            .iter()
            .for_each(|s| include(s.address, 2));
        Some(workspace)
    }

    fn address_of(&self, address: Address) -> Option<Address> {
        (self.start..self.end)
            .contains(&address)
            .then(|| address - self.start)
    }
}

/// An object at an address, for example a number or a wavefunction.
struct PlacedNumber {
    address: Address,
    /// Level of the operation that completes it.
    level: u32,
}

#[derive(Default)]
struct LevelScheduler {
    /// Whether to keep the addresses of the plan, which then reuses no memory.
    in_place: bool,
    end: Address,
    numbers: Vec<f64>,
    known_numbers: HashMap<u64, u32>,
    operands: Vec<u32>,
    accesses: Vec<Access>,
    operations: Vec<Operation>,
    /// Objects currently at the addresses of the plan.
    objects: HashMap<Address, PlacedNumber>,
}

impl LevelScheduler {
    fn take(&mut self, vectors: u32) -> Address {
        self.end += vectors;
        self.end - vectors
    }

    /// Returns the new address for `vectors` vectors of the plan.
    fn place(&mut self, old: Address, vectors: u32) -> Address {
        match self.in_place {
            true => old,
            false => self.take(vectors),
        }
    }

    fn define(&mut self, old: Address, address: Address, level: u32) {
        self.objects.insert(old, PlacedNumber { address, level });
    }

    fn address_of(&self, old: Address) -> Option<Address> {
        Some(self.objects.get(&old)?.address)
    }

    fn number(&mut self, x: f64) -> u32 {
        let next = self.numbers.len() as u32;
        let index = *self.known_numbers.entry(x.to_bits()).or_insert(next);
        if index == next {
            self.numbers.push(x);
        }
        index
    }

    fn operation(&mut self, level: u32, kind: OperationKind, operands: &[Operand]) {
        self.operations.push(Operation {
            level,
            kind,
            start: self.operands.len() as u32,
            length: operands.len() as u32,
        });
        self.operands.extend(operands.iter().map(|o| o.0));
        self.accesses.extend(operands.iter().map(|o| o.1));
    }

    /// Allocates a result of `vectors` vectors, computed at this level.
    fn result(&mut self, old: Address, vectors: u32, level: u32) -> Address {
        let new = self.place(old, vectors);
        self.define(old, new, level);
        new
    }

    fn couplings(&mut self, plan: &Plan, binding: &Binding, g: Address) -> Vec<(u32, Address)> {
        let mut formula_couplings = Vec::new();
        for ((coupling, &old), i) in binding.couplings.iter().zip(&plan.couplings).zip(0..) {
            match coupling {
                Coupling::Polynomial(coefficients) => {
                    let result = self.result(old, 2, 1);
                    let mut operands = vec![read(g, 1), plain(coefficients.len() as u32)];
                    for c in coefficients.iter().rev() {
                        operands.push(plain(self.number(c.re)));
                        operands.push(plain(self.number(c.im)));
                    }
                    operands.push(written(result, COMPLEX));
                    self.operation(1, OperationKind::Coupling, &operands);
                }
                Coupling::Formula => formula_couplings.push((i, self.result(old, 2, 0))),
            }
        }
        formula_couplings
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a list of what is computed once an event"
    )]
    fn once_an_event(&mut self, plan: &Plan) -> Option<()> {
        let leg = |leg: usize| plan.leg_momenta + 4 * leg as u32;
        for sum in &plan.momenta {
            let mut legs = [Vec::new(), Vec::new()];
            for (i, &times) in sum.signs.iter().enumerate() {
                for _ in 0..times.unsigned_abs() {
                    legs[usize::from(times < 0)].push(self.address_of(leg(i))?);
                }
            }
            let mut operands: Vec<Operand> = legs.iter().map(|l| plain(l.len() as u32)).collect();
            operands.extend(legs.iter().flatten().map(|&leg| read(leg, MOMENTUM)));
            let result = self.result(sum.address, MOMENTUM, 1);
            operands.push(written(result, MOMENTUM));
            self.operation(1, OperationKind::Momentum, &operands);
        }
        for square in &plan.squares {
            let momentum = self.address_of(leg(square.leg as usize))?;
            let mass = *plan.masses.get(square.leg as usize)?;
            let mass_squared = self.number(mass * mass);
            let result = self.result(square.address, 1, 1);
            let operands = [
                read(momentum, MOMENTUM),
                plain(mass_squared),
                written(result, 1),
            ];
            self.operation(1, OperationKind::Square, &operands);
        }
        for product in &plan.products {
            let mut operands = Vec::new();
            for at in product.legs {
                operands.push(read(self.address_of(leg(at as usize))?, MOMENTUM));
            }
            for square in product.squares {
                operands.push(read(self.address_of(square)?, 1));
            }
            let result = self.result(product.address, COMPLEX, 2);
            operands.push(written(result, COMPLEX));
            self.operation(2, OperationKind::Product, &operands);
        }
        for p in &plan.propagators {
            if let Some(virtuality) = &p.virtuality {
                let mut operands = vec![
                    plain(self.number(p.mass * p.mass)),
                    plain(self.number(virtuality.size)),
                    plain(virtuality.squares.len() as u32),
                    plain(virtuality.terms.len() as u32),
                ];
                for &square in &virtuality.squares {
                    operands.push(read(self.address_of(square)?, 1));
                }
                for &(product, factor) in &virtuality.terms {
                    operands.push(read(self.address_of(product)?, COMPLEX));
                    operands.push(plain(self.number(factor)));
                }
                let result = self.result(p.address, COMPLEX, 3);
                operands.push(written(result, COMPLEX));
                self.operation(3, OperationKind::Line, &operands);
                continue;
            }
            let momentum = self.objects.get(&p.momentum)?;
            let (momentum, level) = (momentum.address, momentum.level + 1);
            let (square, width) = (self.number(p.mass * p.mass), self.number(p.mass * p.width));
            let result = self.result(p.address, COMPLEX, level);
            let operands = [
                read(momentum, MOMENTUM),
                plain(square),
                plain(width),
                written(result, COMPLEX),
            ];
            self.operation(level, OperationKind::Propagator, &operands);
        }
        for f in &plan.factors {
            let mut level = 0;
            let propagator = match f.propagator {
                None => plain(0),
                Some(old) => {
                    let propagator = self.objects.get(&old)?;
                    level = propagator.level;
                    read(propagator.address, COMPLEX)
                }
            };
            let there = plain(u32::from(f.propagator.is_some()));
            let mut operands = vec![there, propagator, plain(f.terms.len() as u32)];
            for &(coupling, c) in &f.terms {
                let coupling = *plan.couplings.get(coupling as usize)?;
                let coupling = self.objects.get(&coupling)?;
                level = level.max(coupling.level);
                operands.push(read(coupling.address, COMPLEX));
                operands.push(plain(self.number(c.re)));
                operands.push(plain(self.number(c.im)));
            }
            let result = self.result(f.address, COMPLEX, level + 1);
            operands.push(written(result, COMPLEX));
            self.operation(level + 1, OperationKind::Factor, &operands);
        }
        for e in &plan.externals {
            let momentum = self.address_of(leg(e.leg as usize))?;
            let mass = self.number(e.mass);
            let (kind, vectors) = match e.kind {
                ExternalKind::FermionIn => (OperationKind::ExternalIn, FOUR),
                ExternalKind::FermionOut => (OperationKind::ExternalOut, FOUR),
                ExternalKind::Vector => (OperationKind::ExternalVector, FOUR),
                ExternalKind::Scalar => (OperationKind::ExternalScalar, 2),
                ExternalKind::Tensor => (OperationKind::ExternalTensor, MATRIX_NUMBERS),
                ExternalKind::RaritaIn => (OperationKind::ExternalRaritaIn, MATRIX_NUMBERS),
                ExternalKind::RaritaOut => (OperationKind::ExternalRaritaOut, MATRIX_NUMBERS),
            };
            for (&helicity, &result) in e.helicities.iter().zip(&e.results) {
                let plus_8 = |x: i8| (i32::from(x) + 8) as u32;
                let massive = u32::from(e.mass != 0.0);
                let result = self.result(result, vectors, 1);
                let operands = [
                    read(momentum, MOMENTUM),
                    plain(mass),
                    plain(massive),
                    plain(plus_8(helicity)),
                    plain(plus_8(e.sign)),
                    written(result, vectors),
                ];
                self.operation(1, kind, &operands);
            }
        }
        Some(())
    }

    /// Converts the operations of batches in order.
    fn batches(&mut self, batches: &[Batch], plan: &Plan) -> Option<()> {
        for batch in batches {
            // The operands of this operation, and the levels on which it depends.
            let mut operands = Vec::new();
            let (mut level, mut sound) = (0, true);
            let kind = OperationKind::Opcode(batch.opcode);
            visit(
                batch,
                &plan.operations().general,
                false,
                &mut |operand, access| {
                    match access {
                        Access::Number | Access::Indexed(_) => operands.push((operand, access)),
                        Access::Read(_) => match self.objects.get(&operand) {
                            Some(object) => {
                                level = level.max(object.level);
                                operands.push((object.address, access));
                            }
                            None => sound = false,
                        },
                        Access::Write(vectors) => {
                            let result = self.result(operand, vectors, level + 1);
                            operands.push((result, access));
                            self.operation(level + 1, kind, &operands);
                            (operands, level) = (Vec::new(), 0);
                        }
                        // A sum continues after earlier additions; it has not been read yet.
                        Access::Update(_) => match self.objects.get_mut(&operand) {
                            Some(object) => {
                                let level_now = level.max(object.level) + 1;
                                object.level = level_now;
                                operands.push((object.address, access));
                                self.operation(level_now, kind, &operands);
                                (operands, level) = (Vec::new(), 0);
                            }
                            None => sound = false,
                        },
                    }
                },
            )?;
            if !sound {
                return None;
            }
        }
        Some(())
    }

    /// Converts the amplitudes of a helicity, whose operands are numbers of wavefunctions and addresses in the
    /// workspace.
    fn amplitudes(
        &mut self,
        plan: &Plan,
        workspace: &Workspace,
        looked_up: &[u32],
    ) -> Option<Vec<Operation>> {
        for batch in &plan.operations().amplitudes {
            let mut operands: Vec<Operand> = Vec::new();
            let mut sound = true;
            let kind = OperationKind::Opcode(batch.opcode);
            visit(
                batch,
                &plan.operations().general,
                true,
                &mut |operand, access| {
                    let of_all = |at: Address| self.objects.get(&at).map(|o| o.address);
                    let new = match access {
                        Access::Number => Some(operand),
                        Access::Indexed(_) => {
                            looked_up.binary_search(&operand).ok().map(|i| i as u32)
                        }
                        Access::Read(_) => of_all(operand),
                        Access::Write(_) | Access::Update(_) => workspace.address_of(operand),
                    };
                    let Some(new) = new else {
                        sound = false;
                        return;
                    };
                    operands.push(match access {
                        Access::Write(_) | Access::Update(_) => plain(new),
                        _ => (new, access),
                    });
                    if !matches!(access, Access::Write(_)) {
                        return;
                    }
                    if batch.opcode != Opcode::Dots {
                        self.operation(1, kind, &operands);
                        operands.clear();
                    } else if operands.len() == 2 + 2 * operands[1].0 as usize {
                        for pairs in operands[2..].chunks(2 * DOTS) {
                            let head = [operands[0], plain(pairs.len() as u32 / 2)];
                            self.operation(1, kind, &[&head, pairs].concat());
                        }
                        operands.clear();
                    }
                },
            )?;
            if !sound {
                return None;
            }
        }
        Some(std::mem::take(&mut self.operations))
    }

    fn sums(&mut self, plan: &Plan, workspace: &Workspace) -> Option<Vec<Operation>> {
        let mut levels: HashMap<Address, u32> = HashMap::default();
        let (mut units, mut terms) = (
            &plan.operations().jamp.units[..],
            &plan.operations().jamp.terms[..],
        );
        for sum in &plan.operations().jamp.sums {
            let mut operands: Vec<Operand> = sum.units.iter().copied().map(plain).collect();
            operands.push(plain(sum.terms));
            let mut level = 0;
            let mut see = |at: Address| {
                level = level.max(levels.get(&at).copied().unwrap_or(0));
                workspace.address_of(at)
            };
            let count = sum.units.iter().sum::<u32>() as usize;
            let (mine, rest) = units.split_at_checked(count)?;
            units = rest;
            for &unit in mine {
                operands.push(plain(see(unit)?));
            }
            let (mine, rest) = terms.split_at_checked(sum.terms as usize)?;
            terms = rest;
            for term in mine {
                // The number is complex: its address is the smaller of the two.
                see(term.re.min(term.im))?;
                operands.push(plain(workspace.address_of(term.re)?));
                operands.push(plain(workspace.address_of(term.im)?));
                operands.push(plain(self.number(term.factor_re)));
                operands.push(plain(self.number(term.factor_im)));
            }
            operands.push(plain(workspace.address_of(sum.address)?));
            levels.insert(sum.address, level + 1);
            self.operation(level + 1, OperationKind::Sum, &operands);
        }
        Some(std::mem::take(&mut self.operations))
    }
}
