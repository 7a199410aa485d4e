"""`binalloc inspect` shows what is in a binary, and `binalloc diff` shows two versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.inputs import fitting_launch, kernel_of, machine_fields, machine_of, optional_launch
from binalloc.cli.load import load_or_import, load_two
from binalloc.cli.options import (
    INTEGER_LIMIT,
    Ranges,
    all_of,
    block_of,
    block_option,
    file_argument,
    json_option,
    kernel_option,
    launch_option,
    own_machine_option,
    size_option,
)
from binalloc.cli.terminal import SCHEMA_VERSION, print_json, say
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.inspect import InspectJson
    from binalloc.report.shapes.commands.small import DiffJson

_LIST = Ranges(lambda: (0, INTEGER_LIMIT))


@click.command()
@all_of(file_argument, kernel_option, own_machine_option, launch_option, size_option, block_option, json_option)
@click.option("--sections", is_flag=True, help="Sections and resources (the default view).")
@click.option("--cfg", is_flag=True, help="Basic blocks, edges, loops, call graph.")
@click.option("--webs", is_flag=True, help="Table of live ranges.")
@click.option("--live", is_flag=True, help="Live ranges beside the disassembly, a column per value.")
@click.option("--pressure", is_flag=True, help="Register pressure per instruction, Max-live over calls, its values.")
@click.option("--stack", is_flag=True, help="Stack layouts across calls: traditional, register stack, moving stack.")
@click.option("--shared", is_flag=True, help="Shared memory: variables, accesses, barriers, and pairs of blocks.")
@click.option("--minimum", is_flag=True, help="Lower limit on the registers of any allocation.")
@click.option("--function", metavar="NAME", help="Show --live for this function only.")
@click.option("--words", type=_LIST, metavar="LIST", help="Show --live for these instructions only, as 0-20,31.")
@click.option("--blocks", type=_LIST, metavar="LIST", help="Show --live for these basic blocks only, as 2,5-7.")
@click.option(
    "--columns",
    type=click.Choice(["auto", "values", "places"]),
    default="auto",
    show_default=True,
    help="Show --live with a column per value, per register, or per value as long as that is readable.",
)
def inspect(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    block: str | None,
    as_json: bool,
    function: str | None,
    words: Any,
    blocks: Any,
    columns: str,
    **views: bool,
) -> None:
    """Show what is in a binary: sections, resources, control flow, live ranges, pressure, stack layouts, shared memory.

    With --launch blocks have the size and the dynamic shared memory of that launch. PTX is imported in memory first.
    """
    from binalloc.pipeline.pipeline import find_kernel
    from binalloc.report.views.excerpt import Excerpt
    from binalloc.report.views.inspect import inspect_module, render_inspection

    given = {"--function": function, "--words": words, "--blocks": blocks, "--columns": columns != "auto"}
    option = next((name for name, value in given.items() if value), None)
    if option is not None and not views["live"]:
        raise UsageError(f"{option} applies to --live only", remedy="Ask for --live.")
    given_block = block_of(block, "--block")
    chosen = [name for name, on in views.items() if on] or ["sections"]
    loaded = optional_launch(launch, size)
    kernel = kernel_of(kernel, loaded, None)
    module, data = load_or_import(file, machine, kernel)
    model = machine_of(module, kernel, machine, runs=False)
    own = None if loaded is None else fitting_launch(loaded, module, find_kernel(module, kernel).name)
    excerpt = Excerpt(function, words, blocks)
    found = inspect_module(module, data, kernel, chosen, model, excerpt, columns, given_block, own)
    if as_json:
        shown: InspectJson = {
            "schema_version": SCHEMA_VERSION,
            **found,
            **machine_fields(module, kernel, machine, model),
        }
        print_json(shown)
    else:
        say(render_inspection(found))


@click.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@all_of(kernel_option, json_option)
def diff(original: str, rewritten: str, kernel: str | None, as_json: bool) -> None:
    """Show old and new code side by side, lined up by the instruction map."""
    from binalloc.report.views.diff import diff_modules, render_diff

    old, new = load_two(original, rewritten, None, kernel)
    rows = diff_modules(old, new, kernel)
    if as_json:
        found: DiffJson = {"schema_version": SCHEMA_VERSION, "functions": rows}
        print_json(found)
    else:
        say(render_diff(rows))
