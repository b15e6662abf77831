//! Programs and their kernels.

use super::context::Context;
use crate::cuda::sys::driver::{CUfunction, CUfunction_attribute as Of, CUmodule};
use crate::driver::{Shape, Usage};
use mebridge_support::error::{Error, Result};
use std::ffi::CString;
use std::sync::Arc;

/// Shared memory that a block has without asking.
const SHARED_UNASKED: usize = 48 << 10;

/// A loaded program.
pub struct CudaModule {
    raw: CUmodule,
    context: Arc<Context>,
}

// SAFETY: CUDA's programs may be used from any thread.
unsafe impl Send for CudaModule {}
// SAFETY: as above.
unsafe impl Sync for CudaModule {}

impl CudaModule {
    /// Loads what the compiler made: code of a GPU, or PTX.
    pub fn load(context: &Arc<Context>, image: &[u8]) -> Result<CudaModule> {
        let entered = context.enter()?;
        // PTX is a text that has to end; the code of a GPU says itself how long it is.
        let mut image = image.to_vec();
        image.push(0);
        // SAFETY: the image ends in NUL, and CUDA checks what it is given.
        let raw = unsafe { entered.calls().load_module(image.as_ptr().cast())? };
        Ok(CudaModule {
            raw,
            context: context.clone(),
        })
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        if let Ok(entered) = self.context.enter() {
            // SAFETY: it was loaded here; its kernels hold it, and who launches recorded work promised that it is there.
            let _ = unsafe { entered.calls().unload_module(self.raw) };
        }
    }
}

/// A kernel.
pub struct Function {
    raw: CUfunction,
    /// Bytes of the structure that it takes, as far as the driver tells.
    argument: Option<usize>,
    name: String,
    module: Arc<CudaModule>,
}

// SAFETY: CUDA's kernels may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// The kernel of this name, which takes one structure, as all of `cuda/` do (`ARGUMENTS`). It may ask for so many bytes of shared memory, of which a block
    /// can have `most`.
    pub fn new(
        module: &Arc<CudaModule>,
        name: &str,
        shared: usize,
        most: usize,
    ) -> Result<Function> {
        let platform = module.context.calls().platform();
        let missing = |what: String| Error::GpuCall {
            call: platform.name_of("cuModuleGetFunction"),
            what: format!("kernel {name}: {what}"),
        };
        let text = CString::new(name).map_err(|e| missing(e.to_string()))?;
        let entered = module.context.enter()?;
        let calls = entered.calls();
        // SAFETY: the program is alive.
        let raw = unsafe { calls.function(module.raw, &text)? }
            .ok_or_else(|| missing("the program has none of this name".into()))?;
        // SAFETY: as above.
        let argument = unsafe { calls.parameter(raw) };
        if shared > SHARED_UNASKED {
            let bytes = i32::try_from(shared).ok().filter(|_| shared <= most);
            let bytes = bytes.ok_or_else(|| {
                missing(format!(
                    "{shared} bytes of shared memory, and the GPU gives a block {most}"
                ))
            })?;
            let attribute = Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: as above.
            unsafe { calls.set_function_attribute(raw, attribute, bytes)? };
        }
        Ok(Function {
            raw,
            argument,
            name: name.to_owned(),
            module: module.clone(),
        })
    }

    /// Its program.
    pub fn module(&self) -> &Arc<CudaModule> {
        &self.module
    }

    /// Where it runs.
    pub fn context(&self) -> &Arc<Context> {
        &self.module.context
    }

    /// CUDA's name for it, while this lives.
    pub fn raw(&self) -> CUfunction {
        self.raw
    }

    /// An error for a launch that no kernel, or not this one, can have.
    pub fn check_launch(&self, shape: Shape, argument: &[u8]) -> Result<()> {
        let wrong = |what: String| {
            Err(Error::GpuCall {
                call: self.context().calls().platform().name_of("cuLaunchKernel"),
                what: format!("kernel {}: {what}", self.name),
            })
        };
        match self.argument {
            Some(bytes) if bytes != argument.len() => wrong(format!(
                "an argument of {} bytes, and it takes {bytes}",
                argument.len()
            )),
            // Its address would be none.
            None if argument.is_empty() => wrong("no argument".into()),
            _ if shape.blocks.contains(&0) || shape.threads.contains(&0) => {
                wrong(format!("no threads: {shape:?}"))
            }
            _ => Ok(()),
        }
    }

    /// What it takes of a multiprocessor.
    pub fn usage(&self) -> Result<Usage> {
        let entered = self.context().enter()?;
        // SAFETY: the program is alive.
        let get = |of| unsafe { entered.calls().function_attribute(self.raw, of) };
        Ok(Usage {
            registers: get(Of::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: get(Of::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)? as usize,
            shared: get(Of::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as usize,
            threads: get(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    /// How many blocks of so many threads, with so many bytes of shared memory, run at the same time on one
    /// multiprocessor.
    pub fn occupancy(&self, threads: u32, shared: usize) -> Result<u32> {
        let entered = self.context().enter()?;
        // SAFETY: the program is alive.
        unsafe { entered.calls().occupancy(self.raw, threads, shared) }
    }
}
