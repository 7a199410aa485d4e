"""What PTX text is read into: variables, instructions, functions, a module.

Operands are tagged tuples:
("reg", name) ("sreg", name) ("int", value) ("float", bits, width) ("sym", name, offset) ("not", name)
("mem", base operand or None, offset) ("vec", operands) ("dual", a, b) ("none",) ("tex", texture, sampler, coordinates)
("sel", register, selector) ("neg", operand)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Op = tuple[Any, ...]


@dataclass
class Var:
    """A variable or parameter; size in bytes, relocations as (offset, symbol, addend)."""

    name: str
    space: str
    type: str
    size: int
    align: int
    data: bytes = b""
    relocations: list[tuple[int, str, int]] = field(default_factory=list)
    external: bool = False


@dataclass
class Inst:
    """One instruction; guard is (register, negated) or None; scopes are the open scope numbers, innermost last."""

    op: str
    mods: tuple[str, ...]
    operands: list[Op]
    guard: tuple[str, bool] | None
    text: str
    scopes: tuple[int, ...] = (0,)
    targets: list[int] = field(default_factory=list)


@dataclass
class Func:
    name: str
    entry: bool
    params: list[Var] = field(default_factory=list)
    results: list[Var] = field(default_factory=list)
    regs: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Var] = field(default_factory=dict)
    body: list[Inst] = field(default_factory=list)
    defined: bool = False


@dataclass
class Unit:
    """A module: variables of module scope, registers declared there, which each function has as its own, functions."""

    variables: dict[str, Var] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Func] = field(default_factory=dict)
