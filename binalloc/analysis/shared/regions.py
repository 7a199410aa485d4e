"""This module finds the access regions of a kernel: the code in which the shared memory of a block is in use.

Needs a `SharedMemory`; leaves it untouched. (Multiplex paper, section 3: between barriers of all threads, before the
first definition and behind the last use; a redefinition begins a new region.) The paper has the programmer's regions.
Here a region ends wherever nothing that was written before can be read any more, and all threads come together. Where
that is nowhere the case, a region grows, up to the whole kernel. Common bytes need no
region, as a copy for all would do; nor do private ones, of which each block keeps a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.analysis.shared.barriers import early_ends, ended_before
from binalloc.analysis.shared.holding import held_bytes
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.overwritten import set_kills
from binalloc.analysis.shared.pieces import Pieces, apart, pieces
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.uniformity import Scope
from binalloc.isa.kinds import Flow


class Bound(NamedTuple):
    """A bound of a region is a place in front of a word, where all threads of a block that run come together."""

    word: int
    source: int | None  #: on the way from this basic block alone; None: on all ways to the word


_FEW = 8
"""Most words on other ways that a region takes in, so that it ends in one place. Chosen by hand: they take about as
long as a barrier."""
Step = tuple[int, int]
"""From a piece to one behind it."""


@dataclass
class Region:
    """A region is a part of a kernel in which shared memory is in use."""

    spans: list[tuple[int, int]] = field(default_factory=list)  #: its words: (first, one past the last), ascending
    begins: list[Bound] = field(default_factory=list)
    ends: list[Bound] = field(default_factory=list)
    bytes: int = 0  #: bytes that it may touch, as a bitset
    exits: bool = False  #: threads may end in it
    #: an EXIT at which threads of the block may have ended before it begins
    ended: Place | None = None


def access_regions(memory: SharedMemory) -> list[Region]:
    """Return the access regions of a kernel in order of their first words."""
    found = pieces(memory)
    held = held_bytes(found, set_kills(found))
    scopes = memory.scopes.functions[memory.program.graph.kernel]
    parted = apart(memory)
    together = [scope >= Scope.BLOCK and block not in parted for block, scope in enumerate(scopes.blocks)]
    free = [
        not (piece.event or piece.ways or held[n]) and together[piece.block] for n, piece in enumerate(found.all)
    ]
    regions, joins = [], _closed(found, free, together)
    for group in _connected(found, free, joins):
        if any(found.all[n].accesses for n in group):
            regions.append(_region(found, free, _with_ways(found, free, group)))
    ends = early_ends(memory.scopes)
    for region in regions:
        places = [Place(memory.program.graph.kernel, bound.word) for bound in region.begins]
        region.ended = next((e for p in places if (e := ended_before(memory.scopes, p, ends)) is not None), None)
    return sorted(regions, key=lambda region: region.spans)


def _closed(found: Pieces, free: list[bool], together: list[bool]) -> list[int]:
    """Return the free pieces in which ways meet that threads come one by one. Whatever else leads there is no longer
    free: a region can only end where all its threads have come together, on all ways."""
    joins: list[int] = []
    changed = True
    while changed:
        changed = False
        joins = [
            n for n, piece in enumerate(found.all)
            if free[n] and any(not free[p] and not together[found.all[p].block] for p in piece.preds)
        ]  # fmt: skip
        for p in {p for n in joins for p in found.all[n].preds if free[p]}:
            free[p] = False
            changed = True
    return joins


def _connected(found: Pieces, free: list[bool], joins: list[int]) -> list[list[int]]:
    """Return the groups of pieces that hang together without free ones between them, or lead to the same join."""
    beside: dict[int, list[int]] = {}
    for n in joins:
        for p in found.all[n].preds:
            beside.setdefault(p, []).extend(found.all[n].preds)
    seen, groups = [*free], []
    for n in range(len(found.all)):
        if seen[n]:
            continue
        group, work = [], [n]
        seen[n] = True
        while work:
            at = work.pop()
            group.append(at)
            for other in (*found.all[at].succs, *found.all[at].preds, *beside.get(at, ())):
                if not seen[other]:
                    seen[other] = True
                    work.append(other)
        groups.append(sorted(group))
    return groups


def _with_ways(found: Pieces, free: list[bool], group: list[int]) -> list[int]:
    """Return a group together with free pieces that lead from it to where other ways from it lead: so it ends there,
    once, and not on each way."""
    inside = set(group)
    targets = [s for n in group for s in found.all[n].succs if free[s] and len(found.all[s].preds) > 1]
    while targets:
        target = targets.pop()
        others = {p for p in found.all[target].preds if p not in inside}
        words = sum(found.all[p].end - found.all[p].start for p in others)
        alone = all(free[p] and found.all[p].preds and inside.issuperset(found.all[p].preds) for p in others)
        if alone and words <= _FEW:
            inside |= others
    for n in inside:
        free[n] = False
    return sorted(inside)


def _region(found: Pieces, free: list[bool], group: list[int]) -> Region:
    """Return the region that a group of pieces makes."""
    region, begins, ends = Region(), set[Step](), set[Step]()
    for n in group:
        piece = found.all[n]
        region.bytes |= piece.reads | piece.writes
        if region.spans and region.spans[-1][1] == piece.start:
            region.spans[-1] = region.spans[-1][0], piece.end
        elif piece.end > piece.start:
            region.spans.append((piece.start, piece.end))
        begins |= {(p, n) for p in piece.preds if free[p]}
        ends |= {(n, s) for s in piece.succs if free[s]}
        words = found.cfg.views[piece.start : piece.end]
        region.exits |= any(seen.control == Flow.EXIT for seen in words)
    region.begins, region.ends = _bounds(found, begins), _bounds(found, ends)
    return region


def _bounds(found: Pieces, steps: set[Step]) -> list[Bound]:
    """Return the bounds at some steps from piece to piece, in order of words. Where all steps to a piece are taken, its
    bound is in front of the next block's first word. Else, where all steps from a piece are, and none has its bound
    there, it is in front of the block's last word."""
    bounds, cfg = set(), found.cfg

    def at_begin(before: int, behind: int) -> bool:
        one, other = found.all[before], found.all[behind]
        return (behind == before + 1 and one.block == other.block) or all((p, behind) in steps for p in other.preds)

    for before, behind in steps:
        one, other = found.all[before], found.all[behind]
        if other.start == cfg.blocks[other.block].end:  # behind the last word of a block that falls through
            alone = len(cfg.preds[cfg.block_of[other.start]]) == 1
            bounds.add(Bound(other.start, None if alone else other.block))
        elif at_begin(before, behind):
            bounds.add(Bound(other.start, None))
        elif one.end > one.start and all((before, s) in steps and not at_begin(before, s) for s in one.succs):
            bounds.add(Bound(one.end - 1, None))
        else:
            bounds.add(Bound(other.start, one.block))
    return sorted(bounds, key=lambda bound: (bound.word, -1 if bound.source is None else bound.source))
