"""Loom assembly (`.lasm`) becomes a `Module` here. ISA.md, chapter "Assembly", describes the language.

`assemble` needs text and leaves a laid-out, validated module: `container.files.write_module` can write it, and the
emulator can load it. Errors are MalformedInput with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from binalloc.files import text_of
from binalloc.isa.instruction import (
    DYNAMIC,
    ConstantVar,
    Function,
    FunctionInfo,
    GlobalVar,
    Module,
    Origin,
    Param,
    SharedVar,
)
from binalloc.isa.interface.names import NAME
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.text.body import Body, Pending, patch, resolve
from binalloc.isa.text.data import DataBank
from binalloc.isa.text.info_directives import InfoDirectives
from binalloc.isa.text.lexer import AssemblyPlace, Token, tokens
from binalloc.isa.text.line import LineCursor
from binalloc.isa.text.operands import UNIFORM
from binalloc.isa.text.statement import parse_instruction
from binalloc.isa.validate import GLOBAL_LIMIT, fill_resources, validate_module
from binalloc.records import parse_record


def assemble(text: str, path: str = "") -> Module:
    """Assemble one file.

    Args:
        text: the source.
        path: its name, for messages.

    Returns:
        The module, laid out (addresses assigned, branches and calls resolved) and validated.

    Raises:
        MalformedInput: naming file, line, column, what was found and what was expected.
    """
    asm = _Assembler(path)
    for number, line in enumerate(_NEWLINE.split(text), 1):
        asm.line(line, number)
    return asm.finish()


def assemble_file(path: str | Path) -> Module:
    """Assemble a file. Raises MalformedInput where it is not UTF-8, OSError where it cannot be read."""
    data = Path(path).read_bytes()
    try:
        return assemble(text_of(data), str(path))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        AssemblyPlace(str(path), line).fail(1, "not UTF-8 text", found=f"byte {data[error.start]:#04x}")


_RAW = re.compile(r"\s*\.(provenance|origin|inlined)\b\s*(.*)")
"""Directives whose argument is no list of tokens, and that argument."""
_RUN = re.compile(r"-(?:\*(\d{1,9}))?$|(\d{1,9})(?:\.\.(\d{1,9}))?$", re.ASCII)
"""A run of an instruction map. Up to 9 digits: longer numbers are refused here, before they are converted."""
_WORD = re.compile(r"\d{1,9}", re.ASCII)  # the number of a word
_NEWLINE = re.compile(r"\r\n|\r|\n")  # unlike str.splitlines: a form feed or U+2028 does not end a line


class _Assembler(InfoDirectives):
    """An assembler reads one file, line by line; `_do_NAME` handles the directive `.NAME`."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
        self.module = Module(path=path)
        self.names: dict[str, int] = {}  #: names declared outside of functions
        self.bank: DataBank | None = None  #: the constant bank or initial data between braces, where one is open
        self.banks: dict[int, DataBank] = {}
        self.variable: GlobalVar | None = None  #: the variable that `bank` belongs to, if any
        self.bodies: list[Body] = []
        self.calls: list[tuple[Body, Pending]] = []  #: to be resolved at the end of the file
        self.auto_reconv = False  #: whether `.auto_reconv` holds for all functions from here on

    # -- one line ------------------------------------------------------------------------------------------------

    def line(self, text: str, number: int) -> None:
        """Read one line. number: from 1."""
        self.place = place = AssemblyPlace(self.path, number)
        raw = _RAW.match(text)
        if raw:
            column = raw.start(2) + 1
            {"provenance": self._provenance, "origin": self._origin, "inlined": self._inlined}[raw[1]](raw[2], column)
            return
        toks = tokens(text, place)
        first = toks[0]
        if first.kind == "end":
            return
        if self.bank is not None:
            self._data(LineCursor(toks, place, self.names))
            return
        names = self.body.names if self.body else self.names
        line = LineCursor(toks, place, names)
        while first.kind in ("name", "dot") and line.toks[line.at + 1].text == ":":
            self._label(first)
            line.at += 2
            first = line.tok
        if first.kind == "end":
            return
        if first.kind == "dot":
            self._directive(line)
            return
        if self.body is None:
            place.fail(
                first.column, "an instruction outside of a function", found=repr(first.text),
                expected=".kernel NAME or .func NAME before it",
            )  # fmt: skip
        self._instruction(line, self.body)

    def _label(self, tok: Token) -> None:
        """Add a label to the function."""
        body = self.body
        if body is None:
            self.place.fail(tok.column, "a label outside of a function", found=repr(tok.text))
        if tok.text in body.labels:
            self.place.fail(
                tok.column, "duplicate label", found=repr(tok.text), expected="a name not used in this function",
                remedy="Rename one of the two.",
            )  # fmt: skip
        if tok.text == UNIFORM:
            self.place.fail(tok.column, "`uniform` cannot name a label", remedy="Rename it.")
        body.labels[tok.text] = len(body.fn.instrs)
        if tok.kind == "name":
            body.fn.labels.setdefault(len(body.fn.instrs), tok.text)

    def _instruction(self, line: LineCursor, body: Body) -> None:
        """Add an instruction to the function, and note its labels and callees for later."""
        index = len(body.fn.instrs)
        ins, fixups = parse_instruction(line)
        body.fn.instrs.append(ins)
        body.places.append(self.place)
        if body.line is not None:
            body.fn.lines[index] = body.line
            body.line = None
        if body.touches:
            body.fn.touches[index] = body.touches
            body.touches = ()
        for fixup in fixups:
            entry = Pending(index, fixup, self.place)
            (self.calls.append((body, entry)) if fixup.kind in ("call", "address") else body.pending.append(entry))

    # -- directives ----------------------------------------------------------------------------------------------

    def _directive(self, line: LineCursor) -> None:
        """Read a directive by its method."""
        tok = line.tok
        name = tok.text[1:]
        handler: Callable[[LineCursor], None] | None = (
            getattr(self, f"_do_{name}", None) if name.isidentifier() else None
        )
        if handler is None:
            known = sorted(n[4:] for n in dir(self) if n.startswith("_do_"))
            self.place.fail(
                tok.column, "unknown directive", found=repr(tok.text),
                expected=", ".join("." + n for n in [*known, "inlined", "origin", "provenance"]),
            )  # fmt: skip
        line.at += 1
        handler(line)
        line.finish()

    def _begin(self, line: LineCursor, kind: str) -> None:
        """Begin a function."""
        tok = self._name(line, "the function's name")
        if self.body is not None:
            self.place.fail(
                tok.column, "a function inside a function", found=repr(tok.text),
                expected=f".end of {self.body.fn.name!r} before it",
            )  # fmt: skip
        if any(b.fn.name == tok.text for b in self.bodies):
            self.place.fail(tok.column, "duplicate function", found=repr(tok.text), remedy="Rename one of the two.")
        fn = Function(tok.text, [], self._info(kind))
        self.body = Body(fn, self.place, dict(self.names), auto_reconv=self.auto_reconv)

    def _info(self, kind: str) -> FunctionInfo:
        return FunctionInfo(kind=kind, machine=self.machine, target=self.target, memory_model=self.memory_model)

    def _do_kernel(self, line: LineCursor) -> None:
        self._begin(line, "kernel")

    def _do_func(self, line: LineCursor) -> None:
        self._begin(line, "function")

    def _do_end(self, line: LineCursor) -> None:
        body = self._need_body()
        resolve(body, self.place)
        self.bodies.append(body)
        self.module.functions.append(body.fn)
        self.body = None

    def _do_address(self, line: LineCursor) -> None:
        self._need_body().address = self._number(line)

    def _do_param(self, line: LineCursor) -> None:
        body = self._need_body()
        tok = self._name(line, "the parameter's name")
        line.take(",")
        size = self._number(line, 1, 0xFFFF)
        last = body.fn.info.params[-1] if body.fn.info.params else Param("", 0, 0)
        offset = auto_param_offset(last, size)
        line.take(",")
        if not line.done():
            offset = self._number(line, 0, 0xFFFF)
        body.fn.info.params.append(Param(tok.text, offset, size))
        self._declare(tok, offset, body.names)

    def _do_shared(self, line: LineCursor) -> None:
        body = self._need_body()
        tok = self._name(line, "the shared variable's name")
        line.take(",")
        size = self._number(line, 1)
        line.take(",")
        align = 4 if line.done() else self._number(line, 1, 1 << 16)
        end = max((v.offset + v.size for v in body.fn.shared), default=0)
        line.take(",")
        offset = -(-end // align) * align if line.done() else self._number(line)
        body.fn.shared.append(SharedVar(tok.text, offset, size, align))
        self._declare(tok, offset, body.names)

    def _do_equ(self, line: LineCursor) -> None:
        tok = self._name(line, "a name")
        line.take(",")
        self._declare(tok, line.integer(), self.body.names if self.body else self.names)

    def _do_auto_reconv(self, line: LineCursor) -> None:
        if self.body is not None:
            self.body.auto_reconv = True
        else:
            self.auto_reconv = True

    def _do_file(self, line: LineCursor) -> None:
        self._need_body().file = self._string(line)

    def _do_line(self, line: LineCursor) -> None:
        body = self._need_body()
        body.line = (body.file, self._number(line, 0, (1 << 31) - 1))

    def _do_touches(self, line: LineCursor) -> None:
        """Read the variables that the next instruction touches."""
        body = self._need_body()
        names: set[str] = set()
        while True:
            tok = line.tok
            if tok.kind != "name" and tok.text != DYNAMIC:
                self.place.fail(
                    tok.column, "syntax error", found=repr(tok.text),
                    expected=f"a shared variable, or {DYNAMIC} for dynamic shared memory",
                )  # fmt: skip
            if tok.text in names:
                self.place.fail(tok.column, "named twice", found=repr(tok.text), remedy="Name it once.")
            names.add(tok.text)
            line.at += 1
            if not line.take(","):
                break
        if body.touches:
            self.place.fail(1, "two .touches in front of one instruction", remedy="Name all variables in one.")
        body.touches = tuple(sorted(names))

    def _do_const(self, line: LineCursor) -> None:
        if self.body is not None:
            self.place.fail(1, "a constant bank inside a function", remedy="Move .const out of .kernel/.func ... .end.")
        number = self._number(line, 1, FIELDS["cbank"].maximum)
        line.need("{")
        self.bank = self.banks.setdefault(number, DataBank())

    def _do_constant(self, line: LineCursor) -> None:
        tok = self._name(line, "the variable's name")
        line.take(",")
        numbers = []
        for lo, hi in ((1, FIELDS["cbank"].maximum), (0, 0xFFFF), (1, 1 << 16)):
            numbers.append(self._number(line, lo, hi))
            line.take(",")
        self.module.constant_vars.append(ConstantVar(tok.text, *numbers))

    def _do_global(self, line: LineCursor) -> None:
        """Read a global variable, and open its initial data."""
        if self.body is not None:
            self.place.fail(1, "a global variable inside a function", remedy="Move it out of .kernel/.func ... .end.")
        tok = self._name(line, "the variable's name")
        line.take(",")
        size = self._number(line, 1, GLOBAL_LIMIT)
        line.take(",")
        align, offset = 4, None
        if not line.done() and line.tok.text != "{":
            align = self._number(line, 1, 1 << 16)
            line.take(",")
            if not line.done() and line.tok.text != "{":
                offset = self._number(line, 0, GLOBAL_LIMIT)
        if offset is None:
            end = max((v.offset + v.size for v in self.module.globals), default=0)
            offset = -(-end // align) * align
        variable = GlobalVar(tok.text, offset, size, align)
        self.module.globals.append(variable)
        self._declare(tok, variable.address, self.names)
        if line.take("{"):
            self.bank, self.variable = DataBank(size, "initial data"), variable

    def _data(self, line: LineCursor) -> None:
        """Read a line between the braces of a constant bank or of initial data."""
        assert self.bank is not None
        if line.take("}"):
            line.finish()
            if self.variable is not None:
                self.variable.data = bytes(self.bank.data).rstrip(b"\0")
            self.bank = self.variable = None
            return
        start = self.variable.address if self.variable is not None else 0
        for name, offset in self.bank.statement(line):
            self._declare(name, start + offset, self.names)

    # -- raw lines: JSON and the instruction map -----------------------------------------------------------------

    def _provenance(self, text: str, column: int) -> None:
        """Read a provenance record."""
        try:
            record = parse_record(text)
        except ValueError as error:
            self.place.fail(column, str(error), found=text[:40], expected="one JSON object")
        self.module.provenance.append(record)

    def _origin(self, text: str, column: int) -> None:
        """Read runs of an instruction map. column: for messages."""
        body = self._need_body()
        name, *runs = text.split() or [""]
        if not NAME.fullmatch(name):
            self.place.fail(column, "syntax error", found=repr(name), expected="the original function's name")
        origin = body.fn.origin = body.fn.origin or Origin(name, [])
        if origin.function != name:
            self.place.fail(column, "a second origin", found=repr(name), expected=repr(origin.function))
        for run in runs:
            m = _RUN.match(run)
            if m is None or (m[3] and int(m[3]) < int(m[2])):
                self.place.fail(column, "syntax error", found=repr(run), expected="N, FIRST..LAST, - or -*COUNT")
            first, last = int(m[2] or 0), int(m[3] or m[2] or 0)
            count = int(m[1] or 1) if m[2] is None else last - first + 1
            if count + len(origin.index) > 1 << 24:
                self.place.fail(column, "instruction map too long", found=run)
            origin.index += [-1] * count if m[2] is None else range(first, last + 1)

    def _inlined(self, text: str, column: int) -> None:
        """Read numbers of inlined calls."""
        origin = self._need_body().fn.origin
        if origin is None:
            self.place.fail(column, "no instruction map", expected=".origin before")
        words = text.split()
        wrong = next((word for word in words if not _WORD.fullmatch(word)), None if words else "")
        if wrong is not None:
            self.place.fail(column, "syntax error", found=repr(wrong), expected="numbers of words")
        origin.inlined += map(int, words)

    def finish(self) -> Module:
        """Return the module, laid out and validated."""
        if self.body is not None:
            self.body.place.fail(1, f"function {self.body.fn.name!r} has no .end", remedy="Close it with .end.")
        if self.bank is not None:
            what = "constant bank" if self.variable is None else f"global variable {self.variable.name!r}"
            self.place.fail(1, f"{what} is not closed", expected="'}'")
        module = self.module
        module.constants = {number: bytes(bank.data) for number, bank in sorted(self.banks.items())}
        module.layout({b.fn.name: b.address for b in self.bodies if b.address is not None})
        functions = {fn.name: fn for fn in module.functions}
        for body, p in self.calls:
            callee = functions.get(p.fixup.name)
            if callee is None:
                p.place.fail(
                    p.fixup.column, "undefined function", found=repr(p.fixup.name),
                    expected="a function of this file", remedy="Functions are declared by .kernel or .func.",
                )  # fmt: skip
            if p.fixup.kind == "call":
                patch(body.fn, p.index, {"target": callee.address - body.fn.address - p.index - 1})
            else:
                patch(body.fn, p.index, {"imm": callee.address})
        given = {id(b.fn): b for b in self.bodies}
        fill_resources(
            module,
            registers=[fn for fn in module.functions if not given[id(fn)].registers_given],
            shared=[fn for fn in module.functions if not given[id(fn)].shared_given],
        )
        validate_module(module)
        return module


def auto_param_offset(last: Param, size: int) -> int:
    """Return the offset of a parameter of `size` bytes behind `last`, aligned to the largest power of two that divides
    its size, 8 at most."""
    align = min(size & -size, 8)
    return -(-(last.offset + last.size) // align) * align
