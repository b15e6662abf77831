//! Scalar at the root: products of scalars with the numbers that the vertices of the root with vectors multiply them by
//! ([`scalar_lines`](crate::recursion::scalar_lines)). The root's own wavefunction is 1.

use super::cut::whole;
use crate::recursion::berends_giele::{BerendsGiele, CurrentId, Product};
use crate::recursion::diagrams::{Family, Forest};
use crate::recursion::scalar_lines::{Key, ScalarVertices, by_scalar, key, scale};
use crate::recursion::vertices::Lowering;
use mebridge_process::{LinearMap, Term, TermSource};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// The products of scalars at the root, and the colour flows as sums of them.
#[derive(Default)]
pub(in crate::recursion) struct Products {
    /// The vertices of each number; the coefficient of the first is 1.
    vertices: Vec<Vec<Product>>,
    /// Index of the number, and scalar.
    products: Vec<(u32, CurrentId)>,
    pub(super) jamp: LinearMap,
}

impl Products {
    pub(super) fn find(forest: &Forest, recursion: &BerendsGiele) -> Option<Products> {
        let mut found = Products::default();
        let mut numbers: HashMap<Key, u32> = HashMap::default();
        let mut products: HashMap<(u32, CurrentId), u32> = HashMap::default();
        for flow in &recursion.flows {
            let mut terms = Vec::new();
            for (scalar, mut vertices) in by_scalar(forest, flow)? {
                for vertex in &mut vertices {
                    // The root is exchanged with the scalar of the vertex.
                    if forest.interactions[vertex.interaction as usize].family == Family::Vss {
                        vertex.coefficients[0] *= -1.0;
                    }
                }
                let first = vertices[0].coefficients[0];
                scale(&mut vertices, Complex64::new(1.0, 0.0) / first);
                let number = *numbers.entry(key(&vertices)).or_insert_with(|| {
                    found.vertices.push(vertices);
                    found.vertices.len() as u32 - 1
                });
                let product = *products.entry((number, scalar)).or_insert_with(|| {
                    found.products.push((number, scalar));
                    found.products.len() as u32 - 1
                });
                terms.push(Term {
                    source: TermSource::Amplitude(product),
                    factor: (whole(first.re), whole(first.im)),
                });
            }
            found.jamp.outputs.push(terms);
        }
        Some(found)
    }

    pub(super) fn len(&self) -> usize {
        self.products.len()
    }

    pub(super) fn currents(&self) -> Vec<CurrentId> {
        let scalars = self.products.iter().map(|&(_, scalar)| scalar);
        let vectors = self.vertices.iter().flatten().flat_map(|v| &v.children);
        scalars.chain(vectors.copied()).collect()
    }

    /// Computes the numbers; returns number and scalar for each product.
    pub(super) fn attach(
        &self,
        lowering: &mut Lowering,
        scalars: &mut ScalarVertices,
    ) -> Option<Vec<[u32; 2]>> {
        let root = lowering.forest.root as usize;
        let root = lowering.compiler.wavefunctions[root].signs.clone();
        let mut numbers = Vec::new();
        for vertices in &self.vertices {
            numbers.push(scalars.node(lowering, vertices, &root)?);
        }
        let product = |&(number, scalar): &(u32, CurrentId)| {
            [numbers[number as usize], lowering.nodes[scalar as usize]]
        };
        Some(self.products.iter().map(product).collect())
    }
}
