// Operations of variable length, in the format of the tables (crates/gpu/src/level_schedule.rs).
//
// `execute_K(op, m, r, numbers)` does the operation of kind K whose operands begin at `op` in the memory
// `m` of an event; its result goes to `r`, the same memory or another; `numbers` are the constants that operands name.
// `execute_indexed_K(op, m, waves, r)` does one of a helicity: wavefunctions are looked up in `waves`, results go to the
// workspace `r`. Those of kernels of fixed length are generated, see crates/gpu/src/source.rs.

#define EXECUTE(KIND)                          \
    template <class Operands, class Results> \
    DEVICE void execute_##KIND(Operands op, Memory m, Results r, const Real *numbers)

/// Operands of which the first are known to the compiler.
template <class Operands, unsigned... KNOWN> struct KnownHead {
    Operands at;

    DEVICE unsigned operator[](unsigned i) const {
        const unsigned known[] = {KNOWN...};
        return i < sizeof...(KNOWN) ? known[i] : at[i];
    }
    DEVICE Operands operator+(unsigned n) const { return at + n; }
};

EXECUTE(Momentum) {
    unsigned plus = op[0], minus = op[1];
    Momentum sum = {{0, 0, 0, 0}};
    auto t = op + 2;
    for (unsigned i = 0; i < plus + minus; i++) {
        Momentum p = m.momentum(*t++);
        for (int k = 0; k < 4; k++) sum.p[k] = i < plus ? sum.p[k] + p.p[k] : sum.p[k] - p.p[k];
    }
    r.put_momentum(*t, sum);
}

EXECUTE(Coupling) {
    Real g = m.real(op[0]);
    unsigned count = op[1];
    Cx value = {0, 0};
    op += 2;
    for (unsigned i = 0; i < count; i++, op += 2)
        value = Cx{fused(value.re, g, numbers[op[0]]), fused(value.im, g, numbers[op[1]])};
    r.put_complex(*op, value);
}

/// 1 / (p^2 - m (m - i width)).
DEVICE Cx propagator(Momentum p, Real mass_squared, Real mass_width) {
    Real e = p.p[0], x = p.p[1], y = p.p[2], z = p.p[3];
    Real re = e * e - x * x - y * y - z * z - mass_squared;
    if (mass_width == 0) return Cx{1 / re, 0};
    Real scale = 1 / fused(re, re, mass_width * mass_width);
    return Cx{re * scale, -(mass_width * scale)};
}

EXECUTE(Propagator) {
    r.put_complex(op[3], propagator(m.momentum(op[0]), numbers[op[1]], numbers[op[2]]));
}

// Tolerances, in units of rounding, within which two directions are equal, a line is on its mass shell, and a
// leg is. (Also in crates/engine/src/block/propagators.rs, which gives the reasons.)
#define ROUNDING (sizeof(Real) == 8 ? Real(0x1p-52) : Real(0x1p-23))
#define COLLINEAR 64
#define ON_SHELL 16
#define LEG_ON_SHELL 256

DEVICE Real along(Momentum p, Momentum q) {
    return fused(p.p[1], q.p[1], fused(p.p[2], q.p[2], p.p[3] * q.p[3]));
}

DEVICE Real across(Momentum p, Momentum q, int i, int j) { return fused(p.p[i], q.p[j], -(p.p[j] * q.p[i])); }

/// The square of a momentum: the mass squared, unless it is off the mass shell by more than its rounding.
DEVICE Real momentum_square(Momentum p, Real mass_squared) {
    const Real energies = product(p.p[0], p.p[0]);
    const Real square = energies - along(p, p);
    return magnitude(square - mass_squared) <= energies * (LEG_ON_SHELL * ROUNDING) ? mass_squared : square;
}

/// The product of two momenta, given their squares: its numerator and, in the place of an imaginary part, its denominator,
/// which is positive. The energy of a crossed leg is negative.
DEVICE Cx momentum_product(Momentum p, Momentum q, Real p2, Real q2) {
    const Real energies = product(p.p[0], q.p[0]), pq = along(p, q), sign = with_sign(Real(1), energies);
    if (!(0 < sign * pq)) return cx(energies - pq, 1);
    const Real x = across(p, q, 2, 3), y = across(p, q, 3, 1), z = across(p, q, 1, 2);
    const Real rounding = sign * energies * (COLLINEAR * ROUNDING);
    Real sum = fused(x, x, fused(y, y, z * z));
    if (sum <= rounding * rounding) sum = 0;
    sum = fused(p2, q.p[0] * q.p[0], sum);
    return cx(sign * fused(q2, fused(p.p[0], p.p[0], -p2), sum), sign * (energies + pq));
}

