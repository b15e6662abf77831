//! The matrix elements of a text in MG5aMC's language.
//!
//! Subprocesses have equal matrix elements if their legs have the same *kinds* (spin, colour, mass, width) and their
//! diagrams differ only by the names of particles: vertices of the same kind join legs of the same kind, with the same
//! structures and couplings. This is determined without assembling any matrix element, so that a single one can be
//! assembled without the others.

use super::assembly::Assembler;
use super::chains::{Chain, Ends, OnShell};
use super::color_ordered::ColorOrderedLegs;
use super::language;
use super::lines::{self, DiagramLines};
use super::matrix_element::{AmplitudeContent, MatrixElement};
use super::request::{ProcessRequest, SquaredOrder};
use super::squared::SquaredSelection;
use super::subprocess::{self, Subprocess};
use super::trees::{CouplingOrders, Diagrams, Lowest, Node, Rules, Tree};
use super::vanishing::vanishes;
use super::weighted;
use crate::model::{Model, ParticleId};
use mebridge_process::Process;
use mebridge_process::model::AutoWidth;
use mebridge_process::model::CardParameter;
use mebridge_support::error::{Error, Result};
use mebridge_support::sorted::SortedSet;
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;

type Fallible<T> = std::result::Result<T, String>;

/// The matrix elements of a text in MG5aMC's language.
pub struct MatrixElements<'a> {
    text: String,
    pub(super) builder: Assembler<'a>,
    elements: Vec<MatrixElement>,
    /// Names of matrix elements that vanish identically.
    vanishing: Vec<String>,
    /// Cache of the formulas for widths of the card, by index.
    widths: RefCell<HashMap<Vec<i32>, Option<AutoWidth>>>,
}

/// The subprocesses of a request that may have diagrams, with their common properties.
struct Candidates<'a> {
    rules: Rules<'a>,
    found: Vec<(Subprocess, Lowest)>,
    orders: Vec<RangeInclusive<u32>>,
    tail: String,
}

