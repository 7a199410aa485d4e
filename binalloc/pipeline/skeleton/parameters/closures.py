"""This module computes closures along the edges of the graph of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from binalloc.analysis.webs import UnionFind
from binalloc.pipeline.skeleton.parameters.values import Node, ValueGraph

Edges = Mapping[Node, Sequence[Node]]


def spread(edges: Edges, start: Mapping[Node, int]) -> dict[Node, int]:
    """Propagate sets of bits along edges until nothing changes."""
    found = dict(start)
    work = list(start)
    while work:
        node = work.pop()
        bits = found[node]
        for target in edges.get(node, ()):
            before = found.get(target, 0)
            if bits & ~before:
                found[target] = before | bits
                work.append(target)
    return found


def reversed_edges(edges: Edges) -> dict[Node, list[Node]]:
    """Return the edges in the other direction."""
    out: dict[Node, list[Node]] = {}
    for source, targets in edges.items():
        for target in targets:
            out.setdefault(target, []).append(source)
    return out


def leading_to(edges: Edges, ends: Iterable[Node]) -> set[Node]:
    """Return all nodes from which edges lead to one of `ends`, these included."""
    return set(spread(reversed_edges(edges), dict.fromkeys(ends, 1)))


def classes(values: ValueGraph, edges: Edges) -> UnionFind:
    """Return the sets of nodes that edges join, whatever their direction."""
    found = UnionFind(values.count)
    for source, targets in edges.items():
        for target in targets:
            found.union(source, target)
    return found
