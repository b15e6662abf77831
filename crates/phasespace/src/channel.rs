//! From a diagram to a list of steps.
//!
//! The lines of a diagram are drawn from the heaviest structure on: resonances from the outside in, the energy of the
//! partons, then all other invariants from the outside in. Between two beams a chain of exchanges is divided in two
//! again and again; what goes out on each side is a line like the others. Momenta follow from the whole to its parts:
//! two particles each time, isotropic in their rest frame or by the square of what is exchanged.

use super::diagram::{Diagram, Error, Legs, OutgoingSide, Propagator, Spine};
use super::limits::Limits;
use super::map::Map;
use std::f64::consts::TAU;

/// What is drawn of a line: its mass, the square of that, and its momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub mass: usize,
    pub square: usize,
    /// The first of four.
    pub momentum: usize,
}

/// What comes in: the square of its momentum, and that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Incoming {
    pub square: usize,
    pub momentum: usize,
}

/// One step of a channel. Random numbers are numbered, lines are slots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The least mass that a line can have, where parts of it have been drawn.
    Least {
        floor: f64,
        of: Vec<usize>,
        to: usize,
    },
    /// The invariant of a line.
    Invariant {
        random: usize,
        map: Map,
        least: usize,
        /// Of what contains it,
        whole: usize,
        /// less these.
        without: Vec<usize>,
        /// The largest mass that cuts leave, GeV; infinite for none.
        ceiling: f64,
        to: Cluster,
        /// What a change of it counts: `1 / 2 pi` within the whole.
        measure: f64,
    },
    /// The energy fractions of the partons, by a random number that shares them between two beams.
    Fractions {
        random: Option<usize>,
        /// Of one beam alone, the squared mass of the other one over the squared energy.
        heavy: f64,
        /// How it is drawn from 0 to 1.
        map: Map,
        whole: Cluster,
        measure: f64,
    },
    /// The momenta of the legs that come in, along z.
    Beams { whole: Cluster, to: [Incoming; 2] },
    /// Two parts without a preferred direction: cosine and angle.
    Decay {
        random: [usize; 2],
        whole: Cluster,
        parts: [Cluster; 2],
    },
    /// Two parts by what is exchanged: its square, and the angle about the axis.
    Scatter {
        random: [usize; 2],
        map: Map,
        /// The squared mass of what is exchanged.
        pole: f64,
        /// What cuts leave at least of the transverse energies of both parts, 0 where nothing is known of -t by that.
        transverse: [f64; 2],
        incoming: [Incoming; 2],
        whole: Cluster,
        parts: [Cluster; 2],
        /// What is exchanged, as it comes in on either side.
        exchanged: [Incoming; 2],
    },
}

/// What the beams bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beams {
    /// Partons have a fraction of the energy of both beams.
    Both,
    /// Those of the first one have.
    First,
    /// Those of the second one have.
    Second,
    /// Partons are the beams.
    Neither,
    /// One particle decays: the second leg that comes in, at rest. The first one is nothing and has no momentum.
    AtRest,
}

impl Beams {
    /// Whether partons have a fraction of the energy.
    fn share(self) -> bool {
        !matches!(self, Beams::Neither | Beams::AtRest)
    }
}

/// How the points of one diagram are drawn.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) steps: Vec<Step>,
    pub(crate) slots: usize,
    /// Numbers that slots have from the start.
    pub(crate) constants: Vec<(usize, f64)>,
    /// Of the legs that go out.
    pub(crate) legs: Vec<Cluster>,
    pub(crate) incoming: [Incoming; 2],
    /// Every line, as the legs that it consists of.
    pub(crate) lines: Vec<(Legs, Cluster)>,
    pub(crate) dimension: usize,
    pub(crate) energy: f64,
    pub(crate) beams: Beams,
}

