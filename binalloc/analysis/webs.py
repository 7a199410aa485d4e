"""This module builds webs.

Needs the call graph's `Liveness` (function and callees); leaves it untouched. One forward pass over the blocks in
reverse postorder numbers values, and union-find joins them. The data types are in `web` and exported here too.
"""

from __future__ import annotations

from typing import NewType

from binalloc.analysis.facts import LiftedAccess
from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.flow.loops import LoopNest, find_loops
from binalloc.analysis.liveness import CallSummary, Liveness
from binalloc.analysis.locations import Location, location, locations_in, span
from binalloc.analysis.web import CALL, ENTRY, GUARD, MEMORY, RETURN, CallLink, Web, WebGroup, WebNumber, WebPoint, Webs
from binalloc.errors import MalformedInput
from binalloc.isa.interface.places import LOCAL_BASE, PRED
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Flow

__all__ = [
    "CALL",
    "ENTRY",
    "GUARD",
    "MEMORY",
    "RETURN",
    "CallLink",
    "Web",
    "WebGroup",
    "WebPoint",
    "Webs",
    "build_webs",
]


_Node = NewType("_Node", int)
"""A value before webs have numbers: one per definition, and one per location live into a join."""
_NO_ACCESS = LiftedAccess(False, Location(0), 0)  # stands for an instruction that accesses no lifted word


def build_webs(graph: CallGraph, found: dict[str, Liveness], name: str, nest: LoopNest | None = None) -> Webs:
    """Return the webs of function `name`, given the liveness of the whole call graph and, if known, the function's
    loops.

    Near-linear in code length plus values live across joins. Raises MalformedInput for a misaligned group.
    """
    live = found[name]
    callees = {s.index: (s.callee, found[s.callee].summary) for s in graph.sites[name]}
    return _Builder(Webs(live, nest or find_loops(live.cfg)), callees).build()


