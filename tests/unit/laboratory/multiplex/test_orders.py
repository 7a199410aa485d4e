"""The multiplex paper's orders, judged on figures that were made up for it; which versions are run where; means."""

from __future__ import annotations

from typing import Any

import pytest

from binalloc.laboratory.multiplex.facts import multiplex_reproduction_json
from binalloc.laboratory.multiplex.gains import gain, gain_as_is, kinds_of, version_of
from binalloc.laboratory.multiplex.orders import judged_orders
from binalloc.laboratory.multiplex.paper import DIVIDED, KERNELS, MACHINES, SIMULATED, Order
from binalloc.laboratory.multiplex.run import MultiplexedCase
from binalloc.laboratory.multiplex.task import versions
from binalloc.laboratory.multiplex.text import render_multiplex_reproduction
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import NAMED
from binalloc.pipeline.sweeping.sweep import Tally

STALLS = {"scoreboard": 0.5, "barrier": 0.25}


def version(scheme: str, speedup: float | None, over: int | None = None, **other: Any) -> dict[str, Any]:
    """A version of two blocks, proven and with the same results."""
    return {
        "scheme": scheme, "merge": 2 if "vtb" in scheme else None, "split": None, "over": over,
        "barriers": "block" if "vtb" in scheme else None,
        "shorter_regions": False, "own_words": False, "speedup": speedup,
        "blocks": 2, "cycles": 1, "registers": 1, "shared_bytes": 1,
        "same_results": True, "proven": True, "stalls": STALLS, "reason": "", **other,
    }  # fmt: skip


def choice(scheme: str, speedup: float, **other: Any) -> dict[str, Any]:
    return {"scheme": scheme, "merge": None, "barriers": None, "over": None, "shorter_regions": False,
            "speedup": speedup, **other}  # fmt: skip


def kernel(name: str, machine: str, *schemes: dict[str, Any]) -> dict[str, Any]:
    chosen = choice("original", 1.0)
    return {
        "machine": machine, "kernel": name, "sample": name, "status": "ok", "reason": "", "version": "", "limits": [],
        "original_blocks": 1, "original_cycles": 1, "shared_bytes": 1, "stalls": STALLS, "region_share": 0.25,
        "shorter_region_share": 0.125,
        "shorter": 1.0, "free": 2.0, "free_blocks": 4, "schemes": list(schemes),
        "auto": {"today": chosen, "any": chosen},
    }  # fmt: skip


def judged(order: Order, *kernels: dict[str, Any]) -> tuple[bool | None, bool]:
    """Whether an order holds, and whether what slots waited for is said."""
    one = next(one for one in judged_orders(kernels) if one.order == order)  # type: ignore[arg-type]
    return one.holds, bool(one.waits)


def limited(name: str, one: float, two: float, three: float) -> dict[str, Any]:
    return kernel(name, SIMULATED, *(version("hw", s, n) for n, s in enumerate((one, two, three), 1)))


def test_without_runs_nothing_is_known() -> None:
    assert [one.holds for one in judged_orders([])] == [None] * len(Order)


def three(name: str, vtb: float, pipe: float, co: float) -> dict[str, Any]:
    return kernel(name, "gtx285", version("vtb", vtb), version("vtb-pipe", pipe), version("co-vtb", co))


def test_co_vtb_is_compared_with_both_other_schemes() -> None:
    assert judged(Order.CO_FIRST, three("MC", 1.2, 1.1, 1.3)) == (True, False)
    assert judged(Order.CO_FIRST, three("MC", 1.3, 1.1, 1.2)) == (False, True)
    assert judged(Order.CO_FIRST, three("MC", 1.1, 1.3, 1.2)) == (False, True)
    two = kernel("MC", "gtx285", version("vtb", 1.2), version("co-vtb", 1.3))
    assert judged(Order.CO_FIRST, two) == (None, False)
    assert judged(Order.CO_FIRST, three("FFT", 1.2, 1.1, 1.3)) == (None, False), "the paper has none of FFT"


def test_a_pipe_is_ahead_but_for_one_kernel() -> None:
    def holds(*gains: float) -> tuple[bool | None, bool]:
        """gains: of FFT and MC, each with vtb and vtb-pipe"""
        vtb, pipe, there, pipe_there = gains
        return judged(Order.PIPE_OVER_VTB, three("FFT", vtb, pipe, 1.0), three("MC", there, pipe_there, 1.0))

    assert holds(1.1, 1.2, 1.2, 1.1) == (True, False)
    assert holds(1.2, 1.1, 1.2, 1.1) == (False, True)
    assert holds(1.1, 1.2, 1.1, 1.2) == (False, True)
    assert judged(Order.PIPE_OVER_VTB, three("FFT", 1.1, 1.2, 1.0)) == (None, False)


