//! NVIDIA GPUs, through the driver's own interface.
//!
//! | module | what it knows |
//! |---|---|
//! | `context` | whether there is a driver, and the context of a GPU |
//! | `library` | where the libraries of the CUDA toolkit are |
//! | `nvrtc` | the compiler of device code |
//! | `cublas` | products of matrices |
//! | `table` | things that are named by numbers |
//!
//! Nothing happens before it is asked for: a program that opens no GPU loads no library of CUDA's. No
//! setting of the GPU is changed, and its memory is taken plainly.

mod context;
mod cublas;
mod library;
mod nvrtc;
mod table;

pub use context::{current, devices};
pub use library::FOLDER;

use super::driver::{
    Driver, Event, Function, Graph, Module, Pointer, Product, Properties, Shape, Stream, Usage,
};
use context::{Context, check, refused};
use cublas::Blas;
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUevent, CUfunction, CUfunction_attribute as Of,
    CUgraphExec, CUmodule, CUresult, CUstream,
};
use mebridge_support::error::{Error, Result};
use nvrtc::Nvrtc;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex};
use table::Table;

/// Shared memory that a block has without asking.
const SHARED_UNASKED: usize = 48 << 10;

/// Compiles device code for a GPU, `sm_90` or the like, without one: NVRTC alone is needed.
pub fn compile_for(architecture: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
    Nvrtc::get(None)?.compile(architecture, source, options)
}

/// A GPU.
pub struct Cuda {
    properties: Properties,
    /// Major and minor version of CUDA that the driver serves.
    driver: (u32, u32),
    modules: Table<LoadedModule>,
    functions: Table<LoadedFunction>,
    streams: Table<OpenStream>,
    events: Table<OpenEvent>,
    graphs: Table<OpenGraph>,
    context: Arc<Context>,
}

struct LoadedModule {
    raw: CUmodule,
    context: Arc<Context>,
}

struct LoadedFunction {
    raw: CUfunction,
    module: Arc<LoadedModule>,
}

struct OpenStream {
    raw: CUstream,
    /// Whether it is a caller's.
    borrowed: bool,
    blas: Mutex<Option<Blas>>,
    context: Arc<Context>,
}

struct OpenEvent {
    raw: CUevent,
    context: Arc<Context>,
}

struct OpenGraph {
    /// One launch at a time.
    raw: Mutex<CUgraphExec>,
    context: Arc<Context>,
}

/// Handles of CUDA: they may be used from any thread, and are given back when they are dropped.
macro_rules! handles {
    ($($name:ident: $this:ident => $drop:expr;)*) => {$(
        // SAFETY: CUDA's handles may be used from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above; where only one thread may work at a time there is a mutex.
        unsafe impl Sync for $name {}
        impl Drop for $name {
            fn drop(&mut self) {
                let $this = self;
                if let Ok(_entered) = $this.context.enter() {
                    // SAFETY: it was made by CUDA, and nobody has it any more. What it returns is
                    // of no use here.
                    let _ = unsafe { $drop };
                }
            }
        }
    )*};
}
handles! {
    LoadedModule: this => sys::cuModuleUnload(this.raw);
    OpenStream: this => match this.borrowed {
        true => CUresult::CUDA_SUCCESS,
        false => sys::cuStreamDestroy_v2(this.raw),
    };
    OpenEvent: this => sys::cuEventDestroy_v2(this.raw);
    OpenGraph: this => sys::cuGraphExecDestroy(
        *this.raw.get_mut().unwrap_or_else(|e| e.into_inner())
    );
}
// SAFETY: CUDA's handles may be used from any thread.
unsafe impl Send for LoadedFunction {}
// SAFETY: as above.
unsafe impl Sync for LoadedFunction {}

impl Cuda {
    /// The GPU with this number, counted from 0 among those that the process sees.
    pub fn open(ordinal: usize) -> Result<Arc<dyn Driver>> {
        let context = Context::new(ordinal)?;
        let mut version = 0;
        // SAFETY: the place is there.
        check("cuDriverGetVersion", unsafe {
            sys::cuDriverGetVersion(&mut version)
        })?;
        let version = version.unsigned_abs();
        Ok(Arc::new(Cuda {
            properties: properties(&context)?,
            driver: (version / 1000, version % 1000 / 10),
            modules: Table::new("module"),
            functions: Table::new("function"),
            streams: Table::new("stream"),
            events: Table::new("event"),
            graphs: Table::new("graph"),
            context,
        }))
    }

