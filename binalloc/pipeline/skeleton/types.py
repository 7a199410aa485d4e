"""What a launch file's skeleton is: its tables, each key as the file has it, with the reasons for what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Number
from binalloc.launch.dtypes import BF16, DTYPES, kind_of
from binalloc.pipeline.skeleton.parameters.values import CodePlace

_FLOATS = {2: "f16", WORD: "f32", 2 * WORD: "f64"}
_UNSIGNED = (Number.UNSIGNED, Number.BITS, Number.MASK, Number.HANDLE)


def dtype_of(size: int, number: Number) -> str:
    """The element type of launch files for so many bytes; where nothing tells a sign, words have one."""
    if number == Number.BFLOAT and size == DTYPES[BF16].itemsize:
        return BF16
    if number in (Number.FLOAT, Number.HALF) and size in _FLOATS:
        return _FLOATS[size]
    return f"{'u' if number in _UNSIGNED else 'i'}{8 * size}"


def is_float(dtype: str) -> bool:
    return kind_of(dtype) == "f"


def any_value(dtype: str) -> bool | int | float:
    """A number of which nothing is known: one."""
    return True if kind_of(dtype) == "b" else 1.0 if is_float(dtype) else 1


@dataclass
class Entry:
    """An `[[argument]]`. keys: as in the file. reasons: why, a sentence each. parameter: of the kernel, which takes it;
    "" where none does. off: written as a comment. reads, writes: of a buffer. least: elements that a buffer has at
    least, per thread. places: of the accesses to a buffer. front: bytes in
    front of what a pointer is to that are accessed. known: False where nothing in the code or the name tells
    what it is."""

    keys: dict[str, Any]
    reasons: list[str] = field(default_factory=list)
    parameter: str = ""
    off: bool = False
    reads: bool = False
    writes: bool = False
    least: int = 1
    places: tuple[CodePlace, ...] = ()
    front: int = 0
    known: bool = True

    @property
    def name(self) -> str:
        return str(self.keys["name"])

    @property
    def is_buffer(self) -> bool:
        return bool(self.keys["kind"] == "buffer")


@dataclass
class KernelSkeleton:
    """One launch. signature: the kernel's C++ name, "" where it has none. reasons: by key of the launch. notes: what is
    to be known of the whole. cooperative: its blocks wait for one another."""

    kernel: str
    signature: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    entries: list[Entry]
    reasons: dict[str, str]
    notes: list[str]
    cooperative: bool = False

    def table(self) -> dict[str, Any]:
        """The launch file's contents, as a TOML parser would give them."""
        found: dict[str, Any] = {"kernel": self.kernel, "grid": sides(self.grid), "block": sides(self.block)}
        if self.dynamic_shared:
            found["dynamic_shared"] = self.dynamic_shared
        if self.cooperative:
            found["cooperative"] = True
        arguments = [dict(entry.keys) for entry in self.entries if not entry.off]
        return found | ({"argument": arguments} if arguments else {})


def sides(three: tuple[int, int, int]) -> int | list[int]:
    """Of a grid or block, without the ones at the end."""
    many = 3
    while many > 1 and three[many - 1] == 1:
        many -= 1
    return three[0] if many == 1 else list(three[:many])
