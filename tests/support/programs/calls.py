"""Calls of a module by name, for tests that move code about: take them down, change the functions, link them again."""

from __future__ import annotations

from binalloc.isa.instruction import Module

Calls = dict[str, dict[int, str]]
"""Per function the words that are direct calls, each with its callee's name."""


def calls_of(module: Module) -> Calls:
    """Every call that enters a function."""
    return {
        fn.name: {
            at: callee.name
            for at, instr in enumerate(fn.instrs)
            if instr.op.control == "call" and (callee := module.callee(fn, at)) is not None
        }
        for fn in module.functions
    }


def link(module: Module, calls: Calls) -> None:
    """Lay the functions out anew and point their calls at the functions of those names; a name without one stays."""
    module.layout()
    places = {fn.name: fn.address for fn in module.functions}
    for fn in module.functions:
        fn.instrs = list(fn.instrs)
        for at, callee in calls.get(fn.name, {}).items():
            if callee in places:
                fn.instrs[at] = fn.instrs[at].replace(target=places[callee] - fn.address - at - 1)
