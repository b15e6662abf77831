// The vertices: a function for each operation of a fixed layout, named after its opcode. Arguments are in the
// order of the layout: the wavefunctions at the vertex, factors, momenta, mass. crates/ops/src/table.rs describes
// what each function computes; the formulas are those of crates/ops/src/kernels.
//
// Spinors are in the chiral representation: in a spinor that flows in, c[0] and c[1] are the left-handed
// half and c[2], c[3] the right-handed one; for a flowing-out one the halves that they meet across a
// vector are exchanged. A slashed vector therefore is two 2x2 matrices of four numbers: with
// A = V0 + sigma V and B = V0 - sigma V (Pauli matrices on the contravariant components) the vertex
// is f2R A f1L + f2L B f1R.

// V0 + V3, V0 - V3, V1 + i V2, V1 - i V2
struct Slashed {
    Cx plus, minus, up, down;
};

DEVICE Slashed slash(Four v) {
    Slashed s;
    s.plus = v.c[0] + v.c[3];
    s.minus = v.c[0] - v.c[3];
    s.up = add_i(v.c[1], v.c[2]);
    s.down = sub_i(v.c[1], v.c[2]);
    return s;
}

// Two components of a spinor.
struct Half {
    Cx a, b;
};

DEVICE Half half_spinor(Cx a, Cx b) {
    Half h;
    h.a = a;
    h.b = b;
    return h;
}

DEVICE Half times(Cx z, Half h) { return half_spinor(z * h.a, z * h.b); }

// A f1L, a right-handed half.
DEVICE Half on_left(Slashed v, Four f) {
    return half_spinor(mul_add(v.plus, f.c[0], v.down * f.c[1]), mul_add(v.up, f.c[0], v.minus * f.c[1]));
}

// B f1R, a left-handed half.
DEVICE Half on_right(Slashed v, Four f) {
    return half_spinor(neg_mul_add(v.down, f.c[3], v.minus * f.c[2]),
                neg_mul_add(v.up, f.c[2], v.plus * f.c[3]));
}

// f2R A
DEVICE Half row_left(Slashed v, Four f) {
    return half_spinor(mul_add(v.plus, f.c[2], v.up * f.c[3]), mul_add(v.down, f.c[2], v.minus * f.c[3]));
}

// f2L B
DEVICE Half row_right(Slashed v, Four f) {
    return half_spinor(neg_mul_add(v.up, f.c[1], v.minus * f.c[0]),
                neg_mul_add(v.down, f.c[0], v.plus * f.c[1]));
}

// (m - p/) u
DEVICE Four propagate_in(Four u, Momentum p, Real m) {
    Real plus = p.p[0] + p.p[3], minus = p.p[0] - p.p[3];
    Cx pt = cx(p.p[1], p.p[2]);
    return four(conj_mul_add(pt, u.c[3], neg_scale_add(u.c[2], minus, scale(u.c[0], m))),
                mul_add(pt, u.c[2], neg_scale_add(u.c[3], plus, scale(u.c[1], m))),
                neg_conj_mul_add(pt, u.c[1], neg_scale_add(u.c[0], plus, scale(u.c[2], m))),
                neg_mul_add(pt, u.c[0], neg_scale_add(u.c[1], minus, scale(u.c[3], m))));
}

// (m - p/) u, the left-handed half of u being zero.
DEVICE Four propagate_in(Half u, Momentum p, Real m) {
    Real plus = p.p[0] + p.p[3], minus = p.p[0] - p.p[3];
    Cx pt = cx(p.p[1], p.p[2]);
    return four(conj_mul_add(pt, u.b, -scale(u.a, minus)), mul_add(pt, u.a, -scale(u.b, plus)),
                scale(u.a, m), scale(u.b, m));
}

