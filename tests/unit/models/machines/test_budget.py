"""Registers and slots that a number of blocks leaves: exact inverses of the occupancy rules."""

from __future__ import annotations

import pytest

from binalloc.models.machines.budget import budget_for_blocks, levels
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine


def test_slots_start_on_a_row_border():
    assert [KernelUse(0, n, 256).slot_region for n in (0, 1, 128, 129)] == [0, 128, 128, 256]
    assert KernelUse(0, 100, 256).block_shared == 100
    assert KernelUse(0, 100, 256, 3).block_shared == 128 + 3 * 128 * 8


def test_full_occupancy_of_gtx680():
    """2,048 threads share 65,536 registers and 48 KB: 32 registers and 6 slots each."""
    budget = budget_for_blocks(load_machine("gtx680"), KernelUse(0, 0, 256), 8)
    assert budget is not None
    assert (budget.registers, budget.slots) == (32, 6)


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gpgpusim-sharing"])
@pytest.mark.parametrize("threads", [32, 96, 256, 512, 1024])
@pytest.mark.parametrize("shared", [0, 1000, 12288, 40000])
def test_budgets_are_the_largest_that_keep_their_level(machine, threads, shared):
    model = load_machine(machine)

    def resident(registers, slots):
        return model.occupancy(KernelUse(registers, shared, threads, slots)).blocks_per_sm

    for budget in levels(model, KernelUse(0, shared, threads)):
        assert resident(budget.registers, budget.slots) >= budget.blocks
        if budget.registers < model.limits.registers_per_thread:
            assert resident(budget.registers + 1, 0) < budget.blocks
        more = KernelUse(0, shared, threads, budget.slots + 1).block_shared
        if more <= model.limits.shared_per_block:
            assert resident(budget.registers, budget.slots + 1) < budget.blocks
