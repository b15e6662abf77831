//! The text file of a model.

use super::expression::{Expr, parse as expression};
use super::joined::join;
use super::lorentz::Structure;
use super::parameters::constant_value;
use super::running::Running;
use super::{
    CardEntry, ColorTerm, Decay, Gauge, Lorentz, Model, Particle, ParticleId, Propagator, Vertex,
};
use mebridge_process::running::Mixing;
use mebridge_support::sorted::SortedMap;
use serde::Deserialize;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::fmt::{self, Display, Formatter};

/// Version of the format.
pub const FORMAT: u32 = 1;

/// The largest weight and power of a coupling order, so that sums over the vertices of a diagram do not overflow.
const MAX_WEIGHT: u32 = 1000;
/// The coupling order of alpha_s.
const STRONG: &str = "QCD";
/// The largest charge.
const MAX_CHARGE: u32 = 1_000_000;

type Fallible<T> = Result<T, String>;

/// The content of a model's file (docs/generate.md). Formulas are text.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Document {
    pub format: u32,
    pub name: String,
    pub alpha_s: Option<String>,
    /// `unitary` or `feynman`.
    #[serde(default)]
    pub gauge: Gauge,
    /// Weight of each coupling order in `WEIGHTED`.
    pub orders: SortedMap<String, u32>,
    /// Upper limits of orders in a process in MG5aMC.
    #[serde(default)]
    pub expansion: SortedMap<String, u32>,
    /// Names of particles, separated by spaces.
    #[serde(default)]
    pub labels: SortedMap<String, String>,
    /// Names of the conserved charges.
    #[serde(default)]
    pub charges: SortedMap<String, String>,
    pub particles: Vec<ParticleRow>,
    #[serde(default)]
    pub card: Vec<CardEntry>,
    #[serde(default)]
    pub parameters: SortedMap<String, String>,
    #[serde(default)]
    pub running: Vec<RunningRow>,
    pub couplings: SortedMap<String, CouplingRow>,
    pub lorentz: SortedMap<String, String>,
    #[serde(default)]
    pub propagators: SortedMap<String, PropagatorRow>,
    /// Two-body decays of particles, with the partial widths.
    #[serde(default)]
    pub decays: SortedMap<String, Vec<[String; 2]>>,
    pub vertices: Vec<VertexRow>,
}

/// A particle with its antiparticle.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ParticleRow {
    pub name: String,
    pub antiname: Option<String>,
    pub pdg: i32,
    pub spin: u8,
    pub color: i8,
    pub mass: Option<String>,
    pub width: Option<String>,
    /// The complex mass in its propagators in the complex-mass scheme.
    pub complex_mass: Option<String>,
    #[serde(default)]
    pub charges: SortedMap<String, i32>,
    #[serde(default)]
    pub goldstone: bool,
    #[serde(default)]
    pub ghost: bool,
    /// Its custom propagator.
    pub propagator: Option<String>,
    /// UFO's flag for particles that are drawn as lines. As in MG5aMC, |M|^2 does not depend on it.
    #[serde(default = "yes")]
    pub propagating: bool,
}

fn yes() -> bool {
    true
}

/// A set of card parameters that run and mix.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RunningRow {
    pub parameters: Vec<String>,
    /// Their block in the card.
    #[serde(default)]
    pub block: String,
    /// The scale of the block, in GeV.
    #[serde(default)]
    pub scale: f64,
    /// Entries `[a, b, gamma]`: d a / d ln mu is the sum of alpha_s gamma b.
    #[serde(default)]
    pub gamma: Vec<[String; 3]>,
    /// The reason if no process may depend on these parameters.
    pub refused: Option<String>,
}

