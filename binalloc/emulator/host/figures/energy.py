"""The energy of off-chip memory in a run follows here from its counters and the currents of the machine file.

A run with fewer SMs than the machine has all commands of its SMs, and a share of the rest: k of n SMs have the
background and the refreshes of channels * k / n channels, though the emulator rounds the channels up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, fsum
from typing import NamedTuple

from binalloc.models.dram.energy import PARTS, Counts, energy
from binalloc.models.machines.model import Machine
from binalloc.models.machines.power import STATED, power_costs, power_sets
from binalloc.models.machines.sections import DramPower

EnergyFigures = dict[str, float | dict[str, float | None] | None]


def share_of_channels(machine: Machine, sms: int) -> float:
    """Return by which factor the emulated channels are more than the share of so many SMs in the machine's, as a number
    up to 1 to multiply with."""
    share = Fraction(machine.dram.channels * sms, machine.chip.sms)
    return float(share / ceil(share))


def counts_of(counted: Mapping[str, int], machine: Machine, sms: int, power: DramPower) -> Counts:
    """Return what the energy depends on, of some cycles.

    Where the timing has no refreshes, as many are counted as the currents' section says for the time.
    """
    share = share_of_channels(machine, sms)
    refreshes = float(counted["dram_refreshes_to_end"])
    if not machine.dram.refi and power.refi:
        ticks = counted["dram_open_ticks"] + counted["dram_closed_ticks"]
        refreshes = ticks * 1000 / machine.dram.command_mhz / power.refi
    return Counts(
        counted["dram_activations"], counted["dram_reads"], counted["dram_writes"], refreshes * share,
        counted["dram_open_ticks"] * share, counted["dram_closed_ticks"] * share,
    )  # fmt: skip


def energy_figures(counted: Mapping[str, int], machine: Machine, sms: int, cycles: int) -> EnergyFigures | None:
    """Return the energy of `machine.dram` in some cycles, None for a machine without currents.

    Keys: the parts and `total_nj`; `average_w`, the total by the time; `least` and `most`, None where no figure has
    alternatives, else each part's and the total's least and most among the sets of figures (`power.power_sets`).
    """
    sets = {
        name: energy(power_costs(machine, power), counts_of(counted, machine, sms, power))
        for name, power in power_sets(machine).items()
    }
    if not sets:
        return None
    nanoseconds = cycles * 1000 / machine.clock.core_mhz
    total = sets[STATED]["total_nj"]
    found: EnergyFigures = {**sets[STATED], "average_w": total / nanoseconds if nanoseconds and total else 0.0}
    for name, which in (("least", min), ("most", max)):
        found[name] = None if len(sets) == 1 else {part: _extreme(sets, part, which) for part in (*PARTS, "total_nj")}
    return found


class CommandEnergy(NamedTuple):
    """The energy of some activations, reads and writes, with their I/O, is in nanojoules, without background and
    refreshes."""

    nj: float
    least: float | None  #: among the sets of figures; None where no figure has alternatives
    most: float | None


class CommandCosts:
    """It has the costs of a machine's commands, with each set of figures (`power.power_sets`)."""

    def __init__(self, machine: Machine) -> None:
        self.burst_bytes = machine.dram.burst_bytes  #: bytes of a read or write
        self._sets = {name: power_costs(machine, power) for name, power in power_sets(machine).items()}

    def energy(self, activations: int, reads: int, writes: int) -> CommandEnergy | None:
        """Return the energy of so many commands, None for a machine without currents."""
        if not self._sets:
            return None
        found = {
            name: fsum(
                (c.activation * activations, c.read * reads, c.write * writes, (c.io or 0.0) * (reads + writes))
            )
            for name, c in self._sets.items()
        }
        if len(found) == 1:
            return CommandEnergy(found[STATED], None, None)
        return CommandEnergy(found[STATED], min(found.values()), max(found.values()))


_Choice = Callable[[list[float]], float]


def _extreme(sets: Mapping[str, Mapping[str, float | None]], part: str, which: _Choice) -> float | None:
    """Return the least or most of a part among the sets; None where none has it."""
    values = [each for each in (values[part] for values in sets.values()) if each is not None]
    return which(values) if values else None
