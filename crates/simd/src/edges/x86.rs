//! x86-64 registers.

use std::arch::x86_64::*;

edges! { f64x2: __m128d;
    columns(from, stride) {
        let (a, c) = (_mm_loadu_pd(from), _mm_loadu_pd(from.add(2)));
        let from = from.add(stride);
        let (b, d) = (_mm_loadu_pd(from), _mm_loadu_pd(from.add(2)));
        [
            _mm_unpacklo_pd(a, b),
            _mm_unpackhi_pd(a, b),
            _mm_unpacklo_pd(c, d),
            _mm_unpackhi_pd(c, d),
        ]
    }
    load(from) _mm_loadu_pd(from);
    store(x, to) { _mm_storeu_pd(to, x) }
    integers(x, to) _mm_storel_epi64(to.cast(), _mm_cvttpd_epi32(x));
}

edges! { f64x4: __m256d;
    columns(from, stride) {
        let third = 2 * stride;
        let (a, c) = (halves(from, third), halves(from.add(2), third));
        let from = from.add(stride);
        let (b, d) = (halves(from, third), halves(from.add(2), third));
        [
            _mm256_unpacklo_pd(a, b),
            _mm256_unpackhi_pd(a, b),
            _mm256_unpacklo_pd(c, d),
            _mm256_unpackhi_pd(c, d),
        ]
    }
    load(from) _mm256_loadu_pd(from);
    store(x, to) { _mm256_storeu_pd(to, x) }
    integers(x, to) _mm_storeu_si128(to.cast(), _mm256_cvttpd_epi32(x));
}

edges! { f64x8: __m512d;
    columns(from, stride) {
        let fifth = 4 * stride;
        let (a, b) = (two(from, fifth), two(from.add(stride), fifth));
        let from = from.add(2 * stride);
        let (c, d) = (two(from, fifth), two(from.add(stride), fifth));
        let (a, b) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        let (c, d) = (_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d));
        let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        [
            _mm512_permutex2var_pd(a, first, c),
            _mm512_permutex2var_pd(b, first, d),
            _mm512_permutex2var_pd(a, second, c),
            _mm512_permutex2var_pd(b, second, d),
        ]
    }
    load(from) _mm512_loadu_pd(from);
    store(x, to) { _mm512_storeu_pd(to, x) }
    integers(x, to) _mm256_storeu_si256(to.cast(), _mm512_cvttpd_epi32(x));
}

edges! { f32x4: __m128;
    columns(from, stride) {
        let (a, b) = (single(from), single(from.add(stride)));
        let from = from.add(2 * stride);
        let (c, d) = (single(from), single(from.add(stride)));
        let (e, f) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (g, h) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        [
            _mm_movelh_ps(e, g),
            _mm_movehl_ps(g, e),
            _mm_movelh_ps(f, h),
            _mm_movehl_ps(h, f),
        ]
    }
    load(from) single(from);
    store(x, to) {
        _mm_storeu_pd(to, _mm_cvtps_pd(x));
        _mm_storeu_pd(to.add(2), _mm_cvtps_pd(_mm_movehl_ps(x, x)));
    }
    integers(x, to) _mm_storeu_si128(to.cast(), _mm_cvttps_epi32(x));
}

edges! { f32x8: __m256;
    columns(from, stride) {
        let fifth = 4 * stride;
        let (a, b) = (two_single(from, fifth), two_single(from.add(stride), fifth));
        let from = from.add(2 * stride);
        let (c, d) = (two_single(from, fifth), two_single(from.add(stride), fifth));
        let (e, f) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (g, h) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let (e, f) = (_mm256_castps_pd(e), _mm256_castps_pd(f));
        let (g, h) = (_mm256_castps_pd(g), _mm256_castps_pd(h));
        [
            _mm256_castpd_ps(_mm256_unpacklo_pd(e, g)),
            _mm256_castpd_ps(_mm256_unpackhi_pd(e, g)),
            _mm256_castpd_ps(_mm256_unpacklo_pd(f, h)),
            _mm256_castpd_ps(_mm256_unpackhi_pd(f, h)),
        ]
    }
    load(from) two_single(from, 4);
    store(x, to) {
        _mm256_storeu_pd(to, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
        _mm256_storeu_pd(to.add(4), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x)));
    }
    integers(x, to) _mm256_storeu_si256(to.cast(), _mm256_cvttps_epi32(x));
}

