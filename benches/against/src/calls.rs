//! What is timed: calls of one kind to one library, over and over with the same arrays, as event generators make them.

use crate::c::Bridge;
use crate::device::{Arrays, Device};
use crate::event_set::EventSet;
use crate::library::Library;
use crate::rows::Call;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Calls of one kind.
pub trait Calls {
    /// One call, until its answers are there.
    fn call(&mut self) -> Result<(), String>;
    /// Events of a call.
    fn events(&self) -> usize;
    /// |M|^2 of all events of the sample.
    fn answers(&mut self) -> Result<Vec<f64>, String>;
}

/// The calls of a row by one library, whose switches are set. `channels` has an entry for each event, or none.
pub fn calls<'a>(
    library: &'a Library,
    call: Call,
    event_set: &'a EventSet,
    channels: &'a [i32],
    device: Option<&'a Device>,
) -> Result<Box<dyn Calls + 'a>, String> {
    Ok(match call {
        Call::Alone | Call::Channel | Call::Mixed => {
            Box::new(Fortran::new(library, event_set, channels)?)
        }
        Call::OneEvent => Box::new(OneEvent::new(library, event_set)?),
        Call::Umami => Box::new(Umami::new(library, event_set, device)?),
    })
}

/// The symbol without which a library cannot be called in this way.
pub fn symbol(call: Call) -> &'static str {
    match call {
        Call::Alone => "fbridgesequence_nomultichannel_",
        Call::Channel | Call::Mixed => "fbridgesequence_",
        Call::OneEvent => "mebridge_one_event",
        Call::Umami => "umami_matrix_element",
    }
}

type CreateFunction = unsafe extern "C" fn(*mut i64, *const i32, *const i32, *const i32);
type DeleteFunction = unsafe extern "C" fn(*const i64);
type Sequence = unsafe extern "C" fn(
    *const i64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const i32,
    *const i32,
    *mut f64,
    *mut i32,
    *mut i32,
    *const i32,
);
type WithoutChannels = unsafe extern "C" fn(
    *const i64,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const i32,
    *mut f64,
    *mut i32,
    *mut i32,
    *const i32,
);

/// `fbridgesequence_` with igraph, or `fbridgesequence_nomultichannel_` where there are no channels. What is wrong
/// ends the program.
struct Fortran<'a> {
    event_set: &'a EventSet,
    handle: i64,
    channels: &'a [i32],
    igraph: Vec<i32>,
    elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    with_channels: Sequence,
    without: WithoutChannels,
    delete: DeleteFunction,
}

/// `.FALSE.` of Fortran.
static FALSE: i32 = 0;

impl<'a> Fortran<'a> {
    fn new(
        library: &Library,
        event_set: &'a EventSet,
        channels: &'a [i32],
    ) -> Result<Fortran<'a>, String> {
        // SAFETY: signatures of mebridge.f90.
        let (create, with_channels, without, delete): (CreateFunction, _, _, _) = unsafe {
            (
                library.function("fbridgecreate_")?,
                library.function("fbridgesequence_")?,
                library.function("fbridgesequence_nomultichannel_")?,
                library.function("fbridgedelete_")?,
            )
        };
        let events = event_set.events;
        let mut handle = 0;
        // SAFETY: pointers to numbers of these types.
        unsafe { create(&mut handle, &(events as i32), &(event_set.legs as i32), &4) };
        Ok(Fortran {
            event_set,
            handle,
            channels,
            igraph: vec![0; events],
            elements: vec![0.0; events],
            helicity: vec![0; events],
            color: vec![0; events],
            with_channels,
            without,
            delete,
        })
    }
}

