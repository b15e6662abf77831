//! Conversions between the arrays of a call (one number per event in double precision) and registers of either
//! precision, with a module for each register.
//!
//! - `columns` reads four doubles per event, with distance `stride` between events, and returns four registers. The
//!   doubles of an event are read at once and transposed in registers; reading them one by one would take two
//!   instructions for each, in single precision as in double.
//! - `load` reads one double per event.
//! - `store` writes one double per event.
//! - `integers` writes small integers.
//!
//! None of them requires more than the alignment of a single number.

/// Defines the four functions of a register from expressions.
macro_rules! edges {
    ($name:ident: $reg:ty; columns($from:ident, $stride:ident) $columns:block
     load($source:ident) $load:expr; store($x:ident, $to:ident) $store:block
     integers($y:ident, $place:ident) $integers:expr;) => {
        pub mod $name {
            use super::*;

            /// # Safety
            /// The CPU supports the register's level; four numbers can be read at `lane * stride` for each lane.
            #[inline(always)]
            pub unsafe fn columns($from: *const f64, $stride: usize) -> [$reg; 4] {
                // SAFETY: guaranteed by the caller.
                unsafe { $columns }
            }
            /// # Safety
            /// The CPU supports the register's level; `from` is valid for reading one number per lane.
            #[inline(always)]
            pub unsafe fn load($source: *const f64) -> $reg {
                // SAFETY: guaranteed by the caller.
                unsafe { $load }
            }
            /// # Safety
            /// The CPU supports the register's level; `to` is valid for writing one number per lane.
            #[inline(always)]
            pub unsafe fn store($x: $reg, $to: *mut f64) {
                // SAFETY: guaranteed by the caller.
                unsafe { $store }
            }
            /// # Safety
            /// As for [`store`].
            #[inline(always)]
            pub unsafe fn integers($y: $reg, $place: *mut i32) {
                // SAFETY: guaranteed by the caller.
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
