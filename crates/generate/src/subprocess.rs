//! Expansion of labels into processes, and explanations if there are none.

use super::request::{ProcessRequest, RequestedLeg};
use super::trees::CouplingOrders;
use crate::model::{Model, ParticleId};
use mebridge_support::sorted::SortedSet;
use rustc_hash::FxHashSet as HashSet;

/// Most processes from a text with labels; `p p > j j j j j j j` with five flavours has about this many.
pub const MAX_PROCESSES: usize = 2_500_000;

/// A process without labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subprocess {
    /// Number of incoming particles.
    pub incoming: usize,
    /// The particles of the legs.
    pub particles: Vec<ParticleId>,
    /// The same, with incoming particles replaced by their antiparticles: all outgoing.
    pub outgoing: Vec<ParticleId>,
    /// The allowed helicities of each leg; empty for all.
    pub polarizations: Vec<Vec<i8>>,
    /// Divisor of |M|^2 for identical outgoing particles.
    pub identical: u32,
}

impl Subprocess {
    /// Expands a request into its processes. Final states that differ only in their order are the same, as are
    /// processes with exchanged beams, if both are requested.
    pub fn expand(request: &ProcessRequest, model: &Model) -> Result<Vec<Subprocess>, String> {
        type Legs = Vec<(ParticleId, Vec<i8>)>;
        // A massless particle cannot be longitudinal; if that is the only choice of a leg, there is no process.
        let legs = |particles: &[ParticleId], requested: &[RequestedLeg]| -> Option<Legs> {
            let leg = |(&p, requested): (&ParticleId, &RequestedLeg)| {
                let mut polarization = requested.polarization.clone();
                if model.properties(p).mass.is_none() {
                    polarization.retain(|&h| h != 0);
                }
                (polarization.is_empty() == requested.polarization.is_empty())
                    .then_some((p, polarization))
            };
            particles.iter().zip(requested).map(leg).collect()
        };
        let mut seen: HashSet<Legs> = HashSet::default();
        let mut final_states: Vec<Legs> = Vec::new();
        for outgoing in ascending(&request.outgoing)? {
            let Some(after) = legs(&outgoing, &request.outgoing) else {
                continue;
            };
            let mut sorted = after.clone();
            sorted.sort_unstable();
            if seen.insert(sorted) {
                final_states.push(after);
            }
        }
        let mut seen: HashSet<Legs> = HashSet::default();
        let mut initial_states: Vec<(Vec<ParticleId>, Legs)> = Vec::new();
        for incoming in product(&request.incoming)? {
            let Some(before) = legs(&incoming, &request.incoming) else {
                continue;
            };
            let exchanged: Legs = before.iter().rev().cloned().collect();
            if !seen.contains(&exchanged) && seen.insert(before.clone()) {
                initial_states.push((incoming, before));
            }
        }
        if initial_states.len().saturating_mul(final_states.len()) > MAX_PROCESSES {
            return Err(too_many());
        }
        let mut all = Vec::new();
        for (incoming, before) in initial_states {
            for after in &final_states {
                let outgoing = || after.iter().map(|&(p, _)| p);
                let anti = incoming.iter().map(|&p| model.anti(p));
                all.push(Subprocess {
                    incoming: incoming.len(),
                    particles: incoming.iter().copied().chain(outgoing()).collect(),
                    outgoing: anti.chain(outgoing()).collect(),
                    polarizations: before.iter().chain(after).map(|(_, p)| p.clone()).collect(),
                    identical: (0..after.len())
                        .map(|i| after[..=i].iter().filter(|leg| **leg == after[i]).count() as u32)
                        .product(),
                });
            }
        }
        Ok(all)
    }

    /// The name of a conservation law that the process violates, if any.
    pub fn violates<'a>(&self, model: &'a Model) -> Option<&'a str> {
        let sum = |charge: usize| -> i32 {
            let charges = self
                .outgoing
                .iter()
                .map(|&p| model.properties(p).charges[charge]);
            charges.sum()
        };
        // Triality is the additive part of colour; a sextet has that of two triplets.
        let triality = self
            .outgoing
            .iter()
            .map(|&p| match model.properties(p).color {
                3 | -6 => 1,
                -3 | 6 => -1,
                _ => 0,
            });
        let triality: i32 = triality.sum();
        let colored = self
            .outgoing
            .iter()
            .filter(|&&p| model.properties(p).color != 1)
            .count();
        if triality % 3 != 0 || colored == 1 {
            return Some("colour");
        }
        let spin = self
            .outgoing
            .iter()
            .filter(|&&p| model.properties(p).is_fermion())
            .count();
        if spin % 2 != 0 {
            return Some("angular momentum");
        }
        let charges = model.charges.iter().enumerate();
        let mut violated = charges.filter(|(i, _)| sum(*i) != 0);
        violated.next().map(|(_, name)| name.as_str())
    }
}

