"""Pages: physical lines are a bijection for random orders of address parts and random requests, coloured pages lie in
the banks of the SM that asks first, and runs with pages agree in both modes and engines."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.channels.memories import memory_of
from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.memory.memory_figures import memory_figures
from binalloc.emulator.host.memory.pages import page_fields
from binalloc.emulator.memory.places import find_place, row_of
from binalloc.emulator.pages.parts import line_of_channel, put_together, take_apart
from binalloc.emulator.pages.physical import physical
from binalloc.emulator.pages.table import PAGES, chosen_pages
from binalloc.emulator.state.memory_layout import (
    DRAM_LOG_WORDS,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    FIRST_LOCAL_LINE,
    MAX_BANKS_OF_DRAM,
    MAX_SMS,
    LogWord,
    Memory,
    MemoryStat,
)
from binalloc.emulator.state.parts.pages import AddressPart
from binalloc.emulator.state.records import Gpu
from binalloc.models.dram.addresses import BANK, CHANNEL, COLUMN, ROW, read_order
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import Dispatch, Pages
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.small import go, module, op

WAYS = ("interleaved", "coloured", "coloured:channels=one")
BOTH = ("bandwidth", "bandwidth:within=coloured", "bandwidth:within=coloured:channels=one:seed=7")
"""Ways with pages in two memories."""


def random_order(rng: random.Random, sizes: dict[str, int], together: int) -> str:
    """An order of address parts for parts of these sizes, whose lowest `together` bits are of one row."""
    words = []
    for part in (BANK, CHANNEL):
        size = sizes[part]
        if size & (size - 1) or rng.random() < 0.5 or size < 4:
            words += [part] * (size > 1)
        else:
            low = rng.randrange(1, size.bit_length() - 1)
            words += [f"{part}:{low}", part]
    bits = sizes[COLUMN].bit_length() - 1
    if bits > together and rng.random() < 0.7:
        words += [COLUMN]
        last = f"{COLUMN}:{rng.randrange(together, bits)}"
    else:
        last = COLUMN
    if rng.random() < 0.4:
        words += [f"{ROW}:{rng.randrange(1, 4)}"]
    rng.shuffle(words)
    return " ".join([ROW, *words, last])


def random_machine(rng: random.Random, size: int) -> Machine:
    """A machine with some channels, banks and orders, and pages of that size."""
    shipped = load_machine("gem5gpu-batching")
    channels, banks = rng.choice((1, 2, 3, 4, 6, 8)), rng.choice((8, 16, 32))
    row = max(size, rng.choice((4096, 8192, 16384)))
    sizes = {BANK: banks, CHANNEL: channels, COLUMN: row}
    least = size.bit_length() - 1
    orders = Pages(size, random_order(rng, sizes, 7), random_order(rng, sizes, least))
    dram = replace(shipped.dram, channels=channels, banks=banks, row_bytes=row)
    far = replace(dram, channels=rng.choice((1, 2, 3)), banks=rng.choice((8, 16)), row_bytes=row)
    sizes = {BANK: far.banks, CHANNEL: far.channels, COLUMN: row}
    orders = replace(
        orders, far_interleaved=random_order(rng, sizes, 7), far_coloured=random_order(rng, sizes, least)
    )
    return replace(shipped, dram=dram, far_dram=far, stated_pages=orders, l2=replace(shipped.l2, slices=2 * channels))


Spans = list[tuple[int, int]]


def paged(m: Machine, way: str, rng: random.Random) -> tuple[Gpu, Spans]:
    """The record of a device with such pages, and the spans of some objects in global memory."""
    g = Gpu()
    g.sms = m.chip.sms
    for name, value in memory_figures(m, g.sms).items():
        put(g, name, value)
    g.warp_limit, g.local_total = 48, 4 * rng.randrange(1, 40)
    chosen, at, spans = chosen_pages(way), 0x10000000, []
    for _ in range(rng.randrange(1, 6)):
        spans.append((at, at + rng.randrange(1, 40000)))
        at = (spans[-1][1] + 4096 + 255) // 256 * 256
    g.pages = chosen.number
    fields = page_fields(m, m.chip.sms, spans, chosen)
    for name, value in (fields | chosen.values).items():
        put(g, name, value)
    return g, spans


def put(g: Gpu, name: str, value: int | list[int]) -> None:
    """Set a field of the record."""
    field = getattr(g, name)
    if isinstance(value, int):
        setattr(g, name, value)
        return
    for i, one in enumerate(value):
        field[i] = one


def requests(g: Gpu, spans: Spans, rng: random.Random) -> list[tuple[int, int]]:
    """Requests: SM and line, of all kinds of memory."""
    out = []
    for _ in range(1500):
        sm, kind = rng.randrange(g.sms), rng.randrange(10)
        if kind < 6:
            start, end = rng.choice(spans)
            out.append((sm, rng.randrange(start, end) >> 7))
        elif kind < 8:
            each = g.warp_limit * (g.local_total >> 2)
            out.append((sm, FIRST_LOCAL_LINE + sm * each + rng.randrange(each)))
        else:
            out.append((sm, rng.choice((FIRST_CODE_LINE, FIRST_CONSTANT_LINE)) + rng.randrange(900)))
    return out


@pytest.mark.parametrize("way", WAYS + BOTH)
@pytest.mark.parametrize("seed", range(12))
def test_physical_lines_are_a_bijection(way: str, seed: int) -> None:
    rng = random.Random(f"pages {seed} {way}")
    m = random_machine(rng, rng.choice((4096, 4096, 8192)))
    g, spans = paged(m, way, rng)
    found: dict[int, int] = {}
    places: dict[int, tuple[int, int]] = {}
    each, used = 1 << g.page_shift, set()
    for sm, line in requests(g, spans, rng):
        home = physical(g, sm, line)
        assert found.setdefault(line, home) == home
        take_apart(g, home)
        parts = list(g.address_part)
        channel, bank, row, column = parts
        m = memory_of(g, channel)
        used.add(m)
        assert put_together(g, m, channel - m * g.dram_channels, bank, row, column) == home
        assert 0 <= channel < g.all_channels
        assert 0 <= bank < g.dram_banks[m]
        assert 0 <= column < g.row_lines[m]
        assert places.setdefault(home, (channel, line_of_channel(g))) == (channel, line_of_channel(g))
        g.home[0] = home
        find_place(g, 0)
        assert g.at_slice[0] // g.slices_per_channel == channel
        assert row_of(g, g.at_slice[0], home) == row * MAX_BANKS_OF_DRAM + bank
    assert used == ({0, 1} if way.startswith("bandwidth") else {0})
    assert len(set(found.values())) == len(found)
    assert len(set(places.values())) == len(places)
    assert g.pages_used == len({home // each for home in found.values()})


@pytest.mark.parametrize("seed", range(12))
def test_each_place_has_a_line(seed: int) -> None:
    """Every combination of parts is one number, and numbers of a row's lines and banks are without gaps."""
    rng = random.Random(f"orders {seed}")
    m = random_machine(rng, 4096)
    for way in ("interleaved", "coloured"):
        g, _ = paged(m, way, rng)
        text = m.pages.coloured if way == "coloured" else m.pages.interleaved
        order = read_order(text, g.dram_channels, m.dram.banks, m.dram.row_bytes)
        rows = 2 * order.row_weight
        lines = {
            put_together(g, Memory.NEAR, c, b, r, i)
            for c in range(g.dram_channels) for b in range(m.dram.banks)
            for r in range(rows) for i in range(g.row_lines[0])
        }  # fmt: skip
        assert lines == set(range(g.dram_channels * m.dram.banks * rows * g.row_lines[0]))


