// Numbers in registers: real, complex, and what the operations of a plan are about.
//
// Before this file REAL and COLOR are defined, each as double or float: the type of all working
// numbers, and that of the sum over colours. No function here knows of memory.

typedef REAL Real;
typedef COLOR Color;

// ---------------------------------------------------------------------------------------------
// Real numbers; products, quotients and roots that are rounded by themselves stand in compilers.cuh.

// a * b + c, rounded once.
DEVICE double fused(double a, double b, double c) { return fma(a, b, c); }
DEVICE float fused(float a, float b, float c) { return fmaf(a, b, c); }

// c - a * b, rounded once.
DEVICE double neg_fused(double a, double b, double c) { return fma(-a, b, c); }
DEVICE float neg_fused(float a, float b, float c) { return fmaf(-a, b, c); }

// A random number, below 1 also where it is rounded to 1: the shares of all choices add up to 1. Below 0 it counts as 0,
// and NaN as one that is too large.
DEVICE Real random_number(double x) {
    const Real below_one = 1 - (sizeof(Real) == 8 ? 0x1p-53 : 0x1p-24);
    const Real rounded = (Real)x;
    const Real below = rounded < below_one ? rounded : below_one;
    return below > 0 ? below : (Real)0;
}

DEVICE double magnitude(double a) { return fabs(a); }
DEVICE float magnitude(float a) { return fabsf(a); }

// The magnitude of the first with the sign of the second.
DEVICE double with_sign(double a, double sign) { return copysign(a, sign); }
DEVICE float with_sign(float a, float sign) { return copysignf(a, sign); }

DEVICE Real larger(Real a, Real b) { return a > b ? a : b; }
DEVICE Real smaller(Real a, Real b) { return a < b ? a : b; }

// ---------------------------------------------------------------------------------------------
// Complex numbers.

struct Cx {
    Real re, im;
};

DEVICE Cx cx(Real re, Real im) {
    Cx z;
    z.re = re;
    z.im = im;
    return z;
}

DEVICE Cx operator+(Cx a, Cx b) { return cx(a.re + b.re, a.im + b.im); }
DEVICE Cx operator-(Cx a, Cx b) { return cx(a.re - b.re, a.im - b.im); }
DEVICE Cx operator-(Cx a) { return cx(-a.re, -a.im); }
DEVICE Cx operator*(Cx a, Cx b) {
    return cx(neg_fused(a.im, b.im, a.re * b.re), fused(a.im, b.re, a.re * b.im));
}

// a * b + c
DEVICE Cx mul_add(Cx a, Cx b, Cx c) {
    return cx(neg_fused(a.im, b.im, fused(a.re, b.re, c.re)),
              fused(a.im, b.re, fused(a.re, b.im, c.im)));
}

// c - a * b
DEVICE Cx neg_mul_add(Cx a, Cx b, Cx c) {
    return cx(fused(a.im, b.im, neg_fused(a.re, b.re, c.re)),
              neg_fused(a.im, b.re, neg_fused(a.re, b.im, c.im)));
}

// conj(a) * b + c
DEVICE Cx conj_mul_add(Cx a, Cx b, Cx c) {
    return cx(fused(a.im, b.im, fused(a.re, b.re, c.re)),
              neg_fused(a.im, b.re, fused(a.re, b.im, c.im)));
}

// c - conj(a) * b
DEVICE Cx neg_conj_mul_add(Cx a, Cx b, Cx c) {
    return cx(neg_fused(a.im, b.im, neg_fused(a.re, b.re, c.re)),
              fused(a.im, b.re, neg_fused(a.re, b.im, c.im)));
}

// a * x for real x
DEVICE Cx scale(Cx a, Real x) { return cx(a.re * x, a.im * x); }

// a * x + c for real x
DEVICE Cx scale_add(Cx a, Real x, Cx c) { return cx(fused(a.re, x, c.re), fused(a.im, x, c.im)); }

// c - a * x for real x
DEVICE Cx neg_scale_add(Cx a, Real x, Cx c) {
    return cx(neg_fused(a.re, x, c.re), neg_fused(a.im, x, c.im));
}

