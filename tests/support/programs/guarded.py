"""Small programs of guarded words that are still easy to change: `Word`, and what the assembler reads of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.isa.instruction import Module
from tests.support.programs.builder import Guard, program

KERNEL = "k"
REGISTERS = 24
POINTER = 20
"""Register of the slot pointer."""
LOCAL_BYTES = 16
SLOT_BYTES = 128

FORMS = {
    "tid": "S2R R{dst}, SR_TID.X",
    "block": "S2R R{dst}, SR_CTAID.X",
    "slots": "S2R R{dst}, SR_SLOTBASE",
    "constant": "MOV R{dst}, {imm:#x}",
    "copy": "MOV R{dst}, R{a}",
    "add": "IADD3 R{dst}, R{a}, {imm:#x}, RZ",
    "sum": "IADD3 R{dst}, R{a}, R{b}, RZ",
    "exclusive": "LOP3 R{dst}, R{a}, R{b}, RZ, 0x3c",
    "select": "SEL R{dst}, R{a}, R{b}, P{imm}",
    "test": "ISETP.LT.AND P{dst}, PT, R{a}, {imm:#x}, PT",
    "load": "LDL.32 R{dst}, [{imm:#x}]",
    "store": "STL.32 [{imm:#x}], R{a}",
    "reload": "LDL.32.SPILL R{dst}, [{imm:#x}]",
    "spill": "STL.32.SPILL [{imm:#x}], R{a}",
    "slot reload": f"LDS.32.SPILL R{{dst}}, [R{POINTER}+{{imm:#x}}]",
    "slot spill": f"STS.32.SPILL [R{POINTER}+{{imm:#x}}], R{{a}}",
    "pack": "P2R R{dst}, RZ, {imm:#x}",
    "unpack": "R2P R{a}, {imm:#x}",
    "effect": "STG.32 [R2+{imm:#x}], R{a}",
    "branch": "BRA {name}, {name}",
    "back": "BRA {name}, {name}_out",
    "label": "{name}:",
    "call": "CALL {name}",
    "exit": "EXIT",
    "return": "RET",
}
PURE = frozenset(("tid", "constant", "copy", "add", "sum", "select", "test"))


@dataclass(frozen=True)
class Word:
    """One word, or a label. dst: a predicate's number in a test. imm: a constant, offset, mask, or what a select reads
    (predicate). name: of a label or function."""

    op: str
    dst: int = -1
    sources: tuple[int, ...] = ()
    imm: int = 0
    guard: Guard | None = None
    name: str = ""

    @property
    def text(self) -> str:
        a, b = (*self.sources, -1, -1)[:2]
        words = FORMS[self.op].format(dst=self.dst, a=a, b=b, imm=self.imm, name=self.name)
        return words if self.guard is None else f"@{'!' if self.guard[1] else ''}P{self.guard[0]} {words}"

    @property
    def defines(self) -> int:
        """The register written, -1 for none."""
        return -1 if self.op == "test" else self.dst


@dataclass(frozen=True)
class Mapped:
    """A word of a rewritten program; place: the original word that it stands for, -1 for none."""

    word: Word
    place: int = -1


Functions = Mapping[str, Sequence[Word]]
MappedFunctions = Mapping[str, Sequence[Mapped]]


def identically(words: Sequence[Word]) -> list[Mapped]:
    """The words, each for itself."""
    out, place = [], 0
    for word in words:
        out.append(Mapped(word, -1 if word.op == "label" else place))
        place += word.op != "label"
    return out


def original_text(functions: Functions) -> str:
    lines = []
    for name, words in functions.items():
        lines += [_head(name, words, ""), *(word.text for word in words)]
    return "\n".join(lines)


def rewritten_text(functions: MappedFunctions) -> str:
    lines = []
    used = [m.word for words in functions.values() for m in words]
    end = max((w.imm + 4 for w in used if w.op in ("reload", "spill")), default=LOCAL_BYTES)
    slots = max((w.imm + SLOT_BYTES for w in used if w.op in ("slot reload", "slot spill")), default=0)
    settings = f" spill_local={max(0, end - LOCAL_BYTES)} slot_bytes={slots}"
    settings += f" slot_pointer={POINTER}" * any(w.op == "slots" for w in used)
    for name, mapped in functions.items():
        lines.append(_head(name, [m.word for m in mapped], settings))
        for m in mapped:
            label = "" if m.word.op == "label" else f"{m.place}| " if m.place >= 0 else "-| "
            lines.append(label + m.word.text)
    return "\n".join(lines)


def original_module(functions: Functions) -> Module:
    return program(original_text(functions))


def rewritten_module(functions: MappedFunctions) -> Module:
    return program(rewritten_text(functions))


def _head(name: str, words: Sequence[Word], settings: str) -> str:
    if name != KERNEL:
        return f".func {name}"
    return f".kernel {name} registers={REGISTERS} local_bytes={LOCAL_BYTES}{settings}"
