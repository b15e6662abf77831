//! Choice of helicities, colour flows and diagrams of events on a GPU.

use mebridge_backend::DeviceSession;
use mebridge_backend::sample::{DeviceSample, Strides};
use mebridge_driver::{Buffer, Pinned, Stream};
use mebridge_gpu::ModuleCache;
use mebridge_sampler::events::at_rest;
use mebridge_support::error::Result;
use std::sync::Arc;

/// Maximum number of events per launch.
const LAUNCH: usize = 1 << 14;
/// Rows of numbers per event besides momenta: alpha_s and three random numbers.
const NUMBERS: usize = 4;

/// The inputs of an event on which the choices depend.
#[derive(Clone, Copy, Debug)]
pub struct ChosenEvent<'a> {
    /// (E, px, py, pz) of each leg, in any frame with the beams along the z axis.
    pub momenta: &'a [[f64; 4]],
    /// The strong coupling.
    pub alpha_s: f64,
    /// Random numbers in (0, 1) for the helicity, the colour flow and the diagram.
    pub random: [f64; 3],
}

/// Makes the choices on one GPU.
pub struct Chooser {
    /// Declared first, so that it is dropped before the memory used by its work.
    stream: Stream,
    elements: Vec<Arc<dyn DeviceSession>>,
    inputs: Buffer,
    outputs: Buffer,
    given: Pinned,
    answers: Pinned,
}

impl Chooser {
    /// Creates a chooser. `elements` evaluate the matrix elements, with at most `legs` legs each, in the order of their
    /// numbers.
    ///
    /// # Errors
    /// The GPU has too little memory.
    pub fn new(
        library: &ModuleCache,
        elements: Vec<Arc<dyn DeviceSession>>,
        legs: usize,
    ) -> Result<Chooser> {
        let driver = library.driver();
        let (inputs, outputs) = (8 * (4 * legs + NUMBERS) * LAUNCH, (8 + 12) * LAUNCH);
        Ok(Chooser {
            stream: Stream::new(driver)?,
            elements,
            inputs: Buffer::new(driver, inputs)?,
            outputs: Buffer::new(driver, outputs)?,
            given: Pinned::new(driver, inputs)?,
            answers: Pinned::new(driver, outputs)?,
        })
    }

    /// Returns the row of the helicity table, the colour flow and the diagram of events of one matrix element, all
    /// counted from 0.
    ///
    /// # Errors
    /// The matrix element cannot be evaluated.
    pub fn choose(&mut self, element: usize, events: &[ChosenEvent]) -> Result<Vec<[i32; 3]>> {
        let mut found = Vec::with_capacity(events.len());
        for some in events.chunks(LAUNCH) {
            self.launch(element, some)?;
            let (numbers, _) = self.answers[..12 * some.len()].as_chunks::<4>();
            let at =
                |row: usize, event: usize| i32::from_ne_bytes(numbers[row * some.len() + event]);
            found.extend((0..some.len()).map(|event| [0, 1, 2].map(|row| at(row, event))));
        }
        Ok(found)
    }

    fn launch(&mut self, element: usize, events: &[ChosenEvent]) -> Result<()> {
        let count = events.len();
        let legs = events[0].momenta.len();
        let (numbers, _) = self.given.as_chunks_mut::<8>();
        let (momenta, rows) = numbers.split_at_mut(4 * legs * count);
        for (place, event) in events.iter().enumerate() {
            let to = &mut momenta[4 * legs * place..][..4 * legs];
            for (to, number) in to.iter_mut().zip(at_rest(event.momenta).as_flattened()) {
                *to = number.to_ne_bytes();
            }
            let [helicity, color, diagram] = event.random;
            for (row, number) in [event.alpha_s, helicity, color, diagram]
                .into_iter()
                .enumerate()
            {
                rows[row * count + place] = number.to_ne_bytes();
            }
        }
        let bytes = 8 * (4 * legs + NUMBERS) * count;
        let from = self.inputs.pointer();
        let row = |row: usize| from + (8 * (4 * legs + row) * count) as u64;
        let to = self.outputs.pointer();
        let answer = |row: usize| to + (4 * row * count) as u64;
        let sample = DeviceSample {
            events: count,
            momenta: from,
            strides: Strides::of_rows(legs),
            alpha_s: row(0),
            random_helicity: row(1),
            random_color: row(2),
            random_diagram: row(3),
            helicity: answer(0),
            color: answer(1),
            diagram: answer(2),
            stream: self.stream.raw(),
            ..DeviceSample::empty()
        };
        // SAFETY: the buffers hold this many events, and all memory lives until the stream has been synchronised.
        let done = unsafe {
            self.stream
                .upload(from, &self.given[..bytes])
                .and_then(|()| self.elements[element].run(&sample))
                .and_then(|()| {
                    let answers = &mut self.answers[..12 * count];
                    self.stream.download(answers, to)
                })
        };
        self.stream.synchronize()?;
        done
    }
}

impl Drop for Chooser {
    fn drop(&mut self) {
        // An error was reported before or will be.
        let _ = self.stream.synchronize();
    }
}
