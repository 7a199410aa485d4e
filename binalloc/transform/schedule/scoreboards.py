"""Scoreboards: which of the six guards each variable-latency result and late source read, and who waits for which.

Needs the instruction graph and the timings. Leaves per node a write scoreboard, a read scoreboard (7 = none) and a
wait mask such that on every path of a warp no instruction reads or overwrites a place whose guarded write is pending,
or overwrites one whose late read is pending.

Method. Every guarded instruction has two *tokens*: W (its results) and R (its late sources). A forward bit-vector
problem says which tokens may be pending where; it runs twice: first with a scoreboard per token, which tells each
token's consumers, so that tokens nobody waits for get no scoreboard, and an R token only where some overwriter does not
wait for the W token anyway; then with the six of the machine. Calls are precise: a point knows the tokens pending since
its function was entered and, apart from them, which of the tokens pending at entry would still be pending, so that
what a caller leaves pending does not flow to other callers.

A scoreboard counts, so a wait is for *all* tokens on it. Tokens first waited for by the same instruction share one;
else a free one is taken; else the one where sharing delays least (`_sharing_cost`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.isa.kinds import Flow
from binalloc.isa.timing import NO_SCOREBOARD, SCOREBOARDS
from binalloc.transform.schedule.graph import InstrGraph
from binalloc.transform.schedule.timing import Timing

FREE_COST = 1


@dataclass
class Scoreboards:
    """The answer, one entry per node; NO_SCOREBOARD for none."""

    wbar: list[int]
    rbar: list[int]
    wait: list[int]


class _Tokens:
    """Token 2k is W and token 2k+1 is R of the k-th guarded instruction; `conflict[n]`: tokens node n must not meet."""

    def __init__(self, graph: InstrGraph, timings: list[Timing]) -> None:
        self.issuer: list[int] = [n for n, t in enumerate(timings) if t.guarded]
        self.all = (1 << 2 * len(self.issuer)) - 1
        self.w_mask = self.all // 3  # 0b0101...
        self.gen = [0] * len(timings)
        writers: dict[int, int] = {}
        readers: dict[int, int] = {}
        for k, node in enumerate(self.issuer):
            t = timings[node]
            for place in bits(t.writes):
                writers[place] = writers.get(place, 0) | 1 << 2 * k
            for place in bits(t.late & ~t.writes):
                readers[place] = readers.get(place, 0) | 2 << 2 * k
            self.gen[node] = (1 << 2 * k if t.writes else 0) | (2 << 2 * k if t.late & ~t.writes else 0)
        self.conflict = [0] * len(timings)
        for node, t in enumerate(timings):
            mask = 0
            for place in bits(t.reads | t.writes):
                mask |= writers.get(place, 0)
            for place in bits(t.writes):
                mask |= readers.get(place, 0)
            self.conflict[node] = self.all if node in graph.drains else mask

    def with_reads(self, done: int) -> int:
        """A result written implies its instruction's sources read."""
        return done | (done & self.w_mask) << 1


def _solve(graph: InstrGraph, tokens: _Tokens, settle: Callable[[int, int], int]) -> list[int]:
    """Tokens that may be pending before each node. `settle(node, pending)` gives the tokens the node waits away.

    since: tokens issued since the function was entered; kept: tokens that, pending at entry, would still be. Both only
    grow, so the iteration ends even though `settle` may answer more for more.
    """
    n = len(graph)
    since, kept = [0] * n, [0] * n
    at_entry = [0] * len(graph.functions)
    made = [0] * len(graph.functions)
    passed = [-1] * len(graph.functions)  # -1: no return reached yet
    dirty = bytearray(n)
    pending = [0] * n
    for number, fn in enumerate(graph.functions):
        if fn.instrs:
            kept[graph.base[number]] = tokens.all
            dirty[graph.base[number]] = 1

    def flow(node: int, s: int, k: int) -> None:
        for after in graph.succ[node]:
            if not reached[after] or s & ~since[after] or k & ~kept[after]:
                since[after] |= s
                kept[after] |= k
                reached[after] = dirty[after] = 1

    reached = bytearray(dirty)
    node = dirty.find(1)
    while node >= 0:
        dirty[node] = 0
        f = graph.owner[node]
        pending[node] = since[node] | (kept[node] & at_entry[f])
        settled = settle(node, pending[node])
        s, k = (since[node] & ~settled) | tokens.gen[node], kept[node] & ~settled
        callee = graph.callee[node]
        if callee >= 0:
            arriving = s | (k & at_entry[f])
            if arriving & ~at_entry[callee]:
                at_entry[callee] |= arriving
                first = graph.base[callee]
                size = len(graph.functions[callee].instrs)
                dirty[first : first + size] = reached[first : first + size]
            if passed[callee] >= 0:
                flow(node, (s & passed[callee]) | made[callee], k & passed[callee])
        if graph.passes(node):
            flow(node, s, k)
        if graph.views[node].control == Flow.RETURN and (passed[f] < 0 or s & ~made[f] or k & ~passed[f]):
            made[f] |= s
            passed[f] = max(passed[f], 0) | k
            for site in graph.sites[f]:
                dirty[site] = reached[site]
        following = dirty.find(1, node + 1)
        node = following if following >= 0 else dirty.find(1)
    return pending


