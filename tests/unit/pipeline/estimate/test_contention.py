"""Warps that take the same steps: alone, in one another's way, at barriers, and cut short."""

from __future__ import annotations

import pytest

from binalloc.pipeline.estimate.contention import DISPATCH, WarpStep, throughput


def test_one_warp_takes_what_its_steps_take() -> None:
    """Two loads one after the other, then a step that waits for both."""
    steps = [
        WarpStep(0, 4, 10, ((1, 4.0),), board=0, latency=100.0),
        WarpStep(0, 1, 1, (), board=1, latency=50.0, requests=((0, 8.0),)),
        WarpStep(0b11, 2, 6, ((1, 20.0),)),
    ]
    first, second = 10 + 100, 10 + 1 + 8 + 50
    whole = max(first, second) + 20
    assert 1 / throughput([steps], 1, 1, 4) == pytest.approx(whole + DISPATCH * 2 / 3)
    assert throughput([[]], 4, 2, 4) == 0


def test_what_one_warp_leaves_free_another_uses_up_to_the_busiest_resource() -> None:
    steps = [WarpStep(0, 1, 4, ((0, 3.0),), board=0, latency=96.0), WarpStep(1, 1, 4, ())]
    rates = [throughput([steps], 1, blocks, 4) for blocks in (1, 2, 8, 64)]
    assert rates == sorted(rates)
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.05)
    assert 0.8 / 3 < rates[3] <= 1 / 3
    issue = throughput([[WarpStep(0, 8, 8, ())]], 8, 8, 2)
    assert issue == pytest.approx(2 / 8, rel=0.1)


def test_warps_wait_for_one_another_at_barriers() -> None:
    """All warps of a block load, meet, and go on: one block alone leaves the resource empty meanwhile, two do not."""
    load = WarpStep(0, 1, 1, ((0, 10.0),), board=0, latency=200.0)
    apart = [load, WarpStep(1, 1, 20, ()), load, WarpStep(1, 1, 20, ())]
    met = [load, WarpStep(1, 1, 20, (), barrier=True), load, WarpStep(1, 1, 20, (), barrier=True)]
    assert throughput([met], 8, 1, 1) < throughput([apart], 8, 1, 1)
    assert throughput([met], 8, 2, 1) > 1.2 * throughput([met], 8, 1, 1)


def test_reads_hold_their_board_and_requests_queue_for_their_own_resource() -> None:
    store = WarpStep(0, 1, 1, (), requests=((0, 32.0),), reads_board=2, reads=40.0)
    wait = WarpStep(1 << 2, 1, 1, ())
    assert 1 / throughput([[store, wait]], 1, 1, 1) == pytest.approx(42 + DISPATCH * 2 / 3)
    assert throughput([[store] * 40], 8, 8, 8) == pytest.approx(1 / 32 / 40, rel=0.05)


def test_a_part_tells_about_what_the_whole_does() -> None:
    """Of steps that take ten times as long as others, here and there."""
    few = [WarpStep(0, 1, 4, ((0, 10.0),), board=0, latency=40.0), WarpStep(1, 1, 4, ())]
    steps = [*[WarpStep(0, 1, 4, ((0, 1.0),), board=0, latency=4.0), WarpStep(1, 1, 4, ())] * 9, *few] * 20
    whole = throughput([steps], 4, 2, 4)
    part = throughput([steps], 4, 2, 4, most=len(steps) * 4)
    assert part == pytest.approx(whole, rel=0.15)
    assert part != whole


def test_the_same_again() -> None:
    steps = [WarpStep(0, 1.5, 4, ((0, 1.5), (1, 0.25)), board=k % 6, latency=30.0 + k) for k in range(50)]
    assert throughput([steps], 6, 3, 2) == throughput([list(steps)], 6, 3, 2)


def test_warps_that_do_less_wait_at_the_barrier_for_those_that_do_more() -> None:
    """One warp of four computes for 400 cycles, the others for 4; then all meet, and all do the same."""
    much, little = WarpStep(0, 100, 400, (), barrier=True), WarpStep(0, 1, 4, (), barrier=True)
    after = WarpStep(0, 1, 4, ())
    one_does = [[much, after], *[[little, after]] * 3]
    per_block = 4 / throughput(one_does, 4, 1, 4)
    assert per_block == pytest.approx(404 + DISPATCH * 2 / 3, rel=0.01)
    assert throughput(one_does, 4, 2, 4) == pytest.approx(2 * throughput(one_does, 4, 1, 4), rel=0.05)
    apart = [[replace_barrier(much), after], *[[replace_barrier(little), after]] * 3]
    assert throughput(apart, 4, 1, 4) == pytest.approx(throughput(one_does, 4, 1, 4), rel=0.05)
    assert throughput([[little, after]], 4, 1, 4) > 5 * throughput(one_does, 4, 1, 4)


def replace_barrier(step: WarpStep) -> WarpStep:
    return step._replace(barrier=False)


def test_warps_that_are_through_are_not_waited_for() -> None:
    """Ways of unknown loops may have fewer barriers than others."""
    meets, goes = WarpStep(0, 1, 4, (), barrier=True), WarpStep(0, 1, 4, ())
    uneven = [[meets, goes], [meets] * 5, [goes]]
    for blocks in (1, 2, 5):
        rate = throughput(uneven, 3, blocks, 4)
        assert 3 * blocks / rate / blocks < 3 * (5 * 4 + DISPATCH)
        assert rate > 0


def test_a_resource_of_each_scheduler_serves_its_own_warps_alone() -> None:
    """One warp gets one resource's rate, four get four where each scheduler has one, and one where they share it."""
    own, shared = [WarpStep(0, 1, 1, (), own=((0, 10.0),))] * 50, [WarpStep(0, 1, 1, ((0, 10.0),))] * 50
    assert throughput([own], 1, 1, 4) == pytest.approx(throughput([shared], 1, 1, 4))
    assert throughput([own], 4, 1, 4) == pytest.approx(4 * throughput([own], 1, 1, 4), rel=0.01)
    assert throughput([own], 8, 1, 4) == pytest.approx(4 / 500, rel=0.05)
    assert throughput([shared], 4, 1, 4) == pytest.approx(1 / 500, rel=0.05)
