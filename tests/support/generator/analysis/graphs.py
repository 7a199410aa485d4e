"""Functions of random blocks and branches for the analyses alone: loops of any shape, unreachable code, reads of what
nobody wrote, no promise to end."""

from __future__ import annotations

import random

from tests.support.programs.lines import (
    add,
    bra,
    call,
    const,
    dadd,
    function,
    ldl,
    leave,
    load,
    mov,
    ret,
    setp,
    stl,
    store,
)


def random_function(
    rng: random.Random,
    name: str,
    blocks: int,
    registers: int,
    callees: tuple[str, ...] = (),
    kind: str = "kernel",
    guards: bool = True,
) -> str:
    """A function of `blocks` blocks with random instructions and branches (forwards and back) over few registers;
    without `guards` only branches and returns are guarded."""
    lines: list[str] = []
    for b in range(blocks):
        lines.append(f"b{b}:")
        lines.extend(_random_instr(rng, registers, callees, guards) for _ in range(rng.randrange(5)))
        choice = rng.random()
        target = f"b{rng.randrange(blocks)}"
        g = rng.choice(["P0", "!P0", "P1", "!P1"])
        if choice < 0.6:
            lines.append(bra(target, g))
        elif choice < 0.7:
            lines.append(bra(target))
        elif choice < 0.8:
            lines.append(ret(g) if kind != "kernel" else leave(g))
    lines.append(ret() if kind != "kernel" else leave())
    return function(name, *lines, kind=kind)


def _random_instr(rng: random.Random, registers: int, callees: tuple[str, ...], guards: bool) -> str:
    g = rng.choice([None, None, "P0", "!P0", "P1", "!P1"]) if guards else None
    if callees and rng.random() < 0.2:
        return call(rng.choice(callees), g)
    d, a, b = (rng.randrange(registers) for _ in range(3))
    kind = rng.randrange(9)
    if kind == 0:
        return mov(d, a, g)
    if kind == 1:
        return const(d, a, g)
    if kind == 2:
        return setp(rng.randrange(2), a, b, g)
    if kind == 3:
        return dadd(d & ~1, a & ~1, b & ~1, g)
    if kind == 4:
        return store(a & ~1, b & ~3, 6, g) if rng.random() < 0.5 else load(d & ~1, a & ~1, 5, g)
    if kind == 5:
        return stl(4 * (a % 4), b, g=g) if rng.random() < 0.7 else stl(8 * (a % 2), b & ~1, 5, g=g)
    if kind == 6:
        return ldl(d, 4 * (a % 4), g=g) if rng.random() < 0.7 else ldl(d & ~1, 8 * (a % 2), 5, g=g)
    return add(d, a, b, g)
