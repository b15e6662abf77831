//! A process under construction: its wavefunctions, routines and couplings.

use super::color::{Child, TreeColor, VertexColor};
use super::matrix::COLORS;
use super::subprocess::Subprocess;
use super::trees::{Node, Tree, TreeId};
use crate::model::lorentz::Structure;
use crate::model::{Model, Parameters, ParticleId, PropagatorPart, RoutineForm, derive};
use mebridge_process::lorentz::Routine;
use mebridge_process::{CouplingRef, External, ExternalKind, Leg, Quantity, Vertex, Wavefunction};
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Builds the processes of one model, and caches what they share.
pub struct Assembler<'a> {
    /// The model.
    pub model: &'a Model,
    /// The number of colours; tests take others than [`COLORS`].
    pub colors: i64,
    vertex_colors: RefCell<HashMap<(u32, usize), Rc<VertexColor>>>,
    routines: RefCell<HashMap<RoutineKey, Rc<Routine>>>,
}

/// Lorentz structures, and the form of their routine.
pub(super) type RoutineKey = (Vec<u32>, RoutineForm);

/// A wavefunction of a tree, for one choice of colour structures, and its colour.
pub(super) type ColoredTree = (u32, Rc<TreeColor>);

/// The child at a leg of a vertex.
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
    /// Creates an assembler with empty caches.
    pub fn new(model: &'a Model) -> Self {
        Assembler {
            model,
            colors: COLORS,
            vertex_colors: RefCell::default(),
            routines: RefCell::default(),
        }
    }

    pub(super) fn assembly<'b>(&'b self, trees: &'b [Tree]) -> Assembly<'b> {
        Assembly {
            shared: self,
            trees,
            ways: vec![None; trees.len()],
            parameters: Parameters::new(self.model),
            routines: Vec::new(),
            routine_ids: HashMap::default(),
            routine_keys: Vec::new(),
            wavefunctions: Vec::new(),
            flow_out: Vec::new(),
            flips: HashMap::default(),
            unused: false,
            zero_width: Vec::new(),
        }
    }

    fn color(&self, vertex: u32, term: usize) -> Result<Rc<VertexColor>, String> {
        if let Some(known) = self.vertex_colors.borrow().get(&(vertex, term)) {
            return Ok(known.clone());
        }
        let interaction = &self.model.vertices[vertex as usize];
        let legs = interaction
            .particles
            .iter()
            .map(|&p| self.model.properties(p).color);
        let legs: Vec<i8> = legs.collect();
        let color = VertexColor::new(&interaction.terms[term].color, &legs).map_err(|what| {
            format!(
                "vertex {}: {what}",
                self.model.names(&interaction.particles)
            )
        })?;
        let color = Rc::new(color);
        self.vertex_colors
            .borrow_mut()
            .insert((vertex, term), color.clone());
        Ok(color)
    }
}

/// A process under construction.
pub(super) struct Assembly<'a> {
    shared: &'a Assembler<'a>,
    trees: &'a [Tree],
    /// The wavefunctions of each tree that was needed so far.
    pub(super) ways: Vec<Option<Rc<Vec<ColoredTree>>>>,
    pub(super) parameters: Parameters<'a>,
    pub(super) routines: Vec<Routine>,
    pub(super) routine_ids: HashMap<RoutineKey, u32>,
    /// The key of each routine.
    pub(super) routine_keys: Vec<RoutineKey>,
    pub(super) wavefunctions: Vec<Wavefunction>,
    /// For each fermion wavefunction, whether its line flows out (`OXXXXX`) or in.
    pub(super) flow_out: Vec<bool>,
    /// Fermion wavefunctions with the reversed wavefunctions of the same lines.
    pub(super) flips: HashMap<u32, u32>,
    /// Whether there may be unused wavefunctions or routines.
    pub(super) unused: bool,
    /// Whether the line of each tree has its width set to zero; empty if none has.
    pub(super) zero_width: Vec<bool>,
}

