"""This module inserts spill code: values are in registers between some of their accesses, in memory between others.

It needs code with the regions of its live ranges, and the spilled regions. It changes the code in place. Every stretch
of a value that stays in a register has a name of its own. It is reloaded or recomputed where it begins. It is stored
where it ends or where it is defined, whichever is cheaper. Whether a memory value lives in a slot or in local memory is
decided later. Stores without a reader still have to be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from binalloc.analysis.webs import UnionFind
from binalloc.isa.sets.table import view
from binalloc.models.allocation.regions import Regions
from binalloc.models.allocation.terms import Value
from binalloc.transform.spill.comeback import UNKNOWN, Comebacks, Return
from binalloc.transform.spill.find_regions import NOWHERE, FlowEdge, FoundRegions, RegionAccess, first_item
from binalloc.transform.virtual.code import AGAIN, COPY, INSTR, KEEP, MOVED, NO_VALUE, STORE, Item, VCode, VOperand
from binalloc.transform.virtual.edges import place_on_edges
from binalloc.transform.virtual.flat import Flat


@dataclass
class _Stretch:
    """A stretch is a part of a value's life in one register."""

    value: int
    accesses: int = 0
    name: Value = NO_VALUE


@dataclass
class _Additions:
    """Additions are spill items around one item."""

    before: list[Item] = field(default_factory=list)
    after: list[Item] = field(default_factory=list)


def insert_spills(
    code: VCode, flat: Flat, found: FoundRegions, regions: Regions, spilled: Sequence[int], comebacks: Comebacks
) -> None:
    """Put the regions `spilled` into memory. regions: the regions of `found`, at the prices of `comebacks`."""
    _Inserter(code, flat, found, regions, set(spilled), comebacks).run()


