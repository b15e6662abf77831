//! Interface between an engine and a GPU: memory, copies, programs, launches and timing.
//!
//! A [`Driver`] implements it: a real GPU, or in tests an emulator that runs the same device code on the CPU. A driver
//! refers to its objects by *raw handles* ([`RawStream`] and similar), plain numbers that own nothing and are accepted
//! only by `unsafe` functions. [`Buffer`], [`Pinned`], [`Module`], [`Function`], [`Stream`], [`Event`] and [`Graph`]
//! own these objects: they release them on drop, keep their dependencies alive, and reject objects of another GPU.
//!
//! The work in a *stream* runs in order; different streams run concurrently.

mod bytes;
mod handles;

pub use bytes::{Bits, bytes, bytes_mut};
pub use handles::{Buffer, Event, Function, Graph, Module, Pinned, Recording, Stream};

use mebridge_support::error::Result;

/// Target architecture of the device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// NVIDIA compute capability, e.g. `(9, 0)` for Hopper.
    Capability(u32, u32),
    /// AMD architecture name, e.g. `gfx90a`, optionally followed by features.
    Gfx(String),
}

impl Default for Architecture {
    fn default() -> Architecture {
        Architecture::Capability(0, 0)
    }
}

/// Properties of a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// Vendor's name of the device.
    pub name: String,
    /// Target architecture for compilation.
    pub architecture: Architecture,
    /// Number of threads in a warp.
    pub warp: u32,
    /// Number of multiprocessors.
    pub processors: u32,
    /// Maximum clock rate of the multiprocessors in Hz.
    pub clock: f64,
    /// Bytes of shared memory that a block may request.
    pub shared_per_block: usize,
    /// Bytes of shared memory per multiprocessor.
    pub shared_per_processor: usize,
    /// Size of the L2 cache in bytes.
    pub cache: usize,
    /// Peak memory bandwidth in bytes per second.
    pub bandwidth: f64,
}

impl Properties {
    /// Returns the peak floating-point operations per second without tensor cores; a multiply-add counts as two.
    ///
    /// The number of units per multiprocessor is taken from NVIDIA's programming guide, and from AMD's data sheets for
    /// MI200, MI300 and RDNA 3, where a multiprocessor is two compute units.
    pub fn peak(&self, double: bool) -> f64 {
        let (in_double, in_single) = match &self.architecture {
            Architecture::Capability(6, 0) | Architecture::Capability(7, 0 | 2) => (32, 64),
            Architecture::Capability(8, 0) => (32, 64),
            Architecture::Capability(9, _) | Architecture::Capability(10, 0) => (64, 128),
            Architecture::Capability(7, 5) => (2, 64),
            Architecture::Capability(..) => (2, 128),
            Architecture::Gfx(name) if name.starts_with("gfx90a") => (64, 128),
            Architecture::Gfx(name) if name.starts_with("gfx94") => (64, 128),
            Architecture::Gfx(name) if name.starts_with("gfx9") => (32, 64),
            Architecture::Gfx(_) => (8, 256),
        };
        let units = if double { in_double } else { in_single };
        2.0 * f64::from(self.processors * units) * self.clock
    }

    /// Returns the maximum number of resident threads per multiprocessor.
    pub fn threads_per_processor(&self) -> u32 {
        match self.architecture {
            Architecture::Capability(7, 5) => 1024,
            Architecture::Capability(8, 6..=9) | Architecture::Capability(12, _) => 1536,
            _ => 2048,
        }
    }
}

/// An address in the memory of the GPU.
pub type Pointer = u64;

/// A loaded program (`CUmodule`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawModule(pub u64);

/// A kernel of a loaded program, valid as long as the program is loaded (`CUfunction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFunction(pub u64);

/// A queue of work (`CUstream`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawStream(pub u64);

/// A point in a queue of work (`CUevent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawEvent(pub u64);

/// Recorded work that can be launched repeatedly (`CUgraphExec`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawGraph(pub u64);

/// A cuBLAS handle bound to one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawBlas {
    /// `cublasHandle_t`.
    pub handle: u64,
    /// Its scratch memory, or 0 if it has none.
    pub workspace: Pointer,
}

