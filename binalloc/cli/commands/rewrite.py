"""`binalloc rewrite` allocates registers, rewrites a binary, proves the rewrite and measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binalloc.cli.commands.rewrite_program import refuse_for_program, rewrite_a_program
from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.group import SPELLINGS
from binalloc.cli.inputs import (
    fitting_launch,
    kernel_of,
    machine_from,
    machine_of,
    require_machine,
    require_runs,
    require_something_to_run,
)
from binalloc.cli.load import load_or_import
from binalloc.cli.options import json_option, output_option, refuse_for_one_launch
from binalloc.cli.request_options import GivenRequest, request_options, with_named_scheduler
from binalloc.cli.run_options import run_options
from binalloc.cli.source import GivenSource, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.pipeline import Outcome
    from binalloc.report.shapes.commands.rewrite import ExplainedJson, RewriteJson


@click.command()
@source_options
@output_option
@json_option
@request_options(
    "registers", "slots", "blocks", "automatic", "block", "policy", "readings", "allocator", "solver_limit", "layout",
    "profile", "inline", "multiplex", "sharing", "block_order", "schedulers", "whole_gpu", "explain", "emulate",
)
@run_options("skews", "host_steps", "sms")
def rewrite(source: GivenSource, output: str | None, as_json: bool, wanted: GivenRequest, options: RunOptions) -> None:
    """Rewrite a kernel for a register budget, for a number of blocks, or for the best number; prove and measure it. If
    the launch file has a sequence of launches, rewrite each of its kernels, or only the one that --kernel names.

    The binary is written to -o FILE; without -o only the report is printed. PTX is imported in memory first.
    """
    from binalloc.isa.sets.files import write_module
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Request, add_provenance, find_kernel, rewrite_kernel

    check_output(output, as_json)
    require_machine(source.machine)
    not_over(output, source.file, source.launch, source.machine, wanted.profile)
    wanted.require_consistent()
    _require_launch(source.launch, wanted.emulate, options.skews)
    for option, runs in (("--multiplex", wanted.multiplexes), ("--sharing", wanted.shares)):
        if runs:
            require_runs(option, source.launch, wanted.emulate)
    wanted = with_named_scheduler(wanted, options)
    loaded = source.any()
    if isinstance(loaded, Program):
        refuse_for_program(click.get_current_context().params, loaded)
        rewrite_a_program(source, loaded, wanted, options, output, as_json=as_json)
        return
    refuse_for_one_launch(click.get_current_context())
    counted = wanted.counted()
    named = kernel_of(source.kernel, loaded, counted)
    module, data = load_or_import(source.file, source.machine, named)
    name = find_kernel(module, named).name
    model = machine_of(module, name, source.machine, runs=False)
    loaded = fitting_launch(loaded, module, name)
    emulate = loaded is not None if wanted.emulate is None else wanted.emulate
    with progress(as_json) as show:
        request = Request(
            name, model, loaded, options=options, emulate=emulate, profile=counted, progress=show, **wanted.fields()
        )
        outcome = rewrite_kernel(module, request)
    if output is not None and outcome.verified:
        write_output(output, write_module(add_provenance(outcome, data)))
    _print(module, outcome, machine_from(module, name, source.machine, model), output, as_json=as_json)
    if not outcome.verified:
        fail(f"{name}: the rewritten binary does not give the same results; nothing was written", 1)


def _print(module: Module, outcome: Outcome, chosen: str, output: str | None, *, as_json: bool) -> None:
    """Print the report, unless the binary goes to standard output. chosen: why that machine was taken."""
    from binalloc.report.explain import explanation, render_explanation
    from binalloc.report.rewrite import render_outcome
    from binalloc.report.versions import outcome_to_dict

    request, rewritten = outcome.request, outcome.rewritten
    values = explanation(request.prepared_for(module).module, rewritten.explained) if request.explain else None
    shown = outcome_to_dict(outcome, SPELLINGS)
    if as_json:
        explained: ExplainedJson = {} if values is None else {"explanation": values}
        found: RewriteJson = {
            "schema_version": SCHEMA_VERSION,
            **shown,
            "machine_from": chosen,
            **explained,
        }
        print_json(found)
    elif output != "-":
        say(render_outcome(outcome, shown.get("turns"), shown.get("pairs"), shown.get("block_order")))
        if values is not None:
            say(render_explanation(values, rewritten.copies))
        if output is None and outcome.verified:
            say("No file was written (-o FILE).\n")


def _require_launch(launch: str | None, emulate: bool | None, skews: int) -> None:
    """Raise UsageError if an option asks for runs but there is nothing to run."""
    require_something_to_run(launch, emulate)
    if skews and (launch is None or emulate is False):
        raise UsageError("--skews says how often to emulate again", expected="--launch FILE, without --no-emulate")
