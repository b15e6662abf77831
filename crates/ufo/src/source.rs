//! The content of a UFO folder as typed data, without interpretation.

use crate::formula::Functions;
use crate::python::modules::{Modules, Object, PythonValue};
use mebridge_generate::model::Gauge;
use mebridge_generate::model::expression::Expr;
use mebridge_support::message;
use mebridge_support::sorted::SortedMap;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A particle or an antiparticle.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoParticle {
    pub pdg: i32,
    pub name: String,
    pub antiname: String,
    /// `2s + 1`, negative for a ghost.
    pub spin: i32,
    pub color: i32,
    /// Name of its mass parameter.
    pub mass: String,
    pub width: String,
    pub goldstone: bool,
    pub propagating: bool,
    /// Index into [`UfoFolder::propagators`].
    pub propagator: Option<usize>,
    /// `charge` and all other numerical attributes.
    pub charges: SortedMap<String, f64>,
    /// File and line.
    pub place: String,
}

/// A parameter.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Parameter {
    pub name: String,
    pub value: ParameterValue,
    /// Whether it is declared real.
    pub real: bool,
    /// The scale of its value, in GeV, if given.
    pub scale: Option<f64>,
    pub place: String,
}

/// The value of a parameter.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ParameterValue {
    /// In the card: block, index, value.
    External(String, Vec<i32>, f64),
    Formula(Expr),
}

/// A coupling.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoCoupling {
    pub name: String,
    /// The formula as written, by which MG5aMC recognises equal couplings.
    pub text: String,
    pub formula: Expr,
    pub orders: SortedMap<String, i32>,
    pub place: String,
}

/// A Lorentz structure.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoLorentz {
    pub name: String,
    pub structure: String,
}

/// A propagator.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoPropagator {
    pub name: String,
    pub numerator: String,
    pub denominator: Option<String>,
    pub place: String,
}

/// A vertex.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoVertex {
    pub name: String,
    /// Indices into [`UfoFolder::particles`].
    pub particles: Vec<usize>,
    pub colors: Vec<String>,
    /// Index into [`UfoVertex::colors`], and into [`UfoFolder::lorentz`] and [`UfoFolder::couplings`].
    pub terms: Vec<(usize, usize, usize)>,
    pub place: String,
}

/// The decays of a particle.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct UfoDecays {
    /// PDG code.
    pub mother: i32,
    /// PDG codes of the products, and the partial width.
    pub channels: Vec<(Vec<i32>, Expr)>,
}

/// A coupling order.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct CouplingOrder {
    pub name: String,
    pub expansion: i32,
    pub hierarchy: u32,
    /// Whether the model has counterterms for it.
    pub perturbative: bool,
}

/// A term of the derivative of a parameter by ln mu: one entry of `run_objects`, with its coefficient.
#[derive(Clone, Debug)]
pub struct RunningTerm {
    /// Names of parameters: the one that runs, and the factors of its derivative.
    pub objects: Vec<String>,
    /// The coefficient, as written.
    pub value: String,
    /// File and line.
    pub place: String,
}

/// A UFO folder.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct UfoFolder {
    pub particles: Vec<UfoParticle>,
    pub parameters: Vec<Parameter>,
    pub couplings: Vec<UfoCoupling>,
    pub lorentz: Vec<UfoLorentz>,
    pub propagators: Vec<UfoPropagator>,
    pub vertices: Vec<UfoVertex>,
    pub orders: Vec<CouplingOrder>,
    /// The gauge that is used.
    pub gauge: Gauge,
    /// The content of `decays.py`; empty if it is missing or cannot be read.
    pub decays: Vec<UfoDecays>,
    /// The content of `running.py`.
    pub running: Vec<RunningTerm>,
}

type Fallible<T> = Result<T, String>;

/// Attributes of particles that are not charges.
const NO_CHARGES: [&str; 17] = [
    "pdg_code",
    "spin",
    "color",
    "line",
    "propagating",
    "goldstone",
    "goldstoneboson",
    "GoldstoneBoson",
    "GhostNumber",
    "ghostnumber",
    "selfconjugate",
    "ghost",
    "counterterm",
    "loop_particles",
    "propagator",
    "mass",
    "width",
];

