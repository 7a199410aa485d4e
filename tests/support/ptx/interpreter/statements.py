"""From one PTX instruction to a function (frame, lanes) that executes it: operands, moves, memory, atomics, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter import operations, warps
from tests.support.ptx.interpreter.integers import SIGNED, UNSIGNED
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
from tests.support.ptx.interpreter.operations import DTYPES, Unsupported
from tests.support.ptx.interpreter.syntax import SIZES, Func, Inst, Op, Var, float_bits

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Barrier, Frame, Gang

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Reader = Callable[["Frame"], Array]
Writer = Callable[["Frame", Array, Mask], None]
Action = Callable[["Frame", Mask], None]

CONTROL = ("bra", "brx", "call", "ret", "exit", "bar", "barrier")
NO_EFFECT = ("membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "discard", "applypriority")
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": PARAM_WINDOW}


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
        value = warps.special(gang, operand[1])
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
    if op == "cvta":
        return address_conversion(gang, func, inst)
    if op == "isspacep":
        return space_test(gang, func, inst)
    if op == "tex":
        return texture_fetch(gang, func, inst)
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
    target, source = inst.operands
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


def elements(operand: Op) -> list[Op]:
    return list(operand[1]) if operand[0] == "vec" else [operand]


def parameter_name(func: Func, operand: Op) -> str | None:
    """The name of the parameter that a memory operand names directly."""
    base = operand[1]
    return base[1] if base is not None and base[0] == "sym" else None


def check_vector(address: Array, width: int, count: int, lanes: Mask) -> None:
    if count > 1 and (address[lanes] % np.uint64(width * count)).any():
        raise AccessError(f"misaligned vector access of {width * count} bytes")


def load(gang: Gang, func: Func, inst: Inst) -> Action:
    kind, (target, source) = inst.mods[-1], inst.operands
    targets, width = elements(target), SIZES[kind]
    vector = next((int(m[1]) for m in inst.mods if m in ("v2", "v4", "v8")), 1)
    if vector != len(targets):
        raise Unsupported("vector width and operands differ")
    writers = [writer(func, o, kind) for o in targets]
    raw, space = UNSIGNED[8 * width], space_of(inst)
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
    kind, (target, source) = inst.mods[-1], inst.operands
    width, vector = SIZES[kind], len(elements(source))
    readers = [reader(gang, func, o, kind) for o in elements(source)]
    raw, space = UNSIGNED[8 * width], space_of(inst)
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


def atomic(gang: Gang, func: Func, inst: Inst) -> Action:
    """atom and red: lanes one after another in ascending order."""
    kind, operands = inst.mods[-1], list(inst.operands)
    name = next((m for m in inst.mods if m in UPDATES or m == "cas"), None)
    if name is None or any(m in ("v2", "v4", "noftz") for m in inst.mods):
        raise Unsupported("this atomic")
    write = writer(func, operands.pop(0), kind) if inst.op == "atom" else None
    where, place = address_reader(gang, func, operands[0]), storage(gang, space_of(inst))
    readers = [reader(gang, func, o, kind) for o in operands[1:]]
    width, dtype, raw = SIZES[kind], DTYPES[kind], UNSIGNED[8 * SIZES[kind]]
    mask = (1 << 8 * width) - 1

    def updated(old: Array, values: list[Array]) -> Array:
        if name == "cas":
            return values[1] if old[0] == values[0][0] else old
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


def address_conversion(gang: Gang, func: Func, inst: Inst) -> Action:
    kind, (target, source) = inst.mods[-1], inst.operands
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


def texture_fetch(gang: Gang, func: Func, inst: Inst) -> Action:
    """tex.geom.v4.dtype.ctype d, [handle or name, {coordinates}]."""
    dimensions = {"1d": 1, "2d": 2, "3d": 3}.get(inst.mods[0])
    target, (_, texture, sampler, coordinates) = inst.operands[:2]
    if dimensions is None or sampler is not None or len(inst.operands) != 2 or inst.mods[1] != "v4":
        raise Unsupported("this texture fetch")
    result, kind = inst.mods[2], inst.mods[3]
    readers = [reader(gang, func, o, kind) for o in elements(coordinates)[:dimensions]]
    writers = [writer(func, o, result) for o in elements(target)]
    named = texture[0] == "sym"
    handles = None if named else reader(gang, func, texture, "u64")

    def action(frame: Frame, lanes: Mask) -> None:
        where = [read(frame) for read in readers]
        if handles is None:
            groups = [(gang.launch.texture_names[texture[1]], lanes)]
        else:
            values = handles(frame)
            groups = [(gang.launch.textures[int(h)], lanes & (values == h)) for h in np.unique(values[lanes])]
        for chosen, group in groups:
            texels = chosen.fetch(where, result)
            for write, value in zip(writers, texels, strict=True):
                write(frame, value, group)

    return action


# --- calls and barriers -----------------------------------------------------------------------------------------------


def call_parts(inst: Inst) -> tuple[list[Op], str, list[Op]]:
    """(results, function, arguments) of a direct call."""
    operands = list(inst.operands)
    results = operands.pop(0)[1] if operands[0][0] == "vec" else []
    callee = operands.pop(0)
    arguments = operands.pop(0)[1] if operands and operands[0][0] == "vec" else []
    if callee[0] != "sym" or operands:
        raise Unsupported(f"indirect call: {inst.text}")
    return results, callee[1], arguments


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
