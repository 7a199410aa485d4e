"""`binalloc compare-allocators` runs every allocator at several budgets and shows the results side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.inputs import (
    fitting_launch,
    kernel_of,
    machine_from,
    machine_of,
    optional_launch,
    require_machine,
)
from binalloc.cli.load import load_or_import
from binalloc.cli.options import (
    all_of,
    file_argument,
    json_option,
    kernel_option,
    launch_option,
    own_machine_option,
    size_option,
)
from binalloc.cli.request_options import GivenRequest, request_options
from binalloc.cli.tables import ALLOCATOR_NAMES
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.compare import CompareJson

_DIGITS = 4  # most digits of a number in a list: no machine has 10,000 registers or slots per thread


class Counts(click.types.StringParamType):
    """The option type reads a list such as `24,32,40` and gives its numbers ascending, without repetitions."""

    name = "counts"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value  # click converts what it has converted
        found: set[int] = set()
        for piece in str(value).split(","):
            if not (piece.isascii() and piece.isdecimal() and len(piece) <= _DIGITS and int(piece) >= self.least):
                self.fail(f"{value!r} is not a list of numbers from {self.least} up, as 24,32,40.", param, ctx)
            found.add(int(piece))
        return tuple(sorted(found))


@click.command("compare-allocators")
@all_of(file_argument, kernel_option, own_machine_option, launch_option, size_option, json_option)
@click.option(
    "--registers", type=Counts(1), default="24,32,40", show_default=True, metavar="LIST", help="Registers per thread."
)
@click.option(
    "--slots", type=Counts(0), metavar="LIST",
    help="Slots per thread.  [default: as many as fit beside the blocks that the registers allow]",
)
@request_options("layout", "profile", "inline", "solver_limit")
@click.option("--allocators", type=ALLOCATOR_NAMES, metavar="LIST", help="By name.  [default: all]")
def compare(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    as_json: bool,
    registers: tuple[int, ...],
    slots: tuple[int, ...] | None,
    wanted: GivenRequest,
    allocators: tuple[str, ...] | None,
) -> None:
    """Compare the allocators at several budgets: the spill code of each, its cost, and how far that is from optimal.

    All kernels of the binary are compared, or the one that --kernel, --launch or --profile names. A LIST is numbers or
    names separated by commas, as 24,32,40. Every rewrite is proven; none is run or written. PTX is imported in memory
    first. Rows are printed as soon as their budget is done; after Ctrl-C the rows so far remain, with exit code 4.
    """
    from binalloc.pipeline.compare import compare_kernels
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.report.compare import PrintedComparison, comparison_json, render_legend
    from binalloc.transform.allocators.table import ALLOCATORS

    require_machine(machine)
    loaded = optional_launch(launch, size)
    counted = wanted.counted()
    named = kernel_of(kernel, loaded, counted)
    module, _ = load_or_import(file, machine, named)
    names = [found.name for found in module.kernels()] if named is None else []
    names = names or [find_kernel(module, named).name]
    loaded = fitting_launch(loaded, module, names[0])
    model = machine_of(module, names[0], machine, runs=False)
    with progress(as_json) as show:
        request = Request(machine=model, launch=loaded, profile=counted, progress=show, **wanted.fields())
        write = (lambda _: None) if as_json else say
        asked = allocators or tuple(ALLOCATORS)
        printed = PrintedComparison(model.name, asked, write)
        found = compare_kernels(module, request, names, registers, slots or (), asked, printed)
        write(render_legend(found))
    if as_json:
        shown: CompareJson = {
            "schema_version": SCHEMA_VERSION,
            **comparison_json(found),
            "machine_from": machine_from(module, names[0], machine, model),
        }
        print_json(shown)
    if found.partial:
        fail("interrupted; the rows so far are printed", 4)
    if all(row.reason for one in found.kernels for row in one.rows):
        fail("no allocator fits any of these budgets", 1)
