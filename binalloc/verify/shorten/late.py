"""The proof of late stores: words wait in registers, and go to shared memory before any thread may count on them.

    report = check_late_stores(original, made, "kernel", (128, 1, 1))

Both kernels are followed word by word, as the instruction map proposes. A thread of the original may come to a plain
store to shared memory before the new kernel has it: the store is *pending* from then on. Stores are pending in order,
and the new kernel does them in this order, with the same words at the same addresses. Nothing may be pending where a
thread accesses shared or generic memory otherwise, has a barrier or fence, calls, or ends. Under both memory models
(ISA.md, "Memory model") other threads see no difference then, but in races.

What registers hold is followed as *totals* (`totals.py`), for launches with blocks of one size. Where ways meet,
registers with the same difference on all of them still have it. The new kernel's own words copy registers, to such as
the original never uses. It does nothing alone for ever.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush

from binalloc.isa.instruction import Module
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.isa.source_facts import LOOM
from binalloc.verify.multiplex.kernels.records import block_fault
from binalloc.verify.multiplex.words import Setting, Word
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.groups import Groups, joined
from binalloc.verify.shorten.sides import INSERTED, Sides, proven, ways
from binalloc.verify.shorten.totals import NOTHING, Number, Total, added, computed, exactly, less, total
from binalloc.verify.stacks import MatchedWay, StacksDiffer, compare_all

_VISITS = 64
"""Most visits of a pair of words for each word of the kernel. Chosen by hand: it bounds the time on hostile code."""

Pair = tuple[int, int]
"""A new word and an old one that come next."""
_START: Pair = (-1, -1)
Slot = Hashable
"""A register, or a word of a pending store."""


def check_late_stores(original: Module, made: Module, kernel: str, block: tuple[int, int, int]) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does, for blocks of this size. Raises nothing."""
    lanes, limits = original.memory_model == LOOM, set_of(original).limits

    def prove(sides: Sides) -> None:
        fault = block_fault(block, sides.old.fn)
        if fault:
            sides.fail("block", fault)
        else:
            _Lockstep(sides, lanes, Setting(block, limits)).run()

    return proven(original, made, kernel, prove)


@dataclass
class _State:
    """A state is what holds when both kernels come to a pair of words."""

    pending: tuple[int, ...]  #: old words of stores that the new kernel still has to do
    totals: dict[Slot, Total]  #: what is known of registers and of the words of pending stores
    groups: Groups  #: which lanes do pending stores


