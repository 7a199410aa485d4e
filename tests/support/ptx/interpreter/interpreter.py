"""A direct interpreter of PTX: NumPy over the lanes of a gang, one instruction after another.

A gang is a whole block, or, for kernels whose warps part company at barriers, one warp. It has one reconvergence stack;
divergent lanes meet at the immediate post-dominator. Blocks run one after another, gangs until they wait at a barrier.
Registers hold unsigned patterns of their declared width; uninitialised ones hold garbage. Shares nothing with binalloc.

    interpret(ptx_text, kernel, grid, block, args, dynamic_shared=0, textures=None)

args: one per kernel parameter: a NumPy array is a buffer (its address is passed, its contents change in place), a NumPy
scalar or bytes are the value itself, a Texture is passed by handle.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.ptx.interpreter import calls, flow, operands, statements
from tests.support.ptx.interpreter.arithmetic.plans import Unsupported
from tests.support.ptx.interpreter.errors import InterpreterError
from tests.support.ptx.interpreter.memory import FUNCTIONS, GLOBAL, Arena, Generic, Local
from tests.support.ptx.interpreter.operands import Array, Mask
from tests.support.ptx.interpreter.placement import parameter_bytes, place_globals, place_shared, triple
from tests.support.ptx.interpreter.runtime import PROVIDED
from tests.support.ptx.interpreter.text.syntax import parse
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op, Unit
from tests.support.ptx.interpreter.textures import Surface, Texture

STEP_LIMIT = 5_000_000
BLOCK_STEP_LIMIT = 100_000
"""Branches after which a block-wide gang is given up: a warp may be waiting for another one's store."""
SLICE = 1024
GARBAGE = 0xA5A5A5A5A5A5A5A5
"""What uninitialised registers hold; bit 0 also predicates."""


class PartCompany(Exception):
    """The warps of a block-wide gang need stacks of their own."""


@dataclass
class Barrier:
    """What a gang waits for. kind: sync, arrive, popc, and, or. count: threads, 0 = all. votes: predicate per lane."""

    kind: str
    number: int
    count: int
    lanes: Mask
    votes: Mask


@dataclass
class Frame:
    """One activation of a function for the lanes of a gang. local: start of its frame in local memory."""

    func: Func
    regs: dict[str, Array]
    params: dict[str, Array]
    local: dict[str, int]
    returned: Mask
    carry: Mask
    depth: int = 0


@dataclass
class Launch:
    """What all blocks share: the unit, the global arena, addresses of symbols, parameters, textures by handle."""

    unit: Unit
    kernel: Func
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    memory: Arena
    symbols: dict[str, int]
    shared: dict[str, int]
    shared_bytes: int
    dynamic_shared: int
    params: dict[str, bytes]
    textures: dict[int, Texture | Surface]
    texture_names: dict[str, Texture | Surface]
    meeting: dict[str, dict[int, int]] = field(default_factory=dict)
    leaving: dict[str, list[bool]] = field(default_factory=dict)
    printed: list[tuple[int, int, str]] = field(default_factory=list)

    def surfaces(self) -> list[Surface]:
        return [t for t in (*self.textures.values(), *self.texture_names.values()) if isinstance(t, Surface)]

    def flow_of(self, func: Func) -> tuple[dict[int, int], list[bool]]:
        if func.name not in self.meeting:
            self.meeting[func.name] = flow.meeting_points(func)
            self.leaving[func.name] = [inst.op in ("ret", "exit") or flow.leaves(func, inst) for inst in func.body]
        return self.meeting[func.name], self.leaving[func.name]


