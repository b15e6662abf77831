//! Diagrams as trees that are rooted at one external leg.
//!
//! MG5aMC's listing ends every diagram at a vertex of its own choice. Here all diagrams are rooted at the same external
//! leg, the *root*: the rest is a tree, in which every internal line is the current of a set of the other legs. The
//! result of a vertex may then be another leg than in the listing; its constant in that form follows from the constants
//! of the kernels (see [`DirectedVertex::ratio`]).
//!
//! Trees are hash-consed: equal trees of different diagrams are stored once. If a vertex is antisymmetric in legs of
//! the same kind, they are put into canonical order and the sign is stored separately. In the listing, the four-gluon
//! vertex is three differences of products of metric tensors, which are linearly dependent; here each difference
//! becomes two trees, one for each product, so that equal terms are recognised as such.

use crate::binding::Binding;
use mebridge_ops::opcode::Opcode;
use mebridge_ops::recognize::Recognized;
use mebridge_process::{CouplingRef, ExternalKind, Process, Quantity, Vertex, Wavefunction};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use std::ops::{Deref, DerefMut};

/// Index of a tree in [`Forest::trees`].
pub type TreeIndex = u32;

/// A diagram cut in two: a branch, and a tree that includes the line's propagator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CutDiagram {
    /// The side without the propagator.
    pub bare: Branch,
    /// The side with the propagator.
    pub tree: TreeIndex,
}

/// A line of a diagram. Two lines over the same legs whose kind, mass and width agree can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiagramLine {
    /// External legs, one bit each.
    pub legs: u64,
    /// Kind of wavefunction.
    pub kind: LineKind,
    /// Mass of the propagator.
    pub mass: Quantity,
    /// Its width.
    pub width: Quantity,
    /// Whether the propagator is left out, because it belongs to the other side of a [`DiagramCut`].
    pub is_bare: bool,
}

/// Where diagrams are cut: the line is followed from one external leg to another, up to the vertex at which
/// the part already passed becomes larger than `size`. Of the three parts that meet there, the largest is one side, the
/// other two are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramCut {
    /// The leg at which the path begins.
    pub from: u32,
    /// The leg at which it ends.
    pub to: u32,
    /// Size in halves of a leg, see [`size`].
    pub size: u32,
}

/// Kinds of wavefunctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// A fermion that flows into the parent vertex (`f1` there).
    In,
    /// A fermion that flows out of the parent vertex (`f2` there).
    Out,
    /// A vector.
    Vector,
    /// A scalar.
    Scalar,
}

/// A vertex structure, without specifying which leg is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// (f1, f2, V).
    Ffv,
    /// Three vectors.
    Vvv,
    /// Four vectors, a product of two metric tensors (see [`Branch::lone`]).
    Vvvv,
    /// (V, S, S).
    Vss,
    /// (V, V, S, S).
    Vvss,
    /// Both sides of a [`DiagramCut`]; the first is without propagator.
    Cut,
}

/// A vertex structure with one of its legs as the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectedVertex {
    /// The family.
    pub family: Family,
    /// Which leg is the result; `None` for an amplitude.
    pub result: Option<u8>,
}

