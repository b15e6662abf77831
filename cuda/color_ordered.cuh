// The colour sum of JAMP that are all orders of the same things (crates/plan/src/color_ordered/color_matrix), and what flows weigh.

/// Most warps of a block that multiplies by the colour matrix; of one of its threads the rows, the columns among the
/// 2 LANES real and imaginary parts of JAMP, and how many columns of the matrix ahead entries are read.
#define COLOR_ORDERED_WARPS 16
#define COLOR_ORDERED_ROWS 4
#define COLOR_ORDERED_COLUMNS 8
#define COLOR_ORDERED_AHEAD 2

/// Most slots that sums lead to each other, and warps of a block that takes these.
#define GROUP_SLOTS 32
#define GROUP_WARPS 4

/// Two numbers that are read at once.
struct alignas(2 * sizeof(Real)) Two {
    Real a, b;
};

/// Replaces 2, 4 or 8 slots by their sums.
template <unsigned N> DEVICE void color_ordered_orbit(const unsigned *slots, Real (*at)[LANES], unsigned lane) {
    Real x[N];
#pragma unroll
    for (unsigned i = 0; i < N; i++) x[i] = at[slots[i]][lane];
#pragma unroll
    for (unsigned bit = 1; bit < N; bit *= 2)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (!(i & bit)) {
                Real a = x[i], b = x[i | bit];
                x[i] = a + b;
                x[i | bit] = a - b;
            }
#pragma unroll
    for (unsigned i = 0; i < N; i++) at[slots[i]][lane] = x[i];
}

/// Replaces slots by their sums, one after the other: their number, and for each sum the number of slots and where they are.
DEVICE void color_ordered_orbits(const unsigned *next, Real (*at)[LANES], unsigned lane) {
    unsigned sums = *next++;
    for (unsigned k = 0; k < sums; k++) {
        unsigned size = *next++;
        if (size == 8) color_ordered_orbit<8>(next, at, lane);
        if (size == 4) color_ordered_orbit<4>(next, at, lane);
        if (size == 2) color_ordered_orbit<2>(next, at, lane);
        next += size;
    }
}

/// Computes weights, squares of sums of products, and sets helicities that vanish to zero: a warp takes one of these for a
/// block of events.
extern "C" __global__ void MAX_THREADS(256) color_weights(ARGUMENTS(WeightsArguments) a) {
    unsigned blocks = (a.events + LANES - 1) / LANES, padded = blocks * LANES;
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned i = blockIdx.x * blockDim.y + threadIdx.y; i < a.weight_count + a.vanishing_count;
             i += gridDim.x * blockDim.y)
            for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                if (i >= a.weight_count) {
                    a.contributions[(Size)a.vanishing[i - a.weight_count] * padded + block * LANES + lane] = 0;
                    continue;
                }
                const Memory m = {a.memory + (Size)block * a.vectors * LANES + lane};
                const unsigned *next = a.factors + a.starts[i];
                const unsigned to = *next++, products = *next++;
                Cx sum = cx(0, 0);
                for (unsigned k = 0; k < products; k++) {
                    Cx z = cx(1, 0);
                    for (unsigned factors = *next++; factors; factors--) z = z * m.complex(*next++);
                    sum = sum + z;
                }
                m.put_real(to, fused(sum.re, sum.re, sum.im * sum.im));
            }
}

/// Replaces JAMP by the sums to which blocks of the matrix belong: a warp takes a group of slots (blocks in x) of a
/// helicity of a run (blocks in z) for a block of events (in y).
extern "C" __global__ void MAX_THREADS(GROUP_WARPS *LANES) color_sums(ARGUMENTS(ColorOrderedArguments) a) {
    __shared__ Real staged[GROUP_WARPS][GROUP_SLOTS][LANES];
    unsigned blocks = (a.events + LANES - 1) / LANES;
    Size stride = (Size)2 * a.helicities * LANES;
    Real(*x)[LANES] = staged[threadIdx.y];
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned element = blockIdx.z; element < a.helicities; element += gridDim.z) {
            if (!is_evaluated(a, element)) continue;
            for (unsigned i = blockIdx.x * blockDim.y + threadIdx.y; i < a.group_count; i += gridDim.x * blockDim.y)
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
                    for (unsigned part = 0; part < 2; part++) {
                        Real *jamps = a.memory +
                                      ((Size)block * a.vectors + a.products + 2 * element + part) * LANES + lane;
                        const unsigned *next = a.groups + a.group_starts[i];
                        unsigned count = *next++;
                        const unsigned *slots = next;
#pragma unroll 8
                        for (unsigned k = 0; k < count; k++) x[k][lane] = jamps[slots[k] * stride];
                        color_ordered_orbits(next + count, x, lane);
#pragma unroll 8
                        for (unsigned k = 0; k < count; k++) jamps[slots[k] * stride] = x[k][lane];
                    }
        }
}

