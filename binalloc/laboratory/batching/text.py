"""The batching paper's experiments are shown as text. Its input is the object that JSON prints (`facts`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.laboratory.batching.classes import HIGH, SIGNIFICANT, SLIGHT
from binalloc.laboratory.batching.kernels import NO_FORMULA
from binalloc.laboratory.batching.measures import MEASURES, PERCENT
from binalloc.laboratory.batching.published import ALL
from binalloc.laboratory.batching.schemes import BASE, SCHEMES
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.batching import (
        BatchedKernelJson,
        BatchedSayingJson,
        BatchingReproductionJson,
        BesidePaperJson,
    )

_OTHERS = tuple(scheme for scheme in SCHEMES if scheme.name != BASE)
_DETAILS = ("row_hits", "bank_parallelism", "banks_busy", "dram_delay", "reply_stalls", "l1_hits", "energy")
_LEGEND = f"""\
Speed is over CCWS in the same table. local: requests for pages in the SM's own banks, under TEMP. The class is by the
paper's rule with limits of ours: C1 has {HIGH:.0%} local requests or more, and TEMP and TEMP+TBAS gain
{SIGNIFICANT:g} % or more; C2 has as many, TEMP loses up to {-SLIGHT:g} %, and TEMP+TBAS gains; C3 has fewer; none: what
fits none of these. No GPU has such schemes. The paper's numbers are over a baseline whose values are lost: directions
compare, sizes do not.
"""


def render_batching_reproduction(found: BatchingReproductionJson) -> str:
    """Return the experiments as text for a terminal. The first lines are the answer."""
    return "\n".join(_blocks(found))


def _blocks(found: BatchingReproductionJson) -> Iterator[str]:
    yield "\n".join(_answers(found)) + "\n"
    for size in _row_sizes(found):
        kernels = [kernel for kernel in found["kernels"] if kernel["row_bytes"] == size]
        rows = f"with rows of {size:,} bytes, in per cent over CCWS"
        yield f"Speed {rows} (Figs. 10 and 11)\n\n{_speeds(found, kernels, size)}"
        yield f"What the schemes change {rows} (Figs. 12 and 13)\n\n{_details(found, size)}"
    if found["kernels"]:
        yield _LEGEND
        yield f"Batches and their pages of 4 KB\n\n{_batches(found)}"
        yield _beside("Kernels by formula, in per cent (Fig. 7)", found["formulas"]) + _without_formula(found)
        yield _beside("Pages by the batches that touch them, in per cent (Fig. 8)", found["distances"])
    for size in _row_sizes(found):
        sayings = [one for one in found["sayings"] if one["row_bytes"] == size]
        said = [line for one in sayings if one["ours"] is not None for line in _saying(one)]
        left = [f"{one['says']} ({one['of']})" for one in sayings if one["ours"] is None]
        said += [f"not judged, as there is no run: {', '.join(left)}"] if left else []
        yield f"The paper's sentences, with rows of {size:,} bytes\n\n" + "\n".join(said) + "\n"
    yield from _troubles(found)


def _row_sizes(found: BatchingReproductionJson) -> list[int]:
    return list(dict.fromkeys(kernel["row_bytes"] for kernel in found["kernels"]))


def _answers(found: BatchingReproductionJson) -> Iterator[str]:
    """Yield the means over all kernels, and how many sentences hold."""
    for one in found["means"]:
        if one["of"] == ALL:
            yield (
                f"{one['scheme']} over {BASE}, rows of {one['row_bytes']:,} bytes, {count(one['kernels'], 'kernel')}: "
                f"{one['changes']['speed']:+.1f} % speed, {one['changes'].get('energy', 0.0):+.1f} % energy of DRAM"
            )
    judged = [one["holds"] for one in found["sayings"] if one["holds"] is not None]
    if judged:
        yield f"sentences of the paper that hold in the mean: {sum(judged)} of {len(judged)}, see below"
    for scheme, reason in found["missing"].items():
        yield f"{scheme} was not run: {reason}"
    if not found["kernels"]:
        yield "nothing was run"


def _speeds(found: BatchingReproductionJson, kernels: list[BatchedKernelJson], size: int) -> str:
    rows: list[list[object]] = []
    for kernel in kernels:
        runs, base = kernel["schemes"], kernel["schemes"][BASE]
        temp = runs["temp"]
        speeds = [
            "-" if base is None or (run := runs[scheme.name]) is None
            else f"{PERCENT * (base['cycles'] / run['cycles'] - 1):+.1f}"
            for scheme in _OTHERS
        ]  # fmt: skip
        local = None if temp is None else temp["local_ratio"]
        rows.append([kernel["kernel"], kernel["class"] or "-", "-" if base is None else f"{base['cycles']:,}", *speeds,
                     "-" if local is None else f"{local:.0%}"])  # fmt: skip
    of = {one["of"]: None for one in found["means"] if one["row_bytes"] == size}
    for group in of:
        means = {one["scheme"]: one for one in found["means"] if one["row_bytes"] == size and one["of"] == group}
        speeds = [f"{means[s.name]['changes']['speed']:+.1f}" if s.name in means else "-" for s in _OTHERS]
        local = means["temp"]["changes"].get("local_ratio") if "temp" in means else None
        kernels_of = max(one["kernels"] for one in means.values())
        rows.append([f"mean of {group}", kernels_of, "", *speeds, "-" if local is None else f"{local:.0f}%"])
    return table(["kernel", "class", "cycles", *(s.name for s in _OTHERS), "local"], rows, left=2)


def _details(found: BatchingReproductionJson, size: int) -> str:
    rows: list[list[object]] = [
        [one["of"], one["scheme"], one["kernels"],
         *(f"{one['changes'][name]:+.1f}" if name in one["changes"] else "-" for name in _DETAILS)]
        for one in found["means"] if one["row_bytes"] == size
    ]  # fmt: skip
    return table(["of", "scheme", "kernels", *(MEASURES[name].title for name in _DETAILS)], rows, left=2)


def _batches(found: BatchingReproductionJson) -> str:
    rows: dict[str, list[object]] = {}
    for kernel in found["kernels"]:
        one = kernel["sharing"]
        if one is not None:
            parts = (one["one_batch"], one["two_batches"], one["global_pages"])
            kind, value = one["formula"]["kind"], one["formula"]["value"]
            rows[kernel["kernel"]] = [
                kernel["kernel"], kernel["suite"], f"{kind} {value}" if value else kind, one["blocks"], one["batches"],
                one["pages"], *(f"{part / one['pages']:.0%}" for part in parts),
                "these inputs" if one["inputs_alone"] else "any",
            ]  # fmt: skip
    head = ["kernel", "suite", "formula", "blocks", "batches", "pages", "one batch", "two", "global", "holds for"]
    return table(head, list(rows.values()), left=3)


def _without_formula(found: BatchingReproductionJson) -> str:
    """Return a line on the kernels of which the paper says that some fit no formula."""
    parts = {
        name: f"{name} {one['formula']['kind']} {one['formula']['value'] or ''}".rstrip()
        for kernel in found["kernels"]
        if (name := kernel["kernel"]) in NO_FORMULA and (one := kernel["sharing"]) is not None
    }
    return f"Some kernels of MUM and LBM fit none in the paper; here: {', '.join(parts.values())}.\n" if parts else ""


def _beside(title: str, bars: list[BesidePaperJson]) -> str:
    rows = [[bar["what"], "-" if bar["ours"] is None else f"{bar['ours']:.1f}", f"{bar['paper']:g}"] for bar in bars]
    return f"{title}\n\n{table(['', 'ours', 'paper'], rows)}"


def _saying(one: BatchedSayingJson) -> Iterator[str]:
    """Yield a sentence that was judged with its answer, and a line for each kernel for which it does not hold."""
    assert one["ours"] is not None
    place = f"Fig. {one['figure']}, " if one["figure"] else ""
    number = one["over"] not in {scheme.name for scheme in SCHEMES}
    head = f"{place}{one['of']}: {one['says']} ({one['measure']} of {one['scheme']} {one['relation']} {one['over']})"
    paper = "no number" if one["paper"] is None else f"{one['paper']:.1f} %" if number else f"{one['paper']:+.1f} %"
    ours = f"{one['ours']:.1f} %" if number else f"{one['ours']:+.1f} %"
    answer = "holds" if one["holds"] else "does NOT hold"
    many = f"for {len(one['holds_for'])} of {count(one['kernels'], 'kernel')}"
    yield f"{head}: {answer}, {ours} (paper: {paper}), {many}" + (f"; {one['why']}" if one["why"] else "")
    if one["note"]:
        yield f"    the paper contradicts itself: {one['note']}"
    for fail in one["fails_for"]:
        value = f"{fail['ours']:.1f} %" if number else f"{fail['ours']:+.1f} %"
        yield f"    not {fail['kernel']}: {value}" + (f"; {fail['why']}" if fail["why"] else "")


def _troubles(found: BatchingReproductionJson) -> Iterator[str]:
    """Yield the kernels that did not run, and those with other results."""
    lines = [f"{one['kernel']} on {one['machine']}: {one['reason']}" for one in found["kernels"] if one["reason"]]
    lines += [
        f"{one['kernel']} under {name} on {one['machine']} has other results"
        for one in found["kernels"]
        for name, run in one["schemes"].items()
        if run is not None and run["same_results"] is False
    ]
    if lines:
        yield "\n".join(lines) + "\n"
