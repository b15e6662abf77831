//! Squared single diagrams, summed over helicities, without computing the diagrams' amplitudes.
//!
//! A diagram that is cut at one of its internal lines is a product `a . b` of the two sides. Each side depends only on
//! the helicities of its own legs, so the sum over all helicities factors:
//!
//! `sum over h of |a . b|^2 = sum over i, j of A_ij B_ij` with `A_ij = sum over h_a of a_i a_j^*`,
//!
//! and `B` likewise, as in a density matrix. This holds if the good helicities are all combinations of those of the two
//! sides, up to some that do not contribute; the bridge checks this at its trial points.
//!
//! Reversing all helicities turns a side of a single diagram into the mirrored one (see [`Opcode::DensitySpinor`]) up
//! to a factor if its vertices treat both chiralities equally, because numerators of propagators have real masses, and a
//! width or a complex coupling is part of one common factor. (Sums of diagrams have no such factor.) If then all its
//! helicities have a reverse, the side is *symmetric*: of two helicities that are each other's reverse it computes only
//! one, and of the other side only what both its helicities and their mirrored ones have in common counts. So a diagram
//! with a W or Z is cut such that one side has none of their vertices. A massless line that has only one chirality, as
//! where a W couples, is cut without a symmetric side. If a diagram has no such cut, the list of diagrams is used.
//!
//! Helicities for which the ends of a massless line have different chiralities, so that the side vanishes, are left out.

use super::berends_giele::{BerendsGiele, Make, Product};
use super::diagrams::{Branch, CutDiagram, DiagramLine, Family, Forest, LineKind, Tree, TreeIndex};
use super::vertices::{
    Example, NO_WAVEFUNCTION, SharedTerms, at_the_top, batch, components, emit, legs_of,
    other_operands, shares,
};
use crate::ChannelPlan;
use crate::amplitudes::amp2_index;
use crate::compiler::{Compiler, WavefunctionInstances};
use mebridge_ops::opcode::{MATRIX, Mode, Opcode};
use mebridge_ops::{Address, Batch};
use mebridge_process::{ExternalKind, Quantity, Wavefunction};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// One cut for each AMP2 of a process.
pub struct Amp2Cuts<'a> {
    cuts: Vec<(CutDiagram, CutKind)>,
    sides: Sides<'a>,
}

/// The branches without a propagator, each with the address of its matrix and the line that is cut.
type BareBranches<'a> = BTreeMap<(&'a Branch, CutKind), (Address, DiagramLine)>;

/// How the matrices of both sides of a line give the sum over helicities.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CutKind {
    /// A side is symmetric, or the line is a scalar.
    Symmetric,
    /// The line has one chirality. Mirrored spinors have the other one, so that half of the sum comes from those that do
    /// not exist.
    OneChirality,
}

