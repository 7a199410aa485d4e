"""`binalloc multiplex` lets blocks take turns with an SM's shared memory, and measures what that gives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import apart, check_output, not_over, write_output
from binalloc.cli.group import SPELLINGS
from binalloc.cli.inputs import fitting_launch, kernel_of, machine_fields, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.options import integer, json_option, output_option
from binalloc.cli.run_options import run_options
from binalloc.cli.source import GivenSource, source_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.multiplex.multiplexing import Multiplexing, Tried
    from binalloc.pipeline.request import Request
    from binalloc.report.shapes.commands.multiplex import MultiplexJson
    from binalloc.report.shapes.parts.timelines import OfTimelines

_SCHEMES = ("vtb", "vtb-pipe", "co-vtb", "hw", "co-hw", "auto")
_MOST = 8  # virtual blocks of a merged block


@click.command()
@source_options
@click.option(
    "--scheme",
    type=click.Choice(_SCHEMES),
    help="How: `vtb` merges blocks that take turns; in `vtb-pipe` one of two computes while the other uses shared "
    "memory; `hw` lets blocks get memory as they run; with `co-` each keeps a private part; `auto` tries all, and "
    "chooses the fastest proven version or the original.  [default: vtb and hw]",
)
@click.option("--today", is_flag=True, help="Of auto: without the versions whose instructions no GPU has.")
@click.option(
    "--merge", type=integer(2, _MOST), metavar="N",
    help="Of vtb, co-vtb and auto: blocks in one.  [default: 2, then 4; of co-vtb 2; of vtb-pipe always 2]",
)
@click.option(
    "--barriers",
    type=click.Choice(["block", "named"]),
    help="Of vtb and co-vtb: virtual blocks take turns at barriers of the merged block, or hand them on at named ones, "
    "which GPUs since compute capability 2.0 have.  [default: block; of auto both]",
)
@click.option(
    "--split", "splits", multiple=True, metavar="NAME=INDEX",
    help="Of co-vtb, co-hw and auto: rows of a shared variable in front of INDEX are private, the others public. "
    "NAME=INDEX/COUNT: of COUNT equal parts. May be repeated.  [default: the best cut that fits]",
)
@click.option(
    "--regions",
    type=click.Choice(["as-is", "shorter", "own"]),
    help="Access regions as they are; made shorter first, for registers and code; or with words that belong to one "
    "thread for a while in its local memory.  [default: all]",
)
@click.option("--share", is_flag=True, help="Measure for which part of a block's life its shared memory is in use.")
@click.option("--timeline", is_flag=True, help="Show when the first blocks of an SM use shared memory.")
@click.option(
    "--no-emulate", is_flag=True,
    help="Build and prove versions alone, each with as few registers as hold all values.",
)
@run_options("over")
@output_option
@click.option(
    "--launch-out", type=click.Path(allow_dash=True), metavar="FILE",
    help="With -o: also write the launch file, adapted to the version written.",
)
@json_option
def multiplex(
    source: GivenSource, scheme: str | None, today: bool, merge: int | None, barriers: str | None,
    splits: tuple[str, ...], regions: str | None, share: bool, timeline: bool, no_emulate: bool, options: RunOptions,
    output: str | None, launch_out: str | None, as_json: bool,
) -> None:
    """Let thread blocks use one part of an SM's shared memory in turns, so that more blocks run, and measure the gain.

    The schemes are those of "Shared Memory Multiplexing" (PACT 2012). Versions and the original are emulated, and their
    results compared. -o writes one version, if it is proven, with regions as they are or shorter, whichever is faster:
    of --scheme hw or co-hw, which have instructions that no GPU has, of --scheme vtb-pipe, or of --scheme vtb or co-vtb
    with --merge. Merged blocks need another launch: a smaller grid, and one more parameter. Commands of binalloc adapt
    the original's launch file; --launch-out writes it for others. Of --scheme auto the version chosen is written.
    """  # fmt: skip
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.multiplex.adapted import require_blocks
    from binalloc.pipeline.multiplex.multiplexing import (
        AUTO,
        kinds_of_barriers,
        multiplex_kernel,
        require_shared_memory,
        wanted_versions,
    )
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.report.multiplex import chosen_json, multiplexing_json, render_multiplexing, timelines_json
    from binalloc.transform.multiplex.split import Split

    _require_consistent(scheme, today, merge, barriers, splits, options, output, launch_out)
    if no_emulate:
        _require_no_choice(scheme, regions, share, timeline, output)
    shorter, own = (None, None) if regions is None else (regions == "shorter", regions == "own")
    cuts = [Split.parse(text) for text in splits]
    outputs = {"-o": output, "--launch-out": launch_out}
    for option, file in outputs.items():
        check_output(file, as_json, option)
        not_over(file, source.file, source.launch, source.machine, option=option)
    apart(outputs)
    loaded = source.required()
    if isinstance(loaded, Program):
        raise UsageError("a sequence of launches is not multiplexed", file=loaded.path or None,
                         found="a sequence of launches", expected="one launch")  # fmt: skip
    named = kernel_of(source.kernel, loaded, None)
    module, data = load_or_import(source.file, source.machine, named)
    name = find_kernel(module, named).name
    model = machine_of(module, name, source.machine, runs=True)
    launch = fitting_launch(loaded, module, name)
    if launch_out is not None:
        require_blocks(loaded.path, loaded.block)
    kinds = kinds_of_barriers(scheme, barriers, model)
    wanted = list(wanted_versions(scheme, merge, options.over, cuts, shorter, today, kinds, own))
    with progress(as_json) as show:
        request = Request(name, model, launch, options=options, progress=show, emulate=not no_emulate)
        require_shared_memory(module, request)
        done = multiplex_kernel(module, request, wanted, share)
        drawn: OfTimelines = {"timelines": timelines_json(done, request)} if timeline else {}
    best = done.chosen(today) if scheme == AUTO else done.best
    adapted = None if launch_out is None or best is None else _adapted(best, loaded.path, launch_out)
    written = _written(request, output, data, best)
    if launch_out is not None and adapted is not None:
        write_output(launch_out, adapted)
    found: MultiplexJson = {
        "schema_version": SCHEMA_VERSION,
        "kernel": name,
        **machine_fields(module, name, source.machine, model),
        **multiplexing_json(done, written, SPELLINGS),
        "launch_output": None if adapted is None else launch_out,
        **drawn,
    }
    if scheme == AUTO:
        found["chosen"] = chosen_json(done, best)
    if as_json:
        print_json(found)
    elif "-" not in (output, launch_out):
        say(render_multiplexing(found))
    if scheme != AUTO and all(tried.version is None for tried in done.tried):
        first = next(tried.refused for tried in done.tried if tried.refused is not None)
        why = first.text(SPELLINGS).removeprefix(f"{name}: ")
        fail(f"{name}: its shared memory cannot be multiplexed: {why}", 1)
    if best is None and (output is not None or scheme != AUTO):
        why = "no version is faster than the original" if scheme == AUTO else f"none of its versions {_unusable(done)}"
        fail(f"{name}: {why}" + (": nothing is written" if output is not None else ""), 1)


def _unusable(found: Multiplexing) -> str:
    """Return what keeps all versions that were built from being used."""
    if all(tried.unproven for tried in found.tried if tried.version is not None):
        return "is proven"
    return "is proven and leaves the original's results"


def _written(request: Request, output: str | None, data: bytes, best: Tried | None) -> str | None:
    """Write the best version, and return the file; None if nothing was to be written, or there is none."""
    from binalloc.isa.sets.files import write_module
    from binalloc.pipeline.multiplex.multiplexing import recorded

    if output is None or best is None or best.version is None:
        return None
    write_output(output, write_module(recorded(best, request, data)))
    return output


def _adapted(best: Tried, launch: str, launch_out: str) -> bytes:
    """Return the launch file of a version. launch: the original's."""
    from binalloc.pipeline.multiplex.adapted import adapted_table
    from binalloc.report.skeleton.launch_text import launch_file_text

    folder = "." if launch_out == "-" else os.path.dirname(launch_out) or "."
    merge = None if best.built is None else best.built.merge
    return launch_file_text(adapted_table(launch, merge, folder)).encode()


