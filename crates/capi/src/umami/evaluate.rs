//! A call of `umami_matrix_element`: its arrays are processed in chunks.
//!
//! If all events of a chunk belong to one matrix element, they are evaluated in place. If its flavour indices select
//! several, the events of each are gathered first. Arrays that the caller does not pass are buffers of the instance.

use super::call::{Call, NAME};
use super::matrix_elements::{Compiled, MatrixElements, default_g_s};
use super::{Answer, Refusal, UMAMI_ERROR_NOT_IMPLEMENTED, wrong};
use mebridge::bridge::Sampler;
use mebridge::error::Error;
use mebridge::message::say;
use mebridge::runtime::Switches;
use mebridge::sample::{BadEvents, Momenta, Outputs, Points, Rows, Sample, SampleAnswers, Strides};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events of a chunk: enough that the cost per chunk does not matter, and few enough that the buffers stay in the
/// cache.
const CHUNK: usize = 1024;
/// Random number if none is given.
const DEFAULT_RANDOM: f64 = 0.5;

/// An instance, used by one thread at a time.
pub struct Instance {
    elements: &'static MatrixElements,
    /// Whether colour flows and diagrams are drawn.
    flows: bool,
    compiled: Arc<Compiled>,
    samplers: Vec<Sampler>,
    scratch: ChunkBuffers,
    flavors: Vec<i32>,
    gathered: Gathered,
}

/// Arrays of a chunk that the caller does not pass.
struct ChunkBuffers {
    g_s: Vec<f64>,
    random: Vec<f64>,
    matrix_elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    diagram: Vec<i32>,
    fixed_helicity: Vec<i32>,
    fixed_diagram: Vec<i32>,
}

/// Events of one matrix element, gathered from a chunk with several.
#[derive(Default)]
struct Gathered {
    events: Vec<usize>,
    momenta: Vec<f64>,
    doubles: [Vec<f64>; 4],
    matrix_elements: Vec<f64>,
    integers: [Vec<i32>; 5],
    amp2: Vec<f64>,
}

/// A chunk of a call as slices.
struct Chunk<'a> {
    sample: Sample<'a>,
    answers: SampleAnswers<'a>,
}

/// Creates the samplers of a thread; none if a GPU evaluates.
fn of_thread(elements: &MatrixElements, compiled: &Compiled) -> mebridge::Result<Vec<Sampler>> {
    match elements.on_gpu() {
        true => Ok(Vec::new()),
        false => compiled.samplers(),
    }
}

