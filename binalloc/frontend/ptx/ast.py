"""This module defines the syntax tree of a PTX module. The parser makes it and lowering reads it.

The parser resolves all names: every register, variable, label and function that an instruction names is declared. Names
of inner scopes are made unique in their function (`temp.1`). Sizes and offsets are in bytes, places are 1-based.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.frontend.ignored import IgnoredText

TYPE_BYTES = {
    "pred": 0,
    **dict.fromkeys(("b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
    "b128": 16,
    **dict.fromkeys(("texref", "samplerref", "surfref"), 8),
}
"""Fundamental types (PTX ISA, section 5.2) and their sizes."""


class TextPosition(NamedTuple):
    """A text position is the line and column at which a construct begins."""

    line: int  #: from 1
    column: int  #: from 1


# ---------------------------------------------------------------------------------------------------------------------
# Operands.


@dataclass(frozen=True, slots=True)
class Register:
    """A register operand names a declared register, `%r1`. Function.registers has its type."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register is an operand with a name that PTX defines: `%tid.x`, `%laneid`, `%clock64`. `WARP_SZ` is an
    Integer instead."""

    name: str  #: with the percent sign


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant has the value as written."""

    value: int  #: -2^63 .. 2^64-1


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant is written as `0f...`, `0d...` or decimal (64 bits)."""

    bits: int  #: IEEE pattern
    width: int  #: in bits: 32 or 64


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol is a variable, parameter, label or function by name, plus a constant: `buf+16`."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Negated:
    """A negated predicate is `!p` as an operand."""

    base: Register


@dataclass(frozen=True, slots=True)
class Selected:
    """A selected operand, `%r1.h0`, is the part of a register that a video instruction names."""

    base: Register
    selector: str  #: without the dot: `h0`, `b3`, `b7610`


@dataclass(frozen=True, slots=True)
class Negative:
    """A negative operand is `-%r1` or `-%r1.h0`, for vmad."""

    base: Register | Selected


@dataclass(frozen=True, slots=True)
class Address:
    """An address operand is a memory address, `[base+offset]`."""

    base: Register | Symbol | None  #: None: the address is the offset
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector operand is a list of operands, `{a, b}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Dual:
    """A dual operand, `p|q`, is the two destinations of setp, shfl.sync and match.all; either may be a Discard. tex has
    `{a, b, c, d}|p`."""

    first: Register | Vector | Discard
    second: Register | Discard


@dataclass(frozen=True, slots=True)
class Discard:
    """A discard, `_`, is a destination whose value is not wanted."""


@dataclass(frozen=True, slots=True)
class TextureAddress:
    """A texture operand is the address of tex: `[t, {x, y}]` or `[t, s, {x, y}]`."""

    texture: Register | Symbol
    sampler: Register | Symbol | None
    coordinates: tuple[Operand, ...]


Operand = (
    Register | Special | Integer | Float | Symbol | Negated | Selected | Negative | Address | Vector | Dual | Discard
    | TextureAddress
)  # fmt: skip


def plain(operand: Operand) -> Operand:
    """Return the operand without sign and selector."""
    while isinstance(operand, Selected | Negative):
        operand = operand.base
    return operand


# ---------------------------------------------------------------------------------------------------------------------
# Statements.


@dataclass(slots=True)
class Instruction:
    """An instruction is a statement `@!p op.mods operands;`."""

    op: str  #: the base opcode: `mad`
    mods: tuple[str, ...]  #: what follows the opcode, without dots, in order: ("lo", "s32")
    operands: tuple[Operand, ...]  #: as written, destination first; empty for a call
    place: TextPosition  #: of the opcode
    guard: tuple[str, bool] | None = None  #: (register, negated) or None
    loc: tuple[int, int] | None = None  #: (file index, source line) of the last `.loc`, or None
    text: str = ""  #: the statement on one line, for messages
    callee: Symbol | Register | None = None  #: what a call calls: a function, or a register with its address
    results: tuple[Operand, ...] = ()  #: of a call
    arguments: tuple[Operand, ...] = ()  #: of a call
    prototype: str | None = None  #: of an indirect call: a key of Function.prototypes


@dataclass(frozen=True, slots=True)
class Label:
    """A label, `name:`, is a place in a body that branches may go to."""

    name: str  #: unique in its function
    place: TextPosition


# ---------------------------------------------------------------------------------------------------------------------
# Declarations.


class Relocation(NamedTuple):
    """A relocation is an address, or a part of one, in an initialiser."""

    at: int  #: byte of the variable at which it is stored
    name: str  #: the variable or function whose address it is
    addend: int
    generic: bool  #: whether it is written as generic(name)
    first: int = 0  #: first byte of the address that is stored
    bytes: int = 8  #: number of bytes of the address that are stored


@dataclass(slots=True)
class Variable:
    """A variable is declared in one space; parameters are variables in the space "param"."""

    name: str
    space: str  #: global, const, shared, local, param
    type: str  #: a fundamental type
    size: int  #: bytes of the whole variable, 0 for an unsized array (extern shared)
    align: int  #: in bytes
    place: TextPosition
    init: bytes | None = None  #: its bytes without trailing zeros; None: no initialiser
    relocations: tuple[Relocation, ...] = ()  #: addresses in the initialiser
    linkage: str = ""  #: visible, weak, extern or common; empty: the name is local to the file
    array: bool = False  #: whether it is declared with brackets
    path: str = ""  #: the file that declares it
    #: bytes by which an index counts, as in ptxas: the fundamental type's, whatever the dimensions; 0 without brackets
    element: int = field(default=0, compare=False)

    @property
    def external(self) -> bool:
        return self.linkage == "extern"


@dataclass(slots=True)
class PtxFunction:
    """A function is an `.entry` or `.func`.

    Parameters and results have space "param", or "reg" where a `.func` declares them as registers. The latter are in
    `registers`, too.
    """

    name: str
    is_entry: bool
    place: TextPosition
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    #: name -> type; of parametrised declarations only the registers used; a vector register is entered by components,
    #: `%v.x`
    registers: dict[str, str] = field(default_factory=dict)
    #: `.local`, `.shared`, `.const`, `.global` and call-site `.param` variables declared in the body
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Instruction | Label] | None = None  #: None for a declaration without a body
    maxntid: tuple[int, int, int] | None = None  #: `.maxntid` as written, with 1 for missing sizes, or None
    reqntid: tuple[int, int, int] | None = None  #: `.reqntid` as written, with 1 for missing sizes, or None
    min_blocks: int = 0  #: `.minnctapersm`, or 0
    noreturn: bool = False  #: `.noreturn`
    max_registers: int = 0  #: `.maxnreg`, or 0
    #: name of a `.callprototype` or `.calltargets` -> its text
    prototypes: dict[str, str] = field(default_factory=dict)
    #: name of a `.branchtargets` -> its labels
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    linkage: str = ""  #: as Variable.linkage
    path: str = ""  #: the file that declares it
    target: str = ""  #: `.target` of that file
    smem_spilling: bool = False  #: whether its body has `.pragma "enable_smem_spilling"`

    @property
    def max_threads(self) -> int:
        """Return the product of `.maxntid`, or 0."""
        return self.maxntid[0] * self.maxntid[1] * self.maxntid[2] if self.maxntid else 0


@dataclass(slots=True)
class PtxModule:
    """A module is the syntax tree of a PTX file, or of several files that are linked."""

    version: tuple[int, int]  #: (8, 0)
    target: str  #: "sm_75"
    address_size: int  #: 32 or 64
    variables: dict[str, Variable] = field(default_factory=dict)  #: module-scope variables, in order
    #: in order of first mention; a definition replaces its declaration in the same place
    functions: dict[str, PtxFunction] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)  #: index of a `.file` -> name
    path: str = ""  #: for messages
    lines: int = 0  #: number of text lines
    samplers: bool = False  #: whether the text has `.target texmode_independent`
    #: name of a declared function -> the function that it is another name of, and the place of its `.alias`
    aliases: dict[str, tuple[str, TextPosition]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()  #: paths of the files that were linked; empty: it is one file
    #: directives of the text that have no effect on the binary
    ignored: list[IgnoredText] = field(default_factory=list)

    @property
    def files_in_words(self) -> str:
        """Return `this file`, or how many files were linked, for messages about missing definitions."""
        return f"any of the {len(self.inputs)} files" if len(self.inputs) > 1 else "this file"
