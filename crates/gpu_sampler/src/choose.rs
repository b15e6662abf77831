//! Choice of helicities, colour flows and diagrams of events on a GPU.

use mebridge_backend::DeviceSession;
use mebridge_backend::sample::{DeviceSample, Strides};
use mebridge_driver::{Buffer, Pinned, Stream};
use mebridge_gpu::ModuleCache;
use mebridge_sampler::events::{Event, at_rest, by_element, random_choices};
use mebridge_support::error::Result;
use std::sync::Arc;

/// Maximum number of events per launch.
const LAUNCH: usize = 1 << 14;
/// Rows of numbers per event besides momenta: alpha_s and three random numbers.
const NUMBERS: usize = 4;
/// Bytes of answers per event: |M|^2 and the same at leading colour, and the choices.
const ANSWERS: usize = 2 * 8 + 3 * 4;

/// What is evaluated for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Choices.
    Choices,
    /// Choices, and the ratio of |M|^2 to the same at leading colour.
    Corrections,
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
        let (inputs, outputs) = (8 * (4 * legs + NUMBERS) * LAUNCH, ANSWERS * LAUNCH);
        Ok(Chooser {
            stream: Stream::new(driver)?,
            elements,
            inputs: Buffer::new(driver, inputs)?,
            outputs: Buffer::new(driver, outputs)?,
            given: Pinned::new(driver, inputs)?,
            answers: Pinned::new(driver, outputs)?,
        })
    }

    /// Makes the choices of those events that are `selected`, and with [`Wanted::Corrections`] sets their corrections.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    pub fn choose(
        &mut self,
        events: &mut [&mut Event],
        selected: impl Fn(&Event) -> bool,
        wanted: Wanted,
    ) -> Result<()> {
        for (element, mut own) in by_element(events, selected) {
            for some in own.chunks_mut(LAUNCH) {
                self.launch(element as usize, some, wanted)?;
                let count = some.len();
                let (squares, choices) = self.answers[..ANSWERS * count].split_at(16 * count);
                let (squares, choices) = (squares.as_chunks::<8>().0, choices.as_chunks::<4>().0);
                for (place, event) in some.iter_mut().enumerate() {
                    let choice = |row: usize| i32::from_ne_bytes(choices[row * count + place]);
                    event.choice = Some([0, 1, 2].map(choice));
                    if wanted == Wanted::Corrections {
                        let square = |row: usize| f64::from_ne_bytes(squares[row * count + place]);
                        event.correction = square(0) / square(1);
                    }
                }
            }
        }
        Ok(())
    }

    fn launch(&mut self, element: usize, events: &[&mut Event], wanted: Wanted) -> Result<()> {
        let count = events.len();
        let legs = events[0].momenta.len();
        let (numbers, _) = self.given.as_chunks_mut::<8>();
        let (momenta, rows) = numbers.split_at_mut(4 * legs * count);
        for (place, event) in events.iter().enumerate() {
            let to = &mut momenta[4 * legs * place..][..4 * legs];
            for (to, number) in to.iter_mut().zip(at_rest(&event.momenta).as_flattened()) {
                *to = number.to_ne_bytes();
            }
            let [helicity, color, diagram] = random_choices(event);
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
        let squares = |row: usize| match wanted {
            Wanted::Choices => 0,
            Wanted::Corrections => to + (8 * row * count) as u64,
        };
        let answer = |row: usize| to + ((16 + 4 * row) * count) as u64;
        let sample = DeviceSample {
            events: count,
            momenta: from,
            strides: Strides::of_rows(legs),
            alpha_s: row(0),
            random_helicity: row(1),
            random_color: row(2),
            random_diagram: row(3),
            matrix_elements: squares(0),
            leading_color: squares(1),
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
                    // Nothing is written in place of squares that are not wanted.
                    let first = match wanted {
                        Wanted::Choices => 16 * count,
                        Wanted::Corrections => 0,
                    };
                    let answers = &mut self.answers[first..ANSWERS * count];
                    self.stream.download(answers, to + first as u64)
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
