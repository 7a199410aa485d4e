"""It is proven here that no thread accesses the shared part once it has released it, and that none releases it twice.

Needs flat code, the ways that threads may take, and the nodes that may access the shared part; leaves findings and
remarks. All ways are followed, each with what it knows of guards: under a guard RELSSP and branches say whether the
predicate holds, until a word writes it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from binalloc.isa.interface.places import ALL_PREDICATES, PRED_BASE, TRUE
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Flow
from binalloc.verify.multiplex.living import guard_of, mask_of
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.report import Finding
from binalloc.verify.sharing.addresses import Reach
from binalloc.verify.sharing.flat import Flat

MOST_STATES = 1_000_000
"""Most states of all nodes. Chosen by hand, above any kernel's: it bounds the time on hostile code to some 10 s."""
SHORT = 5
"""So many branches of a path are shown at most; chosen by hand: nobody follows more."""


class Stage(IntEnum):
    """A stage is what a thread has done with the shared part so far."""

    BEFORE = 0  #: it has not accessed it
    ACCESSED = 1  #: its last word but RELSSP and jumps may have accessed it
    BEHIND = 2  #: it may have accessed it, and executed other words since
    RELEASED = 3


@dataclass(frozen=True, slots=True)
class Known:
    """These predicates are known, and have these values, both as masks."""

    which: int = 0
    values: int = 0

    def holds(self, view: View) -> bool | None:
        """Return whether an instruction's guard holds, None where that is not known."""
        if view.guard is None:
            return True
        predicate, negated = view.guard
        if predicate == TRUE:
            return not negated
        return bool(self.values >> predicate & 1) != negated if self.which >> predicate & 1 else None

    def told(self, view: View, holds: bool) -> Known:
        """Return what is known where an instruction's guard holds, or does not."""
        if view.guard is None or view.guard[0] == TRUE:
            return self
        predicate, negated = view.guard
        return Known(self.which | 1 << predicate, self.values & ~(1 << predicate) | (holds != negated) << predicate)

    def kept(self, mask: int) -> Known:
        """Return what is known of these predicates."""
        return Known(self.which & mask, self.values & mask)


@dataclass(frozen=True, slots=True)
class Place:
    """A thread may be in front of a node in this stage, with this knowledge."""

    node: int
    stage: Stage
    known: Known


