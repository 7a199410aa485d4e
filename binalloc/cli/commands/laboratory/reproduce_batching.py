"""`binalloc reproduce batching` makes the batching paper's figures on its machine, with rows of 4 and of 8 KB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.cli.commands.laboratory.named import named_machines, opened, require_known
from binalloc.cli.files import write_output
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.cli.workers import executor_of, fail_interrupted, finished_runs

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.laboratory.batching.facts import BatchedCase
    from binalloc.laboratory.batching.run import Wanted
    from binalloc.report.shapes.commands.laboratory import ReproduceBatchingJson
    from binalloc.report.shapes.parts.batching import BatchingReproductionJson


def reproduce_batching(
    kernels: Sequence[str], samples: str, size: str | None, options: RunOptions, as_json: bool, machine: str | None,
    plot: str | None, cache: str | None, jobs: int | None, dask: str | None,
) -> None:  # fmt: skip
    """Profile and run kernels under all schemes, print the figures, and judge the runs by exit codes. plot: file for
    the bars of Fig. 10."""
    from binalloc.laboratory.batching.facts import batching_reproduction_json
    from binalloc.laboratory.batching.plot import batching_svg
    from binalloc.laboratory.batching.run import measured
    from binalloc.laboratory.batching.schemes import SCHEMES
    from binalloc.laboratory.batching.text import render_batching_reproduction
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally

    wanted = _wanted(Path(samples), kernels, machine, size)
    kept = Cache(finished_runs(cache))
    cases: list[BatchedCase] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options, len(wanted) * len(SCHEMES)) as executor, progress(as_json) as show:
        try:
            cases.extend(measured(wanted, options, executor, kept, show, tally))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    found = batching_reproduction_json(cases, tally, code != 0, str(kept.folder))
    if plot is not None:
        write_output(plot, batching_svg(found).encode())
    if as_json:
        shown: ReproduceBatchingJson = {"schema_version": SCHEMA_VERSION, "paper": "batching", **found}
        print_json(shown)
    elif cases:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_batching_reproduction(found))
    if code:
        fail_interrupted(kept.folder, code)
    _judge(found)


def _wanted(samples: Path, kernels: Sequence[str], machine: str | None, size: str | None) -> list[Wanted]:
    """Return the kernels on the machines, in the order of the paper's row sizes. Raise UsageError for unknown machines
    and kernels, and for samples that are missing."""
    from binalloc.laboratory.batching.kernels import BENCHMARKS, MACHINES, PROFILED_ON
    from binalloc.laboratory.batching.run import Wanted
    from binalloc.laboratory.samples import find_samples

    named = named_machines(machine, MACHINES)
    require_known(kernels, [b.kernel for b in BENCHMARKS], "no kernel of this paper's")
    found = find_samples(samples)
    chosen = [b for b in BENCHMARKS if not kernels or b.kernel in kernels]
    subjects = {
        (b.kernel, on): opened(found, samples, b.kernel, size, on)[1]
        for on in dict.fromkeys([PROFILED_ON, *named]) for b in chosen
    }  # fmt: skip
    return [Wanted(b, subjects[b.kernel, PROFILED_ON], subjects[b.kernel, on]) for on in named for b in chosen]


def _judge(found: BatchingReproductionJson) -> None:
    """End the process with code 1 if results differ from the baseline's, or if nothing could be run."""
    runs = [run for kernel in found["kernels"] for run in kernel["schemes"].values() if run is not None]
    different = sum(run["same_results"] is False for run in runs)
    if different:
        fail(f"{different} of {len(runs)} runs have other results than under ccws", 1)
    if not runs:
        fail("nothing could be run", 1)
