"""What is made of a benchmark's rows: what speedups are over, best and worst, and whether the paper's words hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import pytest

from binalloc.laboratory.papers.reproduce import OURS, PLAIN, THEIRS, Case, PolicyTaken, ReproducedCase, holds
from binalloc.laboratory.papers.unified import BENCHMARKS, MACHINES, STATED, Claim, claims
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.advice.characterise import Character
from binalloc.pipeline.steps.row import Row
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Subject


def row(allocator: str, blocks: int | None, cycles: int | None, same: bool | None = True) -> Row:
    status = "infeasible" if cycles is None else "ok"
    return Row(allocator, blocks, cycles=cycles, status=status, same_results=same, blocks_per_sm=blocks or 4)


def point(levels: list[Row], auto: int | None = None, first: int | None = 1000) -> ReproducedCase:
    original = row(ORIGINAL, None, first)
    subject = Subject("k.loom", b"", "cfd", cast(Any, None), load_machine("gtx680"))
    case = Case(BENCHMARKS[0], cast(Any, None), subject)
    chosen = next((r for r in levels if r.blocks == auto and r.allocator == OURS), original)
    character = Character(Fraction(2), True, 0.0, [])
    return ReproducedCase(case, 60, character, original, levels, PolicyTaken(auto, chosen, ""), {})


def test_an_original_that_order_alone_makes_faster_is_what_speedups_are_over() -> None:
    ordered = point([row(PLAIN, 4, 800), row(OURS, 4, 700), row(PLAIN, 5, 600), row(OURS, 5, 500)], auto=5)
    assert ordered.base.cycles == 800
    assert ordered.automatic == ordered.speedup(ordered.best) == 1.6
    assert ordered.speedup(ordered.worst) == 0.8, "the input is among the versions that ran"
    slower = point([row(PLAIN, 4, 1200), row(OURS, 5, 500)])
    assert slower.base.cycles == 1000
    assert slower.automatic == 1.0, "left as it is"
    wrong = point([row(PLAIN, 4, 100, same=False), row(OURS, 5, 50, same=False)])
    assert wrong.base.cycles == wrong.best.cycles == wrong.worst.cycles == 1000


def test_levels_that_did_not_run_count_nowhere() -> None:
    found = point([row(PLAIN, 4, None), row(THEIRS, 5, None), row(OURS, 6, 900)], auto=6)
    assert found.best.blocks == 6
    assert found.worst.allocator == ORIGINAL
    assert found.speedup(found.levels[1]) is None
    assert set(found.at_auto) == {OURS}
    nothing = point([], first=None)
    assert nothing.automatic is None
    assert nothing.speedup(row(OURS, 5, 10)) is None


@pytest.mark.parametrize(
    ("claim", "auto", "best", "elsewhere", "expected"),
    [
        (Claim.FASTER, 990, 990, 990, True),
        (Claim.FASTER, 995, 500, 990, False),
        (Claim.BELOW_BEST, 900, 880, 990, True),
        (Claim.BELOW_BEST, 900, 899, 990, False),
        (Claim.NOT_IMPROVED, 1000, 500, 990, True),
        (Claim.NOT_IMPROVED, 900, 500, 990, False),
        (Claim.LESS_THAN_ELSEWHERE, 900, 500, 800, True),
        (Claim.LESS_THAN_ELSEWHERE, 900, 500, 900, False),
        (Claim.MORE_THAN_ELSEWHERE, 800, 500, 900, True),
        (Claim.MORE_THAN_ELSEWHERE, 900, 500, 800, False),
    ],
)
def test_what_the_paper_says(claim: Claim, auto: int, best: int, elsewhere: int, expected: bool) -> None:
    here = point([row(OURS, 5, auto), row(OURS, 6, best)], auto=5)
    there = point([row(OURS, 5, elsewhere)], auto=5)
    assert holds(claim, here, there) is expected
    if claim in (Claim.LESS_THAN_ELSEWHERE, Claim.MORE_THAN_ELSEWHERE):
        assert holds(claim, here, None) is None
    unknown = replace(here, original=row(ORIGINAL, None, None), levels=[])
    assert holds(claim, unknown, there) is None


def test_of_every_benchmark_the_paper_says_something() -> None:
    for machine in MACHINES:
        assert all(claims(machine, b.kernel) for b in BENCHMARKS)
        assert set(STATED[machine]) < {b.kernel for b in BENCHMARKS}
