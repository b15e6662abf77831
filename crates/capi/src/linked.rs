//! The interface of executables made by `mebridge link`: the functions that their Fortran calls.
//!
//! Such an executable carries its processes and knows MadEvent's parameters, so both are passed with the call. Every
//! argument is passed by reference:
//!
//! | symbol | arguments |
//! |---|---|
//! | `mebridge_open` | handle (out), first byte of the process, its end, nevt, npar, ncard, card |
//! | `mebridge_matrix` | handle, momenta, g_s, nhel, with_amp2, namp2, nflow, matrix (out), amp2, jamp2 |
//! | `mebridge_matrices` | handle, momenta, g_s, nhel, ncomb, with_amp2, namp2, nflow, matrix (out), amp2, jamp2 |
//! | `mebridge_batch` | handle, nevt, momenta, g_s, rndhel, rndcol, with_channels, channels, igraph, mes, selhel, selcol (out) |
//! | `mebridge_open_real`, `mebridge_open_born` | handle (out), first byte of the process, its end, npar, ncard, card |
//! | `mebridge_squared` | handle, momenta, g_s, \|M\|^2 (out) |
//! | `mebridge_born` | handle, momenta, g_s, leg, goodhel, skip, writes, ngraphs, nrows, ncolor, amplitudes, amp2, jamp2, answer (out) |
//! | `mebridge_link` | handle, link, momenta, g_s, colour-linked Born (out) |
//! | `mebridge_expect` | none |
//! | `mebridge_checks` | whether the Fortran's matrix elements are to be evaluated too (out) |
//! | `mebridge_check` | handle, momenta, g_s, the library's matrix element, the Fortran's |
//! | `mebridge_check_link` | the same of a link, the second argument |
//! | `mebridge_row` | handle, row of the helicity table, its helicities (out) |
//! | `mebridge_turned` | handle, momenta, a number, momenta of another event with the same energy (out) |
//!
//! `mebridge_matrix` replaces `MATRIX<i>` for the helicities `nhel(npar)` and adds to `amp2(namp2)` (if `with_amp2` is
//! not zero) and `jamp2(nflow)` what `MATRIX<i>` adds; `mebridge_matrices` does so for `ncomb` rows of helicities at
//! once. `mebridge_batch` replaces `SMATRIX<i>_MULTI`.
//!
//! For aMC@NLO `mebridge_open_real` and `mebridge_open_born` open processes of which single events are evaluated, on the
//! CPU and in double precision: close to soft and collinear limits reals and their counterterms cancel. `mebridge_squared`
//! replaces `SMATRIX<n>_SPLITORDERS` of a real emission with one squared order, `mebridge_born` `SBORN_SPLITORDERS` and
//! `mebridge_link` `SB_SF_<nnn>_SPLITORDERS`, all for the last event from one evaluation of its amplitudes. Where |M|^2 is
//! not finite these write NaN, as the Fortran does; the other functions stop the program. Momenta may be off their mass
//! shells.
//!
//! In check mode (`CUDACPP_RUNTIME_FBRIDGEMODE` below 0) the executable also evaluates the Fortran's own matrix
//! elements and reports both (module `check_mode`).
//!
//! MadEvent up to 3.5 requests one helicity of one event at a time. The first request evaluates the event for all
//! helicities, the others are looked up.

use super::check_mode;
use super::event_arrays::EventArrays;
use super::fbridge::{announce, or_stop};
use super::generation::Caller;
use super::pointers::{
    CallerArray, PointerAccess, argument_error, check_apart, input, null, number_count, output,
    value, write,
};
use super::registry::{self, Entry, LinkedBorn};
use mebridge::backend::AllowedMomenta;
use mebridge::born::{self, BornSums};
use mebridge::bridge::Bridge;
use mebridge::error::{Error, Result};
use mebridge::message::say_once;
use mebridge::process::{Contract, Process};
use mebridge::runtime::{BackendChoice, Igraph, Precision, Switches};
use std::borrow::Cow;
use std::path::Path;
use std::ptr;
use std::slice::from_raw_parts;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name in messages of a process that is part of the executable.
const ORIGIN: &str = "this executable";

