// What CUDA C++ has and C++ has not, so that a C++17 compiler makes ordinary code of the device code. Blocks run one after
// the other in the thread that calls, by emulator_block. Threads of a block take turns: each runs up to the next barrier,
// in one order or the other, so that what lacks a barrier reads what has not been written yet.

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

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
// Not always_inline: without optimisation each call would be compiled again, which took ten times as long.
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static
#define __shared__ static thread_local

struct uint3 {
    unsigned int x, y, z;
};
typedef uint3 dim3;

[[maybe_unused]] static thread_local uint3 threadIdx, blockIdx;
[[maybe_unused]] static thread_local dim3 blockDim, gridDim;

// All that a block of a GPU can have.
static const unsigned int EMULATOR_SHARED = 232448;
static const unsigned int EMULATOR_ZONE = 256;
alignas(128) static thread_local unsigned char emulator_shared[EMULATOR_SHARED + EMULATOR_ZONE];

#define ROLLED

// Blocks may have fewer threads than lanes.
#define LANES_STEP blockDim.x

// A kernel is called with the address of its arguments.
#define ARGUMENTS(type) const type &
#define SHARED(type, name) type *name = reinterpret_cast<type *>(emulator_shared)
typedef void (*EmulatorKernel)(const void *);

// Most threads of a block, and bytes of their stacks: whoever starts first may have code without barriers, which is long.
static const unsigned int EMULATOR_THREADS = 1024;
static const unsigned long EMULATOR_STACK = 1ul << 20, EMULATOR_FIRST_STACK = 64ul << 20;

// The threads of a block. Each is called on a stack of its own, and gives way where it waits. They change places by
// _setjmp and _longjmp: swapcontext would ask the system for its signals each time. For the same reason a stack is begun
// once a launch, and the threads of the next block go on there.
struct EmulatorBlock {
    jmp_buf caller, of[EMULATOR_THREADS], ended[EMULATOR_THREADS];
    ucontext_t fresh;
    bool begun[EMULATOR_THREADS];
    // The stack that is being begun.
    unsigned int stack;
    bool done[EMULATOR_THREADS];
    // Of clock64.
    long long asked[EMULATOR_THREADS];
    EmulatorKernel kernel;
    const void *arguments;
    unsigned int now, threads;
    // Threads are called from the first to the last in even turns, from the last to the first in odd ones.
    unsigned int turn;
    // Whether one thread after the other ran to its end, as the first met no barrier; and whether any has met one.
    bool alone, met_a_barrier;
};
static thread_local EmulatorBlock *emulator_block = nullptr;

static unsigned int emulator_in_turn(unsigned int i) {
    return emulator_block->turn % 2 ? emulator_block->threads - 1 - i : i;
}

