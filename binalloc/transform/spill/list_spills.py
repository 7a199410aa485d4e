"""This module lists all possible spill code for `models.allocation.spills`: comebacks, stores, needless items.

It needs flat code, its regions and the comebacks, before recomputation is settled. It leaves the lists. The code that
`insert` makes of any choice of regions costs no less than the cheapest choice in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from binalloc.isa.sets.table import view
from binalloc.models.allocation.spills import NONE, Comeback, Hole, Needless, RegionWay, SpillLeaf, Spills
from binalloc.models.allocation.stores import DEFINED
from binalloc.transform.spill.comeback import Comebacks
from binalloc.transform.spill.find_regions import NOWHERE, FoundRegions, RegionAccess, first_item
from binalloc.transform.virtual.code import AGAIN, COPY, INSTR
from binalloc.transform.virtual.flat import Flat


def list_spills(
    flat: Flat,
    found: FoundRegions,
    comebacks: Comebacks,
    holes: Mapping[int, int],
    *,
    near: float,
    far: float,
    slots: int,
) -> Spills:
    """List the spill code. holes: as in `room`. near, far: costs of an access to a slot and to local memory; equal if
    there are no slots."""
    spills = Spills(found.value, found.points, near, far, slots)
    _Listing(flat, found, comebacks, spills).run()
    for point, count in sorted(holes.items()):
        about = {r for a in found.accesses.get(point // 2, ()) for r in (a.before, a.after) if r != NOWHERE}
        spills.holes.append(Hole(point, count, tuple(sorted(about))))
    return spills


class _Listing:
    """This pass fills the lists."""

    def __init__(self, flat: Flat, found: FoundRegions, comebacks: Comebacks, spills: Spills) -> None:
        self.flat, self.found, self.comebacks, self.spills = flat, found, comebacks, spills

    def run(self) -> None:
        for k, accesses in self.found.accesses.items():
            number = self._needless(k, accesses)
            before = {a.value: (a.before,) for a in accesses if a.before != NOWHERE}
            for access in accesses:
                self._access(k, access, number, before)
        for edge, weight in self.found.edges.items():
            self._edge(*self.found.sides(edge), first_item(self.flat, edge.target), weight)

    def _access(self, k: int, access: RegionAccess, needless: int, before: Mapping[int, tuple[int, ...]]) -> None:
        """List the spill code around one access."""
        spills, item = self.spills, self.flat.items[k]
        if access.wish:
            spills.open.add(access.before)
            return
        source = DEFINED if access.define else access.before
        if access.after not in (NOWHERE, source) and not self.comebacks.held(access.value):
            spills.ways.append(RegionWay(source, access.after, item.weight))
        if access.before == NOWHERE:
            return
        if access.use:
            self._comeback(access.before, NONE, k, item.weight, before, needless)
        elif access.merges and access.after != NOWHERE:
            spills.written.add((access.before, access.after))
            if access.after != access.before:
                to = NONE if item.changes_own_guard else access.after
                self._comeback(access.before, to, k, item.weight, before)

    def _edge(self, before: dict[int, int], behind: dict[int, int], k: int, weight: float) -> None:
        """List the spill code on one edge."""
        both = {v: (before[v], into) for v, into in behind.items() if v in before}
        for v, (out, into) in both.items():
            if out != into:
                if not self.comebacks.held(v):
                    self.spills.ways.append(RegionWay(out, into, weight, border=True))
                self._comeback(out, into, k, weight, both)

    def _comeback(
        self, r: int, to: int, k: int, weight: float, there: Mapping[int, tuple[int, ...]], needless: int = NONE
    ) -> None:
        """Add a comeback. there: by value, its regions at this place; values that merely live at item k may be
        missing."""
        v = self.spills.value[r]
        again, leaves = self.comebacks.again(v, k)
        found = []
        for leaf in leaves:
            mine = there.get(leaf) or self._region_at(leaf, k)
            if mine:
                found.append(SpillLeaf(leaf, mine, self.comebacks.again(leaf, k)[0]))
        self.spills.comebacks.append(Comeback(r, to, weight, again, tuple(found), needless))

    def _region_at(self, v: int, k: int) -> tuple[int, ...]:
        """Return the region of a value just before item k, if it may be spilled."""
        _, end, region = self.found.span_at(v, 2 * k)
        return (region,) if end > 2 * k else ()

    def _needless(self, k: int, accesses: Sequence[RegionAccess]) -> int:
        """Add the item if it may be needless (see `insert`) and this may save something. Return its number, or NONE."""
        item = self.flat.items[k]
        if item.guard is not None or item.predicate_defs or item.kind not in (INSTR, COPY, AGAIN) or not item.defs:
            return NONE
        if item.instr is not None and not view(item.instr).pure:
            return NONE
        behind = {a.value: a.after for a in accesses if a.define and a.after != NOWHERE}
        if not behind.keys() >= set(self.flat.defs[k]) or any(not self.comebacks.pure(v) for v in behind):
            return NONE
        operands = tuple((a.before, a.after) for a in accesses if a.use and not a.wish and a.before != NOWHERE)
        self.spills.needless.append(Needless(tuple(behind.values()), operands, (2 * k, 2 * k + 1)))
        return len(self.spills.needless) - 1