impl<'a> Candidates<'a> {
    fn new(request: &ProcessRequest, model: &'a Model) -> Fallible<Candidates<'a>> {
        let rules = Rules::new(model, request)?;
        let all = Subprocess::expand(request, model)?;
        let with_lowest = |s: &Subprocess| (s.clone(), rules.lowest(&s.outgoing));
        let found = all.iter().filter(|s| s.violates(model).is_none());
        let found: Vec<(Subprocess, Lowest)> = found.map(with_lowest).collect();
        let whole: Vec<&CouplingOrders> =
            found.iter().filter_map(|(_, l)| l.whole.as_ref()).collect();
        let lowest = whole.iter().filter_map(|orders| orders.last()).min();
        let legs = request.incoming.iter().chain(&request.outgoing);
        let legs: Vec<Vec<ParticleId>> = legs.map(|leg| leg.particles.clone()).collect();
        let required = !request.s_channels.required.is_empty();
        let minimum = weighted::minimum(model, &legs);
        let lowest = lowest.map(|lowest| {
            let least = minimum.max(*lowest);
            let processes = found.iter().map(|(s, l)| (s, l.whole.as_ref()));
            weighted::without_gluons(model, &rules, required, processes).max(least)
        });
        let mut orders = request.orders.clone();
        let mut tail = request.tail.clone();
        // The start of the search for WEIGHTED.
        let mut searched_from = None;
        let fits = |low: &CouplingOrders, orders: &[RangeInclusive<u32>]| {
            low.iter().zip(orders).all(|(n, a)| n <= a.end())
        };
        if let (true, Some(lowest), Some(at)) =
            (request.lowest, lowest, orders.len().checked_sub(1))
        {
            let mut weighted = lowest;
            searched_from = Some(minimum);
            if required || model.expansion.iter().any(Option::is_some) {
                // The lowest value with diagrams that have these s-channels, and no more of each coupling order than
                // the model allows.
                let most = lowest + MAX_WEIGHTED_ABOVE_LOWEST;
                loop {
                    orders[at] = 0..=weighted;
                    let some = |(s, l): &(Subprocess, Lowest)| -> Fallible<bool> {
                        let may = l.whole.as_ref().is_some_and(|low| fits(low, &orders));
                        Ok(may && count(&rules, s, l, &orders)? > 0)
                    };
                    let mut any = false;
                    for one in &found {
                        any = any || some(one)?;
                    }
                    if any || weighted > most {
                        break;
                    }
                    weighted += 1;
                }
            }
            orders[at] = 0..=weighted;
            tail = format!(" WEIGHTED<={weighted}{tail}");
        }
        for (subprocess, lowest) in &found {
            let missing = rules.too_large(subprocess.outgoing.len(), &orders);
            if let (Some(vertex), true) = (missing, lowest.whole.is_some() || !request.lowest) {
                model.vertex(vertex)?;
            }
        }
        if weighted::depends_on_negative(model, &rules, &found, &orders, searched_from)? {
            return Err(format!(
                "which diagrams WEIGHTED<={} has depends on the order in which their parts are joined, as vertices have a \
                 negative weight; write the coupling orders that have no negative powers, and so no WEIGHTED",
                orders.last().map_or(0, |range| *range.end())
            ));
        }
        let few = found
            .iter()
            .all(|(_, l)| !l.whole.as_ref().is_some_and(|low| fits(low, &orders)));
        if few {
            return Err(subprocess::why_none(&all, request, &whole, model));
        }
        let mut candidates = Candidates {
            rules,
            found,
            orders,
            tail,
        };
        let orders = &candidates.orders;
        candidates
            .found
            .retain(|(_, l)| l.whole.as_ref().is_some_and(|low| fits(low, orders)));
        Ok(candidates)
    }
}

/// How far `WEIGHTED` is searched above its lowest value, for required s-channels and limits of the model.
const MAX_WEIGHTED_ABOVE_LOWEST: u32 = 16;

/// Number of diagrams of a subprocess, or of trees of a decay.
fn count(
    rules: &Rules,
    subprocess: &Subprocess,
    lowest: &Lowest,
    orders: &[RangeInclusive<u32>],
) -> Fallible<usize> {
    Ok(match subprocess.incoming {
        1 => rules.decays(&subprocess.outgoing, lowest, orders)?.1.len(),
        _ => rules
            .diagrams(&subprocess.outgoing, lowest, orders)?
            .diagrams
            .len(),
    })
}

impl<'a> MatrixElements<'a> {
    /// Determines the matrix elements of a text.
    pub fn parse(text: &str, model: &'a Model) -> Result<MatrixElements<'a>> {
        MatrixElements::parse_unless_zero(text, model)?.map_err(|why| failure(text, why))
    }

    /// The same; the inner error says why one of its processes has no diagrams left, or vanishes.
    pub(crate) fn parse_unless_zero(
        text: &str,
        model: &'a Model,
    ) -> Result<Fallible<MatrixElements<'a>>> {
        if let Some((before, choice)) = language::wrong_choice(text) {
            let names = MatrixElements::parse(before, model)?.names();
            return Err(choose_process(Path::new(before), Some(&choice), &names));
        }
        let fail = |what: String| failure(text, what);
        let requests = language::requests(text, model).map_err(fail)?;
        let mut elements = MatrixElements {
            text: text.to_owned(),
            builder: Assembler::new(model),
            elements: Vec::new(),
            vanishing: Vec::new(),
            widths: RefCell::default(),
        };
        let kinds = Kinds::new(model);
        for (number, request) in requests.iter().enumerate() {
            let before = elements.elements.len();
            let found = match request.decays.is_empty() {
                true => elements.add_request(number, request, &kinds),
                false => elements.add_chains(number, request, &kinds),
            };
            found.map_err(fail)?;
            if elements.elements.len() == before {
                return Ok(Err(match elements.vanishing.first() {
                    Some(first) => format!(
                        "the cross section is zero: for {first}, the requested products of amplitudes cancel at all points \
                         in the sums over colours and helicities; request other squared coupling orders"
                    ),
                    None => "there are no diagrams for the requested process".into(),
                }));
            }
            elements.vanishing.clear();
        }
        match elements.elements.is_empty() {
            true => Err(fail("there are no diagrams".into())),
            false => Ok(Ok(elements)),
        }
    }

