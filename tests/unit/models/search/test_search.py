"""The unified paper's concurrency search (Figs. 4 and 5), its boundaries, and exhaustive search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from binalloc.errors import UsageError
from binalloc.models.search.unified import (
    Level,
    SearchProblem,
    SearchResult,
    ci_pred,
    is_concurrency_bound,
    reading_of,
    unified_search,
)

BLOCK, MAXIMUM, CORES = 256, 2048, 192


def levels(memory: Callable[[int], int], spills: Callable[[int], int], compute: int = 1000) -> Callable[[int], Level]:
    return lambda threads: Level(compute, memory(threads), Fraction(1), spills(threads))


def search(
    evaluate: Callable[[int], Level], interval: Fraction = Fraction(4), original: int = 512, maximum: int = MAXIMUM,
    bound: bool | None = None, held: Sequence[int] | None = None, reading: Sequence[str] = (),
) -> SearchResult:  # fmt: skip
    """With the default interval the start is 4 * 192 = 768 threads, three blocks."""
    return unified_search(
        SearchProblem(
            evaluate, CORES, BLOCK, maximum, original, interval, concurrency_bound=bound, held=held,
            reading=reading_of(reading),
        )
    )  # fmt: skip


def good_up_to(limit: int, spill_above: int = MAXIMUM) -> Callable[[int], Level]:
    """CI_pred holds up to `limit` threads; spills above `spill_above`."""
    return levels(lambda t: 4 if t <= limit else 5, lambda t: max(0, (t - spill_above) // BLOCK))


def test_ci_pred_is_strict_and_exact() -> None:
    assert not ci_pred(1000, 5, Fraction(1))  # exactly 200
    assert ci_pred(1001, 5, Fraction(1))
    assert not ci_pred(600, 1, Fraction(1, 3))  # exactly 200, though 1/3 has no binary fraction
    assert ci_pred(601, 1, Fraction(1, 3))
    assert ci_pred(10, 1, Fraction(2), Fraction(19))
    assert not ci_pred(10, 1, Fraction(2), Fraction(20))


def test_no_memory_instruction_counts_as_true() -> None:
    assert ci_pred(0, 0, Fraction(1))


def test_fig_4_scenarios() -> None:
    """Latency 3: the chain dispatches every 3 cycles and gains from warps, the independent stream every cycle not."""
    assert is_concurrency_bound(Fraction(3))
    assert not is_concurrency_bound(Fraction(1))


def test_a_program_that_is_not_concurrency_bound_is_left_alone() -> None:
    def never(threads: int) -> Level:
        raise AssertionError("nothing is evaluated")

    result = search(never, interval=Fraction(1))
    assert (result.threads, result.kept_original, result.direction, result.start) == (512, True, "not bound", None)
    assert search(never, bound=False).kept_original
    assert search(good_up_to(0), interval=Fraction(1), bound=True).start == BLOCK


def test_ascent_takes_the_largest_level_and_excludes_the_maximum() -> None:
    result = search(good_up_to(MAXIMUM))
    assert (result.direction, result.start, result.threads) == ("up", 768, 1792)
    assert [item.threads for item in result.levels] == [768, 1024, 1280, 1536, 1792]


def test_ascent_has_no_break() -> None:
    """A level that fails between two that hold does not stop the ascent."""
    result = search(levels(lambda t: 5 if t in (1024, 1792) else 4, lambda t: 0))
    assert result.threads == 1536


def test_ascent_may_end_where_it_started() -> None:
    result = search(good_up_to(768))
    assert (result.threads, result.kept_original) == (768, False)


def test_ascent_with_a_maximum_between_blocks_includes_the_last_whole_block() -> None:
    assert search(good_up_to(MAXIMUM), maximum=1600).threads == 1536
    assert search(good_up_to(MAXIMUM), maximum=1536).threads == 1280


def test_a_start_at_the_maximum_that_satisfies_ci_pred_is_taken() -> None:
    result = search(good_up_to(MAXIMUM), interval=Fraction(40))
    assert (result.start, result.threads, result.direction) == (2048, 2048, "up")


def test_start_rounds_down_to_blocks_but_not_below_one() -> None:
    assert search(good_up_to(0), interval=Fraction(1023, 192)).start == 768
    assert search(good_up_to(0), interval=Fraction(1024, 192)).start == 1024
    assert search(good_up_to(0), interval=Fraction(129, 128)).start == 256


def test_descent_takes_the_first_level_that_holds() -> None:
    result = search(good_up_to(1024, spill_above=768), interval=Fraction(8))
    assert (result.direction, result.start, result.smem_fit, result.threads) == ("down", 1536, 768, 1024)


def test_descent_includes_the_level_without_spills_and_stops_there() -> None:
    assert search(good_up_to(768, spill_above=768), interval=Fraction(8)).threads == 768
    below = search(good_up_to(512, spill_above=768), interval=Fraction(8), original=256)
    assert (below.threads, below.kept_original, below.direction) == (256, True, "down")
    assert 512 not in [item.threads for item in below.levels]


def test_descent_never_reaches_the_original_level() -> None:
    result = search(good_up_to(768, spill_above=256), interval=Fraction(8), original=768)
    assert (result.threads, result.kept_original) == (768, True)


def test_descent_starts_with_equality_of_start_and_smem_fit() -> None:
    """start == SmemFitTnum goes down (>=) and, looking only at itself, keeps the original."""
    result = search(good_up_to(0, spill_above=768))
    assert (result.direction, result.smem_fit, result.kept_original) == ("down", 768, True)


def test_a_start_below_smem_fit_that_fails_keeps_the_original() -> None:
    result = search(good_up_to(0, spill_above=1024))
    assert (result.direction, result.smem_fit, result.kept_original) == ("original", 1024, True)
    assert search(good_up_to(0)).smem_fit == MAXIMUM


def test_infeasible_levels_are_stepped_over() -> None:
    def evaluate(threads: int) -> Level:
        return Level(1000, 1, Fraction(1), 0, feasible=threads <= 512 or threads == 1280)

    result = search(evaluate)
    assert (result.start, result.threads) == (512, 1280)
    nothing = search(lambda threads: Level(1000, 1, Fraction(1), 0, feasible=False))
    assert (nothing.kept_original, nothing.start) == (True, None)


def test_every_level_is_evaluated_once_and_reported() -> None:
    asked: list[int] = []
    evaluate = good_up_to(1024, spill_above=768)

    def counted(threads: int) -> Level:
        asked.append(threads)
        return evaluate(threads)

    result = search(counted, interval=Fraction(8))
    assert len(asked) == len(set(asked)) == len(result.levels)
    text = result.text()
    assert "   1024     1000         4     1.000       1  holds\n" in text
    assert text.endswith("1024 is the first level where CI_pred holds\n")


def test_a_block_that_cannot_run_is_an_error() -> None:
    with pytest.raises(ValueError, match="block size 256"):
        search(good_up_to(0), maximum=255)


def test_levels_that_the_machine_cannot_hold_are_not_walked() -> None:
    result = search(good_up_to(MAXIMUM), held=(256, 512, 768, 1024))
    assert (result.threads, [item.threads for item in result.levels]) == (1024, [768, 1024])
    low = search(good_up_to(0), interval=Fraction(40), held=(256, 512))
    assert (low.start, low.smem_fit) == (512, 512)
    assert search(good_up_to(MAXIMUM), held=(1024,)).start == 1024  # not below one level
    top = search(levels(lambda t: 5, lambda t: t // 1024), interval=Fraction(8), original=256, held=(512, 768, 1536))
    assert (top.smem_fit, [item.threads for item in top.levels]) == (768, [768, 1536])


@pytest.mark.parametrize(
    ("reading", "compute", "memory"), [((), 900, 100), (("no-textures",), 960, 40), (("spills",), 990, 10)]
)
def test_what_counts_as_off_chip(reading: tuple[str, ...], compute: int, memory: int) -> None:
    """What does not is an instruction all the same."""
    assert Level(900, 100, Fraction(1), 10, textures=60).counts(reading_of(reading).counted) == (compute, memory)


def test_a_level_is_judged_by_what_counts() -> None:
    def textured(threads: int) -> Level:
        return Level(1000, 10, Fraction(1), 1 if threads > 1024 else 0, textures=10)

    assert search(textured).kept_original
    assert search(textured, reading=["no-textures"]).threads == 1792
    assert search(textured, reading=["spills"]).threads == 1792  # 1009 computing instructions to one spill


def test_an_exhausted_descent_may_end_where_it_stops() -> None:
    never = good_up_to(0, spill_above=768)
    assert search(never, interval=Fraction(8)).kept_original
    found = search(never, interval=Fraction(8), reading=["smem-fit"])
    assert (found.threads, found.kept_original, found.direction) == (768, False, "down")
    assert "768, where the descent stops, is taken" in found.text()
    assert search(never, interval=Fraction(8), original=768, reading=["smem-fit"]).kept_original
    assert search(good_up_to(0, spill_above=0), interval=Fraction(8), reading=["smem-fit"]).kept_original


def test_the_ascent_may_look_at_the_maximum() -> None:
    assert search(good_up_to(MAXIMUM), reading=["up-to-most"]).threads == MAXIMUM
    assert search(good_up_to(1792), reading=["up-to-most"]).threads == 1792


def test_readings_have_names() -> None:
    assert reading_of(["up-to-most", "spills"]).names == ["spills", "up-to-most"]
    assert reading_of([]).names == []
    for wrong in (["spills", "no-textures"], ["most"]):
        with pytest.raises(UsageError):
            reading_of(wrong)
