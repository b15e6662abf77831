//! The propagators of diagrams with their particles, which a process does not contain. Events are clustered along them.

use super::assembly::Assembler;
use super::matrix_element::MatrixElement;
use super::trees::{Diagram, Diagrams, Legs, Node, Tree, TreeId, legs_of};
use crate::model::{Model, ParticleId};
use mebridge_support::sorted::SortedMap;
use serde::Serialize;

/// The lines of a matrix element's diagrams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagramLines {
    /// PDG codes of the legs, incoming ones first.
    pub legs: Vec<i32>,
    /// Dimensions of colour by PDG code of all particles in the diagrams, negative for antitriplets and antisextets.
    pub colors: SortedMap<i32, i8>,
    /// The diagrams with a channel.
    pub diagrams: Vec<ChannelLines>,
}

/// A diagram with a channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelLines {
    /// Number of the diagram in the process, from 1.
    pub diagram: u32,
    /// Order in the strong coupling (`QCD`).
    pub qcd: u32,
    /// Number of legs of the largest vertex.
    pub largest_vertex: usize,
    /// Its lines.
    pub lines: Vec<DiagramLine>,
}

/// A propagator, seen from one of its ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagramLine {
    /// The legs on one side of the line, as bits, 1 for the first leg; either side may be listed.
    pub legs: u32,
    /// PDG code of the particle that flows to that side.
    pub pdg: i32,
    /// 1: on its mass shell (a decay chain); 2: off its mass shell (`$`); otherwise 0.
    pub forced: u8,
}

/// Lists the lines of a matrix element.
pub fn list(
    builder: &Assembler,
    element: &MatrixElement,
    diagrams: &Diagrams,
) -> Result<DiagramLines, String> {
    let model = builder.model;
    let behind = legs_of(&diagrams.trees);
    let mut walk = Walk {
        model,
        element,
        trees: &diagrams.trees,
        behind: &behind,
        lines: Vec::new(),
        qcd: 0,
    };
    let mut found: Vec<ChannelLines> = Vec::new();
    for (number, diagram) in (1..).zip(builder.colored(&element.subprocess, diagrams)?) {
        let Diagram {
            node,
            largest_vertex,
            ..
        } = diagram;
        walk.node(node);
        found.push(ChannelLines {
            diagram: number,
            qcd: std::mem::take(&mut walk.qcd),
            largest_vertex: *largest_vertex,
            lines: std::mem::take(&mut walk.lines),
        });
    }
    // The same choice of channels as in a process.
    let smallest = found.iter().map(|c| c.largest_vertex).min();
    found.retain(|c| Some(c.largest_vertex) == smallest);
    let legs = builder.pdg(&element.subprocess.particles);
    let others = element.others.iter().flat_map(|some| builder.pdg(some));
    let inner = found.iter().flat_map(|c| &c.lines).map(|line| line.pdg);
    let mut colors = SortedMap::new();
    for pdg in legs.iter().copied().chain(others).chain(inner) {
        let particle = model.particles.iter().find(|p| p.pdg == pdg);
        if let Some(particle) = particle {
            let anti = model.properties(particle.anti);
            colors.extend([(pdg, particle.color), (anti.pdg, anti.color)]);
        }
    }
    Ok(DiagramLines {
        legs,
        colors,
        diagrams: found,
    })
}

