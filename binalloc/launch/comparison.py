"""When two contents of a buffer count as the same, and what differs where they do not.

Needs launches. Leaves true: structs are compared field by field, and what lies between fields counts for nothing; a
tolerance is for floats and complex numbers in them, all else has the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.dtypes import POINTER, Array, kind_of, plain_bits, shown
from binalloc.launch.elements.layout import Leaf, packed
from binalloc.launch.types import Argument, ArgumentKind, Compare, CompareMode, Launch

Shown = int | float | complex | str
"""A value as it is told: of pointers, what they are to."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One buffer that differs. index: of the first differing element (for unordered: position in sorted bit patterns);
    expected, actual: the values there, and their bits in `patterns` where both are NaN; count of `total` elements
    differ. field: of a struct, which part of it; offset: its first byte in the element, bytes: its size."""

    name: str
    index: tuple[int, ...]
    expected: Shown
    actual: Shown
    count: int
    total: int
    mode: CompareMode
    patterns: tuple[int, int] | None = None
    field: str = ""
    offset: int = 0
    bytes: int | None = None

    @property
    def element(self) -> str:
        """`x[3].pos`: what differs."""
        return f"{self.name}[{', '.join(map(str, self.index))}]{self.field}"

    def __str__(self) -> str:
        want, got = ("", "") if self.patterns is None else (f" {pattern:#x}" for pattern in self.patterns)
        expected, actual = (v if isinstance(v, str) else repr(v) for v in (self.expected, self.actual))
        return (
            f"{self.element}: {actual}{got}, expected {expected}{want} "
            f"({self.mode}; {self.count} of {self.total} elements differ)"
        )


def compare(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """The buffers named in `expected` whose contents in `actual` are not the same in the launch file's sense.

    Empty where all are. Raises UsageError where `actual` lacks a buffer or holds another shape or dtype.
    """
    out: list[Difference] = []
    for a in launch.buffers:
        if a.name not in expected or a.compare.mode == CompareMode.IGNORE:
            continue
        want = expected[a.name]
        got = actual.get(a.name)
        if got is None or got.shape != want.shape or got.dtype != want.dtype:
            raise UsageError(
                "the results do not have the launch's shape",
                place=a.name,
                found="nothing" if got is None else f"{got.dtype} {list(got.shape)}",
                expected=f"{want.dtype} {list(want.shape)}",
            )
        if a.compare.mode == CompareMode.UNORDERED:
            want, got = (in_order(x, a) for x in (want, got))
        difference = _difference(launch, a, want, got)
        if difference is not None:
            out.append(difference)
    return out


def in_order(contents: Array, a: Argument) -> Array:
    """The elements along one axis, in the order of their bits, those of padding left out."""
    flat = np.ascontiguousarray(contents).reshape(-1)
    if a.struct is None and flat.dtype.itemsize <= 8:
        return np.sort(plain_bits(flat)).view(flat.dtype)
    rows = np.ascontiguousarray(packed(flat, a.element))
    order = np.argsort(rows.view(f"V{rows.shape[-1]}").reshape(-1), kind="stable")
    return flat[order]


def counted(contents: Array, a: Argument) -> bytes:
    """The bytes of contents that count where bits are compared."""
    return np.ascontiguousarray(contents).tobytes() if a.struct is None else packed(contents, a.struct).tobytes()


def _difference(launch: Launch, a: Argument, want: Array, got: Array) -> Difference | None:
    """What differs of one buffer: the first element, and of a struct the first of its fields."""
    parts = _parts(a)
    wrong = [_differs(_of(leaf, want), _of(leaf, got), dtype, a) for leaf, dtype in parts]
    axes = tuple(range(want.ndim))
    bad = np.zeros(want.shape, bool)
    for part in wrong:
        bad |= part.any(axis=tuple(range(len(axes), part.ndim))) if part.ndim > len(axes) else part
    count = int(np.count_nonzero(bad))
    if not count:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    leaf, dtype, part = next((p[0], p[1], w) for p, w in zip(parts, wrong, strict=True) if w[index].any())
    inner = tuple(int(i) for i in np.unravel_index(int(np.argmax(part[index])), part[index].shape))
    values = [shown(_of(leaf, x)[(*index, *inner)].reshape(1), dtype) for x in (want, got)]
    one, other = (_told(launch, value, dtype) for value in values)
    patterns = None
    if one != one and other != other:
        bits = [int.from_bytes(_of(leaf, x)[(*index, *inner)].tobytes(), "little") for x in (want, got)]
        patterns = bits[0], bits[1]
    found = Difference(a.name, index, one, other, count, bad.size, a.compare.mode, patterns)
    if leaf is None:
        return found
    place, size = _place(want, leaf, index, inner)
    return replace(found, field=leaf.spelled(inner), offset=place, bytes=size)


def _parts(a: Argument) -> list[tuple[Leaf | None, str]]:
    """What is compared of its elements, each with its dtype: of structs their numbers and pointers."""
    return [(None, a.dtype)] if a.struct is None else [(leaf, leaf.dtype) for leaf in a.struct.leaves()]


def _of(leaf: Leaf | None, elements: Array) -> Array:
    return elements if leaf is None else leaf.of(elements)


def _place(elements: Array, leaf: Leaf, index: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, int]:
    """The first byte of a number in its element, and how many it has."""
    part = leaf.of(elements)
    strides = part.strides[len(index) :]
    return leaf.offset + sum(i * stride for i, stride in zip(inner, strides, strict=True)), part.dtype.itemsize


def _differs(want: Array, got: Array, dtype: str, a: Argument) -> Array:
    """True where two numbers are not the same in the buffer's sense."""
    real = want.dtype.kind in "fc" or kind_of(dtype) == "f"
    if a.compare.mode == CompareMode.TOLERANCE and dtype != POINTER and (a.struct is None or real):
        return _tolerance(shown(want, dtype), shown(got, dtype), a.compare)
    bits = plain_bits(want) != plain_bits(got)
    return np.asarray(bits.any(axis=-1) if bits.ndim > want.ndim else bits)


