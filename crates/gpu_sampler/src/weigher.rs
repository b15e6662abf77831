//! Evaluation of the weights of blocks of points on GPUs.
//!
//! Blocks are divided into launches of equal size. Each launch goes through four stages: its points are generated;
//! |M|^2 is evaluated, once the host knows the number of points of each matrix element, and training sums are computed;
//! events are copied, once the host knows their number; and the results are passed to the caller. Several launches are
//! in progress at a time, so that a GPU has work while the host waits for one of them. Launch `i` runs on GPU `i`
//! modulo the number of GPUs; results do not depend on this number.

use crate::arguments::{BlockSums, HarvestArguments, RunHead};
use crate::choose::{Chooser, Wanted};
use crate::flows::{self, FlowTables};
use crate::harvest::Kernels;
use crate::points::PointDrawer;
use crate::slot::{EVENT_HEAD, LaunchSlot, Sizes};
use crate::structures::{BlockHead, SLOTS};
use crate::tables::upload;
use mebridge_backend::DeviceSession;
use mebridge_backend::sample::{DeviceSample, Strides};
use mebridge_driver::{Buffer, Driver, Pinned, Pointer, Stream};
use mebridge_gpu::{CompilationUnit, DeviceStructure, ModuleCache};
use mebridge_sampler::blocks::{Block, GridInput};
use mebridge_sampler::color_flows::ColorFlows;
use mebridge_sampler::events::Event;
use mebridge_sampler::grid::{self, Training};
use mebridge_sampler::integrand::{Failure, Integrand};
use mebridge_sampler::parallel;
use mebridge_sampler::source_selection::{self, TrialPoints};
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::unweight::{self, Spectrum};
use mebridge_sampler::weigh::{DrawnEvents, TrainingData, Weigh, change_events};
use mebridge_support::error::{Error, Result};
use mebridge_support::signals;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, mpsc};
use std::thread::Builder;
use std::time::Instant;

/// Maximum number of blocks per launch: 2^19 points.
const LAUNCH: usize = 1024;
/// If there were fewer launches than this, each gets fewer blocks, but at least `MIN_LAUNCH`, so that several GPUs
/// can share them.
const LAUNCHES: usize = 16;
const MIN_LAUNCH: usize = 64;
/// Minimum number of events for each choosing thread: smaller calls leave most of a GPU idle.
const MIN_EVENTS_PER_THREAD: usize = 8192;
/// Launches in progress per GPU.
const UNDER_WAY: usize = 4;
/// Launches whose events are queued for reading.
const READ_LATER: usize = 2;

/// A GPU with the state of its launches.
pub struct Gpu {
    /// Declared first, so that they are dropped before the memory used by their work.
    slots: Vec<LaunchSlot>,
    library: Arc<ModuleCache>,
    points: PointDrawer,
    elements: Vec<Arc<dyn DeviceSession>>,
    stream: Stream,
    integrand: Option<OfIntegrand>,
    grids: Option<Buffer>,
    /// Host memory for events: assigned to a slot, being read, or free.
    events: Vec<Arc<Pinned>>,
}

/// Data of an integrand for the kernels around |M|^2.
struct OfIntegrand {
    sizes: Sizes,
    kernels: Kernels,
    /// Tables of the kernel that generates points.
    points: crate::DeviceTables,
    legs: Buffer,
    of_class: Buffer,
    members: Buffer,
    exchanged: Buffer,
    /// Tables of colour flows; null without any.
    flow_words: Buffer,
    flow_sizes: Buffer,
}

fn device_code() -> [CompilationUnit; 2] {
    [crate::points::device_code(), crate::harvest::device_code()]
}

impl Gpu {
    /// Compiles the kernels, which are the same for all processes.
    ///
    /// # Errors
    /// The compiler is missing or fails.
    pub fn compile(library: &ModuleCache) -> Result<()> {
        library.load(&device_code())
    }

    /// Whether these kernels are compiled.
    pub fn is_compiled(library: &ModuleCache) -> bool {
        library.has_compiled(&device_code())
    }

    /// Creates the state of a GPU. `elements` evaluate the matrix elements, in the order of their numbers, followed by
    /// those of the classes of colour flows.
    ///
    /// # Errors
    /// The GPU fails.
    pub fn new(library: &Arc<ModuleCache>, elements: Vec<Arc<dyn DeviceSession>>) -> Result<Gpu> {
        Ok(Gpu {
            stream: Stream::new(library.driver())?,
            library: library.clone(),
            points: PointDrawer::new(library)?,
            elements,
            slots: Vec::new(),
            integrand: None,
            grids: None,
            events: Vec::new(),
        })
    }