/// What is not in a diagram: beams and cuts.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// Of both beams in their centre of mass, or of what decays, GeV.
    pub energy: f64,
    /// What they bring.
    pub beams: Beams,
    /// Masses of the partons, GeV. They are on their mass shells whatever they come from, as in MadEvent: their energy
    /// fractions are those of light-cone momenta of both together.
    pub incoming: [f64; 2],
    /// Which legs are fermions, both that come in first.
    pub fermions: Vec<bool>,
    /// What the cuts leave.
    pub limits: Limits,
}

/// Above the mass of a resonance by this many widths nothing is left of it.
const WIDTHS: f64 = 5.0;
/// The squared energy of partons falls like this power of it, with densities.
const FALL: f64 = 1.3;
/// Half of the width of the distribution of rapidities, of those that are possible.
const CENTRAL: f64 = 0.2;
/// A square that nothing keeps from 0.
const TO_ZERO: f64 = 0.8;
/// One whose least value is small, and hardly ever 0.
const CLOSE_TO_ZERO: f64 = 0.9;
/// Of a line whose least value is above 0.
const LINE: f64 = 1.2;
/// Of the square of a boson that is exchanged, without a mass and with one: |M|^2 falls like 1 / t^2 where nothing else is
/// in the way, and like 1 / t with a fermion.
const BOSON: f64 = 1.3;
const HEAVY_BOSON: f64 = 2.0;

/// A line, or several that count as one.
#[derive(Debug)]
struct Node {
    legs: Legs,
    part: Cluster,
    parent: Option<usize>,
    children: Vec<usize>,
    split: Branching,
    map: Map,
    /// The least mass: that of a leg, or what cuts and legs leave.
    least: f64,
    resonant: bool,
    depth: usize,
    drawn: bool,
}

/// How a node becomes its children.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Branching {
    None,
    Decay,
    Scatter(Exchange),
}

/// What is exchanged between the beams.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    /// Its squared mass.
    pole: f64,
    fermion: bool,
}

struct Builder<'a> {
    masses: &'a [f64],
    settings: &'a ChannelSettings,
    nodes: Vec<Node>,
    steps: Vec<Step>,
    slots: usize,
    constants: Vec<(usize, f64)>,
    randoms: usize,
    /// The node of all that goes out.
    root: usize,
    /// For each leg that comes in, by how much at most its own large light-cone momentum is less than that of all, as a
    /// share of it.
    excess: [f64; 2],
    wrong: Option<Error>,
}

impl Channel {
    /// The steps of a diagram.
    ///
    /// # Errors
    /// The diagram is no tree, a number cannot be, or the energy does not suffice.
    pub fn new(diagram: &Diagram, settings: &ChannelSettings) -> Result<Self, Error> {
        let spine = diagram.spine()?;
        let numbers = [settings.energy, settings.incoming[0], settings.incoming[1]];
        if let Some(&wrong) = (numbers.iter()).find(|n| !(0.0..f64::INFINITY).contains(*n)) {
            return Err(Error::Number(wrong));
        }
        let mut builder = Builder {
            masses: &diagram.masses,
            settings,
            nodes: Vec::new(),
            steps: Vec::new(),
            slots: 0,
            constants: Vec::new(),
            randoms: 0,
            root: usize::MAX,
            excess: [0.0; 2],
            wrong: None,
        };
        builder.root(&spine);
        builder.build()
    }

    /// How many random numbers a point takes.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Which of the random numbers are azimuths.
    pub fn azimuths(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().filter_map(|step| match step {
            Step::Decay { random, .. } | Step::Scatter { random, .. } => Some(random[1]),
            _ => None,
        })
    }

    /// How many legs go out.
    pub fn outgoing(&self) -> usize {
        self.legs.len()
    }
}

