"""Random kernels with all kinds of accesses: each step to shorter regions, to merged blocks, and to blocks that get
memory as they run leaves the same, without races, and what is proven is right."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.shorten import shortened
from binalloc.verify.checker import check
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.exits import check_late_exits
from binalloc.verify.shorten.late import check_late_stores
from binalloc.verify.shorten.unrolled import check_unrolled
from tests.property.transform.multiplex.test_cuts import cut
from tests.property.transform.multiplex.test_public import MACHINE, left, same
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.programs.builder import program

SEEDS = range(40)
OTHERS = ({}, {"scheduler": "lrr", "sms": 3})


def is_right(module: Module, made: Module, launch: Launch, merged: Launch | None = None) -> bool:
    expected = left(schedule(module, MACHINE), launch)
    code = schedule(made, MACHINE)
    return all(same(expected, left(code, merged or launch, **options)) for options in OTHERS)


def proof(given: Module, made: Module, last: dict[int, int], late: bool, launch: Launch) -> CheckReport:
    if last:
        return check_unrolled(given, made, "k", launch.block, last)
    return check_late_stores(given, made, "k", launch.block) if late else check(given, made, "k")


@pytest.mark.parametrize("seed", SEEDS)
def test_shorter_regions_leave_the_same(seed: int) -> None:
    text, launch = widely_exchanging(seed)
    module = given = program(text)
    for step in shortened(module, "k", launch.block):
        report = proof(given, step.module, dict(step.last), step.late, launch)
        assert report.ok, report.errors[0]
        assert is_right(module, step.module, launch)
        given = step.module


@pytest.mark.rotates("long")
@pytest.mark.parametrize("order", [TURNS, PIPED])
def test_merged_blocks_leave_the_same(order: str) -> None:
    found: Counter[str] = Counter()
    for seed in range(2 * len(SEEDS)):
        text, launch = widely_exchanging(seed)
        module = program(text)
        later = with_late_exits(module, "k", launch.block)
        assert later is module or check_late_exits(module, later, "k", launch.block).ok
        for private in (0, cut(random.Random(f"cut {seed} merged"), module.function("k").info.shared_bytes)):
            count = 2 + (order == TURNS and private != 0 and seed % 2)
            try:
                made = merge_blocks(later, "k", launch.block, count, private=private, order=order)
            except Refused:
                continue
            merge = made.merge
            report = check_merged(later, made.module, "k", launch.block, merge.count, merge.axis)
            assert "internal" not in {error.kind for error in report.errors}, report
            several = any(len(region.ends) > 1 for region in made.regions)
            kind = "copies" if made.copies.private else "several ends" if several else "one end"
            found[kind] += report.ok
            assert not report.ok or is_right(module, made.module, launch, merge.launch(launch)), seed
    assert min(found["several ends"], found["one end"]) > 2, found
    assert found["copies"] > 20, found


@pytest.mark.rotates("long")
def test_blocks_that_hand_on_their_turn_leave_the_same() -> None:
    right = 0
    for seed in SEEDS:
        text, launch = widely_exchanging(seed)
        module = program(text)
        try:
            made = merge_blocks(with_late_exits(module, "k", launch.block), "k", launch.block, 2, order=HANDED)
        except Refused:
            continue
        right += is_right(module, made.module, launch, made.merge.launch(launch))
    assert right > 2


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_get_memory_as_they_run_leave_the_same(seed: int) -> None:
    text, launch = widely_exchanging(seed)
    module = program(text)
    try:
        made = get_as_they_run(module, "k", launch.block)
    except Refused as error:
        assert error.message == "no block waits for shared memory"  # noqa: PT017
        return
    parts = made.parts
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    report = check_public(module, made.module, "k", launch.block, division)
    assert report.ok, report.errors[0]
    assert is_right(module, made.module, launch)
