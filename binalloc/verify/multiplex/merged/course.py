"""This module proves what the virtual blocks of a merged block do to shared memory, and at barriers.

Needs a pairing without findings; leaves findings in it. The outline is walked twice: first for addresses, for branches,
and for whether threads are together; then with the bytes that other virtual blocks may write between two barriers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from binalloc.isa.kinds import Access, Flow
from binalloc.verify.multiplex.graph import Meetings
from binalloc.verify.multiplex.merged.beside import Moment, moments
from binalloc.verify.multiplex.merged.handing import check_handing
from binalloc.verify.multiplex.merged.outline import Outline
from binalloc.verify.multiplex.merged.pairing import MergedPairing
from binalloc.verify.multiplex.merged.places import Place
from binalloc.verify.multiplex.merged.placing import AddressMap, Placing
from binalloc.verify.multiplex.merged.roles import Role
from binalloc.verify.multiplex.merged.scope import Scope
from binalloc.verify.multiplex.merged.turnings import leaving, turnings, without_inner
from binalloc.verify.multiplex.merged.virtual import Seen, VirtualBlock
from binalloc.verify.multiplex.merged.walked import Nodes, Original, Walked
from binalloc.verify.multiplex.parting import check_parting
from binalloc.verify.multiplex.spread import Mask
from binalloc.verify.multiplex.waits import waiting
from binalloc.verify.multiplex.walk import Again, Assumed, TooLong, Walk


class MergedCourse:
    """The course of a merged block."""

    def __init__(self, pairing: MergedPairing, original: Original, block_number: str) -> None:
        """block_number: the special register with a block's number along the axis of the merge."""
        self.pairing, self.original, self.block_number = pairing, original, block_number
        self.outline = Outline(pairing)
        points = {}
        for n, view in enumerate(pairing.new.views):
            point = pairing.new.fn.reconvergence(n) if view.control == Flow.BRANCH else None
            if point is not None and pairing.label[n] >= 0:
                points[n] = point
        outline = self.outline
        self.walked = Walked(original, Nodes(outline.after, outline.label, outline.barriers, points, outline.entry))
        self.span = original.span
        self.stats: dict[str, int] = {}

    def run(self, before: Walked, assumed: Assumed) -> None:
        """before: the original's own graph. assumed: the assumptions that hold on it."""
        if self.pairing.findings:
            return
        walked, graph = self.walked, self.walked.graph
        walk, meetings, assumed = walked.settled(walked.assume(before, assumed))
        check_parting(self.pairing, graph, walked.points, walk, meetings)
        for n in waiting(graph, walked.words, assumed.fixed, self.original.called.writes):
            self._fail("waits", "a loop may wait for another thread", n)
        placing = Placing(self.pairing, walk.reach, self.span)
        maps = placing.maps()
        if any(error.kind == "address" for error in self.pairing.findings):
            return
        self._variables(maps[0])
        seen = self._seen(walk, meetings, placing.accessed)
        threads = walked.setting.threads
        #: by number of virtual blocks that the grid has of one merged block, these
        merged: dict[int | None, list[VirtualBlock]] = {}
        for course, addresses in zip(self.pairing.courses, maps, strict=True):
            virtual = VirtualBlock(course, self.pairing, self.outline, walked.words, seen, addresses, threads)
            merged.setdefault(course.present, []).append(virtual)
            for place in virtual.missed():
                self._fail("barrier", "nothing takes the place of a barrier of the original", place.node)
        stores = {key[0] for course in self.pairing.courses for key in course.idle}
        common = self._bytes(stores, seen)
        loads = {n for n, word in enumerate(walked.words) if n in seen.accessed and word is not None
                 and word.view.memory is not None and word.view.memory.access == Access.LOAD
                 and not (seen.accessed[n] & ~common).any()}  # fmt: skip
        every = [virtual for virtuals in merged.values() for virtual in virtuals]
        outer = without_inner(meetings, graph, every)
        seen = replace(seen, turnings=turnings(walked, walk, assumed, outer))
        for virtual in every:
            virtual.seen = seen
        in_scope = (graph, walked.words, walk, outer, loads, self.block_number, self.original.called.writes)
        scope = Scope(*in_scope)
        self._common(stores, common, seen, scope)
        if any((each.at[common] != maps[0].at[common])[each.at[common] >= 0].any() for each in maps):
            self._fail("common", "virtual blocks have what one stores for all at different places", min(stores))
        recorded = seen.turnings | seen.ends
        alike = Scope(*in_scope, recorded)  # where nothing is known of their ways, `beside` assumes nothing
        differing = {n for n in recorded | seen.leaving if alike.differs(n)} | alike.apart()
        lacking = {graph.words[b][0] for b, lost in assumed.lost.items() if lost.any()}
        for virtuals in merged.values():
            check_handing(virtuals, differing, lacking, self._turn_fault)
        self._beside(list(merged.values()), differing, common, assumed)
        self.stats = {"words": len(self.pairing.label), "steps": assumed.steps, "threads": walked.setting.threads}

    def _fail(self, kind: str, message: str, n: int, found: str = "") -> None:
        """Note a finding at a node of the outline."""
        word = min(n, len(self.pairing.label) - 1)
        self.pairing.fail(kind, message, word, self.outline.label[n], found=found)

    def _turn_fault(self, message: str, place: Place, found: str) -> None:
        """Note a finding of `handing` at a place."""
        self.pairing.fail("turn", message, place.word or max(min(place.node, len(self.pairing.label) - 1), 0),
                          found=found)  # fmt: skip

    def _variables(self, first: AddressMap) -> None:
        """Check that the kernel's record has shared variables where the first virtual block has them."""
        before = {variable.name: variable for variable in self.pairing.old.fn.shared}
        for variable in self.pairing.new.fn.shared:
            old = before.get(variable.name)
            moved = None if old is None else replace(old, offset=variable.offset)
            places = first.at[old.offset : old.offset + old.size] if old is not None else first.at[:0]
            elsewhere = (places != variable.offset + np.arange(len(places))) & (places >= 0)
            if variable != moved or elsewhere.any():
                self._fail("resources", "the record has a shared variable elsewhere than the code", 0, variable.name)

    def _seen(self, walk: Walk, meetings: Meetings, accessed: dict[int, Mask]) -> Seen:
        """Return what a walk of the outline has seen, but for turnings."""
        ends = {n for n, word in enumerate(self.walked.words) if word is not None and word.view.control == Flow.EXIT
                and word.view.guard is not None and n not in walk.ends}  # fmt: skip
        return Seen(self.walked.feasible(walk), accessed, set(), leaving(self.walked, walk, meetings), ends)

    # -- bytes that virtual blocks have in common

    def _bytes(self, nodes: set[int], seen: Seen) -> Mask:
        found: Mask = np.zeros(self.span, np.bool_)
        for n in nodes & seen.accessed.keys():
            found = found | seen.accessed[n]
        return found

    def _common(self, stores: set[int], common: Mask, seen: Seen, scope: Scope) -> None:
        """Check the stores that one virtual block does for all: once, of what is the same in all of them, and nothing
        else may write these bytes. stores: their nodes. common: what they write."""
        touched: Mask = np.zeros(self.span, np.bool_)
        home = {n: b for b, chain in enumerate(self.walked.graph.words) for n in chain}
        for n in sorted(stores):
            word = self.walked.words[n]
            for course in self.pairing.courses:
                there = [key for key in course.out if key is not None and key[0] == n]
                if any((key in course.idle) == (course.virtual == 0) for key in there):
                    self._fail("common", "not the first virtual block alone stores for all", n)
            if n not in seen.accessed or n not in home or word is None:
                continue
            if self.walked.graph.chains[home[n]]:
                self._fail("common", "a store for all virtual blocks is in a loop", n)
            if (touched & seen.accessed[n]).any():
                self._fail("common", "two stores for all virtual blocks write one byte", n)
            if not all(scope.same(n, at) for at in word.uses):
                self._fail("common", "virtual blocks may store different values", n)
            touched = touched | seen.accessed[n]
        for n, mask in seen.accessed.items():
            word = self.walked.words[n]
            assert word is not None
            assert word.view.memory is not None
            if n not in stores and word.view.memory.access != Access.LOAD and (mask & common).any():
                self._fail("common", "may write what the first virtual block stores for all", n)

    # -- virtual blocks side by side

    def _beside(
        self, merged: list[list[VirtualBlock]], differing: set[int], common: Mask, assumed: Assumed
    ) -> None:  # fmt: skip
        """Check that virtual blocks leave each other's bytes alone."""
        others: dict[int, Mask] = {}
        with_first: list[tuple[VirtualBlock, Moment]] = []
        for virtuals in merged:
            for one, other in combinations(virtuals, 2):
                for moment in moments(one, other, differing):
                    if moment.fault:
                        at = f"virtual blocks {one.number} and {other.number}"
                        self._fail("vote", moment.fault, max(moment.first.node, moment.second.node, 0), at)
                        continue
                    if one.number == 0:
                        with_first.append((other, moment))
                    self._race(one, other, moment, others)
                self._handed(one, other, others)
        for mask in others.values():
            mask &= ~common
        walk = self._contents(others, common, assumed)
        for n, byte in walk.stale.items():
            self._fail("contents", "may read what another virtual block wrote", n, f"byte {byte:#x}")
        if common.any():
            self._stored_before(merged[0][0], with_first, common, walk)

    def _race(self, one: VirtualBlock, other: VirtualBlock, moment: Moment, others: dict[int, Mask]) -> None:
        """Check that two virtual blocks access no byte at a time, but for each in its turn. Note what they write."""
        a, b = one.segments[moment.first], other.segments[moment.second]
        (whole, free), (whole2, free2) = (
            (segment.last, segment.last_free) if ended else (segment.all, segment.free)
            for segment, ended in zip((a, b), moment.ended, strict=True)
        )
        both = whole.conflict(free2) | free.conflict(whole2)
        if both.any():
            at = f"byte {int(np.flatnonzero(both)[0]):#x}, virtual blocks {one.number} and {other.number}"
            kind, message = "race", "virtual blocks may access one byte at a time behind this"
            if any(moment.ended):
                kind, message = "ended", "no barrier orders accesses behind this, by threads that end, and another's"
            self._fail(kind, message, max((b if moment.ended[1] else a).first.node, 0), at)
        for virtual, segment, theirs in ((one, a, free2.writes), (other, b, free.writes)):
            node = segment.first.node
            if node >= 0 and theirs.any() and not any(moment.ended):
                others[node] = others.get(node, False) | virtual.map.back(theirs)

    def _handed(self, one: VirtualBlock, other: VirtualBlock, others: dict[int, Mask]) -> None:
        """Note what virtual blocks may have written in their turns before another one takes the turn."""
        for virtual, another in ((one, other), (other, one)):
            theirs = virtual.map.back(another.in_turn.writes)
            for place in virtual.named if theirs.any() else ():
                if place.role == Role.TAKE:
                    others[place.node] = others.get(place.node, False) | theirs

    def _contents(self, others: dict[int, Mask], common: Mask, assumed: Assumed) -> Walk:
        """Return a walk of the outline that knows what others write."""
        walk = self.walked.walk(assumed, follows=True)
        walk.others, walk.begun = others, common
        try:
            walk.run()
        except Again as error:  # its assumptions hold, so it takes the same ways as before
            raise TooLong from error
        return walk

    def _stored_before(self, first: VirtualBlock, moments_of: list[tuple[VirtualBlock, Moment]], common: Mask,
                       walk: Walk) -> None:  # fmt: skip
        """Check that the first virtual block has stored what another one reads, with a barrier in between."""
        for other, moment in moments_of:
            if moment.ended[1]:
                continue
            segment = other.segments[moment.second]
            needed = segment.all.reads & other.map.moved(common)
            ready = walk.fresh.get(moment.first.node)
            missing = needed if ready is None else needed & ~first.map.moved(ready)
            if missing.any():
                at = f"byte {int(np.flatnonzero(missing)[0]):#x}, virtual block {other.number}"
                self._fail("common", "reads what the first virtual block may not have stored yet, behind this",
                           max(segment.first.node, 0), at)  # fmt: skip
                return