// a + i b
DEVICE Cx add_i(Cx a, Cx b) { return cx(a.re - b.im, a.im + b.re); }

// a - i b
DEVICE Cx sub_i(Cx a, Cx b) { return cx(a.re + b.im, a.im - b.re); }

// i a
DEVICE Cx times_i(Cx a) { return cx(-a.im, a.re); }

// ---------------------------------------------------------------------------------------------
// What a plan's operations are about.

// A spinor or a vector.
struct Four {
    Cx c[4];
};

// (E, px, py, pz)
struct Momentum {
    Real p[4];
};

// Sums of products of components of wavefunctions; of spinors the first six alone.
struct Matrix {
    Real a[10];
};

DEVICE Four four(Cx a, Cx b, Cx c, Cx d) {
    Four v;
    v.c[0] = a;
    v.c[1] = b;
    v.c[2] = c;
    v.c[3] = d;
    return v;
}

DEVICE Four no_four() {
    Cx zero = cx(0, 0);
    return four(zero, zero, zero, zero);
}

DEVICE Four add_four(Four a, Four b) {
    return four(a.c[0] + b.c[0], a.c[1] + b.c[1], a.c[2] + b.c[2], a.c[3] + b.c[3]);
}

DEVICE Four negative(Four a) { return four(-a.c[0], -a.c[1], -a.c[2], -a.c[3]); }

// z v
DEVICE Four times(Cx z, Four v) { return four(z * v.c[0], z * v.c[1], z * v.c[2], z * v.c[3]); }

// z v + w
DEVICE Four times_add(Cx z, Four v, Four w) {
    return four(mul_add(z, v.c[0], w.c[0]), mul_add(z, v.c[1], w.c[1]),
                mul_add(z, v.c[2], w.c[2]), mul_add(z, v.c[3], w.c[3]));
}

// w - z v
DEVICE Four neg_times_add(Cx z, Four v, Four w) {
    return four(neg_mul_add(z, v.c[0], w.c[0]), neg_mul_add(z, v.c[1], w.c[1]),
                neg_mul_add(z, v.c[2], w.c[2]), neg_mul_add(z, v.c[3], w.c[3]));
}

DEVICE Momentum momentum(Real e, Real x, Real y, Real z) {
    Momentum p;
    p.p[0] = e;
    p.p[1] = x;
    p.p[2] = y;
    p.p[3] = z;
    return p;
}

DEVICE Momentum operator+(Momentum p, Momentum q) {
    return momentum(p.p[0] + q.p[0], p.p[1] + q.p[1], p.p[2] + q.p[2], p.p[3] + q.p[3]);
}

DEVICE Momentum operator-(Momentum p, Momentum q) {
    return momentum(p.p[0] - q.p[0], p.p[1] - q.p[1], p.p[2] - q.p[2], p.p[3] - q.p[3]);
}

// z p
DEVICE Four times(Cx z, Momentum p) {
    return four(scale(z, p.p[0]), scale(z, p.p[1]), scale(z, p.p[2]), scale(z, p.p[3]));
}

// z p + w
DEVICE Four times_add(Cx z, Momentum p, Four w) {
    return four(scale_add(z, p.p[0], w.c[0]), scale_add(z, p.p[1], w.c[1]),
                scale_add(z, p.p[2], w.c[2]), scale_add(z, p.p[3], w.c[3]));
}

// w - z p
DEVICE Four neg_times_add(Cx z, Momentum p, Four w) {
    return four(neg_scale_add(z, p.p[0], w.c[0]), neg_scale_add(z, p.p[1], w.c[1]),
                neg_scale_add(z, p.p[2], w.c[2]), neg_scale_add(z, p.p[3], w.c[3]));
}

// Product of two vectors, metric (+,-,-,-).
DEVICE Cx dot(Four a, Four b) {
    Cx t = a.c[0] * b.c[0];
    t = neg_mul_add(a.c[1], b.c[1], t);
    t = neg_mul_add(a.c[2], b.c[2], t);
    return neg_mul_add(a.c[3], b.c[3], t);
}

