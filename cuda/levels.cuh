// All levels of a plan in one kernel (crates/gpu/src/shared_levels.rs): a block of threads takes a few events at a time from
// level to level. What later levels read is in shared memory, with LANES events beside each other; what is read afterwards
// goes to the memory of events, which has OUTSIDE_LANES of them. Tables are in shared memory.

/// Slots of a warp, each with an operation of the same form; parts of a block of the memory of events.
#define SLOTS (OUTSIDE_LANES / LANES)

typedef Lane<OUTSIDE_LANES> Outside;

/// Copies a value: where it goes, where it is, the number of its vectors.
DEVICE void copy_out(const unsigned *op, Memory m, Outside r) {
    for (unsigned i = 0; i < op[2]; i++) r.put_real(op[0] + i, m.real(op[1] + i));
}

extern "C" __global__ void THREADS_AND_BLOCKS(LEVELS_THREADS, 1) levels(ARGUMENTS(LevelsArguments) a) {
    SHARED(unsigned, tables);
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < a.table_size; i += blockDim.x * blockDim.y)
        tables[i] = a.tables[i];
    Real *const work = (Real *)(tables + a.table_size);
    const unsigned *inputs = tables + a.inputs, *operations = tables + a.operations;
    const unsigned slot = threadIdx.y % SLOTS, warp = threadIdx.y / SLOTS, warps = blockDim.y / SLOTS;
    const unsigned parts = (a.events + OUTSIDE_LANES - 1) / OUTSIDE_LANES * SLOTS;
    __syncthreads();
    for (unsigned part = blockIdx.x; part < parts; part += gridDim.x) {
        Real *const events = a.memory + (Size)(part / SLOTS) * a.vectors * OUTSIDE_LANES + part % SLOTS * LANES;
        // The loops over lanes are for substitutes of a GPU, whose blocks may have fewer threads in x.
        for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
            for (unsigned i = threadIdx.y; i < a.input_count; i += blockDim.y)
                work[inputs[2 * i + 1] * LANES + lane] = events[(Size)inputs[2 * i] * OUTSIDE_LANES + lane];
        __syncthreads();
        const unsigned *ends = tables + a.ends + warp;
        for (unsigned level = 0; level < a.level_count; level++, ends += warps) {
            const unsigned *of = operations + (level || warp ? ends[-1] : 0), *const end = operations + *ends;
            for (; of < end; of += 1 + SLOTS) {
                const unsigned start = of[1 + slot];
                if (start == NO_OPERATION) continue;
                const unsigned *op = tables + start;
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                    const Memory m = {work + lane};
                    const Outside outside = {events + lane};
                    switch (of[0]) { LEVEL_FORMS }
                }
            }
            __syncthreads();
        }
    }
}
