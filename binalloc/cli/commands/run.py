"""`binalloc run` runs a kernel on the SM emulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from binalloc.cli.commands.run_program import LISTED, ready, refuse_for_program, run_all
from binalloc.cli.files import apart, check_folder, check_output, not_over
from binalloc.cli.gather import gathered
from binalloc.cli.inputs import machine_fields, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.observe import EXIT_STOPPED, Observed, observe_options, refuse_alone
from binalloc.cli.options import integer, json_option, refuse_for_one_launch
from binalloc.cli.run_options import run_options
from binalloc.cli.source import GivenSource, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, Ended, note, print_json, progress, say
from binalloc.emulator.traces.dram_limit import DEFAULT_LIMIT as DRAM_LOG_LIMIT
from binalloc.errors import KernelFault
from binalloc.laboratory.accelsim.limit import DEFAULT_LIMIT

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.traces.dram_log import DramLog
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch
    from binalloc.pipeline.running.run import KernelRun, MakeRecorder
    from binalloc.report.runs.facts import Annotate
    from binalloc.report.runs.files import Files
    from binalloc.report.shapes.commands.runs import EndedRunJson, RunFields
    from binalloc.report.shapes.parts.common import OnMachine

EVERY = 10_000
"""Default of --every, cycles of an interval of a series: 10,000 intervals then cover a run of 100 million cycles."""


def _how_many(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Convert the value of --annotate: `all`, or the text of a number from 1 up."""
    if value is None or value == "all":
        return value
    if not value.isdecimal():
        raise click.BadParameter(
            f"{value!r} is neither 'all' nor a number. Before another argument write --annotate=all.", ctx, param
        )
    return str(integer(1)(value, param, ctx))


