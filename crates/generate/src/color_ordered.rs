//! Derivation of the colour-ordered form of a process from the model's vertices ([`ColorOrdered`]).
//!
//! A process has it if its legs are gluons and at most one quark and antiquark, and no other particle can be a
//! propagator within the requested coupling orders. A massless quark line may also absorb a colour-singlet vector, if
//! nothing else can; or two massless colour-singlet fermions, if they can only annihilate into such vectors. "Gluon"
//! and "quark" are any octet and triplet of the model with such vertices.
//!
//! The colour factor of a vertex of neighbouring currents is the coefficient of the string of their generators, in the
//! order of the currents. An octet index between two currents is summed over by `T^a_ij T^a_kl = 1/2 (d_il d_kj -
//! ...)`; the second term cancels because of `f`.

use super::assembly::Assembly;
use super::color::{Child, ROOT_LABEL, VertexColor};
use super::matrix::product;
use super::number::{Number, over_common_denominator};
use super::strings::{Label, Strings};
use super::subprocess::Subprocess;
use super::trees::{Legs, Lowest, Rules};
use crate::model::{Model, ParticleId, RoutineForm, Vertex};
use mebridge_process::color_ordered::traces;
use mebridge_process::color_ordered::{
    Boson, ColorOrdered, Exchange, FlowTerm, MAX_INSERTIONS, OrderedVertex, orders,
};
use mebridge_process::{CouplingRef, Quantity};
use std::ops::RangeInclusive;

/// With more colour flows, diagrams are not listed.
const MAX_LISTED_FLOWS: usize = 1000;
/// The octet leg of a vertex that is the result.
const RESULT: usize = 0;

/// The legs of a process that has a colour-ordered form.
#[derive(Clone, Debug)]
pub struct ColorOrderedLegs {
    /// The legs at the ends: outgoing quark and antiquark, or the first and the last gluon.
    ends: [usize; 2],
    /// The other coloured legs, ascending.
    insertions: Vec<usize>,
    gluon: ParticleId,
    /// The quarks at the ends; `None` for gluons.
    quarks: Option<[ParticleId; 2]>,
    /// The legs without colour.
    boson: Option<Colorless>,
}

/// The legs without colour, and the vectors that they are or annihilate into.
#[derive(Clone, Debug)]
struct Colorless {
    legs: Vec<usize>,
    vectors: Vec<ParticleId>,
    /// The particles of two legs that annihilate into a vector.
    pair: Option<[ParticleId; 2]>,
}

