//! All tree diagrams of a process.
//!
//! All legs count as going out. A *tree* is what is seen along an inner line: a vertex and what grows from it; its
//! particle is that which the vertex above has at this leg. Every diagram is cut at the one vertex from which no branch
//! holds more than half of the legs. So no tree holds more, and diagrams share as many trees as they can. Where a
//! branch holds exactly half of the legs, the vertex on the side of leg 0 is meant.
//!
//! Before trees are made, [`Lowest`] finds the lowest coupling orders of any tree with given legs and particle. With
//! those of the rest of a diagram they say which trees can be part of one.

use super::request::Request;
use crate::model::{Model, ParticleId};
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Index into [`Diagrams::trees`].
pub type TreeId = u32;
/// Coupling orders in the order of the model's, and `WEIGHTED`.
pub type CouplingOrders = Vec<u32>;
/// Sets of legs, a bit each.
pub type Legs = u32;

/// Trees and diagrams beyond this do not fit into the memory of most machines.
pub const MOST_DIAGRAMS: usize = 4_000_000;

/// Legs of a vertex.
pub const LARGEST_VERTEX: usize = 4;

/// A vertex with what is at its legs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index into [`Model::vertices`].
    pub vertex: u32,
    /// For each leg of the vertex the tree there; none for the result.
    pub children: Vec<Option<TreeId>>,
}

/// A tree.
#[derive(Clone, Debug)]
pub enum Tree {
    /// An external leg.
    Leg(u8),
    /// A vertex.
    Vertex(Node),
}

/// A diagram.
#[derive(Clone, Debug)]
pub struct Diagram {
    /// Where it is cut.
    pub node: Node,
    /// Whether the order of its fermions is an odd permutation of that of the legs.
    pub negative: bool,
    /// Legs of its largest vertex.
    pub largest_vertex: usize,
}

/// All diagrams of a process.
#[derive(Clone, Debug)]
pub struct Diagrams {
    /// Trees, each naming only earlier ones.
    pub trees: Vec<Tree>,
    /// Diagrams.
    pub diagrams: Vec<Diagram>,
}

/// What is known of a tree.
struct Properties {
    orders: CouplingOrders,
    /// Ends of the fermion lines that are complete: the end that goes out, the one that comes in.
    lines: Vec<u8>,
    /// The external end of a line that is not.
    open: Option<u8>,
    largest_vertex: usize,
}

/// At most four particles, in order of their numbers.
type Particles = u64;

/// Ways to put particles on legs of vertices.
struct JoinTable {
    /// By the particles of two or three trees.
    joins: HashMap<Particles, Vec<Join>>,
    /// By all particles: vertex and the legs on which they are.
    closes: HashMap<Particles, Vec<(u32, Vec<usize>)>>,
    quartic: bool,
}

/// A way to join trees at a vertex.
struct Join {
    vertex: u32,
    /// The leg that is the result.
    result: usize,
    /// The legs on which the particles are.
    places: Vec<usize>,
}

/// The vertices that a process may have, and their weights.
pub struct Rules<'a> {
    model: &'a Model,
    table: JoinTable,
    /// Orders of each vertex with its `WEIGHTED`.
    orders: Vec<CouplingOrders>,
    excluded: Vec<ParticleId>,
    /// The particles that sets of particles can become, for all processes.
    known: RefCell<HashMap<Vec<ParticleId>, Rc<Reachable>>>,
}

/// The particles that a set of legs can become, each with its lowest coupling orders.
type Reachable = HashMap<ParticleId, CouplingOrders>;

/// By sets of legs and particle the lowest that each order can be.
pub struct Lowest {
    lines: Vec<Rc<Reachable>>,
    /// The lowest orders of a whole diagram; none where there is no diagram.
    pub whole: Option<CouplingOrders>,
}

