"""This module has the options and arguments that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.errors import UsageError
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT, LAYOUTS
from binalloc.models.machines.files import DEFAULT_MACHINE
from binalloc.pipeline.turns import MULTIPLEX, OFF
from binalloc.printable import quoted
from binalloc.transform.rewrite.ways import NONE, WAYS

F = TypeVar("F", bound=Callable[..., Any])
INTEGER_LIMIT = 1 << 31  # far beyond any sensible value; sums and products of two such still fit 64 bits
CYCLES_LIMIT = 1 << 62  # far beyond any run, and cycles beyond it still fit signed 64 bits


def integer(low: int = -INTEGER_LIMIT, high: int = INTEGER_LIMIT) -> click.IntRange:
    """Return an integer option's type; see INTEGER_LIMIT."""
    return click.IntRange(low, high)


_PIECE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
"""A number or a range of numbers. Nine digits are always below INTEGER_LIMIT."""
_DIMENSIONS = 3  # dimensions of a block: x, y and z
_SIZE = re.compile(r"\s*[0-9]{1,9}\s*")
"""A size of a block along one axis, as in `_PIECE`."""


class Ranges(click.types.StringParamType):
    """The option type reads numbers and ranges such as `1,8,16-20` and gives pairs of first and last, as written.

    limits: returns the least and the greatest number allowed. It is called only when there is something to convert.
    """

    name = "ranges"

    def __init__(self, limits: Callable[[], tuple[int, int]]) -> None:
        self.limits = limits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value  # click converts what it has converted
        least, most = self.limits()
        found = []
        for piece in str(value).split(","):
            match = _PIECE.fullmatch(piece)
            low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if not least <= low <= high <= most:
                what = f"a list of numbers or ranges from {least} to {most}"
                self.fail(f"{value!r} is not {what}, as 1,8,16-20.", param, ctx)
            found.append((low, high))
        return tuple(found)


class NumberList(Ranges):
    """The option type reads what `Ranges` reads and gives the numbers ascending, without repetitions."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        return tuple(sorted({n for low, high in super().convert(value, param, ctx) for n in range(low, high + 1)}))


def _cycle_limit(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Convert the value of --max-cycles: a number from 1 up, or `none`, which becomes None."""
    if value == "none":
        return None
    try:
        return int(integer(1, CYCLES_LIMIT)(value, param, ctx))
    except click.BadParameter:
        text = f"{value!r} is neither 'none' nor a number from 1 to {CYCLES_LIMIT}."
        raise click.BadParameter(text, ctx, param) from None


def max_cycles_of(how: str) -> Callable[[F], F]:
    """Return the option --max-cycles. how: says in its help how a run ends at the limit."""
    return click.option(
        "--max-cycles",
        callback=_cycle_limit,
        default=str(DEFAULT_MAX_CYCLES),
        show_default=True,
        metavar="N|none",
        help=f"Cycles after which an emulated run ends {how}; none: no limit.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else.")
