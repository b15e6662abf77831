//! Derivation of the arithmetic of a Lorentz structure with any of its legs as the result, as in ALOHA
//! (arXiv:1108.2041).
//!
//! With the couplings `C` of a vertex, which include the factor i of the Feynman rule, and its structure `L`, an
//! amplitude is `-i C L`. An off-shell wavefunction is `C` times the derivative of `L` by the wavefunction of its leg,
//! times its propagator: `i/D` for a scalar, `i(pslash + M)/D` for a fermion, `i(-g + p p/M^2)/D` for a vector, without
//! the second term if massless; `D = p^2 - M(M - i W)`, or `p^2 - M^2` with a complex mass. Its momentum is the sum of
//! the other legs' momenta.

use super::expression::parse;
use super::lorentz::{Structure, TensorKind, TensorTerm, indices_of};
use super::momenta::collected;
use super::tensor::{Algebra, Line, METRIC, Tensor};
use super::work::work;
use mebridge_process::arith::{Builder, Comparison, Function, Op, ValueId};
use mebridge_process::lorentz::Routine;
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;

/// The part of a propagator that is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PropagatorPart {
    /// The whole propagator.
    #[default]
    Whole,
    /// The longitudinal part of a vector's.
    Longitudinal,
    /// The transverse part of a vector's.
    Transverse,
    /// The part of a vector's that vanishes on its mass shell.
    Auxiliary,
    /// The helicity 1 part of a fermion's.
    Right,
    /// The helicity -1 part of a fermion's.
    Left,
}

/// Selects one of the routines that can be derived from a structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoutineForm {
    /// Spins of the legs (2s + 1).
    pub spins: Vec<u8>,
    /// The resulting leg (from 0); `None` for an amplitude.
    pub result: Option<usize>,
    /// Whether the result is massless, or a vector in the Feynman gauge, whose propagator has the numerator of a
    /// massless one.
    pub massless: bool,
    /// Whether the mass of the result is complex: it then follows the couplings, and there is no width.
    pub complex: bool,
    /// The custom propagator of the result, if any.
    pub own: Option<u32>,
    /// The part of the result's propagator that is used.
    pub part: PropagatorPart,
    /// Whether each leg takes the charge conjugate of its wavefunction: if the first of two fermions flows out, or the
    /// second one in.
    pub conjugated: Vec<bool>,
}

impl RoutineForm {
    /// The form in which fermions flow as in the vertex.
    pub fn plain(
        model: &super::Model,
        particles: &[super::ParticleId],
        result: Option<usize>,
    ) -> RoutineForm {
        let of = |leg: usize| model.properties(particles[leg]);
        RoutineForm {
            spins: particles
                .iter()
                .map(|&p| model.properties(p).spin)
                .collect(),
            result,
            massless: result.is_some_and(|leg| of(leg).mass.is_none() || of(leg).feynman),
            complex: result.is_some_and(|leg| of(leg).complex_mass.is_some()),
            own: result.and_then(|leg| of(leg).propagator),
            part: PropagatorPart::Whole,
            conjugated: vec![false; particles.len()],
        }
    }

    /// A unique form for all forms with the same routine.
    pub fn normal(mut self) -> RoutineForm {
        self.massless &= self.result.is_some_and(|leg| self.spins[leg] > 2);
        self
    }

    /// The suffix of the routine's name: that of ALOHA, if it has such a form.
    pub fn suffix(&self) -> String {
        let part = match self.part {
            PropagatorPart::Whole if self.massless && self.own.is_none() => "P0",
            PropagatorPart::Whole => "",
            PropagatorPart::Longitudinal => "P1L",
            PropagatorPart::Transverse => "P1T",
            PropagatorPart::Auxiliary => "P1A",
            PropagatorPart::Right => "P1P",
            PropagatorPart::Left => "P1M",
        };
        let own = self.own.map_or(String::new(), |own| format!("P{own}O"));
        let legs = (1..).zip(&self.conjugated).filter(|(_, c)| **c);
        let conjugated: String = legs.map(|(leg, _)| format!("C{leg}")).collect();
        let form = self.result.map_or(0, |leg| leg + 1);
        let complex = if self.complex { "CM" } else { "" };
        format!("{own}{conjugated}{part}{complex}_{form}")
    }
}

/// Derives the routine of structures with one coupling each, in a form; `own` is the custom propagator of the form.
pub fn derive(
    name: String,
    structures: &[&Structure],
    form: &RoutineForm,
    own: Option<&super::Propagator>,
) -> Result<Routine, String> {
    let mut best: Option<(usize, Routine)> = None;
    let mut take = |structures: &[&Structure]| -> Result<(), String> {
        for factor in [Factor::Structures, Factor::Tensors] {
            for last in [false, true] {
                let routine = derive_by(factor, last, name.clone(), structures, form, own)?;
                let work = work(&routine.program);
                if best.as_ref().is_none_or(|(least, _)| work < *least) {
                    best = Some((work, routine));
                }
            }
        }
        Ok(())
    };
    take(structures)?;
    for structures in collections(structures, form) {
        take(&structures.iter().collect::<Vec<_>>())?;
    }
    best.map(|(_, routine)| routine)
        .ok_or_else(|| format!("{name} has no form"))
}

