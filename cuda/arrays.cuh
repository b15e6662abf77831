// Operations on arrays (crates/ops/src/arrays.rs): a warp takes one item, a lane one event. The formulas are those of
// crates/ops/src/kernels/arrays.rs. Of each kind the structure, KindOperation, follows from the table of operations.

/// What the operations of a launch name.
typedef ArrayArguments Arrays;

DEVICE unsigned element(const Arrays &a, unsigned address, unsigned shift, unsigned index, unsigned r) {
    return address + a.shifts[shift] + a.indices[index + r];
}

/// A vector of contravariant components in other components.
DEVICE Four in_components(Four v, unsigned components) {
    if (components == 1) return four(v.c[0], -v.c[1], -v.c[2], -v.c[3]);
    if (components == 2) {
        Slashed s = slash(v);
        return four(s.plus, s.minus, s.up, s.down);
    }
    return v;
}

DEVICE Slashed as_slashed(Four v) {
    Slashed s;
    s.plus = v.c[0];
    s.minus = v.c[1];
    s.up = v.c[2];
    s.down = v.c[3];
    return s;
}

#define ARRAY_LINE(KIND, TERM, PROPAGATE)                                                          \
    DEVICE void do_##KIND(const Arrays &a, const KIND##Operation &op, unsigned r, Memory m) {      \
        Four sum = no_four();                                                                      \
        for (unsigned i = op.first_of_pairs; i < op.end_of_pairs; i++) {                           \
            const ArrayPair p = a.pairs[i];                                                        \
            Four f = m.four(element(a, p.a_address, p.a_shift, p.a_index, r));                     \
            Four v = m.four(element(a, p.b_address, p.b_shift, p.b_index, r));                     \
            sum = TERM(f, as_slashed(v), sum);                                                     \
        }                                                                                          \
        if (op.has_propagator) sum = PROPAGATE(sum, m.momentum(op.momentum), m.real(op.mass));     \
        m.put_four(op.out + r * 8, times(m.complex(op.factor), sum));                              \
    }
ARRAY_LINE(LineIn, term_Ffv2, propagate_in)
ARRAY_LINE(LineOut, term_Ffv1, propagate_out)

/// Both components of a spinor of one chirality.
DEVICE Half half_at(Memory m, unsigned address) { return half_spinor(m.complex(address), m.complex(address + 2)); }

/// Adds the product of a slashed vector and a spinor, given its non-zero components: the first two or the last two. The
/// product has the other two.
template <bool IN, bool FIRST> DEVICE Half chiral_vertex(Half f, Slashed s, Half sum) {
    // Rows and columns of the same matrices.
    const Cx one = IN ? s.down : s.up, other = IN ? s.up : s.down;
    if (IN == FIRST)
        return half_spinor(mul_add(s.plus, f.a, mul_add(one, f.b, sum.a)),
                           mul_add(other, f.a, mul_add(s.minus, f.b, sum.b)));
    return half_spinor(mul_add(s.minus, f.a, neg_mul_add(one, f.b, sum.a)),
                       mul_add(s.plus, f.b, neg_mul_add(other, f.a, sum.b)));
}

/// The first two components of a propagated spinor from the last two, or the last two from the first two. The momentum is
/// divided by its square.
template <bool IN, bool FIRST> DEVICE Half chiral_propagate(Half u, Momentum p) {
    const Real plus = p.p[0] + p.p[3], minus = p.p[0] - p.p[3];
    const Cx pt = cx(p.p[1], p.p[2]);
    if (IN && FIRST)
        return half_spinor(conj_mul_add(pt, u.b, -scale(u.a, minus)), mul_add(pt, u.a, -scale(u.b, plus)));
    if (FIRST) return half_spinor(mul_add(pt, u.b, scale(u.a, plus)), conj_mul_add(pt, u.a, scale(u.b, minus)));
    if (IN)
        return half_spinor(neg_conj_mul_add(pt, u.b, -scale(u.a, plus)), neg_mul_add(pt, u.a, -scale(u.b, minus)));
    return half_spinor(neg_mul_add(pt, u.b, scale(u.a, minus)), neg_conj_mul_add(pt, u.a, scale(u.b, plus)));
}

