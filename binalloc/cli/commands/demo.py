"""`binalloc demo`: the samples through the whole path."""

from __future__ import annotations

import sys
from typing import Any

import click

from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.inputs import machine_model
from binalloc.cli.options import (
    engine_option,
    every_size_option,
    json_option,
    machine_option,
    max_cycles_option,
    options,
    samples_option,
)
from binalloc.cli.tables import scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say


@click.command()
@options(machine_option, engine_option, max_cycles_option, json_option)
@scheduler_option
@options(every_size_option, samples_option)
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

    model = machine_model(machine)
    rows: list[dict[str, Any]] = []
    code = 0
    with progress(False) as show:
        try:
            for row in run_demo(samples, list(names), model, engine, scheduler, size, show, max_cycles):
                rows.append(row)
        except KeyboardInterrupt as stopped:
            if not rows:
                raise
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    if as_json:
        found = {"machine": machine, "scheduler": scheduler, "partial": code != 0, "rows": rows}
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        marked = "PARTIAL: interrupted, further samples were not measured.\n\n" if code else ""
        say(marked + render_demo(rows, machine, scheduler))
    if code:
        fail("interrupted; the samples measured by then are all there is", code)
    if not all(row["verified"] for row in rows):
        sys.exit(1)
