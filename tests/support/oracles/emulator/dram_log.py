"""An independent reader of a DRAM command log: every pair of commands against the timing parameters, one rule at a
time, from the log alone. Shares nothing with the emulator but the names of the parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple


class Logged(NamedTuple):
    """One command of a log: `what` is "read", "write", "activate", "precharge", "precharge_all" or "refresh"; of the
    last two bank and row mean nothing."""

    channel: int
    tick: int
    what: str
    bank: int
    row: int


def moves_data(command: Logged) -> bool:
    """Whether it is one for a column, else one for a row: with two command buses each kind has its own."""
    return command.what in ("read", "write")


def violations(log: Sequence[Logged], t: Mapping[str, int], groups: int, buses: int) -> list[str]:
    """What in the log breaks a rule; t: parameters by JEDEC's names in small letters without the t; buses: those of a
    channel for commands."""
    return [text for channel in sorted({c.channel for c in log}) for text in _channel(log, channel, t, groups, buses)]


def _channel(log: Sequence[Logged], channel: int, t: Mapping[str, int], groups: int, buses: int) -> Iterator[str]:
    commands = [c for c in log if c.channel == channel]
    yield from (f"{b}: out of order" for a, b in pairwise(commands) if b.tick < a.tick)
    for bus in [commands] if buses == 1 else [[c for c in commands if moves_data(c) == kind] for kind in (True, False)]:
        yield from (f"{b}: the bus has {a}" for a, b in pairwise(bus) if b.tick == a.tick)
    yield from _rows(commands)
    if t.get("refi"):
        yield from _refreshes(commands, t["refi"])
    longest = reach(t)
    first = 0
    for i, later in enumerate(commands):
        while later.tick - commands[first].tick > longest:
            first += 1
        for earlier in commands[first:i]:
            for name, distance in rules(earlier, later, t, groups):
                if later.tick - earlier.tick < distance:
                    yield f"{later}: {name} after {earlier}"
    if t.get("faw"):
        activations = [c for c in commands if c.what == "activate"]
        for fifth, first in zip(activations[4:], activations, strict=False):
            if fifth.tick - first.tick < t["faw"]:
                yield f"{fifth}: tFAW after {first}"


def reach(t: Mapping[str, int]) -> int:
    """Ticks beyond which no rule but that of tREFI reaches."""
    return 2 * max(ticks for name, ticks in t.items() if name != "refi") + t["wl"] + t["cl"] + t["burst"]


def _refreshes(commands: Sequence[Logged], every: int) -> Iterator[str]:
    """One is due every so many ticks; from then on nothing comes but what closes all banks, and it."""
    due = every
    for c in commands:
        if c.what in ("precharge_all", "refresh"):
            if c.tick < due:
                yield f"{c}: due at {due}"
        elif c.tick >= due:
            yield f"{c}: a refresh has been due since {due}"
        if c.what == "refresh":
            due += every


def _rows(commands: Sequence[Logged]) -> Iterator[str]:
    """Banks are closed before they are activated, and open at the row that is read or written."""
    rows: dict[int, int] = {}
    for c in commands:
        found = rows.get(c.bank)
        if c.what == "precharge_all":
            rows.clear()
        elif c.what == "refresh":
            if rows:
                yield f"{c}: open banks {sorted(rows)}"
        elif c.what == "activate":
            if found is not None:
                yield f"{c}: the bank is open"
            rows[c.bank] = c.row
        elif found is None:
            yield f"{c}: the bank is closed"
        elif found != c.row:
            yield f"{c}: row {found} is open"
        if c.what == "precharge":
            rows.pop(c.bank, None)


def rules(a: Logged, b: Logged, t: Mapping[str, int], groups: int) -> Iterator[tuple[str, int]]:
    """The least distances from command `a` to a later command `b` of one channel."""
    columns = ("read", "write")
    if a.bank == b.bank or {"precharge_all", "refresh"} & {a.what, b.what}:
        match a.what, b.what:
            case "activate", ("read" | "write"):
                yield "tRCD", t["rcd"]
            case "activate", ("precharge" | "precharge_all"):
                yield "tRAS", t["ras"]
            case "activate", ("activate" | "refresh"):
                yield "tRC", t["rc"]
            case ("precharge" | "precharge_all"), ("activate" | "refresh"):
                yield "tRP", t["rp"]
            case "refresh", "activate":
                yield "tRFC", t["rfc"]
            case "read", ("precharge" | "precharge_all"):
                yield "tRTP", t["rtp"]
            case "write", ("precharge" | "precharge_all"):
                yield "tWR", t["wl"] + t["burst"] + t["wr"]
    elif a.what == b.what == "activate":
        yield "tRRD", t["rrd"]
    if a.what in columns and b.what in columns:
        yield "tCCD", t["ccd"]
        if a.bank % groups == b.bank % groups:
            yield "tCCDL", t["ccdl"]
        if a.what == "write" and b.what == "read":
            yield "tCDLR", t["wl"] + t["burst"] + t["cdlr"]
        if a.what == "read" and b.what == "write":  # the data bus turns round
            yield "bus", t["cl"] + t["burst"] - t["wl"]
