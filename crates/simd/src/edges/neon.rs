//! NEON registers.

use std::arch::aarch64::*;

edges! { f64x2: float64x2_t;
    columns(from, stride) {
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
    load(from) vld1q_f64(from);
    store(x, to) { vst1q_f64(to, x) }
    integers(x, to) vst1_s32(to, vmovn_s64(vcvtq_s64_f64(x)));
}

edges! { f32x4: float32x4_t;
    columns(from, stride) {
        let (a, b) = (single(from), single(from.add(stride)));
        let from = from.add(2 * stride);
        let (c, d) = (single(from), single(from.add(stride)));
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
    load(from) single(from);
    store(x, to) {
        vst1q_f64(to, vcvt_f64_f32(vget_low_f32(x)));
        vst1q_f64(to.add(2), vcvt_high_f64_f32(x));
    }
    integers(x, to) vst1q_s32(to, vcvtq_s32_f32(x));
}

/// Four doubles, rounded to single precision.
///
/// # Safety
/// `from` is valid for this read.
#[inline(always)]
unsafe fn single(from: *const f64) -> float32x4_t {
    // SAFETY: guaranteed by the caller.
    unsafe { vcvt_high_f32_f64(vcvt_f32_f64(vld1q_f64(from)), vld1q_f64(from.add(2))) }
}
