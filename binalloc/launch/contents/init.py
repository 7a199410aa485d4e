"""Contents are described by these records, and the arrays are made from them here.

Needs layouts and the files' readers. Leaves true: the same record gives the same bytes on every host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from binalloc.errors import MalformedInput
from binalloc.launch.contents.ranges import held
from binalloc.launch.contents.read import InputFile, read_input
from binalloc.launch.elements.cells import CellField, put
from binalloc.launch.elements.layout import Element, Struct, numpy_of, size_of
from binalloc.launch.numbers.dtypes import BF16, PART, POINTER, Array, Number, kind_of, rounded
from binalloc.launch.placing import Target


class InitKind(StrEnum):
    """Contents are made in these ways; see `Init`."""

    ZEROS = "zeros"
    ONES = "ones"
    CONSTANT = "constant"  #: `low` is the value
    ARANGE = "arange"  #: `low` + `step` * flat index
    RANDOM = "random"
    VALUES = "values"  #: `cells`
    FIELDS = "fields"  #: `parts`
    FILE = "file"


class Distribution(StrEnum):
    """Random contents have one of these distributions."""

    UNIFORM = "uniform"  #: real numbers of [low, high)
    NORMAL = "normal"  #: with `mean` and `std`
    INTEGERS = "integers"  #: low to high - 1


@dataclass(frozen=True, slots=True)
class Init:
    """An init describes how a buffer is filled before the launch."""

    kind: InitKind = InitKind.ZEROS
    distribution: Distribution = Distribution.UNIFORM
    low: Number = 0.0
    high: float = 1.0
    step: Number = 1.0
    mean: float = 0.0
    std: float = 1.0
    seed: int = 0
    file: InputFile | None = None  #: the file to read; its path is resolved against the launch file's folder
    cells: tuple[CellField, ...] = ()  #: values by their byte offsets in the whole buffer
    #: of structs: how each member is filled; of a file of structs: members that replace the file's
    parts: tuple[tuple[str, Init], ...] = ()
    #: of pointers: the buffer to whose elements they point, by the numbers that are made; negative ones are null
    argument: str = ""

    def pointed(self) -> Iterator[str]:
        """Yield the arguments that pointers in it point to."""
        yield from (f.argument for f in self.cells if f.argument)
        if self.argument:
            yield self.argument
        for _, part in self.parts:
            yield from part.pointed()


@dataclass(frozen=True, slots=True)
class ContentSetting:
    """A setting is what contents depend on beside their own record."""

    addresses: Mapping[str, int]  #: of buffers, and handles, by argument
    targets: Mapping[str, Target]  #: the arguments that pointers may point to
    place: str  #: the argument, for messages
    launch_path: str  #: the launch file, for messages


def contents(init: Init, element: Element, shape: tuple[int, ...], setting: ContentSetting) -> Array:
    """Return fresh contents, in C order. Numbers beyond the dtype become infinite without a message. Raises
    MalformedInput for files that are missing, unreadable or of other contents, and for pointers beyond a buffer."""
    with np.errstate(all="ignore"):
        return _contents(init, element, shape, setting)


def _contents(init: Init, element: Element, shape: tuple[int, ...], setting: ContentSetting) -> Array:
    """Return contents of the kind that `init` names."""
    if init.kind == InitKind.VALUES:
        raw = np.zeros(math.prod(shape) * size_of(element), np.uint8)
        put(init.cells, raw, setting.addresses)
        return raw.view(numpy_of(element)).reshape(shape)
    if init.argument:
        return _pointers(init, shape, setting)
    if isinstance(element, Struct):
        return _structs(init, element, shape, setting)
    if init.kind == InitKind.ZEROS:
        return np.zeros(shape, numpy_of(element))
    if init.kind == InitKind.FILE:
        assert init.file is not None
        return read_input(init.file, element, shape, setting.place, setting.launch_path)
    if element == BF16 and init.kind != InitKind.RANDOM:
        return rounded(_numbers(init, "f64", shape), BF16)
    return _numbers(init, element, shape)


def _structs(init: Init, element: Struct, shape: tuple[int, ...], setting: ContentSetting) -> Array:
    """Return structs from a file, or of zeros, and then with the contents of single members."""
    out = np.zeros(shape, numpy_of(element))
    if init.file is not None:
        out = read_input(init.file, element, shape, setting.place, setting.launch_path)
        given = {name for name, _ in init.parts}
        for leaf in element.leaves():
            if leaf.dtype == POINTER and leaf.path[0][0] not in given and leaf.of(out).any():
                raise MalformedInput(
                    "a file has no pointers", file=setting.launch_path or None, place=setting.place,
                    found=f"addresses in the field {leaf.path[0][0]}", expected="zeros",
                    remedy="Say in `fields` what they are to.",
                )  # fmt: skip
    for name, part in init.parts:
        member = element.member(name)
        assert member is not None
        out[name] = _contents(part, member.element, (*shape, *member.shape), setting)
    return out


def _pointers(init: Init, shape: tuple[int, ...], setting: ContentSetting) -> Array:
    """Return addresses of elements of a buffer by their numbers, null for negative ones."""
    if init.kind == InitKind.FILE:
        assert init.file is not None
        index = read_input(init.file, "i64", shape, setting.place, setting.launch_path)
    else:
        index = _numbers(init, "i64", shape)
    target = setting.targets[init.argument]
    count = target.bytes // target.element_bytes
    if (index > count).any():
        raise MalformedInput(
            f"a pointer beyond the end of {init.argument}", file=setting.launch_path or None, place=setting.place,
            found=f"element {int(index.max())}", expected=f"at most {count}, and negative numbers for null",
        )  # fmt: skip
    there = np.uint64(setting.addresses[init.argument]) + index.astype("<u8") * np.uint64(target.element_bytes)
    return np.where(index < 0, np.uint64(0), there).astype("<u8")


def _numbers(init: Init, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return numbers of the kind that `init` names."""
    count = math.prod(shape)
    kind, made = kind_of(dtype), numpy_of(dtype)
    if init.kind == InitKind.ZEROS:
        return np.zeros(shape, made)
    if init.kind in (InitKind.ONES, InitKind.CONSTANT):
        return np.full(shape, 1 if init.kind == InitKind.ONES else init.low, made)
    if init.kind == InitKind.ARANGE:
        if kind in "fc":
            ramp = init.low + init.step * np.arange(count, dtype=np.float64)
            return ramp.astype(made).reshape(shape)
        index = np.arange(count, dtype=np.uint64)
        # Wraps around in two's complement on purpose: the schema has checked both ends.
        step, start = (int(v.real) & _U64 for v in (init.step, init.low))
        return (index * np.uint64(step) + np.uint64(start)).astype(made).reshape(shape)
    return _random(init, dtype, shape)


