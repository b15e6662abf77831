//! All tree diagrams of a process.
//!
//! All legs are treated as outgoing. A *tree* is the part of a diagram on one side of an inner line: a vertex and its
//! subtrees; its particle is the one that the vertex above has at this leg. Every diagram is cut at the vertex from
//! which no branch has more than half of the legs. So no tree has more, and diagrams share as many trees as possible.
//! If a branch has exactly half of the legs, the cut is at the vertex on the side of leg 0.
//!
//! Before trees are built, [`Lowest`] finds the lowest coupling orders of any tree with given legs and particle.
//! Together with those of the rest of a diagram, these decide which trees can be part of a diagram.

use super::request::{ProcessRequest, SChannels};
use crate::model::{MAX_VERTEX_LEGS, Model, ParticleId, PropagatorPart};
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::ops::{ControlFlow, RangeInclusive};
use std::rc::Rc;

/// Index into [`Diagrams::trees`].
pub type TreeId = u32;
/// Coupling orders, in the model's order, and `WEIGHTED`.
pub type CouplingOrders = Vec<u32>;
/// A set of legs, as a bit mask.
pub type Legs = u32;

/// Most trees and diagrams; more do not fit into the memory of most machines.
pub const MAX_DIAGRAMS: usize = 4_000_000;

/// A vertex with its subtrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index into [`Model::vertices`].
    pub vertex: u32,
    /// The tree at each leg of the vertex; `None` for the result.
    pub children: Vec<Option<TreeId>>,
    /// The propagator of the result.
    pub propagator: PropagatorPart,
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
    /// The vertex at which it is cut.
    pub node: Node,
    /// Whether the order of its fermions is an odd permutation of the legs.
    pub negative: bool,
    /// Number of legs of its largest vertex.
    pub largest_vertex: usize,
}

/// All diagrams of a process.
#[derive(Clone, Debug, Default)]
pub struct Diagrams {
    /// Trees; each refers only to earlier ones.
    pub trees: Vec<Tree>,
    /// The diagrams.
    pub diagrams: Vec<Diagram>,
}

/// Properties of a tree.
struct Properties {
    orders: CouplingOrders,
    fermions: Fermions,
    /// Bit mask of the [`Rules::marks`] that are among its lines.
    marks: u32,
    largest_vertex: usize,
}

/// Fermion lines of a tree.
#[derive(Clone, Debug, Default)]
struct Fermions {
    /// Ends of the complete fermion lines: for each the end that goes out, then the one that comes in.
    lines: Vec<u8>,
    /// The external end of the incomplete line.
    open: Option<u8>,
}

impl Fermions {
    /// Joins the lines of the children at a vertex with these particles. Of each pair of fermions, the line flows in at
    /// the first leg and out at the second.
    fn join(model: &Model, legs: &[ParticleId], children: &[Option<&Fermions>]) -> Fermions {
        let mut joined = Fermions::default();
        for child in children.iter().flatten() {
            joined.lines.extend(&child.lines);
        }
        let fermions = legs
            .iter()
            .take_while(|&&p| model.properties(p).is_fermion())
            .count();
        for pair in 0..fermions / 2 {
            let end = |leg: usize| children[leg].and_then(|child| child.open);
            match (end(2 * pair), end(2 * pair + 1)) {
                (Some(incoming), Some(outgoing)) => joined.lines.extend([outgoing, incoming]),
                (one, other) => joined.open = one.or(other),
            }
        }
        joined
    }
}

/// Up to [`MAX_VERTEX_LEGS`] particles, sorted by their numbers.
type Particles = u128;

/// Lookup table from sets of particles to vertices.
struct JoinTable {
    /// By the particles of all legs except the result.
    joins: HashMap<Particles, Vec<Join>>,
    /// By the particles of all legs: vertex, and the legs of the particles.
    closes: HashMap<Particles, Vec<(u32, Vec<usize>)>>,
    /// Number of legs of the largest vertex.
    largest: usize,
}