/// Whether a bridge was opened, that is, whether matrix elements come from the library.
static OPENED: AtomicBool = AtomicBool::new(false);

/// Opens a bridge for a process that the executable carries, with MadEvent's parameters.
///
/// # Safety
/// The bytes between `data` and `end` are part of the executable; the other pointers point to variables of their types.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_open_(
    handle: *mut u64,
    data: *const u8,
    end: *const u8,
    nevt: *const i32,
    npar: *const i32,
    ncard: *const i32,
    card: *const f64,
) {
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe {
        let count = read_count("nevt", nevt)?;
        answer_open(
            Use::Batches(count.max(1)),
            handle,
            (data, end),
            npar,
            (ncard, card),
        )
    });
}

/// Opens the bridge of a real emission of aMC@NLO.
///
/// # Safety
/// As for [`mebridge_open_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_open_real_(
    handle: *mut u64,
    data: *const u8,
    end: *const u8,
    npar: *const i32,
    ncard: *const i32,
    card: *const f64,
) {
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe { answer_open(Use::Real, handle, (data, end), npar, (ncard, card)) });
}

/// Opens the bridge of a Born of aMC@NLO, of which the executable carries the colour links, too.
///
/// # Safety
/// As for [`mebridge_open_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_open_born_(
    handle: *mut u64,
    data: *const u8,
    end: *const u8,
    npar: *const i32,
    ncard: *const i32,
    card: *const f64,
) {
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe { answer_open(Use::Born, handle, (data, end), npar, (ncard, card)) });
}

/// What a bridge is opened for.
enum Use {
    /// Batches of at most this number of events.
    Batches(usize),
    /// |M|^2 of single events.
    Real,
    /// Amplitudes and colour-linked Borns of single events.
    Born,
}

/// # Safety
/// The pointer is NULL or points to an INTEGER.
unsafe fn read_count(name: &'static str, x: *const i32) -> Result<usize> {
    const NAME: &str = "mebridge_open";
    // SAFETY: guaranteed by the caller; null is rejected.
    let x = unsafe { value(NAME, name, x) }?;
    usize::try_from(x).map_err(|_| argument_error(NAME, format!("{name} is {x}")))
}

/// # Safety
/// As for [`mebridge_open_`].
unsafe fn answer_open(
    what_for: Use,
    handle: *mut u64,
    (data, end): (*const u8, *const u8),
    npar: *const i32,
    (ncard, card): (*const i32, *const f64),
) -> Result<()> {
    const NAME: &str = "mebridge_open";
    if data.is_null() || end < data {
        return Err(null(NAME, "data"));
    }
    // SAFETY: guaranteed by the caller; null is rejected.
    let (bytes, npar, card) = unsafe {
        let bytes = from_raw_parts(data, end as usize - data as usize);
        let card = input(NAME, "card", card, read_count("ncard", ncard)?)?;
        (bytes, read_count("npar", npar)?, card)
    };
    let opened = open(bytes, what_for, npar, card)?;
    // SAFETY: as above.
    unsafe { write(NAME, "handle", handle, opened) }
}