/// Derives the routine from the terms as they are written.
#[cfg(test)]
pub(super) fn as_written(
    name: String,
    structures: &[&Structure],
    form: &RoutineForm,
) -> Result<Routine, String> {
    derive_by(Factor::Structures, false, name, structures, form, None)
}

/// Alternative terms of the same structures: collected, and without the momentum of one leg. For an amplitude no
/// momentum is eliminated: all are arguments, and conservation is up to the caller.
fn collections(structures: &[&Structure], form: &RoutineForm) -> Vec<Vec<Structure>> {
    let momenta = |term: &TensorTerm| {
        let kinds = term.tensors.iter().map(|tensor| tensor.kind);
        kinds
            .filter(|kind| matches!(kind, TensorKind::Momentum(_) | TensorKind::Epsilon))
            .count()
    };
    // Otherwise there is nothing to collect.
    if !structures
        .iter()
        .any(|s| s.terms.iter().any(|t| momenta(t) > 1))
    {
        return Vec::new();
    }
    let legs = form.spins.len() as u8;
    let without = (1..=legs).filter(|_| form.result.is_some()).map(Some);
    let all = std::iter::once(None).chain(without).filter_map(|without| {
        let all = structures.iter().map(|s| collected(s, legs, without));
        all.collect::<Option<Vec<Structure>>>()
    });
    all.filter(|all| all.iter().any(|s| !s.terms.is_empty()))
        .collect()
}

/// The factors that are multiplied by couplings.
#[derive(Clone, Copy, PartialEq)]
enum Factor {
    /// The sum of a structure's terms.
    Structures,
    /// Each tensor with the index of the result, once: products of momenta and vectors are numbers, and many terms
    /// differ only by these.
    Tensors,
}

/// Derives a routine in one way; with `last`, the last of equally good contractions is carried out first.
fn derive_by(
    factor: Factor,
    last: bool,
    name: String,
    structures: &[&Structure],
    form: &RoutineForm,
    own: Option<&super::Propagator>,
) -> Result<Routine, String> {
    let spins = &form.spins;
    let result = form.result;
    let legs = 0..spins.len();
    let arguments: Vec<usize> = legs.filter(|&leg| Some(leg) != result).collect();
    let components = |spin: u8| match spin {
        1 => 3,
        2 | 3 => 6,
        _ => 18,
    };
    let mut routine = Routine {
        name,
        inputs: arguments
            .iter()
            .map(|&leg| components(spins[leg]))
            .collect(),
        couplings: structures.len() as u32 + u32::from(form.complex),
        massive: result.is_some(),
        program: Default::default(),
        outputs: Vec::new(),
    };
    let mut derivation = Derivation {
        algebra: Algebra {
            builder: Builder::new(routine.program_inputs()),
        },
        routine: &routine,
        arguments: &arguments,
        form,
        last,
    };
    let of_result = result.map_or(Vec::new(), |leg| indices_of(leg as i32 + 1, spins[leg]));
    let mut sum = Entries::new();
    match factor {
        Factor::Structures => {
            for (coupling, structure) in (0..).zip(structures) {
                let coupling = derivation.coupling(coupling);
                let mut own = Entries::new();
                for term in &structure.terms {
                    let tensors = derivation.tensors(term);
                    let value = derivation.contracted(tensors).ordered(&of_result);
                    for (at, entry) in value.entries {
                        derivation.algebra.add(&mut own, at, entry);
                    }
                }
                derivation.add_times(&mut sum, own, coupling);
            }
        }
        Factor::Tensors => {
            // The factor of each tensor, by coupling.
            let mut tensors: SortedMap<Entries, SortedMap<u32, ValueId>> = SortedMap::new();
            for (coupling, structure) in (0..).zip(structures) {
                for term in &structure.terms {
                    let all = derivation.tensors(term);
                    let (number, tensor) = derivation.split(all);
                    let numbers = tensors
                        .entry(tensor.ordered(&of_result).entries)
                        .or_default();
                    let number = match numbers.get(&coupling) {
                        Some(&before) => derivation.algebra.plus(before, number),
                        None => number,
                    };
                    numbers.insert(coupling, number);
                }
            }
            for (entries, numbers) in tensors {
                let factors = numbers.into_iter().map(|(coupling, number)| {
                    let coupling = derivation.coupling(coupling);
                    derivation.algebra.mul(number, coupling)
                });
                let factors: Vec<ValueId> = factors.collect();
                let factor = added(&mut derivation.algebra, &factors);
                derivation.add_times(&mut sum, entries, factor);
            }
        }
    }
    let outputs = match result {
        None => vec![derivation.amplitude(&sum)],
        Some(leg) => derivation.wavefunction(leg, sum, own)?,
    };
    let (program, ids) = derivation.algebra.builder.finish().pruned(&outputs);
    routine.program = program;
    // Roots are never pruned.
    routine.outputs = outputs.iter().filter_map(|&v| ids[v as usize]).collect();
    Ok(routine)
}

