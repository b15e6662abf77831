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
            Opcode::Ffv0 => form(Family::Ffv, None, &[0, 1, 2]),
            Opcode::Ffv1 => form(Family::Ffv, Some(0), &[1, 2]),
            Opcode::Ffv2 => form(Family::Ffv, Some(1), &[0, 2]),
            Opcode::Ffv3 => form(Family::Ffv, Some(2), &[0, 1]),
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

impl Family {
    /// Number of legs.
    pub fn legs(self) -> usize {
        match self {
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

/// A vertex of the process, without specifying which leg is the result.
#[derive(Clone, Debug)]
pub struct Interaction {
    /// Its structure.
    pub family: Family,
    /// Its constant as an amplitude: couplings with their coefficients, normalised such that the first is 1.
    pub factor: Vec<(CouplingRef, Complex64)>,
}

/// A tree: an external leg, or a vertex with trees on all legs except the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// An external wavefunction of the process.
    Leg(u32),
    /// A vertex.
    Vertex(Branch),
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
    /// The unrooted diagram of each amplitude.
    diagrams: Vec<Vec<Node>>,
    ids: HashMap<Tree, TreeIndex>,
    interaction_ids: HashMap<InteractionKey, u32>,
}

/// Family, and couplings with the bits of their rounded coefficients.
type InteractionKey = (Family, Vec<(CouplingRef, u64, u64)>);

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

impl Forest {
    /// Roots all diagrams of a process at an external wavefunction. `None` if the family of a vertex does not allow its
    /// legs to be exchanged.
    pub fn grow(
        process: &Process,
        listed: &mebridge_process::Diagrams,
        root: u32,
        recognize: &mut dyn FnMut(&Vertex) -> Option<Recognized>,
    ) -> Option<Forest> {
        let mut forest = Forest {
            interactions: Vec::new(),
            trees: Vec::new(),
            lines: Vec::new(),
            tops: Vec::new(),
            root,
            diagrams: Vec::new(),
            ids: HashMap::default(),
            interaction_ids: HashMap::default(),
        };
        for amplitude in &listed.amplitudes {
            let mut nodes = Vec::new();
            let mut scale = Complex64::new(1.0, 0.0);
            forest.node(process, amplitude, recognize, &mut nodes, &mut scale)?;
            let at = nodes.iter().enumerate().find_map(|(i, node)| {
                let is_root = |end: &End| matches!(end, End::Leg(w) if *w == root);
                node.ends.iter().position(is_root).map(|leg| (i, leg as u8))
            });
            let (node, leg) = at?;
            let branches = forest.branches(process, &nodes, node, leg);
            let scaled = branches.into_iter().map(|(b, sign)| (b, scale * sign));
            forest.tops.push(scaled.collect());
            forest.diagrams.push(nodes);
        }
        Some(forest)
    }

    /// Appends a vertex and everything below it in the listing, and multiplies `scale` by the factor between its
    /// constant and that of its interaction. Returns the vertex's index and which of its legs was the result in the
    /// listing.
    fn node(
        &mut self,
        process: &Process,
        vertex: &Vertex,
        recognize: &mut dyn FnMut(&Vertex) -> Option<Recognized>,
        nodes: &mut Vec<Node>,
        scale: &mut Complex64,
    ) -> Option<(usize, Option<u8>)> {
        let recognized = recognize(vertex)?;
        let (form, legs) = DirectedVertex::from_opcode(recognized.opcode)?;
        let [factor] = &recognized.factors[..] else {
            return None;
        };
        let first = factor.first()?.1;
        *scale *= first / form.ratio();
        let factor = factor
            .iter()
            .map(|&(argument, c)| (vertex.couplings[argument], c / first))
            .collect();
        let interaction = self.interaction(form.family, factor);
        let index = nodes.len();
        nodes.push(Node {
            interaction,
            ends: vec![End::Open; form.family.legs()],
        });
        for (&leg, &input) in legs.iter().zip(&recognized.input_permutation) {
            let input = vertex.inputs[input];
            let end = match &process.wavefunctions[input as usize] {
                Wavefunction::External(_) => End::Leg(input),
                Wavefunction::Internal(below) => {
                    let (child, result) = self.node(process, below, recognize, nodes, scale)?;
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

    fn interaction(&mut self, family: Family, factor: Vec<(CouplingRef, Complex64)>) -> u32 {
        let rounded = |x: f64| (x * 1e9).round().to_bits();
        let bits = factor
            .iter()
            .map(|(coupling, c)| (*coupling, rounded(c.re), rounded(c.im)))
            .collect();
        let interactions = &mut self.interactions;
        *self
            .interaction_ids
            .entry((family, bits))
            .or_insert_with(|| {
                interactions.push(Interaction { family, factor });
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
                Family::Vss | Family::Vvss => branches.push((branch(0), c)),
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
                };
                vec![(self.insert(Tree::Leg(w), line), 1.0)]
            }
            End::Node(node, result, mass, width) => {
                let branches = self.branches(process, nodes, node, result);
                let tree = |(branch, sign): (Branch, f64)| {
                    let legs = self.legs_below(&branch);
                    let family = self.interactions[branch.interaction as usize].family;
                    let line = DiagramLine {
                        legs,
                        kind: family.kind(branch.result),
                        mass,
                        width,
                    };
                    (self.insert(Tree::Vertex(branch), line), sign)
                };
                branches.into_iter().map(tree).collect()
            }
        }
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
            let Tree::Vertex(branch) = tree else {
                all.push((0, 0));
                continue;
            };
            let own = match self.interactions[branch.interaction as usize].family {
                Family::Ffv => (0, 0),
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
