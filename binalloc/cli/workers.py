"""This module has the options of long commands: who does the work, and where finished runs are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from binalloc.cli.options import all_of, integer
from binalloc.cli.terminal import fail, note
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.steps.row import Row
    from binalloc.pipeline.sweeping.executors import Executor

_CACHE = click.option(
    "--cache", metavar="DIR", help="Where finished runs are kept.  [default: beside the emulator's code]"
)
_JOBS = click.option(
    "--jobs", type=integer(1, 1024), metavar="N", help="Processes; 1: only this one.  [default: one per core]"
)
_DASK = click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler, as tcp://host:port.")
workers_options = all_of(_CACHE, _JOBS, _DASK)


def require_one_kind(jobs: int | None, dask: str | None) -> None:
    """Raise UsageError if both --jobs and --dask are given."""
    if dask is not None and jobs is not None:
        raise UsageError("--jobs says how many processes run here, --dask that others run", remedy="Give one of them.")


def finished_runs(cache: str | None) -> Path:
    """Return the folder for finished runs. cache: the value of --cache. Raise UsageError if no folder is safe."""
    from binalloc.emulator.host.engines.cache import cache_folder, is_temporary

    if cache is not None:
        return Path(cache)
    folder = cache_folder("sweep")
    if folder is None:
        raise UsageError("there is no safe folder to keep finished runs in", remedy="Give --cache DIR.")
    if is_temporary(folder):
        note("finished runs are kept until the end of this command only: --cache DIR keeps them")
    return folder


def executor_of(dask: str | None, jobs: int | None, options: RunOptions, most: int | None = None) -> Executor:
    """Return the executor of the runs. jobs: processes, None for one per core. most: upper limit, the count of runs."""
    from binalloc.emulator.runs.warm import warm_up
    from binalloc.pipeline.sweeping.executors import Here, Processes

    if dask is not None:
        from binalloc.pipeline.sweeping.cluster import Cluster

        return Cluster(dask)
    wanted = jobs or os.cpu_count() or 1
    processes = wanted if most is None else min(wanted, most)
    return Here() if processes == 1 else Processes(processes, lambda: warm_up(options.engine))


def fail_interrupted(folder: Path, code: int) -> NoReturn:
    """End the process after an interruption. folder: folder of the finished runs. code: exit code."""
    fail(f"interrupted; finished runs are kept in {folder}: the same command goes on from there", code)


def judge_rows(rows: Sequence[Row], what: str) -> None:
    """End the process with code 1 if results differ from the original's, or if nothing could be run.

    what: word for the rows, in the plural.
    """
    from binalloc.pipeline.steps.row import OK

    different = sum(row.same_results is False for row in rows)
    if different:
        fail(f"{different} of {len(rows)} {what} have other results than the original", 1)
    if all(row.status != OK for row in rows):
        fail("nothing could be run", 1)
