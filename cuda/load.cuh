// Events as MadEvent holds them into the memory of blocks: the first kernel of a chunk.

/// Lanes without an event repeat the last one. The number of the first event with a momentum that is not
/// finite, has no positive energy or is off its mass shell, or with momenta that are not conserved, goes to
/// `bad`.
extern "C" __global__ void load(ARGUMENTS(LoadArguments) a) {
    unsigned padded = (a.events + LANES - 1) / LANES * LANES;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < padded;
         e += gridDim.x * blockDim.x) {
        unsigned event = e < a.events ? e : a.events - 1;
        Memory m = {a.memory + (Size)(e / LANES) * a.vectors * LANES + e % LANES};
        const double *p = a.momenta + (Size)event * 4 * a.legs;
        bool good = true;
        Sum sum = {{{0, 0, 0, 0}}, 0};
#pragma unroll 4
        for (unsigned leg = 0; leg < a.legs; leg++, p += 4) {
            Momentum q = {{(Real)p[0], (Real)p[1], (Real)p[2], (Real)p[3]}};
            m.put_momentum(a.leg_momenta + 4 * leg, q);
            good = good && on_shell(q, (Real)a.masses[leg], a.crossed != 0);
            sum = add_leg(sum, q, (Real)a.masses[a.legs + leg]);
        }
        good = good && conserved(sum);
        if (!good) atomicMin(a.bad, event);
        m.put_real(a.g, (Real)a.g_s[event]);
        for (unsigned i = 0; i < a.constant_count; i++)
            m.put_real(a.constants[i], (Real)a.values[i]);
        for (unsigned i = 0; i < a.formula_coupling_count; i++) {
            const double *value = a.formula_couplings + (Size)2 * i * a.events + event;
            m.put_complex(a.formula_coupling_at[i], Cx{(Real)value[0], (Real)value[a.events]});
        }
    }
}
