//! The door of MadSpace and MadGraph7: UMAMI, their interface to matrix elements.
//!
//! The functions and numbers are those of `umami.h` of MadSpace; `include/mebridge_umami.h` is made from this file. One
//! library file stands for one process: a copy that carries it, made by `mebridge umami` ([`attached`]), or this
//! library with the process that [`mebridge::locate`] finds.
//!
//! - Arrays are component-major: number `i` of event `e` stands at `e + stride * i`, momenta at
//!   `e + stride * (legs * mu + leg)`. A call is about the events from `offset` on, `count` of them, and touches no
//!   other. All floating-point numbers are doubles, all indices 32-bit integers that count from 0.
//! - Several threads have a handle each and call at the same time; handles with the same card share what is compiled.
//! - Nothing that a caller passes is followed before it is looked at, except that a pointer other than null must point
//!   at the memory that its key asks for.
//!
//! A status is all that a caller learns. The text of an error is kept for `mebridge_last_error`, and printed on stderr
//! where the status is the unspecific one.

pub mod attached;
mod device;
mod evaluate;
pub mod matrix_elements;

use super::c::{keep_error, keep_within};
use super::pointers::{self, null, put, string};
use super::registry::Registry;
use super::survivor::Survivor;
use super::{no_panic, say_within};
pub(super) use evaluate::Instance;
use matrix_elements::{Compiled, MatrixElements};
use mebridge::bridge::Platform;
use mebridge::error::Error;
use mebridge::message::say;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

/// It is done.
pub const UMAMI_SUCCESS: i32 = 0;
/// Something is wrong; `mebridge_last_error` and stderr say what.
pub const UMAMI_ERROR: i32 = 1;
/// There is no such thing here (a GPU that can be used, parameters that are no part of the process).
pub const UMAMI_ERROR_NOT_IMPLEMENTED: i32 = 2;
/// An input that is not known.
pub const UMAMI_ERROR_UNSUPPORTED_INPUT: i32 = 3;
/// An output that is not known, or that this process does not have.
pub const UMAMI_ERROR_UNSUPPORTED_OUTPUT: i32 = 4;
/// Masses, before a parameter card was read.
pub const UMAMI_ERROR_UNINITIALIZED_META: i32 = 5;
/// A piece of data that is not known.
pub const UMAMI_ERROR_UNSUPPORTED_META: i32 = 6;
/// Momenta are missing.
pub const UMAMI_ERROR_MISSING_INPUT: i32 = 7;

/// `int`: 0 for CPU, 1 for CUDA, 2 for HIP.
pub const UMAMI_META_DEVICE: i32 = 0;
/// `int`: external legs.
pub const UMAMI_META_PARTICLE_COUNT: i32 = 1;
/// `int`: diagrams.
pub const UMAMI_META_DIAGRAM_COUNT: i32 = 2;
/// `int`: rows of the helicity table.
pub const UMAMI_META_HELICITY_COUNT: i32 = 3;
/// `int`: colour flows.
pub const UMAMI_META_COLOR_COUNT: i32 = 4;
/// `double[legs]`: masses of the legs in GeV, of the card that was read last.
pub const UMAMI_META_MASSES: i32 = 5;

/// `double[legs, 4]`: (E, px, py, pz) in GeV, incoming ones with positive energy. Needed.
pub const UMAMI_IN_MOMENTA: i32 = 0;
/// `double`: alpha_s. Otherwise the parameter `aS` of the card, 0.118 where there is none.
pub const UMAMI_IN_ALPHA_S: i32 = 1;
/// `int`: which of the library's matrix elements. Otherwise the first.
pub const UMAMI_IN_FLAVOR_INDEX: i32 = 2;
/// `double` in [0, 1), for the colour flow. Otherwise 0.5.
pub const UMAMI_IN_RANDOM_COLOR: i32 = 3;
/// `double` in [0, 1), for the helicity. Otherwise 0.5.
pub const UMAMI_IN_RANDOM_HELICITY: i32 = 4;
/// `double` in [0, 1), for the diagram. Otherwise 0.5.
pub const UMAMI_IN_RANDOM_DIAGRAM: i32 = 5;
/// `int`: a row of the helicity table; the matrix element is what it contributes to the sum.
pub const UMAMI_IN_HELICITY_INDEX: i32 = 6;
/// `int`: a diagram, by which the colour flow is drawn.
pub const UMAMI_IN_DIAGRAM_INDEX: i32 = 7;

