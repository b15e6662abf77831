//! An emulated GPU for tests: device code compiled for the CPU by the machine's C++ compiler.
//!
//! It is stricter than a GPU. Fresh memory and shared memory hold NaN, which is detected when it is copied to the host
//! or used in matrix products. Writes outside of allocations are detected after each kernel. Work, including copies, is
//! done only when the host waits for it. The threads of a block take turns at barriers, so that a missing barrier is
//! detected.

mod library;
mod memory;
mod queue;

pub use library::DeviceCompiler;
use library::Library;
use mebridge_driver::{
    Architecture, Driver, Pointer, Product, Properties, RawBlas, RawEvent, RawFunction, RawGraph,
    RawModule, RawStream, Shape, Usage,
};
use mebridge_support::error::{Error, Result};
use mebridge_testing::compiler::cxx_compiler;
use memory::{Memory, wrong};
use queue::{Point, Queue, Recordings, Work};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of shared memory per block, as in host.h.
const SHARED: usize = 232_448;

/// The emulated GPU.
pub struct Emulator {
    device_compiler: DeviceCompiler,
    compiler: PathBuf,
    folder: tempfile::TempDir,
    properties: Properties,
    total: usize,
    state: Mutex<State>,
}

/// A kernel.
struct Kernel {
    module: RawModule,
    name: String,
    address: usize,
    shared: usize,
}

/// All objects created so far; raw handles are indices into these lists.
#[derive(Default)]
struct State {
    memory: Memory,
    pinned: Memory,
    loads: usize,
    modules: Vec<Option<Library>>,
    kernels: Vec<Kernel>,
    /// Queues; the first is the default queue.
    queues: Vec<Option<Queue>>,
    points: Vec<Option<Point>>,
    graphs: Vec<Option<Arc<Vec<Work>>>>,
    /// The queue of each cuBLAS handle.
    products: Vec<Option<RawStream>>,
    recordings: Recordings,
    log: Log,
    cost: Option<Cost>,
    /// Seconds by which the emulated clock is ahead of the machine's clock.
    late: Duration,
    /// Number of further launches before one panics.
    panics: Option<usize>,
    /// Bytes taken by other processes since the free memory was queried.
    others: usize,
}

/// Duration of a kernel launch as a function of the threads per block.
pub type Cost = fn(&str, u32) -> Duration;

/// Record of the work done.
#[derive(Default)]
pub struct Log {
    /// Names of the [`Driver`] methods called.
    pub calls: BTreeMap<&'static str, usize>,
    /// Kernels launched, with their threads per block.
    pub launches: Vec<(String, u32)>,
    /// Number of graphs launched.
    pub graphs: usize,
    /// Number of times that a queue waited for an event in another.
    pub waits: usize,
}

/// Appends an object to a list and returns its index.
fn add<T>(list: &mut Vec<Option<T>>, thing: T) -> u64 {
    list.push(Some(thing));
    list.len() as u64 - 1
}

/// Returns the object at an index of a list.
fn named<'a, T>(list: &'a mut [Option<T>], place: u64, what: &str) -> Result<&'a mut T> {
    let entry = list.get_mut(place as usize).and_then(Option::as_mut);
    entry.ok_or_else(|| wrong(format!("there is no {what} {place}")))
}

/// Removes the object at an index of a list.
fn take<T>(list: &mut [Option<T>], place: u64, what: &str) -> Result<T> {
    let entry = list.get_mut(place as usize).and_then(Option::take);
    entry.ok_or_else(|| wrong(format!("there is no {what} {place}")))
}

/// Fails the test for calls that cannot return an error, unless the test is already panicking.
fn insist<T>(result: Result<T>) {
    if let Err(error) = result {
        match std::thread::panicking() {
            true => eprintln!("{error}"),
            false => panic!("{error}"),
        }
    }
}

impl Emulator {
    /// Creates an emulated GPU with 4 GiB of memory. Prints a line and returns `None` if the machine has no C++
    /// compiler.
    pub fn new(device_compiler: DeviceCompiler) -> Option<Arc<Emulator>> {
        Emulator::with_memory(4 << 30, device_compiler)
    }

    /// Creates an emulated GPU with `total` bytes of memory.
    pub fn with_memory(total: usize, device_compiler: DeviceCompiler) -> Option<Arc<Emulator>> {
        let compiler = cxx_compiler()?;
        Some(Arc::new(Emulator {
            device_compiler,
            compiler,
            folder: tempfile::tempdir().expect("a temporary folder"),
            properties: Properties {
                name: "emulated GPU".to_owned(),
                architecture: Architecture::Capability(9, 0),
                warp: 32,
                // So few that a few events fill the GPU.
                processors: 1,
                clock: 1e9,
                shared_per_block: SHARED,
                shared_per_processor: SHARED + 1024,
                cache: 1 << 20,
                bandwidth: 1e10,
            },
            total,
            state: Mutex::new(State {
                queues: vec![Some(Queue::default())],
                ..State::default()
            }),
        }))
    }

