//! The root: an external leg, and the products of currents whose sums are colour flows.
//!
//! At the root, one current of the leg's own line meets the other currents. The leg with these other currents attached
//! is a separate wavefunction, and colour flows are sums of its products with the first current.

mod cut;
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
    /// There is none: diagrams are cut at internal lines.
    Cut(cut::Products),
}

/// The root with other currents attached, and the factors of its products.
pub(super) enum Attached {
    Fermion(Vec<fermion::Partner>),
    /// For each product the number that multiplies the scalar, and the scalar.
    Scalar(Vec<[u32; 2]>),
    /// For each product both vectors.
    Vector(Vec<[u32; 2]>),
    /// For each product both sides: vectors, then spinors.
    Cut([Vec<[u32; 2]>; 2]),
}

impl Root {
    /// Finds the products of all colour flows. `None` if a vertex at the root is of another kind.
    pub(super) fn find(
        process: &Process,
        forest: &Forest,
        recursion: &BerendsGiele,
    ) -> Option<Root> {
        if forest.cut.is_some() {
            return cut::Products::find(forest, recursion).map(Root::Cut);
        }
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
            Root::Cut(products) => products.currents(),
        }
    }

    /// Number of products.
    pub(super) fn products(&self) -> usize {
        match self {
            Root::Fermion(products) => products.len(),
            Root::Scalar(products) => products.len(),
            Root::Vector(products) => products.len(),
            Root::Cut(products) => products.len(),
        }
    }

    /// The colour flows as sums of products.
    pub(super) fn jamp(&self) -> &LinearMap {
        match self {
            Root::Fermion(products) => &products.jamp,
            Root::Scalar(products) => &products.jamp,
            Root::Vector(products) => &products.jamp,
            Root::Cut(products) => &products.jamp,
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
            Root::Cut(products) => Attached::Cut(products.sides(lowering.nodes)),
        })
    }
}

impl Attached {
    /// The operations of the products, which are stored contiguously from this address on.
    pub(super) fn batches(&self, base: Address) -> Vec<Batch> {
        match self {
            Attached::Fermion(partners) => {
                vec![Batch::stream(Opcode::Dots, fermion::dots(partners, base))]
            }
            Attached::Scalar(products) => vec![of_products(Opcode::DotScalar0, products, base)],
            Attached::Vector(products) => vec![of_products(Opcode::DotVector0, products, base)],
            Attached::Cut([vectors, spinors]) => {
                let after = base + 2 * vectors.len() as Address;
                let both = [
                    of_products(Opcode::DotVector0, vectors, base),
                    of_products(Opcode::DotSpinor0, spinors, after),
                ];
                both.into_iter()
                    .filter(|batch| !batch.operands.is_empty())
                    .collect()
            }
        }
    }
}

/// The operations of products of two wavefunctions.
fn of_products(opcode: Opcode, products: &[[u32; 2]], base: Address) -> Batch {
    let numbered = products.iter().zip(0..);
    let operands = numbered.flat_map(|(&[a, b], at)| [a, b, base + 2 * at]);
    batch(opcode, operands.collect())
}
