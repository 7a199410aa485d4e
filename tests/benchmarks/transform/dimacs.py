"""Register interference graphs in DIMACS format, coloured with as few colours as there can be, with the proof.

Run: python -m tests.benchmarks.transform.dimacs FOLDER-or-FILE...

Prints per graph its size, colours, largest clique found, proof ("clique": of as many vertices as colours; "solver": one
colour less does not do) and CPU seconds. Exit code 1 where one is left without proof.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from binalloc import colour_exactly
from binalloc.bitset import bits
from binalloc.models.allocation.exact_colouring import ColourProof
from binalloc.report.table import table


def read_graph(text: str) -> list[int]:
    """Neighbours by vertex, as bits, of a graph in DIMACS' `edge` format; vertices count from 1 there."""
    adjacency: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0] == "c":
            continue
        if words[0] == "p" and len(words) == 4 and not adjacency:
            adjacency = [0] * int(words[2])
        elif words[0] == "e" and len(words) == 3:
            a, b = int(words[1]) - 1, int(words[2]) - 1
            if not (0 <= a < len(adjacency) and 0 <= b < len(adjacency) and a != b):
                raise ValueError(f"line {number}: no such edge: {line}")
            adjacency[a] |= 1 << b
            adjacency[b] |= 1 << a
        else:
            raise ValueError(f"line {number}: expected c, p edge N M, or e A B: {line}")
    return adjacency


def row(path: Path) -> list[object]:
    """One graph, coloured and checked."""
    adjacency = read_graph(path.read_text())
    start = time.process_time()
    found = colour_exactly(adjacency)
    seconds = time.process_time() - start
    assert all(found.colours[v] != found.colours[n] for v, mask in enumerate(adjacency) for n in bits(mask))
    assert all(adjacency[v] >> n & 1 for v in found.clique for n in found.clique if v != n)
    edges = sum(mask.bit_count() for mask in adjacency) // 2
    return [path.name, len(adjacency), edges, found.count, len(found.clique), found.proof, seconds]


def main(arguments: list[str]) -> int:
    files = [f for a in map(Path, arguments) for f in (sorted(a.glob("*.col")) if a.is_dir() else [a])]
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    rows = [row(file) for file in files]
    print(table(["graph", "vertices", "edges", "colours", "clique", "proof", "CPU s"], rows), end="")
    return int(any(r[5] == ColourProof.NONE for r in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
