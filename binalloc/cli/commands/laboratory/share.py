"""`binalloc share` lets blocks share memory two by two, and measures what that gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.inputs import fitting_launch, kernel_of, machine_fields, machine_of, optional_profile
from binalloc.cli.load import load_or_import
from binalloc.cli.options import json_option, output_option, profile_option
from binalloc.cli.run_options import run_options
from binalloc.cli.source import GivenSource, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.sharing.sharing import Shared, Wish
    from binalloc.report.shapes.commands.laboratory import ShareJson


@click.command()
@source_options
@click.option(
    "--sharing", "asked", default="auto", show_default=True, metavar="auto|T|PAIRS:BYTES[:SLOTS]",
    help="The share of a block's bytes that stays private (between 0 and 1), or how many pairs an SM has, and the "
    "private bytes of a block; auto tries every number of pairs, each with the most private bytes that fit.",
)
@click.option(
    "--release", type=click.Choice(["opt", "postdom", "none"]), default="opt", show_default=True,
    help="Where threads release what is shared: as early as they may, all at one place, or nowhere.",
)
@click.option(
    "--edges", type=click.Choice(["kept", "jump"]), default="kept", show_default=True,
    help="Of opt: critical edges are kept, with a release under the branch's condition, or get a block of their own.",
)
@click.option(
    "--layout", type=click.Choice(["auto", "move", "keep"]), default="auto", show_default=True,
    help="Whether variables are moved, so that what is shared is in use for a short time: where that is possible, "
    "always, or never.",
)
@click.option(
    "--share-slots", is_flag=True,
    help="Of a binary that was rewritten with slots: also try versions in which blocks share some of these.",
)
@profile_option
@click.option("--no-emulate", is_flag=True, help="Build and prove versions alone.")
@run_options("sms")
@output_option
@json_option
def share(
    source: GivenSource, asked: str, release: str, edges: str, layout: str, share_slots: bool, profile: str | None,
    no_emulate: bool, options: RunOptions, output: str | None, as_json: bool,
) -> None:
    """Let thread blocks share a part of their shared memory two by two, so that more blocks run, and measure the gain.

    As in "Scratchpad Sharing in GPUs", one block of a pair at a time has the shared part, from its first access to it
    until all its threads have released it or ended. Variables are moved and releases inserted; versions are proven and
    emulated under the scheduler owf, and their results compared with the original's. -o writes the fastest proven
    version. No GPU does this.
    """
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.pipeline.sharing.sharing import Wish, share_kernel
    from binalloc.report.views.share import render_share, shared_json

    check_output(output, as_json, "-o")
    not_over(output, source.file, source.launch, source.machine, profile, option="-o")
    loaded = source.required()
    if isinstance(loaded, Program):
        raise UsageError("blocks of a sequence of launches share nothing", file=loaded.path or None,
                         found="a sequence of launches", expected="one launch")  # fmt: skip
    counted = optional_profile(profile)
    named = kernel_of(source.kernel, loaded, counted)
    module, data = load_or_import(source.file, source.machine, named)
    name = find_kernel(module, named).name
    model = machine_of(module, name, source.machine, runs=True)
    launch = fitting_launch(loaded, module, name)
    wish = Wish(asked, release, edges, {"auto": None, "move": True, "keep": False}[layout], share_slots)
    with progress(as_json) as show:
        request = Request(
            name, model, launch, options=options, progress=show, emulate=not no_emulate, profile=counted
        )  # fmt: skip
        done = share_kernel(module, request, wish)
    best = done.chosen
    written = _written(request, wish, output, data, best)
    found: ShareJson = {
        "schema_version": SCHEMA_VERSION,
        "kernel": name,
        **machine_fields(module, name, source.machine, model),
        **shared_json(done, wish, written, counted),
    }
    if as_json:
        print_json(found)
    elif output != "-":
        say(render_share(found))
    if best is None and output is not None:
        proven = any(one.report is None or one.report.ok for one in done.tried)
        why = "no version is faster than the original" if proven else "no version is proven"
        fail(f"{name}: {why}: nothing is written", 1)


def _written(request: Request, wish: Wish, output: str | None, data: bytes, best: Shared | None) -> str | None:
    """Write the best version, and return the file; None if nothing was to be written, or there is none."""
    from binalloc.isa.sets.files import write_module
    from binalloc.pipeline.sharing.sharing import recorded

    if output is None or best is None:
        return None
    write_output(output, write_module(recorded(best, request, wish, data)))
    return output
