//! Memory and size of chunks of events.

use super::kernel_spec::GeneratedPart;
use super::slot::{Arrays, Slot};
use super::workspace::WorkspaceSize;
use super::{Engine, Options};
use crate::driver::Driver;
use crate::level_schedule::Amp2Source;
use mebridge_support::error::{Error, Result};
use std::sync::Arc;

/// Desired thread blocks of the kernel `helicities` per multiprocessor if workspaces are in device memory.
const BLOCKS_PER_PROCESSOR: usize = 6;
/// Maximum number of parts of the helicities; JAMP2 are stored for each part.
const PARTS: usize = 256;
/// Fraction of the memory for workspaces that do not fit into shared memory.
const WORKSPACES_SHARE: f64 = 0.25;
/// Maximum events per chunk: more would gain nothing, and copies should overlap with work.
const MAX_CHUNK: usize = 1 << 20;
/// Minimum multiply-adds per chunk if several are in progress.
const CHUNK_WORK: usize = 2_000_000_000;
/// Multiply-adds per chunk of samples, which run one after the other, and the fraction of the memory that a chunk of
/// more than one block may use.
const SAMPLES_WORK: usize = 4 * CHUNK_WORK;
const SAMPLES_SHARE: f64 = 0.25;
/// Minimum events per chunk if several are in progress.
const MIN_CHUNK: usize = 1 << 14;
/// Maximum multiply-adds per chunk of a plan of loops: about ten milliseconds, with little memory. The time of launches
/// is negligible in comparison.
const LOOPS_WORK: usize = 60_000_000_000;

/// Returns the desired number of concurrent workspaces; an upper limit if they are in device memory.
pub(super) fn workspaces_wanted(
    driver: &Arc<dyn Driver>,
    workspace: &WorkspaceSize,
    options: &Options,
) -> Result<usize> {
    let wanted = driver.properties().processors as usize * BLOCKS_PER_PROCESSOR;
    if workspace.shared {
        return Ok(wanted);
    }
    let (free, _) = driver.memory()?;
    let memory = free as f64 * options.memory * WORKSPACES_SHARE;
    Ok(wanted.min(memory as usize / workspace.bytes).max(1))
}

