"""This module adds the functions of the CUDA runtime that no PTX text defines.

A module that calls such a function gets our own from `runtime.ptx`. There the function has the name `__binalloc_` and
its CUDA name without leading underscores. From then on it is code like any other: allocated, rewritten, proven, timed.
ISA.md, Device runtime, says what these functions leave for the host, and where. It also describes the variable that
replaces the environment registers: the grid of a cooperative launch synchronises through it.

The input is a parsed module. The result is a module in which none of these functions is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.runtime import GRID, GRID_ALIGN, GRID_BYTES, PREFIX, PROVIDED, VARIABLE

_WORDS = (("b32",), ("u32",), ("s32",))
"""last modifier of the moves that read an environment register: they are 32 bits wide."""


ENVIRONMENT = {"%envreg1": 4, "%envreg2": 0}
"""The environment registers that together hold the address of a cooperative launch's workspace. Each is replaced by a
load from our variable, at this byte offset."""


def with_runtime(module: ast.PtxModule) -> ast.PtxModule:
    """Return the module with bodies for the functions of PROVIDED that it declares and does not define.

    Moves from the registers of ENVIRONMENT become loads of a variable. The module itself is returned if it has neither.
    Raises MalformedInput where the module defines a name of the runtime's own.
    """
    return _with_grid(_with_functions(module))


def _with_grid(module: ast.PtxModule) -> ast.PtxModule:
    functions = {name: _reads_variable(function) for name, function in module.functions.items()}
    if all(functions[name] is function for name, function in module.functions.items()):
        return module
    grid = ast.Variable(GRID, "global", "b8", GRID_BYTES, GRID_ALIGN, ast.TextPosition(0, 0), array=True)
    _require_free(module, [GRID])
    return replace(module, functions=functions, variables=module.variables | {GRID: grid})


def _reads_variable(function: ast.PtxFunction) -> ast.PtxFunction:
    """Return the function with loads in place of moves from the registers of ENVIRONMENT; itself if it has none."""
    body = function.body
    if body is None or not any(_register_of(ins) for ins in body):
        return function
    return replace(function, body=[_load(ins) if _register_of(ins) else ins for ins in body])  # type: ignore[arg-type]


def _register_of(ins: ast.Instruction | ast.Label) -> str:
    """Return the register of ENVIRONMENT that a move reads, or ""."""
    if isinstance(ins, ast.Label) or ins.op != "mov" or len(ins.operands) != 2 or ins.mods[-1:] not in _WORDS:
        return ""
    source = ins.operands[1]
    return source.name if isinstance(source, ast.Special) and source.name in ENVIRONMENT else ""


def _load(ins: ast.Instruction) -> ast.Instruction:
    address = ast.Address(ast.Symbol(GRID), ENVIRONMENT[_register_of(ins)])
    return replace(ins, op="ld", mods=("global", *ins.mods), operands=(ins.operands[0], address))


def _require_free(module: ast.PtxModule, names: Iterable[str]) -> None:
    """Raise MalformedInput where the module has one of the names."""
    taken = {*names} & (module.functions | module.variables).keys()
    if taken:
        raise MalformedInput(
            "the name is of the runtime that is to be added", file=module.path or None, found=min(taken),
            expected=f"no names that begin with {PREFIX}",
        )  # fmt: skip


def _with_functions(module: ast.PtxModule) -> ast.PtxModule:
    missing = [name for name in PROVIDED if name in module.functions and module.functions[name].body is None]
    if not missing:
        return module
    runtime = _runtime()
    _require_free(module, [*runtime.functions, *runtime.variables])
    own = {PREFIX + name.lstrip("_") for name in PROVIDED}
    functions = dict(module.functions)
    for name in missing:
        functions[name] = replace(runtime.functions[PREFIX + name.lstrip("_")], name=name)
    functions |= {name: function for name, function in runtime.functions.items() if name not in own}
    return replace(module, functions=functions, variables=module.variables | runtime.variables)


@cache
def _runtime() -> ast.PtxModule:
    from importlib.resources import files

    text = files("binalloc.frontend.runtime").joinpath("runtime.ptx").read_text(encoding="utf-8")
    module = parse(text, "runtime.ptx")
    assert VARIABLE in module.variables
    for name in (PREFIX + "assertfail", PREFIX + "stop"):
        module.functions[name].noreturn = True
    return module
