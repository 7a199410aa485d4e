"""This module turns the currents of a machine's off-chip memory into the costs of its commands, and checks them.

Needs a machine with the section `dram.power`. Where a figure has `alternatives`, there are three sets of figures: the
values, the lowest and the highest of value and alternatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Protocol

from binalloc.models.dram.energy import Costs, Supply, Times, costs_of, negative
from binalloc.models.machines.model import Machine
from binalloc.models.machines.sections import DramPower, Figure

KEY = "dram.power."
STATED, LOWEST, HIGHEST = "stated", "lowest", "highest"
"""The sets of figures. The last two exist where some figure has alternatives."""
_SECOND = ("ipp0", "ipp2n", "ipp3n", "ipp4r", "ipp4w", "ipp5")  # keys of the second supply's currents


_Choice = Callable[[list[float]], float]


class _Place(Protocol):
    def fail(self, message: str, found: object = None, expected: object = None) -> object:
        """Raise the error about a key."""


def power_apart(document: dict[str, Any], memory: str) -> tuple[dict[str, Any], object]:
    """Return the document without the table `power` of a memory's section, as it is a section of its own, and that
    table, None without one. memory: the key of the section."""
    dram = document.get(memory)
    if not isinstance(dram, dict) or "power" not in dram:
        return document, None
    rest = dict(dram)
    power = rest.pop("power")
    return document | {memory: rest}, power


def power_sets(m: Machine) -> dict[str, DramPower]:
    """Return the sets of figures by name; none without the section."""
    if m.dram_power is None:
        return {}
    figures = {key.removeprefix(KEY): figure for key, figure in m.figures if key.startswith(KEY)}
    if not any(figure.alternatives for figure in figures.values()):
        return {STATED: m.dram_power}
    return {
        STATED: m.dram_power,
        LOWEST: _chosen(m.dram_power, figures, min, max),
        HIGHEST: _chosen(m.dram_power, figures, max, min),
    }


def _chosen(power: DramPower, figures: dict[str, Figure], which: _Choice, interval: _Choice) -> DramPower:
    """Return the section with one value of each figure and its alternatives. interval: chooses that of refreshes, as
    rare ones take less energy."""
    values: dict[str, Any] = {}
    for each in fields(power):
        figure = figures.get(each.name)
        numbers = [] if figure is None else [figure.value, *(value for value, _ in figure.alternatives)]
        choose = interval if each.name == "refi" else which
        values[each.name] = choose([float(x) for x in numbers]) if numbers else getattr(power, each.name)
    return DramPower(**{**values, "devices": int(values["devices"])})


def supplies_of(power: DramPower) -> tuple[Supply, ...]:
    """Return the supplies of a device: VDD, and VPP where it has that."""
    first = Supply(power.vdd, power.idd0, power.idd2n, power.idd3n, power.idd4r, power.idd4w, power.idd5)
    second = Supply(power.vpp, power.ipp0, power.ipp2n, power.ipp3n, power.ipp4r, power.ipp4w, power.ipp5)
    return (first, second) if power.vpp else (first,)


def times_of(m: Machine, power: DramPower) -> Times:
    """Return the times of a channel."""
    tick = 1000 / m.dram.command_mhz
    rfc = m.dram.rfc * tick if m.dram.refi else power.rfc
    return Times(tick, m.dram.ras * tick, m.dram.rc * tick, m.dram.burst / m.dram.data_rate * tick, rfc)


def power_costs(m: Machine, power: DramPower) -> Costs:
    """Return the costs of a channel's commands and ticks."""
    return costs_of(
        supplies_of(power), times_of(m, power), power.devices, m.dram.burst_bytes, power.io or None
    )  # fmt: skip


def impossible_power(m: Machine, place: Callable[[str], _Place], section: str) -> None:
    """Refuse currents that give negative energy. place: returns the place of a key of the section. section: its
    name."""
    if m.dram_power is None:
        return
    power = m.dram_power
    stated = [name for name in _SECOND if getattr(power, name)]
    if stated and not power.vpp:
        place("vpp").fail("missing key", "nothing", f"{section}.vpp, as {section}.{stated[0]} is stated")
    for given, other in ((power.refi, "rfc"), (power.rfc, "refi")):
        if given and not getattr(power, other):
            place(other).fail("missing key", "nothing", f"both {section}.refi and {section}.rfc, or neither")
    for name, chosen in power_sets(m).items():
        for supply, prefix in zip(supplies_of(chosen), ("idd", "ipp"), strict=False):
            for field, value, why, least in negative(supply, times_of(m, chosen)):
                which = "" if name == STATED else f", with the {name} of all alternatives"
                place(prefix + field[1:]).fail(
                    f"gives negative energy: it is less than {why}{which}", value, f"at least {least:.6g}"
                )
