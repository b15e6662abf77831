//! Runs an engine on events, and reads what a worker holds after a block.

use super::block::{EventBlocks, Sampled};
use super::engine::Engine;
use super::worker::Worker;
use mebridge_backend::BadMomentum;
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_backend::sample::{Sample, SampleAnswers};
use mebridge_simd::{Real, dispatch};
use mebridge_support::error::Result;

impl<T: Real> Engine<T> {
    /// Evaluates events whose indices have been checked. The worker must have been made for this engine.
    pub(super) fn run(
        &self,
        worker: &mut Worker<T>,
        inputs: Inputs,
        outputs: Outputs,
    ) -> std::result::Result<(), BadMomentum> {
        self.blocks(EventBlocks {
            engine: self,
            worker,
            inputs,
            outputs,
            sample: None,
        })
    }

    /// Evaluates a sample whose indices have been checked. The worker must have been made for this engine.
    pub(super) fn run_sample(
        &self,
        worker: &mut Worker<T>,
        sample: &Sample,
        answers: SampleAnswers,
    ) -> Result<()> {
        // Vectors are read and written without bounds checks.
        let diagrams = match &answers.amp2 {
            // AMP2 are not written then.
            Some(rows) if !sample.diagrams => rows.count(),
            _ => self.config_of_diagram.len(),
        };
        sample.check_lengths(&answers, self.plan.masses.len(), diagrams)?;
        worker.all_amp2 = sample.diagrams;
        let blocks = EventBlocks {
            engine: self,
            worker,
            inputs: Inputs::without_channels(sample.points),
            outputs: answers.outputs,
            sample: Some(Sampled {
                request: sample,
                diagram: answers.diagram,
                amp2: answers.amp2,
            }),
        };
        let result = self.blocks(blocks);
        worker.all_amp2 = false;
        // Bad events of a sample get NaN instead of an error.
        debug_assert!(result.is_ok());
        Ok(())
    }

    /// Dispatches to the code of the SIMD level; the only place that does.
    #[inline(never)]
    fn blocks(&self, blocks: EventBlocks<T>) -> std::result::Result<(), BadMomentum> {
        let momenta = &blocks.inputs.points.momenta;
        assert!(
            momenta.legs() == self.legs.len() && momenta.events() == blocks.outputs.helicity.len()
        );
        assert!(
            blocks.worker.numbers().len() >= self.vector_numbers(),
            "no vectors are allocated"
        );
        // SAFETY: the worker's memory is large enough for this engine, and the plan has no address beyond it. Momenta have
        // these legs and the same number of events as the other arrays, which are slices.
        unsafe { dispatch(self.level, blocks) }
    }

    /// All AMP2 of the first `count` events of the last block that a worker ran, if it was set to compute all.
    pub fn amp2(&self, worker: &mut Worker<T>, count: usize) -> Vec<Vec<f64>> {
        let lanes = self.lanes();
        let numbers = worker.numbers();
        let first = self.scratch.numerators as usize * lanes;
        (0..count)
            .map(|lane| {
                (0..self.plan.channels().len())
                    .map(|i| numbers[first + i * lanes + lane].to_f64())
                    .collect()
            })
            .collect()
    }

    /// Contributions of each helicity in all lanes of the last block that a worker ran: `[helicity][lane]`.
    pub(super) fn contributions_of_lanes(
        &self,
        worker: &mut Worker<T>,
        lanes: usize,
        to: &mut Vec<f64>,
    ) {
        let all = self.lanes();
        let first = self.scratch.matrix_elements as usize * all;
        let numbers = &worker.numbers()[first..][..self.plan.helicities.len() * all];
        to.clear();
        for row in numbers.chunks_exact(all) {
            to.extend(row[..lanes].iter().map(|x| x.to_f64()));
        }
    }

    /// Contributions of each helicity to the first `count` events of the last block that a worker ran:
    /// `[event][helicity]`, not averaged.
    pub fn contributions(&self, worker: &mut Worker<T>, count: usize) -> Vec<Vec<f64>> {
        let lanes = self.lanes();
        let numbers = worker.numbers();
        let first = self.scratch.matrix_elements as usize * lanes;
        (0..count)
            .map(|lane| {
                (0..self.plan.helicities.len())
                    .map(|h| numbers[first + h * lanes + lane].to_f64())
                    .collect()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::color::BlockDiagonal;
    use mebridge_plan::compile;
    use mebridge_process::example;
    use mebridge_simd::Level;

    /// A session accesses vectors of events without bounds checks, so it checks the array lengths first.
    #[test]
    fn samples_of_another_size_are_refused() {
        use crate::ThreadedEngine;
        use mebridge_backend::sample::{Momenta, Points};
        use mebridge_backend::{Backend, SessionMemory};
        let process = example::scalars();
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let split = BlockDiagonal::of_process(&process, false);
        let (legs, events) = (process.legs.len(), 3);
        let momenta = vec![1.0; 4 * (events + 1) * (legs + 1)];
        let (doubles, integers) = ([0.5; 4], [0; 4]);
        for level in Level::supported() {
            let plan = compile(&process, &binding, &[0]).unwrap();
            let plan = plan.validate(&process).unwrap();
            let engine =
                Engine::<f64>::new(&process, &split, &binding, plan, level, false).unwrap();
            let engine = ThreadedEngine::new(engine, 1).unwrap();
            let memory = SessionMemory::default();
            let mut session = engine.session(&memory).unwrap();
            // Runs with this number of legs and these numbers of events in each array.
            let mut run = |legs: usize, counts: [usize; 6]| {
                let [of_momenta, g_s, random, fixed, answers, choices] = counts;
                let sample = Sample {
                    points: Points {
                        momenta: Momenta::rows(&momenta[..4 * legs * of_momenta], legs),
                        g_s: &doubles[..g_s],
                        random_helicity: &doubles[..random],
                        random_color: &doubles[..random],
                    },
                    random_diagram: &doubles[..random],
                    helicity: Some(&integers[..fixed]),
                    diagram: Some(&integers[..fixed]),
                    diagrams: true,
                };
                let (mut matrix_elements, mut chosen) = ([0.0; 4], [[0; 4]; 3]);
                let [helicity, color, diagram] = &mut chosen;
                let answers = SampleAnswers {
                    outputs: Outputs {
                        matrix_elements: &mut matrix_elements[..answers],
                        helicity: &mut helicity[..choices],
                        color: &mut color[..choices],
                    },
                    diagram: &mut diagram[..choices],
                    amp2: None,
                };
                session.run(&sample, answers).map(|()| matrix_elements)
            };
            // Momenta that are not those of an event.
            let results = run(legs, [events; 6]).unwrap();
            assert!(results[..events].iter().all(|x| x.is_nan()), "{results:?}");
            for wrong in [legs - 1, legs + 1] {
                let refused = run(wrong, [events; 6]).unwrap_err().to_string();
                assert!(refused.contains("momenta"), "{refused}");
            }
            for array in 0..6 {
                let mut counts = [events; 6];
                counts[array] -= 1;
                assert!(run(legs, counts).is_err(), "array {array}");
                counts[array] += 2;
                assert!(run(legs, counts).is_err(), "array {array}");
            }
        }
    }
}
