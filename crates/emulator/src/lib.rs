//! A stand-in for a GPU in tests: device code compiled for the CPU by the machine's C++ compiler.
//!
//! It is stricter than a GPU: fresh memory and shared memory hold NaN, which is found where it is copied to the host or
//! multiplied, writing next to what was allocated is found after each kernel, and work is done only when somebody waits for it, copies included. The threads of a block take turns at
//! barriers, so that a missing one is found.

mod library;
mod memory;
mod queue;

use library::Library;
use mebridge_driver::{
    Architecture, Driver, EventId, Function, GraphId, ModuleId, Pointer, Product, Properties,
    Shape, StreamId, Usage,
};
use mebridge_support::error::{Error, Result};
use mebridge_testing::compiler::cxx_compiler;
use memory::{Memory, wrong};
use queue::{Point, Queue, Recordings, Work};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of shared memory of a block, as host.h has them.
const SHARED: usize = 232_448;

/// Compiles device code, with its options, for a real GPU as well, and fails where that fails.
pub type DeviceCompiler = fn(&str, &[String]) -> Result<()>;

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
    module: ModuleId,
    name: String,
    address: usize,
    shared: usize,
}

#[derive(Default)]
struct State {
    memory: Memory,
    pinned: Memory,
    loads: usize,
    modules: Vec<Option<Library>>,
    kernels: Vec<Kernel>,
    queues: Vec<Option<Queue>>,
    points: Vec<Option<Point>>,
    graphs: Vec<Option<Arc<Vec<Work>>>>,
    recordings: Recordings,
    /// The default queue, once somebody asked for it, and those of callers.
    default: Option<StreamId>,
    borrowed: Vec<StreamId>,
    log: Log,
    cost: Option<Cost>,
    /// How much later it is than by the clock of the machine.
    late: Duration,
    /// The launch from here on, counted from 0, that panics.
    panics: Option<usize>,
    /// Bytes that others have taken since the free ones were counted.
    others: usize,
}

/// How long a launch of a kernel takes with so many threads in a block.
pub type Cost = fn(&str, u32) -> Duration;

/// What was done.
#[derive(Default)]
pub struct Log {
    /// Calls of [`Driver`], by their names.
    pub calls: BTreeMap<&'static str, usize>,
    /// Kernels, with threads of a block.
    pub launches: Vec<(String, u32)>,
    /// Recordings that were played.
    pub graphs: usize,
    /// Queues that waited for a point in another.
    pub waits: usize,
}

/// What a number names in a list.
fn named<'a, T>(list: &'a mut [Option<T>], index: usize, what: &str) -> Result<&'a mut T> {
    let entry = list.get_mut(index).and_then(Option::as_mut);
    entry.ok_or_else(|| wrong(format!("there is no {what} {index}")))
}

/// For what cannot give an error: stops the test, if it has not stopped already.
fn insist<T>(result: Result<T>) {
    if let Err(error) = result {
        match std::thread::panicking() {
            true => eprintln!("{error}"),
            false => panic!("{error}"),
        }
    }
}

impl Emulator {
    /// With 4 GiB of memory; `None`, and a line that says so, if the machine has no C++ compiler.
    pub fn new(device_compiler: DeviceCompiler) -> Option<Arc<Emulator>> {
        Emulator::with_memory(4 << 30, device_compiler)
    }

    /// With so many bytes of memory.
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
                // So few that few events fill it.
                processors: 1,
                clock: 1e9,
                shared_per_block: SHARED,
                shared_per_processor: SHARED + 1024,
                cache: 1 << 20,
                bandwidth: 1e10,
            },
            total,
            state: Mutex::default(),
        }))
    }

    /// What has been done since this was asked last.
    pub fn take_log(&self) -> Log {
        std::mem::take(&mut self.state().log)
    }

    /// Clocks tell from now on that launches take so much longer.
    pub fn set_cost(&self, cost: Cost) {
        self.state().cost = Some(cost);
    }

    /// From now on so many of the bytes that are said to be free are refused: others took them in between.
    pub fn taken_by_others(&self, bytes: usize) {
        self.state().others = bytes;
    }

    /// The launch after so many others panics.
    pub fn panic_after(&self, launches: usize) {
        self.state().panics = Some(launches);
    }

    /// Whether no work waits to be done.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state
            .queues
            .iter()
            .flatten()
            .all(|queue| queue.waiting.is_empty())
    }

    /// Recordings that are kept.
    pub fn kept_graphs(&self) -> usize {
        self.state().graphs.iter().flatten().count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a call of [`Driver`] works on; the call is counted.
    fn called(&self, call: &'static str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        *state.log.calls.entry(call).or_default() += 1;
        state
    }
}

