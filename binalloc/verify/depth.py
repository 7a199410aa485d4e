"""This module bounds the depth of the reconvergence stack, for call chains that come near its end.

Needs the lockstep of every pair of functions. A stack holds one entry for each active call. For each branch with
diverged lanes, it holds the entry that waits at the reconvergence point, and up to one side still to run. There are two
bounds, of which the smaller holds:

- *By the code.* It counts the branches that may be open at a place (their reconvergence point not yet passed), each
  with the entries it pushes. A branch that may be executed again while it is open counts as any number.
- *By the lanes.* Every branch that diverges leaves fewer lanes together. So with 32 lanes at most 31 branches are open
  at once on the whole stack, with calls and without.

Where neither shows that the stack's entries suffice, the rewritten program must push no more than the original at every
step, except for branches around guarded calls. Then it overflows only where the original does, or where lanes diverge
at such branches. Let d of them be open. The rewritten stack holds d entries more than the original's, so 64 + d at most
where that does not overflow. Each of the d branches takes one entry, where other branches take two, so it also holds
63 + calls - d at most. One of the two is below 65 for every d as long as there are two calls at most.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.isa.interface.places import LANES, STACK_ENTRIES
from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import Flow
from binalloc.verify.product import Product
from binalloc.verify.reading.code import FunctionCode

MANY = 1 << 20
"""Stands for any number of entries: more than any program needs."""
MOST_CALLS = 2
"""Depth of calls up to which added branches cannot overflow the stack; see above."""
SHALLOW = STACK_ENTRIES - 1 - 2 * (LANES - 1)
"""Depth of calls at which no branches can fill the stack: the bound by the lanes needs no look at the code."""


@dataclass(frozen=True)
class Depth:
    """The depth of a function bounds the reconvergence stack, callees included."""

    calls: int = 0  #: longest chain of calls
    open: int = 0  #: entries that branches add along the worst chain, by the code
    sides: int = 0  #: most entries that one branch adds

    @property
    def entries(self) -> int:
        """Return a number of stack entries that suffices."""
        return 1 + self.calls + min(self.open, self.sides * (LANES - 1))


def depth(code: FunctionCode, callees: dict[int, Depth]) -> Depth:
    """Return the bound for a function. callees: bounds of the functions called, by call word."""
    branches = [i for i in range(len(code)) if pushes(code, i)]
    opened = _open(code, branches)
    cost = _costs(code, branches, opened)

    def at(i: int) -> int:
        return min(MANY, sum(cost[b] for b in bits(opened[i])))

    own = max((at(i) + cost[b] for b, i in enumerate(branches)), default=0)
    return Depth(
        max((1 + d.calls for d in callees.values()), default=0),
        min(MANY, max([own, *(at(i) + d.open for i, d in callees.items())])),
        max([*(pushes(code, i) for i in branches), *(d.sides for d in callees.values())], default=0),
    )


def _costs(code: FunctionCode, branches: list[int], opened: list[int]) -> list[int]:
    """Return the entries of each branch: MANY if it may be executed again while it is open and adds some each time."""
    inside = [0] * len(branches)  # for each branch the ones that may be executed while it is open
    for c, i in enumerate(branches):
        for b in bits(opened[i]):
            inside[b] |= 1 << c
    out = []
    for b, i in enumerate(branches):
        point = code.fn.reconvergence(i)
        around = bits(opened[i] & inside[b])
        again = any(code.fn.reconvergence(branches[c]) != point or (c == b and pushes(code, i) > 1) for c in around)
        out.append(MANY if again else pushes(code, i))
    return out


def pushes(code: FunctionCode, i: int) -> int:
    """Return the entries that the branch at `i` adds where its lanes diverge."""
    point = code.fn.reconvergence(i)
    if point is None or code.views[i].guard is None:
        return 0
    return (code.fn.target(i) != point) + (i + 1 != point)


def _open(code: FunctionCode, branches: list[int]) -> list[int]:
    """Return for each word the branches (numbers as bits) whose reconvergence point may be outstanding before it."""
    number = {i: b for b, i in enumerate(branches)}
    closes: dict[int, int] = {}
    for i, b in number.items():
        point = code.fn.reconvergence(i)
        assert point is not None
        closes[point] = closes.get(point, 0) | 1 << b
    before = [0] * len(code)
    work = [0] if len(code) else []
    seen = set(work)
    while work:
        i = work.pop()
        out = before[i] | (1 << number[i] if i in number else 0)
        v = code.views[i]
        falls, jumps = successors(v.control, v.guard is not None)
        for t in ([i + 1] * falls) + ([code.fn.target(i)] if jumps and v.control == Flow.BRANCH else []):
            if not 0 <= t < len(code):
                continue
            arriving = before[t] | out & ~closes.get(t, 0)
            if arriving != before[t] or t not in seen:
                seen.add(t)
                before[t] = arriving
                work.append(t)
    return before


def may_overflow(bound: Depth, products: list[Product]) -> bool:
    """Return whether the stack may overflow where the original's does not. bound: of the call graph of `products`."""
    if bound.entries <= STACK_ENTRIES:
        return False
    if not all(map(_no_deeper, products)):
        return True
    return bound.calls > MOST_CALLS and any(n.kind == "skip" for p in products for n in p.nodes.values())


def _no_deeper(product: Product) -> bool:
    """Return whether no branch of the lockstep pushes more in the rewritten function than in the original."""
    return all(
        pushes(product.new, node.n) <= pushes(product.old, node.m)
        for node in product.nodes.values()
        if node.kind == "branch"
    )
