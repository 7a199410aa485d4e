"""This module finds the basic blocks of one function, by positions alone.

Needs a `FunctionCode`; leaves it unchanged. A block ends behind every branch, call and end, and before every branch
target and reconvergence point. """

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set

from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import CALLS, ENDS, Flow
from binalloc.verify.reading.code import FunctionCode

CLOSES = frozenset((*ENDS, *CALLS))  # words behind which a block ends


class Places:
    """`Places` says which block of a function a word is in.

    starts: first words, ascending, with the code's length behind them. detours: branches that are ignored; they divide
    nothing.
    """

    def __init__(self, code: FunctionCode, detours: Set[int] = frozenset()) -> None:
        count = len(code)
        leaders = {0, count}
        branch, closes, fn = Flow.BRANCH, CLOSES, code.fn
        for i, v in enumerate(code.views):
            control = v.control
            if control and control in closes and i not in detours:
                leaders.add(i + 1)
                if control == branch:
                    leaders.add(fn.target(i))
                    leaders.add(fn.reconvergence(i) or 0)
        self.starts = sorted(at for at in leaders if 0 <= at <= count)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, i: int) -> int:
        """Return the block of word i."""
        return bisect_right(self.starts, i) - 1


class Blocks(Places):
    """The basic blocks of a function have edges between them. after, before: successors and predecessors by number of
    the block."""

    def __init__(self, code: FunctionCode) -> None:
        super().__init__(code)
        count, branch, fn = len(code), Flow.BRANCH, code.fn
        number = {at: b for b, at in enumerate(self.starts)}
        self.after: list[list[int]] = []
        self.before: list[list[int]] = [[] for _ in self.starts]
        for b in range(len(self)):
            last = self.starts[b + 1] - 1
            v = code.views[last]
            falls, jumps = successors(v.control, v.guard is not None)
            to = [last + 1] * falls + ([fn.target(last)] if jumps and v.control == branch else [])
            self.after.append([number[t] for t in to if 0 <= t < count])
            for t in self.after[-1]:
                self.before[t].append(b)

    def reached(self) -> set[int]:
        """Return the numbers of the reachable blocks."""
        seen, work = {0}, [0] if len(self) else []
        while work:
            for t in self.after[work.pop()]:
                if t not in seen:
                    seen.add(t)
                    work.append(t)
        return seen
