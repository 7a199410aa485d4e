"""Results that are sums of operands, each times a constant: what addresses are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sum:
    """A 32-bit word that an instruction writes: `constant` plus the terms, modulo 2^32, in every lane that executes it.

    result: the word's place among the words of `View.defs`, operand by operand. uses: (place among the words of
    `View.uses`, factor). reads: (constant bank, byte offset, factor) of words of constant memory. special: names of
    special registers, each once.
    """

    result: int
    constant: int = 0
    uses: tuple[tuple[int, int], ...] = ()
    reads: tuple[tuple[int, int, int], ...] = ()
    special: tuple[str, ...] = ()
