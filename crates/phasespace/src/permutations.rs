//! Diagrams that differ only by a permutation of the legs.
//!
//! A diagram is a tree: its ends are the legs, its edges the propagators. Diagrams that become the same tree when legs
//! are exchanged have the same mapping of phase space. Such channels are sampled as one, with all permutations equally
//! often, so that the adaptation to one mapping benefits from the points of all.

use super::diagram::{Diagram, Error, OutgoingSide, Spine};
use mebridge_support::sorted::SortedMap;

/// A permutation of the legs.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    /// For each outgoing leg, from 0, the leg whose place it takes.
    pub legs: Vec<usize>,
    /// Whether the incoming legs are exchanged: the event is rotated by pi about the x axis.
    pub turned: bool,
}

impl Permutation {
    /// The identity.
    pub fn identity(legs: usize) -> Self {
        Permutation {
            legs: (0..legs).collect(),
            turned: false,
        }
    }
}

/// Diagrams with the same tree.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutedDiagrams {
    /// The numbers of the diagrams; the first one defines the mapping.
    pub members: Vec<usize>,
    /// For each of them, the permutation from the legs of the first diagram to its own.
    pub permutations: Vec<Permutation>,
}

/// Groups diagrams by their trees, in the order of their first members.
///
/// `labels` has a label for each outgoing leg: legs with the same label may be exchanged. `codes` has a number for each
/// propagator of each diagram, which must agree in addition to mass and width. With `turns`, the incoming legs may be
/// exchanged, too.
///
/// # Errors
/// A diagram is not a tree.
pub fn permuted<L: std::fmt::Debug>(
    diagrams: &[Diagram],
    labels: &[L],
    codes: &[Vec<i32>],
    turns: bool,
) -> Result<Vec<PermutedDiagrams>, Error> {
    let mut places: SortedMap<String, usize> = SortedMap::new();
    let mut found: Vec<(Vec<usize>, bool, PermutedDiagrams)> = Vec::new();
    for (number, (diagram, codes)) in diagrams.iter().zip(codes).enumerate() {
        let (name, order, turned) = canonical(diagram, labels, codes, turns)?;
        let place = *places.entry(name).or_insert(found.len());
        if place == found.len() {
            let nothing = PermutedDiagrams {
                members: Vec::new(),
                permutations: Vec::new(),
            };
            found.push((order.clone(), turned, nothing));
        }
        let (first, first_turned, of) = &mut found[place];
        let mut legs = vec![0; order.len()];
        for (&from, &to) in first.iter().zip(&order) {
            legs[from] = to;
        }
        of.members.push(number);
        of.permutations.push(Permutation {
            legs,
            turned: turned != *first_turned,
        });
    }
    Ok(found.into_iter().map(|(_, _, of)| of).collect())
}

/// Returns the canonical name of a tree, the legs in the order of that name, and whether it is seen from the second
/// beam.
///
/// # Errors
/// The diagram is not a tree.
pub fn canonical<L: std::fmt::Debug>(
    diagram: &Diagram,
    labels: &[L],
    codes: &[i32],
    turns: bool,
) -> Result<(String, Vec<usize>, bool), Error> {
    let mut spine = diagram.spine()?;
    let (name, order) = along(&spine, labels, codes);
    if turns {
        spine.out.reverse();
        spine.exchanged.reverse();
        spine.numbers.reverse();
        let (other, turned) = along(&spine, labels, codes);
        if other < name {
            return Ok((other, turned, true));
        }
    }
    Ok((name, order, false))
}

fn along<L: std::fmt::Debug>(spine: &Spine, labels: &[L], codes: &[i32]) -> (String, Vec<usize>) {
    let (mut name, mut order) = (String::new(), Vec::new());
    for (place, out) in spine.out.iter().enumerate() {
        let (of, legs) = together(out, labels, codes);
        name += &of;
        order.extend(legs);
        if let Some((one, number)) = spine.exchanged.get(place).zip(spine.numbers.get(place)) {
            name += &format!("t{} {} {}", codes[*number], one.mass, one.width);
        }
    }
    (name, order)
}

fn together<L: std::fmt::Debug>(
    branches: &[OutgoingSide],
    labels: &[L],
    codes: &[i32],
) -> (String, Vec<usize>) {
    let mut parts: Vec<(String, Vec<usize>)> = Vec::new();
    for branch in branches {
        let Some((of, number)) = branch.propagator.zip(branch.number) else {
            let leg = branch.legs.trailing_zeros() as usize;
            parts.push((format!("o{:?}", labels[leg]), vec![leg]));
            continue;
        };
        let (inside, legs) = together(&branch.children, labels, codes);
        let name = format!("p{} {} {}{inside}", codes[number], of.mass, of.width);
        parts.push((name, legs));
    }
    parts.sort();
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    let name = format!("({})", names.join(" "));
    (name, parts.into_iter().flat_map(|(_, legs)| legs).collect())
}
