// Amplitudes, JAMP and colour sums: one block of threads for some events and some helicities.
//
// A block takes WORKSPACE_LANES events (threads in x) and, one after the other, the groups of one or
// two helicities that fall to it; the threads in y share the operations. What belongs to one
// helicity lies in the workspace: amplitudes, partial sums and JAMP, and on top of the amplitudes, once
// these have served, what the colour sum needs. Blocks that follow each other take other helicities of
// the same events, so that the wavefunctions they share are in the cache.

/// Rows of the colour matrix that are taken together.
#define ROWS 4

/// One column of them.
struct alignas(16) Entries {
    Color of_row[ROWS];
};

#define FOR_LANES for (unsigned lane = threadIdx.x; lane < WORKSPACE_LANES; lane += blockDim.x)
#define FOR_SLOTS(I, COUNT) for (unsigned I = threadIdx.y; I < (COUNT); I += blockDim.y)

/// Where 1, 2, 4 or 8 slots are replaced by their sums.
template <unsigned N, class From>
DEVICE void orbit(const unsigned *op, const From *from, Color *to, unsigned lane) {
    for (unsigned part = 0; part < 2; part++) {
        Color x[N];
        for (unsigned i = 0; i < N; i++) x[i] = (Color)from[(2 * op[i] + part) * WORKSPACE_LANES + lane];
        for (unsigned bit = 1; bit < N; bit *= 2)
            for (unsigned i = 0; i < N; i++)
                if (!(i & bit)) {
                    Color a = x[i], b = x[i | bit];
                    x[i] = a + b;
                    x[i | bit] = a - b;
                }
        for (unsigned i = 0; i < N; i++) to[(2 * op[N + i] + part) * WORKSPACE_LANES + lane] = x[i];
    }
}

template <class From>
DEVICE void orbits(unsigned slots, const unsigned *op, const From *from, Color *to, unsigned lane) {
    switch (slots) {
    case 1: orbit<1>(op, from, to, lane); break;
    case 2: orbit<2>(op, from, to, lane); break;
    case 4: orbit<4>(op, from, to, lane); break;
    default: orbit<8>(op, from, to, lane); break;
    }
}

/// Some rows of a block of the colour matrix times their JAMPs; entries off the diagonal are
/// doubled, those below it zero.
DEVICE Color color_rows(const unsigned *row, const Entries *entries, const Color *x,
                        unsigned lane) {
    unsigned columns = row[1], rows = row[2];
    x += row[0] * 2 * WORKSPACE_LANES + lane;
    entries += row[3];
    Color re[ROWS], im[ROWS];
    for (unsigned r = 0; r < ROWS; r++) re[r] = im[r] = 0;
#pragma unroll 2
    for (unsigned c = 0; c < columns; c++) {
        Entries entry = entries[c];
        Color u = x[2 * c * WORKSPACE_LANES], v = x[(2 * c + 1) * WORKSPACE_LANES];
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            re[r] = fused(entry.of_row[r], u, re[r]);
            im[r] = fused(entry.of_row[r], v, im[r]);
        }
    }
    Color total = 0;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        if (r < rows) {
            total = fused(x[2 * r * WORKSPACE_LANES], re[r], total);
            total = fused(x[(2 * r + 1) * WORKSPACE_LANES], im[r], total);
        }
    return total;
}

#ifdef SPLIT_ORDERS
/// JAMP2 of a colour flow: moduli of sums of products of two JAMP each.
DEVICE Real weight_of_flow(const Helicities *h, unsigned flow, Workspace r) {
    Real total = 0;
    for (unsigned i = h->weights[flow]; i < h->weights[flow + 1]; i++) {
        Real sum = 0;
        for (unsigned j = h->moduli[i]; j < h->moduli[i + 1]; j++) {
            Cx a = r.complex(h->jamp + 2 * h->pairs[2 * j]), b = r.complex(h->jamp + 2 * h->pairs[2 * j + 1]);
            sum = fused(a.re, b.re, fused(a.im, b.im, sum));
        }
        total += magnitude(sum);
    }
    return total;
}
#endif

