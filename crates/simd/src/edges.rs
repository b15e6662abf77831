//! Between the arrays of a call (numbers of one event after the other, in double precision) and
//! registers of either precision; a module for each register.
//!
//! * `columns` reads four doubles of each event, those of an event `stride` behind those of the one
//!   before, and gives four registers. The doubles of an event are read at once and put in order in
//!   registers; number by number it would be two instructions for each, in single precision as in
//!   double.
//! * `load` reads one double of each event.
//! * `store` writes one double of each event.
//! * `integers` writes small whole numbers.
//!
//! None of them asks for more than the alignment of one number.

/// Defines the four functions of a register from expressions.
macro_rules! edges {
    ($name:ident: $reg:ty; columns($from:ident, $stride:ident) $columns:block
     load($source:ident) $load:expr; store($x:ident, $to:ident) $store:block
     integers($y:ident, $place:ident) $integers:expr;) => {
        pub mod $name {
            use super::*;

            /// # Safety
            /// The CPU has the register's level; for each lane four numbers can be read at
            /// `lane * stride`.
            #[inline(always)]
            pub unsafe fn columns($from: *const f64, $stride: usize) -> [$reg; 4] {
                // SAFETY: the caller's promise.
                unsafe { $columns }
            }
            /// # Safety
            /// The CPU has the register's level; `from` is valid for a read of a number for each lane.
            #[inline(always)]
            pub unsafe fn load($source: *const f64) -> $reg {
                // SAFETY: the caller's promise.
                unsafe { $load }
            }
            /// # Safety
            /// The CPU has the register's level; `to` is valid for a write of a number for each lane.
            #[inline(always)]
            pub unsafe fn store($x: $reg, $to: *mut f64) {
                // SAFETY: the caller's promise.
                unsafe { $store }
            }
            /// # Safety
            /// As for [`store`].
            #[inline(always)]
            pub unsafe fn integers($y: $reg, $place: *mut i32) {
                // SAFETY: the caller's promise.
                unsafe { $integers }
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub use neon::*;
#[cfg(target_arch = "x86_64")]
pub use x86::*;