impl<'a> Amp2Cuts<'a> {
    /// Chooses a cut for each AMP2. `None` if an AMP2 is not the square of one amplitude without four-vector vertices, or
    /// no line of a diagram has a symmetric side or one chirality.
    pub(super) fn find(compiler: &Compiler, forest: &'a mut Forest) -> Option<Amp2Cuts<'a>> {
        let process = compiler.process;
        let (sets, _) = amp2_index(process);
        let mut ways: Vec<Vec<CutDiagram>> = Vec::new();
        for squares in &sets {
            let [square] = &squares[..] else { return None };
            let [amplitude] = square[..] else { return None };
            ways.push(forest.cuts(process, amplitude as usize)?);
        }
        let forest: &Forest = forest;
        let mut sides = Sides::new(forest);
        let legs = |cut: &CutDiagram| {
            let below = forest.lines[cut.tree as usize].legs.count_ones();
            below.max(process.legs.len() as u32 - below)
        };
        for ways in &mut ways {
            ways.retain(|cut| sides.kind(compiler, cut).is_some());
            let least = ways.iter().map(legs).min()?;
            ways.retain(|cut| legs(cut) == least);
        }
        // Bare branches that serve many diagrams come first.
        let mut serves: HashMap<&Branch, u32> = HashMap::default();
        for cut in ways.iter().flatten() {
            *serves.entry(&cut.bare).or_default() += 1;
        }
        let mut used: HashMap<&Branch, u32> = HashMap::default();
        let mut cuts = Vec::new();
        for ways in &ways {
            let best = ways.iter().min_by_key(|cut| {
                let new = !used.contains_key(&cut.bare);
                (new, u32::MAX - serves[&cut.bare])
            })?;
            *used.entry(&best.bare).or_default() += 1;
            cuts.push((best.clone(), sides.kind(compiler, best)?));
        }
        Some(Amp2Cuts { cuts, sides })
    }

    /// Adds the operations to the compiler's plan. `nodes` are the wavefunctions of the currents.
    pub(super) fn lower(
        self,
        compiler: &mut Compiler,
        recursion: &BerendsGiele,
        nodes: &[u32],
    ) -> Option<()> {
        let forest = self.sides.forest;
        let without_squares = compiler.plan.quantities();
        let mut lowering = SquareLowering {
            forest,
            sides: self.sides,
            lines: HashMap::default(),
            whole: HashSet::default(),
            batches: SortedMap::new(),
        };
        for (cut, _) in &self.cuts {
            for &child in cut.bare.children.iter() {
                lowering.needs_whole(child);
            }
            lowering.needs_whole_children(cut.tree);
        }
        for (id, current) in recursion.currents.iter().enumerate() {
            if let ([(tree, _)], true) = (&current.trees[..], nodes[id] != NO_WAVEFUNCTION)
                && !matches!(current.make, Make::Sum(_))
                && !at_the_top(compiler, forest, &current.line)
            {
                lowering.lines.insert(*tree, nodes[id]);
            }
        }
        let mut plan: Vec<Batch> = Vec::new();
        let mut below: BTreeMap<TreeIndex, Address> = BTreeMap::new();
        let mut above: BareBranches = BTreeMap::new();
        for (cut, kind) in &self.cuts {
            for &child in cut.bare.children.iter().chain([&cut.tree]) {
                lowering.tree(compiler, child)?;
            }
            below
                .entry(cut.tree)
                .or_insert_with(|| compiler.allocate(MATRIX));
            let line = forest.lines[cut.tree as usize];
            above
                .entry((&cut.bare, *kind))
                .or_insert_with(|| (compiler.allocate(MATRIX), line));
        }
        let batches = std::mem::take(&mut lowering.batches).into_iter();
        plan.extend(batches.map(|((_, opcode), operands)| batch(opcode, operands)));
        let mut squares: SortedMap<Opcode, Vec<Address>> = SortedMap::new();
        for (&tree, &matrix) in &below {
            let line = forest.lines[tree as usize];
            let operands = squares.entry(density(line)).or_default();
            let wavefunction = &compiler.wavefunctions[lowering.lines[&tree] as usize];
            let branch = forest.trees[tree as usize].branch()?;
            let lists = lowering.sides.evaluated(compiler, wavefunction, &branch);
            square(wavefunction, &lists, matrix, operands);
        }
        plan.extend(
            squares
                .into_iter()
                .map(|(opcode, operands)| batch(opcode, operands)),
        );
        plan.extend(lowering.bare_branches(compiler, &above)?);
        let mut traces: SortedMap<Opcode, Vec<Address>> = SortedMap::new();
        let totals = compiler.allocate(self.cuts.len() as u32);
        for ((cut, kind), total) in self.cuts.iter().zip(totals..) {
            let opcode = match forest.lines[cut.tree as usize].kind {
                LineKind::Vector => Opcode::TraceVector,
                LineKind::In | LineKind::Out => Opcode::TraceSpinor,
                LineKind::Scalar => Opcode::TraceScalar,
            };
            let operands = traces.entry(opcode).or_default();
            operands.extend([above[&(&cut.bare, *kind)].0, below[&cut.tree], total]);
        }
        plan.extend(
            traces
                .into_iter()
                .map(|(opcode, operands)| batch(opcode, operands)),
        );
        let (_, tables) = amp2_index(compiler.process);
        compiler.operations.channels = ChannelPlan {
            squares: plan,
            totals: (totals..totals + self.cuts.len() as u32).collect(),
            without_squares,
            ..tables
        };
        Some(())
    }
}

/// The operation that makes the matrix of a side, depending on the kind of line that is cut.
fn density(line: DiagramLine) -> Opcode {
    match line.kind {
        LineKind::Vector => Opcode::DensityVector,
        LineKind::In | LineKind::Out => Opcode::DensitySpinor,
        LineKind::Scalar => Opcode::DensityScalar,
    }
}

/// Appends the operands that make the matrix of a wavefunction, from the combinations of helicities of
/// [`Sides::evaluated`].
fn square(
    line: &WavefunctionInstances,
    lists: &[Vec<Example>; 2],
    matrix: Address,
    operands: &mut Vec<Address>,
) {
    operands.extend(lists.each_ref().map(|list| list.len() as u32));
    let all = lists.iter().flatten();
    operands.extend(all.map(|&(i, _)| line.instances[i as usize]));
    operands.push(matrix);
}

/// The spinor at the top of a side in a helicity configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TopSpinor {
    /// A massless one of this chirality.
    Massless(i8),
    /// There is none, or it is massive.
    Other,
}

