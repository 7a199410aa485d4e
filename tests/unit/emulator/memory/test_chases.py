"""Pointer chases read back what each machine's file says: L1, L2, shared and constant memory to the cycle, DRAM to the
rounding of its command clock."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest

from binalloc.emulator.host.memory.memory_figures import channels_for
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.unloaded import ticks_per_cycle
from tests.support.kits.emulator import micro
from tests.support.kits.emulator.micro import latency, tick_slack, walks

MACHINES = list_machines()


def with_data_caches(m: Machine) -> bool:
    """Whether loads of global and local memory are cached at all; GT200's are not."""
    return m.l2.caches_data


@pytest.mark.rotates
@pytest.mark.parametrize("name", MACHINES)
def test_shared_memory(name: str) -> None:
    (parts,) = walks("chase_shared", name, engine="python")
    assert latency(parts, (8, 25)) == load_machine(name).shared.latency


@pytest.mark.rotates
@pytest.mark.parametrize("name", MACHINES)
def test_the_constant_cache(name: str) -> None:
    (parts,) = walks("chase_constant", name, engine="python")
    assert latency(parts, (8, 25)) == load_machine(name).constant.latency


def open_rows(m: Machine) -> int:
    """How many of the third to the sixth cold access, 4 KB apart on one SM, find their row open, as the access before
    lies in it, too. Where there are several channels their rows are filled in turns, and none does."""
    if channels_for(m, 1) > 1:
        return 0
    rows = [(0x10001000 + 4096 * k) // m.dram.row_bytes for k in range(1, 6)]
    return sum(a == b for a, b in pairwise(rows))


@pytest.mark.rotates
@pytest.mark.parametrize("name", MACHINES)
def test_global_memory(name: str) -> None:
    m = load_machine(name)
    cold, warm, again = walks("chase_global", name, engine="python")
    slack = tick_slack(m)
    assert slack <= 1 + 1 / (m.dram.command_mhz / m.clock.core_mhz)  # what two ticks' beginnings can be off, at most
    each = m.dram.latency - Fraction(open_rows(m) * m.dram.rcd, 4) / ticks_per_cycle(m)
    assert each - slack <= latency(cold, (2, 6)) <= ceil(each)
    if with_data_caches(m):
        assert latency(warm, (4, 12)) == m.l2.latency
        assert latency(again, (4, 12)) == (m.l1.latency if m.l1.caches_global else m.l2.latency)
    else:  # every load goes to DRAM, whose row is open: the activation is saved
        saved = int(m.dram.rcd * m.clock.core_mhz / m.dram.command_mhz)
        for parts in (warm, again):
            assert m.dram.latency - saved - 1 - slack <= latency(parts, (4, 12)) <= m.dram.latency - saved


@pytest.mark.rotates
@pytest.mark.parametrize("name", MACHINES)
def test_local_memory(name: str) -> None:
    m = load_machine(name)
    (parts,) = walks("chase_local", name, engine="python")
    if m.l1.caches_local:
        assert latency(parts, (8, 25)) == m.l1.latency
    else:
        assert latency(parts, (8, 25)) > m.l2.latency


@pytest.mark.rotates
@pytest.mark.parametrize("name", MACHINES)
def test_textures(name: str) -> None:
    """56 lines fit every L1 but GT200's, whose texture caches this reads back."""
    m = load_machine(name)
    far, near = walks("chase_texture", name, engine="python")
    assert latency(near, (8, 24)) == m.l1.latency
    assert latency(far, (16, 40)) == (m.l1.latency if m.l1.sets * m.l1.ways >= 56 else m.l2.latency)


def test_a_latency_that_is_changed_is_read_back_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The walks read the emulator, not the file: with one cycle more they tell one more."""
    m = load_machine("v100")
    slower = replace(
        m,
        shared=replace(m.shared, latency=m.shared.latency + 1),
        l1=replace(m.l1, latency=m.l1.latency + 1),
        l2=replace(m.l2, latency=m.l2.latency + 2),
        dram=replace(m.dram, latency=m.dram.latency + 5),
    )
    monkeypatch.setattr(micro, "load_machine", lambda name: slower)
    (parts,) = walks("chase_shared", "v100", engine="python")
    assert latency(parts, (8, 25)) == m.shared.latency + 1
    cold, warm, again = walks("chase_global", "v100", engine="python")
    assert latency(warm, (4, 12)) == m.l2.latency + 2
    assert latency(again, (4, 12)) == m.l1.latency + 1
    assert m.dram.latency + 5 - tick_slack(m) <= latency(cold, (2, 6)) <= m.dram.latency + 5
