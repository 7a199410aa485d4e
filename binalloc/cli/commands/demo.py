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
    host_steps_option,
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
@options(every_size_option, samples_option, host_steps_option)
@click.argument("names", nargs=-1)
def demo(
    machine: str,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
    size: str | None,
    samples: str,
    host_steps: bool,
    names: tuple[str, ...],
) -> None:
    """Rewrite the samples, kernels and programs, and print what each gains; the main job of `make demo`."""
    from binalloc.report.demo.run import Asked, run_demo
    from binalloc.report.demo.text import render_demo

    asked = Asked(machine_model(machine), engine, scheduler, size, max_cycles, host_steps)
    found: dict[str, list[dict[str, Any]]] = {"rows": [], "programs": [], "left_out": []}
    code = 0
    with progress(False) as show:
        try:
            for kind, row in run_demo(samples, list(names), asked, show):
                found[kind].append(row)
        except KeyboardInterrupt as stopped:
            if not any(found.values()):
                raise
            code = getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    if as_json:
        told = {"machine": machine, "scheduler": scheduler, "partial": code != 0, **found}
        print_json({"schema_version": SCHEMA_VERSION, **told})
    else:
        marked = "PARTIAL: interrupted, further samples were not measured.\n\n" if code else ""
        say(marked + render_demo(found, machine, scheduler))
    if code:
        fail("interrupted; the samples measured by then are all there is", code)
    if not all(row["verified"] for row in (*found["rows"], *found["programs"])):
        sys.exit(1)
