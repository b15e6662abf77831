// All levels of a plan in one kernel (crates/gpu/src/shared_levels.rs): a block of threads takes a few events at a time from
// level to level. What later levels read is in shared memory, in pairs of LANES events beside each other, so that the slots
// of a warp use different banks; what is read afterwards goes to the memory of events, which has OUTSIDE_LANES of them.
// Tables are in shared memory.

/// Slots of a warp, each with an operation of the same form; parts of a block of the memory of events.
#define SLOTS (OUTSIDE_LANES / LANES)

typedef Lane<OUTSIDE_LANES> Outside;

/// The tables, at the beginning of shared memory.
DEVICE unsigned *tables() {
    SHARED(unsigned, begin);
    return begin;
}

DEVICE unsigned table(int i) { return tables()[i]; }

/// Operands in the tables. Unlike a pointer the place is 32 bits long; it has a sign because it never overflows.
struct Operands {
    int at;

    DEVICE unsigned operator[](int i) const { return table(at + i); }
    DEVICE unsigned operator*() const { return table(at); }
    DEVICE Operands operator+(int n) const { return Operands{at + n}; }
    DEVICE Operands &operator+=(int n) {
        at += n;
        return *this;
    }
    DEVICE Operands operator++(int) { return Operands{at++}; }
    DEVICE bool operator<(Operands end) const { return at < end.at; }
};

/// Copies a value: where it goes, where it is, the number of its vectors.
DEVICE void copy_out(Operands op, Memory m, Outside r) {
    const unsigned to = op[0], from = op[1], vectors = op[2];
    unsigned i = 0;
    for (; i + 1 < vectors; i += 2) r.put_complex(to + i, m.complex(from + i));
    if (i < vectors) r.put_real(to + i, m.real(from + i));
}

extern "C" __global__ void THREADS_AND_BLOCKS(LEVELS_THREADS, 1) levels(ARGUMENTS(LevelsArguments) a) {
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < a.table_size; i += blockDim.x * blockDim.y)
        tables()[i] = a.tables[i];
    Real *const work = (Real *)(tables() + a.table_size);
    const unsigned slot = threadIdx.y % SLOTS, warp = threadIdx.y / SLOTS, warps = blockDim.y / SLOTS;
    const unsigned parts = (a.events + OUTSIDE_LANES - 1) / OUTSIDE_LANES * SLOTS;
    __syncthreads();
    for (unsigned part = blockIdx.x; part < parts; part += gridDim.x) {
        Real *const events = a.memory + (Size)(part / SLOTS) * a.vectors * OUTSIDE_LANES + part % SLOTS * LANES;
        for (unsigned lane = threadIdx.x; lane < LANES; lane += LANES_STEP)
            for (unsigned i = threadIdx.y; i < a.input_count; i += blockDim.y) {
                const unsigned from = table(a.inputs + 2 * i), to = table(a.inputs + 2 * i + 1), second = to % 2;
                work[(to - second) * LANES + 2 * lane + second] = events[(Size)from * OUTSIDE_LANES + lane];
            }
        __syncthreads();
        unsigned of = a.operations + (warp ? table(a.ends + warp - 1) : 0);
        for (unsigned level = 0, ends = a.ends + warp; level < a.level_count; level++, ends += warps) {
            const unsigned end = a.operations + table(ends);
            if (level) of = a.operations + table(ends - 1);
            // What follows the last of these is read too early, not used, and within the tables.
            unsigned next = table(of), next_start = table(of + 1 + slot);
            while (of < end) {
                const unsigned form = next, start = next_start;
                of += 1 + SLOTS;
                next = table(of);
                next_start = table(of + 1 + slot);
                if (start == NO_OPERATION) continue;
                const Operands op = {(int)start};
                for (unsigned lane = threadIdx.x; lane < LANES; lane += LANES_STEP) {
                    const Memory m = {work + 2 * lane};
                    const Outside outside = {events + lane};
                    switch (form) { LEVEL_FORMS }
                }
            }
            __syncthreads();
        }
    }
}
