"""Random kernels whose blocks share memory two by two leave the same as without, whatever is moved and released where,
under every scheduler; and no thread accesses what it has released, which would be a fault."""

from __future__ import annotations

import random

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.transform.schedule.schedule import schedule
from tests.fuzz.pairs import one
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.pairs_of_blocks import RELEASES, narrow, paired, planned, ran, same, with_variables
from tests.support.programs.builder import program

SEEDS = 48


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_share_leave_the_same(seed: int) -> None:
    rng = random.Random(f"pairs {seed}")
    text, launch = widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2)
    module = with_variables(program(text), rng)
    size = module.function("k").info.shared_bytes
    machine = narrow(size, rng.randrange(1, 4), rng.randrange(16, size) // 4 * 4)
    found = planned(module, launch, machine)
    if not found.all:
        assert found.room.most <= found.room.alone or found.room.total - found.room.alone * size < 16
        return
    release = RELEASES[seed % len(RELEASES)]
    made = paired(module, launch, machine, rng.randrange(len(found.all)), release)
    expected = ran(schedule(module, machine), launch, machine)
    for k, scheduler in enumerate(SCHEDULERS):
        options = {"scheduler": scheduler, "sms": 3 if (seed + k) % 2 else 1, "sharing": made.sharing}
        result = ran(made.code, launch, machine, **options)
        assert same(expected, result), scheduler
        bare = ran(schedule(module, machine), launch, machine, **options)
        assert same(expected, bare), scheduler
    options = {"sharing": made.sharing, "scheduler": "owf", "check": False, "race": False}
    fast, slow = (ran(made.code, launch, machine, **options, reference=slowly) for slowly in (False, True))
    assert (fast.cycles, fast.stats) == (slow.cycles, slow.stats)
    assert fast.blocks_per_sm == made.plan.pairing.blocks


@pytest.mark.parametrize("seed", range(4))
def test_the_engines_agree(seed: int) -> None:
    text, launch = exchanging(seed)
    module = program(text)
    size = module.function("k").info.shared_bytes
    machine = narrow(size, 1, size // 8 * 4)
    made = paired(module, launch, machine, -1)
    plain, fast = (ran(made.code, launch, machine, sharing=made.sharing, engine=e) for e in ("python", "numba"))
    assert same(plain, fast)
    assert (plain.cycles, plain.stats) == (fast.cycles, fast.stats)


def test_a_moved_variable_keeps_the_alignment_of_its_widest_access() -> None:
    """A seed of `make fuzz-pairs`: code knows that a variable of words is a multiple of 8."""
    report = one(4233)
    assert report.counts["moved"] == 1
    assert report.failures == []