/// Some rows of a block of the colour matrix times some of its columns, from both sides with JAMP; entries off the
/// diagonal are doubled, those below it zero. Eight threads of a warp take the same rows; each of these takes the same
/// eight numbers of JAMP in all of them, to whose totals it adds. Columns are a multiple of COLOR_ORDERED_AHEAD, the last ones of
/// zeros.
DEVICE void color_ordered_tile(const unsigned *tile, const Real *entries, const Real *jamp, unsigned thread, Real *totals) {
    const unsigned R = COLOR_ORDERED_ROWS, rows = 2 * (thread / 8), numbers = 2 * (thread % 8), width = 2 * LANES;
    const Real *x = jamp + tile[2] * width + numbers;
    const Real *e = entries + (Size)tile[4] * (4 * R) + rows;
    Real y[R][COLOR_ORDERED_COLUMNS];
#pragma unroll
    for (unsigned r = 0; r < R; r++)
#pragma unroll
        for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS; n++) y[r][n] = 0;
    const unsigned columns = tile[3];
    Two next[COLOR_ORDERED_AHEAD][R / 2];
#pragma unroll
    for (unsigned i = 0; i < COLOR_ORDERED_AHEAD; i++, e += 4 * R)
#pragma unroll
        for (unsigned r = 0; r < R / 2; r++) next[i][r] = *(const Two *)(e + 8 * r);
#pragma unroll 1
    for (unsigned c = 0; c < columns; c += COLOR_ORDERED_AHEAD)
#pragma unroll
        for (unsigned i = 0; i < COLOR_ORDERED_AHEAD; i++, x += width, e += 4 * R) {
            Two u[COLOR_ORDERED_COLUMNS / 2];
#pragma unroll
            for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS / 2; n++) u[n] = *(const Two *)(x + 16 * n);
#pragma unroll
            for (unsigned r = 0; r < R / 2; r++) {
                const Two w = next[i][r];
                // At last what is behind the tile: there is always more in the table.
                next[i][r] = *(const Two *)(e + 8 * r);
#pragma unroll
                for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS / 2; n++) {
                    y[2 * r][2 * n] = fused(w.a, u[n].a, y[2 * r][2 * n]);
                    y[2 * r][2 * n + 1] = fused(w.a, u[n].b, y[2 * r][2 * n + 1]);
                    y[2 * r + 1][2 * n] = fused(w.b, u[n].a, y[2 * r + 1][2 * n]);
                    y[2 * r + 1][2 * n + 1] = fused(w.b, u[n].b, y[2 * r + 1][2 * n + 1]);
                }
            }
        }
    x = jamp + tile[0] * width + numbers;
#pragma unroll
    for (unsigned r = 0; r < R; r++) {
        const unsigned row = 8 * (r / 2) + rows + r % 2;
        if (row < tile[1])
#pragma unroll
            for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS / 2; n++) {
                const Two u = *(const Two *)(x + row * width + 16 * n);
                totals[2 * n] = fused(u.a, y[r][2 * n], totals[2 * n]);
                totals[2 * n + 1] = fused(u.b, y[r][2 * n + 1], totals[2 * n + 1]);
            }
    }
}