    fn driver(&self) -> &Arc<dyn Driver> {
        self.library.driver()
    }

    fn set(
        &mut self,
        integrand: &Integrand,
        tables: &GpuTables,
        flows: &FlowTables,
    ) -> std::result::Result<(), Failure> {
        self.wait()?;
        let points = self.points.tables(integrand)?;
        let before = self.integrand.take();
        let kernels = match before {
            Some(before) if before.sizes == tables.sizes => before.kernels,
            _ => {
                self.slots.clear();
                Kernels::new(&self.library, tables.sizes.dimensions)?
            }
        };
        self.integrand = Some(OfIntegrand {
            sizes: tables.sizes,
            kernels,
            points,
            legs: upload(&self.stream, &tables.legs)?,
            of_class: upload(&self.stream, &tables.of_class)?,
            flow_words: upload(&self.stream, &flows.words)?,
            flow_sizes: upload(&self.stream, &flows.sizes)?,
            members: upload(&self.stream, &tables.members)?,
            exchanged: upload(&self.stream, &tables.exchanged)?,
        });
        Ok(())
    }

    /// Waits for all slots: after a failed launch, work may still be pending.
    fn wait(&self) -> Result<()> {
        self.slots.iter().try_for_each(LaunchSlot::wait)
    }
}

/// Tables of the groups of an integrand for kernels.
#[derive(Debug, Default)]
struct GpuTables {
    sizes: Sizes,
    /// Number of legs of each matrix element, and the matrix element for which that of a class of colour flows stands.
    legs: Vec<u32>,
    of_class: Vec<u32>,
    /// Matrix elements of all groups, and the start of each group in this list.
    members: Vec<u32>,
    first_member: Vec<u32>,
    /// For the partons of all groups, whether they are exchanged; and the start of each group in this list.
    exchanged: Vec<u32>,
    first_partons: Vec<u32>,
}

impl GpuTables {
    /// Makes the tables. Points of matrix elements that have `flows` are evaluated by those of classes.
    fn new(integrand: &Integrand, flows: &FlowTables) -> GpuTables {
        let mut tables = GpuTables::default();
        for group in &integrand.groups {
            tables.first_member.push(tables.members.len() as u32);
            tables.first_partons.push(tables.exchanged.len() as u32);
            for &element in &group.elements {
                tables.members.push(element as u32);
                let count = tables.legs.len().max(element + 1);
                tables.legs.resize(count, 0);
                tables.legs[element] = group.legs as u32;
            }
            let exchanged = group.partons.iter().map(|one| u32::from(one.exchanged));
            tables.exchanged.extend(exchanged);
            let sizes = &mut tables.sizes;
            sizes.most_elements = sizes.most_elements.max(group.elements.len());
            sizes.rows = sizes.rows.max(4 * group.legs);
        }
        let dimensions = (integrand.sources.iter()).map(|source| source.channel.dimension());
        tables.sizes.dimensions = dimensions.max().unwrap_or(0);
        let count = tables.legs.len().max(flows.elements);
        tables.legs.resize(count, 0);
        tables.of_class = (0..count as u32).collect();
        for &element in &flows.of_class {
            tables.of_class.push(element);
            tables.legs.push(tables.legs[element as usize]);
        }
        tables.sizes.elements = tables.legs.len();
        tables.sizes.flows = flows.elements > 0;
        tables
    }
}

/// What the points of a call of `SamplerGpus::run` are for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    /// Compute training sums; in a trial, also return points.
    Learn { trial: bool },
    /// Draw events, with the threshold weight of each source.
    Draw { thresholds: &'a [f64] },
}

/// The GPUs that evaluate the weights of blocks, and make the choices of events.
pub struct SamplerGpus {
    gpus: Vec<Gpu>,
    /// One for each thread that chooses.
    choosers: Vec<Chooser>,
    tables: GpuTables,
    flows: FlowTables,
    /// Whether events of matrix elements with colour flows are corrected.
    corrects: bool,
    launch: usize,
    threads: usize,
    /// Seconds spent by GPUs in each part of [`LaunchSlot::SECONDS`].
    seconds: [f64; LaunchSlot::SECONDS.len()],
    /// Seconds of host time: in total, and for converting GPU results to events.
    host_seconds: [f64; 2],
}