// w (m + p/)
DEVICE Four propagate_out(Four w, Momentum p, Real m) {
    Real plus = p.p[0] + p.p[3], minus = p.p[0] - p.p[3];
    Cx pt = cx(p.p[1], p.p[2]);
    return four(mul_add(pt, w.c[3], scale_add(w.c[2], plus, scale(w.c[0], m))),
                conj_mul_add(pt, w.c[2], scale_add(w.c[3], minus, scale(w.c[1], m))),
                neg_mul_add(pt, w.c[1], scale_add(w.c[0], minus, scale(w.c[2], m))),
                neg_conj_mul_add(pt, w.c[0], scale_add(w.c[1], plus, scale(w.c[3], m))));
}

// w (m + p/), the second half of w being zero.
DEVICE Four propagate_out(Half w, Momentum p, Real m) {
    Real plus = p.p[0] + p.p[3], minus = p.p[0] - p.p[3];
    Cx pt = cx(p.p[1], p.p[2]);
    return four(scale(w.a, m), scale(w.b, m), neg_mul_add(pt, w.b, scale(w.a, minus)),
                neg_conj_mul_add(pt, w.a, scale(w.b, plus)));
}

// The numerator of a massive vector in unitary gauge: v - p (p v) / m^2.
DEVICE Four unitary(Four v, Momentum p, Real m) {
    Cx pv = scale(dot(p, v), quotient(Real(1), m * m));
    return neg_times_add(pv, p, v);
}

// ---------------------------------------------------------------------------------------------
// Fermion line and vector.

// f2 A f1, left-handed half of f1.
DEVICE Cx meet_left(Four f1, Four f2, Slashed v) {
    Half h = on_left(v, f1);
    return mul_add(h.a, f2.c[2], h.b * f2.c[3]);
}

DEVICE Cx Ffv0(Four f1, Four f2, Four v, Cx factor) {
    Slashed s = slash(v);
    Half h = on_right(s, f1);
    return factor * mul_add(h.a, f2.c[0], mul_add(h.b, f2.c[1], meet_left(f1, f2, s)));
}

DEVICE Cx FfvL0(Four f1, Four f2, Four v, Cx factor) {
    return factor * meet_left(f1, f2, slash(v));
}

DEVICE Cx FfvLr0(Four f1, Four f2, Four v, Cx left, Cx right) {
    Slashed s = slash(v);
    Half h = on_right(s, f1);
    Cx other = mul_add(h.a, f2.c[0], h.b * f2.c[1]);
    return mul_add(left, meet_left(f1, f2, s), right * other);
}

DEVICE Four FfvLr1(Four f2, Four v, Cx left, Cx right, Momentum p, Real m) {
    Slashed s = slash(v);
    Half a = times(left, row_left(s, f2)), b = times(right, row_right(s, f2));
    return propagate_out(four(a.a, a.b, b.a, b.b), p, m);
}

DEVICE Four Ffv1(Four f2, Four v, Cx factor, Momentum p, Real m) {
    return FfvLr1(f2, v, factor, factor, p, m);
}

DEVICE Four FfvL1(Four f2, Four v, Cx factor, Momentum p, Real m) {
    return propagate_out(times(factor, row_left(slash(v), f2)), p, m);
}

DEVICE Four FfvLr2(Four f1, Four v, Cx left, Cx right, Momentum p, Real m) {
    Slashed s = slash(v);
    Half b = times(left, on_left(s, f1)), a = times(right, on_right(s, f1));
    return propagate_in(four(a.a, a.b, b.a, b.b), p, m);
}

DEVICE Four Ffv2(Four f1, Four v, Cx factor, Momentum p, Real m) {
    return FfvLr2(f1, v, factor, factor, p, m);
}

DEVICE Four FfvL2(Four f1, Four v, Cx factor, Momentum p, Real m) {
    return propagate_in(times(factor, on_left(slash(v), f1)), p, m);
}

// f2 gamma f1
DEVICE Four ffv_current(Four f1, Four f2) {
    Cx s = mul_add(f1.c[2], f2.c[0], f1.c[1] * f2.c[3]);
    Cx t = mul_add(f1.c[3], f2.c[1], f1.c[0] * f2.c[2]);
    Cx x = neg_mul_add(f1.c[0], f2.c[3], f1.c[2] * f2.c[1]);
    Cx y = neg_mul_add(f1.c[1], f2.c[2], f1.c[3] * f2.c[0]);
    return four(s + t, x + y, times_i(x - y), s - t);
}

