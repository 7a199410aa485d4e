"""`binalloc smem-cost` repeats the smem-cost paper's experiment on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_plot, not_over, write_output
from binalloc.cli.inputs import machine_model
from binalloc.cli.options import F, NumberList, json_option
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, progress, say

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.report.shapes.commands.laboratory import SmemCostJson


def _limits() -> tuple[int, int]:
    """Return the least and the greatest number of warps, of loads and of congestion in the experiment."""
    from binalloc.laboratory.smem_cost.kernel import MOST

    return 1, MOST


def _numbers(flag: str, what: str) -> Callable[[F], F]:
    """Return an option that takes numbers and ranges. what: its help."""
    return click.option(
        flag, type=NumberList(_limits), default="1,8,16,32", show_default=True, metavar="LIST", help=what
    )


@click.command("smem-cost")
@click.option("--machine", default="gtx780ti", show_default=True, metavar="NAME|FILE", help="Machine model.")
@_numbers("--warps", "w: warps of the block.")
@_numbers("--loads", "l: shared loads of each warp.")
@_numbers("--congestion", "k: most rows of one bank that a load needs.")
@run_options()
@json_option
@click.option("--plot", type=click.Path(), metavar="FILE.svg", help="Write the figure there, as SVG.")
def smem_cost(
    machine: str,
    warps: tuple[int, ...],
    loads: tuple[int, ...],
    congestion: tuple[int, ...],
    as_json: bool,
    options: RunOptions,
    plot: str | None,
) -> None:
    """Measure what l shared loads of congestion k by w warps cost, and fit E = w*l*k*c1 + c2 to a whole sweep.

    This is the experiment of Okamoto et al. on the emulator, counted their way. One block waits at a barrier and reads
    the clock before and after the loads, each as wide as a bank. The cost is the latest end minus the earliest start,
    minus the cost of reading the clock. A LIST is numbers and ranges, as 1,8,16-20; 1-32 for all three is the paper's
    own sweep, 32,768 runs.
    """
    from binalloc.laboratory.smem_cost.costs import Sweep
    from binalloc.laboratory.smem_cost.facts import render_smem_cost, smem_cost_to_dict
    from binalloc.laboratory.smem_cost.plot import smem_cost_svg

    not_over(plot, machine, option="--plot")
    check_plot(plot, as_json)
    sweep = Sweep(replace(options, machine=machine_model(machine)), warps, loads, congestion)
    with progress(as_json) as show:
        found = smem_cost_to_dict(sweep, show)
    if plot is not None:
        write_output(plot, smem_cost_svg(found).encode())
    if as_json:
        shown: SmemCostJson = {"schema_version": SCHEMA_VERSION, **found, "plot": plot}
        print_json(shown)
    else:
        say(render_smem_cost(found))