impl DirectedVertex {
    /// The form of a kernel, and the family's legs that are its inputs, in the kernel's order.
    pub fn from_opcode(opcode: Opcode) -> Option<(DirectedVertex, &'static [u8])> {
        let form =
            |family, result, legs: &'static [u8]| Some((DirectedVertex { family, result }, legs));
        match opcode {
            Opcode::Ffv0 | Opcode::FfvL0 | Opcode::FfvLr0 => form(Family::Ffv, None, &[0, 1, 2]),
            Opcode::Ffv1 | Opcode::FfvL1 | Opcode::FfvLr1 => form(Family::Ffv, Some(0), &[1, 2]),
            Opcode::Ffv2 | Opcode::FfvL2 | Opcode::FfvLr2 => form(Family::Ffv, Some(1), &[0, 2]),
            // The numerator of a massive vector is that of a massless one, see `Forest::grow`.
            Opcode::Ffv3 | Opcode::FfvL3 | Opcode::FfvLr3 => form(Family::Ffv, Some(2), &[0, 1]),
            Opcode::FfvMassive3 | Opcode::FfvLMassive3 | Opcode::FfvLrMassive3 => {
                form(Family::Ffv, Some(2), &[0, 1])
            }
            Opcode::Vvv0 => form(Family::Vvv, None, &[0, 1, 2]),
            Opcode::Vvv1 => form(Family::Vvv, Some(0), &[1, 2]),
            Opcode::VvvvDiff0 => form(Family::Vvvv, None, &[0, 1, 2, 3]),
            Opcode::VvvvDiff1 => form(Family::Vvvv, Some(0), &[1, 2, 3]),
            Opcode::Vss0 => form(Family::Vss, None, &[0, 1, 2]),
            Opcode::Vss1 => form(Family::Vss, Some(0), &[1, 2]),
            Opcode::Vss3 => form(Family::Vss, Some(2), &[0, 1]),
            Opcode::Vvss0 => form(Family::Vvss, None, &[0, 1, 2, 3]),
            Opcode::Vvss1 => form(Family::Vvss, Some(0), &[1, 2, 3]),
            Opcode::Vvss4 => form(Family::Vvss, Some(3), &[0, 1, 2]),
            _ => None,
        }
    }

    /// Constant of this form relative to the amplitude of the same vertex: ALOHA's off-shell fermions and scalars carry
    /// a factor -1, its vectors none.
    pub fn ratio(self) -> f64 {
        match self.result.map(|leg| self.family.kind(leg)) {
            None | Some(LineKind::Vector) => 1.0,
            Some(LineKind::In | LineKind::Out | LineKind::Scalar) => -1.0,
        }
    }
}

/// Whether a kernel computes a vertex of left-handed fermions alone.
fn left_alone(opcode: Opcode) -> bool {
    use Opcode::{FfvL0, FfvL1, FfvL2, FfvL3, FfvLMassive3};
    matches!(opcode, FfvL0 | FfvL1 | FfvL2 | FfvL3 | FfvLMassive3)
}

impl Family {
    /// Number of legs.
    pub fn legs(self) -> usize {
        match self {
            Family::Cut => 2,
            Family::Ffv | Family::Vvv | Family::Vss => 3,
            Family::Vvvv | Family::Vvss => 4,
        }
    }

    /// The representative of a leg under the family's symmetry or antisymmetry: the first vector, the last scalar.
    fn result(self, leg: u8) -> u8 {
        match (self, self.kind(leg)) {
            (Family::Ffv, _) => leg,
            (Family::Vss, LineKind::Scalar) => 2,
            (Family::Vvss, LineKind::Scalar) => 3,
            _ => 0,
        }
    }

    /// The kind of line of this leg when it is the result.
    pub fn kind(self, leg: u8) -> LineKind {
        match (self, leg) {
            // A result in place of the incoming f1 continues as f2.
            (Family::Ffv, 0) => LineKind::Out,
            (Family::Ffv, 1) => LineKind::In,
            (Family::Vss, 1 | 2) | (Family::Vvss, 2 | 3) => LineKind::Scalar,
            _ => LineKind::Vector,
        }
    }
}

/// Couplings with their coefficients.
pub type Constant = Vec<(CouplingRef, Complex64)>;

/// A vertex of the process, without specifying which leg is the result.
#[derive(Clone, Debug)]
pub struct Interaction {
    /// Its structure.
    pub family: Family,
    /// Its constants as an amplitude for left-handed and right-handed fermions, normalised such that the first
    /// coefficient is 1. They are equal if the vertex does not depend on chirality.
    pub constants: [Constant; 2],
}

impl Interaction {
    /// Whether left-handed and right-handed fermions have different constants.
    pub fn is_chiral(&self) -> bool {
        self.constants[0] != self.constants[1]
    }
}

/// A tree: an external leg, or a vertex with trees on all legs except the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// An external wavefunction of the process.
    Leg(u32),
    /// A vertex, with the propagator that follows it.
    Vertex(Branch),
    /// A vertex without propagator.
    Bare(Branch),
}

