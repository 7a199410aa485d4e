"""A sweep of `binalloc smem-cost` is reported as JSON and as text: its runs, the regression, and the parts of both."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal

from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from collections.abc import Callable

    from binalloc.laboratory.smem_cost.costs import CostRow, Sweep
    from binalloc.report.shapes.commands.laboratory import SmemCostFields, SmemCostPaper, SmemCostRow

_Part = Literal["passes", "launch_skew", "gaps", "latency", "drain"]
PAPER: SmemCostPaper = {
    "machine": "GTX780Ti",
    "c1": 1.047,
    "c2": 337.7,
    "w": 32,
    "l": 32,
    "k": 8,
    "cycles": 8524.46,
}
"""The paper's numbers (abstract and section III). They are means of 100 runs."""
_PARTS: dict[_Part, str] = {
    "passes": "the banks serve loads",
    "launch_skew": "the banks wait for the last warp to begin",
    "gaps": "the banks wait later on: warps that are done store their clocks, by the loads' port",
    "latency": "from the last pass to its value",
    "drain": "from the last value to the latest read of the clock",
}
"""Parts of the cycles, and the cycles that they consist of, in words."""


def smem_cost_to_dict(sweep: Sweep, progress: Callable[[str], None]) -> SmemCostFields:
    """Run the sweep, and return the object that JSON prints. Raises as `costs.costs` does."""
    from binalloc.laboratory.smem_cost.costs import costs

    found = costs(sweep, progress)
    options, line = sweep.options, found.fit
    shared = options.machine.shared
    return {
        "machine": options.machine.name,
        "engine": options.engine,
        "scheduler": options.scheduler,
        "banks": shared.banks,
        "bank_bytes": shared.bank_bytes,
        "mode_bytes": shared.mode_bytes,
        "clock_cycles": found.clock,
        "c1": line.c1,
        "c2": line.c2,
        "r2": line.r2,
        "passes_per_load": [{"k": k, "passes": passes} for k, passes in found.passes.items()],
        "parts": {name: {"c1": part.c1, "c2": part.c2} for name, part in found.parts.items()},
        "rows": [_row(row) for row in found.rows],
        "paper": PAPER,
    }


def _row(row: CostRow) -> SmemCostRow:
    return {
        "w": row.w,
        "l": row.l,
        "k": row.k,
        "cycles": row.cycles,
        "passes": row.passes,
        "launch_skew": row.launch_skew,
        "gaps": row.gaps,
        "latency": row.latency,
        "drain": row.drain,
        "arrivals": row.arrivals,
        "barrier": row.barrier,
    }


def render_smem_cost(found: SmemCostFields) -> str:
    """Return the report as text. found: the object of `smem_cost_to_dict`.

    It has the cycles of every run, with a column for each k, the fitted line, and the parts of the line and of the last
    run.
    """
    rows = found["rows"]
    title = f"smem-cost on {found['machine']}: {count(len(rows), 'run')} of one block; "
    title += f"loads of {8 * found['bank_bytes']} bits, {count(found['banks'], 'bank')} of {found['bank_bytes']} bytes"
    title += f", {found['mode_bytes']}-byte mode\n"
    lines = [title, f"Cycles: latest end minus earliest start, minus {found['clock_cycles']} for the clock.\n\n"]
    points = [
        (w, loads, *(row["cycles"] for row in group))
        for (w, loads), group in groupby(rows, lambda row: (row["w"], row["l"]))
    ]
    columns = [f"k {k}" for k in dict.fromkeys(row["k"] for row in rows)]
    lines.append(table(["w", "l", *columns], points, left=0))
    if found["c1"] is None or found["c2"] is None:
        lines.append("\nA line needs runs with different w * l * k.\n")
    else:
        r2 = "" if found["r2"] is None else f", R2 = {found['r2']:.6f}"
        lines.append(f"\nE = w * l * k * c1 + c2: c1 = {found['c1']:.4f}, c2 = {found['c2']:.1f}{r2}\n")
    lines.append(_other_passes(found))
    last = rows[-1]
    lines_of = found["parts"]
    parts = [(k, _figure(lines_of[k]["c1"]), _figure(lines_of[k]["c2"]), last[k], text) for k, text in _PARTS.items()]
    at = f"w {last['w']}, l {last['l']}, k {last['k']}"
    header = ["part", "c1", "c2", at, "in these cycles"]
    lines.append("\n" + _left_last(table(header, parts)))
    total = sum(last[k] for k in _PARTS)
    lines.append(f"The parts of c1 and c2 add up to them, and the run's parts to its {total:,} cycles. In no part: ")
    lines.append(f"{count(last['arrivals'], 'cycle')} from the\nfirst warp at the barrier to the last, ")
    lines.append(f"and {last['barrier']:,} from then to the earliest read of the clock.\n")
    lines.append(_paper(found["paper"]))
    return "".join(lines)


def _other_passes(found: SmemCostFields) -> str:
    """Return a note if a load of congestion k takes more or fewer than k passes, else ""."""
    taken = found["passes_per_load"]
    if all(load["passes"] == load["k"] for load in taken):
        return ""
    each = ", ".join(f"{load['passes']} for k {load['k']}" for load in taken)
    return (
        f"A load does not take k passes here, but {each}\n"
        f"({found['banks']} banks of {found['bank_bytes']} bytes in {found['mode_bytes']}-byte mode, 32 lanes that "
        f"want {found['bank_bytes']} bytes each): c1 is not the cost of a pass.\n"
    )


def _figure(value: float | None) -> float | None:
    """Round a figure as the table shows it. A figure that rounds to zero gets no sign."""
    return None if value is None else round(value, 3) + 0.0


def _left_last(text: str) -> str:
    """Return the table with its last column aligned left, because it has sentences."""
    head, rule, *body = text.splitlines()
    at = rule.rindex(" ") + 1
    moved = [head[:at] + head[at:].strip(), rule, *(line[:at] + line[at:].strip() for line in body)]
    return "\n".join(moved) + "\n"


def _paper(p: SmemCostPaper) -> str:
    text = f"The paper, on a {p['machine']}: c1 = {p['c1']}, c2 = {p['c2']}; "
    return text + f"{p['cycles']:,} cycles at w {p['w']}, l {p['l']}, k {p['k']}.\n"
