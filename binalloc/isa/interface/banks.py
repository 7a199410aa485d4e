"""The sizes of constant memory are computed here: a read inside of a bank cannot fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from binalloc.isa.instruction import Param


def bank_bytes(constants: Mapping[int, bytes], params: Iterable[Param]) -> dict[int, int]:
    """Return the bytes of each constant bank at a launch of a kernel with these parameters, which lie in bank 0.
    constants: the contents of the other banks."""
    sizes = {bank: len(data) for bank, data in constants.items()}
    return {**sizes, 0: max((p.offset + p.size for p in params), default=0)}
