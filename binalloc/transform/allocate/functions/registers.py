"""This module allocates registers for one function. It spills until values fit, moves spill code apart, and assigns
registers.

It needs virtual code whose calls have their callees' contracts. It leaves a register for every value still in
registers, reloads and stores for the rest, and the function's own contract: where callers put arguments, where they
find results, which registers it overwrites.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import inf

from binalloc.analysis.locations import Location
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.models.allocation.terms import Register, Value
from binalloc.once import Once
from binalloc.transform.allocate.functions.effort import is_large
from binalloc.transform.assign.assign import assign, fewest_homes, homeless, settle
from binalloc.transform.assign.homes import find_all_homes
from binalloc.transform.assign.placed import NoPlace, Placed
from binalloc.transform.order.arrange import for_latency
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.spill.comeback import RECOMPUTED
from binalloc.transform.spill.overlap import overlap
from binalloc.transform.spill.prices import Prices
from binalloc.transform.spill.spill import Infeasible, NeedsMemory, Round, SpillOptions, relieve, spill_to_room
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import (
    AGAIN,
    ARRIVE,
    COPY,
    ENTRY,
    EXCHANGE,
    PASS,
    RELOAD,
    STORE,
    Item,
    VCode,
)
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.room import registers_needed

__all__ = [
    "Infeasible",
    "NeedsMemory",
    "RegisterAllocation",
    "SpillOptions",
    "TooDear",
    "allocate_cheapest",
    "allocate_registers",
]

SLACKS = (0, 1, 2, 4, 8)
"""Numbers of registers to leave free where values live, tried in order: groups that find no consecutive
registers need some."""
RELIEFS = 4
"""How often registers are freed only at the failed places, one more each time, before they are freed everywhere. Chosen
by hand: relief at few places costs less spill code, but each round costs an allocation."""
ROUNDS = 8
"""Upper limit of rounds that spill further because groups, loops and calls take more registers than values are
live. It bounds the time; chosen by hand."""

_EXCHANGE = 10
"""Copies for which an exchange of two registers counts: it is three instructions, each of which waits for the last."""


class TooDear(Exception):
    """`TooDear` is raised if there may be an allocation, but none that costs as little as the caller wants. given: the
    order of the code that came closest."""

    def __init__(self, given: Analysed) -> None:
        super().__init__()
        self.given = given


@dataclass
class RegisterAllocation:
    """A register allocation is a coloured function. Nobody changes it. A copy with another contract shares `once`."""

    code: VCode  #: with spill code
    colour: list[Register]  #: by value
    contract: Contract
    memory: list[Value]  #: the memory values in use
    given: Analysed  #: the code before any spilling, in the order that was taken
    rounds: list[Round] = field(default_factory=list)  #: the rounds of spilling
    #: results that depend on code and colours alone
    once: Once = field(default_factory=Once, repr=False, compare=False)

    def spill_cost(self, prices: Prices) -> float:
        """Return the cost of its spill code, see `emitted_cost`."""
        return self.once(("spill cost", prices), lambda: emitted_cost(self.code, prices))

    def copy_cost(self) -> float:
        """Return the cost of its copies, see `emitted_copies`."""
        return self.once("copy cost", lambda: emitted_copies(self.code))


def allocate_registers(
    given: Analysed,
    available: int,
    contracts: Mapping[str, Contract],
    how: SpillOptions | None = None,
    *,
    may_spill: bool = True,
) -> RegisterAllocation:
    """Allocate the code to the registers in the bitset `available`.

    Raises Infeasible, naming function and instruction, and NeedsMemory where it would have to spill but may not.
    """
    return allocate_cheapest((given,), available, contracts, how, may_spill=may_spill)


def allocate_cheapest(
    orders: Sequence[Analysed],
    available: int,
    contracts: Mapping[str, Contract],
    how: SpillOptions | None = None,
    *,
    may_spill: bool = True,
    below: float = inf,
) -> RegisterAllocation:
    """Allocate the order with the cheapest spill code among `orders` (the same code in other orders), the first of
    equal ones. In other respects it does what `allocate_registers` does. Raises TooDear where none costs less than
    `below`."""
    return Cheapest(orders, available, contracts, how or SpillOptions(), may_spill=may_spill).found(below)


class Cheapest:
    """The search finds the allocation of `allocate_cheapest`. Code that finds no places is spilled further and
    only gets dearer. So the cheapest code is tried first, and the first to find places is the cheapest of all.

    It can be asked again, with another limit, and continues where it was: costs do not depend on limits. tried: cost
    and order of all code that was tried so far, or was too dear to be.
    """

    def __init__(
        self,
        orders: Sequence[Analysed],
        available: int,
        contracts: Mapping[str, Contract],
        how: SpillOptions,
        *,
        may_spill: bool = True,
        clock: LatencyClock | None = None,
    ) -> None:
        self.tried: list[tuple[float, Analysed]] = []
        self.open: list[_Spilled] = []
        self.end: RegisterAllocation | Infeasible | None = None
        for given in orders:
            try:
                self.open.append(_Spilled(given, available, contracts, how, may_spill=may_spill, clock=clock))
            except Infeasible as error:
                refusal = error.with_traceback(None)  # the traceback would keep alive all that was tried
        if self.open:
            self._look()
        else:
            self.end = refusal

    def found(self, below: float) -> RegisterAllocation:
        """Return the cheapest allocation. Raises TooDear where it costs `below` or more, and Infeasible."""
        for cost, given in self.tried:
            if cost >= below:
                raise TooDear(given)
        while self.end is None:
            self._try()
            if self.end is None and self.tried[-1][0] >= below:
                raise TooDear(self.tried[-1][1])
        if isinstance(self.end, Infeasible):
            raise copy(self.end)  # the original would keep all frames alive through which it was raised
        return self.end

    def _look(self) -> None:
        """Find the cheapest code now."""
        self.cheapest = min(self.open, key=lambda one: one.cost)
        self.tried.append((self.cheapest.cost, self.cheapest.given))

    def _try(self) -> None:
        """Find places for the cheapest code, or add spill code."""
        self.end = self.cheapest.place()
        if self.end is None:
            try:
                self.cheapest.spill_further()
            except Infeasible as error:
                self.open.remove(self.cheapest)
                if not self.open:
                    self.end = error.with_traceback(None)
        if self.end is None:
            self._look()
        else:
            self.open.clear()


class _Spilled:
    """Spilled code has as much spill code as its groups seem to need. cost: of the spill code, see
    `emitted_cost`. still: leaders of blocks in which spill code does not move. failed: items that found no places."""

    def __init__(
        self,
        given: Analysed,
        available: int,
        contracts: Mapping[str, Contract],
        how: SpillOptions,
        *,
        may_spill: bool,
        clock: LatencyClock | None,
    ) -> None:
        self.given, self.available, self.contracts, self.may_spill = given, available, contracts, may_spill
        self.clock = clock
        self.how = replace(how, rounds=[])
        self.slacks = list(SLACKS)
        self.relieved = 0
        self.still: set[int] = set()
        self.failed: list[int] = []
        self._spill(given)

    def _spill(self, code: Analysed) -> None:
        how = replace(self.how, slack=self.slacks[0])
        self.code = spill_to_room(code, self.available, self.contracts, how, may_spill=self.may_spill)
        self.cost = emitted_cost(self.code.code, how.prices)

    def place(self) -> RegisterAllocation | None:
        """Return the allocation, None where the code finds no places. Raises NeedsMemory where more spill code is not
        allowed."""
        while True:
            moved = self._apart()
            try:
                placed = assign(moved, self.available, self.contracts)
            except NoPlace as error:
                if not self.may_spill:
                    raise NeedsMemory from error
                tried = self.still
                self.still = tried.union(map(self._leader, error.items))
                if is_large(self.given):  # another try would take too long
                    self.failed = [self._before_moves(moved.flat.items[k], k) for k in error.items]
                    return None
                self.failed = [k for k in error.items if self._leader(k) in tried or moved is self.code]
                if self.failed:
                    return None
            else:
                placed = self._in_time(moved) or placed
                return replace(finish(placed, self.contracts, self.given), rounds=self.how.rounds)

    def _in_time(self, moved: Analysed) -> Placed | None:
        """Find places for the code in an order in which results arrive earlier; return None without such an order, or
        places."""
        if self.clock is None:
            return None
        early = for_latency(moved, self.available.bit_count(), self.clock, spilled=True)
        if early is moved:
            return None
        try:
            return assign(early, self.available, self.contracts)
        except NoPlace:
            return None

    def _apart(self) -> Analysed:
        """Return the code with its spill code moved apart, except in the blocks `still`."""
        if all(item.memory < 0 for item in self.code.flat.items):
            return self.code
        return overlap(self.code, self.available, self.contracts, self.slacks[0], self.still)

    def _leader(self, item: int) -> int:
        """Return the leader of the block of an item (items only move inside of blocks)."""
        return self.code.code.blocks[bisect_right(self.code.flat.starts, item) - 1].leader

    def _before_moves(self, item: Item, k: int) -> int:
        """Return the place of an item in the code before spill code was moved apart; k is its place after that."""
        starts, items = self.code.flat.starts, self.code.flat.items
        b = bisect_right(starts, k) - 1
        return next(j for j in range(starts[b], starts[b + 1]) if items[j] is item)

    def spill_further(self) -> None:
        """Spill more, so that more registers are free where places failed, or everywhere. Raises Infeasible."""
        self.relieved += 1
        if self.relieved <= RELIEFS:
            code = relieve(self.code, self.failed, self.relieved, self.available, self.contracts, self.how)
            if code is not None:
                self._spill(code)
                return
        del self.slacks[0]
        self.still = set()
        if self.slacks:
            self._spill(self.code)
            return
        raise Infeasible(
            f"{self.available.bit_count()} registers do not hold the pairs and quads that are needed at once",
            place=f"{self.given.code.function.name}+{self.code.flat.origin_near(self.failed[0])}",
            found=f"{self.available.bit_count()} registers available",
            remedy="allow more registers per thread",
        )


def allocate_fewest(
    given: Analysed, limits: SetLimits, contracts: Mapping[str, Contract], how: SpillOptions
) -> tuple[RegisterAllocation, int]:
    """Allocate the code to as few registers as keep every value in one place, and return their number, too. If there
    are fewer, spill until the rest find places. Raises Infeasible."""
    most = limits.registers
    available = limits.allocatable(most)
    code = homeless(given, contracts)
    least = registers_needed(given.flat, given.live, code.sites)
    homes, count = fewest_homes(code, least, most)
    if count <= most:
        return finish(settle(code, homes, limits.allocatable(count)), contracts, given), count
    slack = count - max(least, most)
    del code, homes  # they take much memory for large code, and so does the rest
    spilled = given
    for _ in range(ROUNDS):
        spilled = spill_to_room(spilled, available, contracts, replace(how, slack=slack, keeps=False))
        code = homeless(spilled, contracts)
        found = find_all_homes(code.bundles, code.wishes(available), available, code.end)
        if found is not None:
            return finish(settle(code, found, available), contracts, given), count
        del code
        slack = max(4, 2 * slack)
    return allocate_registers(spilled, available, contracts, how), count


def finish(placed: Placed, contracts: Mapping[str, Contract], given: Analysed) -> RegisterAllocation:
    """Return the allocation with those registers, the contract for callers, and the values that it keeps in memory."""
    code, register = placed.code, placed.register
    clobbers = 0
    memory: set[Value] = set()
    arguments: dict[Location, Register] = {}
    for block in code.blocks:
        for item in block.items:
            if item.kind == ENTRY:
                arguments = {o.location: Register(register[o.values[0]]) for o in item.defs if o.location >= 0}
            else:
                for operand in item.defs:
                    for v in operand.values:
                        clobbers |= 1 << register[v]
            if item.callee:
                clobbers |= contracts[item.callee].clobbers
            if item.memory >= 0 and item.kind != ARRIVE:
                memory.add(item.memory)
    results = {Location(loc): Register(r) for loc, r in sorted(placed.results.items())}
    contract = Contract(dict(sorted(arguments.items())), results, clobbers, frozenset(code.arrives))
    return RegisterAllocation(code, [Register(r) for r in register], contract, sorted(memory), given)


def emitted_cost(code: VCode, prices: Prices) -> float:
    """Return the loop-weighted cost of the code's reloads, stores and recomputations, as the model of regions counts
    it: the one measure by which allocations of a function are compared. An argument passed in memory costs its caller a
    store."""
    total = 0.0
    for item in code.items():
        if item.kind in (RELOAD, STORE):
            total += item.weight * prices.of(item.memory)
        elif item.kind == PASS:
            total += item.weight * prices.usual
        elif item.kind == AGAIN:
            total += item.weight * RECOMPUTED
    return total


def emitted_copies(code: VCode) -> float:
    """Return the loop-weighted copies and exchanges that are not in the input, in copies."""
    weights = {COPY: 1, EXCHANGE: _EXCHANGE}
    return sum(weights[item.kind] * item.weight for item in code.items() if item.kind in weights and item.origin < 0)