/// `double`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours, averaged over those of
/// the initial state; without a weight of any channel.
pub const UMAMI_OUT_MATRIX_ELEMENT: i32 = 0;
/// `double[diagrams]`: squared diagrams, as shares of the sum of those that have a channel; 0 for the others.
pub const UMAMI_OUT_DIAGRAM_AMP2: i32 = 1;
/// `int`: the colour flow, drawn by |JAMP|^2 among those that the diagram allows.
pub const UMAMI_OUT_COLOR_INDEX: i32 = 2;
/// `int`: the row of the helicity table, drawn by its share in the matrix element.
pub const UMAMI_OUT_HELICITY_INDEX: i32 = 3;
/// `int`: the diagram, drawn by the squared diagrams.
pub const UMAMI_OUT_DIAGRAM_INDEX: i32 = 4;
/// Of a library for GPUs: the pointer is the CUstream into which all work is put. Otherwise, and for NULL, that is the
/// legacy default stream.
pub const UMAMI_OUT_GPU_STREAM: i32 = 5;

/// Which inputs there are, by key, and which outputs; what is beyond is not known.
const INPUTS: [bool; 9] = [true, true, true, true, true, true, true, true, false];
const REQUIRED: [bool; 9] = [true, false, false, false, false, false, false, false, false];
const OUTPUTS: [bool; 6] = [true, true, true, true, true, false];
const OUTPUTS_ON_GPU: [bool; 6] = [true, true, true, true, true, true];
/// The same for a process without channels.
const OUTPUTS_WITHOUT_CHANNELS: [bool; 6] = [true, false, true, true, false, false];
const OUTPUTS_ON_GPU_WITHOUT_CHANNELS: [bool; 6] = [true, false, true, true, false, true];

/// The handles of instances; they spell `umam`.
static INSTANCES: Registry<Instance> = Registry::new("bridge", 0x756d_616d_0000_0001);

/// The instances, for whoever watches forks.
pub(super) fn instances() -> &'static Registry<Instance> {
    &INSTANCES
}

/// The masses of the card that was read last.
static MASSES: Survivor<Option<Vec<f64>>> = Survivor::new();

/// In the child of a fork.
pub(super) fn behind_a_fork() {
    MASSES.behind_a_fork(|_| false);
    matrix_elements::behind_a_fork();
}

/// Why a call is not answered.
pub(super) enum Refusal {
    /// By this status; the text is for whoever asks.
    Status(i32, Error),
    /// By the unspecific one.
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            // A GPU was asked for.
            Error::NotOnGpu { .. } | Error::NoGpu { .. } | Error::NoAmdGpu { .. } => {
                Refusal::Status(UMAMI_ERROR_NOT_IMPLEMENTED, error)
            }
            error => Refusal::Error(error),
        }
    }
}

pub(super) type Answer<T = ()> = Result<T, Refusal>;

fn wrong(function: &'static str, what: impl Into<String>) -> Refusal {
    Refusal::Error(pointers::wrong(function, what))
}

/// Runs `f` and gives its status.
fn status(f: impl FnOnce() -> Answer) -> i32 {
    let error = match no_panic(|| Ok(f())) {
        Ok(Ok(())) => return UMAMI_SUCCESS,
        Ok(Err(Refusal::Status(status, error))) => {
            keep_error(error.code(), &error.to_string());
            return status;
        }
        Err(Error::CallWithinCall) => {
            keep_within();
            say_within();
            return UMAMI_ERROR;
        }
        Ok(Err(Refusal::Error(error))) | Err(error) => error,
    };
    let text = error.to_string();
    keep_error(error.code(), &text);
    say(format_args!("ERROR {text}"));
    UMAMI_ERROR
}

