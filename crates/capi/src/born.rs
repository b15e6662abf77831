//! Borns for C and Python, with their colour links, complex Borns and squared amplitudes.

use super::c::{os_string, status};
use super::no_panic;
use super::pointers::{
    CallerArray, PointerAccess, c_name, check_apart, input, output, string, write,
};
use super::registry::Registry;
use mebridge::born::{BornAnswer, BornBridge};
use mebridge::error::{Error, Result};
use mebridge::runtime::Switches;
use std::ffi::{CString, c_char};
use std::path::PathBuf;

/// An open Born. Opaque: only pass it on.
pub struct MebridgeBorn {
    _private: [u8; 0],
}

/// An open Born and its description.
pub(super) struct OpenBorn {
    bridge: BornBridge,
    description: CString,
    emissions: CString,
}

/// The open Borns; their handles spell `born`.
pub(super) static OPEN: Registry<OpenBorn> = Registry::new("Born", 0x626f_726e_0000_0001);

/// Opens a Born, and puts a handle into `born`. `process` is a subprocess directory of MG5aMC's aMC@NLO
/// (`SubProcesses/P*` with a `born.f`), one of MadEvent, a process file, or a process such as `g g > t t~`, which is
/// generated with `model` (NULL: that of `CUDACPP_RUNTIME_MODEL`, else the Standard Model). `card` is a parameter card;
/// NULL: that of the output or the model. It is evaluated on the CPU.
///
/// # Safety
/// `process`, and `card` and `model` where they are not NULL, end in NUL; `born` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_born_open(
    process: *const c_char,
    card: *const c_char,
    model: *const c_char,
    born: *mut *mut MebridgeBorn,
) -> i32 {
    const NAME: &str = "mebridge_born_open";
    status(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "born", born, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let name = PathBuf::from(os_string(unsafe { string(NAME, "process", process) }?));
        let path = |argument: &str, text: *const c_char| match text.is_null() {
            true => Ok(None),
            // SAFETY: as above.
            false => unsafe { string(NAME, argument, text) }
                .map(|text| Some(PathBuf::from(os_string(text)))),
        };
        let (card, model) = (path("card", card)?, path("model", model)?);
        let mut switches = Switches::from_env()?;
        switches.model = model.or(switches.model);
        let bridge = BornBridge::open(&name, card.as_deref(), &switches)?;
        let process = bridge.process();
        let links: Vec<[usize; 2]> = bridge.links().iter().map(|link| link.legs).collect();
        let legs: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
        let description = serde_json::json!({
            "name": process.name,
            "legs": legs,
            "incoming": process.legs.iter().filter(|leg| leg.incoming).count(),
            "first_helicity": process.helicities.first(),
            "links": links,
            "amplitudes": process.amplitudes.vertices().len(),
        });
        let description = c_name(&description.to_string());
        let handle = OPEN.add(OpenBorn {
            bridge,
            description,
            emissions: CString::default(),
        });
        // SAFETY: as above.
        unsafe { write(NAME, "born", born, handle as usize as *mut MebridgeBorn) }
    })
}

/// Closes a handle. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_born_close(born: *mut MebridgeBorn) {
    // A handle that is not open counts as closed.
    let _ = no_panic(|| OPEN.remove(born as usize as u64));
}

/// Returns JSON about a Born: its `name`, the PDG codes of its `legs`, how many are `incoming`, the helicity of each leg in
/// the first row of its table (`first_helicity`; complex Borns depend on it), the pairs of legs (from 0) that it `links`,
/// and the number of its `amplitudes`. Valid until the handle is closed. NULL if there is no such Born.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_born_description(born: *const MebridgeBorn) -> *const c_char {
    let mut text = std::ptr::null();
    status(|| {
        OPEN.with(born as usize as u64, |open| {
            text = open.description.as_ptr();
            Ok(())
        })
    });
    text
}

/// Returns JSON about the real emissions that a Born is the limit of, with quarks up to the PDG code `flavors` as
/// massless partons: a list with the `process` by PDG codes (the Born's legs in their order, then the emitted parton), the
/// `leg` (from 0) that splits, and whether it is `soft` and `collinear`. Valid until the next call for this Born. NULL if
/// there is no such Born, or `flavors` is not from 0 to 6.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_born_emissions(born: *mut MebridgeBorn, flavors: i32) -> *const c_char {
    let mut text = std::ptr::null();
    status(|| {
        if !(0..=6).contains(&flavors) {
            return Err(Error::Call {
                function: "mebridge_born_emissions",
                what: format!("flavors is {flavors}; it must be from 0 to 6"),
            });
        }
        OPEN.with(born as usize as u64, |open| {
            let all = open.bridge.emissions(flavors);
            open.emissions = c_name(&serde_json::json!(all).to_string());
            text = open.emissions.as_ptr();
            Ok(())
        })
    });
    text
}