/// Resources used by a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread, used for values that did not fit into registers.
    pub local: usize,
    /// Bytes of static shared memory per block; the dynamic part is requested at launch.
    pub shared: usize,
    /// Maximum number of threads per block.
    pub threads: u32,
}

/// Launch configuration of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Threads per block in x, y and z.
    pub threads: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
}

/// A GPU, or an emulator of one.
///
/// It is called by the owning handles of this crate; whatever these do not check is the responsibility of the code that
/// launches and copies. Raw handles are plain numbers rather than associated types, so that an engine can hold an
/// `Arc<dyn Driver>` and is compiled only once.
///
/// A raw handle passed to a method must be *valid*: created by this driver and not yet released. A kernel is valid as
/// long as its program; a stream that belongs to a caller, as long as the caller keeps it alive. Handles may be used
/// from any thread.
///
/// # Safety
/// Every object that a method creates must be unique and stay valid until it is released. Memory returned by
/// [`Driver::pin`] must have the requested length and be fully initialised.
pub unsafe trait Driver: Send + Sync {
    /// Returns the properties of the GPU.
    fn properties(&self) -> &Properties;

    /// Returns the free and the total device memory in bytes.
    fn memory(&self) -> Result<(usize, usize)>;

    /// Allocates device memory with undefined contents.
    fn allocate(&self, bytes: usize) -> Result<Pointer>;

    /// Frees device memory once pending work has finished.
    ///
    /// # Safety
    /// `memory` was allocated by this driver, and no later work uses it.
    unsafe fn free(&self, memory: Pointer);

    /// Allocates pinned host memory, filled with zeros, for asynchronous copies.
    fn pin(&self, bytes: usize) -> Result<*mut u8>;

    /// Frees pinned memory allocated by [`Driver::pin`].
    ///
    /// # Safety
    /// `memory` was allocated by this driver and is no longer in use.
    unsafe fn free_pinned(&self, memory: *mut u8);

    /// Returns whether kernels on this GPU can access the given memory of a caller.
    fn reaches(&self, memory: Pointer) -> Result<bool>;

    /// Compiles device code with the given options, to which the target architecture is added. The result can be cached
    /// and loaded on any GPU of the same kind.
    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>>;

    /// Returns the names of the compiler and the target, used in the key of cached programs.
    fn compiler(&self) -> Result<String>;

    /// Loads a program produced by [`Driver::compile`].
    fn load(&self, image: &[u8]) -> Result<RawModule>;

    /// Unloads a program and its kernels.
    ///
    /// # Safety
    /// The program is valid, and no pending or later work runs one of its kernels.
    unsafe fn unload(&self, module: RawModule);

    /// Looks up a kernel by name and allows launches with up to `shared` bytes of dynamic shared memory. Also returns
    /// the size in bytes of the kernel's argument structure, if the driver knows it.
    ///
    /// # Safety
    /// The program is valid.
    unsafe fn function(
        &self,
        module: RawModule,
        name: &str,
        shared: usize,
    ) -> Result<(RawFunction, Option<usize>)>;

    /// Returns the resources used by a kernel.
    ///
    /// # Safety
    /// The kernel is valid.
    unsafe fn usage(&self, function: RawFunction) -> Result<Usage>;

    /// Returns how many blocks of `threads` threads and `shared` bytes of shared memory are resident per
    /// multiprocessor.
    ///
    /// # Safety
    /// The kernel is valid.
    unsafe fn occupancy(&self, function: RawFunction, threads: u32, shared: usize) -> Result<u32>;

    /// Creates a stream.
    fn create_stream(&self) -> Result<RawStream>;

    /// Returns the stream that callers refer to as 0: CUDA's legacy default stream or its equivalent. It is never
    /// released.
    fn default_stream(&self) -> RawStream;

    /// Releases a stream. Pending work still completes.
    ///
    /// # Safety
    /// The stream was created by [`Driver::create_stream`] and is valid; no cuBLAS handle is bound to it.
    unsafe fn destroy_stream(&self, stream: RawStream);

    /// Waits until all work in a stream has finished.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn synchronize(&self, stream: RawStream) -> Result<()>;

