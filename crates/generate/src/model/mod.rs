//! Models as data: particles, parameters, couplings and vertices, read from a text file.
//!
//! The file has the content of a UFO model (arXiv:1108.2040): formulas, Lorentz structures and colour structures in its
//! language; the particles of a vertex are outgoing. docs/generate.md describes the file. The library contains the
//! Standard Model ([`Model::standard`]); no other code refers to particles by name.
//!
//! | module | content |
//! |---|---|
//! | `file` | the file: reads TOML into tables ([`file::Document`]) and writes it |
//! | `expression` | the grammar of all formulas |
//! | `parameters` | formulas of parameters and couplings as arithmetic |
//! | `lorentz` | Lorentz structures as sums of products of tensors |
//! | [`dependent`] | masses and widths without an entry in the card |
//! | `running` | parameters that run with alpha_s |
//! | `tensor`, `routine` | a routine for any leg of a Lorentz structure, derived from it |
//! | `momenta`, `work` | choice of the form of a structure with the least arithmetic |

pub mod dependent;
pub mod expression;
pub mod file;
mod joined;
pub mod lorentz;
mod momenta;
mod parameters;
mod routine;
pub mod running;
mod tensor;
mod value;
mod work;

pub(crate) use parameters::needed;
pub use parameters::{Parameters, constant_value, program};
pub use routine::{PropagatorPart, RoutineForm, derive};

use expression::Expr;
use file::Document;
use lorentz::Structure;
use mebridge_process::model::CardParameter;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::regular;
use mebridge_support::sorted::SortedMap;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

/// Longest text of a model, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Index into [`Model::particles`].
pub type ParticleId = u16;

/// The gauge of massive vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gauge {
    /// Propagators of massive vectors have three polarisations; there are no Goldstone bosons.
    #[default]
    Unitary,
    /// A vector's propagator is `-g/(p^2 - M^2)`, and there are Goldstone bosons.
    Feynman,
}

/// The scheme of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheme {
    /// Whether masses of particles with a width are complex.
    pub complex_masses: bool,
    /// The gauge.
    pub gauge: Gauge,
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name, such as `sm`.
    pub name: String,
    /// Particles, each followed by its antiparticle unless it is its own.
    pub particles: Vec<Particle>,
    /// Multi-particle labels.
    pub labels: SortedMap<String, Vec<ParticleId>>,
    /// Coupling orders: name and weight in `WEIGHTED`.
    pub orders: Vec<(String, u32)>,
    /// Whether couplings have negative powers of each order. Such an order cannot bound a process, and its powers count
    /// in `WEIGHTED` only: MG5aMC bounds incomplete diagrams, so that its selection depends on the order in which it
    /// joins them.
    pub negative: Vec<bool>,
    /// Upper limit of each order in a process in MG5aMC (`expansion_order` of UFO), if any.
    pub expansion: Vec<Option<u32>>,
    /// Names of the conserved charges.
    pub charges: Vec<String>,
    /// Parameters of the card.
    pub card: Vec<CardEntry>,
    /// Name of the parameter that determines G without an event's value; every process has it.
    pub alpha_s: Option<String>,
    /// Formulas of parameters that are not in the card.
    pub parameters: HashMap<String, Expr>,
    /// Sets of running parameters of the card.
    pub running: Vec<running::Running>,
    /// Formulas of couplings.
    pub couplings: HashMap<String, Expr>,
    /// Lorentz structures.
    pub lorentz: Vec<Lorentz>,
    /// Custom propagators.
    pub propagators: Vec<Propagator>,
    /// Two-body decays of particles, with formulas for the partial widths.
    pub decays: SortedMap<ParticleId, Vec<Decay>>,
    /// The physical vertices of the gauge; terms of a vertex have the same coupling orders. None has a ghost.
    pub vertices: Vec<Vertex>,
    /// The vertices with ghosts and, in the unitary gauge, those with Goldstone bosons.
    pub unphysical: Vec<Vertex>,
    by_name: HashMap<String, ParticleId>,
}

/// The products of a decay, and its partial width.
pub type Decay = (Vec<ParticleId>, Expr);