/// Blocks of threads in x share the groups, in y the events. With COLORS_OUTSIDE it does some groups only and
/// ends with their JAMP; sums over helicities go on from one launch to the next.
extern "C" __global__ void THREADS_AND_BLOCKS(WORKSPACE_THREADS, WORKSPACE_BLOCKS)
helicities(ARGUMENTS(HelicitiesArguments) a) {
    const Helicities *h = a.tables;
    Real *jamp2 = a.jamp2, *amp2 = a.amp2;
    SHARED(char, shared);
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    unsigned part = blockIdx.x, parts = gridDim.x;
    char *mine = shared;
    if (a.workspaces) mine = a.workspaces + (Size)(part * gridDim.y + blockIdx.y) * h->bytes;
    Real *of_helicity[2] = {(Real *)mine, (Real *)mine + h->workspace * WORKSPACE_LANES};
#ifdef COLORS_OUTSIDE
    unsigned begin = a.first_group + (unsigned)((Size)a.groups * part / parts);
    unsigned end = a.first_group + (unsigned)((Size)a.groups * (part + 1) / parts);
    // The first launch has at least as many groups as parts.
    unsigned start = a.first_group ? ~0u : begin;
#else
    Color *reduced = (Color *)(mine + h->bytes) - 2 * blockDim.y * WORKSPACE_LANES;
    unsigned begin = (unsigned)((Size)h->group_count * part / parts);
    unsigned end = (unsigned)((Size)h->group_count * (part + 1) / parts);
    unsigned start = begin;
#endif
    for (unsigned block = blockIdx.y; block < padded / WORKSPACE_LANES; block += gridDim.y) {
        unsigned event = block * WORKSPACE_LANES;
        Real *of_events = a.memory + (Size)(event / LANES) * a.vectors * LANES + event % LANES;
        for (unsigned g = begin; g < end; g++) {
            unsigned first = h->groups[2 * g], second = h->groups[2 * g + 1];
            unsigned count = second == ~0u ? 1 : 2;
            const unsigned *waves = h->waves + (Size)first * h->wave_count;
            const unsigned *others = count == 2 ? h->waves + (Size)second * h->wave_count : waves;
#ifdef CLOCKS
            const unsigned long long clock_at_begin = cycles_now();
#endif
            FOR_LANES {
                Memory m = {of_events + lane};
                Workspace r = {of_helicity[0] + lane}, s = {of_helicity[1] + lane};
                for (unsigned i = 0; i < h->amplitude_count; i++) {
                    const unsigned *run = h->amplitudes + 3 * i;
                    const unsigned *starts = h->starts + run[1];
                    switch (run[0]) { AMPLITUDES }
                }
            }
            __syncthreads();
            for (unsigned i = 0; i < h->sum_count; i++) {
                const unsigned *starts = h->starts + h->sums[2 * i];
                unsigned sums = h->sums[2 * i + 1];
                FOR_LANES FOR_SLOTS(j, count * sums) {
                    unsigned k = j < sums ? 0 : 1;
                    Workspace r = {of_helicity[k] + lane};
                    sum_of_amplitudes(h->operands + starts[j - k * sums], r, h->numbers);
                }
                __syncthreads();
            }
            if (jamp2) {
                FOR_LANES FOR_SLOTS(flow, h->color_flows) {
                    Real *to = jamp2 + ((Size)part * h->color_flows + flow) * padded + event + lane;
                    Real sum = g == start ? 0 : *to;
                    for (unsigned k = 0; k < count; k++) {
                        Workspace r = {of_helicity[k] + lane};
#ifdef SPLIT_ORDERS
                        sum += weight_of_flow(h, flow, r);
#else
                        Cx jamp = r.complex(h->jamp + 2 * flow);
                        sum = fused(jamp.re, jamp.re, fused(jamp.im, jamp.im, sum));
#endif
                    }
                    *to = sum;
                }
            }
            if (amp2) {
                FOR_LANES FOR_SLOTS(i, h->amp2_count) {
                    Real *to = amp2 + ((Size)part * h->amp2_count + i) * padded + event + lane;
                    Real sum = g == start ? 0 : *to;
                    for (unsigned set = h->amp2[i]; set < h->amp2[i + 1]; set++)
                        for (unsigned k = 0; k < count; k++) {
                            Workspace r = {of_helicity[k] + lane};
                            Cx z = {0, 0};
                            for (unsigned j = h->sets[set]; j < h->sets[set + 1]; j++)
                                z = z + r.complex(h->members[j]);
                            sum = fused(z.re, z.re, fused(z.im, z.im, sum));
                        }
                    *to = sum;
                }
                __syncthreads();
            }
#ifdef COLORS_OUTSIDE
            FOR_LANES FOR_SLOTS(j, count * h->flows) {
                unsigned k = j < h->flows ? 0 : 1, flow = j - k * h->flows;
                Workspace r = {of_helicity[k] + lane};
                Cx jamp = r.complex(h->jamp + 2 * flow);
                Size slot = (Size)(g - a.first_group) * a.group_size + k;
                Color *to = a.outside + (slot * h->flows + flow) * 2 * padded + event + lane;
                to[0] = (Color)jamp.re;
                to[padded] = (Color)jamp.im;
            }
            __syncthreads();
#else
#ifdef CLOCKS
            __syncthreads();
            const unsigned long long clock_before_color = cycles_now();
#endif
            // The colour sum; from here on the amplitudes are overwritten.
            const unsigned *op = h->orbits;
            for (unsigned i = 0; i < h->pass_count; i++) {
                unsigned slots = h->passes[3 * i], from_jamp = h->passes[3 * i + 2];
                unsigned orbit_count = h->passes[3 * i + 1];
                FOR_LANES FOR_SLOTS(j, count * orbit_count) {
                    unsigned k = j < orbit_count ? 0 : 1;
                    const unsigned *mine = op + (j - k * orbit_count) * 2 * slots;
                    Color *scratch = (Color *)(of_helicity[k] + h->scratch * WORKSPACE_LANES);
                    if (from_jamp)
                        orbits(slots, mine, of_helicity[k] + h->jamp * WORKSPACE_LANES, scratch, lane);
                    else
                        orbits(slots, mine, scratch, scratch, lane);
                }
                op += orbit_count * 2 * slots;
                __syncthreads();
            }
            FOR_LANES {
                Color total[2] = {0, 0};
                FOR_SLOTS(j, count * h->row_count) {
                    unsigned k = j < h->row_count ? 0 : 1;
                    const unsigned *row = h->rows + 4 * (j - k * h->row_count);
                    const Color *x = (const Color *)(of_helicity[k] + h->scratch * WORKSPACE_LANES);
                    Color sum = color_rows(row, h->entries, x, lane);
                    if (k) total[1] += sum; else total[0] += sum;
                }
                for (unsigned k = 0; k < 2; k++)
                    reduced[(k * blockDim.y + threadIdx.y) * WORKSPACE_LANES + lane] = total[k];
            }
            __syncthreads();
            FOR_LANES for (unsigned k = threadIdx.y; k < count; k += blockDim.y) {
                Color total = 0;
                for (unsigned i = 0; i < blockDim.y; i++)
                    total += reduced[(k * blockDim.y + i) * WORKSPACE_LANES + lane];
                a.contributions[(Size)(k ? second : first) * padded + event + lane] = (Real)total;
            }
            // What is reduced is written again only after two more barriers.
#ifdef CLOCKS
            // All warps of a block wait for each other; the first has a part of the last sums.
            if (threadIdx.x + threadIdx.y == 0) {
                const unsigned long long clock_at_end = cycles_now();
                add_cycles(a.cycles, clock_at_end - clock_at_begin, clock_at_end - clock_before_color);
            }
#endif
#endif
        }
    }
}
