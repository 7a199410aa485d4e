"""This module reports the rewrite of a program: each kernel and its launches before and after, and the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from binalloc.emulator.host.figures.off_chip import per
from binalloc.names.kernels import readable
from binalloc.printable import count, one_line
from binalloc.report.table import table
from binalloc.report.versions import rounded, version_json

if TYPE_CHECKING:
    from binalloc.emulator.runs.program import Ran
    from binalloc.pipeline.pipeline import Outcome
    from binalloc.pipeline.program_rewrite import RewrittenProgram
    from binalloc.report.shapes.commands.rewrite import ProgramKernel, ProgramOutcomeJson


def rewritten_program_json(done: RewrittenProgram) -> ProgramOutcomeJson:
    """Return what `rewrite --json` prints for a sequence of launches, without `schema_version`."""
    request, before, after = done.request, done.original, done.rewritten
    return {
        "program": done.program.path,
        "machine": request.machine.name,
        "allocator": request.allocator,
        "scheduler": request.options.scheduler,
        "verified": done.verified,
        "checked": True,
        "same_results": not done.differences,
        "differences": done.differences,
        "cycles": {"original": before.cycles, "rewritten": after.cycles},
        "speedup": _speedup(before.cycles, after.cycles),
        "launches": {"original": len(before.launches), "rewritten": len(after.launches)},
        "kernels": [_kernel(outcome, before, after) for outcome in done.outcomes],
        "left_out": [{"kernel": k, "name": readable(k), "reason": str(error)} for k, error in done.left_out],
    }


def _kernel(outcome: Outcome, before: Ran, after: Ran) -> ProgramKernel:
    name = outcome.request.kernel
    old, new = before.totals[name], after.totals.get(name)
    return {
        "kernel": name,
        "name": readable(name),
        "kept_original": outcome.kept_original,
        "reason": outcome.reason,
        "original": version_json(outcome.given.row()),
        "rewritten": version_json(outcome.rewritten.row()),
        "launches": {"original": old.calls, "rewritten": 0 if new is None else new.calls},
        "cycles": {"original": old.cycles, "rewritten": 0 if new is None else new.cycles},
        "speedup": None if new is None else _speedup(old.cycles, new.cycles),
    }


def _speedup(before: int, after: int) -> float | None:
    """Return cycles before over cycles after; None where there were none after."""
    return rounded(per(before, after))


def _cells(k: ProgramKernel, side: Literal["original", "rewritten"]) -> list[object]:
    version = k[side]
    taken = (version["registers"], version["slots"], version["local_bytes"], version["blocks_per_sm"])
    return [side, *taken, version["instructions"], k["launches"][side], k["cycles"][side]]


def render_rewritten_program(found: ProgramOutcomeJson) -> str:
    """Return the kernels in a table, and the results and the speedup of the whole program."""
    lines = [f"{one_line(found['program'] or 'program')} on {found['machine']}, allocator {found['allocator']}\n\n"]
    head = ["kernel", "version", "registers", "slots", "local B", "blocks/SM", "instructions"]
    rows: list[list[object]] = []
    for k in found["kernels"]:
        rows.append([k["name"], *_cells(k, "original"), None])
        if not k["kept_original"]:
            rows.append(["", *_cells(k, "rewritten"), k["speedup"]])
    lines.append(table([*head, "launches", "cycles", "speedup"], rows, left=2))
    lines.append("\n")
    for k in found["kernels"]:
        kept = "kept as it is, " if k["kept_original"] else ""
        lines.append(f"{k['name']}: {kept}{k['reason']}.\n")
    lines += [f"{left['name']}: left out, {left['reason']}.\n" for left in found["left_out"]]
    lines.append("Symbolic check: passed. Emulated results: ")
    lines.append("same.\n" if found["same_results"] else "DIFFERENT.\n")
    lines += [f"  {text}\n" for text in found["differences"]]
    cycles, launches = found["cycles"], found["launches"]
    speedup = "" if found["speedup"] is None else f", speedup {found['speedup']:.3f}"
    lines.append(f"All {count(launches['original'], 'launch', 'launches')}: cycles {cycles['original']:,} and ")
    lines.append(f"{cycles['rewritten']:,}{speedup} (emulated).\n")
    lines.append("Speedups are over the input as it is: they include what another order gains.\n")
    return "".join(lines)
