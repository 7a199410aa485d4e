"""DRAM's command log, of random requests under random timing parameters, against an independent reader of such logs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from binalloc.emulator.memory.calendar import take
from binalloc.emulator.memory.dram import enqueue, has_room, serve_dram
from binalloc.emulator.memory.requests import make_request
from binalloc.emulator.state.memory_layout import DATA_FRACTION, IDLE, NEVER, Command, Kind, MemoryStat
from binalloc.emulator.state.records import Gpu
from tests.support.oracles.dram_log import Logged, violations
from tests.support.oracles.dram_queue import Wanted, commands

CHANNELS, BANKS, REQUESTS = 2, 8, 200


@dataclass
class Case:
    """One run: what the log says, under which parameters, and how many bursts were asked for."""

    log: list[Logged]
    requests: list[Wanted]
    data: Fraction
    parameters: dict[str, int]
    groups: int
    bursts: int
    cycles: int
    bank_ticks: int
    busy_ticks: int


def parameters(rng: random.Random) -> dict[str, int]:
    """Timing parameters about those of GDDR5, in ticks."""
    burst = rng.choice((1, 2, 4))
    ccd = burst + rng.choice((0, 0, 1))
    cl = rng.randint(8, 24)
    t = {"burst": burst, "ccd": ccd, "ccdl": ccd + rng.randint(0, 2), "cl": cl, "wl": rng.randint(2, 8)}
    t |= {name: rng.randint(4, 24) for name in ("rcd", "rp", "rrd", "wr", "cdlr", "rtp")}
    t["ras"] = t["rcd"] + rng.randint(0, 20)
    t["rc"] = t["ras"] + t["rp"] + rng.randint(-2, 4)
    t["faw"] = rng.choice((0, 4 * t["rrd"] + rng.randint(0, 30)))
    return t


def run(seed: int, slow: Fraction = Fraction(1)) -> Case:
    rng = random.Random(seed)
    t = parameters(rng)
    g = Gpu()
    for name, value in t.items():
        setattr(g, f"t_{name}", value)
    g.t_rtw = t["cl"] + t["burst"] + 2 - t["wl"]
    data = t["burst"] * slow
    g.t_data = int(data * (1 << DATA_FRACTION))
    g.dram_channels, g.dram_banks, g.dram_groups = CHANNELS, BANKS, rng.choice((1, 2, 4))
    g.dram_depth = rng.choice((4, 16, 64))
    g.tick_numerator, g.tick_denominator = rng.choice(((1, 1), (924, 700), (325, 800), (3, 1)))
    g.dram_due = NEVER
    g.channel_due = [NEVER] * len(g.channel_due)  # type: ignore[assignment, arg-type]
    g.bank_ready = [IDLE] * len(g.bank_ready)  # type: ignore[assignment, arg-type]
    g.dram_log = 5 * 10 * REQUESTS
    log = [0] * g.dram_log
    rows, writes = rng.choice((1, 3, 50)), rng.choice((0.0, 0.3, 1.0))
    left, bursts, asked = REQUESTS, 0, []
    while left or g.events or any(g.channel_waiting):  # type: ignore[call-overload]
        take(g)
        while left and rng.random() < 0.3:
            channel = rng.randrange(CHANNELS)
            if has_room(g, channel, 1):
                r = make_request(g, Kind.LOAD, 0, 0, 0, 0)
                g.writes[r] = int(rng.random() < writes)
                wanted = rng.randint(1, 4)
                bank, row = rng.randrange(BANKS), rng.randrange(rows)
                tick = -(-g.cycle * g.tick_numerator // g.tick_denominator)
                asked.append(Wanted(g.age[r], tick, channel, bank, row, wanted, bool(g.writes[r])))
                enqueue(g, r, channel, bank, row, wanted)
                left, bursts = left - 1, bursts + wanted
        if g.dram_due <= g.cycle:
            serve_dram(g, log)
        g.cycle += 1
        assert g.cycle < 500 * REQUESTS, "requests do not come to an end"
    fields = [log[i : i + 5] for i in range(0, 5 * g.dram_logged, 5)]
    found = [Logged(c, tick, Command.names[what], bank, row) for c, tick, what, bank, row in fields]
    ticks = [g.memory_stat[i] for i in (MemoryStat.DRAM_BANK_TICKS, MemoryStat.DRAM_BUSY_TICKS)]
    return Case(found, asked, data, t, g.dram_groups, bursts, g.cycle, *ticks)


@pytest.mark.parametrize("seed", range(12))
def test_no_command_comes_too_early_and_every_burst_is_moved(seed: int) -> None:
    case = run(seed)
    assert violations(case.log, case.parameters, case.groups) == []
    assert sum(c.what in ("read", "write") for c in case.log) == case.bursts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slow", [Fraction(1), Fraction(9, 4)])
def test_the_commands_are_those_of_the_plainest_first_ready_first_come(seed: int, slow: Fraction) -> None:
    case = run(seed, slow)
    for channel in range(CHANNELS):
        logged = [c for c in case.log if c.channel == channel]
        assert logged == commands(case.requests, channel, case.parameters, case.groups, case.data)


@pytest.mark.parametrize("seed", range(12))
def test_commands_come_as_early_as_they_may(seed: int) -> None:
    """Of the commands that follow another of their channel closely, nearly all cannot be a tick earlier."""
    case = run(seed)
    close = [
        i
        for i, c in enumerate(case.log)
        if any(b.channel == c.channel and 0 < c.tick - b.tick <= max(case.parameters.values()) for b in case.log[:i])
    ]
    rng = random.Random(seed)
    sample = rng.sample(close, min(30, len(close)))
    early = []
    for i in sample:
        moved = [*case.log[:i], case.log[i]._replace(tick=case.log[i].tick - 1), *case.log[i + 1 :]]
        early.append(bool(violations(moved, case.parameters, case.groups)))
    assert sum(early) >= 0.7 * len(sample)


@pytest.mark.parametrize("seed", range(12))
def test_banks_are_busy_while_they_carry_out_what_the_log_says(seed: int) -> None:
    """Tick by tick: a bank from a command to its end, a channel while any of its banks is."""
    case = run(seed)
    t = case.parameters
    length = {
        "precharge": t["rp"], "activate": t["rcd"], "read": t["cl"] + t["burst"], "write": t["wl"] + t["burst"],
    }  # fmt: skip
    busy = {(c.channel, c.bank, tick) for c in case.log for tick in range(c.tick, c.tick + length[c.what])}
    assert case.bank_ticks == len(busy)
    assert case.busy_ticks == len({(channel, tick) for channel, _, tick in busy})
