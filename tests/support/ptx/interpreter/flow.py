"""Where the lanes of a divergent branch meet again: immediate post-dominators of a function's instructions.

Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph of basic blocks with one
virtual exit. Guarded returns, and branches to a bare return, count as plain instructions: their lanes leave for good.
"""

from __future__ import annotations

from tests.support.ptx.interpreter.text.tree import Func, Inst

LEAVING = ("ret", "exit", "trap")


def leaves(func: Func, inst: Inst) -> bool:
    """A branch whose target only returns."""
    if inst.op != "bra" or inst.targets[0] >= len(func.body):
        return False
    target = func.body[inst.targets[0]]
    return target.op in ("ret", "exit") and target.guard is None


def successors(func: Func, at: int) -> list[int]:
    """Instructions that may follow instruction `at`; len(body) is the exit."""
    inst, end = func.body[at], len(func.body)
    if inst.op in LEAVING or leaves(func, inst):
        return [at + 1] if inst.guard else [end]
    if inst.op == "bra":
        return sorted({inst.targets[0], at + 1}) if inst.guard else [inst.targets[0]]
    if inst.op == "brx":
        return sorted({*inst.targets, at + 1} if inst.guard else {*inst.targets})
    return [at + 1]


def meeting_points(func: Func) -> dict[int, int]:
    """Branch instruction -> the instruction where its lanes meet; len(body): nowhere before the end."""
    end = len(func.body)
    branches = [i for i, inst in enumerate(func.body) if inst.op in ("bra", "brx", *LEAVING)]
    leaders = sorted({0, *(i + 1 for i in branches), *(t for i in branches for t in func.body[i].targets)} - {end})
    last = {start: stop - 1 for start, stop in zip(leaders, [*leaders[1:], end], strict=True)}
    following = {start: successors(func, last[start]) for start in leaders}
    preceding: dict[int, list[int]] = {start: [] for start in [*leaders, end]}
    for start in leaders:
        for successor in following[start]:
            preceding[successor].append(start)
    order = postorder(end, preceding)
    number = {node: k for k, node in enumerate(order)}
    parent = {end: end}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            known = [s for s in following[node] if s in parent]
            best = known[0]
            for other in known[1:]:
                best = common(best, other, parent, number)
            if parent.get(node) != best:
                parent[node], changed = best, True
    return {stop: parent.get(start, end) for start, stop in last.items() if func.body[stop].op in ("bra", "brx")}


def postorder(root: int, edges: dict[int, list[int]]) -> list[int]:
    order, seen, stack = [], {root}, [(root, iter(edges[root]))]
    while stack:
        node, rest = stack[-1]
        child = next((c for c in rest if c not in seen), None)
        if child is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(edges[child])))
    return order


def common(a: int, b: int, parent: dict[int, int], number: dict[int, int]) -> int:
    while a != b:
        while number[a] < number[b]:
            a = parent[a]
        while number[b] < number[a]:
            b = parent[b]
    return a