impl Instance {
    /// The matrix elements that it evaluates.
    pub fn elements(&self) -> &'static MatrixElements {
        self.elements
    }

    /// Returns whether colour flows and diagrams are drawn.
    pub fn has_flows(&self) -> bool {
        self.flows
    }

    pub fn new(
        elements: &'static MatrixElements,
        compiled: Arc<Compiled>,
    ) -> mebridge::Result<Instance> {
        Ok(Instance {
            samplers: of_thread(elements, &compiled)?,
            // Set per instance: another one of the same library may draw them.
            flows: Switches::from_env()?.flows,
            elements,
            compiled,
            scratch: ChunkBuffers {
                g_s: vec![0.0; CHUNK],
                random: vec![DEFAULT_RANDOM; CHUNK],
                matrix_elements: vec![0.0; CHUNK],
                helicity: vec![0; CHUNK],
                color: vec![0; CHUNK],
                diagram: vec![0; CHUNK],
                fixed_helicity: vec![0; CHUNK],
                fixed_diagram: vec![0; CHUNK],
            },
            flavors: vec![0; CHUNK],
            gathered: Gathered::default(),
        })
    }

    /// Evaluates the events of a call.
    ///
    /// # Safety
    /// The arrays of the call are as their keys require.
    pub unsafe fn run(&mut self, call: &Call) -> Answer {
        if self.elements.on_gpu() {
            // SAFETY: guaranteed by the caller.
            return unsafe { super::device::run(self.elements, &self.compiled, call) };
        }
        let orders = self.elements.squared_orders;
        // Otherwise the matrix element is written as such.
        let adds = orders > 1 || call.squared_orders.is_some();
        for begin in (0..call.part.count).step_by(CHUNK) {
            let events = CHUNK.min(call.part.count - begin);
            let at = call.part.offset + begin;
            for order in 0..orders {
                let row = |rows: *mut f64| rows.wrapping_add(order * call.part.stride);
                let squared = call.squared_orders.map(row);
                let part = Call {
                    matrix_element: squared.or(call.matrix_element.filter(|_| !adds)),
                    ..*call
                };
                // SAFETY: guaranteed by the caller.
                unsafe { self.chunk(&part, order, begin, events) }?;
                let Some(sum) = call.matrix_element.filter(|_| adds) else {
                    continue;
                };
                // SAFETY: guaranteed by the caller; no output overlaps another array.
                let sum = unsafe { from_raw_parts_mut(sum.add(at), events) };
                let terms = match squared {
                    // SAFETY: as above.
                    Some(row) => unsafe { from_raw_parts(row.add(at).cast_const(), events) },
                    None => &self.scratch.matrix_elements[..events],
                };
                for (sum, term) in sum.iter_mut().zip(terms) {
                    *sum = if order == 0 { *term } else { *sum + term };
                }
            }
        }
        Ok(())
    }

    /// Evaluates events of one squared order.
    ///
    /// # Safety
    /// As for [`Instance::run`]; the events are among those of the call.
    #[expect(clippy::too_many_lines, reason = "one call, array by array")]
    unsafe fn chunk(&mut self, call: &Call, order: usize, begin: usize, events: usize) -> Answer {
        let at = call.part.offset + begin;
        // SAFETY: guaranteed by the caller, here and below.
        let doubles = |from: *const f64| unsafe { from_raw_parts(from.add(at), events) };
        // SAFETY: as above.
        let integers = |from: *const i32| unsafe { from_raw_parts(from.add(at), events) };
        let elements = self.elements;
        // The values used must be the values checked, even if another thread of the caller writes to the array.
        let flavors = call.flavor.map(integers).map(|given| {
            let own = &mut self.flavors[..events];
            own.copy_from_slice(given);
            &*own
        });
        if let Some(flavors) = flavors {
            let count = elements.flavors();
            let outside = |&i: &i32| i < 0 || i as usize >= count;
            if let Some(event) = flavors.iter().position(outside) {
                return Err(Refusal::Error(Error::NoSuchIndex {
                    what: "flavour",
                    event: begin + event,
                    index: flavors[event],
                    count,
                }));
            }
        }
        let element = |flavor: i32| elements.element(flavor as usize, order);
        let legs = elements.legs();
        let strides = Strides {
            event: 1,
            leg: call.part.stride as isize,
            component: (call.part.stride * legs) as isize,
        };
        // SAFETY: as above; the arrays were tested to lie within the address space.
        let momenta = unsafe { Momenta::new(call.momenta.add(at), events, legs, strides) };
        let scratch = &mut self.scratch;
        if let Some(g_s) = call.g_s {
            scratch.g_s[..events].copy_from_slice(doubles(g_s));
        } else if let Some(alpha_s) = call.alpha_s {
            for (g_s, alpha_s) in scratch.g_s.iter_mut().zip(doubles(alpha_s)) {
                *g_s = mebridge::sample::g_s(*alpha_s);
            }
        } else {
            let g_s = default_g_s(elements, &self.compiled);
            scratch.g_s[..events].fill(g_s);
        }
        let random = |given: Option<*const f64>| given.map_or(&scratch.random[..events], doubles);
        fn out<T>(given: Option<*mut T>, own: &mut [T], at: usize, events: usize) -> &mut [T] {
            match given {
                // SAFETY: guaranteed by the caller; no output overlaps another array.
                Some(to) => unsafe { from_raw_parts_mut(to.add(at), events) },
                None => &mut own[..events],
            }
        }
        // SAFETY: as above; the stride was tested.
        let amp2 = call.amp2.map(|to| unsafe {
            Rows::new(
                to.add(at),
                events,
                elements.tables.diagrams.count,
                call.part.stride,
            )
        });
        let mut chunk = Chunk {
            sample: Sample {
                points: Points {
                    momenta,
                    g_s: &scratch.g_s[..events],
                    random_helicity: random(call.random_helicity),
                    random_color: random(call.random_color),
                },
                random_diagram: random(call.random_diagram),
                helicity: call.helicity.map(integers),
                diagram: call.diagram.map(integers),
                diagrams: call.diagrams(),
            },
            answers: SampleAnswers {
                outputs: Outputs {
                    matrix_elements: out(
                        call.matrix_element,
                        &mut scratch.matrix_elements,
                        at,
                        events,
                    ),
                    helicity: out(call.chosen_helicity, &mut scratch.helicity, at, events),
                    color: out(call.chosen_color, &mut scratch.color, at, events),
                },
                diagram: out(call.chosen_diagram, &mut scratch.diagram, at, events),
                amp2,
            },
        };
        let first = flavors.map_or(0, |flavors| flavors[0]);
        let one = flavors.is_none_or(|flavors| flavors.iter().all(|&f| f == first));
        let fixed = (&mut scratch.fixed_helicity, &mut scratch.fixed_diagram);
        let samplers = &mut self.samplers;
        let text = match (one, flavors) {
            (false, Some(flavors)) => {
                let gathered = &mut self.gathered;
                let mut bad = None;
                for flavor in 0..elements.flavors() as i32 {
                    gathered.take(flavors, flavor, &chunk.sample);
                    let Some(element) = element(flavor) else {
                        for &event in &gathered.events {
                            chunk.answers.outputs.matrix_elements[event] = 0.0;
                        }
                        continue;
                    };
                    let sampler = &mut samplers[element];
                    let found = gathered.run(elements, element, sampler, &mut chunk, begin)?;
                    bad = bad.or(found);
                }
                bad
            }
            _ => match element(first) {
                Some(element) => {
                    let sampler = &mut samplers[element];
                    let found = in_place(elements, element, sampler, chunk, fixed, begin)?;
                    found.first.map(|event| (element, event))
                }
                // An order among several, of which only the value is written.
                None => {
                    chunk.answers.outputs.matrix_elements.fill(0.0);
                    None
                }
            },
        };
        if let Some((element, event)) = text {
            self.complain(element, begin + event, &momenta.part(event, 1));
        }
        Ok(())
    }

    /// Reports once what is wrong with an event.
    fn complain(&self, element: usize, event: usize, momenta: &Momenta) {
        static ANNOUNCED: AtomicBool = AtomicBool::new(false);
        if ANNOUNCED.swap(true, Ordering::Relaxed) {
            return;
        }
        let what = (self.compiled).momentum_error(element, &momenta.to_rows(), event);
        say(format_args!(
            "{NAME}: {what}. The matrix element of such an event is NaN (reported once)"
        ));
    }

    /// Sets a parameter of the card.
    pub fn set_parameter(&mut self, name: &str, value: f64) -> Answer {
        if !value.is_finite() {
            return Err(wrong(
                "umami_set_parameter",
                format!("{name} cannot be {value}"),
            ));
        }
        let mut cards = self.compiled.cards().to_vec();
        let mut found = false;
        for (process, card) in self.elements.processes.iter().zip(&mut cards) {
            if let Some(i) = process.model.card_parameter(name) {
                (card[i], found) = (value, true);
            }
        }
        if !found {
            return Err(no_parameter("umami_set_parameter", name));
        }
        let compiled = self.elements.compiled(cards)?;
        self.samplers = of_thread(self.elements, &compiled)?;
        self.compiled = compiled;
        Ok(())
    }

    /// Returns a parameter of the card.
    pub fn parameter(&self, name: &str) -> Answer<f64> {
        let cards = self.elements.processes.iter().zip(self.compiled.cards());
        let mut values =
            cards.filter_map(|(process, card)| Some(card[process.model.card_parameter(name)?]));
        values
            .next()
            .ok_or_else(|| no_parameter("umami_get_parameter", name))
    }
}

