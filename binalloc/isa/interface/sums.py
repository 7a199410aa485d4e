"""Results that are sums of operands, each times a constant, have this form; addresses are made of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum is a 32-bit word that an instruction writes: `constant` plus the terms, modulo 2^32. It holds in every lane
    that executes the instruction."""

    result: int  #: the word's position among the words of `View.defs`, operand by operand
    constant: int = 0
    uses: tuple[tuple[int, int], ...] = ()  #: (position among the words of `View.uses`, factor)
    reads: tuple[tuple[int, int, int], ...] = ()  #: (constant bank, byte offset, factor) of words of constant memory
    special: tuple[str, ...] = ()  #: names of special registers, each once
