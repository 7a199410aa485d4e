"""This module reports a comparison of allocators, as JSON and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from binalloc.pipeline.steps.row import known
from binalloc.printable import count
from binalloc.report.profile import profile_json, profile_line
from binalloc.report.table import table
from binalloc.report.versions import rounded
from binalloc.transform.rewrite.ways import NONE

if TYPE_CHECKING:
    from binalloc.pipeline.compare import ComparedKernel, Comparison
    from binalloc.pipeline.profile import Profile
    from binalloc.pipeline.steps.row import Row
    from binalloc.report.shapes.commands.compare import ComparedRow, ComparisonJson

_HEADER = (
    "registers", "slots", "allocator", "used", "used", "local", "slot", "again", "moves", "copies",
    "cost", "bound", "gap", "CPU s",
)  # fmt: skip
_WIDTHS = (9, 5, 9, 4, 4, 5, 5, 5, 5, 6, 9, 9, 5, 6)
"""Least widths of the columns. They cannot follow from the rows, as a row is printed before later ones are known."""


def comparison_json(found: Comparison) -> ComparisonJson:
    """Return the comparison as `compare-allocators --json` prints it."""
    request = found.request
    return {
        "machine": request.machine.name,
        "inline": request.inline,
        "profile": None if request.profile is None else profile_json(request.profile),
        "prices": found.prices,
        "kernels": [
            {
                "kernel": one.kernel,
                "ptxas_slots": one.ptxas_slots,
                "reason": one.reason,
                "rows": [_row(row) for row in one.rows],
            }
            for one in found.kernels
        ],
        "partial": found.partial,
    }


class PrintedComparison:
    """The printer writes a table for each kernel, and each row as soon as it is known. say: prints a piece of text."""

    def __init__(self, machine: str, allocators: Sequence[str], say: Callable[[str], None]) -> None:
        self.machine, self.say, self.title, self.begun = machine, say, "", False
        names = max(map(len, allocators), default=0)
        self.widths = [max(len(h), w, names if h == "allocator" else 0) for h, w in zip(_HEADER, _WIDTHS, strict=True)]

    def begin(self, kernel: str) -> None:
        """Begin the table of the next kernel."""
        self.title, self.begun = f"{kernel} on {self.machine}\n\n", False

    def rows(self, rows: Sequence[Row]) -> None:
        """Print the rows of one budget, without infeasible ones."""
        feasible = [_cells(_row(row)) for row in rows if not row.reason]
        if not feasible:
            return
        text = table(_HEADER, feasible, left=0, widths=self.widths)
        self.say(text.split("\n", 2)[2] if self.begun else self.title + text)
        self.begun = True

    def end(self, kernel: ComparedKernel) -> None:
        """Print the text after a kernel's table: why rows are missing, and the slots of the vendor's compiler."""
        parts = [] if self.begun else [self.title]
        if kernel.reason:
            parts.append(f"Refused: {kernel.reason}.\n\n")
        else:
            own = count(kernel.ptxas_slots, "slot")
            parts += ["\n"] if self.begun else []
            parts += [*_refusals(kernel.rows), f"The vendor's compiler would take {own} (allocator ptxas-smem).\n\n"]
        self.say("".join(parts))


def render_legend(found: Comparison) -> str:
    """Return the meaning of the columns, and which calls were inlined."""
    request = found.request
    inlined = "" if request.inline == NONE else f"Calls inlined first: {request.inline}.\n"
    partial = "PARTIAL: interrupted, further rows are not known.\n" if found.partial else ""
    return _legend(found.prices, request.profile) + inlined + partial


def _row(row: Row) -> ComparedRow:
    cost = row.cost
    return {
        "registers": known(row.registers_allowed),
        "slots": known(row.slots_allowed),
        "allocator": row.allocator,
        "reason": row.reason,
        "registers_used": row.registers,
        "slots_used": row.slots,
        "local_bytes": row.local_bytes,
        "local": None if cost is None else cost.local,
        "slot": None if cost is None else cost.slot,
        "recomputed": None if cost is None else cost.recomputed,
        "moves": None if cost is None else cost.moves,
        "copies": None if cost is None else cost.copies,
        "cost": None if cost is None else round(cost.cost, 4),
        "bound": rounded(row.bound),
        "gap": rounded(row.gap),
        "cpu_seconds": rounded(row.seconds),
    }


def _refusals(rows: Sequence[Row]) -> list[str]:
    """Return a line for each allocator, number of registers and reason, with all slots to which the reason applies."""
    slots: dict[tuple[str, int | None, str], list[int | None]] = {}
    for row in rows:
        if row.reason:
            slots.setdefault((row.allocator, row.registers_allowed, row.reason), []).append(row.slots_allowed)
    lines = []
    for (allocator, registers, reason), asked in slots.items():
        among = count(asked[0] or 0, "slot") if len(asked) == 1 else ", ".join(map(str, asked)) + " slots"
        lines.append(f"{allocator} at {count(registers or 0, 'register')}, {among}: {reason}\n")
    return lines


def _legend(prices: dict[str, float], profile: Profile | None) -> str:
    by = "by loops and calls" if profile is None else "by executions"
    return (
        "Static: local and slot, accesses to each; again, instructions that recompute; moves, accesses to slots that\n"
        f"bring values elsewhere around calls; copies, new ones between registers. cost: {by}, an access\n"
        f"to a slot {prices['slot']:g}, to local memory {prices['local']:g}, an instruction that recomputes "
        f"{prices['recomputed']:g}, a copy nothing.\n"
        "bound: no allocation of the code in the order that cpsat took costs less (- where that is not proven).\n"
    ) + ("" if profile is None else profile_line(profile))


def _cells(row: ComparedRow) -> list[object]:
    cells: list[object] = [
        row["registers"], row["slots"], row["allocator"], row["registers_used"], row["slots_used"], row["local"],
        row["slot"], row["recomputed"], row["moves"], row["copies"],
    ]  # fmt: skip
    cells += [None if value is None else f"{value:,.1f}" for value in (row["cost"], row["bound"])]
    cells.append(None if row["gap"] is None else f"{row['gap']:.1%}")
    return [*cells, f"{row['cpu_seconds']:.2f}"]
