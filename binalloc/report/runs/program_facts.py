"""This module reports a run of a program as JSON: the figures of each launch, the sums for each kernel, the
comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.figures.off_chip import per
from binalloc.names.kernels import readable
from binalloc.report.runs.emulator import emulator_json
from binalloc.report.runs.facts import plain_values, reference_json
from binalloc.report.runs.files import save_buffers
from binalloc.report.runs.printed import program_left_json

if TYPE_CHECKING:
    from binalloc.emulator.runs.program import Launched, Total
    from binalloc.pipeline.running.program import ProgramRun
    from binalloc.report.shapes.commands.run_program import (
        KernelTotal,
        LaunchedJson,
        ProgramFiles,
        ProgramRunFields,
        ScalarsJson,
    )


def save_program(run: ProgramRun, folder: str | None) -> ProgramFiles:
    """Save the buffers of a program in `folder`, and return the field that names the files. Without a folder, and for a
    program that was stopped, save nothing. Raise UsageError if a file cannot be written."""
    if folder is None or run.ended is not None:
        return {}
    return {"saved": save_buffers(Path(folder), run.ran.buffers, run.ran.globals)}


def program_json(run: ProgramRun, written: ProgramFiles) -> ProgramRunFields:
    """Return the figures of a program, also of one that was stopped. written: the field that names its files."""
    program, ran = run.program, run.ran
    return {
        "program": program.path,
        **emulator_json(ran),
        "partial": ran.partial,
        "cycles": ran.cycles,
        "launches": [_launch(launched) for launched in ran.launches],
        "kernels": [_total(name, total, ran.cycles) for name, total in ran.totals.items()],
        **program_left_json(ran),
        **_scalars(run),
        **reference_json(run.reference),
        **written,
    }


def _scalars(run: ProgramRun) -> ScalarsJson:
    if run.ended is not None:
        return {}
    return {"scalars": {name: _json_value(value) for name, value in run.ran.scalars.items()}}


def _launch(launched: Launched) -> LaunchedJson:
    figures = plain_values(launched.figures)
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
        "warp_instructions": figures["warp_instructions"],
        "ipc": figures["ipc"],
        "user_global_load_bytes": figures["user_global_load_bytes"],
        "user_global_store_bytes": figures["user_global_store_bytes"],
        "global_load_sectors": figures["global_load_sectors"],
        "global_store_sectors": figures["global_store_sectors"],
        "local_bytes_moved": figures["local_bytes_moved"],
        "bank_conflict_cycles": figures["bank_conflict_cycles"],
        "l1_global_hits": figures["l1_global_hits"],
        "l1_global_misses": figures["l1_global_misses"],
        "l2_hits": figures["l2_hits"],
        "l2_misses": figures["l2_misses"],
        "dram_bytes": figures["dram_bytes"],
        "dram_utilisation": figures["dram_utilisation"],
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
        "dram_energy": plain_values(total.energy),
        "far_dram_energy": plain_values(total.far_energy),
    }


def _rate(figures: dict[str, Any], cache: str) -> float | None:
    """Return the hits of a cache as a share of all lookups; None without lookups."""
    hits, misses = figures[f"{cache}_hits"], figures[f"{cache}_misses"]
    return per(hits, hits + misses)


def _json_value(value: float | complex) -> float | str | list[float | str]:
    """Return a number as JSON can hold it: a complex one as a list of two."""
    return [_finite(value.real), _finite(value.imag)] if isinstance(value, complex) else _finite(value)


def _finite(value: float) -> float | str:
    """Return a number as it is, and infinities and NaN as text."""
    return value if isinstance(value, int) or value - value == 0 else str(value)
