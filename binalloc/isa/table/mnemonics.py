"""A mnemonic is the opcode's name with its modifiers; it is parsed and printed here by the table alone."""

from __future__ import annotations

import difflib
from functools import lru_cache

from binalloc.isa.table.opcodes import BY_NAME, MODIFIERS, OPCODES, OpSpec

# The value of a modifier that is left out. One that prints every value and is not listed here must be given.
DEFAULTS: dict[str, int] = {
    name: 0 for name, m in MODIFIERS.items() if "" in m.values or name in ("bop", "stype", "bar", "srw", "ftyp")
} | {"width": MODIFIERS["width"].values.index("32")}


class BadMnemonic(ValueError):
    """A mnemonic names no operation; `found`, `expected` and `remedy` are for the message."""

    def __init__(self, message: str, found: str, expected: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message, self.found, self.expected, self.remedy = message, found, expected, remedy


@lru_cache(maxsize=4096)
def parse_mnemonic(text: str) -> tuple[OpSpec, tuple[tuple[str, int], ...]]:
    """Return opcode and modifier fields of `NAME.MOD.MOD`, modifiers in any order. Raises BadMnemonic."""
    parts = text.split(".")
    op = None
    for n in range(len(parts), 0, -1):
        op = BY_NAME.get(".".join(parts[:n]))
        if op is not None:
            parts = parts[n:]
            break
    if op is None:
        close = difflib.get_close_matches(text.split(".")[0].upper(), BY_NAME, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(close)}?" if close else "ISA.md lists the operations."
        raise BadMnemonic("unknown mnemonic", repr(text), "an operation of the table in ISA.md", hint)
    values: dict[str, int] = {}
    while parts:
        parts = parts[_take(op, parts, values, text) :]
    for field in op.modifiers:
        if field not in values:
            if field not in DEFAULTS:
                choices = ", ".join(v for v in MODIFIERS[field].values if v)
                raise BadMnemonic(f"{op.name} lacks a modifier", repr(text), f"one of {choices}")
            values[field] = DEFAULTS[field]
    return op, tuple(values.items())


def _take(op: OpSpec, parts: list[str], values: dict[str, int], text: str) -> int:
    """Match the first one or two parts to a modifier of `op` that is not given yet; return how many parts it takes."""
    seen = False
    for n in (2, 1):
        word = ".".join(parts[:n])
        if len(parts) < n:
            continue
        for field in op.modifiers:
            if word in MODIFIERS[field].values:
                seen = True
                if field not in values:
                    values[field] = MODIFIERS[field].values.index(word)
                    return n
    choices = ", ".join(v for field in op.modifiers for v in MODIFIERS[field].values if v) or "no modifier"
    problem = "is given twice" if seen else "does not belong to it"
    raise BadMnemonic(f"{op.name}: modifier .{parts[0]} {problem}", repr(text), choices)


@lru_cache(maxsize=4096)
def print_mnemonic(code: int, values: tuple[int, ...]) -> str:
    """Return the canonical mnemonic of opcode `code`. values: the modifier fields in table order."""
    op = OPCODES[code]
    texts = [MODIFIERS[field].values[value] for field, value in zip(op.modifiers, values, strict=True)]
    return ".".join([op.name, *(t for t in texts if t)])
