//! What the engine asks of a GPU: memory, copies, programs, launches, clocks.
//!
//! A [`Driver`] answers: a real GPU, or in tests a program that runs the same device code on the CPU. A driver names what
//! it has made by numbers. The engine holds it as [`Buffer`], [`Pinned`], [`Module`], [`Stream`], [`Event`] and [`Graph`], which give it back when they go and refuse what is of another GPU.
//! All work of a *stream* is done in order; different streams run side by side.

mod handles;

pub use handles::{Buffer, Event, Graph, Module, Pinned, Recording, Stream};

use mebridge_support::error::Result;

/// What code is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// NVIDIA's compute capability, `(9, 0)` for Hopper.
    Capability(u32, u32),
    /// AMD's name, `gfx90a`, with or without features behind it.
    Gfx(String),
}

impl Default for Architecture {
    fn default() -> Architecture {
        Architecture::Capability(0, 0)
    }
}

/// What kind of GPU it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// The maker's name for it.
    pub name: String,
    /// What code is compiled for.
    pub architecture: Architecture,
    /// Threads of a warp.
    pub warp: u32,
    /// Multiprocessors.
    pub processors: u32,
    /// Highest clock of the multiprocessors in Hz.
    pub clock: f64,
    /// Bytes of shared memory that a block may ask for.
    pub shared_per_block: usize,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_processor: usize,
    /// Bytes of the second-level cache.
    pub cache: usize,
    /// Highest bandwidth of its memory in bytes a second.
    pub bandwidth: f64,
}

impl Properties {
    /// The most floating-point operations a second, a multiply-add being two, without tensor cores: what NVIDIA's
    /// programming guide says of the units of a multiprocessor, and AMD's data sheets of MI200, MI300 and RDNA 3, where a
    /// multiprocessor is two compute units.
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

    /// The most threads that a multiprocessor has at a time.
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

/// The number of a loaded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleId(pub usize);

/// The number of a kernel of a loaded program, which goes with it: what names none any more is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function(pub usize);

/// The number of a queue of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub usize);

/// The number of a point in a queue of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(pub usize);

/// The number of work that was recorded to be done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphId(pub usize);

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's own memory: what did not fit into registers.
    pub local: usize,
    /// Bytes of a block's shared memory, apart from what a launch asks for.
    pub shared: usize,
    /// Most threads that a block can have.
    pub threads: u32,
}

/// How many threads run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Threads of a block in x, y and z.
    pub threads: [u32; 3],
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// A GPU, or what stands in for one. What it makes is given back by the handles of this module.
///
/// # Safety
/// What [`Driver::pin`] gives is as many bytes, all of them written, which nobody else has until they are given back.
pub unsafe trait Driver: Send + Sync {
    /// What it is.
    fn properties(&self) -> &Properties;

    /// Bytes of memory that are free, and that there are.
    fn memory(&self) -> Result<(usize, usize)>;

    /// Takes memory. What is in it is not defined.
    fn allocate(&self, bytes: usize) -> Result<Pointer>;

    /// Gives memory back.
    ///
    /// # Safety
    /// It was allocated here, and nothing uses it any more.
    unsafe fn free(&self, memory: Pointer);

    /// Makes a program out of device code: a source and the options to compile it with, without the one that names the
    /// GPU. The program can be kept, and loaded into the same kind of GPU.
    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>>;

    /// What the compiler and the target are called, for the key under which a program is kept.
    fn compiler(&self) -> Result<String>;

    /// Loads a program.
    fn load(&self, image: &[u8]) -> Result<ModuleId>;

    /// Unloads a program, with its kernels.
    fn unload(&self, module: ModuleId);

    /// A kernel by its name; it may ask for so many bytes of shared memory.
    fn function(&self, module: ModuleId, name: &str, shared: usize) -> Result<Function>;

    /// What a kernel takes.
    fn usage(&self, function: Function) -> Result<Usage>;

    /// How many blocks of so many threads, with so many bytes of shared memory, run at the same
    /// time on one multiprocessor.
    fn occupancy(&self, function: Function, threads: u32, shared: usize) -> Result<u32>;

    /// A new queue.
    fn stream(&self) -> Result<StreamId>;