impl<'a> Rules<'a> {
    /// The rules of a model, without excluded propagators.
    pub fn new(model: &'a Model, request: &Request) -> Self {
        let mut table = JoinTable {
            joins: HashMap::default(),
            closes: HashMap::default(),
            quartic: false,
        };
        for (number, vertex) in (0..).zip(&model.vertices) {
            if vertex.particles.len() > LARGEST_VERTEX {
                continue;
            }
            let mut legs: Vec<usize> = (0..vertex.particles.len()).collect();
            legs.sort_by_key(|&leg| vertex.particles[leg]);
            let particles = |legs: &[usize]| sorted(legs.iter().map(|&l| vertex.particles[l]));
            table.quartic |= legs.len() == 4;
            for (at, &result) in legs.iter().enumerate() {
                let particle = vertex.particles[result];
                // Legs with the same particle are the same.
                if at > 0 && vertex.particles[legs[at - 1]] == particle {
                    continue;
                }
                let mut rest = legs.clone();
                rest.remove(at);
                let joins = table.joins.entry(particles(&rest)).or_default();
                joins.push(Join {
                    vertex: number,
                    result,
                    places: rest,
                });
            }
            table
                .closes
                .entry(particles(&legs))
                .or_default()
                .push((number, legs));
        }
        let orders = model.vertices.iter().map(|vertex| {
            let weights = vertex.orders.iter().zip(&model.orders);
            let weighted = weights.map(|(n, (_, weight))| n * weight).sum();
            vertex.orders.iter().copied().chain([weighted]).collect()
        });
        Rules {
            model,
            table,
            orders: orders.collect(),
            excluded: request.excluded.clone(),
            known: RefCell::default(),
        }
    }

    /// A vertex that is too large to be part of a tree, and that so many legs with these orders may have.
    pub fn too_large(&self, legs: usize, allowed: &[std::ops::RangeInclusive<u32>]) -> Option<u32> {
        let mut vertices = (0..).zip(&self.model.vertices).zip(&self.orders);
        let found = vertices.find(|((_, vertex), orders)| {
            let size = vertex.particles.len();
            let fits = orders.iter().zip(allowed).all(|(n, a)| n <= a.end());
            size > LARGEST_VERTEX && size <= legs && fits
        });
        found.map(|((number, _), _)| number)
    }

    fn result(&self, vertex: u32, leg: usize) -> Option<ParticleId> {
        let particle = self.model.vertices[vertex as usize].particles[leg];
        let particle = self.model.anti(particle);
        (!self.excluded.contains(&particle)).then_some(particle)
    }

    /// The lowest orders of everything that grows from legs with these particles.
    pub fn lowest(&self, particles: &[ParticleId]) -> Lowest {
        let full: Legs = (1 << particles.len()) - 1;
        let mut lines: Vec<Rc<Reachable>> = vec![Rc::default(); full as usize + 1];
        let zero = vec![0; self.model.orders.len() + 1];
        for (leg, &particle) in particles.iter().enumerate() {
            lines[1 << leg] = Rc::new(HashMap::from_iter([(particle, zero.clone())]));
        }
        for legs in 1..full {
            if legs.count_ones() < 2 {
                continue;
            }
            let here = (0..particles.len()).filter(|leg| legs >> leg & 1 == 1);
            let mut here: Vec<ParticleId> = here.map(|leg| particles[leg]).collect();
            here.sort_unstable();
            let known = self.known.borrow().get(&here).cloned();
            lines[legs as usize] = known.unwrap_or_else(|| {
                let found = Rc::new(self.lines(legs, &lines));
                self.known.borrow_mut().insert(here, found.clone());
                found
            });
        }
        // Leg 0 with what the others give.
        let rest = &lines[(full & !1) as usize];
        let whole = rest.get(&self.model.anti(particles[0])).cloned();
        // A line between leg 0 and the rest is no propagator: it may be an excluded one.
        let whole = whole.or_else(|| self.last(particles, &lines, full));
        Lowest { lines, whole }
    }

    /// The particles that these legs can become, from those of smaller sets.
    fn lines(&self, legs: Legs, lines: &[Rc<Reachable>]) -> Reachable {
        let mut here = Reachable::default();
        let _ = parts(legs, self.table.quartic, Legs::MAX, &mut |parts| {
            let lists = parts.iter().map(|&part| &lines[part as usize]);
            let lists: Vec<Vec<ParticleId>> = lists.map(|l| l.keys().copied().collect()).collect();
            combinations(&lists, &mut |chosen| {
                let joins = self.table.joins.get(&sorted(chosen.iter().copied()));
                for Join { vertex, result, .. } in joins.into_iter().flatten() {
                    let Some(particle) = self.result(*vertex, *result) else {
                        continue;
                    };
                    let orders = self.sum(*vertex, chosen, parts, lines);
                    match here.entry(particle) {
                        Entry::Occupied(mut entry) => minimum(entry.get_mut(), &orders),
                        Entry::Vacant(entry) => {
                            entry.insert(orders);
                        }
                    }
                }
                ControlFlow::Continue(())
            })
        });
        here
    }

