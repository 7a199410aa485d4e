"""Programs with holes: pure words that defined something are gone, so that values are read which nobody wrote, or which
were written on some ways alone."""

from __future__ import annotations

import random

from binalloc.isa.instruction import Instr, Module, make
from binalloc.isa.loom.view import view


def leave_out(module: Module, rng: random.Random, share: float) -> None:
    """Put a NOP in place of that share of the pure words that define something."""
    for fn in module.functions:
        fn.instrs[:] = [make("NOP") if _defines(i) and rng.random() < share else i for i in fn.instrs]


def _defines(instr: Instr) -> bool:
    v = view(instr)
    return v.pure and bool(v.defs)
