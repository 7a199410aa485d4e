"""This module has the options that choose a row of a table of the library, which gives names, help and errors.

The table's module is imported when a value or the help is asked for, not when the command line is built.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from binalloc.errors import Hint, UsageError
from binalloc.rows import chosen

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class RowName(click.types.StringParamType):
    """The option type reads the name of a row of `table` in `module`, which maps names to objects with a `summary`."""

    name = "name"

    def __init__(self, module: str, table: str) -> None:
        self.module, self.table = module, table

    def rows(self) -> Mapping[str, Any]:
        """Return the rows of the table, by name."""
        found: Mapping[str, Any] = getattr(importlib.import_module(self.module), self.table)
        return found

    def default(self) -> str:
        """Return `DEFAULT` of the table's module."""
        return str(importlib.import_module(self.module).DEFAULT)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.rows())}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.rows() if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        rows = self.rows()
        name, parameters, _ = str(value).partition(":")
        if name not in rows:
            self.fail(f"{name!r} is not one of {', '.join(map(repr, rows))}.", param, ctx)
        if parameters and not getattr(rows[name], "parameters", ()):
            self.fail(f"{name} has no parameters, found {value!r}.", param, ctx)
        if parameters:
            try:
                chosen(rows, str(value), "row", Hint(""))
            except UsageError as error:
                self.fail(f"{error.message}: {error.found!r}, expected {error.expected}.", param, ctx)
        return str(value)


class RowNames(RowName):
    """The option type reads names of rows such as `a,b` and gives them in the table's order, without repetitions."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value  # click converts what it has converted
        asked = {super(RowNames, self).convert(name, param, ctx) for name in str(value).split(",")}
        names = list(self.rows())
        return tuple(sorted(asked, key=lambda text: (names.index(text.partition(":")[0]), text)))


class RowOption(click.Option):
    """An option of type `RowName` lists the rows with their summaries in its help; with a single row it has no help.

    With `show_default` the table's default is the option's default. Otherwise only the help mentions it.
    """

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        if isinstance(self.type, RowName) and self.show_default:
            return self.type.default()
        return super().get_default(ctx, call)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if isinstance(self.type, RowName) and len(self.type.rows()) == 1:
            return None  # there is nothing to choose
        found = super().get_help_record(ctx)
        if found is None or not isinstance(self.type, RowName):
            return found
        rows = "; ".join(f"{name}: {row.summary}{_parameters(row)}" for name, row in self.type.rows().items())
        text = found[1] if self.show_default else f"{found[1]}  [default: {self.type.default()}]"
        return found[0], f"{text}  {rows}."


def _parameters(row: Any) -> str:
    """Describe the parameters of a row, if it has any."""
    texts = [f":{p.name}={p.expected} ({p.summary}; {p.usual})" for p in getattr(row, "parameters", ())]
    return f" [{', '.join(texts)}]" if texts else ""


ALLOCATOR_NAMES = RowNames("binalloc.transform.allocators.table", "ALLOCATORS")
SCHEDULER_NAMES = RowNames("binalloc.emulator.policies.schedulers.table", "SCHEDULERS")


def row_option(flag: str, module: str, table: str, parameter: str = "", **settings: Any) -> Callable[[Any], Any]:
    """Return a click option that takes the name of a row of that table. parameter: of the command's function, where it
    is not called as the option."""
    return click.option(*filter(None, (flag, parameter)), cls=RowOption, type=RowName(module, table), **settings)


policy_option = row_option("--policy", "binalloc.pipeline.policies.table", "POLICIES", help="How to choose.")


def reading_option(command: Any) -> Any:
    """Add the option --reading to a command."""
    return click.option(
        "--reading", "readings", multiple=True, metavar="NAME",
        help="Where --policy unified departs from the printed listing: no-textures or spills (what counts as "
        "off-chip), smem-fit (where a descent ends that nothing satisfies), up-to-most (MaxThrd included).",
    )(command)  # fmt: skip


def solver_limit_option(command: Any) -> Any:
    """Add the option --solver-limit to a command. Its default is read from the allocator's module."""
    from binalloc.transform.allocators.allocator import SOLVER_LIMIT

    return click.option(
        "--solver-limit", type=click.FloatRange(0, 1e6), metavar="SECONDS",
        help="Deterministic time of cpsat's solver for each function; it then returns its best so far, and a bound.  "
        f"[default: {SOLVER_LIMIT}]",
    )(command)  # fmt: skip


allocator_option = row_option(
    "--allocator", "binalloc.transform.allocators.table", "ALLOCATORS", show_default=True, help="Allocator to use."
)
scheduler_option = row_option(
    "--scheduler", "binalloc.emulator.policies.schedulers.table", "SCHEDULERS", show_default=True,
    help="How the emulated schedulers choose warps.",
)  # fmt: skip
dispatcher_option = row_option(
    "--dispatch", "binalloc.emulator.policies.dispatchers.table", "DISPATCHERS", "dispatcher", show_default=True,
    help="Which emulated SM takes which block when.",
)  # fmt: skip
placement_option = row_option(
    "--placement", "binalloc.emulator.policies.placements.table", "PLACEMENTS", show_default=True,
    help="Where in an SM's shared memory an allocation lies.",
)  # fmt: skip
pages_option = row_option(
    "--pages", "binalloc.emulator.pages.table", "PAGES", show_default=True,
    help="Where in L2 and DRAM a line of memory lies.",
)  # fmt: skip
