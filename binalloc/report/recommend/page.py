"""This module reports recommendations as a page for a browser, which is made from what `--json` prints alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binalloc.names.kernels import readable
from binalloc.names.short import short_name
from binalloc.pipeline.steps.row import known
from binalloc.printable import one_line
from binalloc.report.directives import directives_lines
from binalloc.report.multiplex import reasons, turns_answer, version_name, versions_table
from binalloc.report.page import charts
from binalloc.report.page.charts import Chart
from binalloc.report.page.make import make_page
from binalloc.report.recommend import parts
from binalloc.report.recommend.verdict import verdict
from binalloc.report.table import TextTable
from binalloc.report.views.pairs import pairs_answer, refusals, ways_table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson, RefusedJson
    from binalloc.report.shapes.parts.versions import LevelJson, VersionJson

MEASURED, PREDICTED = "run (emulated)", "expected by the model"
"""Values of the field `known` of a bar."""
_POINTS = 2000
"""Most points of a curve over the code: more than a screen has columns. In longer code a point stands for several
instructions, with the largest of their values."""


def recommendation_page(answers: Sequence[RecommendationJson | RefusedJson], file: str, papers: bool = False) -> bytes:
    """Return the page of `recommend --html`, in UTF-8.

    Args:
        answers: the answer for each machine, as `recommend --json` prints it.
        file: name of the binary.
        papers: whether the page has the unified paper's figures, too.

    Raise UsageError if a package that makes pages is not installed (`binalloc[html]`).
    """
    kernel = next((one["kernel"] for one in answers if one["refused"] is None), "kernel")
    machines = [_machine(one, f"machine-{n}", papers) for n, one in enumerate(answers)]
    short = one_line(short_name(kernel))
    full = one_line(readable(kernel)) if short != kernel else ""
    filled = {"file": one_line(file), "machines": machines, "full": full}
    return make_page("recommend/page.html", f"{short}: how many blocks", filled)


def _machine(advice: RecommendationJson | RefusedJson, name: str, papers: bool) -> dict[str, Any]:
    """Return the template's variables for one machine. name: id of its section."""
    shown: dict[str, Any] = {"id": name, "name": one_line(advice["machine"]), "refused": advice["refused"]}
    if advice["refused"] is not None:
        return shown
    chart, caption = _levels(advice)
    return shown | {
        "verdict": verdict(advice),
        "why": f"{advice['reason'][:1].upper()}{advice['reason'][1:]}.",
        "policy": advice["policy"],
        "figures": _figures(advice),
        "sentences": [line for line in (parts.expected(advice), parts.spread(advice)) if line],
        "notes": advice["notes"],
        "directives": directives_lines(advice["directives"]),
        "next": advice["next"],
        "levels_chart": chart,
        "levels_caption": caption,
        "levels": parts.levels(advice),
        "turns": _turns(advice),
        "pairs": _pairs(advice),
        "occupancy": parts.occupancy(advice),
        "curves": [_curve(advice, name) for name in parts.CURVES],
        "pressure": _pressure(advice),
        "functions": parts.functions(advice),
        "certificate": parts.certificate(advice),
        "stalls": _stalls(advice),
        "character": parts.character(advice, papers),
        "table1": _table1(advice) if papers else None,
        "busy": _busy(advice),
        "hot_lines": parts.hot_lines(advice),
        "mix": _mix(advice),
    }


def _figures(advice: RecommendationJson) -> list[tuple[str, object]]:
    """Return the figures at the top of a machine's section, with their names."""
    chosen, measured = advice["recommended"], advice["measured"]["recommended"]
    gain, how = advice["speedup"], "emulated"
    if gain is None:
        gain, how = advice["expected_speedup"], "expected"
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


def _levels(advice: RecommendationJson) -> tuple[Chart | None, str]:
    """Return a chart of the speedups of the levels, and its caption; None and "" if no speedups are known."""
    if advice["spread"] is None:
        return None, ""
    emulated = advice["spread"]["emulated"]
    up = f"speedup, {'emulated' if emulated else 'by the model'}"
    base = advice["ordered"] or advice["original"]
    kept, chosen = advice["recommended"] == base, advice["spread"]["auto"]
    rows = [_original_bar(base).row(1.0, up, kept, emulated)]
    for level in _fastest(advice["levels"], base, emulated):
        gain, ran = _gain(level, base, emulated), bool(level["cycles"])
        if gain is not None and not (kept and _is(level, base)):
            mine = (round(gain, 4), level["blocks_per_sm"]) == (chosen["speedup"], chosen["blocks"])
            rows.append(_level_bar(level).row(gain, up, mine and not kept, ran))
    turns, pairs = advice.get("turns"), advice.get("pairs")
    if pairs is not None and pairs["chosen"] is not None:
        bar = _turns_bar(f"pairs, {pairs['chosen']['scheduler']}", advice["recommended"])
        rows.append(bar.row(known(advice["speedup"]), up, True, True))
    if turns is not None and turns["chosen"] is not None:
        bar = _turns_bar(version_name(turns["chosen"]), advice["recommended"])
        rows.append(bar.row(known(advice["speedup"]), up, True, True))
    caption = (
        f"Speedup over the original ({'emulated' if emulated else 'expected by the model'}) by blocks per SM; "
        "the recommended level stands out, bars of what was not run are hollow"
    )
    return charts.levels(caption, rows, "blocks per SM", up, ("known", PREDICTED), "recommended"), caption


def _gain(level: LevelJson, base: VersionJson, emulated: bool) -> float | None:
    """Return the speedup of a level over `base`: the emulated one, or, if the level was not run, the model's."""
    if emulated and level["cycles"]:
        return known(base["cycles"]) / level["cycles"]
    return level["expected_speedup"]


