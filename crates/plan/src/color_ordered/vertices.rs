//! The vertices of a colour-ordered form: the kernel for each, and its constant.

use crate::binding::{Binding, Coupling};
use crate::compiler::Compiler;
use mebridge_ops::opcode::Opcode;
use mebridge_ops::recognize::recognize;
use mebridge_process::color_ordered::{ColorOrdered, OrderedVertex};
use mebridge_process::{CouplingRef, ExternalKind, Process, Wavefunction};
use mebridge_support::error::{Error, Result};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

pub(super) fn bad(what: &str) -> Error {
    Error::InvalidProcess {
        what: format!("colour-ordered form: {what}"),
    }
}

/// The constant of a vertex: couplings with their coefficients.
pub(super) type Constant = (Vec<CouplingRef>, Vec<(usize, Complex64)>);

/// A quark line.
#[derive(Clone)]
pub(super) struct QuarkLine {
    /// Whether the line flows in at the first end.
    pub(super) flows_in: bool,
    pub(super) constant: Constant,
    pub(super) mass: f64,
    pub(super) width: f64,
}

/// The order in which the kernel takes the neighbours of a vertex, and its constant; `None` if the vertex needs another
/// kernel.
pub(super) fn recognized(
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

pub(super) fn negate(constant: &mut Constant) {
    constant.1.iter_mut().for_each(|(_, c)| *c = -*c);
}

pub(super) fn line(compiler: &Compiler, vertex: &OrderedVertex, first: u32) -> Result<QuarkLine> {
    let flows_in = match &compiler.process.wavefunctions[first as usize] {
        Wavefunction::External(e) => e.kind == ExternalKind::FermionIn,
        Wavefunction::Internal(_) => false,
    };
    let opcode = if flows_in { Opcode::Ffv2 } else { Opcode::Ffv1 };
    match recognized(compiler, vertex, opcode) {
        Some((order, constant)) if order == [0, 1] => Ok(QuarkLine {
            flows_in,
            constant,
            mass: compiler.binding.value(vertex.mass),
            width: compiler.binding.value(vertex.width),
        }),
        _ => Err(bad("its line is not that of a quark and gluons")),
    }
}

/// The constant of `2 B (A C) - A (B C) - C (A B)` for neighbours A, B and C.
pub(super) fn four_gluon(
    compiler: &Compiler,
    vertices: &[OrderedVertex],
) -> Result<Option<Constant>> {
    let none = || bad("its vertex of three currents is not that of gluons");
    // For each neighbour that gives the direction, the constant of the product of the other two.
    let mut sums: Vec<HashMap<CouplingRef, Complex64>> = vec![HashMap::default(); 3];
    for vertex in vertices {
        let (order, (couplings, terms)) =
            recognized(compiler, vertex, Opcode::VvvvDiff1).ok_or_else(none)?;
        for (i, c) in terms {
            // The kernel computes V3 (V2 V4) - V4 (V2 V3).
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

/// The sign of the constant of two insertions under conjugation, if gluon currents with all helicities reversed are
/// conjugates up to a sign. This requires that insertions are massless vectors, and constants real or imaginary (see
/// [`crate::recursion`]).
pub(super) fn parity(
    compiler: &Compiler,
    form: &ColorOrdered,
    three_gluon: &Constant,
    four_gluon: Option<&Constant>,
) -> Option<f64> {
    let vector = |&w: &u32| {
        let vector = [ExternalKind::Vector];
        is_massless(compiler.process, compiler.binding, w, &vector)
    };
    if !form.insertions.iter().all(vector) {
        return None;
    }
    let massless = |vertex: &OrderedVertex| {
        let of = |quantity| compiler.binding.value(quantity) == 0.0;
        of(vertex.mass) && of(vertex.width)
    };
    if !massless(&form.three_gluon) || !form.four_gluon.iter().all(massless) {
        return None;
    }
    let three_gluon = conjugated(compiler.binding, three_gluon)?;
    let four_gluon = four_gluon.map_or(Some(1.0), |four_gluon| {
        conjugated(compiler.binding, four_gluon)
    })?;
    (four_gluon == 1.0).then_some(three_gluon)
}

/// Whether an external wavefunction is massless and of one of these kinds.
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

/// Whether JAMPs with all helicities reversed are conjugates of each other, up to a common phase, given that gluon
/// currents are: the ends are massless, and there is no width. (A massless spinor of opposite helicity is the charge
/// conjugate up to a phase.)
pub(super) fn conserves_parity(
    compiler: &Compiler,
    form: &ColorOrdered,
    line: Option<&QuarkLine>,
) -> bool {
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

/// 1 if a constant is real for every event, -1 if it is imaginary.
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