impl<'a> Assembly<'a> {
    pub(super) fn model(&self) -> &'a Model {
        self.shared.model
    }

    pub(super) fn colors(&self) -> i64 {
        self.shared.colors
    }

    pub(super) fn color(&self, vertex: u32, term: usize) -> Result<Rc<VertexColor>, String> {
        self.shared.color(vertex, term)
    }

    /// The reference to a coupling of a vertex with this particle as its result, if any. The factor of the particle's
    /// own propagator becomes part of the coupling.
    pub(super) fn coupling(&mut self, name: &str, result: Option<ParticleId>) -> CouplingRef {
        let positive = name.strip_prefix('-');
        let propagator = result.and_then(|p| self.shared.model.properties(p).propagator);
        CouplingRef {
            coupling: self
                .parameters
                .coupling(positive.unwrap_or(name), propagator),
            negative: positive.is_some(),
        }
    }

    pub(super) fn quantity(&mut self, name: &Option<String>) -> Quantity {
        Quantity(name.as_ref().map(|name| self.parameters.parameter(name)))
    }

    /// Adds the external wavefunctions.
    pub(super) fn externals(&mut self, subprocess: &Subprocess) -> Vec<Leg> {
        let model = self.shared.model;
        let mut legs = Vec::new();
        for (number, (&particle, &outgoing)) in subprocess
            .particles
            .iter()
            .zip(&subprocess.outgoing)
            .enumerate()
        {
            let incoming = number < subprocess.incoming;
            let mass = self.quantity(&model.properties(particle).mass);
            let out = model.properties(outgoing);
            // The flow of a Majorana fermion is that of an incoming or outgoing particle, as in MG5aMC.
            let flow_out = match out.anti == outgoing {
                true => !incoming,
                false => !out.is_anti,
            };
            let kind = match (out.spin, flow_out) {
                (1, _) => ExternalKind::Scalar,
                (2, false) => ExternalKind::FermionIn,
                (2, true) => ExternalKind::FermionOut,
                (4, false) => ExternalKind::RaritaIn,
                (4, true) => ExternalKind::RaritaOut,
                (5, _) => ExternalKind::Tensor,
                _ => ExternalKind::Vector,
            };
            // NSF and NSR distinguish particles from antiparticles, the others outgoing from incoming legs.
            let sign = match out.is_fermion() {
                true if model.properties(particle).is_anti => -1,
                false if incoming => -1,
                _ => 1,
            };
            self.push(
                Wavefunction::External(External {
                    kind,
                    leg: number as u32,
                    mass,
                    sign,
                }),
                flow_out,
            );
            legs.push(Leg {
                pdg: model.properties(particle).pdg,
                incoming,
                mass,
            });
        }
        legs
    }

    pub(super) fn push(&mut self, wavefunction: Wavefunction, flow_out: bool) {
        self.wavefunctions.push(wavefunction);
        self.flow_out.push(flow_out);
    }

    /// All wavefunctions of a tree.
    pub(super) fn ways(&mut self, tree: TreeId) -> Result<Rc<Vec<ColoredTree>>, String> {
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
            let mut vertex = vertex;
            if self.zero_width.get(tree as usize) == Some(&true) {
                vertex.width = Quantity::ZERO;
            }
            let flow_out = self.flow_of(node, result, &vertex);
            self.push(Wavefunction::Internal(vertex), flow_out);
        }
        let ways = Rc::new(ways);
        self.ways[tree as usize] = Some(ways.clone());
        Ok(ways)
    }

    /// Whether the fermion line of a vertex's result flows out, like the line that it continues.
    fn flow_of(&self, node: &Node, result: Option<usize>, vertex: &Vertex) -> bool {
        let Some(result) = result else {
            return false;
        };
        // Inputs are the other legs, in order.
        let partner = result ^ 1;
        let input = if partner < result {
            partner
        } else {
            partner.wrapping_sub(1)
        };
        let particles = &self.shared.model.vertices[node.vertex as usize].particles;
        let fermions = self.shared.model.properties(particles[result]).is_fermion();
        match vertex.inputs.get(input) {
            Some(&input) if fermions => self.flow_out[input as usize],
            _ => false,
        }
    }

    /// The calls of a vertex of a diagram: one for each of its colour structures and each choice of its trees'
    /// wavefunctions.
    pub(super) fn vertices(
        &mut self,
        node: &Node,
        result: Option<usize>,
    ) -> Result<Vec<(Vertex, Rc<TreeColor>)>, String> {
        // For each leg except the result.
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
            let line = result.map(|leg| interaction.particles[leg]);
            let mut couplings: Vec<CouplingRef> = term
                .lorentz
                .iter()
                .map(|(_, coupling)| self.coupling(coupling, line))
                .collect();
            if let Some(mass) = line.and_then(|p| model.properties(p).complex_mass.as_ref()) {
                couplings.push(self.coupling(mass, None));
            }
            let lorentz = term.lorentz.iter().map(|(l, _)| *l).collect();
            let lorentz: Vec<u32> = lorentz;
            // The previous routine, and the legs at which it takes charge conjugates.
            let mut known: Option<(u16, u32)> = None;
            let line = line.map(|p| model.properties(p));
            let mass = line.map_or(Quantity::ZERO, |p| self.quantity(&p.mass));
            let width = line.map_or(Quantity::ZERO, |p| self.quantity(&p.width));
            // All choices of wavefunctions, the last varying fastest.
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
                let particles = &interaction.particles;
                let mut conjugated = self.conjugated(particles, result, &inputs);
                if conjugated != 0 {
                    let fermions = particles
                        .iter()
                        .take_while(|&&p| model.properties(p).is_fermion());
                    let fermions = fermions.count();
                    self.without_clashes(fermions, result, &mut inputs, &mut conjugated)?;
                }
                let routine = match known {
                    Some((same, routine)) if same == conjugated => routine,
                    _ => {
                        let form =
                            self.form(&interaction.particles, result, node.propagator, conjugated);
                        self.routine(lorentz.clone(), form)?
                    }
                };
                known = Some((conjugated, routine));
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

    /// The legs that take charge conjugates of wavefunctions, as a bit mask. Of two fermions, the first flows in and
    /// the second out. If a wavefunction flows in the other direction, its charge conjugate is taken; a result flows
    /// like the line that it continues.
    fn conjugated(&self, particles: &[ParticleId], result: Option<usize>, inputs: &[u32]) -> u16 {
        let model = self.shared.model;
        let fermions = particles
            .iter()
            .take_while(|&&p| model.properties(p).is_fermion());
        let mut conjugated = 0;
        for leg in 0..fermions.count() {
            // A result is conjugated if the other end of its line is.
            let end = if Some(leg) == result { leg ^ 1 } else { leg };
            let input = match result {
                Some(result) if result < end => end - 1,
                _ => end,
            };
            let flow_out = inputs
                .get(input)
                .map(|&input| self.flow_out[input as usize]);
            if flow_out.is_some_and(|flow| flow == end.is_multiple_of(2)) {
                conjugated |= 1 << leg;
            }
        }
        conjugated
    }

    /// The form of a routine for these legs, with charge conjugates at legs in the mask.
    fn form(
        &self,
        particles: &[ParticleId],
        result: Option<usize>,
        part: PropagatorPart,
        conjugated: u16,
    ) -> RoutineForm {
        RoutineForm {
            part,
            conjugated: (0..particles.len())
                .map(|leg| conjugated >> leg & 1 == 1)
                .collect(),
            ..RoutineForm::plain(self.shared.model, particles, result)
        }
    }

    /// The number of the routine for these structures.
    pub(super) fn routine(&mut self, lorentz: Vec<u32>, form: RoutineForm) -> Result<u32, String> {
        let model = self.shared.model;
        let key = (lorentz, form.normal());
        if let Some(&number) = self.routine_ids.get(&key) {
            return Ok(number);
        }
        let number = self.routines.len() as u32;
        let structures = key.0.iter().map(|&l| model.structure(l));
        let structures: Vec<&Structure> = structures.collect::<Result<_, _>>()?;
        let known = self.shared.routines.borrow().get(&key).cloned();
        let routine = match known {
            Some(routine) => routine,
            None => {
                let names = key.0.iter().map(|&l| &*model.lorentz[l as usize].name);
                let names: Vec<&str> = names.collect();
                let own = key.1.own.map(|own| &model.propagators[own as usize]);
                let name = format!("{}{}", names.join("_"), key.1.suffix());
                let routine = Rc::new(derive(name, &structures, &key.1, own)?);
                let mut routines = self.shared.routines.borrow_mut();
                routines.insert(key.clone(), routine.clone());
                routine
            }
        };
        self.routines.push((*routine).clone());
        self.routine_keys.push(key.clone());
        self.routine_ids.insert(key, number);
        Ok(number)
    }
}
