//! Modules of a UFO folder: names, and the objects that they refer to.
//!
//! Evaluation only looks up names, creates objects, and combines numbers, strings and lists. Functions of a model are
//! formulas, kept as text; classes are those of UFO; modules for counterterms or other programs (`CT_*`,
//! `write_param_card`) are not read.

use super::syntax::{ExpressionKind, PythonNode, PythonStatement, StatementKind, parse};
use mebridge_support::files::regular;
use mebridge_support::sorted::SortedMap;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Largest file, in bytes; those of MG5aMC's models are below half a megabyte.
const MAX_BYTES: u64 = 64 << 20;
/// Longest concatenated text or list.
const MAX_PARTS: usize = 1 << 20;
/// Most characters, entries and names that a model copies in total.
const MAX_COPIED: usize = 1 << 24;
/// Most objects of a model.
const MAX_OBJECTS: usize = 1_000_000;
/// Most characters and entries in the attributes of all objects, counted for each object that shares a list or text.
const MAX_ATTRIBUTES: usize = 1 << 26;
/// Deepest nesting of imports, and of lists.
const DEEPEST: usize = 20;

/// Classes of UFO (arXiv:1108.2040, arXiv:2304.09883), each with the names of its positional arguments.
const CLASSES: [(&str, &[&str]); 11] = [
    (
        "Particle",
        &[
            "pdg_code",
            "name",
            "antiname",
            "spin",
            "color",
            "mass",
            "width",
            "texname",
            "antitexname",
            "charge",
            "line",
            "propagating",
            "goldstoneboson",
        ],
    ),
    (
        "Parameter",
        &[
            "name", "nature", "type", "value", "texname", "lhablock", "lhacode", "scale",
        ],
    ),
    (
        "Vertex",
        &["name", "particles", "color", "lorentz", "couplings"],
    ),
    ("Coupling", &["name", "value", "order"]),
    ("Lorentz", &["name", "spins", "structure"]),
    ("Function", &["name", "arguments", "expression"]),
    (
        "CouplingOrder",
        &[
            "name",
            "expansion_order",
            "hierarchy",
            "perturbative_expansion",
        ],
    ),
    ("Decay", &["particle", "partial_widths"]),
    ("FormFactor", &["name", "type", "value"]),
    ("Propagator", &["name", "numerator", "denominator"]),
    ("Running", &["name", "run_objects", "value"]),
];

/// A value.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum PythonValue {
    None,
    Bool(bool),
    /// A number, and whether it is an integer.
    Number(f64, bool),
    Text(Rc<str>),
    /// A list or a tuple, and its nesting.
    List(Rc<Vec<PythonValue>>, u32),
    /// A dictionary, and its nesting.
    Dict(Rc<Vec<(PythonValue, PythonValue)>>, u32),
    /// Index into [`Modules::objects`].
    Object(usize),
    Module(String),
    /// Index into the classes.
    Class(usize),
    /// Something that is not read, by its name.
    Unread(Rc<str>),
}

/// An object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The name of its class.
    pub class: &'static str,
    /// Its attributes.
    pub attributes: SortedMap<String, PythonValue>,
    /// File and line, for messages.
    pub place: String,
}

/// The modules of a folder.
pub struct Modules {
    folder: PathBuf,
    names: HashMap<String, HashMap<String, PythonValue>>,
    /// Modules that are currently being read.
    open: Vec<String>,
    /// Number of characters, entries and names copied so far.
    copied: usize,
    /// Number of characters and entries that attributes may still have.
    left: usize,
    /// All objects, in the order of their creation.
    pub objects: Vec<Object>,
    /// Functions of the model: name, arguments, formula.
    pub functions: Vec<(String, Vec<String>, String)>,
}

type Fallible<T> = Result<T, String>;

/// The scope in which a statement is executed.
struct Scope {
    module: String,
    names: HashMap<String, PythonValue>,
}

impl Scope {
    fn place(&self, line: usize) -> String {
        format!("{}.py, line {line}", self.module)
    }
}

/// Whether a module of the folder is not read: those for counterterms and for other programs.
fn is_left_out(module: &str) -> bool {
    module.starts_with("CT_")
        || matches!(
            module,
            "write_param_card" | "build_restrict" | "object_library" | "decays" | "running"
        )
}

