//! The matrix elements that a text stands for.
//!
//! Subprocesses have equal matrix elements if their legs are of one *kind* (spin, colour, mass, width) and their
//! diagrams differ by the names of particles only: vertices of one kind join legs of one kind, by the same structures
//! and couplings. This is known before any matrix element is assembled, so that who asks for one does not wait for the
//! others.

use super::assemble::Assembler;
use super::color_ordered::ColorOrderedLegs;
use super::request::Request;
use super::subprocess::{self, Subprocess};
use super::trees::{CouplingOrders, Diagrams, Node, Rules, Tree};
use super::weighted;
use crate::model::{Model, ParticleId};
use mebridge_process::Process;
use mebridge_support::error::{Error, Result};
use rustc_hash::FxHashMap as HashMap;
use std::ops::RangeInclusive;

/// The matrix elements that a text stands for.
pub struct MatrixElements<'a> {
    text: String,
    builder: Assembler<'a>,
    orders: Vec<RangeInclusive<u32>>,
    /// What stands behind the particles in the names of processes.
    tail: String,
    elements: Vec<MatrixElement>,
}

/// One of them.
struct MatrixElement {
    subprocess: Subprocess,
    line: Option<ColorOrderedLegs>,
    content: AmplitudeContent,
    /// The particles of the others that have it.
    others: Vec<Vec<ParticleId>>,
}

/// What a matrix element is made of.
enum AmplitudeContent {
    Diagrams(Diagrams),
    /// The vertices of a colour-ordered form, where diagrams are not listed.
    Vertices(Vec<u32>),
}

impl<'a> MatrixElements<'a> {
    /// Those of a text in MG5aMC's language.
    pub fn of(text: &str, model: &'a Model) -> Result<MatrixElements<'a>> {
        let fail = |what: String| failure(text, what);
        let request = Request::parse(text, model).map_err(fail)?;
        let rules = Rules::new(model, &request);
        let all = Subprocess::all(&request, model);
        let found: Vec<_> = all
            .iter()
            .filter(|s| s.violates(model).is_none())
            .map(|s| (s, rules.lowest(&s.outgoing)))
            .collect();
        let mut elements = MatrixElements {
            text: text.to_owned(),
            builder: Assembler::new(model),
            orders: request.orders.clone(),
            tail: request.tail.clone(),
            elements: Vec::new(),
        };
        let whole: Vec<&CouplingOrders> =
            found.iter().filter_map(|(_, l)| l.whole.as_ref()).collect();
        let legs = [request.incoming.as_slice(), &request.outgoing].concat();
        let lowest = whole.iter().filter_map(|orders| orders.last()).min();
        let lowest = lowest.map(|lowest| weighted::minimum(model, &legs).max(*lowest));
        if let (true, Some(lowest), Some(weighted)) =
            (request.lowest, lowest, elements.orders.last_mut())
        {
            *weighted = 0..=lowest;
            elements.tail = format!(" WEIGHTED<={lowest}{}", elements.tail);
        }
        for (subprocess, lowest) in &found {
            let missing = rules.too_large(subprocess.outgoing.len(), &elements.orders);
            if let (Some(vertex), true) = (missing, lowest.whole.is_some() || !request.lowest) {
                model.vertex(vertex).map_err(fail)?;
            }
        }
        let kinds = Kinds::of(model);
        for (subprocess, lowest) in &found {
            let Some(low) = &lowest.whole else {
                continue;
            };
            if low.iter().zip(&elements.orders).any(|(n, a)| n > a.end()) {
                continue;
            }
            let line = ColorOrderedLegs::of(subprocess, model, &rules, lowest);
            let large = line.as_ref().filter(|line| line.is_large());
            let vertices = match large {
                Some(line) => elements.builder.ordered_vertices(line, &elements.orders),
                None => Ok(None),
            };
            let content = match vertices.map_err(fail)? {
                Some(vertices) => AmplitudeContent::Vertices(vertices),
                None => {
                    let diagrams = rules.diagrams(&subprocess.outgoing, lowest, &elements.orders);
                    AmplitudeContent::Diagrams(diagrams.map_err(fail)?)
                }
            };
            let element = MatrixElement {
                subprocess: (*subprocess).clone(),
                line,
                content,
                others: Vec::new(),
            };
            elements.add(element, &kinds).map_err(fail)?;
        }
        match elements.elements.is_empty() {
            true => Err(fail(subprocess::why_none(&all, &request, &whole, model))),
            false => Ok(elements),
        }
    }

    fn add(&mut self, element: MatrixElement, kinds: &Kinds) -> std::result::Result<(), String> {
        let iden = |element: &MatrixElement| self.builder.iden(&element.subprocess);
        let mut known = self.elements.iter();
        let known = known.position(|e| kinds.equal(e, &element) && iden(e) == iden(&element));
        if let Some(at) = known {
            let particles = element.subprocess.particles;
            self.elements[at].others.push(particles);
            return Ok(());
        }
        let some = match &element.content {
            AmplitudeContent::Diagrams(diagrams) => self.builder.has_color(diagrams)?,
            AmplitudeContent::Vertices(_) => true,
        };
        if some {
            self.elements.push(element);
        }
        Ok(())
    }

    /// How many there are, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The name of each.
    pub fn names(&self) -> Vec<String> {
        let name = |e: &MatrixElement| self.builder.name(&e.subprocess, &self.tail);
        self.elements.iter().map(name).collect()
    }

    /// One of them, by its place.
    pub fn process(&self, place: usize) -> Result<Process> {
        let MatrixElement {
            subprocess,
            line,
            content,
            others,
        } = &self.elements[place];
        let line = line.as_ref();
        let process = match (content, line) {
            (AmplitudeContent::Diagrams(diagrams), _) => {
                let builder = &self.builder;
                builder.process(subprocess, diagrams, line, &self.orders, &self.tail)
            }
            (AmplitudeContent::Vertices(_), Some(line)) => {
                let builder = &self.builder;
                builder.color_ordered(subprocess, line, &self.orders, &self.tail)
            }
            (AmplitudeContent::Vertices(_), None) => Ok(None),
        };
        let process = process.map_err(|what| failure(&self.text, what))?;
        let mut process =
            process.ok_or_else(|| failure(&self.text, "it has no diagrams".into()))?;
        process.other_flavours = others.iter().map(|p| self.builder.pdg(p)).collect();
        process.validate()?;
        Ok(process)
    }
}

fn failure(text: &str, what: String) -> Error {
    Error::Generate {
        process: text.trim().to_owned(),
        what,
    }
}

/// Particles and vertices without their names: a number for each, the same for equal ones.
struct Kinds {
    particles: Vec<u32>,
    vertices: Vec<u32>,
}

impl Kinds {
    fn of(model: &Model) -> Kinds {
        let particle = model.particles.iter().map(|p| {
            let line = (p.mass.as_ref(), p.width.as_ref());
            (p.spin, p.color, p.is_anti, line)
        });
        let particles = numbers(particle);
        let vertex = model.vertices.iter().map(|vertex| {
            let legs = vertex.particles.iter().map(|&p| particles[usize::from(p)]);
            // Expressions have an order of their own alone in writing.
            (legs.collect::<Vec<_>>(), format!("{:?}", vertex.terms))
        });
        Kinds {
            vertices: numbers(vertex),
            particles,
        }
    }

