//! What one thread holds while it works.

use super::arena::Arena;
use super::engine::{Engine, Timers};
use mebridge_backend::SessionMemory;
use mebridge_backend::inputs::Inputs;
use mebridge_simd::Real;
use mebridge_support::error::Result;
use num_complex::Complex64;

/// Memory and notes of one thread, on cache lines of their own.
#[repr(align(128))]
pub struct Worker<T> {
    vectors: Arena<T>,
    /// JAMPs in single precision, and the result of their colour sum.
    single: Arena<f32>,
    /// Couplings of one event.
    pub couplings: Vec<Complex64>,
    /// The different AMP2 (indices) that are asked for in the block at hand.
    pub amp2: Vec<u32>,
    /// Whether to compute all AMP2, whatever is asked for.
    pub all_amp2: bool,
    /// Where AMP2 and JAMP2 of each helicity go, where they are asked for.
    pub single_helicities: Option<SingleHelicities>,
    /// For each event of the block which of them is its channel's, where there are several.
    pub slots: Vec<u32>,
    /// Lanes of the block at hand whose momenta are bad, a bit for each; of samples alone.
    pub bad: u32,
    /// Whether a |M|^2 is none since this was false; not of samples.
    pub lost: bool,
    /// Whether to measure where the time goes; it costs a little.
    pub profile: bool,
    /// Time spent, where it is measured.
    pub timers: Timers,
}

/// AMP2 and JAMP2 of single helicities of one event, in the order in which they are evaluated.
#[derive(Default)]
pub struct SingleHelicities {
    /// `[helicity][lane][AMP2]`
    pub amp2: Vec<f64>,
    /// `[helicity][lane][colour flow]`
    pub jamp2: Vec<f64>,
}

impl<T: Real> Worker<T> {
    /// Memory for an engine.
    pub fn new(engine: &Engine<T>) -> Result<Self> {
        let mut worker = Worker {
            vectors: Arena::new(engine.vector_numbers())?,
            ..Worker::without_vectors(engine)?
        };
        worker.put_constants(engine);
        Ok(worker)
    }

    /// The same without an array of vectors, which comes with each sample.
    pub fn without_vectors(engine: &Engine<T>) -> Result<Self> {
        Ok(Worker {
            vectors: Arena::new(0)?,
            single: Arena::new(engine.single_numbers())?,
            couplings: Vec::new(),
            amp2: Vec::new(),
            all_amp2: false,
            single_helicities: None,
            slots: Vec::new(),
            bad: 0,
            lost: false,
            profile: false,
            timers: Timers::default(),
        })
    }

    /// Works in a thread's array of vectors, which comes back from `work` with other numbers in it.
    pub fn with_vectors<R>(
        &mut self,
        engine: &Engine<T>,
        memory: &SessionMemory,
        work: impl FnOnce(&mut Self) -> R,
    ) -> Result<R> {
        let needed = engine.vector_numbers();
        let mut memory = memory.lock();
        let there = memory
            .take()
            .and_then(|any| any.downcast::<Arena<T>>().ok());
        let mut vectors = match there.filter(|there| there.len() >= needed) {
            Some(there) => there,
            None => Box::new(Arena::new(needed)?),
        };
        std::mem::swap(&mut self.vectors, &mut *vectors);
        self.put_constants(engine);
        let answer = work(self);
        std::mem::swap(&mut self.vectors, &mut *vectors);
        *memory = Some(vectors);
        Ok(answer)
    }

    fn put_constants(&mut self, engine: &Engine<T>) {
        let lanes = engine.lanes();
        let numbers = self.vectors.as_mut_slice();
        for &(address, x) in &engine.constants {
            let at = address as usize * lanes;
            numbers[at..at + lanes].fill(T::from_f64(x));
        }
    }

    /// The array of vectors.
    pub fn vectors(&mut self) -> *mut T {
        self.vectors.as_mut_ptr()
    }

    /// All numbers of it.
    pub fn numbers(&mut self) -> &[T] {
        self.vectors.as_mut_slice()
    }

    /// The array of vectors in single precision.
    pub fn single_vectors(&mut self) -> *mut f32 {
        self.single.as_mut_ptr()
    }

    /// Notes which AMP2 the channels of a block ask for, and where there are several, which one an event asks for. False
    /// without channels.
    pub fn weights(
        &mut self,
        engine: &Engine<T>,
        inputs: &Inputs,
        first: usize,
        count: usize,
    ) -> bool {
        self.amp2.clear();
        self.slots.clear();
        if self.all_amp2 {
            self.amp2.extend(0..engine.plan.channels().len() as u32);
            return true;
        }
        let Some(channel) = inputs.channel else {
            return false;
        };
        for &channel in channel.part(first, count).one_or_each() {
            let amp2 = engine.plan.channels().amp2_of_diagram[channel as usize]
                .expect("channels are checked before");
            let slot = self.amp2.iter().position(|&a| a == amp2);
            self.slots.push(slot.unwrap_or(self.amp2.len()) as u32);
            if slot.is_none() {
                self.amp2.push(amp2);
            }
        }
        true
    }
}
