"""What an instruction takes its operands for, and how they come into its result: enough to tell what a value is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.isa.interface.view import ConstantRead, Ref


class Number(StrEnum):
    """What the bits of an operand are. BITS: anything. INTEGER: of either sign. MASK: bits that logic takes apart.
    NARROW: a signed number of fewer bits than a word. HALF, BFLOAT: one or two of 16 bits. HANDLE: names a texture or
    surface."""

    BITS = "bits"
    INTEGER = "integer"
    MASK = "mask"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    NARROW = "narrow"
    FLOAT = "float"
    HALF = "half"
    BFLOAT = "bfloat"
    HANDLE = "handle"


class Way(StrEnum):
    """How an operand comes into the register that is written. WHOLE: it may be the result, bit by bit. SUM: it is
    added, subtracted or has something added. FACTOR: it is multiplied. PART: in another way. NONE: not at all."""

    WHOLE = "whole"
    SUM = "sum"
    FACTOR = "factor"
    PART = "part"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Taken:
    """An operand that is read: a register, constant memory, an immediate. wide: it is a word of a longer number, or
    such a number itself. times: the result is a sum of which the operand is a part, multiplied by this constant; 0
    where it is not, or by what is not known."""

    what: Ref | ConstantRead | int
    number: Number
    way: Way
    wide: bool = False
    times: int = 0


@dataclass(frozen=True, slots=True)
class Fetch:
    """A texture fetch. axes: 1 to 3, layers and faces included; layers: as the third word of a launch file's `layers`
    has it; whole: coordinates are integers; channels: those that are read. element: bytes of what is accessed, if it is
    a surface and no texture. level: it says which level of a mipmap it wants."""

    axes: int
    layers: str
    whole: bool
    channels: int
    element: int = 0
    level: bool = False


@dataclass(frozen=True, slots=True)
class Roles:
    """Of one instruction. result: what it writes into registers. compares: the operands taken are compared with each
    other. data: of a memory access, what the words moved are taken for by the access itself."""

    result: Number
    taken: tuple[Taken, ...]
    compares: bool = False
    data: Number = Number.BITS
    fetch: Fetch | None = None
