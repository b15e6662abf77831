//! Which sums of trees are worth computing: the currents of a recursion.
//!
//! Take a line (a set of legs and what flows) and all trees that grow below it somewhere in the
//! diagrams. In each place where the line occurs (the rest of the diagram, and the colour flow that
//! it contributes to) the trees enter with certain coefficients: a *column*. Columns that differ
//! only by a factor ask for the same sum of trees. Each different column is a *current*, in
//! colour language a colour-ordered one; rather than to every tree, the rest of the diagrams is
//! attached to the currents.
//!
//! Currents of one line may depend on each other (those of gluons do, by the relations of Kleiss
//! and Kuijf, Nucl. Phys. B312 (1989) 616): a few are computed from vertices, the others are sums
//! and differences of these, see `basis`.

use super::basis;
use super::diagrams::{Branch, Forest, Line, LineKind, Tree, TreeId};
use crate::plan::passes::Pass;
use crate::process::{LinearMap, Source};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Index of a current in [`Frames::currents`].
pub type CurrentId = u32;

/// A current: a sum of trees over one line.
#[derive(Clone, Debug)]
pub struct Current {
    /// The line.
    pub line: Line,
    /// The trees with their coefficients, in ascending order; that of the simplest one is 1 (see
    /// [`Forest::simplicity`]).
    pub trees: Vec<(TreeId, Complex64)>,
    /// How the sum is computed.
    pub make: Make,
}

/// How a current is computed.
#[derive(Clone, Debug)]
pub enum Make {
    /// It is an external wavefunction.
    Leg,
    /// As a sum of vertices.
    Vertices(Vec<Product>),
    /// As a sum of other currents of its line, with coefficients 1 and -1.
    Sum(Vec<(CurrentId, f64)>),
}

/// A vertex of currents, with a coefficient.
#[derive(Clone, Debug)]
pub struct Product {
    /// Index into [`Forest::interactions`].
    pub interaction: u32,
    /// Which leg of its family is the result.
    pub result: u8,
    /// The currents on its other legs.
    pub children: Vec<CurrentId>,
    /// The coefficient. Of four vectors one for each of the children, as the lone one.
    pub coefficients: [Complex64; 3],
}

/// The currents of a process and how its colour flows follow from them.
pub struct Frames {
    /// All currents; children come before their parents.
    pub currents: Vec<Current>,
    /// For each colour flow the products at the root.
    pub flows: Vec<Vec<Product>>,
}

/// Coefficients of branches that differ in their children, and in which of them is the lone one.
type Entries = HashMap<(Vec<TreeId>, u8), Complex64>;

/// A sum of branches of trees, as coefficients.
type Column = Vec<(Branch, Complex64)>;

/// A line, and trees with the bits of their rounded coefficients.
type CurrentKey = (Line, Vec<(TreeId, u64, u64)>);

/// Where a tree hangs: the path from the root, with everything beside it.
type ContextId = u32;

impl Frames {
    /// Finds the currents. `None` where the sums do not factor into products of currents.
    /// Passes behind `last` are left out.
    pub fn find(forest: &Forest, jamp: &LinearMap, last: Pass) -> Option<Frames> {
        let flows = flatten(jamp);
        let mut finder = Finder {
            forest,
            contexts: HashMap::default(),
            columns: vec![HashMap::default(); forest.trees.len()],
            currents: HashMap::default(),
            frames: Frames {
                currents: Vec::new(),
                flows: Vec::new(),
            },
            scales: HashMap::default(),
            examples: Vec::new(),
        };
        // Where every tree occurs, with its coefficient.
        for (flow, terms) in flows.iter().enumerate() {
            for &(amplitude, coefficient) in terms {
                for (branch, c) in &forest.tops[amplitude as usize] {
                    finder.hang(branch, 0, flow as u32, coefficient * c);
                }
            }
        }
        finder.collect();
        for id in 0..finder.frames.currents.len() {
            finder.frames.currents[id].make = finder.vertices(id)?;
        }
        for (flow, terms) in flows.iter().enumerate() {
            let mut column = Column::new();
            for &(amplitude, coefficient) in terms {
                let branches = forest.tops[amplitude as usize].iter();
                column.extend(branches.map(|(branch, c)| (branch.clone(), coefficient * c)));
            }
            let products = finder.products(column, 0, flow as u32)?;
            finder.frames.flows.push(products);
        }
        let mut frames = finder.frames;
        if last >= Pass::Phases {
            frames.align();
        }
        if last >= Pass::Basis {
            frames.reduce(forest);
        }
        Some(frames)
    }

