//! Level sse4 of ARM: NEON, 128-bit registers, which every 64-bit ARM core has.
//!
//! CUDACPP calls this level `sse4` there, too. The intrinsics' documentation:
//! <https://developer.arm.com/architectures/instruction-sets/intrinsics/>.
//!
//! `max` and `min` are the instructions that give the number where one operand is NaN.
//!
//! There is no fused `a * b - c`: it is `a * b + (-c)`, which rounds the same.

use super::{Level, Simd, Task};
use std::arch::aarch64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// One register type: its intrinsics have names that end in `q_` and the type of the numbers.
macro_rules! register {
    (
        $name:ident: $reg:ident of $lanes:literal $scalar:ident, mask $mask:ident of $bits:ident,
        splat $splat:ident, load $load:ident, store $store:ident, edges $edges:ident,
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
                // SAFETY: the caller's promise.
                $name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn store_single(self, to: *mut f32) {
                // SAFETY: the caller's promise.
                unsafe { $edges::store_single(self.0, to) }
            }
            #[inline(always)]
            unsafe fn columns(from: *const f64, stride: usize) -> [Self; 4] {
                // SAFETY: the caller's promise.
                let [a, b, c, d] = unsafe { $edges::columns(from, stride) };
                [$name(a), $name(b), $name(c), $name(d)]
            }
            #[inline(always)]
            unsafe fn load_doubles(from: *const f64) -> Self {
                // SAFETY: the caller's promise.
                $name(unsafe { $edges::load(from) })
            }
            #[inline(always)]
            unsafe fn store_doubles(self, to: *mut f64) {
                // SAFETY: the caller's promise.
                unsafe { $edges::store(self.0, to) }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut i32) {
                // SAFETY: the caller's promise.
                unsafe { $edges::integers(self.0, to) }
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
                // SAFETY: the caller's promise. NEON needs no function of its own.
                unsafe { task.run::<$name>() }
            }
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
    splat vdupq_n_f64, load vld1q_f64, store vst1q_f64, edges of_f64,
    add vaddq_f64, sub vsubq_f64, mul vmulq_f64, div vdivq_f64, neg vnegq_f64,
    fused (vfmaq_f64 vfmsq_f64), sqrt vsqrtq_f64, max vmaxnmq_f64, min vminnmq_f64, abs vabsq_f64,
    compare (vcltq_f64 vcleq_f64 vceqq_f64), and vandq_u64, select vbslq_f64,
    same vdupq_n_u64, words vreinterpretq_u32_u64
);
register!(
    F32: float32x4_t of 4 f32, mask uint32x4_t of u32,
    splat vdupq_n_f32, load vld1q_f32, store vst1q_f32, edges of_f32,
    add vaddq_f32, sub vsubq_f32, mul vmulq_f32, div vdivq_f32, neg vnegq_f32,
    fused (vfmaq_f32 vfmsq_f32), sqrt vsqrtq_f32, max vmaxnmq_f32, min vminnmq_f32, abs vabsq_f32,
    compare (vcltq_f32 vcleq_f32 vceqq_f32), and vandq_u32, select vbslq_f32,
    same vdupq_n_u32, words std::convert::identity
);

/// Between arrays of doubles and registers of them, as `edges.rs` has it for x86-64.
mod of_f64 {
    use std::arch::aarch64::*;

    /// # Safety
    /// For each lane four numbers can be read at `lane * stride`.
    #[inline(always)]
    pub unsafe fn columns(from: *const f64, stride: usize) -> [float64x2_t; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, c) = (vld1q_f64(from), vld1q_f64(from.add(2)));
            let from = from.add(stride);
            let (b, d) = (vld1q_f64(from), vld1q_f64(from.add(2)));
            [
                vtrn1q_f64(a, b),
                vtrn2q_f64(a, b),
                vtrn1q_f64(c, d),
                vtrn2q_f64(c, d),
            ]
        }
    }
    /// # Safety
    /// `from` is valid for a read of a number for each lane.
    #[inline(always)]
    pub unsafe fn load(from: *const f64) -> float64x2_t {
        // SAFETY: the caller's promise.
        unsafe { vld1q_f64(from) }
    }
    /// # Safety
    /// `to` is valid for a write of a number for each lane.
    #[inline(always)]
    pub unsafe fn store(x: float64x2_t, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_f64(to, x) }
    }
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    pub unsafe fn store_single(x: float64x2_t, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { vst1_f32(to, vcvt_f32_f64(x)) }
    }
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    pub unsafe fn integers(x: float64x2_t, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { vst1_s32(to, vmovn_s64(vcvtq_s64_f64(x))) }
    }
}

/// The same with registers of single precision.
mod of_f32 {
    use std::arch::aarch64::*;

    /// # Safety
    /// For each lane four numbers can be read at `lane * stride`.
    #[inline(always)]
    pub unsafe fn columns(from: *const f64, stride: usize) -> [float32x4_t; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (load(from), load(from.add(stride)));
            let from = from.add(2 * stride);
            let (c, d) = (load(from), load(from.add(stride)));
            // The first and third numbers of two events, and their second and fourth.
            let e = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
            let f = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
            let g = vreinterpretq_f64_f32(vtrn1q_f32(c, d));
            let h = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
            [
                vreinterpretq_f32_f64(vtrn1q_f64(e, g)),
                vreinterpretq_f32_f64(vtrn1q_f64(f, h)),
                vreinterpretq_f32_f64(vtrn2q_f64(e, g)),
                vreinterpretq_f32_f64(vtrn2q_f64(f, h)),
            ]
        }
    }
    /// # Safety
    /// `from` is valid for a read of a number for each lane.
    #[inline(always)]
    pub unsafe fn load(from: *const f64) -> float32x4_t {
        // SAFETY: the caller's promise.
        unsafe { vcvt_high_f32_f64(vcvt_f32_f64(vld1q_f64(from)), vld1q_f64(from.add(2))) }
    }
    /// # Safety
    /// `to` is valid for a write of a number for each lane.
    #[inline(always)]
    pub unsafe fn store(x: float32x4_t, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            vst1q_f64(to, vcvt_f64_f32(vget_low_f32(x)));
            vst1q_f64(to.add(2), vcvt_high_f64_f32(x));
        }
    }
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    pub unsafe fn store_single(x: float32x4_t, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_f32(to, x) }
    }
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    pub unsafe fn integers(x: float32x4_t, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_s32(to, vcvtq_s32_f32(x)) }
    }
}
