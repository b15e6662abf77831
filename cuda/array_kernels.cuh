// Kernels for operations on arrays: one for each kind, and for tiles of products.

// For CDNA the compiler needs a few registers more than half of them.
#ifdef __GFX9__
#define TILE_BLOCKS 1
#else
#define TILE_BLOCKS 2
#endif

/// Threads in y and blocks in x share the items, blocks in y the blocks of events.
#define ARRAY_KERNEL(KIND, BLOCKS) ARRAY_KERNEL_OF(KIND, KIND, BLOCKS)
#define ARRAY_KERNEL_OF(KIND, OPERATION, BLOCKS)                                                   \
    extern "C" __global__ void THREADS_AND_BLOCKS(ARRAY_THREADS, BLOCKS)                            \
    array_##KIND(ARGUMENTS(ArrayArguments) a) {                                                    \
        unsigned blocks = (a.events + LANES - 1) / LANES;                                          \
        for (unsigned block = blockIdx.y; block < blocks; block += gridDim.y)                      \
            for (unsigned i = blockIdx.x * blockDim.y + threadIdx.y; i < a.count;                  \
                 i += gridDim.x * blockDim.y)                                                      \
                for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {              \
                    Memory m = {a.memory + (Size)block * a.vectors * LANES + lane};                \
                    const ArrayItem item = a.items[i];                                             \
                    const unsigned *operation = a.operations + item.operation;                     \
                    do_##KIND(a, *(const OPERATION##Operation *)operation, item.element, m);       \
                }                                                                                  \
    }
ARRAY_KERNEL(LineIn, 3)
ARRAY_KERNEL(LineOut, 3)
ARRAY_KERNEL(ChiralLineIn, 3)
ARRAY_KERNEL(ChiralLineOut, 3)
ARRAY_KERNEL(Current, 3)
ARRAY_KERNEL(Vector, 3)
ARRAY_KERNEL(Sum, 4)
ARRAY_KERNEL(Contract, 3)
ARRAY_KERNEL(ChiralContract, 3)
ARRAY_KERNEL(Tile, TILE_BLOCKS)
ARRAY_KERNEL_OF(ChiralTile, Tile, TILE_BLOCKS)
