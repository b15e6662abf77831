// The layout of the numbers of a plan in memory. docs/architecture.md explains addresses.
//
// The events of a chunk are divided into blocks of LANES events. The memory of a block is an array
// `Real [vectors][LANES]`: address a of an event is LANES numbers after address a - 1, so that the
// threads of a warp, an event each, read and write neighbours. A block of threads that works on
// one helicity has a memory of the same kind of its own (the workspace) with fewer lanes.

typedef unsigned long long Size;

/// The numbers of one event.
template <unsigned STRIDE> struct Lane {
    Real *at;

    DEVICE Real *pointer(unsigned address) const { return at + (Size)address * STRIDE; }
    DEVICE Real real(unsigned address) const { return *pointer(address); }
    DEVICE void put_real(unsigned address, Real x) const { *pointer(address) = x; }
    DEVICE Cx complex(unsigned address) const {
        const Real *p = pointer(address);
        return Cx{p[0], p[STRIDE]};
    }
    DEVICE void put_complex(unsigned address, Cx z) const {
        Real *p = pointer(address);
        p[0] = z.re;
        p[STRIDE] = z.im;
    }
    DEVICE Four four(unsigned address) const {
        const Real *p = pointer(address);
        return Four{{{p[0], p[STRIDE]},
                     {p[2 * STRIDE], p[3 * STRIDE]},
                     {p[4 * STRIDE], p[5 * STRIDE]},
                     {p[6 * STRIDE], p[7 * STRIDE]}}};
    }
    DEVICE void put_four(unsigned address, Four z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 4; i++) {
            p[2 * i * STRIDE] = z.c[i].re;
            p[(2 * i + 1) * STRIDE] = z.c[i].im;
        }
    }
    DEVICE Momentum momentum(unsigned address) const {
        const Real *p = pointer(address);
        return Momentum{{p[0], p[STRIDE], p[2 * STRIDE], p[3 * STRIDE]}};
    }
    DEVICE void put_momentum(unsigned address, Momentum z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 4; i++) p[i * STRIDE] = z.p[i];
    }
    DEVICE Matrix matrix(unsigned address) const {
        const Real *p = pointer(address);
        Matrix z;
        for (int i = 0; i < 10; i++) z.a[i] = p[i * STRIDE];
        return z;
    }
    DEVICE void put_matrix(unsigned address, const Matrix &z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 10; i++) p[i * STRIDE] = z.a[i];
    }
    DEVICE Sixteen sixteen(unsigned address) const {
        const Real *p = pointer(address);
        Sixteen z;
        for (int i = 0; i < 16; i++) z.c[i] = Cx{p[2 * i * STRIDE], p[(2 * i + 1) * STRIDE]};
        return z;
    }
    DEVICE void put_sixteen(unsigned address, const Sixteen &z) const {
        Real *p = pointer(address);
        for (int i = 0; i < 16; i++) {
            p[2 * i * STRIDE] = z.c[i].re;
            p[(2 * i + 1) * STRIDE] = z.c[i].im;
        }
    }
};

typedef Lane<LANES> Memory;
typedef Lane<WORKSPACE_LANES> Workspace;