impl SamplerGpus {
    /// Combines GPUs, with `threads` host threads for reading events.
    pub fn new(gpus: Vec<Gpu>, choosers: Vec<Chooser>, threads: usize) -> SamplerGpus {
        SamplerGpus {
            gpus,
            choosers,
            flows: FlowTables::default(),
            corrects: false,
            threads: threads.max(1),
            seconds: [0.0; LaunchSlot::SECONDS.len()],
            host_seconds: [0.0; 2],
            tables: GpuTables::default(),
            launch: LAUNCH,
        }
    }

    /// Weighs points of these matrix elements by one of their colour flows each. Events get |M|^2 itself if `corrects`.
    ///
    /// # Errors
    /// A matrix element has too many legs.
    pub fn with_flows(
        self,
        flows: &[Option<Arc<ColorFlows>>],
        corrects: bool,
    ) -> Result<SamplerGpus> {
        let is_any = flows.iter().any(Option::is_some);
        Ok(SamplerGpus {
            flows: FlowTables::new(if is_any { flows } else { &[] })?,
            corrects: corrects && is_any,
            ..self
        })
    }

    /// Sets the maximum number of blocks per launch.
    pub fn with_launches_of(mut self, blocks: usize) -> SamplerGpus {
        self.launch = blocks;
        self
    }

    /// Runs all stages of all launches, and passes each slot with its blocks to `take` when it has finished.
    fn run<'a>(
        &mut self,
        integrand: &Integrand,
        blocks: &'a [Block<'a>],
        purpose: Purpose,
        take: &mut dyn FnMut(Sizes, &LaunchSlot, &Launch<'a>),
    ) -> Result<()> {
        if !(blocks.iter()).all(|block| matches!(block.numbers, GridInput::Random)) {
            let what = "networks of points".into();
            return Err(Error::NotOnGpu { what });
        }
        let begin = Instant::now();
        let (offsets, edges) = edges(blocks);
        // This must not depend on the number of GPUs.
        let share = (blocks.len() / LAUNCHES).next_power_of_two();
        let of_launch = share.max(MIN_LAUNCH).min(self.launch);
        let mut under_way = UNDER_WAY.min(blocks.len().div_ceil(of_launch * self.gpus.len()));
        for gpu in &mut self.gpus {
            under_way = gpu.begin(&edges, of_launch.min(blocks.len()), under_way)?;
        }
        let count = self.gpus.len();
        let slot = |number: usize| number / count % under_way.max(1);
        let launches: Vec<Launch> = (blocks.chunks(of_launch).enumerate())
            .map(|(number, blocks)| Launch::new(number % count, slot(number), blocks, &offsets))
            .collect();
        // Stages are separated by one step of all GPUs, as far as slots allow.
        let apart = |stage: usize| count * (stage * (under_way.max(1) - 1)).div_ceil(3);
        for step in 0..launches.len() + apart(3) {
            let at = |stage: usize| launches.get(step.checked_sub(apart(stage))?);
            if let Some(launch) = at(0) {
                self.gpus[launch.gpu].make(launch, &self.tables, integrand, purpose)?;
            }
            if let Some(launch) = at(1) {
                self.gpus[launch.gpu].weigh(launch, &self.tables, purpose)?;
            }
            if let Some(launch) = at(2) {
                self.gpus[launch.gpu].fetch(launch, &self.tables, purpose)?;
            }
            if let Some(launch) = at(3) {
                let gpu = &self.gpus[launch.gpu];
                let slot = &gpu.slots[launch.slot];
                slot.stream.synchronize()?;
                for (sum, (_, [from, to])) in self.seconds.iter_mut().zip(LaunchSlot::SECONDS) {
                    *sum += slot.marks[from].seconds(&slot.marks[to])?;
                }
                take(self.tables.sizes, slot, launch);
            }
        }
        self.host_seconds[0] += begin.elapsed().as_secs_f64();
        Ok(())
    }
}

/// Consecutive blocks of one source in a launch.
struct Run {
    source: usize,
    /// Start of the grid of the source.
    grid: u32,
    first: usize,
    count: usize,
}

/// Blocks whose weights are evaluated together.
struct Launch<'a> {
    gpu: usize,
    slot: usize,
    blocks: &'a [Block<'a>],
    runs: Vec<Run>,
}

