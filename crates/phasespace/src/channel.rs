//! Compilation of a diagram into a list of steps.
//!
//! The invariants of a diagram are drawn in this order: resonances from the root to the legs, the energy of the
//! partons, then all other invariants from the root to the legs. A chain of exchanges between the beams is split in two
//! recursively; the outgoing particles on each side are a line like the others. Momenta follow from the whole to its
//! parts by two-body splittings, isotropic in the rest frame or distributed in the momentum transfer.

use super::diagram::{Diagram, Error, Legs, OutgoingSide, Propagator, Spine};
use super::limits::Limits;
use super::map::Map;
use std::f64::consts::TAU;

/// The slots of a line: its mass, squared mass and momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub mass: usize,
    pub square: usize,
    /// The first of four slots.
    pub momentum: usize,
}

/// The slots of an incoming line: its squared momentum, and its momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Incoming {
    pub square: usize,
    pub momentum: usize,
}

/// One step of a channel. `random` fields are indices of random numbers, all others are slots or constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The least mass of a line, some parts of which have been drawn: the sum of `of`, at least `floor`.
    Least {
        floor: f64,
        of: Vec<usize>,
        to: usize,
    },
    /// Draws the invariant of a line.
    Invariant {
        random: usize,
        map: Map,
        least: usize,
        /// The mass of the line that contains it,
        whole: usize,
        /// from which these are subtracted.
        without: Vec<usize>,
        /// The largest mass that the cuts allow, GeV; infinite for no limit.
        ceiling: f64,
        to: Cluster,
        /// The factor of its phase space: `1 / 2 pi` within a larger line.
        measure: f64,
    },
    /// Draws the energy fractions of the partons, by a random number that divides their product between the beams.
    Fractions {
        random: Option<usize>,
        /// If only one beam has partons, the squared mass of the other beam over the squared energy.
        heavy: f64,
        /// The rapidity is larger by the first number times `ln(1 + r)`, where r is the second number, a difference of
        /// squared masses of the partons over the squared energy, divided by the share of the partons in that: then one
        /// of them has exactly its fraction of the beam. The first number is 0 for equal masses.
        unequal: [f64; 2],
        /// The density from 0 to 1.
        map: Map,
        whole: Cluster,
        measure: f64,
    },
    /// Draws the squared energy of lepton beams' partons, of which most points lack hardly anything: see `radiation`.
    Radiation {
        random: usize,
        /// The resonance, which half of the points are for, as in [`Map::BreitWigner`].
        resonance: Option<Map>,
        least: usize,
        /// The largest mass that the cuts allow, GeV.
        ceiling: f64,
        to: Cluster,
        /// The logarithm of the beams' squared energy over the partons'.
        logarithm: usize,
    },
    /// Draws the energy fractions of lepton beams' partons, by a random number that divides the logarithm.
    Emissions {
        random: usize,
        logarithm: usize,
        measure: f64,
    },
    /// Computes the momenta of the incoming legs, along z.
    Beams { whole: Cluster, to: [Incoming; 2] },
    /// Draws an isotropic two-body decay: cosine and azimuth.
    Decay {
        random: [usize; 2],
        whole: Cluster,
        parts: [Cluster; 2],
    },
    /// Draws a two-body scattering: momentum transfer, and azimuth about the axis.
    Scatter {
        random: [usize; 2],
        map: Map,
        /// The squared mass of the exchanged particle.
        pole: f64,
        /// Lower limits from [`beside`] for both parts; 0 if they do not restrict -t.
        transverse: [f64; 2],
        incoming: [Incoming; 2],
        whole: Cluster,
        parts: [Cluster; 2],
        /// The exchanged line, as it comes in on either side.
        exchanged: [Incoming; 2],
    },
}

