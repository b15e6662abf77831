//! Preparation for samples: compilation of their kernels, and comparison with the tables, before the first sample.

use super::{Ends, Tail};
use crate::driver::{Buffer, Function, bytes, bytes_mut};
use crate::engine::Engine;
use crate::engine::kernel_spec::GeneratedPart;
use crate::generated::Generated;
use mebridge_backend::inputs::{Inputs, PerEvent};
use mebridge_backend::sample::{DeviceSample, MatrixElementOffsets, Strides};
use mebridge_backend::trial::Trial;
use mebridge_support::error::{Error, Result};
use mebridge_support::message::say;
use std::sync::Arc;

impl Engine {
    /// Compiles and compares the code for samples; later calls do nothing.
    pub fn prepare_samples(&mut self) -> Result<()> {
        if self.samples.ends.is_some() {
            return Ok(());
        }
        if !self.tables.formula_couplings.is_empty() {
            // They are computed by the CPU, which has no access to alpha_s.
            return Err(Error::NotOnGpu {
                what: "samples with couplings that are no polynomials in the strong one (parameters that run may have \
                       one scale: entry 2 of their block RUNNING_... in the card)"
                    .into(),
            });
        }
        let unit = self.shape.ends_of_samples();
        let function = |name: &str| self.library.function(&unit, name, 0);
        let ends = Ends {
            load: function("load_sample")?,
            sum_parts: function("sum_parts")?,
            answer: function("answer_sample")?,
        };
        if self.samples.tail.is_none() {
            self.samples.tail = Some(Tail::new(self.library.driver())?);
        }
        self.samples.ends = Some(ends);
        if !self.options.samples_wait {
            return Ok(());
        }
        self.samples.settled = [true; 2];
        let prepared = match self.generated_part() {
            GeneratedPart::Whole => self.prepare_generated(),
            GeneratedPart::Helicity | GeneratedPart::Levels => self.prepare_parts(),
        };
        if prepared.is_err() {
            self.samples.ends = None;
        }
        prepared
    }

    /// Prepares kernels that are those of calls.
    fn prepare_parts(&mut self) -> Result<()> {
        let Some(trial) = self.trial.clone() else {
            return Ok(());
        };
        self.prepare(self.lanes() as usize, 1)?;
        let kinds = self.kinds_of_samples(&trial);
        for inputs in &kinds {
            self.generated(inputs.channel.is_some(), inputs.config.is_some());
        }
        self.wait_for_compiler();
        for (which, inputs) in kinds.iter().enumerate() {
            if self.verify_generated(inputs)? {
                self.samples.generated[which] = self.generated(which > 0, which > 0);
            }
        }
        Ok(())
    }