impl Builder<'_> {
    fn slot(&mut self, count: usize) -> usize {
        self.slots += count;
        self.slots - count
    }

    fn constant(&mut self, value: f64) -> usize {
        if let Some((slot, _)) = self.constants.iter().find(|(_, known)| *known == value) {
            return *slot;
        }
        let slot = self.slot(1);
        self.constants.push((slot, value));
        slot
    }

    fn part(&mut self) -> Cluster {
        Cluster {
            mass: self.slot(1),
            square: self.slot(1),
            momentum: self.slot(4),
        }
    }

    fn incoming(&mut self) -> Incoming {
        Incoming {
            square: self.slot(1),
            momentum: self.slot(4),
        }
    }

    fn random(&mut self) -> usize {
        self.randoms += 1;
        self.randoms - 1
    }

    /// A line of some parts.
    fn node(&mut self, children: Vec<usize>, split: Branching, of: Option<Propagator>) -> usize {
        let legs = (children.iter()).fold(0, |legs, &child| legs | self.nodes[child].legs);
        let sum: f64 = children.iter().map(|&child| self.nodes[child].least).sum();
        let floor = self.settings.limits.least_mass(legs, self.masses);
        let least = f64::max(sum, floor);
        let of = of.unwrap_or(Propagator {
            mass: 0.0,
            width: 0.0,
        });
        let resonant = resonant(of, legs, self.masses, &self.settings.limits);
        let map = if resonant {
            Map::BreitWigner {
                square: of.mass * of.mass,
                product: of.mass * of.width,
            }
        } else if least > 0.0 {
            Map::Power(LINE)
        } else {
            Map::Power(TO_ZERO)
        };
        let part = self.part();
        let number = self.nodes.len();
        for &child in &children {
            self.nodes[child].parent = Some(number);
        }
        self.nodes.push(Node {
            legs,
            part,
            parent: None,
            children,
            split,
            map,
            least,
            resonant,
            depth: 0,
            drawn: false,
        });
        number
    }

    fn branch(&mut self, branch: &OutgoingSide) -> usize {
        if branch.children.is_empty() {
            let leg = branch.legs.trailing_zeros() as usize;
            let mass = self.masses[leg];
            let part = Cluster {
                mass: self.constant(mass),
                square: self.constant(mass * mass),
                momentum: self.slot(4),
            };
            self.nodes.push(Node {
                legs: branch.legs,
                part,
                parent: None,
                children: Vec::new(),
                split: Branching::None,
                map: Map::Flat,
                least: mass,
                resonant: false,
                depth: 0,
                drawn: true,
            });
            return self.nodes.len() - 1;
        }
        let children = branch.children.iter().map(|child| self.branch(child));
        let children: Vec<usize> = children.collect();
        let (children, split) = self.in_two(children);
        self.node(children, split, branch.propagator)
    }

    /// Of more than two lines at a vertex all but the first count as one, whose invariant is drawn evenly.
    fn in_two(&mut self, mut children: Vec<usize>) -> (Vec<usize>, Branching) {
        while children.len() > 2 {
            let last = children.split_off(children.len() - 2);
            let node = self.node(last, Branching::Decay, None);
            self.nodes[node].map = Map::Flat;
            children.push(node);
        }
        (children, Branching::Decay)
    }

    /// All that goes out at one vertex between the beams.
    fn at_vertex(&mut self, out: &[OutgoingSide]) -> usize {
        let children: Vec<usize> = out.iter().map(|branch| self.branch(branch)).collect();
        let (children, split) = self.in_two(children);
        match children[..] {
            [one] => one,
            _ => {
                let node = self.node(children, split, None);
                self.nodes[node].map = Map::Flat;
                node
            }
        }
    }

    /// What goes out altogether; it is the last node.
    fn root(&mut self, spine: &Spine) {
        let out = spine.out.iter().map(|out| self.at_vertex(out));
        let out: Vec<usize> = out.collect();
        let is_fermion = |leg: usize| self.settings.fermions.get(leg).copied().unwrap_or(false);
        let mut fermion = is_fermion(0);
        let mut exchanged = Vec::new();
        for (of, &node) in spine.exchanged.iter().zip(&out) {
            for leg in 0..self.masses.len() {
                fermion ^= self.nodes[node].legs & (1 << leg) != 0 && is_fermion(leg + 2);
            }
            let pole = of.mass * of.mass;
            exchanged.push(Exchange { pole, fermion });
        }
        self.chain(&out, &exchanged);
    }

    /// A chain of exchanges: one at an end divides it, that beside a leg without mass where there is one: cuts keep its
    /// square from 0.
    fn chain(&mut self, out: &[usize], exchanged: &[Exchange]) -> usize {
        if let [one] = *out {
            return one;
        }
        let massless = |&node: &usize| self.nodes[node].least == 0.0;
        let ends = [out.first(), out.last()].map(|end| end.is_some_and(massless));
        let at = match ends {
            [false, true] => exchanged.len() - 1,
            _ => 0,
        };
        let first = self.chain(&out[..=at], &exchanged[..at]);
        let second = self.chain(&out[at + 1..], &exchanged[at + 1..]);
        self.node(vec![first, second], Branching::Scatter(exchanged[at]), None)
    }

    fn set_depths(&mut self, node: usize, depth: usize) {
        self.nodes[node].depth = depth;
        for child in self.nodes[node].children.clone() {
            self.set_depths(child, depth + 1);
        }
    }

    fn build(mut self) -> Result<Channel, Error> {
        let (energy, beams) = (self.settings.energy, self.settings.beams);
        let root = self.nodes.len() - 1;
        self.set_depths(root, 0);
        let limits = &self.settings.limits;
        let mut needed = f64::max(self.nodes[root].least, limits.least_energy(self.masses));
        if beams != Beams::AtRest {
            needed = needed.max(self.settings.incoming.iter().sum());
        }
        if self.nodes.len() == 1 && !beams.share() {
            return Err(Error::Alone(needed));
        }
        if energy <= needed {
            return Err(Error::Energy(needed, energy));
        }
        self.excess = excess(self.settings.incoming, needed);
        if !self.nodes[root].children.is_empty() {
            self.nodes[root].least = needed;
            self.root = root;
        }
        if !beams.share() {
            let part = self.nodes[root].part;
            self.constants.push((part.mass, energy));
            self.constants.push((part.square, energy * energy));
            self.nodes[root].drawn = true;
        } else if !self.nodes[root].resonant && !self.nodes[root].children.is_empty() {
            let fall = if needed > 0.0 { FALL } else { TO_ZERO };
            self.nodes[root].map = Map::Power(fall);
        }
        let mut order: Vec<usize> = (0..self.nodes.len())
            .filter(|&n| !self.nodes[n].drawn)
            .collect();
        order.sort_by_key(|&n| {
            let node = &self.nodes[n];
            let class = if node.resonant {
                0
            } else if n == root {
                1
            } else {
                2
            };
            (class, node.depth, n)
        });
        for node in order {
            self.draw(node, energy);
        }
        let whole = self.nodes[root].part;
        if beams.share() {
            let random = (beams == Beams::Both).then(|| self.random());
            // One particle alone has no other factor.
            let alone = self.nodes[root].children.is_empty();
            let heavy = match beams {
                Beams::First => self.settings.incoming[1] / energy,
                Beams::Second => self.settings.incoming[0] / energy,
                _ => 0.0,
            };
            self.steps.push(Step::Fractions {
                random,
                heavy: heavy * heavy,
                map: Map::BreitWigner {
                    square: 0.5,
                    product: CENTRAL,
                },
                whole,
                measure: if alone { TAU } else { 1.0 } / (energy * energy),
            });
        }
        let mut incoming = [self.incoming(), self.incoming()];
        for (one, mass) in incoming.iter_mut().zip(self.settings.incoming) {
            one.square = self.constant(mass * mass);
        }
        self.steps.push(Step::Beams {
            whole,
            to: incoming,
        });
        self.momenta(root, incoming);
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let mut legs = vec![whole; self.masses.len()];
        for node in self.nodes.iter().filter(|node| node.children.is_empty()) {
            legs[node.legs.trailing_zeros() as usize] = node.part;
        }
        let lines = self
            .nodes
            .iter()
            .map(|node| (node.legs, node.part))
            .collect();
        Ok(Channel {
            steps: self.steps,
            slots: self.slots,
            constants: self.constants,
            legs,
            incoming,
            lines,
            dimension: self.randoms,
            energy,
            beams,
        })
    }

    fn draw(&mut self, node: usize, energy: f64) {
        let mut siblings = Vec::new();
        let (mut at, mut whole) = (node, None);
        while let Some(parent) = self.nodes[at].parent {
            let children = self.nodes[parent].children.clone();
            siblings.extend(children.into_iter().filter(|&sibling| sibling != at));
            at = parent;
            if self.nodes[at].drawn {
                whole = Some(self.nodes[at].part.mass);
                break;
            }
        }
        let at_rest = whole.is_none() || at == self.root;
        let without = siblings.into_iter().map(|sibling| match at_rest {
            true => self.transverse(sibling),
            false => self.least(sibling),
        });
        let without = without.collect();
        let whole = whole.unwrap_or_else(|| self.constant(energy));
        let least = match node == self.root {
            true => self.transverse(node),
            false => self.least(node),
        };
        let random = self.random();
        let Node {
            map, part, legs, ..
        } = self.nodes[node];
        self.steps.push(Step::Invariant {
            random,
            map,
            least,
            whole,
            without,
            ceiling: self.settings.limits.largest_mass(legs),
            to: part,
            measure: if self.nodes[node].parent.is_none() {
                1.0
            } else {
                1.0 / TAU
            },
        });
        self.nodes[node].drawn = true;
    }

    /// Where the least mass of a node lies, given what has been drawn.
    fn least(&mut self, node: usize) -> usize {
        if self.nodes[node].drawn {
            return self.nodes[node].part.mass;
        }
        if !self.any_drawn(node) {
            return self.constant(self.nodes[node].least);
        }
        let children = self.nodes[node].children.clone();
        let of = children
            .into_iter()
            .map(|child| self.least(child))
            .collect();
        let floor = self.nodes[node].least;
        let to = self.slot(1);
        self.steps.push(Step::Least { floor, of, to });
        to
    }

    /// Where the least transverse energy of a node lies, its mass included. Those of parts add up, and the energy of what
    /// has no transverse momentum altogether is no less.
    fn transverse(&mut self, node: usize) -> usize {
        let floor = f64::max(self.nodes[node].least, self.transverse_floor(node));
        let of = if self.nodes[node].drawn && !self.nodes[node].children.is_empty() {
            vec![self.nodes[node].part.mass]
        } else if self.any_drawn(node) {
            let children = self.nodes[node].children.clone();
            children
                .into_iter()
                .map(|child| self.transverse(child))
                .collect()
        } else {
            return self.constant(floor);
        };
        let to = self.slot(1);
        self.steps.push(Step::Least { floor, of, to });
        to
    }

    /// What masses and cuts leave of the transverse energy.
    fn transverse_floor(&self, node: usize) -> f64 {
        let some = (0..self.masses.len()).filter(|leg| self.nodes[node].legs & (1 << leg) != 0);
        some.map(|leg| self.masses[leg].hypot(self.settings.limits.pt(leg)))
            .sum()
    }

    /// Whether the invariant of a part has been drawn.
    fn any_drawn(&self, node: usize) -> bool {
        self.nodes[node].children.iter().any(|&child| {
            let child_node = &self.nodes[child];
            (child_node.drawn && !child_node.children.is_empty()) || self.any_drawn(child)
        })
    }

    fn momenta(&mut self, node: usize, incoming: [Incoming; 2]) {
        let [first, second] = self.nodes[node].children[..] else {
            return;
        };
        let whole = self.nodes[node].part;
        let parts = [self.nodes[first].part, self.nodes[second].part];
        let random = [self.random(), self.random()];
        match self.nodes[node].split {
            Branching::Scatter(of) => {
                let exchanged = [self.incoming(), self.incoming()];
                let ends = [(first, incoming[0]), (second, incoming[1])];
                let Exchange { pole, fermion } = of;
                let mut transverse = [0.0; 2];
                let (mut above_zero, mut apart) = (false, true);
                for (side, (node, from)) in ends.into_iter().enumerate() {
                    let Some(square) = self.known(from) else {
                        continue;
                    };
                    self.check_stable(node, square.sqrt(), pole.sqrt());
                    let least = self.transverse_floor(node);
                    transverse[side] = beside(square, least, self.excess[side]);
                    let Node { least, .. } = self.nodes[node];
                    let leg = self.nodes[node].children.is_empty();
                    above_zero |= leg && transverse[side] > least * (1.0 + EQUAL);
                    apart &= least > square.sqrt() * (1.0 + EQUAL);
                }
                let map = match (pole > 0.0, above_zero, fermion) {
                    (false, false, _) => Map::Power(if apart { CLOSE_TO_ZERO } else { TO_ZERO }),
                    (_, _, true) => Map::Inverse,
                    (true, _, false) => Map::Power(HEAVY_BOSON),
                    (false, true, false) => Map::Power(BOSON),
                };
                self.steps.push(Step::Scatter {
                    random,
                    map,
                    pole,
                    transverse,
                    incoming,
                    whole,
                    parts,
                    exchanged,
                });
                self.momenta(first, [incoming[0], exchanged[0]]);
                self.momenta(second, [exchanged[1], incoming[1]]);
            }
            Branching::Decay | Branching::None => {
                self.steps.push(Step::Decay {
                    random,
                    whole,
                    parts,
                });
                self.momenta(first, incoming);
                self.momenta(second, incoming);
            }
        }
    }

    /// The square of what comes in, where it is known.
    fn known(&self, from: Incoming) -> Option<f64> {
        let mut of = (self.constants.iter()).filter(|(slot, _)| *slot == from.square);
        of.next().map(|(_, value)| *value)
    }

    /// That a leg that comes in cannot decay into a part and what is exchanged, so that the square of that stays below its
    /// mass.
    fn check_stable(&mut self, node: usize, mass: f64, exchanged: f64) {
        let Node { least, .. } = self.nodes[node];
        if mass > (least + exchanged) * (1.0 + EQUAL) {
            self.wrong = Some(Error::Unstable(mass, least, exchanged));
        }
    }
}

