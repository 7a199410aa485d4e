"""This module plans how blocks of a kernel could share a part of their shared memory, two by two.

Needs a `SharedMemory` and a machine; nothing is changed. A plan has a number of pairs, the bytes that stay private, and
the variables in the shared part: those with the fewest executed instructions in their access range. The paper's
threshold, a tenth, gives one plan; the others have the most private bytes that a number of pairs leaves.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from binalloc.analysis.executions import UNSEEN, Executions
from binalloc.analysis.program import FunctionAnalysis
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.sharing.access_ranges import Accesses, Around, access_ranges
from binalloc.analysis.sharing.releases import Release, releases
from binalloc.analysis.sharing.slot_rows import SlotPlaces, SlotRows, slot_rows
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
    slots: SlotPlaces | None = None  #: where slots are, if two blocks share some


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
        """Return the plan with a pairing. moved: whether variables may be moved. Slots keep their numbers."""
        slots = None if pairing.slots is None else SlotPlaces.unmoved(self.rows, pairing.slots)
        private = self.private_of(pairing)
        shared = least_in_range(self.sizes, self.moments, private).shared if moved else None
        return self._least(pairing, threshold, private, shared, slots)

    def with_slots(
        self, pairing: Pairing, threshold: Fraction | None = None, *, moved: bool = True
    ) -> Plan | None:
        """Return the plan in which slots may be shared like variables; None where all slots are private.

        pairing: its private bytes are those of variables and slots together. moved: whether variables may be moved.
        """
        sizes = self.sizes if moved else [
            unit._replace(stays=extent.first) for unit, extent in zip(self.sizes, self.units.extents, strict=True)
        ]  # fmt: skip
        variables, movable = len(sizes), self.rows.movable
        sizes = [*sizes, *(Unit(self.room.row, 1, None if movable >> k & 1 else 0) for k in range(self.rows.count))]
        graph = self.memory.program.graph
        both = _together(self.units.accesses, self.rows.rows, variables)
        choice = least_in_range(sizes, self._moments(access_ranges(graph, both)), pairing.private)
        slots = _numbered(self.rows, choice.shared >> variables)
        most = -(-self.memory.reach.size // self.grain)  # what is private behind the variables serves nobody
        private = min((pairing.private - slots.own * self.room.row) // self.grain, most) * self.grain
        if slots.own == self.rows.count or private < 0:
            return None
        pairing = replace(pairing, private=private + slots.own * self.room.row, slots=slots.own)
        shared = choice.shared & (1 << variables) - 1 if moved else None
        return self._least(pairing, threshold, private, shared, slots)

    @cached_property
    def rows(self) -> SlotRows:
        """Return the accesses to slots."""
        return slot_rows(self.memory.program)

    def private_of(self, pairing: Pairing) -> int:
        """Return the private bytes of a pairing, its slots aside."""
        return pairing.private - (self.room.slots if pairing.slots is None else pairing.slots * self.room.row)

    def _least(
        self, pairing: Pairing, threshold: Fraction | None, private: int, shared: int | None, slots: SlotPlaces | None
    ) -> Plan:
        """Return the plan of the fewest executed instructions. shared: the units for the shared part, as a bitset; None
        if nothing may be moved."""
        layouts = [tuple(0 for _ in self.sizes)]
        if shared is not None:
            layouts += self._layouts(shared)
        found = [self._with(pairing, threshold, private, distances, slots) for distances in layouts]
        return min(found, key=lambda plan: plan.weight)  # of equal ones the first, in which nothing is moved

    def laid_out(self, pairing: Pairing, distances: Sequence[int], numbers: Sequence[int] | None = None) -> Plan:
        """Return the plan with a pairing and a layout. distances: bytes by which each unit is moved. numbers: of the
        slots, None where two blocks share none. Raises ValueError for a layout that is none of this kernel."""
        extents = self.units.extents
        ends = [(e.first + by, e.first + by + e.size) for e, by in zip(extents, distances, strict=True)]
        if any(first < 0 or end > self.memory.reach.size for first, end in ends):
            raise ValueError("a variable leaves the block's memory")
        slots = None
        if pairing.slots is not None or numbers is not None:
            slots = SlotPlaces(self.rows, tuple(numbers or ()), pairing.slots or 0)
            if pairing.slots is None or not slots.fits:
                raise ValueError("slots have other numbers")
        return self._with(pairing, None, self.private_of(pairing), tuple(distances), slots)

    def _layouts(self, shared: int) -> list[tuple[int, ...]]:
        """Return layouts with some variables behind the private part, one for each of them that may lie across its
        end."""
        own = packed(self.sizes, bits(~shared & (1 << len(self.sizes)) - 1))
        found = []
        for across in bits(shared):
            order = [*own, across, *(k for k in bits(shared) if k != across)]
            at = places(self.sizes, order, self.memory.reach.size)
            if at is not None:
                found.append(tuple(at[k] - extent.first for k, extent in enumerate(self.units.extents)))
        return found

    def _with(
        self, pairing: Pairing, threshold: Fraction | None, private: int, distances: tuple[int, ...],
        slots: SlotPlaces | None,
    ) -> Plan:  # fmt: skip
        """Return the plan with a layout."""
        graph = self.memory.program.graph
        accesses = self._touching(distances, private, slots)
        moments = self._moments(access_ranges(graph, accesses))
        shared = sum(
            1 << k for k, extent in enumerate(self.units.extents) if extent.first + distances[k] + extent.size > private
        )
        return Plan(
            pairing, private, distances, shared, threshold, _words(moments, 1), in_range(moments, 1),
            releases(graph, accesses), slots,
        )  # fmt: skip

    def touching(self, plan: Plan) -> Accesses:
        """Return by function and word 1 where an access may touch what two blocks share."""
        return self._touching(plan.distances, plan.private, plan.slots)

    def _touching(self, distances: Sequence[int], private: int, slots: SlotPlaces | None) -> Accesses:
        found = touching(self.memory, self.units, distances, private)
        return found if slots is None else _together(found, slots.shared(), 0)

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


def _together(one: Accesses, other: Accesses, shift: int) -> Accesses:
    """Return two kinds of accesses as one, with the bits of the second moved up."""
    found = {name: dict(words) for name, words in one.items()}
    for name, words in other.items():
        here = found.setdefault(name, {})
        for word, may in words.items():
            here[word] = here.get(word, 0) | may << shift
    return found


def _numbered(rows: SlotRows, shared: int) -> SlotPlaces:
    """Return numbers for slots of which some are to be shared: those come last, and slots that cannot be exchanged keep
    their numbers. shared: these slots, as a bitset. Where numbers in front are left over, fewer are shared."""
    kept = {slot: slot for slot in range(rows.count) if not rows.movable >> slot & 1}
    movable = [slot for slot in range(rows.count) if slot not in kept]
    movable.sort(key=lambda slot: (shared >> slot & 1, slot))
    free = (number for number in range(rows.count) if number not in kept)
    numbers = kept | dict(zip(movable, free, strict=True))
    own = max((number + 1 for slot, number in numbers.items() if not shared >> slot & 1), default=0)
    return SlotPlaces(rows, tuple(numbers[slot] for slot in range(rows.count)), own)


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
