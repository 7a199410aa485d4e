"""This module reports the rewrite of one kernel as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from binalloc.emulator.host.figures.skew import LIMIT, change, cycles_range, cycles_text
from binalloc.printable import count
from binalloc.report.directives import directives_json, directives_lines
from binalloc.report.multiplex import render_turns
from binalloc.report.profile import profile_line
from binalloc.report.table import table
from binalloc.report.versions import solver_json, version_json
from binalloc.report.views.block_order import render_block_order
from binalloc.report.views.pairs import render_pairs

if TYPE_CHECKING:
    from binalloc.pipeline.pipeline import Outcome, Tried, Version
    from binalloc.report.shapes.commands.multiplex import TurnsJson
    from binalloc.report.shapes.parts.block_order import BlockOrderJson
    from binalloc.report.shapes.parts.sharing.pairs import PairsJson
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


def render_outcome(
    outcome: Outcome, turns: TurnsJson | None = None, pairs: PairsJson | None = None,
    orders: BlockOrderJson | None = None,
) -> str:  # fmt: skip
    """Return the original beside the rewrite, the verdict, the speedup with its factors, and the levels of a search.

    turns: versions whose blocks use shared memory in turns, as JSON; None if none were asked for. pairs: likewise those
    whose blocks share it two by two. orders: likewise those whose blocks work in another order.
    """
    request = outcome.request
    answer, versions = ("", "") if turns is None else render_turns(request.kernel, request.machine.name, turns)
    if pairs is not None:
        answer, versions = render_pairs(request.kernel, request.machine.name, pairs)
    if orders is not None:
        answer, versions = render_block_order(request.kernel, request.machine.name, orders)
    lines = [f"{answer}\n" if answer else ""]
    lines.append(f"{request.kernel} on {request.machine.name}, allocator {request.allocator}\n\n")
    lines.append(_side_by_side(outcome))
    if outcome.given.allocated:
        lines.append(_not_as_given(outcome))
    stated = directives_json(outcome.directives) if outcome.directives else None
    lines += [f"{line}\n" for line in directives_lines(stated)]
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
    if versions:
        lines.append(f"\n{versions}")
    return "".join(lines)


def _not_as_given(outcome: Outcome) -> str:
    """Return why speedups are not over the input itself: it needs more registers than it may have."""
    own = outcome.directives
    binding = own.obeyed.binding(own.demand) if own else []
    more = "The input asks for more registers than the machine gives"
    if own and binding:
        allow = "allows" if len(binding) == 1 else "allow"
        more = f"The input has {count(own.demand, 'register')}, more than {' and '.join(binding)} {allow}"
    return f"\n{more}: original is allocator {outcome.given.allocated} there.\n"


def _side_by_side(outcome: Outcome) -> str:
    """Return a table of the original and the rewrite, and the original in another order if speedups are over that."""
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
    """Return a sentence on the gain of another order alone; "" where there is none."""
    if outcome.original is outcome.given or outcome.ordering is None:
        return ""
    return (
        f"That is over the original in another order at its own number of blocks, which gains "
        f"{outcome.ordering:.3f} by itself.\n"
    )


_STATUS = {"optimal": "proven optimal", "feasible": "limit hit, the best so far", "unknown": "limit hit, nothing found"}


def _solver(reports: Sequence[SolverReport]) -> str:
    """Return a table of an exact solver's answers: the cost of the choice for each function, a lower bound on the cost
    of any choice, and whether the solver finished."""
    if not reports:
        return ""
    shown = [solver_json(report) for report in reports]
    rows = [
        [r["function"], r["value"], r["bound"], r["gap"], r["source"], _STATUS.get(r["status"], r["status"])]
        for r in shown
    ]
    return "\n" + table(["function", "cost", "bound", "gap", "choice of", "solver"], rows)


def _levels(tried: Sequence[Tried]) -> str:
    """Return a table of the levels that were tried, with their allocators where there are several."""
    header = ["level", "registers", "used", "slots", "used", "local bytes", "resident", "cycles", "note"]
    rows = [_tried(t) for t in tried]
    names = [t.version.allocator or "-" if t.version else "" for t in tried]
    if len({*names} - {"", "-"}) > 1:
        header.insert(1, "allocator")
        rows = [[row[0], name, *row[1:]] for row, name in zip(rows, names, strict=True)]
    return table(header, rows, left=0)


def _tried(t: Tried) -> list[object]:
    """Return the row of a level: its blocks, the resources that it allows and uses, resident blocks, cycles, note."""
    v = t.version
    used = (v.registers, v.slots, v.local_bytes, v.blocks_per_sm, _cycles(v)) if v else (None,) * 5
    return [t.budget.blocks, t.budget.registers, used[0], t.budget.slots, *used[1:], t.reason]


def _cycles(v: Version) -> object:
    """Return the cycles of a version, or their range in words if delays change them by more than LIMIT."""
    if v.cycles is None or change(v.cycles, v.skewed) <= LIMIT:
        return v.cycles
    return cycles_text(v.cycles, cycles_range(v.cycles, v.skewed))


def _of_parts(outcome: Outcome) -> str:
    """Return which part of the grid was run, and the error of the estimate; "" where all of it was run."""
    parts = outcome.original.sampled
    if parts is None or outcome.error is None:
        return ""
    return f", {parts.blocks:,} of {parts.grid:,} blocks: within {outcome.error:.1%}"


def _results(outcome: Outcome) -> str:
    """Return a sentence on whether the emulated results are the same."""
    same = outcome.same_results
    if same is None:
        return "Not emulated." if outcome.original.cycles is None else "Results were not compared: parts were emulated."
    return "Emulated results: same." if same else "Emulated results: DIFFERENT."
