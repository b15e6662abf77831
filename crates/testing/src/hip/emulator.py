"""Runs machine code of AMD's GPUs, for the stand-in for its driver (driver.cc).

What an instruction does is tinygrad's: test/mockgpu/amd of its repository makes code for the CPU of AMD's pseudocode, one
function an instruction. All else is here: code objects, what a wave finds in its registers when it starts, and its waves
in turn. Registers, shared memory and scratch hold NaN at first, and waves change places at any instruction, so that what
was not written or lacks a barrier is seen.

    emulator.py TINYGRAD GPU MEMORY BASE

MEMORY is a file that stands for the memory of the GPU, at the address BASE here and in the program that asks. Lines of
standard input ask, each answered by one on standard output:

    load FILE                                           "kernels HANDLE NAME:BYTES...": bytes of the argument
    unload HANDLE                                       "ok"
    launch HANDLE NAME X Y Z I J K SHARED ARGUMENT      "ok INSTRUCTIONS"; the argument in hexadecimal digits

"error TEXT" answers what fails.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import random
import struct
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator

# The architecture by tinygrad's names, and threads of a wave.
GPUS = {"gfx1100": ("rdna3", 32), "gfx942": ("cdna", 64)}
MOST_SHARED = 64 << 10
# Where shared memory stands for instructions that take any address: the upper half of these is all that is said.
SHARED = 1 << 45
# As long as a block may run.
MOST_INSTRUCTIONS = 50_000_000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def map_memory(base: int, size: int, file: int, flags: int) -> None:
    """Memory at an address."""
    MAP_FIXED_NOREPLACE = 0x100000
    at = libc.mmap(base, size, mmap.PROT_READ | mmap.PROT_WRITE, flags | MAP_FIXED_NOREPLACE, file, 0)
    if at != base:
        raise SystemExit(f"no memory can be mapped at {base:#x}: {os.strerror(ctypes.get_errno())}")


def unpack(data: bytes, at: int = 0) -> tuple[Any, int]:
    """A value of MessagePack, which code objects describe themselves in, and where the next one stands."""
    first = data[at]
    at += 1

    def several(count: int, keys: bool) -> tuple[Any, int]:
        nonlocal at
        values = []
        for _ in range(2 * count if keys else count):
            value, at = unpack(data, at)
            values.append(value)
        return (dict(zip(values[::2], values[1::2])) if keys else values), at

    def number(form: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def text(length: int) -> tuple[str, int]:
        return data[at : at + length].decode(), at + length

    if first < 0x80:
        return first, at
    if first < 0x90:
        return several(first & 0xF, True)
    if first < 0xA0:
        return several(first & 0xF, False)
    if first < 0xC0:
        return text(first & 0x1F)
    if first >= 0xE0:
        return first - 0x100, at
    constants = {0xC0: None, 0xC2: False, 0xC3: True}
    if first in constants:
        return constants[first], at
    forms = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    if first in forms:
        return number(forms[first]), at
    lengths = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
    if first in lengths:
        return text(number(lengths[first]))
    counts = {0xDC: (">H", False), 0xDD: (">I", False), 0xDE: (">H", True), 0xDF: (">I", True)}
    form, keys = counts[first]
    return several(number(form), keys)


@dataclass
class Kernel:
    """A kernel of a code object: what the compiler says of it, and its descriptor (AMDGPU ABI of LLVM)."""

    metadata: dict[str, Any]
    entry: int
    resources: tuple[int, int]
    properties: int

    def argument_bytes(self) -> int:
        arguments = self.metadata.get(".args", [])
        return sum(a[".size"] for a in arguments if not a[".value_kind"].startswith("hidden_"))


class CodeObject:
    """An ELF file of clang in memory, its code ready to run."""

    def __init__(self, file: bytes) -> None:
        headers, size, count = struct.unpack_from("<Q", file, 32)[0], *struct.unpack_from("<HH", file, 54)
        segments = [struct.unpack_from("<IIQQQQQQ", file, headers + i * size) for i in range(count)]
        loads = [s for s in segments if s[0] == 1]
        # Behind the end stands what is fetched with the last instruction.
        self.memory = mmap.mmap(-1, max(s[3] + s[6] for s in loads) + mmap.PAGESIZE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for _, _, offset, address, _, in_file, _, _ in loads:
            self.memory[address : address + in_file] = file[offset : offset + in_file]
        dynamic: dict[int, int] = {}
        for segment in segments:
            if segment[0] == 2:
                entries = struct.iter_unpack("<qQ", file[segment[2] : segment[2] + segment[5]])
                dynamic.update({tag: value for tag, value in entries})
            if segment[0] == 4:
                metadata = self.note(file[segment[2] : segment[2] + segment[5]])
        if {7, 17, 23} & dynamic.keys():
            raise ValueError("a code object with relocations")
        symbols = dict(self.symbols(dynamic))
        self.kernels: dict[str, Kernel] = {}
        for kernel in metadata["amdhsa.kernels"]:
            at = symbols[kernel[".symbol"]]
            (entry,) = struct.unpack_from("<q", self.memory, at + 16)
            words = struct.unpack_from("<II", self.memory, at + 48)
            (properties,) = struct.unpack_from("<H", self.memory, at + 56)
            self.kernels[kernel[".name"]] = Kernel(kernel, self.base + at + entry, words, properties)
        # By the address of an instruction: its function, what it takes of a wave, its size.
        self.program: dict[int, tuple[Callable[..., Any], list[int], bool]] = {}

    @staticmethod
    def note(data: bytes) -> Any:
        name, length, _ = struct.unpack_from("<III", data)
        start = 12 + (name + 3) // 4 * 4
        return unpack(data[start : start + length])[0]

    def symbols(self, dynamic: dict[int, int]) -> Iterator[tuple[str, int]]:
        names, table = dynamic[5], dynamic[6]
        # The hash table has as many chains as there are symbols.
        (count,) = struct.unpack_from("<I", self.memory, dynamic[4] + 4)
        for i in range(count):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.memory, table + 24 * i)
            start = names + name
            yield self.memory[start : self.memory.find(b"\0", start)].decode(), value


class Emulator:
    def __init__(self, checkout: str, gpu: str) -> None:
        if gpu not in GPUS:
            raise SystemExit(f"{gpu} is not emulated; these are: {', '.join(GPUS)}")
        self.architecture, self.wave = GPUS[gpu]
        sys.path.insert(0, checkout)
        import test.mockgpu.amd.emu as emu
        from tinygrad.device import Buffer
        from tinygrad.dtype import dtypes

        self.emu, self.dtypes, self.Buffer = emu, dtypes, Buffer
        self.random = random.Random(1)
        self.objects: dict[int, CodeObject] = {}
        self.handles = itertools.count(1)

    def load(self, path: str) -> str:
        with open(path, "rb") as file:
            loaded = CodeObject(file.read())
        handle = next(self.handles)
        self.objects[handle] = loaded
        kernels = [f"{name}:{kernel.argument_bytes()}" for name, kernel in loaded.kernels.items()]
        return " ".join(["kernels", str(handle), *kernels])

    def bytes(self, count: int) -> Any:
        """Memory that holds nothing of use."""
        buffer = self.Buffer("CPU", max(count, 4), self.dtypes.uint8).ensure_allocated()
        ctypes.memset(buffer._buf.va_addr, 0xFF, max(count, 4))
        return buffer

    def launch(self, handle: int, name: str, shape: list[int], shared: int, argument: bytes) -> str:
        loaded = self.objects[handle]
        kernel = loaded.kernels[name]
        about = kernel.metadata
        grid, block = shape[:3], shape[3:]
        threads = block[0] * block[1] * block[2]
        shared += about[".group_segment_fixed_size"]
        if threads > about[".max_flat_workgroup_size"]:
            raise ValueError(f"{name} has {threads} threads a block, compiled for {about['.max_flat_workgroup_size']}")
        if shared > MOST_SHARED:
            raise ValueError(f"{name} has {shared} bytes of shared memory")
        if about[".wavefront_size"] != self.wave:
            raise ValueError(f"{name} is for waves of {about['.wavefront_size']}")
        # Denormal numbers stay what they are, sums are rounded to nearest; tinygrad's functions do as the CPU is set.
        if kernel.resources[0] >> 12 & 0xFF != 0xF0:
            raise ValueError(f"{name} asks for another mode of rounding")
        arguments = self.arguments(kernel, grid, block, shared, argument)
        scalars = self.scalars(kernel, ctypes.addressof(arguments))
        done = 0
        for z, y, x in itertools.product(range(grid[2]), range(grid[1]), range(grid[0])):
            done += self.block(loaded, kernel, (x, y, z), block, shared, scalars)
        return f"ok {done}"

    def arguments(self, kernel: Kernel, grid: list[int], block: list[int], shared: int, argument: bytes) -> Any:
        """The argument, and behind it what the compiler lets the driver say."""
        about = kernel.metadata
        made = ctypes.create_string_buffer(max(about[".kernarg_segment_size"], len(argument)) + 256)
        made[: len(argument)] = argument
        for one in about.get(".args", []):
            kind, size = one[".value_kind"], one[".size"]
            if not kind.startswith("hidden_"):
                continue
            axis = "xyz".find(kind[-1])
            value = 0
            if kind.startswith("hidden_block_count"):
                value = grid[axis]
            elif kind.startswith("hidden_group_size"):
                value = block[axis]
            elif kind == "hidden_grid_dims":
                value = 3
            elif kind == "hidden_dynamic_lds_size":
                value = shared
            elif not kind.startswith(("hidden_remainder", "hidden_global_offset", "hidden_none")):
                raise ValueError(f"nobody says what {kind} is")
            made[one[".offset"] : one[".offset"] + size] = value.to_bytes(size, "little")
        return made

    def scalars(self, kernel: Kernel, arguments: int) -> list[int]:
        """What a wave finds in its first scalar registers."""
        # By bits of the descriptor: what it is, and how many registers it takes.
        known = [(0, "private segment buffer", 4), (1, "dispatch packet", 2), (2, "queue", 2), (3, "arguments", 2)]
        known += [(4, "dispatch id", 2), (5, "flat scratch", 2), (6, "private segment size", 1)]
        registers: list[int] = []
        for bit, what, count in known:
            if not kernel.properties >> bit & 1:
                continue
            if what != "arguments":
                raise ValueError(f"nobody says where the {what} is")
            registers += [arguments & 0xFFFFFFFF, arguments >> 32]
        return registers

    def block(self, loaded: CodeObject, kernel: Kernel, at: tuple[int, int, int], block: list[int], shared: int,
              scalars: list[int]) -> int:  # fmt: skip
        emu, threads = self.emu, block[0] * block[1] * block[2]
        private = kernel.metadata[".private_segment_fixed_size"]
        ctypes.memset(SHARED, 0xFF, MOST_SHARED)
        waves = []
        for start in range(0, threads, self.wave):
            state = emu._init_wave(kernel.entry, start, threads, *block, 0, kernel.resources[1], private,
                                   self.architecture, *at, scalars, self.wave)  # fmt: skip
            # The first register has the number of the thread.
            register = 4 * self.wave
            ctypes.memset(state.vgpr_buf._buf.va_addr + register, 0xFF, 255 * register)
            if self.wave == 64:
                ctypes.memset(state.accvgpr_buf._buf.va_addr, 0xFF, 256 * register)
            scratch = self.bytes(private * self.wave)
            buffers = [b._buf.va_addr for b in (state.sgpr_buf, state.vgpr_buf, scratch, state.accvgpr_buf)]
            # All memory begins at 0.
            places = [*buffers[:2], 0, SHARED, *buffers[2:]]
            waves.append((state, scratch, [ctypes.c_uint64(place) for place in places]))
        done = self.run(loaded, waves)
        if ctypes.string_at(SHARED + shared, MOST_SHARED - shared).strip(b"\xff"):
            raise ValueError("a block wrote behind its shared memory")
        return done

    def run(self, loaded: CodeObject, waves: list[tuple[Any, Any, list[Any]]]) -> int:
        """Waves in turn, each for as long as chance has it, up to the barriers where all meet."""
        program, end = loaded.program, self.emu.ENDPGM_PC
        running, waiting, total = list(range(len(waves))), [], 0
        while running or waiting:
            if not running:
                running, waiting = waiting, []
            one = self.random.choice(running)
            state, _, buffers = waves[one]
            counter = state._sgpr_mv
            low, high = self.emu.PC_LO_IDX, self.emu.PC_HI_IDX
            turns = 1 << 30 if len(running) == 1 else self.random.randint(1, 400)
            while turns:
                turns -= 1
                pc = counter[low] | counter[high] << 32
                if pc == end:
                    running.remove(one)
                    # Those that wait for it wait no longer: AMD's barriers count the waves that are there.
                    break
                found = program.get(pc)
                if found is None:
                    found = program[pc] = self.compiled(pc)
                function, takes, barrier = found
                function(*[buffers[i] for i in takes])
                total += 1
                if barrier:
                    running.remove(one)
                    waiting.append(one)
                    break
            if total > MOST_INSTRUCTIONS:
                raise ValueError("a block does not end")
        return total

    def compiled(self, pc: int) -> tuple[Callable[..., Any], list[int], bool]:
        first, second = ctypes.c_uint32.from_address(pc), ctypes.c_uint32.from_address(pc + 4)
        # What tinygrad does not know. s_mov_b64 of src_shared_base, and of src_private_base:
        if first.value & 0xFF80FFFF == 0xBE8001EB:
            return self.scalar(4, first.value >> 16 & 0x7F, SHARED), [0], False
        if first.value & 0xFF80FFFF == 0xBE8001ED:
            raise ValueError("any address may be one of scratch here, which is not emulated")
        # buffer_gl0_inv and buffer_gl1_inv of RDNA 3: caches, which are not here.
        if self.wave == 32 and first.value in (0xE0AC0000, 0xE0B00000):
            return self.scalar(8), [0], False
        # FLAT of CDNA: to tinygrad it has the scalar address of GLOBAL, unless that is said to be off.
        if self.wave == 64 and first.value & 0xFC00C000 == 0xDC000000:
            second.value |= 0x7F << 16
        (program, runtime), instruction = self.emu._decode_at(pc, self.architecture)
        barrier = getattr(instruction, "op", None) in self.emu._BARRIER_OPS
        return runtime.fxn, program.arg.globals, barrier

    def scalar(self, size: int, register: int | None = None, value: int = 0) -> Callable[..., Any]:
        """An instruction of so many bytes that sets two scalar registers, or does nothing."""

        def function(scalars: Any) -> None:
            at = ctypes.c_uint64.from_address(scalars.value + 4 * self.emu.PC_LO_IDX)
            at.value += size
            if register is not None:
                ctypes.memmove(scalars.value + 4 * register, value.to_bytes(8, "little"), 8)

        return function

    def answer(self, line: str) -> str:
        words = line.split()
        if words[0] == "load":
            return self.load(line.split(maxsplit=1)[1].rstrip("\n"))
        if words[0] == "unload":
            del self.objects[int(words[1])]
            return "ok"
        numbers = [int(word) for word in words[3:10]]
        return self.launch(int(words[1]), words[2], numbers[:6], numbers[6], bytes.fromhex(words[10]))


def main() -> None:
    checkout, gpu, memory, base = sys.argv[1:]
    # Answers go where they are read; what others print goes to the error output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    file = os.open(memory, os.O_RDWR)
    map_memory(int(base, 0), os.fstat(file).st_size, file, mmap.MAP_SHARED)
    # Threads that take no part have any address, which is read all the same.
    MAP_NORESERVE = 0x4000
    map_memory(SHARED, 1 << 33, -1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    emulator = Emulator(checkout, gpu)
    for line in sys.stdin:
        try:
            said = emulator.answer(line)
        except Exception as error:  # Whatever it is, the program that asks says it.
            said = "error " + " ".join(f"{type(error).__name__}: {error}".split())
        print(said, file=answers, flush=True)


main()
