// The points of blocks, from their random numbers to their weights without |M|^2, as in crates/sampler/src/integrand.rs.
// The numbers of a point lie in shared memory, a column for each thread. Points that pass the cuts move to the first threads
// of the block, so that few warps do the most expensive part.

// Words of a source; crates/gpu_sampler/src/tables.rs writes them.
#define SOURCE_WORDS 7
#define SOURCE_CHANNEL 0
#define SOURCE_DIMENSION 1
#define SOURCE_PERMUTATIONS 2
// The first permutation, and words of each: whether the point is turned, the column of the weight, and rows of the legs.
#define SOURCE_FIRST 3
#define SOURCE_STRIDE 4
#define SOURCE_GROUP 5
// Numbers, two for each of the partons: the chance of the matrix element, times its factor and without.
#define SOURCE_CHANCES 6

// Words of a group. Partons have two: places among the flavours of the group, and the matrix element.
#define GROUP_CUTS 0
#define GROUP_WEIGHTS 1
#define GROUP_SCALE 2
#define GROUP_PARTONS 3
#define GROUP_FIRST 4
// For each incoming leg its set of densities, NOWHERE if the beam itself is the parton, and the number of flavours; then their
// places in the sets. NOWHERE if both beams are partons and there is one choice.
#define GROUP_FLAVORS 5
// Numbers: the rapidity of the beams' centre of mass in the detector frame; for the flux the squared sum and difference of
// the incoming masses, and a factor.
#define GROUP_NUMBERS 6

// Rows after the momenta of the outgoing legs, used from the cuts on.
#define ROW_WEIGHT 0
#define ROW_FRACTIONS 1
#define ROW_RAPIDITY 3
#define ROW_ENERGY_SQUARE 4
#define ROW_ENERGIES 5
#define ROW_ALONG 7
#define MORE_ROWS 8

// The index of a point's permutation among those of its source.
DEVICE unsigned permutation_of(const Tables &t, unsigned source, Size point) {
    const unsigned count = word(t, source + SOURCE_PERMUTATIONS);
    const unsigned which = count == 1 ? 0 : (unsigned)(point / 8 % count);
    return word(t, source + SOURCE_FIRST) + which * word(t, source + SOURCE_STRIDE);
}

// Draws a point, and returns whether it passes the cuts.
DEVICE bool draw(const PointsArguments &a, const Tables &t, unsigned source, const BlockHead &head, unsigned index,
                 Column column) {
    const Size point = head.first + index;
    const unsigned permutation = permutation_of(t, source, point), channel = word(t, source + SOURCE_CHANNEL);
    const Philox philox = {head.seed, head.round, head.channel};
    Mapped random = mapped_numbers(philox, point, a.grids + head.grid);
    Drawn of;
    if (!draw_point(t, column, channel, word(t, permutation), random, of)) return false;
    const unsigned outgoing = word(t, channel), more = 4 * outgoing;
    const unsigned group = word(t, source + SOURCE_GROUP), cuts = word(t, group + GROUP_CUTS);
    of.rapidity += number(t, word(t, group + GROUP_NUMBERS));
    const Legs legs = {column, permutation + 2, {of.energies[0], of.energies[1]}, of.along};
    if (cuts != NOWHERE && !passes(t, legs, cuts, of.rapidity, more, outgoing)) return false;
    put(column, more + ROW_WEIGHT, of.weight);
    put(column, more + ROW_FRACTIONS, of.fractions[0]);
    put(column, more + ROW_FRACTIONS + 1, of.fractions[1]);
    put(column, more + ROW_RAPIDITY, of.rapidity);
    put(column, more + ROW_ENERGY_SQUARE, of.energy_square);
    put(column, more + ROW_ENERGIES, of.energies[0]);
    put(column, more + ROW_ENERGIES + 1, of.energies[1]);
    put(column, more + ROW_ALONG, of.along);
    return true;
}

// The partons that were drawn, and the factor of the densities in the weight.
struct PartonsDrawn {
    unsigned partons;
    double factor;
};