/// Most particles and antiparticles.
const MAX_PARTICLES: usize = u16::MAX as usize;
/// Most characters of a Lorentz structure with its form factors.
const MAX_STRUCTURE_LENGTH: usize = 1 << 16;
/// Most terms of a vertex.
const MAX_TERMS: usize = 10_000;

/// Most entries of `run_objects` in a model.
const MAX_RUNNING_TERMS: usize = 20_000;

/// The files of a model, in the order of their imports, and whether they are mandatory.
const FILES: [(&str, bool); 9] = [
    ("function_library", false),
    ("parameters", true),
    ("propagators", false),
    ("particles", true),
    ("coupling_orders", false),
    ("form_factors", false),
    ("lorentz", true),
    ("couplings", true),
    ("vertices", true),
];

impl UfoFolder {
    /// Reads a folder.
    pub fn read(folder: &Path, gauge: Gauge) -> Fallible<UfoFolder> {
        let mut modules = Modules::new(folder);
        for (file, needed) in FILES {
            if !modules.read(file)? && needed {
                return Err(format!("there is no {file}.py: this is not a UFO model"));
            }
        }
        let decays = modules.read_decays();
        modules.read_running()?;
        let gauges = modules.numbers_of_init("gauge")?;
        let mut source = UfoFolder {
            gauge: available(gauge, &gauges.unwrap_or_else(|| vec![0.0, 1.0]))?,
            running: running_terms(&modules)?,
            ..UfoFolder::default()
        };
        let functions = source.collect(&modules)?;
        // Without these, partial widths are computed from the vertices.
        if decays.is_ok() {
            source.decays = source.decays(&modules, &functions).unwrap_or_default();
        }
        Ok(source)
    }

    /// Reads the decays. As in Python, the last definition for a particle, and for its products, is used.
    fn decays(&self, modules: &Modules, functions: &Functions) -> Fallible<Vec<UfoDecays>> {
        let mut all: Vec<UfoDecays> = Vec::new();
        for object in modules.objects.iter().filter(|o| o.class == "Decay") {
            let particle = |value: Option<&PythonValue>| -> Fallible<i32> {
                let at = value
                    .and_then(PythonValue::object)
                    .map(|at| &modules.objects[at]);
                let particle = at.filter(|object| object.class == "Particle");
                let none = || object.fail("there is something else in the place of a Particle");
                particle.ok_or_else(none)?.integer("pdg_code")
            };
            let mother = particle(object.get("particle"))?;
            let mut channels: Vec<(Vec<i32>, Expr)> = Vec::new();
            for (key, value) in object.dict("partial_widths")?.iter() {
                let (PythonValue::List(particles, _), PythonValue::Text(text)) = (key, value)
                else {
                    return Err(object.fail("`partial_widths` has no particles and formulas"));
                };
                let particles = particles.iter().map(|value| particle(Some(value)));
                let particles = particles.collect::<Fallible<Vec<_>>>()?;
                let width = functions.read(text).map_err(|what| object.fail(what))?;
                channels.retain(|(known, _)| *known != particles);
                channels.push((particles, width));
            }
            all.retain(|known| known.mother != mother);
            all.push(UfoDecays { mother, channels });
        }
        Ok(all)
    }

