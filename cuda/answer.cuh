// From the contributions of helicities to the answer for each event.

/// The sum over parts of a number of an event.
DEVICE Real whole(const Real *numbers, unsigned count, unsigned i, unsigned parts, unsigned padded) {
    Real sum = 0;
#pragma unroll 8
    for (unsigned part = 0; part < parts; part++) sum += numbers[((Size)part * count + i) * padded];
    return sum;
}

/// Most warps of a block that answers.
#define ANSWER_WARPS 8

/// The answers for events, a lane each: |M|^2, helicity and colour. Warps share what is added up, AMP2 and parts of JAMP2, of
/// which the first part becomes the sum.
extern "C" __global__ void MAX_THREADS(ANSWER_WARPS *LANES) answer(ARGUMENTS(AnswerArguments) a) {
    __shared__ Real denominators[ANSWER_WARPS][LANES];
    const Choices *c = a.choices;
    const Real *contributions = a.contributions, *amp2 = a.amp2;
    unsigned events = a.events, parts = a.parts, blocks = (events + LANES - 1) / LANES, padded = blocks * LANES;
    for (unsigned block = blockIdx.x; block < blocks; block += gridDim.x) {
        const Real *of_block = a.memory + (Size)block * a.vectors * LANES;
        for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x)
            for (unsigned warp = threadIdx.y; warp < ANSWER_WARPS; warp += blockDim.y) {
                const Lane<LANES> m = {(Real *)of_block + lane};
                const unsigned e = block * LANES + lane;
                // Generated code writes nothing for lanes without an event.
                const unsigned count = a.channel && e < events ? c->denominator_count : 0;
                const int config = a.config && parts > 1 && e < events ? a.config[e] : NONE;
                Real sum = 0;
#pragma unroll 8
                for (unsigned i = warp; i < count; i += ANSWER_WARPS) {
                    const unsigned of = c->denominator[i];
                    sum += c->totals ? m.real(c->totals[of]) : whole(amp2 + e, c->amp2_count, of, parts, padded);
                }
                denominators[warp][lane] = sum;
                if (config < 0) continue;
                for (unsigned i = c->allowed[config] + warp; i < c->allowed[config + 1]; i += ANSWER_WARPS) {
                    const unsigned flow = c->flows[i];
                    a.jamp2[(Size)flow * padded + e] = whole(a.jamp2 + e, c->flow_count, flow, parts, padded);
                }
            }
        __syncthreads();
        for (unsigned lane = threadIdx.x; lane < LANES && threadIdx.y == 0; lane += blockDim.x) {
            const unsigned e = block * LANES + lane;
            if (e >= events) continue;
            Real total = 0, sizes = 0;
#pragma unroll 16
            for (unsigned i = 0; i < c->helicity_count; i++) {
                const Real contribution = contributions[(Size)i * padded + e];
                total += contribution;
                if (HELICITY_SUM != POSITIVE) sizes += size_of(contribution);
            }
            if (HELICITY_SUM == POSITIVE) sizes = total;
            auto size = [&](unsigned i) { return size_of(contributions[(Size)i * padded + e]); };
            const int helicity = choose(random_number(a.random_helicity[e]), sizes, 0, c->helicity_count, size);
            a.helicity[e] = helicity < 0 ? NONE : (int)c->helicities[helicity];
            if (HELICITY_SUM == ABSOLUTE)
                total = with_sign(sizes, helicity < 0 ? 1 : contributions[(Size)helicity * padded + e]);
            Real value = total * (Real)*a.normalization;
            if (a.channel) {
                const Lane<LANES> m = {(Real *)of_block + lane};
                const unsigned mine = c->amp2_of_diagram[a.channel[e]];
                const Real numerator = c->totals ? m.real(c->totals[mine])
                                                 : whole(amp2 + e, c->amp2_count, mine, parts, padded);
                Real denominator = 0;
                for (unsigned warp = 0; warp < ANSWER_WARPS; warp++) denominator += denominators[warp][lane];
                if (denominator != 0) value *= numerator / denominator;
            }
            a.matrix_elements[e] = value;
            if (is_lost(value)) *a.lost = 0;
            const int config = a.config ? a.config[e] : NONE;
            int color = NONE;
            if (config >= 0) {
                const Real *jamp2 = a.jamp2 + e;
                const unsigned begin = c->allowed[config], end = c->allowed[config + 1];
                auto square = [&](unsigned i) { return jamp2[(Size)c->flows[i] * padded]; };
                Real squares = 0;
#pragma unroll 8
                for (unsigned i = begin; i < end; i++) squares += square(i);
                const int flow = choose(random_number(a.random_color[e]), squares, begin, end, square);
                if (flow >= 0) color = (int)c->flows[flow];
            }
            a.color[e] = color;
        }
        __syncthreads();
    }
}

/// AMP2 that lie in the memory of blocks, as `[AMP2][padded events]`: rows are copied as wholes, so that lanes without an
/// event, in which the last one was evaluated again, are written as well.
extern "C" __global__ void gather(ARGUMENTS(GatherArguments) a) {
    const Choices *c = a.choices;
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < padded;
         e += gridDim.x * blockDim.x) {
        const Real *m = a.memory + (Size)(e / LANES) * a.vectors * LANES + e % LANES;
        for (unsigned i = 0; i < c->amp2_count; i++)
            a.amp2[(Size)i * padded + e] = m[(Size)c->totals[i] * LANES];
    }
}