/// A way to join trees at a vertex.
struct Join {
    vertex: u32,
    /// The result's leg.
    result: usize,
    /// The legs of the sorted particles.
    places: Vec<usize>,
}

/// The rules for the diagrams of a process: vertices, and conditions on lines.
pub struct Rules<'a> {
    model: &'a Model,
    table: JoinTable,
    /// Coupling orders of each vertex, with its `WEIGHTED`.
    orders: Vec<CouplingOrders>,
    excluded: Vec<ParticleId>,
    s_channels: SChannels,
    /// The particles in all lists of required s-channels, without duplicates.
    marks: Vec<ParticleId>,
    /// The incoming legs, which are the first ones.
    incoming: Legs,
    /// Cache of the particles that sets of particles can become, for all processes.
    known: RefCell<HashMap<Vec<ParticleId>, Rc<Reachable>>>,
}

/// The particles that a set of legs can become, each with its lowest coupling orders.
type Reachable = HashMap<ParticleId, CouplingOrders>;

/// The lowest value of each order, by set of legs and particle.
pub struct Lowest {
    lines: Vec<Rc<Reachable>>,
    /// The lowest orders of a whole diagram; `None` if there is no diagram.
    pub whole: Option<CouplingOrders>,
}

impl<'a> Rules<'a> {
    /// Creates the rules for a model and the conditions of a request.
    pub fn new(model: &'a Model, request: &ProcessRequest) -> Result<Self, String> {
        let mut table = JoinTable {
            joins: HashMap::default(),
            closes: HashMap::default(),
            largest: 3,
        };
        for (number, vertex) in (0..).zip(&model.vertices) {
            if vertex.particles.len() > MAX_VERTEX_LEGS {
                continue;
            }
            let mut legs: Vec<usize> = (0..vertex.particles.len()).collect();
            legs.sort_by_key(|&leg| vertex.particles[leg]);
            let particles = |legs: &[usize]| sorted(legs.iter().map(|&l| vertex.particles[l]));
            table.largest = table.largest.max(legs.len());
            for (at, &result) in legs.iter().enumerate() {
                let particle = vertex.particles[result];
                // Legs with the same particle are equivalent.
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
            let weighted = vertex.weight();
            vertex.orders.iter().copied().chain([weighted]).collect()
        });
        let mut marks: Vec<ParticleId> = Vec::new();
        for &particle in request.s_channels.required.iter().flatten() {
            if !marks.contains(&particle) {
                marks.push(particle);
            }
        }
        if marks.len() > 32 {
            return Err("there are more than 32 particles between the two `>`".into());
        }
        Ok(Rules {
            model,
            table,
            orders: orders.collect(),
            excluded: request.excluded.clone(),
            s_channels: request.s_channels.clone(),
            marks,
            incoming: (1 << request.incoming.len()) - 1,
            known: RefCell::default(),
        })
    }

    /// The particle of a line on one side of which are these legs, as it flows away from the incoming legs; `None` if
    /// the line is not an s-channel.
    fn in_s_channel(&self, legs: Legs, particle: ParticleId) -> Option<ParticleId> {
        match legs & self.incoming {
            0 => Some(particle),
            some if some == self.incoming => Some(self.model.anti(particle)),
            _ => None,
        }
    }

    /// A vertex that is larger than supported, but that a process with this number of legs and these orders could have.
    pub fn too_large(&self, legs: usize, allowed: &[RangeInclusive<u32>]) -> Option<u32> {
        let mut vertices = (0..).zip(&self.model.vertices).zip(&self.orders);
        let found = vertices.find(|((_, vertex), orders)| {
            let size = vertex.particles.len();
            let fits = orders.iter().zip(allowed).all(|(n, a)| n <= a.end());
            size > MAX_VERTEX_LEGS && size <= legs && fits
        });
        found.map(|((number, _), _)| number)
    }

