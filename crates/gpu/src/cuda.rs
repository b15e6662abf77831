//! Access to GPUs through the driver API. The code is written for CUDA; AMD's HIP has the same functions under other
//! names, so that one table of symbols serves both.
//!
//! | module | contents |
//! |---|---|
//! | `sys` | symbols: the functions exported by the CUDA libraries |
//! | `result` | checked calls, whose errors name the function |
//! | `context` | detection of a driver, and the context of a GPU |
//! | `nvrtc` | the compiler of device code |
//! | [`Cuda`] | a [`Driver`] built on these calls, in the context of one GPU |
//!
//! Objects of a GPU are owned by the handles of [`crate::driver`], not here. Nothing is initialised before it is
//! needed: a program that opens no GPU loads no CUDA library. No setting of the GPU is changed, and memory is allocated
//! without a pool.

mod context;
mod nvrtc;
mod result;
mod sys;

pub use context::{current, devices};
pub use sys::Platform;
pub use sys::hip::is_likely as amd_might_be_there;
use sys::library::FOLDER;

use super::driver::{
    Architecture, Driver, Pointer, Product, Properties, RawBlas, RawEvent, RawFunction, RawGraph,
    RawModule, RawStream, Shape, Usage,
};
use context::Context;
use mebridge_support::error::{Error, Result};
pub(crate) use nvrtc::Nvrtc;
use result::blas;
use result::driver::{Calls, pointer};
use std::ffi::CString;
use std::sync::Arc;
use sys::driver::{CUdevice_attribute as Attribute, CUfunction_attribute as Of, CUmemorytype};

/// CUDA's handle of the legacy default stream, independent of how the caller was compiled. HIP's is 0.
const LEGACY: u64 = 1;

/// Bytes of shared memory per block that need no opt-in.
const SHARED_WITHOUT_REQUEST: usize = 48 << 10;

/// Compiles device code for an architecture such as `sm_90`. Needs NVRTC but no GPU.
pub fn compile_for(architecture: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
    Nvrtc::get(Platform::Cuda, None)?.compile(architecture, source, options)
}

/// If `MEBRIDGE_NVRTC` names a folder, checks that the NVRTC in it accepts the device code that tests run on the
/// emulated GPU.
pub fn check_where_named(source: &str, options: &[String]) -> Result<()> {
    match std::env::var_os(FOLDER).is_some_and(|folder| !folder.is_empty()) {
        true => Nvrtc::get(Platform::Cuda, None)?.check("compute_80", source, options),
        false => Ok(()),
    }
}

/// A GPU.
pub struct Cuda {
    properties: Properties,
    /// Major and minor version of CUDA or HIP that the driver supports.
    version: (u32, u32),
    context: Context,
}

impl Cuda {
    /// Opens the GPU with this number, counted from 0 among those visible to the process.
    pub fn open(platform: Platform, ordinal: usize) -> Result<Arc<dyn Driver>> {
        let context = Context::new(platform, ordinal)?;
        Ok(Arc::new(Cuda::from_context(context)?))
    }

    /// Creates the driver for the GPU of a context.
    fn from_context(context: Context) -> Result<Cuda> {
        Ok(Cuda {
            properties: properties(&context)?,
            version: context.calls().version()?,
            context,
        })
    }

    /// Releases an object in the context. Errors are ignored: those of work that uses the object were reported when the
    /// work was waited for.
    fn give_back(&self, call: impl FnOnce(Calls) -> Result<()>) {
        if let Ok(entered) = self.context.enter() {
            let _ = call(entered.calls());
        }
    }

    /// Returns the calls of cuBLAS or hipBLAS.
    fn blas(&self) -> Result<blas::Calls> {
        blas::Calls::get(self.context.calls(), self.version.0)
    }

    /// Returns the compiler and the target for this GPU.
    fn target(&self) -> Result<(&'static Nvrtc, String)> {
        let nvrtc = Nvrtc::get(self.context.calls().platform(), Some(self.version.0))?;
        let target = nvrtc.target(&self.properties.architecture)?;
        Ok((nvrtc, target))
    }
}

