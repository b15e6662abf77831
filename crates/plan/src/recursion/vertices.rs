//! The operations of vertices.

use super::berends_giele::Product;
use super::diagrams::{DiagramLine, DirectedVertex, Family, Forest, LineKind, Tree};
use crate::compiler::Compiler;
use mebridge_ops::opcode::{Momenta, Opcode};
use mebridge_ops::{Address, Batch};
use mebridge_process::{CouplingRef, Quantity};
use num_complex::Complex64;
use std::collections::BTreeMap;

/// Operations sorted such that they depend on earlier batches only: by number of legs, then by stage among the currents
/// with this number of legs.
pub(super) type Batches = BTreeMap<(usize, usize, Opcode), Vec<Address>>;

/// Whether a fermion line is followed only by the root and one other leg. Its propagator is then applied to the other
/// factor of the product, because the root with a leg gives only a few spinors, by which many currents are multiplied.
pub(super) fn at_the_top(compiler: &Compiler, line: &DiagramLine) -> bool {
    let below = line.legs.count_ones() as usize;
    matches!(line.kind, LineKind::In | LineKind::Out) && below + 2 == compiler.process.legs.len()
}

/// Marks a current that has no wavefunction.
pub const NO_WAVEFUNCTION: u32 = u32::MAX;

/// State needed to lower lines and the root.
pub(super) struct Lowering<'a, 'p> {
    pub(super) compiler: &'a mut Compiler<'p>,
    pub(super) forest: &'a Forest,
    /// The wavefunctions of the currents so far.
    pub(super) nodes: &'a [u32],
    pub(super) batches: &'a mut Batches,
}

/// Stage of the numbers that multiply scalars: after all currents with the same number of legs.
pub(super) const SCALAR_VERTICES: usize = 400;

/// Terms of one current that are computed by one operation. Vertices with three and with four legs may share an
/// operation, each kind with its own factor.
#[derive(Clone, Debug)]
pub(super) struct SharedTerms {
    pub(super) opcode: Opcode,
    /// Interaction and coefficient for vertices with three and with four legs.
    factors: [Option<(u32, Complex64)>; 2],
    pub(super) plus: Vec<Vec<u32>>,
    pub(super) minus: Vec<Vec<u32>>,
    /// Vertices with four legs, to be added and subtracted: `2 V3 (V2 V4) - V2 (V3 V4) - V4 (V2 V3)` for vectors, or
    /// vertices of vectors and scalars.
    pub(super) four_leg_terms: [Vec<Vec<u32>>; 2],
}

impl SharedTerms {
    fn none(opcode: Opcode) -> SharedTerms {
        SharedTerms {
            opcode,
            factors: [None, None],
            plus: Vec::new(),
            minus: Vec::new(),
            four_leg_terms: Default::default(),
        }
    }

    /// A single vertex, with the constant of its interaction times a coefficient.
    pub(super) fn single(
        opcode: Opcode,
        (interaction, coefficient): (u32, f64),
        children: Vec<u32>,
    ) -> SharedTerms {
        SharedTerms {
            factors: [Some((interaction, Complex64::new(coefficient, 0.0))), None],
            plus: vec![children],
            ..SharedTerms::none(opcode)
        }
    }
}

/// Number of complex components of a line.
pub(super) fn components(kind: LineKind) -> u32 {
    match kind {
        LineKind::In | LineKind::Out | LineKind::Vector => 4,
        LineKind::Scalar => 1,
    }
}

/// The external legs of a tree, with the signs of their momenta.
pub(super) fn legs_of(compiler: &Compiler, forest: &Forest, tree: u32) -> Vec<i8> {
    match &forest.trees[tree as usize] {
        Tree::Leg(w) => compiler.wavefunctions[*w as usize].signs.clone(),
        Tree::Vertex(branch) => {
            let mut signs = vec![0i8; compiler.process.legs.len()];
            for &child in branch.children.iter() {
                for (sign, s) in signs.iter_mut().zip(legs_of(compiler, forest, child)) {
                    *sign += s;
                }
            }
            signs
        }
    }
}

/// Whether a term has the same factor as others, up to the given sign.
fn same(a: Option<(u32, Complex64)>, b: (u32, Complex64), sign: f64) -> bool {
    a.is_none_or(|(interaction, c)| {
        interaction == b.0 && (c * sign - b.1).norm() < 1e-9 * b.1.norm()
    })
}

