// From random numbers to momenta by the steps of a channel, as crates/phasespace/src/{draw,map,kinematics}.rs have it. Steps
// are words that crates/phasespace/src/device/channel.rs writes.

// Random numbers of a point as its grid maps them (crates/sampler/src/grid.rs). Two come together; the second one is kept.
struct Mapped {
    Philox philox;
    Size point;
    const double *edges;
    double jacobian, kept;
    unsigned kept_dimension;
};

DEVICE Mapped mapped_numbers(Philox philox, Size point, const double *edges) {
    Mapped of = {philox, point, edges, 1, 0, NOWHERE};
    return of;
}

DEVICE double mapped(Mapped &of, unsigned dimension) {
    double x = of.kept;
    if (dimension != of.kept_dimension) {
        double odd;
        philox_pair(of.philox, of.point, dimension / 2, x, odd);
        if (dimension % 2) x = odd;
        else of.kept = odd, of.kept_dimension = dimension + 1;
    }
    const double bins = GRID_BINS, below_one = 1 - 0x1p-53;
    const double scaled = x * bins;
    const unsigned bin = (unsigned)scaled;
    const double *edge = of.edges + dimension * (GRID_BINS + 1) + bin;
    const double left = __ldg(edge), width = __ldg(edge + 1) - left;
    of.jacobian *= width * bins;
    return smaller(fused(width, scaled - (double)bin, left), below_one);
}

// What a point has besides the momenta of its legs that go out.
struct Drawn {
    double weight, fractions[2], rapidity, energy_square;
    // Of the legs that come in: energies, and the momentum along z of the first.
    double energies[2], along;
};

// An invariant for a random number, and by how much it changes with it.
struct Slope {
    double value, slope;
};

// The tangent of an angle of a circle or less. What the compilers have is for any angle, and calls a function for large ones.
DEVICE double tangent_of(double angle) {
    double sine, cosine;
    sine_and_cosine(angle * 0.3183098861837907, &sine, &cosine);
    return sine / cosine;
}

#define MAP_FLAT 0
#define MAP_POWER 1
#define MAP_INVERSE 2
#define MAP_BREIT_WIGNER 3

CALLED Slope map_forward(const Tables &t, unsigned kind, unsigned numbers, double random, double least, double most) {
    Slope of;
    if (kind == MAP_FLAT) {
        of.slope = most - least;
        of.value = fused(random, of.slope, least);
    } else if (kind == MAP_BREIT_WIGNER) {
        const double square = number(t, numbers), product = number(t, numbers + 1);
        const double inverse = number(t, numbers + 2);
        const double from = atan_of((least - square) * inverse), range = atan_of((most - square) * inverse) - from;
        const double tangent = tangent_of(fused(random, range, from));
        of.slope = fused(tangent, tangent, 1.0) * product * range;
        of.value = fused(tangent, product, square);
    } else if (kind == MAP_INVERSE) {
        const double range = log_of(most / least);
        of.value = least * exp_of(random * range);
        of.slope = of.value * range;
    } else {
        // 1 - power, and one over it.
        const double rest = number(t, numbers), inverse = number(t, numbers + 1);
        if (least > 0) {
            const double change = exp_of(rest * log_of(most / least)) - 1;
            const double raised = fused(random, change, 1.0);
            of.value = least * exp_of(log_of(raised) * inverse);
            of.slope = of.value * change * inverse / raised;
        } else {
            of.value = most * exp_of(log_of(random) * inverse);
            of.slope = of.value * inverse / random;
        }
    }
    // Rounding must not leave the interval.
    of.value = smaller(larger(of.value, least), most);
    return of;
}

// lambda(s, m1^2, m2^2) of masses, in which nothing cancels at the threshold.
DEVICE double lambda_of_masses(double s, double first, double second) {
    const double sum = first + second, difference = first - second;
    return not_negative(neg_fused(sum, sum, s)) * not_negative(neg_fused(difference, difference, s));
}

// lambda(s, a, b) of squares, which may be negative.
DEVICE double lambda_of_squares(double s, double a, double b) {
    const double rest = s - a - b;
    return not_negative(fused(rest, rest, -4 * a * b));
}

DEVICE double transverse_square(const Momentum &p) { return fused(p.p[1], p.p[1], p.p[2] * p.p[2]); }

DEVICE double square_of(const Momentum &p) { return (p.p[0] - p.p[3]) * (p.p[0] + p.p[3]) - transverse_square(p); }

