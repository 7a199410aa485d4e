"""This module assigns one of the six scoreboards to each variable-latency result and late source read, and sets the
waits.

It needs the instruction graph and the timings. It leaves per node a write scoreboard, a read scoreboard (7 = none) and
a wait mask. With these, no instruction on any path of a warp reads or overwrites a place whose guarded write is
pending, or overwrites one whose late read is pending.

Method. Every guarded instruction has two *tokens*: W (its results) and R (its late sources). See `tokens` for how sets
of them are kept. A forward bit-vector problem computes the tokens that may be pending at each node. It runs twice. The
first run has a scoreboard per token and finds each token's consumers. A token without a consumer gets no scoreboard. An
R token gets one only if some overwriter does not wait for the W token in any case. The second run has the six
scoreboards of the machine. Calls are precise: for each node, the tokens pending since its function was entered are kept
apart from those pending at entry that would still be. So a token that one caller leaves pending does not flow to other
callers.

A scoreboard counts, so a wait is for *all* tokens on it. Tokens first waited for by the same instruction share one.
Else a free one is taken, else the one where sharing delays least (`_sharing_cost`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binalloc.isa.kinds import Flow
from binalloc.isa.timing import NO_SCOREBOARD, SCOREBOARDS
from binalloc.transform.schedule.graph import InstrGraph
from binalloc.transform.schedule.timing import Timing
from binalloc.transform.schedule.tokens import Tokens

FREE_COST = 1
"""cost of an empty scoreboard: more than sharing without delay (0), less than any sharing with delay (2 or more)"""


@dataclass
class Scoreboards:
    """The assignment of scoreboards has one entry per node; NO_SCOREBOARD stands for none."""

    wbar: list[int]  #: write scoreboards
    rbar: list[int]  #: read scoreboards
    wait: list[int]  #: masks of the scoreboards waited for


def _solve(graph: InstrGraph, tokens: Tokens, settle: Callable[[int, int], int]) -> list[int]:
    """Return the tokens that may be pending before each node. settle: called with a node and its pending tokens,
    returns the tokens it waits for.

    since: tokens issued since the function was entered. kept: tokens that, pending at entry, would still be. Both only
    grow, so the iteration ends even though `settle` may return more for more.
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
    """Return scoreboards and wait masks for every node; see the module."""
    n = len(graph)
    tokens = Tokens(graph, timings)
    needed = [0] * n

    def alone(node: int, pending: int) -> int:
        needed[node] = pending & tokens.conflict[node]
        return tokens.with_reads(needed[node])

    pending = _solve(graph, tokens, alone)
    first = _first_consumers(tokens, needed)
    board = _choose(graph, tokens, pending, first)
    for node, k in zip(tokens.issuer, range(len(tokens.issuer)), strict=True):
        tokens.gen[node] = sum(bit for kind, bit in tokens.issued(k) if board[2 * k + kind] >= 0)
    members = tokens.sets(board, SCOREBOARDS)
    closures = [[tokens.with_reads(m) for m in here] for here in members]
    wait = [0] * n

    def shared(node: int, pending: int) -> int:
        need = pending & tokens.conflict[node]
        if not need | wait[node]:
            return 0
        here, settled = tokens.segment[node], 0
        for b in range(SCOREBOARDS):
            if need & members[here][b]:
                wait[node] |= 1 << b
            if wait[node] >> b & 1:
                settled |= closures[here][b]
        return settled

    _solve(graph, tokens, shared)
    wbar, rbar = [NO_SCOREBOARD] * n, [NO_SCOREBOARD] * n
    for token, b in enumerate(board):
        if b >= 0:
            (rbar if token & 1 else wbar)[tokens.issuer[token >> 1]] = b
    return Scoreboards(wbar, rbar, wait)


def _first_consumers(tokens: Tokens, needed: list[int]) -> list[int]:
    """Return, by token, the node that first waits for it in program order after its issue. Its number is raised by the
    number of nodes if only earlier nodes (a loop's head, a callee) wait; it is -1 if none does. A node waiting for a W
    token has the R token's wait, too."""
    first = [-1] * (2 * len(tokens.issuer))
    n = len(needed)
    wanted = bytearray(len(first))
    for node, need in enumerate(needed):
        if need:
            for token in tokens.identities(node, need & ~((need & tokens.w_mask) << 1)):
                wanted[token] = 1
    for node, need in enumerate(needed):
        if need:
            for token in tokens.identities(node, need):
                at = node if node > tokens.issuer[token >> 1] else node + n
                if wanted[token] and (first[token] < 0 or at < first[token]):
                    first[token] = at
    return first


def _choose(graph: InstrGraph, tokens: Tokens, pending: list[int], first: list[int]) -> list[int]:
    """Choose a scoreboard for each token in program order, -1 for tokens without a consumer. `live` follows the pending
    tokens inside a block, one by one: (identity, its bit)."""
    board = [-1] * len(first)
    live: list[tuple[int, int]] = []
    k = 0
    for node in range(len(graph)):
        if node in graph.leaders or node == 0 or node not in graph.succ[node - 1] or graph.callee[node - 1] >= 0:
            live = [t for t in tokens.numbered(node, pending[node]) if first[t[0]] >= 0]
        if live:
            live = _still_live(live, board, tokens.conflict[node])
        if k < len(tokens.issuer) and tokens.issuer[k] == node:
            for kind, bit in tokens.issued(k):
                token = 2 * k + kind
                if first[token] >= 0:
                    held: list[list[int]] = [[] for _ in range(SCOREBOARDS)]
                    for other, _ in live:
                        if board[other] >= 0:
                            held[board[other]].append(other)
                    costs = [_sharing_cost(token, on_board, first) for on_board in held]
                    board[token] = costs.index(min(costs))
                    if (token, bit) not in live:
                        live.append((token, bit))
            k += 1
    return board


def _still_live(live: list[tuple[int, int]], board: list[int], conflict: int) -> list[tuple[int, int]]:
    """Return the tokens pending behind a node that waits for the tokens `conflict`, and with each for all on its
    scoreboard."""
    settled = {board[token] for token, bit in live if bit & conflict and board[token] >= 0}
    waited = {token for token, bit in live if bit & conflict}
    if not waited:
        return live
    return [
        t
        for t in live
        if not (t[0] in waited or (t[0] & 1 and t[0] - 1 in waited))
        and board[t[0]] not in settled
        and not (t[0] & 1 and board[t[0] - 1] in settled)
    ]


def _sharing_cost(token: int, on_board: list[int], first: list[int]) -> int:
    """Return the waiting that `token` would add on a scoreboard with the pending tokens `on_board`.

    It is nothing where the same instruction waits for both. It is little where the token's consumer waits for an older
    result (results tend to return in order), and less the nearer that one's consumer is. It is much where an earlier
    consumer would have to wait for this younger result, and most where a mere source read would wait for memory.
    """
    if not on_board:
        return FREE_COST
    cost = 0
    for other in on_board:
        if first[other] == first[token]:
            continue
        younger_delays = first[other] < first[token]
        slow = not (token if younger_delays else other) & 1
        quick_waits = bool((other if younger_delays else token) & 1)
        cost += (8 if younger_delays else 2) * (4 if slow and quick_waits else 1)
    return cost
