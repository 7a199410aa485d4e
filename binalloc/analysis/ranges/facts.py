"""This module finds what is known to hold at a place, from the branches that lead there.

Needs the values of a function; leaves them untouched. A branch on which a place depends was taken with the values that
the place sees: between the two there is no definition of a version that both use.
"""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.ranges.acts import negated
from binalloc.analysis.ranges.function import LEAVING, FunctionRanges
from binalloc.analysis.ranges.symbols import Fact
from binalloc.analysis.ranges.versions import Version
from binalloc.isa.interface.formulas import Act

_DEEPEST = 8  # chosen by hand: predicates of predicates that are followed


def facts_at(found: FunctionRanges, index: int) -> tuple[Fact, ...]:
    """Return what holds in threads that execute an instruction."""
    version, flip, _ = found.guard(index)
    own = _facts(found, version, not flip, 0) if version is not None else ()
    return (*own, *facts_of_block(found, found.function.cfg.block_of[index]))


def facts_of_block(found: FunctionRanges, block: BlockNumber) -> tuple[Fact, ...]:
    """Return what holds in threads that come to a block, the facts of the last branches first."""
    tree, kept, passed, at = found.versions.tree, found.facts, list[BlockNumber](), block
    while at not in kept and at != tree.root:
        passed.append(at)
        at = BlockNumber(tree.idom[at])
    facts = kept.get(at, ())
    for into in reversed(passed):
        above, preds = BlockNumber(tree.idom[into]), found.function.cfg.preds[into]
        if above in preds and all(tree.dominates(into, p) for p in preds if p != above and _reached(found, p)):
            facts = (*facts_of_edge(found, above, into), *facts)
        kept[into] = facts
    return facts


def _reached(found: FunctionRanges, block: BlockNumber) -> bool:
    return found.function.cfg.rpo_number[block] >= 0


def facts_of_edge(found: FunctionRanges, source: BlockNumber, target: BlockNumber) -> tuple[Fact, ...]:
    """Return what the last instruction of a block says of threads that go on to another."""
    cfg = found.function.cfg
    taken, fall = cfg.taken[source], cfg.fall[source]
    last = cfg.blocks[source].end - 1
    if taken == fall or cfg.views[last].control not in LEAVING:
        return ()
    version, flip, _ = found.guard(last)
    return () if version is None else tuple(_facts(found, version, (target == taken) is not flip, 0))


def _facts(found: FunctionRanges, version: Version, holds: bool, depth: int) -> Iterator[Fact]:
    """Yield what follows from the truth of a predicate."""
    test = found.tests.get(version)
    if test is None or depth > _DEEPEST:
        return
    compared = test.formula.act == Act.COMPARE
    count = len(test.truths) + compared
    # entries of the table that agree with what is known of constant predicates
    entries = [e for e in range(1 << count) if (test.formula.table >> e & 1) == holds]
    for k, (other, flip) in enumerate(test.truths, start=compared):
        if other is None:
            entries = [e for e in entries if (e >> count - 1 - k & 1) != flip]
    for k in range(count):
        bits = {bool(e >> count - 1 - k & 1) for e in entries}
        if len(bits) != 1:
            continue
        (bit,) = bits
        if compared and k == 0:
            order = test.formula.order
            assert order is not None
            yield Fact(test.words[0], order if bit else negated(order), test.words[1], test.formula.signed)
        else:
            other, flip = test.truths[k - compared]
            if other is not None:
                yield from _facts(found, other, bit is not flip, depth + 1)
