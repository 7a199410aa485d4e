"""`binalloc reproduce`: a paper's figures on emulated machines, beside what the paper states."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_folder, read_file
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.load import subject_of
from binalloc.cli.options import (
    engine_option,
    every_size_option,
    json_option,
    max_cycles_of,
    options,
    samples_option,
)
from binalloc.cli.tables import scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.cli.workers import executor_of, fail_interrupted, finished_runs, require_one_kind, workers_options
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.pipeline.papers.reproduce import Case, Point


@click.command()
@click.argument("paper", type=click.Choice(["unified"]))
@click.argument("kernels", nargs=-1)
@options(samples_option, every_size_option, engine_option, max_cycles_of("and its row has no figures"), json_option)
@scheduler_option
@click.option("--machine", metavar="LIST", help="Of the paper's machines these.  [default: gtx680,c2075]")
@workers_options
def reproduce(
    paper: str,
    kernels: tuple[str, ...],
    samples: str,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
    machine: str | None,
    cache: str | None,
    jobs: int | None,
    dask: str | None,
) -> None:
    """Figs. 6 and 7 and Table 1 of the unified paper, emulated, beside what the paper states.

    KERNELS are some of its seven benchmarks. Each is run at every number of blocks per SM by three allocators; at full
    size that takes some minutes the first time. Finished runs are kept, as those of `sweep`.
    """
    from binalloc.pipeline.papers.reproduce import reproduce as reproduced
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally
    from binalloc.report.reproduce import render_reproduction, reproduction_to_dict

    check_folder(cache)
    require_one_kind(jobs, dask)
    cases = _cases(Path(samples), kernels, machine, size)
    kept = Cache(finished_runs(cache))
    points: list[Point] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, engine) as executor, progress(as_json) as show:
        try:
            points.extend(reproduced(cases, executor, kept, show, tally, scheduler, engine, max_cycles))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    found = reproduction_to_dict(points, tally, code != 0, str(kept.folder))
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "paper": paper, **found})
    elif points:
        say(("PARTIAL: interrupted.\n\n" if code else "") + render_reproduction(found))
    if code:
        fail_interrupted(kept.folder, code)
    _judge(points)


def _judge(points: Sequence[Point]) -> None:
    """Exit code 1 where results differ, or where no original could be run."""
    from binalloc.pipeline.sweeping.tasks import OK

    rows = [row for point in points for row in (point.original, *point.levels)]
    different = sum(row["same_results"] is False for row in rows)
    if different:
        fail(f"{different} of {len(rows)} versions have other results than the original", 1)
    if all(point.original["status"] != OK for point in points):
        fail("no original could be run", 1)


def _cases(samples: Path, kernels: Sequence[str], machine: str | None, size: str | None) -> list[Case]:
    """What is run: the benchmarks on the machines, machine by machine as the paper's figures are."""
    from binalloc.launch.file import load_launch
    from binalloc.pipeline.papers.reproduce import Case
    from binalloc.pipeline.papers.unified import BENCHMARKS, MACHINES
    from binalloc.report.samples import beside, find_samples

    named = list(dict.fromkeys(machine.split(","))) if machine else list(MACHINES)
    _known(named, MACHINES, "no machine of the paper's")
    _known(kernels, [b.kernel for b in BENCHMARKS], "no benchmark of the paper's")
    found = find_samples(samples)
    cases = []
    for one in named:
        for benchmark in BENCHMARKS:
            if kernels and benchmark.kernel not in kernels:
                continue
            sample = benchmark.on[one].sample
            if sample not in found:
                raise UsageError("a sample is missing", file=str(samples), found="no " + sample, expected=sample)
            file = str(beside(found[sample], ".ptx"))
            launch = load_launch(beside(found[sample], ".toml"), size)
            cases.append(Case(benchmark, *subject_of(read_file(file), file, launch, one)))
    return cases


def _known(names: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise UsageError(what, found=name, expected=", ".join(known))
