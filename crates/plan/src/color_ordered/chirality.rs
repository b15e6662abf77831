//! Chirality of massless lines.
//!
//! A massless spinor has non-zero components of one chirality only, and couplings to vectors preserve it. So both ends
//! of a line have the same chirality, or the helicity does not contribute. A vertex may multiply left-handed and
//! right-handed components by different factors; a chirality whose factor is zero does not contribute either.
//!
//! A boson that couples to the line once is in every diagram, and so are its factors. JAMPs are computed without these
//! factors, and |M|^2 is multiplied by their squares. If gluons couple equally to both chiralities, reversing all
//! helicities conjugates the JAMPs up to a phase, so that only one of two such helicities is evaluated.
//!
//! Two massless fermions that annihilate to the boson have the same chirality as well. Up to the factors of the
//! vertices and the propagator, their current is the same for all vectors to which they couple. (The second term of the
//! propagator's numerator, proportional to the momentum, vanishes.) So the factor of an event is the sum over these
//! vectors of the product of both.

use super::vertices::{Constant, conjugated, is_massless};
use crate::binding::{Binding, Coupling};
use crate::compiler::Compiler;
use mebridge_ops::arrays::Spinors;
use mebridge_ops::opcode::Opcode;
use mebridge_ops::recognize::{Recognized, recognize};
use mebridge_process::color_ordered::{Boson, ColorOrdered, Exchange, OrderedVertex};
use mebridge_process::{ExternalKind, Process, Wavefunction};
use num_complex::Complex64;

/// The chirality of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chirality {
    Left,
    Right,
}

impl Chirality {
    /// The opposite chirality.
    pub fn opposite(self) -> Chirality {
        match self {
            Chirality::Left => Chirality::Right,
            Chirality::Right => Chirality::Left,
        }
    }

    /// The non-zero components of spinors of the line.
    pub fn spinors(self, flows_in: bool) -> Spinors {
        match (self, flows_in) {
            (Chirality::Left, true) | (Chirality::Right, false) => Spinors::First,
            _ => Spinors::Second,
        }
    }
}

/// Couplings of a massless line, with a boson, by chirality.
pub struct Chiral {
    vectors: Vec<LinkedVector>,
    /// Whether the result for one chirality also holds for the other one with all helicities reversed.
    mirrored: bool,
}

/// A vector that couples to the line.
struct LinkedVector {
    line: Sides,
    fermions: Option<FermionPair>,
}

/// The coupling of two fermions to the vector.
struct FermionPair {
    sides: Sides,
    mass: f64,
    width: f64,
}

/// The factors of a vertex for left-handed and right-handed spinors.
struct Sides([Side; 2]);

struct Side {
    constant: Constant,
    /// Whether the factor is not zero.
    couples: bool,
}

impl Sides {
    fn of(&self, chirality: Chirality) -> &Side {
        let [left, right] = &self.0;
        match chirality {
            Chirality::Left => left,
            Chirality::Right => right,
        }
    }
}

impl Chiral {
    /// The factors of a line that couples to a boson; `gluon` is the constant of the line's gluon vertex. `None` if the
    /// line is massive, or if the boson is a pair of massive fermions.
    pub fn new(
        compiler: &Compiler,
        form: &ColorOrdered,
        boson: &Boson,
        gluon: &Constant,
    ) -> Option<Chiral> {
        let (process, binding) = (compiler.process, compiler.binding);
        let line = form.line.as_ref()?;
        let value = |quantity| binding.value(quantity);
        let fermions = [ExternalKind::FermionIn, ExternalKind::FermionOut];
        let massless = |end: &u32| is_massless(process, binding, *end, &fermions);
        if value(line.mass) != 0.0 || value(line.width) != 0.0 || !form.ends.iter().all(massless) {
            return None;
        }
        let vector = |exchange: &Exchange| {
            let fermions = match &exchange.made {
                Some(vertex) => Some(FermionPair {
                    sides: of_fermions(process, binding, boson, vertex)?,
                    mass: value(vertex.mass),
                    width: value(vertex.width),
                }),
                None => None,
            };
            let line = of_boson(process, binding, &exchange.taken)?;
            Some(LinkedVector { line, fermions })
        };
        Some(Chiral {
            vectors: boson.vectors.iter().map(vector).collect::<Option<_>>()?,
            mirrored: conjugated(binding, gluon).is_some() && process.beam_weights.is_empty(),
        })
    }

    /// Whether the result for one chirality also holds for the other one with all helicities reversed.
    pub fn is_mirrored(&self) -> bool {
        self.mirrored
    }

    /// Whether a line of this chirality couples to the boson, or to a pair of fermions of chirality `fermions`.
    pub fn couples(&self, line: Chirality, fermions: Option<Chirality>) -> bool {
        self.factors(line, fermions).next().is_some()
    }

