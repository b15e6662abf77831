//! Conversion of tables of operations to the values of one event.

use super::expression::{Expression, Id};
use super::operand::ValueOperand;
use super::scalar_sums;
use super::value_graph::{Schedule, Type, ValueGraph};
use super::{COLOR_SUM, Generator};
use crate::level_schedule::{Amp2Source, OperationKind, ScheduleLevel};
use mebridge_ops::opcode::{Mode, Opcode};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use rustc_hash::FxHashMap as HashMap;

/// Values that a thread computes for one event.
pub(super) struct WholeProcess {
    pub(super) graph: ValueGraph,
    /// For each helicity, its part of |M|^2.
    pub(super) contributions: Vec<Id>,
    pub(super) jamp2: Vec<Id>,
    pub(super) amp2: Vec<Id>,
    /// All values needed for the results, in the order of computation.
    pub(super) order: Vec<Id>,
}

impl WholeProcess {
    /// Values from which the results are computed.
    pub(super) fn results(&self) -> Vec<Id> {
        let results = self.contributions.iter().chain(&self.jamp2);
        results.chain(&self.amp2).copied().collect()
    }
}

/// Operands of one operation.
pub(super) struct Operation<'a> {
    pub(super) kind: OperationKind,
    pub(super) operands: &'a [u32],
}

