"""What a launch is: immutable records of grid, block, arguments, reference and comparison, and their buffers.

Needs nothing but NumPy. Leaves true: a `Launch` has passed every check of `schema`, so whoever holds one may use
its numbers without asking again; `make_buffers` gives the same bytes for the same launch on every host.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.contents.init import Distribution as Distribution
from binalloc.launch.contents.init import Init as Init
from binalloc.launch.contents.init import InitKind as InitKind
from binalloc.launch.contents.init import Setting, contents
from binalloc.launch.dtypes import DTYPES as DTYPES
from binalloc.launch.dtypes import POINTER_BYTES as POINTER_BYTES
from binalloc.launch.dtypes import Array as Array
from binalloc.launch.dtypes import Number, copied, rounded, shown
from binalloc.launch.elements.cells import Field as Field
from binalloc.launch.elements.cells import by_name, put
from binalloc.launch.elements.layout import Element, Struct, numpy_of, size_of
from binalloc.launch.placing import Target, place_buffers
from binalloc.launch.sampling import AddressMode as AddressMode
from binalloc.launch.sampling import TextureFilter as TextureFilter
from binalloc.launch.sampling import TextureLayers as TextureLayers
from binalloc.launch.sampling import TextureRead as TextureRead

HEAP_BYTES = 8 << 20  # CUDA's defaults
PRINTF_BYTES = 1 << 20
HANDLE_BYTES = (8, 4)  # a texture's or surface's parameter is as long as the kernel declares it
MOST_LEVELS = 28  # of a mipmap: of the longest side that there is
_UNNAMED = re.compile(r".+_param_\d+")


class ArgumentKind(StrEnum):
    """What an argument is; see `Argument`. A pointer is read as a struct of one field."""

    BUFFER = "buffer"
    SYMBOL = "symbol"
    TEXTURE = "texture"
    SURFACE = "surface"
    SCALAR = "scalar"
    STRUCT = "struct"
    POINTER = "pointer"


HELD = (ArgumentKind.BUFFER, ArgumentKind.SYMBOL, ArgumentKind.TEXTURE, ArgumentKind.SURFACE)
"""Kinds of arguments that have contents."""


class CompareMode(StrEnum):
    """When contents count as the same; see `Compare`."""

    EXACT = "exact"
    TOLERANCE = "tolerance"
    UNORDERED = "unordered"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Compare:
    """When two contents of a buffer count as the same. mode: exact (bit by bit), tolerance (|a-b| <= atol + rtol*|b|,
    b the expected value, NaN equals NaN), unordered (same multiset of bit patterns), ignore."""

    mode: CompareMode = CompareMode.EXACT
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Texture:
    """How a texture is read. sides: texels per axis, outermost first (depth, height, width). channels: 1, 2 or 4.

    filter: point or linear. address: per axis in the order x, y, z: clamp, border, wrap or mirror. normalized: float
    coordinates run from 0 to 1. read: element, or normalized_float. layers: none, or what the first side
    counts. levels: of a mipmap, 1 for none; blend: how a fetch goes between them; bias, clamp: of the level of detail.
    given: contents of the levels above the first; those left are made from the ones below. array: the argument whose
    contents it reads, "" for its own. A surface has sides, channels and layers.
    """

    sides: tuple[int, ...]
    channels: int = 1
    filter: TextureFilter = TextureFilter.POINT
    address: tuple[AddressMode, ...] = (AddressMode.CLAMP,)
    normalized: bool = False
    read: TextureRead = TextureRead.ELEMENT
    layers: TextureLayers = TextureLayers.NONE
    levels: int = 1
    blend: TextureFilter = TextureFilter.POINT
    bias: float = 0.0
    clamp: tuple[float, float] = (0.0, MOST_LEVELS)
    given: tuple[Init, ...] = ()
    array: str = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument. kind: buffer (8-byte pointer), scalar, texture or surface (handle of 8 or 4 bytes; `texture`
    says what it is like), struct (by value, `size` bytes of `fields`), symbol (no argument, but the contents of a
    global or constant variable of the binary). shape: () for scalars and structs. struct: what its elements are where
    they are no `dtype`, or what a struct by value is where it has a type. parameter: whether a buffer takes one; None:
    unless others have pointers to it."""

    name: str
    kind: ArgumentKind
    dtype: str
    shape: tuple[int, ...] = ()
    value: Number = 0
    init: Init = field(default_factory=Init)
    compare: Compare = field(default_factory=Compare)
    texture: Texture | None = None
    fields: tuple[Field, ...] = ()
    size: int = 0
    struct: Struct | None = None
    parameter: bool | None = None

    @property
    def element(self) -> Element:
        """What it has many of."""
        return self.struct or self.dtype

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return numpy_of(self.element)

    @property
    def bytes(self) -> int:
        """Bytes of the contents: the whole buffer, texture or struct, or the scalar."""
        return self.size or math.prod(self.shape) * size_of(self.element)

    @property
    def parameter_bytes(self) -> int:
        """Bytes the argument takes among the kernel's parameters."""
        if self.kind == ArgumentKind.BUFFER:
            return POINTER_BYTES
        return HANDLE_BYTES[0] if self.texture is not None else self.bytes

    @property
    def has_contents(self) -> bool:
        """Whether there is memory of its own: a texture may read another argument's."""
        return self.kind in HELD and (self.texture is None or not self.texture.array)

    def fits(self, size: int) -> bool:
        """Whether a parameter of `size` bytes can take the argument."""
        return size in HANDLE_BYTES if self.texture is not None else size == self.parameter_bytes

    def pointed(self) -> set[str]:
        """The arguments whose addresses or handles it has."""
        return {f.argument for f in self.fields if f.argument} | set(self.init.pointed())


