"""Small programs for the analysis tests, written without assembler: a label-resolving builder over `make`, and random
programs with branches, loops, guards, pairs, quads and calls."""

from __future__ import annotations

import random
from typing import Any

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, make

Line = tuple[str, Any] | Instr | str


def guard(text: str) -> tuple[int, bool]:
    """ "P0" or "!P0" as a guard."""
    return int(text[-1]), text.startswith("!")


def mov(d: int, s: int, g: str | None = None) -> Instr:
    """Copy register s to d."""
    return make("MOV", rd=d, rb=s, **_g(g))


def const(d: int, value: int = 1, g: str | None = None) -> Instr:
    """Register d := immediate."""
    return make("MOV", form=1, rd=d, imm=value, **_g(g))


def add(d: int, a: int, b: int, g: str | None = None) -> Instr:
    """Register d := a + b."""
    return make("IADD3", rd=d, ra=a, rb=b, **_g(g))


def setp(p: int, a: int, b: int, g: str | None = None) -> Instr:
    """Predicate p := a < b."""
    return make("ISETP", pd0=p, ra=a, rb=b, icmp=1, **_g(g))


def dadd(d: int, a: int, b: int, g: str | None = None) -> Instr:
    """Pair d := a + b."""
    return make("DADD", rd=d, ra=a, rb=b, **_g(g))


def store(a: int, v: int, width: int = 4, g: str | None = None) -> Instr:
    """Global store of v (width 4: one register, 5: pair, 6: quad) at the pair a."""
    return make("STG", ra=a, rb=v, width=width, **_g(g))


def load(d: int, a: int, width: int = 4, g: str | None = None) -> Instr:
    """Global load into d from the address in the pair a."""
    return make("LDG", rd=d, ra=a, width=width, **_g(g))


def stl(offset: int, v: int, width: int = 4, base: int = 255, g: str | None = None) -> Instr:
    """Local store of v at byte `offset`."""
    return make("STL", ra=base, moff=offset, rb=v, width=width, **_g(g))


def ldl(d: int, offset: int, width: int = 4, base: int = 255, g: str | None = None) -> Instr:
    """Local load into d from byte `offset`."""
    return make("LDL", rd=d, ra=base, moff=offset, width=width, **_g(g))


def bra(label: str, g: str | None = None) -> Line:
    """Branch to a label."""
    return ("BRA", (label, g))


def call(name: str, g: str | None = None) -> Line:
    """Call of a function by name."""
    return ("CALL", (name, g))


def ret(g: str | None = None) -> Instr:
    return make("RET", **_g(g))


def leave(g: str | None = None) -> Instr:
    return make("EXIT", **_g(g))


def _g(g: str | None) -> dict[str, Any]:
    return {"guard": guard(g)} if g else {}


def function(name: str, *lines: Line, kind: str = "kernel") -> Function:
    """A function from instructions, branches, calls (left unresolved for `module`) and labels ("name:")."""
    labels: dict[str, int] = {}
    body: list[Any] = []
    for line in lines:
        if isinstance(line, str):
            labels[line.rstrip(":")] = len(body)
        else:
            body.append(line)
    instrs = []
    pending: dict[int, str] = {}
    for i, line in enumerate(body):
        if isinstance(line, Instr):
            instrs.append(line)
            continue
        op, (label, g) = line
        if op == "BRA":
            instrs.append(make("BRA", target=labels[label] - i - 1, **_g(g)))
        else:
            pending[i] = label
            instrs.append(make("CALL", **_g(g)))
    fn = Function(name, instrs, FunctionInfo(kind=kind, local_bytes=64))
    _PENDING[id(fn)] = pending
    return fn


_PENDING: dict[int, dict[int, str]] = {}


def module(*functions: Function) -> Module:
    """A laid-out module with the calls of its functions resolved."""
    m = Module(list(functions))
    m.layout()
    for fn in functions:
        for i, name in _PENDING.pop(id(fn), {}).items():
            offset = m.function(name).address - (fn.address + i + 1)
            fn.instrs[i] = fn.instrs[i].replace(target=offset)
    return m


def random_function(
    rng: random.Random,
    name: str,
    blocks: int,
    registers: int,
    callees: tuple[str, ...] = (),
    kind: str = "kernel",
    guards: bool = True,
) -> Function:
    """A function of `blocks` blocks with random instructions and branches (forwards and back) over few registers;
    without `guards` only branches and returns are guarded."""
    lines: list[Line] = []
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


def _random_instr(rng: random.Random, registers: int, callees: tuple[str, ...], guards: bool) -> Line:
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
