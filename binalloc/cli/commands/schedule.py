"""`binalloc schedule` sets the control codes of a binary for a machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.inputs import machine_fields, machine_of
from binalloc.cli.load import load_module
from binalloc.cli.options import all_of, file_argument, json_option, output_option, own_machine_option
from binalloc.cli.terminal import SCHEMA_VERSION, print_json
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.small import ScheduleJson


@click.command()
@all_of(file_argument, own_machine_option, output_option, json_option)
def schedule(file: str, machine: str | None, output: str | None, as_json: bool) -> None:
    """Set the control codes of every instruction for a machine.

    -o is needed, unless standard output is a pipe or a file: the binary then goes there.
    """
    from binalloc.isa.sets.files import write_module
    from binalloc.transform.schedule.schedule import average_dispatch_interval
    from binalloc.transform.schedule.schedule import schedule as run_pass

    check_output(output, as_json)
    output = output or _required_output(as_json)
    not_over(output, file, machine)
    module, _ = load_module(file)
    model = machine_of(module, None, machine, runs=False)
    chosen = machine_fields(module, None, machine, model)
    module = run_pass(module, model)
    write_output(output, write_module(module))
    if as_json:
        interval = {f.name: round(float(average_dispatch_interval(f)), 4) for f in module}
        found: ScheduleJson = {
            "schema_version": SCHEMA_VERSION,
            "output": output,
            **chosen,
            "average_dispatch_interval": interval,
        }
        print_json(found)


def _required_output(as_json: bool) -> str:
    if as_json or sys.stdout is None or sys.stdout.isatty():
        raise UsageError("a binary is written: name the output", remedy="Give -o FILE (or -o - without --json).")
    return "-"