def assign_scoreboards(graph: InstrGraph, timings: list[Timing]) -> Scoreboards:
    """Scoreboards and wait masks for every node; see the module."""
    n = len(graph)
    tokens = _Tokens(graph, timings)
    needed = [0] * n

    def alone(node: int, pending: int) -> int:
        needed[node] = pending & tokens.conflict[node]
        return tokens.with_reads(needed[node])

    pending = _solve(graph, tokens, alone)
    wanted = 0
    for need in needed:
        wanted |= need & ~((need & tokens.w_mask) << 1)
    board = _choose(graph, tokens, pending, needed, wanted)
    tokens.gen = [g & wanted for g in tokens.gen]
    members = [0] * SCOREBOARDS
    for token, b in board.items():
        members[b] |= 1 << token
    closures = [tokens.with_reads(m) for m in members]
    wait = [0] * n

    def shared(node: int, pending: int) -> int:
        need = pending & tokens.conflict[node]
        settled = 0
        for b in range(SCOREBOARDS):
            if need & members[b]:
                wait[node] |= 1 << b
            if wait[node] >> b & 1:
                settled |= closures[b]
        return settled

    _solve(graph, tokens, shared)
    wbar, rbar = [NO_SCOREBOARD] * n, [NO_SCOREBOARD] * n
    for token, b in board.items():
        (rbar if token & 1 else wbar)[tokens.issuer[token >> 1]] = b
    return Scoreboards(wbar, rbar, wait)


def _choose(graph: InstrGraph, tokens: _Tokens, pending: list[int], needed: list[int], wanted: int) -> dict[int, int]:
    """A scoreboard for each wanted token, in program order; `live` follows what is pending inside a block."""
    first = _first_consumers(tokens, needed, wanted)
    board: dict[int, int] = {}
    members = [0] * SCOREBOARDS
    live = 0
    for node in range(len(graph)):
        if node in graph.leaders or node == 0 or node not in graph.succ[node - 1] or graph.callee[node - 1] >= 0:
            live = pending[node] & wanted
        need = live & tokens.conflict[node]
        for b in range(SCOREBOARDS):
            if need & members[b]:
                live &= ~tokens.with_reads(members[b])
        live &= ~tokens.with_reads(need)
        for token in bits(tokens.gen[node] & wanted):
            costs = [_sharing_cost(token, live & members[b], first) for b in range(SCOREBOARDS)]
            best = min(range(SCOREBOARDS), key=lambda b: (costs[b], b))
            board[token] = best
            members[best] |= 1 << token
            live |= 1 << token
    return board


def _first_consumers(tokens: _Tokens, needed: list[int], wanted: int) -> dict[int, int]:
    """Node that first waits for each wanted token in program order after its issue; behind the end where only
    earlier nodes (a loop's head, a callee) do."""
    first: dict[int, int] = {}
    n = len(needed)
    for node, need in enumerate(needed):
        for token in bits(need & wanted):
            at = node if node > tokens.issuer[token >> 1] else node + n
            first[token] = min(first.get(token, at), at)
    return first


def _sharing_cost(token: int, on_board: int, first: dict[int, int]) -> int:
    """How much waiting `token` would add on a scoreboard that holds the pending tokens `on_board`.

    Nothing where the same instruction waits for both; little where the token's consumer waits for an older result
    (results tend to return in order) and less the nearer that one's consumer is; much where an earlier consumer would
    have to wait for this younger result, most where a mere source read would wait for memory.
    """
    if not on_board:
        return FREE_COST
    cost = 0
    for other in bits(on_board):
        if first[other] == first[token]:
            continue
        younger_delays = first[other] < first[token]
        slow = not (token if younger_delays else other) & 1
        quick_waits = bool((other if younger_delays else token) & 1)
        cost += (8 if younger_delays else 2) * (4 if slow and quick_waits else 1)
    return cost
