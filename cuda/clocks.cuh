// Clocks in kernels that end with a colour sum, so that a profile tells it from the amplitudes. Code
// for a profile alone has them.

/// Cycles that warps were at work, all together.
struct Cycles {
    unsigned long long amplitudes, color;
};

/// The clock of the multiprocessor.
DEVICE unsigned long long cycles_now() {
    asm volatile("" : : : "memory");
    const unsigned long long now = clock64();
    asm volatile("" : : : "memory");
    return now;
}

/// The number is there from here on, and the compiler does not know it any more: what is computed before
/// stays before, and what follows from it comes behind.
#ifdef __CUDA_ARCH__
DEVICE void hold(double &x) { asm volatile("" : "+d"(x) : : "memory"); }
DEVICE void hold(float &x) { asm volatile("" : "+f"(x) : : "memory"); }
#else
DEVICE void hold(double &x) { asm volatile("" : "+m"(x) : : "memory"); }
DEVICE void hold(float &x) { asm volatile("" : "+m"(x) : : "memory"); }
#endif
DEVICE void hold(Cx &x) {
    hold(x.re);
    hold(x.im);
}

/// Adds those of a warp, by one of its threads.
DEVICE void add_cycles(Cycles *cycles, unsigned long long all, unsigned long long color) {
    atomicAdd(&cycles->amplitudes, all - color);
    atomicAdd(&cycles->color, color);
}
