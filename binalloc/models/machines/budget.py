"""This module computes the registers and slots per thread that a wanted number of resident blocks leaves: getRegSmem of
the unified paper.

Section 4 of the paper: registers and shared memory per thread follow from the concurrency level through the occupancy
calculator. Slots get only shared memory that the user leaves, so the level itself is never lowered. A kernel is
given as a `KernelUse`. Its threads and its own shared bytes count; its registers count only where a function says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import registers_for_blocks, shared_bytes_for_blocks


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget is a concurrency level: blocks per SM, with the registers and slots that each thread may use."""

    blocks: int  #: blocks per SM
    registers: int  #: registers per thread
    slots: int  #: slots per thread


def budget_for_blocks(machine: Machine, use: KernelUse, blocks: int) -> Budget | None:
    """Return the most registers, then the most slots per thread that keep `blocks` blocks resident; None if none do."""
    registers = registers_for_blocks(machine, use.given(0), blocks)
    if registers is None or registers < 1:
        return None
    slots = slots_for_blocks(machine, use.given(registers), blocks)
    return None if slots is None else Budget(blocks, registers, slots)


def slots_for_blocks(machine: Machine, use: KernelUse, blocks: int) -> int | None:
    """Return the most slots per thread that keep `blocks` blocks of `use`'s registers resident; None if not even
    0 do."""
    shared = shared_bytes_for_blocks(machine, use, blocks)
    if shared is None or shared < use.shared_bytes:
        return None
    slots = max(0, (shared - use.slot_region) // use.slot_row)
    while slots and machine.occupancy(use.given(use.registers, slots)).blocks_per_sm < blocks:
        slots -= 1
    return slots


def levels(machine: Machine, use: KernelUse) -> list[Budget]:
    """Return the budget of every number of blocks that the machine can hold of this kernel, ascending."""
    out = []
    for blocks in range(1, machine.sm.blocks_per_sm + 1):
        budget = budget_for_blocks(machine, use, blocks)
        if budget is not None:
            out.append(budget)
    return out


def most_blocks(machine: Machine, use: KernelUse) -> int:
    """Return the most blocks of this kernel that an SM can hold, whatever their registers; 0 if it holds none."""
    return max((budget.blocks for budget in levels(machine, use)), default=0)