    /// Adds a process without decays.
    fn add_request(
        &mut self,
        number: usize,
        request: &ProcessRequest,
        kinds: &Kinds,
    ) -> Fallible<()> {
        let model = self.builder.model;
        let Candidates {
            rules,
            found,
            orders,
            tail,
        } = Candidates::new(request, model)?;
        let orders = Rc::new(orders);
        let mut squared = request.squared.clone();
        for (subprocess, lowest) in found {
            let plain =
                !request.s_channels.select() && request.squared.is_empty() && !request.zero_width;
            let unpolarized = subprocess.polarizations.iter().all(Vec::is_empty);
            let line = match plain && unpolarized {
                true => ColorOrderedLegs::find(&subprocess, model, &rules, &lowest, &orders),
                false => None,
            };
            let large = line.as_ref().filter(|line| line.is_large());
            let vertices = match large {
                Some(line) => self.builder.ordered_vertices(line, &orders)?,
                None => None,
            };
            let mut selection = None;
            let content = match vertices {
                Some(vertices) => AmplitudeContent::Vertices(vertices),
                None => {
                    let mut diagrams = rules.diagrams(&subprocess.outgoing, &lowest, &orders)?;
                    selection = select(&mut diagrams, &rules, &mut squared);
                    AmplitudeContent::Diagrams(diagrams)
                }
            };
            let element = MatrixElement {
                name: self.builder.name(&subprocess, &request.through, &tail),
                subprocess,
                line,
                content,
                selection,
                on_shell: Vec::new(),
                off_shell: request.s_channels.off_shell.clone(),
                zero_width: request.zero_width,
                orders: orders.clone(),
                request: number,
                others: Vec::new(),
            };
            self.add(element, kinds)?;
        }
        Ok(())
    }

    /// Adds a process with decays.
    fn add_chains(
        &mut self,
        number: usize,
        request: &ProcessRequest,
        kinds: &Kinds,
    ) -> Fallible<()> {
        let model = self.builder.model;
        let orders = Rc::new(request.overall.clone());
        // Orders of processes with decays are checked again if the whole process has bounds.
        let bounded = request.overall.iter().any(|range| *range.end() != u32::MAX);
        let rules = Rules::new(model, request)?;
        // The lowest orders of any diagram, and whether any diagram is left.
        let (mut lowest, mut some): (Option<CouplingOrders>, bool) = (None, false);
        for chain in self.chains(request, true)? {
            let name = format!("{}{}", chain.name, request.number);
            let (subprocess, mut diagrams, on_shell) = chain.into_diagrams(model);
            if bounded {
                let found = diagrams.orders(&rules);
                for orders in &found {
                    let lowest = lowest.get_or_insert_with(|| orders.clone());
                    lowest
                        .iter_mut()
                        .zip(orders)
                        .for_each(|(n, other)| *n = (*n).min(*other));
                }
                let allowed = |orders: &CouplingOrders| {
                    orders
                        .iter()
                        .zip(&request.overall)
                        .all(|(n, a)| a.contains(n))
                };
                let mut found = found.iter();
                diagrams
                    .diagrams
                    .retain(|_| found.next().is_none_or(allowed));
            }
            if diagrams.diagrams.is_empty() {
                continue;
            }
            some = true;
            let element = MatrixElement {
                subprocess,
                line: None,
                content: AmplitudeContent::Diagrams(diagrams),
                selection: None,
                on_shell,
                off_shell: request.s_channels.off_shell.clone(),
                zero_width: request.zero_width,
                orders: orders.clone(),
                name,
                request: number,
                others: Vec::new(),
            };
            self.add(element, kinds)?;
        }
        match lowest.filter(|_| !some) {
            Some(lowest) => Err(format!(
                "the orders after `@` apply to the process with all its decays: {}",
                subprocess::too_few(&lowest, model)
            )),
            None => Ok(()),
        }
    }

