// Pieces of the kernels of no fixed length: one term of each sum, what is done with a sum, products
// of wavefunctions, and hermitian matrices. The formulas are those of src/ops/kernels/sums.rs and
// density.rs. A term is added to the sum that it is given; to subtract terms, they are added up
// before the others and the sum is negated.

// f2 V/
DEVICE Four term_Ffv1(Four f2, Slashed s, Four sum) {
    return four(mul_add(s.plus, f2.c[2], mul_add(s.up, f2.c[3], sum.c[0])),
                mul_add(s.down, f2.c[2], mul_add(s.minus, f2.c[3], sum.c[1])),
                mul_add(s.minus, f2.c[0], neg_mul_add(s.up, f2.c[1], sum.c[2])),
                mul_add(s.plus, f2.c[1], neg_mul_add(s.down, f2.c[0], sum.c[3])));
}

// V/ f1
DEVICE Four term_Ffv2(Four f1, Slashed s, Four sum) {
    return four(mul_add(s.minus, f1.c[2], neg_mul_add(s.down, f1.c[3], sum.c[0])),
                mul_add(s.plus, f1.c[3], neg_mul_add(s.up, f1.c[2], sum.c[1])),
                mul_add(s.plus, f1.c[0], mul_add(s.down, f1.c[1], sum.c[2])),
                mul_add(s.up, f1.c[0], mul_add(s.minus, f1.c[1], sum.c[3])));
}

DEVICE Four term_Ffv1(Four f2, Four v, Four sum) { return term_Ffv1(f2, slash(v), sum); }
DEVICE Four term_Ffv2(Four f1, Four v, Four sum) { return term_Ffv2(f1, slash(v), sum); }

// f2 gamma f1
DEVICE Four term_Ffv3(Four f1, Four f2, Four sum) { return add_four(sum, ffv_current(f1, f2)); }

// The three-vector vertex; exchanging 2 and 3 changes its sign.
DEVICE Four term_Vvv1(Four v2, Four v3, Momentum p2, Momentum p3, Four sum) {
    Momentum p = p2 + p3;
    Cx along = dot(v2, v3);
    Cx with2 = dot(p + p2, v3);
    Cx with3 = dot(p + p3, v2);
    return neg_times_add(with3, v3, times_add(with2, v2, times_add(along, p3 - p2, sum)));
}

// The four-vector vertex of colour-ordered gluons: 2 V3 (V2 V4) - V2 (V3 V4) - V4 (V2 V3).
DEVICE Four term_gluons(Four v2, Four v3, Four v4, Four sum) {
    Cx with2 = dot(v3, v4), with3 = dot(v2, v4), with4 = dot(v2, v3);
    with3 = with3 + with3;
    return neg_times_add(with4, v4, neg_times_add(with2, v2, times_add(with3, v3, sum)));
}

// V3 (V2 V4) - V4 (V2 V3); exchanging 3 and 4 changes its sign.
DEVICE Four term_VvvvDiff1(Four v2, Four v3, Four v4, Four sum) {
    return neg_times_add(dot(v2, v3), v4, times_add(dot(v2, v4), v3, sum));
}

// Product of two spinors, component by component.
DEVICE Cx DotSpinor0(Four a, Four b) {
    Cx t = a.c[0] * b.c[0];
    t = mul_add(a.c[1], b.c[1], t);
    t = mul_add(a.c[2], b.c[2], t);
    return mul_add(a.c[3], b.c[3], t);
}

DEVICE Cx DotVector0(Four a, Four b) { return dot(a, b); }

DEVICE Cx conjugate(Cx z) { return cx(z.re, -z.im); }

DEVICE Four Conjugate(Four a) {
    return four(conjugate(a.c[0]), conjugate(a.c[1]), conjugate(a.c[2]), conjugate(a.c[3]));
}

DEVICE Four MinusConjugate(Four a) { return Conjugate(negative(a)); }

// ---------------------------------------------------------------------------------------------
// Hermitian matrices of wavefunctions. That of vectors is in the components V0 + V3, V0 - V3,
// V1 + i V2, V1 - i V2, in which the product of two is (a0 b1 + a1 b0 - a2 b3 - a3 b2) / 2.

DEVICE Matrix no_matrix() {
    Matrix m;
    for (int i = 0; i < 4; i++) m.d[i] = 0;
    for (int i = 0; i < 6; i++) m.a[i] = cx(0, 0);
    return m;
}

// Adds a_i a_j^*.
DEVICE Matrix term_DensitySpinor(Four a, Matrix m) {
    for (int i = 0; i < 4; i++)
        m.d[i] = fused(a.c[i].im, a.c[i].im, fused(a.c[i].re, a.c[i].re, m.d[i]));
    m.a[0] = conj_mul_add(a.c[1], a.c[0], m.a[0]);
    m.a[1] = conj_mul_add(a.c[2], a.c[0], m.a[1]);
    m.a[2] = conj_mul_add(a.c[3], a.c[0], m.a[2]);
    m.a[3] = conj_mul_add(a.c[2], a.c[1], m.a[3]);
    m.a[4] = conj_mul_add(a.c[3], a.c[1], m.a[4]);
    m.a[5] = conj_mul_add(a.c[3], a.c[2], m.a[5]);
    return m;
}

DEVICE Matrix term_DensityVector(Four v, Matrix m) {
    Slashed s = slash(v);
    return term_DensitySpinor(four(s.plus, s.minus, s.up, s.down), m);
}

// Real part of a product, added to a sum.
DEVICE Real add_real(Cx a, Cx b, Real sum) {
    return neg_fused(a.im, b.im, fused(a.re, b.re, sum));
}

// The same with the conjugate of the second number.
DEVICE Real add_real_conjugate(Cx a, Cx b, Real sum) {
    return fused(a.im, b.im, fused(a.re, b.re, sum));
}

// sum over i, j of A_ij B_ij
DEVICE Real TraceSpinor(Matrix a, Matrix b) {
    Real above = 0;
    for (int k = 0; k < 6; k++) above = add_real(a.a[k], b.a[k], above);
    Real sum = above + above;
    for (int i = 0; i < 4; i++) sum = fused(a.d[i], b.d[i], sum);
    return sum;
}

// The same with the metric.
DEVICE Real TraceVector(Matrix a, Matrix b) {
    // Components 0 and 1 of one meet 1 and 0 of the other, 2 and 3 meet 3 and 2 with a minus.
    Real minus = add_real(a.a[1], b.a[4], Real(0));
    minus = add_real(a.a[2], b.a[3], minus);
    minus = add_real(a.a[3], b.a[2], minus);
    minus = add_real(a.a[4], b.a[1], minus);
    Real above = add_real_conjugate(a.a[0], b.a[0], -minus);
    above = add_real_conjugate(a.a[5], b.a[5], above);
    Real sum = above + above;
    sum = fused(a.d[0], b.d[1], sum);
    sum = fused(a.d[1], b.d[0], sum);
    sum = fused(a.d[2], b.d[3], sum);
    sum = fused(a.d[3], b.d[2], sum);
    return sum * Real(0.25);
}