    /// The lowest orders of a whole diagram, by the vertex at leg 0.
    fn last(
        &self,
        particles: &[ParticleId],
        lines: &[Rc<Reachable>],
        full: Legs,
    ) -> Option<CouplingOrders> {
        let mut whole: Option<CouplingOrders> = None;
        let _ = parts(full & !1, self.table.quartic, Legs::MAX, &mut |parts| {
            let lists = parts.iter().map(|&part| &lines[part as usize]);
            let lists: Vec<Vec<ParticleId>> = lists.map(|l| l.keys().copied().collect()).collect();
            combinations(&lists, &mut |chosen| {
                let all = sorted(chosen.iter().chain(&particles[..1]).copied());
                for (vertex, _) in self.table.closes.get(&all).into_iter().flatten() {
                    let orders = self.sum(*vertex, chosen, parts, lines);
                    let entry = whole.get_or_insert_with(|| orders.clone());
                    minimum(entry, &orders);
                }
                ControlFlow::Continue(())
            })
        });
        whole
    }

    fn sum(
        &self,
        vertex: u32,
        chosen: &[ParticleId],
        parts: &[Legs],
        lines: &[Rc<Reachable>],
    ) -> CouplingOrders {
        let mut orders = self.orders[vertex as usize].clone();
        for (part, particle) in parts.iter().zip(chosen) {
            if let Some(below) = lines[*part as usize].get(particle) {
                add(&mut orders, below);
            }
        }
        orders
    }

    /// The particles that can be a propagator between legs with these particles, each with the legs that become it (a
    /// bit each).
    pub fn propagators(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
    ) -> Vec<(Legs, ParticleId)> {
        let full: Legs = (1 << particles.len()) - 1;
        let mut found = Vec::new();
        for legs in 1..full {
            let others = &lowest.lines[(full & !legs) as usize];
            let many = legs.count_ones() > 1 && (full & !legs).count_ones() > 1;
            for particle in lowest.lines[legs as usize].keys() {
                if many && others.contains_key(&self.model.anti(*particle)) {
                    found.push((legs, *particle));
                }
            }
        }
        found
    }

