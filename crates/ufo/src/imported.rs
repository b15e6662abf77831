//! Import of a model as in MG5aMC (`UFOMG5Converter` of import_ufo.py): choice of particle and antiparticle, names,
//! charges, merging of Lorentz structures with the same coupling.

use crate::source::{
    CouplingOrder, Parameter, RunningTerm, UfoCoupling, UfoDecays, UfoFolder, UfoLorentz,
    UfoPropagator,
};
use mebridge_generate::model::Gauge;
use mebridge_generate::model::lorentz::Structure;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::collections::HashMap;
use std::path::PathBuf;

/// A particle with its antiparticle.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ParticlePair {
    pub name: String,
    /// `None` if it is its own antiparticle.
    pub antiname: Option<String>,
    pub pdg: i32,
    pub spin: u8,
    pub color: i8,
    pub mass: Option<String>,
    pub width: Option<String>,
    /// Name of its mass in the complex-mass scheme.
    pub complex_mass: Option<String>,
    pub charges: SortedMap<String, f64>,
    pub goldstone: bool,
    pub ghost: bool,
    pub propagating: bool,
    pub propagator: Option<String>,
}

/// A term of a vertex: one colour structure, one Lorentz structure, one coupling.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct VertexTerm {
    /// Index into [`ImportedVertex::colors`].
    pub color: usize,
    pub lorentz: String,
    /// Index into [`Imported::couplings`].
    pub coupling: usize,
    pub negative: bool,
}

/// A vertex.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ImportedVertex {
    /// PDG codes of the outgoing particles.
    pub particles: Vec<i32>,
    pub colors: Vec<String>,
    pub terms: Vec<VertexTerm>,
    /// Whether MG5aMC uses it in the gauge; vertices of ghosts only in models for loops.
    pub physical: bool,
    pub place: String,
}

/// A width that a card leaves to be computed.
#[derive(Clone, Debug)]
pub struct OpenWidth {
    /// The card.
    pub card: PathBuf,
    /// The model's own value, unless it is a placeholder.
    pub own: Option<f64>,
}

/// Widths that a card leaves to be computed, by PDG code.
pub type OpenWidths = SortedMap<i32, OpenWidth>;

/// A model.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Imported {
    pub particles: Vec<ParticlePair>,
    pub parameters: Vec<Parameter>,
    pub couplings: Vec<UfoCoupling>,
    /// Lorentz structures by name.
    pub lorentz: SortedMap<String, String>,
    pub propagators: Vec<UfoPropagator>,
    pub interactions: Vec<ImportedVertex>,
    pub orders: Vec<CouplingOrder>,
    pub decays: Vec<UfoDecays>,
    /// The terms in `running.py`.
    pub running: Vec<RunningTerm>,
    /// The gauge.
    pub gauge: Gauge,
    /// Widths that a card leaves to be computed.
    pub open_widths: OpenWidths,
    /// Whether masses of particles with a width are complex.
    pub has_complex_masses: bool,
    /// Names of merged Lorentz structures, by whether their parts have signs, and the sorted names of the parts.
    merged: HashMap<(bool, Vec<String>), String>,
}

type Fallible<T> = Result<T, String>;

/// Most attributes of particles that may be charges.
const MAX_CHARGES: usize = 100;
/// Most merged Lorentz structures, and most characters of one. Beyond, structures are not merged.
const MAX_MERGED: usize = 20_000;
const MAX_MERGED_LENGTH: usize = 1 << 14;

