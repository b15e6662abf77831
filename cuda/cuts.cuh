// The cuts of crates/phasespace/src/{observables,cuts}.rs: limits on observables of legs, and rules. A point is dropped at
// the first cut that it fails. crates/phasespace/src/device/cuts.rs writes the tests as words.

// A point whose momenta have been drawn.
struct Legs {
    Column column;
    // Where the words list the rows of the outgoing legs.
    unsigned rows;
    double energies[2], along;
};

DEVICE Momentum leg_momentum(const Tables &t, const Legs &of, unsigned leg) {
    if (leg >= 2) return get_momentum(of.column, word(t, of.rows + leg - 2));
    Momentum p = {{of.energies[leg], 0, 0, leg ? -of.along : of.along}};
    return p;
}

// The sum of some legs: their number, then their rows.
DEVICE Momentum momentum_of_some(const Tables &t, const Legs &of, unsigned &at) {
    const unsigned end = at + 1 + word(t, at);
    Momentum sum = leg_momentum(t, of, word(t, at + 1));
    ROLLED
    for (at += 2; at < end; at++) sum = sum + leg_momentum(t, of, word(t, at));
    return sum;
}

// Values that all legs of a point share.
struct Frame {
    // The rapidity of the partons' centre of mass in the frame of the detector, the exponential of twice that, its
    // hyperbolic cosine and sine; and the energy in the centre of mass.
    double rapidity, factor, cosh, sinh, mass;
};

#define NOT_A_NUMBER (0.0 / 0.0)

DEVICE double mass_square(const Momentum &p) {
    const double square = neg_fused(
        p.p[3], p.p[3], neg_fused(p.p[2], p.p[2], neg_fused(p.p[1], p.p[1], p.p[0] * p.p[0])));
    // NaN stays NaN.
    return square < 0 ? 0 : square;
}

#define SEEN_PT_SQUARED 0
#define SEEN_PT 1
#define SEEN_MASS_SQUARED 2
#define SEEN_MASS 3
#define SEEN_LIGHT_CONE 4
#define SEEN_RAPIDITY 5
#define SEEN_ENERGY 6
#define SEEN_PLAIN_ENERGY 7

DEVICE double seen_rapidity(const Frame &frame, const Momentum &p) {
    return fused(log_of((p.p[0] + p.p[3]) / (p.p[0] - p.p[3])), 0.5, frame.rapidity);
}

// An observable of a momentum, and the factor by which its limits are multiplied.
DEVICE double observable(unsigned kind, const Frame &frame, const Momentum &p, double &unit) {
    unit = 1;
    if (kind == SEEN_PT_SQUARED) return transverse_square(p);
    if (kind == SEEN_LIGHT_CONE) {
        const double along = (p.p[0] + p.p[3]) * frame.factor, against = p.p[0] - p.p[3];
        const double most = larger(along, against), least = smaller(along, against);
        unit = most > 0 && least >= 0 ? least : NOT_A_NUMBER;
        return most;
    }
    if (kind == SEEN_MASS_SQUARED) return mass_square(p);
    if (kind == SEEN_PT) return root(transverse_square(p));
    if (kind == SEEN_MASS) return root(mass_square(p));
    if (kind == SEEN_RAPIDITY) return fabs(seen_rapidity(frame, p));
    if (kind == SEEN_PLAIN_ENERGY) return p.p[0];
    unit = frame.mass;
    return p.p[0] * frame.mass;
}

// Limits of a value: the lower and the upper one, and a kind: 1 if the value has to lie outside, 2 if there is no upper limit.
struct Limits {
    double least, largest;
    unsigned kind;
};

DEVICE Limits limits_of(const Tables &t, unsigned at) {
    const unsigned numbers = word(t, at);
    Limits of = {number(t, numbers), number(t, numbers + 1), word(t, at + 1)};
    return of;
}

DEVICE bool hold(const Limits &of, double value, double unit) {
    if (of.kind == 1) return value <= of.least * unit || value >= of.largest * unit;
    return of.least * unit <= value && (of.kind == 2 || value <= of.largest * unit);
}

// Two numbers whose ratio is that of E and pz, or of |p| and pz, in the detector frame: for differences of rapidities or of
// pseudorapidities.
struct Cone {
    double along, against;
};

DEVICE Cone cone_of(const Momentum &p) {
    Cone of = {p.p[0] + p.p[3], p.p[0] - p.p[3]};
    return of;
}

DEVICE Cone pseudo_cone_of(const Frame &frame, const Momentum &p) {
    const double square = transverse_square(p), along = fused(frame.sinh, p.p[0], frame.cosh * p.p[3]);
    // The square of the larger one, and their product.
    const double size = fabs(along) + root(fused(along, along, square)), larger_square = size * size;
    Cone of = {along >= 0 ? larger_square : square, along >= 0 ? square : larger_square};
    return of;
}

