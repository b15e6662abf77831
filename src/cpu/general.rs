//! The general path: any Lorentz structure, by its own arithmetic, one event after the other.
//!
//! Operands are laid out as [`crate::plan::kernel::Layout::of_routine`] says.

use super::kernels::{Inputs, Memory};
use super::simd::{Real, Simd};
use crate::plan::kernel::Layout;
use crate::process::lorentz::Routine;
use num_complex::Complex64;
use std::marker::PhantomData;

/// A routine that no kernel knows.
pub struct General<T> {
    routine: Routine,
    layout: Layout,
    precision: PhantomData<T>,
}

impl<T: Real> General<T> {
    /// The general path of a routine.
    pub fn new(routine: &Routine) -> Self {
        General {
            routine: routine.clone(),
            layout: Layout::of_routine(routine),
            precision: PhantomData,
        }
    }

    /// Runs a batch of operations.
    ///
    /// # Safety
    /// As for [`super::kernels::run`].
    #[inline(always)]
    pub unsafe fn run<V: Simd<Scalar = T>, I: Inputs>(
        &self,
        operands: &[u32],
        inputs: I,
        base: *mut T,
    ) {
        let m = Memory::<V>::new(base);
        for op in operands.chunks_exact(self.layout.len()) {
            for lane in 0..V::LANES {
                // SAFETY: the caller's promise.
                unsafe { self.event(op, inputs, m, lane) };
            }
        }
    }

    unsafe fn event<V: Simd<Scalar = T>, I: Inputs>(
        &self,
        op: &[u32],
        inputs: I,
        m: Memory<V>,
        lane: usize,
    ) {
        // SAFETY: the caller's promise.
        let number = |address: u32| unsafe { (*m.pointer(address).add(lane)).to_f64() };
        let (meeting, rest) = op.split_at(self.layout.inputs);
        let (factors, rest) = rest.split_at(self.layout.factors);
        let (momenta, rest) = rest.split_at(self.layout.inputs);
        let (masses, result) = rest.split_at(self.layout.masses);
        let mut arguments = Vec::new();
        for ((&input, &p), &size) in meeting.iter().zip(momenta).zip(&self.routine.inputs) {
            arguments.push(Complex64::new(number(p), number(p + 3)));
            arguments.push(Complex64::new(number(p + 1), number(p + 2)));
            // SAFETY: the caller's promise.
            let address = unsafe { inputs.address(input) };
            for component in 0..size - 2 {
                let at = address + 2 * component;
                arguments.push(Complex64::new(number(at), number(at + 1)));
            }
        }
        arguments.extend(
            factors
                .iter()
                .map(|&f| Complex64::new(number(f), number(f + 1))),
        );
        arguments.extend(masses.iter().map(|&x| Complex64::new(number(x), 0.0)));
        let values = self.routine.program.evaluate(&arguments);
        let skip = if self.layout.amplitude { 0 } else { 2 };
        for (i, &output) in self.routine.outputs[skip..].iter().enumerate() {
            let value = values[output as usize];
            let at = result[0] + 2 * i as u32;
            // SAFETY: the caller's promise.
            unsafe {
                *m.pointer(at).add(lane) = T::from_f64(value.re);
                *m.pointer(at + 1).add(lane) = T::from_f64(value.im);
            }
        }
    }
}
