"""This module chooses between the best version of a kernel and versions whose blocks work in another order.

Needs a laid-out module, a request with a launch, and, where versions are run, the run of the version without. Where
orders are to be found, they are those that a profile of that version's memory accesses suggests (`lines`). Each order
is made of the input, proven, allocated for the registers and slots of that version, proven again, and run on the same
launch and machine. Where there are many orders of a large grid, all run on the blocks that are dealt first, and the two
best of them on the whole grid. Leaves what each order gives.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from binalloc.emulator.host.figures.skew import LIMIT
from binalloc.errors import BinallocError, Hint, KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.batches.order import BlockOrder, Three
from binalloc.models.batches.suggested import BETTER, Suggestion
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.pipeline.block_order.lines import asked_lines
from binalloc.pipeline.block_order.record import OrderRecord
from binalloc.pipeline.directives import obeyed
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.build import build_unproven
from binalloc.pipeline.steps.holding import hold
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.proof import prove
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.turns import OFF
from binalloc.printable import count
from binalloc.transform.allocators.table import BASELINE
from binalloc.transform.block_order.renumber import block_reads, renumber_blocks, require_movable
from binalloc.verify.block_order.check import check_order

WAVES, ROWS = 4, 16
"""The part of a grid on which many orders run has this number times the blocks that SMs hold, and so many of its rows.
Chosen by hand: fewer waves are still in step, and the highest tiles have as many rows."""
FINALISTS = 2
"""So many of them run on the whole grid: the fastest on the part, and the leanest of the others."""
LARGE = 3
"""A grid is large if it has this number of such parts: in smaller ones little time is saved."""
AUTO = "auto"
_TRAFFIC = "dram_bytes"  # counter of bytes that DRAM moved
WORTH = 1 + LIMIT
"""An order that is faster by less is taken for its memory traffic alone: so much do cycles change if blocks start a
little later."""
SLOWER, FEWER = 1.01, 0.9
"""An order is taken for its traffic if it takes this share of the cycles at most, and if DRAM moves this share of the
bytes at most. Chosen by hand: a tenth of the traffic is more than all caches' luck, and worth a hundredth of the
time."""


@dataclass(frozen=True)
class TriedOrder:
    """This record has what one order gives."""

    order: BlockOrder
    version: Version | None = None  #: without its results, unless it is the one taken; None if there is none
    words: int = 0  #: that were inserted in front of allocation
    same: bool | None = None  #: whether it left the original's results; None where it was not run
    refused: str = ""  #: why there is no version, or why it may not be taken
    part: tuple[int, int] | None = None  #: cycles and bytes of DRAM on a part of the grid; None where it was not run so

    @property
    def cycles(self) -> int | None:
        """Return the emulated cycles; None if it was not run."""
        return None if self.version is None else self.version.cycles

    @property
    def dram_bytes(self) -> int:
        """Return the bytes that DRAM moved in its run, 0 if it was not run."""
        return 0 if self.version is None else self.version.stats.get(_TRAFFIC, 0)


@dataclass(frozen=True)
class OrderChoice:
    """A choice has what orders of blocks gave beside the version without."""

    asked: str  #: the option
    grid: Three
    sms: int  #: to which the machine deals blocks in turn
    without: Version
    tried: list[TriedOrder]
    best: TriedOrder | None  #: the one that was taken; None if none is worth it
    reason: str  #: why it was taken, or why none was, in words
    in_place: int | None = None  #: cycles of the best order's code where it leaves all blocks in place, if it was run
    suggestion: Suggestion | None = None  #: what the profile of `auto` says
    part: int | None = None  #: blocks on which all orders were run, and the two best alone on all; None: each on all

    def record(self, taken: TriedOrder) -> OrderRecord:
        """Return what the binary says of the order."""
        return OrderRecord(taken.order, self.grid, self.sms)


class Orderer:
    """An orderer tries orders of the blocks of one kernel. running: versions are emulated.

    Raises UsageError if the request contradicts itself or names no order of the launch's grid, and Refused if blocks
    may not change their order.
    """

    def __init__(self, module: Module, request: Request, running: bool) -> None:
        asked = request.block_order
        _require_alone(request)
        if request.launch is None or (asked == AUTO and not running):
            what = "{block_order} orders the blocks of one grid" if asked != AUTO else "{block_order} auto runs orders"
            raise UsageError(Hint(what), expected="a launch file",
                             remedy=Hint("Give {launch}, or leave out {block_order}."))  # fmt: skip
        launch = request.launch
        self.module, self.running, self.grid = module, running, launch.grid
        self.sms = request.machine.chip.sms
        self.orders: list[BlockOrder] = []  #: of `auto` they are found as the version without is known
        self.suggestion: Suggestion | None = None  #: of `auto`
        if asked != AUTO:
            self.orders.append(BlockOrder.parse(asked, math.prod(self.grid), Hint("{block_order}")))
        if launch.cooperative:
            raise Refused("the launch is cooperative: its blocks wait for one another", place=request.kernel,
                          found="a cooperative launch", expected="independent blocks",
                          remedy="Leave the order of its blocks as it is.")  # fmt: skip
        self.program = require_movable(module, request.kernel, self.grid)

    def choose(self, request: Request, original: Version, without: Version) -> OrderChoice:
        """Return the choice. original: the input as it came. without: the version in the order of the input. Both have
        been run, if anything is."""
        choice = OrderChoice(request.block_order, self.grid, self.sms, without, [], None, "")
        reason = self._nothing() or self._suggested(request, without)
        choice = replace(choice, suggestion=self.suggestion)
        if reason:
            return replace(choice, reason=reason)
        part = self._part(request, without)
        found = [self._made(order, request, without) for order in self.orders]
        if part is not None:
            found = _finalists([self._on_part(one, request, part) for one in found])
        for k, one in enumerate(found):
            if self.running and one.version is not None and not one.refused:
                found[k] = self._measured(one, request, original)
                found = _lean(found, without)
        blocks = None if part is None else len(part)
        choice = replace(choice, tried=[_without_results(one) for one in found], part=blocks)
        if request.block_order != AUTO:
            if found[0].refused:
                raise Refused(f"no version with blocks in order {self.orders[0]}", place=request.kernel,
                              found=found[0].refused)  # fmt: skip
            return replace(choice, best=found[0], reason=f"blocks in order {found[0].order}, as asked")
        best, in_place = winner(found, without), None
        if best is not None and is_fast(best, without.cycles or 0):  # the gain of other code is not the order's
            in_place = self._in_place(best, request, without)
            best = winner(found, without, in_place)
        choice = replace(choice, in_place=in_place)
        return replace(choice, best=best, reason=_reason(best, found, without, in_place))

    def _nothing(self) -> str:
        """Return why no order can change anything, "" if one can."""
        if not any(block_reads(self.program).values()):
            return "the kernel never asks for its block, so that all blocks do the same"
        if self.orders and not any(order.moves(self.grid, self.sms) for order in self.orders):
            return f"on a grid of {' x '.join(map(str, self.grid))} blocks {self.orders[0]} is the order as it is"
        return ""

    def _suggested(self, request: Request, without: Version) -> str:
        """Find the orders of `auto`. Return why there are none, "" if there are."""
        if request.block_order != AUTO:
            return ""
        found = asked_lines(without, request)
        if isinstance(found, str):
            return f"the lines that its blocks touch could not be profiled: {found}"
        self.suggestion = found
        self.orders = [order for order in found.orders if order.moves(self.grid, self.sms)]
        return "" if self.orders else why_none(found)

    def _part(self, request: Request, without: Version) -> range | None:
        """Return the dealt blocks on which all orders are run first; None where each is run on all at once."""
        part = max(WAVES * without.blocks_per_sm * request.options.sms, ROWS * self.grid[0])
        large = math.prod(self.grid) >= LARGE * part
        return range(part) if self.running and len(self.orders) > FINALISTS and large else None

    def _made(self, order: BlockOrder, request: Request, without: Version) -> TriedOrder:
        """Return the proven version of an order, or why there is none."""
        request.progress(f"{request.kernel}: blocks in order {order}")
        try:
            made = renumber_blocks(self.program, order, self.grid, self.sms)
            self._require_proof(made.module, request, order)
            return TriedOrder(order, _allocated(made.module, request, without), made.words)
        except (Refused, LimitHit) as error:
            if request.block_order != AUTO:
                raise
            return TriedOrder(order, refused=_said(error))

    def _on_part(self, one: TriedOrder, request: Request, part: range) -> TriedOrder:
        """Return the record after a run of a part of the grid."""
        if one.version is None:
            return one
        request.progress(f"{request.kernel}: blocks in order {one.order}, {len(part):,} of them")
        try:
            ran = measure(one.version, request, only=part)
        except (KernelFault, LimitHit) as error:
            return replace(one, refused=error.message)
        return replace(one, part=(ran.cycles or 0, ran.stats.get(_TRAFFIC, 0)))

    def _measured(self, one: TriedOrder, request: Request, original: Version) -> TriedOrder:
        """Return the record after a run of the whole grid."""
        assert one.version is not None
        request.progress(f"{request.kernel}: blocks in order {one.order}")
        try:
            version = measure(one.version, request)
        except (KernelFault, LimitHit) as error:
            return replace(one, refused=error.message)
        same = same_results(request, original, version)
        refused = "other results than the original's" if same is False else ""
        return replace(one, version=version, same=same, refused=refused)

    def _in_place(self, best: TriedOrder, request: Request, without: Version) -> int | None:
        """Return the cycles of an order's code, allocated alike, on a launch on which it leaves all blocks in place;
        None where it does not run so."""
        x, y, z = self.grid
        request.progress(f"{request.kernel}: the code of {best.order}, with all blocks in place")
        try:
            made = renumber_blocks(self.program, best.order, self.grid, self.sms, (x, y, z + 1))
            return measure(_allocated(made.module, request, without), request).cycles
        except (Refused, KernelFault, LimitHit):
            return None

    def _require_proof(self, made: Module, request: Request, order: BlockOrder) -> None:
        """Raise Refused without a proof that blocks work in an order, and do the same otherwise."""
        report = check_order(self.module, made, request.kernel, str(order), self.grid, self.sms)
        if report.ok:
            return
        known = report.errors[0].kind in ("waits", "limit", "not proven")
        raise Refused(
            f"the order of blocks could not be proven right ({count(len(report.errors), 'finding')})",
            place=str(report.errors[0]),
            remedy="Leave the order of its blocks as it is." if known else "This is a defect of binalloc.",
        )


def _require_alone(request: Request) -> None:
    """Raise UsageError if the request asks for something else that makes other code."""
    for name, asked in (("multiplex", request.multiplex != OFF), ("sharing", request.sharing != OFF),
                        ("explain", request.explain), ("profile", request.profile is not None)):  # fmt: skip
        if asked:
            raise UsageError(Hint(f"{{block_order}} makes other code of the kernel, of which {{{name}}} knows nothing"),
                             remedy="Leave out one of them.")  # fmt: skip


def _allocated(made: Module, request: Request, without: Version) -> Version:
    """Return the version of other code with as many blocks, registers and slots as the one without, proven against that
    code."""
    asked = replace(request, prepared=Preparations())
    use = kernel_use(without.module.function(request.kernel), request.launch, request.block)
    bounds: Sequence[int | None] = (
        registers_for_blocks(request.machine, use, without.blocks_per_sm),
        request.machine.limits.registers_per_thread, request.registers, obeyed(made, asked).registers,
    )  # fmt: skip
    most = min(bound for bound in bounds if bound)
    version = build_unproven(made, asked, most, without.slots, without.allocator or BASELINE)
    with contextlib.suppress(Refused):  # then more blocks are resident
        version = hold(made, version, asked, without.blocks_per_sm)
    return prove(made, asked, version)


def _finalists(found: Sequence[TriedOrder]) -> list[TriedOrder]:
    """Return the records with a reason for all that are not run on the whole grid: all but the fastest on a part of it,
    and the leanest of the others."""
    usable = [one for one in found if one.part is not None]
    fastest = sorted(usable, key=lambda one: one.part or (0, 0))[:1]
    others = [one for one in usable if one not in fastest]
    leanest = sorted(others, key=lambda one: (one.part or (0, 0))[::-1])[:1]
    left = "neither the fastest nor the leanest on a part of the grid"
    return [one if one in (*fastest, *leanest) or one.refused else replace(one, refused=left) for one in found]


def winner(found: Sequence[TriedOrder], without: Version, in_place: int | None = None) -> TriedOrder | None:
    """Return the order that wins: the fastest, or else that with the least memory traffic; None if none wins. in_place:
    cycles of such code with all blocks in place, if they are known; the fastest has to beat these, too."""
    usable = [one for one in found if not one.refused and one.cycles]
    cycles, traffic = without.cycles or 0, without.stats.get(_TRAFFIC, 0)
    least = cycles if in_place is None else min(cycles, in_place)
    fast = [one for one in usable if is_fast(one, least)]
    if fast:
        return min(fast, key=lambda one: one.cycles or 0)
    lean = [one for one in usable
            if (one.cycles or 0) <= SLOWER * cycles and one.dram_bytes <= FEWER * traffic]  # fmt: skip
    return min(lean, key=lambda one: (one.dram_bytes, one.cycles), default=None)


def is_fast(one: TriedOrder, cycles: int) -> bool:
    """Return whether an order wins over so many cycles by its time alone."""
    return cycles >= WORTH * (one.cycles or 0)


def _lean(found: Sequence[TriedOrder], without: Version) -> list[TriedOrder]:
    """Return the records with the contents of memory for the order alone that wins of them."""
    best = winner(found, without)
    return [one if one is best or len(found) == 1 else _without_results(one) for one in found]


def _reason(best: TriedOrder | None, found: Sequence[TriedOrder], without: Version, in_place: int | None) -> str:
    """Return why an order was taken, or why none was. in_place: as for `winner`."""
    usable = [one for one in found if not one.refused and one.cycles]
    if not usable:
        return found[-1].refused
    shown = best or min(usable, key=lambda one: one.cycles or 0)
    speed = f"{(without.cycles or 0) / (shown.cycles or 1):.3f} times as fast as in the order as it is"
    traffic = f"{shown.dram_bytes:,} bytes of DRAM instead of {without.stats.get(_TRAFFIC, 0):,}"
    if in_place is not None:
        gain = in_place / (shown.cycles or 1)
        traffic += f", and {gain:.3f} times as fast as such code with all blocks in place"
    if best is not None:
        return f"blocks in order {best.order}, {speed}, with {traffic}"
    return (f"the fastest, {shown.order}, is {speed}, with {traffic}; an order wins from {WORTH:.2f} on, or with "
            f"{1 - FEWER:.0%} fewer bytes of DRAM if it takes at most {SLOWER - 1:.0%} more cycles")  # fmt: skip


def why_none(found: Suggestion) -> str:
    """Return why a profile suggests no order."""
    if not found.share:
        return "its blocks share no lines of memory, so that no order moves less"
    share = f"its blocks share {found.share:.0%} of the memory that they touch"
    if found.now == 1:
        return f"{share}, and in the order as it is L2 already holds all of that until it is used again"
    return (f"{share}; by an estimate L2 fetches {found.now:.2f} times what they touch, and no order "
            f"{1 - BETTER:.0%} less")  # fmt: skip


def _without_results(found: TriedOrder) -> TriedOrder:
    """Return the record without the contents of memory, which may be large."""
    if found.version is None:
        return found
    return replace(found, version=replace(found.version, buffers={}, globals={}, counts={}))


def _said(error: BinallocError) -> str:
    """Return an error in words for a sentence of a report."""
    return error.message if error.found is None else f"{error.message}: {error.found}"
