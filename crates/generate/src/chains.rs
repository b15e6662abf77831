//! Processes with decays: diagrams of the process, with decay trees in place of legs.
//!
//! The assignment of decays to particles and the symmetry factors follow MG5aMC (`combine_decay_chain_processes`,
//! `identical_decay_chain_factor` in helas_objects.py): if there are as many decays as decaying particles, in the same
//! order, they are assigned one by one; otherwise every decay of a particle applies to each such particle.

use super::subprocess::{MAX_PROCESSES, Subprocess, too_many};
use super::trees::{Diagram, Diagrams, MAX_DIAGRAMS, Node, Tree, TreeId};
use crate::model::{Model, ParticleId, PropagatorPart};
use crate::request::AUXILIARY;

/// Most legs of a process with all decays.
pub const MAX_LEGS_DECAYED: usize = 20;

/// A line of a particle on its mass shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnShell {
    /// The legs that it decays into.
    pub legs: Vec<u8>,
    /// The particle.
    pub particle: ParticleId,
}

/// A process, or a decay, with the decays inserted so far.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The legs; the first leg of a decay is the decaying particle.
    pub subprocess: Subprocess,
    /// Trees; each refers only to earlier ones.
    pub trees: Vec<Tree>,
    /// The roots of the trees.
    pub ends: Ends,
    /// Particles that decayed.
    pub on_shell: Vec<OnShell>,
    /// Its name.
    pub name: String,
    /// A key that equal decays share, independent of the order of their products.
    key: String,
}

/// The roots of the trees of a [`Chain`].
#[derive(Clone, Debug)]
pub enum Ends {
    /// The diagrams of a process.
    Diagrams(Vec<Diagram>),
    /// The trees of a decay.
    Trees(Vec<TreeId>),
}

impl Ends {
    fn len(&self) -> usize {
        match self {
            Ends::Diagrams(diagrams) => diagrams.len(),
            Ends::Trees(trees) => trees.len(),
        }
    }
}

impl Chain {
    /// Creates a chain without decays.
    pub fn new(
        subprocess: Subprocess,
        trees: Vec<Tree>,
        ends: Ends,
        name: String,
        model: &Model,
    ) -> Chain {
        let legs = subprocess.particles.iter().zip(&subprocess.polarizations);
        let legs = legs.skip(subprocess.incoming);
        let mut names: Vec<String> = legs
            .map(|(&p, polarization)| format!("{}{polarization:?}", model.properties(p).name))
            .collect();
        names.sort_unstable();
        let first = &model.properties(subprocess.particles[0]).name;
        let key = format!("({first} {} {})", ends.len(), names.join(" "));
        Chain {
            subprocess,
            trees,
            ends,
            on_shell: Vec::new(),
            name,
            key,
        }
    }

    /// The decaying particle.
    fn mother(&self) -> ParticleId {
        self.subprocess.particles[0]
    }

    /// Extracts the diagrams, with their signs.
    pub fn into_diagrams(self, model: &Model) -> (Subprocess, Diagrams, Vec<OnShell>) {
        let Ends::Diagrams(diagrams) = self.ends else {
            return (self.subprocess, Diagrams::default(), self.on_shell);
        };
        let mut diagrams = Diagrams {
            trees: self.trees,
            diagrams,
        };
        diagrams.set_properties(model, &self.subprocess.outgoing);
        (self.subprocess, diagrams, self.on_shell)
    }

    /// Combines a process with its decays in all ways; `decays` has a list for each requested decay.
    pub fn combine(self, decays: &[Vec<Chain>], model: &Model) -> Result<Vec<Chain>, String> {
        let all = self.subprocess.incoming..self.subprocess.particles.len();
        let decaying = |leg: &usize| decays.iter().any(|d| decays_of(d, self.particle(*leg)));
        let legs: Vec<usize> = all.filter(decaying).collect();
        let share = self.share(&legs, decays);
        let mut kinds: Vec<ParticleId> = Vec::new();
        for &leg in &legs {
            if !kinds.contains(&self.particle(leg)) {
                kinds.push(self.particle(leg));
            }
        }
        // For each kind of particle, the ways in which all particles of that kind decay.
        let mut ways: Vec<Vec<Vec<(usize, &Chain)>>> = Vec::new();
        for &kind in &kinds {
            let of_kind = |leg: &usize| self.particle(*leg) == kind;
            let own: Vec<usize> = legs.iter().copied().filter(of_kind).collect();
            let shares: Vec<Vec<&Chain>> = match share {
                Share::ByLeg => {
                    let lists = legs.iter().zip(decays).filter(|(leg, _)| of_kind(leg));
                    lists.map(|(_, decay)| of_mother(decay, kind)).collect()
                }
                Share::ByKind => {
                    let lists = decays.iter().filter(|decay| decays_of(decay, kind));
                    lists.map(|decay| of_mother(decay, kind)).collect()
                }
                Share::All => Vec::new(),
            };
            let shares = match shares.first().is_some_and(|first| !first.is_empty()) {
                true => shares,
                false => {
                    let all = decays.iter().flat_map(|decay| of_mother(decay, kind));
                    vec![all.collect(); own.len()]
                }
            };
            ways.push(self.distinct(&own, &shares)?);
        }
        let mut combined = Vec::new();
        for choice in products(&ways)? {
            let mut of_legs: Vec<(usize, &Chain)> = choice.into_iter().flatten().collect();
            of_legs.sort_by_key(|(leg, _)| *leg);
            combined.push(self.decayed(&of_legs, model)?);
        }
        Ok(combined)
    }

