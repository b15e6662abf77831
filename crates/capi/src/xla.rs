//! Foreign functions of XLA: JAX calls the library from within a compiled program, on the CPU and on GPUs.
//!
//! A caller registers [`mebridge_xla`] and [`mebridge_xla_cuda`] by address, as one function for the two platforms, so
//! the caller compiles nothing.
//!
//! | | |
//! |---|---|
//! | attributes | `requested`: a 64-bit integer, the sum of the flags of the optional arguments and results; `bridge`: the CPU bridge; `devices`: the GPU bridges by device ordinal, 0 where there is none; `refused`: the reason for missing ones |
//! | arguments | momenta `[..., legs, 4]`, alpha_s `[...]`, then as requested random numbers `[...]` for helicity (1), colour (2) and diagram (4); a colour needs a diagram. All are doubles |
//! | results | matrix elements `[...]`, then as requested helicity, colour, diagram `[...]` (32-bit integers, from 0), amp2 (8) `[..., diagrams, events]` |
//!
//! A bad event has NaN as its matrix element, and the call succeeds. On a GPU all work goes into the stream of the
//! call, which returns without waiting.

mod interface;

use super::c::{
    MebridgeBridge, MebridgeSample, evaluate_sample, evaluate_sample_on_device, with_bridge,
};
use super::no_panic;
use interface::{EXECUTE, F64, S32, XlaFrame, wrong};
use mebridge::error::Result;
use std::ffi::c_void;

const HELICITY: i64 = 1;
const COLOR: i64 = 2;
const DIAGRAM: i64 = 4;
const AMP2: i64 = 8;

/// The bridge that evaluates a call.
struct Evaluator {
    bridge: *mut MebridgeBridge,
    /// The CUstream of a call on a GPU.
    stream: Option<*mut c_void>,
}

/// Evaluates events in host memory; an XLA_FFI_Handler.
///
/// # Safety
/// Only XLA may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_xla(frame: *mut XlaFrame) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe { answer(frame, on_host) }
}

