"""`binalloc run` where the launch file has a sequence of launches."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from binalloc.cli.inputs import machine_of, told_machine
from binalloc.cli.load import load_or_import
from binalloc.cli.observe import EXIT_STOPPED
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say
from binalloc.errors import Interrupted, LimitHit, UsageError

if TYPE_CHECKING:
    from binalloc.cli.source import Source
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.launch.program.types import Program

LISTED = 50
"""Launches that a text lists where none are asked for."""
_OF_ONE = {
    "trace": "--trace", "watches": "--watch", "breaks": "--break", "annotate": "--annotate", "series": "--series",
    "profile": "--profile", "accelsim_trace": "--accelsim-trace",
}  # fmt: skip
"""Options that show one launch, by parameter."""



class Told(NamedTuple):
    """What is to be told of the run. timeline: launches that are listed, None for all. step: the one launch that is
    told of, None for all. seen: what is to be seen of it, for `run_to_dict`."""

    reference: bool
    save: str | None
    timeline: int | None
    step: int | None
    seen: dict[str, Any]
    as_json: bool


def refuse_for_program(context: click.Context, program: Program, step: int | None) -> None:
    """UsageError for options that mean nothing for a sequence of launches."""
    given = context.params
    if given["kernel"] is not None:
        raise UsageError(
            "--kernel chooses the kernel of one launch", file=program.path, found=given["kernel"],
            expected="no --kernel: the launch file's steps name " + ", ".join(program.kernels),
        )  # fmt: skip
    if given["skews"]:
        raise UsageError("--skews repeats one launch", file=program.path, expected="a launch file of one launch")
    shown = [option for name, option in _OF_ONE.items() if given[name]]
    if step is None and shown:
        raise UsageError(
            f"{shown[0]} shows one launch, and the launch file has a sequence", file=program.path,
            remedy="Give --step N: the launch of that number in the timeline is shown, after those before it have run.",
        )  # fmt: skip
    if step is not None and given["reference"]:
        raise UsageError("--reference compares what all launches leave", expected="no --step")


def run_a_program(source: Source, program: Program, options: RunOptions, asked: Told) -> None:
    """Run it, or up to one launch, and print what there is to tell; ends with the exit code."""
    from binalloc.emulator.runs.program import require_leave
    from binalloc.pipeline.program import kernels_of
    from binalloc.report.runs.program import launch_to_dict, program_run_to_dict, render_program
    from binalloc.report.runs.run import render_run

    require_leave(program, options.host_steps)
    module, _ = load_or_import(source.file, source.machine, program.kernels)
    kernels = list(kernels_of(module, program).values())
    first = kernels[0].name if kernels else None
    model = machine_of(module, first, source.machine, runs=True)
    options = replace(options, machine=model)
    chosen = told_machine(module, first, source.machine, model)
    if asked.step is not None:
        with progress(asked.as_json) as show:
            found = launch_to_dict(
                module, program, options, asked.step, reference=False, save=asked.save, progress=show, **asked.seen
            )
        _print(asked, found, chosen, render_run)
        if found.get("break") is not None:
            sys.exit(EXIT_STOPPED)
        return

    def render(found: dict[str, Any]) -> str:
        return render_program(found, asked.timeline)

    try:
        with progress(asked.as_json) as show:
            found = program_run_to_dict(
                module, program, options, reference=asked.reference, save=asked.save, progress=show
            )  # fmt: skip
    except (LimitHit, Interrupted) as stopped:
        if stopped.report is not None and not asked.as_json:
            say(render(stopped.report))
        raise
    _print(asked, found, chosen, render)
    if found.get("reference") == "differs":
        sys.exit(1)


def _print(asked: Told, found: dict[str, Any], chosen: dict[str, str], render: Any) -> None:
    if asked.as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found, **chosen})
    else:
        say(render(found))
