"""A recommendation of how many blocks to run with as a page for a browser: one file, which needs no network.

All is taken from what `--json` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binalloc.names.kernels import readable
from binalloc.names.short import short_name
from binalloc.pipeline.steps.row import known
from binalloc.printable import one_line
from binalloc.report.directives import directives_lines
from binalloc.report.page import charts
from binalloc.report.page.charts import Chart
from binalloc.report.page.make import make_page
from binalloc.report.recommend import parts
from binalloc.report.recommend.verdict import verdict
from binalloc.report.table import TextTable

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson, RefusedJson
    from binalloc.report.shapes.parts.versions import LevelJson, VersionJson

MEASURED, PREDICTED = "run (emulated)", "expected by the model"
_POINTS = 2000
"""Of a curve over the code; of longer code each point is the most of several instructions."""


def recommendation_page(told: Sequence[RecommendationJson | RefusedJson], file: str, papers: bool = False) -> bytes:
    """The page of `recommend --html`, in UTF-8.

    Args:
        told: what `recommendation_to_dict` gave, for each machine.
        file: the binary, as the page names it.
        papers: whether it tells in the papers' words, too.

    Raises UsageError where what makes pages is not installed (`binalloc[html]`).
    """
    kernel = next((one["kernel"] for one in told if one["refused"] is None), "kernel")
    machines = [_machine(one, f"machine-{n}", papers) for n, one in enumerate(told)]
    short = one_line(short_name(kernel))
    full = one_line(readable(kernel)) if short != kernel else ""
    filled = {"file": one_line(file), "machines": machines, "full": full}
    return make_page("recommend/page.html", f"{short}: how many blocks", filled)


def _machine(told: RecommendationJson | RefusedJson, name: str, papers: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": name, "name": one_line(told["machine"]), "refused": told["refused"]}
    if told["refused"] is not None:
        return shown
    chart, caption = _levels(told)
    return shown | {
        "verdict": verdict(told),
        "why": f"{told['reason'][:1].upper()}{told['reason'][1:]}.",
        "policy": told["policy"],
        "figures": _figures(told),
        "sentences": [line for line in (parts.expected(told), parts.spread(told)) if line],
        "notes": told["notes"],
        "directives": directives_lines(told["directives"]),
        "next": told["next"],
        "levels_chart": chart,
        "levels_caption": caption,
        "levels": parts.levels(told),
        "occupancy": parts.occupancy(told),
        "curves": [_curve(told, name) for name in parts.CURVES],
        "pressure": _pressure(told),
        "functions": parts.functions(told),
        "certificate": parts.certificate(told),
        "stalls": _stalls(told),
        "character": parts.character(told, papers),
        "table1": _table1(told) if papers else None,
        "busy": _busy(told),
        "hot_lines": parts.hot_lines(told),
        "mix": _mix(told),
    }


def _figures(told: RecommendationJson) -> list[tuple[str, object]]:
    """The few figures that stand at the top."""
    chosen, measured = told["recommended"], told["measured"]["recommended"]
    gain, how = (told["speedup"], "emulated") if told["speedup"] is not None else (told["expected_speedup"], "expected")
    found: list[tuple[str, object]] = [
        ("blocks per SM", chosen["blocks_per_sm"]),
        ("registers per thread", chosen["registers"]),
        ("slots per thread", chosen["slots"]),
        ("local bytes per thread", chosen["local_bytes"]),
        ("theoretical occupancy", f"{chosen['occupancy']:.0%}"),
    ]
    if measured is not None:
        found.append(("achieved occupancy", f"{measured['achieved_occupancy']:.0%}"))
    if gain is not None:
        found.append((f"speedup, {how}", f"{gain:.3f}"))
    return found


def _levels(told: RecommendationJson) -> tuple[Chart | None, str]:
    """The speedups of the levels, if they are known, and what they are."""
    if told["spread"] is None:
        return None, ""
    emulated = told["spread"]["emulated"]
    up = f"speedup, {'emulated' if emulated else 'by the model'}"
    base = told["ordered"] or told["original"]
    kept, chosen = told["recommended"] == base, told["spread"]["auto"]
    rows = [_original_bar(base).row(1.0, up, kept, emulated)]
    for level in _fastest(told["levels"], base, emulated):
        gain, ran = _gain(level, base, emulated), bool(level["cycles"])
        if gain is not None and not (kept and _is(level, base)):
            mine = (round(gain, 4), level["blocks_per_sm"]) == (chosen["speedup"], chosen["blocks"])
            rows.append(_level_bar(level).row(gain, up, mine and not kept, ran))
    caption = (
        f"Speedup over the original ({'emulated' if emulated else 'expected by the model'}) by blocks per SM; "
        "the recommended level stands out, bars of what was not run are hollow"
    )
    return charts.levels(caption, rows, "blocks per SM", up, ("known", PREDICTED), "recommended"), caption


def _gain(level: LevelJson, base: VersionJson, emulated: bool) -> float | None:
    """Its speedup, by the model where it was not run."""
    if emulated and level["cycles"]:
        return known(base["cycles"]) / level["cycles"]
    return level["expected_speedup"]


def _fastest(levels: list[LevelJson], base: VersionJson, emulated: bool) -> list[LevelJson]:
    """One of each number of blocks, where several allocators made some."""
    best: dict[int, LevelJson] = {}
    for level in levels:
        other = best.get(level["blocks"])
        if other is None or (_gain(level, base, emulated) or 0) > (_gain(other, base, emulated) or 0):
            best[level["blocks"]] = level
    return list(best.values())


def _is(level: LevelJson, version: VersionJson) -> bool:
    """Whether the level is that version, by all that is told of both."""
    return (
        level["registers_used"] == version["registers"]
        and level["slots_used"] == version["slots"]
        and level["local_bytes"] == version["local_bytes"]
        and level["blocks_per_sm"] == version["blocks_per_sm"]
        and level["cycles"] == version["cycles"]
    )


@dataclass(frozen=True)
class _Bar:
    """A level or the original in a chart."""

    name: str
    allocator: str | None
    registers: int | None  #: per thread, as used
    slots: int | None  #: per thread, as used
    local_bytes: int | None
    cycles: int | None

    def row(self, gain: float, up: str, mine: bool, ran: bool) -> dict[str, Any]:
        """Return it as the chart has it."""
        return {
            "blocks per SM": self.name,
            up: round(gain, 4),
            "allocator": self.allocator or "-",
            "registers": self.registers,
            "slots": self.slots,
            "local bytes": self.local_bytes,
            "cycles": self.cycles,
            "known": MEASURED if ran else PREDICTED,
            "recommended": mine,
        }


def _original_bar(base: VersionJson) -> _Bar:
    name = f"original ({base['blocks_per_sm']})"
    return _Bar(name, None, base["registers"], base["slots"], base["local_bytes"], base["cycles"])


def _level_bar(level: LevelJson) -> _Bar:
    used = (level["registers_used"], level["slots_used"], level["local_bytes"], level["cycles"])
    return _Bar(str(level["blocks"]), level["allocator"], *used)


def _curve(told: RecommendationJson, name: parts.Resource) -> dict[str, Any]:
    label, found = parts.CURVES[name], told["what_if"][name]
    side = told["occupancy"]["original"]
    caption = f"Blocks per SM of the original by {label}, all else being equal"
    up = "blocks per SM"
    rows = [{label: step["at"], up: step["blocks"]} for step in found]
    rows.append({label: told["what_if_most"][name], up: found[-1]["blocks"]})
    chart = charts.steps(caption, rows, label, up, side[name])
    return {"caption": caption, "chart": chart, "answer": (label, up), "grid": TextTable([f"{label}, from", up], [
        [step["at"], step["blocks"]] for step in found])}  # fmt: skip


def _pressure(told: RecommendationJson) -> dict[str, Any]:
    found = told["pressure"]
    places = [(f, index, taken) for f in found["functions"] for index, taken in enumerate(f["pressure"])]
    bunch = -(-len(places) // _POINTS) or 1
    rows = []
    for first in range(0, len(places), bunch):
        function, index, taken = max(places[first : first + bunch], key=lambda place: place[2])
        name = short_name(function["function"])
        rows.append({"instruction": first, "registers": taken, "function": name, "word": index})
    caption = f"Registers live at each instruction of the input: at most {found['max_live']}, callees included"
    if bunch > 1:
        caption += f"; of every {bunch} instructions the most"
    lines = [("registers of the input", told["original"]["registers"])]
    if told["recommended"]["registers"] != told["original"]["registers"]:
        lines.append(("recommended", told["recommended"]["registers"]))
    peak = [[value["place"], short_name(value["function"]), len(value["uses"]), value["cost"], _lines(value["lines"])]
            for value in found["peak"]]  # fmt: skip
    by_line = [[f"{line['file']}:{line['line']}", short_name(f["function"]), line["registers"]]
               for f in found["functions"] for line in f["lines"]]  # fmt: skip
    return {
        "caption": caption,
        "chart": charts.area(caption, rows, "instruction", "registers", "function", lines),
        "peak": TextTable(["value", "function", "uses", "weight", "lines"], peak),
        "lines": TextTable(["line", "function", "registers"], by_line),
    }


def _lines(found: Sequence[str | None]) -> str | None:
    return ", ".join(sorted({line for line in found if line})) or None


def _stalls(told: RecommendationJson) -> dict[str, Any] | None:
    grid = parts.issue_slots(told)
    if grid is None:
        return None
    rows = []
    kept = {row[0] for row in grid.rows}
    for side, found in told["measured"].items():
        if found is None:
            continue
        shares = {"issued": found["issued_percent"], **found["stall_percent"]}
        rows += [
            {"slots": name.replace("_", " "), "percent": share, "version": side}
            for name, share in shares.items()
            if name.replace("_", " ") in kept
        ]
    caption = "Issue slots by what became of them, in percent, emulated: original and recommended"
    return {"caption": caption, "chart": charts.paired(caption, rows, "slots", "percent", "version"), "grid": grid}


def _busy(told: RecommendationJson) -> dict[str, Any] | None:
    grid, bound = parts.busy(told), told["bound"]
    if grid is None or bound is None:
        return None
    rows = [{"resource": name, "percent": float(str(share).rstrip("%"))} for name, share in grid.rows]
    how = "emulated" if bound["measured"] else "by the model"
    caption = f"How busy each resource is while the original runs, in percent, {how}"
    return {"caption": caption, "chart": charts.lying(caption, rows, "resource", "percent"), "grid": grid,
            "text": f"{bound['text'][:1].upper()}{bound['text'][1:]}."}  # fmt: skip


def _table1(told: RecommendationJson) -> TextTable:
    found = told["character"]
    head = ["kernel", "register demand", "user shared bytes per thread", "InstChange"]
    shared, change = f"{found['user_shared_bytes_per_thread']:g}", f"{found['instruction_change']:.2f}"
    return TextTable(head, [[short_name(told["kernel"]), found["register_demand"], shared, change]])


def _mix(told: RecommendationJson) -> dict[str, Any]:
    found = told["character"]["mix"]
    total = sum(kind["static"] for kind in found)
    rows = []
    for kind in found:
        rows.append({"kind": kind["kind"], "percent": round(100 * kind["static"] / total, 2), "share": "in the code"})
        rows.append({"kind": kind["kind"], "percent": kind["executed_percent"], "share": "executed"})
    caption = "Instructions by kind, in percent: in the code, and as often as they are executed"
    return {
        "caption": caption,
        "chart": charts.paired(caption, rows, "kind", "percent", "share"),
        "grid": parts.mix(told),
    }
