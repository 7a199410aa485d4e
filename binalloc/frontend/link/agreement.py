"""This module decides whether two declarations of one symbol, in different files, mean the same thing.

Alignment is no contradiction: a variable gets its strictest alignment, and a function's parameters are words in
registers.
"""

from __future__ import annotations

from binalloc.frontend.ptx.ast import TYPE_BYTES, PtxFunction, Variable

Item = PtxFunction | Variable


def difference(one: Item, other: Item) -> tuple[str, str] | None:
    """Return the property in which two declarations differ, as each of them has it, in words; None where they agree."""
    if isinstance(one, Variable) and isinstance(other, Variable):
        return _of_variables(one, other)
    if isinstance(one, PtxFunction) and isinstance(other, PtxFunction):
        return _of_functions(one, other)
    return kind(one), kind(other)


def kind(item: Item) -> str:
    """Return the kind of a symbol in words: `a function`."""
    if isinstance(item, Variable):
        return f"a .{item.space} variable"
    return "a kernel" if item.is_entry else "a function"


def _of_variables(one: Variable, other: Variable) -> tuple[str, str] | None:
    if one.space != other.space:
        return f".{one.space}", f".{other.space}"
    # The largest of several common variables is chosen, whatever its type (PTX ISA, section 11.6.4).
    if "common" in (one.linkage, other.linkage):
        return None
    if one.size and other.size and one.size != other.size:
        return f"{one.size} bytes", f"{other.size} bytes"
    return None if _same_type(one.type, other.type) else (f".{one.type}", f".{other.type}")


def _of_functions(one: PtxFunction, other: PtxFunction) -> tuple[str, str] | None:
    if one.is_entry != other.is_entry:
        return kind(one), kind(other)
    for what, first, second in (
        ("parameter", one.parameters, other.parameters),
        ("result", one.results, other.results),
    ):
        if len(first) != len(second):
            return f"{len(first)} {what}s", f"{len(second)}"
        for number, (a, b) in enumerate(zip(first, second, strict=True), start=1):
            if a.size != b.size or not _same_type(a.type, b.type):
                return f"{what} {number} of {_shape(a)}", _shape(b)
    return None


def _shape(v: Variable) -> str:
    return f".{v.type}" if v.size == TYPE_BYTES[v.type] else f"{v.size} bytes"


def _same_type(one: str, other: str) -> bool:
    """Return whether both types are the same, or one is untyped bits, or they are integers that differ in
    signedness."""
    a, b = _kind(one), _kind(other)
    return a == b or "" in (a, b)


def _kind(type_: str) -> str:
    """Return a type without the details in which declarations may differ: "" for bits, the width for integers."""
    letter, rest = type_[0], type_[1:]
    if not rest.isdigit() or letter == "f":
        return type_
    return "" if letter == "b" else rest
