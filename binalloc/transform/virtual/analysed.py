"""Virtual code with what most passes ask of it, worked out once for each form that the code takes."""

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
"""What stands for the code among what it has found: that it would otherwise hold itself until a collector comes."""


@dataclass(frozen=True, eq=False)
class Analysed:
    """code: not to be changed any more. flat, live: of that code. Equal to itself alone."""

    code: VCode
    flat: Flat
    live: LiveRanges
    _found: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, which nothing but this code and `what` decides."""
        if what not in self._found:
            made = make()
            self._found[what] = _ITSELF if made is self else made
        found = self._found[what]
        return cast("T", self if found is _ITSELF else found)

    @cached_property
    def order(self) -> tuple[tuple[str, int], ...]:
        """What stands in which place: by line, what it is and the original instruction that it stands for."""
        return tuple((item.kind, item.origin) for item in self.flat.items)

    def copied(self) -> VCode:
        """The code once more, to be changed; its items, which nobody changes, are shared."""
        blocks = [replace(block, items=list(block.items)) for block in self.code.blocks]
        code = self.code
        return replace(code, blocks=blocks, names=list(code.names), before=dict(code.before), held=dict(code.held))


def analysed(code: VCode) -> Analysed:
    flat = flatten(code)
    return Analysed(code, flat, live_ranges(flat, len(code.names)))


def without_dead_copies(code: VCode) -> Analysed:
    """The code, changed in place, without copies that nobody reads, such as stores to local words that are values
    here."""
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
    """Drop copies whose target no line reads at all, which takes no liveness to see, and those that feed only them."""
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
