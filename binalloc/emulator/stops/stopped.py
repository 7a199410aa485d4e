"""A run that has come to where it was to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.emulator.host.device import Device
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.layout import Column


class Stopped(Exception):
    """Raised by `run` when a warp is about to execute an instruction at which, or touch bytes of which, a listener of
    the run's log has asked to stop. The instruction is issued, and nothing of it has happened yet. partial: as in
    `LimitHit`."""

    def __init__(self, device: Device) -> None:
        super().__init__("stopped at a break")
        self.device = device
        self.partial: object = None


def take_back(device: Device) -> None:
    """Count nothing of the instruction in front of which `device` has stopped; one that was to go with it has used its
    slot."""
    i, warp, pc, mask = (device.get(f"fault_{name}") for name in ("sm", "warp", "pc", "a"))
    stat = _counters(device, i, "stat")
    device.memories.counts[pc] -= 1
    _counters(device, i, "warp_issued")[warp] -= 1
    _counters(device, i, "unit_issued")[device.program.table[pc, Column.UNIT]] -= 1
    stat[Stat.WARP_INSTRUCTIONS] -= 1
    stat[Stat.THREAD_INSTRUCTIONS] -= mask.bit_count()
    stat[Stat.ISSUE_SLOTS] = stat[Stat.WARP_INSTRUCTIONS]


def _counters(device: Device, i: int, name: str) -> Any:
    """An array of SM i itself, be it a list or one of NumPy."""
    sms = device.sms
    return sms[name][i] if isinstance(sms, np.ndarray) else getattr(sms[i], name)
