"""One line of assembly is read with this cursor. It also reads sums of numbers, names and a register."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.isa.table.fields import PT, RZ
from binalloc.isa.text.lexer import AssemblyPlace, Token

REGISTERS = {f"R{i}": i for i in range(RZ)} | {"RZ": RZ}  # registers by the names of assembly
PREDICATES = {f"P{i}": i for i in range(PT)} | {"PT": PT}  # predicates likewise


class LineCursor:
    """A line is read by a cursor over its tokens, with the names in scope."""

    __slots__ = ("at", "names", "place", "toks")

    def __init__(self, toks: list[Token], place: AssemblyPlace, names: Mapping[str, int]) -> None:
        self.toks = toks
        self.place = place
        self.names = names
        self.at = 0

    @property
    def tok(self) -> Token:
        """Return the token at the cursor."""
        return self.toks[self.at]

    def take(self, text: str) -> bool:
        """Step over the punctuation `text` if it is at the cursor; return whether it was."""
        tok = self.toks[self.at]
        if tok.kind == "punct" and tok.text == text:
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        """Step over the punctuation `text`, or refuse the line."""
        if not self.take(text):
            self.unexpected(repr(text))

    def unexpected(self, expected: str, remedy: str | None = None) -> None:
        """Raise MalformedInput for the token at the cursor."""
        tok = self.tok
        found = "the end of the line" if tok.kind == "end" else repr(tok.text)
        self.place.fail(tok.column, "syntax error", found=found, expected=expected, remedy=remedy)

    def done(self) -> bool:
        """Return whether the cursor is at the end of the line."""
        return self.toks[self.at].kind == "end"

    def finish(self) -> None:
        """Refuse the line unless the cursor is at its end."""
        if not self.done():
            self.unexpected("the end of the line")

    def integer(self) -> int:
        """Return the value of an expression of integers and names: + - * and parentheses."""
        base, value = self.address(registers=False)
        assert base < 0
        return value

    def address(self, registers: bool = True) -> tuple[int, int]:
        """Return the value of a sum with at most one register: (register or -1, number)."""
        base, total, sign = -1, 0, 1
        if self.take("-"):
            sign = -1
        while True:
            tok = self.tok
            if registers and tok.kind == "name" and (text := tok.text.removesuffix(".64")) in REGISTERS:
                if base >= 0 or sign < 0:
                    self.place.fail(
                        tok.column, "an address has at most one register, added", found=tok.text,
                        expected="a number or name", remedy="Compute the sum with IADD3 first.",
                    )  # fmt: skip
                base = REGISTERS[text]
                self.at += 1
            else:
                total += sign * self._product()
            if self.take("+"):
                sign = 1
            elif self.take("-"):
                sign = -1
            else:
                return base, total

    def _product(self) -> int:
        """Return the value of factors and `*`."""
        column = self.tok.column
        value = self._factor()
        while self.take("*"):
            value *= self._factor()
            if abs(value) >> 512:  # beyond the 64 bits of a .quad; without a limit, powers of powers would never end
                self.place.fail(column, "product out of range", found="more than 512 bits")
        return value

    def _factor(self) -> int:
        """Return the value of a number, a name, a negation or parentheses."""
        tok = self.tok
        if tok.kind == "int":
            self.at += 1
            return number(tok.text)
        if tok.kind == "name":
            if tok.text not in self.names:
                self.place.fail(
                    tok.column, "undefined name", found=repr(tok.text), expected="a number or a name declared above",
                    remedy="Declare it with .equ, .shared, .param or in a .const bank before its first use.",
                )  # fmt: skip
            self.at += 1
            return self.names[tok.text]
        if self.take("-"):
            return -self._factor()
        if self.take("("):
            value = self.integer()
            self.need(")")
            return value
        self.unexpected("a number or a name")
        raise AssertionError


def number(text: str) -> int:
    """Return the value of an integer token."""
    return int(text) if text.isdigit() else int(text, 0)
