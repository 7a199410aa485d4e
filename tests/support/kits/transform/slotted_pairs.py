"""Random kernels with few registers and some slots, whose blocks share memory two by two."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from binalloc.emulator.runs.run import Result
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.model import Machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing.paired import Maker, Paired
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.transform.pairs_of_blocks import narrow, ran

ROW = 128
"""Bytes of a slot of a warp."""
FEWEST = 4
ALLOCATORS = ("best", "unified")
"""Those with slots."""


@dataclass(frozen=True)
class Slotted:
    """Versions of a kernel `k` with slots, or why there is none."""

    machine: Machine
    budget: Budget
    made: list[Paired]
    refused: str = ""


def unshared(module: Module, launch: Launch, machine: Machine) -> Result:
    """A run of kernel `k` as it came, whose blocks share nothing. A thread may have more registers than the machine
    gives one: results are the same on any."""
    roomy = replace(machine, sm=replace(machine.sm, registers_per_thread=255))
    return ran(schedule(module, roomy), launch, roomy)


def slotted(module: Module, launch: Launch, rng: random.Random, sharing: str) -> Slotted:
    """Kernel `k` shared and allocated with as few registers as hold its operands and up to three slots, on a machine
    with room for some blocks with these slots, and a part of one more."""
    size, slots = module.function("k").info.shared_bytes, rng.randrange(1, 4)
    row = ROW * -(-math.prod(launch.block) // 32)
    block = -(-size // ROW) * ROW + slots * row
    left = rng.randrange(slots * row + 4, block) // 4 * 4
    machine = narrow(block, rng.randrange(1, 4), left)
    allocator = rng.choice(ALLOCATORS)
    request = Request("k", machine, launch, sharing=sharing, allocator=allocator)
    maker, budget = Maker(module, request, baseline(module, request)), Budget(0, FEWEST, slots)
    while True:
        try:
            return Slotted(machine, budget, maker.allocated(budget))
        except Infeasible:
            budget = Budget(0, budget.registers + 1, slots)
        except Refused as error:
            return Slotted(machine, budget, [], error.message)
