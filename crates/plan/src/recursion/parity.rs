//! Currents that become complex conjugates when all helicities are reversed.
//!
//! HELAS's wavefunction of a massless external vector with helicity -1 is minus the conjugate of that with helicity 1
//! ([`mebridge_process::ExternalKind::Vector`]). Vertices of vectors and massless propagators are real except for their
//! constants. If all constants in a current of massless vectors are real or imaginary, and conjugation gives all terms
//! the same sign, half of its helicities need not be computed. Lines with a width do not have this symmetry, because
//! their propagator is complex.

use super::berends_giele::{BerendsGiele, CurrentId, Make, Product};
use super::diagrams::{Forest, Tree};
use crate::binding::{Binding, Coupling};
use crate::compiler::Compiler;
use mebridge_process::{CouplingRef, ExternalKind, Wavefunction};
use num_complex::Complex64;

/// For each current the sign `s` in `J(-h) = s J(h)^*`, or `None` if it does not have this symmetry.
pub fn signs(compiler: &Compiler, forest: &Forest, recursion: &BerendsGiele) -> Vec<Option<f64>> {
    let mut signs = vec![None; recursion.currents.len()];
    let size = |id: &usize| recursion.currents[*id].line.legs.count_ones();
    let is_sum = |id: &usize| matches!(recursion.currents[*id].make, Make::Sum(_));
    let mut order: Vec<usize> = (0..signs.len()).collect();
    // Sums come after their terms.
    order.sort_by_key(|id| (size(id), is_sum(id)));
    for id in order {
        let current = &recursion.currents[id];
        signs[id] = match &current.make {
            Make::Leg => leg(compiler, forest, current.trees[0].0),
            Make::Sum(terms) => common(terms.iter().map(|&(c, _)| signs[c as usize])),
            Make::Vertices(products) => {
                let massless = |quantity| compiler.binding.value(quantity) == 0.0;
                if massless(current.line.mass) && massless(current.line.width) {
                    let vertex = |p| vertex(compiler, forest, p, &signs);
                    common(products.iter().map(vertex))
                } else {
                    None
                }
            }
        };
    }
    signs
}

/// The common value of all signs, if there is one.
fn common(mut signs: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let first = signs.next()??;
    signs.all(|s| s == Some(first)).then_some(first)
}

fn leg(compiler: &Compiler, forest: &Forest, tree: u32) -> Option<f64> {
    let Tree::Leg(w) = forest.trees[tree as usize] else {
        return None;
    };
    let Wavefunction::External(e) = compiler.process.wavefunctions[w as usize] else {
        return None;
    };
    let massless = compiler.binding.value(e.mass) == 0.0;
    (e.kind == ExternalKind::Vector && massless).then_some(-1.0)
}

fn vertex(
    compiler: &Compiler,
    forest: &Forest,
    product: &Product,
    signs: &[Option<f64>],
) -> Option<f64> {
    let sign = |&c: &CurrentId| signs[c as usize];
    let below: f64 = product.children.iter().map(sign).product::<Option<f64>>()?;
    let interaction = &forest.interactions[product.interaction as usize];
    let constants = interaction
        .constants
        .iter()
        .flatten()
        .flat_map(|&(coupling, c)| {
            let values = coupling_values(compiler.binding, coupling).into_iter();
            let used = product.coefficients.iter().filter(|d| d.norm() > 0.0);
            let used: Vec<Complex64> = used.copied().collect();
            values.flat_map(move |v| {
                let parity = |d: &Complex64| v.and_then(|v| conjugation(v * c * d));
                used.iter().map(parity).collect::<Vec<_>>()
            })
        });
    Some(below * common(constants)?)
}

/// The coefficients of a coupling as a polynomial in G; contains `None` if it is not one.
fn coupling_values(binding: &Binding, coupling: CouplingRef) -> Vec<Option<Complex64>> {
    match &binding.couplings[coupling.coupling as usize] {
        Coupling::Polynomial(coefficients) => {
            let used = coefficients.iter().filter(|c| c.norm() > 0.0);
            used.map(|&c| Some(c)).collect()
        }
        Coupling::Formula => vec![None],
    }
}

/// 1 for a real number, -1 for an imaginary one, otherwise `None`.
fn conjugation(c: Complex64) -> Option<f64> {
    let tiny = 1e-12 * c.norm();
    if c.im.abs() <= tiny {
        Some(1.0)
    } else if c.re.abs() <= tiny {
        Some(-1.0)
    } else {
        None
    }
}
