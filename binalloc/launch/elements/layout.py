"""Structs are laid out in memory here as in C: members in order, each at a multiple of its alignment.

Needs the dtypes. Leaves true: members do not overlap, and each lies inside of its struct; NumPy's dtype of a struct has
its offsets and size. A complex number is aligned to its size, as CUDA's are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from binalloc.launch.numbers.dtypes import DTYPE_NAMES, DTYPES, Array, plain_bits

Element: TypeAlias = "str | Struct"  # the type of a buffer's elements: a dtype by its name, or a struct
MAX_AXES = 32
"""Axes of a buffer, with those of array members of its elements: NumPy 1 has no more."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct is one `element` at a byte offset, or an array of them."""

    name: str
    element: Element
    offset: int
    shape: tuple[int, ...] = ()  #: of an array; () for one element

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * size_of(self.element)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf is a number or pointer in a struct, or an array of such."""

    path: tuple[tuple[str, int], ...]  #: names of members from the outside in, each with its number of axes
    dtype: str
    offset: int  #: bytes; in arrays of structs, of the first

    @property
    def axes(self) -> int:
        """Return the number of its axes, with the axes of arrays around it."""
        return sum(axes for _, axes in self.path)

    def of(self, elements: Array) -> Array:
        """Return this leaf of all elements, its own axes behind theirs; a view."""
        for name, _ in self.path:
            elements = elements[name]
        return elements

    def spelled(self, index: tuple[int, ...]) -> str:
        """Return the text of one of its elements: `.pos[2].x`."""
        out, at = "", 0
        for name, axes in self.path:
            own = ", ".join(map(str, index[at : at + axes]))
            out, at = out + f".{name}" + (f"[{own}]" if axes else ""), at + axes
        return out


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct type has members at byte offsets, a size and an alignment."""

    name: str
    members: tuple[Member, ...]
    bytes: int  #: its size
    align: int  #: its alignment in bytes

    def member(self, name: str) -> Member | None:
        """Return the member of that name, None where there is none."""
        return next((m for m in self.members if m.name == name), None)

    def leaves(self) -> Iterator[Leaf]:
        """Yield all numbers and pointers in it, in the order of members."""
        for m in self.members:
            here = (m.name, len(m.shape))
            if isinstance(m.element, str):
                yield Leaf((here,), m.element, m.offset)
            else:
                for leaf in m.element.leaves():
                    yield Leaf((here, *leaf.path), leaf.dtype, m.offset + leaf.offset)


def size_of(element: Element) -> int:
    """Return the bytes of an element."""
    return DTYPES[element].itemsize if isinstance(element, str) else element.bytes


def align_of(element: Element) -> int:
    """Return the alignment of an element in bytes."""
    return DTYPES[element].itemsize if isinstance(element, str) else element.align


@lru_cache(maxsize=1024)
def numpy_of(element: Element) -> np.dtype[Any]:
    """Return NumPy's dtype of an element. Its fields are in the order of their offsets, whatever the order of the
    struct's members: .npy files have no other order."""
    if isinstance(element, str):
        return DTYPES[element]
    given = np.dtype(
        {
            "names": [m.name for m in element.members],
            "formats": [(numpy_of(m.element), m.shape) for m in element.members],
            "offsets": [m.offset for m in element.members],
            "itemsize": element.bytes,
        }
    )
    return by_offset(given)


def by_offset(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype with its fields, and their fields, in the order of their offsets."""
    if dtype.names is None or dtype.fields is None:
        return dtype
    fields = sorted((dtype.fields[name][1], name, dtype.fields[name][0]) for name in dtype.names)
    return np.dtype(
        {
            "names": [name for _, name, _ in fields],
            "formats": [(by_offset(field.base), field.shape) for _, _, field in fields],
            "offsets": [offset for offset, _, _ in fields],
            "itemsize": dtype.itemsize,
        }
    )


def element_of(dtype: np.dtype[Any], name: str = "struct") -> Element | None:
    """Return the element for NumPy's dtype; None where it is not made of numbers, truth values and structs of them."""
    if dtype.names is None or dtype.fields is None:
        return DTYPE_NAMES.get(dtype)
    members = []
    for key in dtype.names:
        field, offset = dtype.fields[key][:2]
        element = element_of(field.base, key)
        if element is None:
            return None
        members.append(Member(key, element, offset, field.shape))
    return Struct(name, tuple(members), dtype.itemsize, dtype.alignment)


def number_at(dtype: np.dtype[Any], offset: int, size: int) -> np.dtype[Any] | None:
    """Return the dtype of the number of `size` bytes at byte `offset` of an element; None where there is none."""
    offset %= dtype.itemsize
    if dtype.names is None or dtype.fields is None:
        return dtype if offset == 0 and size == dtype.itemsize else None
    for name in dtype.names:
        field, start = dtype.fields[name][:2]
        if start <= offset < start + field.itemsize:
            return number_at(field.base, offset - start, size)
    return None


def inside(element: Element, path: Iterable[str | tuple[int, ...]]) -> Element:
    """Return the element at the end of a path from an element: names of members, and indices. Indices do not change the
    type."""
    for step in path:
        if isinstance(step, str) and not isinstance(element, str):
            member = element.member(step)
            assert member is not None
            element = member.element
    return element


def packed(elements: Array, element: Element) -> Array:
    """Return the bytes of elements that count when bits are compared, along a new last axis: all but padding."""
    if isinstance(element, str):
        return plain_bits(elements).view("u1").reshape(*elements.shape, -1)
    parts = [packed(leaf.of(elements), leaf.dtype).reshape(*elements.shape, -1) for leaf in element.leaves()]
    return np.concatenate(parts, axis=-1)
