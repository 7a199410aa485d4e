"""This module explains to people why values were spilled, where they went and how much they cost, once the allocation
is done.

It needs allocations with the rounds in which they spilled, and the places of memory values. It changes neither. Points
are given as instructions of the input, weights and costs per run of the kernel. A part of a value that one round has
made is a value of its own in the next. Its name begins with the name of the original value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from binalloc.analysis.locations import Location
from binalloc.isa.instruction import Instr
from binalloc.models.allocation.stack.slots import ProcedurePlan
from binalloc.models.allocation.terms import Value
from binalloc.transform.allocate.functions.registers import RegisterAllocation
from binalloc.transform.spill.spill import Round
from binalloc.transform.virtual.code import AGAIN, ENTRY, RELOAD, STORE

_ALTERNATIVES = 3  # upper limit of values that are listed as alternatives to a spilled one, so that reports stay short


@dataclass(frozen=True)
class Candidate:
    """A candidate is a value that might have been spilled at a point."""

    name: str
    cost: float  #: cost of spilling it, by weight, as the choice counts it
    relieves: int  #: points with too many values that this would relieve

    @property
    def each(self) -> float:
        """Return the cost per point relieved; the choice takes the smallest first."""
        return self.cost / max(self.relieves, 1)


@dataclass(frozen=True)
class Stay:
    """A stay is a part of the code in which a spilled value is in no register. It lies between two instructions; -1 is
    the entry."""

    after: int
    until: int  #: in a loop this may be the lower one


@dataclass
class Why:
    """A reason explains one round's choice, at the worst instruction of the stays."""

    at: int  #: the instruction at which most registers are missing while the value is spilled
    callee: str  #: the function called, if that point is inside of a call
    pressure: int  #: registers that values take there
    capacity: int  #: registers that there are
    chosen: Candidate  #: the value itself
    #: other values that live there and stayed, the cheapest first
    instead: list[Candidate] = field(default_factory=list)

    @property
    def excess(self) -> int:
        return self.pressure - self.capacity


@dataclass
class Spilled:
    """A spilled value is not in a register everywhere."""

    function: str
    value: int
    name: str
    defined: list[int] = field(default_factory=list)  #: instructions that define it
    whys: list[Why] = field(default_factory=list)  #: one for each round that spilled a part of it
    stays: list[Stay] = field(default_factory=list)  #: parts of the code in which it is in no register
    whole: bool = False  #: it is in a register at its accesses only
    slot: int | None = None  #: the slot in which memory holds it, None if in none
    local: int | None = None  #: the word of the spill area in which memory holds it, None if in none
    no_slot: str = ""  #: why it is not in a slot
    around: list[int] = field(default_factory=list)  #: other slots, to which it is moved around calls
    #: the instructions that recompute it; different rounds may set this and `kept`
    again: list[Instr] = field(default_factory=list)
    kept: str = ""  #: why it is not recomputed
    passed: bool = False  #: it is an argument that arrives in memory; then the stores are its callers'
    accesses: float = 0.0  #: weight of the items that define and use it
    loads: tuple[int, float] = (0, 0.0)  #: instructions in the end, (number, by weight)
    stores: tuple[int, float] = (0, 0.0)  #: likewise
    recomputations: tuple[int, float] = (0, 0.0)  #: likewise


def explain(
    name: str,
    allocation: RegisterAllocation,
    plan: ProcedurePlan,
    words: Sequence[int],
    runs: float,
    access: float,
    passes: Mapping[Location, tuple[int, float]] | None = None,
) -> list[Spilled]:
    """List the spilled values of function `name`. words: by instruction as analysed, the word in the input. runs: of
    the function per run of the kernel. access: cost of an access to memory, in accesses to a slot. passes: by argument
    passed in memory, the stores of its callers, (number, by weight, per run of the kernel)."""
    found: dict[int, Spilled] = {}
    for number, one in enumerate(allocation.rounds):
        _RoundExplainer(name, one, found, words, access / one.comebacks.prices.usual).run(first=number == 0)
    _add_arguments(name, allocation, found)
    _add_whole_registers(name, allocation, found, words)
    _count(allocation, found)
    for spilled in found.values():
        _by_runs(spilled, runs)
    _count_passed(allocation, found, passes or {})
    place = {v: k for k, v in enumerate(allocation.memory)}
    around = _around_calls(allocation, plan)
    for v, spilled in found.items():
        spilled.around = sorted(around.get(v, set()))
        k = place.get(allocation.code.held.get(Value(v), Value(v)), -1)
        spilled.slot = plan.slot_of.get(k)
        if k in plan.local_of:
            spilled.local = plan.local_offset + plan.local_of[k]
            spilled.no_slot = "others have the slots" if plan.budget else "there are no slots"
    return [found[v] for v in sorted(found)]


