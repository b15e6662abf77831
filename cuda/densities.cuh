// Parton densities and the strong coupling from tables, as crates/densities/src has them. Between four knots a density is a
// polynomial of degree 3 in a place along x and in one along Q, both from 0 to 1; its 16 coefficients lie together, so that
// a look-up reads one line of memory for each flavour. crates/densities/src/device.rs writes the tables.

// Coefficients of one flavour in one cell: by power along Q, then along x.
struct Densities {
    Tables tables;
    const double *cells;
};

// The interval of an axis that a place lies in, and where in it. Words: parts of the look-up, intervals, numbers, and the
// interval in which each part begins. Numbers: the begin of the axis, parts for a unit, and of each interval its begin and one
// over its length.
DEVICE unsigned interval_of(const Tables &t, unsigned axis, double at, double &share) {
    const unsigned parts = word(t, axis), intervals = word(t, axis + 1), numbers = word(t, axis + 2);
    const double part = (at - number(t, numbers)) * number(t, numbers + 1);
    // No number is 0 there, and comes back with the share.
    const unsigned place = part > 0 ? (unsigned)smaller(part, (double)(parts - 1)) : 0;
    unsigned i = word(t, axis + 3 + place);
    const unsigned begin = numbers + 2;
    ROLLED
    while (i + 1 < intervals && number(t, begin + 2 * (i + 1)) <= at) i++;
    ROLLED
    while (i > 0 && at < number(t, begin + 2 * i)) i--;
    share = (at - number(t, begin + 2 * i)) * number(t, begin + 2 * i + 1);
    return i;
}

DEVICE double cubic(const double *of, double at) { return fused(fused(fused(of[3], at, of[2]), at, of[1]), at, of[0]); }

struct alignas(16) TwoNumbers {
    double first, second;
};

// Where a density is looked up.
struct Place {
    unsigned cell;
    double along_x, along_q;
};

DEVICE double density_at(const Densities &d, const Place &place, unsigned flavors, unsigned flavor) {
    const double *of = d.cells + ((Size)place.cell * flavors + flavor) * 16;
    double rows[4];
    for (unsigned i = 0; i < 4; i++) {
        const TwoNumbers low = reinterpret_cast<const TwoNumbers *>(of + 4 * i)[0];
        const TwoNumbers high = reinterpret_cast<const TwoNumbers *>(of + 4 * i)[1];
        const double four[4] = {low.first, low.second, high.first, high.second};
        rows[i] = cubic(four, place.along_x);
    }
    return cubic(rows, place.along_q);
}

#define RULE_LHAPDF 0
#define RULE_NNPDF 1
#define RULE_CTEQ 2
#define RULE_PHOTONS 3

// Words of a set: its rule, flavours, parts in Q, the axis along x, intervals of that; then of each part its axis along Q and
// its first cell. Numbers: the first two x and their logarithms, the least Q^2 and the last two, the third x and the last one,
// the scale of CTEQ; then the first Q^2 of each part.
#define SET_RULE 0
#define SET_FLAVORS 1
#define SET_PARTS 2
#define SET_ALONG_X 3
#define SET_INTERVALS 4
#define SET_AXES 5
#define SET_X 0
#define SET_LOG_X 2
#define SET_Q2 4
#define SET_THIRD_X 7
#define SET_LAST_X 8
#define SET_SCALE 9
#define SET_FIRST_Q2 10

DEVICE Place place_of(const Densities &d, double at_x, double at_q, double q2) {
    const Tables &t = d.tables;
    const unsigned parts = word(t, SET_PARTS);
    unsigned part = 0;
    // A scale that two parts share belongs to the upper one.
    ROLLED
    while (part + 1 < parts && number(t, SET_FIRST_Q2 + part + 1) <= q2) part++;
    Place of;
    const unsigned along_q = interval_of(t, word(t, SET_AXES + 2 * part), at_q, of.along_q);
    const unsigned along_x = interval_of(t, word(t, SET_ALONG_X), at_x, of.along_x);
    of.cell = word(t, SET_AXES + 2 * part + 1) + along_q * word(t, SET_INTERVALS) + along_x;
    return of;
}

// Straight on from a value, by a share of the way to a second one; in logarithms where both are positive.
DEVICE double go_on(double value, double second, double share) {
    if (value > 1e-3 && second > 1e-3) {
        const double from = log_of(value);
        return exp_of(from + share * (log_of(second) - from));
    }
    return value + share * (second - value);
}

// At any x, at a scale of the grid.
DEVICE double density_at_x(const Densities &d, double x, double at_x, double q2, unsigned flavors, unsigned flavor) {
    const Tables &t = d.tables;
    const double first = number(t, SET_X), at_q = log_of(q2);
    if (x >= first) return density_at(d, place_of(d, at_x, at_q, q2), flavors, flavor);
    const double from = number(t, SET_LOG_X), next = number(t, SET_LOG_X + 1);
    const double value = density_at(d, place_of(d, from, at_q, q2), flavors, flavor);
    const double second = density_at(d, place_of(d, next, at_q, q2), flavors, flavor);
    return go_on(value, second, log_of(x / first) / log_of(number(t, SET_X + 1) / first));
}

