"""From one PTX instruction to a function (frame, lanes) that executes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.support.ptx.interpreter import images, video, warps
from tests.support.ptx.interpreter.accesses import (
    address_conversion,
    asynchronous_copy,
    atomic,
    load,
    space_test,
    store,
)
from tests.support.ptx.interpreter.arithmetic import operations
from tests.support.ptx.interpreter.arithmetic.integers import UNSIGNED
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.memory import (
    AccessError,
)
from tests.support.ptx.interpreter.operands import Action, Mask, reader, writer
from tests.support.ptx.interpreter.text.syntax import SIZES
from tests.support.ptx.interpreter.text.tree import Func, Inst

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang


CONTROL = ("bra", "brx", "call", "ret", "exit", "bar", "barrier")
NO_EFFECT = (
    "membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "discard", "applypriority", "griddepcontrol",
)  # fmt: skip


# --- instructions -----------------------------------------------------------------------------------------------------


def prepare(gang: Gang, func: Func, inst: Inst) -> Action | None:
    """The action of an instruction; None for control flow and barriers, which the interpreter's loop runs."""
    try:
        return dispatch(gang, func, inst)
    except Unsupported as error:
        return postponed(Unsupported(f"{inst.text}: {error}"))


def postponed(error: Exception) -> Action:
    def action(frame: Frame, lanes: Mask) -> None:
        raise error

    return action


def dispatch(gang: Gang, func: Func, inst: Inst) -> Action | None:
    op = inst.op
    if op in ("bar", "barrier") and "warp" in inst.mods:
        return warps.converged(gang, func, inst)
    if op in CONTROL:
        return None
    if op in NO_EFFECT:
        return lambda frame, lanes: None
    if op in ("trap", "brkpt"):
        return postponed(AccessError(f"{op} executed"))
    if op == "mov" and "pred" not in inst.mods:
        return move(gang, func, inst)
    if op in ("ld", "ldu"):
        return load(gang, func, inst)
    if op == "st":
        return store(gang, func, inst)
    if op in ("atom", "red") and "async" not in inst.mods:
        return atomic(gang, func, inst)
    if op == "cp":
        return asynchronous_copy(gang, func, inst)
    if op == "createpolicy":
        policy = writer(func, inst.operands[0], "b64")
        return lambda frame, lanes: policy(frame, np.zeros(gang.size, dtype=np.uint64), lanes)
    if op == "cvta":
        return address_conversion(gang, func, inst)
    if op == "isspacep":
        return space_test(gang, func, inst)
    if op in images.OPCODES:
        return images.prepare(gang, func, inst)
    if op in video.OPCODES:
        return video.prepare(gang, func, inst)
    if op in warps.OPERATIONS:
        return warps.prepare(gang, func, inst)
    return arithmetic(gang, func, inst)


def arithmetic(gang: Gang, func: Func, inst: Inst) -> Action:
    chosen = operations.plan(inst.op, inst.mods)
    first, *rest = inst.operands
    destinations = list(first[1:]) if first[0] == "dual" else [first]
    if not len(chosen.sources) - chosen.optional <= len(rest) <= len(chosen.sources):
        raise Unsupported(f"{len(rest)} operands")
    sources = [reader(gang, func, o, t) for o, t in zip(rest, chosen.sources, strict=False)]
    for t in chosen.sources[len(rest) :]:
        sources.append(reader(gang, func, ("int", 0), t))
    writers = [writer(func, o, t) for o, t in zip(destinations, chosen.results, strict=False)]
    compute = chosen.compute

    def action(frame: Frame, lanes: Mask) -> None:
        values = [read(frame) for read in sources]
        results = compute(*values, frame.carry) if chosen.carry_in else compute(*values)
        for write, value in zip(writers, results, strict=False):
            write(frame, value, lanes)
        if chosen.carry_out:
            frame.carry = np.where(lanes, results[-1], frame.carry)

    return action


def move(gang: Gang, func: Func, inst: Inst) -> Action:
    """mov, also as packing and unpacking of vectors (least significant element first)."""
    (kind,) = inst.mods[-1:]
    target, source = (o[1][0] if o[0] == "vec" and len(o[1]) == 1 else o for o in inst.operands)
    if target[0] == "vec":
        count = len(target[1])
        part = f"b{8 * SIZES[kind] // count}"
        whole = reader(gang, func, source, f"b{8 * SIZES[kind]}")
        writers = [writer(func, o, part) for o in target[1]]

        def unpack(frame: Frame, lanes: Mask) -> None:
            pieces = np.ascontiguousarray(whole(frame)).view(DTYPES[part]).reshape(-1, count).copy()
            for k, write in enumerate(writers):
                write(frame, np.ascontiguousarray(pieces[:, k]), lanes)

        return unpack
    write = writer(func, target, kind)
    if source[0] == "vec":
        count = len(source[1])
        part = f"b{8 * SIZES[kind] // count}"
        readers = [reader(gang, func, o, part) for o in source[1]]

        def pack(frame: Frame, lanes: Mask) -> None:
            pieces = np.ascontiguousarray(np.stack([read(frame) for read in readers], axis=1))
            write(frame, pieces.view(UNSIGNED[8 * SIZES[kind]])[:, 0].copy(), lanes)

        return pack
    read = reader(gang, func, source, kind)
    return lambda frame, lanes: write(frame, read(frame).copy(), lanes)
