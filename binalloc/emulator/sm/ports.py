"""Issue ports: sets of ports per unit class and per port group.

An instruction takes one port of its unit and one of its unit's group for the unit's interval, a memory access for as
many cycles more as it needs further passes. Sets 0..UNITS-1 are units, the sets behind them groups."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import UNIT_LSU, UNIT_TEX, UNITS
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def port_free(g: Gpu, s: Sm, unit: int) -> int:
    """The time from which the unit can start an instruction."""
    return max(s.port_free[unit], s.port_free[UNITS + g.unit_group[unit]])


@device(inline=True)
def take_port(g: Gpu, s: Sm, unit: int, cycles: int) -> None:
    """Occupy one port of the unit and one of its group from now on.

    Occupations of one cycle are only counted, longer ones stand in the port's own entry.
    """
    now = g.cycle
    if cycles > 1:
        hold_port(s, unit, g.unit_ports[unit], now, cycles)
    else:
        s.port_count[unit] = 1 + (s.port_count[unit] if s.port_cycle[unit] == now else 0)
        s.port_cycle[unit] = now
    s.port_free[unit] = next_free(s, unit, g.unit_ports[unit], now)
    group = UNITS + g.unit_group[unit]
    ports = g.group_ports[g.unit_group[unit]]
    if cycles > 1:
        hold_port(s, group, ports, now, cycles)
    else:
        s.port_count[group] = 1 + (s.port_count[group] if s.port_cycle[group] == now else 0)
        s.port_cycle[group] = now
    s.port_free[group] = next_free(s, group, ports, now)


@device
def close_path(s: Sm) -> None:
    """No unit that goes to memory starts an instruction until `open_path`."""
    s.port_free[UNIT_LSU] = NEVER
    s.port_free[UNIT_TEX] = NEVER


@device
def open_path(g: Gpu, s: Sm) -> None:
    """Units that go to memory start instructions again, as soon as their ports let them."""
    s.port_free[UNIT_LSU] = next_free(s, UNIT_LSU, g.unit_ports[UNIT_LSU], g.cycle)
    s.port_free[UNIT_TEX] = next_free(s, UNIT_TEX, g.unit_ports[UNIT_TEX], g.cycle)


@device
def hold_port(s: Sm, p: int, ports: int, now: int, cycles: int) -> None:
    """Occupy a port of set `p` for several cycles."""
    i = 0
    while i < ports - 1 and s.port_until[p, i] > now:
        i += 1
    s.port_until[p, i] = now + cycles
    s.port_long[p] = max(s.port_long[p], now + cycles)


@device
def next_free(s: Sm, p: int, ports: int, now: int) -> int:
    """The time from which port set `p` can start an instruction, given what it started up to now."""
    busy = s.port_count[p] if s.port_cycle[p] == now else 0
    first = now + 1
    if s.port_long[p] > now:
        brief = busy
        soonest = s.port_long[p]
        for i in range(ports):
            if s.port_until[p, i] > now:
                busy += 1
                soonest = min(soonest, s.port_until[p, i])
        if brief == 0:
            first = soonest
    return first if busy >= ports else now
