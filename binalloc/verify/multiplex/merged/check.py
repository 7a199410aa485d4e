"""The checker of merged blocks.

    report = check_merged(original, merged, "kernel", (128, 1, 1), 2, 0)

A merged block has the threads of several blocks of the original that are neighbours along one axis of the grid: its
*virtual blocks*. If they are of whole warps they are stacked along z, as far as blocks may be so deep. Else the merged
block has one dimension, and each virtual block is padded to whole warps, since barriers and votes are of warps. They
use the shared memory of one block, in turns. Of some bytes, the *private* ones, each may have a copy of its own.

**What is proven**, for every launch with blocks of that size: where the original's run ends well, the merged kernel's
does, with the same results, if its grid is smaller by the factor along the axis, rounded up, and its last parameter is
the extent of the original's grid there.

- *Lockstep* (`numbers.py`, `pairing.py`). Each virtual block, thread by thread, executes the original's words, with the
  same operands, guards, branches and reconvergence points. Special registers give the virtual block's values. Inserted
  words write nothing that the original needs, and all threads of a virtual block agree on inserted branches and
  barriers. Virtual blocks beyond the grid end at once, and so do the threads with which a virtual block is padded.
- *Together* (`outline.py`, `parting.py`). Every barrier is executed by all threads of a virtual block that have not
  ended, in the same order.
- *Addresses* (`placing.py`, `addressing/expressions.py`). Each virtual block has each byte of the original's shared
  memory at one place, whichever access touches it. All places are in the merged block's, and each has the same byte in
  all virtual blocks that use it.
- *Side by side* (`virtual.py`, `beside.py`). Of two virtual blocks, met at their barriers, none writes a byte between
  two barriers that the other accesses there. They may come to different numbers of barriers, too, since threads that
  have ended are not waited for. Then it matters what they access from there on. What threads access between their last
  barrier and their end no later barrier orders (ISA.md, "Memory model"), so no other virtual block may access it from
  then on, if one of the two writes.
- *Votes* (`beside.py`). Where threads are told whether any thread has given "true", a virtual block that gives "false"
  comes to the vote again until nobody gives "true". If it goes on without a look at the answer, nobody may have given
  that.
- *Contents* (`course.py`). No thread reads a byte that its virtual block has written if another one may have written it
  since.
- *Common bytes* (`course.py`, `scope.py`). What one virtual block stores for all is the same in all, and is stored,
  ordered by a barrier, before one of them reads it.
- *No new deadlock* (`waits.py`). No loop of the original waits for what another thread writes.

**What is not.** All that `check_public` leaves out. Dynamic shared memory, and cooperative launches: they are not to be
merged. So accesses behind static shared memory stop the original with a fault. Dynamic bytes may be a variable of both
kernels; then launches with as many bytes are proven. Kernels that read clocks, or the number of their SM, are refused.

`check_merged` raises nothing.
"""

from __future__ import annotations

import math

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES, WORD
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.kernels.proof import Given, Proof
from binalloc.verify.multiplex.kernels.records import MOST_SHARED, MOST_THREADS, block_fault
from binalloc.verify.multiplex.merged.beside import TooMany
from binalloc.verify.multiplex.merged.course import MergedCourse
from binalloc.verify.multiplex.merged.numbers import IN_GRID, Machine, Merge, Three
from binalloc.verify.multiplex.merged.pairing import MergedPairing
from binalloc.verify.multiplex.merged.walked import Original, Walked, original_nodes
from binalloc.verify.report import CheckReport, Finding


def check_merged(
    original: Module, merged: Module, kernel: str, block: Three, count: int, axis: int
) -> CheckReport:
    """Prove that `merged`'s kernel does what `original`'s does, for blocks of this size. count: virtual blocks of a
    merged block. axis: of the grid, along which they are neighbours. The instruction map is not trusted."""
    return _Proof(original, merged, kernel, block, count, axis).report()


