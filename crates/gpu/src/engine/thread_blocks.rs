//! Thread block sizes, for kernels whose results do not depend on them.
//!
//! Each kernel has a default. The first launches that fill the GPU try other sizes, timed by events that are read at
//! the end of the call; the choice is stored on disk. No kernel is launched just for this, and there is no additional
//! waiting. Timed chunks run one after the other, so that they do not slow each other down.

use super::Engine;
use super::kernel_spec::{GENERATED_SHAPE, GeneratedPart, helicity_shape};
use super::tuning::Chooser;
use crate::driver::{Event, Function, Shape, Stream};
use crate::source;
use mebridge_backend::Clocks;
use mebridge_support::error::Result;
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;

/// Default threads per block of a kernel with one thread per event.
pub(super) const BY_EVENT: u32 = 128;

/// A launch is timed if it has this many times the threads that can run concurrently.
const FULL: usize = 2;

/// A class of calls that launch the same kernels in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LaunchClass {
    pub(super) channels: bool,
    pub(super) colors: bool,
    pub(super) generated: bool,
}

/// A kernel with a variable block size.
struct Kernel {
    function: Function,
    /// Sizes of the work, on which the best number depends in addition to the code of the kernel.
    work: Vec<u32>,
    /// Minimum events of a chunk that fills the GPU.
    least: usize,
    chooser: Chooser,
}

/// Thread block sizes of the kernels of one chunk.
#[derive(Default)]
pub(super) struct BlockSizes {
    /// Function and threads per block of each kernel, and whether it is a candidate to be timed.
    each: Vec<(Function, u32, bool)>,
    /// Whether there are undecided choices to which such chunks contribute.
    tuning: bool,
    /// Events before and after each timed launch.
    clocks: RefCell<Vec<(Function, [Event; 2])>>,
}

impl BlockSizes {
    /// Returns the threads per block of a kernel.
    pub(super) fn threads(&self, function: &Function, default: u32) -> u32 {
        let mut each = self.each.iter();
        let known = each.find(|(known, ..)| known == function);
        known.map_or(default, |&(_, threads, _)| threads)
    }

    /// Returns whether there are undecided choices.
    pub(super) fn tuning(&self) -> bool {
        self.tuning
    }

    /// Launches a kernel, between events if it is to be timed.
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub(super) unsafe fn launch(
        &self,
        stream: &Stream,
        function: &Function,
        shape: Shape,
        arguments: &[u8],
    ) -> Result<()> {
        let timed = |(known, _, timed): &(Function, u32, bool)| *timed && known == function;
        if !self.tuning || !self.each.iter().any(timed) {
            // SAFETY: guaranteed by the caller.
            return unsafe { stream.launch(function, shape, arguments) };
        }
        let before = stream.put_event()?;
        // SAFETY: guaranteed by the caller.
        unsafe { stream.launch(function, shape, arguments)? };
        let after = stream.put_event()?;
        let clocks = (function.clone(), [before, after]);
        self.clocks.borrow_mut().push(clocks);
        Ok(())
    }
}

/// A chunk with timed launches.
struct TimedChunk {
    sort: LaunchClass,
    events: usize,
    sizes: BlockSizes,
    end: Event,
}

/// Chosen block sizes, and those being tried.
#[derive(Default)]
pub(super) struct Tuning {
    kernels: HashMap<LaunchClass, Vec<Kernel>>,
    /// Chunks of this call with timed launches.
    trials: Vec<TimedChunk>,
    /// Whether candidates have been assigned to launches whose times are not yet known.
    pending: bool,
}

impl Tuning {
    /// Starts a call. If the previous call failed, its launches are discarded.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.trials.clear();
            let kernels = self.kernels.values_mut().flatten();
            kernels.for_each(|kernel| kernel.chooser.discard_pending());
        }
    }

    /// Returns the event for which a stream waits before its kernels, so that timed kernels run alone.
    pub(super) fn before(&self) -> Option<&Event> {
        self.trials.last().map(|trial| &trial.end)
    }

    /// Records that all kernels of a chunk have been submitted to a stream.
    pub(super) fn put(
        &mut self,
        sort: LaunchClass,
        events: usize,
        sizes: BlockSizes,
        stream: &Stream,
    ) -> Result<()> {
        if !sizes.clocks.borrow().is_empty() {
            self.trials.push(TimedChunk {
                sort,
                events,
                sizes,
                end: stream.put_event()?,
            });
        }
        Ok(())
    }
}

impl Engine {
    /// Returns the block sizes for a chunk of `events` events.
    pub(super) fn sizes(
        &mut self,
        sort: LaunchClass,
        generated: Option<&[Function]>,
        events: usize,
    ) -> Result<BlockSizes> {
        if !self.options.tune {
            return Ok(BlockSizes::default());
        }
        // Times of kernels with clocks are not valid for those without.
        let may_try = self.clocks != Clocks::Kernels;
        if !self.tuning.kernels.contains_key(&sort) {
            let kernels = self.tunable(sort, generated)?;
            self.tuning.kernels.insert(sort, kernels);
        }
        let mut sizes = BlockSizes::default();
        for kernel in self.tuning.kernels.get_mut(&sort).into_iter().flatten() {
            let mut given = None;
            if may_try && !kernel.chooser.is_done() && events >= kernel.least {
                sizes.tuning = true;
                given = kernel.chooser.next_candidate();
                self.tuning.pending |= given.is_some();
            }
            let threads = given.unwrap_or(kernel.chooser.threads());
            let function = kernel.function.clone();
            sizes.each.push((function, threads, given.is_some()));
        }
        Ok(sizes)
    }

