//! A call of `umami_matrix_element`: its arrays are processed in chunks.
//!
//! If all events of a chunk belong to one matrix element, they are evaluated in place. If its flavour indices select
//! several, the events of each are gathered first. Arrays that the caller does not pass are buffers of the instance.

use super::matrix_elements::{Compiled, MatrixElements};
use super::{
    Answer, Refusal, UMAMI_ERROR_MISSING_INPUT, UMAMI_ERROR_NOT_IMPLEMENTED,
    UMAMI_ERROR_UNSUPPORTED_INPUT, UMAMI_ERROR_UNSUPPORTED_OUTPUT, UMAMI_IN_ALPHA_S,
    UMAMI_IN_DIAGRAM_INDEX, UMAMI_IN_FLAVOR_INDEX, UMAMI_IN_HELICITY_INDEX, UMAMI_IN_MOMENTA,
    UMAMI_IN_RANDOM_COLOR, UMAMI_IN_RANDOM_DIAGRAM, UMAMI_IN_RANDOM_HELICITY,
    UMAMI_OUT_COLOR_INDEX, UMAMI_OUT_DIAGRAM_AMP2, UMAMI_OUT_DIAGRAM_INDEX, UMAMI_OUT_GPU_STREAM,
    UMAMI_OUT_HELICITY_INDEX, UMAMI_OUT_MATRIX_ELEMENT, wrong,
};
use crate::pointers::{CallerArray, PointerAccess, check, input};
use mebridge::bridge::Sampler;
use mebridge::error::Error;
use mebridge::message::say;
use mebridge::runtime::Switches;
use mebridge::sample::{Bad, Momenta, Rows, Sample, SampleAnswers, Strides};
use std::ffi::{c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NAME: &str = "umami_matrix_element";
/// Events of a chunk: enough that the cost per chunk does not matter, and few enough that the buffers stay in the
/// cache.
const CHUNK: usize = 1024;
/// Upper bound for the length of a list of keys, each of which appears once.
const MOST_KEYS: usize = 255;
/// Random number if none is given.
const DEFAULT_RANDOM: f64 = 0.5;

/// The range of events in the arrays.
#[derive(Clone, Copy)]
pub struct EventRange {
    pub count: usize,
    pub stride: usize,
    pub offset: usize,
}

/// The arrays of a call, `None` for keys that it does not have.
pub struct Call {
    pub(super) part: EventRange,
    pub(super) momenta: *const f64,
    pub(super) alpha_s: Option<*const f64>,
    pub(super) random_color: Option<*const f64>,
    pub(super) random_helicity: Option<*const f64>,
    pub(super) random_diagram: Option<*const f64>,
    pub(super) flavor: Option<*const i32>,
    pub(super) helicity: Option<*const i32>,
    pub(super) diagram: Option<*const i32>,
    pub(super) matrix_element: Option<*mut f64>,
    pub(super) amp2: Option<*mut f64>,
    pub(super) chosen_color: Option<*mut i32>,
    pub(super) chosen_helicity: Option<*mut i32>,
    pub(super) chosen_diagram: Option<*mut i32>,
    /// The CUstream for all work; 0 if none is given.
    pub(super) stream: u64,
}

/// An array of a call with its name, to check for overlap.
struct Named {
    name: String,
    array: CallerArray,
}

impl EventRange {
    /// Describes `rows` rows of an array, each with an entry per event; `None` if they reach beyond the end of memory.
    fn of_rows<T>(
        &self,
        pointer: *const T,
        rows: usize,
        access: PointerAccess,
    ) -> Option<CallerArray> {
        let last = self.stride.checked_mul(rows.saturating_sub(1))?;
        let count = last.checked_add(self.count)?;
        let end = count.checked_add(self.offset)?;
        // No object is larger than this.
        let bytes = end.checked_mul(size_of::<T>());
        let bytes = bytes.filter(|&n| n <= isize::MAX as usize)?;
        (pointer as usize).checked_add(bytes)?;
        let first = pointer.wrapping_add(self.offset);
        Some(CallerArray::new(first, count, access))
    }
}

/// # Safety
/// Unless they are null, the lists have `count` keys and pointers.
unsafe fn lists<'a, P: Copy + 'a>(
    what: &str,
    (count, keys, pointers): (usize, *const c_int, *const P),
) -> Answer<impl Iterator<Item = (c_int, P)> + 'a> {
    let (keys, pointers): (&[c_int], &[P]) = match count {
        0 => (&[], &[]),
        _ if count > MOST_KEYS => {
            let text = format!("there are {count} {what}s; no list of keys is as long");
            return Err(wrong(NAME, text));
        }
        // SAFETY: guaranteed by the caller; null and misalignment are rejected.
        _ => unsafe {
            (
                input(NAME, &format!("the list of keys of {what}s"), keys, count)?,
                input(NAME, &format!("the list of {what}s"), pointers, count)?,
            )
        },
    };
    Ok(keys.iter().copied().zip(pointers.iter().copied()))
}