impl Tree {
    /// The vertex at the top, if there is one.
    pub fn branch(&self) -> Option<Branch> {
        match *self {
            Tree::Leg(_) => None,
            Tree::Vertex(branch) | Tree::Bare(branch) => Some(branch),
        }
    }
}

/// A vertex and its subtrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Branch {
    /// Index into [`Forest::interactions`].
    pub interaction: u32,
    /// Index of the leg of its family that is the result.
    pub result: u8,
    /// The trees on the other legs, in the order in which the family's legs follow the result.
    pub children: Children,
    /// For three vectors giving a fourth: the child that determines the direction of the result, while the other two
    /// are contracted with each other. 0 for all other families.
    pub lone: u8,
}

/// Two or three trees, stored inline as there are many branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Children {
    trees: [TreeIndex; 3],
    count: u8,
}

impl Children {
    fn push(&mut self, tree: TreeIndex) {
        self.trees[usize::from(self.count)] = tree;
        self.count += 1;
    }
}

impl FromIterator<TreeIndex> for Children {
    fn from_iter<I: IntoIterator<Item = TreeIndex>>(trees: I) -> Children {
        let mut children = Children::default();
        trees.into_iter().for_each(|tree| children.push(tree));
        children
    }
}

impl Deref for Children {
    type Target = [TreeIndex];

    fn deref(&self) -> &[TreeIndex] {
        &self.trees[..usize::from(self.count)]
    }
}

impl DerefMut for Children {
    fn deref_mut(&mut self) -> &mut [TreeIndex] {
        &mut self.trees[..usize::from(self.count)]
    }
}

/// Branches or trees with coefficients.
pub type Combination<T> = Vec<(T, f64)>;

/// All diagrams of a process, rooted.
pub struct Forest {
    /// The distinct vertices.
    pub interactions: Vec<Interaction>,
    /// The distinct trees; children come before their parents.
    pub trees: Vec<Tree>,
    /// The line of each tree.
    pub lines: Vec<DiagramLine>,
    /// For each amplitude of the process, the branches at the root that sum to it.
    pub tops: Vec<Vec<(Branch, Complex64)>>,
    /// The external wavefunction at the root.
    pub root: u32,
    /// Where diagrams are cut, instead of at the root.
    pub cut: Option<DiagramCut>,
    /// The unrooted diagram of each amplitude.
    diagrams: Vec<Vec<Node>>,
    ids: HashMap<Tree, TreeIndex>,
    interaction_ids: HashMap<InteractionKey, u32>,
}

/// Family, and for each chirality couplings with the bits of their rounded coefficients.
type InteractionKey = (Family, [Vec<(CouplingRef, u64, u64)>; 2]);

/// A vertex of one diagram, before it is rooted.
struct Node {
    interaction: u32,
    /// The object connected to each leg of the family.
    ends: Vec<End>,
}

#[derive(Clone, Copy)]
enum End {
    /// An external wavefunction.
    Leg(u32),
    /// Another vertex of the diagram, with the index of its leg and the mass and width of the line.
    Node(usize, u8, Quantity, Quantity),
    /// Not yet determined.
    Open,
}

/// The legs of vertices that connect to other vertices: both ends of each internal line.
fn inner_ends(nodes: &[Node]) -> Vec<(usize, u8)> {
    let ends = |(i, node): (usize, &Node)| {
        let ends = node.ends.iter().zip(0..);
        let inner = ends.filter(|(end, _)| matches!(end, End::Node(..)));
        inner.map(|(_, leg)| (i, leg)).collect::<Vec<_>>()
    };
    nodes.iter().enumerate().flat_map(ends).collect()
}

/// The vertex of a diagram to which an external wavefunction is attached, and its leg.
fn end_of(nodes: &[Node], wavefunction: u32) -> Option<(usize, u8)> {
    nodes.iter().enumerate().find_map(|(i, node)| {
        let is_it = |end: &End| matches!(end, End::Leg(w) if *w == wavefunction);
        node.ends.iter().position(is_it).map(|leg| (i, leg as u8))
    })
}

