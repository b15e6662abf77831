//! cuBLAS: products of many matrices, one handle for each stream.

use super::context::{Context, check};
use super::library::{self, Found};
use crate::driver::Product;
use cudarc::driver::sys::{self, CUstream};
use mebridge_support::error::{Error, Result};
use std::ffi::{c_int, c_longlong, c_void};
use std::sync::{Arc, Mutex};

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, CUstream) -> c_int;
type SetWorkspace = unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_int;
type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
/// `cublas{S,D}gemmStridedBatched`, with pointers to any numbers.
type Multiply = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_longlong,
    u64,
    c_int,
    c_longlong,
    *const c_void,
    u64,
    c_int,
    c_longlong,
    c_int,
) -> c_int;

/// `CUBLAS_OP_N`.
const AS_IS: c_int = 0;
/// `CUBLAS_DEFAULT_MATH`.
const DEFAULT_MATH: c_int = 0;
/// `CUBLAS_TF32_TENSOR_OP_MATH`.
const TF32_MATH: c_int = 3;

/// The functions of the library.
struct Functions {
    create: Create,
    destroy: Destroy,
    set_stream: SetStream,
    set_workspace: SetWorkspace,
    set_math_mode: SetMathMode,
    single: Multiply,
    double: Multiply,
    /// Where they lie.
    _library: Found,
}

impl Functions {
    /// The library; looked for once.
    fn get(driver: u32) -> Result<&'static Functions> {
        static LOADED: Mutex<Option<&'static Functions>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(functions) = *loaded {
            return Ok(functions);
        }
        let found = library::load("cuBLAS", "cublas", "nvidia-cublas", Some(driver))?;
        // SAFETY: the types are those of cublas_api.h, the same in CUDA 12 and 13; device pointers
        // are 64 bits.
        let functions = unsafe {
            Functions {
                create: found.get("cublasCreate_v2")?,
                destroy: found.get("cublasDestroy_v2")?,
                set_stream: found.get("cublasSetStream_v2")?,
                set_workspace: found.get("cublasSetWorkspace_v2")?,
                set_math_mode: found.get("cublasSetMathMode")?,
                single: found.get("cublasSgemmStridedBatched")?,
                double: found.get("cublasDgemmStridedBatched")?,
                _library: found,
            }
        };
        let functions: &'static Functions = Box::leak(Box::new(functions));
        *loaded = Some(functions);
        Ok(functions)
    }
}

/// cuBLAS for one stream.
pub struct Blas {
    functions: &'static Functions,
    handle: Handle,
    /// Its scratch memory: with it nothing is allocated in a product, so that one can be part
    /// of a graph.
    workspace: u64,
    context: Arc<Context>,
}

// SAFETY: a handle may be used from any thread, by one at a time; it lies in a mutex.
unsafe impl Send for Blas {}

impl Blas {
    /// For a stream; `driver` is the major version of CUDA of the driver, `hopper` whether the GPU is
    /// of compute capability 9 or later. The context is current.
    pub fn new(
        context: &Arc<Context>,
        stream: CUstream,
        driver: u32,
        hopper: bool,
    ) -> Result<Blas> {
        let functions = Functions::get(driver)?;
        // What the manual of cuBLAS recommends.
        let bytes = if hopper { 32 << 20 } else { 4 << 20 };
        let mut blas = Blas {
            functions,
            handle: std::ptr::null_mut(),
            workspace: 0,
            context: context.clone(),
        };
        // SAFETY: the context is current, the places are there, the memory is as large as said.
        unsafe {
            blas_check("cublasCreate", (functions.create)(&mut blas.handle))?;
            check(
                "cuMemAlloc for cuBLAS",
                sys::cuMemAlloc_v2(&mut blas.workspace, bytes),
            )?;
            let (handle, workspace) = (blas.handle, blas.workspace as *mut c_void);
            blas_check("cublasSetStream", (functions.set_stream)(handle, stream))?;
            blas_check(
                "cublasSetWorkspace",
                (functions.set_workspace)(handle, workspace, bytes),
            )?;
        }
        Ok(blas)
    }

    /// Starts products. The context is current.
    ///
    /// # Safety
    /// The memory is there, and large enough.
    pub unsafe fn multiply(&mut self, product: &Product) -> Result<()> {
        let call = match product.double {
            true => "cublasDgemmStridedBatched",
            false => "cublasSgemmStridedBatched",
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
        let math = match p.tf32 && !p.double {
            true => TF32_MATH,
            false => DEFAULT_MATH,
        };
        let double = [1.0f64, 0.0];
        let single = [1.0f32, 0.0];
        let (function, [one, zero]) = match p.double {
            true => (
                self.functions.double,
                [&double[0], &double[1]].map(|n| std::ptr::from_ref(n).cast()),
            ),
            false => (
                self.functions.single,
                [&single[0], &single[1]].map(|n| std::ptr::from_ref(n).cast()),
            ),
        };
        let stride = |numbers: u64| numbers as c_longlong;
        // SAFETY: the caller's promise; one and zero are read before it returns.
        unsafe {
            blas_check(
                "cublasSetMathMode",
                (self.functions.set_math_mode)(self.handle, math),
            )?;
            blas_check(
                call,
                function(
                    self.handle,
                    AS_IS,
                    AS_IS,
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
                ),
            )
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let Ok(_entered) = self.context.enter() else {
            return;
        };
        // SAFETY: they were made here, and nothing uses them any more: giving memory back waits for
        // the work of the GPU.
        unsafe {
            if !self.handle.is_null() {
                (self.functions.destroy)(self.handle);
            }
            if self.workspace != 0 {
                sys::cuMemFree_v2(self.workspace);
            }
        }
    }
}

fn blas_check(call: &'static str, status: c_int) -> Result<()> {
    let meaning = match status {
        0 => return Ok(()),
        1 => "not initialised; cuBLAS may be newer than the driver, or the GPU has no memory left",
        3 => "allocation failed",
        7 => "invalid value",
        8 => "not for this GPU",
        11 => "mapping error",
        13 => "execution failed",
        14 => "internal error",
        15 => "not supported",
        _ => "unknown",
    };
    Err(match status {
        3 => super::context::refused(format!("what {call} needs")),
        _ => Error::GpuCall {
            call,
            what: format!("status {status}, {meaning}"),
        },
    })
}