/// Puts a piece of data about the process into `result`.
///
/// # Safety
/// `result` is NULL or points at an `int`, or for the masses at as many doubles as there are legs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_get_meta(key: c_int, result: *mut c_void) -> i32 {
    const NAME: &str = "umami_get_meta";
    status(|| {
        if !(UMAMI_META_DEVICE..=UMAMI_META_MASSES).contains(&key) {
            return Err(Refusal::Status(
                UMAMI_ERROR_UNSUPPORTED_META,
                pointers::wrong(NAME, format!("there is no key {key}")),
            ));
        }
        if result.is_null() {
            return Err(null(NAME, "result").into());
        }
        let elements = MatrixElements::get()?;
        let tables = &elements.tables;
        let count = match key {
            UMAMI_META_DEVICE => match elements.gpu() {
                None => 0,
                Some(Platform::Cuda) => 1,
                Some(Platform::Hip) => 2,
            },
            UMAMI_META_PARTICLE_COUNT => elements.legs(),
            UMAMI_META_DIAGRAM_COUNT => tables.diagrams.count,
            UMAMI_META_HELICITY_COUNT => tables.helicities.count,
            UMAMI_META_COLOR_COUNT => tables.colors.count,
            _ => {
                let masses = MASSES.lock();
                let Some(masses) = &*masses else {
                    return Err(Refusal::Status(
                        UMAMI_ERROR_UNINITIALIZED_META,
                        pointers::wrong(NAME, "masses are known after umami_initialize"),
                    ));
                };
                for (i, &mass) in masses.iter().enumerate() {
                    // SAFETY: the caller's promise.
                    unsafe { result.cast::<f64>().add(i).write_unaligned(mass) };
                }
                return Ok(());
            }
        };
        // SAFETY: the caller's promise.
        unsafe { result.cast::<c_int>().write_unaligned(count as c_int) };
        Ok(())
    })
}

/// Which inputs there are: points `supported` at an array of the library's, with `count` entries by key.
///
/// # Safety
/// Each argument is NULL or points at a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_supported_inputs(
    supported: *mut *const bool,
    count: *mut c_int,
) -> i32 {
    // SAFETY: the caller's promise.
    status(|| unsafe { table("umami_supported_inputs", &INPUTS, supported, count) })
}

/// Which inputs are needed.
///
/// # Safety
/// As for `umami_supported_inputs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_required_inputs(
    required: *mut *const bool,
    count: *mut c_int,
) -> i32 {
    // SAFETY: the caller's promise.
    status(|| unsafe { table("umami_required_inputs", &REQUIRED, required, count) })
}

/// Which outputs there are.
///
/// # Safety
/// As for `umami_supported_inputs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_supported_outputs(
    supported: *mut *const bool,
    count: *mut c_int,
) -> i32 {
    status(|| {
        let outputs = MatrixElements::get()?.outputs();
        // SAFETY: the caller's promise.
        unsafe { table("umami_supported_outputs", outputs, supported, count) }
    })
}

/// # Safety
/// As for [`umami_supported_inputs`].
unsafe fn table(
    function: &'static str,
    keys: &'static [bool],
    to: *mut *const bool,
    count: *mut c_int,
) -> Answer {
    // SAFETY: the caller's promise; NULL is refused.
    unsafe {
        put(function, "the list", to, keys.as_ptr())?;
        put(function, "its length", count, keys.len() as c_int)?;
    }
    Ok(())
}

/// Creates an instance for one thread at a time and puts it into `handle`. The card is a parameter card; NULL or ""
/// means the values that came with the process.
///
/// # Safety
/// `handle` is NULL or points at a pointer; the path is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_initialize(
    handle: *mut *mut c_void,
    param_card_path: *const c_char,
) -> i32 {
    const NAME: &str = "umami_initialize";
    status(|| {
        // SAFETY: the caller's promise; NULL is refused.
        unsafe { put(NAME, "handle", handle, std::ptr::null_mut()) }?;
        let path = match param_card_path.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(super::c::os_string(unsafe {
                CStr::from_ptr(param_card_path)
            })),
        };
        let path = path.as_deref().map(Path::new);
        let path = path.filter(|path| !path.as_os_str().is_empty());
        let elements = MatrixElements::get()?;
        let compiled = elements.compiled(elements.cards(path)?)?;
        let instance = Instance::new(elements, compiled.clone())?;
        remember_masses(&compiled);
        let number = INSTANCES.add(instance);
        // SAFETY: the caller's promise.
        unsafe { handle.write_unaligned(number as usize as *mut c_void) };
        Ok(())
    })
}

fn remember_masses(compiled: &Arc<Compiled>) {
    *MASSES.lock() = Some(compiled.masses.clone());
}

