// What HIP's headers have for device code, for a clang without them: so AMD's compiler reads the device code on any
// machine (crates/gpu/src/engine/amd_tests.rs). hiprtc has all of it.

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))

// Places that are read as members of threadIdx and its like.
template <class Index> struct Indices {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ unsigned get_x() const { return Index::of(0); }
    __device__ unsigned get_y() const { return Index::of(1); }
    __device__ unsigned get_z() const { return Index::of(2); }
};
struct Thread {
    static __device__ unsigned of(int i) {
        return i == 0 ? __builtin_amdgcn_workitem_id_x()
                      : i == 1 ? __builtin_amdgcn_workitem_id_y() : __builtin_amdgcn_workitem_id_z();
    }
};
struct Block {
    static __device__ unsigned of(int i) {
        return i == 0 ? __builtin_amdgcn_workgroup_id_x()
                      : i == 1 ? __builtin_amdgcn_workgroup_id_y() : __builtin_amdgcn_workgroup_id_z();
    }
};
struct Threads {
    static __device__ unsigned of(int i) {
        return i == 0 ? __builtin_amdgcn_workgroup_size_x()
                      : i == 1 ? __builtin_amdgcn_workgroup_size_y() : __builtin_amdgcn_workgroup_size_z();
    }
};
struct Blocks {
    static __device__ unsigned of(int i) {
        return i == 0 ? __builtin_amdgcn_grid_size_x() / Threads::of(0)
                      : i == 1 ? __builtin_amdgcn_grid_size_y() / Threads::of(1)
                               : __builtin_amdgcn_grid_size_z() / Threads::of(2);
    }
};
static __device__ const Indices<Thread> threadIdx;
static __device__ const Indices<Block> blockIdx;
static __device__ const Indices<Threads> blockDim;
static __device__ const Indices<Blocks> gridDim;

static __device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <typename T> static __device__ inline T __ldg(const T *from) { return *from; }

static __device__ inline unsigned atomicMin(unsigned *to, unsigned value) {
    return __hip_atomic_fetch_min(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static __device__ inline unsigned atomicAdd(unsigned *to, unsigned value) {
    return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static __device__ inline unsigned long long atomicAdd(unsigned long long *to, unsigned long long value) {
    return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

static __device__ inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static __device__ inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static __device__ inline double fabs(double a) { return __builtin_fabs(a); }
static __device__ inline float fabsf(float a) { return __builtin_fabsf(a); }
static __device__ inline double copysign(double a, double sign) { return __builtin_copysign(a, sign); }
static __device__ inline float copysignf(float a, float sign) { return __builtin_copysignf(a, sign); }

// Of AMD's library of device functions, which comes with ROCm.
#define ELEMENTARY(NAME)                                                     \
    extern "C" __device__ __attribute__((const)) double __ocml_##NAME##_f64(double); \
    static __device__ inline double NAME(double a) { return __ocml_##NAME##_f64(a); }
#define ELEMENTARY_OF_TWO(NAME)                                              \
    extern "C" __device__ __attribute__((const)) double __ocml_##NAME##_f64(double, double); \
    static __device__ inline double NAME(double a, double b) { return __ocml_##NAME##_f64(a, b); }
ELEMENTARY(acos) ELEMENTARY(asin) ELEMENTARY(atan) ELEMENTARY(cos) ELEMENTARY(cosh) ELEMENTARY(exp) ELEMENTARY(log)
ELEMENTARY(sin) ELEMENTARY(sinh) ELEMENTARY(tan) ELEMENTARY(tanh)
ELEMENTARY_OF_TWO(atan2) ELEMENTARY_OF_TWO(hypot) ELEMENTARY_OF_TWO(pow)
extern "C" __device__ double __ocml_sincospi_f64(double, __attribute__((address_space(5))) double *);
static __device__ inline void sincospi(double x, double *sine, double *cosine) {
    double other;
    *sine = __ocml_sincospi_f64(x, (__attribute__((address_space(5))) double *)&other);
    *cosine = other;
}
