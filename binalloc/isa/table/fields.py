"""The bit fields of the 128-bit Loom instruction word are defined here: the layout half of the one table.

Everything that places, prints or parses bits reads this file: the `construct` word, the bulk path, assembler,
disassembler, ISA.md. Nothing else states a bit position. Fields may overlap, as an opcode uses only some of them;
`opcodes.py` checks at import that no opcode uses two overlapping fields in one form.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_BITS = 128  # of an instruction, as in SASS since Volta
WORD_BYTES = 16


@dataclass(frozen=True, slots=True)
class Field:
    """A field is a group of neighbouring bits of the word."""

    name: str
    lo: int  #: its first bit, 0 for the least significant of the little-endian word
    width: int  #: bits
    signed: bool = False  #: two's complement

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.lo

    @property
    def minimum(self) -> int:
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1

    def extract(self, word: int) -> int:
        """Return the field's value in `word`."""
        value = (word >> self.lo) & ((1 << self.width) - 1)
        if self.signed and value >> (self.width - 1):
            value -= 1 << self.width
        return value

    def insert(self, value: int) -> int:
        """Return the word with only this field set; ValueError if `value` does not fit."""
        if not self.minimum <= value <= self.maximum:
            raise ValueError(f"{self.name}: {value} does not fit {self.width} {'signed ' if self.signed else ''}bits")
        return (value & ((1 << self.width) - 1)) << self.lo


# (name, first bit, bits), and whether it is signed.
_LAYOUT: tuple[tuple[str, int, int] | tuple[str, int, int, bool], ...] = (
    # present in every word
    ("opcode", 0, 12),
    ("guard", 12, 3),
    ("guardn", 15, 1),
    # registers
    ("rd", 16, 8),
    ("ra", 24, 8),
    ("rb", 32, 8),
    ("rc", 64, 8),
    # contents of the 32-bit operand field
    ("imm", 32, 32),
    ("coff", 32, 16),
    ("cbank", 48, 5),
    ("moff", 40, 24, True),
    ("target", 32, 32, True),
    ("lut_b", 40, 8),
    ("lut2", 48, 8),
    ("laneimm", 32, 5),
    ("clampimm", 40, 13),
    # operand form and source modifiers
    ("form", 72, 3),
    ("nega", 75, 1),
    ("negb", 76, 1),
    ("negc", 77, 1),
    ("absa", 78, 1),
    ("absb", 79, 1),
    ("absc", 80, 1),
    # predicates
    ("pd0", 81, 3),
    ("pd1", 84, 3),
    ("ps0", 87, 3),
    ("ps0n", 90, 1),
    ("ps1", 91, 3),
    ("ps1n", 94, 1),
    ("ps2", 95, 3),
    ("ps2n", 98, 1),
    # operation modifiers, bits 95..104 (the branch's reconvergence offset takes the unused form and predicate bits)
    ("x", 95, 1),
    ("u32", 95, 1),
    ("u32cmp", 98, 1),
    ("shift", 96, 5),
    ("dir", 95, 1),
    ("stype", 96, 2),
    ("hi", 98, 1),
    ("wrap", 99, 1),
    ("lut", 95, 8),
    ("icmp", 95, 3),
    ("fcmp", 95, 4),
    ("bop", 99, 2),
    ("ex", 101, 1),
    ("sh", 96, 1),
    ("prmt", 95, 3),
    ("rnd", 95, 2),
    ("ftz", 101, 1),
    ("sat", 98, 1),
    ("func", 95, 4),
    ("ityp", 95, 3),
    ("ftyp", 98, 1),
    ("rnd2", 99, 2),
    ("ftyp_d", 95, 1),
    ("ftyp_s", 98, 1),
    ("sat2", 96, 1),
    ("hfmt", 102, 1),
    ("relu", 103, 1),
    ("hnan", 103, 1),
    ("xsign", 104, 1),
    ("hsel", 103, 1),
    ("pmask", 95, 7),
    ("shfl", 95, 2),
    ("limm", 97, 1),
    ("cimm", 98, 1),
    ("vote", 95, 2),
    ("match", 95, 1),
    ("m64", 96, 1),
    ("width", 95, 3),
    ("spill", 98, 1),
    ("cache", 99, 2),
    ("aop", 95, 4),
    ("atyp", 99, 3),
    ("tdim", 95, 2),
    ("tcoord", 97, 1),
    ("tchan", 98, 2),
    ("tlay", 100, 2),
    ("tgath", 102, 3),
    ("tlod", 75, 1),
    ("toff", 76, 1),
    ("tquery", 95, 4),
    ("sbound", 97, 2),
    ("sunit", 99, 1),
    ("ssize", 102, 3),
    ("bar", 95, 3),
    ("barid", 98, 4),
    ("scope", 95, 2),
    ("reconv", 72, 24, True),
    ("diverges", 96, 1),
    ("sreg", 95, 8),
    ("srw", 103, 1),
    ("mform", 95, 1),
    ("mats", 96, 2),
    # control code
    ("stall", 105, 4),
    ("yield", 109, 1),
    ("wbar", 110, 3),
    ("rbar", 113, 3),
    ("wait", 116, 6),
    ("reuse", 122, 4),
)

FIELDS: dict[str, Field] = {row[0]: Field(*row) for row in _LAYOUT}
COMMON_FIELDS: tuple[str, ...] = ("opcode", "guard", "guardn")  # fields of every word, in front
CONTROL_FIELDS: tuple[str, ...] = ("stall", "yield", "wbar", "rbar", "wait", "reuse")
"""Fields of the control code, in the order of `Control`."""

RZ = 255  # the register that reads zero and keeps nothing: the last number of 8 bits
PT = 7  # the predicate that is always true: the last number of 3 bits
NEVER = (PT, True)  # the guard `@!PT`: no thread executes the instruction
SCOREBOARDS = 6  # scoreboards of a warp: the field `wait` has a bit for each
NO_BARRIER = 7  # number in `wbar` and `rbar` for no scoreboard: the last of 3 bits
