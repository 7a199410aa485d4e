"""This module lays out functions in code space after some of them were rewritten.

A code address is a number like any other: it may have been taken by `&function`, computed, or passed in by a launch. So
if anything in the module calls by address, every function that is not rewritten stays where it is, with its code. The
rewritten ones go around them. If nothing does, no address matters, and the functions are laid out one after the other.
"""

from __future__ import annotations

from binalloc.isa.instruction import Function, Module, code_end


def by_address(module: Module) -> bool:
    """Say whether any function of `module` calls by a code address."""
    return any(fn.calls_by_address for fn in module)


def place(original: Module, module: Module, kept: set[str]) -> None:
    """Assign the addresses of `module`; this may reorder the functions. The module has the functions of `original`
    named in `kept` as they were, and new ones among them. A new function of an old name keeps its place if it has room
    there."""
    if not by_address(original):
        module.layout()
        return
    room = _rooms(original)
    at = {fn.name: fn.address for fn in original if fn.name in kept}
    for fn in module:
        if fn.name not in kept and fn.name in room and len(fn.instrs) <= room[fn.name][1]:
            at[fn.name] = room[fn.name][0]
    settled = sorted((fn for fn in module if fn.name in at), key=lambda fn: at[fn.name])
    module.functions = [*settled, *(fn for fn in module if fn.name not in at)]
    module.layout(at)


def _rooms(module: Module) -> dict[str, tuple[int, int]]:
    """Return, by function, its address and the words up to the next function's."""
    out: dict[str, tuple[int, int]] = {}
    before: Function | None = None
    for fn in module:
        if before is not None:
            out[before.name] = (before.address, fn.address - before.address)
        before = fn
    if before is not None:
        out[before.name] = (before.address, code_end(before) - before.address)
    return out