impl Calls for Fortran<'_> {
    fn call(&mut self) -> Result<(), String> {
        let event_set = self.event_set;
        let [helicity, color, _] = &event_set.random;
        // SAFETY: all arrays have an entry for each event, the momenta those of all legs.
        unsafe {
            match self.channels {
                [] => (self.without)(
                    &self.handle,
                    event_set.momenta.as_ptr(),
                    event_set.g_s.as_ptr(),
                    helicity.as_ptr(),
                    color.as_ptr(),
                    self.igraph.as_ptr(),
                    self.elements.as_mut_ptr(),
                    self.helicity.as_mut_ptr(),
                    self.color.as_mut_ptr(),
                    &FALSE,
                ),
                channels => (self.with_channels)(
                    &self.handle,
                    event_set.momenta.as_ptr(),
                    event_set.g_s.as_ptr(),
                    helicity.as_ptr(),
                    color.as_ptr(),
                    channels.as_ptr(),
                    self.igraph.as_ptr(),
                    self.elements.as_mut_ptr(),
                    self.helicity.as_mut_ptr(),
                    self.color.as_mut_ptr(),
                    &FALSE,
                ),
            }
        }
        Ok(())
    }

    fn events(&self) -> usize {
        self.event_set.events
    }

    fn answers(&mut self) -> Result<Vec<f64>, String> {
        self.call()?;
        Ok(self.elements.clone())
    }
}

impl Drop for Fortran<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open.
        unsafe { (self.delete)(&self.handle) };
    }
}

type One =
    unsafe extern "C" fn(*mut c_void, *const f64, f64, bool, *mut f64, *mut f64, *mut f64) -> i32;

/// `mebridge_one_event`, with all its answers. The library remembers what it was asked last, so that each call has
/// another event than the one before.
struct OneEvent<'a> {
    library: &'a Library,
    event_set: &'a EventSet,
    bridge: Bridge<'a>,
    next: usize,
    contributions: Vec<f64>,
    amp2: Vec<f64>,
    jamp2: Vec<f64>,
    one: One,
}

impl<'a> OneEvent<'a> {
    fn new(library: &'a Library, event_set: &'a EventSet) -> Result<OneEvent<'a>, String> {
        // SAFETY: the signature of mebridge.h.
        let one = unsafe { library.function(symbol(Call::OneEvent))? };
        let bridge = Bridge::new(library, 1)?;
        let helicities = bridge.number("mebridge_helicities")?;
        Ok(OneEvent {
            library,
            event_set,
            next: 0,
            contributions: vec![0.0; helicities],
            amp2: vec![0.0; helicities * bridge.number("mebridge_diagrams")?],
            jamp2: vec![0.0; helicities * bridge.number("mebridge_colors")?],
            bridge,
            one,
        })
    }
}

impl Calls for OneEvent<'_> {
    fn call(&mut self) -> Result<(), String> {
        let event = self.next;
        self.next = (event + 1) % self.event_set.events;
        // SAFETY: the bridge is open, and the arrays have the lengths that it says.
        let status = unsafe {
            (self.one)(
                self.bridge.bridge,
                self.event_set.event(event).as_ptr(),
                self.event_set.g_s[event],
                false,
                self.contributions.as_mut_ptr(),
                self.amp2.as_mut_ptr(),
                self.jamp2.as_mut_ptr(),
            )
        };
        match status {
            0 => Ok(()),
            _ => Err(self.library.last_error()),
        }
    }

    fn events(&self) -> usize {
        1
    }

    fn answers(&mut self) -> Result<Vec<f64>, String> {
        self.next = 0;
        let mut answers = Vec::new();
        for _ in 0..self.event_set.events {
            self.call()?;
            answers.push(self.contributions.iter().sum());
        }
        Ok(answers)
    }
}

type Initialize = unsafe extern "C" fn(*mut *mut c_void, *const i8) -> i32;
type Meta = unsafe extern "C" fn(c_int, *mut c_void) -> i32;
type Free = unsafe extern "C" fn(*mut c_void) -> i32;
type MatrixElementFunction = unsafe extern "C" fn(
    *mut c_void,
    usize,
    usize,
    usize,
    usize,
    *const c_int,
    *const *const c_void,
    usize,
    *const c_int,
    *const *mut c_void,
) -> i32;