impl Generator<'_> {
    pub(super) fn operations<'b>(
        &'b self,
        levels: &'b [ScheduleLevel],
    ) -> impl Iterator<Item = Option<Operation<'b>>> {
        levels.iter().flatten().flat_map(|run| {
            run.operations().map(|i| {
                let (operands, _) = self.tables.operation(i)?;
                Some(Operation {
                    kind: run.kind,
                    operands,
                })
            })
        })
    }

    pub(super) fn whole_process(&self) -> Option<WholeProcess> {
        let tables = self.tables;
        let mut graph = ValueGraph::default();
        let g = graph.push(Type::Real, Expression::Leaf(self.coupling().into()));
        graph.memory.insert(tables.g, g);
        for &(address, x) in &tables.constants {
            let id = graph.literal(Type::Real, Expression::number(x));
            graph.memory.insert(address, id);
        }
        for (i, &(_, address)) in tables.formula_couplings.iter().enumerate() {
            let text = format!(
                "cx(Real(formula_couplings[(Size){} * events + e]), Real(formula_couplings[(Size){} * events + e]))",
                2 * i,
                2 * i + 1
            );
            let id = graph.push(Type::Complex, Expression::Leaf(text));
            graph.memory.insert(address, id);
        }
        self.event(&mut graph)?;
        let mut squares = Vec::new();
        if let (true, Amp2Source::Totals { levels, totals }) = (self.channels, &tables.squares) {
            for operation in self.operations(levels) {
                self.event_operation(&mut graph, &operation?)?;
            }
            for address in totals {
                squares.push(*graph.memory.get(address)?);
            }
        }
        let mut whole = WholeProcess {
            contributions: vec![usize::MAX; tables.waves.len()],
            jamp2: Vec::new(),
            amp2: squares,
            order: Vec::new(),
            graph,
        };
        let mut schedule = Schedule::default();
        let amplitudes = std::slice::from_ref(&tables.amplitudes);
        let helicities = tables.groups.iter().flatten().copied();
        let helicities: Vec<u32> = helicities.filter(|&h| h != u32::MAX).collect();
        for helicity in helicities {
            let waves = tables.waves.get(helicity as usize)?;
            let mut workspace: HashMap<Address, Id> = HashMap::default();
            for operation in self.operations(amplitudes) {
                self.amplitude(&mut whole.graph, &operation?, waves, &mut workspace)?;
            }
            for operation in self.operations(&tables.sums) {
                self.sum(&mut whole.graph, operation?.operands, &mut workspace)?;
            }
            let jamp: Vec<Id> = (0..tables.flows as u32)
                .map(|flow| workspace.get(&(tables.jamp + 2 * flow)).copied())
                .collect::<Option<_>>()?;
            let sum = whole.graph.call(Type::Real, COLOR_SUM, &jamp);
            *whole.contributions.get_mut(helicity as usize)? = sum;
            schedule.need(&whole.graph, sum);
            if self.colors {
                let before = std::mem::take(&mut whole.jamp2);
                for flow in 0..self.color_flows() {
                    let before = before.get(flow).copied();
                    let sum = match self.flow_weights.get(flow) {
                        None => whole.graph.square(jamp[flow], before),
                        Some(weight) => whole.graph.weight(weight, &jamp, before),
                    };
                    schedule.need(&whole.graph, sum);
                    whole.jamp2.push(sum);
                }
            }
            if let (true, Amp2Source::Amplitudes(amp2)) = (self.channels, &tables.squares) {
                let before = std::mem::take(&mut whole.amp2);
                for (i, sets) in amp2.iter().enumerate() {
                    let mut sum = before.get(i).copied();
                    for set in sets {
                        let mut total = None;
                        for address in set {
                            let id = *workspace.get(address)?;
                            total = Some(match total {
                                None => id,
                                Some(t) => whole.graph.infix(Type::Complex, t, "+", id),
                            });
                        }
                        sum = Some(whole.graph.square(total?, sum));
                    }
                    let sum = match sum {
                        Some(sum) => sum,
                        None => {
                            let zero = Expression::Leaf("Real(0)".into());
                            whole.graph.literal(Type::Real, zero)
                        }
                    };
                    schedule.need(&whole.graph, sum);
                    whole.amp2.push(sum);
                }
            }
        }
        for &id in &whole.amp2 {
            schedule.need(&whole.graph, id);
        }
        if whole.contributions.contains(&usize::MAX) || whole.contributions.is_empty() {
            return None;
        }
        whole.order = schedule.order;
        Some(whole)
    }

    /// Computes all values of an event up to the amplitudes.
    fn event(&self, graph: &mut ValueGraph) -> Option<()> {
        for leg in 0..self.masses.len() {
            let id = graph.push(Type::Momentum, Expression::Leaf(self.leg(leg)));
            let at = self.tables.leg_momenta + 4 * leg as u32;
            graph.memory.insert(at, id);
        }
        for operation in self.operations(&self.tables.levels) {
            self.event_operation(graph, &operation?)?;
        }
        Some(())
    }

    /// Converts an operation whose operands are addresses in the memory of events.
    #[expect(clippy::too_many_lines, reason = "a case for each kind of operation")]
    fn event_operation(&self, graph: &mut ValueGraph, operation: &Operation) -> Option<()> {
        let op = operation.operands;
        let (&result, rest) = op.split_last()?;
        let numbers = &self.tables.numbers;
        let number_of = |i: &u32| Some(Expression::number(*numbers.get(*i as usize)?));
        let signed = |x: u32| Expression::Integer(i64::from(x) - 8);
        let at = |graph: &ValueGraph, address: u32| graph.memory.get(&address).copied();
        let id = match operation.kind {
            OperationKind::Momentum => {
                let plus = *rest.first()? as usize;
                let mut sum = None;
                for (i, &address) in rest.get(2..)?.iter().enumerate() {
                    let p = at(graph, address)?;
                    sum = Some(match (sum, i < plus) {
                        (None, true) => p,
                        (None, false) => {
                            let zero = graph.literal(
                                Type::Momentum,
                                Expression::Leaf("momentum(0, 0, 0, 0)".into()),
                            );
                            graph.infix(Type::Momentum, zero, "-", p)
                        }
                        (Some(sum), true) => graph.infix(Type::Momentum, sum, "+", p),
                        (Some(sum), false) => graph.infix(Type::Momentum, sum, "-", p),
                    });
                }
                sum?
            }
            OperationKind::Coupling => {
                let g = at(graph, *rest.first()?)?;
                let mut sums = [None, None];
                for pair in rest.get(2..)?.chunks_exact(2) {
                    for (sum, coefficient) in sums.iter_mut().zip(pair) {
                        let x = number_of(coefficient)?;
                        *sum = Some(match sum.take() {
                            None => x,
                            Some(sum) => Expression::call("fused", [sum, Expression::Value(g), x]),
                        });
                    }
                }
                let [Some(re), Some(im)] = sums else {
                    return None;
                };
                graph.push(Type::Complex, Expression::call("cx", [re, im]))
            }
            OperationKind::Propagator => {
                let momentum = Expression::Value(at(graph, rest[0])?);
                let arguments = [momentum, number_of(&rest[1])?, number_of(&rest[2])?];
                graph.push(Type::Complex, Expression::call("propagator", arguments))
            }
            OperationKind::Square => {
                let arguments = [Expression::Value(at(graph, rest[0])?), number_of(&rest[1])?];
                graph.push(Type::Real, Expression::call("momentum_square", arguments))
            }
            OperationKind::Product => {
                let arguments = rest.iter().map(|&part| at(graph, part));
                let arguments: Vec<Id> = arguments.collect::<Option<_>>()?;
                let [p, q, p2, q2] = arguments[..] else {
                    return None;
                };
                let arguments = [p, q, p2, q2].map(Expression::Value);
                graph.push(
                    Type::Complex,
                    Expression::call("momentum_product", arguments),
                )
            }
            OperationKind::Line => {
                let mut sum = Expression::Negative(Box::new(number_of(&rest[0])?));
                let mut size = number_of(&rest[1])?;
                let (squares, terms) = rest.get(4..)?.split_at_checked(rest[2] as usize)?;
                for &square in squares {
                    sum = Expression::infix(sum, "+", Expression::Value(at(graph, square)?));
                }
                let mut terms = terms.chunks_exact(2).peekable();
                loop {
                    let term = terms.next()?;
                    let product = Expression::Value(at(graph, term[0])?);
                    let factor = *numbers.get(term[1] as usize)?;
                    if terms.peek().is_none() {
                        let arguments = [sum, size, Expression::number(factor), product];
                        break graph.push(Type::Complex, Expression::call("line", arguments));
                    }
                    let value = graph.push(Type::Real, Expression::call("ratio", [product]));
                    let fused = |factor: f64, product, sum| {
                        Expression::call("fused", [Expression::number(factor), product, sum])
                    };
                    sum = fused(factor, Expression::Value(value), sum);
                    let magnitude = Expression::call("magnitude", [Expression::Value(value)]);
                    size = fused(factor.abs(), magnitude, size);
                }
            }
            OperationKind::Factor => {
                let mut sum = None;
                for term in rest.get(3..)?.chunks_exact(3) {
                    let coupling = Expression::Value(at(graph, term[0])?);
                    let re = *numbers.get(term[1] as usize)?;
                    let im = *numbers.get(term[2] as usize)?;
                    let coefficient = || Expression::call("cx", [re, im].map(Expression::number));
                    sum = Some(match (sum, [re, im]) {
                        (None, [1.0, 0.0]) => coupling,
                        (None, [-1.0, 0.0]) => Expression::Negative(Box::new(coupling)),
                        (None, [x, 0.0]) => {
                            Expression::call("scale", [coupling, Expression::number(x)])
                        }
                        (None, _) => Expression::infix(coefficient(), "*", coupling),
                        (Some(sum), _) => {
                            Expression::call("mul_add", [coefficient(), coupling, sum])
                        }
                    });
                }
                let mut value = sum.unwrap_or_else(|| Expression::Leaf("cx(0, 0)".into()));
                if rest[0] != 0 {
                    let propagator = at(graph, rest[1])?;
                    value = match has_no_width(graph, propagator) {
                        // Its imaginary part is zero.
                        true => Expression::call("scale", [value, Expression::re(propagator)]),
                        false => Expression::infix(value, "*", Expression::Value(propagator)),
                    };
                }
                graph.push(Type::Complex, value)
            }
            OperationKind::ExternalScalar => {
                graph.literal(Type::Complex, Expression::call("external_scalar", []))
            }
            OperationKind::ExternalIn
            | OperationKind::ExternalOut
            | OperationKind::ExternalVector
            | OperationKind::ExternalTensor
            | OperationKind::ExternalRaritaIn
            | OperationKind::ExternalRaritaOut => {
                let (function, class) = match operation.kind {
                    OperationKind::ExternalIn => ("external_in", Type::Four),
                    OperationKind::ExternalOut => ("external_out", Type::Four),
                    OperationKind::ExternalTensor => ("external_tensor", Type::Sixteen),
                    OperationKind::ExternalRaritaIn => ("external_rarita_in", Type::Sixteen),
                    OperationKind::ExternalRaritaOut => ("external_rarita_out", Type::Sixteen),
                    _ => ("external_vector", Type::Four),
                };
                let arguments = [
                    Expression::Value(at(graph, rest[0])?),
                    number_of(&rest[1])?,
                    Expression::Integer(rest[2].into()),
                    self.fixed_helicity(rest[0]).unwrap_or(signed(rest[3])),
                    signed(rest[4]),
                ];
                graph.push(class, Expression::call(function, arguments))
            }
            OperationKind::Opcode(opcode) => {
                let mut fetch = |operand: u32, _: Access| graph.memory.get(&operand).copied();
                let operands = self.operands(opcode, op, false, &mut fetch)?;
                self.opcode(graph, opcode, &operands)?
            }
            OperationKind::Sum => return None,
        };
        graph.memory.insert(result, id);
        Some(())
    }

    /// Returns the helicity of a leg, given the address of its momentum, if it is fixed in subsets.
    fn fixed_helicity(&self, momentum: Address) -> Option<Expression> {
        let leg = (momentum - self.tables.leg_momenta) as usize / 4;
        let fixed = *self.subsets?.fixed.get(leg)?;
        fixed.then_some(Expression::Helicity(leg))
    }

    /// Returns the operands of a kernel: numbers unchanged, all others as values; the result is omitted unless the
    /// kernel also reads it.
    pub(super) fn operands(
        &self,
        opcode: Opcode,
        op: &[u32],
        tables: bool,
        fetch: &mut dyn FnMut(u32, Access) -> Option<Id>,
    ) -> Option<Vec<ValueOperand>> {
        let batch = Batch::stream(opcode, op.to_vec());
        let mut operands = Vec::new();
        let mut sound = true;
        visit(&batch, self.general, tables, &mut |operand, access| {
            operands.push(match access {
                Access::Number => ValueOperand::Number(operand),
                Access::Write(vectors) => ValueOperand::Result(operand, vectors),
                _ => match fetch(operand, access) {
                    Some(id) => ValueOperand::Value(id),
                    None => {
                        sound = false;
                        ValueOperand::Number(0)
                    }
                },
            });
        })?;
        sound.then_some(operands)
    }

    /// Returns the value of a kernel's operation.
    pub(super) fn opcode(
        &self,
        graph: &mut ValueGraph,
        opcode: Opcode,
        operands: &[ValueOperand],
    ) -> Option<Id> {
        let name = OperationKind::Opcode(opcode).name();
        let value = |i: usize| operands.get(i)?.value();
        let count = |i: usize| operands.get(i)?.number();
        let values = |from: usize, to: usize| (from..to).map(value).collect::<Option<Vec<Id>>>();
        let last = operands.len().checked_sub(1)?;
        match opcode {
            Opcode::SumFfv1 | Opcode::SumFfv2 | Opcode::SumFfv3 => {
                let mode = count(0)? as u32;
                let (plus, minus) = (count(1)?, count(2)?);
                let tail = 3 + 2 * (plus + minus);
                let term = format!("term_{}", &name[3..]);
                let terms = |from: usize, n: usize| {
                    (0..n)
                        .map(|i| values(from + 2 * i, from + 2 * i + 2))
                        .collect::<Option<Vec<_>>>()
                };
                let (added, subtracted) = (terms(3, plus)?, terms(3 + 2 * plus, minus)?);
                let mut sum = graph.terms(Type::Four, &term, &added, &subtracted);
                if opcode != Opcode::SumFfv3 && mode & Mode::BARE == 0 {
                    let function = match opcode {
                        Opcode::SumFfv1 => "propagate_out",
                        _ => "propagate_in",
                    };
                    let of = [sum, value(tail + 1)?, value(tail + 2)?];
                    sum = graph.call(Type::Four, function, &of);
                }
                graph.finish(mode, value(tail)?, sum, value(last))
            }
            Opcode::SumVvv1 => sum_of_gluons(graph, operands),
            Opcode::SumVvvvDiff1 => {
                let mode = count(0)? as u32;
                let terms = count(1)?;
                let three = (0..terms).map(|i| values(2 + 3 * i, 5 + 3 * i));
                let three = three.collect::<Option<Vec<_>>>()?;
                let sum = graph.terms(Type::Four, "term_VvvvDiff1", &three, &[]);
                graph.finish(mode, value(2 + 3 * terms)?, sum, value(last))
            }
            Opcode::SumVss1 | Opcode::ScalarVertex | Opcode::SumSss1 => {
                scalar_sums::sum(graph, opcode, operands)
            }
            Opcode::Add => {
                let (plus, minus) = (count(0)?, count(1)?);
                let mut sum = None;
                for i in 0..plus + minus {
                    let mut next = value(2 + i)?;
                    if i >= plus {
                        next = graph.call(Type::Four, "negative", &[next]);
                    }
                    sum = Some(match sum {
                        None => next,
                        Some(sum) => graph.call(Type::Four, "add_four", &[sum, next]),
                    });
                }
                sum
            }
            Opcode::DensitySpinor | Opcode::DensityVector | Opcode::DensityScalar => {
                let (class, zero) = match opcode {
                    Opcode::DensityScalar => (Type::Real, Expression::Leaf("Real(0)".into())),
                    _ => (Type::Matrix, Expression::call("no_matrix", [])),
                };
                let (single, paired) = (count(0)?, count(1)?);
                let mut sum = graph.literal(class, zero);
                for i in 0..single + paired {
                    if i == single && single > 0 {
                        sum = graph.call(class, "half_of", &[sum]);
                    }
                    sum = graph.call(class, format!("term_{name}"), &[value(2 + i)?, sum]);
                }
                Some(match single > 0 && paired == 0 {
                    true => graph.call(class, "half_of", &[sum]),
                    false => sum,
                })
            }
            Opcode::Dots => None,
            _ => {
                let ValueOperand::Result(_, vectors) = operands[last] else {
                    return None;
                };
                let of = values(0, last)?;
                Some(graph.call(Type::from_vectors(vectors)?, name, &of))
            }
        }
    }

    /// Converts one or more amplitudes of a helicity.
    fn amplitude(
        &self,
        graph: &mut ValueGraph,
        operation: &Operation,
        waves: &[Address],
        workspace: &mut HashMap<Address, Id>,
    ) -> Option<()> {
        let OperationKind::Opcode(opcode) = operation.kind else {
            return None;
        };
        let mut fetch = |operand: u32, access: Access| {
            let address = match access {
                Access::Indexed(_) => *waves.get(operand as usize)?,
                _ => operand,
            };
            graph.memory.get(&address).copied()
        };
        let operands = self.operands(opcode, operation.operands, true, &mut fetch)?;
        if opcode != Opcode::Dots {
            let id = self.opcode(graph, opcode, &operands)?;
            workspace.insert(*operation.operands.last()?, id);
            return Some(());
        }
        let ValueOperand::Value(one) = *operands.first()? else {
            return None;
        };
        for pair in operands.get(2..)?.chunks(2) {
            let [ValueOperand::Value(other), ValueOperand::Result(at, _)] = *pair else {
                return None;
            };
            let id = graph.call(Type::Complex, "DotSpinor0", &[one, other]);
            workspace.insert(at, id);
        }
        Some(())
    }

    /// Converts a sum of amplitudes.
    fn sum(
        &self,
        graph: &mut ValueGraph,
        op: &[u32],
        workspace: &mut HashMap<Address, Id>,
    ) -> Option<()> {
        let (counts, rest) = op.split_at_checked(5)?;
        let (&result, mut rest) = rest.split_last()?;
        let mut sum: Option<Id> = None;
        for (unit, &count) in counts[..4].iter().enumerate() {
            let (mine, others) = rest.split_at_checked(count as usize)?;
            rest = others;
            for address in mine {
                let id = *workspace.get(address)?;
                sum = Some(match (sum, unit) {
                    (None, 0) => id,
                    (Some(sum), 0) => graph.infix(Type::Complex, sum, "+", id),
                    (Some(sum), 1) => graph.infix(Type::Complex, sum, "-", id),
                    (Some(sum), 2) => graph.call(Type::Complex, "add_i", &[sum, id]),
                    (Some(sum), _) => graph.call(Type::Complex, "sub_i", &[sum, id]),
                    (None, 1) => graph.call(Type::Complex, "-", &[id]),
                    (None, 2) => graph.call(Type::Complex, "times_i", &[id]),
                    (None, _) => graph.call(Type::Complex, "- times_i", &[id]),
                });
            }
        }
        for term in rest.chunks_exact(4) {
            // The number is complex, with its real part at the smaller address.
            let first = term[0].min(term[1]);
            let id = *workspace.get(&first)?;
            let part = |address: u32| match address == first {
                true => Expression::re(id),
                false => Expression::im(id),
            };
            let factor = |i: u32| {
                let number = self.tables.numbers.get(i as usize)?;
                Some(Expression::number(*number))
            };
            let (re, im) = (part(term[0]), part(term[1]));
            let (x, y) = (factor(term[2])?, factor(term[3])?);
            let (re, im) = match sum {
                None => (Expression::infix(x, "*", re), Expression::infix(y, "*", im)),
                Some(sum) => (
                    Expression::call("fused", [x, re, Expression::re(sum)]),
                    Expression::call("fused", [y, im, Expression::im(sum)]),
                ),
            };
            sum = Some(graph.push(Type::Complex, Expression::call("cx", [re, im])));
        }
        let sum = match sum {
            Some(sum) => sum,
            None => graph.literal(Type::Complex, Expression::Leaf("cx(0, 0)".into())),
        };
        workspace.insert(result, sum);
        Some(())
    }
}

