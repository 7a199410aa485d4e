"""Immediate post-dominators of single instructions, for the assembler's `.auto_reconv`.

Needs branch targets as word indexes. Guarded RET and EXIT are taken to fall through only: lanes that leave need no
reconvergence point.
"""

from __future__ import annotations

from binalloc.isa.instruction import Function, Instr


def unusual_points(fn: Function) -> dict[int, int]:
    """Reconvergence points of the branches of `fn` that may diverge, by branch; none where each is its branch's
    immediate post-dominator, so that lanes come to the points in the order in which they wait."""
    found = ((i, fn.reconvergence(i)) for i, instr in enumerate(fn.instrs) if instr.op.control == "branch")
    points = {i: p for i, p in found if p is not None and fn.instrs[i].guarded and 0 <= p < len(fn.instrs)}
    if not points:
        return {}
    targets = {i: fn.target(i) for i, instr in enumerate(fn.instrs) if instr.op.control == "branch"}
    nearest = immediate_postdominators(fn.instrs, targets)
    return {} if all(p == min(nearest[i], len(fn.instrs) - 1) for i, p in points.items()) else points


def immediate_postdominators(instrs: list[Instr], targets: dict[int, int]) -> list[int]:
    """Per instruction the index of its immediate post-dominator, or len(instrs) for the function's end.

    targets: index of each BRA -> word index it jumps to. The iterative algorithm of Cooper, Harvey and Kennedy ("A
    Simple, Fast Dominance Algorithm", 2001, Fig. 3) on the reversed graph; O(n) memory, few passes.
    Instructions from which no end can be reached (endless loops) get the function's end.
    """
    n = len(instrs)
    succ: list[list[int]] = []
    for i, ins in enumerate(instrs):
        control, out = ins.op.control, []
        if control == "branch":
            out = [targets[i]] + ([i + 1] if ins.guarded else [])
        elif control in ("return", "exit"):
            out = [i + 1] if ins.guarded else [n]
        else:
            out = [i + 1]
        succ.append([s if s < n else n for s in out])
    order = _reverse_postorder(succ, n)
    rank = {node: k for k, node in enumerate(order)}
    ipdom: dict[int, int] = {n: n}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = -1
            for s in succ[node]:
                if s in ipdom:
                    new = s if new < 0 else _meet(s, new, ipdom, rank)
            if new >= 0 and ipdom.get(node) != new:
                ipdom[node] = new
                changed = True
    return [ipdom.get(i, n) for i in range(n)]


def _meet(a: int, b: int, ipdom: dict[int, int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = ipdom[a]
        while rank[b] > rank[a]:
            b = ipdom[b]
    return a


def _reverse_postorder(succ: list[list[int]], n: int) -> list[int]:
    """Nodes that reach the end, in reverse postorder of the reversed graph from node n."""
    pred: list[list[int]] = [[] for _ in range(n + 1)]
    for i, out in enumerate(succ):
        for s in out:
            pred[s].append(i)
    seen = {n}
    post: list[int] = []
    stack = [(n, 0)]
    while stack:
        node, k = stack.pop()
        if k < len(pred[node]):
            stack.append((node, k + 1))
            p = pred[node][k]
            if p not in seen:
                seen.add(p)
                stack.append((p, 0))
        else:
            post.append(node)
    return post[::-1]
