"""Programs for tests, all by way of the real assembler: written out as text, or line by line by `Code`.

    program(text)       assembly as ISA.md has it, with less around it
    Code(name)          a function whose instructions a test or a generator draws or computes

In `text`, `.end` may be left out, a kernel without `.param` has one of 64 bytes, and settings behind a function's name
are fields of its info, set when all is assembled (so that they may be wrong):

    .kernel main registers=8 slot_bytes=128
    loop:
    3| @!P0 IADD3 R1, R2, 0x4, RZ                  `3|`, `-|`: the word's place in the map of a rewritten function
    @P0 BRA loop, done

A function with such a map stands for the original of the same name up to a `.` (f.1 stands for f).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from binalloc.isa.instruction import DEFAULT_CONTROL, Function, Instr, Module, Origin, make
from binalloc.isa.table.fields import PT
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import control_text, format_instr

Guard = tuple[int, bool]
ALWAYS: Guard = (PT, False)
PARAMETERS = 64
"""Bytes of bank 0 that every kernel has which declares none."""
_MAPPED = re.compile(r"\s*(-|\d+)\|\s*(.*)")


def program(text: str) -> Module:
    """The module of `text`."""
    lines: list[str] = []
    settings: dict[str, list[str]] = {}
    maps: dict[str, list[int]] = {}
    for chunk in _functions(text):
        head, *body = chunk
        kind, name, *settings[name] = head.split()
        lines += [f"{kind} {name}"]
        if kind == ".kernel" and not any(line.startswith(".param ") for line in body):
            lines.append(f".param p {PARAMETERS}")
        for line in body:
            mapped = _MAPPED.match(line)
            if mapped:
                maps.setdefault(name, []).append(-1 if mapped[1] == "-" else int(mapped[1]))
            lines.append(mapped[2] if mapped else line)
        lines.append(".end")
    module = assemble("\n".join(lines))
    for fn in module.functions:
        for setting in settings[fn.name]:
            key, value = setting.split("=")
            setattr(fn.info, key, int(value))
        if fn.name in maps:
            fn.origin = Origin(fn.name.split(".")[0], maps[fn.name])
    return module


def _functions(text: str) -> list[list[str]]:
    """The lines of each function, its head first."""
    out: list[list[str]] = []
    for line in (raw.split("#")[0].strip() for raw in text.splitlines()):
        if line.startswith((".kernel ", ".func ")):
            out.append([])
        if line and line != ".end":
            out[-1].append(line)
    return out


def identity(original: Module) -> Module:
    """The original with an instruction map that says so."""
    out = Module([], dict(original.constants), [], original.isa_version, original.path, list(original.globals))
    for fn in original.functions:
        copy = Function(fn.name, list(fn.instrs), fn.info, fn.shared, fn.labels, fn.lines, fn.address)
        copy.origin = Origin(fn.name, list(range(len(fn.instrs))))
        out.functions.append(copy)
    return out


@dataclass
class Code:
    """One function under construction. `bra` takes label names; `label` places one at the next instruction.

    addresses: (word, function, n): the word's immediate becomes the function's code address + n. head: directives.
    """

    name: str
    kernel: bool = True
    head: list[str] = field(default_factory=list)
    instrs: list[Instr] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branches: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    calls: dict[int, str] = field(default_factory=dict)
    addresses: list[tuple[int, str, int]] = field(default_factory=list)
    fresh: int = 0

    def emit(self, opcode: str, guard: Guard = ALWAYS, **fields: int) -> int:
        """Append an instruction; its word index."""
        return self.add(make(opcode, guard=guard, **fields))

    def add(self, instr: Instr) -> int:
        """Append a finished instruction; its word index."""
        self.instrs.append(instr)
        return len(self.instrs) - 1

    def new_label(self) -> str:
        self.fresh += 1
        return f"L{self.fresh}"

    def label(self, name: str) -> None:
        assert name not in self.labels
        self.labels[name] = len(self.instrs)

    def bra(self, target: str, reconv: str | None = None, guard: Guard = ALWAYS) -> int:
        at = self.emit("BRA", guard)
        self.branches[at] = target, reconv
        return at

    def call(self, callee: str, guard: Guard = ALWAYS) -> int:
        at = self.emit("CALL", guard)
        self.calls[at] = callee
        return at

    def text(self) -> str:
        """Assembly of the function. Its labels are none of the binary's."""
        out = [f"{'.kernel' if self.kernel else '.func'} {self.name}", *self.head]
        places: dict[int, list[str]] = {}
        for label, at in self.labels.items():
            places.setdefault(at, []).append(f".{label}:")
        for at, instr in enumerate(self.instrs):
            out += places.get(at, [])
            out.append(self._line(at, instr))
        return "\n".join([*out, ".end\n"])

    def _line(self, at: int, instr: Instr) -> str:
        text = format_instr(instr)
        guard = text[: text.index(instr.op.name)]
        if at in self.branches:
            target, point = self.branches[at]
            text = f"{guard}BRA .{target}"
            if point is not None or instr.guarded:
                text += f", .{point}" if point is not None else ", uniform"
        elif at in self.calls:
            text = f"{guard}CALL {self.calls[at]}"
        return text if instr.ctrl == DEFAULT_CONTROL else f"{text} {control_text(instr.ctrl)}"


def module_of(*codes: Code) -> Module:
    """The module of the functions, in their order."""
    module = assemble("\n".join(code.text() for code in codes))
    for code, fn in zip(codes, module.functions, strict=True):
        for at, name, n in code.addresses:
            fn.instrs[at] = fn.instrs[at].replace(imm=module.function(name).address + n & 0xFFFFFFFF)
    return module
