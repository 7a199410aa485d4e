"""The energy of DRAM from the log of its commands alone, command by command and tick by tick, and from the currents of
a machine file as text. Shares nothing with the emulator and the models but the names of keys."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.oracles.emulator.dram_log import Logged, rules


class Seen(NamedTuple):
    """What the log of all channels says."""

    activations: int
    reads: int
    writes: int
    refreshes: int
    open_ticks: int
    closed_ticks: int


def seen(log: Sequence[Logged], channels: int, end: int) -> Seen:
    """Count the commands, and the ticks before `end` with and without an open bank."""
    count = {what: sum(c.what == what for c in log) for what in ("activate", "read", "write", "refresh")}
    open_ticks = sum(_open(sorted(c for c in log if c.channel == channel), end) for channel in range(channels))
    return Seen(*count.values(), open_ticks, channels * end - open_ticks)


def _open(told: Sequence[Logged], end: int) -> int:
    """Ticks in front of `end` in which a bank of a channel is open: every tick on its own."""
    changes: dict[int, list[Logged]] = {}
    for c in sorted(told, key=lambda c: c.tick):
        changes.setdefault(c.tick, []).append(c)
    banks: set[int] = set()
    total = 0
    for tick in range(end):
        for c in changes.get(tick, ()):
            if c.what == "activate":
                banks.add(c.bank)
            elif c.what == "precharge":
                banks.discard(c.bank)
            elif c.what == "precharge_all":
                banks.clear()
        total += bool(banks)
    return total


def with_idle_refreshes(log: Sequence[Logged], t: Mapping[str, int], channels: int, end: int) -> list[Logged]:
    """The log with the refreshes of each channel that were due before `end` and came after its last request."""
    out = list(log)
    for channel in range(channels):
        told = [c for c in log if c.channel == channel]
        while t["refi"] * (1 + sum(c.what == "refresh" for c in told)) < end:
            due = t["refi"] * (1 + sum(c.what == "refresh" for c in told))
            added = list(_refresh(told, channel, due, t))
            told += added
            out += added
    return out


def _refresh(told: Sequence[Logged], channel: int, due: int, t: Mapping[str, int]) -> Iterator[Logged]:
    """The commands of a refresh: each at the first tick at which no rule forbids it."""
    banks: set[int] = set()
    for c in told:
        banks = set() if c.what == "precharge_all" else banks
        banks = banks | {c.bank} if c.what == "activate" else banks - {c.bank} if c.what == "precharge" else banks
    told = list(told)
    for what in (("precharge_all",) if banks else ()) + ("refresh",):
        tick = due
        while _forbidden(told, Logged(channel, tick, what, 0, 0), t, banks):
            tick += 1
        told.append(Logged(channel, tick, what, 0, 0))
        yield told[-1]


def _forbidden(told: Sequence[Logged], later: Logged, t: Mapping[str, int], banks: set[int]) -> bool:
    """Whether the bus is taken, or a rule of an earlier command holds; of a precharge of all banks those of open
    ones."""
    for c in told:
        if c.tick == later.tick and c.what not in ("read", "write"):
            return True
        if later.what == "refresh" and c.what == "refresh" and later.tick - c.tick < t["rfc"]:
            return True
        if later.what == "precharge_all" and c.what in ("activate", "read", "write") and c.bank not in banks:
            continue
        if any(later.tick - c.tick < distance for _, distance in rules(c, later, t, 1)):
            return True
    return False


def energy(path: Path, found: Seen, share: Fraction) -> dict[str, Fraction]:
    """The energy in nanojoules by part. share: of background and refreshes in those of the emulated channels."""
    with path.open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["dram"]
    power = {key: Fraction(str(entry["value"])) for key, entry in table["power"].items()}
    dram = {key: Fraction(str(entry["value"])) for key, entry in table.items() if key != "power"}
    tick = 1000 / dram["command_mhz"]
    ras, rc = dram["ras"] * tick, dram["rc"] * tick
    burst = dram["burst"] / dram["data_rate"] * tick
    v = power["vdd"] * power["devices"] / 1000
    row = power["idd0"] * rc - power["idd3n"] * ras - power["idd2n"] * (rc - ras)
    refreshes, rfc = Fraction(found.refreshes), dram.get("rfc", Fraction(0)) * tick
    if "refi" not in dram:
        refreshes = (found.open_ticks + found.closed_ticks) * tick / power["refi"]
        rfc = power["rfc"]
    return {
        "activation_nj": v * row * found.activations,
        "read_nj": v * (power["idd4r"] - power["idd3n"]) * burst * found.reads,
        "write_nj": v * (power["idd4w"] - power["idd3n"]) * burst * found.writes,
        "open_nj": v * power["idd3n"] * tick * found.open_ticks * share,
        "closed_nj": v * power["idd2n"] * tick * found.closed_ticks * share,
        "refresh_nj": v * (power["idd5"] - power["idd3n"]) * rfc * refreshes * share,
    }
