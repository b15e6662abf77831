//! Streams: queues of work that is done in order.

use super::blas::Blas;
use super::context::Context;
use super::event::CudaEvent;
use super::graph::CudaGraph;
use super::module::Function;
use crate::cuda::sys::Platform;
use crate::cuda::sys::driver::CUstream;
use crate::driver::{Pointer, Product, Shape};
use mebridge_support::error::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// CUDA's name of the legacy default stream, which it is whatever the caller was compiled with. HIP's is 0.
const LEGACY: u64 = 1;

/// A stream.
pub struct CudaStream {
    /// Products of matrices, once they were asked for; it goes before the stream.
    blas: Mutex<Option<Blas>>,
    raw: CUstream,
    /// Whether it is given back when this goes.
    owned: bool,
    context: Arc<Context>,
}

// SAFETY: CUDA's streams may be used from any thread.
unsafe impl Send for CudaStream {}
// SAFETY: as above; what makes products lies in a mutex.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// A new one.
    pub fn new(context: &Arc<Context>) -> Result<CudaStream> {
        Ok(CudaStream {
            raw: context.enter()?.calls().create_stream()?,
            owned: true,
            blas: Mutex::new(None),
            context: context.clone(),
        })
    }

    /// That of a caller, by its CUstream; 0 is the legacy default stream. It stays when this goes.
    ///
    /// # Safety
    /// It is a stream of this GPU, and stays for as long as this.
    pub unsafe fn of_caller(context: &Arc<Context>, raw: u64) -> CudaStream {
        let cuda = context.calls().platform() == Platform::Cuda;
        let raw = if cuda && raw == 0 { LEGACY } else { raw };
        CudaStream {
            raw: raw as usize as CUstream,
            owned: false,
            blas: Mutex::new(None),
            context: context.clone(),
        }
    }

    /// Its CUstream.
    pub fn raw(&self) -> u64 {
        self.raw as usize as u64
    }

    /// Waits for all its work.
    pub fn synchronize(&self) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: it is alive.
        unsafe { entered.calls().synchronize(self.raw) }
    }

    /// Puts an event here.
    pub fn record(&self, event: &CudaEvent) -> Result<()> {
        self.context.check_same(event.context(), "cuEventRecord")?;
        let entered = self.context.enter()?;
        // SAFETY: both are alive.
        unsafe { entered.calls().record(event.raw(), self.raw) }
    }

    /// What comes next waits for an event.
    pub fn wait(&self, event: &CudaEvent) -> Result<()> {
        self.context
            .check_same(event.context(), "cuStreamWaitEvent")?;
        let entered = self.context.enter()?;
        // SAFETY: both are alive.
        unsafe { entered.calls().wait(self.raw, event.raw()) }
    }

    /// From here on work is recorded, not done. It is for the caller to put nothing here that cannot be recorded.
    pub fn begin_graph(&self) -> Result<()> {
        let entered = self.context.enter()?;
        // SAFETY: it is alive.
        unsafe { entered.calls().begin_capture(self.raw) }
    }

    /// What was recorded since.
    pub fn end_graph(&self) -> Result<CudaGraph> {
        // SAFETY: it is alive, and of this context.
        unsafe { CudaGraph::end(&self.context, self.raw) }
    }

    /// Does recorded work.
    ///
    /// # Safety
    /// All memory and programs of the work are there until it is done.
    pub unsafe fn launch_graph(&self, graph: &CudaGraph) -> Result<()> {
        self.context.check_same(graph.context(), "cuGraphLaunch")?;
        // SAFETY: it is alive, and of the graph's context; the rest is the caller's promise.
        unsafe { graph.launch(self.raw) }
    }

    /// Copies into the memory of the GPU.
    ///
    /// # Safety
    /// The memory is there, and large enough; the bytes stay as they are until the stream is done.
    pub unsafe fn upload(&self, to: Pointer, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: it is alive; the rest is the caller's promise.
        unsafe { entered.calls().copy_in(to, from, self.raw) }
    }

    /// Copies out of the memory of the GPU.
    ///
    /// # Safety
    /// The memory is there, and large enough; nobody touches the bytes until the stream is done.
    pub unsafe fn download(&self, to: &mut [u8], from: Pointer) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: it is alive; the rest is the caller's promise.
        unsafe { entered.calls().copy_out(to, from, self.raw) }
    }

    /// Sets memory to a byte.
    ///
    /// # Safety
    /// The memory is there, and large enough.
    pub unsafe fn fill(&self, memory: Pointer, byte: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let entered = self.context.enter()?;
        // SAFETY: it is alive; the rest is the caller's promise.
        unsafe { entered.calls().fill(memory, byte, bytes, self.raw) }
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The argument is of the type that the kernel takes, and what it says about memory is true until the kernel is done.
    pub unsafe fn launch(&self, function: &Function, shape: Shape, argument: &[u8]) -> Result<()> {
        self.context
            .check_same(function.context(), "cuLaunchKernel")?;
        function.check_launch(shape, argument)?;
        let entered = self.context.enter()?;
        // SAFETY: kernel and stream are alive; the rest is the caller's promise.
        unsafe { (entered.calls()).launch(function.raw(), shape, argument, self.raw) }
    }

    /// Starts products of matrices; `hopper` is for [`Blas::new`].
    ///
    /// # Safety
    /// The matrices are there until the stream is done.
    pub unsafe fn multiply(&self, product: &Product, hopper: bool) -> Result<()> {
        let mut blas = self.blas.lock().unwrap_or_else(PoisonError::into_inner);
        let blas = match &mut *blas {
            Some(blas) => blas,
            // SAFETY: the stream is of this context, and has it for as long as it lives.
            empty => empty.insert(unsafe { Blas::new(&self.context, self.raw, hopper)? }),
        };
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { blas.multiply(product) }
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        *self.blas.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        if let (true, Ok(entered)) = (self.owned, self.context.enter()) {
            // SAFETY: it was made here, and nobody has it any more.
            let _ = unsafe { entered.calls().destroy_stream(self.raw) };
        }
    }
}