impl RunningRow {
    /// Returns the set of running parameters.
    fn running(&self) -> Result<Running, String> {
        let within = |what: String| format!("running of {}: {what}", self.parameters.join(", "));
        let place = |name: &String| {
            let place = self.parameters.iter().position(|known| known == name);
            place.ok_or_else(|| within(format!("`{name}` is not one of them")))
        };
        let mut matrix: Vec<(usize, usize, f64)> = Vec::new();
        for [of, by, value] in &self.gamma {
            let (of, by) = (place(of)?, place(by)?);
            let value = constant_value(value).map_err(within)?;
            if matrix
                .iter()
                .any(|&(row, column, _)| (row, column) == (of, by))
            {
                let names = [of, by].map(|n| self.parameters[n].as_str()).join(", ");
                return Err(within(format!("there are two coefficients of {names}")));
            }
            matrix.push((of, by, 4.0 * PI * value));
        }
        if self.refused.is_none() && !(self.scale > 0.0 && self.scale.is_finite()) {
            return Err(within(format!(
                "scale = {}, which is not a scale in GeV",
                self.scale
            )));
        }
        Ok(Running {
            block: self.block.to_ascii_lowercase(),
            scale: self.scale,
            mixing: Mixing {
                parameters: self.parameters.len(),
                matrix,
            },
            refused: self.refused.clone(),
            parameters: self.parameters.clone(),
        })
    }
}

/// A coupling.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct CouplingRow {
    pub value: String,
    pub orders: SortedMap<String, i32>,
}

/// A propagator.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PropagatorRow {
    pub numerator: String,
    pub denominator: Option<String>,
}

/// A vertex.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct VertexRow {
    pub particles: String,
    /// Colour structure, Lorentz structure, coupling.
    pub terms: Vec<[String; 3]>,
}

/// Changes to a model: additional entries, or replacements of entries with the same name.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Changes {
    /// Parameters that are removed from the card.
    without: Vec<String>,
    /// Whether formulas for widths are removed.
    without_decays: bool,
    /// Complex masses by the names of the real ones.
    complex_masses: SortedMap<String, String>,
    particles: Vec<ParticleRow>,
    card: Vec<CardEntry>,
    parameters: SortedMap<String, String>,
    couplings: SortedMap<String, CouplingRow>,
    lorentz: SortedMap<String, String>,
    vertices: Vec<VertexRow>,
}

