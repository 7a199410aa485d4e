"""How contents are made: records, and the arrays that follow from them.

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
from binalloc.launch.dtypes import BF16, PART, POINTER, Array, Number, kind_of, rounded
from binalloc.launch.elements.cells import Field, put
from binalloc.launch.elements.layout import Element, Struct, numpy_of, size_of
from binalloc.launch.placing import Target


class InitKind(StrEnum):
    """How contents are made; see `Init`."""

    ZEROS = "zeros"
    ONES = "ones"
    CONSTANT = "constant"
    ARANGE = "arange"
    RANDOM = "random"
    VALUES = "values"
    FIELDS = "fields"
    FILE = "file"


class Distribution(StrEnum):
    """Of random contents; see `Init`."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    INTEGERS = "integers"


@dataclass(frozen=True, slots=True)
class Init:
    """How a buffer is filled before the launch.

    kind: zeros, ones, constant (`low` is the value), arange (`low` + `step` * flat index), random, values (`cells`),
    fields (`parts`), file.
    distribution (random): uniform over [low, high), normal with `mean` and `std`, integers over low..high-1.
    file: what is read, its path resolved against the launch file's folder.
    cells: values by their byte offsets in the whole buffer. parts: of structs, how each member is filled; of a file of
    structs, what replaces what is in it. argument: of pointers, the buffer to whose elements they are, with these
    numbers; negative ones are null.
    """

    kind: InitKind = InitKind.ZEROS
    distribution: Distribution = Distribution.UNIFORM
    low: Number = 0.0
    high: float = 1.0
    step: Number = 1.0
    mean: float = 0.0
    std: float = 1.0
    seed: int = 0
    file: InputFile | None = None
    cells: tuple[Field, ...] = ()
    parts: tuple[tuple[str, Init], ...] = ()
    argument: str = ""

    def pointed(self) -> Iterator[str]:
        """The arguments that pointers in it are to."""
        yield from (f.argument for f in self.cells if f.argument)
        if self.argument:
            yield self.argument
        for _, part in self.parts:
            yield from part.pointed()


@dataclass(frozen=True, slots=True)
class Setting:
    """What contents hang on beside their own record: addresses and sizes of what pointers are to, and whose contents
    they are, in which launch file, for messages."""

    addresses: Mapping[str, int]
    targets: Mapping[str, Target]
    place: str
    launch_path: str


def contents(init: Init, element: Element, shape: tuple[int, ...], setting: Setting) -> Array:
    """Fresh contents, in C order. Numbers beyond the dtype become infinite without a word. Raises MalformedInput for
    files that are missing, unreadable or hold something else, and for pointers beyond a buffer."""
    with np.errstate(all="ignore"):
        return _contents(init, element, shape, setting)


def _contents(init: Init, element: Element, shape: tuple[int, ...], setting: Setting) -> Array:
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


def _structs(init: Init, element: Struct, shape: tuple[int, ...], setting: Setting) -> Array:
    """Structs from a file, or of zeros, and then what single members are said to hold."""
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


def _pointers(init: Init, shape: tuple[int, ...], setting: Setting) -> Array:
    """Addresses of elements of a buffer by their numbers, null for negative ones."""
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
        # Two's complement on purpose: the schema has checked both ends.
        step, start = (int(v.real) & _U64 for v in (init.step, init.low))
        return (index * np.uint64(step) + np.uint64(start)).astype(made).reshape(shape)
    return _random(init, dtype, shape)


_U64 = (1 << 64) - 1


def _random(init: Init, dtype: str, shape: tuple[int, ...]) -> Array:
    """Real numbers of complex ones come first, then their imaginary parts."""
    rng = np.random.default_rng(init.seed)
    if kind_of(dtype) != "c":
        return _within(init, _drawn(rng, init, dtype, shape), dtype)
    real, imaginary = (_drawn(rng, init, "f64", shape) for _ in range(2))
    made = np.asarray(real + 1j * imaginary).astype(numpy_of(dtype))
    made.real, made.imag = (_within(init, part, PART[dtype]) for part in (made.real, made.imag))
    return made


def _drawn(rng: np.random.Generator, init: Init, dtype: str, shape: tuple[int, ...]) -> Array:
    """Numbers as the generator gives them, rounded to the type; bf16 by way of f32."""
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
    """Floats that were drawn from a range, none of them outside of it."""
    if kind_of(dtype) != "f" or init.distribution == Distribution.NORMAL:
        return elements
    return held(elements, init.low.real, init.high, dtype)
