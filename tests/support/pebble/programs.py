"""Pebble programs: a kernel with a loop, divergence, guards, pairs, calls and more values than small budgets hold."""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module
from tests.support.pebble.table import REGISTERS, make

VALUES = range(4, 16)
"""Registers loaded at the start and stored at the end."""
LANE, COUNT, SUM, CHOSEN, PAIR = 1, 20, 21, 22, 24
P, NOT_P = (1, False), (1, True)


def program() -> Module:
    """Kernel `k`, which calls `f` in a loop and once under a guard."""
    k = _kernel()
    f = [
        make("add", to=26, one=SUM, two=COUNT),
        make("mul", to=27, one=26, two=4),
        make("more", to=28, one=26, value=3),
        make("mul", to=29, one=27, two=28),
        make("add", to=SUM, one=29, two=26),
        make("back"),
    ]
    kernel = Function("k", k, FunctionInfo(registers=REGISTERS, block=(32, 1, 1)))
    callee = Function("f", f, FunctionInfo(kind="function", registers=30))
    module = Module([kernel, callee], isa="pebble", path="k.pebble")
    module.layout()
    for index, instr in enumerate(k):
        if instr.name == "call":
            k[index] = instr.replace(value=callee.address - kernel.address - index - 1)
    return module


def _kernel() -> list[Instr]:
    out = [make("ask", to=LANE)]
    out += [make("get", to=v, one=LANE, value=4 * v) for v in VALUES]
    out += [make("lit", to=COUNT, value=5), make("put", to=SUM)]
    loop = len(out)
    out += [make("call"), make("add", to=SUM, one=SUM, two=9), make("more", to=COUNT, one=COUNT, value=-1)]
    out += [make("less", mark=1, one=0, two=COUNT)]
    out += [make("jump", (0, False), value=loop - len(out) - 1)]
    out += [make("less", mark=2, one=4, two=5), make("lit", to=CHOSEN, value=7), make("lit", P, to=CHOSEN, value=9)]
    out += [make("jump", NOT_P, value=2, join=2), make("mul", to=SUM, one=SUM, two=6), make("add", to=7, one=7, two=8)]
    out += [make("call", P), make("wide", to=PAIR, one=4, two=6)]
    stored = [*VALUES, SUM, CHOSEN, PAIR, PAIR + 1]
    out += [make("give", one=LANE, two=v, value=4096 + 4 * n) for n, v in enumerate(stored)]
    return [*out, make("end")]
