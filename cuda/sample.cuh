// Samples (crates/backend/src/sample.rs) in the GPU's memory, where they are read and their answers are written.

/// The momentum of a leg, from its strides.
DEVICE Momentum sample_leg(const SampleArguments &a, unsigned e, unsigned leg) {
    const long long component = (long long)a.component_stride;
    const double *p = a.momenta + (long long)e * (long long)a.event_stride + leg * (long long)a.leg_stride;
    return momentum((Real)p[0], (Real)p[component], (Real)p[2 * component], (Real)p[3 * component]);
}

/// The strong coupling.
DEVICE Real sample_coupling(const SampleArguments &a, unsigned e) {
    const double four_pi = 12.566370614359172;
    return (Real)(a.alpha_s ? root(four_pi * a.alpha_s[e]) : a.default_g_s);
}

DEVICE Real sample_random(const double *random, unsigned e) {
    return random_number(random ? random[e] : 0.5);
}

/// Whether a caller's index is out of range.
DEVICE bool is_outside(int index, unsigned count) { return index < 0 || (unsigned)index >= count; }

/// Whether this matrix element answers for an event; the first one does for events that select none.
DEVICE bool is_mine(const SampleArguments &a, unsigned e) {
    if (!a.flavor) return a.element == 0;
    const int flavor = a.flavor[e];
    return is_outside(flavor, a.elements) ? a.element == 0 : (unsigned)flavor == a.element;
}

/// The choices of an event that the caller fixes: a row of the helicity table and a diagram, each `NONE` if it is free. Bad
/// if an index is out of range.
struct Fixed {
    int row, diagram;
    bool bad;
};

DEVICE Fixed sample_fixed(const SampleArguments &a, unsigned e) {
    Fixed fixed = {NONE, NONE, a.flavor && is_outside(a.flavor[e], a.elements)};
    if (a.fixed_helicity) {
        fixed.row = a.fixed_helicity[e] - (int)a.first_helicity;
        fixed.bad = fixed.bad || is_outside(fixed.row, a.process->rows);
    }
    if (a.fixed_diagram) {
        fixed.diagram = a.fixed_diagram[e] - (int)a.first_diagram;
        fixed.bad = fixed.bad || is_outside(fixed.diagram, a.process->diagrams);
    }
    return fixed;
}

/// |M|^2 of an event, from that of all helicities or of one, before averaging. NaN if single precision cannot hold it,
/// because the event is not evaluated again here.
DEVICE void put_matrix_element(const SampleArguments &a, unsigned e, bool bad, Real value) {
    const double zero = 0;
    bad = bad || is_lost(value);
    if (a.matrix_elements)
        a.matrix_elements[e] = bad ? zero / zero : (double)(value * (Real)*a.normalization);
}

/// |M|^2 with only the diagonal of the colour matrix, before averaging.
DEVICE void put_leading_color(const SampleArguments &a, unsigned e, Real value) {
    a.leading_color[e] = (double)(value * (Real)*a.normalization);
}

DEVICE void put_helicity(const SampleArguments &a, unsigned e, const Fixed &fixed, int chosen) {
    if (a.fixed_helicity) chosen = a.fixed_helicity[e];
    else chosen = (chosen < 0 ? 0 : chosen) + (int)a.first_helicity;
    if (a.helicity) a.helicity[e] = chosen;
}

/// The share of a diagram of this matrix element.
DEVICE void put_share(const SampleArguments &a, unsigned e, unsigned diagram, Real share) {
    a.shares[(Size)(a.first_diagram + diagram) * a.share_stride + e] = (double)share;
}

/// 0 for diagrams of other matrix elements.
DEVICE void put_other_shares(const SampleArguments &a, unsigned e) {
    const unsigned end = a.first_diagram + a.process->diagrams;
    for (unsigned row = 0; row < a.share_rows; row++)
        if (row < a.first_diagram || row >= end) a.shares[(Size)row * a.share_stride + e] = 0;
}

/// The diagram of an event: the fixed one if there is one, else the one that was drawn; `first` if there is neither.
DEVICE unsigned put_diagram(const SampleArguments &a, unsigned e, const Fixed &fixed, int chosen, unsigned first) {
    const bool is_fixed = a.fixed_diagram && !is_outside(fixed.diagram, a.process->diagrams);
    const unsigned diagram = is_fixed ? (unsigned)fixed.diagram : chosen < 0 ? first : (unsigned)chosen;
    if (a.diagram) a.diagram[e] = a.fixed_diagram ? a.fixed_diagram[e] : (int)(diagram + a.first_diagram);
    return diagram;
}

/// The configuration that selects the colour flows of a diagram; `NONE` if it has none, or the process has no diagrams.
DEVICE int config_of(const SampleArguments &a, unsigned diagram) {
    return diagram < a.process->diagrams ? a.choices->config_of_diagram[diagram] : NONE;
}

DEVICE void put_color(const SampleArguments &a, unsigned e, int chosen) {
    if (a.color) a.color[e] = (chosen < 0 ? 0 : chosen) + (int)a.first_color;
}
