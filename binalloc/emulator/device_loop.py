"""The main loop over cycles and SMs, in quanta so that the driver keeps control."""

from __future__ import annotations

from typing import Any

from binalloc.emulator.device import device
from binalloc.emulator.issue import skip, step_sm
from binalloc.emulator.layout import F_DEADLOCK
from binalloc.emulator.reference import step_reference


@device
def run_quantum(
    device_state: Any, sms: Any, program: Any, regs: Any, hazard: Any, global_: Any, shared: Any, local: Any,
    const: Any, counts: Any, steps: int, limit: int,
) -> int:  # fmt: skip
    """Run at most `steps` cycles with events; returns 1 when the grid is done, 2 at a fault, 3 when the next cycle would
    be `limit`, else 0. `device_state` and `sms` are arrays of records."""
    g = device_state[0]
    for _ in range(steps):
        now = g.cycle
        if now >= limit:
            return 3
        g.steps += 1
        best = -1
        for i in range(g.sms):
            s = sms[i]
            if s.next_time == now:
                skip(g, s, now - s.last_time - 1)
                if g.reference:
                    step_reference(g, s, program, regs, hazard, global_, shared, local, const, counts)
                else:
                    step_sm(g, s, program, regs, hazard, global_, shared, local, const, counts)
                if g.fault:
                    return 2
                s.last_time = now
            if s.next_time >= 0 and (best < 0 or s.next_time < best):
                best = s.next_time
        if g.retired == g.blocks:
            for i in range(g.sms):
                s = sms[i]
                skip(g, s, now - s.last_time)
                s.last_time = now
            g.cycle = now + 1
            return 1
        if best < 0:
            g.fault = F_DEADLOCK
            return 2
        g.cycle = best
    return 0
