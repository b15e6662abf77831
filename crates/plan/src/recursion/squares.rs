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
//! to a factor, because its vertices treat both chiralities equally, numerators of propagators have real masses, and a
//! width or a complex coupling is part of one common factor. (Sums of diagrams have no such factor.) So of two
//! helicities that are each other's reverse, each side computes only one. A side of scalars alone has one helicity,
//! which is its own reverse and is counted twice; a factor compensates for that. If other helicities have no reverse,
//! or are their own, the list of diagrams is used.

use super::berends_giele::{BerendsGiele, Make, Product};
use super::diagrams::{Branch, CutDiagram, Family, Forest, Interaction, LineKind, Tree, TreeIndex};
use super::vertices::{
    Example, NO_WAVEFUNCTION, SharedTerms, at_the_top, batch, components, emit, legs_of,
    other_operands, shares,
};
use crate::ChannelPlan;
use crate::amplitudes::amp2_index;
use crate::compiler::{Compiler, WavefunctionInstances};
use mebridge_ops::opcode::{MATRIX, Mode, Opcode};
use mebridge_ops::{Address, Batch};
use mebridge_process::{ExternalKind, Process, Wavefunction};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// One cut for each AMP2 of a process.
pub struct Amp2Cuts {
    cuts: Vec<CutDiagram>,
    /// The external scalars, one bit for each leg.
    scalars: u64,
}

impl Amp2Cuts {
    /// Chooses a cut for each AMP2. `None` if an AMP2 is not the square of one amplitude without four-vector vertices,
    /// a vertex depends on chirality, or a helicity configuration has no reverse.
    pub fn find(process: &Process, helicities: &[u32], forest: &mut Forest) -> Option<Amp2Cuts> {
        let scalars = scalars(process);
        if forest.interactions.iter().any(Interaction::is_chiral) {
            return None;
        }
        if !all_have_reverses(&process.helicities, helicities, scalars) {
            return None;
        }
        let (sets, _) = amp2_index(process);
        let mut ways: Vec<Vec<CutDiagram>> = Vec::new();
        for squares in &sets {
            let [square] = &squares[..] else { return None };
            let [amplitude] = square[..] else { return None };
            ways.push(forest.cuts(process, amplitude as usize)?);
        }
        let legs = |forest: &Forest, cut: &CutDiagram| {
            let below = forest.lines[cut.tree as usize].legs.count_ones();
            below.max(process.legs.len() as u32 - below)
        };
        for ways in &mut ways {
            let least = ways.iter().map(|cut| legs(forest, cut)).min()?;
            ways.retain(|cut| legs(forest, cut) == least);
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
            cuts.push(best.clone());
        }
        Some(Amp2Cuts { cuts, scalars })
    }