fn properties(context: &Context) -> Result<Properties> {
    let (calls, device) = (context.calls(), context.device());
    let get = |attribute| calls.device_attribute(device, attribute);
    // Clock rates are in kHz; memory transfers data twice per clock.
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

// SAFETY: the driver returns each handle only once; it pins as many bytes as requested, and they are filled with zeros.
unsafe impl Driver for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(usize, usize)> {
        self.context.enter()?.calls().memory_info()
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        self.context.enter()?.calls().allocate(bytes)
    }

    unsafe fn free(&self, memory: Pointer) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.free(memory) });
    }

    fn pin(&self, bytes: usize) -> Result<*mut u8> {
        let bytes = bytes.max(1);
        let start: *mut u8 = self.context.enter()?.calls().pin(bytes)?.cast();
        // SAFETY: this many bytes were pinned.
        unsafe { start.write_bytes(0, bytes) };
        Ok(start)
    }

    unsafe fn free_pinned(&self, memory: *mut u8) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.unpin(memory.cast()) });
    }

    fn reaches(&self, memory: Pointer) -> Result<bool> {
        let (kind, device) = self.context.enter()?.calls().memory_of(memory)?;
        // CUDA reports 0 for memory that it does not know.
        Ok(match kind {
            0 => false,
            kind if kind == CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => {
                device == self.context.device()
            }
            // Pinned host memory.
            _ => true,
        })
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

    fn load(&self, image: &[u8]) -> Result<RawModule> {
        // PTX is text that must end in NUL; binary code contains its own length.
        let mut image = image.to_vec();
        image.push(0);
        let entered = self.context.enter()?;
        // SAFETY: the image ends in NUL, and CUDA checks it.
        let module = unsafe { entered.calls().load_module(image.as_ptr().cast()) };
        module.map_err(|error| match error {
            Error::GpuCall { call, what } => Error::GpuCall {
                call,
                what: format!(
                    "{what} (the driver is of {} {}.{}, the program of {})",
                    match self.context.calls().platform() {
                        Platform::Cuda => "CUDA",
                        Platform::Hip => "HIP",
                    },
                    self.version.0,
                    self.version.1,
                    self.compiler().unwrap_or_else(|e| e.to_string()),
                ),
            },
            error => error,
        })
    }

    unsafe fn unload(&self, module: RawModule) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.unload_module(module) });
    }

    /// All kernels of `cuda/` take one structure (`ARGUMENTS`) by value.
    unsafe fn function(
        &self,
        module: RawModule,
        name: &str,
        shared: usize,
    ) -> Result<(RawFunction, Option<usize>)> {
        let refused = |what: String| Error::GpuCall {
            call: (self.context.calls().platform()).name_of("cuModuleGetFunction"),
            what: format!("kernel {name}: {what}"),
        };
        let text = CString::new(name).map_err(|e| refused(e.to_string()))?;
        let entered = self.context.enter()?;
        let calls = entered.calls();
        // SAFETY: guaranteed by the caller.
        let function = unsafe { calls.function(module, &text)? }
            .ok_or_else(|| refused("the program has none of this name".into()))?;
        // SAFETY: as above.
        let argument = unsafe { calls.parameter(function) };
        if shared > SHARED_WITHOUT_REQUEST {
            let of = Of::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
            // SAFETY: as above.
            let own = unsafe { calls.function_attribute(function, of)? } as usize;
            let most = self.properties.shared_per_block.saturating_sub(own);
            let bytes = i32::try_from(most).ok().filter(|_| shared <= most);
            let bytes = bytes.ok_or_else(|| {
                refused(format!(
                    "{shared} bytes of shared memory, and the GPU gives a block {most}"
                ))
            })?;
            let attribute = Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // All that a launch may have: the kernel is one, however often it is looked up, and the next caller may
            // request less.
            // SAFETY: as above.
            unsafe { calls.set_function_attribute(function, attribute, bytes)? };
        }
        Ok((function, argument))
    }

    unsafe fn usage(&self, function: RawFunction) -> Result<Usage> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        let get = |of| unsafe { entered.calls().function_attribute(function, of) };
        Ok(Usage {
            registers: get(Of::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: get(Of::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)? as usize,
            shared: get(Of::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as usize,
            threads: get(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    unsafe fn occupancy(&self, function: RawFunction, threads: u32, shared: usize) -> Result<u32> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().occupancy(function, threads, shared) }
    }

    fn create_stream(&self) -> Result<RawStream> {
        self.context.enter()?.calls().create_stream()
    }

    fn default_stream(&self) -> RawStream {
        RawStream(match self.context.calls().platform() {
            Platform::Cuda => LEGACY,
            Platform::Hip => 0,
        })
    }

    unsafe fn destroy_stream(&self, stream: RawStream) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.destroy_stream(stream) });
    }

    unsafe fn synchronize(&self, stream: RawStream) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().synchronize(stream) }
    }

    unsafe fn upload(&self, stream: RawStream, to: Pointer, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().copy_in(to, from, stream) }
    }

    unsafe fn download(&self, stream: RawStream, to: &mut [u8], from: Pointer) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().copy_out(to, from, stream) }
    }

    unsafe fn fill(
        &self,
        stream: RawStream,
        memory: Pointer,
        byte: u8,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().fill(memory, byte, bytes, stream) }
    }

    unsafe fn launch(
        &self,
        stream: RawStream,
        function: RawFunction,
        shape: Shape,
        argument: &[u8],
    ) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().launch(function, shape, argument, stream) }
    }

    fn create_event(&self) -> Result<RawEvent> {
        self.context.enter()?.calls().create_event()
    }

    unsafe fn destroy_event(&self, event: RawEvent) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.destroy_event(event) });
    }

    unsafe fn record(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().record(event, stream) }
    }

    unsafe fn wait(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().wait(stream, event) }
    }

    unsafe fn seconds(&self, from: RawEvent, to: RawEvent) -> Result<f64> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().elapsed(from, to) }
    }

    unsafe fn begin_graph(&self, stream: RawStream) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().begin_capture(stream) }
    }

    unsafe fn end_graph(&self, stream: RawStream) -> Result<RawGraph> {
        let entered = self.context.enter()?;
        let calls = entered.calls();
        // SAFETY: guaranteed by the caller. The recorded work is destroyed after it has been instantiated.
        unsafe {
            let recorded = calls.end_capture(stream)?;
            let ready = calls.instantiate(recorded);
            let _ = calls.destroy_graph(recorded);
            ready
        }
    }

    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller.
        unsafe { entered.calls().launch_graph(graph, stream) }
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        // SAFETY: guaranteed by the caller.
        self.give_back(|calls| unsafe { calls.destroy_ready_graph(graph) });
    }

    /// The handle gets its own scratch memory, so that products allocate nothing and can be part of a graph.
    unsafe fn create_blas(&self, stream: RawStream) -> Result<RawBlas> {
        // The size recommended by the cuBLAS manual.
        let bytes = match self.properties.architecture {
            Architecture::Capability(9.., _) => 32 << 20,
            _ => 4 << 20,
        };
        let library = self.blas()?;
        let entered = self.context.enter()?;
        let mut blas = RawBlas {
            handle: library.create()? as u64,
            workspace: 0,
        };
        // SAFETY: the handle was just created, and the memory lives as long as the handle; the stream is guaranteed by
        // the caller.
        let ready = unsafe {
            let handle = pointer(blas.handle);
            library.set_stream(handle, stream).and_then(|()| {
                if !library.takes_workspace() {
                    return Ok(());
                }
                blas.workspace = entered.calls().allocate(bytes)?;
                library.set_workspace(handle, blas.workspace, bytes)
            })
        };
        if ready.is_err() {
            // SAFETY: the handle has not been used.
            unsafe { self.destroy_blas(blas) };
        }
        ready.map(|()| blas)
    }

    unsafe fn destroy_blas(&self, blas: RawBlas) {
        self.give_back(|calls| {
            // SAFETY: guaranteed by the caller; the memory is freed after the handle that uses it.
            unsafe {
                let done = self.blas()?.destroy(pointer(blas.handle));
                match blas.workspace {
                    0 => done,
                    workspace => done.and(calls.free(workspace)),
                }
            }
        });
    }

    unsafe fn multiply(&self, blas: RawBlas, product: Product) -> Result<()> {
        let _entered = self.context.enter()?;
        // SAFETY: guaranteed by the caller; the context is current.
        unsafe { self.blas()?.multiply(pointer(blas.handle), &product) }
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod layers_tests;
#[cfg(test)]
mod tests;