/// The kinds of beams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beams {
    /// Partons carry fractions of the energies of both beams.
    Both,
    /// The same for beams whose densities rise steeply towards the whole energy.
    Leptons,
    /// Only the parton of the first beam carries a fraction.
    First,
    /// Only the parton of the second beam carries a fraction.
    Second,
    /// The partons are the beams.
    Neither,
    /// One particle decays at rest: the second incoming leg. The first one is a placeholder with zero momentum.
    AtRest,
}

impl Beams {
    /// Whether partons carry fractions of the energy.
    fn share(self) -> bool {
        !matches!(self, Beams::Neither | Beams::AtRest)
    }
}

/// The steps that draw the points of one diagram.
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) steps: Vec<Step>,
    pub(crate) slots: usize,
    /// Slots with constant values.
    pub(crate) constants: Vec<(usize, f64)>,
    /// The outgoing legs.
    pub(crate) legs: Vec<Cluster>,
    pub(crate) incoming: [Incoming; 2],
    /// Every line, with the set of its legs.
    pub(crate) lines: Vec<(Legs, Cluster)>,
    pub(crate) dimension: usize,
    pub(crate) energy: f64,
    pub(crate) beams: Beams,
}

/// The settings of a channel besides its diagram: beams and cuts.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// Energy of both beams in their centre of mass, or of the decaying particle, GeV.
    pub energy: f64,
    /// The kinds of beams.
    pub beams: Beams,
    /// Masses of the partons, GeV. As in MadEvent, partons are always on their mass shells: the energy fractions are
    /// those of the light-cone momenta of both together.
    pub incoming: [f64; 2],
    /// Whether each leg is a fermion, incoming legs first.
    pub fermions: Vec<bool>,
    /// The limits that follow from the cuts.
    pub limits: Limits,
}

/// A resonance is ignored if its mass is outside the limits by more than this many widths.
const WIDTHS: f64 = 5.0;
/// Power with which the density in the partons' squared energy falls, with parton densities.
const FALL: f64 = 1.3;
/// Half width of the distribution of rapidities, relative to the allowed range.
const CENTRAL: f64 = 0.2;
/// Power for a square that can reach 0.
const TO_ZERO: f64 = 0.8;
/// Power for a square whose least value is small, but hardly ever 0.
const CLOSE_TO_ZERO: f64 = 0.9;
/// Power for a line whose least value is above 0.
const LINE: f64 = 1.2;
/// Powers for exchanged bosons, massless and massive. |M|^2 falls at most like 1 / t^2 for a boson, and like 1 / t for
/// a fermion.
const BOSON: f64 = 1.3;
const HEAVY_BOSON: f64 = 2.0;

/// A line, or several combined into one.
#[derive(Debug)]
struct Node {
    legs: Legs,
    part: Cluster,
    parent: Option<usize>,
    children: Vec<usize>,
    split: Branching,
    map: Map,
    /// The least mass: that of a leg, or the limit from cuts and legs.
    least: f64,
    resonant: bool,
    depth: usize,
    drawn: bool,
}

/// How a node splits into its children.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Branching {
    None,
    Decay,
    Scatter(Exchange),
}

/// The exchanged particle of a scattering.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    /// Its squared mass, GeV^2.
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
    /// The node of all outgoing legs.
    root: usize,
    /// The slot of [`Step::Radiation`]'s logarithm, once it is drawn.
    logarithm: Option<usize>,
    /// See [`excess`].
    excess: [f64; 2],
    wrong: Option<Error>,
}

