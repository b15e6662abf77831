// libamdhip64, libhiprtc and libhipblas for machines without AMD's GPUs: device code is compiled by the machine's C++ compiler behind
// cuda/host.h and runs on the CPU, all threads of a block in turn at barriers.
//
// Work of a stream is done when somebody waits for it. Memory is filled with NaN, and what lies next to it is looked at
// when it goes. Two GPUs with waves of 64; each thread has a current one. `stand_in_fail(n)` lets the call after n others
// fail; `stand_in_out()` counts what was made and not given back.
//
// With STAND_IN_GPU it is machine code of that GPU instead, which an emulator runs (machine_code.h).
//
// Compiled with: COMPILER, the C++ compiler; HOST, the path of host.h.

#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "machine_code.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {
using Status = unsigned;
enum : Status { SUCCESS = 0, INVALID = 1, NO_MEMORY = 2, LAUNCH = 719, NOT_FOUND = 500, HANDLE = 400, INJECTED = 999 };

const int GPUS = 2;
const size_t TOTAL = size_t(4) << 30, ZONE = 256;

struct Stream;
typedef std::function<Status()> Work;

struct Event {
    Stream *stream = nullptr;
    size_t position = 0;
    double at = 0;
};
struct Graph {
    std::vector<Work> works;
};
struct Stream {
    int device;
    std::vector<Work> works;
    size_t done = 0;
    Graph *recorded = nullptr;
};
struct Library {
    // Of the CPU's code, or null.
    void *handle;
    std::shared_ptr<machine_code::Loaded> loaded;
};
struct Function {
    Library *library;
    // Of the CPU's code, or null.
    void (*kernel)(const void *);
    std::string name;
};
struct Memory {
    size_t bytes;
    bool host;
    int device;
};
struct Program {
    std::string source, image, log;
};
struct Blas {
    void *stream = nullptr;
};

// Nobody runs two calls at once here.
std::recursive_mutex mutex;
std::map<uintptr_t, Memory> memories;
std::map<void *, std::unique_ptr<Stream>> streams;
std::map<void *, std::unique_ptr<Event>> events;
std::map<void *, std::unique_ptr<Graph>> graphs;
std::map<void *, std::unique_ptr<Library>> libraries;
std::map<void *, std::unique_ptr<Function>> functions;
std::map<void *, std::unique_ptr<Blas>> products;
std::map<int, Stream> defaults;
long long fails = -1;
bool failed = false, only_blas = false;
thread_local int current = 0;

typedef std::lock_guard<std::recursive_mutex> Lock;

const char *failed_call = "";

Status run_all();

// Whether this call is to fail. A GPU goes on with what it was given meanwhile.
bool injected(const char *call) {
    if (only_blas && strncmp(call, "hipblas", 7)) return false;
    if (fails < 0 || fails-- > 0) return false;
    failed = true;
    failed_call = call;
    run_all();
    return true;
}

// Begins a call.
#define CALL Lock lock(mutex); if (injected(__func__)) return INJECTED

template <class T> T *find(std::map<void *, std::unique_ptr<T>> &all, void *key) {
    auto found = all.find(key);
    return found == all.end() ? nullptr : found->second.get();
}
template <class T> void *add(std::map<void *, std::unique_ptr<T>> &all, std::unique_ptr<T> one) {
    void *key = one.get();
    all[key] = std::move(one);
    return key;
}

Stream *stream_of(void *raw) {
    if (raw) return find(streams, raw);
    defaults[current].device = current;
    return &defaults[current];
}

Status run(Stream *stream, size_t until) {
    while (stream->done < until) {
        Work work = stream->works[stream->done++];
        if (Status status = work()) return status;
    }
    return SUCCESS;
}

// The stream that is recorded takes others into its recording that wait for it; here they share its list.
Status put(void *raw, Work work) {
    Stream *stream = stream_of(raw);
    if (!stream) return HANDLE;
    if (stream->recorded) stream->recorded->works.push_back(std::move(work));
    else stream->works.push_back(std::move(work));
    return SUCCESS;
}