/// The external legs that an end of a vertex leads to, one bit each.
fn legs_beyond(process: &Process, nodes: &[Node], end: End) -> u64 {
    match end {
        End::Open => 0,
        End::Leg(w) => match process.wavefunctions[w as usize] {
            Wavefunction::External(e) => 1 << e.leg,
            Wavefunction::Internal(_) => 0,
        },
        End::Node(node, result, ..) => {
            let ends = nodes[node].ends.iter().zip(0..);
            let others = ends.filter(|&(_, leg)| leg != result);
            others
                .map(|(end, _)| legs_beyond(process, nodes, *end))
                .sum()
        }
    }
}

/// The size of a set of legs: two for each, and one for each fermion, as the helicities of both ends of a line are
/// mostly the same.
pub fn size(legs: u64, fermions: u64) -> u32 {
    legs.count_ones() + (legs & !fermions).count_ones()
}

impl Forest {
    /// Roots all diagrams of a process at an external wavefunction. `None` if the family of a vertex does not allow its
    /// legs to be exchanged, if a massive fermion has a vertex that depends on chirality, or if a massive vector is not
    /// made of two massless external fermions. (The product of these with its momentum vanishes, so that the numerator
    /// of the propagator in unitary gauge is the metric.)
    pub fn grow(
        process: &Process,
        binding: &Binding,
        listed: &mebridge_process::Diagrams,
        (root, cut): (u32, Option<DiagramCut>),
        recognize: &mut dyn FnMut(&Vertex) -> Option<Recognized>,
    ) -> Option<Forest> {
        let mut forest = Forest {
            interactions: Vec::new(),
            trees: Vec::new(),
            lines: Vec::new(),
            tops: Vec::new(),
            root,
            cut,
            diagrams: Vec::new(),
            ids: HashMap::default(),
            interaction_ids: HashMap::default(),
        };
        for amplitude in &listed.amplitudes {
            let mut nodes = Vec::new();
            let mut scale = Complex64::new(1.0, 0.0);
            forest.node(
                process, binding, amplitude, recognize, &mut nodes, &mut scale,
            )?;
            let (node, leg) = end_of(&nodes, root)?;
            let branches = match cut {
                Some(cut) => forest.cut(process, &nodes, cut)?,
                None => forest.branches(process, &nodes, node, leg),
            };
            let scaled = branches.into_iter().map(|(b, sign)| (b, scale * sign));
            forest.tops.push(scaled.collect());
            forest.diagrams.push(nodes);
        }
        let massless = |mass: Quantity| binding.value(mass) == 0.0;
        let is_fermion = |tree: &TreeIndex| {
            let line = forest.lines[*tree as usize];
            let leg = matches!(forest.trees[*tree as usize], Tree::Leg(_));
            leg && matches!(line.kind, LineKind::In | LineKind::Out) && massless(line.mass)
        };
        let mut all = forest.trees.iter().zip(&forest.lines);
        let transverse = all.all(|(tree, line)| match tree {
            Tree::Vertex(branch) if line.kind == LineKind::Vector && !massless(line.mass) => {
                branch.children.iter().all(is_fermion)
            }
            _ => true,
        });
        transverse.then_some(forest)
    }