fn no_parameter(function: &'static str, name: &str) -> Refusal {
    Refusal::Status(
        UMAMI_ERROR_NOT_IMPLEMENTED,
        crate::pointers::argument_error(
            function,
            format!("this process has no parameter {name} in its card"),
        ),
    )
}

/// Converts the caller's index to the index within a matrix element, whose range begins at `first` and has `count`
/// entries.
fn own_index(
    what: &'static str,
    index: i32,
    (first, count): (usize, usize),
    event: usize,
) -> Result<i32, Error> {
    let own = i64::from(index) - first as i64;
    if (0..count as i64).contains(&own) {
        return Ok(own as i32);
    }
    Err(Error::NoSuchIndex {
        what,
        event,
        index,
        count: first + count,
    })
}

/// Evaluates a chunk of one matrix element in place.
fn in_place(
    elements: &MatrixElements,
    element: usize,
    sampler: &mut Sampler,
    chunk: Chunk,
    fixed: (&mut Vec<i32>, &mut Vec<i32>),
    begin: usize,
) -> Result<BadEvents, Error> {
    let Chunk {
        mut sample,
        mut answers,
    } = chunk;
    let ranges = Ranges::new(elements, element);
    fn own<'a>(
        what: &'static str,
        given: Option<&[i32]>,
        to: &'a mut [i32],
        range: (usize, usize),
        begin: usize,
    ) -> Result<Option<&'a [i32]>, Error> {
        let Some(given) = given else {
            return Ok(None);
        };
        for (i, (to, &index)) in to.iter_mut().zip(given).enumerate() {
            *to = own_index(what, index, range, begin + i)?;
        }
        Ok(Some(&to[..given.len()]))
    }
    sample.helicity = own(
        "helicity",
        sample.helicity,
        fixed.0,
        ranges.helicities,
        begin,
    )?;
    sample.diagram = own("diagram", sample.diagram, fixed.1, ranges.diagrams, begin)?;
    if let Some(rows) = &mut answers.amp2 {
        let (first, count) = ranges.diagrams;
        for row in (0..first).chain(first + count..rows.count()) {
            rows.row(row).fill(0.0);
        }
    }
    let rows = answers.amp2.as_mut();
    let own = SampleAnswers {
        outputs: answers.outputs.part(0, sample.points.count()),
        diagram: &mut *answers.diagram,
        amp2: rows.map(|rows| rows.range(ranges.diagrams.0, ranges.diagrams.1)),
    };
    let bad = sampler.run(&sample, own)?;
    for (indices, first) in [
        (answers.outputs.helicity, ranges.helicities.0),
        (answers.outputs.color, ranges.colors),
        (answers.diagram, ranges.diagrams.0),
    ] {
        if first > 0 {
            indices.iter_mut().for_each(|index| *index += first as i32);
        }
    }
    Ok(bad)
}

