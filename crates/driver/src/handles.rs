//! Handles that own the objects of a GPU and release them on drop.
//!
//! Each handle holds its [`Driver`], so that nothing outlives its GPU, and its dependencies: a kernel holds its
//! program, a graph its kernels. Only these handles call the functions of [`Driver`] that take raw handles. The calls
//! are sound because a raw handle is stored in the handle that owns it, is released only by that owner, and is never
//! passed to another driver. Functions stay `unsafe` where safety depends on what a kernel does or on how long memory
//! lives.
//!
//! A caller waits for pending work before it drops anything that the work uses.

use super::{
    Driver, Pointer, Product, RawBlas, RawEvent, RawFunction, RawGraph, RawModule, RawStream,
    Shape, Usage,
};
use mebridge_support::error::{Error, Result};
use mebridge_support::sync::lock;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of [`Stream::launch`] in error messages.
const LAUNCH: &str = "the launch of a kernel";

/// Returns an error if the handle belongs to another GPU.
fn check_same(one: &Arc<dyn Driver>, other: &Arc<dyn Driver>, call: &'static str) -> Result<()> {
    match Arc::ptr_eq(one, other) {
        true => Ok(()),
        false => Err(Error::GpuCall {
            call,
            what: "what is passed in belongs to another GPU".into(),
        }),
    }
}

/// Owned device memory.
pub struct Buffer {
    driver: Arc<dyn Driver>,
    pointer: Pointer,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes, but at least one.
    pub fn new(driver: &Arc<dyn Driver>, bytes: usize) -> Result<Buffer> {
        Ok(Buffer {
            driver: driver.clone(),
            pointer: driver.allocate(bytes.max(1))?,
            bytes,
        })
    }

