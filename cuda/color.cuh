// The colour sum where cuBLAS multiplies JAMP by the colour matrix, see
// crates/gpu/src/engine/blas.rs.

/// Events and threads for each event of a block of threads.
#define DOTS_LANES LANES
#define DOTS_THREADS 8

/// Adds up over flows JAMP times what the colour matrix makes of it: threads in x take events, those
/// in y flows, blocks in x events and in y helicities. Slots are those of `group_size` helicities of each
/// group from `first_group` on, of which the second may be missing.
extern "C" __global__ void MAX_THREADS(DOTS_LANES * DOTS_THREADS)
color_dots(ARGUMENTS(DotsArguments) a) {
    __shared__ Color reduced[DOTS_THREADS][DOTS_LANES];
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    for (unsigned slot = blockIdx.y; slot < a.slots; slot += gridDim.y) {
        unsigned group = a.first_group + slot / a.group_size;
        unsigned helicity = a.groups[2 * group + slot % a.group_size];
        if (helicity == ~0u) continue;
        for (unsigned event = blockIdx.x * DOTS_LANES; event < padded; event += gridDim.x * DOTS_LANES) {
            for (unsigned lane = threadIdx.x; lane < DOTS_LANES; lane += blockDim.x) {
                Color total = 0;
                for (unsigned i = threadIdx.y; i < 2 * a.flows; i += blockDim.y) {
                    Size at = ((Size)slot * 2 * a.flows + i) * padded + event + lane;
                    total = fused(a.jamp[at], a.product[at], total);
                }
                reduced[threadIdx.y][lane] = total;
            }
            __syncthreads();
            if (threadIdx.y == 0)
                for (unsigned lane = threadIdx.x; lane < DOTS_LANES; lane += blockDim.x) {
                    Color total = 0;
                    for (unsigned i = 0; i < blockDim.y; i++) total += reduced[i][lane];
                    a.contributions[(Size)helicity * padded + event + lane] = (Real)total;
                }
            __syncthreads();
        }
    }
}
