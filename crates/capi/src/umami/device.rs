//! A call whose arrays lie in GPU memory: all of its work goes into the caller's stream.

use super::call::{Call, NAME};
use super::matrix_elements::{Compiled, MatrixElements, default_g_s};
use super::{Answer, wrong};
use mebridge::sample::{DeviceSample, MatrixElementOffsets, Strides};

/// Returns the address of an array's first event; 0 if there is no such array.
fn address<T>(array: Option<*const T>, offset: usize) -> u64 {
    array.map_or(0, |array| array.wrapping_add(offset) as usize as u64)
}

/// Returns the array of the matrix elements, of which there is one squared order.
fn matrix_elements(call: &Call) -> Answer<Option<*mut f64>> {
    match (call.matrix_element, call.squared_orders) {
        (Some(_), Some(_)) => Err(wrong(
            NAME,
            "a GPU writes matrix elements or squared orders; ask for one of them",
        )),
        (matrix_elements, squared) => Ok(matrix_elements.or(squared)),
    }
}

/// Queues all work for the events of a call in its stream. If the flavour index selects among several matrix elements,
/// each of them processes all events and answers its own.
///
/// # Safety
/// The arrays of the call are as their keys require and stay valid in GPU memory until its stream has completed the
/// work.
pub unsafe fn run(elements: &MatrixElements, compiled: &Compiled, call: &Call) -> Answer {
    let (part, tables) = (call.part, &elements.tables);
    let doubles = |array| address::<f64>(array, part.offset);
    let indices = |array| address::<i32>(array, part.offset);
    let samplers = compiled.on_device();
    let matrix_elements = matrix_elements(call)?;
    let count = match call.flavor {
        Some(_) => samplers.len(),
        None => 1,
    };
    for (index, sampler) in samplers.iter().take(count).enumerate() {
        let sample = DeviceSample {
            events: part.count,
            momenta: doubles(Some(call.momenta)),
            strides: Strides {
                event: 1,
                leg: part.stride as isize,
                component: (part.stride * elements.processes[index].legs.len()) as isize,
            },
            alpha_s: doubles(call.alpha_s),
            default_g_s: default_g_s(elements, compiled),
            random_helicity: doubles(call.random_helicity),
            random_color: doubles(call.random_color),
            random_diagram: doubles(call.random_diagram),
            fixed_helicity: indices(call.helicity),
            fixed_diagram: indices(call.diagram),
            flavor: indices(call.flavor),
            matrix_elements: doubles(matrix_elements.map(<*mut f64>::cast_const)),
            helicity: indices(call.chosen_helicity.map(<*mut i32>::cast_const)),
            color: indices(call.chosen_color.map(<*mut i32>::cast_const)),
            diagram: indices(call.chosen_diagram.map(<*mut i32>::cast_const)),
            leading_color: 0,
            amp2: doubles(call.amp2.map(<*mut f64>::cast_const)),
            amp2_stride: part.stride,
            stream: call.stream,
            element: MatrixElementOffsets {
                index,
                count: samplers.len(),
                helicity: tables.helicities.first[index],
                color: tables.colors.first[index],
                diagram: tables.diagrams.first[index],
                diagrams: tables.diagrams.count,
            },
        };
        // SAFETY: guaranteed by the caller.
        unsafe { sampler.run(&sample)? };
    }
    Ok(())
}