/// A block of threads takes a helicity of a run (blocks in x) and a block of events (in y), behind `color_sums` unless there
/// is one stage, on which this kernel computes the sums: a warp takes a group.
extern "C" __global__ void THREADS_AND_BLOCKS(COLOR_ORDERED_WARPS *LANES, 1) color_ordered_sum(ARGUMENTS(ColorOrderedArguments) a) {
    SHARED(Real, reduced);
    Real *staged = reduced + a.warps * LANES * COLOR_ORDERED_COLUMNS;
    unsigned blocks = (a.events + LANES - 1) / LANES, padded = blocks * LANES;
    Size stride = (Size)2 * a.helicities * LANES;
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned element = blockIdx.x; element < a.helicities; element += gridDim.x) {
            if (!is_evaluated(a, element)) continue;
            const Real *jamps = a.memory + ((Size)block * a.vectors + a.products + 2 * element) * LANES;
            for (unsigned s = 0; s < a.stage_count; s++) {
                const unsigned *slots = a.slots + a.stages[3 * s], *lists = a.lists + a.stages[3 * s + 2];
                unsigned count = a.stages[3 * s + 1];
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
#pragma unroll 4
                    for (unsigned i = threadIdx.y; i < count; i += blockDim.y) {
                        const Real *from = jamps + slots[i] * stride + lane;
                        staged[2 * i * LANES + lane] = from[0];
                        staged[(2 * i + 1) * LANES + lane] = from[LANES];
                    }
                // What entries of zero meet.
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
                    for (unsigned i = 2 * count + threadIdx.y; i < 2 * (count + COLOR_ORDERED_AHEAD); i += blockDim.y)
                        staged[i * LANES + lane] = 0;
                __syncthreads();
                if (a.stage_count == 1) {
                    for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
                        for (unsigned i = threadIdx.y; i < 2 * a.group_count; i += blockDim.y) {
                            const unsigned *next = a.groups + a.group_starts[i / 2];
                            color_ordered_orbits(next, (Real(*)[LANES])(staged + i % 2 * LANES), lane);
                        }
                    __syncthreads();
                }
                for (unsigned thread = threadIdx.x; thread < LANES; thread += blockDim.x)
                    for (unsigned warp = threadIdx.y; warp < a.warps; warp += blockDim.y) {
                        Real totals[COLOR_ORDERED_COLUMNS], *mine = reduced + (warp * LANES + thread) * COLOR_ORDERED_COLUMNS;
#pragma unroll
                        for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS; n++) totals[n] = s ? mine[n] : 0;
                        for (unsigned i = lists[warp]; i < lists[warp + 1]; i++)
                            color_ordered_tile(a.tiles + 5 * i, a.entries, staged, thread, totals);
#pragma unroll
                        for (unsigned n = 0; n < COLOR_ORDERED_COLUMNS; n++) mine[n] = totals[n];
                    }
                __syncthreads();
            }
            if (threadIdx.y == 0)
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                    Real total = 0;
                    // Real and imaginary part of the event, in all threads that have them.
                    for (unsigned number = lane; number < 2 * LANES; number += LANES)
                        for (unsigned warp = 0; warp < a.warps; warp++)
                            for (unsigned thread = number % 16 / 2; thread < LANES; thread += 8)
                                total += reduced[(warp * LANES + thread) * COLOR_ORDERED_COLUMNS + number / 16 * 2 + number % 2];
                    const Memory m = {a.memory + (Size)block * a.vectors * LANES + lane};
                    put_contributions(a, element, total, (Size)block * LANES + lane, padded, m);
                }
            __syncthreads();
        }
}

/// Adds up |JAMP|^2 of each colour flow over the helicities of a run.
extern "C" __global__ void MAX_THREADS(256) color_flows(ARGUMENTS(FlowsArguments) a) {
    unsigned blocks = (a.events + LANES - 1) / LANES, padded = blocks * LANES;
    Size stride = (Size)2 * a.helicities * LANES;
    for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)
        for (unsigned flow = blockIdx.x * blockDim.y + threadIdx.y; flow < a.flows;
             flow += gridDim.x * blockDim.y)
            for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
                const Real *jamps = a.memory + ((Size)block * a.vectors + a.products) * LANES + lane;
                Real *to = a.jamp2 + (Size)flow * padded + block * LANES + lane;
                const Memory m = {a.memory + (Size)block * a.vectors * LANES + lane};
                *to = square_of_flow(a, flow, jamps, m, a.first ? (Real)0 : *to);
            }
}