// The components of a wavefunction that is no spinor, vector or scalar: of spin 3/2 or 2.
template <int N> struct Several {
    Cx c[N];
};
typedef Several<16> Sixteen;

// Product of a momentum and a vector, metric (+,-,-,-).
DEVICE Cx dot(Momentum p, Four v) {
    Cx t = scale(v.c[0], p.p[0]);
    t = neg_scale_add(v.c[1], p.p[1], t);
    t = neg_scale_add(v.c[2], p.p[2], t);
    return neg_scale_add(v.c[3], p.p[3], t);
}

// ---------------------------------------------------------------------------------------------
// In the place of an index: there is none. (Also in `crates/backend/src/inputs.rs`.)
#define NONE (-1)

// How contributions of helicities are added (HelicitySum of crates/process): none is negative; as they are; by their
// absolute values, with the sign of the one that is chosen.
#define POSITIVE 0
#define SIGNED 1
#define ABSOLUTE 2
#ifndef HELICITY_SUM
#define HELICITY_SUM POSITIVE
#endif

// Whether |M|^2 is none: infinite, NaN or, as a sum of squares, negative.
DEVICE bool is_lost(Real x) { return (HELICITY_SUM == POSITIVE && x < 0) || x - x != 0; }

// What a contribution counts where a helicity is chosen.
DEVICE Real size_of(Real contribution) {
    return HELICITY_SUM == POSITIVE ? contribution : magnitude(contribution);
}

// Whether a random number is below `running / sum`.
CALLED bool is_below_quotient(Real random, Real running, Real sum) { return random < running / sum; }

// The same, without a division where a product decides beyond its rounding, as in crates/engine/src/block/choice.rs: the
// division would take most of the time of a choice.
DEVICE bool is_below(Real random, Real running, Real sum) {
    const Real threshold = random * sum, margin = threshold * (sizeof(Real) == 8 ? Real(0x1p-50) : Real(0x1p-21));
    if (0 < threshold && magnitude(running - threshold) > margin) return threshold < running;
    return is_below_quotient(random, running, sum);
}

// The first number of these, `value(i)`, with which a random part of their sum is exceeded, or NONE. The others are added as
// well, so that loads do not wait for comparisons.
template <class Value> DEVICE int choose(Real random, Real sum, unsigned begin, unsigned end, Value value) {
    Real running = 0;
    int chosen = NONE;
#pragma unroll 8
    for (unsigned i = begin; i < end; i++) {
        running += value(i);
        if (chosen < 0 && is_below(random, running, sum)) chosen = (int)i;
    }
    return chosen;
}

// ---------------------------------------------------------------------------------------------
// A momentum may be off its mass shell by this part of its energy squared.
#define OFF_SHELL Real(1e-4)

// Whether a momentum is on its mass shell and has a positive energy, which that of a crossed leg has not. Comparisons
// are false for NaN, and infinity minus infinity is NaN.
DEVICE bool on_shell(Momentum q, Real mass, bool crossed) {
    Real e2 = q.p[0] * q.p[0];
    Real p2 = fused(q.p[1], q.p[1], fused(q.p[2], q.p[2], fused(q.p[3], q.p[3], mass * mass)));
    return (magnitude(e2 - p2) < e2 * OFF_SHELL) & (crossed | (0 < q.p[0]));
}

// The sum of all momenta may be off zero by this part of the energy that comes in.
#define NOT_CONSERVED Real(1e-3)

// The sum of the momenta of an event, those of legs that go out negative, and the energy of the others.
struct Sum {
    Momentum off;
    Real energy;
};

// One leg more, of sign 1 or -1.
DEVICE Sum add_leg(Sum sum, Momentum q, Real sign) {
    for (int i = 0; i < 4; i++) sum.off.p[i] = fused(sign, q.p[i], sum.off.p[i]);
    if (0 < sign) sum.energy += q.p[0];
    return sum;
}

DEVICE bool conserved(Sum sum) {
    Real off = 0, most = sum.energy * NOT_CONSERVED;
    for (int i = 0; i < 4; i++) off = fused(sum.off.p[i], sum.off.p[i], off);
    return off < most * most;
}
