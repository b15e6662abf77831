//! The topologies of a process in its colour-ordered form, whose diagrams are not listed.
//!
//! Every vertex has three lines. Gluon currents are binary trees; a quark line has trees along it, in order from the
//! first end to the second, and a process of gluons only is a tree with the first of them as its root. Outgoing gluons
//! are not distinguished: of topologies that differ by their permutations, only the one is listed in which they are
//! named in the order of the vertices.

use super::{Channel, DiagramLines, Topology};
use mebridge_process::color_ordered::{ColorOrdered, Exchange};
use mebridge_process::{Process, Quantity, Wavefunction};
use std::collections::HashMap;
use std::rc::Rc;

/// A set of legs: a bit mask of distinguished legs, and the number of the others.
type Legs = (u32, usize);

/// A current.
enum Tree {
    /// One of the distinguished legs.
    Leg(usize),
    /// Any of the other legs.
    Any,
    Join(Rc<Tree>, Rc<Tree>),
}

/// Cache of all trees of sets of legs.
#[derive(Default)]
struct Trees {
    known: HashMap<Legs, Rc<Vec<Rc<Tree>>>>,
}

/// Lists the topologies.
pub fn channels(process: &Process, form: &ColorOrdered) -> Vec<Channel> {
    let leg = |wavefunction: &u32| match &process.wavefunctions[*wavefunction as usize] {
        Wavefunction::External(external) => external.leg as usize,
        Wavefunction::Internal(_) => 0,
    };
    let ends = [leg(&form.ends[0]), leg(&form.ends[1])];
    let mut gluons: Vec<usize> = form.insertions.iter().map(leg).collect();
    if form.line.is_none() {
        gluons.push(ends[1]);
    }
    let (distinct, others): (Vec<usize>, Vec<usize>) =
        gluons.iter().partition(|&&leg| process.legs[leg].incoming);
    let all = ((1 << distinct.len()) - 1, others.len());
    // The items that the line absorbs once, in all ways: a leg, or two that annihilate into one of several vectors.
    let bosons: Vec<Option<Item>> = match &form.boson {
        None => vec![None],
        Some(boson) => {
            let item = |vector: &Exchange| match (&boson.wavefunctions[..], &vector.made) {
                ([a, b], Some(made)) => Item::Pair([leg(a), leg(b)], [made.mass, made.width]),
                _ => Item::Boson(boson.wavefunctions.first().map_or(0, leg)),
            };
            boson.vectors.iter().map(|v| Some(item(v))).collect()
        }
    };
    let mut trees = Trees::default();
    let mut found = Vec::new();
    let mut writer = Writer {
        lines: DiagramLines::new(process),
        distinct,
        others,
        next: 0,
        topology: Topology::default(),
    };
    match &form.line {
        None => {
            for tree in trees.trees(all).iter() {
                found.push(writer.tree(tree, ends[0]));
            }
        }
        Some(vertex) => {
            for boson in &bosons {
                let mut items = Vec::new();
                trees.along(all, boson.as_ref(), &mut items, &mut |items| {
                    found.push(writer.line(items, ends, [vertex.mass, vertex.width]));
                });
            }
        }
    }
    found
}

impl Trees {
    fn trees(&mut self, legs: Legs) -> Rc<Vec<Rc<Tree>>> {
        if let Some(known) = self.known.get(&legs) {
            return known.clone();
        }
        let mut found = Vec::new();
        if let (distinct, 0) = legs
            && distinct.count_ones() == 1
        {
            found.push(Rc::new(Tree::Leg(distinct.trailing_zeros() as usize)));
        } else if legs == (0, 1) {
            found.push(Rc::new(Tree::Any));
        } else {
            for (first, second) in splits(legs) {
                // Each pair in one order only.
                if first > second {
                    continue;
                }
                let (left, right) = (self.trees(first), self.trees(second));
                for (i, a) in left.iter().enumerate() {
                    let from = if first == second { i } else { 0 };
                    let joined = right[from..].iter();
                    found.extend(joined.map(|b| Rc::new(Tree::Join(a.clone(), b.clone()))));
                }
            }
        }
        let found = Rc::new(found);
        self.known.insert(legs, found.clone());
        found
    }

    /// Calls `f` with all sequences of trees along a line, and of the boson, if any.
    fn along(
        &mut self,
        legs: Legs,
        boson: Option<&Item>,
        items: &mut Vec<Item>,
        f: &mut dyn FnMut(&[Item]),
    ) {
        if legs == (0, 0) && boson.is_none() {
            return f(items);
        }
        if let Some(boson) = boson {
            items.push(boson.clone());
            self.along(legs, None, items, f);
            items.pop();
        }
        let whole = (legs != (0, 0)).then_some((legs, (0, 0)));
        for (first, rest) in splits(legs).into_iter().chain(whole) {
            for tree in self.trees(first).iter() {
                items.push(Item::Tree(tree.clone()));
                self.along(rest, boson, items, f);
                items.pop();
            }
        }
    }
}

/// An item that a quark line absorbs.
#[derive(Clone)]
enum Item {
    Tree(Rc<Tree>),
    Boson(usize),
    /// Two legs that annihilate into a vector, and its mass and width.
    Pair([usize; 2], [Quantity; 2]),
}

/// All ways to split legs into two non-empty sets, in both orders.
fn splits((distinct, others): Legs) -> Vec<(Legs, Legs)> {
    let mut found = Vec::new();
    let mut part = distinct;
    loop {
        for n in 0..=others {
            let (first, second) = ((part, n), (distinct & !part, others - n));
            if first != (0, 0) && second != (0, 0) {
                found.push((first, second));
            }
        }
        if part == 0 {
            return found;
        }
        part = (part - 1) & distinct;
    }
}