/// Ranges of a matrix element in the library's tables: (first, count), and the first colour flow.
struct Ranges {
    helicities: (usize, usize),
    diagrams: (usize, usize),
    colors: usize,
}

impl Ranges {
    fn new(elements: &MatrixElements, element: usize) -> Ranges {
        let (process, tables) = (&elements.processes[element], &elements.tables);
        Ranges {
            helicities: (tables.helicities.first[element], process.helicities.len()),
            diagrams: (tables.diagrams.first[element], process.diagrams as usize),
            colors: tables.colors.first[element],
        }
    }
}

impl Gathered {
    /// Gathers the events of one flavour index from a chunk.
    fn take(&mut self, flavors: &[i32], flavor: i32, sample: &Sample) {
        self.events.clear();
        let mine = flavors.iter().enumerate().filter(|(_, f)| **f == flavor);
        self.events.extend(mine.map(|(event, _)| event));
        self.momenta.clear();
        for &event in &self.events {
            for leg in 0..sample.points.momenta.legs() {
                let p = |i: usize| sample.points.momenta.get(event, leg, i);
                self.momenta.extend([p(0), p(1), p(2), p(3)]);
            }
        }
        let from = [
            sample.points.g_s,
            sample.points.random_helicity,
            sample.points.random_color,
            sample.random_diagram,
        ];
        for (to, from) in self.doubles.iter_mut().zip(from) {
            to.clear();
            to.extend(self.events.iter().map(|&event| from[event]));
        }
    }