class _Lockstep:
    """The lockstep of two kernels. lanes: the order of a warp's accesses counts."""

    def __init__(self, sides: Sides, lanes: bool, setting: Setting) -> None:
        self.lanes, self.setting = lanes, setting
        self.words: dict[int, Word] = {}  #: of the original
        self.sides, self.old, self.new, self.label = sides, sides.old, sides.new, sides.label
        self.states: dict[Pair, _State] = {}
        self.incoming: dict[Pair, dict[Pair, _State]] = {}  #: by pair, and where it comes from
        self.work: list[Pair] = []  #: pairs to come to anew, as a heap: earlier words first
        self.waiting: set[Pair] = set()
        self.points: dict[int, int] = {}  #: reconvergence points, old by new ones
        self.unknowns: dict[Hashable, int] = {}  #: numbers by name
        self.met: dict[int, Pair] = {}  #: by unknown that was named where ways meet, the place
        self.alone: dict[Pair, Pair] = {}  #: steps of one kernel alone
        self.entered: set[Pair] = {(0, 0)}  #: pairs behind steps of both
        self.after: dict[Pair, list[Pair]] = {}  #: by step of both

    def run(self) -> None:
        self._come(_START, (0, 0), _State((), {}, Groups()))
        visits = _VISITS * len(self.new)
        while self.work and not self.sides.findings:
            pair = heappop(self.work)
            self.waiting.discard(pair)
            visits -= 1
            if visits < 0:
                self.sides.fail("limit", "the proof takes too long", *pair)
                return
            state = self.states[pair]
            self._step(pair, _State(state.pending, dict(state.totals), state.groups))
        if not self.sides.findings:
            self._check_points()

    # -- words

    def _step(self, pair: Pair, state: _State) -> None:
        n, m = pair
        if not (0 <= n < len(self.new) and 0 <= m < len(self.old)):
            self.sides.fail("order", "one kernel ends before the other")
        elif self.label[n] == INSERTED:
            self._inserted(pair, state)
        elif self.label[n] in state.pending:
            self._late(pair, state)
        elif _plain_store(self.old.views[m]) and (state.pending or self.label[n] != m):
            self._push(pair, state)
        elif self.label[n] != m or not self.sides.same(n, m):
            self.sides.fail("order", "comes to another word than the original", n, m)
        else:
            self._both(pair, state)

    def _both(self, pair: Pair, state: _State) -> None:
        """Let both kernels execute the same word."""
        n, m = pair
        view = self.old.views[m]
        if state.pending and _bars(view, set_of(view.instr).barrier(view.instr) is not None):
            self.sides.fail("late", "a store comes too late", n, state.pending[0])
            return
        self._define(n, m, state)
        falls, jumps = ways(view)
        new = self.new.fn.reconvergence(n) if jumps else None
        point = self.old.fn.reconvergence(m) if jumps else None
        if (new is None) != (point is None):
            self.sides.fail("reconvergence", "only one of the branches may diverge", n, m)
        elif new is not None and point is not None:
            self._point(new, point, n)
            if self.lanes and falls:
                state.groups = state.groups.parted((new, point))
        targets = [(n + 1, m + 1)] * falls + ([(self.new.fn.target(n), self.old.fn.target(m))] if jumps else [])
        self.after[pair] = targets
        for to in targets:
            self.entered.add(to)
            self._come(pair, to, state)

    def _inserted(self, pair: Pair, state: _State) -> None:
        """Let the new kernel copy a register, or jump."""
        n, m = pair
        if self.new.jump(n):
            self._go(pair, (self.new.fn.target(n), m), state)
            return
        copy = set_of(self.new.instrs[n]).register_copy(self.new.instrs[n])
        if copy is None or self.new.views[n].guard is not None or copy[0] not in self.sides.untouched:
            self.sides.fail("inserted", "an inserted word is no copy to a register that the original never uses", n)
            return
        state.totals[copy[0]] = self._sum(copy[1], state)
        self._go(pair, (n + 1, m), state)

    def _push(self, pair: Pair, state: _State) -> None:
        """Let the original store, and note the words and the address."""
        n, m = pair
        view = self.old.views[m]
        memory = view.memory
        assert memory is not None
        if m in state.pending:
            self.sides.fail("late", "a store is pending when the original does it again", n, m)
            return
        groups = state.groups.wait(m)
        if groups is None:
            self.sides.fail("late", "a store waits where some lanes have met others in one kernel alone", n, m)
            return
        state.pending, state.groups = (*state.pending, m), groups
        state.totals[m, "address"] = self._address(view, state)
        for k, register in enumerate(_data(view)):
            state.totals[m, k] = self._sum(register, state)
        self._go(pair, (n, m + 1), state)

    def _late(self, pair: Pair, state: _State) -> None:
        """Let the new kernel store what is pending."""
        n, m = pair
        store, view = self.label[n], self.new.views[n]
        was, memory = self.old.views[store], view.memory
        if store != state.pending[0] or not self._same_store(n, store) or memory is None or was.memory is None:
            self.sides.fail("late", "not the store that is due", n, store)
            return
        if self._address(view, state) != state.totals[store, "address"]:
            self.sides.fail("late", "a late store may go to another address", n, store)
        for k, register in enumerate(_data(view)):
            if self._sum(register, state) != state.totals[store, k]:
                self.sides.fail("late", "a late store may store another word", n, store)
        groups = state.groups.do(store)
        if groups is None:
            self.sides.fail("late", "lanes have parted that do a store together in the original", n, store)
            return
        state.pending, state.groups = state.pending[1:], groups
        gone = [slot for slot in state.totals if isinstance(slot, tuple) and slot[0] == store]
        for slot in gone:
            del state.totals[slot]
        self._go(pair, (n + 1, m), state)

    def _same_store(self, n: int, m: int) -> bool:
        """Return whether two stores are the same but for their operands."""
        new, old = self.new.views[n], self.old.views[m]
        isa = set_of(old.instr)
        if set_of(new.instr) is not isa or new.memory is None or old.memory is None or new.instr.name != old.instr.name:
            return False
        there, here = old.memory.data(old.uses), new.memory.data(new.uses)
        if [(r.field, r.units) for r in there] != [(r.field, r.units) for r in here]:
            return False
        as_old = isa.rename(new.instr, {r.field: r.index for r in there if r.field})
        base = old.memory.base
        return isa.alike(isa.readdress(as_old, None if base is None else base.index, old.memory.offset), old.instr)

    # -- totals

    def _unknown(self, *name: Hashable) -> Total:
        """Return an unknown by its name."""
        return Total(((self.unknowns.setdefault(name, len(self.unknowns)), 1),))

    def _sum(self, register: int, state: _State) -> Total:
        """Return what a register holds."""
        found = state.totals.get(register)
        return self._unknown("entry", register) if found is None else found

    def _address(self, view: View, state: _State) -> Total:
        """Return the address of an access."""
        memory = view.memory
        assert memory is not None
        base = NOTHING if memory.base is None else self._sum(memory.base.index, state)
        return Total(base.unknowns, added(base.number, memory.offset))

    def _define(self, n: int, m: int, state: _State) -> None:
        """Note what a word writes."""
        word = self.words.setdefault(m, Word(self.old.instrs[m]))
        view, isa = word.view, set_of(word.instr)
        copy = isa.register_copy(view.instr) if view.guard is None else None
        decided = computed(word, self.setting, {at: self._sum(at, state) for at in word.uses if at < PRED_BASE})
        results: dict[Slot, Total] = {}
        for place, register in enumerate(word.defs):
            if register >= PRED_BASE:
                continue
            found = word.sums.get(place) if view.guard is None else None
            made = decided.get(register)
            if made is None and copy is not None:
                made = self._sum(copy[1], state)
            elif made is None and found is not None and all(word.uses[at] < PRED_BASE for at, _ in found.uses):
                made = self._total(found, word.uses, state)
            results[register] = self._unknown("word", n, register) if made is None else made
        if view.control in CALLS:
            for register in range(isa.limits.registers):
                if register not in self.sides.untouched:
                    results[register] = self._unknown("call", n, register)
        state.totals |= results

    def _total(self, found: Sum, read: list[int], state: _State) -> Total | None:
        """Return a sum of what registers hold, None where it has special registers that the block's size does not
        decide."""
        parts = [(self._sum(read[at], state), factor) for at, factor in found.uses]
        parts += [(self._unknown("constant", bank, offset), factor) for bank, offset, factor in found.reads]
        number: Number = found.constant
        for name in found.special:
            if name not in self.setting.special:
                return None
            parts.append((exactly(self.setting.special[name]), 1))
        return total(parts, number)

    # -- ways

    def _point(self, new: int, old: int, n: int) -> None:
        """Note that lanes meet again at a pair of words."""
        if self.points.setdefault(new, old) != old:
            self.sides.fail("reconvergence", "one reconvergence point stands for two of the original", n)

    def _check_points(self) -> None:
        """Check that lanes meet where the original's do: what one kernel does alone is no matter."""
        if len(set(self.points.values())) != len(self.points):
            self.sides.fail("reconvergence", "two reconvergence points stand for one of the original", 0)
            return
        following = {to: self._alone(to) for to in sorted(self.entered)}
        found: dict[Pair | None, list[MatchedWay[Pair]]] = {None: [following[0, 0]]}
        for way in following.values():
            found[way.target] = [following[at] for at in self.after.get(way.target, ())]
        if self.sides.findings or all(
            tuple(self.points[n] for n in way.new) == way.old for way in following.values()
        ):
            return
        try:
            compare_all(found, self._pushes)
        except StacksDiffer as e:
            self.sides.fail("reconvergence", e.message, *e.at)

    def _alone(self, pair: Pair) -> MatchedWay[Pair]:
        """Return the way from behind a step of both kernels to the next one."""
        passed = [pair]
        while (following := self.alone.get(pair, _START)) != _START:
            if following in passed:
                self.sides.fail("order", "does nothing of the original's for ever", *pair)
                break
            passed.append(following)
            pair = following
        new = [n for k, (n, _) in enumerate(passed) if k == 0 or n != passed[k - 1][0]]
        old = [m for k, (_, m) in enumerate(passed) if k == 0 or m != passed[k - 1][1]]
        was = set(self.points.values())
        return MatchedWay(pair, tuple(n for n in new if n in self.points), tuple(m for m in old if m in was))

    def _pushes(self, pair: Pair) -> Pair | None:
        """Return the points where lanes that part at a pair of words meet again."""
        n, m = pair
        if self.new.views[n].control != Flow.BRANCH:
            return None
        new, old = self.new.fn.reconvergence(n), self.old.fn.reconvergence(m)
        return None if new is None or old is None else (new, old)

    def _go(self, pair: Pair, to: Pair, state: _State) -> None:
        """Let one kernel go on alone."""
        self.alone[pair] = to
        self._come(pair, to, state)

    def _come(self, source: Pair, pair: Pair, state: _State) -> None:
        """Let a state come to a pair of words from another pair."""
        ways = self.incoming.setdefault(pair, {})
        groups = state.groups.come(*pair)
        if groups is None:
            self.sides.fail("late", "a store waits where lanes may meet that had parted before it", *pair)
            return
        ways[source] = _State(state.pending, dict(state.totals), groups)
        if any(way.pending != state.pending for way in ways.values()):
            self.sides.fail("late", "a store is pending on one way to a word, and not on another", *pair)
            return
        groups = joined(way.groups for way in ways.values())
        totals = self._joined(pair, [way.totals for _, way in sorted(ways.items())])
        before = self.states.get(pair)
        if before is None or (before.totals, before.groups) != (totals, groups):
            self.states[pair] = _State(state.pending, totals, groups)
            if pair not in self.waiting:
                self.waiting.add(pair)
                heappush(self.work, pair)

    def _joined(self, pair: Pair, ways: list[dict[Slot, Total]]) -> dict[Slot, Total]:
        """Return what holds on all ways to a pair of words: equal sums, and equal distances of sums.

        An unknown that has its name from this very place was named when a thread came here last, and is another now.
        """
        if len(ways) == 1:
            return ways[0]
        found: dict[Slot, Total] = {}
        classes: dict[Hashable, tuple[Total, Number]] = {}
        for slot in sorted(set().union(*ways), key=repr):
            held = [way[slot] if slot in way else self._unknown("entry", slot) for way in ways]
            again = [any(self.met.get(unknown) == pair for unknown, _ in one.unknowns) for one in held]
            first = held[0]
            if not any(again) and all(other == first for other in held):
                found[slot] = first
                continue
            key = tuple((x.unknowns, old, less(x.number, first.number)) for x, old in zip(held, again, strict=True))
            if key not in classes:
                meeting = self._unknown("meet", pair, slot)
                self.met[meeting.unknowns[0][0]] = pair
                classes[key] = meeting, first.number
            meeting, there = classes[key]
            found[slot] = Total(meeting.unknowns, less(first.number, there))
        return found


def _plain_store(view: View) -> bool:
    """Return whether a word is a store to shared memory by each thread that comes to it."""
    memory = view.memory
    return (
        memory is not None and (memory.space, memory.access) == (Space.SHARED, Access.STORE) and view.guard is None
        and not (memory.ordered or memory.spill or memory.givers)
    )  # fmt: skip


def _bars(view: View, barrier: bool) -> bool:
    """Return whether no store may be pending at a word."""
    memory = view.memory
    if memory is not None:
        shares = memory.space in (Space.SHARED, Space.GENERIC)
        return shares or memory.ordered or memory.access == Access.ATOMIC or bool(view.control)
    exchange = view.convergent and not view.control and not barrier
    return not (view.pure or exchange or view.control == Flow.BRANCH)


def _data(view: View) -> list[int]:
    """Return the registers whose words a store moves."""
    assert view.memory is not None
    return [register for ref in view.memory.data(view.uses) for register in ref.registers()]
