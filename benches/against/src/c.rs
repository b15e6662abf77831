//! The C interface, mebridge.h. It is asked what the Fortran interface cannot be without ending the program: whether
//! a process can be evaluated at all, and which channels it has.

use crate::event_set::EventSet;
use crate::library::Library;
use std::ffi::c_void;
use std::ptr;

type CreateFunction = unsafe extern "C" fn(*const c_void, usize, *mut *mut c_void) -> i32;
type DeleteFunction = unsafe extern "C" fn(*mut c_void) -> i32;
type Number = unsafe extern "C" fn(*const c_void) -> i64;
type RunFunction = unsafe extern "C" fn(
    *mut c_void,
    usize,
    *const f64,
    *const f64,
    *const f64,
    *const f64,
    *const i32,
    *const i32,
    *mut f64,
    *mut i32,
    *mut i32,
) -> i32;

/// A bridge.
pub struct Bridge<'a> {
    library: &'a Library,
    /// What the C functions take.
    pub bridge: *mut c_void,
    run: RunFunction,
    delete: DeleteFunction,
}

impl Bridge<'_> {
    /// A bridge for calls of so many events, by the switches that are set.
    pub fn new(library: &Library, events: usize) -> Result<Bridge<'_>, String> {
        // SAFETY: signatures of mebridge.h.
        let (create, run, delete): (CreateFunction, RunFunction, DeleteFunction) = unsafe {
            (
                library.function("mebridge_create")?,
                library.function("mebridge_run")?,
                library.function("mebridge_delete")?,
            )
        };
        let mut bridge = ptr::null_mut();
        // SAFETY: no options, and a pointer to a pointer.
        match unsafe { create(ptr::null(), events, &mut bridge) } {
            0 => Ok(Bridge {
                library,
                bridge,
                run,
                delete,
            }),
            _ => Err(library.last_error()),
        }
    }

    /// `mebridge_legs` and its like.
    pub fn number(&self, symbol: &str) -> Result<usize, String> {
        // SAFETY: the signature that these functions have in mebridge.h.
        let number: Number = unsafe { self.library.function(symbol)? };
        // SAFETY: the bridge is open.
        let number = unsafe { number(self.bridge) };
        usize::try_from(number).map_err(|_| format!("{symbol} is {number}"))
    }

    /// Evaluates the sample, of as many events as the bridge was made for; |M|^2 times the weight of the channels.
    pub fn run(&self, event_set: &EventSet, channels: Option<&[i32]>) -> Result<Vec<f64>, String> {
        let events = event_set.events;
        let mut elements = vec![0.0; events];
        let (mut helicity, mut color) = (vec![0; events], vec![0; events]);
        assert!(channels.is_none_or(|channels| channels.len() == events));
        // SAFETY: all arrays have as many entries as there are events, the momenta those of all legs.
        let status = unsafe {
            (self.run)(
                self.bridge,
                events,
                event_set.momenta.as_ptr(),
                event_set.g_s.as_ptr(),
                event_set.random[0].as_ptr(),
                event_set.random[1].as_ptr(),
                channels.map_or(ptr::null(), <[i32]>::as_ptr),
                ptr::null(),
                elements.as_mut_ptr(),
                helicity.as_mut_ptr(),
                color.as_mut_ptr(),
            )
        };
        match status {
            0 => Ok(elements),
            _ => Err(self.library.last_error()),
        }
    }
}

impl Drop for Bridge<'_> {
    fn drop(&mut self) {
        // SAFETY: the bridge is open, and nobody uses it any more.
        unsafe { (self.delete)(self.bridge) };
    }
}