/// Properties of the sides of lines.
struct Sides<'a> {
    forest: &'a Forest,
    /// For each tree whether a vertex of it depends on chirality.
    is_chiral: Vec<bool>,
    /// The branches whose symmetry is known.
    symmetric: HashMap<Branch, bool>,
}

impl<'a> Sides<'a> {
    fn new(forest: &'a Forest) -> Sides<'a> {
        let mut is_chiral = Vec::with_capacity(forest.trees.len());
        for tree in &forest.trees {
            let branch = tree.branch();
            is_chiral
                .push(branch.is_some_and(|branch| is_branch_chiral(forest, &branch, &is_chiral)));
        }
        Sides {
            forest,
            is_chiral,
            symmetric: HashMap::default(),
        }
    }

    /// The spinor at the top of a tree in a helicity configuration; `None` if the tree vanishes.
    fn top(&self, compiler: &Compiler, tree: TreeIndex, h: usize) -> Option<TopSpinor> {
        match &self.forest.trees[tree as usize] {
            Tree::Leg(w) => Some(match compiler.process.wavefunctions[*w as usize] {
                Wavefunction::External(e) if is_spinor(e.kind) && is_zero(compiler, e.mass) => {
                    TopSpinor::Massless(e.sign * compiler.helicity(h, e.leg as usize))
                }
                _ => TopSpinor::Other,
            }),
            Tree::Vertex(branch) | Tree::Bare(branch) => {
                let top = self.top_of_branch(compiler, branch, h)?;
                let line = self.forest.lines[tree as usize];
                let is_massless = is_zero(compiler, line.mass);
                Some(if is_massless { top } else { TopSpinor::Other })
            }
        }
    }

    /// The same for a branch of a massless line.
    fn top_of_branch(&self, compiler: &Compiler, branch: &Branch, h: usize) -> Option<TopSpinor> {
        let mut line = None;
        for &child in branch.children.iter() {
            if let TopSpinor::Massless(chirality) = self.top(compiler, child, h)? {
                if line.is_some_and(|other| other != chirality) {
                    return None;
                }
                line = Some(chirality);
            }
        }
        let family = self.forest.interactions[branch.interaction as usize].family;
        Some(match (family.kind(branch.result), line) {
            (LineKind::In | LineKind::Out, Some(chirality)) => TopSpinor::Massless(chirality),
            _ => TopSpinor::Other,
        })
    }

    /// Whether reversed helicities turn a branch into the mirrored one, and all of them have a reverse.
    fn is_symmetric(&mut self, compiler: &Compiler, branch: &Branch) -> bool {
        if let Some(&known) = self.symmetric.get(branch) {
            return known;
        }
        let is_symmetric = !is_branch_chiral(self.forest, branch, &self.is_chiral) && {
            let legs = self.forest.legs_below(branch);
            let helicities = (0..compiler.helicity_indices.len())
                .filter(|&h| self.top_of_branch(compiler, branch, h).is_some())
                .map(|h| {
                    let mine = (0..compiler.values.len()).filter(|leg| legs >> leg & 1 == 1);
                    mine.map(|leg| compiler.helicity(h, leg)).collect()
                });
            let all: HashSet<Vec<i8>> = helicities.collect();
            all.iter().all(|helicities| {
                let reversed: Vec<i8> = helicities.iter().map(|h| -h).collect();
                all.contains(&reversed)
            })
        };
        self.symmetric.insert(*branch, is_symmetric);
        is_symmetric
    }

    /// How a cut gives the sum over helicities, if it does.
    fn kind(&mut self, compiler: &Compiler, cut: &CutDiagram) -> Option<CutKind> {
        let line = self.forest.lines[cut.tree as usize];
        let sides = [cut.bare, self.forest.trees[cut.tree as usize].branch()?];
        if line.kind == LineKind::Scalar
            || sides.iter().any(|side| self.is_symmetric(compiler, side))
        {
            return Some(CutKind::Symmetric);
        }
        let has_one = |side| {
            let all = 0..compiler.helicity_indices.len();
            is_of_one_chirality(all.filter_map(|h| self.top_of_branch(compiler, side, h)))
        };
        let one = is_zero(compiler, line.mass) && sides.iter().all(has_one);
        one.then_some(CutKind::OneChirality)
    }

    /// The combinations of helicities of a side that are evaluated: those without a reverse or with themselves as reverse,
    /// and, if the side is symmetric, one of each pair that are each other's reverse.
    fn evaluated(
        &mut self,
        compiler: &Compiler,
        line: &WavefunctionInstances,
        branch: &Branch,
    ) -> [Vec<Example>; 2] {
        let is_symmetric = self.is_symmetric(compiler, branch);
        let mut lists = [Vec::new(), Vec::new()];
        for (instance, h) in self.existing(compiler, line, branch) {
            match compiler.reversed(line, h).filter(|_| is_symmetric) {
                Some(reversed) if reversed < instance as usize => (),
                Some(reversed) if reversed > instance as usize => lists[1].push((instance, h)),
                _ => lists[0].push((instance, h)),
            }
        }
        lists
    }

    /// The combinations of helicities for which a branch does not vanish.
    fn existing(
        &self,
        compiler: &Compiler,
        line: &WavefunctionInstances,
        branch: &Branch,
    ) -> Vec<Example> {
        let examples = line.examples.iter().copied();
        examples
            .filter(|&(_, h)| self.top_of_branch(compiler, branch, h).is_some())
            .collect()
    }
}

fn is_zero(compiler: &Compiler, mass: Quantity) -> bool {
    compiler.binding.value(mass) == 0.0
}

fn is_spinor(kind: ExternalKind) -> bool {
    matches!(kind, ExternalKind::FermionIn | ExternalKind::FermionOut)
}

/// Whether these are massless spinors of the same chirality.
fn is_of_one_chirality(mut spinors: impl Iterator<Item = TopSpinor>) -> bool {
    let first = spinors.next();
    matches!(first, Some(TopSpinor::Massless(_))) && spinors.all(|other| Some(other) == first)
}

fn is_branch_chiral(forest: &Forest, branch: &Branch, trees: &[bool]) -> bool {
    forest.interactions[branch.interaction as usize].is_chiral()
        || branch.children.iter().any(|&child| trees[child as usize])
}

/// State of lowering single trees to operations.
struct SquareLowering<'a> {
    forest: &'a Forest,
    sides: Sides<'a>,
    /// The compiler's wavefunction of each tree.
    lines: HashMap<TreeIndex, u32>,
    /// Trees for which all helicities are needed, because other trees contain them.
    whole: HashSet<TreeIndex>,
    /// By number of legs and opcode.
    batches: SortedMap<(u32, Opcode), Vec<Address>>,
}