impl Call {
    /// Reads and checks the lists of keys and pointers.
    ///
    /// # Safety
    /// As for [`super::umami_matrix_element`].
    pub unsafe fn read(
        part: EventRange,
        inputs: (usize, *const c_int, *const *const c_void),
        outputs: (usize, *const c_int, *const *mut c_void),
        instance: &Instance,
    ) -> Answer<Call> {
        let elements = instance.elements;
        let mut call = Call {
            part,
            momenta: std::ptr::null(),
            alpha_s: None,
            random_color: None,
            random_helicity: None,
            random_diagram: None,
            flavor: None,
            helicity: None,
            diagram: None,
            matrix_element: None,
            amp2: None,
            chosen_color: None,
            chosen_helicity: None,
            chosen_diagram: None,
            stream: 0,
        };
        let legs = elements.legs();
        let (mut read, mut written) = (Vec::new(), Vec::new());
        let mut has_momenta = false;
        // SAFETY: guaranteed by the caller.
        for (key, pointer) in unsafe { lists("input", inputs) }? {
            let name = format!("input {key}");
            let doubles = match key {
                UMAMI_IN_MOMENTA => {
                    if pointer.is_null() && part.count > 0 {
                        continue;
                    }
                    let pointer = pointer.cast::<f64>();
                    note(
                        part,
                        name,
                        (pointer, PointerAccess::Read),
                        4 * legs,
                        has_momenta,
                        &mut read,
                    )?;
                    (call.momenta, has_momenta) = (pointer, true);
                    continue;
                }
                UMAMI_IN_FLAVOR_INDEX | UMAMI_IN_HELICITY_INDEX | UMAMI_IN_DIAGRAM_INDEX => {
                    let to = match key {
                        UMAMI_IN_FLAVOR_INDEX => &mut call.flavor,
                        UMAMI_IN_HELICITY_INDEX => &mut call.helicity,
                        _ => &mut call.diagram,
                    };
                    let pointer = pointer.cast::<i32>();
                    note(
                        part,
                        name,
                        (pointer, PointerAccess::Read),
                        1,
                        to.is_some(),
                        &mut read,
                    )?;
                    *to = Some(pointer);
                    continue;
                }
                UMAMI_IN_ALPHA_S => &mut call.alpha_s,
                UMAMI_IN_RANDOM_COLOR => &mut call.random_color,
                UMAMI_IN_RANDOM_HELICITY => &mut call.random_helicity,
                UMAMI_IN_RANDOM_DIAGRAM => &mut call.random_diagram,
                _ => {
                    return Err(Refusal::Status(
                        UMAMI_ERROR_UNSUPPORTED_INPUT,
                        crate::pointers::wrong(NAME, format!("there is no input {key}")),
                    ));
                }
            };
            let pointer = pointer.cast::<f64>();
            note(
                part,
                name,
                (pointer, PointerAccess::Read),
                1,
                doubles.is_some(),
                &mut read,
            )?;
            *doubles = Some(pointer);
        }
        if !has_momenta {
            return Err(Refusal::Status(
                UMAMI_ERROR_MISSING_INPUT,
                crate::pointers::wrong(NAME, "momenta (input 0) are missing"),
            ));
        }
        let there = elements.outputs();
        // SAFETY: guaranteed by the caller.
        for (key, pointer) in unsafe { lists("output", outputs) }? {
            let known = usize::try_from(key).ok().and_then(|key| there.get(key));
            if known != Some(&true) {
                return Err(Refusal::Status(
                    UMAMI_ERROR_UNSUPPORTED_OUTPUT,
                    crate::pointers::wrong(NAME, format!("there is no output {key}")),
                ));
            }
            if key == UMAMI_OUT_GPU_STREAM {
                // The pointer is the stream.
                call.stream = pointer as usize as u64;
                continue;
            }
            if key == UMAMI_OUT_DIAGRAM_AMP2 && !elements.writes_amp2() {
                continue;
            }
            let flows = matches!(key, UMAMI_OUT_COLOR_INDEX | UMAMI_OUT_DIAGRAM_INDEX);
            if flows && !instance.flows {
                continue;
            }
            let name = format!("output {key}");
            let place = match key {
                UMAMI_OUT_MATRIX_ELEMENT => Ok((&mut call.matrix_element, 1)),
                UMAMI_OUT_DIAGRAM_AMP2 => Ok((&mut call.amp2, elements.tables.diagrams.count)),
                UMAMI_OUT_COLOR_INDEX => Err(&mut call.chosen_color),
                UMAMI_OUT_HELICITY_INDEX => Err(&mut call.chosen_helicity),
                _ => {
                    debug_assert_eq!(key, UMAMI_OUT_DIAGRAM_INDEX);
                    Err(&mut call.chosen_diagram)
                }
            };
            match place {
                Ok((to, rows)) => {
                    let pointer = pointer.cast::<f64>();
                    let twice = to.is_some();
                    note(
                        part,
                        name,
                        (pointer.cast_const(), PointerAccess::Write),
                        rows,
                        twice,
                        &mut written,
                    )?;
                    *to = Some(pointer);
                }
                Err(to) => {
                    let pointer = pointer.cast::<i32>();
                    let twice = to.is_some();
                    note(
                        part,
                        name,
                        (pointer.cast_const(), PointerAccess::Write),
                        1,
                        twice,
                        &mut written,
                    )?;
                    *to = Some(pointer);
                }
            }
        }
        overlaps(&read, &written)?;
        if !elements.on_gpu() {
            for named in read.iter().chain(&written) {
                check(NAME, &named.name, named.array)?;
            }
        }
        Ok(call)
    }