    fn particle(&self, leg: usize) -> ParticleId {
        self.subprocess.particles[leg]
    }

    /// How the decays are assigned to the decaying legs.
    fn share(&self, legs: &[usize], decays: &[Vec<Chain>]) -> Share {
        if legs.len() != decays.len() {
            return Share::All;
        }
        let mut each = legs.iter().zip(decays);
        if each.all(|(&leg, decay)| decays_of(decay, self.particle(leg))) {
            return Share::ByLeg;
        }
        let mut mothers: Vec<ParticleId> = Vec::new();
        for decay in decays {
            let mut of: Vec<ParticleId> = decay.iter().map(Chain::mother).collect();
            of.dedup();
            mothers.extend(of);
        }
        let mut decaying: Vec<ParticleId> = legs.iter().map(|&leg| self.particle(leg)).collect();
        mothers.sort_unstable();
        decaying.sort_unstable();
        match mothers == decaying {
            true => Share::ByKind,
            false => Share::All,
        }
    }

    /// The ways in which equal particles, the legs `own`, decay by one of their decays each. Ways that differ only by
    /// the order of the particles count once.
    fn distinct<'a>(
        &self,
        own: &[usize],
        decays: &[Vec<&'a Chain>],
    ) -> Result<Vec<Vec<(usize, &'a Chain)>>, String> {
        let mut seen: Vec<Vec<(&str, &[i8])>> = Vec::new();
        let mut found = Vec::new();
        for chosen in products(decays)? {
            let polarization = |leg: usize| self.subprocess.polarizations[leg].as_slice();
            let names = own.iter().zip(&chosen);
            let names = names.map(|(&leg, c)| (c.name.as_str(), polarization(leg)));
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            if !seen.contains(&names) {
                seen.push(names);
                found.push(own.iter().copied().zip(chosen).collect());
            }
        }
        Ok(found)
    }

    /// The symmetry factor of identical particles: those that do not decay, or have equal decays, with the same
    /// polarisation. MG5aMC ignores the polarisation of particles that do not decay, and if each has its own decay.
    fn identical(&self, decays: &[(usize, &Chain)]) -> u32 {
        let legs = self.subprocess.incoming..self.subprocess.particles.len();
        let decay_of = |leg: usize| decays.iter().find(|(decayed, _)| *decayed == leg);
        let kind = |leg: usize| {
            let key = decay_of(leg).map(|(_, chain)| chain.key.as_str());
            (self.particle(leg), key, &self.subprocess.polarizations[leg])
        };
        let kinds: Vec<_> = legs.map(kind).collect();
        let copies = |n: usize| kinds[..=n].iter().filter(|kind| **kind == kinds[n]).count();
        let factor: u32 = (0..kinds.len()).map(|n| copies(n) as u32).product();
        let own = decays.iter().map(|(_, chain)| chain.subprocess.identical);
        factor * own.product::<u32>()
    }

    /// Returns the legs after decays, and the first new leg of each leg.
    fn decayed_legs(&self, decays: &[(usize, &Chain)]) -> Result<(Subprocess, Vec<u8>), String> {
        let own = &self.subprocess;
        let mut starts = Vec::new();
        let mut legs = Subprocess {
            incoming: own.incoming,
            particles: Vec::new(),
            outgoing: Vec::new(),
            polarizations: Vec::new(),
            identical: self.identical(decays),
        };
        for leg in 0..own.particles.len() {
            starts.push(legs.particles.len() as u8);
            let (from, range) = match decays.iter().find(|(decayed, _)| *decayed == leg) {
                Some((_, decay)) => (&decay.subprocess, 1..decay.subprocess.particles.len()),
                None => (own, leg..leg + 1),
            };
            legs.particles.extend(&from.particles[range.clone()]);
            legs.outgoing.extend(&from.outgoing[range.clone()]);
            (legs.polarizations).extend_from_slice(&from.polarizations[range]);
        }
        let count = legs.particles.len();
        match count > MAX_LEGS_DECAYED {
            true => Err(format!(
                "{count} particles with all decays; at most {MAX_LEGS_DECAYED} can be generated"
            )),
            false => Ok((legs, starts)),
        }
    }