    /// For each vector that contributes: the factor of the line, and that of the fermions with mass and width of the
    /// propagator.
    pub fn factors(
        &self,
        line: Chirality,
        fermions: Option<Chirality>,
    ) -> impl Iterator<Item = (&Constant, Option<(&Constant, f64, f64)>)> {
        self.vectors.iter().filter_map(move |vector| {
            let taken = vector.line.of(line);
            let of_pair = match (&vector.fermions, fermions) {
                (Some(pair), Some(chirality)) => {
                    let side = pair.sides.of(chirality);
                    let factor = (&side.constant, pair.mass, pair.width);
                    side.couples.then_some(Some(factor))?
                }
                (None, None) => None,
                _ => return None,
            };
            taken.couples.then_some((&taken.constant, of_pair))
        })
    }
}

/// The chirality of massless fermions with these helicities that meet at vector vertices; `None` if their chiralities
/// differ.
pub fn chirality(process: &Process, ends: [(u32, i8); 2]) -> Option<Chirality> {
    match ends.map(|(end, helicity)| handedness(process, end, helicity)) {
        [-1, -1] => Some(Chirality::Left),
        [1, 1] => Some(Chirality::Right),
        _ => None,
    }
}

/// The helicity of an end times its sign.
fn handedness(process: &Process, end: u32, helicity: i8) -> i8 {
    match &process.wavefunctions[end as usize] {
        Wavefunction::External(e) => e.sign * helicity,
        Wavefunction::Internal(_) => 0,
    }
}

/// The factors of the boson's vertex for spinors of the line; `None` if it is not a fermion-vector vertex.
fn of_boson(process: &Process, binding: &Binding, vertex: &OrderedVertex) -> Option<Sides> {
    let massless = binding.value(vertex.mass) == 0.0;
    let found = recognize(&process.routines[vertex.routine as usize], massless)?;
    let spinor_factors = match found.opcode {
        Opcode::Ffv1 | Opcode::Ffv2 => SpinorFactors::Both,
        Opcode::FfvL1 | Opcode::FfvL2 => SpinorFactors::Left,
        Opcode::FfvLr1 | Opcode::FfvLr2 => SpinorFactors::LeftRight,
        _ => return None,
    };
    let neighbours = order(vertex, &found) == [0, 1];
    (massless && neighbours).then(|| sides(binding, vertex, &found, spinor_factors))?
}

/// The factors of the vertex of two fermions; `None` unless it makes a vector from two massless fermions.
fn of_fermions(
    process: &Process,
    binding: &Binding,
    boson: &Boson,
    vertex: &OrderedVertex,
) -> Option<Sides> {
    let massless = binding.value(vertex.mass) == 0.0;
    let found = recognize(&process.routines[vertex.routine as usize], massless)?;
    let spinor_factors = match found.opcode {
        Opcode::Ffv3 | Opcode::FfvMassive3 => SpinorFactors::Both,
        Opcode::FfvL3 | Opcode::FfvLMassive3 => SpinorFactors::Left,
        Opcode::FfvLr3 | Opcode::FfvLrMassive3 => SpinorFactors::LeftRight,
        _ => return None,
    };
    // The kernel's first input is the incoming fermion.
    let kinds = [ExternalKind::FermionIn, ExternalKind::FermionOut];
    let mut inputs = order(vertex, &found).into_iter().zip(kinds);
    let right = inputs.all(|(i, kind)| {
        let w = boson.wavefunctions.get(usize::from(i));
        w.is_some_and(|w| is_massless(process, binding, *w, &[kind]))
    });
    right.then(|| sides(binding, vertex, &found, spinor_factors))?
}

/// The neighbours in the order of the kernel's inputs.
fn order(vertex: &OrderedVertex, found: &Recognized) -> Vec<u8> {
    let order = found.input_permutation.iter();
    order.map(|&i| vertex.inputs[i]).collect()
}

/// The spinors to which the factors of a kernel apply.
enum SpinorFactors {
    Both,
    Left,
    LeftRight,
}

fn sides(
    binding: &Binding,
    vertex: &OrderedVertex,
    found: &Recognized,
    spinor_factors: SpinorFactors,
) -> Option<Sides> {
    let color = Complex64::new(vertex.factor.0, vertex.factor.1);
    let side = |factor: &[(usize, Complex64)]| {
        let terms = factor.iter().map(|&(i, c)| (i, c * color)).collect();
        let constant = (vertex.couplings.clone(), terms);
        let couples = !vanishes(binding, &constant);
        Side { constant, couples }
    };
    match (spinor_factors, &found.factors[..]) {
        (SpinorFactors::Both, [both]) => Some(Sides([side(both), side(both)])),
        (SpinorFactors::Left, [left]) => Some(Sides([side(left), side(&[])])),
        (SpinorFactors::LeftRight, [left, right]) => Some(Sides([side(left), side(right)])),
        _ => None,
    }
}

/// Whether a constant is zero for every event.
fn vanishes(binding: &Binding, (couplings, terms): &Constant) -> bool {
    let mut sum: Vec<Complex64> = Vec::new();
    for &(i, c) in terms {
        let coupling = couplings[i];
        let Coupling::Polynomial(values) = &binding.couplings[coupling.coupling as usize] else {
            return false;
        };
        let c = if coupling.negative { -c } else { c };
        sum.resize(sum.len().max(values.len()), Complex64::default());
        for (sum, v) in sum.iter_mut().zip(values) {
            *sum += v * c;
        }
    }
    sum.iter().all(|v| v.norm() == 0.0)
}