impl Document {
    /// Applies the changes in a text.
    pub(super) fn change(&mut self, text: &str) -> Fallible<()> {
        let changes: Changes = toml::from_str(text).map_err(|e| e.to_string())?;
        self.card
            .retain(|entry| !changes.without.contains(&entry.name));
        self.card.extend(changes.card);
        for entry in &self.card {
            self.parameters.remove(&entry.name);
        }
        self.parameters.extend(changes.parameters);
        self.particles.extend(changes.particles);
        self.couplings.extend(changes.couplings);
        self.lorentz.extend(changes.lorentz);
        self.vertices.extend(changes.vertices);
        if changes.without_decays {
            self.decays.clear();
        }
        for row in &mut self.particles {
            let complex = row
                .mass
                .as_ref()
                .and_then(|mass| changes.complex_masses.get(mass));
            if row.width.is_some() && complex.is_some() {
                row.complex_mass = complex.cloned();
            }
        }
        Ok(())
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Fallible<Document> {
        let document: Document =
            toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
        if document.format != FORMAT {
            return Err(format!(
                "format = {}; this version of mebridge reads format {FORMAT}",
                document.format
            ));
        }
        Ok(document)
    }

    /// Whether a coupling has a negative power of an order.
    fn has_negative(&self, order: &str) -> bool {
        let power = |row: &CouplingRow| row.orders.get(order).copied().unwrap_or(0);
        self.couplings.values().any(|row| power(row) < 0)
    }

    /// Builds the model.
    pub(super) fn model(self) -> Fallible<Model> {
        if self.has_negative(STRONG) {
            return Err(format!(
                "couplings have negative powers of {STRONG}, and nothing says what power of alpha_s a process has"
            ));
        }
        let negative = self.orders.keys().map(|order| self.has_negative(order));
        let negative: Vec<bool> = negative.collect();
        let (particles, by_name) = particles(&self)?;
        let formulas = |table: &SortedMap<String, String>| -> Fallible<HashMap<String, Expr>> {
            let read = |(name, text): (&String, &String)| Ok((name.clone(), formula(name, text)?));
            table.iter().map(read).collect()
        };
        let couplings = self.couplings.iter();
        let couplings = couplings.map(|(name, row)| Ok((name.clone(), formula(name, &row.value)?)));
        let couplings: HashMap<String, Expr> = couplings.collect::<Fallible<_>>()?;
        let lorentz = self.lorentz.iter().map(|(name, text)| Lorentz {
            name: name.clone(),
            structure: Structure::read(text).map(Structure::forward),
        });
        let mut lorentz: Vec<Lorentz> = lorentz.collect();
        let propagators = self.propagators.iter().map(|(name, row)| {
            let below = row.denominator.as_ref();
            let (factor, numerator) = formula(name, &row.numerator)?.without_names("id");
            Ok(Propagator {
                name: name.clone(),
                numerator,
                factor,
                denominator: below.map(|text| formula(name, text)).transpose()?,
            })
        });
        let propagators = propagators.collect::<Fallible<_>>()?;
        let list = |names: &String| listed(names, &by_name);
        let decays = self.decays(&by_name)?;
        let mut labels = SortedMap::new();
        for (label, names) in &self.labels {
            if by_name.contains_key(label) {
                return Err(format!("`{label}` is both a particle and a label"));
            }
            labels.insert(label.clone(), list(names)?);
        }
        let (mut vertices, mut unphysical) = (Vec::new(), Vec::new());
        for row in &self.vertices {
            let within = |what: String| format!("vertex {}: {what}", row.particles);
            let outgoing = list(&row.particles).map_err(within)?;
            let of = |p: &ParticleId| &particles[usize::from(*p)];
            let feynman = self.gauge == Gauge::Feynman;
            let real = |p: &ParticleId| (feynman || !of(p).goldstone) && !of(p).ghost;
            let vertices = match outgoing.iter().all(real) {
                true => &mut vertices,
                false => &mut unphysical,
            };
            let first = vertices.len();
            split(row, &outgoing, &self, &negative, &lorentz, vertices).map_err(within)?;
            // With more than two fermions, the sign of their order along the lines depends on the structure.
            let is_fermion = |p: &&ParticleId| of(p).spin % 2 == 0;
            if outgoing.iter().filter(is_fermion).count() <= 2 {
                let terms = vertices[first..].iter_mut().flat_map(|v| &mut v.terms);
                terms
                    .for_each(|term| join(term, &mut lorentz, |name| couplings.get(name).cloned()));
            }
        }
        self.check_orders()?;
        let mut card = self.card;
        for entry in &mut card {
            entry.block.make_ascii_lowercase();
        }
        if let Some(name) = &self.alpha_s
            && !card.iter().any(|entry| entry.name == *name)
        {
            return Err(format!("alpha_s = {name} is not in the card"));
        }
        let expansion = self.orders.keys().map(|o| self.expansion.get(o).copied());
        Ok(Model {
            alpha_s: self.alpha_s,
            card,
            parameters: formulas(&self.parameters)?,
            running: self
                .running
                .iter()
                .map(RunningRow::running)
                .collect::<Fallible<_>>()?,
            couplings,
            expansion: expansion.collect(),
            negative,
            orders: self.orders.into_iter().collect(),
            charges: self.charges.into_values().collect(),
            name: self.name,
            particles,
            labels,
            lorentz,
            propagators,
            decays,
            vertices,
            unphysical,
            by_name,
        })
    }

    /// The decays of each particle, with formulas for their widths.
    fn decays(
        &self,
        by_name: &HashMap<String, ParticleId>,
    ) -> Fallible<SortedMap<ParticleId, Vec<Decay>>> {
        let mut decays = SortedMap::new();
        for (name, rows) in &self.decays {
            let within = |what: String| format!("decays of {name}: {what}");
            let Some(&mother) = by_name.get(name) else {
                return Err(format!("decays: there is no particle `{name}`"));
            };
            let rows = rows.iter().map(|[particles, width]| {
                let width = expression(width).map_err(|what| format!("{particles}: {what}"))?;
                Ok((listed(particles, by_name)?, width))
            });
            let rows = rows.collect::<Fallible<Vec<_>>>().map_err(within)?;
            decays.insert(mother, rows);
        }
        Ok(decays)
    }

    /// Checks that all orders are known and none is too high.
    fn check_orders(&self) -> Fallible<()> {
        let unknown = |order: &&String| !self.orders.contains_key(*order);
        if let Some(order) = self.expansion.keys().find(unknown) {
            return Err(format!("expansion: there is no order `{order}`"));
        }
        if let Some((order, n)) = self.orders.iter().find(|(_, n)| **n > MAX_WEIGHT) {
            return Err(format!(
                "order {order} has the weight {n}; it can be {MAX_WEIGHT} at most"
            ));
        }
        for (name, row) in &self.couplings {
            let mut orders = row.orders.iter();
            if let Some((order, n)) = orders.find(|(_, n)| n.unsigned_abs() > MAX_WEIGHT) {
                return Err(format!(
                    "coupling {name}: {order} = {n}; it can be {MAX_WEIGHT} at most"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the particles of a list of names.
fn listed(names: &str, by_name: &HashMap<String, ParticleId>) -> Fallible<Vec<ParticleId>> {
    let particles = names
        .split_whitespace()
        .map(|name| match by_name.get(name) {
            Some(&particle) => Ok(particle),
            None => Err(format!("there is no particle `{name}`")),
        });
    particles.collect()
}

/// Formats the text of a file for [`Document::parse`].
impl Display for Document {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "format = {}\nname = {}", self.format, Quoted(&self.name))?;
        if let Some(name) = &self.alpha_s {
            writeln!(f, "alpha_s = {}", Quoted(name))?;
        }
        if self.gauge == Gauge::Feynman {
            writeln!(f, "gauge = \"feynman\"")?;
        }
        table(f, "orders", &self.orders, |weight| weight.to_string())?;
        table(f, "expansion", &self.expansion, |most| most.to_string())?;
        table(f, "labels", &self.labels, |text| quoted(text))?;
        table(f, "charges", &self.charges, |text| quoted(text))?;
        for row in &self.particles {
            writeln!(f, "\n[[particles]]\nname = {}", Quoted(&row.name))?;
            if let Some(name) = &row.antiname {
                writeln!(f, "antiname = {}", Quoted(name))?;
            }
            let (pdg, spin, color) = (row.pdg, row.spin, row.color);
            writeln!(f, "pdg = {pdg}\nspin = {spin}\ncolor = {color}")?;
            let names = [("mass", &row.mass), ("width", &row.width)];
            let names = names.into_iter().chain([
                ("complex_mass", &row.complex_mass),
                ("propagator", &row.propagator),
            ]);
            for (key, name) in names {
                if let Some(name) = name {
                    writeln!(f, "{key} = {}", Quoted(name))?;
                }
            }
            if !row.charges.is_empty() {
                writeln!(f, "charges = {}", inline(&row.charges))?;
            }
            let flags = [("goldstone", row.goldstone), ("ghost", row.ghost)];
            for (key, _) in flags.iter().filter(|(_, holds)| *holds) {
                writeln!(f, "{key} = true")?;
            }
            if !row.propagating {
                writeln!(f, "propagating = false")?;
            }
        }
        for entry in &self.card {
            let (name, block) = (Quoted(&entry.name), Quoted(&entry.block));
            let (index, value) = (&entry.index, entry.value);
            writeln!(
                f,
                "\n[[card]]\nname = {name}\nblock = {block}\nindex = {index:?}\nvalue = {value:?}"
            )?;
        }
        for row in &self.running {
            let names = row.parameters.iter().map(|name| quoted(name));
            let names: Vec<String> = names.collect();
            writeln!(f, "\n[[running]]\nparameters = [{}]", names.join(", "))?;
            if let Some(why) = &row.refused {
                writeln!(f, "refused = {}", Quoted(why))?;
                continue;
            }
            writeln!(f, "block = {}\nscale = {:?}", Quoted(&row.block), row.scale)?;
            writeln!(f, "gamma = [")?;
            for [of, by, value] in &row.gamma {
                let [of, by, value] = [of, by, value].map(|text| Quoted(text));
                writeln!(f, "    [{of}, {by}, {value}],")?;
            }
            writeln!(f, "]")?;
        }
        table(f, "parameters", &self.parameters, |text| quoted(text))?;
        table(f, "couplings", &self.couplings, |row| {
            let (value, orders) = (Quoted(&row.value), inline(&row.orders));
            format!("{{ value = {value}, orders = {orders} }}")
        })?;
        table(f, "lorentz", &self.lorentz, |text| quoted(text))?;
        table(f, "propagators", &self.propagators, |row| {
            let below = row.denominator.as_ref();
            let below = below.map(|text| format!(", denominator = {}", Quoted(text)));
            let below = below.unwrap_or_default();
            format!("{{ numerator = {}{below} }}", Quoted(&row.numerator))
        })?;
        table(f, "decays", &self.decays, |rows| {
            let rows = rows.iter().map(|[particles, width]| {
                format!("\n    [{}, {}],", Quoted(particles), Quoted(width))
            });
            format!("[{}\n]", rows.collect::<String>())
        })?;
        for row in &self.vertices {
            writeln!(
                f,
                "\n[[vertices]]\nparticles = {}\nterms = [",
                Quoted(&row.particles)
            )?;
            for [color, lorentz, coupling] in &row.terms {
                let [color, lorentz, coupling] = [color, lorentz, coupling].map(|t| Quoted(t));
                writeln!(f, "    [{color}, {lorentz}, {coupling}],")?;
            }
            writeln!(f, "]")?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    Quoted(text).to_string()
}

/// Writes a table after a blank line; empty tables only if they are mandatory.
fn table<T>(
    f: &mut Formatter<'_>,
    name: &str,
    rows: &SortedMap<String, T>,
    value: impl Fn(&T) -> String,
) -> fmt::Result {
    if rows.is_empty() && !["orders", "couplings", "lorentz"].contains(&name) {
        return Ok(());
    }
    writeln!(f, "\n[{name}]")?;
    for (key, row) in rows {
        writeln!(f, "{} = {}", Quoted(key), value(row))?;
    }
    Ok(())
}

fn inline<T: Display>(rows: &SortedMap<String, T>) -> String {
    let rows = rows.iter().map(|(key, x)| format!("{} = {x}", Quoted(key)));
    let rows: Vec<String> = rows.collect();
    format!("{{ {} }}", rows.join(", "))
}

/// A quoted string of TOML.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        write!(f, "\"")
    }
}

fn formula(name: &str, text: &str) -> Fallible<Expr> {
    expression(text).map_err(|what| format!("{name} = {what}"))
}

/// Builds the particles and antiparticles.
fn particles(file: &Document) -> Fallible<(Vec<Particle>, HashMap<String, ParticleId>)> {
    let mut particles: Vec<Particle> = Vec::new();
    let mut by_name = HashMap::new();
    for row in &file.particles {
        if let Some(unknown) = row.charges.keys().find(|c| !file.charges.contains_key(*c)) {
            return Err(format!(
                "particle {}: there is no charge `{unknown}`",
                row.name
            ));
        }
        if let Some((name, charge)) =
            (row.charges.iter()).find(|(_, c)| c.unsigned_abs() > MAX_CHARGE)
        {
            return Err(format!(
                "particle {}: {name} = {charge}; it can be {MAX_CHARGE} at most",
                row.name
            ));
        }
        let charges = file.charges.keys();
        let charges: Vec<i32> = charges.map(|c| *row.charges.get(c).unwrap_or(&0)).collect();
        if particles.len() > usize::from(ParticleId::MAX) - 2 {
            return Err(format!("more than {} particles", ParticleId::MAX));
        }
        let number = particles.len() as ParticleId;
        let propagator = row.propagator.as_ref().map(|name| {
            let found = file.propagators.keys().position(|n| n == name);
            let unknown = || format!("particle {}: there is no propagator `{name}`", row.name);
            found.map(|n| n as u32).ok_or_else(unknown)
        });
        let propagator = propagator.transpose()?;
        let mut names = vec![&row.name];
        names.extend(&row.antiname);
        let complex = matches!(row.color.unsigned_abs(), 3 | 6);
        if names.len() == 1 && (charges.iter().any(|&c| c != 0) || complex) {
            return Err(format!(
                "particle {} has a charge or is a triplet or sextet, and so needs an antiname",
                row.name
            ));
        }
        for (i, name) in names.iter().enumerate() {
            let sign = if i == 0 { 1 } else { -1 };
            if by_name
                .insert((*name).clone(), number + i as ParticleId)
                .is_some()
            {
                return Err(format!("two particles have the name {name}"));
            }
            particles.push(Particle {
                name: (*name).clone(),
                pdg: row.pdg.saturating_mul(sign),
                spin: row.spin,
                color: if complex {
                    row.color * sign as i8
                } else {
                    row.color
                },
                mass: row.mass.clone(),
                width: row.width.clone(),
                complex_mass: row.complex_mass.clone(),
                feynman: has_goldstone(file, row),
                anti: number + (names.len() - 1 - i) as ParticleId,
                is_anti: i == 1,
                charges: charges.iter().map(|c| sign * c).collect(),
                goldstone: row.goldstone,
                ghost: row.ghost,
                propagator,
            });
        }
    }
    Ok((particles, by_name))
}

/// Whether a vector has a Goldstone boson in the Feynman gauge: one with the same mass that, like the vector, is or is
/// not its own antiparticle. Vectors without one have the propagator of the unitary gauge.
fn has_goldstone(file: &Document, vector: &ParticleRow) -> bool {
    let goldstone = |row: &ParticleRow| {
        row.goldstone
            && row.mass == vector.mass
            && row.antiname.is_some() == vector.antiname.is_some()
    };
    file.gauge == Gauge::Feynman
        && (vector.spin, vector.mass.is_some()) == (3, true)
        && file.particles.iter().any(goldstone)
}

/// Splits a row into vertices, one per combination of coupling orders. `negative` marks orders with negative powers.
fn split(
    row: &VertexRow,
    particles: &[ParticleId],
    file: &Document,
    negative: &[bool],
    lorentz: &[Lorentz],
    vertices: &mut Vec<Vertex>,
) -> Fallible<()> {
    let first = vertices.len();
    let mut powers: Vec<Vec<i32>> = Vec::new();
    let mut colors: Vec<Vec<&str>> = Vec::new();
    for [color, structure, coupling] in &row.terms {
        let found = lorentz.iter().position(|l| l.name == *structure);
        let found = found.ok_or_else(|| format!("there is no Lorentz structure `{structure}`"))?;
        let positive = coupling.strip_prefix('-').unwrap_or(coupling);
        let Some(row) = file.couplings.get(positive) else {
            return Err(format!("there is no coupling `{coupling}`"));
        };
        if let Some(unknown) = row.orders.keys().find(|o| !file.orders.contains_key(*o)) {
            return Err(format!(
                "coupling {coupling}: there is no order `{unknown}`"
            ));
        }
        let orders = file.orders.keys();
        let signed: Vec<i32> = orders.map(|o| *row.orders.get(o).unwrap_or(&0)).collect();
        let place = powers.iter().position(|known| *known == signed);
        let place = place.unwrap_or_else(|| {
            let used = || {
                signed
                    .iter()
                    .zip(file.orders.values())
                    .filter(|(n, _)| **n != 0)
            };
            let weighted = used()
                .map(|(&n, &weight)| i64::from(n) * i64::from(weight))
                .sum();
            vertices.push(Vertex {
                particles: particles.to_vec(),
                terms: Vec::new(),
                orders: signed
                    .iter()
                    .zip(negative)
                    .map(|(&n, negative)| if *negative { 0 } else { n.max(0) as u32 })
                    .collect(),
                weighted,
                level: used().map(|(_, &weight)| weight).max(),
                refused: None,
            });
            powers.push(signed);
            colors.push(Vec::new());
            colors.len() - 1
        });
        let vertex = &mut vertices[first + place];
        let at = colors[place].iter().position(|c| c == color);
        let at = match at {
            Some(at) => at,
            None => {
                colors[place].push(color);
                vertex.terms.push(ColorTerm {
                    color: expression(color)?,
                    lorentz: Vec::new(),
                });
                vertex.terms.len() - 1
            }
        };
        vertex.terms[at]
            .lorentz
            .push((found as u32, coupling.clone()));
    }
    Ok(())
}