// A momentum given in the rest frame of `frame`, in the frame where `frame` has its momentum; with a sign of -1 the other
// way round.
DEVICE Momentum boosted(const Momentum &p, const Momentum &frame, double sign, double inverse_mass, double mass) {
    const double along = sign * fused(p.p[1], frame.p[1], fused(p.p[2], frame.p[2], p.p[3] * frame.p[3]));
    Momentum of;
    of.p[0] = fused(p.p[0], frame.p[0], along) * inverse_mass;
    const double scale = sign * (p.p[0] + of.p[0]) / (frame.p[0] + mass);
    for (unsigned i = 1; i < 4; i++) of.p[i] = fused(scale, frame.p[i], p.p[i]);
    return of;
}

// A line: its squared mass, mass and momentum, as operands or rows. A momentum NOWHERE is that of all that goes out, which
// rests.
struct Line {
    unsigned square, mass, momentum;
};

DEVICE Line line_of(const Tables &t, unsigned at) {
    Line of = {word(t, at), word(t, at + 1), word(t, at + 2)};
    return of;
}

// Gives two parts their momenta: (x, y, z) in the frame where the whole rests, and back to back.
DEVICE void divide(const Momentum &frame, bool rests, double mass, const double squares[2], double size,
                   const double direction[3], Momentum parts[2]) {
    const double inverse = 1 / mass, size_square = size * size;
    for (unsigned i = 0; i < 2; i++) {
        const double signed_size = i ? -size : size;
        Momentum p;
        p.p[0] = root(size_square + squares[i]);
        for (unsigned k = 0; k < 3; k++) p.p[k + 1] = signed_size * direction[k];
        parts[i] = rests ? p : boosted(p, frame, 1, inverse, mass);
    }
}

DEVICE void put_parts(Column c, const Line &first, const Line &second, const Momentum parts[2]) {
    put_momentum(c, first.momentum, parts[0]);
    put_momentum(c, second.momentum, parts[1]);
}

#define STEP_LEAST 0
#define STEP_INVARIANT 1
#define STEP_FRACTIONS 2
#define STEP_BEAMS 3
#define STEP_DECAY 4
#define STEP_SCATTER 5

#define ONE_OVER_8_PI 0.039788735772973836

// Two parts without a preferred direction.
DEVICE void draw_decay(const Tables &t, Column c, unsigned at, Mapped &random, Drawn &of) {
    const double cosine = mapped(random, word(t, at)), angle = mapped(random, word(t, at + 1));
    const Line whole = line_of(t, at + 2), first = line_of(t, at + 5), second = line_of(t, at + 8);
    const double s = value_of(t, c, whole.square), mass = value_of(t, c, whole.mass);
    const double size = root(lambda_of_masses(s, value_of(t, c, first.mass), value_of(t, c, second.mass)));
    // 1 - cosine over 2 is the random number.
    const double across = 2 * root(cosine * (1 - cosine));
    double direction[3];
    sine_and_cosine(2 * angle, direction + 1, direction);
    direction[0] *= across;
    direction[1] *= across;
    direction[2] = fused(-2.0, cosine, 1.0);
    const double squares[2] = {value_of(t, c, first.square), value_of(t, c, second.square)};
    const bool rests = whole.momentum == NOWHERE;
    Momentum frame = {}, parts[2];
    if (!rests) frame = get_momentum(c, whole.momentum);
    divide(frame, rests, mass, squares, size * 0.5 / mass, direction, parts);
    put_parts(c, first, second, parts);
    of.weight *= size * ONE_OVER_8_PI / s;
}