/// A particle or an antiparticle.
#[derive(Clone, Debug)]
pub struct Particle {
    /// Its name.
    pub name: String,
    /// PDG code, negative for an antiparticle.
    pub pdg: i32,
    /// `2s + 1`.
    pub spin: u8,
    /// Dimension of the colour representation: 1, 3, 6 or 8; negative for an antitriplet or antisextet.
    pub color: i8,
    /// Name of its mass parameter; `None` if massless.
    pub mass: Option<String>,
    /// Name of its width parameter, if any.
    pub width: Option<String>,
    /// Name of the complex mass in its propagators in the complex-mass scheme; these have no width.
    pub complex_mass: Option<String>,
    /// Whether its propagator is that of a vector in the Feynman gauge, without a momentum term.
    pub feynman: bool,
    /// Its antiparticle, which may be itself.
    pub anti: ParticleId,
    /// Whether it is the second particle of a pair.
    pub is_anti: bool,
    /// Its charges, in the order of [`Model::charges`].
    pub charges: Vec<i32>,
    /// Whether it is a Goldstone boson, which does not exist in the unitary gauge and is never an external leg.
    pub goldstone: bool,
    /// Whether it is a ghost.
    pub ghost: bool,
    /// Index into [`Model::propagators`] of its custom propagator, if any.
    pub propagator: Option<u32>,
}

impl Particle {
    /// Whether it is a fermion that is its own antiparticle; `number` is its index.
    pub fn is_majorana(&self, number: ParticleId) -> bool {
        self.is_fermion() && self.anti == number
    }

    /// Whether it has half-integer spin.
    pub fn is_fermion(&self) -> bool {
        self.spin.is_multiple_of(2)
    }

    /// Helicities in the order of MG5aMC's NHEL: those of an antiparticle are reversed.
    pub fn helicities(&self) -> Vec<i8> {
        let mut helicities = match (self.spin, self.mass.is_some()) {
            (1, _) => vec![0],
            (2, _) | (3, false) => vec![-1, 1],
            (3, true) => vec![-1, 0, 1],
            (4, true) => vec![-3, -1, 1, 3],
            (4, false) => vec![-3, 3],
            (_, true) => vec![-2, -1, 0, 1, 2],
            (_, false) => vec![-2, 2],
        };
        if self.is_anti {
            helicities.reverse();
        }
        helicities
    }
}

/// A parameter of the card.
#[derive(Clone, Debug, PartialEq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct CardEntry {
    /// Its name.
    pub name: String,
    /// Block of the card, `decay` for a width.
    pub block: String,
    /// Index within the block.
    #[serde(default)]
    pub index: Vec<i32>,
    /// Its value in the model's own card.
    pub value: f64,
}

impl CardEntry {
    /// The parameter in the form of a process.
    pub fn parameter(&self) -> CardParameter {
        CardParameter {
            name: format!("MDL_{}", self.name.to_uppercase()),
            block: self.block.clone(),
            index: self.index.clone(),
            default: self.value,
        }
    }
}

/// A Lorentz structure.
#[derive(Clone, Debug)]
pub struct Lorentz {
    /// Its name.
    pub name: String,
    /// Its terms, or why it cannot be read.
    pub structure: std::result::Result<Structure, String>,
}

/// A custom propagator, in the language of Lorentz structures: `id` is the leg, `Mass(id)` and `Width(id)` its mass and
/// width, indices 1 and 2 (for spin 2 also 51 and 52) belong to its two ends, negative ones are summed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagator {
    /// Its name.
    pub name: String,
    /// The numerator, without `factor`.
    pub numerator: Expr,
    /// A common factor of parameters, which becomes part of the couplings.
    pub factor: Option<Expr>,
    /// The denominator; `None` for `p^2 - M^2 + i M W`.
    pub denominator: Option<Expr>,
}

/// Most legs of a vertex.
pub const MAX_VERTEX_LEGS: usize = 8;

/// A vertex.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// The outgoing particles, in any number.
    pub particles: Vec<ParticleId>,
    /// Lorentz structures and couplings of each colour structure.
    pub terms: Vec<ColorTerm>,
    /// Coupling orders, in the order of [`Model::orders`]; 0 for orders with negative powers.
    pub orders: Vec<u32>,
    /// Its `WEIGHTED`.
    pub weighted: i64,
    /// The largest weight of its coupling orders; `None` if it has none.
    pub level: Option<u32>,
    /// The reason if no process with this vertex can be generated.
    pub refused: Option<String>,
}

impl Vertex {
    /// The weight; negative weights count as 0.
    pub fn weight(&self) -> u32 {
        u32::try_from(self.weighted).unwrap_or(0)
    }
}

