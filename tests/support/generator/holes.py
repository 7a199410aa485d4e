"""Programs with holes: pure words that defined something are gone, so that values are read which nobody wrote, or which
were written on some ways alone."""

from __future__ import annotations

import random
from collections.abc import Iterable

from binalloc.isa.instruction import Function, Instr, Module, make
from binalloc.isa.interface.view import Ref
from binalloc.isa.kinds import Access, File, Space
from binalloc.isa.loom.view import view


def leave_out(module: Module, rng: random.Random, share: float) -> None:
    """Put a NOP in place of that share of the pure words that define something, but for those that say where a store to
    global memory goes: threads that write each other's words leave what their order makes of it."""
    for fn in module.functions:
        kept = _say_where(fn)
        left_out = {k for k, i in enumerate(fn.instrs) if _defines(i) and rng.random() < share} - kept
        fn.instrs[:] = [make("NOP") if k in left_out else i for k, i in enumerate(fn.instrs)]


def _say_where(fn: Function) -> set[int]:
    """The words that work out the addresses of stores to global memory, in the straight code in front of them."""
    found: set[int] = set()
    wanted: set[tuple[File, int]] = set()
    for k in reversed(range(len(fn.instrs))):
        v = view(fn.instrs[k])
        written = _units(v.defs)
        if written & wanted:
            found.add(k)
            wanted -= written if v.guard is None else set()
            wanted |= _units(v.uses)
        m = v.memory
        if m is not None and m.base is not None and m.access == Access.STORE and m.space == Space.GLOBAL:
            wanted |= _units((m.base,))
    return found


def _units(refs: Iterable[Ref]) -> set[tuple[File, int]]:
    return {(r.file, r.index + u) for r in refs for u in range(r.units)}


def _defines(instr: Instr) -> bool:
    v = view(instr)
    return v.pure and bool(v.defs)
