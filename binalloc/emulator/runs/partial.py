"""A run that is stopped before its end: its counters brought up to the cycle at which it stands.

An SM accounts for cycles in which nothing happens when something happens again. For a run that does not go on that is
done here, as `sm.issue.skip` would do it: every issue slot of every cycle so far is an issue or one stall."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from binalloc.emulator.host.device import Device
from binalloc.emulator.sm.issue import idle_reason
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.records import Gpu, Sm


def settle(device: Device, limit: int) -> None:
    """Account for all cycles before the next one that has work, none from `limit` on. The device must stand between two
    cycles, and not go on."""
    cycle = min(device.get("cycle"), limit)
    for i in range(device.sms_count):
        fields = ("census", "stat", "stall", "last_time", "live_warps")
        s = SimpleNamespace(**{name: device.engine.get(device.sms, i, name) for name in fields})
        idle = cycle - 1 - s.last_time
        s.stat[Stat.WARP_CYCLES] += idle * s.live_warps
        for sch in range(device.get("schedulers")):
            s.stall[idle_reason(cast("Gpu", None), cast("Sm", s), sch)] += idle * device.get("issue_width")
        device.engine.put(device.sms, i, "stat", s.stat)
        device.engine.put(device.sms, i, "stall", s.stall)
        device.engine.put(device.sms, i, "last_time", cycle - 1)
    device.put("cycle", cycle)
