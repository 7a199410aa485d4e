"""This module plans how blocks of a kernel could share a part of their shared memory, two by two.

Needs a `SharedMemory` and a machine; nothing is changed. A plan has a number of pairs, the bytes that stay private, and
the variables in the shared part: those with the fewest executed instructions in their access range. The paper's
threshold, a tenth, gives one plan; the others have the most private bytes that a number of pairs leaves.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from binalloc.analysis.executions import UNSEEN, Executions
from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.sharing.access_ranges import Around, access_ranges
from binalloc.analysis.sharing.releases import Release, releases
from binalloc.analysis.sharing.touching import aligned, staying, touching
from binalloc.analysis.sharing.units import Units, units_of
from binalloc.bitset import bits
from binalloc.isa.interface.places import WORD
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.layout import Moment, Unit, in_range, least_in_range, packed, places
from binalloc.models.sharing.pairs import Pairing, Room, fitted, with_threshold

PAPERS_THRESHOLD = Fraction(1, 10)
"""Sections 8.1 and 8.3 of the paper use it for all kernels."""


@dataclass(frozen=True)
class Plan:
    """A plan is a number of pairs with a layout."""

    pairing: Pairing
    private: int  #: private bytes of a block, its slots aside
    distances: tuple[int, ...]  #: bytes by which each unit is moved
    shared: int  #: units that have bytes in the shared part, as a bitset
    threshold: Fraction | None  #: by which the private bytes were cut; None: as many as fit
    instructions: int  #: words in the access range of the shared part
    weight: float  #: how often these are executed
    releases: list[Release]  #: places at which a thread has no more to do with it


@dataclass(frozen=True)
class Plans:
    """The plans of a kernel come with what they were made of."""

    planner: Planner
    every: int  #: words in the access range of all units
    weight: float  #: how often those are executed, per thread
    all: list[Plan]

    @property
    def room(self) -> Room:
        """Return the room of an SM."""
        return self.planner.room

    @property
    def units(self) -> Units:
        """Return the variables that can be moved."""
        return self.planner.units


def plans(memory: SharedMemory, machine: Machine, use: KernelUse) -> Plans:
    """Return the plans of a kernel: that of the paper's threshold, and one for each number of pairs.

    use: what a block needs. There are no plans where no block would be gained.
    """
    planner = Planner(memory, machine, use)
    given: list[tuple[Pairing, Fraction | None]] = [(each, None) for each in fitted(planner.room)]
    paper = with_threshold(planner.room, PAPERS_THRESHOLD)
    if paper is not None:
        given.insert(0, (paper, PAPERS_THRESHOLD))
    every = (1 << len(planner.sizes)) - 1
    found = [planner.plan(*each) for each in given]
    return Plans(planner, _words(planner.moments, every), in_range(planner.moments, every), found)


class Planner:
    """A planner makes plans of one kernel.

    memory: what is known of its shared memory. use: what a block needs. executions: how often warps executed each
    instruction in a run; None to estimate that from loops.
    """

    def __init__(
        self, memory: SharedMemory, machine: Machine, use: KernelUse, executions: Executions | None = None
    ) -> None:
        self.memory, self.machine, self.executions = memory, machine, executions
        self.units = units = units_of(memory)
        self.grain = max([WORD, *(access.memory.size for access in memory.reach.accesses)])
        self.room = self._room(use)
        stays = staying(memory, units)
        self.sizes = [
            Unit(extent.size, align, extent.first if stays >> k & 1 else None, extent.first % align)
            for k, (extent, align) in enumerate(zip(units.extents, aligned(memory, units), strict=True))
        ]
        self.moments = self._moments(access_ranges(memory.program.graph, units.accesses))
        self.whole = sum(moment.weight for moment in self.moments)  #: how often all words are executed, per thread

    def given(self, use: KernelUse) -> Planner:
        """Return the planner of the same kernel with other registers or slots."""
        other = copy.copy(self)
        other.room = self._room(use)
        return other

    def _room(self, use: KernelUse) -> Room:
        return Room.of(self.machine.occupancy(use), self.machine.limits.shared_per_sm, self.grain)

    def plan(self, pairing: Pairing, threshold: Fraction | None = None, *, moved: bool = True) -> Plan:
        """Return the plan with a pairing. moved: whether variables may be moved."""
        private = pairing.private - self.room.slots
        layouts = [tuple(0 for _ in self.sizes)]
        if moved:
            layouts += self._layouts(private)
        found = [self._with(pairing, threshold, private, distances) for distances in layouts]
        return min(found, key=lambda plan: plan.weight)  # of equal ones the first, in which nothing is moved

    def laid_out(self, pairing: Pairing, distances: Sequence[int]) -> Plan:
        """Return the plan with a pairing and a layout. distances: bytes by which each unit is moved. Raises ValueError
        for a layout that is none of this kernel."""
        extents = self.units.extents
        ends = [(e.first + by, e.first + by + e.size) for e, by in zip(extents, distances, strict=True)]
        if any(first < 0 or end > self.memory.reach.size for first, end in ends):
            raise ValueError("a variable leaves the block's memory")
        return self._with(pairing, None, pairing.private - self.room.slots, tuple(distances))

    def _layouts(self, private: int) -> list[tuple[int, ...]]:
        """Return layouts with the variables of the fewest executed instructions behind the private part.

        There is one for each of them that may lie across its end.
        """
        choice = least_in_range(self.sizes, self.moments, private)
        own = packed(self.sizes, bits(~choice.shared & (1 << len(self.sizes)) - 1))
        found = []
        for across in bits(choice.shared):
            order = [*own, across, *(k for k in bits(choice.shared) if k != across)]
            at = places(self.sizes, order, self.memory.reach.size)
            if at is not None:
                found.append(tuple(at[k] - extent.first for k, extent in enumerate(self.units.extents)))
        return found

    def _with(
        self, pairing: Pairing, threshold: Fraction | None, private: int, distances: tuple[int, ...]
    ) -> Plan:
        """Return the plan with a layout."""
        graph = self.memory.program.graph
        accesses = touching(self.memory, self.units, distances, private)
        moments = self._moments(access_ranges(graph, accesses))
        shared = sum(
            1 << k for k, extent in enumerate(self.units.extents) if extent.first + distances[k] + extent.size > private
        )
        return Plan(
            pairing, private, distances, shared, threshold, _words(moments, 1), in_range(moments, 1),
            releases(graph, accesses),
        )  # fmt: skip

    def _moments(self, ranges: dict[str, Around]) -> list[Moment]:
        """Return each reachable word with how often a thread executes it: by a run, else as far as loops let that be
        estimated. A run says nothing of others, so a word that it did not execute has a small weight."""
        program, counts = self.memory.program, self.executions
        if counts is None:
            return [
                moment for name, function in program.functions.items()
                for moment in _estimated(function, ranges[name], program.runs[name])
            ]  # fmt: skip
        entered = max(counts[program.graph.kernel][0], 1)
        return [
            Moment(*ranges[name].at(word), max(counts[name][word] / entered, UNSEEN))
            for name, function in program.functions.items()
            for word in range(len(function.cfg.views)) if function.cfg.reachable(word)
        ]  # fmt: skip


def names_of(units: Units, chosen: int) -> list[str]:
    """Return the names of the variables of some units, by address."""
    return [name for k in bits(chosen) for name in units.extents[k].names]


def _words(moments: Sequence[Moment], units: int) -> int:
    return sum(1 for moment in moments if moment.before & units and moment.after & units)


def _estimated(function: FunctionAnalysis, here: Around, runs: float) -> list[Moment]:
    """Return the reachable words of a function with their weight by loops. runs: how often it is called."""
    cfg = function.cfg
    return [
        Moment(*here.at(word), runs * function.loops.weight[cfg.block_of[word]])
        for word in range(len(cfg.views)) if cfg.reachable(word)
    ]  # fmt: skip