    /// Takes over the objects of all modules; returns their functions.
    fn collect(&mut self, modules: &Modules) -> Fallible<Functions> {
        let of = |class| objects(modules, class);
        let functions = functions(modules)?;
        let mut places = HashMap::new();
        self.collect_parameters(modules, &functions)?;
        for (number, object) in of("Propagator") {
            let denominator = object.get("denominator").is_some();
            let denominator = denominator.then(|| object.text("denominator"));
            let propagator = UfoPropagator {
                name: object.text("name")?.to_string(),
                numerator: object.text("numerator")?.to_string(),
                denominator: denominator.transpose()?.map(|text| text.to_string()),
                place: object.place.clone(),
            };
            let known = self.propagators.iter();
            let mut known = known.filter(|known| known.name == propagator.name);
            let formulas = |p: &UfoPropagator| (p.numerator.clone(), p.denominator.clone());
            if known.any(|known| formulas(known) != formulas(&propagator)) {
                return Err(object.fail("two propagators have this name"));
            }
            places.insert(number, self.propagators.len());
            self.propagators.push(propagator);
        }
        for (number, object) in of("Particle") {
            if self.particles.len() == MAX_PARTICLES {
                return Err(object.fail(format!("more than {MAX_PARTICLES} particles")));
            }
            let particle = self.particle(object, modules, &places)?;
            places.insert(number, self.particles.len());
            self.particles.push(particle);
        }
        self.collect_orders(modules)?;
        let mut named: HashMap<String, usize> = HashMap::new();
        for (number, object) in of("Lorentz") {
            let name = object.text("name")?.to_string();
            let structure = match object.get("structure") {
                None => "external".into(),
                Some(_) => object.text("structure")?,
            };
            let structure = with_form_factors(object, &structure, &modules.objects)?;
            // Some models define one twice.
            let at = *named.entry(name.clone()).or_insert(self.lorentz.len());
            places.insert(number, at);
            match self.lorentz.get(at) {
                None => self.lorentz.push(UfoLorentz { name, structure }),
                Some(known) if known.structure == structure => {}
                Some(_) => return Err(object.fail("two Lorentz structures have this name")),
            }
        }
        let mut names = HashSet::new();
        for (number, object) in of("Coupling") {
            // Poles of a counterterm are skipped.
            if matches!(
                object.get("value"),
                Some(PythonValue::Dict(..) | PythonValue::Unread(_))
            ) {
                continue;
            }
            let coupling = UfoCoupling::from_object(object, &functions)?;
            if !names.insert(coupling.name.clone()) {
                return Err(object.fail("two couplings have this name"));
            }
            places.insert(number, self.couplings.len());
            self.couplings.push(coupling);
        }
        for (_, object) in of("Vertex") {
            self.vertices.push(vertex(object, modules, &places)?);
        }
        Ok(functions)
    }

    fn collect_parameters(&mut self, modules: &Modules, functions: &Functions) -> Fallible<()> {
        let mut names = HashSet::new();
        let mut entries: HashMap<(String, Vec<i32>), (String, f64)> = HashMap::new();
        for (_, object) in objects(modules, "Parameter") {
            let parameter = Parameter::from_object(object, functions)?;
            if let ParameterValue::External(block, index, value) = &parameter.value {
                let entry = (block.to_lowercase(), index.clone());
                let own = (parameter.name.clone(), *value);
                let (other, first) = entries.entry(entry).or_insert(own);
                if first != value {
                    let index: Vec<String> = index.iter().map(i32::to_string).collect();
                    return Err(object.fail(format!(
                        "it is {value} and {other} is {first}, but both are the entry {} of block {block} of the card; \
                         give them one value, or another `lhacode`",
                        index.join(" ")
                    )));
                }
            }
            if !names.insert(parameter.name.clone()) {
                return Err(object.fail("two parameters have this name"));
            }
            self.parameters.push(parameter);
        }
        Ok(())
    }

    fn collect_orders(&mut self, modules: &Modules) -> Fallible<()> {
        for (_, object) in objects(modules, "CouplingOrder") {
            let name = object.text("name")?.to_string();
            if self.orders.iter().any(|order| order.name == name) {
                return Err(object.fail("two coupling orders have this name"));
            }
            let hierarchy = object.integer("hierarchy")?;
            let perturbative = match object.get("perturbative_expansion") {
                None => false,
                Some(_) => object.integer("perturbative_expansion")? > 0,
            };
            let hierarchy = u32::try_from(hierarchy);
            self.orders.push(CouplingOrder {
                name,
                expansion: object.integer("expansion_order")?,
                perturbative,
                hierarchy: hierarchy.map_err(|_| object.fail("`hierarchy` is negative"))?,
            });
        }
        Ok(())
    }

