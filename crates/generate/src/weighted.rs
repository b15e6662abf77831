//! The `WEIGHTED` that MG5aMC chooses if no coupling orders are given: `get_minimum_WEIGHTED` of base_objects.py, where
//! its search starts, and `find_optimal_process_orders` of diagram_generation.py. It may be above the lowest value with
//! diagrams; then all diagrams up to it are taken.

use crate::model::{Model, ParticleId};
use crate::subprocess::Subprocess;
use crate::trees::{CouplingOrders, Lowest, Node, Rules, Tree};
use rustc_hash::FxHashMap as HashMap;
use std::ops::RangeInclusive;

/// PDG code of the gluon, in all models.
const GLUON: i32 = 21;
/// The coupling order of the gluon.
const STRONG: &str = "QCD";

/// The least `WEIGHTED` for legs with sets of possible particles: the sum of the legs' weights except the two lowest.
/// The weight of a leg is the lowest level of any vertex of its particles; the level of a vertex is the largest weight
/// of its coupling orders.
pub fn minimum(model: &Model, legs: &[Vec<ParticleId>]) -> u32 {
    let (lowest, _) = levels(model);
    let weight = |leg: &Vec<ParticleId>| leg.iter().filter_map(|p| lowest.get(p)).min().copied();
    let mut weights: Vec<u32> = legs.iter().filter_map(weight).collect();
    weights.sort_unstable();
    weights
        .iter()
        .skip(2)
        .fold(0, |sum, w| sum.saturating_add(*w))
}

/// The lowest level at which each particle has a vertex, and the lowest level of all.
fn levels(model: &Model) -> (HashMap<ParticleId, u32>, Option<u32>) {
    let used = model
        .vertices
        .iter()
        .flat_map(|v| v.orders.iter().zip(&model.orders));
    let weights = used
        .filter(|(n, _)| **n > 0)
        .map(|(_, (_, weight))| *weight);
    let first = weights
        .chain(model.vertices.iter().filter_map(|v| v.level))
        .min();
    let mut lowest: HashMap<ParticleId, u32> = HashMap::default();
    for vertex in &model.vertices {
        // A vertex without coupling orders has the lowest level.
        let level = vertex.level.or(first);
        for particle in &vertex.particles {
            let entry = lowest.entry(*particle).or_insert(u32::MAX);
            *entry = level.map_or(*entry, |level| level.min(*entry));
        }
    }
    (lowest, first)
}

/// The lowest `WEIGHTED` at which any of these processes has diagrams without its outgoing gluons, plus the weight of
/// the gluons' couplings. If gluons couple at the lowest level, MG5aMC considers only this value; if no process has
/// such diagrams, as g h > h, it takes all that fit into three-leg vertices. `processes` have the lowest orders of
/// their diagrams; `required` is whether diagrams must have an s-channel.
pub fn without_gluons<'s>(
    model: &Model,
    rules: &Rules,
    required: bool,
    processes: impl Iterator<Item = (&'s Subprocess, Option<&'s CouplingOrders>)>,
) -> u32 {
    let (lowest, first) = levels(model);
    let is_gluon = |particle: ParticleId| model.properties(particle).pdg == GLUON;
    let gluon = lowest.iter().find(|(particle, _)| is_gluon(**particle));
    let strong = model.orders.iter().find(|(name, _)| name == STRONG);
    let (Some((_, level)), Some((_, weight))) = (gluon, strong) else {
        return 0;
    };
    if Some(*level) != first {
        return 0;
    }
    let (mut least, mut vertices) = (None, 0);
    for (process, whole) in processes {
        let (before, behind) = process.outgoing.split_at(process.incoming);
        let others = behind.iter().filter(|p| !is_gluon(**p));
        let others: Vec<ParticleId> = before.iter().chain(others).copied().collect();
        let removed = process.outgoing.len() - others.len();
        let orders = match others[..] {
            _ if removed == 0 => whole.and_then(|orders| orders.last().copied()),
            [] | [_] => None,
            // A line that passes through, without s-channel.
            [a, b] => (!required && model.anti(a) == b).then_some(0),
            _ => rules
                .lowest(&others)
                .whole
                .and_then(|orders| orders.last().copied()),
        };
        let orders = orders.map(|orders| orders + removed as u32 * weight);
        least = least.into_iter().chain(orders).min();
        vertices = vertices.max(process.outgoing.len().saturating_sub(2) as u32);
    }
    least.unwrap_or_else(|| vertices * largest(model))
}

