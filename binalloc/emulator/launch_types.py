"""What a launch is: immutable records of grid, block, arguments, reference and comparison, and their buffers.

Needs nothing but NumPy. Leaves true: a `Launch` has passed every check of `launch_schema`, so whoever holds one may use
its numbers without asking again; `make_buffers` gives the same bytes for the same launch on every host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError

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
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
}

POINTER_BYTES = 8
TEXTURE_HANDLE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Init:
    """How a buffer is filled before the launch.

    kind: zeros, ones, constant (`low` is the value), arange (`low` + `step` * flat index), random, file.
    distribution (random): uniform over [low, high), normal with `mean` and `std`, integers over low..high-1.
    file: path of an .npy file, resolved against the launch file's folder.
    """

    kind: str = "zeros"
    distribution: str = "uniform"
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

    mode: str = "exact"
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument. kind: buffer (8-byte pointer), scalar, texture (4-byte handle). shape: () for scalars."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...] = ()
    value: int | float = 0
    init: Init = field(default_factory=Init)
    compare: Compare = field(default_factory=Compare)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return DTYPES[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of the contents: the whole buffer or texture, or the scalar."""
        return math.prod(self.shape) * self.numpy_dtype.itemsize

    @property
    def parameter_bytes(self) -> int:
        """Bytes the argument takes among the kernel's parameters."""
        if self.kind == "buffer":
            return POINTER_BYTES
        return TEXTURE_HANDLE_BYTES if self.kind == "texture" else self.numpy_dtype.itemsize


@dataclass(frozen=True, slots=True)
class Reference:
    """A Python function `function(inputs, launch) -> outputs` in `file` that says what the kernel should compute."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One checked launch. grid, block: blocks and threads in x, y, z. dynamic_shared in bytes. size: name of the chosen
    `[sizes.<name>]`, "" for the file's own numbers. path: the launch file ("" when parsed from a dict)."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int = 0
    arguments: tuple[Argument, ...] = ()
    reference: Reference | None = None
    size: str = ""
    path: str = ""

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    @property
    def buffers(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.kind == "buffer")

    @property
    def scalars(self) -> dict[str, bytes]:
        """Little-endian bytes of each scalar argument, as they stand in the parameter bank."""
        return {a.name: np.array(a.value, a.numpy_dtype).tobytes() for a in self.arguments if a.kind == "scalar"}

    @property
    def values(self) -> dict[str, int | float]:
        """The scalar arguments as Python numbers (an f32 already rounded to f32)."""
        return {a.name: np.array(a.value, a.numpy_dtype).item() for a in self.arguments if a.kind == "scalar"}

    def argument(self, name: str) -> Argument:
        """The argument of that name; KeyError if there is none."""
        for a in self.arguments:
            if a.name == name:
                return a
        raise KeyError(name)

    def make_buffers(self) -> dict[str, Array]:
        """Fresh, writable, C-contiguous contents of every buffer in argument order; the same bytes on every call.

        Raises MalformedInput where an .npy file is missing, unreadable or of another shape or dtype.
        """
        return {a.name: _fill(a, self.path) for a in self.arguments if a.kind == "buffer"}

    def make_textures(self) -> dict[str, Array]:
        """Contents of every texture in argument order, as `make_buffers` makes them."""
        return {a.name: _fill(a, self.path) for a in self.arguments if a.kind == "texture"}

    def parameters(self, params: list[tuple[str, int, int]], addresses: Mapping[str, int]) -> bytes:
        """The parameter part of constant bank 0.

        params: (name, byte offset, bytes) per kernel parameter; addresses: device address of each buffer, handle of
        each texture. Bytes between parameters are zero. Raises UsageError for a parameter without an argument.
        """
        scalars = self.scalars
        out = bytearray(max((offset + size for _, offset, size in params), default=0))
        for name, offset, size in params:
            if name in scalars:
                data = scalars[name]
            elif name in addresses:
                data = addresses[name].to_bytes(size, "little")
            else:
                raise UsageError("the launch gives no such argument", file=self.path or None, place=name)
            out[offset : offset + size] = data
        return bytes(out)


def _fill(a: Argument, launch_path: str) -> Array:
    init, dtype = a.init, a.numpy_dtype
    if init.kind == "zeros":
        return np.zeros(a.shape, dtype)
    if init.kind in ("ones", "constant"):
        return np.full(a.shape, 1 if init.kind == "ones" else init.low, dtype)
    if init.kind == "arange":
        if dtype.kind == "f":
            ramp = init.low + init.step * np.arange(math.prod(a.shape), dtype=np.float64)
            return ramp.astype(dtype).reshape(a.shape)
        index = np.arange(math.prod(a.shape), dtype=np.uint64)
        with np.errstate(over="ignore"):  # two's complement on purpose: the schema has checked both ends
            wrapped = index * np.uint64(int(init.step) & _U64) + np.uint64(int(init.low) & _U64)
        return wrapped.astype(dtype).reshape(a.shape)
    if init.kind == "random":
        return _random(init, a.shape, dtype)
    return _load_npy(a, launch_path)


_U64 = (1 << 64) - 1


def _random(init: Init, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    rng = np.random.default_rng(init.seed)
    if init.distribution == "integers":
        if dtype.kind == "f":
            return rng.integers(int(init.low), int(init.high), shape).astype(dtype)
        return np.asarray(rng.integers(int(init.low), int(init.high), shape, dtype=dtype), dtype)
    if init.distribution == "normal":
        return rng.normal(init.mean, init.std, shape).astype(dtype)
    return rng.uniform(init.low, init.high, shape).astype(dtype)


def _load_npy(a: Argument, launch_path: str) -> Array:
    """The array of an .npy file, never unpickled; shape and dtype are compared before the contents are read."""
    path = Path(a.init.file)
    place = f"argument {a.name}: init.file {path}"
    remedy = "Save it with numpy.save from an array of that dtype and shape."
    try:
        if not path.is_file():
            raise MalformedInput("no such file", file=launch_path or None, place=place)
        data = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError) as e:
        raise MalformedInput(
            f"not a readable .npy file ({type(e).__name__})", file=launch_path or None, place=place, remedy=remedy
        ) from e
    if not isinstance(data, np.ndarray):
        raise MalformedInput("not an .npy file", file=launch_path or None, place=place, remedy=remedy)
    if data.dtype != a.numpy_dtype or data.shape != a.shape:
        raise MalformedInput(
            "the array does not match its argument",
            file=launch_path or None,
            place=place,
            found=f"{data.dtype} {list(data.shape)}",
            expected=f"{a.numpy_dtype} {list(a.shape)}",
            remedy=remedy,
        )
    return np.array(data, a.numpy_dtype, order="C")