/// MG5aMC's names for particles of the Standard Model and of the minimal supersymmetric one, which replace those of the
/// model (input/particles_name_default.txt): PDG code, name, name of the antiparticle if different.
const NAMES: [(i32, &str, &str); 47] = [
    (1, "d", "d~"),
    (2, "u", "u~"),
    (3, "s", "s~"),
    (4, "c", "c~"),
    (5, "b", "b~"),
    (6, "t", "t~"),
    (11, "e-", "e+"),
    (12, "ve", "ve~"),
    (13, "mu-", "mu+"),
    (14, "vm", "vm~"),
    (15, "ta-", "ta+"),
    (16, "vt", "vt~"),
    (21, "g", ""),
    (22, "a", ""),
    (23, "z", ""),
    (24, "w+", "w-"),
    (35, "h2", ""),
    (36, "h3", ""),
    (37, "h+", "h-"),
    (1000001, "dl", "dl~"),
    (2000001, "dr", "dr~"),
    (1000002, "ul", "ul~"),
    (2000002, "ur", "ur~"),
    (1000003, "sl", "sl~"),
    (2000003, "sr", "sr~"),
    (1000004, "cl", "cl~"),
    (2000004, "cr", "cr~"),
    (1000005, "b1", "b1~"),
    (2000005, "b2", "b2~"),
    (1000006, "t1", "t1~"),
    (2000006, "t2", "t2~"),
    (1000011, "el-", "el+"),
    (2000011, "er-", "er+"),
    (1000012, "sve", "sve~"),
    (1000013, "mul-", "mul+"),
    (2000013, "mur-", "mur+"),
    (1000014, "svm", "svm~"),
    (1000015, "ta1-", "ta1+"),
    (2000015, "ta2-", "ta2+"),
    (1000016, "svt", "svt~"),
    (1000021, "go", ""),
    (1000022, "n1", ""),
    (1000023, "n2", ""),
    (1000025, "n3", ""),
    (1000035, "n4", ""),
    (1000024, "x1+", "x1-"),
    (1000037, "x2+", "x2-"),
];

impl Imported {
    /// Imports the content of a folder.
    pub fn from_source(source: UfoFolder) -> Fallible<Imported> {
        let gauge = source.gauge;
        let particles = pairs(&source)?;
        let mut imported = Imported {
            interactions: interactions(&source, &particles)?,
            particles,
            lorentz: source
                .lorentz
                .iter()
                .map(|l| (l.name.clone(), l.structure.clone()))
                .collect(),
            parameters: source.parameters,
            couplings: source.couplings,
            propagators: source.propagators,
            orders: source.orders,
            decays: source.decays,
            running: source.running,
            open_widths: OpenWidths::new(),
            gauge,
            has_complex_masses: false,
            merged: HashMap::new(),
        };
        imported.keep_conserved()?;
        imported.merge_equal_texts();
        for at in 0..imported.interactions.len() {
            imported.merge_lorentz(at, false);
        }
        imported.interactions.retain(|i| !i.terms.is_empty());
        Ok(imported)
    }

    /// The name of the particle with a PDG code; empty if there is none.
    pub fn name(&self, pdg: i32) -> &str {
        let pair = self
            .particles
            .iter()
            .find(|p| p.pdg == pdg || p.pdg == -pdg);
        pair.map_or("", |pair| match &pair.antiname {
            Some(anti) if pair.pdg != pdg => anti,
            _ => &pair.name,
        })
    }

    /// Keeps the numerical attributes of particles that every vertex conserves as charges; the electric charge must be
    /// one.
    fn keep_conserved(&mut self) -> Fallible<()> {
        let names: SortedSet<String> = self
            .particles
            .iter()
            .flat_map(|p| p.charges.keys().cloned())
            .collect();
        if names.len() > MAX_CHARGES {
            return Err(format!("particles.py: more than {MAX_CHARGES} charges"));
        }
        let mut by_code: HashMap<i32, usize> = HashMap::new();
        for (n, pair) in self.particles.iter().enumerate() {
            by_code.insert(pair.pdg, n);
            by_code.insert(-pair.pdg, n);
        }
        for name in names {
            let of = |pdg: &i32| {
                let pair = &self.particles[by_code[pdg]];
                let sign = if pair.pdg == *pdg { 1.0 } else { -1.0 };
                sign * pair.charges.get(&name).unwrap_or(&0.0)
            };
            let total = |i: &&ImportedVertex| i.particles.iter().map(of).sum::<f64>().abs() > 1e-12;
            // As in MG5aMC, vertices that the gauge does not have are ignored.
            let mut physical = self.interactions.iter().filter(|i| i.physical);
            if let Some(broken) = physical.find(total) {
                if name == "charge" {
                    let particles: Vec<&str> =
                        broken.particles.iter().map(|&pdg| self.name(pdg)).collect();
                    return Err(format!(
                        "{}: the vertex {} does not conserve electric charge",
                        broken.place,
                        particles.join(" ")
                    ));
                }
                for pair in &mut self.particles {
                    pair.charges.remove(&name);
                }
            }
        }
        Ok(())
    }

