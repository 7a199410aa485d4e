"""Immediate post-dominators of single instructions are computed here, for the assembler's `.auto_reconv`.

Needs branch targets as word indexes. A guarded RET or EXIT counts as falling through only: lanes that leave the
function need no reconvergence point.
"""

from __future__ import annotations

from binalloc.dominance import NONE, dominator_tree
from binalloc.isa.instruction import Function, Instr
from binalloc.isa.kinds import LEAVES, Flow


def unusual_points(fn: Function) -> dict[int, int]:
    """Return the reconvergence points of the branches of `fn` that may diverge, by branch, or nothing where all are
    usual.

    They are usual where each is its branch's immediate post-dominator: then lanes come to the points in the order in
    which they wait there.
    """
    branch = Flow.BRANCH
    found = ((i, fn.reconvergence(i)) for i, instr in enumerate(fn.instrs) if instr.control == branch)
    points = {i: p for i, p in found if p is not None and fn.instrs[i].guarded and 0 <= p < len(fn.instrs)}
    if not points:
        return {}
    targets = {i: fn.target(i) for i, instr in enumerate(fn.instrs) if instr.control == branch}
    nearest = immediate_postdominators(fn.instrs, targets)
    return {} if all(p == min(nearest[i], len(fn.instrs) - 1) for i, p in points.items()) else points


def immediate_postdominators(instrs: list[Instr], targets: dict[int, int]) -> list[int]:
    """Return for each instruction the index of its immediate post-dominator, or len(instrs) for the function's end.

    targets: index of each branch -> word index that it jumps to. An instruction from which no end can be reached (an
    endless loop) gets the function's end.
    """
    n = len(instrs)
    branch = Flow.BRANCH
    succ: list[list[int]] = []
    for i, ins in enumerate(instrs):
        control, out = ins.control, []
        if control == branch:
            out = [targets[i]] + ([i + 1] if ins.guarded else [])
        elif control in LEAVES:
            out = [i + 1] if ins.guarded else [n]
        else:
            out = [i + 1]
        succ.append([s if s < n else n for s in out])
    preds: list[list[int]] = [[] for _ in range(n + 1)]
    for i, out in enumerate(succ):
        for s in out:
            preds[s].append(i)
    nearest = dominator_tree(n + 1, n, preds, [*succ, []]).idom
    return [n if node == NONE else node for node in nearest[:n]]
