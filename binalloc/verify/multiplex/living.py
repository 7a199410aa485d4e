"""This module finds the registers and predicates that the original still reads at each word, and those to be followed.

Inserted words may not write predicates that are still read.

Needs a function's code; leaves it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, TRUE
from binalloc.isa.interface.view import Ref, View, successors
from binalloc.isa.kinds import CALLS, Flow, Space
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.reading.code import FunctionCode, ref_bits

EVERY = (1 << LOCAL_BASE) - 1


@dataclass(frozen=True)
class Effects:
    """The effects of a called function are what it does to places that its caller sees, as masks."""

    needs: int  #: it may read these before it writes them
    surely: int  #: it has written these when it returns


@dataclass(frozen=True)
class Called:
    """The functions that a kernel calls."""

    writes: int  #: places that some of them may write, as a mask
    at: Mapping[int, Effects]  #: by word with a call


def living(code: FunctionCode, functions: Called, label: Sequence[int]) -> list[int]:
    """Return, for each word, the places that code from there on, and functions that it calls, may read before it writes
    them. label: by word the original's."""
    live = [0] * (len(code) + 1)
    changed = True
    while changed:
        changed = False
        for n in reversed(range(len(code))):
            out = _before(code, n, live, functions.at.get(label[n]))
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
            found.written[n] = bool(after & mask_of(view.defs))
            out = after & ~mask_of(view.defs) if view.guard is None else after
            if found.written[n]:
                out |= read_by(view)
            elif view.control in (Flow.BRANCH, Flow.EXIT):
                out |= guard_of(view)
            if view.memory is not None and view.memory.space == Space.SHARED:
                out |= guard_of(view) | (mask_of([view.memory.base]) if view.memory.base is not None else 0)
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


def _before(code: FunctionCode, n: int, live: list[int], called: Effects | None) -> int:
    """Return what is needed in front of a word. called: what it does if it is a call; None where that is not known."""
    view = code.views[n]
    if view.control in (*CALLS, Flow.RETURN):
        if view.control != Flow.CALL or called is None:
            return EVERY
        written = called.surely if view.guard is None else 0
        return live[n + 1] & ~written | called.needs | read_by(view)
    out = _behind(code, n, live)
    if view.guard is None:
        out &= ~mask_of(view.defs)
    return out | read_by(view)


def read_by(view: View) -> int:
    """Return the places that a word reads, as a mask."""
    return mask_of(view.uses) | guard_of(view)


def guard_of(view: View) -> int:
    return 0 if view.guard is None or view.guard[0] == TRUE else 1 << PRED_BASE + view.guard[0]


def mask_of(refs: Iterable[Ref]) -> int:
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
