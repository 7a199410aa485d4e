"""This module analyses calls and contexts: the fixpoint of two functions, and a call's effect on the caller's facts.

Needs the products of all reachable pairs (`Pair`), acyclic. A *context* is a pair of functions together with the facts
at its entry; equal entries are analysed once. There is no calling convention to trust:

- The callee starts from the caller's facts about original places that the original callee needs (`footprint.py`), with
  slot rows counted from the slot pointer as it is at the call. Facts about predicates there, the call's guard included,
  hold in the callee: they may rule out ways through it, and calls.
- Facts under conditions on the caller's predicates cross, too, where the callee neither needs nor writes those
  predicates: inside, the condition is on the predicate's place.
- Afterwards the caller keeps facts about rows and original places that neither callee touches. These are rows that the
  rewritten callee never writes, and places that the original one never writes. For registers, predicates and spill
  words the callee's code decides that, for slot rows its analysis. Everything else must be proven by the callee's facts
  at its returns.
- A guarded call is the meet of the call taken and not taken.

Entries may be merged: a function is then analysed for the meet of the entries seen so far, since weaker entry facts
prove less, never more. That is tried first, being fast where a function is called from many places. Functions that it
leaves unproven are analysed per entry, merging only once half of the work allowed is done, so that work stays bounded.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.bitset import bits
from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, SLOT_ROW
from binalloc.isa.kinds import Flow
from binalloc.verify.lockstep import LockstepEdge, LockstepNode, NodeBlock, Position
from binalloc.verify.original import OriginalFunction
from binalloc.verify.product import Product
from binalloc.verify.reading.code import FunctionCode
from binalloc.verify.reading.footprint import Footprint
from binalloc.verify.reading.names import (
    WHOLE,
    Names,
    const_of,
    is_copy,
    pred_key,
    reg_key,
    shift_slots,
    slot_key,
    slot_of,
)
from binalloc.verify.reading.webs import TRUE_VALUE
from binalloc.verify.report import Finding
from binalloc.verify.transfer import Effects, TransferFunctions
from binalloc.verify.values.conditions import NONE, Facts, Set
from binalloc.verify.values.lattice import State
from binalloc.verify.values.meet import meet
from binalloc.verify.values.tidy import needed, prune
from binalloc.verify.values.unwritten import without_others

MAX_VISITS = 400  # chosen by hand: facts only shrink at a meet, so that real programs need far fewer visits of a block
TIDY = 64  # steps of a block after which needless facts are forgotten; chosen by hand: to forget costs time, too


class TooMuch(Exception):
    """`TooMuch` is raised when the analysis gives up: a real program needs less work."""


@dataclass
class Pair:
    """A pair is a rewritten function and the original one that it stands for."""

    product: Product  #: lockstep of the two
    blocks: list[NodeBlock]  #: straight runs of its nodes
    index: dict[Position, int]  #: number of the block that starts at a position
    callees: dict[int, Pair] = field(default_factory=dict)  #: for each call node's n the pair that it enters
    complete: bool = True  #: the lockstep of this pair and of all its callees was established
    footprint: Footprint = field(default_factory=Footprint)  #: places that the pair may touch

    @property
    def old(self) -> OriginalFunction:
        return self.product.old

    @property
    def new(self) -> FunctionCode:
        return self.product.new


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
        if node.kind == "match":
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
        beyond = self._beyond(state, callee, node.m)
        entry = self._entry(state, callee, node.m, at, pointer, beyond)
        # The recording pass must see the very result the fixpoint saw, also where entries were merged since.
        key = (node.n, entry.frozen())
        result = self.called.get(key) or self.contexts.analyse(callee, entry)
        self.called[key] = result
        self.calls.append(result)
        shift = 0 if at is None else at // SLOT_ROW
        effects = self.steps.effects
        for row in result.effects.slots_touched:
            effects.slots_touched.setdefault(row + shift, result.effects.slots_touched[row])
        effects.slots_written.update(row + shift for row in result.effects.slots_written)
        if result.exit is None:
            return None
        written = foot.rows | {slot_key(r + shift) for r in result.effects.slots_written}
        kept, changed = self._back(callee, node.m)
        for x in sorted(result.effects.settled):
            if x in kept:
                effects.settled.add(kept[x])
                changed[x] = kept[x]
        gone = frozenset((*changed.values(), *self.pair.old.webs.after[node.m].values()))
        after = self._frame(state, gone, written)
        self._returned(after, result.exit, kept, changed, at, beyond)
        return after

    def _entry(self, state: State, callee: Pair, m: int, at: int | None, pointer: int, beyond: dict[int, int]) -> State:
        """Return the caller's facts as the callee sees them, about the values that it needs. beyond: as `_beyond`."""
        names = self.setting.names
        inside = callee.old.webs.entry
        into = {x: inside[place] for place, x in self.pair.old.webs.before[m].items() if place in inside}
        into |= {w: w for w in _words(callee.footprint.summary.needed)}
        under = into | {p: place for place, p in beyond.items()}
        state = without_others(state, under)
        shift = 0 if at is None else -(at // SLOT_ROW)
        entry = State(names, _mapped(state.free, into))
        entry.doubt = _mapped(state.doubt, into)
        lasting = names.lasting(frozenset(state.of.values()))
        entry.of = {into[x]: t for x, t in state.of.items() if x in into and t in lasting}
        entry.K = frozenset((into[p], v) for p, v in state.K if p in into)
        for key, values in state.S.items():
            known = _mapped(values, into)
            if known and self._crosses(key, at):
                # The constants stay with the row where the values that are known to be them die.
                entry.S[shift_slots(key, shift)] = known | values.intersection(map(entry.of.get, known))
        for key, conds in state.C.items():
            found = _mapped_facts(conds, into, under)
            if found and self._crosses(key, at):
                entry.C[shift_slots(key, shift)] = found
        if at is not None:
            entry.S[pointer] = entry.S.get(pointer, NONE) | {names.token(("ptr", 0))}
        entry.find_bits()
        return entry

    def _beyond(self, state: State, callee: Pair, m: int) -> dict[int, int]:
        """Return {place: predicate} for predicates of the caller in conditions, which the callee leaves alone without
        knowing them. In the callee the place is their name; of several in one place, one that is still read counts."""
        old, inside, writes = self.pair.old, callee.old.webs.entry, callee.footprint.summary.writes
        live = old.live(m + 1)
        found = {self.setting.names.place(p): p for facts in state.C.values() for cs in facts for p, _ in cs if live(p)}
        return {place: p for place, p in found.items() if place not in inside and not writes >> place & 1}

    def _crosses(self, key: int, at: int | None) -> bool:
        """Return whether the row means the same on either side of a call. Slots do where the pointer is known. Tokens
        computed from one side's values, and rows of one side's copies, do not."""
        if is_copy(key):
            return False
        return (at is not None or slot_of(key) is None) and const_of(key) not in self.setting.names.leaves

    def _back(self, callee: Pair, m: int) -> tuple[dict[int, int], dict[int, int]]:
        """Return names of the caller behind a call, by the callee's names at its returns: for places that the callee
        leaves alone, and for places that it may write."""
        summary, inside, here = callee.footprint.summary, callee.old.webs, self.pair.old.webs
        kept = {
            inside.entry[place]: x
            for place, x in here.before[m].items()
            if place in inside.entry and not summary.writes >> place & 1
        }
        changed = {inside.exit[place]: x for place, x in here.after[m].items() if place in inside.exit}
        kept |= {w: w for w in _words(summary.needed & ~summary.writes)}
        changed |= {w: w for w in _words(summary.writes)}
        return kept, changed

    def _frame(self, state: State, killed: Set, written: set[int]) -> State:
        """Return the facts that survive a callee if it writes these original values and these rows."""
        after = state.copy()
        after.doubt -= killed
        after.kill(killed)
        after.S = {k: xs for k, xs in after.S.items() if k & WHOLE not in written}
        after.C = {k: d for k, d in after.C.items() if k & WHOLE not in written}
        after.find_bits()
        return after

    def _returned(
        self,
        after: State,
        leaving: State,
        kept: dict[int, int],
        changed: dict[int, int],
        at: int | None,
        beyond: dict[int, int],
    ) -> None:
        """Add the callee's facts at its returns, in the caller's terms. beyond: as `_beyond`."""
        names = self.setting.names
        shift = 0 if at is None else at // SLOT_ROW
        known = kept | changed
        under = known | beyond
        leaving = without_others(leaving, under)
        after.free |= _mapped(leaving.free, known)
        after.doubt |= _mapped(leaving.doubt, changed)
        for key, values in leaving.S.items():
            if not self._crosses(key, at):
                continue
            row = shift_slots(key, shift)
            found = _mapped(values, known) | names.lasting(values)
            moved = names.pointer_bytes(values)
            if moved is not None and at is not None:
                found |= {names.token(("ptr", at + moved))}
            if found:
                after.S[row] = after.S.get(row, NONE) | found
        for key, conds in leaving.C.items():
            if not self._crosses(key, at):
                continue
            row = shift_slots(key, shift)
            facts = dict(after.C.get(row, {}))
            for c, xs in _mapped_facts(conds, known, under).items():
                facts[c] = facts.get(c, NONE) | xs
            if facts:
                after.C[row] = facts
        lasting = names.lasting(frozenset(leaving.of.values()))
        after.of.update({changed[x]: t for x, t in leaving.of.items() if x in changed and t in lasting})
        after.find_bits()


def _summed(parts: list[_BlockVisit]) -> ContextResult:
    effects, leaving = Effects(), None
    for part in parts:
        effects.add(part.effects)
        if part.exit is not None:
            leaving = part.exit if leaving is None else meet(leaving, part.exit)
    return ContextResult(leaving, effects, [result for part in parts for result in part.calls])


def _words(places: int) -> list[int]:
    """Return the places that are words of local memory."""
    return [x + LOCAL_BASE for x in bits(places >> LOCAL_BASE)]


def _mapped(values: Set, into: dict[int, int]) -> Set:
    """Return the values in other names, without those that have none."""
    return frozenset([into[x] for x in values if x in into])


def _mapped_facts(conds: Facts, into: dict[int, int], under: dict[int, int]) -> Facts:
    """Return facts in other names: `into` has names for values, `under` for predicates in conditions."""
    found: Facts = {}
    for cs, xs in conds.items():
        values = _mapped(xs, into)
        if values and all(p in under for p, _ in cs):
            found[frozenset((under[p], v) for p, v in cs)] = values
    return found


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
