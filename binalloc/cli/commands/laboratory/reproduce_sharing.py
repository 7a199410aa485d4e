"""`binalloc reproduce sharing` makes the sharing paper's figures on the emulated machines that it varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.cli.commands.laboratory.named import named_machines, opened, require_known
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.cli.workers import executor_of, fail_interrupted, finished_runs
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.laboratory.sharing.facts import SharedCase
    from binalloc.laboratory.sharing.merged import MergedKernel
    from binalloc.laboratory.sharing.paper import Benchmark
    from binalloc.laboratory.sharing.task import SharedKernel
    from binalloc.report.shapes.commands.laboratory import ReproduceSharingJson
    from binalloc.report.shapes.parts.sharing.paired import SharingReproductionJson


def reproduce_sharing(
    kernels: Sequence[str], samples: str, size: str | None, options: RunOptions, as_json: bool, machine: str | None,
    figures: str | None, cache: str | None, jobs: int | None, dask: str | None,
) -> None:  # fmt: skip
    """Run what figures need, print them, and judge the runs by exit codes."""
    from binalloc.laboratory.multiplex.run import outcomes
    from binalloc.laboratory.sharing.facts import SharedCase, sharing_reproduction_json
    from binalloc.laboratory.sharing.merged import MergedKernel
    from binalloc.laboratory.sharing.text import render_sharing_reproduction
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally

    numbers = _figures(figures)
    tasks = _tasks(Path(samples), numbers, kernels, machine, size, options)
    kept = Cache(finished_runs(cache))
    cases: list[SharedCase] = []
    merged: list[SharedCase] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options, len(tasks)) as executor, progress(as_json) as show:
        try:
            found = outcomes([task for _, task in tasks], "kernels on machines", executor, kept, show, tally)
            for (benchmark, task), outcome in zip(tasks, found, strict=True):
                case = SharedCase(task.subject.machine.name, benchmark, outcome)
                (merged if isinstance(task, MergedKernel) else cases).append(case)
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    given = sharing_reproduction_json(cases, merged, numbers, tally, code != 0, str(kept.folder))
    if as_json:
        shown: ReproduceSharingJson = {"schema_version": SCHEMA_VERSION, "paper": "sharing", **given}
        print_json(shown)
    elif cases or merged or not tasks:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_sharing_reproduction(given))
    if code:
        fail_interrupted(kept.folder, code)
    if tasks:
        _judge(given)


def _figures(given: str | None) -> list[str]:
    """Return the numbers of the figures and tables that are asked for, in order. Raise UsageError for others."""
    from binalloc.laboratory.sharing.variations import FIGURES

    asked = FIGURES if given is None else [one.strip() for one in given.split(",")]
    for one in asked:
        if one not in FIGURES:
            raise UsageError(
                "no figure or table of the paper's", place="--figures", found=one, expected=", ".join(FIGURES),
                remedy="Name figures as 14,22 and tables as XI.",
            )  # fmt: skip
    return [one for one in FIGURES if one in asked]


def _tasks(
    samples: Path, figures: Sequence[str], kernels: Sequence[str], machine: str | None, size: str | None,
    options: RunOptions,
) -> list[tuple[Benchmark, SharedKernel | MergedKernel]]:
    """Return what to run, each on all SMs of its machine.

    Raise UsageError for unknown machines and kernels, for samples that are missing, and where nothing of what is named
    is in the figures.
    """
    from binalloc.laboratory.samples import find_samples
    from binalloc.laboratory.sharing.merged import MergedKernel
    from binalloc.laboratory.sharing.paper import BENCHMARKS, MACHINE
    from binalloc.laboratory.sharing.task import SharedKernel
    from binalloc.laboratory.sharing.variations import FURTHER, GROUPS, wanted_merged, wanted_runs
    from binalloc.models.machines.reader import load_machine

    known = [MACHINE, *(group.machine for groups in GROUPS.values() for group in groups)]
    machines = named_machines(machine, list(dict.fromkeys(known))) if machine else []
    require_known(kernels, dict.fromkeys(b.kernel for b in (*BENCHMARKS, *FURTHER)), "no benchmark of the paper's")
    found = find_samples(samples)
    runs = wanted_runs(figures, kernels, machines)
    together = list(wanted_merged(figures, kernels, machines))
    if (kernels or machines) and not runs and not together:
        raise UsageError(
            "none of this is in these figures", place="--figures", found=", ".join([*kernels, *machines]),
            expected="a kernel and a machine of theirs",
        )  # fmt: skip
    tasks: list[tuple[Benchmark, SharedKernel | MergedKernel]] = []
    for run in runs:
        group = run.group
        whole = replace(options, sms=load_machine(group.machine).chip.sms)
        subject = opened(found, samples, run.benchmark.sample, size, group.machine)[1]
        task = SharedKernel(subject, whole, group.steps, group.unshared, group.free)
        tasks.append((run.benchmark, task))
    for benchmark, schemes in together:
        whole = replace(options, sms=load_machine(MACHINE).chip.sms)
        subject = opened(found, samples, benchmark.sample, size, MACHINE)[1]
        tasks.append((benchmark, MergedKernel(subject, schemes, whole)))
    return tasks


def _judge(found: SharingReproductionJson) -> None:
    """End the process with code 1 if results differ from the original's, or if nothing could be run."""
    kernels = [*found["kernels"], *found["varied"]]
    schemes = [one for kernel in found["merged"] for one in kernel["schemes"]]
    same = [step["same_results"] for kernel in kernels for step in kernel["shared"].values()]
    same += [run["same_results"] for one in schemes for run in (one["alone"], one["shared"]) if run is not None]
    different = sum(one is False for one in same)
    if different:
        fail(f"{different} of {len(same)} versions have other results than the original", 1)
    if all(one["status"] != "ok" for one in (*kernels, *found["merged"])):
        fail("nothing could be run", 1)