    /// All diagrams between legs with these particles whose orders are allowed.
    pub fn diagrams(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
        allowed: &[std::ops::RangeInclusive<u32>],
    ) -> Result<Diagrams, String> {
        let full: Legs = (1 << particles.len()) - 1;
        let half = particles.len() as u32 / 2;
        let mut growth = Growth {
            trees: Vec::new(),
            properties: Vec::new(),
            by_legs: vec![TreesOfLegs::default(); full as usize + 1],
        };
        let fermion = |p: ParticleId| self.model.of(p).is_fermion();
        for (leg, &particle) in (0..).zip(particles) {
            let properties = Properties {
                orders: vec![0; self.model.orders.len() + 1],
                lines: Vec::new(),
                open: fermion(particle).then_some(leg),
                largest_vertex: 0,
            };
            growth.add(1 << leg, particle, Tree::Leg(leg), properties);
        }
        let highest =
            |orders: &CouplingOrders| orders.iter().zip(allowed).all(|(n, a)| n <= a.end());
        for legs in 1..full {
            if legs.count_ones() < 2 || legs.count_ones() > half {
                continue;
            }
            let rest = &lowest.lines[(full & !legs) as usize];
            let mut found = Vec::new();
            let most = MOST_DIAGRAMS.saturating_sub(growth.trees.len());
            // It ends where there are too many, not when all of them are known: these may be billions.
            let ended = parts(legs, self.table.quartic, Legs::MAX, &mut |parts| {
                combinations(&growth.particles(parts), &mut |chosen| {
                    let joins = self.table.joins.get(&sorted(chosen.iter().copied()));
                    for join in joins.into_iter().flatten() {
                        let Some(particle) = self.result(join.vertex, join.result) else {
                            continue;
                        };
                        let Some(above) = rest.get(&self.model.anti(particle)) else {
                            continue;
                        };
                        combinations(&growth.lists(parts, chosen), &mut |trees| {
                            let mut orders = growth.orders(self, join.vertex, trees);
                            add(&mut orders, above);
                            if !highest(&orders) {
                                return ControlFlow::Continue(());
                            }
                            if found.len() >= most {
                                return ControlFlow::Break(());
                            }
                            let node = growth.node(self, join.vertex, &join.places, chosen, trees);
                            found.push((particle, node));
                            ControlFlow::Continue(())
                        })?;
                    }
                    ControlFlow::Continue(())
                })
            });
            if ended.is_break() {
                return Err(too_many("trees"));
            }
            for (particle, (node, properties)) in found {
                growth.add(legs, particle, Tree::Vertex(node), properties);
            }
        }
        let mut diagrams = Vec::new();
        let ended = parts(full, self.table.quartic, half, &mut |parts| {
            // Three or four branches; of those with half of the legs none has leg 0.
            if parts.len() < 3
                || (2 * half == particles.len() as u32 && parts[0].count_ones() == half)
            {
                return ControlFlow::Continue(());
            }
            combinations(&growth.particles(parts), &mut |chosen| {
                let vertices = self.table.closes.get(&sorted(chosen.iter().copied()));
                for (vertex, places) in vertices.into_iter().flatten() {
                    combinations(&growth.lists(parts, chosen), &mut |trees| {
                        let orders = growth.orders(self, *vertex, trees);
                        if !orders.iter().zip(allowed).all(|(n, a)| a.contains(n)) {
                            return ControlFlow::Continue(());
                        }
                        if diagrams.len() >= MOST_DIAGRAMS {
                            return ControlFlow::Break(());
                        }
                        let (node, properties) = growth.node(self, *vertex, places, chosen, trees);
                        diagrams.push(Diagram {
                            node,
                            negative: is_odd(&properties.lines),
                            largest_vertex: properties.largest_vertex,
                        });
                        ControlFlow::Continue(())
                    })?;
                }
                ControlFlow::Continue(())
            })
        });
        if ended.is_break() {
            return Err(too_many("diagrams"));
        }
        Ok(Diagrams {
            trees: growth.trees,
            diagrams,
        })
    }
}

fn too_many(what: &str) -> String {
    format!(
        "more than {MOST_DIAGRAMS} {what}; ask for fewer particles or for lower coupling orders"
    )
}

struct Growth {
    trees: Vec<Tree>,
    properties: Vec<Properties>,
    by_legs: Vec<TreesOfLegs>,
}

/// The trees of a set of legs.
#[derive(Clone, Default)]
struct TreesOfLegs {
    particles: Vec<ParticleId>,
    /// Those of each particle.
    trees: Vec<Vec<TreeId>>,
}

impl Growth {
    fn add(&mut self, legs: Legs, particle: ParticleId, tree: Tree, properties: Properties) {
        let id = self.trees.len() as TreeId;
        self.trees.push(tree);
        self.properties.push(properties);
        let TreesOfLegs { particles, trees } = &mut self.by_legs[legs as usize];
        match particles.iter().position(|p| *p == particle) {
            Some(at) => trees[at].push(id),
            None => {
                particles.push(particle);
                trees.push(vec![id]);
            }
        }
    }

    /// The particles of each part.
    fn particles(&self, parts: &[Legs]) -> Vec<&[ParticleId]> {
        let all = parts
            .iter()
            .map(|&p| &self.by_legs[p as usize].particles[..]);
        all.collect()
    }

    /// The trees of each part with the particle that was chosen for it.
    fn lists(&self, parts: &[Legs], chosen: &[ParticleId]) -> Vec<&[TreeId]> {
        let list = |(&part, particle): (&Legs, &ParticleId)| {
            let TreesOfLegs { particles, trees } = &self.by_legs[part as usize];
            let at = particles.iter().position(|p| p == particle);
            at.map_or(&[][..], |at| &trees[at])
        };
        parts.iter().zip(chosen).map(list).collect()
    }