    /// Returns the kernels with variable block sizes for a class of calls.
    fn tunable(&self, sort: LaunchClass, generated: Option<&[Function]>) -> Result<Vec<Kernel>> {
        let mut kernels = Vec::new();
        let process = [
            u32::from(sort.channels),
            u32::from(sort.colors),
            self.plan.masses.len() as u32,
            self.plan.helicities.len() as u32,
            self.tables.flows as u32,
            self.tables.squares.len() as u32,
        ];
        let processors = self.library.driver().properties().processors;
        // `an_event`: threads per event of the largest launch.
        let mut add =
            |function: &Function, default: u32, others: &[u32], an_event: u32, work: &[u32]| {
                let most = function.usage()?.threads;
                let mut possible = Vec::new();
                for &threads in others {
                    if threads <= most && function.occupancy(threads, 0)? > 0 {
                        possible.push(threads);
                    }
                }
                let blocks = function.occupancy(default, 0)?;
                let resident = (blocks * default * processors) as usize;
                let work: Vec<u32> = process.iter().chain(work).copied().collect();
                let remembered = self.library.remembered_threads(function, &work);
                kernels.push(Kernel {
                    chooser: Chooser::new(default, &possible, remembered),
                    least: (FULL * resident).div_ceil(an_event.max(1) as usize),
                    function: function.clone(),
                    work,
                });
                Ok(())
            };
        if let (Some(functions), GeneratedPart::Whole) = (generated, self.generated_part()) {
            let subsets = self.spec.as_ref().and_then(|r| r.subsets.as_ref());
            let in_y = subsets.map_or(1, |subsets| subsets.order.len() as u32);
            let (threads, _) = GENERATED_SHAPE;
            let smaller = halves(threads, self.lanes());
            for (i, function) in functions.iter().enumerate() {
                // The kernel for values shared by subsets comes first.
                let an_event = if i == 0 && subsets.is_some() { 1 } else { in_y };
                add(function, threads, &smaller, an_event, &[in_y])?;
            }
            return Ok(kernels);
        }
        let others = [2 * BY_EVENT, BY_EVENT / 2];
        add(&self.load, BY_EVENT, &others, 1, &[self.tables.vectors])?;
        let squares = if sort.channels {
            &self.squares[..]
        } else {
            &[]
        };
        let mut executors: Vec<(&Function, Vec<u32>)> = Vec::new();
        let parts = self.parts_of(generated, sort.channels || sort.colors);
        let levels = match parts.levels {
            Some(_) => &[],
            None => &self.levels[..],
        };
        for launch in levels.iter().chain(squares).flatten() {
            match executors.iter_mut().find(|w| *w.0 == launch.function) {
                Some((_, counts)) => counts.push(launch.count),
                None => executors.push((&launch.function, vec![launch.count])),
            }
        }
        let smaller = halves(source::THREADS, 2 * self.lanes());
        for (function, counts) in executors {
            let largest = counts.iter().copied().max().unwrap_or(0);
            add(function, source::THREADS, &smaller, largest, &counts)?;
        }
        let waves = self.tables.waves.len() as u32;
        if let Some(function) = parts.helicity {
            let (threads, _) = helicity_shape(waves, self.double, self.lanes());
            add(
                function,
                threads,
                &halves(threads, 4 * self.lanes()),
                waves,
                &[],
            )?;
        }
        Ok(kernels)
    }

    /// Reads the times of a call whose streams have all been synchronised, and stores new choices. Returns whether one
    /// differs from the default.
    pub(super) fn learn(&mut self) -> Result<bool> {
        self.tuning.pending = false;
        let mut changed = false;
        for trial in std::mem::take(&mut self.tuning.trials) {
            let kernels = self.tuning.kernels.get_mut(&trial.sort);
            let clocks = trial.sizes.clocks.borrow();
            for kernel in kernels.into_iter().flatten() {
                let mut seconds = None;
                for (function, [before, after]) in &*clocks {
                    if *function == kernel.function {
                        let time = before.seconds(after)?;
                        seconds = Some(seconds.unwrap_or(0.0) + time);
                    }
                }
                let threads = trial.sizes.threads(&kernel.function, 0);
                let chosen = seconds
                    .and_then(|s: f64| kernel.chooser.record(threads, s / trial.events as f64));
                if let Some(chosen) = chosen {
                    self.library
                        .remember_threads(&kernel.function, &kernel.work, chosen);
                    changed |= chosen != kernel.chooser.default();
                }
            }
        }
        Ok(changed)
    }

    /// Returns the threads per block of a kernel in calls with or without channels, with generated code or not, and the
    /// candidates tried.
    pub(super) fn chosen(
        &self,
        (channels, generated): (bool, bool),
        function: &Function,
        default: u32,
    ) -> (u32, Vec<(u32, f64)>) {
        // Those with the most trials, among calls without and with colours.
        let of_calls = [false, true].map(|colors| LaunchClass {
            channels,
            colors,
            generated,
        });
        let kernels = of_calls
            .iter()
            .filter_map(|sort| self.tuning.kernels.get(sort));
        let kernels = kernels.flatten();
        let kernels = kernels.filter(|kernel| kernel.function == *function);
        let of = |kernel: &Kernel| (kernel.chooser.threads(), kernel.chooser.timed_candidates());
        let best =
            kernels.max_by_key(|k| (k.chooser.timed_candidates().len(), k.chooser.is_done()));
        best.map_or((default, Vec::new()), of)
    }
}

/// Returns the successive halves of a number, down to the smallest useful one.
fn halves(threads: u32, least: u32) -> Vec<u32> {
    let halves = std::iter::successors(Some(threads / 2), |threads| Some(threads / 2));
    halves.take_while(|&threads| threads >= least).collect()
}
