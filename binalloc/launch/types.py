"""A launch consists of these immutable records: grid, block, arguments, reference and comparison. Its buffers are made
here.

Needs nothing but NumPy. Leaves true: a `Launch` has passed every check of `schema`, so that its users need not check
its numbers again; `make_buffers` gives the same bytes for the same launch on every host.
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
from binalloc.launch.contents.init import ContentSetting, contents
from binalloc.launch.contents.init import Distribution as Distribution
from binalloc.launch.contents.init import Init as Init
from binalloc.launch.contents.init import InitKind as InitKind
from binalloc.launch.elements.cells import CellField as CellField
from binalloc.launch.elements.cells import by_name, put
from binalloc.launch.elements.layout import Element, Struct, numpy_of, size_of
from binalloc.launch.numbers.dtypes import DTYPES as DTYPES
from binalloc.launch.numbers.dtypes import POINTER_BYTES as POINTER_BYTES
from binalloc.launch.numbers.dtypes import Array as Array
from binalloc.launch.numbers.dtypes import Number, copied, rounded, shown
from binalloc.launch.placing import Target, place_buffers
from binalloc.launch.sampling import AddressMode as AddressMode
from binalloc.launch.sampling import TextureFilter as TextureFilter
from binalloc.launch.sampling import TextureLayers as TextureLayers
from binalloc.launch.sampling import TextureRead as TextureRead

HEAP_BYTES = 8 << 20  # CUDA's default
PRINTF_BYTES = 1 << 20  # CUDA's default
HANDLE_BYTES = (8, 4)  # the parameter of a texture or surface is as long as the kernel declares it
MOST_LEVELS = 28  # of a mipmap: the longest side has 2^27 texels
_UNNAMED = re.compile(r".+_param_\d+")  # names that compilers of PTX give to parameters without a name


class ArgumentKind(StrEnum):
    """Arguments are of these kinds; see `Argument`. A pointer is read as a struct of one field."""

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
    """Contents are compared in these ways; see `Compare`."""

    EXACT = "exact"  #: bit by bit
    TOLERANCE = "tolerance"  #: |a-b| <= atol + rtol*|b|, b the expected value, NaN equals NaN
    UNORDERED = "unordered"  #: the same multiset of bit patterns
    IGNORE = "ignore"  #: not compared


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison says when two contents of a buffer count as the same."""

    mode: CompareMode = CompareMode.EXACT
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Texture:
    """A texture's record says how it is read. A surface has sides, channels and layers alone."""

    sides: tuple[int, ...]  #: texels per axis, outermost first (depth, height, width)
    channels: int = 1  #: 1, 2 or 4
    filter: TextureFilter = TextureFilter.POINT
    address: tuple[AddressMode, ...] = (AddressMode.CLAMP,)  #: per axis in the order x, y, z
    normalized: bool = False  #: float coordinates run from 0 to 1
    read: TextureRead = TextureRead.ELEMENT
    layers: TextureLayers = TextureLayers.NONE  #: whether the first side counts layers
    levels: int = 1  #: of a mipmap, 1 for none
    blend: TextureFilter = TextureFilter.POINT  #: how a fetch is made between levels
    bias: float = 0.0  #: added to the level of detail
    clamp: tuple[float, float] = (0.0, MOST_LEVELS)  #: range of the level of detail
    given: tuple[Init, ...] = ()  #: contents of levels 1, 2 and so on; each further one is made from the level below
    array: str = ""  #: the argument whose contents it reads, "" for its own


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a launch has a name, a kind and contents; most kinds take a parameter of the kernel."""

    name: str
    #: buffer (8-byte pointer), scalar, texture or surface (handle of 8 or 4 bytes), struct (by value), or symbol (no
    #: parameter, but the contents of a global or constant variable of the binary)
    kind: ArgumentKind
    dtype: str
    shape: tuple[int, ...] = ()  #: () for scalars and structs
    value: Number = 0  #: of a scalar
    init: Init = field(default_factory=Init)  #: contents before the launch
    compare: Compare = field(default_factory=Compare)
    texture: Texture | None = None  #: of a texture or surface
    fields: tuple[CellField, ...] = ()  #: of a struct by value: its contents
    size: int = 0  #: of a struct by value: its bytes
    #: type of its elements where they have no `dtype`, or type of a struct by value where it has one
    struct: Struct | None = None
    parameter: bool | None = None  #: whether a buffer takes a parameter; None: unless others have pointers to it

    @property
    def element(self) -> Element:
        """Return the type of its elements."""
        return self.struct or self.dtype

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return numpy_of(self.element)

    @property
    def bytes(self) -> int:
        """Return the bytes of the contents: the whole buffer, texture or struct, or the scalar."""
        return self.size or math.prod(self.shape) * size_of(self.element)

    @property
    def parameter_bytes(self) -> int:
        """Return the bytes that the argument takes among the kernel's parameters."""
        if self.kind == ArgumentKind.BUFFER:
            return POINTER_BYTES
        return HANDLE_BYTES[0] if self.texture is not None else self.bytes

    @property
    def has_contents(self) -> bool:
        """Return whether it has memory of its own: a texture may read another argument's."""
        return self.kind in HELD and (self.texture is None or not self.texture.array)

    def fits(self, size: int) -> bool:
        """Return whether a parameter of `size` bytes can take the argument."""
        return size in HANDLE_BYTES if self.texture is not None else size == self.parameter_bytes

    def pointed(self) -> set[str]:
        """Return the arguments whose addresses or handles it contains."""
        return {f.argument for f in self.fields if f.argument} | set(self.init.pointed())


