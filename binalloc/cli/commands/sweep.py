"""`binalloc sweep` runs kernels at every level, with several allocators, on several machines, and makes a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.files import check_folder, check_output, not_over, read_file, write_output
from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.inputs import machine_fields, optional_launch, require_machine
from binalloc.cli.load import subjects_of
from binalloc.cli.options import (
    NumberList,
    all_of,
    block_of,
    block_option,
    json_option,
    launch_option,
    max_cycles_of,
    multiplex_option,
    own_machines_option,
    size_option,
)
from binalloc.cli.run_options import run_options
from binalloc.cli.tables import ALLOCATOR_NAMES, SCHEDULER_NAMES
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say
from binalloc.cli.workers import (
    executor_of,
    fail_interrupted,
    finished_runs,
    judge_rows,
    require_one_kind,
    workers_options,
)
from binalloc.errors import UsageError
from binalloc.printable import one_line

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.block import Three
    from binalloc.pipeline.steps.row import Row
    from binalloc.pipeline.sweeping.configuration import Configuration
    from binalloc.report.shapes.commands.sweep import SweepJson, SweptKernel


def _limits() -> tuple[int, int]:
    """Return the least and the greatest number of blocks per SM that a machine file may state."""
    from binalloc.models.machines.sections import SmLimits

    figure = SmLimits.__dataclass_fields__["blocks_per_sm"].metadata
    return figure["low"], figure["high"]


class LevelList(NumberList):
    """The option type reads `all`, `upwards`, or numbers of blocks such as `4,6-8`."""

    name = "levels"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from binalloc.pipeline.sweeping.configuration import ALL, UPWARDS

        return value if value in (ALL, UPWARDS) else super().convert(value, param, ctx)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True))
@all_of(launch_option, size_option, block_option)
@run_options(but=("scheduler",), max_cycles=max_cycles_of("and its row says `limit`"))
@json_option
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    help="Launch this kernel of each file, not the launch file's; may be repeated.",
)
@own_machines_option
@click.option(
    "--allocators",
    type=ALLOCATOR_NAMES,
    metavar="LIST",
    default="local,unified,best",
    show_default=True,
    help="By name.",
)
@click.option(
    "--schedulers",
    type=SCHEDULER_NAMES,
    metavar="LIST",
    default="lrr",
    show_default=True,
    help="Emulated warp schedulers, by name.",
)
@click.option(
    "--levels",
    type=LevelList(_limits),
    default="all",
    show_default=True,
    metavar="all|upwards|LIST",
    help="Blocks per SM: all that fit, the original's number and all above it, or numbers as 4,6-8.",
)
@multiplex_option
@click.option(
    "--sharing",
    "sharings",
    metavar="LIST",
    default="off",
    show_default=True,
    help="Rows, too, of versions whose blocks share memory two by two, as no GPU lets them: auto, shares of a block's "
    "bytes that stay private (between 0 and 1), or PAIRS:BYTES, with commas between. For the slots of an original that "
    "has some: PAIRS:BYTES:SLOTS, of which SLOTS are private.",
)
@click.option(
    "-o", "--output", type=click.Path(allow_dash=True), help="Output file: Parquet if named .parquet, else CSV."
)
@workers_options
def sweep(
    files: tuple[str, ...],
    launch: str | None,
    size: str | None,
    block: str | None,
    options: RunOptions,
    as_json: bool,
    kernels: tuple[str, ...],
    machine: str | None,
    allocators: tuple[str, ...],
    schedulers: tuple[str, ...],
    levels: str | tuple[int, ...],
    multiplex: str,
    sharings: str,
    output: str | None,
    cache: str | None,
    jobs: int | None,
    dask: str | None,
) -> None:
    """Run kernels at every number of blocks per SM, by several allocators, on several machines, for a table of rows.

    FILES are binaries, or PTX, which is imported in memory. Without --launch each is launched with the .toml file of
    the same name. If there is no such file, --block makes the launch that launch-skeleton suggests. Finished runs are
    kept: the same command goes on where another was stopped, and runs nothing twice. Without -o only the report is
    printed.
    """
    from binalloc.pipeline.sweeping.cache import Cache
    from binalloc.pipeline.sweeping.sweep import Tally
    from binalloc.pipeline.sweeping.sweep import sweep as sweeping
    from binalloc.report.sweep import PARQUET, csv_bytes, parquet_bytes, require_parquet, sweep_json

    check_output(output, as_json)
    check_folder(cache)
    require_machine(machine)
    machines: list[str | None] = [None] if machine is None else list(dict.fromkeys(machine.split(",")))
    given, shared = block_of(block, "--block"), _sharings(sharings)
    launches = {file: launch or _beside(file, given) for file in dict.fromkeys(files)}
    not_over(output, *files, *launches.values(), *machines)
    as_parquet = output is not None and output.lower().endswith(PARQUET)
    if as_parquet:
        require_parquet()
    require_one_kind(jobs, dask)
    chosen: list[SweptKernel] = []
    asked = [
        one
        for file, started in launches.items()
        for one in _asked(
            file, started, size, given, machines, kernels, levels, allocators, schedulers, options, multiplex,
            shared, chosen,
        )
    ]
    kept = Cache(finished_runs(cache))
    rows: list[Row] = []
    tally, code = Tally(), 0
    with executor_of(dask, jobs, options, len(asked)) as executor, progress(as_json) as show:
        try:
            rows.extend(sweeping(asked, executor, kept, show, tally))
        except KeyboardInterrupt as stopped:
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    written = output if not code else None
    if written is not None:
        write_output(written, (parquet_bytes if as_parquet else csv_bytes)(rows))
    if as_json:
        found: SweepJson = {
            "schema_version": SCHEMA_VERSION,
            "machines": chosen,
            **sweep_json(rows, tally, code != 0, str(kept.folder), written),
        }
        print_json(found)
    else:
        _say(rows, written, partial=code != 0)
    if code:
        fail_interrupted(kept.folder, code)
    judge_rows(rows, "rows")


def _sharings(text: str) -> list[str]:
    """Return the ways to share memory that an option lists, each once. Raises UsageError for what is none."""
    from binalloc.emulator.host.pairs import OFF, require_sharing
    from binalloc.pipeline.sharing.sharing import AUTO

    found = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for asked in found:
        require_sharing(asked, AUTO, OFF)
    return found


def _beside(file: str, block: Three | None) -> str | None:
    """Return the launch file with the same name as a binary; None if there is none, but a block size is given.

    Raise UsageError if there is neither.
    """
    path = Path(file).with_suffix(".toml")
    if block is not None and (file == "-" or not path.is_file()):
        return None
    if file == "-":
        raise UsageError("standard input has no launch file beside it", expected="--launch FILE")
    if not path.is_file():
        remedy = "Give --launch FILE; or --block X, for a launch as launch-skeleton suggests."
        raise UsageError("no launch file beside it", file=file, expected=str(path), remedy=remedy)
    return str(path)


def _asked(
    file: str,
    launch: str | None,
    size: str | None,
    block: Three | None,
    machines: list[str | None],
    kernels: tuple[str, ...],
    levels: str | tuple[int, ...],
    allocators: tuple[str, ...],
    schedulers: tuple[str, ...],
    options: RunOptions,
    multiplex: str,
    sharing: Sequence[str],
    chosen: list[SweptKernel],
) -> Iterator[Configuration]:
    """Yield all configurations to run of one file, and append to `chosen` which machine each kernel takes, and why.

    Raise an error for a bad binary, a bad launch or a bad machine.
    """
    from binalloc.pipeline.sweeping.configuration import configurations

    loaded = optional_launch(launch, size)
    data = read_file(file)
    for machine in machines:
        module, subjects = subjects_of(data, file, loaded, machine, kernels, block)
        for subject in subjects:
            taken = machine_fields(module, subject.kernel, machine, subject.machine)
            chosen.append({"file": subject.file, "kernel": subject.kernel, **taken})
            yield from configurations(module, subject, levels, allocators, schedulers, options, multiplex, sharing)


def _say(rows: list[Row], written: str | None, partial: bool) -> None:
    """Print the report: the rows, unless they were written to a file, and their number by status."""
    from binalloc.report.sweep import render_answers, render_counts, render_rows

    answers = render_answers(rows)
    if written is None and rows:
        marked = "PARTIAL: interrupted, further rows are not known.\n\n" if partial else ""
        head = f"{answers}\n" if answers else ""
        say(f"{head}{marked}{render_rows(rows)}\n{render_counts(rows)}")
    elif written is not None and written != "-":
        say(f"{answers}{render_counts(rows)}Written: {one_line(written)}\n")
