"""Slot colouring against graphs whose chromatic number is known: DIMACS register-allocation graphs."""

from __future__ import annotations

import pytest

from binalloc.bitset import bits
from binalloc.models.allocation.exact_colouring import ColourProof, colour_exactly
from binalloc.models.allocation.stack.slot_colouring import colour_slots
from tests.benchmarks.transform.dimacs import read_graph
from tests.support.paths import DATA

DATA = DATA / "dimacs_register_graphs.txt"


def graphs() -> dict[str, tuple[list[int], int, int]]:
    """Name -> (adjacency, edges, chromatic number)."""
    found: dict[str, tuple[list[int], int, int]] = {}
    lines = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
    while lines:
        name, nodes, edges, chromatic = lines[0].split()
        adjacency = [int(line, 16) for line in lines[1 : 1 + int(nodes)]]
        for v, mask in enumerate(list(adjacency)):
            for n in bits(mask):
                adjacency[n] |= 1 << v
        found[name] = (adjacency, int(edges), int(chromatic))
        lines = lines[1 + int(nodes) :]
    return found


@pytest.mark.parametrize("name", ["mulsol.i.1", "mulsol.i.5", "zeroin.i.2"])
def test_highest_degree_first_colours_dimacs_register_graphs_optimally(name: str) -> None:
    adjacency, edges, chromatic = graphs()[name]
    assert sum(mask.bit_count() for mask in adjacency) == 2 * edges
    everything = (1 << len(adjacency)) - 1
    slots = colour_slots(adjacency, everything, chromatic)
    assert len(slots) == len(adjacency)
    assert all(0 <= slot < chromatic for slot in slots.values())
    assert all(slots[v] != slots[n] for v, mask in enumerate(adjacency) for n in bits(mask))
    assert -1 in colour_slots(adjacency, everything, chromatic - 1).values()


def test_a_roomier_limit_uses_no_more_slots() -> None:
    adjacency, _, chromatic = graphs()["mulsol.i.1"]
    slots = colour_slots(adjacency, (1 << len(adjacency)) - 1, chromatic + 30)
    assert max(slots.values()) + 1 == chromatic


@pytest.mark.parametrize("name", sorted(graphs()))
def test_exact_colouring_proves_dimacs_register_graphs_by_cliques(name: str) -> None:
    adjacency, _, chromatic = graphs()[name]
    found = colour_exactly(adjacency)
    assert (found.count, len(found.clique), found.proof) == (chromatic, chromatic, ColourProof.CLIQUE)


def test_the_benchmark_reads_the_format() -> None:
    text = "c a path\np edge 3 2\ne 1 2\ne 3 2\n"
    assert read_graph(text) == [0b010, 0b101, 0b010]
    with pytest.raises(ValueError, match="line 2: no such edge"):
        read_graph("p edge 3 1\ne 1 4\n")
