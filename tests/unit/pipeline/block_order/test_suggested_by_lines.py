"""What `--block-order auto` does with the lines that blocks touch: the profile itself, and the runs that it saves."""

from __future__ import annotations

import pytest

from binalloc import Request, rewrite_kernel
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.batches import recorder
from binalloc.pipeline.block_order import lines
from binalloc.pipeline.block_order.lines import LineProfile, profiled_lines, worth_a_run
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import Outcome
from tests.support.kits.block_order import COLUMNS, PLACES
from tests.support.programs.builder import program

Three = tuple[int, int, int]
MACHINE = "gem5gpu-batching"


def columns(grid: Three) -> Launch:
    """Block (x, y) reads one word of each of 32 lines, which all blocks of its column read, and writes a line."""
    gx, gy, gz = grid
    out, data = (
        Argument(name, "buffer", "u32", (size,)) for name, size in (("out", 32 * gx * gy * gz), ("in", 1024 * gx))
    )
    return Launch("k", grid, (32, 1, 1), 0, (out, data))


def rewritten(text: str, launch: Launch, told: list[str]) -> Outcome:
    request = Request(
        machine=MACHINE, launch=launch, registers=20, block_order="auto", sms=8, progress=told.append
    )  # fmt: skip
    return rewrite_kernel(program(text), request)


def profile(grid: Three, engine: str = "numba") -> LineProfile:
    request = Request("k", launch=columns(grid), machine=MACHINE, sms=8, engine=engine)
    return profiled_lines(baseline(program(COLUMNS), request), request)


def test_a_profile_has_the_sectors_of_each_block() -> None:
    found = profile((3, 2, 1), "python")
    out, data = 0, (2 << 20) // 32  # buffers begin at multiples of 2 MB
    expected = {(out + 4 * block + k, block) for block in range(6) for k in range(4)}
    expected |= {(data + 4 * (32 * (block % 3) + lane), block) for block in range(6) for lane in range(32)}
    assert found.bits == 0
    assert set(zip(found.sectors.pages.tolist(), found.sectors.numbers.tolist(), strict=True)) == expected


def test_a_large_profile_is_a_sample_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = profile((96, 2, 1))
    monkeypatch.setattr(lines, "MOST_LINES", 512)
    some = profile((96, 2, 1))
    assert some.bits == 2  # 3,264 lines
    pages = set(some.sectors.pages.tolist())
    assert pages < set(whole.sectors.pages.tolist())
    assert 0.2 < len(pages) / len(whole.sectors.begins) < 0.3
    monkeypatch.setattr(lines, "MOST_PAIRS", 500)
    fewer = profile((96, 2, 1))
    assert fewer.bits > 2
    assert 0 < len(fewer.sectors.pages) <= 500
    estimates = [worth_a_run(one, (96, 2, 1), load_machine(MACHINE), 8, 8) for one in (whole, some)]
    assert estimates[0].share == pytest.approx(estimates[1].share, rel=0.1)


def test_columns_that_l2_does_not_hold_get_another_order() -> None:
    told: list[str] = []
    found = rewritten(COLUMNS, columns((512, 4, 1)), told)
    assert found.orders is not None
    assert found.orders.best is not None
    assert found.orders.best.order.second == 4
    assert 0 < len(found.orders.tried) <= 2
    before = found.orders.without.stats["dram_bytes"]
    assert found.orders.best.dram_bytes < 0.4 * before
    assert found.same_results


def test_few_columns_stay_as_they_are_without_a_run() -> None:
    """L2 holds 2,048 lines of columns."""
    told: list[str] = []
    found = rewritten(COLUMNS, columns((64, 4, 1)), told)
    assert found.orders is not None
    assert (found.orders.best, found.orders.tried) == (None, [])
    assert "L2 already holds all of that until it is used again" in found.orders.reason
    assert not any("in order" in line for line in told)


def test_blocks_that_share_nothing_stay_as_they_are_without_a_run() -> None:
    told: list[str] = []
    grid = Launch("k", (64, 64, 1), (32, 1, 1), 0, (Argument("out", "buffer", "u32", (64 * 64 * 8,)),))
    found = rewritten(PLACES.replace("R6, R5, 0x4, R6", "R6, R5, 0x20, R6"), grid, told)
    assert found.orders is not None
    assert (found.orders.best, found.orders.tried) == (None, [])
    assert found.orders.reason == "its blocks share no lines of memory, so that no order moves less"
    assert not any("in order" in line for line in told)


def test_too_many_touches_are_a_reason_to_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST_TOUCHES", 100)
    found = rewritten(COLUMNS, columns((64, 4, 1)), [])
    assert found.orders is not None
    assert found.orders.best is None
    assert "could not be profiled: the blocks touch too many pages" in found.orders.reason


def test_fewer_sms_have_their_share_of_l2() -> None:
    """96 columns of 32 lines are 3,072 lines. All SMs have 4,096 lines of L2, half of them 2,048."""
    found = profile((96, 4, 1))
    model = load_machine(MACHINE)
    assert worth_a_run(found, (96, 4, 1), model, 8, 8).now == 1.0
    assert worth_a_run(found, (96, 4, 1), model, 4, 8).now > 1.5
