// What MadSpace asks of libamdhip64 beside what mebridge does, on the stand-in of crates/testing/src/hip/driver.cc, with
// which it is linked. Kernels of MadSpace are code of AMD's GPUs: launches do nothing here. rocBLAS is empty.
#include <cstddef>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))
extern "C" {
unsigned hipMalloc(void **, size_t);
unsigned hipFree(void *);
unsigned hipStreamCreateWithFlags(void **, unsigned);
unsigned hipEventCreateWithFlags(void **, unsigned);
}

API void **__hipRegisterFatBinary(const void *) { static void *modules[1]; return modules; }
API void __hipUnregisterFatBinary(void **) {}
API void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *) {}
API unsigned __hipPushCallConfiguration(...) { return 0; }
API unsigned __hipPopCallConfiguration(...) { return 0; }
API unsigned hipLaunchKernel(...) { return 0; }
API unsigned hipMallocAsync(void **at, size_t bytes, void *) { return hipMalloc(at, bytes); }
API unsigned hipFreeAsync(void *at, void *) { return hipFree(at); }
API unsigned hipStreamCreate(void **stream) { return hipStreamCreateWithFlags(stream, 0); }
API unsigned hipEventCreate(void **event) { return hipEventCreateWithFlags(event, 0); }
API unsigned hipMemcpy(void *to, const void *from, size_t bytes, int) { memcpy(to, from, bytes); return 0; }
API unsigned hipMemcpyAsync(void *to, const void *from, size_t bytes, int, void *) { memcpy(to, from, bytes); return 0; }
API unsigned hipMemcpyWithStream(void *to, const void *from, size_t bytes, int, void *) { memcpy(to, from, bytes); return 0; }
API unsigned hipMemset(void *at, int byte, size_t bytes) { memset(at, byte, bytes); return 0; }
API unsigned hipMemsetAsync(void *at, int byte, size_t bytes, void *) { memset(at, byte, bytes); return 0; }
API unsigned hipGetLastError() { return 0; }
API unsigned hipPeekAtLastError() { return 0; }
API const char *hipGetErrorName(unsigned) { return "hipErrorStandIn"; }
API const char *hipGetErrorString(unsigned) { return "an error of the stand-in"; }
API unsigned hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, ...) { *blocks = 1; return 0; }
API unsigned hipOccupancyMaxPotentialBlockSize(int *grid, int *block, ...) { *grid = 1; *block = 64; return 0; }

API unsigned rocblas_create_handle(void **handle) { static int one; *handle = &one; return 0; }
API unsigned rocblas_destroy_handle(void *) { return 0; }
API unsigned rocblas_set_stream(void *, void *) { return 0; }
API unsigned rocblas_dgemm(...) { return 0; }
API unsigned rocblas_dgemv(...) { return 0; }
API const char *rocblas_status_to_string(unsigned) { return "a status of the stand-in"; }
