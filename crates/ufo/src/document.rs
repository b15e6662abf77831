//! Conversion of an imported model to the document of a model file.

use crate::imported::{Imported, ParticlePair};
use crate::source::{Parameter, ParameterValue, UfoCoupling};
use crate::values::{ALPHA_S, STRONG_COUPLING, evaluate, formulas};
use mebridge_generate::model::CardEntry;
use mebridge_generate::model::expression::{Expr, parse};
use mebridge_generate::model::file::{
    CouplingRow, Document, FORMAT, ParticleRow, PropagatorRow, VertexRow,
};
use mebridge_generate::model::program;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::collections::{HashMap, HashSet};
use std::f64::consts::PI;

type Fallible<T> = Result<T, String>;

/// `expansion_order` from which on there is no limit.
const NO_LIMIT: i32 = 99;
/// The largest denominator of a charge.
const MAX_PARTS: i32 = 360;

/// MG5aMC's labels; a model gets those whose particles it has.
const LABELS: [(&str, &str); 6] = [
    ("p", "g u c d s u~ c~ d~ s~"),
    ("j", "g u c d s u~ c~ d~ s~"),
    ("l+", "e+ mu+"),
    ("l-", "e- mu-"),
    ("vl", "ve vm vt"),
    ("vl~", "ve~ vm~ vt~"),
];

/// Builds the document of a model with this name.
pub fn document(model: &Imported, name: &str) -> Fallible<Document> {
    if model.interactions.is_empty() {
        return Err("no vertex is left: particles of this model have no interactions".into());
    }
    let names = names(&model.parameters);
    let alpha_s = strong_coupling(model)?;
    let formula = |expr: &Expr| {
        let by = |name: &str| match name {
            ALPHA_S if alpha_s => Some(alpha_s_of_g()),
            STRONG_COUPLING => None,
            _ => names.get(name).map(|new| Expr::Name(new.clone())),
        };
        crate::formula::replaced(expr, &by)
    };
    let renamed = |name: &String| names.get(name).unwrap_or(name).clone();
    let mut document = Document {
        format: FORMAT,
        name: name.to_owned(),
        alpha_s: alpha_s.then(|| ALPHA_S.to_owned()),
        gauge: model.gauge,
        ..Document::default()
    };
    let complex = model.parameters.iter().filter(|p| !p.real);
    let complex: Vec<String> = complex.map(|p| renamed(&p.name)).collect();
    let complex: HashSet<&str> = complex.iter().map(String::as_str).collect();
    for parameter in &model.parameters {
        match &parameter.value {
            ParameterValue::External(block, index, value) => document.card.push(CardEntry {
                name: renamed(&parameter.name),
                block: block.to_ascii_lowercase(),
                index: index.clone(),
                value: *value,
            }),
            ParameterValue::Formula(_) if parameter.name == STRONG_COUPLING && alpha_s => {}
            ParameterValue::Formula(expr) => {
                let mut expr = formula(expr);
                if parameter.real && !is_real(&expr, &complex) {
                    expr = Expr::Call("re".into(), vec![expr]);
                }
                document
                    .parameters
                    .insert(renamed(&parameter.name), expr.to_string());
            }
        }
    }
    let used: SortedSet<usize> = model
        .interactions
        .iter()
        .flat_map(|i| i.terms.iter().map(|t| t.coupling))
        .collect();
    for coupling in used.iter().map(|&n| &model.couplings[n]) {
        let row = CouplingRow {
            value: formula(&coupling.formula).to_string(),
            orders: coupling.orders.clone(),
        };
        document.couplings.insert(coupling.name.clone(), row);
    }
    orders(model, &mut document)?;
    charges(model, &mut document)?;
    masses(model, &mut document, &renamed);
    labels(&mut document);
    vertices(model, &mut document);
    document.decays = decays(model, &formula)?;
    document.running = crate::running::rows(model, &|name| renamed(&name.to_owned()))?;
    propagators(model, &mut document, &formula)?;
    Ok(document)
}

