//! The columns needed by colour flows, and the currents that they define.
//!
//! A *context* is a place where a tree can be attached: the path from the root, with all branches beside it. The trees
//! that occur in it do not depend on the colour flow, only their coefficients do. So every amplitude is traversed once,
//! however many flows it contributes to; then the columns of each context are formed, and only new ones are kept.

use super::diagrams::{Branch, Forest, Tree, TreeIndex};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Index of a current in `Columns::currents`.
pub type CurrentId = u32;

/// A sum of trees over one line, in ascending order.
pub type Column = Vec<(TreeIndex, Complex64)>;

/// A colour flow as a sum of amplitudes, in ascending order.
pub type Flow = Vec<(u32, Complex64)>;

/// Coefficients below this count as zero.
pub const TINY: f64 = 1e-12;

/// All distinct columns of a process.
pub struct Columns<'a> {
    forest: &'a Forest,
    /// For each tree a number that identifies its line.
    pub lines: Vec<u32>,
    /// [`Forest::simplicity`] of each tree.
    simplicity: Vec<(u32, u32)>,
    /// The distinct columns, those with few legs first; the coefficient of the simplest tree of each is 1.
    pub currents: Vec<Column>,
    ids: HashMap<Key, CurrentId>,
}

/// Trees with their rounded coefficients.
type Key = Vec<(TreeIndex, i64, i64)>;

/// Index of a context, in order of first occurrence in the flows and their amplitudes.
type ContextId = u32;

/// A tree of an amplitude in its context.
struct PlacedTree {
    context: ContextId,
    amplitude: u32,
    tree: TreeIndex,
    coefficient: Complex64,
}

/// A tree in the column for a context and a flow.
struct Entry {
    flow: u32,
    line: u32,
    tree: TreeIndex,
    coefficient: Complex64,
}

