// Names that differ between the compilers of device code: NVRTC for NVIDIA's GPUs, hiprtc or clang for AMD's, and for the
// CPU a C++17 compiler after host.h. Everything else in this folder is the same text for all of them.
//
#define DEVICE __device__ __forceinline__

// Marks a function that is long, and is called in several places or rarely.
#define CALLED __device__ __noinline__

// Marks a loop that is not unrolled, because its iterations are many or long.
#ifndef ROLLED
#define ROLLED _Pragma("unroll 1")
#endif

// How far the lanes of a thread are from each other, where a block has a thread for each lane.
#ifndef LANES_STEP
#define LANES_STEP LANES
#endif

// The only parameter of a kernel, a structure of crates/gpu/src/structures.rs.
#ifndef ARGUMENTS
#define ARGUMENTS(type) const type
#endif

// Declares the dynamic shared memory of a block as an array of a type.
#ifndef SHARED
#define SHARED(type, name)                                                        \
    extern __shared__ __attribute__((aligned(16))) unsigned char shared_bytes_[]; \
    type *name = reinterpret_cast<type *>(shared_bytes_)
#endif

#ifdef __HIP__

// Launch bounds of a kernel: the largest number of threads of a block, and the number of blocks that should fit on a
// multiprocessor. For AMD they become waves on each of the four SIMD units. On CDNA a wave has 64 threads, and there are
// twice the registers of an NVIDIA multiprocessor. On RDNA a wave has 32 threads, and there are three times as many registers;
// half of them are enough. With more, or with fewer than six waves of a single block, the compiler loads so far ahead that
// the registers do not suffice.
#ifdef __GFX9__
#define WAVES(threads, blocks) (((threads) * (blocks) + 255) / 256)
#else
#define WAVES(threads, blocks) ((threads) < 512 && (blocks) == 1 ? 6 : (3 * (threads) * (blocks) + 255) / 256)
#endif
#define MAX_THREADS(max) __attribute__((amdgpu_flat_work_group_size(1, max)))
#define THREADS_AND_BLOCKS(most, blocks) \
    __attribute__((amdgpu_flat_work_group_size(1, most), amdgpu_waves_per_eu(WAVES(most, blocks))))

// Operands of empty assembly: an address, and numbers whose origin is hidden from the compiler.
#define AN_ADDRESS "v"
#define IN_DOUBLE "v"
#define IN_FLOAT "v"

// A product that no compiler fuses with a following sum; quotients and roots as in IEEE 754 whatever the options.
DEVICE double product(double a, double b) {
#pragma clang fp contract(off)
    return a * b;
}
DEVICE float product(float a, float b) {
#pragma clang fp contract(off)
    return a * b;
}
DEVICE double quotient(double a, double b) { return a / b; }
DEVICE float quotient(float a, float b) { return a / b; }
DEVICE double root(double a) { return __builtin_sqrt(a); }
DEVICE float root(float a) { return __builtin_sqrtf(a); }

#else

#define MAX_THREADS(max) __launch_bounds__(max)
#define THREADS_AND_BLOCKS(most, blocks) __launch_bounds__(most, blocks)

#ifdef __CUDA_ARCH__
#define AN_ADDRESS "l"
#define IN_DOUBLE "d"
#define IN_FLOAT "f"
#else
#define AN_ADDRESS "r"
#define IN_DOUBLE "m"
#define IN_FLOAT "m"
#endif

DEVICE double product(double a, double b) { return __dmul_rn(a, b); }
DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
DEVICE double quotient(double a, double b) { return __ddiv_rn(a, b); }
DEVICE float quotient(float a, float b) { return __fdiv_rn(a, b); }
DEVICE double root(double a) { return __dsqrt_rn(a); }
DEVICE float root(float a) { return __fsqrt_rn(a); }

#endif