/// Entries of a tensor by the values of its indices.
type Entries = SortedMap<Vec<u8>, ValueId>;

struct Derivation<'a> {
    algebra: Algebra,
    routine: &'a Routine,
    /// The leg of each argument.
    arguments: &'a [usize],
    form: &'a RoutineForm,
    last: bool,
}

/// Components of a momentum in a wavefunction: the index of the number, and its part.
const PARTS: [(u32, Function); 4] = [
    (0, Function::Re),
    (1, Function::Re),
    (1, Function::Im),
    (0, Function::Im),
];

impl Derivation<'_> {
    fn coupling(&mut self, number: u32) -> ValueId {
        self.algebra
            .builder
            .input(self.routine.coupling_input(number))
    }

    /// Adds entries times a factor.
    fn add_times(&mut self, sum: &mut Entries, entries: Entries, factor: ValueId) {
        for (at, entry) in entries {
            let entry = self.algebra.mul(entry, factor);
            self.algebra.add(sum, at, entry);
        }
    }

    /// The tensors of a term and the wavefunctions of the arguments; common indices are to be summed over.
    fn tensors(&mut self, term: &TensorTerm) -> Vec<Tensor> {
        let factor = self.algebra.number(term.factor);
        let mut tensors = vec![Tensor {
            indices: Vec::new(),
            entries: SortedMap::from([(Vec::new(), factor)]),
        }];
        for (argument, &leg) in self.arguments.iter().enumerate() {
            let indices = indices_of(leg as i32 + 1, self.form.spins[leg]);
            let size = 4u32.pow(indices.len() as u32);
            let first = self.routine.wavefunction_input(argument, 2);
            let values = (0..size).map(|i| self.algebra.builder.input(first + i));
            let values: Vec<ValueId> = values.collect();
            let tensor = Tensor {
                entries: (0..)
                    .zip(values)
                    .map(|(i, v)| (digits(i, indices.len()), v))
                    .collect(),
                indices,
            };
            tensors.push(self.conjugated(leg, tensor));
        }
        let (routine, arguments) = (self.routine, self.arguments);
        let momentum = |algebra: &mut Algebra, leg: u8| {
            let leg = usize::from(leg) - 1;
            match arguments.iter().position(|&l| l == leg) {
                Some(argument) => momentum(algebra, routine, argument),
                // The outgoing momentum of the result is minus the sum of the others.
                None => total(algebra, routine).map(|x| algebra.neg(x)),
            }
        };
        for named in &term.tensors {
            tensors.push(self.algebra.tensor(named, &momentum, None));
        }
        tensors
    }

    /// Splits the product of tensors into a number, from the groups without open indices, and the rest.
    fn split(&mut self, tensors: Vec<Tensor>) -> (ValueId, Tensor) {
        let mut groups: Vec<Vec<Tensor>> = Vec::new();
        for tensor in tensors {
            let joined = |group: &Vec<Tensor>| {
                let mut indices = group.iter().flat_map(|other| &other.indices);
                indices.any(|index| tensor.indices.contains(index))
            };
            let (mut all, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(joined);
            groups = others;
            all.push(vec![tensor]);
            groups.push(all.concat());
        }
        let mut number = self.algebra.builder.real(1.0);
        let mut rest = Vec::new();
        for group in groups {
            let product = self.contracted(group);
            if product.indices.is_empty() {
                let zero = self.algebra.builder.real(0.0);
                let value = product.entries.get(&Vec::new()).copied().unwrap_or(zero);
                number = self.algebra.mul(number, value);
            } else {
                rest.push(product);
            }
        }
        if rest.is_empty() {
            let one = self.algebra.builder.real(1.0);
            rest.push(Tensor {
                indices: Vec::new(),
                entries: SortedMap::from([(Vec::new(), one)]),
            });
        }
        (number, self.contracted(rest))
    }

    /// The product of tensors, summed over common indices.
    fn contracted(&mut self, mut tensors: Vec<Tensor>) -> Tensor {
        // Two at a time, in the order of the smallest products.
        while tensors.len() > 1 {
            let mut best = (usize::MAX, 0, 1);
            for i in 0..tensors.len() {
                for j in i + 1..tensors.len() {
                    let (a, b) = (&tensors[i], &tensors[j]);
                    let shared = a.indices.iter().filter(|x| b.indices.contains(x)).count();
                    let rank = a.indices.len() + b.indices.len() - 2 * shared;
                    // Numbers last, so that they multiply few entries.
                    let cost = 4 * rank + if shared == 0 { 2 } else { 0 };
                    if cost < best.0 || self.last && cost == best.0 {
                        best = (cost, i, j);
                    }
                }
            }
            let second = tensors.remove(best.2);
            let first = tensors.remove(best.1);
            let product = self.algebra.contract(&first, &second);
            tensors.push(product);
        }
        tensors.swap_remove(0)
    }

    /// The charge conjugate of a leg's wavefunction, if the form requires it: `C`, transposed, times one that flows out
    /// for a leg that flows in, and the reverse. So the conjugate of `OXXXXX` is `IXXXXX` including its sign, which
    /// reversed lines rely on, because a diagram may mix both.
    fn conjugated(&mut self, leg: usize, wavefunction: Tensor) -> Tensor {
        if !self.form.conjugated[leg] {
            return wavefunction;
        }
        let own = (leg as i32 + 1, false);
        // An index that no structure uses.
        let between = (i32::MAX, false);
        let mut other = wavefunction;
        for index in &mut other.indices {
            if *index == own {
                *index = between;
            }
        }
        let indices = match leg.is_multiple_of(2) {
            true => vec![between.0, own.0],
            false => vec![own.0, between.0],
        };
        let matrix = super::lorentz::Tensor {
            kind: TensorKind::C,
            indices,
        };
        let no_momentum = |algebra: &mut Algebra, _: u8| [algebra.builder.real(0.0); 4];
        let matrix = self.algebra.tensor(&matrix, &no_momentum, None);
        let order = indices_of(own.0, self.form.spins[leg]);
        self.algebra.contract(&matrix, &other).ordered(&order)
    }

    /// The components of a leg's wavefunction, without the denominator: a propagator's numerator in the language of
    /// structures, contracted with the sum at its other end.
    fn propagated(
        &mut self,
        leg: usize,
        sum: &SortedMap<Vec<u8>, ValueId>,
        numerator: &Structure,
        p: [ValueId; 4],
        line: Line,
    ) -> Result<Vec<ValueId>, String> {
        let spin = self.form.spins[leg];
        // If a fermion flows out of the vertex, the propagator's first index is that of the wavefunction.
        let swapped = spin.is_multiple_of(2) && leg % 2 == 1;
        let (from, to) = if swapped { (2, 1) } else { (1, 2) };
        // The indices of spin 2 are 1 and 51 at one end, 2 and 52 at the other.
        let ends = |end: i32| match spin {
            1 => Vec::new(),
            2 => vec![(end, false)],
            3 => vec![(end, true)],
            4 => vec![(end, true), (end, false)],
            _ => vec![(end, true), (end + 50, true)],
        };
        let source = Tensor {
            indices: ends(from),
            entries: sum.clone(),
        };
        let mut total = SortedMap::new();
        for term in &numerator.terms {
            let factor = self.algebra.number(term.factor);
            let mut tensors = vec![
                Tensor {
                    indices: Vec::new(),
                    entries: SortedMap::from([(Vec::new(), factor)]),
                },
                source.clone(),
            ];
            // `P` goes out of the vertex; a fermion that flows into the vertex has the opposite momentum.
            let flipped = spin.is_multiple_of(2) && !swapped;
            let momentum = |algebra: &mut Algebra, _: u8| match flipped {
                true => p,
                false => p.map(|x| algebra.neg(x)),
            };
            for named in &term.tensors {
                tensors.push(self.algebra.tensor(named, &momentum, Some(line)));
            }
            let value = self.contracted(tensors);
            let mut order = ends(to);
            if value.indices.len() != order.len()
                || !order.iter().all(|i| value.indices.contains(i))
            {
                return Err(
                    "the indices of a propagator do not fit the spin of its particle".into(),
                );
            }
            let value = value.ordered(&std::mem::take(&mut order));
            for (at, entry) in value.entries {
                self.algebra.add(&mut total, at, entry);
            }
        }
        let zero = self.algebra.builder.real(0.0);
        let size = ends(to).len();
        let count = 4u32.pow(size as u32);
        Ok((0..count)
            .map(|i| total.get(&digits(i, size)).copied().unwrap_or(zero))
            .collect())
    }

    /// The value of a scalar structure of momenta, mass and width.
    fn scalar(
        &mut self,
        structure: &Structure,
        p: [ValueId; 4],
        line: Line,
    ) -> Result<ValueId, String> {
        let momentum = |algebra: &mut Algebra, _: u8| p.map(|x| algebra.neg(x));
        let mut sum = SortedMap::new();
        for term in &structure.terms {
            let factor = self.algebra.number(term.factor);
            let mut tensors = vec![Tensor {
                indices: Vec::new(),
                entries: SortedMap::from([(Vec::new(), factor)]),
            }];
            for named in &term.tensors {
                tensors.push(self.algebra.tensor(named, &momentum, Some(line)));
            }
            let value = self.contracted(tensors);
            if !value.indices.is_empty() {
                return Err("the denominator of a propagator has indices".into());
            }
            for (at, entry) in value.entries {
                self.algebra.add(&mut sum, at, entry);
            }
        }
        let zero = self.algebra.builder.real(0.0);
        Ok(sum.get(&Vec::new()).copied().unwrap_or(zero))
    }

    /// The denominator of ALOHA's propagators: `p^2 - M(M - i W)`, or `p^2 - M^2` with a complex mass.
    fn below(&mut self, square: ValueId, line: Line) -> ValueId {
        let builder = &mut self.algebra.builder;
        let pole = match self.form.complex {
            true => line.mass,
            false => {
                let i = builder.complex(0.0, 1.0);
                let width = builder.push(Op::Mul(i, line.width));
                builder.push(Op::Sub(line.mass, width))
            }
        };
        let pole = builder.push(Op::Mul(line.mass, pole));
        builder.push(Op::Sub(square, pole))
    }

    /// `-i` times the sum.
    fn amplitude(&mut self, sum: &SortedMap<Vec<u8>, ValueId>) -> ValueId {
        let factor = self.algebra.builder.complex(0.0, -1.0);
        match sum.get(&Vec::new()) {
            Some(&value) => self.algebra.mul(factor, value),
            None => self.algebra.builder.real(0.0),
        }
    }

    /// The wavefunction of a leg: the two numbers of its momentum and its components.
    #[expect(
        clippy::too_many_lines,
        reason = "a case for each kind of wavefunction"
    )]
    fn wavefunction(
        &mut self,
        leg: usize,
        sum: SortedMap<Vec<u8>, ValueId>,
        own: Option<&super::Propagator>,
    ) -> Result<Vec<ValueId>, String> {
        let form = self.form;
        let spin = form.spins[leg];
        let massless = form.massless;
        let text = match form.part {
            PropagatorPart::Whole if own.is_some() => None,
            PropagatorPart::Whole => match (spin, massless) {
                (1..=3, _) => None,
                (4, false) => Some([RARITA, ""]),
                (4, true) => Some([
                    if leg.is_multiple_of(2) {
                        RARITA_MASSLESS_OUT
                    } else {
                        RARITA_MASSLESS_IN
                    },
                    "",
                ]),
                (_, true) => Some([TENSOR_MASSLESS, ""]),
                _ => Some([TENSOR, ""]),
            },
            PropagatorPart::Longitudinal => Some(LONGITUDINAL),
            PropagatorPart::Transverse => Some(TRANSVERSE),
            PropagatorPart::Auxiliary => Some(AUXILIARY),
            PropagatorPart::Right | PropagatorPart::Left => None,
        };
        let structure = |text: &str| parse(text).and_then(|expr| Structure::of_propagator(&expr));
        let denominates = own.is_some_and(|own| own.denominator.is_some());
        if form.complex && (form.part != PropagatorPart::Whole || denominates) {
            return Err(match own {
                Some(own) if denominates => format!(
                    "propagator {}: one with its own denominator cannot have a complex mass; generate without --complex-masses",
                    own.name
                ),
                _ => "a polarised decaying particle cannot have a complex mass, as in MG5aMC; generate without \
                      --complex-masses, or without its polarisation"
                    .into(),
            });
        }
        let (numerator, denominator) = match (text, own) {
            (Some([numerator, denominator]), _) => {
                let denominator = Some(denominator).filter(|d| !d.is_empty());
                (
                    Some(structure(numerator)?),
                    denominator.map(structure).transpose()?,
                )
            }
            (None, Some(own)) => {
                let within = |what: String| format!("propagator {}: {what}", own.name);
                if spin == 4 {
                    return Err(within("particles of spin 3/2 have that of ALOHA".into()));
                }
                let numerator = Structure::of_propagator(&own.numerator).map_err(within)?;
                let denominator = own.denominator.as_ref();
                let denominator = denominator
                    .map(Structure::of_propagator)
                    .transpose()
                    .map_err(within)?;
                (Some(numerator), denominator)
            }
            (None, None) => (None, None),
        };
        let routine = self.routine;
        let algebra = &mut self.algebra;
        let mut outputs: Vec<ValueId> = [0, 1]
            .map(|number| {
                let inputs = 0..routine.inputs.len();
                let inputs = inputs.map(|a| routine.wavefunction_input(a, number));
                let inputs: Vec<ValueId> = inputs.map(|n| algebra.builder.input(n)).collect();
                added(algebra, &inputs)
            })
            .to_vec();
        let mut p = total(algebra, routine);
        let (mass, width) = match form.complex {
            false => (routine.mass_input(), Some(routine.mass_input() + 1)),
            true => (routine.coupling_input(routine.couplings - 1), None),
        };
        let mass = algebra.builder.input(mass);
        let width = match width {
            Some(width) => algebra.builder.input(width),
            None => algebra.builder.real(0.0),
        };
        let squares: Vec<ValueId> = p
            .iter()
            .zip(METRIC)
            .map(|(&x, sign)| {
                let sign = algebra.builder.real(sign);
                let square = algebra.builder.push(Op::Mul(x, x));
                algebra.mul(sign, square)
            })
            .collect();
        let square = added(algebra, &squares);
        if matches!(
            form.part,
            PropagatorPart::Longitudinal | PropagatorPart::Transverse
        ) {
            p = off_the_axis(algebra, p);
        }
        let i = algebra.builder.complex(0.0, 1.0);
        if let Some(numerator) = numerator {
            let line = Line { mass, width };
            let below = match &denominator {
                Some(denominator) => self.scalar(denominator, p, line)?,
                None => self.below(square, line),
            };
            let factor = self.algebra.builder.push(Op::Div(i, below));
            let values = self.propagated(leg, &sum, &numerator, p, line)?;
            outputs.extend(values.into_iter().map(|x| self.algebra.mul(factor, x)));
            return Ok(self.conjugated_outputs(leg, outputs));
        }
        let below = self.below(square, Line { mass, width });
        let algebra = &mut self.algebra;
        let factor = algebra.builder.push(Op::Div(i, below));
        let zero = algebra.builder.real(0.0);
        let entry = |at: u8| sum.get(&vec![at]).copied().unwrap_or(zero);
        let numerators: Vec<ValueId> = match spin {
            1 => vec![sum.get(&Vec::new()).copied().unwrap_or(zero)],
            2 => {
                // pslash with p along the fermion flow, which goes out of the vertex if the leg is the second of its
                // pair.
                let first = leg.is_multiple_of(2);
                let helicity = match form.part {
                    PropagatorPart::Right => Some(1.0),
                    PropagatorPart::Left => Some(-1.0),
                    _ => None,
                };
                if let Some(helicity) = helicity {
                    let matrix = of_helicity(algebra, p, square, helicity, first);
                    let components = (0..4usize).map(|to| {
                        let terms = (0..4usize).map(|from| {
                            let (row, column) = if first { (from, to) } else { (to, from) };
                            algebra.mul(entry(from as u8), matrix[row][column])
                        });
                        let terms: Vec<ValueId> = terms.collect();
                        added(algebra, &terms)
                    });
                    let components: Vec<ValueId> = components.collect();
                    outputs.extend(components.into_iter().map(|x| algebra.mul(factor, x)));
                    return Ok(self.conjugated_outputs(leg, outputs));
                }
                let mut slash = SortedMap::new();
                let gamma = super::lorentz::Tensor {
                    kind: TensorKind::Gamma,
                    indices: vec![-1, -2, -3],
                };
                let gamma = algebra.tensor(&gamma, &|_, _| p, None);
                for (at, &x) in &gamma.entries {
                    let mu = usize::from(at[0]);
                    let sign = METRIC[mu] * if first { 1.0 } else { -1.0 };
                    let sign = algebra.builder.real(sign);
                    let x = algebra.mul(sign, x);
                    let x = algebra.mul(x, p[mu]);
                    let at = if first {
                        (at[1], at[2])
                    } else {
                        (at[2], at[1])
                    };
                    algebra.add(&mut slash, vec![at.0, at.1], x);
                }
                (0..4)
                    .map(|to| {
                        let mut terms = vec![algebra.mul(mass, entry(to))];
                        for from in 0..4 {
                            if let Some(&x) = slash.get(&vec![from, to]) {
                                terms.push(algebra.mul(entry(from), x));
                            }
                        }
                        added(algebra, &terms)
                    })
                    .collect()
            }
            _ => {
                let plain: Vec<ValueId> = (0..4).map(|mu| algebra.neg(entry(mu))).collect();
                if massless {
                    plain
                } else {
                    let products: Vec<ValueId> = (0..4u8)
                        .map(|mu| {
                            let sign = algebra.builder.real(METRIC[usize::from(mu)]);
                            let x = algebra.mul(p[usize::from(mu)], entry(mu));
                            algebra.mul(sign, x)
                        })
                        .collect();
                    let along = added(algebra, &products);
                    let mass2 = algebra.builder.push(Op::Mul(mass, mass));
                    let along = algebra.builder.push(Op::Div(along, mass2));
                    (0..4)
                        .map(|mu| {
                            let x = algebra.mul(p[mu], along);
                            algebra.plus(plain[mu], x)
                        })
                        .collect()
                }
            }
        };
        outputs.extend(numerators.into_iter().map(|x| algebra.mul(factor, x)));
        Ok(self.conjugated_outputs(leg, outputs))
    }

    /// The wavefunction of the result, or its charge conjugate if the form requires it.
    fn conjugated_outputs(&mut self, leg: usize, mut outputs: Vec<ValueId>) -> Vec<ValueId> {
        if !self.form.conjugated[leg] {
            return outputs;
        }
        let indices = indices_of(leg as i32 + 1, self.form.spins[leg]);
        let size = indices.len();
        let components = outputs.split_off(2);
        let wavefunction = Tensor {
            entries: (0..)
                .zip(components)
                .map(|(i, v)| (digits(i, size), v))
                .collect(),
            indices,
        };
        let conjugate = self.conjugated(leg, wavefunction);
        let zero = self.algebra.builder.real(0.0);
        let count = 4u32.pow(size as u32);
        outputs.extend((0..count).map(|i| {
            conjugate
                .entries
                .get(&digits(i, size))
                .copied()
                .unwrap_or(zero)
        }));
        outputs
    }
}

