//! Contributions of helicities and diagrams for a few events, on request.

use super::Engine;
use super::chunks::{Evaluation, NONE_BAD};
use crate::driver::{Buffer, bytes_mut};
use crate::level_schedule::Amp2Source;
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_backend::{BadMomentum, Contributions};
use mebridge_support::error::Result;

impl Engine {
    /// Evaluates a few events and returns for each the contributions of helicities and all AMP2.
    pub fn contributions_of(
        &mut self,
        inputs: Inputs,
    ) -> Result<Result<Vec<Contributions>, BadMomentum>> {
        let nevt = inputs.check(self.legs())?;
        let lanes = self.lanes() as usize;
        let mut all = Vec::with_capacity(nevt);
        for first in (0..nevt).step_by(lanes) {
            let count = (nevt - first).min(lanes);
            self.prepare(lanes, 1)?;
            let chunk = Inputs::without_channels(inputs.points.part(first, count));
            let (mut mes, mut helicity, mut color) =
                (vec![0.0; count], vec![0; count], vec![0; count]);
            let outputs = Outputs {
                matrix_elements: &mut mes,
                helicity: &mut helicity,
                color: &mut color,
            };
            let mut bad = NONE_BAD;
            let copies = self.copies();
            let done = self.enqueue(0, &chunk, outputs, &mut bad, Evaluation::AllAmp2);
            self.slots[0].synchronize()?;
            copies.disarm();
            done?;
            if bad[0] != u32::MAX {
                return Ok(Err(BadMomentum {
                    event: first + bad[0] as usize,
                }));
            }
            let slot = &self.slots[0];
            let helicities = self.rows(&slot.contributions, self.tables.waves.len())?;
            let amp2 = self.amp2()?;
            for lane in 0..count {
                let column = |rows: &[f64]| rows.chunks_exact(lanes).map(|row| row[lane]).collect();
                all.push(Contributions {
                    helicities: column(&helicities),
                    amp2: column(&amp2),
                });
            }
        }
        Ok(Ok(all))
    }

    /// Returns the AMP2 of the last block of events, summed over parts: `[AMP2][lane]`.
    fn amp2(&self) -> Result<Vec<f64>> {
        let count = self.tables.squares.len();
        let parts = match &self.tables.squares {
            Amp2Source::Amplitudes(_) => self.parts(1).0,
            Amp2Source::Totals { .. } => 1,
        };
        let rows = self.rows(&self.slots[0].amp2, parts * count)?;
        let mut sums = vec![0.0; count * self.lanes() as usize];
        let numbers = sums.len();
        for (i, x) in rows.into_iter().enumerate() {
            sums[i % numbers] += x;
        }
        Ok(sums)
    }

    /// Reads rows of numbers of one block of events.
    fn rows(&self, from: &Buffer, count: usize) -> Result<Vec<f64>> {
        let stream = &self.slots[0].stream;
        let numbers = count * self.lanes() as usize;
        if self.double {
            let mut rows = vec![0.0f64; numbers];
            stream.read(bytes_mut(&mut rows), from)?;
            Ok(rows)
        } else {
            let mut rows = vec![0.0f32; numbers];
            stream.read(bytes_mut(&mut rows), from)?;
            Ok(rows.into_iter().map(f64::from).collect())
        }
    }
}