class Releases:
    """The releases of a kernel are found by one search through all places of a thread."""

    def __init__(self, flat: Flat, reach: Reach) -> None:
        self.flat, self.reach = flat, reach
        self.shared: set[int] = set()
        self.remarks: dict[Finding, None] = {}
        self.released = False  # whether some thread may execute RELSSP
        self._from: dict[Place, Place | None] = {}
        self._asked: list[int] = []
        self._said: set[tuple[str, str]] = set()

    def run(self, shared: set[int]) -> None:
        """Follow all threads. shared: nodes that may access the shared part."""
        self.shared = shared
        self._asked = self._guards()
        start = Place(0, Stage.BEFORE, Known())
        self._from = {start: None}
        work = deque([start])
        while work:
            place = work.popleft()
            for to in self._through(place):
                if to not in self._from:
                    self._from[to] = place
                    work.append(to)
            if len(self._from) > MOST_STATES:
                raise TooLong
        if not self.released:
            self.remarks.clear()

    def _through(self, place: Place) -> list[Place]:
        """Return where a thread may be next."""
        node, stage, known = self.flat.nodes[place.node], place.stage, place.known
        view, kind = node.view, node.kind
        holds = known.holds(view)
        if view.control == Flow.RELSSP:
            found = []
            if holds is not False:
                self.released = True
                if stage == Stage.RELEASED:
                    self._fail("repeated", "a thread may have executed RELSSP before", place, "a release")
                found += self._next(place.node, Stage.RELEASED, known.told(view, True))
            return found if holds else [*found, *self._next(place.node, stage, known.told(view, False))]
        if place.node in self.shared and holds is not False:
            if stage == Stage.RELEASED:
                self._fail("behind", "may be an access behind a release", place, "a release")
            else:
                stage = Stage.ACCESSED
        elif stage == Stage.ACCESSED and kind != Flow.EXIT and node.label >= 0:
            stage = Stage.BEHIND
        if kind == Flow.EXIT:
            if holds is not False and stage == Stage.BEHIND:
                self._remark(place)
            return [] if holds else self._next(place.node, stage, known.told(view, False))
        if kind == Flow.BRANCH and view.guard is not None:
            return self._branch(place, view, stage, holds)
        return self._next(place.node, stage, self._kept(place.node, known))

    def _branch(self, place: Place, view: View, stage: Stage, holds: bool | None) -> list[Place]:
        falls, jumps = self.flat.after[place.node]
        found = []
        for to, taken in ((falls, False), (jumps, True)):
            if holds in (None, taken) and to in self.reach.edges[place.node]:
                found.append(self._at(to, stage, place.known.told(view, taken)))
        return found

    def _next(self, n: int, stage: Stage, known: Known) -> list[Place]:
        return [self._at(to, stage, known) for to in self.reach.edges[n]]

    def _at(self, n: int, stage: Stage, known: Known) -> Place:
        return Place(n, stage, known.kept(self._asked[n]))

    def _kept(self, n: int, known: Known) -> Known:
        """Return what is known behind a word that may write predicates."""
        view = self.flat.nodes[n].view
        written = self.flat.clobbered if view.control in CALLS else mask_of(view.defs)
        return known.kept(~(written >> PRED_BASE) & ALL_PREDICATES)

    def _guards(self) -> list[int]:
        """Return, for each node, the predicates that guards behind it ask for before they are written, as masks."""
        asked = [0] * len(self.flat.nodes)
        changed = True
        while changed:
            changed = False
            for n in sorted(self.reach.edges, reverse=True):
                node, mask = self.flat.nodes[n], 0
                for to in self.reach.edges[n]:
                    mask |= asked[to]
                mask &= ~(mask_of(node.view.defs) >> PRED_BASE)
                if node.kind in (Flow.BRANCH, Flow.EXIT, Flow.RELSSP) or n in self.shared:
                    mask |= guard_of(node.view) >> PRED_BASE
                if mask != asked[n]:
                    asked[n], changed = mask, True
        return asked

    # -- paths

    def _fail(self, kind: str, message: str, place: Place, since: str) -> None:
        node = self.flat.nodes[place.node]
        if (kind, str(node)) not in self._said:
            self._said.add((kind, str(node)))
            path = self._path(place)
            first = next(k for k, at in enumerate(path) if at.stage == Stage.RELEASED) - 1
            node.pair.fail(kind, message, node.n, node.label, found=f"{since} at {self._shown(path[first:])}")

    def _remark(self, place: Place) -> None:
        node = self.flat.nodes[place.node]
        if ("missing", str(node)) in self._said:
            return
        self._said.add(("missing", str(node)))
        path = self._path(place)
        first = max(k for k, at in enumerate(path) if at.node in self.shared)
        self.remarks[
            Finding("missing", "a thread may end without RELSSP, but not right behind its last access",
                    node.pair.new.name, node.n, found=f"access at {self._shown(path[first:])}")
        ] = None  # fmt: skip

    def _path(self, place: Place) -> list[Place]:
        path: list[Place] = []
        at: Place | None = place
        while at is not None:
            path.append(at)
            at = self._from[at]
        return path[::-1]

    def _shown(self, path: list[Place]) -> str:
        """Return a path in words: its first node, and the guarded branches on it."""
        branches = []
        for at, to in pairwise(path):
            node = self.flat.nodes[at.node]
            if node.kind == Flow.BRANCH and node.view.guard is not None:
                jumps = self.flat.after[at.node][-1] == to.node
                branches.append(f"{node} {'taken' if jumps else 'not taken'}")
        more = [f"and {len(branches) - SHORT} others"] if len(branches) > SHORT else []
        way = [f"by {', '.join([*branches[:SHORT], *more])}"] if branches else []
        return ", ".join([str(self.flat.nodes[path[0].node]), *way, f"to {self.flat.nodes[path[-1].node]}"])
