"""`binalloc share` lets blocks share memory two by two, and measures what that gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

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
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.profile import Profile
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.sharing.sharing import Shared, Wish
    from binalloc.report.shapes.commands.laboratory import OverlayJson, ShareJson
    from binalloc.report.shapes.parts.common import OnMachine


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
@click.option(
    "--overlay", is_flag=True,
    help="Lay variables over one another that never hold anything at once, so that a block needs fewer bytes; blocks "
    "share nothing then (--sharing off), and any GPU can run the result.",
)
@profile_option
@click.option("--no-emulate", is_flag=True, help="Build and prove versions alone.")
@run_options("sms")
@output_option
@json_option
def share(
    source: GivenSource, asked: str, release: str, edges: str, layout: str, share_slots: bool, overlay: bool,
    profile: str | None, no_emulate: bool, options: RunOptions, output: str | None, as_json: bool,
) -> None:
    """Let thread blocks share a part of their shared memory two by two, so that more blocks run, and measure the gain.

    As in "Scratchpad Sharing in GPUs", one block of a pair at a time has the shared part, from its first access to it
    until all its threads have released it or ended. Variables are moved and releases inserted; versions are proven and
    emulated under the scheduler owf, and their results compared with the original's. -o writes the fastest proven
    version. No GPU does this.

    With --overlay variables that never hold anything at once get the same bytes instead, which any GPU can run.
    """
    from binalloc.pipeline.sharing.sharing import Wish

    if overlay:
        _require_alone(asked)
    if edges == "jump" and release != "opt":
        raise UsageError("--edges is about releases as early as they may be", found=f"--release {release}",
                         expected="--release opt", remedy="Leave out --edges.")  # fmt: skip
    check_output(output, as_json, "-o")
    not_over(output, source.file, source.launch, source.machine, profile, option="-o")
    counted = optional_profile(profile)
    given = _given(source, counted, options, overlay=overlay, emulate=not no_emulate)
    if overlay:
        _overlay(given, output, as_json=as_json)
        return
    wish = Wish(asked, release, edges, {"auto": None, "move": True, "keep": False}[layout], share_slots)
    _share(given, wish, output, as_json=as_json)


class _Given(NamedTuple):
    """This record has a kernel that is given, and the request of what to do with it."""

    module: Module
    data: bytes  #: of the input
    request: Request
    machine: OnMachine  #: for reports


def _given(
    source: GivenSource, counted: Profile | None, options: RunOptions, *, overlay: bool, emulate: bool
) -> _Given:  # fmt: skip
    """Load what the options name. counted: the profile. Raise UsageError for a sequence of launches."""
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Request, find_kernel

    loaded = source.required()
    if isinstance(loaded, Program):
        what = "variables are laid over one another" if overlay else "blocks share memory"
        raise UsageError(f"{what} for one launch only", file=loaded.path or None, found="a sequence of launches",
                         expected="a launch file of one launch")  # fmt: skip
    named = kernel_of(source.kernel, loaded, counted)
    module, data = load_or_import(source.file, source.machine, named)
    name = find_kernel(module, named).name
    model = machine_of(module, name, source.machine, runs=True)
    launch = fitting_launch(loaded, module, name)
    request = Request(name, model, launch, options=options, emulate=emulate, profile=counted)
    return _Given(module, data, request, machine_fields(module, name, source.machine, model))


def _share(given: _Given, wish: Wish, output: str | None, *, as_json: bool) -> None:
    """Print what becomes of a kernel whose blocks share memory, and write the best version. End with exit code 1 where
    a file is asked for and there is no such version."""
    from binalloc.pipeline.sharing.sharing import share_kernel
    from binalloc.report.views.share import render_share, shared_json

    with progress(as_json) as show:
        request = replace(given.request, progress=show)
        done = share_kernel(given.module, request, wish)
    best, name = done.chosen, request.kernel
    written = _written(request, wish, output, given.data, best)
    found: ShareJson = {
        "schema_version": SCHEMA_VERSION,
        "kernel": name,
        **given.machine,
        **shared_json(done, wish, written, request.profile),
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


def _require_alone(asked: str) -> None:
    """Raise UsageError where --overlay comes with an option for blocks that share memory."""
    from click.core import ParameterSource

    context = click.get_current_context()
    for name in ("asked", "release", "edges", "layout", "share_slots", "profile"):
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if not given or (name, asked) == ("asked", "off"):
            continue
        raise UsageError(
            "blocks share nothing where variables are laid over one another",
            place="--sharing" if name == "asked" else f"--{name.replace('_', '-')}",
            found="the option" if name == "share_slots" else str(context.params[name]),
            expected="--overlay without it, or with --sharing off" if name == "asked" else "--overlay without it",
            remedy="Share what --overlay has written.",
        )  # fmt: skip


def _overlay(given: _Given, output: str | None, *, as_json: bool) -> None:
    """Print what becomes of a kernel whose variables lie over one another, and write it. End with exit code 1 where it
    is not right, where no block is gained, or where a file is asked for and the original is as fast."""
    from binalloc.isa.sets.files import write_module
    from binalloc.pipeline.sharing.overlay import overlay_kernel, recorded_overlay
    from binalloc.report.views.overlay import overlay_gain, overlay_json, render_overlay

    with progress(as_json) as show:
        request = replace(given.request, progress=show)
        laid = overlay_kernel(given.module, request)
    writes = output is not None and laid.right and laid.gains and not laid.slower
    found: OverlayJson = {
        "schema_version": SCHEMA_VERSION,
        "kernel": request.kernel,
        **given.machine,
        **overlay_json(laid, output if writes else None),
    }
    if output is not None and writes:
        write_output(output, write_module(recorded_overlay(laid, request, given.data)))
    if as_json:
        print_json(found)
    elif output != "-":
        say(render_overlay(found))
    if not (laid.right and laid.gains) or (output is not None and not writes):
        fail(f"{request.kernel}: {overlay_gain(found)}: nothing is written", 1)
