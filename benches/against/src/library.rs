//! A build of libmebridge, opened by its path beside another one. Each keeps its symbols for itself (RTLD_LOCAL), and
//! none is ever closed.
//!
//! A library reads its switches from the environment when a bridge is made. This program sets them, and makes bridges,
//! on its only thread.

use std::error::Error;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// What the names of all switches begin with.
const PREFIX: &str = "CUDACPP_RUNTIME_";

/// A library that is open.
pub struct Library {
    /// `old` or `new`.
    pub name: &'static str,
    /// A folder for what it keeps for its next start: two commits do not find each other's.
    cache: PathBuf,
    library: &'static libloading::Library,
}

impl Library {
    /// Opens the library at this path.
    pub fn open(name: &'static str, path: &Path, cache: PathBuf) -> Result<Library, String> {
        // SAFETY: what libmebridge does when it is loaded needs nothing of its caller's.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| {
            let why = e.source().map_or(e.to_string(), ToString::to_string);
            format!("{} cannot be opened: {why}", path.display())
        })?;
        let library = Box::leak(Box::new(library));
        let library = Library {
            name,
            cache,
            library,
        };
        match library.has("fbridgecreate_") {
            true => Ok(library),
            false => Err(format!(
                "{} is no libmebridge: it lacks fbridgecreate_",
                path.display()
            )),
        }
    }

    /// Whether it has this symbol.
    pub fn has(&self, symbol: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.library.get::<*const ()>(symbol) }.is_ok()
    }

    /// A function of it.
    ///
    /// # Safety
    /// `F` is a pointer to functions of this symbol's type.
    pub unsafe fn function<F: Copy>(&self, symbol: &str) -> Result<F, String> {
        // SAFETY: the caller's promise; the library stays open.
        match unsafe { self.library.get::<F>(symbol) } {
            Ok(function) => Ok(*function),
            Err(_) => Err(format!("the {} library has no {symbol}", self.name)),
        }
    }

    /// Sets the switches of the bridges that are made next, and no others.
    pub fn set_switches(&self, switches: &[(&str, &str)]) {
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| name.to_string_lossy().starts_with(PREFIX)) {
            // SAFETY: there is one thread.
            unsafe { std::env::remove_var(name) };
        }
        let cache = self.cache.to_string_lossy();
        for (name, value) in switches.iter().chain(&[("CACHE", &*cache)]) {
            // SAFETY: there is one thread.
            unsafe { std::env::set_var(format!("{PREFIX}{name}"), value) };
        }
    }

    /// What the last call that failed has to say.
    pub fn last_error(&self) -> String {
        // SAFETY: the signature of mebridge.h.
        let last = unsafe {
            self.function::<unsafe extern "C" fn() -> *const c_char>("mebridge_last_error")
        };
        let message = match last {
            // SAFETY: it is never NULL, and valid until the next failure.
            Ok(last) => unsafe { CStr::from_ptr(last()) }
                .to_string_lossy()
                .into_owned(),
            Err(_) => "no message".into(),
        };
        format!("the {} library: {message}", self.name)
    }
}