    /// Appends a vertex and everything below it in the listing, and multiplies `scale` by the factor between its
    /// constant and that of its interaction. Returns the vertex's index and which of its legs was the result in the
    /// listing.
    fn node(
        &mut self,
        process: &Process,
        binding: &Binding,
        vertex: &Vertex,
        recognize: &mut dyn FnMut(&Vertex) -> Option<Recognized>,
        nodes: &mut Vec<Node>,
        scale: &mut Complex64,
    ) -> Option<(usize, Option<u8>)> {
        let recognized = recognize(vertex)?;
        let (form, legs) = DirectedVertex::from_opcode(recognized.opcode)?;
        let none = Vec::new();
        let sides = match (left_alone(recognized.opcode), &recognized.factors[..]) {
            (false, [both]) => [both, both],
            (true, [left]) => [left, &none],
            (false, [left, right]) => [left, right],
            _ => return None,
        };
        let first = sides.iter().find_map(|side| side.first())?.1;
        *scale *= first / form.ratio();
        let constants = sides.map(|side| {
            let normalised = side.iter();
            let normalised = normalised.map(|&(i, c)| (vertex.couplings[i], c / first));
            normalised.collect()
        });
        let interaction = self.interaction(form.family, constants);
        let is_chiral = self.interactions[interaction as usize].is_chiral();
        let massless = |mass: Quantity| binding.value(mass) == 0.0;
        if is_chiral && form.result.is_some_and(|leg| leg < 2) && !massless(vertex.mass) {
            return None;
        }
        let index = nodes.len();
        nodes.push(Node {
            interaction,
            ends: vec![End::Open; form.family.legs()],
        });
        for (&leg, &input) in legs.iter().zip(&recognized.input_permutation) {
            let input = vertex.inputs[input];
            let wavefunction = &process.wavefunctions[input as usize];
            let mass = match wavefunction {
                Wavefunction::External(external) => external.mass,
                Wavefunction::Internal(below) => below.mass,
            };
            if is_chiral && leg < 2 && !massless(mass) {
                return None;
            }
            let end = match wavefunction {
                Wavefunction::External(_) => End::Leg(input),
                Wavefunction::Internal(below) => {
                    let (child, result) =
                        self.node(process, binding, below, recognize, nodes, scale)?;
                    let result = result?;
                    let (mass, width) = (below.mass, below.width);
                    nodes[child].ends[result as usize] = End::Node(index, leg, mass, width);
                    End::Node(child, result, mass, width)
                }
            };
            nodes[index].ends[leg as usize] = end;
        }
        Some((index, form.result))
    }

    fn interaction(&mut self, family: Family, constants: [Constant; 2]) -> u32 {
        let rounded = |x: f64| (x * 1e9).round().to_bits();
        let bits = constants.each_ref().map(|constant| {
            let terms = constant.iter();
            let bits = terms.map(|(coupling, c)| (*coupling, rounded(c.re), rounded(c.im)));
            bits.collect()
        });
        let interactions = &mut self.interactions;
        *self
            .interaction_ids
            .entry((family, bits))
            .or_insert_with(|| {
                interactions.push(Interaction { family, constants });
                interactions.len() as u32 - 1
            })
    }

    /// The vertex with the given leg as the result, as a sum of branches with canonical order of legs.
    fn branches(
        &mut self,
        process: &Process,
        nodes: &[Node],
        node: usize,
        result: u8,
    ) -> Combination<Branch> {
        let interaction = nodes[node].interaction;
        let family = self.interactions[interaction as usize].family;
        // Order of the legs after the result such that the family keeps its form with the result first: a rotation for
        // three vectors, an exchange of pairs for four. Scalars keep the order of the family's legs.
        let order: &[u8] = match (family, result) {
            (Family::Ffv, 0) => &[1, 2],
            (Family::Ffv, 1) => &[0, 2],
            (Family::Ffv, _) => &[0, 1],
            (Family::Vvv, 0) => &[1, 2],
            (Family::Vvv, 1) => &[2, 0],
            (Family::Vvv, _) => &[0, 1],
            (Family::Vvvv, 0) => &[1, 2, 3],
            (Family::Vvvv, 1) => &[0, 3, 2],
            (Family::Vvvv, 2) => &[3, 0, 1],
            (Family::Vvvv, _) => &[2, 1, 0],
            (Family::Vss, 0) => &[1, 2],
            (Family::Vss, 1) => &[0, 2],
            (Family::Vss, _) => &[0, 1],
            (Family::Vvss, 0) => &[1, 2, 3],
            (Family::Vvss, 1) => &[0, 2, 3],
            (Family::Vvss, 2) => &[0, 1, 3],
            (Family::Vvss, _) => &[0, 1, 2],
            (Family::Cut, _) => &[],
        };
        let mut products: Combination<Children> = vec![(Children::default(), 1.0)];
        for &leg in order {
            let trees = self.trees_at(process, nodes, nodes[node].ends[leg as usize]);
            let append = |&(children, c): &(Children, f64)| {
                let append = |&(tree, s): &(TreeIndex, f64)| {
                    let mut children = children;
                    children.push(tree);
                    (children, c * s)
                };
                trees.iter().map(append).collect::<Vec<_>>()
            };
            products = products.iter().flat_map(append).collect();
        }
        let mut branches = Vec::new();
        for (children, c) in products {
            // Sorts lines of one kind by their legs, so that the order does not depend on the listing; in families with
            // scalars, vectors come first.
            let mut sorted: Vec<usize> = (0..children.len()).collect();
            if family != Family::Ffv {
                sorted.sort_by_key(|&i| {
                    let line = self.lines[children[i] as usize];
                    (line.kind == LineKind::Scalar, line.legs)
                });
            }
            let branch = |lone: u8| Branch {
                interaction,
                result: family.result(result),
                children: sorted.iter().map(|&i| children[i]).collect(),
                lone,
            };
            match family {
                Family::Ffv => branches.push((branch(0), c)),
                Family::Vvv if sorted[0] == 0 => branches.push((branch(0), c)),
                Family::Vvv => branches.push((branch(0), -c)),
                // The vertex is antisymmetric in the scalars.
                Family::Vss if (result == 0 && sorted[0] == 1) || result == 1 => {
                    branches.push((branch(0), -c));
                }
                Family::Vss | Family::Vvss | Family::Cut => branches.push((branch(0), c)),
                Family::Vvvv => {
                    // The kernel computes V3 (V2 V4) - V4 (V2 V3) for V2, V3, V4.
                    for (lone, sign) in [(1, 1.0), (2, -1.0)] {
                        let at = sorted.iter().position(|&i| i == lone);
                        let at = at.expect("a permutation") as u8;
                        branches.push((branch(at), c * sign));
                    }
                }
            }
        }
        branches
    }

