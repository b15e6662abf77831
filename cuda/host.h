// What CUDA C++ has and C++ has not, so that a C++17 compiler makes ordinary code of the device
// code, one thread a block. Blocks run one after the other in the thread that calls. Whoever
// calls kernels says with emulator_begin which block is next, and asks emulator_end afterwards
// whether the block stayed within its shared memory.

// The functions of <math.h> that device code calls. With <cmath>, a small program would take three times as long to
// compile, and tests compile more than a hundred.
extern "C" {
double acos(double), asin(double), atan(double), atan2(double, double), copysign(double, double), cos(double),
    cosh(double), exp(double), fabs(double), fma(double, double, double), hypot(double, double), log(double),
    pow(double, double), sin(double), sinh(double), sqrt(double), tan(double), tanh(double);
float copysignf(float, float), fabsf(float), fmaf(float, float, float), sqrtf(float);
}

#define __device__
#define __host__
#define __global__ __attribute__((visibility("default")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static
#define __shared__ static thread_local
#define __align__(bytes) alignas(bytes)

struct uint3 {
    unsigned int x, y, z;
};
typedef uint3 dim3;

[[maybe_unused]] static thread_local uint3 threadIdx = {0, 0, 0};
[[maybe_unused]] static thread_local uint3 blockIdx = {0, 0, 0};
[[maybe_unused]] static thread_local dim3 blockDim = {1, 1, 1};
[[maybe_unused]] static thread_local dim3 gridDim = {1, 1, 1};
// Threads in x that a block would have on a GPU.
[[maybe_unused]] static thread_local unsigned int emulator_threads = 1;

// All that a block of a GPU can have.
static const unsigned int EMULATOR_SHARED = 232448;
static const unsigned int EMULATOR_ZONE = 256;
alignas(128) static thread_local unsigned char emulator_shared[EMULATOR_SHARED + EMULATOR_ZONE];

// A kernel is called with the address of its arguments.
#define ARGUMENTS(type) const type &
#define SHARED(type, name) type *name = reinterpret_cast<type *>(emulator_shared)

// Goes to a block: its number, how many there are, and its bytes of shared memory, which hold
// nothing of use.
extern "C" __attribute__((visibility("default"))) void emulator_begin(
    unsigned int x, unsigned int y, unsigned int z, unsigned int blocks_x, unsigned int blocks_y,
    unsigned int blocks_z, unsigned int threads, unsigned int shared) {
    blockIdx = {x, y, z};
    gridDim = {blocks_x, blocks_y, blocks_z};
    emulator_threads = threads;
    __builtin_memset(emulator_shared, 0xff, shared + EMULATOR_ZONE);
}

// Whether the bytes behind the block's shared memory are as they were.
extern "C" __attribute__((visibility("default"))) int emulator_end(unsigned int shared) {
    for (unsigned int i = 0; i < EMULATOR_ZONE; i++)
        if (emulator_shared[shared + i] != 0xff) return 0;
    return 1;
}

static inline void __syncthreads() {}
static inline void __threadfence() {}

template <typename T> static inline T __ldg(const T *from) { return *from; }
template <typename T> static inline T __ldcg(const T *from) { return *from; }
template <typename T> static inline T __ldcs(const T *from) { return *from; }
template <typename T> static inline void __stcg(T *to, T value) { *to = value; }
template <typename T> static inline void __stcs(T *to, T value) { *to = value; }

// Several threads of the host may run kernels on the same memory.
template <typename T> static inline T emulator_min(T *to, T value) {
    T old = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(to, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
    return old;
}
static inline int atomicMin(int *to, int value) { return emulator_min(to, value); }
static inline unsigned int atomicMin(unsigned int *to, unsigned int value) {
    return emulator_min(to, value);
}
static inline int atomicAdd(int *to, int value) {
    return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
static inline unsigned int atomicAdd(unsigned int *to, unsigned int value) {
    return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

static inline unsigned long long atomicAdd(unsigned long long *to, unsigned long long value) {
    return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

// Counts how often it was asked, so that tests know what it says.
static inline long long clock64() {
    static thread_local long long now = 0;
    return ++now;
}

static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