impl State {
    /// Asks for work.
    fn put(&mut self, stream: StreamId, work: Work) -> Result<()> {
        let queue = named(&mut self.queues, stream.0, "stream")?;
        if let Some(work) = self.recordings.put(stream, work) {
            queue.waiting.push_back(work);
            queue.put += 1;
        }
        Ok(())
    }

    /// Does the work of a queue until so many things have been done.
    fn run(&mut self, stream: StreamId, until: u64) -> Result<()> {
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

    /// Does all work.
    fn run_all(&mut self) -> Result<()> {
        for i in 0..self.queues.len() {
            if let Some(until) = self.queues[i].as_ref().map(|queue| queue.put) {
                self.run(StreamId(i), until)?;
            }
        }
        Ok(())
    }

    fn perform(&mut self, work: &Work) -> Result<()> {
        match work {
            Work::Upload { to, from, bytes } => {
                self.memory.inside(*to, bytes.len())?;
                // SAFETY: whoever asked promised that the bytes are there.
                let now = unsafe { std::slice::from_raw_parts(*from as *const u8, bytes.len()) };
                if *now != **bytes {
                    return Err(wrong(
                        "bytes that are copied have changed before they were read".to_owned(),
                    ));
                }
                // SAFETY: the memory is there.
                unsafe { (*to as *mut u8).copy_from(now.as_ptr(), now.len()) };
            }
            Work::UploadPinned { to, from, bytes } => {
                self.memory.inside(*to, *bytes)?;
                self.pinned.inside(*from as Pointer, *bytes)?;
                // SAFETY: both are there.
                unsafe { (*to as *mut u8).copy_from(*from as *const u8, *bytes) };
            }
            Work::Download { to, bytes, from } => {
                self.memory.is_written(*from, *bytes)?;
                // SAFETY: the memory is there, and whoever asked promised that the other is.
                unsafe { (*to as *mut u8).copy_from(*from as *const u8, *bytes) };
            }
            Work::Fill {
                memory,
                byte,
                bytes,
            } => {
                self.memory.inside(*memory, *bytes)?;
                // SAFETY: the memory is there.
                unsafe { (*memory as *mut u8).write_bytes(*byte, *bytes) };
            }
            Work::Launch {
                function,
                shape,
                arguments,
            } => {
                let kernel = &self.kernels[*function];
                let library = named(&mut self.modules, kernel.module.0, "module")?;
                // SAFETY: the kernel is of this library; whoever launched it promised the rest.
                let result = unsafe { library.run(kernel.address, *shape, arguments) };
                let result = result.and_then(|()| self.memory.check_all());
                let threads = shape.threads.iter().product();
                if let Some(cost) = self.cost {
                    self.late += cost(&kernel.name, threads);
                }
                self.log.launches.push((kernel.name.clone(), threads));
                result.map_err(|error| wrong(format!("kernel {}: {error}", kernel.name)))?;
            }
            Work::Multiply(product) => {
                // SAFETY: whoever asked promised that the memory is there; it is checked as well.
                unsafe {
                    match product.double {
                        true => multiply::<f64>(&self.memory, product)?,
                        false => multiply::<f32>(&self.memory, product)?,
                    }
                }
            }
            Work::Record { event, number } => {
                // It may have been given back, or put elsewhere since.
                if let Some(Some(point)) = self.points.get_mut(event.0)
                    && point.at.is_some_and(|(_, last)| last == *number)
                {
                    point.passed = Some(Instant::now() + self.late);
                }
            }
            Work::Wait { stream, number } => {
                self.log.waits += 1;
                if self.queues[stream.0].is_some() {
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

/// Plain loops.
///
/// # Safety
/// The memory holds the product.
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
        // SAFETY: it lies within the memory.
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
                // SAFETY: it lies within the memory.
                unsafe { (to as *mut T).write(sum) };
            }
        }
    }
    Ok(())
}

// SAFETY: pinned memory is a piece of its own, which is filled with zeros.
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
        // As CUDA does: it waits for all work.
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

    fn load(&self, image: &[u8]) -> Result<ModuleId> {
        let mut state = self.called("load");
        // A name of its own, or the system would give the library that it has already.
        state.loads += 1;
        let path = self.folder.path().join(format!("{}.so", state.loads));
        std::fs::write(&path, image).map_err(Error::io(&path))?;
        let library = Library::open(&path)?;
        state.modules.push(Some(library));
        Ok(ModuleId(state.modules.len() - 1))
    }

    fn unload(&self, module: ModuleId) {
        let mut state = self.called("unload");
        insist(state.run_all());
        state.modules[module.0] = None;
    }

    fn function(&self, module: ModuleId, name: &str, shared: usize) -> Result<Function> {
        let mut state = self.called("function");
        if shared > SHARED {
            return Err(wrong(format!(
                "{name} asks for {shared} bytes of shared memory"
            )));
        }
        let address = named(&mut state.modules, module.0, "module")?.kernel(name)?;
        state.kernels.push(Kernel {
            module,
            name: name.to_owned(),
            address,
            shared,
        });
        Ok(Function(state.kernels.len() - 1))
    }

    fn usage(&self, _: Function) -> Result<Usage> {
        Ok(Usage {
            registers: 64,
            local: 0,
            shared: 0,
            threads: 1024,
        })
    }

    fn occupancy(&self, _: Function, threads: u32, shared: usize) -> Result<u32> {
        let by_shared = (SHARED + 1024) / (shared + 1024);
        Ok((1024 / threads.max(1)).min(by_shared as u32))
    }

    fn stream(&self) -> Result<StreamId> {
        let mut state = self.called("stream");
        state.queues.push(Some(Queue::default()));
        Ok(StreamId(state.queues.len() - 1))
    }

    /// Callers name queues by their numbers, counted from 1.
    unsafe fn stream_of(&self, raw: u64) -> Result<StreamId> {
        let mut state = self.called("stream_of");
        let stream = match (raw, state.default) {
            (0, Some(default)) => default,
            (0, None) => {
                state.queues.push(Some(Queue::default()));
                let default = StreamId(state.queues.len() - 1);
                state.default = Some(default);
                default
            }
            _ => StreamId(raw as usize - 1),
        };
        named(&mut state.queues, stream.0, "stream")?;
        state.borrowed.push(stream);
        Ok(stream)
    }

    fn raw_stream(&self, stream: StreamId) -> Result<u64> {
        named(&mut self.called("raw_stream").queues, stream.0, "stream")?;
        Ok(stream.0 as u64 + 1)
    }

    fn reaches(&self, memory: Pointer) -> Result<bool> {
        Ok(self.called("reaches").memory.inside(memory, 1).is_ok())
    }

    fn drop_stream(&self, stream: StreamId) {
        let mut state = self.called("drop_stream");
        if let Some(i) = state.borrowed.iter().position(|&s| s == stream) {
            state.borrowed.remove(i);
            return;
        }
        let until = named(&mut state.queues, stream.0, "stream").map(|queue| queue.put);
        insist(until.and_then(|until| state.run(stream, until)));
        state.queues[stream.0] = None;
    }

    unsafe fn upload(&self, stream: StreamId, to: Pointer, from: &[u8]) -> Result<()> {
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

    unsafe fn download(&self, stream: StreamId, to: &mut [u8], from: Pointer) -> Result<()> {
        let mut state = self.called("download");
        let (to, bytes) = (to.as_mut_ptr() as usize, to.len());
        state.memory.inside(from, bytes)?;
        if state.recordings.has(stream) {
            state.pinned.inside(to as Pointer, bytes)?;
        }
        state.put(stream, Work::Download { to, bytes, from })
    }

    unsafe fn fill(&self, stream: StreamId, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
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
        stream: StreamId,
        function: Function,
        shape: Shape,
        arguments: &[u8],
    ) -> Result<()> {
        let mut state = self.called("launch");
        if let Some(left) = &mut state.panics {
            if *left == 0 {
                state.panics = None;
                panic!("expected");
            }
            *left -= 1;
        }
        let kernel = state.kernels.get(function.0);
        let kernel = kernel.ok_or_else(|| wrong(format!("there is no {function:?}")))?;
        let refuse = |what: &str| Err(wrong(format!("kernel {}: {what}", kernel.name)));
        let [x, y, z] = shape.blocks;
        if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 65_535 || z > 65_535 {
            return refuse(&format!("a grid of {x} x {y} x {z} blocks"));
        }
        let threads: u64 = shape.threads.iter().map(|&n| u64::from(n)).product();
        if !(1..=1024).contains(&threads) || shape.threads[2] > 64 {
            return refuse(&format!("a block of {:?} threads", shape.threads));
        }
        if shape.shared as usize > kernel.shared.max(49_152) {
            return refuse(&format!(
                "{} bytes of shared memory; function() was asked for {}",
                shape.shared, kernel.shared
            ));
        }
        // In words, so that the structure lies where its alignment asks for.
        let words = arguments.chunks(8).map(|some| {
            let mut word = [0; 8];
            word[..some.len()].copy_from_slice(some);
            u64::from_ne_bytes(word)
        });
        let work = Work::Launch {
            function: function.0,
            shape,
            arguments: words.collect(),
        };
        state.put(stream, work)
    }

    fn synchronize(&self, stream: StreamId) -> Result<()> {
        let mut state = self.called("synchronize");
        if state.recordings.has(stream) {
            return Err(wrong("a queue that is recorded is waited for".to_owned()));
        }
        let until = named(&mut state.queues, stream.0, "stream")?.put;
        state.run(stream, until)
    }

    fn event(&self) -> Result<EventId> {
        let mut state = self.called("event");
        state.points.push(Some(Point::default()));
        Ok(EventId(state.points.len() - 1))
    }

    fn drop_event(&self, event: EventId) {
        let mut state = self.called("drop_event");
        insist(named(&mut state.points, event.0, "event"));
        state.points[event.0] = None;
    }

    fn record(&self, stream: StreamId, event: EventId) -> Result<()> {
        let state = &mut *self.called("record");
        let point = named(&mut state.points, event.0, "event")?;
        if state.recordings.record(stream, point) {
            return Ok(());
        }
        let number = named(&mut state.queues, stream.0, "stream")?.put + 1;
        (point.at, point.passed) = (Some((stream, number)), None);
        state.put(stream, Work::Record { event, number })
    }

    fn wait(&self, stream: StreamId, event: EventId) -> Result<()> {
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

    fn seconds(&self, from: EventId, to: EventId) -> Result<f64> {
        let mut state = self.called("seconds");
        let mut passed = |event: EventId| {
            let point = named(&mut state.points, event.0, "event")?;
            let when = point.passed;
            when.ok_or_else(|| wrong(format!("{event:?} has not been passed")))
        };
        let (from, to) = (passed(from)?, passed(to)?);
        Ok(to.saturating_duration_since(from).as_secs_f64())
    }

    fn begin_graph(&self, stream: StreamId) -> Result<()> {
        let mut state = self.called("begin_graph");
        named(&mut state.queues, stream.0, "stream")?;
        state.recordings.begin(stream)
    }

    fn end_graph(&self, stream: StreamId) -> Result<GraphId> {
        let mut state = self.called("end_graph");
        let works = state.recordings.end(stream)?;
        state.graphs.push(Some(Arc::new(works)));
        Ok(GraphId(state.graphs.len() - 1))
    }

    unsafe fn launch_graph(&self, stream: StreamId, graph: GraphId) -> Result<()> {
        let mut state = self.called("launch_graph");
        let works = named(&mut state.graphs, graph.0, "graph")?.clone();
        state.put(stream, Work::Graph(works))
    }

    fn drop_graph(&self, graph: GraphId) {
        let mut state = self.called("drop_graph");
        insist(named(&mut state.graphs, graph.0, "graph"));
        state.graphs[graph.0] = None;
    }

    fn pin(&self, bytes: usize) -> Result<*mut u8> {
        let pointer = self.called("pin").pinned.allocate(bytes) as *mut u8;
        // SAFETY: it was just taken.
        unsafe { pointer.write_bytes(0, bytes) };
        Ok(pointer)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) {
        let mut state = self.called("free_pinned");
        insist(state.run_all());
        insist(state.pinned.free(memory as Pointer));
    }

    unsafe fn multiply(&self, stream: StreamId, product: Product) -> Result<()> {
        self.called("multiply").put(stream, Work::Multiply(product))
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
            // The default queue is nobody's.
            (queues - usize::from(state.default.is_some()), "queues"),
            (state.borrowed.len(), "queues of callers"),
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
