//! Driver calls, under the names of `libcuda`.
//!
//! Functions that need a context use the thread's current one. Objects of the driver are represented by the raw handles
//! of `crates/driver`.

use crate::cuda::sys::Platform;
use crate::cuda::sys::driver::{self as sys, Status, Symbols};
use crate::cuda::sys::driver::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUfunction_attribute, CUgraph,
    CUpointer_attribute, CUstreamCaptureMode,
};
use crate::cuda::sys::hip;
use crate::driver::{
    Architecture, Pointer, RawEvent, RawFunction, RawGraph, RawModule, RawStream, Shape,
};
use mebridge_support::error::{Error, Result};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// Converts a raw handle to the driver's type, such as `CUstream` or `CUevent`.
pub fn pointer<T>(raw: u64) -> *mut T {
    raw as usize as *mut T
}

/// A loaded and initialised driver.
#[derive(Clone, Copy)]
pub struct Calls(&'static Symbols);

impl Calls {
    /// Initialises a driver and returns the number of GPUs, or an error if none can be used.
    pub fn start(symbols: &'static Symbols) -> std::result::Result<(Calls, usize), String> {
        let calls = Calls(symbols);
        let mut devices = 0;
        // SAFETY: the function takes only a number.
        let status = unsafe { (symbols.cuInit)(0) };
        if status != sys::SUCCESS {
            let call = symbols.platform.name_of("cuInit");
            return Err(format!("{call} says {}", calls.text(status)));
        }
        // SAFETY: the output pointer is valid.
        let status = unsafe { (symbols.cuDeviceGetCount)(&mut devices) };
        match (status, usize::try_from(devices)) {
            (sys::SUCCESS, Ok(devices @ 1..)) => Ok((calls, devices)),
            (sys::SUCCESS, _) => Err("the driver shows none".into()),
            (error, _) => {
                let call = symbols.platform.name_of("cuDeviceGetCount");
                Err(format!("{call} says {}", calls.text(error)))
            }
        }
    }

    /// Returns the name and description of an error.
    fn text(self, status: Status) -> String {
        let (mut name, mut meaning) = (std::ptr::null(), std::ptr::null());
        // SAFETY: the output pointers are valid; they are set to NULL or a constant string.
        let [name, meaning] = unsafe {
            (self.0.cuGetErrorName)(status, &mut name);
            (self.0.cuGetErrorString)(status, &mut meaning);
            [name, meaning].map(|text| match text.is_null() {
                true => "unknown".into(),
                false => CStr::from_ptr(text).to_string_lossy(),
            })
        };
        match name.as_ref() {
            // A code of a later driver.
            "unknown" => format!("error {status}"),
            name => format!("{name}: {meaning}"),
        }
    }

    /// Returns the platform of the driver.
    pub fn platform(self) -> Platform {
        self.0.platform
    }

    /// Converts the status of a call to a result.
    fn check(self, call: &'static str, status: Status) -> Result<()> {
        let call = self.platform().name_of(call);
        match status {
            sys::SUCCESS => Ok(()),
            sys::OUT_OF_MEMORY => Err(self.refused(format!("what {call} needs"))),
            _ => Err(Error::GpuCall {
                call,
                what: self.text(status),
            }),
        }
    }

    /// Returns the error for a failed allocation of device memory.
    pub fn refused(self, what: String) -> Error {
        // 0 if even this query fails.
        let (free, total) = self.memory_info().unwrap_or_default();
        Error::GpuMemory { what, free, total }
    }

    /// Returns the major and minor version of CUDA or HIP that the driver supports.
    pub fn version(self) -> Result<(u32, u32)> {
        let mut version = 0;
        // SAFETY: the output pointer is valid.
        let status = unsafe { (self.0.cuDriverGetVersion)(&mut version) };
        self.check("cuDriverGetVersion", status)?;
        let version = version.unsigned_abs();
        Ok(match self.platform() {
            Platform::Cuda => (version / 1000, version % 1000 / 10),
            Platform::Hip => (version / 10_000_000, version / 100_000 % 100),
        })
    }

    /// Returns the GPU with this number.
    pub fn device(self, ordinal: usize) -> Result<CUdevice> {
        let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let mut device = 0;
        // SAFETY: the output pointer is valid; the number is checked.
        let status = unsafe { (self.0.cuDeviceGet)(&mut device, number) };
        self.check("cuDeviceGet", status).map(|()| device)
    }

    /// Returns an attribute of a GPU.
    pub fn device_attribute(self, device: CUdevice, attribute: CUdevice_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the output pointer is valid; the GPU is checked.
        let status = unsafe { (self.0.cuDeviceGetAttribute)(&mut value, attribute, device) };
        self.check("cuDeviceGetAttribute", status)?;
        Ok(value.unsigned_abs())
    }

    /// Returns the target architecture for compilation.
    pub fn architecture(self, device: CUdevice) -> Result<Architecture> {
        let capability = |attribute| self.device_attribute(device, attribute);
        match self.platform() {
            Platform::Cuda => Ok(Architecture::Capability(
                capability(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                capability(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            )),
            Platform::Hip => match hip::architecture(device) {
                Ok(name) => Ok(Architecture::Gfx(name)),
                Err(status) => Err(Error::GpuCall {
                    call: "hipGetDeviceProperties",
                    what: self.text(status),
                }),
            },
        }
    }

    /// Returns the vendor's name of a GPU.
    pub fn device_name(self, device: CUdevice) -> Result<String> {
        let mut name = [0u8; 256];
        // The last byte stays 0.
        let room = name.len() as i32 - 1;
        // SAFETY: the buffer has this many bytes; the GPU is checked.
        let status = unsafe { (self.0.cuDeviceGetName)(name.as_mut_ptr().cast(), room, device) };
        self.check("cuDeviceGetName", status)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into())
    }

    /// Retains the primary context of a GPU.
    pub fn retain_primary_context(self, device: CUdevice) -> Result<CUcontext> {
        let mut context = null_mut();
        // SAFETY: the output pointer is valid; the GPU is checked.
        let status = unsafe { (self.0.cuDevicePrimaryCtxRetain)(&mut context, device) };
        let done = self.check("cuDevicePrimaryCtxRetain", status);
        done.map(|()| context)
    }

    /// Releases the primary context of a GPU.
    ///
    /// # Safety
    /// It was retained, and the code that retained it makes no more calls in the context.
    pub unsafe fn release_primary_context(self, device: CUdevice) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuDevicePrimaryCtxRelease_v2)(device) };
        self.check("cuDevicePrimaryCtxRelease", status)
    }

    /// Returns the context that is current on this thread, or NULL.
    pub fn current_context(self) -> Result<CUcontext> {
        let mut context = null_mut();
        // SAFETY: the output pointer is valid.
        let status = unsafe { (self.0.cuCtxGetCurrent)(&mut context) };
        self.check("cuCtxGetCurrent", status).map(|()| context)
    }

    /// Returns the GPU of the context that is current on this thread.
    pub fn current_device(self) -> Result<CUdevice> {
        let mut device = 0;
        // SAFETY: the output pointer is valid; without a context the call fails.
        let status = unsafe { (self.0.cuCtxGetDevice)(&mut device) };
        self.check("cuCtxGetDevice", status).map(|()| device)
    }

    /// Makes a context current on this thread.
    ///
    /// # Safety
    /// The context is alive until it is popped.
    pub unsafe fn push_context(self, context: CUcontext) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuCtxPushCurrent_v2)(context) };
        self.check("cuCtxPushCurrent", status)
    }

    /// Makes the previous context current again.
    pub fn pop_context(self) -> Result<()> {
        let mut gone = null_mut();
        // SAFETY: the output pointer is valid; if no context was pushed, the call fails.
        let status = unsafe { (self.0.cuCtxPopCurrent_v2)(&mut gone) };
        self.check("cuCtxPopCurrent", status)
    }

    /// Returns the free and the total device memory in bytes.
    pub fn memory_info(self) -> Result<(usize, usize)> {
        const CALL: &str = "cuMemGetInfo";
        let (mut free, mut total) = (0, 0);
        // SAFETY: the output pointers are valid.
        match unsafe { (self.0.cuMemGetInfo_v2)(&mut free, &mut total) } {
            sys::SUCCESS => Ok((free, total)),
            // `check` is not used, because it calls this function.
            status => Err(Error::GpuCall {
                call: self.platform().name_of(CALL),
                what: self.text(status),
            }),
        }
    }

    /// Allocates device memory.
    pub fn allocate(self, bytes: usize) -> Result<CUdeviceptr> {
        let mut memory = 0;
        // SAFETY: the output pointer is valid.
        match unsafe { (self.0.cuMemAlloc_v2)(&mut memory, bytes) } {
            sys::OUT_OF_MEMORY => Err(self.refused(format!("an allocation of {bytes} bytes"))),
            status => self.check("cuMemAlloc", status).map(|()| memory),
        }
    }

    /// Frees device memory.
    ///
    /// # Safety
    /// It was allocated here and is not used again, except by pending work, for which CUDA waits.
    pub unsafe fn free(self, memory: CUdeviceptr) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuMemFree_v2)(memory) };
        self.check("cuMemFree", status)
    }

    /// Allocates pinned host memory, usable by all GPUs.
    pub fn pin(self, bytes: usize) -> Result<*mut c_void> {
        const CALL: &str = "cuMemHostAlloc";
        let mut memory = null_mut();
        // SAFETY: the output pointer is valid.
        match unsafe { (self.0.cuMemHostAlloc)(&mut memory, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) }
        {
            // It is the host that has too little memory.
            sys::OUT_OF_MEMORY => Err(Error::GpuCall {
                call: CALL,
                what: format!("the host has no {bytes} bytes of memory to pin"),
            }),
            status => self.check(CALL, status).map(|()| memory),
        }
    }

    /// Frees pinned host memory.
    ///
    /// # Safety
    /// It was allocated here and is no longer in use.
    pub unsafe fn unpin(self, memory: *mut c_void) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuMemFreeHost)(memory) };
        self.check("cuMemFreeHost", status)
    }

    /// Returns the kind of memory at an address, and its GPU; the kind is 0 if CUDA does not know the address.
    pub fn memory_of(self, at: CUdeviceptr) -> Result<(u32, CUdevice)> {
        use CUpointer_attribute as Of;
        let (mut kind, mut device) = (0u32, 0i32);
        let mut attributes = [
            Of::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Of::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut places = [(&raw mut kind).cast::<c_void>(), (&raw mut device).cast()];
        let count = attributes.len() as u32;
        // SAFETY: there is an output of the right type for each attribute; the address is only looked up.
        let status = unsafe {
            (self.0.cuPointerGetAttributes)(count, attributes.as_mut_ptr(), places.as_mut_ptr(), at)
        };
        self.check("cuPointerGetAttributes", status)?;
        Ok((kind, device))
    }

    /// Loads a program.
    ///
    /// # Safety
    /// The image is binary code, which contains its own length, or PTX that ends in NUL.
    pub unsafe fn load_module(self, image: *const c_void) -> Result<RawModule> {
        let mut module = null_mut();
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe { (self.0.cuModuleLoadData)(&mut module, image) };
        self.check("cuModuleLoadData", status)
            .map(|()| RawModule(module as u64))
    }

    /// Unloads a program.
    ///
    /// # Safety
    /// It was loaded here and is not used again.
    pub unsafe fn unload_module(self, module: RawModule) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuModuleUnload)(pointer(module.0)) };
        self.check("cuModuleUnload", status)
    }

    /// Returns the kernel of a program with this name, if it exists.
    ///
    /// # Safety
    /// The program is alive.
    pub unsafe fn function(self, module: RawModule, name: &CStr) -> Result<Option<RawFunction>> {
        let mut function = null_mut();
        // SAFETY: the output pointer and the string are valid; the caller guarantees the rest.
        match unsafe {
            (self.0.cuModuleGetFunction)(&mut function, pointer(module.0), name.as_ptr())
        } {
            sys::NOT_FOUND => Ok(None),
            status => {
                let found = self.check("cuModuleGetFunction", status);
                found.map(|()| Some(RawFunction(function as u64)))
            }
        }
    }

    /// Returns the size in bytes of the first parameter of a kernel, 0 if it has none, or `None` if the driver cannot
    /// tell. Other parameters are not queried: CUDA 12 has no call that counts parameters, and a query beyond the last
    /// one causes a driver error, which tools report.
    ///
    /// # Safety
    /// The kernel's program is alive.
    pub unsafe fn parameter(self, function: RawFunction) -> Option<usize> {
        let info = self.0.cuFuncGetParamInfo?;
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the output pointers are valid; the caller guarantees the rest.
        match unsafe { info(pointer(function.0), 0, &mut offset, &mut size) } {
            sys::SUCCESS => Some(size),
            sys::INVALID_VALUE => Some(0),
            _ => None,
        }
    }

    /// Returns an attribute of a kernel.
    ///
    /// # Safety
    /// The kernel's program is alive.
    pub unsafe fn function_attribute(
        self,
        function: RawFunction,
        attribute: CUfunction_attribute,
    ) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status =
            unsafe { (self.0.cuFuncGetAttribute)(&mut value, attribute, pointer(function.0)) };
        self.check("cuFuncGetAttribute", status)?;
        Ok(value.unsigned_abs())
    }

    /// Sets an attribute of a kernel.
    ///
    /// # Safety
    /// The kernel's program is alive.
    pub unsafe fn set_function_attribute(
        self,
        function: RawFunction,
        attribute: CUfunction_attribute,
        value: i32,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller; the value is checked.
        let status = unsafe { (self.0.cuFuncSetAttribute)(pointer(function.0), attribute, value) };
        self.check("cuFuncSetAttribute", status)
    }

    /// Returns how many blocks of a kernel are resident per multiprocessor.
    ///
    /// # Safety
    /// The kernel's program is alive.
    pub unsafe fn occupancy(
        self,
        function: RawFunction,
        threads: u32,
        shared: usize,
    ) -> Result<u32> {
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        let mut blocks = 0;
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe {
            (self.0.cuOccupancyMaxActiveBlocksPerMultiprocessor)(
                &mut blocks,
                pointer(function.0),
                threads,
                shared,
            )
        };
        self.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
        Ok(blocks.unsigned_abs())
    }

    /// Creates a stream that does not synchronise with the default stream.
    pub fn create_stream(self) -> Result<RawStream> {
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        let mut stream = null_mut();
        // SAFETY: the output pointer is valid.
        let status = unsafe { (self.0.cuStreamCreate)(&mut stream, flags) };
        self.check("cuStreamCreate", status)
            .map(|()| RawStream(stream as u64))
    }

    /// Destroys a stream without waiting; its work still completes.
    ///
    /// # Safety
    /// It was created here and is not used again.
    pub unsafe fn destroy_stream(self, stream: RawStream) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuStreamDestroy_v2)(pointer(stream.0)) };
        self.check("cuStreamDestroy", status)
    }

    /// Waits until all work of a stream has finished.
    ///
    /// # Safety
    /// The stream is alive.
    pub unsafe fn synchronize(self, stream: RawStream) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuStreamSynchronize)(pointer(stream.0)) };
        self.check("cuStreamSynchronize", status)
    }

    /// Makes a stream wait for an event.
    ///
    /// # Safety
    /// Both are alive.
    pub unsafe fn wait(self, stream: RawStream, event: RawEvent) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuStreamWaitEvent)(pointer(stream.0), pointer(event.0), 0) };
        self.check("cuStreamWaitEvent", status)
    }

    /// Creates an event with timing.
    pub fn create_event(self) -> Result<RawEvent> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        let mut event = null_mut();
        // SAFETY: the output pointer is valid.
        let status = unsafe { (self.0.cuEventCreate)(&mut event, flags) };
        self.check("cuEventCreate", status)
            .map(|()| RawEvent(event as u64))
    }

    /// Destroys an event.
    ///
    /// # Safety
    /// It was created here and is not used again.
    pub unsafe fn destroy_event(self, event: RawEvent) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuEventDestroy_v2)(pointer(event.0)) };
        self.check("cuEventDestroy", status)
    }

    /// Records an event in a stream.
    ///
    /// # Safety
    /// Both are alive.
    pub unsafe fn record(self, event: RawEvent, stream: RawStream) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuEventRecord)(pointer(event.0), pointer(stream.0)) };
        self.check("cuEventRecord", status)
    }

    /// Returns the seconds between two events.
    ///
    /// # Safety
    /// Both are alive.
    pub unsafe fn elapsed(self, from: RawEvent, to: RawEvent) -> Result<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe {
            (self.0.cuEventElapsedTime)(&mut milliseconds, pointer(from.0), pointer(to.0))
        };
        self.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) * 1e-3)
    }

    /// Starts recording the work of a stream. Other threads may allocate memory and load programs meanwhile.
    ///
    /// # Safety
    /// The stream is alive.
    pub unsafe fn begin_capture(self, stream: RawStream) -> Result<()> {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuStreamBeginCapture_v2)(pointer(stream.0), mode) };
        self.check("cuStreamBeginCapture", status)
    }

    /// Ends a recording and returns the recorded work.
    ///
    /// # Safety
    /// The stream is alive.
    pub unsafe fn end_capture(self, stream: RawStream) -> Result<CUgraph> {
        let mut graph = null_mut();
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe { (self.0.cuStreamEndCapture)(pointer(stream.0), &mut graph) };
        self.check("cuStreamEndCapture", status).map(|()| graph)
    }

    /// Instantiates recorded work, so that it can be launched.
    ///
    /// # Safety
    /// The recorded work is alive.
    pub unsafe fn instantiate(self, graph: CUgraph) -> Result<RawGraph> {
        let mut ready = null_mut();
        // SAFETY: the output pointer is valid; the caller guarantees the rest.
        let status = unsafe { (self.0.cuGraphInstantiateWithFlags)(&mut ready, graph, 0) };
        self.check("cuGraphInstantiate", status)
            .map(|()| RawGraph(ready as u64))
    }

    /// Destroys recorded work.
    ///
    /// # Safety
    /// It was recorded and is not used again; graphs instantiated from it may be.
    pub unsafe fn destroy_graph(self, graph: CUgraph) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuGraphDestroy)(graph) };
        self.check("cuGraphDestroy", status)
    }

    /// Destroys an instantiated graph.
    ///
    /// # Safety
    /// It was instantiated here and is not used again.
    pub unsafe fn destroy_ready_graph(self, graph: RawGraph) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuGraphExecDestroy)(pointer(graph.0)) };
        self.check("cuGraphExecDestroy", status)
    }

    /// Launches an instantiated graph.
    ///
    /// # Safety
    /// Both are alive, as are the memory and programs of the recorded work, and the graph is not launched elsewhere at
    /// the same time.
    pub unsafe fn launch_graph(self, graph: RawGraph, stream: RawStream) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuGraphLaunch)(pointer(graph.0), pointer(stream.0)) };
        self.check("cuGraphLaunch", status)
    }

    /// Copies bytes to device memory.
    ///
    /// # Safety
    /// The stream is alive. Until it has finished, the memory exists and is large enough, and the bytes do not change.
    pub unsafe fn copy_in(self, to: Pointer, from: &[u8], stream: RawStream) -> Result<()> {
        let (start, bytes) = (from.as_ptr().cast(), from.len());
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuMemcpyHtoDAsync_v2)(to, start, bytes, pointer(stream.0)) };
        self.check("cuMemcpyHtoDAsync", status)
    }

    /// Copies bytes from device memory.
    ///
    /// # Safety
    /// The stream is alive. Until it has finished, the memory exists and is large enough, and nothing else accesses the
    /// bytes.
    pub unsafe fn copy_out(self, to: &mut [u8], from: Pointer, stream: RawStream) -> Result<()> {
        let (start, bytes) = (to.as_mut_ptr().cast(), to.len());
        // SAFETY: guaranteed by the caller.
        let status =
            unsafe { (self.0.cuMemcpyDtoHAsync_v2)(start, from, bytes, pointer(stream.0)) };
        self.check("cuMemcpyDtoHAsync", status)
    }

    /// Fills memory with a byte.
    ///
    /// # Safety
    /// The memory exists and is large enough, and the stream is alive.
    pub unsafe fn fill(
        self,
        memory: Pointer,
        byte: u8,
        bytes: usize,
        stream: RawStream,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.0.cuMemsetD8Async)(memory, byte, bytes, pointer(stream.0)) };
        self.check("cuMemsetD8Async", status)
    }

    /// Launches a kernel with one argument.
    ///
    /// # Safety
    /// The kernel's program and the stream are alive; the argument has the type of the kernel's parameter, and its
    /// pointers and sizes are valid until the kernel has finished.
    pub unsafe fn launch(
        self,
        function: RawFunction,
        shape: Shape,
        argument: &[u8],
        stream: RawStream,
    ) -> Result<()> {
        // CUDA reads the bytes of the kernel's parameter before it returns.
        let mut places = [argument.as_ptr().cast_mut().cast::<c_void>()];
        let ([x, y, z], [i, j, k]) = (shape.blocks, shape.threads);
        // SAFETY: guaranteed by the caller.
        let status = unsafe {
            (self.0.cuLaunchKernel)(
                pointer(function.0),
                x,
                y,
                z,
                i,
                j,
                k,
                shape.shared,
                pointer(stream.0),
                places.as_mut_ptr(),
                null_mut(),
            )
        };
        self.check("cuLaunchKernel", status)
    }
}
