//! The arrays of a call of `umami_matrix_element`, checked.

use super::matrix_elements::MatrixElements;
use super::{
    Answer, Refusal, UMAMI_ERROR_MISSING_INPUT, UMAMI_ERROR_UNSUPPORTED_INPUT,
    UMAMI_ERROR_UNSUPPORTED_OUTPUT, UMAMI_IN_ALPHA_S, UMAMI_IN_DIAGRAM_INDEX,
    UMAMI_IN_FLAVOR_INDEX, UMAMI_IN_G_STRONG, UMAMI_IN_HELICITY_INDEX, UMAMI_IN_MOMENTA,
    UMAMI_IN_RANDOM_COLOR, UMAMI_IN_RANDOM_DIAGRAM, UMAMI_IN_RANDOM_HELICITY,
    UMAMI_OUT_COLOR_INDEX, UMAMI_OUT_DIAGRAM_AMP2, UMAMI_OUT_DIAGRAM_INDEX, UMAMI_OUT_GPU_STREAM,
    UMAMI_OUT_HELICITY_INDEX, UMAMI_OUT_MATRIX_ELEMENT, UMAMI_OUT_SQUARED_ORDERS, wrong,
};
use crate::pointers::{CallerArray, PointerAccess, check, input};
use std::ffi::{c_int, c_void};

/// Name of the function in messages.
pub(super) const NAME: &str = "umami_matrix_element";
/// Upper bound for the length of a list of keys, each of which appears once.
const MAX_KEYS: usize = 255;

/// The range of events in the arrays.
#[derive(Clone, Copy)]
pub struct EventRange {
    pub count: usize,
    pub stride: usize,
    pub offset: usize,
}