class UnionFind:
    """A union-find keeps disjoint sets of integers; the smaller number of two roots stays the root."""

    def __init__(self, count: int = 0) -> None:
        self.parent = list(range(count))

    def new(self) -> int:
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, a: int) -> int:
        parent = self.parent
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    def union(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if a < b:
            self.parent[b] = a
        elif b < a:
            self.parent[a] = b


class _Builder:
    """A builder fills in `webs`. callees: (name, summary) for each call instruction."""

    def __init__(self, webs: Webs, callees: dict[int, tuple[str, CallSummary]]) -> None:
        self.webs = webs
        self.live = webs.live
        self.cfg = webs.cfg
        self.callees = callees
        self.sets = UnionFind()
        self.loc_of: list[Location] = []
        self.defs: list[tuple[int, int, int, _Node]] = []
        self.uses: list[tuple[int, int, int, _Node]] = []
        self.pinned: list[_Node] = []
        self.at_exit: dict[Location, _Node] = {}
        self.web_of_root: dict[int, WebNumber] = {}
        self.entry: list[dict[Location, _Node]] = [{} for _ in self.cfg.blocks]
        self.out: list[dict[Location, _Node]] = [{} for _ in self.cfg.blocks]

    def build(self) -> Webs:
        """Run the passes, and return the filled `webs`."""
        for block in self.cfg.rpo:
            self._enter(block)
        self._join()
        self._number()
        self._links()
        self._groups()
        self._copies()
        self._costs_and_remat()
        return self.webs

    def _node(self, loc: Location) -> _Node:
        """Return a new value in a location."""
        self.loc_of.append(loc)
        return _Node(self.sets.new())

    def _enter(self, block: BlockNumber) -> None:
        """Number the values live into a block, then go through its instructions."""
        cfg = self.cfg
        preds = [p for p in cfg.preds[block] if cfg.rpo_number[p] >= 0]
        wanted = locations_in(self.live.live_in[block])
        if block and len(preds) == 1:
            before = self.out[preds[0]]
            entry = {loc: before[loc] for loc in wanted}
        else:
            entry = {loc: self._node(loc) for loc in wanted}
            if block == 0:
                self.defs.extend((-1, ENTRY, loc, entry[loc]) for loc in wanted)
        self.entry[block] = entry
        val = dict(entry)
        for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
            view = cfg.views[i]
            if view.control == Flow.RETURN or i in self.callees:
                self._boundary(i, view, val)
            elif view.defs or view.uses or view.guard or i in self.live.facts.local:
                self._instruction(i, view, val)
        self.out[block] = {loc: val[loc] for loc in locations_in(self.live.live_out[block])}

    def _instruction(self, i: int, view: View, val: dict[Location, _Node]) -> None:
        """Record the uses and definitions of an instruction. val: the node that each location holds."""
        lit = self.live.facts.lits[i]
        if lit >= 0:
            self.uses.append((i, GUARD, 0, val[location(PRED, lit >> 1)]))
        for k, ref in enumerate(view.uses):
            low = location(ref.file, ref.index)
            for u, loc in enumerate(span(low, low + ref.units)):
                node = val[loc]
                self.uses.append((i, k, u, node))
                if not ref.field:
                    self.pinned.append(node)
        is_store, first, words = self.live.facts.local.get(i, _NO_ACCESS)
        if words and not is_store:
            self.uses.extend((i, MEMORY, u, val[loc]) for u, loc in enumerate(span(first, first + words)))
        if not view.defs and not is_store:
            return
        kept = self.live.kept.get(i, 0)
        here: dict[Location, _Node] = {}
        for k, ref in enumerate(view.defs):
            low = location(ref.file, ref.index)
            for loc in span(low, low + ref.units):
                node = self._node(loc)
                self.defs.append((i, k, loc - low, node))
                if not ref.field:
                    self.pinned.append(node)
                if loc in here:
                    self.sets.union(node, here[loc])
                elif kept >> loc & 1:
                    self.sets.union(node, val[loc])
                here[loc] = node
        for loc in span(first, first + words) if is_store else ():
            here[loc] = node = self._node(loc)
            self.defs.append((i, MEMORY, loc - first, node))
            if kept >> loc & 1:
                self.sets.union(node, val[loc])
        val.update(here)

    def _boundary(self, i: int, view: View, val: dict[Location, _Node]) -> None:
        """Record pseudo uses and definitions of a call or RET."""
        live = self.live
        lit = live.facts.lits[i]
        if lit >= 0:
            self.uses.append((i, GUARD, 0, val[location(PRED, lit >> 1)]))
        if view.control == Flow.RETURN:
            for loc in locations_in(live.summary.results):
                self.uses.append((i, RETURN, loc, val[loc]))
                self.sets.union(val[loc], self.at_exit.setdefault(loc, val[loc]))
            return
        _, callee = self.callees[i]
        for loc in locations_in(live.call_args(i, callee)):
            self.uses.append((i, CALL, loc, val[loc]))
        kept = live.kept.get(i, 0)
        for loc in locations_in(live.call_results(i, callee)):
            node = self._node(loc)
            self.defs.append((i, CALL, loc, node))
            if kept >> loc & 1:
                self.sets.union(node, val[loc])
            val[loc] = node

    def _join(self) -> None:
        """Connect the values that predecessors leave with the values live into a join."""
        cfg, union = self.cfg, self.sets.union
        for block in cfg.rpo:
            preds = [p for p in cfg.preds[block] if cfg.rpo_number[p] >= 0]
            if block and len(preds) == 1:
                continue
            for p in preds:
                out = self.out[p]
                for loc, node in self.entry[block].items():
                    union(node, out[loc])

    def _number(self) -> None:
        """Give webs dense ids by first point; fill in points, lookups and block maps."""
        webs, find = self.webs, self.sets.find
        self.defs.sort()
        self.uses.sort()
        first: dict[int, int] = {}
        for points in (self.defs, self.uses):
            for i, _, _, node in points:
                root = find(node)
                if root not in first or i < first[root]:
                    first[root] = i
        order = sorted(first, key=lambda root: (first[root], self.loc_of[root]))
        number = self.web_of_root = {root: WebNumber(k) for k, root in enumerate(order)}
        webs.webs = [Web(k, self.loc_of[root], first=first[root], last=first[root]) for root, k in number.items()]
        for is_def, points, lookup in ((True, self.defs, webs.web_of_def), (False, self.uses, webs.web_of_use)):
            for i, ref, unit, node in points:
                web = webs.webs[number[find(node)]]
                (web.defs if is_def else web.uses).append(WebPoint(i, ref, unit))
                web.last = max(web.last, i)
                if ref >= GUARD or ref == MEMORY:
                    lookup[i, ref, unit] = web.id
                if is_def and i >= 0:
                    here = webs.defined_at.setdefault(i, [])
                    if web.id not in here:
                        here.append(web.id)
        for node in self.pinned:
            webs.webs[number[find(node)]].pinned = True
        webs.entry = [{loc: number[find(n)] for loc, n in m.items()} for m in self.entry]
        webs.exit = [{loc: number[find(n)] for loc, n in m.items()} for m in self.out]

    def _links(self) -> None:
        """Fill in arguments and results of the function and of its calls."""
        webs, live = self.webs, self.live
        for loc, w in webs.entry[0].items():
            if live.entry_defined >> loc & 1:
                webs[w].arg = True
                webs.args.append((loc, w))
            else:
                webs[w].undefined = True
        for loc, node in sorted(self.at_exit.items()):
            w = self.web_of_root[self.sets.find(node)]
            webs[w].result = True
            webs.results.append((loc, w))
        for i, (name, _) in sorted(self.callees.items()):
            webs.calls[i] = CallLink(i, name, self.cfg.views[i].guard is not None)
        for web in webs:
            for p in web.uses:
                if p.ref == CALL:
                    webs.calls[p.instr].args.append((Location(p.unit), web.id))
            for p in web.defs:
                if p.ref == CALL:
                    webs.calls[p.instr].results.append((Location(p.unit), web.id))
        for block in sorted({self.cfg.block_of[i] for i in webs.calls}):
            for i, before, _ in webs.walk(block):
                if i in webs.calls:
                    link = webs.calls[i]
                    link.args.sort()
                    link.results.sort()
                    link.survivors = [before[loc] for loc in locations_in(live.survivors(i, self.callees[i][1]))]

    def _groups(self) -> None:
        """Unite webs that one operand needs side by side. A group's base is the highest aligned register at or below
        all of its members."""
        webs, cfg = self.webs, self.cfg
        sets = UnionFind(len(webs))
        aligned: dict[int, int] = {}
        for block in cfg.rpo:
            for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
                view = cfg.views[i]
                for refs, lookup in ((view.defs, webs.web_of_def), (view.uses, webs.web_of_use)):
                    for k, ref in enumerate(refs):
                        if ref.units == 1 and ref.alignment == 1:
                            continue
                        self._check_aligned(i, ref)
                        first = lookup[i, k, 0]
                        aligned[first] = max(aligned.get(first, 1), ref.alignment)
                        for u in range(1, ref.units):
                            sets.union(first, lookup[i, k, u])
        alignment: dict[int, int] = {}
        for w, multiple in aligned.items():
            alignment[sets.find(w)] = max(alignment.get(sets.find(w), 1), multiple)
        group_of = {root: k for k, root in enumerate(sorted(alignment))}
        webs.groups = [WebGroup(k, 0, alignment[root]) for root, k in group_of.items()]
        members: list[list[Web]] = [[] for _ in webs.groups]
        for web in webs:
            k = group_of.get(sets.find(web.id), -1)
            if k >= 0:
                web.group = k
                members[k].append(web)
        for group, inside in zip(webs.groups, members, strict=True):
            lowest = min(web.arch for web in inside)
            base = lowest - lowest % group.alignment
            group.units = max(web.arch for web in inside) - base + 1
            for web in inside:
                web.offset = web.arch - base
                group.members.append((web.id, web.offset))

    def _check_aligned(self, i: int, ref: Ref) -> None:
        """Raise MalformedInput if an operand is not aligned as its instruction demands."""
        if ref.index % ref.alignment:
            raise MalformedInput(
                "register operand is not aligned",
                place=f".text.{self.cfg.name} word {i}",
                found=f"R{ref.index} for {ref.units} registers",
                expected=f"a multiple of {ref.alignment}",
            )

    def _copies(self) -> None:
        """Record unguarded copies: register to register, and loads and stores of lifted local words."""
        webs, views, local = self.webs, self.cfg.views, self.live.facts.local
        for i in sorted({i for i, *_ in self.defs if i >= 0}):
            view = views[i]
            if view.copy:
                webs.copies[i] = [(webs.web_of_def[i, 0, 0], webs.web_of_use[i, 0, 0])]
            elif i in local and view.guard is None:
                is_store, _, words = local[i]
                base = view.memory.base if view.memory else None
                data = [k for k, r in enumerate(view.uses) if base is None or r.field != base.field]
                place = data[0] if data else len(view.uses)
                webs.copies[i] = [
                    (webs.web_of_def[i, MEMORY, u], webs.web_of_use[i, place, u])
                    if is_store
                    else (webs.web_of_def[i, 0, u], webs.web_of_use[i, MEMORY, u])
                    for u in range(words)
                    if (i, place if is_store else MEMORY, u) in webs.web_of_use
                    and (i, MEMORY if is_store else 0, u) in webs.web_of_def
                ]

    def _costs_and_remat(self) -> None:
        """Compute weighted reference counts, and find constants that can be recomputed instead of reloaded."""
        weight, block_of, views = self.webs.nest.weight, self.cfg.block_of, self.cfg.views
        for w in self.webs:
            for points in (w.defs, w.uses):
                for i in dict.fromkeys(p.instr for p in points):
                    w.cost += weight[block_of[max(i, 0)]] if i >= 0 else 1
            first = w.defs[0] if w.defs else None
            if first is None or first.ref < 0 or w.loc >= LOCAL_BASE or not views[first.instr].constant:
                continue
            model = views[first.instr]
            if len(model.defs) == 1 and all(
                p.ref == 0
                and p.unit == first.unit
                and views[p.instr].constant
                and views[p.instr].signature == model.signature
                and [r.units for r in views[p.instr].defs] == [model.defs[0].units]
                for p in w.defs
            ):
                w.remat = first.instr
