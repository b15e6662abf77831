//! UMAMI, the interface of MadSpace and MadGraph7 to matrix elements.
//!
//! The functions and numbers are those of MadSpace's `umami.h`; `include/mebridge_umami.h` is generated from this file.
//! One library file serves one process: a copy that carries it, made by `mebridge umami` ([`attached`]), or this
//! library with the process that [`mebridge::locate`] finds.
//!
//! - Arrays are component-major: number `i` of event `e` is at `e + stride * i`, momenta at `e + stride * (legs * mu +
//!   leg)`. A call reads and writes only the `count` events from `offset` on. All floating-point numbers are doubles,
//!   all indices 32-bit integers from 0.
//! - Each thread has a handle of its own, and threads may call at the same time; handles with the same card share their
//!   compiled form.
//! - Every argument is checked before it is used, except that a pointer other than null must point to the memory that
//!   its key requires.
//!
//! The caller only receives a status. The text of an error is kept for `mebridge_last_error`, and printed on stderr if
//! the status is the unspecific one.

pub mod attached;
mod call;
mod device;
mod evaluate;
pub mod matrix_elements;

use super::c::{keep_error, keep_nested_call};
use super::fork_reset_mutex::ForkResetMutex;
use super::pointers::{self, null, string, write};
use super::registry::Registry;
use super::{no_panic, report_nested_call};
pub(super) use evaluate::Instance;
use matrix_elements::{Compiled, MatrixElements};
use mebridge::bridge::Platform;
use mebridge::error::Error;
use mebridge::message::say;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

/// Success.
pub const UMAMI_SUCCESS: i32 = 0;
/// Failure; `mebridge_last_error` and stderr describe it.
pub const UMAMI_ERROR: i32 = 1;
/// Not available here (no usable GPU, or no such parameter in the process).
pub const UMAMI_ERROR_NOT_IMPLEMENTED: i32 = 2;
/// Unknown input.
pub const UMAMI_ERROR_UNSUPPORTED_INPUT: i32 = 3;
/// Unknown output, or one that this process lacks.
pub const UMAMI_ERROR_UNSUPPORTED_OUTPUT: i32 = 4;
/// Masses were requested before a parameter card was read.
pub const UMAMI_ERROR_UNINITIALIZED_META: i32 = 5;
/// Unknown piece of data.
pub const UMAMI_ERROR_UNSUPPORTED_META: i32 = 6;
/// Momenta are missing.
pub const UMAMI_ERROR_MISSING_INPUT: i32 = 7;

/// `int`: 0 for CPU, 1 for CUDA, 2 for HIP.
pub const UMAMI_META_DEVICE: i32 = 0;
/// `int`: number of external legs.
pub const UMAMI_META_PARTICLE_COUNT: i32 = 1;
/// `int`: number of diagrams.
pub const UMAMI_META_DIAGRAM_COUNT: i32 = 2;
/// `int`: number of rows of the helicity table.
pub const UMAMI_META_HELICITY_COUNT: i32 = 3;
/// `int`: number of colour flows.
pub const UMAMI_META_COLOR_COUNT: i32 = 4;
/// `double[legs]`: masses of the legs in GeV, from the card that was read last.
pub const UMAMI_META_MASSES: i32 = 5;
/// `int`: the major version of UMAMI, 1.
pub const UMAMI_META_ABI_MAJOR_VERSION: i32 = 6;
/// `int`: the minor version of UMAMI, 1.
pub const UMAMI_META_ABI_MINOR_VERSION: i32 = 7;
/// `const char *`: what a caller knows the processes of this library by; valid as long as the library is loaded.
pub const UMAMI_META_PROCESS_FINGERPRINT: i32 = 8;
/// `int`: number of squared orders.
pub const UMAMI_META_SQUARED_ORDER_COUNT: i32 = 9;