impl Modules {
    /// Creates the modules of a folder, without reading any.
    pub fn new(folder: &Path) -> Modules {
        Modules {
            folder: folder.to_owned(),
            names: HashMap::new(),
            open: Vec::new(),
            copied: 0,
            left: MAX_ATTRIBUTES,
            objects: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// The text of a file, if it exists. Links, pipes and large files are refused.
    fn text(&self, file: &str) -> Fallible<Option<String>> {
        let path = self.folder.join(file);
        let seen = match fs::symlink_metadata(&path) {
            Ok(seen) => seen,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("{file}: {e}")),
        };
        if seen.file_type().is_symlink() {
            return Err(format!("{file}: this is a link; put the file itself there"));
        }
        let text = regular::read(&path, MAX_BYTES).map_err(|e| format!("{file}: {e}"))?;
        // Comments of older models may have other encodings.
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Reads `decays.py`, which no other module needs; returns whether it exists.
    pub fn read_decays(&mut self) -> Fallible<bool> {
        self.read_module("decays")
    }

    /// Reads `running.py`, which no other module needs; returns whether it exists.
    pub fn read_running(&mut self) -> Fallible<bool> {
        self.read_module("running")
    }

    /// Reads a module; returns whether it exists.
    pub fn read(&mut self, module: &str) -> Fallible<bool> {
        let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
        match is_left_out(module) || !module.chars().all(plain) {
            true => Ok(false),
            false => self.read_module(module),
        }
    }

    fn read_module(&mut self, module: &str) -> Fallible<bool> {
        if self.names.contains_key(module) {
            return Ok(true);
        }
        let Some(text) = self.text(&format!("{module}.py"))? else {
            return Ok(false);
        };
        if self.open.iter().any(|open| open == module) {
            return Err(format!(
                "{module}.py: modules import each other in a circle"
            ));
        }
        if self.open.len() == DEEPEST {
            return Err(format!(
                "{module}.py: more than {DEEPEST} modules import each other"
            ));
        }
        self.open.push(module.to_owned());
        let statements = parse(&text);
        let statements =
            statements.map_err(|(line, what)| format!("{module}.py, line {line}: {what}"))?;
        let mut scope = Scope {
            module: module.to_owned(),
            names: HashMap::new(),
        };
        self.all(&statements, &mut scope)?;
        self.open.pop();
        self.names.insert(module.to_owned(), scope.names);
        Ok(true)
    }

    /// The numbers in a list that `__init__.py` assigns to a name, if any. The rest of that file is ignored.
    pub fn numbers_of_init(&self, name: &str) -> Fallible<Option<Vec<f64>>> {
        let Some(text) = self.text("__init__.py")? else {
            return Ok(None);
        };
        let assigned = text.lines().rev().find_map(|line| {
            let (target, value) = line.split_once('=')?;
            (target.trim_end() == name).then_some(value)
        });
        let Some(value) = assigned else {
            return Ok(None);
        };
        let value = value.split('#').next().unwrap_or_default().trim();
        let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
        let numbers = inner.map(|list| {
            let words = list.split(',').map(str::trim).filter(|w| !w.is_empty());
            words.map(str::parse).collect::<Result<Vec<f64>, _>>()
        });
        match numbers {
            Some(Ok(numbers)) => Ok(Some(numbers)),
            _ => Err(format!(
                "__init__.py: {name} = {value} is not a list of numbers"
            )),
        }
    }

    fn all(&mut self, statements: &[PythonStatement], scope: &mut Scope) -> Fallible<bool> {
        for statement in statements {
            if !self.statement(statement, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Executes a statement; returns `false` if it imports a missing module.
    fn statement(&mut self, statement: &PythonStatement, scope: &mut Scope) -> Fallible<bool> {
        let fail = |scope: &Scope, what: String| format!("{}: {what}", scope.place(statement.at));
        match &statement.kind {
            StatementKind::Pass => {}
            StatementKind::Assign(name, value) => {
                let value = self.value(value, scope)?;
                scope.names.insert(name.clone(), value);
            }
            StatementKind::AssignAll(names, values) => match self.value(values, scope)? {
                PythonValue::List(values, _) if values.len() == names.len() => {
                    scope
                        .names
                        .extend(names.iter().cloned().zip(values.iter().cloned()));
                }
                _ => return Err(fail(scope, "the numbers of names and values differ".into())),
            },
            StatementKind::AssignAttribute(object, name, value) => {
                let (object, value) = (self.value(object, scope)?, self.value(value, scope)?);
                match object {
                    PythonValue::Object(object) => {
                        self.hold(&value).map_err(|what| fail(scope, what))?;
                        let attributes = &mut self.objects[object].attributes;
                        attributes.insert(name.clone(), value);
                    }
                    PythonValue::Unread(_) => {}
                    _ => return Err(fail(scope, format!("`{name}` is assigned to no object"))),
                }
            }
            StatementKind::Expression(node) => {
                // Calls of `print` are ignored.
                let prints = matches!(&node.kind, ExpressionKind::Call(callee, ..)
                    if matches!(&callee.kind, ExpressionKind::Name(name) if name == "print"));
                if !prints {
                    self.value(node, scope)?;
                }
            }
            StatementKind::Import(module, name, alias) => {
                let found = self.module(module)?;
                let there = found.is_some();
                let module = found.unwrap_or_else(|| PythonValue::Unread(module.as_str().into()));
                let value = match name {
                    None => module,
                    Some(name) => {
                        let value = self.attribute(module, name);
                        value.map_err(|what| fail(scope, what))?
                    }
                };
                scope.names.insert(alias.clone(), value);
                return Ok(there);
            }
            StatementKind::ImportAll(module) => match self.module(module)? {
                Some(PythonValue::Module(module)) => {
                    let count = self.names[&module].len();
                    self.copies(count).map_err(|what| fail(scope, what))?;
                    let names = self.names[&module].clone();
                    scope.names.extend(names);
                }
                Some(PythonValue::Unread(name)) if &*name == "object_library" => {
                    let classes = CLASSES.iter().enumerate();
                    let classes =
                        classes.map(|(n, (name, _))| ((*name).to_owned(), PythonValue::Class(n)));
                    scope.names.extend(classes);
                }
                Some(_) => {}
                None => return Ok(false),
            },
            StatementKind::If(test, yes, no) => {
                let holds = self.holds(test, scope)?;
                self.all(if holds { yes } else { no }, scope)?;
            }
            StatementKind::Try(tried, failed) => {
                if !self.all(tried, scope)? {
                    self.all(failed, scope)?;
                }
            }
            StatementKind::Function(name, arguments, formula) => {
                let (name, formula) = (name.clone(), formula.clone());
                let called = PythonValue::Unread(name.as_str().into());
                scope.names.insert(name.clone(), called);
                self.functions.push((name, arguments.clone(), formula));
            }
        }
        Ok(true)
    }

    /// Counts copied items, because a few short lines may copy a lot.
    fn copies(&mut self, parts: usize) -> Fallible<()> {
        self.copied += parts;
        match self.copied <= MAX_COPIED {
            true => Ok(()),
            false => Err(format!(
                "more than {MAX_COPIED} characters, entries and names are copied"
            )),
        }
    }

    /// Counts the content of an attribute: a long list or text may be shared by many objects, each of which is
    /// processed.
    fn hold(&mut self, value: &PythonValue) -> Fallible<()> {
        take(value, 2, &mut self.left);
        match self.left {
            0 => Err(format!(
                "objects have more than {MAX_ATTRIBUTES} characters and entries"
            )),
            _ => Ok(()),
        }
    }

    /// A module by its path; `None` if it does not exist.
    fn module(&mut self, path: &str) -> Fallible<Option<PythonValue>> {
        let name = path.rsplit('.').next().unwrap_or(path);
        let library = ["__future__", "cmath", "math", "os", "sys", "six"].contains(&path);
        if library || is_left_out(name) {
            return Ok(Some(PythonValue::Unread(name.into())));
        }
        Ok(self
            .read(name)?
            .then(|| PythonValue::Module(name.to_owned())))
    }

    fn attribute(&mut self, value: PythonValue, name: &str) -> Fallible<PythonValue> {
        match value {
            PythonValue::Module(module) => match self.names[&module].get(name) {
                Some(value) => Ok(value.clone()),
                None if name.starts_with("all_") => Ok(PythonValue::Unread(name.into())),
                None => Err(format!("{module} has no `{name}`")),
            },
            PythonValue::Object(object) => match self.objects[object].attributes.get(name) {
                Some(value) => Ok(value.clone()),
                None => {
                    let class = self.objects[object].class;
                    Err(format!("this {class} has no `{name}`"))
                }
            },
            PythonValue::Unread(module) if &*module == "object_library" => {
                let class = CLASSES.iter().position(|(class, _)| *class == name);
                Ok(class.map_or_else(|| PythonValue::Unread(name.into()), PythonValue::Class))
            }
            PythonValue::Unread(module) => {
                Ok(PythonValue::Unread(format!("{module}.{name}").into()))
            }
            _ => Err(format!("a value has no `{name}`")),
        }
    }

    /// Evaluates a test.
    fn holds(&mut self, test: &PythonNode, scope: &Scope) -> Fallible<bool> {
        match self.value(test, scope)? {
            PythonValue::Bool(holds) => Ok(holds),
            PythonValue::Number(x, _) => Ok(x != 0.0),
            PythonValue::None => Ok(false),
            _ => {
                let place = scope.place(test.at);
                Err(format!("{place}: `if` needs a truth value or a number"))
            }
        }
    }

    fn value(&mut self, node: &PythonNode, scope: &Scope) -> Fallible<PythonValue> {
        let fail = |what: String| format!("{}: {what}", scope.place(node.at));
        Ok(match &node.kind {
            ExpressionKind::Number(x, whole) => PythonValue::Number(*x, *whole),
            ExpressionKind::Text(text) => PythonValue::Text(text.as_str().into()),
            ExpressionKind::List(nodes) | ExpressionKind::Tuple(nodes) => {
                let values = nodes.iter().map(|node| self.value(node, scope));
                let values: Vec<PythonValue> = values.collect::<Fallible<_>>()?;
                let depth = depth(&values).map_err(fail)?;
                PythonValue::List(Rc::new(values), depth)
            }
            ExpressionKind::Dict(entries) => {
                let mut all: Vec<(PythonValue, PythonValue)> = Vec::with_capacity(entries.len());
                let mut places: HashMap<String, usize> = HashMap::new();
                for (key, value) in entries {
                    let (key, value) = (self.value(key, scope)?, self.value(value, scope)?);
                    // The last value of a key is used.
                    let at = *places.entry(key.to_string()).or_insert(all.len());
                    match all.get_mut(at) {
                        Some(known) => known.1 = value,
                        None => all.push((key, value)),
                    }
                }
                let depth = depth(all.iter().flat_map(|(key, value)| [key, value]));
                PythonValue::Dict(Rc::new(all), depth.map_err(fail)?)
            }
            ExpressionKind::Name(name) => match (scope.names.get(name), name.as_str()) {
                (Some(value), _) => value.clone(),
                (None, "True") => PythonValue::Bool(true),
                (None, "False") => PythonValue::Bool(false),
                (None, "None") => PythonValue::None,
                _ => return Err(fail(format!("there is no `{name}`"))),
            },
            ExpressionKind::Attribute(object, name) => {
                let object = self.value(object, scope)?;
                self.attribute(object, name).map_err(fail)?
            }
            ExpressionKind::Negative(inner) => match self.value(inner, scope)? {
                PythonValue::Number(x, whole) => PythonValue::Number(-x, whole),
                PythonValue::Unread(name) => PythonValue::Unread(name),
                _ => return Err(fail("`-` must be followed by a number".into())),
            },
            ExpressionKind::Not(inner) => match self.value(inner, scope)? {
                PythonValue::Bool(holds) => PythonValue::Bool(!holds),
                _ => return Err(fail("`not` must be followed by a truth value".into())),
            },
            ExpressionKind::Choice(parts) => {
                let [test, yes, no] = &**parts;
                let chosen = if self.holds(test, scope)? { yes } else { no };
                self.value(chosen, scope)?
            }
            ExpressionKind::Arithmetic(sign, a, b) => {
                let (a, b) = (self.value(a, scope)?, self.value(b, scope)?);
                let value = arithmetic(sign, a, b).map_err(fail)?;
                let parts = match &value {
                    PythonValue::Text(text) => text.len(),
                    PythonValue::List(list, _) => list.len(),
                    _ => 0,
                };
                self.copies(parts).map_err(fail)?;
                value
            }
            ExpressionKind::Call(callee, positional, named) => {
                if let ExpressionKind::Attribute(object, method) = &callee.kind
                    && method == "anti"
                    && positional.is_empty()
                    && named.is_empty()
                    && let PythonValue::Object(object) = self.value(object, scope)?
                {
                    return self.anti(object, scope.place(node.at)).map_err(fail);
                }
                let class = match self.value(callee, scope)? {
                    PythonValue::Class(class) => class,
                    // For example a counterterm.
                    PythonValue::Unread(name) if name.starts_with("CT") => {
                        return Ok(PythonValue::Unread(name));
                    }
                    PythonValue::Unread(name) => {
                        return Err(fail(format!(
                            "`{name}(...)` is not read: no code of a model is run"
                        )));
                    }
                    _ => return Err(fail("this cannot be called".into())),
                };
                let (class, names) = CLASSES[class];
                let mut attributes = SortedMap::new();
                if positional.len() > names.len() {
                    return Err(fail(format!("{class} has too many arguments")));
                }
                for (name, node) in names.iter().zip(positional) {
                    attributes.insert((*name).to_owned(), self.value(node, scope)?);
                }
                for (name, node) in named {
                    let value = self.value(node, scope)?;
                    if attributes.insert(name.clone(), value).is_some() {
                        return Err(fail(format!("{class} has `{name}` twice")));
                    }
                }
                self.object(class, attributes, scope.place(node.at))
                    .map_err(fail)?
            }
        })
    }

    fn object(
        &mut self,
        class: &'static str,
        attributes: SortedMap<String, PythonValue>,
        place: String,
    ) -> Fallible<PythonValue> {
        if self.objects.len() == MAX_OBJECTS {
            return Err(format!("more than {MAX_OBJECTS} objects"));
        }
        attributes.values().try_for_each(|value| self.hold(value))?;
        self.objects.push(Object {
            class,
            attributes,
            place,
        });
        Ok(PythonValue::Object(self.objects.len() - 1))
    }

    /// `particle.anti()`: exchanges names, and changes the signs of numbers.
    fn anti(&mut self, object: usize, place: String) -> Fallible<PythonValue> {
        let particle = &self.objects[object];
        if particle.class != "Particle" {
            return Err("`anti()` is of a particle".into());
        }
        let mut attributes = particle.attributes.clone();
        for (one, other) in [("name", "antiname"), ("texname", "antitexname")] {
            let values = [one, other].map(|name| attributes.remove(name));
            for (name, value) in [other, one].into_iter().zip(values) {
                attributes.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        for (name, value) in attributes.iter_mut() {
            let fixed = matches!(
                name.as_str(),
                "spin" | "line" | "propagating" | "goldstoneboson"
            );
            let octet = name == "color"
                && matches!(value, PythonValue::Number(x, _) if *x == 1.0 || *x == 8.0);
            if let (false, PythonValue::Number(x, _)) = (fixed || octet, value) {
                *x = -*x;
            }
        }
        self.object("Particle", attributes, place)
    }
}

/// Subtracts the characters and entries of a value from `left`, down to 0, with lists nested up to `depth`.
fn take(value: &PythonValue, depth: u32, left: &mut usize) {
    let parts = match value {
        PythonValue::Text(text) => text.len(),
        PythonValue::List(list, _) => list.len(),
        PythonValue::Dict(dict, _) => dict.len(),
        _ => 0,
    };
    *left = left.saturating_sub(1 + parts);
    let mut inner = |value| {
        let some = *left > 0;
        if some {
            take(value, depth - 1, left);
        }
        some
    };
    let _all = match value {
        PythonValue::List(list, _) if depth > 0 => list.iter().all(inner),
        PythonValue::Dict(dict, _) if depth > 0 => {
            dict.iter().all(|(key, of)| inner(key) && inner(of))
        }
        _ => true,
    };
}

/// The nesting of a list of these values.
fn depth<'a>(values: impl IntoIterator<Item = &'a PythonValue>) -> Fallible<u32> {
    let depths = values.into_iter().map(|value| match value {
        PythonValue::List(_, depth) | PythonValue::Dict(_, depth) => *depth,
        _ => 0,
    });
    match depths.max().unwrap_or(0) + 1 {
        depth if depth as usize <= DEEPEST => Ok(depth),
        _ => Err("too many lists within each other".into()),
    }
}

fn arithmetic(sign: &str, a: PythonValue, b: PythonValue) -> Fallible<PythonValue> {
    Ok(match (sign, a, b) {
        (_, PythonValue::Unread(name), _) | (_, _, PythonValue::Unread(name)) => {
            PythonValue::Unread(name)
        }
        ("+", PythonValue::Text(a), PythonValue::Text(b)) => {
            if a.len() + b.len() > MAX_PARTS {
                return Err(format!("a text of more than {MAX_PARTS} characters"));
            }
            PythonValue::Text([&*a, &*b].concat().into())
        }
        ("+", PythonValue::List(a, x), PythonValue::List(b, y)) => {
            if a.len() + b.len() > MAX_PARTS {
                return Err(format!("a list of more than {MAX_PARTS} entries"));
            }
            PythonValue::List(Rc::new([&**a, &**b].concat()), x.max(y))
        }
        (_, PythonValue::Number(a, x), PythonValue::Number(b, y)) => match sign {
            "+" => PythonValue::Number(a + b, x && y),
            "-" => PythonValue::Number(a - b, x && y),
            "*" => PythonValue::Number(a * b, x && y),
            "**" => PythonValue::Number(a.powf(b), x && y && b >= 0.0),
            _ if b == 0.0 => return Err("a division by zero".into()),
            _ => PythonValue::Number(a / b, false),
        },
        _ => return Err(format!("`{sign}` between such values is not read")),
    })
}

impl Object {
    /// An error message about the object.
    pub fn fail(&self, what: impl std::fmt::Display) -> String {
        let name = match self.attributes.get("name") {
            Some(PythonValue::Text(name)) => format!(" {name}"),
            _ => String::new(),
        };
        format!("{}: {}{name}: {what}", self.place, self.class)
    }

    /// An attribute that exists and is not None.
    pub fn get(&self, name: &str) -> Option<&PythonValue> {
        self.attributes
            .get(name)
            .filter(|v| !matches!(v, PythonValue::None))
    }

    fn needed(&self, name: &str) -> Fallible<&PythonValue> {
        self.get(name)
            .ok_or_else(|| self.fail(format!("there is no `{name}`")))
    }

    /// An attribute that is a text.
    pub fn text(&self, name: &str) -> Fallible<Rc<str>> {
        match self.needed(name)? {
            PythonValue::Text(text) => Ok(text.clone()),
            _ => Err(self.fail(format!("`{name}` is not a string"))),
        }
    }

    /// An attribute that is a number, which may be written as a text.
    pub fn number(&self, name: &str) -> Fallible<f64> {
        let value = self.needed(name)?;
        let number = value.number().filter(|x| x.is_finite());
        number.ok_or_else(|| self.fail(format!("`{name}` is not a finite number")))
    }

    /// An attribute that is an integer.
    pub fn integer(&self, name: &str) -> Fallible<i32> {
        let number = self.number(name)?;
        match number.fract() == 0.0 && number.abs() < f64::from(i32::MAX) {
            true => Ok(number as i32),
            false => Err(self.fail(format!("`{name}` is not a whole number"))),
        }
    }

    /// An attribute that is a list.
    pub fn list(&self, name: &str) -> Fallible<Rc<Vec<PythonValue>>> {
        match self.needed(name)? {
            PythonValue::List(list, _) => Ok(list.clone()),
            _ => Err(self.fail(format!("`{name}` is not a list"))),
        }
    }

    /// The entries of an attribute that is a dictionary.
    pub fn dict(&self, name: &str) -> Fallible<Rc<Vec<(PythonValue, PythonValue)>>> {
        match self.needed(name)? {
            PythonValue::Dict(dict, _) => Ok(dict.clone()),
            _ => Err(self.fail(format!("`{name}` is not a dictionary"))),
        }
    }

    /// Whether an attribute exists and is true.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(PythonValue::Bool(holds)) => *holds,
            Some(PythonValue::Number(x, _)) => *x != 0.0,
            _ => false,
        }
    }
}

/// As in Python; equal keys of a dictionary have the same text.
impl Display for PythonValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PythonValue::None => write!(f, "None"),
            PythonValue::Bool(x) => write!(f, "{}", u8::from(*x)),
            // Removes the sign of zero.
            PythonValue::Number(x, _) => write!(f, "{}", x + 0.0),
            PythonValue::Text(text) => write!(f, "{text:?}"),
            PythonValue::List(list, _) => {
                let list: Vec<String> = list.iter().map(PythonValue::to_string).collect();
                write!(f, "({})", list.join(", "))
            }
            PythonValue::Dict(..) => write!(f, "{{...}}"),
            PythonValue::Object(at) => write!(f, "object {at}"),
            PythonValue::Module(name) => write!(f, "{name}"),
            PythonValue::Unread(name) => write!(f, "{name}"),
            PythonValue::Class(at) => write!(f, "{}", CLASSES[*at].0),
        }
    }
}

impl PythonValue {
    /// The position in a list of this length for which it is the index, as in Python.
    pub fn index(&self, length: usize) -> Option<usize> {
        let index = match self {
            PythonValue::Number(x, true) => *x,
            PythonValue::Bool(x) => f64::from(u8::from(*x)),
            _ => return None,
        };
        let place = if index < 0.0 {
            index + length as f64
        } else {
            index
        };
        (0.0..length as f64)
            .contains(&place)
            .then_some(place as usize)
    }

    /// The number, or that in a text.
    pub fn number(&self) -> Option<f64> {
        match self {
            PythonValue::Number(x, _) => Some(*x),
            PythonValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}