class Gang:
    """Lanes that run together: `size` lanes (a multiple of 32) from linear thread `first` of a block."""

    def __init__(self, launch: Launch, block: tuple[int, int, int], first: int, size: int, shared: Arena) -> None:
        self.launch, self.size, self.first, self.block = launch, size, first, block
        self.shared, self.local = shared, Local(size)
        self.memory = launch.memory
        self.generic = Generic(self.memory, shared, self.local)
        self.thread = np.arange(first, first + size, dtype=np.uint32)
        bx, by, bz = launch.block
        self.alive: Mask = self.thread < bx * by * bz
        self.steps = 0
        self.code: dict[str, list[Callable[[Frame, Mask], None] | None]] = {}
        self.finished = False

    def compiled(self, func: Func) -> list[Callable[[Frame, Mask], None] | None]:
        if func.name not in self.code:
            self.code[func.name] = [statements.prepare(self, func, inst) for inst in func.body]
        return self.code[func.name]

    def start(self) -> Generator[Barrier | None, Any, None]:
        kernel = self.launch.kernel
        params = {
            name: np.broadcast_to(np.frombuffer(data, dtype=np.uint8), (self.size, len(data)))
            for name, data in self.launch.params.items()
        }
        return self.run(self.enter(kernel, params, 0), self.alive.copy())

    def enter(self, func: Func, params: dict[str, Array], depth: int) -> Frame:
        """A frame with garbage registers and its `.local` variables placed behind the callers'."""
        regs: dict[str, Array] = {}
        for name, kind in func.regs.items():
            if kind == "pred":
                regs[name] = np.full(self.size, GARBAGE & 1 == 1)
            else:
                regs[name] = np.full(self.size, GARBAGE, dtype=np.uint64).astype(operands.raw_type(kind))
        local, top = {}, self.local.used
        for var in func.variables.values():
            if var.space == "local":
                top = -(-top // var.align) * var.align
                local[var.name] = top
                top += var.size
            elif var.space == "param":
                params[var.name] = np.zeros((self.size, var.size), dtype=np.uint8)
        self.local.reserve(top)
        none = np.zeros(self.size, dtype=np.bool_)
        return Frame(func, regs, params, local, none, none.copy(), depth)

    def run(self, frame: Frame, mask: Mask) -> Generator[Barrier | None, Any, None]:
        """Execute a frame until all lanes of mask have returned or exited."""
        func = frame.func
        code, body, end = self.compiled(func), func.body, len(func.body)
        meeting, leaving = self.launch.flow_of(func)
        stack: list[tuple[int, int, Mask]] = [(0, end, mask)]
        while stack:
            pc, meet, mask = stack.pop()
            mask = mask & self.alive & ~frame.returned
            while pc != meet and mask.any():
                inst, action = body[pc], code[pc]
                lanes = mask if inst.guard is None else mask & operands.guard_of(frame, inst)
                if action is not None:
                    if inst.guard is None or lanes.any():
                        action(frame, lanes)
                    pc += 1
                    continue
                self.steps += 1
                if self.steps % SLICE == 0:
                    yield from self.pause()
                if not lanes.any():
                    pc += 1
                elif leaving[pc]:
                    self.leave(frame, body[inst.targets[0]] if inst.targets else inst, lanes)
                    mask = mask & ~lanes
                    pc += 1
                elif inst.targets:
                    places = self.branch(frame, inst, pc, mask, lanes)
                    if len(places) == 1:
                        pc = places[0][0]
                        continue
                    join = meeting[pc]
                    if join != meet:
                        stack.append((join, meet, mask))
                    stack += [(target, join, lanes) for target, lanes in places if target != join]
                    break
                elif inst.op == "call":
                    yield from self.call(frame, inst, lanes)
                    mask = mask & self.alive
                    pc += 1
                else:
                    request = calls.barrier_of(frame, inst, lanes, self)
                    answer = yield request
                    calls.barrier_result(frame, inst, lanes, answer, self)
                    pc += 1

    def pause(self) -> Generator[Barrier | None, Any, None]:
        if self.size > 32 and self.steps > BLOCK_STEP_LIMIT:
            raise PartCompany
        if self.steps > STEP_LIMIT:
            raise InterpreterError("too many steps: does the kernel end?")
        yield None

    def leave(self, frame: Frame, inst: Inst, lanes: Mask) -> None:
        if inst.op == "exit" or frame.depth == 0:
            self.alive &= ~lanes
        frame.returned = frame.returned | lanes

    def branch(self, frame: Frame, inst: Inst, pc: int, mask: Mask, lanes: Mask) -> list[tuple[int, Mask]]:
        """(place, lanes) for every place that lanes go to; the last one runs first."""
        if inst.op == "bra":
            groups = [(inst.targets[0], lanes)]
        else:
            index = operands.reader(self, frame.func, inst.operands[0], "u32")(frame)
            groups = [(target, lanes & (index == k)) for k, target in enumerate(inst.targets)]
            if (lanes & (index >= len(inst.targets))).any():
                raise InterpreterError(f"index outside its table: {inst.text}")
        places: dict[int, Mask] = {}
        for target, group in [*groups, (pc + 1, mask & ~lanes)]:
            if group.any():
                places[target] = places[target] | group if target in places else group
        return list(places.items())

    def call(self, frame: Frame, inst: Inst, lanes: Mask) -> Generator[Barrier | None, Any, None]:
        """call (results), function, (arguments): parameters by value into a frame of its own. Where the function is a
        register's, lanes that name one are together."""
        results, name, arguments = calls.call_parts(inst)
        if not isinstance(name, str):
            values = operands.reader(self, frame.func, name, "u64")(frame)
            for value in np.unique(values[lanes]):
                which = list(self.launch.unit.functions)[(int(value) - FUNCTIONS) // 64]
                yield from self.enter_function(frame, inst, which, results, arguments, lanes & (values == value))
            return
        yield from self.enter_function(frame, inst, name, results, arguments, lanes)

    def enter_function(
        self, frame: Frame, inst: Inst, name: str, results: list[Any], arguments: list[Any], lanes: Mask
    ) -> Generator[Barrier | None, Any, None]:
        func = self.launch.unit.functions.get(name)
        if func is not None and not func.defined and name in PROVIDED:
            self.provide(frame, func, results, arguments, lanes)
            return
        if func is None or not func.defined:
            raise Unsupported(f"call of {name}: {inst.text}")
        params: dict[str, Array] = {}
        for var, operand in zip(func.params, arguments, strict=True):
            params[var.name] = calls.argument_bytes(self, frame, operand, var)
        for var in func.results:
            params[var.name] = np.zeros((self.size, var.size), dtype=np.uint8)
        used = self.local.used
        inner = self.enter(func, params, frame.depth + 1)
        for var in func.params:
            if var.space == "reg":
                inner.regs[var.name] = np.ascontiguousarray(params[var.name]).view(operands.raw_type(var.type))[:, 0]
        yield from self.run(inner, lanes.copy())
        self.local.used = used
        back = lanes & self.alive
        for var, operand in zip(func.results, results, strict=True):
            if var.space == "reg":
                value = inner.regs[var.name]
                inner.params[var.name] = value.view(np.uint8).reshape(self.size, -1)
            calls.take_result(self, frame, operand, var, inner.params[var.name], back)


    def provide(self, frame: Frame, func: Func, results: list[Op], arguments: list[Op], lanes: Mask) -> None:
        """A call of the CUDA runtime, lane after lane."""
        data = [calls.argument_bytes(self, frame, o, var) for var, o in zip(func.params, arguments, strict=True)]
        found = np.zeros((self.size, 8), dtype=np.uint8)
        for lane in np.flatnonzero(lanes):
            values = [int.from_bytes(part[lane].tobytes(), "little") for part in data]
            found[lane] = np.frombuffer(PROVIDED[func.name](self, int(lane), values).to_bytes(8, "little"), np.uint8)
        for var, operand in zip(func.results, results, strict=True):
            calls.take_result(self, frame, operand, var, found[:, : var.size], lanes)

    def say(self, lane: int, text: str) -> None:
        """A thread prints."""
        x, y, z = self.block
        gx, gy, _ = self.launch.grid
        self.launch.printed.append((x + gx * (y + gy * z), int(self.thread[lane]), text))


def run_block(launch: Launch, block: tuple[int, int, int], by_warps: bool) -> None:
    """Run one block to its end. Raises PartCompany where one gang for the block does not do."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    padded = -(-threads // 32) * 32
    shared = Arena(0, launch.shared_bytes + launch.dynamic_shared)
    shared.data[:] = 0xC3
    size = 32 if by_warps else padded
    gangs = [Gang(launch, block, first, size, shared) for first in range(0, padded, size)]
    runs = [gang.start() for gang in gangs]
    answers: list[Any] = [None] * len(gangs)
    waiting: dict[int, Barrier] = {}
    arrived: dict[int, list[Barrier]] = {}
    while not all(gang.finished for gang in gangs):
        progress = False
        for k, gang in enumerate(gangs):
            while not gang.finished and k not in waiting:
                progress = True
                request = advance(gang, runs[k], answers[k])
                answers[k] = None
                if request is not None:
                    if not by_warps and not whole_block(request, gang, threads):
                        raise PartCompany
                    if (request.lanes != gang.alive).any():
                        raise InterpreterError("a barrier in divergent code")
                    arrived.setdefault(request.number, []).append(request)
                    if request.kind != "arrive":
                        waiting[k] = request
                elif not gang.finished and len(gangs) > 1:
                    break
                open_barriers(gangs, waiting, arrived, answers)
        if not progress:
            raise InterpreterError(f"deadlock at barriers {sorted(arrived)}")


def advance(gang: Gang, run: Generator[Barrier | None, Any, None], answer: Any) -> Barrier | None:
    try:
        return run.send(answer)
    except StopIteration:
        gang.finished = True
        return None


def whole_block(request: Barrier, gang: Gang, threads: int) -> bool:
    everybody = request.count == 0 or request.count == -(-threads // 32) * 32
    return request.kind != "arrive" and everybody and bool((request.lanes == gang.alive).all())


def open_barriers(
    gangs: list[Gang], waiting: dict[int, Barrier], arrived: dict[int, list[Barrier]], answers: list[Any]
) -> None:
    """Let the gangs go on whose barrier has all its arrivals."""
    for number, requests in list(arrived.items()):
        if not requests:
            continue
        count = requests[0].count
        if any(r.count != count for r in requests):
            raise InterpreterError(f"barrier {number}: the arrivals differ in their thread count")
        present = sum(len(r.lanes) for r in requests)
        wanted = count or sum(gang.size for gang in gangs if not gang.finished)
        if present < wanted:
            continue
        votes = [r.votes[r.lanes] for r in requests]
        total, lanes = sum(int(v.sum()) for v in votes), sum(len(v) for v in votes)
        outcome = {"popc": total, "and": total == lanes, "or": total > 0}
        arrived[number] = []
        for k in [k for k, r in waiting.items() if r.number == number]:
            answers[k] = outcome.get(waiting.pop(k).kind)


def interpret(
    ptx_text: str,
    kernel: str | None,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    dynamic_shared: int = 0,
    textures: Mapping[str, Texture | Surface] | None = None,
) -> str:
    """Run a kernel; buffers in `args` are changed in place. textures: by name, for `.texref` and `.surfref` variables;
    surfaces are changed like buffers. Returns what it printed, in the order of blocks and threads.

    kernel: its name, or None where the module has one entry. Raises Unsupported, InterpreterError, AccessError,
    PtxSyntaxError.
    """
    unit = parse(ptx_text)
    entries = [f for f in unit.functions.values() if f.entry and f.defined and kernel in (None, f.name)]
    if len(entries) != 1:
        raise InterpreterError(f"no kernel {kernel}, or several: {sorted(unit.functions)}")
    func = entries[0]
    memory = Arena(GLOBAL)
    shared, shared_bytes = place_shared(unit, func)
    symbols = place_globals(unit, func, memory, shared)
    buffers: dict[int, tuple[int, Array]] = {}
    handles: dict[int, Texture | Surface] = {}

    def pointer(array: Array) -> int:
        if id(array) not in buffers:
            address = memory.allocate(array.nbytes)
            memory.bytes_at(address, array.nbytes)[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            buffers[id(array)] = address, array
        return buffers[id(array)][0]

    def handle(texture: Texture | Surface) -> int:
        handles[len(handles) + 1] = texture
        return len(handles)

    params = {v.name: parameter_bytes(v, a, pointer, handle) for v, a in zip(func.params, args, strict=True)}
    launch = Launch(
        unit,
        func,
        triple(grid),
        triple(block),
        memory,
        symbols,
        shared,
        shared_bytes,
        dynamic_shared,
        params,
        handles,
        dict(textures or {}),
    )
    with np.errstate(all="ignore"):
        run_grid(launch)
    for address, array in buffers.values():
        array[...] = memory.bytes_at(address, array.nbytes).view(array.dtype).reshape(array.shape)
    return "".join(text for _, _, text in sorted(launch.printed, key=lambda said: said[:2]))


def run_grid(launch: Launch) -> None:
    by_warps = False
    for z in range(launch.grid[2]):
        for y in range(launch.grid[1]):
            for x in range(launch.grid[0]):
                if by_warps:
                    run_block(launch, (x, y, z), True)
                    continue
                before, said = launch.memory.data.copy(), len(launch.printed)
                surfaces = [(one, one.texels.copy()) for one in launch.surfaces()]
                try:
                    run_block(launch, (x, y, z), False)
                except PartCompany:
                    by_warps = True
                    launch.memory.data[: len(before)] = before
                    for one, texels in surfaces:
                        one.texels[...] = texels
                    del launch.printed[said:]
                    run_block(launch, (x, y, z), True)
