//! GPUs, through the driver's own interface, in three layers. They are written for CUDA; HIP's driver for AMD's GPUs has
//! the same functions by other names, so that one table of symbols serves both.
//!
//! | module | what it has |
//! |---|---|
//! | `sys` | symbols: the functions as the libraries of CUDA export them |
//! | `result` | checked results: each function with an error that names it |
//! | `safe` | safe types: context, memory, programs, streams, events, graphs, which are given back when they go |
//! | `table` | these by the numbers that [`Driver`] gives out |
//!
//! Nothing happens before it is asked for: a program that opens no GPU loads no library of CUDA's. No
//! setting of the GPU is changed, and its memory is taken plainly.

mod result;
mod safe;
mod sys;
mod table;

pub use safe::context::{current, devices};
pub use sys::Platform;
pub use sys::hip::might_be_there as amd_might_be_there;
use sys::library::FOLDER;

use super::driver::{
    Architecture, Driver, EventId, Function, GraphId, ModuleId, Pointer, Product, Properties,
    Shape, StreamId, Usage,
};
use mebridge_support::error::{Error, Result};
use rustc_hash::FxHashMap;
use safe::context::Context;
use safe::memory::{DeviceMemory, PinnedMemory, reaches};
pub(crate) use safe::nvrtc::Nvrtc;
use std::sync::{Arc, Mutex, PoisonError};
use sys::driver::CUdevice_attribute as Attribute;
use table::HandleTable;

/// Compiles device code for a GPU, `sm_90` or the like, without one: NVRTC alone is needed.
pub fn compile_for(architecture: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
    Nvrtc::get(Platform::Cuda, None)?.compile(architecture, source, options)
}

/// Where `MEBRIDGE_NVRTC` names NVRTC, has it read device code: what tests run on a stand-in is CUDA, too.
pub fn check_where_named(source: &str, options: &[String]) -> Result<()> {
    match std::env::var_os(FOLDER).is_some_and(|folder| !folder.is_empty()) {
        true => Nvrtc::get(Platform::Cuda, None)?.check("compute_80", source, options),
        false => Ok(()),
    }
}

/// A GPU.
pub struct Cuda {
    properties: Properties,
    /// Major and minor version of CUDA, or HIP, that the driver serves.
    driver: (u32, u32),
    memory: Mutex<FxHashMap<Pointer, DeviceMemory>>,
    /// By their addresses.
    pinned: Mutex<FxHashMap<usize, PinnedMemory>>,
    functions: HandleTable<safe::module::Function>,
    modules: HandleTable<safe::module::CudaModule>,
    streams: HandleTable<safe::stream::CudaStream>,
    events: HandleTable<safe::event::CudaEvent>,
    graphs: HandleTable<safe::graph::CudaGraph>,
    context: Arc<Context>,
}

impl Cuda {
    /// The GPU with this number, counted from 0 among those that the process sees.
    pub fn open(platform: Platform, ordinal: usize) -> Result<Arc<dyn Driver>> {
        Ok(Arc::new(Cuda::of(Context::new(platform, ordinal)?)?))
    }

    /// The GPU of a context.
    fn of(context: Arc<Context>) -> Result<Cuda> {
        Ok(Cuda {
            properties: properties(&context)?,
            driver: context.calls().version()?,
            memory: Mutex::default(),
            pinned: Mutex::default(),
            functions: HandleTable::new("function"),
            modules: HandleTable::new("module"),
            streams: HandleTable::new("stream"),
            events: HandleTable::new("event"),
            graphs: HandleTable::new("graph"),
            context,
        })
    }

    /// Compiler and target for this GPU.
    fn target(&self) -> Result<(&'static Nvrtc, String)> {
        let nvrtc = Nvrtc::get(self.context.calls().platform(), Some(self.driver.0))?;
        let target = nvrtc.target(&self.properties.architecture)?;
        Ok((nvrtc, target))
    }
}

fn properties(context: &Context) -> Result<Properties> {
    let (calls, device) = (context.calls(), context.device());
    let get = |attribute| calls.device_attribute(device, attribute);
    // The clocks are in kHz; memory moves twice a clock.
    let memory_clock = f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?) * 1e3;
    let bus = f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?) / 8.0;
    Ok(Properties {
        name: calls.device_name(device)?,
        architecture: calls.architecture(device)?,
        warp: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        processors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        clock: f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?) * 1e3,
        shared_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            as usize,
        shared_per_processor: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )? as usize,
        cache: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
        bandwidth: 2.0 * memory_clock * bus,
    })
}

