// The stand-in with machine code of AMD's GPUs: device code compiled by clang for the GPU that STAND_IN_GPU names, and run by
// emulator.py, a program of its own, which shares the memory of the GPU.
//
// Compiled with: EMULATOR and BARE_HIP, the paths of emulator.py and of cuda/bare_hip.h. Environment: STAND_IN_GPU,
// STAND_IN_CLANG, a clang that links for AMD's GPUs; MEBRIDGE_AMD_EMULATOR, a checkout of tinygrad.

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

namespace machine_code {

// The GPU by its name, or null where device code is to be code of the CPU.
inline const char *gpu() {
    static const char *const name = getenv("STAND_IN_GPU");
    return name;
}

inline bool is_cdna() { return !strncmp(gpu(), "gfx9", 4); }

// As the driver names it, with what it can be set to.
inline std::string target() { return std::string(gpu()) + (is_cdna() ? ":sramecc+:xnack-" : ""); }

inline std::string quoted(const std::string &text) { return "'" + text + "'"; }

// What compiles a file to a code object.
inline std::string compiler(const std::string &text, const std::string &object) {
    return quoted(getenv("STAND_IN_CLANG")) + " -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc" +
           " -std=c++17 -O3 -w --offload-arch=" + gpu() + " -include " + quoted(BARE_HIP) + " " + quoted(text) + " -o " +
           quoted(object);
}

// The memory of the GPU, at an address that nothing else takes, in both programs.
class Memory {
    std::map<uintptr_t, size_t> holes;

  public:
    static constexpr uintptr_t BASE = uintptr_t(1) << 44;
    int file = -1;

    explicit Memory(size_t bytes) {
        file = memfd_create("memory of the GPU", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, bytes)) return;
        void *at = mmap((void *)BASE, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
        if (at == (void *)BASE) holes[BASE] = bytes;
    }
    // The first hole that is large enough, or null.
    void *take(size_t bytes) {
        for (auto &[at, size] : holes) {
            if (size < bytes) continue;
            uintptr_t taken = at;
            size_t left = size - bytes;
            holes.erase(taken);
            if (left) holes[taken + bytes] = left;
            return (void *)taken;
        }
        return nullptr;
    }
    void give(void *raw, size_t bytes) {
        uintptr_t at = (uintptr_t)raw;
        auto next = holes.upper_bound(at);
        if (next != holes.end() && next->first == at + bytes) {
            bytes += next->second;
            next = holes.erase(next);
        }
        if (next != holes.begin()) {
            auto &[before, size] = *std::prev(next);
            if (before + size == at) {
                size += bytes;
                return;
            }
        }
        holes[at] = bytes;
    }
};

inline Memory &memory() {
    static Memory all(size_t(8) << 30);
    return all;
}

// The emulator, started at the first request. It ends when its standard input is closed.
class Emulator {
    FILE *questions = nullptr, *answers = nullptr;

    Emulator() {
        // Before there are two programs.
        int shared = memory().file, to[2], from[2];
        if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) return;
        pid_t child = fork();
        if (child < 0) return;
        if (!child) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            std::string file = "/proc/self/fd/" + std::to_string(dup(shared));
            std::string base = std::to_string(Memory::BASE);
            const char *tinygrad = getenv("MEBRIDGE_AMD_EMULATOR");
            execlp("python3", "python3", EMULATOR, tinygrad ? tinygrad : "", gpu(), file.c_str(), base.c_str(), nullptr);
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        questions = fdopen(to[1], "w");
        answers = fdopen(from[0], "r");
    }

  public:
    static Emulator &get() {
        static Emulator one;
        return one;
    }
    // An answer without its first word, which has to be this one.
    bool ask(const std::string &question, const char *first, std::string &answer) {
        answer = "the emulator does not run (python3)";
        if (!questions || !answers) return false;
        fprintf(questions, "%s\n", question.c_str());
        fflush(questions);
        char *line = nullptr;
        size_t room = 0;
        ssize_t length = getline(&line, &room, answers);
        if (length > 0) answer.assign(line, length - 1);
        free(line);
        size_t word = strlen(first);
        bool good = !answer.compare(0, word, first);
        if (good) answer.erase(0, word);
        else fprintf(stderr, "emulator: %s\n", answer.c_str());
        return good;
    }
};

// A code object that the emulator has, with the bytes of each kernel's argument.
struct Loaded {
    std::string handle;
    std::map<std::string, size_t> kernels;

    ~Loaded() {
        std::string answer;
        if (!handle.empty()) Emulator::get().ask("unload " + handle, "ok", answer);
    }
    bool load(const std::string &path) {
        std::string answer;
        if (!Emulator::get().ask("load " + path, "kernels", answer)) return false;
        std::istringstream words(answer);
        words >> handle;
        for (std::string word; words >> word;) {
            size_t colon = word.find(':');
            kernels[word.substr(0, colon)] = std::stoul(word.substr(colon + 1));
        }
        return true;
    }
    bool launch(const std::string &kernel, const unsigned *shape, unsigned shared, const std::vector<unsigned char> &argument) {
        std::string question = "launch " + handle + " " + kernel, answer;
        for (int i = 0; i < 6; i++) question += " " + std::to_string(shape[i]);
        question += " " + std::to_string(shared) + " ";
        for (unsigned char byte : argument) {
            char digits[3];
            snprintf(digits, sizeof digits, "%02x", byte);
            question += digits;
        }
        return Emulator::get().ask(question, "ok", answer);
    }
};

} // namespace machine_code
