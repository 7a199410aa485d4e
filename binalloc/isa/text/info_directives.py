"""Directives of assembly that fill a function's info record are here. So are the readers of arguments, for all
directives.

There is one method `_do_NAME` for each. The assembler, a subclass, has the directives of code, data and modules.
"""

from __future__ import annotations

import json

from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.names import NAME
from binalloc.isa.source_facts import MEMORY_MODELS, MOST
from binalloc.isa.text.body import Body
from binalloc.isa.text.lexer import AssemblyPlace, Token
from binalloc.isa.text.line import REGISTERS, LineCursor


class InfoDirectives:
    """Info directives fill the info record of the function that is being read."""

    def __init__(self, path: str) -> None:
        self.place = AssemblyPlace(path, 0)
        self.body: Body | None = None  #: the function that is being read
        self.machine = ""  #: by `.machine` outside of functions, for all that follow
        self.target = ""  #: by `.target`, likewise
        self.memory_model = MEMORY_MODELS[0]  #: by `.memory_model`, likewise

    def _need_body(self) -> Body:
        """Return the function that is being read; refuse the directive outside of one."""
        if self.body is None:
            self.place.fail(1, "this directive belongs inside a function", expected=".kernel NAME or .func NAME before")
        return self.body

    def _name(self, line: LineCursor, what: str) -> Token:
        """Return the name at the cursor. what: the meaning of the name, for messages."""
        tok = line.tok
        if tok.kind != "name" or not NAME.fullmatch(tok.text):
            line.unexpected(what)
        line.at += 1
        return tok

    def _declare(self, tok: Token, value: int, names: dict[str, int]) -> None:
        """Declare a name, which must be new."""
        if tok.text in names:
            self.place.fail(tok.column, "duplicate name", found=repr(tok.text), remedy="Rename one of the two.")
        names[tok.text] = value

    def _number(self, line: LineCursor, lo: int = 0, hi: int = (1 << 32) - 1) -> int:
        """Return the number at the cursor, from `lo` to `hi`."""
        column = line.tok.column
        value = line.integer()
        if not lo <= value <= hi:
            self.place.fail(column, "number out of range", found=value, expected=f"{lo}..{hi}")
        return value

    def _register(self, line: LineCursor) -> int:
        """Return the number of the register at the cursor."""
        tok = line.tok
        if tok.text not in REGISTERS or tok.text == "RZ":
            line.unexpected("a register R0..R254")
        line.at += 1
        return REGISTERS[tok.text]

    def _string(self, line: LineCursor) -> str:
        """Return the string at the cursor."""
        tok = line.tok
        if tok.kind != "string":
            line.unexpected('a string "..."')
        line.at += 1
        try:
            return str(json.loads(tok.text))
        except ValueError:
            self.place.fail(tok.column, "bad escape in a string", found=tok.text, expected="JSON's escapes")

    def _do_registers(self, line: LineCursor) -> None:
        body = self._need_body()
        body.fn.info.registers = self._number(line, 0, NO_REGISTER)
        body.registers_given = True

    def _do_block(self, line: LineCursor) -> None:
        sizes = []
        for _ in range(3):
            sizes.append(self._number(line, 0, 1024))
            line.take(",")
            if line.done():
                break
        x, y, z = [*sizes, 1, 1][:3]
        self._need_body().fn.info.block = (x, y, z)

    def _do_max_threads(self, line: LineCursor) -> None:
        self._need_body().fn.info.max_threads = self._number(line, 0, 1024)

    def _do_local_frame(self, line: LineCursor) -> None:
        self._need_body().fn.info.local_frame = self._number(line)

    def _do_local_bytes(self, line: LineCursor) -> None:
        self._need_body().fn.info.local_bytes = self._number(line)

    def _do_spill_local(self, line: LineCursor) -> None:
        self._need_body().fn.info.spill_local = self._number(line)

    def _do_local_stack(self, line: LineCursor) -> None:
        self._need_body().fn.info.local_stack = self._register(line)

    def _do_shared_bytes(self, line: LineCursor) -> None:
        body = self._need_body()
        body.fn.info.shared_bytes = self._number(line)
        body.shared_given = True

    def _do_slots(self, line: LineCursor) -> None:
        info = self._need_body().fn.info
        info.slot_bytes = self._number(line)
        line.take(",")
        if not line.done():
            info.slot_pointer = self._register(line)

    def _do_machine(self, line: LineCursor) -> None:
        tok = line.tok
        if tok.kind == "string":
            name = self._string(line)
        else:
            name = self._name(line, "a machine's name").text
        if self.body is not None:
            self.body.fn.info.machine = name
        else:
            self.machine = name

    def _do_target(self, line: LineCursor) -> None:
        name = self._string(line) if line.tok.kind == "string" else self._name(line, "a target, such as sm_80").text
        if self.body is not None:
            self.body.fn.info.target = name
        else:
            self.target = name

    def _do_memory_model(self, line: LineCursor) -> None:
        tok = line.tok
        if tok.text not in MEMORY_MODELS:
            line.unexpected(" or ".join(MEMORY_MODELS))
        line.at += 1
        if self.body is not None:
            self.body.fn.info.memory_model = tok.text
        else:
            self.memory_model = tok.text

    def _do_max_registers(self, line: LineCursor) -> None:
        self._need_body().fn.info.max_registers = self._number(line, 0, MOST)

    def _do_min_blocks(self, line: LineCursor) -> None:
        self._need_body().fn.info.min_blocks = self._number(line, 0, MOST)

    def _do_smem_spilling(self, _line: LineCursor) -> None:
        self._need_body().fn.info.smem_spilling = True
