//! The kernel `points`: computes all factors of a weight except |M|^2 from random numbers.

use crate::source::{RANDOM, unit};
use crate::structures::{BlockHead, PointRows, SLOTS};
use crate::tables::{DeviceTables, TablesError, UploadCache};
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

/// Threads per block to choose from: the largest number that fits into shared memory is used.
const THREADS: [u32; 3] = [128, 64, 32];

device_structures! {
    /// Arguments of the kernel `points`.
    PointsArguments {
        /// Blocks of points.
        heads: [const BlockHead *],
        /// Words of the integrand.
        words: [const unsigned *],
        /// Numbers of the integrand.
        numbers: [const double *],
        /// Words of the densities of the first beam.
        first_words: [const unsigned *],
        /// Numbers of the same.
        first_numbers: [const double *],
        /// Coefficients of the same.
        first_cells: [const double *],
        /// Words of the densities of the second beam.
        second_words: [const unsigned *],
        /// Numbers of the same.
        second_numbers: [const double *],
        /// Coefficients of the same.
        second_cells: [const double *],
        /// Words of the strong coupling.
        coupling_words: [const unsigned *],
        /// Numbers of the same.
        coupling_numbers: [const double *],
        /// Bin edges of all grids.
        grids: [const double *],
        /// As in [`PointRows`], like the following four.
        element: [unsigned *],
        /// Incoming partons.
        partons: [unsigned *],
        /// Momenta of the legs.
        momenta: [double *],
        /// Scales and other kinematic quantities.
        kinematics: [double *],
        /// Weights without |M|^2.
        factor: [double *],
        /// Stride between rows, in numbers.
        stride: [unsigned],
        /// Numbers per point in shared memory.
        rows: [unsigned],
        /// Start of the words of the sources.
        sources: [unsigned],
    }
}

/// Returns the device code of the kernel.
pub fn device_code() -> CompilationUnit {
    let declarations = [
        RANDOM,
        &BlockHead::declaration(),
        &PointsArguments::declaration(),
    ];
    let texts: Vec<&str> = declarations.into_iter().chain(TEXTS).collect();
    unit(&texts, &["points"])
}

/// Returns the bytes of shared memory per block: the numbers of its points, and flags for those that pass the cuts.
fn shared(rows: u32, threads: u32) -> u32 {
    8 * rows * threads + 4 * (threads + 1)
}

/// Generator of points on a GPU.
pub struct PointDrawer {
    library: Arc<ModuleCache>,
    function: Function,
    /// Maximum bytes of shared memory per block.
    most_shared: u32,
    known: Mutex<UploadCache>,
}

impl PointDrawer {
    /// Compiles the kernel unless it has been compiled before.
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

    /// Uploads the integrand except for its grids. Densities and couplings that are already on the GPU are reused.
    ///
    /// # Errors
    /// The integrand contains something that GPUs do not support, or the GPU fails.
    pub fn tables(&self, integrand: &Integrand) -> std::result::Result<DeviceTables, TablesError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        DeviceTables::new(self.library.driver(), integrand, &mut known)
    }

    /// Generates the points of blocks.
    ///
    /// # Errors
    /// Points need more shared memory than available, or the GPU fails.
    ///
    /// # Safety
    /// `heads` points to `blocks` [`BlockHead`]s of sources in the tables, with their grids in `grids`. The arrays of
    /// `rows` hold [`SLOTS`] points per block, and momenta for the largest number of legs of any source. All of these
    /// and the tables live until the stream has finished.
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
        // SAFETY: the arguments match the kernel; the caller guarantees the rest.
        unsafe { stream.launch(&self.function, shape, &arguments.bytes()) }
    }
}
