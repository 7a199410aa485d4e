"""The report of one rewrite, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from binalloc.emulator.host.figures.skew import LIMIT, change, cycles_range, cycles_text
from binalloc.printable import count
from binalloc.report.directives import directives_json, directives_lines
from binalloc.report.profile import profile_line
from binalloc.report.table import table
from binalloc.report.versions import solver_json, version_json

if TYPE_CHECKING:
    from binalloc.pipeline.pipeline import Outcome, Tried, Version
    from binalloc.transform.allocate.functions.solver import SolverReport

_ROWS: tuple[
    tuple[
        str,
        Literal[
            "registers", "slots", "idle_slots", "local_bytes", "shared_bytes", "blocks_per_sm", "occupancy",
            "instructions",
        ],
    ],
    ...,
] = (
    ("registers per thread", "registers"),
    ("slots per thread", "slots"),
    ("idle slots per thread", "idle_slots"),
    ("local bytes per thread", "local_bytes"),
    ("shared bytes per block", "shared_bytes"),
    ("blocks per SM", "blocks_per_sm"),
    ("occupancy", "occupancy"),
    ("instructions (static)", "instructions"),
)  # fmt: skip


def render_outcome(outcome: Outcome) -> str:
    """Original beside rewritten, the verdict, the speedup and its parts, and the levels a search looked at."""
    request = outcome.request
    lines = [f"{request.kernel} on {request.machine.name}, allocator {request.allocator}\n\n"]
    lines.append(_side_by_side(outcome))
    if outcome.given.allocated:
        lines.append(_not_as_given(outcome))
    said = directives_json(outcome.directives) if outcome.directives else None
    lines += [f"{line}\n" for line in directives_lines(said)]
    lines.append("\n")
    if outcome.kept_original:
        lines.append(f"The original is kept: {outcome.reason}.\n")
    else:
        lines.append(f"Chosen: {outcome.reason}. Symbolic check: passed. {_results(outcome)}\n")
    if outcome.speedup is not None:
        lines.append(f"Speedup {outcome.speedup:.3f} (emulated{_of_parts(outcome)})")
        low, high = outcome.speedups or (0.0, 0.0)
        if high - low > LIMIT * outcome.speedup:
            lines.append(f", {low:.3f} to {high:.3f} when blocks start a little later")
        if outcome.parts:
            lines.append(" = " + " x ".join(f"{name} {value:.3f}" for name, value in outcome.parts.items()))
        lines.append("\n")
    lines.append(_ordering(outcome))
    if outcome.inlined_calls:
        lines.append(f"Inlined: {count(outcome.inlined_calls, 'call')} ({request.inline}).\n")
    if request.profile is not None:
        lines.append(profile_line(request.profile))
    lines.append(_solver(outcome.rewritten.solver))
    if len(outcome.tried) > 1:
        lines.append("\n" + _levels(outcome.tried))
    return "".join(lines)


def _not_as_given(outcome: Outcome) -> str:
    """Why what speedups are over is not the input."""
    own = outcome.directives
    said = own.obeyed.binding(own.demand) if own else []
    more = "The input asks for more registers than the machine gives"
    if own and said:
        allow = "allows" if len(said) == 1 else "allow"
        more = f"The input has {count(own.demand, 'register')}, more than {' and '.join(said)} {allow}"
    return f"\n{more}: original is allocator {outcome.given.allocated} there.\n"


def _side_by_side(outcome: Outcome) -> str:
    """The original, its other order where speedups are over that, and what became of it."""
    sides = {"original": outcome.given, "ordered": outcome.original, "rewritten": outcome.rewritten}
    if outcome.original is outcome.given or outcome.by_order_alone:
        del sides["ordered"]
    shown = [version_json(version.row()) for version in sides.values()]
    idle = any(one["idle_slots"] for one in shown)
    rows: list[list[object]] = [
        [label, *(one[key] for one in shown)] for label, key in _ROWS if idle or key != "idle_slots"
    ]
    rows.append(["cycles (emulated)", *map(_cycles, sides.values())])
    return table(["", *sides], rows)


def _ordering(outcome: Outcome) -> str:
    """What order alone gains."""
    if outcome.original is outcome.given or outcome.ordering is None:
        return ""
    return (
        f"That is over the original in another order at its own number of blocks, which gains "
        f"{outcome.ordering:.3f} by itself.\n"
    )


_STATUS = {"optimal": "proven optimal", "feasible": "limit hit, the best so far", "unknown": "limit hit, nothing found"}


def _solver(reports: Sequence[SolverReport]) -> str:
    """What an exact solver said of each function: cost of what was taken, a bound of any choice's, and how far it
    came."""
    if not reports:
        return ""
    shown = [solver_json(report) for report in reports]
    rows = [
        [r["function"], r["value"], r["bound"], r["gap"], r["source"], _STATUS.get(r["status"], r["status"])]
        for r in shown
    ]
    return "\n" + table(["function", "cost", "bound", "gap", "choice of", "solver"], rows)


def _levels(tried: Sequence[Tried]) -> str:
    """What was looked at, and by which allocators, where there are several."""
    header = ["level", "registers", "used", "slots", "used", "local bytes", "resident", "cycles", "note"]
    rows = [_tried(t) for t in tried]
    names = [t.version.allocator or "-" if t.version else "" for t in tried]
    if len({*names} - {"", "-"}) > 1:
        header.insert(1, "allocator")
        rows = [[row[0], name, *row[1:]] for row, name in zip(rows, names, strict=True)]
    return table(header, rows, left=0)


def _tried(t: Tried) -> list[object]:
    """A level: blocks asked for, what it may use and what it does use, blocks resident, cycles."""
    v = t.version
    used = (v.registers, v.slots, v.local_bytes, v.blocks_per_sm, _cycles(v)) if v else (None,) * 5
    return [t.budget.blocks, t.budget.registers, used[0], t.budget.slots, *used[1:], t.reason]


def _cycles(v: Version) -> object:
    """The cycles of a version, or their range in words where it is wide."""
    if v.cycles is None or change(v.cycles, v.skewed) <= LIMIT:
        return v.cycles
    return cycles_text(v.cycles, cycles_range(v.cycles, v.skewed))


def _of_parts(outcome: Outcome) -> str:
    """How much of the grid was run, if not all, and how far off that may be."""
    parts = outcome.original.sampled
    if parts is None or outcome.error is None:
        return ""
    return f", {parts.blocks:,} of {parts.grid:,} blocks: within {outcome.error:.1%}"


def _results(outcome: Outcome) -> str:
    same = outcome.same_results
    if same is None:
        return "Not emulated." if outcome.original.cycles is None else "Results were not compared: parts were emulated."
    return "Emulated results: same." if same else "Emulated results: DIFFERENT."
