"""This module finds what a kernel's called functions do to registers and predicates, as far as the kernel sees it.

Needs the functions; leaves a `Called`. A function may read a place before it writes it, or is sure to have written it
when it returns. Both are found for each function from what it calls, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.living import EVERY, Called, Effects, guard_of, mask_of, read_by


def called(module: Module, kernel: Function, functions: list[Function]) -> Called:
    """Return what the functions do that a kernel calls. functions: the ones that it reaches."""
    writes = 0
    for fn in functions:
        for instr in fn.instrs:
            writes |= mask_of(set_of(instr).view(instr).defs)
    codes = {fn.name: _Code(module, fn) for fn in functions}
    found = {name: Effects(0, EVERY) for name in codes}
    changed = True
    while changed:
        changed = False
        for name, code in codes.items():
            effects = code.solved(found)
            changed |= effects != found[name]
            found[name] = effects
    calls = _Code(module, kernel).callees
    return Called(writes, {n: found[name] for n, name in calls.items() if name in found})


class _Code:
    """The code of a function: what it does is found from its end to its start."""

    def __init__(self, module: Module, fn: Function) -> None:
        self.fn, self.views = fn, [set_of(instr).view(instr) for instr in fn.instrs]
        callees = {n: module.callee(fn, n) for n, view in enumerate(self.views) if view.control == Flow.CALL}
        self.callees = {n: callee.name for n, callee in callees.items() if callee is not None}
        #: by word what the code does from there on; behind the last one it may do anything
        self.effects = [*(Effects(0, EVERY) for _ in self.views), Effects(EVERY, 0)]

    def solved(self, functions: Mapping[str, Effects]) -> Effects:
        """Return what holds at the function's start. functions: what is known of those that it calls."""
        changed = True
        while changed:
            changed = False
            for n in reversed(range(len(self.views))):
                effects = self._before(n, self.views[n], functions)
                changed |= effects != self.effects[n]
                self.effects[n] = effects
        return self.effects[0]

    def _before(self, n: int, view: View, functions: Mapping[str, Effects]) -> Effects:
        falls, jumps = successors(view.control, view.guard is not None)
        after = [self._at(n + 1)] if falls else []
        if view.control == Flow.RETURN:
            after.append(Effects(0, 0))
        elif jumps and view.control == Flow.BRANCH:
            after.append(self._at(self.fn.target(n)))
        needs = reduce(lambda mask, effects: mask | effects.needs, after, 0)
        surely = reduce(lambda mask, effects: mask & effects.surely, after, EVERY)
        here = Effects(read_by(view), mask_of(view.defs))
        if view.control in CALLS:
            here = functions.get(self.callees.get(n, ""), Effects(EVERY, 0))
        written = here.surely if view.guard is None else 0
        return Effects(needs & ~written | here.needs | guard_of(view), surely | written)

    def _at(self, n: int) -> Effects:
        return self.effects[n] if 0 <= n < len(self.effects) else self.effects[-1]
