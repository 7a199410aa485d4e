"""A reproduction is shown as a page for a browser. Its input is the object that JSON prints (`facts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from binalloc.laboratory.papers.unified import FERMI, KEPLER
from binalloc.laboratory.reproduce import parts
from binalloc.laboratory.reproduce.parts import BARS
from binalloc.report.page import charts
from binalloc.report.page.make import make_page

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import ReproducedMachine, ReproductionJson

_FIGURES = {KEPLER: "Fig. 6, Kepler", FERMI: "Fig. 7, Fermi"}


def reproduction_page(found: ReproductionJson) -> bytes:
    """Return the page, in UTF-8. found: the object of `reproduction_json`.

    Raises UsageError if the packages that make pages are not installed.
    """
    filled = {
        "partial": found["partial"],
        "machines": [_machine(found, machine) for machine in found["machines"]],
        "figure1": _figure1(found),
        "statements": parts.statements(found["kernels"]),
        "legend": parts.legend(),
        "block_sizes": parts.block_sizes(found["kernels"]),
    }
    return make_page("laboratory/reproduce/page.html", "The unified paper's figures, emulated", filled)


def _machine(found: ReproductionJson, machine: ReproducedMachine) -> dict[str, Any]:
    kernels = parts.of_machine(found, machine["machine"])
    rows = [
        {"kernel": k["kernel"], "speedup": k[bar], "bar": bar, "blocks": parts.level_of(k, bar) or k["original_blocks"]}
        for k in kernels
        for bar in BARS
        if k[bar] is not None
    ]
    title = f"{_FIGURES[machine['machine']]} ({machine['machine']})"
    caption = f"{title}: speedups over the original, emulated; automatic choice, best and worst level"
    return {
        "title": title,
        "caption": caption,
        "chart": charts.grouped(caption, rows, "kernel", "speedup", "bar"),
        "speedups": parts.speedups(kernels),
        "reached": parts.reached(machine),
        "table1": parts.table1(kernels),
    }


def _figure1(found: ReproductionJson) -> dict[str, Any] | None:
    if not found["figure1"]:
        return None
    drawn = []
    for curve in found["figure1"]:
        rows = [
            {"registers per thread": p["registers_allowed"], "milliseconds": p["milliseconds"],
             "blocks per SM": p["blocks_per_sm"], "local bytes": p["local_bytes"]}
            for p in curve["points"] if p["milliseconds"] is not None
        ]  # fmt: skip
        caption = f"{curve['kernel']} on {curve['machine']}, of {curve['demand']} registers; the fastest is marked"
        chart = charts.line(caption, rows, "registers per thread", "milliseconds", curve["best_registers"]["here"])
        drawn.append({"caption": caption, "chart": chart})
    curves = found["figure1"]
    return {"charts": drawn, "fastest": parts.fastest(curves), "grid": parts.figure1(curves)}
