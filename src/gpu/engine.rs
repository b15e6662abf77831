//! The GPU engine: a plan in the memory of a GPU, and the launches that run it.
//!
//! Events are taken in chunks that fit the memory. Of each chunk momenta, couplings, random numbers
//! and channels go to the GPU and |M|^2, helicities and colours come back; two chunks at a time are
//! under way, each with a stream and memory of its own, so that copies go on while the other computes.

mod blas;
mod places;
mod recipe;
mod region;
mod report;
mod slot;

use self::blas::Blas;
use self::places::Places;
use self::recipe::{Recipe, STRAIGHT, STRAIGHT_SHAPE, WHOLE, helicity_shape};
use self::region::RegionSize;
use self::slot::{Arrays, Slot};
use super::arena::{Arena, Offset, Uploaded};
use super::color::ColorTables;
use super::driver::{
    Argument, Buffer, Driver, Event, Function, Graph, Pointer, Properties, Shape, Stream,
};
use super::generated::Generated;
use super::library::Library;
use super::shares::Shares;
use super::source::{self, Unit};
use super::straight::Straight;
use super::tables::{Kind, Level, Squares, Tables};
use crate::backend::{BadMomentum, KERNELS, Parts};
use crate::color::Split;
use crate::error::{Error, Result};
use crate::events::{Answers, Events};
use crate::plan::Plan;
use crate::plan::binding::Binding;
use crate::plan::kernel::Kernel;
use crate::process::Process;
use crate::runtime::Precision;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// Events of a block of memory: a warp.
const LANES: u32 = 32;
/// Blocks for helicities that one multiprocessor should have to do, where their regions lie in
/// the memory of the GPU.
const BLOCKS_PER_PROCESSOR: usize = 6;
/// Graphs that are kept; each is for a number of events.
const GRAPHS: usize = 32;
/// Parts into which helicities fall at most; JAMP2 of each are kept.
const PARTS: usize = 256;
/// The share of the memory that regions may take where they do not fit into shared memory.
const REGIONS_SHARE: f64 = 0.25;
/// The most events of a chunk: beyond that nothing is gained, and copies should overlap with work.
const LARGEST_CHUNK: usize = 1 << 20;
/// Multiply-adds of a chunk where several are under way, at least.
const CHUNK_WORK: usize = 2_000_000_000;
/// Events of a chunk where several are under way, at least.
const SMALLEST_CHUNK: usize = 1 << 14;

/// What may be set.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The share of the free memory that this engine may take.
    pub memory: f64,
    /// Whether launches are recorded and replayed; if nothing is said they are, unless phases are
    /// to be told apart.
    pub graphs: Option<bool>,
    /// The most multiply-adds of a thread for which straight-line code is generated.
    pub straight: usize,
    /// Operations in a group of the generated code of a whole process; 0: as the engine finds best.
    pub group: usize,
    /// Whether groups are functions of one kernel.
    pub functions: bool,
    /// Multiply-adds of an event up to which one thread does all helicities.
    pub whole: usize,
    /// Whether the GPU's own library does the colour sum; by its size if `None`.
    pub blas: Option<bool>,
    /// Whether it may do so with the precision of TF32.
    pub tf32: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 0.9,
            graphs: None,
            straight: STRAIGHT,
            group: 0,
            functions: true,
            whole: WHOLE,
            blas: None,
            tf32: false,
        }
    }
}

/// How a chunk is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By kernels that walk tables.
    Tables,
    /// The same, and all AMP2 are kept.
    AllAmp2,
    /// By generated code, where there is some.
    Generated,
}

/// The phases of a call, in the order in which they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Events to the GPU.
    CopyIn,
    /// Momenta into the memory of blocks, couplings, propagators, wavefunctions.
    Currents,
    /// AMP2 by operations of their own.
    Squares,
    /// Amplitudes, JAMP and colour sums.
    Helicities,
    /// Sums over helicities and choices.
    Answer,
    /// Answers back.
    CopyOut,
}

impl Phase {
    /// All, in order.
    pub const ALL: [Phase; 6] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Helicities,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Phase::CopyIn => "copies to the GPU",
            Phase::Currents => KERNELS[0],
            Phase::Squares => KERNELS[1],
            Phase::Helicities => KERNELS[2],
            Phase::Answer => KERNELS[3],
            Phase::CopyOut => "copies back",
        }
    }
}

/// Kernels that run operations, with the tables of each launch.
struct Launch {
    function: Function,
    first: u32,
    count: u32,
}

