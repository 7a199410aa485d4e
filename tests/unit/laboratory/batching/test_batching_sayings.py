"""The batching paper's sentences on hand-made runs: what is judged, by which kernels, and which counters are shown."""

from __future__ import annotations

from typing import Any

import pytest

from binalloc.laboratory.batching.classes import HIGH, SIGNIFICANT, SLIGHT, class_of
from binalloc.laboratory.batching.kernels import BENCHMARKS
from binalloc.laboratory.batching.measures import COUNTERS, MEASURES, change, compared, mean_change
from binalloc.laboratory.batching.published import ABOVE, ALL, BELOW, C1, C2, C3, DISTANCES, FORMULAS, NONE, SAYINGS
from binalloc.laboratory.batching.sayings import means_json, sayings_json
from binalloc.laboratory.batching.schemes import BASE, SCHEME


def a_run(cycles: int, **more: Any) -> Any:
    energy = {"total_nj": 1000.0, "activation_nj": 300.0}
    return {
        "cycles": cycles, "local_ratio": None, "l1_hits": 0.5, "row_hits": 0.5, "bank_parallelism": 4.0,
        "banks_busy": 8.0, "dram_delay": 200.0, "reply_stalls": 5000, "energy": energy, "activations": 100,
        "dram_bytes": 1 << 20, "l1_misses": 400, "l2_misses": 300, "batches_resident": 2.0, "idle_share": 0.1,
        "prefetches": 0, "prefetches_used": 0,
    } | more  # fmt: skip


def a_kernel(name: str, kind: str | None, size: int = 4096, **runs: Any) -> Any:
    return {"kernel": name, "class": kind, "row_bytes": size, "schemes": {BASE: a_run(1000)} | runs}


def judged(kernels: list[Any], text: str, of: str = ALL) -> Any:
    (one,) = [one for one in sayings_json(kernels) if (one["says"], one["of"]) == (text, of)]
    return one


@pytest.mark.parametrize(
    ("local", "temp", "both", "expected"),
    [
        (HIGH, SIGNIFICANT, SIGNIFICANT, C1),
        (0.99, 11.1, 15.0, C1),
        (0.93, -1.0, 2.0, C2),
        (HIGH, SLIGHT, 0.1, C2),
        (0.89, 11.1, 15.0, C3),
        (0.5, -2.5, 2.3, C3),
        (None, 11.1, 15.0, C3),
        (0.95, 1.9, 5.0, NONE),
        (0.95, 5.0, 1.9, NONE),
        (0.95, 0.0, 2.0, NONE),
        (0.95, -1.0, 0.0, NONE),
        (0.95, -5.1, 3.0, NONE),
    ],
)
def test_the_class_is_the_papers(local: float | None, temp: float, both: float, expected: str) -> None:
    """Its own means are in their classes; high ratios with other gains fit none."""
    assert class_of(local, temp, both) == expected


def test_a_direction_holds_by_the_mean_and_kernels_are_told_apart() -> None:
    kernels = [a_kernel("a", C1, temp=a_run(500)), a_kernel("b", C1, temp=a_run(1250)), a_kernel("c", C2)]
    one = judged(kernels, "TEMP is faster than CCWS")
    assert (one["kernels"], one["holds"], one["holds_for"]) == (2, True, ["a"])
    assert one["ours"] == pytest.approx(100 * ((2 * 0.8) ** 0.5 - 1), abs=0.01)
    assert [(fail["kernel"], fail["ours"]) for fail in one["fails_for"]] == [("b", -20.0)]
    assert (one["paper"], one["over"], one["relation"]) == (5.7, BASE, ABOVE)
    assert judged(kernels, "TEMP is faster than CCWS", C1)["holds_for"] == ["a"]
    assert judged(kernels[1:], "TEMP is faster than CCWS")["holds"] is False


def test_what_was_not_run_is_not_judged() -> None:
    one = judged([a_kernel("a", C1, owl=None)], "OWL is slower than CCWS")
    assert (one["kernels"], one["ours"], one["holds"]) == (0, None, None)
    assert (one["holds_for"], one["fails_for"], one["why"]) == ([], [], "")
    slower = judged([a_kernel("a", C1, owl=a_run(1001))], "OWL is slower than CCWS")
    assert (slower["holds"], slower["ours"]) == (True, -0.1)


def test_the_halves_of_temp_stand_in_front_of_the_counters_where_its_speed_is_judged() -> None:
    runs = {
        "temp": a_run(1200, dram_bytes=2 << 20, row_hits=0.25, activations=101, idle_share=0.25),
        "temp_tbas": a_run(1300),
        "dispatch_only": a_run(1300),
        "colours_only": a_run(990),
    }
    kernels = [a_kernel("a", C1, **runs)]
    (fail,) = judged(kernels, "TEMP is faster than CCWS")["fails_for"]
    assert fail["why"] == (
        "dispatch alone 1.30 times the cycles, colours alone 0.99 times the cycles, bytes of DRAM 2.00 times, "
        "row hits 0.50 times, SMs idle at the end 25% of the time, not 10%"
    )
    (fail,) = judged(kernels, "TEMP has more row hits", C1)["fails_for"]
    assert fail["why"].startswith("bytes of DRAM 2.00 times, row hits 0.50 times, SMs idle")
    (fail,) = judged(kernels, "TEMP+TBAS is faster than TEMP")["fails_for"]
    assert "dispatch alone" not in fail["why"], "the halves are over CCWS"