Status run_all() {
    for (auto &[key, stream] : streams)
        if (Status status = run(stream.get(), stream->works.size())) return status;
    for (auto &[key, stream] : defaults)
        if (Status status = run(&stream, stream.works.size())) return status;
    return SUCCESS;
}

// Whether bytes lie within memory of one of these kinds.
bool inside(uintptr_t at, size_t bytes) {
    auto next = memories.upper_bound(at);
    if (next == memories.begin()) return false;
    auto &[start, memory] = *--next;
    return at + bytes <= start + memory.bytes;
}

// What is taken for so many bytes and the zone behind them.
size_t whole(size_t padded) { return (padded + ZONE + 255) / 256 * 256; }

Status take(void **out, size_t bytes, bool host) {
    size_t taken = 0;
    for (auto &[at, memory] : memories) taken += memory.host ? 0 : memory.bytes;
    if (bytes > TOTAL - taken) return NO_MEMORY;
    size_t padded = (bytes + 15) / 16 * 16, all = whole(padded);
    auto *start = static_cast<unsigned char *>(machine_code::gpu() ? machine_code::memory().take(all) : aligned_alloc(256, all));
    if (!start) return NO_MEMORY;
    memset(start, 0xff, padded + ZONE);
    memories[(uintptr_t)start] = {bytes, host, current};
    *out = start;
    return SUCCESS;
}

Status give(void *at) {
    auto found = memories.find((uintptr_t)at);
    if (found == memories.end()) return INVALID;
    Status status = run_all();
    auto *bytes = static_cast<unsigned char *>(at);
    size_t size = found->second.bytes, padded = (size + 15) / 16 * 16;
    for (size_t i = 0; i < ZONE; i++)
        if (bytes[padded + i] != 0xff) {
            fprintf(stderr, "something wrote behind %zu bytes\n", size);
            abort();
        }
    memories.erase(found);
    if (machine_code::gpu()) machine_code::memory().give(at, whole(padded));
    else free(at);
    return status;
}

// The GPU, with what it can be set to.
std::string target() { return machine_code::gpu() ? machine_code::target() : "gfx90a:sramecc+:xnack-"; }

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

std::string folder() {
    static const std::string made = [] {
        char name[] = "/tmp/stand-in-hip-XXXXXX";
        return std::string(mkdtemp(name) ? name : "/tmp");
    }();
    return made;
}

std::string file(const char *suffix) {
    static std::atomic<int> next{0};
    return folder() + "/" + std::to_string(next++) + suffix;
}

bool write_file(const std::string &path, const std::string &text) {
    FILE *out = fopen(path.c_str(), "wb");
    bool good = out && fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out) good = fclose(out) == 0 && good;
    return good;
}

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Declarations of how large the argument of each kernel is: of those whose names a macro makes, that of all.
std::string sizes(const std::string &source) {
    const std::string before = "(ARGUMENTS(", behind = ") a)";
    std::string text;
    for (size_t at = 0; (at = source.find(before, at)) != source.npos; at += before.size()) {
        size_t begin = at, type = at + before.size(), end = type;
        while (begin && (is_word(source[begin - 1]) || source[begin - 1] == '#')) begin--;
        while (end < source.size() && is_word(source[end])) end++;
        if (begin == at || end == type || source.compare(end, behind.size(), behind)) continue;
        std::string name = source.substr(begin, at - begin);
        if (name.find('#') != name.npos) name = "all";
        text += "\nextern \"C\" __attribute__((visibility(\"default\"))) const unsigned argument_of_" + name + " = sizeof(" + source.substr(type, end - type) + ");";
    }
    return text + "\n";
}

std::string read_file(const std::string &path) {
    std::string text;
    if (FILE *in = fopen(path.c_str(), "rb")) {
        char buffer[1 << 16];
        for (size_t n; (n = fread(buffer, 1, sizeof buffer, in));) text.append(buffer, n);
        fclose(in);
    }
    return text;
}
} // namespace

