"""What calls hand over, and what barriers wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.operands import Array, Mask, reader, writer
from tests.support.ptx.interpreter.text.syntax import SIZES
from tests.support.ptx.interpreter.text.tree import Inst, Op, Var

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Barrier, Frame, Gang


# --- calls and barriers -----------------------------------------------------------------------------------------------


def call_parts(inst: Inst) -> tuple[list[Op], str | Op, list[Op]]:
    """(results, function, arguments) of a call; of one of a register the operand in the function's place."""
    operands = list(inst.operands)
    results = operands.pop(0)[1] if operands[0][0] == "vec" else []
    callee = operands.pop(0)
    arguments = operands.pop(0)[1] if operands and operands[0][0] == "vec" else []
    return results, callee[1] if callee[0] == "sym" else callee, arguments


def argument_bytes(gang: Gang, frame: Frame, operand: Op, var: Var) -> Array:
    """An argument as bytes per lane."""
    if operand[0] == "sym" and operand[1] in frame.params:
        data = frame.params[operand[1]].copy()
    else:
        kind = f"b{8 * SIZES[var.type]}"
        data = np.ascontiguousarray(reader(gang, frame.func, operand, kind)(frame)).view(np.uint8)
        data = data.reshape(gang.size, -1).copy()
    if data.shape[1] != var.size:
        raise Unsupported(f"an argument of {data.shape[1]} bytes for {var.name} of {var.size}")
    return data


def take_result(gang: Gang, frame: Frame, operand: Op, var: Var, data: Array, lanes: Mask) -> None:
    if operand[0] == "sym" and operand[1] in frame.params:
        np.copyto(frame.params[operand[1]], data, where=lanes[:, None])
    else:
        kind = f"b{8 * SIZES[var.type]}"
        writer(frame.func, operand, kind)(frame, np.ascontiguousarray(data).view(DTYPES[kind])[:, 0], lanes)


def barrier_of(frame: Frame, inst: Inst, lanes: Mask, gang: Gang) -> Barrier:
    """bar and barrier: sync, arrive, red.popc, red.and, red.or."""
    from tests.support.ptx.interpreter.interpreter import Barrier

    kind = next((m for m in inst.mods if m in ("sync", "arrive", "popc", "and", "or")), None)
    if kind is None:
        raise Unsupported(inst.text)
    operands = list(inst.operands)
    if "red" in inst.mods:
        operands.pop(0)
    votes = np.zeros(gang.size, dtype=np.bool_)
    if "red" in inst.mods:
        votes = reader(gang, frame.func, operands.pop(), "pred")(frame).copy()
    numbers = [uniform(reader(gang, frame.func, o, "u32")(frame), lanes, inst) for o in operands]
    return Barrier(kind, numbers[0], numbers[1] if len(numbers) > 1 else 0, lanes, votes)


def uniform(value: Array, lanes: Mask, inst: Inst) -> int:
    found = np.unique(value[lanes])
    if len(found) != 1:
        raise Unsupported(f"lanes disagree: {inst.text}")
    return int(found[0])


def barrier_result(frame: Frame, inst: Inst, lanes: Mask, answer: Any, gang: Gang) -> None:
    if "red" in inst.mods:
        kind = inst.mods[-1]
        value = np.full(gang.size, answer, dtype=DTYPES[kind])
        writer(frame.func, inst.operands[0], kind)(frame, value, lanes)