impl ColorOrderedLegs {
    /// Finds the line of a process, from its legs and the possible propagators.
    pub fn find(
        subprocess: &Subprocess,
        model: &Model,
        rules: &Rules,
        lowest: &Lowest,
        allowed: &[RangeInclusive<u32>],
    ) -> Option<ColorOrderedLegs> {
        let outgoing = &subprocess.outgoing;
        let with_color = |color: i8| -> Vec<usize> {
            let legs =
                (0..outgoing.len()).filter(|&leg| model.properties(outgoing[leg]).color == color);
            legs.collect()
        };
        let (octets, heads, tails) = (with_color(8), with_color(3), with_color(-3));
        let (ends, insertions) = match (&heads[..], &tails[..]) {
            ([head], [tail]) => ([*head, *tail], octets),
            ([], []) if octets.len() > 3 => (
                [octets[0], octets[octets.len() - 1]],
                octets[1..octets.len() - 1].to_vec(),
            ),
            _ => return None,
        };
        let gluon = outgoing[*insertions.first()?];
        let quarks = (!heads.is_empty()).then_some(ends.map(|end| outgoing[end]));
        let colorless = with_color(1);
        let is_gluon = |leg: &usize| outgoing[*leg] == gluon;
        let particle = model.properties(gluon);
        let right = insertions.iter().all(is_gluon)
            && (quarks.is_some() || ends.iter().all(is_gluon))
            && insertions.len() + 2 + colorless.len() == outgoing.len()
            && (colorless.is_empty() || quarks.is_some())
            && insertions.len() <= MAX_INSERTIONS
            && particle.spin == 3
            && particle.mass.is_none()
            && model.anti(gluon) == gluon
            && quarks.is_none_or(|quarks| {
                let [head, tail] = quarks.map(|quark| model.properties(quark));
                let massless = [head, tail].iter().all(|quark| quark.mass.is_none());
                let same = quarks[0] == model.anti(quarks[1]);
                (head.spin, tail.spin) == (2, 2)
                    && if colorless.is_empty() { same } else { massless }
            });
        // Only the sum of orders is bounded in this form.
        if !right || model.negative.contains(&true) {
            return None;
        }
        let massless_fermion = |leg: &usize| {
            let particle = model.properties(outgoing[*leg]);
            particle.spin == 2 && particle.mass.is_none()
        };
        let pair = match colorless[..] {
            [] => None,
            [leg] if model.properties(outgoing[leg]).spin == 3 => None,
            [a, b] if colorless.iter().all(massless_fermion) => Some([a, b]),
            _ => return None,
        };
        let propagators = rules.propagators(outgoing, lowest, allowed);
        let all: Legs = (1 << outgoing.len()) - 1;
        let of_pair: Legs = pair.iter().flatten().map(|leg| 1 << leg).sum();
        let known = |&(legs, p): &(Legs, ParticleId)| {
            // The form only supports propagators with real mass and width.
            if model.properties(p).propagator.is_some()
                || model.properties(p).complex_mass.is_some()
            {
                return false;
            }
            let of_line = |quark: &ParticleId| p == *quark || p == model.anti(*quark);
            let line = p == gluon || quarks.is_some_and(|quarks| quarks.iter().any(of_line));
            match (model.properties(p).spin, model.properties(p).color) {
                (3, 1) => pair.is_some() && (legs == of_pair || legs == all & !of_pair),
                _ => line && [0, of_pair].contains(&(legs & of_pair)),
            }
        };
        if !propagators.iter().all(known) {
            return None;
        }
        let mut vectors: Vec<ParticleId> = match (&colorless[..], pair) {
            ([leg], _) => vec![outgoing[*leg]],
            (_, Some(_)) => {
                let made = propagators.iter().filter(|(legs, _)| *legs == of_pair);
                made.map(|(_, p)| *p).collect()
            }
            _ => Vec::new(),
        };
        vectors.sort_unstable();
        let boson = (!colorless.is_empty()).then_some(Colorless {
            legs: colorless,
            vectors,
            pair: pair.map(|legs| legs.map(|leg| outgoing[leg])),
        });
        Some(ColorOrderedLegs {
            ends,
            insertions,
            gluon,
            quarks,
            boson,
        })
    }

    /// Number of colour flows.
    fn flows(&self) -> usize {
        let free = self.insertions.len() + usize::from(self.quarks.is_none());
        (1..=free).product()
    }

    /// Whether there are too many diagrams to list them.
    pub fn is_large(&self) -> bool {
        self.flows() > MAX_LISTED_FLOWS
    }

    /// The colour flows, in MG5aMC's order.
    pub fn strings(&self) -> Result<Vec<Strings>, String> {
        let label = |leg: usize| leg as Label;
        let [first, last] = self.ends;
        let mut legs = self.insertions.clone();
        if self.quarks.is_none() {
            legs.push(last);
        }
        let string = |order: Vec<u8>| {
            let order = order.iter().map(|&i| label(legs[usize::from(i)]));
            let mut labels = vec![label(first)];
            labels.extend(order);
            if self.quarks.is_some() {
                labels.push(label(last));
            }
            Strings::new(self.quarks.is_none(), &labels)
        };
        let all = orders(legs.len()).into_iter().map(string);
        all.collect::<Result<_, _>>()
            .map_err(|_| "there are too many coloured particles".into())
    }

