"""The roles of an instruction's operands say of which type each is and how it enters the result. From them the type of
a value is inferred."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.isa.interface.view import ConstantRead, Ref


class Number(StrEnum):
    """An operand's number type says how an instruction interprets its bits."""

    BITS = "bits"  #: any
    INTEGER = "integer"  #: integer of either sign
    MASK = "mask"  #: bits that logic takes apart
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    NARROW = "narrow"  #: signed number of fewer bits than a word
    FLOAT = "float"
    HALF = "half"  #: one or two f16
    BFLOAT = "bfloat"  #: one or two bf16
    HANDLE = "handle"  #: of a texture or surface


class Way(StrEnum):
    """An operand's way says how it enters the register that the instruction writes."""

    WHOLE = "whole"  #: it may be the result, bit by bit
    SUM = "sum"  #: it is added or subtracted, or something is added to it
    FACTOR = "factor"  #: it is multiplied
    PART = "part"  #: in another way
    NONE = "none"  #: not at all


@dataclass(frozen=True, slots=True)
class ReadOperand:
    """A taken operand is one that the instruction reads: a register, constant memory or an immediate."""

    what: Ref | ConstantRead | int
    number: Number
    way: Way
    wide: bool = False  #: it is a word of a longer number, or such a number itself
    #: the constant factor of the operand, where the result is a sum with it as a term; 0 where it is not, or the factor
    #: is not known
    times: int = 0


@dataclass(frozen=True, slots=True)
class Fetch:
    """A texture fetch, or an access to a surface, has this geometry."""

    axes: int  #: 1 to 3, layers and faces included
    layers: str  #: as the third word of a launch file's `layers`
    whole: bool  #: coordinates are integers
    channels: int  #: number of channels that are read
    element: int = 0  #: bytes of the element that is accessed, for a surface; 0 for a texture
    level: bool = False  #: it selects a level of a mipmap


@dataclass(frozen=True, slots=True)
class Roles:
    """An instruction's roles give the type of its result, and the type and way of each operand that it reads."""

    result: Number  #: type that it writes into registers
    taken: tuple[ReadOperand, ...]
    compares: bool = False  #: the operands are compared with each other
    data: Number = Number.BITS  #: of a memory access: the type of the words that it moves
    fetch: Fetch | None = None
