//! A [`Process`] from diagrams.

use super::color::{Child, TreeColor, VertexColor};
use super::color_ordered::ColorOrderedLegs;
use super::flows;
use super::matrix::matrix;
use super::number::Number;
use super::strings::Strings;
use super::subprocess::Subprocess;
use super::trees::{Diagrams, Node, Tree, TreeId};
use crate::model::lorentz::Structure;
use crate::model::{Model, Parameters, ParticleId, derive};
use mebridge_process::channels::{Amp2, Channels};
use mebridge_process::lorentz::Routine;
use mebridge_process::{
    Amplitudes, Contract, CouplingRef, External, ExternalKind, HelicitySum, Leg, LinearMap,
    Process, Quantity, Term, TermSource, Vertex, Wavefunction,
};
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Colour flows beyond this have a colour matrix of gigabytes.
const MOST_FLOWS: usize = 10_000;
/// Combinations of helicities that a process may have.
const MOST_HELICITIES: usize = 1 << 22;

/// What all processes of a model share.
pub struct Assembler<'a> {
    model: &'a Model,
    colors: RefCell<HashMap<(u32, usize), Rc<VertexColor>>>,
    routines: RefCell<HashMap<RoutineKey, Rc<Routine>>>,
}

/// Lorentz structures, spins of the legs, the result, and whether that is a massless vector.
type RoutineKey = (Vec<u32>, Vec<u8>, Option<usize>, bool);

/// One way to go through a tree: a wavefunction, and its colour.
type ColoredTree = (u32, Rc<TreeColor>);

/// What is at a leg of a vertex.
enum Below {
    Leg(u8),
    Ways(Rc<Vec<ColoredTree>>),
}

impl Below {
    fn count(&self) -> usize {
        match self {
            Below::Leg(_) => 1,
            Below::Ways(ways) => ways.len(),
        }
    }
}

impl<'a> Assembler<'a> {
    /// Nothing is known yet.
    pub fn new(model: &'a Model) -> Self {
        Assembler {
            model,
            colors: RefCell::default(),
            routines: RefCell::default(),
        }
    }

    fn assembly<'b>(&'b self, trees: &'b [Tree]) -> Assembly<'b> {
        Assembly {
            shared: self,
            trees,
            ways: vec![None; trees.len()],
            parameters: Parameters::new(self.model),
            routines: Vec::new(),
            routine_ids: HashMap::default(),
            wavefunctions: Vec::new(),
        }
    }