// Two parts by what is exchanged; whether that is possible.
DEVICE bool draw_scatter(const Tables &t, Column c, unsigned at, Mapped &random, Drawn &of) {
    const double share = mapped(random, word(t, at)), angle = mapped(random, word(t, at + 1));
    const unsigned numbers = word(t, at + 4);
    const double pole = number(t, numbers);
    const Line whole = line_of(t, at + 9), first = line_of(t, at + 12), second = line_of(t, at + 15);
    const double s = value_of(t, c, whole.square), mass = value_of(t, c, whole.mass);
    const double a = value_of(t, c, word(t, at + 5)), b = value_of(t, c, word(t, at + 7));
    const double squares[2] = {value_of(t, c, first.square), value_of(t, c, second.square)};
    const double out = squares[0], rest = squares[1];
    const double root_in = root(lambda_of_squares(s, a, b));
    const double root_out = root(lambda_of_masses(s, value_of(t, c, first.mass), value_of(t, c, second.mass)));
    // t is mean + range_half cosine.
    const double range_half = root_in * root_out * 0.5 / s;
    const double mean = a + out - (s + a - b) * (s + out - rest) * 0.5 / s;
    const double backward = mean - range_half;
    // In forward direction the sum may lose all digits; the product of both ends does not.
    const double product_of_ends = (a - out) * (b - rest) + (a * rest - b * out) * (a - b - out + rest) / s;
    const double sum = mean + range_half;
    const double forward = fabs(sum) < fabs(backward) * 1e-3 ? product_of_ends / backward : sum;

    // What comes in is stable, so that the difference is above 0 if the pole is.
    double least = larger(pole - forward, pole * 0x1p-52);
    for (unsigned i = 0; i < 2; i++) {
        const double transverse = number(t, numbers + 1 + i);
        // Beside a beam without mass, -t is no less than the square of the transverse momentum.
        if (transverse > 0) least = larger(least, pole + (transverse * transverse - squares[i]));
    }
    const double most = pole - forward + range_half + range_half;
    if (!(least < most)) return false;
    const Slope found = map_forward(t, word(t, at + 2), word(t, at + 3), share, least, most);
    // From forward: 1 - cosine.
    const double less = smaller(not_negative((found.value - (pole - forward)) / range_half), 2.0);
    const double across = root(less * (2 - less));
    double direction[3];
    sine_and_cosine(2 * angle, direction + 1, direction);
    direction[0] *= across;
    direction[1] *= across;
    direction[2] = 1 - less;

    const bool rests = whole.momentum == NOWHERE;
    Momentum frame = {}, incoming = {}, parts[2];
    if (word(t, at + 6) != NOWHERE) incoming = get_momentum(c, word(t, at + 6));
    // Where the whole rests the first comes in along z.
    if (!rests) {
        frame = get_momentum(c, whole.momentum);
        const Momentum p = boosted(incoming, frame, -1, 1 / mass, mass);
        const double length = root(fused(p.p[1], p.p[1], fused(p.p[2], p.p[2], p.p[3] * p.p[3])));
        const bool none = !(length > 0);
        const double inverse = none ? 1 : 1 / length;
        const double x = p.p[1] * inverse, y = p.p[2] * inverse, z = none ? 1 : p.p[3] * inverse;
        // Two directions that make a right-handed frame with it (Duff et al., JCGT 6 (2017) 1).
        const double sign = copysign(1.0, z), scale = -1 / (sign + z), mixed = x * y * scale;
        const double u = direction[0], v = direction[1], w = direction[2];
        direction[0] = fused(u, fused(sign * x * x, scale, 1.0), fused(v, mixed, w * x));
        direction[1] = fused(u, sign * mixed, fused(v, fused(y * y, scale, sign), w * y));
        direction[2] = fused(u, -(sign * x), fused(v, -y, w * z));
    }
    divide(frame, rests, mass, squares, root_out * 0.5 / mass, direction, parts);
    // What is exchanged comes in on either side. It may take the rows of what is read here for the last time.
    const unsigned exchanged[2] = {word(t, at + 19), word(t, at + 21)};
    Momentum taken[2] = {};
    if (exchanged[0] != NOWHERE) taken[0] = parts[0] - incoming;
    if (exchanged[1] != NOWHERE) taken[1] = parts[1] - get_momentum(c, word(t, at + 8));
    for (unsigned i = 0; i < 2; i++) {
        const unsigned square = word(t, at + 18 + 2 * i);
        if (square != NOWHERE) put(c, square, pole - found.value);
        if (exchanged[i] != NOWHERE) put_momentum(c, exchanged[i], taken[i]);
    }
    put_parts(c, first, second, parts);
    of.weight *= found.slope * ONE_OVER_8_PI / root_in;
    return true;
}