impl<'a> Columns<'a> {
    /// Finds all columns.
    pub fn find(forest: &'a Forest, flows: &[Flow]) -> Columns<'a> {
        let mut numbers = HashMap::default();
        let lines = forest.lines.iter().map(|line| {
            let next = numbers.len() as u32;
            *numbers.entry(line).or_insert(next)
        });
        let mut columns = Columns {
            forest,
            lines: lines.collect(),
            simplicity: forest.simplicity(),
            currents: Vec::new(),
            ids: HashMap::default(),
        };
        let legs = (0..).zip(&forest.trees);
        for (tree, _) in legs.filter(|(_, tree)| matches!(tree, Tree::Leg(_))) {
            columns.add(&[(tree, Complex64::new(1.0, 0.0))], &mut Key::new());
        }
        columns.gather(flows, &hang(forest, flows));
        columns
    }

    /// Forms the columns of all contexts.
    fn gather(&mut self, flows: &[Flow], placed: &[PlacedTree]) {
        let flows_of = transpose(flows, self.forest.tops.len());
        let mut alone = vec![false; self.forest.trees.len()];
        // For each current its first occurrence in the order of contexts and flows.
        let mut first: Vec<(ContextId, u32)> = vec![(0, 0); self.currents.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let (mut column, mut key) = (Column::new(), Key::new());
        for places in placed.chunk_by(|a, b| a.context == b.context) {
            let tree = places[0].tree;
            // A single tree is the same current in every flow.
            let single = places.iter().all(|place| place.tree == tree);
            if single && alone[tree as usize] {
                continue;
            }
            entries.clear();
            for place in places {
                let line = self.lines[place.tree as usize];
                let flows = flows_of[place.amplitude as usize].iter();
                entries.extend(flows.map(|&(flow, c)| Entry {
                    flow,
                    line,
                    tree: place.tree,
                    coefficient: c * place.coefficient,
                }));
            }
            entries.sort_by_key(|e| (e.flow, e.line, e.tree));
            for same_column in entries.chunk_by(|a, b| (a.flow, a.line) == (b.flow, b.line)) {
                column.clear();
                for same in same_column.chunk_by(|a, b| a.tree == b.tree) {
                    let sum: Complex64 = same.iter().map(|e| e.coefficient).sum();
                    if !is_zero(sum) {
                        column.push((same[0].tree, sum));
                    }
                }
                if let [(tree, _)] = column[..]
                    && std::mem::replace(&mut alone[tree as usize], true)
                {
                    continue;
                }
                if self.add(&column, &mut key) {
                    first.push((places[0].context, same_column[0].flow));
                }
            }
        }
        self.sort(&first);
    }

    /// Adds a column unless it is known or empty; returns whether it was added.
    fn add(&mut self, column: &[(TreeIndex, Complex64)], key: &mut Key) -> bool {
        let Some(scale) = self.key(column, key) else {
            return false;
        };
        if self.ids.contains_key(key) {
            return false;
        }
        self.ids
            .insert(key.clone(), self.currents.len() as CurrentId);
        let scaled = column.iter().map(|&(tree, c)| (tree, c / scale));
        self.currents.push(scaled.collect());
        true
    }

    /// Computes the key of a column; returns the coefficient of its simplest tree.
    fn key(&self, column: &[(TreeIndex, Complex64)], key: &mut Key) -> Option<Complex64> {
        // A power of two, so that fractions that occur do not lie halfway between two integers.
        let rounded = |x: f64| (x * (1u64 << 30) as f64).round() as i64;
        let simplicity = |tree: TreeIndex| (self.simplicity[tree as usize], tree);
        let scale = column.iter().min_by_key(|(tree, _)| simplicity(*tree))?.1;
        key.clear();
        key.extend(column.iter().map(|&(tree, c)| {
            let c = c / scale;
            (tree, rounded(c.re), rounded(c.im))
        }));
        Some(scale)
    }

    /// The current that is proportional to a column.
    pub fn current(&self, column: &[(TreeIndex, Complex64)]) -> Option<CurrentId> {
        let mut key = Key::with_capacity(column.len());
        self.key(column, &mut key)?;
        self.ids.get(&key).copied()
    }

    /// Sorts currents: those with few legs first, so that children come before their parents, and otherwise in a fixed
    /// order, so that a process always gives the same plan to the last digit.
    fn sort(&mut self, first: &[(ContextId, u32)]) {
        let place = |id: usize| {
            let trees = &self.currents[id];
            let legs = self.forest.lines[trees[0].0 as usize].legs.count_ones();
            (legs, trees.len(), first[id], trees[0].0)
        };
        let mut order: Vec<usize> = (0..self.currents.len()).collect();
        order.sort_by_key(|&id| place(id));
        let mut currents = std::mem::take(&mut self.currents);
        let mut ids = vec![0; order.len()];
        for (id, &old) in (0..).zip(&order) {
            ids[old] = id;
            self.currents.push(std::mem::take(&mut currents[old]));
        }
        for id in self.ids.values_mut() {
            *id = ids[*id as usize];
        }
    }
}

/// Whether a coefficient counts as zero.
pub fn is_zero(c: Complex64) -> bool {
    c.norm_sqr() <= TINY * TINY
}

/// `[amplitude]`: the flows that contain it.
fn transpose(flows: &[Flow], amplitudes: usize) -> Vec<Vec<(u32, Complex64)>> {
    let mut flows_of = vec![Vec::new(); amplitudes];
    for (flow, terms) in (0..).zip(flows) {
        for &(amplitude, c) in terms {
            flows_of[amplitude as usize].push((flow, c));
        }
    }
    flows_of
}

/// Lists all trees except single legs in all of their contexts, grouped by context.
fn hang(forest: &Forest, flows: &[Flow]) -> Vec<PlacedTree> {
    let mut hanging = Hanging {
        forest,
        contexts: HashMap::default(),
        placed: Vec::new(),
    };
    let mut seen = vec![false; forest.tops.len()];
    for &(amplitude, _) in flows.iter().flatten() {
        if !std::mem::replace(&mut seen[amplitude as usize], true) {
            for &(branch, coefficient) in &forest.tops[amplitude as usize] {
                hanging.branch(branch, 0, amplitude, coefficient);
            }
        }
    }
    let mut placed = hanging.placed;
    placed.sort_by_key(|h| (h.context, h.amplitude));
    placed
}

struct Hanging<'a> {
    forest: &'a Forest,
    /// The context of a branch's child, by the context of the branch, the branch without the child, and the child's
    /// position.
    contexts: HashMap<(ContextId, Branch, u8), ContextId>,
    placed: Vec<PlacedTree>,
}

impl Hanging<'_> {
    /// Records the contexts of the trees on a branch, recursively. Legs are skipped, as they are the same current in
    /// every context.
    fn branch(
        &mut self,
        branch: Branch,
        context: ContextId,
        amplitude: u32,
        coefficient: Complex64,
    ) {
        for (position, &tree) in branch.children.iter().enumerate() {
            let Some(below) = self.forest.trees[tree as usize].branch() else {
                continue;
            };
            let mut rest = branch;
            rest.children[position] = TreeIndex::MAX;
            let next = self.contexts.len() as ContextId + 1;
            let key = (context, rest, position as u8);
            let context = *self.contexts.entry(key).or_insert(next);
            self.placed.push(PlacedTree {
                context,
                amplitude,
                tree,
                coefficient,
            });
            self.branch(below, context, amplitude, coefficient);
        }
    }
}
