// Scales of renormalisation and of both densities, as crates/phasespace/src/scales.rs has them.

#define SCALE_TRANSVERSE_ENERGY 1
#define SCALE_TRANSVERSE_MASS 2
#define SCALE_PARTONIC_ENERGY 3

// Words: which one it is, numbers (its factor, then the scales that are fixed), and of each scale a bit where it is fixed.
DEVICE void scales_of(const Tables &t, const Legs &legs, unsigned at, unsigned outgoing, double scales[3]) {
    const unsigned kind = word(t, at), numbers = word(t, at + 1), fixed = word(t, at + 2);
    double sum = 0;
    if (fixed == 7) {
    } else if (kind == SCALE_PARTONIC_ENERGY) {
        sum = legs.energies[0] + legs.energies[1];
    } else {
        for (unsigned leg = 0; leg < outgoing; leg++) {
            const Momentum p = get_momentum(legs.column, word(t, legs.rows + leg));
            if (kind == SCALE_TRANSVERSE_MASS) {
                const double square = (p.p[0] - p.p[3]) * (p.p[0] + p.p[3]);
                sum += root(square < 0 ? 0 : square);
            } else {
                // E pt / |p|, which is 0 along the beams and at rest.
                const double pt = transverse_square(p);
                if (pt != 0) sum += p.p[0] * root(pt / fused(p.p[3], p.p[3], pt));
            }
        }
    }
    for (unsigned i = 0; i < 3; i++)
        scales[i] = fixed >> i & 1 ? number(t, numbers + 1 + i) : sum * number(t, numbers);
}
