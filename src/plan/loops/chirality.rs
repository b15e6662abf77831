//! Massless lines keep their chirality.
//!
//! Of a massless spinor only the components of its chirality are not zero, and vectors do not change which these are: so
//! both ends of a line have the same one, or the helicity contributes nothing. What a vertex multiplies the left-handed
//! and the right-handed components by can differ; where it has no factor for one of them, that contributes nothing
//! either. With all helicities reversed JAMPs are conjugates up to a phase and the quotient of these factors, if gluons
//! couple alike to both: a boson that the line takes up once is in every diagram, so that the quotient's square is the
//! same for all of |M|^2.

use super::lower::{Constant, conjugated, is_massless};
use crate::ops::arrays::Spinors;
use crate::ops::opcode::Opcode;
use crate::ops::recognize::recognize;
use crate::plan::binding::{Binding, Coupling};
use crate::plan::compile::Compiler;
use crate::process::color_ordered::{Boson, ColorOrdered, OrderedVertex};
use crate::process::{ExternalKind, Process, Wavefunction};
use num_complex::Complex64;

/// The handedness of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chirality {
    Left,
    Right,
}

impl Chirality {
    /// Which components a line's spinors have.
    pub fn spinors(self, flows_in: bool) -> Spinors {
        match (self, flows_in) {
            (Chirality::Left, true) | (Chirality::Right, false) => Spinors::First,
            _ => Spinors::Second,
        }
    }
}

/// What a massless line with helicities of its ends does.
pub struct Chiral {
    /// The constants of the boson's vertex for left-handed and right-handed lines.
    boson: [Constant; 2],
    /// Whether left-handed and right-handed lines contribute.
    contributes: [bool; 2],
    /// What a right-handed line contributes over the left-handed one with all helicities reversed, where that is known.
    right_over_left: Option<f64>,
}

impl Chiral {
    /// That of a line that takes up a boson; `gluon` is the constant of its own vertex. None where it has mass.
    pub fn of(
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
        let alike = conjugated(binding, gluon).is_some() && process.beam_weights.is_empty();
        let constants = of_boson(process, binding, &boson.vertex)?;
        let known = constants.each_ref().map(|c| polynomial(binding, c));
        let contributes = known.each_ref().map(|known| match known {
            Some(values) => values.iter().any(|v| v.norm() > 0.0),
            None => true,
        });
        let right_over_left = match known {
            [Some(left), Some(right)] if alike => quotient(&right, &left),
            _ => None,
        };
        Some(Chiral {
            boson: constants,
            contributes,
            right_over_left,
        })
    }

    /// The chirality of a line whose ends have these helicities times signs, if it contributes.
    pub fn chirality(&self, ends: [i8; 2]) -> Option<Chirality> {
        let [left, right] = self.contributes;
        match ends {
            [-1, -1] if left => Some(Chirality::Left),
            [1, 1] if right => Some(Chirality::Right),
            _ => None,
        }
    }

    /// What the other chirality contributes with all helicities reversed over what this one does.
    pub fn of_other(&self, evaluated: Chirality) -> Option<f64> {
        let ratio = self.right_over_left?;
        match evaluated {
            Chirality::Left => Some(ratio),
            Chirality::Right => (ratio > 0.0).then_some(1.0 / ratio),
        }
    }

    /// The constant of the boson's vertex.
    pub fn boson(&self, chirality: Chirality) -> &Constant {
        let [left, right] = &self.boson;
        match chirality {
            Chirality::Left => left,
            Chirality::Right => right,
        }
    }
}

/// The helicity of an end times its sign.
pub fn handedness(process: &Process, end: u32, helicity: i8) -> i8 {
    match &process.wavefunctions[end as usize] {
        Wavefunction::External(e) => e.sign * helicity,
        Wavefunction::Internal(_) => 0,
    }
}

/// What the vertex multiplies left-handed and right-handed spinors by, if it is one of a vector and a line.
fn of_boson(process: &Process, binding: &Binding, vertex: &OrderedVertex) -> Option<[Constant; 2]> {
    let routine = &process.routines[vertex.routine as usize];
    let massless = binding.value(vertex.mass) == 0.0;
    let found = recognize(routine, massless)?;
    let order = found.input_permutation.iter();
    let in_order = order.map(|&i| vertex.inputs[i]).eq([0, 1]);
    let color = Complex64::new(vertex.factor.0, vertex.factor.1);
    let constant = |factor: &Vec<(usize, Complex64)>| {
        let terms = factor.iter().map(|&(i, c)| (i, c * color)).collect();
        (vertex.couplings.clone(), terms)
    };
    let none = || (Vec::new(), Vec::new());
    let constants = match (found.opcode, &found.factors[..]) {
        (Opcode::Ffv1 | Opcode::Ffv2, [both]) => [constant(both), constant(both)],
        (Opcode::FfvL1 | Opcode::FfvL2, [left]) => [constant(left), none()],
        (Opcode::FfvLr1 | Opcode::FfvLr2, [left, right]) => [constant(left), constant(right)],
        _ => return None,
    };
    (massless && in_order).then_some(constants)
}

/// A constant as a polynomial in G, if it is one.
fn polynomial(binding: &Binding, (couplings, terms): &Constant) -> Option<Vec<Complex64>> {
    let mut sum: Vec<Complex64> = Vec::new();
    for &(i, c) in terms {
        let coupling = couplings[i];
        let Coupling::Polynomial(values) = &binding.couplings[coupling.coupling as usize] else {
            return None;
        };
        let c = if coupling.negative { -c } else { c };
        sum.resize(sum.len().max(values.len()), Complex64::default());
        for (sum, v) in sum.iter_mut().zip(values) {
            *sum += v * c;
        }
    }
    Some(sum)
}

/// The square of the quotient of two polynomials, if that is a number.
fn quotient(above: &[Complex64], below: &[Complex64]) -> Option<f64> {
    let at = |values: &[Complex64], i: usize| values.get(i).copied().unwrap_or_default();
    let largest = (0..below.len()).max_by(|&i, &j| below[i].norm().total_cmp(&below[j].norm()))?;
    let ratio = at(above, largest) / below[largest];
    let tiny = 1e-14 * above.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let count = above.len().max(below.len());
    let same = (0..count).all(|i| (at(above, i) - ratio * at(below, i)).norm() <= tiny);
    (same && ratio.is_finite()).then(|| ratio.norm_sqr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_proportional_polynomials() {
        let of = |all: &[(f64, f64)]| -> Vec<Complex64> {
            all.iter().map(|&(re, im)| Complex64::new(re, im)).collect()
        };
        let (a, b) = (of(&[(0.0, 0.0), (0.0, 3.0)]), of(&[(0.0, 0.0), (2.0, 0.0)]));
        assert_eq!(quotient(&a, &b), Some(2.25));
        assert_eq!(quotient(&of(&[]), &b), Some(0.0));
        assert_eq!(quotient(&a, &of(&[])), None);
        assert_eq!(quotient(&of(&[(1.0, 0.0), (0.0, 3.0)]), &b), None);
    }
}
