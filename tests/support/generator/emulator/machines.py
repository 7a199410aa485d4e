"""Machines that nobody builds: figures drawn from all that the schema lets through, ones and primes and the most among
them, so that what the emulator takes for granted of the shipped ones shows."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from binalloc.errors import BinallocError
from binalloc.models.machines.consistency import Consistency
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.limits import LIMITS
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Rule
from binalloc.models.machines.reader import _At, load_machine
from binalloc.models.machines.sections import (
    Coalescing,
    Dispatch,
    Dram,
    Interconnect,
    L1Cache,
    L2Cache,
    PortGroup,
    RegisterFile,
    Schedulers,
    SharedMemory,
    Units,
)
from binalloc.models.machines.unloaded import closed_bank_cycles, link_cycles
from tests.support.kits.machines import with_small_caches


def odd_machine(rng: Random) -> Machine:
    """A machine as a file might say it: some sections of a shipped one, others drawn."""
    while True:
        m = load_machine(rng.choice(list_machines()))
        parts = [part for part in (_front, _units, _registers, _shared, _memory, with_small_caches) if rng.randrange(3)]
        for part in parts:
            m = part(m, rng)
        try:
            Consistency(_At("drawn")).consistent(m)
        except BinallocError:
            continue
        return m


def _front(m: Machine, rng: Random) -> Machine:
    count, width = rng.choice((1, 2, 3, 4, 5, 7, 16)), rng.choice((1, 2))
    sm = replace(m.sm, warps_per_sm=max(m.sm.warps_per_sm, count))
    sm = replace(sm, threads_per_sm=32 * sm.warps_per_sm)
    kept = count == m.schedulers.count
    return replace(
        m, sm=sm, schedulers=Schedulers(count, width), dispatch=Dispatch(rng.choice((1, 1, 2, 5, 60, 3000))),
        port_groups=tuple(replace(group, divided=kept and group.divided) for group in m.port_groups),
    )  # fmt: skip


def _units(m: Machine, rng: Random) -> Machine:
    count = m.schedulers.count
    divisible = m.occupancy_rule.rule != Rule.NVIDIA or LIMITS[m.cc].sub_partitions == count
    drawn = []
    for i in range(rng.choice((1, 2, 5))):
        divided = divisible and bool(rng.randrange(2))
        drawn.append(
            PortGroup(f"g{i}", (count * rng.choice((1, 1, 2, 4))) if divided else rng.choice((1, 1, 2, 3, 64)), divided)
        )
    groups = tuple(drawn)
    units: dict[str, Any] = {}
    for name, unit in m.units.items():
        group = rng.choice(groups)
        each = count if group.divided else 1
        most = group.ports // each
        units[name] = replace(
            unit, ports=each * rng.choice((1, rng.randint(1, most), most)), port_group=group.name,
            interval=rng.choice((1, 1, 2, 3, 7, 40)), latency=rng.choice((1, 2, 4, 9, 15, 16, 33, 200, 5000)),
        )  # fmt: skip
    used = {unit.port_group for unit in units.values()}
    return replace(m, units=Units(**units), port_groups=tuple(group for group in groups if group.name in used))


def _registers(m: Machine, rng: Random) -> Machine:
    file = RegisterFile(rng.choice((1, 2, 3, 4, 8)), rng.choice((1, 1, 2, 8)), rng.choice((1, 2, 3, 16)),
                        bool(rng.randrange(2)))  # fmt: skip
    return replace(m, register_file=rng.choice((None, file, file)))


def _shared(m: Machine, rng: Random) -> Machine:
    bank = rng.choice((4, 8))
    return replace(
        m, shared=SharedMemory(
            rng.choice((1, 2, 16, 32, 32, 32)), bank, rng.choice((4, bank)), rng.choice((1, 20, 40, 3000)),
            rng.choice((1, 60, 2500)),
        ),
    )  # fmt: skip


def _memory(m: Machine, rng: Random) -> Machine:
    few = rng.randrange(2)
    data = bool(rng.randrange(5))
    channels = rng.choice((1, 1, 2, 3, 5, 8, 31))
    slices = channels * rng.choice((1, 1, 2, 3))
    banks = rng.choice((1, 2, 3, 8, 16, 32))
    row = 1 << rng.randint(8, 13)
    net = Interconnect(rng.choice((1, 7, 32, 1024)), rng.choice((1, 7, 32, 1024)), rng.choice((1, 2, 60, 2000)),
                       rng.choice((1, 8, 64)))  # fmt: skip
    l1_sets, l1_ways = rng.choice(((1, 1), (1, 2), (3, 1), (7, 5), (64, 4), (1, 64)))
    l1 = L1Cache(
        l1_sets * l1_ways * 128, 128, l1_sets, l1_ways, rng.choice((1, 2, 28, 80)),
        rng.choice((1, 2, 3)) if few else rng.choice((32, 256, 1024)),
        rng.choice((1, 2, 3)) if few else rng.choice((16, 4096)),
        data and bool(rng.randrange(2)), data and bool(rng.randrange(2)), bool(rng.randrange(2)),
        bool(rng.randrange(2)),
    )  # fmt: skip
    l2_sets, l2_ways = rng.choice(((1, 1), (1, 2), (3, 5), (64, 16), (1, 64), (17, 1)))
    l2 = L2Cache(
        slices * l2_sets * l2_ways * 128, slices, 128, l2_sets, l2_ways, rng.choice((1, 13, 32, 1024)), 1,
        rng.choice((1, 2, 3)) if few else rng.choice((32, 128)), rng.choice((0, 1, 2, 8, 4096)),
        rng.choice((1, 2, 9, 300)), data,
    )  # fmt: skip
    coalescing = Coalescing(rng.choice((16, 32)), not data and bool(rng.randrange(2)))
    m = replace(m, interconnect=net, l1=l1, l2=l2, coalescing=coalescing, dram=_dram(rng, channels, banks, row))
    l2 = replace(l2, latency=max(l1.latency, link_cycles(m) + rng.choice((1, 2, 100, 5000))))
    m = replace(m, l2=l2)
    least = l2.latency + closed_bank_cycles(m) + rng.choice((1, 1, 2, 200, 9000))
    return replace(m, dram=replace(m.dram, latency=least))


def _dram(rng: Random, channels: int, banks: int, row: int) -> Dram:
    rate, burst = rng.choice((1, 2, 4, 8)), 1 << rng.randint(0, 5)
    bus = rng.choice((4, 8, 16, 32, 64, 256))
    most = rng.choice((2, 10, 40, 300))

    def ticks() -> int:
        return rng.randint(1, most)

    ccd = -(-burst // rate) + rng.choice((0, 0, 1, 5))
    cl, rcd, rp, rrd = ticks(), ticks(), ticks(), ticks()
    ras = rcd + ticks()
    t = {"rcd": rcd, "rp": rp, "ras": ras, "rc": ras + rp + rng.choice((0, 3)), "cl": cl, "wl": rng.randint(0, cl),
         "ccd": ccd, "ccdl": ccd + rng.choice((0, 1, 9)), "rrd": rrd, "wr": ticks(), "cdlr": ticks(), "rtp": ticks(),
         "faw": rng.choice((0, 4 * rrd + ticks()))}  # fmt: skip
    if rng.randrange(2):
        rfc = rng.choice((1, 1, 9, 2000))
        t |= {"rfc": rfc, "refi": rfc + sum(t.values()) + rng.choice((0, 7, 100))}
    return Dram(
        channels, banks, rng.randint(1, banks), bus, burst, rate, rng.choice((30.0, 500.0, 924.0, 1500.0, 4001.0)),
        rng.choice((1, 2)), row, 1 << rng.randint(7, row.bit_length() - 1), rng.choice((2, 3, 5, 64)), 1, **t,
    )  # fmt: skip
