"""`binalloc verify`: the symbolic checker, the hazard check, and both runs compared."""

from __future__ import annotations

import sys

import click

from binalloc.cli.inputs import machine_of, optional_launch
from binalloc.cli.load import load_two
from binalloc.cli.options import (
    engine_option,
    json_option,
    kernel_option,
    launch_option,
    max_cycles_option,
    options,
    own_machine_option,
    size_option,
)
from binalloc.cli.tables import scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say


@click.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@options(kernel_option, own_machine_option, launch_option, size_option, engine_option, max_cycles_option, json_option)
@scheduler_option
def verify(
    original: str,
    rewritten: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
) -> None:
    """Prove REWRITTEN equal to ORIGINAL with the symbolic checker, and its control codes free of hazards on every way
    through the code for the machine it records; with --launch, compare emulated runs.

    The runs are on REWRITTEN's machine; ORIGINAL is scheduled for it first where it is not.
    """
    from binalloc.report.verify import render_verification, verify_to_dict

    loaded = optional_launch(launch, size)
    old, new = load_two(original, rewritten)
    ran_on = machine_of(new, loaded.kernel if kernel is None and loaded else kernel, machine, runs=loaded is not None)
    with progress(as_json) as show:
        found = verify_to_dict(old, new, kernel, loaded, ran_on, engine, scheduler, max_cycles, show)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        say(render_verification(found))
    if not found["verified"]:
        sys.exit(1)