    /// Copies bytes to device memory. They may be read at any time until the stream has finished: memory from
    /// [`Driver::pin`] is read late; for pageable memory CUDA does not specify when.
    ///
    /// # Safety
    /// The stream is valid. Until it has finished, the device memory exists and is large enough, and the bytes do not
    /// change.
    unsafe fn upload(&self, stream: RawStream, to: Pointer, from: &[u8]) -> Result<()>;

    /// Copies bytes from device memory; they are available once the stream has finished.
    ///
    /// # Safety
    /// The stream is valid. Until it has finished, the device memory exists and is large enough, and nothing else
    /// accesses the bytes.
    unsafe fn download(&self, stream: RawStream, to: &mut [u8], from: Pointer) -> Result<()>;

    /// Fills device memory with a byte.
    ///
    /// # Safety
    /// The stream is valid. The memory exists and is large enough until the stream has finished or [`Driver::free`] is
    /// called.
    unsafe fn fill(&self, stream: RawStream, memory: Pointer, byte: u8, bytes: usize)
    -> Result<()>;

    /// Launches a kernel; `argument` holds the bytes of its argument structure.
    ///
    /// # Safety
    /// The stream is valid, and the kernel is valid until the stream has finished. `argument` is a structure of the
    /// type that the kernel expects, at least one byte long, and its pointers and sizes are valid until then.
    unsafe fn launch(
        &self,
        stream: RawStream,
        function: RawFunction,
        shape: Shape,
        argument: &[u8],
    ) -> Result<()>;

    /// Creates an event that is not yet recorded in any stream.
    fn create_event(&self) -> Result<RawEvent>;

    /// Releases an event. Streams already waiting for it continue to wait.
    ///
    /// # Safety
    /// The event is valid.
    unsafe fn destroy_event(&self, event: RawEvent);

    /// Records an event in a stream.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn record(&self, stream: RawStream, event: RawEvent) -> Result<()>;

    /// Makes later work of a stream wait for an event recorded in another stream.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn wait(&self, stream: RawStream, event: RawEvent) -> Result<()>;

    /// Returns the seconds between two events, both of which have completed.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn seconds(&self, from: RawEvent, to: RawEvent) -> Result<f64>;

    /// Starts recording: from now on, work put into this stream and into streams that wait for it is recorded, not run.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn begin_graph(&self, stream: RawStream) -> Result<()>;

    /// Ends a recording and returns the recorded work.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn end_graph(&self, stream: RawStream) -> Result<RawGraph>;

    /// Launches recorded work.
    ///
    /// # Safety
    /// Both are valid, the graph until the stream has finished, and the graph is not launched elsewhere at the same
    /// time. The conditions that held when the work was recorded hold again: its memory, kernels and cuBLAS handles
    /// exist.
    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()>;

    /// Releases recorded work.
    ///
    /// # Safety
    /// The graph is valid.
    unsafe fn destroy_graph(&self, graph: RawGraph);

    /// Creates a cuBLAS handle bound to a stream.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn create_blas(&self, stream: RawStream) -> Result<RawBlas>;

    /// Releases a cuBLAS handle once its pending work has finished.
    ///
    /// # Safety
    /// The handle is valid, and no graph that contains one of its products is launched later.
    unsafe fn destroy_blas(&self, blas: RawBlas);

    /// Launches the matrix products `C = A B` for `count` pairs of column-major matrices, in the stream to which the
    /// handle is bound.
    ///
    /// # Safety
    /// The handle and its stream are valid, and the handle is not used elsewhere at the same time. The matrices exist
    /// until the stream has finished.
    unsafe fn multiply(&self, blas: RawBlas, product: Product) -> Result<()>;
}

/// A batch of matrix products, `C = A B`, see `cublasDgemmStridedBatched`: column-major.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Whether the matrices hold `double` rather than `float`.
    pub double: bool,
    /// Whether `float` products may use TF32 precision.
    pub tf32: bool,
    /// Rows of A and C.
    pub rows: u32,
    /// Columns of B and C.
    pub columns: u32,
    /// Columns of A, rows of B.
    pub inner: u32,
    /// A: address, numbers from one column to the next, numbers from one matrix to the next.
    pub a: (Pointer, u32, u64),
    /// B.
    pub b: (Pointer, u32, u64),
    /// C.
    pub c: (Pointer, u32, u64),
    /// Number of products.
    pub count: u32,
}