def _how_many_launches(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Convert the value of --timeline: a number from 1 up, or `all`, which becomes None."""
    return None if value == "all" else int(integer(1)(value, param, ctx))


def _check_series(series: str | None) -> None:
    """Raise UsageError if a series cannot be written to that file."""
    from binalloc.report.runs.series import require_format

    if series is not None:
        require_format(series)
        check_output(series, as_json=False, option="--series")


def _note_full_series(found: RunFields) -> None:
    """Print on stderr, if a series became full, from which cycle on its last interval has all cycles."""
    series = found.get("series")
    if series is not None and series["full_at_cycle"] is not None:
        note(
            f"{series['file']}: all cycles from {series['full_at_cycle']:,} on are one interval, the last of "
            f"{series['intervals']:,}; see --every"
        )


_SHOWN = (
    click.option("--reference", is_flag=True, help="Compare the buffers with the launch file's reference."),
    click.option(
        "--annotate",
        is_flag=False,
        flag_value="all",
        metavar="[all|N]",
        callback=_how_many,
        help="Show what each instruction did and waited for, beside its source line; with =N only the N hottest.",
    ),
    click.option(
        "--source",
        "sources",
        type=click.Path(exists=True, file_okay=False),
        help="Folder of the source files, for --annotate.",
    ),
    click.option(
        "--series",
        type=click.Path(dir_okay=False),
        metavar="FILE.csv|FILE.json",
        help="Write all counters of every interval of --every cycles; after 10,000 intervals one more has the rest.",
    ),
    click.option(
        "--profile",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write how often code was executed, for rewrite --profile and compare-allocators --profile.",
    ),
    click.option(
        "--every", type=integer(1), metavar="N", help=f"Cycles of an interval of --series.  [default: {EVERY:,}]"
    ),
    click.option(
        "--accelsim-trace",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Folder for the run as a trace that the simulator Accel-Sim reads.",
    ),
    click.option(
        "--accelsim-limit",
        type=integer(1),
        default=DEFAULT_LIMIT >> 20,
        show_default=True,
        metavar="MIB",
        help="Size of the longest trace for Accel-Sim; a longer one ends the run with exit code 4.",
    ),
    click.option(
        "--dram-log",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="New folder for what DRAM was asked for and told, as files for DRAMsim3, Ramulator 2 and DRAMPower.",
    ),
    click.option(
        "--dram-log-limit",
        type=integer(1),
        default=DRAM_LOG_LIMIT >> 20,
        show_default=True,
        metavar="MIB",
        help="Size of all files of --dram-log; of a longer run they hold the beginning.",
    ),
    click.option("--save", type=click.Path(file_okay=False), help="Folder for the final buffers as .npy files."),
    click.option(
        "--step",
        type=integer(0),
        metavar="N",
        help="Of a sequence of launches, show number N, after the launches before it have run.",
    ),
    click.option(
        "--timeline",
        callback=_how_many_launches,
        default=str(LISTED),
        show_default=True,
        metavar="N|all",
        help="Launches of a sequence to list, the first and the last ones.",
    ),
)


@dataclass(frozen=True)
class Shown:
    """The record holds what to show and to write about a run, as the options give it."""

    reference: bool  #: whether buffers are compared with the reference
    annotate: str | None  #: `all`, or the number of hottest instructions to show
    sources: str | None  #: folder of the source files
    series: str | None  #: file of the series
    profile: str | None  #: file of the profile
    every: int | None  #: cycles of an interval of the series
    accelsim_trace: str | None  #: folder of the trace for Accel-Sim
    accelsim_limit: int  #: most MiB of that trace
    dram_log: str | None  #: folder of the DRAM log
    dram_log_limit: int  #: most MiB of its files
    save: str | None  #: folder for the buffers
    step: int | None  #: number of the launch to show, of a sequence
    timeline: int | None  #: launches of a sequence to list; None for all

    def check(self, source: GivenSource, trace: str | None) -> None:
        """Raise UsageError if an output cannot be written, or would overwrite an input or another output."""
        _check_series(self.series)
        if self.profile is not None:
            check_output(self.profile, as_json=False, option="--profile")
        outputs = {"--series": self.series, "--profile": self.profile, "--trace": trace}
        for option, output in outputs.items():
            not_over(output, source.file, source.launch, source.machine, option=option)
        check_folder(self.save)
        check_folder(self.accelsim_trace)
        check_folder(self.dram_log)
        folders = {"--save": self.save, "--accelsim-trace": self.accelsim_trace, "--dram-log": self.dram_log}
        apart(outputs | folders)

    @property
    def files(self) -> Files:
        """Return the files to write."""
        from binalloc.report.runs.files import Files

        return Files(self.series, self.profile, self.save, self.accelsim_trace, self.dram_log)

    @property
    def instructions(self) -> Annotate | None:
        """Return which single instructions to show; None for none."""
        from binalloc.report.runs.facts import Annotate

        if self.annotate is None:
            return None
        return Annotate(None if self.annotate == "all" else int(self.annotate), self.sources)

    @property
    def recorder(self) -> MakeRecorder | None:
        """Return the function that makes the recorder of a trace for Accel-Sim; None without --accelsim-trace."""
        if self.accelsim_trace is None:
            return None
        from binalloc.laboratory.accelsim.trace import AccelsimTrace

        folder, most = self.accelsim_trace, self.accelsim_limit << 20
        return lambda module, kernel, launch: AccelsimTrace(folder, module, kernel, launch, most)

    @property
    def made_dram_log(self) -> DramLog | None:
        """Return a DRAM log for a run; None without --dram-log."""
        if self.dram_log is None:
            return None
        from binalloc.emulator.traces.dram_log import DramLog

        return DramLog(Path(self.dram_log), self.dram_log_limit << 20)


@click.command()
@source_options
@json_option
@run_options("cpu", "cpu_rows", "cpu_first", "skews", "sms", "check", "race", "host_steps", "smm", "over", "sharing")
@gathered("shown", Shown, *_SHOWN)
@observe_options
def run(source: GivenSource, as_json: bool, options: RunOptions, shown: Shown, observed: Observed) -> None:
    """Run a kernel, or a sequence of launches, on the SM emulator. Only the files asked for are written. PTX is
    imported in memory first.

    If --max-cycles or Ctrl-C ends the run, its statistics so far are printed, marked as partial. Trace, series and
    profile are written up to that cycle; no buffers are saved.
    """
    from binalloc.launch.program.types import Program

    context = click.get_current_context()
    refuse_alone(context)
    shown.check(source, observed.trace)
    wanted = observed.wanted(quiet=as_json)
    loaded = source.required()
    every = None if shown.series is None else shown.every or EVERY
    options = replace(options, every=every, profile=shown.annotate is not None, by_object=True)
    if isinstance(loaded, Program):
        refuse_for_program(context, loaded, shown.step)
        module, chosen, options = ready(source, loaded, options)
        if shown.step is None:
            run_all(module, loaded, options, shown.reference, shown.save, shown.timeline, chosen, as_json=as_json)
            return
        from binalloc.pipeline.running.program import run_step

        go = partial(
            run_step, module, loaded, options, shown.step, wanted=wanted, recorder=shown.recorder,
            dram_log=shown.made_dram_log,
        )  # fmt: skip
    else:
        refuse_for_one_launch(context)
        named = loaded.kernel if source.kernel is None else source.kernel
        module, _ = load_or_import(source.file, source.machine, named)
        model = machine_of(module, named, source.machine, runs=True)
        chosen = machine_fields(module, named, source.machine, model)
        from binalloc.pipeline.running.run import run_kernel

        options = _batched(module, source.kernel, loaded, replace(options, machine=model), as_json=as_json)
        go = partial(
            run_kernel, module, source.kernel, loaded, options, wanted=wanted,
            reference=shown.reference, recorder=shown.recorder, dram_log=shown.made_dram_log,
        )  # fmt: skip
    _print(_run(go, as_json=as_json), shown, chosen, as_json=as_json)


def _batched(
    module: Module, kernel: str | None, launch: Launch, options: RunOptions, *, as_json: bool
) -> RunOptions:
    """Return the options with batches of blocks, if a policy needs some that are to be found."""
    from binalloc.pipeline.batches.chosen import with_batches

    with progress(as_json) as show:
        found, text = with_batches(module, kernel, launch, options, show)
    if text:
        note(text)
    return found


def _run(go: partial[KernelRun], *, as_json: bool) -> KernelRun:
    """Run a kernel. If it faults, print its output up to the fault, and raise the fault.

    go: the function that runs it, which lacks only `progress`.
    """
    from binalloc.report.runs.printed import render_output

    try:
        with progress(as_json) as show:
            return go(progress=show)
    except KernelFault as fault:
        if not as_json:
            say(render_output(fault.printed))
        raise


def _print(done: KernelRun, shown: Shown, chosen: OnMachine, *, as_json: bool) -> None:
    """Write the files of a run and print its report. Exit with a code if the run ended early or its results differ."""
    from binalloc.report.runs.facts import run_json
    from binalloc.report.runs.files import write_files
    from binalloc.report.runs.run import render_run

    found: EndedRunJson = {
        "schema_version": SCHEMA_VERSION,
        **run_json(done, write_files(done, shown.files), shown.instructions),
        **chosen,
    }
    _note_full_series(found)
    if not as_json:
        say(render_run(found))
    if done.ended is not None:
        raise Ended(done.ended, found)
    if as_json:
        print_json(found)
    if done.stopped_at is not None:
        sys.exit(EXIT_STOPPED)
    if done.reference is not None and not done.reference.same:
        sys.exit(1)
