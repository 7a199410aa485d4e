"""What a lockstep of two functions consists of: steps, the edges between them, and the branches matched.

`product` builds it, `reconvergence` compares the stacks along it, `calls` follows values through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.verify.original import Original
from binalloc.verify.reading.code import Code
from binalloc.verify.values.conditions import Cond

Position = tuple[int, int]


class Edge(NamedTuple):
    """To a node. passed: original positions executed alone on the way; condition: holds in the threads that go here."""

    target: Position
    passed: tuple[int, ...] = ()
    condition: Cond | None = None

    def open(self, known: frozenset[Cond]) -> bool:
        """Can threads in which `known` holds go here?"""
        return self.condition is None or (self.condition[0], not self.condition[1]) not in known


@dataclass(slots=True)
class Node:
    """A step of the lockstep.

    kind: "insert" (n alone), "skip" (added branch around a guarded call at m), "move" (both only move values), "match"
    (the same operation), "branch", "call", "end" (RET or EXIT, guarded or not). passed: original positions executed
    alone before the step.
    """

    kind: str
    n: int
    m: int
    passed: tuple[int, ...] = ()
    edges: list[Edge] = field(default_factory=list)


@dataclass(slots=True)
class NodeBlock:
    """Nodes executed one after the other; the last one's edges leave the block."""

    nodes: list[Node]


class Lockstep:
    """Steps of a rewritten function `new` and its original `old`, by position.

    entry: to the first step. reconvergence: of every matched branch, its points (new, old).
    """

    def __init__(self, old: Original, new: Code) -> None:
        self.old, self.new = old, new
        self.nodes: dict[Position, Node] = {}
        self.entry: Edge | None = None
        self.reconvergence: list[tuple[int, int]] = []
