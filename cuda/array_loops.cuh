// All operations and colour sums of a plan of loops in one kernel: a block of threads takes a block of events from level to
// level in its own workspace, which is in shared memory, or small enough that all workspaces stay in a cache. Tables are in shared
// memory.

/// Blocks in x share the blocks of events; in y are the warps.
extern "C" __global__ void THREADS_AND_BLOCKS(LOOPS_THREADS, LOOPS_BLOCKS) array_loops(ARGUMENTS(LoopsArguments) a) {
    SHARED(unsigned, tables);
    Real *work = a.workspaces ? a.workspaces + (Size)blockIdx.x * a.vectors * LANES : (Real *)(tables + a.table_size);
    for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
        for (unsigned i = threadIdx.y * LANES + lane; i < a.table_size; i += blockDim.y * LANES) tables[i] = a.tables[i];
    Arrays arrays;
    arrays.pairs = (const ArrayPair *)(tables + a.pairs);
    arrays.tile_pairs = (const TilePair *)(tables + a.tile_pairs);
    arrays.triples = (const ArrayTriple *)(tables + a.triples);
    arrays.addends = (const ArrayAddend *)(tables + a.addends);
    arrays.indices = tables + a.indices;
    arrays.shifts = tables + a.shifts;
    const unsigned *operations = tables + a.operations, *levels = tables + a.levels, *launches = tables + a.launches;
    const ArrayItem *all_items = (const ArrayItem *)(tables + a.items);
    const unsigned blocks = (a.events + LANES - 1) / LANES, padded = blocks * LANES;
    for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
        const Real *from = a.memory + (Size)block * a.vectors * LANES;
        for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
#pragma unroll 4
            for (unsigned i = threadIdx.y; i < a.input_count; i += blockDim.y) {
                const unsigned at = a.inputs[i] * LANES + lane;
                work[at] = from[at];
            }
        __syncthreads();
        for (unsigned level = 0; level < a.level_count; level++) {
            // Warps that have no item of a kind begin with the next kind.
            unsigned next = threadIdx.y;
            for (unsigned k = levels[level]; k < levels[level + 1]; k++) {
                const unsigned kind = launches[3 * k], count = launches[3 * k + 2];
                const ArrayItem *items = all_items + launches[3 * k + 1];
                for (; next < count; next += blockDim.y)
                    for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                        const Memory m = {work + lane};
                        const unsigned *operation = operations + items[next].operation;
                        const unsigned r = items[next].element;
                        switch (kind) { ARRAY_KINDS }
                    }
                next -= count;
            }
            __syncthreads();
        }
        for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
            const Memory m = {work + lane};
            const Size event = (Size)block * LANES + lane;
            for (unsigned element = threadIdx.y; element < a.helicities; element += blockDim.y) {
                if (!is_evaluated(a, element)) continue;
                const Real *jamps = m.pointer(a.products + 2 * element);
                const Real total = few_color_sum(jamps, (Size)2 * a.helicities * LANES, a.entries);
                put_contributions(a, element, total, event, padded, m);
            }
            if (!a.jamp2) continue;
            for (unsigned flow = threadIdx.y; flow < a.flows; flow += blockDim.y)
                a.jamp2[(Size)flow * padded + event] = square_of_flow(a, flow, m.pointer(a.products), m, 0);
        }
        __syncthreads();
    }
}