    /// The tree attached to an end of a vertex, as a sum of trees.
    fn trees_at(&mut self, process: &Process, nodes: &[Node], end: End) -> Combination<TreeIndex> {
        match end {
            End::Open => unreachable!("every end of a whole diagram leads somewhere"),
            End::Leg(w) => {
                let Wavefunction::External(e) = process.wavefunctions[w as usize] else {
                    unreachable!("a leg is an external wavefunction");
                };
                let kind = match e.kind {
                    ExternalKind::FermionIn => LineKind::In,
                    ExternalKind::FermionOut => LineKind::Out,
                    ExternalKind::Scalar => LineKind::Scalar,
                    _ => LineKind::Vector,
                };
                let line = DiagramLine {
                    legs: 1 << e.leg,
                    kind,
                    mass: e.mass,
                    width: Quantity::ZERO,
                    is_bare: false,
                };
                vec![(self.insert(Tree::Leg(w), line), 1.0)]
            }
            End::Node(node, result, mass, width) => {
                let branches = self.branches(process, nodes, node, result);
                let tree = |(branch, sign): (Branch, f64)| {
                    let line = self.line(&branch, (mass, width), false);
                    (self.insert(Tree::Vertex(branch), line), sign)
                };
                branches.into_iter().map(tree).collect()
            }
        }
    }

    /// The line that follows a branch.
    fn line(
        &self,
        branch: &Branch,
        (mass, width): (Quantity, Quantity),
        is_bare: bool,
    ) -> DiagramLine {
        let family = self.interactions[branch.interaction as usize].family;
        DiagramLine {
            legs: self.legs_below(branch),
            kind: family.kind(branch.result),
            mass,
            width,
            is_bare,
        }
    }

    /// A diagram as a sum of products of both sides of a cut.
    fn cut(
        &mut self,
        process: &Process,
        nodes: &[Node],
        cut: DiagramCut,
    ) -> Option<Combination<Branch>> {
        let fermions = process.fermions();
        let all = (1u64 << process.legs.len()) - 1;
        let (mut node, mut from) = end_of(nodes, cut.from)?;
        let to = match process.wavefunctions[cut.to as usize] {
            Wavefunction::External(e) => 1 << e.leg,
            Wavefunction::Internal(_) => return None,
        };
        loop {
            let ends = &nodes[node].ends;
            let beyond: Vec<u64> = (ends.iter())
                .map(|end| legs_beyond(process, nodes, *end))
                .collect();
            let next = beyond.iter().position(|legs| legs & to != 0)?;
            match ends[next] {
                End::Node(above, leg, ..) if size(all & !beyond[next], fermions) <= cut.size => {
                    (node, from) = (above, leg);
                }
                _ => {
                    let size = |leg: usize| size(beyond[leg], fermions);
                    let from = usize::from(from);
                    let mut largest = if size(from) > size(next) { from } else { next };
                    if let ([_, _, _], Some(side)) =
                        (&ends[..], (0..3).find(|leg| ![from, next].contains(leg)))
                        && size(side) > size(largest)
                    {
                        largest = side;
                    }
                    return Some(self.cut_at(process, nodes, node, largest as u8));
                }
            }
        }
    }

