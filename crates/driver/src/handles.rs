//! Handles that own what a GPU has made, and give it back when they are dropped.
//!
//! Each holds its [`Driver`], so that nothing outlives its GPU, and what it depends on: a kernel its program, a graph its
//! kernels. They alone call the functions of [`Driver`] that take raw handles, by one argument: a
//! raw handle lies in the handle that owns it, is given back by nobody but that, and goes to no other driver. `unsafe` is
//! left where safety depends on what a kernel does, or on how long memory stays.
//!
//! Whoever has work under way waits for it before dropping what that uses.

use super::{
    Driver, Pointer, Product, RawBlas, RawEvent, RawFunction, RawGraph, RawModule, RawStream,
    Shape, Usage,
};
use mebridge_support::error::{Error, Result};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What errors call [`Stream::launch`].
const LAUNCH: &str = "the launch of a kernel";

/// An error for a handle of another GPU.
fn check_same(one: &Arc<dyn Driver>, other: &Arc<dyn Driver>, call: &'static str) -> Result<()> {
    match Arc::ptr_eq(one, other) {
        true => Ok(()),
        false => Err(Error::GpuCall {
            call,
            what: "what is passed in belongs to another GPU".into(),
        }),
    }
}

/// What is locked here is whole between any two statements.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory of a GPU.
pub struct Buffer {
    driver: Arc<dyn Driver>,
    pointer: Pointer,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes, at least one.
    pub fn new(driver: &Arc<dyn Driver>, bytes: usize) -> Result<Buffer> {
        Ok(Buffer {
            driver: driver.clone(),
            pointer: driver.allocate(bytes.max(1))?,
            bytes,
        })
    }

    /// Where it lies.
    pub fn pointer(&self) -> Pointer {
        self.pointer
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// An error if the buffer has fewer bytes than these.
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
        // SAFETY: it was allocated by this driver. Work under way is waited for, and whoever starts later work promises
        // that its memory is there.
        unsafe { self.driver.free(self.pointer) }
    }
}

/// Memory of the host that a GPU copies from and to by itself.
pub struct Pinned {
    driver: Arc<dyn Driver>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: it is plain memory with one owner.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates `bytes` bytes, which are zero.
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
        // SAFETY: `Driver::pin` gave this many bytes, all of them written; whoever copies into them promised that nobody
        // reads them meanwhile.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: it was pinned by this driver; whoever copies promised that it stays until copies are done.
        unsafe { self.driver.free_pinned(self.start) }
    }
}

/// A loaded program, which is unloaded with the last of its clones and kernels. Clones are equal.
#[derive(Clone)]
pub struct Module(Arc<OwnedModule>);

struct OwnedModule {
    driver: Arc<dyn Driver>,
    raw: RawModule,
}

impl Module {
    /// Loads what [`Driver::compile`] made.
    pub fn load(driver: &Arc<dyn Driver>, image: &[u8]) -> Result<Module> {
        Ok(Module(Arc::new(OwnedModule {
            raw: driver.load(image)?,
            driver: driver.clone(),
        })))
    }

    /// A kernel by its name, which launches may give up to `shared` bytes of shared memory.
    pub fn function(&self, name: &str, shared: usize) -> Result<Function> {
        // SAFETY: this owns the program.
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
        // SAFETY: it was loaded by this driver. No kernel of it is left, nor a graph of one; whoever launches one promises
        // that it stays until it is done.
        unsafe { self.driver.unload(self.raw) }
    }
}

/// A kernel, which keeps its program loaded. Clones are equal.
#[derive(Clone)]
pub struct Function(Arc<OwnedFunction>);

struct OwnedFunction {
    module: Module,
    raw: RawFunction,
    name: String,
    /// Bytes of the structure that it takes, where the driver knows.
    argument: Option<usize>,
}

impl Function {
    /// Its program.
    pub fn module(&self) -> &Module {
        &self.0.module
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it takes of a multiprocessor.
    pub fn usage(&self) -> Result<Usage> {
        // SAFETY: it keeps its program loaded.
        unsafe { self.driver().usage(self.0.raw) }
    }

    /// How many blocks of `threads` threads and `shared` bytes of shared memory one multiprocessor runs at a time.
    pub fn occupancy(&self, threads: u32, shared: usize) -> Result<u32> {
        // SAFETY: it keeps its program loaded.
        unsafe { self.driver().occupancy(self.0.raw, threads, shared) }
    }

    fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.module.0.driver
    }