/// A plan on a GPU.
pub struct Engine {
    library: Arc<Library>,
    plan: Plan,
    binding: Binding,
    tables: Tables,
    options: Options,
    double: bool,
    double_color: bool,
    region_lanes: u32,
    region_threads: u32,
    /// Groups of helicities.
    groups: usize,
    /// Bytes of a region.
    region_bytes: usize,
    /// Whether regions lie in shared memory.
    shared: bool,
    /// Regions that should be at work at the same time; where they take memory of the GPU, the most.
    wanted: usize,
    uploaded: Uploaded,
    places: Places,
    load: Function,
    answer: Function,
    gather: Function,
    helicities: Function,
    levels: Vec<Vec<Launch>>,
    squares: Vec<Vec<Launch>>,
    slots: Vec<Slot>,
    /// The colour sum, where the GPU's own library does it.
    blas: Option<Blas>,
    /// What generated code is made from: a kernel for all, or one for a helicity, which takes the
    /// place of `helicities`.
    recipe: Option<Arc<Recipe>>,
    /// Numbers of memory of an event that generated code needs.
    vectors: u32,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
    profile: bool,
    /// Seconds spent in each phase.
    seconds: [f64; Phase::ALL.len()],
    couplings: Vec<Complex64>,
}

/// A thread for each event.
fn by_event(count: usize) -> Shape {
    let threads = (count as u32).next_multiple_of(LANES);
    Shape {
        blocks: [threads.div_ceil(128), 1, 1],
        threads: [128, 1, 1],
        shared: 0,
    }
}

/// An address, or 0 where there is nothing.
fn optional(there: bool, at: Pointer) -> Argument {
    Argument::Pointer(if there { at } else { 0 })
}

/// The bytes of an array.
fn bytes<T: Copy>(array: &[T]) -> &[u8] {
    // SAFETY: numbers without padding; every byte of them is defined.
    unsafe { std::slice::from_raw_parts(array.as_ptr().cast(), std::mem::size_of_val(array)) }
}

/// The bytes of an array of numbers, for which every pattern of bits is a value.
fn bytes_mut<T: Copy>(array: &mut [T]) -> &mut [u8] {
    // SAFETY: as for `bytes`.
    unsafe {
        std::slice::from_raw_parts_mut(array.as_mut_ptr().cast(), std::mem::size_of_val(array))
    }
}

impl Engine {
    /// An engine for a plan.
    pub fn new(
        library: &Arc<Library>,
        process: &Process,
        split: &Split,
        binding: &Binding,
        plan: Plan,
        precision: Precision,
        options: Options,
    ) -> Result<Engine> {
        let tables = Tables::new(&plan, binding).ok_or_else(|| Error::InvalidProcess {
            what: "a plan whose operations are not whole".into(),
        })?;
        let driver = library.driver();
        let double = precision != Precision::Float;
        let outside = blas::wanted(&options, split, driver)?;
        let color = match outside {
            true => ColorTables::default(),
            false => ColorTables::new(split),
        };
        let region = RegionSize::choose(&tables, driver.properties(), precision, outside);
        let shape = source::Shape {
            double,
            double_color: precision == Precision::Double,
            lanes: LANES,
            region_lanes: region.lanes,
            region_threads: region.threads,
            region_blocks: region.blocks,
            colors_outside: outside,
        };
        let kinds = source::amplitude_kinds(&tables);
        let ends = shape.ends();
        let helicities = shape.helicities(&kinds, &plan.general);
        let walkers: HashMap<Kind, Unit> = tables
            .kinds()
            .into_iter()
            .map(|kind| (kind, shape.operations(kind, &plan.general)))
            .collect();
        let mut units: Vec<Unit> = walkers.values().cloned().collect();
        units.push(ends.clone());
        units.push(helicities.clone());
        library.load(&units)?;
        let functions = walkers
            .iter()
            .map(|(&kind, unit)| {
                let function = library.function(unit, &source::run_name(kind), 0)?;
                Ok((kind, function))
            })
            .collect::<Result<HashMap<Kind, Function>>>()?;
        let launches = |levels: &[Level]| -> Vec<Vec<Launch>> {
            let launch = |run: &super::tables::Run| Launch {
                function: functions[&run.kind],
                first: run.first,
                count: run.count,
            };
            let level = |level: &Level| level.iter().map(launch).collect();
            levels.iter().map(level).collect()
        };
        let mut arena = Arena::default();
        let places = Places::new(
            &mut arena, process, &plan, &tables, &color, &kinds, &region, double, precision,
        );
        let blas = match outside {
            true => Some(Blas::new(
                library,
                &mut arena,
                &shape,
                &process.color,
                &tables,
                &region,
                &options,
            )?),
            false => None,
        };
        let stream = driver.stream()?;
        let uploaded = arena.upload(driver, stream);
        driver.drop_stream(stream);
        let shared = if region.shared { region.bytes } else { 0 };
        // Generated code has the colour sum in it, always in the precision of the amplitudes: to
        // turn JAMP into single precision costs more there than is saved.
        let generated = source::Shape {
            double_color: double,
            ..shape
        };
        let recipe = match outside {
            true => None,
            false => Recipe::of(process, binding, &plan, &tables, split, generated, options)
                .or_else(|| Recipe::of_helicity(&plan, &tables, split, generated, options)),
        };
        let groups = region.groups(&tables).len();
        let mut wanted = driver.properties().processors as usize * BLOCKS_PER_PROCESSOR;
        if !region.shared {
            let (free, _) = driver.memory()?;
            let memory = free as f64 * options.memory * REGIONS_SHARE;
            wanted = wanted.min(memory as usize / region.bytes).max(1);
        }
        Ok(Engine {
            wanted,
            groups,
            load: library.function(&ends, "load", 0)?,
            answer: library.function(&ends, "answer", 0)?,
            gather: library.function(&ends, "gather", 0)?,
            helicities: library.function(&helicities, "helicities", shared)?,
            levels: launches(&tables.levels),
            squares: match &tables.squares {
                Squares::Totals { levels, .. } => launches(levels),
                Squares::Amplitudes(_) => Vec::new(),
            },
            library: library.clone(),
            binding: binding.clone(),
            vectors: recipe.as_ref().map_or(0, Recipe::vectors),
            recipe: recipe.map(Arc::new),
            blas,
            uploaded: uploaded?,
            places,
            plan,
            tables,
            options,
            double,
            double_color: shape.double_color,
            region_lanes: region.lanes,
            region_threads: region.threads,
            region_bytes: region.bytes,
            shared: region.shared,
            slots: Vec::new(),
            generated: [None, None],
            profile: false,
            seconds: Default::default(),
            couplings: Vec::new(),
        })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether to measure where the time goes; it costs a little.
    pub fn set_profile(&mut self, profile: bool) {
        self.profile = profile;
    }

    /// Seconds spent in a phase, as far as [`Engine::set_profile`] asked.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.seconds[phase as usize]
    }