def test_numbers_of_one_scheme_are_means_and_not_quotients() -> None:
    high, low = {"local_ratio": 0.97}, {"local_ratio": 0.91}
    kernels = [a_kernel("a", C1, temp=a_run(900, **high)), a_kernel("b", C1, temp=a_run(900, **low))]
    one = judged(kernels, "accesses are local", C1)
    assert (one["ours"], one["over"], one["holds"], one["paper"]) == (94.0, "90", True, 99.0)
    share = judged(kernels, "activations dominate the energy of DRAM")
    assert (share["ours"], share["over"], share["holds"], share["why"]) == (30.0, "50", False, "")
    assert [fail["why"] for fail in share["fails_for"]] == ["", ""]


def test_row_sizes_are_judged_apart() -> None:
    kernels = [a_kernel("a", C1, temp=a_run(900)), a_kernel("a", C1, 8192, temp=a_run(1100))]
    found = [one for one in sayings_json(kernels) if (one["says"], one["of"]) == ("TEMP is faster than CCWS", ALL)]
    assert [(one["row_bytes"], one["holds"]) for one in found] == [(4096, True), (8192, False)]


def test_a_sentence_on_one_kernel_is_judged_by_that_alone() -> None:
    kernels = [a_kernel("dense", C2, temp=a_run(900, bank_parallelism=3.0)), a_kernel("a", C1, temp=a_run(900))]
    one = judged(kernels, "TEMP may limit the busy banks of few blocks", "dense")
    assert (one["ours"], one["holds"], one["holds_for"]) == (-25.0, True, ["dense"])


def test_means_are_by_class_and_scheme() -> None:
    kernels = [
        a_kernel("a", C1, temp=a_run(500, local_ratio=1.0)), a_kernel("b", C3, temp=a_run(2000, local_ratio=0.5)),
        a_kernel("c", None),
    ]  # fmt: skip
    found = {(one["of"], one["scheme"]): one for one in means_json(kernels)}
    assert list(found) == [(ALL, "temp"), (C1, "temp"), (C3, "temp")]
    assert (found[ALL, "temp"]["kernels"], found[ALL, "temp"]["changes"]["speed"]) == (2, 0.0)
    assert found[C1, "temp"]["changes"]["speed"] == 100.0
    assert found[ALL, "temp"]["changes"]["local_ratio"] == 75.0
    assert found[ALL, "temp"]["changes"]["energy"] == 0.0


def test_changes_are_in_per_cent_and_nothing_is_made_of_nothing() -> None:
    one, other = a_run(800, reply_stalls=0, row_hits=None), a_run(1000)
    assert change("speed", one, other) == pytest.approx(25.0)
    assert change("reply_stalls", one, other) is None
    assert change("reply_stalls", other, one) is None
    assert change("row_hits", one, other) is None
    assert mean_change([100.0, -50.0]) == pytest.approx(0.0)
    assert compared([(a_run(1, l1_misses=800), a_run(1, l1_misses=200))] * 2) == "misses of L1 4.00 times"
    assert compared([]) == ""


def test_counters_are_shown_from_the_most_different_one_and_only_four() -> None:
    right = a_run(1)
    left = a_run(
        1, dram_bytes=(1 << 20) * 1.015, activations=150, row_hits=0.1, banks_busy=9.0, dram_delay=400.0, l2_misses=306
    )
    assert compared([(left, right)]) == (
        "row hits 0.20 times, delay of DRAM 2.00 times, activations 1.50 times, busy banks in all 1.12 times"
    )


def test_prefetches_are_shown_where_one_side_has_them() -> None:
    owl, base = a_run(1, prefetches=200, prefetches_used=50), a_run(1)
    assert compared([(owl, base), (owl, base)]) == "25% of 400 prefetches used"
    assert compared([(base, owl)]) == compared([(owl, owl)]) == ""


def test_the_table_of_sentences_hangs_together() -> None:
    assert len({(s.text, s.of, s.scheme, s.over) for s in SAYINGS}) == len(SAYINGS)
    for saying in SAYINGS:
        assert saying.scheme in SCHEME
        assert saying.measure in MEASURES
        assert saying.relation in (ABOVE, BELOW)
        assert saying.of in (ALL, C1, C2, C3, *(b.kernel for b in BENCHMARKS))
        assert (saying.over in SCHEME) != bool(saying.than), saying.text
        if saying.paper is not None and saying.over:
            assert (saying.paper > 0) == (saying.relation == ABOVE), "a number has the sentence's direction"
    assert set(COUNTERS) <= set(MEASURES)
    assert sum(FORMULAS.values()) == 100
    assert sum(DISTANCES.values()) == 99, "what three batches or more touch is left"


def test_temp_over_owl_follows_from_the_two_over_ccws() -> None:
    """1.057 / 0.936 is the 12.9 % that the paper prints, 1.103 / 1.057 the 4.4 % that it does not."""
    paper = {(s.scheme, s.over): s.paper for s in SAYINGS if s.measure == "speed" and s.of == ALL}
    temp, both, owl = (1 + (paper[name, BASE] or 0) / 100 for name in ("temp", "temp_tbas", "owl"))
    assert 100 * (temp / owl - 1) == pytest.approx(paper["temp", "owl"], abs=0.05)
    assert 100 * (both / temp - 1) == pytest.approx(paper["temp_tbas", "temp"], abs=0.05)
