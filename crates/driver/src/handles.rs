//! Handles of what a GPU has made: they give it back when they are dropped.
//!
//! A handle holds its GPU, so nothing outlives that; what is of another GPU is refused.

use super::{Driver, EventId, Function, GraphId, ModuleId, Pointer, Product, Shape, StreamId};
use mebridge_support::error::{Error, Result};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

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

/// Memory of a GPU.
pub struct Buffer {
    driver: Arc<dyn Driver>,
    pointer: Pointer,
    bytes: usize,
}

impl Buffer {
    /// Takes so many bytes, at least one.
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

    /// An error where so many bytes are more than it has.
    fn has(&self, bytes: usize, call: &'static str) -> Result<()> {
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
        // SAFETY: it was allocated here; whoever has work under way that uses it waits for that
        // before it drops its buffers.
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
    /// Takes so many bytes, which are zero.
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
        // SAFETY: so many bytes were taken, and all of them written; who copies into them promised that nobody reads
        // them meanwhile.
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
        // SAFETY: it was pinned here; who copies promised that it stays until copies are over.
        unsafe { self.driver.free_pinned(self.start) }
    }
}

/// A loaded program.
pub struct Module {
    driver: Arc<dyn Driver>,
    id: ModuleId,
}

impl Module {
    /// Loads what [`Driver::compile`] made.
    pub fn load(driver: &Arc<dyn Driver>, image: &[u8]) -> Result<Module> {
        Ok(Module {
            driver: driver.clone(),
            id: driver.load(image)?,
        })
    }

    /// Its number.
    pub fn id(&self) -> ModuleId {
        self.id
    }

    /// A kernel by its name; it may ask for so many bytes of shared memory.
    pub fn function(&self, name: &str, shared: usize) -> Result<Function> {
        self.driver.function(self.id, name, shared)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.driver.unload(self.id);
    }
}

/// A point in a queue of work.
pub struct Event {
    driver: Arc<dyn Driver>,
    id: EventId,
}

impl Event {
    /// In no queue yet.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Event> {
        Ok(Event {
            driver: driver.clone(),
            id: driver.event()?,
        })
    }

    /// Seconds from here to another, both of which have been passed.
    pub fn seconds(&self, to: &Event) -> Result<f64> {
        check_same(&self.driver, &to.driver, "the time between events")?;
        self.driver.seconds(self.id, to.id)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.driver.drop_event(self.id);
    }
}

/// Work that was recorded to be done again.
pub struct Graph {
    driver: Arc<dyn Driver>,
    id: GraphId,
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.driver.drop_graph(self.id);
    }
}

/// A queue of work; it is given back with the last of its clones.
#[derive(Clone)]
pub struct Stream(Arc<OwnedStream>);

struct OwnedStream {
    driver: Arc<dyn Driver>,
    id: StreamId,
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        self.driver.drop_stream(self.id);
    }
}

