//! Diagrams that are one but for a permutation of the legs.
//!
//! A diagram is a tree: its ends are the legs, its edges the propagators. Two diagrams are the same tree where legs take
//! each other's places, and have the same mapping of phase space then. Such channels are sampled as one, each permutation
//! as often as the others: what is learned of one holds for all, and so many more points teach it.

use super::diagram::{Diagram, Error, OutgoingSide, Spine};
use std::collections::BTreeMap;

/// Which legs take which places.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    /// For each leg that goes out, counted from 0, the one whose place it takes.
    pub legs: Vec<usize>,
    /// Whether the legs that come in take each other's places: the event is turned by half a turn about the x axis.
    pub turned: bool,
}

impl Permutation {
    /// Each leg in its own place.
    pub fn none(legs: usize) -> Self {
        Permutation {
            legs: (0..legs).collect(),
            turned: false,
        }
    }
}

/// Diagrams with one tree.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutedDiagrams {
    /// Which ones; the first has the mapping.
    pub members: Vec<usize>,
    /// For each of them, how the legs of the first become its own.
    pub permutations: Vec<Permutation>,
}

/// Puts together diagrams by their trees, in the order of the first of each.
///
/// `labels` has a name for each leg that goes out: those with the same one may take each other's places. `codes` has a
/// number for each propagator of each diagram, which counts besides its mass and its width. With `turns` both legs that
/// come in have one label, too.
///
/// # Errors
/// A diagram is no tree.
pub fn permuted<L: std::fmt::Debug>(
    diagrams: &[Diagram],
    labels: &[L],
    codes: &[Vec<i32>],
    turns: bool,
) -> Result<Vec<PermutedDiagrams>, Error> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
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

/// The name of a tree, the legs in the order of that name, and whether it is as seen from the second beam.
///
/// # Errors
/// The diagram is no tree.
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
