"""Small programs by hand for emulator tests: functions from instruction lists, launches from arrays, any machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.instruction import Control, Function, FunctionInfo, Instr, Module, Param, make
from binalloc.launch.types import DTYPES, Argument, Launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def op(
    name: str, *, stall: int = 15, wbar: int = 7, rbar: int = 7, wait: int = 0, reuse: int = 0,
    guard: Any = (7, False), **f: int,
) -> Instr:  # fmt: skip
    """An instruction with its control code; a stall of 15 hides every fixed latency."""
    return make(name, guard=guard, ctrl=Control(stall, 1, wbar, rbar, wait, reuse), **f)


def module(
    instrs: list[Instr], *, params: dict[str, int] | None = None, machine: str = "gtx680",
    functions: dict[str, list[Instr]] | None = None, constants: dict[int, bytes] | None = None, **info: Any,
) -> Module:  # fmt: skip
    """A module whose kernel `k` is `instrs`, parameters by name and size, with further functions."""
    listed, at = [], 0
    for name, size in (params or {}).items():
        at = -(-at // size) * size
        listed.append(Param(name, at, size))
        at += size
    kernel = Function("k", instrs, FunctionInfo(params=listed, machine=machine, **info))
    others = [
        Function(n, code, FunctionInfo(kind="function", machine=machine)) for n, code in (functions or {}).items()
    ]
    result = Module([kernel, *others], constants=constants or {})
    result.layout()
    return result


def go(
    m: Module, *, grid: int = 1, block: int = 32, buffers: dict[str, Any] | None = None, engine: str = "python",
    machine: Machine | str = "gtx680", dynamic: int = 0, **options: Any,
) -> Result:  # fmt: skip
    """Run kernel `k` with the arrays of `buffers` as arguments."""
    arrays = {k: np.asarray(v) for k, v in (buffers or {}).items()}
    arguments = tuple(Argument(k, "buffer", DTYPE_NAMES[v.dtype], v.shape) for k, v in arrays.items())
    launch = Launch("k", (grid, 1, 1), (block, 1, 1), dynamic, arguments)
    target = load_machine(machine) if isinstance(machine, str) else machine
    return run(m, "k", launch, target, engine=engine, buffers=arrays, **options)


def address(register: int = 4, bank: int = 0) -> list[Instr]:
    """R0 = thread in block, R2:R3 = pointer c[0][bank], R<register> pair = pointer + 4 * thread."""
    return [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("MOV", rd=2, form=2, cbank=0, coff=bank),
        op("MOV", rd=3, form=2, cbank=0, coff=bank + 4),
        op("IMAD.WIDE", rd=register, ra=0, form=1, imm=4, rc=2, wait=1),
    ]


def store(register: int) -> list[Instr]:
    """Store R<register> at the thread's element and end."""
    return [op("STG", ra=4, rb=register, width=4, rbar=5), op("EXIT", wait=32)]


def outcome(body: list[Instr], *, threads: int = 32, grid: int = 1, register: int = 6, **options: Any) -> Any:
    """What R<register> of every thread of a one-block launch is after `body` (which may use R0 = thread, R6 and up)."""
    info = options.pop("info", {})
    m = module([*address(), *body, *store(register)], params={"x": 8}, **info)
    return go(m, grid=grid, block=threads, buffers={"x": np.zeros(threads, np.uint32)}, **options).buffers["x"]