    /// Returns the record of the work done since the last call.
    pub fn take_log(&self) -> Log {
        std::mem::take(&mut self.state().log)
    }

    /// From now on, adds the given time to the measured duration of each launch.
    pub fn set_cost(&self, cost: Cost) {
        self.state().cost = Some(cost);
    }

    /// From now on, refuses the last `bytes` bytes reported as free, as if another process had taken them in between.
    pub fn taken_by_others(&self, bytes: usize) {
        self.state().others = bytes;
    }

    /// Makes a launch panic after `launches` others.
    pub fn panic_after(&self, launches: usize) {
        self.state().panics = Some(launches);
    }

    /// Returns whether no work is pending.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state
            .queues
            .iter()
            .flatten()
            .all(|queue| queue.waiting.is_empty())
    }

    /// Returns the number of graphs that have not been released.
    pub fn kept_graphs(&self) -> usize {
        self.state().graphs.iter().flatten().count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call of [`Driver`] and returns the locked state.
    fn called(&self, call: &'static str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        *state.log.calls.entry(call).or_default() += 1;
        state
    }
}

impl State {
    /// Appends work to a queue.
    fn put(&mut self, stream: RawStream, work: Work) -> Result<()> {
        let queue = named(&mut self.queues, stream.0, "stream")?;
        if let Some(work) = self.recordings.put(stream, work) {
            queue.waiting.push_back(work);
            queue.put += 1;
        }
        Ok(())
    }

    /// Runs the work of a queue until `until` items have been done.
    fn run(&mut self, stream: RawStream, until: u64) -> Result<()> {
        loop {
            let queue = named(&mut self.queues, stream.0, "stream")?;
            if queue.done >= until {
                return Ok(());
            }
            let work = queue.waiting.pop_front();
            queue.done += 1;
            self.perform(&work.expect("as much as was put in"))?;
        }
    }

    /// Runs all pending work.
    fn run_all(&mut self) -> Result<()> {
        for i in 0..self.queues.len() {
            if let Some(until) = self.queues[i].as_ref().map(|queue| queue.put) {
                self.run(RawStream(i as u64), until)?;
            }
        }
        Ok(())
    }

    fn perform(&mut self, work: &Work) -> Result<()> {
        match work {
            Work::Upload { to, from, bytes } => {
                self.memory.inside(*to, bytes.len())?;
                // SAFETY: the caller of the copy guaranteed that the bytes exist.
                let now = unsafe { std::slice::from_raw_parts(*from as *const u8, bytes.len()) };
                if *now != **bytes {
                    return Err(wrong(
                        "bytes that are copied have changed before they were read".to_owned(),
                    ));
                }
                // SAFETY: the memory exists.
                unsafe { (*to as *mut u8).copy_from(now.as_ptr(), now.len()) };
            }
            Work::UploadPinned { to, from, bytes } => {
                self.memory.inside(*to, *bytes)?;
                self.pinned.inside(*from as Pointer, *bytes)?;
                // SAFETY: both exist.
                unsafe { (*to as *mut u8).copy_from(*from as *const u8, *bytes) };
            }
            Work::Download { to, bytes, from } => {
                self.memory.is_written(*from, *bytes)?;
                // SAFETY: the device memory exists, and the caller of the copy guaranteed that the host memory does.
                unsafe { (*to as *mut u8).copy_from(*from as *const u8, *bytes) };
            }
            Work::Fill {
                memory,
                byte,
                bytes,
            } => {
                self.memory.inside(*memory, *bytes)?;
                // SAFETY: the memory exists.
                unsafe { (*memory as *mut u8).write_bytes(*byte, *bytes) };
            }
            Work::Launch {
                function,
                shape,
                argument,
            } => {
                let kernel = &self.kernels[function.0 as usize];
                let library = named(&mut self.modules, kernel.module.0, "module")?;
                // SAFETY: the kernel belongs to this library; the caller of the launch guaranteed the rest.
                let result = unsafe { library.run(kernel.address, *shape, argument) };
                let result = result.and_then(|()| self.memory.check_all());
                let threads = shape.threads.iter().product();
                if let Some(cost) = self.cost {
                    self.late += cost(&kernel.name, threads);
                }
                self.log.launches.push((kernel.name.clone(), threads));
                result.map_err(|error| wrong(format!("kernel {}: {error}", kernel.name)))?;
            }
            Work::Multiply(product) => {
                // SAFETY: the caller of the product guaranteed that the memory exists; it is also checked.
                unsafe {
                    match product.double {
                        true => multiply::<f64>(&self.memory, product)?,
                        false => multiply::<f32>(&self.memory, product)?,
                    }
                }
            }
            Work::Record { event, number } => {
                // The event may have been released or recorded elsewhere since.
                if let Some(Some(point)) = self.points.get_mut(event.0 as usize)
                    && point.at.is_some_and(|(_, last)| last == *number)
                {
                    point.passed = Some(Instant::now() + self.late);
                }
            }
            Work::Wait { stream, number } => {
                self.log.waits += 1;
                if self.queues[stream.0 as usize].is_some() {
                    self.run(*stream, *number)?;
                }
            }
            Work::Graph(works) => {
                self.log.graphs += 1;
                works.iter().try_for_each(|work| self.perform(work))?;
            }
        }
        Ok(())
    }
}