    fn equal(&self, a: &MatrixElement, b: &MatrixElement) -> bool {
        let kinds = |element: &MatrixElement| -> Vec<u32> {
            let legs = element.subprocess.outgoing.iter();
            legs.map(|&p| self.particles[usize::from(p)]).collect()
        };
        let vertex = |a: u32, b: u32| self.vertices[a as usize] == self.vertices[b as usize];
        let content = || match (&a.content, &b.content) {
            (AmplitudeContent::Diagrams(a), AmplitudeContent::Diagrams(b)) => {
                diagrams_equal(a, b, &vertex)
            }
            (AmplitudeContent::Vertices(a), AmplitudeContent::Vertices(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| vertex(*a, *b))
            }
            _ => false,
        };
        kinds(a) == kinds(b)
            && a.line.as_ref().map(ColorOrderedLegs::places)
                == b.line.as_ref().map(ColorOrderedLegs::places)
            && content()
    }
}

/// Numbers things from 0 on, equal ones alike.
fn numbers<T: Eq + std::hash::Hash>(things: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known = HashMap::default();
    things
        .map(|thing| {
            let next = known.len() as u32;
            *known.entry(thing).or_insert(next)
        })
        .collect()
}

/// Whether two sets of diagrams are the same, given when vertices are.
fn diagrams_equal(a: &Diagrams, b: &Diagrams, vertex: &dyn Fn(u32, u32) -> bool) -> bool {
    let node = |a: &Node, b: &Node| a.children == b.children && vertex(a.vertex, b.vertex);
    let trees = |(a, b): (&Tree, &Tree)| match (a, b) {
        (Tree::Leg(a), Tree::Leg(b)) => a == b,
        (Tree::Vertex(a), Tree::Vertex(b)) => node(a, b),
        _ => false,
    };
    a.trees.len() == b.trees.len()
        && a.diagrams.len() == b.diagrams.len()
        && a.trees.iter().zip(&b.trees).all(trees)
        && a.diagrams.iter().zip(&b.diagrams).all(|(a, b)| {
            (a.negative, a.largest_vertex) == (b.negative, b.largest_vertex)
                && node(&a.node, &b.node)
        })
}