impl<'a> Launch<'a> {
    fn new(gpu: usize, slot: usize, blocks: &'a [Block<'a>], grids: &BTreeMap<usize, u32>) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if run.source == block.source => run.count += 1,
                _ => runs.push(Run {
                    source: block.source,
                    grid: grids[&block.source],
                    first: number,
                    count: 1,
                }),
            }
        }
        Launch {
            gpu,
            slot,
            blocks,
            runs,
        }
    }
}

/// Returns the start of the grid of each source, and the edges of all grids.
fn edges(blocks: &[Block]) -> (BTreeMap<usize, u32>, Vec<u8>) {
    let (mut offsets, mut edges) = (BTreeMap::new(), Vec::new());
    for block in blocks {
        offsets.entry(block.source).or_insert_with(|| {
            let offset = edges.len() / 8;
            edges.extend(block.grid.to_bytes());
            offset as u32
        });
    }
    (offsets, edges)
}

impl Gpu {
    /// Allocates slots for up to `under_way` launches of `blocks` blocks, and returns the number of slots.
    fn begin(&mut self, edges: &[u8], blocks: usize, under_way: usize) -> Result<usize> {
        self.wait()?;
        self.grids = Some(upload(&self.stream, edges)?);
        let sizes = self.integrand()?.sizes;
        let blocks = blocks.next_power_of_two();
        if self.slots.iter().any(|slot| slot.blocks < blocks) {
            self.slots.clear();
        }
        while self.slots.len() < under_way {
            match LaunchSlot::new(self.driver(), blocks, sizes) {
                Ok(slot) => self.slots.push(slot),
                // Fewer slots only take longer.
                Err(Error::GpuMemory { .. }) if !self.slots.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.slots.len().min(under_way))
    }

    fn integrand(&self) -> Result<&OfIntegrand> {
        self.integrand.as_ref().ok_or_else(not_set)
    }

    fn arguments(&self, launch: &Launch, purpose: Purpose) -> Result<HarvestArguments> {
        let of = self.integrand()?;
        let (draws, most_tried) = match purpose {
            Purpose::Learn { trial: true } => (0, source_selection::POINTS as u32),
            Purpose::Learn { trial: false } => (0, 0),
            Purpose::Draw { .. } => (1, 0),
        };
        Ok(HarvestArguments {
            draws,
            most_tried,
            legs: of.legs.pointer(),
            of_class: of.of_class.pointer(),
            flow_words: of.flow_words.pointer(),
            flow_sizes: of.flow_sizes.pointer(),
            members: of.members.pointer(),
            exchanged: of.exchanged.pointer(),
            ..self.slots[launch.slot].arguments(launch.blocks.len(), of.sizes)
        })
    }

    /// Generates points and groups them by matrix element.
    fn make(
        &mut self,
        launch: &Launch,
        tables: &GpuTables,
        integrand: &Integrand,
        purpose: Purpose,
    ) -> Result<()> {
        let arguments = self.arguments(launch, purpose)?;
        let slot = &mut self.slots[launch.slot];
        let mut heads = Vec::new();
        for (number, run) in launch.runs.iter().enumerate() {
            for block in &launch.blocks[run.first..run.first + run.count] {
                heads.extend(BlockHead::new(block, run.grid, number as u32).bytes());
            }
        }
        slot.given[..heads.len()].copy_from_slice(&heads);
        let runs_at = slot.blocks * size_of::<BlockHead>();
        let mut runs = Vec::new();
        for run in &launch.runs {
            let source = &integrand.sources[run.source];
            let head = RunHead {
                threshold: match purpose {
                    Purpose::Learn { .. } => 0.0,
                    Purpose::Draw { thresholds } => thresholds[run.source],
                },
                first: run.first as u32,
                count: run.count as u32,
                dimension: source.channel.dimension() as u32,
                first_element: tables.first_member[source.group],
                elements: integrand.groups[source.group].elements.len() as u32,
                first_partons: tables.first_partons[source.group],
            };
            runs.extend(head.bytes());
        }
        slot.given[runs_at..runs_at + runs.len()].copy_from_slice(&runs);
        let slot = &self.slots[launch.slot];
        let stream = &slot.stream;
        let at = slot.heads.pointer();
        let of = self.integrand()?;
        let grids = self.grids.as_ref().map_or(0, Buffer::pointer);
        // SAFETY: the slot holds this many blocks; the slot, its pinned memory, grids and tables live until the stream
        // has been synchronised, which happens before they are used again.
        unsafe {
            stream.record(&slot.marks[0])?;
            stream.upload(at, &slot.given[..heads.len()])?;
            let runs_end = runs_at + runs.len();
            stream.upload(at + runs_at as u64, &slot.given[runs_at..runs_end])?;
            let blocks = launch.blocks.len() as u32;
            (self.points).launch(stream, &of.points, at, blocks, grids, &slot.rows())?;
            stream.record(&slot.marks[1])?;
            of.kernels.gather(stream, &arguments)?;
            stream.record(&slot.marks[2])?;
        }
        let slot = &mut self.slots[launch.slot];
        // SAFETY: as above.
        unsafe { (slot.stream).download(&mut slot.answers.begins, arguments.begins) }
    }

    /// Evaluates |M|^2, the weights, and the sums over weights.
    fn weigh(&mut self, launch: &Launch, tables: &GpuTables, purpose: Purpose) -> Result<()> {
        let arguments = self.arguments(launch, purpose)?;
        let (sizes, runs) = (tables.sizes, launch.runs.len());
        let slot = &self.slots[launch.slot];
        let stream = &slot.stream;
        stream.synchronize()?;
        let begins = words(&slot.answers.begins);
        stream.record(&slot.marks[3])?;
        for (side, _) in &slot.sides {
            side.wait(&slot.marks[3])?;
        }
        let mut streams = vec![stream.raw()];
        for (side, _) in &slot.sides {
            streams.push(side.raw());
        }
        let mut streams = streams.into_iter().cycle();
        let stride = arguments.stride as isize;
        // The last matrix elements may belong to no group.
        for (element, ends) in self.elements.iter().zip(begins.windows(2)) {
            let (first, end) = (ends[0], ends[1]);
            if first == end {
                continue;
            }
            let from = |array: Pointer| array + 8 * u64::from(first);
            let sample = DeviceSample {
                events: (end - first) as usize,
                momenta: from(arguments.compact_momenta),
                strides: Strides {
                    event: 1,
                    leg: 4 * stride,
                    component: stride,
                },
                alpha_s: from(arguments.compact_alpha_s),
                matrix_elements: from(arguments.squared),
                stream: streams.next().unwrap_or_default(),
                ..DeviceSample::empty()
            };
            // SAFETY: the arrays hold this many points of the matrix element, and live until the stream has been
            // synchronised.
            unsafe { element.run(&sample)? };
        }
        for (side, end) in &slot.sides {
            side.record(end)?;
            stream.wait(end)?;
        }
        stream.record(&slot.marks[4])?;
        let kernels = &self.integrand()?.kernels;
        // SAFETY: the arrays belong to the slot, and points and |M|^2 are written earlier in the stream.
        unsafe {
            kernels.weigh(stream, &arguments, runs)?;
            match purpose {
                Purpose::Learn { .. } => {
                    kernels.learn(stream, &arguments, runs, sizes.most_elements > 1)?;
                }
                Purpose::Draw { .. } => kernels.draw(stream, &arguments)?,
            }
        }
        stream.record(&slot.marks[5])?;
        let slot = &mut self.slots[launch.slot];
        let blocks = launch.blocks.len();
        let stream = slot.stream.clone();
        let answers = &mut slot.answers;
        let download = |to: &mut Pinned, bytes: usize, from: Pointer| {
            // SAFETY: the slot holds this many blocks, and its memory lives until the stream has been synchronised.
            unsafe { stream.download(&mut to[..bytes], from) }
        };
        let sums = size_of::<BlockSums>() * blocks;
        download(&mut answers.sums, sums, arguments.sums)?;
        download(&mut answers.largest, 8 * runs, arguments.largest)?;
        let spectra = 16 * unweight::BINS * runs;
        download(&mut answers.spectra, spectra, arguments.spectra)?;
        if let Purpose::Learn { trial } = purpose {
            let training = 8 * grid::BINS * sizes.dimensions * runs;
            download(&mut answers.training, training, arguments.training)?;
            let shares = 16 * sizes.most_elements * runs;
            download(&mut answers.shares, shares, arguments.shares)?;
            if trial {
                let tried = 8 * source_selection::POINTS * (1 + sizes.rows) * blocks;
                download(&mut answers.tried, tried, arguments.tried)?;
            }
        }
        Ok(())
    }

    /// Copies events to the host, if there are any.
    fn fetch(&mut self, launch: &Launch, tables: &GpuTables, purpose: Purpose) -> Result<()> {
        if let Purpose::Learn { .. } = purpose {
            return Ok(());
        }
        let arguments = self.arguments(launch, purpose)?;
        let slot = &mut self.slots[launch.slot];
        slot.answers.events = None;
        slot.stream.synchronize()?;
        let sums = sums(&slot.answers.sums, launch.blocks.len());
        let count: usize = sums.map(|one| one.accepted as usize).sum();
        let bytes = 8 * (EVENT_HEAD + tables.sizes.rows) * count;
        if count == 0 {
            return Ok(());
        }
        let mut memory = self.free_memory(bytes)?;
        let to = Arc::get_mut(&mut memory).ok_or_else(not_set)?;
        let slot = &mut self.slots[launch.slot];
        // SAFETY: all these events have been written, the memory is large enough, and it is not read before the stream
        // has been synchronised.
        unsafe { slot.stream.download(&mut to[..bytes], arguments.events) }?;
        self.events.push(memory.clone());
        slot.answers.events = Some(memory);
        Ok(())
    }

    /// Returns pinned host memory of at least `bytes` bytes that is not in use.
    fn free_memory(&mut self, bytes: usize) -> Result<Arc<Pinned>> {
        let free = |memory: &Arc<Pinned>| Arc::strong_count(memory) == 1;
        let large = |memory: &Arc<Pinned>| free(memory) && memory.len() >= bytes;
        if let Some(place) = self.events.iter().position(large) {
            return Ok(self.events.swap_remove(place));
        }
        // Replace memory that is too small by a larger piece.
        if let Some(place) = self.events.iter().position(free) {
            self.events.swap_remove(place);
        }
        let memory = Pinned::new(self.driver(), bytes.next_power_of_two())?;
        Ok(Arc::new(memory))
    }
}

/// Results of a launch, for the thread that reads the events.
struct Found<'a> {
    blocks: &'a [Block<'a>],
    /// For each run, its sums and its number of events.
    runs: Vec<(DrawnEvents, usize)>,
    records: Option<Arc<Pinned>>,
}

