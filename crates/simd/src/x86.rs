//! Levels sse4, avx2, 512y and 512z.
//!
//! Documentation of the intrinsics: <https://www.intel.com/content/www/us/en/docs/intrinsics-guide/>. 512y uses the
//! instructions of avx2 here; its advantage is that the compiler, which may use AVX-512VL in its functions, has 32
//! registers.

use super::{Level, Operation, Simd, Task, edges};
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Writes the lower half of a register.
///
/// # Safety
/// `to` is valid for writing two numbers and aligned to their total size.
#[inline(always)]
unsafe fn store_half(to: *mut f32, x: __m128) {
    // SAFETY: guaranteed by the caller; SSE2 is part of x86-64.
    unsafe { _mm_storel_epi64(to.cast(), _mm_castps_si128(x)) }
}

/// Defines one register type. `fused` names the three fused instructions or is `twice`; `masks` selects the
/// implementation of comparisons and selections.
macro_rules! register {
    (
        $name:ident: $reg:ident of $lanes:literal $scalar:ident, $level:ident, $features:literal,
        zero $zero:ident, splat $splat:ident, load $load:ident, store $store:ident, single $single:tt, edges $edges:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, sqrt $sqrt:ident,
        max $max:ident, min $min:ident, and $and:ident, andnot $andnot:ident, or $or:ident, xor $xor:ident,
        fused $fused:tt, masks $masks:tt
    ) => {
        #[doc = concat!("Register of level ", stringify!($level), ".")]
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
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($xor(self.0, $splat(-0.0))) }
            }
        }

        impl Simd for $name {
            type Scalar = $scalar;
            register!(@masktype $masks $reg);
            const LANES: usize = $lanes;
            const LEVEL: Level = Level::$level;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { $name($zero()) }
            }
            #[inline(always)]
            unsafe fn splat(x: $scalar) -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { $name($splat(x)) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { $name($load(from)) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: guaranteed by the caller; `self` exists, so the CPU supports the level.
                unsafe { $store(to, self.0) }
            }
            register!(@single $single $scalar);
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
                // SAFETY: guaranteed by the caller; `self` exists, so the CPU supports the level.
                unsafe { edges::$edges::store(self.0, to) }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut i32) {
                // SAFETY: guaranteed by the caller; `self` exists, so the CPU supports the level.
                unsafe { edges::$edges::integers(self.0, to) }
            }
            register!(@fused $fused);
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($sqrt(self.0)) }
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($max(self.0, b.0)) }
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($min(self.0, b.0)) }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($andnot($splat(-0.0), self.0)) }
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe {
                    let bit = $splat(-0.0);
                    $name($or($andnot(bit, self.0), $and(bit, sign.0)))
                }
            }
            register!(@masks $masks);

            // `inline(never)` is needed because the compiler (1.95) ignores it on functions with target features; those
            // prevent `enabled` from being inlined into this function.
            #[inline(never)]
            unsafe fn call<T: Task<$scalar>>(task: T) -> T::Output {
                #[target_feature(enable = $features)]
                unsafe fn enabled<T: Task<$scalar>>(task: T) -> T::Output {
                    // SAFETY: guaranteed by the caller.
                    unsafe { task.run::<$name>() }
                }
                // SAFETY: guaranteed by the caller.
                unsafe { enabled(task) }
            }
            #[inline(always)]
            fn outlined<O: Operation<Self>>(self, operation: O) -> O::Output {
                #[target_feature(enable = $features)]
                fn enabled<O: Operation<$name>>(operation: O) -> O::Output {
                    operation.run()
                }
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { enabled(operation) }
            }
        }
    };

    (@binary $name:ident $trait:ident $method:ident $instruction:ident) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: `self` exists, so the CPU supports the level.
                unsafe { $name($instruction(self.0, b.0)) }
            }
        }
    };

    (@single (same) $scalar:ident) => {
        #[inline(always)]
        unsafe fn store_single(self, to: *mut f32) {
            // SAFETY: guaranteed by the caller; the numbers are already in single precision.
            unsafe { self.store(to) }
        }
    };
    (@single ($narrow:ident $store:ident) $scalar:ident) => {
        #[inline(always)]
        unsafe fn store_single(self, to: *mut f32) {
            // SAFETY: guaranteed by the caller; `self` exists, so the CPU supports the level.
            unsafe { $store(to, $narrow(self.0)) }
        }
    };

    (@fused (twice)) => {
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            self * b + c
        }
        #[inline(always)]
        fn mul_sub(self, b: Self, c: Self) -> Self {
            self * b - c
        }
        #[inline(always)]
        fn neg_mul_add(self, b: Self, c: Self) -> Self {
            c - self * b
        }
    };
    (@fused ($mul_add:ident $mul_sub:ident $neg_mul_add:ident)) => {
        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            // SAFETY: `self` exists, so the CPU supports the level.
            Self(unsafe { $mul_add(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn mul_sub(self, b: Self, c: Self) -> Self {
            // SAFETY: `self` exists, so the CPU supports the level.
            Self(unsafe { $mul_sub(self.0, b.0, c.0) })
        }
        #[inline(always)]
        fn neg_mul_add(self, b: Self, c: Self) -> Self {
            // SAFETY: `self` exists, so the CPU supports the level.
            Self(unsafe { $neg_mul_add(self.0, b.0, c.0) })
        }
    };

    (@masktype (bits $mask:ident $compare:ident $blend:ident) $reg:ident) => {
        type Mask = $mask;
    };
    (@masktype $other:tt $reg:ident) => {
        type Mask = $reg;
    };
    // Masks are in mask registers.
    (@masks (bits $mask:ident $compare:ident $blend:ident)) => {
        #[inline(always)]
        fn lt(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_LT_OQ>(self.0, b.0) }
        }
        #[inline(always)]
        fn le(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_LE_OQ>(self.0, b.0) }
        }
        #[inline(always)]
        fn eq(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_EQ_OQ>(self.0, b.0) }
        }
        #[inline(always)]
        fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            a & b
        }
        #[inline(always)]
        fn all(a: Self::Mask) -> bool {
            a == $mask::MAX
        }
        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            // SAFETY: `yes` exists, so the CPU supports the level.
            Self(unsafe { $blend(mask, no.0, yes.0) })
        }
    };
    // Masks are in ordinary registers, with one comparison instruction that takes a constant.
    (@masks (lanes $compare:ident $and:ident $bits:ident $blend:ident)) => {
        #[inline(always)]
        fn lt(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_LT_OQ>(self.0, b.0) }
        }
        #[inline(always)]
        fn le(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_LE_OQ>(self.0, b.0) }
        }
        #[inline(always)]
        fn eq(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $compare::<_CMP_EQ_OQ>(self.0, b.0) }
        }
        register!(@blend $and $bits $blend);
    };
    // Masks are in ordinary registers, with a separate instruction for each comparison.
    (@masks (each $lt:ident $le:ident $eq:ident $and:ident $bits:ident $blend:ident)) => {
        #[inline(always)]
        fn lt(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $lt(self.0, b.0) }
        }
        #[inline(always)]
        fn le(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $le(self.0, b.0) }
        }
        #[inline(always)]
        fn eq(self, b: Self) -> Self::Mask {
            // SAFETY: `self` exists, so the CPU supports the level.
            unsafe { $eq(self.0, b.0) }
        }
        register!(@blend $and $bits $blend);
    };
    (@blend $and:ident $bits:ident $blend:ident) => {
        #[inline(always)]
        fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            // SAFETY: masks come from comparisons of values that exist, so the CPU supports the level.
            unsafe { $and(a, b) }
        }
        #[inline(always)]
        fn all(a: Self::Mask) -> bool {
            // SAFETY: as above.
            unsafe { $bits(a) == (1 << Self::LANES) - 1 }
        }
        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            // SAFETY: `yes` exists, so the CPU supports the level.
            Self(unsafe { $blend(no.0, yes.0, mask) })
        }
    };
}

