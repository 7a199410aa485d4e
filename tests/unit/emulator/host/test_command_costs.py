"""The energy of single commands is that part of the energy of a run which is neither background nor refreshes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from binalloc.emulator.host.figures.energy import CommandCosts, energy_figures
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.reader import load_machine

PARTS = ("activation_nj", "read_nj", "write_nj", "io_nj")
WITH_CURRENTS = [name for name in list_machines() if load_machine(name).dram_power is not None]


@pytest.mark.parametrize("io", [0.0, 4.5])
@pytest.mark.parametrize("name", WITH_CURRENTS)
def test_commands_cost_what_they_cost_in_a_run(name: str, io: float) -> None:
    shipped = load_machine(name)
    assert shipped.dram_power is not None
    m = replace(shipped, dram_power=replace(shipped.dram_power, io=io or shipped.dram_power.io))
    rng = random.Random(name)
    for _ in range(5):
        counts = [rng.randrange(1000) for _ in range(3)]
        counted: dict[str, int] = dict(zip(("dram_activations", "dram_reads", "dram_writes"), counts, strict=True))
        counted |= dict.fromkeys(("dram_open_ticks", "dram_closed_ticks", "dram_refreshes_to_end"), 0)
        of_run: Any = energy_figures(counted, m, m.chip.sms, 0)
        found = CommandCosts(m).energy(*counts)
        assert found is not None
        assert found.nj == pytest.approx(sum(of_run[part] or 0.0 for part in PARTS))
        if of_run["least"] is None:
            assert found.least is found.most is None
        else:
            assert found.least == pytest.approx(of_run["least"]["total_nj"])
            assert found.most == pytest.approx(of_run["most"]["total_nj"])
            assert found.least <= found.nj <= found.most


def test_a_machine_without_currents_has_no_costs() -> None:
    assert CommandCosts(load_machine("h100")).energy(1, 2, 3) is None