/// Groups the terms of a current by kernel and factor.
pub(super) fn shares(
    forest: &Forest,
    products: &[Product],
    nodes: &[u32],
) -> Option<Vec<SharedTerms>> {
    let mut shares: Vec<SharedTerms> = Vec::new();
    let mut push =
        |opcode: Opcode, slot: usize, interaction: u32, c: Complex64, children: Vec<u32>| {
            let factor = (interaction, c);
            let fits = |share: &SharedTerms| {
                share.opcode == opcode
                    && (same(share.factors[slot], factor, 1.0)
                        || same(share.factors[slot], factor, -1.0))
            };
            let at = match shares.iter().position(fits) {
                Some(at) => at,
                None => {
                    shares.push(SharedTerms::none(opcode));
                    shares.len() - 1
                }
            };
            let share = &mut shares[at];
            let plus = same(share.factors[slot], factor, 1.0);
            share.factors[slot].get_or_insert(factor);
            match (slot, plus) {
                (1, _) => share.four_leg_terms[usize::from(!plus)].push(children),
                (_, true) => share.plus.push(children),
                (_, false) => share.minus.push(children),
            }
        };
    for product in products {
        let family = forest.interactions[product.interaction as usize].family;
        let children: Vec<u32> = product
            .children
            .iter()
            .map(|&c| nodes[c as usize])
            .collect();
        let c = product.coefficients;
        let id = product.interaction;
        match (family, product.result) {
            (Family::Ffv, 0) => push(Opcode::SumFfv1, 0, id, c[0], children),
            (Family::Ffv, 1) => push(Opcode::SumFfv2, 0, id, c[0], children),
            (Family::Ffv, _) => push(Opcode::SumFfv3, 0, id, c[0], children),
            (Family::Vvv, _) => push(Opcode::SumVvv1, 0, id, c[0], children),
            (Family::Vss, 0) => push(Opcode::SumVss1, 0, id, c[0], children),
            (Family::Vss, _) => push(Opcode::ScalarVertex, 0, id, c[0], children),
            (Family::Vvss, 0) => push(Opcode::SumVss1, 1, id, c[0], children),
            (Family::Vvss, _) => push(Opcode::ScalarVertex, 1, id, c[0], children),
            (Family::Vvvv, _) => {
                if c.iter().sum::<Complex64>().norm() > 1e-9 {
                    return None;
                }
                let rotated =
                    |k: usize| vec![children[(k + 1) % 3], children[k], children[(k + 2) % 3]];
                let is_middle = |k: &usize| {
                    let others = c[(k + 1) % 3] - c[(k + 2) % 3];
                    others.norm() < 1e-9
                };
                if let Some(k) = (0..3).find(is_middle) {
                    push(Opcode::SumVvv1, 1, id, c[k] / 2.0, rotated(k));
                } else {
                    // V3 (V2 V4) - V4 (V2 V3) for (A, B, C), and for (B, A, C).
                    for (k, order) in [(1, [0, 1, 2]), (0, [1, 0, 2])] {
                        if c[k].norm() > 1e-9 {
                            let children = order.iter().map(|&i: &usize| children[i]).collect();
                            push(Opcode::SumVvvvDiff1, 0, id, c[k], children);
                        }
                    }
                }
            }
        }
    }
    Some(shares)
}

/// Whether an operation has vertices with three and with four legs, with a factor for each kind.
fn has_four_legs(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::SumVvv1 | Opcode::SumVss1 | Opcode::ScalarVertex
    )
}

/// The factors of shared terms: coefficient times the constant of the directed vertex, couplings and propagator.
fn factors(
    compiler: &mut Compiler,
    forest: &Forest,
    share: &SharedTerms,
    propagator: Option<Address>,
) -> Vec<Address> {
    let used: Vec<(u32, Complex64)> = match share.factors {
        [a, b] if has_four_legs(share.opcode) => {
            let some = a.or(b).into_iter();
            some.chain(b.or(a)).collect()
        }
        [a, _] => a.into_iter().collect(),
    };
    used.into_iter()
        .map(|(interaction, coefficient)| {
            let interaction = &forest.interactions[interaction as usize];
            let family = interaction.family;
            let result = match share.opcode {
                Opcode::SumFfv1 | Opcode::SumVvv1 | Opcode::SumVvvvDiff1 | Opcode::SumVss1 => 0,
                Opcode::SumFfv2 => 1,
                _ => family.legs() as u8 - 1,
            };
            // A bare product at the root is part of an amplitude.
            let result = propagator.map(|_| result);
            let form = DirectedVertex { family, result };
            let couplings: Vec<CouplingRef> = interaction.factor.iter().map(|(c, _)| *c).collect();
            let terms: Vec<(usize, Complex64)> = interaction
                .factor
                .iter()
                .enumerate()
                .map(|(i, (_, c))| (i, c * coefficient * form.ratio()))
                .collect();
            compiler.factor(&couplings, &terms, propagator)
        })
        .collect()
}

