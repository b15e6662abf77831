//! The colour sum by cuBLAS or hipBLAS.
//!
//! The kernel `helicities` then ends with JAMP, which it writes to device memory for a batch of groups of helicities.
//! Their products with the whole colour matrix are one call of the library: for each helicity, A is JAMP, with the real
//! and imaginary parts of all events as rows and flows as columns, and B is the symmetric matrix divided by its
//! denominator. A sum over flows for each event remains. This is faster for many flows: the library comes close to the
//! peak performance of the GPU, or may use its tensor cores.

use super::slot::Slot;
use super::workspace::WorkspaceSize;
use super::{Engine, Options};
use crate::arena::{DeviceArena, Offset};
use crate::driver::{Architecture, Buffer, Driver, Function, Product, Shape, Stream};
use crate::level_schedule::LevelSchedule;
use crate::module_cache::ModuleCache;
use crate::source;
use crate::structures::{DeviceStructure, DotsArguments, HelicitiesArguments};
use mebridge_backend::Clocks;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::color::ColorMatrix;
use mebridge_support::error::Result;
use std::sync::Arc;

/// Minimum number of colour flows for which the library computes the colour sum by default.
const FLOWS: usize = 60;
/// The library multiplies by the whole matrix, about 2.5 times as fast as our kernel multiplies by blocks: it is used
/// if the blocks are at least this fraction of the matrix.
const PART: f64 = 0.4;
/// Fraction of the memory that JAMP and products of one chunk may use.
const SHARE: f64 = 0.15;

/// Colour sum by the library.
pub struct Blas {
    /// The whole matrix, divided by its denominator.
    matrix: Offset,
    /// Groups of helicities.
    groups: Offset,
    group_count: usize,
    /// Maximum helicities per group.
    group_size: usize,
    flows: usize,
    /// Events per memory block.
    lanes: usize,
    /// Maximum bytes for JAMP and products.
    budget: usize,
    double: bool,
    tf32: bool,
    dots: Function,
}

/// Returns whether to use the library: as requested, or depending on the size of the colour sum if a library is
/// available.
pub fn wanted(
    options: &Options,
    color_blocks: &BlockDiagonal,
    driver: &Arc<dyn Driver>,
) -> Result<bool> {
    match options.blas {
        Some(false) => Ok(false),
        Some(true) => probe(driver).map(|()| true),
        // The thresholds were measured on NVIDIA GPUs.
        None => Ok(!is_amd(driver) && worth(color_blocks) && probe(driver).is_ok()),
    }
}

/// Returns whether products can be part of a graph: hipBLAS may allocate memory in a product, which is not allowed
/// during a recording.
pub fn can_be_recorded(driver: &Arc<dyn Driver>) -> bool {
    !is_amd(driver)
}

fn is_amd(driver: &Arc<dyn Driver>) -> bool {
    matches!(driver.properties().architecture, Architecture::Gfx(_))
}

/// Returns whether the library is faster.
fn worth(color_blocks: &BlockDiagonal) -> bool {
    let flows = color_blocks.flows;
    flows >= FLOWS && color_blocks.multiply_adds() as f64 > PART * (flows * flows) as f64
}

/// Multiplies two numbers, to find out whether the library is available.
fn probe(driver: &Arc<dyn Driver>) -> Result<()> {
    let stream = Stream::new(driver)?;
    let buffer = Buffer::new(driver, 24)?;
    stream.clear(&buffer, 0)?;
    // SAFETY: the buffer holds three numbers and lives until the stream has finished.
    let result = unsafe { multiply_one(&stream, &buffer) };
    result.and(stream.synchronize())
}

/// Computes the product of two 1 x 1 matrices.
///
/// # Safety
/// The buffer holds three numbers until the stream has finished.
unsafe fn multiply_one(stream: &Stream, buffer: &Buffer) -> Result<()> {
    let at = |i: u64| (buffer.pointer() + 8 * i, 1, 1);
    let product = Product {
        double: false,
        tf32: false,
        rows: 1,
        columns: 1,
        inner: 1,
        a: at(0),
        b: at(1),
        c: at(2),
        count: 1,
    };
    // SAFETY: guaranteed by the caller.
    unsafe { stream.multiply(product) }
}

impl Blas {
    /// Adds the tables that it needs to the arena.
    pub(super) fn new(
        library: &Arc<ModuleCache>,
        arena: &mut DeviceArena,
        shape: &source::CompileOptions,
        color: &ColorMatrix,
        tables: &LevelSchedule,
        workspace: &WorkspaceSize,
        options: &Options,
    ) -> Result<Blas> {
        let flows = color.flows as usize;
        let double = shape.double_color;
        let rows = (0..flows).flat_map(|i| (0..flows).map(move |j| color.entry(i, j)));
        let matrix = arena.reals(double, rows);
        let groups = workspace.groups(tables);
        let paired = groups.iter().any(|group| group[1] != u32::MAX);
        let (free, _) = library.driver().memory()?;
        Ok(Blas {
            matrix,
            group_count: groups.len(),
            group_size: if paired { 2 } else { 1 },
            groups: arena.numbers(groups.into_iter().flatten()),
            flows,
            lanes: shape.lanes as usize,
            budget: (free as f64 * options.memory * SHARE) as usize,
            double,
            tf32: options.tf32,
            dots: library.function(&shape.dots(), "color_dots", 0)?,
        })
    }