    /// Merges couplings with the same text and orders, and removes those that are 0. MG5aMC compares only the text, but
    /// stores the orders with the vertex.
    fn merge_equal_texts(&mut self) {
        let mut first: HashMap<(&str, &SortedMap<String, i32>), usize> = HashMap::new();
        let same: Vec<usize> = (self.couplings.iter().enumerate())
            .map(|(n, c)| *first.entry((&c.text, &c.orders)).or_insert(n))
            .collect();
        let couplings = &self.couplings;
        for interaction in &mut self.interactions {
            for term in &mut interaction.terms {
                term.coupling = same[term.coupling];
            }
            interaction
                .terms
                .retain(|term| couplings[term.coupling].text != "0");
        }
    }

    /// Merges Lorentz structures of a vertex that have the same coupling and colour structure. With `signed`, a
    /// coupling and its negative count as the same.
    pub fn merge_lorentz(&mut self, at: usize, signed: bool) {
        let mut groups: Vec<((usize, usize, bool), Vec<VertexTerm>)> = Vec::new();
        for term in &self.interactions[at].terms {
            let key = (term.color, term.coupling, !signed && term.negative);
            match groups.iter_mut().find(|(k, _)| *k == key) {
                Some((_, terms)) => terms.push(term.clone()),
                None => groups.push((key, vec![term.clone()])),
            }
        }
        for (_, terms) in groups.into_iter().filter(|(_, terms)| terms.len() > 1) {
            if terms.iter().any(|t| self.lorentz[&t.lorentz] == "external") {
                continue;
            }
            let mut names: Vec<String> = terms
                .iter()
                .map(|term| match (signed, term.negative) {
                    (false, _) => term.lorentz.clone(),
                    (true, false) => format!("u{}", term.lorentz),
                    (true, true) => format!("d{}", term.lorentz),
                })
                .collect();
            names.sort();
            let length: usize = terms.iter().map(|t| self.lorentz[&t.lorentz].len()).sum();
            if self.merged.len() == MAX_MERGED || length > MAX_MERGED_LENGTH {
                continue;
            }
            let names = (signed, names);
            let name = match self.merged.get(&names) {
                Some(name) => name.clone(),
                None => self.add_merged(names),
            };
            let mut merged = terms[0].clone();
            merged.lorentz = name;
            merged.negative &= !signed;
            let all = &mut self.interactions[at].terms;
            all.retain(|term| !terms.contains(term));
            all.push(merged);
        }
    }

    /// Adds a Lorentz structure that is the sum of others, with the name that MG5aMC would give it.
    fn add_merged(&mut self, (signed, names): (bool, Vec<String>)) -> String {
        let skip = usize::from(signed);
        let plain: Vec<&str> = names.iter().map(|name| &name[skip..]).collect();
        let shared = |n: &usize| plain.iter().all(|p| p.starts_with(&plain[0][..*n]));
        let ends = (1..=plain[0].len())
            .rev()
            .filter(|&n| plain[0].is_char_boundary(n));
        let base = ends.into_iter().find(shared);
        let base = base.map_or("LMER", |n| &plain[0][..n]);
        let numbered = (1..).map(|n: usize| format!("{base}{n}"));
        let mut numbered = numbered.filter(|name| !self.lorentz.contains_key(name));
        let name = numbered.next().unwrap_or_default();
        let mut structure = String::new();
        for full in &names {
            let text = &self.lorentz[&full[skip..]];
            let negative = signed && full.starts_with('d');
            let sign = match (structure.is_empty(), negative) {
                (true, false) => "",
                (false, false) => " + ",
                (_, true) => " - ",
            };
            // A sum after a minus needs brackets; elsewhere they do no harm.
            structure += &format!("{sign}({text})");
        }
        self.lorentz.insert(name.clone(), structure);
        self.merged.insert((signed, names), name.clone());
        name
    }
}