impl Channel {
    /// Compiles a diagram.
    ///
    /// # Errors
    /// The diagram is not a tree, a number is invalid, or the energy does not suffice.
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
            logarithm: None,
            excess: [0.0; 2],
            wrong: None,
        };
        builder.root(&spine);
        builder.build()
    }

    /// Number of random numbers per point.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The indices of the random numbers that are azimuths.
    pub fn azimuths(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().filter_map(|step| match step {
            Step::Decay { random, .. } | Step::Scatter { random, .. } => Some(random[1]),
            _ => None,
        })
    }

    /// Number of outgoing legs.
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

    /// Adds a line with these children.
    fn node(&mut self, children: Vec<usize>, split: Branching, of: Option<Propagator>) -> usize {
        let legs = (children.iter()).fold(0, |legs, &child| legs | self.nodes[child].legs);
        let sum: f64 = children.iter().map(|&child| self.nodes[child].least).sum();
        let floor = self.settings.limits.min_mass(legs, self.masses);
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

    /// Reduces the lines at a vertex to two, by combining the last two repeatedly; the invariants of combined lines are
    /// drawn uniformly.
    fn in_two(&mut self, mut children: Vec<usize>) -> (Vec<usize>, Branching) {
        while children.len() > 2 {
            let last = children.split_off(children.len() - 2);
            let node = self.node(last, Branching::Decay, None);
            self.nodes[node].map = Map::Flat;
            children.push(node);
        }
        (children, Branching::Decay)
    }

    /// Adds the outgoing lines of one vertex between the beams.
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

    /// Adds the node of all outgoing legs, which is the last node.
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

    /// Splits a chain of exchanges at one of its ends, preferably next to a massless leg, where cuts keep the momentum
    /// transfer away from 0.
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
        let mut needed = f64::max(self.nodes[root].least, limits.min_energy(self.masses));
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
            // A single outgoing particle has no other phase-space factor.
            let alone = self.nodes[root].children.is_empty();
            let measure = if alone { TAU } else { 1.0 } / (energy * energy);
            self.fractions(whole, measure);
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

    /// Adds the step that draws the energy fractions of the partons.
    fn fractions(&mut self, whole: Cluster, measure: f64) {
        let ChannelSettings {
            energy,
            beams,
            incoming,
            ..
        } = *self.settings;
        if beams == Beams::Leptons {
            let random = self.random();
            let logarithm = match self.logarithm {
                Some(drawn) => drawn,
                // A single outgoing particle.
                None => self.constant((energy / self.nodes[self.nodes.len() - 1].least).ln() * 2.0),
            };
            self.steps.push(Step::Emissions {
                random,
                logarithm,
                measure,
            });
            return;
        }
        let heavy = match beams {
            Beams::First => incoming[1] / energy,
            Beams::Second => incoming[0] / energy,
            _ => 0.0,
        };
        let random = (beams == Beams::Both).then(|| self.random());
        self.steps.push(Step::Fractions {
            random,
            heavy: heavy * heavy,
            unequal: unequal(beams, incoming, energy),
            map: Map::BreitWigner {
                square: 0.5,
                product: CENTRAL,
            },
            whole,
            measure,
        });
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
            map,
            part,
            legs,
            resonant,
            ..
        } = self.nodes[node];
        self.nodes[node].drawn = true;
        if node == self.root && self.settings.beams == Beams::Leptons {
            let logarithm = self.slot(1);
            self.logarithm = Some(logarithm);
            self.steps.push(Step::Radiation {
                random,
                resonance: resonant.then_some(map),
                least,
                ceiling: self.settings.limits.max_mass(legs),
                to: part,
                logarithm,
            });
            return;
        }
        self.steps.push(Step::Invariant {
            random,
            map,
            least,
            whole,
            without,
            ceiling: self.settings.limits.max_mass(legs),
            to: part,
            measure: if self.nodes[node].parent.is_none() {
                1.0
            } else {
                1.0 / TAU
            },
        });
    }

    /// The slot of the least mass of a node, given the invariants drawn so far.
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

    /// The slot of the least transverse energy of a node, including its mass. Transverse energies of parts add up, and
    /// are a lower limit on the energy of a system without transverse momentum.
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

    /// The least transverse energy allowed by masses and cuts.
    fn transverse_floor(&self, node: usize) -> f64 {
        let some = (0..self.masses.len()).filter(|leg| self.nodes[node].legs & (1 << leg) != 0);
        some.map(|leg| self.masses[leg].hypot(self.settings.limits.pt(leg)))
            .sum()
    }

    /// Whether the invariant of any part has been drawn.
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

    /// The squared momentum of an incoming line, if it is a constant.
    fn known(&self, from: Incoming) -> Option<f64> {
        let mut of = (self.constants.iter()).filter(|(slot, _)| *slot == from.square);
        of.next().map(|(_, value)| *value)
    }

    /// Checks that an incoming leg cannot decay into a part and the exchanged particle, so that the momentum transfer
    /// stays below the pole.
    fn check_stable(&mut self, node: usize, mass: f64, exchanged: f64) {
        let Node { least, .. } = self.nodes[node];
        if mass > (least + exchanged) * (1.0 + EQUAL) {
            self.wrong = Some(Error::Unstable(mass, least, exchanged));
        }
    }
}

