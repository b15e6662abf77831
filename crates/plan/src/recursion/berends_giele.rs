//! Selection of the sums of trees to compute: the currents of a recursion.
//!
//! Consider a diagram line (a set of legs and a kind of particle) and all of its trees in the diagrams. The line occurs
//! in several contexts: a context is the rest of the diagram, and the colour flow to which it contributes. In each
//! context the trees have certain coefficients: a *column*. Columns that are proportional to each other need the same
//! sum of trees. Each distinct column is a *current* with one colour structure, as in Berends and Giele (Nucl. Phys.
//! B306 (1988) 759). The rest of the diagrams is attached to the currents, not to every tree.
//!
//! Currents of one line may be linearly dependent (those of gluons are, by the relations of Kleiss and Kuijf, Nucl.
//! Phys. B312 (1989) 616): a few are computed from vertices, the others as sums and differences of these, see `basis`.

use super::basis;
use super::columns::{Columns, is_zero};
use super::diagrams::{Branch, Children, DiagramLine, Forest, LineKind, TreeIndex};
use crate::passes::Pass;
use mebridge_process::{LinearMap, TermSource};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

pub use super::columns::CurrentId;

/// A current: a sum of trees over one line.
#[derive(Clone, Debug)]
pub struct Current {
    /// The line.
    pub line: DiagramLine,
    /// The trees with their coefficients, in ascending order; the coefficient of the simplest tree is 1 (see
    /// [`Forest::simplicity`]).
    pub trees: Vec<(TreeIndex, Complex64)>,
    /// How the sum is computed.
    pub make: Make,
}

/// How a current is computed.
#[derive(Clone, Debug)]
pub enum Make {
    /// An external wavefunction.
    Leg,
    /// A sum of vertices.
    Vertices(Vec<Product>),
    /// A sum of other currents of the same line, with coefficients 1 and -1.
    Sum(Vec<(CurrentId, f64)>),
}

/// A vertex of currents, with a coefficient.
#[derive(Clone, Debug)]
pub struct Product {
    /// Index into [`Forest::interactions`].
    pub interaction: u32,
    /// Index of the leg of its family that is the result.
    pub result: u8,
    /// The currents on its other legs.
    pub children: Vec<CurrentId>,
    /// The coefficient; for four vectors one coefficient for each choice of the lone child.
    pub coefficients: [Complex64; 3],
}

/// The currents of a process, and its colour flows in terms of them.
pub struct BerendsGiele {
    /// All currents; children come before their parents.
    pub currents: Vec<Current>,
    /// For each colour flow the products at the root.
    pub flows: Vec<Vec<Product>>,
}

/// Branches with coefficients.
type Branches = Vec<(Branch, Complex64)>;

impl BerendsGiele {
    /// Finds the currents. `None` if the sums do not factor into products of currents. Skips passes after `last`.
    pub fn find(forest: &Forest, jamp: &LinearMap, last: Pass) -> Option<BerendsGiele> {
        let flows = flatten(jamp);
        let columns = Columns::find(forest, &flows);
        let products = flows.iter().map(|terms| {
            let tops = terms.iter().flat_map(|&(amplitude, coefficient)| {
                let branches = forest.tops[amplitude as usize].iter();
                branches.map(move |&(branch, c)| (branch, coefficient * c))
            });
            products(&columns, tops)
        });
        let products: Option<Vec<_>> = products.collect();
        let currents = columns.currents.iter().map(|trees| {
            let make = make(forest, &columns, trees)?;
            Some((forest.lines[trees[0].0 as usize], make))
        });
        let currents: Option<Vec<_>> = currents.collect();
        let currents = currents?.into_iter().zip(columns.currents);
        let current = |((line, make), trees)| Current { line, trees, make };
        let mut recursion = BerendsGiele {
            currents: currents.map(current).collect(),
            flows: products?,
        };
        if last >= Pass::Phases {
            recursion.align();
        }
        if last >= Pass::Basis {
            recursion.reduce(forest);
        }
        Some(recursion)
    }