macro_rules! register128 {
    ($name:ident: $reg:ident of $lanes:literal $scalar:ident, $single:tt, $edges:ident,
     $set:ident $zero:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident
     $max:ident $min:ident $and:ident $andnot:ident $or:ident $xor:ident $lt:ident $le:ident $eq:ident $bits:ident $blend:ident) => {
        register!(
            $name: $reg of $lanes $scalar, Sse4, "sse4.2",
            zero $zero, splat $set, load $load, store $store, single $single, edges $edges,
            add $add, sub $sub, mul $mul, div $div, sqrt $sqrt,
            max $max, min $min, and $and, andnot $andnot, or $or, xor $xor,
            fused (twice), masks (each $lt $le $eq $and $bits $blend)
        );
    };
}

register128!(F64Sse4: __m128d of 2 f64, (_mm_cvtpd_ps store_half), f64x2,
    _mm_set1_pd _mm_setzero_pd _mm_load_pd _mm_store_pd _mm_add_pd _mm_sub_pd _mm_mul_pd _mm_div_pd _mm_sqrt_pd
    _mm_max_pd _mm_min_pd _mm_and_pd _mm_andnot_pd _mm_or_pd _mm_xor_pd _mm_cmplt_pd _mm_cmple_pd _mm_cmpeq_pd _mm_movemask_pd _mm_blendv_pd);