def _fastest(levels: list[LevelJson], base: VersionJson, emulated: bool) -> list[LevelJson]:
    """Return the fastest level of each number of blocks, as several allocators may have made one."""
    best: dict[int, LevelJson] = {}
    for level in levels:
        other = best.get(level["blocks"])
        if other is None or (_gain(level, base, emulated) or 0) > (_gain(other, base, emulated) or 0):
            best[level["blocks"]] = level
    return list(best.values())


def _is(level: LevelJson, version: VersionJson) -> bool:
    """Return whether a level is a version, by all figures that both have."""
    return (
        level["registers_used"] == version["registers"]
        and level["slots_used"] == version["slots"]
        and level["local_bytes"] == version["local_bytes"]
        and level["blocks_per_sm"] == version["blocks_per_sm"]
        and level["cycles"] == version["cycles"]
    )


@dataclass(frozen=True)
class _Bar:
    """A bar of the chart of levels stands for a level or for the original."""

    name: str  #: number of blocks, as the chart shows it
    allocator: str | None  #: None for the original
    registers: int | None  #: per thread, as used
    slots: int | None  #: per thread, as used
    local_bytes: int | None  #: per thread
    cycles: int | None  #: of the emulated run; None without one

    def row(self, gain: float, up: str, mine: bool, ran: bool) -> dict[str, Any]:
        """Return the row of the chart.

        gain: speedup. up: the field for it. mine: whether the bar is the recommended one. ran: whether it was measured.
        """
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


def _turns_bar(name: str, version: VersionJson) -> _Bar:
    """Return the bar of a version whose blocks use shared memory in turns, or share it two by two."""
    figures = (version["registers"], version["slots"], version["local_bytes"], version["cycles"])
    return _Bar(f"{name} ({version['blocks_per_sm']})", None, *figures)


def _turns(advice: RecommendationJson) -> dict[str, Any] | None:
    """Return what the page says of versions whose blocks use shared memory in turns; None if there are none."""
    found = advice.get("turns")
    if found is None:
        return None
    return {
        "answer": " ".join(turns_answer(advice["kernel"], advice["machine"], found)),
        "grid": versions_table(found),
        "reasons": reasons(found),
    }


def _pairs(advice: RecommendationJson) -> dict[str, Any] | None:
    """Return what the page says of versions whose blocks share memory two by two; None if there are none."""
    found = advice.get("pairs")
    if found is None:
        return None
    answer = " ".join(pairs_answer(advice["kernel"], advice["machine"], found))
    return {"answer": answer, "grid": ways_table(found), "reasons": refusals(found)}


def _curve(advice: RecommendationJson, name: parts.Resource) -> dict[str, Any]:
    label, found = parts.CURVES[name], advice["what_if"][name]
    side = advice["occupancy"]["original"]
    caption = f"Blocks per SM of the original by {label}, all else being equal"
    up = "blocks per SM"
    rows = [{label: step["at"], up: step["blocks"]} for step in found]
    rows.append({label: advice["what_if_most"][name], up: found[-1]["blocks"]})
    chart = charts.steps(caption, rows, label, up, side[name])
    return {"caption": caption, "chart": chart, "answer": (label, up), "grid": TextTable([f"{label}, from", up], [
        [step["at"], step["blocks"]] for step in found])}  # fmt: skip


def _pressure(advice: RecommendationJson) -> dict[str, Any]:
    found = advice["pressure"]
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
    lines = [("registers of the input", advice["original"]["registers"])]
    if advice["recommended"]["registers"] != advice["original"]["registers"]:
        lines.append(("recommended", advice["recommended"]["registers"]))
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


def _stalls(advice: RecommendationJson) -> dict[str, Any] | None:
    grid = parts.issue_slots(advice)
    if grid is None:
        return None
    rows = []
    kept = {row[0] for row in grid.rows}
    for side, found in advice["measured"].items():
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


def _busy(advice: RecommendationJson) -> dict[str, Any] | None:
    grid, bound = parts.busy(advice), advice["bound"]
    if grid is None or bound is None:
        return None
    rows = [{"resource": name, "percent": float(str(share).rstrip("%"))} for name, share in grid.rows]
    how = "emulated" if bound["measured"] else "by the model"
    caption = f"How busy each resource is while the original runs, in percent, {how}"
    return {"caption": caption, "chart": charts.lying(caption, rows, "resource", "percent"), "grid": grid,
            "text": f"{bound['text'][:1].upper()}{bound['text'][1:]}."}  # fmt: skip


def _table1(advice: RecommendationJson) -> TextTable:
    found = advice["character"]
    head = ["kernel", "register demand", "user shared bytes per thread", "InstChange"]
    shared, change = f"{found['user_shared_bytes_per_thread']:g}", f"{found['instruction_change']:.2f}"
    return TextTable(head, [[short_name(advice["kernel"]), found["register_demand"], shared, change]])


def _mix(advice: RecommendationJson) -> dict[str, Any]:
    found = advice["character"]["mix"]
    total = sum(kind["static"] for kind in found)
    rows = []
    for kind in found:
        rows.append({"kind": kind["kind"], "percent": round(100 * kind["static"] / total, 2), "share": "in the code"})
        rows.append({"kind": kind["kind"], "percent": kind["executed_percent"], "share": "executed"})
    caption = "Instructions by kind, in percent: in the code, and as often as they are executed"
    return {
        "caption": caption,
        "chart": charts.paired(caption, rows, "kind", "percent", "share"),
        "grid": parts.mix(advice),
    }