    /// All processes of a request with all its decays; `whole` is false if the request is itself a decay.
    fn chains(&self, request: &ProcessRequest, whole: bool) -> Fallible<Vec<Chain>> {
        let model = self.builder.model;
        let Candidates {
            rules,
            found,
            orders,
            tail,
        } = Candidates::new(request, model)?;
        let mut cores = Vec::new();
        for (subprocess, lowest) in found {
            let name = self.builder.name(&subprocess, &request.through, &tail);
            let (trees, ends) = match whole {
                false => {
                    let (trees, ends) = rules.decays(&subprocess.outgoing, &lowest, &orders)?;
                    (trees, Ends::Trees(ends))
                }
                true => {
                    let diagrams = rules.diagrams(&subprocess.outgoing, &lowest, &orders)?;
                    (diagrams.trees, Ends::Diagrams(diagrams.diagrams))
                }
            };
            let some = match &ends {
                Ends::Diagrams(diagrams) => !diagrams.is_empty(),
                Ends::Trees(trees) => !trees.is_empty(),
            };
            if some {
                cores.push(Chain::new(subprocess, trees, ends, name, model));
            }
        }
        let decays = request.decays.iter().map(|decay| self.chains(decay, false));
        let decays: Vec<Vec<Chain>> = decays.collect::<Fallible<_>>()?;
        for (decay, requested) in decays.iter().zip(&request.decays) {
            let goes_out = |p: &ParticleId| {
                cores
                    .iter()
                    .any(|core| core.subprocess.particles[core.subprocess.incoming..].contains(p))
            };
            let mothers = &requested.incoming[0].particles;
            if decay.is_empty() {
                return Err(format!("{} does not decay like this", model.names(mothers)));
            }
            if !mothers.iter().any(goes_out) {
                return Err(format!(
                    "{} decays, but is not produced by the process; put parentheses around a decay with decays, as in \
                     `(t > w+ b, w+ > l+ vl)`",
                    model.names(mothers)
                ));
            }
        }
        if decays.is_empty() {
            return Ok(cores);
        }
        let all = cores.into_iter().map(|core| core.combine(&decays, model));
        Ok(all.collect::<Fallible<Vec<_>>>()?.concat())
    }

    fn add(&mut self, element: MatrixElement, kinds: &Kinds) -> Fallible<()> {
        let iden = |element: &MatrixElement| self.builder.iden(&element.subprocess);
        let mut known = self.elements.iter();
        let known = known.position(|e| {
            e.request == element.request && kinds.equal(e, &element) && iden(e) == iden(&element)
        });
        if let Some(at) = known {
            let particles = element.subprocess.particles;
            self.elements[at].others.push(particles);
            return Ok(());
        }
        let twice = |e: &MatrixElement| {
            e.request != element.request
                && (e.subprocess.particles == element.subprocess.particles
                    || e.others.contains(&element.subprocess.particles))
                && kinds.equal(e, &element)
        };
        if self.elements.iter().any(twice) {
            return Err(format!("{} is requested twice", element.name));
        }
        let some = match &element.content {
            AmplitudeContent::Diagrams(diagrams) => {
                self.builder.has_color(&element.subprocess, diagrams)?
            }
            AmplitudeContent::Vertices(_) => true,
        };
        if !some {
            return Ok(());
        }
        if let (AmplitudeContent::Diagrams(diagrams), Some(true)) = (
            &element.content,
            element
                .selection
                .as_ref()
                .map(SquaredSelection::is_interference),
        ) && let Some(process) = self.builder.process(&element, diagrams)?
            && vanishes(&process)
        {
            self.vanishing.push(element.name);
            return Ok(());
        }
        self.elements.push(element);
        Ok(())
    }

    /// Number of matrix elements, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The names of all matrix elements.
    pub fn names(&self) -> Vec<String> {
        self.elements.iter().map(|e| e.name.clone()).collect()
    }

    /// The process number of a matrix element: the number after `@`, or else the number of its request in the text,
    /// from 1, as in MG5aMC.
    pub fn number(&self, place: usize) -> u32 {
        let element = &self.elements[place];
        let digits = element.name.split_once('@').map(|(_, rest)| {
            let rest = rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit());
            &rest[..end.unwrap_or(rest.len())]
        });
        let given = digits.and_then(|digits| digits.parse().ok());
        given.unwrap_or(element.request as u32 + 1)
    }