register128!(F32Sse4: __m128 of 4 f32, (same), f32x4,
    _mm_set1_ps _mm_setzero_ps _mm_load_ps _mm_store_ps _mm_add_ps _mm_sub_ps _mm_mul_ps _mm_div_ps _mm_sqrt_ps
    _mm_max_ps _mm_min_ps _mm_and_ps _mm_andnot_ps _mm_or_ps _mm_xor_ps _mm_cmplt_ps _mm_cmple_ps _mm_cmpeq_ps _mm_movemask_ps _mm_blendv_ps);

macro_rules! register256 {
    ($f64:ident $f32:ident $level:ident $features:literal) => {
        register!(
            $f64: __m256d of 4 f64, $level, $features,
            zero _mm256_setzero_pd, splat _mm256_set1_pd, load _mm256_load_pd, store _mm256_store_pd,
            single (_mm256_cvtpd_ps _mm_store_ps), edges f64x4,
            add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd, sqrt _mm256_sqrt_pd,
            max _mm256_max_pd, min _mm256_min_pd, and _mm256_and_pd, andnot _mm256_andnot_pd,
            or _mm256_or_pd, xor _mm256_xor_pd,
            fused (_mm256_fmadd_pd _mm256_fmsub_pd _mm256_fnmadd_pd),
            masks (lanes _mm256_cmp_pd _mm256_and_pd _mm256_movemask_pd _mm256_blendv_pd)
        );
        register!(
            $f32: __m256 of 8 f32, $level, $features,
            zero _mm256_setzero_ps, splat _mm256_set1_ps, load _mm256_load_ps, store _mm256_store_ps,
            single (same), edges f32x8,
            add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps, sqrt _mm256_sqrt_ps,
            max _mm256_max_ps, min _mm256_min_ps, and _mm256_and_ps, andnot _mm256_andnot_ps,
            or _mm256_or_ps, xor _mm256_xor_ps,
            fused (_mm256_fmadd_ps _mm256_fmsub_ps _mm256_fnmadd_ps),
            masks (lanes _mm256_cmp_ps _mm256_and_ps _mm256_movemask_ps _mm256_blendv_ps)
        );
    };
}

register256!(F64Avx2 F32Avx2 Avx2 "avx2,fma,bmi2");
register256!(F64Avx512y F32Avx512y Avx512y "avx2,fma,bmi2,avx512f,avx512vl,avx512dq");

register!(
    F64Avx512z: __m512d of 8 f64, Avx512z, "avx2,fma,bmi2,avx512f,avx512vl,avx512dq",
    zero _mm512_setzero_pd, splat _mm512_set1_pd, load _mm512_load_pd, store _mm512_store_pd,
    single (_mm512_cvtpd_ps _mm256_store_ps), edges f64x8,
    add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd, sqrt _mm512_sqrt_pd,
    max _mm512_max_pd, min _mm512_min_pd, and _mm512_and_pd, andnot _mm512_andnot_pd,
    or _mm512_or_pd, xor _mm512_xor_pd,
    fused (_mm512_fmadd_pd _mm512_fmsub_pd _mm512_fnmadd_pd),
    masks (bits __mmask8 _mm512_cmp_pd_mask _mm512_mask_blend_pd)
);
register!(
    F32Avx512z: __m512 of 16 f32, Avx512z, "avx2,fma,bmi2,avx512f,avx512vl,avx512dq",
    zero _mm512_setzero_ps, splat _mm512_set1_ps, load _mm512_load_ps, store _mm512_store_ps,
    single (same), edges f32x16,
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, sqrt _mm512_sqrt_ps,
    max _mm512_max_ps, min _mm512_min_ps, and _mm512_and_ps, andnot _mm512_andnot_ps,
    or _mm512_or_ps, xor _mm512_xor_ps,
    fused (_mm512_fmadd_ps _mm512_fmsub_ps _mm512_fnmadd_ps),
    masks (bits __mmask16 _mm512_cmp_ps_mask _mm512_mask_blend_ps)
);
