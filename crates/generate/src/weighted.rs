//! The `WEIGHTED` from which MG5aMC searches for the lowest one with diagrams, `get_minimum_WEIGHTED` of its
//! base_objects.py. It may be above that, and then all diagrams up to it are taken.

use crate::model::{Model, ParticleId};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// The least `WEIGHTED` for legs of which each may be some particles: the sum of their weights without the two lowest.
/// The weight of a leg is the lowest level at which one of its particles has a vertex, and the level of a vertex the
/// largest weight of its coupling orders.
pub fn minimum(model: &Model, legs: &[Vec<ParticleId>]) -> u32 {
    let level = |orders: &[u32]| {
        let used = orders.iter().zip(&model.orders).filter(|(n, _)| **n > 0);
        used.map(|(_, (_, weight))| *weight).max()
    };
    let levels: BTreeSet<u32> = model
        .vertices
        .iter()
        .flat_map(|v| v.orders.iter().zip(&model.orders))
        .filter(|(n, _)| **n > 0)
        .map(|(_, (_, weight))| *weight)
        .collect();
    let mut lowest: HashMap<ParticleId, u32> = HashMap::default();
    for vertex in &model.vertices {
        // A vertex without coupling orders is of the first level.
        let level = level(&vertex.orders).or(levels.first().copied());
        for particle in &vertex.particles {
            let entry = lowest.entry(*particle).or_insert(u32::MAX);
            *entry = level.map_or(*entry, |level| level.min(*entry));
        }
    }
    let weight = |leg: &Vec<ParticleId>| leg.iter().filter_map(|p| lowest.get(p)).min().copied();
    let mut weights: Vec<u32> = legs.iter().filter_map(weight).collect();
    weights.sort_unstable();
    weights
        .iter()
        .skip(2)
        .fold(0, |sum, w| sum.saturating_add(*w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use std::path::Path;

    #[test]
    fn legs_without_the_two_lowest() {
        let model = Model::standard().unwrap();
        let minimum = |names: &str| {
            let legs = names.split(' ').map(|name| match model.labels.get(name) {
                Some(label) => label.clone(),
                None => vec![model.particle(name).unwrap()],
            });
            minimum(&model, &legs.collect::<Vec<_>>())
        };
        for (names, weighted) in [
            ("g g t t~", 2),
            ("u u~ e+ e- g", 5),
            ("e+ e- w+ w-", 4),
            ("p p h j", 3),
            ("t b w+", 2),
        ] {
            assert_eq!(minimum(names), weighted, "{names}");
        }
    }

    /// Where a heavier coupling joins particles that have lighter ones, MG5aMC takes it along.
    #[test]
    fn diagrams_up_to_it_are_taken() {
        let standard = include_str!("model/sm.toml");
        let more = "[[vertices]]\nparticles = \"e+ e- h\"\nterms = [\n    [\"1\", \"FFS4\", \"GC_99\"],\n]\n";
        let text = format!("{standard}\n{more}").replace("QED = 2\n", "QED = 3\nNP = 1\n");
        // The Yukawa coupling of leptons has a light order of its own, with which no pair of them becomes two W bosons.
        let text = text.replacen(
            "GC_99 = { value = \"-complex(0,1)*ytau/sqrt(2)\", orders = { QED = 1 } }",
            "GC_99 = { value = \"-complex(0,1)*ytau/sqrt(2)\", orders = { NP = 1 } }",
            1,
        );
        let model = Model::parse(&text, Path::new("my.toml")).unwrap();
        let process = |text: &str| crate::generate_with(text, &model).unwrap().remove(0);
        // Weights 1 and 1 of the leptons, 3 and 3 of the W bosons: 6, with photon, Z and neutrino, and e+ e- > h at 4.
        assert_eq!(process("e+ e- > w+ w-").diagrams, 4);
        assert_eq!(process("e+ e- > w+ w- WEIGHTED=4").diagrams, 1);
    }
}