/// Adds the products of some pairs of a spinor of one chirality and a slashed vector.
template <bool IN, bool FIRST>
DEVICE Half chiral_pairs(const Arrays &a, unsigned first, unsigned end, unsigned r, Memory m, Half sum) {
    for (unsigned i = first; i < end; i++) {
        const ArrayPair p = a.pairs[i];
        const Half f = half_at(m, element(a, p.a_address, p.a_shift, p.a_index, r));
        const Four v = m.four(element(a, p.b_address, p.b_shift, p.b_index, r));
        sum = chiral_vertex<IN, FIRST>(f, as_slashed(v), sum);
    }
    return sum;
}

template <bool IN, bool FIRST, class Operation>
DEVICE void chiral_line(const Arrays &a, const Operation &op, unsigned r, Memory m) {
    Half sum = half_spinor(cx(0, 0), cx(0, 0));
    sum = chiral_pairs<IN, FIRST>(a, op.first_of_less, op.end_of_less, r, m, sum);
    sum = half_spinor(-sum.a, -sum.b);
    sum = chiral_pairs<IN, FIRST>(a, op.first_of_pairs, op.end_of_pairs, r, m, sum);
    if (op.has_propagator) {
        Momentum p = m.momentum(op.momentum);
        const Real inverse = m.real(op.inverse);
        for (unsigned i = 0; i < 4; i++) p.p[i] *= inverse;
        sum = chiral_propagate<IN, FIRST>(sum, p);
    }
    m.put_complex(op.out + r * 4, sum.a);
    m.put_complex(op.out + r * 4 + 2, sum.b);
}

#define ARRAY_CHIRAL_LINE(KIND, IN)                                                                \
    DEVICE void do_##KIND(const Arrays &a, const KIND##Operation &op, unsigned r, Memory m) {      \
        if (op.spinors == 0)                                                                       \
            chiral_line<IN, true>(a, op, r, m);                                                    \
        else                                                                                       \
            chiral_line<IN, false>(a, op, r, m);                                                   \
    }
ARRAY_CHIRAL_LINE(ChiralLineIn, true)
ARRAY_CHIRAL_LINE(ChiralLineOut, false)

DEVICE void do_Current(const Arrays &a, const CurrentOperation &op, unsigned r, Memory m) {
    Four sum = no_four();
    for (unsigned i = op.first_of_pairs; i < op.end_of_pairs; i++) {
        const ArrayPair p = a.pairs[i];
        Four f1 = m.four(element(a, p.a_address, p.a_shift, p.a_index, r));
        Four f2 = m.four(element(a, p.b_address, p.b_shift, p.b_index, r));
        sum = term_Ffv3(f1, f2, sum);
    }
    m.put_four(op.out + r * 8, in_components(times(m.complex(op.factor), sum), op.components));
}

DEVICE void do_Vector(const Arrays &a, const VectorOperation &op, unsigned r, Memory m) {
    Four sum = no_four();
    for (unsigned i = op.first_of_pairs; i < op.end_of_pairs; i++) {
        const ArrayPair p = a.pairs[i];
        Four v2 = m.four(element(a, p.a_address, p.a_shift, p.a_index, r));
        Four v3 = m.four(element(a, p.b_address, p.b_shift, p.b_index, r));
        sum = term_Vvv1(v2, v3, m.momentum(p.momentum_a), m.momentum(p.momentum_b), sum);
    }
    sum = times(m.complex(op.factor), sum);
    if (op.has_factor_of_triples) {
        Four fours = no_four();
        for (unsigned i = op.first_of_triples; i < op.end_of_triples; i++) {
            const ArrayTriple t = a.triples[i];
            Four v2 = m.four(element(a, t.a_address, t.a_shift, t.a_index, r));
            Four v3 = m.four(element(a, t.b_address, t.b_shift, t.b_index, r));
            Four v4 = m.four(element(a, t.c_address, t.c_shift, t.c_index, r));
            fours = term_gluons(v2, v3, v4, fours);
        }
        sum = times_add(m.complex(op.factor_of_triples), fours, sum);
    }
    m.put_four(op.out + r * 8, in_components(sum, op.components));
    if (op.mirror) {
        // A factor, no branches: of three ways (none, plus, minus) clang 22 takes the last for AMD's GPUs without its minus.
        const Real sign = op.mirror == 1 ? 1 : -1;
        Four other = no_four();
        for (unsigned i = 0; i < 4; i++) other.c[i] = cx(sign * sum.c[i].re, -sign * sum.c[i].im);
        m.put_four(op.out + (op.count - 1 - r) * 8, in_components(other, op.components));
    }
}

