//! Lines of scalars.
//!
//! At a vertex with vectors a scalar is multiplied by a number: `q V1` with `q = p1 + 2 p2`, where p2 is the momentum
//! of the scalar, or `V1 V2`. All vertices with the same scalar are added up to one number ([`Opcode::ScalarVertex`]).
//! It depends only on the helicities of the vectors, and serves all scalars over the same legs. A current is a sum of
//! products of two numbers ([`Opcode::SumSss1`]), times its propagator.

use super::berends_giele::{CurrentId, Product};
use super::diagrams::{Family, Forest, LineKind};
use super::vertices::{Lowering, SCALAR_VERTICES, components, inputs, other_operands, shares};
use mebridge_ops::opcode::{Mode, Opcode};
use mebridge_process::Quantity;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// Groups the vertices of a sum by their scalar child, which is removed from their children. `None` if a vertex is of
/// another family.
pub(super) fn by_scalar(
    forest: &Forest,
    products: &[Product],
) -> Option<BTreeMap<CurrentId, Vec<Product>>> {
    let mut all: BTreeMap<CurrentId, Vec<Product>> = BTreeMap::new();
    for product in products {
        let family = forest.interactions[product.interaction as usize].family;
        if !matches!(
            (family, product.result),
            (Family::Vss, 2) | (Family::Vvss, 3)
        ) {
            return None;
        }
        let mut vertex = product.clone();
        let scalar = vertex.children.pop()?;
        all.entry(scalar).or_default().push(vertex);
    }
    Some(all)
}

/// Interactions and children of vertices, with rounded coefficients.
pub(super) type Key = Vec<(u32, Vec<CurrentId>, [i64; 2])>;

/// A key that identifies a sum of vertices.
pub(super) fn key(vertices: &[Product]) -> Key {
    let rounded = |x: f64| (x * (1u64 << 30) as f64).round() as i64;
    let key = |vertex: &Product| {
        let c = vertex.coefficients[0];
        let children = vertex.children.clone();
        (vertex.interaction, children, [rounded(c.re), rounded(c.im)])
    };
    vertices.iter().map(key).collect()
}

/// Multiplies all vertices by a number.
pub(super) fn scale(vertices: &mut [Product], by: Complex64) {
    for vertex in vertices {
        vertex.coefficients[0] *= by;
    }
}

/// The numbers that multiply scalars.
#[derive(Default)]
pub(super) struct ScalarVertices {
    /// The wavefunction of each number, by its vertices and the momentum of the scalar.
    known: HashMap<(Key, Vec<i8>), u32>,
}

impl ScalarVertices {
    /// The wavefunction of the number that multiplies a scalar with this momentum.
    pub(super) fn node(
        &mut self,
        lowering: &mut Lowering,
        vertices: &[Product],
        scalar: &[i8],
    ) -> Option<u32> {
        let key = (key(vertices), scalar.to_vec());
        if let Some(&node) = self.known.get(&key) {
            return Some(node);
        }
        let Lowering {
            compiler,
            forest,
            nodes,
            batches,
        } = lowering;
        let children = vertices[0].children.iter();
        let children: Vec<u32> = children.map(|&c| nodes[c as usize]).collect();
        let signs = compiler.sum_of(&children);
        let level = signs.iter().filter(|sign| **sign != 0).count();
        let node = compiler.add_wavefunction(signs, components(LineKind::Scalar));
        let helicities = compiler.wavefunctions[node as usize].examples.clone();
        for (place, share) in shares(forest, vertices, nodes)?.iter().enumerate() {
            let mode = if place == 0 { Mode::STORE } else { Mode::ADD };
            let factors = other_operands(compiler, forest, share, &[], None).factors;
            let at = (level, SCALAR_VERTICES + place, Opcode::ScalarVertex);
            let operands = batches.entry(at).or_default();
            let three = [&share.plus, &share.minus];
            let four = share.four_leg_terms.each_ref();
            for &(instance, h) in &helicities {
                operands.push(mode);
                operands.extend(three.iter().chain(&four).map(|terms| terms.len() as u32));
                for children in three.into_iter().flatten() {
                    inputs(compiler, h, children, operands);
                    let vector = compiler.wavefunctions[children[0] as usize].signs.iter();
                    let q: Vec<i8> = vector.zip(scalar).map(|(v, s)| v + 2 * s).collect();
                    operands.push(compiler.momentum(&q));
                }
                for children in four.into_iter().flatten() {
                    inputs(compiler, h, children, operands);
                }
                operands.extend(&factors);
                let wavefunction = &compiler.wavefunctions[node as usize];
                operands.push(wavefunction.instances[instance as usize]);
            }
        }
        self.known.insert(key, node);
        Some(node)
    }

    /// Emits the operations of a scalar current, whose wavefunction exists already.
    pub(super) fn current(
        &mut self,
        lowering: &mut Lowering,
        products: &[Product],
        node: u32,
        (mass, width): (Quantity, Quantity),
    ) -> Option<()> {
        let mut terms: [Vec<[u32; 2]>; 2] = Default::default();
        for (id, mut vertices) in by_scalar(lowering.forest, products)? {
            let scalar = lowering.nodes[id as usize];
            let signs = lowering.compiler.wavefunctions[scalar as usize]
                .signs
                .clone();
            // ALOHA's off-shell scalars carry a factor -1, see `DirectedVertex::ratio`.
            let first = -vertices[0].coefficients[0];
            let minus = first.re < -1e-9 || (first.re < 1e-9 && first.im < 0.0);
            scale(
                &mut vertices,
                Complex64::new(if minus { 1.0 } else { -1.0 }, 0.0),
            );
            let factor = self.node(lowering, &vertices, &signs)?;
            terms[usize::from(minus)].push([factor, scalar]);
        }
        let Lowering {
            compiler, batches, ..
        } = lowering;
        let wavefunction = compiler.wavefunctions[node as usize].clone();
        let level = wavefunction.signs.iter().filter(|sign| **sign != 0).count();
        let mass = compiler.binding.value(mass);
        let width = compiler.binding.value(width);
        let propagator = compiler.propagator(&wavefunction.signs, mass, width);
        let operands = batches.entry((level, 0, Opcode::SumSss1)).or_default();
        for &(instance, h) in &wavefunction.examples {
            operands.extend(terms.iter().map(|terms| terms.len() as u32));
            for pair in terms.iter().flatten() {
                inputs(compiler, h, pair, operands);
            }
            operands.extend([propagator, wavefunction.instances[instance as usize]]);
        }
        Some(())
    }
}