def test_machines_are_in_order_by_their_best_versions() -> None:
    def on(machine: str, speedup: float) -> dict[str, Any]:
        return kernel("MV", machine, version("vtb", 0.5), version("co-vtb", speedup), version("hw", 9.0))

    def holds(old: float, small: float, large: float) -> tuple[bool | None, bool]:
        return judged(Order.SMALL_FIRST, on("gtx285", old), on("gtx480-16k", small), on("gtx480", large))

    assert holds(1.4, 1.7, 1.2) == (True, False)
    assert holds(1.7, 1.4, 1.2) == (False, True)
    assert holds(1.4, 1.7, 1.5) == (False, True)


@pytest.mark.parametrize(("figures", "one_more", "alike"), [
    ((1.1, 1.3, 1.31), True, True), ((1.3, 1.3, 1.3), False, True), ((1.1, 1.3, 1.4), True, False),
])  # fmt: skip
def test_numbers_of_blocks(figures: tuple[float, float, float], one_more: bool, alike: bool) -> None:
    assert judged(Order.ONE_MORE, limited("MV", *figures)) == (one_more, not one_more)
    assert judged(Order.ALIKE, limited("MV", *figures)) == (alike, not alike)


def test_some_kernels_want_more_blocks_than_others() -> None:
    more, fewer = (1.1, 1.2, 1.3), (1.1, 1.2, 1.2)
    assert judged(Order.MORE_FOR_SOME, limited("FFT", *more), limited("MC", *more)) == (True, False)
    assert judged(Order.MORE_FOR_SOME, limited("FFT", *more), limited("MC", *fewer)) == (False, True)
    assert judged(Order.MORE_FOR_SOME, limited("FFT", *more)) == (None, False)
    assert judged(Order.FEWER_FOR_SOME, limited("HG", *fewer), limited("MV", *fewer)) == (True, False)
    assert judged(Order.FEWER_FOR_SOME, limited("HG", *fewer), limited("MV", *more)) == (False, True)


def test_a_kernel_without_one_of_the_schemes_leaves_an_order_open() -> None:
    def on(name: str, plain: float | None, co: float | None) -> dict[str, Any]:
        return kernel(name, SIMULATED, version("hw", plain, 1), version("co-hw", co, 1))

    assert judged(Order.CO_HW_FOR_MC, on("MC", 1.2, 1.3)) == (True, False)
    assert judged(Order.CO_HW_FOR_MC, on("MC", 1.3, 1.2)) == (False, True)
    assert judged(Order.HW_FOR_OTHERS, on("STO", 1.3, 1.2), on("HG", 1.2, 1.1)) == (True, False)
    assert judged(Order.HW_FOR_OTHERS, on("STO", None, None), on("HG", 1.2, 1.1)) == (None, False)
    assert judged(Order.HW_FOR_OTHERS, on("STO", None, None), on("HG", 1.1, 1.2)) == (False, True)


def test_other_results_do_not_count_but_missing_proofs_do() -> None:
    found: Any = kernel("MC", "gtx285", version("vtb", 1.5, same_results=False), version("vtb", 1.1),
                        version("co-vtb", 1.3, proven=False))  # fmt: skip
    assert (gain(found, "vtb"), gain(found, "co-vtb"), gain(found, "best"), gain(found, "hw")) == (1.1, 1.3, 1.3, None)
    assert version_of(found, "vtb-pipe") is None


def test_turns_at_named_barriers_are_a_kind_of_their_own() -> None:
    handed = version("vtb", 2.0, barriers="named", merge=4)
    found: Any = kernel("FFT", "gtx480", version("vtb", 1.5), version("vtb-pipe", 1.6), handed)
    assert [gain(found, kind) for kind in ("vtb", "vtb-pipe", "best", "vtb, named")] == [1.5, 1.6, 1.6, 2.0]
    assert "vtb, named" in kinds_of("gtx480")
    assert "vtb, named" not in kinds_of("gtx285")
    text = render_multiplex_reproduction(
        multiplex_reproduction_json([MultiplexedCase("gtx480", "FFT", "FFT", found | {
            "shorter": None, "free": None, "schemes": [handed | {"speedup": 0.5}, version("vtb", 1.0)],
            "auto": {"any": choice("original", 1.0), "today": choice("vtb", 2.0, merge=4, barriers="named")},
        })], Tally(), False, "kept")
    )  # fmt: skip
    assert "FFT vtb of 4, named 0.500" in text
    assert "2.000 vtb4n" in text


