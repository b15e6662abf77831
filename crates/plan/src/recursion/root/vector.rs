//! Vector at the root: for each colour flow the sum of all vertices of the root, as a current without propagator, times
//! the root's polarisation. This is for processes of vectors alone.

use crate::recursion::berends_giele::{BerendsGiele, CurrentId, Product};
use crate::recursion::diagrams::{Family, Forest};
use crate::recursion::vertices::{Lowering, emit, other_operands, shares};
use mebridge_ops::opcode::Mode;
use mebridge_process::{LinearMap, Term, TermSource};

/// The vertices at the root, and the colour flows, each of which is one product.
#[derive(Default)]
pub(in crate::recursion) struct Products {
    /// The vertices of each flow.
    vertices: Vec<Vec<Product>>,
    pub(super) jamp: LinearMap,
}

impl Products {
    pub(super) fn find(forest: &Forest, recursion: &BerendsGiele) -> Option<Products> {
        let mut found = Products::default();
        for flow in &recursion.flows {
            let of_vectors = |product: &Product| {
                let family = forest.interactions[product.interaction as usize].family;
                matches!(family, Family::Vvv | Family::Vvvv)
            };
            if flow.is_empty() || !flow.iter().all(of_vectors) {
                return None;
            }
            found.jamp.outputs.push(vec![Term {
                source: TermSource::Amplitude(found.vertices.len() as u32),
                factor: (1.0, 0.0),
            }]);
            found.vertices.push(flow.clone());
        }
        Some(found)
    }

    pub(super) fn len(&self) -> usize {
        self.vertices.len()
    }

    pub(super) fn currents(&self) -> Vec<CurrentId> {
        let vertices = self.vertices.iter().flatten();
        vertices
            .flat_map(|vertex| &vertex.children)
            .copied()
            .collect()
    }

    /// Computes the currents; returns the root and the current of each product.
    pub(super) fn attach(&self, lowering: &mut Lowering) -> Option<Vec<[u32; 2]>> {
        let Lowering {
            compiler,
            forest,
            nodes,
            batches,
        } = lowering;
        let mut products = Vec::new();
        for vertices in &self.vertices {
            let first = vertices.first()?;
            let children: Vec<u32> = (first.children.iter())
                .map(|&child| nodes[child as usize])
                .collect();
            let signs = compiler.sum_of(&children);
            let node = compiler.add_wavefunction(signs.clone(), 4);
            let helicities = compiler.wavefunctions[node as usize].examples.clone();
            for (place, share) in shares(forest, vertices, nodes)?.iter().enumerate() {
                let mode = if place == 0 { Mode::STORE } else { Mode::ADD };
                let others = other_operands(compiler, forest, share, &signs, None);
                let operands = batches
                    .entry((usize::MAX, place, share.opcode))
                    .or_default();
                emit(compiler, share, node, &helicities, mode, others, operands);
            }
            products.push([forest.root, node]);
        }
        Some(products)
    }
}