    /// Chooses the phase of the currents of each line such that as many vertices as possible
    /// that are added up have the same coefficient, or the opposite one: they then share a
    /// factor. (The colour factors of gluons that meet have an `i` for each vertex.)
    fn align(&mut self) {
        let mut phases: HashMap<Line, Complex64> = HashMap::default();
        let one = Complex64::new(1.0, 0.0);
        let free = |line: &Line| line.kind == LineKind::Vector && line.legs.count_ones() > 1;
        for current in &self.currents {
            let Make::Vertices(products) = &current.make else {
                continue;
            };
            // Those whose phase is settled first.
            let mut settled: HashMap<u32, Complex64> = HashMap::default();
            for settle in [false, true] {
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
                    if open.is_some() != settle {
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

    /// Makes currents that depend on others of their line sums of those.
    fn reduce(&mut self, forest: &Forest) {
        let mut lines: HashMap<Line, Vec<CurrentId>> = HashMap::default();
        for (id, current) in self.currents.iter().enumerate() {
            lines.entry(current.line).or_default().push(id as CurrentId);
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

    /// A current as a sum of currents that are computed from vertices.
    pub fn resolve(&self, id: CurrentId) -> Vec<(CurrentId, f64)> {
        match &self.currents[id as usize].make {
            Make::Sum(sum) => sum.clone(),
            Make::Leg | Make::Vertices(_) => vec![(id, 1.0)],
        }
    }
}

/// Single legs that meet all others in the tree's last vertex: in a colour-ordered current those
/// at either end.
fn ends(forest: &Forest, tree: TreeId) -> u64 {
    match &forest.trees[tree as usize] {
        Tree::Vertex(branch) if branch.children.len() == 2 => {
            let legs = branch.children.iter();
            let legs = legs.map(|&c| forest.lines[c as usize].legs);
            legs.filter(|legs| legs.count_ones() == 1).sum()
        }
        _ => 0,
    }
}

/// JAMPs as sums of amplitudes, without partial sums.
fn flatten(jamp: &LinearMap) -> Vec<Vec<(u32, Complex64)>> {
    let mut partial: Vec<Vec<(u32, Complex64)>> = Vec::new();
    let expand = |terms: &[crate::process::Term], partial: &[Vec<(u32, Complex64)>]| {
        let mut sum: HashMap<u32, Complex64> = HashMap::default();
        for term in terms {
            let factor = Complex64::new(term.factor.0, term.factor.1);
            match term.source {
                Source::Amplitude(a) => *sum.entry(a).or_default() += factor,
                Source::Partial(p) => {
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

/// The context above a branch, the branch with a hole, and where the hole is.
type ContextKey = (ContextId, Branch, u8);

/// What tells one context from another.
fn context_key(above: ContextId, branch: &Branch, position: usize) -> ContextKey {
    let mut rest = branch.clone();
    rest.children[position] = TreeId::MAX;
    (above, rest, position as u8)
}

struct Finder<'a> {
    forest: &'a Forest,
    contexts: HashMap<ContextKey, ContextId>,
    /// For each tree, where it occurs: context and flow, with the coefficient.
    columns: Vec<HashMap<(ContextId, u32), Complex64>>,
    currents: HashMap<CurrentKey, CurrentId>,
    frames: Frames,
    /// For each line, context and flow: the current that is asked for, and its factor.
    scales: HashMap<(Line, ContextId, u32), (CurrentId, Complex64)>,
    /// For each current a context and flow that ask for it, and its factor there.
    examples: Vec<(ContextId, u32, Complex64)>,
}

impl Finder<'_> {
    /// Notes that the trees on a branch occur in a context, and all below them.
    fn hang(&mut self, branch: &Branch, context: ContextId, flow: u32, coefficient: Complex64) {
        for position in 0..branch.children.len() {
            let child = branch.children[position];
            let below = self.context(context, branch, position);
            *self.columns[child as usize]
                .entry((below, flow))
                .or_default() += coefficient;
            if let Tree::Vertex(branch) = &self.forest.trees[child as usize] {
                self.hang(&branch.clone(), below, flow, coefficient);
            }
        }
    }

    /// The context of one child of a branch: the branch with a hole in its place.
    fn context(&mut self, above: ContextId, branch: &Branch, position: usize) -> ContextId {
        let key = context_key(above, branch, position);
        let next = self.contexts.len() as ContextId + 1;
        *self.contexts.entry(key).or_insert(next)
    }

    /// Gathers trees of the same line, context and flow into currents.
    fn collect(&mut self) {
        let mut asked: HashMap<(Line, ContextId, u32), Vec<(TreeId, Complex64)>> =
            HashMap::default();
        for (tree, places) in self.columns.iter().enumerate() {
            for (&(context, flow), &c) in places {
                if c.norm() > 1e-12 {
                    let line = self.forest.lines[tree];
                    let entry = asked.entry((line, context, flow)).or_default();
                    entry.push((tree as TreeId, c));
                }
            }
        }
        let mut asked: Vec<_> = asked.into_iter().collect();
        // Small lines first, so that children are made before their parents; and one order only,
        // so that a process gives the same plan, to the last digit, every time.
        asked.sort_by_key(|((line, context, flow), trees)| {
            (
                line.legs.count_ones(),
                trees.len(),
                *context,
                *flow,
                trees[0].0,
            )
        });
        for ((line, context, flow), trees) in asked {
            let simplest = trees
                .iter()
                .min_by_key(|(t, _)| (self.forest.simplicity(*t), *t));
            let scale = simplest.expect("there is a tree").1;
            let trees: Vec<(TreeId, Complex64)> =
                trees.into_iter().map(|(t, c)| (t, c / scale)).collect();
            let rounded = |x: f64| ((x * 1e9).round() + 0.0).to_bits();
            let key = trees
                .iter()
                .map(|(t, c)| (*t, rounded(c.re), rounded(c.im)))
                .collect();
            let currents = &mut self.frames.currents;
            let examples = &mut self.examples;
            let id = *self.currents.entry((line, key)).or_insert_with(|| {
                currents.push(Current {
                    line,
                    trees,
                    make: Make::Leg,
                });
                examples.push((context, flow, scale));
                currents.len() as CurrentId - 1
            });
            self.scales.insert((line, context, flow), (id, scale));
        }
    }

    /// How a current follows from those below it.
    fn vertices(&self, id: usize) -> Option<Make> {
        let current = &self.frames.currents[id];
        if let [(tree, _)] = current.trees[..]
            && matches!(self.forest.trees[tree as usize], Tree::Leg(_))
        {
            return Some(Make::Leg);
        }
        let (context, flow, scale) = self.examples[id];
        let column = current
            .trees
            .iter()
            .map(|&(tree, c)| match &self.forest.trees[tree as usize] {
                Tree::Vertex(branch) => Some((branch.clone(), c * scale)),
                Tree::Leg(_) => None,
            })
            .collect::<Option<Column>>()?;
        let mut products = self.products(column, context, flow)?;
        for c in products.iter_mut().flat_map(|p| &mut p.coefficients) {
            *c /= scale;
        }
        Some(Make::Vertices(products))
    }

    /// Writes a sum of branches that occur in a context as products of currents.
    fn products(&self, column: Column, context: ContextId, flow: u32) -> Option<Vec<Product>> {
        type Group = (u32, u8, Vec<Line>);
        let mut groups: HashMap<Group, Entries> = HashMap::default();
        let mut order = Vec::new();
        for (branch, c) in column {
            let line = |&t: &TreeId| self.forest.lines[t as usize];
            let lines: Vec<Line> = branch.children.iter().map(line).collect();
            let group = (branch.interaction, branch.result, lines);
            let entries = groups.entry(group.clone()).or_insert_with(|| {
                order.push(group);
                HashMap::default()
            });
            *entries.entry((branch.children, branch.lone)).or_default() += c;
        }
        let mut products = Vec::new();
        for group in order {
            let mut entries = groups.remove(&group)?;
            entries.retain(|_, c| c.norm() > 1e-12);
            if entries.is_empty() {
                continue;
            }
            let (interaction, result, lines) = group;
            products.push(self.product(interaction, result, &lines, &entries, context, flow)?);
        }
        Some(products)
    }

    /// Writes the coefficients of branches of one kind as one product of currents.
    fn product(
        &self,
        interaction: u32,
        result: u8,
        lines: &[Line],
        entries: &Entries,
        context: ContextId,
        flow: u32,
    ) -> Option<Product> {
        let ((pivot, lone), _) = entries.iter().min_by_key(|(at, _)| (*at).clone())?;
        let branch = Branch {
            interaction,
            result,
            children: pivot.clone(),
            lone: *lone,
        };
        let mut children = Vec::new();
        let mut trees = Vec::new();
        let mut scale = Complex64::new(1.0, 0.0);
        for (position, &line) in lines.iter().enumerate() {
            let below = self.known_context(context, &branch, position)?;
            let (id, _) = *self.scales.get(&(line, below, flow))?;
            let below = &self.frames.currents[id as usize].trees;
            scale *= below.iter().find(|(t, _)| *t == pivot[position])?.1;
            children.push(id);
            trees.push(below);
        }
        let mut coefficients = [Complex64::default(); 3];
        for lone in 0..3 {
            let at_pivot = entries.get(&(pivot.clone(), lone));
            coefficients[lone as usize] = at_pivot.map_or(Complex64::default(), |c| c / scale);
        }
        let ways = coefficients.iter().filter(|c| c.norm() > 0.0).count();
        if ways * trees.iter().map(|t| t.len()).product::<usize>() != entries.len() {
            return None;
        }
        for ((at, lone), value) in entries {
            let mut expected = coefficients[*lone as usize];
            for (tree, below) in at.iter().zip(&trees) {
                expected *= below.iter().find(|(t, _)| t == tree)?.1;
            }
            if (expected - value).norm() > 1e-9 * value.norm() {
                return None;
            }
        }
        Some(Product {
            interaction,
            result,
            children,
            coefficients,
        })
    }

    fn known_context(
        &self,
        above: ContextId,
        branch: &Branch,
        position: usize,
    ) -> Option<ContextId> {
        let key = context_key(above, branch, position);
        self.contexts.get(&key).copied()
    }
}
