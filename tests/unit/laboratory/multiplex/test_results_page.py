"""The kept results of `reproduce multiplex` hang together, and the page on them says what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from binalloc.laboratory.multiplex.gains import gain, kinds_of, version_of
from binalloc.laboratory.multiplex.paper import DIVIDED, KERNELS, MACHINES, SOFTWARE
from binalloc.laboratory.multiplex.text import render_multiplex_reproduction
from binalloc.report.shapes.commands.multiplex import ReproduceMultiplexJson
from tests.support.kits.report.shapes import problems
from tests.support.paths import ROOT

FOLDER = ROOT / "docs/measured"
HOLDS = {True: "holds", False: "does not hold", None: "not known"}


@cache
def results() -> Any:
    return json.loads((FOLDER / "multiplex.json").read_text(encoding="utf-8"))


@cache
def page() -> str:
    return (FOLDER / "multiplex.md").read_text(encoding="utf-8")


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def kernels(machine: str) -> dict[str, Any]:
    """The kernels on a machine, by name."""
    return {k["kernel"]: k for k in results()["kernels"] if k["machine"] == machine}


def means(machine: str) -> dict[str, Any]:
    return {m["name"]: m for one in results()["machines"] if one["machine"] == machine for m in one["means"]}


def test_all_was_run() -> None:
    found = results()
    assert problems(found, ReproduceMultiplexJson) == []
    assert not found["partial"]
    assert [(k["machine"], k["kernel"]) for k in found["kernels"]] == [(m, k) for m in MACHINES for k in KERNELS]
    assert all(k["status"] == "ok" for k in found["kernels"])


def test_figures_follow_from_each_other() -> None:
    for k in results()["kernels"]:
        ran = [v for v in k["schemes"] if v["speedup"] is not None]
        for v in ran:
            assert v["speedup"] == round(k["original_cycles"] / v["cycles"], 4)
            assert v["same_results"] is True
        proven = [v for v in ran if v["proven"]]
        today = [v["speedup"] for v in proven if v["scheme"] in ("vtb", "vtb-pipe", "co-vtb")]
        alone = (1.0, k["shorter"] or 0, k["own"] or 0)
        assert k["auto"]["today"]["speedup"] == max(*alone, *today)
        assert k["auto"]["any"]["speedup"] == max(*alone, *(v["speedup"] for v in proven))
        assert {v["scheme"] for v in ran} <= {"vtb", "vtb-pipe", "hw", "co-vtb", "co-hw"}
        assert k["kernel"] in DIVIDED or not any(v["scheme"].startswith("co-") for v in ran)


def test_the_text_is_that_of_the_results() -> None:
    shown = {name: value for name, value in results().items() if name not in ("schema_version", "paper")}
    assert (FOLDER / "multiplex.txt").read_text(encoding="utf-8") == render_multiplex_reproduction(shown)  # type: ignore[arg-type]


def mean_rows() -> Iterator[str]:
    """The page's table of means, line by line."""
    for machine in MACHINES:
        for kind in kinds_of(machine):
            m = means(machine)[kind]
            largest = f"{number(m['largest'], 3)} {m['largest_kernel'] or ''}".strip()
            gains = f"{number(m['here'], 3)} | {number(m['as_is'], 3)} | {m['kernels']} | {number(m['paper'])}"
            yield f"| {machine} | {kind} | {gains} | {largest} | {number(m['paper_largest'])} |"


def test_the_page_has_the_means() -> None:
    rows = [line for line in page().splitlines() if re.match(rf"\| ({'|'.join(MACHINES)}) \| [a-z]", line)]
    assert rows == list(mean_rows())


def order_rows() -> Iterator[str]:
    for one in results()["orders"]:
        yield f"| {one['order']} | {HOLDS[one['holds']]} | {one['counters']} |"


def curve_rows() -> Iterator[str]:
    for curve in results()["curves"]:
        for extent in dict.fromkeys(p["extent"] for p in curve["points"]):
            cells = [f"{p[k]:.3f}" for p in curve["points"] if p["extent"] == extent
                     for k in ("throughput", "pipe_throughput")]  # fmt: skip
            yield f"| {curve['figure']} | {extent:,} {curve['work']} | {' | '.join(cells)} |"


def test_the_page_has_the_curves() -> None:
    assert [line for line in page().splitlines() if re.match(r"\| 1[23] \|", line)] == list(curve_rows())
    said = " ".join(page().split())
    for curve in results()["curves"]:
        gains = f"{number(curve['gain'])} on average and {number(curve['largest'])} at most"
        assert f"{curve['kernel']} {gains} ({number(curve['paper_gain'])} and {number(curve['paper_largest'])})" in said
    (mv, _) = results()["curves"]
    assert f"is {number(mv['small_over_large'])} times as fast as the original at 48 KB" in said


def test_the_page_has_the_orders() -> None:
    found = [line for line in page().splitlines() if re.search(r"\| (holds|does not hold|not known) \|", line)]
    assert found == list(order_rows())


def share_rows() -> Iterator[str]:
    for machine in results()["machines"]:
        own, shorter = machine["region_share"], machine["shorter_region_share"]
        yield f"| {machine['machine']} | {own:.1%} | {shorter:.1%} | {machine['paper_region_share']:.1%} |"