    /// The orders of a vertex with these trees.
    fn orders(&self, rules: &Rules, vertex: u32, trees: &[TreeId]) -> CouplingOrders {
        let mut orders = rules.orders[vertex as usize].clone();
        for &tree in trees {
            add(&mut orders, &self.properties[tree as usize].orders);
        }
        orders
    }

    /// A vertex with trees on these legs of it, which are given in order of their particles' numbers.
    fn node(
        &self,
        rules: &Rules,
        vertex: u32,
        places: &[usize],
        particles: &[ParticleId],
        trees: &[TreeId],
    ) -> (Node, Properties) {
        let legs = &rules.model.vertices[vertex as usize].particles;
        let mut order: Vec<usize> = (0..trees.len()).collect();
        order.sort_by_key(|&i| particles[i]);
        let mut children = vec![None; legs.len()];
        for (&place, &i) in places.iter().zip(&order) {
            children[place] = Some(trees[i]);
        }
        let mut properties = Properties {
            orders: self.orders(rules, vertex, trees),
            lines: Vec::new(),
            open: None,
            largest_vertex: legs.len(),
        };
        for &tree in trees {
            let below = &self.properties[tree as usize];
            properties.lines.extend(&below.lines);
            properties.largest_vertex = properties.largest_vertex.max(below.largest_vertex);
        }
        // The first leg is where a fermion flows in, the second where it flows out.
        if rules.model.of(legs[0]).is_fermion() {
            let end = |leg: usize| children[leg].and_then(|t| self.properties[t as usize].open);
            match (end(0), end(1)) {
                (Some(incoming), Some(outgoing)) => properties.lines.extend([outgoing, incoming]),
                (one, other) => properties.open = one.or(other),
            }
        }
        (Node { vertex, children }, properties)
    }
}

fn sorted(particles: impl Iterator<Item = ParticleId>) -> Particles {
    let mut all = [0; 4];
    for (place, particle) in all.iter_mut().zip(particles) {
        *place = particle + 1;
    }
    all.sort_unstable();
    all.iter().fold(0, |all, &p| all << 16 | Particles::from(p))
}

fn add(orders: &mut CouplingOrders, other: &CouplingOrders) {
    for (a, b) in orders.iter_mut().zip(other) {
        *a += b;
    }
}

fn minimum(orders: &mut CouplingOrders, other: &CouplingOrders) {
    for (a, b) in orders.iter_mut().zip(other) {
        *a = (*a).min(*b);
    }
}

/// Whether an order is an odd permutation of the ascending one.
fn is_odd(order: &[u8]) -> bool {
    let pairs = (0..order.len()).flat_map(|i| (i + 1..order.len()).map(move |j| (i, j)));
    pairs.filter(|&(i, j)| order[i] > order[j]).count() % 2 == 1
}

