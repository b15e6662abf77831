// The share of a channel by its propagators, as crates/phasespace/src/weights.rs has it. Propagators and products are words
// that crates/phasespace/src/device/weights.rs writes.

#define EXCHANGED 0x80000000u
#define SAME_SQUARE 0x40000000u

// The product of a diagram over the sum of all. Words: how many propagators there are, where products begin, where they end,
// and for each propagator legs and numbers. Rows from `room` on are free.
DEVICE double channel_share(const Tables &t, const Legs &legs, unsigned at, unsigned outgoing, unsigned diagram,
                            unsigned room) {
    const unsigned count = word(t, at), end = word(t, at + 2);
    double square = 0;
    ROLLED
    for (unsigned i = 0; i < count; i++) {
        const unsigned of = word(t, at + 3 + 2 * i), numbers = word(t, at + 4 + 2 * i);
        if (!(of & SAME_SQUARE)) {
            Momentum sum = {};
            ROLLED
            for (unsigned leg = 0; leg < outgoing; leg++)
                if (of >> leg & 1) sum = sum + get_momentum(legs.column, word(t, legs.rows + leg));
            if (of & EXCHANGED) sum.p[0] -= legs.energies[0], sum.p[3] -= legs.along;
            square = square_of(sum);
        }
        const double off = square - number(t, numbers), width = number(t, numbers + 1);
        // A pole is none for the sum.
        const double far = larger(fabs(off), 1e-15);
        put(legs.column, room + i,
            width > 0 ? number(t, numbers + 2) / fused(off, off, width) : 1 / (far * root(far)));
    }
    double total = 0, own = 0;
    at = word(t, at + 1);
    ROLLED
    for (unsigned product_number = 0; at < end; product_number++) {
        // How many propagators, the factor, these.
        const unsigned next = at + 2 + word(t, at);
        double product_of = number(t, word(t, at + 1));
        for (at += 2; at < next; at++) product_of *= get(legs.column, room + word(t, at));
        total += product_of;
        if (product_number == diagram) own = product_of;
    }
    return own / total;
}
