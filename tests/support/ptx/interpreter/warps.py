"""Warp-wide instructions: lanes of a gang in rows of 32."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.support.ptx.interpreter.accesses import address_reader, space_of, storage
from tests.support.ptx.interpreter.arithmetic import floats
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.operands import Action, Array, Mask, elements, reader, writer
from tests.support.ptx.interpreter.text.tree import Func, Inst

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang


OPERATIONS = ("shfl", "vote", "match", "activemask", "redux", "elect", "ldmatrix")
LANES = np.arange(32, dtype=np.int64)


def members(gang: Gang, values: Array, lanes: Mask, inst: Inst) -> Mask:
    """Lanes named by the member mask, by rows; every one that is still alive must be here."""
    rows = lanes.reshape(-1, 32)
    named = (values.reshape(-1, 32).astype(np.int64)[:, :, None] >> LANES & 1).astype(bool)
    missing = named & (gang.alive.reshape(-1, 32) & ~rows)[:, None, :] & rows[:, :, None]
    if missing.any():
        raise Unsupported(f"a lane named by the member mask is not here: {inst.text}")
    return rows


def converged(gang: Gang, func: Func, inst: Inst) -> Action:
    mask = reader(gang, func, inst.operands[0], "b32")

    def action(frame: Frame, lanes: Mask) -> None:
        members(gang, mask(frame), lanes, inst)

    return action


def prepare(gang: Gang, func: Func, inst: Inst) -> Action:
    if inst.op == "shfl":
        return shuffle(gang, func, inst)
    if inst.op == "vote":
        return vote(gang, func, inst)
    if inst.op == "match":
        return match(gang, func, inst)
    if inst.op == "elect":
        return election(gang, func, inst)
    if inst.op == "redux":
        return reduction(gang, func, inst)
    if inst.op == "ldmatrix":
        return matrices(gang, func, inst)
    return active_mask(gang, func, inst)


def member_reader(gang: Gang, func: Func, inst: Inst) -> Callable[[Frame], Array]:
    """The member mask operand, the last one of a .sync form; all lanes without .sync."""
    if "sync" in inst.mods:
        return reader(gang, func, inst.operands[-1], "b32")
    return lambda frame: np.zeros(gang.size, dtype=np.uint32)


def shuffle(gang: Gang, func: Func, inst: Inst) -> Action:
    first = inst.operands[0]
    targets = list(first[1:]) if first[0] == "dual" else [first]
    write = writer(func, targets[0], "b32")
    write_valid = writer(func, targets[1], "pred") if len(targets) > 1 else None
    a, b, c = (reader(gang, func, o, "b32") for o in inst.operands[1:4])
    named = member_reader(gang, func, inst)
    mode = next(m for m in inst.mods if m in ("up", "down", "bfly", "idx"))
    lane = np.tile(LANES, gang.size // 32)

    def action(frame: Frame, lanes: Mask) -> None:
        members(gang, named(frame), lanes, inst)
        value, offset, control = a(frame), b(frame).astype(np.int64) & 31, c(frame).astype(np.int64)
        clamp, segment = control & 31, control >> 8 & 31
        least = lane & segment
        most = least | (clamp & ~segment & 31)
        if mode == "up":
            source = lane - offset
            valid = source >= most
        else:
            source = {"down": lane + offset, "bfly": lane ^ offset, "idx": least | (offset & ~segment & 31)}[mode]
            valid = source <= most
        source = np.where(valid, source, lane)
        rows = np.where(lanes, value, np.uint32(0)).reshape(-1, 32)
        result = np.take_along_axis(rows, source.reshape(-1, 32), axis=1).reshape(-1)
        write(frame, result, lanes)
        if write_valid is not None:
            write_valid(frame, valid, lanes)

    return action


def ballot(rows: Mask) -> Array:
    """One 32-bit word per row of 32 truth values."""
    return (rows.astype(np.uint64) << LANES.astype(np.uint64)).sum(axis=1).astype(np.uint32)


def spread(per_warp: Array) -> Array:
    return np.repeat(per_warp, 32)


def vote(gang: Gang, func: Func, inst: Inst) -> Action:
    mode = next(m for m in inst.mods if m in ("all", "any", "uni", "ballot"))
    write = writer(func, inst.operands[0], "b32" if mode == "ballot" else "pred")
    predicate, named = reader(gang, func, inst.operands[1], "pred"), member_reader(gang, func, inst)

    def action(frame: Frame, lanes: Mask) -> None:
        rows = members(gang, named(frame), lanes, inst)
        holds = predicate(frame).reshape(-1, 32)
        some, every = (holds & rows).any(axis=1), (holds | ~rows).all(axis=1)
        if mode == "ballot":
            write(frame, spread(ballot(holds & rows)), lanes)
        else:
            none = ~some
            write(frame, spread({"all": every, "any": some, "uni": every | none}[mode]), lanes)

    return action


def match(gang: Gang, func: Func, inst: Inst) -> Action:
    first = inst.operands[0]
    targets = list(first[1:]) if first[0] == "dual" else [first]
    write = writer(func, targets[0], "b32")
    write_same = writer(func, targets[1], "pred") if len(targets) > 1 else None
    value, named = reader(gang, func, inst.operands[1], inst.mods[-1]), member_reader(gang, func, inst)

    def action(frame: Frame, lanes: Mask) -> None:
        rows = members(gang, named(frame), lanes, inst)
        values = value(frame).reshape(-1, 32)
        equal = (values[:, :, None] == values[:, None, :]) & rows[:, None, :]
        if "any" in inst.mods:
            found = ballot(equal.reshape(-1, 32))
            write(frame, found, lanes)
            return
        same = (equal == rows[:, None, :]).all(axis=2)
        write(frame, np.where(same, ballot(rows)[:, None], np.uint32(0)).reshape(-1), lanes)
        if write_same is not None:
            write_same(frame, same.reshape(-1), lanes)

    return action


def reduction(gang: Gang, func: Func, inst: Inst) -> Action:
    kind = inst.mods[-1]
    mode = next(m for m in inst.mods if m in ("add", "min", "max", "and", "or", "xor"))
    write, value = writer(func, inst.operands[0], kind), reader(gang, func, inst.operands[1], kind)
    named = member_reader(gang, func, inst)
    ufunc = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[mode]

    def of_floats(values: Array) -> Array:
        values = np.abs(values) if "abs" in inst.mods else values
        total = values[:1]
        for k in range(1, len(values)):
            total = floats.minmax(total, values[k : k + 1], "f32", mode == "max", "NaN" in inst.mods)
        return floats.canonical(total, "f32")[0]

    def action(frame: Frame, lanes: Mask) -> None:
        rows = members(gang, named(frame), lanes, inst)
        values = value(frame).reshape(-1, 32)
        result = np.zeros(len(rows), dtype=DTYPES[kind])
        for k, row in enumerate(rows):
            if row.any():
                taken = values[k][row]
                result[k] = of_floats(taken) if kind == "f32" else ufunc.reduce(taken, dtype=DTYPES[kind])
        write(frame, spread(result), lanes)

    return action


def election(gang: Gang, func: Func, inst: Inst) -> Action:
    """elect.sync: the lowest lane named that is here."""
    first, named = inst.operands[0], reader(gang, func, inst.operands[1], "b32")
    write, write_chosen = writer(func, first[1], "b32"), writer(func, first[2], "pred")

    def action(frame: Frame, lanes: Mask) -> None:
        rows = members(gang, named(frame), lanes, inst)
        mask = (named(frame).reshape(-1, 32).astype(np.int64)[:, :, None] >> LANES & 1).astype(bool) & rows[:, None, :]
        lowest = mask.argmax(axis=2)
        write(frame, lowest.reshape(-1).astype(np.uint32), lanes)
        write_chosen(frame, (lowest == LANES).reshape(-1), lanes)

    return action


def active_mask(gang: Gang, func: Func, inst: Inst) -> Action:
    write = writer(func, inst.operands[0], "b32")
    return lambda frame, lanes: write(frame, spread(ballot(lanes.reshape(-1, 32))), lanes)


def matrices(gang: Gang, func: Func, inst: Inst) -> Action:
    """ldmatrix of 8 by 8 halves: row r of matrix m is at the address of lane 8 m + r."""
    targets = elements(inst.operands[0])
    writers = [writer(func, o, "b32") for o in targets]
    where, memory = address_reader(gang, func, inst.operands[1]), storage(gang, space_of(inst))
    givers = 8 * len(targets) > LANES

    def action(frame: Frame, lanes: Mask) -> None:
        rows = lanes.reshape(-1, 32)
        here = rows.any(axis=1)
        if (rows != gang.alive.reshape(-1, 32))[here].any() or not rows[here][:, givers].all():
            raise Unsupported(f"not all lanes of a warp are here: {inst.text}")
        asked, address = lanes & np.tile(givers, gang.size // 32), where(frame)
        words = [memory.load(address + np.uint64(4 * k), 4, asked) for k in range(4)]
        halves = np.stack(words, axis=1).view(np.uint16).reshape(-1, 32, 8)
        for m, write in enumerate(writers):
            matrix = halves[:, 8 * m : 8 * m + 8, :]
            if "trans" in inst.mods:
                matrix = matrix.swapaxes(1, 2)
            write(frame, np.ascontiguousarray(matrix).reshape(-1, 64).view(np.uint32).reshape(-1), lanes)

    return action
