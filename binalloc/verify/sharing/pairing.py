"""Two functions are paired here word by word: the original's, and the one with releases and other offsets.

Needs both functions' code; leaves a `Pairing`, with findings for whatever differs. There is no map to believe: both
programs are followed from their first words. Words that write nothing and decide nothing are passed on the way to the
next pair: jumps in both, and RELSSP in the new function.
"""

from __future__ import annotations

from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.depth import pushes
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import Finding

PASSED = -1
"""Stands for the original's word where the new function has one that is passed."""
ENDLESS = -2
"""Stands for the next word where only jumps come, for ever."""


class Pairing:
    """A pairing relates two functions that take the same ways. after: by new word, the words behind it, jumps last;
    only words that the function may come to have any. label: by new word the original's, or `PASSED`; the same holds
    for words that the function never comes to. distance: by access to shared memory or to a slot, how much higher its
    address is."""

    def __init__(self, old: FunctionCode, new: FunctionCode) -> None:
        self.old, self.new = old, new
        self.findings: dict[Finding, None] = {}
        self.after: list[tuple[int, ...]] = [()] * len(new)
        self.label = [PASSED] * len(new)
        self.distance: dict[int, int] = {}
        self.calls: dict[int, int] = {}  #: direct calls, the original's by new ones
        self._points: dict[int, int] = {}  # reconvergence points, the original's by new ones
        self._ways: list[tuple[list[int], list[int], int]] = []

    @property
    def deeper(self) -> list[int]:
        """Return the branches that push more entries onto the reconvergence stack than the original's."""
        branches = [(n, m) for n, m in enumerate(self.label) if m >= 0 and self.old.views[m].control == Flow.BRANCH]
        return [n for n, m in branches if pushes(self.new, n) > pushes(self.old, m)]

    def fail(self, kind: str, message: str, n: int, m: int = -1, expected: str = "", found: str = "") -> None:
        """Note a finding at new word `n`, which stands for original word `m`, if any."""
        old, word = self.old.name if m >= 0 else "", text(self.new.fn, n)
        self.findings[Finding(kind, message, self.new.name, n, old, m, word, expected=expected, found=found)] = None

    def run(self) -> None:
        if not len(self.new) or not len(self.old):
            self.fail("order", "a function has no words", 0)
            return
        work = [self._come(0, 0, -1)]
        while work:
            pair = work.pop()
            if pair is None:
                continue
            n, m = pair
            if self.label[n] >= 0:
                if self.label[n] != m:
                    self.fail("order", "stands for two words of the original", n, m,
                              found=f"{self.old.name}+{self.label[n]}")  # fmt: skip
                continue
            self.label[n] = m
            self._compare(n, m)
            view, was = self.new.views[n], self.old.views[m]
            if view.control != was.control or (view.guard is None) != (was.guard is None):
                continue  # there is a finding already, and the ways cannot be compared
            falls, jumps = successors(view.control, view.guard is not None)
            ways = [(n + 1, m + 1)] * falls
            if jumps and view.control == Flow.BRANCH:
                ways.append((self.new.fn.target(n), self.old.fn.target(m)))
                self._point(n, m)
            if view.control == Flow.CALL:
                self.calls[n] = m
            self.after[n] = tuple(to for to, _ in ways)
            work += [self._come(to, at, n) for to, at in ways]
        self._reconvergence()

    # -- ways

    def _come(self, n: int, m: int, source: int) -> tuple[int, int] | None:
        """Return the pair of words that both programs execute next; None where they do not, or jump for ever."""
        new, old = {n: None}, {m: None}
        while 0 <= n < len(self.new) and (self.new.jump(n) or self.new.views[n].control == Flow.RELSSP):
            to = self.new.fn.target(n) if self.new.jump(n) else n + 1
            self.after[n] = (to,)
            n = ENDLESS if to in new else to
            new[n] = None
        while 0 <= m < len(self.old) and self.old.jump(m):
            to = self.old.fn.target(m)
            m = ENDLESS if to in old else to
            old[m] = None
        self._ways.append((list(new), list(old), source))
        if n == m == ENDLESS:
            return None
        if not (0 <= n < len(self.new) and 0 <= m < len(self.old)):
            self.fail("order", "does not come to a word as the original does", max(source, 0),
                      expected=_place(self.old, m), found=_place(self.new, n))  # fmt: skip
            return None
        return n, m

    def _point(self, n: int, m: int) -> None:
        """Note the reconvergence points of a pair of branches."""
        new, old = self.new.fn.reconvergence(n), self.old.fn.reconvergence(m)
        if (new is None) != (old is None):
            self.fail("reconvergence", "only one of the branches may diverge", n, m)
        elif new is not None and old is not None and self._points.setdefault(new, old) != old:
            self.fail("reconvergence", "one reconvergence point stands for two of the original", n, m)

    def _reconvergence(self) -> None:
        """Check that on every way both programs pass the same reconvergence points in the same order."""
        points = set(self._points.values())
        if len(points) != len(self._points):
            self.fail("reconvergence", "two reconvergence points stand for one of the original", 0)
        for new, old, source in self._ways:
            if [self._points[n] for n in new if n in self._points] != [m for m in old if m in points]:
                self.fail("reconvergence", "threads do not meet again where the original's do", max(source, 0))

    # -- words

    def _compare(self, n: int, m: int) -> None:
        """Check that two words do the same, but for links and the offsets of shared accesses."""
        old, new = self.old.instrs[m], self.new.instrs[n]
        isa, as_old = set_of(old), new
        if set_of(new) is not isa:
            self.fail("instruction", "another instruction set", n, m)
            return
        memory, was = self.new.views[n].memory, self.old.views[m].memory
        if (memory is not None and was is not None and memory.space == was.space == Space.SHARED
                and memory.base == was.base):  # fmt: skip
            self.distance[n] = memory.offset - was.offset
            as_old = isa.readdress(new, None if was.base is None else was.base.index, was.offset)
        if isa.links(as_old) and isa.links(old):
            as_old = isa.relink(as_old, isa.links(old))
        said, known = self.new.fn.touches.get(n), self.old.fn.touches.get(m)
        if said not in (None, known):
            self.fail("symbols", "its address is said to come from other variables than the original's", n, m,
                      ", ".join(known or ("nothing said",)), ", ".join(said))  # fmt: skip
        if not isa.alike(as_old, old):
            self.fail("instruction", "not the original's instruction", n, m, text(self.old.fn, m), text(self.new.fn, n))


def _place(code: FunctionCode, n: int) -> str:
    return "an endless loop" if n == ENDLESS else f"{code.name}+{n}"