class _Inserter:
    """This pass joins regions to stretches by a union-find. Its nodes are the regions, and for each access of a spilled
    value its use and its definition. nodes: by item, (access, node of the use, of the definition). spilled: the spilled
    regions. valid: regions in which memory holds the value."""

    def __init__(
        self,
        code: VCode,
        flat: Flat,
        found: FoundRegions,
        regions: Regions,
        spilled: set[int],
        comebacks: Comebacks,
    ) -> None:
        self.code, self.flat, self.found, self.regions = code, flat, found, regions
        self.spilled, self.comebacks = spilled, comebacks
        self.spilled_values = {found.value[r] for r in spilled}
        self.sets = UnionFind(len(found.value))
        self.nodes: dict[int, list[tuple[RegionAccess, int, int]]] = {}
        self.stretches: dict[int, _Stretch] = {}
        self.valid: set[int] = set()

    def run(self) -> None:
        for k, accesses in self.found.accesses.items():
            mine = [self._connect(k, a) for a in accesses if a.value in self.spilled_values]
            if mine:
                self.nodes[k] = mine
        for edge in self.found.edges:
            for _, out, into in self._across(edge):
                if out not in self.spilled and into not in self.spilled:
                    self.sets.union(out, into)
        self._count()
        self._name()
        self._settle()
        self._rewrite()

    def _settle(self) -> None:
        """Decide whether values are recomputed or kept in memory, and in which regions memory holds them."""
        regions = self.regions
        of_values = regions.of_values
        by_value = {v: [r for r in of_values[v] if r in self.spilled] for v in sorted(self.spilled_values)}
        # a region that ends at a wish has no comeback, unless an expression reads it
        read = self.comebacks.read()
        needed = {
            v: out if v in read else [r for r in out if regions.exits[r] or regions.borders[r]]
            for v, out in by_value.items()
        }
        stores = {v: regions.stores(of_values[v], out, needed[v]) for v, out in by_value.items()}
        self.comebacks.settle(self._returns(), {v: cost for v, (_, cost) in stores.items()}, self._where)
        for v, (valid, _) in stores.items():
            if self.comebacks.stored(v):
                self.valid |= valid

    def _returns(self) -> list[Return]:
        """List every comeback."""
        out = []
        for k, mine in self.nodes.items():
            item = self.flat.items[k]
            out += [Return(a.value, k, item.weight) for a, _, _ in mine if self._back(a, item)]
        for edge, weight in self.found.edges.items():
            item_there = first_item(self.flat, edge.target)
            for v, before, into in self._across(edge):
                if before in self.spilled and into not in self.spilled:
                    out.append(Return(v, item_there, weight, edge))
        return out

    def _where(self, v: int, back: Return) -> Value | None:
        """Return the name of a value where another comes back. Return None where it is spilled or, on an edge, might
        be."""
        if v not in self.spilled_values:
            return Value(v)
        if back.edge is not None:
            return self._where_on_edge(v, FlowEdge(*back.edge))
        for access, _, _ in self.nodes.get(back.item, ()):
            if access.value == v and access.before != NOWHERE:
                return self._stretch(access.before).name if self._stays(access.before) else None
        region = self._region_at(v, 2 * back.item)
        return None if region in self.spilled else self._stretch(region).name

    def _where_on_edge(self, v: int, edge: FlowEdge) -> Value | None:
        """Return the name of a value on an edge. A value in a register before the edge still is; a value that comes
        back on the edge does so before others read it."""
        before, behind = self.found.sides(edge)
        if v not in before or v not in behind:
            return UNKNOWN
        for region in (before[v], behind[v]):
            if region not in self.spilled:
                return self._stretch(region).name
        return None

    def _region_at(self, v: int, point: int) -> int:
        _, end, region = self.found.span_at(v, point)
        assert point < end, "a leaf is live where it is read"
        return region

    # -- stretches

    def _stays(self, region: int) -> bool:
        return region != NOWHERE and region not in self.spilled

    def _connect(self, k: int, access: RegionAccess) -> tuple[RegionAccess, int, int]:
        """Create the nodes of an access, and join them with the regions beside it that stay in registers."""
        use = self.sets.new()
        define = use if access.merges or not access.define else self.sets.new()
        through = not access.define or access.merges
        if self._stays(access.before) and (access.use or through):
            self.sets.union(use, access.before)
        if self._stays(access.after):
            self.sets.union(define, access.after)
        return access, use, define

    def _across(self, edge: FlowEdge) -> list[tuple[int, int, int]]:
        """List (value, region before the edge, region behind it) for the spilled values that cross the edge."""
        before, behind = self.found.sides(edge)
        return [(v, before[v], into) for v, into in behind.items() if v in self.spilled_values and v in before]

    def _stretch(self, node: int) -> _Stretch:
        return self.stretches[self.sets.find(node)]

    def _count(self) -> None:
        """Create the stretches, and count the accesses of each."""
        for mine in self.nodes.values():
            for access, use, define in mine:
                for node in {use, define}:
                    self.stretches.setdefault(self.sets.find(node), _Stretch(access.value)).accesses += 1
        for edge in self.found.edges:
            for v, out, into in self._across(edge):
                for region in (out, into):
                    if region not in self.spilled:
                        self.stretches.setdefault(self.sets.find(region), _Stretch(v))

    def _needs_guarded_store(self, access: RegionAccess, item: Item) -> bool:
        """Say whether the definition writes the values of some threads while the values of others are in memory."""
        return access.merges and not access.use and access.before in self.spilled and not self._comes_back(access, item)

    def _comes_back(self, access: RegionAccess, item: Item) -> bool:
        """Say whether a merging definition needs the old value in its register."""
        return item.changes_own_guard or self._stays(access.after)

    def _name(self) -> None:
        """Name the stretches. Of each value, the one with most accesses keeps the value's number."""
        best: dict[int, int] = {}
        for root in sorted(self.stretches):
            stretch = self.stretches[root]
            known = best.get(stretch.value)
            if known is None or stretch.accesses > self.stretches[known].accesses:
                best[stretch.value] = root
        count: dict[int, int] = {}
        for root in sorted(self.stretches):
            stretch = self.stretches[root]
            value = Value(stretch.value)
            if best[value] == root:
                stretch.name = value
                continue
            count[value] = count.get(value, 0) + 1
            stretch.name = self.code.value(f"{self.code.names[value]}'{count[value]}")
            if value in self.code.held:
                self.code.held[stretch.name] = self.code.held[value]
            if value in self.code.before:
                self.code.before[stretch.name] = self.code.before[value]

    # -- code

    def _rewrite(self) -> None:
        """Rewrite all blocks, and put code on edges."""
        flat = self.flat
        for number, block in enumerate(self.code.blocks):
            out: list[Item] = []
            for k in range(flat.starts[number], flat.starts[number + 1]):
                mine = self.nodes.get(k)
                if mine is None:
                    out.append(flat.items[k])
                else:
                    self._item(k, mine, out)
            block.items = out
        on_edges = [(edge, self._on_edge(edge, weight)) for edge, weight in self.found.edges.items()]
        for edge, items in on_edges:
            if edge.source == NOWHERE:
                self.code.blocks[edge.target].items[:0] = items
        ways = [(edge.source, edge.target, items) for edge, items in on_edges if items and edge.source != NOWHERE]
        place_on_edges(self.code, ways)

    def _needless(self, k: int, mine: list[tuple[RegionAccess, int, int]]) -> bool:
        """Say whether the item only defines values that are recomputed at every use."""
        item = self.flat.items[k]
        if self.comebacks.saved(item):
            return all(a.after in self.spilled for a, _, _ in mine)
        if item.guard is not None or item.predicate_defs or item.kind not in (INSTR, COPY, AGAIN) or not item.defs:
            return False
        if item.instr is not None and not view(item.instr).pure:
            return False
        stored = self.comebacks.stored
        gone = {a.value for a, _, _ in mine if a.define and a.after in self.spilled and not stored(a.value)}
        if not gone.issuperset(self.flat.defs[k]):
            return False
        return all(self._stays(a.before) or not self._stays(a.after) for a, _, _ in mine if a.use)

    def _back(self, access: RegionAccess, item: Item) -> bool:
        """Say whether the value comes back before the item."""
        if access.before not in self.spilled:
            return False
        return (access.use and not access.wish) or (access.merges and self._comes_back(access, item))

    def _item(self, k: int, mine: list[tuple[RegionAccess, int, int]], out: list[Item]) -> None:
        """Add item k to `out` with new names, its comebacks and its stores; leave it out if it is needless."""
        item = self.flat.items[k]
        add = _Additions()
        if self._needless(k, mine):
            for access, _, define in mine:
                if not access.define:
                    self._store(access, item, define, add)
            out += add.before
            return
        uses: dict[int, Value] = {}
        defs: dict[int, Value] = {}
        dropped: set[int] = set()
        for access, use, define in mine:
            v = access.value
            if self._back(access, item):
                back = Return(v, k, item.weight)
                add.before += self._bring_back(back, self._stretch(use).name)
            if access.use:
                uses[v] = self._stretch(use).name
                if access.wish and access.before in self.spilled:
                    dropped.add(v)
            if access.define:
                defs[v] = self._stretch(define).name
            self._store(access, item, define, add)
        item = item.of(_renamed(item.defs, defs, set()), _renamed(item.uses, uses, dropped))
        out += [*add.before, item, *add.after]

    def _bring_back(self, back: Return, into: Value) -> list[Item]:
        items = self.comebacks.items(back, into, self._where)
        for item in items:
            item.serves = Value(back.value)
        return items

    def _store(self, access: RegionAccess, item: Item, define: int, add: _Additions) -> None:
        """Add the store after which memory holds the value, if it is needed."""
        held = self.comebacks.held(access.value) or (not access.define and access.before in self.valid)
        if access.wish or access.after not in self.valid or held:
            return
        guarded = self._needs_guarded_store(access, item)
        store = _store_item(self._stretch(define), item.guard if guarded else None, item.weight)
        # before an item that only reads it, because a call may overwrite it
        (add.after if access.define else add.before).append(store)

    def _on_edge(self, edge: FlowEdge, weight: float) -> list[Item]:
        """Return the code on an edge: stores first, then comebacks, each after the comebacks of its operands."""
        items: list[Item] = []
        comes: dict[int, Value] = {}
        for v, out, into in self._across(edge):
            if out in self.spilled and into not in self.spilled:
                comes[v] = self._stretch(into).name
            elif into in self.valid and out not in self.valid:
                items.append(_store_item(self._stretch(out), None, weight))

        def bring(v: int, into: Value) -> None:
            back = Return(v, first_item(self.flat, edge.target), weight, edge)
            for leaf in self.comebacks.leaves(back, self._where):
                if leaf in comes:
                    bring(leaf, comes.pop(leaf))
            items.extend(self._bring_back(back, into))

        while comes:
            bring(*comes.popitem())
        return items


def _store_item(stretch: _Stretch, guard: tuple[int, bool] | None, weight: float) -> Item:
    moved = (VOperand(MOVED, (stretch.name,)),)
    return Item(STORE, uses=moved, guard=guard, memory=Value(stretch.value), weight=weight)


def _renamed(
    operands: tuple[VOperand, ...], names: dict[int, Value], dropped: set[int]
) -> tuple[VOperand, ...]:
    if not names:
        return operands
    return tuple(
        o.of(tuple(names.get(v, v) for v in o.values))
        for o in operands
        if not (o.field == KEEP and o.values[0] in dropped)
    )
