"""A launch file's skeleton has the tables of the file, with the same keys, and the reasons for their values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Number
from binalloc.launch.numbers.dtypes import BF16, DTYPES, kind_of
from binalloc.pipeline.skeleton.parameters.values import CodePlace

_FLOATS = {2: "f16", WORD: "f32", 2 * WORD: "f64"}  # by size in bytes
_UNSIGNED = (Number.UNSIGNED, Number.BITS, Number.MASK, Number.HANDLE)  # kinds of numbers with unsigned types


def dtype_of(size: int, number: Number) -> str:
    """Return the element type of launch files for numbers of `size` bytes. Bits of unknown meaning are unsigned."""
    if number == Number.BFLOAT and size == DTYPES[BF16].itemsize:
        return BF16
    if number in (Number.FLOAT, Number.HALF) and size in _FLOATS:
        return _FLOATS[size]
    return f"{'u' if number in _UNSIGNED else 'i'}{8 * size}"


def is_float(dtype: str) -> bool:
    """Return whether an element type is a floating-point type."""
    return kind_of(dtype) == "f"


def any_value(dtype: str) -> bool | int | float:
    """Return a value of a type if nothing is known of it: one."""
    return True if kind_of(dtype) == "b" else 1.0 if is_float(dtype) else 1


@dataclass
class ArgumentEntry:
    """An entry is an `[[argument]]` of the launch file."""

    keys: dict[str, Any]  #: as in the file
    reasons: list[str] = field(default_factory=list)  #: reasons for the values, a sentence each
    parameter: str = ""  #: name of the kernel's parameter that takes it; "" if none does
    off: bool = False  #: whether it is written as a comment
    reads: bool = False  #: whether the code reads the buffer
    writes: bool = False  #: whether the code writes the buffer
    least: int = 1  #: the fewest elements of the buffer per thread
    places: tuple[CodePlace, ...] = ()  #: accesses to the buffer
    front: int = 0  #: accessed bytes in front of the pointer's target
    known: bool = True  #: False if neither the code nor the name says what it is

    @property
    def name(self) -> str:
        """Return the argument's name."""
        return str(self.keys["name"])

    @property
    def is_buffer(self) -> bool:
        """Return whether the argument is a buffer."""
        return bool(self.keys["kind"] == "buffer")


@dataclass
class KernelSkeleton:
    """This record is the skeleton of one launch."""

    kernel: str  #: name of the kernel in the binary
    signature: str  #: the kernel's C++ name, "" if it has none
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int  #: bytes of dynamic shared memory
    entries: list[ArgumentEntry]  #: arguments, then variables
    reasons: dict[str, str]  #: reasons for the values, by key of the launch
    notes: list[str]  #: remarks on the whole launch
    cooperative: bool = False  #: whether its blocks wait for one another, so that all must be resident at once

    def table(self) -> dict[str, Any]:
        """Return the launch file's contents, as a TOML parser would give them."""
        found: dict[str, Any] = {"kernel": self.kernel, "grid": sides(self.grid), "block": sides(self.block)}
        if self.dynamic_shared:
            found["dynamic_shared"] = self.dynamic_shared
        if self.cooperative:
            found["cooperative"] = True
        arguments = [dict(entry.keys) for entry in self.entries if not entry.off]
        return found | ({"argument": arguments} if arguments else {})


def sides(three: tuple[int, int, int]) -> int | list[int]:
    """Return the sides of a grid or block as launch files have them, without the ones at the end."""
    many = 3
    while many > 1 and three[many - 1] == 1:
        many -= 1
    return three[0] if many == 1 else list(three[:many])
