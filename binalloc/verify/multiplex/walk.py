"""The original is walked here by all threads of one block at once, along the new kernel's words.

Needs a pairing; leaves a `Walk`: addresses of shared accesses, branches at which threads may part, reads of stale
bytes. Loops whose exits are decided for every thread are followed round by round, others up to a fixed point.

Facts that hold only if threads are together are first assumed, and checked at the end of a walk (`together.py`). If one
was wrong the walk is done again without it. When none is, all hold: each of them is about what happened before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from binalloc.bitset import bits
from binalloc.isa.interface.formulas import Order
from binalloc.isa.interface.places import LANES, PRED_BASE, TRUE
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.verify.multiplex.cases import Cases
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.memory import Memory, Range, merged
from binalloc.verify.multiplex.spread import HALF, LAST, Mask, Spread, limited, select, signed, total
from binalloc.verify.multiplex.state import State
from binalloc.verify.multiplex.words import NO_LIMITS, Limit, Limits, Setting, Word

ROUNDS = 300
"""Most rounds of a loop that are followed one by one. Chosen by hand: a kernel's counted loops have fewer."""
OPEN_ROUNDS = 24
"""Likewise of a loop that threads may leave earlier, or not. Most such loops have no last round: these are the rounds
that are walked in vain."""
NEAR = 1 << 16
"""A counter has so few values at most where it is worthwhile to wait for one of them; chosen by hand."""
STEPS = 400_000
"""Most words that all walks of a kernel execute. Chosen by hand: it bounds the time on hostile code to some 20 s."""
Key = tuple[int, tuple[int, ...]]
"""A block, with the rounds of the loops around it."""


class Again(Exception):
    """`Again` is raised where a walk has to be done once more, with fewer assumptions."""


class TooLong(Exception):
    """`TooLong` is raised where a walk does not come to an end in time."""


@dataclass
class Assumed:
    """Assumptions grow weaker from walk to walk."""

    apart: int = 0  #: mask of the blocks in which threads may be apart
    fixed: set[int] = field(default_factory=set)  #: heads of loops that are not followed round by round
    unequal: set[int] = field(default_factory=set)  #: loads that may give threads different values
    lost: dict[int, Mask] = field(default_factory=dict)  #: by barrier's block, threads that may have ended before
    #: by barrier's block, bytes that threads may have written before while they were apart: some may have ended then
    strewn: dict[int, Mask] = field(default_factory=dict)
    steps: int = 0  #: words that were executed so far