/// Computes a matrix product with plain loops.
///
/// # Safety
/// The matrices of the product lie within the memory.
unsafe fn multiply<T>(memory: &Memory, product: &Product) -> Result<()>
where
    T: Copy + Default + std::ops::Mul<Output = T> + std::ops::AddAssign,
{
    let size = size_of::<T>() as u64;
    let Product {
        rows,
        columns,
        inner,
        ..
    } = *product;
    let at = |(start, column, matrix): (Pointer, u32, u64), k: u32, i: u32, j: u32| {
        let number = u64::from(k) * matrix + u64::from(j) * u64::from(column) + u64::from(i);
        start + number * size
    };
    let read = |pointer: Pointer| {
        memory.is_written(pointer, size as usize)?;
        // SAFETY: the element lies within the memory.
        Ok::<T, Error>(unsafe { (pointer as *const T).read() })
    };
    for k in 0..product.count {
        for j in 0..columns {
            for i in 0..rows {
                let mut sum = T::default();
                for l in 0..inner {
                    sum += read(at(product.a, k, i, l))? * read(at(product.b, k, l, j))?;
                }
                let to = at(product.c, k, i, j);
                memory.inside(to, size as usize)?;
                // SAFETY: the element lies within the memory.
                unsafe { (to as *mut T).write(sum) };
            }
        }
    }
    Ok(())
}

// SAFETY: lists only grow, so no index is returned twice; each piece of pinned memory is a separate allocation filled
// with zeros.
unsafe impl Driver for Emulator {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(usize, usize)> {
        Ok((
            self.total - self.called("memory").memory.taken(),
            self.total,
        ))
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let mut state = self.called("allocate");
        let free = self
            .total
            .saturating_sub(state.memory.taken() + state.others);
        if bytes > free {
            return Err(Error::GpuMemory {
                what: format!("{bytes} bytes"),
                free,
                total: self.total,
            });
        }
        Ok(state.memory.allocate(bytes))
    }

    unsafe fn free(&self, memory: Pointer) {
        let mut state = self.called("free");
        // Like CUDA, wait for all work.
        insist(state.run_all());
        insist(state.memory.free(memory));
    }

    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>> {
        library::compile(
            source,
            options,
            self.folder.path(),
            &self.compiler,
            self.device_compiler,
        )
    }

    fn compiler(&self) -> Result<String> {
        Ok(format!("{} for tests", self.compiler.display()))
    }

    fn load(&self, image: &[u8]) -> Result<RawModule> {
        let mut state = self.called("load");
        // A unique name: otherwise the system would return the library already loaded.
        state.loads += 1;
        let path = self.folder.path().join(format!("{}.so", state.loads));
        std::fs::write(&path, image).map_err(Error::io(&path))?;
        let library = Library::open(&path)?;
        Ok(RawModule(add(&mut state.modules, library)))
    }

    unsafe fn unload(&self, module: RawModule) {
        let mut state = self.called("unload");
        insist(state.run_all());
        insist(take(&mut state.modules, module.0, "module"));
    }

    unsafe fn function(
        &self,
        module: RawModule,
        name: &str,
        shared: usize,
    ) -> Result<(RawFunction, Option<usize>)> {
        let mut state = self.called("function");
        if shared > SHARED {
            return Err(wrong(format!(
                "{name} requests {shared} bytes of shared memory"
            )));
        }
        let address = named(&mut state.modules, module.0, "module")?.kernel(name)?;
        state.kernels.push(Kernel {
            module,
            name: name.to_owned(),
            address,
            shared,
        });
        Ok((RawFunction(state.kernels.len() as u64 - 1), None))
    }

