"""Operands of PTX instructions as functions that read and write them for the lanes of a gang."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic.integers import SIGNED, UNSIGNED
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.memory import (
    FUNCTIONS,
    PARAM_WINDOW,
)
from tests.support.ptx.interpreter.special import special
from tests.support.ptx.interpreter.text.syntax import SIZES, float_bits
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang


Array = NDArray[Any]
Mask = NDArray[np.bool_]
Reader = Callable[["Frame"], Array]
Writer = Callable[["Frame", Array, Mask], None]
Action = Callable[["Frame", Mask], None]


def raw_type(kind: str) -> Any:
    """The NumPy type of a register of that type."""
    return np.bool_ if kind == "pred" else UNSIGNED[8 * SIZES[kind]]


# --- operands ---------------------------------------------------------------------------------------------------------


def guard_of(frame: Frame, inst: Inst) -> Mask:
    assert inst.guard is not None
    name, negated = inst.guard
    value: Mask = frame.regs[name]
    return ~value if negated else value


def symbol_value(gang: Gang, func: Func, name: str) -> int | str:
    """Address of a variable in its own space; "local" for one that depends on the frame."""
    launch = gang.launch
    if name in launch.shared:
        return launch.shared[name]
    if name in launch.symbols:
        return launch.symbols[name]
    if name in func.variables and func.variables[name].space == "local":
        return "local"
    if name in launch.unit.functions:
        return FUNCTIONS + 64 * list(launch.unit.functions).index(name)
    for k, var in enumerate(func.params):
        if var.name == name:
            return PARAM_WINDOW + (k << 16)
    raise Unsupported(f"the address of {name}")


def reader(gang: Gang, func: Func, operand: Op, kind: str) -> Reader:
    """A function that gives the operand as an array of that type."""
    n, dtype = gang.size, DTYPES[kind]
    width = 8 * SIZES[kind]
    tag = operand[0]
    if tag in ("reg", "not"):
        name, declared = operand[1], func.regs[operand[1]]
        if kind == "pred" or declared == "pred":
            if kind != declared:
                raise Unsupported(f"{name} is .{declared} where .{kind} is wanted")
            return (lambda f: ~f.regs[name]) if tag == "not" else (lambda f: f.regs[name])
        have = 8 * SIZES[declared]
        if have == width:
            return lambda f: f.regs[name].view(dtype)
        if have < width:
            raise Unsupported(f"{name} of {have} bits where {width} are wanted")
        return lambda f: f.regs[name].astype(UNSIGNED[width]).view(dtype)
    if tag == "sreg":
        value = special(gang, operand[1])
        whole = value.astype(UNSIGNED[width]).view(dtype)
        return lambda f: whole
    if tag == "sym":
        place = symbol_value(gang, func, operand[1])
        if place == "local":
            return lambda f: np.full(n, f.local[operand[1]] + operand[2], dtype=dtype)
        constant = np.full(n, int(place) + operand[2], dtype=np.uint64).astype(UNSIGNED[width]).view(dtype)
        return lambda f: constant
    if tag == "int":
        if kind == "pred":
            constant = np.full(n, operand[1] != 0)
        elif kind[0] == "f":
            constant = np.full(n, operand[1], dtype=dtype)
        else:
            constant = np.full(n, operand[1] & ((1 << width) - 1), dtype=UNSIGNED[width]).view(dtype)
        return lambda f: constant
    if tag == "float":
        constant = np.full(n, float_bits(operand, width), dtype=UNSIGNED[width]).view(dtype)
        return lambda f: constant
    raise Unsupported(f"operand {operand}")


def writer(func: Func, operand: Op, kind: str) -> Writer:
    """A function that stores an array of that type; a wider register is zero- or sign-extended."""
    if operand[0] == "none":
        return lambda f, value, lanes: None
    if operand[0] != "reg":
        raise Unsupported(f"destination {operand}")
    name, declared = operand[1], func.regs[operand[1]]
    if (kind == "pred") != (declared == "pred"):
        raise Unsupported(f"{name} is .{declared}, the result .{kind}")
    raw = raw_type(declared)
    have, width = 8 * SIZES[declared], 8 * SIZES[kind]
    if have == width:
        return lambda f, value, lanes: np.copyto(f.regs[name], value.view(raw), where=lanes)
    if have < width:
        raise Unsupported(f"{name} of {have} bits cannot hold .{kind}")
    table = SIGNED if kind[0] == "s" else UNSIGNED
    narrow, wide = table[width], table[have]
    return lambda f, value, lanes: np.copyto(f.regs[name], value.view(narrow).astype(wide).view(raw), where=lanes)


def elements(operand: Op) -> list[Op]:
    return list(operand[1]) if operand[0] == "vec" else [operand]
