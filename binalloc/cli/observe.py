"""This module has the options that show what a run does: traces, watchpoints and breakpoints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.gather import gathered
from binalloc.cli.options import integer
from binalloc.cli.terminal import note
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.emulator.traces.trace import TraceOptions
    from binalloc.pipeline.running.observed import Observation, TraceFile, WrittenTrace

EXIT_STOPPED = 6  # the number that `binalloc --help` gives for --break
_SHOWN = 1000
"""Cycles that --trace-every traces of every N. More make the trace larger, fewer cut accesses off; chosen by hand."""


class CycleSpan(click.types.StringParamType):
    """The option type reads FROM:TO in cycles, TO excluded; either may be missing."""

    name = "span"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "FROM:TO"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"([0-9]{0,18}):([0-9]{0,18})", value)
        first, last = (int(part) if part else None for part in found.groups()) if found else (1, 0)
        if last is not None and (first or 0) >= last:
            self.fail(f"{value!r} is not FROM:TO, the first cycle and the one after the last.", param, ctx)
        return first or 0, last


_TRACE = (
    click.option(
        "--trace", metavar="FILE", help="Write a trace for Perfetto or chrome://tracing; compressed if named .gz."
    ),
    click.option("--trace-window", type=CycleSpan(), help="Trace only these cycles."),
    click.option(
        "--trace-every",
        type=integer(_SHOWN + 1),
        metavar="N",
        help=f"Trace the first {_SHOWN:,} of every N cycles; counters and blocks go on.",
    ),
    click.option(
        "--trace-limit",
        type=integer(1),
        default=1_000_000,
        show_default=True,
        metavar="N",
        help="Most events of a trace, without names of tracks; later ones are left out.",
    ),
    click.option(
        "--trace-counters",
        type=integer(1),
        default=100,
        show_default=True,
        metavar="N",
        help="Cycles between samples of a trace's counters.",
    ),
)


_WATCH = (
    click.option(
        "--watch",
        "watches",
        multiple=True,
        metavar="BUFFER[+OFFSET[:SIZE]]",
        help="Report every access to these bytes of global memory, or to 0xADDRESS[:SIZE].  [may be repeated]",
    ),
    click.option(
        "--watch-limit",
        type=integer(0),
        default=100,
        show_default=True,
        metavar="N",
        help="Accesses that --watch reports; further ones are only counted.",
    ),
    click.option(
        "--break",
        "breaks",
        multiple=True,
        metavar="WHERE",
        help="Stop in front of FUNCTION+INDEX, 0xWORD, FILE:LINE, or `watch`: the first access to what is watched; "
        f"print the warp, exit with {EXIT_STOPPED}.  [may be repeated]",
    ),
)


_BESIDE = {
    "trace_window": ("trace", "chooses among a trace's cycles", "--trace FILE"),
    "trace_every": ("trace", "chooses among a trace's cycles", "--trace FILE"),
    "trace_limit": ("trace", "bounds a trace", "--trace FILE"),
    "trace_counters": ("trace", "says how often a trace has counters", "--trace FILE"),
    "watch_limit": ("watches", "bounds the accesses that --watch reports", "--watch BUFFER"),
    "sources": ("annotate", "names the folder of what --annotate shows", "--annotate"),
    "every": ("series", "says how often --series samples", "--series FILE"),
    "dram_log_limit": ("dram_log", "bounds a DRAM log", "--dram-log DIR"),
    "accelsim_limit": ("accelsim_trace", "bounds a trace for Accel-Sim", "--accelsim-trace DIR"),
}
"""Options of `run` that need another one, by parameter: the other one's parameter, what the option does, the remedy."""


def refuse_alone(context: click.Context) -> None:
    """Raise UsageError if an option of _BESIDE is given without the option that it needs."""
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT)
        if given and name in _BESIDE and not context.params[_BESIDE[name][0]]:
            _, says, remedy = _BESIDE[name]
            raise UsageError(f"{parameter.opts[0]} {says}", remedy=f"Give {remedy}, too.")


@dataclass(frozen=True)
class Observed:
    """The record holds what to show of a run while it lasts, as the options give it."""

    trace: str | None  #: file of the trace
    trace_window: tuple[int, int | None] | None  #: first cycle to trace, and the cycle after the last
    trace_every: int | None  #: period in cycles of which the first cycles are traced
    trace_limit: int  #: most events of the trace
    trace_counters: int  #: cycles between samples of counters
    watches: tuple[str, ...]  #: bytes of global memory to watch
    watch_limit: int  #: most accesses to report
    breaks: tuple[str, ...]  #: places to stop at

    def wanted(self, *, quiet: bool) -> Observation:
        """Convert the options to the library's record. quiet: accesses are not printed, as --json reports them.

        Raise UsageError if the options contradict each other, or if the trace would go to stdout.
        """
        from binalloc.pipeline.running.observed import Observation
        from binalloc.report.runs.watched import access_line

        if "watch" in self.breaks and not self.watches:
            raise UsageError("--break watch stops at what --watch names", remedy="Give --watch BUFFER, too.")
        trace = self._trace()
        return Observation(
            trace, self.watches, self.breaks, self.watch_limit, lambda access: note(access_line(access)), not quiet,
            None if trace is None else lambda found: note_left_out(found, trace.options),
        )  # fmt: skip

    def _trace(self) -> TraceFile | None:
        """Return the trace to write; None without --trace."""
        if self.trace is None:
            return None
        if self.trace == "-":
            raise UsageError("a trace goes to a file", place="--trace", found="-", expected="a file's name")
        from binalloc.emulator.traces.trace import TraceOptions
        from binalloc.emulator.traces.windows import Windows
        from binalloc.pipeline.running.observed import TraceFile

        first, last = self.trace_window or (0, None)
        windows = Windows(first, last, self.trace_every or 0, _SHOWN)
        return TraceFile(self.trace, TraceOptions(windows, self.trace_limit, self.trace_counters))


observe_options = gathered("observed", Observed, *_TRACE, *_WATCH)


def note_left_out(found: WrittenTrace, options: TraceOptions) -> None:
    """Print on stderr how many instructions a trace leaves out, and why. options: the options of the trace."""
    counts = found.counts
    if not counts.left_out and counts.full_at_cycle is None:
        return
    total = counts.left_out + counts.instructions
    text = f"{found.file}: {counts.left_out:,} of {total:,} warp instructions are not in the trace"
    if counts.full_at_cycle is None:
        note(f"{text}, as they are in none of its windows")
    else:
        note(
            f"{text}: it was full, {options.limit:,} events, in cycle {counts.full_at_cycle:,}; see --trace-limit, "
            "--trace-window, --trace-every"
        )