    /// Returns calls that correspond to samples without and, if the process has any, with diagrams.
    fn kinds_of_samples<'a>(&self, trial: &'a Trial) -> Vec<Inputs<'a>> {
        let plain = Inputs::without_channels(trial.points());
        let first = Some(PerEvent::Same(0));
        let with_channels = Inputs {
            channel: first,
            config: first,
            ..plain
        };
        let mut kinds = vec![plain];
        if !self.plan.channels().is_empty() {
            kinds.push(trial.inputs_like(&with_channels));
        }
        kinds
    }

    /// Starts to compile generated code for samples, or returns existing code.
    pub(super) fn settle(&mut self, which: usize) -> Result<()> {
        let spec = match &self.spec {
            Some(spec) if !self.samples.settled[which] => spec.clone(),
            _ => return Ok(()),
        };
        let Some(trial) = self.trial.clone() else {
            return Ok(());
        };
        if self.generated_part() != GeneratedPart::Whole {
            let kinds = self.kinds_of_samples(&trial);
            let Some(inputs) = kinds.get(which) else {
                self.samples.settled[which] = true;
                return Ok(());
            };
            let (channels, colors) = (inputs.channel.is_some(), inputs.config.is_some());
            let begun = self.begin_generated(channels, colors);
            if begun.is_some_and(|generated| generated.ready().is_some()) {
                self.prepare(self.lanes() as usize, 1)?;
                self.samples.settled[which] = true;
                if self.verify_generated(inputs)? {
                    self.samples.generated[which] = self.generated(channels, colors);
                }
            }
            return Ok(());
        }
        let library = &self.library;
        let pending = self.samples.pending[which].get_or_insert_with(|| {
            Generated::begin(library, move || spec.units_of_samples(which > 0))
        });
        if let Some(functions) = pending.ready() {
            self.samples.settled[which] = true;
            if self.agrees(which, &functions)? {
                self.samples.generated[which] = Some(functions);
            }
        }
        Ok(())
    }

    /// Prepares code for whole events and subsets.
    fn prepare_generated(&mut self) -> Result<()> {
        let Some(spec) = self.spec.clone() else {
            return Ok(());
        };
        let begin = |which| {
            let spec = spec.clone();
            Generated::begin(&self.library, move || spec.units_of_samples(which > 0))
        };
        // Both are compiled concurrently.
        let generated = [begin(0), begin(1)];
        for (which, generated) in generated.iter().enumerate() {
            if let Some(functions) = generated.wait_for_compiler()
                && self.agrees(which, &functions)?
            {
                self.samples.generated[which] = Some(functions);
            }
        }
        Ok(())
    }

    /// Returns whether generated code agrees with the tables at the trial points.
    fn agrees(&mut self, which: usize, functions: &Arc<[Function]>) -> Result<bool> {
        let Some(trial) = self.trial.clone() else {
            return Ok(false);
        };
        let points = trial.points();
        let count = points.count().min(self.lanes() as usize);
        let rows_of_points = points.momenta.part(0, count).to_rows();
        let diagrams = self.plan.channels().amp2_of_diagram.len();
        let rows = if which > 0 { diagrams } else { 0 };
        let driver = self.library.driver().clone();
        let momenta = Buffer::new(&driver, size_of_val(&*rows_of_points))?;
        let mut values = [(); 2].map(|()| vec![0.0f64; count * (1 + rows)]);
        let answers = Buffer::new(&driver, 8 * values[0].len())?;
        let Some(stream) = self.samples.tail.as_ref().map(|tail| tail.stream.clone()) else {
            return Ok(false);
        };
        let answer = |row: usize| answers.pointer() + (8 * count * row) as u64;
        let sample = DeviceSample {
            events: count,
            momenta: momenta.pointer(),
            strides: Strides::of_rows(self.legs()),
            default_g_s: points.g_s[0],
            matrix_elements: answer(0),
            amp2: if rows > 0 { answer(1) } else { 0 },
            amp2_stride: count,
            element: MatrixElementOffsets::single(diagrams),
            ..DeviceSample::empty()
        };
        for (values, generated) in values.iter_mut().zip([None, Some(functions)]) {
            // SAFETY: the buffers have this size and, like the arrays, live until the stream has been synchronised.
            let done = unsafe {
                stream
                    .upload(momenta.pointer(), bytes(&rows_of_points))
                    .and_then(|()| self.enqueue_sample(&sample, &stream, generated))
                    .and_then(|()| stream.download(bytes_mut(values), answers.pointer()))
            };
            stream.synchronize()?;
            done?;
        }
        let tolerance = self.tolerance_of_generated();
        let [tables, generated] = &values;
        let scale = self.scale(&tables[..count]);
        // Shares below a thousandth may have larger relative differences.
        let agrees = tables.iter().zip(generated).enumerate().all(|(i, (a, b))| {
            let least = if i < count { scale } else { 1e-3 };
            (a - b).abs() <= tolerance * a.abs().max(least) || a == b
        });
        if !agrees {
            say(
                "generated code for samples on this GPU does not agree with the tables and is not used; please report it",
            );
        }
        Ok(agrees)
    }
}
