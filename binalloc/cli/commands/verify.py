"""`binalloc verify` proves a rewrite, checks its hazards, compares emulated runs, and holds limits."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from binalloc.cli.inputs import machine_of, optional_launches
from binalloc.cli.load import load_two
from binalloc.cli.options import (
    all_of,
    integer,
    json_option,
    kernel_option,
    launch_option,
    own_machine_option,
    refuse_for_one_launch,
    size_option,
)
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.report.shapes.commands.verify import VerifyJson


def _share(ctx: click.Context, param: click.Parameter, value: str | None) -> Fraction | None:
    """Convert the value of --max-slowdown."""
    from binalloc.pipeline.limits import parse_share

    return None if value is None else parse_share(value)


@click.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@all_of(kernel_option, own_machine_option, launch_option, size_option)
@run_options("host_steps", "smm", "over", "sharing")
@json_option
@click.option(
    "--max-slowdown",
    callback=_share,
    metavar="SHARE",
    help="With --launch: fail where REWRITTEN takes over SHARE more emulated cycles than ORIGINAL, as 2% or 0.02.",
)
@click.option(
    "--max-local-bytes",
    type=integer(0),
    metavar="N",
    help="Fail where a kernel of REWRITTEN has more bytes of local memory per thread, its frame and spills together.",
)
def verify(
    original: str,
    rewritten: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    options: RunOptions,
    as_json: bool,
    max_slowdown: Fraction | None,
    max_local_bytes: int | None,
) -> None:
    """Prove REWRITTEN equal to ORIGINAL with the symbolic checker. Prove its control codes free of hazards on every
    path, for the machine that it records. With --launch, compare emulated runs too: of one launch, or of the whole
    sequence in the launch file. PTX is imported in memory first, for the machine of the other file.

    The runs are on REWRITTEN's machine; ORIGINAL is scheduled for it first if necessary. If a limit is exceeded, the
    report says so and the exit code is 1, as after a failed proof.
    """
    from binalloc.emulator.runs.program import require_leave
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.proving.limits import VerifyLimits
    from binalloc.pipeline.proving.verify import verify_rewrite
    from binalloc.report.verify import render_verification, verification_json

    if max_slowdown is not None and launch is None:
        raise UsageError("--max-slowdown compares emulated runs", remedy="Give --launch FILE, too.")

    loaded = optional_launches(launch, size)
    if isinstance(loaded, Program):
        require_leave(loaded, options.host_steps)
        first = loaded.kernels[0] if loaded.kernels else None
    else:
        refuse_for_one_launch(click.get_current_context())
        first = None if loaded is None else loaded.kernel
    old, new = load_two(original, rewritten, machine, first if kernel is None else kernel)
    ran_on = machine_of(new, first if kernel is None else kernel, machine, runs=loaded is not None)
    limits = VerifyLimits(max_slowdown, max_local_bytes)
    with progress(as_json) as show:
        done = verify_rewrite(old, new, kernel, loaded, replace(options, machine=ran_on), show, limits)
    found: VerifyJson = {"schema_version": SCHEMA_VERSION, **verification_json(done)}
    if as_json:
        print_json(found)
    else:
        say(render_verification(found))
    if not done.verified or done.within_limits is False:
        sys.exit(1)