/// The terms of a vertex with one colour structure.
#[derive(Clone, Debug)]
pub struct ColorTerm {
    /// The colour structure.
    pub color: Expr,
    /// Indices into [`Model::lorentz`], and names of couplings, with a leading `-` for their negatives.
    pub lorentz: Vec<(u32, String)>,
}

/// The file of the Standard Model, the additions for the Feynman gauge, and the changes for complex masses.
const STANDARD: &str = include_str!("sm.toml");
const STANDARD_FEYNMAN: &str = include_str!("sm_feynman.toml");
const STANDARD_COMPLEX: &str = include_str!("sm_complex_masses.toml");
/// Its name in messages.
const STANDARD_NAME: &str = "the library's model sm";

/// Suffixes of a model's name, for complex masses and the Feynman gauge.
const COMPLEX_MASSES: &str = "+complex_masses";
const FEYNMAN: &str = "+feynman";

impl Scheme {
    /// Complex masses, in the unitary gauge.
    pub const COMPLEX_MASSES: Scheme = Scheme {
        complex_masses: true,
        gauge: Gauge::Unitary,
    };
    /// The Feynman gauge, with real masses.
    pub const FEYNMAN: Scheme = Scheme {
        complex_masses: false,
        gauge: Gauge::Feynman,
    };

    /// The suffix of the model's name.
    pub fn suffix(self) -> String {
        let complex = if self.complex_masses {
            COMPLEX_MASSES
        } else {
            ""
        };
        let gauge = match self.gauge {
            Gauge::Unitary => "",
            Gauge::Feynman => FEYNMAN,
        };
        format!("{complex}{gauge}")
    }

    /// Splits the name of a model into the name without suffixes, and the scheme that these stand for.
    pub fn of_name(name: &str) -> (&str, Scheme) {
        let (mut name, mut scheme) = (name, Scheme::default());
        loop {
            if let Some(before) = name.strip_suffix(COMPLEX_MASSES) {
                (name, scheme.complex_masses) = (before, true);
            } else if let Some(before) = name.strip_suffix(FEYNMAN) {
                (name, scheme.gauge) = (before, Gauge::Feynman);
            } else {
                return (name, scheme);
            }
        }
    }
}

impl Model {
    /// The Standard Model at tree level in unitary gauge.
    pub fn standard() -> Result<Model> {
        Model::parse(STANDARD, Path::new(STANDARD_NAME))
    }

    /// The same in another gauge or with complex masses.
    pub fn standard_in(scheme: Scheme) -> Result<Model> {
        let document = || {
            let mut document = Document::parse(STANDARD)?;
            if scheme.gauge == Gauge::Feynman {
                document.change(STANDARD_FEYNMAN)?;
                document.gauge = Gauge::Feynman;
            }
            if scheme.complex_masses {
                document.change(STANDARD_COMPLEX)?;
            }
            document.name += &scheme.suffix();
            Model::from_document(document)
        };
        document().map_err(|what| Error::Model {
            path: STANDARD_NAME.into(),
            what,
        })
    }

    /// Reads a model from a file.
    pub fn read(path: &Path) -> Result<Model> {
        let text = regular::read_to_string(path, MAX_BYTES).map_err(Error::io(path))?;
        Model::parse(&text, path)
    }