    /// An error for a launch that no kernel, or not this one, can have.
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
    /// The recording of the stream in which it was put last.
    recording: Mutex<Option<Arc<Recorded>>>,
}

impl Event {
    /// In no stream yet.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Event> {
        Ok(Event {
            driver: driver.clone(),
            raw: driver.create_event()?,
            recording: Mutex::default(),
        })
    }

    /// Seconds from here to another, both of which have been passed.
    pub fn seconds(&self, to: &Event) -> Result<f64> {
        check_same(&self.driver, &to.driver, "the time between events")?;
        // SAFETY: both are owned, and of this driver.
        unsafe { self.driver.seconds(self.raw, to.raw) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was created by this driver, and nobody else has it.
        unsafe { self.driver.destroy_event(self.raw) }
    }
}

/// What the streams of a recording collect for its graph; `None` once it has ended.
type Recorded = Mutex<Option<Dependencies>>;

/// What recorded work depends on, apart from memory.
#[derive(Default)]
struct Dependencies {
    kernels: Vec<Function>,
    /// For their cuBLAS.
    streams: Vec<Stream>,
}

/// Work that was recorded to be done again. It keeps its kernels.
pub struct Graph {
    driver: Arc<dyn Driver>,
    raw: RawGraph,
    _dependencies: Dependencies,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was recorded by this driver, and nobody else has it.
        unsafe { self.driver.destroy_graph(self.raw) }
    }
}

/// A queue of work; it is given back with the last of its clones.
#[derive(Clone)]
pub struct Stream(Arc<OwnedStream>);