// SAFETY: the driver pins as many bytes as it is asked for, and they are filled with zeros.
unsafe impl Driver for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(usize, usize)> {
        self.context.enter()?.calls().memory_info()
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let memory = DeviceMemory::new(&self.context, bytes)?;
        let start = memory.start();
        let mut all = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(start, memory);
        Ok(start)
    }

    unsafe fn free(&self, memory: Pointer) {
        let mut all = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = all.remove(&memory);
        // CUDA waits for the GPU, and nobody for the lock.
        drop(all);
        drop(memory);
    }

    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>> {
        let (nvrtc, target) = self.target()?;
        nvrtc.compile(&target, source, options)
    }

    fn compiler(&self) -> Result<String> {
        let (nvrtc, target) = self.target()?;
        let (major, minor) = nvrtc.version;
        Ok(format!("{} {major}.{minor} {target}", nvrtc.library()))
    }

    fn load(&self, image: &[u8]) -> Result<ModuleId> {
        let module = safe::module::CudaModule::load(&self.context, image);
        let module = module.map_err(|error| match error {
            Error::GpuCall { call, what } => Error::GpuCall {
                call,
                what: format!(
                    "{what} (the driver is of {} {}.{}, the program of {})",
                    match self.context.calls().platform() {
                        Platform::Cuda => "CUDA",
                        Platform::Hip => "HIP",
                    },
                    self.driver.0,
                    self.driver.1,
                    self.compiler().unwrap_or_else(|e| e.to_string()),
                ),
            },
            error => error,
        });
        Ok(ModuleId(self.modules.add(module?)))
    }

    fn unload(&self, module: ModuleId) {
        if let Some(module) = self.modules.remove(module.0) {
            self.functions
                .retain(|function| !Arc::ptr_eq(function.module(), &module));
        }
    }

    fn function(&self, module: ModuleId, name: &str, shared: usize) -> Result<Function> {
        let module = self.modules.get(module.0)?;
        let most = self.properties.shared_per_block;
        let function = safe::module::Function::new(&module, name, shared, most)?;
        Ok(Function(self.functions.add(function)))
    }

    fn usage(&self, function: Function) -> Result<Usage> {
        self.functions.get(function.0)?.usage()
    }

    fn occupancy(&self, function: Function, threads: u32, shared: usize) -> Result<u32> {
        self.functions.get(function.0)?.occupancy(threads, shared)
    }

    fn stream(&self) -> Result<StreamId> {
        let stream = safe::stream::CudaStream::new(&self.context)?;
        Ok(StreamId(self.streams.add(stream)))
    }

    unsafe fn stream_of(&self, raw: u64) -> Result<StreamId> {
        // SAFETY: the caller's promise.
        let stream = unsafe { safe::stream::CudaStream::of_caller(&self.context, raw) };
        Ok(StreamId(self.streams.add(stream)))
    }

    fn raw_stream(&self, stream: StreamId) -> Result<u64> {
        Ok(self.streams.get(stream.0)?.raw())
    }

    fn reaches(&self, memory: Pointer) -> Result<bool> {
        reaches(&self.context, memory)
    }

    fn drop_stream(&self, stream: StreamId) {
        self.streams.remove(stream.0);
    }

    unsafe fn upload(&self, stream: StreamId, to: Pointer, from: &[u8]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.streams.get(stream.0)?.upload(to, from) }
    }

    unsafe fn download(&self, stream: StreamId, to: &mut [u8], from: Pointer) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.streams.get(stream.0)?.download(to, from) }
    }

    unsafe fn fill(&self, stream: StreamId, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.streams.get(stream.0)?.fill(memory, byte, bytes) }
    }

    unsafe fn launch(
        &self,
        stream: StreamId,
        function: Function,
        shape: Shape,
        arguments: &[u8],
    ) -> Result<()> {
        let (stream, function) = (self.streams.get(stream.0)?, self.functions.get(function.0)?);
        // SAFETY: the caller's promise.
        unsafe { stream.launch(&function, shape, arguments) }
    }

    fn synchronize(&self, stream: StreamId) -> Result<()> {
        self.streams.get(stream.0)?.synchronize()
    }

    fn event(&self) -> Result<EventId> {
        let event = safe::event::CudaEvent::new(&self.context)?;
        Ok(EventId(self.events.add(event)))
    }

    fn drop_event(&self, event: EventId) {
        self.events.remove(event.0);
    }

    fn record(&self, stream: StreamId, event: EventId) -> Result<()> {
        (self.streams.get(stream.0)?).record(&*self.events.get(event.0)?)
    }

    fn wait(&self, stream: StreamId, event: EventId) -> Result<()> {
        (self.streams.get(stream.0)?).wait(&*self.events.get(event.0)?)
    }

    fn seconds(&self, from: EventId, to: EventId) -> Result<f64> {
        (self.events.get(from.0)?).seconds(&*self.events.get(to.0)?)
    }

    fn begin_graph(&self, stream: StreamId) -> Result<()> {
        self.streams.get(stream.0)?.begin_graph()
    }

    fn end_graph(&self, stream: StreamId) -> Result<GraphId> {
        let graph = self.streams.get(stream.0)?.end_graph()?;
        Ok(GraphId(self.graphs.add(graph)))
    }

    unsafe fn launch_graph(&self, stream: StreamId, graph: GraphId) -> Result<()> {
        let (stream, graph) = (self.streams.get(stream.0)?, self.graphs.get(graph.0)?);
        // SAFETY: the caller's promise.
        unsafe { stream.launch_graph(&graph) }
    }

    fn drop_graph(&self, graph: GraphId) {
        self.graphs.remove(graph.0);
    }

    fn pin(&self, bytes: usize) -> Result<*mut u8> {
        let memory = PinnedMemory::new(&self.context, bytes)?;
        let start = memory.start();
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(start.addr(), memory);
        Ok(start)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) {
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = all.remove(&memory.addr());
        drop(all);
        drop(memory);
    }

    unsafe fn multiply(&self, stream: StreamId, product: Product) -> Result<()> {
        let hopper = matches!(
            self.properties.architecture,
            Architecture::Capability(9.., _)
        );
        // SAFETY: the caller's promise.
        unsafe { self.streams.get(stream.0)?.multiply(&product, hopper) }
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod layers_tests;
#[cfg(test)]
mod tests;
