"""This module keeps virtual code together with facts that most passes need, computed once for each form of the code."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import COPY, Item, VCode
from binalloc.transform.virtual.flat import Flat, flatten
from binalloc.transform.virtual.live_ranges import LiveRanges, deaths, live_ranges

T = TypeVar("T")

_ITSELF = object()
"""This stands for the code itself among its own results. Without it the object would refer to itself, and only the
garbage collector could free it."""


@dataclass(frozen=True, eq=False)
class Analysed:
    """Analysed code is virtual code that does not change any more, with its facts. It is equal to itself alone."""

    code: VCode  #: not to be changed any more
    flat: Flat  #: of that code
    live: LiveRanges  #: of that code
    _found: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, and call it only once. Its result may depend on nothing but this code and
        `what`."""
        if what not in self._found:
            made = make()
            self._found[what] = _ITSELF if made is self else made
        found = self._found[what]
        return cast("T", self if found is _ITSELF else found)

    @cached_property
    def order(self) -> tuple[tuple[str, int], ...]:
        """Return the order of the lines: of each one its kind and the original instruction that it stands for."""
        return tuple((item.kind, item.origin) for item in self.flat.items)

    def copied(self) -> VCode:
        """Return a copy of the code, to be changed. The copy shares the items, which nobody changes."""
        blocks = [replace(block, items=list(block.items)) for block in self.code.blocks]
        code = self.code
        return replace(code, blocks=blocks, names=list(code.names), before=dict(code.before), held=dict(code.held))


def analysed(code: VCode) -> Analysed:
    flat = flatten(code)
    return Analysed(code, flat, live_ranges(flat, len(code.names)))


def without_dead_copies(code: VCode) -> Analysed:
    """Remove copies that nobody reads from the code, in place, and return it. Stores to local words that are values
    here are such copies."""
    _drop_unread_copies(code)
    while True:
        given = analysed(code)
        dead = deaths(given.flat, given.live)[1]
        gone = {k for k in dead if given.flat.items[k].kind == COPY}
        if not gone:
            return given
        for b, block in enumerate(code.blocks):
            block.items = [item for k, item in enumerate(block.items, given.flat.starts[b]) if k not in gone]


def _drop_unread_copies(code: VCode) -> None:
    """Drop copies with a target that no line reads, and copies feeding only them. No liveness is needed to find
    these."""
    reads = [0] * len(code.names)
    copies: dict[Value, list[Item]] = {}
    for item in code.items():
        if item.kind == COPY:
            copies.setdefault(item.defs[0].values[0], []).append(item)
        for operand in item.uses:
            for v in operand.values:
                reads[v] += 1
    unread = [v for v in copies if not reads[v]]
    gone: set[int] = set()
    for v in unread:
        for item in copies[v]:
            gone.add(id(item))
            source = item.uses[0].values[0]
            reads[source] -= 1
            if not reads[source] and source in copies:
                unread.append(source)
    if gone:
        for block in code.blocks:
            block.items = [item for item in block.items if id(item) not in gone]
