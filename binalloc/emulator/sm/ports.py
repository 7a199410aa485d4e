"""This module has the issue ports, in sets: one set for each unit class and one for each port group.

An instruction takes one port of its unit and one of its unit's group for the unit's interval. A memory access takes
them for as many cycles more as it needs further passes. Sets 0 to UNITS - 1 are units, the sets from UNITS on groups.
Each set has an owner. Owner 0 is the SM: its ports serve all schedulers. Owner n + 1 is scheduler n: its partition has
ports of its own (`g.unit_own`). The sets of the owners follow one another: set p of owner o is o * PORT_SETS + p.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import MAX_PORTS, PORT_SETS, UNIT_LSU, UNIT_TEX
from binalloc.emulator.state.memory_layout import NEVER
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import lowest_bit

USES_SHIFT = 8  # `port_used` is a cycle, and in its low 8 bits the ports that have started an instruction in it
USES = (1 << USES_SHIFT) - 1
assert MAX_PORTS <= USES


@device(inline=True)
def owner_of(g: Gpu, sch: int, unit: int) -> int:
    """Return the owner of the ports by which scheduler `sch` issues to the unit."""
    return (sch + 1) * g.unit_own[unit]


@device(inline=True)
def port_free(g: Gpu, s: Sm, sch: int, unit: int) -> int:
    """Return the time from which the unit can start an instruction of scheduler `sch`."""
    first = owner_of(g, sch, unit) * PORT_SETS
    return max(s.port_free[first + unit], s.port_free[first + g.unit_group[unit]])


@device(inline=True)
def take_port(g: Gpu, s: Sm, sch: int, unit: int, cycles: int) -> None:
    """Take one port of the unit and one of its group for scheduler `sch`, from now on.

    Occupations of one cycle are only counted. Longer ones have an entry for their port.
    """
    owner = owner_of(g, sch, unit)
    if cycles > 1:
        hold_port(g, s, owner, unit, cycles)
        hold_port(g, s, owner, g.unit_group[unit], cycles)
    else:
        use_port(g, s, owner, unit)
        use_port(g, s, owner, g.unit_group[unit])


@device(inline=True)
def use_port(g: Gpu, s: Sm, owner: int, p: int) -> None:
    """Take a port of the owner's set `p` for this cycle."""
    at = owner * PORT_SETS + p
    used = max(s.port_used[at], g.cycle << USES_SHIFT) + 1
    s.port_used[at] = used
    if s.port_long[at] > g.cycle:
        set_free(g, s, owner, p, next_free(g, s, owner, p))
    elif used & USES >= g.set_ports[p]:
        set_free(g, s, owner, p, g.cycle + 1)


@device(inline=True)
def set_free(g: Gpu, s: Sm, owner: int, p: int, time: int) -> None:
    """Note that the owner's set `p` can start an instruction from `time` on."""
    s.port_free[owner * PORT_SETS + p] = time
    if time > g.cycle:
        s.units_busy[owner] |= g.set_units[p]


@device
def busy_still(g: Gpu, s: Sm, owner: int) -> None:
    """Remove the units that can start an instruction in this cycle from the owner's `s.units_busy`.

    The mask has all units that cannot, and may have others.
    """
    units = s.units_busy[owner]
    while units:
        unit = lowest_bit(units)
        units &= units - 1
        if port_free(g, s, owner - 1, unit) <= g.cycle:
            s.units_busy[owner] &= ~(1 << unit)


@device
def close_path(g: Gpu, s: Sm) -> None:
    """Let no unit that accesses memory start an instruction until `open_path`."""
    for owner in range(g.schedulers + 1):
        for unit in (UNIT_LSU, UNIT_TEX):
            if (owner > 0) == (g.unit_own[unit] > 0):
                s.port_free[owner * PORT_SETS + unit] = NEVER
                s.units_busy[owner] |= 1 << unit


@device
def open_path(g: Gpu, s: Sm) -> None:
    """Let units that access memory start instructions again, as soon as their ports allow it."""
    for owner in range(g.schedulers + 1):
        for unit in (UNIT_LSU, UNIT_TEX):
            if (owner > 0) == (g.unit_own[unit] > 0):
                s.port_free[owner * PORT_SETS + unit] = next_free(g, s, owner, unit)


@device(apart=True)
def hold_port(g: Gpu, s: Sm, owner: int, p: int, cycles: int) -> None:
    """Take a port of the owner's set `p` for several cycles."""
    i = first_port(g, owner, p)
    last = i + g.set_ports[p] - 1
    while i < last and s.port_until[p, i] > g.cycle:
        i += 1
    s.port_until[p, i] = g.cycle + cycles
    at = owner * PORT_SETS + p
    s.port_long[at] = max(s.port_long[at], g.cycle + cycles)
    set_free(g, s, owner, p, next_free(g, s, owner, p))


@device(inline=True)
def first_port(g: Gpu, owner: int, p: int) -> int:
    """Return the index of the owner's first port among all ports of set `p`, where the schedulers' shares follow one
    another."""
    return max(owner - 1, 0) * g.set_ports[p]


@device(apart=True)
def next_free(g: Gpu, s: Sm, owner: int, p: int) -> int:
    """Return the time from which the owner's set `p` can start an instruction. It follows from the starts up to now."""
    at, ports, now = owner * PORT_SETS + p, g.set_ports[p], g.cycle
    busy = s.port_used[at] & USES if s.port_used[at] >> USES_SHIFT == now else 0
    first = now + 1
    if s.port_long[at] > now:
        brief = busy
        soonest = s.port_long[at]
        one = first_port(g, owner, p)
        for i in range(one, one + ports):
            if s.port_until[p, i] > now:
                busy += 1
                soonest = min(soonest, s.port_until[p, i])
        if brief == 0:
            first = soonest
    return first if busy >= ports else now