    /// Chooses the phase of the currents of each line such that as many terms as possible in a sum of vertices have the
    /// same coefficient, up to a sign: they then share a factor. (The colour factors of gluon vertices contain an `i`
    /// per vertex.)
    fn align(&mut self) {
        let mut phases: HashMap<DiagramLine, Complex64> = HashMap::default();
        let one = Complex64::new(1.0, 0.0);
        let free = |line: &DiagramLine| line.kind == LineKind::Vector && line.legs.count_ones() > 1;
        for current in &self.currents {
            let Make::Vertices(products) = &current.make else {
                continue;
            };
            // Products without an open phase come first.
            let mut settled: HashMap<u32, Complex64> = HashMap::default();
            for has_open in [false, true] {
                for product in products {
                    let mut c = product.coefficients[0];
                    let mut open = None;
                    for &child in &product.children {
                        let line = self.currents[child as usize].line;
                        match phases.get(&line) {
                            Some(phase) => c /= phase,
                            None if free(&line) => open = Some(line),
                            None => {}
                        }
                    }
                    if open.is_some() != has_open {
                        continue;
                    }
                    let settled = *settled.entry(product.interaction).or_insert(c);
                    if let Some(line) = open {
                        let ratio = c / settled;
                        let imaginary = ratio.re.abs() < 1e-9 * ratio.norm();
                        let phase = if imaginary { Complex64::i() } else { one };
                        phases.insert(line, phase);
                    }
                }
            }
        }
        let phase_of: Vec<Complex64> = self
            .currents
            .iter()
            .map(|c| phases.get(&c.line).copied().unwrap_or(one))
            .collect();
        let rescale = |product: &mut Product, phase: Complex64| {
            let children = product.children.iter();
            let below: Complex64 = children.map(|&c| phase_of[c as usize]).product();
            for c in &mut product.coefficients {
                *c *= phase / below;
            }
        };
        for (current, &phase) in self.currents.iter_mut().zip(&phase_of) {
            if let Make::Vertices(products) = &mut current.make {
                products.iter_mut().for_each(|p| rescale(p, phase));
            }
        }
        self.flows
            .iter_mut()
            .flatten()
            .for_each(|p| rescale(p, one));
    }

    /// Rewrites currents that depend on others of their line as sums of those.
    fn reduce(&mut self, forest: &Forest) {
        let mut lines: HashMap<DiagramLine, Vec<CurrentId>> = HashMap::default();
        for (id, current) in self.currents.iter().enumerate() {
            // Only wavefunctions with four components can be summed. (Scalars hardly ever depend on each other.)
            if current.line.kind != LineKind::Scalar {
                lines.entry(current.line).or_default().push(id as CurrentId);
            }
        }
        for ids in lines.values() {
            let vectors: Vec<_> = ids
                .iter()
                .map(|&id| {
                    let components = &self.currents[id as usize].trees[..];
                    basis::Sparse {
                        components,
                        marks: components.iter().fold(0, |m, e| m | ends(forest, e.0)),
                    }
                })
                .collect();
            let sums = basis::reduce(&vectors);
            for (&id, sum) in ids.iter().zip(sums) {
                if let Some(sum) = sum {
                    let sum = sum.into_iter().map(|(i, c)| (ids[i], c)).collect();
                    self.currents[id as usize].make = Make::Sum(sum);
                }
            }
        }
    }

    /// Expands a current in currents that are computed from vertices.
    pub fn resolve(&self, id: CurrentId) -> Vec<(CurrentId, f64)> {
        match &self.currents[id as usize].make {
            Make::Sum(sum) => sum.clone(),
            Make::Leg | Make::Vertices(_) => vec![(id, 1.0)],
        }
    }
}

/// Single legs attached to the tree's last vertex: in a colour-ordered current, those at either end.
fn ends(forest: &Forest, tree: TreeIndex) -> u64 {
    match forest.trees[tree as usize].branch() {
        Some(branch) if branch.children.len() == 2 => {
            let legs = branch.children.iter();
            let legs = legs.map(|&c| forest.lines[c as usize].legs);
            legs.filter(|legs| legs.count_ones() == 1).sum()
        }
        _ => 0,
    }
}

/// JAMPs as sums of amplitudes, with partial sums expanded.
fn flatten(jamp: &LinearMap) -> Vec<Vec<(u32, Complex64)>> {
    let mut partial: Vec<Vec<(u32, Complex64)>> = Vec::new();
    let expand = |terms: &[mebridge_process::Term], partial: &[Vec<(u32, Complex64)>]| {
        let mut sum: HashMap<u32, Complex64> = HashMap::default();
        for term in terms {
            let factor = Complex64::new(term.factor.0, term.factor.1);
            match term.source {
                TermSource::Amplitude(a) => *sum.entry(a).or_default() += factor,
                TermSource::Partial(p) => {
                    for &(a, c) in &partial[p as usize] {
                        *sum.entry(a).or_default() += factor * c;
                    }
                }
            }
        }
        let mut sum: Vec<_> = sum.into_iter().filter(|(_, c)| c.norm() > 1e-12).collect();
        sum.sort_by_key(|(a, _)| *a);
        sum
    };
    for terms in &jamp.partial {
        let sum = expand(terms, &partial);
        partial.push(sum);
    }
    jamp.outputs.iter().map(|t| expand(t, &partial)).collect()
}

