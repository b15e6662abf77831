//! Level sse4 on ARM: NEON, 128-bit registers, which every 64-bit ARM core has.
//!
//! CUDACPP also uses the name `sse4` here. Documentation of the intrinsics:
//! <https://developer.arm.com/architectures/instruction-sets/intrinsics/>.
//!
//! `max` and `min` use the instructions that return the number if one operand is NaN.
//!
//! There is no fused `a * b - c`; `a * b + (-c)` is used instead, which rounds in the same way.

use super::{Level, Operation, Simd, Task, edges};
use std::arch::aarch64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Defines one register type from intrinsics whose names end in `q_` and the type of the numbers.
macro_rules! register {
    (
        $name:ident: $reg:ident of $lanes:literal $scalar:ident, mask $mask:ident of $bits:ident,
        splat $splat:ident, load $load:ident, store $store:ident, single $single:tt, edges $edges:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, neg $neg:ident,
        fused ($mul_add:ident $neg_mul_add:ident), sqrt $sqrt:ident, max $max:ident, min $min:ident, abs $abs:ident,
        compare ($lt:ident $le:ident $eq:ident), and $and:ident, select $select:ident,
        same $same:ident, words $words:path
    ) => {
        /// Register of level sse4.
        #[derive(Clone, Copy)]
        pub struct $name($reg);

        register!(@binary $name Add add $add);
        register!(@binary $name Sub sub $sub);
        register!(@binary $name Mul mul $mul);
        register!(@binary $name Div div $div);

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $neg(self.0) })
            }
        }

        impl Simd for $name {
            type Scalar = $scalar;
            type Mask = $mask;
            const LANES: usize = $lanes;
            const LEVEL: Level = Level::Sse4;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $splat(0.0) })
            }
            #[inline(always)]
            unsafe fn splat(x: $scalar) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $splat(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: guaranteed by the caller.
                $name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: guaranteed by the caller.
                unsafe { $store(to, self.0) }
            }
            register!(@single $single);
            #[inline(always)]
            unsafe fn columns(from: *const f64, stride: usize) -> [Self; 4] {
                // SAFETY: guaranteed by the caller.
                let [a, b, c, d] = unsafe { edges::$edges::columns(from, stride) };
                [$name(a), $name(b), $name(c), $name(d)]
            }
            #[inline(always)]
            unsafe fn load_doubles(from: *const f64) -> Self {
                // SAFETY: guaranteed by the caller.
                $name(unsafe { edges::$edges::load(from) })
            }
            #[inline(always)]
            unsafe fn store_doubles(self, to: *mut f64) {
                // SAFETY: guaranteed by the caller.
                unsafe { edges::$edges::store(self.0, to) }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut i32) {
                // SAFETY: guaranteed by the caller.
                unsafe { edges::$edges::integers(self.0, to) }
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $mul_add(c.0, self.0, b.0) })
            }
            #[inline(always)]
            fn mul_sub(self, b: Self, c: Self) -> Self {
                self.mul_add(b, -c)
            }
            #[inline(always)]
            fn neg_mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $neg_mul_add(c.0, self.0, b.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $max(self.0, b.0) })
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $min(self.0, b.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $select($same($bits::MAX ^ ($bits::MAX >> 1)), sign.0, self.0) })
            }
            #[inline(always)]
            fn lt(self, b: Self) -> Self::Mask {
                // SAFETY: NEON is part of every 64-bit ARM core.
                unsafe { $lt(self.0, b.0) }
            }
            #[inline(always)]
            fn le(self, b: Self) -> Self::Mask {
                // SAFETY: NEON is part of every 64-bit ARM core.
                unsafe { $le(self.0, b.0) }
            }
            #[inline(always)]
            fn eq(self, b: Self) -> Self::Mask {
                // SAFETY: NEON is part of every 64-bit ARM core.
                unsafe { $eq(self.0, b.0) }
            }
            #[inline(always)]
            fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                // SAFETY: NEON is part of every 64-bit ARM core.
                unsafe { $and(a, b) }
            }
            #[inline(always)]
            fn all(a: Self::Mask) -> bool {
                // SAFETY: NEON is part of every 64-bit ARM core.
                unsafe { vminvq_u32($words(a)) == u32::MAX }
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $select(mask, yes.0, no.0) })
            }
            #[inline(never)]
            unsafe fn call<T: Task<$scalar>>(task: T) -> T::Output {
                // SAFETY: guaranteed by the caller. NEON does not need a separate function.
                unsafe { task.run::<$name>() }
            }
            #[inline(never)]
            fn outlined<O: Operation<Self>>(self, operation: O) -> O::Output {
                operation.run()
            }
        }
    };

    (@single (same)) => {
        #[inline(always)]
        unsafe fn store_single(self, to: *mut f32) {
            // SAFETY: guaranteed by the caller; the numbers are already in single precision.
            unsafe { self.store(to) }
        }
    };
    (@single ($narrow:ident $store:ident)) => {
        #[inline(always)]
        unsafe fn store_single(self, to: *mut f32) {
            // SAFETY: guaranteed by the caller.
            unsafe { $store(to, $narrow(self.0)) }
        }
    };

    (@binary $name:ident $trait:ident $method:ident $instruction:ident) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: NEON is part of every 64-bit ARM core.
                $name(unsafe { $instruction(self.0, b.0) })
            }
        }
    };
}

register!(
    F64: float64x2_t of 2 f64, mask uint64x2_t of u64,
    splat vdupq_n_f64, load vld1q_f64, store vst1q_f64, single (vcvt_f32_f64 vst1_f32), edges f64x2,
    add vaddq_f64, sub vsubq_f64, mul vmulq_f64, div vdivq_f64, neg vnegq_f64,
    fused (vfmaq_f64 vfmsq_f64), sqrt vsqrtq_f64, max vmaxnmq_f64, min vminnmq_f64, abs vabsq_f64,
    compare (vcltq_f64 vcleq_f64 vceqq_f64), and vandq_u64, select vbslq_f64,
    same vdupq_n_u64, words vreinterpretq_u32_u64
);
register!(
    F32: float32x4_t of 4 f32, mask uint32x4_t of u32,
    splat vdupq_n_f32, load vld1q_f32, store vst1q_f32, single (same), edges f32x4,
    add vaddq_f32, sub vsubq_f32, mul vmulq_f32, div vdivq_f32, neg vnegq_f32,
    fused (vfmaq_f32 vfmsq_f32), sqrt vsqrtq_f32, max vmaxnmq_f32, min vminnmq_f32, abs vabsq_f32,
    compare (vcltq_f32 vcleq_f32 vceqq_f32), and vandq_u32, select vbslq_f32,
    same vdupq_n_u32, words std::convert::identity
);