/// The value of such a product.
DEVICE Real ratio(Cx product) { return quotient(product.re, product.im); }

EXECUTE(Square) {
    r.put_real(op[2], momentum_square(m.momentum(op[0]), numbers[op[1]]));
}

EXECUTE(Product) {
    r.put_complex(op[4], momentum_product(m.momentum(op[0]), m.momentum(op[1]), m.real(op[2]), m.real(op[3])));
}

/// 1 / (p^2 - m^2) of a line without a width, given the terms of that and their sizes, added up, and its last product
/// with a factor; NaN at a pole, where no digit is left.
DEVICE Cx line(Real sum, Real size, Real factor, Cx product) {
    const Real zero = 0, least = sizeof(Real) == 8 ? Real(0x1p-970) : Real(0x1p-103);
    const Real last = factor * product.re;
    sum = fused(product.im, sum, last);
    size = fused(product.im, size, magnitude(last));
    if (magnitude(sum) <= fused(size, ON_SHELL * ROUNDING, least)) return cx(quotient(zero, zero), 0);
    return cx(product.im / sum, 0);
}

EXECUTE(Line) {
    Real sum = -numbers[op[0]], size = numbers[op[1]];
    const unsigned squares = op[2], count = op[3];
    op += 4;
    for (unsigned i = 0; i < squares; i++) sum += m.real(*op++);
    for (unsigned i = 1; i < count; i++, op += 2) {
        const Real product = ratio(m.complex(op[0])), factor = numbers[op[1]];
        sum = fused(factor, product, sum);
        size = fused(magnitude(factor), magnitude(product), size);
    }
    r.put_complex(op[2], line(sum, size, numbers[op[1]], m.complex(op[0])));
}

EXECUTE(Factor) {
    unsigned there = op[0], propagator = op[1], count = op[2];
    Cx value = {0, 0};
    op += 3;
    for (unsigned i = 0; i < count; i++, op += 3)
        value = mul_add(Cx{numbers[op[1]], numbers[op[2]]}, m.complex(op[0]), value);
    if (there) value = value * m.complex(propagator);
    r.put_complex(*op, value);
}

#define EXTERNAL(KIND, PUT, FUNCTION)                                                              \
    EXECUTE(KIND) {                                                                                \
        r.PUT(op[5], FUNCTION(m.momentum(op[0]), numbers[op[1]], op[2], (int)op[3] - 8,       \
                                   (int)op[4] - 8));                                               \
    }
EXTERNAL(ExternalIn, put_four, external_in)
EXTERNAL(ExternalOut, put_four, external_out)
EXTERNAL(ExternalVector, put_four, external_vector)
EXTERNAL(ExternalTensor, put_sixteen, external_tensor)
EXTERNAL(ExternalRaritaIn, put_sixteen, external_rarita_in)
EXTERNAL(ExternalRaritaOut, put_sixteen, external_rarita_out)

EXECUTE(ExternalScalar) {
    r.put_complex(op[5], external_scalar());
}

const unsigned MODE_ADD = 1, MODE_BARE = 2;

/// Multiplies by the factor, and stores or adds.
template <class Results>
DEVICE void finish(Memory m, Results r, unsigned mode, unsigned factor, Four sum, unsigned out) {
    Cx f = m.complex(factor);
    r.put_four(out, mode & MODE_ADD ? times_add(f, sum, r.four(out)) : times(f, sum));
}

/// Adds up the terms from `ADDED` to `SUBTRACTED`, and subtracts those from there to `END`; `TERM` adds the
/// term at `t`, with this number of operands, to the sum.
#define DIFFERENCE(SUM, NEGATIVE, ADDED, SUBTRACTED, END, LENGTH, TERM)                            \
    for (auto t = SUBTRACTED; t < END; t += LENGTH) SUM = TERM;                                    \
    if (SUBTRACTED < END) SUM = NEGATIVE(SUM);                                                     \
    for (auto t = ADDED; t < SUBTRACTED; t += LENGTH) SUM = TERM;

#define SUM_FFV(KIND, TERM, PROPAGATE)                                                             \
    EXECUTE(KIND) {                                                                                \
        unsigned mode = op[0], plus = op[1], minus = op[2];                                        \
        const auto added = op + 3, subtracted = added + 2 * plus;                                  \
        const auto tail = subtracted + 2 * minus;                                                  \
        Four sum = no_four();                                                                      \
        DIFFERENCE(sum, negative, added, subtracted, tail, 2,                                      \
                   TERM(m.four(t[0]), m.four(t[1]), sum))                                          \
        PROPAGATE                                                                                  \
    }
