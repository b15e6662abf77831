//! The kernel `points`: from random numbers to all of a weight but |M|^2.

use crate::source::{RANDOM, unit};
use crate::structures::{BlockHead, PointRows, SLOTS};
use crate::tables::{DeviceTables, Known, TablesError};
use mebridge_driver::{Function, Pointer, Shape, Stream};
use mebridge_gpu::{CompilationUnit, DeviceStructure, ModuleCache, device_structures};
use mebridge_sampler::integrand::Integrand;
use mebridge_support::error::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

const TEXTS: [&str; 7] = [
    include_str!("../../../cuda/tables.cuh"),
    include_str!("../../../cuda/phase_space.cuh"),
    include_str!("../../../cuda/cuts.cuh"),
    include_str!("../../../cuda/channel_weights.cuh"),
    include_str!("../../../cuda/scales.cuh"),
    include_str!("../../../cuda/densities.cuh"),
    include_str!("../../../cuda/points.cuh"),
];

/// Threads of a block, the most that the shared memory of a GPU has room for.
const THREADS: [u32; 3] = [128, 64, 32];

device_structures! {
    /// Of the kernel `points`.
    PointsArguments {
        /// Blocks of points.
        heads: [const BlockHead *],
        /// Of what is integrated.
        words: [const unsigned *],
        /// Of the same.
        numbers: [const double *],
        /// Of a set of densities,
        first_words: [const unsigned *],
        /// of the same,
        first_numbers: [const double *],
        /// and its coefficients.
        first_cells: [const double *],
        /// Of another set.
        second_words: [const unsigned *],
        /// Of the same.
        second_numbers: [const double *],
        /// Coefficients of the same.
        second_cells: [const double *],
        /// Of the strong coupling.
        coupling_words: [const unsigned *],
        /// Of the same.
        coupling_numbers: [const double *],
        /// Edges of bins.
        grids: [const double *],
        /// As [`PointRows`] has it, and what follows.
        element: [unsigned *],
        /// Which partons came in.
        partons: [unsigned *],
        /// Of the legs.
        momenta: [double *],
        /// Scales and more.
        kinematics: [double *],
        /// Weights without |M|^2.
        factor: [double *],
        /// Numbers from a row to the next.
        stride: [unsigned],
        /// Numbers of a point in shared memory.
        rows: [unsigned],
        /// Where the words of the sources begin.
        sources: [unsigned],
    }
}

/// The device code.
pub fn device_code() -> CompilationUnit {
    let declarations = [
        RANDOM,
        &BlockHead::declaration(),
        &PointsArguments::declaration(),
    ];
    let texts: Vec<&str> = declarations.into_iter().chain(TEXTS).collect();
    unit(&texts, &["points"])
}

/// Bytes of shared memory of a block: the numbers of its points, and which of them pass.
fn shared(rows: u32, threads: u32) -> u32 {
    8 * rows * threads + 4 * (threads + 1)
}

/// Draws points on a GPU.
pub struct PointDrawer {
    library: Arc<ModuleCache>,
    function: Function,
    /// Bytes of shared memory that a block may have.
    most_shared: u32,
    known: Mutex<Known>,
}

impl PointDrawer {
    /// Compiles the kernel, if that has not been done.
    ///
    /// # Errors
    /// The compiler or the GPU fails.
    pub fn new(library: &Arc<ModuleCache>) -> Result<PointDrawer> {
        let most = library.driver().properties().shared_per_block;
        Ok(PointDrawer {
            function: library.function(&device_code(), "points", most)?,
            library: library.clone(),
            most_shared: most as u32,
            known: Mutex::default(),
        })
    }

    /// Uploads what is integrated, all but the grids. Densities and couplings that are there stay.
    ///
    /// # Errors
    /// A GPU does not know something of it, or fails.
    pub fn tables(&self, integrand: &Integrand) -> std::result::Result<DeviceTables, TablesError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        DeviceTables::new(self.library.driver(), integrand, &mut known)
    }

    /// Draws the points of blocks.
    ///
    /// # Errors
    /// Points take more shared memory than there is, or the GPU fails.
    ///
    /// # Safety
    /// `heads` are `blocks` [`BlockHead`]s of sources of the tables, whose grids lie in `grids`; `rows` have room for
    /// [`SLOTS`] points of each block, and momenta for the most legs that a source has. All of it, and the tables, stays
    /// until the stream is done.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        tables: &DeviceTables,
        heads: Pointer,
        blocks: u32,
        grids: Pointer,
        rows: &PointRows,
    ) -> Result<()> {
        let fits = |&threads: &u32| shared(tables.rows(), threads) <= self.most_shared;
        let Some(threads) = THREADS.into_iter().find(fits) else {
            let what = format!(
                "a point of this process has {} numbers, for which a block has too little shared memory: take the CPU",
                tables.rows()
            );
            return Err(Error::GpuCall {
                call: "points",
                what,
            });
        };
        let ([joined, coupling], [first, second]) = (tables.pointers(), tables.densities());
        let arguments = PointsArguments {
            heads,
            words: joined[0],
            numbers: joined[1],
            first_words: first[0],
            first_numbers: first[1],
            first_cells: first[2],
            second_words: second[0],
            second_numbers: second[1],
            second_cells: second[2],
            coupling_words: coupling[0],
            coupling_numbers: coupling[1],
            grids,
            element: rows.element,
            partons: rows.partons,
            momenta: rows.momenta,
            kinematics: rows.kinematics,
            factor: rows.factor,
            stride: rows.stride,
            rows: tables.rows(),
            sources: tables.sources(),
        };
        let shape = Shape {
            blocks: [blocks * (SLOTS as u32 / threads), 1, 1],
            threads: [threads, 1, 1],
            shared: shared(tables.rows(), threads),
        };
        // SAFETY: the arguments are those of the kernel; the rest is the caller's promise.
        unsafe { stream.launch(&self.function, shape, &arguments.bytes()) }
    }
}