impl<'a> Found<'a> {
    fn new(slot: &LaunchSlot, launch: &Launch<'a>) -> Self {
        let sums: Vec<BlockSums> = sums(&slot.answers.sums, launch.blocks.len()).collect();
        let run = |(number, run): (usize, &Run)| {
            let own = run.first..run.first + run.count;
            let count = sums[own.clone()]
                .iter()
                .map(|of| of.accepted as usize)
                .sum();
            let drawn = DrawnEvents {
                source: run.source,
                sums: merged(&launch.blocks[own.clone()], &sums[own]),
                spectrum: spectrum(slot, number),
                events: Vec::new(),
            };
            (drawn, count)
        };
        Found {
            blocks: launch.blocks,
            runs: launch.runs.iter().enumerate().map(run).collect(),
            records: slot.answers.events.clone(),
        }
    }

    /// Reads the events from records of `bytes` bytes each.
    fn read(self, integrand: &Integrand, bytes: usize, threads: usize) -> Vec<DrawnEvents> {
        let counts: Vec<usize> = self.runs.iter().map(|(_, count)| *count).collect();
        let firsts: Vec<usize> = (counts.iter())
            .scan(0, |first, count| {
                Some(std::mem::replace(first, *first + count))
            })
            .collect();
        let records = self.records.as_ref().map_or(&[][..], |records| records);
        let events = parallel::map_each(threads, &counts, |run, place| {
            let record = &records[bytes * (firsts[run] + place)..][..bytes];
            event(integrand, self.blocks, record)
        });
        let drawn = self.runs.into_iter().zip(events);
        drawn
            .map(|((drawn, _), events)| DrawnEvents { events, ..drawn })
            .collect()
    }
}