/// Adds the masses and widths of particles.
fn masses(model: &Imported, document: &mut Document, renamed: &dyn Fn(&String) -> String) {
    for (row, pair) in document.particles.iter_mut().zip(&model.particles) {
        row.mass = pair.mass.as_ref().map(renamed);
        row.width = pair.width.as_ref().map(renamed);
        row.complex_mass = pair.complex_mass.as_ref().map(renamed);
        if model.has_complex_masses && row.mass.is_none() {
            // As in MG5aMC, massless particles have no complex mass, and so no width.
            (row.width, row.complex_mass) = (None, None);
        }
        // A Majorana fermion with negative mass has a negative width in MG5aMC (`SIGN` in its param_read.inc).
        if let (Some(mass), Some(width), None) = (&row.mass, &row.width, &row.antiname)
            && row.spin % 2 == 0
        {
            let formula = format!("abs({width}) if {mass} >= 0 else -abs({width})");
            // Several particles with different masses may share a width.
            let known = |name: &str| document.parameters.get(name).is_some_and(|f| *f != formula);
            let signed = free(format!("{width}__signed"), known);
            document.parameters.insert(signed.clone(), formula);
            row.width = Some(signed);
        }
    }
}

/// Adds vertices, with their Lorentz structures.
fn vertices(model: &Imported, document: &mut Document) {
    for interaction in &model.interactions {
        let particles = interaction.particles.iter().map(|&pdg| model.name(pdg));
        let terms = interaction.terms.iter().map(|term| {
            let sign = if term.negative { "-" } else { "" };
            let coupling = format!("{sign}{}", model.couplings[term.coupling].name);
            let structure = &model.lorentz[&term.lorentz];
            document
                .lorentz
                .insert(term.lorentz.clone(), structure.clone());
            let color = summed_indices(&interaction.colors[term.color]).replace(' ', "");
            [color, term.lorentz.clone(), coupling]
        });
        document.vertices.push(VertexRow {
            particles: particles.collect::<Vec<_>>().join(" "),
            terms: terms.collect(),
        });
    }
}

/// Adds the propagators that particles name.
fn propagators(
    model: &Imported,
    document: &mut Document,
    formula: &dyn Fn(&Expr) -> Expr,
) -> Fallible<()> {
    let propagators: SortedSet<&String> = model
        .particles
        .iter()
        .filter_map(|p| p.propagator.as_ref())
        .collect();
    for propagator in model
        .propagators
        .iter()
        .filter(|p| propagators.contains(&p.name))
    {
        let indices = |text: &String| {
            let read = parse(&summed_indices(text))
                .map_err(|what| format!("{}: {}: {what}", propagator.place, propagator.name))?;
            Ok::<String, String>(formula(&read).to_string())
        };
        let row = PropagatorRow {
            numerator: indices(&propagator.numerator)?,
            denominator: propagator.denominator.as_ref().map(indices).transpose()?,
        };
        document.propagators.insert(propagator.name.clone(), row);
    }
    Ok(())
}

/// Partial widths of the particles that have a width in the card. If one cannot be computed, all of that particle are
/// omitted, so that none is left out silently.
fn decays(
    model: &Imported,
    formula: &dyn Fn(&Expr) -> Expr,
) -> Fallible<SortedMap<String, Vec<[String; 2]>>> {
    let formulas = formulas(model);
    let card = model.parameters.iter().filter(|p| p.block().is_some());
    let card: Vec<&str> = card.map(|p| p.name.as_str()).collect();
    let in_card = |pdg: i32| {
        model.parameters.iter().any(|p| match &p.value {
            ParameterValue::External(block, index, _) => {
                block.eq_ignore_ascii_case("decay")
                    && matches!(index[..], [n] if n.abs() == pdg.abs())
            }
            ParameterValue::Formula(_) => false,
        })
    };
    let mut found = SortedMap::new();
    for decays in model.decays.iter().filter(|decays| in_card(decays.mother)) {
        let widths: Vec<&Expr> = decays.channels.iter().map(|(_, width)| width).collect();
        let known = decays.channels.iter().flat_map(|(particles, _)| particles);
        let named = known
            .chain([&decays.mother])
            .all(|&pdg| !model.name(pdg).is_empty());
        if !named || program(&card, &formulas, &widths).is_err() {
            continue;
        }
        let rows = decays.channels.iter().map(|(particles, width)| {
            let names: Vec<&str> = particles.iter().map(|&pdg| model.name(pdg)).collect();
            [names.join(" "), formula(width).to_string()]
        });
        found.insert(model.name(decays.mother).to_owned(), rows.collect());
    }
    Ok(found)
}

