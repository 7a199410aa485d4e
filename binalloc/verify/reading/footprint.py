"""This module finds the places that a pair of functions may touch, callees included: the frame of a call.

Needs the codes of both, and the callees' footprints. `needed` is computed by ordinary backward liveness on the
original. At its returns everything that it may write counts as read. So `needed` has places that the function reads
before writing them, or may return unwritten. Facts about other places cannot matter inside. Its values have to be right
in the places that are in fact read behind its returns (`live_after_calls`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import Flow
from binalloc.verify.reading.code import FunctionCode, ref_bits, ref_keys, word_keys
from binalloc.verify.reading.names import Names
from binalloc.verify.reading.webs import OriginalSummary


@dataclass
class Footprint:
    """A footprint has the places that a pair of functions may touch."""

    summary: OriginalSummary = field(default_factory=OriginalSummary)  #: of the original
    rows: set[int] = field(default_factory=set)  #: rows of rewritten places that the pair may write, except slots


def footprint(summary: OriginalSummary, new: FunctionCode, callees: Iterable[Footprint]) -> Footprint:
    """Return the footprint of an original with this summary and `new`, which calls `callees`."""
    out = Footprint(summary)
    for i, view in enumerate(new.views):
        for ref in view.defs:
            out.rows.update(ref_keys(ref))
        access = new.locals[i]
        if access is not None and access.store and access.spill:
            out.rows.update(word_keys(access))
    for callee in callees:
        out.rows |= callee.rows
    return out


def summarise(old: FunctionCode, calls: Mapping[int, OriginalSummary], names: Names) -> OriginalSummary:
    """Return what the original function does to places. calls: the summaries of its callees, by word."""
    out = OriginalSummary()
    effects = _all_effects(old, calls, names)
    for reads, writes, _ in effects:
        out.reads |= reads
        out.writes |= writes
    out.needed = (_live(old, effects, out.writes) or [0])[0]
    if not old.fn.info.is_kernel:  # a kernel is not called
        own = _all_effects(old, calls, names, through=False) if calls else effects
        out.first = (_live(old, own, 0) or [0])[0]
    return out


def live_after_calls(
    old: FunctionCode, calls: Mapping[int, OriginalSummary], names: Names, at_return: int
) -> dict[int, int]:
    """Return the places that may still be read behind each call, by word.

    at_return: places that may be read behind the function.
    """
    if not calls:
        return {}
    live = _live(old, _all_effects(old, calls, names, through=False), at_return)
    return {i: live[i + 1] if i + 1 < len(live) else 0 for i in calls}


def _all_effects(
    old: FunctionCode, calls: Mapping[int, OriginalSummary], names: Names, *, through: bool = True
) -> list[tuple[int, int, int]]:
    return [_effects(old, i, calls, names, through) for i in range(len(old))]


def _effects(
    old: FunctionCode, i: int, calls: Mapping[int, OriginalSummary], names: Names, through: bool
) -> tuple[int, int, int]:
    """Return (may read before writing, may write, surely writes) of one original word, as bits.

    through: a place that may go through a call unwritten counts as read there.
    """
    view = old.views[i]
    reads = writes = 0
    for r in view.uses:
        for b in ref_bits(r):
            reads |= 1 << b
    for r in view.defs:
        for b in ref_bits(r):
            writes |= 1 << b
    access = old.locals[i]
    if access is not None:
        words = sum(1 << names.word(w) for w in access.words)
        writes |= words if access.store else 0
        reads |= 0 if access.store else words
    surely = writes
    callee = calls.get(i)
    if callee is not None:
        reads |= callee.needed if through else callee.first
        writes |= callee.writes
        surely |= callee.always
    if view.guard is not None:
        reads |= 1 << (PRED_BASE + view.guard[0])
        surely = 0
    return reads, writes, surely


def _live(old: FunctionCode, effects: list[tuple[int, int, int]], at_return: int) -> list[int]:
    """Return the places live in front of each word."""
    count = len(old)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for i, view in enumerate(old.views):
        falls, jumps = successors(view.control, view.guard is not None)
        targets = [i + 1] * falls
        if jumps and view.control == Flow.BRANCH:
            targets.append(old.fn.target(i))
        after[i] = [t for t in targets if 0 <= t < count]
        for t in after[i]:
            before[t].append(i)
    live = [0] * count
    work = list(range(count))
    queued = set(work)
    while work:
        i = work.pop()
        queued.discard(i)
        out = at_return if old.views[i].control == Flow.RETURN else 0
        for t in after[i]:
            out |= live[t]
        reads, _, surely = effects[i]
        value = out & ~surely | reads
        if value != live[i]:
            live[i] = value
            for p in before[i]:
                if p not in queued:
                    queued.add(p)
                    work.append(p)
    return live
