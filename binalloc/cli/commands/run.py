"""`binalloc run`: a kernel on the SM emulator."""

from __future__ import annotations

import sys
from typing import Any

import click

from binalloc.cli.commands.run_program import LISTED, Asked, refuse_for_program, run_a_program
from binalloc.cli.files import apart, check_folder, check_output, not_over
from binalloc.cli.inputs import machine_of, required_launches, told_machine
from binalloc.cli.load import load_or_import
from binalloc.cli.observe import EXIT_STOPPED, refuse_alone, trace_file, trace_options, wanted_of, watch_options
from binalloc.cli.options import (
    engine_option,
    file_argument,
    host_steps_option,
    integer,
    json_option,
    kernel_option,
    launch_option,
    max_cycles_option,
    options,
    own_machine_option,
    refuse_for_one_launch,
    size_option,
    skews_option,
)
from binalloc.cli.tables import scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, note, print_json, progress, say
from binalloc.emulator.accelsim.limit import DEFAULT_LIMIT
from binalloc.errors import Interrupted, KernelFault, LimitHit

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


@click.command()
@options(
    file_argument,
    kernel_option,
    own_machine_option,
    launch_option,
    size_option,
    engine_option,
    max_cycles_option,
    json_option,
)
@scheduler_option
@skews_option
@click.option("--sms", type=integer(1), default=1, show_default=True, help="SMs to emulate.")
@click.option("--check", is_flag=True, help="Propagate poison from uninitialised registers and shared words.")
@click.option("--race", is_flag=True, help="Find shared-memory races between barriers.")
@click.option("--reference", is_flag=True, help="Compare the buffers with the launch file's reference.")
@click.option(
    "--annotate",
    is_flag=False,
    flag_value="all",
    metavar="[all|N]",
    callback=_how_many,
    help="Show what each instruction did and waited for, beside its source line; with =N the N hottest alone.",
)
@click.option(
    "--source", type=click.Path(exists=True, file_okay=False), help="Folder of the source files, for --annotate."
)
@click.option(
    "--series",
    type=click.Path(dir_okay=False),
    metavar="FILE.csv|FILE.json",
    help="Write all counters of every interval of --every cycles; what is left after 10,000 of them is one more.",
)
@click.option(
    "--profile",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write how often code was executed, for rewrite --profile and compare-allocators --profile.",
)
@click.option("--every", type=integer(1), metavar="N", help=f"Cycles of an interval of --series.  [default: {EVERY:,}]")
@click.option(
    "--accelsim-trace",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder for the run as a trace that the simulator Accel-Sim reads.",
)
@click.option(
    "--accelsim-limit",
    type=integer(1),
    default=DEFAULT_LIMIT >> 20,
    show_default=True,
    metavar="MIB",
    help="Size of the longest trace for Accel-Sim; a longer one ends the run with exit code 4.",
)
@click.option("--save", type=click.Path(file_okay=False), help="Folder for the final buffers as .npy files.")
@click.option(
    "--step",
    type=integer(0),
    metavar="N",
    help="Of a launch file with a sequence: show its launch of that number, after those before it have run.",
)
@click.option(
    "--timeline",
    callback=_how_many_launches,
    default=str(LISTED),
    show_default=True,
    metavar="N|all",
    help="Launches of a sequence that are listed, the first and the last ones.",
)
@host_steps_option
@trace_options
@watch_options
def run(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
    skews: int,
    sms: int,
    check: bool,
    race: bool,
    reference: bool,
    annotate: str | None,
    source: str | None,
    series: str | None,
    profile: str | None,
    every: int | None,
    accelsim_trace: str | None,
    accelsim_limit: int,
    save: str | None,
    trace: str | None,
    trace_window: tuple[int, int | None] | None,
    trace_every: int | None,
    trace_limit: int,
    trace_counters: int,
    watches: tuple[str, ...],
    watch_limit: int,
    breaks: tuple[str, ...],
    step: int | None,
    timeline: int | None,
    host_steps: bool,
) -> None:
    """Run a kernel, or a sequence of launches, on the SM emulator. Writes no file but those asked for. PTX is imported
    in memory first.

    A run that --max-cycles or Ctrl-C ends prints its statistics so far, marked as partial, and writes trace, series and
    profile up to there; it saves no buffers.
    """
    from binalloc.launch.program.types import Program
    from binalloc.report.runs.printed import render_output
    from binalloc.report.runs.run import Annotate, render_run, run_to_dict, stopped_to_dict

    refuse_alone(click.get_current_context())
    _check_series(series)
    if profile is not None:
        check_output(profile, as_json=False, option="--profile")
    outputs = {"--series": series, "--profile": profile, "--trace": trace}
    for option, output in outputs.items():
        not_over(output, file, launch, machine, option=option)
    check_folder(save)
    check_folder(accelsim_trace)
    apart(outputs | {"--save": save, "--accelsim-trace": accelsim_trace})
    file_of_trace = trace_file(trace, trace_window, trace_every, trace_limit, trace_counters)
    wanted = wanted_of(file_of_trace, watches, watch_limit, breaks, as_json)
    loaded = required_launches(launch, size)
    settings = {
        "engine": engine, "scheduler": scheduler, "max_cycles": max_cycles, "sms": sms, "check": check, "race": race,
        **({} if series is None else {"every": every or EVERY}),
    }  # fmt: skip
    seen: dict[str, Any] = {
        "accelsim": None if accelsim_trace is None else (accelsim_trace, accelsim_limit << 20),
        "wanted": wanted, "series": series, "profile": profile,
        "annotate": None if annotate is None else Annotate(None if annotate == "all" else int(annotate), source),
    }  # fmt: skip
    if isinstance(loaded, Program):
        refuse_for_program(click.get_current_context(), loaded, step)
        settings["host_steps"] = host_steps
        run_a_program(loaded, Asked(file, machine, settings, reference, save, timeline, step, seen, as_json))
        return
    refuse_for_one_launch(click.get_current_context())
    named = loaded.kernel if kernel is None else kernel
    module, _ = load_or_import(file, machine, named)
    model = machine_of(module, named, machine, runs=True)
    try:
        with progress(as_json) as show:
            found = run_to_dict(
                module, kernel, loaded, model, settings, skews=skews, reference=reference, save=save, progress=show,
                **seen,
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
        print_json({"schema_version": SCHEMA_VERSION, **found, **told_machine(module, named, machine, model)})
    else:
        say(render_run(found))
    if found.get("break") is not None:
        sys.exit(EXIT_STOPPED)
    if found.get("reference") == "differs":
        sys.exit(1)