DEVICE Four FfvLr3(Four f1, Four f2, Cx left, Cx right) {
    return ffv_current(four(left * f1.c[0], left * f1.c[1], right * f1.c[2], right * f1.c[3]), f2);
}

DEVICE Four Ffv3(Four f1, Four f2, Cx factor) { return FfvLr3(f1, f2, factor, factor); }

DEVICE Four FfvL3(Four f1, Four f2, Cx factor) {
    Cx a = factor * f1.c[0], b = factor * f1.c[1];
    Cx s = b * f2.c[3], t = a * f2.c[2];
    Cx x = a * f2.c[3], y = b * f2.c[2];
    return four(s + t, -(x + y), times_i(y - x), s - t);
}

DEVICE Four FfvMassive3(Four f1, Four f2, Cx factor, Momentum p, Real m) {
    return unitary(Ffv3(f1, f2, factor), p, m);
}

DEVICE Four FfvLMassive3(Four f1, Four f2, Cx factor, Momentum p, Real m) {
    return unitary(FfvL3(f1, f2, factor), p, m);
}

DEVICE Four FfvLrMassive3(Four f1, Four f2, Cx left, Cx right, Momentum p, Real m) {
    return unitary(FfvLr3(f1, f2, left, right), p, m);
}

// ---------------------------------------------------------------------------------------------
// Fermion line and scalar: the halves of the spinors meet their own kind.

DEVICE Cx FfsLr3(Four f1, Four f2, Cx left, Cx right) {
    Cx l = mul_add(f1.c[0], f2.c[0], f1.c[1] * f2.c[1]);
    Cx r = mul_add(f1.c[2], f2.c[2], f1.c[3] * f2.c[3]);
    return mul_add(left, l, right * r);
}

DEVICE Cx FfsLr0(Four f1, Four f2, Cx s, Cx left, Cx right) {
    return FfsLr3(f1, f2, left, right) * s;
}

// The spinor times scalar and factors.
DEVICE Four ffs_scaled(Four f, Cx s, Cx left, Cx right) {
    left = left * s;
    right = right * s;
    return four(left * f.c[0], left * f.c[1], right * f.c[2], right * f.c[3]);
}

DEVICE Four FfsLr1(Four f2, Cx s, Cx left, Cx right, Momentum p, Real m) {
    return propagate_out(ffs_scaled(f2, s, left, right), p, m);
}

DEVICE Four FfsLr2(Four f1, Cx s, Cx left, Cx right, Momentum p, Real m) {
    return propagate_in(ffs_scaled(f1, s, left, right), p, m);
}

// ---------------------------------------------------------------------------------------------
// Three vectors with the Yang-Mills structure, all momenta flowing in.

DEVICE Cx Vvv0(Four v1, Four v2, Four v3, Cx factor, Momentum p1, Momentum p2, Momentum p3) {
    Cx sum = dot(v1, v2) * dot(p2 - p1, v3);
    sum = mul_add(dot(v1, v3), dot(p1 - p3, v2), sum);
    sum = mul_add(dot(v2, v3), dot(p3 - p2, v1), sum);
    return factor * sum;
}

// With p1 = -(p2 + p3): (V2 V3) (p3 - p2) + V2 (V3 (2 p2 + p3)) - V3 (V2 (p2 + 2 p3)).
DEVICE Four Vvv1(Four v2, Four v3, Cx factor, Momentum p2, Momentum p3) {
    Momentum p = p2 + p3;
    Cx along = factor * dot(v2, v3);
    Cx with2 = factor * dot(p + p2, v3);
    Cx with3 = factor * dot(p + p3, v2);
    return neg_times_add(with3, v3, times_add(with2, v2, times(along, p3 - p2)));
}

DEVICE Four VvvMassive1(Four v2, Four v3, Cx factor, Momentum p2, Momentum p3, Real m) {
    return unitary(Vvv1(v2, v3, factor, p2, p3), p2 + p3, m);
}

// ---------------------------------------------------------------------------------------------
// Four vectors: products of the metric.

