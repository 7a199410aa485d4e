"""This module says which registers and predicates the original still needs at each word: inserted words may not write
such predicates, and threads' values of the others need not be followed.

Needs a function's code; leaves it unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.reading.code import FunctionCode, ref_bits

EVERY = (1 << LOCAL_BASE) - 1


@dataclass(frozen=True)
class Called:
    """The functions that a kernel calls may read and write these places, as masks."""

    reads: int
    writes: int


def called(functions: list[Function]) -> Called:
    """Return what functions read and write."""
    reads = writes = 0
    for fn in functions:
        for instr in fn.instrs:
            view = set_of(instr).view(instr)
            reads |= _read(view)
            for ref in view.defs:
                for at in ref_bits(ref):
                    writes |= 1 << at
    return Called(reads, writes)


def living(code: FunctionCode, functions: Called) -> list[int]:
    """Return, for each word, the places that code from there on, and functions that it calls, may read before it writes
    them."""
    live = [0] * (len(code) + 1)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(code))):
            out = _before(code, n, live, functions)
            if out != live[n]:
                live[n], changed = out, True
    return live


def _before(code: FunctionCode, n: int, live: list[int], functions: Called) -> int:
    view = code.views[n]
    if view.control in (Flow.CALL_INDIRECT, Flow.RETURN):
        return EVERY
    if view.control == Flow.CALL:
        return live[n + 1] | functions.reads | _read(view)
    falls, jumps = successors(view.control, view.guard is not None)
    out = live[n + 1] if falls else 0
    if jumps and view.control == Flow.BRANCH:
        target = code.fn.target(n)
        out |= live[target] if 0 <= target <= len(code) else EVERY
    if view.guard is None:
        for ref in view.defs:
            for at in ref_bits(ref):
                out &= ~(1 << at)
    return out | _read(view)


def _read(view: View) -> int:
    """Return the places that a word reads, as a mask."""
    mask = 0
    for ref in view.uses:
        for at in ref_bits(ref):
            mask |= 1 << at
    if view.guard is not None and view.guard[0] != TRUE:
        mask |= 1 << (PRED_BASE + view.guard[0])
    return mask


def live_at(graph: Graph, label: list[int], live: list[int]) -> list[int]:
    """Return the places that are read from each node of a graph on. label: the word that each node stands for, or a
    negative number. live: of each word."""
    found = [0] * len(label)
    for chain in graph.words:
        for k, n in enumerate(chain):
            m = next((label[x] for x in chain[k:] if label[x] >= 0), -1)
            found[n] = live[m] if m >= 0 else -1
    return found
