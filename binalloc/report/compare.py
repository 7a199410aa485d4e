"""Allocators side by side, as a dictionary and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.local_price import local_price
from binalloc.models.machines.ptxas_slots import ptxas_slots
from binalloc.pipeline.compare import Compared, compare_allocators
from binalloc.pipeline.request import Request
from binalloc.printable import count
from binalloc.report.profile import profile_line
from binalloc.report.table import table
from binalloc.transform.allocate.spill_cost import prices
from binalloc.transform.rewrite.ways import NONE

_HEADER = (
    "registers", "slots", "allocator", "used", "used", "local", "slot", "again", "moves", "copies",
    "cost", "bound", "gap", "CPU s",
)  # fmt: skip
_WIDTHS = (9, 5, 9, 4, 4, 5, 5, 5, 5, 6, 9, 9, 5, 6)
"""Of columns, at least: rows come before those behind them are known."""


def compare_to_dict(
    module: Module,
    request: Request,
    kernels: Sequence[str],
    registers: Sequence[int],
    slots: Sequence[int],
    allocators: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """What `compare-allocators` tells of those kernels; see JSON.md. A refusal is an error where it is about the only
    kernel. say: is given the text of it piece by piece, as soon as the rows of a budget are there. Ctrl-C ends it with
    what there is."""
    found: list[dict[str, Any]] = []
    partial = False
    for name in kernels:
        rows: list[Compared] = []
        reason = ""
        printed = _Printed(f"{name} on {request.machine.name}\n\n", allocators, say)
        try:
            for budget in compare_allocators(module, replace(request, kernel=name), registers, slots, allocators):
                rows += budget
                printed.rows([_row(row) for row in budget])
        except Refused as error:
            if len(kernels) == 1:
                raise
            reason = error.message
        except KeyboardInterrupt as stop:
            partial, left = True, list(getattr(stop, "rows", []))
            rows += left
            printed.rows([_row(row) for row in left])
        info = module.function(name).info
        dynamic = request.launch.dynamic_shared if request.launch is not None else 0
        own = ptxas_slots(request.machine, info, dynamic)
        found.append({"kernel": name, "ptxas_slots": own, "reason": reason, "rows": [_row(row) for row in rows]})
        printed.end(found[-1])
        if partial:
            break
    profile = None if request.profile is None else request.profile.to_dict()
    taken = {"machine": request.machine.name, "inline": request.inline, "profile": profile}
    told = {**taken, "prices": prices(local_price(request.machine)), "kernels": found, "partial": partial}
    say(_end(told))
    return told


class _Printed:
    """The table of one kernel, whose rows come one after the other."""

    def __init__(self, title: str, allocators: Sequence[str], say: Callable[[str], None]) -> None:
        self.title, self.say, self.begun = title, say, False
        names = max(map(len, allocators), default=0)
        self.widths = [max(len(h), w, names if h == "allocator" else 0) for h, w in zip(_HEADER, _WIDTHS, strict=True)]

    def rows(self, rows: Sequence[dict[str, Any]]) -> None:
        feasible = [_cells(row) for row in rows if not row["reason"]]
        if not feasible:
            return
        text = table(_HEADER, feasible, left=0, widths=self.widths)
        self.say(text.split("\n", 2)[2] if self.begun else self.title + text)
        self.begun = True

    def end(self, kernel: dict[str, Any]) -> None:
        """What stands below the table."""
        parts = [] if self.begun else [self.title]
        if kernel["reason"]:
            parts.append(f"Refused: {kernel['reason']}.\n\n")
        else:
            own = count(kernel["ptxas_slots"], "slot")
            parts += ["\n"] if self.begun else []
            parts += [*_refusals(kernel["rows"]), f"The vendor's compiler would take {own} (allocator ptxas-smem).\n\n"]
        self.say("".join(parts))


def _end(found: dict[str, Any]) -> str:
    """What the columns mean, and how calls were taken."""
    inlined = "" if found["inline"] == NONE else f"Calls inlined first: {found['inline']}.\n"
    partial = "PARTIAL: interrupted, further rows are not known.\n" if found["partial"] else ""
    return _legend(found["prices"], found["profile"]) + inlined + partial


def _row(row: Compared) -> dict[str, object]:
    cost = {} if row.cost is None else asdict(row.cost)
    return {
        "registers": row.registers,
        "slots": row.slots,
        "allocator": row.allocator,
        "reason": row.reason,
        "registers_used": row.used,
        "slots_used": row.slots_used,
        "local_bytes": row.local_bytes,
        **{name: cost.get(name) for name in ("local", "slot", "recomputed", "moves", "copies")},
        "cost": _rounded(cost.get("cost")),
        "bound": _rounded(row.bound),
        "gap": _rounded(row.gap),
        "cpu_seconds": _rounded(row.seconds),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _refusals(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each allocator, number of registers and reason."""
    slots: dict[tuple[str, int, str], list[int]] = {}
    for row in rows:
        if row["reason"]:
            slots.setdefault((row["allocator"], row["registers"], row["reason"]), []).append(row["slots"])
    lines = []
    for (allocator, registers, reason), asked in slots.items():
        among = count(asked[0], "slot") if len(asked) == 1 else ", ".join(map(str, asked)) + " slots"
        lines.append(f"{allocator} at {count(registers, 'register')}, {among}: {reason}\n")
    return lines


def _legend(prices: dict[str, float], profile: dict[str, Any] | None) -> str:
    by = "by loops and calls" if profile is None else "by executions"
    return (
        "Static: local and slot, accesses to each; again, instructions that recompute; moves, accesses to slots that\n"
        f"bring values elsewhere around calls; copies, new ones between registers. cost: {by}, an access\n"
        f"to a slot {prices['slot']:g}, to local memory {prices['local']:g}, an instruction that recomputes "
        f"{prices['recomputed']:g}, a copy nothing.\n"
        "bound: no allocation of the code in the order that cpsat took costs less (- where that is not proven).\n"
    ) + ("" if profile is None else profile_line(profile))


def _cells(row: dict[str, Any]) -> list[object]:
    names = (
        "registers", "slots", "allocator", "registers_used", "slots_used", "local", "slot", "recomputed", "moves",
        "copies",
    )  # fmt: skip
    cells: list[object] = [row[name] for name in names]
    cells += [None if row[name] is None else f"{row[name]:,.1f}" for name in ("cost", "bound")]
    cells.append(None if row["gap"] is None else f"{row['gap']:.1%}")
    return [*cells, f"{row['cpu_seconds']:.2f}"]
