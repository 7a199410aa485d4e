"""This module finds endless loops that wait in vain: a spin inside a warp, or between warps.

The launch is a deterministic machine. The search compares everything that a program can see (registers, predicates,
stacks, all memories) at two moments far apart. If all is the same, if every warp has either issued in between or waited
at a closed barrier or for shared memory, and if some have issued, then nothing will ever change: the spin is a
deadlock. It is none yet while something is on its way to a warp that has ended, as another block may then come in the
place of its own. The driver rarely looks for spins, so they cost the device loop nothing.
"""

from __future__ import annotations

import zlib

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.interrupts import whole_cycles
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.models.machines.sections import CYCLES_MAX

APART = CYCLES_MAX + 1_000  # cycles between the two moments: longer than any latency or interval
STEPS = 2_048  # cycles with events in which the state may come back; a longer loop is not found. Chosen by hand
TOGETHER = 64  # steps of these between which signals wait; more delay Ctrl-C. Chosen by hand


def digest(device: LaunchedDevice, memories: bool) -> int:
    """Return a hash of what programs can see, with global, shared and local memory if `memories`."""
    mem, value = device.memories, 0
    parts: list[Array] = [mem.regs]
    for i in range(device.sms_count):
        sp = device.engine.get(device.sms, i, "sp")
        stack = device.engine.get(device.sms, i, "stack")
        live = [stack[w, : sp[w] + 1] for w in range(L.MAX_WARPS) if sp[w] >= 0]
        kept = [device.engine.get(device.sms, i, name) for name in ("pred", "bar_arrived", "holds")]
        parts += [sp, *kept, *live]
    if memories:
        parts += [mem.global_, mem.shared, mem.local]
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data.cast("B"), value)
    return value


def running(device: LaunchedDevice) -> bytes:
    """Return the code words of all warps, which are cheap to compare cycle by cycle."""
    parts = []
    for i in range(device.sms_count):
        sp = device.engine.view(device.sms, i, "sp")
        stack = device.engine.view(device.sms, i, "stack")
        parts.append(stack[np.arange(L.MAX_WARPS), np.maximum(sp, 0), L.StackColumn.PC].tobytes())
    return b"".join(parts)


def place_of(device: LaunchedDevice, sm: int, w: int) -> int:
    """Return the code word of one warp, whose slot is in use. This is cheaper still."""
    top = device.engine.view(device.sms, sm, "sp")[w]
    return int(device.engine.view(device.sms, sm, "stack")[w, max(top, 0), L.StackColumn.PC])


def find_spin(device: LaunchedDevice, limit: int) -> int:
    """Run on for a while. Return status 2, with the deadlock fault set, where the state comes back, else the run's
    status."""
    state = _State(device)
    start = device.engine.get(device.g, 0, "cycle")
    retired = device.engine.get(device.g, 0, "retired")
    while device.engine.get(device.g, 0, "cycle") < start + APART:
        status = device.step(1_000, limit)
        if status or device.engine.get(device.g, 0, "retired") != retired:
            return status
    for _ in range(STEPS // TOGETHER):
        with whole_cycles():
            for _ in range(TOGETHER):
                if state.has_come_round():
                    device.put("fault", L.Fault.DEADLOCK)
                    return 2
                status = device.step(1, limit)
                if status:
                    return status
    return 0


class _State:
    """The state of a device at one moment is kept for comparison with later ones. Nearly always the first warp suffices
    to see that a later state differs."""

    def __init__(self, device: LaunchedDevice) -> None:
        self._device = device
        self._place, self._registers, self._everything = running(device), digest(device, False), digest(device, True)
        self._issued = issue_counts(device)
        tops = [device.engine.get(device.sms, i, "sp") for i in range(device.sms_count)]
        live = [(i, int(w)) for i, sp in enumerate(tops) for w in np.flatnonzero(sp >= 0)]
        self._one = live[0] if live else (0, 0)
        self._place_of_one = place_of(device, *self._one)

    def has_come_round(self) -> bool:
        """Return whether the device has this state again, and every warp has either issued in between or waits for
        ever."""
        device = self._device
        return (
            place_of(device, *self._one) == self._place_of_one
            and running(device) == self._place
            and digest(device, False) == self._registers
            and digest(device, True) == self._everything
            and all_busy(device, self._issued)
        )


def issue_counts(device: LaunchedDevice) -> list[Array]:
    """Return the instructions issued by each warp slot since the launch, per SM."""
    return [device.engine.get(device.sms, i, "warp_issued") for i in range(device.sms_count)]


def all_busy(device: LaunchedDevice, before: list[Array]) -> bool:
    """Return whether every warp that has not gone has issued since `before` or waits for what others have to do, and
    some have issued."""
    some = False
    for i, old in enumerate(before):
        names = ("state", "gone", "bar_id", "kept_out")
        state, gone, barrier, kept_out = (device.engine.get(device.sms, i, name) for name in names)
        now = device.engine.get(device.sms, i, "warp_issued")
        for w in range(L.MAX_WARPS):
            if state[w] == L.Warp.NONE or (state[w] == L.Warp.DONE and gone[w]):
                continue
            if state[w] == L.Warp.SHARED or kept_out[w] or (state[w] == L.Warp.BARRIER and barrier[w] >= 0):
                continue
            if state[w] == L.Warp.DONE or now[w] == old[w]:
                return False
            some = True
    return some