    /// Returns the ends with each choice of trees for the decays below them.
    fn decayed_ends(
        &self,
        variants: &[(Vec<usize>, Vec<TreeId>)],
        roots: &[Vec<TreeId>],
    ) -> Result<Ends, String> {
        let diagrams = match &self.ends {
            Ends::Diagrams(diagrams) => diagrams,
            Ends::Trees(trees) => {
                let trees = trees.iter();
                let all = trees.flat_map(|&tree| variants[tree as usize].1.clone());
                return Ok(Ends::Trees(all.collect()));
            }
        };
        let mut all = Vec::new();
        for diagram in diagrams {
            let (_, nodes) = choices(&diagram.node, variants, roots);
            all.extend(nodes.into_iter().map(|node| Diagram {
                node,
                ..diagram.clone()
            }));
            if all.len() > MAX_DIAGRAMS {
                return Err(format!(
                    "more than {MAX_DIAGRAMS} diagrams; request lower coupling orders"
                ));
            }
        }
        Ok(Ends::Diagrams(all))
    }

    /// Inserts decays of these legs, which are in ascending order.
    fn decayed(&self, decays: &[(usize, &Chain)], model: &Model) -> Result<Chain, String> {
        let own = &self.subprocess;
        let decay_of = |leg: usize| decays.iter().position(|(decayed, _)| *decayed == leg);
        let (legs, starts) = self.decayed_legs(decays)?;
        let mut trees: Vec<Tree> = (0..legs.particles.len() as u8).map(Tree::Leg).collect();
        let mut on_shell = Vec::new();
        // The trees of each decay.
        let mut roots: Vec<Vec<TreeId>> = Vec::new();
        for (leg, decay) in decays {
            let start = starts[*leg];
            let leg_of = |leg: u8| start + leg - 1;
            let mother = model.properties(decay.mother());
            let propagator = propagator(&own.polarizations[*leg], mother.spin).ok_or_else(|| {
                format!(
                    "{} decays with a polarisation other than 0, T or A (vectors), L or R (fermions)",
                    mother.name
                )
            })?;
            let Ends::Trees(ends) = &decay.ends else {
                return Err("a decay is of one particle".into());
            };
            let mut ids: Vec<TreeId> = Vec::with_capacity(decay.trees.len());
            for (at, tree) in decay.trees.iter().enumerate() {
                ids.push(match tree {
                    // The decaying particle is not at a vertex.
                    Tree::Leg(0) => TreeId::MAX,
                    Tree::Leg(leg) => leg_of(*leg).into(),
                    Tree::Vertex(node) => {
                        let mut node = with_children(node, |child| ids[child as usize]);
                        if ends.contains(&(at as TreeId)) {
                            node.propagator = propagator;
                        }
                        push(&mut trees, node)?
                    }
                });
            }
            roots.push(ends.iter().map(|&end| ids[end as usize]).collect());
            let count = decay.subprocess.particles.len() as u8 - 1;
            on_shell.push(OnShell {
                legs: (start..start + count).collect(),
                particle: decay.mother(),
            });
            on_shell.extend(decay.on_shell.iter().map(|line| OnShell {
                legs: line.legs.iter().map(|&leg| leg_of(leg)).collect(),
                particle: line.particle,
            }));
        }
        // For each tree, the decays below it, and a tree for each choice of these, the last varying fastest.
        let mut variants: Vec<(Vec<usize>, Vec<TreeId>)> = Vec::with_capacity(self.trees.len());
        for tree in &self.trees {
            let variant = match tree {
                Tree::Leg(leg) => match decay_of(usize::from(*leg)) {
                    Some(at) => (vec![at], roots[at].clone()),
                    None => (Vec::new(), vec![starts[usize::from(*leg)].into()]),
                },
                Tree::Vertex(node) => {
                    let (below, nodes) = choices(node, &variants, &roots);
                    let nodes = nodes.into_iter().map(|node| push(&mut trees, node));
                    (below, nodes.collect::<Result<_, String>>()?)
                }
            };
            variants.push(variant);
        }
        let ends = self.decayed_ends(&variants, &roots)?;
        let names: Vec<String> = decays
            .iter()
            .map(|(_, decay)| bracketed(&decay.name))
            .collect();
        let mut keys: Vec<String> = decays
            .iter()
            .map(|(leg, decay)| format!("{:?}{}", own.polarizations[*leg], decay.key))
            .collect();
        keys.sort_unstable();
        Ok(Chain {
            name: [&[self.name.clone()][..], &names].concat().join(", "),
            key: format!("{}{}", self.key, keys.concat()),
            subprocess: legs,
            trees,
            ends,
            on_shell,
        })
    }
}

