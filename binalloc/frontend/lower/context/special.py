"""This module reads the special registers of PTX (PTX ISA, chapter 10) from Loom's.

Every function appends nodes to the given emitter and returns a source. It returns None for a name without a counterpart
in Loom.
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
"""Special registers of 32 bits that S2R reads -> Loom's name."""
CLOCKS = {
    "%clock": "SR_CLOCKLO", "%clock_lo": "SR_CLOCKLO", "%clock_hi": "SR_CLOCKHI",
    "%globaltimer_lo": "SR_TIMERLO", "%globaltimer_hi": "SR_TIMERHI",
}  # fmt: skip
"""Special registers of 32 bits that CS2R reads -> Loom's name."""
PAIRS = {"%clock64": "SR_CLOCKLO", "%globaltimer": "SR_TIMERLO"}
"""Special registers of 64 bits -> Loom's name of the low word."""
ZERO = frozenset([*(f"%{name}.w" for name in ("tid", "ntid", "ctaid", "nctaid")), "%gridid"])
"""These special registers always read as zero. PTX says so of the fourth element. `%gridid` does because every launch
counts as the first one."""

_NUMBER = {name: number for number, name in enumerate(SPECIAL_REGISTERS)}  # Loom's name -> number in the instruction


def read_word(b: Emitter, name: str, block: tuple[int, int, int] | None) -> Source | None:
    """Read a special register of 32 bits. block: the block size (x, y, z) where it is known: %ntid is a constant
    then."""
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
    """Read a special register of 64 bits. Returns the first unit of a pair."""
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