/// The values of the `count` indices of a component.
fn digits(component: u32, count: usize) -> Vec<u8> {
    let digit = |place: usize| (component >> (2 * (count - 1 - place)) & 3) as u8;
    (0..count).map(digit).collect()
}

/// Numerators for spin 3/2. A fermion that flows out of the vertex has the first indices, one that flows in the second
/// ones.
const RARITA: &str = "-1/3*(Gamma(1,1,-12) + Identity(1,-12)*P(1,id)*Mass(id)*OverMass2(id))\
    *(PSlash(-12,-13,id) - Identity(-12,-13)*Mass(id))\
    *(Gamma(2,-13,2) + Mass(id)*OverMass2(id)*Identity(-13,2)*P(2,id))\
    - (PSlash(1,2,id) + Mass(id)*Identity(1,2))*(Metric(1,2) - OverMass2(id)*P(1,id)*P(2,id))";
const RARITA_MASSLESS_IN: &str = "-1*Gamma(1,1,-11)*PSlash(-11,-12,id)*Gamma(2,-12,2)";
const RARITA_MASSLESS_OUT: &str = "-1*Gamma(2,1,-11)*PSlash(-11,-12,id)*Gamma(1,-12,2)";

/// Numerators for spin 2.
const TENSOR_MASSLESS: &str =
    "1/2*(Metric(1,2)*Metric(51,52) + Metric(1,52)*Metric(51,2) - Metric(1,51)*Metric(2,52))";