    /// Returns the kernel that sums over flows.
    pub fn dots(&self) -> &Function {
        &self.dots
    }

    /// Returns the bytes of JAMP, or of the products, of a group for `blocks` memory blocks.
    fn bytes_of_group(&self, blocks: usize) -> usize {
        let number = if self.double { 8 } else { 4 };
        self.group_size * self.flows * 2 * blocks * self.lanes * number
    }

    /// Returns the number of groups per batch.
    pub fn batch(&self, blocks: usize) -> usize {
        let groups = self.budget / (2 * self.bytes_of_group(blocks)).max(1);
        groups.clamp(1, self.group_count.max(1))
    }

    /// Returns the bytes needed by chunks of up to `blocks` memory blocks.
    pub fn bytes(&self, blocks: usize) -> usize {
        let one = 2 * self.bytes_of_group(blocks);
        one.max(self.budget.min(one * self.group_count))
    }
}

impl Engine {
    /// Launches JAMP and colour sums of all helicities, batch by batch, and sets the batch in the arguments.
    pub(super) fn color_sums(
        &self,
        blas: &Blas,
        slot: &Slot,
        shape: Shape,
        arguments: &HelicitiesArguments,
    ) -> Result<()> {
        let stream = &slot.stream;
        let events = arguments.events;
        let lanes = self.lanes();
        let blocks = events.div_ceil(lanes);
        let padded = blocks * lanes;
        let batch = blas.batch(blocks as usize);
        let flows = blas.flows as u32;
        let jamp = slot.colors.pointer();
        let product = jamp + (batch * blas.bytes_of_group(blocks as usize)) as u64;
        for first in (0..blas.group_count).step_by(batch) {
            let groups = batch.min(blas.group_count - first) as u32;
            let slots = groups * blas.group_size as u32;
            let arguments = HelicitiesArguments {
                first_group: first as u32,
                groups,
                group_size: blas.group_size as u32,
                outside: jamp,
                ..*arguments
            };
            let numbers = 2 * u64::from(padded) * u64::from(flows);
            let of_events = |at| (at, 2 * padded, numbers);
            // SAFETY: the arguments match the kernel, and the slot holds the JAMP of a batch.
            unsafe { stream.launch(self.helicities()?, shape, &arguments.bytes())? };
            let before = match self.clocks {
                Clocks::Kernels => Some(stream.put_event()?),
                Clocks::None | Clocks::Phases => None,
            };
            let dots = DotsArguments {
                groups: self.uploaded.at(blas.groups),
                first_group: first as u32,
                group_size: blas.group_size as u32,
                slots,
                flows,
                events,
                jamp,
                product,
                contributions: slot.contributions.pointer(),
            };
            // SAFETY: the arguments match the kernel, and the slot also holds the products.
            unsafe {
                stream.multiply(Product {
                    double: blas.double,
                    tf32: blas.tf32 && !blas.double,
                    rows: 2 * padded,
                    columns: flows,
                    inner: flows,
                    a: of_events(jamp),
                    b: (self.uploaded.at(blas.matrix), flows, 0),
                    c: of_events(product),
                    count: slots,
                })?;
                stream.launch(
                    &blas.dots,
                    Shape {
                        blocks: [blocks, slots.min(65535), 1],
                        threads: [lanes, DOTS_THREADS, 1],
                        shared: 0,
                    },
                    &dots.bytes(),
                )?;
            }
            if let Some(before) = before {
                slot.sums.borrow_mut().push([before, stream.put_event()?]);
            }
        }
        Ok(())
    }
}

/// Threads that share the flows of an event, `DOTS_THREADS` in `cuda/color.cuh`.
pub const DOTS_THREADS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::worth;
    use mebridge_plan::color::BlockDiagonal;
    use mebridge_process::color::ColorMatrix;

    /// Returns a matrix without symmetries, or its diagonal.
    fn matrix(flows: usize, dense: bool) -> BlockDiagonal {
        let mut upper = Vec::new();
        for i in 0..flows {
            for j in i..flows {
                let mixed = (i * 7919 + j * 104_729) % 13;
                upper.push(match i == j {
                    true => (100 + i) as f64,
                    false if dense => mixed as f64,
                    false => 0.0,
                });
            }
        }
        BlockDiagonal::new(&ColorMatrix {
            flows: flows as u32,
            denominator: 3.0,
            upper,
        })
    }

    #[test]
    fn the_library_is_for_large_matrices_without_symmetries() {
        assert!(worth(&matrix(120, true)));
        assert!(!worth(&matrix(120, false)));
        assert!(!worth(&matrix(24, true)));
    }
}
