"""Two contents of a buffer are compared here, and their differences are described.

Needs launches. Leaves true: structs are compared field by field, and the bytes between fields do not count. A tolerance
applies to floats and complex numbers in them; all else must have the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.elements.layout import Leaf, packed
from binalloc.launch.numbers.dtypes import POINTER, Array, kind_of, plain_bits, shown
from binalloc.launch.types import Argument, ArgumentKind, Compare, CompareMode, Launch

Shown = int | float | complex | str  # a value as messages show it; a pointer is shown with its target


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference describes how one buffer differs: `count` of `total` elements are not the same."""

    name: str  #: of the buffer
    index: tuple[int, ...]  #: of the first differing element; for unordered: position in the sorted bit patterns
    expected: Shown  #: the value there
    actual: Shown  #: the value there
    count: int
    total: int
    mode: CompareMode
    patterns: tuple[int, int] | None = None  #: the bits of both values, where both are NaN
    field: str = ""  #: of a struct: the part that differs
    offset: int = 0  #: of a struct: its first byte in the element
    bytes: int | None = None  #: of a struct: its size

    @property
    def element(self) -> str:
        """Return the part that differs: `x[3].pos`."""
        return f"{self.name}[{', '.join(map(str, self.index))}]{self.field}"

    def __str__(self) -> str:
        want, got = ("", "") if self.patterns is None else (f" {pattern:#x}" for pattern in self.patterns)
        expected, actual = (v if isinstance(v, str) else repr(v) for v in (self.expected, self.actual))
        return (
            f"{self.element}: {actual}{got}, expected {expected}{want} "
            f"({self.mode}; {self.count} of {self.total} elements differ)"
        )


def compare(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """Return a difference for each buffer in `expected` whose contents in `actual` are not the same in the launch
    file's sense.

    The list is empty where all are. Raises UsageError where `actual` lacks a buffer or has another shape or dtype.
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
    """Return the elements along one axis, in the order of their bits without padding."""
    flat = np.ascontiguousarray(contents).reshape(-1)
    if a.struct is None and flat.dtype.itemsize <= 8:
        return np.sort(plain_bits(flat)).view(flat.dtype)
    rows = np.ascontiguousarray(packed(flat, a.element))
    order = np.argsort(rows.view(f"V{rows.shape[-1]}").reshape(-1), kind="stable")
    return flat[order]


def counted(contents: Array, a: Argument) -> bytes:
    """Return the bytes of contents without padding: these count where bits are compared."""
    return np.ascontiguousarray(contents).tobytes() if a.struct is None else packed(contents, a.struct).tobytes()


def _difference(launch: Launch, a: Argument, want: Array, got: Array) -> Difference | None:
    """Return the difference of one buffer: at its first wrong element, and of a struct at the first wrong field; None
    where there is none."""
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
    one, other = (_in_words(launch, value, dtype) for value in values)
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
    """Return the parts of an element that are compared, each with its dtype: of structs their numbers and pointers."""
    return [(None, a.dtype)] if a.struct is None else [(leaf, leaf.dtype) for leaf in a.struct.leaves()]


def _of(leaf: Leaf | None, elements: Array) -> Array:
    """Return a part of all elements."""
    return elements if leaf is None else leaf.of(elements)


def _place(elements: Array, leaf: Leaf, index: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, int]:
    """Return the first byte of a number in its element, and the number of its bytes."""
    part = leaf.of(elements)
    strides = part.strides[len(index) :]
    return leaf.offset + sum(i * stride for i, stride in zip(inner, strides, strict=True)), part.dtype.itemsize


def _differs(want: Array, got: Array, dtype: str, a: Argument) -> Array:
    """Return an array that is true where two numbers are not the same in the buffer's sense."""
    real = want.dtype.kind in "fc" or kind_of(dtype) == "f"
    if a.compare.mode == CompareMode.TOLERANCE and dtype != POINTER and (a.struct is None or real):
        return _tolerance(shown(want, dtype), shown(got, dtype), a.compare)
    bits = plain_bits(want) != plain_bits(got)
    return np.asarray(bits.any(axis=-1) if bits.ndim > want.ndim else bits)


def _in_words(launch: Launch, value: Array, dtype: str) -> Shown:
    """Return one value as messages show it."""
    plain: Shown = value[0].item()
    if dtype != POINTER or not isinstance(plain, int):
        return plain
    if plain == 0:
        return "null"
    pointee = launch.pointee(plain)
    return f"{plain:#x}" if pointee is None else f"{plain:#x} ({pointee[0]} + {pointee[1]})"


def variable_name(name: str) -> str:
    """Return the name of a global variable of the module among buffers."""
    return f".global {name}"


def compare_globals(launch: Launch, expected: Mapping[str, Array], actual: Mapping[str, Array]) -> list[Difference]:
    """Return a difference for each global variable of the module that does not hold the same bits after two runs.

    Variables that the launch names are left out: `compare` compares them as the launch says.
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
    """Return an array that is true where the values differ by more than the tolerance. NaN equals NaN, an infinity only
    itself. The distance of complex numbers is that in the plane; where the expected one is not finite, each part is
    compared by itself."""
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
    """Return an array that is true where real numbers are within the tolerance of `a`, the expected ones."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(b - a) <= c.atol + c.rtol * np.abs(a))
    return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))
