"""Small programs by hand for emulator tests: functions from instruction lists, launches from dicts, all machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.emulator.launch_types import Launch
from binalloc.emulator.run import Result, run
from binalloc.isa.instruction import Control, Function, FunctionInfo, Instr, Module, Param, make
from binalloc.models.machine import load_machine
from binalloc.models.machine_model import Machine

STALL = Control(stall=15)


def op(name: str, *, stall: int = 15, wbar: int = 7, rbar: int = 7, wait: int = 0, guard: Any = (7, False), **f: int) -> Instr:
    return make(name, guard=guard, ctrl=Control(stall, 1, wbar, rbar, wait), **f)


def module(
    instrs: list[Instr], *, params: dict[str, int] | None = None, machine: str = "gtx680",
    functions: dict[str, list[Instr]] | None = None, **info: Any,
) -> Module:  # fmt: skip
    listed, at = [], 0
    for name, size in (params or {}).items():
        at = -(-at // size) * size
        listed.append(Param(name, at, size))
        at += size
    kernel = Function("k", instrs, FunctionInfo(params=listed, machine=machine, **info))
    others = [Function(n, code, FunctionInfo(kind="function", machine=machine)) for n, code in (functions or {}).items()]
    result = Module([kernel, *others])
    result.layout()
    return result


def go(
    m: Module, *, grid: int = 1, block: int = 32, buffers: dict[str, Any] | None = None, engine: str = "python",
    machine: Machine | str = "gtx680", dynamic: int = 0, **options: Any,
) -> Result:  # fmt: skip
    from binalloc.emulator.launch_types import Argument

    arrays = {k: np.asarray(v) for k, v in (buffers or {}).items()}
    names = {v: k for k, v in __import__("binalloc.emulator.launch_types", fromlist=["DTYPES"]).DTYPES.items()}
    arguments = tuple(Argument(k, "buffer", names[v.dtype], v.shape) for k, v in arrays.items())
    launch = Launch("k", (grid, 1, 1), (block, 1, 1), dynamic, arguments)
    target = load_machine(machine) if isinstance(machine, str) else machine
    return run(m, "k", launch, target, engine=engine, buffers=arrays, **options)
