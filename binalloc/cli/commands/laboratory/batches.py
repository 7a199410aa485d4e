"""`binalloc batches` profiles which block touches which page, and finds the batches of a kernel's blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from binalloc.cli.commands.run_program import ready
from binalloc.cli.inputs import machine_fields, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.options import integer, json_option, refuse_for_one_launch
from binalloc.cli.run_options import run_options
from binalloc.cli.source import GivenSource, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions


@click.command()
@source_options
@click.option(
    "--page-bytes",
    type=integer(1),
    default=4096,
    show_default=True,
    metavar="N",
    help="Size of a page: a power of two from 4096 (4 KB) to 2097152 (2 MB).",
)
@click.option(
    "--step",
    type=integer(0),
    metavar="N",
    help="Of a sequence of launches, profile number N, after the launches before it have run.",
)
@run_options("sms", "host_steps", "smm", "over", "sharing")
@json_option
def batches(
    source: GivenSource, page_bytes: int, step: int | None, options: RunOptions, as_json: bool
) -> None:  # fmt: skip
    """Profile which block touches which page of global memory, and find the batches of blocks that share pages.

    As in section 3.1 of "Thread Batching for High-performance Energy-efficient GPU Memory Design", a batch is a number
    of blocks in a row (a stride), or the blocks whose numbers are equal modulo some number. The smallest batches are
    taken that keep shared pages within them. Also prints how pages are shared between batches, and how many pages of
    4 KB, 64 KB and 2 MB the kernel and the resident blocks of one SM touch: what a TLB must reach.
    """
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.batches.profiled import profiled_batches, profiled_step, require_page_bytes
    from binalloc.report.views.batches import batches_json, render_batches

    require_page_bytes(page_bytes)
    loaded = source.required()
    if isinstance(loaded, Program):
        if source.kernel is not None or step is None:
            raise UsageError(
                "the launch file has a sequence of launches", file=loaded.path or None, place="--step",
                found="no --step" if step is None else "--kernel", expected="--step N, without --kernel",
                remedy="All launches up to number N are run, and that one is profiled.",
            )  # fmt: skip
        module, chosen, options = ready(source, loaded, options)
        go = partial(profiled_step, module, loaded, options, step, page_bytes)
    else:
        refuse_for_one_launch(click.get_current_context())
        named = loaded.kernel if source.kernel is None else source.kernel
        module, _ = load_or_import(source.file, source.machine, named)
        model = machine_of(module, named, source.machine, runs=True)
        chosen = machine_fields(module, named, source.machine, model)
        go = partial(profiled_batches, module, named, loaded, replace(options, machine=model), page_bytes)
    with progress(as_json) as show:
        profile = go(progress=show)
    found = batches_json(profile, SCHEMA_VERSION, chosen)
    if as_json:
        print_json(found)
    else:
        say(render_batches(found))
