// What lies around |M|^2 of a sampler's points (crates/gpu_sampler): points together by matrix element before it, and what
// blocks of points teach, or which of them are events, after it. All sums are made in a fixed order.

const unsigned NO_ELEMENT = 0xffffffffu, NO_FLOW = 0xffffffffu, NO_FACTOR = 0xffffffu;

DEVICE bool is_usable(double weight) { return fabs(weight) <= MAX_WEIGHT; }

DEVICE Size bits_of(double x) {
    union {
        double number;
        Size bits;
    } both;
    both.number = x;
    return both.bits;
}

DEVICE double number_of(Size bits) {
    union {
        double number;
        Size bits;
    } both;
    both.bits = bits;
    return both.number;
}

DEVICE unsigned ones(unsigned x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/// How many of the first `count` bits are set.
DEVICE unsigned ones_before(const unsigned *words, unsigned count) {
    unsigned found = 0;
    for (unsigned word = 0; word < count / 32; word++) found += ones(words[word]);
    return count % 32 ? found + ones(words[count / 32] & ((1u << count % 32) - 1)) : found;
}

/// Draws the colour flow of each point whose matrix element has flows, as crates/sampler/src/color_flows.rs does: the point
/// then belongs to the flow's class. SLOTS threads.
extern "C" __global__ void MAX_THREADS(512) draw_flows(ARGUMENTS(HarvestArguments) a) {
    const unsigned block = blockIdx.x, slot = block * SLOTS + threadIdx.x, element = a.element[slot];
    a.flow[slot] = NO_FLOW;
    if (element == NO_ELEMENT || a.flow_words[element] == NO_FLOW) return;
    // Words: the numbers of pairs and steps, where the sizes of classes begin, pairs, and steps.
    const unsigned *words = a.flow_words + a.flow_words[element];
    const unsigned pairs = words[0], steps = words[1];
    const double *sizes = a.flow_sizes + words[2];
    words += 3;
    double invariants[2 * MAX_PAIRS], products[MAX_FACTORS + 1];
    const Size stride = a.stride;
    for (unsigned i = 0; i < pairs; i++) {
        const double *p = a.momenta + 4 * (words[i] & 0xffff) * stride + slot;
        const double *q = a.momenta + 4 * (words[i] >> 16) * stride + slot;
        const double energies = product(p[0], q[0]), least = product(LEAST_INVARIANT, energies);
        const double x = energies - product(p[stride], q[stride]) - product(p[2 * stride], q[2 * stride]);
        const double pq = fabs(x - product(p[3 * stride], q[3 * stride]));
        const double invariant = 2 * (pq > least ? pq : least);
        invariants[2 * i] = invariant, invariants[2 * i + 1] = quotient(1.0, invariant);
    }
    words += pairs;
    products[0] = 1;
    const BlockHead head = a.heads[block];
    const Philox philox = {head.seed, head.round, head.channel};
    double total = 0, rest = 0;
    unsigned drawn = NO_FLOW;
    double size = 0;
    // Once for the sum of all, and once for the flow.
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < steps; i++) {
            // The depth, twice a pair plus whether it is inverse or none, and the flow with its class.
            const unsigned step = words[3 * i], flow = words[3 * i + 1], depth = step & 0xff, factor = step >> 8;
            if (factor != NO_FACTOR) products[depth] = product(products[depth - 1], invariants[factor]);
            if (flow == NO_FLOW) continue;
            size = product(sizes[words[3 * i + 2]], products[depth]);
            if (pass == 0) {
                total += size;
                continue;
            }
            drawn = i;
            if (rest < size) break;
            rest -= size;
        }
        if (pass == 0)
            rest = philox_number(philox, head.first + threadIdx.x, a.runs[head.run].dimension + 3) * total;
    }
    a.flow[slot] = words[3 * drawn + 1];
    a.flow_share[slot] = quotient(size, total);
    a.element[slot] = words[3 * steps] + words[3 * drawn + 2];
}

