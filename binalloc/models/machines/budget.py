"""Registers and slots per thread that a wanted number of resident blocks leaves: getRegSmem of the unified paper.

Section 4 of the paper: per-thread registers and shared memory follow from the concurrency level through the occupancy
calculator; only shared memory the user leaves is given away, so the level itself is never lowered.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.isa.interface.places import LANES, SLOT_ROW
from binalloc.models.machines.occupancy import registers_for_blocks, shared_bytes_for_blocks
from binalloc.models.machines.reader import Machine


@dataclass(frozen=True, slots=True)
class Budget:
    """A concurrency level: blocks per SM with the registers and slots each thread may use there."""

    blocks: int
    registers: int
    slots: int


def slot_region(user_shared: int) -> int:
    """Byte offset of the slots in a block's shared memory: behind the user's, on a row border."""
    return -(-user_shared // SLOT_ROW) * SLOT_ROW


def shared_with_slots(user_shared: int, threads: int, slots: int) -> int:
    """Shared bytes per block when each thread has `slots` slots."""
    if slots == 0:
        return user_shared
    return slot_region(user_shared) + SLOT_ROW * slots * -(-threads // LANES)


def budget_for_blocks(machine: Machine, threads: int, user_shared: int, blocks: int) -> Budget | None:
    """The most registers, then the most slots per thread that keep `blocks` blocks resident; None if none do.

    threads: per block. user_shared: static and dynamic shared bytes of the kernel.
    """
    registers = registers_for_blocks(machine, threads, user_shared, blocks)
    if registers is None or registers < 1:
        return None
    slots = slots_for_blocks(machine, threads, user_shared, registers, blocks)
    return None if slots is None else Budget(blocks, registers, slots)


def slots_for_blocks(machine: Machine, threads: int, user_shared: int, registers: int, blocks: int) -> int | None:
    """The most slots per thread that keep `blocks` blocks of `registers` registers resident; None if not even 0 do."""
    shared = shared_bytes_for_blocks(machine, threads, registers, blocks)
    if shared is None or shared < user_shared:
        return None
    slots = max(0, (shared - slot_region(user_shared)) // (SLOT_ROW * -(-threads // LANES)))
    while slots and not _resident(machine, threads, registers, shared_with_slots(user_shared, threads, slots), blocks):
        slots -= 1
    return slots


def levels(machine: Machine, threads: int, user_shared: int) -> list[Budget]:
    """The budget of every number of blocks the machine can hold of this kernel, ascending."""
    out = []
    for blocks in range(1, machine.sm.blocks_per_sm + 1):
        budget = budget_for_blocks(machine, threads, user_shared, blocks)
        if budget is not None:
            out.append(budget)
    return out


def _resident(machine: Machine, threads: int, registers: int, shared: int, blocks: int) -> bool:
    return machine.occupancy(registers=registers, shared_bytes=shared, threads=threads).blocks_per_sm >= blocks
