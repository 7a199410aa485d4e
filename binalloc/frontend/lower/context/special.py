"""Special registers of PTX (PTX ISA, chapter 10) as Loom reads them.

Every function appends to the emitter given and returns a source; a name that Loom has nothing for gives None.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Emitter, Imm, Source
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS

WORDS: dict[str, str] = {
    **{
        f"%{ptx}.{axis}": f"SR_{ptx.upper()}.{axis.upper()}"
        for ptx in ("tid", "ntid", "ctaid", "nctaid")
        for axis in "xyz"
    },
    "%laneid": "SR_LANEID",
    "%warpid": "SR_WARPID",
    "%nwarpid": "SR_NWARPID",
    "%smid": "SR_SMID",
    "%nsmid": "SR_NSMID",
    "%lanemask_eq": "SR_EQMASK",
    "%lanemask_lt": "SR_LTMASK",
    "%lanemask_le": "SR_LEMASK",
    "%lanemask_gt": "SR_GTMASK",
    "%lanemask_ge": "SR_GEMASK",
    "%dynamic_smem_size": "SR_DYNAMIC_SMEM",
    "%total_smem_size": "SR_TOTAL_SMEM",
}
CLOCKS = {
    "%clock": "SR_CLOCKLO", "%clock_lo": "SR_CLOCKLO", "%clock_hi": "SR_CLOCKHI",
    "%globaltimer_lo": "SR_TIMERLO", "%globaltimer_hi": "SR_TIMERHI",
}  # fmt: skip
PAIRS = {"%clock64": "SR_CLOCKLO", "%globaltimer": "SR_TIMERLO"}
ZERO = frozenset([*(f"%{name}.w" for name in ("tid", "ntid", "ctaid", "nctaid")), "%gridid"])
"""The fourth element is unused and always returns zero; every launch counts as the first one."""

_NUMBER = {name: number for number, name in enumerate(SPECIAL_REGISTERS)}


def read_word(b: Emitter, name: str, block: tuple[int, int, int] | None) -> Source | None:
    """A special register of 32 bits. block: the block size (x, y, z) where it is known: %ntid is a constant then."""
    if name in ZERO:
        return Imm(0)
    if block is not None and name.startswith("%ntid."):
        return Imm(block["xyz".index(name[-1])])
    sreg = WORDS.get(name)
    clock = CLOCKS.get(name)
    if sreg is None and clock is None:
        return None
    target = b.new()
    if sreg is not None:
        b.emit("S2R", rd=target, sreg=_NUMBER[sreg])
    elif clock is not None:
        b.emit("CS2R", rd=target, sreg=_NUMBER[clock])
    return target


def read_pair(b: Emitter, name: str) -> int | None:
    """A special register of 64 bits: first unit of a pair."""
    sreg = PAIRS.get(name)
    if sreg is None and name != "%gridid":
        return None
    target = b.new(2)
    if sreg is None:
        for k in range(2):
            b.move(target + k, Imm(0))
        return target
    b.emit("CS2R", rd=target, sreg=_NUMBER[sreg], srw="64")
    return target