    unsafe fn usage(&self, _: RawFunction) -> Result<Usage> {
        Ok(Usage {
            registers: 64,
            local: 0,
            shared: 0,
            threads: 1024,
        })
    }

    unsafe fn occupancy(&self, _: RawFunction, threads: u32, shared: usize) -> Result<u32> {
        let by_shared = (SHARED + 1024) / (shared + 1024);
        Ok((1024 / threads.max(1)).min(by_shared as u32))
    }

    fn create_stream(&self) -> Result<RawStream> {
        let mut state = self.called("create_stream");
        Ok(RawStream(add(&mut state.queues, Queue::default())))
    }

    fn default_stream(&self) -> RawStream {
        RawStream(0)
    }

    fn reaches(&self, memory: Pointer) -> Result<bool> {
        Ok(self.called("reaches").memory.inside(memory, 1).is_ok())
    }

    unsafe fn destroy_stream(&self, stream: RawStream) {
        let mut state = self.called("destroy_stream");
        let until = named(&mut state.queues, stream.0, "stream").map(|queue| queue.put);
        insist(until.and_then(|until| state.run(stream, until)));
        insist(take(&mut state.queues, stream.0, "stream"));
    }

    unsafe fn upload(&self, stream: RawStream, to: Pointer, from: &[u8]) -> Result<()> {
        let mut state = self.called("upload");
        state.memory.inside(to, from.len())?;
        let address = from.as_ptr() as usize;
        if state.pinned.inside(address as Pointer, from.len()).is_ok() {
            let (from, bytes) = (address, from.len());
            return state.put(stream, Work::UploadPinned { to, from, bytes });
        }
        if state.recordings.has(stream) {
            return Err(wrong(
                "a copy from memory that is not pinned is recorded; it would be read when the \
                 recording is played"
                    .to_owned(),
            ));
        }
        let bytes = from.into();
        let from = address;
        state.put(stream, Work::Upload { to, from, bytes })
    }

    unsafe fn download(&self, stream: RawStream, to: &mut [u8], from: Pointer) -> Result<()> {
        let mut state = self.called("download");
        let (to, bytes) = (to.as_mut_ptr() as usize, to.len());
        state.memory.inside(from, bytes)?;
        if state.recordings.has(stream) {
            state.pinned.inside(to as Pointer, bytes)?;
        }
        state.put(stream, Work::Download { to, bytes, from })
    }

    unsafe fn fill(
        &self,
        stream: RawStream,
        memory: Pointer,
        byte: u8,
        bytes: usize,
    ) -> Result<()> {
        let mut state = self.called("fill");
        state.memory.inside(memory, bytes)?;
        let work = Work::Fill {
            memory,
            byte,
            bytes,
        };
        state.put(stream, work)
    }

    unsafe fn launch(
        &self,
        stream: RawStream,
        function: RawFunction,
        shape: Shape,
        argument: &[u8],
    ) -> Result<()> {
        let mut state = self.called("launch");
        if let Some(left) = &mut state.panics {
            if *left == 0 {
                state.panics = None;
                panic!("expected");
            }
            *left -= 1;
        }
        let kernel = state.kernels.get(function.0 as usize);
        let kernel = kernel.ok_or_else(|| wrong(format!("there is no {function:?}")))?;
        let refuse = |what: &str| Err(wrong(format!("kernel {}: {what}", kernel.name)));
        let [x, y, z] = shape.blocks;
        if x > i32::MAX as u32 || y > 65_535 || z > 65_535 {
            return refuse(&format!("a grid of {x} x {y} x {z} blocks"));
        }
        let threads: u64 = shape.threads.iter().map(|&n| u64::from(n)).product();
        if !(1..=1024).contains(&threads) || shape.threads[2] > 64 {
            return refuse(&format!("a block of {:?} threads", shape.threads));
        }
        if shape.shared as usize > kernel.shared.max(49_152) {
            return refuse(&format!(
                "{} bytes of shared memory; {} were requested of function()",
                shape.shared, kernel.shared
            ));
        }
        // Copied to words, so that the structure is aligned.
        let words = argument.chunks(8).map(|some| {
            let mut word = [0; 8];
            word[..some.len()].copy_from_slice(some);
            u64::from_ne_bytes(word)
        });
        let work = Work::Launch {
            function,
            shape,
            argument: words.collect(),
        };
        state.put(stream, work)
    }

