//! The operations of vertices.

use super::berends_giele::Product;
use super::diagrams::{DiagramLine, DirectedVertex, Family, Forest, LineKind, Tree};
use crate::compiler::Compiler;
use mebridge_ops::opcode::{Mode, Momenta, Opcode};
use mebridge_ops::{Address, Batch};
use mebridge_process::{CouplingRef, ExternalKind, Quantity, Wavefunction};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;

/// Operations sorted such that they depend on earlier batches only: by number of legs, then by stage among the currents
/// with this number of legs.
pub(super) type Batches = SortedMap<(usize, usize, Opcode), Vec<Address>>;

/// Whether a fermion line is followed only by the root and one other leg. Its propagator is then applied to the other
/// factor of the product, because the root with a leg gives only a few spinors, by which many currents are multiplied.
pub(super) fn at_the_top(compiler: &Compiler, forest: &Forest, line: &DiagramLine) -> bool {
    let below = line.legs.count_ones() as usize;
    matches!(line.kind, LineKind::In | LineKind::Out)
        && below + 2 == compiler.process.legs.len()
        && forest.cut.is_none()
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
    /// Whether there is no factor besides the propagator, and the second child is followed by the one for right-handed
    /// lines.
    by_chirality: bool,
    /// Whether all of its fermion lines are massless, so that half of the components of their spinors vanish.
    pub(super) massless: bool,
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
            by_chirality: false,
            massless: false,
            four_leg_terms: Default::default(),
        }
    }

    /// No terms yet of vectors that include their constants, see [`super::merged`].
    pub(super) fn by_chirality(opcode: Opcode) -> SharedTerms {
        SharedTerms {
            by_chirality: true,
            ..SharedTerms::none(opcode)
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
        Tree::Vertex(branch) | Tree::Bare(branch) => {
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
            // Lines of both chiralities may end in the vector of two fermions.
            let alone =
                opcode == Opcode::SumFfv3 && forest.interactions[interaction as usize].is_chiral();
            let fits = |share: &SharedTerms| {
                share.opcode == opcode
                    && !alone
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
            (Family::Cut, _) => return None,
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

/// The factors of shared terms for fermions of one chirality: coefficient times the constant of the directed vertex,
/// couplings and propagator.
fn factors(
    compiler: &mut Compiler,
    forest: &Forest,
    share: &SharedTerms,
    propagator: Option<Address>,
    side: usize,
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
            let constant = &interaction.constants[side];
            let couplings: Vec<CouplingRef> = constant.iter().map(|(c, _)| *c).collect();
            let terms: Vec<(usize, Complex64)> = constant
                .iter()
                .enumerate()
                .map(|(i, (_, c))| (i, c * coefficient * form.ratio()))
                .collect();
            compiler.factor(&couplings, &terms, propagator)
        })
        .collect()
}

/// Whether the factors of shared terms depend on the chirality of fermions.
fn are_chiral(forest: &Forest, share: &SharedTerms) -> bool {
    let mut used = share.factors.iter().flatten();
    used.any(|&(interaction, _)| forest.interactions[interaction as usize].is_chiral())
}

/// The operands of an operation other than its terms.
pub(super) struct OtherOperands {
    pub(super) factors: Vec<Address>,
    /// The factors for right-handed fermions, if those above hold for left-handed ones only.
    of_right_handed: Option<Vec<Address>>,
    momentum: Address,
    mass: Address,
}

impl OtherOperands {
    /// The factors for this chirality.
    fn factors_of(&self, side: usize) -> &[Address] {
        match &self.of_right_handed {
            Some(factors) if side == 1 => factors,
            _ => &self.factors,
        }
    }
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
    let values = line.map(|line| [line.0, line.1].map(|x| compiler.binding.value(x)));
    let propagator = values.map(|[mass, width]| compiler.propagator(signs, mass, width));
    let alone = share
        .by_chirality
        .then(|| propagator.unwrap_or_else(|| compiler.one()));
    let mut factors = |side| factors(compiler, forest, share, propagator, side);
    let left_handed = match alone {
        Some(factor) => vec![factor],
        None => factors(0),
    };
    let of_right_handed = are_chiral(forest, share).then(|| factors(1));
    let (momentum, mass) = match values {
        Some([mass, _]) => (compiler.momentum(signs), compiler.constant(mass)),
        None => [compiler.constant(0.0); 2].into(),
    };
    OtherOperands {
        factors: left_handed,
        of_right_handed,
        momentum,
        mass,
    }
}

/// The external massless fermions in a wavefunction, from which follows the chirality of its line.
struct Fermions {
    /// Leg, and the sign by which its helicity is multiplied.
    massless: Vec<(usize, i8)>,
    /// Number of massive fermions that flow in minus that of those that flow out.
    massive: i32,
}

impl Fermions {
    /// The fermions of a wavefunction whose line flows in or out of the vertex where it ends.
    fn of(compiler: &Compiler, wavefunction: u32, flows_in: bool) -> Fermions {
        let legs = &compiler.wavefunctions[wavefunction as usize].signs;
        let mut fermions = Fermions {
            massless: Vec::new(),
            massive: 0,
        };
        for wavefunction in &compiler.process.wavefunctions {
            let Wavefunction::External(e) = wavefunction else {
                continue;
            };
            let direction = match e.kind {
                ExternalKind::FermionIn => 1,
                ExternalKind::FermionOut => -1,
                _ => continue,
            };
            let leg = e.leg as usize;
            if legs[leg] == 0 {
                continue;
            }
            match compiler.binding.value(e.mass) == 0.0 {
                true if flows_in => fermions.massless.push((leg, e.sign * direction)),
                true => fermions.massless.push((leg, -e.sign * direction)),
                false => fermions.massive += i32::from(direction),
            }
        }
        fermions
    }

    /// -1 or 1 for a left-handed or right-handed line in a helicity configuration. Both ends of a massless line have the
    /// same chirality, so those of lines with both ends in the wavefunction cancel, or the wavefunction vanishes; only
    /// then there are other values.
    fn chirality(&self, compiler: &Compiler, h: usize) -> i8 {
        let massless = self.massless.iter();
        massless
            .map(|&(leg, sign)| sign * compiler.helicity(h, leg))
            .sum()
    }
}

/// The lines of the spinors in shared terms.
struct SpinorLines<'a> {
    share: &'a SharedTerms,
    lines: Vec<Fermions>,
}

impl<'a> SpinorLines<'a> {
    /// The lines of terms of a wavefunction, if they matter.
    fn of(
        compiler: &Compiler,
        share: &'a SharedTerms,
        node: u32,
        others: &OtherOperands,
    ) -> Option<SpinorLines<'a>> {
        if !share.by_chirality && !share.massless && others.of_right_handed.is_none() {
            return None;
        }
        let terms = share.plus.iter().chain(&share.minus);
        let mut first: Vec<u32> = terms.map(|term| term[0]).collect();
        first.sort_unstable();
        first.dedup();
        let lines = match share.opcode {
            Opcode::SumFfv1 => vec![Fermions::of(compiler, node, false)],
            Opcode::SumFfv2 => vec![Fermions::of(compiler, node, true)],
            _ => (first.iter())
                .map(|&spinor| Fermions::of(compiler, spinor, true))
                .collect(),
        };
        Some(SpinorLines { share, lines })
    }

    /// 0 or 1 for left-handed or right-handed lines in a helicity configuration, and the mode for spinors with half of
    /// the components.
    fn side_and_mode(&self, compiler: &Compiler, h: usize) -> (usize, u32) {
        let mut chiralities = self.lines.iter().map(|line| line.chirality(compiler, h));
        let chirality = chiralities.next().unwrap_or_default();
        let right_handed = chirality > 0;
        let definite = chirality.abs() == 1
            && chiralities.all(|other| other == chirality)
            && self.lines.iter().all(|line| line.massive == 0);
        let first = right_handed == (self.share.opcode == Opcode::SumFfv1);
        let mode = match (self.share.massless && definite, first) {
            (false, _) => 0,
            (true, true) => Mode::FIRST_HALF,
            (true, false) => Mode::LAST_HALF,
        };
        (usize::from(right_handed), mode)
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
    let lines = SpinorLines::of(compiler, share, node, &others);
    for &(instance, h) in helicities {
        let (side, half) = match &lines {
            Some(lines) => lines.side_and_mode(compiler, h),
            None => (0, 0),
        };
        operands.extend([mode | half, plus.len() as u32]);
        if !exchange {
            operands.push(minus.len() as u32);
        }
        if four_legs {
            operands.extend(share.four_leg_terms.iter().map(|f| f.len() as u32));
        }
        for children in plus.iter().chain(&minus) {
            match (&children[..], share.by_chirality) {
                (&[spinor, vector], true) => {
                    inputs(compiler, h, &[spinor, vector + side as u32], operands);
                }
                _ => inputs(compiler, h, children, operands),
            }
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
        operands.extend(others.factors_of(side));
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