/// `double[legs, 4]`: (E, px, py, pz) in GeV, with positive energy for incoming particles. Required.
pub const UMAMI_IN_MOMENTA: i32 = 0;
/// `double`: alpha_s. Default: the parameter `aS` of the card, 0.118 if there is none.
pub const UMAMI_IN_ALPHA_S: i32 = 1;
/// `int`: which of the library's matrix elements. Default: the first.
pub const UMAMI_IN_FLAVOR_INDEX: i32 = 2;
/// `double` in [0, 1), selects the colour flow. Default: 0.5.
pub const UMAMI_IN_RANDOM_COLOR: i32 = 3;
/// `double` in [0, 1), selects the helicity. Default: 0.5.
pub const UMAMI_IN_RANDOM_HELICITY: i32 = 4;
/// `double` in [0, 1), selects the diagram. Default: 0.5.
pub const UMAMI_IN_RANDOM_DIAGRAM: i32 = 5;
/// `int`: a row of the helicity table; the matrix element is its contribution to the sum.
pub const UMAMI_IN_HELICITY_INDEX: i32 = 6;
/// `int`: a diagram, which determines the allowed colour flows.
pub const UMAMI_IN_DIAGRAM_INDEX: i32 = 7;
/// `double`: the strong coupling g_s, instead of alpha_s. Not on GPUs.
pub const UMAMI_IN_G_STRONG: i32 = 9;

/// `double`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours, averaged over those of
/// the initial state; without any channel weight.
pub const UMAMI_OUT_MATRIX_ELEMENT: i32 = 0;
/// `double[diagrams]`: squared diagrams, divided by the sum over diagrams that have a channel; 0 for the others.
pub const UMAMI_OUT_DIAGRAM_AMP2: i32 = 1;
/// `int`: the colour flow, drawn in proportion to |JAMP|^2 among those that the diagram allows.
pub const UMAMI_OUT_COLOR_INDEX: i32 = 2;
/// `int`: the row of the helicity table, drawn in proportion to its contribution to the matrix element.
pub const UMAMI_OUT_HELICITY_INDEX: i32 = 3;
/// `int`: the diagram, drawn in proportion to the squared diagrams.
pub const UMAMI_OUT_DIAGRAM_INDEX: i32 = 4;
/// In a library for GPUs, the pointer is the CUstream for all work. Default, also for NULL: the legacy default stream.
pub const UMAMI_OUT_GPU_STREAM: i32 = 5;
/// `double[squared orders]`: the contribution of each squared order to the matrix element. On GPUs not together with
/// the matrix element.
pub const UMAMI_OUT_SQUARED_ORDERS: i32 = 6;

/// The version of UMAMI.
const VERSION: (usize, usize) = (1, 1);

/// Inputs and outputs by key; keys beyond the end are unknown.
const KEYS: (usize, usize) = (10, 7);
type Inputs = [bool; KEYS.0];
type Outputs = [bool; KEYS.1];
/// Supported and required inputs.
const INPUTS: Inputs = keys(&[0, 1, 2, 3, 4, 5, 6, 7, 9]);
const INPUTS_ON_GPU: Inputs = keys(&[0, 1, 2, 3, 4, 5, 6, 7]);
const REQUIRED: Inputs = keys(&[0]);
/// Supported outputs.
const OUTPUTS: Outputs = keys(&[0, 1, 2, 3, 4, 6]);
const OUTPUTS_ON_GPU: Outputs = keys(&[0, 1, 2, 3, 4, 5, 6]);
/// Outputs for a process without channels.
const OUTPUTS_WITHOUT_CHANNELS: Outputs = keys(&[0, 2, 3, 6]);
const OUTPUTS_ON_GPU_WITHOUT_CHANNELS: Outputs = keys(&[0, 2, 3, 5, 6]);
/// Outputs for several squared orders, of which none has events by itself.
const OUTPUTS_OF_SQUARED_ORDERS: Outputs = keys(&[0, 6]);

const fn keys<const N: usize>(of: &[usize]) -> [bool; N] {
    let mut known = [false; N];
    let mut i = 0;
    while i < of.len() {
        known[of[i]] = true;
        i += 1;
    }
    known
}

/// The open instances; their handles spell `umam`.
static INSTANCES: Registry<Instance> = Registry::new("bridge", 0x756d_616d_0000_0001);

/// Returns the instances, for the fork handlers.
pub(super) fn instances() -> &'static Registry<Instance> {
    &INSTANCES
}

/// The masses of the card that was read last.
static MASSES: ForkResetMutex<Option<Vec<f64>>> = ForkResetMutex::new();