// Draws a point by the steps from `at` on, each after its length; whether there is one.
DEVICE bool draw_steps(const Tables &t, Column c, unsigned at, unsigned end, Mapped &random, Drawn &of) {
    ROLLED
    while (at < end) {
        const unsigned kind = word(t, at) & 0xff, length = word(t, at) >> 8;
        const unsigned from = at + 1;
        at += length;
        if (kind == STEP_DECAY) {
            draw_decay(t, c, from, random, of);
        } else if (kind == STEP_SCATTER) {
            if (!draw_scatter(t, c, from, random, of)) return false;
        } else if (kind == STEP_INVARIANT) {
            double least = value_of(t, c, word(t, from + 3)), most = value_of(t, c, word(t, from + 4));
            ROLLED
            for (unsigned i = from + 9; i < at; i++) most -= value_of(t, c, word(t, i));
            most = smaller(most, number(t, word(t, from + 8)));
            if (!(least < most)) return false;
            const double share = mapped(random, word(t, from));
            const Slope found =
                map_forward(t, word(t, from + 1), word(t, from + 2), share, least * least, most * most);
            const unsigned square = word(t, from + 5), mass = word(t, from + 6);
            if (square != NOWHERE) put(c, square, found.value);
            if (mass != NOWHERE) put(c, mass, root(found.value));
            of.weight *= found.slope * number(t, word(t, from + 7));
        } else if (kind == STEP_LEAST) {
            double sum = 0;
            ROLLED
            for (unsigned i = from + 2; i < at; i++) sum += value_of(t, c, word(t, i));
            put(c, word(t, from), larger(sum, number(t, word(t, from + 1))));
        } else if (kind == STEP_FRACTIONS) {
            const unsigned dimension = word(t, from), numbers = word(t, from + 3);
            const double share = value_of(t, c, word(t, from + 2)) * number(t, numbers);
            const double logarithm = log_of(share);
            of.weight *= number(t, numbers + 1);
            if (dimension != NOWHERE) {
                // The share of the logarithm that is the first beam's: a Breit-Wigner from 0 to 1.
                const double range = number(t, numbers + 5), product = number(t, numbers + 3);
                const double tangent = tangent_of(fused(mapped(random, dimension), range, number(t, numbers + 4)));
                const double slope = fused(tangent, tangent, 1.0) * product * range;
                const double first_part = fused(tangent, product, number(t, numbers + 2));
                of.weight *= -logarithm * slope;
                of.fractions[0] = exp_of(logarithm * (1 - first_part));
                of.fractions[1] = share / of.fractions[0];
                of.rapidity = logarithm * (0.5 - first_part);
            } else {
                const unsigned beam = word(t, from + 1);
                // The light-cone momentum along the beam that is whole: of the other one's mass it has a part.
                const double heavy = number(t, numbers + 6);
                const double along = heavy > 0 ? log_of(fused(share, 1 - heavy, heavy)) : logarithm;
                of.fractions[beam] = share;
                of.rapidity = along * (beam ? -0.5 : 0.5);
            }
            // Partons with different masses: one of them has its fraction of the beam.
            const double sign = number(t, numbers + 7);
            if (sign != 0) of.rapidity = fused(log_of(number(t, numbers + 8) / share + 1), sign, of.rapidity);
        } else {
            const double s = value_of(t, c, word(t, from)), mass = value_of(t, c, word(t, from + 1));
            const double a = value_of(t, c, word(t, from + 3)), b = value_of(t, c, word(t, from + 5));
            const double half = 0.5 / mass;
            of.along = root(lambda_of_masses(s, root(a), root(b))) * half;
            of.energies[0] = (s + a - b) * half;
            of.energies[1] = (s + b - a) * half;
            const unsigned whole = word(t, from + 2);
            Momentum p = {{mass, 0, 0, 0}};
            if (whole != NOWHERE) put_momentum(c, whole, p);
            for (unsigned i = 0; i < 2; i++) {
                const unsigned row = word(t, from + 4 + 2 * i);
                p.p[0] = of.energies[i];
                p.p[3] = i ? -of.along : of.along;
                if (row != NOWHERE) put_momentum(c, row, p);
            }
        }
    }
    return true;
}

// A point of a channel whose words begin at `channel`, its legs turned or not; whether there is one. The momentum of leg `i`
// that goes out, as the channel counts them, lies in rows 4 i to 4 i + 3.
DEVICE bool draw_point(const Tables &t, Column c, unsigned channel, bool turned, Mapped &random, Drawn &of) {
    const unsigned legs = word(t, channel), steps = channel + 2 + legs;
    of.weight = of.fractions[0] = of.fractions[1] = 1;
    of.rapidity = 0;
    if (!draw_steps(t, c, steps, word(t, channel + 1), random, of)) return false;
    double whole = 0;
    ROLLED
    for (unsigned leg = 0; leg < legs; leg++) {
        Momentum p = get_momentum(c, 4 * leg);
        const double square = value_of(t, c, word(t, channel + 2 + leg));
        p.p[0] = root(fused(p.p[1], p.p[1], fused(p.p[2], p.p[2], fused(p.p[3], p.p[3], square))));
        whole += p.p[0];
        if (turned) p.p[2] = -p.p[2], p.p[3] = -p.p[3];
        put_momentum(c, 4 * leg, p);
    }
    of.energy_square = whole * whole;
    of.weight *= random.jacobian;
    // Neither infinite nor no number.
    return of.weight > 0 && whole - whole == 0;
}