    unsafe fn synchronize(&self, stream: RawStream) -> Result<()> {
        let mut state = self.called("synchronize");
        if state.recordings.has(stream) {
            return Err(wrong("a queue that is recorded is waited for".to_owned()));
        }
        let until = named(&mut state.queues, stream.0, "stream")?.put;
        state.run(stream, until)
    }

    fn create_event(&self) -> Result<RawEvent> {
        let mut state = self.called("create_event");
        Ok(RawEvent(add(&mut state.points, Point::default())))
    }

    unsafe fn destroy_event(&self, event: RawEvent) {
        let mut state = self.called("destroy_event");
        insist(take(&mut state.points, event.0, "event"));
    }

    unsafe fn record(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        let state = &mut *self.called("record");
        let point = named(&mut state.points, event.0, "event")?;
        if state.recordings.record(stream, point) {
            return Ok(());
        }
        let number = named(&mut state.queues, stream.0, "stream")?.put + 1;
        (point.at, point.passed) = (Some((stream, number)), None);
        state.put(stream, Work::Record { event, number })
    }

    unsafe fn wait(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        let state = &mut *self.called("wait");
        named(&mut state.queues, stream.0, "stream")?;
        let point = named(&mut state.points, event.0, "event")?;
        if state.recordings.wait(stream, point)? {
            return Ok(());
        }
        match point.at {
            Some((stream_before, number)) => state.put(
                stream,
                Work::Wait {
                    stream: stream_before,
                    number,
                },
            ),
            None => Ok(()),
        }
    }

    unsafe fn seconds(&self, from: RawEvent, to: RawEvent) -> Result<f64> {
        let mut state = self.called("seconds");
        let mut passed = |event: RawEvent| {
            let point = named(&mut state.points, event.0, "event")?;
            let when = point.passed;
            when.ok_or_else(|| wrong(format!("{event:?} has not been passed")))
        };
        let (from, to) = (passed(from)?, passed(to)?);
        Ok(to.saturating_duration_since(from).as_secs_f64())
    }

    unsafe fn begin_graph(&self, stream: RawStream) -> Result<()> {
        let mut state = self.called("begin_graph");
        named(&mut state.queues, stream.0, "stream")?;
        state.recordings.begin(stream)
    }

    unsafe fn end_graph(&self, stream: RawStream) -> Result<RawGraph> {
        let mut state = self.called("end_graph");
        let works = state.recordings.end(stream)?;
        Ok(RawGraph(add(&mut state.graphs, Arc::new(works))))
    }

    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()> {
        let mut state = self.called("launch_graph");
        let works = named(&mut state.graphs, graph.0, "graph")?.clone();
        state.put(stream, Work::Graph(works))
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        let mut state = self.called("destroy_graph");
        insist(take(&mut state.graphs, graph.0, "graph"));
    }

    fn pin(&self, bytes: usize) -> Result<*mut u8> {
        let pointer = self.called("pin").pinned.allocate(bytes) as *mut u8;
        // SAFETY: the memory was just allocated.
        unsafe { pointer.write_bytes(0, bytes) };
        Ok(pointer)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) {
        let mut state = self.called("free_pinned");
        insist(state.run_all());
        insist(state.pinned.free(memory as Pointer));
    }

    unsafe fn create_blas(&self, stream: RawStream) -> Result<RawBlas> {
        let mut state = self.called("create_blas");
        Ok(RawBlas {
            handle: add(&mut state.products, stream),
            workspace: 0,
        })
    }

    unsafe fn destroy_blas(&self, blas: RawBlas) {
        let mut state = self.called("destroy_blas");
        insist(take(&mut state.products, blas.handle, "cuBLAS"));
    }

    unsafe fn multiply(&self, blas: RawBlas, product: Product) -> Result<()> {
        let mut state = self.called("multiply");
        let stream = *named(&mut state.products, blas.handle, "cuBLAS")?;
        state.put(stream, Work::Multiply(product))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let state = self.state();
        let queues = state.queues.iter().flatten().count();
        let left = [
            (state.memory.pieces(), "pieces of memory"),
            (state.pinned.pieces(), "pieces of pinned memory"),
            (state.modules.iter().flatten().count(), "programs"),
            // The default queue belongs to no handle.
            (queues - 1, "queues"),
            (state.products.iter().flatten().count(), "handles of cuBLAS"),
            (state.points.iter().flatten().count(), "events"),
            (state.graphs.iter().flatten().count(), "recordings"),
        ];
        drop(state);
        for (count, what) in left {
            if count > 0 {
                let what = format!("{count} {what} were not given back");
                insist::<()>(Err(wrong(what)));
            }
        }
    }
}
