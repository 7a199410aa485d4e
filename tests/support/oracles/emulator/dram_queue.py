"""First ready, first come in its plainest form: at every tick, of all that any bank could be told, the first by the
rules of TIMING.md, and with two command buses the first of the other kind, too. No state is kept but the commands so
far and the requests that wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.support.oracles.emulator.dram_log import Logged, moves_data, reach, rules

LESS_THAN_A_TICK = 1 - Fraction(1, 1 << 16)
"""What a command may have waited for its tick to begin is not lost for the bus; fractions of it are 2^-16 ticks."""


@dataclass
class Wanted:
    """A request: when it comes, in ticks; in the order of their ages."""

    age: int
    tick: int
    channel: int
    bank: int
    row: int
    bursts: int
    write: bool
    first: bool = False  # whether it goes before all that do not


def commands(
    requests: Sequence[Wanted], channel: int, t: Mapping[str, int], groups: int, data: Fraction, buses: int
) -> list[Logged]:
    """The channel's commands until all requests are served; data: ticks that a burst takes of the data bus; buses: for
    commands."""
    waiting = [r for r in requests if r.channel == channel]
    left = {r.age: r.bursts for r in waiting}
    log: list[Logged] = []
    tick, bus, due = 0, Fraction(0), t.get("refi", 0)
    while waiting:
        if due and tick >= due:
            refreshing = Logged(channel, tick, "precharge_all" if _open_banks(log) else "refresh", 0, 0)
            if _legal(log, refreshing, t, groups):
                log.append(refreshing)
                due += t["refi"] * (refreshing.what == "refresh")
            tick += 1
            continue
        for kinds in [(True, False)] if buses == 1 else [(True,), (False,)]:  # that one bus carries: moves data, or not
            found = [
                (not moves_data(command), not r.first, r.age, command, r)
                for command, r in _wanted(log, channel, tick, waiting)
                if moves_data(command) in kinds
                and _legal(log, command, t, groups)
                and not (moves_data(command) and tick < bus)
            ]
            if not found:
                continue
            _, _, age, command, r = min(found)
            log.append(command)
            if moves_data(command):
                bus = max(bus, tick - LESS_THAN_A_TICK) + data
                left[age] -= 1
                if left[age] == 0:
                    waiting.remove(r)
        tick += 1
    return log


def _wanted(
    log: Sequence[Logged], channel: int, tick: int, waiting: Sequence[Wanted]
) -> Iterator[tuple[Logged, Wanted]]:
    """What each bank with requests would be told at that tick, and for which of them."""
    here = [r for r in waiting if r.tick <= tick]
    for bank in {r.bank for r in here}:
        at_bank = [r for r in here if r.bank == bank]
        row = _open_row(log, bank)
        at_bank = [r for r in at_bank if r.first] or at_bank
        chosen = min((r for r in at_bank if r.row == row), key=lambda r: r.age, default=None)
        chosen = chosen or min(at_bank, key=lambda r: r.age)
        yield _command(channel, tick, chosen, row), chosen


def _open_banks(log: Sequence[Logged]) -> set[int]:
    return {c.bank for c in log if _open_row(log, c.bank) is not None}


def _open_row(log: Sequence[Logged], bank: int) -> int | None:
    for c in reversed(log):
        if c.what == "precharge_all":
            return None
        if c.bank == bank and c.what in ("activate", "precharge"):
            return c.row if c.what == "activate" else None
    return None


def _command(channel: int, tick: int, r: Wanted, row: int | None) -> Logged:
    if row is None:
        return Logged(channel, tick, "activate", r.bank, r.row)
    if row != r.row:
        return Logged(channel, tick, "precharge", r.bank, row)
    return Logged(channel, tick, "write" if r.write else "read", r.bank, r.row)


def _legal(log: Sequence[Logged], command: Logged, t: Mapping[str, int], groups: int) -> bool:
    activations = [c for c in log if c.what == "activate"]
    if (
        t["faw"]
        and command.what == "activate"
        and len(activations) >= 4
        and command.tick - activations[-4].tick < t["faw"]
    ):
        return False
    longest = reach(t)
    for earlier in reversed(log):
        distance = command.tick - earlier.tick
        if distance > longest:
            return True
        if any(distance < least for _, least in rules(earlier, command, t, groups)):
            return False
        if earlier.what == "read" and command.what == "write" and distance < t["cl"] + t["burst"] + 2 - t["wl"]:
            return False
    return True