fn open(bytes: &[u8], what_for: Use, npar: usize, card: &[f64]) -> Result<u64> {
    let mut switches = Switches::from_env()?;
    let nevt = match what_for {
        Use::Batches(nevt) => nevt,
        Use::Real | Use::Born => {
            switches.backend = BackendChoice::Cpu;
            switches.precision = Precision::Double;
            1
        }
    };
    let set = [
        ("PROCESS", switches.process.is_some()),
        ("PARAMCARD", switches.param_card.is_some()),
    ];
    if let Some((name, _)) = set.into_iter().find(|(_, set)| *set) {
        return Err(argument_error(
            "mebridge_open",
            format!(
                "CUDACPP_RUNTIME_{name} is set, but this executable was made by `mebridge link`: it carries its \
                 processes and runs with the parameters that MadEvent was compiled with; unset it"
            ),
        ));
    }
    let other = |error| {
        argument_error(
            "mebridge_open",
            format!(
                "{error}. The executable and libmebridge.so do not belong together: run `mebridge link` on the output \
                 again, and let MadEvent be compiled again"
            ),
        )
    };
    let (mut process, born) = match what_for {
        Use::Born => {
            let born = born::from_bytes(bytes, Path::new(ORIGIN)).map_err(other)?;
            let sums = BornSums::new(&born)?;
            let amplitudes = born::amplitudes_as_jamps(&born.process)?;
            (amplitudes, Some(LinkedBorn::new(sums)))
        }
        _ => (
            Process::from_bytes(bytes, Path::new(ORIGIN)).map_err(other)?,
            None,
        ),
    };
    // MadEvent requests single helicities, and its own SMATRIX<i> weights them by the beams.
    process.beam_weights.clear();
    let (legs, values) = (process.legs.len(), process.model.card.len());
    if npar != legs || card.len() != values {
        return Err(argument_error(
            "mebridge_open",
            format!(
                "'{}' has {legs} legs and {values} parameters, but the executable has {npar} and {}; run \
                 `mebridge link` on the output again",
                process.name,
                card.len()
            ),
        ));
    }
    // A parameter without a MadEvent variable has the value f64::MIN here.
    let values = card.iter().zip(&process.model.card);
    let values: Vec<f64> = values
        .map(|(&value, known)| {
            if value == f64::MIN {
                known.default
            } else {
                value
            }
        })
        .collect();
    let caller = Caller::new(Igraph::Yes, Contract::WithIgraph);
    let mut bridge = Bridge::new(process, &values, &switches, nevt)?;
    // Close to a threshold aMC@NLO's generator loses digits, and a soft parton is off its mass shell by as much.
    let batches = matches!(what_for, Use::Batches(_));
    if !batches && !bridge.allow(AllowedMomenta::OffShell) {
        let what = "a bridge that has evaluated before its first call".into();
        return Err(Error::Internal { what });
    }
    announce(&bridge, ORIGIN, Some("that of MadEvent"), &switches);
    OPENED.store(true, Ordering::Relaxed);
    let mut entry = Entry::new(bridge, caller);
    entry.born = born;
    Ok(registry::add(entry))
}

/// Evaluates `MATRIX<i>` for one helicity of one event.
///
/// # Safety
/// The arrays have the lengths given in the module documentation, and the outputs overlap nothing else.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_matrix_(
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    nhel: *const i32,
    with_amp2: *const i32,
    namp2: *const i32,
    nflow: *const i32,
    matrix: *mut f64,
    amp2: *mut f64,
    jamp2: *mut f64,
) {
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe {
        let request = Request {
            function: "mebridge_matrix",
            handle,
            momenta,
            g_s,
            nhel,
            ncomb: 1,
            with_amp2,
            namp2,
            nflow,
        };
        request.answer(matrix, amp2, jamp2)
    });
}

/// Evaluates `MATRIX<i>` for several helicities of one event.
///
/// # Safety
/// As for [`mebridge_matrix_`].
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_matrices_(
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    nhel: *const i32,
    ncomb: *const i32,
    with_amp2: *const i32,
    namp2: *const i32,
    nflow: *const i32,
    matrix: *mut f64,
    amp2: *mut f64,
    jamp2: *mut f64,
) {
    const NAME: &str = "mebridge_matrices";
    // SAFETY: guaranteed by the caller; null is rejected.
    or_stop(|| unsafe {
        let ncomb = value(NAME, "ncomb", ncomb)?;
        let request = Request {
            function: NAME,
            handle,
            momenta,
            g_s,
            nhel,
            ncomb: ncomb.max(0) as usize,
            with_amp2,
            namp2,
            nflow,
        };
        request.answer(matrix, amp2, jamp2)
    });
}

