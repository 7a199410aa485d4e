"""PTX instructions on memory: loads, stores, atomics, address conversions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.ptx.interpreter.arithmetic import halves
from tests.support.ptx.interpreter.arithmetic.integers import UNSIGNED
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, Unsupported
from tests.support.ptx.interpreter.memory import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW,
    AccessError,
    Arena,
    Generic,
    Local,
)
from tests.support.ptx.interpreter.operands import Action, Array, Mask, Reader, elements, reader, writer
from tests.support.ptx.interpreter.text.syntax import SIZES
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang

WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": PARAM_WINDOW}
UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, b: old + b,
    "min": min,
    "max": max,
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda old, b: b,
    "inc": lambda old, b: 0 if old >= b else old + 1,
    "dec": lambda old, b: b if old == 0 or old > b else old - 1,
}


# --- memory -----------------------------------------------------------------------------------------------------------


class ParamSpace:
    """Parameters addressed through a register: parameter number << 16 in the param window, plus an offset."""

    def __init__(self, gang: Gang) -> None:
        self.gang = gang

    def load(self, frame: Frame, address: Array, width: int, lanes: Mask) -> Array:
        result = np.zeros(len(lanes), dtype=UNSIGNED[8 * width])
        for k, var in enumerate(frame.func.params):
            at = address - np.uint64(PARAM_WINDOW + (k << 16))
            mine = lanes & (at < np.uint64(1 << 16))
            if not mine.any():
                continue
            if (at[mine] % width).any() or (at[mine] + np.uint64(width) > var.size).any():
                raise AccessError(f"parameter {var.name}: {width} bytes at {at[mine][:4].tolist()}")
            rows, columns = np.nonzero(mine)[0], at[mine].astype(np.int64)
            data = np.stack([frame.params[var.name][rows, columns + i] for i in range(width)], axis=1)
            result[mine] = np.ascontiguousarray(data).view(result.dtype)[:, 0]
        return result


def space_of(inst: Inst) -> str:
    for mod in inst.mods:
        name = mod.split("::")[0]
        if name in WINDOWS:
            return name
    return "generic"


def space_by_name(gang: Gang, func: Func, inst: Inst, operand: Op) -> str:
    """The space of an access; of a generic one by the name of a variable in shared or local memory, that space."""
    space, base = space_of(inst), operand[1]
    if space != "generic" or base is None or base[0] != "sym":
        return space
    if base[1] in gang.launch.shared:
        return "shared"
    return "local" if base[1] in func.variables and func.variables[base[1]].space == "local" else space


def storage(gang: Gang, space: str) -> Arena | Local | Generic:
    if space == "shared":
        return gang.shared
    if space == "local":
        return gang.local
    return gang.generic if space == "generic" else gang.memory


def address_reader(gang: Gang, func: Func, operand: Op) -> Reader:
    """The address of a memory operand as uint64, in the space of the access."""
    _, base, offset = operand
    if base is None:
        constant = np.full(gang.size, offset, dtype=np.uint64)
        return lambda f: constant
    added = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
    if base[0] == "reg":
        if SIZES[func.regs[base[1]]] == 4:
            low = np.uint32(offset & 0xFFFFFFFF)
            return lambda f: (f.regs[base[1]] + low).astype(np.uint64)
        return lambda f: f.regs[base[1]].view(np.uint64) + added
    read = reader(gang, func, base, "u64")
    return lambda f: read(f) + added


def parameter_name(func: Func, operand: Op) -> str | None:
    """The name of the parameter that a memory operand names directly."""
    base = operand[1]
    return base[1] if base is not None and base[0] == "sym" else None


def check_vector(address: Array, width: int, count: int, lanes: Mask) -> None:
    if count > 1 and (address[lanes] % np.uint64(width * count)).any():
        raise AccessError(f"misaligned vector access of {width * count} bytes")


def load(gang: Gang, func: Func, inst: Inst) -> Action:
    kind, (target, source) = inst.mods[-1], inst.operands[:2]
    targets, width = elements(target), SIZES[kind]
    vector = next((int(m[1]) for m in inst.mods if m in ("v2", "v4", "v8")), 1)
    if vector != len(targets):
        raise Unsupported("vector width and operands differ")
    writers = [writer(func, o, kind) for o in targets]
    raw, space = UNSIGNED[8 * width], space_by_name(gang, func, inst, source)
    name = parameter_name(func, source)
    if space == "param" and name is not None:
        start = source[2]

        def from_param(frame: Frame, lanes: Mask) -> None:
            data = frame.params[name]
            for k, write in enumerate(writers):
                at = start + k * width
                if at % width or at + width > data.shape[1]:
                    raise AccessError(f"parameter {name}+{at}: {inst.text}")
                write(frame, np.ascontiguousarray(data[:, at : at + width]).view(raw)[:, 0], lanes)

        return from_param
    where = address_reader(gang, func, source)
    if space == "param":
        params = ParamSpace(gang)
        fetch: Callable[..., Array] = params.load
    else:
        store_of = storage(gang, space)

        def fetch(frame: Frame, address: Array, width: int, lanes: Mask) -> Array:
            return store_of.load(address, width, lanes)

    def action(frame: Frame, lanes: Mask) -> None:
        address = where(frame)
        try:
            check_vector(address, width, vector, lanes)
            values = [fetch(frame, address + np.uint64(k * width), width, lanes) for k in range(vector)]
        except AccessError as error:
            raise AccessError(f"{inst.text}: {error}") from None
        for write, value in zip(writers, values, strict=True):
            write(frame, value, lanes)

    return action


def store(gang: Gang, func: Func, inst: Inst) -> Action:
    kind, (target, source) = inst.mods[-1], inst.operands[:2]
    width, vector = SIZES[kind], len(elements(source))
    readers = [reader(gang, func, o, kind) for o in elements(source)]
    raw, space = UNSIGNED[8 * width], space_by_name(gang, func, inst, target)
    if space == "param":
        name, start = parameter_name(func, target), target[2]

        def to_param(frame: Frame, lanes: Mask) -> None:
            assert name is not None
            data = frame.params[name]
            for k, read in enumerate(readers):
                at = start + k * width
                if at % width or at + width > data.shape[1]:
                    raise AccessError(f"parameter {name}+{at}: {inst.text}")
                pieces = np.ascontiguousarray(read(frame)).view(np.uint8).reshape(-1, width)
                np.copyto(data[:, at : at + width], pieces, where=lanes[:, None])

        return to_param
    where, place = address_reader(gang, func, target), storage(gang, space)

    def action(frame: Frame, lanes: Mask) -> None:
        address = where(frame)
        try:
            check_vector(address, width, vector, lanes)
            for k, read in enumerate(readers):
                place.store(address + np.uint64(k * width), np.ascontiguousarray(read(frame)).view(raw), lanes)
        except AccessError as error:
            raise AccessError(f"{inst.text}: {error}") from None

    return action


def atomic(gang: Gang, func: Func, inst: Inst) -> Action:
    """atom and red: lanes one after another in ascending order."""
    kind, operands = next(m for m in reversed(inst.mods) if m in SIZES), list(inst.operands)
    name = next((m for m in inst.mods if m in UPDATES or m == "cas"), None)
    if name is None or (kind in halves.TYPES) != ("noftz" in inst.mods):
        raise Unsupported("this atomic")
    vector = next((int(m[1]) for m in inst.mods if m in ("v2", "v4", "v8")), 0)
    if vector:
        return atomic_vector(gang, func, inst, kind, vector)
    write = writer(func, operands.pop(0), kind) if inst.op == "atom" else None
    space = space_by_name(gang, func, inst, operands[0])
    where, place = address_reader(gang, func, operands[0]), storage(gang, space)
    readers = [reader(gang, func, o, kind) for o in operands[1:]]
    width, dtype, raw = SIZES[kind], DTYPES[kind], UNSIGNED[8 * SIZES[kind]]
    mask = (1 << 8 * width) - 1

    def updated(old: Array, values: list[Array]) -> Array:
        if name == "cas":
            return values[1] if old[0] == values[0][0] else old
        if kind in halves.TYPES:
            return np.array([halves.atomic_sum(int(old[0]), int(values[0][0]), kind)], dtype=raw)
        if kind[0] == "f":
            return old + values[0] if name == "add" else values[0]
        result = UPDATES[name](int(old[0]), int(values[0][0]))
        return np.array([result & mask], dtype=raw).view(dtype)

    def action(frame: Frame, lanes: Mask) -> None:
        address, values = where(frame), [read(frame) for read in readers]
        result = np.zeros(len(lanes), dtype=raw)
        try:
            for lane in np.nonzero(lanes)[0]:
                one = np.zeros(len(lanes), dtype=np.bool_)
                one[lane] = True
                old = place.load(address, width, one)
                new = updated(old[lane : lane + 1].view(dtype), [v[lane : lane + 1] for v in values])
                place.store(address, np.full(len(lanes), new.view(raw)[0], dtype=raw), one)
                result[lane] = old[lane]
        except AccessError as error:
            raise AccessError(f"{inst.text}: {error}") from None
        if write is not None:
            write(frame, result, lanes)

    return action


def atomic_vector(gang: Gang, func: Func, inst: Inst, kind: str, count: int) -> Action:
    """Each element by itself, the first one first."""
    mods = tuple(m for m in inst.mods if not (m[0] == "v" and m[1:].isdigit()))
    results, place, values = inst.operands if inst.op == "atom" else (("none",), *inst.operands)
    actions = []
    for k in range(count):
        at = (place[0], place[1], place[2] + k * SIZES[kind])
        target = results if results[0] == "none" else results[1][k]
        operands = [target, at, values[1][k]] if inst.op == "atom" else [at, values[1][k]]
        actions.append(atomic(gang, func, replace(inst, mods=mods, operands=operands)))

    def action(frame: Frame, lanes: Mask) -> None:
        for one in actions:
            one(frame, lanes)

    return action


def asynchronous_copy(gang: Gang, func: Func, inst: Inst) -> Action:
    """cp.async: byte by byte, when it is begun; its groups do nothing."""
    if "shared" not in space_of(inst) and not any(m.startswith("shared") for m in inst.mods):
        return lambda frame, lanes: None
    target, source, (_, size), *rest = inst.operands
    if "L2::cache_hint" in inst.mods:
        rest.pop()
    to, of = address_reader(gang, func, target), address_reader(gang, func, source)
    ignores = bool(rest) and rest[0][0] in ("reg", "not") and func.regs[rest[0][1]] == "pred"
    length = reader(gang, func, rest[0], "pred" if ignores else "u32") if rest else None

    def action(frame: Frame, lanes: Mask) -> None:
        counts = np.full(gang.size, size, dtype=np.uint32)
        if length is not None:
            given = length(frame)
            counts = np.where(given, np.uint32(0), counts) if ignores else np.minimum(given, counts)
        for k in range(size):
            there = lanes & (counts > k)
            data = gang.memory.load(of(frame) + np.uint64(k), 1, there)
            gang.shared.store(to(frame) + np.uint64(k), np.where(there, data, np.uint8(0)), lanes)

    return action


def address_conversion(gang: Gang, func: Func, inst: Inst) -> Action:
    kind, (target, source) = inst.mods[-1], inst.operands[:2]
    window = WINDOWS[space_of(inst)]
    read, write = reader(gang, func, source, kind), writer(func, target, kind)
    if window == PARAM_WINDOW:
        window = 0
    shift = -window if "to" in inst.mods else window
    amount = DTYPES[kind](shift & ((1 << 8 * SIZES[kind]) - 1))
    return lambda frame, lanes: write(frame, read(frame) + amount, lanes)


def space_test(gang: Gang, func: Func, inst: Inst) -> Action:
    read, write = reader(gang, func, inst.operands[1], "u64"), writer(func, inst.operands[0], "pred")
    space = inst.mods[0].split("::")[0]

    def inside(address: Array, space: str) -> Mask:
        start = WINDOWS[space]
        return (address >= np.uint64(start)) & (address < np.uint64(start + WINDOW))

    def action(frame: Frame, lanes: Mask) -> None:
        address = read(frame)
        if space in ("shared", "local"):
            write(frame, inside(address, space), lanes)
        else:
            write(frame, ~inside(address, "shared") & ~inside(address, "local"), lanes)

    return action