/// Whether the selection of diagrams by `WEIGHTED` depends on how vertices of negative weight count. MG5aMC bounds the
/// parts of a diagram while joining them, so its selection is between bounding the total sum and bounding the sum
/// without negative weights. A search for the lowest `WEIGHTED` started at `searched_from`, and found nothing below.
pub fn depends_on_negative(
    model: &Model,
    rules: &Rules,
    found: &[(Subprocess, Lowest)],
    orders: &[RangeInclusive<u32>],
    searched_from: Option<u32>,
) -> Result<bool, String> {
    let Some((range, before)) = orders.split_last() else {
        return Ok(false);
    };
    let most = model.vertices.iter().map(|v| -v.weighted).max();
    let (Some(most @ 1..), true) = (most, *range != (0..=u32::MAX)) else {
        return Ok(false);
    };
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let bounds = i64::from(*range.start())..=i64::from(*range.end());
    let searched = searched_from.is_some_and(|from| from < *range.end());
    for (process, lowest) in found {
        let vertices = process.outgoing.len().saturating_sub(2) as u32;
        let more = vertices.saturating_mul(most);
        let wider = 0..=range.end().saturating_add(more);
        let orders = [before, &[wider]].concat();
        let depends = |[plain, signed]: [i64; 2]| {
            let within = [plain, signed].map(|x| bounds.contains(&x.max(0)));
            within[0] != within[1] || searched && signed < *bounds.end()
        };
        if sums(model, rules, process, lowest, &orders)?
            .into_iter()
            .any(depends)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The weight of each diagram, or tree of a decay: with negative weights counted as zero, and as they are.
fn sums(
    model: &Model,
    rules: &Rules,
    process: &Subprocess,
    lowest: &Lowest,
    orders: &[RangeInclusive<u32>],
) -> Result<Vec<[i64; 2]>, String> {
    let sum = |node: &Node, below: &[[i64; 2]]| {
        let own = model.vertices[node.vertex as usize].weighted;
        let trees = node.children.iter().flatten();
        trees.fold([own.max(0), own], |sum, &tree| {
            let tree = below[tree as usize];
            [sum[0] + tree[0], sum[1] + tree[1]]
        })
    };
    let of_trees = |trees: &[Tree]| {
        let mut found: Vec<[i64; 2]> = Vec::new();
        for tree in trees {
            found.push(match tree {
                Tree::Leg(_) => [0, 0],
                Tree::Vertex(node) => sum(node, &found),
            });
        }
        found
    };
    Ok(match process.incoming {
        1 => {
            let (trees, roots) = rules.decays(&process.outgoing, lowest, orders)?;
            let of_trees = of_trees(&trees);
            roots.iter().map(|&root| of_trees[root as usize]).collect()
        }
        _ => {
            let found = rules.diagrams(&process.outgoing, lowest, orders)?;
            let of_trees = of_trees(&found.trees);
            let nodes = found.diagrams.iter().map(|diagram| &diagram.node);
            nodes.map(|node| sum(node, &of_trees)).collect()
        }
    })
}

/// The largest weight of a vertex, per three-leg vertex that would replace it.
fn largest(model: &Model) -> u32 {
    let of = |v: &crate::model::Vertex| v.weight() / (v.particles.len().max(3) as u32 - 2);
    model.vertices.iter().map(of).max().unwrap_or(0)
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

    /// With an effective vertex of gluons and the Higgs boson: g h > h has no diagrams, so all of g h > g h are taken.
    #[test]
    fn gluons_that_go_out_are_left_out_of_the_search() {
        let standard = include_str!("model/sm.toml");
        let more = "[[vertices]]\nparticles = \"g g h\"\nterms = [[\"Identity(1,2)\", \"GGH\", \"GC_HIG\"]]\n";
        let text = format!("{standard}\n{more}")
            .replacen("[orders]\n", "[orders]\nHIG = 1\n", 1)
            .replacen(
                "[couplings]\n",
                "[couplings]\nGC_HIG = { value = \"complex(0,1)*1e-5\", orders = { HIG = 1 } }\n",
                1,
            )
            .replacen(
                "[lorentz]\n",
                "[lorentz]\nGGH = \"P(1,2)*P(2,1) - P(-1,1)*P(-1,2)*Metric(1,2)\"\n",
                1,
            );
        let model = Model::parse(&text, Path::new("my.toml")).unwrap();
        // Two g g h vertices have WEIGHTED 2, the diagram with the Higgs self-coupling has 3.
        for (text, name, diagrams) in [
            ("g h > g h", "g h > g h WEIGHTED<=4", 3),
            ("g h > g h WEIGHTED=2", "g h > g h WEIGHTED=2", 2),
            ("g g > h g", "g g > h g WEIGHTED<=2", 3),
            ("g h > g g", "g h > g g WEIGHTED<=4", 3),
            ("h h > g g", "h h > g g WEIGHTED<=2", 2),
            ("u u~ > g g", "u u~ > g g WEIGHTED<=2", 3),
            ("b b~ > h > g g", "b b~ > h > g g WEIGHTED<=4", 1),
        ] {
            let process = crate::generate_with(text, &model).unwrap().remove(0);
            assert_eq!((&*process.name, process.diagrams), (name, diagrams));
        }
    }

    /// MG5aMC includes heavier couplings between particles that also have lighter ones.
    #[test]
    fn diagrams_up_to_it_are_taken() {
        let standard = include_str!("model/sm.toml");
        let more = "[[vertices]]\nparticles = \"e+ e- h\"\nterms = [\n    [\"1\", \"FFS4\", \"GC_99\"],\n]\n";
        let text = format!("{standard}\n{more}").replace("QED = 2\n", "QED = 3\nNP = 1\n");
        // The leptons' Yukawa coupling has its own light order, which cannot produce two W bosons from a pair of
        // leptons.
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
