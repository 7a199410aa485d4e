"""This module measures a kernel as if blocks needed no shared memory of an SM.

Needs a laid-out module, and a request with a launch. The code stays as it is. As many blocks are resident as registers,
warps and places of blocks allow, on a machine whose SMs have shared memory for all of them. That is what a scheme could
gain that costs nothing; shorter access regions are other code, and may gain more.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.pipeline.multiplex.fit import fastest
from binalloc.pipeline.original import baseline, run_original
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.version import Version


def with_room(machine: Machine) -> Machine:
    """Return the machine with so much shared memory that it limits no number of blocks."""
    sm = machine.sm
    # A block takes up to twice what one may have: its bytes are rounded up to the unit of allocation.
    return replace(machine, sm=replace(sm, shared_per_sm=2 * sm.shared_per_block * sm.blocks_per_sm))


def without_limit(module: Module, request: Request) -> Version:
    """Return the fastest way to run the kernel that was found, as it came, in another order or with other registers.

    Values get no slots, as slots are shared memory. Raises as `run_original`.
    """
    options = replace(request.options, machine=with_room(request.machine))
    roomy = replace(request, options=options, prepared=Preparations())
    given = run_original(module, roomy, baseline(module, roomy)).base
    found = fastest(module, roomy, "the original, with shared memory for all blocks", slots=False)
    return min(given, found, key=lambda version: version.cycles or 0)