impl SquareLowering<'_> {
    /// Marks a tree for which all helicities are needed.
    fn needs_whole(&mut self, tree: TreeIndex) {
        if self.whole.insert(tree) {
            self.needs_whole_children(tree);
        }
    }

    /// Marks the children of a tree likewise.
    fn needs_whole_children(&mut self, tree: TreeIndex) {
        if let Tree::Vertex(branch) = self.forest.trees[tree as usize] {
            for &child in branch.children.iter() {
                self.needs_whole(child);
            }
        }
    }

    /// Makes the wavefunction of a tree, if it does not exist.
    fn tree(&mut self, compiler: &mut Compiler, tree: TreeIndex) -> Option<()> {
        if self.lines.contains_key(&tree) {
            return Some(());
        }
        let branch = match &self.forest.trees[tree as usize] {
            Tree::Leg(w) => {
                self.lines.insert(tree, *w);
                return Some(());
            }
            Tree::Vertex(branch) | Tree::Bare(branch) => branch,
        };
        for &child in branch.children.iter() {
            self.tree(compiler, child)?;
        }
        let line = self.forest.lines[tree as usize];
        let signs = legs_of(compiler, self.forest, tree);
        let node = compiler.add_wavefunction(signs.clone(), components(line.kind));
        for share in self.shares(compiler, branch, line.mass, 1.0)? {
            let quantities = Some((line.mass, line.width));
            let others = other_operands(compiler, self.forest, &share, &signs, quantities);
            let at = (line.legs.count_ones(), share.opcode);
            let operands = self.batches.entry(at).or_default();
            let of_line = &compiler.wavefunctions[node as usize];
            let examples = match self.whole.contains(&tree) {
                true => self.sides.existing(compiler, of_line, branch),
                false => self.sides.evaluated(compiler, of_line, branch).concat(),
            };
            emit(
                compiler,
                &share,
                node,
                &examples,
                Mode::STORE,
                others,
                operands,
            );
        }
        self.lines.insert(tree, node);
        Some(())
    }

    /// Returns the operations of branches without propagators and of their matrices. The branches are evaluated one after
    /// the other, in the same memory.
    fn bare_branches(
        &mut self,
        compiler: &mut Compiler,
        above: &BareBranches,
    ) -> Option<Vec<Batch>> {
        let mut batches = Vec::new();
        let branches: Vec<&Branch> = above.keys().map(|&(branch, _)| branch).collect();
        let nodes = self.overlaid(compiler, &branches);
        for ((&(branch, kind), &(matrix, line)), node) in above.iter().zip(nodes) {
            let wavefunction = &compiler.wavefunctions[node as usize];
            let lists = self.sides.evaluated(compiler, wavefunction, branch);
            let coefficient = match kind {
                CutKind::Symmetric => 1.0,
                CutKind::OneChirality => std::f64::consts::SQRT_2,
            };
            let signs = wavefunction.signs.clone();
            for share in self.shares(compiler, branch, line.mass, coefficient)? {
                let others = other_operands(compiler, self.forest, &share, &signs, None);
                let (all, mut operands) = (lists.concat(), Vec::new());
                emit(
                    compiler,
                    &share,
                    node,
                    &all,
                    Mode::BARE,
                    others,
                    &mut operands,
                );
                batches.push(batch(share.opcode, operands));
            }
            let mut operands = Vec::new();
            let wavefunction = &compiler.wavefunctions[node as usize];
            square(wavefunction, &lists, matrix, &mut operands);
            batches.push(batch(density(line), operands));
        }
        Some(batches)
    }

    /// Allocates wavefunctions for branches; all with the same number of components share memory.
    fn overlaid(&self, compiler: &mut Compiler, branches: &[&Branch]) -> Vec<u32> {
        let mut nodes = vec![NO_WAVEFUNCTION; branches.len()];
        for size in [1, 4] {
            let start = compiler.plan.vectors;
            let mut end = start;
            for (branch, node) in branches.iter().zip(&mut nodes) {
                if components(self.kind(branch)) != size {
                    continue;
                }
                compiler.plan.vectors = start;
                let signs = compiler.sum_of(&self.children(branch));
                *node = compiler.add_wavefunction(signs, size);
                end = end.max(compiler.plan.vectors);
            }
            compiler.plan.vectors = end;
        }
        nodes
    }

    /// The kind of line at the top of a branch.
    fn kind(&self, branch: &Branch) -> LineKind {
        let family = self.forest.interactions[branch.interaction as usize].family;
        family.kind(branch.result)
    }

    fn children(&self, branch: &Branch) -> Vec<u32> {
        branch.children.iter().map(|c| self.lines[c]).collect()
    }

    /// The operation of a branch of a line with this mass, times a coefficient.
    fn shares(
        &self,
        compiler: &Compiler,
        branch: &Branch,
        mass: Quantity,
        coefficient: f64,
    ) -> Option<Vec<SharedTerms>> {
        let family = self.forest.interactions[branch.interaction as usize].family;
        let nodes = self.children(branch);
        let opcode = match (family, branch.result) {
            (Family::Vvvv, _) => return None,
            (Family::Vss, 2) => Some(Opcode::Vss3),
            (Family::Vvss, 3) => Some(Opcode::Vvss4),
            _ => None,
        };
        if let Some(opcode) = opcode {
            let constant = (branch.interaction, coefficient);
            return Some(vec![SharedTerms::single(opcode, constant, nodes)]);
        }
        let coefficient = Complex64::new(coefficient, 0.0);
        let product = Product {
            interaction: branch.interaction,
            result: branch.result,
            children: (0..nodes.len() as u32).collect(),
            coefficients: [coefficient, Complex64::default(), Complex64::default()],
        };
        let mut shares = shares(self.forest, &[product], &nodes)?;
        let is_fermion = |kind| matches!(kind, LineKind::In | LineKind::Out);
        let children = branch.children.iter();
        let lines = children.map(|&child| self.forest.lines[child as usize]);
        let fermions = lines.filter(|line| is_fermion(line.kind));
        let result = is_fermion(family.kind(branch.result)).then_some(mass);
        let mut masses = fermions.map(|line| line.mass).chain(result);
        let massless = masses.all(|mass| is_zero(compiler, mass));
        for share in &mut shares {
            share.massless = compiler.half_spinors && massless;
        }
        Some(shares)
    }
}