/// How a current is computed from its children.
fn make(forest: &Forest, columns: &Columns, trees: &[(TreeIndex, Complex64)]) -> Option<Make> {
    let branch =
        |&(tree, c): &(TreeIndex, Complex64)| Some((forest.trees[tree as usize].branch()?, c));
    if let [leg] = trees
        && branch(leg).is_none()
    {
        return Some(Make::Leg);
    }
    let branches: Option<Branches> = trees.iter().map(branch).collect();
    products(columns, branches?.into_iter()).map(Make::Vertices)
}

/// Writes a sum of branches of one line as products of currents.
fn products(
    columns: &Columns,
    branches: impl Iterator<Item = (Branch, Complex64)>,
) -> Option<Vec<Product>> {
    // Branches grouped by vertex and lines, in order of first occurrence.
    let mut places: HashMap<(u32, u8, [u32; 3]), usize> = HashMap::default();
    let mut groups: Vec<Branches> = Vec::new();
    for (branch, c) in branches {
        let mut lines = [u32::MAX; 3];
        for (line, &child) in lines.iter_mut().zip(&branch.children[..]) {
            *line = columns.lines[child as usize];
        }
        let group = (branch.interaction, branch.result, lines);
        let place = *places.entry(group).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Branches::new());
        }
        groups[place].push((branch, c));
    }
    let mut products = Vec::new();
    for mut branches in groups {
        branches.sort_by_key(|(branch, _)| *branch);
        let same = branches.chunk_by(|a, b| a.0 == b.0);
        let sums = same.map(|same| (same[0].0, same.iter().map(|(_, c)| c).sum()));
        let sums: Branches = sums.filter(|(_, c)| !is_zero(*c)).collect();
        if !sums.is_empty() {
            products.push(product(columns, &sums)?);
        }
    }
    Some(products)
}

/// Writes distinct branches of one group, in ascending order, as one product of currents.
fn product(columns: &Columns, branches: &[(Branch, Complex64)]) -> Option<Product> {
    let (pivot, _) = *branches.first()?;
    let mut children = Vec::new();
    let mut trees = Vec::new();
    let mut scale = Complex64::new(1.0, 0.0);
    for position in 0..pivot.children.len() {
        let beside = |mut children: Children| {
            children[position] = TreeIndex::MAX;
            children
        };
        let column: Vec<_> = branches
            .iter()
            .filter(|(b, _)| b.lone == pivot.lone && beside(b.children) == beside(pivot.children))
            .map(|(b, c)| (b.children[position], *c))
            .collect();
        let id = columns.current(&column)?;
        let below = &columns.currents[id as usize];
        scale *= coefficient(below, pivot.children[position])?;
        children.push(id);
        trees.push(below);
    }
    let mut coefficients = [Complex64::default(); 3];
    for (branch, c) in branches {
        if branch.children == pivot.children {
            coefficients[branch.lone as usize] = c / scale;
        }
    }
    let ways = coefficients.iter().filter(|c| c.norm() > 0.0).count();
    if ways * trees.iter().map(|t| t.len()).product::<usize>() != branches.len() {
        return None;
    }
    for (branch, value) in branches {
        let mut expected = coefficients[branch.lone as usize];
        for (&tree, below) in branch.children.iter().zip(&trees) {
            expected *= coefficient(below, tree)?;
        }
        if (expected - value).norm() > 1e-9 * value.norm() {
            return None;
        }
    }
    Some(Product {
        interaction: pivot.interaction,
        result: pivot.result,
        children,
        coefficients,
    })
}

/// The coefficient of a tree in a column.
fn coefficient(column: &[(TreeIndex, Complex64)], tree: TreeIndex) -> Option<Complex64> {
    let at = column.binary_search_by_key(&tree, |(tree, _)| *tree).ok()?;
    Some(column[at].1)
}
