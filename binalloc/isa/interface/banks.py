"""How much constant memory there is: what is read inside of it cannot fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from binalloc.isa.instruction import Param


def bank_bytes(constants: Mapping[int, bytes], params: Iterable[Param]) -> dict[int, int]:
    """Bytes of each constant bank at a launch of a kernel with these parameters, which bank 0 holds; constants: the
    contents of the others."""
    sizes = {bank: len(data) for bank, data in constants.items()}
    return {**sizes, 0: max((p.offset + p.size for p in params), default=0)}