/// Evaluates `events` points. In: `momenta[events][legs][4]` in GeV, `g_s[events]`.
///
/// Out; each may be NULL:
/// - `borns[events]`: |M|^2, averaged over initial helicities and colours;
/// - `links[events][links]`: B_ij of each link without a factor g_s^2, MG5aMC's `SB_SF_<n>`: the sum over j != i is
///   -C_i times the Born, and a leg linked with itself has C_i / 2 times the Born;
/// - `complex_borns[events][legs][2]`: real and imaginary part of the complex Born of each leg, MG5aMC's `ANS(2,...)`;
///   NaN for legs that are no massless vectors;
/// - `amp2[events][amplitudes]`: the sum over helicities of the squared modulus of each amplitude, not averaged, MG5aMC's
///   AMP2.
///
/// # Safety
/// The arrays have these lengths, and no output overlaps another array.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_born_evaluate(
    born: *mut MebridgeBorn,
    events: usize,
    momenta: *const f64,
    g_s: *const f64,
    borns: *mut f64,
    links: *mut f64,
    complex_borns: *mut f64,
    amp2: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_born_evaluate";
    status(|| {
        OPEN.with(born as usize as u64, |open| {
            let (legs, count) = (open.bridge.process().legs.len(), open.bridge.links().len());
            let length = |each: usize| {
                let too_many = || Error::NoMemoryForEvents { nevt: events };
                events.checked_mul(each).ok_or_else(too_many)
            };
            let lengths = [
                length(4 * legs)?,
                length(1)?,
                length(count)?,
                length(2 * legs)?,
                length(open.bridge.process().amplitudes.vertices().len())?,
            ];
            let read = |array, n| CallerArray::new::<f64>(array, n, PointerAccess::Read);
            let written = |array, n| CallerArray::new::<f64>(array, n, PointerAccess::Write);
            check_apart(
                NAME,
                [
                    ("momenta", read(momenta, lengths[0])),
                    ("g_s", read(g_s, lengths[1])),
                    ("borns", written(borns, lengths[1])),
                    ("links", written(links, lengths[2])),
                    ("complex_borns", written(complex_borns, lengths[3])),
                    ("amp2", written(amp2, lengths[4])),
                ],
            )?;
            // SAFETY: guaranteed by the caller; NULL and misalignment are rejected, and no output overlaps an input.
            let (momenta, g_s) = unsafe {
                (
                    input(NAME, "momenta", momenta, lengths[0])?,
                    input(NAME, "g_s", g_s, lengths[1])?,
                )
            };
            // SAFETY: as above.
            let mut outputs = unsafe {
                [
                    optional(NAME, "borns", borns, lengths[1])?,
                    optional(NAME, "links", links, lengths[2])?,
                    optional(NAME, "complex_borns", complex_borns, lengths[3])?,
                    optional(NAME, "amp2", amp2, lengths[4])?,
                ]
            };
            let mut answer = BornAnswer::default();
            for (event, momenta) in momenta.chunks_exact(4 * legs).enumerate() {
                open.bridge.evaluate(momenta, g_s[event], &mut answer)?;
                let complex = answer
                    .complex
                    .iter()
                    .flat_map(|z| z.map_or([f64::NAN; 2], |z| [z.re, z.im]));
                let complex: Vec<f64> = complex.collect();
                let parts = [
                    std::slice::from_ref(&answer.born),
                    &answer.links,
                    &complex,
                    &answer.amp2,
                ];
                for (to, from) in outputs.iter_mut().zip(parts) {
                    if let Some(to) = to {
                        to[event * from.len()..][..from.len()].copy_from_slice(from);
                    }
                }
            }
            Ok(())
        })
    })
}

/// Returns an output, or `None` if it is NULL.
///
/// # Safety
/// As for [`output`].
unsafe fn optional<'a>(
    function: &'static str,
    name: &'static str,
    array: *mut f64,
    length: usize,
) -> Result<Option<&'a mut [f64]>> {
    match array.is_null() {
        true => Ok(None),
        // SAFETY: guaranteed by the caller.
        false => unsafe { output(function, name, array, length) }.map(Some),
    }
}