    /// The lines of a matrix element's diagrams; `None` if there are too many diagrams to list.
    pub fn lines(&self, place: usize) -> Result<Option<DiagramLines>> {
        let element = &self.elements[place];
        match &element.content {
            AmplitudeContent::Diagrams(diagrams) => {
                let found = lines::list(&self.builder, element, diagrams);
                found.map(Some).map_err(|what| failure(&self.text, what))
            }
            AmplitudeContent::Vertices(_) => Ok(None),
        }
    }

    /// Assembles the matrix element with this index.
    pub fn process(&self, place: usize) -> Result<Process> {
        let element = &self.elements[place];
        let process = match (&element.content, &element.line) {
            (AmplitudeContent::Diagrams(diagrams), _) => self.builder.process(element, diagrams),
            (AmplitudeContent::Vertices(_), Some(line)) => {
                self.builder.color_ordered(element, line)
            }
            (AmplitudeContent::Vertices(_), None) => Ok(None),
        };
        let process = process.map_err(|what| failure(&self.text, what))?;
        let mut process =
            process.ok_or_else(|| failure(&self.text, "it has no diagrams".into()))?;
        let others = element.others.iter();
        process.other_flavours = others.map(|p| self.builder.pdg(p)).collect();
        for (at, parameter) in (0..).zip(&process.model.card) {
            let width = self.auto_width(parameter);
            let width = width.map_err(|what| failure(&self.text, what))?;
            let width = width.map(|width| AutoWidth {
                parameter: at,
                ..width
            });
            process.model.auto_widths.extend(width);
        }
        process.validate().map_err(|error| match error {
            // A generated process is valid, but may be too large to evaluate.
            Error::InvalidProcess { what } => failure(
                &self.text,
                format!("{what}; request fewer legs, or one helicity of some, as in `w+{{0}}`"),
            ),
            error => error,
        })?;
        Ok(process)
    }

    fn auto_width(&self, parameter: &CardParameter) -> Fallible<Option<AutoWidth>> {
        if parameter.block != "decay" {
            return Ok(None);
        }
        if let Some(known) = self.widths.borrow().get(&parameter.index) {
            return Ok(known.clone());
        }
        let width = self.builder.model.auto_width(0, parameter)?;
        let mut widths = self.widths.borrow_mut();
        widths.insert(parameter.index.clone(), width.clone());
        Ok(width)
    }
}

/// The products of a decay, and its |M|^2 or the reason why it cannot be generated.
pub type TwoBody = (Vec<ParticleId>, Fallible<Process>);

/// All two-body decays of a particle by vertices of the model, regardless of masses and coupling orders.
pub fn two_body(mother: ParticleId, model: &Model) -> Fallible<Vec<TwoBody>> {
    let count = model.orders.len() + 1;
    let orders = Rc::new(vec![0..=u32::MAX; count]);
    let rules = Rules::new(model, &ProcessRequest::default())?;
    let builder = Assembler::new(model);
    let anti = model.anti(mother);
    // Exclude decays into the particle itself.
    let other = |p: &ParticleId| {
        let unphysical = model.properties(*p).goldstone || model.properties(*p).ghost;
        !unphysical && ![mother, anti].contains(p)
    };
    let products = model.vertices.iter().filter_map(|vertex| {
        let mut rest = vertex.particles.clone();
        rest.remove(rest.iter().position(|&p| p == anti)?);
        rest.sort_unstable();
        (rest.len() == 2 && rest.iter().all(other)).then_some(rest)
    });
    let products: SortedSet<Vec<ParticleId>> = products.collect();
    let squared = |products: &[ParticleId]| -> Fallible<Option<Process>> {
        let all = |first| std::iter::once(first).chain(products.iter().copied());
        let subprocess = Subprocess {
            incoming: 1,
            particles: all(mother).collect(),
            outgoing: all(anti).collect(),
            polarizations: vec![Vec::new(); 3],
            identical: if products[0] == products[1] { 2 } else { 1 },
        };
        let lowest = rules.lowest(&subprocess.outgoing);
        let diagrams = rules.diagrams(&subprocess.outgoing, &lowest, &orders)?;
        let element = MatrixElement {
            name: builder.name(&subprocess, "", ""),
            subprocess,
            line: None,
            content: AmplitudeContent::Diagrams(Diagrams::default()),
            selection: None,
            on_shell: Vec::new(),
            off_shell: Vec::new(),
            zero_width: false,
            orders: orders.clone(),
            request: 0,
            others: Vec::new(),
        };
        builder.process(&element, &diagrams)
    };
    let all = products.into_iter().filter_map(|products| {
        let process = squared(&products).transpose()?.and_then(|process| {
            process.validate().map_err(|error| error.to_string())?;
            Ok(process)
        });
        Some((products, process))
    });
    Ok(all.collect())
}

