"""What a rewritten kernel may take at most beside its original, and whether it does.

Needs both binaries, and the cycles of both runs where slowness is limited. Leaves true: there is a row for each limit
of each kernel, and a sentence for each that is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.pipeline.directives import compiled
from binalloc.pipeline.limits import in_percent, most_cycles, slower_by
from binalloc.pipeline.steps.kernels import local_bytes
from binalloc.printable import count


@dataclass(frozen=True)
class Limits:
    """slowdown: how much more emulated cycles the rewritten kernel may take, as a share of the original's. local_bytes:
    bytes of local memory per thread that it may have, see `pipeline.steps.local_bytes`. None: no limit."""

    slowdown: Fraction | None = None
    local_bytes: int | None = None


def check_limits(
    old: Module,
    new: Module,
    kernels: list[str],
    ran: str,
    cycles: dict[str, int] | None,
    limits: Limits,
    machine: Machine,
) -> dict[str, Any]:
    """Rows and sentences for `kernels`, which both binaries have. ran: the kernel whose `cycles` are given, of the
    original and the rewritten one. A kernel that has more registers than its own directives leave on `machine` is
    judged by what the original takes there that keeps to them (`pipeline.directives.compiled`)."""
    rows = []
    if limits.slowdown is not None and cycles is not None:
        most = most_cycles(cycles["original"], limits.slowdown)
        rows.append(_row(ran, "cycles", cycles["original"], most, cycles["rewritten"]))
    if limits.local_bytes is not None:
        for name in kernels:
            before, after = (local_bytes(module.function(name).info) for module in (old, new))
            found = compiled(old, name, machine, new.function(name).info.registers)
            row = _row(name, "local_bytes", before, limits.local_bytes, max(after, found.local_bytes if found else 0))
            rows.append(row | {"directives": list(found.binding) if found else []})
    exceeded = [_sentence(row, limits) for row in rows if row["found"] > row["limit"]]
    return {"limits": rows, "within_limits": not exceeded if rows else None, "exceeded": exceeded}


def _row(kernel: str, counter: str, original: int, limit: int, found: int) -> dict[str, Any]:
    row = {"kernel": kernel, "counter": counter, "original": original, "limit": limit, "found": found}
    return row | {"directives": []}


def _sentence(row: dict[str, Any], limits: Limits) -> str:
    original, limit, found = (row[key] for key in ("original", "limit", "found"))
    if row["counter"] == "cycles" and limits.slowdown is not None:
        allowed = f"{limit:,}, {in_percent(limits.slowdown)} above it"
        more = slower_by(found, original)
        return f"{row['kernel']}: {count(found, 'cycle')}, {more} above the original's {original:,}; limit {allowed}"
    what = "local memory per thread, frame and spills"
    under = f" under {' and '.join(row['directives'])}, which it does not keep to" if row["directives"] else ""
    return f"{row['kernel']}: {count(found, 'byte')} of {what}{under}, the original {original:,}; limit {limit:,}"


def render_limits(found: dict[str, Any]) -> str:
    """A line where all limits are kept, else one for each that is not; nothing where there are none."""
    if found["within_limits"]:
        kept = (f"{r['kernel']} {r['counter']} {r['found']:,} of at most {r['limit']:,}" for r in found["limits"])
        return f"limits kept: {'; '.join(kept)}\n"
    return "".join(f"limit exceeded: {text}\n" for text in found["exceeded"])
