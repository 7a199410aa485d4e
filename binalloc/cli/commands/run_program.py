"""This module is the part of `binalloc run` for launch files with a sequence of launches."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from binalloc.cli.inputs import machine_fields, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.terminal import SCHEMA_VERSION, Ended, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.cli.source import GivenSource
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.report.shapes.commands.run_program import EndedProgramJson
    from binalloc.report.shapes.parts.common import OnMachine

LISTED = 50
"""Default of --timeline, launches listed in the text: about a screen; chosen by hand. The JSON has all."""
_OF_ONE = {
    "trace": "--trace", "watches": "--watch", "breaks": "--break", "annotate": "--annotate", "series": "--series",
    "profile": "--profile", "accelsim_trace": "--accelsim-trace",
    "dram_log": "--dram-log",
}  # fmt: skip
"""Options that show one launch and so need --step, by parameter."""


def refuse_for_program(context: click.Context, program: Program, step: int | None) -> None:
    """Raise UsageError for options that mean nothing for a sequence of launches. step: the value of --step."""
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
            remedy="Give --step N: all launches up to number N in the timeline are run, and that one is shown.",
        )  # fmt: skip
    if step is not None and given["reference"]:
        raise UsageError("--reference compares what all launches leave", expected="no --step")


def ready(source: GivenSource, program: Program, options: RunOptions) -> tuple[Module, OnMachine, RunOptions]:
    """Return the binary with the program's kernels, the JSON fields on its machine, and the options with that machine.

    Raise UsageError if the program has host steps and --host-steps does not permit them.
    """
    from binalloc.emulator.runs.program import require_leave
    from binalloc.pipeline.steps.programs import kernels_of

    require_leave(program, options.host_steps)
    module, _ = load_or_import(source.file, source.machine, program.kernels)
    kernels = list(kernels_of(module, program).values())
    first = kernels[0].name if kernels else None
    model = machine_of(module, first, source.machine, runs=True)
    return module, machine_fields(module, first, source.machine, model), replace(options, machine=model)


def run_all(
    module: Module, program: Program, options: RunOptions, reference: bool, save: str | None, timeline: int | None,
    chosen: OnMachine, *, as_json: bool,
) -> None:  # fmt: skip
    """Run all launches and print the report. Exit with code 1 if the buffers differ from the reference.

    timeline: launches to list, None for all. chosen: the JSON fields on the machine. Raise Ended for a run cut short.
    """
    from binalloc.pipeline.running.program import run_whole_program
    from binalloc.report.runs.program import render_program
    from binalloc.report.runs.program_facts import program_json, save_program

    with progress(as_json) as show:
        done = run_whole_program(module, program, options, progress=show, reference=reference)
    found: EndedProgramJson = {
        "schema_version": SCHEMA_VERSION,
        **program_json(done, save_program(done, save)),
        **chosen,
    }
    if not as_json:
        say(render_program(found, timeline))
    if done.ended is not None:
        raise Ended(done.ended, found)
    if as_json:
        print_json(found)
    if done.reference is not None and not done.reference.same:
        sys.exit(1)