class _Proof(Proof):
    may_differ = ("registers", "machine", "params", "block", "max_threads", "shared_bytes")

    def __init__(self, original: Module, merged: Module, kernel: str, block: Three, count: int, axis: int) -> None:
        super().__init__(original, merged, kernel)
        self.block, self.count, self.axis = block, count, axis

    def records(self, old: Function, new: Function) -> None:
        fault = block_fault(self.block, old)
        merge = Merge(self.count, self.block, self.axis, 0)
        if fault or self.axis not in range(3) or self.count < 1:
            self.fail("merge", fault or f"no {self.count} blocks along axis {self.axis}")
            return
        merged = merge.merged
        threads = math.prod(merged)
        if threads > MOST_THREADS:
            self.fail("merge", f"{self.count} blocks of {merge.threads} threads are not a merged block")
        if max(old.info.shared_bytes, new.info.shared_bytes) > MOST_SHARED:
            self.fail("merge", "too much shared memory")
        if new.info.shared_bytes == old.info.shared_bytes and old.shared != new.shared:
            self.fail("resources", "the shared variables changed")
        if new.info.block not in ((0, 0, 0), merged):
            self.fail("resources", "the merged kernel requires other blocks", str(merged), str(new.info.block))
        if new.info.max_threads and new.info.max_threads < threads:
            self.fail("resources", "the launch bound is too low", str(threads), str(new.info.max_threads))
        before, after = old.info.params, new.info.params
        end = max((p.offset + p.size for p in before), default=0)
        if len(after) != len(before) + 1 or after[:-1] != before or after[-1].size != WORD:
            self.fail("resources", "the merged kernel has not one parameter more, of a word")
        elif after[-1].offset < end or after[-1].offset % WORD:
            self.fail("resources", "the extent of the grid is not behind the other parameters")

    def prove(self, given: Given) -> None:
        limits = set_of(self.original).limits
        merge = Merge(self.count, self.block, self.axis, given.new.fn.info.params[-1].offset)
        self._known(given, limits, merge)
        if self.findings:
            return
        original = Original(given.old, self.block, limits, given.called)
        graph = Walked(original, original_nodes(original))
        walk, _, assumed = graph.settled()
        feasible = graph.feasible(walk)
        pairing = MergedPairing(given.old, given.new, given.index, given.untouched, given.called, feasible)
        self.pairing = pairing
        machines = [Machine(merge, limits, v) for v in range(self.count)]
        if pairing.has_named():
            # who gets the turn next depends on which virtual blocks the grid has
            machines = [Machine(merge, limits, v, present=m) for m in range(1, self.count + 1) for v in range(m)]
        for machine in machines:
            pairing.follow(machine)
        for v in range(self.count):
            pairing.surplus_ends(Machine(merge, limits, v, goes_on=False))
            for goes_on in (False, True) if merge.threads < merge.warps * LANES else ():
                pairing.padding_ends(Machine(merge, limits, v, goes_on, padding=True))
        pairing.finish()
        if not pairing.findings:
            course = MergedCourse(pairing, original, machines[0].block_number)
            try:
                course.run(graph, assumed)
            except TooMany:
                self.fail("limit", "virtual blocks meet in too many ways")
            self.stats = course.stats

    def _known(self, given: Given, limits: SetLimits, merge: Merge) -> None:
        """Refuse what only this proof does not know."""
        fine = {*limits.places, *limits.sizes, limits.lane, limits.warp, limits.warps, *limits.lane_registers}
        fine -= {limits.slot_base, limits.shared_size, limits.shared_window}
        differ = {limits.warp, limits.warps}
        axes = {2 if merge.stacked else k for k in range(3)} | {IN_GRID + merge.axis}
        differ |= {name for of in (limits.places, limits.sizes) for name, k in of.items() if k in axes}
        for fn in (given.old.fn, *given.callees):
            for n, instr in enumerate(fn.instrs):
                isa = set_of(instr)
                name, barrier = isa.special_register(instr), isa.barrier(instr)
                reason = ""
                if name is not None and name not in fine:
                    reason = f"reads {name}"
                elif name in differ and fn is not given.old.fn:
                    reason = f"reads {name} in a called function"
                elif barrier is not None and not barrier.plain:
                    reason = "a barrier that is not plain"
                if reason:
                    message = f"{reason}: not known to this proof"
                    self.findings[Finding("not proven", message, "", -1, fn.name, n)] = None