/// The correction of the rapidity of partons with different masses. As in MadEvent (`unwgt.f`), the first one has exactly
/// its fraction of the beam if it has no mass or is the beam, otherwise the second one.
fn unequal(beams: Beams, [first, second]: [f64; 2], energy: f64) -> [f64; 2] {
    let of_first = match beams {
        Beams::Second => true,
        Beams::First => false,
        _ => first == 0.0,
    };
    let squares = match beams {
        // The beam that is a parton is treated exactly with its mass.
        Beams::First => [first * first, 0.0],
        Beams::Second => [0.0, second * second],
        _ => [first * first, second * second],
    };
    let [own, other] = match of_first {
        true => squares,
        false => [squares[1], squares[0]],
    };
    let sign = match own == other {
        true => 0.0,
        false if of_first => -1.0,
        false => 1.0,
    };
    [sign, (own - other) / (energy * energy)]
}

/// Masses with a smaller relative difference are equal.
const EQUAL: f64 = 1e-9;

/// For two incoming on-shell particles with at least this energy together: the largest light-cone momentum of the other
/// one along the large direction of each, relative to the large light-cone momentum of each.
fn excess([first, second]: [f64; 2], energy: f64) -> [f64; 2] {
    let s = energy * energy;
    let (a, b) = (first * first, second * second);
    let sum = first + second;
    let along = ((s - sum * sum).max(0.0) * (s - (first - second).powi(2)).max(0.0)).sqrt();
    // The large light-cone momentum of the first is (s + a - b + along) / 2 (times 1 / energy), and its product with
    // the small one is a.
    let large = [s + a - b + along, s + b - a + along];
    let ratio = |mass: f64, own: f64, other: f64| match mass > 0.0 {
        // The product of the other's two light-cone momenta is its squared mass.
        true => 4.0 * mass * s / (own * other),
        false => 0.0,
    };
    [ratio(b, large[0], large[1]), ratio(a, large[1], large[0])]
}

/// The square root of a lower limit on `-t + m^2`, where t is the momentum transfer from an incoming leg with this
/// `square`, and m the mass of the outgoing part beside it, whose transverse energy is at least `least`; 0 for no
/// limit.
///
/// With r the outgoing part's share of the large light-cone momentum, -t is `least^2 / r + square r` minus both squared
/// masses, and r is at most `1 + excess`.
fn beside(square: f64, least: f64, excess: f64) -> f64 {
    let most = 1.0 + excess;
    match most.is_finite() && least >= square.sqrt() * most {
        true => (least * least / most + square * excess).sqrt(),
        false => 0.0,
    }
}

/// Whether a line can be on its mass shell, within the limits of the cuts.
pub(crate) fn resonant(of: Propagator, legs: Legs, masses: &[f64], limits: &Limits) -> bool {
    let some = (masses.iter().enumerate()).filter(|(leg, _)| legs & (1 << leg) != 0);
    let least: f64 = some.map(|(_, mass)| mass).sum();
    of.width > 0.0
        && least < of.mass
        && limits.min_mass(legs, masses) < of.mass + WIDTHS * of.width
        && limits.max_mass(legs) > of.mass - WIDTHS * of.width
}
