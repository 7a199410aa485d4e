"""Access ranges are those of the paper's examples, and of all ways through small graphs and programs."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.analysis.sharing.access_ranges import access_ranges, around
from tests.support.programs.builder import program

A, B, C = 1, 2, 4
ENTRY, EXIT = 0, 7
FIGURE_7 = [[1], [2], [3, 4], [2], [5], [6], [7], []]
"""Entry, blocks 1 to 6, Exit."""
BY = [0, A, B, 0, A, C, C, 0]


@pytest.mark.parametrize(
    ("units", "into", "out_of"),
    [
        (A, {2, 3, 4}, {1, 2, 3}), (B, {2, 3}, {2, 3}), (C, {6}, {5}), (A | B, {2, 3, 4}, {1, 2, 3}),
        (B | C, {2, 3, 4, 5, 6}, {2, 3, 4, 5}), (C | A, {2, 3, 4, 5, 6}, {1, 2, 3, 4, 5}),
    ],
)  # fmt: skip
def test_table_3(units: int, into: set[int], out_of: set[int]) -> None:
    found = around(FIGURE_7, BY)
    nodes = range(len(BY))
    before, by, after = found.before, found.by, found.after
    assert {n for n in nodes if before[n] & units and (by[n] | after[n]) & units} == into
    assert {n for n in nodes if (before[n] | by[n]) & units and after[n] & units} == out_of


@pytest.mark.parametrize("seed", range(60))
def test_all_ways_through_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(2, 9)
    succs = [sorted(rng.sample(range(count), rng.randrange(0, min(3, count)))) for _ in range(count)]
    by = [rng.randrange(8) if rng.random() < 0.5 else 0 for _ in range(count)]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((n, t) for n in range(count) for t in succs[n])
    entry, behind = rng.randrange(8), [rng.randrange(8) if rng.random() < 0.2 else 0 for _ in range(count)]
    found = around(succs, by, entry, behind)
    reaches = {n: set().union(*({t} | nx.descendants(graph, t) for t in succs[n])) for n in range(count)}
    for n in range(count):
        before = entry if n == 0 or n in reaches[0] else 0
        after = behind[n]
        for other in range(count):
            if n in reaches[other]:
                before |= by[other]
            if other in reaches[n]:
                after |= by[other] | behind[other]
        assert (found.before[n], found.after[n]) == (before, after)


CALLS = """.kernel k
.block 32
    LDS R1, [RZ]
    CALL reads
    STS [RZ+32], R1
    @P0 EXIT
    CALL reads
    EXIT
.end
.func reads
    LDS R2, [RZ+16]
    @P1 RET
    NOP
    RET
.end
"""


def test_calls_access_what_the_called_function_does() -> None:
    graph = build_callgraph(program(CALLS), "k")
    found = access_ranges(graph, {"k": {0: A, 2: C}, "reads": {0: B}})
    assert found["k"].before[:6] == [0, A, A | B, A | B | C, A | B | C, A | B | C]
    assert found["k"].by[:6] == [A, B, C, 0, B, 0]
    assert found["k"].after[:6] == [B | C, B | C, B, B, 0, 0]
    # behind the first call C is accessed, and B again; before the second one all were
    assert found["reads"].before[0] == A | B | C
    assert found["reads"].after[-1] == B | C
    assert found["reads"].after[0] == B | C
