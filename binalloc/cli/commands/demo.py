"""`binalloc demo` rewrites, proves and measures the samples."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from binalloc.cli.group import EXIT_INTERRUPTED
from binalloc.cli.inputs import machine_model
from binalloc.cli.options import all_of, every_size_option, json_option, machine_option, samples_option
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.report.shapes.commands.demo import DemoJson


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
    """Rewrite the samples, kernels and programs alike, and print what each gains. `make demo` runs this command."""
    from binalloc.laboratory.demo.facts import demo_json
    from binalloc.laboratory.demo.records import Demo
    from binalloc.laboratory.demo.run import DemoOptions, run_demo
    from binalloc.laboratory.demo.text import render_demo

    asked = DemoOptions(replace(options, machine=machine_model(machine)), size)
    done = Demo(machine, options.scheduler)
    code = 0
    with progress(False) as show:
        try:
            for record in run_demo(samples, list(names), asked, show):
                done.add(record)
        except KeyboardInterrupt as stopped:
            if done.empty:
                raise
            code, done.partial = getattr(stopped, "exit_code", EXIT_INTERRUPTED), True
    found: DemoJson = {"schema_version": SCHEMA_VERSION, **demo_json(done)}
    if as_json:
        print_json(found)
    else:
        say(render_demo(found))
    if code:
        fail("interrupted; only the samples that were finished are shown", code)
    if not done.verified:
        sys.exit(1)
