//! Diagrams that are cut at internal lines: products of the currents of both sides.

use crate::recursion::berends_giele::{BerendsGiele, CurrentId};
use crate::recursion::diagrams::{Family, Forest, LineKind};
use mebridge_process::{LinearMap, Term, TermSource};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// The products of both sides, and the colour flows as sums of them.
#[derive(Default)]
pub(in crate::recursion) struct Products {
    /// Currents without and with propagator, both computed from vertices: first those of vectors, then of spinors.
    products: Vec<[CurrentId; 2]>,
    vectors: usize,
    pub(super) jamp: LinearMap,
}

impl Products {
    pub(super) fn find(forest: &Forest, recursion: &BerendsGiele) -> Option<Products> {
        let mut found = Products::default();
        let mut numbers: HashMap<[CurrentId; 2], u32> = HashMap::default();
        let mut flows: Vec<SortedMap<u32, Complex64>> = Vec::new();
        for flow in &recursion.flows {
            let mut sum: SortedMap<u32, Complex64> = SortedMap::new();
            for product in flow {
                let family = forest.interactions[product.interaction as usize].family;
                let ([bare, tree], Family::Cut) = (&product.children[..], family) else {
                    return None;
                };
                if recursion.currents[*bare as usize].line.kind == LineKind::Scalar {
                    return None;
                }
                for &(bare, c) in &recursion.resolve(*bare) {
                    for &(tree, d) in &recursion.resolve(*tree) {
                        let at = *numbers.entry([bare, tree]).or_insert_with(|| {
                            found.products.push([bare, tree]);
                            found.products.len() as u32 - 1
                        });
                        *sum.entry(at).or_default() += product.coefficients[0] * c * d;
                    }
                }
            }
            flows.push(sum);
        }
        let is_vector = |[bare, _]: &[CurrentId; 2]| {
            recursion.currents[*bare as usize].line.kind == LineKind::Vector
        };
        let mut order: Vec<usize> = (0..found.products.len()).collect();
        order.sort_by_key(|&at| (!is_vector(&found.products[at]), found.products[at]));
        let mut places = vec![0; order.len()];
        for (place, &at) in (0..).zip(&order) {
            places[at] = place;
        }
        found.products = order.iter().map(|&at| found.products[at]).collect();
        found.vectors = found
            .products
            .iter()
            .filter(|sides| is_vector(sides))
            .count();
        for sum in flows {
            let terms = sum.into_iter().filter(|(_, c)| c.norm() > 1e-12);
            let term = |(at, c): (u32, Complex64)| Term {
                source: TermSource::Amplitude(places[at as usize]),
                factor: (whole(c.re), whole(c.im)),
            };
            found.jamp.outputs.push(terms.map(term).collect());
        }
        Some(found)
    }

    pub(super) fn len(&self) -> usize {
        self.products.len()
    }

    pub(super) fn currents(&self) -> Vec<CurrentId> {
        self.products.as_flattened().to_vec()
    }

    /// The wavefunctions of both sides, for vectors and for spinors; products are numbered in this order.
    pub(super) fn sides(&self, nodes: &[u32]) -> [Vec<[u32; 2]>; 2] {
        let (vectors, spinors) = self.products.split_at(self.vectors);
        let node = |current: CurrentId| nodes[current as usize];
        [vectors, spinors].map(|products| products.iter().map(|sides| sides.map(node)).collect())
    }
}

/// Rounds a number that is close to a small fraction (in sixths) to it.
pub(super) fn whole(x: f64) -> f64 {
    let sixths = (x * 6.0).round() / 6.0;
    if (x - sixths).abs() < 1e-12 {
        sixths
    } else {
        x
    }
}