/// The assignment of requested decays to decaying particles.
#[derive(Clone, Copy)]
enum Share {
    /// One for each decaying leg, in the order of the legs.
    ByLeg,
    /// One for each particle of a kind, in the order of the legs of that kind.
    ByKind,
    /// Each for every such particle.
    All,
}

/// Whether one of these decays is of this particle.
fn decays_of(decays: &[Chain], particle: ParticleId) -> bool {
    decays.iter().any(|chain| chain.mother() == particle)
}

/// The decays of this particle.
fn of_mother(decays: &[Chain], particle: ParticleId) -> Vec<&Chain> {
    let own = |chain: &&Chain| chain.mother() == particle;
    decays.iter().filter(own).collect()
}

/// The name, in parentheses if it has decays of its own.
fn bracketed(name: &str) -> String {
    match name.contains(',') {
        true => format!("({name})"),
        false => name.into(),
    }
}

/// The part of the propagator for a polarisation.
fn propagator(polarization: &[i8], spin: u8) -> Option<PropagatorPart> {
    match (polarization, spin) {
        ([], _) => Some(PropagatorPart::Whole),
        ([0], 3) => Some(PropagatorPart::Longitudinal),
        ([1, -1], 3) => Some(PropagatorPart::Transverse),
        ([AUXILIARY], 3) => Some(PropagatorPart::Auxiliary),
        ([1], 2) => Some(PropagatorPart::Right),
        ([-1], 2) => Some(PropagatorPart::Left),
        _ => None,
    }
}

fn push(trees: &mut Vec<Tree>, node: Node) -> Result<TreeId, String> {
    if trees.len() >= MAX_DIAGRAMS {
        return Err(format!(
            "more than {MAX_DIAGRAMS} trees; request lower coupling orders"
        ));
    }
    trees.push(Tree::Vertex(node));
    Ok(trees.len() as TreeId - 1)
}

fn with_children(node: &Node, mut f: impl FnMut(TreeId) -> TreeId) -> Node {
    Node {
        vertex: node.vertex,
        children: node
            .children
            .iter()
            .map(|child| child.map(&mut f))
            .collect(),
        propagator: node.propagator,
    }
}

/// The decays below a vertex, and the vertex for each choice of these.
fn choices(
    node: &Node,
    variants: &[(Vec<usize>, Vec<TreeId>)],
    roots: &[Vec<TreeId>],
) -> (Vec<usize>, Vec<Node>) {
    let children = || node.children.iter().flatten();
    let mut below: Vec<usize> = children()
        .flat_map(|&child| variants[child as usize].0.iter().copied())
        .collect();
    below.sort_unstable();
    let counts: Vec<usize> = below.iter().map(|&decay| roots[decay].len()).collect();
    let mut nodes = Vec::new();
    for choice in 0..counts.iter().product::<usize>() {
        // The choice for each decay.
        let mut rest = choice;
        let mut chosen = vec![0; counts.len()];
        for (at, count) in chosen.iter_mut().zip(&counts).rev() {
            (*at, rest) = (rest % count, rest / count);
        }
        nodes.push(with_children(node, |child| {
            let (decays, ids) = &variants[child as usize];
            let place = decays.iter().fold(0, |place, decay| {
                let at = below.iter().position(|b| b == decay).unwrap_or(0);
                place * counts[at] + chosen[at]
            });
            ids[place]
        }));
    }
    (below, nodes)
}

/// All choices of one element per list, the last varying fastest.
fn products<T: Clone>(lists: &[Vec<T>]) -> Result<Vec<Vec<T>>, String> {
    lists.iter().try_fold(vec![Vec::new()], |all, list| {
        if all.len().saturating_mul(list.len()) > MAX_PROCESSES {
            return Err(too_many());
        }
        let longer = all.iter().flat_map(|start: &Vec<T>| {
            list.iter().map(move |one| {
                let mut longer = start.clone();
                longer.push(one.clone());
                longer
            })
        });
        Ok(longer.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_have_a_limit() {
        assert_eq!(
            products(&[vec![1, 2], vec![3, 4]]).unwrap(),
            [[1, 3], [1, 4], [2, 3], [2, 4]]
        );
        let error = products(&vec![vec![0_u8; 11]; 10]).unwrap_err();
        assert!(error.contains("more than 2500000 processes"), "{error}");
    }
}
