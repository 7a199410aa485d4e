"""This module finds the access regions of a kernel: the code in which the shared memory of a block is in use.

Needs a `SharedMemory`; leaves it untouched. (Multiplex paper, section 3: between barriers of all threads, before the
first definition and behind the last use; a redefinition begins a new region.) The paper has the programmer's regions.
Here a region ends wherever nothing that was written before can be read any more, and all threads come together. Where
that is nowhere the case, a region grows, up to the whole kernel. Common bytes need no region: a copy for all would do.
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

    @property
    def words(self) -> int:
        return sum(end - start for start, end in self.spans)


def access_regions(memory: SharedMemory) -> list[Region]:
    """Return the access regions of a kernel in order of their first words."""
    found = pieces(memory)
    held = held_bytes(found, set_kills(found))
    scopes = memory.scopes.functions[memory.program.graph.kernel]
    parted = apart(memory)
    free = [
        not piece.event and not held[n] and scopes.blocks[piece.block] >= Scope.BLOCK and piece.block not in parted
        for n, piece in enumerate(found.all)
    ]
    regions = []
    for group in _connected(found, free):
        if any(found.all[n].accesses for n in group):
            regions.append(_region(found, free, group))
    ends = early_ends(memory.scopes)
    for region in regions:
        places = [Place(memory.program.graph.kernel, bound.word) for bound in region.begins]
        region.ended = next((e for p in places if (e := ended_before(memory.scopes, p, ends)) is not None), None)
    return sorted(regions, key=lambda region: region.spans)


def _connected(found: Pieces, free: list[bool]) -> list[list[int]]:
    """Return the groups of pieces that hang together without free ones between them."""
    seen, groups = [*free], []
    for n in range(len(found.all)):
        if seen[n]:
            continue
        group, work = [], [n]
        seen[n] = True
        while work:
            at = work.pop()
            group.append(at)
            for other in (*found.all[at].succs, *found.all[at].preds):
                if not seen[other]:
                    seen[other] = True
                    work.append(other)
        groups.append(sorted(group))
    return groups


def _region(found: Pieces, free: list[bool], group: list[int]) -> Region:
    """Return the region that a group of pieces makes."""
    region = Region()
    for n in group:
        piece = found.all[n]
        region.bytes |= piece.reads | piece.writes
        if region.spans and region.spans[-1][1] == piece.start:
            region.spans[-1] = region.spans[-1][0], piece.end
        elif piece.end > piece.start:
            region.spans.append((piece.start, piece.end))
        region.begins += [_bound(found, p, n) for p in piece.preds if free[p]]
        region.ends += [_bound(found, n, s) for s in piece.succs if free[s]]
        words = found.cfg.views[piece.start : piece.end]
        region.exits |= any(seen.control == Flow.EXIT for seen in words)
    region.begins, region.ends = sorted(set(region.begins), key=str), sorted(set(region.ends), key=str)
    return region


def _bound(found: Pieces, before: int, behind: int) -> Bound:
    """Return the bound between two pieces."""
    one, other = found.all[before], found.all[behind]
    inside = behind == before + 1 and one.block == other.block
    return Bound(other.start, None if inside else one.block)
