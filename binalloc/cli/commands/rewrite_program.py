"""This module is the part of `binalloc rewrite` for launch files with a sequence of launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from binalloc.cli.files import write_output
from binalloc.cli.inputs import machine_from, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import UsageError
from binalloc.pipeline.turns import OFF

if TYPE_CHECKING:
    from binalloc.cli.request_options import GivenRequest
    from binalloc.cli.source import GivenSource
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.launch.program.types import Program
    from binalloc.report.shapes.commands.rewrite import ProgramRewriteJson

_OF_ONE = ("skews", "explain", "profile", "block", "multiplex", "sharing", "block_order", "schedulers")
"""Options that have no meaning for a sequence: they concern one launch or one kernel."""


def refuse_for_program(given: dict[str, Any], program: Program) -> None:
    """Raise UsageError for options that mean nothing for a sequence of launches. given: the command's parameters."""
    for name in _OF_ONE:
        if given[name] and given[name] != OFF:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} applies to one launch only, and the launch file has a sequence", file=program.path,
                expected="a launch file of one launch",
            )  # fmt: skip
    if given["emulate"] is False:
        raise UsageError(
            "--no-emulate with a sequence: only a run says with which blocks its kernels are launched",
            file=program.path, expected="--emulate, or a launch file of one launch",
        )  # fmt: skip


def rewrite_a_program(
    source: GivenSource,
    program: Program,
    wanted: GivenRequest,
    options: RunOptions,
    output: str | None,
    *,
    as_json: bool,
) -> None:
    """Rewrite the program, write the binary if its results are the same, and print the report."""
    from binalloc.emulator.runs.program import require_leave
    from binalloc.isa.sets.files import write_module
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.pipeline.program_rewrite import STATIC_POLICY, rewrite_program
    from binalloc.report.program_rewrite import render_rewritten_program, rewritten_program_json

    require_leave(program, options.host_steps)
    machine = source.machine
    module, data = load_or_import(source.file, machine, program.kernels)
    only = None if source.kernel is None else find_kernel(module, source.kernel).name
    first = only if only is not None else find_kernel(module, program.kernels[0]).name if program.kernels else None
    model = machine_of(module, first, machine, runs=False)
    with progress(as_json) as show:
        fields = {"policy": STATIC_POLICY} | wanted.fields()
        request = Request(machine=model, options=options, progress=show, **fields)
        done = rewrite_program(module, data, program, request, only)
    if output is not None and done.verified:
        write_output(output, write_module(done.module))
    found: ProgramRewriteJson = {
        "schema_version": SCHEMA_VERSION,
        **rewritten_program_json(done),
        "machine_from": machine_from(module, first, machine, model),
    }
    if as_json:
        print_json(found)
    elif output != "-":
        say(render_rewritten_program(found))
        if output is None and done.verified:
            say("No file was written (-o FILE).\n")
    if not done.verified:
        fail("the rewritten binary does not give the same results; nothing was written", 1)
