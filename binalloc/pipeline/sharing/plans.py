"""This module plans how blocks of a kernel could share a part of their shared memory, two by two.

Needs a `SharedMemory` and a machine; nothing is changed. A plan has a number of pairs, the bytes that stay private, and
the variables in the shared part: those with the fewest executed instructions in their access range. The paper's
threshold, a tenth, gives one plan; the others have the most private bytes that a number of pairs leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.sharing.access_ranges import Around, access_ranges
from binalloc.analysis.sharing.releases import Release, releases
from binalloc.analysis.sharing.units import Units, units_of
from binalloc.bitset import bits
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.layout import Choice, Moment, Unit, in_range, least_in_range
from binalloc.models.sharing.pairs import Pairing, Room, fitted, with_threshold

PAPERS_THRESHOLD = Fraction(1, 10)
"""Sections 8.1 and 8.3 of the paper use it for all kernels."""


@dataclass(frozen=True)
class Plan:
    """A plan is a number of pairs with a layout."""

    pairing: Pairing
    choice: Choice
    threshold: Fraction | None  #: by which the private bytes were cut; None: as many as fit
    instructions: int  #: words in the access range of the shared part
    releases: list[Release]  #: places at which a thread has no more to do with it


@dataclass(frozen=True)
class Plans:
    """The plans of a kernel come with what they were made of."""

    room: Room
    units: Units
    every: int  #: words in the access range of all units
    weight: float  #: how often those are executed, per thread
    whole: float  #: how often all words are executed
    all: list[Plan]


def plans(memory: SharedMemory, machine: Machine, use: KernelUse) -> Plans:
    """Return the plans of a kernel: that of the paper's threshold, and one for each number of pairs.

    use: what a block needs. There are no plans where no block would be gained.
    """
    units = units_of(memory)
    moments = _moments(memory, access_ranges(memory.program.graph, units.accesses))
    room = Room.of(machine.occupancy(use), machine.limits.shared_per_sm)
    given: list[tuple[Pairing, Fraction | None]] = [(each, None) for each in fitted(room)]
    paper = with_threshold(room, PAPERS_THRESHOLD)
    if paper is not None:
        given.insert(0, (paper, PAPERS_THRESHOLD))
    sizes = [Unit(extent.size, extent.align) for extent in units.extents]
    every = (1 << len(sizes)) - 1
    found = []
    for pairing, threshold in given:
        choice = least_in_range(sizes, moments, pairing.private)
        placed = releases(memory.program.graph, _touching(units, choice.shared))
        found.append(Plan(pairing, choice, threshold, _words(moments, choice.shared), placed))
    whole = sum(moment.weight for moment in moments)
    return Plans(room, units, _words(moments, every), in_range(moments, every), whole, found)


def names_of(units: Units, chosen: int) -> list[str]:
    """Return the names of the variables of some units, by address."""
    return [name for k in bits(chosen) for name in units.extents[k].names]


def _touching(units: Units, chosen: int) -> dict[str, dict[int, int]]:
    """Return by function and word which of some units it may access."""
    return {name: {word: by & chosen for word, by in words.items()} for name, words in units.accesses.items()}


def _words(moments: Sequence[Moment], units: int) -> int:
    return sum(1 for moment in moments if moment.before & units and moment.after & units)


def _moments(memory: SharedMemory, ranges: dict[str, Around]) -> list[Moment]:
    """Return each reachable word with how often a thread executes it, as far as loops let that be estimated."""
    program = memory.program
    return [
        moment for name, function in program.functions.items()
        for moment in _moments_of(function, ranges, program.runs[name])
    ]  # fmt: skip


def _moments_of(function: FunctionAnalysis, ranges: dict[str, Around], runs: float) -> list[Moment]:
    cfg, here = function.cfg, ranges[function.name]
    return [
        Moment(*here.at(word), runs * function.loops.weight[cfg.block_of[word]])
        for word in range(len(cfg.views)) if cfg.reachable(word)
    ]  # fmt: skip
