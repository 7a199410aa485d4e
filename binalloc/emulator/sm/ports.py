"""Issue ports: sets of ports per unit class and per port group.

An instruction takes one port of its unit and one of its unit's group for the unit's interval, a memory access for as
many cycles more as it needs further passes. Sets 0..UNITS-1 are units, the sets behind them groups."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import MAX_PORTS, UNIT_LSU, UNIT_TEX, UNITS
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit

USES_SHIFT = 8  # `port_used`: the cycle, and below it the ports that have started an instruction in it
USES = (1 << USES_SHIFT) - 1
assert MAX_PORTS <= USES

@device(inline=True)
def port_free(g: Gpu, s: Sm, unit: int) -> int:
    """The time from which the unit can start an instruction."""
    return max(s.port_free[unit], s.port_free[UNITS + g.unit_group[unit]])


@device(inline=True)
def take_port(g: Gpu, s: Sm, unit: int, cycles: int) -> None:
    """Occupy one port of the unit and one of its group from now on.

    Occupations of one cycle are only counted, longer ones stand in the port's own entry.
    """
    group = g.unit_group[unit]
    if cycles > 1:
        hold_port(g, s, unit, g.unit_ports[unit], 1 << unit, cycles)
        hold_port(g, s, UNITS + group, g.group_ports[group], g.group_units[group], cycles)
    else:
        use_port(g, s, unit, g.unit_ports[unit], 1 << unit)
        use_port(g, s, UNITS + group, g.group_ports[group], g.group_units[group])


@device(inline=True)
def use_port(g: Gpu, s: Sm, p: int, ports: int, units: int) -> None:
    """Occupy a port of set `p`, which `units` need, for this cycle."""
    used = max(s.port_used[p], g.cycle << USES_SHIFT) + 1
    s.port_used[p] = used
    if s.port_long[p] > g.cycle:
        set_free(s, p, units, next_free(s, p, ports, g.cycle), g.cycle)
    elif used & USES >= ports:
        set_free(s, p, units, g.cycle + 1, g.cycle)


@device(inline=True)
def set_free(s: Sm, p: int, units: int, time: int, now: int) -> None:
    """Port set `p`, which `units` need, can start an instruction from `time` on."""
    s.port_free[p] = time
    if time > now:
        s.units_busy |= units


@device
def busy_still(g: Gpu, s: Sm) -> None:
    """`s.units_busy`, which has all units that cannot start an instruction in this cycle, has no other one."""
    units = s.units_busy
    while units:
        unit = lowest_bit(units)
        units &= units - 1
        if port_free(g, s, unit) <= g.cycle:
            s.units_busy &= ~(1 << unit)


@device
def close_path(s: Sm) -> None:
    """No unit that goes to memory starts an instruction until `open_path`."""
    s.port_free[UNIT_LSU] = NEVER
    s.port_free[UNIT_TEX] = NEVER
    s.units_busy |= 1 << UNIT_LSU | 1 << UNIT_TEX


@device
def open_path(g: Gpu, s: Sm) -> None:
    """Units that go to memory start instructions again, as soon as their ports let them."""
    s.port_free[UNIT_LSU] = next_free(s, UNIT_LSU, g.unit_ports[UNIT_LSU], g.cycle)
    s.port_free[UNIT_TEX] = next_free(s, UNIT_TEX, g.unit_ports[UNIT_TEX], g.cycle)


@device(apart=True)
def hold_port(g: Gpu, s: Sm, p: int, ports: int, units: int, cycles: int) -> None:
    """Occupy a port of set `p`, which `units` need, for several cycles."""
    i = 0
    while i < ports - 1 and s.port_until[p, i] > g.cycle:
        i += 1
    s.port_until[p, i] = g.cycle + cycles
    s.port_long[p] = max(s.port_long[p], g.cycle + cycles)
    set_free(s, p, units, next_free(s, p, ports, g.cycle), g.cycle)


@device(apart=True)
def next_free(s: Sm, p: int, ports: int, now: int) -> int:
    """The time from which port set `p` can start an instruction, given what it started up to now."""
    busy = s.port_used[p] & USES if s.port_used[p] >> USES_SHIFT == now else 0
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
