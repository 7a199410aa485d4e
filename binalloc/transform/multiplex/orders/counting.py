"""This module counts the barriers that a block comes to in an access region.

Needs what is known of a kernel's shared memory, its barriers and a region; leaves them untouched. Ways that no thread
takes do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.regions import Bound, Region
from binalloc.isa.kinds import Flow


class Uneven(Exception):
    """`Uneven` is raised where the number of barriers differs between ways through a region. word: one that is not on
    all of them, or in a loop."""

    def __init__(self, word: int) -> None:
        super().__init__(word)
        self.word = word


@dataclass(frozen=True)
class _Passed:
    """The barriers on a way to a word."""

    count: int
    last: int


def barriers_in(memory: SharedMemory, region: Region, barriers: set[int]) -> int:
    """Return how many barriers are on each way from a begin of a region to one of its ends, or to an EXIT in it. Raises
    Uneven. barriers: their words."""
    kernel = memory.program.kernel
    edges = memory.ranges.functions[kernel.name].edges
    succs = [
        [s for s in ways if edges.get((BlockNumber(b), s)) is not False] for b, ways in enumerate(kernel.cfg.succs)
    ]
    found: list[_Passed] = []
    for begin in region.begins:
        found += _on_ways(kernel.cfg, succs, region, begin, barriers)
    for passed in found[1:]:
        _require_same(found[0], passed)
    return found[0].count if found else 0


def _on_ways(
    cfg: Cfg, succs: Sequence[Sequence[BlockNumber]], region: Region, begin: Bound, barriers: set[int]
) -> list[_Passed]:
    """Return the barriers on ways from a begin of a region to its ends. succs: of basic blocks, if some thread takes
    the way."""
    ends = {(None, bound.word) if bound.source is None else (bound.source, bound.word) for bound in region.ends}
    found: list[_Passed] = []
    seen: dict[int, _Passed] = {}
    work = [(begin.word, _Passed(0, begin.word))]
    while work:
        word, passed = work.pop()
        if word in seen:
            _require_same(seen[word], passed)
            continue
        seen[word] = passed
        if word in barriers:
            passed = _Passed(passed.count + 1, word)
        if cfg.views[word].control == Flow.EXIT:
            found.append(passed)
        block = cfg.block_of[word]
        inside = word + 1 < cfg.blocks[block].end
        for after in [word + 1] if inside else [cfg.blocks[s].start for s in succs[block]]:
            if (None, after) in ends or (not inside and (block, after) in ends):
                found.append(passed)
            else:
                work.append((after, passed))
    return found


def _require_same(one: _Passed, other: _Passed) -> None:
    if one.count != other.count:
        raise Uneven(max(one, other, key=lambda passed: passed.count).last)