// Outside of the grid of a set of LHAPDF.
CALLED double density_outside(const Densities &d, double x, double at_x, double q2, unsigned flavors, unsigned flavor) {
    const Tables &t = d.tables;
    const double least = number(t, SET_Q2), low = number(t, SET_Q2 + 1), high = number(t, SET_Q2 + 2);
    double scales[2] = {q2, q2}, values[2] = {};
    const bool below = q2 < least, above = q2 > high;
    if (below) scales[0] = least, scales[1] = least * (1 + 0.01);
    if (above) scales[0] = high, scales[1] = low;
    ROLLED
    for (unsigned i = 0; i < (below || above ? 2 : 1); i++)
        values[i] = density_at_x(d, x, at_x, scales[i], flavors, flavor);
    if (below) {
        const double share = q2 / least;
        double power = 1;
        if (fabs(values[0]) >= 1e-5) power = larger((values[1] - values[0]) / values[0] / 0.01, -2.5);
        return values[0] * exp_of((power * share + 1 - share) * log_of(share));
    }
    return above ? go_on(values[0], values[1], log_of(q2 / high) / log_of(low / high)) : values[0];
}

// a + a^2 / 2 + a^3 / 3
DEVICE double series(double a) { return a * fused(a, fused(a, 1.0 / 3, 0.5), 1.0); }

// Of photons of protons, what the integral over virtualities is up to one in units of 0.71 GeV^2.
DEVICE double photons_of_proton(double x, double q) {
    const double more = 1 + q, inverse = 1 / more, y = x * x / (1 - x);
    const double first = fused(y, 7.16, 1.0) * (series(inverse) - log_of(more / q));
    const double second = 4.96 / 4 * y / q * inverse * inverse * inverse, of_b = -3.96 * inverse;
    return fused(0.028 * fused(y, 0.25, 1.0), log_of(1 - of_b) + series(of_b), first + second);
}

// x f(x) of photons that a beam radiates, as crates/densities/src/photons.rs has it. Words: the rule, one flavour, and 1 for a
// lepton; the number is the mass of the beam.
DEVICE double photons(const Tables &t, double x, double q2) {
    const double mass = number(t, 0), alpha = 0.0072992701, pi = 3.141592653589793;
    const double least = mass * mass * x * x / (1 - x);
    // A number that is none stays so.
    if (!(q2 == q2)) return q2;
    if (!(x < 1 && least < q2)) return 0;
    double found;
    if (word(t, 2)) {
        const double ends = 2 * mass * mass * x * x * (1 / q2 - 1 / least);
        found = fused(fused(x, x, 2 - 2 * x), log_of(q2 / least), ends) * (alpha / (2 * pi));
    } else {
        const double terms = photons_of_proton(x, q2 / 0.71) - photons_of_proton(x, least / 0.71);
        found = alpha / pi * terms * (1 - x);
    }
    return not_negative(found);
}

// x f(x, Q) of some flavours, whose places in the set are words, into rows.
DEVICE void look_up(const Densities &d, const Tables &t, double x, double scale, unsigned at, unsigned count, Column c,
                    unsigned row) {
    const Tables &set = d.tables;
    const unsigned rule = word(set, SET_RULE), flavors = word(set, SET_FLAVORS);
    double q2 = scale * scale, at_x, at_q;
    if (rule == RULE_PHOTONS) {
        // No flavour, or this one.
        if (count > 0) put(c, row, photons(set, x, q2));
        return;
    }
    if (rule == RULE_LHAPDF) {
        at_x = log_of(x);
        at_q = log_of(q2);
        if (x < number(set, SET_X) || q2 < number(set, SET_Q2) || q2 > number(set, SET_Q2 + 2)) {
            ROLLED
            for (unsigned i = 0; i < count; i++)
                put(c, row + i, x > 1 ? 0 : density_outside(d, x, at_x, q2, flavors, word(t, at + i)));
            return;
        }
    } else if (rule == RULE_NNPDF) {
        // Outside of the grid, those at its end; below 0.1 in ln x, above in x, moved so that both meet.
        const double first = number(set, SET_X), last = number(set, SET_LAST_X);
        const double least = number(set, SET_Q2), most = number(set, SET_Q2 + 2);
        const double inside = x < first ? first : last < x ? last : x;
        const double q2_inside = q2 < least ? least : most < q2 ? most : q2;
        at_x = inside < 0.1 ? log_of(inside) : inside - 2.4025850929940457;
        at_q = log_of(q2_inside);
    } else {
        const double lambda = number(set, SET_SCALE);
        at_x = exp_of(0.3 * log_of(x));
        at_q = log_of(log_of(q2 / (lambda * lambda)) * 0.5);
    }
    const Place place = place_of(d, at_x, at_q, q2);
    // Towards x = 0 what is interpolated is x^2 f.
    const double factor = rule != RULE_CTEQ ? 1 : x < number(set, SET_THIRD_X) ? 1 / x : x;
    ROLLED
    for (unsigned i = 0; i < count; i++) {
        double value = density_at(d, place, flavors, word(t, at + i));
        if (rule == RULE_CTEQ) value = not_negative(value * factor);
        put(c, row + i, x > 1 ? 0 : value);
    }
}

// The strong coupling at a scale. Words: parts, 0 where it is the same everywhere; of each part the axis and where the
// coefficients of its intervals begin. Numbers: the value, where it is the same; else the first knot and value, the power
// below, the last knot and value, then the first knot of each part.
DEVICE double coupling_at(const Tables &t, double scale) {
    const unsigned parts = word(t, 0);
    if (parts == 0) return number(t, 0);
    const double at = log_of(scale * scale), first = number(t, 0);
    if (at < first) return number(t, 1) * exp_of(number(t, 2) * (at - first));
    if (at > number(t, 3)) return number(t, 4);
    unsigned part = 0;
    ROLLED
    while (part + 1 < parts && number(t, 5 + part + 1) <= at) part++;
    double share, of[4];
    const unsigned interval = interval_of(t, word(t, 1 + 2 * part), at, share);
    for (unsigned i = 0; i < 4; i++) of[i] = number(t, word(t, 2 + 2 * part) + 4 * interval + i);
    return cubic(of, share);
}
