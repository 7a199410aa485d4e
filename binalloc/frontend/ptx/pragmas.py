"""This module reads pragmas. One is kept; the others are ignored and listed."""

from __future__ import annotations

from binalloc.frontend.ptx.ast import PtxFunction
from binalloc.frontend.ptx.lexer import TokenCursor

SMEM_SPILLING = "enable_smem_spilling"  # the pragma that is kept: ptxas then spills registers to shared memory
_PRAGMAS = ("nounroll", "frequency", "used_bytes_mask")  # pragmas that are keys of `ignored.FORMS`


def take_pragma(tokens: TokenCursor, function: PtxFunction | None = None) -> int:
    """Take `.pragma`, its strings and the semicolon. Return the offset behind the semicolon.

    function: the function whose body has the pragma; None outside of bodies.
    """
    tokens.advance()
    while True:
        if tokens.kind != "string":
            tokens.unexpected("a string")
        at, text = tokens.at, tokens.take()
        words = text[1:-1].split()
        word = words[0] if words else ""
        if word != SMEM_SPILLING:
            tokens.source.ignore(at, word if word in _PRAGMAS else "pragma", f".pragma {text}")
        elif function is None or not function.is_entry:
            tokens.source.ignore(at, "smem-place", f".pragma {text}")
        else:
            function.smem_spilling = True
        if not tokens.accept(","):
            break
    if tokens.value != ";":
        tokens.unexpected("';'")
    return tokens.at + 1
