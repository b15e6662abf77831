//! Calls of cuBLAS or hipBLAS.

use super::driver::{self, pointer};
use crate::cuda::sys::blas::{self as sys, Handle, Status, Symbols};
use crate::driver::{Pointer, Product, RawStream};
use mebridge_support::error::{Error, Result};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr::null_mut;

/// The loaded library.
#[derive(Clone, Copy)]
pub struct Calls {
    symbols: &'static Symbols,
    driver: driver::Calls,
}

impl Calls {
    /// Loads the library that matches this driver, which supports the given major version of CUDA or HIP.
    pub fn get(driver: driver::Calls, major: u32) -> Result<Calls> {
        let symbols = Symbols::get(driver.platform(), major)?;
        Ok(Calls { symbols, driver })
    }

    /// Creates a handle for the GPU whose context is current.
    pub fn create(self) -> Result<Handle> {
        let mut handle = null_mut();
        // SAFETY: the output pointer is valid.
        let status = unsafe { (self.symbols.create)(&mut handle) };
        self.check(self.symbols.traits.create, status)
            .map(|()| handle)
    }

    /// Destroys a handle, after waiting for the work of the GPU.
    ///
    /// # Safety
    /// The handle was created here and is not used again, and its context is current.
    pub unsafe fn destroy(self, handle: Handle) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.symbols.destroy)(handle) };
        self.check(self.symbols.traits.destroy, status)
    }

    /// Sets the stream of a handle.
    ///
    /// # Safety
    /// Both are alive as long as products are launched.
    pub unsafe fn set_stream(self, handle: Handle, stream: RawStream) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (self.symbols.set_stream)(handle, pointer(stream.0)) };
        self.check(self.symbols.traits.set_stream, status)
    }

    /// Returns whether the scratch memory of a handle can be set.
    pub fn takes_workspace(self) -> bool {
        self.symbols.nvidia.is_some()
    }

    /// Sets the scratch memory of a handle, if the library supports that. Setting a stream resets it.
    ///
    /// # Safety
    /// The handle is alive. The memory has this size as long as products are launched, and has no other use.
    pub unsafe fn set_workspace(self, handle: Handle, memory: Pointer, bytes: usize) -> Result<()> {
        let Some(nvidia) = &self.symbols.nvidia else {
            return Ok(());
        };
        // SAFETY: guaranteed by the caller.
        let status = unsafe { (nvidia.set_workspace)(handle, memory as *mut c_void, bytes) };
        self.check("cublasSetWorkspace", status)
    }

    /// Launches matrix products.
    ///
    /// # Safety
    /// The handle is alive and not used elsewhere at the same time, and its context is current; the matrices exist
    /// until the products have finished.
    pub unsafe fn multiply(self, handle: Handle, product: &Product) -> Result<()> {
        let call = match product.double {
            true => self.symbols.traits.double,
            false => self.symbols.traits.single,
        };
        let int = |number: u32| {
            c_int::try_from(number).map_err(|_| Error::GpuCall {
                call,
                what: format!("a size of {number} is too large"),
            })
        };
        let p = product;
        let (rows, columns, inner) = (int(p.rows)?, int(p.columns)?, int(p.inner)?);
        let (lda, ldb, ldc) = (int(p.a.1)?, int(p.b.1)?, int(p.c.1)?);
        let count = int(p.count)?;
        let tf32 = p.tf32 && !p.double;
        let math = match tf32 {
            true => sys::TF32_MATH,
            false => sys::DEFAULT_MATH,
        };
        let double = [1.0f64, 0.0];
        let single = [1.0f32, 0.0];
        let (function, [one, zero]) = match p.double {
            true => (
                self.symbols.double,
                [&double[0], &double[1]].map(|n| std::ptr::from_ref(n).cast()),
            ),
            false => (
                self.symbols.single,
                [&single[0], &single[1]].map(|n| std::ptr::from_ref(n).cast()),
            ),
        };
        let stride = |numbers: u64| numbers as c_longlong;
        match &self.symbols.nvidia {
            Some(nvidia) => {
                // SAFETY: guaranteed by the caller.
                let status = unsafe { (nvidia.set_math_mode)(handle, math) };
                self.check("cublasSetMathMode", status)?;
            }
            None if tf32 => {
                return Err(Error::GpuCall {
                    call: "CUBLASTF32TENSOR",
                    what: "TF32 is of NVIDIA's GPUs alone; leave it off".into(),
                });
            }
            None => {}
        }
        // SAFETY: guaranteed by the caller; one and zero are read before it returns.
        let status = unsafe {
            function(
                handle,
                self.symbols.traits.as_is,
                self.symbols.traits.as_is,
                rows,
                columns,
                inner,
                one,
                p.a.0,
                lda,
                stride(p.a.2),
                p.b.0,
                ldb,
                stride(p.b.2),
                zero,
                p.c.0,
                ldc,
                stride(p.c.2),
                count,
            )
        };
        self.check(call, status)
    }

    fn check(self, call: &'static str, status: Status) -> Result<()> {
        let traits = self.symbols.traits;
        if status == sys::SUCCESS {
            return Ok(());
        }
        if status == traits.alloc_failed {
            return Err(self.driver.refused(format!("what {call} needs")));
        }
        let meaning = traits.meanings.iter().find(|(known, _)| *known == status);
        let meaning = meaning.map_or("unknown", |(_, meaning)| meaning);
        Err(Error::GpuCall {
            call,
            what: format!("status {status}, {meaning}"),
        })
    }
}
