//! Calls of cuBLAS, or of hipBLAS.

use super::driver::{self, pointer};
use crate::cuda::sys::blas::{self as sys, Handle, Status, Symbols};
use crate::driver::{Pointer, Product, RawStream};
use mebridge_support::error::{Error, Result};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr::null_mut;

/// The library, loaded.
#[derive(Clone, Copy)]
pub struct Calls {
    symbols: &'static Symbols,
    driver: driver::Calls,
}

impl Calls {
    /// That of this driver, which serves a major version of CUDA or HIP.
    pub fn get(driver: driver::Calls, major: u32) -> Result<Calls> {
        let symbols = Symbols::get(driver.platform(), major)?;
        Ok(Calls { symbols, driver })
    }

    /// A new handle, for the GPU whose context is current.
    pub fn create(self) -> Result<Handle> {
        let mut handle = null_mut();
        // SAFETY: the place is there.
        let status = unsafe { (self.symbols.create)(&mut handle) };
        self.check(self.symbols.own.create, status).map(|()| handle)
    }

    /// Gives it back, once the work of the GPU is done.
    ///
    /// # Safety
    /// It was created, its context is current, and nothing will use it.
    pub unsafe fn destroy(self, handle: Handle) -> Result<()> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.destroy)(handle) };
        self.check(self.symbols.own.destroy, status)
    }

    /// Where the products of a handle are computed.
    ///
    /// # Safety
    /// Both are alive for as long as products are started.
    pub unsafe fn set_stream(self, handle: Handle, stream: RawStream) -> Result<()> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.set_stream)(handle, pointer(stream.0)) };
        self.check(self.symbols.own.set_stream, status)
    }

    /// Whether a handle can be given scratch memory.
    pub fn takes_workspace(self) -> bool {
        self.symbols.further.is_some()
    }

    /// The scratch memory of a handle, where it takes some. To set a stream takes it away.
    ///
    /// # Safety
    /// The handle is alive; the memory is as large, for as long as products are started, and nothing else uses it.
    pub unsafe fn set_workspace(self, handle: Handle, memory: Pointer, bytes: usize) -> Result<()> {
        let Some(further) = &self.symbols.further else {
            return Ok(());
        };
        // SAFETY: the caller's promise.
        let status = unsafe { (further.set_workspace)(handle, memory as *mut c_void, bytes) };
        self.check("cublasSetWorkspace", status)
    }

    /// Starts products.
    ///
    /// # Safety
    /// The handle is alive and nobody else uses it, its context is current; the matrices are there until it is done.
    pub unsafe fn multiply(self, handle: Handle, product: &Product) -> Result<()> {
        let call = match product.double {
            true => self.symbols.own.double,
            false => self.symbols.own.single,
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
        match &self.symbols.further {
            Some(further) => {
                // SAFETY: the caller's promise.
                let status = unsafe { (further.set_math_mode)(handle, math) };
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
        // SAFETY: the caller's promise; one and zero are read before it returns.
        let status = unsafe {
            function(
                handle,
                self.symbols.own.as_is,
                self.symbols.own.as_is,
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
        let own = self.symbols.own;
        if status == sys::SUCCESS {
            return Ok(());
        }
        if status == own.alloc_failed {
            return Err(self.driver.refused(format!("what {call} needs")));
        }
        let meaning = own.meanings.iter().find(|(known, _)| *known == status);
        let meaning = meaning.map_or("unknown", |(_, meaning)| meaning);
        Err(Error::GpuCall {
            call,
            what: format!("status {status}, {meaning}"),
        })
    }
}