kernel_option = click.option("--kernel", metavar="NAME", help="The kernel, where there are several; also by C++ name.")
machine_option = click.option(
    "--machine", default=DEFAULT_MACHINE, show_default=True, metavar="NAME|FILE", help="Machine model."
)
own_machine_option = click.option(
    "--machine", metavar="NAME|FILE",
    help="Machine model, also by a GPU's name or sm_NN.  [default: the binary's own, that of PTX's .target, else "
    f"{DEFAULT_MACHINE}]",
)  # fmt: skip
own_machines_option = click.option(
    "--machine", metavar="LIST",
    help=f"Machine models, as gtx680,a100.  [default: the binary's own, that of PTX's .target, else {DEFAULT_MACHINE}]",
)  # fmt: skip
launch_option = click.option("--launch", type=click.Path(dir_okay=False), help="Launch file (TOML).")
size_option = click.option("--size", metavar="NAME", help="Use [sizes.NAME] of the launch file.")
samples_option = click.option("--samples", type=click.Path(file_okay=False), default="samples", show_default=True)
every_size_option = click.option(
    "--size", metavar="NAME", help="Use [sizes.NAME] of every launch file (test: a few blocks)."
)
profile_option = click.option(
    "--profile",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Weigh code by how often it ran, as run --profile wrote it of this binary, instead of by its loops.",
)
inline_option = click.option(
    "--inline",
    type=click.Choice(list(WAYS)),
    default=NONE,
    show_default=True,
    help="Calls to inline first: " + "; ".join(f"{name}, {what}" for name, what in WAYS.items()) + ".",
)
multiplex_option = click.option(
    "--multiplex",
    type=click.Choice(list(MULTIPLEX)),
    default=OFF,
    show_default=True,
    help="Try versions, too, whose blocks use shared memory in turns, each at the number of blocks that suits it best: "
    + "; ".join(f"{name}, {what}" for name, what in MULTIPLEX.items())
    + ". They are run, so a launch is needed.",
)
sharing_option = click.option(
    "--sharing",
    metavar="off|auto|T|PAIRS:BYTES",
    default="off",
    show_default=True,
    help="Try versions, too, whose blocks share memory two by two, as no GPU lets them: auto, every number of pairs; "
    "the share of a block's bytes that stays private (between 0 and 1); or the pairs of an SM, and the private bytes "
    "of a block, those of its slots included. They are run, so a launch is needed.",
)
block_order_option = click.option(
    "--block-order",
    metavar="off|auto|ORDER",
    default=OFF,
    show_default=True,
    help="Let blocks work in another order on the launch's grid, so that neighbours run together: in tiles of W x H "
    "blocks (tile:WxH), blocks with equal remainders one after the other (mod:M), N neighbours on the same SM "
    "(stride:N); auto runs a few orders, and takes the fastest if it wins. Other grids keep their order.",
)
output_option = click.option("-o", "--output", type=click.Path(allow_dash=True), help="Output file, - for stdout.")
emulate_option = click.option(
    "--emulate/--no-emulate", default=None, help="Run both versions (default: where a launch is given)."
)
page_option = click.option(
    "--html", "page", type=click.Path(), metavar="FILE", help="Write a page for a browser there, too."
)
engine_option = click.option("--engine", type=click.Choice(["numba", "python"]), default="numba", show_default=True)
max_cycles_option = max_cycles_of("with exit code 4")
layout_option = click.option(
    "--layout",
    type=click.Choice(list(LAYOUTS)),
    default=DEFAULT_LAYOUT,
    show_default=True,
    help="Where a called function's slots start: "
    + "; ".join(f"{name}, {what}" for name, what in LAYOUTS.items())
    + ".",
)
skews_option = click.option(
    "--skews",
    type=integer(0, 1000),
    default=0,
    show_default=True,
    metavar="N",
    help="Run N more times, with blocks that start a little later, by seeds; cycles that differ by more than 2 % are "
    "reported as a range.",
)
block_option = click.option(
    "--block",
    metavar="X[xY[xZ]]",
    help="Threads of a block along x, y and z, where no launch file says so: 128, 32x16, 8x8x4.",
)
host_steps_option = click.option(
    "--host-steps", is_flag=True, help="Permit a sequence of launches to call functions of Python files as steps."
)
file_argument = click.argument("file", type=click.Path(allow_dash=True))


_OF_MANY = ("step", "timeline", "host_steps")
"""Parameters that have a meaning for sequences of launches only."""


def refuse_for_one_launch(context: click.Context) -> None:
    """Raise UsageError for options that mean nothing for one launch."""
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT)
        if given and name in _OF_MANY:
            raise UsageError(
                f"{parameter.opts[0]} applies to a sequence of launches only", place="--launch",
                found="a file of one launch", expected="a file with [[step]] tables",
            )  # fmt: skip


def all_of(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that applies several decorators, so that their options are in this order in the help."""
    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def block_of(text: str | None, option: str = "--block-dim") -> tuple[int, int, int] | None:
    """Return a block size as three sizes. option: its source. Raise UsageError if the text is no block size."""
    if text is None:
        return None
    what = f"{option} is no block size"
    parts = re.split("[x,]", text.lower())
    if len(parts) > _DIMENSIONS or not all(_SIZE.fullmatch(part) for part in parts):
        raise UsageError(what, found=quoted(text), expected="threads along x, y, z: as 128, 32x16, 8x8x4 or 32,16")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    if not (1 <= x <= 1024 and 1 <= y <= 1024 and 1 <= z <= 64 and x * y * z <= 1024):
        expected = "1 to 1024, 1 to 1024, 1 to 64, and at most 1024 threads together"
        raise UsageError(what, found=text, expected=expected)
    return x, y, z
