//! Resource usage of the kernels of an engine.

use super::kernel_spec::{GENERATED_SHAPE, GeneratedPart, helicity_shape};
use super::launch::{Launch, answer_warps};
use super::slot::Arrays;
use super::thread_blocks::BY_EVENT;
use super::{Engine, LevelsKernel};
use crate::driver::Function;
use crate::level_schedule::{Amp2Source, ScheduleLevel};
use crate::shared_levels::LEVELS_THREADS;
use crate::source;
use mebridge_backend::{Kernel, Kernels};
use mebridge_support::error::Result;

impl Engine {
    /// Returns the kernels used by calls with or without channels.
    pub fn kernels(&self, channels: bool) -> Result<Kernels> {
        let legs = self.plan.masses.len();
        let lanes = self.lanes() as usize;
        let arrays = Arrays::new(lanes, legs);
        let copied = (arrays.input + arrays.output) / lanes;
        let which = self.which(channels, channels);
        let generated = which.and_then(|which| self.generated[which].as_ref());
        let generated = generated.and_then(|generated| generated.get());
        let sort = (channels, generated.is_some());
        let answer_threads = answer_warps((channels, channels)) * self.lanes();
        if let (Some(function), GeneratedPart::Whole) = (&generated, self.generated_part()) {
            let threads = GENERATED_SHAPE.0;
            let subsets = self.spec.as_ref().is_some_and(|r| r.subsets.is_some());
            let each = function.iter().enumerate().map(|(i, function)| {
                let name = if subsets && i == 0 {
                    "hoisted"
                } else {
                    "generated"
                };
                self.kernel(name, function, sort, threads, 0)
            });
            let mut each = each.collect::<Result<Vec<_>>>()?;
            if subsets {
                each.push(self.kernel("answer", &self.answer, sort, answer_threads, 0)?);
            }
            return Ok(Kernels {
                each,
                // Everything else stays in registers.
                bytes: 2 * self.vectors as usize * self.real() + copied,
            });
        }
        let mut each = vec![self.kernel("load", &self.load, sort, BY_EVENT, 0)?];
        let operations = |each: &mut Vec<Kernel>,
                          levels: &[ScheduleLevel],
                          launches: &[Vec<Launch>]| {
            let runs = levels.iter().flatten().zip(launches.iter().flatten());
            for (run, launch) in runs {
                let name = source::run_name(run.kind);
                match each.iter_mut().find(|kernel| kernel.name == name) {
                    Some(kernel) => kernel.launches += 1,
                    None => {
                        each.push(self.kernel(&name, &launch.function, sort, source::THREADS, 0)?)
                    }
                }
            }
            Ok(())
        };
        let parts = self.parts_of(generated.as_deref(), channels);
        match parts.levels {
            Some(LevelsKernel {
                function, levels, ..
            }) => {
                let shared = levels.bytes(self.double);
                each.push(self.kernel("levels", function, sort, LEVELS_THREADS, shared)?);
            }
            None => operations(&mut each, &self.tables.levels, &self.levels)?,
        }
        if let (Amp2Source::Totals { levels, .. }, true) = (&self.tables.squares, channels) {
            operations(&mut each, levels, &self.squares)?;
        }
        if let Some(loops) = &self.loops {
            for (name, function, launches, threads, shared) in loops.kernels() {
                let kernel = self.kernel(&name, function, sort, threads, shared)?;
                each.push(Kernel { launches, ..kernel });
            }
        } else if let Some(function) = parts.helicity {
            let (threads, _) =
                helicity_shape(self.tables.waves.len() as u32, self.double, self.lanes());
            each.push(self.kernel("helicity", function, sort, threads, 0)?);
        } else {
            let shared = if self.shared { self.workspace_bytes } else { 0 };
            let (function, threads) = (self.helicities()?, self.workspace_threads);
            each.push(self.kernel("helicities", function, sort, threads, shared)?);
        }
        if let Some(blas) = &self.blas {
            let threads = self.lanes() * super::blas::DOTS_THREADS;
            each.push(self.kernel("color_dots", blas.dots(), sort, threads, 0)?);
        }
        each.push(self.kernel("answer", &self.answer, sort, answer_threads, 0)?);
        Ok(Kernels {
            each,
            // Each number in working memory is written and read at least once.
            bytes: 2 * self.tables.vectors as usize * self.real() + copied,
        })
    }

    /// Returns the report of a kernel for calls with or without channels and generated code; the number of threads is a
    /// default.
    fn kernel(
        &self,
        name: &str,
        function: &Function,
        sort: (bool, bool),
        default: u32,
        shared: usize,
    ) -> Result<Kernel> {
        let (threads, tried) = self.chosen(sort, function, default);
        let usage = function.usage()?;
        Ok(Kernel {
            name: name.to_owned(),
            launches: 1,
            threads,
            tried,
            registers: usage.registers,
            local: usage.local,
            shared: usage.shared + shared,
            blocks: function.occupancy(threads, shared)?,
        })
    }
}
