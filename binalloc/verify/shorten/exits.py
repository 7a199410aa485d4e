"""The proof of late exits: a thread that would end goes to the kernel's end instead, where lanes of its warp meet it.

    report = check_late_exits(original, made, "kernel", (128, 1, 1))

Both kernels have the same words, but for guarded EXITs of the original. In place of one the new kernel may have a
branch under the same guard to an EXIT of all threads, with its reconvergence point there. In blocks of the given size
all threads of a block come together to such an EXIT, and end there, or none does (`as_one.py`). Or no way from it to
that EXIT has a barrier, an exchange between lanes, or a call, so that nobody can see whether the lanes have ended or
wait. It may be nested in no branch at which lanes part and which they leave behind it: all its ways lead to the EXIT.
The stack of reconvergence points has room for it: 32 lanes part 31 times at most, and nothing is called there.
"""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.merged.numbers import Three
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.as_one import ends_as_one
from binalloc.verify.shorten.sides import Sides, proven, ways

_ALONE = (Flow.NONE, Flow.BRANCH, Flow.EXIT)
"""Control flow that has nothing to do with other threads."""


def check_late_exits(original: Module, made: Module, kernel: str, block: Three | None = None) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does. block: size of its blocks, None for all sizes. Raises
    nothing."""
    return proven(original, made, kernel, lambda sides: _prove(sides, block))


def _prove(sides: Sides, block: Three | None) -> None:
    if len(sides.new) != len(sides.old) or sides.label != list(range(len(sides.old))):
        sides.fail("map", "the kernels have not the same words")
        return
    after = _after(sides)
    others: list[int] = []
    for n, (old, new) in enumerate(zip(sides.old.instrs, sides.new.instrs, strict=True)):
        isa = set_of(old)
        if not (set_of(new) is isa and isa.alike(new, old)) and not _late_exit(sides, after, n):
            others.append(n)
    as_one = ends_as_one(sides, block) if block is not None and any(_goes_to_end(sides, n) for n in others) else set()
    for n in others:
        if n not in as_one or not _goes_to_end(sides, n):
            sides.fail("order", "not the original's instruction, nor a late exit", n, n)


def _after(sides: Sides) -> list[list[int]]:
    """Return the words behind each word of the new kernel."""
    found = []
    for n, view in enumerate(sides.new.views):
        falls, jumps = ways(view)
        found.append([n + 1] * falls + ([sides.new.fn.target(n)] if jumps else []))
    return found


def _goes_to_end(sides: Sides, n: int) -> bool:
    """Return whether a branch under the guard of an EXIT of the original goes to another EXIT, of all threads."""
    old, new = sides.old.views[n], sides.new.views[n]
    if old.control != Flow.EXIT or old.guard is None or new.control != Flow.BRANCH or new.guard != old.guard:
        return False
    end = sides.new.fn.target(n)
    if not 0 <= end < len(sides.new) or sides.new.fn.reconvergence(n) != end:
        return False
    return sides.old.views[end].control == Flow.EXIT and sides.old.views[end].guard is None


def _late_exit(sides: Sides, after: list[list[int]], n: int) -> bool:
    """Return whether a branch may stand for an EXIT of the original in blocks of any size."""
    if not _goes_to_end(sides, n):
        return False
    end = sides.new.fn.target(n)
    work, seen = [n + 1], {end}
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if not 0 <= at < len(sides.new):
            return False
        view = sides.new.views[at]
        if at == n or view.convergent or view.control not in _ALONE or not after[at]:
            return False  # another end, or it comes here again
        work += after[at]
    return not _nested(sides, after, n)


def _nested(sides: Sides, after: list[list[int]], n: int) -> bool:
    """Return whether a word may be between a branch at which lanes part and the place where they meet again."""
    for b, view in enumerate(sides.new.views):
        point = sides.new.fn.reconvergence(b) if view.control == Flow.BRANCH and b != n else None
        if point is None or _late(sides, b):
            continue
        work, seen = list(after[b]), {point}
        while work:
            at = work.pop()
            if at == n:
                return True
            if at not in seen:
                seen.add(at)
                work += after[at] if 0 <= at < len(after) else []
    return False


def _late(sides: Sides, b: int) -> bool:
    """Return whether a branch stands for an EXIT: its lanes meet at the kernel's end, where this one's do, too."""
    return sides.old.views[b].control == Flow.EXIT
