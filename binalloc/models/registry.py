"""Allocators and search policies by name. A new one is one line here beside the file that implements it.

Needs nothing; leaves two tables of plain data, which the transformation and the pipeline read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from binalloc.errors import UsageError


@dataclass(frozen=True, slots=True)
class Allocator:
    """slots: uses shared-memory slots. priority: which variables keep them (`allocation.slots.PRIORITIES`).

    exact: placement by CP-SAT, warm-started by the heuristic.
    """

    name: str
    summary: str
    slots: bool
    priority: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """measures: levels are run in the emulator; otherwise they are judged by static counts."""

    name: str
    summary: str
    measures: bool


ALLOCATORS: dict[str, Allocator] = {
    a.name: a
    for a in (
        Allocator("local", "registers, then local memory; no slots (the baseline)", False, "cost"),
        Allocator("unified", "slots by frequency and the moving stack, as the unified paper has it", True, "frequency"),
        Allocator("best", "slots by loop-weighted cost, moves only where slots are short", True, "cost"),
        Allocator("cpsat", "as best, each function placed by CP-SAT", True, "cost", exact=True),
    )
}

POLICIES: dict[str, Policy] = {
    p.name: p
    for p in (
        Policy("exhaustive", "every feasible number of blocks in the emulator, the fastest kept", True),
        Policy("unified", "the unified paper's Fig. 5, from static counts alone", False),
    )
}

_Entry = TypeVar("_Entry", Allocator, Policy)


def _find(table: Mapping[str, _Entry], kind: str, name: str) -> _Entry:
    if name not in table:
        raise UsageError(f"unknown {kind}", found=repr(name), expected="one of " + ", ".join(table))
    return table[name]


def allocator(name: str) -> Allocator:
    """The allocator called `name`. Raises UsageError with the known names."""
    return _find(ALLOCATORS, "allocator", name)


def policy(name: str) -> Policy:
    """The search policy called `name`. Raises UsageError with the known names."""
    return _find(POLICIES, "policy", name)
