"""`field` of a step that sets names a number or pointer of a struct, `corner[1].y`.

Needs layouts. Leaves true: members and indices exist in the structs on the path.
"""

from __future__ import annotations

import math
import re

import numpy as np

from binalloc.launch.elements.layout import Element
from binalloc.launch.program.expressions import Path
from binalloc.launch.values import At
from binalloc.printable import quoted

_STEP = re.compile(r"([\w$]+)(?:\[\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\])?", re.ASCII)
"""A member's name, and indices where it is an array; no axis needs more than 9 digits."""
_EXPECTED = 'names of fields, "pos.x" where structs nest, "pos[1].x" for one place of an array, in integers'


def parse_field(given: object, element: Element, at: At) -> tuple[Path, Element]:
    """Return the path that `field` gives from an element: names of members, each with its index where it is an array
    and has one; and the type at its end. Raises MalformedInput where there is no such path."""
    steps = [_STEP.fullmatch(step) for step in given.split(".")] if isinstance(given, str) else [None]
    path: list[str | tuple[int, ...]] = []
    for step in steps:
        if step is None or isinstance(element, str):
            at.fail("no field of a struct", quoted(given), _EXPECTED)
        name, place = step.groups()
        member = element.member(at.one_of(name, [m.name for m in element.members]))
        assert member is not None
        path.append(name)
        if place is not None:
            path.append(_place(tuple(map(int, place.split(","))), name, member.shape, at))
        element = member.element
    return tuple(path), element


def _place(index: tuple[int, ...], name: str, shape: tuple[int, ...], at: At) -> tuple[int, ...]:
    """Return an index in an array of that shape, given by one number for each axis, or one in C order."""
    found = f"{name}[{', '.join(map(str, index))}]"
    if not shape:
        at.fail("no array", found, name)
    sides = shape if len(index) == len(shape) else (math.prod(shape),)
    if len(index) != len(sides) or not all(i < n for i, n in zip(index, sides, strict=True)):
        ends = "indices from 0 to " + ", ".join(str(n - 1) for n in shape)
        at.fail("no such place in the array", found, ends + (", or one in C order" if len(shape) > 1 else ""))
    return tuple(int(i) for i in np.unravel_index(np.ravel_multi_index(index, sides), shape))
