"""A second opinion on control codes, by brute force over every state a warp's reconvergence stack can be in.

Shares nothing with the scheduler but the instruction interface: it plays the abstract warp (program counter and stack,
every guard may hold for all, some or no lanes, either side of a branch may go first) and follows each producer forward
through all states. For small programs only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.isa.instruction import Instr, Module
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.loom.view import view

Place = tuple[str, int]


class Entry(NamedTuple):
    """Stack entry. kind D: lanes at `pc` until `point`; kind C: a call that returns to `pc`."""

    kind: str
    pc: int
    point: int


State = tuple[int, tuple[Entry, ...]]
STAYED = 99  # stack index that stands for: these lanes run themselves


class Step(NamedTuple):
    """A transition. switches: for each time other lanes take over, the index of the stack entry that gave way and that
    of the entry in which the lanes that ran before wait, -1 if they are gone."""

    state: State
    switches: tuple[tuple[int, int], ...] = ()


def _places(refs: tuple[Ref, ...]) -> frozenset[Place]:
    return frozenset((r.file, i) for r in refs for i in r.registers())


@dataclass
class Oracle:
    """States of the warp and what each instruction touches. `stalls` may be changed between checks. per_lane: results
    of lanes that parted do not overwrite each other, as the contract has it; else the later must come later."""

    module: Module
    machine: object
    instrs: list[Instr] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    where: list[tuple[int, int]] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)
    per_lane: bool = False

    def __post_init__(self) -> None:
        self.at = {}
        for f, fn in enumerate(self.module.functions):
            for i, instr in enumerate(fn.instrs):
                self.at[fn.address + i] = len(self.instrs)
                self.instrs.append(instr)
                self.where.append((f, i))
        self.views = [view(i) for i in self.instrs]
        self.stalls = [i.ctrl.stall for i in self.instrs]
        self.latency = [self._latency(v) for v in self.views]
        self.unit = [self.machine.units[v.unit].latency for v in self.views]
        self.reads = [
            _places(v.uses) | (frozenset([("P", v.guard[0])]) if v.guard else frozenset()) for v in self.views
        ]
        self.late = [_places(v.uses) if not self.latency[n] else frozenset() for n, v in enumerate(self.views)]
        self.writes = [_places(v.defs) for v in self.views]
        self.states: dict[State, list[Step]] = {}
        self.called = {self._word(n) + 1 + i.f["target"] for n, i in enumerate(self.instrs) if i.op.control == "call"}
        self.drains = {n for n in range(len(self.instrs)) if self._leaves_sight(n)}
        self._explore()
        self.by_node = defaultdict(list)
        for state in self.states:
            self.by_node[state[0]].append(state)

    def _latency(self, v: View) -> int:
        cycles = self.machine.units[v.unit].latency
        return 0 if v.variable or cycles > 15 else cycles

    def _leaves_sight(self, node: int) -> bool:
        """Whether what runs next may be code nobody can see, so that nothing may be pending behind `node`."""
        fn, control = self.module.functions[self.where[node][0]], self.views[node].control
        if control == "return":
            return not fn.info.is_kernel and fn.address not in self.called
        return control == "call_indirect" or (control == "exit" and not fn.info.is_kernel)

    # -- the abstract warp

    def _explore(self) -> None:
        todo: list[State] = []
        for fn in self.module.functions:
            if fn.info.is_kernel or fn.address not in self.called:
                todo.append((self.at[fn.address], ()))
        while todo:
            state = todo.pop()
            if state in self.states:
                continue
            self.states[state] = sorted(set(self._step(state)))
            todo.extend(step.state for step in self.states[state])
        assert len(self.states) < 200_000

    def _word(self, node: int) -> int:
        f, i = self.where[node]
        return self.module.functions[f].address + i

    def _step(self, state: State) -> Iterator[Step]:
        node, stack = state
        v, instr = self.views[node], self.instrs[node]
        guarded = v.guard is not None
        here = self._word(node) + 1
        if v.control == "branch":
            target, after = self.at[here + instr.f["target"]], self.at.get(here, -1)
            yield self._arrive(target, stack)
            if guarded:
                yield self._arrive(after, stack)
                if instr.f["diverges"]:
                    point = self.at[here + instr.f["reconv"]]
                    for first, second in ((target, after), (after, target)):
                        if first != point or second == point:
                            yield self._arrive(first, self._push(stack, Entry("D", second, point)))
            return
        if v.control == "call":
            back = self.at[here]
            yield self._arrive(self.at[here + instr.f["target"]], (*stack, Entry("C", back, -1)))
            if guarded:
                yield self._arrive(back, stack)
            return
        if v.control in ("return", "exit"):
            yield from self._gone(stack, v.control)
            if not guarded:
                return
        yield self._arrive(self.at[here], stack)

    def _push(self, stack: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
        if entry.pc == entry.point and stack and stack[-1] == entry:
            return stack
        return (*stack, entry)

    def _arrive(self, pc: int, stack: tuple[Entry, ...]) -> Step:
        """Pop what ends at `pc`: run the other side, or join those that wait."""
        while stack and stack[-1].kind == "D" and stack[-1].point == pc:
            top = stack[-1]
            if top.pc != top.point:
                below = self._push(stack[:-1], Entry("D", top.point, top.point))
                inner = self._arrive(top.pc, below)
                at = len(below) - 1
                return Step(inner.state, ((at, at), *inner.switches))
            stack = stack[:-1]
        return Step((pc, stack))

    def _gone(self, stack: tuple[Entry, ...], how: str) -> Iterator[Step]:
        """The last lanes of the running side have left by RET or EXIT."""
        if not stack:
            return
        top, rest = stack[-1], stack[:-1]
        at = len(rest)
        call = max((i for i, e in enumerate(stack) if e.kind == "C"), default=-1) if how == "return" else -1
        if top.kind == "D":
            after = self._arrive(top.pc, rest)
            yield Step(after.state, ((at, call), *after.switches))
            return
        if how == "return":
            yield self._arrive(top.pc, rest)
            return
        after = self._arrive(top.pc, rest)
        yield Step(after.state, ((at, -1), *after.switches))
        yield from self._gone(rest, how)

    # -- fixed latencies

    def fixed_violations(self, first_only: bool = False) -> list[tuple[int, int, int]]:
        """(producer, consumer, missing cycles), each pair once."""
        found: dict[tuple[int, int], int] = {}
        for node in range(len(self.instrs)):
            if not self.latency[node] or not self.writes[node]:
                continue
            for consumer, missing in self._too_close(node):
                found[node, consumer] = max(missing, found.get((node, consumer), 0))
                if first_only:
                    return [(node, consumer, missing)]
        return [(p, c, m) for (p, c), m in sorted(found.items())]

    def _too_close(self, node: int) -> Iterator[tuple[int, int]]:
        """Follow `node` forward. `base`: stack height of the lanes that ran it; `away`: index of the entry in which
        they wait while lanes that did not run it are on, STAYED while they run themselves."""
        latency = self.latency[node]
        if node in self.drains and self.stalls[node] < latency:
            yield node, latency - self.stalls[node]
        best: dict[tuple[State, int, int], int] = {}
        todo: list[tuple[State, int, int, int]] = []

        def go_on(state: State, elapsed: int, base: int, away: int) -> None:
            for step in self.states[state]:
                height = len(step.state[1])
                there = min([away, *(wait for at, wait in step.switches if at < base)])
                if there != STAYED and height <= there:
                    there = STAYED
                todo.append((step.state, elapsed + self.stalls[state[0]], min(base, height), there))

        for start in self.by_node[node]:
            go_on(start, 0, len(start[1]), STAYED)
        while todo:
            state, elapsed, base, away = todo.pop()
            if elapsed >= latency or best.get((state, base, away), STAYED) <= elapsed:
                continue
            best[state, base, away] = elapsed
            yield from self._met(node, state[0], elapsed, away == STAYED)
            go_on(state, elapsed, base, away)

    def _met(self, node: int, n: int, elapsed: int, same_lanes: bool) -> Iterator[tuple[int, int]]:
        latency, writes = self.latency[node], self.writes[node]
        if same_lanes and writes & self.reads[n]:
            yield n, latency - elapsed
        elif (same_lanes or not self.per_lane) and writes & self.writes[n] and latency - elapsed >= self.unit[n]:
            yield n, latency - elapsed - self.unit[n] + 1
        if n in self.drains and elapsed + self.stalls[n] < latency:
            yield n, latency - elapsed - self.stalls[n]

    # -- scoreboards

    def scoreboard_violations(self) -> list[tuple[int, int, str]]:
        """(producer, consumer, RAW | WAW | WAR | drain) for each pending access some path meets without waiting."""
        found = set()
        for node in range(len(self.instrs)):
            if self.latency[node]:
                continue
            ctrl = self.instrs[node].ctrl
            if self.writes[node]:
                for n, what in self._unguarded(node, {ctrl.wbar}, self.writes[node], self.writes[node]):
                    found.add((node, n, what))
            sources = self.late[node] - self.writes[node]
            if sources:
                for n, what in self._unguarded(node, {ctrl.wbar, ctrl.rbar}, frozenset(), sources):
                    found.add((node, n, "WAR" if what == "WAW" else what))
        return sorted(found)

    def _unguarded(
        self, node: int, boards: set[int], no_read: frozenset[Place], no_write: frozenset[Place]
    ) -> Iterator[tuple[int, str]]:
        clears = sum(1 << b for b in boards if b < 7)
        seen: set[State] = set()
        todo = [step.state for start in self.by_node[node] for step in self.states[start]]
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            n = state[0]
            if self.instrs[n].ctrl.wait & clears:
                continue
            if n in self.drains:
                yield n, "drain"
            if no_read & self.reads[n]:
                yield n, "RAW"
            elif no_write & self.writes[n]:
                yield n, "WAW"
            todo += [step.state for step in self.states[state]]

    # -- tightness

    def loose(self, floor: int = 1) -> list[int]:
        """Nodes whose stall count above `floor` could be one lower. Restores the counts."""
        assert not self.fixed_violations()
        out = []
        for node in range(len(self.instrs)):
            if self.stalls[node] <= floor or not self.by_node[node]:
                continue
            self.stalls[node] -= 1
            if not self.fixed_violations(first_only=True):
                out.append(node)
            self.stalls[node] += 1
        return out
