// Pieces of the kernels of no fixed length: one term of each sum, what is done with a sum, products
// of wavefunctions, and hermitian matrices. The formulas are those of crates/ops/src/kernels/sums.rs and
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

// Vertices of vectors and scalars: vectors from scalars, and what a scalar is multiplied by.
DEVICE Four term_Vss1(Cx s2, Cx s3, Momentum d, Four sum) { return times_add(s2 * s3, d, sum); }
DEVICE Four term_Vvss1(Four v2, Cx s3, Cx s4, Four sum) { return times_add(s3 * s4, v2, sum); }
DEVICE Cx term_Vss3(Four v1, Momentum q, Cx sum) { return sum + dot(q, v1); }
DEVICE Cx term_Vvss4(Four v1, Four v2, Cx sum) { return sum + dot(v1, v2); }
DEVICE Cx term_Sss1(Cx s2, Cx s3, Cx sum) { return mul_add(s2, s3, sum); }

// Product of two spinors, component by component.
DEVICE Cx DotSpinor0(Four a, Four b) {
    Cx t = a.c[0] * b.c[0];
    t = mul_add(a.c[1], b.c[1], t);
    t = mul_add(a.c[2], b.c[2], t);
    return mul_add(a.c[3], b.c[3], t);
}

DEVICE Cx DotVector0(Four a, Four b) { return dot(a, b); }

DEVICE Cx DotScalar0(Cx a, Cx b) { return a * b; }

DEVICE Cx conjugate(Cx z) { return cx(z.re, -z.im); }

DEVICE Four Conjugate(Four a) {
    return four(conjugate(a.c[0]), conjugate(a.c[1]), conjugate(a.c[2]), conjugate(a.c[3]));
}

DEVICE Four MinusConjugate(Four a) { return Conjugate(negative(a)); }

// ---------------------------------------------------------------------------------------------
// Sums of products of components of wavefunctions and of the mirrored ones, see
// crates/ops/src/kernels/density.rs: of spinors A_00, A_11, A_01 and A_02, of vectors half of the rows of a
// real symmetric matrix from the diagonal on, in the components V0 + V3, V0 - V3, V1, V2; of scalars half of the sum.

DEVICE Matrix no_matrix() {
    Matrix m;
    for (int i = 0; i < 10; i++) m.a[i] = 0;
    return m;
}

// Wavefunctions that are in no pair, and the mirrored ones, count half.
DEVICE Matrix half_of(Matrix m) {
    for (int i = 0; i < 10; i++) m.a[i] *= Real(0.5);
    return m;
}

DEVICE Real half_of(Real sum) { return sum * Real(0.5); }

DEVICE Real add_square(Cx z, Real sum) { return fused(z.im, z.im, fused(z.re, z.re, sum)); }

DEVICE Matrix term_DensitySpinor(Four v, Matrix m) {
    Cx a = v.c[0], b = v.c[1], c = v.c[2], d = v.c[3];
    Cx x = conj_mul_add(b, a, cx(m.a[2], m.a[3]));
    x = neg_conj_mul_add(d, c, x);
    Cx y = conj_mul_add(d, b, conj_mul_add(c, a, cx(m.a[4], m.a[5])));
    m.a[0] = add_square(d, add_square(a, m.a[0]));
    m.a[1] = add_square(c, add_square(b, m.a[1]));
    m.a[2] = x.re;
    m.a[3] = x.im;
    m.a[4] = y.re;
    m.a[5] = y.im;
    return m;
}

DEVICE Matrix term_DensityVector(Four v, Matrix m) {
    Four s = four(v.c[0] + v.c[3], v.c[0] - v.c[3], v.c[1], v.c[2]);
    int at = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i; j < 4; j++, at++)
            m.a[at] = fused(s.c[i].im, s.c[j].im, fused(s.c[i].re, s.c[j].re, m.a[at]));
    return m;
}

DEVICE Real term_DensityScalar(Cx s, Real sum) { return add_square(s, sum); }

// A sum of squares that came about with other signs: rounding leaves small ones below zero. NaN stays.
DEVICE Real squared(Real sum) { return sum < 0 ? (Real)0 : sum; }

// sum over i, j of A_ij B_ij
DEVICE Real TraceSpinor(Matrix a, Matrix b) {
    Real above = a.a[2] * b.a[2];
    above = neg_fused(a.a[3], b.a[3], above);
    above = fused(a.a[4], b.a[4], above);
    above = neg_fused(a.a[5], b.a[5], above);
    Real sum = above + above;
    sum = fused(a.a[0], b.a[0], sum);
    sum = fused(a.a[1], b.a[1], sum);
    return squared(sum + sum);
}

// The same with the metric.
DEVICE Real TraceVector(Matrix a, Matrix b) {
    Real across = a.a[2] * b.a[5];
    across = fused(a.a[5], b.a[2], across);
    across = fused(a.a[3], b.a[6], across);
    across = fused(a.a[6], b.a[3], across);
    Real rest = fused(a.a[7], b.a[7], -across);
    rest = fused(a.a[9], b.a[9], rest);
    Real twice = a.a[8] * b.a[8];
    rest = rest + (twice + twice);
    Real along = a.a[1] * b.a[1];
    Real sum = along + along;
    sum = fused(a.a[0], b.a[4], sum);
    sum = fused(a.a[4], b.a[0], sum);
    rest = rest + rest;
    return squared(sum + (rest + rest));
}

DEVICE Real TraceScalar(Real a, Real b) { return 4 * (a * b); }