DEVICE void do_Sum(const Arrays &a, const SumOperation &op, unsigned r, Memory m) {
    Four sum = no_four();
    for (unsigned i = op.first_of_addends; i < op.end_of_addends; i++) {
        const ArrayAddend one = a.addends[i];
        Four v = m.four(one.address + a.shifts[one.shift] + r * 8);
        sum = add_four(sum, one.minus ? negative(v) : v);
    }
    sum = in_components(sum, op.components);
    if (op.has_factor) sum = times(m.complex(op.factor), sum);
    m.put_four(op.out + r * 8, sum);
}

DEVICE Cx add_pairs(const Arrays &a, unsigned first, unsigned end, unsigned r, Memory m, Cx sum) {
    for (unsigned i = first; i < end; i++) {
        const ArrayPair p = a.pairs[i];
        Four x = m.four(element(a, p.a_address, p.a_shift, p.a_index, r));
        Four y = m.four(element(a, p.b_address, p.b_shift, p.b_index, r));
        for (int k = 0; k < 4; k++) sum = mul_add(x.c[k], y.c[k], sum);
    }
    return sum;
}

DEVICE void do_Contract(const Arrays &a, const ContractOperation &op, unsigned r, Memory m) {
    Cx sum = add_pairs(a, op.first_of_pairs, op.end_of_pairs, r, m, cx(0, 0));
    sum = add_pairs(a, op.first_of_broadcast, op.end_of_broadcast, r, m, sum);
    m.put_complex(op.out + r * op.stride, sum);
}

DEVICE void do_ChiralContract(const Arrays &a, const ChiralContractOperation &op, unsigned r, Memory m) {
    Cx sum = cx(0, 0);
    for (unsigned i = op.first_of_pairs; i < op.end_of_pairs; i++) {
        const ArrayPair p = a.pairs[i];
        const Half x = half_at(m, element(a, p.a_address, p.a_shift, p.a_index, r));
        const Half y = half_at(m, element(a, p.b_address, p.b_shift, p.b_index, r));
        sum = mul_add(x.a, y.a, mul_add(x.b, y.b, sum));
    }
    m.put_complex(op.out + r * op.stride, sum);
}

/// Directions of a tile, and its elements.
#define DIRECTIONS 4
#define TILE (1 << DIRECTIONS)

/// How many of some directions there are.
DEVICE constexpr unsigned directions_of(unsigned mask) {
    unsigned count = 0;
    for (unsigned d = 0; d < DIRECTIONS; d++) count += mask >> d & 1;
    return count;
}

/// The bits of a number in these directions, next to each other.
DEVICE constexpr unsigned picked(unsigned number, unsigned mask) {
    unsigned result = 0, place = 0;
    for (unsigned d = 0; d < DIRECTIONS; d++)
        if (mask >> d & 1) result |= (number >> d & 1) << place++;
    return result;
}

/// Where a pair of a tile is: its first elements, and what each direction adds.
struct Ready {
    unsigned a, b, mask, steps[DIRECTIONS];
};

