// From the contributions of helicities to the answer for each event.

/// Tables of the process, see src/gpu/engine.rs.
struct Choices {
    /// Numbers of the good helicities, from 0 in the order of the process's table.
    const unsigned *helicities;
    /// For each channel (diagram number) its AMP2 and its configuration from 1, 0 for none.
    const unsigned *amp2_of_channel, *config_of_channel;
    /// AMP2 in the sum over all channels.
    const unsigned *denominator;
    /// For each AMP2 where it is in the memory of a block; 0 if AMP2 come from amplitudes.
    const unsigned *totals;
    /// For each configuration from 1 where its allowed colour flows begin in `flows`.
    const unsigned *allowed, *flows;
    unsigned helicity_count, denominator_count, amp2_count, flow_count;
};

/// The sum over parts of a number of an event.
DEVICE Real whole(const Real *numbers, unsigned count, unsigned i, unsigned parts, unsigned padded) {
    Real sum = 0;
    for (unsigned part = 0; part < parts; part++) sum += numbers[((Size)part * count + i) * padded];
    return sum;
}

/// `contributions`, `jamp2` and `amp2` as the kernel of helicities leaves them, in so many parts;
/// `channels` and `igraph` are 0 where there are none. An event's answers: |M|^2, helicity from 1
/// and colour from 1, or 0.
extern "C" __global__ void answer(const Choices *c, const Real *memory, unsigned vectors,
                                  unsigned events, const Real *contributions, const Real *jamp2,
                                  const Real *amp2, unsigned parts, const double *random_helicity,
                                  const double *random_color, const int *channels,
                                  const int *igraph, double *matrix_elements, int *helicity,
                                  int *color, double *normalization) {
    unsigned padded = (events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < events;
         e += gridDim.x * blockDim.x) {
        const Lane<LANES> m = {(Real *)memory + (Size)(e / LANES) * vectors * LANES + e % LANES};
        Real total = 0;
        for (unsigned i = 0; i < c->helicity_count; i++) total += contributions[(Size)i * padded + e];
        Real value = total * (Real)*normalization;
        if (channels) {
            unsigned mine = c->amp2_of_channel[channels[e]];
            Real numerator, denominator = 0;
            if (c->totals) {
                numerator = m.real(c->totals[mine]);
                for (unsigned i = 0; i < c->denominator_count; i++)
                    denominator += m.real(c->totals[c->denominator[i]]);
            } else {
                numerator = whole(amp2 + e, c->amp2_count, mine, parts, padded);
                for (unsigned i = 0; i < c->denominator_count; i++)
                    denominator += whole(amp2 + e, c->amp2_count, c->denominator[i], parts, padded);
            }
            if (denominator != 0) value *= numerator / denominator;
        }
        matrix_elements[e] = value;
        Real random = random_number(random_helicity[e]), running = 0;
        int chosen = 0;
        for (unsigned i = 0; i < c->helicity_count && !chosen; i++) {
            running += contributions[(Size)i * padded + e];
            if (random < running / total) chosen = (int)c->helicities[i] + 1;
        }
        helicity[e] = chosen;
        unsigned config = igraph ? igraph[e] : 0;
        if (config == 0 && channels) config = c->config_of_channel[channels[e]];
        chosen = 0;
        if (config) {
            unsigned begin = c->allowed[config - 1], end = c->allowed[config];
            random = random_number(random_color[e]);
            total = running = 0;
            for (unsigned i = begin; i < end; i++)
                total += whole(jamp2 + e, c->flow_count, c->flows[i], parts, padded);
            for (unsigned i = begin; i < end && !chosen; i++) {
                running += whole(jamp2 + e, c->flow_count, c->flows[i], parts, padded);
                if (random < running / total) chosen = (int)c->flows[i] + 1;
            }
        }
        color[e] = chosen;
    }
}

/// AMP2 that lie in the memory of blocks, as `[AMP2][padded events]`.
extern "C" __global__ void gather(const Choices *c, const Real *memory, unsigned vectors,
                                  unsigned events, Real *amp2) {
    unsigned padded = (events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < events;
         e += gridDim.x * blockDim.x) {
        const Real *m = memory + (Size)(e / LANES) * vectors * LANES + e % LANES;
        for (unsigned i = 0; i < c->amp2_count; i++)
            amp2[(Size)i * padded + e] = m[(Size)c->totals[i] * LANES];
    }
}