/// Whether the model's strong coupling is the event's. An error if it is defined differently.
fn strong_coupling(model: &Imported) -> Fallible<bool> {
    let find = |name: &str| model.parameters.iter().position(|p| p.name == name);
    let alpha_s = find(ALPHA_S).map(|at| &model.parameters[at].value);
    let external = match alpha_s {
        Some(ParameterValue::External(_, _, value)) => Some(*value),
        _ => None,
    };
    let Some(at) = find(STRONG_COUPLING) else {
        return Ok(external.is_some());
    };
    let place = &model.parameters[at].place;
    let Some(alpha_s) = external else {
        return Err(format!(
            "{place}: the strong coupling {STRONG_COUPLING} does not follow from a parameter {ALPHA_S} of the card"
        ));
    };
    let g = evaluate(model)?.parameters[at];
    if (g - 2.0 * (alpha_s * PI).sqrt()).norm() > 1e-9 {
        return Err(format!(
            "{place}: {STRONG_COUPLING} = {g} is not the strong coupling, 2 sqrt(pi {ALPHA_S})"
        ));
    }
    Ok(true)
}

/// `G**2/(4*pi)`: the alpha_s of the event.
fn alpha_s_of_g() -> Expr {
    // Parsing this constant cannot fail.
    parse("G**2/(4*pi)").unwrap_or(Expr::Number(0.0))
}

/// New names for parameters that differ only by case, which Fortran does not distinguish, as in MG5aMC
/// (`change_parameter_name_with_prefix`).
fn names(parameters: &[Parameter]) -> HashMap<String, String> {
    let mut by_lower: SortedMap<String, Vec<&str>> = SortedMap::new();
    for parameter in parameters {
        let lower = parameter.name.to_lowercase();
        by_lower.entry(lower).or_default().push(&parameter.name);
    }
    let mut all: HashSet<String> = by_lower.keys().cloned().collect();
    let mut new = HashMap::new();
    for (lower, names) in by_lower.into_iter().filter(|(_, names)| names.len() > 1) {
        let kept = |name: &&str| [ALPHA_S, STRONG_COUPLING].contains(name);
        for (n, name) in names.iter().filter(|name| !kept(name)).enumerate() {
            let first = n == 0 && !names.iter().any(kept);
            let own = match first {
                true => lower.clone(),
                false => free(format!("{lower}__{}", n + 1), |name| all.contains(name)),
            };
            all.insert(own.clone());
            new.insert((*name).to_owned(), own);
        }
    }
    new
}

/// An unused name: this one, with underscores appended if needed.
fn free(mut name: String, is_taken: impl Fn(&str) -> bool) -> String {
    while is_taken(&name) {
        name.push('_');
    }
    name
}

/// Whether a formula is real wherever it is defined.
fn is_real(expr: &Expr, complex: &HashSet<&str>) -> bool {
    match expr {
        Expr::Number(_) => true,
        Expr::Name(name) => !complex.contains(name.as_str()),
        Expr::Call(name, _) if matches!(name.as_str(), "re" | "im" | "abs") => true,
        Expr::Call(name, arguments) => {
            name != "complex" && arguments.iter().all(|a| is_real(a, complex))
        }
        Expr::Neg(a) => is_real(a, complex),
        Expr::Binary(_, a, b) => is_real(a, complex) && is_real(b, complex),
        Expr::If(parts) => parts.iter().all(|part| is_real(part, complex)),
    }
}