_U64 = (1 << 64) - 1  # mask of 64 bits


def _random(init: Init, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return random numbers. Of complex ones all real parts are drawn first, then all imaginary parts."""
    rng = np.random.default_rng(init.seed)
    if kind_of(dtype) != "c":
        return _within(init, _drawn(rng, init, dtype, shape), dtype)
    real, imaginary = (_drawn(rng, init, "f64", shape) for _ in range(2))
    made = np.asarray(real + 1j * imaginary).astype(numpy_of(dtype))
    made.real, made.imag = (_within(init, part, PART[dtype]) for part in (made.real, made.imag))
    return made


def _drawn(rng: np.random.Generator, init: Init, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return numbers from the generator, rounded to the type; bf16 by way of f32."""
    made = numpy_of("f32" if dtype == BF16 else dtype)
    if init.distribution == Distribution.INTEGERS:
        low, high = int(init.low.real), int(init.high)
        plain = rng.integers(low, high, shape, dtype=np.int64 if made.kind in "fb" else made)
    elif init.distribution == Distribution.NORMAL:
        plain = rng.normal(init.mean, init.std, shape)
    else:
        plain = rng.uniform(init.low.real, init.high, shape)
    plain = np.asarray(plain).astype(made)
    return rounded(plain, BF16) if dtype == BF16 else plain


def _within(init: Init, elements: Array, dtype: str) -> Array:
    """Return floats that were drawn from a range, none of them outside of it."""
    if kind_of(dtype) != "f" or init.distribution == Distribution.NORMAL:
        return elements
    return held(elements, init.low.real, init.high, dtype)