impl Stream {
    /// A new one.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Stream> {
        Ok(Stream::of(driver, driver.stream()?))
    }

    /// That of a caller, see [`Driver::stream_of`].
    ///
    /// # Safety
    /// It is a stream of this GPU, and stays until the last of the clones of this has gone.
    pub unsafe fn of_caller(driver: &Arc<dyn Driver>, raw: u64) -> Result<Stream> {
        // SAFETY: the caller's promise.
        let id = unsafe { driver.stream_of(raw)? };
        Ok(Stream::of(driver, id))
    }

    fn of(driver: &Arc<dyn Driver>, id: StreamId) -> Stream {
        let driver = driver.clone();
        Stream(Arc::new(OwnedStream { driver, id }))
    }

    /// Its GPU.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// Its number.
    pub fn id(&self) -> StreamId {
        self.0.id
    }

    /// Its CUstream, which goes with the last of its clones.
    pub fn raw(&self) -> Result<u64> {
        self.driver().raw_stream(self.id())
    }

    /// Waits until it is done.
    pub fn synchronize(&self) -> Result<()> {
        self.driver().synchronize(self.id())
    }

    /// Puts an event here.
    pub fn record(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "an event of a stream")?;
        self.driver().record(self.id(), event.id)
    }

    /// A new event here.
    pub fn put_event(&self) -> Result<Event> {
        let event = Event::new(self.driver())?;
        self.record(&event)?;
        Ok(event)
    }

    /// What comes next waits for an event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        check_same(self.driver(), &event.driver, "a stream that waits")?;
        self.driver().wait(self.id(), event.id)
    }

    /// Copies into the memory of the GPU and waits for all work.
    pub fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        const CALL: &str = "a copy to the GPU";
        check_same(self.driver(), &to.driver, CALL)?;
        to.has(bytes.len(), CALL)?;
        // SAFETY: the buffer has as many bytes; both stay until the stream is done.
        let done = unsafe { self.upload(to.pointer, bytes) };
        // Part of it may be under way.
        let over = self.synchronize();
        done.and(over)
    }

    /// Waits for all work, and copies out of the memory of the GPU.
    pub fn read(&self, to: &mut [u8], from: &Buffer) -> Result<()> {
        const CALL: &str = "a copy from the GPU";
        check_same(self.driver(), &from.driver, CALL)?;
        from.has(to.len(), CALL)?;
        // SAFETY: the buffer has as many bytes; both stay until the stream is done.
        let done = unsafe { self.download(to, from.pointer) };
        let over = self.synchronize();
        done.and(over)
    }

    /// Sets all of a buffer to a byte.
    pub fn clear(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        check_same(self.driver(), &buffer.driver, "a buffer that is set")?;
        // SAFETY: the buffer has as many bytes; should it go before, the GPU is waited for.
        unsafe { self.fill(buffer.pointer, byte, buffer.bytes) }
    }

    /// Copies into the memory of the GPU.
    ///
    /// # Safety
    /// As for [`Driver::upload`].
    pub unsafe fn upload(&self, to: Pointer, from: &[u8]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.driver().upload(self.id(), to, from) }
    }

    /// Copies out of the memory of the GPU.
    ///
    /// # Safety
    /// As for [`Driver::download`].
    pub unsafe fn download(&self, to: &mut [u8], from: Pointer) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.driver().download(self.id(), to, from) }
    }

    /// Sets memory to a byte.
    ///
    /// # Safety
    /// As for [`Driver::fill`].
    pub unsafe fn fill(&self, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.driver().fill(self.id(), memory, byte, bytes) }
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// As for [`Driver::launch`].
    pub unsafe fn launch(&self, function: Function, shape: Shape, arguments: &[u8]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { (self.driver()).launch(self.id(), function, shape, arguments) }
    }

    /// Starts products of matrices.
    ///
    /// # Safety
    /// As for [`Driver::multiply`].
    pub unsafe fn multiply(&self, product: Product) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.driver().multiply(self.id(), product) }
    }

    /// From here on its work (and that of streams that wait for it) is recorded, not done.
    pub fn begin_recording(&self) -> Result<Recording<'_>> {
        self.driver().begin_graph(self.id())?;
        Ok(Recording {
            stream: self,
            ended: false,
        })
    }

    /// Does recorded work.
    ///
    /// # Safety
    /// As for [`Driver::launch_graph`].
    pub unsafe fn launch_graph(&self, graph: &Graph) -> Result<()> {
        check_same(self.driver(), &graph.driver, "the launch of a graph")?;
        // SAFETY: the caller's promise.
        unsafe { self.driver().launch_graph(self.id(), graph.id) }
    }
}

/// A stream that is being recorded. If this goes without [`Recording::end`], what was recorded is forgotten.
pub struct Recording<'a> {
    stream: &'a Stream,
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
        Ok(Graph {
            id: driver.end_graph(self.stream.id())?,
            driver: driver.clone(),
        })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // Who recorded reports the error.
            let _ = self.graph();
        }
    }
}
