// Clocks in kernels that end with a colour sum, so that a profile separates it from the amplitudes.
// Only code that is compiled for a profile has them.

/// Cycles of all warps together.
struct Cycles {
    unsigned long long amplitudes, color;
};

/// The clock of the multiprocessor. RDNA's has 20 bits; the constant-rate clock ticks at 100 MHz.
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

/// Hides a number from the compiler from here on, so that computations before this point are not moved
/// after it, nor those that depend on the number before it.
DEVICE void hold(double &x) { asm volatile("" : "+" IN_DOUBLE(x) : : "memory"); }
DEVICE void hold(float &x) { asm volatile("" : "+" IN_FLOAT(x) : : "memory"); }
DEVICE void hold(Cx &x) {
    hold(x.re);
    hold(x.im);
}

/// Adds the cycles of a warp; one of its threads calls it.
DEVICE void add_cycles(Cycles *cycles, unsigned long long all, unsigned long long color) {
    atomicAdd(&cycles->amplitudes, all - color);
    atomicAdd(&cycles->color, color);
}
