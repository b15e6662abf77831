//! How much memory chunks of events take, and how large they are.

use super::slot::{Arrays, Slot};
use super::workspace::WorkspaceSize;
use super::{Engine, Options};
use crate::driver::Driver;
use crate::level_schedule::Amp2Source;
use mebridge_support::error::{Error, Result};
use std::sync::Arc;

/// Blocks for helicities that one multiprocessor should have to do, where their workspaces lie in
/// the memory of the GPU.
const BLOCKS_PER_PROCESSOR: usize = 6;
/// The most parts into which helicities fall; JAMP2 of each part are kept.
const PARTS: usize = 256;
/// The share of the memory that workspaces may take where they do not fit into shared memory.
const WORKSPACES_SHARE: f64 = 0.25;
/// The most events of a chunk: beyond that nothing is gained, and copies should overlap with work.
const LARGEST_CHUNK: usize = 1 << 20;
/// The fewest multiply-adds of a chunk where several are under way.
const CHUNK_WORK: usize = 2_000_000_000;
/// Multiply-adds of a chunk of samples, which follow each other, and the share of the memory that it may take where it
/// has more events than a block.
const SAMPLES_WORK: usize = 4 * CHUNK_WORK;
const SAMPLES_SHARE: f64 = 0.25;
/// The fewest events of a chunk where several are under way.
const SMALLEST_CHUNK: usize = 1 << 14;
/// The most multiply-adds of a chunk of a plan of loops: some ten milliseconds, in little memory. Launches do not count
/// beside that.
const LOOPS_WORK: usize = 60_000_000_000;

/// Workspaces that should be at work at the same time; where they take memory of the GPU, the most.
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
    /// Into how many parts the helicities fall, and blocks of threads in y that share the workspaces of
    /// so many blocks of memory.
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

    /// Bytes that a chunk of so many blocks of memory takes.
    pub(super) fn bytes_of(&self, blocks: usize) -> [usize; 6] {
        let real = self.real();
        let lanes = self.lanes() as usize;
        let events = blocks * lanes;
        let subsets = self.spec.as_ref().and_then(|r| r.subsets.as_ref());
        let subsets = subsets.map_or(0, |subsets| subsets.order.len());
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
        let in_parts = parts.max(subsets).max(helicities) * events;
        [
            self.tables.vectors.max(self.vectors) as usize * events * real,
            match self.shared {
                true => 0,
                false => self.wanted * self.workspace_bytes,
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

    /// The events of a chunk of a call of so many, and how many chunks are under way at a time.
    pub(super) fn chunk(&self, events: usize) -> Result<(usize, usize)> {
        let lanes = self.lanes() as usize;
        let blocks = events.div_ceil(lanes);
        // Chunks that are worth a launch.
        let worth = (CHUNK_WORK / self.plan.count.multiply_adds.max(1)).max(SMALLEST_CHUNK);
        let most = match &self.loops {
            Some(_) => {
                let block = self.plan.count.multiply_adds.max(1) * lanes;
                (LOOPS_WORK / block).clamp(1, LARGEST_CHUNK / lanes)
            }
            None => LARGEST_CHUNK / lanes,
        };
        let smallest = (worth.min(LARGEST_CHUNK) / lanes).min(most);
        // Times of chunks that overlap would not add up.
        let alone = (blocks <= 2 * smallest || self.profile()) && blocks <= most;
        let size = blocks * lanes;
        if alone && self.slots.first().is_some_and(|s| s.capacity >= size) {
            // There is room already; to ask the GPU takes longer than a small call.
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

    /// The most events of a chunk of samples. Its memory is kept, and others use the GPU, too.
    pub(super) fn largest_of_samples(&self) -> Result<usize> {
        let worth = SAMPLES_WORK / self.plan.count.multiply_adds.max(1);
        let mut size = worth
            .clamp(SMALLEST_CHUNK, LARGEST_CHUNK)
            .next_power_of_two();
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

    /// Sees that there is room for a call of so many events: what [`Engine::chunk`] says, or less where others have taken
    /// the memory since.
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

    /// Sees that so many slots have room for chunks of this size.
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
