"""`binalloc reproduce sharing` makes the sharing paper's figures on the emulated machine of its Table II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.cli.commands.laboratory.named import named_machines, opened, require_known
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.cli.workers import executor_of, fail_interrupted, finished_runs

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.laboratory.sharing.facts import SharedCase
    from binalloc.laboratory.sharing.paper import Benchmark
    from binalloc.laboratory.sharing.task import SharedKernel
    from binalloc.report.shapes.commands.laboratory import ReproduceSharingJson
    from binalloc.report.shapes.parts.paired import SharingReproductionJson


def reproduce_sharing(
    kernels: Sequence[str], samples: str, size: str | None, options: RunOptions, as_json: bool, machine: str | None,
    cache: str | None, jobs: int | None, dask: str | None,
) -> None:  # fmt: skip
    """Run the paper's kernels, print the figures, and judge them by exit codes."""
    from binalloc.laboratory.multiplex.run import outcomes
    from binalloc.laboratory.sharing.facts import SharedCase, sharing_reproduction_json
    from binalloc.laboratory.sharing.text import render_sharing_reproduction
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally

    tasks = _tasks(Path(samples), kernels, machine, size, options)
    kept = Cache(finished_runs(cache))
    cases: list[SharedCase] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options, len(tasks)) as executor, progress(as_json) as show:
        try:
            found = outcomes([task for _, task in tasks], "kernels", executor, kept, show, tally)
            for (benchmark, task), outcome in zip(tasks, found, strict=True):
                cases.append(SharedCase(task.subject.machine.name, benchmark, outcome))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    figures = sharing_reproduction_json(cases, tally, code != 0, str(kept.folder))
    if as_json:
        shown: ReproduceSharingJson = {"schema_version": SCHEMA_VERSION, "paper": "sharing", **figures}
        print_json(shown)
    elif cases:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_sharing_reproduction(figures))
    if code:
        fail_interrupted(kept.folder, code)
    _judge(figures)


def _tasks(
    samples: Path, kernels: Sequence[str], machine: str | None, size: str | None, options: RunOptions
) -> list[tuple[Benchmark, SharedKernel]]:
    """Return what to run, on all SMs of the machine. Raise UsageError for unknown machines and kernels, and for samples
    that are missing."""
    from binalloc.laboratory.samples import find_samples
    from binalloc.laboratory.sharing.paper import BENCHMARKS, MACHINE, SMS
    from binalloc.laboratory.sharing.task import SharedKernel

    (named,) = named_machines(machine, (MACHINE,))
    require_known(kernels, [b.kernel for b in BENCHMARKS], "no benchmark of the paper's")
    found = find_samples(samples)
    whole = replace(options, sms=SMS)
    return [
        (b, SharedKernel(opened(found, samples, b.sample, size, named)[1], whole))
        for b in BENCHMARKS if not kernels or b.kernel in kernels
    ]  # fmt: skip


def _judge(found: SharingReproductionJson) -> None:
    """End the process with code 1 if results differ from the original's, or if nothing could be run."""
    ran = [step for k in found["kernels"] for step in k["shared"].values()]
    different = sum(step["same_results"] is False for step in ran)
    if different:
        fail(f"{different} of {len(ran)} versions have other results than the original", 1)
    if all(k["status"] != "ok" for k in found["kernels"]):
        fail("nothing could be run", 1)