    /// Returns its device address.
    pub fn pointer(&self) -> Pointer {
        self.pointer
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns an error if the buffer is smaller than the given number of bytes.
    fn check_size(&self, bytes: usize, call: &'static str) -> Result<()> {
        match bytes <= self.bytes {
            true => Ok(()),
            false => Err(Error::GpuCall {
                call,
                what: format!("{bytes} bytes of a buffer of {}", self.bytes),
            }),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated by this driver. `free` waits for pending work, and callers that start later
        // work guarantee that its memory exists.
        unsafe { self.driver.free(self.pointer) }
    }
}

/// Pinned host memory for asynchronous copies.
pub struct Pinned {
    driver: Arc<dyn Driver>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: this is plain memory with a single owner.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates `bytes` bytes, filled with zeros.
    pub fn new(driver: &Arc<dyn Driver>, bytes: usize) -> Result<Pinned> {
        Ok(Pinned {
            driver: driver.clone(),
            start: driver.pin(bytes)?,
            bytes,
        })
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `Driver::pin` returned this many initialised bytes; callers that copy into them guarantee that they
        // are not read meanwhile.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the memory was pinned by this driver; callers that copy guarantee that it lives until the copies
        // finish.
        unsafe { self.driver.free_pinned(self.start) }
    }
}

/// A loaded program, unloaded when the last of its clones and kernels is dropped. Clones compare equal.
#[derive(Clone)]
pub struct Module(Arc<OwnedModule>);

struct OwnedModule {
    driver: Arc<dyn Driver>,
    raw: RawModule,
}

impl Module {
    /// Loads a program produced by [`Driver::compile`].
    pub fn load(driver: &Arc<dyn Driver>, image: &[u8]) -> Result<Module> {
        Ok(Module(Arc::new(OwnedModule {
            raw: driver.load(image)?,
            driver: driver.clone(),
        })))
    }

    /// Looks up a kernel by name and allows launches with up to `shared` bytes of dynamic shared memory.
    pub fn function(&self, name: &str, shared: usize) -> Result<Function> {
        // SAFETY: `self` owns the program.
        let (raw, argument) = unsafe { self.0.driver.function(self.0.raw, name, shared)? };
        Ok(Function(Arc::new(OwnedFunction {
            module: self.clone(),
            raw,
            name: name.to_owned(),
            argument,
        })))
    }
}

impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Module {}

impl Drop for OwnedModule {
    fn drop(&mut self) {
        // SAFETY: the program was loaded by this driver. None of its kernels, nor a graph that contains one, is left;
        // callers that launch a kernel guarantee that it lives until it has finished.
        unsafe { self.driver.unload(self.raw) }
    }
}

/// A kernel, which keeps its program loaded. Clones compare equal.
#[derive(Clone)]
pub struct Function(Arc<OwnedFunction>);

struct OwnedFunction {
    module: Module,
    raw: RawFunction,
    name: String,
    /// Returns the size in bytes of its argument structure, if the driver knows it.
    argument: Option<usize>,
}

impl Function {
    /// Returns its program.
    pub fn module(&self) -> &Module {
        &self.0.module
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the resources that it uses.
    pub fn usage(&self) -> Result<Usage> {
        // SAFETY: `self` keeps its program loaded.
        unsafe { self.driver().usage(self.0.raw) }
    }

    /// Returns how many blocks of `threads` threads and `shared` bytes of shared memory are resident per
    /// multiprocessor.
    pub fn occupancy(&self, threads: u32, shared: usize) -> Result<u32> {
        // SAFETY: `self` keeps its program loaded.
        unsafe { self.driver().occupancy(self.0.raw, threads, shared) }
    }

    fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.module.0.driver
    }

    /// Returns an error if the launch configuration or argument is invalid, in general or for this kernel.
    fn check_launch(&self, shape: Shape, argument: &[u8]) -> Result<()> {
        let refused = |what: String| {
            Err(Error::GpuCall {
                call: LAUNCH,
                what: format!("kernel {}: {what}", self.0.name),
            })
        };
        match self.0.argument {
            Some(bytes) if bytes != argument.len() => refused(format!(
                "an argument of {} bytes, and it takes {bytes}",
                argument.len()
            )),
            None if argument.is_empty() => refused("no argument".into()),
            _ if shape.blocks.contains(&0) || shape.threads.contains(&0) => {
                refused(format!("no threads: {shape:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.0.name).finish()
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Function {}

/// A point in a stream.
pub struct Event {
    driver: Arc<dyn Driver>,
    raw: RawEvent,
    /// The recording of the stream in which the event was last recorded.
    recording: Mutex<Option<Arc<Recorded>>>,
}

impl Event {
    /// Creates an event that is not yet recorded in any stream.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Event> {
        Ok(Event {
            driver: driver.clone(),
            raw: driver.create_event()?,
            recording: Mutex::default(),
        })
    }

    /// Returns the seconds from this event to another; both must have completed.
    pub fn seconds(&self, to: &Event) -> Result<f64> {
        check_same(&self.driver, &to.driver, "the time between events")?;
        // SAFETY: both events are owned and belong to this driver.
        unsafe { self.driver.seconds(self.raw, to.raw) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was created by this driver and is owned by `self` alone.
        unsafe { self.driver.destroy_event(self.raw) }
    }
}

/// Dependencies of the graph, collected by the streams of a recording; `None` once it has ended.
type Recorded = Mutex<Option<Dependencies>>;

/// Dependencies of recorded work other than memory.
#[derive(Default)]
struct Dependencies {
    kernels: Vec<Function>,
    /// Streams whose cuBLAS handles are used.
    streams: Vec<Stream>,
}

/// Recorded work that can be launched repeatedly. It keeps its kernels alive.
pub struct Graph {
    driver: Arc<dyn Driver>,
    raw: RawGraph,
    _dependencies: Dependencies,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was recorded by this driver and is owned by `self` alone.
        unsafe { self.driver.destroy_graph(self.raw) }
    }
}

/// A queue of work, released when the last of its clones is dropped.
#[derive(Clone)]
pub struct Stream(Arc<OwnedStream>);

struct OwnedStream {
    driver: Arc<dyn Driver>,
    raw: RawStream,
    /// Whether this crate created the stream; otherwise it belongs to a caller and is not released.
    created: bool,
    /// cuBLAS handle, created for the first matrix product.
    blas: Mutex<Option<RawBlas>>,
    /// The most recent recording in which the stream took part.
    recording: Mutex<Option<Arc<Recorded>>>,
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        let blas = self.blas.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both were created by this driver and are no longer shared: graphs with products of this cuBLAS handle
        // hold this stream. The handle is released before the stream to which it is bound.
        unsafe {
            if let Some(blas) = blas.take() {
                self.driver.destroy_blas(blas);
            }
            if self.created {
                self.driver.destroy_stream(self.raw);
            }
        }
    }
}

impl Stream {
    /// Creates a stream.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Stream> {
        Ok(Stream::from_raw(driver, driver.create_stream()?, true))
    }

    /// Wraps the CUstream of a caller; 0 is the legacy default stream. Dropping the handle does not release the stream.
    ///
    /// # Safety
    /// It is a stream of this GPU and is alive whenever a method is called on the returned handle or a clone of it.
    pub unsafe fn from_caller(driver: &Arc<dyn Driver>, raw: u64) -> Stream {
        let raw = match raw {
            0 => driver.default_stream(),
            raw => RawStream(raw),
        };
        Stream::from_raw(driver, raw, false)
    }

    fn from_raw(driver: &Arc<dyn Driver>, raw: RawStream, created: bool) -> Stream {
        Stream(Arc::new(OwnedStream {
            driver: driver.clone(),
            raw,
            created,
            blas: Mutex::default(),
            recording: Mutex::default(),
        }))
    }

    /// Returns the driver of its GPU.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// Returns its CUstream, for code that uses this GPU through another interface; valid as long as `self`.
    pub fn raw(&self) -> u64 {
        self.0.raw.0
    }

    /// Waits until all its work has finished.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is owned, or alive by the contract of `from_caller`; likewise below.
        unsafe { self.driver().synchronize(self.0.raw) }
    }

    /// Records an event in this stream.
    pub fn record(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "an event of a stream")?;
        let recording = lock(&self.0.recording);
        // SAFETY: both are alive and belong to this driver.
        unsafe { self.driver().record(self.0.raw, event.raw)? };
        *lock(&event.recording) = recording.clone();
        Ok(())
    }

    /// Creates an event and records it in this stream.
    pub fn put_event(&self) -> Result<Event> {
        let event = Event::new(self.driver())?;
        self.record(&event)?;
        Ok(event)
    }

    /// Makes later work wait for an event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "a stream that waits")?;
        let joined = lock(&event.recording).clone();
        let mut recording = lock(&self.0.recording);
        // SAFETY: both are alive and belong to this driver.
        unsafe { self.driver().wait(self.0.raw, event.raw)? };
        if let Some(open) = joined.filter(|recorded| lock(recorded).is_some()) {
            *recording = Some(open);
        }
        Ok(())
    }

    /// Notes a dependency of the graph if this stream is being recorded. The recording cannot change while the result
    /// lives.
    fn note(&self, add: impl FnOnce(&mut Dependencies)) -> MutexGuard<'_, Option<Arc<Recorded>>> {
        let recording = lock(&self.0.recording);
        if let Some(recorded) = &*recording
            && let Some(dependencies) = &mut *lock(recorded)
        {
            add(dependencies);
        }
        recording
    }

    /// Copies bytes to device memory and waits for all work of the stream.
    pub fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        const CALL: &str = "a copy to the GPU";
        check_same(self.driver(), &to.driver, CALL)?;
        to.check_size(bytes.len(), CALL)?;
        // SAFETY: the buffer is large enough; both live until the stream has finished.
        let done = unsafe { self.upload(to.pointer, bytes) };
        // Part of the copy may still be pending.
        let over = self.synchronize();
        done.and(over)
    }