/// Calls `f` with the ways to split a set into two parts, three and, of whole diagrams (`largest` bounds the size of
/// a part there), four, until it breaks off. The parts are in order of their first legs.
fn parts(
    legs: Legs,
    quartic: bool,
    largest: Legs,
    f: &mut dyn FnMut(&[Legs]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    // A branch of a whole diagram is one more than the trees that make another.
    let most = match (largest == Legs::MAX, quartic) {
        (true, false) => 2,
        (true, true) | (false, false) => 3,
        (false, true) => 4,
    };
    fn split(
        rest: Legs,
        most: usize,
        largest: Legs,
        parts: &mut Vec<Legs>,
        f: &mut dyn FnMut(&[Legs]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if rest.count_ones() <= largest && !parts.is_empty() {
            parts.push(rest);
            f(parts)?;
            parts.pop();
        }
        if parts.len() + 1 >= most {
            return ControlFlow::Continue(());
        }
        // The part with the first leg: all subsets of the others beside it, but for all of them.
        let first = rest & rest.wrapping_neg();
        let others = rest & !first;
        let mut subset = others;
        while subset != 0 {
            subset = (subset - 1) & others;
            let part = first | subset;
            if part.count_ones() <= largest {
                parts.push(part);
                split(rest & !part, most, largest, parts, f)?;
                parts.pop();
            }
        }
        ControlFlow::Continue(())
    }
    split(legs, most, largest, &mut Vec::new(), f)
}

/// Calls `f` with all ways to choose one of each list, until it breaks off.
fn combinations<T: Copy>(
    lists: &[impl AsRef<[T]>],
    f: &mut dyn FnMut(&[T]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let lists: Vec<&[T]> = lists.iter().map(AsRef::as_ref).collect();
    if lists.iter().any(|list| list.is_empty()) {
        return ControlFlow::Continue(());
    }
    let mut at = vec![0; lists.len()];
    let mut chosen: Vec<T> = lists.iter().map(|list| list[0]).collect();
    loop {
        f(&chosen)?;
        let Some(place) = (0..lists.len()).rev().find(|&i| at[i] + 1 < lists[i].len()) else {
            return ControlFlow::Continue(());
        };
        at[place] += 1;
        at[place + 1..].fill(0);
        for i in place..lists.len() {
            chosen[i] = lists[i][at[i]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let model = Model::standard().unwrap();
        let request = Request::parse(text, &model).unwrap();
        let incoming = request.incoming.iter().map(|p| model.anti(p[0]));
        let particles: Vec<ParticleId> = incoming
            .chain(request.outgoing.iter().map(|p| p[0]))
            .collect();
        let rules = Rules::new(&model, &request);
        let lowest = rules.lowest(&particles);
        let Some(whole) = &lowest.whole else {
            return 0;
        };
        let mut orders = request.orders.clone();
        if request.lowest {
            *orders.last_mut().unwrap() = 0..=*whole.last().unwrap();
        }
        rules
            .diagrams(&particles, &lowest, &orders)
            .unwrap()
            .diagrams
            .len()
    }

    /// Numbers of diagrams that MG5aMC finds.
    #[test]
    fn there_are_as_many_diagrams_as_there_should_be() {
        for (process, diagrams) in [
            ("g g > g g", 4),
            ("g g > g g g", 25),
            ("g g > g g g g", 220),
            ("g g > t t~", 3),
            ("g g > t t~ g g", 123),
            ("u u~ > u u~ u u~", 42),
            ("e+ e- > e+ e-", 4),
            ("w+ w- > w+ w-", 7),
            ("e+ e- > u d~ e- ve~", 20),
            ("u u~ > u u~ WEIGHTED<=4", 6),
            ("u u~ > u u~ QED<=1", 2),
            ("u u~ > u u~ QED==2", 4),
            ("e+ e- > mu+ mu- / a", 1),
            ("e+ e- > mu+ mu- / a z", 0),
            ("u u~ > e- ve~", 0),
        ] {
            assert_eq!(count(process), diagrams, "{process}");
        }
    }

    /// More gluons have billions of diagrams: the search does not go through all of them.
    #[test]
    fn too_many_diagrams_are_refused_when_there_are_too_many() {
        for process in ["g g > g g g g g g g g g g", "u u~ > g g g g g g g g g g"] {
            let refused = crate::generate(process).unwrap_err().to_string();
            assert!(refused.contains("more than 4000000"), "{refused}");
        }
    }

    #[test]
    fn sets_are_split_in_all_ways() {
        let mut seen = Vec::new();
        let ended = parts(0b1111, true, Legs::MAX, &mut |p| {
            seen.push(p.to_vec());
            ControlFlow::Continue(())
        });
        assert!(ended.is_continue());
        // Stirling's numbers: 7 ways into two, 6 into three.
        assert_eq!(seen.iter().filter(|p| p.len() == 2).count(), 7);
        assert_eq!(seen.iter().filter(|p| p.len() == 3).count(), 6);
        let mut whole = 0;
        let _ = parts(0b11111, true, 2, &mut |p| {
            whole += usize::from(p.len() == 3);
            ControlFlow::Continue(())
        });
        assert_eq!(whole, 15);
        let mut calls = 0;
        let ended = parts(0b1111, true, Legs::MAX, &mut |_| {
            calls += 1;
            combinations(&[vec![1, 2], vec![3, 4]], &mut |chosen| match chosen {
                [1, 4] => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        });
        assert!(ended.is_break());
        assert_eq!(calls, 1);
        assert!(is_odd(&[1, 0, 2]) && !is_odd(&[1, 2, 0]) && !is_odd(&[]));
    }
}
