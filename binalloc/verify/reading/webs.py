"""This module names the original's values: its webs, that is, definitions joined with the uses that they reach.

Needs a `FunctionCode`, and for every function called the places that it may read and write (`OriginalSummary`). Leaves
for each operand unit the name of its value (`NamedWebs`). So two unrelated values that shared a register have two
names, and the rewritten program need not keep the order of one's last use and the other's definition.

A guarded definition joins the value before it, since that stays in the threads where the guard fails. It does so only
if other threads read the result: under another guard, or in a block that other threads also enter. It does not join
where just those threads executed the definition before it, in the same block, and nobody read in between. The same
holds for a place that a callee writes on some ways only.

A call reads the places that the callee may read. It also reads places that the callee may leave unwritten, if somebody
reads them behind one of its calls. It writes the places that the callee may write. A return reads the places that the
function may write and somebody reads behind it. So each place has one name at each of these, and facts can go from one
function's names to another's.

The work is done per block, and between blocks for values that are live there: unions of definitions along edges. (The
lists of values live into blocks are left, too.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from binalloc.bitset import bits
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.kinds import LEAVES, Flow
from binalloc.verify.reading.blocks import Blocks
from binalloc.verify.reading.code import FunctionCode, ref_bits
from binalloc.verify.reading.names import Names

TRUE_VALUE = PRED_BASE + TRUE  # the true predicate's value is the number of its place
_TRUE = -2  # stands for the true predicate while names are built; they are not negative, and -1 is no guard
_NAMED = (1 << LOCAL_BASE) - 1  # words of local memory have one name throughout, their number
Values = tuple[int, ...]  # names of an operand's units
Guard = tuple[int, bool]
"""(value of the predicate, whether it is negated)."""


@dataclass
class OriginalSummary:
    """A summary says what an original function does to its caller's places, as bits; see `footprint.py`."""

    reads: int = 0  #: places that it reads
    writes: int = 0  #: places that it may write
    needed: int = 0  #: places that it reads before writing them, or may write but need not
    first: int = 0  #: places that it reads before writing them
    behind: int = -1  #: places that somebody may read behind one of its calls

    @property
    def always(self) -> int:
        """Return the places written on every way."""
        return self.writes & ~self.needed

    @property
    def taken(self) -> int:
        """Return the places whose values a call takes.

        The callee may read them, or leave them unchanged for somebody who reads them behind it. Other places join no
        values.
        """
        return self.first | self.needed & self.behind


@dataclass
class NamedWebs:
    """The webs of a function are the names of its values, for each operand and at each border."""

    uses: list[Values]  #: names of the operands read, by word, unit by unit in order
    defs: list[Values]  #: names of the operands written, likewise
    guards: list[int]  #: name of the guard's predicate, by word; -1 without one
    entry: dict[int, int] = field(default_factory=dict)  #: for each place the value that the caller left there
    exit: dict[int, int] = field(default_factory=dict)  #: for each place the value that the function leaves
    #: for each call word the values of places before it
    before: dict[int, dict[int, int]] = field(default_factory=dict)
    after: dict[int, dict[int, int]] = field(default_factory=dict)  #: for each call word the values of places behind it
    live: list[frozenset[int]] = field(default_factory=list)  #: values live into each block


def webs(
    code: FunctionCode, blocks: Blocks, returned: int, calls: Mapping[int, OriginalSummary], names: Names
) -> NamedWebs:
    """Name the values of `code`.

    returned: places that it may write and some caller may read behind it, as bits. calls: summaries of the functions
    that its calls enter, by word.
    """
    builder = _Builder(code, blocks, calls)
    for b in range(len(blocks)):
        builder.block(b)
    if returned:
        for i, v in enumerate(code.views):
            if v.control == Flow.RETURN:
                builder.leave(i, returned)
    builder.join_blocks()
    return builder.finish(names)


