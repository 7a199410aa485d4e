"""`binalloc demo`: the samples through the whole path."""

from __future__ import annotations

import sys

import click

from binalloc.cli.inputs import machine_model
from binalloc.cli.options import engine_option, json_option, machine_option, max_cycles_option, options
from binalloc.cli.tables import scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say


@click.command()
@options(machine_option, engine_option, max_cycles_option, json_option)
@scheduler_option
@click.option("--size", metavar="NAME", help="Use [sizes.NAME] of every launch file (test: a few blocks).")
@click.option("--samples", type=click.Path(file_okay=False), default="samples", show_default=True)
@click.argument("names", nargs=-1)
def demo(
    machine: str,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
    size: str | None,
    samples: str,
    names: tuple[str, ...],
) -> None:
    """Rewrite the samples and print what each gains; the main job of `make demo`."""
    from binalloc.report.demo import render_demo, run_demo

    with progress(False) as show:
        rows = run_demo(samples, list(names), machine_model(machine), engine, scheduler, size, show, max_cycles)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "machine": machine, "scheduler": scheduler, "rows": rows})
    else:
        say(render_demo(rows, machine, scheduler))
    if not all(row["verified"] for row in rows):
        sys.exit(1)
