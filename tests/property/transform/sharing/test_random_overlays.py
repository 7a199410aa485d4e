"""Random kernels whose variables lie over one another leave the same as their originals, under every scheduler, with no
race and no read of what was not written. Whatever the checker accepts does so, however the variables were placed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.sharing.overlays import OverlayPlan, overlay_plan
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.overlay.check import check_overlay
from tests.support.kits.transform.overlays import Kernel, accesses, kernel, scattered, shifted, without
from tests.support.kits.transform.pairs_of_blocks import GPGPUSIM, ran, same

SEEDS = 96


def planned(given: Kernel) -> OverlayPlan | None:
    """The plan of a kernel, None where no byte is saved."""
    try:
        return overlay_plan(given.memory, 0)
    except Refused:
        return None


def laid(given: Kernel, plan: OverlayPlan) -> Module:
    """The kernel made for a plan."""
    return given.placed([e.first + d for e, d in zip(given.units.extents, plan.distances, strict=True)])


def judged(given: Kernel, original: Module, made: Module) -> CheckReport:
    report = check_overlay(original, made, "k", given.launch.block, 0)
    assert "internal" not in {error.kind for error in report.errors}, str(report)
    return report


def runs_alike(given: Kernel, original: Module, made: Module) -> None:
    """Run both, the second under each scheduler, on one SM or three."""
    expected = ran(schedule(original, GPGPUSIM), given.launch, GPGPUSIM)
    code = schedule(made, GPGPUSIM)
    for k, scheduler in enumerate(SCHEDULERS):
        assert same(expected, ran(code, given.launch, GPGPUSIM, scheduler=scheduler, sms=1 + 2 * (k % 2))), scheduler


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_planned_is_proven_and_runs_alike(seed: int) -> None:
    given = kernel(seed)
    plan = planned(given)
    if plan is None:
        return
    made = laid(given, plan)
    assert made.function("k").info.shared_bytes == plan.bytes < given.memory.reach.size
    assert plan.over
    assert judged(given, given.module, made).ok
    runs_alike(given, given.module, made)


def test_many_kernels_have_something_to_lay_over() -> None:
    """This keeps the tests here from being about nothing."""
    plans = [planned(kernel(seed)) for seed in range(SEEDS)]
    assert sum(plan is not None for plan in plans) > SEEDS // 4
    assert any(plan is not None and len(plan.over) > 2 for plan in plans)


@pytest.mark.parametrize("seed", range(0, SEEDS, 2))
def test_what_the_checker_accepts_runs_alike_wherever_variables_are(seed: int) -> None:
    """Units lie anywhere, and some barrier is left out of both kernels. The races that this gives the original are
    none of the overlay's, so its runs decide which cases there are."""
    given, rng = kernel(seed), random.Random(f"scattered {seed}")
    for number in (None, rng.randrange(4), rng.randrange(8)):
        original, made = given.module, given.placed(scattered(given, rng))
        if number is not None:
            one, other = without(original, number), without(made, number)
            if one is None or other is None:
                continue
            original, made = one, other
        if not judged(given, original, made).ok:
            continue
        try:
            ran(schedule(original, GPGPUSIM), given.launch, GPGPUSIM)
        except Exception:
            continue
        runs_alike(given, original, made)


def test_mutants_of_overlays_are_rejected() -> None:
    """One access goes elsewhere; two units that meet lie over one another; the table or the size is wrong."""
    found: Counter[str] = Counter()
    for seed in range(SEEDS):
        given, rng = kernel(seed), random.Random(f"mutants {seed}")
        plan = planned(given)
        if plan is None:
            continue
        made = laid(given, plan)
        moved = [n for n in accesses(made) if made.function("k").instrs[n] != given.module.function("k").instrs[n]]
        for distance in (4, -4, 2, 16, plan.bytes):
            word = rng.choice(moved)
            report = judged(given, given.module, shifted(made, word, distance))
            assert not report.ok, f"seed {seed}: {word} by {distance}"
            found[report.errors[0].kind] += 1
        back = next(d for d, e in zip(plan.distances, given.units.extents, strict=True) if d and e.size)
        assert not judged(given, given.module, shifted(made, rng.choice(moved), -back)).ok
        small = given.placed([e.first + d for e, d in zip(given.units.extents, plan.distances, strict=True)])
        small.function("k").info.shared_bytes -= 4
        assert not judged(given, given.module, small).ok
    assert found.keys() >= {"alignment", "bounds", "distance"}


def test_units_that_meet_may_not_lie_over_one_another() -> None:
    """Every pair that the analysis calls meeting is laid over one another. What the checker still accepts, as it looks
    at single bytes, has to run alike; it is less than a tenth."""
    from binalloc.analysis.sharing.overlay import meetings

    accepted = tried = 0
    for seed in range(0, SEEDS, 3):
        given = kernel(seed)
        if planned(given) is None:
            continue
        masks = meetings(given.memory, given.units).masks
        for one, mask in enumerate(masks):
            for other in range(one):
                if mask >> other & 1:
                    places = [e.first for e in given.units.extents]
                    places[one] = given.units.extents[other].first // 16 * 16
                    made = given.placed(places)
                    tried += 1
                    if judged(given, given.module, made).ok:
                        accepted += 1
                        runs_alike(given, given.module, made)
    assert tried > 10
    assert accepted * 10 <= tried


def test_without_the_barrier_between_them_variables_may_not_lie_over_one_another() -> None:
    """Each barrier is left out of both kernels in turn. Where a run then shows the difference, the checker has seen it;
    and for many kernels it has."""
    rejected = shown = 0
    for seed in range(0, SEEDS, 2):
        given = kernel(seed)
        plan = planned(given)
        if plan is None:
            continue
        made = laid(given, plan)
        for number in range(12):
            one, other = without(given.module, number), without(made, number)
            if one is None or other is None:
                break
            proven = judged(given, one, other).ok
            rejected += not proven
            try:
                ran(schedule(one, GPGPUSIM), given.launch, GPGPUSIM)
            except Exception:
                continue  # the original needs it, too
            try:
                runs_alike(given, one, other)
            except Exception:
                shown += 1
                assert not proven, f"seed {seed}: barrier {number}"
    assert rejected > 5, (rejected, shown)
    assert shown > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_engines_agree(seed: int) -> None:
    given = kernel(2 * seed)
    plan = planned(given)
    if plan is None:
        return
    code = schedule(laid(given, plan), GPGPUSIM)
    plain, fast = (ran(code, given.launch, GPGPUSIM, engine=engine) for engine in ("python", "numba"))
    assert same(plain, fast)
    assert (plain.cycles, plain.stats) == (fast.cycles, fast.stats)
