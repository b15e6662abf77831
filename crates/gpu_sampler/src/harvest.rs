//! The kernels that run before and after |M|^2, and their launches (`cuda/harvest.cuh`).

use crate::arguments::{BlockSums, HarvestArguments, RunHead};
use crate::source::{RANDOM, unit};
use crate::structures::{BlockHead, SLOTS};
use mebridge_driver::{Function, Shape, Stream};
use mebridge_gpu::{CompilationUnit, DeviceStructure, ModuleCache};
use mebridge_sampler::grid::BINS;
use mebridge_support::error::Result;

const HARVEST: &str = include_str!("../../../cuda/harvest.cuh");
/// Threads per block of the kernels that compute sums.
const SCAN: u32 = 1024;
const MERGE: u32 = 64;
/// Bytes of shared memory of `weigh_points`: weights, partial sums, and four sets of bits.
const WEIGH: usize = 8 * SLOTS + 8 * 32 + 4 * SLOTS / 8;
/// Bytes of shared memory of `count_sizes`: bins and sizes.
const SIZES: usize = 24 * mebridge_sampler::unweight::BINS;

/// The kernels around |M|^2.
pub(crate) struct Kernels {
    draw_flows: Function,
    count_elements: Function,
    scan_elements: Function,
    gather_points: Function,
    weigh_points: Function,
    count_sizes: Function,
    train: Function,
    merge_training: Function,
    count_shares: Function,
    merge_shares: Function,
    try_points: Function,
    scan_events: Function,
    write_events: Function,
}

/// Returns the bytes of shared memory of `train` for grids with `dimensions` dimensions.
fn training(dimensions: usize) -> usize {
    8 * SLOTS + dimensions * (8 * BINS + SLOTS)
}

/// Returns the device code of these kernels.
pub fn device_code() -> CompilationUnit {
    let structures = [
        BlockHead::declaration(),
        RunHead::declaration(),
        BlockSums::declaration(),
        HarvestArguments::declaration(),
    ]
    .concat();
    let kernels = [
        "draw_flows",
        "count_elements",
        "scan_elements",
        "gather_points",
        "weigh_points",
        "count_sizes",
        "train",
        "merge_training",
        "count_shares",
        "merge_shares",
        "try_points",
        "scan_events",
        "write_events",
    ];
    unit(&[RANDOM, &structures, HARVEST], &kernels)
}

impl Kernels {
    /// Compiles the kernels, for grids with at most `dimensions` dimensions.
    pub(crate) fn new(library: &ModuleCache, dimensions: usize) -> Result<Kernels> {
        let unit = device_code();
        let function = |name, shared| library.function(&unit, name, shared);
        Ok(Kernels {
            draw_flows: function("draw_flows", 0)?,
            count_elements: function("count_elements", 0)?,
            scan_elements: function("scan_elements", 0)?,
            gather_points: function("gather_points", 0)?,
            weigh_points: function("weigh_points", 0)?,
            count_sizes: function("count_sizes", 0)?,
            train: function("train", training(dimensions))?,
            merge_training: function("merge_training", 0)?,
            count_shares: function("count_shares", 0)?,
            merge_shares: function("merge_shares", 0)?,
            try_points: function("try_points", 0)?,
            scan_events: function("scan_events", 0)?,
            write_events: function("write_events", 0)?,
        })
    }

    /// Draws colour flows, where matrix elements have them, and groups points by matrix element.
    ///
    /// # Safety
    /// All arrays exist, and the points have been written.
    pub(crate) unsafe fn gather(&self, stream: &Stream, a: &HarvestArguments) -> Result<()> {
        let bytes = 4 * a.elements as usize * a.blocks as usize;
        let arguments = a.bytes();
        let slots = SLOTS as u32;
        // SAFETY: these are the arguments of the kernels; the caller guarantees the rest.
        unsafe {
            stream.fill(a.counts, 0, bytes)?;
            if a.flow != 0 {
                let shape = shape(a.blocks, slots, 0);
                stream.launch(&self.draw_flows, shape, &arguments)?;
            }
            let shape = shape(a.blocks, slots, 4 * SLOTS);
            stream.launch(&self.count_elements, shape, &arguments)?;
            stream.launch(&self.scan_elements, scan(), &arguments)?;
            stream.launch(
                &self.gather_points,
                self::shape(a.blocks, slots, 0),
                &arguments,
            )
        }
    }