    /// A queue of a caller's, by its CUstream; 0 is the legacy default stream. It is given back as others are, which
    /// leaves the caller's as it is.
    ///
    /// # Safety
    /// It is a stream of this GPU, and stays until it is given back.
    unsafe fn stream_of(&self, raw: u64) -> Result<StreamId>;

    /// The CUstream of a queue, for who shares this GPU through another driver.
    fn raw_stream(&self, stream: StreamId) -> Result<u64>;

    /// Whether kernels of this GPU reach memory of a caller's.
    fn reaches(&self, memory: Pointer) -> Result<bool>;

    /// Gives a queue back.
    fn drop_stream(&self, stream: StreamId);

    /// Copies into the memory of the GPU. The bytes may be read later, until the stream is done: of
    /// memory from [`Driver::pin`] they are, of ordinary memory CUDA does not say when.
    ///
    /// # Safety
    /// The memory is there, and large enough; the bytes stay as they are until the stream is done.
    unsafe fn upload(&self, stream: StreamId, to: Pointer, from: &[u8]) -> Result<()>;

    /// Copies out of the memory of the GPU; the bytes are there when the stream is done.
    ///
    /// # Safety
    /// The memory is there, and large enough; nobody touches the bytes until the stream is done.
    unsafe fn download(&self, stream: StreamId, to: &mut [u8], from: Pointer) -> Result<()>;

    /// Sets memory to a byte.
    ///
    /// # Safety
    /// The memory is there, and large enough.
    unsafe fn fill(&self, stream: StreamId, memory: Pointer, byte: u8, bytes: usize) -> Result<()>;

    /// Starts a kernel. The arguments are the bytes of the structure that it takes.
    ///
    /// # Safety
    /// The kernel takes this structure, and what it says about memory is true.
    unsafe fn launch(
        &self,
        stream: StreamId,
        function: Function,
        shape: Shape,
        arguments: &[u8],
    ) -> Result<()>;

    /// Waits until a queue is done.
    fn synchronize(&self, stream: StreamId) -> Result<()>;

    /// A new point in no queue yet.
    fn event(&self) -> Result<EventId>;

    /// Gives a point back.
    fn drop_event(&self, event: EventId);

    /// Puts a point into a queue.
    fn record(&self, stream: StreamId, event: EventId) -> Result<()>;

    /// Lets a queue wait for a point in another.
    fn wait(&self, stream: StreamId, event: EventId) -> Result<()>;

    /// Seconds between two points that have been passed.
    fn seconds(&self, from: EventId, to: EventId) -> Result<f64>;

    /// From here on the work of a queue (and of those that wait for it) is recorded, not done.
    fn begin_graph(&self, stream: StreamId) -> Result<()>;

    /// The work recorded since.
    fn end_graph(&self, stream: StreamId) -> Result<GraphId>;

    /// Does recorded work.
    ///
    /// # Safety
    /// The promises that were made when the work was recorded hold again: all of its memory and programs are
    /// there.
    unsafe fn launch_graph(&self, stream: StreamId, graph: GraphId) -> Result<()>;

    /// Forgets recorded work.
    fn drop_graph(&self, graph: GraphId);

    /// Memory of the host that the GPU copies from and to by itself: so many bytes, zero. It is
    /// given back by [`Driver::free_pinned`].
    fn pin(&self, bytes: usize) -> Result<*mut u8>;

    /// Gives pinned memory back.
    ///
    /// # Safety
    /// It came from [`Driver::pin`], and nothing uses it any more.
    unsafe fn free_pinned(&self, memory: *mut u8);

    /// A matrix product in cuBLAS, `C = A B` for `count` pairs of matrices that
    /// lie column by column.
    ///
    /// # Safety
    /// The memory is there, and large enough.
    unsafe fn multiply(&self, stream: StreamId, product: Product) -> Result<()>;
}

/// A batch of matrix products, `C = A B`, see `cublasDgemmStridedBatched`: column-major.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Whether the numbers are `double` and not `float`.
    pub double: bool,
    /// Whether products of `float` may be computed with the precision of TF32.
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
    /// How many.
    pub count: u32,
}
