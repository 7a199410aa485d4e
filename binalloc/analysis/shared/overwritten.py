"""This module finds what all threads of a block together surely overwrite: in a store, and in all rounds of a loop.

Needs the pieces of a kernel; sets their `kills`. What is overwritten before a barrier cannot be read behind it any
more.
"""

from __future__ import annotations

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.ranges.rounds import every_round, ways_out
from binalloc.analysis.shared.barriers import early_ends, ended_before
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.pieces import Pieces, plain_store
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.uniformity import Scope

Edge = tuple[int, int]
"""A way from a basic block to the next."""


def set_kills(found: Pieces) -> dict[Edge, tuple[int, int]]:
    """Note what each store of all threads overwrites. Return likewise (loop, bytes) by the edge that leaves a loop:
    what its rounds have overwritten together."""
    memory = found.memory
    kernel = memory.program.kernel
    ends = early_ends(memory.scopes)
    edges: dict[Edge, tuple[int, int]] = {}
    for piece in found.all:
        if not piece.writes or not plain_store(memory, piece.start):
            continue
        if ended_before(memory.scopes, Place(kernel.name, piece.start), ends) is not None:
            continue
        if memory.scopes.functions[kernel.name].blocks[piece.block] >= Scope.BLOCK:
            piece.kills = _bytes(memory, piece.start, {})
        k = kernel.loops.loop_of[piece.block]
        if k >= 0 and _entered_by_all(memory, k):
            way, rounds = _rounds(memory, k, piece.block)
            if rounds is not None:
                before = edges.get(way, (k, 0))[1]
                edges[way] = k, before | _bytes(memory, piece.start, {k: rounds})
    return edges


def _bytes(memory: SharedMemory, word: int, rounds: dict[int, np.ndarray]) -> int:
    """Return the bytes that all threads write at a word, in all rounds; none where that is not known. The bit for all
    addresses beyond is not among them: to write some of these overwrites not all."""
    reach, name = memory.reach, memory.program.graph.kernel
    what = memory.program.kernel.cfg.views[word].memory
    assert what is not None
    value = reach.ranges.address(name, word)
    found = reach.listed(name, value, True, rounds)
    if found is None or (not memory.ranges.threads.count and value.terms):
        return 0
    return reach.bytes_of(found, what.size) & ~(1 << reach.size)


def _entered_by_all(memory: SharedMemory, k: int) -> bool:
    """Return whether all threads of a block come to a loop whenever one does."""
    kernel = memory.program.kernel
    scopes = memory.scopes.functions[kernel.name]
    loop = kernel.loops.loops[k]
    outside = [b for b in scopes.divisions.decided_by[loop.header] if b not in loop.blocks]
    deciding = [min(memory.scopes.guard(kernel.name, kernel.cfg.blocks[b].end - 1), scopes.blocks[b]) for b in outside]
    return min(deciding, default=Scope.GRID) >= Scope.BLOCK


def _rounds(memory: SharedMemory, k: int, block: BlockNumber) -> tuple[Edge, np.ndarray | None]:
    """Return the edge by which threads leave a loop, and how often each thread comes to a block in it before."""
    found = memory.ranges.functions[memory.program.graph.kernel]
    loop = found.function.loops.loops[k]
    last = found.grown.last.get(k)
    if last is None:
        return (-1, -1), None
    (edge,) = ways_out(found, loop)
    if found.versions.tree.dominates(block, edge[0]):
        return edge, np.asarray(last) + 1
    return edge, np.asarray(last) if every_round(found, loop, block) else None