def test_versions_with_regions_as_they_are_have_a_mean_of_their_own() -> None:
    found: Any = kernel("MC", "gtx285", version("vtb", 1.1), version("vtb", 1.5, shorter_regions=True),
                        version("vtb", 1.4, own_words=True))  # fmt: skip
    assert (gain(found, "vtb"), gain_as_is(found, "vtb"), gain_as_is(found, "best")) == (1.5, 1.1, 1.1)
    own: Any = kernel("HG", "gtx285", version("vtb", 1.1), version("vtb", 2.0, own_words=True))
    assert (gain(own, "vtb"), gain(own, "best"), gain_as_is(own, "vtb")) == (2.0, 1.1, 1.1), "not the paper's"
    assert [gain_as_is(found, kind) for kind in ("shorter", "free", "today", "any", "co-vtb")] == [None] * 5


def test_a_reason_is_said_once() -> None:
    made: Any = kernel("STO", "gtx285", version("vtb", 2.0), version("hw", None, reason="no block fits"),
                       version("hw", None, reason="no block fits", shorter_regions=True),
                       version("co-hw", 1.5, same_results=False))  # fmt: skip
    outcome = made | {"shorter": None, "free": None}
    text = render_multiplex_reproduction(
        multiplex_reproduction_json([MultiplexedCase("gtx285", "STO", "STO", outcome)], Tally(), False, "kept")
    )
    assert "No hw, hw (s) of STO: no block fits\n" in text
    assert "co-hw of STO left OTHER RESULTS.\n" in text


def test_every_kernel_has_its_versions() -> None:
    for machine in MACHINES:
        for name in KERNELS:
            made = list(versions(name, load_machine(machine)))
            schemes = {one.scheme for one in made}
            assert schemes - {"co-vtb", "co-hw"} == ({"hw"} if machine == SIMULATED else {"vtb", "vtb-pipe", "hw"})
            assert (NAMED in {one.barriers for one in made}) == (machine in ("gtx480", "gtx480-16k"))
            assert ("co-hw" in schemes) == (name in DIVIDED)
            limits = {one.over for one in made if one.scheme == "hw"}
            assert limits == ({1, 2, 3, None} if machine == SIMULATED else {None})
            third = len(made) // 3
            assert [one.shorter for one in made] == [False] * third + [True] * third + [False] * third
            assert [one.own for one in made] == [False] * 2 * third + [True] * third


def test_means_are_geometric_and_what_is_slower_is_said() -> None:
    def case(name: str, speedup: float) -> MultiplexedCase:
        made: Any = kernel(name, "gtx285", version("vtb", speedup))
        alone = version("shorter", 0.9, proven=False, reason="something")
        return MultiplexedCase("gtx285", name, name, made | {"shorter": alone, "free": {"speedup": 2.0, "blocks": 4}})

    failed = MultiplexedCase("gtx285", "SP", "SP", {"status": "fault", "reason": "it faulted"})
    found = multiplex_reproduction_json([case("MV", 0.5), case("FFT", 8.0), failed], Tally(), False, "kept")
    means = {mean["name"]: mean for mean in found["machines"][0]["means"]}
    assert (means["vtb"]["here"], means["vtb"]["kernels"], means["vtb"]["largest_kernel"]) == (2.0, 2, "FFT")
    assert means["shorter"]["here"] is None, "it is not proven"
    text = render_multiplex_reproduction(found)
    assert text.splitlines()[0].endswith("emulated: 2.00 on gtx285 over 2 kernels (1.44).")
    assert "Slower than the original are 1 of 2 versions: MV vtb of 2 0.500.\n" in text
    assert "SP: no figures: it faulted\n" in text


def test_what_free_blocks_gain_is_reached_in_part() -> None:
    def shares(today: float, any_: float, free: float | None) -> dict[str, Any]:
        made: Any = kernel("MV", "gtx285", version("vtb", today)) | {
            "shorter": None, "free": None if free is None else {"speedup": free, "blocks": 8},
            "auto": {"today": choice("vtb", today), "any": choice("hw", any_)},
        }  # fmt: skip
        found = multiplex_reproduction_json([MultiplexedCase("gtx285", "MV", "MV", made)], Tally(), False, "kept")
        text = render_multiplex_reproduction(found)
        (row,) = [line for line in text.splitlines() if line.startswith("MV ")]
        reached: Any = found["kernels"][0]["reached"]
        said = " / ".join("-" if share is None else f"{share:.1%}" for share in reached.values())
        assert row.endswith(f"  {said}")
        return reached  # type: ignore[no-any-return]

    assert shares(1.25, 2.5, 2.0) == {"today": 0.25, "any": 1.5}
    assert shares(1.0, 1.0, 1.02) == {"today": 0.0, "any": 0.0}
    assert shares(1.5, 1.5, 1.01) == {"today": None, "any": None}, "there is nothing to reach"
    assert shares(1.5, 1.5, None) == {"today": None, "any": None}
