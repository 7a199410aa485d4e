"""This module gives the facts of the machine model about one instruction to the scheduler: bit masks, latency, pairing.

It needs instruction views and a machine model. It leaves a `Timing` per node. Registers and predicates are numbered
together (`isa.interface.places`), and sets of places are integers with one bit per place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from binalloc.analysis.facts import refs_mask
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE
from binalloc.isa.interface.view import View
from binalloc.isa.timing import by_scoreboard

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

ALL_PLACES = (1 << LOCAL_BASE) - 1  # all registers and predicates; words of local memory have the bits above


class Timing(NamedTuple):
    """A timing says which places an instruction reads and writes, and how long its result takes."""

    reads: int  #: places that the instruction reads
    late: int  #: places that a scoreboard-guarded instruction reads after its issue
    writes: int  #: places that the instruction writes
    latency: int  #: cycles from issue to result, 0 where a scoreboard guards the result
    unit: int  #: cycles of the unit in either case, the earliest at which a guarded result can be there
    guarded: bool  #: a scoreboard guards the result


def timing(v: View, machine: Machine) -> Timing:
    """Return the timing of an instruction on `machine`. Its unit decides whether a scoreboard guards it: the latency is
    variable, or longer than a stall count can express."""
    latency = machine.units[v.unit].latency
    guarded = by_scoreboard(v.variable, latency)
    uses = refs_mask(v.uses)
    reads = uses if v.guard is None else uses | 1 << (PRED_BASE + v.guard[0])
    return Timing(reads, uses if guarded else 0, refs_mask(v.defs), 0 if guarded else latency, latency, guarded)


def may_pair(first: View, second: View, machine: Machine) -> bool:
    """Say whether the machine can start both in one cycle, dependences apart.

    The rule has four parts. The schedulers issue two instructions of a warp. Neither transfers control nor
    synchronises. They are not both load/store. Their unit class and port group have ports for both: ports of one
    partition, where the SM is divided into partitions.
    """
    if machine.schedulers.issue_width < 2 or first.control or second.control:
        return False
    least = 2 * machine.owners(first.unit)
    if first.unit == second.unit and (first.unit == "lsu" or machine.units[first.unit].ports < least):
        return False
    a, b = machine.units[first.unit].port_group, machine.units[second.unit].port_group
    return a != b or all(group.ports >= least for group in machine.port_groups if group.name == a)
