//! The root: an external leg, and the products of currents whose sums are colour flows.
//!
//! At the root, one current of the leg's own line meets the other currents. The leg with these other currents attached
//! is a separate wavefunction, and colour flows are sums of its products with the first current.

mod fermion;
mod scalar;
mod vector;

use super::berends_giele::{BerendsGiele, CurrentId};
use super::diagrams::Forest;
use super::scalar_lines::ScalarVertices;
use super::vertices::{Lowering, batch};
use mebridge_ops::opcode::Opcode;
use mebridge_ops::{Address, Batch};
use mebridge_process::{ExternalKind, LinearMap, Process, Wavefunction};

/// Products at the root, and the colour flows as sums of them.
pub(super) enum Root {
    /// The leg is a fermion.
    Fermion(fermion::Products),
    /// The leg is a scalar.
    Scalar(scalar::Products),
    /// The leg is a vector.
    Vector(vector::Products),
}

/// The root with other currents attached, and the factors of its products.
pub(super) enum Attached {
    Fermion(Vec<fermion::Partner>),
    /// For each product the number that multiplies the scalar, and the scalar.
    Scalar(Vec<[u32; 2]>),
    /// For each product both vectors.
    Vector(Vec<[u32; 2]>),
}

impl Root {
    /// Finds the products of all colour flows. `None` if a vertex at the root is of another kind.
    pub(super) fn find(
        process: &Process,
        forest: &Forest,
        recursion: &BerendsGiele,
    ) -> Option<Root> {
        match process.wavefunctions[forest.root as usize] {
            Wavefunction::External(e) if e.kind == ExternalKind::Scalar => {
                scalar::Products::find(forest, recursion).map(Root::Scalar)
            }
            Wavefunction::External(e) if e.kind == ExternalKind::Vector => {
                vector::Products::find(forest, recursion).map(Root::Vector)
            }
            _ => fermion::Products::find(forest, recursion).map(Root::Fermion),
        }
    }

    /// The currents that the products need.
    pub(super) fn currents(&self) -> Vec<CurrentId> {
        match self {
            Root::Fermion(products) => products.currents(),
            Root::Scalar(products) => products.currents(),
            Root::Vector(products) => products.currents(),
        }
    }

    /// Number of products.
    pub(super) fn products(&self) -> usize {
        match self {
            Root::Fermion(products) => products.len(),
            Root::Scalar(products) => products.len(),
            Root::Vector(products) => products.len(),
        }
    }

    /// The colour flows as sums of products.
    pub(super) fn jamp(&self) -> &LinearMap {
        match self {
            Root::Fermion(products) => &products.jamp,
            Root::Scalar(products) => &products.jamp,
            Root::Vector(products) => &products.jamp,
        }
    }

    /// Attaches other currents to the root.
    pub(super) fn attach(
        &self,
        lowering: &mut Lowering,
        recursion: &BerendsGiele,
        scalars: &mut ScalarVertices,
    ) -> Option<Attached> {
        Some(match self {
            Root::Fermion(products) => Attached::Fermion(products.attach(lowering, recursion)),
            Root::Scalar(products) => Attached::Scalar(products.attach(lowering, scalars)?),
            Root::Vector(products) => Attached::Vector(products.attach(lowering)?),
        })
    }
}

impl Attached {
    /// The operations of the products, which are stored contiguously from this address on.
    pub(super) fn batch(&self, base: Address) -> Batch {
        match self {
            Attached::Fermion(partners) => {
                Batch::stream(Opcode::Dots, fermion::dots(partners, base))
            }
            Attached::Scalar(products) => of_products(Opcode::DotScalar0, products, base),
            Attached::Vector(products) => of_products(Opcode::DotVector0, products, base),
        }
    }
}

/// The operations of products of two wavefunctions.
fn of_products(opcode: Opcode, products: &[[u32; 2]], base: Address) -> Batch {
    let numbered = products.iter().zip(0..);
    let operands = numbered.flat_map(|(&[a, b], at)| [a, b, base + 2 * at]);
    batch(opcode, operands.collect())
}

/// Rounds a number that is close to a small fraction (in sixths) to it.
fn whole(x: f64) -> f64 {
    let sixths = (x * 6.0).round() / 6.0;
    if (x - sixths).abs() < 1e-12 {
        sixths
    } else {
        x
    }
}
