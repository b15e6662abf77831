// Random numbers by counter, as crates/sampler/src/random.rs has them: Philox4x32-10.

/// Numbers of the points of one channel in one round.
struct Philox {
    Size seed;
    unsigned round, channel;
};

DEVICE double philox_between(unsigned high, unsigned low) {
    // The high 52 bits h as (2 h + 1) / 2^53, which is exact.
    const Size bits = (((Size)high << 32) | low) >> 12;
    return (double)(2 * bits + 1) * 0x1p-53;
}

/// The numbers in (0, 1) of dimension 2 `pair` and of the next one.
DEVICE void philox_pair(Philox of, Size point, unsigned pair, double &even, double &odd) {
    unsigned a = (unsigned)point, b = (unsigned)(point >> 32), c = of.channel, d = of.round << 16 | pair;
    unsigned key0 = (unsigned)of.seed, key1 = (unsigned)(of.seed >> 32);
    for (int round = 0; round < 10; round++) {
        const Size first = (Size)a * 0xd2511f53u, second = (Size)c * 0xcd9e8d57u;
        a = (unsigned)(second >> 32) ^ b ^ key0;
        b = (unsigned)second;
        c = (unsigned)(first >> 32) ^ d ^ key1;
        d = (unsigned)first;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    even = philox_between(a, b);
    odd = philox_between(c, d);
}

/// The number of a dimension.
DEVICE double philox_number(Philox of, Size point, unsigned dimension) {
    double even, odd;
    philox_pair(of, point, dimension / 2, even, odd);
    return dimension % 2 ? odd : even;
}
