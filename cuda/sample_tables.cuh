// Samples of engines that work through tables: the kernels before and after the amplitudes.

/// As `load`; marks bad events in `bad`.
extern "C" __global__ void load_sample(ARGUMENTS(SampleArguments) a) {
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < padded; e += gridDim.x * blockDim.x) {
        unsigned event = e < a.events ? e : a.events - 1;
        Memory m = {a.memory + (Size)(e / LANES) * a.vectors * LANES + e % LANES};
        bool good = true;
        Sum sum = {{{0, 0, 0, 0}}, 0};
        for (unsigned leg = 0; leg < a.legs; leg++) {
            Momentum q = sample_leg(a, event, leg);
            m.put_momentum(a.leg_momenta + 4 * leg, q);
            good = good && on_shell(q, (Real)a.masses[leg], a.crossed != 0);
            sum = add_leg(sum, q, (Real)a.masses[a.legs + leg]);
        }
        a.bad[event] = !(good && conserved(sum));
        m.put_real(a.g, sample_coupling(a, event));
        for (unsigned i = 0; i < a.constant_count; i++) m.put_real(a.constants[i], (Real)a.values[i]);
    }
}

/// Adds up contributions of helicities that lie in several parts.
extern "C" __global__ void sum_parts(ARGUMENTS(SumPartsArguments) a) {
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    Size part = (Size)a.rows * padded;
    for (unsigned row = blockIdx.y; row < a.rows; row += gridDim.y)
        for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < a.events; e += gridDim.x * blockDim.x) {
            Real *numbers = a.numbers + (Size)row * padded + e, sum = 0;
            for (unsigned i = 0; i < a.parts; i++) sum += numbers[i * part];
            *numbers = sum;
        }
}

/// From the contributions of helicities, JAMP2 and AMP2 to the answers of a sample.
extern "C" __global__ void answer_sample(ARGUMENTS(SampleArguments) a) {
    const Choices *c = a.choices;
    const SampleTables *process = a.process;
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < a.events; e += gridDim.x * blockDim.x) {
        if (!is_mine(a, e)) continue;
        const Fixed fixed = sample_fixed(a, e);
        const bool bad = a.bad[e] || fixed.bad;
        const Real *contributions = a.contributions + e;
        Real total = 0, sizes = 0, of_row = 0;
        for (unsigned i = 0; i < c->helicity_count; i++) {
            const Real contribution = contributions[(Size)i * padded];
            total += contribution;
            if (HELICITY_SUM != POSITIVE) sizes += size_of(contribution);
            if (c->helicities[i] == (unsigned)fixed.row) of_row = contribution;
        }
        if (HELICITY_SUM == POSITIVE) sizes = total;
        if (a.helicity || HELICITY_SUM == ABSOLUTE) {
            auto size = [&](unsigned i) { return size_of(contributions[(Size)i * padded]); };
            const int helicity = choose(sample_random(a.random_helicity, e), sizes, 0, c->helicity_count, size);
            put_helicity(a, e, fixed, helicity < 0 ? NONE : (int)c->helicities[helicity]);
            if (HELICITY_SUM == ABSOLUTE)
                total = with_sign(sizes, helicity < 0 ? 1 : contributions[(Size)helicity * padded]);
        }
        put_matrix_element(a, e, bad, a.fixed_helicity ? of_row : total);
        if (!a.diagrams) continue;
        const Lane<LANES> m = {a.memory + (Size)(e / LANES) * a.vectors * LANES + e % LANES};
        auto square = [&](unsigned i) {
            const unsigned of = process->drawn[2 * i + 1];
            return c->totals ? m.real(c->totals[of]) : a.amp2[(Size)of * padded + e];
        };
        const unsigned count = process->drawn_count;
        Real squares = 0;
        for (unsigned i = 0; i < count; i++) squares += square(i);
        const bool finite = !bad && 0 < squares && squares - squares == 0;
        const Real random = sample_random(a.random_diagram, e);
        Real running = 0;
        int chosen = NONE;
        unsigned next = 0;
        for (unsigned i = 0; i < count; i++) {
            const unsigned diagram = process->drawn[2 * i];
            const Real x = square(i);
            running += x;
            if (chosen < 0 && is_below(random, running, squares)) chosen = (int)diagram;
            if (a.shares) {
                for (; next < diagram; next++) put_share(a, e, next, 0);
                put_share(a, e, diagram, finite ? x / squares : 0);
                next = diagram + 1;
            }
        }
        if (a.shares) {
            for (; next < process->diagrams; next++) put_share(a, e, next, 0);
            put_other_shares(a, e);
        }
        const unsigned diagram = put_diagram(a, e, fixed, chosen, count ? process->drawn[0] : 0);
        if (!a.color) continue;
        const int config = config_of(a, diagram);
        // Without a configuration all flows are allowed.
        const unsigned begin = config < 0 ? 0 : c->allowed[config];
        const unsigned end = config < 0 ? c->flow_count : c->allowed[config + 1];
        auto flow = [&](unsigned i) { return config < 0 ? i : c->flows[i]; };
        auto of_flow = [&](unsigned i) { return a.jamp2[(Size)flow(i) * padded + e]; };
        Real of_flows = 0;
        for (unsigned i = begin; i < end; i++) of_flows += of_flow(i);
        const int place = choose(sample_random(a.random_color, e), of_flows, begin, end, of_flow);
        // The first one if none is chosen.
        put_color(a, e, begin < end ? (int)flow(place < 0 ? begin : place) : NONE);
        if (!a.leading_color) continue;
        Real leading = 0;
        for (unsigned i = 0; i < c->flow_count; i++)
            leading = fused(a.jamp2[(Size)i * padded + e], (Real)process->color_diagonal[i], leading);
        put_leading_color(a, e, leading);
    }
}
