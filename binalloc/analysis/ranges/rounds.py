"""This module finds how values grow in loops, and when threads leave them.

Needs the values of a function in one pass (`function`); what it learns makes the next pass better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.flow.loops import Loop
from binalloc.analysis.ranges import acts, facts
from binalloc.analysis.ranges.function import FunctionRanges, Grown
from binalloc.analysis.ranges.symbols import Fact
from binalloc.analysis.ranges.value import WORDS, Base, Value, of_threads, window
from binalloc.analysis.ranges.versions import Kind, Version
from binalloc.analysis.web import WebNumber
from binalloc.isa.interface.formulas import Act, Order
from binalloc.isa.kinds import LEAVES


def learn(found: FunctionRanges, grown: Grown) -> bool:
    """Note which joins grow by a constant in each round of their loop, and in which round each thread leaves a loop.
    Return whether that is more than was known."""
    before = len(grown.steps), len(grown.last)
    for version in found.joined:
        block = BlockNumber(version.place)
        if version.kind is Kind.JOIN and block in found.heads and version not in grown.steps:
            step = _step(found, version.web, block)
            if step is not None:
                grown.steps[version] = step
    for k in range(len(found.function.loops.loops)):
        if k not in grown.last:
            last = _last(found, k)
            if last is not None:
                grown.last[k] = last
    return before != (len(grown.steps), len(grown.last))


def _step(found: FunctionRanges, web: WebNumber, head: BlockNumber) -> int | None:
    """Return by which constant a web grows on each way around its loop, None where it does not."""
    cfg = found.function.cfg
    here = found.value(found.versions.entering(head, web))
    steps = set()
    for p in cfg.preds[head]:
        if cfg.rpo_number[p] >= cfg.rpo_number[head]:
            there = found.left(found.value(found.versions.leaving(p, web)), head)
            steps.add(there.plus(here, -1).number)
    step = steps.pop() if len(steps) == 1 else None
    return None if step is None else step - WORDS if step >= WORDS // 2 else step


def every_round(found: FunctionRanges, loop: Loop, block: BlockNumber) -> bool:
    """Return whether a thread comes to a block in each round after which it comes back to the loop's head."""
    cfg, inside = found.function.cfg, set(loop.blocks)
    return all(found.versions.tree.dominates(block, p) for p in cfg.preds[loop.header] if p in inside)


def ways_out(found: FunctionRanges, loop: Loop) -> Iterator[tuple[BlockNumber, BlockNumber]]:
    """Yield the edges that leave a loop; the target is -1 where the function ends."""
    cfg, inside = found.function.cfg, set(loop.blocks)
    for block in loop.blocks:
        yield from ((block, s) for s in cfg.succs[block] if s not in inside)
        if cfg.views[cfg.blocks[block].end - 1].control in LEAVES:
            yield block, BlockNumber(-1)


def asked(found: FunctionRanges, k: int) -> list[tuple[Fact, ...]]:
    """Return what holds in threads that go on, for each exit of a loop that is asked in every round."""
    loop, cfg = found.function.loops.loops[k], found.function.cfg
    out = []
    for block in sorted({block for block, _ in ways_out(found, loop)}):
        on = [s for s in cfg.succs[block] if s in loop.blocks]
        if len(on) == 1 and not loop.irreducible and every_round(found, loop, block):
            out.append(facts.facts_of_edge(found, block, on[0]))
    return out


def together(found: FunctionRanges) -> list[Version]:
    """Return the predicates on which loops are left that all threads leave in the same round."""
    out = []
    for k, last in found.grown.last.items():
        if isinstance(last, int):
            ((block, _),) = ways_out(found, found.function.loops.loops[k])
            version, _, _ = found.guard(found.function.cfg.blocks[block].end - 1)
            assert version is not None
            out.append(version)
    return out


def _last(found: FunctionRanges, k: int) -> Base | None:
    """Return in which round each thread leaves a loop that it enters, where that is certain.

    The loop has one exit, asked in every round, which compares a value that grows by a constant with a known one.
    """
    loop, cfg = found.function.loops.loops[k], found.function.cfg
    ways = list(ways_out(found, loop))
    if loop.irreducible or len(ways) != 1 or ways[0][1] < 0 or not every_round(found, loop, ways[0][0]):
        return None
    block = ways[0][0]
    version, flip, _ = found.guard(cfg.blocks[block].end - 1)
    test = found.tests.get(version) if version is not None else None
    if test is None or test.formula.act != Act.COMPARE or any(p is not None for p, _ in test.truths):
        return None
    # the predicate is the comparison itself, or its opposite
    table, order = test.formula.table, test.formula.order
    assert order is not None
    (_, negated), = test.truths
    said = table >> (2 + (not negated)) & 1, table >> (not negated) & 1
    if said not in ((1, 0), (0, 1)):
        return None
    leaves = (cfg.taken[block] == ways[0][1]) is not flip
    if (said == (1, 0)) is leaves:  # a thread goes on while `order` holds
        order = acts.negated(order)
    for fact in Fact(test.words[0], order, test.words[1], test.formula.signed).both():
        last = _first_failure(fact, found.round(k).terms[0][0])
        if last is not None:
            return last
    return None


def _first_failure(fact: Fact, symbol: int) -> Base | None:
    """Return the round in which the fact does not hold for the first time, if it depends on nothing but the round."""
    factor = fact.value.factor(symbol)
    rest = fact.value.plus(Value(0, ((symbol, 1),)), -factor)
    if not factor or not rest.known or not fact.other.known:
        return None
    if fact.order == Order.UNEQUAL:
        away = (fact.other.plus(rest, -1) if factor > 0 else rest.plus(fact.other, -1)).base
        return None if np.any(away % abs(factor)) else away // abs(factor)
    start, other = (acts.read(x.base, fact.signed) for x in (rest, fact.other))
    whole = window(fact.signed)
    if factor < 0:
        start, other = -start, -other
        order = acts.TURNED[fact.order]
        highest = -whole.low
    else:
        order, highest = fact.order, whole.high
    if order not in (Order.LESS, Order.LESS_EQUAL):
        return None
    most = other - (order == Order.LESS)
    if np.any(most + abs(factor) > highest):
        return None
    return of_threads(np.maximum(0, (most - start) // abs(factor) + 1)).base