    fn particle(
        &self,
        object: &Object,
        modules: &Modules,
        places: &HashMap<usize, usize>,
    ) -> Fallible<UfoParticle> {
        let parameter = |name: &str| match object.get(name) {
            Some(PythonValue::Object(at)) if modules.objects[*at].class == "Parameter" => {
                Ok(modules.objects[*at].text("name")?.to_string())
            }
            Some(PythonValue::Text(_)) => word(object, name),
            _ => Err(object.fail(format!("`{name}` is not a parameter"))),
        };
        let gauge = number(self.gauge);
        let propagator = match object.get("propagator") {
            None
            | Some(PythonValue::Bool(false) | PythonValue::Number(..) | PythonValue::Unread(_)) => {
                None
            }
            Some(PythonValue::Object(at)) => Some(*at),
            // Of several propagators, that of the gauge.
            Some(PythonValue::List(list, _)) => list.get(gauge).and_then(PythonValue::object),
            Some(PythonValue::Dict(dict, _)) => {
                let own = dict
                    .iter()
                    .find(|(key, _)| key.number() == Some(gauge as f64));
                own.and_then(|(_, value)| value.object())
            }
            Some(_) => return Err(object.fail("`propagator` is not a propagator")),
        };
        let propagator = propagator.map(|at| places.get(&at).copied());
        if propagator == Some(None) {
            return Err(object.fail("`propagator` is not a propagator"));
        }
        let mut charges = SortedMap::new();
        for (name, value) in &object.attributes {
            if let Some(charge) = value
                .number()
                .filter(|_| !NO_CHARGES.contains(&name.as_str()))
                && !matches!(value, PythonValue::Text(_))
            {
                if !charge.is_finite() {
                    return Err(object.fail(format!("`{name}` is not a finite number")));
                }
                charges.insert(name.clone(), charge);
            }
        }
        let goldstone = ["goldstone", "goldstoneboson", "GoldstoneBoson"];
        Ok(UfoParticle {
            pdg: object.integer("pdg_code")?,
            name: word(object, "name")?,
            antiname: word(object, "antiname")?,
            spin: object.integer("spin")?,
            color: object.integer("color")?,
            mass: parameter("mass")?,
            width: parameter("width")?,
            goldstone: goldstone.iter().any(|name| object.flag(name)),
            propagating: object.get("propagating").is_none() || object.flag("propagating"),
            propagator: propagator.flatten(),
            charges,
            place: object.place.clone(),
        })
    }
}

impl PythonValue {
    fn object(&self) -> Option<usize> {
        match self {
            PythonValue::Object(at) => Some(*at),
            _ => None,
        }
    }
}

/// The objects of a class, with their numbers.
fn objects<'a>(
    modules: &'a Modules,
    class: &'static str,
) -> impl Iterator<Item = (usize, &'a Object)> {
    let objects = modules.objects.iter().enumerate();
    objects.filter(move |(_, object)| object.class == class)
}

/// The functions that a model defines.
fn functions(modules: &Modules) -> Fallible<Functions> {
    let mut functions = Functions::default();
    for (name, arguments, formula) in &modules.functions {
        let added = functions.add(name, arguments.clone(), formula);
        added.map_err(|what| format!("function_library.py: {name}: {what}"))?;
    }
    for (_, object) in objects(modules, "Function") {
        let name = object.text("name")?;
        let arguments = match object.get("arguments") {
            // `('z')` is not a tuple, but meant as one.
            Some(PythonValue::Text(one)) => vec![one.to_string()],
            _ => texts(object, "arguments")?,
        };
        let formula = object.text("expression")?;
        let added = functions.add(&name, arguments, &formula);
        added.map_err(|what| object.fail(what))?;
    }
    Ok(functions)
}

/// The number of a gauge in UFO's lists.
fn number(gauge: Gauge) -> usize {
    usize::from(gauge == Gauge::Feynman)
}

/// The requested gauge or, as in MG5aMC, the only one that the model has.
fn available(requested: Gauge, gauges: &[f64]) -> Fallible<Gauge> {
    let has = |gauge: Gauge| gauges.contains(&(number(gauge) as f64));
    let (other, name, is) = match requested {
        Gauge::Unitary => (Gauge::Feynman, "unitary", "Feynman"),
        Gauge::Feynman => (Gauge::Unitary, "Feynman", "unitary"),
    };
    match (has(requested), has(other)) {
        (true, _) => Ok(requested),
        (false, true) => {
            message::say_once(format!(
                "the model has no vertices for the {name} gauge (gauge in its __init__.py); its processes are in the {is} \
                 gauge"
            ));
            Ok(other)
        }
        (false, false) => Err(format!(
            "__init__.py: gauge = {gauges:?} has neither 0, the unitary gauge, nor 1, the Feynman gauge"
        )),
    }
}

