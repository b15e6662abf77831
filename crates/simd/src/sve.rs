//! Levels avx2 and 512z on 64-bit ARM: SVE registers of 256 and of 512 bits.
//!
//! Rust has neither SVE intrinsics nor types for its registers. A register here is an array, and an operation a loop
//! over it. In functions that may use SVE, LLVM turns the loops back into vector operations on registers, provided the
//! compiler is given a minimum register length: `-Cllvm-args=-aarch64-sve-vector-bits-min=256` in `.cargo/config.toml`.
//! This applies to the whole build, so a build has one of the two levels (`build.rs` determines which). A build without
//! the flag has neither.
//!
//! Instructions are predicated on the number of lanes used here, so longer registers work too; on shorter ones the
//! results would be incomplete. [`bits`] is the register length of this core.

use super::{Level, Operation, Simd, Task};
use std::ops::{Add, Div, Mul, Neg, Sub};

#[cfg(target_feature = "sve")]
compile_error!(
    "this build uses SVE in all functions, and would need its registers' length before it could look for it: \
     remove `-C target-cpu` and `-C target-feature=+sve` from the compiler's flags; SVE is chosen at run time"
);

/// Length in bits of the SVE registers of this core, as available to the current thread; 0 without SVE.
pub fn bits() -> usize {
    if !std::arch::is_aarch64_feature_detected!("sve") {
        return 0;
    }
    #[target_feature(enable = "sve")]
    fn bytes() -> usize {
        let bytes: usize;
        // SAFETY: the instruction writes one register; SVE is enabled in this function.
        unsafe {
            std::arch::asm!("rdvl {}, #1", out(reg) bytes, options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }
    // SAFETY: the core supports SVE.
    8 * unsafe { bytes() }
}

/// Defines one register type.
macro_rules! register {
    ($name:ident: $lanes:literal $scalar:ident aligned to $bytes:literal, $level:ident) => {
        #[doc = concat!("Register of level ", stringify!($level), ".")]
        #[derive(Clone, Copy)]
        #[repr(C, align($bytes))]
        pub struct $name([$scalar; $lanes]);

        register!(@binary $name Add add +=);
        register!(@binary $name Sub sub -=);
        register!(@binary $name Mul mul *=);
        register!(@binary $name Div div /=);

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(mut self) -> Self {
                for x in &mut self.0 {
                    *x = -*x;
                }
                self
            }
        }

        impl Simd for $name {
            type Scalar = $scalar;
            type Mask = [bool; $lanes];
            const LANES: usize = $lanes;
            const LEVEL: Level = Level::$level;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $name([0.0; $lanes])
            }
            #[inline(always)]
            unsafe fn splat(x: $scalar) -> Self {
                $name([x; $lanes])
            }
            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { *from.cast() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: guaranteed by the caller.
                unsafe { *to.cast() = self }
            }
            #[inline(always)]
            unsafe fn store_single(self, to: *mut f32) {
                for i in 0..$lanes {
                    // SAFETY: guaranteed by the caller.
                    unsafe { *to.add(i) = self.0[i] as f32 }
                }
            }
            #[inline(always)]
            unsafe fn columns(from: *const f64, stride: usize) -> [Self; 4] {
                let mut columns = [$name([0.0; $lanes]); 4];
                for i in 0..$lanes {
                    // SAFETY: guaranteed by the caller.
                    let row = unsafe { *from.add(i * stride).cast::<[f64; 4]>() };
                    for (column, x) in columns.iter_mut().zip(row) {
                        column.0[i] = x as $scalar;
                    }
                }
                columns
            }
            #[inline(always)]
            unsafe fn load_doubles(from: *const f64) -> Self {
                // SAFETY: guaranteed by the caller.
                let doubles = unsafe { *from.cast::<[f64; $lanes]>() };
                let mut y = $name([0.0; $lanes]);
                for i in 0..$lanes {
                    y.0[i] = doubles[i] as $scalar;
                }
                y
            }
            #[inline(always)]
            unsafe fn store_doubles(self, to: *mut f64) {
                for i in 0..$lanes {
                    // SAFETY: guaranteed by the caller.
                    unsafe { *to.add(i) = f64::from(self.0[i]) }
                }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut i32) {
                for i in 0..$lanes {
                    // SAFETY: guaranteed by the caller.
                    unsafe { *to.add(i) = self.0[i] as i32 }
                }
            }
            #[inline(always)]
            fn mul_add(mut self, b: Self, c: Self) -> Self {
                for i in 0..$lanes {
                    self.0[i] = self.0[i].mul_add(b.0[i], c.0[i]);
                }
                self
            }
            #[inline(always)]
            fn mul_sub(self, b: Self, c: Self) -> Self {
                self.mul_add(b, -c)
            }
            #[inline(always)]
            fn neg_mul_add(self, b: Self, c: Self) -> Self {
                (-self).mul_add(b, c)
            }
            register!(@single sqrt);
            register!(@single abs);
            register!(@pair $lanes max);
            register!(@pair $lanes min);
            register!(@pair $lanes copysign);
            register!(@compare $lanes lt <);
            register!(@compare $lanes le <=);
            register!(@compare $lanes eq ==);
            #[inline(always)]
            fn both(mut a: Self::Mask, b: Self::Mask) -> Self::Mask {
                for i in 0..$lanes {
                    a[i] &= b[i];
                }
                a
            }
            #[inline(always)]
            fn all(a: Self::Mask) -> bool {
                let mut all = true;
                for yes in a {
                    all &= yes;
                }
                all
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, mut no: Self) -> Self {
                for i in 0..$lanes {
                    no.0[i] = if mask[i] { yes.0[i] } else { no.0[i] };
                }
                no
            }
            #[inline(never)]
            unsafe fn call<T: Task<$scalar>>(task: T) -> T::Output {
                #[target_feature(enable = "sve")]
                unsafe fn enabled<T: Task<$scalar>>(task: T) -> T::Output {
                    // SAFETY: guaranteed by the caller.
                    unsafe { task.run::<$name>() }
                }
                // SAFETY: guaranteed by the caller.
                unsafe { enabled(task) }
            }
            #[inline(always)]
            fn outlined<O: Operation<Self>>(self, operation: O) -> O::Output {
                #[target_feature(enable = "sve")]
                fn enabled<O: Operation<$name>>(operation: O) -> O::Output {
                    operation.run()
                }
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { enabled(operation) }
            }
        }
    };

    (@binary $name:ident $trait:ident $method:ident $assign:tt) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(mut self, b: Self) -> Self {
                for (x, y) in self.0.iter_mut().zip(b.0) {
                    *x $assign y;
                }
                self
            }
        }
    };

    (@single $method:ident) => {
        #[inline(always)]
        fn $method(mut self) -> Self {
            for x in &mut self.0 {
                *x = x.$method();
            }
            self
        }
    };

    (@pair $lanes:literal $method:ident) => {
        #[inline(always)]
        fn $method(mut self, b: Self) -> Self {
            for i in 0..$lanes {
                self.0[i] = self.0[i].$method(b.0[i]);
            }
            self
        }
    };

    (@compare $lanes:literal $method:ident $operator:tt) => {
        #[inline(always)]
        fn $method(self, b: Self) -> Self::Mask {
            let mut mask = [false; $lanes];
            for i in 0..$lanes {
                mask[i] = self.0[i] $operator b.0[i];
            }
            mask
        }
    };
}

#[cfg(sve_bits = "256")]
register!(F64Avx2: 4 f64 aligned to 32, Avx2);
#[cfg(sve_bits = "256")]
register!(F32Avx2: 8 f32 aligned to 32, Avx2);
#[cfg(sve_bits = "512")]
register!(F64Avx512z: 8 f64 aligned to 64, Avx512z);
#[cfg(sve_bits = "512")]
register!(F32Avx512z: 16 f32 aligned to 64, Avx512z);

// Levels that a build does not support are never used; mapping them to level none generates no code.
#[cfg(not(sve_bits = "256"))]
pub use super::plain::{F32 as F32Avx2, F64 as F64Avx2};
#[cfg(not(sve_bits = "512"))]
pub use super::plain::{F32 as F32Avx512z, F64 as F64Avx512z};
