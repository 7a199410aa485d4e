"""Constant banks and global variables are assembled here: `.word`, `.float` and their like become bytes."""

from __future__ import annotations

import math
import struct

from binalloc.isa.text.arguments import float_bits, parse_float
from binalloc.isa.text.lexer import Token
from binalloc.isa.text.line import LineCursor

BANK_LIMIT = 1 << 16  # bytes of a constant bank: a constant's offset has 16 bits
_SIZES = {"byte": 1, "half": 2, "word": 4, "quad": 8}  # bytes of an integer, by directive
_FLOATS = {"float": 4, "double": 8}  # bytes of a float, by directive


class DataBank:
    """A data bank collects the bytes of one constant bank, or of a global variable, while it is assembled; `limit`
    bytes at most."""

    def __init__(self, limit: int = BANK_LIMIT, what: str = "constant bank") -> None:
        self.data = bytearray()
        self.limit = limit
        self.what = what

    def statement(self, line: LineCursor) -> list[tuple[Token, int]]:
        """Read one line; return the names that it declares with their offsets. Values are aligned to their size."""
        names: list[Token] = []
        while line.tok.kind == "name" and line.toks[line.at + 1].text == ":":
            names.append(line.tok)
            line.at += 2
        if not line.done():
            tok = line.tok
            kind = tok.text[1:] if tok.kind == "dot" else ""
            line.at += 1
            if kind in _SIZES or kind in _FLOATS:
                self._align(_SIZES.get(kind) or _FLOATS[kind])
            start = len(self.data)
            if kind in _SIZES:
                self._values(line, lambda: self._integer(line, _SIZES[kind]))
            elif kind in _FLOATS:
                self._values(line, lambda: self._float(line, _FLOATS[kind]))
            elif kind == "space":
                self._grow(line, line.integer(), tok)
            elif kind == "align":
                self._grow(line, -len(self.data) % max(line.integer(), 1), tok)
                start = len(self.data)
            else:
                line.at -= 1
                line.unexpected(".byte, .half, .word, .quad, .float, .double, .space, .align or '}'")
            line.finish()
        else:
            start = len(self.data)
        if len(self.data) > self.limit:
            line.place.fail(1, f"{self.what} too large", found=f"{len(self.data)} bytes", expected=f"{self.limit}")
        return [(name, start) for name in names]

    def _grow(self, line: LineCursor, count: int, tok: Token) -> None:
        """Add `count` zeros. tok: the directive, for messages."""
        if not 0 <= count <= self.limit:
            line.place.fail(tok.column, "size out of range", found=count, expected=f"0..{self.limit}")
        self.data += bytes(count)

    def _align(self, size: int) -> None:
        """Add zeros up to a multiple of `size`."""
        self.data += bytes(-len(self.data) % size)

    def _values(self, line: LineCursor, one: object) -> None:
        """Add a list of values. one: reads one and returns its bytes."""
        assert callable(one)
        self.data += one()
        while line.take(","):
            self.data += one()

    def _integer(self, line: LineCursor, size: int) -> bytes:
        """Return the bytes of the integer at the cursor."""
        column = line.tok.column
        value = line.integer()
        bits = 8 * size
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            line.place.fail(column, "value out of range", found=value, expected=f"{bits} bits")
        return (value & ((1 << bits) - 1)).to_bytes(size, "little")

    def _float(self, line: LineCursor, size: int) -> bytes:
        """Return the bytes of the number at the cursor as a float."""
        column = line.tok.column
        negative = line.tok.text == "-" and line.toks[line.at + 1].kind == "float"
        line.at += negative
        tok = line.tok
        if tok.kind == "float":
            line.at += 1
            value = parse_float(tok.text)[0] * (-1.0 if negative else 1.0)
        else:
            value = float(line.integer())
        if size == 8:
            if math.isinf(value):
                line.place.fail(column, "float out of range", remedy="Write infinity as .quad 0x7ff0000000000000.")
            return struct.pack("<d", value)
        return float_bits(value, False, line.place, column).to_bytes(4, "little")
