// The colour sum of a plan of loops with few JAMP.

/// A warp takes a helicity of a run for a block of events.
extern "C" __global__ void MAX_THREADS(256) few_color_sums(ARGUMENTS(FewJampsArguments) a) {
    unsigned blocks = (a.events + LANES - 1) / LANES, padded = blocks * LANES;
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned element = blockIdx.x * blockDim.y + threadIdx.y; element < a.helicities;
             element += gridDim.x * blockDim.y) {
            if (!is_evaluated(a, element)) continue;
            for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                const Memory m = {a.memory + (Size)block * a.vectors * LANES + lane};
                const Real *jamps = m.pointer(a.products + 2 * element);
                const Real total = few_color_sum(jamps, (Size)2 * a.helicities * LANES, a.entries);
                put_contributions(a, element, total, (Size)block * LANES + lane, padded, m);
            }
        }
}