/// Evaluates `SMATRIX<i>_MULTI` for a batch of any number of events. `channels` is read only if `with_channels` is not
/// zero.
///
/// # Safety
/// The arrays hold `nevt` events, and the outputs overlap nothing else.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_batch_(
    handle: *const u64,
    nevt: *const i32,
    momenta: *const f64,
    g_s: *const f64,
    random_helicity: *const f64,
    random_color: *const f64,
    with_channels: *const i32,
    channels: *const i32,
    igraph: *const i32,
    matrix_elements: *mut f64,
    helicity: *mut i32,
    color: *mut i32,
) {
    const NAME: &str = "mebridge_batch";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, nevt, with_channels) = unsafe {
            let nevt = value(NAME, "nevt", nevt)?;
            let with = value(NAME, "with_channels", with_channels)? != 0;
            (value(NAME, "handle", handle)?, nevt.max(0) as usize, with)
        };
        // Both arrays are required here.
        if with_channels && channels.is_null() {
            return Err(null(NAME, "channels"));
        }
        if igraph.is_null() {
            return Err(null(NAME, "igraph"));
        }
        registry::with_entry(handle, |entry| {
            let arrays = EventArrays {
                momenta,
                g_s,
                random_helicity,
                random_color,
                channels: if with_channels { channels } else { ptr::null() },
                igraph,
                matrix_elements,
                helicity,
                color,
            };
            // SAFETY: guaranteed by the caller.
            unsafe { arrays.run(NAME, entry, nevt) }
        })
    });
}

/// Evaluates |M|^2 of one event, summed over helicities and averaged.
///
/// # Safety
/// `momenta` has four numbers for each leg; the other pointers point to variables of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_squared_(
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    squared: *mut f64,
) {
    const NAME: &str = "mebridge_squared";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, g_s) = unsafe { (value(NAME, "handle", handle)?, value(NAME, "g_s", g_s)?) };
        registry::with_entry(handle, |entry| {
            let count = 4 * entry.bridge.process().legs.len();
            // SAFETY: guaranteed by the caller; null is rejected.
            let momenta = unsafe { input(NAME, "momenta", momenta, count) }?;
            let found = entry.bridge.one_squared(momenta, g_s);
            let found = if_finite(found, &entry.bridge)?.unwrap_or(f64::NAN);
            // SAFETY: as above.
            unsafe { write(NAME, "squared", squared, found) }
        })
    });
}