fn orders(model: &Imported, document: &mut Document) -> Fallible<()> {
    let used: SortedSet<String> = document
        .couplings
        .values()
        .flat_map(|row| row.orders.keys().cloned())
        .collect();
    let physical = model.interactions.iter().filter(|i| i.physical);
    let terms = physical.flat_map(|i| &i.terms);
    let needed: HashSet<&String> = terms
        .flat_map(|term| model.couplings[term.coupling].orders.keys())
        .collect();
    let known = |name: &str| model.orders.iter().find(|order| order.name == name);
    let two = used.iter().map(String::as_str).eq(["QCD", "QED"]);
    for name in &used {
        let weight = match known(name) {
            Some(order) => order.hierarchy,
            None if model.orders.is_empty() => {
                if two && name == "QED" {
                    2
                } else {
                    1
                }
            }
            // Only in vertices of Goldstone bosons, which are in no process.
            None if !needed.contains(name) => 1,
            None => {
                let has = |c: &&UfoCoupling| c.orders.contains_key(name);
                let place = model
                    .couplings
                    .iter()
                    .find(has)
                    .map(|c| format!("{}: {}: ", c.place, c.name));
                let there: Vec<&str> = model
                    .orders
                    .iter()
                    .map(|order| order.name.as_str())
                    .collect();
                return Err(format!(
                    "{}there is no order {name}; coupling_orders.py has {}",
                    place.unwrap_or_default(),
                    there.join(", ")
                ));
            }
        };
        document.orders.insert(name.clone(), weight);
        if let Some(most) = known(name).map(|order| order.expansion)
            && (1..NO_LIMIT).contains(&most)
        {
            document.expansion.insert(name.clone(), most as u32);
        }
    }
    Ok(())
}

/// Adds charges as integers, and the particles.
fn charges(model: &Imported, document: &mut Document) -> Fallible<()> {
    let names: SortedSet<&String> = model
        .particles
        .iter()
        .flat_map(|p| p.charges.keys())
        .collect();
    let mut rows: Vec<ParticleRow> = model.particles.iter().map(row).collect();
    for name in names {
        let of = |pair: &ParticlePair| *pair.charges.get(name).unwrap_or(&0.0);
        if model.particles.iter().all(|pair| of(pair) == 0.0) {
            continue;
        }
        let whole = |x: f64| (x - x.round()).abs() < 1e-6 && x.abs() < 1e6;
        let parts = (1..=MAX_PARTS).find(|&parts| {
            model
                .particles
                .iter()
                .all(|pair| whole(of(pair) * f64::from(parts)))
        });
        let Some(parts) = parts else {
            // Numbers that are not simple fractions are of no use for excluding processes.
            continue;
        };
        let key = match name.as_str() {
            "charge" => "electric charge".to_owned(),
            _ => name.clone(),
        };
        document.charges.insert(name.clone(), key);
        for (row, pair) in rows.iter_mut().zip(&model.particles) {
            let charge = (of(pair) * f64::from(parts)).round() as i32;
            if charge != 0 {
                row.charges.insert(name.clone(), charge);
            }
        }
    }
    document.particles = rows;
    Ok(())
}

fn row(pair: &ParticlePair) -> ParticleRow {
    ParticleRow {
        name: pair.name.clone(),
        antiname: pair.antiname.clone(),
        pdg: pair.pdg,
        spin: pair.spin,
        color: pair.color,
        mass: pair.mass.clone(),
        width: pair.width.clone(),
        charges: SortedMap::new(),
        goldstone: pair.goldstone,
        ghost: pair.ghost,
        propagator: pair.propagator.clone(),
        propagating: pair.propagating,
        complex_mass: None,
    }
}

/// Adds MG5aMC's labels; protons and jets include b quarks if these are massless.
fn labels(document: &mut Document) {
    let names: HashSet<&str> = document
        .particles
        .iter()
        .flat_map(|row| [Some(&row.name), row.antiname.as_ref()])
        .flatten()
        .map(String::as_str)
        .collect();
    let massless = |row: &ParticleRow| row.pdg == 5 && row.mass.is_none();
    let five = document.particles.iter().any(massless);
    let mut labels = SortedMap::new();
    for (label, particles) in LABELS {
        let more = if five && ["p", "j"].contains(&label) {
            " b b~"
        } else {
            ""
        };
        let all = format!("{particles}{more}");
        if !names.contains(label) && all.split(' ').all(|name| names.contains(name)) {
            labels.insert(label.to_owned(), all);
        }
    }
    document.labels = labels;
}

/// Replaces the names of indices that are summed over (`'mu'`) by numbers.
fn summed_indices(text: &str) -> String {
    let mut pieces = text.split('\'');
    let mut read = pieces.next().unwrap_or_default().to_owned();
    let mut known: Vec<&str> = Vec::new();
    while let (Some(name), Some(behind)) = (pieces.next(), pieces.next()) {
        let at = known.iter().position(|k| *k == name);
        let at = at.unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        // Below the numbers that occur in such formulas.
        read += &format!("{}", -100 - at as i32);
        read += behind;
    }
    read
}