    /// Bit mask of the required s-channels that a line satisfies; `None` if the line is forbidden.
    fn marks_of(&self, legs: Legs, particle: ParticleId) -> Option<u32> {
        if !self.s_channels.select() {
            return Some(0);
        }
        let Some(particle) = self.in_s_channel(legs, particle) else {
            return Some(0);
        };
        if self.s_channels.forbidden.contains(&particle) {
            return None;
        }
        let at = self.marks.iter().position(|&p| p == particle);
        Some(at.map_or(0, |at| 1 << at))
    }

    /// Whether a diagram with these marks has the required s-channels.
    fn has_required(&self, marks: u32) -> bool {
        let required = &self.s_channels.required;
        let has = |p: &ParticleId| {
            self.marks
                .iter()
                .position(|m| m == p)
                .is_some_and(|at| marks >> at & 1 == 1)
        };
        required.is_empty() || required.iter().any(|list| list.iter().all(has))
    }

    /// The particle of a vertex's resulting line.
    fn result_of_any(&self, vertex: u32, leg: usize) -> ParticleId {
        self.model
            .anti(self.model.vertices[vertex as usize].particles[leg])
    }

    /// The same, if it may be a propagator.
    fn result(&self, vertex: u32, leg: usize) -> Option<ParticleId> {
        let particle = self.result_of_any(vertex, leg);
        (!self.excluded.contains(&particle)).then_some(particle)
    }