def _require_no_choice(
    scheme: str | None, regions: str | None, share: bool, timeline: bool, output: str | None
) -> None:  # fmt: skip
    """Refuse what needs emulated runs where there are none."""
    asks = {"--scheme auto": scheme == "auto", "--share": share, "--timeline": timeline}
    for option in (name for name, given in asks.items() if given):
        raise UsageError(f"{option} measures versions in the emulator", expected="the command without --no-emulate")
    if output is not None and regions is None:
        raise UsageError("without runs nothing says which regions are faster", found="-o", expected="--regions")


def _require_consistent(
    scheme: str | None, today: bool, merge: int | None, barriers: str | None, splits: tuple[str, ...],
    options: RunOptions, output: str | None, launch_out: str | None,
) -> None:
    """Refuse an option of another scheme."""
    merged, as_they_run = ("vtb", "vtb-pipe", "co-vtb"), ("hw", "co-hw")
    given = f"--scheme {scheme}" if scheme is not None else "no --scheme"
    alone = (*as_they_run, "vtb-pipe", "auto")
    if output is not None and scheme not in alone and (scheme is None or merge is None):
        raise UsageError("one version alone is written", found="-o",
                         expected="--scheme vtb-pipe, hw, co-hw or auto, or vtb or co-vtb with --merge")  # fmt: skip
    if launch_out is not None and output is None:
        raise UsageError("--launch-out goes with -o", found="no -o", expected="-o FILE: the launch fits that binary")
    if launch_out == output == "-":
        raise UsageError("-o - and --launch-out - both want standard output", remedy="Give one of them a FILE.")
    if launch_out is not None and scheme in as_they_run:
        raise UsageError("--launch-out belongs to another scheme", found=given,
                         expected="--scheme vtb, vtb-pipe, co-vtb or auto")  # fmt: skip
    if scheme == "vtb-pipe" and merge not in (None, 2):
        raise UsageError("a pipe is of two virtual blocks", found=f"--merge {merge}", expected="--merge 2, or none")
    if merge is not None and scheme in as_they_run:
        raise UsageError("--merge belongs to another scheme", found=given, expected="--scheme vtb, co-vtb or auto")
    if options.over is not None and scheme in merged:
        raise UsageError("--over belongs to another scheme", found=given, expected="--scheme hw, co-hw or auto")
    if barriers is not None and scheme not in ("vtb", "co-vtb"):
        raise UsageError("--barriers belongs to another scheme", found=given, expected="--scheme vtb or co-vtb")
    if today and scheme != "auto":
        raise UsageError("--today belongs to another scheme", found=given, expected="--scheme auto")
    if splits and scheme not in ("co-vtb", "co-hw", "auto"):
        raise UsageError("--split belongs to another scheme", found=given, expected="--scheme co-vtb, co-hw or auto")