@dataclass(frozen=True, slots=True)
class Reference:
    """A Python function `function(inputs, launch) -> outputs` in `file` computes the results that the kernel should
    leave."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch gives a kernel its grid, blocks and arguments. It has passed all checks."""

    kernel: str
    grid: tuple[int, int, int]  #: blocks in x, y, z
    block: tuple[int, int, int]  #: threads in x, y, z
    dynamic_shared: int = 0  #: bytes
    arguments: tuple[Argument, ...] = ()
    reference: Reference | None = None
    size: str = ""  #: name of the chosen `[sizes.<name>]`, "" for the file's own numbers
    path: str = ""  #: the launch file ("" when parsed from a dict)
    heap: int = HEAP_BYTES  #: bytes that kernels can allocate
    printf_buffer: int = PRINTF_BYTES  #: bytes for what kernels print
    cooperative: bool = False  #: all blocks are resident at once, and may wait for one another

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    @property
    def buffers(self) -> tuple[Argument, ...]:
        """Return the arguments in which a run leaves contents: buffers, surfaces, and variables of the binary."""
        return tuple(a for a in self.arguments if a.kind in HELD and a.kind != ArgumentKind.TEXTURE)

    @property
    def handled(self) -> tuple[Argument, ...]:
        """Return the textures, then the surfaces: their numbers in this order, from 1, are their handles."""
        kinds = (ArgumentKind.TEXTURE, ArgumentKind.SURFACE)
        return tuple(a for kind in kinds for a in self.arguments if a.kind == kind)

    @property
    def textures(self) -> tuple[Argument, ...]:
        """Return the textures that have contents of their own."""
        return tuple(a for a in self.arguments if a.kind == ArgumentKind.TEXTURE and a.has_contents)

    @property
    def passed(self) -> tuple[Argument, ...]:
        """Return the arguments that take a parameter, or whose address another argument contains."""
        return tuple(a for a in self.arguments if a.kind != ArgumentKind.SYMBOL)

    @property
    def scalars(self) -> dict[str, bytes]:
        """Return the little-endian bytes of each scalar argument, as in the parameter bank."""
        scalars = [a for a in self.arguments if a.kind == ArgumentKind.SCALAR]
        return {a.name: rounded(a.value, a.dtype).tobytes() for a in scalars}

    @property
    def values(self) -> dict[str, Any]:
        """Return scalar arguments as Python numbers (an f32 already rounded to f32), structs of a type as NumPy's
        records, other structs as dicts of their named numbers."""
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
        """Return the addresses of buffers on the device, and handles of textures and surfaces, by argument."""
        placed = {a.name: a.bytes for a in self.buffers if a.kind != ArgumentKind.SYMBOL}
        return place_buffers(placed)[0] | {a.name: i for i, a in enumerate(self.handled, 1)}

    def address(self, name: str, at: int = 0, element: int = 0) -> int:
        """Return the address of byte `at` of an element of a buffer. KeyError where there is no such buffer."""
        a = self.argument(name)
        if a.kind != ArgumentKind.BUFFER:
            raise KeyError(name)
        return self.addresses[name] + at + element * size_of(a.element)

    def pointee(self, address: int) -> tuple[str, int] | None:
        """Return the buffer at an address, and the byte in it, where the one behind its last counts. None for addresses
        outside of all buffers."""
        addresses = self.addresses
        for a in self.arguments:
            if a.kind == ArgumentKind.BUFFER and 0 <= address - addresses[a.name] <= a.bytes:
                return a.name, address - addresses[a.name]
        return None

    def bind(self, names: Sequence[str]) -> dict[str, Argument]:
        """Return the argument of each parameter in `names`. Parameters without one are left out; `unbound` has the
        arguments without a parameter.

        An argument goes to the parameter of its name. The rest go in file order to the parameters that have no name of
        their own, `<kernel>_param_<n>` as compilers of PTX write them. A buffer or texture that others point to takes
        no parameter, unless one has its name or its argument says so.
        """
        known = set(names)
        out = {a.name: a for a in self.passed if a.name in known}
        taking = self._taking()
        rest = [a for a in self.passed if a.name not in known and a.name in taking]
        unnamed = [n for n in names if n not in out and _UNNAMED.fullmatch(n)]
        return out | dict(zip(unnamed, rest, strict=False))

    def unbound(self, names: Sequence[str]) -> list[Argument]:
        """Return the arguments that no parameter in `names` takes and nothing else points to."""
        bound = {a.name for a in self.bind(names).values()}
        taking = self._taking()
        return [a for a in self.passed if a.name not in bound and a.name in taking]

    def _taking(self) -> set[str]:
        """Return the arguments that want a parameter: by their own word, or because nothing but themselves points to
        them."""
        reached = {name for a in self.arguments for name in a.pointed() if name != a.name}
        return {a.name for a in self.passed if (a.name not in reached if a.parameter is None else a.parameter)}

    def left_out(self) -> str | None:
        """Return a remedy for a parameter without an argument, where buffers take none because others point to them;
        else None."""
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
        """Return the argument of that name; KeyError if there is none."""
        for a in self.arguments:
            if a.name == name:
                return a
        raise KeyError(name)

    def make_buffers(self) -> dict[str, Array]:
        """Return fresh, writable, C-contiguous contents of every one of `buffers`, in argument order; the same on every
        call.

        Pointers in them are the addresses that buffers have on the device. Raises MalformedInput where a file is
        missing, unreadable or of another shape or dtype.
        """
        return self._filled(self.buffers)

    def make_textures(self) -> dict[str, Array]:
        """Return contents of every texture that has its own in argument order, as `make_buffers` does."""
        return self._filled(self.textures)

    def make_symbols(self) -> dict[str, Array]:
        """Return contents of the variables that the launch names, as `make_buffers` does."""
        return self._filled([a for a in self.arguments if a.kind == ArgumentKind.SYMBOL])

    def contents_of(self, a: Argument) -> Array:
        """Return fresh contents of one buffer, symbol, texture or surface, as `make_buffers` does."""
        return self._filled([a])[a.name]

    def _filled(self, arguments: Iterable[Argument]) -> dict[str, Array]:
        """Return fresh contents of arguments, by name."""
        addresses, targets = self.addresses, targets_of(self.arguments)
        return {
            a.name: contents(
                a.init, a.element, a.shape, ContentSetting(addresses, targets, f"argument {a.name}", self.path)
            )
            for a in arguments
        }

    def parameters(self, params: list[tuple[str, int, int]], addresses: Mapping[str, int]) -> bytes:
        """Return the parameter part of constant bank 0.

        params: (name, byte offset, bytes) per kernel parameter. addresses: device address of each buffer, handle of
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
    """Return the arguments that pointers may point to, by name."""
    out = {}
    for a in arguments:
        if a.kind == ArgumentKind.BUFFER:
            out[a.name] = Target(a.bytes, size_of(a.element))
        elif a.kind in (ArgumentKind.TEXTURE, ArgumentKind.SURFACE):
            out[a.name] = Target(0, 1, texture=True)
    return out


def parameter_bytes(a: Argument, size: int, addresses: Mapping[str, int]) -> bytes:
    """Return the bytes of one argument in the parameter bank, for a parameter of `size`. addresses: as in
    `parameters`."""
    if a.kind == ArgumentKind.BUFFER or a.texture is not None:
        return addresses[a.name].to_bytes(size, "little")
    if a.kind == ArgumentKind.SCALAR:
        return rounded(a.value, a.dtype).tobytes()
    raw = np.zeros(a.size, np.uint8)
    put(a.fields, raw, addresses)
    return raw.tobytes()
