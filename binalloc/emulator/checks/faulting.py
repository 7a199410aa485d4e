"""How device code reports a fault: the first one is kept in the state, the driver raises it."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def set_fault(g: Gpu, s: Sm, code: int, w: int, pc: int, lane: int, a: int, b: int, c: int) -> None:
    """Record fault `code` of warp slot `w` at word `pc`, unless one is recorded already; a, b, c as `faults.py` reads
    them."""
    if g.fault == 0:
        g.fault = code
        g.fault_sm = s.id
        g.fault_warp = w
        g.fault_pc = pc
        g.fault_lane = lane
        g.fault_a = a
        g.fault_b = b
        g.fault_c = c
