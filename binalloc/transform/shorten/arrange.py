"""Instructions are arranged here so that shared memory is in use for less time: loads from it come as early as they
can behind a barrier, stores to it as late as they can in front of the next one.

Needs a prepared kernel; leaves a module in which values wait in registers. Everything stays in its basic block, and
keeps the order that the checker demands (`order.dependences`). (Multiplex paper, section 3: an access region lasts from
the first definition to the last use. The authors' kernels were written so; compiled ones hold address arithmetic, loads
from other memories and what uses the loaded words.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Access, Space
from binalloc.isa.sets.table import set_of, view
from binalloc.transform.allocate.attempt import Attempt, colour_functions
from binalloc.transform.allocate.functions.registers import NeedsMemory, RegisterAllocation, allocate_registers
from binalloc.transform.allocate.known import ResultStore
from binalloc.transform.allocate.memory_values import plan_memory
from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.order.dependences import Dag, dependences, stretches
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.shorten.unread import unread
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import Item
from binalloc.transform.virtual.unwritten import unwritten

MOST = 4096
"""Most items, and accesses, that are arranged together. Chosen by hand: the time grows with the square of the accesses
in the worst case, and a kernel's loops written out have some hundred."""


def arranged(module: Module, kernel: str) -> Module:
    """Return the module with a kernel's instructions arranged, in as few registers as that takes.

    Raises Refused if values do not all find registers, or the kernel cannot be rewritten (`rewrite.prepare`).
    """
    return _allocated(module, kernel, arrange=True)


def in_fewest_registers(module: Module, kernel: str) -> Module:
    """Return the module with a kernel's values in as few registers as its order takes, without what nobody reads.

    Raises Refused as `arranged` does.
    """
    return _allocated(module, kernel, arrange=False)


def _allocated(module: Module, kernel: str, *, arrange: bool) -> Module:
    most = set_of(module).limits.registers
    return rewrite_to_budget(prepare(module, kernel), most, 0, _InRegisters(arrange)).module


@dataclass(frozen=True)
class _InRegisters:
    """This allocator keeps all values in registers, in the order of the code or in the arranged one."""

    arrange: bool
    name: str = "in registers"
    summary: str = "all values in registers"

    def allocate(self, problem: Problem) -> Plan:
        attempt = self._attempt(problem)
        if attempt is None:
            raise Refused("values need more registers than a thread can have", place=problem.kernel,
                          found=f"more than {problem.registers}", expected="fewer values at a time")  # fmt: skip
        return Plan(attempt, plan_memory(attempt, problem.kernel, 0, "cost", layout=problem.layout))

    def is_feasible(self, problem: Problem) -> bool:
        return self._attempt(problem) is not None

    def _attempt(self, problem: Problem) -> Attempt | None:
        """Return an allocation with the smallest number of registers for which this one finds any."""
        known, doubt, limits = ResultStore(), unwritten(problem.program), problem.program.isa.limits
        low, high, found = 0, problem.registers, None
        while low < high:
            count = (low + high) // 2 if found else high
            attempt = Attempt(problem.program, known, doubt, limits.allocatable(count), -1)
            try:
                colour_functions(attempt, self._in_order)
            except NeedsMemory:
                if not found:
                    return None
                low = count + 1
            else:
                high, found = count, attempt
        return found

    def _in_order(self, attempt: Attempt, name: str) -> RegisterAllocation:
        """Allocate a function, the kernel in its order."""
        given = attempt.virtual(name)
        if name == attempt.program.graph.kernel:
            kernel = attempt.program.kernel
            given = given.once("in order", lambda: _rearranged(given, unread(kernel), arrange=self.arrange))
        return allocate_registers(given, attempt.available, attempt.contracts, may_spill=False)


def _rearranged(given: Analysed, gone: frozenset[int], *, arrange: bool) -> Analysed:
    """Return code without some words of the kernel. arrange: and with its items arranged."""
    code = given.copied()
    for block in code.blocks:
        block.items = [item for item in block.items if item.origin not in gone]
    given = analysed(code)
    if not arrange:
        return given
    flat = given.flat
    items = list(flat.items)
    for b in flat.blocks():
        for first, end in stretches(flat, b, MOST):
            dag = dependences(flat, first, end, lanes=given.code.lanes, most=MOST)
            order = [first + k for run in _runs(items[first:end]) for k in _order(dag, items[first:end], run)]
            items[first:end] = [flat.items[k] for k in order]
    for b, block in enumerate(code.blocks):
        block.items = items[flat.starts[b] : flat.starts[b + 1]]
    return analysed(code)


def _runs(items: Sequence[Item]) -> list[range]:
    """Return the runs of items between barriers and the like, and these by themselves."""
    runs, start = [], 0
    for k, item in enumerate(items):
        seen = view(item.instr) if item.instr is not None else None
        if seen is not None and (seen.convergent or seen.control):
            runs += [range(start, k), range(k, k + 1)]
            start = k + 1
    return [*runs, range(start, len(items))]


def _order(dag: Dag, items: Sequence[Item], run: range) -> list[int]:
    """Return the order of a run: early items, others, late ones."""
    loads = [k for k in run if _shared(items[k], loads=True)]
    stores = [k for k in run if _shared(items[k], loads=False)]
    behind = _closed(dag.after, stores, run)
    early = _closed(dag.before, [k for k in loads if k not in behind], run)
    late = set()
    for k in stores:
        follows = _closed(dag.after, [k], run)
        if not follows & early and not any(_shared(items[f], loads=True) for f in follows):
            late |= follows
    early -= late
    first = early - _closed(dag.after, [k for k in loads if k in early], run)
    return [
        *(k for k in run if k in first), *(k for k in run if k in early and k not in first),
        *(k for k in run if k not in early and k not in late), *(k for k in run if k in late),
    ]  # fmt: skip


def _shared(item: Item, *, loads: bool) -> bool:
    """Return whether an item loads from shared memory, or else stores to it."""
    memory = view(item.instr).memory if item.instr is not None else None
    wanted = Access.LOAD if loads else Access.STORE
    return memory is not None and memory.space == Space.SHARED and memory.access == wanted and not memory.spill


def _closed(edges: Sequence[Sequence[int]], start: Iterable[int], run: range) -> set[int]:
    """Return some items of a run and all of it to which edges lead from them."""
    found, work = set(start), list(start)
    while work:
        for to in edges[work.pop()]:
            if to in run and to not in found:
                found.add(to)
                work.append(to)
    return found