SUM_FFV(SumFfv1, term_Ffv1,
        if (!(mode & MODE_BARE)) sum = propagate_out(sum, m.momentum(tail[1]), m.real(tail[2]));
        finish(m, r, mode, tail[0], sum, tail[3]);)
SUM_FFV(SumFfv2, term_Ffv2,
        if (!(mode & MODE_BARE)) sum = propagate_in(sum, m.momentum(tail[1]), m.real(tail[2]));
        finish(m, r, mode, tail[0], sum, tail[3]);)
SUM_FFV(SumFfv3, term_Ffv3, finish(m, r, mode, tail[0], sum, tail[1]);)

EXECUTE(SumVvv1) {
    unsigned mode = op[0], threes = op[1], plus = op[2], minus = op[3];
    auto t = op + 4;
    const auto added = t + 4 * threes, subtracted = added + 3 * plus;
    const auto tail = subtracted + 3 * minus;
    Four result = no_four();
    if (plus + minus) {
        Four sum = no_four();
        DIFFERENCE(sum, negative, added, subtracted, tail, 3,
                   term_gluons(m.four(t[0]), m.four(t[1]), m.four(t[2]), sum))
        result = times(m.complex(tail[1]), sum);
    }
    Four sum = no_four();
    for (; t < added; t += 4)
        sum = term_Vvv1(m.four(t[0]), m.four(t[1]), m.momentum(t[2]), m.momentum(t[3]), sum);
    result = times_add(m.complex(tail[0]), sum, result);
    r.put_four(tail[2], mode & MODE_ADD ? add_four(result, r.four(tail[2])) : result);
}

EXECUTE(SumVvvvDiff1) {
    unsigned mode = op[0], count = op[1];
    Four sum = no_four();
    auto t = op + 2;
    for (unsigned i = 0; i < count; i++, t += 3)
        sum = term_VvvvDiff1(m.four(t[0]), m.four(t[1]), m.four(t[2]), sum);
    finish(m, r, mode, t[0], sum, t[1]);
}

EXECUTE(SumVss1) {
    unsigned mode = op[0], pairs = op[1], plus = op[2], minus = op[3];
    auto t = op + 4;
    const auto added = t + 3 * pairs, subtracted = added + 3 * plus;
    const auto tail = subtracted + 3 * minus;
    Four result = mode & MODE_ADD ? r.four(tail[2]) : no_four();
    if (pairs) {
        Four sum = no_four();
        for (; t < added; t += 3)
            sum = term_Vss1(m.complex(t[0]), m.complex(t[1]), m.momentum(t[2]), sum);
        result = times_add(m.complex(tail[0]), sum, result);
    }
    if (plus + minus) {
        Four sum = no_four();
        DIFFERENCE(sum, negative, added, subtracted, tail, 3,
                   term_Vvss1(m.four(t[0]), m.complex(t[1]), m.complex(t[2]), sum))
        result = times_add(m.complex(tail[1]), sum, result);
    }
    r.put_four(tail[2], result);
}

EXECUTE(ScalarVertex) {
    unsigned mode = op[0], plus = op[1], minus = op[2], more = op[3], less = op[4];
    const auto added = op + 5, subtracted = added + 2 * plus;
    const auto more_added = subtracted + 2 * minus, more_subtracted = more_added + 2 * more;
    const auto tail = more_subtracted + 2 * less;
    Cx result = mode & MODE_ADD ? r.complex(tail[2]) : Cx{0, 0};
    if (plus + minus) {
        Cx sum = {0, 0};
        DIFFERENCE(sum, -, added, subtracted, more_added, 2,
                   term_Vss3(m.four(t[0]), m.momentum(t[1]), sum))
        result = mul_add(m.complex(tail[0]), sum, result);
    }
    if (more + less) {
        Cx sum = {0, 0};
        DIFFERENCE(sum, -, more_added, more_subtracted, tail, 2,
                   term_Vvss4(m.four(t[0]), m.four(t[1]), sum))
        result = mul_add(m.complex(tail[1]), sum, result);
    }
    r.put_complex(tail[2], result);
}

EXECUTE(SumSss1) {
    unsigned plus = op[0], minus = op[1];
    const auto added = op + 2, subtracted = added + 2 * plus, tail = subtracted + 2 * minus;
    Cx sum = {0, 0};
    DIFFERENCE(sum, -, added, subtracted, tail, 2, term_Sss1(m.complex(t[0]), m.complex(t[1]), sum))
    r.put_complex(tail[1], m.complex(tail[0]) * sum);
}