const TENSOR: &str = "1/2*(Metric(1,2)*Metric(51,52) + Metric(1,52)*Metric(51,2) - Metric(1,51)*Metric(2,52))\
    - 1/2*OverMass2(id)*(Metric(1,2)*P(51,id)*P(52,id) + Metric(51,52)*P(1,id)*P(2,id)\
    + Metric(1,52)*P(51,id)*P(2,id) + Metric(51,2)*P(1,id)*P(52,id))\
    + 1/6*(Metric(1,51) + 2*OverMass2(id)*P(1,id)*P(51,id))*(Metric(2,52) + 2*OverMass2(id)*P(2,id)*P(52,id))";

/// Parts of a vector's propagator: numerator and denominator.
const LONGITUDINAL: [&str; 2] = [
    "EPSL(1,id)*EPSL(2,id)",
    "-1*PVec(-2,id)*PVec(-2,id)*P(-3,id)*P(-3,id)*(P(-1,id)**2 - Mass(id)*Mass(id) + complex(0,1)*Mass(id)*Width(id))",
];
const TRANSVERSE: [&str; 2] = [
    "-1*PVec(-2,id)*PVec(-2,id)*EPST2(1,id)*EPST2(2,id) + EPST1(1,id)*EPST1(2,id)",
    "PVec(-2,id)*PVec(-2,id)*PT(-3,id)*PT(-3,id)*(P(-1,id)**2 - Mass(id)*Mass(id) + complex(0,1)*Mass(id)*Width(id))",
];
const AUXILIARY: [&str; 2] = [
    "(P(-2,id)**2 - Mass(id)**2)*P(1,id)*P(2,id)",
    "P(-2,id)**2*Mass(id)**2*(P(-1,id)**2 - Mass(id)*Mass(id) + complex(0,1)*Mass(id)*Width(id))",
];

