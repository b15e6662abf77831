//! Photon and Z made of the same two fermions, as one vector for each chirality of the line that they couple to.
//!
//! A line of massless fermions multiplies each vector by a constant that depends on its chirality. The sum of the vectors
//! times these constants is computed once and serves all spinors of such lines.

use super::berends_giele::{BerendsGiele, CurrentId, Make, Product};
use super::diagrams::Family;
use super::vertices::{Lowering, SharedTerms};
use mebridge_ops::Address;
use mebridge_ops::opcode::Opcode;
use mebridge_process::CouplingRef;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Stages of the operations: after the vectors themselves.
const STAGES: [usize; 2] = [50, 51];

/// Vectors with their interactions and rounded coefficients.
type Key = Vec<(CurrentId, u32, [i64; 2])>;

/// The sums of vectors so far: the wavefunction for left-handed lines, which that for right-handed ones follows.
#[derive(Default)]
pub(super) struct MergedVectors {
    known: HashMap<Key, u32>,
}

impl MergedVectors {
    /// Splits the vertices of a spinor into those of merged vectors and the others. `ratio` is the constant of the
    /// directed vertex.
    pub(super) fn split(
        &mut self,
        lowering: &mut Lowering,
        recursion: &BerendsGiele,
        products: &[Product],
        ratio: f64,
    ) -> (Vec<Product>, Option<SharedTerms>) {
        let mut groups: Vec<Vec<&Product>> = Vec::new();
        let mut others = Vec::new();
        for product in products {
            if !is_of_pair(lowering, recursion, product) {
                others.push(product.clone());
                continue;
            }
            let line = |product: &Product| {
                let legs = recursion.currents[product.children[1] as usize].line.legs;
                (product.result, product.children[0], legs)
            };
            match groups
                .iter_mut()
                .find(|group| line(group[0]) == line(product))
            {
                Some(group) => group.push(product),
                None => groups.push(vec![product]),
            }
        }
        let mut merged: Option<SharedTerms> = None;
        for group in groups {
            if group.len() < 2 {
                others.extend(group.into_iter().cloned());
                continue;
            }
            let first = group[0].coefficients[0] * ratio;
            let tiny = 1e-9 * first.norm();
            let minus = first.re < -tiny || first.re <= tiny && first.im < 0.0;
            let sign = if minus { -ratio } else { ratio };
            let spinor = lowering.nodes[group[0].children[0] as usize];
            let vector = self.vector(lowering, &group, sign);
            let opcode = match group[0].result {
                0 => Opcode::SumFfv1,
                _ => Opcode::SumFfv2,
            };
            let terms = merged.get_or_insert_with(|| SharedTerms::by_chirality(opcode));
            let terms = if minus {
                &mut terms.minus
            } else {
                &mut terms.plus
            };
            terms.push(vec![spinor, vector]);
        }
        (others, merged)
    }

    /// The sum of the vectors of these vertices, for a left-handed line.
    fn vector(&mut self, lowering: &mut Lowering, group: &[&Product], sign: f64) -> u32 {
        let rounded = |x: f64| (x * (1u64 << 30) as f64).round() as i64;
        let key: Key = (group.iter())
            .map(|product| {
                let c = product.coefficients[0] * sign;
                (
                    product.children[1],
                    product.interaction,
                    [rounded(c.re), rounded(c.im)],
                )
            })
            .collect();
        if let Some(&node) = self.known.get(&key) {
            return node;
        }
        let Lowering {
            compiler,
            forest,
            nodes,
            batches,
        } = lowering;
        let one = compiler.one();
        let signs = compiler.sum_of(&[nodes[key[0].0 as usize]]);
        let level = signs.iter().filter(|s| **s != 0).count();
        let sums = [0; 2].map(|_| compiler.add_wavefunction(signs.clone(), 4));
        for (side, &sum) in sums.iter().enumerate() {
            let mut addends = Vec::new();
            for product in group {
                let constant = &forest.interactions[product.interaction as usize].constants[side];
                let couplings: Vec<CouplingRef> = constant.iter().map(|(c, _)| *c).collect();
                let terms: Vec<(usize, Complex64)> = (constant.iter().enumerate())
                    .map(|(i, (_, c))| (i, c * product.coefficients[0] * sign))
                    .collect();
                let factor = compiler.factor(&couplings, &terms, None);
                let addend = compiler.add_wavefunction(signs.clone(), 4);
                let vector = &compiler.wavefunctions[nodes[product.children[1] as usize] as usize];
                let multiple = &compiler.wavefunctions[addend as usize];
                let operands = batches.entry((level, STAGES[0], Opcode::Vvs1)).or_default();
                for &(instance, _) in &multiple.examples {
                    let instance = instance as usize;
                    let out = multiple.instances[instance];
                    operands.extend([vector.instances[instance], one, factor, out]);
                }
                addends.push(addend);
            }
            let operands = batches.entry((level, STAGES[1], Opcode::Add)).or_default();
            let instance = |node: u32, instance: u32| -> Address {
                compiler.wavefunctions[node as usize].instances[instance as usize]
            };
            for &(at, _) in &compiler.wavefunctions[sum as usize].examples {
                operands.extend([addends.len() as u32, 0]);
                operands.extend(addends.iter().map(|&addend| instance(addend, at)));
                operands.push(instance(sum, at));
            }
        }
        self.known.insert(key, sums[0]);
        sums[0]
    }
}

/// Whether a vertex is that of a spinor and a vector made of two external fermions.
fn is_of_pair(lowering: &Lowering, recursion: &BerendsGiele, product: &Product) -> bool {
    let family = lowering.forest.interactions[product.interaction as usize].family;
    if family != Family::Ffv || product.result > 1 {
        return false;
    }
    let is_leg = |id: &CurrentId| matches!(recursion.currents[*id as usize].make, Make::Leg);
    match &recursion.currents[product.children[1] as usize].make {
        Make::Vertices(made) => match &made[..] {
            [made] => {
                let family = lowering.forest.interactions[made.interaction as usize].family;
                family == Family::Ffv && made.children.iter().all(is_leg)
            }
            _ => false,
        },
        _ => false,
    }
}
