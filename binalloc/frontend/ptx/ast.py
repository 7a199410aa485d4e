"""Syntax tree of a PTX module: what the parser leaves and lowering reads.

Names are resolved by the parser: every register, variable, label and function named by an instruction is declared, and
names of inner scopes are made unique in their function (`temp.1`). Sizes and offsets are in bytes, places are 1-based.
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
"""Fundamental types (PTX ISA, section 5.2) and their size."""


class TextPosition(NamedTuple):
    """Where a construct begins: line and column, both from 1."""

    line: int
    column: int


# ---------------------------------------------------------------------------------------------------------------------
# Operands.


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register, `%r1`; its type stands in Function.registers."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, `%tid.x`, `%laneid`, `%clock64`; name with the percent sign. `WARP_SZ` is an Integer."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, as written, -2^63 .. 2^64-1."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant: `0f...`, `0d...` or decimal (64 bits); its IEEE pattern and width in bits."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, label or function by name, plus a constant: `buf+16`."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p` (base is a Register) as an operand."""

    base: Register


@dataclass(frozen=True, slots=True)
class Selected:
    """`%r1.h0`: parts of a register that a video instruction names. selector: without the dot, `h0`, `b3`, `b7610`."""

    base: Register
    selector: str


@dataclass(frozen=True, slots=True)
class Negative:
    """`-%r1` or `-%r1.h0` as an operand of vmad."""

    base: Register | Selected


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`. base None: an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Dual:
    """`p|q`: the two destinations of setp, shfl.sync, match.all; either may be a Discard. `{a, b, c, d}|p` of tex."""

    first: Register | Vector | Discard
    second: Register | Discard


@dataclass(frozen=True, slots=True)
class Discard:
    """`_`: a destination that is not wanted."""


@dataclass(frozen=True, slots=True)
class Texture:
    """`[t, {x, y}]` or `[t, s, {x, y}]`."""

    texture: Register | Symbol
    sampler: Register | Symbol | None
    coordinates: tuple[Operand, ...]


Operand = (
    Register | Special | Integer | Float | Symbol | Negated | Selected | Negative | Address | Vector | Dual | Discard
    | Texture
)  # fmt: skip


def plain(operand: Operand) -> Operand:
    """The operand without sign and selector."""
    while isinstance(operand, Selected | Negative):
        operand = operand.base
    return operand


# ---------------------------------------------------------------------------------------------------------------------
# Statements.


@dataclass(slots=True)
class Instruction:
    """`@!p op.mods operands;`. op: the base opcode, `mad`. mods: what follows, without dots, in order: ("lo", "s32").

    guard: (register, negated) or None. operands as written, destination first; of a call they are empty and callee,
    results and arguments say what is called, of an indirect call also prototype, a key of Function.prototypes. place:
    of the opcode. loc: (file index, source line) of the last `.loc`, or None. text: the statement on one line, for
    messages.
    """

    op: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    place: TextPosition
    guard: tuple[str, bool] | None = None
    loc: tuple[int, int] | None = None
    text: str = ""
    callee: Symbol | Register | None = None
    results: tuple[Operand, ...] = ()
    arguments: tuple[Operand, ...] = ()
    prototype: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """`name:`; unique in its function."""

    name: str
    place: TextPosition


# ---------------------------------------------------------------------------------------------------------------------
# Declarations.


class Relocation(NamedTuple):
    """An address in an initialiser: from byte `at` on stand `bytes` of its bytes, from its byte `first` on. generic:
    written as generic(name)."""

    at: int
    name: str
    addend: int
    generic: bool
    first: int = 0
    bytes: int = 8


@dataclass(slots=True)
class Variable:
    """A variable, or a parameter (space "param").

    space: global, const, shared, local, param. type: a fundamental type. size: bytes of the whole variable, 0 for an
    unsized array (extern shared). align: bytes. init: its bytes with trailing zeros left out (None: no initialiser).
    relocations: addresses in the initialiser. linkage: visible, weak, extern or common; empty: known in its file
    alone. array: declared with brackets. path: of the file that it stands in. element: bytes that an index counts in,
    as ptxas has it: one of the fundamental type, whatever the dimensions; 0 of what is no array.
    """

    name: str
    space: str
    type: str
    size: int
    align: int
    place: TextPosition
    init: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    linkage: str = ""
    array: bool = False
    path: str = ""
    element: int = field(default=0, compare=False)

    @property
    def external(self) -> bool:
        return self.linkage == "extern"


@dataclass(slots=True)
class Function:
    """`.entry` or `.func`.

    registers: name -> type; of parametrised declarations those that are used; a vector register is its components,
    `%v.x`. variables: `.local`, `.shared`, `.const`, `.global` and the call-site `.param` variables declared in the
    body.

    parameters and results: space "param", or "reg" where a `.func` declares them as registers (then they are in
    registers too). body: None for a declaration without one. max_threads: product of `.maxntid`, or 0. maxntid,
    reqntid: as written, missing ones 1, or None. min_blocks: `.minnctapersm`, or 0. noreturn: `.noreturn`.
    max_registers: `.maxnreg`, or 0. prototypes: name of a `.callprototype` or `.calltargets` -> its text.
    branch_targets: name of a `.branchtargets` -> its labels. linkage: as a variable's. path: of the file that it stands
    in; target: its `.target`. smem_spilling: `.pragma "enable_smem_spilling"` in its body.
    """

    name: str
    is_entry: bool
    place: TextPosition
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Instruction | Label] | None = None
    maxntid: tuple[int, int, int] | None = None
    reqntid: tuple[int, int, int] | None = None
    min_blocks: int = 0
    noreturn: bool = False
    max_registers: int = 0
    prototypes: dict[str, str] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    linkage: str = ""
    path: str = ""
    target: str = ""
    smem_spilling: bool = False

    @property
    def max_threads(self) -> int:
        return self.maxntid[0] * self.maxntid[1] * self.maxntid[2] if self.maxntid else 0


@dataclass(slots=True)
class Module:
    """A PTX file, or several that are linked. version: (8, 0). target: "sm_75". address_size: 32 or 64. files: `.file`
    index -> name.

    variables: module scope, in order. functions: in order of first mention; a definition takes its declaration's place.
    path: for messages. lines: number of text lines. samplers: `.target texmode_independent`. aliases: name of a
    declared function -> the function it is another name of, and where `.alias` says so. inputs: paths of the files
    that were linked; empty: it is one file. ignored: what the text says and nothing comes of.
    """

    version: tuple[int, int]
    target: str
    address_size: int
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    path: str = ""
    lines: int = 0
    samplers: bool = False
    aliases: dict[str, tuple[str, TextPosition]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    ignored: list[IgnoredText] = field(default_factory=list)

    @property
    def files_in_words(self) -> str:
        """`this file`, or how many were linked: for messages on what is not in them."""
        return f"any of the {len(self.inputs)} files" if len(self.inputs) > 1 else "this file"