/// A momentum for polarisation directions: one along the z axis, or at rest, is moved slightly off the axis, as in
/// ALOHA.
fn off_the_axis(algebra: &mut Algebra, p: [ValueId; 4]) -> [ValueId; 4] {
    let size = algebra.builder.push(Op::Call(Function::Abs, p[0]));
    let small = algebra.builder.real(1e-10);
    let size = algebra.builder.push(Op::Mul(size, small));
    // Signs are reversed, because the momentum here has the opposite direction.
    let least = [-1e-30, -0.0, -1e-15];
    let mut moved = p;
    for (component, least) in moved[1..].iter_mut().zip(least) {
        let own = algebra.builder.push(Op::Call(Function::Abs, *component));
        let least = algebra.builder.real(least);
        *component = algebra.builder.push(Op::Select {
            test: Comparison::Gt,
            lhs: size,
            rhs: own,
            yes: least,
            no: *component,
        });
    }
    moved
}

/// The part of a fermion propagator's numerator with one helicity: `u ubar` for one that flows out (`first`), `-v vbar`
/// for one that flows in, with the square root of `p^2` in place of the mass, as in ALOHA. `p` is the momentum that
/// goes out of the diagram there. The spinors are `chi chi^+ = (1 + k sigma.p/|p|)/2` times numbers.
fn of_helicity(
    algebra: &mut Algebra,
    p: [ValueId; 4],
    square: ValueId,
    helicity: f64,
    first: bool,
) -> [[ValueId; 4]; 4] {
    let b = &mut algebra.builder;
    let products: Vec<ValueId> = p[1..].iter().map(|&x| b.push(Op::Mul(x, x))).collect();
    let sum = b.push(Op::Add(products[0], products[1]));
    let sum = b.push(Op::Add(sum, products[2]));
    let size = b.push(Op::Call(Function::RealSqrt, sum));
    // Avoids a division by zero at rest, where there is no direction.
    let tiny = b.real(1e-30);
    let least = b.push(Op::Call(Function::Abs, p[0]));
    let least = b.push(Op::Mul(least, tiny));
    let least = b.push(Op::Max(size, least));
    let zero = b.real(0.0);
    let square = b.push(Op::Max(square, zero));
    let mass = b.push(Op::Call(Function::RealSqrt, square));
    let large = b.push(Op::Add(p[0], size));
    // E - |p|, without cancellation.
    let small = b.push(Op::Div(square, large));
    let kind = if first { helicity } else { -helicity };
    let half = b.real(0.5);
    let direction = [1, 2, 3].map(|i| {
        let along = b.push(Op::Div(p[i], least));
        let factor = b.real(0.5 * kind);
        b.push(Op::Mul(along, factor))
    });
    let [x, y, z] = direction;
    let minus_y = b.push(Op::Neg(y));
    let chi = [
        [b.push(Op::Add(half, z)), b.push(Op::Complex(x, minus_y))],
        [b.push(Op::Complex(x, y)), b.push(Op::Sub(half, z))],
    ];
    let (upper, lower) = match (first, helicity > 0.0) {
        (true, true) => (small, large),
        (true, false) => (large, small),
        (false, right) => {
            let [large, small] = [large, small].map(|x| b.push(Op::Neg(x)));
            if right {
                (large, small)
            } else {
                (small, large)
            }
        }
    };
    let blocks = [[mass, upper], [lower, mass]];
    let mut matrix = [[zero; 4]; 4];
    for (row, entries) in matrix.iter_mut().enumerate() {
        for (column, entry) in entries.iter_mut().enumerate() {
            let number = blocks[row / 2][column / 2];
            *entry = b.push(Op::Mul(number, chi[row % 2][column % 2]));
        }
    }
    matrix
}

fn added(algebra: &mut Algebra, values: &[ValueId]) -> ValueId {
    let sum = values.iter().copied();
    let sum = sum.reduce(|a, b| match algebra.builder.constant(a) {
        Some(c) if c == Complex64::new(0.0, 0.0) => b,
        _ => algebra.plus(a, b),
    });
    sum.unwrap_or_else(|| algebra.builder.real(0.0))
}

/// Momentum of an argument.
fn momentum(algebra: &mut Algebra, routine: &Routine, argument: usize) -> [ValueId; 4] {
    PARTS.map(|(number, part)| {
        let input = routine.wavefunction_input(argument, number);
        let input = algebra.builder.input(input);
        algebra.builder.push(Op::Call(part, input))
    })
}

/// Sum of the momenta of all arguments.
fn total(algebra: &mut Algebra, routine: &Routine) -> [ValueId; 4] {
    let momenta = 0..routine.inputs.len();
    let momenta: Vec<_> = momenta.map(|a| momentum(algebra, routine, a)).collect();
    [0, 1, 2, 3].map(|mu| {
        let components: Vec<ValueId> = momenta.iter().map(|p| p[mu]).collect();
        added(algebra, &components)
    })
}