/// How many points of each block belong to each matrix element, and the rank of each slot among them. SLOTS threads.
extern "C" __global__ void MAX_THREADS(512) count_elements(ARGUMENTS(HarvestArguments) a) {
    SHARED(unsigned, elements);
    const unsigned block = blockIdx.x, i = threadIdx.x, slot = block * SLOTS + i;
    const unsigned mine = a.element[slot];
    elements[i] = mine;
    __syncthreads();
    if (mine == NO_ELEMENT) return;
    unsigned before = 0, all = 0;
    for (unsigned j = 0; j < SLOTS; j++) {
        const unsigned same = elements[j] == mine;
        all += same;
        before += j < i ? same : 0;
    }
    a.place[slot] = before;
    if (before == 0) a.counts[mine * a.blocks + block] = all;
}

/// Where the numbers of a row begin if they follow each other: in `from` counts, in `to` sums of those before. The sum
/// at the beginning of each of `parts` equal parts of the row, and of all, goes to `begins`. One block of threads, which has
/// `sums` together.
DEVICE void scan(unsigned *sums, const unsigned *from, unsigned *to, unsigned count, unsigned parts,
                 unsigned *begins) {
    const unsigned threads = blockDim.x, i = threadIdx.x, each = (count + threads - 1) / threads;
    const unsigned first = i * each < count ? i * each : count, last = first + each < count ? first + each : count;
    unsigned sum = 0;
    for (unsigned at = first; at < last; at++) sum += from[at];
    sums[i] = sum;
    __syncthreads();
    for (unsigned step = 1; step < threads; step *= 2) {
        const unsigned other = i >= step ? sums[i - step] : 0;
        __syncthreads();
        sums[i] += other;
        __syncthreads();
    }
    unsigned running = sums[i] - sum;
    for (unsigned at = first; at < last; at++) {
        if (at % (count / parts) == 0) begins[at / (count / parts)] = running;
        to[at] = running;
        running += from[at];
    }
    if (i == 0) begins[parts] = sums[threads - 1];
}

extern "C" __global__ void MAX_THREADS(1024) scan_elements(ARGUMENTS(HarvestArguments) a) {
    SHARED(unsigned, sums);
    scan(sums, a.counts, a.starts, a.elements * a.blocks, a.elements, a.begins);
}

extern "C" __global__ void MAX_THREADS(1024) scan_events(ARGUMENTS(HarvestArguments) a) {
    SHARED(unsigned, sums);
    scan(sums, a.accepted, a.first_event, a.blocks, 1, a.event_begins);
}

/// Points of a matrix element together.
extern "C" __global__ void MAX_THREADS(512) gather_points(ARGUMENTS(HarvestArguments) a) {
    const unsigned block = blockIdx.x, slot = block * SLOTS + threadIdx.x, element = a.element[slot];
    if (element == NO_ELEMENT) return;
    const unsigned place = a.starts[element * a.blocks + block] + a.place[slot];
    a.place[slot] = place;
    const unsigned rows = 4 * a.legs[element];
    const unsigned flow = a.flow ? a.flow[slot] : NO_FLOW;
    if (flow == NO_FLOW) {
        for (unsigned row = 0; row < rows; row++)
            a.compact_momenta[(Size)row * a.stride + place] = a.momenta[(Size)row * a.stride + slot];
    } else {
        // Twice the leg whose momentum each leg gets, plus whether it is negated.
        const unsigned *legs = a.flow_words + flow;
        for (unsigned row = 0; row < rows; row++) {
            const unsigned from = legs[row / 4];
            const double number = a.momenta[(Size)(4 * (from >> 1) + row % 4) * a.stride + slot];
            a.compact_momenta[(Size)row * a.stride + place] = from & 1 ? -number : number;
        }
    }
    a.compact_alpha_s[place] = a.kinematics[(Size)6 * a.stride + slot];
}