def _around_calls(allocation: RegisterAllocation, plan: ProcedurePlan) -> dict[int, set[int]]:
    """Return, by memory value, the other slots in which moves at calls put it."""
    found: dict[int, set[int]] = {}
    for site in plan.sites:
        for move in site.moves:
            found.setdefault(allocation.memory[move.variable], set()).add(move.target)
    accesses = [item.memory for item in allocation.code.items() if item.kind in (RELOAD, STORE)]
    for number, slot in plan.moved.items():
        found.setdefault(accesses[number], set()).add(slot)
    return found


def _add_arguments(name: str, allocation: RegisterAllocation, found: dict[int, Spilled]) -> None:
    """Add arguments that arrived in memory."""
    given = allocation.given
    for v in allocation.code.arrives.values():
        if v not in allocation.memory:
            continue
        if v not in found:
            found[v] = Spilled(name, v, given.code.names[v])
            uses = zip(given.flat.items, given.flat.uses, strict=True)
            found[v].accesses = sum(item.weight for item, read in uses if v in read)
        found[v].defined, found[v].passed = [-1], True
        found[v].kept = "an argument that arrives in memory"


def _count_passed(
    allocation: RegisterAllocation, found: dict[int, Spilled], passes: Mapping[Location, tuple[int, float]]
) -> None:
    """Count the stores of arguments that arrived in memory; they are the callers'."""
    for location, v in allocation.code.arrives.items():
        if v in found:
            found[v].stores = passes.get(location, (0, 0.0))


def _add_whole_registers(
    name: str, allocation: RegisterAllocation, found: dict[int, Spilled], words: Sequence[int]
) -> None:
    """Add values that are in memory although no round chose them: such a value has all contents of one register or
    local word of the input."""
    given = allocation.given
    for word in allocation.memory:
        if word in found:
            continue
        place = allocation.code.names[word]
        mine = {v for v, known in enumerate(given.code.names) if known.rpartition(".")[0] == place}
        spilled = found[word] = Spilled(name, word, place, whole=True, kept="this allocator recomputes nothing")
        for k, item in enumerate(given.flat.items):
            defines = not mine.isdisjoint(given.flat.defs[k])
            if defines:
                spilled.defined.append(words[given.flat.origin_near(k)] if item.kind != ENTRY else -1)
            if defines or not mine.isdisjoint(given.flat.uses[k]):
                spilled.accesses += item.weight


def _count(allocation: RegisterAllocation, found: dict[int, Spilled]) -> None:
    """Count the spill instructions of the finished code for each value."""
    totals: dict[tuple[int, str], tuple[int, float]] = {}
    for item in allocation.code.items():
        if item.kind in (RELOAD, STORE, AGAIN):
            key = item.serves if item.kind == AGAIN else item.memory, item.kind
            number, weight = totals.get(key, (0, 0.0))
            totals[key] = number + 1, weight + item.weight
    for v, spilled in found.items():
        spilled.loads = totals.get((v, RELOAD), (0, 0.0))
        spilled.stores = totals.get((v, STORE), (0, 0.0))
        spilled.recomputations = totals.get((v, AGAIN), (0, 0.0))


def _by_runs(spilled: Spilled, runs: float) -> None:
    """Convert weights from one run of the function to one run of the kernel."""
    spilled.accesses *= runs
    spilled.loads, spilled.stores, spilled.recomputations = (
        (number, runs * weight) for number, weight in (spilled.loads, spilled.stores, spilled.recomputations)
    )
    for why in spilled.whys:
        why.chosen = replace(why.chosen, cost=runs * why.chosen.cost)
        why.instead = [replace(other, cost=runs * other.cost) for other in why.instead]


