//! The columns that colour flows ask for, and the currents that they are.
//!
//! A *context* is a place where a tree can hang: the path from the root, with everything beside it.
//! Which trees hang there does not depend on the colour flow, only their coefficients do. So every
//! amplitude is gone through once, however many flows it contributes to; then one context after the
//! other gives its columns, of which only those are kept that are new.

use super::diagrams::{Branch, Forest, Tree, TreeIndex};
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;

/// Index of a current in `Columns::currents`.
pub type CurrentId = u32;

/// A sum of trees over one line, in ascending order.
pub type Column = Vec<(TreeIndex, Complex64)>;

/// A colour flow as a sum of amplitudes, in ascending order.
pub type Flow = Vec<(u32, Complex64)>;

/// What counts as zero.
pub const TINY: f64 = 1e-12;

/// All different columns of a process.
pub struct Columns<'a> {
    forest: &'a Forest,
    /// For each tree a number of its line.
    pub lines: Vec<u32>,
    /// What [`Forest::simplicity`] says of each tree.
    simplicity: Vec<(u32, u32)>,
    /// The columns; the coefficient of the simplest tree of each is 1. Those over few legs come
    /// first.
    pub currents: Vec<Column>,
    ids: HashMap<Key, CurrentId>,
}

/// Trees with their rounded coefficients.
type Key = Vec<(TreeIndex, i64, i64)>;

/// Where a tree hangs, numbered in the order in which flows and their amplitudes come to it.
type ContextId = u32;

/// A tree of an amplitude in its context.
struct PlacedTree {
    context: ContextId,
    amplitude: u32,
    tree: TreeIndex,
    coefficient: Complex64,
}

/// A tree in the column of a context and a flow.
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

    /// Goes through the columns of all contexts.
    fn gather(&mut self, flows: &[Flow], placed: &[PlacedTree]) {
        let flows_of = transpose(flows, self.forest.tops.len());
        let mut alone = vec![false; self.forest.trees.len()];
        // Where in the order of contexts and flows each current is first asked for.
        let mut first: Vec<(ContextId, u32)> = vec![(0, 0); self.currents.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let (mut column, mut key) = (Column::new(), Key::new());
        for places in placed.chunk_by(|a, b| a.context == b.context) {
            let tree = places[0].tree;
            // One tree alone is the same current in every flow.
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
            for asked in entries.chunk_by(|a, b| (a.flow, a.line) == (b.flow, b.line)) {
                column.clear();
                for same in asked.chunk_by(|a, b| a.tree == b.tree) {
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
                    first.push((places[0].context, asked[0].flow));
                }
            }
        }
        self.sort(&first);
    }

    /// Adds a column unless it is known (or empty); says whether it was new.
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

    /// Makes the key of a column; gives the coefficient of its simplest tree.
    fn key(&self, column: &[(TreeIndex, Complex64)], key: &mut Key) -> Option<Complex64> {
        // A power of two: fractions that occur then don't lie between two numbers.
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

    /// The current that a column is, up to a factor.
    pub fn current(&self, column: &[(TreeIndex, Complex64)]) -> Option<CurrentId> {
        let mut key = Key::with_capacity(column.len());
        self.key(column, &mut key)?;
        self.ids.get(&key).copied()
    }

    /// Small lines first, so that children come before their parents; and one order only, so that a
    /// process gives the same plan, to the last digit, every time.
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

/// For each amplitude its flows.
fn transpose(flows: &[Flow], amplitudes: usize) -> Vec<Vec<(u32, Complex64)>> {
    let mut flows_of = vec![Vec::new(); amplitudes];
    for (flow, terms) in (0..).zip(flows) {
        for &(amplitude, c) in terms {
            flows_of[amplitude as usize].push((flow, c));
        }
    }
    flows_of
}

/// All trees that are no legs, in all of their contexts, one context after the other.
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
    /// By the context above a branch, the branch with a hole, and where the hole is.
    contexts: HashMap<(ContextId, Branch, u8), ContextId>,
    placed: Vec<PlacedTree>,
}

impl Hanging<'_> {
    /// Notes where the trees on a branch hang, and all below them. Not so for legs, which are the
    /// same current everywhere.
    fn branch(
        &mut self,
        branch: Branch,
        context: ContextId,
        amplitude: u32,
        coefficient: Complex64,
    ) {
        for (position, &tree) in branch.children.iter().enumerate() {
            let Tree::Vertex(below) = self.forest.trees[tree as usize] else {
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