    /// Finds the vertices of the colour-ordered form. `None` if the model's vertices do not allow one, or their
    /// coupling orders are not allowed.
    pub(super) fn vertices(
        &self,
        assembly: &mut Assembly,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<Option<Vertices>, String> {
        let model = assembly.model();
        let g = self.gluon;
        let possible = Possible::new(self, model, allowed);
        let (Some(three_gluon), Some(four_gluon)) =
            (possible.only(model, &[g; 3]), possible.only(model, &[g; 4]))
        else {
            return Ok(None);
        };
        let mut line = match self.quarks {
            None => None,
            Some(quarks) => {
                match Quarks::find(assembly, g, quarks, self.boson.as_ref(), &possible)? {
                    Some(line) => Some(line),
                    None => return Ok(None),
                }
            }
        };
        // The form has no diagrams with any other vertex.
        let known = numbers(three_gluon, four_gluon, line.as_ref());
        if !possible.0.iter().all(|vertex| known.contains(vertex)) {
            return Ok(None);
        }
        // Every diagram has the orders of one three-leg vertex per insertion, plus those of the boson's vertices.
        let of = |v: u32| &model.vertices[v as usize].orders;
        let twice = of(three_gluon).iter().map(|n| 2 * n);
        let mut of_line = line.iter().flat_map(|line| &line.gluon);
        let regular = of(four_gluon).iter().copied().eq(twice)
            && of_line.all(|&gluon| of(gluon) == of(three_gluon));
        let insertions = self.insertions.len() as u32;
        let is_allowed = |beside: &[u32]| {
            let orders = of(three_gluon).iter().enumerate();
            let orders = orders.map(|(i, n)| {
                let beside = beside.iter().map(|&vertex| of(vertex)[i]);
                n * insertions + beside.sum::<u32>()
            });
            let orders: Vec<u32> = orders.collect();
            let weights = model.orders.iter().map(|(_, weight)| *weight);
            let weighted = orders.iter().zip(weights).map(|(n, w)| n * w).sum();
            let mut allowed = orders.iter().copied().chain([weighted]).zip(allowed);
            allowed.all(|(n, allowed)| allowed.contains(&n))
        };
        let some = match (&self.boson, &mut line) {
            (Some(_), Some(line)) => {
                line.vectors.retain(|(vertices, _)| is_allowed(vertices));
                !line.vectors.is_empty()
            }
            _ => is_allowed(&[]),
        };
        Ok((regular && some).then_some(Vertices {
            three_gluon,
            four_gluon,
            line,
        }))
    }

    /// Ends, insertions and legs without colour. If these agree, particles and vertices of the same kinds give equal
    /// forms.
    pub fn places(&self) -> ([usize; 2], &[usize], &[usize]) {
        let colorless = self.boson.as_ref().map_or(&[][..], |boson| &boson.legs);
        (self.ends, &self.insertions, colorless)
    }

    /// Builds the colour-ordered form, if [`ColorOrderedLegs::vertices`] exist.
    pub(super) fn form(
        &self,
        assembly: &mut Assembly,
        allowed: &[RangeInclusive<u32>],
    ) -> Result<Option<ColorOrdered>, String> {
        let Some(Vertices {
            three_gluon,
            four_gluon,
            line,
        }) = self.vertices(assembly, allowed)?
        else {
            return Ok(None);
        };
        let Some(three_gluon) = gluon_vertices(assembly, three_gluon, &[0, 1])?.pop() else {
            return Ok(None);
        };
        let four_gluon = gluon_vertices(assembly, four_gluon, &[0, 1, 2])?;
        let (line, vectors) = match line {
            Some(line) => (Some(line.vertex), line.vectors),
            None => (None, Vec::new()),
        };
        let boson = self.boson.as_ref().map(|boson| Boson {
            wavefunctions: boson.legs.iter().map(|&leg| leg as u32).collect(),
            vectors: vectors.into_iter().map(|(_, vector)| vector).collect(),
        });
        let (row, denominator) = self.row(assembly.colors())?;
        Ok(Some(ColorOrdered {
            ends: self.ends.map(|leg| leg as u32),
            insertions: self.insertions.iter().map(|&leg| leg as u32).collect(),
            line,
            // Unlike currents, the trace at the last vertex has no factor 1/2 from a sum over an octet index.
            closing: if self.quarks.is_some() { 1.0 } else { 2.0 },
            three_gluon,
            four_gluon,
            boson,
            row,
            denominator,
            flows: self.flow_terms(),
        }))
    }

    /// The first row of the colour matrix of JAMPs.
    fn row(&self, colors: i64) -> Result<(Vec<f64>, f64), String> {
        let count = self.insertions.len();
        if self.quarks.is_some() {
            let (row, denominator) = first_row(count, colors, |order| {
                let ends = [100, 101];
                let labels = [&ends[..1], order, &ends[1..]].concat();
                Strings::new(false, &labels)
            })?;
            return Ok((row, denominator));
        }
        // Traces that begin with the first gluon, the others in any order.
        let (traces, denominator) = first_row(count + 1, colors, |order| {
            let labels: Vec<Label> = [100].iter().chain(order).copied().collect();
            Strings::new(true, &labels)
        })?;
        Ok((traces::row(&traces, count), denominator))
    }

    /// The JAMPs of each colour flow; empty if each JAMP is a colour flow.
    fn flow_terms(&self) -> Vec<Vec<FlowTerm>> {
        if self.quarks.is_some() {
            return Vec::new();
        }
        traces::flows(self.insertions.len())
    }
}

/// The numbers of the model's vertices that a diagram of these legs can have.
struct Possible(Vec<u32>);

impl Possible {
    /// Finds the vertices of the line's particles, except those that would exceed the allowed orders in any diagram.
    fn new(line: &ColorOrderedLegs, model: &Model, allowed: &[RangeInclusive<u32>]) -> Possible {
        let anti = |particles: &[ParticleId]| -> Vec<ParticleId> {
            particles.iter().map(|&p| model.anti(p)).collect()
        };
        let quarks = line.quarks.map_or(Vec::new(), Vec::from);
        let quarks = [anti(&quarks), quarks].concat();
        let boson = line.boson.as_ref();
        let vectors = boson.map_or(Vec::new(), |boson| boson.vectors.clone());
        let made = anti(&vectors);
        let pair = boson.and_then(|boson| boson.pair);
        let pair = pair.map_or(Vec::new(), Vec::from);
        let legs = 2 + line.insertions.len() + boson.map_or(0, |boson| boson.legs.len());
        // At most one quark line, and one colour-singlet vector or the pair in its place.
        let fits = |vertex: &&(u32, &Vertex)| {
            let particles = &vertex.1.particles;
            let count = |of: &[ParticleId]| particles.iter().filter(|p| of.contains(p)).count();
            let of_pair = count(&pair);
            let vectors = if of_pair > 0 { &made } else { &vectors };
            let counts = [&[line.gluon][..], &quarks, vectors].map(count);
            counts.iter().sum::<usize>() + of_pair == particles.len()
                && particles.len() <= legs
                && matches!([counts[1], counts[2], of_pair], [0 | 2, 0 | 1, 0 | 2])
        };
        let all = (0..).zip(&model.vertices);
        let all: Vec<(u32, &Vertex)> = all.collect();
        let all: Vec<&(u32, &Vertex)> = all.iter().filter(fits).collect();
        // A diagram has one three-leg vertex, or the equivalent, for each leg beyond two. Each adds at least the least
        // order per such vertex.
        let orders = |vertex: &Vertex| -> Vec<f64> {
            let orders = vertex.orders.iter().map(|&n| f64::from(n));
            orders.chain([vertex.weighted as f64]).collect()
        };
        let least = |order: usize| {
            let of = |v: &&(u32, &Vertex)| orders(v.1)[order] / (v.1.particles.len() as f64 - 2.0);
            all.iter().map(of).fold(f64::INFINITY, f64::min)
        };
        let least: Vec<f64> = (0..allowed.len()).map(least).collect();
        let is_allowed = |vertex: &Vertex| {
            let others = (legs - vertex.particles.len()) as f64;
            let mut orders = orders(vertex).into_iter().zip(&least).zip(allowed);
            orders.all(|((n, least), allowed)| {
                let beyond = if others > 0.0 { others * least } else { 0.0 };
                n + beyond < f64::from(*allowed.end()) + 0.5
            })
        };
        let all = all.into_iter().filter(|(_, vertex)| is_allowed(vertex));
        Possible(all.map(|(number, _)| *number).collect())
    }