    /// Copies bytes from device memory and waits for all work of the stream.
    pub fn read(&self, to: &mut [u8], from: &Buffer) -> Result<()> {
        const CALL: &str = "a copy from the GPU";
        check_same(self.driver(), &from.driver, CALL)?;
        from.check_size(to.len(), CALL)?;
        // SAFETY: the buffer is large enough; both live until the stream has finished.
        let done = unsafe { self.download(to, from.pointer) };
        let over = self.synchronize();
        done.and(over)
    }

    /// Fills a buffer with a byte.
    pub fn clear(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        check_same(self.driver(), &buffer.driver, "a buffer that is set")?;
        // SAFETY: this is exactly the buffer; if it is dropped before the work has finished, it is freed only
        // afterwards.
        unsafe { self.fill(buffer.pointer, byte, buffer.bytes) }
    }

    /// Copies bytes to device memory asynchronously.
    ///
    /// # Safety
    /// Until the stream has finished, the memory exists and is large enough, and the bytes do not change.
    pub unsafe fn upload(&self, to: Pointer, from: &[u8]) -> Result<()> {
        // SAFETY: the stream is alive; the caller guarantees the rest.
        unsafe { self.driver().upload(self.0.raw, to, from) }
    }

    /// Copies bytes from device memory asynchronously.
    ///
    /// # Safety
    /// Until the stream has finished, the memory exists and is large enough, and nothing else accesses the bytes.
    pub unsafe fn download(&self, to: &mut [u8], from: Pointer) -> Result<()> {
        // SAFETY: the stream is alive; the caller guarantees the rest.
        unsafe { self.driver().download(self.0.raw, to, from) }
    }

