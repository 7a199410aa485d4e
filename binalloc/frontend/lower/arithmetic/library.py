"""This module calls the math library. Its functions are written in PTX and lowered by this same front end.

Its files are `binalloc/frontend/lib/*.ptx`. A file with `$rnd` in it is a template for four modules, one for each
rounding rn, rz, rm, rp. `$rnd` stands for the rounding, also inside the functions' names. A module is complete: its
functions call one another by `call`, and use no instruction whose lowering calls the library. Functions begin with
`__binalloc_`. Parameters and results are registers (`.reg`); a 64-bit one is two words, the low one first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from binalloc.frontend.emitter import Guard, Source
from binalloc.frontend.ir import VirtualNode
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.context.modifiers import ROUNDINGS
from binalloc.frontend.ptx import ast

PREFIX = "__binalloc_"  # of the library's names, so that they do not clash with names of a file
_DEFINITION = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?(__binalloc_\w+)\s*\([^)]*\)\s*\{")
"""This pattern matches the definition of a library function."""


def call_library(
    ctx: Context,
    name: str,
    args: Sequence[Source],
    results: int,
    guard: Guard | None = None,
    into: Sequence[int] | None = None,
) -> list[int]:
    """Emit a CALL of library routine `__binalloc_<name>` and add it to ctx.library.

    args: one source per 32-bit word of the parameters, in order. results: words of the result. into: the units to write
    (`results` of them); else fresh ones, an aligned pair or quad for 2 or 4 words. Under a guard the units keep their
    values in the other lanes. Returns the result units.
    """
    routine = PREFIX + name
    ctx.library.add(routine)
    units = tuple(ctx.b.unit(source) for source in args)
    if into is None:
        first = ctx.registers.new(results) if results in (1, 2, 4) else None
        into = [ctx.registers.new() if first is None else first + k for k in range(results)]
    assert len(into) == results
    node: VirtualNode = ctx.b.emit("CALL", guard=guard)
    node.callee, node.args, node.results = routine, units, tuple(into)
    return list(into)


def library_modules(names: Iterable[str]) -> list[tuple[ast.PtxModule, list[str]]]:
    """Return the library's modules that define the routines `names` (with prefix), each with its routines among them.

    Modules are in the order of their files. Only the modules needed are parsed, once in a process. Raises KeyError for
    a name that the library does not have.
    """
    wanted: dict[tuple[str, str], list[str]] = {}
    for name in sorted(names):
        wanted.setdefault(_index()[name], []).append(name)
    return [(_parsed(*key), found) for key, found in sorted(wanted.items())]


@cache
def _texts() -> dict[tuple[str, str], str]:
    """Return (file, rounding) -> PTX text. The rounding is "" for files that are no template."""
    from importlib.resources import files

    out: dict[tuple[str, str], str] = {}
    for entry in sorted(files("binalloc.frontend.lib").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".ptx"):
            text = entry.read_text(encoding="utf-8")
            for rounding in ROUNDINGS[:4] if "$rnd" in text else ("",):
                out[entry.name, rounding] = text.replace("$rnd", rounding)
    return out


@cache
def _index() -> dict[str, tuple[str, str]]:
    """Return routine -> key of the text that defines it."""
    return {name: key for key, text in _texts().items() for name in _DEFINITION.findall(text)}


@cache
def _parsed(file: str, rounding: str) -> ast.PtxModule:
    from binalloc.frontend.ptx.parser import parse

    return parse(_texts()[file, rounding], f"lib/{file}")
