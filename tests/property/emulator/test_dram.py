"""DRAM's command log, of random requests under random timing parameters, against an independent reader of such logs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import pytest

from binalloc.emulator.memory.calendar import take
from binalloc.emulator.memory.dram import catch_up, enqueue, has_room, serve_dram
from binalloc.emulator.memory.requests import make_request
from binalloc.emulator.state.memory_layout import (
    DATA_FRACTION,
    DRAM_LOG_WORDS,
    DRAM_STATS,
    IDLE,
    NEVER,
    Command,
    DramStat,
    Memory,
    RequestKind,
)
from binalloc.emulator.state.records import Gpu
from tests.support.oracles.emulator.dram_log import Logged, moves_data, violations
from tests.support.oracles.emulator.dram_queue import Wanted, commands

CHANNELS, BANKS, REQUESTS = 2, 8, 200


@dataclass
class Case:
    """One run: what the log says, under which parameters, and how many bursts were asked for."""

    log: list[Logged]
    requests: list[Wanted]
    data: Fraction
    parameters: dict[str, int]
    groups: int
    buses: int
    bursts: int
    cycles: int
    bank_ticks: int
    busy_ticks: int


def parameters(rng: random.Random, apart: int = 0) -> dict[str, int]:
    """Timing parameters about those of GDDR5, in ticks; apart: by so many reads and writes are further apart."""
    burst = rng.choice((1, 2, 4))
    ccd = burst + rng.choice((0, 0, 1)) + apart
    cl = rng.randint(8, 24)
    t = {"burst": burst, "ccd": ccd, "ccdl": ccd + rng.randint(0, 2), "cl": cl, "wl": rng.randint(2, 8)}
    t |= {name: rng.randint(4, 24) for name in ("rcd", "rp", "rrd", "wr", "cdlr", "rtp")}
    t["ras"] = t["rcd"] + rng.randint(0, 20)
    t["rc"] = t["ras"] + t["rp"] + rng.randint(-2, 4)
    t["faw"] = rng.choice((0, 4 * t["rrd"] + rng.randint(0, 30)))
    return t


def refreshed(rng: random.Random, t: dict[str, int]) -> dict[str, int]:
    """Parameters with refreshes, some of them over at once, that leave time for a few requests between them."""
    rfc = rng.choice((1, 2, rng.randint(1, 150)))
    return t | {"rfc": rfc, "refi": rfc + sum(t.values()) + rng.randint(0, 200)}


def run(
    seed: int, buses: int, slow: Fraction = Fraction(1), apart: int = 0, refresh: bool = False, m: int = Memory.NEAR,
    cpu: float = 0.0,
) -> Case:
    """Run random requests to memory m. The other memory has the figures of other random ones. cpu: share of requests
    that CPU programs send, which come first."""
    rng = random.Random(seed)
    t = parameters(rng, apart)
    if cpu:  # a bank that is closed at once may be opened again sooner than another one
        t["rrd"] = min(t["rrd"], t["rc"])
    t = refreshed(rng, t) if refresh else t
    g = Gpu()
    data = t["burst"] * slow
    groups, rate = rng.choice((1, 2, 4)), rng.choice(((1, 1), (924, 700), (325, 800), (3, 1)))
    figures = {f"t_{name}": value for name, value in t.items()} | {
        "t_rtw": t["cl"] + t["burst"] + 2 - t["wl"], "t_data": int(data * (1 << DATA_FRACTION)), "dram_banks": BANKS,
        "dram_groups": groups, "dram_depth": rng.choice((4, 16, 64)), "command_buses": buses,
        "tick_numerator": rate[0], "tick_denominator": rate[1],
    }  # fmt: skip
    for name, value in figures.items():
        getattr(g, name)[m] = value
        getattr(g, name)[1 - m] = value + random.Random(f"{seed} {name}").randrange(0, 3)
    g.dram_channels, g.all_channels = 0 if m == Memory.FAR else CHANNELS, CHANNELS
    refi = t.get("refi", 0)
    g.channel_refresh = [refi] * len(g.channel_refresh)  # type: ignore[assignment, arg-type]
    g.cpu_first = int(cpu > 0)
    g.dram_due = NEVER
    g.channel_due = [NEVER] * len(g.channel_due)  # type: ignore[assignment, arg-type]
    g.bank_ready = [IDLE] * len(g.bank_ready)  # type: ignore[assignment, arg-type]
    g.dram_log = DRAM_LOG_WORDS * 10 * REQUESTS
    log = [0] * g.dram_log
    rows, writes = rng.choice((1, 3, 50)), rng.choice((0.0, 0.3, 1.0))
    left, asked, often = REQUESTS, [], 0.3

    def ask(channel: int, tick: int) -> None:
        """A request for a channel with room; what it needs begins at `tick`."""
        first = rng.random() < cpu
        r = make_request(g, RequestKind.CPU_LOAD if first else RequestKind.LOAD, 0, 0, 0, 0)
        g.writes[r] = int(not first and rng.random() < writes)
        bursts = rng.randint(1, 4)
        bank, row = rng.randrange(BANKS), rng.randrange(rows)
        asked.append(Wanted(g.age[r], tick, channel, bank, row, bursts, bool(g.writes[r]), first))
        catch_up(g, log, channel)
        enqueue(g, r, channel, bank, row, bursts)

    while left or g.events or any(g.channel_waiting):  # type: ignore[call-overload]
        take(g)
        first = -(-g.cycle * rate[0] // rate[1])
        if refi and rng.random() < 0.005:
            often = 0.3 - often  # for a while there are none, and channels are refreshed that nobody asks for anything
        while left and rng.random() < often:
            channel = rng.randrange(CHANNELS)
            if has_room(g, channel, 1):
                ask(channel, first)
                left -= 1
        while g.dram_due <= g.cycle:
            begin = g.dram_logged
            serve_dram(g, log)
            issued = {
                log[DRAM_LOG_WORDS * i]: log[DRAM_LOG_WORDS * i + 1] for i in range(begin, g.dram_logged)
            }  # the last tick by channel
            for channel, tick in issued.items():
                if left and has_room(g, channel, 1) and rng.random() < 0.3:  # one that waited for a place
                    ask(channel, max(first, tick + 1))
                    left -= 1
        g.cycle += 1
        assert g.cycle < 1000 * REQUESTS, "requests do not come to an end"
    fields = [log[i : i + 5] for i in range(0, DRAM_LOG_WORDS * g.dram_logged, DRAM_LOG_WORDS)]
    found = [Logged(c, tick, Command.names[what], bank, row) for c, tick, what, bank, row in fields]
    first = m * DRAM_STATS
    ticks = [g.dram_stat[first + i] for i in (DramStat.DRAM_BANK_TICKS, DramStat.DRAM_BUSY_TICKS)]
    assert not any(list(g.dram_stat)[DRAM_STATS - first : 2 * DRAM_STATS - first])  # the other one counts nothing
    bursts = sum(r.bursts for r in asked)
    return Case(found, asked, data, t, groups, buses, bursts, g.cycle, *ticks)


def broken(case: Case, log: list[Logged]) -> list[str]:
    """What rules a log breaks under the parameters of a run."""
    return violations(log, case.parameters, case.groups, case.buses)


BUSES = pytest.mark.parametrize("buses", [1, 2])
REFRESH = pytest.mark.parametrize("refresh", [False, True])


@BUSES
@REFRESH
@pytest.mark.parametrize("seed", range(12))
def test_no_command_comes_too_early_and_every_burst_is_moved(seed: int, refresh: bool, buses: int) -> None:
    case = run(seed, buses, refresh=refresh, m=seed % 2)
    assert broken(case, case.log) == []
    assert sum(moves_data(c) for c in case.log) == case.bursts


@BUSES
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slow", [Fraction(1), Fraction(9, 4)])
def test_the_commands_are_those_of_the_plainest_first_ready_first_come(seed: int, slow: Fraction, buses: int) -> None:
    case = run(seed, buses, slow)
    for channel in range(CHANNELS):
        logged = [c for c in case.log if c.channel == channel]
        assert logged == commands(case.requests, channel, case.parameters, case.groups, case.data, buses)


@BUSES
@pytest.mark.parametrize("cpu", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_requests_of_cpu_programs_go_first(seed: int, cpu: float, buses: int) -> None:
    case = run(seed, buses, refresh=seed % 2 == 1, m=seed // 2 % 2, cpu=cpu)
    assert broken(case, case.log) == []
    for channel in range(CHANNELS):
        logged = [c for c in case.log if c.channel == channel]
        plain = commands(case.requests, channel, case.parameters, case.groups, case.data, buses)
        assert [c for c in logged if moves_data(c)] == [c for c in plain if moves_data(c)]
        assert logged == plain or seed % 2 == 1  # refreshes behind the last request are in one log alone


@BUSES
@pytest.mark.parametrize("seed", range(12))
def test_a_command_a_tick_earlier_is_rejected(seed: int, buses: int) -> None:
    """Of the commands that follow another of their channel closely all but those of which no timing parameter says when
    they come: for a request that has just come, or two ticks after the last that the data bus is taken to turn
    round."""
    case = run(seed, buses)
    turn = case.parameters["cl"] + case.parameters["burst"] + 2 - case.parameters["wl"]
    rejected = kept = 0
    for channel in range(CHANNELS):
        arrivals = {(r.bank, r.tick) for r in case.requests if r.channel == channel}
        log = [c for c in case.log if c.channel == channel]
        for i in random.Random(seed).sample(range(1, len(log)), 20):
            c, before = log[i], log[:i]
            if c.tick - before[-1].tick > max(case.parameters.values()):
                continue
            moved = [*before, c._replace(tick=c.tick - 1), *log[i + 1 :]]
            if broken(case, sorted(moved, key=lambda c: (c.tick, not moves_data(c)))):
                rejected += 1
                continue
            kept += 1
            last_read = max((b.tick for b in before if b.what == "read"), default=-1)
            assert (c.bank, c.tick) in arrivals or (c.what == "write" and c.tick - last_read == turn)
    assert rejected >= 15
    assert rejected >= 2 * kept


@BUSES
@pytest.mark.parametrize("seed", range(12))
def test_refreshes_come_when_the_plainest_channel_has_them(seed: int, buses: int) -> None:
    """From seed 8 on the data bus is slow: much is opened and closed before a request ends."""
    case = run(seed, buses, Fraction(33, 2) if seed >= 8 else Fraction(1), refresh=True)
    for channel in range(CHANNELS):
        logged = [c for c in case.log if c.channel == channel]
        plain = commands(case.requests, channel, case.parameters, case.groups, case.data, buses)
        assert [(c.tick, c.what) for c in logged] == [(c.tick, c.what) for c in plain]
        assert [c for c in logged if moves_data(c)] == [c for c in plain if moves_data(c)]


def test_a_refresh_a_tick_earlier_or_left_out_is_rejected() -> None:
    refreshes = 0
    for seed in range(6):
        case = run(seed, 2, refresh=True)
        for channel in range(CHANNELS):
            log = [c for c in case.log if c.channel == channel]
            for i, c in enumerate(log):
                if c.what in ("refresh", "precharge_all"):
                    assert broken(case, [*log[:i], c._replace(tick=c.tick - 1), *log[i + 1 :]])
                    if i + 1 < len(log):
                        assert broken(case, [*log[:i], *log[i + 1 :]])
                    refreshes += 1
    assert refreshes > 20


@BUSES
def test_reads_and_writes_keep_their_distance_where_it_is_longer_than_a_turn_of_the_bus(buses: int) -> None:
    for seed in range(6):
        case = run(seed, buses, apart=50)
        assert broken(case, case.log) == []


def test_two_buses_carry_two_commands_a_tick_that_one_bus_cannot() -> None:
    pairs = 0
    for seed in range(6):
        case = run(seed, 2)
        at = Counter((c.channel, c.tick) for c in case.log)
        assert set(at.values()) <= {1, 2}
        at_once = sum(n == 2 for n in at.values())
        assert len(violations(case.log, case.parameters, case.groups, buses=1)) == at_once
        pairs += at_once
    assert pairs > 100


@BUSES
@pytest.mark.parametrize("seed", range(12))
def test_banks_are_busy_while_they_carry_out_what_the_log_says(seed: int, buses: int) -> None:
    """Tick by tick: a bank from a command to its end, a channel while any of its banks is."""
    case = run(seed, buses)
    t = case.parameters
    length = {
        "precharge": t["rp"], "activate": t["rcd"], "read": t["cl"] + t["burst"], "write": t["wl"] + t["burst"],
    }  # fmt: skip
    busy = {(c.channel, c.bank, tick) for c in case.log for tick in range(c.tick, c.tick + length[c.what])}
    assert case.bank_ticks == len(busy)
    assert case.busy_ticks == len({(channel, tick) for channel, _, tick in busy})