@pytest.mark.parametrize("way", WAYS[1:] + BOTH[1:])
@pytest.mark.parametrize("seed", range(8))
def test_a_page_lies_in_one_row_of_a_bank_of_its_sm(way: str, seed: int) -> None:
    rng = random.Random(f"own {seed} {way}")
    size = rng.choice((4096, 8192))
    m = random_machine(rng, size)
    g, spans = paged(m, way, rng)
    banks: dict[int, set[tuple[int, int]]] = {}
    rows: dict[int, set[tuple[int, int, int]]] = {}
    first: dict[int, int] = {}
    for sm, line in requests(g, spans, rng):
        owned = g.memory_stat[MemoryStat.OWNED_REQUESTS], g.memory_stat[MemoryStat.LOCAL_REQUESTS]
        home = physical(g, sm, line)
        page = home >> g.page_shift
        owner = first.setdefault(page, sm)
        counted = g.memory_stat[MemoryStat.OWNED_REQUESTS], g.memory_stat[MemoryStat.LOCAL_REQUESTS]
        assert counted == (owned[0] + 1, owned[1] + (owner == sm))
        take_apart(g, home)
        channel, bank, row = (g.address_part[p] for p in (AddressPart.CHANNEL, AddressPart.BANK, AddressPart.ROW))
        banks.setdefault(owner, set()).add((channel, bank))
        rows.setdefault(page, set()).add((channel, bank, row))
    assert all(len(each) == 1 for each in rows.values())
    everywhere = [b for each in banks.values() for b in each]
    assert len(everywhere) == len(set(everywhere))
    for side, dram in ((Memory.NEAR, m.dram), (Memory.FAR, m.far_dram)):
        assert dram is not None
        mine = {sm: {(c, b) for c, b in each if memory_of(g, c) == side} for sm, each in banks.items()}
        share = dram.channels * dram.banks / m.chip.sms
        assert all(len(each) <= share + 1 for each in mine.values())
        if "channels=one" in way:
            most = max(len({channel for channel, _ in each}) for each in mine.values())
            assert most <= -(-share // dram.banks) + 1
        in_row = dram.row_bytes // size
        for sm in range(g.sms):
            pages = [p for p, owner in first.items() if owner == sm and memory_of(g, next(iter(rows[p]))[0]) == side]
            assert len(pages) == g.frames[side * MAX_SMS + sm]
            assert len({next(iter(rows[p])) for p in pages}) == -(-len(pages) // in_row)  # neighbours share rows


OWN = module(
    [  # each block of 32 threads writes and reads a page of its own
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=1),
        op("SHF", rd=1, ra=1, form=1, imm=10, rc=255, wait=2), op("IADD3", rd=0, ra=0, rb=1, rc=255, wait=1),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2),
        *(each for i in range(8) for each in (
            op("LDG", rd=6, ra=4, width=4, moff=512 * i, wbar=2),
            op("STG", ra=4, rb=6, width=4, moff=512 * i, rbar=3, wait=4),
        )),
        op("EXIT", wait=8),
    ],
    registers=8, params={"x": 8},
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "gem5gpu-batching-8k"])
def test_without_shared_pages_each_sm_stays_in_its_banks(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = load_machine(name)
    held: list[LaunchedDevice] = []

    def look(device: Any, cycle: int) -> None:
        if not held:
            held.append(device)

    watch = LaunchedDevice.watch

    def logging(device: LaunchedDevice, check: bool, race: bool, model: str) -> None:
        watch(device, check, race, model)
        device.memories.dram_log.resize(DRAM_LOG_WORDS * 100_000)
        device.put("dram_log", DRAM_LOG_WORDS * 100_000)

    monkeypatch.setattr(LaunchedDevice, "watch", logging)
    data = np.arange(40 * 1024, dtype=np.uint32)
    result = go(OWN, grid=40, buffers={"x": data}, machine=m, sms=8, pages=way, observer=look, hazards=False)
    assert np.array_equal(result.buffers["x"], data)
    assert result.stats["local_ratio"] == 1.0
    assert result.stats["owned_requests"] == 40 * 8 * 2
    device = held[0]
    n = device.get("dram_logged")
    log = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[:n]
    used = {(int(row[LogWord.CHANNEL]), int(row[LogWord.BANK])) for row in log}
    assert len(used) > 8
    per = m.dram.channels * m.dram.banks // 8
    index = {c * m.dram.banks + b if way.endswith("one") else b * m.dram.channels + c for c, b in used}
    pages = [sum(owner == s for owner in page_owners(device)) for s in range(8)]
    in_row = m.dram.row_bytes // 4096
    wanted = {s * per + i for s, k in enumerate(pages) for i in range(min(per, -(-k // in_row)))}
    assert index == wanted


def page_owners(device: LaunchedDevice) -> list[int]:
    """The SMs whose banks have the pages of the table."""
    keys, owners = (np.asarray(device.engine.view(device.g, 0, f"page_{name}")) for name in ("key", "owner"))
    return (owners[keys != 0] - 1).tolist()


def drawn(seed: int, rng: random.Random) -> dict[str, Any]:
    """How the random kernel of a seed is run."""
    name = rng.choice(("gem5gpu-batching", "gem5gpu-batching-8k"))
    way = rng.choice((*PAGES, *WAYS, *BOTH))
    sms = 8 if "coloured" in way else rng.randrange(1, 9)
    machine = replace(load_machine(name), dispatch=Dispatch(rng.choice((1, 5))))
    grid = rng.randrange(1, 12)
    return {
        "machine": machine, "pages": way, "sms": sms, "grid": grid, "block": rng.choice((32, 96, 200)),
        "dispatcher": rng.choice(("interleaved", "serial")),
        "batches": f"{rng.choice(('stride', 'mod'))}:{rng.randrange(1, grid + 1)}",
        "scheduler": rng.choice(("lrr", "gto", "two_level", "oldest")), "hazards": False,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_both_modes_and_engines_agree(seed: int) -> None:
    options = drawn(seed, random.Random(f"runs with pages {seed}"))
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    program = waiting_program(seed, options["machine"].name)
    fast, slow = (go(program, buffers=words, engine="numba", reference=r, **options) for r in (False, True))
    assert fast.stats == slow.stats
    assert np.array_equal(fast.buffers["x"], slow.buffers["x"])
    if seed % 4 == 0:
        assert go(program, buffers=words, engine="python", **options).stats == fast.stats
    usual = go(program, buffers=words, engine="numba", **(options | {"pages": "identity", "dispatcher": "interleaved"}))
    for name in ("blocks_retired", "warp_instructions", "global_load_sectors"):
        if name != "global_load_sectors" or options["machine"].l1.caches_global is False:
            assert usual.stats[name] == fast.stats[name]