class _RoundExplainer:
    """An explainer gives the reasons for which one round of one function spilled its regions.

    spilled_regions: of this round. excess: by point, registers that are missing. calls: items, in order. known: by
    point, the alternatives there. unit: the factor of costs. In a round that spilled whole values the unit is an access
    to memory, which may cost more than one to a slot.
    """

    def __init__(
        self, function: str, one: Round, found: dict[int, Spilled], words: Sequence[int], unit: float
    ) -> None:
        self.function, self.one, self.found, self.words, self.unit = function, one, found, words, unit
        self.regions = one.regions
        self.of_values = self.regions.of_values
        self.spilled_regions = set(one.spilled)
        self.excess = one.room.pressure - one.room.capacity
        self.known: dict[int, list[Candidate]] = {}
        self.calls = [k for k, item in enumerate(one.given.flat.items) if item.callee]

    def run(self, *, first: bool) -> None:
        """Add the round's explanations to `found`. first: whether it is the first round."""
        weights = self._weights()
        defined = self._definitions()
        for v in sorted({self.regions.value[r] for r in self.spilled_regions}):
            mine = self.of_values[v]
            gone = [r for r in mine if r in self.spilled_regions]
            shown = [r for r in gone if self.regions.points[r]]  # not if one access directly follows another
            spilled = self.found.get(v)
            if spilled is None:
                spilled = self.found[v] = Spilled(self.function, v, self._name(v), defined.get(v, []))
                spilled.accesses = weights.get(v, 0.0)
            spilled.whys += [self._why(v, gone)] if shown else []  # a region without points costs a reload, too
            spilled.stays += [self._stay(r) for r in shown]
            spilled.whole = first and len(gone) == len(mine)
            again = self.one.comebacks.recipe(v)
            spilled.again = spilled.again or again
            spilled.kept = spilled.kept if again else self.one.comebacks.why_kept(v)

    def _weights(self) -> dict[int, float]:
        """Return, by value, how often its accesses are executed."""
        flat = self.one.given.flat
        out: dict[int, float] = {}
        for item, defs, uses in zip(flat.items, flat.defs, flat.uses, strict=True):
            for v in {*defs, *uses}:
                out[v] = out.get(v, 0.0) + item.weight
        return out

    def _definitions(self) -> dict[int, list[int]]:
        """Return, by value, the instructions that define it, -1 for the entry."""
        out: dict[int, list[int]] = {}
        for k, defs in enumerate(self.one.given.flat.defs):
            for v in dict.fromkeys(defs):
                out.setdefault(v, []).append(self._instruction(k))
        return out

    def _name(self, v: int) -> str:
        return self.one.given.code.names[v]

    def _candidate(self, v: int, gone: Sequence[int]) -> Candidate:
        relieved = sum(
            int(np.count_nonzero(self.excess[start:end] > 0)) for r in gone for start, end in self.regions.points[r]
        )
        return Candidate(self._name(v), self.unit * self.regions.alone(gone), relieved)

    def _why(self, v: int, gone: Sequence[int]) -> Why:
        """Return the reason for which the regions `gone` of v were spilled."""
        pieces = [piece for r in gone for piece in self.regions.points[r]]
        points = [start + int(np.argmax(self.excess[start:end])) for start, end in pieces]
        worst = max(points, key=lambda p: (int(self.excess[p]), -p))
        room, inside = self.one.room, worst - self.one.given.flat.points
        return Why(
            self._at(worst),
            self.one.given.flat.items[self.calls[inside]].callee if inside >= 0 else "",
            int(room.pressure[worst]),
            int(room.capacity[worst]),
            self._candidate(v, gone),
            self._instead(worst),
        )

    def _instead(self, point: int) -> list[Candidate]:
        """List the cheapest of the values that are in registers at a point."""
        if point not in self.known:
            there = [
                r
                for r, pieces in enumerate(self.regions.points)
                if r not in self.spilled_regions and any(start <= point < end for start, end in pieces)
            ]
            found = [self._candidate(self.regions.value[r], [r]) for r in there]
            ranked = sorted((c for c in found if c.cost > 0), key=lambda c: (c.each, c.name))
            self.known[point] = ranked[:_ALTERNATIVES]
        return self.known[point]

    def _stay(self, r: int) -> Stay:
        """Return the part of the code that a spilled region covers."""
        flat = self.one.given.flat
        points = [(start, end) for start, end in self.regions.points[r] if start < flat.points]
        if not points:  # it is only inside of a call
            at = self._at(self.regions.points[r][0][0])
            return Stay(at, at)
        first, last = (points[0][0] - 1) // 2, min(points[-1][1] // 2, len(flat.items) - 1)
        return Stay(self._instruction(first), self._instruction(last))

    def _at(self, point: int) -> int:
        """Return the instruction at a point."""
        flat = self.one.given.flat
        return self._instruction(point // 2 if point < flat.points else self.calls[point - flat.points])

    def _instruction(self, item: int) -> int:
        """Return the instruction of the input that an item stands for, or the last one before it; -1 for the entry."""
        items = self.one.given.flat.items
        words = (self.words[items[k].origin] for k in range(item, -1, -1) if items[k].origin >= 0)
        return next((word for word in words if word >= 0), -1)