/// The weights of a block, their sums as crates/sampler/src/sums.rs makes them, and which points are events. SLOTS threads.
extern "C" __global__ void MAX_THREADS(512) weigh_points(ARGUMENTS(HarvestArguments) a) {
    SHARED(double, weights);
    double *lanes = weights + SLOTS;
    unsigned *words = (unsigned *)(lanes + 32), *kept = words + SLOTS / 32, *passed = kept + SLOTS / 32,
             *unusable = passed + SLOTS / 32;
    const unsigned block = blockIdx.x, i = threadIdx.x, slot = block * SLOTS + i;
    const BlockHead head = a.heads[block];
    const RunHead run = a.runs[head.run];
    if (i < 4 * SLOTS / 32) words[i] = 0;
    const bool is_kept = a.element[slot] != NO_ELEMENT;
    double weight = 0;
    if (is_kept) {
        double squared = a.squared[a.place[slot]];
        if (a.flow && a.flow[slot] != NO_FLOW) a.squared[a.place[slot]] = squared = quotient(squared, a.flow_share[slot]);
        weight = a.factor[slot] * squared;
    }
    a.weights[slot] = weight;
    const bool usable = is_usable(weight);
    weights[i] = usable ? weight : 0;
    __syncthreads();
    const unsigned bit = 1u << i % 32, word = i / 32;
    bool accepted = false;
    if (a.draws && usable && weight != 0) {
        const Philox philox = {head.seed, head.round, head.channel};
        accepted = philox_number(philox, head.first + i, ACCEPTANCE) * run.threshold < fabs(weight);
    }
    if (accepted) atomicAdd(words + word, bit);
    if (is_kept) atomicAdd(kept + word, bit);
    if (usable && weight != 0) atomicAdd(passed + word, bit);
    if (!usable) atomicAdd(unusable + word, bit);
    if (i < 8) {
        double sum = 0, absolute = 0, square = 0, largest = 0;
        for (unsigned j = i; j < SLOTS; j += 8) {
            const double w = weights[j], size = fabs(w);
            sum += w;
            absolute += size;
            square += product(w, w);
            largest = size > largest ? size : largest;
        }
        lanes[i] = sum, lanes[8 + i] = absolute, lanes[16 + i] = square, lanes[24 + i] = largest;
    }
    __syncthreads();
    if (a.draws) a.event[slot] = accepted ? ones_before(words, i) : NO_ELEMENT;
    if (i < 4) {
        const double *of = lanes + 8 * i;
        double sum = ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
        if (i == 3) {
            sum = 0;
            for (unsigned lane = 0; lane < 8; lane++) sum = of[lane] > sum ? of[lane] : sum;
        }
        (&a.sums[block].sum)[i] = sum;
        (&a.sums[block].accepted)[i] = ones_before(i == 0 ? words : i == 1 ? kept : i == 2 ? passed : unusable, SLOTS);
        if (i == 0 && a.draws) a.accepted[block] = ones_before(words, SLOTS);
    }
}

/// Sizes of the weights of a block, added to those of its run. 256 threads.
extern "C" __global__ void MAX_THREADS(256) count_sizes(ARGUMENTS(HarvestArguments) a) {
    SHARED(Size, bins);
    double *most = (double *)(bins + 2 * SPECTRUM_BINS);
    const unsigned block = blockIdx.x, i = threadIdx.x;
    const unsigned number = a.heads[block].run;
    const RunHead run = a.runs[number];
    bins[2 * i] = bins[2 * i + 1] = 0;
    double largest = 0;
    for (unsigned other = run.first + i; other < run.first + run.count; other += SPECTRUM_BINS) {
        const double size = a.sums[other].largest;
        largest = size > largest ? size : largest;
    }
    most[i] = largest;
    __syncthreads();
    for (unsigned step = SPECTRUM_BINS / 2; step; step /= 2) {
        if (i < step && most[i + step] > most[i]) most[i] = most[i + step];
        __syncthreads();
    }
    const Size last = bits_of(most[0]) >> SPECTRUM_WITHIN;
    for (unsigned j = i; j < SLOTS; j += SPECTRUM_BINS) {
        const double size = fabs(a.weights[block * SLOTS + j]);
        const Size bin = bits_of(size) >> SPECTRUM_WITHIN;
        if (size == 0 || !is_usable(size) || bin + SPECTRUM_BINS <= last) continue;
        const Size within = bits_of(size) & (((Size)1 << SPECTRUM_WITHIN) - 1);
        atomicAdd(bins + 2 * (bin % SPECTRUM_BINS), (Size)1);
        atomicAdd(bins + 2 * (bin % SPECTRUM_BINS) + 1, within >> (SPECTRUM_WITHIN - SPECTRUM_SUMMED));
    }
    __syncthreads();
    // Whole numbers: the same in any order.
    for (unsigned half = 0; half < 2; half++)
        if (bins[2 * i + half]) atomicAdd(a.spectra + ((Size)number * SPECTRUM_BINS + i) * 2 + half, bins[2 * i + half]);
    if (i == 0 && block == run.first) a.largest[number] = most[0];
}

