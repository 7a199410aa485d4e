"""Random kernels with spilled values in slots, whose blocks share memory two by two, leave the same as without pairs:
slots are private bytes of each block, and the pairs that an SM holds are those that they leave."""

from __future__ import annotations

import random

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.pairs_of_blocks import in_step, ran, same, with_variables
from tests.support.kits.transform.slotted_pairs import Slotted, slotted, unshared
from tests.support.programs.builder import program

SEEDS = 32


def case(seed: int) -> tuple[Module, Launch, Slotted]:
    rng = random.Random(f"slotted {seed}")
    text, launch = widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2)
    module = with_variables(program(text), rng)
    return module, launch, slotted(module, launch, rng, "auto" if seed % 4 < 2 else "0.1")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_with_slots_that_share_leave_the_same(seed: int) -> None:
    module, launch, found = case(seed)
    if not found.made:
        assert "no block is gained" in found.refused or "no room for a pair" in found.refused
        return
    machine = found.machine
    expected = unshared(module, launch, machine)
    for made in (found.made[0], found.made[-1]):
        code, pairing = made.version.module, made.plan.pairing
        for scheduler in SCHEDULERS:
            for sms in (1, 3):
                for sharing in ("off", made.record.option):
                    result = ran(code, launch, machine, scheduler=scheduler, sms=sms, sharing=sharing)
                    assert same(expected, result), (scheduler, sms, sharing)
                    if sharing != "off":
                        assert result.blocks_per_sm == made.version.blocks_per_sm == pairing.blocks
        for scheduler in ("owf", "two_level"):
            assert in_step(code, launch, machine, {"scheduler": scheduler, "sharing": made.record.option})


def test_some_of_them_have_slots() -> None:
    slots = [made.version.slots for seed in range(SEEDS) for made in case(seed)[2].made]
    assert sum(number > 0 for number in slots) >= 10
    assert sum(number > 1 for number in slots) >= 5


@pytest.mark.parametrize("seed", [3, 8])
def test_the_engines_agree(seed: int) -> None:
    _, launch, found = case(seed)
    made = found.made[-1]
    assert made.version.slots > 0
    options = {"sharing": made.record.option, "scheduler": "owf"}
    plain, fast = (ran(made.version.module, launch, found.machine, engine=e, **options) for e in ("python", "numba"))
    assert same(plain, fast)
    assert (plain.cycles, plain.stats) == (fast.cycles, fast.stats)