/// Evaluates a Born as `SBORN_SPLITORDERS`: `answer` is ANS(2,0:1), the Born and its complex Born for `leg` (from 1; 0:
/// none), both twice. Rows of the helicity table count if they are `goodhel`, or if the one `skip` rows away is, as its
/// partner with the other helicity of the leg. `amp2(ngraphs)` and `jamp2(ncolor)` are sums over these rows. The
/// amplitudes, `SAVEAMP(ngraphs,nrows)`, are written if they were evaluated now, or if `writes` is not zero; other rows are
/// zero.
///
/// # Safety
/// `momenta` has four numbers for each leg, `goodhel` a LOGICAL for each row of the table; the outputs have the lengths
/// given above, and overlap nothing else. The other pointers point to variables of their types.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_born_(
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    leg: *const i32,
    goodhel: *const i32,
    skip: *const i32,
    writes: *const i32,
    ngraphs: *const i32,
    nrows: *const i32,
    ncolor: *const i32,
    amplitudes: *mut f64,
    amp2: *mut f64,
    jamp2: *mut f64,
    answer: *mut f64,
) {
    const NAME: &str = "mebridge_born";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, g_s, leg, skip, writes) = unsafe {
            (
                value(NAME, "handle", handle)?,
                value(NAME, "g_s", g_s)?,
                value(NAME, "leg", leg)?,
                value(NAME, "skip", skip)?,
                value(NAME, "writes", writes)? != 0,
            )
        };
        registry::with_entry(handle, |entry| {
            // SAFETY: as above.
            let [graphs, rows, colors] = unsafe { sizes(NAME, entry, ngraphs, nrows, ncolor) }?;
            let length = number_count(NAME, rows, 2 * graphs)?;
            let Entry { bridge, born, .. } = entry;
            let born = born.as_mut().ok_or_else(|| no_born(NAME))?;
            let table = bridge.process().helicities.len();
            let legs = bridge.process().legs.len();
            let read = |array, n| CallerArray::new::<f64>(array, n, PointerAccess::Read);
            let written = |array, n| CallerArray::new::<f64>(array, n, PointerAccess::Write);
            check_apart(
                NAME,
                [
                    ("momenta", read(momenta, 4 * legs)),
                    ("amplitudes", written(amplitudes, length)),
                    ("amp2", written(amp2, graphs)),
                    ("jamp2", written(jamp2, colors)),
                    ("answer", written(answer, 8)),
                ],
            )?;
            // SAFETY: guaranteed by the caller; null is rejected, and no output overlaps another array.
            let (momenta, goodhel, amplitudes, amp2, jamp2, answer) = unsafe {
                (
                    input(NAME, "momenta", momenta, 4 * legs)?,
                    input(NAME, "goodhel", goodhel, table)?,
                    output(NAME, "amplitudes", amplitudes, length)?,
                    output(NAME, "amp2", amp2, graphs)?,
                    output(NAME, "jamp2", jamp2, colors)?,
                    output(NAME, "answer", answer, 8)?,
                )
            };
            let leg = usize::try_from(leg).ok().filter(|&leg| leg <= legs);
            let (Some(leg), Ok(skip)) = (leg, usize::try_from(skip)) else {
                return Err(argument_error(
                    NAME,
                    format!("there is no such leg, or skip is {skip}"),
                ));
            };
            born.count(goodhel, skip);
            let found = born.of_event(bridge, (momenta, g_s));
            let Some((sums, evaluated)) = if_finite(found, bridge)? else {
                for numbers in [amplitudes, amp2, jamp2, answer] {
                    numbers.fill(f64::NAN);
                }
                return Ok(());
            };
            amp2.copy_from_slice(sums.amp2());
            for (to, from) in jamp2.iter_mut().zip(sums.jamp2()) {
                *to = from;
            }
            let squared = sums.born();
            let complex = match leg.checked_sub(1) {
                Some(leg) => born.complex(leg),
                None => [0.0; 2],
            };
            let [re, im] = complex;
            answer.copy_from_slice(&[squared, 0.0, re, im, squared, 0.0, re, im]);
            if evaluated || writes {
                let found = bridge.jamps(momenta, g_s)?;
                let (to, rest) = amplitudes.split_at_mut(2 * found.len());
                let rows = to
                    .chunks_exact_mut(2 * graphs)
                    .zip(found.chunks_exact(graphs));
                for (row, (to, from)) in rows.enumerate() {
                    let counts = born.counts(row);
                    for (to, from) in to.chunks_exact_mut(2).zip(from) {
                        to.copy_from_slice(&if counts { [from.re, from.im] } else { [0.0; 2] });
                    }
                }
                rest.fill(0.0);
            }
            Ok(())
        })
    });
}

/// Writes a colour-linked Born without g_s^2, of the helicities that counted in the last [`mebridge_born_`]; `link` counts
/// from 1.
///
/// # Safety
/// `momenta` has four numbers for each leg; the other pointers point to variables of their types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_link_(
    handle: *const u64,
    link: *const i32,
    momenta: *const f64,
    g_s: *const f64,
    linked: *mut f64,
) {
    const NAME: &str = "mebridge_link";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, link, g_s) = unsafe {
            (
                value(NAME, "handle", handle)?,
                value(NAME, "link", link)?,
                value(NAME, "g_s", g_s)?,
            )
        };
        registry::with_entry(handle, |entry| {
            let Entry { bridge, born, .. } = entry;
            let born = born.as_mut().ok_or_else(|| no_born(NAME))?;
            let number = usize::try_from(link)
                .ok()
                .and_then(|link| link.checked_sub(1));
            let Some(number) = number.filter(|&number| number < born.links()) else {
                let what = format!("there is no link {link} of {}", born.links());
                return Err(argument_error(NAME, what));
            };
            let legs = bridge.process().legs.len();
            // SAFETY: guaranteed by the caller; null is rejected.
            let momenta = unsafe { input(NAME, "momenta", momenta, 4 * legs) }?;
            let found = born.of_event(bridge, (momenta, g_s));
            let found = if_finite(found, bridge)?.map_or(f64::NAN, |(sums, _)| sums.link(number));
            // SAFETY: as above.
            unsafe { write(NAME, "linked", linked, found) }
        })
    });
}