/// Keeps the diagrams that squared coupling orders select, and returns the selected products.
fn select(
    diagrams: &mut Diagrams,
    rules: &Rules,
    squared: &mut [SquaredOrder],
) -> Option<SquaredSelection> {
    if squared.is_empty() {
        return None;
    }
    let mut selection = SquaredSelection::new(&diagrams.orders(rules), squared)?;
    let mut kept = selection.groups.iter();
    diagrams
        .diagrams
        .retain(|_| kept.next().is_some_and(Option::is_some));
    selection.groups.retain(Option::is_some);
    Some(selection)
}

/// The error that one of several matrix elements, with these names, must be chosen; `number` is the requested one.
pub fn choose_process(path: &Path, number: Option<&dyn Display>, names: &[String]) -> Error {
    let count = names.len();
    let elements = if count == 1 { "element" } else { "elements" };
    let no = number.map(|number| format!(" and no number {number}"));
    let lines = (1..).zip(names).map(|(n, name)| format!("\n  #{n} {name}"));
    Error::ChooseProcess {
        path: path.to_path_buf(),
        what: format!("{count} matrix {elements}{}", no.unwrap_or_default()),
        names: lines.collect(),
        count,
    }
}

fn failure(text: &str, what: String) -> Error {
    Error::Generate {
        process: text.trim().to_owned(),
        what,
    }
}

/// Kinds of particles and vertices: numbers that are equal for equal properties, regardless of names.
struct Kinds {
    particles: Vec<u32>,
    vertices: Vec<u32>,
}

impl Kinds {
    fn new(model: &Model) -> Kinds {
        let particle = model.particles.iter().map(|p| {
            let line = (p.mass.as_ref(), p.width.as_ref(), p.complex_mass.as_ref());
            let line = (line, p.propagator);
            (p.spin, p.color, p.is_anti, line)
        });
        let particles = numbers(particle);
        let vertex = model.vertices.iter().map(|vertex| {
            let legs = vertex.particles.iter().map(|&p| particles[usize::from(p)]);
            // Expressions are compared as text.
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
            && a.subprocess.polarizations == b.subprocess.polarizations
            && a.selection == b.selection
            && a.line.as_ref().map(ColorOrderedLegs::places)
                == b.line.as_ref().map(ColorOrderedLegs::places)
            && a.on_shell.len() == b.on_shell.len()
            && a.on_shell.iter().zip(&b.on_shell).all(|(a, b)| {
                let kind = |line: &OnShell| self.particles[usize::from(line.particle)];
                a.legs == b.legs && kind(a) == kind(b)
            })
            && content()
    }
}

/// Numbers the items from 0 on; equal items have the same number.
fn numbers<T: Eq + std::hash::Hash>(things: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known = HashMap::default();
    things
        .map(|thing| {
            let next = known.len() as u32;
            *known.entry(thing).or_insert(next)
        })
        .collect()
}

/// Whether two sets of diagrams are equal, given the equality of vertices.
fn diagrams_equal(a: &Diagrams, b: &Diagrams, vertex: &dyn Fn(u32, u32) -> bool) -> bool {
    let node = |a: &Node, b: &Node| {
        a.children == b.children && a.propagator == b.propagator && vertex(a.vertex, b.vertex)
    };
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
