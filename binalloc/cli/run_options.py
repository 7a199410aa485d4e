"""This module has the options of emulated runs: a row for each field of `RunOptions` that users set, with its help.

A command gets them as one record, `options`. The record has the default machine until the command sets the right one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from binalloc.cli.gather import Decorator, gathered
from binalloc.cli.options import engine_option, host_steps_option, integer, max_cycles_option, skews_option
from binalloc.cli.tables import dispatcher_option, pages_option, placement_option, scheduler_option


class OptionRow(NamedTuple):
    """A row describes an option of emulated runs."""

    option: Decorator  #: click's
    usual: bool = False  #: every command that runs something has the option


def _traffic(context: click.Context, option: click.Parameter, path: str | None) -> Any:
    """Return the CPU traffic that a file describes."""
    if path is None:
        return None
    from binalloc.models.dram.traffic import read_traffic

    return read_traffic(path)


ROWS: dict[str, OptionRow] = {
    "engine": OptionRow(engine_option, usual=True),
    "max_cycles": OptionRow(max_cycles_option, usual=True),
    "scheduler": OptionRow(scheduler_option, usual=True),
    "dispatcher": OptionRow(dispatcher_option, usual=True),
    "batches": OptionRow(
        click.option(
            "--batches",
            metavar="auto|stride:N|mod:M",
            default="auto",
            show_default=True,
            help="Which blocks are a batch, for --dispatch serial and --scheduler tbas: N consecutive ones, or those "
            "equal modulo M. With auto `run` finds them by a run of its own, and elsewhere each block is one.",
        ),
        usual=True,
    ),
    "placement": OptionRow(placement_option, usual=True),
    "pages": OptionRow(pages_option, usual=True),
    "cpu": OptionRow(
        click.option(
            "--cpu",
            metavar="FILE",
            callback=_traffic,
            help="Let CPU programs share the memory: their misses, as a TOML file describes them.",
        )
    ),
    "cpu_rows": OptionRow(
        click.option(
            "--cpu-rows",
            type=click.Choice(["mixed", "split"]),
            default="mixed",
            show_default=True,
            help="Where pages of CPU programs lie in a bank: among the GPU's, or in the high rows.",
        )
    ),
    "cpu_first": OptionRow(
        click.option("--cpu-first", is_flag=True, help="Let DRAM serve CPU programs before the GPU.")
    ),
    "skews": OptionRow(skews_option),
    "sms": OptionRow(click.option("--sms", type=integer(1), default=1, show_default=True, help="SMs to emulate.")),
    "check": OptionRow(
        click.option("--check", is_flag=True, help="Propagate poison from uninitialised registers and shared words.")
    ),
    "race": OptionRow(click.option("--race", is_flag=True, help="Find shared-memory races between barriers.")),
    "host_steps": OptionRow(host_steps_option),
    "smm": OptionRow(
        click.option(
            "--smm",
            type=click.Choice(["dynamic", "static"]),
            default="dynamic",
            show_default=True,
            help="Whether blocks get the memory of BAR.ALLOC as they run, or have it for as long as they live.",
        )
    ),
    "sharing": OptionRow(
        click.option(
            "--sharing",
            metavar="off|T|PAIRS:BYTES[:SLOTS]",
            default="off",
            show_default=True,
            help="Let blocks share memory two by two: the share of it that stays private (between 0 and 1), or how "
            "many pairs an SM has, the private bytes of a block, and, where not all, the private slots of a thread.",
        )
    ),
    "over": OptionRow(
        click.option(
            "--over",
            type=integer(0),
            metavar="N",
            help="Of kernels with BAR.ALLOC, run at most N blocks an SM more than with --smm static.",
        )
    ),
}
"""The options, by field of `RunOptions`."""


def run_options(*more: str, but: tuple[str, ...] = (), **own: Decorator) -> Decorator:
    """Return a decorator for the usual options of emulated runs; the command gets them as its parameter `options`.

    more: further rows. but: rows to leave out. own: decorators that replace the decorators of their rows.
    """
    names = [name for name, row in ROWS.items() if (row.usual or name in more) and name not in but]
    return gathered("options", _record, *(own.get(name, ROWS[name].option) for name in names))


def _record(**given: Any) -> Any:
    from binalloc.emulator.runs.options import RunOptions

    return RunOptions(**given)
