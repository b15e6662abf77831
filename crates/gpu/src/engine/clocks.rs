//! Clocks that separate colour sums from amplitudes, if a profile requests them.
//!
//! One kernel computes both. For a profile, it is compiled again with clocks (`cuda/clocks.cuh`). Each warp counts the
//! cycles that it spends in amplitudes and in colour sums, and the time of the kernel is divided in this ratio. Colour
//! sums by cuBLAS and those of loops are timed by driver events.

use super::slot::Slot;
use super::{Engine, Phase};
use crate::driver::{Buffer, Function, Pointer};
use crate::generated::Generated;
use crate::source;
use mebridge_backend::Clocks;
use mebridge_support::error::Result;
use std::sync::Arc;

/// Cycle counts added up by kernels: in amplitudes and in colour sums.
type Cycles = [u64; 2];

/// Kernels with clocks, compiled on request.
#[derive(Default)]
pub(super) struct Clocked {
    /// The kernel `helicities`.
    helicities: Option<Arc<[Function]>>,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
}

impl Engine {
    /// Returns the kernels with clocks, if a profile requests them and they exist: for generated code with this number,
    /// or for tables. Without them, a profile does not separate colour sums.
    pub(super) fn clocked(&mut self, generated: Option<usize>) -> Result<Option<Arc<[Function]>>> {
        if self.clocks != Clocks::Kernels {
            return Ok(None);
        }
        if let Some(which) = generated {
            let Some(spec) = self.spec.clone() else {
                return Ok(None);
            };
            let code = self.clocked.generated[which].get_or_insert_with(|| {
                Generated::begin(&self.library, move || spec.units(which > 0, true))
            });
            return Ok(code.wait_for_compiler());
        }
        if self.blas.is_some() || self.loops.is_some() {
            return Ok(None);
        }
        if self.clocked.helicities.is_none() {
            let kinds = source::amplitude_kinds(&self.tables);
            let unit = self
                .shape
                .helicities(&kinds, &self.plan.operations().general, true);
            let shared = if self.shared { self.workspace_bytes } else { 0 };
            let function = self.library.function(&unit, "helicities", shared)?;
            self.clocked.helicities = Some([function].into());
        }
        Ok(self.clocked.helicities.clone())
    }
}

impl Slot {
    /// Sets the kernels with clocks for the next chunk.
    pub(super) fn set_clocked(&mut self, clocked: Option<Arc<[Function]>>) -> Result<()> {
        if clocked.is_some() {
            if self.cycles.is_none() {
                let bytes = size_of::<Cycles>();
                self.cycles = Some(Buffer::new(self.stream.driver(), bytes)?);
            }
            if let Some(cycles) = &self.cycles {
                self.stream.clear(cycles, 0)?;
            }
        }
        self.clocked = clocked;
        // Remove events left by a failed call.
        self.sums.take();
        Ok(())
    }

    /// Returns the kernel with clocks that replaces the kernel with this number, and the address of its cycle counts.
    /// If there is none, returns the kernel itself and 0.
    pub(super) fn with_clocks<'a>(
        &'a self,
        number: usize,
        function: &'a Function,
    ) -> (&'a Function, Pointer) {
        let clocked = self.clocked.as_ref().and_then(|all| all.get(number));
        match (clocked, &self.cycles) {
            (Some(clocked), Some(cycles)) => (clocked, cycles.pointer()),
            _ => (function, 0),
        }
    }

    /// Moves the time of colour sums from amplitudes, in which it was included, to its own phase. The chunk must have
    /// finished.
    pub(super) fn divide(&self, seconds: &mut [f64; Phase::ALL.len()]) -> Result<()> {
        let all = &mut seconds[Phase::Amplitudes as usize];
        let mut color = 0.0;
        for [before, after] in self.sums.take() {
            color += before.seconds(&after)?;
        }
        if let (Some(_), Some(cycles)) = (&self.clocked, &self.cycles) {
            let mut bytes = [[0; 8]; 2];
            self.stream.read(bytes.as_flattened_mut(), cycles)?;
            let [amplitudes, of_color]: Cycles = bytes.map(u64::from_ne_bytes);
            let share = of_color as f64 / (amplitudes + of_color).max(1) as f64;
            color += share * *all;
        }
        let color = color.min(*all);
        *all -= color;
        seconds[Phase::Color as usize] += color;
        Ok(())
    }
}
