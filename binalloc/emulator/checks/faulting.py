"""Device code reports a fault by `set_fault`: the first fault is kept in the state, and the driver raises it."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm


@device(apart=True)
def set_fault(g: Gpu, s: Sm, code: int, w: int, pc: int, lane: int, a: int, b: int, c: int) -> None:
    """Record fault `code` of warp slot `w` at code word `pc`, unless one is recorded already. a, b and c depend on the
    code; `faults.py` interprets them."""
    if g.fault == 0:
        g.fault = code
        g.fault_sm = s.id
        g.fault_warp = w
        g.fault_pc = pc
        g.fault_lane = lane
        g.fault_a = a
        g.fault_b = b
        g.fault_c = c