/// Returns what was found for an event of aMC@NLO, or prints once why its |M|^2 is not finite. The Fortran does not stop
/// there, and aMC@NLO leaves out contributions that are NaN; most such events fail its cuts anyway.
fn if_finite<T>(found: Result<T>, bridge: &Bridge) -> Result<Option<T>> {
    match found {
        Err(Error::NotFinite { why, .. }) => {
            let process = &bridge.process().name;
            say_once(format_args!(
                "WARNING {process}: |M|^2 of an event is not finite: {why}; it is NaN, and aMC@NLO leaves it out"
            ));
            Ok(None)
        }
        found => found.map(Some),
    }
}

fn no_born(name: &'static str) -> Error {
    argument_error(name, "the handle is not that of a Born")
}

/// Returns the sizes of a Born's arrays, which have to be those of the process: amplitudes, rows (at least those of the
/// helicity table), colour flows.
///
/// # Safety
/// The pointers are NULL or point to INTEGERs.
unsafe fn sizes(
    name: &'static str,
    entry: &Entry,
    ngraphs: *const i32,
    nrows: *const i32,
    ncolor: *const i32,
) -> Result<[usize; 3]> {
    // SAFETY: guaranteed by the caller; null is rejected.
    let given = unsafe {
        [
            value(name, "ngraphs", ngraphs)?,
            value(name, "nrows", nrows)?,
            value(name, "ncolor", ncolor)?,
        ]
    };
    let process = entry.bridge.process();
    let (graphs, rows) = (process.amplitudes.jamps(), process.helicities.len());
    let colors = entry.born.as_ref().map_or(0, LinkedBorn::flows);
    let sizes = given.map(|n| usize::try_from(n).unwrap_or(0));
    match sizes[0] == graphs && sizes[1] >= rows && sizes[2] == colors {
        true => Ok(sizes),
        false => Err(argument_error(
            name,
            format!(
                "the executable has {given:?} amplitudes, helicities and colour flows of the Born, the process {:?}",
                [graphs, rows, colors]
            ),
        )),
    }
}

/// Declares that this executable is meant to use the library's matrix elements: if it ends without having requested
/// any, a warning is printed. Called before the program begins.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_expect_() {
    static ONCE: Once = Once::new();
    extern "C" fn at_exit() {
        use std::io::Write;
        if !OPENED.load(Ordering::Relaxed) {
            // Errors are ignored: stderr may be closed.
            let _ = writeln!(
                std::io::stderr(),
                "mebridge: WARNING this executable was linked with mebridge, but it requested no matrix element: \
                 either there was no event, or the Fortran's were used (`mebridge doctor` tells which)"
            );
        }
    }
    ONCE.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded because the executable links to
        // it.
        unsafe { libc::atexit(at_exit) };
    });
}

/// Writes whether check mode is on.
///
/// # Safety
/// The argument points to an INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_checks_(on: *mut i32) {
    or_stop(|| {
        let checks = i32::from(check_mode::is_enabled()?);
        // SAFETY: guaranteed by the caller; null is rejected.
        unsafe { write("mebridge_checks", "on", on, checks) }
    });
}

/// Passes both matrix elements of an event, or of some of its helicities, to check mode.
///
/// # Safety
/// As for [`mebridge_matrix_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_check_(
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    library: *const f64,
    fortran: *const f64,
) {
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe { check(handle, None, (momenta, g_s), (library, fortran)) });
}