/// Whether the order of fermions along the lines of a Lorentz structure is an odd permutation of the legs, a sign that
/// MG5aMC includes in the coupling. An error if the terms of the structure disagree; `None` if it cannot be read, so
/// that no process with it can be generated.
fn is_odd_flow(structure: &str) -> Fallible<Option<bool>> {
    let Ok(structure) = Structure::read(structure) else {
        return Ok(None);
    };
    let mut found = None;
    for term in &structure.terms {
        let ends = term.tensors.iter().filter_map(|tensor| {
            let (lorentz, spinor) = tensor.kind.indices();
            (spinor == 2).then(|| (tensor.indices[lorentz + 1], tensor.indices[lorentz]))
        });
        // The two ends of each line: where it comes in, and where it goes out.
        let mut ends: Vec<(i32, i32)> = ends.collect();
        // Join tensors at indices that are summed over.
        while let Some(at) = ends.iter().position(|&(from, out)| from < 0 || out < 0) {
            let (from, out) = ends.swap_remove(at);
            let (middle, end) = if from < 0 { (from, out) } else { (out, from) };
            let has = |&(a, b): &(i32, i32)| a == middle || b == middle;
            let Some(next) = ends.iter().position(has) else {
                return Ok(None);
            };
            let (a, b) = &mut ends[next];
            *(if *a == middle { a } else { b }) = end;
        }
        // Legs alternate between antiparticle and particle. A unit matrix may be written either way.
        for (from, out) in &mut ends {
            if *from % 2 == 0 && *out % 2 == 1 {
                std::mem::swap(from, out);
            }
        }
        ends.sort_unstable();
        let order: Vec<i32> = ends.iter().flat_map(|&(from, out)| [from, out]).collect();
        let pairs = (0..order.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        let odd = pairs.filter(|&(j, i)| order[j] > order[i]).count() % 2 == 1;
        if *found.get_or_insert(odd) != odd {
            return Err("it joins fermions in several ways, with different signs".into());
        }
    }
    Ok(found)
}

/// Pairs particles with their antiparticles. The particle is the one that goes out along fermion lines if vertices
/// determine that, otherwise the one with the positive code.
fn pairs(source: &UfoFolder) -> Fallible<Vec<ParticlePair>> {
    // If a model uses a standard name for another particle, all its own names are kept.
    pairs_with(source, true).or_else(|what| pairs_with(source, false).map_err(|_| what))
}

/// MG5aMC's name for a PDG code.
fn standard_name(pdg: i32) -> Option<&'static str> {
    let (_, name, anti) = NAMES.iter().find(|(code, ..)| *code == pdg.abs())?;
    match pdg > 0 {
        true => Some(name),
        false => Some(*anti).filter(|anti| !anti.is_empty()),
    }
}