EXECUTE(Add) {
    unsigned plus = op[0], minus = op[1];
    Four sum = no_four();
    auto t = op + 2;
    for (unsigned i = 0; i < plus; i++) sum = add_four(sum, m.four(*t++));
    if (minus) {
        Four other = no_four();
        for (unsigned i = 0; i < minus; i++) other = add_four(other, m.four(*t++));
        sum = add_four(sum, negative(other));
    }
    r.put_four(*t, sum);
}

EXECUTE(Conjugate) {
    r.put_four(op[1], Conjugate(m.four(op[0])));
}

EXECUTE(MinusConjugate) {
    r.put_four(op[1], MinusConjugate(m.four(op[0])));
}

#define DENSITY(KIND, NONE, READ, PUT)                                                              \
    EXECUTE(KIND) {                                                                                 \
        auto sum = NONE;                                                                            \
        auto t = op + 2, paired = t + op[0], out = paired + op[1];                                  \
        if (t < paired) {                                                                           \
            while (t < paired) sum = term_##KIND(m.READ(*t++), sum);                                \
            sum = half_of(sum);                                                                        \
        }                                                                                           \
        while (t < out) sum = term_##KIND(m.READ(*t++), sum);                                       \
        r.PUT(*out, sum);                                                                           \
    }
DENSITY(DensitySpinor, no_matrix(), four, put_matrix)
DENSITY(DensityVector, no_matrix(), four, put_matrix)
DENSITY(DensityScalar, Real(0), complex, put_real)

EXECUTE(TraceSpinor) {
    r.put_real(op[2], TraceSpinor(m.matrix(op[0]), m.matrix(op[1])));
}

EXECUTE(TraceVector) {
    r.put_real(op[2], TraceVector(m.matrix(op[0]), m.matrix(op[1])));
}

EXECUTE(TraceScalar) {
    r.put_real(op[2], TraceScalar(m.real(op[0]), m.real(op[1])));
}

/// A sum of amplitudes of one helicity.
DEVICE void sum_of_amplitudes(const unsigned *op, Workspace r, const Real *numbers) {
    const unsigned *count = op;
    Cx z = {0, 0};
    op += 5;
#pragma unroll 4
    for (unsigned i = 0; i < count[0]; i++) z = z + r.complex(op[i]);
    op += count[0];
#pragma unroll 4
    for (unsigned i = 0; i < count[1]; i++) z = z - r.complex(op[i]);
    op += count[1];
#pragma unroll 4
    for (unsigned i = 0; i < count[2]; i++) z = add_i(z, r.complex(op[i]));
    op += count[2];
#pragma unroll 4
    for (unsigned i = 0; i < count[3]; i++) z = sub_i(z, r.complex(op[i]));
    op += count[3];
    for (unsigned i = 0; i < count[4]; i++, op += 4) {
        z.re = fused(numbers[op[2]], r.real(op[0]), z.re);
        z.im = fused(numbers[op[3]], r.real(op[1]), z.im);
    }
    r.put_complex(*op, z);
}

/// Products of a spinor with others, two at a time, so that the loads of both overlap.
DEVICE void execute_indexed_Dots(const unsigned *op, Memory m, const unsigned *waves, Workspace r) {
    const Four b = m.four(waves[op[0]]);
    const unsigned *end = op + 2 + 2 * op[1];
    for (op += 2; op + 2 < end; op += 4) {
        const Four x = m.four(waves[op[0]]), y = m.four(waves[op[2]]);
        r.put_complex(op[1], DotSpinor0(b, x));
        r.put_complex(op[3], DotSpinor0(b, y));
    }
    if (op < end) r.put_complex(op[1], DotSpinor0(b, m.four(waves[op[0]])));
}

/// The same for two helicities that differ only in the first spinor.
DEVICE void execute_indexed_Dots_of_two(const unsigned *op, Memory m, const unsigned *waves,
                             const unsigned *others, Workspace r, Workspace s) {
    const Four b = m.four(waves[op[0]]), c = m.four(others[op[0]]);
    const unsigned *end = op + 2 + 2 * op[1];
    for (op += 2; op + 2 < end; op += 4) {
        const Four x = m.four(waves[op[0]]), y = m.four(waves[op[2]]);
        r.put_complex(op[1], DotSpinor0(b, x));
        s.put_complex(op[1], DotSpinor0(c, x));
        r.put_complex(op[3], DotSpinor0(b, y));
        s.put_complex(op[3], DotSpinor0(c, y));
    }
    if (op < end) {
        const Four x = m.four(waves[op[0]]);
        r.put_complex(op[1], DotSpinor0(b, x));
        s.put_complex(op[1], DotSpinor0(c, x));
    }
}