struct OwnedStream {
    driver: Arc<dyn Driver>,
    raw: RawStream,
    /// Whether it was created here; otherwise it is a caller's, and stays.
    created: bool,
    /// For products of matrices, from the first one on.
    blas: Mutex<Option<RawBlas>>,
    /// The last recording that the stream took part in.
    recording: Mutex<Option<Arc<Recorded>>>,
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        let blas = self.blas.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both were created by this driver, and nobody else has them: graphs with products of this cuBLAS hold this
        // stream. cuBLAS goes before the stream that it is bound to.
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
    /// A new one.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Stream> {
        Ok(Stream::from_raw(driver, driver.create_stream()?, true))
    }

    /// That of a caller, by its CUstream; 0 is the legacy default stream. It stays when this is dropped.
    ///
    /// # Safety
    /// It is a stream of this GPU, and is alive whenever something is called on this or on a clone.
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

    /// Its GPU.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// Its CUstream, for whoever shares this GPU through another driver; alive as long as this.
    pub fn raw(&self) -> u64 {
        self.0.raw.0
    }

    /// Waits until it is done.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is owned, or alive by the promise of `from_caller`; so below.
        unsafe { self.driver().synchronize(self.0.raw) }
    }

    /// Puts an event here.
    pub fn record(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "an event of a stream")?;
        let recording = lock(&self.0.recording);
        // SAFETY: both are alive, and of this driver.
        unsafe { self.driver().record(self.0.raw, event.raw)? };
        *lock(&event.recording) = recording.clone();
        Ok(())
    }

    /// A new event here.
    pub fn put_event(&self) -> Result<Event> {
        let event = Event::new(self.driver())?;
        self.record(&event)?;
        Ok(event)
    }

    /// Later work waits for an event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "a stream that waits")?;
        let joined = lock(&event.recording).clone();
        let mut recording = lock(&self.0.recording);
        // SAFETY: both are alive, and of this driver.
        unsafe { self.driver().wait(self.0.raw, event.raw)? };
        if let Some(open) = joined.filter(|recorded| lock(recorded).is_some()) {
            *recording = Some(open);
        }
        Ok(())
    }

    /// Notes what the graph depends on, where this takes part in a recording. That stays as it is while the result lives.
    fn note(&self, add: impl FnOnce(&mut Dependencies)) -> MutexGuard<'_, Option<Arc<Recorded>>> {
        let recording = lock(&self.0.recording);
        if let Some(recorded) = &*recording
            && let Some(dependencies) = &mut *lock(recorded)
        {
            add(dependencies);
        }
        recording
    }

    /// Copies into the memory of the GPU and waits for all work.
    pub fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        const CALL: &str = "a copy to the GPU";
        check_same(self.driver(), &to.driver, CALL)?;
        to.check_size(bytes.len(), CALL)?;
        // SAFETY: the buffer is large enough; both stay until the stream is done.
        let done = unsafe { self.upload(to.pointer, bytes) };
        // Part of it may be under way.
        let over = self.synchronize();
        done.and(over)
    }

    /// Waits for all work, and copies out of the memory of the GPU.
    pub fn read(&self, to: &mut [u8], from: &Buffer) -> Result<()> {
        const CALL: &str = "a copy from the GPU";
        check_same(self.driver(), &from.driver, CALL)?;
        from.check_size(to.len(), CALL)?;
        // SAFETY: the buffer is large enough; both stay until the stream is done.
        let done = unsafe { self.download(to, from.pointer) };
        let over = self.synchronize();
        done.and(over)
    }

    /// Sets all of a buffer to a byte.
    pub fn clear(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        check_same(self.driver(), &buffer.driver, "a buffer that is set")?;
        // SAFETY: these are all bytes of the buffer; if it is dropped before that is done, it is freed after.
        unsafe { self.fill(buffer.pointer, byte, buffer.bytes) }
    }

    /// Copies into the memory of the GPU.
    ///
    /// # Safety
    /// The memory is there and large enough, and the bytes stay as they are, until the stream is done.
    pub unsafe fn upload(&self, to: Pointer, from: &[u8]) -> Result<()> {
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { self.driver().upload(self.0.raw, to, from) }
    }

    /// Copies out of the memory of the GPU.
    ///
    /// # Safety
    /// The memory is there and large enough, and nobody touches the bytes, until the stream is done.
    pub unsafe fn download(&self, to: &mut [u8], from: Pointer) -> Result<()> {
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { self.driver().download(self.0.raw, to, from) }
    }

    /// Sets memory to a byte.
    ///
    /// # Safety
    /// The memory is there and large enough until the stream is done; a [`Buffer`] may be dropped before.
    pub unsafe fn fill(&self, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { self.driver().fill(self.0.raw, memory, byte, bytes) }
    }

    /// Starts a kernel. The argument is the bytes of the structure that it takes.
    ///
    /// # Safety
    /// The argument is such a structure. What it says about memory is true until the stream is done, and the kernel stays
    /// until then: a clone of it, or a graph that has it.
    pub unsafe fn launch(&self, function: &Function, shape: Shape, argument: &[u8]) -> Result<()> {
        check_same(self.driver(), function.driver(), LAUNCH)?;
        function.check_launch(shape, argument)?;
        let _recording = self.note(|dependencies| {
            if !dependencies.kernels.contains(function) {
                dependencies.kernels.push(function.clone());
            }
        });
        // SAFETY: stream and kernel are alive, and of this driver; the rest is checked or the caller's promise.
        unsafe { (self.driver()).launch(self.0.raw, function.0.raw, shape, argument) }
    }

    /// Starts products of matrices.
    ///
    /// # Safety
    /// The matrices are there until the stream is done.
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
        // SAFETY: both are alive, and the lock is held; the rest is the caller's promise.
        unsafe { self.driver().multiply(blas, product) }
    }

    /// From here on its work (and that of streams that wait for it) is recorded, not done.
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

    /// Does recorded work.
    ///
    /// # Safety
    /// What was promised of memory when the work was recorded holds again. The graph stays until the stream is done.
    pub unsafe fn launch_graph(&self, graph: &mut Graph) -> Result<()> {
        check_same(self.driver(), &graph.driver, "the launch of a graph")?;
        // SAFETY: both are alive and of this driver, and nobody else has the graph; the rest is the caller's promise.
        unsafe { self.driver().launch_graph(self.0.raw, graph.raw) }
    }
}

/// A stream that is being recorded. If this goes without [`Recording::end`], what was recorded is forgotten.
pub struct Recording<'a> {
    stream: &'a Stream,
    recorded: Arc<Recorded>,
    ended: bool,
}

impl Recording<'_> {
    /// The work recorded so far; the stream is no longer recorded.
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
            // Whoever recorded reports the error.
            let _ = self.graph();
        }
    }
}