fn pairs_with(source: &UfoFolder, standard: bool) -> Fallible<Vec<ParticlePair>> {
    let (mut incoming, mut outgoing): (Vec<i32>, Vec<i32>) = Default::default();
    for vertex in &source.vertices {
        let fermions = vertex.particles.iter().map(|&p| &source.particles[p]);
        let fermions: Vec<_> = fermions.filter(|p| matches!(p.spin, 2 | 4)).collect();
        if fermions.len() % 2 == 1 {
            return Err(format!(
                "{}: the vertex {} has an odd number of fermions",
                vertex.place, vertex.name
            ));
        }
        for pair in fermions.chunks(2) {
            let (first, second) = (pair[0].pdg, pair[1].pdg);
            if first == -second {
                if outgoing.contains(&first) {
                    return Err(format!(
                        "{}: the vertex {} has {} in the place of an incoming fermion, other vertices in that of an outgoing one",
                        vertex.place, vertex.name, pair[0].name
                    ));
                }
                if !incoming.contains(&first) {
                    incoming.push(first);
                    outgoing.push(second);
                }
            }
        }
    }
    let all = || source.particles.iter().flat_map(|p| [&p.name, &p.antiname]);
    let lower: SortedSet<String> = all().map(|name| name.to_lowercase()).collect();
    let ignores_case = lower.len() == all().collect::<SortedSet<_>>().len();
    let cased = |name: &str| match ignores_case {
        true => name.to_lowercase(),
        false => name.to_owned(),
    };
    let mut pairs: Vec<ParticlePair> = Vec::new();
    let mut names: HashMap<String, i32> = HashMap::new();
    let mut codes = SortedSet::new();
    for particle in &source.particles {
        let pdg = particle.pdg;
        let fail = |what: String| format!("{}: particle {}: {what}", particle.place, particle.name);
        if !codes.insert(pdg) {
            return Err(fail(format!("two particles have the PDG code {pdg}")));
        }
        if pdg == 0 {
            return Err(fail("the PDG code is 0".into()));
        }
        if incoming.contains(&pdg) || (!outgoing.contains(&pdg) && pdg < 0) {
            continue;
        }
        let own = particle.name == particle.antiname;
        let (mut name, mut antiname) = (cased(&particle.name), cased(&particle.antiname));
        if standard {
            name = standard_name(pdg).map_or(name, str::to_owned);
            // A particle that is its own antiparticle has one name.
            antiname = match own {
                true => name.clone(),
                false => standard_name(-pdg).map_or(antiname, str::to_owned),
            };
        }
        let both = match own {
            true => vec![&name],
            false => vec![&name, &antiname],
        };
        for name in both {
            if let Some(other) = names.insert(name.clone(), pdg) {
                return Err(fail(format!(
                    "its name {name} is also that of the particle {other}"
                )));
            }
        }
        let spin = u8::try_from(particle.spin.unsigned_abs());
        let spin = spin.map_err(|_| fail(format!("spin = {}", particle.spin)))?;
        let color = i8::try_from(particle.color);
        let color = color.map_err(|_| fail(format!("color = {}", particle.color)))?;
        // Some models refer to undefined masses for particles that are in no process.
        let ghost = particle.spin < 0 || particle.goldstone && source.gauge == Gauge::Unitary;
        let known = |name: &str| source.parameters.iter().any(|p| p.name == name);
        let zero = |name: &str| name.eq_ignore_ascii_case("zero") || (ghost && !known(name));
        let quantity = |name: &str| (!zero(name)).then(|| name.to_owned());
        pairs.push(ParticlePair {
            antiname: (!own).then_some(antiname),
            name,
            pdg,
            spin,
            color,
            mass: quantity(&particle.mass),
            width: quantity(&particle.width),
            complex_mass: None,
            charges: particle.charges.clone(),
            goldstone: particle.goldstone,
            ghost: particle.spin < 0,
            propagating: particle.propagating,
            propagator: particle
                .propagator
                .map(|n| source.propagators[n].name.clone()),
        });
    }
    Ok(pairs)
}

fn interactions(source: &UfoFolder, pairs: &[ParticlePair]) -> Fallible<Vec<ImportedVertex>> {
    let mut by_code: HashMap<i32, &ParticlePair> = HashMap::new();
    for pair in pairs {
        by_code.entry(pair.pdg).or_insert(pair);
        if pair.antiname.is_some() {
            by_code.entry(-pair.pdg).or_insert(pair);
        }
    }
    let feynman = source.gauge == Gauge::Feynman;
    let loops = source.orders.iter().any(|order| order.perturbative);
    let mut interactions = Vec::new();
    for vertex in &source.vertices {
        let particles = vertex.particles.iter().map(|&p| source.particles[p].pdg);
        let particles: Vec<i32> = particles.collect();
        let mut physical = true;
        for (pdg, &p) in particles.iter().zip(&vertex.particles) {
            match by_code.get(pdg) {
                Some(pair) => physical &= (loops || !pair.ghost) && (feynman || !pair.goldstone),
                None => {
                    return Err(format!(
                        "{}: the vertex {} has {}, of which there is no particle",
                        vertex.place, vertex.name, source.particles[p].name
                    ));
                }
            }
        }
        let fermions = vertex
            .particles
            .iter()
            .filter(|&&p| source.particles[p].spin % 2 == 0)
            .count();
        let mut terms: Vec<VertexTerm> = Vec::new();
        for &(color, lorentz, coupling) in &vertex.terms {
            let UfoLorentz { name, structure } = &source.lorentz[lorentz];
            let odd = match fermions > 2 {
                true => is_odd_flow(structure).map_err(|what| {
                    format!(
                        "{}: {}: Lorentz structure {name}: {what}",
                        vertex.place, vertex.name
                    )
                })?,
                false => None,
            };
            terms.push(VertexTerm {
                color,
                lorentz: name.clone(),
                coupling,
                negative: odd == Some(true),
            });
        }
        interactions.push(ImportedVertex {
            particles,
            colors: vertex.colors.clone(),
            terms,
            physical,
            place: format!("{}: {}", vertex.place, vertex.name),
        });
    }
    Ok(interactions)
}