    /// The only vertex of these particles, among the possible ones or, if there is none, among all.
    fn only(&self, model: &Model, particles: &[ParticleId]) -> Option<u32> {
        let sorted = |particles: &[ParticleId]| {
            let mut sorted = particles.to_vec();
            sorted.sort_unstable();
            sorted
        };
        let wanted = sorted(particles);
        let all = (0..).zip(&model.vertices);
        let of = |(number, vertex): (u32, &Vertex)| {
            (sorted(&vertex.particles) == wanted).then_some(number)
        };
        let all: Vec<u32> = all.filter_map(of).collect();
        let possible = all.iter().filter(|number| self.0.contains(number));
        let possible: Vec<u32> = possible.copied().collect();
        match (&possible[..], &all[..]) {
            ([number], _) | ([], [number]) => Some(*number),
            _ => None,
        }
    }
}

/// The terms of a vertex of octets that contribute to this order of its legs; the first leg is the result.
fn gluon_vertices(
    assembly: &mut Assembly,
    vertex: u32,
    neighbours: &[u8],
) -> Result<Vec<OrderedVertex>, String> {
    let mut children = Vec::new();
    for &n in neighbours {
        children.push((usize::from(n) + 1, Child::Leg(n)));
    }
    let mut labels = neighbours.to_vec();
    labels.push(ROOT_LABEL);
    let half = Number::ratio(1, 2);
    let mut found = Vec::new();
    for term in 0..assembly.model().vertices[vertex as usize].terms.len() {
        let color = assembly.color(vertex, term)?;
        let Some(number) = coefficient(&color, &children, RESULT, true, &labels)? else {
            continue;
        };
        let inputs = neighbours.to_vec();
        let number = number.times(half);
        found.push(ordered(assembly, vertex, term, RESULT, inputs, number)?);
    }
    Ok(found)
}

/// Numbers of the model's vertices: three gluons, four gluons, and those of the line.
pub(super) struct Vertices {
    three_gluon: u32,
    four_gluon: u32,
    line: Option<Quarks>,
}

impl Vertices {
    /// The numbers of all these vertices.
    pub fn numbers(&self) -> Vec<u32> {
        numbers(self.three_gluon, self.four_gluon, self.line.as_ref())
    }
}

fn numbers(three_gluon: u32, four_gluon: u32, line: Option<&Quarks>) -> Vec<u32> {
    let mut numbers = vec![three_gluon, four_gluon];
    if let Some(line) = line {
        numbers.extend(&line.gluon);
        let of_vectors = line.vectors.iter().flat_map(|(vertices, _)| vertices);
        numbers.extend(of_vectors);
    }
    numbers
}

/// The vertices of a quark line, by their numbers in the model and as ordered vertices from its head on.
struct Quarks {
    /// The numbers of the gluon vertices, before and after the boson.
    gluon: Vec<u32>,
    vertex: OrderedVertex,
    /// The vertices of each colour-singlet vector.
    vectors: Vec<(Vec<u32>, Exchange)>,
}

impl Quarks {
    /// Finds the vertices of a line between these outgoing quarks.
    fn find(
        assembly: &mut Assembly,
        gluon: ParticleId,
        [head, tail]: [ParticleId; 2],
        boson: Option<&Colorless>,
        possible: &Possible,
    ) -> Result<Option<Quarks>, String> {
        let model = assembly.model();
        let mut of_gluon =
            |head: ParticleId, tail: ParticleId| match possible.only(model, &[gluon, head, tail]) {
                Some(v) => Ok(line_vertex(assembly, v, [head, tail], &[0, 1, ROOT_LABEL])?
                    .map(|vertex| (v, vertex))),
                None => Ok::<_, String>(None),
            };
        let Some((gluon, vertex)) = of_gluon(head, model.anti(head))? else {
            return Ok(None);
        };
        let mut line = Quarks {
            gluon: vec![gluon],
            vertex,
            vectors: Vec::new(),
        };
        let Some(Colorless { vectors, pair, .. }) = boson else {
            return Ok(Some(line));
        };
        // After the boson, the line may be that of another quark.
        let behind = of_gluon(model.anti(tail), tail)?;
        match behind {
            Some((number, other)) if other == line.vertex => line.gluon.push(number),
            _ => return Ok(None),
        }
        for &vector in vectors {
            let Some(number) = possible.only(model, &[vector, head, tail]) else {
                return Ok(None);
            };
            let Some(taken) = line_vertex(assembly, number, [head, tail], &[0, ROOT_LABEL])? else {
                return Ok(None);
            };
            let made = match pair {
                Some(pair) => match of_pair(assembly, *pair, vector, possible)? {
                    Some(made) => Some(made),
                    None => return Ok(None),
                },
                None => None,
            };
            let (numbers, made) = match made {
                Some((other, made)) => (vec![number, other], Some(made)),
                None => (vec![number], None),
            };
            line.vectors.push((numbers, Exchange { made, taken }));
        }
        Ok(Some(line))
    }
}

/// The vertex of two colour-singlet particles that annihilate into a vector, and its number.
fn of_pair(
    assembly: &mut Assembly,
    pair: [ParticleId; 2],
    vector: ParticleId,
    possible: &Possible,
) -> Result<Option<(u32, OrderedVertex)>, String> {
    let model = assembly.model();
    let result = model.anti(vector);
    let Some(number) = possible.only(model, &[pair[0], pair[1], result]) else {
        return Ok(None);
    };
    let interaction = &model.vertices[number as usize];
    let place = |p: ParticleId| interaction.particles.iter().position(|x| *x == p);
    let (Some(first), Some(second), Some(result)) = (place(pair[0]), place(pair[1]), place(result))
    else {
        return Ok(None);
    };
    if first == second || interaction.terms.len() != 1 {
        return Ok(None);
    }
    let tree = assembly.color(number, 0)?.grow(&[], Some(result))?;
    let Some((_, color)) = tree.flows().iter().find(|(s, _)| *s == Strings::ONE) else {
        return Ok(None);
    };
    let inputs = if first < second {
        vec![0, 1]
    } else {
        vec![1, 0]
    };
    let made = ordered(assembly, number, 0, result, inputs, *color);
    Ok(Some((number, made?)))
}

/// A vertex that continues a line from one quark to another, whose colour is the string of these labels.
fn line_vertex(
    assembly: &mut Assembly,
    vertex: u32,
    [head, tail]: [ParticleId; 2],
    labels: &[Label],
) -> Result<Option<OrderedVertex>, String> {
    let model = assembly.model();
    let particles = &model.vertices[vertex as usize].particles;
    let place = |p: ParticleId| particles.iter().position(|x| *x == p);
    let (Some(head), Some(result)) = (place(head), place(tail)) else {
        return Ok(None);
    };
    let vector = 3 - head - result;
    if model.vertices[vertex as usize].terms.len() != 1 {
        return Ok(None);
    }
    let children = [(head, Child::Leg(0)), (vector, Child::Leg(1))];
    let color = assembly.color(vertex, 0)?;
    let Some(number) = coefficient(&color, &children, result, false, labels)? else {
        return Ok(None);
    };
    let inputs = if head < vector {
        vec![0, 1]
    } else {
        vec![1, 0]
    };
    ordered(assembly, vertex, 0, result, inputs, number).map(Some)
}

/// The coefficient of a string or trace in the colour of a vertex.
fn coefficient(
    color: &VertexColor,
    children: &[(usize, Child)],
    result: usize,
    trace: bool,
    labels: &[Label],
) -> Result<Option<Number>, String> {
    let tree = color.grow(children, Some(result))?;
    let wanted = Strings::new(trace, labels).map_err(|_| "a vertex is too large")?;
    let mut terms = tree.flows().iter();
    Ok(terms.find(|(s, _)| *s == wanted).map(|(_, n)| *n))
}

fn ordered(
    assembly: &mut Assembly,
    vertex: u32,
    term: usize,
    result: usize,
    inputs: Vec<u8>,
    number: Number,
) -> Result<OrderedVertex, String> {
    let model = assembly.model();
    let interaction = model.vertex(vertex)?;
    let lorentz = &interaction.terms[term].lorentz;
    let couplings = lorentz
        .iter()
        .map(|(_, name)| assembly.coupling(name, None));
    let couplings: Vec<CouplingRef> = couplings.collect();
    let structures = lorentz.iter().map(|(l, _)| *l).collect();
    // The line flows in the direction of its vertices.
    let form = RoutineForm::plain(model, &interaction.particles, Some(result));
    let routine = assembly.routine(structures, form)?;
    let particle = model.properties(interaction.particles[result]);
    let mass: Quantity = assembly.quantity(&particle.mass);
    let width = assembly.quantity(&particle.width);
    let value = number.value()?;
    Ok(OrderedVertex {
        routine,
        inputs,
        couplings,
        mass,
        width,
        factor: (value.re, value.im),
    })
}

/// For each order of `count` labels, the product of the first order's string with its own, over a common denominator.
fn first_row<E>(
    count: usize,
    colors: i64,
    string: impl Fn(&[Label]) -> Result<Strings, E>,
) -> Result<(Vec<f64>, f64), String> {
    let of = |order: &[u8]| {
        let string = string(order).map_err(|_| "there are too many coloured particles")?;
        string.normal().ok_or("a colour flow vanishes")
    };
    let all = orders(count);
    let first = of(&all[0])?;
    let entries = all.iter().map(|order| product(&first, &of(order)?, colors));
    let entries: Vec<(i64, i64)> = entries.collect::<Result<_, String>>()?;
    over_common_denominator(&entries)
}
