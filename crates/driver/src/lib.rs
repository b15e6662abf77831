//! What an engine needs of a GPU: memory, copies, programs, launches, clocks.
//!
//! A [`Driver`] gives it: a real GPU, or in tests a program that runs the same device code on the CPU. It names what it
//! makes by *raw handles* ([`RawStream`] and its like), plain numbers that own nothing and that only `unsafe` functions
//! take. [`Buffer`], [`Pinned`], [`Module`], [`Function`], [`Stream`], [`Event`] and [`Graph`] own what such a number
//! names: they give it back when they are dropped, keep alive what they depend on, and refuse what belongs to another GPU.
//!
//! All work of a *stream* is done in order; different streams run side by side.

mod handles;

pub use handles::{Buffer, Event, Function, Graph, Module, Pinned, Recording, Stream};

use mebridge_support::error::Result;

/// What code is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// NVIDIA's compute capability, `(9, 0)` for Hopper.
    Capability(u32, u32),
    /// AMD's name, `gfx90a`, with or without features after it.
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
    /// Bytes of shared memory that a block may request.
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

/// A loaded program (`CUmodule`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawModule(pub u64);

/// A kernel of a loaded program, and gone with it (`CUfunction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFunction(pub u64);

/// A queue of work (`CUstream`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawStream(pub u64);

/// A point in a queue of work (`CUevent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawEvent(pub u64);

/// Work that was recorded to be done again (`CUgraphExec`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawGraph(pub u64);

/// cuBLAS for one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawBlas {
    /// `cublasHandle_t`.
    pub handle: u64,
    /// Its scratch memory; 0 where it has none.
    pub workspace: Pointer,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's own memory: what did not fit into registers.
    pub local: usize,
    /// Bytes of a block's shared memory, apart from what a launch requests.
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

/// A GPU, or what stands in for one.
///
/// The handles of this crate are its callers; what they do not check is for whoever launches and copies to promise. Raw
/// handles are plain numbers and not associated types, so that an engine holds an `Arc<dyn Driver>` and is compiled once.
///
/// A raw handle that is passed in must be *valid*: this driver made it, and it has not been given back. A kernel is valid
/// for as long as its program, a stream of a caller for as long as that lets it live. Any thread may use it.
///
/// # Safety
/// What a method makes is valid until it is given back, and nobody else has it. Memory of [`Driver::pin`] has the length
/// that was requested, and all of it is written.
pub unsafe trait Driver: Send + Sync {
    /// What it is.
    fn properties(&self) -> &Properties;

    /// Bytes of memory that are free, and that there are.
    fn memory(&self) -> Result<(usize, usize)>;

    /// Allocates memory of the GPU. What is in it is not defined.
    fn allocate(&self, bytes: usize) -> Result<Pointer>;

    /// Frees memory of the GPU, after the work under way.
    ///
    /// # Safety
    /// It was allocated here, and no later work uses it.
    unsafe fn free(&self, memory: Pointer);

    /// Allocates memory of the host that the GPU copies from and to by itself. All of it is zero.
    fn pin(&self, bytes: usize) -> Result<*mut u8>;

    /// Frees memory of [`Driver::pin`].
    ///
    /// # Safety
    /// It was allocated here, and nothing uses it any more.
    unsafe fn free_pinned(&self, memory: *mut u8);

    /// Whether kernels of this GPU reach memory of a caller's.
    fn reaches(&self, memory: Pointer) -> Result<bool>;

    /// Makes a program out of device code: a source and the options to compile it with, without the one that names the
    /// GPU. The program can be kept, and loaded into the same kind of GPU.
    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>>;

    /// What the compiler and the target are called, for the key under which a program is kept.
    fn compiler(&self) -> Result<String>;

    /// Loads a program of [`Driver::compile`].
    fn load(&self, image: &[u8]) -> Result<RawModule>;

    /// Unloads a program, with its kernels.
    ///
    /// # Safety
    /// The program is valid; no work under way or later runs a kernel of it.
    unsafe fn unload(&self, module: RawModule);

    /// A kernel by its name, which launches may give up to `shared` bytes of shared memory; and the size in bytes of the
    /// structure that it takes, where the driver knows it.
    ///
    /// # Safety
    /// The program is valid.
    unsafe fn function(
        &self,
        module: RawModule,
        name: &str,
        shared: usize,
    ) -> Result<(RawFunction, Option<usize>)>;

    /// What a kernel takes of a multiprocessor.
    ///
    /// # Safety
    /// The kernel is valid.
    unsafe fn usage(&self, function: RawFunction) -> Result<Usage>;

