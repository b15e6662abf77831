// What follows from the JAMP of a helicity of a run: |M|^2 of the helicities to which it belongs, and JAMP2.

/// Helicities without a number.
#define NO_HELICITY ~0u

/// Whether an element of a run belongs to a helicity, or to the one with all legs reversed.
template <class Arguments> DEVICE bool is_evaluated(const Arguments &a, unsigned element) {
    return a.rows[element] != NO_HELICITY || (a.reversed && a.reversed[element] != NO_HELICITY);
}

/// The factor of a helicity in |M|^2 and JAMP2; `which` is 1 for the one with all legs reversed.
template <class Arguments> DEVICE Real weight_of(const Arguments &a, unsigned element, unsigned which, Memory m) {
    return a.weights ? m.real(a.weights[2 * (element / a.weighted) + which]) : (Real)1;
}

/// Writes the contributions of an element of a run.
template <class Arguments>
DEVICE void put_contributions(const Arguments &a, unsigned element, Real total, Size event, unsigned padded, Memory m) {
    for (unsigned which = 0; which < (a.reversed ? 2 : 1); which++) {
        const unsigned helicity = (which ? a.reversed : a.rows)[element];
        if (helicity != NO_HELICITY)
            a.contributions[(Size)helicity * padded + event] = total * weight_of(a, element, which, m);
    }
}

/// Adds |JAMP|^2 of a colour flow for all helicities of a run.
template <class Arguments>
DEVICE Real square_of_flow(const Arguments &a, unsigned flow, const Real *jamps, Memory m, Real total) {
    const Size stride = (Size)2 * a.helicities * LANES;
    for (unsigned element = 0; element < a.helicities; element++) {
        if (!is_evaluated(a, element)) continue;
        Cx z = cx(0, 0);
        for (unsigned i = a.flow_starts[flow]; i < a.flow_starts[flow + 1]; i++) {
            const unsigned term = a.flow_terms[i];
            const Real *jamp = jamps + (term >> 1) * stride + (Size)2 * element * LANES;
            const Cx x = cx(jamp[0], jamp[LANES]);
            z = term & 1 ? z - x : z + x;
        }
        Real weight = 0;
        if (a.rows[element] != NO_HELICITY) weight += weight_of(a, element, 0, m);
        if (a.reversed && a.reversed[element] != NO_HELICITY) weight += weight_of(a, element, 1, m);
        total = fused(fused(z.re, z.re, z.im * z.im), weight, total);
    }
    return total;
}

#ifdef JAMPS
/// The colour sum of a few JAMP, which lie at a distance, by the upper triangle of the matrix; entries off the diagonal are
/// doubled.
DEVICE Real few_color_sum(const Real *jamps, Size stride, const Real *entries) {
    Cx z[JAMPS];
#pragma unroll
    for (unsigned i = 0; i < JAMPS; i++) z[i] = cx(jamps[i * stride], jamps[i * stride + LANES]);
    Real total = 0;
#pragma unroll
    for (unsigned i = 0; i < JAMPS; i++) {
        Real re = 0, im = 0;
#pragma unroll
        for (unsigned j = i; j < JAMPS; j++) {
            const Real entry = *entries++;
            re = fused(entry, z[j].re, re);
            im = fused(entry, z[j].im, im);
        }
        total = fused(z[i].re, re, fused(z[i].im, im, total));
    }
    return total;
}
#endif
