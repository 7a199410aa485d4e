"""This module finds the phases of a kernel: parts of its code in which threads of a block may be at one time.

Needs a `SharedMemory`; leaves it untouched. A phase begins behind a barrier of the whole block, or at the entry, and
ends at the next barriers. Phases that have words in common are one.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.shared.barriers import Arrival
from binalloc.analysis.shared.memory import SharedMemory


@dataclass(frozen=True)
class Phases:
    """The phases of a kernel are numbered in order of their first words."""

    words: tuple[frozenset[int], ...]  #: by phase; the barriers at its end are among them
    before: dict[int, int]  #: by barrier the phase that ends there
    behind: dict[int, int]  #: by barrier the phase that begins there


def phases(memory: SharedMemory) -> Phases | None:
    """Return the phases of the kernel; None if not all its barriers are such that all threads of a block meet."""
    cfg = memory.program.kernel.cfg
    if any(site.arrival is not Arrival.ALL or not site.barrier.whole for site in memory.barriers):
        return None
    if any(site.place.function != memory.program.graph.kernel for site in memory.barriers):
        return None
    barriers = [site.place.word for site in memory.barriers]
    starts = [cfg.blocks[cfg.rpo[0]].start, *(word + 1 for word in barriers)]
    found = [_reached(memory, start, frozenset(barriers)) for start in starts]
    joined: list[set[int]] = []
    for words in found:
        met = [each for each in joined if each & words]
        joined = [each for each in joined if not each & words] + [words.union(*met)]
    ordered = tuple(frozenset(each) for each in sorted(joined, key=min))
    home = {word: k for k, words in enumerate(ordered) for word in words}
    return Phases(ordered, {word: home[word] for word in barriers}, {word: home[word + 1] for word in barriers})


def _reached(memory: SharedMemory, start: int, barriers: frozenset[int]) -> set[int]:
    """Return the words that a thread may come to from a word on, up to barriers."""
    cfg = memory.program.kernel.cfg
    edges = memory.ranges.functions[memory.program.graph.kernel].edges
    found: set[int] = set()
    work = [start]
    while work:
        word = work.pop()
        if word in found:
            continue
        found.add(word)
        if word in barriers:
            continue
        block = cfg.block_of[word]
        if word + 1 < cfg.blocks[block].end:
            work.append(word + 1)
        else:
            work += [cfg.blocks[s].start for s in cfg.succs[block] if edges.get((block, s)) is not False]
    return found