/// Passes both values of a colour-linked Born to check mode; `link` counts from 1.
///
/// # Safety
/// As for [`mebridge_matrix_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_check_link_(
    handle: *const u64,
    link: *const i32,
    momenta: *const f64,
    g_s: *const f64,
    library: *const f64,
    fortran: *const f64,
) {
    // SAFETY: guaranteed by the caller; null is rejected.
    or_stop(|| unsafe {
        let link = value("mebridge_check_link", "link", link)?;
        check(handle, Some(link), (momenta, g_s), (library, fortran))
    });
}

/// # Safety
/// As for [`mebridge_matrix_`].
unsafe fn check(
    handle: *const u64,
    link: Option<i32>,
    (momenta, g_s): (*const f64, *const f64),
    (library, fortran): (*const f64, *const f64),
) -> Result<()> {
    const NAME: &str = "mebridge_check";
    // SAFETY: guaranteed by the caller; null is rejected.
    let handle = unsafe { value(NAME, "handle", handle) }?;
    registry::with_entry(handle, |entry| {
        let process = entry.bridge.process();
        // SAFETY: guaranteed by the caller; null is rejected.
        let number = |what, x: *const f64| unsafe { value(NAME, what, x) };
        // SAFETY: guaranteed by the caller; null is rejected.
        let momenta = unsafe { input(NAME, "momenta", momenta, 4 * process.legs.len()) }?;
        let answers = (number("library", library)?, number("fortran", fortran)?);
        // The links of an event may add up to nothing with its Born.
        let name = match link {
            None => Cow::Borrowed(process.name.as_str()),
            Some(link) => format!("{}, link {link}", process.name).into(),
        };
        check_mode::add_event(&name, momenta, number("g_s", g_s)?, answers);
        Ok(())
    })
}

/// Writes a row of the helicity table.
///
/// # Safety
/// `nhel` has an INTEGER for each leg.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_row_(handle: *const u64, row: *const i32, nhel: *mut i32) {
    const NAME: &str = "mebridge_row";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, row) = unsafe {
            let row = value(NAME, "row", row)?;
            (value(NAME, "handle", handle)?, row)
        };
        registry::with_entry(handle, |entry| {
            let rows = &entry.bridge.process().helicities;
            let at = usize::try_from(row).ok().and_then(|row| row.checked_sub(1));
            let found = at.and_then(|at| rows.get(at)).ok_or_else(|| {
                argument_error(NAME, format!("there is no row {row} of {}", rows.len()))
            })?;
            // SAFETY: guaranteed by the caller; null is rejected.
            let nhel = unsafe { output(NAME, "nhel", nhel, found.len()) }?;
            for (to, &from) in nhel.iter_mut().zip(found) {
                *to = i32::from(from);
            }
            Ok(())
        })
    });
}

/// Writes another event with the masses and the energy of this one, for each `number` otherwise.
///
/// # Safety
/// `momenta` and `turned` have four numbers for each leg and do not overlap; `number` points to an INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_turned_(
    handle: *const u64,
    momenta: *const f64,
    number: *const i32,
    turned: *mut f64,
) {
    const NAME: &str = "mebridge_turned";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; null is rejected.
        let (handle, number) = unsafe {
            let number = value(NAME, "number", number)?;
            (value(NAME, "handle", handle)?, number.unsigned_abs())
        };
        registry::with_entry(handle, |entry| {
            let process = entry.bridge.process();
            let count = 4 * process.legs.len();
            // SAFETY: guaranteed by the caller; null is rejected.
            let momenta = unsafe { input(NAME, "momenta", momenta, count) }?;
            let other = born::turned(process, momenta, number);
            // SAFETY: as above.
            unsafe { output(NAME, "turned", turned, count) }?.copy_from_slice(&other);
            Ok(())
        })
    });
}

