"""`binalloc reproduce multiplex` makes the multiplex paper's figures on emulated machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.cli.commands.laboratory.named import named_machines, opened, require_known
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.cli.workers import executor_of, fail_interrupted, finished_runs
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.laboratory.multiplex.curves import CurvePoint
    from binalloc.laboratory.multiplex.paper import Curve
    from binalloc.laboratory.multiplex.run import MeasuredPoint, MultiplexedCase
    from binalloc.laboratory.multiplex.task import Multiplexed
    from binalloc.report.shapes.commands.multiplex import MultiplexReproductionJson, ReproduceMultiplexJson


def reproduce_multiplex(
    kernels: Sequence[str], samples: str, size: str | None, options: RunOptions, as_json: bool, machine: str | None,
    curves: bool, cache: str | None, jobs: int | None, dask: str | None,
) -> None:  # fmt: skip
    """Run the paper's kernels on its machines, print the figures, and judge them by exit codes."""
    from binalloc.laboratory.multiplex.facts import multiplex_reproduction_json
    from binalloc.laboratory.multiplex.run import measured, measured_points
    from binalloc.laboratory.multiplex.text import render_multiplex_reproduction
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally

    grow = _curves(kernels, machine) if curves else []
    tasks = _tasks(Path(samples), kernels, machine, size, options)
    further = _points(Path(samples), grow, options)
    kept = Cache(finished_runs(cache))
    cases: list[MultiplexedCase] = []
    points: list[MeasuredPoint] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options, len(tasks) + len(further)) as executor, progress(as_json) as show:
        try:
            cases.extend(measured(tasks, executor, kept, show, tally))
            points.extend(measured_points(further, executor, kept, show, tally))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    found = multiplex_reproduction_json(cases, tally, code != 0, str(kept.folder), points)
    if as_json:
        shown: ReproduceMultiplexJson = {"schema_version": SCHEMA_VERSION, "paper": "multiplex", **found}
        print_json(shown)
    elif cases:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_multiplex_reproduction(found))
    if code:
        fail_interrupted(kept.folder, code)
    _judge(found)


def _tasks(
    samples: Path, kernels: Sequence[str], machine: str | None, size: str | None, options: RunOptions
) -> list[tuple[str, Multiplexed]]:
    """Return what to run, machine by machine, with the name of each sample: on the paper's machines, if none is named.
    Raise UsageError for unknown machines and kernels, and for samples that are missing."""
    from binalloc.laboratory.multiplex.paper import KERNELS, MACHINES, MODERN
    from binalloc.laboratory.multiplex.task import Multiplexed
    from binalloc.laboratory.samples import find_samples

    named = named_machines(machine, (*MACHINES, *MODERN)) if machine else list(MACHINES)
    require_known(kernels, KERNELS, "no benchmark of the paper's")
    found = find_samples(samples)
    wanted = {kernel: sample for kernel, sample in KERNELS.items() if not kernels or kernel in kernels}
    return [
        (sample, Multiplexed(opened(found, samples, sample, size, one)[1], options))
        for one in named for sample in wanted.values()
    ]  # fmt: skip


def _curves(kernels: Sequence[str], machine: str | None) -> list[tuple[Curve, str]]:
    """Return the curves of the named kernels, each with every named card; of all, if none is named. Raise UsageError if
    there is none."""
    from binalloc.laboratory.multiplex.paper import CURVE_MACHINES, CURVES

    cards = [one for one in CURVE_MACHINES if machine is None or one in machine.split(",")]
    found = [(curve, one) for curve in CURVES if not kernels or curve.kernel in kernels for one in cards]
    if not found:
        named = [*kernels, *([machine] if machine else [])]
        raise UsageError(
            "there is no curve of this", place="--curves", found=" on ".join(named),
            expected=f"{' or '.join(curve.kernel for curve in CURVES)}, on {' or '.join(CURVE_MACHINES)}",
        )  # fmt: skip
    return found


def _points(samples: Path, curves: Sequence[tuple[Curve, str]], options: RunOptions) -> list[CurvePoint]:
    """Return the points of curves on cards. Raise UsageError for samples that are missing."""
    from binalloc.laboratory.multiplex.curves import curve_point
    from binalloc.laboratory.multiplex.paper import KERNELS
    from binalloc.laboratory.samples import find_samples

    found = find_samples(samples)
    subjects = [(curve, opened(found, samples, KERNELS[curve.kernel], None, card)[1]) for curve, card in curves]
    return [curve_point(subject, extent, options) for curve, subject in subjects for extent in curve.extents]


def _judge(found: MultiplexReproductionJson) -> None:
    """End the process with code 1 if results differ from the original's, or if nothing could be run."""
    ran = [v for k in found["kernels"] for v in k["schemes"] if v["speedup"] is not None]
    different = sum(v["same_results"] is False for v in ran)
    if different:
        fail(f"{different} of {len(ran)} versions have other results than the original", 1)
    if all(k["status"] != "ok" for k in found["kernels"]):
        fail("nothing could be run", 1)