    /// Evaluates the gathered events and scatters the results. Returns the matrix element and the index in the chunk of
    /// the first bad event.
    fn run(
        &mut self,
        elements: &MatrixElements,
        element: usize,
        sampler: &mut Sampler,
        chunk: &mut Chunk,
        begin: usize,
    ) -> Result<Option<(usize, usize)>, Error> {
        let ranges = Ranges::new(elements, element);
        let count = self.events.len();
        if count == 0 {
            return Ok(None);
        }
        let [helicity, color, diagram, fixed_helicity, fixed_diagram] = &mut self.integers;
        for (what, given, to, range) in [
            (
                "helicity",
                chunk.sample.helicity,
                &mut *fixed_helicity,
                ranges.helicities,
            ),
            (
                "diagram",
                chunk.sample.diagram,
                &mut *fixed_diagram,
                ranges.diagrams,
            ),
        ] {
            to.clear();
            for &event in self.events.iter().filter(|_| given.is_some()) {
                let index = given.map_or(0, |given| given[event]);
                to.push(own_index(what, index, range, begin + event)?);
            }
        }
        for to in [&mut *helicity, &mut *color, &mut *diagram] {
            to.resize(count, 0);
        }
        self.matrix_elements.resize(count, 0.0);
        self.amp2.resize(count * ranges.diagrams.1, 0.0);
        let [g_s, random_helicity, random_color, random_diagram] = &self.doubles;
        // SAFETY: `amp2` was resized to these rows above.
        let rows = unsafe { Rows::new(self.amp2.as_mut_ptr(), count, ranges.diagrams.1, count) };
        let bad = sampler.run(
            &Sample {
                points: Points {
                    momenta: Momenta::rows(&self.momenta, chunk.sample.points.momenta.legs()),
                    g_s,
                    random_helicity,
                    random_color,
                },
                random_diagram,
                helicity: chunk.sample.helicity.map(|_| &fixed_helicity[..]),
                diagram: chunk.sample.diagram.map(|_| &fixed_diagram[..]),
                diagrams: chunk.sample.diagrams,
            },
            SampleAnswers {
                outputs: Outputs {
                    matrix_elements: &mut self.matrix_elements,
                    helicity,
                    color,
                },
                diagram,
                amp2: chunk.answers.amp2.is_some().then_some(rows),
            },
        )?;
        let answers = &mut chunk.answers;
        for (i, &event) in self.events.iter().enumerate() {
            let outputs = &mut answers.outputs;
            outputs.matrix_elements[event] = self.matrix_elements[i];
            outputs.helicity[event] = helicity[i] + ranges.helicities.0 as i32;
            outputs.color[event] = color[i] + ranges.colors as i32;
            answers.diagram[event] = diagram[i] + ranges.diagrams.0 as i32;
        }
        if let Some(rows) = &mut answers.amp2 {
            let (first, own) = ranges.diagrams;
            for row in 0..rows.count() {
                let from = row.checked_sub(first).filter(|&row| row < own);
                let to = rows.row(row);
                for (i, &event) in self.events.iter().enumerate() {
                    to[event] = from.map_or(0.0, |row| self.amp2[row * count + i]);
                }
            }
        }
        Ok(bad.first.map(|event| (element, self.events[event])))
    }
}