/// Frees an instance. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn umami_free(handle: *mut c_void) -> i32 {
    if handle.is_null() {
        return UMAMI_SUCCESS;
    }
    status(|| Ok(INSTANCES.remove(handle as usize as u64)?))
}

/// Evaluates events: reads the inputs and fills in the outputs that are asked for.
///
/// An event whose momenta are no event's (not finite, not conserved, not on their mass shells), or whose |M|^2 is not
/// finite, has NaN as its matrix element and 0 as its squared diagrams; what is wrong is said once on stderr.
///
/// Of a library for GPUs all arrays lie in the memory of the GPU. The call puts its work into the stream (output 5) and
/// returns; indices that name nothing make an event bad, and nothing is said of bad events.
///
/// # Safety
/// Keys and pointers are as many as their counts say; each pointer that is not NULL points at an array of its key's
/// type that reaches to the last event of the call, and nobody writes the events of this call in the meantime. On a GPU
/// that lasts until the stream has come past the work.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn umami_matrix_element(
    handle: *mut c_void,
    count: usize,
    stride: usize,
    offset: usize,
    input_count: usize,
    input_keys: *const c_int,
    inputs: *const *const c_void,
    output_count: usize,
    output_keys: *const c_int,
    outputs: *const *mut c_void,
) -> i32 {
    status(|| {
        // A call for one handle waits for another one for it.
        let answer = INSTANCES.with(handle as usize as u64, |instance| {
            // SAFETY: the caller's promise.
            Ok(unsafe {
                let call = evaluate::Call::read(
                    evaluate::EventRange {
                        count,
                        stride,
                        offset,
                    },
                    (input_count, input_keys, inputs),
                    (output_count, output_keys, outputs),
                    instance,
                );
                call.and_then(|call| instance.run(&call))
            })
        });
        answer?
    })
}

/// Sets a parameter of the card for this instance, such as "MDL_MT" (capitals and the prefix do not matter). All that
/// follows from it is computed anew, except that a width stays as it is. Imaginary parts are ignored: these parameters
/// are real.
///
/// # Safety
/// The name is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_set_parameter(
    handle: *mut c_void,
    name: *const c_char,
    parameter_real: f64,
    parameter_imag: f64,
) -> i32 {
    let _ = parameter_imag;
    status(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { parameter_name("umami_set_parameter", name) }?;
        INSTANCES.with(handle as usize as u64, |instance| {
            Ok(instance.set_parameter(&name, parameter_real))
        })?
    })
}

/// Gives a parameter of the card as this instance has it.
///
/// # Safety
/// The name is NULL or ends in NUL; the others are NULL or point at doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_get_parameter(
    handle: *mut c_void,
    name: *const c_char,
    parameter_real: *mut f64,
    parameter_imag: *mut f64,
) -> i32 {
    const NAME: &str = "umami_get_parameter";
    status(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { parameter_name(NAME, name) }?;
        let value = INSTANCES.with(handle as usize as u64, |instance| {
            Ok(instance.parameter(&name))
        })??;
        // SAFETY: the caller's promise.
        unsafe {
            put(NAME, "parameter_real", parameter_real, value)?;
            if !parameter_imag.is_null() {
                parameter_imag.write_unaligned(0.0);
            }
        }
        Ok(())
    })
}

/// # Safety
/// The name is null or ends in NUL.
unsafe fn parameter_name(function: &'static str, name: *const c_char) -> Answer<String> {
    // SAFETY: the caller's promise; NULL is refused.
    let name = unsafe { string(function, "name", name) }?;
    Ok(name.to_string_lossy().into_owned())
}

impl MatrixElements {
    /// Number of legs.
    fn legs(&self) -> usize {
        self.processes[0].legs.len()
    }

    /// Which outputs there are.
    fn outputs(&self) -> &'static [bool] {
        let channels = |p: &mebridge::Process| (1..=p.diagrams).any(|d| p.channels.is_channel(d));
        match (self.processes.iter().all(channels), self.on_gpu()) {
            (true, false) => &OUTPUTS,
            (true, true) => &OUTPUTS_ON_GPU,
            (false, false) => &OUTPUTS_WITHOUT_CHANNELS,
            (false, true) => &OUTPUTS_ON_GPU_WITHOUT_CHANNELS,
        }
    }
}
