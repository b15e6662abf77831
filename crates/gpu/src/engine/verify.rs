//! Choice of generated code for a call, and its comparison with the tables.

use super::Engine;
use super::chunks::{Evaluation, NONE_BAD};
use super::kernel_spec::GeneratedPart;
use crate::driver::Function;
use crate::generated::Generated;
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_process::HelicitySum;
use mebridge_support::error::Result;
use mebridge_support::message::say;
use std::sync::Arc;

impl Engine {
    /// Returns the generated code for a call, if it is ready.
    pub(super) fn generated(&mut self, channels: bool, colors: bool) -> Option<Arc<[Function]>> {
        let is_levels = self.generated_part() == GeneratedPart::Levels;
        let generated = self.begin_generated(channels, colors)?;
        match is_levels {
            // Tables are nearly as fast.
            true => generated.ready(),
            false => generated.get(),
        }
    }

    /// The same, whether or not it is ready.
    pub(super) fn begin_generated(&mut self, channels: bool, colors: bool) -> Option<&Generated> {
        let which = self.which(channels, colors)?;
        let spec = self.spec.as_ref()?;
        let generated = self.generated[which].get_or_insert_with(|| {
            let spec = spec.clone();
            Generated::begin(&self.library, move || spec.units(which > 0, false))
        });
        Some(generated)
    }

    /// Returns the number of the generated kernel for a call.
    pub(super) fn which(&self, channels: bool, colors: bool) -> Option<usize> {
        match self.generated_part() {
            GeneratedPart::Levels => {
                let spec = self.spec.as_ref()?;
                let has_squares = spec.levels_before_squares.is_some();
                Some(usize::from(has_squares && (channels || colors)))
            }
            GeneratedPart::Helicity => Some(usize::from(channels || colors)),
            GeneratedPart::Whole if colors && !channels => None,
            GeneratedPart::Whole => Some(usize::from(channels)),
        }
    }

    /// Returns whether generated code is used for such calls: it is ready, and has agreed with the tables at the trial
    /// points. (A caller's first events might have cancelling terms.)
    pub(super) fn verify_generated(&mut self, inputs: &Inputs) -> Result<bool> {
        let (channels, colors) = (inputs.channel.is_some(), inputs.config.is_some());
        let Some(which) = self.which(channels, colors) else {
            return Ok(false);
        };
        if self.generated(channels, colors).is_none() {
            return Ok(false);
        }
        if self.generated[which].as_ref().is_some_and(|g| g.checked) {
            return Ok(true);
        }
        let trial = self.trial.clone();
        let compared = trial
            .as_deref()
            .map_or(*inputs, |trial| trial.inputs_like(inputs));
        let count = compared.points.count().min(self.lanes() as usize);
        let first = compared.part(0, count);
        let mut values = [vec![0.0; count], vec![0.0; count]];
        for (evaluation, values) in [Evaluation::Tables, Evaluation::Generated]
            .into_iter()
            .zip(&mut values)
        {
            let (mut helicity, mut color, mut bad) = (vec![0; count], vec![0; count], NONE_BAD);
            let outputs = Outputs {
                matrix_elements: values,
                helicity: &mut helicity,
                color: &mut color,
            };
            let copies = self.copies();
            let done = self.enqueue(0, &first, outputs, &mut bad, evaluation);
            self.slots[0].synchronize()?;
            copies.disarm();
            done?;
            if bad[0] != u32::MAX {
                // The call itself reports this error.
                return Ok(false);
            }
        }
        let [tables, generated] = &values;
        let tolerance = self.tolerance_of_generated();
        let scale = self.scale(tables);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * a.abs().max(scale) || a == b;
        let agrees = tables.iter().zip(generated).all(near);
        if let Some(code) = &mut self.generated[which] {
            code.checked = agrees;
            if !agrees {
                code.reject();
                say(
                    "generated code for this GPU does not agree with the tables and is not used; please report it",
                );
            }
        }
        Ok(agrees)
    }

    /// Returns the minimum scale for differences of |M|^2: the largest |M|^2 if terms of both signs are added, which
    /// may cancel.
    pub(super) fn scale(&self, values: &[f64]) -> f64 {
        match self.helicity_sum {
            HelicitySum::Positive => 0.0,
            _ => values.iter().fold(0.0, |a, b| a.max(b.abs())),
        }
    }

    /// Returns the maximum relative difference between generated code and tables.
    pub(super) fn tolerance_of_generated(&self) -> f64 {
        match (self.double_color, self.double) {
            (true, _) => 1e-9,
            (false, true) => 1e-4,
            (false, false) => 1e-2,
        }
    }
}