/// Returns whether a propagator has no width.
fn has_no_width(graph: &ValueGraph, propagator: Id) -> bool {
    match &graph.values[propagator].expression {
        Expression::Call(function, of) => {
            function == "line"
                || function == "propagator" && of.last() == Some(&Expression::number(0.0))
        }
        _ => false,
    }
}

/// The vectors from vertices of three and of four gluons.
fn sum_of_gluons(graph: &mut ValueGraph, operands: &[ValueOperand]) -> Option<Id> {
    let value = |i: usize| operands.get(i)?.value();
    let count = |i: usize| operands.get(i)?.number();
    let values = |from: usize, to: usize| (from..to).map(value).collect::<Option<Vec<Id>>>();
    let mode = count(0)? as u32;
    let (threes, plus, minus) = (count(1)?, count(2)?, count(3)?);
    let four = 4 + 4 * threes;
    let tail = four + 3 * (plus + minus);
    let three = (0..threes).map(|i| values(4 + 4 * i, 8 + 4 * i));
    let three = three.collect::<Option<Vec<_>>>()?;
    let terms = |from: usize, n: usize| {
        (0..n)
            .map(|i| values(from + 3 * i, from + 3 * i + 3))
            .collect::<Option<Vec<_>>>()
    };
    let (added, subtracted) = (terms(four, plus)?, terms(four + 3 * plus, minus)?);
    let mut result = None;
    if plus + minus > 0 {
        let sum = graph.terms(Type::Four, "term_gluons", &added, &subtracted);
        result = Some(graph.scaled(Type::Four, value(tail + 1)?, sum, None));
    }
    if threes > 0 {
        let sum = graph.terms(Type::Four, "term_Vvv1", &three, &[]);
        result = Some(graph.scaled(Type::Four, value(tail)?, sum, result));
    }
    let result = result.unwrap_or_else(|| graph.zero(Type::Four));
    Some(match mode & Mode::ADD {
        0 => result,
        _ => graph.call(
            Type::Four,
            "add_four",
            &[result, value(operands.len().checked_sub(1)?)?],
        ),
    })
}