struct Pair {
    double dot, cross, squares;
    Cone first, second;
};

DEVICE Pair pair_of(const Momentum &p, const Momentum &q, const Cone &first, const Cone &second) {
    Pair of = {fused(p.p[1], q.p[1], p.p[2] * q.p[2]), neg_fused(p.p[2], q.p[1], p.p[1] * q.p[2]),
               transverse_square(p) * transverse_square(q), first, second};
    return of;
}

// 1 if the distance is at least a radius, 0 if it is smaller, and NaN if sines do not decide. Numbers: the
// squared radius times a number above and one below 1, its square over that of its hyperbolic sine, and over that of its sine.
DEVICE double apart(const Tables &t, unsigned numbers, const Pair &of) {
    const double masses = (of.first.along * of.first.against) * (of.second.along * of.second.against);
    const double half = (of.first.along * of.second.against - of.first.against * of.second.along) * 0.5;
    const double sine = of.cross * of.cross * masses, sinh_square = half * half * of.squares;
    const double both = of.squares * masses;
    if (!(both > 1e-280)) return NOT_A_NUMBER;
    if (of.dot <= 0) return 1;
    if (fused(sine, number(t, numbers + 3), sinh_square) < both * number(t, numbers + 1)) return 0;
    return fused(sinh_square, number(t, numbers + 2), sine) > both * number(t, numbers) ? 1 : NOT_A_NUMBER;
}

// The squared distance.
DEVICE double distance(const Pair &of) {
    const double pi = 3.141592653589793;
    const double size = atan_of(fabs(of.cross) / fabs(of.dot)), angle = of.dot < 0 ? pi - size : size;
    const double least =
        smaller(smaller(of.first.along, of.first.against), smaller(of.second.along, of.second.against));
    if (!(least >= 0)) return NOT_A_NUMBER;
    const double ratio = (of.first.along * of.second.against) / (of.first.against * of.second.along);
    const double along = log_of(ratio) * 0.5, square = along * along;
    // A massless momentum along a beam is far from all others.
    return square > 0x1p1023 ? square : fused(angle, angle, square);
}

#define TEST_ALL 0
#define TEST_ANY 1
#define TEST_SUM 2
#define TEST_NUMBER 3
#define TEST_FIRST 4
#define TEST_SOME 5
#define TEST_DISTANCE 6
#define TEST_OPPOSITE 7
#define TEST_ISOLATED 8

// Inserts a value into rows in descending order.
DEVICE void sort_in(Column c, unsigned room, unsigned count, double value) {
    ROLLED
    for (unsigned place = 0; place < count; place++) {
        const double here = get(c, room + place);
        put(c, room + place, larger(here, value));
        value = smaller(here, value);
    }
}

// Whether observables of some momenta lie within their limits. Words: the observable; how many of the largest values are
// tested, 0 if the order does not matter; limits, for TEST_SOME one pair for each of these; momenta.
DEVICE bool observables_pass(const Tables &t, const Legs &legs, const Frame &frame, unsigned test, unsigned at,
                             unsigned end, unsigned room) {
    const unsigned kind = word(t, at), count = word(t, at + 1), first_limits = at + 2;
    const Limits limits = limits_of(t, first_limits);
    bool passed = test != TEST_ANY && test != TEST_SOME, known = true;
    double sum = 0;
    ROLLED
    for (unsigned place = 0; place < count; place++) put(legs.column, room + place, -0x1.fffffffffffffp1023);
    at = first_limits + 2 * (test == TEST_SOME ? count : 1);
    ROLLED
    while (at < end) {
        double unit;
        const double value = observable(kind, frame, momentum_of_some(t, legs, at), unit);
        if (test == TEST_ALL) passed = passed && hold(limits, value, unit);
        else if (test == TEST_ANY) passed = passed || hold(limits, value, unit);
        sum += value;
        known = known && value == value;
        sort_in(legs.column, room, count, value);
    }
    if (test <= TEST_ANY) return passed;
    if (test == TEST_SUM) return hold(limits, sum, 1);
    sum = 0;
    ROLLED
    for (unsigned place = 0; place < count; place++) {
        const double value = get(legs.column, room + place);
        if (test == TEST_SOME) passed = passed || hold(limits_of(t, first_limits + 2 * place), value, 1);
        else if (test == TEST_FIRST || place + 1 == count) sum += value;
    }
    return known && (test == TEST_SOME ? passed : hold(limits, sum, 1));
}

// Whether the two jets with the largest transverse momenta are in opposite hemispheres.
DEVICE bool opposite(const Tables &t, const Legs &legs, const Frame &frame, unsigned numbers, unsigned at, unsigned end) {
    double first = -1, second = -1, first_y = 0, second_y = 0;
    ROLLED
    for (; at < end; at++) {
        const Momentum p = leg_momentum(t, legs, word(t, at));
        const double pt = transverse_square(p), y = seen_rapidity(frame, p);
        if (first < pt) second = first, second_y = first_y, first = pt, first_y = y;
        else if (second < pt) second = pt, second_y = y;
    }
    const double least = number(t, numbers), apart = number(t, numbers + 1);
    return fabs(first_y) >= least && fabs(second_y) >= least && first_y * second_y <= 0 &&
           fabs(first_y - second_y) >= apart;
}