DEVICE Ready ready(const Arrays &a, const TilePair *pair, unsigned r) {
    const TilePair p = *pair;
    Ready here;
    here.a = element(a, p.a_address, p.a_shift, p.a_index, r);
    here.b = element(a, p.b_address, p.b_shift, p.b_index, r);
    here.mask = p.mask;
    here.steps[0] = p.step_0;
    here.steps[1] = p.step_1;
    here.steps[2] = p.step_2;
    here.steps[3] = p.step_3;
    return here;
}

/// Where the elements of a tile are that differ in these directions.
template <unsigned MASK> DEVICE void places(unsigned first, const unsigned *steps, unsigned *at) {
#pragma unroll
    for (unsigned i = 0; i < 1u << directions_of(MASK); i++) at[i] = first;
    unsigned place = 0;
#pragma unroll
    for (unsigned d = 0; d < DIRECTIONS; d++)
        if (MASK >> d & 1) {
#pragma unroll
            for (unsigned i = 0; i < 1u << directions_of(MASK); i++)
                if (i >> place & 1) at[i] += steps[d];
            place++;
        }
}

/// Adds the products of arrays of which one has other elements in the directions of MASK, the other in the rest. An element
/// has SIZE numbers.
template <unsigned MASK, unsigned SIZE> DEVICE void products(const Ready &here, Memory m, Cx *sums) {
    const unsigned REST = TILE - 1 - MASK;
    unsigned at_x[1u << directions_of(MASK)], at_y[1u << directions_of(REST)];
    places<MASK>(here.a, here.steps, at_x);
    places<REST>(here.b, here.steps, at_y);
#pragma unroll 1
    for (unsigned k = 0; k < SIZE; k += 2) {
        Cx x[1u << directions_of(MASK)], y[1u << directions_of(REST)];
#pragma unroll
        for (unsigned i = 0; i < 1u << directions_of(MASK); i++) x[i] = m.complex(at_x[i] + k);
#pragma unroll
        for (unsigned i = 0; i < 1u << directions_of(REST); i++) y[i] = m.complex(at_y[i] + k);
#pragma unroll
        for (unsigned t = 0; t < TILE; t++) sums[t] = mul_add(x[picked(t, MASK)], y[picked(t, REST)], sums[t]);
    }
}

template <unsigned SIZE> DEVICE void tile(const Arrays &a, const TileOperation &op, unsigned r, Memory m) {
    Cx sums[TILE];
#pragma unroll
    for (unsigned t = 0; t < TILE; t++) sums[t] = cx(0, 0);
    const TilePair *pair = a.tile_pairs + op.first_of_pairs, *end = a.tile_pairs + op.end_of_pairs;
    Ready next = ready(a, pair, r);
    for (; pair < end; pair++) {
        const Ready here = next;
        // Where the next pair is comes while this one is computed.
        if (pair + 1 < end) next = ready(a, pair + 1, r);
        switch (here.mask) {
#define PRODUCTS(MASK) case MASK: products<MASK, SIZE>(here, m, sums); break;
            PRODUCTS(0) PRODUCTS(1) PRODUCTS(2) PRODUCTS(3) PRODUCTS(4) PRODUCTS(5) PRODUCTS(6) PRODUCTS(7)
            PRODUCTS(8) PRODUCTS(9) PRODUCTS(10) PRODUCTS(11) PRODUCTS(12) PRODUCTS(13) PRODUCTS(14) PRODUCTS(15)
        }
    }
    const unsigned steps[DIRECTIONS] = {op.step_0, op.step_1, op.step_2, op.step_3};
#pragma unroll
    for (unsigned t = 0; t < TILE; t++) {
        unsigned at = r;
#pragma unroll
        for (unsigned d = 0; d < DIRECTIONS; d++)
            if (t >> d & 1) at += steps[d];
        m.put_complex(op.out + at * op.stride, sums[t]);
    }
}

DEVICE void do_Tile(const Arrays &a, const TileOperation &op, unsigned r, Memory m) { tile<8>(a, op, r, m); }

DEVICE void do_ChiralTile(const Arrays &a, const TileOperation &op, unsigned r, Memory m) { tile<4>(a, op, r, m); }
