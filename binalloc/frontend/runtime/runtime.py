"""The CUDA runtime's functions that no PTX text defines: a module that calls them gets ours, from `runtime.ptx`.

They are code like any other from then on: allocated, rewritten, proven, timed. What they leave for the host, and where,
is written in ISA.md under Runtime. Needs a parsed module; gives one in which they have bodies.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.runtime import VARIABLE

PROVIDED = ("vprintf", "malloc", "free", "__assertfail")
"""What may be called without a definition. The function of ours is called `__binalloc_` and the name without its
underlines in front."""
PREFIX = "__binalloc_"


def with_runtime(module: ast.Module) -> ast.Module:
    """The module with bodies for those of PROVIDED that it declares and does not define; itself if there are none.

    Raises MalformedInput where the module has a name of the runtime's own.
    """
    missing = [name for name in PROVIDED if name in module.functions and module.functions[name].body is None]
    if not missing:
        return module
    runtime = _runtime()
    taken = (runtime.functions | runtime.variables).keys() & (module.functions | module.variables).keys()
    if taken:
        raise MalformedInput(
            "the name is of the runtime that is to be added", file=module.path or None, found=min(taken),
            expected=f"no names that begin with {PREFIX}",
        )  # fmt: skip
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