/// Replaces the names of form factors in a structure by their values in brackets, as in MG5aMC. If these are sums of
/// products of tensors, the result is a structure; others are refused if a process needs the vertex.
fn with_form_factors(object: &Object, structure: &str, objects: &[Object]) -> Fallible<String> {
    let mut values: HashMap<String, String> = HashMap::new();
    if !matches!(object.get("formfactors"), None | Some(PythonValue::None)) {
        for value in object.list("formfactors")?.iter() {
            let factor = value.object().and_then(|at| objects.get(at));
            let Some(factor) = factor.filter(|factor| factor.class == "FormFactor") else {
                return Err(object.fail("there is something else in the place of a FormFactor"));
            };
            values.insert(word(factor, "name")?, factor.text("value")?.to_string());
        }
    }
    if values.is_empty() {
        return Ok(structure.to_owned());
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = String::new();
    let mut rest = structure;
    while !rest.is_empty() {
        let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        match values.get(&rest[..name]) {
            Some(value) => found += &format!("({value})"),
            None => found += &rest[..name],
        }
        rest = &rest[name..];
        let other = rest.find(is_name).unwrap_or(rest.len());
        found += &rest[..other];
        rest = &rest[other..];
        if found.len() > MAX_STRUCTURE_LENGTH {
            return Err(object.fail("its structure with the form factors is too long"));
        }
    }
    Ok(found)
}

/// A text without spaces.
fn word(object: &Object, name: &str) -> Fallible<String> {
    let text = object.text(name)?;
    match text.is_empty() || text.contains(char::is_whitespace) {
        true => Err(object.fail(format!("`{name}` is `{text}`, which is not a word"))),
        false => Ok(text.to_string()),
    }
}

fn texts(object: &Object, name: &str) -> Fallible<Vec<String>> {
    let list = object.list(name)?;
    let texts = list.iter().map(|value| match value {
        PythonValue::Text(text) => Ok(text.to_string()),
        _ => Err(object.fail(format!("`{name}` is not a list of strings"))),
    });
    texts.collect()
}

impl Parameter {
    fn from_object(object: &Object, functions: &Functions) -> Fallible<Parameter> {
        let name = word(object, "name")?;
        let value = match &*object.text("nature")? {
            "external" => {
                let block = word(object, "lhablock")?;
                let index = match object.get("lhacode") {
                    Some(PythonValue::Number(..)) => vec![object.integer("lhacode")?],
                    _ => {
                        let list = object.list("lhacode")?;
                        let whole = |v: &PythonValue| v.number().filter(|x| x.fract() == 0.0);
                        let whole = |v: &PythonValue| whole(v).filter(|x| x.abs() < 2e9);
                        let index = list.iter().map(|v| whole(v).map(|x| x as i32));
                        let index: Option<Vec<i32>> = index.collect();
                        let wrong = || object.fail("`lhacode` is not a list of whole numbers");
                        index.ok_or_else(wrong)?
                    }
                };
                ParameterValue::External(block, index, object.number("value")?)
            }
            "internal" => {
                let text = match object.get("value") {
                    Some(PythonValue::Number(x, _)) if x.is_finite() => format!("{x:?}"),
                    _ => object.text("value")?.to_string(),
                };
                let formula = functions.read(&text);
                ParameterValue::Formula(formula.map_err(|what| object.fail(what))?)
            }
            other => return Err(object.fail(format!("`nature` is `{other}`"))),
        };
        Ok(Parameter {
            name,
            value,
            real: &*object.text("type")? == "real",
            scale: object.get("scale").and_then(PythonValue::number),
            place: object.place.clone(),
        })
    }
}

impl UfoCoupling {
    fn from_object(object: &Object, functions: &Functions) -> Fallible<UfoCoupling> {
        let text = match object.get("value") {
            Some(PythonValue::Number(x, whole)) if x.is_finite() => match whole {
                true => format!("{x:.0}"),
                false => format!("{x:?}"),
            },
            _ => object.text("value")?.to_string(),
        };
        let formula = functions.read(&text).map_err(|what| object.fail(what))?;
        let mut orders = SortedMap::new();
        for (order, power) in object.dict("order")?.iter() {
            let (PythonValue::Text(order), Some(power)) = (order, power.number()) else {
                return Err(object.fail("`order` has no names and numbers"));
            };
            if power.fract() != 0.0 || power.abs() >= 1000.0 {
                return Err(object.fail(format!(
                    "order {order} = {power}, which is not read: powers are whole numbers below 1000"
                )));
            }
            if power != 0.0 {
                orders.insert(order.to_string(), power as i32);
            }
        }
        Ok(UfoCoupling {
            name: word(object, "name")?,
            text,
            formula,
            orders,
            place: object.place.clone(),
        })
    }
}

fn vertex(
    object: &Object,
    modules: &Modules,
    places: &HashMap<usize, usize>,
) -> Fallible<UfoVertex> {
    let object_of = |value: &PythonValue, class: &str| {
        let at = value
            .object()
            .filter(|at| modules.objects[*at].class == class);
        let place = at.and_then(|at| places.get(&at).copied());
        place.ok_or_else(|| {
            object.fail(format!("there is something else in the place of a {class}"))
        })
    };
    let all = |name: &str, class: &str| -> Fallible<Vec<usize>> {
        let list = object.list(name)?;
        list.iter().map(|value| object_of(value, class)).collect()
    };
    let particles = all("particles", "Particle")?;
    let lorentz = all("lorentz", "Lorentz")?;
    let colors = texts(object, "color")?;
    if particles.len() < 3 {
        return Err(object.fail("there are fewer than three particles"));
    }
    let mut terms = Vec::new();
    for (key, value) in object.dict("couplings")?.iter() {
        let place = match key {
            PythonValue::List(pair, _) => match pair.as_slice() {
                [color, l] => color.index(colors.len()).zip(l.index(lorentz.len())),
                _ => None,
            },
            _ => None,
        };
        let Some((color, l)) = place else {
            return Err(object.fail(format!(
                "`couplings` has the key {key}; one is (colour, Lorentz structure), whole numbers that count `color` and \
                 `lorentz` from 0, or from their ends with a minus"
            )));
        };
        let couplings = match value {
            PythonValue::List(list, _) => list.iter().collect(),
            one => vec![one],
        };
        for coupling in couplings {
            if terms.len() == MAX_TERMS {
                return Err(object.fail(format!("more than {MAX_TERMS} couplings")));
            }
            terms.push((color, lorentz[l], object_of(coupling, "Coupling")?));
        }
    }
    Ok(UfoVertex {
        name: object.text("name")?.to_string(),
        particles,
        colors,
        terms,
        place: object.place.clone(),
    })
}

/// Reads the terms of `running.py`.
fn running_terms(modules: &Modules) -> Fallible<Vec<RunningTerm>> {
    let mut found = Vec::new();
    for object in modules.objects.iter().filter(|o| o.class == "Running") {
        let value = match object.get("value") {
            Some(PythonValue::Number(x, _)) if x.is_finite() => format!("{x:?}"),
            _ => object.text("value")?.to_string(),
        };
        for objects in object.list("run_objects")?.iter() {
            if found.len() == MAX_RUNNING_TERMS {
                return Err(object.fail(format!("more than {MAX_RUNNING_TERMS} terms")));
            }
            found.push(RunningTerm {
                objects: running_names(object, objects, modules)?,
                value: value.clone(),
                place: object.place.clone(),
            });
        }
    }
    Ok(found)
}

/// The names of the parameters in an entry of `run_objects`.
fn running_names(
    object: &Object,
    objects: &PythonValue,
    modules: &Modules,
) -> Fallible<Vec<String>> {
    let PythonValue::List(objects, _) = objects else {
        return Err(object.fail("`run_objects` is not a list of lists"));
    };
    let name = |value: &PythonValue| match value {
        PythonValue::Object(at) if modules.objects[*at].class == "Parameter" => {
            Ok(modules.objects[*at].text("name")?.to_string())
        }
        _ => Err(object.fail("there is something else in the place of a Parameter")),
    };
    objects.iter().map(name).collect()
}
