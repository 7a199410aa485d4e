"""Registers and slots of numbers of blocks that an SM holds only in pairs, beside a search through all of them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.models.sharing.levels import paired_levels, paired_slots
from binalloc.models.sharing.pairs import Pairing, Room, fitted, with_threshold

MACHINES = [load_machine(name) for name in ("gpgpusim-sharing", "gtx680", "v100")]


def held(machine: object, use: KernelUse, registers: int, slots: int) -> set[int]:
    """The numbers of blocks in pairs, one equation of the paper's section 3 at a time: blocks that fit stay, partners
    get private bytes of what is left, and slots are private."""
    answer = machine.occupancy(use.given(registers, slots))  # type: ignore[attr-defined]
    others = min(most for name, most in answer.limits.items() if name != "shared" and most is not None)
    block, total = answer.shared_per_block, machine.limits.shared_per_sm  # type: ignore[attr-defined]
    if not 0 < block <= total:
        return set()
    fits = min(total // block, others)
    own = slots * 128 * use.warps
    found = set()
    for pairs in range(1, fits + 1):
        left = (total - fits * block) // pairs
        if fits + pairs <= others and own + (min(left, block) - own) // 4 * 4 > own:
            found.add(fits + pairs)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_those_of_a_search(seed: int) -> None:
    rng = random.Random(f"paired levels {seed}")
    machine = rng.choice(MACHINES)
    threads = rng.choice([32, 64, 96, 128, 256, 576])
    use = KernelUse(rng.randrange(8, 60), rng.randrange(64, machine.limits.shared_per_block // 2), threads)
    levels = {level.blocks: level for level in paired_levels(machine, use, 4)}
    for blocks in range(2, machine.limits.blocks_per_sm + 1):
        fitting = [
            r for r in range(1, machine.limits.registers_per_thread + 1)
            if machine.occupancy(replace(use, registers=r, shared_bytes=0)).blocks_per_sm >= blocks
        ]  # fmt: skip
        registers = max(fitting, default=0)
        row = 128 * use.warps
        most = (machine.limits.shared_per_block - -(-use.shared_bytes // 128) * 128) // row
        slots = [s for s in range(most + 1) if registers and blocks in held(machine, use, registers, s)]
        alone = machine.occupancy(use.given(registers)).blocks_per_sm if registers else 0
        expected = (registers, max(slots)) if slots and alone < blocks else None
        found = levels.get(blocks)
        assert (None if found is None else (found.registers, found.slots)) == expected, blocks


def test_a_worked_example() -> None:
    """Example 3.1 of the paper has one block of 9,408 bytes in 16,384: 6,976 are left for a partner. A row of slots of
    256 threads takes 1,024 bytes, and from the second block, too: with three rows 9,472 + 3,072 bytes leave 3,840 for
    a partner, of which the slots take 3,072; with four 2,816 are left, less than the slots take."""
    machine = MACHINES[0]
    use = KernelUse(7, 9408, 256)
    (level,) = paired_levels(machine, use, 4)
    assert (level.blocks, level.registers, level.slots) == (2, 63, 3)
    assert paired_slots(machine, use, 2, 4) == 3
    assert paired_slots(machine, use, 3, 4) is None
    room = Room.of(machine.occupancy(use.given(7, 3)), 16384)
    assert fitted(room) == [Pairing(2, 1, 3840)]
    half = paired_slots(machine, use, 2, 4, lambda room: [p for p in [with_threshold(room, Fraction(1, 2))] if p])
    assert half == 1, "with one row 5,888 bytes are left for half of 10,496, with two 4,864 for half of 11,520"
