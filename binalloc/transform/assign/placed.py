"""This module defines the input and the result of the scan.

It needs nothing. It leaves data types, and the exception for code without a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from binalloc.transform.virtual.code import VCode
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallRoom


class NoPlace(Exception):
    """`NoPlace` is raised if groups cannot be brought into consecutive, aligned registers at some items, ascending,
    although there are enough registers."""

    def __init__(self, items: Sequence[int]) -> None:
        super().__init__(f"items {list(items)}")
        self.items = sorted(items)


@dataclass
class Placed:
    """Placed code is the result of the scan: every value in it has one register."""

    code: VCode  #: with copies
    register: list[int]  #: by value
    results: dict[int, int] = field(default_factory=dict)  #: location -> register, for callers
    moves: int = 0  #: copies and exchanges that were added


@dataclass
class ScanPlan:
    """A scan plan gives values their preferred registers."""

    flat: Flat
    live: LiveRanges
    sites: dict[int, CallRoom]  #: item -> call
    available: int  #: registers, as bits
    home: list[int]  #: by value, NONE for none
    claims: list[list[int]]  #: by register, the points at which a value begins to use it as its home, ascending
