"""Prefetches from open rows: the lines of a row are those of a model that tries all lines, each prefetch of random runs
is the one that a model of the rules in TIMING.md wants, and runs with them agree in both modes and engines."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.memory import dram
from binalloc.emulator.memory.places import find_place, row_of
from binalloc.emulator.memory.prefetch import open_rows
from binalloc.emulator.memory.prefetch.row_lines import line_behind
from binalloc.emulator.memory.replacement import BUSY
from binalloc.emulator.pages.parts import put_together, take_apart
from binalloc.emulator.sm import memory_events
from binalloc.emulator.state.memory_layout import FIRST_CODE_LINE, FIRST_LOCAL_LINE, MAX_BANKS_OF_DRAM
from binalloc.emulator.state.records import Gpu
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.small import go

LINE_BYTES = 128


def mixed(x: int) -> int:
    """h(x) of TIMING.md."""
    x ^= x >> 15
    x ^= x >> 7
    return x ^ x >> 3


@dataclass
class Mapping:
    """Where lines lie without pages, from TIMING.md's sections on L2 and DRAM."""

    slices: int
    channels: int
    chunk: int  #: lines that go to a slice together
    row: int  #: lines of a row

    def place(self, line: int) -> tuple[int, int]:
        """The channel of a line, and its number there."""
        c, within = divmod(line, self.chunk)
        k = (c + mixed(c // self.slices)) % self.slices
        inside = c // self.slices * self.chunk + within
        each = self.slices // self.channels
        return k // each, inside * each + k % each

    def behind(self, line: int, distance: int) -> int:
        """The line so many places behind in the row: the only one of all around that has that place."""
        channel, n = self.place(line)
        wanted = channel, n // self.row * self.row + (n + distance) % self.row
        turns = self.slices * self.chunk * (self.row // self.chunk + 2)
        around = range(max(0, line - turns), line + turns)
        (found,) = (other for other in around if self.place(other) == wanted)
        return found


@pytest.mark.parametrize("seed", range(20))
def test_the_lines_of_a_row_are_found(seed: int) -> None:
    rng = random.Random(f"rows {seed}")
    g = Gpu()
    g.dram_channels, g.slices_per_channel = rng.choice((1, 2, 3, 4, 6)), rng.choice((1, 2, 3))
    g.all_channels = g.dram_channels
    g.slices = g.dram_channels * g.slices_per_channel
    chunk, row = rng.choice((1, 2, 4)), rng.choice((4, 8, 16, 32))
    g.interleave, g.row_bytes[0] = chunk * LINE_BYTES, row * LINE_BYTES
    mapping = Mapping(g.slices, g.dram_channels, chunk, row)
    for _ in range(30):
        line = rng.choice((0, 1 << 21, FIRST_LOCAL_LINE, FIRST_CODE_LINE)) + rng.randrange(5000)
        channel, _ = mapping.place(line)
        distance = rng.randrange(row)
        assert line_behind(g, channel, line, distance) == mapping.behind(line, distance)
        assert line_behind(g, channel, line, row) == line


@dataclass
class Row:
    """What a bank has read of its row since that was opened."""

    row: int
    lines: list[int]  #: lines that may be fetched, in their order
    left: int  #: how many of them may be fetched


@dataclass
class Prefetcher:
    """The rules, for all banks."""

    most: int
    when: str
    mapping: Mapping
    ended: set[tuple[int, int]] = field(default_factory=set)  #: channels and banks whose reads have just ended
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def hear_read(self, g: Any, b: int, r: int) -> None:
        channel, bank = divmod(b, MAX_BANKS_OF_DRAM)
        kept = self.rows.get((channel, bank))
        if g.opened[r] or kept is None or kept.row != g.at_row[r]:
            lines = [self.behind(g, g.home[r], d) for d in range(1, self.mapping.row)]
            self.rows[channel, bank] = Row(g.at_row[r], lines, self.most)
        self.ended.add((channel, bank))

    def behind(self, g: Any, line: int, distance: int) -> int:
        if not g.paged:
            return self.mapping.behind(line, distance)
        take_apart(g, line)
        channel, bank, row, column = list(g.address_part)
        return put_together(g, 0, channel, bank, row, (column + distance) % self.mapping.row)

    def wanted(self, g: Any) -> list[int]:
        """The lines that are fetched now, from the state before."""
        sent: list[int] = []
        ended, self.ended = sorted(self.ended), set()
        waiting = {(b // MAX_BANKS_OF_DRAM, b % MAX_BANKS_OF_DRAM) for b in self.busy_banks(g)}
        held = {line - 1 for line in dict(g.l2_line).values() if line}
        taken: dict[int, int] = Counter()  # MSHRs by slice
        places: dict[int, int] = Counter()  # by channel
        ways: set[int] = set()
        gone: set[int] = set()
        for channel, bank in ended:
            kept = self.rows[channel, bank]
            slices = range(channel * g.slices_per_channel, (channel + 1) * g.slices_per_channel)
            while kept.left and kept.lines:
                if g.bank_row[channel * MAX_BANKS_OF_DRAM + bank] != kept.row + 1:
                    self.seen["closed"] += 1
                    break
                if self.when == "idle" and (channel, bank) in waiting:
                    self.seen["bank waits"] += 1
                    break
                if any(g.slice_wants[k] for k in slices):
                    self.seen["slice waits for a place"] += 1
                    break
                line = kept.lines[0]
                if line in (held - gone) | set(sent):
                    self.seen["in L2"] += 1
                    kept.lines.pop(0)
                    continue
                k, way = self.victim(g, line, ways)
                dirty = way is not None and g.l2_dirty[way] != 0
                full = g.channel_waiting[channel] + places[channel] + 1 + dirty > g.dram_depth[0]
                if way is None or g.slice_first[k] or g.slice_pending[k] + taken[k] >= g.l2_mshrs or full:
                    reason = "way" if way is None else "slice" if g.slice_first[k] else "place" if full else "MSHR"
                    self.seen["no " + reason] += 1
                    break
                kept.lines.pop(0)
                kept.left -= 1
                sent.append(line)
                gone.add(g.l2_line[way] - 1)
                ways.add(way)
                taken[k] += 1
                places[channel] += 1 + dirty
                waiting.add((channel, bank))
                if dirty:
                    self.seen["dirty victim"] += 1
                    waiting.add((channel, row_of(g, k, g.l2_line[way] - 1) % MAX_BANKS_OF_DRAM))
        self.seen["sent"] += len(sent)
        return sent

    def busy_banks(self, g: Any) -> list[int]:
        return [channel * MAX_BANKS_OF_DRAM + bank for channel in range(g.dram_channels)
                for bank in range(g.dram_banks[0]) if g.channel_used[channel] >> bank & 1]  # fmt: skip

    def victim(self, g: Any, line: int, taken: set[int]) -> tuple[int, int | None]:
        """Slice of a line, and the way that it would take."""
        probe = 1 << 17  # a row of the requests that no run comes to
        g.home[probe] = line
        find_place(g, probe)
        first = g.at_way[probe]
        ways = [i for i in range(first, first + g.l2_ways) if g.l2_age[i] < BUSY and i not in taken]
        return g.at_slice[probe], min(ways, key=lambda i: (g.l2_age[i], i), default=None)


def small_machine(rng: random.Random, name: str, rows: tuple[int, ...]) -> Machine:
    """A machine whose L2 and queues are short, so that prefetches do not always find room. With a slow core, rows close
    in the cycle in which a read ends. rows: parts of the usual row that a row may be."""
    m = load_machine(name)
    ways, sets = rng.choice((1, 2, 4)), rng.choice((1, 4, 16))
    size = m.l2.slices * ways * sets * LINE_BYTES
    l2 = replace(m.l2, ways=ways, sets=sets, bytes=size, mshrs=rng.choice((2, 4, 192)))
    row = m.dram.row_bytes // rng.choice(rows)
    refresh = {"refi": 700, "rfc": 150} if rng.random() < 0.3 else {}
    clock = replace(m.clock, core_mhz=m.clock.core_mhz / rng.choice((1, 1, 8)))
    return replace(m, l2=l2, clock=clock, dram=replace(m.dram, queue=rng.choice((3, 6, 64)), row_bytes=row, **refresh))


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    """The random kernel of a seed, and how it is run."""
    rng = random.Random(f"ahead {seed}")
    name = rng.choice(("gem5gpu-batching", "v100", "gtx680"))
    pages = rng.choice(("identity", "interleaved", "coloured")) if name.startswith("gem5") else "identity"
    m = small_machine(rng, name, (1, 4) if pages == "identity" else (1,))
    sms = rng.randrange(1, 4) if pages == "identity" else m.chip.sms
    lines = rng.choice(("1", "3", "row"))
    options = {
        "machine": m, "sms": sms, "grid": sms * rng.randrange(1, 6), "block": rng.choice((32, 96, 200)),
        "pages": pages, "hazards": False, "scheduler": f"owl:prefetch={lines}:when={('idle', 'open')[seed % 2]}",
        "buffers": {"x": np.arange(WORDS, dtype=np.uint32)},
    }  # fmt: skip
    return waiting_program(seed, name), options


def follow(seed: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Compare each prefetch of a run with the model's. Return what the model has met."""
    program, options = drawn(seed)
    _, lines, when = (part.partition("=")[2] or part for part in options["scheduler"].split(":"))
    models: list[Prefetcher] = []
    usual_read, usual_fetch, usual_send = dram.read_ended, memory_events.fetch_ahead, open_rows.to_dram
    sent: list[int] = []
    wrong: list[Any] = []

    def read_ended(g: Any, b: int, r: int) -> None:
        if not models:
            row = int(g.row_bytes[0]) // LINE_BYTES
            mapping = Mapping(g.slices, g.dram_channels, g.interleave // LINE_BYTES, row)
            models.append(Prefetcher(row if lines == "row" else int(lines), when, mapping))
        models[0].hear_read(g, b, r)
        usual_read(g, b, r)

    def fetch_ahead(g: Any) -> None:
        wanted = models[0].wanted(g) if models else []
        sent.clear()
        usual_fetch(g)
        if sent != wanted:
            wrong.append((g.cycle, list(sent), wanted))

    def to_dram(g: Any, r: int, k: int) -> None:
        sent.append(g.home[r])
        usual_send(g, r, k)

    patch.setattr(dram, "read_ended", read_ended)
    patch.setattr(memory_events, "fetch_ahead", fetch_ahead)
    patch.setattr(open_rows, "to_dram", to_dram)
    stats = go(program, engine="python", **options).stats
    assert wrong == [], seed
    assert stats["l2_prefetches"] == models[0].seen["sent"]
    return models[0].seen


def test_each_prefetch_is_the_models() -> None:
    seen: Counter[str] = Counter()
    for seed in range(24):
        with pytest.MonkeyPatch.context() as patch:
            seen += follow(seed, patch)
    reasons = {"closed", "bank waits", "slice waits for a place", "no slice", "no way", "no MSHR", "no place"}
    assert reasons | {"sent", "in L2", "dirty victim"} <= set(seen)


@pytest.mark.parametrize("seed", range(24))
def test_both_modes_and_engines_agree(seed: int) -> None:
    program, options = drawn(100 + seed)
    fast, slow = (go(program, engine="numba", reference=mode, **options) for mode in (False, True))
    assert fast.stats == slow.stats
    assert np.array_equal(fast.buffers["x"], slow.buffers["x"])
    if seed % 4 == 0:
        assert go(program, engine="python", **options).stats == fast.stats
    off = go(program, engine="numba", **(options | {"scheduler": "owl:prefetch=0"}))
    assert off.stats["l2_prefetches"] == 0
    assert off.stats["warp_instructions"] == fast.stats["warp_instructions"]
