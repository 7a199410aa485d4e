"""What DRAM was told in whole runs: devices whose log of commands is on."""

from __future__ import annotations

import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state.memory_layout import DRAM_LOG_WORDS, Command, LogWord
from binalloc.models.machines.model import Machine
from tests.support.oracles.emulator.dram_log import Logged

ROOM = 50_000  # commands
TIMES = ("rcd", "rp", "ras", "rc", "cl", "wl", "ccd", "ccdl", "rrd", "wr", "cdlr", "rtp", "faw", "refi", "rfc")


def logging_devices(monkeypatch: pytest.MonkeyPatch) -> list[LaunchedDevice]:
    """Return the list of the devices of all following runs, which log what their DRAM is told."""
    found: list[LaunchedDevice] = []
    watch = LaunchedDevice.watch

    def logging(device: LaunchedDevice, check: bool, race: bool, model: str) -> None:
        watch(device, check, race, model)
        device.memories.dram_log.resize(DRAM_LOG_WORDS * ROOM)
        device.put("dram_log", DRAM_LOG_WORDS * ROOM)
        found.append(device)

    monkeypatch.setattr(LaunchedDevice, "watch", logging)
    return found


def commands(device: LaunchedDevice) -> list[Logged]:
    """What the channels were told, one channel after another: commands of several are entered as they are looked at."""
    assert device.get("dram_lost") == 0
    log = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[: device.get("dram_logged"), :5].tolist()
    told = [Logged(channel, tick, Command.names[what], bank, row) for channel, tick, what, bank, row in log]
    return sorted(told, key=lambda c: c.channel)


def parameters(m: Machine) -> dict[str, int]:
    """Return the machine's timing parameters as the reader of logs takes them."""
    return {name: getattr(m.dram, name) for name in TIMES} | {"burst": m.dram.burst_cycles}


def lines_read(device: LaunchedDevice) -> list[int]:
    """The lines that were read, in the order of their first bursts."""
    assert device.get("dram_lost") == 0
    log = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[: device.get("dram_logged")]
    rows = sorted(log[log[:, LogWord.COMMAND] == Command.READ].tolist(), key=lambda row: row[LogWord.TICK])
    first = {(row[LogWord.AGE], row[LogWord.LINE]): row[LogWord.LINE] for row in rows}
    return list(first.values())
