"""`binalloc demo`: the samples through the whole path."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.inputs import machine_model
from binalloc.cli.options import all_of, every_size_option, json_option, machine_option, samples_option
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions


@click.command()
@machine_option
@run_options("host_steps")
@all_of(json_option, every_size_option, samples_option)
@click.argument("names", nargs=-1)
def demo(
    machine: str,
    options: RunOptions,
    as_json: bool,
    size: str | None,
    samples: str,
    names: tuple[str, ...],
) -> None:
    """Rewrite the samples, kernels and programs, and print what each gains; the main job of `make demo`."""
    from binalloc.report.demo.run import Asked, run_demo
    from binalloc.report.demo.text import render_demo

    asked = Asked(replace(options, machine=machine_model(machine)), size)
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
        told = {"machine": machine, "scheduler": options.scheduler, "partial": code != 0, **found}
        print_json({"schema_version": SCHEMA_VERSION, **told})
    else:
        marked = "PARTIAL: interrupted, further samples were not measured.\n\n" if code else ""
        say(marked + render_demo(found, machine, options.scheduler))
    if code:
        fail("interrupted; the samples measured by then are all there is", code)
    if not all(row["verified"] for row in (*found["rows"], *found["programs"])):
        sys.exit(1)
