"""Runs machine code of AMD's GPUs, for the stand-in for their driver (driver.cc).

What an instruction does is tinygrad's: test/mockgpu/amd of its repository makes a function for the CPU of AMD's pseudocode
for each. All else is here: code objects, what a wave finds when it starts, and the waves of a block in turn. Registers,
shared memory and scratch hold NaN at first, blocks come in any order and waves change places anywhere, so that what was
not written or lacks a barrier is seen.

    emulator.py TINYGRAD GPU MEMORY BASE

MEMORY is a file that stands for the memory of the GPU, at the address BASE here and in the program that asks. Each line of
standard input asks, one on standard output answers:

    load FILE                                           "kernels HANDLE NAME:BYTES...": bytes of the argument
    unload HANDLE                                       "ok"
    launch HANDLE NAME X Y Z I J K SHARED ARGUMENT      "ok INSTRUCTIONS"; the argument in hexadecimal digits

"error TEXT" answers what fails.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import mmap
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from code_object import CodeObject, Kernel

# The architecture by tinygrad's names, and threads of a wave.
GPUS = {"gfx1100": ("rdna3", 32), "gfx942": ("cdna", 64)}
REGISTERS, SCALARS = 256, 106
MAX_SHARED = 64 << 10
# Where shared memory and scratch stand for instructions that take any address: a kernel receives the upper half of these.
SHARED, PRIVATE = 1 << 45, 1 << 46
# As long as a block may run, and most instructions of a wave before another one has its turn.
MAX_INSTRUCTIONS, TURN = 50_000_000, 400

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def map_memory(base: int, size: int, file: int, flags: int) -> None:
    """Memory at an address."""
    MAP_FIXED_NOREPLACE = 0x100000
    at = libc.mmap(base, size, mmap.PROT_READ | mmap.PROT_WRITE, flags | MAP_FIXED_NOREPLACE, file, 0)
    if at != base:
        raise SystemExit(f"no memory can be mapped at {base:#x}: {os.strerror(ctypes.get_errno())}")


@dataclass
class Instruction:
    function: Callable[..., Any]
    # Which of the places of a wave it takes.
    takes: list[int]
    is_barrier: bool = False


@dataclass
class Loaded:
    code: CodeObject
    # By address.
    program: dict[int, Instruction] = field(default_factory=dict)


@dataclass
class Wave:
    state: Any
    scratch: Any
    # Scalar registers, registers, all memory, shared memory, scratch, accumulation registers.
    places: list[ctypes.c_uint64]


class Emulator:
    def __init__(self, checkout: str, gpu: str) -> None:
        if gpu not in GPUS:
            raise SystemExit(f"{gpu} is not emulated; these are: {', '.join(GPUS)}")
        self.architecture, self.lanes = GPUS[gpu]
        sys.path.insert(0, checkout)
        self.emu: Any = importlib.import_module("test.mockgpu.amd.emu")
        self.Buffer: Any = importlib.import_module("tinygrad.device").Buffer
        self.byte: Any = importlib.import_module("tinygrad.dtype").dtypes.uint8
        self.random = random.Random(1)
        self.objects: dict[int, Loaded] = {}
        self.handles = itertools.count(1)

    def answer(self, line: str) -> str:
        words = line.split()
        if words[0] == "load":
            return self.load(line.split(maxsplit=1)[1].rstrip("\n"))
        if words[0] == "unload":
            del self.objects[int(words[1])]
            return "ok"
        loaded, numbers = self.objects[int(words[1])], [int(word) for word in words[3:10]]
        return self.launch(loaded, words[2], numbers[:3], numbers[3:6], numbers[6], bytes.fromhex(words[10]))

    def load(self, path: str) -> str:
        with open(path, "rb") as file:
            loaded = Loaded(CodeObject(file.read()))
        handle = next(self.handles)
        self.objects[handle] = loaded
        kernels = [f"{kernel.name}:{kernel.argument_bytes()}" for kernel in loaded.code.kernels.values()]
        return " ".join(["kernels", str(handle), *kernels])

    def launch(self, loaded: Loaded, name: str, grid: list[int], block: list[int], shared: int, argument: bytes) -> str:
        kernel = loaded.code.kernels[name]
        says, threads = kernel.metadata, block[0] * block[1] * block[2]
        shared += says[".group_segment_fixed_size"]
        if threads > says[".max_flat_workgroup_size"]:
            raise ValueError(f"{name} has {threads} threads a block, compiled for {says['.max_flat_workgroup_size']}")
        if shared > MAX_SHARED:
            raise ValueError(f"{name} has {shared} bytes of shared memory")
        if says[".wavefront_size"] != self.lanes:
            raise ValueError(f"{name} is for waves of {says['.wavefront_size']}")
        # Rounding to nearest, and denormal numbers stay what they are: so the CPU does that runs tinygrad's functions.
        if kernel.resources[0] >> 12 & 0xFF != 0xF0:
            raise ValueError(f"{name} asks for another mode of rounding")
        arguments = kernel.arguments(grid, block, shared, argument)
        scalars = kernel.scalars(ctypes.addressof(arguments))
        blocks = list(itertools.product(*map(range, grid)))
        self.random.shuffle(blocks)
        done = 0
        for at in blocks:
            ctypes.memset(SHARED, 0xFF, MAX_SHARED)
            waves = [self.wave(kernel, at, block, start, scalars) for start in range(0, threads, self.lanes)]
            done += self.run(loaded, waves)
            if ctypes.string_at(SHARED + shared, MAX_SHARED - shared).strip(b"\xff"):
                raise ValueError(f"block {at} of {name} wrote behind its shared memory")
        return f"ok {done}"

    def wave(self, kernel: Kernel, at: tuple[int, ...], block: list[int], start: int, scalars: list[int]) -> Wave:
        """A wave of a block before its first instruction, from this thread on."""
        private, threads = kernel.metadata[".private_segment_fixed_size"], block[0] * block[1] * block[2]
        state = self.emu._init_wave(
            kernel.entry, start, threads, *block, 0, kernel.resources[1], private, self.architecture, *at, scalars, self.lanes
        )
        scratch = self.Buffer("CPU", private * self.lanes or 1, self.byte).ensure_allocated()
        places = [b._buf.va_addr for b in (state.sgpr_buf, state.vgpr_buf, scratch, state.accvgpr_buf)]
        of_scalars, of_registers, of_scratch, of_accumulation = places
        # The first registers have the numbers of thread and block: these stand behind those of the user.
        first, register = (kernel.resources[1] >> 1 & 0x1F) + 3, 4 * self.lanes
        ctypes.memset(of_scalars + 4 * first, 0xFF, 4 * (SCALARS - first))
        ctypes.memset(of_registers + register, 0xFF, (REGISTERS - 1) * register)
        if of_accumulation != of_registers:
            ctypes.memset(of_accumulation, 0xFF, REGISTERS * register)
        ctypes.memset(of_scratch, 0xFF, private * self.lanes)
        # Addresses in all memory count from 0.
        places = [of_scalars, of_registers, 0, SHARED, of_scratch, of_accumulation]
        return Wave(state, scratch, [ctypes.c_uint64(place) for place in places])

    def run(self, loaded: Loaded, waves: list[Wave]) -> int:
        """Waves in turn up to the barriers, where those meet that have not ended; how many instructions that was."""
        low, high, end = self.emu.PC_LO_IDX, self.emu.PC_HI_IDX, self.emu.ENDPGM_PC
        program, total = loaded.program, 0
        running: list[Wave] = list(waves)
        waiting: list[Wave] = []
        while running or waiting:
            if not running:
                running, waiting = waiting, running
            wave = self.random.choice(running)
            counter, places = wave.state._sgpr_mv, wave.places
            for _ in range(self.random.randint(1, TURN) if len(running) > 1 else 100_000):
                at = counter[low] | counter[high] << 32
                if at == end:
                    running.remove(wave)
                    break
                instruction = program.get(at)
                if instruction is None:
                    instruction = program[at] = self.instruction(at)
                instruction.function(*[places[i] for i in instruction.takes])
                total += 1
                if instruction.is_barrier:
                    running.remove(wave)
                    waiting.append(wave)
                    break
            if total > MAX_INSTRUCTIONS:
                raise ValueError(f"a block does not end within {MAX_INSTRUCTIONS} instructions")
        return total

    def instruction(self, at: int) -> Instruction:
        first, second = ctypes.c_uint32.from_address(at), ctypes.c_uint32.from_address(at + 4)
        # What tinygrad does not know. s_mov_b64 of src_shared_base and of src_private_base:
        for source, place in [(0xEB, SHARED), (0xED, PRIVATE)]:
            if first.value & 0xFF80FFFF == 0xBE800100 | source:
                return self.scalar(4, first.value >> 16 & 0x7F, place)
        # s_getpc_b64, the address behind it:
        if first.value & 0xFF80FFFF == (0xBE804700 if self.architecture == "rdna3" else 0xBE801C00):
            return self.scalar(4, first.value >> 16 & 0x7F, at + 4)
        # buffer_gl0_inv and buffer_gl1_inv of RDNA 3: caches, which are not here.
        if self.architecture == "rdna3" and first.value in (0xE0AC0000, 0xE0B00000):
            return self.scalar(8)
        # FLAT, with addresses of any memory. That of CDNA has the scalar address of GLOBAL to tinygrad, unless that is off.
        is_flat = first.value & (0xFC030000 if self.architecture == "rdna3" else 0xFC00C000) == 0xDC000000
        if is_flat and self.architecture == "cdna":
            second.value |= 0x7F << 16
        (program, runtime), decoded = self.emu._decode_at(at, self.architecture)
        if is_flat:
            return self.flat(runtime.fxn, program.arg.globals, second.value & 0xFF)
        is_barrier = getattr(decoded, "op", None) in self.emu._BARRIER_OPS
        return Instruction(runtime.fxn, program.arg.globals, is_barrier)

    def flat(self, function: Callable[..., Any], takes: list[int], register: int) -> Instruction:
        """An instruction whose addresses, in a pair of registers, may be of scratch, of which each thread has its own."""
        lanes, stride_at = self.lanes, 4 * self.emu.SCRATCH_STRIDE_IDX

        def of_all(*places: ctypes.c_uint64) -> None:
            given = [places[i] for i in takes]
            scalars, registers, scratch = places[0].value, places[1].value, places[4].value
            lows = (ctypes.c_uint32 * lanes).from_address(registers + 4 * lanes * register)
            highs = (ctypes.c_uint32 * lanes).from_address(registers + 4 * lanes * (register + 1))
            private = [i for i, high in enumerate(highs) if high == PRIVATE >> 32]
            if not private:
                function(*given)
                return
            stride = ctypes.c_uint32.from_address(scalars + stride_at).value
            put = {i: scratch + i * stride + lows[i] for i in private}
            before = {i: (lows[i], highs[i]) for i in private}
            for i, address in put.items():
                lows[i], highs[i] = address & 0xFFFFFFFF, address >> 32
            function(*given)
            # But for what has been loaded over it.
            for i, address in put.items():
                if lows[i] == address & 0xFFFFFFFF:
                    lows[i] = before[i][0]
                if highs[i] == address >> 32:
                    highs[i] = before[i][1]

        return Instruction(of_all, list(range(6)))

    def scalar(self, size: int, register: int | None = None, value: int = 0) -> Instruction:
        """An instruction of this number of bytes that sets a pair of scalar registers, or does nothing."""

        def function(scalars: ctypes.c_uint64) -> None:
            counter = ctypes.c_uint64.from_address(scalars.value + 4 * self.emu.PC_LO_IDX)
            counter.value += size
            if register is not None:
                ctypes.memmove(scalars.value + 4 * register, value.to_bytes(8, "little"), 8)

        return Instruction(function, [0])


def main() -> None:
    checkout, gpu, memory, base = sys.argv[1:]
    # Answers go where they are read; what others print goes to the error output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    file = os.open(memory, os.O_RDWR)
    map_memory(int(base, 0), os.fstat(file).st_size, file, mmap.MAP_SHARED)
    # Threads that take no part have any address, where tinygrad reads all the same.
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
