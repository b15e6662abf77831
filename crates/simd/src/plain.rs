//! Level none: a "register" is a single number.

use super::{Level, Operation, Simd, Task};
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! plain {
    ($name:ident, $scalar:ident) => {
        /// A single number.
        #[derive(Clone, Copy)]
        pub struct $name($scalar);

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                $name(self.0 + b.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                $name(self.0 - b.0)
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                $name(self.0 * b.0)
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                $name(self.0 / b.0)
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $name(-self.0)
            }
        }

        impl Simd for $name {
            type Scalar = $scalar;
            type Mask = bool;
            const LANES: usize = 1;
            const LEVEL: Level = Level::None;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $name(0.0)
            }
            #[inline(always)]
            unsafe fn splat(x: $scalar) -> Self {
                $name(x)
            }
            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: guaranteed by the caller.
                $name(unsafe { *from })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: guaranteed by the caller.
                unsafe { *to = self.0 }
            }
            #[inline(always)]
            unsafe fn store_single(self, to: *mut f32) {
                // SAFETY: guaranteed by the caller.
                unsafe { *to = self.0 as f32 }
            }
            #[inline(always)]
            unsafe fn columns(from: *const f64, _: usize) -> [Self; 4] {
                // SAFETY: guaranteed by the caller.
                let row = unsafe { *from.cast::<[f64; 4]>() };
                row.map(|x| $name(x as $scalar))
            }
            #[inline(always)]
            unsafe fn load_doubles(from: *const f64) -> Self {
                // SAFETY: guaranteed by the caller.
                $name(unsafe { *from } as $scalar)
            }
            #[inline(always)]
            unsafe fn store_doubles(self, to: *mut f64) {
                // SAFETY: guaranteed by the caller.
                unsafe { *to = self.0 as f64 }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut i32) {
                // SAFETY: guaranteed by the caller.
                unsafe { *to = self.0 as i32 }
            }
            // Not the standard library's mul_add, which is a slow call without the instruction.
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $name(self.0 * b.0 + c.0)
            }
            #[inline(always)]
            fn mul_sub(self, b: Self, c: Self) -> Self {
                $name(self.0 * b.0 - c.0)
            }
            #[inline(always)]
            fn neg_mul_add(self, b: Self, c: Self) -> Self {
                $name(c.0 - self.0 * b.0)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $name(self.0.sqrt())
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                $name(if self.0 > b.0 { self.0 } else { b.0 })
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                $name(if self.0 < b.0 { self.0 } else { b.0 })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $name(self.0.abs())
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $name(self.0.copysign(sign.0))
            }
            #[inline(always)]
            fn lt(self, b: Self) -> bool {
                self.0 < b.0
            }
            #[inline(always)]
            fn le(self, b: Self) -> bool {
                self.0 <= b.0
            }
            #[inline(always)]
            fn eq(self, b: Self) -> bool {
                self.0 == b.0
            }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn all(a: bool) -> bool {
                a
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            #[inline(never)]
            unsafe fn call<T: Task<$scalar>>(task: T) -> T::Output {
                // SAFETY: every CPU supports level none; the rest is guaranteed by the caller.
                unsafe { task.run::<Self>() }
            }
            #[inline(never)]
            fn outlined<O: Operation<Self>>(self, operation: O) -> O::Output {
                operation.run()
            }
        }
    };
}

plain!(F64, f64);
plain!(F32, f32);
