//! The text file of a model.

use super::expression::{Expr, parse as expression};
use super::lorentz::Structure;
use super::{CardEntry, ColorTerm, Model, Particle, ParticleId, Vertex};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Version of the format.
const FORMAT: u32 = 1;

type Fallible<T> = Result<T, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    name: String,
    alpha_s: Option<String>,
    orders: BTreeMap<String, u32>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    charges: BTreeMap<String, String>,
    particles: Vec<ParticleRow>,
    #[serde(default)]
    card: Vec<CardRow>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    couplings: BTreeMap<String, CouplingRow>,
    lorentz: BTreeMap<String, String>,
    vertices: Vec<VertexRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParticleRow {
    name: String,
    antiname: Option<String>,
    pdg: i32,
    spin: u8,
    color: i8,
    mass: Option<String>,
    width: Option<String>,
    #[serde(default)]
    charges: BTreeMap<String, i32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardRow {
    name: String,
    block: String,
    #[serde(default)]
    index: Vec<i32>,
    value: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CouplingRow {
    value: String,
    orders: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VertexRow {
    particles: String,
    /// Colour structure, Lorentz structure, coupling.
    terms: Vec<[String; 3]>,
}

/// Reads a model.
pub fn parse(text: &str) -> Fallible<Model> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
    if file.format != FORMAT {
        return Err(format!(
            "format = {}; this version of mebridge reads format {FORMAT}",
            file.format
        ));
    }
    let (particles, by_name) = particles(&file)?;
    let formulas = |table: &BTreeMap<String, String>| -> Fallible<HashMap<String, Expr>> {
        let read = |(name, text): (&String, &String)| Ok((name.clone(), formula(name, text)?));
        table.iter().map(read).collect()
    };
    let couplings = file.couplings.iter();
    let couplings = couplings.map(|(name, row)| Ok((name.clone(), formula(name, &row.value)?)));
    let structure = |(name, text): (&String, &String)| -> Fallible<_> {
        let structure = formula(name, text).and_then(|e| Structure::of(&e));
        let structure = structure.map_err(|what| format!("Lorentz structure {name}: {what}"))?;
        Ok((name.clone(), structure))
    };
    let lorentz: Vec<_> = file
        .lorentz
        .iter()
        .map(structure)
        .collect::<Fallible<_>>()?;
    let list = |names: &String| -> Fallible<Vec<ParticleId>> {
        names
            .split_whitespace()
            .map(|name| match by_name.get(name) {
                Some(&particle) => Ok(particle),
                None => Err(format!("there is no particle `{name}`")),
            })
            .collect()
    };
    let mut labels = BTreeMap::new();
    for (label, names) in &file.labels {
        if by_name.contains_key(label) {
            return Err(format!("`{label}` is both a particle and a label"));
        }
        labels.insert(label.clone(), list(names)?);
    }
    let mut vertices = Vec::new();
    for row in &file.vertices {
        let within = |what: String| format!("vertex {}: {what}", row.particles);
        let outgoing = list(&row.particles).map_err(within)?;
        split(row, &outgoing, &file, &lorentz, &mut vertices).map_err(within)?;
    }
    let card = file.card.iter().map(|row| CardEntry {
        name: row.name.clone(),
        block: row.block.to_ascii_lowercase(),
        index: row.index.clone(),
        value: row.value,
    });
    let card: Vec<CardEntry> = card.collect();
    if let Some(name) = &file.alpha_s
        && !card.iter().any(|entry| entry.name == *name)
    {
        return Err(format!("alpha_s = {name} is not in the card"));
    }
    Ok(Model {
        alpha_s: file.alpha_s,
        card,
        parameters: formulas(&file.parameters)?,
        couplings: couplings.collect::<Fallible<_>>()?,
        orders: file.orders.iter().map(|(n, &w)| (n.clone(), w)).collect(),
        charges: file.charges.values().cloned().collect(),
        name: file.name,
        particles,
        labels,
        lorentz,
        vertices,
        by_name,
    })
}

fn formula(name: &str, text: &str) -> Fallible<Expr> {
    expression(text).map_err(|what| format!("{name} = {what}"))
}

/// Particles with their antiparticles.
fn particles(file: &File) -> Fallible<(Vec<Particle>, HashMap<String, ParticleId>)> {
    let mut particles: Vec<Particle> = Vec::new();
    let mut by_name = HashMap::new();
    for row in &file.particles {
        if let Some(unknown) = row.charges.keys().find(|c| !file.charges.contains_key(*c)) {
            return Err(format!(
                "particle {}: there is no charge `{unknown}`",
                row.name
            ));
        }
        let charges = file.charges.keys();
        let charges: Vec<i32> = charges.map(|c| *row.charges.get(c).unwrap_or(&0)).collect();
        let number = particles.len() as ParticleId;
        let mut names = vec![&row.name];
        names.extend(&row.antiname);
        if names.len() == 1 && (charges.iter().any(|&c| c != 0) || row.color == 3) {
            return Err(format!(
                "particle {} has a charge or is a triplet, and so needs an antiname",
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
                pdg: sign * row.pdg,
                spin: row.spin,
                color: if row.color == 3 {
                    3 * sign as i8
                } else {
                    row.color
                },
                mass: row.mass.clone(),
                width: row.width.clone(),
                anti: number + (names.len() - 1 - i) as ParticleId,
                is_anti: i == 1,
                charges: charges.iter().map(|c| sign * c).collect(),
            });
        }
    }
    Ok((particles, by_name))
}

/// A row as vertices, one for each combination of coupling orders in it.
fn split(
    row: &VertexRow,
    particles: &[ParticleId],
    file: &File,
    lorentz: &[(String, Structure)],
    vertices: &mut Vec<Vertex>,
) -> Fallible<()> {
    let first = vertices.len();
    let mut colors: Vec<Vec<&str>> = Vec::new();
    for [color, structure, coupling] in &row.terms {
        let found = lorentz.iter().position(|(name, _)| name == structure);
        let found = found.ok_or_else(|| format!("there is no Lorentz structure `{structure}`"))?;
        let Some(row) = file.couplings.get(coupling) else {
            return Err(format!("there is no coupling `{coupling}`"));
        };
        if let Some(unknown) = row.orders.keys().find(|o| !file.orders.contains_key(*o)) {
            return Err(format!(
                "coupling {coupling}: there is no order `{unknown}`"
            ));
        }
        let orders = file.orders.keys();
        let orders: Vec<u32> = orders.map(|o| *row.orders.get(o).unwrap_or(&0)).collect();
        let place = vertices[first..].iter().position(|v| v.orders == orders);
        let place = place.unwrap_or_else(|| {
            vertices.push(Vertex {
                particles: particles.to_vec(),
                terms: Vec::new(),
                orders,
            });
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