// -------------------------------------------------------------------------------------------------
// For tests.

API void stand_in_fail(long long after) {
    Lock lock(mutex);
    fails = after;
    failed = only_blas = false;
}
// The same of calls of hipBLAS.
API void stand_in_fail_blas(long long after) {
    Lock lock(mutex);
    fails = after;
    failed = false;
    only_blas = true;
}
API int stand_in_has_failed() { return failed; }
API const char *stand_in_failed_call() { return failed_call; }
API size_t stand_in_out() {
    Lock lock(mutex);
    return memories.size() + streams.size() + events.size() + graphs.size() + libraries.size() + products.size();
}

// -------------------------------------------------------------------------------------------------
// libamdhip64

API Status hipInit(unsigned) { CALL; return SUCCESS; }
API Status hipDriverGetVersion(int *version) { CALL; *version = 60'200'000; return SUCCESS; }
API Status hipGetDeviceCount(int *count) { CALL; *count = GPUS; return SUCCESS; }
API Status hipDeviceGet(int *device, int ordinal) {
    CALL;
    if (ordinal < 0 || ordinal >= GPUS) return INVALID;
    *device = ordinal;
    return SUCCESS;
}
API Status hipGetDevice(int *device) { CALL; *device = current; return SUCCESS; }
API Status hipSetDevice(int device) {
    CALL;
    if (device < 0 || device >= GPUS) return INVALID;
    current = device;
    return SUCCESS;
}
API Status hipDeviceGetName(char *name, int room, int) { CALL; snprintf(name, room, "stand-in for MI200"); return SUCCESS; }
API Status hipDeviceGetAttribute(int *value, unsigned attribute, int) {
    CALL;
    // By the numbers of hipDeviceAttribute_t.
    static const std::map<unsigned, int> values = {{5, 1'000'000}, {19, 1 << 20}, {59, 1024},     {60, 1'000'000},
                                                   {63, 4},        {74, 65536},   {87, 64}, {10002, 65536}};
    auto found = values.find(attribute);
    if (found == values.end()) return INVALID;
    bool is_warp = attribute == 87;
    *value = is_warp && machine_code::gpu() && !machine_code::is_cdna() ? 32 : found->second;
    return SUCCESS;
}
API Status hipGetDevicePropertiesR0600(void *properties, int) {
    CALL;
    memset(properties, 0, 1472);
    strcpy(static_cast<char *>(properties) + 1160, target().c_str());
    return SUCCESS;
}
API Status hipDrvGetErrorName(Status status, const char **name) {
    *name = status == INJECTED ? "hipErrorInjected" : status == LAUNCH ? "hipErrorLaunchFailure" : "hipError";
    return SUCCESS;
}
API Status hipDrvGetErrorString(Status status, const char **text) {
    *text = status == INJECTED ? "as the test wants it" : "see the error output";
    return SUCCESS;
}
API Status hipMemGetInfo(size_t *free, size_t *total) {
    CALL;
    size_t taken = 0;
    for (auto &[at, memory] : memories) taken += memory.host ? 0 : memory.bytes;
    *free = TOTAL - taken;
    *total = TOTAL;
    return SUCCESS;
}
API Status hipMalloc(void **out, size_t bytes) { CALL; return take(out, bytes, false); }
API Status hipFree(void *at) { Lock lock(mutex); Status status = give(at); return injected(__func__) ? INJECTED : status; }
API Status hipHostMalloc(void **out, size_t bytes, unsigned) { CALL; return take(out, bytes, true); }
API Status hipHostFree(void *at) { Lock lock(mutex); Status status = give(at); return injected(__func__) ? INJECTED : status; }
API Status hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream) {
    CALL;
    if (!inside((uintptr_t)to, bytes)) return INVALID;
    return put(stream, [=] { memcpy(to, from, bytes); return SUCCESS; });
}
API Status hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
    CALL;
    if (!inside((uintptr_t)from, bytes)) return INVALID;
    return put(stream, [=] { memcpy(to, from, bytes); return SUCCESS; });
}
API Status hipMemsetD8Async(void *at, unsigned char byte, size_t bytes, void *stream) {
    CALL;
    if (!inside((uintptr_t)at, bytes)) return INVALID;
    return put(stream, [=] { memset(at, byte, bytes); return SUCCESS; });
}
API Status hipDrvPointerGetAttributes(unsigned count, const unsigned *which, void **out, void *at) {
    CALL;
    auto next = memories.upper_bound((uintptr_t)at);
    bool there = inside((uintptr_t)at, 1);
    for (unsigned i = 0; i < count; i++) {
        unsigned value = 0;
        if (there) {
            const Memory &memory = std::prev(next)->second;
            if (which[i] == 2) value = memory.host ? 1 : 2;
            if (which[i] == 9) value = memory.device;
        }
        memcpy(out[i], &value, sizeof value);
    }
    return SUCCESS;
}
API Status hipModuleLoadData(void **module, const void *image) {
    CALL;
    // A length stands before the shared object.
    uint64_t bytes;
    memcpy(&bytes, image, sizeof bytes);
    std::string path = file(".so");
    if (!write_file(path, std::string(static_cast<const char *>(image) + sizeof bytes, bytes))) return INVALID;
    if (machine_code::gpu()) {
        auto loaded = std::make_shared<machine_code::Loaded>();
        bool good = loaded->load(path);
        unlink(path.c_str());
        if (!good) return INVALID;
        *module = add(libraries, std::make_unique<Library>(Library{nullptr, loaded}));
        return SUCCESS;
    }
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(path.c_str());
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return INVALID;
    }
    *module = add(libraries, std::make_unique<Library>(Library{handle, nullptr}));
    return SUCCESS;
}
API Status hipModuleUnload(void *module) {
    Lock lock(mutex);
    Library *library = find(libraries, module);
    if (!library) return HANDLE;
    Status status = run_all();
    for (auto i = functions.begin(); i != functions.end();)
        if (i->second->library == library) i = functions.erase(i);
        else ++i;
    if (library->handle) dlclose(library->handle);
    libraries.erase(module);
    return injected(__func__) ? INJECTED : status;
}
API Status hipModuleGetFunction(void **function, void *module, const char *name) {
    CALL;
    Library *library = find(libraries, module);
    if (!library) return HANDLE;
    void *kernel = library->handle ? dlsym(library->handle, name) : nullptr;
    if (!kernel && !(library->loaded && library->loaded->kernels.count(name))) return NOT_FOUND;
    Function made{library, reinterpret_cast<void (*)(const void *)>(kernel), name};
    *function = add(functions, std::make_unique<Function>(made));
    return SUCCESS;
}
API Status hipFuncGetAttribute(int *value, unsigned attribute, void *function) {
    CALL;
    if (!find(functions, function)) return HANDLE;
    *value = attribute == 0 ? 1024 : attribute == 4 ? 64 : 0;
    return SUCCESS;
}
API Status hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    CALL;
    if (!find(functions, function) || threads <= 0) return INVALID;
    int most = 1024 / threads, by_shared = shared ? 65536 / (int)shared : most;
    *blocks = most < by_shared ? most : by_shared;
    return SUCCESS;
}
API Status hipModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned i, unsigned j, unsigned k,
                                 unsigned shared, void *stream, void **arguments, void **) {
    CALL;
    Function *found = find(functions, function);
    if (!found || shared > 65536) return INVALID;
    if (auto loaded = found->library->loaded) {
        auto *start = static_cast<const unsigned char *>(arguments[0]);
        std::vector<unsigned char> argument(start, start + loaded->kernels[found->name]);
        return put(stream, [=, name = found->name]() -> Status {
            const unsigned shape[6] = {x, y, z, i, j, k};
            return loaded->launch(name, shape, shared, argument) ? SUCCESS : LAUNCH;
        });
    }
    auto launch = reinterpret_cast<int (*)(void (*)(const void *), const void *, const unsigned *, unsigned, unsigned *)>(
        dlsym(found->library->handle, "emulator_launch"));
    // As much is read as the kernel takes.
    void *of_kernel = dlsym(found->library->handle, ("argument_of_" + found->name).c_str());
    void *of_all = dlsym(found->library->handle, "argument_of_all");
    auto size = static_cast<const unsigned *>(of_kernel ? of_kernel : of_all);
    if (!launch || !size) return INVALID;
    std::vector<unsigned char> argument(*size);
    memcpy(argument.data(), arguments[0], argument.size());
    auto kernel = found->kernel;
    std::string name = found->name;
    return put(stream, [=]() -> Status {
        const unsigned shape[6] = {x, y, z, i, j, k};
        unsigned block[3] = {0, 0, 0};
        int wrong = launch(kernel, argument.data(), shape, shared, block);
        if (!wrong) return SUCCESS;
        static const char *const texts[] = {"", "wrote behind its shared memory", "has threads that do not meet at barriers",
                                            "is too large"};
        fprintf(stderr, "kernel %s: block %u %u %u %s\n", name.c_str(), block[0], block[1], block[2], texts[wrong]);
        return LAUNCH;
    });
}
API Status hipStreamCreateWithFlags(void **stream, unsigned) {
    CALL;
    auto made = std::make_unique<Stream>();
    made->device = current;
    *stream = add(streams, std::move(made));
    return SUCCESS;
}
API Status hipStreamDestroy(void *raw) {
    Lock lock(mutex);
    Stream *stream = find(streams, raw);
    if (!stream) return HANDLE;
    Status status = run(stream, stream->works.size());
    for (auto &[key, event] : events)
        if (event->stream == stream) event->stream = nullptr;
    streams.erase(raw);
    return injected(__func__) ? INJECTED : status;
}
API Status hipStreamSynchronize(void *raw) {
    CALL;
    Stream *stream = stream_of(raw);
    return stream ? run(stream, stream->works.size()) : HANDLE;
}
API Status hipStreamWaitEvent(void *raw, void *event, unsigned) {
    CALL;
    Event *waited = find(events, event);
    Stream *stream = stream_of(raw);
    if (!waited || !stream) return HANDLE;
    // A stream that waits for one that is recorded is recorded with it.
    if (waited->stream && waited->stream->recorded && !stream->recorded) stream->recorded = waited->stream->recorded;
    if (stream->recorded || !waited->stream) return SUCCESS;
    void *other = waited->stream;
    size_t until = waited->position;
    return put(raw, [=]() -> Status {
        // One that is gone has been done.
        Stream *stream = find(streams, other);
        return stream ? run(stream, until) : SUCCESS;
    });
}
API Status hipStreamBeginCapture(void *raw, unsigned) {
    CALL;
    Stream *stream = stream_of(raw);
    if (!raw || !stream || stream->recorded) return INVALID;
    stream->recorded = static_cast<Graph *>(add(graphs, std::make_unique<Graph>()));
    return SUCCESS;
}
API Status hipStreamEndCapture(void *raw, void **graph) {
    Lock lock(mutex);
    Stream *stream = stream_of(raw);
    if (!stream || !stream->recorded) return INVALID;
    Graph *recorded = stream->recorded;
    for (auto &[key, other] : streams)
        if (other->recorded == recorded) other->recorded = nullptr;
    if (injected(__func__)) {
        graphs.erase(recorded);
        return INJECTED;
    }
    *graph = recorded;
    return SUCCESS;
}
API Status hipGraphInstantiateWithFlags(void **ready, void *graph, unsigned long long) {
    CALL;
    Graph *recorded = find(graphs, graph);
    if (!recorded) return HANDLE;
    *ready = add(graphs, std::make_unique<Graph>(*recorded));
    return SUCCESS;
}
static Status drop_graph(void *graph, const char *call) {
    Lock lock(mutex);
    if (!graphs.erase(graph)) return HANDLE;
    return injected(call) ? INJECTED : SUCCESS;
}
API Status hipGraphDestroy(void *graph) { return drop_graph(graph, __func__); }
API Status hipGraphExecDestroy(void *graph) { return drop_graph(graph, __func__); }
API Status hipGraphLaunch(void *graph, void *stream) {
    CALL;
    Graph *ready = find(graphs, graph);
    if (!ready) return HANDLE;
    std::vector<Work> works = ready->works;
    return put(stream, [works]() -> Status {
        for (const Work &work : works)
            if (Status status = work()) return status;
        return SUCCESS;
    });
}
API Status hipEventCreateWithFlags(void **event, unsigned) {
    CALL;
    *event = add(events, std::make_unique<Event>());
    return SUCCESS;
}
API Status hipEventDestroy(void *event) {
    Lock lock(mutex);
    if (!find(events, event)) return HANDLE;
    events.erase(event);
    return injected(__func__) ? INJECTED : SUCCESS;
}
API Status hipEventRecord(void *event, void *raw) {
    CALL;
    Event *point = find(events, event);
    Stream *stream = stream_of(raw);
    if (!point || !stream) return HANDLE;
    point->stream = stream;
    Status status = put(raw, [event]() -> Status {
        if (Event *point = find(events, event)) point->at = now();
        return SUCCESS;
    });
    point->position = stream->works.size();
    return status;
}
API Status hipEventElapsedTime(float *milliseconds, void *from, void *to) {
    CALL;
    Event *a = find(events, from), *b = find(events, to);
    if (!a || !b || !a->at || !b->at) return HANDLE;
    *milliseconds = (float)(1e3 * (b->at - a->at));
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------
// libhiprtc

API int hiprtcVersion(int *major, int *minor) {
    Lock lock(mutex);
    *major = 6;
    *minor = 2;
    return 0;
}
API const char *hiprtcGetErrorString(int) { return "HIPRTC_ERROR_COMPILATION"; }
API int hiprtcCreateProgram(void **program, const char *source, const char *, int, const char *const *, const char *const *) {
    *program = new Program{source, "", ""};
    return 0;
}
API int hiprtcDestroyProgram(void **program) {
    delete static_cast<Program *>(*program);
    *program = nullptr;
    return 0;
}
API int hiprtcCompileProgram(void *raw, int count, const char *const *options) {
    auto *program = static_cast<Program *>(raw);
    {
        Lock lock(mutex);
        if (injected(__func__)) return 6;
    }
    bool named = false;
    std::string defines;
    for (int i = 0; i < count; i++) {
        std::string option = options[i];
        if (option == "--gpu-architecture=" + target()) named = true;
        else if (option.rfind("-D", 0) == 0) defines += " '" + option + "'";
        else if (option != "--std=c++17" && option != "-w") {
            program->log = "clang: error: unknown argument: '" + option + "'";
            return 6;
        }
    }
    if (!named) {
        program->log = "clang: error: the target is not this GPU";
        return 6;
    }
    const std::string text = file(".cc"), object = text + ".so", log = text + ".log";
    const std::string line = "#line 1 \"mebridge.hip\"\n" + program->source;
    const bool real = machine_code::gpu();
    if (!write_file(text, real ? line : "#include \"" HOST "\"\n" + line + sizes(program->source))) return 6;
    std::string command = COMPILER " -O0 -ffp-contract=off -std=c++17 -fPIC -shared -w" CONTRACT " '" + text + "' -o '" + object +
                          // Functions of C are found in the program that loads it; the linker need not look for them.
                          "' -nostdlib -lgcc";
    if (real) command = machine_code::compiler(text, object);
    command += defines + " 2> '" + log + "'";
    int status = system(command.c_str());
    program->log = read_file(log);
    std::string image = read_file(object);
    for (const std::string &path : {text, object, log}) unlink(path.c_str());
    if (status || image.empty()) return 6;
    uint64_t bytes = image.size();
    program->image = std::string(reinterpret_cast<const char *>(&bytes), sizeof bytes) + image;
    return 0;
}
API int hiprtcGetCodeSize(void *program, size_t *size) {
    *size = static_cast<Program *>(program)->image.size();
    return 0;
}
API int hiprtcGetCode(void *program, char *code) {
    auto &image = static_cast<Program *>(program)->image;
    memcpy(code, image.data(), image.size());
    return 0;
}
API int hiprtcGetProgramLogSize(void *program, size_t *size) {
    *size = static_cast<Program *>(program)->log.size() + 1;
    return 0;
}
API int hiprtcGetProgramLog(void *program, char *log) {
    auto &text = static_cast<Program *>(program)->log;
    memcpy(log, text.c_str(), text.size() + 1);
    return 0;
}

// -------------------------------------------------------------------------------------------------
// libhipblas

namespace {
// hipblasStatus_t and hipblasOperation_t.
enum : Status { BLAS_INVALID = 3, BLAS_INTERNAL = 6 };
const int AS_IS = 111;

// Columns stand one after the other.
template <class T>
Status multiply(void *handle, int of_a, int of_b, int m, int n, int k, const T *alpha, const T *a, int lda, long long stride_a,
                const T *b, int ldb, long long stride_b, const T *beta, T *c, int ldc, long long stride_c, int count) {
    Blas *blas = find(products, handle);
    if (!blas || of_a != AS_IS || of_b != AS_IS || *alpha != 1 || *beta != 0 || lda < m || ldb < k || ldc < m)
        return BLAS_INVALID;
    auto lies = [&](const T *at, int rows, int columns, int leading, long long stride) {
        size_t last = (count - 1) * stride + size_t(columns - 1) * leading + rows;
        return inside((uintptr_t)at, last * sizeof(T));
    };
    if (!lies(a, m, k, lda, stride_a) || !lies(b, k, n, ldb, stride_b) || !lies(c, m, n, ldc, stride_c)) return BLAS_INVALID;
    Stream *stream = stream_of(blas->stream);
    // The library may allocate, which no recording allows.
    if (!stream || stream->recorded) return BLAS_INTERNAL;
    return put(blas->stream, [=] {
        for (int i = 0; i < count; i++)
            for (int column = 0; column < n; column++)
                for (int row = 0; row < m; row++) {
                    T sum = 0;
                    for (int inner = 0; inner < k; inner++)
                        sum += a[i * stride_a + size_t(inner) * lda + row] * b[i * stride_b + size_t(column) * ldb + inner];
                    c[i * stride_c + size_t(column) * ldc + row] = sum;
                }
        return SUCCESS;
    });
}
} // namespace

API Status hipblasCreate(void **handle) {
    CALL;
    *handle = add(products, std::make_unique<Blas>());
    return SUCCESS;
}
API Status hipblasDestroy(void *handle) {
    Lock lock(mutex);
    Status status = SUCCESS;
    if (!products.erase(handle)) status = BLAS_INVALID;
    return injected(__func__) ? INJECTED : status;
}
API Status hipblasSetStream(void *handle, void *stream) {
    CALL;
    Blas *blas = find(products, handle);
    if (!blas || !stream_of(stream)) return BLAS_INVALID;
    blas->stream = stream;
    return SUCCESS;
}
#define PRODUCT(NAME, T)                                                                                                  \
    API Status NAME(void *handle, int of_a, int of_b, int m, int n, int k, const T *alpha, const T *a, int lda,          \
                    long long stride_a, const T *b, int ldb, long long stride_b, const T *beta, T *c, int ldc,           \
                    long long stride_c, int count) {                                                                     \
        CALL;                                                                                                            \
        return multiply(handle, of_a, of_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,  \
                        count);                                                                                          \
    }
PRODUCT(hipblasSgemmStridedBatched, float)
PRODUCT(hipblasDgemmStridedBatched, double)