    /// Waits until all code that is being generated is there.
    pub fn settle(&mut self) {
        for generated in self.generated.iter().flatten() {
            generated.settle();
        }
    }

    /// Generated code for a call, if there is any.
    fn generated(&mut self, channels: bool, igraph: bool) -> Option<Arc<[Function]>> {
        let which = self.which(channels, igraph)?;
        let recipe = self.recipe.as_ref()?;
        let generated = self.generated[which].get_or_insert_with(|| {
            let recipe = recipe.clone();
            Generated::begin(&self.library, move || recipe.unit(which > 0))
        });
        generated.get()
    }

    /// Which of the generated kernels serves a call.
    fn which(&self, channels: bool, igraph: bool) -> Option<usize> {
        match self.of_helicity() {
            true => Some(usize::from(channels || igraph)),
            false if igraph && !channels => None,
            false => Some(usize::from(channels)),
        }
    }

    /// Whether generated code is a kernel for a helicity.
    fn of_helicity(&self) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.helicity)
    }

    /// Whether the next launches are recorded.
    fn graphs(&self) -> bool {
        self.options.graphs.unwrap_or(!self.profile)
    }

    fn real(&self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// Into how many parts the helicities fall, and blocks of threads in y that share the regions of
    /// so many blocks of memory.
    fn parts(&self, blocks: usize) -> (usize, usize) {
        let there = (blocks * (LANES / self.region_lanes) as usize).clamp(1, 65535);
        let mut parts = self.groups.clamp(1, PARTS);
        if let Some(blas) = &self.blas {
            parts = parts.min(blas.batch(blocks));
        }
        match self.shared {
            true => (parts, there),
            false => {
                let parts = parts.min(self.wanted);
                (parts, there.min(self.wanted / parts))
            }
        }
    }

    /// Bytes that a chunk of so many blocks of memory takes.
    fn bytes_of(&self, blocks: usize) -> [usize; 6] {
        let real = self.real();
        let events = blocks * LANES as usize;
        let shares = self.recipe.as_ref().and_then(|r| r.shares.as_ref());
        let shares = shares.map_or(0, |shares| shares.order.len());
        let helicities = if self.of_helicity() {
            self.tables.waves.len()
        } else {
            0
        };
        // With batches fewer blocks may have more parts.
        let parts = match (&self.blas, self.shared) {
            (None, _) => self.parts(blocks).0,
            (_, true) => self.groups.clamp(1, PARTS),
            (_, false) => self.groups.clamp(1, PARTS).min(self.wanted),
        };
        let in_parts = parts.max(shares).max(helicities) * events;
        [
            self.tables.vectors.max(self.vectors) as usize * events * real,
            match self.shared {
                true => 0,
                false => self.wanted * self.region_bytes,
            },
            self.tables.waves.len() * events * real,
            self.tables.flows * in_parts * real,
            match &self.tables.squares {
                Squares::Amplitudes(amp2) => amp2.len() * in_parts * real,
                Squares::Totals { totals, .. } => {
                    totals.len() * (LANES as usize).max(shares * events) * real
                }
            },
            self.blas.as_ref().map_or(0, |blas| blas.bytes(blocks)),
        ]
    }

    /// The events of a chunk of a call of so many, and how many chunks are under way at a time.
    fn chunk(&self, events: usize, legs: usize) -> Result<(usize, usize)> {
        let blocks = events.div_ceil(LANES as usize);
        // Chunks that are worth a launch.
        let worth = (CHUNK_WORK / self.plan.count.multiply_adds.max(1)).max(SMALLEST_CHUNK);
        let most = LARGEST_CHUNK / LANES as usize;
        let smallest = worth.min(LARGEST_CHUNK) / LANES as usize;
        // Times of chunks that overlap would not add up.
        let alone = (blocks <= 2 * smallest || self.profile) && blocks <= most;
        let size = blocks * LANES as usize;
        if alone && self.slots.first().is_some_and(|s| s.capacity >= size) {
            // There is room already; to ask the GPU takes longer than a small call.
            return Ok((size, 1));
        }
        let (free, total) = self.library.driver().memory()?;
        let mine: usize = self.slots.iter().map(Slot::bytes).sum();
        let limit = (free as f64 * self.options.memory) as usize + mine;
        let arrays = Arrays::of(LANES as usize, legs);
        let fits = |blocks: usize, slots: usize| {
            let working: usize = self.bytes_of(blocks).iter().sum();
            slots
                * (working
                    + blocks
                        * (arrays.input
                            + arrays.output
                            + 16 * self.tables.given.len() * LANES as usize))
                <= limit
        };
        if alone && fits(blocks, 1) {
            return Ok((size, 1));
        }
        let mut size = blocks.div_ceil(4).clamp(smallest.min(blocks), most);
        while size > 1 && !fits(size, 2) {
            size = size.div_ceil(2);
        }
        if fits(size, 2) {
            return Ok((size * LANES as usize, 2));
        }
        if fits(1, 1) {
            return Ok((LANES as usize, 1));
        }
        Err(Error::GpuMemory {
            what: format!(
                "{} bytes for {LANES} events",
                self.bytes_of(1).iter().sum::<usize>()
            ),
            free: limit,
            total,
        })
    }

    /// Evaluates events whose arrays, channels and igraphs have been checked.
    pub fn run(
        &mut self,
        events: Events,
        answers: Answers,
        legs: usize,
    ) -> Result<Result<(), BadMomentum>> {
        let nevt = events.g_s.len();
        let (size, slots) = self.chunk(nevt, legs)?;
        self.prepare(size, slots, legs)?;
        let way = match self.trusted(&events, legs)? {
            true => Way::Generated,
            false => Way::Tables,
        };
        let Answers {
            mut matrix_elements,
            mut helicity,
            mut color,
        } = answers;
        let mut bad = vec![u32::MAX; nevt.div_ceil(size)];
        let mut result = Ok(());
        for (i, bad) in bad.iter_mut().enumerate() {
            let first = i * size;
            let count = size.min(nevt - first);
            let (mine, rest) = matrix_elements.split_at_mut(count);
            matrix_elements = rest;
            let (my_helicity, rest) = helicity.split_at_mut(count);
            helicity = rest;
            let (my_color, rest) = color.split_at_mut(count);
            color = rest;
            let chunk = events.part(first, count, legs);
            let answers = Answers {
                matrix_elements: mine,
                helicity: my_helicity,
                color: my_color,
            };
            result = self.enqueue(i % slots, &chunk, answers, bad, legs, way);
            if result.is_err() {
                break;
            }
        }
        // Copies into the arrays of the caller must be over, whatever happened.
        for i in 0..self.slots.len() {
            let done = self.library.driver().synchronize(self.slots[i].stream);
            result = result.and(done);
        }
        result?;
        self.measure()?;
        let first_bad = bad.iter().position(|&b| b != u32::MAX);
        Ok(match first_bad {
            Some(i) => Err(BadMomentum {
                event: i * size + bad[i] as usize,
            }),
            None => Ok(()),
        })
    }

    /// Whether generated code serves such calls: it is there, and once, on the first events that it
    /// is given, it has agreed with the tables.
    fn trusted(&mut self, events: &Events, legs: usize) -> Result<bool> {
        let (channels, igraph) = (events.channels.is_some(), events.igraph.is_some());
        let Some(which) = self.which(channels, igraph) else {
            return Ok(false);
        };
        if self.generated(channels, igraph).is_none() {
            return Ok(false);
        }
        if self.generated[which].as_ref().is_some_and(|g| g.checked) {
            return Ok(true);
        }
        let count = events.g_s.len().min(LANES as usize);
        let first = events.part(0, count, legs);
        let mut values = [vec![0.0; count], vec![0.0; count]];
        for (way, values) in [Way::Tables, Way::Generated].into_iter().zip(&mut values) {
            let (mut helicity, mut color, mut bad) = (vec![0; count], vec![0; count], u32::MAX);
            let answers = Answers {
                matrix_elements: values,
                helicity: &mut helicity,
                color: &mut color,
            };
            let done = self.enqueue(0, &first, answers, &mut bad, legs, way);
            self.library.driver().synchronize(self.slots[0].stream)?;
            done?;
            if bad != u32::MAX {
                // The call itself says so.
                return Ok(false);
            }
        }
        let [tables, generated] = &values;
        let tolerance = if self.double_color {
            1e-9
        } else if self.double {
            1e-4
        } else {
            1e-2
        };
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * a.abs() || a == b;
        let agrees = tables.iter().zip(generated).all(near);
        if let Some(code) = &mut self.generated[which] {
            code.checked = agrees;
            if !agrees {
                code.reject();
                eprintln!(
                    "mebridge: generated code for this GPU does not agree with the tables and is not used; please report it"
                );
            }
        }
        Ok(agrees)
    }

    /// Evaluates a few events and gives for each the contributions of helicities and all AMP2.
    pub fn parts_of(
        &mut self,
        events: Events,
        legs: usize,
    ) -> Result<Result<Vec<Parts>, BadMomentum>> {
        let nevt = events.g_s.len();
        let mut all = Vec::with_capacity(nevt);
        for first in (0..nevt).step_by(LANES as usize) {
            let count = (nevt - first).min(LANES as usize);
            self.prepare(LANES as usize, 1, legs)?;
            let chunk = Events {
                channels: None,
                igraph: None,
                ..events.part(first, count, legs)
            };
            let (mut mes, mut helicity, mut color) =
                (vec![0.0; count], vec![0; count], vec![0; count]);
            let answers = Answers {
                matrix_elements: &mut mes,
                helicity: &mut helicity,
                color: &mut color,
            };
            let mut bad = u32::MAX;
            let done = self.enqueue(0, &chunk, answers, &mut bad, legs, Way::AllAmp2);
            self.library.driver().synchronize(self.slots[0].stream)?;
            done?;
            if bad != u32::MAX {
                return Ok(Err(BadMomentum {
                    event: first + bad as usize,
                }));
            }
            let helicities = self.rows(
                self.slots[0].contributions.pointer(),
                self.tables.waves.len(),
            )?;
            let amp2 = self.amp2()?;
            for lane in 0..count {
                let column = |rows: &[f64]| {
                    rows[lane..]
                        .iter()
                        .step_by(LANES as usize)
                        .copied()
                        .collect()
                };
                all.push(Parts {
                    helicities: column(&helicities),
                    amp2: column(&amp2),
                });
            }
        }
        Ok(Ok(all))
    }

    /// AMP2 of the last block of events, summed over parts: `[AMP2][lane]`.
    fn amp2(&self) -> Result<Vec<f64>> {
        let count = self.tables.squares.len();
        let parts = match &self.tables.squares {
            Squares::Amplitudes(_) => self.parts(1).0,
            Squares::Totals { .. } => 1,
        };
        let rows = self.rows(self.slots[0].amp2.pointer(), parts * count)?;
        let mut sums = vec![0.0; count * LANES as usize];
        for (i, x) in rows.into_iter().enumerate() {
            sums[i % (count * LANES as usize)] += x;
        }
        Ok(sums)
    }

    /// Rows of numbers of one block of events.
    fn rows(&self, from: Pointer, count: usize) -> Result<Vec<f64>> {
        let driver = self.library.driver();
        let stream = self.slots[0].stream;
        let numbers = count * LANES as usize;
        if self.double {
            let mut rows = vec![0.0f64; numbers];
            // SAFETY: so many numbers lie there; the stream is waited for.
            unsafe { driver.download(stream, bytes_mut(&mut rows), from)? };
            driver.synchronize(stream)?;
            Ok(rows)
        } else {
            let mut rows = vec![0.0f32; numbers];
            // SAFETY: as above.
            unsafe { driver.download(stream, bytes_mut(&mut rows), from)? };
            driver.synchronize(stream)?;
            Ok(rows.into_iter().map(f64::from).collect())
        }
    }

    /// Sees that so many slots have room for chunks of this size.
    fn prepare(&mut self, size: usize, slots: usize, legs: usize) -> Result<()> {
        let enough = |slot: &Slot| slot.capacity >= size;
        if self.slots.len() >= slots && self.slots[..slots].iter().all(enough) {
            return Ok(());
        }
        self.slots.clear();
        for _ in 0..slots {
            let slot = Slot::new(self, size, legs)?;
            self.slots.push(slot);
        }
        Ok(())
    }

    /// Puts all work on a chunk into the slot's stream.
    fn enqueue(
        &mut self,
        slot: usize,
        events: &Events,
        answers: Answers,
        bad: &mut u32,
        legs: usize,
        way: Way,
    ) -> Result<()> {
        let count = events.g_s.len();
        let arrays = Arrays::of(self.slots[slot].capacity, legs);
        let given = self.given(events);
        let generated = match way {
            Way::Tables | Way::AllAmp2 => None,
            Way::Generated => self.generated(events.channels.is_some(), events.igraph.is_some()),
        };
        let (straight, helicity) = match self.of_helicity() {
            true => (None, generated.map(|functions| functions[0])),
            false => (generated, None),
        };
        let all_amp2 = matches!(way, Way::AllAmp2);
        let number = slot;
        let driver = self.library.driver().clone();
        if self.profile && self.slots[number].events.is_empty() {
            let clocks = (0..=Phase::ALL.len()).map(|_| driver.event());
            self.slots[number].events = clocks.collect::<Result<_>>()?;
        }
        let slot = &self.slots[number];
        let stream = slot.stream;
        // The events of a slot's last chunk are read before they are recorded anew.
        if self.profile && slot.timed {
            driver.synchronize(stream)?;
            self.seconds = slot.add_seconds(self.seconds)?;
        }
        slot.mark(self.profile, 0)?;
        let input = slot.inputs.pointer();
        let output = slot.outputs.pointer();
        let upload = |at: u64, bytes: &[u8]| {
            // SAFETY: the slot has room for as many events as it was made for; the caller's arrays stay
            // until all streams have been waited for.
            unsafe { driver.upload(stream, input + at, bytes) }
        };
        upload(arrays.momenta, bytes(events.momenta))?;
        upload(arrays.g_s, bytes(events.g_s))?;
        upload(arrays.random_helicity, bytes(events.random_helicity))?;
        upload(arrays.random_color, bytes(events.random_color))?;
        if let Some(channels) = events.channels {
            upload(arrays.channels, bytes(channels))?;
        }
        if let Some(igraph) = events.igraph {
            upload(arrays.igraph, bytes(igraph))?;
        }
        // SAFETY: the output has four bytes there; the slot has room for the couplings of its
        // events, and they have been read when `upload` returns.
        unsafe {
            driver.fill(stream, output + arrays.bad, 0xff, 4)?;
            if !given.is_empty() {
                driver.upload(stream, slot.given.pointer(), bytes(&given))?;
            }
        }
        slot.mark(self.profile, 1)?;
        let channels = events.channels.is_some();
        let igraph = events.igraph.is_some();
        let key = (count, channels, igraph, all_amp2);
        if let Some(functions) = straight {
            self.launch_straight(slot, &arrays, key, &functions)?;
            for phase in 2..6 {
                slot.mark(self.profile, phase)?;
            }
        } else if self.graphs() {
            let mut done = false;
            let recorded = (count, channels, igraph, all_amp2, helicity.is_some());
            let graph = match slot.graphs.get(&recorded) {
                Some(&graph) => graph,
                None => {
                    // What the GPU's own library does the first time cannot be recorded.
                    if self.blas.is_some() {
                        self.work(slot, &arrays, key, legs, helicity)?;
                        done = true;
                    }
                    driver.begin_graph(stream)?;
                    let work = self.work(slot, &arrays, key, legs, helicity);
                    let graph = driver.end_graph(stream);
                    work?;
                    let graph = graph?;
                    let graphs = &mut self.slots[number].graphs;
                    if graphs.len() >= GRAPHS {
                        // Calls of ever other sizes.
                        driver.synchronize(stream)?;
                        graphs
                            .drain()
                            .for_each(|(_, graph)| driver.drop_graph(graph));
                    }
                    graphs.insert(recorded, graph);
                    graph
                }
            };
            if !done {
                driver.launch_graph(stream, graph)?;
            }
            // Of a graph only the whole is known.
            for phase in 2..6 {
                self.slots[number].mark(self.profile, phase)?;
            }
        } else {
            self.work(slot, &arrays, key, legs, helicity)?;
        }
        let download = |to: &mut [u8], at: u64| {
            // SAFETY: as for `upload`.
            unsafe { driver.download(stream, to, output + at) }
        };
        download(bytes_mut(answers.matrix_elements), arrays.matrix_elements)?;
        download(bytes_mut(answers.helicity), arrays.helicity)?;
        download(bytes_mut(answers.color), arrays.color)?;
        download(bytes_mut(std::slice::from_mut(bad)), arrays.bad)?;
        self.slots[number].mark(self.profile, 6)?;
        self.slots[number].timed = self.profile;
        Ok(())
    }

    /// Couplings that are no polynomials in G: `[coupling][real, imaginary][event]`.
    fn given(&mut self, events: &Events) -> Vec<f64> {
        let count = events.g_s.len();
        let mut values = vec![0.0; 2 * self.tables.given.len() * count];
        if values.is_empty() {
            return values;
        }
        for (event, &g) in events.g_s.iter().enumerate() {
            self.binding.evaluate(g, &mut self.couplings);
            for (i, &(coupling, _)) in self.tables.given.iter().enumerate() {
                let value = self.couplings[coupling as usize];
                values[2 * i * count + event] = value.re;
                values[(2 * i + 1) * count + event] = value.im;
            }
        }
        values
    }

    /// Everything between the copies, by generated code.
    fn launch_straight(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph, _): (usize, bool, bool, bool),
        functions: &[Function],
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let (threads, _) = STRAIGHT_SHAPE;
        let shares = self.recipe.as_ref().and_then(|r| r.shares.as_ref());
        let in_y = shares.map_or(1, |shares| shares.order.len() as u32);
        let shape = Shape {
            blocks: [(count as u32).div_ceil(threads), in_y, 1],
            threads: [threads, 1, 1],
            shared: 0,
        };
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let colors = channels || igraph;
        let contributions = of(shares.is_some(), &slot.contributions);
        let amp2 = of(shares.is_some() && channels, &slot.amp2);
        // What groups as kernels leave each other lies in the memory of blocks.
        let jamp2 = match shares {
            None => of(functions.len() > 1, &slot.memory),
            Some(_) => of(colors, &slot.jamp2),
        };
        let arguments = [
            At(self.uploaded.at(self.places.choices)),
            Number(count as u32),
            At(input + arrays.momenta),
            At(input + arrays.g_s),
            At(slot.given.pointer()),
            At(input + arrays.random_helicity),
            At(input + arrays.random_color),
            optional(channels, input + arrays.channels),
            optional(igraph, input + arrays.igraph),
            At(output + arrays.matrix_elements),
            At(output + arrays.helicity),
            At(output + arrays.color),
            At(output + arrays.bad),
            contributions,
            amp2,
            jamp2,
        ];
        // SAFETY: the arguments are those of the generated kernel.
        unsafe {
            let driver = self.library.driver();
            for &function in functions {
                driver.launch(slot.stream, function, shape, &arguments)?;
            }
        }
        if shares.is_none() {
            return Ok(());
        }
        let choices = self.uploaded.at(self.places.choices_of_shares);
        let sums = [contributions, jamp2, amp2];
        self.answer(slot, arrays, (count, channels, igraph), choices, sums, in_y)
    }

    /// From the contributions of helicities, JAMP2 and AMP2, in so many parts, to answers.
    fn answer(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph): (usize, bool, bool),
        choices: Pointer,
        [contributions, jamp2, amp2]: [Argument; 3],
        parts: u32,
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let arguments = [
            At(choices),
            At(slot.memory.pointer()),
            Number(self.tables.vectors),
            Number(count as u32),
            contributions,
            jamp2,
            amp2,
            Number(parts),
            At(input + arrays.random_helicity),
            At(input + arrays.random_color),
            optional(channels, input + arrays.channels),
            optional(igraph, input + arrays.igraph),
            At(output + arrays.matrix_elements),
            At(output + arrays.helicity),
            At(output + arrays.color),
            At(self.uploaded.at(self.places.normalization)),
        ];
        let driver = self.library.driver();
        // SAFETY: the arguments are those of the kernel.
        unsafe { driver.launch(slot.stream, self.answer, by_event(count), &arguments) }
    }

    /// Everything between the copies.
    fn work(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph, all_amp2): (usize, bool, bool, bool),
        legs: usize,
        helicity: Option<Function>,
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let marks = self.profile && !self.graphs();
        let driver = self.library.driver();
        let places = &self.places;
        let at = |offset| At(self.uploaded.at(offset));
        let events = count as u32;
        let blocks = events.div_ceil(LANES);
        let vectors = Number(self.tables.vectors);
        let memory = At(slot.memory.pointer());
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let launch = |function, shape, arguments: &[Argument]| {
            // SAFETY: the arguments are those of the kernels in `cuda/`, and the tables were made for
            // this memory.
            unsafe { driver.launch(slot.stream, function, shape, arguments) }
        };
        let by_event = by_event(count);
        launch(
            self.load,
            by_event,
            &[
                memory,
                vectors,
                Number(events),
                At(input + arrays.momenta),
                At(input + arrays.g_s),
                Number(legs as u32),
                Number(self.tables.leg_momenta),
                Number(self.tables.g),
                at(places.masses),
                at(places.constants),
                at(places.values),
                Number(self.tables.constants.len() as u32),
                at(places.given_at),
                At(slot.given.pointer()),
                Number(self.tables.given.len() as u32),
                At(output + arrays.bad),
            ],
        )?;
        let operations = |levels: &[Vec<Launch>]| {
            for run in levels.iter().flatten() {
                let slots = source::THREADS / LANES;
                let shape = Shape {
                    blocks: [run.count.div_ceil(slots), blocks.min(65535), 1],
                    threads: [LANES, slots, 1],
                    shared: 0,
                };
                let starts = self.uploaded.at(places.starts) + 4 * u64::from(run.first);
                let operands = at(places.operands);
                let (count, numbers) = (Number(run.count), at(places.numbers));
                launch(
                    run.function,
                    shape,
                    &[
                        memory,
                        vectors,
                        Number(events),
                        operands,
                        At(starts),
                        count,
                        numbers,
                    ],
                )?;
            }
            Ok::<(), Error>(())
        };
        operations(&self.levels)?;
        slot.mark(marks, 2)?;
        let weights = channels || all_amp2;
        if weights {
            operations(&self.squares)?;
        }
        slot.mark(marks, 3)?;
        let by_amplitudes = matches!(self.tables.squares, Squares::Amplitudes(_));
        let (parts, region_blocks) = self.parts(blocks as usize);
        let (parts, region_blocks) = (parts as u32, region_blocks as u32);
        let colors = channels || igraph;
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let (jamp2, amp2) = (
            of(colors, &slot.jamp2),
            of(weights && by_amplitudes, &slot.amp2),
        );
        let contributions = At(slot.contributions.pointer());
        let mut parts = parts;
        if let Some(function) = helicity {
            let count = self.tables.waves.len() as u32;
            let (threads, _) = helicity_shape(count, self.double);
            // Chunks have fewer blocks than a launch may have in y.
            let shape = Shape {
                blocks: [count.div_ceil(threads / LANES), blocks, 1],
                threads: [threads, 1, 1],
                shared: 0,
            };
            let row = self.tables.waves.first().map_or(0, |row| row.len() as u32);
            launch(
                function,
                shape,
                &[
                    at(places.waves),
                    Number(row),
                    memory,
                    vectors,
                    Number(events),
                    contributions,
                    jamp2,
                    amp2,
                ],
            )?;
            parts = count;
        } else {
            let shape = Shape {
                blocks: [parts, region_blocks, 1],
                threads: [
                    self.region_lanes,
                    self.region_threads / self.region_lanes,
                    1,
                ],
                shared: if self.shared {
                    self.region_bytes as u32
                } else {
                    0
                },
            };
            let arguments = [
                at(places.helicities),
                memory,
                vectors,
                Number(events),
                of(!self.shared, &slot.regions),
                contributions,
                jamp2,
                amp2,
            ];
            match &self.blas {
                Some(blas) => self.color_sums(blas, slot, (events, shape), &arguments)?,
                None => launch(self.helicities, shape, &arguments)?,
            }
        }
        slot.mark(marks, 4)?;
        let choices = self.uploaded.at(places.choices);
        let sums = [contributions, jamp2, amp2];
        self.answer(
            slot,
            arrays,
            (count, channels, igraph),
            choices,
            sums,
            parts,
        )?;
        if all_amp2 && !by_amplitudes {
            let arguments = [
                at(places.choices),
                memory,
                vectors,
                Number(events),
                At(slot.amp2.pointer()),
            ];
            launch(self.gather, by_event, &arguments)?;
        }
        slot.mark(marks, 5)
    }

    /// Adds the times of chunks that are done.
    fn measure(&mut self) -> Result<()> {
        if self.profile {
            for slot in self.slots.iter_mut().filter(|slot| slot.timed) {
                self.seconds = slot.add_seconds(self.seconds)?;
                slot.timed = false;
            }
        }
        Ok(())
    }
}
