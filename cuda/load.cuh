// Events as MadEvent holds them into the memory of blocks: the first kernel of a chunk.

/// Momenta `double [events][4 legs]` and G `double [events]`. Lanes without an event repeat the last
/// one. Masses (behind them 1 for each leg that comes in and -1 for others) and constants (an address and
/// a number each) are `double`. `formula_couplings` are couplings of each event, `double
/// [count][2][events]`, and where they go. The number of the first event with a momentum that is
/// not finite, has no positive energy or is off its mass shell, or with momenta that are not conserved, goes
/// to `bad`, which holds a larger number before.
extern "C" __global__ void load(Real *memory, unsigned vectors, unsigned events,
                                const double *momenta, const double *gs, unsigned legs,
                                unsigned leg_momenta, unsigned g, const double *masses,
                                const unsigned *constants, const double *values,
                                unsigned constant_count, const unsigned *formula_coupling_at,
                                const double *formula_couplings, unsigned formula_coupling_count, unsigned *bad) {
    unsigned padded = (events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < padded;
         e += gridDim.x * blockDim.x) {
        unsigned event = e < events ? e : events - 1;
        Memory m = {memory + (Size)(e / LANES) * vectors * LANES + e % LANES};
        const double *p = momenta + (Size)event * 4 * legs;
        bool good = true;
        Sum sum = {{{0, 0, 0, 0}}, 0};
        for (unsigned leg = 0; leg < legs; leg++, p += 4) {
            Momentum q = {{(Real)p[0], (Real)p[1], (Real)p[2], (Real)p[3]}};
            m.put_momentum(leg_momenta + 4 * leg, q);
            good = good && on_shell(q, (Real)masses[leg]);
            sum = add_leg(sum, q, (Real)masses[legs + leg]);
        }
        good = good && conserved(sum);
        if (!good) atomicMin(bad, event);
        m.put_real(g, (Real)gs[event]);
        for (unsigned i = 0; i < constant_count; i++) m.put_real(constants[i], (Real)values[i]);
        for (unsigned i = 0; i < formula_coupling_count; i++) {
            const double *value = formula_couplings + (Size)2 * i * events + event;
            m.put_complex(formula_coupling_at[i], Cx{(Real)value[0], (Real)value[events]});
        }
    }
}