    /// A diagram as a sum of products of both sides of the line at a leg of a vertex, with the propagator on the other
    /// side.
    fn cut_at(
        &mut self,
        process: &Process,
        nodes: &[Node],
        node: usize,
        leg: u8,
    ) -> Combination<Branch> {
        let interaction = self.interaction(Family::Cut, Default::default());
        let trees = self.trees_at(process, nodes, nodes[node].ends[usize::from(leg)]);
        let branches = self.branches(process, nodes, node, leg);
        let mut products = Combination::new();
        for (branch, c) in branches {
            let line = self.line(&branch, (Quantity::ZERO, Quantity::ZERO), true);
            let bare = self.insert(Tree::Bare(branch), line);
            products.extend(trees.iter().map(|&(tree, sign)| {
                let branch = Branch {
                    interaction,
                    result: 0,
                    children: [bare, tree].into_iter().collect(),
                    lone: 0,
                };
                (branch, c * sign)
            }));
        }
        products
    }

    /// All ways to cut an amplitude at an internal line, with the smaller side propagated. `None` if it has four-vector
    /// vertices.
    pub fn cuts(&mut self, process: &Process, amplitude: usize) -> Option<Vec<CutDiagram>> {
        let nodes = std::mem::take(&mut self.diagrams[amplitude]);
        let mut cuts = Vec::new();
        for (node, leg) in inner_ends(&nodes) {
            let trees = self.trees_at(process, &nodes, nodes[node].ends[leg as usize]);
            let branches = self.branches(process, &nodes, node, leg);
            if let ([(tree, _)], [(bare, _)]) = (&trees[..], &branches[..]) {
                let (above, below) = (self.legs_below(bare), self.lines[*tree as usize].legs);
                if (above.count_ones(), above) > (below.count_ones(), below) {
                    cuts.push(CutDiagram {
                        bare: *bare,
                        tree: *tree,
                    });
                }
            }
        }
        self.diagrams[amplitude] = nodes;
        (!cuts.is_empty()).then_some(cuts)
    }

    /// The external legs of a branch, one bit each.
    pub fn legs_below(&self, branch: &Branch) -> u64 {
        let children = branch.children.iter();
        children.map(|&c| self.lines[c as usize].legs).sum()
    }

    /// Sort keys of trees: the number of four-vector vertices, then of three-vector vertices. Trees that are equally
    /// simple tend to enter the colour flows with coefficients of the same size.
    pub fn simplicity(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32)> = Vec::with_capacity(self.trees.len());
        for tree in &self.trees {
            let Some(branch) = tree.branch() else {
                all.push((0, 0));
                continue;
            };
            let own = match self.interactions[branch.interaction as usize].family {
                Family::Ffv | Family::Cut => (0, 0),
                Family::Vvv | Family::Vss => (0, 1),
                Family::Vvvv | Family::Vvss => (1, 0),
            };
            let children = branch.children.iter().map(|&c| all[c as usize]);
            all.push(children.fold(own, |a, b| (a.0 + b.0, a.1 + b.1)));
        }
        all
    }

    fn insert(&mut self, tree: Tree, line: DiagramLine) -> TreeIndex {
        if let Some(&id) = self.ids.get(&tree) {
            return id;
        }
        let id = self.trees.len() as TreeIndex;
        self.trees.push(tree);
        self.lines.push(line);
        self.ids.insert(tree, id);
        id
    }
}
