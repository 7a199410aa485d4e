"""What a launch is: immutable records of grid, block, arguments, reference and comparison, and their buffers.

Needs nothing but NumPy. Leaves true: a `Launch` has passed every check of `schema`, so whoever holds one may use
its numbers without asking again; `make_buffers` gives the same bytes for the same launch on every host.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.launch.npy import read_npy
from binalloc.launch.sampling import AddressMode, TextureFilter, TextureLayers, TextureRead

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype("<i1"),
    "u8": np.dtype("<u1"),
    "i16": np.dtype("<i2"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "i64": np.dtype("<i8"),
    "u64": np.dtype("<u8"),
    "f16": np.dtype("<f2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
}

POINTER_BYTES = 8
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


class InitKind(StrEnum):
    """How contents are made; see `Init`."""

    ZEROS = "zeros"
    ONES = "ones"
    CONSTANT = "constant"
    ARANGE = "arange"
    RANDOM = "random"
    FILE = "file"


class Distribution(StrEnum):
    """Of random contents; see `Init`."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    INTEGERS = "integers"


class CompareMode(StrEnum):
    """When contents count as the same; see `Compare`."""

    EXACT = "exact"
    TOLERANCE = "tolerance"
    UNORDERED = "unordered"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Init:
    """How a buffer is filled before the launch.

    kind: zeros, ones, constant (`low` is the value), arange (`low` + `step` * flat index), random, file.
    distribution (random): uniform over [low, high), normal with `mean` and `std`, integers over low..high-1.
    file: path of an .npy file, resolved against the launch file's folder.
    """

    kind: InitKind = InitKind.ZEROS
    distribution: Distribution = Distribution.UNIFORM
    low: float = 0.0
    high: float = 1.0
    step: float = 1.0
    mean: float = 0.0
    std: float = 1.0
    seed: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class Compare:
    """When two contents of a buffer count as the same. mode: exact (bit by bit), tolerance (|a-b| <= atol + rtol*|b|,
    b the expected value, NaN equals NaN), unordered (same multiset of bit patterns), ignore."""

    mode: CompareMode = CompareMode.EXACT
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct: its byte offset and its values of one dtype, or the buffer or texture (`argument`) whose
    address or handle stands there. listed: the file gives its value as a list. name: "" where it has none. at: the byte
    of the buffer that the address is of."""

    offset: int
    dtype: str = "u64"
    values: tuple[int | float, ...] = (0,)
    argument: str = ""
    name: str = ""
    listed: bool = False
    at: int = 0

    @property
    def element_bytes(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def bytes(self) -> int:
        return len(self.values) * self.element_bytes


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
    global or constant variable of the binary). shape: () for scalars and structs."""

    name: str
    kind: ArgumentKind
    dtype: str
    shape: tuple[int, ...] = ()
    value: int | float = 0
    init: Init = field(default_factory=Init)
    compare: Compare = field(default_factory=Compare)
    texture: Texture | None = None
    fields: tuple[Field, ...] = ()
    size: int = 0

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return DTYPES[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of the contents: the whole buffer, texture or struct, or the scalar."""
        return self.size or math.prod(self.shape) * self.numpy_dtype.itemsize

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

    def named_values(self) -> dict[str, Any]:
        """A struct's named fields as Python numbers, or lists where the file gives lists."""
        out: dict[str, Any] = {}
        for f in self.fields:
            if f.name and not f.argument:
                items = np.array(f.values, DTYPES[f.dtype]).tolist()
                out[f.name] = items if f.listed else items[0]
        return out


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
    def passed(self) -> tuple[Argument, ...]:
        """The arguments that take a parameter or are reached through one."""
        return tuple(a for a in self.arguments if a.kind != ArgumentKind.SYMBOL)

    @property
    def scalars(self) -> dict[str, bytes]:
        """Little-endian bytes of each scalar argument, as they stand in the parameter bank."""
        scalars = [a for a in self.arguments if a.kind == ArgumentKind.SCALAR]
        return {a.name: np.array(a.value, a.numpy_dtype).tobytes() for a in scalars}

    @property
    def values(self) -> dict[str, Any]:
        """The scalar arguments as Python numbers (an f32 already rounded to f32), the structs as dicts of theirs."""
        out: dict[str, Any] = {}
        for a in self.arguments:
            if a.kind == ArgumentKind.SCALAR:
                out[a.name] = np.array(a.value, a.numpy_dtype).item()
            elif a.kind == ArgumentKind.STRUCT:
                out[a.name] = a.named_values()
        return out

    def bind(self, names: Sequence[str]) -> dict[str, Argument]:
        """The argument of each parameter in `names`; parameters left over are left out, see `unbound` for arguments.

        An argument goes to the parameter of its name. The rest go in file order to the parameters that have no name of
        their own, `<kernel>_param_<n>` as compilers of PTX write them. Buffers and textures that a struct's field
        names are reached through it and are no parameters, unless one has their name.
        """
        out = {a.name: a for a in self.passed if a.name in names}
        inner = {f.argument for a in self.arguments for f in a.fields if f.argument}
        rest = [a for a in self.passed if a.name not in names and a.name not in inner]
        unnamed = [n for n in names if n not in out and _UNNAMED.fullmatch(n)]
        return out | dict(zip(unnamed, rest, strict=False))

    def unbound(self, names: Sequence[str]) -> list[Argument]:
        """Arguments that no parameter in `names` takes and no field names."""
        bound = {a.name for a in self.bind(names).values()} | {f.argument for a in self.arguments for f in a.fields}
        return [a for a in self.passed if a.name not in bound]

    def argument(self, name: str) -> Argument:
        """The argument of that name; KeyError if there is none."""
        for a in self.arguments:
            if a.name == name:
                return a
        raise KeyError(name)

    def make_buffers(self) -> dict[str, Array]:
        """Fresh, writable, C-contiguous contents of every one of `buffers`, in argument order; the same on every call.

        Raises MalformedInput where an .npy file is missing, unreadable or of another shape or dtype.
        """
        return {a.name: make_contents(a, self.path) for a in self.buffers}

    def make_textures(self) -> dict[str, Array]:
        """Contents of every texture that has its own in argument order, as `make_buffers` makes them."""
        held = [a for a in self.arguments if a.kind == ArgumentKind.TEXTURE and a.has_contents]
        return {a.name: make_contents(a, self.path) for a in held}

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


def parameter_bytes(a: Argument, size: int, addresses: Mapping[str, int]) -> bytes:
    """The bytes of one argument in the parameter bank, for a parameter of `size`. addresses: as in `parameters`."""
    if a.kind == ArgumentKind.BUFFER or a.texture is not None:
        return addresses[a.name].to_bytes(size, "little")
    if a.kind == ArgumentKind.SCALAR:
        return np.array(a.value, a.numpy_dtype).tobytes()
    out = bytearray(a.size)
    for f in a.fields:
        value = (addresses[f.argument] + f.at,) if f.argument else f.values
        out[f.offset : f.offset + f.bytes] = np.array(value, DTYPES[f.dtype]).tobytes()
    return bytes(out)


def make_contents(a: Argument, launch_path: str) -> Array:
    """The argument's contents. Numbers beyond the dtype become infinite without a word."""
    with np.errstate(all="ignore"):
        return _contents(a, launch_path)


def _contents(a: Argument, launch_path: str) -> Array:
    init, dtype = a.init, a.numpy_dtype
    if init.kind == InitKind.ZEROS:
        return np.zeros(a.shape, dtype)
    if init.kind in (InitKind.ONES, InitKind.CONSTANT):
        return np.full(a.shape, 1 if init.kind == InitKind.ONES else init.low, dtype)
    if init.kind == InitKind.ARANGE:
        if dtype.kind == "f":
            ramp = init.low + init.step * np.arange(math.prod(a.shape), dtype=np.float64)
            return ramp.astype(dtype).reshape(a.shape)
        index = np.arange(math.prod(a.shape), dtype=np.uint64)
        # Two's complement on purpose: the schema has checked both ends.
        wrapped = index * np.uint64(int(init.step) & _U64) + np.uint64(int(init.low) & _U64)
        return wrapped.astype(dtype).reshape(a.shape)
    if init.kind == InitKind.RANDOM:
        return _random(init, a.shape, dtype)
    return _load_npy(a, launch_path)


_U64 = (1 << 64) - 1


def _random(init: Init, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    rng = np.random.default_rng(init.seed)
    if init.distribution == Distribution.INTEGERS:
        if dtype.kind == "f":
            return rng.integers(int(init.low), int(init.high), shape).astype(dtype)
        return np.asarray(rng.integers(int(init.low), int(init.high), shape, dtype=dtype), dtype)
    if init.distribution == Distribution.NORMAL:
        return rng.normal(init.mean, init.std, shape).astype(dtype)
    return rng.uniform(init.low, init.high, shape).astype(dtype)


def _load_npy(a: Argument, launch_path: str) -> Array:
    """The array of an .npy file; MalformedInput where it is none or of another dtype or shape."""
    place = f"argument {a.name}: init.file {a.init.file}"
    try:
        return read_npy(Path(a.init.file), a.numpy_dtype, a.shape)
    except MalformedInput as error:
        error.file, error.place = launch_path or None, place
        error.remedy = "Save it with numpy.save from an array of that dtype and shape."
        raise
