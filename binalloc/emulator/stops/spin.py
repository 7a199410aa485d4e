"""Endless loops that wait for what can never come: a spin inside a warp, or between warps.

The launch is a deterministic machine: if everything a program can see (registers, predicates, stacks, all memories)
is the same at two moments far apart, and in between every warp either issued or stood at a closed barrier, then
nothing will ever change, and the spin is a deadlock. Looked for rarely and by the driver, so it costs the device loop
nothing."""

from __future__ import annotations

import zlib

import numpy as np

from binalloc.emulator.host.device import Device
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array

APART = 100_000  # cycles between the two moments: longer than any single wait
STEPS = 2_048  # cycles with events over which the state is looked for again


def digest(device: Device, memories: bool) -> int:
    """Hash of what programs can see; of global, shared and local memory only if `memories`."""
    mem, value = device.memories, 0
    parts: list[Array] = [mem.regs]
    for i in range(device.sms_count):
        sp = device.engine.get(device.sms, i, "sp")
        stack = device.engine.get(device.sms, i, "stack")
        live = [stack[w, : sp[w] + 1] for w in range(L.MAX_WARPS) if sp[w] >= 0]
        parts += [sp, device.engine.get(device.sms, i, "pred"), device.engine.get(device.sms, i, "bar_arrived"), *live]
    if memories:
        parts += [mem.global_, mem.shared, mem.local]
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data.cast("B"), value)
    return value


def running(device: Device) -> bytes:
    """Where every warp stands: cheap to compare cycle by cycle."""
    parts = []
    for i in range(device.sms_count):
        sp = device.engine.view(device.sms, i, "sp")
        stack = device.engine.view(device.sms, i, "stack")
        parts.append(stack[np.arange(L.MAX_WARPS), np.maximum(sp, 0), L.Entry.PC].tobytes())
    return b"".join(parts)


def find_spin(device: Device, limit: int) -> int:
    """Run on for a while; status 2 with the deadlock fault set where the state comes round, else the run's status."""
    place, registers, everything = running(device), digest(device, False), digest(device, True)
    start = device.engine.get(device.g, 0, "cycle")
    retired = device.engine.get(device.g, 0, "retired")
    before = issue_counts(device)
    while device.engine.get(device.g, 0, "cycle") < start + APART:
        status = device.step(1_000, limit)
        if status or device.engine.get(device.g, 0, "retired") != retired:
            return status
    for _ in range(STEPS):
        if (
            running(device) == place
            and digest(device, False) == registers
            and digest(device, True) == everything
            and all_busy(device, before)
        ):
            device.put("fault", L.Fault.DEADLOCK)
            return 2
        status = device.step(1, limit)
        if status:
            return status
    return 0


def issue_counts(device: Device) -> list[Array]:
    """Per SM: instructions issued by each warp slot since the launch."""
    return [device.engine.get(device.sms, i, "warp_issued") for i in range(device.sms_count)]


def all_busy(device: Device, before: list[Array]) -> bool:
    """Whether every live warp has issued since `before` or stands at a barrier that has not opened."""
    for i, old in enumerate(before):
        state = device.engine.get(device.sms, i, "state")
        now = device.engine.get(device.sms, i, "warp_issued")
        for w in range(L.MAX_WARPS):
            if state[w] not in (L.Warp.NONE, L.Warp.DONE, L.Warp.BARRIER) and now[w] == old[w]:
                return False
    return True
