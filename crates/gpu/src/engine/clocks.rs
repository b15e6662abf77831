//! Clocks that tell colour sums from amplitudes, where a profile requests them.
//!
//! One kernel does both. For a profile it is compiled once more with clocks in it (`cuda/clocks.cuh`). Each warp adds
//! up the cycles that it spends in amplitudes and in colour sums; their ratio divides the time of the kernel. Colour
//! sums by cuBLAS and those of loops are between events of the driver.

use super::slot::Slot;
use super::{Engine, Phase};
use crate::driver::{Buffer, Function, Pointer};
use crate::generated::Generated;
use crate::source;
use mebridge_backend::Clocks;
use mebridge_support::error::Result;
use std::sync::Arc;

/// Numbers that the kernels add to: cycles in amplitudes and in colour sums.
type Cycles = [u64; 2];

/// Kernels with clocks in them, as far as they have been requested.
#[derive(Default)]
pub(super) struct Clocked {
    /// The kernel of helicities.
    helicities: Option<Arc<[Function]>>,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
}

impl Engine {
    /// What is launched for kernels that end with a colour sum: those with clocks in them, if a profile asks
    /// for them and there are any: for generated code of this number, or for the tables. Without them nothing
    /// is lost but the profile's division.
    pub(super) fn clocked(&mut self, generated: Option<usize>) -> Result<Option<Arc<[Function]>>> {
        if self.clocks != Clocks::Kernels {
            return Ok(None);
        }
        if let Some(which) = generated {
            let Some(spec) = self.spec.clone() else {
                return Ok(None);
            };
            let code = self.clocked.generated[which].get_or_insert_with(|| {
                Generated::begin(&self.library, move || spec.unit(which > 0, true))
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
    /// The chunk that comes next uses these kernels.
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
        // What a call that failed has left.
        self.sums.take();
        Ok(())
    }

    /// What is launched for the kernel of this number, and what its clocks add to: the same with clocks and
    /// an address, if there is one.
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

    /// Moves the time of colour sums out of that of amplitudes, in which it was counted; the chunk is done.
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