/// Inputs that MadSpace gives: momenta, alpha_s, flavour, random numbers for colour, helicity and diagram.
const INPUTS: [c_int; 6] = [0, 1, 2, 3, 4, 5];
/// Outputs that it asks for: |M|^2, squared diagrams, colour, helicity, diagram.
const OUTPUTS: [c_int; 5] = [0, 1, 2, 3, 4];
/// Those that there are without diagrams.
const WITHOUT_DIAGRAMS: [c_int; 3] = [0, 2, 3];

/// `umami_matrix_element`. On a GPU the arrays are in its memory, and the call lasts until all its work is done.
struct Umami<'a> {
    library: &'a Library,
    handle: *mut c_void,
    events: usize,
    inputs: [*const c_void; INPUTS.len()],
    output_keys: &'static [c_int],
    outputs: Vec<*mut c_void>,
    arrays: Arrays<'a>,
    device: Option<&'a Device>,
    element: MatrixElementFunction,
    free: Free,
}

impl<'a> Umami<'a> {
    fn new(
        library: &'a Library,
        event_set: &EventSet,
        device: Option<&'a Device>,
    ) -> Result<Umami<'a>, String> {
        // SAFETY: signatures of mebridge_umami.h.
        let (initialize, meta, element, free): (Initialize, Meta, _, _) = unsafe {
            (
                library.function("umami_initialize")?,
                library.function("umami_get_meta")?,
                library.function(symbol(Call::Umami))?,
                library.function("umami_free")?,
            )
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a pointer to a pointer, and no card.
        if unsafe { initialize(&mut handle, ptr::null()) } != 0 {
            return Err(library.last_error());
        }
        let mut diagrams: c_int = 0;
        // SAFETY: key 2, the number of diagrams, is an `int`.
        if unsafe { meta(2, (&raw mut diagrams).cast()) } != 0 {
            return Err(library.last_error());
        }
        let (events, legs) = (event_set.events, event_set.legs);
        // Number i of event e stands at e + events * i, and momenta at e + events * (legs * component + leg).
        let mut momenta = vec![0.0; 4 * legs * events];
        for e in 0..events {
            for (i, p) in event_set.event(e).iter().enumerate() {
                momenta[e + events * (legs * (i % 4) + i / 4)] = *p;
            }
        }
        let [helicity, color, diagram] = &event_set.random;
        let mut arrays = Arrays::new(device);
        let inputs = [
            arrays.put(&momenta)?,
            arrays.put(&event_set.alpha_s)?,
            arrays.put(&vec![0i32; events])?,
            arrays.put(color)?,
            arrays.put(helicity)?,
            arrays.put(diagram)?,
        ];
        let output_keys = match diagrams {
            0 => &WITHOUT_DIAGRAMS[..],
            _ => &OUTPUTS[..],
        };
        let mut outputs = Vec::new();
        for key in output_keys {
            outputs.push(match key {
                0 => arrays.put(&vec![0f64; events])?,
                1 => arrays.put(&vec![0f64; events * diagrams as usize])?,
                _ => arrays.put(&vec![0i32; events])?,
            });
        }
        Ok(Umami {
            library,
            handle,
            events,
            inputs: inputs.map(|input| input.cast_const()),
            output_keys,
            outputs,
            arrays,
            device,
            element,
            free,
        })
    }
}

impl Calls for Umami<'_> {
    fn call(&mut self) -> Result<(), String> {
        // SAFETY: keys and pointers are as many as their counts say, and the arrays have room for all events.
        let status = unsafe {
            (self.element)(
                self.handle,
                self.events,
                self.events,
                0,
                self.inputs.len(),
                INPUTS.as_ptr(),
                self.inputs.as_ptr(),
                self.outputs.len(),
                self.output_keys.as_ptr(),
                self.outputs.as_ptr(),
            )
        };
        match status {
            0 => self.device.map_or(Ok(()), Device::wait),
            _ => Err(self.library.last_error()),
        }
    }

    fn events(&self) -> usize {
        self.events
    }

    fn answers(&mut self) -> Result<Vec<f64>, String> {
        self.call()?;
        self.arrays.get(self.outputs[0], self.events)
    }
}

impl Drop for Umami<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open.
        unsafe { (self.free)(self.handle) };
    }
}