/// Two masses that differ by less are the same.
const EQUAL: f64 = 1e-9;

/// Of particles on their mass shells that come in with this energy together at least: what the other one has at most of
/// the large light-cone momentum of each, as a share of that.
fn excess([first, second]: [f64; 2], energy: f64) -> [f64; 2] {
    let s = energy * energy;
    let (a, b) = (first * first, second * second);
    let sum = first + second;
    let along = ((s - sum * sum).max(0.0) * (s - (first - second).powi(2)).max(0.0)).sqrt();
    // (s + a - b + along) / 2 is the large one of the first, and times the small one it is a.
    let large = [s + a - b + along, s + b - a + along];
    let ratio = |mass: f64, own: f64, other: f64| match mass > 0.0 {
        // The product of the other's two is its squared mass.
        true => 4.0 * mass * s / (own * other),
        false => 0.0,
    };
    [ratio(b, large[0], large[1]), ratio(a, large[1], large[0])]
}

/// A number whose square is what -t is at least beside a leg that comes in, and the squared mass of what goes out there,
/// which has a transverse energy of `least`.
///
/// With light-cone momenta, r the share of the large one that goes out, -t is `least^2 / r + square r` less both squared
/// masses; r is at most `1 + excess`.
fn beside(square: f64, least: f64, excess: f64) -> f64 {
    let most = 1.0 + excess;
    match most.is_finite() && least >= square.sqrt() * most {
        true => (least * least / most + square * excess).sqrt(),
        false => 0.0,
    }
}

/// Whether a line can be on its mass shell, and is not far from it.
pub(crate) fn resonant(of: Propagator, legs: Legs, masses: &[f64], limits: &Limits) -> bool {
    let some = (masses.iter().enumerate()).filter(|(leg, _)| legs & (1 << leg) != 0);
    let least: f64 = some.map(|(_, mass)| mass).sum();
    of.width > 0.0
        && least < of.mass
        && limits.least_mass(legs, masses) < of.mass + WIDTHS * of.width
        && limits.largest_mass(legs) > of.mass - WIDTHS * of.width
}