impl Engine {
    /// Returns the number of parts of the helicities, and the number of thread blocks in y for the workspaces of
    /// `blocks` memory blocks.
    pub(super) fn parts(&self, blocks: usize) -> (usize, usize) {
        let there = (blocks * (self.lanes() / self.workspace_lanes) as usize).clamp(1, 65535);
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

    /// Returns the bytes of each buffer for a chunk of `blocks` memory blocks.
    pub(super) fn bytes_of(&self, blocks: usize) -> [usize; 6] {
        let real = self.real();
        let lanes = self.lanes() as usize;
        let events = blocks * lanes;
        let subsets = self.spec.as_ref().and_then(|r| r.subsets.as_ref());
        let subsets = subsets.map_or(0, |subsets| subsets.order.len());
        let helicities = match self.generated_part() {
            GeneratedPart::Helicity => self.tables.waves.len(),
            GeneratedPart::Whole | GeneratedPart::Levels => 0,
        };
        // With batches, fewer blocks may have more parts.
        let parts = match (&self.blas, self.shared) {
            (None, _) => self.parts(blocks).0,
            (_, true) => self.groups.clamp(1, PARTS),
            (_, false) => self.groups.clamp(1, PARTS).min(self.wanted),
        };
        let in_parts = parts.max(subsets).max(helicities) * events;
        [
            self.tables.vectors.max(self.vectors) as usize * events * real,
            match (&self.loops, self.shared) {
                (Some(loops), _) => loops.workspaces(blocks),
                (None, true) => 0,
                (None, false) => self.wanted * self.workspace_bytes,
            },
            self.tables.waves.len() * events * real,
            self.color_flows * in_parts * real,
            match &self.tables.squares {
                Amp2Source::Amplitudes(amp2) => amp2.len() * in_parts * real,
                Amp2Source::Totals { totals, .. } => {
                    totals.len() * lanes.max(subsets * events) * real
                }
            },
            self.blas.as_ref().map_or(0, |blas| blas.bytes(blocks)),
        ]
    }

    /// Returns the events per chunk for a call of `events` events, and the number of concurrent chunks.
    pub(super) fn chunk(&self, events: usize) -> Result<(usize, usize)> {
        let lanes = self.lanes() as usize;
        let blocks = events.div_ceil(lanes);
        // Minimum size of chunks that justifies a launch.
        let worth = (CHUNK_WORK / self.plan.count.multiply_adds.max(1)).max(MIN_CHUNK);
        let most = match &self.loops {
            Some(_) => {
                let block = self.plan.count.multiply_adds.max(1) * lanes;
                (LOOPS_WORK / block).clamp(1, MAX_CHUNK / lanes)
            }
            None => MAX_CHUNK / lanes,
        };
        let smallest = (worth.min(MAX_CHUNK) / lanes).min(most);
        // Times of overlapping chunks would not add up.
        let alone = (blocks <= 2 * smallest || self.profile()) && blocks <= most;
        let size = blocks * lanes;
        if alone && self.slots.first().is_some_and(|s| s.capacity >= size) {
            // The slot is large enough; querying the GPU takes longer than a small call.
            return Ok((size, 1));
        }
        let (free, total) = self.library.driver().memory()?;
        let mine: usize = self.slots.iter().map(Slot::bytes).sum();
        let limit = (free as f64 * self.options.memory) as usize + mine;
        let arrays = Arrays::new(lanes, self.legs());
        let fits = |blocks: usize, slots: usize| {
            let working: usize = self.bytes_of(blocks).iter().sum();
            slots
                * (working
                    + blocks
                        * (arrays.input
                            + arrays.output
                            + 16 * self.tables.formula_couplings.len() * lanes))
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
            return Ok((size * lanes, 2));
        }
        if fits(1, 1) {
            return Ok((lanes, 1));
        }
        Err(Error::GpuMemory {
            what: format!(
                "{} bytes for {lanes} events",
                self.bytes_of(1).iter().sum::<usize>()
            ),
            free: limit,
            total,
        })
    }

    /// Returns the maximum events per chunk of samples. Its memory is kept, while other programs also use the GPU.
    pub(super) fn largest_of_samples(&self) -> Result<usize> {
        let worth = SAMPLES_WORK / self.plan.count.multiply_adds.max(1);
        let mut size = worth.clamp(MIN_CHUNK, MAX_CHUNK).next_power_of_two();
        let (free, total) = self.library.driver().memory()?;
        let limit = free as f64 * self.options.memory;
        let share = (limit * SAMPLES_SHARE) as usize;
        let lanes = self.lanes() as usize;
        let bytes = |events: usize| -> usize {
            let blocks = events.div_ceil(lanes);
            self.bytes_of(blocks).iter().sum()
        };
        while size > lanes && bytes(size) > share {
            size /= 2;
        }
        if bytes(size) <= limit as usize {
            return Ok(size);
        }
        Err(Error::GpuMemory {
            what: format!("{} bytes for {lanes} events", bytes(size)),
            free: limit as usize,
            total,
        })
    }

    /// Allocates memory for a call of `events` events: the size given by [`Engine::chunk`], or less if other programs
    /// have taken the memory since.
    pub(super) fn make_room(&mut self, events: usize) -> Result<(usize, usize)> {
        let lanes = self.lanes() as usize;
        let (mut size, slots) = self.chunk(events)?;
        loop {
            match self.prepare(size, slots) {
                Err(Error::GpuMemory { .. }) if size > lanes => {
                    self.slots.clear();
                    size = (size / 2).next_multiple_of(lanes);
                }
                result => return result.map(|()| (size, slots)),
            }
        }
    }

    /// Allocates `slots` slots for chunks of this size, unless existing slots are sufficient.
    pub(super) fn prepare(&mut self, size: usize, slots: usize) -> Result<()> {
        let enough = |slot: &Slot| slot.capacity >= size;
        if self.slots.len() >= slots && self.slots[..slots].iter().all(enough) {
            return Ok(());
        }
        self.slots.clear();
        for _ in 0..slots {
            let slot = Slot::new(self, size)?;
            self.slots.push(slot);
        }
        Ok(())
    }
}