static void emulator_become(unsigned int thread) {
    emulator_block->now = thread;
    threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

static void emulator_thread() {
    EmulatorBlock *block = emulator_block;
    const unsigned int stack = block->stack;
    for (;;) {
        block->kernel(block->arguments);
        block->done[block->now] = true;
        // This was the first, and as it had no barrier, nobody else has one: the others need no stacks of their own.
        if (!block->met_a_barrier) {
            block->alone = true;
            for (unsigned int i = 1; i < block->threads; i++) {
                emulator_become(emulator_in_turn(i));
                block->kernel(block->arguments);
            }
        }
        if (!_setjmp(block->ended[stack])) _longjmp(block->caller, 1);
    }
}

// Runs a thread up to its next barrier, or its end.
static void emulator_resume(unsigned int thread) {
    emulator_become(thread);
    if (!_setjmp(emulator_block->caller)) _longjmp(emulator_block->of[thread], 1);
}

// Starts the thread whose turn it is, on the stack of this number.
static void emulator_start(unsigned int i, unsigned char *stacks) {
    EmulatorBlock *block = emulator_block;
    const unsigned int thread = emulator_in_turn(i);
    block->done[thread] = false;
    emulator_become(thread);
    if (_setjmp(block->caller)) return;
    if (block->begun[i]) _longjmp(block->ended[i], 1);
    block->begun[i] = true;
    block->stack = i;
    getcontext(&block->fresh);
    block->fresh.uc_stack.ss_sp = i ? stacks + EMULATOR_FIRST_STACK + (i - 1) * EMULATOR_STACK : stacks;
    block->fresh.uc_stack.ss_size = i ? EMULATOR_STACK : EMULATOR_FIRST_STACK;
    block->fresh.uc_link = nullptr;
    makecontext(&block->fresh, emulator_thread, 0);
    setcontext(&block->fresh);
}

// Waits until all threads of the block are here.
[[maybe_unused]] static __attribute__((noinline)) void __syncthreads() {
    emulator_block->met_a_barrier = true;
    // The first thread met none, so this is one that not all meet: emulator_run says so.
    if (emulator_block->alone) return;
    if (!_setjmp(emulator_block->of[emulator_block->now])) _longjmp(emulator_block->caller, 1);
}

// Runs the threads of a block; whether they meet at all barriers.
static bool emulator_run(unsigned char *stacks) {
    EmulatorBlock *block = emulator_block;
    // Blocks and barriers take turns in the order of threads.
    block->turn = blockIdx.x + blockIdx.y + blockIdx.z;
    block->alone = block->met_a_barrier = false;
    emulator_start(0, stacks);
    if (block->alone) return !block->met_a_barrier;
    for (unsigned int i = 1; i < block->threads; i++) emulator_start(i, stacks);
    for (;;) {
        unsigned int done = 0;
        for (unsigned int i = 0; i < block->threads; i++) done += block->done[i];
        if (done) return done == block->threads;
        block->turn++;
        for (unsigned int i = 0; i < block->threads; i++) emulator_resume(emulator_in_turn(i));
    }
}

// Runs a kernel: blocks in x, y and z, threads of each, and bytes of shared memory, which hold nothing of use. 0 if all is
// well, 1 if a block wrote behind its shared memory, 2 if its threads do not meet at barriers, 3 if there are too many of
// them; in `block` which one it was.
extern "C" __attribute__((visibility("default"))) int emulator_launch(EmulatorKernel kernel, const void *arguments,
                                                                      const unsigned int *shape, unsigned int shared,
                                                                      unsigned int *block) {
    gridDim = {shape[0], shape[1], shape[2]};
    blockDim = {shape[3], shape[4], shape[5]};
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    // What is mapped is there once it is touched.
    const unsigned long bytes = EMULATOR_FIRST_STACK + EMULATOR_THREADS * EMULATOR_STACK;
    const unsigned long all = bytes + sizeof(EmulatorBlock);
    void *at = MAP_FAILED;
    if (threads <= EMULATOR_THREADS && shared <= EMULATOR_SHARED)
        at = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 3;
    emulator_block = reinterpret_cast<EmulatorBlock *>(static_cast<unsigned char *>(at) + bytes);
    emulator_block->kernel = kernel;
    emulator_block->arguments = arguments;
    emulator_block->threads = threads;
    int wrong = 0;
    for (unsigned int z = 0; z < gridDim.z && !wrong; z++)
        for (unsigned int y = 0; y < gridDim.y && !wrong; y++)
            for (unsigned int x = 0; x < gridDim.x && !wrong; x++) {
                blockIdx = {x, y, z};
                block[0] = x, block[1] = y, block[2] = z;
                __builtin_memset(emulator_shared, 0xff, shared + EMULATOR_ZONE);
                if (!emulator_run(static_cast<unsigned char *>(at))) wrong = 2;
                for (unsigned int i = 0; i < EMULATOR_ZONE && !wrong; i++) wrong = emulator_shared[shared + i] != 0xff;
            }
    munmap(at, all);
    return wrong;
}

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

// Counts how often this thread asked it, so that tests know what it says, whoever has the turn.
static inline long long clock64() { return ++emulator_block->asked[emulator_block->now]; }

// Sine and cosine of an angle in units of pi.
static inline void sincospi(double x, double *sine, double *cosine) {
    const double angle = 3.141592653589793 * x;
    *sine = sin(angle);
    *cosine = cos(angle);
}

static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