/// Evaluates events in the memory of an NVIDIA GPU; an XLA_FFI_Handler.
///
/// # Safety
/// Only XLA may call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_xla_cuda(frame: *mut XlaFrame) -> *mut c_void {
    // SAFETY: guaranteed by the caller.
    unsafe { answer(frame, on_device) }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn answer(
    frame: *const XlaFrame,
    evaluator: unsafe fn(&XlaFrame) -> Result<Evaluator>,
) -> *mut c_void {
    // SAFETY: XLA guarantees that the frame and its data stay valid during the call and have the sizes that they state.
    unsafe {
        let Some(frame) = frame.as_ref() else {
            return std::ptr::null_mut();
        };
        let answered = no_panic(|| {
            if frame.describes()? {
                return Ok(());
            }
            if frame.stage != EXECUTE {
                return Err(wrong("it is called to execute, and at no other stage"));
            }
            evaluate(&evaluator(frame)?, frame)
        });
        match answered {
            Ok(()) => std::ptr::null_mut(),
            Err(error) => frame.failed(&error.to_string()),
        }
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn on_host(frame: &XlaFrame) -> Result<Evaluator> {
    // SAFETY: guaranteed by the caller.
    let bridge = unsafe { frame.integer("bridge") }?;
    Ok(Evaluator {
        bridge: bridge as usize as *mut MebridgeBridge,
        stream: None,
    })
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn on_device(frame: &XlaFrame) -> Result<Evaluator> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let devices = frame.integers("devices")?;
        let there = || devices.iter().filter(|&&bridge| bridge != 0).count();
        let ordinal = match frame.ordinal()? {
            Some(ordinal) => ordinal,
            None if there() < 2 => devices.iter().position(|&bridge| bridge != 0).unwrap_or(0),
            None => {
                return Err(wrong(
                    "this XLA does not say which of several GPUs it means; install a later JAX, or let it see one GPU \
                     (CUDA_VISIBLE_DEVICES)",
                ));
            }
        };
        match devices.get(ordinal) {
            Some(&bridge) if bridge != 0 => Ok(Evaluator {
                bridge: bridge as usize as *mut MebridgeBridge,
                stream: Some(frame.stream()?),
            }),
            _ => Err(wrong(format!(
                "GPU {ordinal} does not evaluate this process: {}",
                frame.text("refused")?
            ))),
        }
    }
}

/// Returns the number of events of a shape. It is an error if the bytes of all events, with at most `each` numbers per
/// event, overflow an integer.
fn product(shape: &[i64], each: i64) -> Result<i64> {
    let events = shape.iter().try_fold(1i64, |all, &n| all.checked_mul(n));
    // The size in bytes must fit, too.
    let bytes = |events: i64| events.checked_mul(each)?.checked_mul(8);
    let events = events.filter(|&events| events >= 0 && bytes(events).is_some());
    events.ok_or_else(|| wrong(format!("no memory holds events of the shape {shape:?}")))
}

/// The element of an array, if there is one.
fn at<T>(first: *mut T, index: i64) -> *mut T {
    match first.is_null() {
        true => first,
        false => first.wrapping_offset(index as isize),
    }
}

/// # Safety
/// As for [`mebridge_xla`].
unsafe fn evaluate(evaluator: &Evaluator, frame: &XlaFrame) -> Result<()> {
    let bridge = evaluator.bridge;
    let sizes = with_bridge(bridge, |entry| {
        let process = entry.bridge.process();
        Ok((process.legs.len() as i64, i64::from(process.diagrams)))
    });
    let gone =
        |_| wrong("the process is gone; keep it for as long as the compiled function is called");
    let (legs, diagrams) = sizes.map_err(gone)?;
    // SAFETY: as for the function; shapes are checked before their buffers are passed on.
    unsafe {
        let requested = frame.integer("requested")?;
        let (arguments, results) = (frame.arguments.list(), frame.results.list());
        let choices = (requested & (HELICITY | COLOR | DIAGRAM)).count_ones() as usize;
        let wanted = (
            2 + choices,
            1 + choices + usize::from(requested & AMP2 != 0),
        );
        if (arguments.len(), results.len()) != wanted
            || (requested & COLOR != 0 && requested & DIAGRAM == 0)
        {
            return Err(wrong(format!(
                "{} arguments and {} results are no call with {requested} requested",
                arguments.len(),
                results.len()
            )));
        }
        let shape = arguments[0].shape();
        let split = shape.len().checked_sub(2).unwrap_or(shape.len());
        if shape[split..] != [legs, 4] {
            return Err(wrong(format!(
                "momenta have the shape {shape:?}; this process needs (..., {legs}, 4)"
            )));
        }
        let events = product(&shape[..split], 4 * legs.max(diagrams))?;
        // Under vmap, squared diagrams are split into parts.
        let mut part = events;
        if requested & AMP2 != 0 {
            part = results[results.len() - 1]
                .shape()
                .last()
                .copied()
                .unwrap_or(0);
        }
        let momenta: *mut f64 = arguments[0].numbers("momenta", F64, 4 * legs * events)?;
        let alpha_s: *mut f64 = arguments[1].numbers("alpha_s", F64, events)?;
        let mut random = [std::ptr::null_mut::<f64>(); 3];
        let mut chosen = [std::ptr::null_mut::<i32>(); 3];
        let mut next = 0;
        for (i, flag) in [HELICITY, COLOR, DIAGRAM].into_iter().enumerate() {
            if requested & flag != 0 {
                random[i] = arguments[2 + next].numbers("a random number", F64, events)?;
                chosen[i] = results[1 + next].numbers("a choice", S32, events)?;
                next += 1;
            }
        }
        let matrix_elements: *mut f64 = results[0].numbers("the result", F64, events)?;
        let amp2: *mut f64 = match requested & AMP2 {
            0 => std::ptr::null_mut(),
            _ => results[1 + next].numbers("amp2", F64, diagrams * events)?,
        };
        if events == 0 || part == 0 {
            return Ok(());
        }
        if events % part != 0 {
            return Err(wrong(format!(
                "amp2 has parts of {part} events, and there are {events}"
            )));
        }
        for first in (0..events).step_by(part as usize) {
            let mut sample = MebridgeSample {
                size: size_of::<MebridgeSample>(),
                events: part as usize,
                momenta: at(momenta, 4 * legs * first),
                momenta_strides: [4 * legs as isize, 4, 1],
                alpha_s: at(alpha_s, first),
                random_helicity: at(random[0], first),
                random_color: at(random[1], first),
                random_diagram: at(random[2], first),
                fixed_helicity: std::ptr::null(),
                fixed_diagram: std::ptr::null(),
                matrix_elements: at(matrix_elements, first),
                helicity: at(chosen[0], first),
                color: at(chosen[1], first),
                diagram: at(chosen[2], first),
                amp2: at(amp2, diagrams * first),
                amp2_stride: part as usize,
                bad_events: 0,
                fixed_color: std::ptr::null(),
            };
            let sample = &raw mut sample;
            let done = match evaluator.stream {
                None => evaluate_sample("mebridge_evaluate", bridge, sample),
                Some(stream) => {
                    let name = "mebridge_evaluate_on_device";
                    evaluate_sample_on_device(name, bridge, sample, stream)
                }
            };
            done.map_err(|error| wrong(error.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
