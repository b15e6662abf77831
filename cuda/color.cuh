// The colour sum where cuBLAS multiplies JAMP by the colour matrix, see
// src/gpu/engine/blas.rs.

/// Events and threads for each event of a block of threads.
#define DOTS_LANES 32
#define DOTS_THREADS 8

/// Adds up over flows JAMP times what the colour matrix makes of it: threads in x take events, those
/// in y flows, blocks in x events and in y helicities. `jamp` and `product` are
/// `[slot][flow][2][padded events]`; slots are those of `group_size` helicities of each group from
/// `first_group` on, of which the second may be missing.
extern "C" __global__ void __launch_bounds__(DOTS_LANES * DOTS_THREADS)
color_dots(const unsigned *groups, unsigned first_group, unsigned group_size, unsigned slots,
           unsigned flows, unsigned events, const Color *jamp, const Color *product,
           Real *contributions) {
    __shared__ Color reduced[DOTS_THREADS][DOTS_LANES];
    unsigned padded = (events + LANES - 1) / LANES * LANES;
    for (unsigned slot = blockIdx.y; slot < slots; slot += gridDim.y) {
        unsigned group = first_group + slot / group_size;
        unsigned helicity = groups[2 * group + slot % group_size];
        if (helicity == ~0u) continue;
        for (unsigned event = blockIdx.x * DOTS_LANES; event < padded; event += gridDim.x * DOTS_LANES) {
            for (unsigned lane = threadIdx.x; lane < DOTS_LANES; lane += blockDim.x) {
                Color total = 0;
                for (unsigned i = threadIdx.y; i < 2 * flows; i += blockDim.y) {
                    Size at = ((Size)slot * 2 * flows + i) * padded + event + lane;
                    total = fused(jamp[at], product[at], total);
                }
                reduced[threadIdx.y][lane] = total;
            }
            __syncthreads();
            if (threadIdx.y == 0)
                for (unsigned lane = threadIdx.x; lane < DOTS_LANES; lane += blockDim.x) {
                    Color total = 0;
                    for (unsigned i = 0; i < blockDim.y; i++) total += reduced[i][lane];
                    contributions[(Size)helicity * padded + event + lane] = (Real)total;
                }
            __syncthreads();
        }
    }
}
