"""Code objects of AMD's GPUs: the ELF files that clang makes, by the AMDGPU ABI that LLVM documents."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


def unpack(data: bytes, at: int = 0) -> tuple[Any, int]:
    """A value of MessagePack, in which code objects say what their kernels take, and where the next one stands."""
    first = data[at]
    at += 1

    def number(form: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def text(length: int) -> tuple[str, int]:
        return data[at : at + length].decode(), at + length

    def several(count: int, pairs: bool) -> tuple[Any, int]:
        nonlocal at
        values = []
        for _ in range(2 * count if pairs else count):
            value, at = unpack(data, at)
            values.append(value)
        return (dict(zip(values[::2], values[1::2])) if pairs else values), at

    if first < 0x80:
        return first, at
    if first < 0xA0:
        return several(first & 0xF, first < 0x90)
    if first < 0xC0:
        return text(first & 0x1F)
    if first >= 0xE0:
        return first - 0x100, at
    constants = {0xC0: None, 0xC2: False, 0xC3: True}
    if first in constants:
        return constants[first], at
    numbers = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    if first in numbers:
        return number(numbers[first]), at
    texts = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
    if first in texts:
        return text(number(texts[first]))
    form, pairs = {0xDC: (">H", False), 0xDD: (">I", False), 0xDE: (">H", True), 0xDF: (">I", True)}[first]
    return several(number(form), pairs)


@dataclass
class Kernel:
    """What the compiler says of a kernel, and its descriptor."""

    name: str
    metadata: dict[str, Any]
    entry: int
    resources: tuple[int, int]
    properties: int

    def argument_bytes(self) -> int:
        arguments = self.metadata.get(".args", [])
        return sum(a[".size"] for a in arguments if not a[".value_kind"].startswith("hidden_"))

    def arguments(self, grid: list[int], block: list[int], shared: int, argument: bytes) -> Any:
        """The argument in memory, and behind it what the compiler lets the driver say."""
        made = bytearray(max(self.metadata[".kernarg_segment_size"], len(argument)) + 256)
        made[: len(argument)] = argument
        for one in self.metadata.get(".args", []):
            kind, size = one[".value_kind"], one[".size"]
            axis = "xyz".find(kind[-1])
            value = 0
            if kind == "by_value":
                continue
            elif kind.startswith("hidden_block_count_"):
                value = grid[axis]
            elif kind.startswith("hidden_group_size_"):
                value = block[axis]
            elif kind == "hidden_grid_dims":
                value = 3
            elif kind == "hidden_dynamic_lds_size":
                value = shared
            elif not kind.startswith(("hidden_remainder_", "hidden_global_offset_", "hidden_none")):
                raise ValueError(f"{self.name} takes {kind}, which is not known here")
            made[one[".offset"] : one[".offset"] + size] = value.to_bytes(size, "little")
        return (ctypes.c_char * len(made)).from_buffer(made)

    def scalars(self, arguments: int) -> list[int]:
        """What a wave finds in its first scalar registers, in the order of the bits that ask for it."""
        kinds = ["private segment buffer", "dispatch packet", "queue", "arguments", "dispatch id", "flat scratch"]
        kinds.append("private segment size")
        asked = [kind for bit, kind in enumerate(kinds) if self.properties >> bit & 1]
        if set(asked) - {"arguments"}:
            raise ValueError(f"{self.name} asks for registers that are not known here: {', '.join(asked)}")
        return [arguments & 0xFFFFFFFF, arguments >> 32] if asked else []


class CodeObject:
    """A code object in memory, ready to run."""

    def __init__(self, file: bytes) -> None:
        (headers,) = struct.unpack_from("<Q", file, 32)
        size, count = struct.unpack_from("<HH", file, 54)
        # Type, flags, place in the file, address, -, bytes in the file, bytes in memory, alignment.
        segments = [struct.unpack_from("<IIQQQQQQ", file, headers + i * size) for i in range(count)]

        def of(kind: int) -> Iterator[tuple[int, bytes, int]]:
            for found, _, start, address, _, in_file, in_memory, _ in segments:
                if found == kind:
                    yield address, file[start : start + in_file], address + in_memory

        LOAD, DYNAMIC, NOTE = 1, 2, 4
        # Behind the last instruction stands what is read with it.
        self.memory = mmap.mmap(-1, max(end for _, _, end in of(LOAD)) + mmap.PAGESIZE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for address, data, _ in of(LOAD):
            self.memory[address : address + len(data)] = data
        self.dynamic = {tag: value for _, data, _ in of(DYNAMIC) for tag, value in struct.iter_unpack("<qQ", data)}
        RELA, REL, PLT = 7, 17, 23
        if {RELA, REL, PLT} & self.dynamic.keys():
            raise ValueError("a code object with relocations, which are not done here")
        ((_, note, _),) = of(NOTE)
        name, length, _ = struct.unpack_from("<III", note)
        start = 12 + (name + 3) // 4 * 4
        metadata, _ = unpack(note[start : start + length])
        symbols = dict(self.symbols())
        kernels = [self.kernel(one, symbols[one[".symbol"]]) for one in metadata["amdhsa.kernels"]]
        self.kernels = {kernel.name: kernel for kernel in kernels}

    def kernel(self, metadata: dict[str, Any], descriptor: int) -> Kernel:
        (entry,) = struct.unpack_from("<q", self.memory, descriptor + 16)
        first, second, properties = struct.unpack_from("<IIH", self.memory, descriptor + 48)
        return Kernel(metadata[".name"], metadata, self.base + descriptor + entry, (first, second), properties)

    def symbols(self) -> Iterator[tuple[str, int]]:
        HASH, STRTAB, SYMTAB = 4, 5, 6
        # The hash table has as many chains as there are symbols.
        (count,) = struct.unpack_from("<I", self.memory, self.dynamic[HASH] + 4)
        for i in range(count):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.memory, self.dynamic[SYMTAB] + 24 * i)
            start = self.dynamic[STRTAB] + name
            yield self.memory[start : self.memory.find(b"\0", start)].decode(), value