edges! { f32x16: __m512;
    columns(from, stride) {
        let (a, b) = (four_single(from, stride), four_single(from.add(stride), stride));
        let from = from.add(2 * stride);
        let (c, d) = (four_single(from, stride), four_single(from.add(stride), stride));
        let (e, f) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (g, h) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let (e, f) = (_mm512_castps_pd(e), _mm512_castps_pd(f));
        let (g, h) = (_mm512_castps_pd(g), _mm512_castps_pd(h));
        [
            _mm512_castpd_ps(_mm512_unpacklo_pd(e, g)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(e, g)),
            _mm512_castpd_ps(_mm512_unpacklo_pd(f, h)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(f, h)),
        ]
    }
    load(from) join(_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8)));
    store(x, to) {
        let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(x));
        _mm512_storeu_pd(to, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
        _mm512_storeu_pd(to.add(8), _mm512_cvtps_pd(_mm256_castpd_ps(high)));
    }
    integers(x, to) _mm512_storeu_si512(to.cast(), _mm512_cvttps_epi32(x));
}

/// Two doubles, and two more at `distance` from them.
///
/// # Safety
/// The CPU supports AVX; `from` is valid for both reads.
#[inline(always)]
unsafe fn halves(from: *const f64, distance: usize) -> __m256d {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = _mm256_castpd128_pd256(_mm_loadu_pd(from));
        _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(from.add(distance)))
    }
}

/// Four doubles, and four more at `distance` from them.
///
/// # Safety
/// The CPU supports AVX-512; `from` is valid for both reads.
#[inline(always)]
unsafe fn two(from: *const f64, distance: usize) -> __m512d {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = _mm512_castpd256_pd512(_mm256_loadu_pd(from));
        _mm512_insertf64x4::<1>(low, _mm256_loadu_pd(from.add(distance)))
    }
}

/// Four doubles, rounded to single precision.
///
/// # Safety
/// The CPU supports SSE2; `from` is valid for this read.
#[inline(always)]
unsafe fn single(from: *const f64) -> __m128 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = _mm_cvtpd_ps(_mm_loadu_pd(from));
        _mm_movelh_ps(low, _mm_cvtpd_ps(_mm_loadu_pd(from.add(2))))
    }
}

/// As [`two`], rounded to single precision.
///
/// # Safety
/// The CPU supports AVX; `from` is valid for both reads.
#[inline(always)]
unsafe fn two_single(from: *const f64, distance: usize) -> __m256 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = _mm256_cvtpd_ps(_mm256_loadu_pd(from));
        _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(from.add(distance))), low)
    }
}

/// Four doubles of this event and of the 4th, 8th and 12th after it, rounded to single precision.
///
/// # Safety
/// The CPU supports AVX-512; `from` is valid for all four reads.
#[inline(always)]
unsafe fn four_single(from: *const f64, stride: usize) -> __m512 {
    // SAFETY: guaranteed by the caller.
    unsafe { join(two(from, 4 * stride), two(from.add(8 * stride), 4 * stride)) }
}

/// Two registers rounded to single precision and joined.
///
/// # Safety
/// The CPU supports AVX-512.
#[inline(always)]
unsafe fn join(low: __m512d, high: __m512d) -> __m512 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
        let high = _mm256_castps_pd(_mm512_cvtpd_ps(high));
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castps_pd(low), high))
    }
}