/// A traversal of a diagram.
struct Walk<'a> {
    model: &'a Model,
    element: &'a MatrixElement,
    trees: &'a [Tree],
    /// Legs of each tree.
    behind: &'a [Legs],
    lines: Vec<DiagramLine>,
    qcd: u32,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node) {
        let vertex = &self.model.vertices[node.vertex as usize];
        let strong = self.model.orders.iter().position(|(name, _)| name == "QCD");
        self.qcd += strong.map_or(0, |at| vertex.orders[at]);
        for (child, &particle) in node.children.iter().zip(&vertex.particles) {
            if let Some(child) = *child {
                self.tree(child, particle);
            }
        }
    }

    fn tree(&mut self, tree: TreeId, particle: ParticleId) {
        if let Tree::Vertex(node) = &self.trees[tree as usize] {
            let legs = self.behind[tree as usize];
            self.lines.push(DiagramLine {
                legs,
                pdg: self.model.properties(particle).pdg,
                forced: self.forced(legs, particle),
            });
            self.node(node);
        }
    }

    fn forced(&self, legs: Legs, particle: ParticleId) -> u8 {
        let subprocess = &self.element.subprocess;
        let incoming = (1 << subprocess.incoming) - 1;
        let everything = (1 << subprocess.outgoing.len()) - 1;
        // As seen from the outgoing side.
        let (side, particle) = match legs & incoming {
            0 => (legs, particle),
            some if some == incoming => (!legs & everything, self.model.anti(particle)),
            _ => return 0,
        };
        let same = |of: &[u8]| of.iter().fold(0, |all, leg| all | 1 << leg) == side;
        let on_shell = &self.element.on_shell;
        if on_shell.iter().any(|line| same(&line.legs)) {
            return 1;
        }
        let decayed = on_shell.iter().any(|line| line.particle == particle);
        match self.element.off_shell.contains(&particle) && !decayed {
            true => 2,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::MatrixElements;
    use crate::model::Model;

    fn of(text: &str) -> super::DiagramLines {
        let model = Model::standard().unwrap();
        let elements = MatrixElements::parse(text, &model).unwrap();
        elements.lines(0).unwrap().unwrap()
    }

    /// Codes of lines at a W, which do not follow from the legs.
    #[test]
    fn quarks_change_at_a_w() {
        let found = of("g p > w+ j");
        assert_eq!(found.legs, [21, 2, 24, 1]);
        // Also those of the other generation.
        let colors = [-2, 21, 24, -4, 3].map(|pdg| found.colors[&pdg]);
        assert_eq!(colors, [-3, 8, 1, -3, 3]);
        let mut codes = Vec::new();
        for channel in &found.diagrams {
            let [line] = channel.lines.as_slice() else {
                panic!("{channel:?}");
            };
            assert_eq!((channel.qcd, channel.largest_vertex), (1, 3));
            // Seen from the side of the first leg.
            let own = line.legs & 1 == 1;
            let legs = if own { line.legs } else { !line.legs & 15 };
            codes.push((legs, if own { line.pdg } else { -line.pdg }));
        }
        codes.sort_unstable();
        // g u becomes u, seen as an outgoing u~; g and an outgoing d~ give d.
        assert_eq!(codes, [(0b0011, -2), (0b1001, 1)]);
    }

    #[test]
    fn orders_and_channels_of_jets() {
        let found = of("u u~ > u u~ QCD=2 QED=2");
        let orders: Vec<u32> = found.diagrams.iter().map(|c| c.qcd).collect();
        assert_eq!(orders.iter().filter(|&&n| n == 2).count(), 2);
        // The photon and the Z boson in two channels each.
        assert_eq!(orders.iter().filter(|&&n| n == 0).count(), 4);
        // The vertex of four gluons has no channel.
        let found = of("g g > g g");
        assert_eq!(found.diagrams.len(), 3);
    }

    #[test]
    fn lines_on_and_off_their_mass_shell() {
        let found = of("g g > t t~, t > w+ b");
        for channel in &found.diagrams {
            let on_shell = channel.lines.iter().filter(|line| line.forced == 1);
            assert_eq!(on_shell.count(), 1);
        }
        let found = of("u u~ > e+ e- g $ z");
        let forced = |pdg: i32| {
            let lines = found.diagrams.iter().flat_map(|c| &c.lines);
            let some = lines.filter(|line| line.pdg.abs() == pdg);
            some.map(|line| line.forced).collect::<Vec<_>>()
        };
        assert_eq!((forced(23), forced(22)), (vec![2, 2], vec![0, 0]));
    }
}