    /// Returns whether diagrams or colours are requested.
    fn diagrams(&self) -> bool {
        self.amp2.is_some() || self.chosen_color.is_some() || self.chosen_diagram.is_some()
    }
}

/// Checks an array of a call and adds it to `arrays`.
fn note<T>(
    part: EventRange,
    name: String,
    (pointer, access): (*const T, PointerAccess),
    rows: usize,
    twice: bool,
    arrays: &mut Vec<Named>,
) -> Answer {
    if twice {
        return Err(wrong(NAME, format!("{name} is given twice")));
    }
    if part.count == 0 {
        return Ok(());
    }
    if let Some(defect) = CallerArray::new(pointer, 1, access).defect(&name, None) {
        return Err(wrong(NAME, defect));
    }
    let end = part.offset.checked_add(part.count);
    if rows > 1 && end.is_none_or(|end| end > part.stride) {
        return Err(wrong(
            NAME,
            format!(
                "the stride is {}, but {} events from {} on do not fit into it",
                part.stride, part.count, part.offset
            ),
        ));
    }
    let Some(array) = part.of_rows(pointer, rows, access) else {
        return Err(wrong(
            NAME,
            format!("{name} reaches beyond the end of memory"),
        ));
    };
    arrays.push(Named { name, array });
    Ok(())
}