    /// Compiler and target for this GPU.
    fn target(&self) -> Result<(&'static Nvrtc, String)> {
        let nvrtc = Nvrtc::get(Some(self.driver.0))?;
        let target = nvrtc.target(self.properties.capability)?;
        Ok((nvrtc, target))
    }
}

fn properties(context: &Context) -> Result<Properties> {
    let get = |attribute: Attribute| {
        let mut value = 0;
        // SAFETY: the place is there, and so is the device.
        check("cuDeviceGetAttribute", unsafe {
            sys::cuDeviceGetAttribute(&mut value, attribute, context.device())
        })?;
        Ok::<u32, Error>(value.unsigned_abs())
    };
    let mut name = [0; 256];
    // SAFETY: as many bytes as it is told.
    check("cuDeviceGetName", unsafe {
        sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32 - 1, context.device())
    })?;
    // SAFETY: the last byte is NUL.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    // The clocks are in kHz; memory moves twice a clock.
    let memory_clock = f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?) * 1e3;
    let bus = f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?) / 8.0;
    Ok(Properties {
        name: name.to_string_lossy().into(),
        capability: (
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
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

impl Driver for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let _entered = self.context.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the places are there.
        check("cuMemGetInfo", unsafe {
            sys::cuMemGetInfo_v2(&mut free, &mut total)
        })?;
        Ok((free, total))
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let _entered = self.context.enter()?;
        let mut memory = 0;
        // SAFETY: the place is there.
        match unsafe { sys::cuMemAlloc_v2(&mut memory, bytes.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Err(refused(format!("an allocation of {bytes} bytes")))
            }
            result => check("cuMemAlloc", result).map(|()| memory),
        }
    }

    unsafe fn free(&self, memory: Pointer) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: the caller's promise.
            unsafe { sys::cuMemFree_v2(memory) };
        }
    }

    fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>> {
        let (nvrtc, target) = self.target()?;
        nvrtc.compile(&target, source, options)
    }

    fn compiler(&self) -> Result<String> {
        let (nvrtc, target) = self.target()?;
        let (major, minor) = nvrtc.version;
        Ok(format!("NVRTC {major}.{minor} {target}"))
    }

    fn load(&self, image: &[u8]) -> Result<Module> {
        let _entered = self.context.enter()?;
        // PTX is a text that has to end; the code of a GPU says itself how long it is.
        let mut image = image.to_vec();
        image.push(0);
        let mut raw = std::ptr::null_mut();
        // SAFETY: the place is there; CUDA checks what it is given.
        let result = unsafe { sys::cuModuleLoadData(&mut raw, image.as_ptr().cast()) };
        let loaded = check("cuModuleLoadData", result).map_err(|error| match error {
            Error::GpuCall { call, what } => Error::GpuCall {
                call,
                what: format!(
                    "{what} (the driver is of CUDA {}.{}, the program of {})",
                    self.driver.0,
                    self.driver.1,
                    self.compiler().unwrap_or_else(|e| e.to_string()),
                ),
            },
            error => error,
        });
        loaded?;
        let module = self.modules.add(LoadedModule {
            raw,
            context: self.context.clone(),
        });
        Ok(Module(module))
    }

    fn unload(&self, module: Module) {
        if let Some(module) = self.modules.remove(module.0) {
            self.functions
                .retain(|function| !Arc::ptr_eq(&function.module, &module));
        }
    }

    fn function(&self, module: Module, name: &str, shared: usize) -> Result<Function> {
        const CALL: &str = "cuModuleGetFunction";
        let module = self.modules.get(module.0)?;
        let missing = |what: String| Error::GpuCall {
            call: CALL,
            what: format!("kernel {name}: {what}"),
        };
        let text = CString::new(name).map_err(|e| missing(e.to_string()))?;
        let _entered = self.context.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the place and the text are there, the module is alive.
        let result = unsafe { sys::cuModuleGetFunction(&mut raw, module.raw, text.as_ptr()) };
        if result == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(missing("the program has none of this name".into()));
        }
        check(CALL, result)?;
        if shared > SHARED_UNASKED {
            let most = self.properties.shared_per_block;
            let bytes = i32::try_from(shared)
                .ok()
                .filter(|_| shared <= most)
                .ok_or_else(|| {
                    missing(format!(
                        "{shared} bytes of shared memory, and the GPU gives a block {most}"
                    ))
                })?;
            let attribute = Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is there.
            check("cuFuncSetAttribute", unsafe {
                sys::cuFuncSetAttribute(raw, attribute, bytes)
            })?;
        }
        Ok(Function(self.functions.add(LoadedFunction { raw, module })))
    }

    fn usage(&self, function: Function) -> Result<Usage> {
        let function = self.functions.get(function.0)?;
        let _entered = self.context.enter()?;
        let get = |attribute: Of| {
            let mut value = 0;
            // SAFETY: the place is there, the function is alive.
            check("cuFuncGetAttribute", unsafe {
                sys::cuFuncGetAttribute(&mut value, attribute, function.raw)
            })?;
            Ok::<u32, Error>(value.unsigned_abs())
        };
        Ok(Usage {
            registers: get(Of::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: get(Of::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)? as usize,
            shared: get(Of::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as usize,
            threads: get(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    fn occupancy(&self, function: Function, threads: u32, shared: usize) -> Result<u32> {
        let function = self.functions.get(function.0)?;
        let _entered = self.context.enter()?;
        let mut blocks = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the place is there, the function is alive.
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function.raw,
                threads,
                shared,
            )
        })?;
        Ok(blocks.unsigned_abs())
    }

    fn stream(&self) -> Result<Stream> {
        let _entered = self.context.enter()?;
        let mut raw = std::ptr::null_mut();
        // Work of others in the default stream does not wait for it, nor it for that.
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the place is there.
        check("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&mut raw, flags)
        })?;
        Ok(Stream(self.streams.add(OpenStream {
            raw,
            borrowed: false,
            blas: Mutex::new(None),
            context: self.context.clone(),
        })))
    }

    unsafe fn stream_of(&self, raw: u64) -> Result<Stream> {
        // By its name, so that it is that one whatever the caller was compiled with.
        const LEGACY: u64 = 1;
        let raw = if raw == 0 { LEGACY } else { raw };
        Ok(Stream(self.streams.add(OpenStream {
            raw: raw as usize as CUstream,
            borrowed: true,
            blas: Mutex::new(None),
            context: self.context.clone(),
        })))
    }

    fn reaches(&self, memory: Pointer) -> Result<bool> {
        use sys::CUpointer_attribute as Of;
        let _entered = self.context.enter()?;
        let (mut kind, mut device) = (0u32, 0i32);
        let mut attributes = [
            Of::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Of::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut places = [(&raw mut kind).cast::<c_void>(), (&raw mut device).cast()];
        // SAFETY: a place of its type for each attribute; the address is only looked up.
        check("cuPointerGetAttributes", unsafe {
            sys::cuPointerGetAttributes(
                attributes.len() as u32,
                attributes.as_mut_ptr(),
                places.as_mut_ptr(),
                memory,
            )
        })?;
        // Of what CUDA does not know it says 0.
        Ok(match kind {
            0 => false,
            kind if kind == sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => {
                device == self.context.device()
            }
            // Pinned memory of the host.
            _ => true,
        })
    }

    fn drop_stream(&self, stream: Stream) {
        self.streams.remove(stream.0);
    }

    unsafe fn upload(&self, stream: Stream, to: Pointer, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: the caller's promise.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream.raw)
        })
    }

    unsafe fn download(&self, stream: Stream, to: &mut [u8], from: Pointer) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: the caller's promise.
        check("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream.raw)
        })
    }

    unsafe fn fill(&self, stream: Stream, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: the caller's promise.
        check("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(memory, byte, bytes, stream.raw)
        })
    }

    unsafe fn launch(
        &self,
        stream: Stream,
        function: Function,
        shape: Shape,
        arguments: &[u8],
    ) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let function = self.functions.get(function.0)?;
        let _entered = self.context.enter()?;
        // CUDA reads as many bytes as the kernel's parameter has.
        let mut places = [arguments.as_ptr().cast_mut().cast::<c_void>()];
        let ([x, y, z], [i, j, k]) = (shape.blocks, shape.threads);
        // SAFETY: the caller's promise; the arguments are only read, before it returns.
        check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
                function.raw,
                x,
                y,
                z,
                i,
                j,
                k,
                shape.shared,
                stream.raw,
                places.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }

    fn synchronize(&self, stream: Stream) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: the stream is alive.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(stream.raw)
        })
    }

    fn event(&self) -> Result<Event> {
        let _entered = self.context.enter()?;
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: the place is there.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&mut raw, flags)
        })?;
        Ok(Event(self.events.add(OpenEvent {
            raw,
            context: self.context.clone(),
        })))
    }

    fn drop_event(&self, event: Event) {
        self.events.remove(event.0);
    }

    fn record(&self, stream: Stream, event: Event) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let event = self.events.get(event.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: both are alive.
        check("cuEventRecord", unsafe {
            sys::cuEventRecord(event.raw, stream.raw)
        })
    }

    fn wait(&self, stream: Stream, event: Event) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let event = self.events.get(event.0)?;
        let _entered = self.context.enter()?;
        // SAFETY: both are alive.
        check("cuStreamWaitEvent", unsafe {
            sys::cuStreamWaitEvent(stream.raw, event.raw, 0)
        })
    }

    fn seconds(&self, from: Event, to: Event) -> Result<f64> {
        type Elapsed = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;
        const CALL: &str = "cuEventElapsedTime";
        let from = self.events.get(from.0)?;
        let to = self.events.get(to.0)?;
        let _entered = self.context.enter()?;
        let mut milliseconds = 0.0;
        // cudarc knows the second version only, which drivers before CUDA 12.8 lack.
        // SAFETY: the type is that of cuda.h; libcuda is there, and so are the events and the place.
        let result = unsafe {
            let elapsed = sys::culib().get::<Elapsed>(CALL.as_bytes());
            let elapsed = elapsed.map_err(|error| Error::GpuCall {
                call: CALL,
                what: error.to_string(),
            })?;
            elapsed(&mut milliseconds, from.raw, to.raw)
        };
        check(CALL, result)?;
        Ok(f64::from(milliseconds) * 1e-3)
    }

    fn begin_graph(&self, stream: Stream) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        // Others may allocate and load in the meantime; it is for the caller to put nothing
        // into the stream that cannot be recorded.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream.raw, mode)
        })
    }

    fn end_graph(&self, stream: Stream) -> Result<Graph> {
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        let mut graph = std::ptr::null_mut();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the places are there; the recorded graph is no longer needed once it has been
        // made ready.
        unsafe {
            check(
                "cuStreamEndCapture",
                sys::cuStreamEndCapture(stream.raw, &mut graph),
            )?;
            let ready = sys::cuGraphInstantiateWithFlags(&mut raw, graph, 0);
            sys::cuGraphDestroy(graph);
            check("cuGraphInstantiate", ready)?;
        }
        Ok(Graph(self.graphs.add(OpenGraph {
            raw: Mutex::new(raw),
            context: self.context.clone(),
        })))
    }

    unsafe fn launch_graph(&self, stream: Stream, graph: Graph) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let graph = self.graphs.get(graph.0)?;
        let _entered = self.context.enter()?;
        let raw = graph.raw.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: both are alive; the rest is the caller's promise.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(*raw, stream.raw)
        })
    }

    fn drop_graph(&self, graph: Graph) {
        self.graphs.remove(graph.0);
    }

    fn pin(&self, bytes: usize) -> Result<*mut u8> {
        let _entered = self.context.enter()?;
        let mut memory = std::ptr::null_mut();
        let bytes = bytes.max(1);
        // Pinned for all GPUs.
        // SAFETY: the place is there.
        match unsafe { sys::cuMemHostAlloc(&mut memory, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) } {
            // It is the host's memory that is too small.
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                return Err(Error::GpuCall {
                    call: "cuMemHostAlloc",
                    what: format!("the host has no {bytes} bytes of memory to pin"),
                });
            }
            result => check("cuMemHostAlloc", result)?,
        }
        // SAFETY: as many bytes as it was asked for.
        unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
        Ok(memory.cast())
    }

    unsafe fn free_pinned(&self, memory: *mut u8) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: the caller's promise.
            unsafe { sys::cuMemFreeHost(memory.cast()) };
        }
    }

    unsafe fn multiply(&self, stream: Stream, product: Product) -> Result<()> {
        let stream = self.streams.get(stream.0)?;
        let _entered = self.context.enter()?;
        let mut blas = stream.blas.lock().unwrap_or_else(|e| e.into_inner());
        let hopper = self.properties.capability.0 >= 9;
        let blas = match &mut *blas {
            Some(blas) => blas,
            empty => empty.insert(Blas::new(&self.context, stream.raw, self.driver.0, hopper)?),
        };
        // SAFETY: the caller's promise.
        unsafe { blas.multiply(&product) }
    }
}

#[cfg(test)]
mod tests;