    /// Computes the weights, the sums of each block, and the spectra of sizes of the `runs` of blocks.
    ///
    /// # Safety
    /// As for [`Self::gather`]; |M|^2 has been written after it.
    pub(crate) unsafe fn weigh(
        &self,
        stream: &Stream,
        a: &HarvestArguments,
        runs: usize,
    ) -> Result<()> {
        let arguments = a.bytes();
        let bins = mebridge_sampler::unweight::BINS;
        // SAFETY: these are the arguments of the kernels; the caller guarantees the rest.
        unsafe {
            stream.fill(a.spectra, 0, 16 * bins * runs)?;
            let weigh = shape(a.blocks, SLOTS as u32, WEIGH);
            stream.launch(&self.weigh_points, weigh, &arguments)?;
            let count = shape(a.blocks, bins as u32, SIZES);
            stream.launch(&self.count_sizes, count, &arguments)
        }
    }

    /// Computes the training sums of the `runs` of blocks. With `shares`, the matrix elements of a group are
    /// distinguished.
    ///
    /// # Safety
    /// As for [`Self::weigh`], which has been called before.
    pub(crate) unsafe fn learn(
        &self,
        stream: &Stream,
        a: &HarvestArguments,
        runs: usize,
        shares: bool,
    ) -> Result<()> {
        let arguments = a.bytes();
        let dimensions = a.dimensions as usize;
        let merge = |width: usize| Shape {
            blocks: [runs as u32, (width as u32).div_ceil(MERGE).max(1), 1],
            ..shape(1, MERGE, 0)
        };
        // SAFETY: these are the arguments of the kernels; the caller guarantees the rest.
        unsafe {
            stream.fill(a.training, 0, 8 * runs * dimensions * BINS)?;
            let train = shape(a.blocks, SLOTS as u32, training(dimensions));
            stream.launch(&self.train, train, &arguments)?;
            stream.launch(&self.merge_training, merge(dimensions * BINS), &arguments)?;
            let width = 2 * a.most_elements as usize;
            stream.fill(a.shares, 0, 8 * runs * width)?;
            if shares {
                stream.launch(&self.count_shares, shape(a.blocks, MERGE, 0), &arguments)?;
                stream.launch(&self.merge_shares, merge(width), &arguments)?;
            }
            if a.most_tried > 0 {
                let numbers = a.blocks * a.most_tried * (1 + a.rows);
                stream.fill(a.tried, 0, 8 * numbers as usize)?;
                let kept = shape(a.blocks, SLOTS as u32, SLOTS / 8);
                stream.launch(&self.try_points, kept, &arguments)?;
            }
        }
        Ok(())
    }

    /// Writes the records of events.
    ///
    /// # Safety
    /// As for [`Self::weigh`], which has been called before with `draws`.
    pub(crate) unsafe fn draw(&self, stream: &Stream, a: &HarvestArguments) -> Result<()> {
        let arguments = a.bytes();
        // SAFETY: these are the arguments of the kernels; the caller guarantees the rest.
        unsafe {
            stream.launch(&self.scan_events, scan(), &arguments)?;
            let write = shape(a.blocks, SLOTS as u32, 0);
            stream.launch(&self.write_events, write, &arguments)
        }
    }
}

fn shape(blocks: u32, threads: u32, shared: usize) -> Shape {
    Shape {
        blocks: [blocks, 1, 1],
        threads: [threads, 1, 1],
        shared: shared as u32,
    }
}

fn scan() -> Shape {
    shape(1, SCAN, 4 * SCAN as usize)
}