    /// Adds the operations to the compiler's plan. `nodes` are the wavefunctions of the currents.
    pub(super) fn lower(
        &self,
        compiler: &mut Compiler,
        forest: &Forest,
        recursion: &BerendsGiele,
        nodes: &[u32],
    ) -> Option<()> {
        let mut lowering = SquareLowering {
            forest,
            lines: HashMap::default(),
            whole: HashSet::default(),
            batches: SortedMap::new(),
        };
        for cut in &self.cuts {
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
        let mut above: BTreeMap<&Branch, (Address, Opcode)> = BTreeMap::new();
        for cut in &self.cuts {
            for &child in cut.bare.children.iter().chain([&cut.tree]) {
                lowering.tree(compiler, child)?;
            }
            below
                .entry(cut.tree)
                .or_insert_with(|| compiler.allocate(MATRIX));
            let opcode = density(forest, cut.tree);
            above
                .entry(&cut.bare)
                .or_insert_with(|| (compiler.allocate(MATRIX), opcode));
        }
        let batches = std::mem::take(&mut lowering.batches).into_iter();
        plan.extend(batches.map(|((_, opcode), operands)| batch(opcode, operands)));
        let mut squares: SortedMap<Opcode, Vec<Address>> = SortedMap::new();
        for (&tree, &matrix) in &below {
            let operands = squares.entry(density(forest, tree)).or_default();
            square(compiler, lowering.lines[&tree], matrix, operands);
        }
        plan.extend(
            squares
                .into_iter()
                .map(|(opcode, operands)| batch(opcode, operands)),
        );
        let all = (1u64 << compiler.process.legs.len()) - 1;
        // Bare branches are evaluated one after the other, in the same memory.
        let nodes = lowering.overlaid(compiler, &above.keys().copied().collect::<Vec<_>>());
        for ((&branch, &(matrix, opcode)), node) in above.iter().zip(nodes) {
            let examples = half(compiler, &compiler.wavefunctions[node as usize]);
            // A factor for each side that is its own mirror image.
            let sides = [forest.legs_below(branch), all & !forest.legs_below(branch)];
            let twice = sides
                .iter()
                .filter(|&&side| side & !self.scalars == 0)
                .count();
            let coefficient = 0.5f64.powf(0.5 * twice as f64);
            for share in lowering.shares(branch, coefficient)? {
                let signs = compiler.wavefunctions[node as usize].signs.clone();
                let others = other_operands(compiler, forest, &share, &signs, None);
                let mut operands = Vec::new();
                emit(
                    compiler,
                    &share,
                    node,
                    &examples,
                    Mode::BARE,
                    others,
                    &mut operands,
                );
                plan.push(batch(share.opcode, operands));
            }
            let mut operands = Vec::new();
            square(compiler, node, matrix, &mut operands);
            plan.push(batch(opcode, operands));
        }
        let mut traces: SortedMap<Opcode, Vec<Address>> = SortedMap::new();
        let totals = compiler.allocate(self.cuts.len() as u32);
        for (cut, total) in self.cuts.iter().zip(totals..) {
            let opcode = match density(forest, cut.tree) {
                Opcode::DensityVector => Opcode::TraceVector,
                Opcode::DensityScalar => Opcode::TraceScalar,
                _ => Opcode::TraceSpinor,
            };
            let operands = traces.entry(opcode).or_default();
            operands.extend([above[&cut.bare].0, below[&cut.tree], total]);
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
            ..tables
        };
        Some(())
    }
}

/// The operation that makes the matrix of a side, depending on the kind of line that is cut.
fn density(forest: &Forest, tree: TreeIndex) -> Opcode {
    match forest.lines[tree as usize].kind {
        LineKind::Vector => Opcode::DensityVector,
        LineKind::In | LineKind::Out => Opcode::DensitySpinor,
        LineKind::Scalar => Opcode::DensityScalar,
    }
}

/// Appends the operands that make the matrix of a wavefunction.
fn square(compiler: &Compiler, node: u32, matrix: Address, operands: &mut Vec<Address>) {
    let line = &compiler.wavefunctions[node as usize];
    let half = half(compiler, line);
    operands.push(half.len() as u32);
    operands.extend(half.iter().map(|&(i, _)| line.instances[i as usize]));
    operands.push(matrix);
}

/// One of each pair of helicity combinations of a wavefunction that are each other's reverse, and those that are their
/// own reverse, or whose reverse is not evaluated.
fn half(compiler: &Compiler, line: &WavefunctionInstances) -> Vec<Example> {
    let examples = line.examples.iter().copied();
    let first = |&(instance, h): &Example| {
        let reversed = compiler.reversed(line, h);
        reversed.is_none_or(|reversed| instance as usize <= reversed)
    };
    examples.filter(first).collect()
}

/// The external scalars, one bit for each leg.
fn scalars(process: &Process) -> u64 {
    let bit = |w: &Wavefunction| match w {
        Wavefunction::External(e) if e.kind == ExternalKind::Scalar => 1 << e.leg,
        _ => 0,
    };
    process.wavefunctions.iter().map(bit).fold(0, |a, b| a | b)
}

/// Whether every helicity configuration has a different one as its reverse.
fn all_have_reverses(helicities: &[Vec<i8>], good: &[u32], scalars: u64) -> bool {
    let rows: HashSet<&[i8]> = good.iter().map(|&h| &helicities[h as usize][..]).collect();
    rows.iter().all(|row| {
        let reversed: Vec<i8> = row.iter().map(|h| -h).collect();
        let mut legs = row.iter().zip(0..);
        legs.all(|(&h, leg)| h != 0 || scalars >> leg & 1 == 1) && rows.contains(&reversed[..])
    })
}

/// State of lowering single trees to operations.
struct SquareLowering<'a> {
    forest: &'a Forest,
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
        for share in self.shares(branch, 1.0)? {
            let quantities = Some((line.mass, line.width));
            let others = other_operands(compiler, self.forest, &share, &signs, quantities);
            let at = (line.legs.count_ones(), share.opcode);
            let operands = self.batches.entry(at).or_default();
            let of_line = &compiler.wavefunctions[node as usize];
            let examples = match self.whole.contains(&tree) {
                true => of_line.examples.clone(),
                false => half(compiler, of_line),
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

    /// The operation of a branch, times a coefficient.
    fn shares(&self, branch: &Branch, coefficient: f64) -> Option<Vec<SharedTerms>> {
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
        shares(self.forest, &[product], &nodes)
    }
}