/// Whether the number of quarks of a generation is not conserved.
fn changes_generations(particles: &[ParticleId], model: &Model) -> bool {
    let quarks = |generation: i32| -> i32 {
        let codes = particles.iter().map(|&p| model.properties(p).pdg);
        let of =
            codes.filter(|code| matches!(code.abs(), 1..=6) && (code.abs() + 1) / 2 == generation);
        of.map(i32::signum).sum()
    };
    (1..=3).any(|generation| quarks(generation) != 0)
}

/// All choices of one particle per leg, the last varying fastest.
fn product(legs: &[RequestedLeg]) -> Result<Vec<Vec<ParticleId>>, String> {
    let all = |_: &[usize], _: usize| 0;
    choices(legs, &all)
}

/// The same, without choices that differ from an earlier one only by a permutation of equal legs.
fn ascending(legs: &[RequestedLeg]) -> Result<Vec<Vec<ParticleId>>, String> {
    choices(legs, &|taken, place| {
        let before = (0..place).rev().find(|&at| legs[at] == legs[place]);
        before.map_or(0, |at| taken[at])
    })
}

/// The error for labels with too many processes.
pub fn too_many() -> String {
    format!(
        "its labels stand for more than {MAX_PROCESSES} processes; define smaller ones, or use fewer particles"
    )
}

/// Choices of one particle per leg; `first` gives the lowest index for a leg, given the indices of the earlier legs.
fn choices(
    legs: &[RequestedLeg],
    first: &dyn Fn(&[usize], usize) -> usize,
) -> Result<Vec<Vec<ParticleId>>, String> {
    let taken = (0..legs.len()).try_fold(vec![Vec::new()], |all, place| {
        let last = |start: &Vec<usize>| first(start, place)..legs[place].particles.len();
        let count: usize = all.iter().map(|start| last(start).len()).sum();
        if count > MAX_PROCESSES {
            return Err(too_many());
        }
        let longer = all.iter().flat_map(|start: &Vec<usize>| {
            last(start).map(move |last| {
                let mut longer = start.clone();
                longer.push(last);
                longer
            })
        });
        Ok(longer.collect())
    })?;
    let particles = |taken: &Vec<usize>| {
        taken
            .iter()
            .zip(legs)
            .map(|(&i, l)| l.particles[i])
            .collect()
    };
    Ok(taken.iter().map(particles).collect())
}

/// The error for requested coupling orders that no diagram has, given the lowest possible orders.
pub fn too_few(lowest: &CouplingOrders, model: &Model) -> String {
    let names = model
        .orders
        .iter()
        .map(|(name, _)| name.as_str())
        .chain(["WEIGHTED"]);
    let needed = names.zip(lowest).filter(|(_, n)| **n > 0);
    let needed: Vec<String> = needed.map(|(name, n)| format!("{name}>={n}")).collect();
    format!(
        "no diagram has these coupling orders; every one has at least {}",
        needed.join(", ")
    )
}

/// The error for a request without any process.
pub fn why_none(
    all: &[Subprocess],
    request: &ProcessRequest,
    lowest: &[&CouplingOrders],
    model: &Model,
) -> String {
    let violated: Vec<&str> = all.iter().filter_map(|one| one.violates(model)).collect();
    if violated.len() == all.len()
        && let Some(first) = violated.first()
    {
        let what: SortedSet<&str> = violated.iter().copied().collect();
        return match all.len() {
            1 => format!("{first} is not conserved; change the particles"),
            _ => format!(
                "no process of these labels conserves all of {}; change the particles",
                Vec::from_iter(what).join(", ")
            ),
        };
    }
    if let Some(first) = lowest.first() {
        return too_few(first, model);
    }
    if request.s_channels.select() {
        return "there are no diagrams with these s-channels".into();
    }
    match request.excluded.is_empty() {
        true => {
            let mut allowed = all.iter().filter(|one| one.violates(model).is_none());
            let mut vertices = model.vertices.iter();
            let kept = vertices.all(|vertex| !changes_generations(&vertex.particles, model));
            let why = match kept && allowed.all(|one| changes_generations(&one.outgoing, model)) {
                true => {
                    "its quarks keep their generation (no vertex changes it, the CKM matrix is 1), and the labels p and j \
                     contain no b; name the quarks explicitly"
                }
                false => {
                    "no conservation law forbids it, but it may only occur through loops, which are not evaluated"
                }
            };
            format!(
                "there are no tree diagrams in the model {}: {why}",
                model.name
            )
        }
        false => "there are no diagrams without the excluded particles".into(),
    }
}