/// A request for some helicities of one event.
struct Request {
    function: &'static str,
    handle: *const u64,
    momenta: *const f64,
    g_s: *const f64,
    nhel: *const i32,
    ncomb: usize,
    with_amp2: *const i32,
    namp2: *const i32,
    nflow: *const i32,
}

impl Request {
    /// # Safety
    /// As for [`mebridge_matrix_`].
    unsafe fn answer(&self, matrix: *mut f64, amp2: *mut f64, jamp2: *mut f64) -> Result<()> {
        let name = self.function;
        // SAFETY: guaranteed by the caller; null is rejected.
        let handle = unsafe { value(name, "handle", self.handle) }?;
        registry::with_entry(handle, |entry| {
            let process = entry.bridge.process();
            let legs = process.legs.len();
            let (diagrams, flows) = (process.diagrams as usize, process.color_flows());
            // SAFETY: guaranteed by the caller; null is rejected, and so are arrays that are too short and outputs that
            // overlap another array.
            let (momenta, g_s, nhel, matrix, amp2, jamp2) = unsafe {
                let at_least = |what, n: *const i32, needs: usize| {
                    let n = value(name, what, n)?;
                    match usize::try_from(n).is_ok_and(|n| n >= needs) {
                        true => Ok(()),
                        false => Err(argument_error(
                            name,
                            format!("{what} is {n}, the process needs {needs}"),
                        )),
                    }
                };
                at_least("namp2", self.namp2, diagrams)?;
                at_least("nflow", self.nflow, flows)?;
                let rows = number_count(name, self.ncomb, legs)?;
                let with_amp2 = value(name, "with_amp2", self.with_amp2)? != 0;
                let squares = if with_amp2 { diagrams } else { 0 };
                check_apart(
                    name,
                    [
                        (
                            "momenta",
                            CallerArray::new(self.momenta, 4 * legs, PointerAccess::Read),
                        ),
                        (
                            "nhel",
                            CallerArray::new(self.nhel, rows, PointerAccess::Read),
                        ),
                        (
                            "matrix",
                            CallerArray::new(matrix, self.ncomb, PointerAccess::Write),
                        ),
                        (
                            "amp2",
                            CallerArray::new(amp2, squares, PointerAccess::Write),
                        ),
                        (
                            "jamp2",
                            CallerArray::new(jamp2, flows, PointerAccess::Write),
                        ),
                    ],
                )?;
                let amp2 = match with_amp2 {
                    true => output(name, "amp2", amp2, diagrams)?,
                    false => &mut [],
                };
                (
                    input(name, "momenta", self.momenta, 4 * legs)?,
                    value(name, "g_s", self.g_s)?,
                    input(name, "nhel", self.nhel, rows)?,
                    output(name, "matrix", matrix, self.ncomb)?,
                    amp2,
                    output(name, "jamp2", jamp2, flows)?,
                )
            };
            for (matrix, nhel) in matrix.iter_mut().zip(nhel.chunks_exact(legs)) {
                let row = row(&entry.bridge, nhel, entry.next_row).ok_or_else(|| {
                    argument_error(name, format!("the process has no helicities {nhel:?}"))
                })?;
                entry.next_row = row + 1;
                if entry.bridge.good_helicities().is_none() {
                    entry.bridge.one_event(momenta, g_s, false)?;
                }
                let good = entry.bridge.is_good(row) == Some(true);
                let event = (momenta, g_s, !good);
                *matrix = entry.bridge.add_row(event, row, amp2, jamp2)?;
            }
            Ok(())
        })
    }
}

/// Finds the row of the helicity table with these helicities. Callers go through the table in order, so the search
/// begins at `next`.
fn row(bridge: &Bridge, nhel: &[i32], next: usize) -> Option<usize> {
    let rows = &bridge.process().helicities;
    let same = |row: &Vec<i8>| row.iter().map(|&h| i32::from(h)).eq(nhel.iter().copied());
    let (before, behind) = rows.split_at(next.min(rows.len()));
    let found = behind.iter().position(same);
    found.map_or_else(
        || before.iter().position(same),
        |at| Some(before.len() + at),
    )
}