/// Squares of the weights of a block by the bins of its grid. SLOTS threads; shared memory for `dimensions`.
extern "C" __global__ void MAX_THREADS(512) train(ARGUMENTS(HarvestArguments) a) {
    SHARED(double, squares);
    double *sums = squares + SLOTS;
    unsigned char *bins = (unsigned char *)(sums + GRID_BINS * a.dimensions);
    const unsigned block = blockIdx.x, i = threadIdx.x, slot = block * SLOTS + i;
    const BlockHead head = a.heads[block];
    const unsigned dimension = a.runs[head.run].dimension;
    const double weight = a.weights[slot];
    const bool counts = weight != 0 && is_usable(weight);
    squares[i] = counts ? product(weight, weight) : 0;
    for (unsigned bin = i; bin < GRID_BINS * dimension; bin += SLOTS) sums[bin] = 0;
    if (counts) {
        const Philox philox = {head.seed, head.round, head.channel};
        for (unsigned d = 0; d < dimension; d += 2) {
            double even, odd;
            philox_pair(philox, head.first + i, d / 2, even, odd);
            bins[d * SLOTS + i] = (unsigned char)(even * GRID_BINS);
            if (d + 1 < dimension) bins[(d + 1) * SLOTS + i] = (unsigned char)(odd * GRID_BINS);
        }
    }
    __syncthreads();
    // One thread for a dimension, point by point.
    if (i < dimension)
        for (unsigned j = 0; j < SLOTS; j++)
            if (squares[j] != 0) sums[i * GRID_BINS + bins[i * SLOTS + j] % GRID_BINS] += squares[j];
    __syncthreads();
    double *to = a.of_blocks + (Size)block * GRID_BINS * a.dimensions;
    for (unsigned bin = i; bin < GRID_BINS * dimension; bin += SLOTS) to[bin] = sums[bin];
}

/// The size of the weights of a block by matrix element, and the same without |M|^2. A thread for each matrix element of
/// its group.
extern "C" __global__ void MAX_THREADS(64) count_shares(ARGUMENTS(HarvestArguments) a) {
    const unsigned block = blockIdx.x;
    const RunHead run = a.runs[a.heads[block].run];
    for (unsigned i = threadIdx.x; i < run.elements; i += blockDim.x) {
        const unsigned mine = a.members[run.first_element + i];
        double with = 0, without = 0;
        for (unsigned j = 0; j < SLOTS; j++) {
            const unsigned slot = block * SLOTS + j;
            const unsigned element = a.element[slot];
            if (element == NO_ELEMENT || a.of_class[element] != mine) continue;
            const double weight = fabs(a.weights[slot]), one = quotient(weight, fabs(a.squared[a.place[slot]]));
            // Neither infinite nor NaN.
            if (one - one != 0) continue;
            with += weight;
            without += one;
        }
        double *to = a.of_blocks + ((Size)block * a.most_elements + i) * 2;
        to[0] = with, to[1] = without;
    }
}

