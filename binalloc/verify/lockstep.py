"""This module defines the parts of a lockstep of two functions: steps, the edges between them, and the branches
matched.

`product` builds it, `reconvergence` compares the stacks along it, `calls` follows values through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.verify.original import OriginalFunction
from binalloc.verify.reading.code import FunctionCode
from binalloc.verify.values.conditions import Cond

Position = tuple[int, int]
"""(word of the rewritten function, position in the original)."""


class LockstepEdge(NamedTuple):
    """An edge leads from a step of the lockstep to a node, the next step."""

    target: Position  #: position of the node
    passed: tuple[int, ...] = ()  #: original positions executed alone on the way
    condition: Cond | None = None  #: holds in the threads that take the edge

    def open(self, known: frozenset[Cond]) -> bool:
        """Return whether threads in which `known` holds can take the edge."""
        return self.condition is None or (self.condition[0], not self.condition[1]) not in known


@dataclass(slots=True)
class LockstepNode:
    """A node is a step of the lockstep."""

    #: "insert" (n alone), "skip" (added branch around a guarded call at m), "move" (both only move values), "match"
    #: (the same operation), "branch", "call", "end" (RET or EXIT, guarded or not)
    kind: str
    n: int  #: word of the rewritten function
    m: int  #: position in the original
    passed: tuple[int, ...] = ()  #: original positions executed alone before the step
    edges: list[LockstepEdge] = field(default_factory=list)  #: where the step may lead

    @property
    def matches(self) -> bool:
        """Return whether both words do the same operation, and neither is a branch, a call or an end."""
        return self.kind == "match"


@dataclass(slots=True)
class NodeBlock:
    """A block is nodes executed one after the other."""

    nodes: list[LockstepNode]  #: its nodes; the last one's edges leave the block


class Lockstep:
    """A lockstep is the graph of steps of a rewritten function `new` and its original `old`, by position.

    entry: edge to the first step. reconvergence: for every matched branch its points (new, old).
    """

    def __init__(self, old: OriginalFunction, new: FunctionCode) -> None:
        self.old, self.new = old, new
        self.nodes: dict[Position, LockstepNode] = {}
        self.entry: LockstepEdge | None = None
        self.reconvergence: list[tuple[int, int]] = []