/// Checks that no array that is written overlaps another array.
fn overlaps(read: &[Named], written: &[Named]) -> Answer {
    for (i, named) in written.iter().enumerate() {
        let mut others = read.iter().chain(&written[..i]);
        if let Some(other) = others.find(|other| other.array.overlaps(&named.array)) {
            return Err(wrong(
                NAME,
                format!("{} and {} overlap in memory", named.name, other.name),
            ));
        }
    }
    Ok(())
}

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
        for begin in (0..call.part.count).step_by(CHUNK) {
            let events = CHUNK.min(call.part.count - begin);
            // SAFETY: guaranteed by the caller.
            unsafe { self.chunk(call, begin, events) }?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Instance::run`]; the events are among those of the call.
    unsafe fn chunk(&mut self, call: &Call, begin: usize, events: usize) -> Answer {
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
            let count = elements.processes.len();
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
        let legs = elements.legs();
        let strides = Strides {
            event: 1,
            leg: call.part.stride as isize,
            component: (call.part.stride * legs) as isize,
        };
        // SAFETY: as above; the arrays were tested to lie within the address space.
        let momenta = unsafe { Momenta::new(call.momenta.add(at), events, legs, strides) };
        let scratch = &mut self.scratch;
        if let Some(alpha_s) = call.alpha_s {
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
                momenta,
                g_s: &scratch.g_s[..events],
                random_helicity: random(call.random_helicity),
                random_color: random(call.random_color),
                random_diagram: random(call.random_diagram),
                helicity: call.helicity.map(integers),
                diagram: call.diagram.map(integers),
                diagrams: call.diagrams(),
            },
            answers: SampleAnswers {
                matrix_elements: out(
                    call.matrix_element,
                    &mut scratch.matrix_elements,
                    at,
                    events,
                ),
                helicity: out(call.chosen_helicity, &mut scratch.helicity, at, events),
                color: out(call.chosen_color, &mut scratch.color, at, events),
                diagram: out(call.chosen_diagram, &mut scratch.diagram, at, events),
                amp2,
            },
        };
        let first = flavors.map_or(0, |flavors| flavors[0]);
        let one = flavors.is_none_or(|flavors| flavors.iter().all(|&f| f == first));
        let fixed = (&mut scratch.fixed_helicity, &mut scratch.fixed_diagram);
        let samplers = &mut self.samplers;
        let said = match (one, flavors) {
            (false, Some(flavors)) => {
                let gathered = &mut self.gathered;
                let mut bad = None;
                for (element, sampler) in samplers.iter_mut().enumerate() {
                    gathered.take(flavors, element as i32, &chunk.sample);
                    let found = gathered.run(elements, element, sampler, &mut chunk, begin)?;
                    bad = bad.or(found);
                }
                bad
            }
            _ => {
                let element = first as usize;
                let found = in_place(
                    elements,
                    element,
                    &mut samplers[element],
                    chunk,
                    fixed,
                    begin,
                )?;
                found.first.map(|event| (element, event))
            }
        };
        if let Some((element, event)) = said {
            self.complain(element, begin + event, &momenta.part(event, 1));
        }
        Ok(())
    }

    /// Reports once what is wrong with an event.
    fn complain(&self, element: usize, event: usize, momenta: &Momenta) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if SAID.swap(true, Ordering::Relaxed) {
            return;
        }
        let legs = 0..momenta.legs();
        let numbers = legs.flat_map(|leg| (0..4).map(move |i| (leg, i)));
        let numbers: Vec<f64> = numbers.map(|(leg, i)| momenta.get(0, leg, i)).collect();
        let what = self.compiled.what_is_wrong(element, &numbers, event);
        say(format_args!(
            "{NAME}: {what}. The matrix element of such an event is NaN (this is said once)"
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

/// Returns g_s for events without alpha_s.
pub(super) fn default_g_s(elements: &MatrixElements, compiled: &Compiled) -> f64 {
    crate::default_g_s(&elements.processes[0].model, &compiled.cards()[0])
}

fn no_parameter(function: &'static str, name: &str) -> Refusal {
    Refusal::Status(
        UMAMI_ERROR_NOT_IMPLEMENTED,
        crate::pointers::wrong(
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
) -> Result<Bad, Error> {
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
    let mut own = answers.amp2.take();
    let bad = sampler.run(
        &sample,
        SampleAnswers {
            matrix_elements: answers.matrix_elements,
            helicity: answers.helicity,
            color: answers.color,
            diagram: answers.diagram,
            amp2: own
                .as_mut()
                .map(|rows| rows.some(ranges.diagrams.0, ranges.diagrams.1)),
        },
    )?;
    for (indices, first) in [
        (answers.helicity, ranges.helicities.0),
        (answers.color, ranges.colors),
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
    /// Gathers the events of one matrix element from a chunk.
    fn take(&mut self, flavors: &[i32], element: i32, sample: &Sample) {
        self.events.clear();
        let mine = flavors.iter().enumerate().filter(|(_, f)| **f == element);
        self.events.extend(mine.map(|(event, _)| event));
        self.momenta.clear();
        for &event in &self.events {
            for leg in 0..sample.momenta.legs() {
                let p = |i: usize| sample.momenta.get(event, leg, i);
                self.momenta.extend([p(0), p(1), p(2), p(3)]);
            }
        }
        let from = [
            sample.g_s,
            sample.random_helicity,
            sample.random_color,
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
                momenta: Momenta::rows(&self.momenta, chunk.sample.momenta.legs()),
                g_s,
                random_helicity,
                random_color,
                random_diagram,
                helicity: chunk.sample.helicity.map(|_| &fixed_helicity[..]),
                diagram: chunk.sample.diagram.map(|_| &fixed_diagram[..]),
                diagrams: chunk.sample.diagrams,
            },
            SampleAnswers {
                matrix_elements: &mut self.matrix_elements,
                helicity,
                color,
                diagram,
                amp2: chunk.answers.amp2.is_some().then_some(rows),
            },
        )?;
        let answers = &mut chunk.answers;
        for (i, &event) in self.events.iter().enumerate() {
            answers.matrix_elements[event] = self.matrix_elements[i];
            answers.helicity[event] = helicity[i] + ranges.helicities.0 as i32;
            answers.color[event] = color[i] + ranges.colors as i32;
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