/// The operands of an operation other than its terms.
pub(super) struct OtherOperands {
    pub(super) factors: Vec<Address>,
    momentum: Address,
    mass: Address,
}

/// The operands of the operation for shared terms, for a wavefunction with these signs of momenta: with a propagator
/// for this mass and width, or bare.
pub(super) fn other_operands(
    compiler: &mut Compiler,
    forest: &Forest,
    share: &SharedTerms,
    signs: &[i8],
    line: Option<(Quantity, Quantity)>,
) -> OtherOperands {
    let Some((mass, width)) = line else {
        let unused = compiler.constant(0.0);
        return OtherOperands {
            factors: factors(compiler, forest, share, None),
            momentum: unused,
            mass: unused,
        };
    };
    let mass = compiler.binding.value(mass);
    let width = compiler.binding.value(width);
    let propagator = compiler.propagator(signs, mass, width);
    OtherOperands {
        factors: factors(compiler, forest, share, Some(propagator)),
        momentum: compiler.momentum(signs),
        mass: compiler.constant(mass),
    }
}

/// A combination of helicities of a wavefunction, and a helicity configuration with this combination.
pub(super) type Example = (u32, usize);

/// Emits the operations of shared terms for these combinations of helicities.
pub(super) fn emit(
    compiler: &mut Compiler,
    share: &SharedTerms,
    node: u32,
    helicities: &[Example],
    mode: u32,
    others: OtherOperands,
    operands: &mut Vec<Address>,
) {
    if share.opcode.layout().is_some() {
        return emit_one(compiler, share, node, helicities, &others, operands);
    }
    // Exchanging the last two lines changes the sign.
    let exchange = matches!(
        share.opcode,
        Opcode::SumVvv1 | Opcode::SumVvvvDiff1 | Opcode::SumVss1
    );
    let four_legs = has_four_legs(share.opcode);
    let mut plus = share.plus.clone();
    let mut minus = share.minus.clone();
    if exchange {
        for mut children in minus.drain(..) {
            let last = children.len() - 1;
            children.swap(last - 1, last);
            plus.push(children);
        }
    }
    for &(instance, h) in helicities {
        operands.extend([mode, plus.len() as u32]);
        if !exchange {
            operands.push(minus.len() as u32);
        }
        if four_legs {
            operands.extend(share.four_leg_terms.iter().map(|f| f.len() as u32));
        }
        for children in plus.iter().chain(&minus) {
            inputs(compiler, h, children, operands);
            if share.opcode == Opcode::SumVss1 {
                let signs = |i: usize| compiler.wavefunctions[children[i] as usize].signs.iter();
                let d: Vec<i8> = signs(0).zip(signs(1)).map(|(a, b)| a - b).collect();
                operands.push(compiler.momentum(&d));
            } else if four_legs {
                for &child in children {
                    let signs = compiler.wavefunctions[child as usize].signs.clone();
                    operands.push(compiler.momentum(&signs));
                }
            }
        }
        for children in share.four_leg_terms.iter().flatten() {
            inputs(compiler, h, children, operands);
        }
        operands.extend(&others.factors);
        if matches!(share.opcode, Opcode::SumFfv1 | Opcode::SumFfv2) {
            operands.extend([others.momentum, others.mass]);
        }
        operands.push(compiler.wavefunctions[node as usize].instances[instance as usize]);
    }
}

/// Emits a single vertex, using a kernel with a fixed number of operands.
fn emit_one(
    compiler: &mut Compiler,
    share: &SharedTerms,
    node: u32,
    helicities: &[Example],
    others: &OtherOperands,
    operands: &mut Vec<Address>,
) {
    let children = &share.plus[0];
    for &(instance, h) in helicities {
        inputs(compiler, h, children, operands);
        operands.extend(&others.factors);
        if share
            .opcode
            .layout()
            .is_some_and(|l| l.momenta == Momenta::Inputs)
        {
            for &child in children {
                let signs = compiler.wavefunctions[child as usize].signs.clone();
                operands.push(compiler.momentum(&signs));
            }
        }
        operands.push(compiler.wavefunctions[node as usize].instances[instance as usize]);
    }
}

/// A batch of operations.
pub(super) fn batch(opcode: Opcode, operands: Vec<Address>) -> Batch {
    Batch {
        opcode,
        stride: opcode.layout().map_or(0, |layout| layout.len()),
        operands,
    }
}

/// Appends the addresses of wavefunctions in a helicity configuration.
pub(super) fn inputs(compiler: &Compiler, h: usize, children: &[u32], operands: &mut Vec<Address>) {
    for &child in children {
        let line = &compiler.wavefunctions[child as usize];
        operands.push(line.instances[line.instance(&compiler.helicity_indices[h])]);
    }
}
