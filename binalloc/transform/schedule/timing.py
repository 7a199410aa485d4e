"""What the machine model says about one instruction, as the scheduler needs it: bit masks, latency, pairing.

Needs instruction views and a machine model; leaves a `Timing` per node. Registers and predicates are numbered together
(`isa.interface.places`), and sets of places are integers with one bit per place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from binalloc.analysis.facts import refs_mask
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE
from binalloc.isa.interface.view import View
from binalloc.isa.timing import by_scoreboard

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

ALL_PLACES = (1 << LOCAL_BASE) - 1


class Timing(NamedTuple):
    """Places an instruction reads (`late`: those a scoreboard-guarded one reads after its issue) and writes.

    latency: cycles from issue to result, 0 where the result is guarded by a scoreboard (`guarded`) instead. unit: the
    unit's cycles in either case, the least after which a guarded result can be there.
    """

    reads: int
    late: int
    writes: int
    latency: int
    unit: int
    guarded: bool


def timing(v: View, machine: Machine) -> Timing:
    """The timing of an instruction on `machine`. Its unit decides: variable, or slower than a stall count can say."""
    latency = machine.units[v.unit].latency
    guarded = by_scoreboard(v.variable, latency)
    uses = refs_mask(v.uses)
    reads = uses if v.guard is None else uses | 1 << (PRED_BASE + v.guard[0])
    return Timing(reads, uses if guarded else 0, refs_mask(v.defs), 0 if guarded else latency, latency, guarded)


def may_pair(first: View, second: View, machine: Machine) -> bool:
    """Whether the machine can start both in one cycle, dependences apart.

    The rule: the schedulers issue two instructions of a warp, neither transfers control nor synchronises, they are not
    both load/store, and their unit class and port group have ports for both: those of one partition, where they are
    divided.
    """
    if machine.schedulers.issue_width < 2 or first.control or second.control:
        return False
    least = 2 * machine.owners(first.unit)
    if first.unit == second.unit and (first.unit == "lsu" or machine.units[first.unit].ports < least):
        return False
    a, b = machine.units[first.unit].port_group, machine.units[second.unit].port_group
    return a != b or all(group.ports >= least for group in machine.port_groups if group.name == a)
