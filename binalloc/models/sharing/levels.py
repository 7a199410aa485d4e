"""This module computes the registers and slots per thread with which an SM holds some number of blocks, of which some
share memory two by two.

After "Scratchpad Sharing in GPUs", section 3, and getRegSmem of the unified paper: registers follow from the number of
blocks alone, since each block has its own. Slots are private bytes of each block, so they leave fewer for a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from binalloc.models.machines.budget import Budget
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.occupancy import OccupancyModel, registers_for_blocks
from binalloc.models.sharing.pairs import Pairing, Room, fitted

Pairings = Callable[[Room], Sequence[Pairing]]
"""The pairings that are looked at, of those that a room has."""


def room_with(machine: OccupancyModel, use: KernelUse, grain: int) -> Room:
    """Return the room that an SM has for blocks of a kernel. grain: bytes of the widest access to shared memory."""
    return Room.of(machine.occupancy(use), machine.limits.shared_per_sm, grain)


def paired_levels(
    machine: OccupancyModel, use: KernelUse, grain: int, pairings: Pairings = fitted
) -> list[Budget]:  # fmt: skip
    """Return the budget of every number of blocks that an SM can hold only if some share memory two by two, ascending:
    the most registers, then the most slots per thread. use: of the kernel; its own registers and slots do not count."""
    out = []
    for blocks in range(2, machine.limits.blocks_per_sm + 1):
        registers = registers_for_blocks(machine, replace(use, shared_bytes=0, slots=0), blocks)
        if registers is None or registers < 1:
            break
        if machine.occupancy(use.given(registers)).blocks_per_sm >= blocks:
            continue
        slots = paired_slots(machine, use.given(registers), blocks, grain, pairings)
        if slots is not None:
            out.append(Budget(blocks, registers, slots))
    return out


def paired_slots(
    machine: OccupancyModel, use: KernelUse, blocks: int, grain: int, pairings: Pairings = fitted
) -> int | None:
    """Return the most slots per thread with which an SM holds so many blocks of `use`'s registers, some of them in
    pairs; None if not even 0 do."""
    most = (machine.limits.shared_per_block - use.slot_region) // use.slot_row
    for slots in range(max(most, 0), -1, -1):
        room = room_with(machine, use.given(use.registers, slots), grain)
        if room.block and any(pairing.blocks == blocks for pairing in pairings(room)):
            return slots
    return None