def test_the_page_has_the_shares() -> None:
    assert [line for line in page().splitlines() if re.search(r" 25\.6% \|$", line)] == list(share_rows())


def claims() -> Iterator[str]:
    """What the page's sentences say in numbers."""
    first = (FOLDER / "multiplex.txt").read_text(encoding="utf-8").splitlines()[0]
    yield first
    for machine in ("gtx285", "gtx480-16k", "gtx480"):
        m = means(machine)
        together, alone, plain = m["best"]["here"], m["shorter"]["here"], m["best"]["as_is"]
        gains = f"{together:.2f} = {alone:.2f} * {together / alone:.2f} ({plain:.2f} with regions as they are)"
        yield f"{machine}: {gains}"
    versions = [v for k in results()["kernels"] for v in k["schemes"] if v["speedup"] is not None]
    slower = sum(v["speedup"] < 1 for v in versions)
    yield f"{slower} of the {len(versions)} versions are slower than the original"
    for machine in ("gtx480", "gtx285"):
        those = [v for k in kernels(machine).values() for v in k["schemes"] if v["speedup"] is not None]
        yield f"{sum(v['speedup'] < 1 for v in those)} of {len(those)} on {machine}"
    held = [k["original_blocks"] for k in kernels("gtx480").values()]
    yield f"where an SM holds {min(held)} to {max(held)} blocks of the original"
    assert all(v["proven"] for v in versions)
    yield f"All {len(versions)} versions that were run are proven"
    for machine in ("gtx285", "gtx480-16k", "gtx480"):
        m = means(machine)["today"]
        yield f"{machine} {m['here']:.2f} ({number(means(machine)['best']['paper'])})"
    mv = kernels("gtx480")["MV"]
    assert mv["limits"] == ["blocks"]
    merged = max((v for v in mv["schemes"] if v["scheme"] == "vtb"), key=lambda v: v["speedup"] or 0)
    gained = f"{merged['speedup']:.2f} times as fast, with {merged['blocks']} blocks"
    yield f"MV on gtx480 {gained} of the original instead of 8"
    small = kernels("gtx480-16k")
    pipe, turns, named = (version_of(small["MC"], "vtb-pipe"), version_of(small["MC"], "vtb"), small["FFT"])
    assert pipe is not None
    assert turns is not None
    yield f"MC on gtx480-16k gains {pipe['speedup']:.2f} by `vtb-pipe` and {turns['speedup']:.2f} by `vtb`"
    for name in ("MV", "SP", "CV"):
        k = small[name]
        assert (gain(k, "vtb") or 0) > (gain(k, "vtb-pipe") or 0)
    yield f"FFT on gtx480-16k gains {gain(named, 'vtb, named'):.2f} instead of {gain(named, 'vtb'):.2f}"
    refused = {k for k, found in small.items() if gain(found, "vtb, named") is None}
    assert refused == {"MC", "STO", "SP", "HG"}
    hg = kernels("gtx285")["HG"]
    four = next(v for v in hg["schemes"] if (v["scheme"], v["merge"], v["shorter_regions"]) == ("vtb", 4, False))
    own, merged = hg["stalls"]["stall_count"], four["stalls"]["stall_count"]
    yield f"HG on gtx285 loses {own:.0%} of its issue slots to stall counts, and merged by four {merged:.0%}"
    yield f"Histogram's regions are {hg['shorter_region_share']:.0%} of its life also when they are shorter"
    yield f"for free it would be {hg['free']:.2f} times as fast"
    best = [version_of(small["HG"], kind) for kind in ("vtb", "hw")]
    assert [v and v["own_words"] for v in best] == [True, True]
    yield f"`vtb` of four gains {gain(small['HG'], 'vtb'):.2f} on gtx480-16k, and `hw` {gain(small['HG'], 'hw'):.2f}"
    own = {m: [v["speedup"] for v in kernels(m)["HG"]["schemes"] if v["own_words"] and v["speedup"]] for m in SOFTWARE}
    yield f"they gain {min(own['gtx285']):.2f} to {max(own['gtx285']):.2f} there"
    yield f"and {min(own['gtx480']):.2f} to {max(own['gtx480']):.2f} on gtx480, where 16 KB are left as a cache"
    assert [v["speedup"] for v in kernels("gtx285")["STO"]["schemes"] if v["scheme"] in ("hw", "co-hw")] == [None] * 6


def test_the_page_says_what_the_results_say() -> None:
    said = " ".join(page().split())
    assert [claim for claim in claims() if claim.strip() not in said] == []


if __name__ == "__main__":
    print("\n".join([*mean_rows(), "", *order_rows(), "", *share_rows(), "", *claims()]))


def test_readme_has_the_means() -> None:
    kinds = ("today", "best", "shorter")
    today, best, alone = ([means(m)[kind] for m in ("gtx285", "gtx480-16k", "gtx480")] for kind in kinds)
    gains = ", ".join(f"{number(t['here'])} ({number(b['paper'])})" for t, b in zip(today, best, strict=True))
    by_schemes = ", ".join(number(b["here"]) for b in best)
    by_regions = ", ".join(number(a["here"]) for a in alone)
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if "shared memory in turns, geometric mean" in line]
    of_this = f"{by_schemes} by the paper's schemes, {by_regions} by shorter access regions alone"
    assert f"| {gains}; of this {of_this} |" in row
    assert row.endswith("| `binalloc reproduce multiplex` |")
