//! Working memory of one thread.

use super::arena::Arena;
use super::engine::Engine;
use mebridge_backend::SessionMemory;
use mebridge_backend::inputs::Inputs;
use mebridge_simd::Real;
use mebridge_support::error::Result;
use num_complex::Complex64;
use std::time::Duration;

/// Memory and state of one thread, on cache lines of their own.
#[repr(align(128))]
pub struct Worker<T> {
    vectors: Arena<T>,
    /// JAMPs in single precision, and the results of their colour sums.
    single: Arena<f32>,
    /// Couplings of one event.
    pub couplings: Vec<Complex64>,
    /// Distinct AMP2 (indices) needed for the current block.
    pub amp2: Vec<u32>,
    /// Whether to compute all AMP2, even those that are not needed.
    pub all_amp2: bool,
    /// Destination of AMP2 and JAMP2 of each helicity, if requested.
    pub single_helicities: Option<SingleHelicities>,
    /// For each event of a sample |M|^2 at leading colour, if requested.
    pub leading_color: Option<Vec<f64>>,
    /// For each event of the block the index into `amp2` for its channel, if there are several.
    pub slots: Vec<u32>,
    /// Bit mask of lanes of the current block with bad momenta; used for samples only.
    pub bad: u32,
    /// Set if a |M|^2 is negative, infinite or NaN; not used for samples.
    pub lost: bool,
    /// Whether to measure times, at a small cost.
    pub profile: bool,
    /// Times spent, if measured.
    pub timers: EngineTimers,
}

/// AMP2, JAMP2 and JAMPs of single helicities of one event, in order of evaluation.
#[derive(Default)]
pub struct SingleHelicities {
    /// `[helicity][lane][AMP2]`
    pub amp2: Vec<f64>,
    /// `[helicity][lane][colour flow]`
    pub jamp2: Vec<f64>,
    /// `[helicity][lane][JAMP][real, imaginary]`, if requested.
    pub jamps: Option<Vec<f64>>,
}

/// Time spent in parts of the evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineTimers {
    /// In amplitudes and JAMP.
    pub amplitudes: Duration,
    /// In colour sums.
    pub color: Duration,
}

impl<T: Real> Worker<T> {
    /// Allocates memory for an engine.
    pub fn new(engine: &Engine<T>) -> Result<Self> {
        let mut worker = Worker::without_vectors(engine)?;
        worker.allocate_vectors(engine)?;
        Ok(worker)
    }

    /// Allocates the array of vectors, unless that was done before for the same engine. Returns whether it did.
    pub fn allocate_vectors(&mut self, engine: &Engine<T>) -> Result<bool> {
        let missing = self.vectors.len() == 0;
        if missing {
            self.vectors = Arena::new(engine.vector_numbers())?;
            self.put_constants(engine);
        }
        Ok(missing)
    }

    /// Frees the array of vectors.
    pub fn free_vectors(&mut self) -> Result<()> {
        self.vectors = Arena::new(0)?;
        Ok(())
    }

    /// Allocates all but the array of vectors.
    pub fn without_vectors(engine: &Engine<T>) -> Result<Self> {
        Ok(Worker {
            vectors: Arena::new(0)?,
            single: Arena::new(engine.single_numbers())?,
            couplings: Vec::new(),
            amp2: Vec::new(),
            all_amp2: false,
            single_helicities: None,
            leading_color: None,
            slots: Vec::new(),
            bad: 0,
            lost: false,
            profile: false,
            timers: EngineTimers::default(),
        })
    }

    /// Calls `work` with a thread's array of vectors, whose previous contents are lost.
    pub fn with_vectors<R>(
        &mut self,
        engine: &Engine<T>,
        memory: &SessionMemory,
        work: impl FnOnce(&mut Self) -> R,
    ) -> Result<R> {
        let needed = engine.vector_numbers();
        let mut memory = memory.lock();
        let last = memory
            .take()
            .and_then(|any| any.downcast::<Arena<T>>().ok());
        let mut vectors = match last.filter(|arena| arena.len() >= needed) {
            Some(arena) => arena,
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

    /// Pointer to the array of vectors.
    pub fn vectors(&mut self) -> *mut T {
        self.vectors.as_mut_ptr()
    }

    /// All numbers of the array of vectors.
    pub fn numbers(&mut self) -> &[T] {
        self.vectors.as_mut_slice()
    }

    /// Pointer to the single-precision array of vectors.
    pub fn single_vectors(&mut self) -> *mut f32 {
        self.single.as_mut_ptr()
    }

    /// Sets `amp2` to the distinct AMP2 that the channels of a block need, and `slots` to their indices. Returns false
    /// if there are no channels.
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
                .expect("channels have been checked");
            let slot = self.amp2.iter().position(|&a| a == amp2);
            self.slots.push(slot.unwrap_or(self.amp2.len()) as u32);
            if slot.is_none() {
                self.amp2.push(amp2);
            }
        }
        true
    }
}