/// What blocks of a run have, `width` numbers each of which the first `used` of each run count, block after block.
DEVICE void merge(const HarvestArguments &a, unsigned width, unsigned used, double *to) {
    const unsigned number = blockIdx.x;
    const RunHead run = a.runs[number];
    const unsigned i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= used) return;
    double sum = 0;
    for (unsigned block = run.first; block < run.first + run.count; block++)
        sum += a.of_blocks[(Size)block * width + i];
    to[(Size)number * width + i] = sum;
}

extern "C" __global__ void MAX_THREADS(64) merge_training(ARGUMENTS(HarvestArguments) a) {
    merge(a, GRID_BINS * a.dimensions, GRID_BINS * a.runs[blockIdx.x].dimension, a.training);
}

extern "C" __global__ void MAX_THREADS(64) merge_shares(ARGUMENTS(HarvestArguments) a) {
    merge(a, 2 * a.most_elements, 2 * a.runs[blockIdx.x].elements, a.shares);
}

/// The first points of a block that pass the cuts: momenta, one row after the other, and weights. SLOTS threads.
extern "C" __global__ void MAX_THREADS(512) try_points(ARGUMENTS(HarvestArguments) a) {
    SHARED(unsigned, kept);
    const unsigned block = blockIdx.x, i = threadIdx.x, slot = block * SLOTS + i, element = a.element[slot];
    if (i < SLOTS / 32) kept[i] = 0;
    __syncthreads();
    if (element != NO_ELEMENT) atomicAdd(kept + i / 32, 1u << i % 32);
    __syncthreads();
    if (element == NO_ELEMENT) return;
    const unsigned place = ones_before(kept, i);
    if (place >= a.most_tried) return;
    double *to = a.tried + ((Size)block * a.most_tried + place) * (1 + a.rows);
    to[0] = a.weights[slot];
    for (unsigned row = 0; row < 4 * a.legs[element]; row++) to[1 + row] = a.momenta[(Size)row * a.stride + slot];
}

/// Points that are events, one record after the other: slot and partons, the weight, the number that chooses among
/// processes, fractions and scales, alpha_s, and the momenta in the centre of mass of the beams.
extern "C" __global__ void MAX_THREADS(512) write_events(ARGUMENTS(HarvestArguments) a) {
    const unsigned block = blockIdx.x, slot = block * SLOTS + threadIdx.x, rank = a.event[slot];
    if (rank == NO_ELEMENT) return;
    const BlockHead head = a.heads[block];
    const RunHead run = a.runs[head.run];
    const unsigned words = EVENT_HEAD + a.rows, partons = a.partons[slot];
    double *to = a.events + (Size)(a.first_event[block] + rank) * words;
    const bool exchanged = a.exchanged[run.first_partons + partons] != 0;
    const double *kinematics = a.kinematics + slot;
    const Size stride = a.stride;
    const double turn = exchanged ? -1 : 1, rapidity = turn * kinematics[0];
    const double cosine = cosh(rapidity), sine = sinh(rapidity);
    const Philox philox = {head.seed, head.round, head.channel};
    to[0] = number_of((Size)partons << 32 | slot);
    to[1] = a.weights[slot];
    to[2] = philox_number(philox, head.first + threadIdx.x, run.dimension + 1);
    to[3] = kinematics[(exchanged ? 2 : 1) * stride];
    to[4] = kinematics[(exchanged ? 1 : 2) * stride];
    to[5] = kinematics[3 * stride];
    to[6] = kinematics[(exchanged ? 5 : 4) * stride];
    to[7] = kinematics[(exchanged ? 4 : 5) * stride];
    to[8] = kinematics[6 * stride];
    to += EVENT_HEAD;
    const unsigned legs = a.legs[a.element[slot]];
    const double *from = a.momenta + slot;
    for (unsigned leg = 0; leg < legs; leg++, to += 4, from += 4 * stride) {
        const double e = from[0], x = from[stride], y = turn * from[2 * stride], z = turn * from[3 * stride];
        to[0] = cosine * e + sine * z;
        to[1] = x;
        to[2] = y;
        to[3] = cosine * z + sine * e;
    }
    for (unsigned row = 4 * legs; row < a.rows; row++) *to++ = 0;
}
