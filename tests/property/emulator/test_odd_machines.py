"""Machines that nobody builds, and crowds of warps that want everything of them at once: modes and engines agree on
every counter, nothing hangs on when the run is looked at, and a run that is stopped has counted what a longer one had
by then. What runs conserve is looked at after each of them (`conservation`)."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

from binalloc.emulator.debug.breaks import breaking
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.issue_log import IssueLog
from binalloc.emulator.runs.run import Result, run
from binalloc.emulator.stops.stopped import Stopped
from binalloc.errors import LimitHit, Refused
from tests.property.emulator.test_schedulers_agree import counted
from tests.property.emulator.test_series import sums
from tests.support.generator.emulator.crowds import crowd_launch, crowd_program
from tests.support.generator.emulator.machines import odd_machine
from tests.support.kits.suite import rotation

LIMIT = 12_000


def drawn(seed: int, *, breaks: bool = False, **options: Any) -> Result | None:
    """The run of that seed to its end or to the limit, on one to four SMs; None where no block fits. breaks: it stops
    at some instruction."""
    rng = random.Random(f"odd {seed}")
    m = odd_machine(rng)
    program = crowd_program(rng, m.name)
    sms = min(rng.choice((1, 1, 2, 3, 4)), m.chip.sms)
    launch = crowd_launch(rng, rng.choice((1, 31, 32, 33, 96, 200, 384)), rng.choice((1, 2, 3, sms * 3, sms * 7)))
    shape: dict[str, Any] = {"sms": sms, "scheduler": list(SCHEDULERS)[seed % 4], "max_cycles": LIMIT}
    shape["skew"] = seed if seed % 3 == 1 else None
    if breaks:
        place = f"k+{rng.randrange(20, len(program.function('k').instrs))}"
        shape["log"] = IssueLog([breaking([place])], everything=False)
    try:
        return run(program, "k", launch, m, hazards=False, **(shape | options))
    except (LimitHit, Stopped) as stopped:
        return cast(Result, stopped.partial)
    except Refused:
        return None


def test_the_modes_agree_and_whether_it_is_sampled_changes_nothing() -> None:
    ended = 0
    for seed in rotation.sample(range(60, 100), "modes"):
        plain = drawn(seed)
        if plain is None:
            continue
        ended += not plain.partial
        every = random.Random(f"every {seed}").choice((13, 100, 4097))
        for options in ({"reference": True}, {"every": every}, {"reference": True, "every": every}):
            other = drawn(seed, **options)
            assert other is not None
            assert counted(plain) == counted(other), (seed, options)
            assert plain.blocks_ended == other.blocks_ended
    assert ended > 0


def test_the_engines_agree() -> None:
    for seed in range(100, 116):
        compiled, plain = (drawn(seed, engine=engine, max_cycles=6_000) for engine in ("numba", "python"))
        assert (compiled is None) == (plain is None)
        if compiled is not None and plain is not None:
            assert counted(compiled) == counted(plain), seed


@pytest.mark.rotates("long")
def test_a_run_that_is_stopped_has_counted_what_the_whole_one_had_by_then() -> None:
    """At any cycle: the sum of the whole run's intervals of a cycle each."""
    for seed in range(116, 132):
        whole = drawn(seed, every=1, max_cycles=500)
        if whole is None:
            continue
        ends = random.Random(f"stops {seed}").sample(range(1, whole.cycles + 1), min(12, whole.cycles))
        total = sums({})
        for cycle, interval in enumerate(whole.series, 1):
            total.update(sums(interval))
            if cycle in ends:
                part = drawn(seed, max_cycles=cycle, reference=bool(cycle % 2))
                assert part is not None
                assert +sums(part.stats) == +total, (seed, cycle)


@pytest.mark.rotates("long")
def test_a_run_that_breaks_has_counted_the_same_in_both_modes() -> None:
    """Of the cycle of the break, too, with SMs that have had it and SMs that have not."""
    several = 0
    for seed in range(132, 192):
        plain = drawn(seed, breaks=True)
        if plain is None:
            continue
        several += plain.partial and plain.sms > 1 and plain.cycles < LIMIT
        slow = drawn(seed, breaks=True, reference=True)
        assert slow is not None
        assert counted(plain) == counted(slow), seed
    assert several > 10