    /// Whether any of these diagrams has colour.
    pub fn has_color(&self, diagrams: &Diagrams) -> Result<bool, String> {
        let mut assembly = self.assembly(&diagrams.trees);
        for diagram in &diagrams.diagrams {
            let found = assembly.vertices(&diagram.node, None)?;
            if found.iter().any(|(_, color)| !color.is_zero()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The vertices of the colour-ordered form with these coupling orders, if there is one.
    pub fn ordered_vertices(
        &self,
        line: &ColorOrderedLegs,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<Option<Vec<u32>>, String> {
        let vertices = line.vertices(&mut self.assembly(&[]), allowed)?;
        Ok(vertices.map(|vertices| vertices.numbers()))
    }

    /// A process by recursion alone, if it has such a form with these coupling orders.
    pub fn color_ordered(
        &self,
        subprocess: &Subprocess,
        line: &ColorOrderedLegs,
        allowed: &[RangeInclusive<u32>],
        tail: &str,
    ) -> Result<Option<Process>, String> {
        let mut assembly = self.assembly(&[]);
        let helicities = self.helicities(subprocess)?;
        let legs = assembly.externals(subprocess);
        let Some(form) = line.form(&mut assembly, allowed)? else {
            return Ok(None);
        };
        let strings = line.strings()?;
        let lines = strings.iter();
        let lines = lines.map(|f| flows::lines(f, subprocess.outgoing.len(), subprocess.incoming));
        Ok(Some(Process {
            legs,
            helicities,
            // One configuration, so that colour flows can be asked for.
            channels: Channels {
                color_allowed: vec![vec![true; strings.len()]],
                color_flows: lines.collect(),
                amp2: Vec::new(),
                config_diagram: vec![0],
            },
            ..self.of_assembly(subprocess, tail, assembly, Amplitudes::ColorOrdered(form))?
        }))
    }

    /// A process with these wavefunctions and amplitudes; legs, helicities and channels are to be given.
    fn of_assembly(
        &self,
        subprocess: &Subprocess,
        tail: &str,
        assembly: Assembly,
        amplitudes: Amplitudes,
    ) -> Result<Process, String> {
        Ok(Process {
            name: self.name(subprocess, tail),
            model_name: self.model.name.clone(),
            legs: Vec::new(),
            other_flavours: Vec::new(),
            helicities: Vec::new(),
            helicity_sum: HelicitySum::Positive,
            beam_weights: Vec::new(),
            iden: self.iden(subprocess),
            channels: Channels::default(),
            model: assembly.parameters.finish()?,
            routines: assembly.routines,
            wavefunctions: assembly.wavefunctions,
            amplitudes,
            diagrams: 0,
            flow_weights: Vec::new(),
            contract: Contract::Unknown,
        })
    }

    /// The PDG codes of particles.
    pub fn pdg(&self, particles: &[ParticleId]) -> Vec<i32> {
        particles.iter().map(|&p| self.model.of(p).pdg).collect()
    }

    /// What a process is called.
    pub fn name(&self, subprocess: &Subprocess, tail: &str) -> String {
        let names = |particles| self.model.names(particles);
        let (incoming, outgoing) = subprocess.particles.split_at(subprocess.incoming);
        format!("{} > {}{tail}", names(incoming), names(outgoing))
    }

    /// The process with these diagrams, if one of them has colour. `line` says that it may have a colour-ordered form.
    pub fn process(
        &self,
        subprocess: &Subprocess,
        diagrams: &Diagrams,
        line: Option<&ColorOrderedLegs>,
        allowed: &[RangeInclusive<u32>],
        tail: &str,
    ) -> Result<Option<Process>, String> {
        let mut assembly = self.assembly(&diagrams.trees);
        let helicities = self.helicities(subprocess)?;
        let legs = assembly.externals(subprocess);
        let mut flows = Flows::default();
        let mut amplitudes = Vec::new();
        let mut count = 0;
        let mut squares = Vec::new();
        for diagram in &diagrams.diagrams {
            let first = amplitudes.len() as u32;
            let found = assembly.vertices(&diagram.node, None)?;
            for (vertex, color) in found {
                if color.is_zero() {
                    continue;
                }
                flows.add(amplitudes.len() as u32, count, &color, diagram.negative)?;
                amplitudes.push(vertex);
            }
            let last = amplitudes.len() as u32;
            if first < last {
                count += 1;
                squares.push((diagram.largest_vertex, first..last));
            }
        }
        if amplitudes.is_empty() {
            return Ok(None);
        }
        // Channels are the diagrams without a larger vertex than needed.
        let smallest = squares.iter().map(|(size, _)| *size).min();
        let channels = (1..).zip(&squares).filter(|(_, s)| Some(s.0) == smallest);
        let amp2: Vec<Amp2> = channels
            .map(|(diagram, (_, amplitudes))| Amp2 {
                diagram,
                squares: amplitudes.clone().map(|a| vec![a]).collect(),
            })
            .collect();
        let config_diagram: Vec<u32> = amp2.iter().map(|a| a.diagram).collect();
        let sorted = flows.sorted();
        let lines = sorted.flows.iter();
        let lines = lines.map(|f| flows::lines(f, subprocess.outgoing.len(), subprocess.incoming));
        let color_ordered = match line {
            Some(line) if line.strings()? == sorted.flows => line.form(&mut assembly, allowed)?,
            _ => None,
        };
        let color_allowed = sorted.allowed(&config_diagram);
        let color_flows = lines.collect();
        let amplitudes = Amplitudes::Diagrams(mebridge_process::Diagrams {
            color: matrix(&sorted.flows)?,
            jamp: sorted.jamp,
            amplitudes,
            color_ordered,
        });
        Ok(Some(Process {
            legs,
            helicities,
            channels: Channels {
                color_allowed,
                color_flows,
                amp2,
                config_diagram,
            },
            diagrams: count,
            ..self.of_assembly(subprocess, tail, assembly, amplitudes)?
        }))
    }

    /// `NHEL`: all combinations, the last leg varying fastest. Their order at a leg is that of its particle going out.
    fn helicities(&self, subprocess: &Subprocess) -> Result<Vec<Vec<i8>>, String> {
        let states: Vec<Vec<i8>> = subprocess
            .outgoing
            .iter()
            .map(|&p| self.model.of(p).helicities())
            .collect();
        let count = states.iter().map(Vec::len).product::<usize>();
        if count > MOST_HELICITIES {
            return Err(format!(
                "{count} helicities; at most {MOST_HELICITIES} are possible"
            ));
        }
        let mut rows = vec![Vec::new()];
        for states in &states {
            let longer = |row: &Vec<i8>| {
                let row = row.clone();
                states.iter().map(move |&h| [row.as_slice(), &[h]].concat())
            };
            rows = rows.iter().flat_map(longer).collect();
        }
        Ok(rows)
    }

    /// `IDEN`: average over what comes in, and a factor for equal particles that go out.
    pub fn iden(&self, subprocess: &Subprocess) -> u32 {
        let (incoming, outgoing) = subprocess.particles.split_at(subprocess.incoming);
        let states = incoming.iter().map(|&p| {
            let particle = self.model.of(p);
            particle.helicities().len() as u32 * u32::from(particle.color.unsigned_abs())
        });
        let equal = outgoing.iter().enumerate().map(|(i, p)| {
            let before = outgoing[..i].iter().filter(|q| *q == p);
            before.count() as u32 + 1
        });
        states.chain(equal).product()
    }

    fn color(&self, vertex: u32, term: usize) -> Result<Rc<VertexColor>, String> {
        if let Some(known) = self.colors.borrow().get(&(vertex, term)) {
            return Ok(known.clone());
        }
        let interaction = &self.model.vertices[vertex as usize];
        let legs = interaction
            .particles
            .iter()
            .map(|&p| self.model.of(p).color);
        let legs: Vec<i8> = legs.collect();
        let color = VertexColor::of(&interaction.terms[term].color, &legs).map_err(|what| {
            format!(
                "vertex {}: {what}",
                self.model.names(&interaction.particles)
            )
        })?;
        let color = Rc::new(color);
        self.colors
            .borrow_mut()
            .insert((vertex, term), color.clone());
        Ok(color)
    }
}

/// One process that grows.
pub(super) struct Assembly<'a> {
    shared: &'a Assembler<'a>,
    trees: &'a [Tree],
    /// The ways through each tree that was needed so far.
    ways: Vec<Option<Rc<Vec<ColoredTree>>>>,
    parameters: Parameters<'a>,
    routines: Vec<Routine>,
    routine_ids: HashMap<RoutineKey, u32>,
    wavefunctions: Vec<Wavefunction>,
}

impl<'a> Assembly<'a> {
    pub(super) fn model(&self) -> &'a Model {
        self.shared.model
    }

    pub(super) fn color(&self, vertex: u32, term: usize) -> Result<Rc<VertexColor>, String> {
        self.shared.color(vertex, term)
    }

    pub(super) fn coupling(&mut self, name: &str) -> CouplingRef {
        let positive = name.strip_prefix('-');
        CouplingRef {
            coupling: self.parameters.coupling(positive.unwrap_or(name)),
            negative: positive.is_some(),
        }
    }

    pub(super) fn quantity(&mut self, name: &Option<String>) -> Quantity {
        Quantity(name.as_ref().map(|name| self.parameters.parameter(name)))
    }

    /// The external wavefunctions.
    fn externals(&mut self, subprocess: &Subprocess) -> Vec<Leg> {
        let model = self.shared.model;
        let mut legs = Vec::new();
        for (number, (&particle, &outgoing)) in subprocess
            .particles
            .iter()
            .zip(&subprocess.outgoing)
            .enumerate()
        {
            let incoming = number < subprocess.incoming;
            let mass = self.quantity(&model.of(particle).mass);
            let out = model.of(outgoing);
            let kind = match (out.spin, out.is_anti) {
                (1, _) => ExternalKind::Scalar,
                (2, true) => ExternalKind::FermionIn,
                (2, false) => ExternalKind::FermionOut,
                _ => ExternalKind::Vector,
            };
            // NSF tells particles from antiparticles, NSV and NSS what goes out from what comes in.
            let sign = match out.is_fermion() {
                true if model.of(particle).is_anti => -1,
                false if incoming => -1,
                _ => 1,
            };
            self.wavefunctions.push(Wavefunction::External(External {
                kind,
                leg: number as u32,
                mass,
                sign,
            }));
            legs.push(Leg {
                pdg: model.of(particle).pdg,
                incoming,
                mass,
            });
        }
        legs
    }

    /// All ways through a tree.
    fn ways(&mut self, tree: TreeId) -> Result<Rc<Vec<ColoredTree>>, String> {
        if let Some(ways) = &self.ways[tree as usize] {
            return Ok(ways.clone());
        }
        let trees = self.trees;
        let Tree::Vertex(node) = &trees[tree as usize] else {
            return Err("a leg has no vertex".into());
        };
        let result = node.children.iter().position(Option::is_none);
        let mut ways = Vec::new();
        for (vertex, color) in self.vertices(node, result)? {
            ways.push((self.wavefunctions.len() as u32, color));
            self.wavefunctions.push(Wavefunction::Internal(vertex));
        }
        let ways = Rc::new(ways);
        self.ways[tree as usize] = Some(ways.clone());
        Ok(ways)
    }

    /// A vertex of a diagram: one call for each of its colour structures and each way through its trees.
    fn vertices(
        &mut self,
        node: &Node,
        result: Option<usize>,
    ) -> Result<Vec<(Vertex, Rc<TreeColor>)>, String> {
        // For each leg that is no result.
        let mut below: Vec<(usize, Below)> = Vec::new();
        for (leg, child) in node.children.iter().enumerate() {
            let Some(tree) = child else {
                continue;
            };
            below.push(match self.trees[*tree as usize] {
                Tree::Leg(external) => (leg, Below::Leg(external)),
                Tree::Vertex(_) => (leg, Below::Ways(self.ways(*tree)?)),
            });
        }
        let model = self.shared.model;
        let interaction = model.vertex(node.vertex)?;
        let mut found = Vec::new();
        for (number, term) in interaction.terms.iter().enumerate() {
            let structure = self.shared.color(node.vertex, number)?;
            let couplings: Vec<CouplingRef> = term
                .lorentz
                .iter()
                .map(|(_, coupling)| self.coupling(coupling))
                .collect();
            let lorentz = term.lorentz.iter().map(|(l, _)| *l).collect();
            let routine = self.routine(lorentz, &interaction.particles, result)?;
            let line = result.map(|leg| model.of(interaction.particles[leg]));
            let mass = line.map_or(Quantity::ZERO, |p| self.quantity(&p.mass));
            let width = line.map_or(Quantity::ZERO, |p| self.quantity(&p.width));
            // All ways through the trees, the last varying fastest.
            let counts: Vec<usize> = below.iter().map(|(_, below)| below.count()).collect();
            for choice in 0..counts.iter().product::<usize>() {
                let mut rest = choice;
                let mut at = vec![0; counts.len()];
                for (place, count) in at.iter_mut().zip(&counts).rev() {
                    (*place, rest) = (rest % count, rest / count);
                }
                let mut inputs = Vec::with_capacity(below.len());
                let mut children = Vec::with_capacity(below.len());
                for ((leg, below), &at) in below.iter().zip(&at) {
                    match below {
                        Below::Leg(external) => {
                            inputs.push(u32::from(*external));
                            children.push((*leg, Child::Leg(*external)));
                        }
                        Below::Ways(ways) => {
                            inputs.push(ways[at].0);
                            children.push((*leg, Child::Tree(&ways[at].1)));
                        }
                    }
                }
                let color = structure.grow(&children, result)?;
                let vertex = Vertex {
                    routine,
                    inputs,
                    couplings: couplings.clone(),
                    mass,
                    width,
                };
                found.push((vertex, Rc::new(color)));
            }
        }
        Ok(found)
    }

    pub(super) fn routine(
        &mut self,
        lorentz: Vec<u32>,
        particles: &[u16],
        result: Option<usize>,
    ) -> Result<u32, String> {
        let model = self.shared.model;
        let spins: Vec<u8> = particles.iter().map(|&p| model.of(p).spin).collect();
        let massless = result.is_some_and(|leg| {
            let particle = model.of(particles[leg]);
            particle.spin == 3 && particle.mass.is_none()
        });
        let key = (lorentz, spins, result, massless);
        if let Some(&number) = self.routine_ids.get(&key) {
            return Ok(number);
        }
        let number = self.routines.len() as u32;
        let structures = key.0.iter().map(|&l| model.structure(l));
        let structures: Vec<&Structure> = structures.collect::<Result<_, _>>()?;
        let mut known = self.shared.routines.borrow_mut();
        let routine = known.entry(key.clone()).or_insert_with(|| {
            let names = key.0.iter().map(|&l| &*model.lorentz[l as usize].name);
            let names: Vec<&str> = names.collect();
            let form = result.map_or(0, |leg| leg + 1);
            let massless_vector = if massless { "P0" } else { "" };
            let name = format!("{}{massless_vector}_{form}", names.join("_"));
            Rc::new(derive(name, &structures, &key.1, result, massless))
        });
        self.routines.push((**routine).clone());
        self.routine_ids.insert(key, number);
        Ok(number)
    }
}

/// Colour flows as they are found, with the amplitudes in them.
#[derive(Default)]
struct Flows {
    numbers: HashMap<Strings, usize>,
    flows: Vec<Strings>,
    jamp: Vec<Vec<Term>>,
    /// The highest power of the number of colours.
    leading: Option<i32>,
    /// Diagram (from 0), flow, and the power of the number of colours.
    powers: Vec<(u32, usize, i32)>,
}

impl Flows {
    fn add(
        &mut self,
        amplitude: u32,
        diagram: u32,
        color: &TreeColor,
        negative: bool,
    ) -> Result<(), String> {
        for (strings, number) in color.flows() {
            let power = strings.power();
            let flow = strings.with_power(0);
            let next = self.flows.len();
            let at = *self.numbers.entry(flow).or_insert(next);
            if at == next {
                if next == MOST_FLOWS {
                    return Err(format!(
                        "more than {MOST_FLOWS} colour flows; ask for fewer coloured particles"
                    ));
                }
                self.flows.push(flow);
                self.jamp.push(Vec::new());
            }
            self.leading = self.leading.max(Some(power));
            if self.powers.last() != Some(&(diagram, at, power)) {
                self.powers.push((diagram, at, power));
            }
            let sign = if negative {
                Number::ratio(-1, 1)
            } else {
                Number::ONE
            };
            let value = number.times(sign).value()? * 3f64.powi(power);
            let terms = &mut self.jamp[at];
            // One amplitude may have terms with several powers of the number of colours.
            match terms.last_mut() {
                Some(term) if term.source == TermSource::Amplitude(amplitude) => {
                    term.factor.0 += value.re;
                    term.factor.1 += value.im;
                }
                _ => terms.push(Term {
                    source: TermSource::Amplitude(amplitude),
                    factor: (value.re, value.im),
                }),
            }
        }
        Ok(())
    }

    /// The flows in MG5aMC's order.
    fn sorted(mut self) -> Sorted {
        let ranks: Vec<_> = self.flows.iter().map(flows::rank).collect();
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        order.sort_by(|&a, &b| ranks[a].cmp(&ranks[b]));
        let mut places = vec![0; order.len()];
        for (place, &flow) in order.iter().enumerate() {
            places[flow] = place;
        }
        for (_, flow, _) in &mut self.powers {
            *flow = places[*flow];
        }
        let jamp = order
            .iter()
            .map(|&flow| std::mem::take(&mut self.jamp[flow]));
        Sorted {
            jamp: LinearMap {
                partial: Vec::new(),
                outputs: jamp.collect(),
            },
            flows: order.iter().map(|&flow| self.flows[flow]).collect(),
            leading: self.leading.unwrap_or(0),
            powers: self.powers,
        }
    }
}

/// Colour flows in their final order.
struct Sorted {
    flows: Vec<Strings>,
    jamp: LinearMap,
    leading: i32,
    powers: Vec<(u32, usize, i32)>,
}

impl Sorted {
    /// `ICOLAMP`: for each of these diagrams (from 1) the flows in which it is of leading colour. Where it is in none,
    /// all in which it is.
    fn allowed(&self, diagrams: &[u32]) -> Vec<Vec<bool>> {
        let mut rows = vec![vec![false; self.flows.len()]; diagrams.len()];
        let mut row_of: HashMap<u32, usize> = HashMap::default();
        for (row, diagram) in diagrams.iter().enumerate() {
            row_of.insert(diagram - 1, row);
        }
        let mark = |rows: &mut Vec<Vec<bool>>, leading: bool, empty: &[bool]| {
            for &(diagram, flow, power) in &self.powers {
                if let Some(&row) = row_of.get(&diagram)
                    && empty[row]
                    && (!leading || power == self.leading)
                {
                    rows[row][flow] = true;
                }
            }
        };
        mark(&mut rows, true, &vec![true; diagrams.len()]);
        let empty: Vec<bool> = rows.iter().map(|row| !row.contains(&true)).collect();
        mark(&mut rows, false, &empty);
        rows
    }
}
