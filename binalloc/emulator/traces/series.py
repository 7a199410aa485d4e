"""This module writes the counters of a trace at a fixed interval: occupancy, issue rate, what is under way, bytes per
cycle."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.layout import Warp
from binalloc.emulator.state.memory_layout import DramStat, MemoryStat
from binalloc.emulator.traces.event_file import CYCLE, EventFile

Values = dict[str, int | float]


class TraceSeries:
    """A series takes a sample in front of every `interval`-th cycle: levels at that time, and rates over the cycles
    since the last sample. A counter is written when its values change."""

    def __init__(self, device: LaunchedDevice, out: EventFile, interval: int) -> None:
        self._device, self._out, self._interval = device, out, interval
        self._shared = device.sms_count + 1
        self._before: list[int] = []
        self._last: dict[tuple[int, str], Values] = {}
        self._from = 0
        self.due = interval
        self._rates()
        for sm in range(device.sms_count):
            out.name(sm + 1, None, f"SM {sm}", sm)
        out.name(self._shared, None, "L2 and DRAM", device.sms_count)

    def take(self) -> None:
        """Take a sample: all cycles before `due` are over."""
        self._sample(self.due)
        self.due += self._interval

    def end(self) -> None:
        """Take the last sample: the run has ended, or stopped."""
        cycle = self._device.get("cycle")
        if cycle > self._from:
            self._sample(cycle)

    def _sample(self, cycle: int) -> None:
        """Write a sample: rates at the beginning of their time, levels at its end."""
        device = self._device
        since, cycles = self._from, cycle - self._from
        rates = self._rates()
        burst = device.machine.dram.burst_bytes
        read, written, to_l2, from_l2, *issued = (n / cycles for n in rates)
        self._write(self._shared, since, "DRAM bytes per cycle", _rounded(read=read * burst, written=written * burst))
        self._write(self._shared, since, "L2 bytes per cycle", _rounded(**{"to L2": to_l2, "from L2": from_l2}))
        for sm, count in enumerate(issued):
            self._write(sm + 1, since, "warp instructions per cycle", _rounded(issued=count))
        fetches = int(sum(device.engine.view(device.g, 0, "slice_pending")))
        waiting = int(sum(device.engine.view(device.g, 0, "channel_waiting")))
        self._write(self._shared, cycle, "requests", {"L2 fetches under way": fetches, "DRAM queue": waiting})
        for sm in range(device.sms_count):
            self._levels(sm, cycle)
        self._from = cycle

    def _levels(self, sm: int, cycle: int) -> None:
        device = self._device

        def of(name: str) -> int:
            return int(device.engine.get(device.sms, sm, name))

        state = device.engine.view(device.sms, sm, "state")
        active = int(((state != Warp.NONE) & (state != Warp.DONE)).sum())
        self._write(sm + 1, cycle, "warps", {"active": active, "ended": of("live_warps") - active})
        self._write(sm + 1, cycle, "MSHRs in use", {"loads": of("loads_out")})
        self._write(sm + 1, cycle, "stores under way", {"stores": of("stores_out")})

    def _rates(self) -> list[int]:
        """Return the counts since the last call: DRAM reads and writes, bytes to L2 and from it, each SM's warp
        instructions."""
        device = self._device
        shared = device.engine.view(device.g, 0, "memory_stat")
        dram = device.engine.view(device.g, 0, "dram_stat")  # the near memory's come first
        now = [int(dram[name]) for name in (DramStat.DRAM_READS, DramStat.DRAM_WRITES)]
        now += [int(shared[name]) for name in (MemoryStat.REQUEST_BYTES, MemoryStat.RESPONSE_BYTES)]
        for sm in range(device.sms_count):
            now.append(int(device.engine.view(device.sms, sm, "stat")[Stat.WARP_INSTRUCTIONS]))
        before = self._before or [0] * len(now)
        self._before = now
        return [a - b for a, b in zip(now, before, strict=True)]

    def _write(self, process: int, cycle: int, name: str, values: Values) -> None:
        if self._last.get((process, name)) != values and not self._out.full:
            self._out.counter(process, cycle * CYCLE, name, values)
            self._last[process, name] = values


def _rounded(**values: float) -> Values:
    return {name: round(value, 3) for name, value in values.items()}


def described(interval: int) -> Mapping[str, str]:
    """Return descriptions of the counters."""
    return {
        "warps": "of resident blocks, and those of them that have ended",
        "MSHRs in use": "loads and atomics of the SM that have not been answered",
        "bytes per cycle": f"mean over {interval} cycles, drawn at their beginning",
    }