/// Resets the state in the child of a fork.
pub(super) fn after_a_fork() {
    MASSES.after_a_fork(|_| false);
    matrix_elements::after_a_fork();
}

/// Reason why a call fails.
pub(super) enum Refusal {
    /// A specific status; the error is kept for `mebridge_last_error`.
    Status(i32, Error),
    /// The unspecific status `UMAMI_ERROR`.
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            // A GPU was requested.
            Error::NotOnGpu { .. } | Error::NoGpu { .. } | Error::NoAmdGpu { .. } => {
                Refusal::Status(UMAMI_ERROR_NOT_IMPLEMENTED, error)
            }
            error => Refusal::Error(error),
        }
    }
}

pub(super) type Answer<T = ()> = Result<T, Refusal>;

fn wrong(function: &'static str, what: impl Into<String>) -> Refusal {
    Refusal::Error(pointers::argument_error(function, what))
}

/// Runs `f` and returns its status.
fn status(f: impl FnOnce() -> Answer) -> i32 {
    let error = match no_panic(|| Ok(f())) {
        Ok(Ok(())) => return UMAMI_SUCCESS,
        Ok(Err(Refusal::Status(status, error))) => {
            keep_error(error.code(), &error.to_string());
            return status;
        }
        Err(Error::CallWithinCall) => {
            keep_nested_call();
            report_nested_call();
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
/// `result` is NULL or points to an `int`, for the masses to one double per leg, for the fingerprint to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_get_meta(key: c_int, result: *mut c_void) -> i32 {
    const NAME: &str = "umami_get_meta";
    status(|| {
        if !(UMAMI_META_DEVICE..=UMAMI_META_SQUARED_ORDER_COUNT).contains(&key) {
            return Err(Refusal::Status(
                UMAMI_ERROR_UNSUPPORTED_META,
                pointers::argument_error(NAME, format!("there is no key {key}")),
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
            UMAMI_META_ABI_MAJOR_VERSION => VERSION.0,
            UMAMI_META_ABI_MINOR_VERSION => VERSION.1,
            UMAMI_META_SQUARED_ORDER_COUNT => elements.squared_orders,
            UMAMI_META_PROCESS_FINGERPRINT => {
                let text = elements.fingerprint()?.as_ptr();
                // SAFETY: guaranteed by the caller.
                unsafe { result.cast::<*const c_char>().write_unaligned(text) };
                return Ok(());
            }
            _ => {
                let masses = MASSES.lock();
                let Some(masses) = &*masses else {
                    return Err(Refusal::Status(
                        UMAMI_ERROR_UNINITIALIZED_META,
                        pointers::argument_error(NAME, "masses are known after umami_initialize"),
                    ));
                };
                for (i, &mass) in masses.iter().enumerate() {
                    // SAFETY: guaranteed by the caller.
                    unsafe { result.cast::<f64>().add(i).write_unaligned(mass) };
                }
                return Ok(());
            }
        };
        // SAFETY: guaranteed by the caller.
        unsafe { result.cast::<c_int>().write_unaligned(count as c_int) };
        Ok(())
    })
}

/// Points `supported` to a static array that tells, for each of `count` keys, whether the input is supported.
///
/// # Safety
/// Each argument is NULL or points to a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_supported_inputs(
    supported: *mut *const bool,
    count: *mut c_int,
) -> i32 {
    status(|| {
        let inputs = MatrixElements::get()?.inputs();
        // SAFETY: guaranteed by the caller.
        unsafe { table("umami_supported_inputs", inputs, supported, count) }
    })
}

/// Reports which inputs are required, as `umami_supported_inputs`.
///
/// # Safety
/// As for `umami_supported_inputs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_required_inputs(
    required: *mut *const bool,
    count: *mut c_int,
) -> i32 {
    // SAFETY: guaranteed by the caller.
    status(|| unsafe { table("umami_required_inputs", &REQUIRED, required, count) })
}

/// Reports which outputs are supported.
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
        // SAFETY: guaranteed by the caller.
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
    // SAFETY: guaranteed by the caller; NULL is rejected.
    unsafe {
        write(function, "the list", to, keys.as_ptr())?;
        write(function, "its length", count, keys.len() as c_int)?;
    }
    Ok(())
}

/// Creates an instance, used by one thread at a time, and puts it into `handle`. The path is that of a parameter card;
/// NULL or "" selects the values that came with the process.
///
/// # Safety
/// `handle` is NULL or points to a pointer; the path is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_initialize(
    handle: *mut *mut c_void,
    param_card_path: *const c_char,
) -> i32 {
    const NAME: &str = "umami_initialize";
    status(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "handle", handle, std::ptr::null_mut()) }?;
        let path = match param_card_path.is_null() {
            true => None,
            // SAFETY: guaranteed by the caller.
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
        // SAFETY: guaranteed by the caller.
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

/// Evaluates events: reads the inputs and fills in the requested outputs.
///
/// An event with invalid momenta (not finite, not conserved, not on their mass shells), or whose |M|^2 is not finite,
/// has NaN as its matrix element and 0 as its squared diagrams; the first such event is described on stderr.
///
/// In a library for GPUs, all arrays lie in GPU memory. The call puts its work into the stream (output 5) and returns;
/// an index out of range makes an event bad, and bad events are not described.
///
/// # Safety
/// The lists have as many keys and pointers as their counts say; each pointer that is not NULL points to an array of
/// its key's type that reaches to the last event of the call, and nothing else writes the events of this call in the
/// meantime. On a GPU, all of this holds until the stream has completed the work.
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
        // Calls with the same handle wait for each other.
        let answer = INSTANCES.with(handle as usize as u64, |instance| {
            // SAFETY: guaranteed by the caller.
            Ok(unsafe {
                let call = call::Call::read(
                    call::EventRange {
                        count,
                        stride,
                        offset,
                    },
                    (input_count, input_keys, inputs),
                    (output_count, output_keys, outputs),
                    instance.elements(),
                    instance.has_flows(),
                );
                call.and_then(|call| instance.run(&call))
            })
        });
        answer?
    })
}