/// The arrays of a call, `None` for keys that it does not have.
#[derive(Clone, Copy)]
pub struct Call {
    pub(super) part: EventRange,
    pub(super) momenta: *const f64,
    pub(super) alpha_s: Option<*const f64>,
    pub(super) g_s: Option<*const f64>,
    pub(super) random_color: Option<*const f64>,
    pub(super) random_helicity: Option<*const f64>,
    pub(super) random_diagram: Option<*const f64>,
    pub(super) flavor: Option<*const i32>,
    pub(super) helicity: Option<*const i32>,
    pub(super) diagram: Option<*const i32>,
    pub(super) matrix_element: Option<*mut f64>,
    pub(super) squared_orders: Option<*mut f64>,
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
        _ if count > MAX_KEYS => {
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
    /// Reads and checks the lists of keys and pointers of a call for an instance of these matrix elements; `has_flows` says
    /// whether it draws colour flows and diagrams.
    ///
    /// # Safety
    /// As for [`super::umami_matrix_element`].
    pub unsafe fn read(
        part: EventRange,
        inputs: (usize, *const c_int, *const *const c_void),
        outputs: (usize, *const c_int, *const *mut c_void),
        elements: &MatrixElements,
        has_flows: bool,
    ) -> Answer<Call> {
        let mut call = Call {
            part,
            momenta: std::ptr::null(),
            alpha_s: None,
            g_s: None,
            random_color: None,
            random_helicity: None,
            random_diagram: None,
            flavor: None,
            helicity: None,
            diagram: None,
            matrix_element: None,
            squared_orders: None,
            amp2: None,
            chosen_color: None,
            chosen_helicity: None,
            chosen_diagram: None,
            stream: 0,
        };
        // SAFETY: guaranteed by the caller.
        let inputs = unsafe { lists("input", inputs) }?;
        let read = call.read_inputs(inputs, elements)?;
        // SAFETY: guaranteed by the caller.
        let outputs = unsafe { lists("output", outputs) }?;
        let written = call.read_outputs(outputs, elements, has_flows)?;
        overlaps(&read, &written)?;
        if !elements.on_gpu() {
            for named in read.iter().chain(&written) {
                check(NAME, &named.name, named.array)?;
            }
        }
        Ok(call)
    }

    /// Notes the inputs, and returns their arrays.
    fn read_inputs(
        &mut self,
        inputs: impl Iterator<Item = (c_int, *const c_void)>,
        elements: &MatrixElements,
    ) -> Answer<Vec<Named>> {
        let part = self.part;
        let (mut read, mut has_momenta) = (Vec::new(), false);
        for (key, pointer) in inputs {
            let name = format!("input {key}");
            let doubles = match key {
                UMAMI_IN_MOMENTA => {
                    if pointer.is_null() && part.count > 0 {
                        continue;
                    }
                    let pointer = pointer.cast::<f64>();
                    let access = (pointer, PointerAccess::Read);
                    note(
                        part,
                        name,
                        access,
                        4 * elements.legs(),
                        has_momenta,
                        &mut read,
                    )?;
                    (self.momenta, has_momenta) = (pointer, true);
                    continue;
                }
                UMAMI_IN_FLAVOR_INDEX | UMAMI_IN_HELICITY_INDEX | UMAMI_IN_DIAGRAM_INDEX => {
                    let to = match key {
                        UMAMI_IN_FLAVOR_INDEX => &mut self.flavor,
                        UMAMI_IN_HELICITY_INDEX => &mut self.helicity,
                        _ => &mut self.diagram,
                    };
                    let pointer = pointer.cast::<i32>();
                    let access = (pointer, PointerAccess::Read);
                    note(part, name, access, 1, to.is_some(), &mut read)?;
                    *to = Some(pointer);
                    continue;
                }
                UMAMI_IN_ALPHA_S => &mut self.alpha_s,
                UMAMI_IN_G_STRONG if !elements.on_gpu() => &mut self.g_s,
                UMAMI_IN_RANDOM_COLOR => &mut self.random_color,
                UMAMI_IN_RANDOM_HELICITY => &mut self.random_helicity,
                UMAMI_IN_RANDOM_DIAGRAM => &mut self.random_diagram,
                _ => {
                    return Err(Refusal::Status(
                        UMAMI_ERROR_UNSUPPORTED_INPUT,
                        crate::pointers::argument_error(NAME, format!("there is no input {key}")),
                    ));
                }
            };
            let pointer = pointer.cast::<f64>();
            let access = (pointer, PointerAccess::Read);
            note(part, name, access, 1, doubles.is_some(), &mut read)?;
            *doubles = Some(pointer);
        }
        if !has_momenta {
            return Err(Refusal::Status(
                UMAMI_ERROR_MISSING_INPUT,
                crate::pointers::argument_error(NAME, "momenta (input 0) are missing"),
            ));
        }
        Ok(read)
    }

    /// Notes the outputs, and returns their arrays.
    fn read_outputs(
        &mut self,
        outputs: impl Iterator<Item = (c_int, *mut c_void)>,
        elements: &MatrixElements,
        has_flows: bool,
    ) -> Answer<Vec<Named>> {
        let (part, there) = (self.part, elements.outputs());
        let mut written = Vec::new();
        for (key, pointer) in outputs {
            let known = usize::try_from(key).ok().and_then(|key| there.get(key));
            if known != Some(&true) {
                return Err(Refusal::Status(
                    UMAMI_ERROR_UNSUPPORTED_OUTPUT,
                    crate::pointers::argument_error(NAME, format!("there is no output {key}")),
                ));
            }
            if key == UMAMI_OUT_GPU_STREAM {
                // The pointer is the stream.
                self.stream = pointer as usize as u64;
                continue;
            }
            if key == UMAMI_OUT_DIAGRAM_AMP2 && !elements.writes_amp2() {
                continue;
            }
            let flows = matches!(key, UMAMI_OUT_COLOR_INDEX | UMAMI_OUT_DIAGRAM_INDEX);
            if flows && !has_flows {
                continue;
            }
            let name = format!("output {key}");
            let place = match key {
                UMAMI_OUT_MATRIX_ELEMENT => Ok((&mut self.matrix_element, 1)),
                UMAMI_OUT_SQUARED_ORDERS => Ok((&mut self.squared_orders, elements.squared_orders)),
                UMAMI_OUT_DIAGRAM_AMP2 => Ok((&mut self.amp2, elements.tables.diagrams.count)),
                UMAMI_OUT_COLOR_INDEX => Err(&mut self.chosen_color),
                UMAMI_OUT_HELICITY_INDEX => Err(&mut self.chosen_helicity),
                _ => {
                    debug_assert_eq!(key, UMAMI_OUT_DIAGRAM_INDEX);
                    Err(&mut self.chosen_diagram)
                }
            };
            match place {
                Ok((to, rows)) => {
                    let pointer = pointer.cast::<f64>();
                    let access = (pointer.cast_const(), PointerAccess::Write);
                    note(part, name, access, rows, to.is_some(), &mut written)?;
                    *to = Some(pointer);
                }
                Err(to) => {
                    let pointer = pointer.cast::<i32>();
                    let access = (pointer.cast_const(), PointerAccess::Write);
                    note(part, name, access, 1, to.is_some(), &mut written)?;
                    *to = Some(pointer);
                }
            }
        }
        Ok(written)
    }

    /// Returns whether diagrams or colours are requested.
    pub(super) fn diagrams(&self) -> bool {
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
