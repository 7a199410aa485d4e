"""The command line's options of emulated runs: a row for each field of `RunOptions` that users set, with its help.

A command gets them as one record, `options`. Its machine is the default one until the command knows which is meant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from binalloc.cli.gather import Decorator, gathered
from binalloc.cli.options import engine_option, host_steps_option, integer, max_cycles_option, skews_option
from binalloc.cli.tables import dispatcher_option, pages_option, placement_option, scheduler_option


class Row(NamedTuple):
    """An option: its decorator, and whether all commands that run something have it."""

    option: Decorator
    usual: bool = False


ROWS: dict[str, Row] = {
    "engine": Row(engine_option, usual=True),
    "max_cycles": Row(max_cycles_option, usual=True),
    "scheduler": Row(scheduler_option, usual=True),
    "dispatcher": Row(dispatcher_option, usual=True),
    "placement": Row(placement_option, usual=True),
    "pages": Row(pages_option, usual=True),
    "skews": Row(skews_option),
    "sms": Row(click.option("--sms", type=integer(1), default=1, show_default=True, help="SMs to emulate.")),
    "check": Row(
        click.option("--check", is_flag=True, help="Propagate poison from uninitialised registers and shared words.")
    ),
    "race": Row(click.option("--race", is_flag=True, help="Find shared-memory races between barriers.")),
    "host_steps": Row(host_steps_option),
}
"""By field of `RunOptions`."""


def run_options(*more: str, but: tuple[str, ...] = (), **own: Decorator) -> Decorator:
    """The options that all commands have who run something, those of the rows `more` besides, and none of `but`; own:
    other decorators in place of the rows' own."""
    names = [name for name, row in ROWS.items() if (row.usual or name in more) and name not in but]
    return gathered("options", _record, *(own.get(name, ROWS[name].option) for name in names))


def _record(**given: Any) -> Any:
    from binalloc.emulator.runs.options import RunOptions

    return RunOptions(**given)