    /// Reads a model from text; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Model> {
        let fail = |what: String| Error::Model {
            path: path.to_path_buf(),
            what,
        };
        Document::parse(text)
            .and_then(Model::from_document)
            .map_err(fail)
    }

    /// Builds the model that a document describes.
    pub fn from_document(document: Document) -> std::result::Result<Model, String> {
        let mut model = document.model()?;
        model.check()?;
        let refused = |v: &Vertex| model.refusal(v).err();
        let refused: Vec<Option<String>> = model.vertices.iter().map(refused).collect();
        for (vertex, refused) in model.vertices.iter_mut().zip(refused) {
            vertex.refused = refused;
        }
        Ok(model)
    }

    /// The particle with this name; case is ignored unless names differ only by case.
    pub fn particle(&self, name: &str) -> Option<ParticleId> {
        let lower = || self.by_name.get(&name.to_lowercase());
        self.by_name.get(name).or_else(lower).copied()
    }

    /// The antiparticle.
    pub fn anti(&self, particle: ParticleId) -> ParticleId {
        self.particles[usize::from(particle)].anti
    }

    /// Properties of a particle.
    pub fn properties(&self, particle: ParticleId) -> &Particle {
        &self.particles[usize::from(particle)]
    }

    /// A vertex of a diagram, or the reason why it is not supported.
    pub fn vertex(&self, number: u32) -> std::result::Result<&Vertex, String> {
        let vertex = &self.vertices[number as usize];
        match &vertex.refused {
            None => Ok(vertex),
            Some(what) => Err(format!("vertex {}: {what}", self.names(&vertex.particles))),
        }
    }

    /// A Lorentz structure, or the reason why it cannot be read.
    pub fn structure(&self, lorentz: u32) -> std::result::Result<&Structure, String> {
        let Lorentz { name, structure } = &self.lorentz[lorentz as usize];
        let structure = structure.as_ref();
        structure.map_err(|what| format!("Lorentz structure {name}: {what}"))
    }

    /// Checks that the model is consistent, whether or not its vertices can be generated.
    fn check(&self) -> std::result::Result<(), String> {
        for particle in &self.particles {
            if !matches!(particle.spin, 1..=5) {
                return Err(format!(
                    "particle {}: spin = {}, which is 2s + 1 and so one of 1 to 5",
                    particle.name, particle.spin
                ));
            }
            if !matches!(particle.color, 1 | 3 | -3 | 6 | -6 | 8) {
                return Err(format!(
                    "particle {}: color = {}, which has to be 1, 3, 6 or 8",
                    particle.name, particle.color
                ));
            }
        }
        let quantities = self.particles.iter();
        let quantities = quantities
            .flat_map(|p| [&p.mass, &p.width, &p.complex_mass])
            .flatten();
        let quantities: Vec<Expr> = quantities.map(|name| Expr::Name(name.clone())).collect();
        let decays = self.decays.values().flatten().map(|(_, width)| width);
        let formulas = self.parameters.values().chain(self.couplings.values());
        let formulas = formulas.chain(decays);
        Parameters::new(self).check(formulas.chain(&quantities))?;
        self.check_running()?;
        self.vertices
            .iter()
            .try_for_each(|vertex| self.conserves(vertex))
    }

    fn conserves(&self, vertex: &Vertex) -> std::result::Result<(), String> {
        let particles = || vertex.particles.iter().map(|&p| self.properties(p));
        let broken = |charge: &usize| particles().map(|p| p.charges[*charge]).sum::<i32>() != 0;
        match (0..self.charges.len()).find(broken) {
            None => Ok(()),
            Some(charge) => Err(format!(
                "vertex {}: {} is not conserved",
                self.names(&vertex.particles),
                self.charges[charge]
            )),
        }
    }

    /// Refuses vertices that the generator does not support.
    fn refusal(&self, vertex: &Vertex) -> std::result::Result<(), String> {
        if !(3..=MAX_VERTEX_LEGS).contains(&vertex.particles.len()) {
            return Err(format!(
                "only vertices of 3 to {MAX_VERTEX_LEGS} particles can be generated"
            ));
        }
        let is_fermion = |p: &&ParticleId| self.properties(**p).is_fermion();
        let fermions = vertex.particles.iter().filter(is_fermion).count();
        if vertex.particles.iter().take_while(is_fermion).count() < fermions {
            return Err("fermions have to come first".into());
        }
        if fermions % 2 == 1 {
            return Err("the number of its fermions is odd".into());
        }
        for pair in vertex.particles[..fermions].chunks(2) {
            let [first, second] =
                [pair[0], pair[1]].map(|p| (self.properties(p), self.properties(p).is_majorana(p)));
            if !first.1 && !second.1 && !first.0.is_anti && second.0.is_anti {
                return Err(format!(
                    "of {} and {}, the first must be the antiparticle",
                    first.0.name, second.0.name
                ));
            }
        }
        let spins: Vec<u8> = vertex
            .particles
            .iter()
            .map(|&p| self.properties(p).spin)
            .collect();
        for term in &vertex.terms {
            for &(lorentz, _) in &term.lorentz {
                let fits = self.structure(lorentz)?.check(&spins);
                let name = &self.lorentz[lorentz as usize].name;
                fits.map_err(|what| format!("Lorentz structure {name}: {what}"))?;
            }
        }
        Ok(())
    }

    /// Names of particles, as in a process.
    pub fn names(&self, particles: &[ParticleId]) -> String {
        let names = particles.iter().map(|&p| self.properties(p).name.as_str());
        names.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
