"""Registers and slots that a number of blocks leaves: exact inverses of the occupancy rules."""

from __future__ import annotations

import pytest

from binalloc.models.machines.budget import budget_for_blocks, levels, shared_with_slots, slot_region
from binalloc.models.machines.reader import load_machine


def test_slots_start_on_a_row_border():
    assert [slot_region(n) for n in (0, 1, 128, 129)] == [0, 128, 128, 256]
    assert shared_with_slots(100, 256, 0) == 100
    assert shared_with_slots(100, 256, 3) == 128 + 3 * 128 * 8


def test_full_occupancy_of_gtx680():
    """2,048 threads share 65,536 registers and 48 KB: 32 registers and 6 slots each."""
    budget = budget_for_blocks(load_machine("gtx680"), 256, 0, 8)
    assert budget is not None
    assert (budget.registers, budget.slots) == (32, 6)


@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gpgpusim-sharing"])
@pytest.mark.parametrize("threads", [32, 96, 256, 512, 1024])
@pytest.mark.parametrize("shared", [0, 1000, 12288, 40000])
def test_budgets_are_the_largest_that_keep_their_level(machine, threads, shared):
    model = load_machine(machine)

    def resident(registers, slots):
        return model.occupancy(registers, shared_with_slots(shared, threads, slots), threads).blocks_per_sm

    for budget in levels(model, threads, shared):
        assert resident(budget.registers, budget.slots) >= budget.blocks
        if budget.registers < model.limits.registers_per_thread:
            assert resident(budget.registers + 1, 0) < budget.blocks
        more = shared_with_slots(shared, threads, budget.slots + 1)
        if more <= model.limits.shared_per_block:
            assert resident(budget.registers, budget.slots + 1) < budget.blocks
