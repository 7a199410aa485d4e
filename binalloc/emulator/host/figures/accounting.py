"""Counters of SMs are brought up to a cycle here. An SM itself accounts for cycles without events only at its next
event."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.sm.idle import bring_up
from binalloc.emulator.state.memories import Memories
from binalloc.emulator.state.records import Gpu, Sm

R = TypeVar("R", Gpu, Sm)


def account_until(engine: Engine, g: Records, sms: Records, memories: Memories, cycle: int, over: int = 0) -> None:
    """Bring the counters of SMs up to the cycle before this one, of the first `over` SMs up to this one.

    Needs a device that has been stopped before this cycle, or in it when it was over in those first SMs, so that
    nothing happens in any SM until then.
    """
    device = _fields(g, 0, Gpu)
    for i in range(engine.get(g, 0, "sms")):
        s = _fields(sms, i, Sm)
        bring_up(device, s, memories.program, cycle if i < over else cycle - 1)


def _fields(records: Records, i: int, kind: type[R]) -> R:
    """Return record i, of that kind, with its fields as attributes, as device code has it. It is a view, not a copy."""
    return cast(R, records.view(np.recarray)[i] if isinstance(records, np.ndarray) else records[i])