class _Builder:
    """A builder numbers definitions block by block, and then joins those that are one value."""

    def __init__(self, code: FunctionCode, blocks: Blocks, calls: Mapping[int, OriginalSummary]) -> None:
        self.code, self.blocks, self.calls = code, blocks, calls
        count = len(code)
        self.parent: list[int] = []
        self.place: list[int] = []
        self.uses: list[Values] = [()] * count
        self.defs: list[Values] = [()] * count
        self.guards = [-1] * count
        self.prior: dict[int, int] = {}  # for a definition that does not kill: what it joins; -1 - b: before block b
        self.under: dict[int, Guard] = {}  # for a guarded definition: its guard
        self.ended: set[int] = set()  # guarded definitions that complete one under the opposite guard: both kill
        self.out: list[dict[int, int]] = []
        self.into: list[dict[int, int]] = [{} for _ in range(len(blocks))]
        self.work: list[tuple[int, int]] = []
        self.entry: dict[int, int] = {}
        self.exit: dict[int, int] = {}
        self.before: dict[int, dict[int, int]] = {}
        self.after: dict[int, dict[int, int]] = {}

    # -- names that become one

    def new(self, place: int) -> int:
        self.parent.append(len(self.parent))
        self.place.append(place)
        return len(self.parent) - 1

    def find(self, x: int) -> int:
        parent = self.parent
        while parent[x] != x:
            parent[x] = x = parent[parent[x]]
        return x

    def union(self, x: int, y: int) -> None:
        x, y = self.find(x), self.find(y)
        if x != y:
            self.parent[max(x, y)] = min(x, y)

    def live_in(self, b: int, place: int) -> int:
        """Return the value of the place where block b begins; it is needed there."""
        into = self.into[b]
        found = into.get(place)
        if found is None:
            found = into[place] = self.new(place)
            self.work.append((b, place))
        return found

    def wanted(self, x: int) -> int:
        """Record that a value is read: values that it left in place belong to it."""
        at = x
        while at in self.prior:
            before = self.prior.pop(at)
            if before < 0:
                before = self.live_in(-1 - before, self.place[at])
            self.union(at, before)
            if at in self.ended:
                break
            at = before
        return x

    # -- one block

    def block(self, b: int) -> None:
        """Number the values of a block."""
        code, current = self.code, dict[int, int]()
        views, calls = code.views, self.calls
        for i in range(self.blocks.starts[b], self.blocks.starts[b + 1]):
            v = views[i]
            guard, under = v.guard, None
            if guard is not None:
                place = PRED_BASE + guard[0]
                self.guards[i] = _TRUE if place == TRUE_VALUE else self._read(b, current, place)
                under = self.guards[i], guard[1]
            if v.uses:
                self.uses[i] = tuple([self._read(b, current, x, under) for r in v.uses for x in ref_bits(r)])
            if v.defs:
                places = [x for r in v.defs for x in ref_bits(r)]
                if guard is None:
                    written = {x: self.new(x) for x in places}
                    current.update(written)
                else:
                    written = {x: self._beside(b, current, x, under) for x in places}
                self.defs[i] = tuple([written[x] for x in places])
            if i in calls:
                self._call(b, current, i, under)
        self.out.append(current)

    def _read(self, b: int, current: dict[int, int], place: int, under: Guard | None = None) -> int:
        """Return the value that a place has for a reader. under: the reader's guard."""
        found = current.get(place)
        if found is None:
            return self.live_in(b, place)
        return self._wanted_under(found, under) if self.prior else found

    def _wanted_under(self, x: int, under: Guard | None) -> int:
        """Return the value that a reader under a guard sees.

        If the value was written under that guard, its threads wrote it themselves. If it was written under the
        opposite, they see the value before.
        """
        if under is None:
            return self.wanted(x)
        others = under[0], not under[1]
        while self.under.get(x) == others and x in self.prior:
            before = self.prior[x]
            x = self.live_in(-1 - before, self.place[x]) if before < 0 else before
        return x if self.under.get(x) == under else self.wanted(x)

    def _beside(self, b: int, current: dict[int, int], place: int, under: Guard | None = None) -> int:
        """Add a definition that need not happen. under: its guard, if that alone decides."""
        name = self.new(place)
        before = self.prior[name] = current.get(place, -1 - b)
        if under is not None:
            self.under[name] = under
            if before in self.prior and self.under.get(before) == (under[0], not under[1]):
                self.ended.add(name)
        current[place] = name
        return name

    def _call(self, b: int, current: dict[int, int], i: int, under: Guard | None) -> None:
        summary = self.calls[i]
        self.before[i] = {x: self._read(b, current, x, under) for x in bits(summary.taken & _NAMED)}
        after = self.after[i] = {}
        for x in bits(summary.writes & _NAMED):
            always = summary.always >> x & 1
            if always and under is None:
                after[x] = current[x] = self.new(x)
            else:
                after[x] = self._beside(b, current, x, under if always else None)

    def leave(self, i: int, places: int) -> None:
        """Record the reads of the return at word i, for the threads that return there."""
        b, guard = self.blocks.of(i), self.code.views[i].guard
        under = None if guard is None else (self.guards[i], guard[1])
        for x in bits(places & _NAMED):
            name = self._read(b, self.out[b], x, under)
            self.union(self.exit.setdefault(x, name), name)

    # -- between blocks

    def join_blocks(self) -> None:
        """Join values along edges between blocks."""
        out, before, work = self.out, self.blocks.before, self.work
        while work:
            b, place = work.pop()
            name = self.into[b][place]
            if b == 0:
                self.union(name, self.entry.setdefault(place, name))
            for p in before[b]:
                found = out[p].get(place)
                self.union(
                    name, self.live_in(p, place) if found is None else self._wanted_under(found, self._edge(p, b))
                )

    def _edge(self, p: int, b: int) -> Guard | None:
        """Return the condition of the threads that go from block p to block b, if the branch, return or end of p
        implies one."""
        last = self.blocks.starts[p + 1] - 1
        v = self.code.views[last]
        if v.guard is None or (v.control != Flow.BRANCH and v.control not in LEAVES):
            return None
        if v.control in LEAVES:
            return self.guards[last], not v.guard[1]
        there = self.blocks.of(self.code.fn.target(last))
        return None if there == p + 1 else (self.guards[last], v.guard[1] ^ (b != there))

    def finish(self, names: Names) -> NamedWebs:
        """Return the webs with their final names."""
        roots: dict[int, int] = {}
        known: list[int] = []
        for x, place in enumerate(self.place):
            root = self.find(x)
            if root not in roots:
                roots[root] = names.web(place)
            known.append(roots[root])
        of: Callable[[int], int] = known.__getitem__
        return NamedWebs(
            uses=[tuple(map(of, xs)) if xs else xs for xs in self.uses],
            defs=[tuple(map(of, xs)) if xs else xs for xs in self.defs],
            guards=[of(x) if x >= 0 else TRUE_VALUE if x == _TRUE else x for x in self.guards],
            entry={x: of(name) for x, name in self.entry.items()},
            exit={x: of(name) for x, name in self.exit.items()},
            before={i: {x: of(name) for x, name in found.items()} for i, found in self.before.items()},
            after={i: {x: of(name) for x, name in found.items()} for i, found in self.after.items()},
            live=[frozenset(map(of, into.values())) for into in self.into],
        )
