"""`binalloc run`: a kernel on the SM emulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.commands.run_program import LISTED, Told, refuse_for_program, run_a_program
from binalloc.cli.files import apart, check_folder, check_output, not_over
from binalloc.cli.gather import gathered
from binalloc.cli.inputs import machine_of, told_machine
from binalloc.cli.load import load_or_import
from binalloc.cli.observe import EXIT_STOPPED, Observed, observe_options, refuse_alone
from binalloc.cli.options import integer, json_option, refuse_for_one_launch
from binalloc.cli.run_options import run_options
from binalloc.cli.source import Source, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, note, print_json, progress, say
from binalloc.emulator.accelsim.limit import DEFAULT_LIMIT
from binalloc.errors import Interrupted, KernelFault, LimitHit

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.launch.types import Launch

EVERY = 10_000
"""Cycles of an interval where none are asked for."""


def _how_many(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The value of --annotate: `all`, or the text of a number, at least 1."""
    if value is None or value == "all":
        return value
    if not value.isdecimal():
        raise click.BadParameter(
            f"{value!r} is neither 'all' nor a number. Before another argument write --annotate=all.", ctx, param
        )
    return str(integer(1)(value, param, ctx))


def _how_many_launches(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """The value of --timeline: a number, at least 1, or `all`, which is None."""
    return None if value == "all" else int(integer(1)(value, param, ctx))


def _check_series(series: str | None) -> None:
    """UsageError where a series cannot be written to that file."""
    from binalloc.report.runs.series import require_format

    if series is not None:
        require_format(series)
        check_output(series, as_json=False, option="--series")


def _tell_rest(found: dict[str, Any]) -> None:
    """On stderr, what a series does not show."""
    series = found.get("series", {})
    if series.get("full_at_cycle") is not None:
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
        help="Show what each instruction did and waited for, beside its source line; with =N the N hottest alone.",
    ),
    click.option(
        "--source", "sources", type=click.Path(exists=True, file_okay=False),
        help="Folder of the source files, for --annotate.",
    ),
    click.option(
        "--series",
        type=click.Path(dir_okay=False),
        metavar="FILE.csv|FILE.json",
        help="Write all counters of every interval of --every cycles; what is left after 10,000 of them is one more.",
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
    click.option("--save", type=click.Path(file_okay=False), help="Folder for the final buffers as .npy files."),
    click.option(
        "--step",
        type=integer(0),
        metavar="N",
        help="Of a launch file with a sequence: show its launch of that number, after those before it have run.",
    ),
    click.option(
        "--timeline",
        callback=_how_many_launches,
        default=str(LISTED),
        show_default=True,
        metavar="N|all",
        help="Launches of a sequence that are listed, the first and the last ones.",
    ),
)


@dataclass(frozen=True)
class Shown:
    """What is to be shown and written of the run, as the options have it."""

    reference: bool
    annotate: str | None
    sources: str | None
    series: str | None
    profile: str | None
    every: int | None
    accelsim_trace: str | None
    accelsim_limit: int
    save: str | None
    step: int | None
    timeline: int | None

    def check(self, source: Source, trace: str | None) -> None:
        """UsageError where an output cannot be written, or would overwrite an input or another output."""
        _check_series(self.series)
        if self.profile is not None:
            check_output(self.profile, as_json=False, option="--profile")
        outputs = {"--series": self.series, "--profile": self.profile, "--trace": trace}
        for option, output in outputs.items():
            not_over(output, source.file, source.launch, source.machine, option=option)
        check_folder(self.save)
        check_folder(self.accelsim_trace)
        apart(outputs | {"--save": self.save, "--accelsim-trace": self.accelsim_trace})

    def asked(self) -> dict[str, Any]:
        """The same for the library: arguments of `run_to_dict`."""
        from binalloc.report.runs.run import Annotate

        most = None if self.annotate in (None, "all") else int(str(self.annotate))
        return {
            "accelsim": None if self.accelsim_trace is None else (self.accelsim_trace, self.accelsim_limit << 20),
            "series": self.series, "profile": self.profile,
            "annotate": None if self.annotate is None else Annotate(most, self.sources),
        }  # fmt: skip


@click.command()
@source_options
@json_option
@run_options("skews", "sms", "check", "race", "host_steps")
@gathered("shown", Shown, *_SHOWN)
@observe_options
def run(source: Source, as_json: bool, options: RunOptions, shown: Shown, observed: Observed) -> None:
    """Run a kernel, or a sequence of launches, on the SM emulator. Writes no file but those asked for. PTX is imported
    in memory first.

    A run that --max-cycles or Ctrl-C ends prints its statistics so far, marked as partial, and writes trace, series and
    profile up to there; it saves no buffers.
    """
    from binalloc.launch.program.types import Program

    context = click.get_current_context()
    refuse_alone(context)
    shown.check(source, observed.trace)
    wanted = observed.wanted(quiet=as_json)
    loaded = source.required()
    if shown.series is not None:
        options = replace(options, every=shown.every or EVERY)
    seen = {"wanted": wanted, **shown.asked()}
    if isinstance(loaded, Program):
        refuse_for_program(context, loaded, shown.step)
        told = Told(shown.reference, shown.save, shown.timeline, shown.step, seen, as_json)
        run_a_program(source, loaded, options, told)
        return
    refuse_for_one_launch(context)
    _run_one(source, loaded, options, shown, seen, as_json=as_json)


def _run_one(
    source: Source, launch: Launch, options: RunOptions, shown: Shown, seen: dict[str, Any], *, as_json: bool
) -> None:
    """Run one launch and print what there is to tell; ends with the exit code."""
    from binalloc.report.runs.printed import render_output
    from binalloc.report.runs.run import render_run, run_to_dict, stopped_to_dict

    named = launch.kernel if source.kernel is None else source.kernel
    module, _ = load_or_import(source.file, source.machine, named)
    model = machine_of(module, named, source.machine, runs=True)
    try:
        with progress(as_json) as show:
            found = run_to_dict(
                module, source.kernel, launch, replace(options, machine=model), reference=shown.reference,
                save=shown.save, progress=show, **seen,
            )  # fmt: skip
    except (LimitHit, Interrupted) as stopped:
        partial = stopped_to_dict(stopped)
        if partial is not None:
            _tell_rest(partial)
            if not as_json:
                say(render_run(partial))
        raise
    except KernelFault as fault:
        if not as_json:
            say(render_output(fault.printed))
        raise
    _tell_rest(found)
    if as_json:
        chosen = told_machine(module, named, source.machine, model)
        print_json({"schema_version": SCHEMA_VERSION, **found, **chosen})
    else:
        say(render_run(found))
    if found.get("break") is not None:
        sys.exit(EXIT_STOPPED)
    if found.get("reference") == "differs":
        sys.exit(1)
