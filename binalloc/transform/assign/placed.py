"""What the scan goes by, and what it leaves.

Needs nothing; leaves data types and the exception where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from binalloc.transform.virtual.code import VCode
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallSite


class NoPlace(Exception):
    """Pairs and quads cannot be brought side by side at some items, ascending, though the registers suffice by
    number."""

    def __init__(self, items: Sequence[int]) -> None:
        super().__init__(f"items {list(items)}")
        self.items = sorted(items)


@dataclass
class Placed:
    """code: with copies. register: by value. results: location -> register, for callers. moves: copies and exchanges
    that were added."""

    code: VCode
    register: list[int]
    results: dict[int, int] = field(default_factory=dict)
    moves: int = 0


@dataclass
class ScanPlan:
    """What the scan goes by. home: by value, NONE for none. claims: by register, the points at which somebody's home
    begins to be used, ascending."""

    flat: Flat
    live: LiveRanges
    sites: dict[int, CallSite]
    available: int
    home: list[int]
    claims: list[list[int]]