    /// Computes the lowest orders of all trees and diagrams of legs with these particles.
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
            if self.s_channels.select() {
                // Whether a line is an s-channel depends on which legs are incoming.
                here.extend([ParticleId::MAX, (legs & self.incoming) as ParticleId]);
            }
            let known = self.known.borrow().get(&here).cloned();
            lines[legs as usize] = known.unwrap_or_else(|| {
                let found = Rc::new(self.lines(legs, &lines));
                self.known.borrow_mut().insert(here, found.clone());
                found
            });
        }
        // Leg 0, joined with a tree of all others.
        let rest = &lines[(full & !1) as usize];
        let whole = rest.get(&self.model.anti(particles[0])).cloned();
        // The line between leg 0 and the rest is not a propagator, so it may be an excluded particle. If leg 0 decays,
        // MG5aMC treats it as a propagator.
        let decays = self.incoming.count_ones() == 1;
        let whole = match decays {
            true => whole,
            false => whole.or_else(|| self.last(particles, &lines, full)),
        };
        Lowest { lines, whole }
    }

    /// The particles that these legs can become, computed from those of smaller sets.
    fn lines(&self, legs: Legs, lines: &[Rc<Reachable>]) -> Reachable {
        let mut here = Reachable::default();
        let _ = parts(legs, self.table.largest - 1, Legs::MAX, &mut |parts| {
            let lists = parts.iter().map(|&part| &lines[part as usize]);
            let lists: Vec<Vec<ParticleId>> = lists.map(|l| l.keys().copied().collect()).collect();
            combinations(&lists, &mut |chosen| {
                let joins = self.table.joins.get(&sorted(chosen.iter().copied()));
                for Join { vertex, result, .. } in joins.into_iter().flatten() {
                    let particle = self.result(*vertex, *result);
                    let Some(particle) = particle.filter(|&p| self.marks_of(legs, p).is_some())
                    else {
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

    /// The lowest orders of a whole diagram, from the vertex at leg 0.
    fn last(
        &self,
        particles: &[ParticleId],
        lines: &[Rc<Reachable>],
        full: Legs,
    ) -> Option<CouplingOrders> {
        let mut whole: Option<CouplingOrders> = None;
        let _ = parts(full & !1, self.table.largest - 1, Legs::MAX, &mut |parts| {
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

    /// The possible propagators of diagrams within the allowed orders, each with the legs on one side (a bit mask). A
    /// diagram has at least the lowest orders of both sides.
    pub fn propagators(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
        allowed: &[RangeInclusive<u32>],
    ) -> Vec<(Legs, ParticleId)> {
        let full: Legs = (1 << particles.len()) - 1;
        let mut found = Vec::new();
        for legs in 1..full {
            let others = &lowest.lines[(full & !legs) as usize];
            let many = legs.count_ones() > 1 && (full & !legs).count_ones() > 1;
            for (particle, orders) in lowest.lines[legs as usize].iter() {
                let Some(beyond) = others.get(&self.model.anti(*particle)) else {
                    continue;
                };
                let mut whole = orders.iter().zip(beyond).zip(allowed);
                if many && whole.all(|((a, b), allowed)| a + b <= *allowed.end()) {
                    found.push((legs, *particle));
                }
            }
        }
        found
    }

    /// All diagrams of legs with these particles within the allowed orders.
    pub fn diagrams(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<Diagrams, String> {
        let full: Legs = (1 << particles.len()) - 1;
        let half = particles.len() as u32 / 2;
        let growth = self.grow(particles, lowest, allowed, full, half)?;
        let mut diagrams = Vec::new();
        let ended = parts(full, self.table.largest, half, &mut |parts| {
            // A cut has at least three branches, and a branch with half of the legs must not contain leg 0.
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
                        if !orders.iter().zip(allowed).all(|(n, a)| a.contains(n))
                            || !self.has_required(growth.marks(trees))
                        {
                            return ControlFlow::Continue(());
                        }
                        if diagrams.len() >= MAX_DIAGRAMS {
                            return ControlFlow::Break(());
                        }
                        let (node, properties) = growth.node(self, *vertex, places, chosen, trees);
                        diagrams.push(Diagram {
                            node,
                            negative: is_odd(&properties.fermions.lines),
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

    /// All trees of the decay of leg 0: trees, and the roots among them, which have all other legs.
    pub fn decays(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<(Vec<Tree>, Vec<TreeId>), String> {
        let full: Legs = (1 << particles.len()) - 1;
        let growth = self.grow(particles, lowest, allowed, full & !1, full.count_ones())?;
        let whole = &growth.by_legs[(full & !1) as usize];
        let mother = self.model.anti(particles[0]);
        let at = whole.particles.iter().position(|p| *p == mother);
        let roots = at.map_or(&[][..], |at| &whole.trees[at]);
        let is_allowed = |&&root: &&TreeId| {
            let properties = &growth.properties[root as usize];
            let mut orders = properties.orders.iter().zip(allowed);
            orders.all(|(n, a)| a.contains(n)) && self.has_required(properties.marks)
        };
        let roots = roots.iter().filter(is_allowed).copied().collect();
        Ok((growth.trees, roots))
    }

    /// Builds the trees of subsets of `within`, with at most `most_legs` legs, that may be part of a diagram.
    fn grow(
        &self,
        particles: &[ParticleId],
        lowest: &Lowest,
        allowed: &[RangeInclusive<u32>],
        within: Legs,
        most_legs: u32,
    ) -> Result<Growth, String> {
        let full: Legs = (1 << particles.len()) - 1;
        let mut growth = Growth {
            trees: Vec::new(),
            properties: Vec::new(),
            by_legs: vec![TreesOfLegs::default(); full as usize + 1],
        };
        let fermion = |p: ParticleId| self.model.properties(p).is_fermion();
        for (leg, &particle) in (0..).zip(particles) {
            let properties = Properties {
                orders: vec![0; self.model.orders.len() + 1],
                fermions: Fermions {
                    lines: Vec::new(),
                    open: fermion(particle).then_some(leg),
                },
                marks: 0,
                largest_vertex: 0,
            };
            growth.add(1 << leg, particle, Tree::Leg(leg), properties);
        }
        let highest =
            |orders: &CouplingOrders| orders.iter().zip(allowed).all(|(n, a)| n <= a.end());
        for legs in 1..full {
            if legs.count_ones() < 2 || legs.count_ones() > most_legs || legs & !within != 0 {
                continue;
            }
            let rest = &lowest.lines[(full & !legs) as usize];
            // The line of the decaying particle is not a propagator of its decay.
            let root = (full & !legs).count_ones() == 1;
            let mut found = Vec::new();
            let most = MAX_DIAGRAMS.saturating_sub(growth.trees.len());
            // Stops as soon as there are too many: all of them may be billions.
            let ended = parts(legs, self.table.largest - 1, Legs::MAX, &mut |parts| {
                combinations(&growth.particles(parts), &mut |chosen| {
                    let joins = self.table.joins.get(&sorted(chosen.iter().copied()));
                    for join in joins.into_iter().flatten() {
                        let particle = match root {
                            true => Some(self.result_of_any(join.vertex, join.result)),
                            false => self.result(join.vertex, join.result),
                        };
                        let Some(particle) = particle else {
                            continue;
                        };
                        let Some(above) = rest.get(&self.model.anti(particle)) else {
                            continue;
                        };
                        let marks = match root {
                            true => Some(0),
                            false => self.marks_of(legs, particle),
                        };
                        let Some(marks) = marks else {
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
                            let mut node =
                                growth.node(self, join.vertex, &join.places, chosen, trees);
                            node.1.marks |= marks;
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
        Ok(growth)
    }
}

/// The legs of each tree, as a bit mask.
pub fn legs_of(trees: &[Tree]) -> Vec<Legs> {
    let mut legs: Vec<Legs> = Vec::with_capacity(trees.len());
    for tree in trees {
        legs.push(match tree {
            Tree::Leg(leg) => 1 << leg,
            Tree::Vertex(node) => {
                let below = node.children.iter().flatten().map(|&c| legs[c as usize]);
                below.fold(0, |all, some| all | some)
            }
        });
    }
    legs
}

impl Diagrams {
    /// The coupling orders of each diagram, with `WEIGHTED`.
    pub fn orders(&self, rules: &Rules) -> Vec<CouplingOrders> {
        let mut known: Vec<CouplingOrders> = Vec::with_capacity(self.trees.len());
        let of = |node: &Node, known: &[CouplingOrders]| {
            let mut orders = rules.orders[node.vertex as usize].clone();
            for child in node.children.iter().flatten() {
                add(&mut orders, &known[*child as usize]);
            }
            orders
        };
        for tree in &self.trees {
            known.push(match tree {
                Tree::Leg(_) => vec![0; rules.model.orders.len() + 1],
                Tree::Vertex(node) => of(node, &known),
            });
        }
        self.diagrams.iter().map(|d| of(&d.node, &known)).collect()
    }

    /// Determines sign and largest vertex of each diagram, after legs were replaced by trees.
    pub fn set_properties(&mut self, model: &Model, particles: &[ParticleId]) {
        let mut known: Vec<(Fermions, usize)> = Vec::with_capacity(self.trees.len());
        let of = |node: &Node, known: &[(Fermions, usize)]| {
            let legs = &model.vertices[node.vertex as usize].particles;
            let children = node
                .children
                .iter()
                .map(|c| c.map(|c| &known[c as usize].0));
            let fermions = Fermions::join(model, legs, &children.collect::<Vec<_>>());
            let below = node.children.iter().flatten().map(|&c| known[c as usize].1);
            (fermions, below.max().unwrap_or(0).max(legs.len()))
        };
        for tree in &self.trees {
            known.push(match tree {
                Tree::Leg(leg) => {
                    let fermion = model.properties(particles[usize::from(*leg)]).is_fermion();
                    let open = fermion.then_some(*leg);
                    let lines = Vec::new();
                    (Fermions { lines, open }, 0)
                }
                Tree::Vertex(node) => of(node, &known),
            });
        }
        for diagram in &mut self.diagrams {
            let (fermions, largest) = of(&diagram.node, &known);
            diagram.negative = is_odd(&fermions.lines);
            diagram.largest_vertex = largest;
        }
    }
}

fn too_many(what: &str) -> String {
    format!("more than {MAX_DIAGRAMS} {what}; request fewer particles or lower coupling orders")
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
    /// The trees of each particle.
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

    /// The possible particles of each part.
    fn particles(&self, parts: &[Legs]) -> Vec<&[ParticleId]> {
        let all = parts
            .iter()
            .map(|&p| &self.by_legs[p as usize].particles[..]);
        all.collect()
    }

    /// The trees of each part with the particle chosen for it.
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

    /// A vertex with trees on its legs `places`, which are sorted by the numbers of their particles.
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
        let below = trees.iter().map(|&tree| &self.properties[tree as usize]);
        let largest = below.map(|below| below.largest_vertex).max();
        let lines = children
            .iter()
            .map(|c: &Option<TreeId>| c.map(|tree| &self.properties[tree as usize].fermions));
        let properties = Properties {
            orders: self.orders(rules, vertex, trees),
            fermions: Fermions::join(rules.model, legs, &lines.collect::<Vec<_>>()),
            marks: self.marks(trees),
            largest_vertex: largest.unwrap_or(0).max(legs.len()),
        };
        let node = Node {
            vertex,
            children,
            propagator: PropagatorPart::Whole,
        };
        (node, properties)
    }

    /// The marks of these trees.
    fn marks(&self, trees: &[TreeId]) -> u32 {
        let marks = trees
            .iter()
            .map(|&tree| self.properties[tree as usize].marks);
        marks.fold(0, |all, some| all | some)
    }
}

fn sorted(particles: impl Iterator<Item = ParticleId>) -> Particles {
    let mut all = [0; MAX_VERTEX_LEGS];
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

/// Whether a list is an odd permutation of its ascending order.
fn is_odd(order: &[u8]) -> bool {
    let pairs = (0..order.len()).flat_map(|i| (i + 1..order.len()).map(move |j| (i, j)));
    pairs.filter(|&(i, j)| order[i] > order[j]).count() % 2 == 1
}

/// Calls `f` with all splits of a set into 2 to `most` parts with at most `largest` elements each, until `f` breaks.
/// The parts are sorted by their first legs.
fn parts(
    legs: Legs,
    most: usize,
    largest: Legs,
    f: &mut dyn FnMut(&[Legs]) -> ControlFlow<()>,
) -> ControlFlow<()> {
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
        // The part with the first leg: this leg with each proper subset of the others.
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

/// Calls `f` with all choices of one element per list, until `f` breaks.
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
        let request = ProcessRequest::parse_one(text, &model, &model.labels).unwrap();
        let incoming = request.incoming.iter().map(|p| model.anti(p.particles[0]));
        let particles: Vec<ParticleId> = incoming
            .chain(request.outgoing.iter().map(|p| p.particles[0]))
            .collect();
        let rules = Rules::new(&model, &request).unwrap();
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
            ("e+ e- > w+ w- z $$ a", 11),
            ("u u~ > z > e+ e-", 1),
            ("u u~ > z | a > e+ e-", 2),
            ("e+ e- > z > w+ w-", 1),
            ("e+ e- > e+ e- $$ a z", 2),
            ("e+ e- > ve ve~ w+ w- $$ w+", 50),
        ] {
            assert_eq!(count(process), diagrams, "{process}");
        }
    }

    #[test]
    fn sets_are_split_in_all_ways() {
        let mut seen = Vec::new();
        let ended = parts(0b1111, 3, Legs::MAX, &mut |p| {
            seen.push(p.to_vec());
            ControlFlow::Continue(())
        });
        assert!(ended.is_continue());
        // Stirling's numbers: 7 ways into two, 6 into three.
        assert_eq!(seen.iter().filter(|p| p.len() == 2).count(), 7);
        assert_eq!(seen.iter().filter(|p| p.len() == 3).count(), 6);
        let mut whole = 0;
        let _ = parts(0b11111, 4, 2, &mut |p| {
            whole += usize::from(p.len() == 3);
            ControlFlow::Continue(())
        });
        assert_eq!(whole, 15);
        let mut calls = 0;
        let ended = parts(0b1111, 3, Legs::MAX, &mut |_| {
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
