"""The CUDA runtime's functions that no PTX text defines: a module that calls them gets ours, from `runtime.ptx`, where
the function is called `__binalloc_` and its name without underlines in front.

They are code like any other from then on: allocated, rewritten, proven, timed. What they leave for the host, and where,
is written in ISA.md, Device runtime; so is the variable that stands for the environment registers by which the grid of
a cooperative launch meets. Needs a parsed module; gives one in which nothing of these is missing.
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


ENVIRONMENT = {"%envreg1": 4, "%envreg2": 0}
"""Environment registers that together hold the address of a cooperative launch's workspace: the byte of our variable
that is to be read in place of each."""


def with_runtime(module: ast.Module) -> ast.Module:
    """The module with bodies for those of PROVIDED that it declares and does not define, and with a variable in place
    of the registers of ENVIRONMENT; itself if there is nothing of these.

    Raises MalformedInput where the module has a name of the runtime's own.
    """
    return _with_grid(_with_functions(module))


def _with_grid(module: ast.Module) -> ast.Module:
    functions = {name: _reads_variable(function) for name, function in module.functions.items()}
    if all(functions[name] is function for name, function in module.functions.items()):
        return module
    grid = ast.Variable(GRID, "global", "b8", GRID_BYTES, GRID_ALIGN, ast.TextPosition(0, 0), array=True)
    _require_free(module, [GRID])
    return replace(module, functions=functions, variables=module.variables | {GRID: grid})


def _reads_variable(function: ast.Function) -> ast.Function:
    """The function with loads in place of moves from the registers of ENVIRONMENT; itself where it has none."""
    body = function.body
    if body is None or not any(_register_of(ins) for ins in body):
        return function
    return replace(function, body=[_load(ins) if _register_of(ins) else ins for ins in body])  # type: ignore[arg-type]


def _register_of(ins: ast.Instruction | ast.Label) -> str:
    """The register of ENVIRONMENT that a move takes, or nothing."""
    if isinstance(ins, ast.Label) or ins.op != "mov" or len(ins.operands) != 2 or ins.mods[-1:] not in _WORDS:
        return ""
    source = ins.operands[1]
    return source.name if isinstance(source, ast.Special) and source.name in ENVIRONMENT else ""


def _load(ins: ast.Instruction) -> ast.Instruction:
    address = ast.Address(ast.Symbol(GRID), ENVIRONMENT[_register_of(ins)])
    return replace(ins, op="ld", mods=("global", *ins.mods), operands=(ins.operands[0], address))


def _require_free(module: ast.Module, names: Iterable[str]) -> None:
    """MalformedInput where the module has one of the names."""
    taken = {*names} & (module.functions | module.variables).keys()
    if taken:
        raise MalformedInput(
            "the name is of the runtime that is to be added", file=module.path or None, found=min(taken),
            expected=f"no names that begin with {PREFIX}",
        )  # fmt: skip


def _with_functions(module: ast.Module) -> ast.Module:
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
def _runtime() -> ast.Module:
    from importlib.resources import files

    text = files("binalloc.frontend.runtime").joinpath("runtime.ptx").read_text(encoding="utf-8")
    module = parse(text, "runtime.ptx")
    assert VARIABLE in module.variables
    for name in (PREFIX + "assertfail", PREFIX + "stop"):
        module.functions[name].noreturn = True
    return module