@dataclass(frozen=True, slots=True)
class Reference:
    """A Python function `function(inputs, launch) -> outputs` in `file` that says what the kernel should compute."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One checked launch. grid, block: blocks and threads in x, y, z. dynamic_shared in bytes. size: name of the chosen
    `[sizes.<name>]`, "" for the file's own numbers. path: the launch file ("" when parsed from a dict). heap,
    printf_buffer: bytes for what kernels allocate and print. cooperative: all blocks are resident at once, and may wait
    for one another."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int = 0
    arguments: tuple[Argument, ...] = ()
    reference: Reference | None = None
    size: str = ""
    path: str = ""
    heap: int = HEAP_BYTES
    printf_buffer: int = PRINTF_BYTES
    cooperative: bool = False

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    @property
    def buffers(self) -> tuple[Argument, ...]:
        """What a run leaves: the buffers, surfaces, and the variables that the launch names."""
        return tuple(a for a in self.arguments if a.kind in HELD and a.kind != ArgumentKind.TEXTURE)

    @property
    def handled(self) -> tuple[Argument, ...]:
        """The textures, then the surfaces: their numbers in this order, from 1 on, are their handles."""
        kinds = (ArgumentKind.TEXTURE, ArgumentKind.SURFACE)
        return tuple(a for kind in kinds for a in self.arguments if a.kind == kind)

    @property
    def textures(self) -> tuple[Argument, ...]:
        """The textures that have contents of their own."""
        return tuple(a for a in self.arguments if a.kind == ArgumentKind.TEXTURE and a.has_contents)

    @property
    def passed(self) -> tuple[Argument, ...]:
        """The arguments that take a parameter or are reached through one."""
        return tuple(a for a in self.arguments if a.kind != ArgumentKind.SYMBOL)

    @property
    def scalars(self) -> dict[str, bytes]:
        """Little-endian bytes of each scalar argument, as they stand in the parameter bank."""
        scalars = [a for a in self.arguments if a.kind == ArgumentKind.SCALAR]
        return {a.name: rounded(a.value, a.dtype).tobytes() for a in scalars}

    @property
    def values(self) -> dict[str, Any]:
        """The scalar arguments as Python numbers (an f32 already rounded to f32), structs of a type as NumPy's records,
        other structs as dicts of their named numbers."""
        out: dict[str, Any] = {}
        for a in self.arguments:
            if a.kind == ArgumentKind.SCALAR:
                out[a.name] = shown(rounded(a.value, a.dtype), a.dtype).item()
            elif a.kind == ArgumentKind.STRUCT and a.struct is not None:
                data = parameter_bytes(a, a.size, self.addresses)
                out[a.name] = copied(np.frombuffer(data, a.numpy_dtype))[0]
            elif a.kind == ArgumentKind.STRUCT:
                out[a.name] = by_name(a.fields)
        return out

    @property
    def addresses(self) -> dict[str, int]:
        """Where the buffers lie on the device, and handles of textures and surfaces, by argument."""
        placed = {a.name: a.bytes for a in self.buffers if a.kind != ArgumentKind.SYMBOL}
        return place_buffers(placed)[0] | {a.name: i for i, a in enumerate(self.handled, 1)}

    def address(self, name: str, at: int = 0, element: int = 0) -> int:
        """The address of a byte of a buffer, so many elements behind its first. KeyError where there is no such."""
        a = self.argument(name)
        if a.kind != ArgumentKind.BUFFER:
            raise KeyError(name)
        return self.addresses[name] + at + element * size_of(a.element)

    def pointee(self, address: int) -> tuple[str, int] | None:
        """The buffer that an address is of, and the byte in it; the one behind its last counts. None for others."""
        addresses = self.addresses
        for a in self.arguments:
            if a.kind == ArgumentKind.BUFFER and 0 <= address - addresses[a.name] <= a.bytes:
                return a.name, address - addresses[a.name]
        return None

    def bind(self, names: Sequence[str]) -> dict[str, Argument]:
        """The argument of each parameter in `names`; parameters left over are left out, see `unbound` for arguments.

        An argument goes to the parameter of its name. The rest go in file order to the parameters that have no name of
        their own, `<kernel>_param_<n>` as compilers of PTX write them. Buffers and textures that others point to are
        reached through these and are no parameters, unless one has their name or they say so.
        """
        known = set(names)
        out = {a.name: a for a in self.passed if a.name in known}
        taking = self._taking()
        rest = [a for a in self.passed if a.name not in known and a.name in taking]
        unnamed = [n for n in names if n not in out and _UNNAMED.fullmatch(n)]
        return out | dict(zip(unnamed, rest, strict=False))

    def unbound(self, names: Sequence[str]) -> list[Argument]:
        """Arguments that no parameter in `names` takes and nothing else points to."""
        bound = {a.name for a in self.bind(names).values()}
        taking = self._taking()
        return [a for a in self.passed if a.name not in bound and a.name in taking]

    def _taking(self) -> set[str]:
        """Arguments that want a parameter: those that say so, and those that nothing but themselves points to."""
        reached = {name for a in self.arguments for name in a.pointed() if name != a.name}
        return {a.name for a in self.passed if (a.name not in reached if a.parameter is None else a.parameter)}

    def left_out(self) -> str | None:
        """What to do about a parameter that has no argument, where buffers take none since others point to them."""
        taking = self._taking()
        lost = [a.name for a in self.passed if a.parameter is None and a.name not in taking]
        if not lost:
            return None
        by = next(a.name for a in self.arguments if lost[0] in a.pointed() and a.name != lost[0])
        return (
            f"{lost[0]} takes no parameter of its own, as {by} has a pointer to it: where it is to take one, "
            "say `parameter = true` there."
        )

    def argument(self, name: str) -> Argument:
        """The argument of that name; KeyError if there is none."""
        for a in self.arguments:
            if a.name == name:
                return a
        raise KeyError(name)

    def make_buffers(self) -> dict[str, Array]:
        """Fresh, writable, C-contiguous contents of every one of `buffers`, in argument order; the same on every call.

        Pointers in them are the addresses that buffers have on the device. Raises MalformedInput where a file is
        missing, unreadable or of another shape or dtype.
        """
        return self._filled(self.buffers)

    def make_textures(self) -> dict[str, Array]:
        """Contents of every texture that has its own in argument order, as `make_buffers` makes them."""
        return self._filled(self.textures)

    def make_symbols(self) -> dict[str, Array]:
        """Contents of the variables that the launch names, as `make_buffers` makes them."""
        return self._filled([a for a in self.arguments if a.kind == ArgumentKind.SYMBOL])

    def contents_of(self, a: Argument) -> Array:
        """Fresh contents of one buffer, symbol, texture or surface, as `make_buffers` makes them."""
        return self._filled([a])[a.name]

    def _filled(self, arguments: Iterable[Argument]) -> dict[str, Array]:
        addresses, targets = self.addresses, targets_of(self.arguments)
        return {
            a.name: contents(a.init, a.element, a.shape, Setting(addresses, targets, f"argument {a.name}", self.path))
            for a in arguments
        }

    def parameters(self, params: list[tuple[str, int, int]], addresses: Mapping[str, int]) -> bytes:
        """The parameter part of constant bank 0.

        params: (name, byte offset, bytes) per kernel parameter; addresses: device address of each buffer, handle of
        each texture and surface. Bytes between parameters are zero. Raises UsageError for a parameter without an
        argument.
        """
        bound = self.bind([name for name, _, _ in params])
        out = bytearray(max((offset + size for _, offset, size in params), default=0))
        for name, offset, size in params:
            if name not in bound:
                raise UsageError("the launch gives no such argument", file=self.path or None, place=name)
            out[offset : offset + size] = parameter_bytes(bound[name], size, addresses)
        return bytes(out)


def targets_of(arguments: Iterable[Argument]) -> dict[str, Target]:
    """What pointers may be to, by argument."""
    out = {}
    for a in arguments:
        if a.kind == ArgumentKind.BUFFER:
            out[a.name] = Target(a.bytes, size_of(a.element))
        elif a.kind in (ArgumentKind.TEXTURE, ArgumentKind.SURFACE):
            out[a.name] = Target(0, 1, texture=True)
    return out


def parameter_bytes(a: Argument, size: int, addresses: Mapping[str, int]) -> bytes:
    """The bytes of one argument in the parameter bank, for a parameter of `size`. addresses: as in `parameters`."""
    if a.kind == ArgumentKind.BUFFER or a.texture is not None:
        return addresses[a.name].to_bytes(size, "little")
    if a.kind == ArgumentKind.SCALAR:
        return rounded(a.value, a.dtype).tobytes()
    raw = np.zeros(a.size, np.uint8)
    put(a.fields, raw, addresses)
    return raw.tobytes()