/// Sets a parameter of the card for this instance, such as "MDL_MT" (case and prefix do not matter). Everything that
/// depends on it is recomputed, except that a width stays as it is. The imaginary part is ignored: these parameters are
/// real.
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
        // SAFETY: guaranteed by the caller.
        let name = unsafe { parameter_name("umami_set_parameter", name) }?;
        INSTANCES.with(handle as usize as u64, |instance| {
            Ok(instance.set_parameter(&name, parameter_real))
        })?
    })
}

/// Writes the value of a parameter of the card in this instance.
///
/// # Safety
/// The name is NULL or ends in NUL; the others are NULL or point to doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umami_get_parameter(
    handle: *mut c_void,
    name: *const c_char,
    parameter_real: *mut f64,
    parameter_imag: *mut f64,
) -> i32 {
    const NAME: &str = "umami_get_parameter";
    status(|| {
        // SAFETY: guaranteed by the caller.
        let name = unsafe { parameter_name(NAME, name) }?;
        let value = INSTANCES.with(handle as usize as u64, |instance| {
            Ok(instance.parameter(&name))
        })??;
        // SAFETY: guaranteed by the caller.
        unsafe {
            write(NAME, "parameter_real", parameter_real, value)?;
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
    // SAFETY: guaranteed by the caller; NULL is rejected.
    let name = unsafe { string(function, "name", name) }?;
    Ok(name.to_string_lossy().into_owned())
}

impl MatrixElements {
    /// Returns the number of legs.
    fn legs(&self) -> usize {
        self.processes[0].legs.len()
    }

    /// Returns which inputs are supported.
    fn inputs(&self) -> &'static [bool] {
        match self.on_gpu() {
            true => &INPUTS_ON_GPU,
            false => &INPUTS,
        }
    }

    /// Returns which outputs are supported.
    fn outputs(&self) -> &'static [bool] {
        if self.squared_orders > 1 {
            return &OUTPUTS_OF_SQUARED_ORDERS;
        }
        let channels = |p: &mebridge::Process| (1..=p.diagrams).any(|d| p.channels.is_channel(d));
        match (self.processes.iter().all(channels), self.on_gpu()) {
            (true, false) => &OUTPUTS,
            (true, true) => &OUTPUTS_ON_GPU,
            (false, false) => &OUTPUTS_WITHOUT_CHANNELS,
            (false, true) => &OUTPUTS_ON_GPU_WITHOUT_CHANNELS,
        }
    }
}