DEVICE Cx VvvvDiff0(Four v1, Four v2, Four v3, Four v4, Cx factor) {
    return factor * neg_mul_add(dot(v1, v4), dot(v2, v3), dot(v1, v3) * dot(v2, v4));
}

DEVICE Four VvvvDiff1(Four v2, Four v3, Four v4, Cx factor) {
    Cx with3 = factor * dot(v2, v4);
    Cx with4 = factor * dot(v2, v3);
    return neg_times_add(with4, v4, times(with3, v3));
}

DEVICE Cx Vvvv0(Four v1, Four v2, Four v3, Four v4, Cx f12, Cx f13, Cx f14) {
    Cx sum = f12 * (dot(v1, v2) * dot(v3, v4));
    sum = mul_add(f13, dot(v1, v3) * dot(v2, v4), sum);
    return mul_add(f14, dot(v1, v4) * dot(v2, v3), sum);
}

DEVICE Four Vvvv1(Four v2, Four v3, Four v4, Cx f2, Cx f3, Cx f4) {
    Cx with2 = f2 * dot(v3, v4);
    Cx with3 = f3 * dot(v2, v4);
    Cx with4 = f4 * dot(v2, v3);
    return times_add(with4, v4, times_add(with3, v3, times(with2, v2)));
}

DEVICE Four VvvvMassive1(Four v2, Four v3, Four v4, Cx f2, Cx f3, Cx f4, Momentum p, Real m) {
    return unitary(Vvvv1(v2, v3, v4, f2, f3, f4), p, m);
}

// ---------------------------------------------------------------------------------------------
// Vectors and scalars.

DEVICE Cx Vss0(Four v1, Cx s2, Cx s3, Cx factor, Momentum, Momentum p2, Momentum p3) {
    return factor * (s2 * s3) * dot(p2 - p3, v1);
}

DEVICE Four Vss1(Cx s2, Cx s3, Cx factor, Momentum p2, Momentum p3) {
    return times(factor * (s2 * s3), p2 - p3);
}

DEVICE Four VssMassive1(Cx s2, Cx s3, Cx factor, Momentum p2, Momentum p3, Real m) {
    return unitary(Vss1(s2, s3, factor, p2, p3), p2 + p3, m);
}

DEVICE Cx Vss3(Four v1, Cx s2, Cx factor, Momentum p1, Momentum p2) {
    return factor * s2 * dot(p1 + p2 + p2, v1);
}

DEVICE Cx Vvs0(Four v1, Four v2, Cx s3, Cx factor) { return factor * s3 * dot(v1, v2); }

DEVICE Four Vvs1(Four v2, Cx s3, Cx factor) { return times(factor * s3, v2); }

DEVICE Four VvsMassive1(Four v2, Cx s3, Cx factor, Momentum p, Real m) {
    return unitary(Vvs1(v2, s3, factor), p, m);
}

DEVICE Cx Vvs3(Four v1, Four v2, Cx factor) { return factor * dot(v1, v2); }

DEVICE Cx Vvss0(Four v1, Four v2, Cx s3, Cx s4, Cx factor) {
    return factor * (s3 * s4) * dot(v1, v2);
}

DEVICE Four Vvss1(Four v2, Cx s3, Cx s4, Cx factor) { return times(factor * (s3 * s4), v2); }

DEVICE Cx Vvss4(Four v1, Four v2, Cx s3, Cx factor) { return factor * s3 * dot(v1, v2); }

// ---------------------------------------------------------------------------------------------
// Scalars alone.

DEVICE Cx Sss0(Cx s1, Cx s2, Cx s3, Cx factor) { return factor * s1 * s2 * s3; }

DEVICE Cx Sss1(Cx s2, Cx s3, Cx factor) { return factor * s2 * s3; }

DEVICE Cx Ssss0(Cx s1, Cx s2, Cx s3, Cx s4, Cx factor) { return factor * s1 * s2 * s3 * s4; }

DEVICE Cx Ssss1(Cx s2, Cx s3, Cx s4, Cx factor) { return factor * s2 * s3 * s4; }