def _told(launch: Launch, value: Array, dtype: str) -> Shown:
    """One value as it is told."""
    plain: Shown = value[0].item()
    if dtype != POINTER or not isinstance(plain, int):
        return plain
    if plain == 0:
        return "null"
    pointee = launch.pointee(plain)
    return f"{plain:#x}" if pointee is None else f"{plain:#x} ({pointee[0]} + {pointee[1]})"


def variable_name(name: str) -> str:
    """What a global variable of the module is called among buffers."""
    return f".global {name}"


def compare_globals(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """The module's global variables that do not hold the same bits after two runs, as `compare` lists buffers.

    Those that the launch names are left out: `compare` judges them as the launch says.
    """
    out = []
    named = {a.name for a in launch.arguments if a.kind == ArgumentKind.SYMBOL}
    for name, want in expected.items():
        if name in named:
            continue
        got = actual.get(name)
        if got is None or got.shape != want.shape or got.dtype != want.dtype:
            raise UsageError("the two binaries do not have the same global variables", place=name)
        bad = want != got
        if bad.any():
            at = int(np.argmax(bad))
            count = int(np.count_nonzero(bad))
            out.append(
                Difference(variable_name(name), (at,), int(want[at]), int(got[at]), count, bad.size, CompareMode.EXACT)
            )
    return out


def _tolerance(want: Array, got: Array, c: Compare) -> Array:
    """True where the values differ by more than the tolerance; NaN equals NaN, an infinity only itself. Complex ones
    are as far apart as they are in the plane; where the expected one has no finite size there, each part is judged by
    itself."""
    if want.dtype.kind not in "fc":
        wide = want.astype(object), got.astype(object)  # Python integers: no overflow in 64 bits
        return np.asarray(abs(wide[1] - wide[0]) > c.atol + c.rtol * abs(wide[0]), bool)
    if want.dtype.kind == "f":
        return ~_near(want.astype(np.float64), got.astype(np.float64), c)
    a, b = want.astype(np.complex128), got.astype(np.complex128)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(a)
        near = np.isfinite(b) & (np.abs(b - a) <= c.atol + c.rtol * size)
    parts = _near(a.real, b.real, c) & _near(a.imag, b.imag, c)
    return np.asarray(~np.where(np.isfinite(size), near, parts))


def _near(a: Array, b: Array, c: Compare) -> Array:
    """True where real numbers are within the tolerance of `a`, which is expected."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(b - a) <= c.atol + c.rtol * np.abs(a))
    return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))
