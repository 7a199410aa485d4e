"""This module finds the registers and predicates that the original still reads at each word, and those to be followed.

Inserted words may not write predicates that are still read.

Needs a function's code; leaves it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.interface.view import Ref, View, successors
from binalloc.isa.kinds import Flow, Space
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
            writes |= _mask(view.defs)
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


@dataclass(frozen=True)
class Needed:
    """The needed places decide where threads go, and where they access shared memory. before: by word, as masks.
    written: by word, whether it writes one that is needed behind it."""

    before: list[int]
    written: list[bool]


def needed(code: FunctionCode) -> Needed:
    """Return what has to be followed of threads' values. Nothing is known of what calls write."""
    found = Needed([0] * (len(code) + 1), [False] * len(code))
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(code))):
            view, after = code.views[n], _behind(code, n, found.before)
            found.written[n] = bool(after & _mask(view.defs))
            out = after & ~_mask(view.defs) if view.guard is None else after
            if found.written[n]:
                out |= _read(view)
            elif view.control in (Flow.BRANCH, Flow.EXIT):
                out |= _guard(view)
            if view.memory is not None and view.memory.space == Space.SHARED:
                out |= _guard(view) | (_mask([view.memory.base]) if view.memory.base is not None else 0)
            if out != found.before[n]:
                found.before[n], changed = out, True
    return found


def _behind(code: FunctionCode, n: int, before: list[int]) -> int:
    view = code.views[n]
    falls, jumps = successors(view.control, view.guard is not None)
    out = before[n + 1] if falls else 0
    if jumps and view.control == Flow.BRANCH:
        target = code.fn.target(n)
        out |= before[target] if 0 <= target <= len(code) else EVERY
    return out


def _before(code: FunctionCode, n: int, live: list[int], functions: Called) -> int:
    view = code.views[n]
    if view.control in (Flow.CALL_INDIRECT, Flow.RETURN):
        return EVERY
    if view.control == Flow.CALL:
        return live[n + 1] | functions.reads | _read(view)
    out = _behind(code, n, live)
    if view.guard is None:
        out &= ~_mask(view.defs)
    return out | _read(view)


def _read(view: View) -> int:
    """Return the places that a word reads, as a mask."""
    return _mask(view.uses) | _guard(view)


def _guard(view: View) -> int:
    return 0 if view.guard is None or view.guard[0] == TRUE else 1 << PRED_BASE + view.guard[0]


def _mask(refs: Iterable[Ref]) -> int:
    mask = 0
    for ref in refs:
        for at in ref_bits(ref):
            mask |= 1 << at
    return mask


def live_at(graph: Graph, label: list[int], live: list[int]) -> list[int]:
    """Return the places that are needed from each node of a graph on. label: the word that each node stands for, or a
    negative number. live: of each word."""
    found = [0] * len(label)
    for chain in graph.words:
        for k, n in enumerate(chain):
            m = next((label[x] for x in chain[k:] if label[x] >= 0), -1)
            found[n] = live[m] if m >= 0 else -1
    return found
