// Clocks in kernels that end with a colour sum, so that a profile tells it from the amplitudes. Code
// for a profile alone has them.

/// Cycles that warps were at work, all together.
struct Cycles {
    unsigned long long amplitudes, color;
};

/// The clock of the multiprocessor. That of RDNA has 20 bits; the steady one ticks at 100 MHz.
#ifdef __HIP__
DEVICE unsigned long long clock_now() {
#if !defined(__GFX9__) && __has_builtin(__builtin_readsteadycounter)
    return __builtin_readsteadycounter();
#else
    return __builtin_readcyclecounter();
#endif
}
#else
DEVICE unsigned long long clock_now() { return clock64(); }
#endif

/// It, where it stands in the text.
DEVICE unsigned long long cycles_now() {
    asm volatile("" : : : "memory");
    const unsigned long long now = clock_now();
    asm volatile("" : : : "memory");
    return now;
}

/// The number is there from here on, and the compiler does not know it any more: what is computed before
/// stays before, and what follows from it comes behind.
DEVICE void hold(double &x) { asm volatile("" : "+" IN_DOUBLE(x) : : "memory"); }
DEVICE void hold(float &x) { asm volatile("" : "+" IN_FLOAT(x) : : "memory"); }
DEVICE void hold(Cx &x) {
    hold(x.re);
    hold(x.im);
}

/// Adds those of a warp, by one of its threads.
DEVICE void add_cycles(Cycles *cycles, unsigned long long all, unsigned long long color) {
    atomicAdd(&cycles->amplitudes, all - color);
    atomicAdd(&cycles->color, color);
}
