"""Results of integer instructions that are no sums (`sums`) have this form: what values may be follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from binalloc.isa.interface.sums import Sum


class Act(StrEnum):
    """An act computes one word, or one predicate, of words and predicates. Words have 32 bits."""

    TABLE = "table"  #: bit i is bit 4 a + 2 b + c of `Formula.table`, a, b and c being bits i of three words
    RIGHT = "right"  #: a word shifted to the right by a constant of 0 to 31, zeros behind it
    RIGHT_SIGNED = "right signed"  #: the same with copies of its sign
    PRODUCT = "product"  #: the low word of two words' product, plus a third
    HIGH = "high"  #: the high word of two unsigned words' product, plus a third
    #: byte i is one of the eight bytes of two words, the lowest of the first being byte 0: the one whose number is in
    #: bits 4 i to 4 i + 2 of `Formula.table`
    BYTES = "bytes"
    LEAST = "least"  #: the lesser of two words; `Formula.signed` says how they are read
    GREATEST = "greatest"  #: the greater of two words
    SELECT = "select"  #: the first word where the predicate holds, else the second
    BETWEEN = "between"  #: a word of which nothing is known but that it lies between two constants, both included
    COMPARE = "compare"  #: a comparison of two words, combined with the predicate by `Formula.table`
    LOGIC = "logic"  #: bit 4 a + 2 b + c of `Formula.table`, a, b and c being three predicates


class Order(StrEnum):
    """An order is what a comparison asks of two words."""

    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "=="
    UNEQUAL = "!="
    GREATER = ">"
    GREATER_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Truth:
    """A truth is a predicate operand, or a constant one."""

    use: int | None  #: its position among the words of `View.uses`; None: it always holds
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula is a word or predicate that an instruction writes, in every lane that executes it."""

    result: int  #: its position among the words of `View.defs`, operand by operand
    act: Act
    #: the words that it is computed of, each a sum of the instruction's operands; their `result` means nothing
    words: tuple[Sum, ...] = ()
    truths: tuple[Truth, ...] = ()
    signed: bool = False  #: the words are signed numbers
    order: Order | None = None  #: of a comparison
    #: of TABLE, BYTES and LOGIC see `Act`; of COMPARE bit 2 a + b is the result, a the comparison and b the predicate
    table: int = 0