fn not_set() -> Error {
    Error::Internal {
        what: "points on a GPU without an integrand".into(),
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

fn longs(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_ne_bytes(*word))
}

fn doubles(bytes: &[u8]) -> impl Iterator<Item = f64> {
    longs(bytes).map(f64::from_bits)
}

/// Returns the sums of the first `blocks` blocks.
fn sums(bytes: &[u8], blocks: usize) -> impl Iterator<Item = BlockSums> {
    let sums = bytes.chunks_exact(size_of::<BlockSums>()).take(blocks);
    sums.map(|bytes| {
        let (numbers, counts) = bytes.split_at(32);
        let mut numbers = doubles(numbers);
        let mut next = || numbers.next().unwrap_or(0.0);
        let counts = words(counts);
        BlockSums {
            sum: next(),
            absolute: next(),
            square: next(),
            largest: next(),
            accepted: counts[0],
            kept: counts[1],
            passed: counts[2],
            unusable: counts[3],
        }
    })
}

/// Returns the sums of a run of blocks, added in order.
fn merged(blocks: &[Block], sums: &[BlockSums]) -> WeightSums {
    let mut all = WeightSums::default();
    for (block, of) in blocks.iter().zip(sums) {
        let [sum, absolute, square] = [of.sum, of.absolute, of.square].map(f64::to_bits);
        let points = block.count as u64;
        let (passed, unusable) = (u64::from(of.passed), u64::from(of.unusable));
        let largest = of.largest.to_bits();
        all.merge(&WeightSums::from_words([
            points, passed, unusable, sum, 0, absolute, 0, square, 0, largest,
        ]));
    }
    all
}

/// Returns the spectrum of a run of blocks.
fn spectrum(slot: &LaunchSlot, run: usize) -> Spectrum {
    let bytes = 16 * unweight::BINS;
    let bins: Vec<u64> = longs(&slot.answers.spectra[bytes * run..][..bytes]).collect();
    let largest = doubles(&slot.answers.largest[8 * run..][..8]).next();
    let (bins, _) = bins.as_chunks::<2>();
    Spectrum::counted(largest.unwrap_or(0.0), bins)
}

/// Returns the training sums of a run of blocks.
fn taught(
    integrand: &Integrand,
    sizes: Sizes,
    slot: &LaunchSlot,
    launch: &Launch,
    number: usize,
    of_blocks: &[BlockSums],
    points: &[usize],
) -> TrainingData {
    let run = &launch.runs[number];
    let source = &integrand.sources[run.source];
    let blocks = &launch.blocks[run.first..run.first + run.count];
    let of_blocks = &of_blocks[run.first..run.first + run.count];
    let width = 8 * grid::BINS * sizes.dimensions;
    let used = 8 * grid::BINS * source.channel.dimension();
    let training = doubles(&slot.answers.training[width * number..][..used]);
    let width = 16 * sizes.most_elements;
    let used = 16 * source.chances.len();
    let shares: Vec<f64> = doubles(&slot.answers.shares[width * number..][..used]).collect();
    let (rows, most) = (
        4 * integrand.groups[source.group].legs,
        points[source.group],
    );
    let mut tried = TrialPoints::default();
    for (place, (block, of)) in blocks.iter().zip(of_blocks).enumerate() {
        let (mut momenta, mut weights) = (Vec::new(), Vec::new());
        if most > 0 {
            let width = 8 * (1 + sizes.rows);
            let first = (run.first + place) * source_selection::POINTS * width;
            let points = slot.answers.tried[first..].chunks_exact(width);
            for point in points.take(most.min(of.kept as usize)) {
                let mut numbers = doubles(point);
                weights.extend(numbers.next());
                momenta.extend(numbers.take(rows));
            }
        }
        let kept = u64::from(of.kept);
        tried.merge(&TrialPoints::new(
            momenta,
            weights,
            most,
            block.count as u64,
            kept,
        ));
    }
    TrainingData {
        sums: merged(blocks, of_blocks),
        training: Training::from_squares(training.collect()),
        spectrum: spectrum(slot, number),
        sizes: shares.as_chunks::<2>().0.to_vec(),
        tried,
    }
}

/// Converts a record to an event.
fn event(integrand: &Integrand, blocks: &[Block], record: &[u8]) -> Event {
    let mut longs = longs(record);
    let first = longs.next().unwrap_or(0);
    let (slot, partons) = (first as u32, (first >> 32) as u32);
    let mut numbers = longs.map(f64::from_bits);
    let mut next = || numbers.next().unwrap_or(0.0);
    let block = &blocks[slot as usize / SLOTS];
    let source = &integrand.sources[block.source];
    let group = &integrand.groups[source.group];
    let weight = next();
    let process = next();
    let fractions = [next(), next()];
    let scales: [f64; 3] = [next(), next(), next()];
    Event {
        source: block.source as u32,
        point: block.first + u64::from(slot) % SLOTS as u64,
        element: group.elements[group.partons[partons as usize].element] as u32,
        partons,
        process,
        weight,
        correction: 1.0,
        choice: None,
        bias: 1.0,
        fractions,
        scales,
        shown: match integrand.has_densities() {
            true => scales[1].max(scales[2]),
            false => scales[0],
        },
        alpha_s: next(),
        diagram: None,
        matched: None,
        momenta: (0..group.legs)
            .map(|_| [next(), next(), next(), next()])
            .collect(),
    }
}

impl Weigh for SamplerGpus {
    fn threads(&self) -> usize {
        self.threads
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        let of_gpus = LaunchSlot::SECONDS
            .iter()
            .map(|(name, _)| *name)
            .zip(self.seconds);
        let of_host = ["all", "answers read"].into_iter().zip(self.host_seconds);
        of_gpus.chain(of_host).collect()
    }

    fn set(&mut self, integrand: &Integrand) -> std::result::Result<(), Failure> {
        if !integrand.selections.is_empty() {
            return Err(Error::NotOnGpu {
                what: "a cut that is a function of the caller's".into(),
            }
            .into());
        }
        self.tables = GpuTables::new(integrand, &self.flows);
        for gpu in &mut self.gpus {
            gpu.set(integrand, &self.tables, &self.flows)?;
        }
        Ok(())
    }

    fn learn(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        trial: bool,
        take: &mut dyn FnMut(usize, &TrainingData),
    ) -> std::result::Result<(), Failure> {
        let purpose = Purpose::Learn { trial };
        let threads = self.threads;
        let points = source_selection::points_to_keep(integrand, trial);
        self.run(integrand, blocks, purpose, &mut |sizes, slot, launch| {
            let sums: Vec<_> = sums(&slot.answers.sums, launch.blocks.len()).collect();
            let all = parallel::map_large(threads, launch.runs.len(), |number| {
                taught(integrand, sizes, slot, launch, number, &sums, &points)
            });
            for (run, taught) in launch.runs.iter().zip(&all) {
                take(run.source, taught);
            }
        })?;
        Ok(())
    }

    fn draw(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        thresholds: &[f64],
        take: &mut dyn FnMut(DrawnEvents),
    ) -> std::result::Result<(), Failure> {
        let purpose = Purpose::Draw { thresholds };
        let threads = self.threads;
        let bytes = 8 * (EVENT_HEAD + self.tables.sizes.rows);
        let mut seconds = 0.0;
        let (found, each) = mpsc::sync_channel(READ_LATER);
        std::thread::scope(|scope| {
            // Events are read while GPUs evaluate the next points.
            let gpus = &mut *self;
            let weigh = move || {
                gpus.run(integrand, blocks, purpose, &mut |_, slot, launch| {
                    // The reading thread may have panicked; the panic is propagated.
                    let _ = found.send(Found::new(slot, launch));
                })
            };
            let weighing =
                signals::with_blocked_signals(|| Builder::new().spawn_scoped(scope, weigh));
            let weighing = weighing.map_err(|error| Error::Internal {
                what: format!("a thread for GPUs: {error}"),
            })?;
            for one in each {
                let begin = Instant::now();
                one.read(integrand, bytes, threads)
                    .into_iter()
                    .for_each(&mut *take);
                seconds += begin.elapsed().as_secs_f64();
            }
            weighing.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        self.host_seconds[1] += seconds;
        Ok(())
    }

    fn approximates(&self) -> bool {
        self.corrects
    }

    fn correct(&mut self, parts: &mut [Vec<Event>]) -> std::result::Result<(), Failure> {
        let starts = &self.flows.words[..self.flows.elements];
        let has_flows = |event: &Event| {
            let start = starts.get(event.element as usize);
            start.is_some_and(|&start| start != flows::NONE)
        };
        let correct = |chooser: &mut Chooser, events: &mut [&mut Event]| {
            chooser.choose(events, has_flows, Wanted::Corrections)
        };
        change_events(&mut self.choosers, parts, MIN_EVENTS_PER_THREAD, correct)?;
        Ok(())
    }

    fn choose(&mut self, parts: &mut [Vec<Event>]) -> std::result::Result<(), Failure> {
        let choose = |chooser: &mut Chooser, events: &mut [&mut Event]| {
            chooser.choose(events, |event| event.choice.is_none(), Wanted::Choices)
        };
        change_events(&mut self.choosers, parts, MIN_EVENTS_PER_THREAD, choose)?;
        Ok(())
    }
}
