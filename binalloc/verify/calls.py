"""This module analyses calls and contexts: the fixpoint of two functions, and a call's effect on the caller's facts.

Needs the products of all reachable pairs (`Pair`), acyclic. A *context* is a pair of functions together with the facts
at its entry; equal entries are analysed once. `call_boundary.py` takes facts into a callee and back. A guarded call is
the meet of the call taken and not taken.

Entries may be merged: a function is then analysed for the meet of the entries seen so far, since weaker entry facts
prove less, never more. That is tried first, being fast where a function is called from many places. Functions that it
leaves unproven are analysed per entry, merging only once half of the work allowed is done, so that work stays bounded.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.places import PRED_BASE, SLOT_ROW
from binalloc.isa.kinds import Flow
from binalloc.verify.call_boundary import CallBoundary, surviving
from binalloc.verify.effects import Effects
from binalloc.verify.lockstep import LockstepEdge, LockstepNode, NodeBlock, Position
from binalloc.verify.product import Pair
from binalloc.verify.reading.names import Names, pred_key, reg_key, slot_key
from binalloc.verify.reading.naming import TooMuch
from binalloc.verify.reading.webs import TRUE_VALUE
from binalloc.verify.report import Finding
from binalloc.verify.transfer import TransferFunctions
from binalloc.verify.values.lattice import State
from binalloc.verify.values.meet import meet
from binalloc.verify.values.tidy import needed, prune

MAX_VISITS = 400  # chosen by hand: facts only shrink at a meet, so that real programs need far fewer visits of a block
TIDY = 64  # steps of a block after which needless facts are forgotten; chosen by hand: to forget costs time, too


@dataclass
class ContextResult:
    """The result of a context has the facts at its returns, and all that its steps recorded."""

    exit: State | None  #: facts at its returns (None: it never returns)
    effects: Effects  #: what its steps recorded
    calls: list[ContextResult]  #: results of its calls


@dataclass
class ProofSetting:
    """A setting is shared by all contexts of one check."""

    names: Names  #: names of values and tokens
    pointer: int  #: the slot pointer's register
    volatile: frozenset[str]  #: special registers that differ between the programs
    slot_base: str  #: the special register that is the slot pointer's first value
    spill: tuple[int, int]  #: bytes of the spill area, [from, to)
    budget: int  #: steps after which the check is given up


class Contexts:
    """`Contexts` analyses contexts on demand and remembers them. Raises TooMuch when the budget of steps is spent.

    merge_after: steps after which the entries of a pair are merged; until then each is analysed by itself.
    """

    def __init__(self, setting: ProofSetting, merge_after: int) -> None:
        self.setting, self.merge_after = setting, merge_after
        self.done: dict[tuple[int, tuple[object, ...]], ContextResult] = {}
        self.shared: dict[int, State] = {}
        self.steps = 0

    def analyse(self, pair: Pair, entry: State, kernel: bool = False) -> ContextResult:
        """Return the result for this pair and entry state (which is not changed)."""
        key = (id(pair), entry.frozen())
        if key in self.done:
            return self.done[key]
        if self.steps >= self.merge_after:
            shared = self.shared.get(id(pair))
            entry = entry if shared is None else meet(entry, shared)
            self.shared[id(pair)] = entry
            key = (id(pair), entry.frozen())
            if key in self.done:
                return self.done[key]
        self.done[key] = result = _Run(self, pair, kernel).run(entry)
        return result


class _BlockVisit(NamedTuple):
    """A visit of a block leaves its effects, the facts behind it and the results of its calls."""

    effects: Effects
    exit: State | None
    calls: list[ContextResult]


class _Run:
    """A run finds the fixpoint of a context over its blocks. A block's last visit counts, since it saw the final
    facts."""

    def __init__(self, contexts: Contexts, pair: Pair, kernel: bool) -> None:
        self.contexts, self.pair, self.kernel = contexts, pair, kernel
        self.setting = contexts.setting
        self.exit: State | None = None
        self.calls: list[ContextResult] = []
        self.called: dict[tuple[int, tuple[object, ...]], ContextResult] = {}
        self.steps = self._steps(Effects())

    def _steps(self, effects: Effects) -> TransferFunctions:
        s = self.setting
        return TransferFunctions(
            s.names,
            self.pair.old,
            self.pair.new,
            kernel=self.kernel,
            pointer=s.pointer,
            volatile=s.volatile,
            slot_base=s.slot_base,
            spill=s.spill,
            effects=effects,
            remade=self.pair.product.remade,
            remade_operands=self.pair.product.remade_operands,
            exchanges=self.pair.product.exchanges,
        )

    def run(self, entry: State) -> ContextResult:
        pair = self.pair
        first = pair.product.entry
        assert first is not None
        start = entry.copy()
        start.add(pred_key(TRUE_VALUE - PRED_BASE), frozenset((TRUE_VALUE,)))
        start.refine(((TRUE_VALUE, True),))
        states: dict[int, State] = {pair.index[first.target]: self._pass(start, first)}
        work = [pair.index[first.target]]
        queued = set(work)
        visits: dict[int, int] = {}
        last_visits = {-1: _BlockVisit(self.steps.effects, None, [])}
        while work:
            b = heapq.heappop(work)
            queued.discard(b)
            visits[b] = visits.get(b, 0) + 1
            if visits[b] > MAX_VISITS:
                raise TooMuch(f"the facts in {pair.new.name} do not settle")
            self.steps.effects, self.exit, self.calls = Effects(), None, []
            leaving = self._block(pair.blocks[b], states[b].copy())
            last_visits[b] = _BlockVisit(self.steps.effects, self.exit, self.calls)
            for at, state in leaving:
                succ = pair.index[at]
                live = pair.old.live(at[1])
                prune(state, live)
                before = states.get(succ)
                after = state if before is None else meet(before, state, live)
                if before is None or not after.same(before):
                    states[succ] = after
                    if succ not in queued:
                        queued.add(succ)
                        heapq.heappush(work, succ)
        return _summed([last_visits[b] for b in sorted(last_visits)])

    def _block(self, block: NodeBlock, state: State) -> list[tuple[Position, State]]:
        """Follow a block from `state`, and return its successors with their facts."""
        self.contexts.steps += len(block.nodes)
        if self.contexts.steps > self.setting.budget:
            raise TooMuch("the rewrite takes too many steps to check")
        for step, node in enumerate(block.nodes[:-1], 1):
            after = self._node(node, state)
            edge = node.edges[0]
            if after is None or not edge.open(after.K):
                return []
            state = self._pass(after, edge) if edge.passed or edge.condition is not None else after
            if step % TIDY == 0:
                prune(state, needed(state, self.pair.old.live(edge.target[1])))
        node = block.nodes[-1]
        after = self._node(node, state)
        if after is None:
            return []
        ways = [e for e in node.edges if e.open(after.K)]
        return [(e.target, self._pass(after.copy() if e is not ways[-1] else after, e)) for e in ways]

    def _pass(self, state: State, edge: LockstepEdge) -> State:
        """Return the facts behind an edge."""
        if edge.condition is not None:
            state.refine((edge.condition,))
        for m in edge.passed:
            state = self.steps.alone(state, m)
        return state

    def _node(self, node: LockstepNode, state: State) -> State | None:
        """Return the facts after the node's step; None where no thread continues."""
        steps = self.steps
        for m in node.passed:
            state = steps.alone(state, m)
        if node.kind == "insert":
            return steps.insert(state, node.n)
        if node.kind == "skip":
            return steps.skip(state, node.n, node.m)
        if node.kind == "move":
            return steps.move(state, node.n, node.m)
        if node.matches:
            return steps.match(state, node.n, node.m)
        condition = steps.guard(state, node.n, node.m)
        if node.kind == "branch":
            return state
        if node.kind == "call":
            callee = self.pair.callees[node.n]
            if condition is None:
                return self._call(state, callee, node)
            return steps.split(state, (condition,), lambda s: self._call(s, callee, node))
        return self._end(node, state)

    def _end(self, node: LockstepNode, state: State) -> State | None:
        """Handle RET and EXIT: RET passes the facts to the caller; after a guarded one the other threads continue."""
        condition = self.pair.old.condition(node.m)
        leaves = condition is None or (condition[0], not condition[1]) not in state.K
        if leaves and self.pair.old.views[node.m].control == Flow.RETURN:
            leaving = state.copy()
            if condition is not None:
                leaving.refine((condition,))
            self.exit = leaving if self.exit is None else meet(self.exit, leaving)
        return state if condition is not None else None

    # -- calls

    def _call(self, state: State, callee: Pair, node: LockstepNode) -> State | None:
        names, foot = self.setting.names, callee.footprint
        pointer = reg_key(self.setting.pointer)
        at = names.pointer_bytes(state.row(pointer)) if self.setting.pointer != NO_REGISTER else None
        if at is not None and at % SLOT_ROW:
            at = None
        boundary = CallBoundary(names, self.pair, callee, node.m, at, state)
        entry = boundary.entry(state, pointer)
        # The recording pass must see the very result the fixpoint saw, also where entries were merged since.
        key = (node.n, entry.frozen())
        result = self.called.get(key) or self.contexts.analyse(callee, entry)
        self.called[key] = result
        self.calls.append(result)
        shift, effects = boundary.shift, self.steps.effects
        for row in result.effects.slots_touched:
            effects.slots_touched.setdefault(row + shift, result.effects.slots_touched[row])
        effects.slots_written.update(row + shift for row in result.effects.slots_written)
        if result.exit is None:
            return None
        written = foot.rows | {slot_key(r + shift) for r in result.effects.slots_written}
        kept, changed = boundary.back()
        for x in sorted(result.effects.settled):
            if x in kept:
                effects.settled.add(kept[x])
                changed[x] = kept[x]
        gone = frozenset((*changed.values(), *self.pair.old.webs.after[node.m].values()))
        after = surviving(state, gone, written)
        boundary.returned(after, result.exit, kept, changed)
        return after

def _summed(parts: list[_BlockVisit]) -> ContextResult:
    effects, leaving = Effects(), None
    for part in parts:
        effects.add(part.effects)
        if part.exit is not None:
            leaving = part.exit if leaving is None else meet(leaving, part.exit)
    return ContextResult(leaving, effects, [result for part in parts for result in part.calls])


def collect(root: ContextResult) -> tuple[list[Finding], list[Finding], int]:
    """Return findings and notes of the contexts that the root's final facts lead to, without repeats, and the number of
    those."""
    seen: set[int] = set()
    findings: dict[Finding, None] = {}
    notes: dict[Finding, None] = {}
    work = [root]
    while work:
        result = work.pop()
        if id(result) in seen:
            continue
        seen.add(id(result))
        findings.update(dict.fromkeys(result.effects.findings))
        notes.update(dict.fromkeys(result.effects.notes))
        work.extend(result.calls)
    return list(findings), list(notes), len(seen)
