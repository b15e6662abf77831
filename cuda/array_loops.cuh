// All operations and colour sums of a plan of loops in one kernel: a block of threads takes a block of events from level to
// level in its own workspace, which is in shared memory, or small enough that all workspaces stay in a cache. Tables are in shared
// memory.

/// Blocks in x share the blocks of events; in y are the warps.
extern "C" __global__ void THREADS_AND_BLOCKS(LOOPS_THREADS, LOOPS_BLOCKS) array_loops(ARGUMENTS(LoopsArguments) l) {
    SHARED(unsigned, tables);
    Real *work = l.workspaces ? l.workspaces + (Size)blockIdx.x * l.vectors * LANES : (Real *)(tables + l.table_size);
    for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
        for (unsigned i = threadIdx.y * LANES + lane; i < l.table_size; i += blockDim.y * LANES) tables[i] = l.tables[i];
    Arrays a;
    a.pairs = (const ArrayPair *)(tables + l.pairs);
    a.tile_pairs = (const TilePair *)(tables + l.tile_pairs);
    a.triples = (const ArrayTriple *)(tables + l.triples);
    a.addends = (const ArrayAddend *)(tables + l.addends);
    a.indices = tables + l.indices;
    a.shifts = tables + l.shifts;
    const unsigned *operations = tables + l.operations, *levels = tables + l.levels, *launches = tables + l.launches;
    const ArrayItem *all_items = (const ArrayItem *)(tables + l.items);
    const unsigned blocks = (l.events + LANES - 1) / LANES, padded = blocks * LANES;
    for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
        const Real *from = l.memory + (Size)block * l.vectors * LANES;
        for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
#pragma unroll 4
            for (unsigned i = threadIdx.y; i < l.input_count; i += blockDim.y) {
                const unsigned at = l.inputs[i] * LANES + lane;
                work[at] = from[at];
            }
        __syncthreads();
        for (unsigned level = 0; level < l.level_count; level++) {
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
            for (unsigned element = threadIdx.y; element < l.helicities; element += blockDim.y) {
                if (!is_evaluated(l, element)) continue;
                const Real *jamps = m.pointer(l.products + 2 * element);
                const Real total = few_color_sum(jamps, (Size)2 * l.helicities * LANES, l.entries);
                put_contributions(l, element, total, event, padded, m);
            }
            if (!l.jamp2) continue;
            for (unsigned flow = threadIdx.y; flow < l.flows; flow += blockDim.y)
                l.jamp2[(Size)flow * padded + event] = square_of_flow(l, flow, m.pointer(l.products), m, 0);
        }
        __syncthreads();
    }
}
