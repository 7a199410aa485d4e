"""This module finds the bytes of shared memory in which every block keeps the same: staged parameters.

Needs the reach of accesses and the scopes of values; leaves them untouched. A byte is *common* if one store alone may
reach it, outside of loops, and stores a value that is the same in the whole grid. Whoever executes the store: the byte
holds that value from then on, in every block. Blocks could share one copy (the multiplex paper's samples keep their
parameters so; the paper does not treat them apart).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.ranges.acts import Bools
from binalloc.analysis.shared.barriers import Arrival, BarrierSite
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.reach import Reach, Reached
from binalloc.analysis.shared.uniformity import Scope, Uniformity
from binalloc.isa.kinds import Access, Space


@dataclass(frozen=True)
class Common:
    """The common bytes of a kernel, and what is known of their accesses."""

    bytes: int  #: bitset of the common bytes
    stores: frozenset[Place]  #: the stores of them; they store nothing else
    #: loads of nothing but common bytes, of which each thread gets what the grid has in common
    loads: frozenset[Place]
    #: those of the bytes that nobody loads before they are surely stored: it would do if one block stored them
    settled: int

    def only(self, bytes_: int) -> Common:
        """Return what is known of some of the bytes, with the accesses of others left out."""
        return replace(self, bytes=self.bytes & bytes_, settled=self.settled & bytes_)


def common_bytes(reach: Reach, scopes: Uniformity, barriers: list[BarrierSite], surely: list[Bools]) -> Common:
    """Return the common bytes. surely: for each block of the kernel the threads that surely come to it."""
    kernel = reach.program.kernel
    once = twice = 0
    for access in reach.accesses:
        if access.writes:
            twice |= once & access.may
            once |= access.may
    found, stores = 0, set()
    for access in reach.accesses:
        if access.writes and not access.may & twice and _stores_the_same(access, reach, scopes):
            found |= access.may
            stores.add(access.place)
    written = [access for access in reach.accesses if access.place in stores]
    loads = {
        access.place
        for access in reach.accesses
        if access.place.function == kernel.name and access.memory.access == Access.LOAD and access.memory.givers == 0
        and access.low == access.high and access.may and not access.may & ~found
        and all(_before(reach, store, access, barriers, surely) for store in written if store.may & access.may)
    }  # fmt: skip
    early = 0
    for access in reach.accesses:
        for store in written:
            both = access.may & store.may
            if both and access.reads:
                inside = access.place.function == kernel.name
                early |= 0 if inside and _before(reach, store, access, barriers, surely) else both
    return Common(found, frozenset(stores), frozenset(loads), found & ~early)


def _stores_the_same(access: Reached, reach: Reach, scopes: Uniformity) -> bool:
    """Return whether a store has one address, and one value in all threads of the grid."""
    name, word = access.place
    f = reach.program[name]
    block = f.cfg.block_of[word]
    plain = (access.memory.space, access.memory.access) == (Space.SHARED, Access.STORE)
    if f is not reach.program.kernel or not plain or access.low != access.high or f.loops.loop_of[block] >= 0:
        return False
    if access.high + access.memory.size > reach.size:
        return False
    seen = f.cfg.views[word]
    data = access.memory.data(seen.uses)
    webs = scopes.functions[name].webs
    places = [k for k, ref in enumerate(seen.uses) if ref in data]
    return all(
        webs[f.webs.web_of_use[word, k, unit]] == Scope.GRID for k in places for unit in range(seen.uses[k].units)
    )


def _before(
    reach: Reach, store: Reached, load: Reached, barriers: list[BarrierSite], surely: list[Bools]
) -> bool:
    """Return whether some thread has surely stored when any thread loads: at a barrier on all ways to the load, to
    which all threads come, and behind which the store is not executed."""
    kernel = reach.program.kernel
    cfg, tree = kernel.cfg, kernel.dominators()
    if not np.any(np.asarray(surely[cfg.block_of[store.place.word]])) or not _unguarded(reach, store):
        return False
    for site in barriers:
        if site.place.function != kernel.name or site.arrival is not Arrival.ALL or not site.barrier.whole:
            continue
        word, block = site.place.word, cfg.block_of[site.place.word]
        to = cfg.block_of[load.place.word]
        first = tree.dominates(block, to) and (block != to or word < load.place.word)
        if first and not _follows(reach, store.place.word, word):
            return True
    return False


def _unguarded(reach: Reach, store: Reached) -> bool:
    return reach.program[store.place.function].cfg.views[store.place.word].guard is None


def _follows(reach: Reach, word: int, after: int) -> bool:
    """Return whether the kernel may come to a word after another."""
    cfg = reach.program.kernel.cfg
    block, other = cfg.block_of[word], BlockNumber(cfg.block_of[after])
    return (block == other and word > after) or block in reached(cfg.succs, cfg.succs[other])
