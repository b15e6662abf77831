// The layout of the numbers of a plan in memory. docs/architecture.md explains addresses.
//
// The events of a chunk are divided into blocks of LANES events. The memory of a block is an array
// `Real [vectors][LANES]`: address a of an event is LANES numbers after address a - 1, so that the
// threads of a warp, an event each, read and write neighbours. A block of threads that works on
// one helicity has a memory of the same kind of its own (the workspace) with fewer lanes.

typedef unsigned long long Size;

/// Two numbers beside each other, which one instruction reads.
struct alignas(2 * sizeof(Real)) Adjacent {
    Real first, second;
};

/// The numbers of one event. With PAIRS, numbers at an even address and the next one are beside each other, in an array
/// `Real [vectors / 2][STRIDE][2]`: all that is read or written then begins at an even address.
template <unsigned STRIDE, bool PAIRS = false> struct Lane {
    Real *at;

    DEVICE Real *pointer(unsigned address) const { return at + (Size)address * STRIDE; }
    DEVICE static Cx two(const Real *p) {
        if constexpr (PAIRS) {
            const Adjacent pair = *(const Adjacent *)p;
            return Cx{pair.first, pair.second};
        } else {
            return Cx{p[0], p[STRIDE]};
        }
    }
    DEVICE static void put_two(Real *p, Cx z) {
        if constexpr (PAIRS) {
            *(Adjacent *)p = Adjacent{z.re, z.im};
        } else {
            p[0] = z.re;
            p[STRIDE] = z.im;
        }
    }
    DEVICE Real real(unsigned address) const { return *pointer(address); }
    DEVICE void put_real(unsigned address, Real x) const { *pointer(address) = x; }
    DEVICE Cx complex(unsigned address) const { return two(pointer(address)); }
    DEVICE void put_complex(unsigned address, Cx z) const { put_two(pointer(address), z); }
    DEVICE Four four(unsigned address) const {
        const Real *p = pointer(address);
        return Four{{two(p), two(p + 2 * STRIDE), two(p + 4 * STRIDE), two(p + 6 * STRIDE)}};
    }
    DEVICE void put_four(unsigned address, Four z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 4; i++) put_two(p + 2 * i * STRIDE, z.c[i]);
    }
    DEVICE Momentum momentum(unsigned address) const {
        const Real *p = pointer(address);
        const Cx a = two(p), b = two(p + 2 * STRIDE);
        return Momentum{{a.re, a.im, b.re, b.im}};
    }
    DEVICE void put_momentum(unsigned address, Momentum z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 4; i += 2) put_two(p + i * STRIDE, Cx{z.p[i], z.p[i + 1]});
    }
    DEVICE Matrix matrix(unsigned address) const {
        const Real *p = pointer(address);
        Matrix z;
        for (int i = 0; i < 10; i += 2) {
            const Cx a = two(p + i * STRIDE);
            z.a[i] = a.re;
            z.a[i + 1] = a.im;
        }
        return z;
    }
    DEVICE void put_matrix(unsigned address, const Matrix &z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 10; i += 2) put_two(p + i * STRIDE, Cx{z.a[i], z.a[i + 1]});
    }
    DEVICE Sixteen sixteen(unsigned address) const {
        const Real *p = pointer(address);
        Sixteen z;
        for (int i = 0; i < 16; i++) z.c[i] = two(p + 2 * i * STRIDE);
        return z;
    }
    DEVICE void put_sixteen(unsigned address, const Sixteen &z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 16; i++) put_two(p + 2 * i * STRIDE, z.c[i]);
    }
};

#ifndef MEMORY_PAIRS
#define MEMORY_PAIRS false
#endif
typedef Lane<LANES, MEMORY_PAIRS> Memory;
typedef Lane<WORKSPACE_LANES> Workspace;