/// Writes topologies.
struct Writer<'a> {
    lines: DiagramLines<'a>,
    distinct: Vec<usize>,
    others: Vec<usize>,
    /// The next of the undistinguished legs.
    next: usize,
    topology: Topology,
}

impl Writer<'_> {
    fn name(&self, leg: usize) -> (String, Vec<usize>) {
        (self.lines.names[leg].clone(), vec![leg])
    }

    /// Adds a vertex that results in a propagator; returns its name, and its legs.
    fn join(
        &mut self,
        (first, mut legs): (String, Vec<usize>),
        (second, others): (String, Vec<usize>),
        line: [Quantity; 2],
    ) -> (String, Vec<usize>) {
        legs.extend(others);
        let name = format!("p{}", self.topology.pdg.len());
        self.topology
            .vertices
            .push(vec![first, second, name.clone()]);
        self.lines.propagator(line, &legs, &mut self.topology);
        (name, legs)
    }

    fn current(&mut self, tree: &Tree) -> (String, Vec<usize>) {
        match tree {
            Tree::Leg(at) => self.name(self.distinct[*at]),
            Tree::Any => {
                let leg = self.others[self.next];
                self.next += 1;
                self.name(leg)
            }
            Tree::Join(a, b) => {
                let (a, b) = (self.current(a), self.current(b));
                self.join(a, b, [Quantity::ZERO; 2])
            }
        }
    }

    /// Writes a topology of gluons only.
    fn tree(&mut self, tree: &Tree, root: usize) -> Channel {
        if let Tree::Join(a, b) = tree {
            let (a, b) = (self.current(a), self.current(b));
            self.last([a.0, b.0, self.name(root).0]);
        }
        self.finish()
    }

    /// Writes a topology with a quark line.
    fn line(&mut self, items: &[Item], ends: [usize; 2], line: [Quantity; 2]) -> Channel {
        let mut here = self.name(ends[0]);
        for (at, item) in items.iter().enumerate() {
            let beside = match item {
                Item::Tree(tree) => self.current(tree),
                Item::Boson(leg) => self.name(*leg),
                Item::Pair([a, b], line) => {
                    let (a, b) = (self.name(*a), self.name(*b));
                    self.join(a, b, *line)
                }
            };
            if at + 1 == items.len() {
                self.last([here.0, beside.0, self.name(ends[1]).0]);
                break;
            }
            here = self.join(here, beside, line);
        }
        self.finish()
    }

    fn last(&mut self, names: [String; 3]) {
        self.topology.vertices.push(names.to_vec());
    }

    fn finish(&mut self) -> Channel {
        self.next = 0;
        let topology = std::mem::take(&mut self.topology);
        Channel {
            propagators: topology.pdg,
            vertices: topology.vertices,
            on_shell_propagators: Vec::new(),
            off_shell_propagators: Vec::new(),
            parameters: topology.parameters,
            masses: topology.masses,
            diagrams: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topologies;
    use mebridge_generate::generate;
    use mebridge_support::sorted::SortedSet;

    /// For each propagator, the names of the legs on the side without the first leg, and its mass; the smallest over
    /// permutations of final-state gluons.
    fn least(channel: &Channel, gluons: &[String]) -> SortedSet<(SortedSet<String>, String)> {
        let mut behind: HashMap<String, SortedSet<String>> = HashMap::new();
        let mut lines = Vec::new();
        let all: SortedSet<String> = channel.vertices.concat().into_iter().collect();
        let legs: SortedSet<String> = all.into_iter().filter(|n| !n.starts_with('p')).collect();
        for (vertex, (mass, _)) in channel.vertices.iter().zip(&channel.parameters) {
            let mut here = SortedSet::new();
            for name in &vertex[..2] {
                match behind.get(name) {
                    Some(below) => here.extend(below.clone()),
                    None => _ = here.insert(name.clone()),
                }
            }
            behind.insert(vertex[2].clone(), here.clone());
            let others = legs.difference(&here).cloned().collect();
            lines.push((
                if here.contains("i0") { others } else { here },
                mass.clone(),
            ));
        }
        let orders = mebridge_process::color_ordered::orders(gluons.len());
        let renamed = orders.iter().map(|order| {
            let name = |name: &String| match gluons.iter().position(|g| g == name) {
                Some(at) => gluons[usize::from(order[at])].clone(),
                None => name.clone(),
            };
            let line = |(legs, mass): &(SortedSet<String>, String)| {
                (legs.iter().map(name).collect(), mass.clone())
            };
            lines.iter().map(line).collect()
        });
        renamed.min().unwrap()
    }

    #[test]
    fn they_are_those_of_diagrams_but_for_permutations() {
        for (text, count) in [
            ("g g > g g g", 4),
            ("g g > t t~ g g", 60),
            ("g u > u g g", 9),
            ("u d~ > w+ g g", 5),
            ("u d~ > e+ ve g g", 5),
            ("g u > e+ e- u g", 16),
        ] {
            let process = generate(text).unwrap().remove(0);
            let out = process.legs.iter().filter(|leg| !leg.incoming).enumerate();
            let gluons = out.filter(|(_, leg)| leg.pdg == 21);
            let gluons: Vec<String> = gluons.map(|(i, _)| format!("o{i}")).collect();
            let of = |process: &Process| {
                let channels = topologies(process).unwrap();
                let all = channels.iter().map(|channel| least(channel, &gluons));
                (channels.len(), all.collect::<SortedSet<_>>())
            };
            let (_, diagrams) = of(&process);
            let (number, found) = of(&process.as_color_ordered().unwrap());
            assert_eq!(found, diagrams, "{text}");
            assert_eq!((number, found.len()), (count, count), "{text}");
        }
    }
}
