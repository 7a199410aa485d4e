"""This module has the exception for a run that has reached a stop, and the correction of its counters."""

from __future__ import annotations

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.figures.accounting import account_until
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.layout import Column


class Stopped(Exception):
    """`run` raises it when a warp is about to execute an instruction with a break, or one that touches watched bytes. A
    listener of the run's log has asked for it. The instruction is issued, and nothing of it has happened yet.

    partial: as in `LimitHit`.
    """

    def __init__(self, device: LaunchedDevice) -> None:
        super().__init__("stopped at a break")
        self.device = device
        self.partial: object = None


def take_back(device: LaunchedDevice) -> None:
    """Take the instruction at which `device` has stopped out of the counters. An instruction that would have issued
    with it has used its slot. SMs that have had this cycle count it whole."""
    i, warp, pc, mask = (device.get(f"fault_{name}") for name in ("sm", "warp", "pc", "a"))
    device.memories.counts[pc] -= 1
    _add(device, i, "warp_issued", warp, -1)
    _add(device, i, "unit_issued", device.program.table[pc, Column.UNIT], -1)
    _add(device, i, "stat", Stat.WARP_INSTRUCTIONS, -1)
    _add(device, i, "stat", Stat.THREAD_INSTRUCTIONS, -mask.bit_count())
    stat = device.engine.view(device.sms, i, "stat")
    _add(device, i, "stat", Stat.ISSUE_SLOTS, stat[Stat.WARP_INSTRUCTIONS] - stat[Stat.ISSUE_SLOTS])
    account_until(device.engine, device.g, device.sms, device.memories, device.get("cycle"), over=i)


def _add(device: LaunchedDevice, i: int, name: str, index: int, value: int) -> None:
    """Add to a counter of SM i."""
    counters = device.engine.view(device.sms, i, name).copy()
    counters[index] += value
    device.engine.put(device.sms, i, name, counters)