DEVICE PartonsDrawn draw_partons(const PointsArguments &a, const Tables &t, unsigned source, unsigned group,
                                 const BlockHead &head, unsigned index, const Legs &legs, unsigned more,
                                 const double scales[3]) {
    const unsigned chances = word(t, source + SOURCE_CHANCES), flavors = word(t, group + GROUP_FLAVORS);
    PartonsDrawn found = {0, 0};
    if (flavors == NOWHERE) {
        found.factor = number(t, chances);
        return found;
    }
    const Column c = legs.column;
    const unsigned row = more + MORE_ROWS;
    unsigned to = row, places = flavors + 4;
    ROLLED
    for (unsigned leg = 0; leg < 2; leg++) {
        const unsigned which = word(t, flavors + 2 * leg), count = word(t, flavors + 2 * leg + 1);
        const double x = get(c, more + ROW_FRACTIONS + leg);
        if (which == NOWHERE) {
            put(c, to, 1);
        } else {
            const Densities set = {{which ? a.second_words : a.first_words, which ? a.second_numbers : a.first_numbers},
                                   which ? a.second_cells : a.first_cells};
            look_up(set, t, x, scales[1 + leg], places, count, c, to);
        }
        to += count;
        places += count;
    }
    const unsigned count = word(t, group + GROUP_PARTONS), first = word(t, group + GROUP_FIRST);
    double total = 0, own = 0;
    ROLLED
    for (unsigned i = 0; i < count; i++) {
        const unsigned places = word(t, first + 2 * i);
        if (places == NOWHERE) continue;
        own = get(c, row + (places & 0xffff)) * get(c, row + (places >> 16)) * number(t, chances + 2 * i);
        // Densities may be negative, and so may weights of events.
        total += fabs(own);
    }
    if (count > 1) {
        const Philox philox = {head.seed, head.round, head.channel};
        double rest = philox_number(philox, head.first + index, word(t, source + SOURCE_DIMENSION)) * total;
        own = 0;
        ROLLED
        for (unsigned i = 0; i < count; i++) {
            const unsigned places = word(t, first + 2 * i);
            if (places == NOWHERE) continue;
            const double share =
                get(c, row + (places & 0xffff)) * get(c, row + (places >> 16)) * number(t, chances + 2 * i);
            if (share == 0) continue;
            found.partons = i;
            own = share;
            if (rest < fabs(share)) break;
            rest -= fabs(share);
        }
    }
    const double chance = number(t, chances + 2 * found.partons + 1);
    const double fractions = get(c, more + ROW_FRACTIONS) * get(c, more + ROW_FRACTIONS + 1);
    found.factor = copysign(total, own) / (chance * fractions);
    return found;
}

extern "C" __global__ void THREADS_AND_BLOCKS(128, 4) points(ARGUMENTS(PointsArguments) a) {
    SHARED(double, numbers);
    // The number of points that pass, and their columns.
    unsigned *passed = reinterpret_cast<unsigned *>(numbers + a.rows * blockDim.x);
    const Tables t = {a.words, a.numbers};
    const unsigned parts = SLOTS / blockDim.x, block = blockIdx.x / parts, begin = blockIdx.x % parts * blockDim.x;
    const BlockHead head = a.heads[block];
    const unsigned source = a.sources + head.source * SOURCE_WORDS;
    if (threadIdx.x == 0) *passed = 0;
    __syncthreads();
    {
        const Column column = {numbers + threadIdx.x, blockDim.x};
        const unsigned index = begin + threadIdx.x;
        if (index < head.count && draw(a, t, source, head, index, column))
            passed[1 + atomicAdd(passed, 1u)] = threadIdx.x;
        else
            a.element[block * SLOTS + index] = NOWHERE;
    }
    __syncthreads();
    if (threadIdx.x >= *passed) return;

    const unsigned own = passed[1 + threadIdx.x], index = begin + own, slot = block * SLOTS + index;
    const Column column = {numbers + own, blockDim.x};
    const unsigned outgoing = word(t, word(t, source + SOURCE_CHANNEL)), more = 4 * outgoing;
    const unsigned group = word(t, source + SOURCE_GROUP), permutation = permutation_of(t, source, head.first + index);
    const Legs legs = {column,
                       permutation + 2,
                       {get(column, more + ROW_ENERGIES), get(column, more + ROW_ENERGIES + 1)},
                       get(column, more + ROW_ALONG)};
    ROLLED
    for (unsigned leg = 0; leg < outgoing + 2; leg++) {
        const Momentum p = leg_momentum(t, legs, leg);
        for (unsigned i = 0; i < 4; i++) a.momenta[(Size)(4 * leg + i) * a.stride + slot] = p.p[i];
    }
    const double share = channel_share(t, legs, word(t, group + GROUP_WEIGHTS), outgoing, word(t, permutation + 1),
                                       more + MORE_ROWS);
    double scales[3];
    scales_of(t, legs, word(t, group + GROUP_SCALE), outgoing, scales);
    const Tables coupling = {a.coupling_words, a.coupling_numbers};
    const PartonsDrawn partons = draw_partons(a, t, source, group, head, index, legs, more, scales);
    const double kinematics[7] = {get(column, more + ROW_RAPIDITY),
                                  get(column, more + ROW_FRACTIONS),
                                  get(column, more + ROW_FRACTIONS + 1),
                                  scales[0],
                                  scales[1],
                                  scales[2],
                                  coupling_at(coupling, scales[0])};
    for (unsigned i = 0; i < 7; i++) a.kinematics[(Size)i * a.stride + slot] = kinematics[i];
    a.partons[slot] = partons.partons;
    a.element[slot] = word(t, word(t, group + GROUP_FIRST) + 2 * partons.partons + 1);
    const unsigned numbers_of_group = word(t, group + GROUP_NUMBERS);
    const double s = get(column, more + ROW_ENERGY_SQUARE);
    const double flux = number(t, numbers_of_group + 3) /
                        root((s - number(t, numbers_of_group + 1)) * (s - number(t, numbers_of_group + 2)));
    const double phase_space = get(column, more + ROW_WEIGHT) * flux;
    const double permutations = word(t, source + SOURCE_PERMUTATIONS);
    a.factor[slot] = partons.factor * (share * permutations) * phase_space;
}
