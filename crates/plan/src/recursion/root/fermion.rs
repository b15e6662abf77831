//! Fermion at the root: products of spinors.

use super::cut::whole;
use crate::compiler::Compiler;
use crate::recursion::berends_giele::{BerendsGiele, CurrentId};
use crate::recursion::diagrams::{Family, Forest};
use crate::recursion::vertices::{
    Batches, Lowering, SharedTerms, at_the_top, emit, other_operands,
};
use mebridge_ops::Address;
use mebridge_ops::opcode::{Mode, Opcode};
use mebridge_process::{LinearMap, Quantity, Term, TermSource};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// The products of spinors at the root, and the colour flows as sums of them.
#[derive(Default)]
pub(in crate::recursion) struct Products {
    /// Interaction, leg of it that is the root, spinor, vector; both currents are computed from vertices.
    products: Vec<(u32, u8, CurrentId, CurrentId)>,
    pub(super) jamp: LinearMap,
}

/// The root with a vector attached, with the spinors by which it is multiplied and the addresses of these products.
pub(in crate::recursion) struct Partner {
    node: u32,
    products: Vec<(u32, u32)>,
}

impl Products {
    pub(super) fn find(forest: &Forest, recursion: &BerendsGiele) -> Option<Products> {
        let mut roots = Products::default();
        let mut known = HashMap::default();
        for flow in &recursion.flows {
            let mut sum: SortedMap<u32, Complex64> = SortedMap::new();
            for product in flow {
                let family = forest.interactions[product.interaction as usize].family;
                let [spinor, vector] = product.children[..] else {
                    return None;
                };
                if family != Family::Ffv || product.result > 1 {
                    return None;
                }
                for &(spinor, c) in &recursion.resolve(spinor) {
                    for &(vector, d) in &recursion.resolve(vector) {
                        let key = (product.interaction, product.result, spinor, vector);
                        let at = *known.entry(key).or_insert_with(|| {
                            roots.products.push(key);
                            roots.products.len() as u32 - 1
                        });
                        *sum.entry(at).or_default() += product.coefficients[0] * c * d;
                    }
                }
            }
            let terms = sum.into_iter().filter(|(_, c)| c.norm() > 1e-12);
            let term = |(at, c): (u32, Complex64)| Term {
                source: TermSource::Amplitude(at),
                factor: (whole(c.re), whole(c.im)),
            };
            roots.jamp.outputs.push(terms.map(term).collect());
        }
        Some(roots)
    }

    pub(super) fn len(&self) -> usize {
        self.products.len()
    }

    pub(super) fn currents(&self) -> Vec<CurrentId> {
        let both = |&(_, _, spinor, vector): &(u32, u8, CurrentId, CurrentId)| [spinor, vector];
        self.products.iter().flat_map(both).collect()
    }

    /// Attaches the vectors to the root.
    pub(super) fn attach(&self, lowering: &mut Lowering, recursion: &BerendsGiele) -> Vec<Partner> {
        let Lowering {
            compiler,
            forest,
            nodes,
            batches,
        } = lowering;
        let mut partners: Vec<Partner> = Vec::new();
        let mut known: HashMap<_, usize> = HashMap::default();
        for (at, &(interaction, result, spinor, vector)) in self.products.iter().enumerate() {
            let line = recursion.currents[spinor as usize].line;
            let line = at_the_top(compiler, forest, &line).then_some((line.mass, line.width));
            let partner = *known
                .entry((interaction, result, vector, line))
                .or_insert_with(|| {
                    let opcode = match result {
                        0 => Opcode::SumFfv2,
                        _ => Opcode::SumFfv1,
                    };
                    let children = vec![forest.root, nodes[vector as usize]];
                    let node = at_the_root(
                        compiler,
                        forest,
                        opcode,
                        interaction,
                        children,
                        line,
                        batches,
                    );
                    partners.push(Partner {
                        node,
                        products: Vec::new(),
                    });
                    partners.len() - 1
                });
            partners[partner]
                .products
                .push((nodes[spinor as usize], at as u32));
        }
        // Partners with the same legs are multiplied by the same spinors, so keep them together.
        partners.sort_by_key(|p| {
            let signs = &compiler.wavefunctions[p.node as usize].signs;
            (signs.iter().filter(|s| **s != 0).count(), signs.clone())
        });
        partners
    }
}

/// Makes a wavefunction for the root with a vector attached, with or without propagator; returns its index.
fn at_the_root(
    compiler: &mut Compiler,
    forest: &Forest,
    opcode: Opcode,
    interaction: u32,
    children: Vec<u32>,
    line: Option<(Quantity, Quantity)>,
    batches: &mut Batches,
) -> u32 {
    let signs = compiler.sum_of(&children);
    let share = SharedTerms::single(opcode, (interaction, 1.0), children);
    let node = compiler.add_wavefunction(signs.clone(), 4);
    let helicities = compiler.wavefunctions[node as usize].examples.clone();
    let mode = match line {
        Some(_) => Mode::STORE,
        None => Mode::BARE,
    };
    let others = other_operands(compiler, forest, &share, &signs, line);
    let operands = batches.entry((usize::MAX, 0, share.opcode)).or_default();
    emit(compiler, &share, node, &helicities, mode, others, operands);
    node
}

/// The operands of [`Opcode::Dots`], with the root's side first.
pub(super) fn dots(partners: &[Partner], product_base: Address) -> Vec<Address> {
    let mut operands = Vec::new();
    for partner in partners {
        operands.extend([partner.node, partner.products.len() as u32]);
        for &(spinor, at) in &partner.products {
            operands.extend([spinor, product_base + 2 * at]);
        }
    }
    operands
}
