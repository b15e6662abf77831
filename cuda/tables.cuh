// Tables that the host writes (crates/gpu_sampler/src/tables.rs and crates/phasespace/src/device.rs): words and numbers.
// All points of a block read the same ones.

struct Tables {
    const unsigned *words;
    const double *numbers;
};

DEVICE unsigned word(const Tables &t, unsigned at) { return __ldg(t.words + at); }
DEVICE double number(const Tables &t, unsigned at) { return __ldg(t.numbers + at); }

// In the place of a row: nothing is read or written there.
#define NOWHERE 0xffffffffu
// Of an operand that is a number of the tables and not a row.
#define CONSTANT 0x80000000u

// Rows of numbers of one point, in shared memory: row `r` of column `c` is number `r * stride + c`.
struct Column {
    double *begin;
    unsigned stride;
};

DEVICE double get(Column c, unsigned row) { return c.begin[row * c.stride]; }
DEVICE void put(Column c, unsigned row, double x) { c.begin[row * c.stride] = x; }

// An operand: a row or a constant.
DEVICE double value_of(const Tables &t, Column c, unsigned operand) {
    return operand & CONSTANT ? number(t, operand & ~CONSTANT) : get(c, operand);
}

DEVICE Momentum get_momentum(Column c, unsigned row) {
    Momentum of;
    for (unsigned i = 0; i < 4; i++) of.p[i] = get(c, row + i);
    return of;
}

DEVICE void put_momentum(Column c, unsigned row, const Momentum &of) {
    for (unsigned i = 0; i < 4; i++) put(c, row + i, of.p[i]);
}

DEVICE double not_negative(double x) { return x > 0 ? x : 0; }

// Functions of the compiler are long, and called at many places: each is compiled once.
CALLED double log_of(double x) { return log(x); }
CALLED double exp_of(double x) { return exp(x); }
CALLED double atan_of(double x) { return atan(x); }
CALLED void sine_and_cosine(double turns, double *sine, double *cosine) { sincospi(turns, sine, cosine); }
