"""A run of a program as JSON: each launch as a profiler has it, what each kernel took, the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.figures.stats import per
from binalloc.names.kernels import readable
from binalloc.report.runs.facts import plain_values, reference_json
from binalloc.report.runs.files import save_buffers
from binalloc.report.runs.printed import program_printed_json

if TYPE_CHECKING:
    from binalloc.emulator.runs.program import Launched, Total
    from binalloc.pipeline.running.program import ProgramRun
    from binalloc.report.shapes.commands.runs import KernelTotal, LaunchedJson, ProgramRunFields


def save_program(run: ProgramRun, folder: str | None) -> dict[str, Any]:
    """Save the buffers of a program that has ended, where a folder is given, and return the field that names the
    files. Raises UsageError where one cannot be written."""
    if folder is None or run.ended is not None:
        return {}
    return {"saved": save_buffers(Path(folder), run.ran.buffers, run.ran.globals)}


def program_json(run: ProgramRun, written: dict[str, Any]) -> ProgramRunFields:
    """Return what a program did, be it one that was stopped. written: the field that names its files."""
    program, ran = run.program, run.ran
    found = {
        "program": program.path,
        "machine": ran.machine,
        "engine": ran.engine,
        "scheduler": ran.scheduler,
        "sms": ran.sms,
        "partial": ran.partial,
        "cycles": ran.cycles,
        "launches": [_launch(launched) for launched in ran.launches],
        "kernels": [_total(name, total, ran.cycles) for name, total in ran.totals.items()],
        **program_printed_json(ran),
    }
    if run.ended is None:
        found["scalars"] = {name: _finite(value) for name, value in ran.scalars.items()}
    if run.reference is not None:
        found |= reference_json(run.reference)
    return found | written


def _launch(launched: Launched) -> LaunchedJson:
    figures = launched.figures
    return {
        "launch": launched.number,
        "step": launched.step,
        "rounds": list(launched.rounds),
        "kernel": launched.kernel,
        "name": readable(launched.kernel),
        "grid": list(launched.grid),
        "block": list(launched.block),
        "dynamic_shared": launched.dynamic_shared,
        "start": launched.start,
        "cycles": launched.cycles,
        "blocks_per_sm": launched.blocks_per_sm,
        "occupancy": launched.occupancy,
        "achieved_occupancy": launched.achieved_occupancy,
        "registers": launched.registers,
        "slots": launched.slots,
        **plain_values(figures),
        "l1_hit_rate": _rate(figures, "l1_global"),
        "l2_hit_rate": _rate(figures, "l2"),
    }


def _total(name: str, total: Total, cycles: int) -> KernelTotal:
    return {
        "kernel": name,
        "name": readable(name),
        "launches": total.calls,
        "cycles": total.cycles,
        "share": per(total.cycles, cycles),
        "average": total.cycles / total.calls,
        "least": total.least,
        "most": total.most,
        "l1_hit_rate": _rate(total.stats, "l1_global"),
        "l2_hit_rate": _rate(total.stats, "l2"),
        "stats": plain_values(total.stats),
    }


def _rate(figures: dict[str, Any], cache: str) -> float | None:
    """Hits of all that looked in a cache; None where nothing did."""
    hits, misses = figures[f"{cache}_hits"], figures[f"{cache}_misses"]
    return per(hits, hits + misses)


def _finite(value: float | complex) -> float | str | list[float | str]:
    """A number as JSON can have it: infinities and NaN as text, complex ones as a list of two."""
    if isinstance(value, complex):
        return [_finite(part) for part in (value.real, value.imag)]  # type: ignore[misc]
    return value if isinstance(value, int) or value - value == 0 else str(value)