    /// Fills memory with a byte.
    ///
    /// # Safety
    /// The memory exists and is large enough until the stream has finished; a [`Buffer`] may be dropped earlier.
    pub unsafe fn fill(&self, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the stream is alive; the caller guarantees the rest.
        unsafe { self.driver().fill(self.0.raw, memory, byte, bytes) }
    }

    /// Launches a kernel; `argument` holds the bytes of its argument structure.
    ///
    /// # Safety
    /// `argument` is a structure of the type that the kernel expects. Until the stream has finished, its pointers and
    /// sizes are valid, and the kernel is kept alive by a clone or a graph.
    pub unsafe fn launch(&self, function: &Function, shape: Shape, argument: &[u8]) -> Result<()> {
        check_same(self.driver(), function.driver(), LAUNCH)?;
        function.check_launch(shape, argument)?;
        let _recording = self.note(|dependencies| {
            if !dependencies.kernels.contains(function) {
                dependencies.kernels.push(function.clone());
            }
        });
        // SAFETY: stream and kernel are alive and belong to this driver; the rest is checked or guaranteed by the
        // caller.
        unsafe { (self.driver()).launch(self.0.raw, function.0.raw, shape, argument) }
    }

    /// Launches matrix products.
    ///
    /// # Safety
    /// The matrices exist until the stream has finished.
    pub unsafe fn multiply(&self, product: Product) -> Result<()> {
        let _recording = self.note(|dependencies| {
            let streams = &mut dependencies.streams;
            if !streams.iter().any(|known| Arc::ptr_eq(&known.0, &self.0)) {
                streams.push(self.clone());
            }
        });
        let mut own = lock(&self.0.blas);
        let blas = match *own {
            Some(blas) => blas,
            // SAFETY: the stream is alive.
            None => *own.insert(unsafe { self.driver().create_blas(self.0.raw)? }),
        };
        // SAFETY: both are alive, and the lock is held; the caller guarantees the rest.
        unsafe { self.driver().multiply(blas, product) }
    }

    /// Starts recording: from now on, work put into this stream and into streams that wait for it is recorded, not run.
    pub fn begin_recording(&self) -> Result<Recording<'_>> {
        let recorded = Arc::new(Mutex::new(Some(Dependencies::default())));
        let mut recording = lock(&self.0.recording);
        // SAFETY: the stream is alive.
        unsafe { self.driver().begin_graph(self.0.raw)? };
        *recording = Some(recorded.clone());
        Ok(Recording {
            stream: self,
            recorded,
            ended: false,
        })
    }

    /// Launches recorded work.
    ///
    /// # Safety
    /// The guarantees about memory given when the work was recorded hold again. The graph lives until the stream has
    /// finished.
    pub unsafe fn launch_graph(&self, graph: &mut Graph) -> Result<()> {
        check_same(self.driver(), &graph.driver, "the launch of a graph")?;
        // SAFETY: both are alive and belong to this driver, and the graph is borrowed exclusively; the caller
        // guarantees the rest.
        unsafe { self.driver().launch_graph(self.0.raw, graph.raw) }
    }
}

/// A stream that is being recorded. Dropping it without [`Recording::end`] discards the recording.
pub struct Recording<'a> {
    stream: &'a Stream,
    recorded: Arc<Recorded>,
    ended: bool,
}

impl Recording<'_> {
    /// Ends the recording and returns the recorded work.
    pub fn end(mut self) -> Result<Graph> {
        self.ended = true;
        self.graph()
    }

    fn graph(&self) -> Result<Graph> {
        let driver = self.stream.driver();
        // SAFETY: the stream is alive.
        let raw = unsafe { driver.end_graph(self.stream.0.raw) };
        let dependencies = lock(&self.recorded).take();
        Ok(Graph {
            raw: raw?,
            driver: driver.clone(),
            _dependencies: dependencies.unwrap_or_default(),
        })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // The code that recorded reports the error.
            let _ = self.graph();
        }
    }
}