class Walk:
    """One walk. reach: by word, the addresses that a shared access may have. edges: by block, blocks to which a thread
    may go. parted: blocks behind which threads may part, and whether lanes of one warp may. ends: threads that may end
    at a word while others go on. stale: words that may read stale bytes."""

    def __init__(self, graph: Graph, words: list[Word | None], kinds: list[Flow], live: list[int], setting: Setting,
                 memory: Memory, assumed: Assumed, clobbered: int, cases: Cases | None = None) -> None:  # fmt: skip
        """words: by new word, the original's, None where it was inserted. kinds: by new word, what it does to
        control flow. live: places that are needed from there on. clobbered: places that calls write. cases: what
        threads are known to get at one word."""
        self.graph, self.words, self.kinds, self.live = graph, words, kinds, live
        self.setting, self.memory, self.assumed, self.clobbered = setting, memory, assumed, clobbered
        self.cases = cases
        self.before: dict[int, dict[int, Spread]] = {}  # what threads know in front of words in `watched`
        self.watched: frozenset[int] = frozenset()
        self.others: dict[int, Mask] = {}  # by barrier, bytes that others may write between it and the next one
        self.begun: Mask | None = None  # bytes that are stale at the start
        self.fresh: dict[int, Mask] = {}  # by barrier, bytes that are not stale behind it
        self.reach: dict[int, list[Range]] = {}
        self.edges: list[set[int]] = [set() for _ in graph.words]
        self.parted: dict[int, bool] = {}
        self.ends: dict[int, Mask] = {}
        self.stale: dict[int, int] = {}
        self.stored: dict[int, Mask] = {}
        self.common: dict[int, Mask] = {}
        self.open: set[int] = set()  # loops that threads may leave before their last round
        self.taken: dict[Key, set[int]] = {}  # by a block that ends with a branch, and rounds, where threads may go
        self.rounds: tuple[int, ...] = ()  # of the loops around the block that is walked
        self._written: dict[int, int] = {}
        self.block = 0
        self.steps = 0

    def run(self) -> None:
        entry: Key = (self.graph.entry, self._rounds(None, (), self.graph.entry))
        start = State(np.ones(self.setting.threads, np.bool_), self.memory.span)
        if self.begun is not None:
            start.written = start.stale = self.begun
        states: dict[Key, State] = {entry: start}
        joins: dict[Key, int] = {}
        waiting = {entry}
        heap = [(self._turn(entry), entry)]
        while heap:
            _, key = heappop(heap)
            if key not in waiting:
                continue
            waiting.discard(key)
            self.rounds = key[1]
            for to, state in self._through(key[0], states[key].copy()):
                new = (to, self._rounds(key[0], key[1], to))
                if not self._arrive(states, joins, new, state):
                    continue
                if new not in waiting:
                    waiting.add(new)
                    heappush(heap, (self._turn(new), new))

    def _arrive(self, states: dict[Key, State], joins: dict[Key, int], key: Key, state: State) -> bool:
        """Let a state come to a block, and return whether it brings anything new there."""
        state.keep(self.live[self.graph.words[key[0]][0]])
        old = states.get(key)
        if old is None:
            states[key] = state
            return True
        joins[key] = joins.get(key, 0) + 1
        head = key[0] in self.graph.loops
        joined = old.join(state, widen=joins[key] > (2 if head else 40))
        if joined is None:
            return False
        states[key] = joined
        return True

    # -- contexts

    def _rounds(self, source: int | None, rounds: tuple[int, ...], to: int) -> tuple[int, ...]:
        """Return the rounds of the loops around block `to`, entered from `source` in these rounds."""
        found = []
        chain = [] if source is None else self.graph.chains[source]
        for head in self.graph.chains[to]:
            at = chain.index(head) if head in chain else -1
            if at < 0 or head in self.assumed.fixed:
                found.append(0)
                continue
            found.append(rounds[at] + (to == head))
            if found[-1] > (OPEN_ROUNDS if head in self.open else ROUNDS):
                self.assumed.fixed.add(head)
                raise Again
        return tuple(found)

    def _turn(self, key: Key) -> tuple[int, ...]:
        """Return the order in which blocks are walked: inner loops first, round by round."""
        turn: list[int] = []
        for head, at in zip(self.graph.chains[key[0]], key[1], strict=True):
            turn += (self.graph.rank[head], at)
        return (*turn, self.graph.rank[key[0]])

    # -- blocks

    def _through(self, block: int, state: State) -> list[tuple[int, State]]:
        """Walk a block, and return the states with which threads leave it."""
        self.block = block
        self.together = not self.assumed.apart >> block & 1
        words = self.graph.words[block]
        self.steps += len(words)
        self.assumed.steps += len(words)
        if self.assumed.steps > STEPS:
            raise TooLong
        for n in words:
            word = self.words[n]
            if word is None:
                if self.kinds[n] in (Flow.ALLOC, Flow.FREE, Flow.BARRIER):
                    self._barrier(n, state)
                continue
            if word.view.control == Flow.BRANCH:
                if n != words[-1]:
                    continue  # a jump to the next word ends no block
                return self._branch(word, state)
            if word.view.control == Flow.EXIT:
                if not self._end(n, word, state):
                    return []
            else:
                self._execute(n, word, state)
                if not state.may.any():
                    return []
        ways = self.graph.after[block]
        for to in ways:
            self.edges[block].add(to)
        return [(to, state) for to in ways]

    def _barrier(self, n: int, state: State) -> None:
        lost, strewn = self.assumed.lost.get(self.block), self.assumed.strewn.get(self.block)
        if strewn is not None:
            state.written = state.written | strewn
        self.memory.open(state, state.may if lost is None else state.may & ~lost, self.others.get(n))
        if self.memory.follows:
            fresh = ~state.stale
            self.fresh[n] = self.fresh[n] & fresh if n in self.fresh else fresh

    def _read(self, state: State, place: int) -> Spread:
        found = state.places.get(place)
        if found is not None:
            return found
        return self.setting.either if place >= PRED_BASE else self.setting.different

    def _truth(self, view: View, state: State) -> tuple[Spread, Limits]:
        """Return whether a guard holds, and what that says of registers."""
        guard = view.guard
        if guard is None:
            return self.setting.always, NO_LIMITS
        predicate, negated = guard
        value = self.setting.always if predicate == TRUE else self._read(state, PRED_BASE + predicate)
        yes, no = state.limits.get(PRED_BASE + predicate, NO_LIMITS)
        if negated:
            return Spread(1 - value.high, 1 - value.low, value.same), (no, yes)
        return value, (yes, no)

    def _execute(self, n: int, word: Word, state: State) -> None:
        if word.view.control in CALLS:
            for at in bits(self.clobbered):
                state.places.pop(at, None)
                state.forget(at)
            return
        truth, _ = self._truth(word.view, state)
        if n in self.watched:
            self.before[n] = dict(state.places)

        def read(at: int) -> Spread:
            return self._read(state, at)

        common = self._access(n, word, state, truth) if word.view.memory is not None else False
        if word.barrier is not None:
            self._barrier(n, state)
            common = word.barrier.combines
        if not word.needed:
            for place in word.defs:
                state.places.pop(place, None)
                state.forget(place)
        if not word.needed or not word.defs:
            return
        values = word.results(self.setting, read)
        limits = word.limits(self.setting, read, lambda at: state.limits.get(at, NO_LIMITS))
        for place, value in zip(word.defs, values, strict=True):
            if common:
                value = Spread(value.low, value.high, True)
            if word.view.guard is not None:
                same = value.same and self._read(state, place).same and truth.uniform(state.may)
                value = select(truth, value, self._read(state, place), same)
            if not self.together and value.same:
                value = Spread(value.low, value.high, False)
            if self.cases is not None and self.cases.n == n:
                value = self._case(state, value, self.cases)
            state.write(place, value, NO_LIMITS if word.view.guard is not None else limits.get(place, NO_LIMITS))

    def _case(self, state: State, value: Spread, cases: Cases) -> Spread:
        """Return the values in each thread's case; threads that get another one are not here."""
        low, high = np.maximum(value.low, cases.low), np.minimum(value.high, cases.high)
        state.may = state.may & (low <= high)
        return Spread(np.where(state.may, low, value.low), np.where(state.may, high, value.high), False)

    def _access(self, n: int, word: Word, state: State, truth: Spread) -> bool:
        """Access shared memory, and return whether all threads get the same."""
        memory = word.view.memory
        assert memory is not None
        if memory.space != Space.SHARED:
            return False
        address = self._address(n, word.view, state)
        runs = state.may & (truth.high == 1)
        if not runs.any():
            return False
        at = merged(address.low[runs], address.high[runs])
        self.reach[n] = _union(self.reach.get(n, []), at)
        touched = self.memory.bytes(at, memory.size)
        if memory.access != Access.STORE and self.memory.reads_stale(state, address, memory.size, runs):
            self.stale[n] = self.memory.example
        if memory.access != Access.LOAD:
            self.stored[n] = self.stored.get(n, False) | touched
            self.memory.store(state, address, memory.size, state.may & (truth.low == 1), touched)
            return False
        if not self.together or word.view.guard is not None or n in self.assumed.unequal or not word.needed:
            return False
        if not address.uniform(state.may):
            return False
        self.common[n] = self.common.get(n, False) | touched
        return True

    def _address(self, n: int, view: View, state: State) -> Spread:
        """Return the addresses of an access."""
        memory = view.memory
        assert memory is not None
        terms = [] if memory.base is None else [(self._read(state, memory.base.index), 1)]
        return total(memory.offset, terms, self.setting.threads, all(t.same for t, _ in terms))

    # -- ends of blocks

    def _end(self, n: int, word: Word, state: State) -> bool:
        """End the threads in which the guard holds, and return whether any go on."""
        truth, limits = self._truth(word.view, state)
        ending = state.may & (truth.high == 1)
        block_as_one = self.together and truth.uniform(state.may)
        if ending.any() and not (block_as_one or (self.together and word.view.guard is None)):
            self.ends[n] = self.ends.get(n, False) | ending
        state.may = state.may & (truth.low == 0)
        self._limit(state, limits[1])
        return bool(state.may.any())

    def _limit(self, state: State, limits: tuple[Limit, ...]) -> None:
        for x in limits:
            if not x.now:
                continue
            value, may = limited(self._read(state, x.register), x.other, x.order, x.by_sign)
            state.may = state.may & may
            state.places[x.register] = value

    def _branch(self, word: Word, state: State) -> list[tuple[int, State]]:
        ways = self.graph.after[self.block]
        if word.view.guard is None:
            self.edges[self.block].add(ways[0])
            return [(ways[0], state)]
        truth, limits = self._truth(word.view, state)
        if not truth.uniform(state.may):
            self.parted[self.block] = self.parted.get(self.block, False) or self._warps_part(truth, state.may)
        undecided = bool((state.may & ~truth.exact).any())
        if undecided:
            self._open(ways, state, limits)
        found = []
        for to, goes, side in ((ways[0], truth.low == 0, limits[1]), (ways[-1], truth.high == 1, limits[0])):
            new = state.copy()
            new.may = state.may & goes
            if not new.may.any():
                continue
            self._limit(new, side)
            if new.may.any():
                self.edges[self.block].add(to)
                self.taken.setdefault((self.block, self.rounds), set()).add(to)
                found.append((to, new))
        return found

    def _open(self, ways: list[int], state: State, limits: Limits) -> None:
        """Note the loops that threads leave here, or not. One that seems to have no last round is followed up to a
        fixed point instead."""
        for head in self.graph.chains[self.block]:
            inside = [self.graph.loops[head] >> to & 1 for to in (ways[0], ways[-1])]
            if sum(inside) == 1 and head not in self.assumed.fixed:
                self.open.add(head)
                if not any(self._ending(head, state, x) for x in limits[1 if inside[0] else 0]):
                    self.assumed.fixed.add(head)
                    raise Again

    def _ending(self, head: int, state: State, x: Limit) -> bool:
        """Return whether threads may stay in a loop for few rounds only, as far as a comparison says: of a register
        that the loop changes with bounds that are known."""
        if not self._changed(head) >> x.register & 1:
            return False
        value = self._read(state, x.register)
        later = self.rounds[self.graph.chains[self.block].index(head)] > 0
        if later and not value.low.any() and bool((value.high == LAST).all()):
            return False  # the round before has not bounded it
        if x.order in (Order.EQUAL, Order.UNEQUAL):
            return bool((value.high - value.low).max() < NEAR)
        bound, _ = limited(self.setting.different, x.other, x.order, x.by_sign)
        if x.by_sign:
            (low, high), less = signed(x.other), x.order in (Order.LESS, Order.LESS_EQUAL)
            return bool((high < HALF - 1).all() if less else (low > -HALF).all())
        return bool((bound.high - bound.low < LAST - 1).all())

    def _changed(self, head: int) -> int:
        """Return the places that a loop may write, as a mask."""
        if head not in self._written:
            mask = 0
            for b in bits(self.graph.loops[head]):
                for n in self.graph.words[b]:
                    word = self.words[n]
                    for at in word.defs if word is not None else ():
                        mask |= 1 << at
            self._written[head] = mask
        return self._written[head]

    def _warps_part(self, truth: Spread, may: Mask) -> bool:
        if not truth.same and bool((may & ~truth.exact).any()):
            return True
        for first in range(0, self.setting.threads, LANES):
            lanes = slice(first, first + LANES)
            if len(np.unique(truth.low[lanes][may[lanes]])) > 1:
                return True
        return False


def _union(one: list[Range], other: list[Range]) -> list[Range]:
    if not one:
        return other
    low = np.array([r[0] for r in one + other], np.int64)
    high = np.array([r[1] for r in one + other], np.int64)
    return merged(low, high)
