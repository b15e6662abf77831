// From the contributions of helicities to the answer for each event.

/// The sum over parts of a number of an event.
DEVICE Real whole(const Real *numbers, unsigned count, unsigned i, unsigned parts, unsigned padded) {
    Real sum = 0;
    for (unsigned part = 0; part < parts; part++) sum += numbers[((Size)part * count + i) * padded];
    return sum;
}

/// An event's answers: |M|^2, helicity and colour.
extern "C" __global__ void answer(ARGUMENTS(AnswerArguments) a) {
    const Choices *c = a.choices;
    const Real *contributions = a.contributions, *jamp2 = a.jamp2, *amp2 = a.amp2;
    unsigned events = a.events, parts = a.parts, padded = (events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < events;
         e += gridDim.x * blockDim.x) {
        const Lane<LANES> m = {(Real *)a.memory + (Size)(e / LANES) * a.vectors * LANES + e % LANES};
        Real total = 0, sizes = 0;
        for (unsigned i = 0; i < c->helicity_count; i++) {
            total += contributions[(Size)i * padded + e];
            if (HELICITY_SUM != POSITIVE) sizes += size_of(contributions[(Size)i * padded + e]);
        }
        if (HELICITY_SUM == POSITIVE) sizes = total;
        Real random = random_number(a.random_helicity[e]), running = 0, of_chosen = 1;
        int chosen = NONE;
        for (unsigned i = 0; i < c->helicity_count && chosen < 0; i++) {
            running += size_of(contributions[(Size)i * padded + e]);
            if (random < running / sizes) {
                chosen = (int)c->helicities[i];
                of_chosen = contributions[(Size)i * padded + e];
            }
        }
        a.helicity[e] = chosen;
        if (HELICITY_SUM == ABSOLUTE) total = with_sign(sizes, of_chosen);
        Real value = total * (Real)*a.normalization;
        if (a.channel) {
            unsigned mine = c->amp2_of_diagram[a.channel[e]];
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
        a.matrix_elements[e] = value;
        if (HELICITY_SUM == POSITIVE && is_lost(value)) *a.lost = 0;
        const int config = a.config ? a.config[e] : NONE;
        chosen = NONE;
        if (config >= 0) {
            unsigned begin = c->allowed[config], end = c->allowed[config + 1];
            random = random_number(a.random_color[e]);
            total = running = 0;
            for (unsigned i = begin; i < end; i++)
                total += whole(jamp2 + e, c->flow_count, c->flows[i], parts, padded);
            for (unsigned i = begin; i < end && chosen < 0; i++) {
                running += whole(jamp2 + e, c->flow_count, c->flows[i], parts, padded);
                if (random < running / total) chosen = (int)c->flows[i];
            }
        }
        a.color[e] = chosen;
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