// Whether a photon is isolated. Numbers: least transverse momentum, radius squared, power, share, 1 - cos of the radius,
// 1 if sines decide anything about the radius, and the arguments of `apart`.
DEVICE bool isolated(const Tables &t, const Legs &legs, const Frame &frame, unsigned numbers, unsigned at, unsigned end,
                     unsigned room) {
    const Momentum photon = leg_momentum(t, legs, word(t, at++));
    const double pt = root(transverse_square(photon));
    if (!(pt >= number(t, numbers))) return false;
    const Cone cone = pseudo_cone_of(frame, photon);
    const bool sines = number(t, numbers + 5) != 0;
    bool alone = true;
    ROLLED
    for (unsigned i = at; i < end; i++) {
        const Momentum p = leg_momentum(t, legs, word(t, i));
        const Pair pair = pair_of(photon, p, cone, pseudo_cone_of(frame, p));
        alone = alone && sines && apart(t, numbers + 6, pair) == 1;
        if (!alone) put(legs.column, room + i - at, distance(pair));
        // Farther than any radius.
        else put(legs.column, room + i - at, 1e300);
    }
    if (alone) return true;
    const double square = number(t, numbers + 1), power = number(t, numbers + 2), whole = number(t, numbers + 4);
    ROLLED
    for (unsigned i = at; i < end; i++) {
        const double far = get(legs.column, room + i - at);
        if (far > square) continue;
        double sum = 0;
        ROLLED
        for (unsigned k = at; k < end; k++)
            if (get(legs.column, room + k - at) <= far)
                sum += root(transverse_square(leg_momentum(t, legs, word(t, k))));
        double sine, cosine;
        sine_and_cosine(root(far) * 0.3183098861837907, &sine, &cosine);
        const double share_of_cone = (1 - cosine) / whole, tiny = 0x1p-1022;
        double allowed = share_of_cone;
        if (power != 1)
            // A power of nearly 0 is 0, except the power 0.
            allowed = share_of_cone > tiny ? exp_of(power * log_of(share_of_cone)) : power == 0 ? 1 : 0;
        if (!(sum <= pt * allowed * number(t, numbers + 3))) return false;
    }
    return true;
}

// Whether a point passes the cuts whose words begin at `at`: their end, which properties of the frame they need, then the
// tests, each preceded by its length. Rows from `room` on are free.
DEVICE bool passes(const Tables &t, const Legs &legs, unsigned at, double rapidity, unsigned room, unsigned outgoing) {
    const unsigned end = word(t, at), needed = word(t, at + 1);
    Frame frame = {rapidity, 1, 1, 0, legs.energies[0] + legs.energies[1]};
    if (needed & 1) frame.factor = exp_of(2 * rapidity);
    if (needed & 2) {
        const double up = exp_of(rapidity), down = exp_of(-rapidity);
        frame.cosh = (up + down) * 0.5;
        frame.sinh = (up - down) * 0.5;
    }
    // A sum with an infinity or NaN is not finite either.
    double sum = rapidity;
    ROLLED
    for (unsigned leg = 0; leg < outgoing; leg++) {
        const Momentum p = leg_momentum(t, legs, leg + 2);
        sum += (p.p[0] + p.p[1]) + (p.p[2] + p.p[3]);
    }
    if (!(sum - sum == 0)) return false;
    at += 2;
    ROLLED
    while (at < end) {
        const unsigned test = word(t, at) & 0xff, length = word(t, at) >> 8, next = at + length;
        unsigned from = at + 1;
        bool passed;
        if (test <= TEST_SOME) {
            passed = observables_pass(t, legs, frame, test, from, next, room);
        } else if (test == TEST_DISTANCE) {
            const Limits limits = limits_of(t, from);
            const unsigned radius = word(t, from + 2);
            from += 3;
            const Momentum p = momentum_of_some(t, legs, from), q = momentum_of_some(t, legs, from);
            const Pair pair = pair_of(p, q, cone_of(p), cone_of(q));
            double found = NOT_A_NUMBER;
            if (radius != NOWHERE) found = apart(t, radius, pair);
            passed = found == found ? found == 1 : hold(limits, distance(pair), 1);
        } else if (test == TEST_OPPOSITE) {
            passed = opposite(t, legs, frame, word(t, from), from + 1, next);
        } else {
            passed = isolated(t, legs, frame, word(t, from), from + 1, next, room);
        }
        if (!passed) return false;
        at = next;
    }
    return true;
}