    /// How many blocks of `threads` threads and `shared` bytes of shared memory one multiprocessor runs at a time.
    ///
    /// # Safety
    /// The kernel is valid.
    unsafe fn occupancy(&self, function: RawFunction, threads: u32, shared: usize) -> Result<u32>;

    /// A new stream.
    fn create_stream(&self) -> Result<RawStream>;

    /// The stream that callers name by 0: CUDA's legacy default stream, or what takes its place. It is never given back.
    fn default_stream(&self) -> RawStream;

    /// Gives a stream back. Work under way is done all the same.
    ///
    /// # Safety
    /// It came from [`Driver::create_stream`] and is valid; no product of matrices is bound to it.
    unsafe fn destroy_stream(&self, stream: RawStream);

    /// Waits for all work of a stream.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn synchronize(&self, stream: RawStream) -> Result<()>;

    /// Copies into the memory of the GPU. The bytes may be read later, until the stream is done: of
    /// memory from [`Driver::pin`] they are, of ordinary memory CUDA does not say when.
    ///
    /// # Safety
    /// The stream is valid. The memory is there and large enough, and the bytes stay as they are, until the stream is done.
    unsafe fn upload(&self, stream: RawStream, to: Pointer, from: &[u8]) -> Result<()>;

    /// Copies out of the memory of the GPU; the bytes are there when the stream is done.
    ///
    /// # Safety
    /// The stream is valid. The memory is there and large enough, and nobody touches the bytes, until the stream is done.
    unsafe fn download(&self, stream: RawStream, to: &mut [u8], from: Pointer) -> Result<()>;

    /// Sets memory to a byte.
    ///
    /// # Safety
    /// The stream is valid. The memory is there and large enough until the stream is done or [`Driver::free`] is called.
    unsafe fn fill(&self, stream: RawStream, memory: Pointer, byte: u8, bytes: usize)
    -> Result<()>;

    /// Starts a kernel. The argument is the bytes of the structure that it takes.
    ///
    /// # Safety
    /// Stream and kernel are valid, the latter until the stream is done. The argument is such a structure, of one byte at
    /// least, and what it says about memory is true until then.
    unsafe fn launch(
        &self,
        stream: RawStream,
        function: RawFunction,
        shape: Shape,
        argument: &[u8],
    ) -> Result<()>;

    /// A new event, in no stream yet.
    fn create_event(&self) -> Result<RawEvent>;

    /// Gives an event back. Streams that wait for it go on doing so.
    ///
    /// # Safety
    /// The event is valid.
    unsafe fn destroy_event(&self, event: RawEvent);

    /// Puts an event into a stream.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn record(&self, stream: RawStream, event: RawEvent) -> Result<()>;

    /// Lets later work of a stream wait for an event in another.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn wait(&self, stream: RawStream, event: RawEvent) -> Result<()>;

    /// Seconds between two events, both of which have been passed.
    ///
    /// # Safety
    /// Both are valid.
    unsafe fn seconds(&self, from: RawEvent, to: RawEvent) -> Result<f64>;

    /// From here on the work of a stream, and of those that wait for it, is recorded and not done.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn begin_graph(&self, stream: RawStream) -> Result<()>;

    /// The work recorded since.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn end_graph(&self, stream: RawStream) -> Result<RawGraph>;

    /// Does recorded work.
    ///
    /// # Safety
    /// Both are valid, the latter until the stream is done, and nobody else launches the graph at the same time. What was
    /// promised when the work was recorded holds again: memory and kernels are there, and cuBLAS of its products.
    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()>;

    /// Gives recorded work back.
    ///
    /// # Safety
    /// The graph is valid.
    unsafe fn destroy_graph(&self, graph: RawGraph);

    /// cuBLAS, bound to a stream.
    ///
    /// # Safety
    /// The stream is valid.
    unsafe fn create_blas(&self, stream: RawStream) -> Result<RawBlas>;

    /// Gives it back, after its work under way.
    ///
    /// # Safety
    /// It is valid, and no graph that has a product of it is launched later.
    unsafe fn destroy_blas(&self, blas: RawBlas);

    /// Matrix products in the stream to which cuBLAS is bound, `C = A B` for `count` pairs of matrices that lie column by
    /// column.
    ///
    /// # Safety
    /// It is valid, so is its stream, and nobody else uses it at the same time. The matrices are there until the stream
    /// is done.
    unsafe fn multiply(&self, blas: RawBlas, product: Product) -> Result<()>;
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
